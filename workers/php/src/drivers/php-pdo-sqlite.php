<?php
// The driver `php-pdo-sqlite`: PDO on the system's SQLite.

declare(strict_types=1);

needs('pdo_sqlite', 'php-sqlite3');
require_once __DIR__ . '/pdo.php';

const PDO_OPTIONS = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
/** Instructions of SQLite's virtual machine between two checks of the progress handler: about a millisecond. */
const INSTRUCTIONS = 100_000;

/** SQLite's library below PDO, which cannot interrupt a statement itself. */
final class Beneath
{
    private static ?FFI $library = null;
    private static array $callbacks = [];

    /** Makes connections of this process stop their statements once `isOver` returns true. */
    public static function interrupt(callable $isOver): void
    {
        if (!extension_loaded('FFI')) {
            tell('without the extension FFI a statement cannot be interrupted');
            return;
        }
        self::$library = FFI::cdef(
            'int sqlite3_auto_extension(int (*entry)(void *, void *, void *));
             void sqlite3_progress_handler(void *, int, int (*ask)(void *), void *);',
            'libsqlite3.so.0'
        );
        $ask = static fn ($nothing) => $isOver() ? 1 : 0;
        $entry = static function ($db) use ($ask) {
            self::$library->sqlite3_progress_handler($db, INSTRUCTIONS, $ask, null);
            return 0;
        };
        self::$callbacks = [$ask, $entry];
        self::$library->sqlite3_auto_extension($entry);
    }
}

final class PdoSqliteConnection extends PdoConnection
{
    private bool $prepareEach;

    public function __construct(string $database, Options $options)
    {
        $this->db = new PDO("sqlite:$database", null, null, PDO_OPTIONS + [PDO::SQLITE_ATTR_EXTENDED_RESULT_CODES => 1]);
        $this->prepareEach = $options->prepareEach;
    }

    public function check(Statement $statement): ?int
    {
        // EXPLAIN compiles a statement without executing it; the program has the number of columns of a row.
        $columns = 0;
        foreach ($this->db->query("EXPLAIN $statement->sql")->fetchAll(PDO::FETCH_NUM) as $row) {
            $columns = $row[1] === 'ResultRow' ? max($columns, $row[3]) : $columns;
        }
        return $columns;
    }

    /** A statement that is prepared for every execution is not prepared in advance. */
    protected function prepared(Statement $statement): mixed
    {
        return $this->prepareEach ? null : parent::prepared($statement);
    }

    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        $lines = parent::code($s, $statement, $args, $keep, $v);
        return $this->prepareEach ? ["{$s} = \$db->db->prepare($v);", ...$lines] : $lines;
    }

    /** PDO returns texts and bytes alike; SQLite has the type of a value of the current row. */
    public function typed(PDOStatement $s, array $row, int $column): mixed
    {
        if (!array_key_exists($column, $row)) {
            throw new Failure(WORKER, NO_VALUE, "there is no column $column");
        }
        $value = $row[$column];
        if (is_string($value) && in_array('blob', $s->getColumnMeta($column)['flags'], true)) {
            return new Blob($value);
        }
        return $value;
    }

    /**
     * Includes a transaction that a statement has begun, which PDO does not track; SQLite reports `begin` inside one
     * as an error.
     */
    protected function isInTransaction(): bool
    {
        try {
            $this->db->exec('BEGIN');
        } catch (PDOException $e) {
            return str_contains($e->getMessage(), 'within a transaction');
        }
        $this->db->exec('ROLLBACK');
        return false;
    }
}

final class PdoSqlite extends Driver
{
    public function hello(): array
    {
        $db = new PdoSqliteConnection(':memory:', new Options($this));
        $options = implode(',', array_column($db->query('PRAGMA compile_options'), 0));
        $asOpened = new PDO('sqlite::memory:');
        $asOpened->exec('CREATE TABLE probe (value); INSERT INTO probe VALUES (1)');
        // SQLite reports BEGIN inside a transaction as an error.
        $inside = false;
        try {
            $asOpened->exec('BEGIN');
        } catch (PDOException) {
            $inside = true;
        }
        return [
            'autocommit' => $inside ? 'off' : 'on',
            'driver' => 'PDO SQLite of PHP ' . PHP_VERSION,
            'engine' => 'SQLite ' . $db->query('SELECT sqlite_version()')[0][0],
            'compile_options' => $options,
        ];
    }

    public function open(Database $database, Options $options): Connection
    {
        return new PdoSqliteConnection($database->path, $options);
    }

    public function codeOf(Throwable $error): ?array
    {
        $number = $error instanceof PDOException ? $error->errorInfo[1] ?? null : null;
        return is_int($number) ? [SQLITE, $number] : null;
    }
}

return PdoSqlite::class;
