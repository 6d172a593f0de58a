<?php
// The tests of the app wordpress, on real WordPress, SQLite and MariaDB: php tests/run.php [part of a name].

declare(strict_types=1);

require __DIR__ . '/support.php';
foreach (glob(__DIR__ . '/test_*.php') as $file) {
    require $file;
}
$failed = 0;
foreach (preg_grep('/^test_.*' . preg_quote($argv[1] ?? '', '/') . '/', get_defined_functions()['user']) as $test) {
    $began = microtime(true);
    try {
        $test();
        printf("%s: ok, %.1f s\n", $test, microtime(true) - $began);
    } catch (Throwable $e) {
        $failed++;
        printf("%s: FAILED at %s:%d: %s\n", $test, basename($e->getFile()), $e->getLine(), $e->getMessage());
        foreach ($e->getTrace() as $frame) {
            isset($frame['file']) && printf("    from %s:%d\n", basename($frame['file']), $frame['line']);
        }
    }
}
exit((int) ($failed > 0));
