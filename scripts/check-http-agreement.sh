#!/bin/sh
# Whether contend, wrk, oha and hey agree on the same load: 50 connections to a service that is slower than each of
# them, so that it says how much there is to do and how long it takes. The tools take turns, and medians count:
# throughput within 5 % of each other's, p50 and p99 within 1 % (at least 0.1 ms, which is what hey tells). Then whether
# contend, oha and vegeta agree within 5 % on p99 at the rate that `contend limit` finds for the same service.
#
#   SECONDS_EACH=5 ROUNDS=3 CONTEND=target/release/contend scripts/check-http-agreement.sh
#   scripts/check-http-agreement.sh docs/limits.md   writes the last table into the page, in place of its block `agreement`
set -eu
page=${1:-}
cd "$(dirname "$0")/.."
scripts/install-http-clients.sh || {
    [ $? = 2 ] || exit 1
    echo "NOT VERIFIED: whether wrk, oha, hey and vegeta agree with contend"
    exit 0
}
seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-3} connections=50
export CONTEND="${CONTEND:-target/release/contend}"
[ -x "$CONTEND" ] || { echo "$0: $CONTEND is not there; \`make build\` makes it" >&2; exit 2; }
# 8 counters of 4 ms, and 44 ms for each 33rd request: 1,535 requests/s. With 1 in 33 the 99th percentile is in the midst of the slow ones.
counters=8 takes_us=4000 slow_us=44000 slow_every=33
cargo build -q -p contend-worker --example queueing
dir=$(mktemp -d)
mkfifo "$dir/input"
"${CARGO_TARGET_DIR:-target}/debug/examples/queueing" $counters $takes_us $slow_us $slow_every <"$dir/input" >"$dir/address" &
exec 3>"$dir/input"
trap 'exec 3>&-; wait; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
while ! [ -s "$dir/address" ]; do
    kill -0 $! 2>/dev/null || { echo "$0: the service ended" >&2; exit 1; }
    sleep 0.1
done
url=http://$(cat "$dir/address")

for round in $(seq "$rounds"); do
    for tool in contend wrk oha hey; do
        scripts/measure-http.py $tool "$url" "$seconds" $connections "$dir/record" >>"$dir/all"
        rm -rf "$dir/record"
        tail -1 "$dir/all" | sed "s/^/round $round: /" >&2
    done
done
python3 - "$dir/all" $counters $takes_us $slow_us $slow_every <<'PYTHON'
import statistics, sys
counters, takes, slow, every = map(int, sys.argv[2:])
most = counters * 1e6 / (takes + (slow - takes) / every)
rows = [line.split() for line in open(sys.argv[1])]
medians = {}
print(f"{'client':10}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}   (the service: {most:.0f} requests/s at most)")
for tool in dict.fromkeys(row[0] for row in rows):
    columns = list(zip(*[[float(x) for x in row[1:]] for row in rows if row[0] == tool]))
    rate, _, p50, p99 = medians[tool] = [statistics.median(c) for c in columns]
    print(f"{tool:10}{rate:12.0f}{p50:10.3f}{p99:10.3f}")
ours, failed = medians.pop("contend"), []
for tool, theirs in medians.items():
    if abs(ours[0] / theirs[0] - 1) > 0.05:
        failed.append(f"{tool}: throughput {ours[0]:.0f} against {theirs[0]:.0f}/s")
    for name, a, b in (("p50", ours[2], theirs[2]), ("p99", ours[3], theirs[3])):
        if abs(a - b) > max(0.1, 0.01 * b):
            failed.append(f"{tool}: {name} {a} against {b} ms")
if failed:
    sys.exit("contend does not agree with\n  " + "\n  ".join(failed))
print("contend agrees with all of them")
PYTHON

"$CONTEND" limit "$url/" --clients $connections --rounds 3 --rates-only --bound 'response_ns_p99<=50ms' --quiet --out "$dir/limit" >&2
RATE=$(python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["contenders"][0]["rate_per_s"]))' "$dir/limit/report.json")
export RATE
for round in $(seq "$rounds"); do
    for tool in contend oha vegeta; do
        scripts/measure-http.py $tool "$url" "$seconds" $connections "$dir/record" >>"$dir/open"
        rm -rf "$dir/record"
        tail -1 "$dir/open" | sed "s/^/open loop, round $round: /" >&2
    done
done
python3 - "$dir" "$RATE" "$seconds" "$rounds" "$page" <<'PYTHON'
import pathlib, re, statistics, sys, textwrap, tomllib

directory, due, seconds, rounds, page = sys.argv[1:]
rows = [line.split() for line in open(f"{directory}/open")]
lines, p99s = [f"{'client':10}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}"], {}
for tool in dict.fromkeys(row[0] for row in rows):
    rate, _, p50, p99s[tool] = [statistics.median(c) for c in zip(*[[float(x) for x in row[1:]] for row in rows if row[0] == tool])]
    lines.append(f"{tool:10}{rate:12.0f}{p50:10.3f}{p99s[tool]:10.3f}")
print(*lines, f"(due: {due} requests/s, the highest rate with p99 of 50 ms)", sep="\n")
ours = p99s.pop("contend")
failed = [f"{tool}: p99 {theirs} ms against {ours}" for tool, theirs in p99s.items() if abs(ours / theirs - 1) > 0.05]
if failed:
    sys.exit("in an open loop contend does not agree with\n  " + "\n  ".join(failed))
print("contend agrees with them in an open loop, too")
if page:
    search = tomllib.loads(pathlib.Path(directory, "limit/limit.toml").read_text())
    machine = search["machine"]

    # vegeta does not say its own.
    pinned = pathlib.Path("scripts/install-http-clients.sh").read_text()
    version = lambda tool: re.search(rf"^{tool}_version=(\S+)", pinned, re.M)[1]
    words = (
        f"Measured on {search['started'][:10]} with contend {search['contend']}, oha {version('oha')} and vegeta "
        f"{version('vegeta')} ({machine['cpu']}, {machine['cores']} processors, kernel {machine['kernel']}). `contend limit` "
        f"found {due}/s with p99 up to 50 ms in {len(search['capacities'])} rounds. Then each client sent that many requests a "
        f"second, evenly, for {seconds} s in {rounds} turns; medians:"
    )
    text, (begin, end) = pathlib.Path(page).read_text(), [f"<!-- agreement: {edge} -->" for edge in ("begin", "end")]
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"{page} has no block agreement")
    head, tail = text.split(begin)[0], text.split(end)[1]
    table = "\n".join(lines)
    pathlib.Path(page).write_text(f"{head}{begin}\n\n{textwrap.fill(words, 100)}\n\n```text\n{table}\n```\n\n{end}{tail}")
    print(f"{page}: written")
PYTHON
