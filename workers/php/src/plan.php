<?php
// Plans: read at once, every reference checked; an error names the line.

declare(strict_types=1);

const PLAN_VERSION = 2;

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
    public array $databases = [];
    public array $session = [];
    public array $readbacks = [];
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

    /** From the start to the end of the window; a length of 0 is no end. */
    public function end(): int
    {
        return $this->length === 0 ? NEVER >> 1 : min($this->runIn + $this->length, NEVER >> 1);
    }
}

/** Lines of a plan. */
final class PlanReader
{
    private array $lines;
    private int $at = 0;
    private array $fields = [];
    private int $field = 0;
    private string $kind = '';
    private Plan $plan;

    public function __construct(string $text)
    {
        $this->lines = explode("\n", $text);
        $this->plan = new Plan();
    }

    public function read(): Plan
    {
        try {
            $this->at = 1;
            check_version('contend-plan', PLAN_VERSION, $this->lines[0]);
            $this->head();
            $this->expect('clients');
            $count = $this->number('count');
            $this->end();
            for ($i = 0; $i < $count; $i++) {
                $this->plan->clients[] = $this->client();
            }
            $this->expect('end');
            $this->end();
            if ($this->at === count($this->lines)) {
                throw new FormatError('cut off: the `end` line has no line end');
            }
            if (array_slice($this->lines, $this->at) !== ['']) {
                throw new FormatError('text after the `end` line');
            }
        } catch (FormatError $e) {
            throw new FormatError("plan line $this->at: " . $e->getMessage());
        }
        return $this->plan;
    }

    private function nextIf(string $kind): bool
    {
        $fields = explode("\t", $this->lines[$this->at] ?? '');
        if ($fields[0] !== $kind) {
            return false;
        }
        $this->at++;
        [$this->fields, $this->field, $this->kind] = [$fields, 1, $kind];
        return true;
    }

    private function expect(string $kind): void
    {
        if (!$this->nextIf($kind)) {
            $line = $this->lines[$this->at++] ?? '';
            throw new FormatError("expected a `$kind` line, found `" . crop($line) . '`');
        }
    }

    private function raw(string $what): string
    {
        return $this->fields[$this->field++] ?? throw new FormatError("a `$this->kind` line without its $what");
    }

    private function text(string $what): string
    {
        return unescape($this->raw($what));
    }

    private function number(string $what, int $most = PHP_INT_MAX): int
    {
        $field = $this->raw($what);
        return number($field, $most) ?? throw new FormatError("$what `" . crop($field) . '` is not a number that fits');
    }

    private function word(string $what, string ...$words): string
    {
        $field = $this->raw($what);
        if (!in_array($field, $words, true)) {
            throw new FormatError('`' . crop($field) . '` is not ' . implode(' or ', $words));
        }
        return $field;
    }

    private function end(): void
    {
        if ($this->field < count($this->fields)) {
            throw new FormatError('a field too many: `' . crop($this->fields[$this->field]) . '`');
        }
    }

    private function list(string $what, callable $read): array
    {
        $field = $this->raw($what);
        $found = [];
        foreach ($field === '-' ? [] : explode(',', $field) as $item) {
            $found[] = $read($item) ?? throw new FormatError('`' . crop($item) . "` in the list of $what");
        }
        return $found;
    }

    private function head(): void
    {
        $p = $this->plan;
        $this->expect('worker');
        $this->number('number');
        $this->end();
        $this->expect('driver');
        [$p->driver, $p->model] = [$this->text('driver'), $this->text('model')];
        $this->end();
        $this->expect('connections');
        $p->isShared = $this->word('way of sharing', 'client', 'database') === 'database';
        $this->end();
        $this->expect('window');
        [$p->runIn, $p->length, $p->drain] = [$this->number('run-in'), $this->number('length'), $this->number('drain')];
        $this->end();
        $this->expect('now');
        if ($this->word('source', 'clock', 'fixed') === 'fixed') {
            $p->nowFixed = [$this->number('base'), $this->number('step')];
        }
        $this->end();
        $p->options = $this->pairs('option');
        $p->databases = $this->texts('database', false);
        $p->session = $this->texts('session', false);
        $p->readbacks = $this->pairs('readback');
        $p->statements = $this->texts('statement', true);
        $p->texts = $this->texts('text', true);
        while ($this->nextIf('transaction')) {
            $p->transactions[] = $this->transaction();
        }
        $this->expect('retry');
        $p->tries = $this->number('number of tries', 65535);
        if ($p->tries === 0) {
            throw new FormatError('the number of tries must be at least 1');
        }
        $p->backoff = $this->list('back-off', fn ($item) => number($item));
        $p->jitter = $this->list('jitter', fn ($item) => number($item, 65535));
        $codes = $this->list('codes', function ($item) {
            [$word, $digits] = explode(':', $item, 2) + [1 => ''];
            [$space, $n] = [array_search($word, SPACES, true), number($digits, 0xFFFFFFFF)];
            return $space === false || $n === null ? null : "$space:$n";
        });
        $p->retryCodes = array_fill_keys($codes, true);
        $this->end();
    }

    private function pairs(string $kind): array
    {
        $pairs = [];
        while ($this->nextIf($kind)) {
            $pairs[] = [$this->text('name'), $this->text('text')];
            $this->end();
        }
        return $pairs;
    }

    private function texts(string $kind, bool $numbered): array
    {
        $texts = [];
        while ($this->nextIf($kind)) {
            if ($numbered) {
                $this->index(count($texts));
            }
            $texts[] = $this->text('text');
            $this->end();
        }
        return $texts;
    }

    private function index(int $expected): void
    {
        $found = $this->number('number');
        if ($found !== $expected) {
            throw new FormatError("expected number $expected, found $found");
        }
    }

    private function transaction(): Transaction
    {
        $t = new Transaction();
        $this->index(count($this->plan->transactions));
        $t->name = $this->text('name');
        $this->word('kind', 'read', 'write');
        $begin = $this->text('begin');
        $t->begin = $begin === '-' ? null : $begin;
        $t->uniques = $this->number('count of unique numbers', 65535);
        $t->slots = $this->number('count of slots', 65535);
        $count = $this->number('count of steps', 65000);
        $this->end();
        for ($i = 0; $i < $count; $i++) {
            $t->steps[] = $this->step($t, $i);
        }
        return $t;
    }

    private function step(Transaction $t, int $index): Step
    {
        $this->expect('step');
        $kind = $this->raw('kind');
        $step = new Step($kind);
        if ($kind === 'sql') {
            $this->sql($t, $step);
        } elseif ($kind === 'hold' || $kind === 'pause') {
            $step->ns = $this->number('length');
            $this->end();
        } elseif ($kind === 'connect') {
            $this->end();
            if ($index > 0) {
                throw new FormatError('`connect` must be the first step of a transaction');
            }
            $t->connects = true;
        } else {
            throw new FormatError('`' . crop($kind) . '` is not a kind of step this worker knows');
        }
        return $step;
    }

    private function sql(Transaction $t, Step $s): void
    {
        $s->statement = $this->number('statement');
        $rows = $this->raw('rows');
        [$low, $high] = explode('..', $rows, 2) + [1 => ''];
        $least = number($low, ANY_ROWS);
        $most = $high === '*' ? ANY_ROWS : number($high, ANY_ROWS);
        if ($least === null || $most === null || $least > $most) {
            throw new FormatError('rows `' . crop($rows) . '` are not of the form MIN..MAX or MIN..*');
        }
        [$s->least, $s->most] = [$least, $most];
        $s->repeat = $this->number('repeat');
        if ($s->repeat === 0) {
            throw new FormatError('a step is repeated at least once');
        }
        $s->keep = $this->list('keep', function ($item) {
            $parts = array_map(fn ($part) => number($part, 65535), explode(':', $item));
            return count($parts) === 3 && !in_array(null, $parts, true) && $parts[2] > 0 ? $parts : null;
        });
        if (!isset($this->plan->statements[$s->statement])) {
            throw new FormatError("statement $s->statement is not in the plan");
        }
        foreach ($s->keep as [$slot]) {
            $this->checkSlot($t, $slot);
        }
        while ($this->field < count($this->fields)) {
            $s->sources[] = $this->source($t, $this->raw('source'), $s->repeat);
        }
    }

    private function checkSlot(Transaction $t, int $slot): void
    {
        if ($slot >= $t->slots) {
            throw new FormatError("slot $slot is beyond the $t->slots of `$t->name`");
        }
    }

    private function source(Transaction $t, string $field, int $repeat): array
    {
        $kind = $field[0] ?? throw new FormatError('an empty field where the source of an argument was expected');
        $wrong = new FormatError('`' . crop($field) . '` is not the source of an argument');
        if (!str_contains('pkKuc', $kind)) {
            return ['', parse_value($field, $this->plan->texts), 0];
        }
        if ($kind === 'c') {
            return [$kind, number(substr($field, 1)) ?: throw $wrong, 0];
        }
        [$first, $second] = explode('+', substr($field, 1), 2) + [1 => ''];
        $a = number($first, 65535) ?? throw $wrong;
        $b = ($kind === 'k' ? integer($second) : number($second, 65535)) ?? throw $wrong;
        $last = $a + ($kind === 'k' ? 0 : $b * ($repeat - 1));
        if ($kind === 'k' || $kind === 'K') {
            $this->checkSlot($t, $a);
        } elseif ($kind === 'u' && $last >= $t->uniques) {
            throw new FormatError("`$t->name` announces $t->uniques unique numbers, this step needs more");
        } elseif ($kind === 'p') {
            $t->arguments = max($t->arguments, $last + 1);
            if ($t->arguments > 65535) {
                throw new FormatError("`$t->name` takes $t->arguments arguments; 65535 are the most");
            }
        }
        return [$kind, $a, $b];
    }

    private function client(): ClientPlan
    {
        $c = new ClientPlan();
        $this->expect('client');
        [$c->id, $c->database] = [$this->number('number', 0xFFFFFFFF), $this->number('database')];
        if (!isset($this->plan->databases[$c->database])) {
            throw new FormatError("client $c->id uses database $c->database; the plan has " . count($this->plan->databases));
        }
        $c->isOpen = $this->word('loop', 'closed', 'open') === 'open';
        $c->isCyclic = $this->word('cycle', 'cyclic', 'finite') === 'cyclic';
        if ($c->isOpen && $c->isCyclic) {
            throw new FormatError('an open loop cannot be cyclic: its due times are drawn in advance');
        }
        [$c->limit, $c->start] = [$this->number('limit', 0xFFFFFFFF), $this->number('start')];
        $count = $this->number('count of operations');
        $this->end();
        $previous = 0;
        for ($i = 0; $i < $count; $i++) {
            $this->expect('op');
            [$time, $index] = [$this->number('time'), $this->number('transaction', 65535)];
            $t = $this->plan->transactions[$index] ?? throw new FormatError("transaction $index is not in the plan");
            $args = [];
            while ($this->field < count($this->fields)) {
                $args[] = parse_value($this->raw('value'), $this->plan->texts);
            }
            if (count($args) !== $t->arguments) {
                throw new FormatError("`$t->name` takes $t->arguments arguments, found " . count($args));
            }
            if ($c->isOpen && $time < $previous) {
                throw new FormatError('due times of an open loop must not go back');
            }
            $previous = $time;
            $c->operations[] = [$time, $index, $args];
        }
        return $c;
    }
}
