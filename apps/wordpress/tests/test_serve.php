<?php
// The app on SQLite and MariaDB: installed, its settings read back, every kind of request answered and found in the database.

declare(strict_types=1);

const PRAGMAS = ['journal_mode' => 'PRAGMA journal_mode', 'synchronous' => 'PRAGMA synchronous', 'foreign_keys' => 'PRAGMA foreign_keys'];

function sqlite_site(string $mode): string
{
    $path = scratch() . '/site.db';
    $database = new PDO("sqlite:$path", null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $database->exec("PRAGMA journal_mode = $mode");
    fill($database);
    return $path;
}

function one(PDO $database, string $sql): mixed
{
    return $database->query($sql)->fetch(PDO::FETCH_NUM)[0] ?? null;
}

/** Every kind of request; the database is asked what came of it. */
function visit(Served $served, callable $database): void
{
    [$status, , $page] = $served->ask('GET', '/');
    check($status === 200 && str_contains($page, 'Title number 3') && str_contains($page, '</html>'), "the front page shows posts ($status)");
    [$status, , $page] = $served->ask('GET', '/post-1/');
    check($status === 200 && str_contains($page, 'The content number 1') && str_contains($page, 'A comment, number 1.'), 'a post with its comment');
    check(!str_contains($page, 'A comment, number 2.'), 'what is not approved is not shown');
    [$status, , $page] = $served->ask('GET', '/?s=lanterns');
    check($status === 200 && str_contains($page, 'Title number 2'), 'a search finds');
    [$status, , $page] = $served->ask('GET', '/?s=nowhere');
    check($status === 200 && !str_contains($page, 'Title number'), 'a search finds nothing');
    same(404, $served->ask('GET', '/post-9/')[0], 'a post that is not there');

    // The same again at once: neither a flood nor a duplicate.
    for ($i = 1; $i <= 2; $i++) {
        [$status, $head] = $served->comment();
        check($status === 302 && preg_match('~^location: http://wordpress.test/post-2/#comment-\d+~mi', $head) === 1, "a comment is taken: $status $head");
        same(2 + $i, (int) one($database(), 'SELECT count(*) FROM wp_comments'), 'it is there');
        same($i, (int) one($database(), 'SELECT comment_count FROM wp_posts WHERE ID = 2'), 'its post counts it');
    }
    same('Well said &amp; "quoted".', one($database(), 'SELECT comment_content FROM wp_comments ORDER BY comment_ID DESC LIMIT 1'), 'as it was sent');
    check($served->comment(['comment_post_ID' => '3', 'comment' => 'closed'])[0] >= 400, 'a closed post takes none');
    check($served->comment(['email' => ''])[0] !== 302, 'without an address there is none');
    same(4, (int) one($database(), 'SELECT count(*) FROM wp_comments'), 'what was refused is not there');

    same(200, $served->ask('POST', '/wp-login.php', ['log' => 'author1', 'pwd' => 'wrong'])[0], 'a wrong password is not taken');
    [$status, $head] = $served->ask('POST', '/wp-login.php', ['log' => 'author1', 'pwd' => 'admin']);
    $cookies = cookies($head);
    check($status === 302 && str_contains($cookies, 'wordpress_logged_in_'), "a login is taken: $status");
    same(302, $served->ask('GET', '/wp-admin/index.php')[0], 'the dashboard is not for everybody');
    [$status, , $page] = $served->ask('GET', '/wp-admin/index.php', [], $cookies);
    check($status === 200 && str_contains($page, 'Dashboard') && str_contains($page, '</html>'), "the dashboard: $status");
    [$status, $head] = $served->ask('GET', '/wp-login.php?reauth=1', [], $cookies);
    check($status === 200 && substr_count(strtolower($head), 'max-age=0') > 3, 'the cookies are deleted');
}

/** @param ?callable $database opens it; without it there are no visitors */
function serves(string $address, array $session, array $readback, array $expected, ?callable $database): void
{
    $served = new Served($address, $session, $readback);
    same('', $served->failed, 'the app serves');
    same(2, substr_count($served->hello['libraries'], ' '), 'it says what it is made of');
    check(count($served->sessions) >= 1 && count($served->sessions) <= 3, 'each process that answered reads back once');
    foreach ($served->sessions as $facts) {
        foreach ($expected + ['php_workers' => '3', 'host' => 'wordpress.test'] as $name => $value) {
            same($value, $facts[$name] ?? null, "$name in force");
        }
    }
    $database === null ? $served->ask('GET', '/') : visit($served, $database);
    $children = file_get_contents("/proc/{$served->pid()}/task/{$served->pid()}/children");
    $dir = $served->dir();
    check(is_dir($dir), 'its files are there');
    $done = $served->stop();
    // Those of `visit`; refused are a post that is not there and a comment on a closed one.
    $counts = [$done['requests'], $done['failed'], $done['connections_opened'], $done['gave_up']];
    same($database === null ? ['1', '0', '1', '0'] : ['14', '2', '14', '0'], $counts, 'what it counts');
    foreach (preg_split('/\s+/', $children, -1, PREG_SPLIT_NO_EMPTY) as $pid) {
        for ($i = 0; file_exists("/proc/$pid"); $i++) {
            check($i < 1_000, 'no process is left');
            usleep(10_000);
        }
    }
    check(!file_exists($dir), 'no files are left');
}

function test_it_serves_on_sqlite(): void
{
    // Journal and what it is synced with, as contend sets them: WAL in the file, the rest on each connection.
    foreach ([['wal', 'normal', '1'], ['wal', 'full', '2'], ['delete', 'full', '2']] as [$mode, $synchronous, $number]) {
        $path = sqlite_site($mode);
        $session = ["PRAGMA synchronous = $synchronous", 'PRAGMA foreign_keys = on', ...($mode === 'wal' ? [] : ['PRAGMA journal_mode = delete'])];
        $expected = ['journal_mode' => $mode, 'synchronous' => $number, 'busy_timeout' => '5000'];
        serves($path, $session, PRAGMAS, $expected, $synchronous === 'normal' ? fn () => new PDO("sqlite:$path") : null);
        same('ok', one(new PDO("sqlite:$path"), 'PRAGMA integrity_check'), 'the file is sound');
    }
}

function test_it_serves_on_mariadb(): void
{
    $server = new Mariadb(scratch());
    try {
        $server->open()->exec('CREATE DATABASE app_0');
        fill($server->open('app_0'));
        $session = ["SET SESSION sql_mode = 'ANSI_QUOTES'", 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED', 'SET SESSION innodb_lock_wait_timeout = 7'];
        $readback = ['innodb_flush_log_at_trx_commit' => 'SELECT @@innodb_flush_log_at_trx_commit', 'isolation' => 'SELECT @@tx_isolation',
            'innodb_lock_wait_timeout' => 'SELECT @@innodb_lock_wait_timeout'];
        $expected = ['innodb_flush_log_at_trx_commit' => '1', 'isolation' => 'READ-COMMITTED', 'innodb_lock_wait_timeout' => '7'];
        serves("socket\t$server->socket\troot\tapp_0\t-", $session, $readback, $expected, fn () => $server->open('app_0'));
        same('utf8mb4_unicode_520_ci', one($server->open('app_0'), "SELECT collation_name FROM information_schema.columns
            WHERE table_schema = 'app_0' AND table_name = 'wp_posts' AND column_name = 'post_title'"), 'tables as WordPress makes them');
    } finally {
        $server->stop();
    }
}

function test_requests_of_others_are_refused_and_not_counted(): void
{
    $served = new Served(sqlite_site('wal'), [], PRAGMAS, ['busy_timeout_ms' => '5000', 'secret' => 'geheim']);
    same('', $served->failed, 'the app serves');
    foreach ([[], ['contend-secret: '], ['contend-secret: geheim2'], ['contend-secret: GEHEIM']] as $headers) {
        // A page, an address that is not there, a program, a file.
        foreach (['/', '/nothing', '/wp-login.php', '/wp-includes/css/buttons.css'] as $target) {
            [$status, , $body] = $served->ask('GET', $target, [], '', $headers);
            check($status === 403 && $body === 'the header contend-secret of this run is missing', "$target: $status");
        }
    }
    same(200, $served->ask('GET', '/', [], '', ['contend-secret: geheim'])[0], 'what is of the run');
    $done = $served->stop();
    same(['1', '0'], [$done['requests'], $done['failed']], 'what it counts');
}

function test_a_statement_that_fails_is_no_success(): void
{
    $path = sqlite_site('wal');
    $served = new Served($path, ['PRAGMA synchronous = normal'], PRAGMAS, ['busy_timeout_ms' => '50']);
    same('', $served->failed, 'the app serves');
    $other = new PDO("sqlite:$path", null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $other->exec('BEGIN IMMEDIATE');
    [$status, $head] = $served->comment();
    same(500, $status, 'a comment that waits in vain');
    check(preg_match('/^contend-code: sqlite:5\r?$/mi', $head) === 1, "the engine's own code: $head");
    same(200, $served->ask('GET', '/post-1/')[0], 'readers do not wait');
    $other->exec('ROLLBACK');
    same(302, $served->comment()[0], 'afterwards it is taken');
    same(404, $served->ask('GET', '/post-9/')[0], 'a post that is not there');
    $dir = $served->dir();
    // Only the first of the two was the database's doing.
    $done = $served->stop();
    same(['4', '2', '1', '4'], [$done['requests'], $done['failed'], $done['gave_up'], $done['connections_opened']], 'what it counts');
    same(0, $served->status, 'it ends with its input');
    check(!file_exists($dir), 'no files are left');
}

/** A comment that a rule of the table refuses: the engine's own code is told, whatever its words are. */
function refuses(Served $served, PDO $database, string $index, string $code): void
{
    $database->exec($index);
    same(302, $served->comment(['author' => 'Once'])[0], 'the first of its name');
    [$status, $head] = $served->comment(['author' => 'Once', 'comment' => 'Another.']);
    same(500, $status, 'the second');
    check(preg_match("/^contend-code: $code\r?$/mi", $head) === 1, "the engine's own code: $head");
    same('1', $served->stop()['gave_up'], 'what it counts');
}

function test_the_code_of_a_violated_constraint(): void
{
    $path = sqlite_site('wal');
    $served = new Served($path, [], PRAGMAS);
    same('', $served->failed, 'the app serves');
    refuses($served, new PDO("sqlite:$path"), "CREATE UNIQUE INDEX once ON wp_comments (comment_author) WHERE comment_author = 'Once'", 'sqlite:19');
}

function test_the_code_of_a_violated_constraint_on_mariadb(): void
{
    $server = new Mariadb(scratch());
    try {
        $server->open()->exec('CREATE DATABASE app_0');
        fill($server->open('app_0'));
        $served = new Served("socket\t$server->socket\troot\tapp_0\t-", [], []);
        same('', $served->failed, 'the app serves');
        $database = $server->open('app_0');
        $database->exec("UPDATE wp_comments SET comment_author = comment_ID");
        refuses($served, $database, 'CREATE UNIQUE INDEX once ON wp_comments (comment_author(50))', 'mysql:1062');
    } finally {
        $server->stop();
    }
}

function test_only_what_a_killed_process_left_is_removed(): void
{
    $kept = scratch();
    touch("$kept/file");
    // No process has such a number.
    $number = 1_000_000_000 + getmypid();
    [$gone, $link, $other] = array_map(fn ($sign) => "/dev/shm/contend-wordpress-$sign$number", ['1', '2', 'x']);
    mkdir($gone);
    symlink($kept, $link);
    mkdir($other);
    $served = new Served(sqlite_site('wal'), [], PRAGMAS);
    same([false, true, true], [file_exists($gone), file_exists("$link/file"), is_dir($other)], 'what is there');
    $served->stop();
    unlink($link);
    rmdir($other);
}

function test_what_cannot_be_served_is_refused(): void
{
    foreach ([
        ["tcp\tlocalhost\t1\tx\ty\t-", ['engine' => 'postgres'], 'WordPress runs on SQLite and MariaDB'],
        [sqlite_site('wal'), ['php_workers' => '2'], 'option php_workers: 3 to 64'],
        [sqlite_site('wal'), ['shoes' => '2'], 'there is no option `shoes`'],
    ] as [$database, $options, $words]) {
        $served = new Served($database, [], PRAGMAS, $options);
        check(str_contains($served->failed, $words), "refused with its reason: $served->failed");
        same(1, $served->close(), 'its exit status');
    }
}
