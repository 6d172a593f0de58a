#!/usr/bin/env python3
"""Does the study of a capture give the ratios that its program has? For each case, contend's own worker over the system's SQLite
(`make worker-system`) is captured with the settings of one contender. The study of that capture predicts the ratios of two other
contenders, which are then measured with the original workload. Prints a table; the exit status is 1 if a prediction is wrong:
more than 10 % off, and outside of the measured interval.

    scripts/verify-predictions.py [--judge] [--write] [--hash] [CASE...]

Takes about three minutes a case, on a quiet machine. Records are left in target/verify/predictions. --write puts the table of all
cases into docs/capture.md, --judge runs nothing and reads the records that are there, and --hash captures hashes in place of
values (such a table is not on the page).
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTEND = ROOT / "target/release/contend"
WORKER = ROOT / "target/workers/system/contend"
OUT = ROOT / "target/verify" / ("predictions-hash" if "--hash" in sys.argv else "predictions")
PAGE = ROOT / "docs/capture.md"
# Workload, profile, and what it does.
CASES = {
    "wordpress": ("wordpress", "write-burst", "pages, comments and edits of WordPress"),
    "gameplan": ("gameplan", "mixed", "a forum: 9 of 10 transactions read"),
    "tpcb": ("tpcb", "tpcb", "pgbench's transaction"),
    "bank": ("bank", "mixed", "transfers, and 79 % reads of one account"),
    "lookups": ("lookups", "read_key", "reads of one row"),
}
CLIENTS = 4
VALUES = "hash" if "--hash" in sys.argv else "full"
LABELS = {"WAL": "journal_mode=wal", "PostgreSQL": "postgres/"}
# One capture for each process of a worker: the one that loads the data, and the one that is measured.
WRAPPER = """exec 3<&0
setsid '{contend}' capture --values={values} --out "{dir}/capture-$$" -- sh -c '"$1"; touch "$0"' "{dir}/capture-$$.ended" '{worker}' <&3 2>>'{dir}/capture.err' &
while [ ! -e "{dir}/capture-$$.ended" ]; do sleep 0.1; done
"""
SETTINGS = 'settings = {{ journal_mode = "{}", synchronous = "extra", begin = "immediate", busy_timeout = 10000 }}\n'
CAPTURED = '[[contender]]\nengine = "sqlite"\nlabel = "as captured"\n' + SETTINGS.format("delete")
OTHERS = (
    '[[contender]]\nengine = "sqlite"\nlabel = "WAL"\n' + SETTINGS.format("wal")
    + '[[contender]]\nengine = "postgres"\nlabel = "PostgreSQL"\ntier = "durable"\n'
)


def contend(directory, *arguments):
    done = subprocess.run([CONTEND, *arguments], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # 1: a trial does not count.
    if done.returncode not in (0, 1):
        sys.exit(f"{directory}: contend {' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def study(workload, profile, contenders):
    return (
        f'question = "?"\nworkload = "{workload}"\nkind = "load"\nheadline = "throughput_ops_per_s"\nrounds = 8\n'
        f'baseline = ["as captured"]\n{contenders}[axes]\nprofile = ["{profile}"]\n'
        f'[load]\nprocesses = 1\nclients = {CLIENTS}\nwindow = "2s"\nrun_in = "500ms"\n'
    )


def captured(directory):
    """The capture with the most calls, after its end."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = [path.parent for path in directory.glob("capture-*/capture.json") if json.loads(path.read_text())["status"] == 0]
        best = max(found, key=calls, default=None)
        if best and len(found) == len(list(directory.glob("capture-*.ended"))) and (best / "study.toml").exists():
            return best
        time.sleep(0.5)
    sys.exit(f"{directory}: no capture has ended: {(directory / 'capture.err').read_text()}")


def calls(capture):
    return json.loads(contend(capture.parent, "capture", "show", capture, "--json"))["calls"]


def ratios(directory, record):
    report = json.loads(contend(directory, "report", record, "--json"))
    found = {}
    for entry in report["comparisons"]:
        label = next((label for label, part in LABELS.items() if part in entry["candidate"]), None)
        if label and entry["figure"] == "throughput_ops_per_s" and entry["comparison"]:
            found[label] = entry["comparison"]
    return found


def run(name):
    workload, profile, _ = CASES[name]
    directory = OUT / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "captured.toml").write_text(study(workload, profile, CAPTURED))
    (directory / "truth.toml").write_text(study(workload, profile, CAPTURED + OTHERS))
    (directory / "worker.sh").write_text(WRAPPER.format(contend=CONTEND, dir=directory, worker=WORKER, values=VALUES))
    contend(directory, "run", "captured.toml", "--rounds", "1", "--worker-command", f"sh '{directory}/worker.sh'", "--out", "captured")
    capture = captured(directory).name
    only = [part for label in ("as captured", *LABELS) for part in ("--only", label)]
    contend(directory, "run", "truth.toml", "--out", "truth")
    contend(directory, "run", capture, "--set", "load=full", "--rounds", "8", "--window", "2s", *only, "--out", "predicted")


def number(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def holds(measured, predicted):
    return abs(predicted["ratio"] / measured["ratio"] - 1) <= 0.1 or measured["low"] <= predicted["ratio"] <= measured["high"]


def judged(name):
    """Lines of the table, and whether each prediction holds."""
    directory, lines, good = OUT / name, [], True
    truth, predicted = ratios(directory, "truth"), ratios(directory, "predicted")
    for label in LABELS:
        one, other = truth.get(label), predicted.get(label)
        if not one or not other:
            lines.append(f"| {CASES[name][2]} | {label} | no ratio | | |")
            good = False
            continue
        good = good and holds(one, other)
        off, wrong = other["ratio"] / one["ratio"] - 1, "" if holds(one, other) else ", wrong"
        spans = [f"{number(of['ratio'])} ({number(of['low'])} to {number(of['high'])})" for of in (one, other)]
        lines.append(f"| {CASES[name][2]} | {label} | {spans[0]} | {spans[1]} | {off:+.0%}{wrong} |")
    return lines, good


def write(lines, name):
    run_facts = (OUT / name / "truth/run.toml").read_text()
    fact = lambda key: re.search(rf'^{key} = "?([^"\n]*)"?$', run_facts, re.MULTILINE)[1]  # noqa: E731
    head = f"Measured on {fact('started')[:10]} with contend {fact('contend')}, {fact('cores')} processors ({fact('cpu')}), {CLIENTS} clients:"
    table = "| program | instead | measured | predicted | off |\n|---|---|---|---|---|\n" + "\n".join(lines)
    block = f"<!-- predictions: begin -->\n{head}\n\n{table}\n<!-- predictions: end -->"
    page, count = re.subn(r"<!-- predictions: begin -->.*<!-- predictions: end -->", lambda _: block, PAGE.read_text(), flags=re.DOTALL)
    if count != 1:
        sys.exit(f"{PAGE} has no place for the table")
    PAGE.write_text(page)


def main(arguments):
    names = [name for name in arguments if not name.startswith("-")] or list(CASES)
    unknown = [argument for argument in arguments if argument not in ("--write", "--judge", "--hash") and argument not in CASES]
    if unknown:
        sys.exit(f"unknown: {' '.join(unknown)}; cases are {', '.join(CASES)}")
    if "--write" in arguments and (names != list(CASES) or "--hash" in arguments):
        sys.exit("--write replaces the whole table: without a case, and without --hash")
    for program, verb in ((CONTEND, "build"), (WORKER, "worker-system")):
        if not os.access(program, os.X_OK):
            sys.exit(f"{program} is missing: make {verb}")
    lines, good = [], True
    for name in names:
        if "--judge" not in arguments:
            run(name)
        more, holds = judged(name)
        lines, good = lines + more, good and holds
        print("\n".join(more), flush=True)
    if "--write" in arguments:
        write(lines, names[0])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
