"""The thin layer over DB-API. A module for each engine, imported only by who uses that engine.

SQL is written once, with `?` for values and double quotes around names that are words of SQL. A module says

- `connect(site)`: a connection without implicit transactions;
- `execute(connection, sql, values)`: a cursor;
- `code(error)`: (space, code, retry, lost): the engine's own code, whether the transaction should be tried again, and
  whether the connection is of no use any more;
- `FULL`: codes for a disk or a table without room;
- `FOR_UPDATE`, `next_value(table)`, `begin(site)`, `VERSION`: where engines differ.
"""

import importlib

NAMES = ("sqlite", "mariadb", "postgres")


def load(name):
    """The module of an engine."""
    if name not in NAMES:
        raise ValueError(f"there is no engine {name!r} (known: {', '.join(NAMES)})")
    return importlib.import_module(f"{__name__}.{name}")
