-- A function keeps the mode it was made in.
SET @contend_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@SESSION.sql_mode, ''), 'NO_BACKSLASH_ESCAPES', 'STRICT_ALL_TABLES');
CREATE DATABASE IF NOT EXISTS contend_sql CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- White space is `[\x09-\x0D ]` to SQLite: `\v` would be every vertical white space, of other scripts too.

-- CAST(text AS INTEGER): the integer it begins with, held to 64 bits.
CREATE OR REPLACE FUNCTION contend_sql.text_integer(x LONGTEXT CHARACTER SET utf8mb4) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN x REGEXP '^[\x09-\x0D ]*[+-]?[0-9]'
    THEN CAST(LEAST(GREATEST(CAST(REGEXP_SUBSTR(REGEXP_SUBSTR(x, '^[\x09-\x0D ]*[+-]?0*[0-9]{1,40}'), '[+-]?[0-9]+') AS DECIMAL(60)),
      -9223372036854775808), 9223372036854775807) AS SIGNED)
    ELSE 0 END;

-- CAST(text AS REAL): the number it begins with.
CREATE OR REPLACE FUNCTION contend_sql.text_real(x LONGTEXT CHARACTER SET utf8mb4) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN x REGEXP '^[\x09-\x0D ]*[+-]?([0-9]|[.][0-9])'
    THEN CAST(REGEXP_SUBSTR(REGEXP_SUBSTR(x, '^[\x09-\x0D ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?'), '[^\x09-\x0D ]+') AS DOUBLE)
    ELSE 0 END;

-- The same text, of a type with room for any other: a recursive query's columns have the types of its first row.
CREATE OR REPLACE FUNCTION contend_sql.long_text(x LONGTEXT CHARACTER SET utf8mb4)
  RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN x;

-- The text of a real, never without a point. A real of more than 15 digits is an error: SQLite writes 17 digits of its
-- exact value, which MariaDB does not have. The digits that it has decide it if the 16th digit of the exact value is
-- that of the number they are, which half the distance to the next real shows, or if the number is the exact value.
CREATE OR REPLACE FUNCTION contend_sql.real_text(x DOUBLE) RETURNS VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
  DETERMINISTIC NO SQL
BEGIN
  DECLARE e, n, p INT;
  DECLARE a DOUBLE;
  DECLARE is_exact BOOLEAN;
  DECLARE d DECIMAL(65, 30);
  DECLARE t VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x = 0 THEN RETURN '0.0'; END IF;
  SET a = ABS(x);
  SET e = FLOOR(LOG10(a));
  SET p = FLOOR(LOG2(a));
  SET p = p + (POW(2, p + 1) <= a) - (POW(2, p) > a);
  SET n = LENGTH(TRIM(BOTH '0' FROM REPLACE(SUBSTRING_INDEX(CAST(a AS CHAR), 'e', 1), '.', '')));
  SET is_exact = a < 1e15 AND a = FLOOR(a) OR a < 1e5 AND a * 1024e0 = FLOOR(a * 1024e0);
  IF a >= 1e15 AND a < 1e17 OR NOT is_exact AND (n > 13 OR POW(2e0, p - 53) >= POW(1e1, e - 15)) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: the text of a real of more than 15 digits';
  END IF;
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
-- known exactly (Dekker), so that a half is distinguished from a value near one.
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

-- A number that all versions of SQLite write alike: to older ones a number that is very near to a half is a half, and
-- digits after the 15th are not exact.
CREATE OR REPLACE FUNCTION contend_sql.sure(x DOUBLE, digits INT) RETURNS DOUBLE DETERMINISTIC NO SQL
BEGIN
  DECLARE a, s, p, c, ah, al, sh, sl, gap DOUBLE;
  IF x IS NULL THEN RETURN NULL; END IF;
  SET a = ABS(x);
  IF a < POW(1e1, 15 - digits) THEN
    SET s = POW(1e1, digits);
    SET p = a * s;
    SET c = 134217729e0 * a;
    SET ah = c - (c - a);
    SET al = a - ah;
    SET c = 134217729e0 * s;
    SET sh = c - (c - s);
    SET sl = s - sh;
    SET gap = ABS(p - FLOOR(p) - 0.5e0 + (((ah * sh - p) + ah * sl + al * sh) + al * sl));
    IF gap = 0e0 OR gap > p * 1e-15 THEN RETURN x; END IF;
  END IF;
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: versions of SQLite write it differently';
END;

-- A place in a text, which older versions of SQLite cut to 32 bits.
CREATE OR REPLACE FUNCTION contend_sql.small(x BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF x NOT BETWEEN -2147483648 AND 2147483647 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: older versions of SQLite cut this to 32 bits';
  END IF;
  RETURN x;
END;

-- A moment, of whose seconds older versions of SQLite round more than three digits otherwise.
CREATE OR REPLACE FUNCTION contend_sql.old_moment(x LONGTEXT CHARACTER SET utf8mb4)
  RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  IF x REGEXP ':.*[.][0-9]{3}0*[1-9]' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: older versions of SQLite round this otherwise';
  END IF;
  RETURN x;
END;

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
  IF x REGEXP '^[\x09-\x0D ]*[+-]?([0-9]+[.]|[.][0-9]|[0-9]+[eE][+-]?[0-9]|0*[1-9][0-9]{18})' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: arithmetic on a text that begins with a real';
  END IF;
  RETURN contend_sql.text_integer(x);
END;

-- The number that a text is under numeric affinity; NULL where it is none.
CREATE OR REPLACE FUNCTION contend_sql.number(x LONGTEXT CHARACTER SET utf8mb4) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x REGEXP '^[\x09-\x0D ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[\x09-\x0D ]*(?!.|\n)$'
    THEN contend_sql.text_real(x) END;

-- The moment a text means to SQLite, NULL if none: a date, a time (of 2000-01-01), both, with an offset from UTC, or a
-- Julian day. A day beyond the month's end is one of the next month if `rolls`. What a DATETIME cannot be as it is to
-- SQLite is an error: years before 1, the hour 24, 'now', such a day otherwise, an offset without a date.
CREATE OR REPLACE FUNCTION contend_sql.moment(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, rolls BOOLEAN) RETURNS DATETIME(3) DETERMINISTIC NO SQL
BEGIN
  DECLARE t, zone, fraction LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  DECLARE days, seconds DOUBLE DEFAULT 0e0;
  DECLARE ms BIGINT;
  DECLARE ahead INT DEFAULT 0;
  DECLARE of_month INT DEFAULT 1;
  DECLARE first_day DATETIME(3) DEFAULT TIMESTAMP'2000-01-01 00:00:00.000';
  DECLARE dated BOOLEAN DEFAULT x REGEXP '^[0-9]{4}-';
  DECLARE unlike CONDITION FOR SQLSTATE '45000';
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x REGEXP '^[\x09-\x0D ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[\x09-\x0D ]*$' THEN
    SET days = contend_sql.text_real(x);
    IF days < 0 OR days >= 5373484.5e0 THEN RETURN NULL; END IF;
    IF days < 1721425.5e0 THEN SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a moment that only SQLite reads'; END IF;
    SET ms = FLOOR(days * 86400000e0 + 0.5e0) - 210866760000000;
    RETURN TIMESTAMP'1970-01-01 00:00:00.000' + INTERVAL FLOOR(ms / 86400000) DAY
      + INTERVAL (ms - 86400000 * FLOOR(ms / 86400000)) * 1000 MICROSECOND;
  END IF;
  IF x REGEXP '^([Nn][Oo][Ww]|[Ss][Uu][Bb][Ss][Ee][Cc]([Oo][Nn][Dd])?)$' THEN
    SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a moment that only SQLite reads';
  END IF;
  IF x NOT REGEXP '^(?=-?[0-9])(-?[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[\x09-\x0D T]*)?(([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?[\x09-\x0D ]*([Zz][\x09-\x0D ]*|[+-](0[0-9]|1[0-4]):[0-5][0-9][\x09-\x0D ]*)?)?$'
    THEN RETURN NULL; END IF;
  SET t = IF(dated, REGEXP_REPLACE(SUBSTRING(x, 11), '^[\x09-\x0D T]+', ''), x);
  SET zone = REGEXP_SUBSTR(t, '[+-][0-9]{2}:[0-9]{2}');
  IF zone <> '' THEN
    SET ahead = IF(LEFT(zone, 1) = '-', -1, 1) * (SUBSTRING(zone, 2, 2) * 60 + SUBSTRING(zone, 5, 2));
  END IF;
  IF dated THEN
    SET of_month = SUBSTRING(x, 9, 2);
    IF LEFT(x, 4) <> '0000' THEN SET first_day = CAST(CONCAT(LEFT(x, 8), '01') AS DATETIME(3)); END IF;
  END IF;
  IF LEFT(x, 1) = '-' OR dated AND LEFT(x, 4) = '0000' OR LEFT(t, 2) = '24' OR NOT dated AND ahead <> 0
    OR NOT rolls AND of_month > DAYOFMONTH(LAST_DAY(first_day)) THEN
    SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a moment that only SQLite reads';
  END IF;
  IF t <> '' THEN
    SET fraction = LEFT(SUBSTRING(REGEXP_SUBSTR(t, '[.][0-9]+'), 2), 15);
    SET seconds = IF(SUBSTRING(t, 6, 1) = ':', SUBSTRING(t, 7, 2), 0e0)
      + IF(fraction = '', 0e0, LEAST(CAST(fraction AS DOUBLE) / POW(10e0, CHAR_LENGTH(fraction)), 0.999e0));
    SET ahead = ahead - LEFT(t, 2) * 60 - SUBSTRING(t, 4, 2);
  END IF;
  RETURN first_day + INTERVAL (of_month - 1) DAY - INTERVAL ahead MINUTE
    + INTERVAL FLOOR(seconds * 1000e0 + 0.5e0) * 1000 MICROSECOND;
END;

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

-- Mathematical functions of doubles: NULL where C's have no number. What no double holds is an error.
CREATE OR REPLACE FUNCTION contend_sql.log(base DOUBLE, x DOUBLE) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN base > 1e0 AND x > 0e0 THEN LN(x) / LN(base) END;

CREATE OR REPLACE FUNCTION contend_sql.power(x DOUBLE, y DOUBLE) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL OR y IS NULL OR x < 0e0 AND y <> FLOOR(y) THEN NULL ELSE POW(x, y) END;

-- Values whose type depends on the row: texts that begin with `i` (integer), `r` (real), `t` (text) or `x` (blob, in
-- hexadecimal). NULL is NULL.

-- The number that a text of a number is: an integer of 64 bits, else a real.
CREATE OR REPLACE FUNCTION contend_sql.number_tagged(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE d DOUBLE;
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x REGEXP '^[+-]?[0-9]{1,60}$' AND CAST(x AS DECIMAL(65)) BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
    RETURN CONCAT('i', CAST(CAST(x AS DECIMAL(20)) AS CHAR));
  END IF;
  SET d = CAST(x AS DOUBLE);
  IF ABS(d) >= 1.7976931348623157e308 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a number beyond all doubles';
  END IF;
  RETURN CONCAT('r', CAST(d AS CHAR));
END;

-- The text of a value, as CAST AS TEXT gives it.
CREATE OR REPLACE FUNCTION contend_sql.tagged_text(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE LEFT(v, 1) WHEN 'r' THEN contend_sql.real_text(CAST(SUBSTRING(v, 2) AS DOUBLE))
    WHEN 'x' THEN contend_sql.blob_text(UNHEX(SUBSTRING(v, 2))) ELSE SUBSTRING(v, 2) END;

-- The same, where a blob would be no text.
CREATE OR REPLACE FUNCTION contend_sql.tagged_characters(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  IF LEFT(v, 1) = 'x' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a blob where other rows have texts';
  END IF;
  RETURN contend_sql.tagged_text(v);
END;

-- A value under numeric affinity, and under text affinity.
CREATE OR REPLACE FUNCTION contend_sql.tagged_number(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN v REGEXP '^t[\x09-\x0D ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[\x09-\x0D ]*(?!.|\n)$'
    THEN contend_sql.number_tagged(REGEXP_SUBSTR(SUBSTRING(v, 2), '[^\x09-\x0D ]+')) ELSE v END;

CREATE OR REPLACE FUNCTION contend_sql.tagged_as_text(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN LEFT(v, 1) IN ('i', 'r') THEN CONCAT('t', contend_sql.tagged_text(v)) ELSE v END;

-- CAST(v AS INTEGER), CAST(v AS REAL), typeof(v), length(v).
CREATE OR REPLACE FUNCTION contend_sql.tagged_integer(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN v IS NULL THEN NULL WHEN LEFT(v, 1) = 'i' THEN CAST(SUBSTRING(v, 2) AS SIGNED)
    WHEN LEFT(v, 1) = 'r' THEN CASE WHEN CAST(SUBSTRING(v, 2) AS DOUBLE) >= 9223372036854775807e0 THEN 9223372036854775807
      WHEN CAST(SUBSTRING(v, 2) AS DOUBLE) <= -9223372036854775808e0 THEN -9223372036854775807 - 1
      ELSE CAST(TRUNCATE(CAST(SUBSTRING(v, 2) AS DOUBLE), 0) AS SIGNED) END
    ELSE contend_sql.text_integer(contend_sql.tagged_text(v)) END;

CREATE OR REPLACE FUNCTION contend_sql.tagged_real(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN v IS NULL THEN NULL WHEN LEFT(v, 1) IN ('i', 'r') THEN CAST(SUBSTRING(v, 2) AS DOUBLE)
    ELSE contend_sql.text_real(contend_sql.tagged_text(v)) END;

CREATE OR REPLACE FUNCTION contend_sql.tagged_type(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE LEFT(v, 1) WHEN 'i' THEN 'integer' WHEN 'r' THEN 'real' WHEN 't' THEN 'text' WHEN 'x' THEN 'blob' END;

CREATE OR REPLACE FUNCTION contend_sql.tagged_length(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN LEFT(v, 1) = 'x' THEN (CHAR_LENGTH(v) - 1) DIV 2 ELSE CHAR_LENGTH(contend_sql.tagged_text(v)) END;

-- A text by which values are compared byte by byte: numbers before texts before blobs, 1 equal to 1.0. A number is its
-- exponent, then its digits; those of a negative one are subtracted from nines.
CREATE OR REPLACE FUNCTION contend_sql.tagged_key(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE t, d VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  DECLARE e INT DEFAULT 0;
  IF LEFT(v, 1) = 't' THEN RETURN CONCAT('2', SUBSTRING(v, 2)); END IF;
  IF v IS NULL OR LEFT(v, 1) = 'x' THEN RETURN CONCAT('3', SUBSTRING(v, 2)); END IF;
  SET t = TRIM(LEADING '-' FROM SUBSTRING(v, 2));
  IF LOCATE('e', t) > 0 THEN
    SET e = CAST(SUBSTRING_INDEX(t, 'e', -1) AS SIGNED);
    SET t = SUBSTRING_INDEX(t, 'e', 1);
  END IF;
  SET e = e + CHAR_LENGTH(SUBSTRING_INDEX(t, '.', 1));
  SET t = REPLACE(t, '.', '');
  SET d = TRIM(LEADING '0' FROM t);
  SET e = e - (CHAR_LENGTH(t) - CHAR_LENGTH(d));
  SET d = TRIM(TRAILING '0' FROM d);
  IF d = '' THEN RETURN '11'; END IF;
  IF SUBSTRING(v, 2, 1) <> '-' THEN RETURN CONCAT('12', LPAD(500 + e, 4, '0'), d); END IF;
  RETURN CONCAT('10', LPAD(500 - e, 4, '0'),
    LPAD(CAST(REPEAT('9', CHAR_LENGTH(d)) AS DECIMAL(65)) - CAST(d AS DECIMAL(65)), CHAR_LENGTH(d), '0'), '~');
END;

-- max(a, b) and min(a, b).
CREATE OR REPLACE FUNCTION contend_sql.tagged_max(a LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, b LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN contend_sql.tagged_key(b) > contend_sql.tagged_key(a) THEN b ELSE a END;

CREATE OR REPLACE FUNCTION contend_sql.tagged_min(a LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, b LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN contend_sql.tagged_key(b) <= contend_sql.tagged_key(a) THEN b ELSE a END;

-- The number that a value is in arithmetic: a text's is the one it begins with.
CREATE OR REPLACE FUNCTION contend_sql.tagged_operand(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE t LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  IF v IS NULL OR LEFT(v, 1) IN ('i', 'r') THEN RETURN v; END IF;
  SET t = REGEXP_SUBSTR(contend_sql.tagged_text(v), '^[\x09-\x0D ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?');
  RETURN contend_sql.number_tagged(IF(t = '', '0', REGEXP_SUBSTR(t, '[^\x09-\x0D ]+')));
END;

-- A value of a DECIMAL column.
CREATE OR REPLACE FUNCTION contend_sql.decimal_tagged(x DECIMAL(65,30)) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN contend_sql.number_tagged(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(x AS CHAR))));

-- The double that a value is under numeric affinity; NULL where it is none.
CREATE OR REPLACE FUNCTION contend_sql.tagged_double(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN CASE WHEN LEFT(contend_sql.tagged_number(v), 1) IN ('i', 'r') THEN CAST(SUBSTRING(contend_sql.tagged_number(v), 2) AS DOUBLE) END;

-- floor(v), ceil(v) and trunc(v).
CREATE OR REPLACE FUNCTION contend_sql.tagged_whole(op VARCHAR(5) CHARACTER SET utf8mb4, v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE n LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT contend_sql.tagged_number(v);
  DECLARE d DOUBLE;
  IF LEFT(n, 1) = 'i' THEN RETURN n; END IF;
  IF n IS NULL OR LEFT(n, 1) <> 'r' THEN RETURN NULL; END IF;
  SET d = CAST(SUBSTRING(n, 2) AS DOUBLE);
  SET d = CASE op WHEN 'floor' THEN FLOOR(d) WHEN 'ceil' THEN CEILING(d) ELSE TRUNCATE(d, 0) END;
  RETURN CONCAT('r', CAST(d AS CHAR));
END;

-- CAST(v AS NUMERIC): a number stays as it is, of a text it is an integer if it is small and has no fraction.
CREATE OR REPLACE FUNCTION contend_sql.tagged_numeric(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE n LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT contend_sql.tagged_operand(v);
  DECLARE d DOUBLE;
  IF v IS NULL OR LEFT(v, 1) IN ('i', 'r') OR LEFT(n, 1) = 'i' THEN RETURN n; END IF;
  SET d = CAST(SUBSTRING(n, 2) AS DOUBLE);
  IF d = TRUNCATE(d, 0) AND d >= -2251799813685248e0 AND d < 2251799813685248e0 THEN RETURN CONCAT('i', CAST(CAST(d AS SIGNED) AS CHAR)); END IF;
  RETURN n;
END;

-- A number that is stored in a column of NUMERIC affinity; an error where it is none.
CREATE OR REPLACE FUNCTION contend_sql.tagged_decimal(v LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS DECIMAL(65,30) DETERMINISTIC NO SQL
BEGIN
  IF LEFT(v, 1) NOT IN ('i', 'r') THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: no number for a numeric column';
  END IF;
  RETURN CASE LEFT(v, 1) WHEN 'i' THEN CAST(SUBSTRING(v, 2) AS DECIMAL(65, 30)) ELSE CAST(CAST(SUBSTRING(v, 2) AS DOUBLE) AS DECIMAL(65, 30)) END;
END;

-- a + b and the like: a result of integers beyond 64 bits is a real.
CREATE OR REPLACE FUNCTION contend_sql.tagged_arithmetic(op CHAR(1), a LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, b LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT contend_sql.tagged_operand(a);
  DECLARE y LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT contend_sql.tagged_operand(b);
  DECLARE p DOUBLE DEFAULT contend_sql.tagged_real(x);
  DECLARE q DOUBLE DEFAULT contend_sql.tagged_real(y);
  DECLARE whole BOOLEAN DEFAULT LEFT(x, 1) = 'i' AND LEFT(y, 1) = 'i';
  DECLARE m, n DECIMAL(60);
  IF x IS NULL OR y IS NULL THEN RETURN NULL; END IF;
  -- % reads the digits at the beginning of a text that is a real.
  SET m = contend_sql.tagged_integer(a);
  SET n = contend_sql.tagged_integer(b);
  IF op = '%' THEN
    IF n = 0 THEN RETURN NULL; END IF;
    RETURN IF(whole, CONCAT('i', CAST(m MOD n AS CHAR)), CONCAT('r', CAST(CAST(m MOD n AS DOUBLE) AS CHAR)));
  END IF;
  IF op = '/' AND q = 0 THEN RETURN NULL; END IF;
  IF whole THEN
    SET n = CASE op WHEN '+' THEN m + n WHEN '-' THEN m - n WHEN '*' THEN m * n ELSE (m - m MOD n) / n END;
    IF n BETWEEN -9223372036854775808 AND 9223372036854775807 THEN RETURN CONCAT('i', CAST(n AS CHAR)); END IF;
  END IF;
  RETURN CONCAT('r', CAST(CASE op WHEN '+' THEN p + q WHEN '-' THEN p - q WHEN '*' THEN p * q ELSE p / q END AS CHAR));
END;

-- JSON. What is not RFC 8259, or more than 31 deep, is an error. A path is a call for each of its steps.
CREATE OR REPLACE FUNCTION contend_sql.json_valid(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BOOLEAN DETERMINISTIC NO SQL
BEGIN
  IF JSON_VALID(x) = 0 AND CHAR_LENGTH(x) - CHAR_LENGTH(REPLACE(REPLACE(x, '[', ''), '{', '')) >= 32 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: JSON that may be deeper than MariaDB reads';
  END IF;
  -- MariaDB accepts any character behind a backslash.
  RETURN JSON_VALID(x) AND (LOCATE(CHAR(92 USING utf8mb4), x) = 0
    OR REPLACE(x, CHAR(92, 92 USING utf8mb4), '') NOT REGEXP CONCAT(CHAR(92, 92 USING utf8mb4), '([^"/bfnrtu]|u(?![0-9A-Fa-f]{4}))'));
END;

CREATE OR REPLACE FUNCTION contend_sql.json_root(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  IF NOT contend_sql.json_valid(x) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: malformed JSON';
  END IF;
  RETURN JSON_COMPACT(x) COLLATE utf8mb4_nopad_bin;
END;

-- Of several members of one name the first.
CREATE OR REPLACE FUNCTION contend_sql.json_member(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, label LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN JSON_TYPE(x) = 'OBJECT' THEN JSON_COMPACT(JSON_EXTRACT(x, CONCAT('$."', label, '"'))) COLLATE utf8mb4_nopad_bin END;

CREATE OR REPLACE FUNCTION contend_sql.json_element(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, place INT) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN JSON_TYPE(x) = 'ARRAY' AND JSON_LENGTH(x) + place >= 0
    THEN JSON_COMPACT(JSON_EXTRACT(x, CONCAT('$[', IF(place < 0, JSON_LENGTH(x) + place, place), ']'))) COLLATE utf8mb4_nopad_bin END;

-- The part that a path finds, which is no literal.
CREATE OR REPLACE FUNCTION contend_sql.json_at(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, path LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE rest, step LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  DECLARE found LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT x;
  DECLARE place INT;
  DECLARE unlike CONDITION FOR SQLSTATE '45000';
  IF x IS NULL OR path IS NULL THEN RETURN NULL; END IF;
  IF LEFT(path, 1) <> '$' THEN SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a JSON path that only SQLite reads'; END IF;
  SET rest = SUBSTRING(path, 2);
  WHILE rest <> '' DO
    SET step = REGEXP_SUBSTR(rest, '^([.]"[^"\\\x01-\x1F\x7F-\x{9F}]*"|[.][^".[\\\x01-\x1F\x7F-\x{9F}]+(?=[.[]|(?!.|\n)$)|\[(#-)?[0-9]{1,9}\])');
    SET place = IF(step LIKE '[%', CAST(REGEXP_SUBSTR(step, '[0-9]+') AS SIGNED), 1);
    IF step = '' OR place = 0 AND LEFT(step, 2) = '[#' THEN
      SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a JSON path that only SQLite reads';
    END IF;
    IF LEFT(step, 1) = '[' THEN
      SET found = contend_sql.json_element(found, IF(LEFT(step, 2) = '[#', -place, place));
    ELSEIF LEFT(step, 2) = '."' THEN
      SET found = contend_sql.json_member(found, SUBSTRING(step, 3, CHAR_LENGTH(step) - 3));
    ELSE
      SET found = contend_sql.json_member(found, SUBSTRING(step, 2));
    END IF;
    SET rest = SUBSTRING(rest, CHAR_LENGTH(step) + 1);
  END WHILE;
  RETURN found;
END;

CREATE OR REPLACE FUNCTION contend_sql.json_text(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN x;

CREATE OR REPLACE FUNCTION contend_sql.json_kind(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN LEFT(x, 1) = '{' THEN 'object' WHEN LEFT(x, 1) = '[' THEN 'array'
    WHEN LEFT(x, 1) = '"' THEN 'text' WHEN x IN ('true', 'false', 'null') THEN x WHEN x REGEXP '[.eE]' THEN 'real' ELSE 'integer' END;

CREATE OR REPLACE FUNCTION contend_sql.json_length(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL THEN NULL WHEN JSON_TYPE(x) = 'ARRAY' THEN JSON_LENGTH(x) ELSE 0 END;

-- The value that JSON is to SQLite.
CREATE OR REPLACE FUNCTION contend_sql.json_tagged(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE contend_sql.json_kind(x) WHEN 'text' THEN CONCAT('t', JSON_UNQUOTE(x) COLLATE utf8mb4_nopad_bin) WHEN 'true' THEN 'i1' WHEN 'false' THEN 'i0'
    WHEN 'null' THEN NULL WHEN 'object' THEN CONCAT('t', x) WHEN 'array' THEN CONCAT('t', x) ELSE contend_sql.number_tagged(x) END;

-- A text as JSON: JSON_QUOTE() writes \u001F, SQLite \u001f.
CREATE OR REPLACE FUNCTION contend_sql.json_string(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE quoted LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT JSON_QUOTE(x) COLLATE utf8mb4_nopad_bin;
  DECLARE codes VARCHAR(18) DEFAULT IF(quoted REGEXP '\\u00[01][A-F]', '0B0E0F1A1B1C1D1E1F', '');
  WHILE codes <> '' DO
    SET quoted = REGEXP_REPLACE(quoted, CONCAT('(?<!\\)((?:\\\\)*)\\u00', LEFT(codes, 2)), CONCAT('\1\\u00', LOWER(LEFT(codes, 2))));
    SET codes = SUBSTRING(codes, 3);
  END WHILE;
  RETURN quoted;
END;

-- The value that JSON is to SQLite, as JSON again.
CREATE OR REPLACE FUNCTION contend_sql.json_quoted(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN COALESCE(CASE contend_sql.json_kind(x) WHEN 'text' THEN contend_sql.json_string(JSON_UNQUOTE(x) COLLATE utf8mb4_nopad_bin)
    WHEN 'object' THEN x WHEN 'array' THEN x ELSE contend_sql.tagged_text(contend_sql.json_tagged(x)) END, 'null');

-- The rows of json_each() as an array of objects.
CREATE OR REPLACE FUNCTION contend_sql.json_items(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE found LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT '[';
  DECLARE label, item, kind LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
  DECLARE place INT DEFAULT 0;
  DECLARE items INT DEFAULT IF(LEFT(x, 1) IN ('{', '['), JSON_LENGTH(x), 1);
  DECLARE labels LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DEFAULT IF(LEFT(x, 1) = '{', JSON_KEYS(x), NULL);
  IF x IS NULL THEN RETURN '[]'; END IF;
  IF labels IS NOT NULL AND JSON_LENGTH(labels) <> items THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a JSON object with two members of one name';
  END IF;
  WHILE place < items DO
    SET label = NULL;
    SET item = x;
    IF labels IS NOT NULL THEN
      SET label = JSON_UNQUOTE(JSON_EXTRACT(labels, CONCAT('$[', place, ']'))) COLLATE utf8mb4_nopad_bin;
      IF label REGEXP '["\\]' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a JSON name with an escape';
      END IF;
      SET item = contend_sql.json_member(x, label);
      SET label = CONCAT('t', label);
    ELSEIF LEFT(x, 1) = '[' THEN
      SET item = contend_sql.json_element(x, place);
      SET label = CONCAT('i', place);
    END IF;
    SET kind = contend_sql.json_kind(item);
    SET found = CONCAT(found, IF(place > 0, ',', ''), (JSON_OBJECT('k', label, 'v', contend_sql.json_tagged(item), 't', kind,
      'a', IF(kind IN ('object', 'array'), NULL, contend_sql.json_tagged(item))) COLLATE utf8mb4_nopad_bin));
    SET place = place + 1;
  END WHILE;
  RETURN CONCAT(found, ']');
END;
