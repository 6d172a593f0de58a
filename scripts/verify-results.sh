#!/bin/sh
# Runs studies as published again, with the commands of the kept records, and says for each table whether it repeats within the
# tolerance of scripts/results.toml. `scripts/verify-results.sh [STUDY...]`; without a study all five, which takes about an hour
# of a quiet machine. Records are left in target/verify/results. The exit status is 1 if a table does not repeat on a machine
# with the same processors, and 2 if none could be compared.
set -eu
cd "$(dirname "$0")/.."
exec python3 scripts/results.py --verify "$@"
