"""A built worker as a child process, plans for it, a private MariaDB, and a proxy that can hang."""

import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import zlib
from collections import namedtuple
from pathlib import Path
from queue import Queue

WORKERS = Path(os.environ.get("WORKERS") or Path(__file__).resolve().parents[2] / "target/workers")
# Longest wait for anything on a busy machine.
PATIENCE_S = 60
MS = 1_000_000
NO_STEP, BEGIN, COMMIT = 65535, 65534, 65533
Sample = namedtuple(
    "Sample", "client operation transaction attempt step space flags code rows due started finished lock_wait acquire_wait"
)
_SAMPLE = struct.Struct("<IIHHHBBIIQQQQQ")


def must_have_all():
    """Whether tests may not be skipped because something is not installed."""
    return os.environ.get("CONTEND_TESTS_MUST_HAVE_WORKERS") == "1"


def program(driver):
    """The path of a driver's worker; None if it is not built, or other workers are to be tested."""
    name = driver if driver.startswith(("python-", "php-", "java-", "node-")) else f"python-{driver}"
    path = WORKERS / f"contend-worker-{name}"
    if not name.startswith(os.environ.get("ONLY", "")):
        return None
    if not path.exists() and must_have_all():
        raise FileNotFoundError(f"CONTEND_TESTS_MUST_HAVE_WORKERS=1, and {path} is not built")
    return str(path) if path.exists() else None


def model(driver):
    return {"php": "process", "node": "event-loop"}.get(driver.partition("-")[0], "thread")


def plan(
    driver, database, lines, operations, *, window=(0, 0, 2000 * MS), options=(), session=(), readbacks=(), retry="1\t-\t-\t-", is_pool=False, is_endless=False
):
    """A plan of one client that carries out `operations` in order; `lines` are statements and transactions."""
    kind, connections = ("pool", "database") if is_pool else (model(driver), "client")
    head = ["contend-plan 3", "worker\t0", f"driver\t{driver}\t{kind}", f"connections\t{connections}", "window\t%d\t%d\t%d" % window,
            "now\tclock", *(f"option\t{o}" for o in options), f"database\t{database}", *(f"session\t-\t{s}" for s in session),
            *(f"readback\t{r}" for r in readbacks), *map(described, lines), f"retry\t{retry}", "clients\t1"]
    cycle = "cyclic\t0" if is_endless else f"finite\t{len(operations)}"
    client = [f"client\t0\t0\tclosed\t{cycle}\t0\t{len(operations)}", *(f"op\t0\t{o}" for o in operations), ""]
    body = "\n".join(head + client)
    return f"{body}end\t{zlib.crc32(body.encode()):08x}\n"


def described(line):
    """A `statement` line with the effect and placeholders of its statement, as far as these tests need them."""
    kind, *fields = line.split("\t")
    if kind != "statement":
        return line
    number, escaped = fields
    sql = escaped.replace("\\\\", "\\")
    places = [len(sql[: found.start()].encode()) for found in re.finditer(r"'(?:[^']|'')*'|\?", sql) if found.group() == "?"]
    effect = {"SELECT": "rows", "INSERT": "changes", "UPDATE": "changes", "DELETE": "changes"}.get(sql.split()[0], "-")
    return f"statement\t{number}\t{effect}\t{','.join(map(str, places)) or '-'}\t{escaped}"


class Died(Exception):
    """The worker closed its output."""


class Worker:
    """The tool's side of a conversation."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **more
        )
        self.said, self.log = Queue(), []
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self._listen, self._keep_log)]
        for thread in self.threads:
            thread.start()

    def _listen(self):
        out = self.process.stdout
        while line := out.readline():
            words = line.decode().rstrip("\n").split("\t")
            frame = out.read(int(words[0].split(" ")[1])) if words[0].startswith(("samples ", "reply ")) else b""
            self.said.put((words, frame))
        self.said.put(None)

    def _keep_log(self):
        self.log += self.process.stderr

    def tell(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def next(self, within=PATIENCE_S):
        said = self.said.get(timeout=within)
        if said is None:
            # Its earlier output on standard error may not have been read yet.
            self.threads[1].join(within)
            raise Died(b"".join(self.log).decode())
        return said

    def until(self, *words):
        """The next line that begins with one of these words."""
        while True:
            said, frame = self.next()
            if said[0] in words:
                return said, frame

    def plan(self, text):
        self.tell(f"plan {len(text.encode())}\n{text}")

    def ready(self, text):
        self.plan(text)
        said, _ = self.until("ready", "failed")
        if said[0] == "failed":
            raise AssertionError(said[1])

    def start(self):
        """Starts the run; returns its start time."""
        start = time.monotonic_ns() + 5 * MS
        self.tell(f"start\t{start}\n")
        return start

    def outcome(self):
        """The facts of `done`, and the samples."""
        said, _ = self.until("done", "failed")
        if said[0] == "failed":
            raise AssertionError(said[1])
        samples, facts = [], dict(fact.split("=", 1) for fact in said[1:])
        while (said := self.next())[0][0] != "end":
            samples += map(Sample._make, _SAMPLE.iter_unpack(said[1]))
        return facts, samples

    def run(self, text):
        self.ready(text)
        self.start()
        return self.outcome()

    def children(self):
        pid = self.process.pid
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))

    def close(self):
        with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
            self.process.stdin.close()
            self.process.wait(PATIENCE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for thread in self.threads:
            thread.join(PATIENCE_S)
        self.process.stdout.close()
        self.process.stderr.close()


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.01)


class MariaDb:
    """A private server, and a client to inspect its data."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="contend-workers-")
        self.socket = f"{self.folder}/sock"
        data, user = f"{self.folder}/data", ["--user=root"] if os.getuid() == 0 else []
        # A server that starts removes what others left in its tmpdir.
        own = ["--no-defaults", f"--datadir={data}", f"--tmpdir={self.folder}", *user]
        self.log = open(f"{self.folder}/log", "wb")
        subprocess.run(
            ["mariadb-install-db", *own, "--skip-test-db", "--auth-root-authentication-method=normal"],
            stdout=self.log, stderr=self.log, check=True)
        server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        self.process = subprocess.Popen(
            [server, *own, f"--socket={self.socket}", f"--pid-file={self.folder}/pid", "--skip-networking",
             "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"],
            stdout=self.log, stderr=self.log)
        try:
            wait_until(lambda: os.path.exists(self.socket), "the server starts")
            self.ask("CREATE DATABASE app", "mysql")
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def is_here():
        """Whether it is installed; an error if it is not and tests may not be skipped."""
        missing = [name for name in ("mariadb-install-db", "mariadb") if shutil.which(name) is None]
        if missing and must_have_all():
            raise FileNotFoundError(f"CONTEND_TESTS_MUST_HAVE_WORKERS=1, and MariaDB is not installed: no {', '.join(missing)}")
        return not missing

    def database(self, path=None):
        """The fields of its `database` line."""
        return f"socket\t{path or self.socket}\troot\tapp\t-"

    def ask(self, sql, database="app"):
        command = ["mariadb", "--no-defaults", "-N", "-B", "-r", "-u", "root", "-S", self.socket, "-e", sql, database]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    @contextlib.contextmanager
    def locked(self):
        """While this holds, no transaction can commit."""
        command = ["mariadb", "--no-defaults", "-N", "-B", "-u", "root", "-S", self.socket, "-n", "app"]
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        client.stdin.write("FLUSH TABLES WITH READ LOCK; SELECT 1;\n")
        client.stdin.flush()
        client.stdout.readline()
        try:
            yield
        finally:
            client.stdin.close()
            client.wait(PATIENCE_S)
            client.stdout.close()

    def rollbacks(self):
        return int(self.ask("SHOW GLOBAL STATUS LIKE 'Com_rollback'").split("\t")[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """A proxy in front of a server's socket. Once it hangs, it accepts new connections and never answers them."""

    def __init__(self, server, path):
        self.server, self.path, self.is_hanging = server, path, False
        self.pairs, self.hung = [], []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                if self.is_hanging:
                    self.hung.append(one)
                    continue
                other = socket.socket(socket.AF_UNIX)
                other.connect(self.server)
                self.pairs.append((one, other))
                for a, b in ((one, other), (other, one)):
                    threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        with contextlib.suppress(OSError):
            while some := source.recv(1 << 16):
                sink.sendall(some)
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        """Closes all working connections."""
        for one, other in self.pairs:
            for end in (one, other):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.cut()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        for end in (self.listener, *self.hung, *(end for pair in self.pairs for end in pair)):
            end.close()
