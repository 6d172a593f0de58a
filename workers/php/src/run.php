<?php
// Carries out a plan. PHP has no threads, so each client is a forked process, as in a web server's pool. The first
// process supervises the others, and shares a pair of sockets with each.

declare(strict_types=1);

const MODEL = 'process';
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

/** A client's process, seen by the supervisor. */
final class Child
{
    public string $differs = '';
    public int $readBack = 0;
    private bool $hasEnded = false;
    /** Whether no further operation begins; the connection may still be open, and closing it may take time. */
    public bool $isOver = false;
    public int $operations = 0;
    public int $failed = 0;
    public ?array $done = null;
    public string $number = '';

    public function __construct(public int $pid, public Lines $lines, public ClientPlan $spec)
    {
    }

    public function signal(int $signal): void
    {
        // The number of a process that has ended may have been reused.
        if (!$this->hasEnded) {
            posix_kill($this->pid, $signal);
        }
    }

    public function kill(): void
    {
        $this->signal(SIGKILL);
        $this->how();
    }

    /** Waits for its end and describes it; its own messages are on standard error. */
    public function how(): string
    {
        if ($this->hasEnded || pcntl_waitpid($this->pid, $status) !== $this->pid) {
            return '';
        }
        $this->hasEnded = true;
        return pcntl_wifsignaled($status) ? 'was ended by signal ' . pcntl_wtermsig($status)
            : 'has ended with status ' . pcntl_wexitstatus($status) . '; the log says why';
    }

    public function gone(): FormatError
    {
        return new FormatError("client {$this->spec->id}: its process " . $this->how());
    }

    /** Sends it a line; if it has ended, throws an error with the last message that it left unread, if any. */
    public function tell(string $line): void
    {
        try {
            write_all($this->lines->stream, "$line\n");
        } catch (ErrorException) {
            for (;;) {
                $this->answer();
            }
        }
    }

    /** Its next line; an error if it has died. */
    public function line(): string
    {
        try {
            return $this->lines->line();
        } catch (FormatError) {
            throw $this->gone();
        }
    }

    /** As `line`, for a process that has begun: it may report instead that it failed. */
    public function answer(): string
    {
        $line = $this->line();
        if (str_starts_with($line, "failed\t")) {
            throw new FormatError("client {$this->spec->id}: " . unescape(substr($line, 7)));
        }
        return $line;
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
    /** The process that interrupts clients' statements on a server; 0: none. */
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
        $this->statements = $plan->statements;
        array_map($this->driver->check(...), $plan->databases);
        // Every client would inherit existing garbage.
        gc_collect_cycles();
        try {
            // One after the other: a change of the journal mode fails when two connections run it at the same time.
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
            // Garbage of the preparation, and of the first process before the fork, must not be collected during the
            // run.
            gc_collect_cycles();
            $tell("ready\t" . $client->number() . facts($session));
            $control->startNs = (int) $supervisor->line();
            $control->windowEnd = $control->startNs + $this->plan->end();
            $client->run();
            $tell("done\t$client->operation\t$client->attempts\t$client->failed\t" . (int) $client->isExhausted . "\t" . escape($client->differs) . "\t" . (int) $client->isReadBack);
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
        // Without running inherited destructors.
        posix_kill(getmypid(), SIGKILL);
        exit;
    }

    // The run

    public function start(int $startNs): void
    {
        foreach ($this->children as $child) {
            $child->tell("$startNs");
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

    /** Handles a message of a client during the run. */
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
                case 'over':
                    $child->isOver = true;
                    break;
                case 'done':
                    $child->done = array_map(intval(...), array_slice($words, 1, 4));
                    $child->differs = unescape($words[5]);
                    $child->readBack = (int) $words[6];
                    break;
                default:
                    throw new FormatError("client {$child->spec->id}: " . unescape($words[1] ?? ''));
            }
        }
        if ($child->done === null && $child->lines->isEnded) {
            throw $child->gone();
        }
    }

    public function signal(int $signal): void
    {
        foreach ($this->children as $child) {
            if (!$child->isOver) {
                $child->signal($signal);
            }
        }
    }

    /** To be called every few milliseconds after the drain: an interrupt only affects a running statement. */
    public function afterDrain(int $drainEnd): void
    {
        $now = hrtime(true);
        $this->signal(SIGUSR2);
        foreach ($this->children as $child) {
            if (!$child->isOver && $now >= $drainEnd + STUCK_NS) {
                throw new FormatError("client {$child->spec->id} did not return 5 s after it was interrupted");
            }
        }
        if ($this->driver->isServer && $now - $this->interruptedAt >= 10 * AGAIN_NS) {
            $this->interruptedAt = $now;
            $this->interruptServer();
        }
    }

    /**
     * In its own process: it opens new connections, and a server that hangs must not block the process that answers
     * the tool.
     */
    private function interruptServer(): void
    {
        if ($this->interrupter !== 0 && pcntl_waitpid($this->interrupter, $status, WNOHANG) === 0) {
            return; // the previous one is still running
        }
        $supervisor = getmypid();
        $this->interrupter = max(pcntl_fork(), 0);
        if ($this->interrupter !== 0 || getmypid() === $supervisor) {
            return;
        }
        leave_with($supervisor);
        foreach ($this->children as $child) {
            if ($child->isOver || $child->number === '') {
                continue;
            }
            try {
                $this->driver->interrupt($this->plan->databases[$child->spec->database], $child->number);
            } catch (Throwable) {
                // It is repeated until the client has ended.
            }
        }
        // Without running inherited destructors.
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
        $sums['connections_read_back'] = array_sum(array_map(fn ($child) => $child->readBack, $this->children));
        return $differs === [] ? $sums : $sums + ['settings_differ' => implode('; ', $differs)];
    }

    /** The samples of all clients, in frames. */
    public function frames(): Generator
    {
        foreach ($this->children as $child) {
            $child->tell('send');
            while (($line = $child->answer()) !== 'end') {
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

/** Makes this process end when its supervisor ends in any way. */
function leave_with(int $parent): void
{
    if (extension_loaded('FFI')) {
        FFI::cdef('int prctl(int, unsigned long, ...);')->prctl(1, SIGKILL);
    }
    if (posix_getppid() !== $parent) {
        exit;
    }
}
