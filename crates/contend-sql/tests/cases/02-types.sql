--! case 16a: NULL becomes the next number
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (NULL, 'x'), (NULL, 'y');
INSERT INTO t (a) VALUES ('z');
SELECT id, a FROM t;

--! case 16b adversarial: The next number is one above the largest, also after an explicit one
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (10, 'x');
INSERT INTO t (a) VALUES ('y');
INSERT INTO t VALUES (NULL, 'z');
SELECT id, a FROM t;

--! case 16c adversarial breaks=rowid: Numbers of deleted rows at the end are given again
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t (a) VALUES ('x'), ('y'), ('z');
DELETE FROM t WHERE id = 3;
INSERT INTO t (a) VALUES ('again');
SELECT id, a FROM t;

--! case 16d: The key in a constraint of the table
CREATE TABLE t (a TEXT, id INTEGER, PRIMARY KEY (id));
INSERT INTO t (a) VALUES ('x'), ('y');
SELECT id, a FROM t;

--! case 16e adversarial: INT PRIMARY KEY is no rowid and may be NULL
CREATE TABLE t (id INT PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (NULL, 'x'), (NULL, 'y'), (1, 'z');
SELECT id, a FROM t;

--! case 16f adversarial: A key of two columns, one of them NULL
CREATE TABLE t (a TEXT, b INTEGER, c INTEGER, PRIMARY KEY (a, b));
INSERT INTO t VALUES ('x', 1, 1);
INSERT INTO t VALUES ('x', 1, 2);
SELECT a, b, sum(c) FROM t GROUP BY a, b;

--! case 17a: AUTOINCREMENT gives numbers from 1
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
INSERT INTO t (a) VALUES ('x'), ('y');
SELECT id, a FROM t;

--! case 17b adversarial: AUTOINCREMENT goes on above explicit numbers
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
INSERT INTO t VALUES (5, 'x');
INSERT INTO t (a) VALUES ('y');
SELECT id, a FROM t;

--! case 17c adversarial: AUTOINCREMENT never gives a number again
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
INSERT INTO t (a) VALUES ('x'), ('y');
DELETE FROM t;
INSERT INTO t (a) VALUES ('z');
SELECT id, a FROM t;

--! case 17d: Rows copied with their keys from an empty table
CREATE TABLE old (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
INSERT INTO t (id, a) SELECT id, a FROM old;
INSERT INTO t (a) VALUES ('x');
SELECT id, a FROM t;

--! case 18a: A column without a type holds integers
CREATE TABLE t (a, b);
INSERT INTO t VALUES (1, 2), (3, 4);
SELECT a + b FROM t WHERE a = 1;

--! case 18b adversarial: A column without a type holds a value as it came
CREATE TABLE t (a);
INSERT INTO t VALUES (1), ('1'), (1.0), (x'31'), (NULL);
SELECT a, typeof(a) FROM t;

--! case 18c adversarial: A text is not a number in a column without a type
CREATE TABLE t (a, n INTEGER);
INSERT INTO t VALUES ('5', 1), (5, 2);
SELECT n FROM t WHERE a = 5;

--! case 19a: Types of many names
CREATE TABLE t (a UNSIGNED BIG INT, b NVARCHAR(70), c DOUBLE PRECISION, d TINYINT, e CLOB);
INSERT INTO t VALUES (1, 'x', 1.5, 2, 'y');
SELECT a, b, c, d, e FROM t;

--! case 19b adversarial: DATETIME holds texts
CREATE TABLE t (a DATETIME, b DATE);
INSERT INTO t VALUES ('2024-01-02 03:04:05', '2024-01-02'), ('not a date', '');
SELECT a, b, typeof(a) FROM t;

--! case 19c adversarial: FLOATING POINT contains INT
CREATE TABLE t (a FLOATING POINT);
INSERT INTO t VALUES (3), ('4');
SELECT a, typeof(a) FROM t;

--! case 19d adversarial: A text that is a number becomes one in a numeric column
CREATE TABLE t (a NUMERIC, b DECIMAL(10,2), c INTEGER, d REAL);
INSERT INTO t VALUES ('12', '3.50', '7', '8');
SELECT a, b, c, d, typeof(a), typeof(b), typeof(c), typeof(d) FROM t;

--! case 19e adversarial: A number becomes a text in a text column
CREATE TABLE t (a TEXT, b VARCHAR(10));
INSERT INTO t VALUES (12, 3.5);
SELECT a, b, typeof(a), a = '12' FROM t;

--! case 19f adversarial: DECIMAL(10,2) does not round
CREATE TABLE t (a DECIMAL(10,2), b NUMERIC(5));
INSERT INTO t VALUES (1.23456, 7.25);
SELECT a, b FROM t;

--! case 19g adversarial: Numbers of a numeric column compared, sorted, grouped and stored again
CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC, d DECIMAL(10,2));
INSERT INTO t VALUES (1, 10, 2.50), (2, 9.5, 3), (3, -0.125, 100), (4, NULL, 0), (5, 10.0, 1e3);
--! ordered
SELECT id, n, d, typeof(n), typeof(d) FROM t ORDER BY n DESC, id;
SELECT n, count(*) FROM t WHERE n > 9.25 OR n = 10 GROUP BY n;
UPDATE t SET n = d WHERE id > 2;
SELECT max(n), min(n) FROM t WHERE n <> 2.5;

--! case 19h adversarial unmatched: A DATE column takes a text of seconds as an integer
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE);
INSERT INTO t VALUES (1, '2024-01-05'), (2, 'n/a');
UPDATE t SET d = strftime('%s', '2024-01-01') WHERE id = 1;
SELECT id, d, typeof(d), d > '2024-01-01' FROM t;

--! case 19i adversarial unmatched: A DATETIME column takes texts of other columns as what they look like
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATETIME, b TEXT);
INSERT INTO t VALUES (1, '2024-01-05', '10'), (2, 'n/a', 'x');
UPDATE t SET d = b;
SELECT id, d, typeof(d) FROM t;

--! case 19j adversarial unmatched: A year into a DATE column, by an expression and by an upsert
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, b TEXT);
INSERT INTO t VALUES (1, '2024-01-05', '2024-06-07');
UPDATE t SET d = substr(b, 1, 4);
INSERT INTO t VALUES (1, NULL, '12') ON CONFLICT (id) DO UPDATE SET d = excluded.b;
UPDATE t SET d = '20' || '24';
SELECT d, typeof(d) FROM t;

--! case 19k adversarial: Texts that are no numbers go into a DATE column by any expression
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, e DATETIME, b TEXT);
INSERT INTO t VALUES (1, '2024-01-05', NULL, '2024-06-07'), (2, NULL, 'n/a', NULL);
UPDATE t SET d = date(b, '+1 day'), e = coalesce(e, d, 'none') WHERE id = 1;
UPDATE t SET e = date('2024-05-06') || ' 10:00', d = strftime('%Y-%m', '2024-05-06') WHERE id = 2;
INSERT INTO t (d, e) SELECT max(d), datetime('2024-05-06', '+1 hour') FROM t;
INSERT INTO t (id, d) VALUES (1, NULL) ON CONFLICT (id) DO UPDATE SET d = CASE WHEN t.id = 1 THEN t.e ELSE excluded.d END;
SELECT id, d, e, typeof(d), typeof(e) FROM t;

--! case 20a adversarial unmatched: A text in an integer column stays one
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES ('abc'), (1);
SELECT a, typeof(a) FROM t;

--! case 20b adversarial unmatched: A fraction in an integer column stays
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1.5), (2.0), ('3.0');
SELECT a, typeof(a) FROM t;

--! case 20c adversarial: A bound text in an integer column
CREATE TABLE t (a INTEGER);
--! params '17'
INSERT INTO t VALUES (?);
--! params 18.0
INSERT INTO t VALUES (?);
SELECT a, typeof(a) FROM t;

--! case 20d: Values of the declared type
CREATE TABLE t (a INTEGER, b REAL, c TEXT, d BLOB);
INSERT INTO t VALUES (1, 2.5, 'x', x'01'), (-1, 3, '', x'');
SELECT a, b, c, d FROM t;

--! case 20e adversarial: The largest integers
CREATE TABLE t (a INT, b TINYINT, c SMALLINT);
INSERT INTO t VALUES (9223372036854775807, 300, 70000), (-9223372036854775808, -129, 5000000000);
SELECT a, b, c FROM t;

--! case 21a: A text longer than it says
CREATE TABLE t (a VARCHAR(3));
INSERT INTO t VALUES ('abcdef');
SELECT a, length(a) FROM t;

--! case 21b adversarial: CHAR(n) does not pad
CREATE TABLE t (a CHAR(5), b CHAR(5));
INSERT INTO t VALUES ('ab', 'ab ');
SELECT length(a), length(b), a = b, a || '|' FROM t;

--! case 21c: A long text updated
CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(2));
INSERT INTO t VALUES (1, 'x');
UPDATE t SET a = a || '12345678901234567890';
SELECT a FROM t;

--! case 22a: Comparisons as values
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (2, 1), (NULL, 1);
SELECT a < b, a = b, NOT a, a IS NULL, a IN (1, 5), a BETWEEN 1 AND 3 FROM t;

--! case 22b: A number as a condition
CREATE TABLE t (a INTEGER, f BOOLEAN DEFAULT 0);
INSERT INTO t VALUES (0, 1), (1, 0), (2, 1), (NULL, NULL);
SELECT a FROM t WHERE a;
SELECT a FROM t WHERE NOT f;
SELECT a FROM t WHERE f = 1 AND 1;

--! case 22c adversarial: Comparisons summed
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (2, 1), (3, 3), (NULL, 0);
SELECT sum(a > b), sum(a = b), count(a > b), (a > 1) + 1 FROM t WHERE a > 1 GROUP BY a;

--! case 22d adversarial: A boolean column holds any number
CREATE TABLE t (f BOOLEAN NOT NULL DEFAULT 1, n INTEGER);
INSERT INTO t (n) VALUES (1);
INSERT INTO t VALUES (2, 2), (FALSE, 3), (TRUE, 4);
SELECT f, n FROM t WHERE f = 1 OR f > 1;
SELECT n FROM t WHERE f IS TRUE;

--! case 22e adversarial: CASE WHEN with a number, and a text is true if it begins with one
SELECT CASE WHEN 2 THEN 'yes' ELSE 'no' END, CASE WHEN 0.5 THEN 'yes' ELSE 'no' END, NOT '1x', NOT 'x';

--! case 22f: A comparison stored
CREATE TABLE t (a INTEGER, f INTEGER);
INSERT INTO t SELECT 3, 3 > 2;
UPDATE t SET f = a < 2 OR f;
SELECT a, f FROM t;

--! case 23a: A text column compared to a number
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('5'), ('05'), ('x');
SELECT a FROM t WHERE a = 5;

--! case 23b adversarial: An integer column compared to a text
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (5), (50);
SELECT a FROM t WHERE a = '5';
SELECT a FROM t WHERE a < '6';
SELECT a FROM t WHERE a = 'x';

--! case 23c adversarial: Two literals of different kind are never equal
SELECT 1 = '1', 1 < 'a', 'a' > 999, 1 = 1.0;

--! case 23d adversarial: A text column and an integer column
CREATE TABLE t (a TEXT, b INTEGER);
INSERT INTO t VALUES ('5', 5), ('5.0', 5), ('abc', 0), ('10', 9);
SELECT a, b, a = b, a > b FROM t;

--! case 23e adversarial: IN with values of another kind
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, '1'), (2, '2');
SELECT a, b FROM t WHERE a IN ('1', 'x') OR b IN (2);

--! case 23f adversarial: A parameter of another kind
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, '1'), (2, '2');
--! params '1', 2
SELECT a, b FROM t WHERE a = ? OR b = ?;

--! case 23g adversarial: Texts against numbers of a column: exponents, spaces, prefixes
CREATE TABLE t (x TEXT, n INTEGER, r REAL);
INSERT INTO t VALUES (' 5 ', 5, 5.0), ('5e0', 5, 5.0), ('5x', 5, 5.0), ('', 0, 0.0), ('0.1', 0, 0.1), (NULL, 1, 1.0), ('-3', -3, -3.0), ('1e1', 9, 9.5), ('.5', 0, 0.5), ('+7', 7, 7.0), ('5 5', 5, 5.5);
SELECT x, x = n, x <> n, x < n, n <= x, x = r, r >= x FROM t;
SELECT count(*) FROM t WHERE lower(x) > n;

--! case 23h adversarial: An integer key against a real that is none
CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL);
CREATE TABLE u (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO t VALUES (1, 1.5), (2, 2.0);
INSERT INTO u VALUES (1, 1.0), (2, 2.5), (3, 3.0);
SELECT t.id, u.id FROM t LEFT JOIN u ON u.id = 1.5;
SELECT t.id, u.id FROM t LEFT JOIN u ON u.id = t.r;
SELECT id FROM u WHERE id IN (1.5, 3.0) OR id = 2.5 OR id BETWEEN 2.5 AND 3.5;

--! case 23i adversarial: A DATE column is larger than a text that is a number
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, b TEXT);
INSERT INTO t VALUES (1, '09:00', '10'), (2, '10:30', '09:15'), (3, '2024-01-01', '2025');
SELECT id, d > b, d <= b, d = b FROM t;
SELECT id FROM t WHERE d BETWEEN '0' || '1' AND b;

--! case 23j adversarial: A DATE column against dates of functions, parameters and itself
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, b TEXT);
INSERT INTO t VALUES (1, '09:00', '10'), (2, '2024-05-05', '2024-05-04'), (3, 'n/a', '2025');
SELECT id, d > date('2024-05-06', '-1 month'), d < strftime('%Y-%m', '2024-05-06'), d = b, d >= (SELECT min(d) FROM t) FROM t;
--! params 'a', 'z'
SELECT id FROM t WHERE d BETWEEN ? AND ?;

--! case 24a adversarial: NULL, numbers, texts and blobs in their order
CREATE TABLE t (a);
INSERT INTO t VALUES ('b'), (2), (NULL), (x'00'), (1.5), ('10'), (-3);
--! ordered
SELECT a FROM t ORDER BY a;

--! case 24b adversarial: max over kinds
CREATE TABLE t (a);
INSERT INTO t VALUES (9), ('1'), (100);
SELECT max(a), min(a) FROM t;

--! case 24c: Integers and reals in one order
CREATE TABLE t (a NUMERIC);
INSERT INTO t VALUES (2), (1.5), (10), (-0.5);
--! ordered
SELECT a FROM t ORDER BY a;

--! case 24d adversarial: A union of kinds in order
--! ordered
SELECT 2 AS v UNION ALL SELECT 'a' UNION ALL SELECT NULL UNION ALL SELECT 1.5 ORDER BY v;

--! case 25a: IS with values
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1), (1, NULL), (NULL, NULL), (2, 1);
SELECT a, b FROM t WHERE a IS b;
SELECT a, b FROM t WHERE a IS NOT b;

--! case 25b: IS with a literal and a parameter
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (NULL, NULL);
SELECT a FROM t WHERE a IS 1;
--! params NULL
SELECT a FROM t WHERE a IS ?;
--! params 1
SELECT a FROM t WHERE a IS NOT ?;

--! case 25c: IS DISTINCT FROM
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('x', 'x'), ('x', NULL), (NULL, NULL);
SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b FROM t;

--! case 25d adversarial: IS as a value, never NULL
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (NULL), (0), (2);
SELECT a IS 0, a IS NOT 0, (a IS NULL) + 1, a IS TRUE, a IS NOT FALSE FROM t;

--! case 26a: NULL is first
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (2), (NULL), (1);
--! ordered
SELECT a FROM t ORDER BY a;

--! case 26b adversarial: NULL is last going down
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (2), (NULL), (1);
--! ordered
SELECT a FROM t ORDER BY a DESC LIMIT 2;

--! case 26c: NULLS FIRST and LAST
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (2, 'x'), (NULL, 'y'), (1, NULL);
--! ordered
SELECT a, b FROM t ORDER BY a NULLS LAST;
--! ordered
SELECT a, b FROM t ORDER BY b DESC NULLS FIRST;

--! case 26d adversarial: NULLs in the order of an expression and of a window
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 5), (2, NULL), (3, 4);
--! ordered
SELECT id, row_number() OVER (ORDER BY a) FROM t ORDER BY a + 1, id;

--! case 27a: The empty string is not NULL
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES (''), (NULL), ('x');
SELECT count(*), count(a), count(nullif(a, '')) FROM t;
SELECT a IS NULL, length(a), a || 'z' FROM t;

--! case 27b: Comparison to the empty string
CREATE TABLE t (a TEXT NOT NULL DEFAULT '');
INSERT INTO t DEFAULT VALUES;
INSERT INTO t VALUES ('x');
SELECT a, a > '' FROM t WHERE a = '' OR a > '';

--! case 27c adversarial: The empty string and number columns
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (0), (1);
SELECT a FROM t WHERE a = '';
SELECT coalesce(NULL, ''), ifnull('', 'x');

--! case 28a: LIKE does not regard the case of ASCII letters
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('Apple'), ('apple pie'), ('banana'), ('grapple'), (NULL);
SELECT a FROM t WHERE a LIKE 'APPLE%';
SELECT a FROM t WHERE a NOT LIKE '%apple';

--! case 28b adversarial: LIKE regards the case of other letters
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('École'), ('école'), ('ecole');
SELECT a FROM t WHERE a LIKE 'éCOLE';

--! case 28c: LIKE with ESCAPE
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('100%'), ('100x'), ('a_b'), ('axb'), ('x!y');
SELECT a FROM t WHERE a LIKE '%!%' ESCAPE '!';
SELECT a FROM t WHERE a LIKE 'a!_b' ESCAPE '!' OR a LIKE 'x!!y' ESCAPE '!';

--! case 28d adversarial: LIKE on numbers
CREATE TABLE t (a INTEGER, r REAL);
INSERT INTO t VALUES (123, 1.5), (213, 10.0), (312, 0.1);
SELECT a FROM t WHERE a LIKE '12%';
SELECT r FROM t WHERE r LIKE '%.0';

--! case 28e adversarial: LIKE of a pattern with backslash, bracket and underscore
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a[b]'), ('ab'), ('a\b'), ('日本');
SELECT a FROM t WHERE a LIKE 'a[b]' OR a LIKE 'a\_' OR a LIKE '__';

--! case 28f: LIKE with a parameter put together
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('One'), ('two'), ('TWO'), ('three');
--! params 'tw'
SELECT a FROM t WHERE a LIKE ? || '%';

--! case 29a: GLOB regards letter case
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abc'), ('Abc'), ('abd'), ('xabc');
SELECT a FROM t WHERE a GLOB 'ab*';
SELECT a FROM t WHERE a GLOB 'a?c';

--! case 29b adversarial: GLOB with classes
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a1'), ('a2'), ('ax'), ('a]'), ('a^');
SELECT a FROM t WHERE a GLOB 'a[0-9]';
SELECT a FROM t WHERE a GLOB 'a[^0-9]';
SELECT a FROM t WHERE a GLOB 'a[]x]';

--! case 29c adversarial: Characters in GLOB that mean something in LIKE and regular expressions
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a%b'), ('axb'), ('a.b'), ('a_b'), ('a+b');
SELECT a FROM t WHERE a GLOB 'a%b' OR a GLOB 'a_b' OR a GLOB 'a.b' OR a GLOB 'a+b';

--! case 29d: NOT GLOB and a star in the middle
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('file.txt'), ('file.tar.gz'), ('other');
SELECT a FROM t WHERE a NOT GLOB 'file*';
SELECT a FROM t WHERE a GLOB '*.*z';

--! case 30a: COLLATE NOCASE in a comparison
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('ann'), ('ANN'), ('Bob');
SELECT a FROM t WHERE a = 'Ann' COLLATE NOCASE;
--! ordered
SELECT a FROM t WHERE a <> 'ANN' ORDER BY a COLLATE NOCASE;

--! case 30b adversarial: A NOCASE column
CREATE TABLE t (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('ann'), ('ANN'), ('Bob');
SELECT count(*) FROM t WHERE a = 'Ann';
SELECT count(DISTINCT a) FROM t;

--! case 30c adversarial: A NOCASE column that is unique
CREATE TABLE t (a TEXT COLLATE NOCASE UNIQUE, n INTEGER);
INSERT INTO t VALUES ('ann', 1);
INSERT INTO t VALUES ('ANN', 2);
SELECT a, n FROM t;

--! case 30zk adversarial: Keys of a table that ignore case, alone and with another column
CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b TEXT, n INTEGER, UNIQUE (b COLLATE NOCASE, n));
INSERT INTO t VALUES ('ann', 'x', 1), ('bob', 'x', 2);
INSERT INTO t VALUES ('ANN', 'y', 3);
INSERT INTO t VALUES ('eve', 'X', 2);
INSERT INTO t VALUES ('eve', 'X', 3);
SELECT a, b, n FROM t;

--! case 30zm adversarial: Two keys that share a column that ignores case
CREATE TABLE t (a TEXT, b TEXT, n TEXT COLLATE NOCASE, UNIQUE (a, n), UNIQUE (b, n));
INSERT INTO t VALUES ('a', 'b', 'x'), ('A', 'B', 'x');
INSERT INTO t VALUES ('a', 'c', 'X');
INSERT INTO t VALUES ('c', 'b', 'X');
INSERT INTO t VALUES ('c', 'c', 'X');
SELECT a, b, n FROM t;

--! case 30zl adversarial: A unique index that ignores case
CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT);
CREATE UNIQUE INDEX i ON t (a, b);
INSERT INTO t VALUES ('x', 'y'), ('x', 'Y'), (NULL, 'y'), (NULL, 'y');
INSERT INTO t VALUES ('X', 'y');
SELECT a, b FROM t;

--! case 30d adversarial: NOCASE knows ASCII only
CREATE TABLE t (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('É'), ('é');
SELECT a FROM t WHERE a = 'é';

--! case 30e adversarial: RTRIM
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x'), ('x  '), ('x y');
SELECT a FROM t WHERE a = 'x ' COLLATE RTRIM;

--! case 30f adversarial: GROUP BY and DISTINCT on a NOCASE column
CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO t VALUES ('x', 1), ('X', 2), ('y', 3);
--! ordered
SELECT lower(a), sum(n) FROM t GROUP BY a ORDER BY 1;

--! case 30g adversarial: A NOCASE column that is unique, with other letters and a conflict
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE COLLATE NOCASE);
INSERT INTO t VALUES (1, 'École'), (2, 'école'), (3, 'abc'), (4, NULL), (5, NULL);
INSERT INTO t VALUES (6, 'ABC');
UPDATE t SET a = 'ABC' WHERE id = 3;
SELECT id, a FROM t WHERE a = 'aBc';

--! case 30h adversarial: Groups that ignore case, counted and with a condition
CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT, n INTEGER);
INSERT INTO t VALUES ('x', 'p', 1), ('X', 'p', 2), ('É', 'q', 3), ('é', 'q', 4), (NULL, 'q', 5);
SELECT count(*), sum(n) FROM t GROUP BY a;
SELECT lower(t.a), b, max(n) FROM t GROUP BY t.a, b HAVING count(*) > 1 OR b = 'q';

--! case 30i adversarial: A condition on groups that ignore case
CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO t VALUES ('x', 1), ('X', 2), ('Y', 3), (NULL, 5);
SELECT sum(n) FROM t GROUP BY a HAVING lower(a) > 'x' OR lower(a) IS NULL;

--! case 30j adversarial: COLLATE in a condition of CASE is the collation of its result
CREATE TABLE t (a TEXT, b TEXT, n INTEGER);
INSERT INTO t VALUES ('x', 'X', 1), ('Y', 'y', 2), ('y', 'z', 3), ('Ä', 'ä', 4), (NULL, 'x', 5);
SELECT n FROM t WHERE CASE WHEN a = b COLLATE NOCASE THEN upper(a) ELSE b END = 'x';
SELECT q.n FROM (SELECT n, CASE WHEN a = b COLLATE NOCASE THEN upper('b%') ELSE a || b END AS x FROM t) AS q
  WHERE q.x > 'a\b';
SELECT n FROM t WHERE iif(a COLLATE NOCASE = 'X', 'one', b) IN ('ONE', 'Z');
SELECT n FROM t WHERE CASE WHEN a = b COLLATE NOCASE THEN 'p' ELSE 'Q' END BETWEEN 'P' AND 'q' COLLATE BINARY;
--! ordered
SELECT n FROM t ORDER BY CASE WHEN n COLLATE NOCASE > 1 THEN a ELSE 'Z' END, n;

--! case 30y adversarial unmatched: The spelling of a group that ignores case, next to max()
CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO t VALUES ('A', 1), ('a', 1), ('b', 2);
SELECT a, max(n) FROM t GROUP BY a;

--! case 30z adversarial: A NOCASE column of the row with the largest value
CREATE TABLE t (a TEXT COLLATE NOCASE, g INTEGER, n INTEGER);
INSERT INTO t VALUES ('A', 1, 1), ('b', 1, 2), ('a', 2, 3);
SELECT g, a = 'A', a, max(n) FROM t GROUP BY g;

--! case 30k adversarial unmatched: DISTINCT over a CASE that has COLLATE in a condition
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('x', 1), ('X', 1), ('y', 2);
SELECT DISTINCT CASE WHEN 'A' = 'Ab ' COLLATE NOCASE THEN 'p' ELSE a END, n FROM t;

--! case 30l adversarial: COLLATE within functions, LIKE and ||; of several the first counts
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2), ('ann ', 3), ('Bob', 4);
SELECT n FROM t WHERE a || 'x' COLLATE NOCASE = 'ANNX';
SELECT n FROM t WHERE trim(a COLLATE NOCASE) = 'Ann';
SELECT n FROM t WHERE CASE WHEN a LIKE 'A%' COLLATE NOCASE THEN a END = 'Ann';
SELECT n FROM t WHERE iif(a COLLATE RTRIM = 'x', 'p' COLLATE NOCASE, a) = 'ann';
SELECT n FROM t WHERE CASE a COLLATE NOCASE WHEN 'ANN' THEN 'p' ELSE 'q' END = 'P';
SELECT n FROM t WHERE typeof(a COLLATE NOCASE) = 'TEXT';
SELECT n FROM t WHERE CASE WHEN a IN (SELECT 'BOB' COLLATE BINARY) THEN 'p' ELSE 'q' END = 'Q';
SELECT n FROM t WHERE (SELECT a COLLATE NOCASE) = 'ANN';
--! ordered
SELECT n FROM t ORDER BY a || '' COLLATE NOCASE, n;

--! case 30m adversarial: What is made of a NOCASE column is compared by bytes, but for CAST and +
CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2), ('Bob', 3);
SELECT n FROM t WHERE coalesce(a, '') = 'ANN';
SELECT n FROM t WHERE coalesce(a, '') IN ('ANN', 'bob');
SELECT n FROM t WHERE (SELECT a) IN ('ANN', 'bob');
SELECT n FROM t WHERE likely(a) = 'ANN';
SELECT n FROM t WHERE CAST(a AS TEXT) = 'ANN';
SELECT n FROM t WHERE +a IN ('Ann', 'bOB');
--! ordered
SELECT n FROM t ORDER BY coalesce(a, ''), n;
--! ordered
SELECT n FROM t ORDER BY CASE WHEN n < 9 THEN a END, n;
SELECT coalesce(a, 'x'), count(*) FROM t GROUP BY coalesce(a, 'x');
SELECT a || '' AS x, n FROM t WHERE x = 'ANN';
CREATE VIEW v AS SELECT a, a || '' AS b, a || '' COLLATE NOCASE AS c, n FROM t;
SELECT n FROM v WHERE a = 'Ann';
SELECT n FROM v WHERE b = 'ANN';
SELECT n FROM v WHERE c = 'Ann';
WITH q AS (SELECT coalesce(a, '') AS x, n FROM t) SELECT n FROM q WHERE x = 'ANN';
SELECT n FROM (SELECT CAST(a AS TEXT) AS x, n FROM t) WHERE x = 'Ann';
SELECT x.n, y.n FROM t AS x JOIN t AS y ON coalesce(x.a, '') = (y.a || '');
SELECT x.n FROM t AS x WHERE EXISTS (SELECT 1 FROM t AS y WHERE y.a || '' = x.a AND y.n <> x.n);
SELECT n, rank() OVER (ORDER BY coalesce(a, '')), rank() OVER (ORDER BY +a) FROM t;
SELECT count(DISTINCT coalesce(a, '')), max(coalesce(a, '')) FROM t;

--! case 30n adversarial: An alias with COLLATE counts for itself only
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2), ('Bob', 3);
SELECT a COLLATE NOCASE AS x, n FROM t WHERE x = 'Ann';
SELECT a COLLATE NOCASE AS x, n FROM t WHERE x || '' = 'Ann';
SELECT a COLLATE NOCASE AS x, n FROM t WHERE +x = 'Ann';
SELECT a COLLATE NOCASE AS x, n FROM t WHERE +x = 'Ann' COLLATE BINARY;

--! case 30o adversarial: COLLATE in a list of one item
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2);
SELECT n FROM t WHERE a IN ('Ann' COLLATE NOCASE);
SELECT n FROM t WHERE n NOT IN ('1' COLLATE NOCASE);
--! params 'aNN'
SELECT n FROM t WHERE a NOT IN (?1 COLLATE NOCASE);

--! case 30p adversarial: COLLATE in a list of several items does not count
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2);
SELECT n FROM t WHERE a IN ('Ann' COLLATE NOCASE, 'ANN');

--! case 30q adversarial: nullif() takes the collation of the column
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2);
SELECT n, nullif(a, 'Ann' COLLATE NOCASE) FROM t;

--! case 30r adversarial: nullif() with COLLATE in front
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('Bob', 2);
SELECT n, nullif(a COLLATE NOCASE, 'Ann'), nullif('ann', a COLLATE NOCASE) FROM t;

--! case 30s adversarial: The collation of a subquery's column in IN
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2);
SELECT n FROM t WHERE a IN (SELECT 'Ann' COLLATE NOCASE);
SELECT n FROM t WHERE a COLLATE BINARY IN (SELECT 'Ann' COLLATE NOCASE);
SELECT n FROM t WHERE a COLLATE NOCASE IN (SELECT x.a || '' FROM t AS x WHERE x.n = 2);
CREATE TABLE u (a TEXT COLLATE NOCASE);
INSERT INTO u VALUES ('aNN'), (NULL), ('É');
SELECT n FROM t WHERE a IN (SELECT a FROM u);
SELECT n FROM t WHERE 'anN' IN (SELECT u.a FROM u WHERE u.a NOT IN (SELECT x.a COLLATE BINARY FROM t AS x));
SELECT a FROM u WHERE a IN (SELECT t.a FROM t) OR a IN (SELECT 'é');
SELECT a FROM u WHERE a NOT IN (SELECT DISTINCT t.a FROM t WHERE t.a IN (SELECT u.a COLLATE NOCASE FROM u));

--! case 30t adversarial: IN a table whose column ignores case
CREATE TABLE t (a TEXT COLLATE NOCASE, n INTEGER);
CREATE TABLE u (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('ann', 1), ('ANN', 2);
INSERT INTO u VALUES ('Ann');
SELECT n FROM t WHERE a IN u;
SELECT n FROM t WHERE a COLLATE BINARY IN u OR n > 1 AND a || '' IN u;

--! case 30u adversarial: UNION ALL of a literal and a column that ignores case
CREATE TABLE t (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('ann'), ('Bob');
--! ordered
SELECT 'B' AS x UNION ALL SELECT a FROM t ORDER BY x;
--! ordered
SELECT 1 AS n, 'B' AS x UNION ALL SELECT 2, 'c' UNION ALL SELECT 3, a FROM t UNION ALL SELECT 4, a || 'B' FROM t ORDER BY x DESC, n;
SELECT n FROM (SELECT 1 AS n, 'B' AS x UNION ALL SELECT 2, a FROM t ORDER BY x LIMIT 5) AS y WHERE x IN ('b', 'ANN', 'Bob');

--! case 30ua adversarial: A query of a literal and a column that ignores case is searched by the column's
CREATE TABLE t (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('x');
SELECT 'b' IN (SELECT 'B' UNION ALL SELECT a FROM t);
SELECT z FROM (SELECT 'b' AS z) AS y WHERE z IN (SELECT 'B' UNION ALL SELECT a FROM t);

--! case 30ub adversarial: A query over one of a literal and a column that ignores case
CREATE TABLE t (a TEXT COLLATE NOCASE);
INSERT INTO t VALUES ('x'), ('B'), ('b');
CREATE VIEW v AS SELECT 'B' AS x UNION ALL SELECT a FROM t;
SELECT x FROM v WHERE x = 'b';
--! ordered
SELECT x FROM v ORDER BY x;
SELECT x, count(*) FROM v GROUP BY x;
SELECT max(x), min(x), count(DISTINCT x) FROM (SELECT 'a' AS x UNION ALL SELECT a FROM t) AS y;
SELECT 'b' = (SELECT 'B' UNION ALL SELECT a FROM t LIMIT 1), x IN ('X', 'b'), nullif(x, 'X') FROM v;
WITH c AS (SELECT 'b' AS x UNION ALL SELECT a FROM t) SELECT count(*) FROM c JOIN v ON c.x = v.x;

--! case 30v adversarial: `excluded` has no collation, and neither has a table made of a query
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO t VALUES (1, 'ann', 0);
INSERT INTO t VALUES (1, 'ann', 1) ON CONFLICT (id) DO UPDATE SET n = CASE WHEN excluded.a = 'ANN' THEN 2 ELSE 3 END;
SELECT id, a, n FROM t;
CREATE TABLE u AS SELECT a, n FROM t;
SELECT n FROM u WHERE a = 'ANN';

--! case 30w adversarial: What SQLite simplifies loses its COLLATE
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('ann', 1);
SELECT n FROM t WHERE CASE WHEN a = 'x' COLLATE NOCASE AND 0 THEN 'p' ELSE a END = 'ANN';

--! case 30x adversarial: Neither likely() nor `+` is a column, so a text is no number next to it
CREATE TABLE t (n INTEGER);
INSERT INTO t VALUES (1), (2);
SELECT n FROM t WHERE n = '1';
SELECT n FROM t WHERE likely(n) = '1';
SELECT n FROM t WHERE +n = '1';

--! case 31a: Capital letters are first
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('b'), ('A'), ('a'), ('B'), ('_'), ('1');
--! ordered
SELECT a FROM t ORDER BY a;

--! case 31b adversarial: Comparison by bytes
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a'), ('Z'), ('é'), ('z'), ('-a');
SELECT a FROM t WHERE a > 'Z';
SELECT max(a), min(a) FROM t;

--! case 31c adversarial: Letters with and without accents are different
CREATE TABLE t (a TEXT UNIQUE);
INSERT INTO t VALUES ('resume'), ('résumé'), ('Resume');
SELECT a FROM t WHERE a = 'resume';

--! case 31d adversarial: Characters beyond the basic plane come last
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES (char(65533)), (char(128512)), ('z'), ('日');
--! ordered
SELECT hex(a) FROM t ORDER BY a;

--! case 31e adversarial: The order of an expression
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('b'), ('A'), ('a'), ('B');
--! ordered
SELECT a || '!' AS x FROM t ORDER BY a || '!';
SELECT a FROM t WHERE a || '' > 'a';

--! case 32a adversarial: A space at the end counts
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x'), ('x '), ('x  ');
SELECT a, length(a) FROM t WHERE a = 'x';

--! case 32b adversarial: A unique column distinguishes texts with spaces
CREATE TABLE t (a VARCHAR(20) UNIQUE);
INSERT INTO t VALUES ('x'), ('x ');
SELECT count(*), count(DISTINCT a) FROM t;

--! case 32c adversarial: Spaces in a comparison of two expressions and in LIKE
SELECT 'a' = 'a ', 'a' || '' = 'a', 'a ' LIKE 'a', 'a' < 'a ';

--! case 32d adversarial: Groups with spaces
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('x', 1), ('x ', 2), ('x', 4);
SELECT a, sum(n) FROM t GROUP BY a;

--! case 33a: upper and lower
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcXYZ'), (''), (NULL);
SELECT upper(a), lower(a) FROM t;

--! case 33b adversarial: Other letters stay
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('éàß'), ('ÀÉ'), ('ı');
SELECT upper(a), lower(a) FROM t;

--! case 33c adversarial: lower in a condition
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('École'), ('ECOLE'), ('ecole');
SELECT a FROM t WHERE lower(a) = 'ecole';
SELECT upper(12), lower(1.5);

--! case 34a: length counts characters
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('é'), ('日本語'), ('a😀');
SELECT length(a) FROM t;

--! case 34b adversarial: Composed and decomposed are different
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES (char(233)), ('e' || char(769));
SELECT count(DISTINCT a), sum(length(a)) FROM t;
SELECT count(*) FROM t WHERE a = char(233);

--! case 34c adversarial: length of a blob, of a number and of NULL
SELECT length(x'e9aa'), length(12345), length(1.5), length(NULL), length('');

--! case 18d adversarial: A column without a type compared with columns of types
CREATE TABLE t (id INTEGER PRIMARY KEY, a, i INTEGER, s TEXT, r REAL);
INSERT INTO t VALUES (1, 5, 5, '5', 5.0), (2, '5', 5, '5', 5.0), (3, 5.0, 5, '5.0', 5.5), (4, x'35', 5, '5', 5.0), (5, NULL, NULL, NULL, NULL), (6, 'x', 1, 'x', 1.0);
SELECT id, a = i, a = s, a = r, a < i, s <= a, a IS s, a IN (5, 'x'), a BETWEEN 1 AND 'y' FROM t;
SELECT x.id, y.id FROM t AS x JOIN t AS y ON x.a = y.a;
SELECT id FROM t WHERE a IN (SELECT i FROM t);

--! case 18e adversarial: A column without a type changed, defaulted and returned
CREATE TABLE t (id INTEGER PRIMARY KEY, a DEFAULT 1.5, b DEFAULT 'x');
INSERT INTO t (id) VALUES (1);
INSERT INTO t (id, a) VALUES (2, 9223372036854775807), (3, '12ab'), (4, NULL);
UPDATE t SET b = a WHERE id > 1;
UPDATE t SET a = a + 1;
SELECT id, a, typeof(a), b, typeof(b), -b, b / 0, b % 7, b * 2, length(b) FROM t;
--! params 5, 'y'
INSERT INTO t (a, b) VALUES (?, ?) RETURNING a, b, id;
INSERT INTO t (id, a) VALUES (1, 'z') ON CONFLICT (id) DO UPDATE SET b = excluded.a, a = id;
SELECT * FROM t;
DELETE FROM t WHERE a = 5 OR b IS NULL;

--! case 18f adversarial: Sums of a column without a type
CREATE TABLE t (g INTEGER, a);
INSERT INTO t VALUES (1, 1), (1, 2), (2, 1), (2, '2.5'), (3, 'x'), (3, 4), (4, NULL), (5, x'3132');
SELECT g, sum(a), total(a), avg(a), count(a) FROM t GROUP BY g;

--! case 18g adversarial: Very large and very small numbers in their order
CREATE TABLE t (id INTEGER PRIMARY KEY, a);
INSERT INTO t VALUES (1, 1e300), (2, -1e300), (3, 1e-300), (4, -1e-300), (5, 0), (6, 0.1), (7, -0.1), (8, 12), (9, -12), (10, 123), (11, -123), (12, 1200.5), (13, 9007199254740991), (14, ''), (15, 'A'), (16, 'a'), (17, x''), (18, x'ff'), (19, NULL), (20, 1e16);
--! ordered
SELECT id, a FROM t ORDER BY a;
--! ordered
SELECT id FROM t ORDER BY a DESC;

--! case 39x adversarial: Arithmetic on a DECIMAL column
CREATE TABLE t (id INTEGER PRIMARY KEY, d DECIMAL(10, 2), n NUMERIC);
INSERT INTO t VALUES (1, 2.5, 4), (2, 7, 2), (3, NULL, 1), (4, -3, 0.5);
SELECT id, d + 1, d * n, d / 2, n / 3, -d, d - n, d % 2 FROM t;
SELECT id FROM t WHERE d * 2 > 4 ORDER BY d + n;
--! params 1.0, 2
SELECT d + ?1, d * ?2 FROM t;

--! case 22qa adversarial: Literal reals of more than 15 digits in a numeric column
CREATE TABLE n (id INTEGER PRIMARY KEY, d NUMERIC);
INSERT INTO n VALUES (1, 0.30000000000000004), (2, 1234567890123456789.0), (3, 12.5);
INSERT INTO n VALUES (4, 0.1) UNION ALL SELECT 5, 0.30000000000000004;
UPDATE n SET d = 0.30000000000000004 WHERE id = 4;
SELECT id, d FROM n;
SELECT id FROM n WHERE d = 0.30000000000000004;

--! case 29qa adversarial: GLOB with a hyphen after a bracket, and after a range
SELECT '_' GLOB '[]-a]', '-' GLOB '[]-a]', ']' GLOB '[]-a]', '-' GLOB '[b-a-c]', 'd' GLOB '[a-c-e]', '-' GLOB '[a-c-e]', 'x' GLOB '[^]-a]';

--! case 20qa adversarial: Integers beyond 2^53 between reals
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (9007199254740993), (5);
SELECT a FROM t WHERE a BETWEEN 4.5 AND 5.5;
SELECT a FROM t WHERE a IN (5.0, 6.0);
SELECT a FROM t WHERE a IN (5, 9007199254740993);

--! case 28qa adversarial: A pattern of LIKE that ends with its escape
SELECT 'a!' LIKE 'a!' ESCAPE '!', NULL LIKE '%!' ESCAPE '!', 'a' NOT LIKE 'a!!!' ESCAPE '!', NULL NOT LIKE '!' ESCAPE '!';
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'a!', 5), (2, NULL, NULL), (3, '', 0);
SELECT id, a LIKE 'a!' ESCAPE '!', n NOT LIKE '!' ESCAPE '!' FROM t WHERE a NOT LIKE '%!' ESCAPE '!';
SELECT id FROM t WHERE NOT a LIKE '!' ESCAPE '!' OR a LIKE '!!!' ESCAPE '!';

--! case 24qa adversarial: A text compared with a computed integer, by bytes
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1);
SELECT CAST('~' AS TEXT) < id + 0, CAST('1' AS TEXT) = id + 0 FROM t;

--! case 23r adversarial: An aggregate compared with a value of another class makes one row
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, '2');
SELECT count(*) = '3', count(*) < '3', count(*) IS '3', count(*) IS NOT '3', count(*) BETWEEN '1' AND '5' FROM t;
SELECT count(*) >= '3' FROM t WHERE id > 100;
SELECT max(i) IS NOT lower('x') FROM t WHERE id > 100;
SELECT CASE count(*) WHEN '3' THEN 'three' ELSE 'other' END FROM t;
SELECT id, (SELECT count(*) > '2' FROM t AS u WHERE u.id > 100) FROM t;
SELECT EXISTS (SELECT max(i) IS NOT lower('x') FROM t WHERE id > 100);
--! params '3'
SELECT count(*) >= lower(?) FROM t;
CREATE TABLE u (a INTEGER);
INSERT INTO u SELECT count(*) > 'x' FROM t;
SELECT a FROM u;

--! case 23s adversarial: Parameters of several types inside of functions
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, '2');
--! params x'61', '1.0'
SELECT id, CASE i = 1 WHEN iif(1, ?, ?) THEN 1 ELSE 0 END FROM t;
--! params '2', 1.0, 'A', 3
SELECT id FROM t WHERE CAST(s AS INTEGER) IN (ifnull(?, ?), ifnull(?, ?));

--! case 24r adversarial: Parameters among values of several kinds, in their order
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, '2'), (4, NULL, '10'), (5, NULL, NULL);
--! params '2.0'
--! ordered
SELECT id FROM t ORDER BY coalesce(ifnull(i, s), ?), id;
--! params 5
--! ordered
SELECT id FROM t ORDER BY coalesce(ifnull(i, s), ?), id;
--! params x'31'
--! ordered
SELECT id FROM t ORDER BY coalesce(ifnull(i, s), ?) DESC, id;

--! case 23ya adversarial: BETWEEN converts its left side for each bound alone
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, i INTEGER);
INSERT INTO a VALUES (1, 'x', 1), (2, '5', 2), (3, '', NULL), (4, NULL, 5);
SELECT id FROM a WHERE 0 BETWEEN '%' AND t;
SELECT id FROM a WHERE 5 BETWEEN t AND upper(t);
SELECT id FROM a WHERE '5' BETWEEN i AND id + 0;
--! params '5', 'x'
SELECT id FROM a WHERE ? BETWEEN t AND upper(t) OR ? BETWEEN '%' AND t;
DELETE FROM a WHERE 5 NOT BETWEEN t AND upper(t);

--! case 23yd adversarial unmatched: A bound number BETWEEN a text and a column
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'x'), (2, '5'), (3, ''), (4, NULL);
--! params 5
SELECT id FROM a WHERE ? BETWEEN t AND upper(t);

--! case 23ye adversarial: A bound number BETWEEN a literal text and a column
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'x'), (2, '5'), (3, ''), (4, NULL);
--! params 5
SELECT id FROM a WHERE ? BETWEEN '%' AND t;

--! case 23yb adversarial: A bound text BETWEEN a number and a column
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 5);
--! params '0'
SELECT id FROM a WHERE ? BETWEEN 1 AND i;

--! case 23yc: A literal or parameter BETWEEN two columns, or two values
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER, t TEXT, s TEXT);
INSERT INTO a VALUES (1, 10, 'a', 'c'), (2, 2, 'x', 'z'), (3, NULL, 'b', NULL);
SELECT id FROM a WHERE 2 BETWEEN id AND i;
SELECT id FROM a WHERE 'b' BETWEEN t AND s;
--! params 'b', 2
SELECT id FROM a WHERE ? BETWEEN t AND s OR ? BETWEEN id AND i;
--! params 3
SELECT ? BETWEEN 1 AND 3;

--! case 22ya adversarial: TRUE and FALSE right of IS in a row are numbers
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 0);
SELECT id, (i, id) IS (i, TRUE), (id, i) IS NOT (TRUE, 7), (i, 1) IS (FALSE, TRUE), (i, 1) IS (NULL, TRUE) FROM a;
DELETE FROM a WHERE (i, id) IS (i, TRUE);

--! case 22yb adversarial: COLLATE after TRUE and FALSE right of IS
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 0);
SELECT id, i IS TRUE COLLATE NOCASE, i IS NOT FALSE COLLATE NOCASE, i IS (TRUE), i IS NULL COLLATE NOCASE FROM a;

--! case 18ya adversarial: A part of a blob among values of several types
CREATE TABLE a (id INTEGER PRIMARY KEY, u);
INSERT INTO a VALUES (1, 1.5), (2, 'abc'), (3, x'4142'), (4, NULL);
SELECT id, substr(u, 1, 1), typeof(substr(u, 1, 1)), substr(u, -2), u LIKE 'A%', u GLOB 'a*', instr(u, 'b') FROM a WHERE id <> 3;
SELECT id, upper(u), instr(u, 'B'), length(u) FROM a;

--! case 18yb adversarial: A blob among values of several types as a text
CREATE TABLE a (id INTEGER PRIMARY KEY, u);
INSERT INTO a VALUES (1, 1), (2, 'A'), (3, x'41'), (4, NULL);
DELETE FROM a WHERE substr(u, 1, 1) = 'A';

--! case 18yc adversarial: The type of a part of a blob
CREATE TABLE a (id INTEGER PRIMARY KEY, k TEXT);
INSERT INTO a VALUES (1, 'é'), (2, NULL);
--! params x'42C3A9'
SELECT id, typeof(substr(coalesce(k, ?), 1, 2)), substr(coalesce(k, x'42C3A9'), -1) FROM a;
