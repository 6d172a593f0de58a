<?php
// Scripts: statements and rows for one connection, outside of any measurement.

declare(strict_types=1);

const SCRIPT_VERSION = 2;

final class Script
{
    private int $at = 0;
    private int $number = 0;
    private ?string $held = null;
    private string $reply = '';
    private int $place = 0;
    private Driver $driver;

    private function __construct(private string $text)
    {
    }

    /** The reply. Errors of the database end a script and are part of the reply; a FormatError refuses the script. */
    public static function carryOut(array $drivers, string $text): string
    {
        check_version('contend-script', SCRIPT_VERSION, strstr($text, "\n", true) ?: $text);
        $script = new self(opened('script', $text) . "end\n");
        try {
            $script->all($drivers);
        } catch (FormatError $e) {
            throw new FormatError("script line $script->number: " . $e->getMessage());
        }
        return $script->reply . "end\n";
    }

    private function next(): array
    {
        if ($this->held === null) {
            $end = strpos($this->text, "\n", $this->at);
            $line = substr($this->text, $this->at, $end - $this->at);
            [$this->at, $this->number] = [$end + 1, $this->number + 1];
        } else {
            [$line, $this->held] = [$this->held, null];
        }
        return explode("\t", $line, 2) + [1 => ''];
    }

    private function hold(array $line): void
    {
        $this->held = implode("\t", $line);
    }

    private function all(array $drivers): void
    {
        $this->next();
        $opening = ['driver' => '', 'database' => null, 'option' => [], 'session' => []];
        for ($line = $this->next(); array_key_exists($line[0], $opening); $line = $this->next()) {
            $fields = explode("\t", $line[1]);
            match ($line[0]) {
                'option' => $opening['option'][] = array_map(unescape(...), $fields),
                'session' => $opening['session'][] = unescape($fields[1]),
                'database' => $opening['database'] = new Database(...$fields),
                'driver' => $opening['driver'] = unescape($fields[0]),
            };
        }
        $this->hold($line);
        $this->driver = find_driver($drivers, $opening['driver']);
        if (!$this->driver->hasScripts) {
            throw new FormatError("driver {$this->driver->name} carries out no scripts: PDO does not tell texts from bytes there");
        }
        $options = new Options($this->driver, $opening['option']);
        $options->session = $opening['session'];
        $db = null;
        try {
            $db = $this->driver->open($opening['database'], $options);
            foreach ([...($this->driver->isServer ? [] : $options->sqliteSession()), ...$opening['session']] as $sql) {
                $db->session($sql);
            }
            $this->lines($db);
        } catch (FormatError $e) {
            throw $e;
        } catch (Throwable $e) {
            $f = failure_of($this->driver, $e);
            $this->reply .= "error\t$this->place\t" . SPACES[$f->space] . "\t$f->number\t" . escape($e->getMessage()) . "\n";
        } finally {
            $db?->close();
        }
    }

    private function lines(Connection $db): void
    {
        for ($line = $this->next(); $line[0] !== 'end'; $line = $this->next()) {
            $this->place = $this->number;
            match ($line[0]) {
                'sql' => $this->query($db, unescape(explode("\t", $line[1])[1])),
                'load' => $this->load($db, Statement::ofLoad(...explode("\t", $line[1]))),
                'row' => throw new FormatError('a row without a `load` before it'),
                default => throw new FormatError('unknown kind of line `' . crop($line[0]) . '`'),
            };
        }
    }

    private function query(Connection $db, string $sql): void
    {
        $rows = $db->query($sql);
        $text = 'result' . "\t" . count($rows) . "\n";
        foreach ($rows as $row) {
            $text .= 'row';
            foreach ($row as $value) {
                $text .= "\t" . value_text($value);
            }
            $text .= "\n";
        }
        $this->reply .= $text;
    }

    private function load(Connection $db, Statement $statement): void
    {
        $count = $db->load($statement, $this->rows($statement));
        $this->reply .= "loaded\t$count\n";
    }

    /** Parsed value by value, because loads are large. */
    private function rows(Statement $statement): Generator
    {
        for ($line = $this->next(); $line[0] === 'row'; $line = $this->next()) {
            $this->place = $this->number;
            $row = array_map(parse_value(...), explode("\t", $line[1]));
            if (count($row) !== $statement->params) {
                throw new Failure(WORKER, NO_VALUE, count($row) . " values for the $statement->params placeholders of `load`");
            }
            yield $row;
        }
        $this->hold($line);
    }
}
