"""PostgreSQL through psycopg. Statements that come again are prepared, as this library does by itself."""

import os
from functools import lru_cache

import psycopg

FOR_UPDATE = " FOR UPDATE"
VERSION = "PostgreSQL"
DRIVER = f"psycopg {psycopg.__version__}"
Error = psycopg.Error
# Serialization failure, deadlock, lock not available.
_RETRY = {"40001", "40P01", "55P03"}
# Disk full.
FULL = {"53100"}


def connect(site):
    if site.socket:
        folder, name = os.path.split(site.socket)
        where = {"host": folder, "port": name.rpartition(".")[2]}
    else:
        where = {"host": site.host, "port": site.port or 5432}
    return psycopg.connect(
        user=site.user, password=site.password() or None, dbname=site.database, autocommit=True, connect_timeout=10, **where)


@lru_cache(maxsize=512)
def _text(sql):
    if "%" in sql:
        raise ValueError(f"a percent sign in SQL: {sql}")
    return sql.replace("?", "%s")


def execute(connection, sql, values=()):
    return connection.execute(_text(sql), values) if values else connection.execute(sql)


def begin(_site):
    return "BEGIN"


def next_value(table):
    return f"SELECT nextval('{table}_sequence')", ()


def code(error):
    state = getattr(error, "sqlstate", None)
    # Of class 57 only the end of a server or session; 57014 is a statement that was given up on a sound connection.
    lost = state is None or state[:2] == "08" or state[:3] == "57P" or isinstance(error, psycopg.InterfaceError)
    return "sqlstate", state or "08006", state in _RETRY, lost


def readback(connection):
    return {}
