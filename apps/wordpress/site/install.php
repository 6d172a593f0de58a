<?php
// Installs WordPress with its own installer, then moves the data that contend has loaded into the installed tables: started
// by the app in a process of its own, on the site that CONTEND_SITE names.

declare(strict_types=1);

error_reporting(E_ALL & ~E_DEPRECATED);
define('WP_INSTALLING', true);
$_SERVER += ['HTTP_HOST' => getenv('CONTEND_HOST'), 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
require getenv('CONTEND_ROOT') . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

/** What contend has loaded, put aside by the app, with the key that the installed table gives by itself. */
const MOVED = ['wp_users' => null, 'wp_posts' => null, 'wp_postmeta' => null, 'wp_comments' => null, 'wp_commentmeta' => null,
    'wp_terms' => null, 'wp_term_taxonomy' => null, 'wp_term_relationships' => null, 'wp_options' => 'option_id', 'wp_usermeta' => 'umeta_id'];

/** The engine under WordPress: statements go to it as they are. */
function direct(string $sql): array
{
    global $wpdb;
    if (DB_ENGINE === 'sqlite') {
        $rows = $wpdb->get_driver()->get_sqlite_pdo()->query($sql);
        return $rows->columnCount() > 0 ? $rows->fetchAll(PDO::FETCH_NUM) : [];
    }
    $rows = mysqli_query($wpdb->dbh, $sql);
    if ($rows === false) {
        throw new RuntimeException(mysqli_error($wpdb->dbh) . " in $sql");
    }
    return $rows instanceof mysqli_result ? $rows->fetch_all() : [];
}

function columns(string $table): array
{
    return array_column(direct(DB_ENGINE === 'sqlite' ? "PRAGMA seed.table_info($table)" : "SHOW COLUMNS FROM seed_$table"),
        DB_ENGINE === 'sqlite' ? 1 : 0);
}

function move(): void
{
    global $contend_site;
    if (DB_ENGINE === 'sqlite') {
        direct("ATTACH '" . str_replace("'", "''", $contend_site['seed']) . "' AS seed");
        direct('BEGIN');
    } else {
        direct("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'");
    }
    // What the installer leaves as an example.
    foreach (array_keys(MOVED) as $table) {
        if ($table !== 'wp_options') {
            direct("DELETE FROM $table");
        }
    }
    foreach (MOVED as $table => $key) {
        $columns = implode(', ', array_diff(columns($table), [$key]));
        $from = DB_ENGINE === 'sqlite' ? "seed.$table" : "seed_$table";
        direct("INSERT INTO $table ($columns) SELECT $columns FROM $from");
    }
    if (DB_ENGINE === 'sqlite') {
        direct('COMMIT');
        direct('DETACH seed');
    } else {
        direct('COMMIT');
        foreach (array_keys(MOVED) as $table) {
            direct("DROP TABLE seed_$table");
        }
    }
}

/** A site that visitors may comment on, with pretty addresses, and somebody who can log in. */
function set_up(string $password): void
{
    global $wpdb, $wp_rewrite;
    wp_cache_flush();
    $options = ['comment_moderation' => 0, 'comment_previously_approved' => 0, 'comment_max_links' => 0, 'comments_notify' => 0,
        'moderation_notify' => 0, 'close_comments_for_old_posts' => 0, 'default_pingback_flag' => 0, 'fresh_site' => 0,
        'default_category' => 1, 'blogname' => 'A site', 'admin_email_lifespan' => time() + YEAR_IN_SECONDS];
    foreach ($options as $name => $value) {
        update_option($name, $value);
    }
    if (DB_ENGINE === 'sqlite') {
        update_option('active_plugins', ['sqlite-database-integration/load.php']);
    }
    $wp_rewrite->init();
    $wp_rewrite->set_permalink_structure('/%postname%/');
    flush_rewrite_rules(false);
    foreach (['= 1' => ['administrator', 10], '> 1' => ['editor', 7]] as $which => [$role, $level]) {
        $may = serialize([$role => true]);
        $wpdb->query("INSERT INTO wp_usermeta (user_id, meta_key, meta_value)
            SELECT ID, 'wp_capabilities', '$may' FROM wp_users WHERE ID $which");
        $wpdb->query("INSERT INTO wp_usermeta (user_id, meta_key, meta_value)
            SELECT ID, 'wp_user_level', '$level' FROM wp_users WHERE ID $which");
    }
    $wpdb->query($wpdb->prepare('UPDATE wp_users SET user_pass = %s', wp_hash_password($password)));
}

try {
    wp_install('A site', 'admin', 'admin@example.org', true, '', wp_generate_password());
    // The installer asks for tables that are not there yet.
    $GLOBALS['EZSQL_ERROR'] = [];
    move();
    set_up(getenv('CONTEND_PASSWORD'));
    if (DB_ENGINE !== 'sqlite') {
        direct('COMMIT');
    }
    if (!empty($GLOBALS['EZSQL_ERROR'])) {
        throw new RuntimeException($GLOBALS['EZSQL_ERROR'][0]['error_str']);
    }
    echo json_encode(['comments' => $wpdb->get_var('SELECT count(*) FROM wp_comments')]), "\n";
} catch (Throwable $e) {
    fwrite(STDERR, 'install: ' . $e->getMessage() . ' (' . basename($e->getFile()) . ':' . $e->getLine() . ")\n");
    exit(1);
}
