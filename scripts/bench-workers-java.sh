#!/bin/sh
# The worker in Java against a bare loop on the same driver, and the worker's own floor; in turns. CONTEND_BENCH_TURNS says how
# many (101).
set -eu
cd "$(dirname "$0")/.."
if [ ! -d target/workers/java ]; then
    echo "workers in Java: not built; make workers-java"
    exit 0
fi
exec java -cp "target/workers/java/classes:target/workers/java/lib/*" contend.Bench "${CONTEND_BENCH_TURNS:-101}"
