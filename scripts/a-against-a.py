#!/usr/bin/env python3
"""Compares a contender with itself many times (examples/itself.toml) and counts how often contend claims a difference.

scripts/a-against-a.py RUNS [CONTEND]: prints a line for the table of docs/methodology.md.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def result(contend, seed):
    with tempfile.TemporaryDirectory() as out:
        run = [contend, "run", ROOT / "examples/itself.toml", "--seed", str(seed), "--out", f"{out}/record", "--json"]
        done = subprocess.run(run, stdout=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"run {seed} ended with {done.returncode}")
        return json.loads(done.stdout)


def main(runs, contend=ROOT / "target/release/contend"):
    words, again, disturbed = [], 0, 0
    for seed in range(1, runs + 1):
        found = result(contend, seed)
        words += [comparison["comparison"]["verdict"]["word"] for comparison in found["comparisons"]]
        again += len(found["again"]) // 2
        disturbed += bool(found["again"])
        print(f"{seed} of {runs}: {', '.join(words[-len(found['comparisons']):])}", file=sys.stderr)
    claims = sum(word.endswith(("faster", "slower")) for word in words)
    print("| runs | with disturbed rounds | rounds that ran again | comparisons | claims |")
    print("|--:|--:|--:|--:|--:|")
    print(f"| {runs} | {disturbed} | {again} | {len(words)} | {claims}, {100 * claims / len(words):.1f} % |")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
