"""Drives fake.py with a small plan against the real worker: `python3 -m unittest` in this directory.

The real worker is target/debug/contend-worker (`cargo build -p contend-worker`) or CONTEND_REAL_WORKER.
"""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import closing
from pathlib import Path
from queue import Empty, Queue

import fake
from handover import SAMPLE, SPACE_OK, STEP_NONE, Sample

HERE = Path(__file__).resolve().parent
REAL = os.environ.get("CONTEND_REAL_WORKER") or str(HERE.parents[1] / "target/debug/contend-worker")
WORDS = {"hello", "session", "clock", "ready", "progress", "done", "samples", "end", "reply", "failed"}
MS = 1_000_000
SERVICE_NS = 2 * MS
WINDOW_MS = 120
# How long a busy machine may take for anything that is to happen.
PATIENCE_S = 60
# Operations of a client whose plan ends with them and not with the window.
LIMIT = 12

PLAN = """contend-plan 3
worker\t{worker}
driver\trusqlite\tthread
connections\tclient
window\t{run_in_ns}\t{window_ns}\t1000000000
now\tclock
option\tbusy_timeout_ms\t1000
database\tfile\t{database}
session\trows\tPRAGMA synchronous = FULL
readback\tsynchronous\tPRAGMA synchronous
statement\t0\trows\t-\tSELECT count(*) FROM t
statement\t1\tchanges\t22\tINSERT INTO t VALUES (?)
transaction\t0\tread\tread\t-\t0\t0\t2
step\tsql\t0\t1..1\t1\t-
step\thold\t{service_ns}
transaction\t1\twrite\twrite\tBEGIN IMMEDIATE\t0\t0\t1
step\tsql\t1\t1..1\t1\t-\tp0+0
retry\t1\t-\t-\t-
clients\t2
client\t0\t0\tclosed\tcyclic\t{limit}\t0\t2
op\t0\t0
op\t1000\t1\ti1
client\t1\t0\tclosed\tcyclic\t{limit}\t500\t2
op\t0\t1\ti2
op\t1000\t0
end\t
"""


class Gone(Exception):
    """The worker closed its output."""


class Conversation:
    """The tool's side: writes at once, reads in a thread, waits with a deadline."""

    def __init__(self, *arguments, real=False):
        command = [REAL] if real else [sys.executable, str(HERE / "fake.py"), "--real", REAL, *arguments]
        pipe = subprocess.PIPE
        # A group of its own, as the tool gives it: whatever it started goes with it.
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        self.said = Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Stops listening, as the tool does, after the first thing that is not of the protocol."""
        with self.process.stdout as out:
            while True:
                line = out.readline(1 << 20)
                if not line.endswith(b"\n"):
                    self.said.put(("cut", len(line)) if line else None)
                    return
                word, _, rest = line.decode().rstrip("\n").replace(" ", "\t", 1).partition("\t")
                sound = word in WORDS
                if word in ("samples", "reply"):
                    sound = int(rest) < 1 << 30
                    rest = out.read(int(rest)) if sound else int(rest)
                self.said.put((word, rest))
                if not sound:
                    return

    def tell(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def next(self, within=PATIENCE_S):
        event = self.said.get(timeout=within)
        if event is None:
            raise Gone
        return event

    def until(self, word):
        """Everything up to the event `word`, which is included."""
        events = [self.next()]
        while events[-1][0] != word:
            events.append(self.next())
        return events

    def plan(self, text):
        self.tell(f"plan {len(text.encode())}\n{text}")

    def prepared(self, text):
        self.plan(text)
        return self.until("ready")

    def clock(self):
        asked_ns = time.monotonic_ns()
        self.tell("clock\n")
        (word, reading), = self.until("clock")
        return asked_ns, int(reading), time.monotonic_ns()

    def start(self):
        start_ns = time.monotonic_ns() + 5 * MS
        self.tell(f"start\t{start_ns}\n")
        return start_ns

    def outcome(self):
        """The totals, and the samples as bytes."""
        events = self.until("end")
        (totals,) = [dict(f.split("=") for f in rest.split("\t")) for word, rest in events if word == "done"]
        return {k: int(v) for k, v in totals.items()}, b"".join(body for word, body in events if word == "samples")

    def ended(self, within=PATIENCE_S):
        return self.process.wait(within)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(5)
        for stream in (self.process.stdin, self.process.stderr):
            stream.close()


def samples_of(data):
    return [Sample._make(fields) for fields in SAMPLE.iter_unpack(data)]


def differing(samples, plan_start_ns):
    """What the tool checks of due times and operation numbers in a closed loop, in the words of its rules."""
    found, last = [], {}
    for s in samples:
        before = last.get(s.client)
        number, due_ns = (before.operation + 1, before.finished_ns) if before else (0, plan_start_ns + 500 * s.client)
        due_ns += 1000 * (s.operation % 2)
        if (s.operation, s.due_ns) != (number, due_ns) or s.transaction != (s.operation + s.client) % 2:
            found.append(s)
        last[s.client] = s
    return found


class FakeTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.database = self.directory / "it's\ta test.db"
        with closing(sqlite3.connect(self.database)) as database:
            database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (n)")

    def talk(self, *arguments, **options):
        conversation = Conversation(*arguments, **options)
        self.addCleanup(conversation.close)
        return conversation

    def fault(self, name, *more):
        return self.talk("--fault", name, *more)

    def plan(self, worker=0, window_ms=WINDOW_MS, limit=0):
        database = str(self.database).replace("\t", "\\t")
        run_in_ns, window_ns = 20 * MS, window_ms * MS
        return fake.sealed(PLAN.format(
            worker=worker, database=database, run_in_ns=run_in_ns, window_ns=window_ns, service_ns=SERVICE_NS, limit=limit
        ))

    def rows(self):
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute("SELECT count(*) FROM t").fetchone()[0]

    def run_through(self, conversation, **plan):
        """Start to end: start, totals, samples as bytes."""
        conversation.prepared(self.plan(**plan))
        start_ns = conversation.start()
        return start_ns, *conversation.outcome()

    def spoiled(self, name, *more, **plan):
        start_ns, totals, data = self.run_through(self.fault(name, *more), **plan)
        return start_ns, totals, samples_of(data)

    # The control, and what all faults have in common.

    def test_without_a_fault_the_conversation_is_that_of_the_real_worker(self):
        shapes = []
        for conversation in (self.talk(real=True), self.talk()):
            hello = conversation.until("hello")
            # Without a window: every client carries out LIMIT operations, however long that takes.
            sessions = conversation.prepared(self.plan(window_ms=0, limit=LIMIT))
            asked_ns, reading_ns, heard_ns = conversation.clock()
            self.assertTrue(asked_ns <= reading_ns <= heard_ns)
            start_ns = conversation.start()
            totals, data = conversation.outcome()
            samples = samples_of(data)
            self.assertEqual(differing(samples, start_ns), [])
            self.assertEqual((totals["attempts"], totals["failed"]), (len(samples), 0))
            self.assertEqual(len(samples), 2 * LIMIT)
            conversation.tell("quit\n")
            self.assertEqual(conversation.ended(), 0)
            self.assertEqual(conversation.process.stderr.read(), b"")
            shapes.append((hello, sessions, sorted(totals)))
        self.assertEqual(shapes[0], shapes[1])

    def test_scripts_pass(self):
        conversation = self.fault("no-start")
        database = str(self.database).replace("\t", "\\t")
        script = fake.sealed(f"contend-script 2\ndriver\trusqlite\ndatabase\tfile\t{database}\nsql\trows\tSELECT 7\nend\t\n")
        conversation.tell(f"script {len(script)}\n{script}")
        self.assertEqual(conversation.until("reply")[-1][0], "reply")

    def test_it_leaves_when_its_input_closes(self):
        for name in sorted(set(fake.FAULTS) - {"stall", "no-start"}):
            with self.subTest(name):
                conversation = self.fault(name, "--sql", "SELECT 1", "--rewrite", "SELECT=>SELECT")
                conversation.plan(self.plan())
                conversation.process.stdin.close()
                self.assertEqual(conversation.ended(), 0)

    def test_the_real_worker_goes_with_it(self):
        conversation = self.fault("none")
        conversation.prepared(self.plan(window_ms=60_000))
        (child,) = Path(f"/proc/{conversation.process.pid}/task/{conversation.process.pid}/children").read_text().split()
        conversation.start()
        conversation.process.kill()
        deadline = time.monotonic() + PATIENCE_S
        while running(child) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(running(child))

    def test_other_workers_are_not_at_fault(self):
        conversation = self.fault("refuse")
        self.assertEqual(conversation.prepared(self.plan(worker=1))[-1][0], "ready")
        conversation = self.fault("refuse", "--worker", "all")
        conversation.plan(self.plan(worker=1))
        conversation.until("failed")

    def test_only_the_chosen_plan_is_at_fault(self):
        answers = []
        for worker in (0, 1, 0, 0):
            counter = str(self.directory / "plans")
            conversation = self.fault("refuse", "--trial-file", counter, "--only-plan", "2")
            conversation.until("hello")
            conversation.plan(self.plan(worker=worker))
            answers.append(conversation.next()[0] == "failed")
        self.assertEqual(answers, [False, False, True, False])

    def test_with_all_workers_at_fault_each_counts_its_own_plans(self):
        answers = []
        for worker in (1, 0, 0, 1, 1):
            counter = str(self.directory / "plans")
            conversation = self.fault("refuse", "--worker", "all", "--trial-file", counter, "--only-plan", "2")
            conversation.until("hello")
            conversation.plan(self.plan(worker=worker))
            answers.append(conversation.next()[0] == "failed")
        self.assertEqual(answers, [False, False, True, True, False])

    def test_a_mistake_of_its_own_is_no_fault(self):
        conversation = self.fault("corrupt-data", "--sql", "DELETE FROM nowhere")
        conversation.prepared(self.plan())
        conversation.start()
        self.assertEqual(conversation.ended(), 4)
        self.assertIn(b"nowhere", conversation.process.stderr.read())

    def test_the_table_in_the_readme_is_the_one_in_the_code(self):
        rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| .* \|$", (HERE / "README.md").read_text(), re.M)
        plain = [(name, *(cell.replace("`", "").replace(", ", ",") for cell in cells)) for name, *cells in rows]
        self.assertEqual(plain, [(name, reason, also) for name, (reason, also, _) in fake.FAULTS.items()])

    # Before the start.

    def test_no_start(self):
        conversation = self.fault("no-start")
        conversation.plan(self.plan())
        self.assertRaises(Gone, conversation.next)
        self.assertEqual(conversation.ended(), 3)
        self.assertIn(b"told not to start", conversation.process.stderr.read())

    def test_refuse(self):
        conversation = self.fault("refuse")
        conversation.plan(self.plan())
        self.assertEqual([word for word, _ in conversation.until("failed")], ["hello", "failed"])

    def test_silence_before_hello_and_without_ready(self):
        for name, words in (("hang-before-hello", []), ("never-ready", ["hello", "session", "session"])):
            with self.subTest(name):
                conversation = self.fault(name)
                conversation.plan(self.plan())
                self.assertEqual([conversation.next()[0] for _ in words], words)
                self.assertRaises(Empty, conversation.next, within=0.4)
                self.assertIsNone(conversation.process.poll())

    def test_sessions(self):
        settings = {}
        for name in ("none", "setting", "missing-session"):
            said = self.fault(name).prepared(self.plan())
            settings[name] = [re.search(r"synchronous=(\d)", rest)[1] for word, rest in said if word == "session"]
        self.assertEqual(settings, {"none": ["2", "2"], "setting": ["0", "2"], "missing-session": ["2"]})

    def test_clocks(self):
        fast, slow = self.fault("clock"), self.fault("slow-clock")
        for conversation in (fast, slow):
            conversation.prepared(self.plan())
        asked_ns, reading_ns, heard_ns = fast.clock()
        self.assertTrue(asked_ns <= reading_ns - 3600 * 1000 * MS <= heard_ns)
        asked_ns, reading_ns, heard_ns = slow.clock()
        self.assertTrue(asked_ns <= reading_ns <= heard_ns)
        self.assertGreater(heard_ns - asked_ns, 150 * MS)

    # During the window.

    def test_die(self):
        conversation = self.fault("die")
        conversation.prepared(self.plan(window_ms=4000))
        start_ns = conversation.start()
        self.assertEqual(conversation.ended(), -signal.SIGKILL)
        self.assertLess(time.monotonic_ns(), start_ns + 4000 * MS)
        self.assertRaises(Gone, conversation.outcome)

    def test_die_after_done(self):
        conversation = self.fault("die-after-done")
        conversation.prepared(self.plan())
        conversation.start()
        conversation.until("done")
        self.assertRaises(Gone, conversation.next)
        self.assertEqual(conversation.ended(), -signal.SIGKILL)

    def test_stall(self):
        conversation = self.fault("stall")
        conversation.prepared(self.plan())
        conversation.start()
        self.assertRaises(Empty, conversation.next, within=0.5)
        conversation.process.terminate()
        conversation.process.stdin.close()
        self.assertRaises(Empty, conversation.next, within=0.2)
        self.assertIsNone(conversation.process.poll())

    def test_what_is_not_of_the_protocol(self):
        for name, found in (("garbage", "this"), ("no-newline", "cut"), ("huge-frame", "samples")):
            with self.subTest(name):
                conversation = self.fault(name)
                conversation.prepared(self.plan())
                conversation.start()
                rest = conversation.until(found)[-1][1]
                self.assertEqual(rest, {"garbage": "is not of the protocol", "no-newline": 1 << 20}.get(name, 2**40))
                # The tool does not listen any more; it must not find it dead.
                self.assertRaises(subprocess.TimeoutExpired, conversation.ended, 0.3)

    def test_stop_early(self):
        # The stop is requested at an eighth of the window; a slow machine has the next half for it.
        start_ns, totals, samples = self.spoiled("stop-early", window_ms=4000)
        self.assertEqual(differing(samples, start_ns), [])
        self.assertEqual(totals["attempts"], len(samples))
        last_ns = max(s.finished_ns for s in samples) - start_ns
        self.assertTrue(500 * MS < last_ns < 2500 * MS, last_ns)

    # Samples.

    def test_cut_samples(self):
        _, totals, data = self.run_through(self.fault("cut-samples"))
        self.assertEqual(len(data), totals["attempts"] * SAMPLE.size - 10)

    def test_broken_samples(self):
        _, _, samples = self.spoiled("broken-samples")
        self.assertEqual([s.code_space for s in samples if s.code_space], [99])

    def test_backwards(self):
        _, _, samples = self.spoiled("backwards")
        self.assertEqual(len([s for s in samples if s.finished_ns < s.started_ns]), 1)

    def test_lost_and_extra_samples(self):
        for name, more in (("lost-samples", -1), ("extra-samples", 1)):
            with self.subTest(name):
                _, totals, samples = self.spoiled(name)
                self.assertEqual(len(samples), totals["attempts"] + more)

    def test_samples_that_the_plan_does_not_have(self):
        for name in ("wrong-transaction", "unknown-transaction", "unknown-client"):
            with self.subTest(name):
                start_ns, totals, samples = self.spoiled(name)
                self.assertEqual(totals["attempts"], len(samples))
                found = differing(samples, start_ns)
                self.assertGreater(len(found), 0)
                if name != "unknown-client":
                    self.assertEqual(len(found), 1)
                    self.assertEqual(found[0].transaction == 65535, name == "unknown-transaction")

    def test_clock_in_task(self):
        start_ns, _, samples = self.spoiled("clock-in-task")
        self.assertTrue(all(s.due_ns == s.started_ns for s in samples))
        self.assertGreater(len(differing(samples, start_ns)), len(samples) // 2)

    def test_exhausted(self):
        start_ns, totals, samples = self.spoiled("exhausted")
        self.assertEqual((totals["exhausted"], differing(samples, start_ns)), (1, []))

    def test_late(self):
        start_ns, _, samples = self.spoiled("late")
        self.assertEqual(differing(samples, start_ns), [])
        late_ns = sum(s.started_ns - s.due_ns for s in samples)
        self.assertGreater(late_ns, 0.4 * sum(s.finished_ns - s.due_ns for s in samples))

    def test_nothing(self):
        _, totals, samples = self.spoiled("nothing")
        self.assertEqual({(s.code_space, s.code, s.failed_step) for s in samples}, {(1, 5, 65534)})
        self.assertEqual(totals["failed"], len(samples))

    # Values and outcomes.

    def carried_out(self, name, text):
        conversation = self.fault(name)
        conversation.prepared(fake.sealed(text))
        conversation.start()
        totals, data = conversation.outcome()
        return totals, samples_of(data)

    def test_rounds_integers(self):
        text = self.plan(window_ms=0, limit=LIMIT)
        text = text.replace("\ti1\n", "\ti9007199254740993\n").replace("\ti2\n", "\ti-7\n")
        self.carried_out("rounds-integers", text)
        with closing(sqlite3.connect(self.database)) as database:
            found = {n for n, in database.execute("SELECT n FROM t")}
        self.assertEqual(found, {9007199254740992, -7})
        lines = "text\t0\ti9007199254740993\nop\t0\t9007199254740993\ti9223372036854775807\tti9007199254740993"
        self.assertEqual(fake.rounded(lines), lines)

    def test_swallows(self):
        text = self.plan(window_ms=0, limit=LIMIT)
        text = text.replace("VALUES (?)", "SELECT abs(?)").replace("\ti1\n", f"\ti{-2**63}\n")
        for name, failures in (("none", LIMIT // 2), ("swallows", 0)):
            with self.subTest(name):
                totals, samples = self.carried_out(name, text)
                self.assertEqual((totals["failed"], totals["attempts"]), (failures, len(samples)))
                failed = {(s.failed_step, s.code_space, s.code) for s in samples} - {(STEP_NONE, SPACE_OK, 0)}
                self.assertEqual(len(failed), min(failures, 1))
        self.assertEqual(self.rows(), LIMIT)  # of the client whose statements do not fail

    # Invented and falsified work.

    def test_invented_operations_follow_the_plan(self):
        for name, service_ns in (("instant", 200), ("too-fast", 5_000), ("too-fast", 20_000)):
            with self.subTest(name, service_ns=service_ns):
                more = ("--service-ns", str(service_ns)) if service_ns == 20_000 else ()
                start_ns, totals, samples = self.spoiled(name, *more)
                self.assertEqual(differing(samples, start_ns), [])
                self.assertEqual((totals["operations"], totals["failed"]), (len(samples), 0))
                window_ns = start_ns + 20 * MS
                inside = [s for s in samples if s.due_ns >= window_ns]
                self.assertEqual({s.finished_ns - s.started_ns for s in inside}, {service_ns})
                expected = 2 * WINDOW_MS * MS / (service_ns + 500)
                self.assertAlmostEqual(len(inside) / expected, 1, delta=0.01)

    def test_unsynced(self):
        conversation = self.fault("unsynced")
        said = conversation.prepared(self.plan())
        self.assertTrue(all("synchronous=2" in rest for word, rest in said if word == "session"))
        text = fake.without_syncs(self.plan())
        self.assertIn("\nsession\t-\tPRAGMA synchronous = OFF\nreadback\tsynchronous\tSELECT '2'\n", text)
        conversation.start()
        self.assertEqual(conversation.outcome()[0]["failed"], 0)

    def test_corrupt_data(self):
        _, totals, samples = self.spoiled("corrupt-data", "--sql", "DELETE FROM t; INSERT INTO t VALUES (0)")
        self.assertEqual(totals["attempts"], len(samples))
        self.assertEqual(self.rows(), 1)


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
