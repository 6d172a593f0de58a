"""Private database servers for the tests, and sites on them."""

import atexit
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

from gameplan import seed
from gameplan.config import SiteConfig
from gameplan.database import Database

SIZE = seed.Size(users=20, teams=3, spaces=6, members=5, discussions=60, comments=300)
HOSTS = {"sqlite": "gp-sqlite.test", "mariadb": "gp-maria.test", "postgres": "gp-postgres.test"}


def _program(name, *patterns):
    for found in [shutil.which(name)] + [p for pattern in patterns for p in sorted(glob.glob(pattern), reverse=True)]:
        if found:
            return found
    raise FileNotFoundError(f"{name} is not installed: see scripts/install-test-deps.sh")


class Engine:
    """Something that databases can be made in. Sites of one name are equal on all engines."""

    name = "sqlite"
    session = ()

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gp-", dir="/tmp")
        self.count = 0

    def where(self, database):
        return {"database": os.path.join(self.folder, f"{database}.db")}

    def new_site(self, **settings):
        """A site with the tests' data."""
        self.count += 1
        database = f"site{self.count}"
        self.create(database)
        site = SiteConfig(**self.where(database), session=self.session, **settings)
        seed.fill(site, SIZE)
        return site

    def create(self, database):
        """A file comes with its first connection."""

    def stop(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Server(Engine):
    process = None

    def as_nobody(self, *command):
        """Servers do not run as root."""
        if os.getuid() == 0:
            return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
        return list(command)

    def __init__(self):
        super().__init__()
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data, 0o700)
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody")
            shutil.chown(self.data, "nobody")
        self.log = open(os.path.join(self.folder, "log"), "wb")
        try:
            subprocess.run(self.as_nobody(*self.make()), stdout=self.log, stderr=self.log, cwd="/", check=True)
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        self.process = subprocess.Popen(self.as_nobody(*self.run()), stdout=self.log, stderr=self.log, cwd="/")
        site = SiteConfig(**self.where(self.first))
        end = time.monotonic() + 60
        while True:
            db = Database(site)
            try:
                db.value("SELECT 1")
                return
            except Exception:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            finally:
                db.close()

    def create(self, database):
        db = Database(SiteConfig(**self.where(self.first)))
        db.execute(self.create_database.format(database))
        db.close()

    def shut_down(self):
        if self.process is not None:
            self.process.send_signal(self.end_signal)
            self.process.wait(30)
            self.process = None

    def stop(self):
        try:
            self.shut_down()
        finally:
            self.log.close()
            super().stop()


class MariaDb(Server):
    name = "mariadb"
    first = "mysql"
    end_signal = signal.SIGTERM
    create_database = "CREATE DATABASE {} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"

    def make(self):
        return [_program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.data}", "--skip-test-db",
                "--auth-root-authentication-method=normal"]

    def run(self):
        return [_program("mariadbd", "/usr/sbin/mariadbd"), "--no-defaults", f"--datadir={self.data}",
                f"--socket={self.folder}/s", f"--pid-file={self.folder}/pid", "--skip-networking",
                "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"]

    def where(self, database):
        return {"engine": "mariadb", "user": "root", "database": database, "socket": f"{self.folder}/s"}


class Postgres(Server):
    name = "postgres"
    first = "postgres"
    end_signal = signal.SIGINT
    create_database = "CREATE DATABASE {}"

    def make(self):
        return [_program("initdb", "/usr/lib/postgresql/*/bin/initdb"), "-D", self.data, "-U", "gameplan", "-A", "trust",
                "-E", "UTF8", "--locale=C", "--no-sync"]

    def run(self):
        return [_program("postgres", "/usr/lib/postgresql/*/bin/postgres"), "-D", self.data, "-k", self.folder,
                "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700", "-c", "fsync=off", "-c", "max_connections=50"]

    def where(self, database):
        return {"engine": "postgres", "user": "gameplan", "database": database, "socket": f"{self.folder}/.s.PGSQL.5432"}


RUNNING = {}


def start():
    """All engines, for all modules' tests; they end with the process."""
    if RUNNING:
        return
    atexit.register(stop)
    for kind in (Engine, MariaDb, Postgres):
        RUNNING[kind.name] = kind()


def stop():
    while RUNNING:
        RUNNING.popitem()[1].stop()
