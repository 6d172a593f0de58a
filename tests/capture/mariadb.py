"""A client of MariaDB in Python. mariadb.py PORT: transactions, several statements at once, failures, locks."""

import sys
import threading

import pymysql
from pymysql.constants import CLIENT

PORT = int(sys.argv[1])


def connected(**more):
    return pymysql.connect(host="127.0.0.1", port=PORT, user="me", password="geheim", database="shop",
                           program_name="shop", client_flag=CLIENT.MULTI_STATEMENTS, **more)


db = connected()
cursor = db.cursor()
cursor.execute("CREATE TABLE thing (id int PRIMARY KEY, name text, price double)")
# autocommit is off: each pair is a transaction without BEGIN.
for i in range(40):
    cursor.execute("INSERT INTO thing VALUES (%s, %s, %s)", (i, f"secret-{i % 4}", i / 2))
    cursor.execute("SELECT name FROM thing WHERE id <= %s", (i,))
    assert len(cursor.fetchall()) == i + 1
    db.commit()
try:
    cursor.execute("INSERT INTO thing VALUES (%s, %s, %s)", (1, "secret's", 0))
except pymysql.err.IntegrityError as why:
    assert why.args[0] == 1062
db.rollback()
cursor.execute("SELECT 1; SELECT id FROM thing; UPDATE thing SET price = 1 WHERE id < 5")
counts = [cursor.rowcount]
while cursor.nextset():
    counts.append(cursor.rowcount)
assert counts[:2] == [1, 40], counts
db.rollback()
db.ping(reconnect=False)
db.select_db("mysql")
db.select_db("shop")

# A lock that another connection has, and a deadlock.
other = connected()
one, two = db.cursor(), other.cursor()
two.execute("SET innodb_lock_wait_timeout = 1")
one.execute("UPDATE thing SET price = 5 WHERE id = 7")
try:
    two.execute("UPDATE thing SET price = 6 WHERE id = 7")
    raise SystemExit("no wait")
except pymysql.err.OperationalError as why:
    assert why.args[0] == 1205, why
other.rollback()
two.execute("SET innodb_lock_wait_timeout = 50")
two.execute("UPDATE thing SET price = 6 WHERE id = 8")
failed = []


def update(cursor, which):
    try:
        cursor.execute("UPDATE thing SET name = 'dead' WHERE id = %s", (which,))
    except pymysql.err.OperationalError as why:
        failed.append(why.args[0])


thread = threading.Thread(target=update, args=(two, 7))
thread.start()
update(one, 8)
thread.join()
assert failed == [1213], failed
db.rollback()
other.rollback()

# Statements and values of more than one packet.
db.autocommit(True)
cursor.execute("CREATE TABLE large (body longtext)")
cursor.execute("INSERT INTO large VALUES (%s)", ("secret " * 3_000_000,))
cursor.execute("SELECT body FROM large")
assert len(cursor.fetchone()[0]) == 21_000_000
cursor.execute("SELECT 'secret-after'")
db.close()
other.close()
