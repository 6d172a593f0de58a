"""Addresses of databases, as contend writes them: a path, or postgres:// and mysql:// without a password in it."""

import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

ENGINES = {"postgres": "postgres", "postgresql": "postgres", "mysql": "mariadb", "mariadb": "mariadb"}


@dataclass(frozen=True)
class Address:
    user: str
    database: str
    host: str = ""
    port: int = 0
    # Path of the Unix socket itself.
    socket: str = ""
    password: str = ""


def engine_of(address):
    """The engine's name: sqlite, postgres or mariadb."""
    scheme, found, _ = address.partition("://")
    return ENGINES.get(scheme, scheme) if found else "sqlite"


def parse(address):
    """The parts of a server's address."""
    parts = urlsplit(address)
    if parts.password is not None:
        raise ValueError("an address carries no password: use ?password_file=PATH or ?password_env=NAME")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = ""
    if "password_file" in query:
        with open(query.pop("password_file"), encoding="utf-8") as file:
            password = file.readline().rstrip("\n")
    elif "password_env" in query:
        name = query.pop("password_env")
        if name not in os.environ:
            raise ValueError(f"the environment has no {name}, which the address names for the password")
        password = os.environ[name]
    socket = query.pop("socket", "")
    if query:
        raise ValueError(f"unknown part of the address: {', '.join(query)}")
    return Address(
        user=unquote(parts.username or ""),
        database=unquote(parts.path.lstrip("/")),
        host=parts.hostname or "",
        port=parts.port or 0,
        socket=socket,
        password=password,
    )
