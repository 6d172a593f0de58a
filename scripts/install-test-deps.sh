#!/usr/bin/env bash
# Installs what the tests need beyond Rust, where it may: a browser and a plotting program to look at
# reports with, Python for the worker that lies on purpose and for the apps, the sqlite3 shell and sysbench for the benchmarks, strace, the
# servers that translated SQL runs on. The tests start servers of their own: the packages' services stay off. Where languages cannot
# be installed, their workers and apps are left out, unless CONTEND_TESTS_MUST_HAVE_WORKERS=1.
set -euo pipefail
. "$(dirname "$0")/packages.sh"

missing=() languages=()
for pair in chromium:chromium gnuplot:gnuplot-nox python3:python3 sqlite3:sqlite3 sysbench:sysbench strace:strace; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
# Debian keeps the programs of PostgreSQL in a directory for each version, off the path.
compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
compgen -G "/usr/sbin/mariadbd" >/dev/null || command -v mariadbd >/dev/null || missing+=(mariadb-server)
# The workers in PHP need one package for each driver.
command -v php >/dev/null || languages+=(php-cli)
for pair in pdo_sqlite:php-sqlite3 pdo_mysql:php-mysql pdo_pgsql:php-pgsql; do
  php -r "exit((int) !extension_loaded('${pair%%:*}'));" 2>/dev/null || languages+=("${pair##*:}")
done
# One of them is fetched from npm, as an archive.
command -v unzip >/dev/null || languages+=(unzip)
# Programs in C that the tests watch and capture link the system's SQLite.
[ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
python3 -c 'import flask' 2>/dev/null || /usr/bin/python3 -c 'import flask' 2>/dev/null || missing+=(python3-flask)
# A watched database is on it.
command -v mkfs.btrfs >/dev/null || missing+=(btrfs-progs)
# Lets an ordinary user mount the file system that records.
command -v fusermount3 >/dev/null || missing+=(fuse3)
# Workers and apps in Python have environments of their own; Debian keeps what makes those apart.
python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
"$python" -c 'import venv, ensurepip' 2>/dev/null || languages+=(python3-venv)
# For the workers of Node and in Java. Where Node is older than 20, scripts/build-workers-node.sh fetches one for its workers.
for pair in node:nodejs npm:npm g++:g++ javac:default-jdk-headless mvn:maven; do
  command -v "${pair%%:*}" >/dev/null || languages+=("${pair##*:}")
done
needed=${#missing[@]}
[ "${CONTEND_TESTS_MUST_HAVE_WORKERS:-}" != 1 ] || needed=all
missing+=("${languages[@]}")
[ ${#missing[@]} -eq 0 ] && exit 0

if ! may_install "The tests need" "${missing[@]}"; then
  [ "$needed" = 0 ] || exit 2
  echo "Without them, workers and apps in these languages are left out." >&2
  exit 0
fi
echo "Installing for the tests: ${missing[*]}"
# Without a cluster of the system's, and without starting what gets installed now: 101 is "not allowed"
# (invoke-rc.d, policy-rc.d). A policy that is there already is left alone.
for server in postgresql mariadb-server; do
  case " ${missing[*]} " in *" $server "*) ;; *) continue ;; esac
  as_root mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
    as_root chmod +x /usr/sbin/policy-rc.d
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
  fi
done
install_packages "${missing[@]}"
