<?php
// The interface between a driver and the rest of the worker, and options that all drivers share.

declare(strict_types=1);

/** Exits because a driver cannot be used here; the message says what to do. */
function unusable(string $words): never
{
    fwrite(STDERR, "contend worker: $words\n");
    exit(1);
}

/** Called at the beginning of a driver's file: its PHP extension, and the package that contains it. */
function needs(string $extension, string $package): void
{
    if (!extension_loaded($extension)) {
        unusable("PHP has no extension $extension; apt-get install $package");
    }
}

/** A client library that plans can name. */
abstract class Driver
{
    public bool $executesNothing = false;
    public bool $isServer = false;
    public bool $hasScripts = true;
    /** The code of an interrupted attempt: space and number. */
    public array $interrupted = [SQLITE, 9];
    /** Further codes of such attempts. */
    public array $alsoInterrupted = [];

    public function __construct(public string $name)
    {
    }

    /** Facts: driver, engine, and what else there is. */
    abstract public function hello(): array;

    abstract public function open(Database $database, Options $options): Connection;

    /** Throws a FormatError if a driver cannot use a database at such a place. */
    public function check(Database $database): void
    {
        if ($this->isServer && $database->path !== null) {
            throw new FormatError("database $database: this driver connects to a server");
        }
        if (!$this->isServer && !$this->executesNothing && $database->path === null) {
            throw new FormatError("database $database: this driver opens files");
        }
    }

    /** Space and number of an exception of the library, or null. */
    abstract public function codeOf(Throwable $error): ?array;

    /** Stops, from another process, what the connection with this number executes on the server. */
    public function interrupt(Database $database, string $number): void
    {
    }
}

/** An open connection. */
abstract class Connection
{
    /** The prepared statements of the plan, by number: each from its first use on. */
    protected array $statements = [];

    /** Makes the engine check a statement; returns its number of columns, or null if unknown. */
    abstract public function check(Statement $statement): ?int;

    /** Prepares a statement of the plan: `s` in the lines of `code`. Null if the driver prepares nothing. */
    abstract protected function prepared(Statement $statement): mixed;

    public function statement(int $index, Statement $statement): mixed
    {
        return $this->statements[$index] ??= $this->prepared($statement);
    }

    /**
     * Lines of PHP that execute a statement. `args` are expressions, each with the type of its values, or null if it
     * varies. The lines store the number of rows in $m; `keep` are lines to execute for each row in $row. They are
     * the same for all of the driver's connections with these options; the connection is $db.
     */
    abstract public function code(string $s, Statement $statement, array $args, array $keep, string $v): array;

    /** Lines for a BEGIN or COMMIT. */
    public function simpleCode(string $sql): array
    {
        return ['$db->simple(' . var_export($sql, true) . ');'];
    }

    /** Executes a statement whose rows are not needed. */
    abstract public function simple(string $sql): void;

    /** A statement of the session. */
    public function session(string $sql): void
    {
        $this->simple($sql);
    }

    /** The first value that a statement returns, for reading back a setting. */
    public function readBack(string $sql): mixed
    {
        return $this->query($sql)[0][0] ?? null;
    }

    /** All rows of a statement, with values as in a reply. */
    abstract public function query(string $sql): array;

    /** Inserts rows, all or none of them, unless a transaction is open already; returns their number. */
    abstract public function load(Statement $statement, iterable $rows): int;

    /** After a failure: rolls back a transaction that may be open. */
    public function rollBack(Failure $failure): void
    {
        $this->simple('ROLLBACK');
    }

    public function isLost(): bool
    {
        return false;
    }

    /** The connection's number on the server; empty: none. */
    public function number(): string
    {
        return '';
    }

    abstract public function close(): void;
}

/** Options of the driver that are not SQL. */
final class Options
{
    public ?int $busyTimeoutMs = null;
    public ?string $foreignKeys = null;
    public bool $prepareEach = false;
    /** The session statements that follow, for a driver that needs them before it connects. */
    public array $session = [];

    public function __construct(Driver $driver, array $pairs = [])
    {
        foreach ($pairs as [$name, $value]) {
            $this->set($driver, $name, $value);
        }
    }

    private function set(Driver $driver, string $name, string $value): void
    {
        $oneOf = function (string ...$words) use ($name, $value) {
            if (!in_array($value, $words, true)) {
                throw new FormatError("option $name: `$value` is not one of its values (" . implode(', ', $words) . ')');
            }
            return $value;
        };
        if ($driver->isServer && in_array($name, ['busy_timeout_ms', 'foreign_keys'], true)) {
            throw new FormatError("option $name: it is SQLite's, and driver $driver->name connects to a server");
        }
        switch ($name) {
            case 'busy_timeout_ms':
                $most = (1 << 31) - 1;
                $this->busyTimeoutMs = number($value, $most) ?? throw new FormatError("option $name: `$value` is not a number from 0 to $most");
                break;
            case 'statements':
                $this->prepareEach = $oneOf('each', 'prepared') === 'each';
                break;
            case 'foreign_keys':
                $this->foreignKeys = $oneOf('on', 'off');
                break;
            case 'lock_wait':
                if ($oneOf('measured', 'off') === 'measured') {
                    throw new FormatError("option lock_wait: driver $driver->name cannot measure what it waits for locks");
                }
                break;
            default:
                throw new FormatError("option $name: this worker has no such option");
        }
    }

    /** Statements for a new connection of SQLite, before those of the plan. */
    public function sqliteSession(): array
    {
        $busy = $this->busyTimeoutMs === null ? [] : ["PRAGMA busy_timeout = $this->busyTimeoutMs"];
        return $this->foreignKeys === null ? $busy : [...$busy, "PRAGMA foreign_keys = $this->foreignKeys"];
    }
}

/** The failure for any exception. */
function failure_of(Driver $driver, Throwable $error): Failure
{
    if ($error instanceof Failure) {
        return $error;
    }
    $code = $driver->codeOf($error);
    if ($code === null) {
        tell("an error of $driver->name itself: " . get_class($error) . ': ' . $error->getMessage());
        return new Failure(WORKER, DRIVER_ERROR, $error->getMessage());
    }
    return new Failure($code[0], $code[1], $error->getMessage());
}

/** Prints a message on standard error, a few times at most. */
function tell(string $words): void
{
    static $told = 0;
    if ($told++ < 20) {
        fwrite(STDERR, "contend worker: $words\n");
    }
}

/** Binds a value to a placeholder with PDO's type for it; there is none for a real. */
function bind(PDOStatement $s, int|string $at, mixed $value): void
{
    match (true) {
        is_int($value) => $s->bindValue($at, $value, PDO::PARAM_INT),
        is_string($value) => $s->bindValue($at, $value, PDO::PARAM_STR),
        $value === null => $s->bindValue($at, null, PDO::PARAM_NULL),
        $value instanceof Blob => $s->bindValue($at, $value->bytes, PDO::PARAM_LOB),
        default => $s->bindValue($at, (string) $value, PDO::PARAM_STR),
    };
}
