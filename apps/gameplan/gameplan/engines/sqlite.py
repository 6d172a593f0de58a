"""SQLite through the standard library's module."""

import os
import sqlite3
from urllib.parse import quote

FOR_UPDATE = ""
VERSION = f"SQLite {sqlite3.sqlite_version}"
DRIVER = f"sqlite3 {sqlite3.sqlite_version}"
Error = sqlite3.Error
# Busy and locked; the higher bits of an extended code say why.
_RETRY = {5, 6}
# Cannot open, not a database, disk I/O.
_LOST = {10, 14, 26}
# Database or disk is full.
FULL = {"13"}


def connect(site):
    # A file that is not there is an error, not a new database.
    path = quote(os.path.abspath(site.database))
    connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=site.busy_timeout_ms / 1000, isolation_level=None)
    try:
        # The module's own timeout cannot be read back on all versions; this says the same.
        connection.execute(f"PRAGMA busy_timeout = {site.busy_timeout_ms}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def execute(connection, sql, values=()):
    return connection.execute(sql, values)


def begin(site):
    return f"BEGIN {site.begin.upper()}"


def next_value(table):
    return "UPDATE gp_sequence SET value = value + 1 WHERE name = ? RETURNING value", (table,)


def code(error):
    number = getattr(error, "sqlite_errorcode", None) or 1
    retry = number & 255 in _RETRY
    return "sqlite", str(number), retry, number & 255 in _LOST


def readback(connection):
    """Settings that are always told."""
    return {"busy_timeout": str(connection.execute("PRAGMA busy_timeout").fetchone()[0])}
