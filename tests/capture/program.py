"""Programs that are captured. They print what they did, so that a test can compare."""

import os
import sqlite3
import sys
import threading

what, path = sys.argv[1], sys.argv[2]


def known():
    """Every kind of value, a failing statement, a rollback, rows that are not taken, a script."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size REAL, data BLOB)")
    db.execute("BEGIN IMMEDIATE")
    for i in range(100):
        db.execute("INSERT INTO thing (name, size, data) VALUES (?, ?, ?)", (f"secret-{i}", i / 2, b"secret" * i))
    db.execute("COMMIT")
    try:
        db.execute("INSERT INTO thing (name) VALUES ('secret-7')")
    except sqlite3.IntegrityError:
        pass
    for refused in ("SELECT no_such_column FROM thing", "SELEC 1"):
        try:
            db.execute(refused)
        except sqlite3.OperationalError:
            pass
    db.execute("BEGIN")
    db.execute("DELETE FROM thing WHERE id = ?", (5,))
    db.execute("ROLLBACK")
    for i in range(40):
        db.execute("SELECT name FROM thing WHERE id = ?", (i % 4 + 1,)).fetchone()
    db.execute("SELECT * FROM thing").fetchall()
    db.executescript("UPDATE thing SET size = 1 WHERE id = 1; UPDATE thing SET size = 2 WHERE id = 2;")
    print(sqlite3.sqlite_version)


def many():
    """Threads of several processes that write."""
    own = sqlite3.connect(path)
    own.execute(f"PRAGMA journal_mode = {sys.argv[3]}")
    own.execute("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, n INTEGER, last TEXT)")
    own.executemany("INSERT INTO account (n) VALUES (?)", [(100,)] * 8)
    own.commit()
    own.close()

    def work(seed):
        import random

        draw = random.Random(seed)
        db = sqlite3.connect(path, isolation_level=None, timeout=draw.choice([0, 0.02, 5]))
        for i in range(15):
            for _ in range(1000):
                try:
                    db.execute(draw.choice(["BEGIN", "BEGIN IMMEDIATE"]))
                    a, b = draw.randrange(1, 9), draw.randrange(1, 9)
                    (n,) = db.execute("SELECT n FROM account WHERE id = ?", (a,)).fetchone()
                    db.execute("UPDATE account SET n = n - ?, last = ? WHERE id = ?", (n // 3, f"{seed}/{i}", a))
                    db.execute("UPDATE account SET n = n + ? WHERE id = ?", (n // 3, b))
                    if draw.random() < 0.2:
                        db.execute("INSERT INTO account (n, last) VALUES (0, ?)", (str(seed),))
                    db.execute("ROLLBACK" if draw.random() < 0.1 else "COMMIT")
                    break
                except sqlite3.OperationalError:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
        db.close()

    seed = int(sys.argv[4]) * 100
    for child in range(2):
        if os.fork() == 0:
            threads = [threading.Thread(target=work, args=(seed + child * 10 + i,)) for i in range(2)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            os._exit(0)
    os.wait()
    os.wait()


def private():
    """Values of every type, bound, in texts of statements and in scripts, that occur nowhere else."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, pay REAL, photo BLOB, number INTEGER)")
    db.execute("CREATE UNIQUE INDEX person_number ON person (number)")
    row = (8273645519283746, "Zoë-Marlowe-private", 73519.482913, b"\x01private-photo\x02", 6152438197362514)
    db.execute("INSERT INTO person VALUES (?, ?, ?, ?, ?)", row)
    db.execute("SELECT * FROM person WHERE name = 'Zoë-Marlowe-private' AND pay > 73519.482913 -- private").fetchall()
    db.executescript("UPDATE person SET name = 'Quimby-private' WHERE number = 6152438197362514; SELECT x'5052495641544521';")
    try:
        db.execute("INSERT INTO person (number, name) VALUES (6152438197362514, 'Quimby-private')")
    except sqlite3.IntegrityError:
        pass


def endless():
    """Commits until it is killed, and says each commit that it knows of."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (n INTEGER)")
    for i in range(10**9):
        db.execute("INSERT INTO t VALUES (?)", (i,))
        db.commit()
        os.write(1, f"{i + 1}\n".encode())


{"known": known, "many": many, "private": private, "endless": endless}[what]()
