"""The app as a worker that serves: what contend says on standard input, docs/formats.md has it.

This process only speaks; gunicorn's master and its workers are its children. Nothing of the app or of a driver is
imported here.
"""

import contextlib
import ctypes
import importlib.metadata
import json
import math
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import time
import zlib

from . import VERSION

HOSTS = {"sqlite": "gp-sqlite.test", "mariadb": "gp-maria.test", "postgres": "gp-postgres.test"}
# What the app understands; `statements` and `lock_wait` are its driver's own affair.
OPTIONS = ("gunicorn_workers", "engine", "host", "busy_timeout_ms", "statements", "lock_wait", "secret")
READY_S = 60
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_UNESCAPES = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r", "0": "\0"}


class Refused(Exception):
    """The plan cannot be served; the message says why."""


def escape(text):
    return "".join(_ESCAPES.get(c, c) for c in str(text))


def unescape(text):
    pieces, escaped = [], False
    for c in text:
        if escaped:
            if c not in _UNESCAPES:
                raise Refused(f"`\\{c}` is no escape, in `{text}`")
            pieces.append(_UNESCAPES[c])
            escaped = False
        elif c == "\\":
            escaped = True
        else:
            pieces.append(c)
    if escaped:
        raise Refused(f"`{text}` ends in an escape")
    return "".join(pieces)


class Plan:
    """What an app needs of a plan: databases, settings, options, how a transaction that writes begins."""

    def __init__(self, text):
        body, _, said = text.rpartition("end\t")
        lines = body.split("\n")
        if text.partition("\n")[0] != "contend-plan 3":
            raise Refused(f"a plan of this form is not known: `{lines[0][:40]}`; use tool and app of one release")
        if not body.endswith("\n") or f"{zlib.crc32(body.encode()):08x}\n" != said:
            raise Refused("the plan was cut off or changed: it does not end with `end` and its digest")
        self.databases, self.session, self.readback, self.options = [], [], [], {}
        self.begin, self.drain_ns = None, 0
        for number, line in enumerate(lines[1:-1], 2):
            try:
                self._line([unescape(field) for field in line.split("\t")])
            except (IndexError, ValueError, Refused) as error:
                raise Refused(f"line {number} of the plan: {error}") from error
        if not self.databases:
            raise Refused("the plan names no database")

    def _line(self, fields):
        kind, values = fields[0], fields[1:]
        if kind == "database":
            self.databases.append(_database(*values))
        elif kind == "session":
            self.session.append(values[1])
        elif kind == "readback":
            self.readback.append((values[0], values[1]))
        elif kind == "option":
            if values[0] not in OPTIONS:
                raise Refused(f"there is no option `{values[0]}` (known: {', '.join(OPTIONS)})")
            self.options[values[0]] = values[1]
        elif kind == "window":
            self.drain_ns = int(values[2])
        elif kind == "transaction" and values[2] == "write" and values[3].upper().startswith("BEGIN"):
            self.begin = self.begin or values[3]
        elif kind == "clients" and values[0] != "0":
            raise Refused("an app serves; it has no clients of its own")

    def number(self, name, default, low, high):
        text = self.options.get(name, str(default))
        if not (text.isdigit() and low <= int(text) <= high):
            raise Refused(f"option {name}: {low} to {high}, found `{text}`")
        return int(text)

    def config(self):
        """The app's configuration, and the host of site 0."""
        engine = self.options.get("engine", "sqlite")
        host = self.options.get("host") or HOSTS.get(engine, "gameplan.test")
        # SQLite's ways to begin; on servers there is one, and the word may be another.
        way = (self.begin or "BEGIN IMMEDIATE").lower().split()[1:2]
        site = {
            "engine": engine, "session": self.session, "readback": self.readback,
            "busy_timeout_ms": self.number("busy_timeout_ms", 5000, 0, 2**31 - 1),
            "begin": way[0] if way and way[0] in ("immediate", "exclusive") else "deferred"}
        hosts = [host] + [f"{i}.{host}" for i in range(1, len(self.databases))]
        sites = {name: {**site, **where} for name, where in zip(hosts, self.databases)}
        config = {
            "sites": sites, "workers": self.number("gunicorn_workers", 4, 1, 64),
            "graceful_timeout_s": max(1, math.ceil(self.drain_ns / 1e9)), "secret": self.options.get("secret", "")}
        return config, host


def _database(kind, *fields):
    """Where a site's database is, as its configuration says it."""
    if kind == "file":
        return {"database": fields[0]}
    *place, user, database, password = fields
    found, _, where = password.partition(":")
    site = {"user": user, "database": database, **({f"password_{found}": where} if where else {})}
    return {**site, **({"socket": place[0]} if kind == "socket" else {"host": place[0], "port": int(place[1])})}


class Gunicorn:
    """gunicorn's master as a child process, on a socket that was opened here. It is started at once, and loads its modules
    while the tool is told who this is and makes its plan; what it serves it reads when there is a plan."""

    def __init__(self):
        self.workers, self.process = 0, None
        self.reports, writing = os.pipe()
        self._rest = b""
        # By host, what the first worker read back.
        self._first = {}
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.bind(("127.0.0.1", 0))
            listener.listen(2048)
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            command = [sys.executable, "-P", "-m", "gameplan", "serve", "-",
                       "--bind", f"fd://{listener.fileno()}", "--report", str(writing)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=sys.stderr, pass_fds=(listener.fileno(), writing),
                preexec_fn=_end_with_parent)
        finally:
            # gunicorn has its own copies; ours would keep the port open after it.
            listener.close()
            os.close(writing)

    def serve(self, plan):
        """Tells it what to serve; what each worker read back, site by site."""
        config, _ = plan.config()
        self.workers = config["workers"]
        # Not in a file, which would stay behind a process that is killed.
        with self.process.stdin as pipe, contextlib.suppress(BrokenPipeError):
            pipe.write(json.dumps(config).encode())
        return self._sessions()

    def report(self, deadline):
        """The next report of a process of gunicorn's; None: all have ended."""
        while b"\n" not in self._rest:
            if not select.select([self.reports], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Refused("gunicorn did not answer in time")
            some = os.read(self.reports, 65536)
            if not some:
                return None
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _sessions(self):
        deadline, found = time.monotonic() + READY_S, []
        while len(found) < self.workers:
            report = self.report(deadline)
            if report is None:
                raise Refused("gunicorn ended before its workers were ready; its log says why")
            if "error" in report:
                raise Refused(f"worker {report['worker']} has no connection: {report['error']}")
            found.append(report)
        found.sort(key=lambda report: report["worker"])
        self._first = found[0]["sites"]
        return [
            {"client": number, "gunicorn_workers": self.workers, "host": host, **facts}
            for number, report in enumerate(found) for host, facts in report["sites"].items()]

    def _differs(self, report):
        """What connections that were opened later read back differently: those of workers that took the place of others,
        and new ones of the first."""
        for host, facts in report.get("sites", {}).items():
            for name, value in facts.items():
                first = self._first.get(host, {}).get(name)
                if value != first:
                    return f"worker {report['worker']}, {host}: {name} is {value} on a connection opened later, {first} on the first"
        return None

    def end(self, patience_s):
        """Answers what is under way and ends; the totals of all workers."""
        totals, differs = {}, []
        if self.process is None:
            return totals
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        # Without a plan it still reads; a pipe that breaks tells nothing new.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        with contextlib.suppress(Refused, ValueError):
            deadline = time.monotonic() + patience_s
            while (report := self.report(deadline)) is not None:
                totals = report.get("done", totals)
                differs.append(self._differs(report))
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        os.close(self.reports)
        differs = list(filter(None, differs))
        return {**totals, "settings_differ": "; ".join(differs)} if differs else totals


def _sqlite():
    """The library that is linked to Python; a server tells its version itself. Asked in a process of its own, as this
    one is part of what is measured whatever the engine."""
    command = [sys.executable, "-I", "-c", "import sqlite3; print(sqlite3.sqlite_version)"]
    return "SQLite " + subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _libraries():
    names = ("gunicorn", "Werkzeug", "PyMySQL", "psycopg")
    return ",".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def _end_with_parent():
    """Asks Linux to end gunicorn when this process is gone; its workers then see that their master is."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Conversation:
    """Reads lines and frames from the tool, writes answers."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.gunicorn = None
        self.drain_ns = 0
        self.served = False

    def say(self, verb, facts=None, text=None):
        fields = [verb] if text is None else [verb, escape(text)]
        fields += [f"{key}={escape(value)}" for key, value in (facts or {}).items()]
        self.sink.write(("\t".join(fields) + "\n").encode())
        self.sink.flush()

    def run(self):
        self.gunicorn = Gunicorn()
        self.say("hello", {
            "protocol": 1, "language": f"Python {platform.python_version()}", "driver": f"gameplan {VERSION}",
            "engine": _sqlite(), "lock_wait": "off", "drivers": "gameplan", "models": "gunicorn", "libraries": _libraries()})
        try:
            for line in iter(self.source.readline, b""):
                if not self._answer(line.decode().rstrip("\n")):
                    return 0
            return 0
        except Refused as error:
            self.say("failed", text=str(error))
            return 1
        finally:
            self._end()

    def _answer(self, line):
        verb, _, rest = line.partition(" ")
        if verb == "plan":
            self._plan(int(rest))
        elif verb == "clock":
            self.say("clock", text=str(time.monotonic_ns()))
        elif verb == "stop":
            self.say("done", self._end())
        elif verb == "quit":
            return False
        else:
            raise Refused(f"an app does not do `{line[:80]}`")
        return True

    def _plan(self, length):
        text = self.source.read(length)
        if len(text) != length:
            raise Refused("the input ended inside the plan")
        if self.served:
            raise Refused("a second plan")
        self.served = True
        plan = Plan(text.decode())
        self.drain_ns = plan.drain_ns
        for facts in self.gunicorn.serve(plan):
            self.say("session", facts)
        self.say("serving", text=self.gunicorn.url)

    def _end(self):
        if self.gunicorn is None:
            return {}
        gunicorn, self.gunicorn = self.gunicorn, None
        return gunicorn.end(self.drain_ns / 1e9 + 5)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return Conversation(sys.stdin.buffer, sys.stdout.buffer).run()
