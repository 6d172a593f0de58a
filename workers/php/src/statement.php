<?php
// Statements and databases, with their description in plans and scripts; nothing is derived from a statement's text.

declare(strict_types=1);

/** A statement of a plan or script. */
final class Statement
{
    public int $params = 0;
    public bool $returns;
    public bool $changes;
    /** Rows of values of a statement that replaces existing rows: MariaDB counts a replaced row twice. */
    public int $upserts = 0;
    /** For each placeholder its byte offset, and its number or null. */
    public array $places = [];
    /** For a load: the byte offset of a row's values, or null. */
    public ?int $group = null;

    public function __construct(public string $sql, string $effect = '-', string $placeholders = '-')
    {
        $words = explode(',', $effect);
        [$this->returns, $this->changes] = [in_array('rows', $words, true), in_array('changes', $words, true)];
        foreach ($words as $word) {
            $this->upserts = str_starts_with($word, 'upserts=') ? (int) substr($word, 8) : $this->upserts;
        }
        foreach ($placeholders === '-' ? [] : explode(',', $placeholders) as $item) {
            [$at, $number] = explode(':', $item) + [1 => null];
            $this->places[] = [(int) $at, $number === null ? null : (int) $number];
            $this->params = $number === null ? $this->params + 1 : max($this->params, (int) $number);
        }
    }

    public static function ofLoad(string $group, string $placeholders, string $sql): self
    {
        $statement = new self(unescape($sql), 'changes', $placeholders);
        $statement->group = $group === '-' ? null : (int) $group;
        return $statement;
    }

    /** The texts between the placeholders, from this byte on: one more than there are placeholders. */
    public function parts(int $from = 0): array
    {
        $parts = [];
        foreach ($this->places as [$at, $number]) {
            $parts[] = substr($this->sql, $from, $at - $from);
            $from = $at + ($number === null ? 1 : 1 + strlen((string) $number));
        }
        return [...$parts, substr($this->sql, $from)];
    }
}

/** Location of a database: a file with a path, or a server, through a socket or at host and port. */
final class Database
{
    public ?string $path = null;
    public ?string $socket = null;
    public string $host = '';
    public int $port = 0;
    public string $user = '';
    public string $database = '';
    private string $found = '-';

    public function __construct(string $kind, string ...$fields)
    {
        $fields = array_map(unescape(...), $fields);
        match ($kind) {
            'file' => $this->path = $fields[0],
            'socket' => [$this->socket, $this->user, $this->database, $this->found] = $fields,
            'tcp' => [$this->host, $port, $this->user, $this->database, $this->found] = $fields,
            default => throw new FormatError("database $kind: this worker opens files and connects to servers"),
        };
        $this->port = (int) ($port ?? 0);
    }

    public function __toString(): string
    {
        return $this->path ?? "$this->user@" . ($this->socket ?? "$this->host:$this->port") . "/$this->database";
    }

    /** Reads the password from its place. */
    public function password(): ?string
    {
        [$kind, $where] = explode(':', $this->found, 2) + [1 => ''];
        if ($kind === 'file') {
            return is_readable($where)
                ? rtrim(explode("\n", file_get_contents($where), 2)[0], "\r")
                : throw new FormatError("the password is expected in $where, which cannot be read");
        }
        if ($kind === 'env') {
            $password = getenv($where);
            return $password !== false
                ? $password
                : throw new FormatError("the password is expected in the variable $where, which is not set");
        }
        return null;
    }
}
