<?php
// A site on the plan's database: WordPress installed there, contend's data moved into it, its configuration in a file.

declare(strict_types=1);

final class Site
{
    /** Of all users; the first is the site's administrator. Scenarios log in with it. */
    private const PASSWORD = 'admin';

    private const NAME = '/contend-wordpress-';

    public readonly bool $isSqlite;
    public readonly string $host;
    /** Where its files are while it is served. */
    public readonly string $dir;
    public readonly string $token;
    public readonly int $busyTimeoutMs;

    public function __construct(private ServedPlan $plan, private string $app, private string $root)
    {
        $database = $plan->databases[0];
        $this->isSqlite = $database->path !== null;
        $engine = $plan->options['engine'] ?? ($this->isSqlite ? 'sqlite' : 'mariadb');
        if (!in_array($engine, ['sqlite', 'mariadb'], true)) {
            throw new Refused('WordPress runs on SQLite and MariaDB, not on ' . crop($engine));
        }
        if ($this->isSqlite && $plan->begin !== null && $plan->begin !== 'BEGIN IMMEDIATE') {
            throw new Refused("the plugin begins what it writes with BEGIN IMMEDIATE; `$plan->begin` cannot be had");
        }
        $this->host = $plan->options['host'] ?? 'wordpress.test';
        $this->busyTimeoutMs = $plan->number('busy_timeout_ms', 10_000, 0, 0x7FFFFFFF);
        $this->token = bin2hex(random_bytes(16));
        $shared = is_dir('/dev/shm') && is_writable('/dev/shm') ? '/dev/shm' : sys_get_temp_dir();
        self::sweep($shared);
        $this->dir = $shared . self::NAME . getmypid();
        mkdir($this->dir, 0700);
    }

    /** Removes what processes left that were killed. */
    private static function sweep(string $shared): void
    {
        foreach (glob($shared . self::NAME . '*') as $dir) {
            $pid = substr(strrchr($dir, '-'), 1);
            // Every user can make such a name, also as a link to another directory.
            if (ctype_digit($pid) && !is_link($dir) && fileowner($dir) === posix_geteuid() && !file_exists("/proc/$pid")) {
                array_map('unlink', glob("$dir/*"));
                rmdir($dir);
            }
        }
    }

    /** The program's environment: which site it is. */
    public function environment(string $which): array
    {
        return [
            'CONTEND_SITE' => "$this->dir/$which.php", 'CONTEND_HOST' => $this->host, 'CONTEND_ROOT' => realpath($this->root),
            'CONTEND_PASSWORD' => self::PASSWORD,
        ] + getenv();
    }

    public function install(): void
    {
        $constants = $this->isSqlite ? $this->onSqlite() : $this->onMariadb();
        // Installing is not measured, so it need not wait for a disk; the journal is the one asked for from the beginning.
        $hurry = $this->isSqlite ? ['PRAGMA synchronous = OFF'] : ['SET autocommit = 0'];
        $this->write('install', $constants, $hurry);
        $this->write('serve', $constants, $this->session());
        $install = [PHP_BINARY, '-d', 'memory_limit=-1', '-d', 'error_reporting=8191', '-d', 'display_errors=stderr', "$this->app/install.php"];
        $process = proc_open($install, [['file', '/dev/null', 'r'], ['pipe', 'w'], STDERR], $pipes, null, $this->environment('install'));
        $said = stream_get_contents($pipes[1]);
        // Some of WordPress's own ways to end look like a success.
        if (proc_close($process) !== 0 || !isset(json_decode($said, true)['comments'])) {
            throw new Refused('WordPress could not be installed; the log says why: ' . crop(trim(strip_tags($said))));
        }
        if ($this->isSqlite) {
            unlink($this->seed());
        }
    }

    /** The loaded data step aside, and the plugin makes a file of its own. */
    private function onSqlite(): array
    {
        $path = $this->plan->databases[0]->path;
        $seed = new PDO("sqlite:$path", null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        $mode = $seed->query('PRAGMA journal_mode')->fetchColumn();
        // Without a log beside it the file is whole.
        $seed->exec('PRAGMA journal_mode = DELETE');
        $seed = null;
        rename($path, $this->seed());
        foreach ($this->plan->session as $sql) {
            if (preg_match('/\A\s*PRAGMA\s+journal_mode\s*=\s*(\w+)/i', $sql, $found)) {
                $mode = $found[1];
            }
        }
        return [
            'DB_ENGINE' => 'sqlite', 'DB_DIR' => dirname($path), 'DB_FILE' => basename($path), 'DB_NAME' => 'wordpress',
            'SQLITE_JOURNAL_MODE' => strtoupper($mode),
        ] + $this->constants() + $this->synchronous();
    }

    /** For a version of the plugin that reads it; 3.0.2 does not, so a PRAGMA says it again. */
    private function synchronous(): array
    {
        foreach ($this->plan->session as $sql) {
            if (preg_match('/\A\s*PRAGMA\s+synchronous\s*=\s*(\w+)/i', $sql, $found)) {
                return ['SQLITE_SYNCHRONOUS' => strtoupper($found[1])];
            }
        }
        return [];
    }

    private function seed(): string
    {
        return $this->plan->databases[0]->path . '.seed';
    }

    private function onMariadb(): array
    {
        $address = $this->plan->databases[0];
        $this->stepAside($address);
        $host = $address->socket !== null ? "localhost:$address->socket" : "$address->host:$address->port";
        return [
            'DB_ENGINE' => 'mysql', 'DB_HOST' => $host, 'DB_USER' => $address->user, 'DB_PASSWORD' => $address->password() ?? '',
            'DB_NAME' => $address->database,
        ] + $this->constants();
    }

    /** WordPress takes tables of its names for an installation of its own that is damaged. */
    private function stepAside(Database $address): void
    {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $database = new mysqli($address->host ?: 'localhost', $address->user, $address->password() ?? '', $address->database, $address->port, $address->socket);
        foreach ($database->query('SHOW TABLES')->fetch_all() as [$table]) {
            $database->query("RENAME TABLE `$table` TO `seed_$table`");
        }
        $database->close();
    }

    private function constants(): array
    {
        $url = "http://$this->host";
        $keys = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'];
        $secrets = array_combine($keys, array_map(fn () => bin2hex(random_bytes(32)), $keys));
        return ['DB_CHARSET' => 'utf8mb4', 'DB_COLLATE' => '', 'WP_HOME' => $url, 'WP_SITEURL' => $url] + $secrets;
    }

    /** What every request executes on its connection: WordPress's own words for SQL on MariaDB stay as they are. */
    private function session(): array
    {
        if ($this->isSqlite) {
            $own = array_filter($this->plan->session, fn ($sql) => !preg_match('/journal_mode/i', $sql));
            return ["PRAGMA busy_timeout = $this->busyTimeoutMs", ...array_values($own)];
        }
        return array_values(preg_grep('/ISOLATION LEVEL|innodb_lock_wait_timeout/i', $this->plan->session));
    }

    private function write(string $which, array $constants, array $session): void
    {
        $readback = array_values(array_filter($this->plan->readback, fn ($pair) => $pair[1] !== ''));
        if ($this->isSqlite) {
            $readback[] = ['busy_timeout', 'PRAGMA busy_timeout'];
        }
        $site = ['constants' => $constants, 'session' => $session, 'readback' => $readback, 'token' => $this->token,
            'secret' => $this->plan->options['secret'] ?? null, 'counters' => $this->dir, 'seed' => $this->isSqlite ? $this->seed() : null];
        file_put_contents("$this->dir/$which.php", '<?php return ' . var_export($site, true) . ';');
    }

    /** What every request must bring. */
    public function secretHeader(): array
    {
        $secret = $this->plan->options['secret'] ?? null;
        return $secret === null ? [] : ["contend-secret: $secret"];
    }

    /** What requests have counted, each in one byte (wp-config.php says which), but for so many of the first. */
    public function counted(int $but = 0): array
    {
        $file = "$this->dir/requests";
        $sums = ['requests' => 0, 'failed' => 0, 'connections_opened' => 0, 'gave_up' => 0];
        foreach (is_file($file) ? count_chars(substr(file_get_contents($file), $but), 1) : [] as $byte => $times) {
            $sums['requests'] += $times;
            $sums['failed'] += $times * ($byte & 1);
            $sums['gave_up'] += $times * ($byte >> 1 & 1);
            $sums['connections_opened'] += $times * ($byte >> 2 & 15);
        }
        return $sums;
    }

    public function remove(): void
    {
        foreach (is_dir($this->dir) ? array_diff(scandir($this->dir), ['.', '..']) : [] as $file) {
            unlink("$this->dir/$file");
        }
        is_dir($this->dir) && rmdir($this->dir);
    }
}
