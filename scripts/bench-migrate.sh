#!/usr/bin/env bash
# Migrates a table of ROWS rows (10,000,000 unless given) to a private PostgreSQL and compares, in ROUNDS rounds (3), the time
# in which contend loads them with that of the server's own COPY of the same rows from a file, one after the other. Prints
# the medians, their ratio, and contend's largest memory. CONTEND names the tool (target/release/contend).
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-10000000}
rounds=${ROUNDS:-3}
tool=$(realpath "${CONTEND:-target/release/contend}")
# shellcheck source=scripts/private-servers.sh
. scripts/private-servers.sh
start_postgres -c synchronous_commit=on -c autovacuum=on
[ -n "$bin" ] || { echo "PostgreSQL is not installed: apt-get install postgresql" >&2; exit 2; }
dir=$work
export PGOPTIONS='-c client_min_messages=warning'
ask() { "$bin/psql" -h "$sockets" -U contend postgres -qAt -v ON_ERROR_STOP=1 "$@"; }

sqlite3 "$dir/app.db" "
CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, value REAL, note TEXT);
INSERT INTO event SELECT value, 1700000000 + value, 'kind ' || value % 20, value / 8.0, 'a note of some words, number ' || value
  FROM generate_series(1, $rows);"

cat > "$dir/timed.py" <<'END'
"""Runs a command; prints its wall time, and the largest memory of a child so far, in MB."""
import resource, subprocess, sys, time
begun = time.monotonic()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(f"{time.monotonic() - begun:.3f} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f}")
sys.exit(code)
END

: > "$dir/ours" > "$dir/copies" > "$dir/memory"
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    ask -c "DROP SCHEMA IF EXISTS moved CASCADE; DROP TABLE IF EXISTS copied; CHECKPOINT"
    python3 "$dir/timed.py" "$tool" migrate "$dir/app.db" --schema moved \
        --to "postgres://contend@/postgres?socket=$sockets/.s.PGSQL.5432" > "$dir/said" 2> "$dir/phases" || { cat "$dir/phases"; exit 1; }
    cut -d' ' -f2 "$dir/said" >> "$dir/memory"
    sed -n 's/^contend: loading the rows took \([0-9.]*\) s$/\1/p' "$dir/phases" >> "$dir/ours"
    sed -n 's/^contend: \(.* took .*\)$/round '$round': \1/p' "$dir/phases"
    # The same columns in the same types, from a file that the client reads.
    [ -f "$dir/rows" ] || ask -c "\\copy moved.event TO '$dir/rows'"
    ask -c "CHECKPOINT"
    python3 "$dir/timed.py" "$bin/psql" -h "$sockets" -U contend postgres -qv ON_ERROR_STOP=1 \
        -c "CREATE TABLE copied (LIKE moved.event INCLUDING INDEXES)" -c "\\copy copied FROM '$dir/rows'" > "$dir/said"
    cut -d' ' -f1 "$dir/said" >> "$dir/copies"
done
middle() { sort -n "$1" | sed -n "$(((rounds + 1) / 2))p"; }
ours=$(middle "$dir/ours") copies=$(middle "$dir/copies") memory=$(middle "$dir/memory")
echo "$rows rows: loading took $ours s, COPY of the same rows $copies s (medians of $rounds)"
python3 -c "print(f'ratio {$ours / $copies:.2f} (goal: at most 1.3), largest memory $memory MB')"
