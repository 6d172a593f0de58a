#!/usr/bin/env python3
"""What the proxy of contend capture --listen adds to the time of a statement, by `cargo bench --bench capture`.

Prints a table; --write puts it into docs/capture.md. Takes about a minute after the build, on a quiet machine.
"""

import datetime
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/capture.md"
BEGIN, END = "<!-- proxy-latency: begin -->", "<!-- proxy-latency: end -->"
LINE = re.compile(
    r"^\s*(?P<work>[a-z][^:]*): +(?P<direct>\S+) us, (?P<added>\S+) us \((?P<low>\S+) to (?P<high>\S+)\); "
    r"the proxy used (?P<used>\S+) us of processor time$",
    re.MULTILINE,
)


def table(text):
    rows = [
        f"| {one['work']} | {one['direct']} us | {one['added']} us ({one['low']} to {one['high']}) | {one['used']} us |"
        for one in LINE.finditer(text)
    ]
    if not rows:
        sys.exit(f"the bench printed no figures:\n{text}")
    processor = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    about = (
        f"Measured on {datetime.date.today()} with PostgreSQL on the same machine, {os.cpu_count()} processors "
        f"({processor[1] if processor else 'unknown'}), over TCP, with prepared statements. Middle of 9 turns, each with 4,000 "
        "statements of each client directly and 4,000 through the proxy; in brackets the lowest and the highest turn:"
    )
    return [
        *textwrap.wrap(about, 100),
        "",
        "| statements | directly | the proxy adds | its processor time |",
        "|---|---|---|---|",
        *rows,
    ]


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        raise SystemExit(__doc__)
    bench = ["cargo", "bench", "--quiet", "--bench", "capture", "--", "clients"]
    lines = table(subprocess.run(bench, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
    print("\n".join(lines))
    if sys.argv[1:]:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + "\n".join([BEGIN, *lines, END]) + rest.split(END)[1])


if __name__ == "__main__":
    main()
