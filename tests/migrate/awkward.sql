-- Everything about a SQLite database that is awkward for a server, and that servers can hold.
PRAGMA user_version = 7; PRAGMA application_id = 1234;
CREATE TABLE "order" (id INTEGER PRIMARY KEY AUTOINCREMENT, "select" TEXT NOT NULL DEFAULT 'it''s', note TEXT, price REAL, amount DECIMAL(10,2), raw BLOB, made DATETIME DEFAULT CURRENT_TIMESTAMP, big BIGINT, ok BOOLEAN DEFAULT 0, total REAL GENERATED ALWAYS AS (price * 2.0) VIRTUAL, size INT CHECK (size > 0));
CREATE TABLE "Zwei Wörter" ("ein Schlüssel" TEXT NOT NULL, "zwei""mal" INTEGER NOT NULL, wert, PRIMARY KEY ("ein Schlüssel", "zwei""mal")) WITHOUT ROWID;
CREATE TABLE child (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES "order" (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, name VARCHAR(20) COLLATE NOCASE UNIQUE);
CREATE TABLE tagged (tag TEXT COLLATE NOCASE PRIMARY KEY, of TEXT, n INT, UNIQUE (of COLLATE NOCASE, n));
CREATE UNIQUE INDEX tagged_i ON tagged (tag, of);
INSERT INTO tagged VALUES ('Ä', 'x', 1), ('ä', 'X', 2), ('b', 'x', 3);
CREATE TABLE keyless (a, b STRING, c);
CREATE TABLE big (id INTEGER PRIMARY KEY, n NUMERIC, d DOUBLE);
CREATE TABLE strict_one (id INTEGER PRIMARY KEY, t ANY, b BLOB) STRICT;
CREATE TABLE empty (x TEXT);
CREATE TABLE hides (rowid TEXT, oid INTEGER);
CREATE TABLE hides_all (rowid TEXT, oid INTEGER, _rowid_ REAL);
CREATE INDEX partial_i ON "order" (note) WHERE note IS NOT NULL;
CREATE INDEX expr_i ON "order" (size + 1);
CREATE UNIQUE INDEX uniq_i ON "order" (big, "select");
CREATE INDEX plain_i ON child (order_id, name DESC);
CREATE VIEW seen AS SELECT id, "select" FROM "order" WHERE ok = 1;
CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
CREATE TRIGGER tr AFTER INSERT ON child BEGIN INSERT INTO log (what) VALUES (new.name); END;
CREATE TRIGGER tr_before BEFORE INSERT ON child BEGIN SELECT RAISE(ABORT, 'x') WHERE new.id < 0; END;
CREATE VIRTUAL TABLE fts USING fts5(body);
CREATE TRIGGER tr_fts AFTER INSERT ON log BEGIN INSERT INTO fts (body) VALUES (new.what); END;
INSERT INTO "order" (id, "select", note, price, amount, raw, big, ok, size) VALUES
 (1, 'a', '', 1.5, 10, x'00ff09', 9223372036854775807, 1, 5),
 (2, 'tab	new
line\N', 'ünïcödé 😀', -0.0, 1.25, x'', -9223372036854775808, 0, NULL),
 (3, 'NULL', NULL, 1e300, 123456789.123, NULL, 0, 1, 1),
 (40, '\\.', '\.', 0.1, 99999999999999999999, x'5c2e', 5, NULL, 2);
DELETE FROM "order" WHERE id = 40;
INSERT INTO "order" (id, "select", price) VALUES (-5, 'neg', 4e-320), (0, 'zero', 2.0);
INSERT INTO "Zwei Wörter" VALUES ('é', 1, 1.5), ('é', 2, 2.5), ('', 0, NULL), ('z', -1, 0.25);
INSERT INTO child VALUES (1, 1, 'Ann'), (2, 3, 'bob'), (7, 1, NULL);
INSERT INTO keyless (rowid, a, b, c) VALUES (4000000000000000000, 'x', 'y', x'01'), (-9223372036854775808, 'x', 'y', x'01'), (0, NULL, '', NULL);
INSERT INTO hides (_rowid_, rowid, oid) VALUES (7, 'a', 1), (-7, 'b', 7), (5, 'c', NULL);
INSERT INTO hides_all VALUES ('a', 1, 1.5), ('b', 2, 2.5);
INSERT INTO big VALUES (1, 9007199254740993, 9007199254740993.0), (2, 1.5, 1.0), (3, 1e20, 3.141592653589793), (9000000000000000000, -0.001, 2.2250738585072014e-308);
INSERT INTO strict_one VALUES (1, 5, x'aa'), (2, 6, NULL);
