<?php
// Tests of the worker's parts that need no process of their own: php workers/php/tests/run.php. Whole runs are in
// workers/tests.

declare(strict_types=1);

foreach (['wire', 'statement', 'plan', 'driver', 'writer', 'client', 'run', 'worker', 'drivers/php-null', 'drivers/php-pdo-sqlite'] as $part) {
    require __DIR__ . "/../src/$part.php";
}

// As in the worker: PHP's warnings are exceptions.
set_error_handler(fn ($level, $words, $file, $line) => throw new ErrorException($words, 0, $level, $file, $line));

function same(mixed $expected, mixed $found, string $what): void
{
    if ($expected !== $found) {
        throw new RuntimeException("$what: expected " . json_encode($expected) . ', found ' . json_encode($found));
    }
}

function test_what_is_said_of_a_statement(): void
{
    $what = fn (Statement $s) => [$s->params, $s->returns, $s->changes, $s->upserts, $s->parts()];
    same([2, true, false, 0, ['SELECT ', ', ', '']], $what(new Statement('SELECT $2, $1', 'rows', '7:2,11:1')), 'numbered');
    $replace = new Statement('REPLACE INTO t VALUES (?), (?)', 'changes,upserts=2', '23,28');
    same([2, false, true, 2, ['REPLACE INTO t VALUES (', '), (', ')']], $what($replace), 'one that upserts');
    same([0, false, false, 0, ['BEGIN']], $what(new Statement('BEGIN')), 'a plain one');
    $load = Statement::ofLoad('21', '22,25', 'INSERT INTO t VALUES (?, ?)');
    same(['(', ', ', ')'], $load->parts($load->group), 'a row of a load');
}

function refusal(callable $what): string
{
    try {
        $what();
    } catch (FormatError $e) {
        return $e->getMessage();
    }
    return '';
}

function test_databases_have_their_address_in_fields(): void
{
    $at = new Database('tcp', '::1', '5433', 'me', 'd\\t', '-');
    same(['::1', 5433, 'me', "d\t", null], [$at->host, $at->port, $at->user, $at->database, $at->password()], 'fields');
    same('/s', (new Database('socket', '/s', 'me', '', '-'))->socket, 'a socket');
    foreach (['env:CONTEND_NOT_SET', 'file:/no/pw'] as $found) {
        $why = refusal(fn () => (new Database('socket', '/s', 'me', 'd', $found))->password());
        same(true, str_contains($why, explode(':', $found)[1]), $why);
    }
}

function test_what_is_cut_or_changed_is_refused(): void
{
    $body = "contend-plan 3\nworker\t0\n";
    $whole = sealed($body);
    same($body, opened('plan', $whole), 'whole');
    $wrong = [substr($whole, 0, -1) => 'cut off', $body => 'cut off', "{$body}end\n" => 'cut off', "{$whole}x\n" => 'cut off'];
    foreach ($wrong + [str_replace("\t0", "\t1", $whole) => 'changed'] as $text => $words) {
        $why = refusal(fn () => opened('plan', $text));
        same(true, str_contains($why, $words), "$text: $why");
    }
}

/** A text with the digest that the tool would add. */
function sealed(string $body): string
{
    return "{$body}end\t" . digest($body) . "\n";
}

function test_a_new_connection_is_given_the_same_functions(): void
{
    $path = tempnam(sys_get_temp_dir(), 'contend');
    register_shutdown_function(fn () => unlink($path));
    (new PDO("sqlite:$path"))->exec('CREATE TABLE t (id); INSERT INTO t VALUES (1)');
    $text = sealed(implode("\n", [
        'contend-plan 3', "worker\t0", "driver\tphp-pdo-sqlite\tprocess", "connections\tclient", "window\t0\t0\t0", "now\tclock", "database\tfile\t$path",
        "statement\t0\trows\t-\tSELECT id FROM t", "transaction\t0\tanew\tread\tBEGIN\t0\t0\t2", "step\tconnect", "step\tsql\t0\t1..1\t1\t-",
        "transaction\t1\tstay\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-", "retry\t1\t-\t-\t-", 'clients	1',
        "client\t0\t0\tclosed\tfinite\t4\t0\t4", "op\t0\t0", "op\t0\t1", "op\t0\t0", "op\t0\t1", '',
    ]));
    $driver = new PdoSqlite('php-pdo-sqlite');
    $plan = (new PlanReader($text))->read();
    $client = new Client($plan, $plan->clients[0], $driver, new Options($driver), $plan->statements, new Control([SQLITE, 9]), fn () => null);
    $client->prepare(true);
    $written = (fn () => $this->written)->call($client);
    $before = [...$written->firsts, ...$written->makers];
    $client->run();
    same([4, 0], [$client->attempts, $client->failed], 'what it carried out');
    same(true, (fn () => $this->written)->call($client) === $written, 'nothing is written in the run');
    same(true, $before === [...$written->firsts, ...$written->makers], 'nor compiled');
}

/** Records its collection in a file, because clients are separate processes. */
final class Garbage
{
    private Garbage $itself;

    public function __construct(private string $path)
    {
        $this->itself = $this;
    }

    public function __destruct()
    {
        file_put_contents($this->path, getmypid() . "\n", FILE_APPEND);
    }
}

function test_garbage_of_preparing_is_collected_before_the_clients_are_ready(): void
{
    $path = tempnam(sys_get_temp_dir(), 'contend');
    register_shutdown_function(fn () => unlink($path));
    $driver = new class ('php-null') extends Driver {
        public bool $executesNothing = true;
        public string $path = '';

        public function hello(): array
        {
            return [];
        }

        public function open(Database $database, Options $options): Connection
        {
            new Garbage($this->path);
            return (new NullDriver($this->name))->open($database, $options);
        }

        public function codeOf(Throwable $error): ?array
        {
            return null;
        }
    };
    $driver->path = $path;
    new Garbage($path);
    $run = new Run([$driver], sealed(implode("\n", [
        'contend-plan 3', "worker\t0", "driver\tphp-null\tprocess", "connections\tclient", "window\t0\t0\t0", "now\tclock", "database\tfile\td",
        "transaction\t0\tnothing\tread\t-\t0\t0\t0", "retry\t1\t-\t-\t-", 'clients	2',
        "client\t0\t0\tclosed\tfinite\t0\t0\t0", "client\t1\t0\tclosed\tfinite\t0\t0\t0", '',
    ])));
    // No client has started yet. Garbage from before the fork belongs to the first process.
    $expected = [getmypid(), ...array_map(fn ($child) => $child->pid, $run->children)];
    $run->kill();
    same($expected, array_map(intval(...), file($path)), 'who collected');
}

/**
 * A run whose only client sends `words`, and `more` when its samples are requested; then it exits at once, like a
 * client that failed. Without `more` it exits before the request.
 */
function run_of_one_that_says(string $words, string $more = ''): Run
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $pid = pcntl_fork();
    if ($pid === 0) {
        fwrite($theirs, $words);
        if ($more !== '') {
            fgets($theirs);
            fwrite($theirs, $more);
        }
        posix_kill(getmypid(), SIGKILL);
    }
    fclose($theirs);
    $spec = (new ReflectionClass(ClientPlan::class))->newInstanceWithoutConstructor();
    $spec->id = 7;
    $run = (new ReflectionClass(Run::class))->newInstanceWithoutConstructor();
    $run->children = [new Child($pid, new Lines($ours), $spec)];
    for ($left = 1000; $more === '' && $left > 0 && !str_contains(file_get_contents("/proc/$pid/stat"), ') Z '); $left--) {
        usleep(10_000);
    }
    return $run;
}

/** The result of reading the samples of a finished run: its frames, or the error. */
function outcome(Run $run): array|string
{
    while (!$run->isOver()) {
        $run->children[0]->lines->wait();
        $run->hear($run->children[0]);
    }
    try {
        return iterator_to_array($run->frames(), false);
    } catch (FormatError $e) {
        return $e->getMessage();
    } finally {
        $run->kill();
    }
}

function test_a_client_that_fails_after_its_end_is_heard_in_its_own_words(): void
{
    $done = "done\t3\t3\t0\t0\t\t1\n";
    $own = "client 7: no room\tfor samples";
    $died = 'client 7: its process was ended by signal ' . SIGKILL;
    same(['abc'], outcome(run_of_one_that_says($done, "samples 3\nabcend\n")), 'one that is well');
    same($own, outcome(run_of_one_that_says($done . "failed\tno room\\tfor samples\n")), 'before it is asked');
    same($own, outcome(run_of_one_that_says($done, "failed\tno room\\tfor samples\n")), 'before its samples');
    same($own, outcome(run_of_one_that_says($done, "samples 3\nabcfailed\tno room\\tfor samples\n")), 'between its samples');
    same($died, outcome(run_of_one_that_says($done)), 'without a word');
    same($died, outcome(run_of_one_that_says($done, "samp")), 'in the middle of a word');
}

function test_a_client_whose_loop_is_over_may_take_its_time_to_close(): void
{
    $long_ago = hrtime(true) - 2 * STUCK_NS;
    foreach (["over\n" => '', "progress\t1\t0\n" => 'client 7 did not return 5 s after it was interrupted'] as $words => $why) {
        $run = run_of_one_that_says($words, 'more');
        $run->driver = new NullDriver('php-null');
        $run->children[0]->lines->wait();
        $run->hear($run->children[0]);
        same($why, refusal(fn () => $run->afterDrain($long_ago)), $words);
        $run->kill();
    }
}

function test_a_connection_that_cannot_be_opened_is_rejected_and_not_lost(): void
{
    if (!extension_loaded('pdo_pgsql')) {
        return;
    }
    require_once __DIR__ . '/../src/drivers/php-pdo-pgsql.php';
    $driver = new PdoPgsql('php-pdo-pgsql');
    try {
        $driver->open(new Database('socket', '/none/.s.PGSQL.1', 'me', 'd', '-'), new Options($driver));
    } catch (Failure $e) {
        same([SQLSTATE, base36('08001')], [$e->space, $e->number], $e->getMessage());
        return;
    }
    same(true, false, 'it was opened');
}

$failed = 0;
foreach (preg_grep('/^test_/', get_defined_functions()['user']) as $test) {
    try {
        $test();
    } catch (Throwable $e) {
        $failed++;
        echo "$test: FAILED at ", basename($e->getFile()), ":{$e->getLine()}: {$e->getMessage()}\n";
    }
}
exit((int) ($failed > 0));
