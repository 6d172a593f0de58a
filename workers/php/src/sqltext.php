<?php
// What a statement is, learnt from its text: PDO does not tell before it executes it.

declare(strict_types=1);

/**
 * Quoted texts and names, comments, placeholders, words, parentheses, anything else. In SQLite brackets quote names. A backslash
 * is a character like others everywhere: contend has MariaDB take it so too (NO_BACKSLASH_ESCAPES).
 */
function tokens(string $sql, bool $brackets = false): array
{
    $name = $brackets ? '\[[^\]]*\]|' : '';
    preg_match_all("/$name'(?:[^']|'')*+'|\"[^\"]*\"|`[^`]*`|--[^\\n]*|\\/\\*.*?\\*\\/|\\?\\d*|\\$\\d+|[A-Za-z_0-9\\x80-\\xff]+|./s", $sql, $found);
    return $found[0];
}

/** A statement of a plan or script. */
final class Statement
{
    public int $params = 0;
    public bool $returns;
    public bool $changes;
    /** Rows of values of a statement that replaces what is there: MariaDB counts a replaced row twice. */
    public int $upserts = 0;

    public function __construct(public string $sql, bool $brackets = false)
    {
        $words = [];
        [$depth, $groups, $ended, $duplicate] = [0, 0, false, false];
        foreach (tokens($sql, $brackets) as $token) {
            if ($token === '?') {
                $this->params++;
            } elseif ($token[0] === '?' || $token[0] === '$' && strlen($token) > 1) {
                $this->params = max($this->params, (int) substr($token, 1));
            } elseif ($token === '(') {
                if ($depth === 0 && !$ended && (end($words) === 'VALUES' || $groups > 0)) {
                    $groups++;
                }
                $depth++;
            } elseif ($token === ')') {
                $depth--;
            } elseif (preg_match('/\A[A-Za-z_0-9\x80-\xff]+\z/', $token)) {
                $word = strtoupper($token);
                $duplicate = $duplicate || $word === 'DUPLICATE' && end($words) === 'ON';
                $words[] = $word;
                $ended = $ended || $depth === 0 && $word === 'ON';
            }
        }
        $first = $words[0] ?? '';
        $changing = ['INSERT', 'UPDATE', 'DELETE'];
        $this->changes = in_array($first, [...$changing, 'REPLACE'], true)
            || $first === 'WITH' && array_intersect($changing, $words) !== [];
        $this->returns = $this->changes
            ? in_array('RETURNING', $words, true)
            : in_array($first, ['SELECT', 'VALUES', 'WITH', 'PRAGMA', 'EXPLAIN', 'SHOW', 'TABLE', 'CALL'], true);
        $this->upserts = $first === 'REPLACE' || $duplicate ? $groups : 0;
    }
}

/** A statement with `$1` as `:p1`, and a `?` that is an operator as `??`, which is how PDO has them. */
function as_named(string $sql): string
{
    $out = '';
    foreach (tokens($sql) as $token) {
        $out .= preg_match('/\A\$\d+\z/', $token) ? ':p' . substr($token, 1) : str_replace('?', $token[0] === "'" ? '?' : '??', $token);
    }
    return $out;
}
