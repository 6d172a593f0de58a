"""The app's tables are those of the workload that does the same without it."""

import os
import re
import tomllib
import unittest

from gameplan import schema

WORKLOAD = os.path.join(os.path.dirname(__file__), "../../../workloads/gameplan.toml")


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(WORKLOAD, "rb") as file:
            cls.workload = tomllib.load(file)

    def test_tables_and_columns(self):
        self.assertEqual(set(self.workload["table"]), set(schema.TABLES))
        for name, table in self.workload["table"].items():
            body = table["ddl"].partition("(")[2]
            lines = [line.strip().rstrip(",") for line in body.split("\n")]
            found = []
            for line in lines:
                match = re.fullmatch(r'"?(\w+)"? (INTEGER|TEXT)( NOT NULL)?( PRIMARY KEY)?', line)
                if match:
                    column, kind, not_null, key = match.groups()
                    found.append((column, kind, bool(not_null or key)))
            own = [(column, "INTEGER" if kind in ("key", "int") else "TEXT", not nullable)
                   for column, kind, nullable in schema.columns(name)]
            self.assertEqual(found, own, name)

    def test_indexes(self):
        found = {sql for table in self.workload["table"].values() for sql in table.get("indexes", ())}
        self.assertEqual(found, set(schema.index_statements()))

    def test_sequences(self):
        text = repr(self.workload["after_load"])
        for table in schema.SEQUENCES:
            self.assertIn(f"CREATE SEQUENCE {table}_sequence START WITH {schema.SEQUENCE_BASE + 1}", text)
