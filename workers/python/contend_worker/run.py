"""Carries out a plan: opens connections and reads settings, runs clients in threads, reports progress, ends the
drain."""

import gc
import threading
import time

from . import wire
from .attempt import Functions, Library, check_connection
from .client import Client
from .control import Control
from .driver import Options, is_lock
from .pauses import Pauses
from .plan import parse_plan
from .wire import FormatError

MODEL = "thread"
_STUCK_NS = 5_000_000_000
_FREE_WITHIN_NS = 2_000_000_000
_FREE_AGAIN_S = 0.01


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
        self.statements = plan.statements
        for database in plan.databases:
            self.driver.check(database)
        self.functions = None
        self.clients, self.sessions = [], []
        self.pauses = Pauses()
        try:
            # One after the other: a change of the journal mode fails when two connections run it at the same time.
            for spec in plan.clients:
                self._open(spec)
        except BaseException:
            self.close()
            raise
        # Garbage of the preparation must not be collected in the run. Remaining objects are not frozen: programs do
        # not freeze their data either, so collections that traverse it are a cost of the language.
        gc.collect()
        for client in self.clients:
            client.thread.start()

    def _open(self, spec):
        client = Client(self, spec)
        try:
            client.facts = self.when_free(lambda: self._open_connection(client))
            client.prepare()
            self.clients.append(client)
            self.sessions.append({"client": spec.id, **client.facts})
        except Exception as e:
            client.close()
            where = f"client {spec.id}, database {self.plan.databases[spec.database]}"
            raise FormatError(f"{where}: {told(e) if isinstance(e, MemoryError) else e}") from None

    def _open_connection(self, client):
        """Opens a client's connection, and returns its settings."""
        try:
            client.open()
            if self.functions is None:
                self._write(client.connection)
            client.bind()
            return self.look(client.connection)
        except Exception:
            client.close()
            raise

    def when_free(self, act):
        """Retries what a lock of SQLite prevents, whatever the busy timeout, for 2 s at most and not beyond the drain: another
        process that opens the same database at the same moment may lock it to recover its log, and after the measurement
        other clients may still write."""
        until = time.monotonic_ns() + _FREE_WITHIN_NS
        while True:
            try:
                return act()
            except Exception as e:
                if not is_lock(self.driver, e) or self.control.over or time.monotonic_ns() >= until:
                    raise
            time.sleep(_FREE_AGAIN_S)

    def _write(self, connection):
        if not self.driver.executes_nothing:
            check_connection(self.plan, self.statements, connection)
        self.functions = Functions(self.library, self.plan, self.statements, connection)

    def connect(self, database):
        return self.library.connect(self.plan.databases[database], self.options, self.plan.session)

    def look(self, connection):
        """The settings that a connection reports."""
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
                raise FormatError(f"`{sql}`: {e}") from e
            found[name] = in_words(rows[0][0] if rows and rows[0] else None)
        return found

    # The run

    def start(self, start_ns):
        self.pauses.begin()
        self.control.open(start_ns, self.plan.end_ns)

    def is_over(self):
        return all(client.is_over for client in self.clients)

    def counts(self):
        operations = sum(c.attempts - c.retries for c in self.clients)
        return operations, sum(c.failed for c in self.clients)

    def after_drain(self):
        """To be called every few milliseconds after the drain: an interrupt only affects a running statement."""
        self.control.end_drain()
        is_late = time.monotonic_ns() >= self.control.drain_end() + _STUCK_NS
        for client in self.clients:
            if client.is_over:
                continue
            if is_late:
                raise FormatError(f"client {client.spec.id} did not return 5 s after it was interrupted")
            client.interrupt()

    def check(self):
        """Fails if a client has died of an error of the worker itself."""
        for client in self.clients:
            if client.broken is not None:
                raise FormatError(f"client {client.spec.id}: {told(client.broken)}")

    def finish(self):
        """After the end: closes connections, and fails if a client has died."""
        for client in self.clients:
            client.thread.join()
        self.pauses.end()
        self.check()

    def done(self):
        operations, failed = self.counts()
        attempts = sum(c.attempts for c in self.clients)
        exhausted = sum(c.is_exhausted for c in self.clients)
        differ = [client.differs for client in self.clients if client.differs]
        read_back = sum(client.is_read_back for client in self.clients)
        found = {"operations": operations, "attempts": attempts, "failed": failed, "exhausted": exhausted}
        found |= {"connections_read_back": read_back, **self.pauses.facts()}
        return {**found, "settings_differ": "; ".join(differ)} if differ else found

    def abandon(self):
        self.control.abandon()
        for client in self.clients:
            client.thread.join()

    def close(self):
        for client in self.clients:
            client.close()


def told(error):
    """The message for an error of the worker itself."""
    if isinstance(error, MemoryError):
        return "the worker is out of memory"
    return f"{type(error).__name__}: {error}"


def in_words(value):
    if value is None:
        return ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value)
