<?php
// Values, texts and lines exchanged between tool and worker. docs/formats.md is the contract.

declare(strict_types=1);

const SPACES = ['ok', 'sqlite', 'sqlstate', 'mysql', 'http', 'os', 'worker'];
const SQLITE = 1;
const SQLSTATE = 2;
const MYSQL = 3;
const OS = 5;
const WORKER = 6;
const WRONG_ROWS = 1;
const NOT_KEPT = 2;
const NO_VALUE = 3;
const DRIVER_ERROR = 4;
const STEP_NONE = 65535;
const STEP_BEGIN = 65534;
const STEP_COMMIT = 65533;
const FLAG_INTERRUPTED = 2;
/** ECANCELED: for requests that a server never received. */
const CANCELED = [OS, 125];
const ANY_ROWS = 0xFFFFFFFF;
const UNIQUE_STRIDE = 1 << 40;
/** Later than any time of a worker. */
const NEVER = PHP_INT_MAX;

/** A plan or script that is malformed, or requests something that this worker cannot do. */
final class FormatError extends Exception
{
}

/** Why an attempt failed: the engine's code, unclassified. */
final class Failure extends Exception
{
    public int $step = STEP_NONE;
    public int $rows = 0;

    public function __construct(public int $space, public int $number, string $words = '')
    {
        parent::__construct($words === '' ? SPACES[$space] . " $number" : $words);
    }
}

/** A byte string, for which PHP has no type. */
final class Blob
{
    public function __construct(public string $bytes)
    {
    }
}

function crop(string $text): string
{
    return strlen($text) <= 60 ? $text : mb_cut($text) . '...';
}

function mb_cut(string $text): string
{
    return preg_match('/^.{0,60}/su', $text, $found) ? $found[0] : substr($text, 0, 60);
}

function escape(string $text): string
{
    return strtr($text, ['\\' => '\\\\', "\t" => '\\t', "\n" => '\\n', "\r" => '\\r', "\0" => '\\0']);
}

function unescape(string $field): string
{
    if (!str_contains($field, '\\')) {
        return $field;
    }
    if (!preg_match('/\A(?:[^\\\\]|\\\\[\\\\tnr0])*+\z/', $field)) {
        throw new FormatError('unknown escape in `' . crop($field) . '`');
    }
    return strtr($field, ['\\\\' => '\\', '\\t' => "\t", '\\n' => "\n", '\\r' => "\r", '\\0' => "\0"]);
}

/** An unsigned number up to `most`, or null. Times beyond 63 bits are never reached. */
function number(string $field, int $most = PHP_INT_MAX): ?int
{
    if ($field === '' || !ctype_digit($field) || strlen($field) > 20) {
        return null;
    }
    $digits = ltrim($field, '0');
    if (strlen($digits) > 18 && (strlen($digits) > 19 || strcmp($digits, (string) PHP_INT_MAX) > 0)) {
        return $most === PHP_INT_MAX ? PHP_INT_MAX : null;
    }
    $n = (int) $field;
    return $n <= $most ? $n : null;
}

/** A signed 64-bit integer, or null. */
function integer(string $text): ?int
{
    if (!preg_match('/\A-?0*([0-9]{1,19})\z/', $text, $found)) {
        return null;
    }
    $n = (int) $text;
    // Outside of the range a cast saturates.
    $same = $found[1] === ltrim((string) abs($n), '-') || ($n === PHP_INT_MIN && $found[1] === '9223372036854775808');
    return $same && ($n !== PHP_INT_MAX || !str_starts_with($text, '-')) ? $n : null;
}

/** A value; for `T` its text in the table. */
function parse_value(string $field, array $texts = []): mixed
{
    if ($field === '') {
        throw new FormatError('an empty field where a value was expected');
    }
    $rest = substr($field, 1);
    switch ($field[0]) {
        case 'i':
            return (int) $rest;
        case 't':
            return unescape($rest);
        case 'n':
            return null;
        case 'r':
            return (float) $rest;
        case 'T':
            return $texts[(int) $rest];
        case 'x':
            return new Blob(hex2bin($rest));
    }
    throw new FormatError('`' . crop($field) . '` is not a value (it must start with one of n i r t T x)');
}

function value_text(mixed $value): string
{
    return match (true) {
        $value === null => 'n',
        is_int($value) => "i$value",
        is_bool($value) => $value ? 'i1' : 'i0',
        is_float($value) && is_finite($value) => 'r' . real_text($value),
        is_string($value) => 't' . escape($value),
        $value instanceof Blob => 'x' . bin2hex($value->bytes),
        default => throw new Failure(WORKER, NO_VALUE, 'a value of the type ' . get_debug_type($value)),
    };
}

/** The shortest text that reads back to the same bits. */
function real_text(float $value): string
{
    return var_export($value, true);
}

function in_words(mixed $value): string
{
    return match (true) {
        $value === null => '',
        $value instanceof Blob => bin2hex($value->bytes),
        is_bool($value) => $value ? '1' : '0',
        is_float($value) => real_text($value),
        default => (string) $value,
    };
}

function check_version(string $word, int $known, string $line): void
{
    if (!str_starts_with($line, "$word ")) {
        throw new FormatError("expected `$word $known` as the first line, found `" . crop($line) . '`');
    }
    $rest = substr($line, strlen($word) + 1);
    $version = number($rest, 0xFFFFFFFF);
    if ($version === $known) {
        return;
    }
    if ($version !== null && $version > $known) {
        throw new FormatError("`$word $version` is newer than the $known this program reads: use tool and worker of the same contend release");
    }
    throw new FormatError("`$word " . crop($rest) . "` is not a version this program reads (it reads $known)");
}

function digest(string $text): string
{
    return hash('crc32b', $text);
}

/** The text before its last line, which has the digest that the tool computed after its checks. */
function opened(string $kind, string $text): string
{
    $last = strrpos($text, "\nend\t");
    if ($last === false || !str_ends_with($text, "\n") || strpos($text, "\n", $last + 1) !== strlen($text) - 1) {
        throw new FormatError("$kind: cut off: its last line is not `end` with a digest");
    }
    [$body, $said] = [substr($text, 0, $last + 1), substr($text, $last + 5, -1)];
    if (digest($body) !== $said) {
        $found = crop($said);
        throw new FormatError("$kind: changed after contend had checked it: its last line has the digest `$found`, the text before it " . digest($body));
    }
    return $body;
}

/** Facts as the rest of a line. */
function facts(array $facts): string
{
    $text = '';
    foreach ($facts as $name => $value) {
        $text .= "\t" . escape((string) $name) . '=' . escape((string) $value);
    }
    return $text;
}

/** A SQLSTATE as a number. */
function base36(string $state): int
{
    return (int) base_convert($state, 36, 10);
}
