<?php
// What a web server's rewriting does for WordPress: files as they are, all other addresses to index.php.

$contend_site = require getenv('CONTEND_SITE');
// Every user of the machine can connect to the port. What is not of the run is not counted either.
if ($contend_site['secret'] !== null && !hash_equals($contend_site['secret'], $_SERVER['HTTP_CONTEND_SECRET'] ?? '')) {
    http_response_code(403);
    exit('the header contend-secret of this run is missing');
}
$path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
if ($path !== '/' && !str_contains($path, '..') && file_exists($_SERVER['DOCUMENT_ROOT'] . $path)) {
    return false;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/index.php';
require $_SERVER['SCRIPT_FILENAME'];
