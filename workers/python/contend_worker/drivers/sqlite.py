"""Code that the SQLite drivers share."""

from .. import wire
from ..driver import Connection


class SqliteConnection(Connection):
    """A connection with a cursor for each statement; `self.inner` is the library's."""

    values_are_plain = True

    def prepare(self, statement):
        """EXPLAIN compiles a statement without executing it; the program has the number of columns of a row."""
        cursor = self.inner.cursor()
        rows = cursor.execute("EXPLAIN " + statement.sql, (None,) * statement.params).fetchall()
        columns = [row[3] for row in rows if row[1] == "ResultRow"]
        return max(columns, default=0)

    def simple_code(self, sql):
        return [f"simple({sql!r})"]

    def simple_names(self):
        return {"simple": self.inner.cursor().execute}

    def simple(self, sql):
        self.inner.cursor().execute(sql).fetchall()

    def query(self, sql):
        return self.inner.cursor().execute(sql).fetchall()

    def is_in_transaction(self):
        return self.inner.in_transaction

    def load(self, statement, rows):
        own = not self.inner.in_transaction
        if own:
            self.simple("BEGIN")
        execute, count = self.inner.cursor().execute, 0
        try:
            for row in rows:
                execute(statement.sql, row)
                count += 1
            if own:
                self.simple("COMMIT")
        except BaseException:
            if own and self.inner.in_transaction:
                self.simple("ROLLBACK")
            raise
        return count

    def interrupt(self):
        self.inner.interrupt()

    def close(self):
        self.inner.close()


def facts(name, connection):
    """Facts for `hello`, from a database in memory."""
    version = connection.query("SELECT sqlite_version()")[0][0]
    options = ",".join(row[0] for row in connection.query("PRAGMA compile_options"))
    connection.close()
    return {"driver": name, "engine": f"SQLite {version}", "compile_options": options}


def autocommit(cursor):
    """Whether a write is committed at once on a connection with the library's defaults."""
    cursor.execute("CREATE TABLE probe (value)")
    cursor.execute("INSERT INTO probe VALUES (1)")
    return "off" if cursor.connection.in_transaction else "on"


def number_of(code):
    return (wire.SQLITE, code & 0xFFFFFFFF)
