#!/bin/sh
# Writes into docs/methodology.md which random lies of a worker are found. CONTEND_LIES is the number of rounds (500 rounds
# are 500 lies and 500 honest trials), CONTEND_LIES_WINDOW the length of the windows. CONTEND_LIES_SEED chooses the lies.
# CONTEND_LIES_OUTPUT is a file with the output of such a run of the test, to be written without another run.
set -eu
cd "$(dirname "$0")/.."
CONTEND_LIES=${CONTEND_LIES:-500}
CONTEND_LIES_WINDOW=${CONTEND_LIES_WINDOW:-2s}
export CONTEND_LIES CONTEND_LIES_WINDOW
out=${CONTEND_LIES_OUTPUT:+$(cat "$CONTEND_LIES_OUTPUT")}
[ -n "$out" ] || out=$(cargo test --test trial lies::lies_are_found -- --nocapture)
table=$(printf '%s\n' "$out" | grep '^|[ -]')
honest=$(printf '%s\n' "$out" | sed -n 's/^honest trials: //p')
verdicts=$(printf '%s\n' "$out" | sed -n 's/^of those that can change a verdict: //p')
[ -n "$table" ] && [ -n "$honest" ] && [ -n "$verdicts" ] || { printf '%s\n' "$out" >&2; exit 1; }
page=docs/methodology.md
{
    sed '/^<!-- lies -->$/q' $page
    printf '\nOn %s, seed %s, windows of %s, workload `bank` on SQLite with WAL and with a rollback journal. Found of the lies
that can change a verdict (all but `swap`): %s. Honest trials: %s.\n\n' \
        "$(date +%F)" "${CONTEND_LIES_SEED:-1}" "$CONTEND_LIES_WINDOW" "$verdicts" "$honest" | fmt -w 100
    printf '%s\n\n' "$table"
    sed -n '/^<!-- end of lies -->$/,$p' $page
} > $page.new
mv $page.new $page
