#!/usr/bin/env python3
"""What contend capture gets from each language and driver: every statement, or a sentence that it is missing.

Runs the programs in tests/capture/matrix and compares with the table in docs/capture.md, which --write replaces. Exit status
1: a program lost statements without a word, ran another SQLite than without a capture, or the page says something else. Needs
`cargo build`, `cargo test --no-run --test capture` and `make workers`. With --built it takes only what is here already, and
uses no network.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = Path(os.environ.get("CONTEND", ROOT / "target/debug/contend"))
PROGRAMS = ROOT / "tests/capture/matrix"
WORKERS = ROOT / "target/workers"
INSERTS, SELECTS = 20, 10
# The Node that the packages were built for comes first, if scripts/build-workers-node.sh has fetched one.
os.environ["PATH"] = f"{WORKERS}/node/runtime/bin:{os.environ['PATH']}"
ONLY_BUILT, WRITE = sys.argv[1:] == ["--built"], sys.argv[1:] == ["--write"]


class Missing(Exception):
    """A part of a case that is not on this machine."""


def needs(*paths):
    for path in paths:
        if not (Path(path).exists() or shutil.which(path)):
            raise Missing(path)

BEGIN, END = "<!-- capture-matrix: begin -->", "<!-- capture-matrix: end -->"


def go(driver, *tags):
    needs("go")
    # Without a package's sources in Go's cache, or with one that takes minutes to compile.
    if ONLY_BUILT and driver != "mattn":
        raise Missing(f"time to compile {driver}")
    out = ROOT / "target/capture-matrix" / "-".join([driver, *tags])
    out.parent.mkdir(parents=True, exist_ok=True)
    files = [str(PROGRAMS / "program.go"), str(PROGRAMS / f"{driver}.go")]
    offline = {"GOPROXY": "off", "GOFLAGS": "-mod=mod"} if ONLY_BUILT else {}
    command = ["go", "build", *(f"-tags={tag}" for tag in tags), "-o", out, *files]
    if subprocess.run(command, cwd=ROOT / "workers/go", env=os.environ | offline).returncode != 0:
        raise Missing(f"{driver} in Go's cache") if ONLY_BUILT else SystemExit(f"{driver} does not compile")
    return [str(out)]


def c():
    needs("cc")
    out = ROOT / "target/capture-matrix/c"
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-o", out, PROGRAMS / "program.c", "-lsqlite3"], check=True)
    return [str(out)]


def python(interpreter, module):
    needs(interpreter)
    return [str(interpreter), "-B", str(PROGRAMS / "program.py"), module]


def pysqlite3():
    made = subprocess.run([ROOT / "scripts/python-for-tests.sh", *["--built"] * ONLY_BUILT], stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        raise Missing("pysqlite3-binary")
    return python(made.stdout.strip(), "pysqlite3")


def node(package):
    link = WORKERS / "node/node_modules"
    needs("node", link / package)
    return ["env", f"NODE_PATH={link}", "node", str(PROGRAMS / "program.js"), package]


def php(extension):
    needs("php")
    return ["php", str(PROGRAMS / "program.php"), extension]


def java():
    needs("java", WORKERS / "java/lib")
    return ["java", "-cp", f"{WORKERS}/java/lib/*", str(PROGRAMS / "Program.java")]


def rusqlite():
    """The test program itself, which has rusqlite with its bundled SQLite."""
    named = os.environ.get("CONTEND_CAPTURE_TESTS")
    built = [path for path in (ROOT / "target/debug/deps").glob("capture-*") if os.access(path, os.X_OK) and path.is_file()]
    built.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    # A crate's tests have this name, too.
    has_it = lambda path: "bundled_rusqlite" in subprocess.run([path, "--list"], capture_output=True, text=True).stdout  # noqa: E731
    tests = named or next(filter(has_it, built), None)
    if not tests:
        raise Missing("cargo test --no-run --test capture")
    script = '"$0" --ignored --exact --nocapture matrix::bundled_rusqlite | grep -o "SQLite [0-9.]*" | cut -c8-'
    return ["sh", "-c", f'CONTEND_MATRIX_DB="$1" {script.replace("$0", str(tests))}', "sh"]


def shell():
    needs("sqlite3")
    inserts = "".join(f"INSERT INTO thing (name) VALUES ('thing {i}');" for i in range(INSERTS))
    selects = "".join(f"SELECT name FROM thing WHERE id = {i + 1};" for i in range(SELECTS))
    create = "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT);"
    return ["sh", "-c", f'sqlite3 "$0" "{create} BEGIN; {inserts} COMMIT; {selects} SELECT sqlite_version()" | tail -1']


CASES = [
    ("Python, system: `sqlite3`", lambda: python("/usr/bin/python3", "sqlite3")),
    ("Python, pyenv: `sqlite3`", lambda: python(sys.executable, "sqlite3")),
    ("Python: `apsw` (wheel)", lambda: python(WORKERS / "python/venv/bin/python", "apsw")),
    ("Python: `pysqlite3-binary`", pysqlite3),
    ("PHP: PDO", lambda: php("pdo")),
    ("PHP: SQLite3", lambda: php("sqlite3")),
    ("`sqlite3` shell", shell),
    ("C, `-lsqlite3`", c),
    ("Go: mattn/go-sqlite3, `-tags libsqlite3`", lambda: go("mattn", "libsqlite3")),
    ("Go: mattn/go-sqlite3", lambda: go("mattn")),
    ("Go: modernc.org/sqlite", lambda: go("modernc")),
    ("Go: ncruces/go-sqlite3", lambda: go("ncruces")),
    ("Node: `sqlite3`", lambda: node("sqlite3")),
    ("Node: `better-sqlite3`", lambda: node("better-sqlite3")),
    ("Java: sqlite-jdbc", java),
    ("Rust: rusqlite with `bundled`", rusqlite),
]


def count(summary, begin):
    texts = [one for one in summary["statements"] if one["text"].startswith(begin)]
    return sum(one["count"] for one in texts), sum(one["rows"] + one["changes"] for one in texts)


def measure(name, command):
    with tempfile.TemporaryDirectory() as place:
        plain = subprocess.run([*command, f"{place}/plain.db"], capture_output=True, text=True, check=True).stdout.strip()
        taken = f"{place}/taken"
        said = subprocess.run(
            [TOOL, "capture", "--out", taken, "--", *command, f"{place}/app.db"], capture_output=True, text=True
        )
        if said.returncode != 0 or said.stdout.strip() != plain:
            raise SystemExit(f"{name}: {plain!r} without a capture, with it {said}")
        shown = subprocess.run([TOOL, "capture", "show", taken, "--json"], capture_output=True, text=True, check=True)
        summary = json.loads(shown.stdout)
    inserts, selects = count(summary, "INSERT INTO thing"), count(summary, "SELECT name FROM thing")
    # The extension SQLite3 of PHP executes a SELECT twice.
    is_whole = inserts == (INSERTS, INSERTS) and selects in ((SELECTS, SELECTS), (2 * SELECTS, 2 * SELECTS))
    missing = [sentence.split("To capture it, ")[1].rstrip(".") for sentence in summary["missing"] if "To capture" in sentence]
    if not is_whole and not missing:
        raise SystemExit(f"{name}: {inserts} and {selects}, and nothing is reported as missing")
    result = "every statement" if is_whole else "reported as missing"
    return f"| {name} | {plain} | {result} | {'; '.join(dict.fromkeys(missing))} |"


def but_version(row):
    return [cell for place, cell in enumerate(row.split(" | ")) if place != 1]


def main():
    if sys.argv[1:] and not (ONLY_BUILT or WRITE):
        raise SystemExit(__doc__)
    rows = []
    page = ROOT / "docs/capture.md"
    known = [but_version(line) for line in page.read_text().splitlines()]
    for name, command in CASES:
        try:
            rows.append(measure(name, command()))
        except Missing as part:
            if WRITE:
                raise SystemExit(f"{name}: {part} is missing")
            print(f"NOT VERIFIED: {name}: {part} is missing", flush=True)
            continue
        print(rows[-1], flush=True)
        if not WRITE and but_version(rows[-1]) not in known:
            raise SystemExit(f"{name}: the page says something else")
    if not WRITE:
        return
    head = ["| program | its SQLite | captured | what contend says to do |", "|---|---|---|---|"]
    text = page.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + "\n".join([BEGIN, *head, *rows, END]) + after)


main()
