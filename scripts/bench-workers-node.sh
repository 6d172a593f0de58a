#!/usr/bin/env bash
# The workers for Node against a bare loop on the same driver, and the worker's own floor; in turns: rows by rowid from SQLite, by
# primary key from private servers over the Unix socket. Arguments are names of drivers, each of which has a process of its
# own; CONTEND_BENCH_TURNS says how many turns (101 with SQLite, 31 with a server).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -d target/workers/node/node_modules ]; then
    echo "workers for Node: not built; make workers-node"
    exit 0
fi
# The Node that the packages were built for: the one that the launchers start.
node=node
grep -q runtime/bin/node target/workers/contend-worker-node-null && node=target/workers/node/runtime/bin/node
command -v "$node" >/dev/null || { echo "workers for Node: Node is not installed"; exit 0; }

# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
[ $# -gt 0 ] || set -- better-sqlite3 libsql sqlite3 pg mysql2 null
for driver; do
    "$node" --expose-gc workers/node/bench.js "$driver"
done
