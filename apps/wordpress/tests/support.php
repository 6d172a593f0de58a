<?php
// What the tests share: a worker that serves, requests, databases filled as contend fills them, checks that count.

declare(strict_types=1);

error_reporting(E_ALL);
set_error_handler(static function (int $level, string $words, string $file, int $line) {
    throw new ErrorException($words, 0, $level, $file, $line);
});

const ROOT = __DIR__ . '/../../..';
const WORDPRESS = ROOT . '/target/apps/wordpress/wordpress';
/** Columns that are numbers; all others are text. */
const NUMBERS = ['ID', 'post_author', 'post_parent', 'menu_order', 'comment_count', 'comment_ID', 'comment_post_ID', 'comment_karma',
    'comment_parent', 'user_id', 'user_status', 'meta_id', 'post_id', 'comment_id', 'term_id', 'term_group', 'term_taxonomy_id', 'parent',
    'count', 'object_id', 'term_order', 'option_id', 'umeta_id'];

function check(bool $holds, string $what): void
{
    static $count = 0;
    if (!$holds) {
        throw new RuntimeException("this does not hold: $what");
    }
    $count++;
}

function same(mixed $expected, mixed $found, string $what): void
{
    check($expected === $found, "$what: expected " . json_encode($expected) . ', found ' . json_encode($found));
}

/** A directory that is gone at the end. */
function scratch(): string
{
    $dir = sys_get_temp_dir() . '/contend-wordpress-test-' . bin2hex(random_bytes(4));
    mkdir($dir, 0700);
    register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($dir)));
    return $dir;
}

/** Rows as contend loads them, of a small site: three posts, two comments, a user. */
function rows(): array
{
    $posts = [];
    $meta = [];
    for ($i = 1; $i <= 3; $i++) {
        $posts[] = ['ID' => $i, 'post_author' => 1, 'post_date' => "2024-01-0$i 00:00:00", 'post_date_gmt' => "2024-01-0$i 00:00:00",
            'post_content' => "The content number $i speaks of lanterns.", 'post_title' => "Title number $i", 'post_excerpt' => '',
            'post_status' => 'publish', 'comment_status' => $i === 3 ? 'closed' : 'open', 'ping_status' => 'open', 'post_password' => '',
            'post_name' => "post-$i", 'to_ping' => '', 'pinged' => '', 'post_modified' => "2024-01-0$i 00:00:00",
            'post_modified_gmt' => "2024-01-0$i 00:00:00", 'post_content_filtered' => '', 'post_parent' => 0, 'guid' => "http://x/?p=$i",
            'menu_order' => 0, 'post_type' => 'post', 'post_mime_type' => '', 'comment_count' => $i === 1 ? 1 : 0];
        $meta[] = ['meta_id' => $i, 'post_id' => $i, 'meta_key' => '_edit_last', 'meta_value' => '1'];
    }
    $comment = fn (int $id, string $approved) => ['comment_ID' => $id, 'comment_post_ID' => 1, 'comment_author' => 'Ann',
        'comment_author_email' => 'ann@example.com', 'comment_author_url' => '', 'comment_author_IP' => '198.51.1.1',
        'comment_date' => '2024-02-01 00:00:00', 'comment_date_gmt' => '2024-02-01 00:00:00', 'comment_content' => "A comment, number $id.",
        'comment_karma' => 0, 'comment_approved' => $approved, 'comment_agent' => 'x', 'comment_type' => 'comment', 'comment_parent' => 0,
        'user_id' => 0];
    return [
        'wp_users' => [['ID' => 1, 'user_login' => 'author1', 'user_pass' => 'x', 'user_nicename' => 'author1', 'user_email' => 'a@example.org',
            'user_url' => '', 'user_registered' => '2020-01-01 00:00:00', 'user_activation_key' => '', 'user_status' => 0, 'display_name' => 'A']],
        'wp_usermeta' => [['umeta_id' => 1, 'user_id' => 1, 'meta_key' => 'session_tokens', 'meta_value' => '']],
        'wp_posts' => $posts,
        'wp_postmeta' => $meta,
        'wp_comments' => [$comment(1, '1'), $comment(2, '0')],
        'wp_commentmeta' => [['meta_id' => 1, 'comment_id' => 1, 'meta_key' => 'rating', 'meta_value' => '3']],
        'wp_terms' => [['term_id' => 1, 'name' => 'Term', 'slug' => 'term-1', 'term_group' => 0]],
        'wp_term_taxonomy' => [['term_taxonomy_id' => 1, 'term_id' => 1, 'taxonomy' => 'category', 'description' => '', 'parent' => 0, 'count' => 3]],
        'wp_term_relationships' => array_map(fn ($i) => ['object_id' => $i, 'term_taxonomy_id' => 1, 'term_order' => 0], [1, 2, 3]),
        'wp_options' => [['option_id' => 1, 'option_name' => 'option_1', 'option_value' => 'a', 'autoload' => 'yes']],
    ];
}

/** Tables and rows, as contend makes them before the app is started. */
function fill(PDO $database): void
{
    foreach (rows() as $table => $rows) {
        $names = array_keys($rows[0]);
        $types = array_map(fn ($name) => $name . (in_array($name, NUMBERS, true) ? ' BIGINT NOT NULL' : ' TEXT'), $names);
        $database->exec("CREATE TABLE $table (" . implode(', ', $types) . ')');
        $insert = $database->prepare("INSERT INTO $table VALUES (" . implode(', ', array_fill(0, count($names), '?')) . ')');
        foreach ($rows as $row) {
            $insert->execute(array_values($row));
        }
    }
}

/** The app, started as contend starts it. */
final class Served
{
    public array $sessions = [];
    public string $url = '';
    public string $failed = '';
    public array $hello = [];
    /** With which it ended. */
    public int $status = -1;
    private $process;
    private $to;
    private $from;

    public function __construct(string $database, array $session, array $readback, array $options = ['busy_timeout_ms' => '5000'])
    {
        $plan = ["contend-plan 3", "worker\t0", "driver\twordpress\tphp-server", "connections\tclient", "window\t0\t0\t2000000000", "now\tclock"];
        foreach ($options + ['php_workers' => '3', 'host' => 'wordpress.test', 'statements' => 'prepared'] as $name => $value) {
            $plan[] = "option\t$name\t$value";
        }
        // The path of a file, or the fields of a server.
        $plan[] = "database\t" . (str_contains($database, "\t") ? '' : "file\t") . $database;
        foreach ($session as $sql) {
            $plan[] = "session\t-\t$sql";
        }
        foreach ($readback as $name => $sql) {
            $plan[] = "readback\t$name\t$sql";
        }
        $body = implode("\n", [...$plan, "clients\t0", '']);
        $text = "{$body}end\t" . hash('crc32b', $body) . "\n";
        $program = ROOT . '/target/workers/contend-worker-wordpress';
        $this->process = proc_open([$program, 'serve'], [['pipe', 'r'], ['pipe', 'w'], ['file', scratch() . '/log', 'a']], $pipes);
        [$this->to, $this->from] = $pipes;
        fwrite($this->to, 'plan ' . strlen($text) . "\n$text");
        fflush($this->to);
        while ($this->url === '' && $this->failed === '' && ($line = fgets($this->from)) !== false) {
            $this->take(explode("\t", rtrim($line, "\n")));
        }
        if ($this->url === '' && $this->failed === '') {
            $this->failed = 'it ended';
        }
    }

    private function take(array $fields): void
    {
        match ($fields[0]) {
            'hello' => $this->hello = self::facts($fields),
            'session' => $this->sessions[] = self::facts($fields),
            'serving' => $this->url = $fields[1],
            'failed' => $this->failed = $fields[1],
        };
    }

    private static function facts(array $fields): array
    {
        $facts = [];
        foreach (array_slice($fields, 1) as $field) {
            [$name, $value] = explode('=', $field, 2);
            $facts[$name] = $value;
        }
        return $facts;
    }

    /** Status, headers (in lower case) and body. */
    public function ask(string $method, string $target, array $form = [], string $cookies = '', array $more = []): array
    {
        $body = $form === [] ? '' : http_build_query($form);
        $head = ["$method $target HTTP/1.1", 'Host: wordpress.test', 'Connection: close', 'Content-Length: ' . strlen($body)];
        array_push($head, ...$more);
        if ($form !== []) {
            $head[] = 'Content-Type: application/x-www-form-urlencoded';
        }
        if ($cookies !== '') {
            $head[] = "Cookie: $cookies";
        }
        $connection = stream_socket_client('tcp' . substr($this->url, 4), $number, $words, 5);
        stream_set_timeout($connection, 60);
        fwrite($connection, implode("\r\n", $head) . "\r\n\r\n$body");
        [$head, $body] = explode("\r\n\r\n", stream_get_contents($connection), 2) + [1 => ''];
        fclose($connection);
        return [(int) explode(' ', $head)[1], $head, $body];
    }

    public function comment(array $more = []): array
    {
        return $this->ask('POST', '/wp-comments-post.php', $more + ['comment_post_ID' => '2', 'author' => 'Bob',
            'email' => 'bob@example.com', 'url' => '', 'comment' => 'Well said & "quoted".', 'comment_parent' => '0']);
    }

    /** Where its files are while it serves. */
    public function dir(): string
    {
        return "/dev/shm/contend-wordpress-{$this->pid()}";
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    /** What it says it has done. */
    public function stop(): array
    {
        fwrite($this->to, "stop\n");
        $done = self::facts(explode("\t", rtrim((string) fgets($this->from), "\n")));
        $this->close();
        return $done;
    }

    public function close(): int
    {
        fclose($this->to);
        $rest = stream_get_contents($this->from);
        fclose($this->from);
        return $this->status = proc_close($this->process);
    }
}

/** The cookies that an answer sets, as a browser sends them back; deleted ones are left out. */
function cookies(string $head): string
{
    preg_match_all('/^set-cookie: ([^=]+)=([^;\r]*)([^\r]*)/mi', $head, $found, PREG_SET_ORDER);
    $kept = array_filter($found, fn ($one) => stripos($one[3], 'Max-Age=0') === false);
    return implode('; ', array_map(fn ($one) => "$one[1]=$one[2]", $kept));
}

/** A server of MariaDB for these tests. */
final class Mariadb
{
    public readonly string $socket;
    private $process;

    public function __construct(string $dir)
    {
        $this->socket = "$dir/sock";
        $data = "$dir/data";
        $log = "$dir/log";
        exec("mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --datadir=$data >$log 2>&1", $_, $code);
        check($code === 0, 'mariadb-install-db: ' . file_get_contents($log));
        $words = ['--no-defaults', "--datadir=$data", "--socket=$this->socket", '--skip-networking', '--character-set-server=utf8mb4',
            '--collation-server=utf8mb4_nopad_bin', '--user=' . posix_getpwuid(posix_geteuid())['name'], "--pid-file=$dir/pid"];
        $program = is_file('/usr/sbin/mariadbd') ? '/usr/sbin/mariadbd' : 'mariadbd';
        $this->process = proc_open([$program, ...$words], [['file', '/dev/null', 'r'], ['file', $log, 'a'], ['file', $log, 'a']], $pipes);
        for ($i = 0; !file_exists($this->socket); $i++) {
            check($i < 600, 'the server starts: ' . file_get_contents($log));
            usleep(50_000);
        }
    }

    public function open(string $database = ''): PDO
    {
        return new PDO("mysql:unix_socket=$this->socket;dbname=$database", 'root', '', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    }

    public function stop(): void
    {
        proc_terminate($this->process);
        proc_close($this->process);
    }
}
