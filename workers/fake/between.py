"""A proxy between a driver and PostgreSQL or MariaDB that understands where requests and answers end, and does one thing wrong.

It listens on a socket in a directory of its own, under the name that the server's socket has, which says which server it is.
"""

import os
import socket
import struct
import tempfile
import threading
import time
from contextlib import suppress

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

    def send(self, data):
        self.socket.sendall(data)


class Session:
    """One session: requests go to the server one after the other, each with its answer. Subclasses know how a session of their
    server begins, where requests and answers end, and which statement a request carries out."""

    def __init__(self, client, server, fault):
        self.client, self.server, self.fault = Stream(client), Stream(server), fault
        self.names, self.answers = {}, {}  # statements by name; the last answer to a request of this form
        self.transaction, self.counted = [], 0

    def run(self):
        if not self.begins():
            return
        while (request := self.request()) is not None:
            self.client.send(self.answer(request))

    def answer(self, request):
        sql = self.sql(request)
        word, form = sql[:6].upper(), (sql, self.form(request))
        self.transaction = [request] if word.startswith(("BEGIN", "START")) else [*self.transaction, request]
        if self.fault == "drops" and word == "COMMIT" and form in self.answers and self.is_chosen():
            self.ask(self.rollback())
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


class Postgres(Session):
    """Messages of a type, a length and a body; a request ends with a query or a sync, an answer when the server is ready."""

    STARTUP_ENCRYPTED, STARTUP_CANCEL = (80877103, 80877104), 80877102
    READY, QUERY, SYNC, TERMINATE = b"Z", b"Q", b"S", b"X"

    @staticmethod
    def message(side):
        """Its type and all of its bytes."""
        kind, length = side.bytes(1), side.bytes(4)
        return kind, kind + length + side.bytes(struct.unpack("!i", length)[0] - 4)

    def startup(self):
        length = self.client.bytes(4)
        body = self.client.bytes(struct.unpack("!i", length)[0] - 4)
        return struct.unpack("!i", body[:4])[0], length + body

    def until(self, side, kinds):
        """The messages up to and including one of these kinds."""
        messages = []
        while not messages or messages[-1][0] not in kinds:
            messages.append(self.message(side))
        return messages

    def begins(self):
        """Whether a session has begun; a request to cancel one goes to the server unchanged."""
        code, data = self.startup()
        self.server.send(data)
        while code in self.STARTUP_ENCRYPTED:
            self.client.send(self.server.bytes(1))
            code, data = self.startup()
            self.server.send(data)
        if code == self.STARTUP_CANCEL:
            return False
        kind = b""
        while kind != self.READY:
            kind, data = self.message(self.server)
            self.client.send(data)
            wants_password = kind == b"R" and struct.unpack("!i", data[5:9])[0] not in (0, 12)
            if wants_password:
                self.server.send(self.message(self.client)[1])
        return True

    def request(self):
        request = self.until(self.client, (self.QUERY, self.SYNC, self.TERMINATE))
        if request[-1][0] != self.TERMINATE:
            return request
        self.server.send(b"".join(data for _, data in request))

    def sql(self, request):
        """The statement that a request carries out."""
        found = ""
        for kind, data in request:
            texts = data[5:].split(b"\0")
            if kind == self.QUERY:
                found = texts[0].decode()
            elif kind == b"P":
                self.names[texts[0]] = texts[1].decode()
            elif kind == b"B":
                found = self.names.get(texts[1], "")
        return found.lstrip()

    def form(self, request):
        return b"".join(kind for kind, _ in request)

    def ask(self, request):
        self.server.send(b"".join(data for _, data in request))
        return b"".join(data for _, data in self.until(self.server, (self.READY,)))

    def rollback(self):
        return [(self.QUERY, self.QUERY + struct.pack("!i", 13) + b"ROLLBACK\0")]


class MariaDb(Session):
    """Packets of a length, a number and a body; the command and the first packet of an answer decide where it ends."""

    QUIT, QUERY, PREPARE, EXECUTE, LONG_DATA, CLOSE = 0x01, 0x03, 0x16, 0x17, 0x18, 0x19
    OK, ERROR, END = 0x00, 0xFF, 0xFE
    MORE_RESULTS, WITHOUT_END = 0x0008, 0x0100  # of a status; of the upper half of the capabilities

    @staticmethod
    def packet(side):
        head = side.bytes(4)
        return head + side.bytes(int.from_bytes(head[:3], "little"))

    def begins(self):
        """Removes the capability to leave out end packets, so that every answer has one."""
        greeting = bytearray(self.packet(self.server))
        upper = greeting.index(0, 5) + 1 + 4 + 8 + 1 + 2 + 1 + 2
        able = int.from_bytes(greeting[upper : upper + 2], "little") & ~self.WITHOUT_END
        greeting[upper : upper + 2] = able.to_bytes(2, "little")
        greeting[upper + 9 : upper + 13] = bytes(4)  # MariaDB's own
        self.client.send(bytes(greeting))
        while True:
            self.server.send(self.packet(self.client))
            said = self.packet(self.server)
            self.client.send(said)
            while said[4] == 1 and len(said) == 6 and said[5] == 3:  # the server has the password cached: one more packet follows
                said = self.packet(self.server)
                self.client.send(said)
            if said[4] in (self.OK, self.ERROR):
                return said[4] == self.OK

    def request(self):
        while True:
            packet = self.packet(self.client)
            if packet[4] == self.QUIT:
                return self.server.send(packet)
            if packet[4] not in (self.LONG_DATA, self.CLOSE):
                return packet
            self.server.send(packet)  # has no answer

    def sql(self, request):
        if request[4] == self.QUERY:
            return request[5:].decode().lstrip()
        return self.names.get(request[5:9], "") if request[4] == self.EXECUTE else ""

    def form(self, request):
        return request[4]

    def ask(self, request):
        self.server.send(request)
        answer = [self.packet(self.server)]
        if answer[0][4] == self.ERROR:
            return answer[0]
        if request[4] == self.PREPARE:
            self.names[answer[0][5:9]] = request[5:].decode().lstrip()
            columns, parameters = struct.unpack("<HH", answer[0][9:13])
            for described in (parameters, columns):
                answer += [self.packet(self.server) for _ in range(described + 1 if described else 0)]
        elif request[4] in (self.QUERY, self.EXECUTE):
            while self.finish_result(answer):
                answer.append(self.packet(self.server))
        return b"".join(answer)

    def finish_result(self, answer):
        """Reads the rest of a result whose first packet was the last one read; returns whether another result follows."""
        first = answer[-1]
        if first[4] == self.ERROR:
            return False
        if first[4] == self.OK:
            at = 5
            for _ in range(2):  # changed rows, last key: the first byte of each number is its length
                at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(first[at], 1)
            return bool(struct.unpack("<H", first[at : at + 2])[0] & self.MORE_RESULTS)
        for _ in ("columns", "rows"):
            while True:
                packet = self.packet(self.server)
                answer.append(packet)
                if packet[4] == self.ERROR:
                    return False
                if packet[4] == self.END and len(packet) < 13:
                    break
        return bool(struct.unpack("<H", packet[7:9])[0] & self.MORE_RESULTS)

    def rollback(self):
        return b"\x09\0\0\0\x03ROLLBACK"


FAULTS = {
    "delays": "delays one answer in 5 by 20 ms",
    "drops": "rolls back one transaction in 5 and answers that it is committed",
    "repeats": "carries out one transaction in 5 twice",
    "answers": "answers one UPDATE in 5 as the last one was answered, without the server",
}


def is_postgres(server_path):
    return "PGSQL" in os.path.basename(server_path)


def between(server_path, fault):
    """Starts a proxy in front of this socket; returns the path of its own socket."""
    kind = Postgres if is_postgres(server_path) else MariaDb
    directory = tempfile.mkdtemp(prefix="contend-between-")
    path = os.path.join(directory, os.path.basename(server_path))
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)

    def serve(client):
        server = socket.socket(socket.AF_UNIX)
        with client, server, suppress(Ended, OSError):
            server.connect(server_path)
            kind(client, server, fault).run()

    def accept():
        while True:
            client, _ = listening.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return path
