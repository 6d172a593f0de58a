#!/usr/bin/env python3
"""Records what a Python program sends to SQLite, for the example `applications` of contend-sql.

    record-statements.py OUT PROGRAM ARGUMENT...
    record-statements.py OUT -m MODULE ARGUMENT...

A line of the file is `[database, "SQL", "types"]`: a letter for each value that was bound, of i(nteger), r(eal), t(ext),
b(lob) and n(ull). Only statements that SQLite carried out are in it, a text once for each database; those that change the
schema or end a transaction each time. Nothing of the programs is kept in this repository.

The figures in docs/sql-translation.md are of these:

Django, in the directory `tests` of its sources:

    record-statements.py OUT runtests.py --settings=test_sqlite --parallel=1 FOLDER...

    aggregation aggregation_regress annotations basic bulk_create constraints custom_columns custom_lookups
    custom_managers dates datetimes db_functions defer defer_regress delete delete_regress distinct_on_fields empty
    expressions expressions_case expressions_window extra_regress field_defaults filtered_relation fixtures
    force_insert_update foreign_object from_db_value generic_relations get_object_or_404 get_or_create indexes
    known_related_objects lookup m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_signals
    m2m_through m2m_through_regress many_to_many many_to_one many_to_one_null model_fields model_inheritance
    model_inheritance_regress model_indexes model_options model_regress nested_foreign_keys null_fk null_fk_ordering
    null_queries one_to_one or_lookups order_with_respect_to ordering prefetch_related properties proxy_models
    queries queryset_pickle raw_query reserved_names reverse_lookup save_delete_hooks schema select_for_update
    select_related select_related_onetoone select_related_regress string_lookup timezones transactions
    unmanaged_models update update_only_fields xor_lookups

Home Assistant, in its sources: `record-statements.py OUT -m pytest tests/components/recorder ...`
"""

import json
import os
import runpy
import sqlite3
import sqlite3.dbapi2
import sys
import threading

LETTERS = {bool: "i", int: "i", float: "r", str: "t", bytes: "b", memoryview: "b", type(None): "n"}
AGAIN = {"ALTER", "BEGIN", "COMMIT", "CREATE", "DROP", "END", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT"}
lock = threading.Lock()
databases = {}
seen = set()
out = None


def write(connection, sql, values=()):
    listed = values.values() if isinstance(values, dict) else values
    # What an adapter makes of another type is a text.
    types = "".join(LETTERS.get(type(value), "t") for value in listed)
    word = sql.lstrip().split(" ", 1)[0].rstrip(";").upper()
    with lock:
        number = databases.setdefault(connection.database, len(databases))
        if word in AGAIN or (number, sql) not in seen:
            seen.add((number, sql))
            out.write(json.dumps([number, sql, types]) + "\n")


class Cursor(sqlite3.Cursor):
    def execute(self, sql, values=()):
        done = super().execute(sql, values)
        write(self.connection, sql, values)
        return done

    def executemany(self, sql, rows):
        rows = list(rows)
        done = super().executemany(sql, rows)
        write(self.connection, sql, rows[0] if rows else ())
        return done


class Connection(sqlite3.Connection):
    def __init__(self, database, *arguments, **settings):
        super().__init__(database, *arguments, **settings)
        # A database in memory that no other connection sees is known by its connection.
        self.database = self if str(database) in ("", ":memory:") else os.fspath(database)

    def cursor(self, factory=Cursor):
        return super().cursor(factory)

    def execute(self, sql, *values):
        done = super().execute(sql, *values)
        write(self, sql, *values)
        return done


def main():
    global out
    if len(sys.argv) < 3:
        sys.exit("usage: record-statements.py OUT PROGRAM ARGUMENT..., or OUT -m MODULE ARGUMENT...")
    out = open(sys.argv[1], "w", encoding="utf-8")
    # Before the program derives its own cursor from it.
    sqlite3.Cursor = sqlite3.dbapi2.Cursor = Cursor
    connect = sqlite3.connect
    sqlite3.connect = sqlite3.dbapi2.connect = lambda *args, **more: connect(*args, **{**more, "factory": Connection})
    sys.path.insert(0, os.getcwd())
    if sys.argv[2] == "-m":
        sys.argv = sys.argv[3:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = sys.argv[2:]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
