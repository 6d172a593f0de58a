"""The driver that executes nothing. What is left is the worker's own cost for each operation: arguments are looked up,
rows counted, samples recorded."""

from .. import wire
from ..driver import Connection, Driver


class Nothing(Connection):
    """A connection to nothing."""

    values_are_plain = True

    def names(self, index, statement):
        return {}

    def simple_code(self, sql):
        return []

    def simple_names(self):
        return {}

    def is_in_transaction(self):
        return False

    def simple(self, sql):
        pass

    def query(self, sql):
        return []

    def load(self, statement, rows):
        return sum(1 for _ in rows)

    def close(self):
        pass


class Null(Driver):
    executes_nothing = True
    aliases = ("null",)
    interrupted = (wire.WORKER, wire.DRIVER_ERROR)
    cut_codes = {interrupted}

    def __init__(self, name):
        self.name = name

    def hello(self):
        return {"driver": "null", "engine": "none"}

    def connect(self, database, options):
        return Nothing()

    def code_of(self, error):
        return None


def driver():
    return Null("python-null")
