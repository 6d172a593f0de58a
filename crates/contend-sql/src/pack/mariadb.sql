CREATE DATABASE IF NOT EXISTS contend_sql CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- CAST(text AS INTEGER): the integer it begins with, held to 64 bits.
CREATE OR REPLACE FUNCTION contend_sql.text_integer(x LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN x REGEXP '^[ \t\n\r\f\v]*[+-]?[0-9]'
    THEN CAST(LEAST(GREATEST(CAST(REGEXP_SUBSTR(REGEXP_SUBSTR(x, '^[ \t\n\r\f\v]*[+-]?[0-9]{1,40}'), '[+-]?[0-9]+') AS DECIMAL(60)),
      -9223372036854775808), 9223372036854775807) AS SIGNED)
    ELSE 0 END;

-- CAST(text AS REAL): the number it begins with.
CREATE OR REPLACE FUNCTION contend_sql.text_real(x LONGTEXT CHARACTER SET utf8mb4) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN x REGEXP '^[ \t\n\r\f\v]*[+-]?([0-9]|[.][0-9])'
    THEN CAST(REGEXP_SUBSTR(REGEXP_SUBSTR(x, '^[ \t\n\r\f\v]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?'), '[^ \t\n\r\f\v]+') AS DOUBLE)
    ELSE 0 END;

-- The text of a real: 15 significant digits, never without a point, as printf('%!.15g', x).
CREATE OR REPLACE FUNCTION contend_sql.real_text(x DOUBLE) RETURNS VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
  DETERMINISTIC NO SQL
BEGIN
  DECLARE e INT;
  DECLARE d DECIMAL(65, 30);
  DECLARE t VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x = 0 THEN RETURN '0.0'; END IF;
  SET e = FLOOR(LOG10(ABS(x)));
  IF e BETWEEN -4 AND 14 THEN
    SET d = ROUND(CAST(x AS DECIMAL(65, 30)), 14 - e);
    SET t = TRIM(TRAILING '0' FROM CAST(d AS CHAR));
    RETURN IF(RIGHT(t, 1) = '.', CONCAT(t, '0'), t);
  END IF;
  SET d = ROUND(CAST(x / POW(10, e) AS DECIMAL(65, 30)), 14);
  SET t = TRIM(TRAILING '0' FROM CAST(d AS CHAR));
  RETURN CONCAT(IF(RIGHT(t, 1) = '.', CONCAT(t, '0'), t), 'e', IF(e < 0, '-', '+'), LPAD(ABS(e), GREATEST(2, LENGTH(ABS(e))), '0'));
END;

-- round(x, digits) as SQLite has it: halves away from zero, as the double's exact value decides. The product's error is
-- known exactly (Dekker), so that a half is told from what is only near one.
CREATE OR REPLACE FUNCTION contend_sql.whole_part(a DOUBLE, digits INT) RETURNS DOUBLE DETERMINISTIC NO SQL
BEGIN
  DECLARE s, p, c, ah, al, sh, sl, f DOUBLE;
  SET s = POW(1e1, digits);
  IF a >= 9007199254740992e0 / s THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a real of more than 15 digits is rounded';
  END IF;
  SET p = a * s;
  SET c = 134217729e0 * a;
  SET ah = c - (c - a);
  SET al = a - ah;
  SET c = 134217729e0 * s;
  SET sh = c - (c - s);
  SET sl = s - sh;
  SET f = FLOOR(p);
  IF p - f > 0.5e0 OR (p - f = 0.5e0 AND ((ah * sh - p) + ah * sl + al * sh) + al * sl >= 0e0) THEN
    SET f = f + 1e0;
  END IF;
  RETURN f;
END;

CREATE OR REPLACE FUNCTION contend_sql.rounded(x DOUBLE, digits INT) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN ABS(x) >= 18014398509481984e0 THEN x
    ELSE SIGN(x) * contend_sql.whole_part(ABS(x), digits) / POW(1e1, digits) END;

-- printf('%.nf', x)
CREATE OR REPLACE FUNCTION contend_sql.fixed(x DOUBLE, digits INT) RETURNS VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
  DETERMINISTIC NO SQL
BEGIN
  DECLARE t VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  SET t = CAST(CAST(contend_sql.whole_part(ABS(COALESCE(x, 0e0)), digits) AS DECIMAL(20)) AS CHAR);
  SET t = LPAD(t, GREATEST(LENGTH(t), digits + 1), '0');
  RETURN CONCAT(IF(x < 0, '-', ''), LEFT(t, LENGTH(t) - digits), IF(digits > 0, '.', ''), RIGHT(t, digits));
END;

-- The integer that a text begins with, as arithmetic reads it; an error where it is no integer, as the type would
-- depend on the row.
CREATE OR REPLACE FUNCTION contend_sql.text_number(x LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x REGEXP '^[ \t\n\r\f\v]*[+-]?([0-9]+[.]|[.][0-9]|[0-9]+[eE][+-]?[0-9]|0*[1-9][0-9]{18})' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: arithmetic on a text that begins with a real';
  END IF;
  RETURN contend_sql.text_integer(x);
END;

-- The number that a text is under numeric affinity; NULL where it is none.
CREATE OR REPLACE FUNCTION contend_sql.number(x LONGTEXT CHARACTER SET utf8mb4) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x REGEXP '^[ \t\n\r\f\v]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[ \t\n\r\f\v]*(?!.|\n)$'
    THEN contend_sql.text_real(x) END;

-- CAST(blob AS TEXT); an error where the bytes are no UTF-8.
CREATE OR REPLACE FUNCTION contend_sql.blob_text(x LONGBLOB) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
  DETERMINISTIC NO SQL
BEGIN
  DECLARE t LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  IF x IS NULL THEN RETURN NULL; END IF;
  SET t = CONVERT(x USING utf8mb4);
  IF t IS NULL OR CAST(t AS BINARY) <> x THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: bytes that are no UTF-8 as a text';
  END IF;
  RETURN t;
END;
