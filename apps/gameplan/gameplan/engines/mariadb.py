"""MariaDB through PyMySQL. Values are written into the text, as this library does."""

from functools import lru_cache

import pymysql
from pymysql.constants import CLIENT

FOR_UPDATE = " FOR UPDATE"
VERSION = "MariaDB"
DRIVER = f"PyMySQL {pymysql.__version__}"
Error = pymysql.err.Error
# Lock wait timeout, deadlock, record changed since it was read (innodb_snapshot_isolation).
_RETRY = {1205, 1213, 1020}
_LOST = {0, 2006, 2013, 2014, 2055, 1053, 1927}
# Disk full, table full.
FULL = {"1021", "1114"}
_NO_CONNECTION = {2002, 2003, 1040, 1203, 1226}


def connect(site):
    where = {"unix_socket": site.socket} if site.socket else {"host": site.host, "port": site.port or 3306}
    connection = pymysql.connect(
        user=site.user, password=site.password(), database=site.database, charset="utf8mb4", autocommit=True,
        connect_timeout=10, client_flag=CLIENT.FOUND_ROWS, **where)
    try:
        # Double quotes are for names, as the SQL here writes them.
        execute(connection, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
    except Error:
        connection.close()
        raise
    return connection


@lru_cache(maxsize=512)
def _text(sql):
    if "%" in sql:
        raise ValueError(f"a percent sign in SQL: {sql}")
    return sql.replace("?", "%s")


def execute(connection, sql, values=()):
    cursor = connection.cursor()
    cursor.execute(_text(sql) if values else sql, values or None)
    return cursor


def begin(_site):
    return "START TRANSACTION"


def next_value(table):
    return f"SELECT NEXT VALUE FOR {table}_sequence", ()


def code(error):
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    lost = number in _LOST or number in _NO_CONNECTION or isinstance(error, pymysql.err.InterfaceError)
    return "mysql", str(number), number in _RETRY, lost


def readback(connection):
    return {}
