"""A program for each module of Python: 20 INSERTs with bound values in a transaction, 10 SELECTs."""

import importlib
import sys
import time

module = importlib.import_module(sys.argv[1])
if sys.argv[1] == "apsw":
    db, version = module.Connection(sys.argv[2]), module.sqlite_lib_version()
else:
    db, version = module.connect(sys.argv[2], isolation_level=None), module.sqlite_version
execute = db.cursor().execute
execute("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)")
execute("BEGIN")
for i in range(20):
    execute("INSERT INTO thing (name) VALUES (?)", (f"thing {i}",))
execute("COMMIT")
for i in range(10):
    execute("SELECT name FROM thing WHERE id = ?", (i + 1,)).fetchall()
print(version)
time.sleep(1)
