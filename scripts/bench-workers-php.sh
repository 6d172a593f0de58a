#!/usr/bin/env bash
# What a PHP worker costs beside a bare loop in PHP on the same library: rows by rowid from SQLite, by primary key from private
# servers over the Unix socket. Arguments are names of drivers; reads, turns and so on are in the program.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v php >/dev/null || { echo "PHP workers: PHP is not installed"; exit 0; }

# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
echo "PHP workers against a bare loop on the same library, rows by rowid or primary key; PHP $(php -r 'echo PHP_VERSION;')"
php -d opcache.enable_cli=1 -d zend.exception_ignore_args=1 -d precision=-1 workers/php/bench/point_read.php "$@"
