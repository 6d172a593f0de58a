<?php
// The driver `php-pdo-mysql`: PDO for MariaDB and MySQL, on PHP's own client library.

declare(strict_types=1);

needs('pdo_mysql', 'php-mysql');
require_once __DIR__ . '/pdo.php';

/** A text that contains a backslash; other texts, names and comments are skipped. */
const TRAP = "/(?:'(?:[^'\\\\]|'')*+'(?!')|\"[^\"]*\"|`[^`]*`|--[^\\n]*|\\/\\*.*?\\*\\/)(*SKIP)(*FAIL)|'(?:[^']|'')*+'/s";

/** Errors after which the connection is lost. */
const MYSQL_LOST = [2006, 2013, 1927, 1053];

final class PdoMysqlConnection extends PdoConnection
{
    private bool $lost = false;
    /** The connection's number on the server, once it is known. */
    private ?string $number = null;

    public function __construct(Database $at, private bool $prepareEach)
    {
        $place = $at->socket === null ? "host=$at->host;port=$at->port" : "unix_socket=$at->socket";
        $this->db = new PDO("mysql:$place;dbname=$at->database;charset=utf8mb4", $at->user, $at->password(), [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            // Prepared on the server; by default PDO writes the values into the text.
            PDO::ATTR_EMULATE_PREPARES => $prepareEach,
            // Count the rows that an UPDATE finds, as SQLite and PostgreSQL do, not only those that it changes.
            PDO::MYSQL_ATTR_FOUND_ROWS => true,
            PDO::ATTR_TIMEOUT => 10,
        ]);
    }

    /** Prepared on the server in either case, so that an error shows before the window. */
    public function check(Statement $statement): ?int
    {
        $this->db->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
        try {
            $this->db->prepare($statement->sql);
            return $this->columns($statement);
        } finally {
            $this->db->setAttribute(PDO::ATTR_EMULATE_PREPARES, $this->prepareEach);
        }
    }

    private function columns(Statement $statement): ?int
    {
        if (!$statement->returns || $statement->changes) {
            return $statement->returns ? null : 0;
        }
        try {
            $s = $this->db->prepare("SELECT * FROM ($statement->sql) AS contend LIMIT 0");
            for ($i = 1; $i <= $statement->params; $i++) {
                $s->bindValue($i, null, PDO::PARAM_NULL);
            }
            $s->execute();
            return $s->columnCount();
        } catch (PDOException) {
            return null; // Two columns with the same name: valid as a query, but not inside another query.
        }
    }

    /**
     * If PDO writes values into the text, it treats a backslash as an escape, whatever the session's setting. A text
     * with a backslash is therefore passed as a value: PDO writes it as the server reads it, so the original
     * statement is sent.
     */
    public function sql(Statement $statement): string
    {
        return implode('?', preg_replace($this->prepareEach ? TRAP : [], '?', $statement->parts()));
    }

    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        $all = [];
        foreach ($statement->parts() as $i => $part) {
            preg_match_all($this->prepareEach ? TRAP : '/(*FAIL)/', $part, $traps);
            foreach ($traps[0] as $trap) {
                $all[] = [var_export(str_replace("''", "'", substr($trap, 1, -1)), true), 'string'];
            }
            if (isset($args[$i])) {
                $all[] = $args[$i];
            }
        }
        return parent::code($s, $statement, $all, $keep, $v);
    }

    protected function changed(string $s, Statement $statement): string
    {
        $rows = parent::changed($s, $statement);
        return $statement->upserts > 0 ? "min($rows, $statement->upserts)" : $rows;
    }

    public function typed(PDOStatement $s, array $row, int $column): mixed
    {
        if (!array_key_exists($column, $row)) {
            throw new Failure(WORKER, NO_VALUE, "there is no column $column");
        }
        $value = $row[$column];
        if (!is_string($value) || !str_contains($s->getColumnMeta($column)['native_type'] ?? '', 'DECIMAL')) {
            return $value;
        }
        return decimal($value);
    }

    /**
     * A rollback is an extra round trip; the server reported with the last successful statement whether one is
     * needed.
     */
    public function rollBack(Failure $failure): void
    {
        $this->lost = $failure->space === MYSQL && in_array($failure->number, MYSQL_LOST, true);
        if ($this->lost) {
            return;
        }
        try {
            $this->closeCursors();
            if ($this->db->inTransaction()) {
                $this->simple('ROLLBACK');
            }
        } catch (PDOException $e) {
            $this->lost = in_array($e->errorInfo[1] ?? 0, MYSQL_LOST, true);
            throw $e;
        }
    }

    public function isLost(): bool
    {
        return $this->lost;
    }

    /**
     * PDO does not export the number, so it is queried together with the first session statement, without an extra
     * round trip.
     */
    public function session(string $sql): void
    {
        // If two statements are sent at once, PDO looks for placeholders in them.
        if ($this->number !== null || strpbrk($sql, '?:\\') !== false) {
            $this->simple($sql);
            return;
        }
        $this->db->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
        try {
            $both = $this->db->query("SELECT CONNECTION_ID(); $sql");
            $this->number = (string) $both->fetchColumn();
            $both->nextRowset();
            $both->closeCursor();
        } finally {
            $this->db->setAttribute(PDO::ATTR_EMULATE_PREPARES, $this->prepareEach);
        }
    }

    public function number(): string
    {
        return $this->number ??= (string) $this->db->query('SELECT CONNECTION_ID()')->fetchColumn();
    }
}

/** A decimal number: without a fraction it is an integer. */
function decimal(string $text): int|float
{
    $whole = str_contains($text, '.') ? rtrim(rtrim($text, '0'), '.') : $text;
    return integer($whole) ?? (float) $text;
}

final class PdoMysql extends Driver
{
    public bool $isServer = true;
    public bool $hasScripts = false;
    public array $interrupted = [MYSQL, 1317];
    /** PHP's client reports 2006 where others report 2013. */
    public array $alsoInterrupted = [[MYSQL, 2013], [MYSQL, 1927], [MYSQL, 2006]];

    public function hello(): array
    {
        return ['driver' => 'PDO MySQL of PHP ' . PHP_VERSION . ' (mysqlnd)', 'engine' => 'MariaDB'];
    }

    public function open(Database $database, Options $options): Connection
    {
        return new PdoMysqlConnection($database, $options->prepareEach);
    }

    public function codeOf(Throwable $error): ?array
    {
        if (!$error instanceof PDOException) {
            return null;
        }
        $number = $error->errorInfo[1] ?? $error->getCode();
        return is_int($number) && $number > 0 ? [MYSQL, $number] : null;
    }

    public function interrupt(Database $database, string $number): void
    {
        (new PdoMysqlConnection($database, true))->simple("KILL QUERY $number");
    }
}

return PdoMysql::class;
