"""Addresses of servers: docs/formats.md, Address of a server. They carry no password, only where one is found."""

import os
import re
from urllib.parse import unquote

from ..wire import FormatError, number

_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")
_PLACE = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::([0-9]+))?")


class Address:
    """Where a server is, and as whom to connect; `socket` is the path of the socket itself, or None."""

    def __init__(self, text, scheme, port):
        if not text.startswith(scheme + "://"):
            raise FormatError(f"the address of this driver's server begins with {scheme}://")
        rest, _, query = text[len(scheme) + 3:].partition("?")
        place, _, database = rest.partition("/")
        user, at, host = place.rpartition("@")
        if not at or not user:
            raise FormatError("the address of a server names the user: SCHEME://USER@HOST:PORT/DATABASE")
        if ":" in user:
            raise FormatError("the address of a server must not carry a password; password_file or password_env say where it is")
        self.user, self.database = decode(user), decode(database)
        self.socket, self.password = None, None
        for pair in filter(None, query.split("&")):
            self._parameter(pair)
        self.host, self.port = None, port
        if self.socket is None:
            self._place(host)

    def _parameter(self, pair):
        key, _, value = pair.partition("=")
        value = decode(value)
        if key == "socket":
            if not value:
                raise FormatError("socket= names no path")
            self.socket = value
        elif key == "password_file":
            try:
                with open(value, encoding="utf-8") as file:
                    self.password = file.readline().rstrip("\r\n")
            except OSError as e:
                raise FormatError(f"the password is to be in {value}, which cannot be read: {e.strerror}") from None
        elif key == "password_env":
            if value not in os.environ:
                raise FormatError(f"the password is to be in the variable {value}, which is not set for the worker")
            self.password = os.environ[value]
        else:
            raise FormatError(f"`{key}` is no part of a server's address; parts are socket, password_file and password_env")

    def _place(self, text):
        found = _PLACE.fullmatch(text)
        if not found:
            raise FormatError("the address of a server is not of the form SCHEME://USER@HOST:PORT/DATABASE")
        six, host, port = found.groups()
        self.host = decode(six or host or "")
        if not self.host:
            raise FormatError("the address of a server names a host or a socket")
        if port is not None:
            self.port = number(port, 65535)
            if not self.port:
                raise FormatError("the port of the server is no number from 1 to 65535")


def decode(text):
    """The library would let a broken escape stand as it is, and another database be meant."""
    if _BROKEN.search(text):
        raise FormatError("a `%` in the address of a server without two hexadecimal digits after it")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise FormatError("the address of a server is not UTF-8") from None
