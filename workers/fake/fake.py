#!/usr/bin/env python3
"""A worker that fails on request.

It starts the real worker and passes the protocol through unchanged, except for one fault. Every way in
which contend declares a trial invalid can so be provoked; README.md says which fault leads to which.
"""

import argparse
import fcntl
import hashlib
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from contextlib import closing, suppress

import lies
from between import FAULTS as BETWEEN
from between import between, is_postgres
from handover import HANDOVER, SAMPLE, Plan, Sample, facts, facts_line, rewritten, rounded, sealed, unlogged, weakened, without_syncs

OF_LIES = ("cache", "drop", "early", "join", "repeat", "shift", "short", "skip", "swap")
FAULTS = {  # name: (reason expected, reasons that may come with it, what it does)
    "none": ("-", "-", "passes everything through"),
    "no-start": ("worker-died", "-", "exits with status 3 before `hello`"),
    "refuse": ("not-started", "-", "answers the plan with `failed`"),
    "hang-before-hello": ("not-ready", "-", "never sends anything"),
    "never-ready": ("not-ready", "-", "swallows `ready`"),
    "setting": ("settings", "-", "reports another value of --setting for one connection"),
    "missing-session": ("settings", "-", "does not report one connection's settings"),
    "clock": ("clock", "-", "its clock is an hour ahead"),
    "slow-clock": ("clock", "-", "takes 200 ms to report its clock"),
    "die": ("worker-died", "-", "kills itself early in the window"),
    "die-after-done": ("worker-died", "-", "kills itself between `done` and the samples"),
    "stall": ("stalled", "-", "is silent from the start on, and ignores SIGTERM and the end of its input"),
    "garbage": ("protocol", "-", "sends an unknown line early in the window"),
    "no-newline": ("protocol", "-", "sends a line without end early in the window"),
    "huge-frame": ("protocol", "-", "announces 2^40 bytes of samples"),
    "cut-samples": ("samples", "-", "sends and announces 10 bytes fewer"),
    "broken-samples": ("samples", "-", "sends a sample with code space 99"),
    "backwards": ("samples", "-", "sends a sample that finished before it started"),
    "lost-samples": ("accounts", "invariant,commits,answers", "loses a sample"),
    "extra-samples": ("accounts", "commits,answers", "sends a sample twice"),
    "wrong-transaction": ("accounts", "invariant,commits,answers", "sends a sample of a different transaction than planned"),
    "unknown-transaction": ("accounts", "invariant,commits,answers", "sends a sample of a transaction that no plan has"),
    "unknown-client": ("accounts", "invariant,commits,answers", "sends a sample of a client that no plan has"),
    "clock-in-task": ("accounts", "-", "counts from when an operation started, not from when it was due"),
    "impossible-wait": ("accounts", "-", "reports waits for locks of ten times the attempt"),
    "impossible-rows": ("accounts", "answers", "reports a row more than the steps allow"),
    "stop-early": ("accounts", "-", "stops early in the window and reports that it is done"),
    "exhausted": ("exhausted", "-", "reports a client that ran out of its plan"),
    "late": ("littles-law", "generator-limited,accounts,commits,answers", "starts its clock in the middle of each operation"),
    "busy": ("generator-limited", "littles-law,nothing-done", "burns processor time in the window, as a client over HTTP"),
    "instant": ("generator-limited", "invariant,not-credible,commits,clock,accounts,answers", "invents operations of 200 ns, in the order of the plan"),
    "too-fast": ("not-credible", "generator-limited,invariant,commits,clock,accounts,answers", "invents commits of 5 us, in the order of the plan"),
    "unsynced": ("-", "not-credible", "runs with synchronous = OFF (PostgreSQL: synchronous_commit) and reports the requested setting"),
    "unlogged": ("-", "not-credible", "leaves its commits out of MariaDB's binary log, and reports that they are in it"),
    "sleeps": ("-", "not-credible", "like `unsynced`, and sleeps as often as if it waited for the disk"),
    "no-journal": ("-", "settings,not-credible", "runs with journal_mode = MEMORY and reports the requested setting"),
    "stretch": ("clock", "commits,answers", "works 4 times as long as it says, and divides its times by 4"),
    "freeze": ("stalled", "littles-law", "stops the real worker for 3 s of the window"),
    "pause": ("stalled", "clock,littles-law,commits,answers", "stops the real worker for 3 s of the window and reports a garbage collector's pause of 10 s"),
    "unread": ("settings", "-", "reads back no connection after the run"),
    "autocommit": ("commits", "invariant,answers", "commits each statement of a transaction by itself"),
    "jump": ("clock", "commits,answers", "its clock jumps 2 s ahead in the middle of the samples"),
    "jump-back": ("samples", "-", "its clock jumps 2 s back in the middle of the samples"),
    "meddle": ("commits", "-", "executes --sql in the database early in the window, as another program might"),
    "replaces": ("commits", "-", "puts a copy in the place of the file in which SQLite counts its commits with WAL, once clients begin"),
    "alters": ("invariant", "commits,answers", "executes --sql in the database before it reports that it is ready"),
    "second": ("commits", "invariant,answers", "has a second worker carry out the same plan at the same time"),
    "between": ("-", "invariant,commits,answers", "has a proxy between driver and server, which does what --between says"),
    "weakens": ("settings", "not-credible,answers", "sets synchronous = OFF on its connections once they have been read back"),
    "corrupt-data": ("invariant", "commits", "executes --sql in the database before it hands over its samples"),
    "nothing": ("nothing-done", "invariant,commits", "reports every attempt as failed with SQLITE_BUSY"),
    "rewrite": ("invariant", "commits,accounts", "executes its statements changed as --rewrite says"),
    "rounds-integers": ("-", "invariant", "rounds a plan's integers like reals: 9007199254740993 to ...992"),
    "lie": ("-", "-", "falsifies results as lies.py does; --seed chooses how"),
    **{kind: ("-", "-", lies.KINDS[kind].__doc__.strip(".")) for kind in OF_LIES},
    "leaves": ("left-running", "-", "leaves a process in a session of its own"),
    "pins": ("processors", "-", "sets the real worker to other processors than contend gave it"),
    "narrows": ("processors", "-", "sets its parent, contend, to other processors when it has to quit"),
    "swallows": ("-", "invariant,commits,accounts,answers", "reports every attempt that failed as a success"),
}
BURNERS, FRAME_BYTES = 2, 1 << 20


class Fake:
    """The proxy: the main thread listens to the tool, another one to the real worker."""

    def __init__(self, args):
        self.args = args
        self.fault = "none"  # until a plan says that it applies
        self.lie = self.second = None
        self.number, self.proxies = 1, []
        self.plan, self.start_ns, self.striker, self.mute = None, 0, None, False
        self.sessions, self.held = 0, {}  # `done` and samples that wait for `end`
        self.burns, self.burn_ns = threading.Event(), (0, 0)
        self.lock, self.leaving = threading.Lock(), threading.Lock()
        self.planned, self.greeted, self.over = threading.Event(), threading.Event(), threading.Event()
        self.worker = subprocess.Popen(shlex.split(args.real), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def leave(self, status):
        """Ends the real worker, then this one; the first thread to call it decides the status."""
        self.leaving.acquire()
        with suppress(OSError):
            self.worker.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.worker.wait(1)
        self.worker.kill()
        self.worker.wait()
        for path in self.proxies:
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        os._exit(status)

    def guarded(self, body, *values):
        """Runs `body`; if the fake itself fails, it prints that and exits with status 4."""
        try:
            body(*values)
        except Exception:
            traceback.print_exc()
            self.leave(4)

    def say(self, data):
        with self.lock:
            # A tool that stops reading also closes the input when the worker has to end.
            with suppress(BrokenPipeError):
                sys.stdout.buffer.write(b"" if self.mute else data)
                sys.stdout.buffer.flush()

    def tell(self, data):
        with suppress(OSError):  # it has ended, which its output shows
            self.worker.stdin.write(data)
            self.worker.stdin.flush()

    # Lines from the tool.

    def from_tool(self):
        for line in iter(sys.stdin.buffer.readline, b""):
            word, *rest = line.split() or [b""]
            body = sys.stdin.buffer.read(int(rest[0])) if word in (b"plan", b"script") else b""
            if word == b"plan":
                line, body = self.take_plan(line, body)
            self.planned.set()
            if word == b"quit" and self.fault == "narrows":
                move(os.getppid())
                self.fault = "none"  # `quit` may come twice
            if word == b"start" and self.plan:
                self.take_start(int(rest[0]))
            self.tell(line + body)
        if self.fault == "stall":
            time.sleep(600)  # the tool should kill it; it must not run for ever
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
        if self.fault == "leaves":
            nothing = subprocess.DEVNULL
            subprocess.run(["setsid", "--fork", "sleep", "600"], stdin=nothing, stdout=nothing, stderr=nothing, check=True)
        if self.fault == "sleeps":
            threading.Thread(target=self.guarded, args=(self.sleep,), daemon=True).start()
        if self.fault == "second":
            self.begin_second(b"plan %d\n" % len(body) + body)
        if self.fault == "stall":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.fault == "busy":
            for _ in range(BURNERS):
                threading.Thread(target=self.guarded, args=(self.burn,), daemon=True).start()
        self.lie = self.make_up(body.decode()) if self.fault == "lie" or self.fault in lies.KINDS else None
        if self.lie:
            body = sealed(self.lie.plan).encode()
        elif self.fault in ("unsynced", "sleeps"):
            body = sealed(without_syncs(body.decode())).encode()
        elif self.fault == "unlogged":
            body = sealed(unlogged(body.decode())).encode()
        elif self.fault == "no-journal":
            body = sealed(weakened(body.decode(), "journal_mode", "MEMORY")).encode()
        elif self.fault == "rounds-integers":
            body = sealed(rounded(body.decode())).encode()
        elif self.fault == "between":
            body = sealed(self.behind_proxy(body.decode())).encode()
        elif self.fault == "rewrite":
            body = sealed(rewritten(body.decode(), self.args.rewrite)).encode()
        return b"plan %d\n" % len(body), body

    def behind_proxy(self, text):
        """The plan with a proxy's socket in place of each server's. The n-th plan has the n-th fault of the list."""
        faults = self.args.between.split(",")
        for path, _, _ in self.plan.sockets:
            self.proxies.append(between(path, faults[(self.number - 1) % len(faults)]))
            text = text.replace(f"\ndatabase\tsocket\t{path}\t", f"\ndatabase\tsocket\t{self.proxies[-1]}\t")
        return text

    def make_up(self, text):
        """The lie for this plan; `None` for plans that `--every` leaves honest."""
        self.number = 1
        if self.args.lies_file:
            with open(self.args.lies_file, "a+") as told:
                fcntl.flock(told, fcntl.LOCK_EX)
                told.seek(0)
                self.number += told.read().count("plan\n")
                told.write("plan\n")
        if self.number % self.args.every:
            return None
        return lies.of(self.fault, self.args.seed * 1_000_003 + self.number, text)

    def keeps_totals(self):
        return self.fault == "lie" or self.fault in lies.KINDS

    def tell_lie(self, samples):
        """Changes the samples, and notes in the file of lies which lie it was and how many samples it made up."""
        made_up = self.lie.told(samples, self.start_ns) if self.lie else 0
        if self.args.lies_file:
            with open(self.args.lies_file, "a") as told:
                kind, size = (self.lie.kind, self.lie.size) if self.lie else ("none", "-")
                told.write(f"{self.number}\t{kind}\t{size}\t{made_up}\n")

    def applies(self):
        if self.args.worker not in ("all", str(self.plan.worker)):
            return False
        if self.args.trial_file is None:
            return True
        with open(self.args.trial_file, "a+") as seen:
            fcntl.flock(seen, fcntl.LOCK_EX)
            seen.seek(0)
            self.number = number = seen.read().split().count(str(self.plan.worker)) + 1
            seen.write(f"{self.plan.worker}\n")
        return self.args.only_plan in (None, number)

    def take_start(self, start_ns):
        self.start_ns, self.mute = start_ns, self.fault == "stall"
        self.over.clear()
        if self.fault == "pins":
            move(self.worker.pid)
        if self.fault == "replaces":
            for shared in (f"{path}-shm" for path in self.plan.databases):
                os.replace(shutil.copyfile(shared, f"{shared}.copy"), shared)
        if self.fault == "busy":
            # A little after the beginning of the window, at whose ends the tool needs a processor for its readings.
            window_ns, length_ns = start_ns + self.plan.run_in_ns, self.plan.length_ns
            self.burn_ns = (window_ns + length_ns // 8, window_ns + length_ns + length_ns // 4)
            self.burns.set()
        if self.fault == "second":
            self.second.stdin.write(b"start\t%d\n" % start_ns)
            self.second.stdin.flush()
        if self.fault in ("die", "garbage", "no-newline", "stop-early", "freeze", "pause", "meddle"):
            moment_ns = start_ns + self.plan.run_in_ns + self.plan.length_ns // 8
            self.striker = threading.Thread(target=self.guarded, args=(self.strike, moment_ns), daemon=True)
            self.striker.start()

    def burn(self):
        """Takes processor time, before all other programs where that is allowed: a busy machine leaves none otherwise. Hashing
        does not hold Python's lock, so several threads can do it at the same time."""
        zeros = bytes(1 << 22)
        self.burns.wait()
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        time.sleep(max(0, self.burn_ns[0] - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < self.burn_ns[1]:
            hashlib.sha256(zeros)

    def sleep(self):
        """Sleeps ten thousand times a second, more often than disks sync."""
        while not self.over.is_set():
            time.sleep(0.0001)

    def strike(self, moment_ns):
        """Waits until early in the window, or until the worker is done if that is earlier. So the fault is in the window even
        if a busy machine delays this thread."""
        self.over.wait(max(0, moment_ns - time.monotonic_ns()) / 1e9)
        if self.fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.fault in ("freeze", "pause"):
            self.worker.send_signal(signal.SIGSTOP)
            time.sleep(3)
            self.worker.send_signal(signal.SIGCONT)
        elif self.fault == "meddle":
            self.execute()
        elif self.fault == "garbage":
            self.say(b"this is not of the protocol\n")
        elif self.fault == "no-newline":
            self.say(b"progress\t" + b"x" * (2 << 20))
            self.mute = True
        elif self.fault == "stop-early":
            self.tell(b"stop\n")

    # Lines from the real worker.

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
        elif word == "progress" and self.lie:
            so_far = facts(line)
            so_far["operations"] = self.lie.progress(time.monotonic_ns() - self.start_ns, int(so_far["operations"]))
            line = facts_line("progress", so_far)
        elif word == "ready" and self.fault == "alters":
            self.execute()
        elif word == "done":
            self.before_done()
        if self.fault in HANDOVER and word in ("done", "samples"):
            self.held.setdefault(word, bytearray()).extend(body or line)
            # The totals fit the lie; the time that it takes to make it up must not reveal it.
            if word == "samples" or not self.keeps_totals():
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
            self.execute()

    def execute(self):
        for path in self.plan.databases:
            with closing(sqlite3.connect(path, timeout=10)) as database:
                database.executescript(self.args.sql)
        for path, user, name in self.plan.sockets:
            if is_postgres(path):
                statements = [word for sql in self.args.sql.split(";") for word in ("-c", sql)]
                command = ["psql", "-q", "-h", os.path.dirname(path), "-U", user, "-d", name, *statements]
            else:
                command = ["mariadb", "-S", path, "-u", user, "-D", name, "-e", self.args.sql]
            subprocess.run(command, stdout=sys.stderr, check=True)

    def begin_second(self, plan):
        """Waits until it is ready, or it might begin after the window. Its answers are not passed on."""
        if self.second:  # of an earlier plan
            self.second.stdin.close()
        pipe = subprocess.PIPE
        self.second = subprocess.Popen(shlex.split(self.args.real), stdin=pipe, stdout=pipe)
        self.second.stdin.write(plan)
        self.second.stdin.flush()
        lines = iter(self.second.stdout.readline, b"")
        if not any(line.split() == [b"ready"] for line in lines):
            raise RuntimeError("the second worker ended before it was ready")
        threading.Thread(target=self.second.stdout.read, daemon=True).start()

    def hand_over(self):
        """Applies the fault to totals and samples, and sends them."""
        samples = [Sample._make(fields) for fields in SAMPLE.iter_unpack(self.held.get("samples", b""))]
        totals = facts(self.held["done"])
        HANDOVER[self.fault](samples, totals, self)
        data = b"".join(SAMPLE.pack(*s) for s in samples)
        if self.fault == "cut-samples":
            data = data[:-10]
        if not self.keeps_totals():
            self.say(facts_line("done", totals))
        for at in range(0, len(data), FRAME_BYTES):
            frame = data[at : at + FRAME_BYTES]
            self.say(b"samples %d\n" % len(frame) + frame)


def move(process):
    """Sets all threads of a process to one of its processors, or to all if it has only one."""
    given = os.sched_getaffinity(process)
    for thread in os.listdir(f"/proc/{process}/task"):
        with suppress(OSError):
            os.sched_setaffinity(int(thread), {min(given)} if len(given) > 1 else range(os.cpu_count()))


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
    add("--between", default="delays", metavar="FAULTS", help="for `between`, one for each plan in turn: " + ", ".join(BETWEEN))
    add("--service-ns", type=int, metavar="NS", help="for `instant` (default: 200) and `too-fast` (5000)")
    add("--seed", type=int, default=1, metavar="N", help="of lies (default: 1)")
    add("--lies-file", metavar="PATH", help="notes each lie, and how many samples it made up")
    add("--every", type=int, default=1, metavar="N", help="lie about each N-th plan of --lies-file (default: 1)")
    add("--list", action="store_true", help="print fault, reason expected and reasons that may come with it")
    args = parser.parse_args(argv)
    if not args.real and not args.list:
        parser.error("--real or CONTEND_REAL_WORKER must name the real worker")
    if args.fault == "rewrite" and not args.rewrite:
        parser.error("rewrite needs --rewrite")
    if unknown := set(args.between.split(",")) - set(BETWEEN):
        parser.error(f"--between has no {', '.join(sorted(unknown))}; it has {', '.join(BETWEEN)}")
    if args.only_plan and not args.trial_file or args.fault in ("alters", "corrupt-data", "meddle") and not args.sql:
        parser.error("--only-plan needs --trial-file; alters, corrupt-data and meddle need --sql")
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
