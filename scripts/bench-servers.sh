#!/usr/bin/env bash
# What contend's clients cost beside pgbench's and sysbench's: the transactions of pgbench's built-in scripts, with
# the same statements, prepared, on the same private servers and the same tables, over the socket, in turns.
# Two figures for each number of clients, as contend / rival: transactions per second, and CPU time of the client
# program for each transaction (user and system; start, connecting and reading the plan included).
#
#   BRANCHES=16 SECONDS_EACH=3 TURNS=5 CLIENTS='1 4 16' scripts/bench-servers.sh [postgres|mariadb]...
#   SHORT=1 scripts/bench-servers.sh     # about seven minutes instead of a quarter of an hour
#
# DRIVERS names drivers of PostgreSQL, the first one's table first; THREADS says how many threads pgbench has: `each`
# client its own, as contend's, and `one` for all. CONTEND is the program that is measured.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

contend=${CONTEND:-$PWD/target/release/contend}
branches=${BRANCHES:-16}
if [ -n "${SHORT:-}" ]; then
    seconds=${SECONDS_EACH:-3} turns=${TURNS:-3} threads_of=${THREADS:-each}
else
    seconds=${SECONDS_EACH:-3} turns=${TURNS:-5} threads_of=${THREADS:-each one}
fi
clients=${CLIENTS:-1 4 16}
worker=("$contend" worker)
[ -z "${WORKER:-}" ] || read -ra worker <<<"$WORKER"

[ -x "$contend" ] || { echo "bench-servers: $contend is not there; \`make build\` makes it" >&2; exit 2; }

# shellcheck source=scripts/private-servers.sh
. scripts/private-servers.sh
trap 'echo "bench-servers: line $LINENO failed; what was said last: $(tail -n 3 "$work/log" 2>/dev/null)" >&2' ERR

# Operations in a plan, so that as many accounts are touched as by a rival that draws each again.
DRAWN=65536

# Runs a command with its output in $work/said, and sets `cpu` to the seconds of CPU time it took.
timed() {
    local TIMEFORMAT='%3U %3S'
    { time "$@" >"$work/said" 2>"$work/complaints"; } 2>"$work/time" || {
        echo "bench-servers: failed: $*" >&2
        cat "$work/said" "$work/complaints" >&2
        exit 1
    }
    cpu=$(awk '{ print $1 + $2 }' "$work/time")
}

# What contend is told, with the statements of the rival: $1 engine or driver, $2 profile, $3 clients, $4 address.
# The translation of the workload's SQL has another form: names are quoted, numbers typed, and the time is the client's,
# which is the last value of its step.
plan() {
    "$contend" plan show workloads/tpcb.toml --contender "$1" --profile "$2" --scale "$branches" \
        --clients "$3" --window "${seconds}s" --cycle $((DRAWN / $3)) --database "$4" 2>/dev/null |
        awk -F '\t' -v OFS='\t' -v engine="$1" '
        function place(n) { return engine ~ /^postgres/ ? "$" n : "?" }
        function change(table, column, key) {
            return "UPDATE pgbench_" table " SET " column " = " column " + " place(1) " WHERE " key " = " place(2)
        }
        # The statement and where its placeholders are.
        function say(sql,    at, from, list) {
            for (from = 1; match(substr(sql, from), /[?]|[$][0-9]+/); from += RSTART + RLENGTH - 1) {
                at = from + RSTART - 2
                list = list (list == "" ? "" : ",") at (RLENGTH > 1 ? ":" substr(sql, at + 2, RLENGTH - 1) : "")
            }
            $4 = list
            $5 = sql
        }
        $1 == "statement" && $5 ~ /^SELECT/ { say("SELECT abalance FROM pgbench_accounts WHERE aid = " place(1)) }
        $1 == "statement" && $5 ~ /^UPDATE .*accounts/ { say(change("accounts", "abalance", "aid")) }
        $1 == "statement" && $5 ~ /^UPDATE .*tellers/ { say(change("tellers", "tbalance", "tid")) }
        $1 == "statement" && $5 ~ /^UPDATE .*branches/ { say(change("branches", "bbalance", "bid")) }
        $1 == "statement" && $5 ~ /^INSERT/ {
            insert = $2
            say("INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (" \
                place(1) ", " place(2) ", " place(3) ", " place(4) ", CURRENT_TIMESTAMP)")
        }
        insert != "" && $1 == "step" && $2 == "sql" && $3 == insert { NF = NF - 1 }
        $1 != "end" { print }' >"$work/body"
    cat "$work/body"
    # The digest of a plan is the CRC-32 that gzip ends with.
    printf 'end\t%s\n' "$(gzip -c "$work/body" | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')"
}

# Sets `rate` and `each` (microseconds of CPU for a transaction) of one run.
contend_once() {
    timed "${worker[@]}" --plan "$work/plan"
    local done failed
    read -r done failed < <(awk '$2 == "operations," { print $1, $5 }' "$work/said")
    [ "$failed" = 0 ] || { echo "bench-servers: $failed operations failed" >&2; cat "$work/said" >&2; exit 1; }
    result "$done"
}
result() { # transactions
    rate=$(awk -v n="$1" -v s="$seconds" 'BEGIN { printf "%.1f", n / s }')
    each=$(awk -v n="$1" -v c="$cpu" 'BEGIN { printf "%.2f", c * 1e6 / n }')
}
pgbench_once() { # script, clients, threads
    timed "$pgbench" -h "$sockets" -U contend -n -M prepared -b "$1" \
        -c "$2" -j "$3" -T "$seconds" bench
    result "$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work/said")"
}
sysbench_once() { # profile, clients
    local only=off
    [ "$1" = select-only ] && only=on
    timed sysbench scripts/bench-tpcb.lua --db-driver=mysql --mysql-socket="$sockets/mariadb.sock" --mysql-user=root \
        --mysql-db=bench --branches="$branches" --select-only="$only" --threads="$2" --time="$seconds" --events=0 run
    result "$(sed -n 's/^ *total number of events: *\([0-9]*\).*/\1/p' "$work/said")"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
column() { awk -v n="$1" '{ print $n }' "$2"; }

head_of_table() {
    printf '\n%s\n' "$1"
    printf '%-12s %7s  %-21s %-16s %10s %8s %10s %16s %10s %11s\n' transaction clients rival contend rival/s ours/s \
        throughput '(spread)' 'CPU us' 'CPU ratio'
}

# One line of the table: runs two commands in turns, the first one first every other time.
compare() { # transaction, clients, rival, driver, rival's command, contend's command
    local file=$work/pairs
    : >"$file"
    for turn in $(seq "$turns"); do
        local a b
        if [ $((turn % 2)) = 1 ]; then
            $5; a="$rate $each"; $6; b="$rate $each"
        else
            $6; b="$rate $each"; $5; a="$rate $each"
        fi
        echo "$a $b" | awk '{ print $1, $2, $3, $4, $3 / $1, $4 / $2 }' >>"$file"
    done
    printf '%-12s %7s  %-21s %-16s %10.0f %8.0f %10.3f %16s %4.0f/%-5.0f %11.3f\n' "$1" "$2" "$3" "$4" \
        "$(column 1 "$file" | median)" "$(column 3 "$file" | median)" "$(column 5 "$file" | median)" \
        "$(column 5 "$file" | sort -g | awk '{ v[NR] = $1 } END { printf "%.3f to %.3f", v[1], v[NR] }')" \
        "$(column 2 "$file" | median)" "$(column 4 "$file" | median)" "$(column 6 "$file" | median)"
}

# Numbers of threads that pgbench has for so many clients.
threads_for() {
    local of
    for of in $threads_of; do
        [ "$of" = one ] && echo 1 || echo "$1"
    done | sort -urn
}

on_postgres() {
    pgbench=$(program pgbench '/usr/lib/postgresql/*/bin/pgbench')
    [ -z "$pgbench" ] || start_postgres -c shared_buffers=512MB -c max_wal_size=8GB -c checkpoint_timeout=1h -c max_connections=100
    if [ -z "$pgbench" ] || [ -z "$bin" ]; then
        echo "PostgreSQL or pgbench is not installed: apt-get install postgresql" && return
    fi
    "$bin/psql" -qh "$sockets" -U contend -d postgres -c 'CREATE DATABASE bench'
    "$pgbench" -q -i -s "$branches" -h "$sockets" -U contend bench >"$work/said" 2>&1
    head_of_table "$("$bin/postgres" --version), Unix socket, scale $branches, synchronous_commit=off, median of $turns turns of $seconds s"
    local address="postgres://contend@/bench?socket=$sockets/.s.PGSQL.5432" profile count driver threads
    for profile in select-only tpcb; do
        local script=$profile
        [ "$profile" = tpcb ] && script=tpcb-like
        for count in $clients; do
            "$bin/psql" -qh "$sockets" -U contend -d bench -c 'TRUNCATE pgbench_history' \
                -c 'VACUUM pgbench_branches, pgbench_tellers, pgbench_accounts' -c CHECKPOINT
            for driver in ${DRIVERS:-tokio-postgres postgres}; do
                plan "postgres/$driver:synchronous_commit=off" "$profile" "$count" "$address" >"$work/plan"
                for threads in $(threads_for "$count"); do
                    compare "$profile" "$count" "pgbench -j $threads" "$driver" \
                        "pgbench_once $script $count $threads" contend_once
                done
            done
        done
    done
    stop_servers
}

on_mariadb() {
    if ! type -P sysbench >/dev/null; then
        echo "sysbench is not installed: apt-get install sysbench" && return
    fi
    start_mariadb --innodb-buffer-pool-size=512M --innodb-log-file-size=1G --innodb-flush-log-at-trx-commit=0 \
        --skip-log-bin --max-connections=100
    if [ -z "$mariadbd" ]; then
        echo "MariaDB is not installed: apt-get install mariadb-server" && return
    fi
    "${ask[@]}" -e "
        CREATE DATABASE bench; USE bench;
        CREATE TABLE pgbench_branches (bid INT NOT NULL PRIMARY KEY, bbalance INT, filler CHAR(88));
        CREATE TABLE pgbench_tellers (tid INT NOT NULL PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84));
        CREATE TABLE pgbench_accounts (aid INT NOT NULL PRIMARY KEY, bid INT, abalance INT, filler CHAR(84));
        CREATE TABLE pgbench_history (tid INT, bid INT, aid INT, delta INT, mtime DATETIME, filler CHAR(22));
        INSERT INTO pgbench_branches SELECT seq, 0, '' FROM seq_1_to_$branches;
        INSERT INTO pgbench_tellers SELECT seq, (seq - 1) DIV 10 + 1, 0, '' FROM seq_1_to_$((10 * branches));
        INSERT INTO pgbench_accounts
            SELECT seq, (seq - 1) DIV 100000 + 1, 0, '' FROM seq_1_to_$((100000 * branches));"
    head_of_table "$("$mariadbd" --version | sed 's/.*\(Ver.*\)/MariaDB \1/'), Unix socket, scale $branches, flush_log_at_trx_commit=0, median of $turns turns of $seconds s"
    local address="mysql://root@/bench?socket=$sockets/mariadb.sock" profile count
    for profile in select-only tpcb; do
        for count in $clients; do
            "${ask[@]}" bench -e 'TRUNCATE TABLE pgbench_history'
            plan mariadb/mysql "$profile" "$count" "$address" >"$work/plan"
            compare "$profile" "$count" "sysbench" mysql \
                "sysbench_once $profile $count" contend_once
        done
    done
    stop_servers
}

echo "machine: $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1), $(uname -sr), load $(cut -d' ' -f1 /proc/loadavg)"
for engine in "${@:-postgres mariadb}"; do
    for one in $engine; do "on_$one"; done
done
