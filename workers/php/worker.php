<?php
// A worker of contend in PHP: it carries out plans and scripts through one driver. Started by a launcher for each driver.

declare(strict_types=1);

foreach (['wire', 'statement', 'plan', 'driver', 'writer', 'client', 'script', 'run', 'worker', 'drivers/null', 'drivers/pdo'] as $part) {
    require __DIR__ . "/src/$part.php";
}

/** The drivers of this name's program, the first of which it is called by. */
function drivers(string $name): array
{
    $file = fn (string $part) => require __DIR__ . "/src/drivers/$part.php";
    $needs = function (string $extension, string $package) use ($name) {
        if (!extension_loaded($extension)) {
            fwrite(STDERR, "contend worker: $name: PHP has no extension $extension; apt-get install $package\n");
            exit(1);
        }
    };
    $needs('pcntl', 'php-cli');
    $needs('posix', 'php-cli');
    switch ($name) {
        case 'php-pdo-sqlite':
            $needs('pdo_sqlite', 'php-sqlite3');
            $file('sqlite');
            return [new PdoSqlite($name)];
        case 'php-pdo-mysql':
            $needs('pdo_mysql', 'php-mysql');
            $file('mysql');
            return [new PdoMysql($name)];
        case 'php-pdo-pgsql':
            $needs('pdo_pgsql', 'php-pgsql');
            $file('pgsql');
            return [new PdoPgsql($name)];
        case 'mysql-on-sqlite':
            $needs('pdo_sqlite', 'php-sqlite3');
            if (!is_file(__DIR__ . '/mysql-on-sqlite/wp-includes/database/load.php')) {
                fwrite(STDERR, "contend worker: $name is not here; `make workers-php` in the project's directory fetches it\n");
                exit(1);
            }
            require __DIR__ . '/mysql-on-sqlite/wp-includes/database/load.php';
            $file('sqlite');
            $file('mysql_on_sqlite');
            return [new MysqlOnSqlite($name)];
        case 'php-null':
            return [new NullDriver($name), new NullDriver('null')];
    }
    fwrite(STDERR, "contend worker: `$name` is no driver of this worker\n");
    exit(1);
}

// Anything PHP only warns of would go unnoticed.
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
