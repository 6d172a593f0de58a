"""A proxy between a driver and PostgreSQL that understands where requests and answers end, and does one thing wrong.

It listens on a socket in a directory of its own, under the name that the server's socket has.
"""

import os
import socket
import struct
import tempfile
import threading
import time
from contextlib import suppress

STARTUP_ENCRYPTED, STARTUP_CANCEL = (80877103, 80877104), 80877102
READY, QUERY, SYNC, TERMINATE = b"Z", b"Q", b"S", b"X"
ONE_IN = 5  # transactions, statements or requests
PAUSE_S = 0.02


class Ended(Exception):
    """The other side has closed its connection."""


class Stream:
    """One side of a connection, as messages."""

    def __init__(self, connected):
        self.socket, self.file = connected, connected.makefile("rb")

    def bytes(self, count):
        data = self.file.read(count)
        if len(data) < count:
            raise Ended
        return data

    def message(self):
        """Its type and all of its bytes."""
        kind = self.bytes(1)
        length = self.bytes(4)
        return kind, kind + length + self.bytes(struct.unpack("!i", length)[0] - 4)

    def startup(self):
        length = self.bytes(4)
        body = self.bytes(struct.unpack("!i", length)[0] - 4)
        return struct.unpack("!i", body[:4])[0], length + body

    def until(self, kinds):
        """The messages up to one of these kinds."""
        messages = []
        while not messages or messages[-1][0] not in kinds:
            messages.append(self.message())
        return messages

    def send(self, data):
        self.socket.sendall(data)


def joined(messages):
    return b"".join(data for _, data in messages)


def kinds(messages):
    return b"".join(kind for kind, _ in messages)


class Connection:
    """One session: requests go to the server one after the other, each with its answer."""

    def __init__(self, client, server, fault):
        self.client, self.server, self.fault = Stream(client), Stream(server), fault
        self.names, self.answers = {}, {}  # statements by name; the last answer to a request of this form
        self.transaction, self.counted = [], 0

    def run(self):
        if not self.begins():
            return
        while True:
            request = self.client.until((QUERY, SYNC, TERMINATE))
            if request[-1][0] == TERMINATE:
                return self.server.send(joined(request))
            self.client.send(self.answer(request))

    def begins(self):
        """Whether a session has begun; what cancels one goes to the server as it is."""
        code, data = self.client.startup()
        self.server.send(data)
        while code in STARTUP_ENCRYPTED:
            self.client.send(self.server.bytes(1))
            code, data = self.client.startup()
            self.server.send(data)
        if code == STARTUP_CANCEL:
            return False
        kind = b""
        while kind != READY:
            kind, data = self.server.message()
            self.client.send(data)
            wants_password = kind == b"R" and struct.unpack("!i", data[5:9])[0] not in (0, 12)
            if wants_password:
                self.server.send(self.client.message()[1])
        return True

    def sql(self, request):
        """The statement that a request carries out."""
        found = ""
        for kind, data in request:
            texts = data[5:].split(b"\0")
            if kind == QUERY:
                found = texts[0].decode()
            elif kind == b"P":
                self.names[texts[0]] = texts[1].decode()
            elif kind == b"B":
                found = self.names.get(texts[1], "")
        return found.lstrip()

    def ask(self, request):
        self.server.send(joined(request))
        return joined(self.server.until((READY,)))

    def answer(self, request):
        word = self.sql(request)[:6].upper()
        form = (self.sql(request), kinds(request))
        self.transaction = [request] if word.startswith("BEGIN") else [*self.transaction, request]
        if self.fault == "drops" and word == "COMMIT" and form in self.answers and self.is_chosen():
            self.ask([(QUERY, QUERY + struct.pack("!i", 13) + b"ROLLBACK\0")])
            return self.answers[form]
        if self.fault == "answers" and word == "UPDATE" and form in self.answers and self.is_chosen():
            return self.answers[form]
        answer = self.ask(request)
        self.answers[form] = answer
        if self.fault == "repeats" and word == "COMMIT" and self.is_chosen():
            for again in self.transaction:
                self.ask(again)
        if self.fault == "delays" and self.is_chosen():
            time.sleep(PAUSE_S)
        return answer

    def is_chosen(self):
        self.counted += 1
        return self.counted % ONE_IN == 0


FAULTS = {
    "delays": "delays one answer in 5 by 20 ms",
    "drops": "rolls back one transaction in 5 and answers that it is committed",
    "repeats": "carries out one transaction in 5 twice",
    "answers": "answers one UPDATE in 5 as the last one was answered, without the server",
}


def between(server_path, fault):
    """Starts a proxy before this socket; the path of its own."""
    directory = tempfile.mkdtemp(prefix="contend-between-")
    path = os.path.join(directory, os.path.basename(server_path))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)

    def serve(client):
        server = socket.socket(socket.AF_UNIX)
        with client, server, suppress(Ended, OSError):
            server.connect(server_path)
            Connection(client, server, fault).run()

    def accept():
        while True:
            client, _ = listening.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return path
