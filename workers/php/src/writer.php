<?php
// Transactions as PHP code: for each plan, functions are generated that carry out the steps of its transactions with
// the library's own calls, as a program written for this workload would. All code is generated and compiled once,
// before the run; a connection opened later only replaces the first one.

declare(strict_types=1);

function wrong_rows(): never
{
    throw new Failure(WORKER, WRONG_ROWS, 'a step returned or changed a number of rows that the plan does not allow');
}

function first(array $kept): mixed
{
    return $kept === [] ? throw new Failure(WORKER, NOT_KEPT) : $kept[0];
}

function plus(array $kept, int $add): mixed
{
    $value = first($kept);
    if ($value === null) {
        return null;
    }
    // Beyond 64 bits PHP converts a sum to a float.
    if (is_float($value) || is_int($value) && is_int($value + $add)) {
        return $value + $add;
    }
    throw new Failure(WORKER, NO_VALUE, 'a number cannot be added to a kept value');
}

function wait_for(Control $control, int $ns): void
{
    $until = hrtime(true) + min($ns, NEVER >> 2);
    if ($control->until($until, 'isCut') < $until) {
        $control->cut();
    }
}

function now_ns(): int
{
    [$fraction, $seconds] = explode(' ', microtime());
    return (int) $seconds * 1_000_000_000 + (int) ((float) $fraction * 1e9);
}

/**
 * Generated functions. Parameters: all arguments, the index of the first one, the first unique number, the operation;
 * result: the number of rows.
 */
final class Functions
{
    /** By transaction, a factory of its function for a connection whose statements are prepared. */
    public array $makers = [];
    /** By transaction, a function of a connection that prepares its statements at their first use. */
    public array $firsts = [];
}

/** Generates the functions of a plan for one client. */
final class Writer
{
    private array $values = [];
    /** By transaction and argument, the type in all operations, or `mixed`. */
    private array $types = [];

    /** @param Statement[] $statements */
    public function __construct(private Plan $plan, ClientPlan $client, private array $statements)
    {
        foreach ($client->operations as [, $t, $args]) {
            foreach ($args as $place => $value) {
                $found = get_debug_type($value);
                $this->types[$t][$place] = ($this->types[$t][$place] ?? $found) === $found ? $found : 'mixed';
            }
        }
    }

    /** `db` may be any connection with the same options. */
    public function functions(Connection $db, Driver $driver, Control $control): Functions
    {
        $given = ['driver' => $driver, 'control' => $control];
        foreach ($this->statements as $i => $statement) {
            $given["d$i"] = $statement;
            $given["q$i"] = $db instanceof PdoConnection ? $db->sql($statement) : $statement->sql;
        }
        $bodies = [];
        foreach ($this->plan->transactions as $index => $t) {
            $bodies[$index] = array_map(fn ($isFirst) => $this->transaction($index, $t, $db, $driver, $isFirst), [true, false]);
        }
        foreach ($this->values as $i => $value) {
            $given["v$i"] = $value;
        }
        $text = '';
        foreach ($bodies as $index => [$first, $later]) {
            // Without types, which would be checked at every call.
            $arguments = '$a, $p, $u, $o';
            $text .= "\$functions->firsts[$index] = static function ($arguments, \$db)" . self::uses($first, $given) . " {\n$first};\n";
            preg_match_all('/\$s(\d+)\b/', $later, $named);
            $prepare = implode('', array_map(fn ($s) => "\$s$s = \$db->statement($s, \$d$s);\n", array_unique($named[1])));
            $statements = array_fill_keys(array_map(fn ($s) => "s$s", $named[1]), true) + ['db' => true];
            $inner = "static function ($arguments)" . self::uses($later, $given + $statements) . " {\n$later}";
            $text .= "\$functions->makers[$index] = static function (Connection \$db)" . self::uses($prepare . $later, $given)
                . " {\n{$prepare}return $inner;\n};\n";
        }
        return (static function (array $given, string $text) {
            extract($given);
            $functions = new Functions();
            eval($text);
            return $functions;
        })($given, $text);
    }

    /** A function captures only the variables that it uses. */
    private static function uses(string $body, array $given): string
    {
        preg_match_all('/\$([a-z]+\d*)\b/', $body, $named);
        $used = array_map(fn ($name) => "\$$name", array_unique(array_intersect($named[1], array_keys($given))));
        return $used === [] ? '' : ' use (' . implode(', ', $used) . ')';
    }

    private function transaction(int $index, Transaction $t, Connection $db, Driver $driver, bool $isFirst): string
    {
        $body = [];
        $slots = [];
        foreach ($t->steps as $step) {
            foreach ($step->keep as [$slot]) {
                $slots[$slot] = true;
            }
            foreach ($step->sources as [$kind, $a]) {
                if ($kind === 'k' || $kind === 'K') {
                    $slots[$a] = true;
                }
            }
        }
        foreach (array_keys($slots) as $slot) {
            $body[] = "\$k$slot = [];";
        }
        $known = $t->begin === null ? 0 : STEP_BEGIN;
        array_push($body, '$n = 0;', "\$step = $known;", 'try {');
        if ($t->begin !== null) {
            array_push($body, ...$db->simpleCode($t->begin));
        }
        foreach ($t->steps as $number => $step) {
            if ($number !== $known) {
                $body[] = "\$step = $number;";
            }
            if ($step->kind === 'sql') {
                array_push($body, ...$this->sql($step, $index, $db, $driver, $isFirst));
            } elseif ($step->kind !== 'connect') {
                $body[] = "wait_for(\$control, $step->ns);";
            }
        }
        if ($t->begin !== null) {
            array_push($body, '$step = ' . STEP_COMMIT . ';', ...$db->simpleCode('COMMIT'));
        }
        array_push(
            $body,
            'return $n;',
            '} catch (Throwable $e) {',
            '$failure = failure_of($driver, $e); $failure->step = $step; $failure->rows = $n; throw $failure;',
            '}'
        );
        return implode("\n", $body) . "\n";
    }

    private function sql(Step $step, int $index, Connection $db, Driver $driver, bool $isFirst): array
    {
        $statement = $this->statements[$step->statement];
        $args = array_map(fn ($source) => $this->source($source, $step->repeat, $index), $step->sources);
        $lines = $step->repeat > 1 ? ["for (\$i = 0; \$i < $step->repeat; \$i++) {"] : [];
        // An interrupt only affects a running statement, so each statement checks first.
        $lines[] = 'if ($control->isOver) { $control->cut(); }';
        if ($driver->executesNothing) {
            $lines[] = '$r = [' . implode(', ', array_column($args, 0)) . '];';
            $lines[] = "\$m = $step->least;";
        } else {
            $s = "\$s$step->statement";
            if ($isFirst) {
                $lines[] = "$s = \$db->statement($step->statement, \$d$step->statement);";
            }
            $code = $db->code($s, $statement, $args, $step->keep, "\$q$step->statement");
        }
        foreach ($step->keep as [$slot]) {
            $lines[] = "\$k$slot = " . ($driver->executesNothing ? '[1]' : '[]') . ';';
        }
        array_push($lines, ...($code ?? []));
        $lines[] = '$n += $m;';
        if ($step->least === $step->most) {
            $lines[] = "if (\$m !== $step->least) { wrong_rows(); }";
        } elseif ($step->least > 0 || $step->most !== ANY_ROWS) {
            $lines[] = "if (\$m < $step->least || \$m > $step->most) { wrong_rows(); }";
        }
        return $step->repeat > 1 ? [...$lines, '}'] : $lines;
    }

    /** An expression, and the type of all its values. */
    private function source(array $source, int $repeat, int $index): array
    {
        [$kind, $a, $b] = $source;
        $stride = $repeat > 1 && $b !== 0 ? " + $b * \$i" : '';
        switch ($kind) {
            case '':
                $this->values[] = $a;
                return ['$v' . (count($this->values) - 1), get_debug_type($a)];
            case 'p':
                $place = $a === 0 && $stride === '' ? '' : " + $a$stride";
                return ["\$a[\$p$place]", $this->typeOf($index, range($a, $a + ($stride === '' ? 0 : $b * ($repeat - 1)), max($b, 1)))];
            case 'u':
                return ["(\$u + $a$stride)", 'int'];
            case 'k':
                return [$b === 0 ? "first(\$k$a)" : "plus(\$k$a, $b)", null];
            case 'K':
                return ["(\$k{$a}[$b] ?? null)", null];
        }
        $now = $this->plan->nowFixed === null ? 'now_ns()' : "({$this->plan->nowFixed[0]} + {$this->plan->nowFixed[1]} * \$o)";
        return ["intdiv($now, $a)", 'int'];
    }

    /** The type of these arguments in all operations of the transaction. */
    private function typeOf(int $index, array $places): ?string
    {
        $found = array_unique(array_map(fn ($place) => $this->types[$index][$place] ?? 'mixed', $places));
        return count($found) === 1 && $found[0] !== 'mixed' ? $found[0] : null;
    }
}
