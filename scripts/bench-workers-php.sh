#!/bin/sh
# What a PHP worker costs beside a bare loop in PHP on the same library. READS, turns and so on are in the script.
set -eu
cd "$(dirname "$0")/.."
echo "PHP worker against a bare loop on the same library, rows by rowid; 5,000 reads a turn; PHP $(php -r 'echo PHP_VERSION;')"
exec php -d opcache.enable_cli=1 -d zend.exception_ignore_args=1 -d precision=-1 workers/php/bench/point_read.php
