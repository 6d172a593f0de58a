"""Scripts: statements and rows for one connection, outside of any measurement."""

from . import wire
from .attempt import Library
from .control import Control
from .driver import Options, worker_failure
from .run import find
from .plan import Database
from .statement import load_of
from .wire import FormatError, check_version, crop, escape, opened, parse_value, unescape, value_text

VERSION = 2


class Lines:
    """Lines of a script, read one by one: loads are large."""

    def __init__(self, text):
        self.text, self.at, self.number = opened("script", text), 0, 0
        self.held = None

    def next(self):
        if self.held is not None:
            line, self.held = self.held, None
            return line
        end = self.text.find("\n", self.at)
        if end < 0:
            return "end"
        line, self.at = self.text[self.at:end], end + 1
        self.number += 1
        return line

    def fail(self, words):
        raise FormatError(f"script line {self.number}: {words}")

    def rows(self, place):
        """Rows up to the next line of another kind; `place` gets the number of the current line."""
        while True:
            line = self.next()
            kind, _, rest = line.partition("\t")
            if kind != "row":
                self.held = line
                return
            place[0] = self.number
            yield tuple(parse_value(field) for field in rest.split("\t"))


def carry_out(drivers, text):
    """The reply. Errors of the database end a script and are part of it; a FormatError refuses the script."""
    check_version("contend-script", VERSION, text.partition("\n")[0])
    lines = Lines(text)
    lines.next()
    opening = {"driver": "", "database": None, "option": [], "session": []}
    while True:
        line = lines.next()
        kind, _, rest = line.partition("\t")
        if kind not in opening:
            lines.held = line
            break
        fields = rest.split("\t")
        if kind == "option":
            opening[kind].append(tuple(map(unescape, fields)))
        elif kind == "session":
            opening[kind].append(unescape(fields[1]))
        elif kind == "database":
            opening[kind] = Database(*fields)
        else:
            opening[kind] = unescape(fields[0])
    driver = find(drivers, opening["driver"])
    options = Options(driver, opening["option"])
    script = Script(driver, lines)
    connection = None
    try:
        connection = script.library.connect(opening["database"], options, opening["session"])
    except Exception as e:
        script.error(0, e)
    else:
        script.carry_out(connection)
    finally:
        if connection is not None:
            connection.close()
    return "".join(script.reply) + "end\n"


class Script:
    """The reply to a script, being assembled."""

    def __init__(self, driver, lines):
        self.driver, self.lines = driver, lines
        self.library = Library(driver, Control(0))
        self.reply = []

    def error(self, line, error):
        f = self.library.failure(error)
        self.reply.append(f"error\t{line}\t{wire.SPACES[f.space]}\t{f.code}\t{escape(str(error))}\n")

    def carry_out(self, connection):
        lines = self.lines
        while True:
            line = lines.next()
            kind, _, rest = line.partition("\t")
            if kind == "end":
                return
            at = [lines.number]
            try:
                if kind == "sql":
                    self.query(connection, unescape(rest.partition("\t")[2]))
                elif kind == "load":
                    self.load(connection, load_of(*rest.split("\t")), at)
                elif kind == "row":
                    lines.fail("a row without a `load` before it")
                else:
                    lines.fail(f"unknown kind of line `{crop(kind)}`")
            except FormatError:
                raise
            except Exception as e:
                self.error(at[0], e)
                return

    def query(self, connection, sql):
        rows = connection.query(sql)
        plain = self.driver.plain
        try:
            texts = ["".join(f"\t{value_text(plain(value))}" for value in row) for row in rows]
        except ValueError as e:
            raise worker_failure(wire.NO_VALUE, str(e)) from None
        self.reply.append(f"result\t{len(rows)}\n")
        self.reply.extend(f"row{text}\n" for text in texts)

    def load(self, connection, statement, at):
        def rows():
            for row in self.lines.rows(at):
                if statement.params and len(row) != statement.params:
                    words = f"{len(row)} values for the {statement.params} placeholders of `load`"
                    raise worker_failure(wire.NO_VALUE, words)
                yield row

        self.reply.append(f"loaded\t{connection.load(statement, rows())}\n")
