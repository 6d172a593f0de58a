#!/usr/bin/env python3
"""A worker that can be told to fail.

It starts the real worker and passes the protocol through unchanged, except for one fault. Every way in
which contend declares a trial invalid can so be provoked; README.md says which fault leads to which.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import traceback
import zlib
from collections import namedtuple
from contextlib import closing, suppress

FAULTS = {  # name: (reason expected, reasons that may come with it, what it does)
    "none": ("-", "-", "passes everything through"),
    "no-start": ("worker-died", "-", "leaves with status 3 before `hello`"),
    "refuse": ("not-started", "-", "answers the plan with `failed`"),
    "hang-before-hello": ("not-ready", "-", "never says anything"),
    "never-ready": ("not-ready", "-", "swallows `ready`"),
    "setting": ("settings", "-", "reports another value of --setting for one connection"),
    "missing-session": ("settings", "-", "does not report one connection's settings"),
    "clock": ("clock", "-", "its clock is an hour ahead"),
    "slow-clock": ("clock", "-", "takes 200 ms to tell its clock"),
    "die": ("worker-died", "-", "kills itself early in the window"),
    "die-after-done": ("worker-died", "-", "kills itself between `done` and the samples"),
    "stall": ("stalled", "-", "is silent from the start on, deaf to SIGTERM and to the end of its input"),
    "garbage": ("protocol", "-", "says something else early in the window"),
    "no-newline": ("protocol", "-", "says a line without end early in the window"),
    "huge-frame": ("protocol", "-", "announces 2^40 bytes of samples"),
    "cut-samples": ("samples", "-", "sends and announces 10 bytes fewer"),
    "broken-samples": ("samples", "-", "sends a sample with code space 99"),
    "backwards": ("samples", "-", "sends a sample that finished before it started"),
    "lost-samples": ("accounts", "invariant", "loses a sample"),
    "extra-samples": ("accounts", "-", "sends a sample twice"),
    "wrong-transaction": ("accounts", "invariant", "sends a sample of another transaction than planned"),
    "unknown-transaction": ("accounts", "invariant", "sends a sample of a transaction that no plan has"),
    "unknown-client": ("accounts", "invariant", "sends a sample of a client that no plan has"),
    "clock-in-task": ("accounts", "-", "counts from when an operation started, not from when it was due"),
    "stop-early": ("accounts", "-", "stops early in the window and says it is done"),
    "exhausted": ("exhausted", "-", "reports a client that ran out of its plan"),
    "late": ("littles-law", "generator-limited", "starts its clock in the middle of each operation"),
    "busy": ("generator-limited", "littles-law,nothing-done", "burns processor time in the window, as a client over HTTP"),
    "instant": ("generator-limited", "invariant,not-credible", "invents operations of 200 ns, as the plan has them"),
    "too-fast": ("not-credible", "generator-limited,invariant", "invents commits of 5 us, as the plan has them"),
    "unsynced": ("-", "not-credible", "runs with synchronous = OFF and reports what was asked for"),
    "corrupt-data": ("invariant", "-", "executes --sql in the database before it hands over its samples"),
    "autocommit": ("invariant", "-", "begins and ends no transaction"),
    "rewrite": ("invariant", "-", "executes its statements changed as --rewrite says"),
    "nothing": ("nothing-done", "invariant", "reports every attempt as failed with SQLITE_BUSY"),
    "rounds-integers": ("-", "invariant", "rounds a plan's integers as reals are: 9007199254740993 to ...992"),
    "swallows": ("-", "invariant", "reports every attempt that failed as a success"),
}
SAMPLE, FRAME_BYTES = struct.Struct("<IIHHHBBIIQQQQQ"), 1 << 20
BURNERS = 2
STEP_NONE, STEP_BEGIN, SPACE_OK, SPACE_SQLITE, SQLITE_BUSY = 65535, 65534, 0, 1, 5
INTEGER_MAX = 2**63 - 1
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}
TIMES = "due_ns started_ns finished_ns lock_wait_ns acquire_wait_ns"
Sample = namedtuple("Sample", "client operation transaction attempt failed_step code_space flags code rows " + TIMES)
Client = namedtuple("Client", "id closed cyclic limit start_ns operations")


class Plan:
    """What a fault needs to know of a plan."""

    def __init__(self, text):
        self.text, self.databases, self.transactions = text, [], 0
        for line in text[: text.index("\nclients\t")].split("\n"):
            kind, *fields = line.split("\t")
            if kind == "worker":
                self.worker = int(fields[0])
            elif kind == "window":
                self.run_in_ns, self.length_ns = int(fields[0]), int(fields[1])
            elif kind == "database":
                self.databases.append(re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), fields[-1]))
            elif kind == "transaction":
                self.transactions += 1

    def clients(self):
        clients = []
        for line in self.text.split("\n"):
            kind, *f = line.split("\t")
            if kind == "client":
                clients.append(Client(int(f[0]), f[2] == "closed", f[3] == "cyclic", int(f[4]), int(f[5]), []))
            elif kind == "op":
                clients[-1].operations.append((int(f[0]), int(f[1])))
        return clients


def without_syncs(text):
    """The plan with synchronous = OFF, whose read-back yields what was asked for."""
    words = {"off": "0", "normal": "1", "full": "2", "extra": "3"}
    pragma = re.compile(r"^session\t\S+\tPRAGMA synchronous *= *(\w+)$", re.MULTILINE | re.IGNORECASE)
    asked = pragma.search(text)[1].lower()
    text = pragma.sub("session\t-\tPRAGMA synchronous = OFF", text)
    lie = f"readback\tsynchronous\tSELECT {words.get(asked, asked)}"
    return re.sub(r"^readback\tsynchronous\t.*$", lie, text, flags=re.MULTILINE)


def places(sql):
    """Where the parameters of a statement stand, as a plan says it."""
    unescaped = re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), sql)
    blank = re.sub(r"'[^']*'", lambda m: "x" * len(m[0].encode()), unescaped)
    return ",".join(str(len(blank[: m.start()].encode())) for m in re.finditer(r"\?", blank)) or "-"


def autocommitted(text):
    """The plan without BEGIN: every statement commits by itself."""
    return re.sub(r"^(transaction\t\d+\t[^\t]*\t\w+)\t[^\t]*", r"\1\t-", text, flags=re.MULTILINE)


def rewritten(text, rules):
    """The plan with every `PATTERN=>REPLACEMENT` applied to every statement."""

    def one(line):
        if not line.startswith("statement\t"):
            return line
        *head, _, sql = line.split("\t")
        for rule in rules:
            sql = re.sub(*rule.split("=>"), sql)
        return "\t".join([*head, places(sql), sql])

    return "\n".join(map(one, text.split("\n")))


def sealed(text):
    """A plan with the digest of what it is now: the worker would refuse one that was changed."""
    body = text[: text.rindex("end\t")]
    return f"{body}end\t{zlib.crc32(body.encode()):08x}\n"


def rounded(text):
    """The plan with its integers as a language has them whose only numbers are reals."""

    def once(found):
        return "\ti%d" % min(int(float(found[1])), INTEGER_MAX)

    def values(line):
        return re.sub(r"\ti(-?\d+)(?=\t|$)", once, line) if line.startswith(("op\t", "step\tsql\t")) else line

    return "\n".join(map(values, text.split("\n")))


def facts(line):
    return dict(field.split("=", 1) for field in line.decode().rstrip("\n").split("\t")[1:])


def facts_line(word, pairs):
    return "\t".join([word, *(f"{key}={value}" for key, value in pairs.items())]).encode() + b"\n"


# Faults of the handover: each takes samples and totals and changes them in place.


def change(where, how):
    def spoil(samples, _totals, fake):
        for i in where(samples):
            samples[i] = samples[i]._replace(**how(samples[i], fake.plan))

    return spoil


def middle(samples):
    return [len(samples) // 2] if samples else []


def first_attempts(samples):
    return [i for i, s in enumerate(samples) if s.attempt == 0]


def shortest(samples):
    """The sample whose presence or absence moves a client's times the least."""
    return min(range(len(samples)), key=lambda i: samples[i].finished_ns - samples[i].started_ns)


def twice(samples, _totals, _fake):
    i = shortest(samples)
    samples.insert(i, samples[i])


def nothing(samples, totals, _fake):
    failure = {"failed_step": STEP_BEGIN, "code_space": SPACE_SQLITE, "code": SQLITE_BUSY, "rows": 0}
    samples[:] = [s._replace(**failure) for s in samples]
    totals["failed"] = totals["operations"]


def swallows(samples, totals, _fake):
    success = {"failed_step": STEP_NONE, "code_space": SPACE_OK, "code": 0}
    samples[:] = [s._replace(**success) for s in samples]
    totals["failed"] = 0


def invent(usual_ns):
    def spoil(samples, totals, fake):
        service_ns = fake.args.service_ns or usual_ns
        samples[:] = (s for c in fake.plan.clients() for s in invented(c, fake.plan, fake.start_ns, service_ns))
        totals.update(operations=len(samples), attempts=len(samples), failed=0)

    return spoil


def invented(client, plan, start_ns, service_ns):
    """A closed loop exactly as the plan has it, of operations that take `service_ns`; the first fills the run-in."""
    if not client.closed:
        raise ValueError("only closed loops can be made faster")
    window_ns = start_ns + plan.run_in_ns
    end_ns = window_ns + plan.length_ns if plan.length_ns else 2**64
    planned = len(client.operations)
    bounds = [bound for bound in (client.limit, 0 if client.cyclic else planned) if bound]
    finished_ns = start_ns + client.start_ns
    for number in range(min(bounds, default=2**32)):
        offset_ns, transaction = client.operations[number % planned]
        due_ns = finished_ns + offset_ns
        if due_ns >= end_ns:
            return
        finished_ns = max(due_ns + service_ns, window_ns)
        yield client.id, number, transaction, 0, STEP_NONE, SPACE_OK, 0, 0, 1, due_ns, due_ns, finished_ns, 0, 0


HANDOVER = {
    "cut-samples": lambda samples, totals, fake: None,  # done where frames are made
    "broken-samples": change(middle, lambda s, plan: {"code_space": 99}),
    "backwards": change(middle, lambda s, plan: {"finished_ns": s.started_ns - 1}),
    "lost-samples": lambda samples, totals, fake: samples.pop(shortest(samples)),
    "extra-samples": twice,
    "wrong-transaction": change(middle, lambda s, p: {"transaction": (s.transaction + 1) % max(p.transactions, 2)}),
    "unknown-transaction": change(middle, lambda s, plan: {"transaction": 65535}),
    "unknown-client": change(middle, lambda s, plan: {"client": 2**32 - 1}),
    "clock-in-task": change(first_attempts, lambda s, plan: {"due_ns": s.started_ns}),
    "exhausted": lambda samples, totals, fake: totals.update(exhausted=1),
    # Later attempts keep their start: what lies between attempts counts as back-off.
    "late": change(first_attempts, lambda s, plan: {"started_ns": (s.started_ns + s.finished_ns) // 2}),
    "instant": invent(200),
    "too-fast": invent(5_000),
    "nothing": nothing,
    "swallows": swallows,
}


class Fake:
    """The proxy: the main thread listens to the tool, another one to the real worker."""

    def __init__(self, args):
        self.args = args
        self.fault = "none"  # until a plan says that it applies
        self.plan, self.start_ns, self.striker, self.mute = None, 0, None, False
        self.sessions, self.held = 0, {}  # `done` and samples that wait for `end`
        self.burns, self.burn_ns = threading.Event(), (0, 0)
        self.lock, self.leaving = threading.Lock(), threading.Lock()
        self.planned, self.greeted, self.over = threading.Event(), threading.Event(), threading.Event()
        self.worker = subprocess.Popen(shlex.split(args.real), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def leave(self, status):
        """Ends the real worker, then this one; the first thread that wants to says how."""
        self.leaving.acquire()
        with suppress(OSError):
            self.worker.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.worker.wait(1)
        self.worker.kill()
        self.worker.wait()
        os._exit(status)

    def guarded(self, body, *values):
        """Runs `body`; should the fake itself fail, it says so and leaves with status 4."""
        try:
            body(*values)
        except Exception:
            traceback.print_exc()
            self.leave(4)

    def say(self, data):
        with self.lock:
            # A tool that stops listening closes the input too, when it is time to leave.
            with suppress(BrokenPipeError):
                sys.stdout.buffer.write(b"" if self.mute else data)
                sys.stdout.buffer.flush()

    def tell(self, data):
        with suppress(OSError):  # it has ended, and its output tells
            self.worker.stdin.write(data)
            self.worker.stdin.flush()

    # What the tool says.

    def from_tool(self):
        for line in iter(sys.stdin.buffer.readline, b""):
            word, *rest = line.split() or [b""]
            body = sys.stdin.buffer.read(int(rest[0])) if word in (b"plan", b"script") else b""
            if word == b"plan":
                line, body = self.take_plan(line, body)
            self.planned.set()
            if word == b"start" and self.plan:
                self.take_start(int(rest[0]))
            self.tell(line + body)
        if self.fault == "stall":
            time.sleep(600)  # it is meant to be killed, but must not run for ever
        self.leave(0)

    def take_plan(self, line, body):
        self.plan = Plan(body.decode())
        self.sessions, self.held = 0, {}
        self.fault = self.args.fault if self.applies() else "none"
        self.mute = self.fault == "hang-before-hello"
        if self.fault == "no-start":
            print("fake worker: told not to start", file=sys.stderr, flush=True)
            self.leave(3)
        if self.fault == "refuse":
            self.greeted.wait()
            self.say(b"failed\ttold to refuse the plan\n")
            return b"", b""
        if self.fault == "stall":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.fault == "busy":
            for _ in range(BURNERS):
                threading.Thread(target=self.guarded, args=(self.burn,), daemon=True).start()
        if self.fault == "unsynced":
            body = sealed(without_syncs(body.decode())).encode()
        elif self.fault == "rounds-integers":
            body = sealed(rounded(body.decode())).encode()
        elif self.fault == "autocommit":
            body = sealed(autocommitted(body.decode())).encode()
        elif self.fault == "rewrite":
            body = sealed(rewritten(body.decode(), self.args.rewrite)).encode()
        return b"plan %d\n" % len(body), body

    def applies(self):
        if self.args.worker not in ("all", str(self.plan.worker)):
            return False
        if self.args.trial_file is None:
            return True
        with open(self.args.trial_file, "a+") as seen:
            fcntl.flock(seen, fcntl.LOCK_EX)
            seen.seek(0)
            number = seen.read().split().count(str(self.plan.worker)) + 1
            seen.write(f"{self.plan.worker}\n")
        return self.args.only_plan in (None, number)

    def take_start(self, start_ns):
        self.start_ns, self.mute = start_ns, self.fault == "stall"
        self.over.clear()
        if self.fault == "busy":
            # A little later than the window: the tool, which looks at both of its ends, needs a processor for that.
            window_ns, length_ns = start_ns + self.plan.run_in_ns, self.plan.length_ns
            self.burn_ns = (window_ns + length_ns // 8, window_ns + length_ns + length_ns // 4)
            self.burns.set()
        if self.fault in ("die", "garbage", "no-newline", "stop-early"):
            moment_ns = start_ns + self.plan.run_in_ns + self.plan.length_ns // 8
            self.striker = threading.Thread(target=self.guarded, args=(self.strike, moment_ns), daemon=True)
            self.striker.start()

    def burn(self):
        """Takes processor time, before all others where that is allowed: on a busy machine there is none to be had
        otherwise. Hashing does not hold Python's lock, so threads can do it side by side."""
        zeros = bytes(1 << 22)
        self.burns.wait()
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        time.sleep(max(0, self.burn_ns[0] - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < self.burn_ns[1]:
            hashlib.sha256(zeros)

    def strike(self, moment_ns):
        """Early in the window, or when the worker is done before: late enough to be in it, early enough to matter
        on a machine that keeps this thread waiting."""
        self.over.wait(max(0, moment_ns - time.monotonic_ns()) / 1e9)
        if self.fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.fault == "garbage":
            self.say(b"this is not of the protocol\n")
        elif self.fault == "no-newline":
            self.say(b"progress\t" + b"x" * (2 << 20))
            self.mute = True
        elif self.fault == "stop-early":
            self.tell(b"stop\n")

    # What the real worker says.

    def from_worker(self):
        for line in iter(self.worker.stdout.readline, b""):
            word = line.split()[0].decode()
            body = self.worker.stdout.read(int(line.split()[1])) if word in ("samples", "reply") else b""
            if word == "hello" and self.args.fault in ("no-start", "hang-before-hello"):
                self.planned.wait()
            self.pass_on(word, line, body)
            if word == "hello":
                self.greeted.set()
        status = self.worker.wait()
        self.leave(status if status >= 0 else 128 - status)

    def pass_on(self, word, line, body):
        self.sessions += word == "session"
        first = word == "session" and self.sessions == 1
        if first and self.fault == "missing-session" or word == "ready" and self.fault == "never-ready":
            return
        if first and self.fault == "setting":
            name, value = self.args.setting.split("=", 1)
            line = facts_line("session", {**facts(line), name: value})
        elif word == "clock" and self.fault == "clock":
            line = b"clock\t%d\n" % (int(line.split()[1]) + 3600 * 10**9)
        elif word == "clock" and self.fault == "slow-clock":
            time.sleep(0.2)
        elif word == "done":
            self.before_done()
        if self.fault in HANDOVER and word in ("done", "samples"):
            self.held.setdefault(word, bytearray()).extend(body or line)
            return
        if self.fault in HANDOVER and word == "end":
            self.hand_over()
        self.say(line + body)
        if word == "done" and self.fault == "die-after-done":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "done" and self.fault == "huge-frame":
            self.say(b"samples %d\n" % 2**40)
            self.mute = True

    def before_done(self):
        self.over.set()
        if self.striker:
            self.striker.join()
        if self.fault == "corrupt-data":
            for path in self.plan.databases:
                with closing(sqlite3.connect(path, timeout=10)) as database:
                    database.executescript(self.args.sql)

    def hand_over(self):
        """Spoils totals and samples, and sends them."""
        samples = [Sample._make(fields) for fields in SAMPLE.iter_unpack(self.held.get("samples", b""))]
        totals = facts(self.held["done"])
        HANDOVER[self.fault](samples, totals, self)
        data = b"".join(SAMPLE.pack(*s) for s in samples)
        if self.fault == "cut-samples":
            data = data[:-10]
        self.say(facts_line("done", totals))
        for at in range(0, len(data), FRAME_BYTES):
            frame = data[at : at + FRAME_BYTES]
            self.say(b"samples %d\n" % len(frame) + frame)


def parse(argv):
    width = max(map(len, FAULTS))
    table = "\n".join(f"  {name:{width}}  {what}: {reason}" for name, (reason, _, what) in FAULTS.items())
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="faults:\n" + table, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, real = parser.add_argument, os.environ.get("CONTEND_REAL_WORKER")
    add("--real", metavar="COMMAND", default=real, help="the real worker (default: $CONTEND_REAL_WORKER)")
    add("--fault", choices=FAULTS, default="none", metavar="NAME", help="what to do wrong, see below")
    add("--worker", default="0", metavar="K", help="number of the worker at fault, or `all` (default: 0)")
    add("--trial-file", metavar="PATH", help="notes the plans given to each worker at fault, over all processes")
    add("--only-plan", type=int, metavar="N", help="be at fault only with a worker's N-th plan in --trial-file, from 1")
    add("--setting", default="synchronous=0", metavar="NAME=VALUE", help="for `setting` (default: synchronous=0)")
    add("--sql", help="for `corrupt-data`")
    add("--rewrite", action="append", metavar="PATTERN=>REPLACEMENT", help="a regular expression, for `rewrite`")
    add("--service-ns", type=int, metavar="NS", help="for `instant` (default: 200) and `too-fast` (5000)")
    add("--list", action="store_true", help="print fault, reason expected and reasons that may come with it")
    args = parser.parse_args(argv)
    if not args.real and not args.list:
        parser.error("--real or CONTEND_REAL_WORKER must name the real worker")
    needs = {"corrupt-data": args.sql, "rewrite": args.rewrite}
    if args.only_plan and not args.trial_file or not needs.get(args.fault, True):
        parser.error("--only-plan needs --trial-file; corrupt-data needs --sql, rewrite --rewrite")
    return args


def main(argv):
    args = parse(argv)
    if args.list:
        return print("\n".join("\t".join((name, reason, also)) for name, (reason, also, _) in FAULTS.items()))
    fake = Fake(args)
    threading.Thread(target=fake.guarded, args=(fake.from_worker,), daemon=True).start()
    fake.guarded(fake.from_tool)


if __name__ == "__main__":
    main(sys.argv[1:])
