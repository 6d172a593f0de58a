<?php
// What the pull request that followed promised, on the production driver and on the plugin as installed: unset gives WAL/NORMAL,
// what is set explicitly wins from the first installation on, rollback journals keep FULL. Version 3.0.2 does all of it in the
// driver; the plugin passes SQLITE_JOURNAL_MODE on to it, but knows no SQLITE_SYNCHRONOUS.

declare(strict_types=1);

const NORMAL = 1;
const FULL = 2;
const EXTRA = 3;

function in_force(PDO $beneath): array
{
    return [$beneath->query('PRAGMA journal_mode')->fetchColumn(), (int) $beneath->query('PRAGMA synchronous')->fetchColumn()];
}

/** The driver on a file; what is then in force on its connection. */
function driver(string $path, array $options): array
{
    $driver = new WP_MySQL_On_SQLite("mysql-on-sqlite:path=$path;dbname=app", null, null, $options);
    $found = in_force($driver->get_sqlite_pdo());
    // The driver and its parts know each other; the next one must find the file closed.
    unset($driver);
    gc_collect_cycles();
    return $found;
}

function test_the_driver_sets_what_was_promised(): void
{
    $plugin = WORDPRESS . '/wp-content/plugins/sqlite-database-integration';
    require_once "$plugin/wp-includes/database/load.php";
    $dir = scratch();
    $cases = [
        [[], ['wal', NORMAL]],
        [['sqlite_journal_mode' => 'WAL'], ['wal', NORMAL]],
        [['sqlite_synchronous' => 'FULL'], ['wal', FULL]],
        [['sqlite_journal_mode' => 'WAL', 'sqlite_synchronous' => 'EXTRA'], ['wal', EXTRA]],
        [['sqlite_journal_mode' => 'DELETE'], ['delete', FULL]],
        [['sqlite_journal_mode' => 'TRUNCATE'], ['truncate', FULL]],
        [['sqlite_journal_mode' => 'PERSIST'], ['persist', FULL]],
        [['sqlite_journal_mode' => 'DELETE', 'sqlite_synchronous' => 'NORMAL'], ['delete', NORMAL]],
        [['sqlite_journal_mode' => 'delete', 'sqlite_synchronous' => 3], ['delete', EXTRA]],
    ];
    foreach ($cases as $i => [$options, $expected]) {
        $words = json_encode($options);
        same($expected, driver("$dir/$i.db", $options), "a new file with $words");
        same($expected, driver("$dir/$i.db", $options), "the same file opened again with $words");
    }
    // The file of another mode is changed to what is asked for, or to the default.
    same(['delete', FULL], driver("$dir/0.db", ['sqlite_journal_mode' => 'DELETE']), 'from WAL to a rollback journal');
    same(['wal', NORMAL], driver("$dir/0.db", []), 'and back by the default');
    foreach ([['sqlite_journal_mode' => 'WALL'], ['sqlite_synchronous' => 'SOMETIMES']] as $options) {
        try {
            driver("$dir/x.db", $options);
            check(false, 'refused: ' . json_encode($options));
        } catch (InvalidArgumentException $e) {
            check(str_contains($e->getMessage(), 'Invalid SQLite'), 'with its reason: ' . $e->getMessage());
        }
    }
}

/** A site of these constants, in a new directory; what a process of settings.php says on it, with its status and its log. */
function site(array $constants): Closure
{
    $dir = scratch();
    $keys = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'];
    $site = ['constants' => $constants + ['DB_ENGINE' => 'sqlite', 'DB_DIR' => $dir, 'DB_FILE' => 'site.db', 'DB_NAME' => 'wordpress',
        'WP_HOME' => 'http://wordpress.test', 'WP_SITEURL' => 'http://wordpress.test'] + array_fill_keys($keys, 'x'),
        'session' => [], 'readback' => [], 'token' => 'x', 'counters' => $dir, 'seed' => null];
    file_put_contents("$dir/site.php", '<?php return ' . var_export($site, true) . ';');
    $environment = ['CONTEND_SITE' => "$dir/site.php", 'CONTEND_ROOT' => WORDPRESS] + getenv();
    return function (string $what) use ($dir, $environment): array {
        $process = proc_open([PHP_BINARY, '-d', 'display_errors=stderr', __DIR__ . '/settings.php', $what],
            [['file', '/dev/null', 'r'], ['pipe', 'w'], ['file', "$dir/log", 'a']], $pipes, null, $environment);
        $said = stream_get_contents($pipes[1]);
        return [proc_close($process), $said, file_get_contents("$dir/log"), "$dir/site.db"];
    };
}

/**
 * What is in force before and after the installation, and in a later process, with these constants; last the journal mode of a
 * connection that sets nothing: of all modes only WAL is the file's, and not a connection's.
 */
function installed(array $constants): array
{
    $site = site($constants);
    $all = '';
    foreach (['install', 'look'] as $what) {
        [$status, $said, $log, $file] = $site($what);
        same(0, $status, "$what: $said$log");
        $all .= $said;
    }
    $found = array_map(fn ($line) => json_decode($line, true), explode("\n", trim($all)));
    $found[] = (new PDO("sqlite:$file"))->query('PRAGMA journal_mode')->fetchColumn();
    return $found;
}

function test_the_plugin_keeps_the_promise_from_the_first_installation_on(): void
{
    $cases = [
        [[], ['wal', NORMAL]],
        [['SQLITE_JOURNAL_MODE' => 'DELETE'], ['delete', FULL]],
        [['SQLITE_JOURNAL_MODE' => 'TRUNCATE'], ['truncate', FULL]],
        [['SQLITE_JOURNAL_MODE' => 'PERSIST'], ['persist', FULL]],
        // An explicit one is not followed by version 3.0.2: DELETE has FULL whatever it says, WAL has NORMAL.
        [['SQLITE_SYNCHRONOUS' => 'FULL'], ['wal', NORMAL]],
        [['SQLITE_JOURNAL_MODE' => 'WAL', 'SQLITE_SYNCHRONOUS' => 'FULL'], ['wal', NORMAL]],
        [['SQLITE_SYNCHRONOUS' => 'SOMETIMES'], ['wal', NORMAL]],
        [['SQLITE_JOURNAL_MODE' => 'DELETE', 'SQLITE_SYNCHRONOUS' => 'EXTRA'], ['delete', FULL]],
    ];
    foreach ($cases as [$constants, $expected]) {
        $found = installed($constants);
        same([$expected, $expected, $expected, $expected[0] === 'wal' ? 'wal' : 'delete'], $found, 'constants ' . json_encode($constants));
    }
}

function test_with_a_journal_mode_that_is_none_the_plugin_has_no_connection_and_no_reason(): void
{
    $site = site(['SQLITE_JOURNAL_MODE' => 'WALL']);
    $pages = ['install' => 'One or more database tables are unavailable', 'look' => 'Error establishing a database connection'];
    foreach ($pages as $what => $words) {
        [$status, $said, $log, $file] = $site($what);
        check(str_contains($said, $words), "$what: $said$log");
        check(!str_contains($said . $log, 'WALL'), "the word is not told: $said$log");
        same([0, 0], [$status, filesize($file)], "$what: its status, and the size of a file in which nothing is made");
    }
}

function test_the_version_is_the_one_that_was_looked_at(): void
{
    require_once WORDPRESS . '/wp-content/plugins/sqlite-database-integration/wp-includes/database/version.php';
    same('3.0.2', SQLITE_DRIVER_VERSION, 'look at this file again, and at docs/study-wordpress.md');
}
