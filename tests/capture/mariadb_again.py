"""Work on MariaDB that a replay must repeat. mariadb_again.py PORT PORT_OF_SERVER"""

import sys
import threading
import time

import pymysql
from pymysql.constants import CLIENT


def connected(port=sys.argv[1], **more):
    return pymysql.connect(host="127.0.0.1", port=int(port), user="me", password="geheim", database="shop",
                           program_name="again", client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS, **more)


db = connected()
cursor = db.cursor()


def fails(number, sql, values=None):
    try:
        cursor.execute(sql, values)
    except pymysql.err.MySQLError as why:
        assert why.args[0] == number, why
        return
    raise SystemExit(f"it must fail: {sql}")


for i in range(20):
    cursor.execute("INSERT INTO event (account, note, data) VALUES (%s, %s, %s)",
                   (i % 7 + 1, f"it's \\ \"{i}\" \n\0", b"\xff\0\\'" * i))
    cursor.execute("SELECT id FROM event WHERE account <= %s", (i,))
    db.commit()
cursor.execute("INSERT INTO event (account) VALUES (1), (2)")
db.rollback()
fails(1062, "INSERT INTO account (id, v, note) VALUES (50, 1, %s)", ("it's 2",))
cursor.execute("UPDATE account SET v = 5 WHERE id IN (4, 5)")
# Clients count found rows, of which none is changed.
assert cursor.execute("UPDATE account SET v = 5 WHERE id IN (4, 5)") == 2
cursor.execute("SAVEPOINT one")
fails(1452, "INSERT INTO event (account) VALUES (999)")
cursor.execute("ROLLBACK TO one")
cursor.execute("SELECT 1; UPDATE account SET v = v + 1 WHERE id < 3; SELECT id FROM account")
while cursor.nextset():
    pass
cursor.execute("SELECT note FROM event WHERE note LIKE 'it%\\%' OR note LIKE \"%\\\\\\\\%\"")
assert len(cursor.fetchall()) == 20
db.commit()
fails(1054, "SELECT missing FROM account")
db.select_db("mysql")
cursor.execute("SELECT count(*) FROM user")
db.select_db("shop")
cursor.execute("SELECT id FROM shop.account")
db.commit()
other = connected(autocommit=True)
cursor.execute("UPDATE account SET v = v * 2 WHERE id = 7")


def adds():
    with other.cursor() as own:
        own.execute("UPDATE account SET v = v + 1 WHERE id = 7")


waiting = threading.Thread(target=adds)
waiting.start()
# Not captured: its answers depend on the moment.
look = connected(sys.argv[2], autocommit=True).cursor()
while not look.execute("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"):
    time.sleep(0.01)
db.commit()
waiting.join()
cursor.execute("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
cursor.execute("UPDATE account SET note = 'a\\b' WHERE id = 9")
db.commit()
# Its connection ends it.
cursor.execute("INSERT INTO event (account) VALUES (1)")
db.close()
with other.cursor() as own:
    own.execute("INSERT INTO event (account) VALUES (2)")
