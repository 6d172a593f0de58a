"""The driver `psycopg`: psycopg 3 with its C implementation and its own libpq."""

import os

import psycopg
from psycopg import pq
from psycopg._preparing import PrepareManager
from psycopg.types.string import TextLoader

from .. import wire
from ..driver import Connection, Driver, Failure, default, worker_failure
from .interrupter import CONNECT_S, Interrupter

_LOST, _NOT_CONNECTED, _CANCELED = (wire.base36(state) for state in ("08006", "08001", "57014"))
_ESCAPE = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class Opened(Connection):
    """A connection that commits by itself, so that the library begins no transaction. Statements of the plan have
    placeholders as PostgreSQL writes them, hence its raw cursors."""

    suits_arguments = True

    def __init__(self, inner, options):
        self.inner, self.prepare_it = inner, not options.prepare_each
        inner.prepare_threshold = 0 if self.prepare_it else None
        inner.prepared_max = None
        # JSON stays text: the library's objects have no counterpart among SQL values.
        for name in ("json", "jsonb"):
            inner.adapters.register_loader(name, TextLoader)
        self.interrupter = Interrupter(lambda: inner.cancel_safe(timeout=CONNECT_S))

    def cursor(self):
        return psycopg.RawCursor(self.inner)

    def prepare(self, statement):
        connection = self.inner.pgconn
        result = connection.prepare(b"", statement.sql.encode())
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result)
        described = connection.describe_prepared(b"")
        if described.nparams != statement.params:
            raise worker_failure(wire.DRIVER_ERROR, f"`{statement.sql}` has {described.nparams} placeholders")
        return described.nfields

    @staticmethod
    def argument(value):
        """Integers go as text without a type, as literals do: by itself the library takes the smallest type that holds
        one, and prepares a statement once for each combination of types."""
        return str(value) if type(value) is int else value

    def code(self, index, statement, args):
        c, q, e, f = f"c{index}", f"q{index}", f"e{index}", f"f{index}"
        names = {q: statement.sql}
        run = f"{e}({q}, {args}, prepare={self.prepare_it})" if args else f"{e}({q}, prepare={self.prepare_it})"
        if statement.returns:
            return [run, f"r = {f}()", "m = len(r)"], names
        return [run, f"m = {c}.rowcount" if statement.changes else "m = 0"], names

    def names(self, index, statement):
        cursor = self.cursor()
        return {f"c{index}": cursor, f"e{index}": cursor.execute, f"f{index}": cursor.fetchall}

    def simple_code(self, sql):
        return [f"simple({sql!r}, prepare=False)"]

    def simple_names(self):
        return {"simple": self.cursor().execute}

    def simple(self, sql):
        self.cursor().execute(sql, prepare=False)

    def query(self, sql):
        cursor = self.cursor()
        cursor.execute(sql, prepare=False)
        return cursor.fetchall() if cursor.description else []

    def load(self, statement, rows):
        """A load is a COPY ... FROM STDIN. Values are written in its text format: their types are the table's affair."""
        count = 0
        cursor = self.inner.cursor()
        with cursor.copy(statement.sql) as copy:
            for row in rows:
                copy.write("\t".join(map(copied, row)) + "\n")
                count += 1
        return count

    def is_in_transaction(self):
        return self.inner.info.transaction_status != pq.TransactionStatus.IDLE

    def is_lost(self, failure=None):
        return self.inner.closed

    def interrupt(self):
        self.interrupter.interrupt()

    def close(self):
        self.inner.close()


def copied(value):
    if value is None:
        return "\\N"
    if isinstance(value, str):
        if "\0" in value:
            raise worker_failure(wire.NO_VALUE, "a text with a NUL character, which PostgreSQL cannot store")
        return value.translate(_ESCAPE)
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    return repr(value)


class Psycopg(Driver):
    name = "psycopg"
    is_server = True
    interrupted = wire.CANCELED
    cut_codes = {interrupted, (wire.SQLSTATE, _CANCELED)}

    def hello(self):
        version = pq.version()
        libpq = f"libpq {version // 10000}.{version % 10000}"
        return {
            "driver": f"psycopg {psycopg.__version__} ({pq.__impl__}, {libpq})",
            "engine": "PostgreSQL",
            "autocommit": default(psycopg.Connection.connect, "autocommit"),
            "statement_cache": f"{PrepareManager.prepared_max} after {PrepareManager.prepare_threshold} executions",
        }

    def connect(self, database, options):
        at = database
        place = {"host": at.host, "port": at.port}
        if at.socket is not None:
            # libpq needs the directory, and the port at the end of the socket's name.
            directory, name = os.path.split(at.socket)
            place = {"host": directory, "port": name.rpartition(".")[2]}
        try:
            inner = psycopg.connect(
                **place, user=at.user, password=at.password(), dbname=at.database or at.user, autocommit=True,
                connect_timeout=CONNECT_S, application_name="contend", sslmode="disable", gssencmode="disable",
            )
        except psycopg.Error as e:
            raise Failure(wire.SQLSTATE, wire.base36(e.sqlstate) if e.sqlstate else _NOT_CONNECTED, str(e)) from None
        return Opened(inner, options)

    def code_of(self, error):
        if not isinstance(error, psycopg.Error):
            return None
        if error.sqlstate:
            return (wire.SQLSTATE, wire.base36(error.sqlstate))
        if isinstance(error, psycopg.DataError):
            # Without a state it comes from the library: a text with a NUL character, which it does not send.
            return (wire.WORKER, wire.NO_VALUE)
        return (wire.SQLSTATE, _LOST) if isinstance(error, psycopg.OperationalError) else None


def driver():
    return Psycopg()
