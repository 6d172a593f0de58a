#!/bin/sh
# Runs the commands of the kept records again, as published and corrected, and says for each table whether it repeats: figures as
# published within the tolerance of scripts/results.toml, corrected medians near their kept rounds. `scripts/verify-results.sh
# [STUDY...]`; without a study all that have tables, which takes many hours of a quiet machine. Records are left in
# target/verify/results. The exit status is 1 if a table does not repeat on a machine with the same processors, and 2 if none
# could be compared.
set -eu
cd "$(dirname "$0")/.."
exec python3 scripts/results.py --verify "$@"
