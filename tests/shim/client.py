"""Adds rows two by two, each pair in a transaction of its own; prints the number of each that was committed, and every
error. `client.py PATH make` makes the table, `client.py PATH FIRST` begins with this number."""
import sqlite3
import sys
import time

connection = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
if sys.argv[2] == "make":
    connection.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, part INTEGER, text TEXT)")
    sys.exit()
errors = 0
for number in range(int(sys.argv[2]), 1_000_000):
    try:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO log (id, part, text) VALUES (?, 1, 'x')", (2 * number,))
        connection.execute("INSERT INTO log (id, part, text) VALUES (?, 2, 'y')", (2 * number + 1,))
        connection.execute("COMMIT")
        print("committed", number, flush=True)
    except sqlite3.Error as error:
        print("error", type(error).__name__, error.sqlite_errorname, connection.in_transaction, error, flush=True)
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        errors += 1
        if errors > 2_000:
            break
        time.sleep(0.05)
