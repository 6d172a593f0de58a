<?php
// The worker held against a bare loop that calls the same library: rows read by rowid, in turns, so that both see the same
// machine. `php-null` is what the worker costs by itself. Started by scripts/bench-workers-php.sh.

declare(strict_types=1);

$home = __DIR__ . '/..';
foreach (['wire', 'plan', 'sqltext', 'driver', 'writer', 'client', 'drivers/null', 'drivers/pdo', 'drivers/sqlite'] as $part) {
    require "$home/src/$part.php";
}

const ROWS = 100_000;
const CYCLE = 16_384;
const READS = 5_000;
const TURNS = 41;
const QUERY = 'SELECT id, value, note FROM item WHERE rowid = ?';

function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

function fill(string $path): void
{
    $db = new PDO("sqlite:$path", null, null, PDO_OPTIONS);
    // What a rollback journal adds to every read is the kernel's, and hides what is to be seen.
    $db->exec('PRAGMA journal_mode = WAL');
    $db->exec('CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)');
    $db->exec('WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ' . (ROWS - 1) . ")
        INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n");
}

function plan(string $driver, string $path, array $keys): Plan
{
    $lines = [
        'contend-plan 2', "worker\t0", "driver\t$driver\tprocess", "connections\tclient", "window\t0\t0\t0", "now\tclock",
        "database\t$path", "statement\t0\t" . QUERY, "transaction\t0\tread\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-\tp0+0",
        "retry\t1\t-\t-\t-", "clients\t1", "client\t0\t0\tclosed\tcyclic\t" . READS . "\t0\t" . count($keys),
    ];
    foreach ($keys as $key) {
        $lines[] = "op\t0\t0\ti$key";
    }
    return (new PlanReader(implode("\n", $lines) . "\nend\n"))->read();
}

/** Processor time of this process so far, in nanoseconds. */
function cpu_ns(): int
{
    $used = getrusage();
    return 1_000_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'])
        + 1_000 * ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']);
}

/** From the first start to the last end, and processor time, in nanoseconds. */
function through_worker(Driver $driver, Plan $plan): array
{
    $control = new Control($driver->interrupted);
    $statements = array_map(fn ($sql) => $driver->statement($sql), $plan->statements);
    $client = new Client($plan, $plan->clients[0], $driver, new Options($driver), $statements, $control, fn () => null);
    $client->prepare(true);
    $control->startNs = hrtime(true);
    $cpu = cpu_ns();
    $client->run();
    $cpu = cpu_ns() - $cpu;
    $samples = $client->samples();
    if ($client->attempts !== READS || $client->failed !== 0 || $samples[2] !== 1 << 32) {
        throw new Exception('a read failed');
    }
    return [end($samples) - $samples[4], $cpu];
}

/** What a program for this one query would do. */
function bare(string $path, array $keys): array
{
    $db = new PDO("sqlite:$path", null, null, PDO_OPTIONS);
    $read = $db->prepare(QUERY);
    [$begun, $cpu] = [hrtime(true), cpu_ns()];
    for ($i = 0; $i < READS; $i++) {
        $read->bindValue(1, $keys[$i % CYCLE], PDO::PARAM_INT);
        $read->execute();
        [$id, $value, $note] = $read->fetchAll(PDO::FETCH_NUM)[0];
    }
    return [hrtime(true) - $begun, cpu_ns() - $cpu];
}

mt_srand(1);
$keys = array_map(fn () => mt_rand(1, ROWS), range(1, CYCLE));
$path = tempnam(sys_get_temp_dir(), 'contend');
try {
    fill($path);
    $driver = new PdoSqlite('php-pdo-sqlite');
    $plan = plan($driver->name, $path, $keys);
    for ($turn = 0; $turn < TURNS; $turn++) {
        $first = $turn % 2 === 0 ? bare($path, $keys) : null;
        $worker = through_worker($driver, $plan);
        $loop = $first ?? bare($path, $keys);
        $turns[] = [$loop, $worker];
    }
    // By processor time as well, which others on the machine disturb less.
    foreach (['elapsed', 'processor'] as $i => $what) {
        $ratios = array_map(fn ($turn) => $turn[0][$i] / $turn[1][$i], $turns);
        $reads = fn (int $side) => median(array_map(fn ($turn) => $turn[$side][$i] / READS, $turns));
        printf(
            "%-15s %-9s bare/worker %.3f (median of %d; %.3f to %.3f), bare %.0f ns, worker %.0f ns per read\n",
            $driver->name, $what, median($ratios), TURNS, min($ratios), max($ratios), $reads(0), $reads(1)
        );
    }
    $null = new NullDriver('php-null');
    $plan = plan('php-null', $path, $keys);
    $floor = median(array_map(fn () => through_worker($null, $plan)[1] / READS, range(1, TURNS)));
    printf("%-15s %.0f ns of processor time per operation: the worker's own cost (median of %d)\n", 'php-null', $floor, TURNS);
} finally {
    array_map(fn ($end) => @unlink($path . $end), ['', '-wal', '-shm']);
}
