#!/bin/sh
# What a Python worker costs beside a bare loop in Python on the same library. READS, turns and so on are in the script.
set -eu
cd "$(dirname "$0")/.."
scripts/build-workers-python.sh
echo "Python workers against a bare loop on the same library, rows by rowid; 5,000 reads a turn; $(target/workers/python/venv/bin/python --version)"
exec target/workers/python/venv/bin/python -B workers/python/bench/point_read.py
