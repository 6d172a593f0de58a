--! case 73a: INSERT OR IGNORE of a key that is there
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x');
INSERT OR IGNORE INTO t VALUES (1, 'y'), (2, 'z');
SELECT id, a FROM t;

--! case 73b adversarial: INSERT OR IGNORE swallows NOT NULL as well
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL);
INSERT OR IGNORE INTO t VALUES (1, NULL), (2, 'z');

--! case 73c adversarial: INSERT OR IGNORE does not swallow a foreign key, nor cuts values
CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(3), n INTEGER);
INSERT OR IGNORE INTO t VALUES (1, 'abcdef', 5000000000), (1, 'y', 1);

--! case 73d: INSERT OR REPLACE
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT DEFAULT 'none');
INSERT INTO t VALUES (1, 'x', 'kept?');
INSERT OR REPLACE INTO t (id, a) VALUES (1, 'y');
INSERT OR REPLACE INTO t (id, a) VALUES (2, 'z');

--! case 73e adversarial: INSERT OR REPLACE deletes every row in its way
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INTEGER UNIQUE);
INSERT INTO t VALUES (1, 'x', 10), (2, 'y', 20), (3, 'z', 30);
INSERT OR REPLACE INTO t VALUES (1, 'y', 30);

--! case 73f: OR ABORT, OR FAIL with one row
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT OR ABORT INTO t VALUES (1, 'x');
INSERT OR ABORT INTO t VALUES (1, 'y');
INSERT OR FAIL INTO t VALUES (1, 'z');

--! case 73g adversarial: OR FAIL keeps the rows before the one that fails
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (2, 'x');
INSERT OR FAIL INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');

--! case 73h adversarial: OR ROLLBACK ends the transaction
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x');
BEGIN;
INSERT INTO t VALUES (2, 'y');
INSERT OR ROLLBACK INTO t VALUES (1, 'z');
INSERT INTO t VALUES (3, 'after');

--! case 73i adversarial: INSERT OR REPLACE makes values of the rows in its way, under two keys
CREATE TABLE u (k TEXT PRIMARY KEY, v INTEGER, w INTEGER UNIQUE);
INSERT INTO u VALUES ('a', 41, 1), ('b', 5, 2);
INSERT OR REPLACE INTO u (k, v) VALUES ('a', coalesce((SELECT v FROM u WHERE k = 'a'), 0) + 1);
SELECT k, v, w FROM u;
INSERT OR REPLACE INTO u VALUES ('c', (SELECT count(*) FROM u), 2);
--! params 'a', 7
INSERT OR REPLACE INTO u VALUES (?1, (SELECT max(v) FROM u WHERE k = ?1), ?2);
INSERT OR REPLACE INTO u VALUES ((SELECT max(k) FROM u), (SELECT v FROM u WHERE k = 'a'), 7);

--! case 73j adversarial: INSERT OR REPLACE makes values of the row in its way, under one key
CREATE TABLE u (k TEXT PRIMARY KEY, v INTEGER, w INTEGER DEFAULT 3);
INSERT INTO u VALUES ('a', 41, 1), ('b', 5, 2);
INSERT OR REPLACE INTO u (k, v) VALUES ('a', coalesce((SELECT v FROM u WHERE k = 'a'), 0) + 1);
REPLACE INTO u VALUES ('b', (SELECT count(*) FROM u), (SELECT max(w) FROM u));

--! case 73k adversarial: An INSERT OR REPLACE that fails deletes nothing
CREATE TABLE u (k TEXT PRIMARY KEY, v INTEGER NOT NULL CHECK (v < 100), w INTEGER UNIQUE);
INSERT INTO u VALUES ('a', 41, 1), ('b', 5, 2);
INSERT OR REPLACE INTO u VALUES ('a', NULL, 2);
INSERT OR REPLACE INTO u VALUES ('b', 100, 1);
INSERT OR REPLACE INTO u VALUES ('b', 99, 1);

--! case 73l adversarial breaks=or-ignore: INSERT OR IGNORE swallows CHECK as well
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n > 0));
INSERT INTO t VALUES (1, 1);
INSERT OR IGNORE INTO t VALUES (1, 5), (2, -1), (3, 7);
SELECT id, n FROM t;

--! case 74a: REPLACE INTO
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
REPLACE INTO t VALUES (1, 'z'), (3, 'w');

--! case 74b adversarial: REPLACE INTO a table with a unique column next to the key
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER DEFAULT 7);
INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2);
REPLACE INTO t (id, name) VALUES (3, 'x');
REPLACE INTO t (id, name) VALUES (3, 'y');

--! case 74c adversarial: REPLACE INTO from a query, the same key twice
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
CREATE TABLE u (k TEXT, n INTEGER);
INSERT INTO t VALUES ('a', 1);
INSERT INTO u VALUES ('a', 2), ('b', 3);
REPLACE INTO t SELECT k, n FROM u;
--! params 'b', 9
REPLACE INTO t VALUES (?, ?);

--! case 74d adversarial: REPLACE with the same key twice in one statement
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
REPLACE INTO t VALUES ('a', 1), ('a', 2), ('b', 3);

--! case 74e adversarial: REPLACE of a NULL in a NOT NULL column takes the default
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'dflt');
REPLACE INTO t VALUES (1, NULL);

--! case 74f adversarial: REPLACE of a NULL without a default fails, and one row of two takes it
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'd', b INTEGER NOT NULL);
REPLACE INTO t VALUES (1, NULL, 5), (2, 'x', 6);
REPLACE INTO t VALUES (1, 'y', NULL);
INSERT OR REPLACE INTO t (b, a, id) VALUES (7, NULL, 2);
INSERT INTO t VALUES (3, NULL, 1);

--! case 75a: An upsert
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('a', 1);
INSERT INTO t VALUES ('a', 5) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n;
INSERT INTO t VALUES ('b', 5) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n;

--! case 75b: DO NOTHING
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('a', 1);
INSERT INTO t VALUES ('a', 5), ('b', 6) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES ('b', 7) ON CONFLICT (k) DO NOTHING;

--! case 75c adversarial: A conflict on another unique column fails
CREATE TABLE t (k TEXT PRIMARY KEY, u INTEGER UNIQUE, n INTEGER);
INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2);
INSERT INTO t VALUES ('c', 1, 9) ON CONFLICT (k) DO UPDATE SET n = excluded.n;
INSERT INTO t VALUES ('a', 3, 9) ON CONFLICT (k) DO UPDATE SET n = excluded.n;

--! case 75d adversarial breaks=upsert-count: WHERE in an upsert
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 10), (2, 20);
INSERT INTO t VALUES (1, 5) ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE excluded.n > t.n;
INSERT INTO t VALUES (2, 50) ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE excluded.n > n;

--! case 75e adversarial: Several conflict targets
CREATE TABLE t (k INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER);
INSERT INTO t VALUES (1, 'x', 0), (2, 'y', 0);
INSERT INTO t VALUES (1, 'z', 5) ON CONFLICT (k) DO UPDATE SET n = 1 ON CONFLICT (u) DO UPDATE SET n = 2;
INSERT INTO t VALUES (9, 'y', 5) ON CONFLICT (k) DO UPDATE SET n = 1 ON CONFLICT (u) DO UPDATE SET n = 2;

--! case 75f adversarial: A statement that meets the same row twice
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 1), (1, 2), (1, 4) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n;

--! case 75g adversarial: SET uses values from before the update
CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1, 2);
INSERT INTO t VALUES (1, 0, 0) ON CONFLICT (k) DO UPDATE SET a = b, b = a;

--! case 75h: An upsert from a query
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (k INTEGER, n INTEGER);
INSERT INTO t VALUES (1, 1);
INSERT INTO u VALUES (1, 10), (2, 20);
INSERT INTO t SELECT k, n FROM u WHERE true ON CONFLICT (k) DO UPDATE SET n = excluded.n;

--! case 75i adversarial: An upsert with a compound key and a bare excluded column in an expression
CREATE TABLE t (a INTEGER, b TEXT, n INTEGER DEFAULT 1, s TEXT, PRIMARY KEY (a, b));
INSERT INTO t (a, b, s) VALUES (1, 'x', 'p');
--! params 1, 'x', 'q'
INSERT INTO t (a, b, s) VALUES (?1, ?2, ?3) ON CONFLICT (a, b) DO UPDATE SET n = n + 1, s = s || excluded.s || ?3;

--! case 75j adversarial unmatched: The update's query sees the rows of the same statement before this one
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 2), (3, 3), (1, 9) ON CONFLICT (k) DO UPDATE SET n = (SELECT count(*) FROM t);

--! case 75k adversarial unmatched: Whether a row is updated depends on the rows of the same statement before it
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (k INTEGER, n INTEGER);
INSERT INTO t VALUES (5, 1);
INSERT INTO u VALUES (1, 1), (2, 2), (5, 7);
INSERT INTO t SELECT k, n FROM u WHERE true ORDER BY k
    ON CONFLICT (k) DO UPDATE SET n = excluded.n WHERE (SELECT count(*) FROM t) > 1;

--! case 75l: A query on the same table, in the upsert of one row
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 1), (2, 5);
INSERT INTO t VALUES (1, 9) ON CONFLICT (k) DO UPDATE SET n = excluded.n + (SELECT max(n) FROM t);

--! case 75m: A query on another table, in the upsert of several rows
CREATE TABLE t (k INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (k INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 1), (2, 5);
INSERT INTO u VALUES (1, 10), (2, 20);
INSERT INTO t VALUES (1, 9), (2, 8), (3, 7) ON CONFLICT (k) DO UPDATE SET n = (SELECT max(u.n) FROM u);

--! case 75n adversarial: DO NOTHING is not for rows that break CHECK
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n > 0));
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 6) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (3, -1) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (4, 1), (5, -1) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, -1) ON CONFLICT (id) DO NOTHING;
SELECT id, n FROM t;

--! case 75o adversarial: DO NOTHING is not for rows that break a CHECK of the table or of a column that came later
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER, m INTEGER, CHECK (n < m));
INSERT INTO t VALUES ('a', 1, 2), ('b', 5, 6) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES ('b', 3, 2) ON CONFLICT DO NOTHING;
ALTER TABLE t ADD COLUMN o INTEGER CHECK (o <> 7);
INSERT INTO t VALUES ('c', 1, 2, 7) ON CONFLICT DO NOTHING;
SELECT k, n, m FROM t;

--! case 76a: UPDATE OR IGNORE
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE);
INSERT INTO t VALUES (1, 10), (2, 20);
UPDATE OR IGNORE t SET a = 20 WHERE id = 1;
UPDATE OR IGNORE t SET a = 30 WHERE id = 1;

--! case 76b adversarial: UPDATE OR REPLACE deletes the row in its way
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
UPDATE OR REPLACE t SET a = 20 WHERE id = 1;

--! case 76c: UPDATE OR ABORT fails whole
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE);
INSERT INTO t VALUES (1, 10), (2, 20);
UPDATE OR ABORT t SET a = 20;
UPDATE t SET a = 20 WHERE id = 1;

--! case 76d adversarial: Keys moved up by one, in the order of the key
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x'), (5, 'y');
UPDATE t SET id = id + 1;

--! case 77a: DELETE with LIMIT
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 5), (2, 4), (3, 3);
--! reference DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY a LIMIT 2);
DELETE FROM t ORDER BY a LIMIT 2;

--! case 77b: UPDATE with LIMIT
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 5), (2, 4), (3, 3);
--! reference UPDATE t SET a = 0 WHERE id IN (SELECT id FROM t WHERE a > 3 ORDER BY id DESC LIMIT 1);
UPDATE t SET a = 0 WHERE a > 3 ORDER BY id DESC LIMIT 1;

--! case 77c adversarial: DELETE with LIMIT and OFFSET
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 5), (2, 4), (3, 3), (4, NULL);
--! reference DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY a LIMIT 1 OFFSET 1);
DELETE FROM t ORDER BY a LIMIT 1 OFFSET 1;

--! case 77d adversarial: The first rows as a subquery names them
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 5), (2, 4), (3, 3);
DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY a LIMIT 2);
UPDATE t SET a = 9 WHERE id = (SELECT min(id) FROM t);

--! case 77e adversarial: UPDATE with OFFSET and NULLs
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, NULL), (2, 4), (3, 3), (4, NULL);
--! reference UPDATE t SET a = 9 WHERE id IN (SELECT id FROM t WHERE id < 4 ORDER BY a DESC, id LIMIT 2 OFFSET 1);
UPDATE t SET a = 9 WHERE id < 4 ORDER BY a DESC, id LIMIT 2 OFFSET 1;

--! case 78a: INSERT RETURNING
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t (a) VALUES ('x'), ('y') RETURNING id, a;
INSERT INTO t (a) VALUES ('z') RETURNING *;

--! case 78b: DELETE RETURNING
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
DELETE FROM t WHERE id = 1 RETURNING a, id + 10 AS n;

--! case 78c adversarial: UPDATE RETURNING gives the new values
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 10), (2, 20);
UPDATE t SET a = a + 1 WHERE id = 2 RETURNING id, a, a - 1;

--! case 78d adversarial: RETURNING of an upsert and of ignored rows
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('a', 1);
INSERT INTO t VALUES ('a', 5) ON CONFLICT (k) DO UPDATE SET n = n + excluded.n RETURNING k, n;
INSERT INTO t VALUES ('a', 7), ('b', 8) ON CONFLICT DO NOTHING RETURNING k, n;

--! case 78g adversarial unmatched: RETURNING of a query on the same table sees the changed rows
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 2), (3, 3) RETURNING id, (SELECT count(*) FROM t);

--! case 79a: DEFAULT VALUES
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x', n INTEGER DEFAULT 5);
INSERT INTO t DEFAULT VALUES;
INSERT INTO t DEFAULT VALUES;

--! case 79b: DEFAULT VALUES without any default
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t DEFAULT VALUES;

--! case 79c adversarial: DEFAULT VALUES against NOT NULL
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL);
INSERT INTO t DEFAULT VALUES;

--! case 79d adversarial: A column left out of NOT NULL without a default
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INTEGER NOT NULL DEFAULT 3);
INSERT INTO t (id) VALUES (1);
INSERT INTO t (a) VALUES ('x');

--! case 80a: Columns exchanged
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2);
UPDATE t SET a = b, b = a;

--! case 80b adversarial: A column set and used in the next
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, total INTEGER);
INSERT INTO t VALUES (1, 1, 10);
UPDATE t SET n = n + 1, total = total + n;

--! case 80c adversarial: A column set twice
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 1);
UPDATE t SET n = 5, n = 7;

--! case 81a: DELETE with a subquery on the same table
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 9), (3, 5);
DELETE FROM t WHERE n < (SELECT max(n) FROM t);

--! case 81b: INSERT from the same table
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 9);
INSERT INTO t SELECT id + 10, n FROM t;

--! case 81c adversarial: UPDATE with a correlated subquery on the same table
CREATE TABLE t (id INTEGER PRIMARY KEY, g TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 5), (2, 'x', 7), (3, 'y', 1);
UPDATE t SET n = (SELECT max(u.n) FROM t AS u WHERE u.g = t.g) WHERE id = 1;

--! case 81d adversarial: DELETE of duplicates, keeping the first
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'y'), (4, 'x');
DELETE FROM t WHERE id NOT IN (SELECT min(id) FROM t GROUP BY a);

--! case 81e adversarial: An UPDATE's subquery on the same table sees the rows changed before
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO t VALUES (1, 5, 0), (2, 6, 0), (3, 7, 0);
UPDATE t SET m = (SELECT sum(u.n) FROM t AS u), n = n + 10;

--! case 81f adversarial unmatched: A query behind CASE sees the rows changed before
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 6), (3, 7);
UPDATE t SET n = CASE WHEN id = 1 THEN 100 ELSE (SELECT sum(n) FROM t) END;

--! case 81g adversarial unmatched: A query through a view, for each row, sees the rows changed before
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 6), (3, 7);
CREATE VIEW v AS SELECT id, n FROM t;
UPDATE t SET n = (SELECT sum(v.n) FROM v WHERE v.id <= t.id);

--! case 81h adversarial: The sum of all rows, computed once, in arithmetic and next to a column
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, m INTEGER);
INSERT INTO t VALUES (1, 5, 0), (2, 6, 0), (3, 7, 0);
UPDATE t SET n = n * 10 + (SELECT sum(n) FROM t), m = (SELECT max(id) FROM t) - id;

--! case 82a: A row set from values
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 10, 20);
UPDATE t SET (a, b) = (b, a);

--! case 82b: A row set from a query
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER);
CREATE TABLE u (id INTEGER PRIMARY KEY, x INTEGER, y INTEGER);
INSERT INTO t VALUES (1, 0, 0), (2, 0, 0);
INSERT INTO u VALUES (1, 5, 6);
UPDATE t SET (a, b) = (SELECT x, y FROM u WHERE u.id = t.id);

--! case 82c adversarial: A row and a column set
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c INTEGER);
INSERT INTO t VALUES (1, 1, 2, 3);
UPDATE t SET (a, b) = (c, a), c = a + b WHERE id = 1;

--! case 76x adversarial: UPDATE OR IGNORE of several keys, of the row itself, and of no key
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE, b TEXT, c INTEGER, UNIQUE (b, c));
INSERT INTO t VALUES (1, 10, 'x', 1), (2, 20, 'x', 2), (3, NULL, 'y', 1), (4, 40, NULL, 1);
UPDATE OR IGNORE t SET a = a WHERE id = 1;
UPDATE OR IGNORE t SET a = a + 10 WHERE id = 1;
UPDATE OR IGNORE t SET c = 2 WHERE id = 1;
UPDATE OR IGNORE t SET c = 2, b = 'y' WHERE id = 1 AND a = 10;
UPDATE OR IGNORE t SET a = NULL WHERE id = 2;
UPDATE OR IGNORE t SET b = NULL WHERE id = 3;
UPDATE OR IGNORE t SET id = 4 WHERE id = 1;
UPDATE OR IGNORE t SET id = 5, a = 41 WHERE id = 4;
--! params 10, 3
UPDATE OR IGNORE t SET a = ?1 WHERE id = ?2;
UPDATE OR IGNORE t AS s SET a = 11, c = s.id WHERE s.a = 10;

--! case 75x adversarial: The new row's text next to a changed text
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT);
INSERT INTO t VALUES (1, 'x', 'y');
INSERT INTO t (id, a) VALUES (1, 'z') ON CONFLICT (id) DO UPDATE SET b = excluded.a, a = id || 'q';
SELECT id, a, b FROM t;

--! case 73m adversarial: OR IGNORE skips rows without a value that is needed, literal or computed
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INTEGER, u INTEGER NOT NULL DEFAULT 4, UNIQUE (a));
INSERT INTO t (a) VALUES ('x');
INSERT OR IGNORE INTO t (id, a, n, u) VALUES (6, 'y', NULL, 1), (7, NULL, 3, 1), (9, 'z', 3, NULL), (8, 'w', 3, 2);
INSERT OR IGNORE INTO t (id, a, n) SELECT id + 10, nullif(a, 'x'), n FROM t WHERE a = 'x';
INSERT OR IGNORE INTO t (id, a, n) SELECT id + 20, nullif(a, 'x') || 'q', n FROM t;
SELECT id, a, n, u FROM t;

--! case 76e adversarial: UPDATE OR REPLACE of a row under two keys, of several rows without one, and of the row itself
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE, b TEXT, c INTEGER, UNIQUE (b, c));
INSERT INTO t VALUES (1, 10, 'x', 1), (2, 20, 'x', 2), (3, 30, 'y', 1), (4, NULL, NULL, 1);
UPDATE OR REPLACE t SET a = 20, b = 'y' WHERE id = 1;
UPDATE OR REPLACE t SET a = a WHERE id = 1;
UPDATE OR REPLACE t SET b = NULL, a = NULL WHERE id = 1;
--! params 4, 1
UPDATE OR REPLACE t SET id = ?1 WHERE id = ?2;
INSERT INTO t VALUES (5, 50, 'x', 5), (6, 60, 'x', 6);
UPDATE OR REPLACE t SET a = 60, c = 7 WHERE a = 50;
SELECT id, a, b, c FROM t;

--! case 82d adversarial: A row set from a query with a parameter, no row, and aggregates
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
CREATE TABLE u (id INTEGER PRIMARY KEY, x INTEGER, y TEXT);
INSERT INTO t VALUES (1, 0, 'n'), (2, 0, 'n');
INSERT INTO u VALUES (1, 5, 'p'), (2, 7, 'q');
--! params 2
UPDATE t SET (a, b) = (SELECT x + id, y || 'r' FROM u WHERE u.id = ?1) WHERE id = 1;
UPDATE t SET (b, a) = (SELECT y, x FROM u WHERE u.id = t.id + 5) WHERE id = 2;
SELECT id, a, b FROM t;
UPDATE t SET (a, b) = (SELECT sum(x), max(y) FROM u);

--! case 73n adversarial: OR IGNORE of a row that leaves out what is needed
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INTEGER);
INSERT INTO t VALUES (1, 'x', 2);
INSERT OR IGNORE INTO t (n) VALUES (3);
INSERT OR IGNORE INTO t (id, n) SELECT id + 1, n FROM t;
SELECT id, a, n FROM t;

--! case 73o adversarial breaks=or-ignore: OR IGNORE skips rows without a value that is needed, bound
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INTEGER);
--! params 'first', NULL
INSERT OR IGNORE INTO t (a, n) VALUES (?1, ?2);
--! params NULL, 5
INSERT OR IGNORE INTO t (a, n) VALUES (?1, ?2);
--! params 'xyz', 6
INSERT OR IGNORE INTO t (a, n) VALUES (?1, ?2);
SELECT a, n FROM t;

--! case 75p adversarial: Several conflict targets: both at once, a condition, nothing, a bound row and no conflict
CREATE TABLE t (k INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER, a TEXT, b TEXT, UNIQUE (a, b));
INSERT INTO t VALUES (1, 'x', 0, 'p', 'q'), (2, 'y', 0, 'p', 'r'), (3, 'z', 0, NULL, 's');
INSERT INTO t (k, u, n) VALUES (1, 'y', 5)
    ON CONFLICT (u) DO UPDATE SET n = n + excluded.n ON CONFLICT (k) DO UPDATE SET n = 100;
INSERT INTO t VALUES (9, 'z', 6, 'p', 'q')
    ON CONFLICT (a, b) DO UPDATE SET n = excluded.n WHERE t.n > 50 ON CONFLICT (u) DO UPDATE SET n = 100;
--! params 3, 'new', 8
INSERT INTO t (k, u, n) VALUES (?1, ?2, ?3)
    ON CONFLICT (u) DO NOTHING ON CONFLICT (k) DO UPDATE SET u = excluded.u, n = coalesce(n, 0) + ?3;
INSERT INTO t (k, u, n) VALUES (4, 'new', 8) ON CONFLICT (u) DO NOTHING ON CONFLICT (k) DO UPDATE SET n = 7;
INSERT INTO t (k, u, n) VALUES (5, 'five', 5) ON CONFLICT (u) DO NOTHING ON CONFLICT (k) DO UPDATE SET n = 7;
SELECT k, u, n, a, b FROM t;

--! case 81p adversarial: Rows of a query whose key is NULL, or sometimes NULL
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INTEGER, r REAL);
CREATE TABLE u (k INTEGER, a TEXT);
INSERT INTO u VALUES (NULL, 'x'), (7, 'y');
INSERT INTO t (id, a) SELECT NULL, a FROM u WHERE k = 7;
INSERT INTO t (id, a, n, r) SELECT k, a, NULL, NULL FROM u;
INSERT INTO t (n, id, a) SELECT NULL, NULL, NULL FROM u WHERE k = 7;
SELECT count(*), count(a), count(n), count(DISTINCT id) FROM t;

--! case 80p adversarial breaks=unique-changed: Keys are moved to values that other rows still have
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (3, 'z');
INSERT INTO t VALUES (2, 'y');
INSERT INTO t VALUES (1, 'x');
UPDATE t SET id = id + 1;

--! case 80q adversarial: Keys are moved to values that no row has, and to a constant
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, n INTEGER);
INSERT INTO t VALUES (1, 'x', 5), (2, 'y', 6), (3, 'z', 7);
UPDATE t SET id = id + 10, a = a || id;
UPDATE t SET a = 'same' WHERE n > 5;
UPDATE t SET id = id - 1 WHERE id = 11;
SELECT id, a, n FROM t;

--! case 80r adversarial: Rows are stored after keys that UPDATE moved past the counter
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t (a) VALUES ('x'), ('y');
UPDATE t SET id = 3 WHERE id = 2;
INSERT OR IGNORE INTO t (a) VALUES ('four');
UPDATE t SET rowid = rowid + 10 WHERE a = 'four';
INSERT INTO t (a) VALUES ('fifteen') ON CONFLICT (id) DO UPDATE SET a = 'overwritten';
--! params 30, 15
UPDATE t SET a = a || '!', id = ?1 WHERE id = ?2;
REPLACE INTO t (a) VALUES ('next');
UPDATE t SET id = -5 WHERE id = 1;
INSERT INTO t (a) VALUES ('last') ON CONFLICT DO NOTHING;
SELECT id, a FROM t;

--! case 75q adversarial unmatched=MariaDB: Rows are stored after keys that an upsert moved past the counter
CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER);
INSERT INTO t (u) VALUES ('x'), ('y');
INSERT INTO t (id, u) VALUES (3, 'y') ON CONFLICT (id) DO UPDATE SET n = 7 ON CONFLICT (u) DO UPDATE SET id = 4, n = 8;
INSERT OR IGNORE INTO t (u) VALUES ('first');
INSERT OR IGNORE INTO t (u) VALUES ('second');
SELECT u, n, id > 4 FROM t;

--! case 75r adversarial: Rows are stored after a key that an upsert moved past the counter
CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
INSERT INTO t (u) VALUES ('y') ON CONFLICT (u) DO UPDATE SET id = 4;
INSERT OR IGNORE INTO t (u) VALUES ('first');
INSERT OR IGNORE INTO t (u) VALUES ('second');
SELECT u, id > 4 FROM t WHERE u <> 'x';

--! case 80s adversarial: A trigger moves a key past the counter
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE s (n INTEGER);
CREATE TRIGGER s_new AFTER INSERT ON s BEGIN UPDATE t SET id = new.n WHERE id = 1; END;
INSERT INTO t (a) VALUES ('x');
INSERT INTO s VALUES (2);
INSERT OR IGNORE INTO t (a) VALUES ('three');
SELECT id, a FROM t;

--! case 80t adversarial: Reals of more than 15 digits in DECIMAL columns, from expressions and queries
CREATE TABLE x (id INTEGER PRIMARY KEY, r REAL, t TEXT, b BLOB);
CREATE TABLE n (id INTEGER PRIMARY KEY, d DECIMAL(10, 2), t TEXT, b BLOB, k INTEGER);
INSERT INTO x VALUES (1, 0.30000000000000004, 'a', x'00'), (2, 0.1, NULL, NULL), (3, -1234567.1234567891, 'b', x'01'), (4, 7.0, 'c', NULL);
INSERT INTO n (id, d, t, b, k) SELECT id, r, t, b, NULL FROM x ORDER BY id;
INSERT INTO n (id, d, k) SELECT 5, r + 0.2, 5 FROM x WHERE id = 2 UNION ALL SELECT 6, r * 3, 6 FROM x WHERE id = 2;
INSERT INTO n (id, d) VALUES (9, 1.1 * 1.1), (10, 5);
--! params 0.1
INSERT INTO n (id, d) VALUES (11, ?1 * 3.0);
UPDATE n SET d = (SELECT r FROM x WHERE id = 1) WHERE id = 4;
INSERT INTO n (id, d) VALUES (4, 0) ON CONFLICT (id) DO UPDATE SET d = 0.7 + 0.1;
INSERT INTO n (id, d) SELECT id + 20, r FROM x;
SELECT id, d, typeof(d), t, b, k FROM n;
SELECT n.id, x.id FROM n JOIN x ON n.d = x.r;
SELECT id FROM n WHERE d = 0.3;
SELECT id FROM n WHERE d = 0.30000000000000004;

--! case 80u adversarial unmatched=MariaDB: A DECIMAL column plus a real
CREATE TABLE n (id INTEGER PRIMARY KEY, d NUMERIC);
INSERT INTO n VALUES (1, 0.2), (2, 4);
UPDATE n SET d = d + 0.1;
SELECT id, d, typeof(d) FROM n;
SELECT id FROM n WHERE d = 0.3;

--! case 80v adversarial unmatched=MariaDB breaks=numeric-columns: Large reals in DECIMAL columns
CREATE TABLE x (id INTEGER PRIMARY KEY, r REAL);
CREATE TABLE n (id INTEGER PRIMARY KEY, d NUMERIC);
INSERT INTO x VALUES (1, 1000000000000000.2), (2, 1152921504606846976.0), (3, 1.5e300), (4, -9007199254740994.0), (5, 1e-7);
INSERT INTO n SELECT id, r FROM x;
UPDATE n SET d = d + 1 WHERE id = 4;
SELECT id, d, typeof(d) FROM n;
SELECT count(*) FROM n JOIN x ON n.d = x.r;

--! case 75s adversarial: A conflict by an index with another collation than its column's
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INTEGER);
CREATE UNIQUE INDEX u ON t (a COLLATE NOCASE);
INSERT INTO t VALUES (1, 'x', 1);
INSERT INTO t (a, n) VALUES ('X', 2) ON CONFLICT DO UPDATE SET n = excluded.n;
INSERT INTO t (a, n) VALUES ('X', 3) ON CONFLICT (a) DO UPDATE SET a = excluded.a, n = excluded.n;
INSERT INTO t (a, n) VALUES ('x', 4) ON CONFLICT (a) DO NOTHING;
SELECT a, n FROM t;

--! case 75t adversarial: A conflict by an index that does not ignore case, as its column does
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, n INTEGER);
CREATE UNIQUE INDEX u ON t (a COLLATE BINARY);
INSERT INTO t (a, n) VALUES ('x', 1), ('X', 2);
INSERT INTO t (a, n) VALUES ('X', 3) ON CONFLICT (a) DO UPDATE SET n = excluded.n;
SELECT id, n FROM t;

--! case 75u adversarial unmatched=PostgreSQL: Conflicts by an index of two columns, one of which ignores case, and REPLACE by one
CREATE TABLE v (id INTEGER PRIMARY KEY, a TEXT, b TEXT, n INTEGER);
CREATE UNIQUE INDEX w ON v (a COLLATE NOCASE, b);
INSERT INTO v (a, b, n) VALUES ('x', 'y', 1);
INSERT INTO v (a, b, n) VALUES ('X', 'y', 2) ON CONFLICT (a, b) DO UPDATE SET n = excluded.n;
CREATE TABLE t (a TEXT, n INTEGER);
CREATE UNIQUE INDEX u ON t (a COLLATE NOCASE);
INSERT INTO t VALUES ('x', 1);
INSERT OR REPLACE INTO t VALUES ('X', 2);
SELECT a, n FROM t;

--! case 76y adversarial unmatched: A literal text for an integer column, by whose name the query chooses rows
CREATE TABLE s (y TEXT);
CREATE TABLE t (n INTEGER);
INSERT INTO s VALUES ('a'), ('b');
INSERT INTO t (n) SELECT '008' FROM s WHERE y = 'a';
INSERT INTO t (n) SELECT '009' AS x FROM s;
INSERT INTO t (n) SELECT '007' AS x FROM s WHERE x = '007';
INSERT INTO t (n) SELECT '006' AS x FROM s JOIN s AS r ON x = '006' AND r.y = s.y;
SELECT n, typeof(n) FROM t;

--! case 67y adversarial: Long texts that begin alike are groups and partitions of their own
CREATE TABLE o (id INTEGER PRIMARY KEY, a TEXT, b BLOB, k TEXT UNIQUE);
INSERT INTO o VALUES (1, printf('%09000d', 1), x'01', 'p'), (2, printf('%09000d', 2), x'02', 'q'), (3, printf('%09000d', 1), x'01', 'r'), (4, NULL, NULL, NULL);
--! ordered
SELECT id, count(*) OVER (PARTITION BY a), sum(id) OVER (PARTITION BY b), count(*) OVER (PARTITION BY k) FROM o ORDER BY id;
--! ordered
SELECT max(id), count(*), count(DISTINCT id), group_concat(k, '-') FROM o GROUP BY a HAVING count(*) < 2 ORDER BY max(id);
--! ordered
SELECT max(id), count(*), length(a), group_concat(id) FROM o WHERE id <> 1 GROUP BY a, b ORDER BY max(id);
SELECT k, count(*) FROM o GROUP BY k;
SELECT length(s), group_concat(id) FROM (SELECT id, a || 'x' AS s FROM o WHERE id < 3) GROUP BY s ORDER BY 2;

--! case 53q adversarial: The average of integers beyond 2^53
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 9223372036854775807), (2, -9223372036854775808);
SELECT avg(n) FROM t;

--! case 65r adversarial unmatched=MariaDB: A row of columns set from an aggregate and another value
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b');
CREATE TABLE u (i INTEGER);
UPDATE t SET (a, b) = (SELECT count(*), 'none' FROM u);
