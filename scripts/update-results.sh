#!/bin/sh
# Writes the tables `published | as published, here | corrected, here` into the page of a study:
#
#   scripts/update-results.sh STUDY [RECORD...]   takes the figures of records, then writes the page
#   scripts/update-results.sh --check             says which page is not what its figures make it
#
# Figures of records are kept in evidence/results/STUDY.toml, with where they are from; a record replaces the figures of its own
# parts. Published ones are those of the study file. Refused are a quick record, one that was interrupted, and one in which more
# than a quarter of the trials were disturbed.
set -eu
cd "$(dirname "$0")/.."
exec python3 scripts/results.py "$@"
