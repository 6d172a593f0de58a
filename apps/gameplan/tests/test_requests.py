"""The interface, on every engine: what it answers, and what bad input gets."""

import re
import time
import unittest

from . import engines, state
from .client import FEED, Client
from .program import Program, plan


def setUpModule():
    engines.start()


class OnEngine:
    """The tests of one engine; a site and a program for all of them."""

    engine = None

    @classmethod
    def setUpClass(cls):
        cls.site = engines.RUNNING[cls.engine].new_site()
        cls.host = engines.HOSTS[cls.engine]
        cls.program = Program(plan([cls.site]))
        cls.addClassCleanup(cls.program.__exit__)
        assert cls.program.failed is None, cls.program.failed
        cls.user = Client(cls.program.url, cls.host)
        assert cls.user.login().status == 200

    def setUp(self):
        self.before = state.counts(self.site)

    def tearDown(self):
        state.check(self, self.site)

    def refused(self, answer, status):
        """An error in JSON, and nothing written."""
        self.assertEqual(answer.status, status, answer.text)
        self.assertTrue(answer.json["message"] and answer.json["errors"][0]["message"])
        self.assertEqual(state.counts(self.site), self.before)

    def first(self):
        return self.user.feed(limit=1).json["data"][0]["name"]

    def test_a_client_of_the_original(self):
        client = Client(self.program.url, self.host)
        answer = client.login()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["message"], "Logged In")
        self.assertIn("HttpOnly", answer.headers["Set-Cookie"])
        feed = client.feed()
        self.assertEqual(feed.status, 200)
        rows = feed.json["data"]
        self.assertEqual(len(rows), engines.SIZE.discussions)
        self.assertEqual(rows, sorted(rows, key=lambda row: (row["last_post_at"], row["name"]), reverse=True))
        name = rows[3]["name"]
        opened = client.open(name).json["data"]
        self.assertEqual((opened["name"], opened["title"]), (name, rows[3]["title"]))
        unread = rows[3]["unread"]
        answer = client.comment(name, "Vive l'été: 'quotes', \"more\", \\, ?, %s and 漢字 😀")
        self.assertEqual(answer.status, 200, answer.text)
        comment = answer.json["data"]
        self.assertEqual(comment["content"], "Vive l'été: 'quotes', \"more\", \\, ?, %s and 漢字 😀")
        self.assertEqual(comment["reference_name"], name)
        newest = client.feed(limit=1).json["data"][0]
        self.assertEqual((newest["name"], newest["last_post"]), (name, comment["name"]))
        self.assertEqual(newest["comments_count"], rows[3]["comments_count"] + 1)
        self.assertEqual(newest["last_post_content"], comment["content"])
        self.assertGreater(unread, 0)
        self.assertEqual(newest["unread"], 0)
        after = state.counts(self.site)
        grown = {table: after[table] - self.before[table] for table in after if after[table] != self.before[table]}
        members = engines.SIZE.members
        self.assertEqual(grown, {"gp_comment": 1, "gp_version": 1, "gp_unread_record": members, "gp_discussion_visit": 1})
        # The name may be written as a text, too.
        self.assertEqual(client.comment(str(name), "again").status, 200)
        self.assertEqual(client.open(name).json["data"]["last_visit"][:4], time.strftime("%Y"))

    def test_wrong_logins(self):
        for user, password in [("Administrator", "wrong"), ("nobody", "admin"), ("Guest", ""), ("Guest", "admin"),
                               ("", ""), ("user1@example.com", "admin"), ("Administrator", "x" * 5000),
                               ("' OR 1=1 --", "admin"), ("a\0b", "admin")]:
            client = Client(self.program.url, self.host)
            self.refused(client.login(user, password), 401)
            self.assertIsNone(client.sid)
        self.refused(self.user.ask("POST", "/api/method/login"), 401)
        self.refused(self.user.ask("GET", "/api/method/login"), 405)

    def test_missing_and_forged_cookies(self):
        for cookie in ["", "0" * 64, "x", "' OR '1'='1", "é".encode().decode("latin-1"), "y" * 4000]:
            client = Client(self.program.url, self.host)
            client.sid = cookie
            self.refused(client.feed(), 401)
            self.refused(client.open(1), 401)
            self.refused(client.comment(1, "text"), 401)

    def test_a_session_that_is_over(self):
        client = Client(self.program.url, self.host)
        client.login()
        self.assertEqual(client.feed(limit=1).status, 200)
        state.execute(self.site, "UPDATE gp_session SET expires_at = ?", (int(time.time()) - 1,))
        self.refused(client.feed(limit=1), 401)
        self.assertEqual(self.user.login().status, 200)

    def test_unknown_sites_and_paths(self):
        for host in ["nowhere.test", "", "127.0.0.1", self.host + ".evil"]:
            client = Client(self.program.url, host)
            self.refused(client.login(), 404)
        self.refused(self.user.ask("GET", "/"), 404)
        self.refused(self.user.ask("GET", "/api/v2/document/GP%20Comment"), 405)
        self.refused(self.user.ask("GET", "/api/v2/document/GP%20User/Administrator"), 404)
        # A port in the Host header names the same site.
        client = Client(self.program.url, f"{self.host.upper()}:8000")
        self.assertEqual(client.login().status, 200)

    def test_unknown_discussions(self):
        for name in [0, 61, 9223372036854775807, 9223372036854775808, 10**30, "abc", "1 OR 1=1", "-1", "1.5", "١"]:
            self.refused(self.user.open(name), 404)
            self.refused(self.user.comment(name, "text"), 404)

    def test_bad_comments(self):
        name = self.first()
        for content in ["", " \n\t", None, 7, ["a"], "a\0b", "\ud800"]:
            self.refused(self.user.comment(name, content), 400)
        self.refused(self.user.comment(name, "x" * 65537), 413)
        self.refused(self.user.comment(name, "x" * 2_000_000), 413)
        for wrong in [None, "", True, 1.5, [], {}]:
            self.refused(self.user.comment(wrong, "text"), 400)
        self.refused(self.user.comment(name, "text", doctype="GP Project"), 400)
        for body in ["", "{", "[]", "null", '"x"', "{'a': 1}", '{"content": "x"', "[" * 100_000, b"\xff\xfe",
                     '{"reference_name": ' + "9" * 10_000 + "}"]:
            self.refused(self.user.send_comment(body), 400)
        # Larger than what sockets buffer, with its length and without.
        self.refused(self.user.send_comment(b" " * 12_000_000), 413)
        self.refused(self.user.send_comment(iter([b" " * 100_000] * 40)), 413)
        self.refused(self.user.send_comment("content=x", "application/x-www-form-urlencoded"), 415)
        self.assertEqual(self.user.comment(name, "x" * 65536).status, 200)
        pieces = [b'{"reference_doctype": "GP Discussion", "content": "in pieces", ', b'"reference_name": %d}' % name]
        self.assertEqual(self.user.send_comment(iter(pieces)).status, 200)

    def test_bad_parameters_of_the_feed(self):
        for limit in ["0", "-1", "1001", "x", "1;DROP TABLE gp_user", ""]:
            self.refused(self.user.feed(limit=limit), 400)
        for order in ["name", "last_post_at desc; DROP TABLE gp_user", "(SELECT password FROM gp_user)", ""]:
            self.refused(self.user.feed(order=order), 400)
        self.assertEqual(len(self.user.feed(limit=7).json["data"]), 7)
        self.assertEqual(len(self.user.ask("GET", FEED).json["data"]), 20)

    def test_what_is_private_stays_private(self):
        row = self.user.feed(limit=1).json["data"][0]
        state.execute(self.site, "UPDATE gp_project SET is_private = 1 WHERE name = ?", (row["project"],))
        try:
            self.refused(self.user.open(row["name"]), 404)
            self.refused(self.user.comment(row["name"], "text"), 404)
            self.assertNotIn(row["project"], {found["project"] for found in self.user.feed().json["data"]})
        finally:
            state.execute(self.site, "UPDATE gp_project SET is_private = 0 WHERE name = ?", (row["project"],))

    def test_children_survive_a_save(self):
        name = self.first()
        sql = ('INSERT INTO gp_reaction (name, creation, modified, modified_by, owner, docstatus, idx, parent, parentfield,'
               ' parenttype, emoji, "user") VALUES (?, ?, ?, ?, ?, 0, 1, ?, ?, ?, ?, ?)')
        at = "2024-01-01 00:00:00"
        state.execute(self.site, sql, (name, at, at, "Guest", "Guest", name, "reactions", "GP Discussion", "+1", "Guest"))
        before = self.user.open(name).json["data"]["reactions"]
        self.assertEqual(len(before), 1)
        self.assertEqual(self.user.comment(name, "text").status, 200)
        self.assertEqual(self.user.open(name).json["data"]["reactions"], before)


class OnSqlite(OnEngine, unittest.TestCase):
    engine = "sqlite"


class OnMariaDb(OnEngine, unittest.TestCase):
    engine = "mariadb"


class OnPostgres(OnEngine, unittest.TestCase):
    engine = "postgres"


class TheSameEverywhere(unittest.TestCase):
    maxDiff = 2000

    def test_equal_answers_for_the_same_requests(self):
        answers = {name: self.answers(name) for name in engines.HOSTS}
        self.assertGreater(len(answers["sqlite"]), 60)
        for name in ("mariadb", "postgres"):
            for number, (one, other) in enumerate(zip(answers["sqlite"], answers[name], strict=True)):
                self.assertEqual(one, other, f"answer {number} of {name}")

    def answers(self, engine):
        site = engines.RUNNING[engine].new_site()
        found = []
        with Program(plan([site], host="same.test")) as program:
            client = Client(program.url, "same.test")
            found.append(client.login().json)
            found.append(client.feed().json)
            for number in range(1, engines.SIZE.discussions + 1, 2):
                found.append(client.open(number).json)
            for number in range(20):
                found.append(client.comment(number * 7 % 9 + 1, f"comment {number}").json)
                found.append(client.feed(limit=3, order="creation asc").json)
                found.append(client.open(number * 7 % 9 + 1).json)
            found += [client.comment(0, "x").json, client.comment(1, "").json, client.feed(limit=0).json]
            found.append(client.feed().json)
            done = program.done()
            self.assertEqual((done["requests"], done["retries"]), (len(found), 0))
        found.append(state.counts(site))
        # Only times differ.
        return [re.sub(r"20(?!2[34])\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", "TIME", repr(answer)) for answer in found]
