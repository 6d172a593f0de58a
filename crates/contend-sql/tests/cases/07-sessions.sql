--! case 98a: BEGIN of every kind, COMMIT and END
CREATE TABLE t (a INTEGER);
BEGIN;
INSERT INTO t VALUES (1);
COMMIT;
BEGIN DEFERRED TRANSACTION;
INSERT INTO t VALUES (2);
END TRANSACTION;
BEGIN IMMEDIATE;
INSERT INTO t VALUES (3);
COMMIT TRANSACTION;
BEGIN EXCLUSIVE;
INSERT INTO t VALUES (4);
END;

--! case 98b: ROLLBACK
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
BEGIN IMMEDIATE;
UPDATE t SET a = 2;
ROLLBACK;
BEGIN;
DELETE FROM t;
ROLLBACK TRANSACTION;

--! case 98c adversarial: COMMIT keeps what was before it, ROLLBACK only takes back its own
CREATE TABLE t (a INTEGER);
BEGIN;
INSERT INTO t VALUES (1);
END;
INSERT INTO t VALUES (2);
BEGIN;
INSERT INTO t VALUES (3);
ROLLBACK;
SELECT a FROM t;

--! case 99a: A savepoint in a transaction
CREATE TABLE t (a INTEGER);
BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s;
INSERT INTO t VALUES (2);
ROLLBACK TO s;
INSERT INTO t VALUES (3);
RELEASE s;
COMMIT;

--! case 99b adversarial breaks=savepoints: A savepoint outside of a transaction begins one
CREATE TABLE t (a INTEGER);
SAVEPOINT s;
INSERT INTO t VALUES (1);
ROLLBACK TO s;
INSERT INTO t VALUES (2);
RELEASE s;
SELECT a FROM t;

--! case 99c adversarial: Savepoints of the same name
CREATE TABLE t (a INTEGER);
BEGIN;
SAVEPOINT s;
INSERT INTO t VALUES (1);
SAVEPOINT s;
INSERT INTO t VALUES (2);
ROLLBACK TO s;
RELEASE s;
INSERT INTO t VALUES (3);
ROLLBACK TRANSACTION TO SAVEPOINT s;
INSERT INTO t VALUES (4);
COMMIT;

--! case 100a savepoints: After a failed statement the transaction goes on
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x');
BEGIN;
INSERT INTO t VALUES (2, 'y');
INSERT INTO t VALUES (1, 'again');
INSERT INTO t VALUES (3, 'z');
COMMIT;

--! case 100b adversarial savepoints: A statement that fails half way leaves nothing
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL);
BEGIN;
INSERT INTO t VALUES (1, 'x');
INSERT INTO t VALUES (2, 'y'), (3, NULL);
UPDATE t SET a = 'w' WHERE id = 1;
COMMIT;

--! case 100c savepoints: A failure, then a rollback
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1);
BEGIN;
INSERT INTO t VALUES (5);
INSERT INTO t VALUES (1);
ROLLBACK;
INSERT INTO t VALUES (6);

--! case 101a: A statement reads what its transaction wrote
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 10), (2, 20);
BEGIN;
UPDATE t SET n = n - 5 WHERE id = 1;
UPDATE t SET n = n + (SELECT n FROM t WHERE id = 1) WHERE id = 2;
SELECT sum(n) FROM t;
COMMIT;

--! case 101b adversarial: An INSERT from a query does not see its own rows
CREATE TABLE t (n INTEGER);
INSERT INTO t VALUES (1), (2);
INSERT INTO t SELECT n + 10 FROM t;
INSERT INTO t SELECT count(*) FROM t;
SELECT n FROM t;

--! case 101c: A transaction of several statements
CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0));
INSERT INTO account VALUES (1, 100), (2, 0);
BEGIN IMMEDIATE;
--! params 40, 1
UPDATE account SET balance = balance - ? WHERE id = ?;
--! params 40, 2
UPDATE account SET balance = balance + ? WHERE id = ?;
COMMIT;
UPDATE account SET balance = balance - 100 WHERE id = 1;

--! case 102a: Settings of SQLite's storage
PRAGMA synchronous = NORMAL;
PRAGMA cache_size = -2000;
PRAGMA temp_store = MEMORY;
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);

--! case 102b adversarial: LIKE that regards letter case
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abc'), ('ABC');
PRAGMA case_sensitive_like = ON;
SELECT a FROM t WHERE a LIKE 'abc';

--! case 102c: A version of the application
PRAGMA user_version = 7;
PRAGMA user_version;

--! case 102d adversarial: Foreign keys enforced from here on
PRAGMA foreign_keys = ON;
PRAGMA foreign_keys;

--! case 102e adversarial: Foreign keys turned off again before there are any
PRAGMA foreign_keys = ON;
PRAGMA foreign_keys;
PRAGMA foreign_keys = OFF;
PRAGMA foreign_keys;
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER REFERENCES c (id));
INSERT INTO c VALUES (1, 9);

--! case 103a: VACUUM
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
VACUUM;
SELECT a FROM t;

--! case 103b: ANALYZE
CREATE TABLE t (a INTEGER);
CREATE INDEX t_a ON t (a);
INSERT INTO t VALUES (1), (2);
ANALYZE;
ANALYZE t;
SELECT a FROM t WHERE a = 2;

--! case 103c adversarial: REINDEX within a transaction
CREATE TABLE t (a TEXT UNIQUE);
INSERT INTO t VALUES ('x');
REINDEX t;
BEGIN;
INSERT INTO t VALUES ('y');
REINDEX;
ROLLBACK;

--! case 104a: Several statements in one text
CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);
SELECT a FROM t;

--! case 104b adversarial: A semicolon in a string, a name and a comment ends nothing
CREATE TABLE t ("a;b" TEXT);
INSERT INTO t VALUES ('x;y'); /* ; */ INSERT INTO t VALUES (';'); -- ;
SELECT "a;b" FROM t;

--! case 104c adversarial: A transaction in one text
CREATE TABLE t (a INTEGER);
BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2); ROLLBACK TO s; COMMIT;
SELECT a FROM t;

--! case 104d: Statements that use what those before them made
CREATE TABLE t (a INTEGER, b TEXT DEFAULT 'x'); CREATE INDEX t_a ON t (a); INSERT INTO t (a) VALUES (1); UPDATE t SET b = b || a WHERE a = 1;
SELECT a, b FROM t;

--! case 102f adversarial: Two numbers of the application, set twice, and negative
CREATE TABLE t (a INTEGER);
PRAGMA user_version;
--! names
PRAGMA application_id;
PRAGMA user_version = 3;
PRAGMA application_id = -1701;
PRAGMA main.user_version = 2147483647;
PRAGMA application_id;
--! names
PRAGMA user_version;

--! case 102g adversarial: A pattern that regards letter case, from a parameter, with an escape, and no more
CREATE TABLE t (a TEXT, p TEXT);
INSERT INTO t VALUES ('abc', 'ABC'), ('ABC', 'A%'), ('É', 'é'), ('a_', 'a\_');
PRAGMA case_sensitive_like = 1;
--! params 'A%'
SELECT a, a LIKE p, a NOT LIKE ?1, a LIKE p ESCAPE '\' FROM t;
PRAGMA case_sensitive_like = 0;
--! params 'A%'
SELECT a, a LIKE p, a NOT LIKE ?1 FROM t;
