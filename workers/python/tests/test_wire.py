"""Values, texts and what is learnt of statements."""

import unittest
from decimal import Decimal
from pathlib import Path

from contend_worker import wire
from contend_worker.driver import Failure, plain
from contend_worker.drivers.address import Address
from contend_worker.sqltext import Statement, as_format


class Values(unittest.TestCase):
    def test_texts_come_back(self):
        for text in ("", "plain", "a\\b", "\\", "\\\\n", "tab\there\nline\r\0end", "\\t"):
            self.assertEqual(wire.unescape(wire.escape(text)), text)
        for broken in ("a\\", "\\q", "\\\\\\"):
            with self.assertRaises(wire.FormatError):
                wire.unescape(broken)

    def test_values_come_back(self):
        for field in ("n", "i-9223372036854775808", "r0.25", "r-0.0", "ta\\tb", "t", "x", "x00ff"):
            self.assertEqual(wire.value_text(wire.parse_value(field)), field)
        for wrong in ("", "i9223372036854775808", "i1_0", "rNaN", "rinf", "xabc", "x 00", "q5", "n1", "i٣"):
            with self.assertRaises(wire.FormatError, msg=wrong):
                wire.parse_value(wrong)

    def test_values_of_libraries_become_those_of_sqlite(self):
        for value, expected in ((True, 1), (Decimal("3"), 3), (Decimal("3.00"), 3.0), (memoryview(b"a"), b"a"), (1 << 63, 2.0**63)):
            found = plain(value)
            self.assertEqual((type(found), found), (type(expected), expected))
        with self.assertRaises(Failure):
            plain(object())


class Statements(unittest.TestCase):
    def test_what_a_statement_is(self):
        table = (Path(__file__).parents[3] / "conformance/statements.tsv").read_text().splitlines()
        rows = [line.split("\t") for line in table if not line.startswith("#")]
        self.assertGreater(len(rows), 10)
        for dialect, *expected, sql in rows:
            for brackets in {"any": (True, False), "sqlite": (True,), "server": (False,)}[dialect]:
                s = Statement(wire.unescape(sql), brackets)
                self.assertEqual([s.params, s.returns, s.changes, s.upserts], list(map(int, expected)), sql)

    def test_placeholders_of_pymysql(self):
        self.assertEqual(as_format("INSERT INTO t VALUES ('C:\\', ?)"), "INSERT INTO t VALUES ('C:\\', %s)")
        self.assertEqual(as_format("SELECT '?%', `a?`, ? % 2 FROM t"), "SELECT '?%%', `a?`, %s %% 2 FROM t")


class Addresses(unittest.TestCase):
    def test_what_an_address_is(self):
        """The table is that of all workers that read addresses."""
        table = (Path(__file__).parents[3] / "conformance/addresses.tsv").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in table if not line.startswith("#")]
        self.assertGreater(len(rows), 20)
        for text, *expected in rows:
            if expected[0] == "refused":
                with self.assertRaises(wire.FormatError, msg=text) as raised:
                    Address(text, "mysql", 3306)
                self.assertIn(expected[1], str(raised.exception), text)
                self.assertNotIn("geheim", str(raised.exception), text)
                continue
            a = Address(text, "mysql", 3306)
            place = ["", "", a.socket] if a.socket is not None else [a.host, str(a.port), ""]
            self.assertEqual([a.user, *place, a.database], expected, text)


if __name__ == "__main__":
    unittest.main()
