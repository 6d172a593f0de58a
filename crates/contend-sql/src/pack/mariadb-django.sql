-- What Django's backend for SQLite reads as a moment, in the form in which it writes one. Python is needed for another zone
-- than the connection's (`own`), and for other forms: these are errors. A date alone has no zone.
CREATE OR REPLACE FUNCTION contend_sql.django_moment(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS DATETIME(6) DETERMINISTIC NO SQL
BEGIN
  DECLARE m DATETIME(6);
  DECLARE unlike CONDITION FOR SQLSTATE '45000';
  IF x IS NULL THEN RETURN NULL; END IF;
  IF zone IS NOT NULL AND NOT zone <=> own THEN
    SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a moment in another time zone than the connection''s: only Python converts it';
  END IF;
  IF x REGEXP '^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])( ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?)?(?!.|\n)$'
    AND NOT (own IS NOT NULL AND CHAR_LENGTH(x) = 10) AND SUBSTRING(x, 9, 2) <= DAYOFMONTH(LAST_DAY(CONCAT(LEFT(x, 8), '01'))) THEN
    SET m = CAST(x AS DATETIME(6));
  END IF;
  IF m IS NULL THEN SIGNAL unlike SET MESSAGE_TEXT = 'contend_sql: a moment in a form that only Python reads'; END IF;
  RETURN m;
END;

-- The same of a time of day, as one of 1970-01-01.
CREATE OR REPLACE FUNCTION contend_sql.django_time(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS DATETIME(6) DETERMINISTIC NO SQL
BEGIN
  IF x IS NULL THEN RETURN NULL; END IF;
  IF x NOT REGEXP '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?(?!.|\n)$' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a time in a form that only Python reads';
  END IF;
  RETURN CAST(CONCAT('1970-01-01 ', x) AS DATETIME(6));
END;

CREATE OR REPLACE FUNCTION contend_sql.django_part(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, m DATETIME(6), has_date BOOLEAN, has_time BOOLEAN) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF m IS NULL THEN RETURN NULL; END IF;
  IF has_date THEN
    CASE part
      WHEN 'week_day' THEN RETURN DAYOFWEEK(m);
      WHEN 'iso_week_day' THEN RETURN WEEKDAY(m) + 1;
      WHEN 'iso_year' THEN RETURN YEARWEEK(m, 3) DIV 100;
      WHEN 'week' THEN RETURN WEEK(m, 3);
      WHEN 'year' THEN RETURN YEAR(m);
      WHEN 'quarter' THEN RETURN QUARTER(m);
      WHEN 'month' THEN RETURN MONTH(m);
      WHEN 'day' THEN RETURN DAYOFMONTH(m);
      ELSE BEGIN END;
    END CASE;
  END IF;
  IF has_time THEN
    CASE part
      WHEN 'hour' THEN RETURN HOUR(m);
      WHEN 'minute' THEN RETURN MINUTE(m);
      WHEN 'second' THEN RETURN SECOND(m);
      WHEN 'microsecond' THEN RETURN MICROSECOND(m);
      ELSE BEGIN END;
    END CASE;
  END IF;
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: no part of a moment';
END;

-- The date or the time to which a moment is cut; an error where it has no such part.
CREATE OR REPLACE FUNCTION contend_sql.django_cut(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, m DATETIME(6), has_date BOOLEAN, has_time BOOLEAN) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  IF m IS NULL THEN RETURN NULL; END IF;
  IF has_date THEN
    CASE part
      WHEN 'year' THEN RETURN DATE_FORMAT(m, '%Y-01-01');
      WHEN 'quarter' THEN RETURN CONCAT(DATE_FORMAT(m, '%Y-'), LPAD(QUARTER(m) * 3 - 2, 2, '0'), '-01');
      WHEN 'month' THEN RETURN DATE_FORMAT(m, '%Y-%m-01');
      WHEN 'week' THEN RETURN DATE_FORMAT(m - INTERVAL WEEKDAY(m) DAY, '%Y-%m-%d');
      WHEN 'day' THEN RETURN DATE_FORMAT(m, '%Y-%m-%d');
      ELSE BEGIN END;
    END CASE;
  END IF;
  IF has_time THEN
    CASE part
      WHEN 'hour' THEN RETURN DATE_FORMAT(m, '%H:00:00');
      WHEN 'minute' THEN RETURN DATE_FORMAT(m, '%H:%i:00');
      WHEN 'second' THEN RETURN DATE_FORMAT(m, '%H:%i:%s');
      ELSE BEGIN END;
    END CASE;
  END IF;
  SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a moment is not cut to this part';
END;

CREATE OR REPLACE FUNCTION contend_sql.django_date_extract(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN contend_sql.django_part(part, contend_sql.django_moment(x, NULL, NULL), TRUE, CHAR_LENGTH(x) > 10);

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_extract(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN contend_sql.django_part(part, contend_sql.django_moment(x, zone, own), TRUE, CHAR_LENGTH(x) > 10);

CREATE OR REPLACE FUNCTION contend_sql.django_date_trunc(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN contend_sql.django_cut(part, contend_sql.django_moment(x, zone, own), TRUE, FALSE);

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_trunc(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE m DATETIME(6) DEFAULT contend_sql.django_moment(x, zone, own);
  IF part IN ('hour', 'minute', 'second') THEN
    RETURN CONCAT(DATE_FORMAT(m, '%Y-%m-%d '), contend_sql.django_cut(part, m, FALSE, CHAR_LENGTH(x) > 10));
  END IF;
  RETURN CONCAT(contend_sql.django_cut(part, m, TRUE, FALSE), ' 00:00:00');
END;

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_cast_date(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN contend_sql.django_cut(IF(CHAR_LENGTH(x) > 10, 'day', 'of a date'), contend_sql.django_moment(x, zone, own), TRUE, FALSE);

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_cast_time(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE m DATETIME(6) DEFAULT contend_sql.django_moment(x, zone, own);
  IF MICROSECOND(m) > 0 THEN RETURN DATE_FORMAT(m, '%H:%i:%s.%f'); END IF;
  RETURN contend_sql.django_cut('second', m, FALSE, CHAR_LENGTH(x) > 10);
END;

CREATE OR REPLACE FUNCTION contend_sql.django_time_extract(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN contend_sql.django_part(part, contend_sql.django_time(x), FALSE, TRUE);

CREATE OR REPLACE FUNCTION contend_sql.django_time_trunc(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, own LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN contend_sql.django_cut(part,
    CASE WHEN CHAR_LENGTH(x) > 15 THEN contend_sql.django_moment(x, zone, own) ELSE contend_sql.django_time(x) END, FALSE, TRUE);

CREATE OR REPLACE FUNCTION contend_sql.django_time_diff(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, y LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN TIMESTAMPDIFF(MICROSECOND, contend_sql.django_time(y), contend_sql.django_time(x));

CREATE OR REPLACE FUNCTION contend_sql.django_timestamp_diff(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, y LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF (CHAR_LENGTH(x) = 10) <> (CHAR_LENGTH(y) = 10) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a moment minus a date';
  END IF;
  RETURN TIMESTAMPDIFF(MICROSECOND, contend_sql.django_moment(y, NULL, NULL), contend_sql.django_moment(x, NULL, NULL));
END;

-- A moment plus or minus microseconds; a date alone moves by their whole days, rounded down before the sign counts.
CREATE OR REPLACE FUNCTION contend_sql.django_moved(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, later BIGINT, sign INT) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
BEGIN
  DECLARE m DATETIME(6) DEFAULT contend_sql.django_moment(x, NULL, NULL);
  IF m IS NULL OR later IS NULL THEN RETURN NULL; END IF;
  IF CHAR_LENGTH(x) = 10 THEN
    SET m = m + INTERVAL sign * IF(later < 0, -((86399999999 - later) DIV 86400000000), later DIV 86400000000) DAY;
  ELSE
    SET m = m + INTERVAL sign * later MICROSECOND;
  END IF;
  IF m IS NULL OR YEAR(m) < 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a moment that Python has not';
  END IF;
  RETURN DATE_FORMAT(m, IF(CHAR_LENGTH(x) = 10, '%Y-%m-%d', IF(MICROSECOND(m) = 0, '%Y-%m-%d %H:%i:%s', '%Y-%m-%d %H:%i:%s.%f')));
END;

CREATE OR REPLACE FUNCTION contend_sql.django_moved_by(later BIGINT, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN contend_sql.django_moved(x, later, 1);

-- Other functions that it defines in Python. A length below zero cuts at the end; MariaDB returns NULL for a text that is
-- too long.
CREATE OR REPLACE FUNCTION contend_sql.django_room(places BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF places > 1000000 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: a text of this length'; END IF;
  RETURN places;
END;

CREATE OR REPLACE FUNCTION contend_sql.django_lpad(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, places BIGINT, fill LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL OR places IS NULL OR fill IS NULL THEN NULL
    WHEN places < 0 THEN LEFT(x, GREATEST(CHAR_LENGTH(x) + places, 0))
    WHEN fill = '' OR places <= CHAR_LENGTH(x) THEN LEFT(x, places) ELSE LPAD(x, contend_sql.django_room(places), fill) END;

CREATE OR REPLACE FUNCTION contend_sql.django_rpad(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, places BIGINT, fill LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL OR places IS NULL OR fill IS NULL THEN NULL
    WHEN places < 0 THEN LEFT(x, GREATEST(CHAR_LENGTH(x) + places, 0))
    WHEN fill = '' OR places <= CHAR_LENGTH(x) THEN LEFT(x, places) ELSE RPAD(x, contend_sql.django_room(places), fill) END;

CREATE OR REPLACE FUNCTION contend_sql.django_repeat(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, times BIGINT) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN CASE WHEN x IS NULL OR times IS NULL THEN NULL WHEN x = '' OR times <= 0 THEN ''
    WHEN contend_sql.django_room(contend_sql.django_room(times) * CHAR_LENGTH(x)) > 0 THEN REPEAT(x, times) END;

CREATE OR REPLACE FUNCTION contend_sql.django_reverse(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN REVERSE(x);

CREATE OR REPLACE FUNCTION contend_sql.django_md5(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN MD5(x);

CREATE OR REPLACE FUNCTION contend_sql.django_sha1(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN SHA1(x);

CREATE OR REPLACE FUNCTION contend_sql.django_sha224(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN SHA2(x, 224);

CREATE OR REPLACE FUNCTION contend_sql.django_sha256(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN SHA2(x, 256);

CREATE OR REPLACE FUNCTION contend_sql.django_sha384(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN SHA2(x, 384);

CREATE OR REPLACE FUNCTION contend_sql.django_sha512(x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin DETERMINISTIC NO SQL
  RETURN SHA2(x, 512);

CREATE OR REPLACE FUNCTION contend_sql.django_bitxor(x BIGINT, y BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CAST(x ^ y AS SIGNED);

CREATE OR REPLACE FUNCTION contend_sql.django_cot(x DOUBLE) RETURNS DOUBLE DETERMINISTIC NO SQL
  RETURN COT(x);

SET SESSION sql_mode = @contend_sql_mode;
