#!/bin/sh
# Writes which random lies of a worker are found into docs/methodology.md. The number of rounds is CONTEND_LIES (500 rounds
# tell 500 lies and 500 honest trials), the choice of lies follows from CONTEND_LIES_SEED.
set -eu
cd "$(dirname "$0")/.."
CONTEND_LIES=${CONTEND_LIES:-500}
export CONTEND_LIES
out=$(cargo test --test trial lies::lies_are_found -- --nocapture)
table=$(printf '%s\n' "$out" | grep '^| ')
honest=$(printf '%s\n' "$out" | sed -n 's/^honest trials: //p')
[ -n "$table" ] && [ -n "$honest" ] || { printf '%s\n' "$out" >&2; exit 1; }
page=docs/methodology.md
{
    sed '/^<!-- lies -->$/q' $page
    printf '\nOn %s, seed %s; honest trials as well: %s.\n\n%s\n\n' \
        "$(date +%F)" "${CONTEND_LIES_SEED:-1}" "$honest" "$table"
    sed -n '/^<!-- end of lies -->$/,$p' $page
} > $page.new
mv $page.new $page
