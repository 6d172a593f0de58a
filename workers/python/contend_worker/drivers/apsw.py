"""The driver `apsw`: Another Python SQLite Wrapper, which contains SQLite."""

import apsw

from ..driver import Driver, Options
from .sqlite import SqliteConnection, autocommit, facts, number_of

_STATEMENTS_KEPT = 4096
_NO_MEMORY = 7


class Opened(SqliteConnection):
    """A connection in apsw's own defaults, without the pragmas of its recommended practice."""

    def __init__(self, database, options):
        self.inner = apsw.Connection(database, statementcachesize=0 if options.prepare_each else _STATEMENTS_KEPT)

    def code(self, index, statement, args):
        q, e, f = f"q{index}", f"e{index}", f"f{index}"
        names = {q: statement.sql}
        run = f"{e}({q}, {args})" if args else f"{e}({q})"
        if statement.returns:
            return [run, f"r = {f}()", "m = len(r)"], names
        return [run, "m = changes()" if statement.changes else "m = 0"], names

    def names(self, index, statement):
        cursor = self.inner.cursor()
        return {f"e{index}": cursor.execute, f"f{index}": cursor.fetchall, "changes": self.inner.changes}


class Apsw(Driver):
    name = "apsw"

    def hello(self):
        found = facts(f"apsw {apsw.apsw_version()}", Opened(":memory:", Options(self, [])))
        connection = apsw.Connection(":memory:")
        found["autocommit"] = autocommit(connection.cursor())
        found["statement_cache"] = str(connection.cache_stats()["size"])
        connection.close()
        return found

    def connect(self, database, options):
        return Opened(database.path, options)

    def code_of(self, error):
        if isinstance(error, MemoryError):
            return number_of(_NO_MEMORY)
        code = getattr(error, "extendedresult", None)
        return None if not isinstance(code, int) else number_of(code)


def driver():
    return Apsw()
