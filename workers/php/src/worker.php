<?php
// The handshake, and a run: PHP has no threads, so each client is a forked process of its own, as in a web server's pool.
// The first process talks with the tool and supervises the others, with which it shares a pair of sockets each.

declare(strict_types=1);

const MODEL = 'process';
const PROGRESS_NS = 200_000_000;
const AGAIN_NS = 10_000_000;
const STUCK_NS = 5_000_000_000;

function find_driver(array $drivers, string $name): Driver
{
    foreach ($drivers as $driver) {
        if ($driver->name === $name) {
            return $driver;
        }
    }
    throw new FormatError("driver $name: this worker has only " . implode(', ', array_map(fn ($d) => $d->name, $drivers)));
}

/** Lines and bytes from a stream that does not block. */
final class Lines
{
    public string $bytes = '';
    public bool $isEnded = false;

    public function __construct(public $stream)
    {
        stream_set_blocking($stream, false);
    }

    public function fill(): void
    {
        $got = fread($this->stream, 1 << 20);
        if ($got === '' || $got === false) {
            $this->isEnded = $this->isEnded || feof($this->stream);
            return;
        }
        $this->bytes .= $got;
    }

    public function has(): bool
    {
        return str_contains($this->bytes, "\n");
    }

    /** Waits so long for something to read. */
    public function wait(int $ns = 3_600_000_000_000): void
    {
        [$read, $none] = [[$this->stream], null];
        if (@stream_select($read, $none, $none, intdiv($ns, 1_000_000_000), intdiv($ns % 1_000_000_000, 1000))) {
            $this->fill();
        }
    }

    public function line(): string
    {
        while (!$this->has()) {
            if ($this->isEnded) {
                throw new FormatError('the other side is gone');
            }
            $this->wait();
        }
        [$line, $this->bytes] = explode("\n", $this->bytes, 2);
        return $line;
    }

    public function frame(int $length): string
    {
        while (strlen($this->bytes) < $length) {
            if ($this->isEnded) {
                throw new FormatError('the other side is gone');
            }
            $this->wait();
        }
        $frame = substr($this->bytes, 0, $length);
        $this->bytes = substr($this->bytes, $length);
        return $frame;
    }
}

function write_all($stream, string $data): void
{
    for ($at = 0; $at < strlen($data); $at += $written) {
        $written = fwrite($stream, $at === 0 ? $data : substr($data, $at));
        if ($written === false || $written === 0) {
            [$none, $write] = [null, [$stream]];
            if (@stream_select($none, $write, $none, 10) === false || feof($stream)) {
                exit(1);
            }
            $written = (int) $written;
        }
    }
}

function say(string $line): void
{
    write_all(STDOUT, "$line\n");
}

/** A client's process as the supervisor sees it. */
final class Child
{
    public string $differs = '';
    private bool $hasEnded = false;
    public int $operations = 0;
    public int $failed = 0;
    public ?array $done = null;
    public string $number = '';

    public function __construct(public int $pid, public Lines $lines, public ClientPlan $spec)
    {
    }

    public function signal(int $signal): void
    {
        // The number of one that has ended may be another's by now.
        if (!$this->hasEnded) {
            posix_kill($this->pid, $signal);
        }
    }

    public function kill(): void
    {
        $this->signal(SIGKILL);
        $this->how();
    }

    /** Waits for its end and says how it came; its own words are on standard error. */
    public function how(): string
    {
        if ($this->hasEnded || pcntl_waitpid($this->pid, $status) !== $this->pid) {
            return '';
        }
        $this->hasEnded = true;
        return pcntl_wifsignaled($status) ? 'was ended by signal ' . pcntl_wtermsig($status)
            : 'has ended with status ' . pcntl_wexitstatus($status) . '; the log says why';
    }

    /** What it says next; an error if it has died. */
    public function line(): string
    {
        try {
            return $this->lines->line();
        } catch (FormatError) {
            throw new FormatError("client {$this->spec->id}: its process " . $this->how());
        }
    }
}

/** A plan whose clients have connected and wait for the start. */
final class Run
{
    public Plan $plan;
    public Driver $driver;
    /** @var Child[] */
    public array $children = [];
    public array $sessions = [];
    private Options $options;
    private array $statements;
    private int $interruptedAt = 0;
    /** The process that interrupts what clients execute on a server; 0: none. */
    private int $interrupter = 0;

    public function __construct(array $drivers, string $text)
    {
        $this->plan = $plan = (new PlanReader($text))->read();
        $this->driver = find_driver($drivers, $plan->driver);
        $this->options = new Options($this->driver, $plan->options);
        if ($plan->model !== MODEL) {
            throw new FormatError("model $plan->model: this worker has only `" . MODEL . '`');
        }
        if ($plan->isShared) {
            throw new FormatError('model ' . MODEL . ': every client has a connection of its own, the plan has one for all of a database');
        }
        $this->statements = array_map(fn ($sql) => $this->driver->statement($sql), $plan->statements);
        try {
            // One after the other: a change of the journal mode is refused when two connections try at once.
            foreach ($plan->clients as $spec) {
                $this->fork($spec);
            }
        } catch (Throwable $e) {
            $this->kill();
            throw $e;
        }
    }

    private function fork(ClientPlan $spec): void
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $supervisor = getmypid();
        $pid = pcntl_fork();
        if ($pid < 0) {
            throw new FormatError("client $spec->id: no process for it: " . pcntl_strerror(pcntl_get_last_error()));
        }
        if ($pid === 0) {
            fclose($ours);
            $this->beClient($spec, new Lines($theirs), $supervisor);
        }
        fclose($theirs);
        $child = new Child($pid, new Lines($ours), $spec);
        $this->children[] = $child;
        [$word, $rest] = explode("\t", $child->line(), 2) + [1 => ''];
        if ($word === 'failed') {
            throw new FormatError("client $spec->id, database {$this->plan->databases[$spec->database]}: " . unescape($rest));
        }
        [$child->number, $session] = explode("\t", $rest, 2) + [1 => ''];
        $this->sessions[] = "session\tclient=$spec->id" . ($session === '' ? '' : "\t$session");
    }

    /** Never returns: the client's process ends here. */
    private function beClient(ClientPlan $spec, Lines $supervisor, int $parent): never
    {
        $tell = fn (string $line) => write_all($supervisor->stream, "$line\n");
        $control = new Control($this->driver->isServer ? CANCELED : $this->driver->interrupted);
        $control->drainNs = $this->plan->drain;
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, fn () => $control->stop());
        pcntl_signal(SIGUSR2, fn () => $control->end());
        leave_with($parent);
        if (!$this->driver->isServer && !$this->driver->executesNothing) {
            Beneath::interrupt(fn () => $control->isOver);
        }
        $client = new Client($this->plan, $spec, $this->driver, $this->options, $this->statements, $control, $tell);
        try {
            $session = $client->prepare($this->children === []);
            $tell("ready\t" . $client->number() . facts($session));
            $control->startNs = (int) $supervisor->line();
            $control->windowEnd = $control->startNs + $this->plan->end();
            gc_collect_cycles();
            $client->run();
            $tell("done\t$client->operation\t$client->attempts\t$client->failed\t" . (int) $client->isExhausted . "\t" . escape($client->differs));
            $supervisor->line();
            foreach ($client->frames() as $frame) {
                $tell('samples ' . strlen($frame));
                write_all($supervisor->stream, $frame);
            }
            $tell('end');
        } catch (Throwable $e) {
            if (!$supervisor->isEnded) {
                $where = $e instanceof FormatError || $e instanceof Failure || $e instanceof PDOException ? '' : " ({$e->getFile()}:{$e->getLine()})";
                $tell("failed\t" . escape($e->getMessage() . $where));
            }
        }
        // Without the destructors of what was inherited.
        posix_kill(getmypid(), SIGKILL);
        exit;
    }

    // The run

    public function start(int $startNs): void
    {
        foreach ($this->children as $child) {
            write_all($child->lines->stream, "$startNs\n");
        }
    }

    public function isOver(): bool
    {
        foreach ($this->children as $child) {
            if ($child->done === null) {
                return false;
            }
        }
        return true;
    }

    /** What a client says during the run. */
    public function hear(Child $child): void
    {
        $child->lines->fill();
        while ($child->done === null && $child->lines->has()) {
            $words = explode("\t", $child->lines->line());
            switch ($words[0]) {
                case 'progress':
                    [$child->operations, $child->failed] = [(int) $words[1], (int) $words[2]];
                    break;
                case 'number':
                    $child->number = $words[1];
                    break;
                case 'done':
                    $child->done = array_map(intval(...), array_slice($words, 1, 4));
                    $child->differs = unescape($words[5]);
                    break;
                default:
                    throw new FormatError("client {$child->spec->id}: " . unescape($words[1] ?? ''));
            }
        }
        if ($child->done === null && $child->lines->isEnded) {
            throw new FormatError("client {$child->spec->id}: its process " . $child->how());
        }
    }

    public function signal(int $signal): void
    {
        foreach ($this->children as $child) {
            if ($child->done === null) {
                $child->signal($signal);
            }
        }
    }

    /** To be called every few milliseconds once the drain is over: an interrupt reaches only what runs. */
    public function afterDrain(int $drainEnd): void
    {
        $now = hrtime(true);
        $this->signal(SIGUSR2);
        foreach ($this->children as $child) {
            if ($child->done === null && $now >= $drainEnd + STUCK_NS) {
                throw new FormatError("client {$child->spec->id} did not return 5 s after it was interrupted");
            }
        }
        if ($this->driver->isServer && $now - $this->interruptedAt >= 10 * AGAIN_NS) {
            $this->interruptedAt = $now;
            $this->interruptServer();
        }
    }

    /** In a process of its own: it takes new connections, and a server that hangs must hold up nobody who answers the tool. */
    private function interruptServer(): void
    {
        if ($this->interrupter !== 0 && pcntl_waitpid($this->interrupter, $status, WNOHANG) === 0) {
            return; // it is still at it
        }
        $supervisor = getmypid();
        $this->interrupter = max(pcntl_fork(), 0);
        if ($this->interrupter !== 0 || getmypid() === $supervisor) {
            return;
        }
        leave_with($supervisor);
        foreach ($this->children as $child) {
            if ($child->done !== null || $child->number === '') {
                continue;
            }
            try {
                $this->driver->interrupt($this->plan->databases[$child->spec->database], $child->number);
            } catch (Throwable) {
                // It is tried again until the client has ended.
            }
        }
        // Without the destructors of what was inherited.
        posix_kill(getmypid(), SIGKILL);
        exit;
    }

    public function progress(int $elapsedNs): string
    {
        $sum = fn (string $what) => array_sum(array_map(fn ($child) => $child->$what, $this->children));
        return 'progress' . facts(['elapsed_ns' => max($elapsedNs, 0), 'operations' => $sum('operations'), 'failed' => $sum('failed')]);
    }

    /** Totals of all clients. */
    public function done(): array
    {
        $sums = ['operations' => 0, 'attempts' => 0, 'failed' => 0, 'exhausted' => 0];
        foreach ($this->children as $child) {
            foreach (array_keys($sums) as $i => $name) {
                $sums[$name] += $child->done[$i];
            }
        }
        $differs = array_filter(array_map(fn ($child) => $child->differs, $this->children), fn ($words) => $words !== '');
        return $differs === [] ? $sums : $sums + ['settings_differ' => implode('; ', $differs)];
    }

    /** The samples of all clients, in frames. */
    public function frames(): Generator
    {
        foreach ($this->children as $child) {
            write_all($child->lines->stream, "send\n");
            while (($line = $child->line()) !== 'end') {
                yield $child->lines->frame((int) substr($line, 8));
            }
        }
    }

    public function kill(): void
    {
        foreach ($this->children as $child) {
            $child->kill();
        }
        $this->children = [];
        if ($this->interrupter !== 0) {
            posix_kill($this->interrupter, SIGKILL);
            pcntl_waitpid($this->interrupter, $status);
            $this->interrupter = 0;
        }
    }
}

/** Ends this process when its supervisor ends, however that happens. */
function leave_with(int $parent): void
{
    if (extension_loaded('FFI')) {
        FFI::cdef('int prctl(int, unsigned long, ...);')->prctl(1, SIGKILL);
    }
    if (posix_getppid() !== $parent) {
        exit;
    }
}

/** A conversation with the tool. */
final class Worker
{
    private Lines $input;
    private ?Run $run = null;

    public function __construct(private array $drivers)
    {
        $this->input = new Lines(STDIN);
    }

    public function converse(): void
    {
        say('hello' . facts([
            'protocol' => 1,
            'language' => 'PHP ' . PHP_VERSION,
            ...$this->drivers[0]->hello(),
            'lock_wait' => 'off',
            'drivers' => implode(',', array_map(fn ($d) => $d->name, $this->drivers)),
            'models' => MODEL,
        ]));
        for (;;) {
            while (!$this->input->has()) {
                if ($this->input->isEnded) {
                    $this->leave();
                }
                $this->input->wait();
            }
            $this->answer($this->input->line());
        }
    }

    private function leave(): never
    {
        $this->run?->kill();
        exit(0);
    }

    private function answer(string $line): void
    {
        [$word, $rest] = explode("\t", $line, 2) + [1 => ''];
        [$word, $length] = explode(' ', $word, 2) + [1 => ''];
        try {
            match ($word) {
                'quit' => $this->leave(),
                'clock' => say("clock\t" . hrtime(true)),
                'script' => $this->script($this->text($length)),
                'plan' => $this->plan($this->text($length)),
                'start' => $this->start($rest),
                'stop' => null,
                default => throw new FormatError('`' . crop($line) . '` is not what a tool says'),
            };
        } catch (FormatError $e) {
            say("failed\t" . escape($e->getMessage()));
        } catch (Throwable $e) {
            // A mistake of the worker's: nothing can be relied on after it. Its clients end with it.
            tell((string) $e);
            say("failed\t" . escape("an error of the worker itself: {$e->getMessage()} (" . basename($e->getFile()) . ":{$e->getLine()})"));
            exit(1);
        }
    }

    private function text(string $length): string
    {
        $text = $this->input->frame(number($length) ?? throw new FormatError("`$length` is not a length"));
        if (!preg_match('//u', $text)) {
            throw new FormatError('the text is not UTF-8');
        }
        return $text;
    }

    private function script(string $text): void
    {
        $reply = Script::carryOut($this->drivers, $text);
        write_all(STDOUT, 'reply ' . strlen($reply) . "\n$reply");
    }

    private function plan(string $text): void
    {
        $this->run?->kill();
        $this->run = null;
        $this->run = new Run($this->drivers, $text);
        foreach ($this->run->sessions as $session) {
            say($session);
        }
        say('ready');
    }

    private function start(string $rest): void
    {
        $startNs = number($rest);
        if ($startNs === null || $this->run === null) {
            throw new FormatError('`start` without a plan that is ready, or without a time');
        }
        try {
            $this->supervise($this->run, $startNs);
        } catch (FormatError $e) {
            say("failed\t" . escape($e->getMessage()));
            $this->run->kill();
            exit(1);
        }
        $this->run->kill();
        $this->run = null;
    }

    /** Until every client has ended: signs of life, answers to the tool, the end of the drain. */
    private function supervise(Run $run, int $startNs): void
    {
        $run->start($startNs);
        $windowEnd = $startNs + $run->plan->end();
        $nextProgress = hrtime(true) + PROGRESS_NS;
        while (!$run->isOver()) {
            $now = hrtime(true);
            if ($now >= $nextProgress) {
                say($run->progress($now - $startNs));
                $nextProgress = $now + PROGRESS_NS;
            }
            $drainEnd = min($windowEnd + min($run->plan->drain, NEVER >> 2), NEVER);
            $wake = min($nextProgress, max($drainEnd, $now + AGAIN_NS));
            if ($now >= $drainEnd) {
                $run->afterDrain($drainEnd);
                $wake = $now + AGAIN_NS;
            }
            $this->hear($run, max($wake - $now, 0), $windowEnd);
        }
        say('done' . facts($run->done()));
        foreach ($run->frames() as $frame) {
            write_all(STDOUT, 'samples ' . strlen($frame) . "\n$frame");
        }
        say('end');
    }

    private function hear(Run $run, int $ns, int &$windowEnd): void
    {
        $read = ['tool' => $this->input->stream];
        foreach ($run->children as $i => $child) {
            if ($child->done === null) {
                $read[$i] = $child->lines->stream;
            }
        }
        $none = null;
        if (!@stream_select($read, $none, $none, 0, intdiv($ns, 1000))) {
            return;
        }
        foreach (array_keys($read) as $i) {
            if ($i !== 'tool') {
                $run->hear($run->children[$i]);
                continue;
            }
            $this->input->fill();
            if ($this->input->isEnded) {
                $this->leave();
            }
            while ($this->input->has()) {
                match ($line = $this->input->line()) {
                    'clock' => say("clock\t" . hrtime(true)),
                    'stop' => $windowEnd = min($windowEnd, hrtime(true)),
                    'quit' => $this->leave(),
                    default => throw new FormatError('`' . crop($line) . '` during a run'),
                };
                if ($line === 'stop') {
                    $run->signal(SIGUSR1);
                }
            }
        }
    }
}

/** Carries out the plan in a file without a tool; samples go to another. The exit status. */
function by_hand(array $drivers, string $plan, string $samples): int
{
    try {
        $text = @file_get_contents($plan);
        $run = new Run($drivers, $text === false ? throw new FormatError("$plan cannot be read") : $text);
        echo implode("\n", str_replace("\t", ' ', $run->sessions)), "\n";
        $startNs = hrtime(true) + AGAIN_NS;
        $drainEnd = min($startNs + $run->plan->end() + min($run->plan->drain, NEVER >> 2), NEVER);
        $run->start($startNs);
        while (!$run->isOver()) {
            foreach ($run->children as $child) {
                $child->lines->wait(AGAIN_NS);
                $run->hear($child);
            }
            if (hrtime(true) >= $drainEnd) {
                $run->afterDrain($drainEnd);
            }
        }
        $file = @fopen($samples, 'wb') ?: throw new FormatError("$samples cannot be written");
        foreach ($run->frames() as $frame) {
            write_all($file, $frame);
        }
        ['operations' => $operations, 'attempts' => $attempts, 'failed' => $failed, 'exhausted' => $exhausted] = $run->done();
        echo "$operations operations, $attempts attempts, $failed failed, $exhausted clients exhausted\n";
        $run->kill();
        return 0;
    } catch (FormatError $e) {
        fwrite(STDERR, "contend worker: {$e->getMessage()}\n");
        return 1;
    }
}
