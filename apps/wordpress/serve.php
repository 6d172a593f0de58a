<?php
// The app wordpress as a worker that serves: what contend says on standard input, docs/formats.md has it. This process only
// speaks; PHP's server and its workers are its children, and WordPress runs in those.

declare(strict_types=1);

foreach (['wire', 'statement', 'plan', 'site', 'server', 'conversation'] as $part) {
    require __DIR__ . "/src/$part.php";
}

set_error_handler(static function (int $level, string $words, string $file, int $line) {
    if (error_reporting() & $level) {
        throw new ErrorException($words, 0, $level, $file, $line);
    }
    return true;
});
exit((new Conversation(dirname(__DIR__), __DIR__, __DIR__ . '/../wordpress'))->run());
