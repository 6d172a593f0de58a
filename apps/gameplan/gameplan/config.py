"""What an installation is: its sites, their databases, the limits of requests.

A file in TOML or JSON, or JSON on standard input as the worker for contend sends it:

    [sites."gp-sqlite.test"]
    database = "/srv/gameplan/site.db"          # on a server its name, with engine, user, socket or host
    busy_timeout_ms = 5000
    begin = "immediate"
    session = ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"]
"""

import json
import os
import sys
import tomllib
from dataclasses import dataclass, fields

BEGINS = ("deferred", "immediate", "exclusive")


class ConfigError(Exception):
    """The configuration is wrong; the message names the key."""


@dataclass(frozen=True)
class SiteConfig:
    # The path of a file, or the name of a database on a server.
    database: str
    engine: str = "sqlite"
    # Of a server: as whom and where. `socket` is the path of the Unix socket itself, a port of 0 the engine's own.
    user: str = ""
    socket: str = ""
    host: str = ""
    port: int = 0
    # Where the password is: the first line of a file, or an environment variable.
    password_file: str = ""
    password_env: str = ""
    # Executed on every new connection, in order.
    session: tuple = ()
    # Asked on every new connection of a worker: pairs of name and SQL.
    readback: tuple = ()
    busy_timeout_ms: int = 5000
    # How a transaction that writes begins on SQLite; elsewhere there is one way.
    begin: str = "immediate"

    def password(self):
        """The password, from where it is found; empty if it needs none."""
        if self.password_file:
            with open(self.password_file, encoding="utf-8") as file:
                return file.readline().rstrip("\n")
        if self.password_env and self.password_env not in os.environ:
            raise ConfigError(f"the environment has no {self.password_env}, which is to have the password")
        return os.environ[self.password_env] if self.password_env else ""


@dataclass(frozen=True)
class Config:
    sites: dict
    workers: int = 4
    listen: str = "127.0.0.1:8000"
    # A request that takes longer is ended by gunicorn, with its worker.
    timeout_s: int = 120
    graceful_timeout_s: int = 30
    body_bytes_max: int = 1 << 20
    content_chars_max: int = 64 * 1024
    session_hours: int = 24
    # As the original's framework: tries in all, and the random sleep before try k is up to 50 ms x k.
    tries: int = 5
    sleep_ms: int = 50
    # Every request must bring it in the header `contend-secret`, if there is one; others are answered with 403 and not counted.
    secret: str = ""


def load(path):
    """The configuration in a file; `-`: JSON from standard input."""
    try:
        if path == "-":
            text = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                text = file.read()
    except OSError as error:
        raise ConfigError(f"cannot read the configuration: {error}") from error
    try:
        raw = json.loads(text) if path == "-" or path.endswith(".json") else tomllib.loads(text.decode())
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error
    return parse(raw, path)


def parse(raw, where="configuration"):
    """The configuration that a table of TOML or JSON says."""
    sites = raw.pop("sites", None)
    if not isinstance(sites, dict) or not sites:
        raise ConfigError(f"{where}: at least one [sites.\"HOST\"] is needed")
    known = {host.lower(): _site(site, f"{where}: sites.{host}") for host, site in sites.items()}
    config = _build(Config, dict(raw, sites=known), where)
    if not 1 <= config.workers <= 64:
        raise ConfigError(f"{where}: workers: 1 to 64, found {config.workers}")
    return config


def _site(raw, where):
    raw = dict(raw)
    for name in ("session", "readback"):
        raw[name] = tuple(tuple(item) if isinstance(item, list) else item for item in raw.get(name, ()))
    site = _build(SiteConfig, raw, where)
    if site.begin not in BEGINS:
        raise ConfigError(f"{where}.begin: one of {', '.join(BEGINS)}, found {site.begin!r}")
    return site


def _build(kind, raw, where):
    known = {f.name: f for f in fields(kind)}
    for name, value in raw.items():
        if name not in known:
            raise ConfigError(f"{where}: unknown key {name!r} (known: {', '.join(known)})")
        expected = known[name].type
        if expected is int and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ConfigError(f"{where}: {name}: expected a whole number, found {value!r}")
        if expected is str and not isinstance(value, str):
            raise ConfigError(f"{where}: {name}: expected a text, found {value!r}")
    try:
        return kind(**raw)
    except TypeError as error:
        raise ConfigError(f"{where}: {error}") from error
