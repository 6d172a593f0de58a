#!/usr/bin/env bash
# Opens the report of a record in headless Chromium and checks that its charts are drawn, that no script
# complains and that nothing is loaded from anywhere; then lets gnuplot draw the record's charts.
# Without an argument it makes a small record first.
set -euo pipefail
cd "$(dirname "$0")/.."
contend=${CONTEND:-target/debug/contend}

work=$(mktemp -d -p . .check-report.XXXXXX)
trap 'rm -rf "$work"' EXIT
record=${1:-}
if [ -z "$record" ]; then
  record=$work/record
  "$contend" run --quick --rounds 1 --window 200ms --out "$record" --quiet >/dev/null || [ $? = 1 ] # disturbed, which does not matter here
fi

fail() { echo "check-report: $*" >&2; exit 1; }

page=$(realpath "$record")/report.html
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --host-resolver-rules="MAP * ~NOTFOUND" \
  --user-data-dir="$(realpath "$work")/profile" --enable-logging=stderr \
  --virtual-time-budget=3000 --dump-dom "file://$page" >"$work/dom.html" 2>"$work/log"

charts=$(grep -o '<svg' "$work/dom.html" | wc -l)
[ "$charts" -ge 4 ] || fail "only $charts charts in $page"
grep -q 'data-ready="true"' "$work/dom.html" || fail "the script of $page did not run to its end"
if grep -E 'CONSOLE.*(error|Error|Refused|violates)' "$work/log"; then fail "the browser complains about $page"; fi
# A link that somebody may follow loads nothing. What the browser could not get, for want of any name, it does not tell.
loads='<link[^>]+href=[^>]*|src="?(https?:)?//[^" >]*|url\(["'\'']?(https?:)?//[^)]*|@import[^;]*|fetch\([^)]*'
if tr '\n' ' ' <"$page" | grep -Eo "$loads"; then fail "$page loads something"; fi

# Every script of a record, those of its parts and of what the study exports included.
command -v gnuplot >/dev/null || fail "gnuplot is not installed (make test-deps)"
drawn=0
draw() {
  (cd "$(dirname "$1")" && gnuplot -e "outdir='.'" "$(basename "$1")") || fail "gnuplot cannot run $1"
  drawn=$((drawn + 1))
}
for script in "$record"/*.gnuplot "$record"/*/*.gnuplot; do
  if [ -e "$script" ]; then draw "$script"; fi
done
[ "$drawn" -ge 1 ] && [ -n "$(find "$record" -name '*.png' -size +1k)" ] || fail "gnuplot drew nothing"

# A CSV in a study's own columns, imported and drawn.
"$contend" report --import tests/fixtures/many-databases.csv --out "$work/imported" >/dev/null
for script in "$work"/imported/*.gnuplot; do draw "$script"; done
[ -n "$(find "$work/imported" -name '*.png' -size +1k)" ] || fail "gnuplot drew nothing of an imported CSV"
echo "check-report: $charts charts, $drawn gnuplot scripts, no complaints"
