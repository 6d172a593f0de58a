#!/bin/sh
# Makes the workers in PHP in target/workers, where contend looks for them: a copy of workers/php and a launcher for each
# driver whose extension is here. With --test a machine without PHP or an extension is no error, as scripts/left-out.sh says.
# Anything else that goes wrong is one. What is built is then put to the tests; those of whole workers are in Python.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh

if ! command -v php >/dev/null || ! php -r 'exit((int) (PHP_VERSION_ID < 80100));'; then
    left_out "${1:-}" workers-php "PHP 8.1 or newer is not installed; apt-get install php-cli php-sqlite3 php-mysql php-pgsql"
fi

home=target/workers/php
mkdir -p "$home"
rm -rf "$home/src" "$home/worker.php"
cp -r workers/php/src workers/php/worker.php "$home/"

launcher() {
    # Settings as in production: compiled code is kept and optimised, and exceptions do not hold on to arguments.
    cat >"target/workers/contend-worker-php-$1.new" <<SCRIPT
#!/bin/sh
home=\$(dirname "\$(readlink -f "\$0")")/php
exec php -d opcache.enable_cli=1 -d zend.exception_ignore_args=1 -d memory_limit=-1 -d precision=-1 \\
    -d serialize_precision=-1 -d display_errors=stderr -d max_execution_time=0 "\$home/worker.php" $2 "\$@"
SCRIPT
    chmod +x "target/workers/contend-worker-php-$1.new"
    mv "target/workers/contend-worker-php-$1.new" "target/workers/contend-worker-php-$1"
}

missing=
has() { php -r "exit((int) !extension_loaded('$1'));"; }
if has pcntl && has posix; then launcher null php-null; else missing="$missing php-cli"; fi
for pair in pdo-sqlite:pdo_sqlite:php-sqlite3 pdo-mysql:pdo_mysql:php-mysql pdo-pgsql:pdo_pgsql:php-pgsql; do
    name=${pair%%:*}
    rest=${pair#*:}
    rm -f "target/workers/contend-worker-php-$name"
    if has "${rest%%:*}"; then launcher "$name" "php-$name"; else missing="$missing ${rest#*:}"; fi
done
rm -f target/workers/contend-worker-php-mysql-on-sqlite
for program in npm unzip; do command -v "$program" >/dev/null || missing="$missing $program"; done
if has pdo_sqlite && command -v npm >/dev/null && command -v unzip >/dev/null; then
    scripts/fetch-mysql-on-sqlite.sh
    launcher mysql-on-sqlite mysql-on-sqlite
fi
if [ -n "$missing" ]; then
    echo "workers-php: some drivers are not here; apt-get install$missing" >&2
    may_lack "${1:-}" || exit 1
fi
[ "${1:-}" = --test ] || exit 0
if has pdo_sqlite; then php workers/php/tests/run.php; fi
command -v python3 >/dev/null ||
    left_out "${1:-}" "workers-php, tests of whole workers" "Python is not installed; apt-get install python3"
ONLY=php- python3 -B -m unittest discover -q -s workers/tests -t workers
