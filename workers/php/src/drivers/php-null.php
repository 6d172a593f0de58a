<?php
// The driver that executes nothing: what remains is the worker's own cost per operation.

declare(strict_types=1);

final class NoConnection extends Connection
{
    public function check(Statement $statement): ?int
    {
        return null;
    }

    protected function prepared(Statement $statement): mixed
    {
        return null;
    }

    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        return [];
    }

    public function simpleCode(string $sql): array
    {
        return [];
    }

    public function simple(string $sql): void
    {
    }

    public function query(string $sql): array
    {
        return [];
    }

    public function load(Statement $statement, iterable $rows): int
    {
        return iterator_count($rows);
    }

    public function close(): void
    {
    }
}

final class NullDriver extends Driver
{
    public bool $executesNothing = true;
    public array $interrupted = [WORKER, DRIVER_ERROR];

    public function hello(): array
    {
        return ['driver' => 'null', 'engine' => 'none'];
    }

    public function open(Database $database, Options $options): Connection
    {
        return new NoConnection();
    }

    public function codeOf(Throwable $error): ?array
    {
        return null;
    }
}

return NullDriver::class;
