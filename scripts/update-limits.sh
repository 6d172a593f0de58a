#!/bin/sh
# Writes what searches found into the page with the block of its name, in its place:
#
#   contend limit limits --quick --out results/limits
#   taskset -c 0 contend limit limits --quick --out results/one
#   contend limit async --quick --set part=files --of databases --bound 'response_ns_p95.read<=50ms' --out results/dbs
#   contend limit tests/fixtures/limit/study.toml --rounds 6 --bound 'response_ns_p50<=60ms' --budget 5min --window 2s --out results/lock
#   scripts/update-limits.sh results/limits limits results/one one-processor results/dbs databases
#
# A record that is not complete, or in which more than a quarter of the probes were disturbed, is refused.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { echo "usage: $0 DIRECTORY BLOCK [DIRECTORY BLOCK]..." >&2; exit 2; }
while [ $# -ge 2 ]; do
    python3 - "$1" "$2" <<'PYTHON'
import pathlib, re, sys, tomllib

record, name = pathlib.Path(sys.argv[1]), sys.argv[2]
search = tomllib.loads((record / "limit.toml").read_text())
probes = search["probes"]
disturbed = sum(probe.get("disturbed", False) for probe in probes)
if not search["complete"]:
    sys.exit(f"{record}: the search was stopped; run it again")
if disturbed * 4 > len(probes):
    sys.exit(f"{record}: {disturbed} of {len(probes)} probes were disturbed; run it again on a quieter machine")
report = (record / "report.txt").read_text()
found = re.search(r"^(?:What is the highest rate|With how many|Up to what).*?\n\n", report[report.index("\n"):], re.M | re.S)
if not found:
    sys.exit(f"{record}/report.txt has no answer; `contend report {record}` writes it again")
machine, disk = search["machine"], search.get("disk")
processors = "1 processor" if machine["cores"] == 1 else f"{machine['cores']} processors"
where = f"{machine['cpu']}, {processors}, kernel {machine['kernel']}"
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
begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
pages = [page for page in sorted(pathlib.Path("docs").glob("*.md")) if begin in page.read_text()]
if len(pages) != 1 or end not in pages[0].read_text():
    sys.exit(f"docs has no page, or several, with the block {name}")
page = pages[0]
text = page.read_text()
head, rest = text.split(begin)
_, tail = rest.split(end)
body = "\n".join(lines) + "\n\n```text\n" + found.group(0).strip() + "\n```"
page.write_text(f"{head}{begin}\n\n{body}\n\n{end}{tail}")
print(f"{page}: written from {record}")
PYTHON
    shift 2
done
