"""Drivers of servers connect without encryption, also where the server offers it: engines and drivers are compared, not ciphers."""

import socket
import struct
import unittest

from .conversation import PATIENCE_S, Worker, plan, program

LINES = ["statement\t0\tSELECT 1", "transaction\t0\tlook\tread\t-\t0\t0\t1", "step\tsql\t0\t1..1\t1\t-"]
# The first message of a client of PostgreSQL that asks for TLS or GSSAPI.
ASK_FOR_ENCRYPTION = (80877103, 80877104)
WITH_TLS = 0x800
# The capabilities of a server that has everything, TLS included.
GREETING = (
    b"\x0a10.11.0-MariaDB\0" + struct.pack("<I", 1) + b"12345678\0" + struct.pack("<HBHHB", 0xFFFF, 45, 2, 0x01FF, 21)
    + bytes(10) + b"123456789012\0mysql_native_password\0"
)


class Encryption(unittest.TestCase):
    def first_bytes(self, driver, greeting=b""):
        """What a driver sends first, after the server's greeting if there is one."""
        if program(driver) is None:
            self.skipTest(f"{driver} is not built")
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE_S)
            worker = Worker([program(driver)])
            self.addCleanup(worker.close)
            worker.plan(plan(driver, f"tcp\t127.0.0.1\t{server.getsockname()[1]}\tme\tapp\t-", LINES, [0]))
            connection, _ = server.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                if greeting:
                    connection.sendall(struct.pack("<I", len(greeting)) + greeting)
                return connection.recv(8)

    def test_of_postgres(self):
        for driver in ("psycopg", "php-pdo-pgsql", "node-pg", "java-postgres"):
            with self.subTest(driver):
                self.assertNotIn(struct.unpack(">II", self.first_bytes(driver))[1], ASK_FOR_ENCRYPTION)

    def test_of_mariadb(self):
        for driver in ("pymysql", "php-pdo-mysql", "node-mysql2", "java-mariadb"):
            with self.subTest(driver):
                _, capabilities = struct.unpack("<II", self.first_bytes(driver, GREETING))
                self.assertFalse(capabilities & WITH_TLS)
