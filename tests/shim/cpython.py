"""CPython's own tests of its module sqlite3, with every database in memory turned into a file of its own.

Prints one line for each test: `ok NAME`, `skipped NAME` or `failed NAME: LAST LINE`.
"""
import itertools
import os
import sqlite3
import sys
import tempfile
import unittest

home = tempfile.mkdtemp(dir=sys.argv[1])
numbers = itertools.count()
connect = sqlite3.connect


def to_file(database, *args, **kwargs):
    if database == ":memory:":
        database = os.path.join(home, f"{next(numbers)}.db")
    return connect(database, *args, **kwargs)


class Lines(unittest.TestResult):
    def say(self, word, test, detail=""):
        name = test.id().removeprefix("test.test_sqlite3.")
        print(word, name + detail, flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("skipped", test)

    def addError(self, test, error):
        self.say("failed", test, f": {type(error[1]).__name__}: {str(error[1]).splitlines()[0] if str(error[1]) else ''}")

    addFailure = addError

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addError(test, error)


sqlite3.connect = to_file
names = sys.argv[2:] or ["dbapi", "factory", "hooks", "regression", "transactions", "types", "userfunctions", "dump"]
for name in names:
    unittest.defaultTestLoader.loadTestsFromName(f"test.test_sqlite3.test_{name}").run(Lines())
