<?php
// Transactions as PHP code: for each plan a function is written that carries out a transaction's steps through the
// library's own calls, as a program would that was written for this workload.

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
    // Beyond 64 bits a sum becomes a real.
    if (is_float($value) || is_int($value) && is_int($value + $add)) {
        return $value + $add;
    }
    throw new Failure(WORKER, NO_VALUE, 'a number cannot be added to a kept value');
}

function wait_for(Control $control, int $ns): void
{
    $until = hrtime(true) + min($ns, NEVER >> 2);
    if ($control->until($until, 'isOver') < $until) {
        $control->cut();
    }
}

function now_ns(): int
{
    [$fraction, $seconds] = explode(' ', microtime());
    return (int) $seconds * 1_000_000_000 + (int) ((float) $fraction * 1e9);
}

/** Writes the functions of a plan for one client. */
final class Writer
{
    private array $lines = [];
    private array $values = [];

    /** @param Statement[] $statements */
    public function __construct(private Plan $plan, private ClientPlan $client, private array $statements)
    {
    }

    /** One function for each transaction: of arguments, first unique number and operation, to the rows. */
    public function functions(Connection $db, Driver $driver, Control $control): array
    {
        $prepared = [];
        foreach ($this->statements as $i => $statement) {
            $prepared["s$i"] = $db->prepared($statement);
            $prepared["q$i"] = $db instanceof PdoConnection ? $db->sql($statement->sql) : $statement->sql;
        }
        foreach ($this->plan->transactions as $index => $t) {
            $this->transaction($index, $t, $db, $driver);
        }
        $variables = $prepared + ['db' => $db, 'driver' => $driver, 'control' => $control];
        foreach ($this->values as $i => $value) {
            $variables["v$i"] = $value;
        }
        // Of what a function has, it is given only what it names.
        $text = '';
        foreach ($this->lines as [$head, $body]) {
            preg_match_all('/\$([a-z]+\d*)\b/', $body, $named);
            $used = array_map(fn ($name) => "\$$name", array_unique(array_intersect($named[1], array_keys($variables))));
            $use = $used === [] ? '' : ' use (' . implode(', ', $used) . ')';
            $text .= "$head$use: int {\n$body};\n";
        }
        return (static function (array $variables, string $text) {
            extract($variables);
            $functions = [];
            eval($text);
            return $functions;
        })($variables, $text);
    }

    private function transaction(int $index, Transaction $t, Connection $db, Driver $driver): void
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
        array_push($body, '$n = 0;', '$step = ' . ($t->begin === null ? 0 : STEP_BEGIN) . ';', 'try {');
        if ($t->begin !== null) {
            array_push($body, ...$db->simpleCode($t->begin));
        }
        foreach ($t->steps as $number => $step) {
            $body[] = "\$step = $number;";
            if ($step->kind === 'sql') {
                array_push($body, ...$this->sql($t, $step, $index, $db, $driver));
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
        $this->lines[] = ["\$functions[$index] = static function (array \$a, int \$u, int \$o)", implode("\n", $body) . "\n"];
    }

    private function sql(Transaction $t, Step $step, int $index, Connection $db, Driver $driver): array
    {
        $statement = $this->statements[$step->statement];
        $args = array_map(fn ($source) => $this->source($source, $step->repeat, $index), $step->sources);
        $lines = $step->repeat > 1 ? ["for (\$i = 0; \$i < $step->repeat; \$i++) {"] : [];
        // An interrupt only reaches statements under way, so each one asks before it begins.
        $lines[] = 'if ($control->isOver) { $control->cut(); }';
        if ($driver->executesNothing) {
            $lines[] = '$r = [' . implode(', ', array_column($args, 0)) . '];';
            $lines[] = "\$m = $step->least;";
        } else {
            $code = $db->code("\$s$step->statement", $statement, $args, $step->keep, "\$q$step->statement");
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

    /** An expression, and the type that all of its values have. */
    private function source(array $source, int $repeat, int $index): array
    {
        [$kind, $a, $b] = $source;
        $stride = $repeat > 1 && $b !== 0 ? " + $b * \$i" : '';
        switch ($kind) {
            case '':
                $this->values[] = $a;
                return ['$v' . (count($this->values) - 1), get_debug_type($a)];
            case 'p':
                return ["\$a[$a$stride]", $this->typeOf($index, range($a, $a + ($stride === '' ? 0 : $b * ($repeat - 1)), max($b, 1)))];
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

    /** The type that these arguments have in all operations of the transaction. */
    private function typeOf(int $index, array $places): ?string
    {
        $type = null;
        foreach ($this->client->operations as [, $t, $args]) {
            if ($t !== $index) {
                continue;
            }
            foreach ($places as $place) {
                $found = get_debug_type($args[$place]);
                if ($type !== null && $type !== $found) {
                    return null;
                }
                $type = $found;
            }
        }
        return $type;
    }
}
