<?php
// A process of its own for each case of test_plugin.php: the settings in force on the connections of the site that
// CONTEND_SITE names, as lines of JSON. With `install` WordPress is installed in between.

declare(strict_types=1);

error_reporting(E_ALL & ~E_DEPRECATED);
if (($argv[1] ?? '') === 'install') {
    define('WP_INSTALLING', true);
}
$_SERVER += ['HTTP_HOST' => 'wordpress.test', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1'];
require getenv('CONTEND_ROOT') . '/wp-load.php';

function say(): void
{
    global $wpdb;
    $beneath = $wpdb->get_driver()->get_sqlite_pdo();
    echo json_encode([$beneath->query('PRAGMA journal_mode')->fetchColumn(), (int) $beneath->query('PRAGMA synchronous')->fetchColumn()]), "\n";
}

say();
if (($argv[1] ?? '') === 'install') {
    require ABSPATH . 'wp-admin/includes/upgrade.php';
    wp_install('A site', 'admin', 'admin@example.org', true, '', 'secret');
    say();
} elseif (get_option('blogname') !== 'A site') {
    exit(3);
}
