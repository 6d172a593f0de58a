#!/usr/bin/env python3
"""Captures, shows and replays real programs from PyPI, and writes what came out into docs/capture-programs.md.

Needs contend (target/release/contend, or $CONTEND), and pip. Exit status 1: a program failed, or a replay differs.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = Path(os.environ.get("CONTEND", ROOT / "target/release/contend")).resolve()
PLACE = ROOT / "target/capture-programs"
BIN = PLACE / "venv/bin"
PAGE = ROOT / "docs/capture-programs.md"
PACKAGES = {"flask": "3.1.3", "gunicorn": None, "django": None, "sqlite-utils": None}
PORT = 8765

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


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def captured(name, command, work=None, **options):
    """Captures a command with all values; `work` is done while it serves."""
    home = PLACE / name
    whole = [TOOL, "capture", "--out", "taken", "--values=full", "--", *command]
    log = open(home / "log.txt", "w")
    served = subprocess.Popen([str(part) for part in whole], cwd=home, stdout=log, stderr=log, **options)
    if work:
        work()
        served.send_signal(signal.SIGTERM)
    if served.wait() != 0:
        raise SystemExit(f"{name}: see {home}/log.txt")
    shown = json.loads(run(TOOL, "capture", "show", "taken", "--json", cwd=home))
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
    script = f"{BIN}/python manage.py migrate -v0 && {BIN}/python manage.py shell -c \"$0\""
    return captured("django", ["sh", "-c", script, DJANGO])


def command_line():
    home = PLACE / "sqlite-utils"
    home.mkdir()
    rows = [{"id": i, "name": f"thing {i}", "size": i / 2} for i in range(1000)]
    (home / "things.json").write_text(json.dumps(rows))
    steps = ["insert app.db thing things.json --pk id", "create-index app.db thing name", "enable-fts app.db thing name"]
    steps += ["search app.db thing 'thing 7'", "upsert app.db thing things.json --pk id", "vacuum app.db"]
    return captured("sqlite-utils", ["sh", "-c", " && ".join(f"{BIN}/sqlite-utils {step} >out.txt" for step in steps)])


def version(package):
    found = re.search(r"^Version: (.*)$", run(BIN / "pip", "show", package), re.M)
    return f"{package} {found.group(1)}"


def row(name, outcome):
    shown, replayed = outcome
    kinds = shown["transactions"]
    tables = sum(database["tables"] for database in replayed["databases"])
    differ = sum(len(database["differ"]) for database in replayed["databases"])
    diverged = sum(one["count"] for one in replayed["diverged"])
    cells = [name, shown["processes"], shown["calls"], sum(kind["count"] for kind in kinds), len(kinds), shown["lock_errors"]]
    cells += [f"{tables - differ} of {tables}", f"{diverged} of {replayed['statements']}"]
    return "| " + " | ".join(str(cell) for cell in cells) + " |", differ == 0


def section(name, lines):
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(before + "\n".join([begin, *lines, end]) + rest.split(end)[1])


def main():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "venv", PLACE / "venv")
    run(BIN / "pip", "-q", "install", *(f"{name}=={pin}" if pin else name for name, pin in PACKAGES.items()))
    names = {
        f"a shop on {version('flask')}, {version('gunicorn')} with 4 processes of 4 threads": flask,
        f"{version('django')}: `migrate`, and its admin pages": django,
        f"{version('sqlite-utils')}, six commands": command_line,
    }
    rows = [row(name, program()) for name, program in names.items()]
    head = "| program | processes | calls | operations | kinds | lock errors | tables equal after replay | statements with another result |"
    section("capture-programs", [head, "|---|---|---|---|---|---|---|---|", *(text for text, _ in rows)])
    sys.exit(0 if all(same for _, same in rows) else 1)


main()
