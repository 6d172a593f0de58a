#!/bin/sh
# Writes into docs/methodology.md which random lies of a worker are found: `scripts/update-lies.sh [OUTPUT...]`. OUTPUT is a file with
# what `cargo test --test trial lies::lies_are_found -- --nocapture` printed. Rows of several are added; their seeds differ, and
# their windows do not. Without one the test runs: CONTEND_LIES is the number of rounds (500 rounds are 500 lies and 500 honest
# trials), CONTEND_LIES_WINDOW the length of the windows, and CONTEND_LIES_SEED chooses the lies.
set -eu
root=$(dirname "$0")/..
if [ $# -eq 0 ]; then
    export CONTEND_LIES="${CONTEND_LIES:-500}" CONTEND_LIES_WINDOW="${CONTEND_LIES_WINDOW:-2s}"
    out=$(mktemp)
    trap 'rm -f "$out"' EXIT
    trap 'exit 130' INT TERM
    (cd "$root" && cargo test --test trial lies::lies_are_found -- --nocapture) >"$out" || { cat "$out" >&2; exit 1; }
    set -- "$out"
fi
python3 - "$root/docs/methodology.md" "$@" <<'EOF'
import collections, pathlib, re, sys, textwrap

page, *outputs = map(pathlib.Path, sys.argv[1:])
dates, seeds, windows = [], [], set()
sums, rows = [0] * 4, {}
for output in outputs:
    text = output.read_text()
    run = re.search(r"^run of (\S+), seed (\S+), windows of (\S+)$", text, re.M)
    honest = re.search(r"^honest trials: (\d+), of which (\d+) are", text, re.M)
    verdicts = re.search(r"^of those that can change a verdict: (\d+) of (\d+)$", text, re.M)
    if not (run and honest and verdicts):
        sys.exit(f"{output}: not the output of a whole run of the test")
    dates.append(run[1])
    seeds.append(run[2])
    windows.add(run[3])
    sums = [sum(pair) for pair in zip(sums, map(int, (*honest.groups(), *verdicts.groups())))]
    for *key, told, found, by in re.findall(r"^\| (.+?) \| (.+?) \| (\d+) \| (\d+) \| (.*) \|$", text, re.M):
        row = rows.setdefault(tuple(key), collections.Counter())
        row.update({"told": int(told), "found": int(found)})
        row.update({word: int(count) for word, count in re.findall(r"(`\S+`) (\d+)", by)})
if len(set(seeds)) < len(seeds) or len(windows) > 1:
    sys.exit(f"seeds must differ and windows must not: {', '.join(seeds)}; {', '.join(sorted(windows))}")
block = [textwrap.fill(
    f"On {' and '.join(sorted(set(dates)))}, seed {', '.join(seeds)}, windows of {windows.pop()}, workload `bank` on SQLite with WAL and with a "
    f"rollback journal. Found of the lies that can change a verdict (all but `swap`): {sums[2]} of {sums[3]}. Honest trials: {sums[0]}, "
    f"of which {sums[1]} are invalid for a reason that a lie would give.", 100, break_long_words=False, break_on_hyphens=False)]
table = ["| lie | size | told | found | by |", "|---|---|---|---|---|"]
for (kind, size), row in sorted(rows.items()):
    told, found = row.pop("told"), row.pop("found")
    table.append(f"| {kind} | {size} | {told} | {found} | {', '.join(f'{word} {count}' for word, count in sorted(row.items()))} |")
block.append("\n".join(table))
begin, end = "<!-- lies -->", "<!-- end of lies -->"
text, count = re.subn(f"{begin}.*{end}", lambda _: "\n\n".join([begin, *block, end]), page.read_text(), flags=re.DOTALL)
if count != 1:
    sys.exit(f"{page}: needs the lines `{begin}` and `{end}`")
page.write_text(text)
EOF
