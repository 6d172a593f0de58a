<?php
// The configuration of the site that this process serves, named by CONTEND_SITE: written by the app for each start. First
// read by every request, so it also watches over the answer.

$contend_site ??= require getenv('CONTEND_SITE');

foreach ($contend_site['constants'] as $contend_name => $contend_value) {
    define($contend_name, $contend_value);
}
$table_prefix = 'wp_';

// Nothing but the requests that are measured: no tasks by the clock, no news, no updates, no errors on pages.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_DEBUG', false);
define('WP_DEBUG_DISPLAY', false);

/** The engine's own code of the first error, as contend writes codes. On SQLite it stands in the words that PDO has for it. */
function contend_code(string $error): string
{
    if (defined('DB_ENGINE') && DB_ENGINE === 'sqlite') {
        return 'sqlite:' . (preg_match('/SQLSTATE\[\w+\]: [^:]+: (\d+)/', $error, $found) ? $found[1] : '1');
    }
    return 'mysql:' . (($GLOBALS['contend_errno'] ?? 0) ?: 1105);
}

/**
 * WordPress goes on after a statement that failed, and answers 200 with what it has. Such an answer, and a page that is not
 * whole, becomes an error, so that no client takes it for a success.
 */
function contend_answer(string $body, int $phase): string
{
    global $contend_site, $EZSQL_ERROR;
    if (($phase & PHP_OUTPUT_HANDLER_FINAL) === 0) {
        return $body;
    }
    $error = $EZSQL_ERROR[0]['error_str'] ?? null;
    // What is counted of a request: 1 a status of 400 and up, 2 an error of the database, 4 each connection.
    $counted = 4 * min(15, $GLOBALS['contend_connections'] ?? 0) + ($error === null ? 0 : 2);
    if ($error !== null) {
        http_response_code(500);
        header('contend-code: ' . contend_code($error));
        error_log('failed: ' . $error . ' in ' . substr($EZSQL_ERROR[0]['query'], 0, 500));
        $body = 'The database failed: ' . $error;
    } elseif (http_response_code() === 200 && contend_is_cut($body)) {
        http_response_code(500);
        error_log('a page that ends early: ' . $_SERVER['REQUEST_URI']);
    }
    $counted += (int) (http_response_code() >= 400);
    // One byte, in memory: all that counting costs a request.
    file_put_contents("{$contend_site['counters']}/requests", chr(64 + $counted), FILE_APPEND);
    return $body;
}

function contend_is_cut(string $body): bool
{
    foreach (headers_list() as $header) {
        if (stripos($header, 'content-type: text/html') === 0) {
            return !str_contains(substr($body, -200), '</html>');
        }
    }
    return false;
}

if (PHP_SAPI !== 'cli') {
    ob_start('contend_answer');
}

if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
