#!/bin/sh
# Writes the tables `published | as published, here | corrected, here` into the page of a study:
#
#   scripts/update-results.sh STUDY [RECORD...]   takes the figures of records, then writes the page
#   scripts/update-results.sh --check             says which page is not what its figures make it
#
# Figures of records are kept in evidence/results/STUDY.toml, with where they are from. Published ones are those of the
# study file. A record in which more than a quarter of the trials were disturbed is refused.
set -eu
cd "$(dirname "$0")/.."
exec python3 scripts/update-results.py "$@"
