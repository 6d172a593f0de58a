#!/usr/bin/env bash
# Opens the report of a record in headless Chromium and checks that its charts are drawn, that no script
# complains and that nothing is loaded from anywhere; that it violates no rule of WCAG's levels A and AA (axe-core), and
# that nothing is cut or overlaps, at 400 and 1,280 pixels, light and dark, and on paper; that every link leads to something,
# and that each chart has its data; then lets gnuplot draw the record's charts. The record of a search (limit.toml) and that
# of a watch (watch.json) have a page alone.
# Without an argument it makes small records first: of a study, of one with several parts, and of a search.
set -euo pipefail
cd "$(dirname "$0")/.."
contend=${CONTEND:-target/debug/contend}

fail() { echo "check-report: $*" >&2; exit 1; }

work=$(mktemp -d -p . .check-report.XXXXXX)
trap 'rm -rf "$work"' EXIT
record=${1:-}
if [ -z "$record" ]; then
  chmod o+x "$work" # root's servers run as another user
  small() { "$contend" "$@" --rounds 1 --quiet >/dev/null || [ $? = 1 ]; } # disturbed, which does not matter here
  small run --quick --window 200ms --out "$work/study"
  small run plex --quick --set part=cache,translation --window 200ms --out "$work/parts"
  small limit tests/fixtures/limit/planted.toml --quick --rates-only --window 200ms --only '*durable' --out "$work/limit"
  for record in study parts limit; do "$0" "$work/$record"; done
  # Faults that must be found.
  mkdir "$work/broken"
  for fault in 's/href="#answer"/href="#nowhere"/ nowhere' 's/data-tip=/data-none=/g no.data.of'; do
    sed "${fault% *}" "$work/study/report.html" >"$work/broken/report.html"
    if "$0" "$work/broken" >"$work/said" 2>&1; then fail "this fault is not found: ${fault% *}"; fi
    grep -q "^COMPLAINT.*${fault##* }" "$work/said" || fail "another fault than ${fault% *} is found: $(cat "$work/said")"
  done
  exit
fi

page=$(realpath "$record")/report.html
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --host-resolver-rules="MAP * ~NOTFOUND" \
  --user-data-dir="$(realpath "$work")/profile" --enable-logging=stderr \
  --virtual-time-budget=3000 --dump-dom "file://$page" >"$work/dom.html" 2>"$work/log"

least=4
alone=
if [ -f "$record/limit.toml" ] || [ -f "$record/watch.json" ]; then alone=1 least=2; fi
charts=$(grep -o '<svg' "$work/dom.html" | wc -l)
[ "$charts" -ge $least ] || fail "only $charts charts in $page"
grep -q 'data-ready="true"' "$work/dom.html" || fail "the script of $page did not run to its end"
if grep -E 'CONSOLE.*(error|Error|Refused|violates)' "$work/log"; then fail "the browser complains about $page"; fi
# A link that somebody may follow loads nothing. What the browser could not get, for want of any name, it does not tell.
loads='<link[^>]+href=[^>]*|src="?(https?:)?//[^" >]*|url\(["'\'']?(https?:)?//[^)]*|@import[^;]*|fetch\([^)]*'
if tr '\n' ' ' <"$page" | grep -Eo "$loads"; then fail "$page loads something"; fi

# Files that the page links to, whole reports of parts among them.
python3 - "$page" <<'PYTHON' || fail "$page has a link to nothing"
import pathlib, sys, urllib.parse
from html.parser import HTMLParser

page, missing = pathlib.Path(sys.argv[1]), []

class Links(HTMLParser):
    def handle_starttag(self, tag, attributes):
        for target in (value for name, value in attributes if name in ("href", "src")):
            url = urllib.parse.urlsplit(target)
            if not url.scheme and url.path and not (page.parent / urllib.parse.unquote(url.path)).is_file():
                missing.append(target)

Links().feed(page.read_text())
for target in missing:
    print(f"no file {target}", file=sys.stderr)
sys.exit(bool(missing))
PYTHON

# People: axe-core, and what it does not see, in a frame as wide as a phone's screen and as a desktop's.
mkdir -p target/axe-core
axe=$(scripts/fetch-npm-package.sh axe-core 4.14.1 e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745 target/axe-core)
tar xzf "$axe" -C "$work" package/axe.min.js
python3 - "$page" "$work" <<'PYTHON'
import pathlib, sys
page, work = (pathlib.Path(argument) for argument in sys.argv[1:])
text = page.read_text()
scripts = [work / "package/axe.min.js", pathlib.Path("scripts/probe-report.js")]
added = "".join("<script>" + script.read_text().replace("</script", "<\\/script") + "</script>\n" for script in scripts)
end = text.rindex("</body>")
(work / "probed.html").write_text(text[:end] + added + text[end:])
# A4 with the browser's margins is 718 pixels wide.
frames = [("400", 400, ""), ("1280", 1280, ""), ("paper", 718, "#print")]
for name, frames in (("dark", frames[:2]), ("light", frames)):
    inner = "".join(
        f'<iframe name="{frame}" src="probed.html{hash}" width="{width}" height="900" style="border: 0"></iframe>'
        for frame, width, hash in frames
    )
    (work / f"{name}.html").write_text(
        f"""<!doctype html><title>frames</title>{inner}<pre></pre>
<script>addEventListener("message", ({{ data, source }}) => {{
  const frame = [...document.querySelectorAll("iframe")].find((one) => one.contentWindow === source).name;
  const lines = data.complaints.map((line) => `COMPLAINT at ${{frame}}, {name}: ${{line.replaceAll("\\n", " ")}}`);
  document.querySelector("pre").append("\\n" + [...lines, `PROBED ${{frame}}: ${{data.rules}} rules`].join("\\n") + "\\n");
}});</script>""")
PYTHON
for scheme in dark light; do
  chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --host-resolver-rules="MAP * ~NOTFOUND" --window-size=1400,1000 \
    --user-data-dir="$(realpath "$work")/profile" --blink-settings=preferredColorScheme=$([ $scheme = dark ]; echo $?) \
    --virtual-time-budget=60000 --dump-dom "file://$(realpath "$work")/$scheme.html" >"$work/probed.dom" 2>/dev/null
  for frame in 400 1280 $([ $scheme = dark ] || echo paper); do
    grep -Eq "^PROBED $frame: [1-9]" "$work/probed.dom" || fail "axe-core did not come to its end at $frame, $scheme"
  done
  if grep '^COMPLAINT' "$work/probed.dom"; then fail "$page: see above"; fi
done

# The browser can print it: a page of paper or more, with something on it.
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --host-resolver-rules="MAP * ~NOTFOUND" --virtual-time-budget=3000 \
  --user-data-dir="$(realpath "$work")/profile" --no-pdf-header-footer --print-to-pdf="$work/report.pdf" "file://$page" 2>/dev/null
sheets=$(grep -ac '/Type /Page$' "$work/report.pdf" || true)
[ "$sheets" -ge 1 ] && [ "$(stat -c %s "$work/report.pdf")" -gt 20000 ] || fail "the browser printed $sheets pages of $page"

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
if [ -z "$alone" ]; then
  [ "$drawn" -ge 1 ] && [ -n "$(find "$record" -name '*.png' -size +1k)" ] || fail "gnuplot drew nothing"
fi

# A CSV in a study's own columns, imported and drawn.
"$contend" report --import tests/fixtures/many-databases.csv --out "$work/imported" >/dev/null
for script in "$work"/imported/*.gnuplot; do draw "$script"; done
[ -n "$(find "$work/imported" -name '*.png' -size +1k)" ] || fail "gnuplot drew nothing of an imported CSV"
echo "check-report: $charts charts, $sheets printed pages, $drawn gnuplot scripts, no complaints"
