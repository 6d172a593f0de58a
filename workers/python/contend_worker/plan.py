"""Plans: read at once, every reference checked; an error names the line."""

from .wire import ANY_ROWS, FormatError, SPACES, TextRef, check_version, crop, number, parse_value, unescape
from .wire import MAX_INTEGER, MAX_U64, MIN_INTEGER, _INTEGER

VERSION = 2


class Sql:
    """A step that executes a statement."""

    __slots__ = ("statement", "least", "most", "repeat", "keep", "sources")


class Wait:
    """A step that waits."""

    __slots__ = ("word", "ns")

    def __init__(self, word, ns):
        self.word, self.ns = word, ns


class Transaction:
    """A sequence of steps; `begin` is None where every statement commits by itself."""

    __slots__ = ("name", "begin", "uniques", "slots", "steps", "connects", "arguments")


class Client:
    """A client with its operations: (time, transaction, arguments)."""

    __slots__ = ("id", "database", "is_open", "is_cyclic", "limit", "start_ns", "operations")


class Plan:
    """What one worker has to do."""

    def __init__(self):
        self.now_fixed = None
        self.options, self.databases, self.session, self.readbacks = [], [], [], []
        self.statements, self.texts, self.transactions, self.clients = [], [], [], []
        self.backoff_ns, self.jitter, self.retry_codes = [], [], set()

    @property
    def end_ns(self):
        """From the start to the end of the window; a length of 0 is no end."""
        return self.run_in + self.length if self.length else MAX_U64


class Reader:
    """Lines of a plan."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.at = 0
        self.rest = []
        self.kind = ""

    def fail(self, words):
        raise FormatError(f"plan line {self.at}: {words}")

    def next_if(self, kind):
        """Uses the next line if it is of this kind."""
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        parts = line.split("\t")
        if parts[0] != kind:
            return False
        self.at += 1
        parts.reverse()
        parts.pop()
        self.rest, self.kind = parts, kind
        return True

    def expect(self, kind):
        if not self.next_if(kind):
            line = self.lines[self.at] if self.at < len(self.lines) else ""
            self.at += 1
            self.fail(f"expected a `{kind}` line, found `{crop(line)}`")

    def raw(self, what):
        if not self.rest:
            self.fail(f"a `{self.kind}` line without its {what}")
        return self.rest.pop()

    def text(self, what):
        try:
            return unescape(self.raw(what))
        except FormatError as e:
            if str(e).startswith("plan line"):
                raise
            self.fail(e)

    def number(self, what, most=MAX_U64):
        field = self.raw(what)
        n = number(field, most)
        if n is None:
            self.fail(f"{what} `{crop(field)}` is not a number that fits")
        return n

    def word(self, what, *words):
        field = self.raw(what)
        if field not in words:
            self.fail(f"`{crop(field)}` is not {' or '.join(words)}")
        return field

    def end(self):
        if self.rest:
            self.fail(f"a field too many: `{crop(self.rest[-1])}`")

    def list(self, what, read):
        field = self.raw(what)
        if field == "-":
            return []
        found = []
        for item in field.split(","):
            one = read(item)
            if one is None:
                self.fail(f"`{crop(item)}` in the list of {what}")
            found.append(one)
        return found

    def value(self, plan, field):
        try:
            value = parse_value(field)
        except FormatError as e:
            self.fail(e)
        if isinstance(value, TextRef):
            if value >= len(plan.texts):
                self.fail(f"text {int(value)} is not in the plan")
            return plan.texts[value]
        return value


def parse_plan(text):
    r = Reader(text)
    r.at = 1
    try:
        check_version("contend-plan", VERSION, r.lines[0])
    except FormatError as e:
        r.fail(e)
    plan = _head(r)
    r.expect("clients")
    count = r.number("count", 1 << 31)
    r.end()
    for _ in range(count):
        plan.clients.append(_client(r, plan))
    r.expect("end")
    r.end()
    if r.at == len(r.lines):
        raise FormatError("plan: cut off: the `end` line has no line end")
    if r.lines[r.at:] != [""]:
        raise FormatError("plan: text after the `end` line")
    return plan


def _head(r):
    plan = Plan()
    r.expect("worker")
    r.number("number")
    r.end()
    r.expect("driver")
    plan.driver, plan.model = r.text("driver"), r.text("model")
    r.end()
    r.expect("connections")
    plan.is_shared = r.word("way of sharing", "client", "database") == "database"
    r.end()
    r.expect("window")
    plan.run_in, plan.length, plan.drain = r.number("run-in"), r.number("length"), r.number("drain")
    r.end()
    r.expect("now")
    if r.word("source", "clock", "fixed") == "fixed":
        plan.now_fixed = r.number("base"), r.number("step")
    r.end()
    _pairs(r, "option", plan.options)
    _texts(r, "database", plan.databases, False)
    _texts(r, "session", plan.session, False)
    _pairs(r, "readback", plan.readbacks)
    _texts(r, "statement", plan.statements, True)
    _texts(r, "text", plan.texts, True)
    while r.next_if("transaction"):
        plan.transactions.append(_transaction(r, plan))
    r.expect("retry")
    plan.tries = r.number("number of tries", 65535)
    if plan.tries == 0:
        r.fail("the number of tries must be at least 1")
    plan.backoff_ns = r.list("back-off", lambda item: number(item, MAX_U64))
    plan.jitter = r.list("jitter", lambda item: number(item, 65535))
    plan.retry_codes = set(r.list("codes", _code))
    r.end()
    return plan


def _code(item):
    word, _, digits = item.partition(":")
    n = number(digits, 0xFFFFFFFF)
    return None if word not in SPACES or n is None else (SPACES.index(word), n)


def _pairs(r, kind, into):
    while r.next_if(kind):
        into.append((r.text("name"), r.text("text")))
        r.end()


def _texts(r, kind, into, numbered):
    while r.next_if(kind):
        if numbered:
            _index(r, len(into))
        into.append(r.text("text"))
        r.end()


def _index(r, expected):
    found = r.number("number")
    if found != expected:
        r.fail(f"expected number {expected}, found {found}")


def _transaction(r, plan):
    t = Transaction()
    _index(r, len(plan.transactions))
    t.name = r.text("name")
    r.word("kind", "read", "write")
    begin = r.text("begin")
    t.begin = None if begin == "-" else begin
    t.uniques, t.slots = r.number("count of unique numbers", 65535), r.number("count of slots", 65535)
    count = r.number("count of steps", 65000)
    r.end()
    t.steps, t.connects, t.arguments = [], False, 0
    for i in range(count):
        t.steps.append(_step(r, plan, t, i))
    return t


def _step(r, plan, t, index):
    r.expect("step")
    kind = r.raw("kind")
    if kind == "sql":
        return _sql(r, plan, t)
    if kind in ("hold", "pause"):
        step = Wait(kind, r.number("length"))
        r.end()
        return step
    if kind == "connect":
        r.end()
        if index > 0:
            r.fail("`connect` must be the first step of a transaction")
        t.connects = True
        return None
    r.fail(f"`{crop(kind)}` is not a kind of step this worker knows")


def _sql(r, plan, t):
    s = Sql()
    s.statement = r.number("statement", 1 << 31)
    rows = r.raw("rows")
    low, dots, high = rows.partition("..")
    s.least = number(low, ANY_ROWS)
    s.most = ANY_ROWS if high == "*" else number(high, ANY_ROWS)
    if not dots or s.least is None or s.most is None or s.least > s.most:
        r.fail(f"rows `{crop(rows)}` are not of the form MIN..MAX or MIN..*")
    s.repeat = r.number("repeat", 1 << 31)
    if s.repeat == 0:
        r.fail("a step is repeated at least once")
    s.keep = r.list("keep", _keep)
    if s.statement >= len(plan.statements):
        r.fail(f"statement {s.statement} is not in the plan")
    for slot, _, _ in s.keep:
        _check_slot(r, t, slot)
    s.sources = []
    while r.rest:
        s.sources.append(_source(r, plan, t, r.rest.pop(), s.repeat))
    return s


def _keep(item):
    parts = [number(part, 65535) for part in item.split(":")]
    return tuple(parts) if len(parts) == 3 and None not in parts and parts[2] > 0 else None


def _check_slot(r, t, slot):
    if slot >= t.slots:
        r.fail(f"slot {slot} is beyond the {t.slots} of `{t.name}`")


def _source(r, plan, t, field, repeat):
    """(kind, a, b): a literal is ("", value, 0)."""
    kind = field[:1]
    if not kind:
        r.fail("an empty field where the source of an argument was expected")
    if kind not in "pkKuc":
        return "", r.value(plan, field), 0
    if kind == "c":
        unit = number(field[1:], MAX_INTEGER)
        if not unit:
            r.fail(f"`{crop(field)}` is not the source of an argument")
        return kind, unit, 0
    first, plus, second = field[1:].partition("+")
    a = number(first, 65535)
    if kind == "k":
        fits = _INTEGER.match(second) and len(second) <= 20 and MIN_INTEGER <= int(second) <= MAX_INTEGER
        b = int(second) if fits else None
    else:
        b = number(second, 65535)
    if not plus or a is None or b is None:
        r.fail(f"`{crop(field)}` is not the source of an argument")
    last = a + b * (repeat - 1)
    if kind in "kK":
        _check_slot(r, t, a)
    elif kind == "u" and last >= t.uniques:
        r.fail(f"`{t.name}` announces {t.uniques} unique numbers, this step needs more")
    elif kind == "p":
        t.arguments = max(t.arguments, last + 1)
        if t.arguments > 65535:
            r.fail(f"`{t.name}` takes {t.arguments} arguments; 65535 are the most")
    return kind, a, b


def _client(r, plan):
    c = Client()
    r.expect("client")
    c.id, c.database = r.number("number", 0xFFFFFFFF), r.number("database", 1 << 31)
    if c.database >= len(plan.databases):
        r.fail(f"client {c.id} uses database {c.database}; the plan has {len(plan.databases)}")
    c.is_open = r.word("loop", "closed", "open") == "open"
    c.is_cyclic = r.word("cycle", "cyclic", "finite") == "cyclic"
    if c.is_open and c.is_cyclic:
        r.fail("an open loop cannot be cyclic: its due times are drawn in advance")
    c.limit, c.start_ns = r.number("limit", 0xFFFFFFFF), r.number("start")
    count = r.number("count of operations", 1 << 31)
    r.end()
    c.operations, previous = [], 0
    for _ in range(count):
        r.expect("op")
        time_ns, index = r.number("time"), r.number("transaction", 65535)
        if index >= len(plan.transactions):
            r.fail(f"transaction {index} is not in the plan")
        t = plan.transactions[index]
        r.rest.reverse()
        args = tuple(r.value(plan, field) for field in r.rest)
        if len(args) != t.arguments:
            r.fail(f"`{t.name}` takes {t.arguments} arguments, found {len(args)}")
        if c.is_open and time_ns < previous:
            r.fail("due times of an open loop must not go back")
        previous = time_ns
        c.operations.append((time_ns, index, args))
    return c
