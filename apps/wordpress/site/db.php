<?php
// The drop-in for the database. On SQLite the plugin's own, then the settings that the plugin has no constant for; on
// MariaDB nothing: WordPress then takes its own class.

if (DB_ENGINE !== 'sqlite') {
    return;
}
require __DIR__ . '/db-sqlite.php';

if ($GLOBALS['wpdb']->ready) {
    foreach ($GLOBALS['contend_site']['session'] as $contend_sql) {
        $GLOBALS['wpdb']->get_driver()->get_sqlite_pdo()->exec($contend_sql);
    }
}
