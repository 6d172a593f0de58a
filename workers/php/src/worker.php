<?php
// The handshake: the first process talks to the tool, while the clients' processes (run.php) carry out the plan.

declare(strict_types=1);

const PROGRESS_NS = 200_000_000;
const AGAIN_NS = 10_000_000;

/** Lines and bytes of a non-blocking stream. */
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

    /** Waits this long for something to read. */
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
            // A bug of the worker: nothing can be relied on any more. Its clients end with it.
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

    /** Supervises until every client has ended: progress lines, answers to the tool, end of the drain. */
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
        say($run->progress(hrtime(true) - $startNs)); // all is done
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

/** Carries out the plan in a file without a tool; writes the samples to another file. Returns the exit status. */
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
