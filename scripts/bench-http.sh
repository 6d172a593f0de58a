#!/bin/sh
# What the HTTP client costs, against wrk, oha and hey: a trivial fast service on core 0, the client on core 1, 50
# connections, tools in turns, medians. Prints requests/s and client CPU ms per 100,000 requests.
# `check` as argument also holds contend against wrk: at most its CPU per request. Whether they agree on what they measure is
# asked of a slower service: scripts/check-http-agreement.sh.
set -eu
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-5} connections=50
scripts/install-http-clients.sh
tools="contend wrk oha hey"
target=${CARGO_TARGET_DIR:-target}
export CONTEND="$target/release/contend"
cargo build --release -q -p contend -p contend-worker --example answering --bin contend
dir=$(mktemp -d)
mkfifo "$dir/input"
taskset -c 0 "$target/release/examples/answering" <"$dir/input" >"$dir/address" &
exec 3>"$dir/input"
trap 'exec 3>&-; wait; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
while ! [ -s "$dir/address" ]; do
    kill -0 $! 2>/dev/null || { echo "$0: the service ended" >&2; exit 1; }
    sleep 0.1
done
url=http://$(cat "$dir/address")

: >"$dir/all"
for round in $(seq "$rounds"); do
    for tool in $tools; do
        scripts/measure-http.py $tool "$url" "$seconds" $connections "$dir/record" taskset -c 1 >>"$dir/all"
        rm -rf "$dir/record"
        tail -1 "$dir/all" | sed "s/^/round $round: /" >&2
    done
done
python3 - "$dir/all" "${1:-}" <<'PYTHON'
import statistics, sys
rows = [line.split() for line in open(sys.argv[1])]
medians = {}
print(f"{'client':10}{'requests/s':>12}{'CPU ms / 100,000':>18}{'p50 ms':>10}{'p99 ms':>10}")
for tool in dict.fromkeys(row[0] for row in rows):
    columns = list(zip(*[[float(x) for x in row[1:]] for row in rows if row[0] == tool]))
    medians[tool] = [statistics.median(c) for c in columns]
    rate, cpu, p50, p99 = medians[tool]
    print(f"{tool:10}{rate:12.0f}{cpu:18.0f}{p50:10.3f}{p99:10.3f}")
if sys.argv[2] == "check":
    ratio = medians["contend"][1] / medians["wrk"][1]
    sys.exit(f"CPU per request is {ratio:.2f} times wrk's" if ratio > 1 else 0)
PYTHON
