"""The driver `pymysql`: PyMySQL, which is pure Python and writes values into the text of statements."""

import importlib.metadata

import pymysql
from pymysql.constants import CLIENT, SERVER_STATUS

from .. import wire
from ..driver import Connection, Driver, Failure, default, plain, worker_failure
from .interrupter import CONNECT_S, Interrupter
from decimal import Decimal

_NOT_CONNECTED, _GONE, _LOST, _INTERRUPTED, _KILLED, _SHUTDOWN = 2003, 2006, 2013, 1317, 1927, 1053
# Errors after which the server closes the connection, which the library notices only at the next use.
_LAST_WORDS = {(wire.MYSQL, number) for number in (_GONE, _LOST, _KILLED, _SHUTDOWN)}
# Approximate size of statements in a load, in characters; far below the smallest packet limit in use.
_CHUNK = 1 << 20


class Opened(Connection):
    """A connection with the library's default cursors."""

    def __init__(self, inner, at):
        self.inner, self.at, self.id = inner, at, inner.thread_id()
        self.interrupter = Interrupter(self._kill)

    def _kill(self):
        second = open_at(self.at)
        try:
            second.query(f"KILL QUERY {self.id}")
        finally:
            second.close()

    def prepare(self, statement):
        """The library has no prepared statements, so the server's PREPARE checks a statement."""
        cursor = self.inner.cursor()
        cursor.execute(f"PREPARE contend FROM {self.inner.literal(statement.sql)}")
        cursor.execute("DEALLOCATE PREPARE contend")
        if not statement.returns or statement.changes:
            return None if statement.returns else 0
        try:
            sql = statement.as_format() if statement.params else statement.sql
            args = (None,) * statement.params or None
            cursor.execute(f"SELECT * FROM ({sql}) AS contend LIMIT 0", args)
        except pymysql.Error:
            return None  # two columns of one name: a query, but none inside of another
        return len(cursor.description)

    def code(self, index, statement, args):
        q, e, f = f"q{index}", f"e{index}", f"f{index}"
        names = {q: statement.as_format() if args else statement.sql}
        run = f"{e}({q}, {args})" if args else f"{e}({q})"
        if statement.returns:
            return [run, f"r = {f}()", "m = len(r)"], names
        if statement.upserts:
            # The server counts a replaced row twice.
            return [f"m = min({run}, {statement.upserts})"], names
        return [f"m = {run}"] if statement.changes else [run, "m = 0"], names

    def names(self, index, statement):
        cursor = self.inner.cursor()
        return {f"e{index}": cursor.execute, f"f{index}": cursor.fetchall}

    def simple_code(self, sql):
        return [f"simple({sql!r})"]

    def simple_names(self):
        return {"simple": self.inner.cursor().execute}

    def simple(self, sql):
        self.inner.cursor().execute(sql)

    def query(self, sql):
        cursor = self.inner.cursor()
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def load(self, statement, rows):
        """Many rows with each statement."""
        if statement.group is None:
            raise worker_failure(wire.NO_VALUE, "a `load` is an INSERT ... VALUES (?, ...)")
        opening, group = statement.sql.encode()[:statement.group].decode(), statement.as_format(statement.group)
        count, texts, length = 0, [], 0

        def flush():
            if texts:
                self.simple(opening + ",".join(texts))
                texts.clear()

        self.simple("BEGIN")
        try:
            for row in rows:
                text = group % tuple(map(self.inner.literal, row))
                texts.append(text)
                count, length = count + 1, length + len(text)
                if length >= _CHUNK:
                    flush()
                    length = 0
            flush()
            self.simple("COMMIT")
        except BaseException:
            self.simple("ROLLBACK")
            raise
        return count

    def is_in_transaction(self):
        """As the server reported with the last successful statement: a rollback is an extra round trip."""
        return bool((self.inner.server_status or 0) & SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    def is_lost(self, failure=None):
        return not self.inner.open or failure is not None and (failure.space, failure.code) in _LAST_WORDS

    def interrupt(self):
        self.interrupter.interrupt()

    def close(self):
        if self.inner.open:
            self.inner.close()


def open_at(at):
    place = {"unix_socket": at.socket} if at.socket is not None else {"host": at.host, "port": at.port}
    return pymysql.connect(
        **place, user=at.user, password=at.password() or "", database=at.database or None, charset="utf8mb4",
        autocommit=True, connect_timeout=CONNECT_S, ssl_disabled=True,
        # Count the rows that an UPDATE finds, as SQLite and PostgreSQL do, not only those that it changes.
        client_flag=CLIENT.FOUND_ROWS,
    )


class PyMySql(Driver):
    name = "pymysql"
    is_server = True
    interrupted = wire.CANCELED
    cut_codes = {interrupted, *((wire.MYSQL, number) for number in (_INTERRUPTED, _LOST, _KILLED))}

    def hello(self):
        return {
            "driver": f"PyMySQL {importlib.metadata.version('PyMySQL')}",
            "engine": "MariaDB",
            "autocommit": default(pymysql.connections.Connection.__init__, "autocommit"),
        }

    def connect(self, database, options):
        try:
            return Opened(open_at(database), database)
        except pymysql.Error as e:
            code = self.code_of(e) or (wire.MYSQL, _NOT_CONNECTED)
            raise Failure(*code, str(e)) from None

    def code_of(self, error):
        if not isinstance(error, pymysql.Error):
            return None
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if number:
            return (wire.MYSQL, number)
        return (wire.MYSQL, _LOST) if isinstance(error, pymysql.err.InterfaceError) else None

    def plain(self, value):
        """A DECIMAL has all digits after the point: without a fraction it is an integer."""
        if isinstance(value, Decimal) and value == value.to_integral_value():
            return plain(int(value))
        return plain(value)


def driver():
    return PyMySql()
