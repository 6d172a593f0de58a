"""Work on PostgreSQL that a replay must repeat. postgres_again.py ADDRESS ADDRESS_OF_SERVER"""

import datetime
import decimal
import sys
import threading
import time
import uuid

import psycopg

address = sys.argv[1]
db = psycopg.connect(address, application_name="again")
INSERT = ("INSERT INTO event (account, at, amount, data, key, ok, ratio) VALUES (%s, %s, %s, %s, %s, %s, %s)",
          "INSERT INTO event (account, at, amount, data, key, ok, ratio) VALUES (%b, %b, %b, %b, %b, %b, %b)")


def fails(error, sql, values=()):
    try:
        db.execute(sql, values)
    except error:
        return
    raise SystemExit(f"it must fail: {sql}")


# From the sixth time on prepared; values as texts and in binary form, of types that have no form of their own in a capture.
day = datetime.datetime(2026, 11, 28, 12, tzinfo=datetime.timezone.utc)
for i in range(20):
    values = (i % 7 + 1, day + datetime.timedelta(hours=i), decimal.Decimal(i) / 8, bytes([0, 92, 39, i]),
              uuid.UUID(int=i), i % 2 == 0, i / 3)
    db.execute(INSERT[i % 2], values if i else (1, None, None, None, None, None, None))
    db.execute("SELECT id, data FROM event WHERE account <= %s", (i,)).fetchall()
    db.commit()
# Numbers that a sequence gave and a rollback did not give back.
db.execute("INSERT INTO event (account) VALUES (1), (2)")
db.rollback()
fails(psycopg.errors.UniqueViolation, "INSERT INTO account VALUES (50, 1, %s)", ("it's 2",))
fails(psycopg.errors.InFailedSqlTransaction, "SELECT 1")
db.commit()
db.execute("UPDATE account SET note = E'back\\\\slash \\u00e9' || $$it's$$ WHERE id = 4")
db.execute("SAVEPOINT one")
fails(psycopg.errors.ForeignKeyViolation, "INSERT INTO event (account) VALUES (999)")
db.execute("ROLLBACK TO one")
db.execute("INSERT INTO event (account, ratio) VALUES (%s, 'infinity')", (3,))
db.commit()
# Only the declared type of the parameter says what it is.
db.execute("INSERT INTO account SELECT 60, 1, 'typed' WHERE %s IS NOT NULL", (5,))
db.commit()
fails(psycopg.errors.UndefinedTable, "SELECT * FROM missing WHERE id = %s", (1,))
db.rollback()
db.execute("UPDATE account SET v = v + 1 WHERE id = 3; UPDATE account SET v = v + 1 WHERE id < 3; SELECT 1")
db.commit()
# On a database without the account 3 the first statement has another result, and the rest is carried out nevertheless.
db.execute("SELECT id FROM account WHERE id <= %s", (3,)).fetchall()
db.execute("UPDATE account SET note = %s WHERE id = 12", ("after a difference",))
db.commit()
# Statements sent together are one transaction, of which nothing stays if one fails.
db.autocommit = True
for note in ("alone", "it's 2"):
    try:
        with db.pipeline():
            db.execute("INSERT INTO event (account, ratio) VALUES (%s, 8)", (2,))
            db.execute("UPDATE account SET v = v + 100 WHERE id = %s", (5,))
            db.execute("UPDATE account SET note = %s WHERE id = 6", (note,))
    except psycopg.errors.UniqueViolation:
        pass
# The answer comes in the middle, and the server ignores the rest of the pipeline.
try:
    with db.pipeline():
        divided = db.execute("SELECT 1 / (%s - id) FROM account WHERE id = 1", (1,))
        try:
            divided.fetchall()
        except psycopg.errors.DivisionByZero:
            db.execute("UPDATE account SET v = v + 1000 WHERE id = 5")
except psycopg.errors.PipelineAborted:
    pass
# The single statement waits for the transaction, and comes after it.
other = psycopg.connect(address, application_name="again", autocommit=True)
db.autocommit = False
db.execute("UPDATE account SET v = v * 2 WHERE id = 7")
waiting = threading.Thread(target=lambda: other.execute("UPDATE account SET v = v + 1 WHERE id = 7"))
waiting.start()
# Not captured: its answers depend on the moment.
with psycopg.connect(sys.argv[2], autocommit=True) as look:
    while not look.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall():
        time.sleep(0.01)
db.commit()
waiting.join()
# A lock that is refused makes the COMMIT a rollback.
db.execute("SELECT 1 FROM account WHERE id = 8 FOR UPDATE")
other.execute("BEGIN")
other.execute("UPDATE account SET v = -1 WHERE id = 9")
try:
    other.execute("SELECT 1 FROM account WHERE id = 8 FOR UPDATE NOWAIT")
except psycopg.errors.LockNotAvailable:
    other.execute("COMMIT")
db.rollback()
with db.cursor(name="portions") as cursor:
    cursor.itersize = 3
    cursor.execute("SELECT id FROM event")
    cursor.fetchone()
db.commit()
with db.cursor() as cursor, cursor.copy("COPY (SELECT 1) TO STDOUT") as copy:
    list(copy.rows())
db.commit()
# Its connection ends it.
db.execute("INSERT INTO event (account) VALUES (1)")
db.close()
other.execute("INSERT INTO event (account) VALUES (2)")
other.close()
