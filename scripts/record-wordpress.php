<?php
// Records what WordPress sends to SQLite through its plugin, as record-statements.py does for Python:
//
//     record-wordpress.php OUT             a site (`make apps`): installer, pages, administration, REST, queries of its classes
//     record-wordpress.php OUT TESTS.php...  tests of the plugin's driver, from its sources; whether they pass is not asked
//
// Nothing of WordPress or the plugin is kept in this repository. The plugin runs in a copy that opens `RecordedPDO`.

declare(strict_types=1);

const PAGES = [
    'index', 'edit', 'edit-comments', 'edit-tags', 'upload', 'users', 'profile', 'tools', 'options-general', 'options-writing',
    'options-reading', 'options-discussion', 'options-media', 'options-permalink', 'options-privacy', 'plugins', 'themes', 'export',
    'media-new', 'post-new', 'site-health', 'update-core', 'user-new', 'privacy', 'nav-menus', 'export-personal-data',
    'erase-personal-data', 'import', 'about',
];
const REQUESTS = [
    'actions', 'actions', '/', '/?s=sailing', '/?p=4', '/?cat=2', '/?m=202601', '/?tag=one', '/?author=1', '/?feed=rss2', '/?feed=comments-rss2',
    '/?page_id=2', '/?p=1', '/?year=2026&monthnum=1&day=2', '/?s=sailing+words&paged=2', '/?error=404', '/?name=hello-world', '/?sitemap=index',
    '/?sitemap=posts&sitemap-subtype=post', '/?sitemap=users', '/wp-admin/edit.php?s=sailing', '/wp-admin/edit.php?post_type=page',
    '/wp-admin/edit.php?post_status=trash&post_type=post', '/wp-admin/edit.php?m=202601&cat=2', '/wp-admin/edit.php?orderby=title&order=asc',
    '/wp-admin/edit-comments.php?comment_status=spam', '/wp-admin/edit-comments.php?s=nice', '/wp-admin/post.php?post=4&action=edit',
    '/wp-admin/users.php?role=administrator', '/wp-admin/users.php?s=bob', '/wp-admin/edit-tags.php?taxonomy=post_tag&s=one',
    '/wp-admin/term.php?taxonomy=category&tag_ID=2', '/wp-admin/user-edit.php?user_id=1', '/wp-admin/comment.php?action=editcomment&c=2',
    '/wp-admin/edit-comments.php?p=4', '/wp-admin/edit.php?author=1', '/wp-admin/upload.php?mode=list',
];

final class RecordedStatement extends PDOStatement
{
    /** The types of values bound one by one. */
    private array $bound = [];

    private function __construct(private RecordedPDO $of)
    {
    }

    private static function letter(mixed $value, int $type): string
    {
        return $value === null ? 'n' : ['n', 'i', 't', 'b'][$type & 7] ?? 'i';
    }

    public function bindValue($param, $value, $type = PDO::PARAM_STR): bool
    {
        $this->bound[$param] = self::letter($value, $type);
        return parent::bindValue($param, $value, $type);
    }

    public function execute($params = null): bool
    {
        $done = parent::execute($params);
        // What is given here is bound as a text.
        $types = $params === null ? $this->bound : array_map(fn ($value) => self::letter($value, PDO::PARAM_STR), $params);
        $this->of->write($this->queryString, implode('', $types));
        return $done;
    }
}

final class RecordedPDO extends PDO
{
    private static mixed $out = null;
    private int $database;

    public function __construct(string $dsn, ...$more)
    {
        parent::__construct($dsn, ...$more);
        $this->setAttribute(PDO::ATTR_STATEMENT_CLASS, [RecordedStatement::class, [$this]]);
        $path = substr($dsn, strlen('sqlite:'));
        $this->database = $path === ':memory:' ? random_int(1, PHP_INT_MAX) : crc32($path);
    }

    public function write(string $sql, string $types = ''): void
    {
        self::$out ??= fopen(getenv('CONTEND_RECORD'), 'a');
        fwrite(self::$out, json_encode([$this->database, $sql, $types], JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    }

    public function exec($statement): int|false
    {
        $done = parent::exec($statement);
        $this->write($statement);
        return $done;
    }

    public function query($query, ...$more): PDOStatement|false
    {
        $done = parent::query($query, ...$more);
        $this->write($query);
        return $done;
    }

    public function beginTransaction(): bool
    {
        $this->write('BEGIN');
        return parent::beginTransaction();
    }

    public function commit(): bool
    {
        $this->write('COMMIT');
        return parent::commit();
    }

    public function rollBack(): bool
    {
        $this->write('ROLLBACK');
        return parent::rollBack();
    }
}

/** What REST and the classes for queries ask for, as the first user. */
function ask_wordpress(): void
{
    wp_set_current_user(1);
    add_filter('rest_url_prefix', fn () => 'wp-json');
    $routes = array_filter(array_keys(rest_get_server()->get_routes()), fn ($route) => !str_contains($route, '(?P'));
    foreach ([...$routes, '/wp/v2/posts/4', '/wp/v2/users/1', '/wp/v2/categories/2', '/wp/v2/posts/4/revisions'] as $route) {
        foreach ([[], ['search' => 'a', 'per_page' => 2, 'order' => 'asc'], ['after' => '2025-01-01T00:00:00', 'exclude' => [9]]] as $with) {
            $request = new WP_REST_Request('GET', $route);
            $request->set_query_params($with);
            rest_do_request($request);
        }
    }
    $meta = ['meta_query' => ['relation' => 'OR', ['key' => 'colour', 'value' => 'red'], ['key' => 'size', 'compare' => 'NOT EXISTS'],
        ['key' => 'n', 'value' => [1, 5], 'type' => 'NUMERIC', 'compare' => 'BETWEEN'], ['key' => 'd', 'value' => '2026-01-01', 'type' => 'DATE', 'compare' => '>'],
        ['key' => 'x', 'value' => 'a', 'compare' => 'LIKE'], ['key' => 'c', 'value' => ['a', 'b'], 'compare' => 'NOT IN']]];
    $taxonomy = ['tax_query' => ['relation' => 'AND', ['taxonomy' => 'category', 'terms' => [2]], ['taxonomy' => 'post_tag', 'field' => 'slug',
        'terms' => ['one'], 'operator' => 'NOT IN'], ['taxonomy' => 'post_tag', 'operator' => 'EXISTS']]];
    $date = ['date_query' => [['after' => '2025-01-01', 'before' => ['year' => 2027]], ['dayofweek' => [2, 5]], ['hour' => 3, 'compare' => '>='], ['week' => 1]]];
    foreach ([$meta, $taxonomy, $date, ['post__in' => [1, 4]], ['author__not_in' => [3]], ['s' => 'a -b "c d"'], ['title' => 'Nearly'], ['comment_count' => 0],
        ['post_parent__in' => [0]], ['has_password' => false], ['post_mime_type' => 'image'], ['name' => 'its-a-post'], ['fields' => 'ids']] as $query) {
        foreach (['date', 'rand', 'title', 'comment_count', 'menu_order', 'author', ['modified' => 'ASC', 'ID' => 'DESC'], 'post__in', 'relevance', 'none'] as $by) {
            new WP_Query($query + ['orderby' => $by, 'post_type' => 'any']);
        }
    }
    new WP_Query(['meta_key' => 'colour', 'orderby' => 'meta_value_num']);
    foreach ([['search' => '*a*'], ['role__in' => ['author']], ['has_published_posts' => true], ['orderby' => 'post_count'], ['meta_key' => 'nickname']] as $query) {
        new WP_User_Query($query);
    }
    foreach ([['status' => 'all'], ['search' => 'nice'], ['hierarchical' => 'threaded', 'post_id' => 4], ['count' => true], $meta, $date, ['author_email' => 'a@b.c'],
        ['post_status' => 'publish', 'orderby' => 'comment_date_gmt'], ['karma' => 1], ['type__not_in' => ['pingback']]] as $query) {
        get_comments($query);
    }
    foreach ([['hide_empty' => true], ['search' => 'o'], ['name__like' => 'Bo'], ['childless' => true], ['object_ids' => [4]], ['orderby' => 'count'], ['include' => [2, 3]],
        ['slug' => ['boats']], ['fields' => 'count'], ['exclude_tree' => [2]], $meta] as $query) {
        get_terms($query + ['taxonomy' => ['category', 'post_tag']]);
    }
    foreach (['monthly', 'daily', 'yearly', 'weekly', 'postbypost', 'alpha'] as $type) {
        wp_get_archives(['type' => $type, 'echo' => false]);
    }
    delete_expired_transients(true);
    get_calendar(true, false);
    wp_list_authors(['echo' => false]);
    get_adjacent_post();
    wp_cron();
    wp_scheduled_delete();
    wp_version_check();
    get_lastpostmodified('gmt', 'any');
    count_many_users_posts([1, 2]);
    wp_get_recent_posts();
    wp_trash_post(1) && wp_untrash_post(1);
    wp_update_nav_menu_item(wp_create_nav_menu('Menu'), 0, ['menu-item-title' => 'x', 'menu-item-url' => '/', 'menu-item-status' => 'publish']);
    wp_spam_comment(1) && wp_unspam_comment(1);
    wp_insert_attachment(['post_title' => 'image', 'post_mime_type' => 'image/png'], 'a.png', 4);
    wp_delete_term(2, 'category');
    dbDelta('all');
}

/** A copy of the built site, whose plugin opens `RecordedPDO`; the path of WordPress in it. */
function copied(string $scratch): string
{
    $from = dirname(__DIR__) . '/target/apps/wordpress/wordpress';
    passthru('cp -r ' . escapeshellarg($from) . ' ' . escapeshellarg("$scratch/wordpress"));
    foreach (['wp-content/db-sqlite.php' => [$from, "$scratch/wordpress"], connection() => ['new $pdo_class(', 'new RecordedPDO(']] as $file => [$old, $new]) {
        $text = str_replace($old, $new, file_get_contents("$scratch/wordpress/$file"), $count);
        $count > 0 || exit("record-wordpress: $file has no $old\n");
        file_put_contents("$scratch/wordpress/$file", $text);
    }
    return "$scratch/wordpress";
}

function connection(): string
{
    return 'wp-content/plugins/sqlite-database-integration/wp-includes/database/sqlite/class-wp-sqlite-connection.php';
}

function record_site(string $wordpress, string $scratch): void
{
    touch("$scratch/site.db");
    $admin = array_map(fn ($page) => "/wp-admin/$page.php", PAGES);
    foreach ([...REQUESTS, ...$admin, 'ask'] as $request) {
        $code = $request === 'ask' ? 'register_shutdown_function("ask_wordpress");' : '';
        $arguments = ['php', '-d', 'memory_limit=-1', '-r', sprintf(
            '$argv = ["", %s, %s, %s]; require %s; %s require %s;',
            ...array_map(fn ($text) => var_export($text, true), [$wordpress, "$scratch/site.db", $code === '' ? $request : 'actions', __FILE__]),
            ...[$code, var_export(dirname(__DIR__) . '/tests/shim/wordpress.php', true)],
        )];
        exec(implode(' ', array_map(escapeshellarg(...), $arguments)) . ' 2>&1', $printed, $status);
        if ($status !== 0) {
            echo "$request: exit status $status\n", implode("\n", array_slice($printed, -3)), "\n";
        }
        $printed = [];
    }
}

/** A driver, from what tests of older versions give: a connection, or settings. What it does not know does nothing. */
function recorded_driver(PDO|array|WP_SQLite_Connection $given): WP_SQLite_Driver
{
    class_exists('RecordedDriver', false) || eval('class RecordedDriver extends WP_SQLite_Driver {
        function __call($name, $values) { return $name === "get_pdo" ? $this->get_connection()->get_pdo() : ""; }
    }');
    $given = is_array($given) ? $given : ['connection' => $given];
    $connection = $given['connection'] ?? new WP_SQLite_Connection(['path' => $given['path']]);
    return new RecordedDriver($connection instanceof PDO ? new WP_SQLite_Connection(['pdo' => $connection]) : $connection, 'wp');
}

function record_tests(string $wordpress, string $scratch, array $files): void
{
    eval('namespace PHPUnit\Framework; class TestCase {
        function __call($name, $values) { return $this; }
        static function __callStatic($name, $values) {}
    }');
    require "$wordpress/wp-content/plugins/sqlite-database-integration/wp-includes/database/load.php";
    foreach (['do_action', 'apply_filters'] as $hook) {
        function_exists($hook) || eval("function $hook(\$name, \$value = null) { return \$value; }");
    }
    foreach ($files as $file) {
        $text = preg_replace(['/^require.*$/m', '/new WP_SQLite_(Driver|Translator)\b/', '/new PDO\b/'], ['', 'recorded_driver', 'new RecordedPDO'], file_get_contents($file));
        file_put_contents("$scratch/test.php", $text);
        $before = get_declared_classes();
        include "$scratch/test.php";
        foreach (array_diff(get_declared_classes(), $before) as $class) {
            is_subclass_of($class, 'PHPUnit\Framework\TestCase') && run_tests(new ReflectionClass($class));
        }
    }
}

function run_tests(ReflectionClass $class): void
{
    $failed = [];
    try {
        $class->hasMethod('setUpBeforeClass') && $class->getMethod('setUpBeforeClass')->invoke(null);
    } catch (Throwable) {
        // What it makes is not there: the tests that use it end early.
    }
    foreach ($class->getMethods() as $method) {
        if (!str_starts_with($method->name, 'test')) {
            continue;
        }
        $source = preg_match('/@dataProvider (\w+)/', (string) $method->getDocComment(), $found) ? $found[1] : null;
        foreach ($source === null ? [[]] : $class->getMethod($source)->invoke($class->newInstanceWithoutConstructor()) as $values) {
            $test = $class->newInstance();
            try {
                $class->hasMethod('setUp') && $test->setUp();
                $method->invokeArgs($test, array_values($values));
            } catch (Throwable $error) {
                $failed[] = "$method->name: {$error->getMessage()}";
            }
        }
    }
    echo $class->getName(), ': ', count($failed), " ended early\n  ", substr(implode("\n  ", $failed), 0, 3000), "\n";
}

if (realpath($argv[0] ?? '') === __FILE__) {
    $argc > 1 || exit("usage: record-wordpress.php OUT [TESTS.php...]\n");
    file_put_contents($argv[1], '');
    putenv('CONTEND_RECORD=' . realpath($argv[1]));
    $scratch = sys_get_temp_dir() . '/record-wordpress-' . getmypid();
    mkdir($scratch, 0700);
    register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($scratch)));
    $wordpress = copied($scratch);
    $argc > 2 ? record_tests($wordpress, $scratch, array_slice($argv, 2)) : record_site($wordpress, $scratch);
}
