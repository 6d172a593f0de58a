"""The driver `python-sqlite3`: the module of Python's standard library, on the SQLite that Python was built with."""

import platform
import re
import sqlite3

from ..driver import Driver, Options
from .sqlite import SqliteConnection, autocommit, facts, number_of

# The module caches 128 by default; no plan has this many statements.
_STATEMENTS_KEPT = 4096
_NO_MEMORY = 7


class Opened(SqliteConnection):
    """With `isolation_level=None`, so that the module begins no transactions."""

    def __init__(self, database, options):
        kept = 0 if options.prepare_each else _STATEMENTS_KEPT
        self.inner = sqlite3.connect(database, isolation_level=None, check_same_thread=False, cached_statements=kept)

    def code(self, index, statement, args):
        c, q, e, f = f"c{index}", f"q{index}", f"e{index}", f"f{index}"
        names = {q: statement.sql}
        run = f"{e}({q}, {args})" if args else f"{e}({q})"
        if statement.returns:
            return [run, f"r = {f}()", "m = len(r)"], names
        if statement.changes:
            # The module counts only for statements whose first word it recognises: after WITH the count is -1.
            counted = f"m = {c}.rowcount if {c}.rowcount >= 0 else changes('SELECT changes()').fetchone()[0]"
            return [run, counted], names
        return [run, "m = 0"], names

    def names(self, index, statement):
        cursor = self.inner.cursor()
        found = {f"c{index}": cursor, f"e{index}": cursor.execute, f"f{index}": cursor.fetchall}
        if statement.changes:
            found["changes"] = self.inner.cursor().execute
        return found


class PythonSqlite3(Driver):
    name = "python-sqlite3"

    def hello(self):
        found = facts(f"sqlite3 of Python {platform.python_version()}", Opened(":memory:", Options(self, [])))
        connection = sqlite3.connect(":memory:")
        found["autocommit"] = autocommit(connection.cursor())
        # The module documents only its default number of cached statements.
        kept = re.search(r"cached_statements=(\d+)", sqlite3.connect.__text_signature__ or sqlite3.connect.__doc__ or "")
        if kept:
            found["statement_cache"] = kept[1]
        connection.close()
        return found

    def connect(self, database, options):
        return Opened(database.path, options)

    def code_of(self, error):
        if isinstance(error, MemoryError):
            return number_of(_NO_MEMORY)
        code = getattr(error, "sqlite_errorcode", None)
        return None if code is None else number_of(code)


def driver():
    return PythonSqlite3()
