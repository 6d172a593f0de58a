"""The drivers, each in a module of its own, so that a worker loads one library and no other."""

import importlib
import sys

MODULES = {
    "python-sqlite3": "stdlib_sqlite",
    "apsw": "apsw_sqlite",
    "psycopg": "psycopg_postgres",
    "pymysql": "pymysql_mariadb",
    "python-null": "null",
}


def load(name):
    """The driver of this name; the first of the list. `null` means the driver that does nothing in every worker."""
    if name not in MODULES:
        sys.exit(f"contend worker: `{name}` is no driver of this worker; it has {', '.join(MODULES)}")
    try:
        module = importlib.import_module(f"{__name__}.{MODULES[name]}")
    except ImportError as e:
        sys.exit(f"contend worker: {name}: {e}; `make workers-python` in the project's directory installs it")
    from . import null

    own = [null.Null("null")] if name == "python-null" else []
    return [module.driver(), *own]
