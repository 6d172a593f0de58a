<?php
// The driver `mysql-on-sqlite` of WordPress. It accepts MySQL's SQL, translates it in PHP, and executes it through
// PDO on SQLite. It stores MySQL's view of the tables in its own tables, so it must have created the tables itself.

declare(strict_types=1);

needs('pdo_sqlite', 'php-sqlite3');
require_once __DIR__ . '/php-pdo-sqlite.php';
if (!class_exists(WP_MySQL_On_SQLite::class)) {
    $fetched = dirname(__DIR__, 2) . '/mysql-on-sqlite/wp-includes/database/load.php';
    is_file($fetched) || unusable('mysql-on-sqlite is not here; `make workers-php` in the project\'s directory fetches it');
    require $fetched;
}

/**
 * Expressions of the portable translation for MariaDB that the driver does not accept, and replacements with the
 * same results on SQLite.
 */
const IN_ITS_WORDS = [
    // A time in seconds as text.
    "/DATE_FORMAT\\(TIMESTAMPADD\\(SECOND, (.+?), TIMESTAMP'1970-01-01 00:00:00'\\), '%Y-%m-%d %H:%i:%s'\\)/" => 'FROM_UNIXTIME($1)',
    // LIKE that ignores the case of ASCII letters only: SQLite's LIKE does that already.
    '/\\(CONVERT\\(CAST\\(LOWER\\(CONVERT\\(CAST\\((.+?) AS BINARY\\) USING tis620\\)\\) AS BINARY\\) USING utf8mb4\\) COLLATE utf8mb4_nopad_bin\\)/' => '$1',
    "/ ESCAPE '\\x01'/" => '',
    // An integer as text, compared by bytes: SQLite always compares so.
    '/ AS CHAR\(20\)\) COLLATE utf8mb4_nopad_bin/' => ' AS CHAR(20))',
];
/** MySQL has no RETURNING; WordPress queries the number of the inserted row instead. */
const RETURNING = '/\s+RETURNING\s+"\w+"\s*\z/';

/** Statements that create or change a table. */
const DEFINITION = '/\A\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE)\b/i';

/** The driver requires a database name; it has no meaning in SQLite. */
const DATABASE_NAME = 'app';

/**
 * Tokens of MySQL's SQL: quoted texts and names, comments, words and others. The driver accepts only its own way of
 * quoting.
 */
function tokens(string $sql): array
{
    preg_match_all("/'(?:[^']|'')*+'|\"[^\"]*\"|`[^`]*`|--[^\\n]*|\\/\\*.*?\\*\\/|[A-Za-z_0-9\\x80-\\xff]+|./s", $sql, $found);
    return $found[0];
}

/** Texts and bytes are returned alike; a value that is not UTF-8 can only be bytes. */
function plain(mixed $value): mixed
{
    return is_string($value) && !preg_match('//u', $value) ? new Blob($value) : $value;
}

final class OnSqliteConnection extends Connection
{
    private WP_MySQL_On_SQLite $driver;
    private PDO $beneath;

    public function __construct(string $database, Options $options)
    {
        $this->beneath = new PDO("sqlite:$database", null, null, PDO_OPTIONS + [PDO::SQLITE_ATTR_EXTENDED_RESULT_CODES => 1]);
        // It waits 10 s by default, and sets the journal mode of every connection: the session's journal mode must be
        // passed to it in advance, or the file would be changed to WAL.
        $asked = ['sqlite_pdo' => $this->beneath];
        foreach ($options->session as $sql) {
            if (preg_match('/\A\s*PRAGMA\s+(journal_mode|synchronous)\s*=\s*(\w+)\s*\z/i', $sql, $found)) {
                $asked['sqlite_' . strtolower($found[1])] = strtoupper($found[2]);
            }
        }
        // Modes that the translation requires in addition to the driver's defaults.
        $path = str_replace(';', ';;', $database);
        $this->driver = new WP_MySQL_On_SQLite("mysql-on-sqlite:path=$path;dbname=" . DATABASE_NAME, null, null, $asked);
        $this->driver->exec("SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO')");
    }

    /** Converts SQL of the portable translation, which has standard quotes, to the driver's default quoting. */
    private function own(string $sql): array
    {
        $tokens = tokens(preg_replace(array_keys(IN_ITS_WORDS), IN_ITS_WORDS, preg_replace(RETURNING, '', $sql)));
        foreach ($tokens as $i => $token) {
            if ($token[0] === '"' && strlen($token) > 1) {
                $tokens[$i] = '`' . str_replace('`', '``', substr($token, 1, -1)) . '`';
            } elseif ($token[0] === "'" && strlen($token) > 1) {
                $isHex = $i > 0 && strtolower($tokens[$i - 1]) === 'x';
                $tokens[$i] = $isHex ? $token : $this->driver->quote(str_replace("''", "'", substr($token, 1, -1)));
            }
        }
        return $tokens;
    }

    /** Session statements are SQLite's, so they go to the PDO below the driver. */
    public function session(string $sql): void
    {
        $this->beneath->exec($sql);
    }

    public function readBack(string $sql): mixed
    {
        return plain($this->beneath->query($sql)->fetch(PDO::FETCH_NUM)[0] ?? null);
    }

    /** The driver can only parse a statement without executing it. */
    public function check(Statement $statement): ?int
    {
        $parser = $this->driver->create_parser(implode('', $this->own($statement->sql)));
        if (!$parser->next_query() || $parser->get_query_ast() === null) {
            throw new Failure(MYSQL, 1105, 'the driver cannot parse it');
        }
        return null;
    }

    protected function prepared(Statement $statement): mixed
    {
        return null;
    }

    /** The driver has no prepared statements: values are written into the text. */
    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        $kept = array_map(fn ($one) => "\$k$one[0] = array_map(plain(...), array_column(array_slice(\$r, 0, $one[2]), $one[1]));", $keep);
        // The driver needs another text, in which the placeholders must be found again.
        [$parts, $text, $next] = [[], '', 0];
        foreach ($this->own($statement->sql) as $token) {
            if ($token !== '?') {
                $text .= $token;
                continue;
            }
            [$value, $type] = $args[$next++];
            $parts[] = var_export($text, true);
            $parts[] = $type === 'int' ? "($value)" : "\$db->literal($value)";
            $text = '';
        }
        $parts[] = var_export($text, true);
        $lines = ['$r = $db->execute(' . implode(' . ', $parts) . ');'];
        if ($statement->changes && preg_match(RETURNING, $statement->sql)) {
            array_push($lines, '$m = $r->rowCount();', '$r = [[$db->lastId()]];');
            return [...$lines, ...$kept];
        }
        if (!$statement->returns) {
            $count = $statement->changes ? '$r->rowCount()' : '0';
            $lines[] = '$m = ' . ($statement->upserts > 0 ? "min($count, $statement->upserts)" : $count) . ';';
            return $lines;
        }
        return [...$lines, '$r = $r->fetchAll(PDO::FETCH_NUM);', '$m = count($r);', ...$kept];
    }

    public function simpleCode(string $sql): array
    {
        return ['$db->execute(' . var_export($sql, true) . ');'];
    }

    public function execute(string $sql): PDOStatement
    {
        return $this->driver->query($sql);
    }

    public function lastId(): int
    {
        return (int) $this->driver->lastInsertId();
    }

    /** A value as a literal, quoted by the driver. */
    public function literal(mixed $value): string
    {
        return match (true) {
            is_int($value) => (string) $value,
            is_string($value) => $this->driver->quote($value),
            $value === null => 'NULL',
            $value instanceof Blob => "x'" . bin2hex($value->bytes) . "'",
            default => sprintf('%.16e', $value),
        };
    }

    public function simple(string $sql): void
    {
        $this->query($sql);
    }

    /**
     * The driver compares values of its own tables with texts, as WordPress reads only texts. Otherwise a new table
     * would lose its UNIQUE keys. Rows of a plan are read with their types.
     */
    private function definition(string $sql): PDOStatement
    {
        $this->driver->setAttribute(PDO::ATTR_STRINGIFY_FETCHES, true);
        try {
            return $this->driver->query($sql);
        } finally {
            $this->driver->setAttribute(PDO::ATTR_STRINGIFY_FETCHES, false);
        }
    }

    public function query(string $sql): array
    {
        $own = implode('', $this->own($sql));
        $rows = preg_match(DEFINITION, $sql) ? $this->definition($own) : $this->driver->query($own);
        $found = $rows->columnCount() > 0 ? $rows->fetchAll(PDO::FETCH_NUM) : [];
        return array_map(fn ($row) => array_map(plain(...), $row), $found);
    }

    /** Many rows per statement: the driver's cost is per statement. */
    public function load(Statement $statement, iterable $rows): int
    {
        if ($statement->group === null) {
            throw new Failure(WORKER, NO_VALUE, 'a `load` is an INSERT ... VALUES (?, ...)');
        }
        $open = implode('', $this->own(substr($statement->sql, 0, $statement->group)));
        $parts = $statement->parts($statement->group);
        $own = !$this->driver->inTransaction();
        if ($own) {
            $this->driver->beginTransaction();
        }
        try {
            $count = 0;
            $texts = [];
            foreach ($rows as $row) {
                $text = $parts[0];
                foreach ($row as $i => $value) {
                    $text .= $this->literal($value) . $parts[$i + 1];
                }
                $texts[] = $text;
                if (++$count % 100 === 0) {
                    $this->driver->exec($open . implode(', ', $texts));
                    $texts = [];
                }
            }
            if ($texts !== []) {
                $this->driver->exec($open . implode(', ', $texts));
            }
            if ($own) {
                $this->driver->commit();
            }
        } catch (Throwable $e) {
            if ($own && $this->driver->inTransaction()) {
                $this->driver->rollBack();
            }
            throw $e;
        }
        return $count;
    }

    public function rollBack(Failure $failure): void
    {
        if ($this->driver->inTransaction()) {
            $this->driver->rollBack();
        }
    }

    public function close(): void
    {
        unset($this->driver, $this->beneath);
        // The driver and its parts refer to each other.
        gc_collect_cycles();
    }
}

final class MysqlOnSqlite extends Driver
{
    public function hello(): array
    {
        $facts = (new PdoSqlite($this->name))->hello();
        return ['driver' => 'mysql-on-sqlite ' . SQLITE_DRIVER_VERSION . ', definitions read as text, on ' . $facts['driver']] + $facts;
    }

    public function open(Database $database, Options $options): Connection
    {
        return new OnSqliteConnection($database->path, $options);
    }

    /** SQLite's code for an error of SQLite; the driver's own errors have MySQL's codes. */
    public function codeOf(Throwable $error): ?array
    {
        for ($e = $error; $e !== null; $e = $e->getPrevious()) {
            if ($e instanceof PDOException && !$e instanceof WP_MySQL_On_SQLite_Exception) {
                $number = $e->errorInfo[1] ?? null;
                return is_int($number) ? [SQLITE, $number] : null;
            }
        }
        return $error instanceof WP_MySQL_On_SQLite_Exception ? [MYSQL, (int) ($error->errorInfo[1] ?? 1105)] : null;
    }
}

return MysqlOnSqlite::class;
