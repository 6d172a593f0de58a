"""A client of PostgreSQL in Python. postgres.py ADDRESS: prints how often it executed what."""

import sys
import uuid

import psycopg

address = sys.argv[1]
db = psycopg.connect(address, application_name="shop")
db.execute("CREATE TABLE thing (id integer PRIMARY KEY, name text, price float8, extra bytea, key uuid)")
db.commit()
insert = "INSERT INTO thing VALUES (%s, %s, %s, %s, %s)"
# After the fifth time psycopg prepares the statement.
for i in range(40):
    db.execute(insert, (i, f"secret-{i % 4}", i / 2, b"secret" * i, uuid.UUID(int=i)))
    db.execute("SELECT name FROM thing WHERE id <= %s", (i,)).fetchall()
    db.commit()
# Sent without waiting for answers.
with db.cursor() as cursor:
    cursor.executemany("INSERT INTO thing (id, name) VALUES (%s, %s)", [(100 + i, None) for i in range(30)])
db.commit()
with db.cursor(binary=True) as cursor:
    cursor.execute("SELECT count(*) FROM thing WHERE id > %b", (99,))
    assert cursor.fetchone() == (30,)
db.commit()
with db.cursor(name="in_the_server") as cursor:
    cursor.itersize = 7
    cursor.execute("SELECT id FROM thing ORDER BY id")
    assert len(cursor.fetchall()) == 70
db.commit()
try:
    db.execute(insert, (1, "secret-1", 0.0, b"", None))
except psycopg.errors.UniqueViolation:
    db.rollback()
with db.cursor() as cursor, cursor.copy("COPY thing (id, name) FROM STDIN") as copy:
    for i in range(500, 520):
        copy.write_row((i, "secret-copied"))
db.commit()
with db.cursor() as cursor, cursor.copy("COPY (SELECT id FROM thing) TO STDOUT") as copy:
    assert len(list(copy.rows())) == 90
db.commit()
# A lock that another connection has.
db.execute("UPDATE thing SET price = 1 WHERE id = 7")
other = psycopg.connect(address, application_name="shop")
for _ in range(3):
    try:
        other.execute("SELECT 1 FROM thing WHERE id = 7 FOR UPDATE NOWAIT")
    except psycopg.errors.LockNotAvailable:
        other.rollback()
db.rollback()
blob = bytes(range(256)) * 4096
assert db.execute("SELECT %b::bytea", (blob,)).fetchone() == (blob,)
db.close()
other.close()
