<?php
// The drop-in for the database. On SQLite the plugin's own, then the settings that the plugin has no constant for; on
// MariaDB WordPress's own class, which only notes errors and connections.

if (DB_ENGINE !== 'sqlite') {
    require __DIR__ . '/db-mariadb.php';
    $GLOBALS['wpdb'] = new Contend_Wpdb(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST);
    return;
}
require __DIR__ . '/db-sqlite.php';

if ($GLOBALS['wpdb']->ready) {
    $GLOBALS['contend_connections'] = 1;
    foreach ($GLOBALS['contend_site']['session'] as $contend_sql) {
        $GLOBALS['wpdb']->get_driver()->get_sqlite_pdo()->exec($contend_sql);
    }
}
