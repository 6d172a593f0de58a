#!/bin/sh
# Makes the app wordpress in target/apps/wordpress and its program in target/workers. WordPress and its SQLite plugin are
# under the GPL, fetched with npm and never committed; versions and hashes are in wordpress.lock and in
# scripts/fetch-mysql-on-sqlite.sh.
set -eu
cd "$(dirname "$0")/../.."

app=apps/wordpress
into=$PWD/target/apps/wordpress
missing=
has() { php -r "exit((int) !extension_loaded('$1'));" 2>/dev/null; }
command -v php >/dev/null || missing="$missing php-cli"
for pair in pcntl:php-cli posix:php-cli pdo_sqlite:php-sqlite3 mysqli:php-mysql; do
    has "${pair%%:*}" || missing="$missing ${pair#*:}"
done
for program in npm unzip; do command -v "$program" >/dev/null || missing="$missing $program"; done
if [ -n "$missing" ]; then
    echo "The app wordpress needs PHP with its extensions, npm and unzip: apt-get install$missing" >&2
    exit 2
fi

scripts/fetch-mysql-on-sqlite.sh
plugin=target/workers/php/mysql-on-sqlite

# Made again when a package or a file of ours is another one.
wanted=$(cat "$app/wordpress.lock" "$app/build.sh" "$plugin/fetched" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$into/made-from" 2>/dev/null || true)" != "$wanted" ]; then
    echo "Making the app wordpress in $into"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    grep -v '^#' "$app/wordpress.lock" | while read -r package version hash; do
        archive=$(scripts/fetch-npm-package.sh "$package" "$version" "$hash" "$scratch")
        # The programs are in one archive, what browsers fetch of them beside it.
        tar -xzf "$archive" -C "$scratch" package/src/wordpress/wp-6.5.zip package/public/wp-6.5
    done
    rm -rf "$into"
    mkdir -p "$into/wordpress"
    cp -r "$scratch/package/public/wp-6.5/." "$into/wordpress/"
    unzip -q -o "$scratch/package/src/wordpress/wp-6.5.zip" -d "$into/wordpress"
    cp -r "$plugin" "$into/wordpress/wp-content/plugins/sqlite-database-integration"
    # The drop-in as the plugin writes it when it is activated.
    sed -e "s#{SQLITE_IMPLEMENTATION_FOLDER_PATH}#$into/wordpress/wp-content/plugins/sqlite-database-integration#g" \
        -e 's#{SQLITE_PLUGIN}#sqlite-database-integration/load.php#g' \
        "$plugin/db.copy" >"$into/wordpress/wp-content/db-sqlite.php"
    # Never from a web server.
    rm -f "$into/wordpress/wp-config.php"
    echo "$wanted" >"$into/made-from"
fi

# Copies, so that the program does not change with the sources while a study runs.
rm -rf "$into/app"
mkdir -p "$into/app" "$into/wordpress/wp-content/mu-plugins" target/workers
cp -r "$app/src" "$app/serve.php" "$into/app/"
cp workers/php/src/wire.php workers/php/src/statement.php "$into/app/src/"
cp "$app/site/wp-config.php" "$into/wordpress/wp-config.php"
cp "$app/site/db.php" "$app/site/db-mariadb.php" "$into/wordpress/wp-content/"
cp "$app/site/contend.php" "$into/wordpress/wp-content/mu-plugins/contend.php"
cp "$app/site/router.php" "$app/site/install.php" "$into/app/"
cat >target/workers/contend-worker-wordpress.new <<PROGRAM
#!/bin/sh
# The app wordpress as a worker that serves. Made by apps/wordpress/build.sh.
case "\$1" in
serve) ;;
*) echo "contend-worker-wordpress serves only: contend-worker-wordpress serve" >&2; exit 2 ;;
esac
exec php -d display_errors=stderr -d memory_limit=-1 -d max_execution_time=0 '$into/app/serve.php'
PROGRAM
chmod +x target/workers/contend-worker-wordpress.new
mv target/workers/contend-worker-wordpress.new target/workers/contend-worker-wordpress
