"""The workers on MariaDB: backslashes, unnecessary rollbacks, connections that die, a server that hangs."""

import time
import unittest

from .conversation import COMMIT, MS, NO_STEP, MariaDb, Proxy, Worker, plan, program

RUNNING = []
# An operation whose connection the server closes, and one that reads.
END_AND_LOOK = [
    "statement\t0\tKILL CONNECTION_ID()", "statement\t1\tSELECT v FROM t",
    "transaction\t0\tend\tread\t-\t0\t0\t1", "step\tsql\t0\t0..*\t1\t-",
    "transaction\t1\tlook\tread\t-\t0\t0\t1", "step\tsql\t1\t1..1\t1\t-",
]
PLAIN = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')"


def setUpModule():
    if any(program(driver) for driver in ("pymysql", "php-pdo-mysql", "node-mysql2", "java-mariadb")) and MariaDb.is_here():
        RUNNING.append(MariaDb())


def tearDownModule():
    while RUNNING:
        RUNNING.pop().stop()


class OfMariaDb:
    driver = None

    def setUp(self):
        if not RUNNING or program(self.driver) is None:
            self.skipTest(f"{self.driver} is not built, or MariaDB is not here")
        self.server = RUNNING[0]
        self.server.ask("DROP TABLE IF EXISTS t; CREATE TABLE t (id BIGINT PRIMARY KEY, v VARCHAR(50)); INSERT INTO t VALUES (1, 'one')")

    def worker(self):
        worker = Worker([program(self.driver)])
        self.addCleanup(worker.close)
        return worker

    def plan(self, lines, operations, path=None, **more):
        return plan(self.driver, self.server.database(path), lines, operations, **more)

    def test_a_backslash_is_a_character_like_others(self):
        lines = [
            "statement\t0\tINSERT INTO t VALUES (?, 'C:\\\\'), (?, '\\\\''?')", "statement\t1\tUPDATE t SET v = ? WHERE v = 'C:\\\\'",
            "transaction\t0\tboth\twrite\tBEGIN\t0\t0\t2", "step\tsql\t0\t2..2\t1\t-\tp0+0\tp1+0",
            "step\tsql\t1\t1..1\t1\t-\ttD:\\\\",
        ]
        for i, statements in enumerate(("prepared", "each")):
            with self.subTest(statements):
                text = self.plan(lines, [f"0\ti{10 + 10 * i}\ti{11 + 10 * i}"], session=[PLAIN], options=[f"statements\t{statements}"])
                _, samples = self.worker().run(text)
                self.assertEqual([(s.space, s.code, s.rows) for s in samples], [(0, 0, 3)])
        self.assertEqual(self.server.ask("SELECT v FROM t WHERE id >= 10 ORDER BY id").split("\n"), ["D:\\", "\\'?"] * 2)

    def test_a_rollback_is_sent_only_where_something_was_begun(self):
        lines = [
            "statement\t0\tUPDATE t SET v = 'x' WHERE id = ?", "statement\t1\tINSERT INTO t VALUES (?, 'two')",
            "statement\t2\tINSERT INTO t VALUES (1, 'again')",
            "transaction\t0\talone\twrite\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-\tp0+0",
            "transaction\t1\ttogether\twrite\tBEGIN\t0\t0\t2", "step\tsql\t1\t1..1\t1\t-\tp0+0", "step\tsql\t0\t1..1\t1\t-\ti99",
            "transaction\t2\tdouble\twrite\tBEGIN\t0\t0\t2", "step\tsql\t1\t1..1\t1\t-\tp0+0", "step\tsql\t2\t1..1\t1\t-",
        ]
        for statements in ("prepared", "each"):
            with self.subTest(statements):
                before = self.server.rollbacks()
                operations = ["0\ti99"] * 5 + ["0\ti1"] + ["1\ti50"] * 3 + ["2\ti51"] * 2 + ["0\ti99"]
                _, samples = self.worker().run(self.plan(lines, operations, options=[f"statements\t{statements}"]))
                wrong, fine = (6, 1), (0, 0)
                expected = [wrong] * 5 + [fine] + [wrong] * 3 + [(3, 1062)] * 2 + [wrong]
                self.assertEqual([(s.space, s.code) for s in samples], expected)
                self.assertEqual(self.server.rollbacks() - before, 5)
                self.assertEqual(self.server.ask("SELECT count(*) FROM t"), "1")

    def test_a_connection_that_the_server_ends_is_opened_anew(self):
        _, samples = self.worker().run(self.plan(END_AND_LOOK, [1, 0, 1, 0, 1]))
        self.assertEqual([s.step for s in samples], [NO_STEP, 0] * 2 + [NO_STEP])
        self.assertLessEqual({s.code for s in samples if s.space}, {1927, 2013, 2006})

    def test_a_server_that_hangs_at_the_end_of_the_drain(self):
        """No client can be interrupted, and the connection dies meanwhile: the tool must be answered all the time."""
        proxy = Proxy(self.server.socket, f"{self.server.folder}/{self.driver}")
        self.addCleanup(proxy.close)
        lines = ["statement\t0\tDO SLEEP(100)", "transaction\t0\twait\tread\t-\t0\t0\t1", "step\tsql\t0\t0..*\t1\t-"]
        worker = self.worker()
        worker.ready(self.plan(lines, [0], path=proxy.path, window=(0, 100 * MS, 400 * MS)))
        proxy.is_hanging = True
        drain_end = worker.start() + 500 * MS
        time.sleep(max(drain_end - time.monotonic_ns(), 0) / 1e9 + 1)
        asked = time.monotonic()
        worker.tell("clock\n")
        worker.until("clock")
        # A worker that waited for the server itself would take 10 s, and then be too late for everything.
        self.assertLess(time.monotonic() - asked, 3)
        proxy.cut()
        _, samples = worker.outcome()
        self.assertEqual([(s.space, s.flags) for s in samples], [(3, 2)])
        self.assertIn(samples[0].code, (2006, 2013))


    def test_a_commit_that_is_blocked_ends_with_the_drain(self):
        lines = ["statement\t0\tUPDATE t SET v = 'x' WHERE id = 1", "transaction\t0\tchange\twrite\tBEGIN\t0\t0\t2",
                 "step\tsql\t0\t1..1\t1\t-", f"step\thold\t{500 * MS}"]
        worker = self.worker()
        worker.ready(self.plan(lines, [0], window=(0, 100 * MS, 1200 * MS)))
        worker.start()
        time.sleep(0.2)
        with self.server.locked():
            _, samples = worker.outcome()
        self.assertEqual([(s.step, s.space, s.code, s.flags) for s in samples], [(COMMIT, 3, 1317, 2)])


class PyMySql(OfMariaDb, unittest.TestCase):
    driver = "pymysql"


class PhpPdoMysql(OfMariaDb, unittest.TestCase):
    driver = "php-pdo-mysql"


class NodeMysql2(OfMariaDb, unittest.TestCase):
    driver = "node-mysql2"


class JavaMariadb(OfMariaDb, unittest.TestCase):
    driver = "java-mariadb"

    def test_no_operation_hangs_in_a_pool_whose_server_is_gone(self):
        """Also if the pool has idle connections, which are lost."""
        proxy = Proxy(self.server.socket, f"{self.server.folder}/gone")
        self.addCleanup(proxy.close)
        worker = self.worker()
        options = ["pool_size\t3"]
        worker.ready(self.plan(END_AND_LOOK, [1], path=proxy.path, options=options, window=(0, 1500 * MS, 20_000 * MS), is_pool=True, is_endless=True))
        worker.start()
        time.sleep(0.3)
        proxy.close()
        _, samples = worker.outcome()
        self.assertEqual({s.flags for s in samples}, {0})
        self.assertLessEqual({s.code for s in samples if s.space}, {2003, 2006, 2013})
        self.assertIn(2003, {s.code for s in samples})

    def test_settings_of_what_a_pool_opens_later_are_read_back(self):
        """The pool replaces a lost connection, whether or not a client needs one."""
        self.server.ask("CREATE OR REPLACE TABLE opened (n INT)")
        more = {"session": ["INSERT INTO opened VALUES (1)"], "options": ["pool_size\t1"], "is_pool": True}
        for readback, differs in (("same\tSELECT 7", None), ("opened\tSELECT count(*) FROM opened", "opened = 2 after the start, the first one 1")):
            with self.subTest(readback):
                self.server.ask("DELETE FROM opened")
                done, samples = self.worker().run(self.plan(END_AND_LOOK, [1, 0, 1], readbacks=[readback], **more))
                self.assertEqual([s.step for s in samples], [NO_STEP, 0, NO_STEP])
                self.assertEqual((done["connections_opened"], done["connections_read_back"]), ("1", "1"))
                if differs is None:
                    self.assertNotIn("settings_differ", done)
                else:
                    self.assertIn(differs, done["settings_differ"])
