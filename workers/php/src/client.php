<?php
// One client, in its own process: which operation is next and when, what happens after a failed attempt, and the
// sample of every attempt. Times are readings of the monotonic clock in nanoseconds.

declare(strict_types=1);

const REPORT_NS = 100_000_000;
/** Longest sleep: a signal may arrive just before a sleep, so sleeps are divided. */
const NAP_NS = 50_000_000;
const FREE_WITHIN_NS = 2_000_000_000;
const FREE_AGAIN_US = 10_000;
/** Precedes a sample stored as words, and times that differ from those of its neighbours. */
const WORDS_FOLLOW = -1;
const TIMES_FOLLOW = -2;
/** Numbers stored per sample: transaction, rows and end; for others the mark and its words. */
const KEPT = 3;
const KEPT_WORDS = 6;
const KEPT_TIMES = 3;

/** The window as this client sees it, changed by signals of the supervisor. */
final class Control
{
    public int $startNs = 0;
    public int $windowEnd = NEVER;
    public int $drainNs = 0;
    public bool $isStopped = false;
    public bool $isOver = false;
    /** Whether waits inside a transaction end: slightly later than the point after which no step begins. */
    public bool $isCut = false;

    public function __construct(private array $interrupted)
    {
    }

    public function stop(): void
    {
        $this->windowEnd = min($this->windowEnd, hrtime(true));
        $this->isStopped = true;
    }

    /**
     * The end of the drain, signalled repeatedly to one client after the other. The first signal stops further
     * steps, the second one also ends waits: a client that then releases a lock cannot wake a client that has not
     * been signalled.
     */
    public function end(): void
    {
        $this->isCut = $this->isOver;
        $this->isOver = true;
    }

    public function cut(): never
    {
        throw new Failure($this->interrupted[0], $this->interrupted[1], 'interrupted at the end of the drain');
    }

    /** Waits until it is due or the flag is set; returns the time. */
    public function until(int $due, string $flag): int
    {
        while (($now = hrtime(true)) < $due && !$this->$flag) {
            time_nanosleep(0, min($due - $now, NAP_NS));
        }
        return $now;
    }
}

final class Client
{
    public int $operation = 0;
    public int $attempts = 0;
    public int $failed = 0;
    public bool $isExhausted = false;
    /** Setting of the last connection that differs after the run from the first connection's before; empty: none. */
    public string $differs = '';
    /** Whether the last connection was read back after the run. */
    public bool $isReadBack = false;
    private ?Connection $db = null;
    private ?Functions $written = null;
    /**
     * By transaction, the functions of the open connection. A connection attempt clears them, and after a loss all
     * are created again.
     */
    private array $functions = [];
    /**
     * The operations as columns, which are more compact in memory than rows; the arguments of all are in one list.
     */
    private array $times = [];
    private array $transactions = [];
    private array $places = [];
    private array $arguments = [];
    private array $settings = [];
    /**
     * Input for the samples, which are made once the run is over. For an operation that began at the end of the
     * previous one and succeeded at once it is the transaction, its rows and its end; appending these is the cheapest
     * way.
     */
    private array $pieces = [];
    private int $jitterTurn = 0;

    /** @param Statement[] $statements */
    public function __construct(
        private Plan $plan,
        private ClientPlan $spec,
        private Driver $driver,
        private Options $options,
        private array $statements,
        private Control $control,
        private Closure $report,
    ) {
    }

    // Connection

    /**
     * Opens the connection; for the first client the engine also checks the plan's statements. Generates the
     * functions. Returns the settings that the connection reads back.
     */
    public function prepare(bool $isFirst): array
    {
        $this->settings = $this->whenFree(function () use ($isFirst) {
            $this->connect();
            if ($isFirst && !$this->driver->executesNothing) {
                $this->check();
            }
            return $this->look();
        });
        $this->written = (new Writer($this->plan, $this->spec, $this->statements))->functions($this->db, $this->driver, $this->control);
        foreach ($this->plan->transactions as $t => $transaction) {
            if (!$transaction->connects) {
                $this->functions[$t] = $this->written->makers[$t]($this->db);
            }
        }
        foreach ($this->spec->operations as [$this->times[], $this->transactions[], $args]) {
            $this->places[] = count($this->arguments);
            array_push($this->arguments, ...$args);
        }
        return $this->settings;
    }

    /**
     * Retries what a lock of SQLite prevents before the measurement or after it, for 2 s at most: another process that opens
     * the same database at the same moment may lock it to recover its log, whatever the busy timeout.
     */
    private function whenFree(Closure $open, bool $isNew = true): array
    {
        for ($until = hrtime(true) + FREE_WITHIN_NS;; usleep(FREE_AGAIN_US)) {
            try {
                return $open();
            } catch (Throwable $e) {
                $code = $e instanceof Failure ? [$e->space, $e->number] : $this->driver->codeOf($e);
                $isLock = $code !== null && $code[0] === SQLITE && in_array($code[1] & 0xFF, [5, 6], true);
                if (!$isLock || hrtime(true) >= $until || $this->control->isOver) {
                    throw $e;
                }
                if ($isNew) {
                    $this->close();
                }
            }
        }
    }

    /** The settings that the connection reports. */
    private function look(): array
    {
        if ($this->driver->executesNothing) {
            return [];
        }
        $asked = $this->plan->readbacks;
        if (!$this->driver->isServer && !in_array('busy_timeout', array_column($asked, 0), true)) {
            $asked[] = ['busy_timeout', 'PRAGMA busy_timeout'];
        }
        $found = [];
        foreach ($asked as [$name, $sql]) {
            $found[$name] = in_words($this->on($sql, fn () => $this->db->readBack($sql)));
        }
        return $found;
    }

    public function number(): string
    {
        return $this->db?->number() ?? '';
    }

    private function on(string $sql, callable $do): mixed
    {
        try {
            return $do();
        } catch (Throwable $e) {
            $failure = failure_of($this->driver, $e);
            throw new Failure($failure->space, $failure->number, "`$sql`: {$e->getMessage()}");
        }
    }

    private function connect(): void
    {
        $this->options->session = $this->plan->session;
        $this->db = $this->driver->open($this->plan->databases[$this->spec->database], $this->options);
        $isSqlite = !$this->driver->isServer && !$this->driver->executesNothing;
        foreach ([...($isSqlite ? $this->options->sqliteSession() : []), ...$this->plan->session] as $sql) {
            $this->on($sql, fn () => $this->db->session($sql));
        }
    }

    /** Reads back the last connection's settings after the run, outside of the measurement. */
    private function lookAgain(): void
    {
        if ($this->db === null || $this->control->isOver) {
            return;
        }
        try {
            // Other clients may still write.
            $found = $this->whenFree($this->look(...), false);
        } catch (Throwable $e) {
            // At the end of the drain it is interrupted.
            if (!$this->control->isOver) {
                $this->differs = "client {$this->spec->id}: the connection cannot be read back after the run: {$e->getMessage()}";
            }
            return;
        }
        $this->isReadBack = true;
        foreach ($this->settings as $name => $value) {
            if ($found[$name] !== $value) {
                $this->differs = "client {$this->spec->id}: $name is $found[$name] after the start, $value before";
                return;
            }
        }
    }

    private function check(): void
    {
        foreach ($this->statements as $i => $statement) {
            $columns = $this->on($statement->sql, fn () => $this->db->check($statement));
            foreach ($this->plan->transactions as $t) {
                foreach ($t->steps as $step) {
                    if ($step->kind !== 'sql' || $step->statement !== $i) {
                        continue;
                    }
                    foreach ($step->keep as [, $column]) {
                        if ($columns !== null && $column >= $columns) {
                            throw new FormatError("`$statement->sql` has $columns columns, the plan keeps column $column");
                        }
                    }
                }
            }
        }
    }

    public function close(): void
    {
        $this->functions = [];
        $this->db?->close();
        $this->db = null;
    }

    /** Carries out a transaction, on a new connection if it begins with one or the old one is lost. */
    private function carryOut(int $t, int $place, int $unique, int $operation): int
    {
        if (isset($this->functions[$t])) {
            return $this->functions[$t]($this->arguments, $place, $unique, $operation);
        }
        $transaction = $this->plan->transactions[$t];
        if ($this->db === null || $transaction->connects) {
            $this->close();
            try {
                $this->connect();
                if ($this->driver->isServer) {
                    ($this->report)("number\t" . $this->number());
                }
            } catch (Throwable $e) {
                $this->close();
                if ($this->driver->isServer) {
                    usleep(10_000); // a server that is gone must not fill the memory with failures
                }
                $failure = failure_of($this->driver, $e);
                $failure->step = $transaction->connects || $transaction->begin === null ? 0 : STEP_BEGIN;
                throw $failure;
            }
        }
        $rows = $this->written->firsts[$t]($this->arguments, $place, $unique, $operation, $this->db);
        if (!$transaction->connects) {
            $this->functions[$t] = $this->written->makers[$t]($this->db);
        }
        return $rows;
    }

    // The loop

    /** Besides the library's part this loop is the whole cost of an operation, so every call and look-up counts. */
    public function run(): void
    {
        [$spec, $control] = [$this->spec, $this->control];
        [$times, $transactions, $places, $arguments] = [$this->times, $this->transactions, $this->places, $this->arguments];
        [$count, $isOpen, $kept] = [count($times), $spec->isOpen, []];
        $uniques = array_map(fn ($t) => $t->uniques, $this->plan->transactions);
        $unique = $spec->id * UNIQUE_STRIDE;
        $end = $control->startNs + $spec->start;
        $nextReport = $control->startNs + REPORT_NS;
        $limit = $spec->limit === 0 ? PHP_INT_MAX : $spec->limit;
        for ($operation = $next = 0; $operation < $limit; $operation++, $next++) {
            if ($next === $count) {
                if (!$spec->isCyclic || $count === 0) {
                    $this->isExhausted = !$isOpen && $end < $control->windowEnd;
                    break;
                }
                $next = 0;
            }
            // The previous operation ended a moment ago; reading the clock again would only cost time.
            $due = $started = $end;
            if ($isOpen || $times[$next] !== 0 || $operation === 0) {
                if (($begun = $this->begin($times[$next], $end, $operation === 0)) === null) {
                    break;
                }
                [$due, $started] = $begun;
                array_push($kept, TIMES_FOLLOW, $due, $started);
            } elseif ($end >= $control->windowEnd) {
                break;
            }
            $t = $transactions[$next];
            try {
                $rows = isset($this->functions[$t])
                    ? $this->functions[$t]($arguments, $places[$next], $unique, $operation)
                    : $this->carryOut($t, $places[$next], $unique, $operation);
                $end = hrtime(true);
                $kept[] = $t;
                $kept[] = $rows;
                $kept[] = $end;
            } catch (Failure $failure) {
                $end = $this->failed($kept, $failure, [$t, $places[$next], $unique, $operation], $due, $started);
            }
            $unique += $uniques[$t];
            if ($end >= $nextReport) {
                $nextReport = $end + REPORT_NS;
                ($this->report)("progress\t" . ($operation + 1) . "\t$this->failed");
                // An array that grows may be moved, which takes longer the longer it is.
                [$this->pieces[], $kept] = [$kept, []];
            }
        }
        $this->pieces[] = $kept;
        $this->operation = $operation;
        $this->attempts += $operation;
        $this->lookAgain();
        ($this->report)('over');
        $this->close();
    }

    /** Due time and start of an operation, after waiting for it; null if it is not in the window any more. */
    private function begin(int $time, int $end, bool $isFirst): ?array
    {
        [$control, $isOpen, $started] = [$this->control, $this->spec->isOpen, $end];
        $due = $time + ($isOpen ? $control->startNs : $end);
        if ($due >= $control->windowEnd) {
            return null;
        }
        if ($due > $end || $isFirst) {
            $started = $control->until($due, 'isStopped');
        }
        $isLate = $due >= $control->windowEnd || $isOpen && $started >= $control->windowEnd;
        return $started < $due || $isLate ? null : [$due, $started];
    }

    /** Records a failed attempt and makes the next ones; returns the end of the last. */
    private function failed(array &$kept, Failure $failure, array $operation, int $due, int $started): int
    {
        [$t, $place, $unique, $number] = $operation;
        $control = $this->control;
        $cut = [$this->driver->interrupted, ...$this->driver->alsoInterrupted, CANCELED];
        for ($attempt = 0;; $attempt++) {
            $this->rollBack($failure);
            $end = hrtime(true);
            // A signal during a library's wait may not have been handled yet; the time gives the same information.
            $control->isOver = $control->isOver || $end >= $control->windowEnd + $control->drainNs;
            $code = [$failure->space, $failure->number];
            $flags = $control->isOver && in_array($code, $cut, true) ? FLAG_INTERRUPTED : 0;
            $word = $t | $attempt << 16 | $failure->step << 32 | $failure->space << 48 | $flags << 56;
            array_push($kept, WORDS_FOLLOW, $word, $failure->number | $failure->rows << 32, $due, $started, $end);
            $until = $this->retryAt($attempt, $code, $end);
            // A process may wake too late for another attempt.
            if (
                $until === null || ($started = $control->until($until, 'isOver')) < $until
                || $control->isOver || $started >= $control->windowEnd + $control->drainNs
            ) {
                $this->failed++;
                return $end;
            }
            $this->attempts++;
            try {
                $rows = $this->carryOut($t, $place, $unique, $number);
                $end = hrtime(true);
                array_push($kept, WORDS_FOLLOW, $t | $attempt + 1 << 16 | STEP_NONE << 32, $rows << 32, $due, $started, $end);
                return $end;
            } catch (Failure $again) {
                $failure = $again;
            }
        }
    }

    /** SQLite may have rolled back by itself. If a needed rollback fails, the next begin fails and reports it. */
    private function rollBack(Failure $failure): void
    {
        if ($this->db === null) {
            return;
        }
        try {
            $this->db->rollBack($failure);
        } catch (Throwable) {
        }
        if ($this->db->isLost()) {
            $this->close();
        }
    }

    private function retryAt(int $attempt, array $code, int $end): ?int
    {
        [$plan, $control] = [$this->plan, $this->control];
        if ($attempt + 1 >= $plan->tries || !isset($plan->retryCodes["$code[0]:$code[1]"])) {
            return null;
        }
        $wait = $plan->backoff === [] ? 0 : $plan->backoff[min($attempt, count($plan->backoff) - 1)];
        $permille = $plan->jitter === [] ? 1000 : $plan->jitter[$this->jitterTurn % count($plan->jitter)];
        $this->jitterTurn++;
        $until = $end + intdiv($wait, 1000) * $permille + intdiv($wait % 1000 * $permille, 1000);
        return $control->isOver || $until >= $control->windowEnd + $control->drainNs ? null : $until;
    }

    /** The samples, in pieces of at most 1 MiB. */
    public function frames(): Generator
    {
        $frame = '';
        foreach ($this->words() as $words) {
            $frame .= pack('P8', ...[...$words, -1, 0]);
            if (strlen($frame) === 1 << 20) {
                yield $frame;
                $frame = '';
            }
        }
        if ($frame !== '') {
            yield $frame;
        }
    }

    /** For measurements of the worker itself: for all attempts, the words of their samples that vary. */
    public function samples(): array
    {
        return array_merge(...iterator_to_array($this->words(), false));
    }

    /** The words of each attempt's sample that vary. */
    private function words(): Generator
    {
        [$due, $started, $head] = [0, 0, $this->spec->id - (1 << 32)];
        foreach ($this->pieces as $kept) {
            for ($i = 0, $count = count($kept); $i < $count;) {
                if ($kept[$i] === TIMES_FOLLOW) {
                    [$due, $started] = [$kept[$i + 1], $kept[$i + 2]];
                    $i += KEPT_TIMES;
                    continue;
                }
                if ($kept[$i] === WORDS_FOLLOW) {
                    [$word, $rows, $due, $started, $end] = array_slice($kept, $i + 1, KEPT_WORDS - 1);
                    $i += KEPT_WORDS;
                } else {
                    [$word, $rows, $end] = [$kept[$i] | STEP_NONE << 32, $kept[$i + 1] << 32, $kept[$i + 2]];
                    $i += KEPT;
                }
                // An operation begins with attempt number 0.
                $head += ($word >> 16 & 0xFFFF) === 0 ? 1 << 32 : 0;
                yield [$head, $word, $rows, $due, $started, $end];
                $due = $started = $end;
            }
        }
    }
}
