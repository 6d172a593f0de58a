#!/bin/sh
# Writes what a search found into docs/limits.md, in place of the block before it:
#
#   contend limit limits --quick --out results/limits
#   scripts/update-limits.sh results/limits
#
# A record that is not complete, or in which more than a quarter of the probes were disturbed, is refused.
set -eu
cd "$(dirname "$0")/.."
exec python3 - "${1:?a directory that contend limit wrote}" docs/limits.md <<'PYTHON'
import pathlib, re, sys, tomllib

record, page = map(pathlib.Path, sys.argv[1:])
search = tomllib.loads((record / "limit.toml").read_text())
probes = search["probes"]
disturbed = sum(probe.get("disturbed", False) for probe in probes)
if not search["complete"]:
    sys.exit(f"{record}: the search was stopped; run it again")
if disturbed * 4 > len(probes):
    sys.exit(f"{record}: {disturbed} of {len(probes)} probes were disturbed; run it again on a quieter machine")
report = (record / "report.txt").read_text()
found = re.search(r"^What is the highest rate.*?\n\n|^Up to what.*?\n\n", report[report.index("\n"):], re.M | re.S)
if not found:
    sys.exit(f"{record}/report.txt has no answer; `contend report {record}` writes it again")
machine, disk = search["machine"], search.get("disk")
where = f"{machine['cpu']}, {machine['cores']} processors, kernel {machine['kernel']}"
if disk:
    where += f", {disk['file_system']}, an fsync of {disk['fsync_ns_p50'] / 1e6:.2f} ms in median"
spent = search.get("budget", {}).get("spent_ns")
took = f", in {spent / 1e9:.0f} s" if spent else ""
block = (
    f"Measured on {search['started'][:10]} with contend {search['contend']}{took}, {len(probes)} probes of which "
    f"{disturbed} {'was' if disturbed == 1 else 'were'} disturbed ({where}):"
)
lines, line = [], ""
for word in block.split():
    if len(line) + 1 + len(word) > 100:
        lines.append(line)
        line = ""
    line = f"{line} {word}".strip()
lines.append(line)
text = page.read_text()
begin, end = "<!-- limits: begin -->", "<!-- limits: end -->"
head, rest = text.split(begin)
_, tail = rest.split(end)
# What is before the block says that it is an illustration, until there is a measurement.
head = re.sub(r"A report begins like this\..*?\n\n$", "A report begins like this.\n\n", head, flags=re.S)
body = "\n".join(lines) + "\n\n```text\n" + found.group(0).strip() + "\n```"
page.write_text(f"{head}{begin}\n\n{body}\n\n{end}{tail}")
print(f"{page}: written from {record}")
PYTHON
