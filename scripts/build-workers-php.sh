#!/bin/sh
# Makes the workers in PHP in target/workers, where contend looks for them: a copy of workers/php and a launcher for each
# driver whose extension is here. With --may-lack a machine without PHP or an extension is no error, as scripts/left-out.sh
# says. Anything else that goes wrong is one.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh
. scripts/drivers.sh

if ! command -v php >/dev/null || ! php -r 'exit((int) (PHP_VERSION_ID < 80100));'; then
    left_out "${1:-}" workers-php "PHP 8.1 or newer is not installed; apt-get install php-cli php-sqlite3 php-mysql php-pgsql"
fi

home=target/workers/php
mkdir -p "$home"
rm -rf "$home/src" "$home/worker.php"
cp -r workers/php/src workers/php/worker.php "$home/"

rm -f target/workers/contend-worker-php-*
missing=
has() { php -r "exit((int) !extension_loaded('$1'));"; }
# want PACKAGE...: names what is to be installed, once.
want() {
    for package; do case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac; done
}
for extension in pcntl posix; do has $extension || want php-cli; done
for driver in $(drivers_of php); do
    if ! has "$(driver_says php "$driver" extension)"; then
        want "$(driver_says php "$driver" package)"
        continue
    fi
    fetch=$(driver_says php "$driver" fetch)
    if [ -n "$fetch" ]; then
        command -v npm >/dev/null && command -v unzip >/dev/null || { want npm unzip; continue; }
        "$fetch"
    fi
    launcher php "$driver" php
done
if [ -n "$missing" ]; then
    echo "workers-php: some drivers are not here; apt-get install$missing" >&2
    may_lack "${1:-}" || exit 1
fi
