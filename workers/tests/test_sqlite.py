"""The workers on SQLite: connections opened during a run, retries, the end of the drain, a run without the tool."""

import os
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time
import unittest
from contextlib import closing

from .conversation import BEGIN, MS, NO_STEP, PATIENCE_S, Sample, Worker, _SAMPLE, plan, program


class OfSqlite:
    driver = None

    def setUp(self):
        if program(self.driver) is None:
            self.skipTest(f"{self.driver} is not built")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.database = folder.name, f"{folder.name}/a.db"
        with closing(sqlite3.connect(self.database)) as db:
            db.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'one')")

    def worker(self):
        worker = Worker([program(self.driver)])
        self.addCleanup(worker.close)
        return worker

    def plan(self, lines, operations, **more):
        return plan(self.driver, f"file\t{self.database}", lines, operations, **more)

    def test_a_new_connection_pays_for_what_it_uses_and_for_nothing_else(self):
        """Code and statements are prepared only for the attempt that uses them: a plan may have a thousand more."""
        medians = []
        for others in (1, 1000):
            lines = [f"statement\t{i}\tSELECT v, {i} FROM t WHERE id = ?" for i in range(others + 1)]
            lines += ["transaction\t0\tanew\tread\t-\t0\t0\t2", "step\tconnect", "step\tsql\t0\t1..1\t1\t-\ti1"]
            for i in range(1, others + 1):
                lines += [f"transaction\t{i}\tother{i}\twrite\tBEGIN\t0\t0\t1", f"step\tsql\t{i}\t1..1\t1\t-\ti1"]
            _, samples = self.worker().run(self.plan(lines, [0] * 31))
            self.assertEqual({s.step for s in samples}, {NO_STEP})
            medians.append(statistics.median(s.finished - s.started for s in samples))
        self.assertLess(medians[1], 20 * medians[0])

    def test_what_was_lost_or_opened_anew_goes_on_with_all_transactions(self):
        lines = [
            "statement\t0\tINSERT INTO t VALUES (?, 'new')", "statement\t1\tSELECT count(*) FROM t",
            "transaction\t0\tanew\twrite\tBEGIN IMMEDIATE\t0\t0\t3", "step\tconnect", "step\tsql\t0\t1..1\t1\t-\tp0+0",
            "step\tsql\t1\t1..1\t1\t0:0:1",
            "transaction\t1\tstay\twrite\tBEGIN IMMEDIATE\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-\tp0+0",
            "transaction\t2\tlook\tread\t-\t0\t1\t2", "step\tsql\t1\t1..1\t1\t0:0:1", "step\tsql\t1\t1..1\t2\t-",
        ]
        lines[2] = lines[2].replace("\t0\t0\t3", "\t0\t1\t3")
        operations = ["1\ti2", "2", "0\ti3", "1\ti4", "1\ti5", "2", "0\ti5", "1\ti6", "2", "0\ti7"]
        for statements in ("prepared", "each"):
            with self.subTest(statements), closing(sqlite3.connect(self.database)) as db:
                db.execute("DELETE FROM t WHERE id > 1")
                db.commit()
                _, samples = self.worker().run(self.plan(lines, operations, options=[f"statements\t{statements}"]))
                self.assertEqual([(s.step, s.code) for s in samples if s.space], [(1, 1555)])
                self.assertEqual([s.operation for s in samples if s.space], [6])
                self.assertEqual(db.execute("SELECT count(*) FROM t").fetchone()[0], 7)

    def test_the_step_at_which_a_connection_cannot_be_opened(self):
        with closing(sqlite3.connect(self.database)) as db:
            db.execute("CREATE TABLE once (id INTEGER PRIMARY KEY)")
        lines = [
            "statement\t0\tSELECT count(*) FROM t",
            "transaction\t0\tanew\tread\tBEGIN\t0\t0\t2", "step\tconnect", "step\tsql\t0\t1..1\t1\t-",
            "transaction\t1\twith\tread\tBEGIN\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-",
            "transaction\t2\twithout\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-",
        ]
        text = self.plan(lines, [1, 2, 0, 1, 2, 0], session=["INSERT INTO once VALUES (1)"])
        _, samples = self.worker().run(text)
        self.assertEqual([s.step for s in samples], [NO_STEP, NO_STEP, 0, BEGIN, 0, 0])
        self.assertEqual({(s.space, s.code) for s in samples[2:]}, {(1, 1555)})

    def test_settings_are_read_back_after_the_run(self):
        lines = [
            "statement\t0\tINSERT INTO t VALUES (2, 'two')", "statement\t1\tSELECT count(*) FROM t",
            "transaction\t0\tchange\twrite\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-",
            "transaction\t1\tanew\tread\t-\t0\t0\t2", "step\tconnect", "step\tsql\t1\t1..1\t1\t-",
        ]
        readbacks = ["rows\tSELECT count(*) FROM t"]
        done, _ = self.worker().run(self.plan(lines, [1], readbacks=readbacks))
        self.assertNotIn("settings_differ", done)
        self.assertEqual(done["connections_read_back"], "1")
        done, _ = self.worker().run(self.plan(lines, [0], readbacks=readbacks))
        self.assertIn("rows", done["settings_differ"], "the first connection is read back too")
        with closing(sqlite3.connect(self.database)) as db:
            db.execute("DELETE FROM t WHERE id = 2")
            db.commit()
        done, samples = self.worker().run(self.plan(lines, [0, 1], readbacks=readbacks))
        self.assertEqual(len(samples), 2)
        self.assertRegex(done["settings_differ"], "(rows is 2 after|reads back rows = 2 after).* 1")

    def test_no_attempt_begins_after_the_drain(self):
        """The worker is stopped during a back-off, and continues when the drain is over."""
        lines = [
            "statement\t0\tINSERT INTO t VALUES (1, 'again')",
            "transaction\t0\tdouble\twrite\tBEGIN IMMEDIATE\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-",
        ]
        window = (0, 100 * MS, 900 * MS)
        worker = self.worker()
        worker.ready(self.plan(lines, [0], window=window, retry="9\t700000000\t1000\tsqlite:1555"))
        drain_end = worker.start() + 1000 * MS
        time.sleep(0.3)
        os.killpg(worker.process.pid, signal.SIGSTOP)
        time.sleep(max(drain_end - time.monotonic_ns(), 0) / 1e9 + 0.3)
        os.killpg(worker.process.pid, signal.SIGCONT)
        _, samples = worker.outcome()
        self.assertGreaterEqual(len(samples), 1)
        self.assertEqual([s for s in samples if s.attempt and s.started >= drain_end], [])

    def test_a_worker_begins_although_its_database_is_locked_at_first(self):
        self.begins_although_locked()

    def begins_although_locked(self, options=(), **more):
        """The lock is as another worker's recovery of the log, for which SQLite does not wait."""
        lines = ["statement\t0\tSELECT count(*) FROM t", "transaction\t0\tlook\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-"]
        worker = self.worker()
        # The lock is held while it opens, and not while it starts.
        worker.until("hello")
        with closing(sqlite3.connect(self.database, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            worker.plan(self.plan(lines, [0], options=["busy_timeout_ms\t0", *options], **more))
            time.sleep(1.2)
            db.execute("ROLLBACK")
        said, _ = worker.until("ready", "failed")
        self.assertEqual(said[0], "ready", said)
        worker.start()
        _, samples = worker.outcome()
        self.assertEqual([s.step for s in samples], [NO_STEP])

    def test_a_lock_that_stays_is_an_error(self):
        lines = ["statement\t0\tSELECT count(*) FROM t", "transaction\t0\tlook\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-"]
        with closing(sqlite3.connect(self.database, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            worker = self.worker()
            worker.plan(self.plan(lines, [0], options=["busy_timeout_ms\t0"]))
            said, _ = worker.until("ready", "failed")
        self.assertEqual(said[0], "failed", said)
        self.assertIn("locked", said[1])

    def test_by_hand_the_drain_ends_as_well(self):
        lines = ["transaction\t0\trest\tread\t-\t0\t0\t1", f"step\thold\t{120_000 * MS}"]
        path, to = f"{self.folder}/a.plan", f"{self.folder}/a.samples"
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.plan(lines, [0], window=(0, 50 * MS, 200 * MS)))
        begun = time.monotonic()
        subprocess.run([program(self.driver), "--plan", path, "--samples", to], check=True, capture_output=True, timeout=100)
        self.assertLess(time.monotonic() - begun, PATIENCE_S)
        with open(to, "rb") as file:
            (sample,) = map(Sample._make, _SAMPLE.iter_unpack(file.read()))
        self.assertEqual((sample.space, sample.code, sample.flags), (1, 9, 2))


class PythonSqlite3(OfSqlite, unittest.TestCase):
    driver = "python-sqlite3"


class Apsw(OfSqlite, unittest.TestCase):
    driver = "apsw"


class PhpPdoSqlite(OfSqlite, unittest.TestCase):
    driver = "php-pdo-sqlite"


class NodeBetterSqlite3(OfSqlite, unittest.TestCase):
    driver = "node-better-sqlite3"


class NodeLibsql(OfSqlite, unittest.TestCase):
    driver = "node-libsql"


class NodeSqlite3(OfSqlite, unittest.TestCase):
    driver = "node-sqlite3"


class JavaSqlite(OfSqlite, unittest.TestCase):
    driver = "java-sqlite"

    def test_a_pool_begins_although_its_database_is_locked_at_first(self):
        self.begins_although_locked(["pool_size\t2"], is_pool=True)
