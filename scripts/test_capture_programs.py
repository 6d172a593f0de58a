"""Tests of capture-programs.py: what is not on this machine is no failure."""

import os
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class WithoutPyPI(unittest.TestCase):
    def said(self, *args):
        # A Python that makes no environment, as without a network.
        environment = os.environ | {"PYTHON": "false"}
        return subprocess.run([HERE / "capture-programs.py", *args], env=environment, capture_output=True, text=True)

    def test_its_programs_are_not_verified(self):
        done = self.said("flask", "django")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual([line.split(": ")[:2] for line in lines], [["NOT VERIFIED", "flask"], ["NOT VERIFIED", "django"]])
        self.assertIn("the packages of scripts/requirements.lock cannot be installed", lines[0])

    def test_the_page_is_not_written(self):
        done = self.said("--write")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.startswith("flask: the packages of"), done.stderr)


if __name__ == "__main__":
    unittest.main()
