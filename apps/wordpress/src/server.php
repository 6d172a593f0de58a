<?php
// PHP's own server with several workers, as a child process.

declare(strict_types=1);

final class Server
{
    private const START_S = 20;
    /** A worker that has compiled nothing yet takes seconds on a busy machine. */
    private const ANSWER_S = 60;

    public readonly string $url;
    private $process;
    private int $port;

    public function __construct(private Site $site, private string $app, private string $root, private int $workers)
    {
        // PHP does not say which port the system chose, so one that was free a moment ago is named; another process can be faster.
        for ($try = 0; $try < 5; $try++) {
            $this->start();
            if ($this->answers()) {
                $this->url = "http://127.0.0.1:$this->port";
                return;
            }
            $this->end(1.0);
        }
        throw new Refused('PHP\'s server does not start; its log says why');
    }

    private function start(): void
    {
        $probe = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($probe, false), ':'), 1);
        fclose($probe);
        $settings = [
            'opcache.enable' => '1', 'opcache.enable_cli' => '1', 'opcache.memory_consumption' => '128',
            'opcache.max_accelerated_files' => '10000', 'opcache.validate_timestamps' => '0', 'opcache.interned_strings_buffer' => '16',
            'display_errors' => '0', 'log_errors' => '1',
            // The server keeps quiet of requests, and would of errors as well.
            'error_log' => '/dev/stderr', 'error_reporting' => '8191', 'memory_limit' => '256M', 'output_buffering' => '0',
            'max_execution_time' => '0', 'session.auto_start' => '0', 'expose_php' => '0',
        ];
        $command = [PHP_BINARY, '-q'];
        foreach ($settings as $name => $value) {
            array_push($command, '-d', "$name=$value");
        }
        array_push($command, '-S', "127.0.0.1:$this->port", '-t', realpath($this->root), realpath("$this->app/router.php"));
        // PHP starts so many beside its first process, which answers as well; fewer than two it ignores.
        $environment = ['PHP_CLI_SERVER_WORKERS' => (string) ($this->workers - 1)] + $this->site->environment('serve');
        $this->process = proc_open($command, [['file', '/dev/null', 'r'], STDERR, STDERR], $pipes, realpath($this->root), $environment);
    }

    private function answers(): bool
    {
        $end = microtime(true) + self::START_S;
        while (microtime(true) < $end && proc_get_status($this->process)['running']) {
            $connection = @stream_socket_client("tcp://127.0.0.1:$this->port", $number, $words, 1.0);
            if ($connection !== false) {
                fclose($connection);
                return true;
            }
            usleep(10_000);
        }
        return false;
    }

    /** Answers to the same request, as many at once as there are workers, so that each of them gets one. */
    public function ask(string $target, int $times, array $headers = []): array
    {
        $all = ["Host: {$this->site->host}", 'Connection: close', ...$this->site->secretHeader(), ...$headers];
        $request = "GET $target HTTP/1.1\r\n" . implode("\r\n", $all) . "\r\n\r\n";
        $connections = [];
        for ($i = 0; $i < $times; $i++) {
            $connections[] = $one = stream_socket_client("tcp://127.0.0.1:$this->port", $number, $words, 5.0);
            stream_set_timeout($one, self::ANSWER_S);
            fwrite($one, $request);
        }
        $answers = [];
        foreach ($connections as $one) {
            [$head, $body] = explode("\r\n\r\n", stream_get_contents($one), 2) + [1 => ''];
            fclose($one);
            $status = (int) (explode(' ', $head)[1] ?? 0);
            if ($status !== 200) {
                throw new Refused("$target was answered with status $status: " . self::words($body));
            }
            $answers[] = $body;
        }
        return $answers;
    }

    /** What a page says, for a log. */
    private static function words(string $page): string
    {
        $text = strip_tags(preg_replace('#<(head|style|script)\b.*?</\1>#is', '', $page));
        return substr(trim(preg_replace('/\s+/', ' ', html_entity_decode($text))), 0, 300);
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    /** Ends the first process and its workers, which know nothing of its end. */
    public function end(float $patienceS): void
    {
        if ($this->process === null) {
            return;
        }
        $first = $this->pid();
        $pids = [$first, ...self::children($first)];
        $this->signal($pids, SIGINT);
        $deadline = microtime(true) + $patienceS;
        while (($pids = array_filter($pids, fn ($pid) => $this->lives($pid))) !== [] && microtime(true) < $deadline) {
            usleep(5_000);
        }
        $this->signal($pids, SIGKILL);
        proc_close($this->process);
        $this->process = null;
    }

    private static function children(int $pid): array
    {
        $text = @file_get_contents("/proc/$pid/task/$pid/children");
        return array_map('intval', preg_split('/\s+/', (string) $text, -1, PREG_SPLIT_NO_EMPTY));
    }

    private function signal(array $pids, int $signal): void
    {
        foreach ($pids as $pid) {
            posix_kill($pid, $signal);
        }
    }

    private function lives(int $pid): bool
    {
        // A zombie has ended; the first process's own is taken by asking for its status.
        proc_get_status($this->process);
        $stat = @file_get_contents("/proc/$pid/stat");
        return $stat !== false && !preg_match('/\) [ZX] /', $stat);
    }
}
