#!/usr/bin/env bash
# The Go workers against a bare loop on the same library: rows by rowid from SQLite, and by primary key from private
# servers over the Unix socket. A server that is not installed is left out, with a note.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v go >/dev/null || { echo "Go workers: Go is not installed"; exit 0; }

# shellcheck source=scripts/private-servers.sh
. scripts/private-servers.sh

start_postgres
if [ -n "$bin" ]; then
    export CONTEND_BENCH_POSTGRES="postgres://contend@/postgres?socket=$sockets/.s.PGSQL.5432"
else
    echo "pgx: PostgreSQL is not installed (apt-get install postgresql)"
fi
start_mariadb --skip-grant-tables
if [ -n "$mariadbd" ]; then
    "${ask[@]}" -e 'CREATE DATABASE bench'
    export CONTEND_BENCH_MARIADB="mysql://root@/bench?socket=$sockets/mariadb.sock"
else
    echo "go-sql-driver: MariaDB is not installed (apt-get install mariadb-server)"
fi
(cd workers/go && go test -run '^$' -bench . -benchtime 1x "${@:-./cmd/...}") >"$work/said" 2>&1 || {
    tail -20 "$work/said" >&2
    exit 1
}
grep bare/worker "$work/said"
