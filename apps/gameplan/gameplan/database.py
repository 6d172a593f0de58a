"""A site's connection in this process: opened at the first request, kept, opened again when it was lost.

A process serves one request at a time, so one connection for each site is enough.
"""

import contextlib

from . import engines


class DatabaseError(Exception):
    """What the engine said, in terms that do not depend on it."""

    def __init__(self, message, space, code, retry=False, lost=False, unknown=False, full=False):
        super().__init__(message)
        self.space, self.code, self.retry, self.lost = space, code, retry, lost
        # There is no room to write; the transaction is rolled back, as after any other refusal.
        self.full = full
        # It happened while a transaction was committed: whether it did is not known.
        self.unknown = unknown


class Database:
    """The connection to a site's database."""

    def __init__(self, site):
        self.site = site
        self.engine = engines.load(site.engine)
        self.opened = 0
        # How many had been opened when settings were last read back.
        self._read = 0
        self._connection = None
        self._in_transaction = False

    def execute(self, sql, values=()):
        """Executes a statement; a cursor that has its rows."""
        try:
            if self._connection is None:
                if self._in_transaction:
                    raise DatabaseError("the connection was lost", "os", "104", lost=True)
                self._open()
            return self.engine.execute(self._connection, sql, values)
        except self.engine.Error as error:
            raise self._failed(error) from error
        except OSError as error:
            self.close()
            raise DatabaseError(str(error), "os", str(error.errno or 5), lost=True) from error

    def all(self, sql, values=()):
        """The rows, as dictionaries by column."""
        cursor = self.execute(sql, values)
        try:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row)) for row in cursor.fetchall()]
        except self.engine.Error as error:
            raise self._failed(error) from error

    def one(self, sql, values=()):
        """The first row as a dictionary, or None."""
        rows = self.all(sql, values)
        return rows[0] if rows else None

    def value(self, sql, values=()):
        """The first column of the first row, or None."""
        try:
            row = self.execute(sql, values).fetchone()
        except self.engine.Error as error:
            raise self._failed(error) from error
        return row[0] if row else None

    def next_name(self, table):
        """The name of a table's next document."""
        return self.value(*self.engine.next_value(table))

    def locked(self, sql):
        """The same query, which also locks its rows where the engine has locks on rows."""
        return sql + self.engine.FOR_UPDATE

    @contextlib.contextmanager
    def transaction(self):
        """All that is executed inside, or nothing of it."""
        if self._in_transaction:
            raise RuntimeError("there is a transaction already")
        self.execute(self.engine.begin(self.site))
        self._in_transaction = True
        try:
            yield self
        except BaseException:
            self._roll_back()
            raise
        try:
            self.execute("COMMIT")
        except DatabaseError as error:
            # A refused commit (busy, deadlock) is not one; the outcome of a lost connection is unknown.
            error.unknown = error.lost
            self._roll_back()
            raise
        self._in_transaction = False

    def read_back(self):
        """The settings in force, as the connection tells them."""
        found = {name: self.value(sql) for name, sql in self.site.readback}
        if self._connection is None:
            self.value("SELECT 1")
        found.update(self.engine.readback(self._connection))
        self._read = self.opened
        return {name: "" if value is None else str(value) for name, value in found.items()}

    def is_unread(self):
        """Whether the open connection has not been asked for its settings yet."""
        return self._connection is not None and not self._in_transaction and self._read < self.opened

    def close(self):
        """Closes the connection; what was not committed is rolled back by the engine."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self.engine.Error, OSError):
                connection.close()

    def _open(self):
        connection = self.engine.connect(self.site)
        self.opened += 1
        self._connection = connection
        try:
            for sql in self.site.session:
                self.engine.execute(connection, sql)
        except self.engine.Error:
            self.close()
            raise

    def _roll_back(self):
        self._in_transaction = False
        if self._connection is None:
            return
        try:
            self.engine.execute(self._connection, "ROLLBACK")
        except self.engine.Error:
            # SQLite has rolled back by itself after some errors; a new connection is right after all of them.
            self.close()

    def _failed(self, error):
        space, code, retry, lost = self.engine.code(error)
        if lost:
            self.close()
        return DatabaseError(str(error), space, code, retry, lost, full=code in self.engine.FULL)
