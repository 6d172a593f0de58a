#!/bin/sh
# What the HTTP client costs, against wrk, oha and hey: a trivial fast service on core 0, the client on core 1, 50
# connections, tools in turns, medians. Prints requests/s and client CPU ms per 100,000 requests.
# `check` as argument also holds contend against the others: throughput within 5 %, at most wrk's CPU per request.
set -eu
cd "$(dirname "$0")/.."
seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-5} connections=50
for tool in wrk hey; do
    command -v $tool >/dev/null || apt-get install -y -q $tool >/dev/null
done
# Debian has no oha.
oha_version=1.16.0
PATH=$PWD/target/tools/bin:$PATH
if ! oha --version 2>/dev/null | grep -qF "oha $oha_version"; then
    cargo install oha --locked --version $oha_version --root target/tools \
        --target-dir target/tools/build --quiet || echo "bench-http: oha $oha_version cannot be built, so it is left out" >&2
fi
tools="contend wrk hey"
command -v oha >/dev/null && tools="contend wrk oha hey"
cargo build --release -q -p contend -p contend-worker --example answering --bin contend
dir=$(mktemp -d)
mkfifo "$dir/input"
taskset -c 0 target/release/examples/answering <"$dir/input" >"$dir/address" &
exec 3>"$dir/input"
trap 'exec 3>&-; wait; rm -rf "$dir"' EXIT
while ! [ -s "$dir/address" ]; do sleep 0.1; done
url=http://$(cat "$dir/address")

# CPU and throughput of a command that prints its own number of requests last; user and system time by the shell.
measure() {
    python3 - "$@" <<'PYTHON'
import json, os, re, subprocess, sys, tomllib
tool, url, seconds, connections, dir = sys.argv[1:6]
pinned = ["taskset", "-c", "1"]
commands = {
    "wrk": ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url],
    "oha": ["oha", "--no-tui", "-c", connections, "-z", f"{seconds}s", "-w", "--output-format", "json", url],
    "hey": ["hey", "-c", connections, "-z", f"{seconds}s", "-cpus", "1", url],
    "contend": ["target/release/contend", "http", "examples/one-request.toml", "--url", url, "--clients", connections,
                "--duration", f"{seconds}s", "--run-in", "0ms", "--json-line", "--out", f"{dir}/record"],
}
before = os.times()
said = subprocess.run(pinned + commands[tool], capture_output=True, text=True, check=tool != "contend").stdout
after = os.times()
cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
if tool == "contend":
    line = json.loads(said)
    total, rate, p50, p99 = line["ok"], line["req_per_s"], line["p50_ms"], line["p99_ms"]
    # The worker's own, without the tool around it: what disturbs the service in the window.
    with open(f"{dir}/record/trials/0001/trial.toml", "rb") as file:
        cpu_s = sum(worker["cpu_ns"] for worker in tomllib.load(file)["workers"]) / 1e9
elif tool == "wrk":
    ms = lambda text: float(re.match(r"[\d.]+", text)[0]) * {"us": 1e-3, "ms": 1, "s": 1e3}[re.search(r"[a-z]+", text)[0]]
    total, rate = int(re.search(r"(\d+) requests in", said)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    p50, p99 = (ms(re.search(rf"{q}%\s+(\S+)", said)[1]) for q in (50, 99))
elif tool == "oha":
    line = json.loads(said)
    rate, total = line["summary"]["requestsPerSec"], sum(line["statusCodeDistribution"].values())
    p50, p99 = (line["latencyPercentiles"][q] * 1e3 for q in ("p50", "p99"))
else:
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    total = sum(int(n) for n in re.findall(r"\[200\]\s+(\d+)", said))
    p50, p99 = (float(re.search(rf"{q}% in ([\d.]+) secs", said)[1]) * 1e3 for q in (50, 99))
print(tool, round(rate), round(cpu_s * 1e3 * 1e5 / total), round(p50, 3), round(p99, 3))
PYTHON
    rm -rf "$dir/record"
}

: >"$dir/all"
for round in $(seq "$rounds"); do
    for tool in $tools; do
        measure $tool "$url" "$seconds" "$connections" "$dir" | tee -a "$dir/all" | sed "s/^/round $round: /" >&2
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
    ours, wrk = medians["contend"], medians["wrk"]
    failed = []
    if abs(ours[0] / wrk[0] - 1) > 0.05:
        failed.append(f"throughput differs from wrk's by {abs(ours[0] / wrk[0] - 1):.1%}")
    if ours[1] > wrk[1]:
        failed.append(f"CPU per request is {ours[1] / wrk[1]:.2f} times wrk's")
    sys.exit("; ".join(failed) or 0)
PYTHON
