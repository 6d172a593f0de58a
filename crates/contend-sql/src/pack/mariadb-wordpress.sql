-- MySQL's functions of a date, as the SQLite plugin of WordPress defines them: by PHP's strtotime() in UTC. Year, month and day are
-- read from the text itself.
CREATE OR REPLACE FUNCTION contend_sql.wordpress_part(part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, x LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin) RETURNS BIGINT DETERMINISTIC NO SQL
BEGIN
  IF x IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'contend_sql: NULL as a date: PHP reads it as one';
  END IF;
  IF part IN ('year', 'month', 'day') AND x REGEXP '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN
    RETURN CAST(CASE part WHEN 'year' THEN LEFT(x, 4) WHEN 'month' THEN SUBSTRING(x, 6, 2) ELSE SUBSTRING(x, 9, 2) END AS SIGNED);
  END IF;
  RETURN CASE part
    WHEN 'dayofmonth' THEN contend_sql.django_part('day', contend_sql.django_moment(x, NULL, NULL), TRUE, TRUE)
    WHEN 'weekday' THEN contend_sql.django_part('iso_week_day', contend_sql.django_moment(x, NULL, NULL), TRUE, TRUE) - 1
    WHEN 'dayofweek' THEN contend_sql.django_part('week_day', contend_sql.django_moment(x, NULL, NULL), TRUE, TRUE)
    ELSE contend_sql.django_part(part, contend_sql.django_moment(x, NULL, NULL), TRUE, TRUE) END;
END;
