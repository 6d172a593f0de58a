#!/usr/bin/env bash
# The workers in Java against a bare loop on the same driver, and the worker's own floor; in turns: rows by rowid from SQLite, by
# primary key from private servers over the Unix socket. Arguments are names of drivers, each of which has a process of its
# own; CONTEND_BENCH_TURNS says how many turns (101 with SQLite, 31 with a server).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v java >/dev/null || { echo "workers in Java: Java is not installed"; exit 0; }
if [ ! -d target/workers/java ]; then
    echo "workers in Java: not built; make workers-java"
    exit 0
fi

# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
[ $# -gt 0 ] || set -- sqlite postgres mariadb null
for driver; do
    java -cp "target/workers/java/classes:target/workers/java/lib/*" contend.Bench "$driver"
done
