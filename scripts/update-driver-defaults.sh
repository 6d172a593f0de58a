#!/bin/sh
# Puts the tables of defaults of records of the study `languages` into docs/driver-defaults.md: those of every part that the records
# have and the page has a place for, each with where it is from. `scripts/update-driver-defaults.sh RECORD...`
set -eu
[ $# -gt 0 ] || {
    echo "usage: $0 RECORD...; make one with: contend run languages --full --set part=defaults" >&2
    exit 2
}
page=$(dirname "$0")/../docs/driver-defaults.md

# What a record is: its command, date, contend's version, the hash of its run.toml, the libraries as they named themselves.
source_of() {
    python3 - "$1" <<'EOF'
import hashlib, pathlib, re, sys, textwrap, tomllib

record = pathlib.Path(sys.argv[1])
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
print(textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False))
EOF
}

for record; do
    for dir in "$record"/*-defaults "$record"/defaults; do
        [ -f "$dir/run.toml" ] || continue
        part=$(basename "$dir")
        table=$(mktemp)
        source_of "$dir" >"$table.source"
        # The table of the report, without the mark-up of its names.
        awk '
            /^#+ Defaults as found$/ { found = 1; next }
            found && /^\|/ { gsub(/\\_/, "_"); print; rows++; next }
            found && rows { exit }
        ' "$dir/report.md" >"$table"
        [ -s "$table" ] || {
            echo "$dir/report.md has no table of defaults" >&2
            exit 1
        }
        awk -v part="$part" -v table="$table" '
            $0 == "<!-- " part ": begin -->" {
                print; print ""
                while ((getline line < (table ".source")) > 0) print line
                print ""
                while ((getline line < table) > 0) print line
                print ""
                skip = 1
                next
            }
            $0 == "<!-- " part ": end -->" { skip = 0 }
            !skip
        ' "$page" >"$page.new"
        mv "$page.new" "$page"
        rm "$table" "$table.source"
        echo "$page: part $part" >&2
    done
done
