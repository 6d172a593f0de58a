"""Transactions as Python code: for each plan, functions are generated that carry out the steps of its transactions
with the library's own calls, as a program written for this workload would. Interpreting steps would cost more than a
fast driver's call. All code is generated and compiled once, before the run; a connection opened later only binds its
own names."""

import time

from . import wire
from .driver import Failure, worker_failure
from .plan import Wait
from .wire import FormatError


class Library:
    """Names that the generated code uses besides the connection's own."""

    def __init__(self, driver, control):
        self.driver, self.control = driver, control

    def connect(self, database, options, session):
        """A new connection, with its session statements run."""
        driver = self.driver
        connection = driver.connect(database, options)
        before = [] if driver.is_server or driver.executes_nothing else options.sqlite_session()
        for sql in before + session:
            try:
                connection.simple(sql)
            except Exception as e:
                failure = self.failure(e)
                connection.close()
                raise Failure(failure.space, failure.code, f"`{sql}`: {e}") from None
        return connection

    def names(self, suit):
        return {
            "over": self.control.over,
            "cut": self.cut,
            "wrong_rows": self.wrong_rows,
            "first": first,
            "plus": plus,
            "plain": self.driver.plain,
            "wait": self.wait,
            "now_ns": time.time_ns,
            "failed": self.failed,
            "suit": suit,
        }

    def cut(self):
        raise Failure(*self.driver.interrupted)

    def wait(self, ns):
        if not self.control.wait(ns):
            self.cut()

    @staticmethod
    def wrong_rows():
        raise worker_failure(wire.WRONG_ROWS)

    def failed(self, error, step, rows):
        """The failure for any exception of a step."""
        failure = self.failure(error)
        failure.step, failure.rows = step, min(rows, wire.ANY_ROWS)
        return failure

    def failure(self, error):
        if isinstance(error, Failure):
            return error
        code = self.driver.code_of(error)
        if code is None:
            self.control.tell(f"an error of {self.driver.name} itself: {type(error).__name__}: {error}")
            return worker_failure(wire.DRIVER_ERROR, str(error))
        return Failure(*code, str(error))


def first(kept):
    if not kept:
        raise worker_failure(wire.NOT_KEPT)
    return kept[0]


def plus(kept, add):
    value = first(kept)
    if value is None:
        return None
    if type(value) is int and wire.MIN_INTEGER <= value + add <= wire.MAX_INTEGER:
        return value + add
    if type(value) is float:
        return value + add
    raise worker_failure(wire.NO_VALUE)


def check_connection(plan, statements, connection):
    """Makes the engine check all statements of a plan before it runs."""
    wanted = {}
    for t in plan.transactions:
        for step in t.steps:
            if step is not None and not isinstance(step, Wait):
                wanted.setdefault(step.statement, []).append(step)
    for index, statement in enumerate(statements):
        steps = wanted.get(index, [])
        try:
            columns = connection.prepare(statement)
        except Exception as e:
            raise FormatError(f"`{statement.sql}`: {e}") from e
        kept = max((column for step in steps for _, column, _ in step.keep), default=-1)
        if columns is not None and kept >= columns:
            raise FormatError(f"`{statement.sql}` has {columns} columns, the plan keeps column {kept}")


class Functions:
    """The compiled functions of a plan. Each one's parameters are the arguments, the first unique number and the
    number of the operation; it returns the number of rows."""

    def __init__(self, library, plan, statements, connection):
        """`connection` may be any of the driver's: the code is the same for all of them."""
        self.statements = statements
        writer = Writer(plan, statements, connection, library.driver)
        self.binders, self.uses = writer.binders(library), writer.uses

    def of(self, index, connection):
        """The function of a transaction on this connection."""
        used, has_begin = self.uses[index]
        names = connection.simple_names() if has_begin else {}
        for statement in used:
            names.update(connection.names(statement, self.statements[statement]))
        return self.binders[index](**names)


class Writer:
    """Generates the functions of a plan."""

    def __init__(self, plan, statements, connection, driver):
        self.plan, self.statements, self.connection, self.driver = plan, statements, connection, driver
        self.lines, self.values = [], {}
        # For each transaction its statements, and whether it has a begin.
        self.uses = []

    def binders(self, library):
        """For each transaction, a factory of its function from a connection's names."""
        names = library.names(self.connection.argument)
        for index, t in enumerate(self.plan.transactions):
            self.binder(index, t, names)
        all_of_them = ", ".join(f"b{i}" for i in range(len(self.plan.transactions)))
        # Inside a function these names are closure variables instead of dictionary look-ups.
        names.update({f"v{i}": value for i, value in self.values.values()})
        body = "".join(f"  {line}\n" for line in self.lines)
        source = f"def make({', '.join(names)}):\n{body}  return [{all_of_them}]\n"
        space = {}
        exec(compile(source, "<transactions of the plan>", "exec"), space)
        return space["make"](**names)

    def binder(self, index, t, names):
        used = [] if self.driver.executes_nothing else sorted({s.statement for s in t.steps if hasattr(s, "statement")})
        self.uses.append((used, bool(t.begin)))
        own = dict.fromkeys(self.connection.simple_names()) if t.begin else {}
        for statement in used:
            own.update(self.connection.names(statement, self.statements[statement]))
        self.write(-1, f"def b{index}({', '.join(own)}):")
        self.transaction(index, t, names)
        self.write(0, f"return t{index}")

    def write(self, depth, *lines):
        self.lines.extend(" " * (depth + 1) + line for line in lines)

    def literal(self, value):
        value = self.connection.argument(value)
        key = (type(value), repr(value))
        index, _ = self.values.setdefault(key, (len(self.values), value))
        return f"v{index}"

    def transaction(self, index, t, names):
        self.write(0, f"def t{index}(a, u, o):", " n = 0")
        slots = sorted({slot for s in t.steps if hasattr(s, "keep") for slot, _, _ in s.keep} | self.used(t))
        self.write(1, *(f"k{slot} = ()" for slot in slots))
        known = wire.STEP_BEGIN if t.begin else 0
        self.write(1, f"step = {known}", "try:")
        if t.begin:
            self.write(2, *self.connection.simple_code(t.begin))
        for number, step in enumerate(t.steps):
            if step is None:
                continue
            if number != known:
                self.write(2, f"step = {number}")
            if isinstance(step, Wait):
                self.write(2, f"wait({step.ns})")
            else:
                self.sql(step, t, names)
        if t.begin:
            self.write(2, f"step = {wire.STEP_COMMIT}", *self.connection.simple_code("COMMIT"))
        self.write(2, "return n")
        self.write(1, "except Exception as e:", " raise failed(e, step, n) from None")

    @staticmethod
    def used(t):
        sources = [source for s in t.steps if hasattr(s, "sources") for source in s.sources]
        return {a for kind, a, _ in sources if kind and kind in "kK"}

    def sql(self, step, t, names):
        statement = self.statements[step.statement]
        depth = 2
        if step.repeat > 1:
            self.write(2, f"for i in range({step.repeat}):")
            depth = 3
        # An interrupt only affects a running statement, so each statement checks first.
        self.write(depth, "if over: cut()")
        args = self.arguments(step, t)
        self.write(depth, *(f"k{slot} = ()" for slot, _, _ in step.keep))
        if self.driver.executes_nothing:
            self.write(depth, f"r = {args or ()}", f"m = {step.least}", *(f"k{slot} = (1,)" for slot, _, _ in step.keep))
        else:
            lines, more = self.connection.code(step.statement, statement, args)
            names.update(more)
            self.write(depth, *lines)
            for slot, column, rows in step.keep:
                value = f"row[{column}]" if self.connection.values_are_plain else f"plain(row[{column}])"
                self.write(depth, f"k{slot} = [{value} for row in r[:{rows}]]")
        self.write(depth, "n += m")
        if step.least == step.most:
            self.write(depth, f"if m != {step.least}: wrong_rows()")
        elif step.most == wire.ANY_ROWS:
            if step.least:
                self.write(depth, f"if m < {step.least}: wrong_rows()")
        else:
            self.write(depth, f"if not {step.least} <= m <= {step.most}: wrong_rows()")

    def arguments(self, step, t):
        """The tuple of a statement's values, empty if it has none; the operation's own tuple if it is the same."""
        if not step.sources:
            return ""
        taken = [(kind, a) for kind, a, b in step.sources if step.repeat == 1 or not b]
        if taken == [("p", i) for i in range(t.arguments)] and len(taken) == len(step.sources):
            return "a"
        return "(" + "".join(f"{self.source(source, step.repeat > 1)}, " for source in step.sources) + ")"

    def source(self, source, repeated):
        kind, a, b = source
        stride = f" + {b} * i" if repeated and b else ""
        if kind == "":
            return self.literal(a)
        if kind == "p":
            return f"a[{a}{stride}]"
        if kind == "u":
            value = f"u + {a}{stride}"
        elif kind == "k":
            value = f"plus(k{a}, {b})" if b else f"first(k{a})"
        elif kind == "K":
            value = f"k{a}[{b}] if len(k{a}) > {b} else None"
        elif self.plan.now_fixed:
            value = f"({self.plan.now_fixed[0]} + {self.plan.now_fixed[1]} * o) // {a}"
        else:
            value = f"now_ns() // {a}"
        return f"suit({value})" if self.connection.suits_arguments else value
