<?php
// Code that PDO's drivers share.

declare(strict_types=1);

/** The failure of a fetch after the first one, which PDO's fetchAll does not throw: of a commit, or of an interrupted scan. */
function failedLater(PDOStatement $s): PDOException
{
    $failure = new PDOException($s->errorInfo()[2] ?? '');
    $failure->errorInfo = $s->errorInfo();
    return $failure;
}

abstract class PdoConnection extends Connection
{
    public PDO $db;

    protected function prepared(Statement $statement): mixed
    {
        return $this->db->prepare($this->sql($statement));
    }

    public function rollBack(Failure $failure): void
    {
        $this->closeCursors();
        parent::rollBack($failure);
    }

    /** A failed statement stays open, and PDO would misuse it at its next execution. */
    protected function closeCursors(): void
    {
        foreach ($this->statements as $statement) {
            $statement?->closeCursor();
        }
    }

    /** A statement with PDO's placeholders. */
    public function sql(Statement $statement): string
    {
        return $statement->sql;
    }

    /** PDO's name or number for the placeholder of an argument, from 0. */
    protected function place(int $index, Statement $statement): string
    {
        return (string) ($index + 1);
    }

    /** The engine's count for a statement that returns no rows. */
    protected function changed(string $s, Statement $statement): string
    {
        return $statement->changes ? "{$s}->rowCount()" : '0';
    }

    public function code(string $s, Statement $statement, array $args, array $keep, string $v): array
    {
        $types = ['int' => PDO::PARAM_INT, 'string' => PDO::PARAM_STR, 'null' => PDO::PARAM_NULL];
        $lines = [];
        foreach ($args as $i => [$value, $type]) {
            $place = $this->place($i, $statement);
            $lines[] = isset($types[$type]) ? "{$s}->bindValue($place, $value, $types[$type]);" : "bind($s, $place, $value);";
        }
        $lines[] = "{$s}->execute();";
        if (!$statement->returns) {
            $lines[] = '$m = ' . $this->changed($s, $statement) . ';';
        } elseif ($keep === []) {
            array_push($lines, "\$r = {$s}->fetchAll(PDO::FETCH_NUM);", '$m = count($r);');
            // fetchAll throws the failure of its first fetch alone.
            $lines[] = "if ({$s}->errorCode() !== '00000') { throw failedLater($s); }";
        } else {
            array_push($lines, '$m = 0;', "while ((\$row = {$s}->fetch(PDO::FETCH_NUM)) !== false) {");
            foreach ($keep as [$slot, $column, $rows]) {
                $lines[] = "if (\$m < $rows) { \$k{$slot}[] = \$db->typed({$s}, \$row, $column); }";
            }
            array_push($lines, '$m++;', '}');
        }
        return $lines;
    }

    public function simple(string $sql): void
    {
        $this->db->exec($sql);
    }

    /** A value of a row in the engine's type. */
    abstract public function typed(PDOStatement $s, array $row, int $column): mixed;

    public function query(string $sql): array
    {
        $s = $this->db->query($sql);
        $rows = [];
        $columns = $s->columnCount();
        while ($columns > 0 && ($row = $s->fetch(PDO::FETCH_NUM)) !== false) {
            for ($i = 0; $i < $columns; $i++) {
                $row[$i] = $this->typed($s, $row, $i);
            }
            $rows[] = $row;
        }
        $s->closeCursor();
        return $rows;
    }

    public function load(Statement $statement, iterable $rows): int
    {
        $own = !$this->isInTransaction();
        if ($own) {
            $this->simple('BEGIN');
        }
        try {
            $s = null;
            $count = 0;
            foreach ($rows as $row) {
                $s ??= $this->db->prepare($statement->sql);
                foreach ($row as $i => $value) {
                    bind($s, $i + 1, $value);
                }
                $s->execute();
                $count++;
            }
            if ($own) {
                $this->simple('COMMIT');
            }
        } catch (Throwable $e) {
            if ($own) {
                $s = null;
                $this->simple('ROLLBACK');
            }
            throw $e;
        }
        return $count;
    }

    protected function isInTransaction(): bool
    {
        return $this->db->inTransaction();
    }

    public function close(): void
    {
        $this->statements = [];
        unset($this->db);
    }
}
