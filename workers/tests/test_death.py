"""What the tool sees of a worker that is out of memory or makes a mistake: `failed` with the reason, never silence."""

import os
import resource
import shutil
import signal
import unittest

from .conversation import MS, WORKERS, Died, Worker, plan, program

# Operations that cost nothing, so that samples fill the memory.
LINES = ["transaction\t0\tnothing\tread\t-\t0\t0\t0"]


def endless(driver):
    text = plan(driver, "none", LINES, [0], window=(0, 600_000 * MS, 1000 * MS))
    return text.replace("closed\tfinite\t1", "closed\tcyclic\t0")


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

    def test_python_without_memory(self):
        if program("python-null") is None:
            self.skipTest("python-null is not built")
        most = 200 << 20
        worker = self.worker([program("python-null")], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        worker.ready(endless("python-null"))
        worker.start()
        self.fails(worker, "client 0", "out of memory")

    def test_python_without_memory_for_the_plan(self):
        if program("python-null") is None:
            self.skipTest("python-null is not built")
        most = 200 << 20
        worker = self.worker([program("python-null")], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        text = plan("python-null", "none", LINES, [0] * 2_000_000)
        worker.tell(f"plan {len(text)}\n{text}")
        self.fails(worker, "out of memory")

    def test_php_without_memory(self):
        if program("php-null") is None:
            self.skipTest("php-null is not built")
        command = [shutil.which("php"), "-d", "memory_limit=64M", "-d", "display_errors=stderr", f"{WORKERS}/php/worker.php", "php-null"]
        worker = self.worker(command)
        worker.ready(endless("php-null"))
        worker.start()
        self.fails(worker, "client 0", "status 255")

    def test_php_without_memory_for_the_plan(self):
        if program("php-null") is None:
            self.skipTest("php-null is not built")
        command = [shutil.which("php"), "-d", "memory_limit=64M", "-d", "display_errors=stderr", f"{WORKERS}/php/worker.php", "php-null"]
        worker = self.worker(command)
        text = plan("php-null", "none", LINES, [0] * 2_000_000)
        worker.tell(f"plan {len(text)}\n{text}")
        with self.assertRaises(Died) as died:
            worker.until("failed", "ready")
        self.assertIn("memory", str(died.exception))

    def test_a_client_of_php_that_is_killed(self):
        if program("php-null") is None:
            self.skipTest("php-null is not built")
        worker = self.worker([program("php-null")])
        worker.ready(endless("php-null"))
        worker.start()
        (child,) = worker.children()
        os.kill(child, signal.SIGKILL)
        self.fails(worker, "client 0", "signal 9")
