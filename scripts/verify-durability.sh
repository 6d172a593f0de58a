#!/bin/sh
# The figures of the study of crashes: 5,000 and more images of every SQLite setting, 100 and more of every server, judged by
# the tool itself: a run with a control that does not hold, or with a trial that does not count, fails. Leaves its record and
# report in $1 (default target/verify/durability), which must not be there yet. A real kernel is cut five times for each setting
# that can be held against one, on ext4, XFS and btrfs in turn; what that needs is installed where it may be. Without User-Mode
# Linux the report, and this script, say NOT VERIFIED.
set -eu
cd "$(dirname "$0")/.."
out=${1:-target/verify/durability}
if [ -e "$out" ]; then
    echo "$out is there already; remove it or name another directory" >&2
    exit 2
fi
scripts/install-kernel.sh || echo "$0: going on without; the models will not be held against a real kernel" >&2
mkdir -p "$(dirname "$out")"
target/release/contend run durability --quick --set kernel_cuts=5 --out "$out"
echo "The report is $out/report.html; what it proves for other machines:"
target/release/contend durability evidence "$out" >"$out/evidence.toml"
echo "$out/evidence.toml"
grep "NOT VERIFIED" "$out/report.md" || true
