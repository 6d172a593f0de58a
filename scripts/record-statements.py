#!/usr/bin/env python3
"""Records the statements that Django's own tests send to SQLite, for the example `applications` of contend-sql.

    pip download --no-deps --no-binary django django && tar xzf django-*.tar.gz && pip install django-*.tar.gz
    cd django-*/tests && record-statements.py OUT basic queries lookup ...

A line of the file is `[database, "SQL", "types"]`: a letter for each value that was bound, of i(nteger), r(eal), t(ext),
b(lob) and n(ull). Only statements that SQLite carried out are in it. Nothing of Django's is kept in this repository.
"""

import json
import os
import runpy
import sqlite3
import sqlite3.dbapi2
import sys

LETTERS = {bool: "i", int: "i", float: "r", str: "t", bytes: "b", memoryview: "b", type(None): "n"}
databases = {}
out = None


def write(connection, sql, values=()):
    number = databases.setdefault(id(connection), len(databases))
    listed = values.values() if isinstance(values, dict) else values
    # What an adapter makes of another type is a text.
    types = "".join(LETTERS.get(type(value), "t") for value in listed)
    out.write(json.dumps([number, sql, types]) + "\n")


class Cursor(sqlite3.Cursor):
    def execute(self, sql, values=()):
        done = super().execute(sql, values)
        write(self.connection, sql, values)
        return done

    def executemany(self, sql, rows):
        rows = list(rows)
        done = super().executemany(sql, rows)
        write(self.connection, sql, rows[0] if rows else ())
        return done


class Connection(sqlite3.Connection):
    def execute(self, sql, *values):
        done = super().execute(sql, *values)
        write(self, sql, *values)
        return done


def main():
    global out
    if len(sys.argv) < 3:
        sys.exit("usage: record-statements.py OUT TEST..., in the directory tests of Django's sources")
    out = open(sys.argv[1], "w", encoding="utf-8")
    # Before Django derives its own cursor from it.
    sqlite3.dbapi2.Cursor = Cursor
    connect = sqlite3.dbapi2.connect
    sqlite3.dbapi2.connect = lambda *args, **settings: connect(*args, **{**settings, "factory": Connection})
    sys.argv = ["runtests.py", "--settings=test_sqlite", "--parallel=1", *sys.argv[2:]]
    sys.path.insert(0, os.getcwd())
    runpy.run_path("runtests.py", run_name="__main__")


if __name__ == "__main__":
    main()
