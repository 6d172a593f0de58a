#!/usr/bin/env bash
# What a Python worker costs beside a bare loop in Python on the same library: rows by rowid from SQLite, by primary key from
# private servers over the Unix socket. Arguments are names of drivers; reads, turns and so on are in the program.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v "${PYTHON:-python3}" >/dev/null || { echo "Python workers: Python is not installed"; exit 0; }
scripts/build-workers-python.sh

# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
python=target/workers/python/venv/bin/python
echo "Python workers against a bare loop on the same library, rows by rowid or primary key; $($python --version)"
$python -B workers/python/bench/point_read.py "$@"
