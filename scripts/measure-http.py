#!/usr/bin/env python3
"""One run of an HTTP client against a service: requests/s, CPU ms per 100,000 requests, p50 ms, p99 ms.

measure-http.py TOOL URL SECONDS CONNECTIONS RECORD [COMMAND...]   COMMAND goes before the client, such as `taskset -c 1`.
With RATE in the environment, contend, oha and vegeta send that many requests a second, evenly, whatever the service does.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tomllib

tool, url, seconds, connections, record = sys.argv[1:6]
before_it = sys.argv[6:]
rate_per_s = os.environ.get("RATE")
contend = os.environ.get("CONTEND", "target/release/contend")
commands = {
    "wrk": ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url],
    "oha": ["target/tools/bin/oha", "--no-tui", "-c", connections, "-z", f"{seconds}s", "--json", url],
    "hey": ["hey", "-c", connections, "-z", f"{seconds}s", "-cpus", "1", url],
    "contend": [contend, "http", "examples/one-request.toml", "--url", url, "--clients", connections,
                "--duration", f"{seconds}s", "--run-in", "0ms", "--json-line", "--out", record],
}
if rate_per_s:
    attack = f"echo GET {url} | target/tools/bin/vegeta attack -rate={rate_per_s} -duration={seconds}s -max-connections={connections}"
    commands = {
        "contend": commands["contend"] + ["--rate", rate_per_s, "--arrivals", "constant"],
        # Counted from when a request was due, as the others do.
        "oha": commands["oha"] + ["-q", rate_per_s, "--latency-correction"],
        "vegeta": ["sh", "-c", attack + " | target/tools/bin/vegeta report -type=json"],
    }
before = os.times()
done = subprocess.run(before_it + commands[tool], capture_output=True, text=True)
after = os.times()
said = done.stdout
# A client that is measured at its limit is invalid as a measure of the service; its samples are there all the same.
if done.returncode != 0 and not (tool == "contend" and said.startswith("{")):
    sys.exit(f"{tool} failed ({done.returncode}): {done.stderr.strip() or said.strip()}")
cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
if tool == "contend":
    total = json.loads(said)["ok"]
    with open(f"{record}/trials/0001/trial.toml", "rb") as file:
        trial = tomllib.load(file)
    begin_ns, end_ns = trial["window_start_ns"], trial["window_end_ns"]
    with open(f"{record}/trials/0001/samples.bin", "rb") as file:
        samples = list(struct.iter_unpack("<IIHHHBBIIQQQQQ", file.read()[64:]))
    # Code space 0 is success; then due and finished.
    done_ns = [(s[9], s[11]) for s in samples if s[5] == 0]
    rate = sum(begin_ns <= finished < end_ns for _, finished in done_ns) * 1e9 / (end_ns - begin_ns)
    took_ms = sorted((finished - due) / 1e6 for due, finished in done_ns if begin_ns <= due < end_ns)
    p50, p99 = (took_ms[max(math.ceil(len(took_ms) * q) - 1, 0)] for q in (0.5, 0.99))
    # The worker's own, without the tool around it: what disturbs the service in the window.
    cpu_s = sum(worker["cpu_ns"] for worker in trial["workers"]) / 1e9
elif tool == "wrk":
    unit_ms = {"us": 1e-3, "ms": 1, "s": 1e3}

    def ms(text):
        number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", text).groups()
        return float(number) * unit_ms[unit]

    total, rate = int(re.search(r"(\d+) requests in", said)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    p50, p99 = (ms(re.search(rf"^\s+{q}%\s+(\S+)", said, re.M)[1]) for q in (50, 99))
elif tool == "oha":
    line = json.loads(said)
    rate, total = line["summary"]["requestsPerSec"], sum(line["statusCodeDistribution"].values())
    p50, p99 = (line["latencyPercentiles"][q] * 1e3 for q in ("p50", "p99"))
elif tool == "vegeta":
    line = json.loads(said)
    rate, total = line["throughput"], line["status_codes"]["200"]
    p50, p99 = (line["latencies"][q] / 1e6 for q in ("50th", "99th"))
else:
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    total = sum(int(n) for n in re.findall(r"\[200\]\s+(\d+)", said))
    p50, p99 = (float(re.search(rf"^\s+{q}%+ in ([\d.]+) secs", said, re.M)[1]) * 1e3 for q in (50, 99))
print(tool, round(rate, 1), round(cpu_s * 1e3 * 1e5 / total), round(p50, 3), round(p99, 3))
