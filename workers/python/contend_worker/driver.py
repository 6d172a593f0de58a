"""The interface between a driver and the rest of the worker, and options that all drivers share."""

import inspect
from decimal import Decimal

from . import wire
from .wire import FormatError


class Failure(Exception):
    """Why an attempt failed: the engine's own code, unclassified. `step` and `rows` are filled in where it happened."""

    def __init__(self, space, code, words=""):
        super().__init__(words or f"{wire.SPACES[space]} {code}")
        self.space, self.code, self.step, self.rows = space, code, wire.STEP_NONE, 0


def worker_failure(code, words=""):
    return Failure(wire.WORKER, code, words)


def is_lock(driver, error):
    """Whether an error of an opening connection is SQLITE_BUSY or SQLITE_LOCKED, with their extended codes."""
    error = error.__cause__ or error
    found = (error.space, error.code) if isinstance(error, Failure) else driver.code_of(error)
    return found is not None and found[0] == wire.SQLITE and found[1] & 0xFF in (5, 6)


class Driver:
    """A client library a plan may ask for. `connect` opens a connection whose methods are those of Connection below."""

    name = ""  # in plans
    aliases = ()  # other names in plans
    executes_nothing = False
    is_server = False
    # The code of an interrupted wait of the worker itself.
    interrupted = (wire.SQLITE, 9)
    # Codes of interrupted attempts.
    cut_codes = {(wire.SQLITE, 9)}

    def hello(self):
        """Facts: driver, engine, and what else there is."""
        raise NotImplementedError

    def connect(self, database, options):
        """Opens a connection to a `Database`; session statements are not its affair. A Failure if it cannot be opened."""
        raise NotImplementedError

    def check(self, database):
        """A FormatError if a database is not where this driver can find one."""
        if self.is_server and database.path is not None:
            raise FormatError(f"database {database}: this driver connects to a server")
        if not self.is_server and not self.executes_nothing and database.path is None:
            raise FormatError(f"database {database}: this driver opens files")

    def code_of(self, error):
        """(space, code) of an exception of the library, or None."""
        raise NotImplementedError

    def plain(self, value):
        """A value of the five kinds."""
        return plain(value)


class Connection:
    """An open connection. One thread at a time uses it, but for `interrupt`."""

    # Whether values are always int, float, str, bytes or None, and whether arguments must be converted by `argument`.
    values_are_plain = False
    suits_arguments = False

    def prepare(self, statement):
        """Finds out whether the engine accepts a statement; returns its columns, or None if that is unknown. Errors of
        the library are raised as they are."""
        raise NotImplementedError

    def code(self, index, statement, args):
        """(lines, names): Python that executes a statement of the plan with the tuple `args` (an expression; empty:
        none) and leaves its rows in `r`, if it returns any, and their number in `m`; and what those of its names mean
        that are the same for all connections."""
        raise NotImplementedError

    def names(self, index, statement):
        """What the other names of that code mean on this connection. A connection may be new, and the attempt under
        way: nothing that takes the engine's time."""
        raise NotImplementedError

    def simple_code(self, sql):
        """Lines for a BEGIN or COMMIT."""
        raise NotImplementedError

    def simple_names(self):
        """What their names mean on this connection."""
        raise NotImplementedError

    @staticmethod
    def argument(value):
        """Converts a value for the library."""
        return value

    def query(self, sql):
        """Rows of a statement, as tuples."""
        raise NotImplementedError

    def simple(self, sql):
        """Executes a statement without arguments whose rows are not needed."""
        raise NotImplementedError

    def load(self, statement, rows):
        """Inserts rows of a script, all or none of them, unless a transaction is open already; returns their number."""
        raise NotImplementedError

    def is_in_transaction(self):
        """Whether there is a transaction to roll back, as far as the library knows without a query."""
        raise NotImplementedError

    def is_lost(self, failure=None):
        """Whether the connection is unusable, at the latest since this failure."""
        return False

    def interrupt(self):
        """Ends what the connection executes now; called by another thread, again and again."""

    def close(self):
        raise NotImplementedError


def plain(value):
    """A value as one of SQLite's types: int, float, str, bytes or None."""
    kind = type(value)
    if value is None or kind is str or kind is bytes or kind is float:
        return value
    if kind is int:
        return value if wire.MIN_INTEGER <= value <= wire.MAX_INTEGER else float(value)
    if kind is bool:
        return int(value)
    if kind is Decimal and value.is_finite():
        return int(value) if value.as_tuple().exponent >= 0 else float(value)
    if kind in (bytearray, memoryview):
        return bytes(value)
    raise worker_failure(wire.NO_VALUE, f"the driver gave a {kind.__name__}, which is not a value of SQL")


def default(function, parameter):
    """The library's defaults for parameters, as facts of `hello`."""
    found = inspect.signature(function).parameters[parameter].default
    return {True: "on", False: "off"}.get(found, str(found))


class Options:
    """Settings of the driver that are not SQL."""

    def __init__(self, driver, pairs):
        self.busy_timeout_ms = None  # what driver and session statements set
        self.foreign_keys = None
        self.prepare_each = False
        for name, value in pairs:
            self._set(driver, name, value)

    def _set(self, driver, name, value):
        def one_of(*words):
            if value not in words:
                raise FormatError(f"option {name}: `{value}` is not one of its values ({', '.join(words)})")
            return value

        if driver.is_server and name in ("busy_timeout_ms", "foreign_keys"):
            raise FormatError(f"option {name}: it is SQLite's, and driver {driver.name} connects to a server")
        if name == "busy_timeout_ms":
            self.busy_timeout_ms = wire.number(value, (1 << 31) - 1)
            if self.busy_timeout_ms is None:
                raise FormatError(f"option {name}: `{value}` is not a number from 0 to {(1 << 31) - 1}")
        elif name == "statements":
            self.prepare_each = one_of("each", "prepared") == "each"
        elif name == "foreign_keys":
            self.foreign_keys = one_of("on", "off")
        elif name == "lock_wait":
            if one_of("measured", "off") == "measured":
                raise FormatError(f"option lock_wait: driver {driver.name} cannot measure what it waits for locks")
        else:
            raise FormatError(f"option {name}: this worker has no such option")

    def sqlite_session(self):
        """Statements on a new connection of SQLite, before those of the plan."""
        sql = []
        if self.busy_timeout_ms is not None:
            sql.append(f"PRAGMA busy_timeout = {self.busy_timeout_ms}")
        if self.foreign_keys:
            sql.append(f"PRAGMA foreign_keys = {self.foreign_keys}")
        return sql
