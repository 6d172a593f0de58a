--! case 1a: Anonymous and numbered parameters count on from the largest
CREATE TABLE t (a INTEGER, b INTEGER, c TEXT);
INSERT INTO t VALUES (1, 2, 'x'), (3, 4, 'y');
--! params 1, 2, 'x'
SELECT c FROM t WHERE a = ?1 AND b = ? AND c = ?3;
--! params 3, 4
SELECT c FROM t WHERE a = ? AND b = ?;

--! case 1b adversarial: A number used twice, one left out
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1), (1, 5), (5, 5), (5, 1);
--! params 5, 99, 1
SELECT a, b FROM t WHERE (a = ?3 AND b = ?1) OR (a = ?1 AND b = ?1);

--! case 1c: Named parameters of all three kinds, reused
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
--! params 2, 'three'
SELECT a FROM t WHERE a = :n OR b = @word OR a = :n;
--! params 1
SELECT b FROM t WHERE a = $id;

--! case 1d adversarial: A question mark in a string, a comment and a name is no parameter
CREATE TABLE t (a TEXT, "b?" INTEGER);
INSERT INTO t VALUES ('?', 1), ('x', 2);
--! params 1
SELECT a, '?' AS q, ':x' AS r FROM t /* ? :y */ WHERE "b?" = ? -- ? and $1
;

--! case 1e adversarial: A named parameter takes the number after the largest so far
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
--! params 9, 9, 1, 2
SELECT a FROM t WHERE a = ?3 OR a = :four;

--! case 1f: A parameter in an INSERT, values of every kind
CREATE TABLE t (i INTEGER, r REAL, x TEXT, b BLOB);
--! params 7, 2.5, 'it''s', x'00ff'
INSERT INTO t VALUES (?, ?, ?, ?);
--! params NULL, NULL, NULL, NULL
INSERT INTO t (b, x, r, i) VALUES (:a, :b, :c, :d);
SELECT * FROM t;

--! case 1g adversarial: A parameter under a CAST to REAL
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1), (2);
--! params 3.5
SELECT id, CAST(? AS REAL) * 2 FROM t;
--! params 3
SELECT id, CAST(? AS INTEGER) / 2 FROM t;

--! case 1h adversarial: An integer bound under a CAST to REAL
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1), (2);
--! params 3
SELECT id, CAST(? AS REAL) FROM t;

--! case 1i adversarial: A parameter that goes through a subquery before it is used
CREATE TABLE t (x TEXT);
INSERT INTO t VALUES ('5'), ('A');
--! params 5, 'A'
SELECT x FROM t, (SELECT ?1 AS i) AS q WHERE CAST(q.i AS TEXT) >= lower(?2);

--! case 1j adversarial: A parameter in one branch takes the type of the others
CREATE TABLE t (a INTEGER, x TEXT);
INSERT INTO t VALUES (1, 'p'), (2, NULL);
--! params 7, 'q'
SELECT CASE a WHEN 1 THEN ?1 ELSE a END, CASE WHEN a = 1 THEN ?2 ELSE x END, iif(a = 2, ?2, x), coalesce(?1, a) FROM t;

--! case 1k adversarial: An integer bound in a place that makes a real of it
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (1.5), (NULL);
--! params 3
SELECT abs(CAST(?1 AS REAL)) + 1, r > ?1 FROM t WHERE r < ?1 OR r IS NULL;
--! params 4
INSERT INTO t VALUES (?);
UPDATE t SET r = r * CAST(2 AS REAL) WHERE r = 4;

--! case 1l adversarial: An integer bound where a real stands next to it stays an integer
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (1.5), (NULL);
--! params 3
SELECT coalesce(r, ?1), CASE WHEN r > ?1 THEN r ELSE ?1 END, max(1.0, ?1) FROM t;

--! case 1q adversarial: A column of reals compared with a bound integer that no real equals
CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO t VALUES (1, 9007199254740992.0), (2, 1e18);
---! params 9007199254740993
DELETE FROM t WHERE r = ?;
---! params 1000000000000000000
UPDATE t SET r = 0 WHERE r = ?;
SELECT id, r FROM t;

--! case 1m adversarial: Parameters to which only their values give a type
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT);
INSERT INTO t VALUES (1, 5, 'x'), (2, NULL, '5');
--! params 5, 'x', 2.5, x'00ff'
SELECT ?, ?, ?, ?;
--! params 1, 2
SELECT ?1 = ?2, ?1 < ?2, ?1 IS ?1;
--! params 7, 5
SELECT ?1 AS "a" FROM t WHERE EXISTS (SELECT ?1 AS "b" FROM t AS u WHERE u.a = ?2 LIMIT 1);
--! params 3, 'y'
SELECT id, coalesce(?1, a), ?2 || s, max(?1, 2), nullif(?1, 3) FROM t;
--! params 'q', 'r'
SELECT ? AS k UNION ALL SELECT ?;
--! params 2, 'z'
SELECT k, v || '!' FROM (SELECT ? AS k, ? AS v) WHERE k > 1;

--! case 2a: A name in brackets
CREATE TABLE [my table] ([the id] INTEGER PRIMARY KEY, [value] TEXT);
INSERT INTO [my table] ([the id], [value]) VALUES (1, 'x');
SELECT [the id], [value] FROM [my table];

--! case 2b adversarial: Quotes inside brackets
CREATE TABLE t ([a"b] INTEGER, [c`d] INTEGER);
INSERT INTO t VALUES (1, 2);
SELECT [a"b], t.[c`d] FROM t WHERE [a"b] = 1;

--! case 2c adversarial: Brackets in a string are text
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('[a]'), ('a');
SELECT a FROM t WHERE a = '[a]';

--! case 3a: A name in backticks
CREATE TABLE `order` (`id` INTEGER PRIMARY KEY, `group` TEXT);
INSERT INTO `order` VALUES (1, 'g');
SELECT `order`.`group` FROM `order`;

--! case 3b adversarial: A doubled backtick is one
CREATE TABLE t (`a``b` INTEGER);
INSERT INTO t VALUES (3);
--! names
SELECT `a``b` AS `x y` FROM t;

--! case 3c adversarial: Backticks in a string are text
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('`a`'), ('a');
SELECT a || '`' FROM t WHERE a = '`a`';

--! case 4a: A string in double quotes
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x'), ('y');
SELECT a FROM t WHERE a = "x";

--! case 4b adversarial: In double quotes a column if there is one, else a string
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('b', 'q'), ('c', 'c'), ('z', 'b');
SELECT a FROM t WHERE a = "b";
SELECT a FROM t WHERE a = "c";

--! case 4c adversarial: A string in double quotes holding a single one
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ("it's"), ("say ""hi""");
SELECT a FROM t WHERE a IN ("it's", 'say "hi"');

--! case 5a: An alias in single quotes
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
--! names
SELECT a AS 'the value' FROM t;

--! case 5b: An alias in single quotes without AS
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
--! names
SELECT a 'x', a + 1 'y' FROM t;

--! case 5c adversarial: ORDER BY a string is no order by the column of that name
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (2, 1);
--! ordered
SELECT a, b AS 'k' FROM t ORDER BY k;

--! case 6a: Letter case of names does not count
CREATE TABLE Users (UserId INTEGER PRIMARY KEY, userName TEXT);
INSERT INTO USERS (userid, USERNAME) VALUES (1, 'ann');
SELECT USERID, UserName FROM users WHERE "USERID" = 1;

--! case 6b adversarial: Column names come back as written
CREATE TABLE t (createdAt INTEGER);
INSERT INTO t VALUES (1);
--! names
SELECT createdAt AS createdAt, createdAt + 1 AS NextValue FROM t;

--! case 6c adversarial: Names in quotes do not regard letter case either
CREATE TABLE "Mixed" ("Col" INTEGER, other INTEGER);
INSERT INTO mixed (COL, "OTHER") VALUES (1, 2);
SELECT m.col, M."Other" FROM "MIXED" AS m;

--! case 6d adversarial: An alias is found whatever its case
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 9), (2, 8);
--! ordered
SELECT a AS "Sort Key", b FROM t ORDER BY "SORT KEY" DESC;

--! case 7a: Names that are reserved in PostgreSQL
CREATE TABLE user (id INTEGER PRIMARY KEY, analyse INTEGER, "offset" INTEGER);
INSERT INTO user (id, analyse, "offset") VALUES (1, 2, 3);
SELECT id, analyse, "offset" FROM user;

--! case 7b: Names that are reserved in MariaDB
CREATE TABLE rank (key INTEGER, condition TEXT, usage INTEGER, read INTEGER);
INSERT INTO rank (key, condition, usage, read) VALUES (1, 'c', 2, 3);
SELECT key, condition, usage, read FROM rank WHERE key = 1;

--! case 7c adversarial: user is a column and not the session's user
CREATE TABLE log (user TEXT, system INTEGER);
INSERT INTO log (user, system) VALUES ('ann', 1);
SELECT user FROM log WHERE user = 'ann';

--! case 7d adversarial: Aliases that are reserved words elsewhere
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
--! names
SELECT end.a AS lateral, end.a AS rows FROM t AS "end" WHERE "end".a = 2;

--! case 8a: A backslash is a backslash
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('C:\new\table'), ('\'), ('\\');
SELECT a, length(a) FROM t;

--! case 8b adversarial: LIKE has no escape character by default
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a\%b'), ('a%b'), ('a\xb');
SELECT a FROM t WHERE a LIKE 'a\%b';

--! case 8c adversarial: A parameter with a backslash
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('50\%'), ('50%'), ('50\x');
--! params '50\%'
SELECT a FROM t WHERE a LIKE ?;

--! case 8d adversarial: A backslash at the end of a string does not eat the quote
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('x\', 'y');
SELECT a, b FROM t WHERE a = 'x\' AND b = 'y';

--! case 9a: Two equals signs
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (NULL);
SELECT a FROM t WHERE a == 1;

--! case 9b: Both forms of unequal
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (NULL);
SELECT a FROM t WHERE a <> 1 UNION ALL SELECT a FROM t WHERE a != 2;

--! case 9c adversarial: Equals signs in a chain are from left to right
CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER);
INSERT INTO t VALUES (2, 2, 1), (2, 2, 2), (3, 2, 0);
SELECT a, b, c FROM t WHERE a == b = c;

--! case 10a: Strings put together
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('x', 'y'), ('x', NULL), ('', '');
SELECT a || '-' || b FROM t;

--! case 10b adversarial: A number put together with a string
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'y'), (-2, NULL);
SELECT a || b, a || a, 'n' || (a + 1) FROM t;

--! case 10c adversarial: || binds tighter than arithmetic and comparison
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (3, 4);
SELECT a || b + 1 FROM t WHERE a || b = '12' OR a || b > '30';

--! case 10d adversarial: A real put together with a string keeps its point
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (1.0), (2.5), (-0.25);
SELECT r || '' FROM t;

--! case 11a: Hexadecimal integers
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (0x1F), (0xff), (31);
SELECT a, a + 0x10 FROM t WHERE a = 0x1f;

--! case 11b: Digits with separators
CREATE TABLE t (a INTEGER, r REAL);
INSERT INTO t VALUES (1_000, 1_0.5);
SELECT a, r FROM t WHERE a >= 1_000;

--! case 11c adversarial: Hexadecimal integers of 64 bits are two's complement
SELECT 0xFFFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000;

--! case 11d adversarial: A hexadecimal number in a text is no number
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('0x10');
SELECT CAST(a AS INTEGER) FROM t;

--! case 11e adversarial unmatched=MariaDB: A number beyond all doubles is infinite
CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO t VALUES (1, 1e999), (2, -1e999), (3, 1.7e308);
SELECT id, r, r > 1.7e308, r < 1e400 FROM t;

--! case 12a: Blobs
CREATE TABLE t (a BLOB);
INSERT INTO t VALUES (x'00ff10'), (X'');
SELECT a, length(a) FROM t;

--! case 12b: A blob compared
CREATE TABLE t (a BLOB);
INSERT INTO t VALUES (x'01'), (x'0100'), (x'02'), (x'ff');
--! ordered
SELECT a FROM t WHERE a > x'01' ORDER BY a DESC;

--! case 12c adversarial: A blob is not the text of the same bytes
CREATE TABLE t (a BLOB, b TEXT);
INSERT INTO t VALUES (x'616263', 'abc');
SELECT a = b, a = x'616263' FROM t;

--! case 12d adversarial: A blob in arithmetic or as text
CREATE TABLE t (a BLOB);
INSERT INTO t VALUES (x'3132');
SELECT CAST(a AS TEXT), typeof(a) FROM t;

--! case 12e adversarial: Bytes as a text, other letters and nothing
CREATE TABLE t (a BLOB);
INSERT INTO t VALUES (x'c3a9e697a5'), (x''), (NULL), (x'27');
SELECT CAST(a AS TEXT), length(CAST(a AS TEXT)) FROM t;

--! case 13a: Comments of both kinds
CREATE TABLE t (a INTEGER /* the number */, b TEXT -- the text
);
INSERT INTO t VALUES (1, '--x'), (2, '/* y */');
SELECT a, b -- all
FROM t /* of it
*/ WHERE a > 0;

--! case 13b adversarial: A minus and a negative number are no comment without a space in between
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (5), (-5);
SELECT a - -1, a - (-a), - - a FROM t;

--! case 13c adversarial: A hash is no comment, a comment without an end ends with the text
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('#'), ('#x');
SELECT a || '#' FROM t WHERE a = '#' /* to the end;

--! case 13d: An empty statement between others
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);;
SELECT a FROM t;;

--! case 14a: Every other control character
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES (char(1, 9, 10, 13, 127));
SELECT a, length(a) FROM t;

--! case 14b adversarial unmatched=PostgreSQL: NUL in a literal text
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a' || char(0) || 'b');
SELECT hex(a) FROM t;

--! case 14c: Characters beyond the basic plane
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('a😀b'), ('日本語'), ('é');
SELECT a, length(a) FROM t WHERE a LIKE '%😀%' OR a = 'é';

--! case 14d adversarial unmatched: Bytes that are no UTF-8 as a text
SELECT length(CAST(x'ff41' AS TEXT)), hex(CAST(x'ff41' AS TEXT));

--! case 15a: A statement with many terms
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (50), (99), (500);
SELECT a FROM t WHERE a IN (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99);

--! case 15b: Many parameters
CREATE TABLE t (a INTEGER, b INTEGER);
--! params 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24
INSERT INTO t VALUES (?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?);
SELECT count(*), sum(a * b) FROM t;

--! case 15c adversarial: The highest number of a parameter is high
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
--! params 2
SELECT a FROM t WHERE a = ?1 OR a = ?32000;

--! case 15e adversarial: Hundreds of terms in a row
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (-30, 7), (NULL, 1);
SELECT a + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b + b + b + 2 * a - b + b + b + b + b FROM t;
SELECT a - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 - b * 1 + 3 FROM t;
--! params 5
SELECT a FROM t WHERE a + ? + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b + b - b > 0;

--! case 15d: Deep parentheses
SELECT ((((((((((((((((((((((((((((((1 + 2)))))))))))))))))))))))))))))) * 3;

--! case 1n adversarial: Integers bound next to reals in arithmetic, functions and choices
CREATE TABLE t (r REAL, n INTEGER);
INSERT INTO t VALUES (1.5, 2), (7.0, NULL);
--! params 3
SELECT r + ?1, ?1 / r, r % ?1, ?1 % r, abs(?1), ifnull(n, ?1), r > ?1, r IN (?1, 7) FROM t;
--! params 3, 2.5
SELECT CASE WHEN n IS NULL THEN ?1 ELSE ?2 END, typeof(coalesce(n, ?2)), min(r, ?1) FROM t;

--! case 11f adversarial unmatched: Infinity minus infinity
SELECT 1e999 - 1e999, 1e999 * 0.0;

--! case 14e adversarial unmatched=PostgreSQL: The length of a text ends at NUL
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('é' || char(0) || 'b'), ('ab'), (NULL), ('');
SELECT a, length(a) FROM t;

--! case 1r adversarial: A real bound next to a column of integers and reals stays a real
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, n NUMERIC, s TEXT);
INSERT INTO t VALUES (1, 1, 1, NULL), (2, 2, 2.5, NULL), (3, NULL, NULL, NULL);
--! params 7.0
SELECT id, coalesce(n, ?1), ifnull(n, ?1), max(n, ?1), CASE WHEN i = 1 THEN ?1 ELSE n END, nullif(?1, n), coalesce(n, ?1) || '' FROM t;
--! params 1.0
SELECT id, nullif(?1, n), nullif(n, ?1) FROM t;
--! params 7.0
UPDATE t SET s = coalesce(n, ?) || '';
--! params 7
SELECT id, coalesce(n, ?1), s FROM t;

--! case 1s adversarial: NULL bound in arithmetic makes no real of an integer next to it
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2);
--! params NULL
SELECT id, coalesce(abs(?1), i), coalesce(?1 * 2, i), CASE WHEN id = 1 THEN -?1 ELSE i END, coalesce(?1 + 1, i), coalesce(-nullif(?1, i), i) FROM t;
SELECT id, coalesce(abs(NULL), i), CASE WHEN id = 1 THEN -NULL ELSE i END, coalesce(NULL + 1, i) FROM t;
SELECT abs(NULL) AS a FROM t UNION ALL SELECT i FROM t;
--! params NULL, 2
SELECT id, coalesce(max(?1, ?2), i), coalesce(-max(NULL, 1), i), coalesce(CAST(NULL AS INTEGER) + 1, i) FROM t;
