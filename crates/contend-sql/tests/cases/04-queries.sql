--! case 58a: LIMIT offset, count
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4), (5);
--! ordered
SELECT a FROM t ORDER BY a LIMIT 1, 2;

--! case 58b adversarial: The first of two is the offset
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4), (5);
--! params 3, 1
--! ordered
SELECT a FROM t ORDER BY a LIMIT ?, ?;

--! case 58c: LIMIT and OFFSET with parameters
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4), (5);
--! params 2, 1
--! ordered
SELECT a FROM t ORDER BY a DESC LIMIT :n OFFSET :m;

--! case 59a: LIMIT -1
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
--! ordered
SELECT a FROM t ORDER BY a LIMIT -1 OFFSET 1;

--! case 59b: An expression
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4);
--! ordered
SELECT a FROM t ORDER BY a LIMIT 1 + 1 OFFSET 2 - 1;

--! case 59c adversarial: A negative parameter is no limit
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
--! params -1
--! ordered
SELECT a FROM t ORDER BY a LIMIT ?;

--! case 59d adversarial: LIMIT 0, a subquery as a limit, a negative offset
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT a FROM t LIMIT 0;
--! ordered
SELECT a FROM t ORDER BY a LIMIT 2 OFFSET -5;
--! ordered
SELECT a FROM t ORDER BY a LIMIT (SELECT count(*) - 1 FROM t);

--! case 60a adversarial: Columns of the row with the largest value
CREATE TABLE t (g TEXT, n INTEGER, name TEXT);
INSERT INTO t VALUES ('x', 1, 'one'), ('x', 3, 'three'), ('x', 2, 'two'), ('y', 5, 'five');
SELECT g, max(n), name FROM t GROUP BY g;

--! case 60b adversarial: Columns of the row with the smallest, without GROUP BY
CREATE TABLE t (n INTEGER, name TEXT);
INSERT INTO t VALUES (3, 'three'), (1, 'one'), (2, 'two');
SELECT min(n), name FROM t;

--! case 60c: Columns that the key of the group determines
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE c (t INTEGER, n INTEGER);
INSERT INTO t VALUES (1, 'a'), (2, 'b');
INSERT INTO c VALUES (1, 5), (1, 6), (2, 7);
SELECT t.id, t.name, sum(c.n) FROM t JOIN c ON c.t = t.id GROUP BY t.id;

--! case 60d: A column that is the same in the whole group
CREATE TABLE t (g INTEGER, h INTEGER);
INSERT INTO t VALUES (1, 5), (1, 5), (2, 6);
SELECT g, g + 1, count(*) FROM t GROUP BY g HAVING g > 0;

--! case 60e adversarial: A group by an expression, selected
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4);
SELECT a % 2, count(*), a % 2 + 10 FROM t GROUP BY a % 2;

--! case 60f adversarial: All columns of the row with the largest value, by their names
CREATE TABLE t (g TEXT, n INTEGER, name TEXT);
INSERT INTO t VALUES ('x', 1, 'one'), ('x', 3, 'three'), ('x', 2, 'two'), ('y', 5, 'five');
--! names
SELECT *, max(n) AS most FROM t GROUP BY g;
--! names
SELECT t.*, max(n) AS most FROM t;
--! names
SELECT min(n) AS least, * FROM t AS s WHERE n > 1 GROUP BY g;
SELECT name FROM (SELECT *, max(n) FROM t GROUP BY g) WHERE n = 5;
CREATE TABLE u (n INTEGER, word TEXT);
INSERT INTO u VALUES (1, 'a'), (2, 'b');
--! names
SELECT name, min(n) AS least FROM t;
--! names
SELECT *, max(word) AS last FROM t JOIN u ON u.n = t.n;
--! names
SELECT *, max(word) AS last FROM t JOIN u USING (n);

--! case 61a: An alias in WHERE
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT a * 2 AS d FROM t WHERE d > 2;

--! case 61b: An alias in GROUP BY and HAVING
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3), (4), (5);
SELECT a % 2 AS odd, count(*) AS n FROM t GROUP BY odd HAVING n > 2;

--! case 61c adversarial: An alias in an expression of ORDER BY
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 5), (2, 1), (3, 3);
--! ordered
SELECT a, b AS k FROM t ORDER BY k * -1;
--! ordered
SELECT a + b AS s FROM t ORDER BY -s, s || 'x';

--! case 61d adversarial: In WHERE and GROUP BY a column comes before an alias of the same name
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 10), (2, 10), (3, 20);
SELECT b AS a FROM t WHERE a > 1;
SELECT -b AS b, count(*) FROM t GROUP BY b;

--! case 61e adversarial: In ORDER BY an alias comes before a column of the same name
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 30), (2, 20), (3, 10);
--! ordered
SELECT -a AS b, a FROM t ORDER BY b;
--! ordered
SELECT -a AS b, a FROM t ORDER BY b + 0;

--! case 61f: GROUP BY and ORDER BY the number of a column
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, 'y');
--! ordered
SELECT b, a, count(*) FROM t GROUP BY 2, 1 ORDER BY 2 DESC, 1;

--! case 61g adversarial: ORDER BY the number of a column of all columns, and of what follows them
CREATE TABLE t (a INTEGER, b TEXT, c TEXT COLLATE NOCASE);
CREATE TABLE u (a INTEGER, d INTEGER);
INSERT INTO t VALUES (1, 'z', 'b'), (2, 'y', 'A'), (3, 'x', 'c'), (4, NULL, 'D');
INSERT INTO u VALUES (1, 10), (2, 30), (3, 20);
--! ordered
SELECT * FROM t ORDER BY 2 DESC;
--! ordered
SELECT * FROM t ORDER BY 3;
--! ordered
SELECT *, -a FROM t ORDER BY 2;
--! ordered
SELECT *, -a FROM t ORDER BY 4;
--! ordered
SELECT -a, *, length(b) FROM t ORDER BY 1;
--! ordered
SELECT u.*, t.* FROM t JOIN u ON u.a = t.a ORDER BY 2;
--! ordered
SELECT b, u.* FROM t JOIN u USING (a) ORDER BY 3 DESC;
--! ordered
SELECT * FROM t JOIN u USING (a) ORDER BY 4;
--! ordered
SELECT * FROM t NATURAL JOIN u ORDER BY 2, 1;
--! ordered
SELECT DISTINCT * FROM u ORDER BY 2;

--! case 61h adversarial unmatched: GROUP BY the number of a column of all columns
CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER);
INSERT INTO t VALUES (1, 5), (2, 5), (3, 6);
SELECT t.*, a / 2 FROM t GROUP BY 1;

--! case 62a: DISTINCT and ORDER BY a column of the list
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1), (1, 1), (2, 1), (1, 2);
--! ordered
SELECT DISTINCT a, b FROM t ORDER BY b DESC, a;

--! case 62b adversarial: DISTINCT and ORDER BY an expression of the list
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (3), (1), (3), (-2);
--! ordered
SELECT DISTINCT a FROM t ORDER BY abs(a);

--! case 62c adversarial: DISTINCT and ORDER BY something else that the list determines
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 3), (2, 'y', 1), (3, 'z', 2);
--! ordered
SELECT DISTINCT name FROM t ORDER BY n;

--! case 62d adversarial: DISTINCT separates 1 from '1' and takes NULLs as one
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (NULL, 'x'), (NULL, 'x'), (1, NULL), (1, NULL);
SELECT DISTINCT a, b FROM t;

--! case 62e adversarial: DISTINCT in the order of two expressions, with NULL and texts
CREATE TABLE t (a INTEGER, b TEXT, c INTEGER);
INSERT INTO t VALUES (1, 'x', 1), (1, 'x', 2), (NULL, 'B', 1), (2, 'a', 1), (2, 'a', 5), (3, NULL, 1);
--! ordered
SELECT DISTINCT a, b FROM t ORDER BY a % 2, b || '!', a;
--! ordered
SELECT DISTINCT b AS k FROM t WHERE c < 5 ORDER BY length(b) DESC, b;

--! case 63a: A subquery without a name
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
SELECT a FROM (SELECT a FROM t WHERE a > 1);

--! case 63b: VALUES as a query
VALUES (1, 'x'), (2, 'y');
SELECT * FROM (VALUES (1, 'x'), (2, 'y'));

--! case 63c: The names of VALUES' columns
SELECT column1 + 1, column2 FROM (VALUES (1, 'x'), (2, 'y')) WHERE column1 > 1;

--! case 63d adversarial: Two subqueries without a name, one in the other
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT count(*) FROM (SELECT a FROM (SELECT a FROM t LIMIT 2)), (SELECT 1 AS b UNION ALL SELECT 2);

--! case 63f adversarial: A column of a query compared with what replace() makes of it
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT);
INSERT INTO t VALUES (1, -3, 'it''s'), (2, 4, ' -3'), (3, NULL, NULL), (4, -3, '-3-3');
CREATE VIEW v AS SELECT id, CAST(n AS TEXT) AS x, trim(s) AS y FROM t;
SELECT q.x FROM (SELECT CAST(n AS TEXT) AS x FROM t) AS q WHERE q.x IS NOT replace(q.x, '-3', 'x_y');
WITH q AS (SELECT id, coalesce(CAST(n AS TEXT), s) AS x FROM t) SELECT id, x = replace(x, '-3', 'y') FROM q;
SELECT id FROM v WHERE x <> replace(coalesce(x, ''), '-', '') OR y <> substr(replace(y, '3', '4'), 1);
SELECT id, y = printf('%q', y), y || quote(y), quote(y) <> y FROM v;
SELECT a.id FROM v AS a JOIN v AS b ON a.x = replace(a.x, '-3', '4') OR replace(b.y, '-3', '-4') = b.y AND a.id = b.id;

--! case 63g adversarial: A part of a text in a query, compared with what is made of it
CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT, y TEXT, d TEXT);
INSERT INTO t VALUES (1, '10', '10', '2020-01-02'), (2, 'É', 'z', '2021-02-03 04:05:06'), (3, 'a', 'b', NULL), (4, 'abc', 'd', '2020-05-06');
SELECT q.x FROM (SELECT substr(x || y, -2) AS x FROM t) AS q WHERE q.x <= (q.x || 'É');
SELECT q.x FROM (SELECT substr(x || y, 2) AS x FROM t) AS q WHERE q.x <= (q.x || 'E');
SELECT q.x FROM (SELECT substr(x || y, id, 2) AS x FROM t) AS q WHERE q.x BETWEEN '' AND ('a' || q.x || upper(q.x));
WITH q AS (SELECT substr(x || y, 1, 3) AS x, substr(hex(x), 2) AS h FROM t)
  SELECT x, h, CASE WHEN x < trim(x) || 'q' THEN x ELSE 'no' END, h <= h || 'é' FROM q;
CREATE VIEW v AS SELECT id, x || y AS z, strftime('%f', d) AS f FROM t;
SELECT q.p <= q.p || '0', q.f <= q.f || 'x', max(q.p, q.p || 'É') FROM (SELECT substr(z, -2) AS p, f FROM v) AS q;

--! case 63e adversarial: VALUES of different kinds
--! ordered
SELECT column1 FROM (VALUES (1), ('a'), (NULL)) ORDER BY column1;

--! case 63h adversarial unmatched=MariaDB: A query in FROM that uses a column of the query around it
CREATE TABLE t (id INTEGER PRIMARY KEY);
CREATE TABLE u (t INTEGER, n INTEGER);
INSERT INTO t VALUES (1), (2), (3);
INSERT INTO u VALUES (1, 5), (1, 6), (2, 7);
SELECT id, (SELECT sum(n) FROM (SELECT n FROM u WHERE u.t = t.id)) FROM t;
SELECT id FROM t WHERE EXISTS (WITH w AS (SELECT n FROM u WHERE u.t = t.id) SELECT 1 FROM w WHERE n > 6);

--! case 63i adversarial: A query in FROM inside of one that uses columns of the query around it
CREATE TABLE t (id INTEGER PRIMARY KEY);
CREATE TABLE u (t INTEGER, n INTEGER);
INSERT INTO t VALUES (1), (2), (3);
INSERT INTO u VALUES (1, 5), (1, 6), (2, 7);
SELECT id, (SELECT sum(n) FROM (SELECT n, u.t AS of FROM u) WHERE of = id) FROM t;

--! case 64a: IN with an empty list
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (NULL);
SELECT a FROM t WHERE a IN ();
SELECT a FROM t WHERE a NOT IN ();

--! case 64b: IN a table
CREATE TABLE t (a INTEGER);
CREATE TABLE good (v INTEGER);
INSERT INTO t VALUES (1), (2), (3);
INSERT INTO good VALUES (2), (3);
SELECT a FROM t WHERE a IN good;

--! case 64c adversarial: NULL in an empty list is false and not NULL
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (NULL), (1);
SELECT a IN (), a NOT IN (), NULL IN () FROM t;

--! case 64j adversarial: IN a query that never has a row
CREATE TABLE t (a INTEGER, s TEXT);
INSERT INTO t VALUES (1, '1'), (NULL, NULL);
SELECT s IN (SELECT 1 FROM (SELECT 1) WHERE 1!=1), s NOT IN (SELECT 1 FROM (SELECT 1) WHERE 1!=1), a IN (SELECT 1 WHERE 1 = 2) FROM t;
SELECT a FROM t WHERE s NOT IN (SELECT 1 WHERE 3 <> 3);
SELECT a IN (SELECT 1 WHERE 1 != 2), a IN (SELECT 1 WHERE 1 = 1) FROM t;
SELECT a IN (SELECT count(*) FROM t WHERE 1 = 2) FROM t;

--! case 64d adversarial: NOT IN with a NULL among the values
CREATE TABLE t (a INTEGER);
CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1), (2), (NULL);
INSERT INTO u VALUES (1), (NULL);
SELECT a FROM t WHERE a NOT IN (SELECT b FROM u);
SELECT a, a IN (1, NULL), a NOT IN (SELECT b FROM u WHERE b > 100) FROM t;

--! case 65a: Rows compared
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1), (1, 2), (2, 1), (2, NULL);
SELECT a, b FROM t WHERE (a, b) = (1, 2);
SELECT a, b FROM t WHERE (a, b) > (1, 1);

--! case 65b: Rows in a list of rows
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (1, 'y'), (2, 'x');
SELECT a, b FROM t WHERE (a, b) IN (VALUES (1, 'x'), (2, 'x'));
SELECT a, b FROM t WHERE (a, b) IN (SELECT a, 'x' FROM t);

--! case 65c adversarial: The next page by a pair of keys, with NULLs
CREATE TABLE t (a INTEGER, b INTEGER);
INSERT INTO t VALUES (1, 1), (1, 2), (1, NULL), (2, 0), (NULL, 5);
--! ordered
SELECT a, b FROM t WHERE (a, b) > (1, 1) ORDER BY a, b;
SELECT (a, b) < (1, 2), (a, b) IS (1, NULL) FROM t;

--! case 65d adversarial: Rows in order next to an EXISTS of the same column
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER);
CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER);
CREATE INDEX u_t ON u (t);
INSERT INTO t VALUES (1, 1), (2, 1), (3, 1), (4, NULL), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1);
INSERT INTO u VALUES (120, 0), (9, 1), (8, 1), (2, 1), (6, 2), (7, 2), (1, 3), (12, 6), (11, 8), (10, 9), (3, 11);
SELECT t.id FROM t JOIN u ON u.t = t.id WHERE (t.id, 'a') <= (3, 'b') AND EXISTS (SELECT 1 FROM u AS z WHERE z.t = t.id);
SELECT id, (a, id) < (1, 5), (id, a) >= (4, 1), (a, id, a) > (1, 7, NULL), (NULL, 1) < (1, id) FROM t;

--! case 66a: FULL and RIGHT JOIN
CREATE TABLE t (a INTEGER);
CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1), (2);
INSERT INTO u VALUES (2), (3);
SELECT a, b FROM t RIGHT JOIN u ON a = b;
SELECT a, b FROM t FULL JOIN u ON a = b;

--! case 66b: NATURAL JOIN and USING
CREATE TABLE t (id INTEGER, a TEXT);
CREATE TABLE u (id INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
INSERT INTO u VALUES (1, 'p'), (3, 'q');
SELECT id, a, b FROM t NATURAL JOIN u;
SELECT id, a, b FROM t LEFT JOIN u USING (id);
SELECT * FROM t JOIN u USING (id);

--! case 66c adversarial: A comma binds like JOIN
CREATE TABLE t (a INTEGER);
CREATE TABLE u (b INTEGER);
CREATE TABLE v (c INTEGER);
INSERT INTO t VALUES (1), (2);
INSERT INTO u VALUES (1), (5);
INSERT INTO v VALUES (1), (2);
SELECT a, b, c FROM t, u LEFT JOIN v ON c = a;

--! case 66d adversarial: The common column of a RIGHT and FULL JOIN
CREATE TABLE t (id INTEGER, a TEXT);
CREATE TABLE u (id INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
INSERT INTO u VALUES (2, 'p'), (3, 'q');
SELECT id, a, b FROM t RIGHT JOIN u USING (id);
SELECT id, t.id, u.id FROM t FULL JOIN u USING (id);

--! case 66e: JOIN and CROSS JOIN without a condition
CREATE TABLE t (a INTEGER);
CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1), (2);
INSERT INTO u VALUES (3), (4);
SELECT a, b FROM t JOIN u WHERE a = 1;
SELECT a, b FROM t CROSS JOIN u;
SELECT count(*) FROM t INNER JOIN u;

--! case 66f adversarial: The parts of a query on itself
CREATE TABLE e (id INTEGER PRIMARY KEY, boss INTEGER, name TEXT);
INSERT INTO e VALUES (1, NULL, 'ann'), (2, 1, 'bob'), (3, 1, 'cid');
SELECT e.name, b.name FROM e LEFT JOIN e AS b ON b.id = e.boss AND b.name <> 'x';
SELECT e.* FROM e JOIN (e AS b LEFT JOIN e AS c ON c.boss = b.id) ON b.id = e.boss;

--! case 67a: FILTER
CREATE TABLE t (a INTEGER, g TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'x'), (3, 'y');
SELECT g, count(*) FILTER (WHERE a > 1), sum(a) FILTER (WHERE a < 3) FROM t GROUP BY g;

--! case 67b: Windows
CREATE TABLE t (id INTEGER PRIMARY KEY, g TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 5), (2, 'x', 3), (3, 'y', 4), (4, 'x', 3);
--! ordered
SELECT id, row_number() OVER (PARTITION BY g ORDER BY n, id), rank() OVER (ORDER BY n), sum(n) OVER (ORDER BY id) FROM t ORDER BY id;

--! case 67c: lag, lead, first_value, a named window
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 3), (3, 4);
--! ordered
SELECT id, lag(n) OVER w, lead(n, 1, 0) OVER w, first_value(n) OVER w FROM t WINDOW w AS (ORDER BY id) ORDER BY id;

--! case 67d adversarial: The default frame takes in peers
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 5), (3, 7), (4, NULL);
--! ordered
SELECT id, sum(n) OVER (ORDER BY n), count(*) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), last_value(id) OVER (ORDER BY n, id) FROM t ORDER BY id;

--! case 67e adversarial: GROUPS and EXCLUDE
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 5), (3, 7), (4, 9);
--! ordered
SELECT id, sum(n) OVER (ORDER BY n GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW), sum(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM t ORDER BY id;

--! case 67f adversarial: Aggregates in windows: types
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 2), (2, 4);
--! ordered
SELECT id, avg(n) OVER (ORDER BY id), sum(n) OVER (), ntile(2) OVER (ORDER BY id), percent_rank() OVER (ORDER BY n), cume_dist() OVER (ORDER BY n) FROM t ORDER BY id;

--! case 67g: A literal within a window
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 5), (2, 3);
--! ordered
SELECT id, first_value('x') OVER (ORDER BY n), lag(n, 1, 0) OVER (ORDER BY id), max('y') OVER () FROM t ORDER BY id;

--! case 67h adversarial: lag and lead with a default where the value itself is NULL
CREATE TABLE t (id INTEGER PRIMARY KEY, g TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 5), (2, 'x', NULL), (3, 'y', 7), (4, 'x', 8), (5, 'y', NULL);
--! ordered
SELECT id, lag(n, 1, -1) OVER (PARTITION BY g ORDER BY id), lead(n, 2, id * 10) OVER (PARTITION BY g ORDER BY id DESC), lag(g, 1, 'none') OVER (ORDER BY id) FROM t ORDER BY id;

--! case 68a: rowid of a table with an integer key
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (5, 'x'), (7, 'y');
SELECT rowid, a FROM t WHERE rowid = 5;
SELECT _rowid_, oid FROM t WHERE a = 'y';

--! case 68b adversarial rowids: rowid of a table without a key
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('x'), ('y');
SELECT rowid, a FROM t;
DELETE FROM t WHERE rowid = 1;
UPDATE t SET a = a || rowid WHERE oid > 1;
INSERT INTO t VALUES ('after');
SELECT last_insert_rowid(), max(rowid), count(*) FROM t;
SELECT * FROM t WHERE _rowid_ IN (2, 3);

--! case 68e adversarial rowids: A table without a key is given a rowid
CREATE TABLE t (a TEXT);
INSERT INTO t (rowid, a) VALUES (7, 'z');
INSERT INTO t VALUES ('after');
SELECT rowid, a FROM t;

--! case 68c adversarial: A column called oid is that column
CREATE TABLE t (id INTEGER PRIMARY KEY, oid INTEGER);
INSERT INTO t VALUES (1, 50);
SELECT oid, rowid FROM t;

--! case 68d: DELETE by rowid
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
DELETE FROM t WHERE rowid IN (SELECT rowid FROM t WHERE a = 'x');
UPDATE t SET a = 'z' WHERE oid = 2;

--! case 69a: INDEXED BY
CREATE TABLE t (a INTEGER, b INTEGER);
CREATE INDEX t_a ON t (a);
INSERT INTO t VALUES (1, 2), (3, 4);
SELECT b FROM t INDEXED BY t_a WHERE a = 1;
SELECT b FROM t NOT INDEXED WHERE a = 3;

--! case 69b: A plus in front of a column
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
SELECT a FROM t WHERE +a = 1;
SELECT +b FROM t WHERE +b = 'y';

--! case 69c adversarial: A plus takes the affinity away
CREATE TABLE t (a TEXT);
INSERT INTO t VALUES ('1'), ('2');
SELECT a FROM t WHERE +a = 1;
SELECT a FROM t WHERE a = 1;

--! case 69d adversarial: likely, unlikely, likelihood say nothing about the result
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
SELECT a FROM t WHERE likely(a > 1) AND unlikely(a < 5) AND likelihood(a > 0, 0.5);

--! case 70a: ORDER BY of a compound
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (3), (1), (2);
--! ordered
SELECT a FROM t WHERE a > 1 UNION SELECT a FROM t WHERE a < 3 ORDER BY a DESC;
--! ordered
SELECT a, 'x' FROM t UNION ALL SELECT a + 10, 'y' FROM t ORDER BY 1 LIMIT 4 OFFSET 1;

--! case 70b: EXCEPT and INTERSECT
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (2), (3), (NULL);
SELECT a FROM t EXCEPT SELECT 2;
SELECT a FROM t INTERSECT SELECT a FROM t WHERE a <> 3 OR a IS NULL;

--! case 70c adversarial: Compounds go from left to right
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2), (3);
SELECT 1 UNION SELECT 2 INTERSECT SELECT 2;
SELECT a FROM t EXCEPT SELECT 1 UNION ALL SELECT 1;
SELECT 1 UNION ALL SELECT 1 UNION SELECT 2;

--! case 70d adversarial: NULLs and letter case in the order of a compound
--! ordered
SELECT 'b' AS x UNION ALL SELECT NULL UNION ALL SELECT 'A' UNION ALL SELECT 'a' ORDER BY x;
--! ordered
SELECT 1 AS v, 'p' AS w UNION ALL SELECT NULL, 'q' ORDER BY w DESC, v;

--! case 71a: Counting
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
SELECT i FROM n;

--! case 71b: A tree
CREATE TABLE node (id INTEGER PRIMARY KEY, parent INTEGER, name TEXT);
INSERT INTO node VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b'), (4, 2, 'c');
WITH RECURSIVE below(id, depth) AS (SELECT id, 0 FROM node WHERE parent IS NULL UNION ALL SELECT node.id, depth + 1 FROM node JOIN below ON node.parent = below.id)
SELECT id, depth FROM below;

--! case 71c adversarial: A limit inside ends the recursion
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4)
SELECT i FROM n;

--! case 71d adversarial: An order inside says which row is next
CREATE TABLE node (id INTEGER PRIMARY KEY, parent INTEGER);
INSERT INTO node VALUES (1, NULL), (2, 1), (3, 1), (4, 2), (5, 3);
WITH RECURSIVE below(id, depth) AS (SELECT 1, 0 UNION ALL SELECT node.id, depth + 1 FROM node JOIN below ON node.parent = below.id ORDER BY 2 DESC)
SELECT id, depth FROM below;

--! case 71e adversarial: RECURSIVE is not needed, and text grows
WITH n(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, s || 'y' FROM n WHERE i < 20)
SELECT i, s FROM n WHERE i > 18;

--! case 71f: UNION ends a circle
CREATE TABLE edge (a INTEGER, b INTEGER);
INSERT INTO edge VALUES (1, 2), (2, 3), (3, 1);
WITH RECURSIVE reach(x) AS (SELECT 1 UNION SELECT b FROM edge JOIN reach ON a = x)
SELECT x FROM reach;

--! case 72a: An UPDATE with a subquery
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (t INTEGER, v INTEGER);
INSERT INTO t VALUES (1, 0), (2, 0), (3, 0);
INSERT INTO u VALUES (1, 10), (1, 5), (2, 7);
UPDATE t SET n = (SELECT sum(v) FROM u WHERE u.t = t.id);

--! case 72b: UPDATE FROM
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (t INTEGER PRIMARY KEY, v INTEGER);
INSERT INTO t VALUES (1, 0), (2, 0), (3, 9);
INSERT INTO u VALUES (1, 10), (2, 7);
UPDATE t SET n = v + id FROM u WHERE u.t = t.id;

--! case 72c adversarial: UPDATE FROM where several rows match
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (t INTEGER, v INTEGER);
INSERT INTO t VALUES (1, 0), (2, 5);
INSERT INTO u VALUES (1, 10), (1, 10);
UPDATE t SET n = n + v FROM u WHERE u.t = t.id;

--! case 72d adversarial: A subquery that finds several rows takes the first
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (id INTEGER PRIMARY KEY, v INTEGER);
INSERT INTO t VALUES (1, 0);
INSERT INTO u VALUES (1, 10), (2, 20);
UPDATE t SET n = (SELECT v FROM u ORDER BY v DESC);
SELECT (SELECT v FROM u ORDER BY id), n FROM t;

--! case 72e: DELETE with EXISTS
CREATE TABLE t (id INTEGER PRIMARY KEY);
CREATE TABLE u (t INTEGER);
INSERT INTO t VALUES (1), (2), (3);
INSERT INTO u VALUES (2);
DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.t = t.id);

--! case 67x adversarial: Shares of a window are compared
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7);
SELECT id FROM (SELECT id, cume_dist() OVER (ORDER BY id) AS c FROM t) AS x WHERE c <= 3.0 / 7;

--! case 61x adversarial: Grouping by the name of a constant
CREATE TABLE t (id INTEGER PRIMARY KEY, b INTEGER);
INSERT INTO t VALUES (1, 5), (2, 5), (3, 7);
SELECT 2 AS k, b, count(*) FROM t GROUP BY k, b;
SELECT -1 AS k, count(*) FROM t GROUP BY k;
SELECT TRUE, b FROM t GROUP BY 1, 2;

--! case 61u adversarial unmatched: A column of any row of one group
CREATE TABLE t (id INTEGER PRIMARY KEY, b INTEGER);
INSERT INTO t VALUES (1, 5), (2, 5), (3, 7);
SELECT 2 AS k, b > 5 AS big, count(*) FROM t GROUP BY k;

--! case 61w adversarial: Grouping by constants alone, of rows and of none
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'x'), (1, 'y');
SELECT 'k' AS k, count(*) FROM t GROUP BY k;
SELECT 7 AS k, count(*), sum(a) FROM t WHERE a > 5 GROUP BY 1;
SELECT 7 AS k, b, count(*) FROM t GROUP BY 1, 2;

--! case 61y: Ordering by a constant
CREATE TABLE t (id INTEGER PRIMARY KEY);
INSERT INTO t VALUES (2), (1);
--! ordered
SELECT id FROM t ORDER BY NULL, id;

--! case 23x adversarial: A column of several queries has no affinity to rely on
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT);
INSERT INTO t VALUES (1, 5, '5');
SELECT x = '5' FROM (SELECT a AS x FROM t UNION ALL SELECT 5) AS y;
SELECT x = 5 FROM (SELECT s AS x FROM t UNION ALL SELECT '5') AS y;
SELECT x = 5, x IN (5, 6) FROM (SELECT a AS x FROM t UNION ALL SELECT 5) AS y;

--! case 60p adversarial: NULL in the row with the largest value, and values of each kind
CREATE TABLE t (g INTEGER, n INTEGER, s TEXT, i INTEGER, r REAL);
INSERT INTO t VALUES (1, 1, 'a', 1, 0.1), (1, 2, NULL, NULL, NULL), (2, 5, 'v', 7, 1e300), (2, NULL, 'n', 8, 2.0), (3, 3, 'n', -1, -0.1);
SELECT g, max(n), s, i, r FROM t GROUP BY g;
SELECT g, min(n), s, i, r FROM t GROUP BY g;
--! ordered
SELECT g, s, max(n) FROM t GROUP BY g ORDER BY s;

--! case 62x adversarial: DISTINCT in the order of what equal rows share
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER, k TEXT);
INSERT INTO t VALUES (1, 'x', 3, 'p'), (2, 'y', 1, 'q'), (3, 'z', 2, NULL), (4, 'x', 3, 'p');
--! ordered
SELECT DISTINCT name FROM t ORDER BY n DESC, name;
--! ordered
SELECT DISTINCT name FROM t WHERE n > 0 ORDER BY k, n + 1 LIMIT 2;

--! case 62y adversarial breaks=distinct-order: DISTINCT in an order that equal rows differ in
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 9), (2, 'x', 1), (3, 'y', 5);
--! ordered
SELECT DISTINCT name FROM t ORDER BY n;

--! case 66x adversarial: A full join of empty tables, of rows of NULLs, and of all columns
CREATE TABLE t (a INTEGER, s TEXT);
CREATE TABLE u (b INTEGER, s TEXT);
CREATE TABLE v (a INTEGER);
INSERT INTO t VALUES (NULL, NULL), (1, 'x'), (1, 'y'), (2, NULL);
INSERT INTO u VALUES (1, 'p'), (3, NULL), (NULL, 'q');
SELECT * FROM t FULL JOIN u ON t.a = u.b;
SELECT t.*, v.a FROM t FULL JOIN v ON v.a IS NULL;
SELECT v.a, u.b FROM v FULL JOIN u ON u.b IS NOT NULL;
SELECT count(*), count(t.a), count(u.b) FROM t FULL OUTER JOIN u ON a = b AND u.s = 'p' WHERE t.s IS NULL;
SELECT s, a, b FROM t FULL JOIN u USING (s);

--! case 71x adversarial: A limit inside a recursion over rows of a table
CREATE TABLE t (id INTEGER PRIMARY KEY, next INTEGER);
INSERT INTO t VALUES (1, 2), (2, 3), (3, 1);
WITH RECURSIVE n(i, k) AS (VALUES (1, 'a') UNION ALL SELECT i * 2, k || 'b' FROM n WHERE i < 1000000 LIMIT 5 OFFSET 1) SELECT i, k FROM n;
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i, (SELECT next FROM t WHERE id = i) FROM n;

--! case 71y adversarial: More steps than MariaDB's default, and numbers and texts that grow beyond the first row's
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT count(*), sum(i) FROM n;
WITH RECURSIVE n(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i * 100, s || s || '-' FROM n WHERE i < 1000000000000)
SELECT i, s, length(s) FROM n;
WITH RECURSIVE n(i) AS (SELECT 7 UNION SELECT i * i % 1000 FROM n) SELECT i FROM n;

--! case 71z adversarial: Limits of none, of fewer rows than there are, and with an offset beyond them
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5 LIMIT 0) SELECT i FROM n;
WITH RECURSIVE n(i, s) AS (SELECT 1, 'a' UNION ALL SELECT i + 1, s || 'é' FROM n WHERE i < 5 OR i = 9 LIMIT 3) SELECT i, s FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5 LIMIT 100 OFFSET 2) SELECT i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5 LIMIT 2 OFFSET 9) SELECT i FROM n;
WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i - 1 FROM n LIMIT 4) SELECT a.i, b.i FROM n AS a JOIN n AS b ON a.i = b.i + 1;

--! case 67p adversarial: Totals of all rows next to windows in an order
CREATE TABLE t (id INTEGER PRIMARY KEY, g TEXT, n INTEGER);
INSERT INTO t VALUES (1, 'x', 5), (2, 'y', 3), (3, 'x', NULL), (4, 'y', 8), (5, 'x', 3);
--! ordered
SELECT id, row_number() OVER (ORDER BY n DESC, id), count(*) OVER (), sum(n) OVER (), lag(id) OVER (ORDER BY id) FROM t ORDER BY id;
--! ordered
SELECT id, n, rank() OVER (ORDER BY n), max(n) OVER (), min(g) OVER () FROM t WHERE n > 3 ORDER BY id DESC LIMIT 2;

--! case 71g adversarial unmatched: A recursive column of another type than the first row's
WITH RECURSIVE c(x, y) AS (SELECT 1, 'a' UNION ALL SELECT x + 1, 5 FROM c WHERE x < 3 AND y = 'a') SELECT x, y FROM c;

--! case 71h adversarial unmatched: A recursive column that takes the value of one of another type
WITH RECURSIVE c(x, y, z) AS (SELECT 1, 'a', 'q' UNION ALL SELECT x + 1, 5, y FROM c WHERE x < 3) SELECT x, z FROM c;

--! case 71i adversarial: A recursive column that is NULL after the first row
WITH RECURSIVE c(x, y, z) AS (SELECT 1, 'a', 'q' UNION ALL SELECT x + 1, nullif(y, 'a'), replace('bab', y, 'c') FROM c WHERE x < 4)
SELECT x, y, z FROM c;

--! case 67q adversarial: Texts of thousands of equal characters in order, and as partitions
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT);
INSERT INTO t VALUES (1, printf('%02000d', 0) || 'z', 'x'), (2, printf('%02000d', 0) || 'y', 'x'), (3, printf('%02000d', 0) || 'z', 'x');
--! ordered
SELECT id FROM t ORDER BY a, id;
--! ordered
SELECT id FROM t ORDER BY a, b, a || 'x', b || 'x', a || 'y', b || 'y', id DESC LIMIT 2;
SELECT id, row_number() OVER (PARTITION BY a ORDER BY id), dense_rank() OVER (ORDER BY a) FROM t;

--! case 67r adversarial breaks=order-by: Texts that differ only after thousands of characters
CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
INSERT INTO t VALUES (1, printf('%09000d', 0) || 'z'), (2, printf('%09000d', 0) || 'y');
--! ordered
SELECT id FROM t ORDER BY a;

--! case 72p adversarial: UPDATE FROM with an alias for the table
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE u (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO t VALUES (1, 10), (2, 20);
INSERT INTO u VALUES (1, 5), (3, 7);
UPDATE t AS x SET n = x.n + u.n FROM u WHERE u.id = x.id;
SELECT id, n FROM t;

--! case 60s adversarial fails unmatched: HAVING without a group
CREATE TABLE t (a INTEGER);
INSERT INTO t VALUES (1), (2);
SELECT 1 FROM t HAVING 1;
SELECT a FROM t;

--! case 61qa adversarial: COLLATE around the number or the name of a result in ORDER BY
CREATE TABLE t (a TEXT, b TEXT);
INSERT INTO t VALUES ('1', 'B'), ('2', 'a'), ('3', NULL);
--! ordered
SELECT b FROM t ORDER BY 1 COLLATE NOCASE;
--! ordered
SELECT b AS a FROM t ORDER BY a COLLATE NOCASE;

--! case 61qb adversarial: TRUE in ORDER BY is no number of a result
CREATE TABLE t (a INTEGER, b TEXT);
INSERT INTO t VALUES (1, 'z'), (2, 'y');
--! ordered
SELECT a, b FROM t ORDER BY TRUE, b;
--! ordered
SELECT a, b FROM t ORDER BY CAST(1 AS INTEGER), b;

--! case 61qc adversarial: The name of a result that an outer query has as a column
CREATE TABLE t (a INTEGER, x INTEGER);
CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1, 3), (2, 9);
INSERT INTO u VALUES (2), (7);
SELECT a, (SELECT b + 1 AS x FROM u WHERE x = 3) FROM t;

--! case 71qa adversarial: A query of WITH that comes later, and one in another spelling than its definition
CREATE TABLE b (x INTEGER);
INSERT INTO b VALUES (5);
WITH a AS (SELECT x FROM b), b AS (SELECT 1 AS x) SELECT x FROM a;
--! params 3, 10
WITH s AS (SELECT sum(x) AS n FROM c WHERE x <> ?1), c AS (SELECT x FROM n UNION ALL SELECT x FROM b), n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?2) SELECT n, (SELECT count(*) FROM c) FROM s;
INSERT INTO b WITH a AS (SELECT x + 1 AS x FROM later), later AS (SELECT 7 AS x) SELECT x FROM a;
SELECT x FROM b WHERE x IN (WITH a AS (SELECT x FROM z), z AS (SELECT 8 AS x) SELECT x FROM a);

--! case 71qb adversarial: A query of WITH in another spelling
CREATE TABLE foo (x INTEGER);
INSERT INTO foo VALUES (5);
WITH Foo AS (SELECT 1 AS x) SELECT x FROM foo;

--! case 66qa adversarial unmatched: The row of the last of several min() and max()
CREATE TABLE t (name TEXT, a INTEGER, b INTEGER);
INSERT INTO t VALUES ('x', 1, 1), ('y', 2, 2);
SELECT name, max(a), 1 + min(b) FROM t;

--! case 71qc adversarial: A query of WITH in another spelling, with its name before a column
WITH Foo AS (SELECT 1 AS x) SELECT foo.x FROM foo ORDER BY x;

--! case 61qd adversarial: A column of an outer query in a list that has its name for a result
CREATE TABLE t (a INTEGER, x INTEGER);
CREATE TABLE u (b INTEGER);
INSERT INTO t VALUES (1, 3), (2, 9);
INSERT INTO u VALUES (7);
SELECT a, (SELECT x + b AS x FROM u LIMIT 1) FROM t;

--! case 61qe adversarial: HAVING of an expression that is grouped by, under its alias, as it is and within another
CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT);
INSERT INTO t VALUES (1, 1, 'ab'), (2, 2, 'ac'), (3, 3, 'bc'), (4, NULL, NULL), (5, 9, 'x');
SELECT n % 2 AS odd, count(*) FROM t GROUP BY odd HAVING odd > 0;
SELECT substr(s, 1, 1), max(n) FROM t GROUP BY substr(s, 1, 1) HAVING substr(s, 1, 1) < 'b' OR max(n) > 3 OR substr(s, 1, 1) IS NULL;
SELECT count(*) FROM t GROUP BY n > 1 HAVING n > 1;
SELECT s, n + id AS k FROM t GROUP BY s, n + id HAVING k * 2 + count(*) > 5 AND s > 'a';
SELECT upper(s) AS u, sum(n) FROM t GROUP BY 1 HAVING u IN ('AB', 'X') AND u || 'y' <> 'Xy';
SELECT coalesce(s, 'ab') AS c, count(*) FROM t GROUP BY c HAVING c = 'ab' AND (SELECT max(id) FROM t) > 1;

--! case 66qb adversarial: The same max() twice
CREATE TABLE t (name TEXT, g INTEGER, a INTEGER);
INSERT INTO t VALUES ('x', 1, 1), ('y', 1, 2), ('z', 2, 3);
SELECT name, max(a), max(a) + 1 FROM t;
--! ordered
SELECT name, max(a) FROM t GROUP BY g ORDER BY max(a) DESC;

--! case 60t adversarial unmatched: An aggregate of an outer query's columns belongs to that query
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL);
SELECT id, (SELECT max(i)) FROM t;

--! case 60u adversarial unmatched: An aggregate next to what is never true
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL);
SELECT count(*) AND 0 FROM t;

--! case 64r adversarial unmatched: An aggregate searched in nothing
CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL);
SELECT count(*) IN () FROM t;

--! case 67ya adversarial: Parameters in lag() and lead() with a default
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, i INTEGER);
INSERT INTO a VALUES (1, 'x', 1), (2, '5', 2), (3, '', NULL), (4, NULL, 5);
--! params 100, 7
SELECT id, lag(i + ?, 1, ?) OVER (ORDER BY id) FROM a;
--! params 7, 1
SELECT id, lead(i, 1, ?) OVER (PARTITION BY ? ORDER BY id) FROM a;
--! params '-a', 'dflt', '-b'
SELECT id, lag(t || ?, 1, ?) OVER (ORDER BY id) || ? FROM a;

--! case 67yb adversarial: A partition of values of several types
CREATE TABLE a (id INTEGER PRIMARY KEY, u);
INSERT INTO a VALUES (1, 1), (2, 1.0), (3, x'31'), (4, '1'), (5, NULL), (6, NULL);
SELECT id, count(*) OVER (PARTITION BY u) FROM a;
SELECT id, row_number() OVER (PARTITION BY u ORDER BY id), rank() OVER (PARTITION BY u ORDER BY id DESC) FROM a;
SELECT id, count(*) OVER (PARTITION BY coalesce(u, 1.0)) FROM a;

--! case 67yc adversarial unmatched: group_concat() of rows that leave the window
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO a VALUES (1, 'x'), (2, '5'), (3, ''), (4, NULL), (5, 'z');
SELECT id, group_concat(t, '-') OVER (ORDER BY id ROWS 1 PRECEDING) FROM a;

--! case 62ya adversarial unmatched=MariaDB: SELECT DISTINCT of constants with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
CREATE TABLE s (id INTEGER PRIMARY KEY);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
SELECT DISTINCT 3 FROM a LIMIT 5 OFFSET 1;

--! case 62yb adversarial unmatched=MariaDB: SELECT DISTINCT of a bound value with OFFSET, in a search
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
--! params 3
SELECT id FROM a WHERE id IN (SELECT DISTINCT CAST(? AS INTEGER) FROM a LIMIT 5 OFFSET 1);

--! case 62yc adversarial unmatched=MariaDB: SELECT DISTINCT of a query's constant with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
SELECT DISTINCT k FROM (SELECT id, 3 AS k FROM a) AS q LIMIT 5 OFFSET 1;

--! case 62yd adversarial unmatched=MariaDB: SELECT DISTINCT of a query in the list with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
SELECT DISTINCT (SELECT max(id) FROM a), abs(-3) FROM a LIMIT 5 OFFSET 1;

--! case 62yg adversarial unmatched=MariaDB: SELECT DISTINCT of a table that is found by its key, next to another one, with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
SELECT DISTINCT b.i FROM a, a AS b WHERE b.id = 1 LIMIT 5 OFFSET 1;

--! case 62yh adversarial unmatched=MariaDB: SELECT DISTINCT whose only columns are in a query of the list and in typeof(), with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
CREATE TABLE s (id INTEGER PRIMARY KEY);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
INSERT INTO s VALUES (1), (2);
SELECT DISTINCT typeof(id), (SELECT max(id) FROM s) FROM a LIMIT 5 OFFSET 1;

--! case 62yi adversarial unmatched: DISTINCT in a later part of EXISTS, with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, 1);
SELECT EXISTS (SELECT 9 UNION ALL SELECT DISTINCT i FROM a LIMIT 1 OFFSET 3);

--! case 62ye: SELECT DISTINCT of what varies with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER, "a b" TEXT);
INSERT INTO a VALUES (1, 1, 'x'), (2, 1, 'x'), (3, 2, 'x'), (4, 4, 'x');
SELECT DISTINCT i, 3 FROM a ORDER BY i LIMIT 5 OFFSET 1;
SELECT DISTINCT i + 1 FROM a ORDER BY 1 LIMIT 1, 5;
SELECT DISTINCT "a b" FROM a LIMIT 5 OFFSET 1;
SELECT DISTINCT * FROM a WHERE id = 3 LIMIT 5 OFFSET 1;
SELECT DISTINCT count(*) FROM a GROUP BY i LIMIT 5 OFFSET 2;
SELECT DISTINCT 3 FROM a LIMIT 5;

--! case 62yf adversarial unmatched: DISTINCT in EXISTS with OFFSET
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1);
SELECT EXISTS (SELECT DISTINCT 3 FROM a LIMIT 1 OFFSET 1), EXISTS (SELECT DISTINCT i FROM a LIMIT 1 OFFSET 2);

--! case 64ya adversarial: IN with EXCEPT and INTERSECT, whose right query has a NULL
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 5);
SELECT 9 IN (SELECT id FROM a INTERSECT SELECT i FROM a), 9 NOT IN (SELECT id FROM a INTERSECT SELECT i FROM a);
SELECT id FROM a WHERE id NOT IN (SELECT 9 FROM a EXCEPT SELECT i FROM a);
SELECT (1, 2) IN (SELECT id, id + 5 AS j FROM a EXCEPT SELECT i, i FROM a), 3 IN (SELECT i FROM a INTERSECT SELECT i FROM a);
DELETE FROM a WHERE (id IN (SELECT 9 FROM a EXCEPT SELECT i FROM a)) IS NULL;
DELETE FROM a WHERE id NOT IN (SELECT 2 FROM a EXCEPT SELECT i FROM a);

--! case 64yb adversarial unmatched=MariaDB: IN with EXCEPT of a column of the outer query
CREATE TABLE a (id INTEGER PRIMARY KEY, i INTEGER);
INSERT INTO a VALUES (1, 1), (2, 2), (3, NULL), (4, 5);
SELECT id, 1 IN (SELECT a.id EXCEPT SELECT i FROM a AS b) FROM a;

--! case 64yc adversarial: The value of a query in a query of an outer column
CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT, r REAL);
CREATE TABLE s (id INTEGER PRIMARY KEY, st TEXT);
INSERT INTO a VALUES (1, 'x', 1.5), (2, '5', 2.5), (3, '', NULL), (4, NULL, 1e300);
INSERT INTO s VALUES (1, 'x'), (2, 'abc');
SELECT id, (SELECT max(st) FROM s) IN (VALUES (a.t), ('zz')) FROM a;
SELECT id FROM a WHERE (SELECT max(st) FROM s) NOT IN (SELECT a.t UNION SELECT 'zz');
SELECT id, (SELECT max(st) FROM s) IN (SELECT a.t FROM s) FROM a;
SELECT id, (SELECT max(r) FROM a AS b WHERE b.id < 2) IN (SELECT a.r UNION ALL SELECT 7.0) FROM a;
