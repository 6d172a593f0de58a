#!/bin/sh
# Puts what a record of the study `durability` has found into docs/study-durability.md: when it was made and with what, its table, its
# planted faults and its cuts of a real kernel. `scripts/update-durability.sh RECORD`
# Refused is a record that is not finished, in which more than a quarter of the trials were disturbed, or whose report lacks a part
# of the page.
set -eu
[ $# -eq 1 ] && [ -f "$1/run.toml" ] || {
    echo "usage: $0 RECORD; make one with: contend run durability --quick" >&2
    exit 2
}
exec python3 - "$1" "$(dirname "$0")/../docs/study-durability.md" <<'EOF'
import pathlib, re, sys, textwrap, tomllib

record, page = map(pathlib.Path, sys.argv[1:])
read = lambda path: tomllib.loads(path.read_text())
wrapped = lambda text: textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
run = read(record / "run.toml")
trials = [read(path) for path in sorted(record.glob("trials/[0-9]*/trial.toml"))]
with_crashes = [trial for trial in trials if "powercut" in trial]
if not with_crashes or not run.get("finished"):
    sys.exit(f"{record} is not a finished record of crashes")
disturbed = sum(any(mark["kind"].startswith("noisy") for mark in trial.get("marks", [])) for trial in trials)
if disturbed * 4 > len(trials):
    sys.exit(f"{record}: {disturbed} of {len(trials)} trials were disturbed; run it again on a quieter machine")

versions = set()
for trial in trials:
    server = trial.get("server")
    versions.add(f"{trial['contender'].split('/')[0]} {server['version']}" if server else trial["workers"][0]["hello"]["engine"])
study, machine = run["study"], run["machine"]
count = len({trial["slot"]["contender"] for trial in trials})
invalid = sum(1 for trial in trials if trial["invalid"])
models = ", ".join(sorted({str(trial["powercut"]["models_version"]) for trial in with_crashes}))
command = " ".join(word for word in run["command"][1:])
out = re.sub(r" ?--(out|resume) \S+| --(quiet|allow-tmpfs)", "", command)
found = [wrapped(
    f"`contend {out}`, {run['started'][:10]}: {count} settings, {study['rounds']} rounds of rates, models version {models}, contend {run['contend']}; "
    f"{'; '.join(sorted(versions))}. {machine['cores']} cores ({machine['cpu']}), Linux {machine['kernel']}, {run['disk']['file_system']}, a sync takes "
    f"{run['disk']['fsync_ns_p50'] / 1e6:.1f} ms. It took {run['finished']['elapsed_ns'] / 1e9:.0f} s. {len(trials) - invalid} of {len(trials)} trials count."
)]
report = (record / "report.md").read_text().replace("\\_", "_").splitlines()
noted = [line.removeprefix("> **Note.** ") for line in report if line.startswith("> **Note.**") and "disturbed" in line]
found += map(wrapped, noted)


def section(begins, takes):
    """Lines after a heading, or after the head of a table, up to the next heading."""
    at = next((at for at, line in enumerate(report) if line.startswith(begins)), None)
    lines = report[at:] if at is not None else []
    end = next((n for n, line in enumerate(lines[1:], 1) if line.startswith("#")), len(lines))
    lines = [line for line in lines[:end] if takes(line)]
    if not lines:
        sys.exit(f"{record}/report.md has nothing for the page under {begins}")
    return lines


is_row = lambda line: line.startswith("|")
found.append("\n".join(section("| setting | promised", is_row)))
found.append(wrapped(section("### Planted faults", lambda line: "planted fault" in line)[0]))
found += map(wrapped, section("### A real kernel", lambda line: line and line[0] not in "#|"))
# Without User-Mode Linux there is no table.
kernel = section("### A real kernel", bool)
found += ["\n".join(filter(is_row, kernel))] if any(map(is_row, kernel)) else []
found.append(wrapped(section("## Crashes", lambda line: "images were rebuilt" in line)[0]))
begin, end = "<!-- found: begin -->", "<!-- found: end -->"
text, count = re.subn(f"{begin}.*{end}", lambda _: "\n\n".join([begin, *found, end]), page.read_text(), flags=re.DOTALL)
if count != 1:
    sys.exit(f"{page}: needs the lines `{begin}` and `{end}`")
page.write_text(text)
print(page, file=sys.stderr)
EOF
