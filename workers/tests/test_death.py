"""Workers that run out of memory or have a bug: they report `failed` with a reason, and are never silent."""

import os
import resource
import shutil
import signal
import tempfile
import unittest

from .conversation import MS, WORKERS, Died, Worker, plan, program

# Operations that cost nothing, so that samples fill the memory.
LINES = ["transaction\t0\tnothing\tread\t-\t0\t0\t0"]


def endless(driver):
    return plan(driver, "file\tnone", LINES, [0], window=(0, 600_000 * MS, 1000 * MS), is_endless=True)


def huge(driver):
    return plan(driver, "file\tnone", LINES, [0] * 2_000_000)


def needs(driver):
    return unittest.skipIf(program(driver) is None, f"{driver} is not built")


class Death(unittest.TestCase):
    def worker(self, command, **more):
        worker = Worker(command, **more)
        self.addCleanup(worker.close)
        return worker

    def fails(self, worker, *words):
        said, _ = worker.until("failed", "done")
        self.assertEqual(said[0], "failed", said)
        for one in words:
            self.assertIn(one, said[1])
        self.assertNotEqual(worker.process.wait(60), 0)

    def python(self):
        most = 200 << 20
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return self.worker([program("python-null")], preexec_fn=limit)

    def php(self):
        limits = ["-d", "memory_limit=64M", "-d", "display_errors=stderr"]
        return self.worker([shutil.which("php"), *limits, f"{WORKERS}/php/worker.php", "php-null"])

    @needs("python-null")
    def test_python_without_memory(self):
        worker = self.python()
        worker.ready(endless("python-null"))
        worker.start()
        self.fails(worker, "client 0", "out of memory")

    @needs("python-null")
    def test_python_without_memory_for_the_plan(self):
        worker = self.python()
        worker.plan(huge("python-null"))
        self.fails(worker, "out of memory")

    @needs("php-null")
    def test_php_without_memory(self):
        worker = self.php()
        worker.ready(endless("php-null"))
        worker.start()
        self.fails(worker, "client 0", "status 255")

    @needs("php-null")
    def test_php_without_memory_for_the_plan(self):
        worker = self.php()
        worker.plan(huge("php-null"))
        with self.assertRaises(Died) as died:
            worker.until("failed", "ready")
        self.assertIn("memory", str(died.exception))

    @needs("php-null")
    def test_a_client_of_php_that_is_killed(self):
        worker = self.worker([program("php-null")])
        worker.ready(endless("php-null"))
        worker.start()
        (child,) = worker.children()
        os.kill(child, signal.SIGKILL)
        self.fails(worker, "client 0", "signal 9")

    @needs("java-null")
    def test_java_without_memory(self):
        worker = self.worker([program("java-null")], env={**os.environ, "JAVA_TOOL_OPTIONS": "-Xmx48m"})
        worker.ready(endless("java-null"))
        worker.start()
        self.fails(worker, "client 0", "OutOfMemoryError")

    @needs("node-null")
    def test_an_exception_in_node_that_nobody_catches(self):
        """The exception is thrown in the clients' thread, outside of the worker's own code."""
        with tempfile.NamedTemporaryFile("w", suffix=".js") as thrower:
            thrower.write("if (!require('worker_threads').isMainThread) setTimeout(() => { throw new Error('of a library'); }, 300);")
            thrower.flush()
            worker = self.worker([program("node-null")], env={**os.environ, "NODE_OPTIONS": f"--require {thrower.name}"})
            self.fails(worker, "an uncaught exception: of a library")
