"""Plans. The tool has checked a plan, and the digest shows that it is unchanged, so its content is not checked
again."""

import os

from .statement import Statement
from .wire import ANY_ROWS, FormatError, MAX_U64, SPACES, TextRef, check_version, crop, opened, parse_value, unescape

VERSION = 3


class Sql:
    """A step that executes a statement."""

    __slots__ = ("statement", "least", "most", "repeat", "keep", "sources")


class Wait:
    """A step that waits."""

    __slots__ = ("word", "ns")

    def __init__(self, word, ns):
        self.word, self.ns = word, ns


class Transaction:
    """A sequence of steps; `begin` is None if every statement commits by itself."""

    __slots__ = ("name", "begin", "uniques", "slots", "steps", "connects", "arguments")


class Client:
    """A client with its operations: (time, transaction, arguments)."""

    __slots__ = ("id", "database", "is_open", "is_cyclic", "limit", "start_ns", "operations")


class Database:
    """Location of a database: a file with a `path`, or a server, through `socket` or at `host` and `port`."""

    def __init__(self, kind, *fields):
        fields = [unescape(field) for field in fields]
        self.path = self.socket = self.host = self.port = None
        self.kind, self.found = kind, fields[-1]
        if kind == "file":
            self.path = fields[0]
        elif kind == "socket":
            self.socket, self.user, self.database, self.found = fields
        elif kind == "tcp":
            self.host, self.port, self.user, self.database, self.found = fields
            self.port = int(self.port)
        else:
            raise FormatError(f"database {kind}: this worker opens files and connects to servers")

    def __str__(self):
        if self.kind == "file":
            return self.path
        return f"{self.user}@{self.socket or f'{self.host}:{self.port}'}/{self.database}"

    def password(self):
        """Reads the password from its place."""
        kind, _, where = self.found.partition(":")
        if kind == "file":
            try:
                with open(where, encoding="utf-8") as file:
                    return file.readline().rstrip("\r\n")
            except OSError as e:
                raise FormatError(f"the password is expected in {where}, which cannot be read: {e.strerror}") from None
        if kind == "env":
            if where not in os.environ:
                raise FormatError(f"the password is expected in the variable {where}, which is not set for the worker")
            return os.environ[where]
        return None


class Plan:
    """Everything that one worker needs."""

    def __init__(self):
        self.now_fixed = None
        self.options, self.databases, self.session, self.readbacks = [], [], [], []
        self.statements, self.texts, self.transactions, self.clients = [], [], [], []
        self.retry_codes = set()

    @property
    def end_ns(self):
        """From the start to the end of the window; a length of 0 means no end."""
        return self.run_in + self.length if self.length else MAX_U64


def parse_plan(text):
    try:
        check_version("contend-plan", VERSION, text.partition("\n")[0])
    except FormatError as e:
        raise FormatError(f"plan line 1: {e}") from None
    lines = opened("plan", text).split("\n")
    plan, number = Plan(), 1
    try:
        for number, line in enumerate(lines[1:-1], 2):
            kind, *fields = line.split("\t")
            _LINES[kind](plan, *fields)
    except KeyError as e:
        raise FormatError(f"plan line {number}: `{crop(kind)}`, {e}: databases know nothing of HTTP") from None
    except (ValueError, TypeError, IndexError, AttributeError) as e:
        raise FormatError(f"plan line {number}: `{crop(line)}` is not of the form: {e}") from None
    return plan


def _worker(plan, number):
    pass


def _driver(plan, driver, model):
    plan.driver, plan.model = unescape(driver), unescape(model)


def _connections(plan, sharing):
    plan.is_shared = sharing == "database"


def _window(plan, run_in, length, drain):
    plan.run_in, plan.length, plan.drain = int(run_in), int(length), int(drain)


def _now(plan, source, *fixed):
    if source == "fixed":
        plan.now_fixed = tuple(map(int, fixed))


def _option(plan, name, value):
    plan.options.append((unescape(name), unescape(value)))


def _database(plan, *fields):
    plan.databases.append(Database(*fields))


def _session(plan, effect, sql):
    plan.session.append(unescape(sql))


def _readback(plan, name, sql):
    plan.readbacks.append((unescape(name), unescape(sql)))


def _statement(plan, number, effect, placeholders, sql):
    plan.statements.append(Statement(unescape(sql), effect, placeholders))


def _text(plan, number, text):
    plan.texts.append(unescape(text))


def _transaction(plan, number, name, kind, begin, uniques, slots, steps):
    t = Transaction()
    t.name, t.begin = unescape(name), None if begin == "-" else unescape(begin)
    t.uniques, t.slots = int(uniques), int(slots)
    t.steps, t.connects, t.arguments = [], False, 0
    plan.transactions.append(t)


def _step(plan, kind, *fields):
    t = plan.transactions[-1]
    if kind == "sql":
        t.steps.append(_sql(plan, t, *fields))
    elif kind == "connect":
        t.connects = True
        t.steps.append(None)
    elif kind == "http":
        raise FormatError(f"`{t.name}` sends HTTP requests, which only the driver http does")
    else:
        t.steps.append(Wait(kind, int(fields[0])))


def _sql(plan, t, statement, rows, repeat, keep, *sources):
    s = Sql()
    low, _, high = rows.partition("..")
    s.statement, s.repeat = int(statement), int(repeat)
    s.least, s.most = int(low), ANY_ROWS if high == "*" else int(high)
    s.keep = [tuple(map(int, item.split(":"))) for item in _items(keep)]
    s.sources = [_source(plan, t, field, s.repeat) for field in sources]
    return s


def _items(field):
    return [] if field == "-" else field.split(",")


def _value(plan, field):
    value = parse_value(field)
    return plan.texts[value] if isinstance(value, TextRef) else value


def _source(plan, t, field, repeat):
    """(kind, a, b): a literal is ("", value, 0)."""
    kind = field[:1]
    if kind == "c":
        return kind, int(field[1:]), 0
    if kind not in "pkKu":
        return "", _value(plan, field), 0
    first, _, second = field[1:].partition("+")
    a, b = int(first), int(second)
    if kind == "p":
        t.arguments = max(t.arguments, a + b * (repeat - 1) + 1)
    return kind, a, b


def _retry(plan, tries, backoff, jitter, codes):
    plan.tries = int(tries)
    plan.backoff_ns, plan.jitter = [int(ns) for ns in _items(backoff)], [int(n) for n in _items(jitter)]
    for item in _items(codes):
        word, _, code = item.partition(":")
        plan.retry_codes.add((SPACES.index(word), int(code)))


def _clients(plan, count):
    pass


def _client(plan, number, database, loop, cycle, limit, start, operations):
    c = Client()
    c.id, c.database, c.limit, c.start_ns = int(number), int(database), int(limit), int(start)
    c.is_open, c.is_cyclic, c.operations = loop == "open", cycle == "cyclic", []
    plan.clients.append(c)


def _op(plan, time_ns, transaction, *values):
    args = tuple([_value(plan, field) for field in values])
    plan.clients[-1].operations.append((int(time_ns), int(transaction), args))


_LINES = {
    function.__name__[1:]: function
    for function in (
        _worker, _driver, _connections, _window, _now, _option, _database, _session, _readback, _statement, _text,
        _transaction, _step, _retry, _clients, _client, _op,
    )
}
