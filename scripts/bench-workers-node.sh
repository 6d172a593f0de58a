#!/bin/sh
# The workers for Node against a bare loop on the same driver, and the worker's own floor; in turns. CONTEND_BENCH_TURNS says how
# many (101).
set -eu
cd "$(dirname "$0")/.."
if [ ! -d target/workers/node/node_modules ]; then
    echo "workers for Node: not built; make workers-node"
    exit 0
fi
# The Node that the packages were built for: the one that the launchers start.
node=node
grep -q runtime/bin/node target/workers/contend-worker-node-null && node=target/workers/node/runtime/bin/node
exec "$node" --expose-gc workers/node/bench.js "$@"
