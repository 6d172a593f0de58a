"""The built program as contend runs it: a plan in, addresses and counts out."""

import os
import subprocess
import time
import zlib

PROGRAM = os.path.join(os.environ.get("PROGRAMS", "../../target/workers"), "contend-worker-gameplan")


def plan(sites, host=None, workers=2, begin="BEGIN IMMEDIATE", more=""):
    lines = ["contend-plan 3", "worker\t0", "driver\tgameplan\tgunicorn", "connections\tclient",
             "window\t0\t0\t2000000000", "now\tclock", f"option\tbusy_timeout_ms\t{sites[0].busy_timeout_ms}",
             "option\tstatements\tprepared", f"option\tgunicorn_workers\t{workers}"]
    lines += [f"option\thost\t{host}"] if host else []
    lines += [line for line in more.split("\n") if line]
    lines += [f"option\tengine\t{sites[0].engine}"]
    lines += [f"database\t{fields(site)}" for site in sites]
    lines += [f"session\t-\t{sql}" for sql in sites[0].session]
    lines += [f"readback\t{name}\t{sql}" for name, sql in sites[0].readback]
    lines += [f"transaction\t0\tcomment\twrite\t{begin}\t0\t0\t0", "retry\t1\t-\t-\t-", "clients\t0", ""]
    return sealed("\n".join(lines))


def fields(site):
    """Those of a site's `database` line."""
    return f"socket\t{site.socket}\t{site.user}\t{site.database}\t-" if site.socket else f"file\t{site.database}"


def sealed(body):
    """A plan with the digest that contend would give it."""
    return f"{body}end\t{zlib.crc32(body.encode()):08x}\n"


def facts(line):
    verb, *fields = line.rstrip("\n").split("\t")
    return verb, dict(field.partition("=")[::2] for field in fields if "=" in field), fields


class Program:
    """Serves a plan until it is closed."""

    def __init__(self, text):
        self.process = subprocess.Popen(
            [PROGRAM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.sessions, self.url, self.failed, self.hello = [], None, None, None
        self.tell(f"plan {len(text.encode())}\n{text}")
        while self.url is None and self.failed is None:
            verb, said, fields = facts(self.line())
            if verb == "session":
                self.sessions.append(said)
            elif verb == "serving":
                self.url = fields[0]
            elif verb == "failed":
                self.failed = fields[0]
            elif verb == "hello":
                self.hello = said

    def tell(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def line(self):
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(f"the program ended: {self.process.stderr.read().decode()}")
        return line

    def done(self):
        self.tell("stop\n")
        verb, said, _ = facts(self.line())
        assert verb == "done", verb
        return {name: value if name == "settings_differ" else int(value) for name, value in said.items()}

    def tree(self):
        """The program and all below it."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            try:
                with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                    queue += map(int, file.read().split())
            except FileNotFoundError:
                continue
        return found

    def gunicorn_workers(self):
        """Those below gunicorn's master, which is below the program."""
        return [pid for pid in self.tree() if _parent(_parent(pid)) == self.process.pid]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.process.stdin.closed:
            self.close()


def _parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def alive(pids):
    """Those that run; what has ended and was not yet waited for does not."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def wait_until(condition, what, seconds=60, every=0.02):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(every)
