"""The driver `uncached-sqlite3`: Python's own module, with its cache of statements turned off."""

import sqlite3

from .python_sqlite3 import Opened, PythonSqlite3


class Uncached(Opened):
    def __init__(self, database, options):
        self.inner = sqlite3.connect(database, isolation_level=None, check_same_thread=False, cached_statements=0)


class UncachedSqlite3(PythonSqlite3):
    name = "uncached-sqlite3"

    def connect(self, database, options):
        return Uncached(database.path, options)


def driver():
    return UncachedSqlite3()
