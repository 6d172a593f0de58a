<?php
// The driver `php-pdo-pgsql`: PDO for PostgreSQL, on libpq.

declare(strict_types=1);

needs('pdo_pgsql', 'php-pgsql');
require_once __DIR__ . '/pdo.php';

const PG_LOST = '08006';
const PG_NOT_CONNECTED = '08001';

function withNul(): Failure
{
    return new Failure(WORKER, NO_VALUE, 'a text with a NUL character, which PostgreSQL cannot store');
}

final class PdoPgsqlConnection extends PdoConnection
{
    private bool $lost = false;
    /** Types of columns by statement, queried once. */
    private WeakMap $types;

    public function __construct(Database $at, bool $prepareEach)
    {
        $place = "host=$at->host;port=$at->port";
        if ($at->socket !== null) {
            // libpq needs the directory, and the port at the end of the socket's name.
            $place = 'host=' . dirname($at->socket) . ';port=' . substr(strrchr($at->socket, '.'), 1);
        }
        $this->types = new WeakMap();
        $this->db = new PDO("pgsql:$place;dbname=$at->database;sslmode=disable;gssencmode=disable", $at->user, $at->password(), [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            // Otherwise text and values are sent together, and parsed each time.
            PDO::PGSQL_ATTR_DISABLE_PREPARES => $prepareEach,
            PDO::ATTR_TIMEOUT => 10,
        ]);
    }

    /** `$1` as `:p1`, and a `?` that is an operator as `??`. */
    public function sql(Statement $statement): string
    {
        $text = '';
        foreach ($statement->parts() as $i => $part) {
            $operator = preg_replace_callback("/'(?:[^']|'')*'|\?/", fn ($found) => $found[0] === '?' ? '??' : $found[0], $part);
            $text .= $operator . (isset($statement->places[$i]) ? ":p{$statement->places[$i][1]}" : '');
        }
        return $text;
    }

    /**
     * PDO numbers placeholders in the order of their first appearance, whatever their names. A name would be looked
     * up at each binding and each execution. No number is missing, because PostgreSQL determines a type for every
     * number up to the highest, or `check` fails.
     */
    protected function place(int $index, Statement $statement): string
    {
        $numbers = array_values(array_unique(array_column($statement->places, 1)));
        return (string) (1 + array_search($index + 1, $numbers, true));
    }

    /** PDO sends a text up to its first NUL; PostgreSQL stores none with one. */
    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        $checks = [];
        foreach ($args as [$value, $type]) {
            if ($type !== 'int' && $type !== 'null') {
                $checks[] = "if (is_string($value) && str_contains($value, \"\\0\")) { throw withNul(); }";
            }
        }
        return [...$checks, ...parent::code($s, $statement, $args, $keep, $v)];
    }

    /** PREPARE shows errors before the window; the number of columns comes from a query that is never executed. */
    public function check(Statement $statement): ?int
    {
        $this->db->exec("PREPARE contend AS $statement->sql");
        $types = $this->db->query("SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'contend'");
        $params = $types->fetchColumn();
        $this->db->exec('DEALLOCATE contend');
        if ($params !== $statement->params) {
            throw new FormatError("`$statement->sql` has $params placeholders, the plan brings $statement->params");
        }
        if (!$statement->returns || $statement->changes) {
            return $statement->returns ? null : 0;
        }
        $nulls = implode(', ', array_fill(0, $params, 'NULL'));
        $this->db->exec("PREPARE contend AS SELECT * FROM ($statement->sql) AS contend LIMIT 0");
        $s = $this->db->query('EXECUTE contend' . ($params > 0 ? "($nulls)" : ''));
        $columns = $s->columnCount();
        $this->db->exec('DEALLOCATE contend');
        return $columns;
    }

    public function simpleCode(string $sql): array
    {
        return ['$db->db->exec(' . var_export($sql, true) . ');'];
    }

    public function typed(PDOStatement $s, array $row, int $column): mixed
    {
        if (!array_key_exists($column, $row)) {
            throw new Failure(WORKER, NO_VALUE, "there is no column $column");
        }
        $value = $row[$column];
        if (is_bool($value)) {
            return (int) $value;
        }
        if (is_resource($value)) {
            return new Blob(stream_get_contents($value));
        }
        if (!is_string($value)) {
            return $value;
        }
        $this->types[$s] ??= new ArrayObject();
        $type = $this->types[$s][$column] ??= $s->getColumnMeta($column)['native_type'] ?? '';
        return match ($type) {
            'float8', 'float4' => (float) $value,
            'numeric' => str_contains($value, '.') ? (float) $value : integer($value) ?? (float) $value,
            default => $value,
        };
    }

    public function rollBack(Failure $failure): void
    {
        try {
            if ($this->db->inTransaction()) {
                parent::rollBack($failure);
            }
        } catch (PDOException $e) {
            $this->lost = true;
            throw $e;
        }
        $this->lost = $this->db->getAttribute(PDO::ATTR_CONNECTION_STATUS) !== 'Connection OK; waiting to send.';
    }

    public function isLost(): bool
    {
        return $this->lost;
    }

    public function number(): string
    {
        // Newer versions of PHP deprecate the method's name, but it works.
        return (string) @$this->db->pgsqlGetPid();
    }
}

final class PdoPgsql extends Driver
{
    public bool $isServer = true;
    public bool $hasScripts = false;
    public array $interrupted;

    public function __construct(string $name)
    {
        parent::__construct($name);
        $this->interrupted = [SQLSTATE, base36('57014')];
    }

    public function hello(): array
    {
        $version = defined('PGSQL_LIBPQ_VERSION') ? ' (libpq ' . PGSQL_LIBPQ_VERSION . ')' : '';
        return ['driver' => 'PDO PostgreSQL of PHP ' . PHP_VERSION . $version, 'engine' => 'PostgreSQL'];
    }

    public function open(Database $database, Options $options): Connection
    {
        try {
            return new PdoPgsqlConnection($database, $options->prepareEach);
        } catch (PDOException $e) {
            // PDO uses the SQLSTATE of a lost connection here, too.
            throw new Failure(SQLSTATE, base36(PG_NOT_CONNECTED), $e->getMessage());
        }
    }

    public function codeOf(Throwable $error): ?array
    {
        if (!$error instanceof PDOException) {
            return null;
        }
        $state = (string) ($error->errorInfo[0] ?? '');
        if (preg_match('/\A[0-9A-Z]{5}\z/', $state) && !in_array($state, ['HY000', '00000'], true)) {
            return [SQLSTATE, base36($state)];
        }
        $gone = preg_match('/server closed|terminat|no connection|could not receive|SSL SYSCALL/', $error->getMessage());
        return $gone ? [SQLSTATE, base36(PG_LOST)] : null;
    }

    public function interrupt(Database $database, string $number): void
    {
        (new PdoPgsqlConnection($database, true))->simple("SELECT pg_cancel_backend($number)");
    }
}

return PdoPgsql::class;
