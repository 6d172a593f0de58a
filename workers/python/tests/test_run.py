"""A run in this process: compilation before the run, and errors of clients."""

import gc
import sqlite3
import tempfile
import time
import unittest
import weakref
from contextlib import closing
from unittest import mock

from contend_worker import attempt
from contend_worker.drivers import load
from contend_worker.run import Run
from contend_worker.wire import FormatError, digest

HEAD = ["contend-plan 3", "worker\t0", "driver\tpython-sqlite3\tthread", "connections\tclient", "window\t0\t0\t0", "now\tclock"]
STEPS = [
    "statement\t0\trows\t-\tSELECT id FROM t", "transaction\t0\tanew\tread\tBEGIN\t0\t0\t2", "step\tconnect", "step\tsql\t0\t1..1\t1\t-",
    "transaction\t1\tstay\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-", "retry\t1\t-\t-\t-",
]


def clients(*lengths):
    lines = [f"clients\t{len(lengths)}"]
    for number, operations in enumerate(lengths):
        lines += [f"client\t{number}\t0\tclosed\tfinite\t{len(operations)}\t0\t{len(operations)}", *(f"op\t{o}" for o in operations)]
    return lines


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = f"{folder.name}/a.db"
        with closing(sqlite3.connect(self.database)) as db:
            db.executescript("CREATE TABLE t (id); INSERT INTO t VALUES (1)")

    def ready(self, *lengths):
        body = "\n".join([*HEAD, f"database\tfile\t{self.database}", *STEPS, *clients(*lengths), ""])
        run = Run(load("python-sqlite3"), f"{body}end\t{digest(body)}\n")
        self.addCleanup(run.close)
        return run

    def test_all_code_is_compiled_before_the_run(self):
        with mock.patch.object(attempt, "compile", wraps=compile, create=True) as compiles:
            run = self.ready(["0\t0", "0\t1", "0\t0", "0\t0", "0\t1"], ["0\t1"])
            self.assertEqual(compiles.call_count, 1)
            run.start(time.monotonic_ns())
            run.finish()
            self.assertEqual(compiles.call_count, 1)
        self.assertEqual(run.counts(), (6, 0))

    def test_a_client_that_dies_is_told_while_others_go_on(self):
        run = self.ready(["0\t1"], [f"{600 * 10**9}\t1"])

        def broken(args, unique, operation):
            raise MemoryError

        run.clients[0].functions[1] = broken
        with mock.patch("threading.excepthook"):
            run.start(time.monotonic_ns())
            run.clients[0].thread.join()
        self.assertFalse(run.is_over())
        with self.assertRaisesRegex(FormatError, "client 0: .* out of memory"):
            run.check()
        run.control.stop(time.monotonic_ns())
        run.clients[1].thread.join()

    def test_garbage_of_preparing_is_collected_before_the_clients_are_ready(self):
        class Garbage:
            def __init__(self):
                self.itself = self

        left = []

        def connect(*args):
            left.append(weakref.ref(Garbage()))
            return opened(*args)

        gc.disable()
        self.addCleanup(gc.enable)
        opened = attempt.Library.connect
        with mock.patch.object(attempt.Library, "connect", connect):
            run = self.ready(["0\t1"], ["0\t1"])
        self.assertEqual([garbage() for garbage in left], [None, None])
        self.assertEqual(gc.get_freeze_count(), 0)
        run.start(time.monotonic_ns())
        run.finish()

    def test_collections_of_the_run_are_told(self):
        before = list(gc.callbacks)
        run = self.ready([f"{600 * 10**9}\t1"])
        gc.collect()
        run.start(time.monotonic_ns())
        for _ in range(3):
            gc.collect()
        run.control.stop(time.monotonic_ns())
        run.finish()
        gc.collect()
        done = run.done()
        self.assertEqual(gc.callbacks, before)
        # The collector may also have run on its own.
        self.assertIn(done["gc_pauses"], range(3, 10))
        self.assertLess(0, done["gc_pause_ns_max"])
        self.assertLessEqual(done["gc_pause_ns_max"], done["gc_pause_ns"])
        self.assertLessEqual(done["gc_pause_ns"], done["gc_pauses"] * done["gc_pause_ns_max"])


if __name__ == "__main__":
    unittest.main()
