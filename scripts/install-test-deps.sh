#!/usr/bin/env bash
# Installs what the tests need beyond Rust, where it may: a browser and a plotting program to look at
# reports with, Python for the worker that lies on purpose, the sqlite3 shell for the benchmarks.
set -euo pipefail

missing=()
for pair in chromium:chromium gnuplot:gnuplot-nox python3:python3 sqlite3:sqlite3; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "The tests need: ${missing[*]}. Install them with your package manager, then try again." >&2
  exit 2
fi
run=()
[ "$(id -u)" -eq 0 ] || run=(sudo)
echo "Installing for the tests: ${missing[*]}"
"${run[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
