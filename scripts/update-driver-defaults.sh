#!/bin/sh
# Puts the tables of defaults of records of the study `languages` into docs/driver-defaults.md: those of every part that the records
# have, each with where it is from. `scripts/update-driver-defaults.sh RECORD...` The page is written as a whole or not at all.
set -eu
[ $# -gt 0 ] || {
    echo "usage: $0 RECORD...; make one with: contend run languages --full --set part=defaults" >&2
    exit 2
}
exec python3 - "$(dirname "$0")/../docs/driver-defaults.md" "$@" <<'EOF'
import hashlib, pathlib, re, sys, textwrap, tomllib

page, *records = map(pathlib.Path, sys.argv[1:])


def source(record):
    """What a record is: its command, date, contend's version, the hash of its run.toml, the libraries as they named themselves."""
    text = (record / "run.toml").read_bytes()
    run = tomllib.loads(text.decode())
    trials = [tomllib.loads(path.read_text()) for path in sorted(record.glob("trials/[0-9]*/trial.toml"))]
    command = re.sub(r" ?--(out|resume) \S+| --(quiet|allow-tmpfs)", "", " ".join(run["command"][1:]))
    trials.sort(key=lambda trial: trial["slot"]["contender"])
    libraries = {trial["workers"][0]["hello"]["driver"]: None for trial in trials if trial["workers"]}
    text = (
        f"From `contend {command}` of {run['started'][:10]}, contend {run['contend']}, Linux {run['machine']['kernel']}; run.toml has the SHA-256 "
        f"{hashlib.sha256(text).hexdigest()[:16]}... Libraries: {'; '.join(libraries)}."
    )
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def table(report):
    """The table of the report, without the mark-up of its names."""
    found = re.search(r"^#+ Defaults as found$.*?\n((?:\|[^\n]*\n)+)", report.read_text(), flags=re.MULTILINE | re.DOTALL)
    return found[1].replace("\\_", "_") if found else sys.exit(f"{report} has no table of defaults")


text = page.read_text()
for record in records:
    parts = [at.parent for at in sorted(record.glob("*/run.toml")) if re.search("(^|-)defaults$", at.parent.name)]
    if not parts:
        sys.exit(f"{record} is not a record with a part of defaults")
    for part in parts:
        begin, end = f"<!-- {part.name}: begin -->", f"<!-- {part.name}: end -->"
        block = f"{begin}\n\n{source(part)}\n\n{table(part / 'report.md')}\n{end}"
        text, count = re.subn(f"{begin}.*{end}", lambda _: block, text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"{page}: needs the lines `{begin}` and `{end}`")
page.write_text(text)
print(page, file=sys.stderr)
EOF
