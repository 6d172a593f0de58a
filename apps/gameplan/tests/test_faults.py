"""What goes wrong around the app: locks, killed workers, databases that are down, a tool that is gone."""

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from gameplan.database import Database

from . import engines, state
from .client import Client
from .program import PROGRAM, Program, alive, plan, sealed, wait_until


def setUpModule():
    engines.start()


# What another connection does so that a comment waits after it has written something.
BLOCKS = {
    # A reader keeps a rollback journal's commit from taking place.
    "sqlite": ("BEGIN", "SELECT count(*) FROM gp_user"),
    "mariadb": ("BEGIN", "SELECT * FROM gp_version FOR UPDATE"),
    "postgres": ("BEGIN", "LOCK TABLE gp_version IN EXCLUSIVE MODE"),
}
# Settings of the app's connections so that a lock is given up after a second, and the code that then comes.
IMPATIENT = {
    "sqlite": ([], 300, "sqlite:5"),
    "mariadb": (["SET SESSION innodb_lock_wait_timeout = 1"], 5000, "mysql:1205"),
    "postgres": (["SET lock_timeout = '300ms'"], 5000, "sqlstate:55P03"),
}


class Faults:
    engine = None

    def program(self, site, **settings):
        program = Program(plan([site], **settings))
        self.addCleanup(program.__exit__)
        self.assertIsNone(program.failed)
        client = Client(program.url, engines.HOSTS[self.engine])
        self.assertEqual(client.login().status, 200)
        return program, client

    def block(self, site):
        db = Database(site)
        self.addCleanup(db.close)
        for sql in BLOCKS[self.engine]:
            db.execute(sql)
        return db

    def site(self, **settings):
        return engines.RUNNING[self.engine].new_site(**settings)

    def test_a_worker_killed_in_mid_request(self):
        site = self.site(busy_timeout_ms=60_000)
        program, client = self.program(site, workers=1)
        before = state.counts(site)
        blocker = self.block(site)
        outcome = []

        def comment():
            try:
                outcome.append(client.comment(1, "lost").status)
            except Exception as error:
                outcome.append(type(error).__name__)

        thread = threading.Thread(target=comment)
        thread.start()
        (worker,) = program.gunicorn_workers()
        self.wait_for_the_lock(site)
        os.kill(worker, signal.SIGKILL)
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.assertIn(outcome, (["RemoteDisconnected"], ["ConnectionResetError"]))
        blocker.close()
        # Another worker takes its place; what was begun is gone.
        wait_until(lambda: program.gunicorn_workers() not in ([], [worker]), "a new worker")
        self.assertEqual(client.open(1).status, 200)
        self.assertEqual(state.counts(site), before)
        state.check(self, site)
        self.assertEqual(client.comment(1, "kept").status, 200)
        self.assertEqual(state.counts(site)["gp_comment"], before["gp_comment"] + 1)
        state.check(self, site)

    def wait_for_the_lock(self, site):
        """Until the comment waits for the one who blocks it."""
        if self.engine == "sqlite":
            journal = site.database + "-journal"
            wait_until(lambda: os.path.exists(journal), "a journal")
            return
        waiting = {
            "mariadb": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
            "postgres": "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"}[self.engine]
        db = Database(site)
        self.addCleanup(db.close)
        # MariaDB answers from a copy that is made again only if it was not queried for a tenth of a second.
        wait_until(lambda: db.value(waiting) > 0, "a wait for a lock", every=0.2)

    def test_a_lock_that_stays_is_given_up_and_one_that_goes_is_not(self):
        session, busy, code = IMPATIENT[self.engine]
        site = self.site(busy_timeout_ms=busy)
        settings = dataclasses.replace(site, session=tuple(session), busy_timeout_ms=busy)
        program, client = self.program(settings)
        before = state.counts(site)
        blocker = self.block(site)
        answer = client.comment(1, "refused")
        self.assertEqual((answer.status, answer.headers["contend-code"], answer.headers["X-Retries"]), (503, code, "4"))
        self.assertTrue(answer.json["message"])
        blocker.execute("ROLLBACK")
        self.assertEqual(state.counts(site), before)
        # Now somebody lets go in between: after the first timeout, before the fifth. On a slow machine the right moment
        # has to be found.
        held, refused, kept = 1.5 if self.engine == "mariadb" else 0.6, 1, 0
        for _ in range(8):
            answer = self.released_after(site, client, held)
            retries = int(answer.headers.get("X-Retries", 0))
            kept += answer.status == 200
            if answer.status == 200 and retries:
                break
            refused += answer.status == 503
            held *= 0.7 if answer.status == 503 else 1.6
        self.assertEqual(answer.status, 200, answer.text)
        self.assertGreaterEqual(retries, 1)
        self.assertEqual(state.counts(site)["gp_comment"], before["gp_comment"] + kept)
        done = program.done()
        self.assertEqual((done["gave_up"], done["failed"]), (refused, refused))
        self.assertGreaterEqual(done["retries"], 5)
        state.check(self, site)

    def released_after(self, site, client, seconds):
        """The answer to a comment that waits for a lock which somebody holds for so long."""
        blocker = self.block(site)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(client.comment(1, "at last")))
        thread.start()
        self.wait_for_the_lock(site)
        thread.join(seconds)
        blocker.execute("ROLLBACK")
        blocker.close()
        thread.join(60)
        return answers[0]

    def test_many_at_once_lose_nothing(self):
        site = self.site()
        program, client = self.program(site, workers=6)
        statuses = []

        def comments(number):
            for i in range(5):
                statuses.append(client.comment(1 + (number + i) % 3, f"{number} {i}").status)

        threads = [threading.Thread(target=comments, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(statuses, [200] * 40)
        self.assertEqual(state.counts(site)["gp_comment"], engines.SIZE.comments + 40)
        state.check(self, site)
        done = program.done()
        self.assertEqual((done["requests"], done["failed"]), (41, 0))
        self.assertLessEqual(done["connections_opened"], 6)


class SqliteFaults(Faults, unittest.TestCase):
    engine = "sqlite"

    def test_a_worker_that_takes_the_place_of_another_reads_back_the_same(self):
        for mode in ("delete", "wal"):
            site = self.site(readback=(("journal_mode", "PRAGMA journal_mode"),))
            program, client = self.program(site, workers=1)
            db = Database(site)
            db.execute(f"PRAGMA journal_mode = {mode}")
            db.close()
            (worker,) = program.gunicorn_workers()
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: program.gunicorn_workers() not in ([], [worker]), "a new worker")
            self.assertEqual(client.feed(limit=1).status, 200)
            differs = program.done().get("settings_differ")
            self.assertEqual(differs is None, mode == "delete", differs)
            self.assertIn("journal_mode is wal", differs or "journal_mode is wal")

    def test_a_disk_that_is_full(self):
        """A file system of its own fills up, once by a journal and once by a log; then somebody makes room."""
        for mode in ("delete", "wal"):
            with self.subTest(mode=mode), self.small_disk() as folder:
                site = self.site()
                path = shutil.copy(site.database, folder)
                site = engines.SiteConfig(path, session=(f"PRAGMA journal_mode = {mode}", "PRAGMA wal_autocheckpoint = 100000"))
                program, client = self.program(site, workers=2)
                before = state.counts(site)["gp_comment"]
                filler = os.path.join(folder, "filler")
                with open(filler, "wb") as file, contextlib.suppress(OSError):
                    # A few comments still find room.
                    file.write(b"x" * (shutil.disk_usage(folder).free - (96 << 10)))
                answers = [client.comment(1 + i % 3, "x" * 2000) for i in range(40)]
                kept = sum(answer.status == 200 for answer in answers)
                refused = [answer for answer in answers if answer.status != 200]
                self.assertTrue(refused, "the disk never was full")
                for answer in refused:
                    self.assertEqual((answer.status, answer.headers["contend-code"]), (507, "sqlite:13"), answer.text)
                    self.assertEqual(answer.json["errors"][0]["type"], "DiskFull")
                self.assertEqual(client.open(1).status, 200, "reading goes on")
                os.remove(filler)
                self.assertEqual(client.comment(1, "there is room again").status, 200)
                self.assertEqual(state.counts(site)["gp_comment"], before + kept + 1)
                state.check(self, site)
                self.assertEqual(program.done()["failed"], len(refused))

    @contextlib.contextmanager
    def small_disk(self):
        folder = tempfile.mkdtemp(prefix="gp-full-")
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
        try:
            if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
                self.skipTest("this user may mount nothing")
            try:
                yield folder
            finally:
                # Processes that still have a file open there end now, and the file system with the last of them.
                self.doCleanups()
                subprocess.run(["umount", "--lazy", folder], check=True)
        finally:
            os.rmdir(folder)

    def test_a_database_without_room_for_another_page(self):
        site = self.site()
        db = Database(site)
        pages = db.value("PRAGMA page_count")
        db.close()
        site = engines.SiteConfig(site.database, session=(f"PRAGMA max_page_count = {pages + 4}",))
        program, client = self.program(site)
        before = state.counts(site)["gp_comment"]
        statuses = [client.comment(1, "x" * 4000).status for _ in range(20)]
        self.assertEqual(set(statuses), {200, 507}, statuses)
        self.assertEqual(client.feed(limit=1).status, 200)
        self.assertEqual(state.counts(site)["gp_comment"], before + statuses.count(200))
        state.check(self, site)
        program.done()

    def test_no_database(self):
        program = Program(plan([engines.SiteConfig("/nowhere/at/all.db")]))
        self.assertIn("no connection", program.failed)
        program.close()

    def test_a_damaged_database(self):
        site = self.site()
        program, client = self.program(site)
        with open(site.database, "r+b") as file:
            file.write(b"x" * 8192)
        answer = client.feed()
        self.assertIn(answer.status, (500, 503))
        self.assertRegex(answer.headers["contend-code"], r"^sqlite:(11|26)$")
        self.assertTrue(answer.json["message"])
        program.done()


class OfServers(Faults):
    def test_a_database_that_is_down(self):
        server = engines.RUNNING[self.engine]
        site = self.site()
        program, client = self.program(site)
        server.shut_down()
        try:
            for answer in (client.feed(), client.comment(1, "text"), client.login()):
                self.assertEqual(answer.status, 503, answer.text)
                self.assertTrue(answer.json["message"])
                self.assertIn("contend-code", answer.headers)
        finally:
            server.start()
        # Every worker opens its connection again.
        for _ in range(8):
            self.assertEqual(client.feed(limit=1).status, 200)
        self.assertEqual(client.comment(1, "text").status, 200)
        state.check(self, site)
        self.assertEqual(program.done()["failed"], 3)


class MariaDbFaults(OfServers, unittest.TestCase):
    engine = "mariadb"


class PostgresFaults(OfServers, unittest.TestCase):
    engine = "postgres"

    def test_a_statement_given_up_leaves_its_connection_alone(self):
        site = self.site()
        site = dataclasses.replace(site, session=("SET statement_timeout = '2s'",))
        program, client = self.program(site, workers=1)
        blocker = self.block(site)
        answer = client.comment(1, "refused")
        self.assertEqual((answer.status, answer.headers["contend-code"]), (500, "sqlstate:57014"))
        self.assertNotIn("X-Retries", answer.headers)
        blocker.execute("ROLLBACK")
        self.assertEqual(client.comment(1, "taken").status, 200)
        done = program.done()
        self.assertEqual((done["connections_opened"], done["retries"]), (1, 0))
        state.check(self, site)

    def test_a_connection_opened_anew_in_a_worker_is_read_back(self):
        site = self.site(readback=(("synchronous_commit", "SHOW synchronous_commit"),))
        program, client = self.program(site, workers=1)
        db = Database(site)
        self.addCleanup(db.close)
        name = db.value("SELECT current_database()")
        db.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        self.assertEqual(client.feed(limit=1).status, 200)
        done = program.done()
        self.assertEqual(done["connections_opened"], 2)
        self.assertIn("synchronous_commit is off on a connection opened later, on on the first", done["settings_differ"])


class AsAWorker(unittest.TestCase):
    def test_requests_of_others_are_refused_and_not_counted(self):
        site = engines.RUNNING["sqlite"].new_site()
        with Program(plan([site], more="option\tsecret\tgeheim")) as program:
            client = Client(program.url, "gp-sqlite.test")
            for wrong in ({}, {"contend-secret": ""}, {"contend-secret": "geheim2"}, {"contend-secret": "GEHEIM"}):
                client.headers = wrong
                self.assertEqual([client.login().status, client.feed().status], [403, 403])
            client.headers = {"contend-secret": "geheim"}
            self.assertEqual([client.login().status, client.feed().status], [200, 200])
            done = program.done()
            self.assertEqual((done["requests"], done["failed"]), (2, 0))

    def test_the_conversation(self):
        site = engines.RUNNING["sqlite"].new_site(
            busy_timeout_ms=1234, readback=(("journal_mode", "PRAGMA journal_mode"),))
        site = engines.SiteConfig(site.database, session=("PRAGMA journal_mode = WAL",), readback=site.readback, busy_timeout_ms=1234)
        with Program(plan([site], workers=3)) as program:
            self.assertEqual(program.hello["protocol"], "1")
            self.assertEqual([said["client"] for said in program.sessions], ["0", "1", "2"])
            for said in program.sessions:
                self.assertEqual((said["journal_mode"], said["busy_timeout"]), ("wal", "1234"))
                self.assertEqual((said["gunicorn_workers"], said["host"]), ("3", "gp-sqlite.test"))
            program.tell("clock\n")
            self.assertTrue(program.line().startswith("clock\t"))
            processes = program.tree()
            self.assertEqual(len(processes), 5)
            client = Client(program.url, "gp-sqlite.test")
            self.assertEqual(client.login().status, 200)
            self.assertEqual(client.login("x", "y").status, 401)
            self.assertEqual({k: v for k, v in program.done().items() if v}, {
                "requests": 2, "failed": 1, "connections_opened": 3})
            with self.assertRaises(ConnectionRefusedError):
                client.login()
            program.tell("quit\n")
            self.assertEqual(program.close(), 0)
            self.assertEqual(alive(processes), [])

    def test_several_sites(self):
        sites = [engines.RUNNING["sqlite"].new_site() for _ in range(3)]
        with Program(plan(sites, host="many.test", workers=1)) as program:
            self.assertEqual(len(program.sessions), 3)
            for host in ("many.test", "1.many.test", "2.many.test"):
                client = Client(program.url, host)
                self.assertEqual(client.login().status, 200)
                self.assertEqual(client.comment(1, "text").status, 200)
            # A session is of one site.
            client.host = "many.test"
            self.assertEqual(client.feed().status, 401)
            program.done()
        self.assertEqual({state.counts(site)["gp_comment"] for site in sites}, {engines.SIZE.comments + 1})

    def test_only_the_engine_s_own_driver_is_loaded(self):
        marks = {"sqlite": "_sqlite3", "postgres": "psycopg_binary"}
        for engine in engines.HOSTS:
            site = engines.RUNNING[engine].new_site()
            with Program(plan([site], workers=1)) as program:
                (worker,) = program.gunicorn_workers()
                with open(f"/proc/{worker}/maps", encoding="utf-8") as file:
                    maps = file.read()
                for name, mark in marks.items():
                    self.assertEqual(mark in maps, name == engine, f"{mark} in a worker of {engine}")
                program.done()

    def test_the_end_of_the_input_ends_everything(self):
        site = engines.RUNNING["sqlite"].new_site()
        program = Program(plan([site]))
        processes = program.tree()
        program.close()
        wait_until(lambda: not alive(processes), "the end of all processes")

    def test_a_killed_program_leaves_nothing(self):
        site = engines.RUNNING["sqlite"].new_site()
        program = Program(plan([site]))
        processes = program.tree()
        program.process.kill()
        wait_until(lambda: not alive(processes), "the end of all processes")
        program.close()

    def test_plans_that_are_refused(self):
        site = engines.RUNNING["sqlite"].new_site()
        good = plan([site])
        body = good[:good.rindex("end\t")]
        for text, words in {
            good.replace("contend-plan 3", "contend-plan 4"): "contend-plan 4",
            sealed(body.replace("option\tgunicorn_workers\t2", "option\tgunicorn_workers\t0")): "gunicorn_workers",
            sealed(body.replace("statements", "buzy")): "buzy",
            sealed(body.replace("clients\t0", "clients\t1")): "clients",
            body: "end",
            good.replace("statements", "buzy"): "changed",
            plan([site], more="session\t-\tSELEC"): "SELEC",
        }.items():
            program = Program(text)
            self.assertIn(words, program.failed or "")
            self.assertEqual(program.close(), 1)

    def test_it_only_serves(self):
        self.assertEqual(os.spawnv(os.P_WAIT, PROGRAM, [PROGRAM, "run"]), 2)
