#!/bin/sh
# Puts what a record of the study `durability` has found into docs/study-durability.md: when it was made and with what, its table, its
# planted faults and its cuts of a real kernel. `scripts/update-durability.sh RECORD`
set -eu
[ $# -eq 1 ] && [ -f "$1/run.toml" ] || {
    echo "usage: $0 RECORD; make one with: contend run durability --quick" >&2
    exit 2
}
page=$(dirname "$0")/../docs/study-durability.md
found=$(mktemp)
python3 - "$1" >"$found" <<'EOF'
import pathlib, re, sys, textwrap, tomllib

record = pathlib.Path(sys.argv[1])
read = lambda path: tomllib.loads(path.read_text())
wrapped = lambda text: textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
run = read(record / "run.toml")
trials = [read(path) for path in sorted(record.glob("trials/[0-9]*/trial.toml"))]
with_crashes = [trial for trial in trials if "powercut" in trial]
if not with_crashes or not run.get("finished"):
    sys.exit(f"{record} is not a finished record of crashes")

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
print(wrapped(
    f"`contend {out}`, {run['started'][:10]}: {count} settings, {study['rounds']} rounds of rates, models version {models}, contend {run['contend']}; "
    f"{'; '.join(sorted(versions))}. {machine['cores']} cores ({machine['cpu']}), Linux {machine['kernel']}, {run['disk']['file_system']}, a sync takes "
    f"{run['disk']['fsync_ns_p50'] / 1e6:.1f} ms. It took {run['finished']['elapsed_ns'] / 1e9:.0f} s. {len(trials) - invalid} of {len(trials)} trials count."
))
report = (record / "report.md").read_text().replace("\\_", "_").splitlines()
noted = [line.removeprefix("> **Note.** ") for line in report if line.startswith("> **Note.**") and "disturbed" in line]
for line in noted:
    print("\n" + wrapped(line))


def section(begins, takes):
    """Lines after a heading, or after the head of a table, up to the next heading."""
    at = next((at for at, line in enumerate(report) if line.startswith(begins)), None)
    if at is None:
        return []
    lines = report[at:]
    end = next((n for n, line in enumerate(lines[1:], 1) if line.startswith("#")), len(lines))
    return [line for line in lines[:end] if takes(line)]


print()
print("\n".join(section("| setting | promised", lambda line: line.startswith("|"))))
print()
print(wrapped(next((line for line in section("### Planted faults", lambda line: "planted fault" in line)), "")))
print()
print("\n".join(wrapped(line) for line in section("### A real kernel", lambda line: line and not line.startswith("#") and not line.startswith("|"))))
print()
print("\n".join(section("### A real kernel", lambda line: line.startswith("|"))))
print()
print(wrapped(next((line for line in section("## Crashes", lambda line: "images were rebuilt" in line)), "")))
EOF
awk -v found="$found" '
    $0 == "<!-- found: begin -->" { print; print ""; while ((getline line < found) > 0) print line; print ""; skip = 1; next }
    $0 == "<!-- found: end -->" { skip = 0 }
    !skip
' "$page" >"$page.new"
mv "$page.new" "$page"
rm "$found"
echo "$page" >&2
