"""A plan carried out: connections opened and looked at, clients in their threads, signs of life, the end of the drain."""

import threading
import time

from . import wire
from .attempt import Library, check_connection
from .client import Client
from .control import Control
from .driver import Failure, Options
from .plan import parse_plan
from .wire import FormatError

MODEL = "thread"
_STUCK_NS = 5_000_000_000


def find(drivers, name):
    for driver in drivers:
        if driver.name == name:
            return driver
    raise FormatError(f"driver {name}: this worker has only {', '.join(d.name for d in drivers)}")


class Run:
    """A plan whose connections are open and whose clients wait for the start."""

    def __init__(self, drivers, text):
        self.plan = plan = parse_plan(text)
        self.driver = find(drivers, plan.driver)
        self.options = Options(self.driver, plan.options)
        if plan.model != MODEL:
            raise FormatError(f"model {plan.model}: this worker has only `{MODEL}`")
        if plan.is_shared:
            raise FormatError(f"model {MODEL}: every client has a connection of its own, the plan has one for all of a database")
        self.control = Control(plan.drain)
        self.library = Library(self.driver, self.control)
        self.statements = [self.driver.statement(sql) for sql in plan.statements]
        self.clients, self.sessions = [], []
        try:
            # One after the other: a change of the journal mode is refused when two connections try at once.
            for spec in plan.clients:
                self._open(spec)
        except BaseException:
            self.close()
            raise
        for client in self.clients:
            client.thread.start()

    def _open(self, spec):
        client = Client(self, spec)
        try:
            client.open()
            if not self.clients and not self.driver.executes_nothing:
                self._check(client.connection)
            client.prepare()
            self.clients.append(client)
            self.sessions.append({"client": spec.id, **self._look(client.connection)})
        except Exception as e:
            client.close()
            where = f"client {spec.id}, database {self.plan.databases[spec.database]}"
            raise FormatError(f"{where}: {e}") from None

    def _check(self, connection):
        check_connection(self.plan, self.statements, connection)

    def connect(self, database):
        """A new connection, with all that belongs to its session."""
        connection = self.driver.connect(self.plan.databases[database], self.options)
        before = [] if self.driver.is_server or self.driver.executes_nothing else self.options.sqlite_session()
        for sql in before + self.plan.session:
            try:
                connection.simple(sql)
            except Exception as e:
                failure = self.library.failure(e)
                connection.close()
                raise Failure(failure.space, failure.code, f"`{sql}`: {e}") from None
        return connection

    def _look(self, connection):
        """The settings of a connection as it tells them."""
        if self.driver.executes_nothing:
            return {}
        asked = list(self.plan.readbacks)
        if not self.driver.is_server and all(name != "busy_timeout" for name, _ in asked):
            asked.append(("busy_timeout", "PRAGMA busy_timeout"))
        found = {}
        for name, sql in asked:
            try:
                rows = connection.query(sql)
            except Exception as e:
                raise FormatError(f"`{sql}`: {e}") from None
            found[name] = in_words(rows[0][0] if rows and rows[0] else None)
        return found

    # The run

    def start(self, start_ns):
        self.control.open(start_ns, self.plan.end_ns)

    def is_over(self):
        return all(client.is_over for client in self.clients)

    def counts(self):
        operations = sum(c.attempts - c.retries for c in self.clients)
        return operations, sum(c.failed for c in self.clients)

    def after_drain(self):
        """To be called every few milliseconds once the drain is over: an interrupt reaches only what runs."""
        self.control.end_drain()
        is_late = time.monotonic_ns() >= self.control.drain_end() + _STUCK_NS
        for client in self.clients:
            if client.is_over:
                continue
            if is_late:
                raise FormatError(f"client {client.spec.id} did not return 5 s after it was interrupted")
            client.interrupt()

    def check(self):
        """After the end: no client may have died of an error of the worker itself."""
        for client in self.clients:
            client.thread.join()
            if client.broken is not None:
                raise FormatError(f"client {client.spec.id}: {type(client.broken).__name__}: {client.broken}")

    def done(self):
        operations, failed = self.counts()
        attempts = sum(c.attempts for c in self.clients)
        exhausted = sum(c.is_exhausted for c in self.clients)
        return {"operations": operations, "attempts": attempts, "failed": failed, "exhausted": exhausted}

    def abandon(self):
        self.control.abandon()
        for client in self.clients:
            client.thread.join()

    def close(self):
        for client in self.clients:
            client.close()


def in_words(value):
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)
