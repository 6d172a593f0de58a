<?php
// Plans. The tool has checked a plan, and the digest shows that it is unchanged, so its content is not checked again.

declare(strict_types=1);

const PLAN_VERSION = 3;

/** A step: kind is sql, hold, pause or connect. */
final class Step
{
    public int $statement = 0;
    public int $least = 0;
    public int $most = ANY_ROWS;
    public int $repeat = 1;
    /** slot, column, rows */
    public array $keep = [];
    /** kind ('' for a literal), a, b */
    public array $sources = [];
    public int $ns = 0;

    public function __construct(public string $kind)
    {
    }
}

final class Transaction
{
    public string $name;
    public ?string $begin;
    public int $uniques;
    public int $slots;
    public int $arguments = 0;
    public bool $connects = false;
    public array $steps = [];
}

final class ClientPlan
{
    public int $id;
    public int $database;
    public bool $isOpen;
    public bool $isCyclic;
    public int $limit;
    public int $start;
    /** time, transaction, arguments */
    public array $operations = [];
}

final class Plan
{
    public string $driver;
    public string $model;
    public bool $isShared;
    public int $runIn;
    public int $length;
    public int $drain;
    public ?array $nowFixed = null;
    public array $options = [];
    /** @var Database[] */
    public array $databases = [];
    public array $session = [];
    public array $readbacks = [];
    /** @var Statement[] */
    public array $statements = [];
    public array $texts = [];
    /** @var Transaction[] */
    public array $transactions = [];
    public int $tries;
    public array $backoff = [];
    public array $jitter = [];
    /** "space:number" => true */
    public array $retryCodes = [];
    /** @var ClientPlan[] */
    public array $clients = [];

    /** From the start to the end of the window; a length of 0 means no end. */
    public function end(): int
    {
        return $this->length === 0 ? NEVER >> 1 : min($this->runIn + $this->length, NEVER >> 1);
    }
}

/** Parses the lines of a plan: a method for each kind, which receives the fields. */
final class PlanReader
{
    private Plan $plan;

    public function __construct(private string $text)
    {
        $this->plan = new Plan();
    }

    public function read(): Plan
    {
        try {
            check_version('contend-plan', PLAN_VERSION, strstr($this->text, "\n", true) ?: $this->text);
        } catch (FormatError $e) {
            throw new FormatError('plan line 1: ' . $e->getMessage());
        }
        $lines = explode("\n", opened('plan', $this->text));
        array_pop($lines);
        $number = 1;
        try {
            for ($count = count($lines); $number < $count; $number++) {
                $fields = explode("\t", $lines[$number]);
                $kind = $fields[0];
                $fields[0] = null;
                $this->{"line_$kind"}(...$fields);
            }
        } catch (FormatError $e) {
            throw $e;
        } catch (Error | ErrorException $e) {
            $line = crop($lines[$number]);
            throw new FormatError('plan line ' . ($number + 1) . ": `$line`, {$e->getMessage()}: databases know nothing of HTTP");
        }
        return $this->plan;
    }

    private function line_worker(): void
    {
    }

    private function line_driver($_, string $driver, string $model): void
    {
        [$this->plan->driver, $this->plan->model] = [unescape($driver), unescape($model)];
    }

    private function line_connections($_, string $sharing): void
    {
        $this->plan->isShared = $sharing === 'database';
    }

    private function line_window($_, string $runIn, string $length, string $drain): void
    {
        [$this->plan->runIn, $this->plan->length, $this->plan->drain] = [number($runIn), number($length), number($drain)];
    }

    private function line_now($_, string $source, string $base = '', string $step = ''): void
    {
        $this->plan->nowFixed = $source === 'fixed' ? [number($base), number($step)] : null;
    }

    private function line_option($_, string $name, string $value): void
    {
        $this->plan->options[] = [unescape($name), unescape($value)];
    }

    private function line_database($_, string ...$fields): void
    {
        $this->plan->databases[] = new Database(...$fields);
    }

    private function line_session($_, string $effect, string $sql): void
    {
        $this->plan->session[] = unescape($sql);
    }

    private function line_readback($_, string $name, string $sql): void
    {
        $this->plan->readbacks[] = [unescape($name), unescape($sql)];
    }

    private function line_statement($_, string $number, string $effect, string $placeholders, string $sql): void
    {
        $this->plan->statements[] = new Statement(unescape($sql), $effect, $placeholders);
    }

    private function line_text($_, string $number, string $text): void
    {
        $this->plan->texts[] = unescape($text);
    }

    private function line_transaction($_, string $number, string $name, string $kind, string $begin, string $uniques, string $slots): void
    {
        $t = new Transaction();
        [$t->name, $t->begin] = [unescape($name), $begin === '-' ? null : unescape($begin)];
        [$t->uniques, $t->slots] = [(int) $uniques, (int) $slots];
        $this->plan->transactions[] = $t;
    }

    private function line_step($_, string $kind, string ...$fields): void
    {
        $t = end($this->plan->transactions);
        if ($kind === 'http') {
            throw new FormatError("`$t->name` sends HTTP requests, which only the driver http does");
        }
        $s = $t->steps[] = new Step($kind);
        if ($kind === 'sql') {
            $this->sql($t, $s, ...$fields);
        } elseif ($kind === 'connect') {
            $t->connects = true;
        } else {
            $s->ns = number($fields[0]);
        }
    }

    private function sql(Transaction $t, Step $s, string $statement, string $rows, string $repeat, string $keep, string ...$sources): void
    {
        [$low, $high] = explode('..', $rows);
        [$s->statement, $s->repeat] = [(int) $statement, (int) $repeat];
        [$s->least, $s->most] = [(int) $low, $high === '*' ? ANY_ROWS : (int) $high];
        $s->keep = array_map(fn ($item) => array_map(intval(...), explode(':', $item)), items($keep));
        foreach ($sources as $field) {
            $s->sources[] = $this->source($t, $field, $s->repeat);
        }
    }

    private function source(Transaction $t, string $field, int $repeat): array
    {
        $kind = $field[0];
        if (!str_contains('pkKuc', $kind)) {
            return ['', parse_value($field, $this->plan->texts), 0];
        }
        [$first, $second] = explode('+', substr($field, 1), 2) + [1 => '0'];
        [$a, $b] = [(int) $first, (int) $second];
        if ($kind === 'p') {
            $t->arguments = max($t->arguments, $a + $b * ($repeat - 1) + 1);
        }
        return [$kind, $a, $b];
    }

    private function line_retry($_, string $tries, string $backoff, string $jitter, string $codes): void
    {
        $this->plan->tries = (int) $tries;
        [$this->plan->backoff, $this->plan->jitter] = [array_map(number(...), items($backoff)), array_map(intval(...), items($jitter))];
        foreach (items($codes) as $item) {
            [$word, $number] = explode(':', $item);
            $this->plan->retryCodes[array_search($word, SPACES, true) . ":$number"] = true;
        }
    }

    private function line_clients(): void
    {
    }

    private function line_client($_, string $id, string $database, string $loop, string $cycle, string $limit, string $start): void
    {
        $c = new ClientPlan();
        [$c->id, $c->database, $c->limit, $c->start] = [(int) $id, (int) $database, (int) $limit, number($start)];
        [$c->isOpen, $c->isCyclic] = [$loop === 'open', $cycle === 'cyclic'];
        $this->plan->clients[] = $c;
    }

    private function line_op($_, string $time, string $transaction, string ...$values): void
    {
        $args = [];
        foreach ($values as $value) {
            $args[] = parse_value($value, $this->plan->texts);
        }
        end($this->plan->clients)->operations[] = [number($time), (int) $transaction, $args];
    }
}

/** The items of a list; `-` is the empty list. */
function items(string $field): array
{
    return $field === '-' ? [] : explode(',', $field);
}
