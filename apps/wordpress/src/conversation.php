<?php
// The handshake with contend: lines and frames on standard input and output.

declare(strict_types=1);

final class Conversation
{
    private ?Site $site = null;
    private ?Server $server = null;
    private int $drainNs = 0;

    public function __construct(private string $home, private string $app, private string $root)
    {
    }

    private function say(string $verb, array $facts = [], ?string $text = null): void
    {
        fwrite(STDOUT, $verb . ($text === null ? '' : "\t" . escape($text)) . facts($facts) . "\n");
        fflush(STDOUT);
    }

    public function run(): int
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, function () {
            $this->end();
            exit(1);
        });
        try {
            $this->hello();
            while (($line = fgets(STDIN)) !== false) {
                if (!$this->answer(rtrim($line, "\n"))) {
                    return 0;
                }
            }
            return 0;
        } catch (Refused | FormatError | ErrorException | PDOException | mysqli_sql_exception $e) {
            // The tool may kill this process at once when told.
            $this->end();
            $this->say('failed', [], $e->getMessage());
            return 1;
        } finally {
            $this->end();
        }
    }

    private function hello(): void
    {
        require "$this->root/wp-includes/version.php";
        require "$this->root/wp-content/plugins/sqlite-database-integration/wp-includes/database/version.php";
        $sqlite = (new PDO('sqlite::memory:'))->getAttribute(PDO::ATTR_SERVER_VERSION);
        $this->say('hello', [
            'protocol' => 1, 'language' => 'PHP ' . PHP_VERSION, 'driver' => "wordpress $wp_version", 'engine' => "SQLite $sqlite",
            'lock_wait' => 'off', 'drivers' => 'wordpress', 'models' => 'php-server',
            'libraries' => 'WordPress ' . $wp_version . ',sqlite-database-integration ' . SQLITE_DRIVER_VERSION,
        ]);
    }

    private function answer(string $line): bool
    {
        [$verb, $rest] = explode(' ', $line, 2) + [1 => ''];
        switch ($verb) {
            case 'plan':
                $this->plan((int) $rest);
                return true;
            case 'clock':
                $this->say('clock', [], (string) hrtime(true));
                return true;
            case 'stop':
                $this->say('done', $this->end());
                return true;
            case 'quit':
                return false;
        }
        throw new Refused('an app does not do `' . crop($line) . '`');
    }

    private function plan(int $length): void
    {
        $text = stream_get_contents(STDIN, $length);
        if (strlen($text) !== $length) {
            throw new Refused('the input ended inside the plan');
        }
        if ($this->site !== null) {
            throw new Refused('a second plan');
        }
        $plan = new ServedPlan($text);
        $this->drainNs = $plan->drainNs;
        $this->site = new Site($plan, $this->app, $this->root);
        $workers = $plan->number('php_workers', 4, 3, 64);
        $this->site->install();
        $this->server = new Server($this->site, $this->app, $this->root, $workers);
        $this->warm($workers);
        foreach ($this->settings($workers) as $number => $facts) {
            $this->say('session', ['client' => $number, 'php_workers' => $workers, 'host' => $this->site->host] + $facts);
        }
        $this->before = $this->site->counted()['requests'];
        $this->say('serving', [], $this->server->url);
    }

    /** Requests that were answered before it began to serve. */
    private int $before = 0;

    /** What WordPress makes once and keeps: compiled files, and transients of the theme. */
    private function warm(int $workers): void
    {
        foreach (['/', '/?s=a', '/wp-login.php'] as $target) {
            $this->server->ask($target, 1);
        }
        $this->server->ask('/', 2 * $workers);
    }

    /** What each worker has read back; one that another was always faster than is left out. */
    private function settings(int $workers): array
    {
        $found = [];
        for ($try = 0; $try < 5 && count($found) < $workers; $try++) {
            foreach ($this->server->ask('/', 2 * $workers, ["contend-read-back: {$this->site->token}"]) as $body) {
                $answer = json_decode($body, true) ?? throw new Refused('the settings were not answered: ' . crop($body));
                $found[$answer['pid']] = $answer['facts'];
            }
        }
        return array_values($found);
    }

    private function end(): array
    {
        if ($this->server === null) {
            $this->site?->remove();
            return [];
        }
        $this->server->end($this->drainNs / 1e9 + 2);
        $this->server = null;
        $counted = $this->site->counted($this->before);
        $this->site->remove();
        // WordPress tries nothing again, so what the database failed at is given up at once.
        return $counted + ['retries' => 0];
    }
}
