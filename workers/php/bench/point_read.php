<?php
// Compares the worker with a bare loop that calls the same library: rows read by rowid from SQLite, and by primary
// key from the servers that the environment names. The sides alternate, so that both have the same machine.
// `php-null` measures the worker's overhead. Started by scripts/bench-workers-php.sh; arguments are names of drivers.

declare(strict_types=1);

$home = __DIR__ . '/..';
foreach (['wire', 'statement', 'plan', 'driver', 'writer', 'client', 'drivers/php-null'] as $part) {
    require "$home/src/$part.php";
}
/** WordPress's driver, in the directory of `make workers-php`. */
const WORDPRESS = __DIR__ . '/../../../target/workers/php/mysql-on-sqlite/wp-includes/database/load.php';
if (extension_loaded('pdo_sqlite') && is_file(WORDPRESS)) {
    require WORDPRESS;
}
// Otherwise a read without a row would only be a warning.
set_error_handler(fn ($level, $words, $file, $line) => throw new ErrorException($words, 0, $level, $file, $line));

const ROWS = 100_000;
const CYCLE = 16_384;
const QUERY = 'SELECT id, value, note FROM item WHERE rowid = ';
/** For each driver: its extension and package, the variable with its server, the plan's placeholder. */
const DRIVERS = [
    'php-pdo-sqlite' => ['pdo_sqlite', 'php-sqlite3', null, '?'],
    'php-pdo-pgsql' => ['pdo_pgsql', 'php-pgsql', 'CONTEND_BENCH_POSTGRES', '$1'],
    'php-pdo-mysql' => ['pdo_mysql', 'php-mysql', 'CONTEND_BENCH_MARIADB', '?'],
    'mysql-on-sqlite' => ['pdo_sqlite', 'php-sqlite3', null, '?'],
];

/** A driver's database, and the number of turns. */
final class Reads
{
    /** `placeholder` is the plan's; PDO's, and so the bare loop's, is a question mark. */
    public function __construct(
        public Driver $driver,
        public string $database,
        public string $placeholder = '?',
        public int $reads = 5_000,
        public int $turns = 41,
        public bool $prepares = true,
    ) {
    }
}

function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

/** The slowest of the fastest tenth. */
function fastest(array $values): float
{
    sort($values);
    return $values[intdiv(count($values) + 9, 10) - 1];
}

function fill(string $path): void
{
    $db = new PDO("sqlite:$path", null, null, PDO_OPTIONS);
    // A rollback journal would add the kernel's work to every read and hide the difference.
    $db->exec('PRAGMA journal_mode = WAL');
    $db->exec('CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)');
    $db->exec('WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ' . (ROWS - 1) . ")
        INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n");
}

/** WordPress's driver must create its tables itself; it does not depend on how rows were inserted. */
function fill_for_wordpress(Driver $driver, string $path): void
{
    $db = $driver->open(new Database('file', $path), new Options($driver));
    $db->query('CREATE TABLE item (rowid BIGINT PRIMARY KEY, id BIGINT, value BIGINT, note VARCHAR(40))');
    $db->close();
    (new PDO("sqlite:$path", null, null, PDO_OPTIONS))->exec('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < ' . ROWS . ") INSERT INTO item (rowid, id, value, note) SELECT i, i - 1, i % 100, 'item ' || i FROM n");
}

function plan(Reads $what, array $keys): Plan
{
    $lines = [
        'contend-plan 3', "worker\t0", "driver\t{$what->driver->name}\tprocess", "connections\tclient", "window\t0\t0\t0",
        "now\tclock", "database\t$what->database", "statement\t0\trows\t" . strlen(QUERY) . ($what->placeholder === '$1' ? ':1' : '') . "\t" . QUERY . $what->placeholder,
        "transaction\t0\tread\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-\tp0+0", "retry\t1\t-\t-\t-", "clients\t1",
        "client\t0\t0\tclosed\tcyclic\t$what->reads\t0\t" . count($keys),
    ];
    foreach ($keys as $key) {
        $lines[] = "op\t0\t0\ti$key";
    }
    $body = implode("\n", $lines) . "\n";
    return (new PlanReader("{$body}end\t" . digest($body) . "\n"))->read();
}

/** Processor time of this process so far, in nanoseconds. */
function cpu_ns(): int
{
    $used = getrusage();
    return 1_000_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + 1_000 * ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']);
}

/** From the first start to the last end, and processor time, in nanoseconds. */
function through_worker(Reads $what, Plan $plan): array
{
    $driver = $what->driver;
    $control = new Control($driver->interrupted);
    $client = new Client($plan, $plan->clients[0], $driver, new Options($driver), $plan->statements, $control, fn () => null);
    $client->prepare(true);
    $control->startNs = hrtime(true);
    $cpu = cpu_ns();
    $client->run();
    $cpu = cpu_ns() - $cpu;
    $samples = $client->samples();
    if ($client->attempts !== $what->reads || $client->failed !== 0 || $samples[2] !== 1 << 32) {
        throw new Exception('a read failed');
    }
    return [end($samples) - $samples[4], $cpu];
}

/** What a program with this one query would do. */
function bare(Reads $what, array $keys): array
{
    $db = $what->driver->open(new Database(...explode("\t", $what->database)), new Options($what->driver))->db;
    $read = $db->prepare(QUERY . '?');
    [$begun, $cpu, $reads] = [hrtime(true), cpu_ns(), $what->reads];
    for ($i = 0; $i < $reads; $i++) {
        $read->bindValue(1, $keys[$i % CYCLE], PDO::PARAM_INT);
        $read->execute();
        [$id, $value, $note] = $read->fetchAll(PDO::FETCH_NUM)[0];
    }
    $elapsed = hrtime(true) - $begun;
    // The worker closes its connection during its run, which on a server means messages too.
    unset($read, $db);
    return [$elapsed, cpu_ns() - $cpu];
}

/** As `bare`, for a driver that prepares nothing: each key is written into the text. */
function bare_of_texts(Reads $what, array $keys): array
{
    $db = $what->driver->open(new Database(...explode("\t", $what->database)), new Options($what->driver));
    [$begun, $cpu, $reads] = [hrtime(true), cpu_ns(), $what->reads];
    for ($i = 0; $i < $reads; $i++) {
        [$id, $value, $note] = $db->execute(QUERY . $keys[$i % CYCLE])->fetchAll(PDO::FETCH_NUM)[0];
    }
    $elapsed = hrtime(true) - $begun;
    $db->close();
    return [$elapsed, cpu_ns() - $cpu];
}

function compare(Reads $what, array $keys): void
{
    $plan = plan($what, $keys);
    $bare = $what->prepares ? bare(...) : bare_of_texts(...);
    for ($turn = 0; $turn < $what->turns; $turn++) {
        $first = $turn % 2 === 0 ? $bare($what, $keys) : null;
        $worker = through_worker($what, $plan);
        $loop = $first ?? $bare($what, $keys);
        $turns[] = [$loop, $worker];
    }
    // By processor time as well, which other processes disturb less; least of all the slowest of each side's fastest
    // tenth.
    foreach (['elapsed', 'processor'] as $i => $kind) {
        $ratios = array_map(fn ($turn) => $turn[0][$i] / $turn[1][$i], $turns);
        $reads = fn (int $side) => median(array_map(fn ($turn) => $turn[$side][$i] / $what->reads, $turns));
        $fastest = array_map(fn (int $side) => fastest(array_map(fn ($turn) => $turn[$side][$i] / $what->reads, $turns)), [0, 1]);
        printf(
            "%-15s %-9s bare/worker %.3f (median of %d; %.3f to %.3f), bare %.0f ns, worker %.0f ns per read; "
                . "%.3f between the fastest tenths (%.0f ns, %.0f ns)\n",
            $what->driver->name, $kind, median($ratios), $what->turns, min($ratios), max($ratios), $reads(0), $reads(1),
            $fastest[0] / $fastest[1], ...$fastest
        );
    }
}

function cost_of_nothing(array $keys): void
{
    $what = new Reads(new NullDriver('php-null'), "file\tnone");
    $plan = plan($what, $keys);
    $costs = array_map(fn () => through_worker($what, $plan)[1] / $what->reads, range(1, $what->turns));
    $words = "%-15s %.0f ns of processor time per operation: the worker's own cost (median of %d)\n";
    printf($words, 'php-null', median($costs), $what->turns);
}

/** The class of a driver; its file is loaded once. */
function class_of(string $name): string
{
    static $classes = [];
    return $classes[$name] ??= require __DIR__ . "/../src/drivers/$name.php";
}

/** The reads through the driver of this name, or the reason why they are not possible. */
function reads_of(string $name, string $path): Reads|string
{
    [$extension, $package, $server, $placeholder] = DRIVERS[$name];
    if (!extension_loaded($extension)) {
        return "PHP has no extension $extension; apt-get install $package";
    }
    if ($name === 'mysql-on-sqlite' && !class_exists(WP_MySQL_On_SQLite::class)) {
        return 'WordPress\'s driver is not here; `make workers-php` fetches it';
    }
    $class = class_of($name);
    if ($name === 'mysql-on-sqlite') {
        $driver = new $class($name);
        fill_for_wordpress($driver, "$path-wordpress");
        return new Reads($driver, "file\t$path-wordpress", $placeholder, 500, 31, false);
    }
    if ($server === null) {
        return new Reads(new $class($name), "file\t$path");
    }
    $at = (string) getenv($server);
    return $at === ''
        ? "$server names no server; scripts/bench-workers-php.sh starts one"
        : new Reads(new $class($name), $at, $placeholder, 2_000, 31);
}

function main(array $names): void
{
    mt_srand(1);
    $keys = array_map(fn () => mt_rand(1, ROWS), range(1, CYCLE));
    $path = tempnam(sys_get_temp_dir(), 'contend');
    try {
        if (extension_loaded('pdo_sqlite')) {
            // First, because another driver extends it.
            class_of('php-pdo-sqlite');
            fill($path);
        }
        foreach ($names ?: array_keys(DRIVERS) as $name) {
            $what = reads_of($name, $path);
            if (is_string($what)) {
                printf("%-15s left out: %s\n", $name, $what);
            } else {
                compare($what, $keys);
            }
        }
        cost_of_nothing($keys);
    } finally {
        array_map(unlink(...), glob("$path*"));
    }
}

main(array_slice($argv, 1));
