"""A worker leaves nothing in the directory for temporary files, even if it is stopped early."""

import os
import tempfile
import unittest

from .conversation import PATIENCE_S, Worker, program


class Leftovers(unittest.TestCase):
    @unittest.skipIf(program("java-sqlite") is None, "java-sqlite is not built")
    def test_of_sqlite_jdbc(self):
        with tempfile.TemporaryDirectory() as folder:
            worker = Worker([program("java-sqlite")], env={**os.environ, "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}"})
            self.addCleanup(worker.close)
            worker.until("hello")
            worker.tell("quit\n")
            worker.process.wait(PATIENCE_S)
            self.assertEqual(os.listdir(folder), [])
