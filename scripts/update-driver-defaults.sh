#!/bin/sh
# Puts the tables of defaults of records of the study `languages` into docs/driver-defaults.md: those of every part that the records
# have and the page has a place for. `scripts/update-driver-defaults.sh RECORD...`
set -eu
[ $# -gt 0 ] || {
    echo "usage: $0 RECORD...; make one with: contend run languages --full --set part=defaults" >&2
    exit 2
}
page=$(dirname "$0")/../docs/driver-defaults.md
for record; do
    for dir in "$record"/*-defaults "$record"/defaults; do
        [ -f "$dir/run.toml" ] || continue
        part=$(basename "$dir")
        table=$(mktemp)
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
            $0 == "<!-- " part ": begin -->" { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
            $0 == "<!-- " part ": end -->" { skip = 0 }
            !skip
        ' "$page" >"$page.new"
        mv "$page.new" "$page"
        rm "$table"
        echo "$page: part $part" >&2
    done
done
