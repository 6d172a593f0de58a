<?php
// WordPress with its SQLite plugin, without a web server: a request is a process, as with php-fpm.
// wordpress.php WORDPRESS DATABASE actions: installs a site if there is none, works in it, and prints the answers.
// wordpress.php WORDPRESS DATABASE /path?query: prints this page; the administration as the first user sees it.
// Each statement that failed is printed, too.

[, $root, $path, $request] = $argv;
$keys = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY',
    'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'];
$constants = [
    'DB_ENGINE' => 'sqlite', 'DB_DIR' => dirname($path), 'DB_FILE' => basename($path), 'DB_NAME' => 'wordpress',
    'DB_CHARSET' => 'utf8mb4', 'DB_COLLATE' => '', 'WP_HOME' => 'http://wordpress.test',
    'WP_SITEURL' => 'http://wordpress.test',
] + array_combine($keys, array_map(fn ($key) => "a $key for a test", $keys));
$site = ['constants' => $constants, 'session' => [], 'readback' => [], 'token' => 'none of these requests',
    'secret' => null, 'counters' => dirname($path), 'seed' => null];
file_put_contents("$path.site.php", '<?php return ' . var_export($site, true) . ';');
putenv("CONTEND_SITE=$path.site.php");
error_reporting(E_ALL & ~E_DEPRECATED);
$_SERVER = ['HTTP_HOST' => 'wordpress.test', 'SERVER_NAME' => 'wordpress.test', 'REQUEST_URI' => $request,
    'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1',
    'PHP_SELF' => parse_url($request, PHP_URL_PATH)] + $_SERVER;
parse_str(parse_url($request, PHP_URL_QUERY) ?? '', $_GET);
$_REQUEST = $_GET;

function failures(): void
{
    global $EZSQL_ERROR;
    foreach ($EZSQL_ERROR ?? [] as $failed) {
        $why = preg_replace('/\s+/', ' ', strip_tags($failed['error_str']));
        echo "\n  failed: ", preg_replace('/\s+/', ' ', $failed['query']), "\n    ", substr($why, -1500), "\n";
    }
    $EZSQL_ERROR = [];
}

function say(string $what, mixed $answer): void
{
    $answer = is_wp_error($answer) ? $answer->get_error_message() : $answer;
    echo $what, ': ', json_encode($answer, JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
    failures();
}

if ($request !== 'actions') {
    // Like a plugin that logs the first user in.
    function auth_redirect() {}
    require "$root/wp-includes/plugin.php";
    add_filter('determine_current_user', fn () => str_starts_with($GLOBALS['request'], '/wp-admin/') ? 1 : 0, 99);
    register_shutdown_function(failures(...));
    // The parts of a page that another request would have otherwise: the time, and how addresses of mail are hidden.
    ob_start(fn ($page) => preg_replace_callback(
        '/"time":"\d+"|pagegen_timestamp" value="[-: \d]+"|(&#\d+;)/',
        fn ($found) => isset($found[1]) ? html_entity_decode($found[1], ENT_QUOTES) : 'now',
        $page,
    ));
    if (str_starts_with($request, '/wp-admin/')) {
        chdir("$root/wp-admin");
        require $root . parse_url($request, PHP_URL_PATH);
    } else {
        define('WP_USE_THEMES', true);
        require "$root/wp-blog-header.php";
    }
    exit(0);
}

define('WP_INSTALLING', true);
require "$root/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/user.php';
$wpdb->hide_errors();
// Another one each time, because the order of what has the same date is open.
$day = '2026-01-02';
if (is_blog_installed()) {
    $day = '2026-01-04';
} else {
    $EZSQL_ERROR = [];
    wp_install('A site', 'admin', 'admin@example.org', true, '', 'secret');
    failures();
    foreach (['post', 'comment'] as $of) {
        $wpdb->query("UPDATE wp_{$of}s SET {$of}_date = '2026-01-01 00:00:00', {$of}_date_gmt = '2026-01-01 00:00:00'");
    }
}
say('installed', get_option('blogname'));
say('tables', $wpdb->get_col('SHOW TABLES'));
$date = ['post_date' => "$day 03:04:05", 'post_date_gmt' => "$day 03:04:05", 'post_status' => 'publish',
    'post_author' => 1];
$post = wp_insert_post(['post_title' => "It's a post", 'post_content' => 'Words about sailing'] + $date);
say('post', $post > 0);
$date['post_date'] = "$day 04:00:00";
$draft = wp_insert_post(['post_title' => 'Draft', 'post_content' => 'Later', 'post_status' => 'draft'] + $date);
say('update', wp_update_post(['ID' => $draft, 'post_title' => 'Nearly', 'post_status' => 'publish']) === $draft);
$date['post_date'] = "$day 05:00:00";
$gone = wp_insert_post(['post_title' => 'Gone', 'post_content' => 'soon'] + $date);
say('meta', [add_post_meta($post, 'colour', 'blue') > 0, update_post_meta($post, 'colour', 'red'),
    get_post_meta($post, 'colour', true)]);
$category = (int) (term_exists('Boats', 'category') ?: wp_insert_term('Boats', 'category'))['term_id'];
say('category', $category > 0);
say('in category', count(wp_set_post_terms($post, [$category], 'category')));
say('tags', count(wp_set_post_tags($post, 'one,two')));
$comment = ['comment_post_ID' => $post, 'comment_author_email' => 'ada@example.org', 'comment_approved' => 1,
    'comment_date' => "$day 06:00:00", 'comment_date_gmt' => "$day 06:00:00"];
say('comment', wp_insert_comment(['comment_content' => 'Nice', 'comment_author' => 'Ada'] + $comment) > 0);
$spam = wp_insert_comment(['comment_content' => 'Buy', 'comment_author' => 'Eve'] + $comment);
$bob = ['user_login' => 'bob', 'user_pass' => 'x', 'user_email' => 'bob@example.org', 'role' => 'author'];
$user = wp_insert_user($bob);
say('user', $user > 1);
say('log in', [is_wp_error(wp_authenticate('admin', 'secret')), is_wp_error(wp_authenticate('admin', 'wrong'))]);
$titles = fn (array $query) => array_column(
    (new WP_Query($query + ['orderby' => ['date' => 'DESC', 'ID' => 'DESC']]))->posts,
    'post_title',
);
say('all', $titles(['post_type' => 'post']));
say('search', $titles(['s' => 'sailing']));
say('of category', $titles(['cat' => $category]));
say('by meta', $titles(['meta_key' => 'colour', 'meta_value' => 'red']));
say('by date', $titles(['year' => 2026, 'monthnum' => 1]));
say('pages', (new WP_Query(['posts_per_page' => 1]))->max_num_pages);
say('comments', array_column(get_comments(['post_id' => $post, 'orderby' => 'comment_ID']), 'comment_content'));
say('counts', [wp_count_posts()->publish, get_comments_number($post), count_users()['total_users']]);
say('terms', array_column(
    get_terms(['taxonomy' => ['category', 'post_tag'], 'hide_empty' => false, 'orderby' => 'term_id']),
    'name',
));
say('users', array_column(get_users(['orderby' => 'ID', 'search' => '*b*']), 'user_login'));
$option = [add_option('one', ['a' => 1]), update_option('one', ['a' => 2]), get_option('one'), delete_option('one')];
say('option', $option);
say('transient', [set_transient('soon', 'x', 60), get_transient('soon'), delete_transient('soon')]);
say('archives', wp_get_archives(['echo' => false]));
say('trash', [wp_trash_post($gone) !== false, get_post_status($gone), wp_delete_post($gone, true) !== false]);
say('deleted', [wp_delete_comment($spam, true), wp_delete_user($user)]);
foreach ([
    'SELECT COUNT(*) FROM wp_posts', "SHOW TABLES LIKE 'wp_p%'", 'DESCRIBE wp_terms', 'SHOW INDEX FROM wp_options',
    "SELECT option_name FROM wp_options WHERE option_name REGEXP '^blog' ORDER BY 1",
    "SELECT DATE_FORMAT(post_date, '%Y-%m') AS d, COUNT(*) AS c FROM wp_posts GROUP BY d ORDER BY d LIMIT 1",
    'SELECT SQL_CALC_FOUND_ROWS ID FROM wp_posts ORDER BY ID LIMIT 1', 'SELECT FOUND_ROWS()',
] as $sql) {
    say($sql, $wpdb->get_results($sql, ARRAY_N));
}
