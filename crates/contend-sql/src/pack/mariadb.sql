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

SET SESSION sql_mode = @contend_sql_mode;
