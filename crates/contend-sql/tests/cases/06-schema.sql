--! case 83a: WITHOUT ROWID
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
INSERT INTO t VALUES ('a', 1), ('b', 2);
INSERT INTO t VALUES ('a', 3);
SELECT k, n FROM t;

--! case 83b: STRICT
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INT, r REAL) STRICT;
INSERT INTO t VALUES (1, 'x', 2, 3.5);
SELECT a, n, r FROM t;

--! case 83c adversarial: The key of a WITHOUT ROWID table is NOT NULL
CREATE TABLE t (k TEXT, n INTEGER, PRIMARY KEY (k)) WITHOUT ROWID;
INSERT INTO t VALUES (NULL, 1);
INSERT INTO t VALUES ('x', 1);

--! case 83d adversarial: The key of an ordinary table is not
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('x', 3);
SELECT k, n FROM t;

--! case 84a: An expression as a default
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER DEFAULT (1 + 2), b TEXT DEFAULT ('x' || 'y'));
INSERT INTO t (id) VALUES (1);

--! case 84b: Defaults of every kind
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER DEFAULT -5, r REAL DEFAULT 1.5, x TEXT DEFAULT 'it''s', n TEXT DEFAULT NULL, f BOOLEAN DEFAULT TRUE);
INSERT INTO t (id) VALUES (1);
SELECT i, r, x, n, f FROM t;

--! case 84c adversarial: A default in double quotes, a number as the default of a text
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT "none", b TEXT DEFAULT 0, c INTEGER DEFAULT '7');
INSERT INTO t (id) VALUES (1);
SELECT a, b, c, typeof(b), typeof(c) FROM t;

--! case 84d adversarial: A default computed from the time
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT DEFAULT (datetime('now')), s INTEGER DEFAULT (strftime('%s', 'now')));
INSERT INTO t (id) VALUES (1);
SELECT length(at), s > 1700000000, typeof(s) FROM t;
DELETE FROM t;

--! case 84e adversarial: The year as a default of an integer, and of a text
CREATE TABLE t (id INTEGER PRIMARY KEY, y INTEGER DEFAULT (strftime('%Y', '2024-05-01')), x TEXT DEFAULT (strftime('%d', '2024-05-01')));
INSERT INTO t (id) VALUES (1);
SELECT y, x, typeof(y), typeof(x) FROM t;

--! case 85a: A text as the key
CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES ('a', 1), ('A', 2), ('', 3);
SELECT n FROM t WHERE k = 'A';

--! case 85b: An index and a unique constraint on texts
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT UNIQUE);
CREATE INDEX t_a ON t (a);
CREATE UNIQUE INDEX t_ab ON t (a, b);
INSERT INTO t VALUES (1, 'x', 'p'), (2, 'x', 'q');
INSERT INTO t VALUES (3, 'y', 'p');
SELECT id FROM t WHERE a = 'x';
CREATE INDEX t_with_a_very_long_name_of_an_index_over_two_columns_a_and_b_of_this_table_1_idx ON t (b);
CREATE UNIQUE INDEX IF NOT EXISTS t_with_a_very_long_name_of_an_index_over_two_columns_a_and_b_of_this_table_2_idx ON t (b, a);
DROP INDEX t_with_a_very_long_name_of_an_index_over_two_columns_a_and_b_of_this_table_1_idx;
DROP INDEX IF EXISTS t_with_a_very_long_name_of_an_index_over_two_columns_a_and_b_of_this_table_2_idx;

--! case 85c adversarial breaks=key-length: Long texts in a unique column, different at the end
CREATE TABLE t (a TEXT UNIQUE);
INSERT INTO t VALUES (replace(hex(zeroblob(500)), '00', 'ab') || '1');
INSERT INTO t VALUES (replace(hex(zeroblob(500)), '00', 'ab') || '2');
SELECT length(a) FROM t;

--! case 85d adversarial: A text in an index longer than a page's share
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
CREATE INDEX t_a ON t (a);
INSERT INTO t VALUES (1, replace(hex(zeroblob(6000)), '00', 'xy'));
SELECT length(a) FROM t;

--! case 85e adversarial: A unique column distinguishes letter case, accents and NULLs
CREATE TABLE t (a TEXT UNIQUE);
INSERT INTO t VALUES ('a'), ('A'), ('á'), (NULL), (NULL);
SELECT count(*) FROM t;

--! case 85f: A blob as the key
CREATE TABLE t (k BLOB PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (x'00', 1), (x'0000', 2);
INSERT INTO t VALUES (x'00', 3);

--! case 86a: A partial index
CREATE TABLE t (a INTEGER, b INTEGER);
CREATE INDEX t_a ON t (a) WHERE b > 0;
INSERT INTO t VALUES (1, 1), (1, 0);
SELECT a, b FROM t WHERE a = 1 AND b > 0;

--! case 86b adversarial: A partial unique index
CREATE TABLE t (a INTEGER, gone INTEGER);
CREATE UNIQUE INDEX t_a ON t (a) WHERE gone = 0;
INSERT INTO t VALUES (1, 0), (1, 1), (1, 1);
INSERT INTO t VALUES (1, 0);
SELECT a, gone FROM t;

--! case 86c: An index over an expression
CREATE TABLE t (a TEXT, n INTEGER);
CREATE INDEX t_l ON t (lower(a));
CREATE INDEX t_n ON t (n DESC, a);
INSERT INTO t VALUES ('X', 1), ('y', 2);
SELECT n FROM t WHERE lower(a) = 'x';

--! case 86d adversarial: A unique index over an expression
CREATE TABLE t (a TEXT);
CREATE UNIQUE INDEX t_l ON t (lower(a));
INSERT INTO t VALUES ('x');
INSERT INTO t VALUES ('X');
SELECT a FROM t;

--! case 87a adversarial: A unique column that replaces
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE ON CONFLICT REPLACE);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
INSERT INTO t VALUES (3, 'x');

--! case 87b adversarial: A constraint that ignores
CREATE TABLE t (a INTEGER, b INTEGER, UNIQUE (a) ON CONFLICT IGNORE);
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (1, 2);

--! case 87c: A constraint that aborts, as all do
CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT ABORT, a TEXT NOT NULL ON CONFLICT ABORT);
INSERT INTO t VALUES (1, 'x');
INSERT INTO t VALUES (1, 'y');

--! case 87d adversarial: A statement's own word wins over the constraint's
CREATE TABLE t (k TEXT UNIQUE ON CONFLICT REPLACE, n INTEGER DEFAULT 9, s TEXT);
INSERT INTO t VALUES ('a', 1, 'x'), ('b', 2, 'y');
INSERT INTO t (k, s) VALUES ('a', 'z');
INSERT OR IGNORE INTO t VALUES ('b', 5, 'w');
INSERT OR ABORT INTO t VALUES ('b', 6, 'w');
UPDATE t SET n = n + 1 WHERE k = 'b';
INSERT INTO t VALUES (NULL, 3, 'n'), (NULL, 4, 'n');

--! case 87e adversarial: A key that ignores next to one that does not
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER UNIQUE ON CONFLICT IGNORE);
INSERT INTO t (a, b) VALUES (1, 10), (3, 30), (2, 10);
SELECT a, b FROM t;

--! case 88a: Foreign keys are off: nothing is checked
CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id));
INSERT INTO p VALUES (1, 'x');
INSERT INTO c VALUES (1, 1), (2, 1);

--! case 88b adversarial: Foreign keys are off: a row without a parent
CREATE TABLE p (id INTEGER PRIMARY KEY);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id));
INSERT INTO c VALUES (1, 99);
DELETE FROM p WHERE id = 1;

--! case 88c: Foreign keys on
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p (id));
INSERT INTO p VALUES (1);
INSERT INTO c VALUES (1, 1);
INSERT INTO c VALUES (2, 99);
DELETE FROM p;

--! case 88d adversarial: What goes with its parent
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE, q INTEGER REFERENCES p (id) ON DELETE SET NULL);
INSERT INTO p VALUES (1), (2);
INSERT INTO c VALUES (1, 1, 2), (2, 2, 1);
DELETE FROM p WHERE id = 1;

--! case 88e: A reference to a table that comes later
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER, FOREIGN KEY (p) REFERENCES p (id));
CREATE TABLE p (id INTEGER PRIMARY KEY);
INSERT INTO p VALUES (1);
INSERT INTO c VALUES (1, 1);

--! case 88f adversarial: A parent that is changed, a key of two columns, a reference to itself
PRAGMA foreign_keys = ON;
CREATE TABLE p (a INTEGER, b INTEGER, UNIQUE (a, b));
CREATE TABLE c (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, up INTEGER REFERENCES c (id), FOREIGN KEY (a, b) REFERENCES p (a, b) ON UPDATE CASCADE);
INSERT INTO p VALUES (1, 1), (1, 2);
INSERT INTO c VALUES (1, 1, 1, NULL), (2, 1, 2, 1), (3, NULL, 7, 2);
UPDATE p SET b = 5 WHERE b = 2;
INSERT INTO c VALUES (4, 2, 2, NULL);
INSERT OR IGNORE INTO c VALUES (5, 9, 9, NULL);
UPDATE c SET up = 77 WHERE id = 1;
DELETE FROM p WHERE b = 5;
DELETE FROM c WHERE id = 1;

--! case 88g adversarial unmatched: REPLACE takes what refers to the row with it
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE);
INSERT INTO p VALUES (1, 1);
INSERT INTO c VALUES (1, 1);
REPLACE INTO p VALUES (1, 2);

--! case 88h adversarial unmatched=MariaDB: A key that follows its parent's is not given again
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
CREATE TABLE c (id INTEGER PRIMARY KEY REFERENCES p ON UPDATE CASCADE, x INTEGER);
CREATE TABLE d (id INTEGER PRIMARY KEY REFERENCES c ON UPDATE CASCADE, x INTEGER);
INSERT INTO p VALUES (1, 1);
INSERT INTO c VALUES (1, 1);
INSERT INTO d VALUES (1, 1);
UPDATE p SET id = 2 WHERE n = 1;
INSERT INTO p VALUES (3, 3);
INSERT INTO c (x) VALUES (3);
INSERT INTO d (x) VALUES (3);
INSERT INTO p VALUES (8, 1) ON CONFLICT (n) DO UPDATE SET id = 4;
INSERT INTO p VALUES (5, 5);
INSERT INTO c (x) VALUES (5);
INSERT INTO d (x) VALUES (5);
SELECT c.id, c.x, d.id, d.x FROM c JOIN d ON d.id = c.id ORDER BY c.id;

--! case 89a: CHECK
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER CHECK (n > 0), CHECK (n < 100));
INSERT INTO t VALUES (1, 5);
INSERT INTO t VALUES (2, -5);
INSERT INTO t VALUES (3, 500);
INSERT INTO t VALUES (4, NULL);

--! case 89b: Generated columns
CREATE TABLE t (a INTEGER, b INTEGER GENERATED ALWAYS AS (a * 2) STORED, c INTEGER AS (a + 1));
INSERT INTO t (a) VALUES (5), (NULL);
UPDATE t SET a = 6 WHERE a = 5;
SELECT a, b, c FROM t;

--! case 89c adversarial: CHECK with IN, LIKE, length
CREATE TABLE t (kind TEXT CHECK (kind IN ('a', 'b')), name TEXT CHECK (length(name) > 1), m TEXT CHECK (m LIKE '%@%'));
INSERT INTO t VALUES ('a', 'xx', 'A@b');
INSERT INTO t VALUES ('A', 'xx', 'a@b');
INSERT INTO t VALUES ('b', 'x', 'a@b');

--! case 89e adversarial: Spaces at the end of texts that a generated column and a CHECK make
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER,
    g TEXT GENERATED ALWAYS AS (iif(CAST(n AS TEXT) = '1 ', 'wrong', 'right')) STORED,
    h TEXT GENERATED ALWAYS AS (n || '') STORED,
    CHECK (CAST(n AS TEXT) <> '7 '), CHECK (n || '' <> '8 ' AND printf('%d', n) <> '9 '));
INSERT INTO t (id, n) VALUES (1, 1), (2, 2), (3, 7), (4, 8), (5, 9);
SELECT id, h = '1 ', h < '1 ' FROM t;

--! case 89d adversarial: A number as a check
CREATE TABLE t (a INTEGER CHECK (a), b INTEGER CHECK (typeof(b) = 'integer'));
INSERT INTO t VALUES (1, 2);
INSERT INTO t VALUES (0, 2);

--! case 89f: Generated columns of other ones
CREATE TABLE t (a INTEGER, b INTEGER AS (a * 2), c TEXT AS (b || 'x') STORED, d REAL AS (b / 4.0));
INSERT INTO t (a) VALUES (5), (NULL);
UPDATE t SET a = 6 WHERE a IS NULL;
SELECT a, b, c, d FROM t;

--! case 89g adversarial unmatched=MariaDB: A CHECK and a generated column over the column with the rowid
CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id < 10), n INTEGER AS (id + 1) NOT NULL);
INSERT INTO t (id) VALUES (1), (7);
INSERT INTO t (id) VALUES (11);
SELECT id, n FROM t;

--! case 89h adversarial: Two conditions of one column, before what else it has
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER CHECK (a > 0) NOT NULL CHECK (a < 10 OR a = 20) DEFAULT 5 UNIQUE,
    b TEXT CHECK (b <> '') DEFAULT 'x', g INTEGER UNIQUE AS (a * 2) STORED);
INSERT INTO t (id, a) VALUES (1, 1), (2, 20);
INSERT INTO t (id, a) VALUES (3, 0);
INSERT INTO t (id, a) VALUES (3, 10);
INSERT INTO t (id, a) VALUES (3, 1);
INSERT INTO t (id, a) VALUES (3, NULL);
INSERT INTO t (id, a, b) VALUES (3, 2, '');
INSERT INTO t (id, b) VALUES (4, NULL);
SELECT a, b, g FROM t;

--! case 90a: ADD COLUMN
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD COLUMN a TEXT DEFAULT 'x';
ALTER TABLE t ADD b INTEGER;
SELECT id, a, b FROM t;

--! case 90b: RENAME of a table and of a column
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x');
ALTER TABLE t RENAME TO u;
ALTER TABLE u RENAME COLUMN a TO b;
SELECT b FROM u;

--! case 90c: DROP COLUMN
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT);
INSERT INTO t VALUES (1, 'x', 'y');
ALTER TABLE t DROP COLUMN a;
SELECT * FROM t;

--! case 90d adversarial: ADD COLUMN of NOT NULL with a default, used by an index
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO t VALUES (1, 'x');
ALTER TABLE t ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
CREATE INDEX t_n ON t (n);
UPDATE t SET n = n + 1 WHERE n = 0;
ALTER TABLE t RENAME COLUMN n TO "number of";
SELECT "number of" FROM t;

--! case 90e: DROP TABLE and IF EXISTS
CREATE TABLE t (a INTEGER);
CREATE TABLE IF NOT EXISTS t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1);
DROP TABLE IF EXISTS u;
DROP TABLE t;
CREATE TABLE t (c TEXT);
INSERT INTO t VALUES ('new');

--! case 90f: CREATE TABLE AS
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
CREATE TABLE u AS SELECT a, b FROM t WHERE a > 1;
SELECT a, b FROM u;

--! case 91a: The schema main
CREATE TABLE main.t (a INTEGER);
INSERT INTO main.t VALUES (1);
SELECT main.t.a FROM main.t;

--! case 91b: A temporary table
CREATE TEMP TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x');
INSERT INTO temp.t VALUES (2, 'y');
SELECT a, b FROM t;

--! case 91c adversarial: A temporary table hides one of the same name
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
CREATE TEMP TABLE t (a INTEGER);
INSERT INTO t VALUES (2);
SELECT a FROM t;
SELECT a FROM main.t;

--! case 91d: CREATE TEMP TABLE AS
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
CREATE TEMPORARY TABLE u AS SELECT a * 10 AS b FROM t;
SELECT b FROM u;

--! case 91e adversarial unmatched: A change of the table that a temporary one hides
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
CREATE TEMP TABLE t (a INTEGER);
INSERT INTO main.t VALUES (2);
DELETE FROM temp.t;
SELECT a FROM main.t;

--! case 92a: A view
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
CREATE VIEW v AS SELECT a, b || '!' AS c FROM t WHERE a > 1;
SELECT a, c FROM v;

--! case 92b: A view with names of its columns, joined
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
CREATE VIEW v (n, m) AS SELECT a, a * 2 FROM t;
SELECT v.m, t.a FROM v JOIN t ON t.a = v.n;
DROP VIEW v;

--! case 92c adversarial: The types of a view's columns
CREATE TABLE t (a INTEGER, x TEXT);
INSERT INTO t VALUES (5, '5'), (3, '7');
CREATE VIEW v AS SELECT a, x, a / 2 AS h, a > 4 AS big, x = 5 AS five FROM t;
SELECT a, h * 2, big + 1, five FROM v WHERE x = '5' OR h = 1;

--! case 92e adversarial: Spaces at the end of texts that a view makes
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT, d TEXT);
INSERT INTO t VALUES (1, 1, 'a', '2024-02-29'), (2, 22, 'b ', '2024-03-01');
CREATE VIEW v AS SELECT id, CAST(n AS TEXT) AS a, n || '' AS b, hex(s) AS c, printf('%d', n) AS d, quote(n) AS e,
    upper(s) AS f, date(d) AS g, coalesce(CAST(n AS TEXT), s) AS h, 'x' AS i, substr(s, 1, 1) AS j, hex(n) AS k,
    replace(s, 'a', 'c') AS l, iif(n > 1, s, n || 'y') AS m, printf('%03d', n) AS o FROM t;
SELECT id, a = '1 ', b = '1 ', c = '61 ', d = '1 ', e = '1 ', f = 'A ', g = '2024-02-29 ', h = '1 ' FROM v;
SELECT id, i = 'x ', j = 'a ', k = '31 ', l = 'c ', m = '1y ', o = '001 ' FROM v;
SELECT id, a < '1 ', b < a || ' ', max(d, '1 '), e IN ('1 ', '22'), h BETWEEN '1' AND '1 ' FROM v;
SELECT count(*), count(DISTINCT a) FROM (SELECT a FROM v UNION SELECT a || ' ' FROM v);
CREATE VIEW w AS SELECT id FROM t WHERE CAST(n AS TEXT) = '1 ' OR n || '' = '22 ' OR printf('%d', n) = '1 ' OR hex(s) = '61 ';
SELECT id FROM w;

--! case 92d adversarial: A view that can be changed by a trigger
CREATE TABLE t (a INTEGER, b INTEGER);
CREATE VIEW v AS SELECT a FROM t;
CREATE TRIGGER v_insert INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.a, new.a * 2); END;
INSERT INTO v VALUES (5);
SELECT a, b FROM t;

--! case 93a: A trigger that keeps a log
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE log (t INTEGER, was INTEGER, now INTEGER);
CREATE TRIGGER t_log AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (old.id, old.n, new.n); END;
INSERT INTO t VALUES (1, 5), (2, 6);
UPDATE t SET n = n + 1 WHERE id = 1;
SELECT t, was, now FROM log;

--! case 93b adversarial: A trigger with a condition that changes other rows
CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER, v INTEGER);
INSERT INTO p VALUES (1, 0), (2, 0);
CREATE TRIGGER c_count AFTER INSERT ON c WHEN new.v > 0 BEGIN UPDATE p SET n = n + new.v WHERE id = new.p; END;
INSERT INTO c VALUES (1, 1, 5), (2, 2, -1), (3, 1, 2);

--! case 93c adversarial: REPLACE fires no delete trigger
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE log (id INTEGER, what TEXT);
CREATE TRIGGER t_gone AFTER DELETE ON t BEGIN INSERT INTO log VALUES (old.id, 'gone'); END;
INSERT INTO t VALUES (1, 'x'), (2, 'y');
REPLACE INTO t VALUES (1, 'z');
DELETE FROM t WHERE id = 2;

--! case 93d adversarial: RAISE in a trigger
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TRIGGER t_no BEFORE INSERT ON t WHEN new.n < 0 BEGIN SELECT RAISE(IGNORE); END;
INSERT INTO t VALUES (1, 1), (2, -1);
SELECT id FROM t;

--! case 94a unmatched: Full-text search
CREATE VIRTUAL TABLE f USING fts5 (a);
INSERT INTO f VALUES ('hello world'), ('other');
SELECT a FROM f WHERE f MATCH 'hello';

--! case 94b unmatched: R*Tree
CREATE VIRTUAL TABLE r USING rtree (id, x0, x1);
INSERT INTO r VALUES (1, 0.0, 5.0);
SELECT id FROM r WHERE x0 < 1;

--! case 94c adversarial unmatched: MATCH on an ordinary table's neighbour
CREATE VIRTUAL TABLE f USING fts4 (title, body);
CREATE TABLE t (id INTEGER PRIMARY KEY, f INTEGER);
INSERT INTO f (docid, title, body) VALUES (1, 'one', 'red fox');
INSERT INTO t VALUES (10, 1);
SELECT t.id FROM t JOIN f ON f.docid = t.f WHERE f.body MATCH 'fox';

--! case 95a: Whether a table is there
CREATE TABLE t (a INTEGER);
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 't';

--! case 95b adversarial unmatched: The text of the schema
CREATE TABLE t (a INTEGER);
SELECT name, sql FROM sqlite_schema;

--! case 95c: Columns of a table
CREATE TABLE t (a INTEGER, b TEXT);
SELECT name FROM pragma_table_info('t');

--! case 95d adversarial: Tables, keys, indexes and views by their kind
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE, c INTEGER, UNIQUE (b, c));
CREATE TABLE "o'k" (x TEXT PRIMARY KEY);
CREATE INDEX t_c ON t (c);
CREATE VIEW v AS SELECT a FROM t;
SELECT type, name, tbl_name FROM sqlite_master;
--! ordered
SELECT m.name FROM sqlite_schema AS m WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name DESC;
DROP TABLE "o'k";
SELECT count(*) FROM sqlite_master WHERE tbl_name = 'o''k';
SELECT cid, name, pk FROM pragma_table_info('t') WHERE pk = 0 ORDER BY cid;

--! case 96a unmatched: Another file
ATTACH ':memory:' AS other;
CREATE TABLE other.t (a INTEGER);
INSERT INTO other.t VALUES (1);
SELECT a FROM other.t;

--! case 96b adversarial unmatched: The same name in two files
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
ATTACH ':memory:' AS aux;
CREATE TABLE aux.t (a INTEGER);
INSERT INTO aux.t VALUES (2);
SELECT m.a, x.a FROM main.t AS m, aux.t AS x;

--! case 96c unmatched: DETACH
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
ATTACH ':memory:' AS aux;
DETACH aux;
SELECT a FROM t;

--! case 97a: DDL that is committed
BEGIN;
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
COMMIT;
SELECT a FROM t;

--! case 97b adversarial: DDL that is rolled back
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
BEGIN;
INSERT INTO t VALUES (2);
CREATE TABLE u (b INTEGER);
ROLLBACK;
SELECT a FROM t;

--! case 97c adversarial: A column added and taken back
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
BEGIN;
UPDATE t SET a = 5;
CREATE INDEX t_a ON t (a);
ROLLBACK;
SELECT a FROM t;

--! case 92f adversarial unmatched=MariaDB: Rows into a view, several and bound, whose trigger has a condition
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
CREATE VIEW v AS SELECT a AS x, b AS y FROM t;
CREATE TRIGGER v_insert INSTEAD OF INSERT ON v WHEN new.x > 0 BEGIN
    INSERT INTO t (a, b) VALUES (new.x, new.y || '!'); END;
INSERT INTO v VALUES (5, 'p'), (-1, 'q'), (7, NULL);
--! params 'r', 9
INSERT INTO v (y, x) VALUES (?1, ?2);
INSERT INTO v (x) VALUES (3);
INSERT INTO v SELECT a + 10, b FROM t WHERE a = 5;
SELECT id, a, b FROM t;

--! case 93e adversarial fails: RAISE(ABORT) keeps the statement from doing anything
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER, n INTEGER);
CREATE TRIGGER t_parent BEFORE INSERT ON t BEGIN
    SELECT RAISE(ABORT, 'it''s an orphan') WHERE (SELECT id FROM parent WHERE id = new.parent) IS NULL; END;
CREATE TRIGGER t_n BEFORE UPDATE ON t WHEN new.n <> old.n BEGIN
    SELECT CASE WHEN new.n < 0 THEN RAISE(ABORT, 'negative') WHEN new.n > 9 THEN RAISE(ABORT, 'large') END; END;
CREATE TRIGGER t_keep AFTER DELETE ON t WHEN old.n = 1 BEGIN SELECT RAISE(ABORT, 'kept'); END;
INSERT INTO parent VALUES (1), (2);
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2);
INSERT INTO t VALUES (3, 2, 3), (4, 9, 4);
INSERT INTO t VALUES (5, NULL, 3);
UPDATE t SET n = n + 1 WHERE id = 2;
UPDATE t SET n = n - 3;
UPDATE t SET n = 10 WHERE id = 1;
UPDATE t SET parent = 7, n = n WHERE id = 2;
DELETE FROM t;
DELETE FROM t WHERE id = 2;
SELECT id, parent, n FROM t;

--! case 93f adversarial unmatched=MariaDB: RAISE(IGNORE) skips rows of UPDATE and DELETE, and of an INSERT from a query
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
CREATE TABLE u (n INTEGER);
CREATE TRIGGER t_i BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE) WHERE new.n % 2 = 1; END;
CREATE TRIGGER t_u BEFORE UPDATE OF n ON t WHEN old.n = 4 BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER t_d BEFORE DELETE ON t WHEN EXISTS (SELECT 1 FROM u WHERE u.n = old.n) BEGIN SELECT RAISE(IGNORE); END;
INSERT INTO u VALUES (1), (2), (3), (4), (NULL);
INSERT INTO t (id, n) SELECT n + 10, n FROM u WHERE n > 0;
UPDATE t SET n = n + 10;
DELETE FROM t;
SELECT n FROM t;
INSERT INTO t (id, n) VALUES (9, 4) ON CONFLICT (n) DO UPDATE SET n = 100;

--! case 93g adversarial: A trigger of a table that is dropped or renamed, and one that is dropped itself
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE log (id INTEGER, what TEXT);
CREATE TRIGGER t_new AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id, 'new'); END;
INSERT INTO t VALUES (1, 'x');
DROP TRIGGER t_new;
INSERT INTO t VALUES (2, 'y');
REPLACE INTO t VALUES (2, 'z');
SELECT id, what FROM log;

--! case 93h adversarial unmatched: The OR of a statement replaces that of a trigger
CREATE TABLE a (n INTEGER PRIMARY KEY, m INTEGER);
CREATE TABLE b (n INTEGER PRIMARY KEY, c INTEGER);
INSERT INTO b VALUES (1, 0);
CREATE TRIGGER ta AFTER INSERT ON a BEGIN INSERT OR REPLACE INTO b (n, c) VALUES (new.n, 7); END;
INSERT OR IGNORE INTO a VALUES (1, 1);
SELECT n, c FROM b;

--! case 93i adversarial unmatched: The OR of an UPDATE replaces that of a trigger
CREATE TABLE a (n INTEGER PRIMARY KEY, m INTEGER);
CREATE TABLE b (n INTEGER PRIMARY KEY, c INTEGER);
INSERT INTO a VALUES (1, 1);
INSERT INTO b VALUES (1, 0);
CREATE TRIGGER ta AFTER UPDATE ON a BEGIN INSERT OR REPLACE INTO b (n, c) VALUES (new.n, 7); END;
UPDATE OR IGNORE a SET m = 2 WHERE n = 1;
SELECT n, c FROM b;

--! case 93j adversarial unmatched: The OR in a trigger replaces that of the trigger that it fires
CREATE TABLE a (n INTEGER PRIMARY KEY);
CREATE TABLE b (n INTEGER PRIMARY KEY);
CREATE TABLE c (n INTEGER PRIMARY KEY, m INTEGER);
INSERT INTO c VALUES (1, 0);
CREATE TRIGGER ta AFTER INSERT ON a BEGIN INSERT OR IGNORE INTO b VALUES (new.n); END;
CREATE TRIGGER tb AFTER INSERT ON b BEGIN INSERT OR REPLACE INTO c VALUES (new.n, 7); END;
INSERT INTO a VALUES (1);
SELECT n, m FROM c;

--! case 93k adversarial unmatched: Triggers that fire each other
CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE b (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TRIGGER ta AFTER INSERT ON a WHEN new.n < 3 BEGIN INSERT INTO b (n) VALUES (new.n + 1); END;
CREATE TRIGGER tb AFTER INSERT ON b WHEN new.n < 3 BEGIN INSERT INTO a (n) VALUES (new.n + 1); END;
INSERT INTO a (n) VALUES (1);
SELECT n FROM a;

--! case 93l adversarial unmatched: A later trigger reads the table that fired the first
CREATE TABLE a (id INTEGER PRIMARY KEY);
CREATE TABLE b (id INTEGER PRIMARY KEY);
CREATE TABLE seen (b INTEGER, of_a INTEGER);
CREATE TRIGGER tb AFTER INSERT ON b BEGIN INSERT INTO seen VALUES (new.id, (SELECT count(*) FROM a)); END;
CREATE TRIGGER ta AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.id); END;
INSERT INTO a VALUES (1), (2), (3);
SELECT b, of_a FROM seen;

--! case 93m adversarial: Triggers that fire others, of which none leads back
CREATE TABLE item (id INTEGER PRIMARY KEY, bill INTEGER, n INTEGER);
CREATE TABLE bill (id INTEGER PRIMARY KEY, total INTEGER, items INTEGER);
CREATE TABLE log (bill INTEGER, was INTEGER, now INTEGER);
CREATE TRIGGER bill_log AFTER UPDATE ON bill BEGIN INSERT INTO log VALUES (new.id, old.total, new.total); END;
CREATE TRIGGER item_sum AFTER INSERT ON item BEGIN UPDATE bill SET total = total + new.n, items = items + 1 WHERE id = new.bill; END;
INSERT INTO bill VALUES (1, 0, 0), (2, 0, 0);
INSERT INTO item VALUES (1, 1, 5), (2, 2, 7), (3, 1, 1);
UPDATE bill SET total = total * 2;
SELECT bill, was, now FROM log;

--! case 93n adversarial unmatched: An UPDATE reads a table that its own triggers change
CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE s (id INTEGER PRIMARY KEY, total INTEGER);
INSERT INTO a VALUES (1, 0), (2, 0), (3, 0);
INSERT INTO s VALUES (1, 0);
CREATE TRIGGER ta AFTER UPDATE ON a BEGIN UPDATE s SET total = total + 1; END;
UPDATE a SET n = (SELECT total FROM s WHERE s.id < a.id + 1);
SELECT id, n FROM a;

--! case 90s adversarial unmatched: A column is added below a view of all columns
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
CREATE VIEW v AS SELECT * FROM t;
ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'new';
--! names
SELECT * FROM v;
SELECT "b" FROM v;

--! case 90t adversarial: A column is added below a view that names its columns, and another table's
CREATE TABLE t (a INTEGER);
CREATE TABLE u (a INTEGER);
INSERT INTO t VALUES (1);
CREATE VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a;
CREATE VIEW w AS SELECT * FROM u;
ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'new';
--! names
SELECT * FROM v;
SELECT a, b FROM t;

--! case 90u adversarial unmatched: A column is renamed below a view
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
CREATE VIEW v AS SELECT a FROM t;
ALTER TABLE t RENAME COLUMN a TO b;
--! names
SELECT b FROM v;

--! case 95p adversarial unmatched: A column in double quotes that only SQLite's schema table has
CREATE TABLE t (id INTEGER PRIMARY KEY);
SELECT "sql" IS NULL FROM sqlite_master;

--! case 95q adversarial unmatched: A column in double quotes that only SQLite's list of columns has
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL);
SELECT "notnull" FROM pragma_table_info('t');

--! case 95r adversarial unmatched: All columns of the schema table
CREATE TABLE t (id INTEGER PRIMARY KEY);
SELECT * FROM sqlite_master;

--! case 95s adversarial unmatched: A column in double quotes that only SQLite's json_each() has
SELECT "fullkey" FROM json_each('[1, 2]');

--! case 95t adversarial unmatched: An outer column of the name of a column of the schema table
CREATE TABLE t (sql TEXT);
INSERT INTO t VALUES ('outer');
SELECT (SELECT sql FROM sqlite_master LIMIT 1) FROM t;

--! case 95u adversarial: A text in double quotes next to the schema table
CREATE TABLE t (id INTEGER PRIMARY KEY);
SELECT "word", name FROM sqlite_master;
SELECT "word", name FROM pragma_table_info('t');

--! case 90v adversarial: CREATE TABLE AS of an expression, whose column converts nothing
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, r REAL);
INSERT INTO t VALUES (1, 5, 0.5), (2, NULL, 2.0);
CREATE TABLE u AS SELECT id, n + id AS m, r * 2 AS d, n FROM t;
INSERT INTO u VALUES (3, 7, 1.0, '8'), (4, NULL, NULL, NULL);
--! params 5, 9, 2.5
INSERT INTO u VALUES (?, ?, ?, 0);
SELECT id, m, typeof(m), d, typeof(d), n, typeof(n) FROM u;

--! case 90w adversarial unmatched: CREATE TABLE AS of an expression, whose column gets a text
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5);
CREATE TABLE u AS SELECT id, n + 1 AS m FROM t;
INSERT INTO u VALUES (3, '8');
SELECT id, m FROM u;

--! case 90y adversarial unmatched: CREATE TABLE AS of an expression, whose column of reals gets an integer
CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO t VALUES (1, 0.5);
CREATE TABLE u AS SELECT id, r * 2 AS d FROM t;
INSERT INTO u VALUES (3, 8);
SELECT id, d FROM u;

--! case 93o adversarial unmatched=PostgreSQL: A trigger counts the rows of its table after each of several
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE log (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TRIGGER t_count AFTER INSERT ON t BEGIN INSERT INTO log (n) SELECT count(*) FROM t; END;
INSERT INTO t (a) VALUES (1), (2), (3);
SELECT id, n FROM log;

--! case 93p adversarial: A trigger counts the rows of its table after each statement of one row
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, u TEXT UNIQUE);
CREATE TABLE log (id INTEGER PRIMARY KEY, n INTEGER, s INTEGER);
CREATE TRIGGER t_new AFTER INSERT ON t BEGIN INSERT INTO log (n, s) SELECT count(*), sum(a) FROM t; END;
CREATE TRIGGER t_set AFTER UPDATE ON t BEGIN INSERT INTO log (n, s) SELECT count(*), sum(a) FROM t; END;
CREATE TRIGGER t_gone AFTER DELETE ON t BEGIN INSERT INTO log (n, s) SELECT count(*), sum(a) FROM t; END;
INSERT INTO t (a, u) VALUES (1, 'x');
INSERT INTO t (a, u) VALUES (2, 'y');
INSERT INTO t (a, u) SELECT 3, 'z' WHERE 1 < 2;
UPDATE t SET a = 7 WHERE u = 'x';
UPDATE t SET a = a + 1 WHERE rowid = 2;
INSERT INTO t (a, u) VALUES (9, 'z') ON CONFLICT (u) DO UPDATE SET a = 10;
DELETE FROM t WHERE id = 1;
SELECT id, n, s FROM log;

--! case 93q adversarial unmatched=PostgreSQL: A trigger sums its table after each row of an UPDATE and a DELETE
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE log (id INTEGER PRIMARY KEY, s INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE TRIGGER t_set AFTER UPDATE ON t BEGIN INSERT INTO log (s) SELECT sum(a) FROM t; END;
CREATE TRIGGER t_gone AFTER DELETE ON t BEGIN INSERT INTO log (s) SELECT sum(a) FROM t; END;
UPDATE t SET a = a * 10;
DELETE FROM t WHERE id > 1;
SELECT id, s FROM log;

--! case 93r adversarial fails unmatched=PostgreSQL: A BEFORE trigger reads what an AFTER trigger changes with each row
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE room (free INTEGER);
INSERT INTO room VALUES (2);
CREATE TRIGGER t_full BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'full') WHERE (SELECT free FROM room) < 1; END;
CREATE TRIGGER t_new AFTER INSERT ON t BEGIN UPDATE room SET free = free - 1; END;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 1), (3, 1);
SELECT id FROM t;
SELECT free FROM room;

--! case 93s adversarial unmatched=PostgreSQL: A newer trigger is fired first
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
CREATE TABLE other (n INTEGER);
CREATE TRIGGER t_a AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES ('first made'); END;
CREATE TRIGGER t_x AFTER INSERT ON t BEGIN INSERT INTO other VALUES (new.id); END;
CREATE TRIGGER t_b AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES ('second made'); END;
CREATE TRIGGER t_c AFTER INSERT ON t BEGIN INSERT INTO log (what) SELECT 'third made, ' || count(*) FROM log; END;
CREATE TRIGGER t_u AFTER UPDATE ON t BEGIN INSERT INTO log (what) VALUES ('changed'); END;
INSERT INTO t VALUES (1, 1), (2, 1);
UPDATE t SET a = 3;
SELECT id, what FROM log;

--! case 93t adversarial: Newer triggers are fired first, whose names are in that order, or that touch other tables
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
CREATE TABLE other (n INTEGER);
CREATE TRIGGER t_c AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES ('first made'); END;
CREATE TRIGGER t_x AFTER INSERT ON t BEGIN INSERT INTO other VALUES (new.id); END;
CREATE TRIGGER t_b AFTER INSERT ON t BEGIN INSERT INTO log (what) VALUES ('second made'); END;
CREATE TRIGGER t_a AFTER INSERT ON t BEGIN INSERT INTO log (what) SELECT 'third made, ' || count(*) FROM log; END;
INSERT INTO t VALUES (1, 1), (2, 1);
DROP TRIGGER t_b;
INSERT INTO t VALUES (3, 1);
SELECT id, what FROM log;

--! case 93u adversarial unmatched: Rows that a foreign key deletes are counted by a trigger
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE CASCADE);
CREATE TABLE log (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TRIGGER c_gone AFTER DELETE ON c BEGIN INSERT INTO log (n) SELECT count(*) FROM c; END;
INSERT INTO p VALUES (1), (2);
INSERT INTO c VALUES (1, 1), (2, 1), (3, 2);
DELETE FROM p WHERE id = 1;
SELECT id, n FROM log;

--! case 93v adversarial unmatched=MariaDB: Rows that OR IGNORE and DO NOTHING skip fire no trigger
CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER);
CREATE TABLE log (id INTEGER PRIMARY KEY, t INTEGER);
CREATE TRIGGER t_set AFTER UPDATE ON t BEGIN INSERT INTO log (t) VALUES (new.id); END;
INSERT INTO t VALUES (1, 'x', 1);
INSERT INTO t (u, n) VALUES ('x', 5) ON CONFLICT DO NOTHING;
INSERT OR IGNORE INTO t (u, n) VALUES ('x', 5);
SELECT id, t FROM log;

--! case 90z adversarial unmatched fails: A column is added with the time as its default
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD COLUMN d TEXT DEFAULT CURRENT_TIMESTAMP;
SELECT count(*) FROM pragma_table_info('t');

--! case 90za adversarial unmatched=MariaDB: A column that needs a value is added to a table without rows
CREATE TABLE t (a INTEGER);
ALTER TABLE t ADD COLUMN n INTEGER NOT NULL;
INSERT INTO t VALUES (1, 2);

--! case 90zb adversarial: Columns are added that have a constant for the rows that are there
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
ALTER TABLE t ADD COLUMN n INTEGER NOT NULL DEFAULT 7;
ALTER TABLE t ADD COLUMN m INTEGER NOT NULL DEFAULT (-2);
ALTER TABLE t ADD COLUMN x TEXT DEFAULT word;
ALTER TABLE t ADD COLUMN y TEXT DEFAULT NULL;
SELECT * FROM t;

--! case 90qa adversarial: CREATE TABLE AS takes neither NOT NULL nor a default over
CREATE TABLE t (a INTEGER NOT NULL DEFAULT 5, b INTEGER);
INSERT INTO t VALUES (1, 2);
CREATE TABLE u AS SELECT a, b FROM t;
INSERT INTO u VALUES (NULL, 3);
INSERT INTO u (b) VALUES (4);
--! ordered
SELECT a, typeof(a), b FROM u ORDER BY a, b;

--! case 90qb adversarial: CREATE TABLE AS of WITH, and of an order
CREATE TABLE t (a INTEGER NOT NULL);
INSERT INTO t VALUES (1), (3), (2);
CREATE TABLE u AS WITH c AS (SELECT a FROM t) SELECT a FROM c ORDER BY a DESC;
INSERT INTO u VALUES (NULL);
SELECT a FROM u;

--! case 92g adversarial: Columns of a view that have one name
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
CREATE VIEW v AS SELECT a, b, a + 1 AS a, A FROM t;
CREATE VIEW w (x, x) AS SELECT b, a FROM t;
--! names
SELECT * FROM v;
SELECT v."a:1", v."a:2", w."x:1" FROM v JOIN w ON w.x = v.b WHERE v.a = 2;

--! case 88p adversarial unmatched=MariaDB: SET NULL for a column that has no NULL
PRAGMA foreign_keys = ON;
CREATE TABLE p (id INTEGER PRIMARY KEY);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER NOT NULL REFERENCES p ON DELETE SET NULL);
INSERT INTO p VALUES (1), (2);
INSERT INTO c VALUES (1, 1);
DELETE FROM p WHERE id = 2;
DELETE FROM p WHERE id = 1;

--! case 90ya adversarial: CREATE TABLE AS of expressions, whose columns SQLite declares without a type
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, b BOOLEAN, d DATETIME, r REAL);
INSERT INTO a VALUES (1, 'x', 1, '2024-01-02', 0.5), (2, '5', 0, NULL, 2.0), (3, NULL, NULL, 'none', NULL);
CREATE TABLE u AS SELECT id, 't' || t AS y, id * 2 AS n, r * 2 AS w, b, d FROM a;
SELECT y, n, typeof(n), w, typeof(w), b, typeof(b), d, typeof(d) FROM u;
SELECT id FROM u WHERE y = 't5' OR n = 2 OR d = 'none';
--! ordered
SELECT id, y FROM u ORDER BY y, n;
DELETE FROM u WHERE y = 'x' OR n <> 2 AND y = 'tx';
DELETE FROM u WHERE n <> 2;

--! case 90yb adversarial: CREATE TABLE AS of a view of expressions
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'x'), (2, 'it'), (3, NULL);
CREATE VIEW v AS SELECT id + 1 AS k, upper(t) AS w FROM a;
CREATE TABLE u AS SELECT * FROM v;
SELECT k, w, typeof(k), length(w) FROM u WHERE w = 'IT' OR k = 2;
UPDATE u SET k = k + 10 WHERE w = 'X';
DELETE FROM u WHERE k = 4 OR w = 'T';

--! case 90yc adversarial: A column of CREATE TABLE AS without an affinity next to a text
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, '5'), (2, '3'), (3, '7');
CREATE TABLE u AS SELECT id, id + 4 AS n FROM a;
SELECT a.id, u.id FROM a, u WHERE a.t = u.n;
SELECT a.id, u.id FROM a, u WHERE (a.t, a.id) = (u.n, u.id);
SELECT a.id, u.id FROM a, u WHERE u.n < a.t OR a.t <= u.n;
SELECT a.id FROM a JOIN u ON a.t = CAST(u.n AS INTEGER);
SELECT a.id FROM a JOIN u ON a.t = +u.n;
