<?php
// What an app needs of a plan: the database, the settings of a connection, the options.

declare(strict_types=1);

/** The plan cannot be served; the message says why. */
final class Refused extends Exception
{
}

final class ServedPlan
{
    /** What the app understands; `statements` and `lock_wait` are its drivers' own affair. */
    private const OPTIONS = ['php_workers', 'engine', 'host', 'busy_timeout_ms', 'statements', 'lock_wait', 'secret'];

    /** @var Database[] */
    public array $databases = [];
    public array $session = [];
    /** Pairs of a name and a statement. */
    public array $readback = [];
    public array $options = [];
    public ?string $begin = null;
    public int $drainNs = 0;

    public function __construct(string $text)
    {
        $first = strstr($text, "\n", true) ?: $text;
        if ($first !== 'contend-plan 3') {
            throw new Refused('a plan of this form is not known: `' . crop($first) . '`; use tool and app of one release');
        }
        try {
            $lines = explode("\n", opened('plan', $text));
        } catch (FormatError $e) {
            throw new Refused($e->getMessage());
        }
        foreach (array_slice($lines, 1, -1) as $i => $line) {
            try {
                $this->line(explode("\t", $line));
            } catch (FormatError | ErrorException | Refused $e) {
                throw new Refused('line ' . ($i + 2) . ' of the plan: ' . $e->getMessage());
            }
        }
        if (count($this->databases) !== 1) {
            throw new Refused('this app has one site on one database; the plan names ' . count($this->databases));
        }
    }

    private function line(array $escaped): void
    {
        $fields = array_map('unescape', $escaped);
        switch ($fields[0]) {
            case 'database':
                $this->databases[] = new Database(...array_slice($escaped, 1));
                break;
            case 'session':
                $this->session[] = $fields[2];
                break;
            case 'readback':
                $this->readback[] = [$fields[1], $fields[2]];
                break;
            case 'option':
                if (!in_array($fields[1], self::OPTIONS, true)) {
                    throw new Refused("there is no option `$fields[1]` (known: " . implode(', ', self::OPTIONS) . ')');
                }
                $this->options[$fields[1]] = $fields[2];
                break;
            case 'window':
                $this->drainNs = number($fields[3]) ?? throw new Refused('the drain is no time');
                break;
            case 'transaction':
                if ($fields[3] === 'write' && str_starts_with(strtoupper($fields[4]), 'BEGIN')) {
                    $this->begin ??= strtoupper($fields[4]);
                }
                break;
            case 'clients':
                if ($fields[1] !== '0') {
                    throw new Refused('an app serves; it has no clients of its own');
                }
        }
    }

    public function number(string $name, int $default, int $low, int $high): int
    {
        $found = number($this->options[$name] ?? (string) $default, $high);
        if ($found === null || $found < $low) {
            throw new Refused("option $name: $low to $high, found `{$this->options[$name]}`");
        }
        return $found;
    }
}
