"""A plan carried out: connections opened and looked at, clients in their threads, signs of life, the end of the drain."""

import gc
import threading
import time

from . import wire
from .attempt import Functions, Library, check_connection
from .client import Client
from .control import Control
from .driver import Options
from .pauses import Pauses
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
        self.statements = plan.statements
        for database in plan.databases:
            self.driver.check(database)
        self.functions = None
        self.clients, self.sessions = [], []
        self.pauses = Pauses()
        try:
            # One after the other: a change of the journal mode is refused when two connections try at once.
            for spec in plan.clients:
                self._open(spec)
        except BaseException:
            self.close()
            raise
        # Nothing of what it took to prepare is to be collected in the run. What stays is not frozen: no program would do that for its
        # own data, so that collections which look at all of it are the language's cost.
        gc.collect()
        for client in self.clients:
            client.thread.start()

    def _open(self, spec):
        client = Client(self, spec)
        try:
            client.open()
            if self.functions is None:
                self._write(client.connection)
            client.bind()
            client.prepare()
            self.clients.append(client)
            client.facts = self.look(client.connection)
            self.sessions.append({"client": spec.id, **client.facts})
        except Exception as e:
            client.close()
            where = f"client {spec.id}, database {self.plan.databases[spec.database]}"
            raise FormatError(f"{where}: {told(e) if isinstance(e, MemoryError) else e}") from None

    def _write(self, connection):
        if not self.driver.executes_nothing:
            check_connection(self.plan, self.statements, connection)
        self.functions = Functions(self.library, self.plan, self.statements, connection)

    def connect(self, database):
        return self.library.connect(self.plan.databases[database], self.options, self.plan.session)

    def look(self, connection):
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
        self.pauses.begin()
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
        """No client may have died of an error of the worker itself: the others would go on without it."""
        for client in self.clients:
            if client.broken is not None:
                raise FormatError(f"client {client.spec.id}: {told(client.broken)}")

    def finish(self):
        """After the end: connections are closed, and no client has died."""
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
    """An error of the worker itself, in words."""
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
