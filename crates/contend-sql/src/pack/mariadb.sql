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
