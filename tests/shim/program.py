"""What a program does with its database; prints everything that it gets. Its output must not depend on where the rows are."""
import sqlite3
import sys

path = sys.argv[1]


def show(what, call):
    try:
        print(what, call())
    except sqlite3.Error as error:
        print(what, type(error).__name__, error, getattr(error, "sqlite_errorname", None))


connection = sqlite3.connect(path, timeout=2)
connection.create_function("twice", 1, lambda x: x * 2)
print("version", sqlite3.sqlite_version)
connection.executescript(
    """
    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, born INTEGER, height REAL, photo BLOB);
    CREATE TABLE book (id INTEGER PRIMARY KEY AUTOINCREMENT, author INTEGER NOT NULL, title VARCHAR(40), price NUMERIC);
    CREATE INDEX book_author ON book (author);
    CREATE VIEW titles AS SELECT author.name AS name, book.title AS title FROM book JOIN author ON author.id = book.author;
    """
)
cursor = connection.execute("INSERT INTO author (name, born, height, photo) VALUES (?, ?, ?, ?)", ("Ada", 1815, 1.65, b"\0\xff"))
print("key", cursor.lastrowid, cursor.rowcount)
connection.executemany("INSERT INTO author (name, born) VALUES (:name, :born)", [{"name": "Bob", "born": None}, {"name": "Zoë", "born": 1990}])
connection.executemany("INSERT INTO book (author, title, price) VALUES (?, ?, ?)", [(1, "Notes", 3), (1, "it's", 2.5), (3, None, None)])
connection.commit()
show("rows", lambda: connection.execute("SELECT * FROM author ORDER BY id").fetchall())
show("columns", lambda: [c[0] for c in connection.execute("SELECT a.name AS n, count(*), b.price FROM author a JOIN book b ON b.author = a.id GROUP BY a.name, b.price").description])
show("join", lambda: connection.execute("SELECT name, title FROM titles ORDER BY name, title").fetchall())
show("types", lambda: [tuple(map(type, row)) for row in connection.execute("SELECT id, name, height, photo, born FROM author ORDER BY id")])
show("unique", lambda: connection.execute("INSERT INTO author (id, name) VALUES (9, 'Ada')"))
show("key", lambda: connection.execute("INSERT INTO author (id, name) VALUES (1, 'Eve')"))
show("null", lambda: connection.execute("INSERT INTO author (id, name) VALUES (9, NULL)"))
show("goes on", lambda: connection.execute("SELECT count(*) FROM author").fetchone())
show("no table", lambda: connection.execute("SELECT * FROM missing"))
show("syntax", lambda: connection.execute("SELEKT 1"))
show("values", lambda: connection.execute("SELECT 1", (1,)))
show("own function", lambda: connection.execute("SELECT twice(21)").fetchone())
show("text for a number", lambda: connection.execute("SELECT name FROM author WHERE id = ?", ("1",)).fetchall())
show("changes", lambda: (connection.execute("UPDATE book SET price = 1").rowcount, connection.execute("SELECT changes()").fetchone()))
connection.rollback()
show("rolled back", lambda: connection.execute("SELECT price FROM book ORDER BY id").fetchall())
connection.execute("SAVEPOINT outer")
connection.execute("DELETE FROM book")
connection.execute("SAVEPOINT inner")
connection.execute("INSERT INTO book (id, author, title) VALUES (7, 2, 'x')")
connection.execute("ROLLBACK TO inner")
show("savepoints", lambda: (connection.execute("SELECT count(*) FROM book").fetchone(), connection.in_transaction))
connection.execute("ROLLBACK TO outer")
connection.execute("RELEASE outer")
connection.commit()
show("released", lambda: (connection.execute("SELECT count(*) FROM book").fetchone(), connection.in_transaction))
show("upsert", lambda: connection.execute("INSERT INTO author (id, name) VALUES (1, 'Ada') ON CONFLICT (id) DO UPDATE SET born = 1816 RETURNING born").fetchall())
connection.commit()
connection.execute("CREATE TEMP TABLE scratch (a, b)")
connection.execute("INSERT INTO scratch VALUES (1, 'one')")
show("temporary", lambda: connection.execute("SELECT * FROM scratch").fetchall())
connection.commit()
show("table_info", lambda: connection.execute("PRAGMA table_info(book)").fetchall())
show("index_list", lambda: connection.execute("PRAGMA index_list(author)").fetchall())
show("master", lambda: connection.execute("SELECT type, name, tbl_name FROM sqlite_master WHERE type <> 'index' ORDER BY name").fetchall())
connection.execute("PRAGMA user_version = 12")
show("pragmas", lambda: [connection.execute(f"PRAGMA {name}").fetchall() for name in ("user_version", "foreign_keys", "journal_mode")])
show("altered", lambda: connection.execute("ALTER TABLE author ADD COLUMN note TEXT DEFAULT 'none'").fetchall())
connection.commit()
# Its name is that of a type of PostgreSQL, which the server must not take for it.
connection.execute("CREATE TABLE json (id INTEGER PRIMARY KEY, j TEXT NOT NULL, k TEXT CHECK (json_valid(k) OR k IS NULL))")
NEARLY = ["", "01", "1.", ".5", "1.e5", "1E+2", "-0", "-", "+1", "NaN", '"\t"', '"\\ud800"', '"\\u00g0"', '"\\x"', "'a'", "\f1", "\r\n\t1"]
NEARLY += ["1 2", "{1: 2}", '{"": 1}', "[,]", "[1,]", "nul", "True", "[" * 2000 + "]" * 2000, "[" * 2001 + "]" * 2001, '"' + "[" * 3000 + '"']
connection.executemany("INSERT INTO json (j) VALUES (?)", [(text,) for text in NEARLY])
show("json_valid", lambda: connection.execute("SELECT id, json_valid(j) FROM json ORDER BY id").fetchall())
show("json in CHECK", lambda: connection.execute("INSERT INTO json (j, k) VALUES ('', '[1]'), ('', NULL)").rowcount)
for wrong in ("INSERT INTO json (j, k) VALUES ('', '{a: 1}')", "UPDATE json SET k = 'nul' WHERE id = 1"):
    try:
        connection.execute(wrong)
    except sqlite3.IntegrityError as e:
        print("json in CHECK", type(e).__name__)
connection.commit()
connection.execute("DROP TABLE json")
connection.commit()
# What is unique is named as SQLite names it, though case is folded by an expression on PostgreSQL.
connection.execute('CREATE TABLE label (id INTEGER PRIMARY KEY, "A b" TEXT COLLATE NOCASE UNIQUE, x TEXT, y TEXT COLLATE NOCASE, UNIQUE (x, y))')
connection.execute("INSERT INTO label VALUES (1, 'one', 'x', 'y')")
for wrong in ("(2, 'ONE', 'x2', 'y2')", "(2, 'two', 'x', 'Y')", "(1, 'two', 'x2', 'y2')"):
    try:
        connection.execute(f"INSERT INTO label VALUES {wrong}")
    except sqlite3.IntegrityError as e:
        print("unique", e)
connection.commit()
connection.execute("CREATE UNIQUE INDEX by_lower ON label (lower(x))")
try:
    connection.execute("INSERT INTO label VALUES (3, 'three', 'X', 'z')")
except sqlite3.IntegrityError as e:
    print("unique", e)
connection.commit()
connection.execute("DROP TABLE label")
connection.commit()

other = sqlite3.connect(path, timeout=2)
show("another connection", lambda: other.execute("SELECT name, note FROM author ORDER BY id").fetchall())
other.execute("DROP VIEW titles")
other.execute("DROP TABLE book")
other.commit()
show("dropped by another", lambda: connection.execute("SELECT * FROM book"))
show("made by another", lambda: [other.execute("CREATE TABLE late (x TEXT)").fetchall(), connection.execute("SELECT * FROM late").fetchall()])
show("total", lambda: connection.total_changes)
memory = sqlite3.connect(":memory:")
show("in memory", lambda: [memory.execute("CREATE TABLE t (a)").fetchall(), memory.execute("INSERT INTO t VALUES (1)").rowcount])
read_only = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
show("read only", lambda: read_only.execute("DELETE FROM author"))
for opened in (connection, other, read_only):
    opened.close()
show("closed", lambda: connection.execute("SELECT 1"))
