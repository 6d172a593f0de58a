-- MySQL's functions of a date, as the SQLite plugin of WordPress defines them: by PHP's strtotime() in UTC. Year, month and day are
-- read from the text itself.
CREATE OR REPLACE FUNCTION contend_sql.wordpress_part(part text, x text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF x IS NULL THEN
    RAISE EXCEPTION 'NULL as a date: PHP reads it as one';
  ELSIF part IN ('year', 'month', 'day') AND x ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN
    RETURN split_part(left(x, 10), '-', CASE part WHEN 'year' THEN 1 WHEN 'month' THEN 2 ELSE 3 END)::bigint;
  END IF;
  RETURN CASE part
    WHEN 'dayofmonth' THEN contend_sql.django_part('day', contend_sql.django_moment(x, NULL, NULL), true)
    WHEN 'weekday' THEN contend_sql.django_part('iso_week_day', contend_sql.django_moment(x, NULL, NULL), true) - 1
    WHEN 'dayofweek' THEN contend_sql.django_part('week_day', contend_sql.django_moment(x, NULL, NULL), true)
    ELSE contend_sql.django_part(part, contend_sql.django_moment(x, NULL, NULL), true) END;
END $$;
