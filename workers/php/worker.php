<?php
// A worker of contend in PHP: carries out plans and scripts through one driver. Each driver has a launcher.

declare(strict_types=1);

foreach (['wire', 'statement', 'plan', 'driver', 'writer', 'client', 'script', 'run', 'worker'] as $part) {
    require __DIR__ . "/src/$part.php";
}

/**
 * The driver with this name, whose file returns its class. The null driver is also called `null`, as in every worker.
 */
function drivers(string $name): array
{
    needs('pcntl', 'php-cli');
    needs('posix', 'php-cli');
    $file = __DIR__ . "/src/drivers/$name.php";
    if (!preg_match('/\A[a-z0-9-]+\z/', $name) || !is_file($file)) {
        unusable("`$name` is not a driver of this worker: there is no $file");
    }
    $class = require $file;
    $driver = new $class($name);
    return $driver->executesNothing ? [$driver, new $class('null')] : [$driver];
}

// PHP's warnings would otherwise go unnoticed.
set_error_handler(static function (int $level, string $words, string $file, int $line) {
    if (error_reporting() & $level) {
        throw new ErrorException($words, 0, $level, $file, $line);
    }
    return true;
});
if (count($argv) === 6 && $argv[2] === '--plan' && $argv[4] === '--samples') {
    exit(by_hand(drivers($argv[1]), $argv[3], $argv[5]));
}
if (count($argv) !== 2) {
    fwrite(STDERR, "contend worker: usage: WORKER, or WORKER --plan FILE --samples FILE; it has no serve mode\n");
    exit(1);
}
(new Worker(drivers($argv[1])))->converse();
