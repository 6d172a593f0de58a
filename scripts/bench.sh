#!/usr/bin/env bash
# What contend costs, each as a ratio against a named rival measured in the same run, in turns. Quote medians
# and ratios, and the machine they come from.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-test-deps.sh
echo "machine: $(nproc) x $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1), $(uname -sr)"
echo
cargo bench --quiet -p contend-worker --bench overhead
echo
cargo bench --quiet -p contend-worker --bench models
echo
cargo bench --quiet --bench load
echo
cargo bench --quiet --bench report
echo
cargo bench --quiet --bench watch
echo
cargo bench --quiet --bench capture
echo
echo "SQL translation: five statements cold, the parser alone, and caches by design"
cargo bench --quiet -p contend-sql
echo
scripts/bench-servers.sh
echo
echo "HTTP client against wrk, oha and hey, 50 connections, client and service on a core each"
scripts/bench-http.sh
echo
# The same servers for all workers.
# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
echo "Go workers against a bare loop on the same library, rows by rowid of SQLite and by primary key of servers"
scripts/bench-workers-go.sh
echo
scripts/bench-workers-python.sh
echo
scripts/bench-workers-php.sh
echo
echo "workers for Node and in Java against a bare loop on the same library, rows by rowid or primary key"
scripts/bench-workers-node.sh
scripts/bench-workers-java.sh
