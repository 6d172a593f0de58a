"""gunicorn with sync workers around the app, started fresh for each configuration."""

import contextlib
import json
import os

from gunicorn.app.base import BaseApplication

from . import engines
from .counters import Counters
from .web import App


class Server(BaseApplication):
    """`bind` as gunicorn takes it, `fd://3` included. Reports go to `report`, a function of a dictionary."""

    def __init__(self, config, bind=None, report=None):
        self._config, self._bind, self._report = config, bind or config.listen, report
        self._counters = Counters()
        # Before there are workers, so that they need not each do it; connections are each worker's own.
        for site in config.sites.values():
            engines.load(site.engine)
        super().__init__()

    def load_config(self):
        settings = {
            "bind": self._bind, "workers": self._config.workers, "worker_class": "sync",
            "timeout": self._config.timeout_s, "graceful_timeout": self._config.graceful_timeout_s,
            "loglevel": "warning", "proc_name": "gameplan", "backlog": 2048,
            "post_fork": self._post_fork, "post_worker_init": self._worker_ready,
            "worker_exit": self._worker_exit, "on_exit": self._on_exit,
        }
        # Its workers' signs of life are files; in memory they cost the disk nothing.
        if os.path.isdir("/dev/shm"):
            settings["worker_tmp_dir"] = "/dev/shm"
        # Newer versions open a socket for control, which is not needed here.
        if "control_socket_disable" in self.cfg.settings:
            settings["control_socket_disable"] = True
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self):
        # In each worker, so that nothing of one worker's is another's.
        self._app = App(self._config, self._counters)
        return self._app

    def _post_fork(self, _server, worker):
        self._counters.take_slot(worker.age)

    def _worker_ready(self, worker):
        if self._report is None:
            return
        try:
            sites = {host: db.read_back() for host, db in self._app.databases.items()}
            self._counters.add("connections_opened", sum(db.opened for db in self._app.databases.values()))
            self._report({"worker": worker.age, "sites": sites})
        except Exception as error:
            self._report({"worker": worker.age, "error": str(error)})

    def _worker_exit(self, _server, worker):
        """Connections that were opened again while requests were served, read after the measurement."""
        app = getattr(self, "_app", None)
        if self._report is None or app is None:
            return
        sites = {}
        for host, db in app.databases.items():
            # One that is of no use now has nothing to tell.
            with contextlib.suppress(Exception):
                if db.is_unread():
                    sites[host] = db.read_back()
        if sites:
            self._report({"worker": worker.age, "sites": sites})

    def _on_exit(self, _server):
        if self._report is not None:
            self._report({"done": self._counters.totals()})


def reporter(descriptor):
    """Writes reports as lines of JSON, whole ones: a pipe takes 4 KiB at once."""
    def report(facts):
        line = (json.dumps(facts) + "\n").encode()
        while line:
            line = line[os.write(descriptor, line):]
    return report
