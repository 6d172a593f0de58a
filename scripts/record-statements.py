#!/usr/bin/env python3
"""Records the statements that Django's own tests send to SQLite, for the example `applications` of contend-sql.

    pip download --no-deps --no-binary django django && tar xzf django-*.tar.gz && pip install django-*.tar.gz
    cd django-*/tests && record-statements.py OUT basic queries lookup ...

A line of the file is `[database, "SQL", "types"]`: a letter for each value that was bound, of i(nteger), r(eal), t(ext),
b(lob) and n(ull). Only statements that SQLite carried out are in it. Nothing of Django's is kept in this repository.

The figures in docs/sql-translation.md are of these folders, and of the same with introspection and migrations:

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
"""

import json
import os
import runpy
import sqlite3
import sqlite3.dbapi2
import sys

LETTERS = {bool: "i", int: "i", float: "r", str: "t", bytes: "b", memoryview: "b", type(None): "n"}
databases = {}
out = None


def write(connection, sql, values=()):
    number = databases.setdefault(id(connection), len(databases))
    listed = values.values() if isinstance(values, dict) else values
    # What an adapter makes of another type is a text.
    types = "".join(LETTERS.get(type(value), "t") for value in listed)
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
    def execute(self, sql, *values):
        done = super().execute(sql, *values)
        write(self, sql, *values)
        return done


def main():
    global out
    if len(sys.argv) < 3:
        sys.exit("usage: record-statements.py OUT TEST..., in the directory tests of Django's sources")
    out = open(sys.argv[1], "w", encoding="utf-8")
    # Before Django derives its own cursor from it.
    sqlite3.dbapi2.Cursor = Cursor
    connect = sqlite3.dbapi2.connect
    sqlite3.dbapi2.connect = lambda *args, **settings: connect(*args, **{**settings, "factory": Connection})
    sys.argv = ["runtests.py", "--settings=test_sqlite", "--parallel=1", *sys.argv[2:]]
    sys.path.insert(0, os.getcwd())
    runpy.run_path("runtests.py", run_name="__main__")


if __name__ == "__main__":
    main()
