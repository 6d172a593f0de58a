#!/usr/bin/env bash
# The Go workers against a bare loop on the same library: rows by rowid from SQLite, and by primary key from private
# servers over the Unix socket. A server that is not installed is left out, with a note.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v go >/dev/null || { echo "Go workers: Go is not installed"; exit 0; }

# Servers refuse to run as root; the directory must be on a disk, the socket's path short.
as=()
mkdir -p target
work=$PWD/$(mktemp -d -p target bench-go.XXXXXX)
sockets=$(mktemp -d /tmp/cbg.XXXXXX)
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
    chown nobody "$work" "$sockets"
fi
chmod 755 "$work" "$sockets"
servers=()
finish() {
    # What is on them is thrown away: none writes it back first.
    for server in "${servers[@]}"; do
        kill -QUIT "$server" 2>/dev/null || true
        (sleep 5; kill -KILL "$server" 2>/dev/null) &
        wait "$server" 2>/dev/null || true
    done
    rm -rf "$work" "$sockets"
}
trap finish EXIT
trap 'exit 130' INT TERM

until_it_works() {
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "bench-workers-go: the server does not answer; its log ends:" >&2
    tail -5 "$work/log" >&2
    exit 1
}

bin=$(compgen -G "/usr/lib/postgresql/*/bin" | sort -V | tail -1 || true)
if [ -n "$bin" ]; then
    "${as[@]}" "$bin/initdb" -D "$work/pg" -U contend --auth=trust --no-locale --encoding=UTF8 -N >"$work/log"
    "${as[@]}" "$bin/postgres" -D "$work/pg" -c listen_addresses= -c unix_socket_directories="$sockets" \
        -c synchronous_commit=off -c autovacuum=off >"$work/log" 2>&1 &
    servers+=($!)
    until_it_works "$bin/psql" -h "$sockets" -U contend -d postgres -c 'SELECT 1'
    export CONTEND_BENCH_POSTGRES="postgres://contend@/postgres?socket=$sockets/.s.PGSQL.5432"
else
    echo "pgx: PostgreSQL is not installed (apt-get install postgresql)"
fi
mariadbd=$(command -v mariadbd || compgen -G /usr/sbin/mariadbd || true)
if [ -n "$mariadbd" ] && command -v mariadb >/dev/null; then
    install=(mariadb-install-db --no-defaults --datadir="$work/my" --auth-root-authentication-method=normal --skip-test-db)
    "${as[@]}" "${install[@]}" >"$work/log" 2>&1
    "${as[@]}" "$mariadbd" --no-defaults --datadir="$work/my" --socket="$sockets/mariadb.sock" --skip-networking \
        --skip-grant-tables >"$work/log" 2>&1 &
    servers+=($!)
    until_it_works mariadb --no-defaults -S "$sockets/mariadb.sock" -u root -e 'CREATE DATABASE bench'
    export CONTEND_BENCH_MARIADB="mysql://root@/bench?socket=$sockets/mariadb.sock"
else
    echo "go-sql-driver: MariaDB is not installed (apt-get install mariadb-server)"
fi
(cd workers/go && go test -run '^$' -bench . -benchtime 1x "${@:-./cmd/...}") >"$work/said" 2>&1 || {
    tail -20 "$work/said" >&2
    exit 1
}
grep bare/worker "$work/said"
