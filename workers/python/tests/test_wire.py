"""Values, texts and descriptions of statements."""

import unittest
from decimal import Decimal

from contend_worker import wire
from contend_worker.driver import Failure, plain
from contend_worker.plan import Database
from contend_worker.statement import Statement, load_of


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
        for wrong in ("", "q5"):
            with self.assertRaises(wire.FormatError, msg=wrong):
                wire.parse_value(wrong)

    def test_values_of_libraries_become_those_of_sqlite(self):
        for value, expected in ((True, 1), (Decimal("3"), 3), (Decimal("3.00"), 3.0), (memoryview(b"a"), b"a"), (1 << 63, 2.0**63)):
            found = plain(value)
            self.assertEqual((type(found), found), (type(expected), expected))
        with self.assertRaises(Failure):
            plain(object())


class Statements(unittest.TestCase):
    def test_what_is_said_of_a_statement(self):
        s = Statement("SELECT $2, $1", "rows", "7:2,11:1")
        self.assertEqual((s.params, s.returns, s.changes, s.upserts), (2, True, False, 0))
        s = Statement("REPLACE INTO t VALUES (?), (?)", "changes,upserts=2", "23,28")
        self.assertEqual((s.params, s.returns, s.changes, s.upserts), (2, False, True, 2))
        self.assertEqual(Statement("BEGIN", "-", "-").params, 0)

    def test_placeholders_of_pymysql(self):
        s = Statement("SELECT '?%é', `a?`, ? % 2 FROM t WHERE b = ?", "rows", "21,44")
        self.assertEqual(s.as_format(), "SELECT '?%%é', `a?`, %s %% 2 FROM t WHERE b = %s")
        self.assertEqual(load_of("21", "22,25", "INSERT INTO t VALUES (?, ?)").as_format(21), "(%s, %s)")


class Plans(unittest.TestCase):
    def test_what_is_cut_or_changed_is_refused(self):
        body = "contend-plan 3\nworker\t0\n"
        whole = f"{body}end\t{wire.digest(body)}\n"
        self.assertEqual(wire.opened("plan", whole), body)
        for text, words in ((whole[:-1], "cut off"), (body, "cut off"), (body + "end\n", "cut off"), (whole + "x\n", "cut off"),
                            (whole.replace("0", "1", 1), "changed")):
            with self.assertRaises(wire.FormatError, msg=text) as raised:
                wire.opened("plan", text)
            self.assertIn(words, str(raised.exception))

    def test_databases_have_their_address_in_fields(self):
        at = Database("tcp", "::1", "5433", "me", "d\\t", "-")
        self.assertEqual((at.host, at.port, at.user, at.database, at.password()), ("::1", 5433, "me", "d\t", None))
        self.assertEqual(Database("socket", "/s", "me", "", "-").socket, "/s")
        for found in ("env:CONTEND_NOT_SET", "file:/no/pw"):
            with self.assertRaises(wire.FormatError) as raised:
                Database("socket", "/s", "me", "d", found).password()
            self.assertIn(found.partition(":")[2], str(raised.exception))


if __name__ == "__main__":
    unittest.main()
