-- What Django's backend for SQLite reads as a moment, in the form in which it writes one. Python is needed for another zone
-- than the connection's (`own`), and for other forms: these are errors. A date alone has no zone.
CREATE OR REPLACE FUNCTION contend_sql.django_moment(x text, zone text, own text) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF x IS NULL THEN
    RETURN NULL;
  ELSIF zone IS NOT NULL AND zone IS DISTINCT FROM own THEN
    RAISE EXCEPTION 'a moment in another time zone than the connection''s: only Python converts it';
  ELSIF x !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}( ([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?)?$' OR own IS NOT NULL AND length(x) = 10 THEN
    RAISE EXCEPTION 'a moment in a form that only Python reads';
  END IF;
  RETURN x::timestamp;
END $$;

-- The same of a time of day, as one of 1970-01-01.
CREATE OR REPLACE FUNCTION contend_sql.django_time(x text) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF x !~ '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?$' THEN
    RAISE EXCEPTION 'a time in a form that only Python reads';
  END IF;
  RETURN ('1970-01-01 ' || x)::timestamp;
END $$;

CREATE OR REPLACE FUNCTION contend_sql.django_part(part text, m timestamp, has_time boolean) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CASE
    WHEN m IS NULL THEN NULL
    WHEN part = 'week_day' THEN extract(dow FROM m) + 1
    WHEN part = 'iso_week_day' THEN extract(isodow FROM m)
    WHEN part = 'iso_year' THEN extract(isoyear FROM m)
    WHEN part IN ('year', 'quarter', 'month', 'week', 'day') THEN date_part(part, m)::numeric
    WHEN part IN ('hour', 'minute') AND has_time THEN date_part(part, m)::numeric
    WHEN part = 'second' AND has_time THEN floor(extract(second FROM m))
    WHEN part = 'microsecond' AND has_time THEN extract(microseconds FROM m) % 1000000
    ELSE ('no part of a moment: ' || part)::numeric END;
END $$;

CREATE OR REPLACE FUNCTION contend_sql.django_cut(part text, m timestamp, known text[], form text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF m IS NULL THEN
    RETURN NULL;
  ELSIF part IS NULL OR part <> ALL (known) THEN
    RAISE EXCEPTION 'a moment is not cut to this part';
  END IF;
  RETURN to_char(date_trunc(part, m), form);
END $$;

CREATE OR REPLACE FUNCTION contend_sql.django_date_extract(part text, x text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_part(part, contend_sql.django_moment(x, NULL, NULL), length(x) > 10)
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_extract(part text, x text, zone text, own text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_part(part, contend_sql.django_moment(x, zone, own), length(x) > 10)
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_date_trunc(part text, x text, zone text, own text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_cut(part, contend_sql.django_moment(x, zone, own), '{year,quarter,month,week,day}', 'YYYY-MM-DD')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_trunc(part text, x text, zone text, own text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_cut(part, contend_sql.django_moment(x, zone, own),
    CASE WHEN length(x) > 10 THEN '{year,quarter,month,week,day,hour,minute,second}' ELSE '{year,quarter,month,week,day}' END::text[],
    'YYYY-MM-DD HH24:MI:SS')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_cast_date(x text, zone text, own text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_cut(CASE WHEN length(x) > 10 THEN 'day' END, contend_sql.django_moment(x, zone, own), '{day}', 'YYYY-MM-DD')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_datetime_cast_time(x text, zone text, own text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_cut(CASE WHEN length(x) > 10 THEN 'microseconds' END, m, '{microseconds}',
    CASE WHEN extract(microseconds FROM m) % 1000000 = 0 THEN 'HH24:MI:SS' ELSE 'HH24:MI:SS.US' END)
  FROM (SELECT contend_sql.django_moment(x, zone, own) AS m) AS read
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_time_extract(part text, x text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_part(CASE WHEN part IN ('hour', 'minute', 'second', 'microsecond') THEN part ELSE 'of a time: ' || part END,
    contend_sql.django_time(x), true)
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_time_trunc(part text, x text, zone text, own text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT contend_sql.django_cut(part,
    CASE WHEN length(x) > 15 THEN contend_sql.django_moment(x, zone, own) ELSE contend_sql.django_time(x) END,
    '{hour,minute,second}', 'HH24:MI:SS')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_time_diff(x text, y text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT (extract(epoch FROM contend_sql.django_time(x) - contend_sql.django_time(y)) * 1000000)::bigint
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_timestamp_diff(x text, y text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF (length(x) = 10) <> (length(y) = 10) THEN
    RAISE EXCEPTION 'a moment minus a date';
  END IF;
  RETURN extract(epoch FROM contend_sql.django_moment(x, NULL, NULL) - contend_sql.django_moment(y, NULL, NULL)) * 1000000;
END $$;

-- A moment plus or minus microseconds; a date alone moves by their whole days, rounded down before the sign counts.
CREATE OR REPLACE FUNCTION contend_sql.django_moved(x text, later bigint, sign int) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  days bigint := floor(later::numeric / 86400000000);
  m timestamp := contend_sql.django_moment(x, NULL, NULL) + make_interval(days => sign * days::int);
BEGIN
  IF length(x) > 10 THEN
    m := m + make_interval(secs => sign * (later - days * 86400000000) / 1000000::float8);
  END IF;
  IF m < '0001-01-01' OR m >= '10000-01-01' THEN
    RAISE EXCEPTION 'a moment that Python has not';
  END IF;
  RETURN to_char(m, CASE WHEN length(x) = 10 THEN 'YYYY-MM-DD' WHEN extract(microseconds FROM m) % 1000000 = 0 THEN 'YYYY-MM-DD HH24:MI:SS'
    ELSE 'YYYY-MM-DD HH24:MI:SS.US' END);
END $$;

CREATE OR REPLACE FUNCTION contend_sql.django_moved_by(later bigint, x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT contend_sql.django_moved(x, later, 1)
$$;

-- Functions that Django's backend for SQLite defines in Python. A length below zero cuts at the end.
CREATE OR REPLACE FUNCTION contend_sql.django_lpad(x text, places bigint, fill text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN places < 0 THEN left(x, places::int) ELSE lpad(x, places::int, fill) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_rpad(x text, places bigint, fill text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN places < 0 THEN left(x, places::int) ELSE rpad(x, places::int, fill) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_repeat(x text, times bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT repeat(x, times::int)
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_reverse(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT reverse(x)
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_md5(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT md5(convert_to(x, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_sha224(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT encode(sha224(convert_to(x, 'UTF8')), 'hex')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_sha256(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT encode(sha256(convert_to(x, 'UTF8')), 'hex')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_sha384(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT encode(sha384(convert_to(x, 'UTF8')), 'hex')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_sha512(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT encode(sha512(convert_to(x, 'UTF8')), 'hex')
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_bitxor(x bigint, y bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT x # y
$$;

CREATE OR REPLACE FUNCTION contend_sql.django_cot(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 1 / tan(x)
$$;
