#!/bin/sh
# Whether contend, wrk, oha and hey agree on the same load: throughput within 5 % of each other when the service, not the
# client, is the limit, and p50 and p99 within what the tools resolve (0.1 ms for hey's text) and 10 %.
set -eu
cd "$(dirname "$0")/.."
table=$(SECONDS_EACH=${SECONDS_EACH:-5} ROUNDS=${ROUNDS:-3} scripts/bench-http.sh)
echo "$table"
echo "$table" | python3 -c '
import sys
rows = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in sys.stdin.read().splitlines()[1:]}
ours, failed = rows["contend"], []
for tool in rows.keys() - {"contend"}:
    rate, _, p50, p99 = rows[tool]
    if abs(ours[0] / rate - 1) > 0.05:
        failed.append(f"{tool}: throughput {ours[0]:.0f} against {rate:.0f}/s")
    for name, a, b in (("p50", ours[2], p50), ("p99", ours[3], p99)):
        if abs(a - b) > max(0.1, 0.1 * b):
            failed.append(f"{tool}: {name} {a} against {b} ms")
sys.exit("\n".join(failed) or 0)
'
