#!/usr/bin/env python3
"""Captures, shows and replays real programs; --write puts what came out into docs/capture-programs.md.

Programs from PyPI, a WordPress (`make apps`), services in Go and Node (`make workers-go workers-node`). Needs contend
(target/release/contend, or $CONTEND). With names as arguments it carries out these programs only; what cannot be
installed or is not built is NOT VERIFIED, and an error with --write. Exit status 1: a program failed or was not captured,
or a replay differs.

--predict [--write] takes about twenty minutes: it captures the shop of tests/capture/orders, asks what would have helped,
makes each change in the shop, and captures it again with the same customers. Captures in target/capture-programs/predict are
taken from an earlier call; remove the directory to take them again. Exit status 1: a trial was not valid, the study is about
another database, or a prediction has another answer than the changed shop.
"""

import functools
import json
import math
import os
import platform
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = Path(os.environ.get("CONTEND", ROOT / "target/release/contend")).resolve()
PLACE = ROOT / "target/capture-programs"
BIN = ROOT / "target/tests-python/bin"
PAGE = ROOT / "docs/capture-programs.md"
PORT = 8765
# The Node that the packages were built for comes first, if scripts/build-workers-node.sh has fetched one.
os.environ["PATH"] = f"{ROOT}/target/workers/node/runtime/bin:{os.environ['PATH']}"
PROGRAMS = ROOT / "tests/capture/programs"
WORDPRESS = ROOT / "target/apps/wordpress"
# Tables and statements that differ: the plugin keeps the times at which tables were made, and has a function REGEXP.
EXCUSED = {"wordpress": {"_wp_sqlite_mysql_information_schema_tables", "DELETE FROM `wp_options` WHERE `option_name` REGEXP ?"}}

DJANGO = """
from django.contrib.auth.models import Group, User
from django.test import Client
groups = [Group.objects.create(name=f"group {i}") for i in range(3)]
for i in range(20):
    User.objects.create_superuser(f"user{i}", f"user{i}@example.org", "secret").groups.add(groups[i % 3])
client = Client(SERVER_NAME="localhost")
for i in range(20):
    assert client.login(username=f"user{i}", password="secret")
    assert client.get("/admin/auth/user/").status_code == 200
    assert client.post(f"/admin/auth/group/{i % 3 + 1}/change/", {"name": f"group {i % 3}"}).status_code == 302
"""


class Missing(Exception):
    """A part of a program that is not on this machine."""


def needs(path, made_by):
    if not (Path(path).exists() or shutil.which(path)):
        raise Missing(f"{path} is missing ({made_by})")


@functools.cache
def packages():
    """Why the packages from PyPI are not there; empty if they are."""
    done = subprocess.run(ROOT / "scripts/python-for-tests.sh", capture_output=True, text=True)
    last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return f"the packages of scripts/requirements.lock cannot be installed: {last}" if done.returncode else ""


def of_pypi():
    if packages():
        raise Missing(packages())


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def captured(name, command, work=None, stop=subprocess.Popen.terminate, **options):
    """Captures a command with all values; `work` is done while it serves, then `stop`."""
    home = PLACE / name
    whole = [TOOL, "capture", "--out", "taken", "--values=full", "--", *command]
    log = open(home / "log.txt", "w")
    served = subprocess.Popen([str(part) for part in whole], cwd=home, stdout=log, stderr=log, **options)
    if work:
        try:
            work()
        finally:
            stop(served)
    if served.wait() not in (0, 128 + signal.SIGTERM):
        raise SystemExit(f"{name}: see {home}/log.txt")
    shown = json.loads(run(TOOL, "capture", "show", "taken", "--json", cwd=home))
    if shown["missing"] and not shown["calls"]:
        return shown, None
    # Status 1: a table or a statement differs, which the page says.
    replay = subprocess.run([TOOL, "replay", "taken", "--json"], cwd=home, capture_output=True, text=True)
    if replay.returncode not in (0, 1):
        raise SystemExit(f"{name}: {replay.stderr}")
    replayed = json.loads(replay.stdout)
    return shown, replayed


def flask():
    home = PLACE / "flask"
    shutil.copytree(ROOT / "tests/capture/flask", home)

    def work():
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/")
                break
            except OSError:
                time.sleep(0.1)
        run(sys.executable, "-B", "load.py", f"http://127.0.0.1:{PORT}", 100, cwd=home)

    return captured("flask", [BIN / "gunicorn", "-w", 4, "--threads", 4, "-b", f"127.0.0.1:{PORT}", "app:app"], work)


def django():
    home = PLACE / "django"
    home.mkdir()
    run(BIN / "django-admin", "startproject", "site1", ".", cwd=home)
    script = '"$1/python" manage.py migrate -v0 && "$1/python" manage.py shell -c "$0"'
    return captured("django", ["sh", "-c", script, DJANGO, BIN])


def command_line():
    home = PLACE / "sqlite-utils"
    home.mkdir()
    rows = [{"id": i, "name": f"thing {i}", "size": i / 2} for i in range(1000)]
    (home / "things.json").write_text(json.dumps(rows))
    steps = ["insert app.db thing things.json --pk id", "create-index app.db thing name", "enable-fts app.db thing name"]
    steps += ["search app.db thing 'thing 7'", "upsert app.db thing things.json --pk id", "vacuum app.db"]
    return captured("sqlite-utils", ["sh", "-c", " && ".join(f'"$0/sqlite-utils" {step} >out.txt' for step in steps), BIN])


def answered(url, data=None, headers=None, tries=1):
    """The answer to a request; a server that starts gets several tries."""
    for left in reversed(range(tries)):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, headers or {})) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{url}: status {error.code}: {error.read().decode()[:1000]}")
        except OSError:
            if left == 0:
                raise
            time.sleep(0.1)


def wordpress():
    """WordPress as contend serves it, with an empty site: installed, read, and commented on."""
    home = PLACE / "wordpress"
    home.mkdir()
    site = f"http://127.0.0.1:{PORT}"
    keys = ["AUTH_KEY", "SECURE_AUTH_KEY", "LOGGED_IN_KEY", "NONCE_KEY", "AUTH_SALT", "SECURE_AUTH_SALT", "LOGGED_IN_SALT", "NONCE_SALT"]
    constants = {"DB_ENGINE": "sqlite", "DB_DIR": str(home), "DB_FILE": "site.db", "DB_NAME": "wordpress", "WP_HOME": site}
    constants |= {"DB_CHARSET": "utf8mb4", "DB_COLLATE": "", "WP_SITEURL": site} | {key: key * 3 for key in keys}
    known = {"constants": constants, "session": [], "readback": [], "token": "x" * 32, "secret": None, "counters": str(home), "seed": None}
    (home / "site.json").write_text(json.dumps(known))
    (home / "site.php").write_text("<?php return json_decode(file_get_contents(__DIR__ . '/site.json'), true);")
    install = (
        "define('WP_INSTALLING', true); $_SERVER += ['HTTP_HOST' => '127.0.0.1', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1'];"
        "require $argv[1] . '/wp-load.php'; require ABSPATH . 'wp-admin/includes/upgrade.php';"
        "wp_install('A site', 'admin', 'admin@example.org', true, '', 'secret');"
        "foreach (['comment_moderation', 'comment_previously_approved', 'comments_notify'] as $name) update_option($name, 0);"
    )
    root, router = WORDPRESS / "wordpress", WORDPRESS / "app/router.php"
    script = 'php -d display_errors=stderr -r "$0" "$1" && PHP_CLI_SERVER_WORKERS=3 exec php -q -S "$2" -t "$1" "$3"'
    command = ["sh", "-c", script, install, root, f"127.0.0.1:{PORT}", router]

    def work():
        answered(site + "/", tries=600)
        for i in range(20):
            assert "</html>" in answered(f"{site}/?p=1")
            comment = {"author": f"guest {i}", "email": f"guest{i}@example.org", "comment": f"This is comment {i}.", "comment_post_ID": 1}
            answered(site + "/wp-comments-post.php", urllib.parse.urlencode(comment).encode())
        assert "This is comment 19." in answered(f"{site}/?p=1")

    def stop(served):
        # PHP's first process leaves the others behind.
        os.killpg(served.pid, signal.SIGTERM)

    return captured("wordpress", command, work, stop, start_new_session=True, env=os.environ | {"CONTEND_SITE": str(home / "site.php")})


def noted(place, command, **options):
    """A service of notes, with 200 of them by 7 authors, and 200 lists."""

    def work():
        answered(place(0), tries=600)
        for i in range(200):
            answered(place(i, f"note {i}"), b"")
            answered(place(i))

    return captured(options.pop("name"), command, work, **options)


def go_service():
    home = PLACE / "go"
    home.mkdir()
    run("go", "build", "-tags=libsqlite3", "-o", home / "service", PROGRAMS / "service.go", cwd=ROOT / "workers/go")

    def place(i, body=None):
        author = f"author%20{i % 7}"
        site = f"http://127.0.0.1:{PORT}/notes"
        return f"{site}?author={author}&body={urllib.parse.quote(body)}" if body else f"{site}/{author}"

    return noted(place, [home / "service", f"127.0.0.1:{PORT}"], name="go")


def node_service(package):
    home = PLACE / package
    home.mkdir()

    def place(i, body=None):
        site = f"http://127.0.0.1:{PORT}/?author=author%20{i % 7}"
        return f"{site}&body={urllib.parse.quote(body)}" if body else site

    environment = os.environ | {"NODE_PATH": str(ROOT / "target/workers/node/node_modules")}
    return noted(place, ["node", PROGRAMS / "service.js", package, PORT], name=package, env=environment)


ORDERS = ROOT / "tests/capture/orders"
ORDERS_BIN = ROOT / "target/capture-orders/bin"


def of_orders():
    """Makes the environment of the shop, unless it is there."""
    lock = ORDERS / "requirements.lock"
    made_from = ORDERS_BIN.parent / "made-from"
    if made_from.exists() and made_from.read_text() == lock.read_text():
        return
    shutil.rmtree(ORDERS_BIN.parent, ignore_errors=True)
    run(sys.executable, "-m", "venv", ORDERS_BIN.parent)
    pip = [ORDERS_BIN / "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
    done = subprocess.run([*pip, "-r", lock], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"the packages of {lock} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    made_from.write_text(lock.read_text())


def orders_home(name, **changes):
    """A directory for the shop with its tables, and the environment that it runs in."""
    home = PLACE / name
    home.mkdir(parents=True)
    path = f"{ORDERS_BIN}:{os.environ['PATH']}"
    settings = {"SHOP": str(home), "PORT": str(PORT), "TAX": f"http://127.0.0.1:{PORT + 1}", "PYTHONPATH": str(ORDERS), "PATH": path}
    environment = os.environ | settings | {"PYTHONDONTWRITEBYTECODE": "1"} | changes
    run(ORDERS_BIN / "python", ORDERS / "models.py", env=environment)
    return home, environment


def order(seconds):
    """Uses the shop."""
    answered(f"http://127.0.0.1:{PORT}/products", tries=100)
    return run(sys.executable, "-B", ORDERS / "load.py", f"http://127.0.0.1:{PORT}", seconds, PORT + 1)


def orders():
    home, environment = orders_home("orders")
    # The group's processes end with it, as with Ctrl-C in a terminal.
    return captured("orders", [ORDERS / "serve.sh"], lambda: order(10), env=environment)


def npm(package):
    found = json.loads((ROOT / "target/workers/node/node_modules" / package / "package.json").read_text())
    return f"{package} {found['version']}"


def version(package, place=BIN):
    found = re.search(r"^Version: (.*)$", run(place / "pip", "show", package), re.M)
    return f"{package} {found.group(1)}"


def row(name, title, outcome):
    """A line of the table, and what should not be so, as sentences."""
    shown, replayed = outcome
    if replayed is None:
        missing = next(sentence for sentence in shown["missing"] if "To capture" in sentence)
        return f"| {title} | reported as missing: {missing} |" + " |" * 6, [f"{name}: it is not captured"]
    kinds = shown["transactions"]
    tables = sum(database["tables"] for database in replayed["databases"])
    differ = [table for database in replayed["databases"] for table, *_ in database["differ"]]
    diverged = sum(one["count"] for one in replayed["diverged"])
    cells = [title, shown["processes"], shown["calls"], sum(kind["count"] for kind in kinds), len(kinds), shown["lock_errors"]]
    cells += [f"{tables - len(differ)} of {tables}", f"{diverged} of {replayed['statements']}"]
    wrong = {*differ, *(one["statement"] for one in replayed["diverged"])} - EXCUSED.get(name, set())
    return "| " + " | ".join(str(cell) for cell in cells) + " |", [f"{name}: the replay differs: {one}" for one in sorted(wrong)]


def of_node(package):
    needs("node", "make workers-node")
    needs(ROOT / "target/workers/node/node_modules" / package, "make workers-node")


# What a program needs, its title, and the program.
ALL = {
    "flask": (of_pypi, lambda: f"a shop on {version('flask')}, {version('gunicorn')} with 4 processes of 4 threads", flask),
    "orders": (
        of_orders,
        lambda: f"a shop on {version('flask-sqlalchemy', ORDERS_BIN)} and {version('huey', ORDERS_BIN)}, 4 and 3 processes",
        orders,
    ),
    "django": (of_pypi, lambda: f"{version('django')}: `migrate`, and its admin pages", django),
    "sqlite-utils": (of_pypi, lambda: f"{version('sqlite-utils')}, six commands", command_line),
    "wordpress": (
        lambda: needs(WORDPRESS, "make apps"),
        lambda: f"WordPress {wordpress_version()} with its SQLite plugin, PHP's server with 3 processes",
        wordpress,
    ),
    "go": (
        lambda: needs("go", "a Go toolchain"),
        lambda: "a service in Go, mattn/go-sqlite3 with `-tags libsqlite3`",
        go_service,
    ),
    "node": (
        lambda: of_node("sqlite3"),
        lambda: f"a service in Node, {npm('sqlite3')}",
        lambda: node_service("sqlite3"),
    ),
    "better-sqlite3": (
        lambda: of_node("better-sqlite3"),
        lambda: f"the same with {npm('better-sqlite3')}",
        lambda: node_service("better-sqlite3"),
    ),
}


def wordpress_version():
    text = (WORDPRESS / "wordpress/wp-includes/version.php").read_text()
    return re.search(r"wp_version = '([^']+)'", text).group(1)


# Seconds of use, and the changes: name of the answer's question in the study, words, and variables for the shop.
USE_S = 60
CHANGES = [
    ("", "nothing (captured again)", []),
    ("Would WAL have", "WAL", ["WAL"]),
    ("Would BEGIN IMMEDIATE have", "BEGIN IMMEDIATE", ["IMMEDIATE"]),
    ("Would a busy timeout of", "a longer busy timeout", ["TIMEOUT"]),
    ("Would WAL, BEGIN IMMEDIATE and a busy timeout of", "all three", ["WAL", "IMMEDIATE", "TIMEOUT"]),
    ("Would the lock errors have gone if the program did its own work", "asks the tax office before its transaction", ["SHORT"]),
]


def used(name, changes):
    """Captures the shop while it is used, with hashes, unless that is done: its summary, and the seconds of capture and `show`."""
    kept = PLACE / name / "used.json"
    if kept.exists():
        return json.loads(kept.read_text())
    shutil.rmtree(PLACE / name, ignore_errors=True)
    home, environment = orders_home(name, **changes)
    began = time.monotonic()
    with open(home / "log.txt", "w") as log:
        served = subprocess.Popen([TOOL, "capture", "--", ORDERS / "serve.sh"], cwd=home, stdout=log, stderr=log, env=environment)
        try:
            order(USE_S)
        finally:
            served.terminate()
        served.wait()
    captured_s = time.monotonic() - began
    (home / "show.txt").write_text(run(TOOL, "capture", "show", "capture-1", cwd=home))
    shown_s = time.monotonic() - began - captured_s
    summary = json.loads(run(TOOL, "capture", "show", "capture-1", "--json", cwd=home))
    kept.write_text(json.dumps([summary, [captured_s, shown_s]]))
    return summary, (captured_s, shown_s)


def agrees(answer, count, errors):
    """Whether an answer about `count` lock errors fits those of a changed shop, within the chance of two counts."""
    if not answer.startswith(("Yes:", "Not all:", "No:")):
        return False
    left = re.search(r"would have left about ([\d,]+) of", answer)
    expected = 0 if answer.startswith("Yes") else int(left[1].replace(",", "")) if left else count
    return abs(expected - errors) <= 3 * math.sqrt(expected + errors) and (errors == 0) == (expected == 0)


def predict(write):
    of_orders()
    shown, times = used("predict/as-it-is", {})
    home, count = PLACE / "predict/as-it-is", shown["lock_errors"]
    shutil.rmtree(home / "run", ignore_errors=True)
    began = time.monotonic()
    printed = subprocess.run([TOOL, "run", "capture-1", "--quick", "--out", "run"], cwd=home, capture_output=True, text=True)
    (home / "run.txt").write_text(printed.stdout + printed.stderr)
    times = [*times, time.monotonic() - began]
    report = json.loads(run(TOOL, "report", "run", "--json", cwd=home))
    wrong = [f"a trial is not valid: {one}" for one in report["invalid"]]
    about = re.search(r"The study is about (\S+):", (home / "log.txt").read_text())
    if not about or not about[1].endswith("shop.db"):
        wrong.append("the study is not about shop.db")
    rows = []
    for ask, words, names in CHANGES:
        asked = next((one for one in report["answers"] if ask and one["ask"].startswith(ask)), {"ask": "", "answer": "-"})
        timeout = re.search(r"timeout of (\d+) s", asked["ask"])
        changes = {name: timeout[1] if timeout and name == "TIMEOUT" else "1" for name in names}
        changed, _ = used(f"predict/{'-'.join(changes) or 'again'}", changes)
        answer = asked["answer"]
        errors, verdict = changed["lock_errors"], answer.split(" In this run")[0]
        rows.append(f"| {words} | {verdict} | {errors} |")
        print(rows[-1], flush=True)
        if ask and not agrees(answer, count, errors):
            wrong.append(f"{words}: {verdict} The changed shop has {errors}.")
    print(*wrong, sep="\n")
    lines = predicted(times, count, report, rows)
    print(*lines, sep="\n")
    if write and not wrong:
        section("capture-predict", lines)
    sys.exit(1 if wrong else 0)


def processor():
    return next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())


def predicted(times, count, report, rows):
    """The lines of the section."""
    named = ["flask-sqlalchemy", "sqlalchemy", "gunicorn", "huey"]
    versions = ", ".join([version(one, ORDERS_BIN) for one in named] + [f"Python {platform.python_version()}"])
    tool = run(TOOL, "--version").strip()
    head = f"Measured on {time.strftime('%Y-%m-%d')} with {tool}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} processors ({processor()}), {versions}:"
    steps = ["`contend capture -- ./serve.sh`, with " + f"{USE_S} s of use", "`contend capture show capture-1`", "`contend run capture-1 --quick`"]
    words = [f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s" for seconds in [*times, sum(times)]]
    table = [f"| {step} | {its} |" for step, its in zip([*steps, "together"], words)]
    wrapped = functools.partial(textwrap.fill, width=100, break_long_words=False, break_on_hyphens=False)
    answers = [wrapped(f"- *{one['ask']}* {one['answer']}", subsequent_indent="  ") for one in report["answers"]]
    changes = ["| change | answer of the study | lock errors of the changed shop |", "|---|---|---|", *rows]
    captured = f"The capture has {count} lock errors. The report's answers:"
    return [wrapped(head), "", "| step | time |", "|---|---|", *table, "", captured, "", *answers, "", *changes]


def section(name, lines):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(before + "\n".join([begin, *lines, end]) + rest.split(end)[1])


def main():
    if sys.argv[1:2] == ["--predict"]:
        predict(sys.argv[2:] == ["--write"])
    write = sys.argv[1:] == ["--write"]
    wanted = list(ALL) if write else sys.argv[1:] or list(ALL)
    if set(wanted) - set(ALL):
        sys.exit(f"{__doc__}\nPrograms: {' '.join(ALL)}")
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        shutil.rmtree(PLACE / name, ignore_errors=True)
    rows, wrong = [], []
    for name in wanted:
        parts, title, program = ALL[name]
        try:
            parts()
        except Missing as part:
            if write:
                sys.exit(f"{name}: {part}")
            print(f"NOT VERIFIED: {name}: {part}", flush=True)
            continue
        line, its = row(name, title(), program())
        rows.append(line)
        wrong += its
        print(line, flush=True)
    if wrong:
        sys.exit("\n".join(wrong))
    if not write:
        return
    head = "| program | processes | calls | operations | kinds | lock errors | tables equal after replay | statements with another result |"
    section("capture-programs", [head, "|---|---|---|---|---|---|---|---|", *rows])


main()
