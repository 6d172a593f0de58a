--! case 35a: Integers are divided toward zero
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (7, 2), (-7, 2), (7, -2), (-7, -2);
SELECT a / b, a % b FROM t;

--! case 35b adversarial: Integer columns divided, then compared and multiplied
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (5), (6), (7);
SELECT a FROM t WHERE a / 2 = 3;
SELECT a / 2 * 2, 10 / 4 * 1.0, 10 / 4.0 FROM t;

--! case 35c adversarial: A sum divided by a count
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (4);
SELECT sum(a) / count(*), sum(a) * 1.0 / count(*) FROM t;

--! case 35d adversarial: Parameters divided
--! params 7, 2
SELECT ? / ?;

--! case 35e adversarial: % makes integers of reals
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (7.9), (-7.9);
SELECT r % 3, 7 % 2.9 FROM t;

--! case 35f adversarial: Operators on nothing but NULL
CREATE TABLE t (a INTEGER, r REAL);
INSERT INTO t VALUES (1, 2.5), (NULL, NULL);
SELECT -CAST(NULL AS INTEGER), NULL + NULL, - - NULL, a * -NULL, -NULL / r, count(-CAST(NULL AS REAL)), sum(NULL + 1) FROM t GROUP BY a, r;
SELECT a FROM t WHERE -a / -CAST(NULL AS INTEGER) + - -a IS NOT NULL OR -NULL <> a OR NULL % r > 1 OR (NULL - NULL) IS NULL;

--! case 36a: Divided by zero is NULL
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 0), (0, 0), (4, 2);
SELECT a / b, a % b FROM t;

--! case 36b: A real divided by zero
CREATE TABLE t (a REAL, b REAL);
INSERT INTO t VALUES (1.5, 0.0), (3.0, 1.5);
SELECT a / b, 1.0 / 0, 1 / 0.0 FROM t;

--! case 36c adversarial: A division by zero in a condition and in an aggregate
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 0), (4, 2), (6, 3);
SELECT a FROM t WHERE a / b > 1;
SELECT sum(a / b), count(a / b) FROM t;

--! case 36d adversarial: % where the divisor becomes zero as an integer
SELECT 5 % 0.5, 5.0 % 0;

--! case 37a: Large numbers that fit
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (4611686018427387904), (3000000000);
SELECT a + a - 1 FROM t WHERE a = 3000000000;
SELECT 2147483647 + 1, 65536 * 65536;

--! case 37b adversarial breaks=overflow: A sum that does not fit is a real
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (9223372036854775807);
SELECT a + 1, -a - 2, a * 2 FROM t;

--! case 37c adversarial: A literal that does not fit is a real
SELECT 9223372036854775808, -9223372036854775808, typeof(9223372036854775808);

--! case 37d adversarial: Products of integer columns beyond 32 bits
CREATE TABLE t (a INT, b INT);
INSERT INTO t VALUES (2000000000, 3), (100000, 100000);
SELECT a * b, a + a FROM t;

--! case 38a: CAST of texts that are numbers
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('12'), ('-7'), ('0');
SELECT CAST(a AS INTEGER), CAST(a AS REAL) FROM t;

--! case 38b adversarial: CAST of texts that only begin with a number
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('12abc'), ('abc'), (' 3 '), ('1.9'), ('-2e2x'), ('');
SELECT CAST(a AS INTEGER), CAST(a AS REAL) FROM t;

--! case 38c adversarial: CAST of a real to an integer cuts off
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (1.5), (2.5), (-1.5), (0.9), (-0.9);
SELECT CAST(r AS INTEGER), CAST(r AS INT) + 1 FROM t;

--! case 38d: CAST to text and back
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (42), (-1), (NULL);
SELECT CAST(a AS TEXT), CAST(CAST(a AS TEXT) AS INTEGER), typeof(CAST(a AS TEXT)) FROM t;

--! case 38e adversarial: CAST to NUMERIC keeps what it is
SELECT CAST('3' AS NUMERIC), CAST('3.5' AS NUMERIC), CAST('3.0' AS NUMERIC), CAST(2.0 AS NUMERIC);

--! case 38f adversarial: CAST to VARCHAR(n) does not cut
SELECT CAST('abcdef' AS VARCHAR(3)), CAST(123456 AS CHAR(2)), CAST(12 AS UNSIGNED BIG INT);

--! case 38g adversarial: CAST of a real that does not fit an integer
SELECT CAST(1e30 AS INTEGER), CAST(-1e30 AS INTEGER);

--! case 38h adversarial: The text of a quotient keeps its sign and all digits
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (7, -7), (-70, 7), (100, -3), (7, 0);
SELECT CAST(7 / b AS TEXT), CAST(a / b AS TEXT), 'x' || (9 / b), CAST(7 % b AS TEXT), CAST(-b AS TEXT) FROM t;

--! case 38i adversarial: The text of a quotient, sorted by something else
CREATE TABLE t (id INTEGER PRIMARY KEY, f INTEGER, r REAL);
CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER, n INTEGER);
INSERT INTO t VALUES (1, 1, 0.5), (2, 0, 1.5), (3, 1, 2.5);
INSERT INTO u VALUES (1, 1, -7), (2, 1, -3), (3, 2, 2), (4, 3, -5);
--! ordered
SELECT CAST(7 / u.n AS TEXT), t.r + 1 FROM t LEFT JOIN u ON u.t = t.id ORDER BY t.f DESC, t.id, u.id LIMIT 4;
SELECT DISTINCT CAST(7 / n AS TEXT), 'x' || (9 / n) FROM u;

--! case 38j adversarial: CAST of reals near the ends of 64 bits
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (9.2e18), (9.21e18), (-9.21e18), (9223372036854774784.0), (-9223372036854775808.0), (9.3e18), (-9.3e18), (1e300), (-0.5), (NULL);
SELECT r, CAST(r AS INTEGER) FROM t;
SELECT CAST(9.21e18 AS INTEGER), CAST(-9.21e18 AS INTEGER), CAST(9223372036854775807.0 AS INTEGER), CAST(-9.3e18 AS INTEGER);

--! case 38k adversarial: CAST of texts behind every white space of SQLite's, and behind others
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, char(9) || '12'), (2, char(10) || '-3'), (3, char(11) || '4x'), (4, char(12) || '5'), (5, char(13, 32) || '6'), (6, '  ' || char(9) || ' 7');
INSERT INTO t VALUES (11, char(133) || '8'), (12, char(8232) || '9'), (13, char(160) || '10'), (14, '- 1'), (15, 'v1');
SELECT id, CAST(a AS INTEGER) FROM t;

--! case 38l adversarial: Texts behind white space as reals, in arithmetic and against a number
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, n INTEGER);
INSERT INTO t VALUES (1, char(9) || '12', 12), (2, char(11) || '-3' || char(11), -3), (3, char(12) || '4' || char(10), 4), (4, char(133) || '8', 8), (5, '9' || char(8232), 9);
SELECT id, CAST(a AS REAL), a + 1, a = n, a > n FROM t;

--! case 38m adversarial: The integer that a text begins with has no exponent and is held to 64 bits
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '1e3'), (2, '99999999999999999999'), (3, '-9223372036854775809'), (4, '9007199254740993.5'), (5, '00000000000000000000000000000000000000000000000012');
SELECT id, CAST(a AS INTEGER) FROM t;
SELECT CAST('1e3' AS INTEGER), CAST('123e+5' AS INTEGER), CAST('99999999999999999999' AS INTEGER), CAST('-9223372036854775809' AS INTEGER), CAST('9007199254740993.5' AS INTEGER), CAST('1e3' AS NUMERIC), CAST('1e' AS REAL), CAST('5e15' AS NUMERIC), CAST('2251799813685247.0' AS NUMERIC), CAST('-2251799813685248.0' AS NUMERIC), CAST('2251799813685248.0' AS NUMERIC);

--! case 39a: A text that is a number in arithmetic
SELECT '3' + 4, '3.5' * 2, -'5';

--! case 39b adversarial: A text that is none
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abc'), ('3x'), ('7'), ('1.5e1z');
SELECT a + 1 FROM t;

--! case 39c adversarial: A date minus a date
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('2024-05-01', '2020-01-01');
SELECT a - b, a + 0 FROM t;

--! case 39d adversarial: The sum of texts
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('1'), ('2.5'), ('x');
SELECT sum(a), max(a) FROM t;

--! case 39e adversarial: Texts that begin with a number or with none, and NULL
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('12 apples', 5), ('-7', 2), ('+3-', 3), ('e5', 1), (NULL, 1), ('', 2), ('  8', 3);
SELECT a + n, a - '1', a * 2, a / 2, a % n, -a FROM t;
SELECT n FROM t WHERE a + 0 > 5;

--! case 39f adversarial: The digits of a date are numbers
CREATE TABLE t (d TEXT);
INSERT INTO t VALUES ('2024-02-29'), ('1999-12-31');
SELECT strftime('%Y', d) + 1, strftime('%m', d) * 100 + strftime('%d', d), strftime('%j', d) / 2 FROM t;

--! case 40a: And, or, shifts
SELECT 12 & 10, 12 | 3, 1 << 4, 256 >> 3, 5 & NULL;

--! case 40b adversarial: Not of all bits, and large results are signed
SELECT ~0, ~5, ~(-1), 1 << 63, ~0 & 255, -1 | 0;

--! case 40c adversarial: A shift of a negative number, by a negative number, by much
SELECT -16 >> 2, 1 << -1, 4 >> -1, 1 << 64, -1 >> 70;

--! case 40d adversarial: How tightly bit operators bind
SELECT 1 | 2 = 2, 6 & 3 = 2, 1 + 2 << 3, 1 << 2 + 1, 7 & 3 | 8;

--! case 40e: Bits of columns
CREATE TABLE t (flags INTEGER);
INSERT INTO t VALUES (5), (2), (7), (NULL);
SELECT flags FROM t WHERE flags & 4;
UPDATE t SET flags = flags & ~1 WHERE flags & 1 = 1;

--! case 40f adversarial: Shifts to the right of shifts, of both ends of the integers
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 9223372036854775807), (2, -9223372036854775807), (3, -1), (4, 0), (5, -5), (6, 1000), (7, NULL),
  (8, -9223372036854775807 - 1);
SELECT id, n >> 1, n >> 63, n >> 0, n >> 62 >> 1, n >> 3 >> 2 >> 1 >> 1 >> 1, (n >> 1) * 2, -(n >> 2) FROM t ORDER BY id;
SELECT id FROM t WHERE n >> 2 >> 1 = -1;

--! case 41a: AVG is a real
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (4), (NULL);
SELECT avg(a), avg(a) * 3 FROM t;

--! case 41b adversarial: AVG of integers that comes out even is a real
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (2), (4);
SELECT avg(a), typeof(avg(a)), avg(a) || '' FROM t;

--! case 41c adversarial: round away from zero, and its type
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (2.5), (3.5), (-2.5), (1.25), (0.5);
SELECT round(r), round(r, 1) FROM t;

--! case 41d adversarial: round of an integer is a real
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (3), (15);
SELECT round(a), round(a, 2), round(a, -1), typeof(round(a)) FROM t;

--! case 41e adversarial: The text of reals
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (100.0), (1e20), (1e-5), (0.1), (123456789.125);
SELECT CAST(r AS TEXT) FROM t;

--! case 41f: Reals in and out
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (0.1), (1e300), (-2.5e-10), (3);
SELECT r, r + 0.2, r * 10, abs(r) FROM t;

--! case 41g adversarial: round to digits, where the exact value decides
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (2.675), (1.005), (-0.125), (0.375), (1234567.891), (-2.5), (0.0), (NULL), (9.995), (1e17), (0.045), (1.45), (0.285);
SELECT r, round(r, 2), round(r, 1), round(r, 4) FROM t;

--! case 42a: SUM of integers is one
CREATE TABLE t (a INTEGER, g TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'y'), (NULL, 'z');
SELECT g, sum(a), typeof(sum(a)) FROM t GROUP BY g;

--! case 42b adversarial: SUM over no rows is NULL, TOTAL is 0.0
CREATE TABLE t (a INTEGER);
SELECT sum(a), total(a), count(a), avg(a), max(a) FROM t;

--! case 42c: TOTAL is a real
CREATE TABLE t (a INTEGER, r REAL);
INSERT INTO t VALUES (1, 0.5), (2, 0.25), (NULL, NULL);
SELECT total(a), total(r), sum(r) FROM t;

--! case 42d adversarial: SUM of integers larger than 32 bits, DISTINCT
CREATE TABLE t (a INT);
INSERT INTO t VALUES (2147483647), (2147483647), (1);
SELECT sum(a), sum(DISTINCT a), count(DISTINCT a) FROM t;

--! case 42e adversarial fails: SUM of integers beyond 64 bits fails
CREATE TABLE t (a INTEGER, g TEXT);
INSERT INTO t VALUES (9223372036854775807, 'x'), (1, 'x'), (5, 'y'), (-9223372036854775807, 'z'), (-2, 'z');
SELECT sum(a) FROM t WHERE g = 'x';
SELECT sum(a) FROM t WHERE g = 'z';
SELECT a, sum(a) OVER (PARTITION BY g) FROM t;
SELECT g, sum(a) FROM t WHERE g = 'y' GROUP BY g;

--! case 42f adversarial: SUM of integers up to the ends of 64 bits
CREATE TABLE t (a INTEGER, g TEXT);
INSERT INTO t VALUES (9223372036854775806, 'x'), (1, 'x'), (-9223372036854775807, 'z'), (-1, 'z'), (NULL, 'n');
SELECT g, sum(a), typeof(sum(a)), 'is ' || sum(a) FROM t GROUP BY g;
SELECT g, sum(a) OVER (PARTITION BY g), sum(DISTINCT a) FROM t GROUP BY g, a;

--! case 43a: max and min of several
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 2), (5, 3), (-1, -1);
SELECT max(a, b), min(a, b), max(a, b, 2) FROM t;

--! case 43b adversarial: NULL if any is NULL
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, NULL), (NULL, NULL), (NULL, 2), (3, 4);
SELECT max(a, b), min(a, b), max(a, 0) FROM t;

--! case 43c adversarial: max of texts by bytes
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('a', 'B'), ('é', 'z');
SELECT max(a, b), min(a, b) FROM t;

--! case 43d adversarial: max of an aggregate and of several inside of each other
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 9), (5, 3);
SELECT max(max(a, b)), max(min(a), 2), max(5, 2.5) FROM t;

--! case 43e: A parameter among several
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 4), (2, 8), (3, NULL);
--! params 5
SELECT id, max(a, ?) FROM t;
--! params 5
SELECT id FROM t WHERE min(?1, a) = ?1;

--! case 44a: ifnull
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (NULL, NULL), (1, 'x');
SELECT ifnull(a, 0), ifnull(b, 'none'), coalesce(a, 5), nullif(a, 1) FROM t;

--! case 44b: iif
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (0), (1), (NULL), (5);
SELECT iif(a > 1, 'big', 'small'), iif(a, 1, 2) FROM t;

--! case 44c adversarial: ifnull of different kinds
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (NULL), (7);
SELECT ifnull(a, 'none') FROM t;

--! case 44d adversarial: iif without else, coalesce of many
SELECT iif(1 > 2, 'x'), coalesce(NULL, NULL, 3, 4), iif(NULL, 1, 0);

--! case 44e adversarial: nullif of a parameter
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
INSERT INTO t VALUES (1, 4), (2, 8), (3, NULL);
--! params 4, 7
SELECT id, nullif(?1, a) + 1, coalesce(?2, a) FROM t WHERE a > nullif(?1, 9) OR a IS NULL;

--! case 44f adversarial: An integer where the column is NULL, in a place of reals
CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO t VALUES (1, 0.5), (2, NULL);
SELECT id, coalesce(r, 3), ifnull(r, 0) FROM t;

--! case 44g adversarial: iif of several conditions, with and without an otherwise
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL), (NULL, 'x');
SELECT iif(a = 1, 'one', a = 2, 'two', 'many'), iif(a > 2, 30, b = 'x', 40), if(a, 1, b = 'x', 2, 3) FROM t;
--! params 7, 2
SELECT iif(a = ?2, ?1, a > ?2, 8, b IS NULL, 9, 10) FROM t;

--! case 45a: substr
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcdef'), ('日本語'), ('');
SELECT substr(a, 2, 2), substr(a, 2), substr(a, 1, 1), substring(a, 3) FROM t;

--! case 45b adversarial: substr from the end
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcdef'), ('ab');
SELECT substr(a, -2), substr(a, -3, 2), substr(a, -9, 5) FROM t;

--! case 45c adversarial: substr from zero, of negative length
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcdef');
SELECT substr(a, 0), substr(a, 0, 3), substr(a, 4, -2), substr(a, 100), substr(a, 2, 0) FROM t;

--! case 45d adversarial: substr where the start is a column
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('abcdef', -2), ('abcdef', 0), ('abcdef', 2), (NULL, 1), ('x', NULL);
SELECT substr(a, n), substr(a, n, 2) FROM t;

--! case 45e adversarial: substr of a blob and of a number
SELECT substr(x'0102030405', 2, 2), substr(12345, 2, 3);

--! case 45f adversarial: substr from places and of lengths that no text has
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcdef'), ('日本'), ('');
SELECT substr(a, -9223372036854775808), substr(a, -3000000000), substr(a, 3000000000) FROM t;
SELECT substr(a, 2, 9223372036854775807), substr(a, 9223372036854775807, 1), substr(a, 2147483647, 2147483647) FROM t;
SELECT substr(a, -2, 9223372036854775807), substr(a, -2, 3000000000), substr(a, -2, -9223372036854775808) FROM t;
SELECT substr(a, 0, 3000000000), substr(a, 0, -3000000000), substr(a, -9223372036854775808, 9223372036854775807) FROM t;
SELECT substr(a, 3000000000, -2999999998), substr(a, 9223372036854775807, -9223372036854775808) FROM t;

--! case 45g adversarial: substr where such places are a column
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('abcdef', -1000000001), ('abcdef', -1000000003), ('abcdef', -3000000000), ('abcdef', 3000000000);
SELECT substr(a, n), substr(a, n, 2), substr(a, n, -2) FROM t;

--! case 45h adversarial: substr where places and lengths of any size are columns
CREATE TABLE t (a TEXT);
CREATE TABLE p (n INTEGER);
INSERT INTO t VALUES ('abcdef'), ('日本'), ('');
INSERT INTO p VALUES (-9223372036854775808), (-9223372036854775807), (-9223372036854775802), (-3000000000), (-1000000003), (-3), (0);
INSERT INTO p VALUES (2), (2147483647), (2999999998), (3000000000), (8223372036854775808), (9223372036854775807), (NULL);
SELECT a, p.n, substr(a, p.n) FROM t, p ORDER BY a, p.n;
SELECT a, p.n, q.n, substr(a, p.n, q.n) FROM t, p, p AS q ORDER BY a, p.n, q.n;

--! case 45i adversarial: substr where places and lengths are expressions of small numbers
CREATE TABLE t (a TEXT, b INTEGER);
INSERT INTO t VALUES ('abcdef', 1), ('abcdef', 0), ('abcdef', NULL);
SELECT substr(a, iif(b, 2000000000, 1)), substr(a, iif(b, 2000000000, -2000000000)) FROM t;
SELECT substr(a, iif(b, 2147483647, 2), iif(b, -2147483646, 2147483647)) FROM t;
SELECT substr(a, iif(b, -2147483647, -2), iif(b, 2147483647, -2147483647)) FROM t;

--! case 46a: instr
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('hello world'), ('world'), ('none'), (NULL);
SELECT instr(a, 'world'), instr(a, 'o') FROM t;

--! case 46b adversarial: instr regards letter case and counts characters
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('ABCabc'), ('日本語abc');
SELECT instr(a, 'abc'), instr(a, 'B') FROM t;

--! case 46c adversarial: instr of the empty string, of a percent sign
SELECT instr('abc', ''), instr('a%c', '%'), instr('', 'x'), instr(12345, 34);

--! case 47a: group_concat with the default separator
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x');
SELECT group_concat(a) FROM t;

--! case 47b: group_concat in an order
CREATE TABLE t (a TEXT, n INTEGER);
INSERT INTO t VALUES ('x', 3), ('y', 1), ('z', 2), (NULL, 4);
SELECT group_concat(a, '; ' ORDER BY n) FROM t;
SELECT string_agg(a, '-' ORDER BY n DESC) FROM t;

--! case 47c adversarial: group_concat of numbers, of nothing
CREATE TABLE t (a INTEGER, g INTEGER);
INSERT INTO t VALUES (3, 1), (3, 1), (NULL, 2);
SELECT g, group_concat(a, '') FROM t GROUP BY g;

--! case 47d adversarial: group_concat of distinct values
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x'), ('x'), ('x');
SELECT group_concat(DISTINCT a), count(DISTINCT a) FROM t;

--! case 47e adversarial: A long group_concat is not cut
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
SELECT length(group_concat('0123456789', '')) FROM n;

--! case 48a: printf of integers and texts
SELECT printf('%d-%s', 5, 'x'), format('%05d', 42), printf('%5s|', 'ab'), printf('%-5s|', 'ab');

--! case 48b: printf of reals
SELECT printf('%.2f', 3.14159), printf('%.1f%%', 12.25), printf('%.3f', 2);

--! case 48c adversarial: printf with NULL and too few arguments
SELECT printf('%d|%s|', NULL, NULL), printf('%s'), printf('%d');

--! case 48d adversarial: printf in other forms
SELECT printf('%x %X %o', 255, 255, 8), printf('%,d', 1234567), printf('%q', 'it''s'), printf('%c', 'abc');

--! case 48e adversarial: printf of a column
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 7, 'x%y'), (2, -7, NULL);
SELECT printf('%03d:%s', a, b) FROM t WHERE id = 1;
SELECT printf('%03d', a) FROM t WHERE id = 2;

--! case 48f adversarial: printf of reals with a sign, a half and no digits
CREATE TABLE t (r REAL);
INSERT INTO t VALUES (2.675), (-1.5), (0.5), (1.5), (0.0), (12345.678), (0.005), (-12.345);
SELECT printf('%.2f', r), printf('%.0f', r), printf('[%10.3f]', r), printf('%f', r) FROM t;

--! case 48g adversarial: printf with separators, and quotes of columns
CREATE TABLE t (n INTEGER, x TEXT);
INSERT INTO t VALUES (0, 'it''s'), (-1234567, ''), (999, NULL), (9223372036854775807, 'éa'), (NULL, 'z');
SELECT printf('%,d', n), printf('%q', x), printf('%x', n) FROM t;

--! case 48h adversarial unmatched: The first character of an empty text is NUL
CREATE TABLE t (x TEXT);
INSERT INTO t VALUES (''), ('éa'), (NULL);
SELECT printf('<%c>', x) FROM t;

--! case 49a: hex of texts and blobs
CREATE TABLE t (a TEXT, b BLOB);
INSERT INTO t VALUES ('aé', x'00ff'), ('', x'');
SELECT hex(a), hex(b) FROM t;

--! case 49b: quote
CREATE TABLE t (a TEXT, n INTEGER, b BLOB);
INSERT INTO t VALUES ('it''s', 5, x'0a'), (NULL, NULL, NULL);
SELECT quote(a), quote(n), quote(b) FROM t;

--! case 49c adversarial: hex of a number is that of its text
SELECT hex(255), hex(-1), hex(1.5), hex(NULL);

--! case 49d: char and unicode
SELECT char(65, 233, 26085), unicode('é'), unicode('日本'), unicode('');

--! case 49e adversarial: zeroblob, randomblob
SELECT zeroblob(3), length(zeroblob(10)), length(randomblob(16)), typeof(randomblob(1)), zeroblob(0);

--! case 49f adversarial: hex of a text that reads as a number
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('10'), ('ff');
SELECT hex(a), hex(a || 'x'), unhex('4142') FROM t;

--! case 49g: trim, ltrim, rtrim, replace
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('  x  '), ('xxaxx'), (NULL);
SELECT trim(a), ltrim(a), rtrim(a), trim(a, 'x'), replace(a, 'x', 'yz') FROM t;

--! case 49h adversarial: trim takes a set of characters, and spaces only
SELECT trim('abcxcba', 'abc'), ltrim('abcx', 'cba'), '[' || trim(char(9) || 'x' || char(9)) || ']', replace('abc', '', 'x'), replace('aAa', 'a', 'b');

--! case 50a: typeof of columns
CREATE TABLE t (i INTEGER, r REAL, x TEXT, b BLOB);
INSERT INTO t VALUES (1, 1.5, 'x', x'00'), (NULL, NULL, NULL, NULL);
SELECT typeof(i), typeof(r), typeof(x), typeof(b) FROM t;

--! case 50b adversarial: typeof of expressions
CREATE TABLE t (i INTEGER, x TEXT);
INSERT INTO t VALUES (5, '5');
SELECT typeof(i + 1), typeof(i + 1.0), typeof(x + 1), typeof(i > 1), typeof(i || x), typeof(i / 2), typeof(NULL) FROM t;

--! case 50c adversarial: typeof of an integer in a real column
CREATE TABLE t (r REAL, n NUMERIC);
INSERT INTO t VALUES (1, 1.0), (2, 2.5);
SELECT typeof(r), typeof(n), r FROM t;

--! case 51a: random is an integer of 64 bits
SELECT typeof(random()), random() BETWEEN -9223372036854775808 AND 9223372036854775807;

--! case 51b adversarial: random is not between 0 and 1
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
SELECT count(*) > 40 FROM (SELECT random() AS r FROM n) AS x WHERE abs(r / 2) > 1000000;

--! case 51c: ORDER BY random()
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT a FROM t ORDER BY random();
SELECT count(*) FROM (SELECT a FROM t ORDER BY random() LIMIT 2) AS x;

--! case 51d adversarial: random within a range
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT count(*) FROM t WHERE abs(random() % 10) < 10;

--! case 52a: last_insert_rowid
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t (a) VALUES ('x');
INSERT INTO t (a) VALUES ('y');
SELECT last_insert_rowid();

--! case 52b adversarial: last_insert_rowid after an explicit number
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t (a) VALUES ('x');
INSERT INTO t VALUES (40, 'y');
SELECT last_insert_rowid();

--! case 52c: changes
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
UPDATE t SET a = a + 1 WHERE a > 1;
SELECT changes();

--! case 52d adversarial: last_insert_rowid within an INSERT
CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT);
CREATE TABLE c (id INTEGER PRIMARY KEY, p INTEGER);
INSERT INTO p (a) VALUES ('x'), ('y');
INSERT INTO c (p) VALUES (last_insert_rowid());
SELECT id, p FROM c;

--! case 52e adversarial: last_insert_rowid and changes after an upsert, OR IGNORE and REPLACE
CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT NOT NULL, n INTEGER);
INSERT INTO t VALUES (5, 'a', 1), (6, 'b', 2);
INSERT INTO t (id, k, n) VALUES (6, 'b', 3) ON CONFLICT (id) DO UPDATE SET n = 9;
SELECT last_insert_rowid(), changes();
INSERT OR IGNORE INTO t (id, k, n) VALUES (5, 'z', 3);
SELECT last_insert_rowid(), changes();
INSERT OR IGNORE INTO t (id, k, n) VALUES (9, 'c', 3);
SELECT last_insert_rowid(), changes();

--! case 52f adversarial: The rows of a failed INSERT, of an UPDATE and of a DELETE are no insertions
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE);
INSERT INTO t VALUES (7, 'x');
INSERT INTO t VALUES (8, 'x');
UPDATE t SET a = 'y' WHERE id = 7;
SELECT last_insert_rowid(), changes();
DELETE FROM t;
SELECT last_insert_rowid(), changes(), total_changes();
REPLACE INTO t VALUES (3, 'z');
SELECT last_insert_rowid(), changes(), total_changes();
REPLACE INTO t VALUES (2, 'z');
SELECT last_insert_rowid(), changes(), total_changes();

--! case 52g adversarial unmatched: last_insert_rowid while the rows of one statement are stored
CREATE TABLE t (id INTEGER PRIMARY KEY, up INTEGER);
INSERT INTO t (up) VALUES (NULL);
INSERT INTO t (up) VALUES (last_insert_rowid()), (last_insert_rowid());
SELECT id, up FROM t;

--! case 52h: An INSERT with RETURNING, and a text bound to an integer column
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT);
--! params '17', 5
INSERT INTO t (n, s) VALUES (?, ?) RETURNING n + 1, s;
INSERT INTO t (n, s) SELECT n * 2, s FROM t RETURNING n;
SELECT last_insert_rowid(), changes();
UPDATE t SET n = last_insert_rowid() WHERE id = last_insert_rowid();
--! params '2', '5'
SELECT id, n, s FROM t WHERE n = ? OR s = ?;
--! params 5
SELECT id FROM t WHERE s = ?;

--! case 53a: date, time, datetime of a text
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('2024-02-29 13:14:15'), ('1999-12-31 23:59:59'), (NULL);
SELECT date(a), time(a), datetime(a) FROM t;

--! case 53b: Modifiers
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('2024-02-29 13:14:15'), ('2023-01-15 00:00:00');
SELECT date(a, '+1 day'), datetime(a, '-1 hours'), date(a, 'start of month'), date(a, 'start of year') FROM t;

--! case 53c adversarial: Months that overflow
SELECT date('2024-01-31', '+1 month'), date('2024-02-29', '+1 year'), date('2024-03-31', '-1 month');

--! case 53d: Seconds since 1970
CREATE TABLE t (s INTEGER);
INSERT INTO t VALUES (0), (1700000000), (-86400);
SELECT datetime(s, 'unixepoch'), date(s, 'unixepoch') FROM t;
SELECT unixepoch('2023-11-14 22:13:20'), strftime('%s', '1970-01-02');

--! case 53e: strftime
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('2024-02-29 03:04:05');
SELECT strftime('%Y-%m', a), strftime('%d.%m.%Y %H:%M:%S', a), strftime('%j', a), strftime('%w', a) FROM t;

--! case 53f adversarial breaks=dates: What is no date is NULL
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('not a date'), (''), ('2024-13-01'), ('2024-06-15');
SELECT date(a), strftime('%Y', a) FROM t;

--! case 53g adversarial: julianday, and days between
SELECT julianday('2000-01-01 12:00:00'), CAST(julianday('2024-03-01') - julianday('2024-02-01') AS INTEGER);

--! case 53h: Now
SELECT length(datetime('now')), length(date('now')), typeof(datetime('now')), date('now') >= '2024-01-01', length(strftime('%Y', 'now'));
SELECT datetime('now', '-1 day') < datetime('now'), unixepoch('now') > 1700000000, typeof(strftime('%s', 'now'));

--! case 53i adversarial: The 31st of February is in March, and weekdays
SELECT date('2023-02-31'), date('2024-06-15', 'weekday 0'), date('2024-06-16', 'weekday 0');

--! case 53j adversarial: Times without a date
CREATE TABLE t (id INTEGER PRIMARY KEY, opens TEXT);
INSERT INTO t VALUES (1, '12:30'), (2, '08:05:09'), (3, '23:59:59.9996'), (4, '10:00Z'), (5, NULL), (6, 'late'), (7, '9:30'), (8, '10:60');
SELECT id, time(opens), strftime('%H', opens), datetime(opens, '+1 day') FROM t;
SELECT id FROM t WHERE time(opens) > '09:00';
SELECT time('12:30'), datetime('08:05:09.25', '+1 day'), unixepoch('00:00');

--! case 53k adversarial breaks=dates: Offsets from UTC, and Julian days
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '2024-01-01T10:00:00+02:00'), (2, '2024-01-01 00:30-05:30'), (3, '2460000.5'), (4, '2024-03-01 00:15:00.5+14:00'), (5, ' 2460310.123456789 '), (6, '2024-01-01 10:00+15:00'), (7, '1700000000'), (8, '-1');
SELECT id, datetime(a), julianday(a), strftime('%s %f', a), date(a, 'start of month') FROM t;

--! case 53l adversarial: Texts like moments that are none
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '2024-01-01Z'), (2, '2024-01-01 10:00ZZ'), (3, '2024-01-01t10:00'), (4, '10:00:60'), (5, '2024-01-01 10:60'), (6, '2024-01-32'), (7, '2024-01-01 1:00'), (8, '2024-00-10'), (9, '10:00:005'), (10, '2024-01-01 10:00 x'), (11, 'nowadays'), (12, '2024-01-01 25:00');
SELECT id, date(a), time(a), unixepoch(a) FROM t;

--! case 53m adversarial: Fractions of seconds are rounded to thousandths, and no second becomes the next one
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '2024-01-01 00:00:00.0006'), (2, '2024-12-31 23:59:59.9996'), (3, '2024-01-01 10:00:00.123456'), (4, '2024-01-01 10:00:00.1234567'), (5, '2024-12-31 23:59:59.999999999'), (6, '1969-12-31 23:59:59.5'), (7, '2024-01-01T10:00:00.7Z');
SELECT id, strftime('%f', a), strftime('%f', a, '+1 day'), datetime(a), unixepoch(a), strftime('%s', a), julianday(a) FROM t;
SELECT strftime('%f', '2024-01-01 00:00:00.0006'), datetime('2024-12-31 23:59:59.9999999');

--! case 53n adversarial: Blanks and letters in a moment
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '2024-01-01  10:00'), (2, '2024-01-01 10:00 Z'), (3, '2024-01-01T10:00z'), (4, '2024-01-01T'), (5, '2024-01-01 '), (6, '2024-01-01 10:00:30Z '), (7, ' 2024-01-01'), (8, '2024-01-01 10 :00');
SELECT id, datetime(a), unixepoch(a) FROM t;
SELECT datetime('2024-01-01  10:00'), datetime('2024-01-01T10:00z '), date('2024-01-01T');

--! case 53o adversarial breaks=dates: Days beyond the end of a month, in a column
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, '2023-02-31'), (2, '2024-04-31 10:00'), (3, '2024-02-29'), (4, '2024-02-30');
SELECT id, date(a), datetime(a, '+1 day'), strftime('%j', a) FROM t;

--! case 53p adversarial: A month counted from a day beyond its end, and a modifier that is none
SELECT date('2023-02-31', '+1 month'), date('2023-02-31', 'start of month'), date('2023-02-31', 'start of day'), date('2024-01-01', ' +1 day'), date('2024-01-01', '+1 dayss');

--! case 53za adversarial: Weeks of the year, and hours of half a day
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT);
WITH RECURSIVE d(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 2200) INSERT INTO t SELECT n, datetime(1639960200 + n * 90000, 'unixepoch') FROM d;
SELECT id, strftime('%Y-%W', at), strftime('%U', at), strftime('%G-W%V', at), strftime('%I %p', at), CAST(strftime('%W', at) AS INTEGER) + 1 FROM t;
SELECT strftime('%W', at) AS w, count(*) FROM t GROUP BY w HAVING w > '05';
SELECT strftime('%I:%M %p', '2024-01-01 12:05'), strftime('%V', '2024-12-30');

--! case 54a: CURRENT_TIMESTAMP is text of 19 characters
SELECT length(CURRENT_TIMESTAMP), typeof(CURRENT_TIMESTAMP), length(CURRENT_DATE), length(CURRENT_TIME);

--! case 54b: As a default
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP, n INTEGER);
INSERT INTO t (n) VALUES (1);
SELECT length(at), at > '2024-01-01 00:00:00', substr(at, 11, 1) FROM t;
DELETE FROM t;

--! case 54c adversarial: CURRENT_TIMESTAMP put together, in a DATETIME column
CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME DEFAULT CURRENT_TIMESTAMP);
INSERT INTO t (id) VALUES (1);
SELECT length(at || '|'), length('x' || CURRENT_DATE), at <= CURRENT_TIMESTAMP FROM t;
DELETE FROM t;

--! case 55a: Dates in order and within a range
CREATE TABLE t (d DATE, n INTEGER);
INSERT INTO t VALUES ('2024-01-10', 1), ('2023-12-31', 2), ('2024-02-01', 3);
--! ordered
SELECT n FROM t WHERE d >= '2024-01-01' AND d < '2024-02-01' ORDER BY d;

--! case 55b adversarial: A date is less than the same date with a time
CREATE TABLE t (d DATETIME);
INSERT INTO t VALUES ('2024-01-01'), ('2024-01-01 00:00:00'), ('2024-01-01T00:00:00');
--! ordered
SELECT d FROM t WHERE d > '2024-01-01' ORDER BY d;

--! case 55c adversarial: Dates written without zeros are texts
CREATE TABLE t (d DATETIME);
INSERT INTO t VALUES ('2024-1-5'), ('2024-01-05'), ('2024-10-1');
--! ordered
SELECT d FROM t ORDER BY d;
SELECT d FROM t WHERE d = '2024-01-05';

--! case 56a: Values out of JSON
CREATE TABLE t (j TEXT);
INSERT INTO t VALUES ('{"a": 1, "b": "x", "c": null}'), ('{"a": 2, "b": "y"}');
SELECT json_extract(j, '$.a'), json_extract(j, '$.b'), json_extract(j, '$.c') FROM t;

--! case 56b adversarial: The kinds of what comes out
CREATE TABLE t (j TEXT);
INSERT INTO t VALUES ('{"i": 5, "r": 2.5, "s": "5", "t": true, "f": false, "n": null, "o": {"k": 1}, "a": [1, 2]}');
SELECT json_extract(j, '$.i'), json_extract(j, '$.r'), json_extract(j, '$.s'), json_extract(j, '$.t'), json_extract(j, '$.o'), json_extract(j, '$.a') FROM t;

--! case 56c adversarial: -> gives JSON, ->> a value
CREATE TABLE t (j TEXT);
INSERT INTO t VALUES ('{"s": "x", "i": 5}');
SELECT j -> 's', j ->> 's', j -> '$.i', j ->> '$.i', j ->> 'none' FROM t;

--! case 56d: JSON made
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x');
SELECT json_object('a', a, 'b', b), json_array(a, b, NULL), json_quote(b) FROM t;

--! case 56e: Rows of an array
SELECT value FROM json_each('[10, 20, 30]');

--! case 56f: JSON of groups
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1);
SELECT json_group_array(a) FROM t;

--! case 56g adversarial: A value out of JSON compared
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"n": 10}'), (2, '{"n": 9}'), (3, '{"n": "10"}');
SELECT id FROM t WHERE json_extract(j, '$.n') > 9;
SELECT id FROM t WHERE json_extract(j, '$.n') = 10;

--! case 56h: Whether a text is JSON, and how long an array is
SELECT json_valid('{"a": 1}'), json_valid('{a'), json_array_length('[1, 2, 3]'), json_type('[1]'), json_type('{"a": 2.5}', '$.a');

--! case 57a unmatched: An extension is loaded
SELECT typeof('x');
--! reference SELECT 1;
SELECT load_extension('some.so');

--! case 57b adversarial unmatched: A function of the application
--! reference SELECT 1;
SELECT my_function(1);

--! case 57e adversarial: MySQL's parts of a date, as WordPress's plugin defines them
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT NOT NULL);
INSERT INTO t VALUES (1, '2026-01-02 03:04:05'), (2, '2024-02-29 23:59:59'), (3, '2025-12-29'), (4, '2027-01-03 00:00:00'), (5, '1999-12-31 12:00:00');
--! reference SELECT id, CAST(strftime('%Y', at) AS INTEGER), CAST(strftime('%m', at) AS INTEGER), CAST(strftime('%d', at) AS INTEGER), CAST(strftime('%H', at) AS INTEGER), CAST(strftime('%M', at) AS INTEGER), CAST(strftime('%S', at) AS INTEGER) FROM t;
SELECT id, `YEAR`(at), MONTH(at), DAY(at), HOUR(at), MINUTE(at), SECOND(at) FROM t;
--! reference SELECT id, CAST(strftime('%V', at) AS INTEGER), CAST(strftime('%V', at) AS INTEGER), CAST(strftime('%u', at) AS INTEGER) - 1, strftime('%w', at) + 1, CAST(strftime('%d', at) AS INTEGER) FROM t;
SELECT id, WEEK(at, 1), WEEK(at, 0), WEEKDAY(at), DAYOFWEEK(at), DAYOFMONTH(at) FROM t;
--! reference SELECT id FROM t WHERE at BETWEEN '2026' AND '2027' OR CAST(strftime('%H', at) AS INTEGER) >= 12;
SELECT id FROM t WHERE YEAR(at) = 2026 AND MONTH(at) IN (1, 2) OR HOUR(at) >= 12;
--! reference SELECT 0, 0, 0;
SELECT YEAR('0000-00-00 00:00:00'), MONTH('0000-00-00 00:00:00'), DAY('0000-00-00 00:00:00');

--! case 57c unmatched: A collation of the application
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x');
--! reference SELECT a FROM t ORDER BY a;
SELECT a FROM t ORDER BY a COLLATE german;

--! case 57d unmatched: REGEXP, which SQLite leaves to the application
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abc');
--! reference SELECT a FROM t WHERE a LIKE 'a%';
SELECT a FROM t WHERE a REGEXP '^a';

--! case 44x adversarial: nullif() applies no affinity
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT, d DECIMAL);
INSERT INTO t VALUES (1, 5, '12', 5), (2, 6, 'x', 7);
SELECT id, nullif(a, '5') FROM t;
SELECT id, nullif('5', a) FROM t;
SELECT id, nullif(s, 12) FROM t;
SELECT id, nullif(d, '5') FROM t;
SELECT id, nullif(a, 5), nullif(a, 5.0), nullif(s, '12'), nullif(5, d) FROM t;

--! case 44y adversarial: replace() with a NULL that is put in nowhere
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, n TEXT);
INSERT INTO t VALUES (1, 'abc', NULL), (2, 'abc', 'z');
SELECT id, replace(s, 'zzz', NULL), replace(s, 'zzz', n), replace(s, 'b', n) FROM t;
--! params NULL
SELECT id, replace(s, 'zzz', ?) FROM t;
--! params 'y'
SELECT id, replace(s, 'b', ?) FROM t;

--! case 44z: abs() of a text, mathematical functions, and Django's functions
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT);
INSERT INTO t VALUES (1, 'x'), (2, '-3'), (3, ' -2.5e1z'), (4, NULL);
SELECT id, abs(s), typeof(abs(s)) FROM t;
CREATE TABLE n (id INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT);
INSERT INTO n VALUES (1, 2, 0.25, '2.5'), (2, -3, -2.75, 'x'), (3, 0, 0.0, ' -4 '), (4, 9007199254740993, 1e300, '9007199254740993'), (5, NULL, NULL, NULL), (6, 1000, 10.0, '1e2'), (7, 7, -0.5, '');
SELECT id, sqrt(i), sqrt(r), sqrt(s), ln(i), ln(r), ln(s), log(i), log10(r), log(2, i), log(r, i), log(s, 8) FROM n;
SELECT id, sin(i), cos(r), tan(i), asin(r), acos(r), atan(i), atan2(r, i), atan(s), degrees(i), degrees(r), radians(r), radians(s), pi(), degrees(r + 1.0), radians(r - i), sqrt(i + 1), degrees(i + i) FROM n;
SELECT id, ceil(i), ceil(r), floor(i), floor(r), trunc(r), trunc(i), ceiling(r), typeof(floor(i)), typeof(trunc(r)), floor(s), ceil(s), typeof(trunc(s)) FROM n;
SELECT id, mod(i, 3), mod(r, 2), mod(7.5, r), mod(i, 0), mod(s, 1.5), mod(i, i), mod(r, 0.1), typeof(mod(i, 2)) FROM n;
SELECT id, pow(r, 2), power(i, 0.5), pow(r, i), power(2, r), pow(r, 0), pow(s, 3) FROM n WHERE id NOT IN (3, 4, 6);
SELECT pow(-8, 1.0 / 3), pow(10, 3), power(-2, 3), pow(0, 0), pow(2, -2), exp(1), exp(-800), exp(0), pow(1e-200, 2), pow('3', '2'), sqrt('abc'), sqrt(NULL), floor(NULL), sqrt('16'), floor(-2.5), ceil('-2.5'), trunc(-0.5), log(1, 5), ln(0), sqrt(-1);
SELECT id FROM n WHERE sqrt(i) > 1.5 OR floor(r) = -3 OR ceil(s) = 3 ORDER BY mod(i, 5), id;
--! params 2, 2.5, '6.25', NULL
SELECT sqrt(?1), pow(?2, ?1), sqrt(?3), sqrt(?4), floor(?1), floor(?2), floor(?3), mod(?2, ?1) FROM t WHERE id = 1;
CREATE TABLE d (id INTEGER PRIMARY KEY, p DECIMAL(10, 2));
INSERT INTO d VALUES (1, 2.5), (2, 4), (3, -7.25), (4, NULL), (5, 0);
SELECT id, CAST(sqrt(p) AS NUMERIC), CAST(floor(p) AS NUMERIC), ceil(p), trunc(p), mod(p, 2), abs(p), sign(p), round(p), round(p, 1), CAST(p AS TEXT), CAST(p AS REAL), typeof(abs(p)), degrees(p) FROM d;
SELECT sum(p), total(p), avg(p), CAST(sum(p) AS NUMERIC), max(abs(p)), sum(id) FROM d;
SELECT sum(p) FROM d WHERE id = 2;
SELECT id, CAST(p AS INTEGER) FROM d WHERE id <> 4 AND id > 0 AND p IS NOT NULL;
SELECT id, CAST(s AS NUMERIC), typeof(CAST(s AS NUMERIC)) FROM n;
--! params '7.0', '2.50', 'x'
SELECT CAST(?1 AS NUMERIC), CAST(?2 AS NUMERIC), CAST(?3 AS NUMERIC) FROM t WHERE id = 1;
UPDATE d SET p = CAST(floor(p) AS NUMERIC) WHERE id < 4;
CREATE TABLE j (id INTEGER PRIMARY KEY, x TEXT, n INTEGER);
INSERT INTO j VALUES (1, 'aé', 5), (2, NULL, 3), (3, '', 2);
--! reference SELECT '128fda53c8c07c8c66f2a4812187d92f', '9aa481852f84a1dde3eef01d4b72b8b02aca7dfdd19ac4b25bec07e7', '561951c2b8c47984b8b4b8ae1f173a03d9c703f66cf36f145e27bc6145499f74', 'aeac33598aa2d7528c5bcd5d3f066af898e645add241f4be7b5f3ae53789b9155c9a7e2e53be9bcec75ff5e85f68e824', '3907aac6e55fd4d02257edfc6398eb0c1e8543c66d297b5052cbee7a2fa43a969abe629a540338a226f3e003a05f40b0d283a4535d92755b8fb86b3f9bb51689' UNION ALL SELECT NULL, NULL, NULL, NULL, NULL UNION ALL SELECT 'd41d8cd98f00b204e9800998ecf8427e', 'd14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b', 'cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e'
SELECT MD5(x), SHA224(x), SHA256(x), SHA384(x), SHA512(x) FROM j;
--! reference SELECT 'xyxaé', 'aéxyx', 'aéaéaéaéaé', 'éa', 6, 'aé', 'a', 'a' UNION ALL SELECT NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL UNION ALL SELECT 'xy', 'xy', '', '', 1, '', 'z', ''
SELECT LPAD(x, n, 'xy'), RPAD(x, n, 'xy'), REPEAT(x, n), REVERSE(x), BITXOR(n, 3), LPAD(x, n, ''), LPAD(x, 1, 'z'), RPAD(x, -1, 'z') FROM j;
--! reference SELECT 0.6420926159343306, -0.4576575543602858, NULL, -1, 1
SELECT COT(1), COT(2.0), COT(NULL), BITXOR(-6, 5), RAND() >= 0 AND RAND() < 1;
CREATE TABLE m (id INTEGER PRIMARY KEY, m DATETIME);
INSERT INTO m VALUES (1, '2024-02-29 23:59:59.999999'), (2, '2023-01-01 00:00:00'), (3, '2021-01-03 12:30:05.5'), (4, '0999-07-04 10:00:00'), (5, NULL);
--! reference SELECT 2024, 2024, 1, 2, 9, 29, 5, 4, 23, 59, 59, 999999 UNION ALL SELECT 2023, 2022, 1, 1, 52, 1, 1, 7, 0, 0, 0, 0 UNION ALL SELECT 2021, 2020, 1, 1, 53, 3, 1, 7, 12, 30, 5, 500000 UNION ALL SELECT 999, 999, 3, 7, 27, 4, 5, 4, 10, 0, 0, 0 UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
SELECT django_datetime_extract('year', m, 'UTC', 'UTC'), django_datetime_extract('iso_year', m, 'UTC', 'UTC'), django_datetime_extract('quarter', m, 'UTC', 'UTC'), django_datetime_extract('month', m, 'UTC', 'UTC'), django_datetime_extract('week', m, 'UTC', 'UTC'), django_datetime_extract('day', m, 'UTC', 'UTC'), django_datetime_extract('week_day', m, 'UTC', 'UTC'), django_datetime_extract('iso_week_day', m, 'UTC', 'UTC'), django_datetime_extract('hour', m, 'UTC', 'UTC'), django_datetime_extract('minute', m, 'UTC', 'UTC'), django_datetime_extract('second', m, 'UTC', 'UTC'), django_datetime_extract('microsecond', m, 'UTC', 'UTC') FROM m;
--! reference SELECT '2024-01-01 00:00:00', '2024-01-01 00:00:00', '2024-02-01 00:00:00', '2024-02-26 00:00:00', '2024-02-29 00:00:00', '2024-02-29 23:00:00', '2024-02-29 23:59:00', '2024-02-29 23:59:59', '2024-02-26', '2024-01-01', '23:59:00' UNION ALL SELECT '2023-01-01 00:00:00', '2023-01-01 00:00:00', '2023-01-01 00:00:00', '2022-12-26 00:00:00', '2023-01-01 00:00:00', '2023-01-01 00:00:00', '2023-01-01 00:00:00', '2023-01-01 00:00:00', '2022-12-26', '2023-01-01', '00:00:00' UNION ALL SELECT '2021-01-01 00:00:00', '2021-01-01 00:00:00', '2021-01-01 00:00:00', '2020-12-28 00:00:00', '2021-01-03 00:00:00', '2021-01-03 12:00:00', '2021-01-03 12:30:00', '2021-01-03 12:30:05', '2020-12-28', '2021-01-01', '12:30:00' UNION ALL SELECT '0999-01-01 00:00:00', '0999-07-01 00:00:00', '0999-07-01 00:00:00', '0999-07-01 00:00:00', '0999-07-04 00:00:00', '0999-07-04 10:00:00', '0999-07-04 10:00:00', '0999-07-04 10:00:00', '0999-07-01', '0999-07-01', '10:00:00' UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
SELECT django_datetime_trunc('year', m, NULL, NULL), django_datetime_trunc('quarter', m, NULL, NULL), django_datetime_trunc('month', m, NULL, NULL), django_datetime_trunc('week', m, NULL, NULL), django_datetime_trunc('day', m, NULL, NULL), django_datetime_trunc('hour', m, NULL, NULL), django_datetime_trunc('minute', m, NULL, NULL), django_datetime_trunc('second', m, NULL, NULL), django_date_trunc('week', m, NULL, NULL), django_date_trunc('quarter', m, NULL, NULL), django_time_trunc('minute', m, NULL, NULL) FROM m;
--! reference SELECT '2024-02-29', '23:59:59.999999', 728078093210987, -41573499996, 59, '23:00:00', 2020, '2020-12-01' UNION ALL SELECT '2023-01-01', '00:00:00', 691358093210988, -41573499996, 59, '23:00:00', 2020, '2020-12-01' UNION ALL SELECT '2021-01-03', '12:30:05.500000', 628503898710988, -41573499996, 59, '23:00:00', 2020, '2020-12-01' UNION ALL SELECT '0999-07-04', '10:00:00', -31606999506789012, -41573499996, 59, '23:00:00', 2020, '2020-12-01' UNION ALL SELECT NULL, NULL, NULL, -41573499996, 59, '23:00:00', 2020, '2020-12-01'
SELECT django_datetime_cast_date(m, NULL, NULL), django_datetime_cast_time(m, NULL, NULL), django_timestamp_diff(m, '2001-02-03 04:05:06.789012'), django_time_diff('01:02:03.000004', '12:34:56.5'), django_time_extract('second', '23:59:59.999999'), django_time_trunc('hour', '23:59:59.5', NULL, NULL), django_date_extract('iso_year', '2020-12-28'), django_date_trunc('month', '2020-12-28', NULL, NULL) FROM m;
--! reference SELECT '2024-03-01 00:00:00', '2024-02-29 23:59:59.999998', '2024-04-10 00:00:00.000002', '2024-02-29 22:59:59.999999', '2024-02-29 23:57:56.543210', '2024-03-01 00:00:04.999999', '2024-02-29', '2024-03-01' UNION ALL SELECT '2023-01-01 00:00:00.000001', '2022-12-31 23:59:59.999999', '2023-02-10 00:00:00.000003', '2022-12-31 23:00:00', '2022-12-31 23:57:56.543211', '2023-01-01 00:00:05', '2024-02-29', '2024-03-01' UNION ALL SELECT '2021-01-03 12:30:05.500001', '2021-01-03 12:30:05.499999', '2021-02-12 12:30:05.500003', '2021-01-03 11:30:05.500000', '2021-01-03 12:28:02.043211', '2021-01-03 12:30:10.500000', '2024-02-29', '2024-03-01' UNION ALL SELECT '0999-07-04 10:00:00.000001', '0999-07-04 09:59:59.999999', '0999-08-13 10:00:00.000003', '0999-07-04 09:00:00', '0999-07-04 09:57:56.543211', '0999-07-04 10:00:05', '2024-02-29', '2024-03-01' UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, '2024-02-29', '2024-03-01'
SELECT django_format_dtdelta('+', m, 1), django_format_dtdelta('+', m, -1), django_format_dtdelta('+', m, 3456000000003), django_format_dtdelta('+', m, -3600000000), django_format_dtdelta(' - ', m, 123456789), django_format_dtdelta('+', 5000000, m), django_format_dtdelta('+', '2024-02-28', 90000000000), django_format_dtdelta('-', '2024-03-01', 1) FROM m;
--! reference SELECT '2024-02-29', '2024-03-02', '2024-02-29', '2024-02-28 23:59:59.999999', '2024-03-02 00:00:00.000001'
SELECT django_format_dtdelta('+', '2024-03-01', -1), django_format_dtdelta('-', '2024-03-01', -1), django_format_dtdelta('-', '2024-03-01', 86400000001), django_format_dtdelta('+', '2024-03-01 00:00:00', -86400000001), django_format_dtdelta('-', '2024-03-01 00:00:00', -86400000001);

--! case 29x adversarial: GLOB with a range backwards
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT);
INSERT INTO t VALUES (1, 'm'), (2, 'z'), (3, '-');
SELECT id, s GLOB '*[z-a]*', s GLOB '[a-z]' FROM t;
SELECT id, s GLOB '[a-]', s GLOB '[-z]' FROM t;

--! case 53x adversarial: strftime() with conversions side by side
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT);
INSERT INTO t VALUES (1, '2024-01-31 10:11:12'), (2, '2023-12-05 23:59:58');
SELECT id, strftime('%S%S', at), strftime('%d%d', at), strftime('%d%j', at), strftime('%j%d', at), strftime('%Y%m%d%H%M%S', at), strftime('%F%d', at), strftime('%M%m', at) FROM t;

--! case 56x adversarial: json_group_array() of DISTINCT values
CREATE TABLE t (id INTEGER PRIMARY KEY, f INTEGER, j TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 1, 'a');
SELECT f, json_group_array(DISTINCT j) FROM t GROUP BY f;

--! case 47x: group_concat() with NULL between
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT);
INSERT INTO t VALUES (1, 'a'), (2, 'a');
SELECT group_concat(s, NULL) FROM t;

--! case 56i adversarial: Paths of labels and places
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"a": {"b c": [10, {"d": 1.50}, [2, 3]]}, "x": 1, "x": 2, "": 5, "é": "ü"}'), (2, '[1, 2]'), (3, '"a"'), (4, NULL), (5, ' 7 ');
SELECT id, json_extract(j, '$.a."b c"[0]'), json_extract(j, '$.a."b c"[1].d'), json_extract(j, '$.a."b c"[#-1]'), json_extract(j, '$.x'), json_extract(j, '$.é') FROM t;
SELECT id, json_extract(j, '$[0]'), json_extract(j, '$[#-1]'), json_extract(j, '$[7]'), json_extract(j, '$[#-7]'), json_extract(j, '$') FROM t;
SELECT id, j -> 'a', j -> 1, j ->> -1, j ->> 'b c', j -> '$', j ->> '$' FROM t;
SELECT id, json_type(j), json_type(j, '$.a'), json_type(j, '$.none'), json_array_length(j), json_array_length(j, '$.a."b c"') FROM t;

--! case 56j adversarial: Numbers, truth values and texts keep their kinds
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"v": 9223372036854775807}'), (2, '{"v": 9223372036854775808}'), (3, '{"v": 1.0}'), (4, '{"v": -0.5e1}'), (5, '{"v": true}'), (6, '{"v": null}'), (7, '{"v": "1"}'), (8, '{"v": [1, "a b", {"k": null}]}'), (9, '{"v": "q\"\\/\n\u00e9\ud83d\ude00"}'), (10, '{"v": 1E2}'), (11, '{}'), (12, '{"v": ""}');
SELECT id, json_extract(j, '$.v'), typeof(json_extract(j, '$.v')), j -> 'v', json_type(j, '$.v') FROM t;
--! ordered
SELECT id FROM t ORDER BY j ->> 'v', id;
--! ordered
SELECT id FROM t ORDER BY json_extract(j, '$.v') DESC, id;
SELECT json(j) FROM t;

--! case 56k adversarial: Values out of JSON compared with values of each kind
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT, i INTEGER, r REAL, s TEXT);
INSERT INTO t VALUES (1, '{"v": 5}', 5, 5.0, '5'), (2, '{"v": "5"}', 5, 5.0, '5'), (3, '{"v": 5.5}', 5, 5.5, '5.5'), (4, '{"v": null}', 1, 1.0, 'a'), (5, '{"v": "b"}', 2, 2.0, 'a'), (6, '{"v": "B"}', NULL, NULL, NULL);
SELECT id, j ->> 'v' = i, j ->> 'v' = r, j ->> 'v' = s, j ->> 'v' = 5, j ->> 'v' = '5', j ->> 'v' < 'a', j ->> 'v' > 5.2 FROM t;
SELECT id, i < j ->> 'v', s >= j ->> 'v', j ->> 'v' IS s, j ->> 'v' IS NOT NULL, j ->> 'v' IN (5, 'b'), j ->> 'v' BETWEEN 5 AND 'a' FROM t;
SELECT id FROM t WHERE json_extract(j, '$.v');
SELECT id, (j ->> 'v') || '!', upper(j ->> 'v'), CAST(j ->> 'v' AS INTEGER), CAST(j ->> 'v' AS REAL), CAST(j ->> 'v' AS TEXT), j ->> 'v' LIKE '%B%', length(j ->> 'v') FROM t;
SELECT sum(j ->> 'v'), avg(j ->> 'v'), total(j ->> 'v'), count(j ->> 'v') FROM t;
--! params 5
SELECT id FROM t WHERE j ->> 'v' = ?;
--! params '5'
SELECT id FROM t WHERE json_extract(j, '$.v') = ?;

--! case 56l adversarial: json_each() of a column, in a join and in IN
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '[3, "x", 2.5, null, [1, 2], true]'), (2, '{"b": 1, "a": "y"}'), (3, '7'), (4, NULL), (5, '[]');
SELECT t.id, json_each.key, json_each.value, json_each.type, json_each.atom FROM t, json_each(t.j);
SELECT t.id, count(e.value) FROM t LEFT JOIN json_each(t.j) AS e ON e.type <> 'null' GROUP BY t.id;
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM json_each(t.j) WHERE value = 'x');
--! params '[1, 3, "x", 4.0]'
SELECT id FROM t WHERE id IN (SELECT value FROM json_each(?));
SELECT value FROM json_each('{"a": [5, 6]}', '$.a') ORDER BY value DESC;

--! case 56m adversarial fails: Malformed JSON is an error
CREATE TABLE t (j TEXT);
INSERT INTO t VALUES ('{"a": 1}'), ('{"a": 01}');
SELECT json_extract(j, '$.a') FROM t;

--! case 56n adversarial fails: Something behind JSON is an error
SELECT json_extract('[1] x', '$[0]');

--! case 56o adversarial: A value out of JSON or its kind, as Django asks
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"a": true}'), (2, '{"a": 1}'), (3, '{"a": "true"}'), (4, '{"a": null}'), (5, '{"a": {"b": [1, 2]}}');
SELECT id, CASE WHEN JSON_TYPE(j, '$.a') IN ('false', 'true', 'null') THEN JSON_TYPE(j, '$.a') ELSE JSON_EXTRACT(j, '$.a') END FROM t;
SELECT id FROM t WHERE CASE WHEN JSON_TYPE(j, '$.a') IN ('false', 'true', 'null') THEN JSON_TYPE(j, '$.a') ELSE JSON_EXTRACT(j, '$.a') END = JSON_EXTRACT('"true"', '$');
SELECT id FROM t WHERE JSON_TYPE(j, '$.a') IS NOT NULL AND JSON_EXTRACT(j, '$.a.b') = JSON('[1,  2]');
--! params '$.a', '$."a".b[#-1]', '$', NULL
SELECT id, JSON_TYPE(j, ?1), JSON_EXTRACT(j, ?2), JSON_TYPE(j, ?3), JSON_TYPE(j, ?4), json_array_length(j, '$.' || 'a.b'), CASE WHEN JSON_TYPE(j, ?1) IN ('false', 'true', 'null') THEN JSON_TYPE(j, ?1) ELSE JSON_EXTRACT(j, ?1) END FROM t;
--! params '$."a"."b"'
SELECT t.id, e.value FROM t, json_each(t.j, ?) AS e;

--! case 56p adversarial: JSON in JSON
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"a": [1, "x"]}'), (2, '{}');
SELECT id, json_array(j -> 'a', json(j)), json_object('k', j -> 'a') FROM t;
SELECT id, json_array(json_type(j)) FROM t;

--! case 43x adversarial: max and min over several kinds
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT, r REAL);
INSERT INTO t VALUES (1, 5, 'a', 5.0), (2, 9007199254740993, '', 9007199254740992.0), (3, NULL, 'b', 1.0), (4, -3, 'c', -3.5);
SELECT id, max(i, r), min(i, r), max(i, s, r), min(s, r, i), max(r, i) > 4 FROM t;

--! case 44m adversarial: One of several kinds, compared and sorted
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT, r REAL);
INSERT INTO t VALUES (1, 5, 'a', 0.5), (2, NULL, 'b', 2.0), (3, -3, NULL, NULL), (4, NULL, NULL, -3.0);
SELECT id, coalesce(i, s), coalesce(i, r, s), CASE id WHEN 1 THEN i WHEN 2 THEN s ELSE r END, iif(id > 2, 'x', 1) FROM t;
--! ordered
SELECT id FROM t ORDER BY coalesce(i, r, s, x'00') DESC, id;
SELECT id FROM t WHERE coalesce(i, s) = 'b' OR coalesce(r, s) < -2;
SELECT typeof(coalesce(i, r, s)), coalesce(i, s, r) || '.', coalesce(i, r) + 1, coalesce(s, i) + 1.5 FROM t;

--! case 44n adversarial: nullif() of any kind applies no affinity
CREATE TABLE t (id INTEGER PRIMARY KEY, a, i INTEGER, s TEXT, j TEXT);
INSERT INTO t VALUES (1, 5, 5, '5', '["5", 5.0]'), (2, '5', 5, '5', '[5, "5"]'), (3, NULL, NULL, NULL, '[null]'), (4, x'35', 5, '5', '[1]');
SELECT id, nullif(a, i), nullif(a, s), nullif(i, a), nullif(s, a), nullif(j ->> 0, i), nullif(j ->> 1, '5'), nullif(a, 5), nullif(a, j ->> 0) FROM t;

--! case 48p adversarial: printf of a width, which counts the bytes of a text but characters of %c
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'é', -3), (2, 'a''b', 10), (3, NULL, NULL), (4, '1234567', 1234567);
SELECT printf('%5s|%-5s|', s, s), printf('%05s|%-05q|', s, s), printf('%5q|%-5q|', s, s), printf('%s', s) FROM t;
SELECT printf('%5c|%-5c|%05c|', 'é', 'é', 'é');

--! case 48q adversarial: printf with zeros left of a number, also where it stands left
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, -3), (2, 10), (3, NULL), (4, 1234567);
SELECT printf('%-05d|', n), printf('%-5d|', n), printf('%-05x|', n), printf('%-05o|%05o|', 8, 8) FROM t;

--! case 47p adversarial: group_concat of DISTINCT numbers, and of DISTINCT texts in two spellings
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 1), (2, 'X', 1), (3, 'x', 1);
SELECT group_concat(DISTINCT n) FROM t;
SELECT length(group_concat(DISTINCT s)) FROM t;

--! case 47q adversarial unmatched: group_concat of DISTINCT texts that ignore case
CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT COLLATE NOCASE);
INSERT INTO t VALUES (1, 'x'), (2, 'X');
SELECT group_concat(DISTINCT s) FROM t;

--! case 56s adversarial: JSON with characters behind a backslash
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT NOT NULL);
INSERT INTO t VALUES (1, '"\x"'), (2, '"\\x"'), (3, '"\u00e9\n\/\""'), (4, '"\u00g9"'), (5, '["\\\q"]'), (6, '["\\\"q"]'), (7, '{"a": 1}');
SELECT id, json_valid(j) FROM t;

--! case 56t adversarial: json_extract() inside of other JSON
CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);
INSERT INTO t VALUES (1, '{"a": [1,  "x"]}'), (2, '{"a": "é \" \\ \/ \n \u0001 \u001f"}'), (3, '{"a": 12}'), (4, '{"a": -0.5}'), (5, '{"a": true}'), (6, '{"a": null}'), (7, '{}'), (8, NULL), (9, '{"a": {"b" : 1e2}}'), (10, '{"a": 1e5}'), (11, '{"a": 20000000000000000000}'), (12, '{"a": "[1]"}');
SELECT id, json_quote(json_extract(j, '$.a')), json_array(1, json_extract(j, '$.a')), json_object('k', json_extract(j, '$."a"')) FROM t;
--! params '$.a', '"[1]"', '$.a', '$.a', '%"x"%'
SELECT id FROM t WHERE json_quote(json_extract(CAST(j AS TEXT), ?)) = ? OR json_quote(json_extract(CAST(j AS TEXT), ?)) IS NULL OR json_quote(json_extract(CAST(j AS TEXT), ?)) LIKE ?;
SELECT json_group_array(json_extract(j, '$.a')) FROM t WHERE id = 1;

--! case 56u adversarial breaks=json: A control character in a text as JSON
CREATE TABLE t (s TEXT);
INSERT INTO t VALUES (char(31) || 'x'), (char(1));
SELECT json_quote(s), json_array(s) FROM t;

--! case 53y adversarial: strftime() with its format between double quotes
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT);
INSERT INTO t VALUES (1, '2026-03-04 05:06:07'), (2, NULL);
SELECT id, strftime("%s", at), CAST(strftime("%H", at) AS INTEGER) FROM t;

--! case 53z adversarial unmatched: strftime() with a column between double quotes as its format
CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT, "%s" TEXT);
INSERT INTO t VALUES (1, '2026-03-04 05:06:07', '%Y');
SELECT id, strftime("%s", at) FROM t;

--! case 49qa adversarial: replace() of an empty text by NULL
CREATE TABLE t (a TEXT, b TEXT, c TEXT);
INSERT INTO t VALUES ('abc', '', NULL);
SELECT replace(a, b, c) FROM t;

--! case 39qa adversarial: sign() and sum() of a text that is no number
SELECT sign('abc');
SELECT sum('abc'), typeof(sum('abc'));
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
SELECT sum('x'), total(''), avg('y'), sum(DISTINCT 'x'), typeof(sum('x')), sign('x') IS NULL, typeof(sign('')) FROM t;
SELECT sum('x'), total('x'), avg('x') FROM t WHERE a > 5;

--! case 56qa adversarial: JSON in parentheses
SELECT json_array((json_array(1))), json_object('k', (json('[2]')));

--! case 56qb adversarial: JSON that CASE passes on
SELECT json_array(CASE WHEN 1 THEN json_array(1) END);
CREATE TABLE t (a INTEGER, s TEXT);
INSERT INTO t VALUES (1, 'x'), (2, '[1]'), (3, NULL);
SELECT json_array(a, CASE a WHEN 1 THEN json_array(s) WHEN 3 THEN s ELSE CASE WHEN s > 'a' THEN 7 ELSE json(s) END END) FROM t;
SELECT json_object('k', CASE WHEN a > 1 THEN json_object('a', a) END, 'l', CASE WHEN a < 3 THEN s ELSE json('{}') END) FROM t;

--! case 49qb adversarial: replace() with parameters
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('abcabc'), (NULL), ('');
--! params 'b', 'xy'
SELECT replace(a, ?1, ?2) FROM t;
--! params '', NULL
SELECT replace(a, ?1, ?2) FROM t;
--! params 'b', NULL
SELECT replace(a, ?1, ?2) FROM t;

--! case 39r adversarial: % reads the digits at the beginning of a text that is a real
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 7), (2, 25), (3, NULL);
SELECT id, i % '1e1', i % '2.5', '1e2' % i, i % '-7.9', i % '.5', 3.5 % '2e3', i % '10' FROM t;

--! case 39s adversarial: % of texts next to integers
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT);
INSERT INTO t VALUES (1, 7, NULL), (2, NULL, '3e1'), (3, NULL, '2.5e1'), (4, NULL, '12x'), (5, NULL, 'x');
SELECT id, coalesce(i, s) % 2, 7 % coalesce(i, s) FROM t;

--! case 44q adversarial: nullif() of a bound value applies no affinity
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (5, 5);
--! params '5', 5
SELECT id, nullif(i, ?1), nullif(i, ?2), nullif(?2, i), nullif(CAST(i AS TEXT), ?1) FROM t;
--! params '5'
DELETE FROM t WHERE nullif(id, ?) IS NULL;
--! params '1'
UPDATE t SET i = nullif(i, ?);

--! case 44r adversarial: An aggregate whose value decides nothing makes one row
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, s TEXT);
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, '2');
SELECT nullif('x', count(*)) FROM t;
SELECT nullif(5, max(s)) FROM t WHERE id > 100;
SELECT hex(max(NULL)) FROM t;
SELECT printf('%d', max(NULL)) FROM t;
--! params 'x', '3'
SELECT nullif(CAST(?1 AS TEXT), count(*)) FROM t WHERE ?2 = s;

--! case 44s adversarial: NULL in arithmetic with reals, next to integers
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, r REAL);
INSERT INTO t VALUES (1, 1, 0.5), (2, 2, 1.0);
SELECT id, coalesce(NULL + r, i), coalesce(r * NULL, i) FROM t;

--! case 50d adversarial: typeof() of an aggregate makes one row
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE TABLE u (a TEXT);
INSERT INTO u SELECT typeof(count(*)) FROM t;
INSERT INTO u SELECT typeof(total(i)) FROM t WHERE id > 100;
SELECT typeof(count(i)), typeof(json_group_array(i)) FROM t;
UPDATE t SET i = 9 WHERE EXISTS (SELECT typeof(count(*)) FROM u WHERE a = 'none');
CREATE VIEW v AS SELECT typeof(count(*)) AS a FROM t;
SELECT a FROM v;

--! case 41ya adversarial: ceil(), floor() and trunc() of large reals, stored and grouped
CREATE TABLE a (id INTEGER PRIMARY KEY, r REAL);
INSERT INTO a VALUES (1, 1.5), (2, 2.0), (3, 1e300), (4, -1.5), (5, -1e18);
SELECT DISTINCT ceil(r) FROM a;
SELECT trunc(r) AS c, count(*) FROM a GROUP BY 1;
SELECT floor(r) FROM a UNION SELECT ceil(r) + 1 FROM a;
SELECT f FROM (SELECT id, floor(r) AS f FROM a ORDER BY id LIMIT 9) AS q WHERE f > 1e17 OR f < 0;
SELECT id, lag(floor(r)) OVER (ORDER BY id), max(floor(r), 0.5) FROM a;
INSERT INTO a (id, r) SELECT id + 10, floor(r) FROM a;
UPDATE a SET r = ceil(r) WHERE id < 4;

--! case 1ya adversarial: A parameter that a server's text has several times, or before another
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'abcdef'), (2, 'xy'), (3, NULL);
--! params -3, 2, 'z'
SELECT id, substr(t, ?, ?) || ? FROM a;
--! params '2024-02-29', 1
SELECT strftime('%Y', ?) || '!', date('2024-01-02', 'start of month'), ?;
--! params 'b', 'Q', 9
SELECT id, replace(t, ?, ?), nullif(id, ?) FROM a;
--! params 'b', 'x', 3
SELECT q.w, ?3 FROM (SELECT id, t || ?1 AS w FROM a) AS q WHERE q.w <> ?2;

--! case 50ya adversarial: replace() of nothing in a number
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'a'), (2, '');
SELECT id, typeof(replace(id, '', 'x')), replace(id, '', 'x') = 1 FROM a;
SELECT id, typeof(replace(id, t, 'x')) FROM a;
