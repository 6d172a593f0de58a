CREATE SCHEMA IF NOT EXISTS contend_sql;

-- The decimal value of a double, exactly: numeric's own cast keeps 15 digits.
CREATE OR REPLACE FUNCTION contend_sql.exact(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN x = 0 THEN 0::numeric
    WHEN e >= 1075 THEN sign(x)::numeric * m * 2::numeric ^ (e - 1075)
    ELSE trim_scale(sign(x)::numeric * (m * 5::numeric ^ (1075 - e)) * ('1e-' || (1075 - e))::numeric)
  END
  FROM (SELECT GREATEST((bits >> 52) & 2047, 1) AS e,
          ((bits & 4503599627370495) + CASE WHEN (bits >> 52) & 2047 = 0 THEN 0 ELSE 4503599627370496 END)::numeric AS m
        FROM (SELECT ('x' || encode(float8send(x), 'hex'))::bit(64)::bigint AS bits) AS b) AS parts
$$;

-- round(x, digits): halves away from zero, as the exact value decides.
CREATE OR REPLACE FUNCTION contend_sql.round(x float8, digits int) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) >= 4503599627370496 THEN x ELSE pg_catalog.round(contend_sql.exact(x), digits)::float8 END
$$;

-- printf('%.nf', x)
CREATE OR REPLACE FUNCTION contend_sql.fixed(x float8, digits int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT pg_catalog.round(contend_sql.exact(COALESCE(x, 0)), digits)::text
$$;

-- The text of a real: 15 significant digits, never without a point, as printf('%!.15g', x).
CREATE OR REPLACE FUNCTION contend_sql.real_text(x float8) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN x = 'Infinity'::float8 THEN 'Inf'
    WHEN x = '-Infinity'::float8 THEN '-Inf'
    WHEN x = 0 THEN '0.0'
    WHEN exponent BETWEEN -4 AND 14 THEN
      sign || plain || CASE WHEN strpos(plain, '.') > 0 THEN '' ELSE '.0' END
    ELSE
      sign || digit || '.' || CASE WHEN rest = '' THEN '0' ELSE rest END || 'e'
        || CASE WHEN exponent < 0 THEN '-' ELSE '+' END || lpad(abs(exponent)::text, GREATEST(2, length(abs(exponent)::text)), '0')
  END
  FROM (SELECT CASE WHEN x < 0 THEN '-' ELSE '' END AS sign,
          split_part(s, 'e', 2)::int AS exponent,
          left(s, 1) AS digit,
          rtrim(substr(split_part(s, 'e', 1), 3), '0') AS rest,
          trim_scale(s::numeric)::text AS plain
        FROM (SELECT to_char(abs(contend_sql.exact(x)), '9.99999999999999EEEE') AS padded) AS p,
             LATERAL (SELECT btrim(padded) AS s) AS t) AS parts
$$;

-- CAST(text AS INTEGER): the integer it begins with, held to 64 bits.
CREATE OR REPLACE FUNCTION contend_sql.text_integer(x text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT LEAST(GREATEST(COALESCE(substring(x FROM '^[ \t\n\r\f\v]*([+-]?[0-9]+)')::numeric, 0), -9223372036854775808), 9223372036854775807)::bigint
$$;

-- CAST(text AS REAL): the number it begins with.
CREATE OR REPLACE FUNCTION contend_sql.text_real(x text) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT COALESCE(substring(x FROM '^[ \t\n\r\f\v]*([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)')::float8, 0)
$$;

-- The moment a text means, as SQLite reads it: NULL for others; a day beyond the month's end goes on into the next.
CREATE OR REPLACE FUNCTION contend_sql.moment(x text) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN p[1]::int BETWEEN 1 AND 9999 AND p[2]::int BETWEEN 1 AND 12 AND p[3]::int BETWEEN 1 AND 31
      AND COALESCE(p[4]::int, 0) < 24 AND COALESCE(p[5]::int, 0) < 60 AND COALESCE(p[6]::numeric, 0) < 60
    THEN make_date(p[1]::int, p[2]::int, 1)::timestamp + make_interval(days => p[3]::int - 1,
      hours => COALESCE(p[4]::int, 0), mins => COALESCE(p[5]::int, 0), secs => COALESCE(p[6]::float8, 0)) END
  FROM (SELECT regexp_match(x, '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]+([0-9]{2}):([0-9]{2})(?::([0-9]{2}(?:[.][0-9]+)?))?)?Z?$') AS p) AS parts
$$;

-- The integer that a text begins with, as arithmetic reads it; an error where it is no integer, as the type would
-- depend on the row.
CREATE OR REPLACE FUNCTION contend_sql.text_number(x text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x ~ '^[ \t\n\r\f\v]*[+-]?([0-9]+[.]|[.][0-9]|[0-9]+[eE][+-]?[0-9])'
    THEN ('arithmetic on a text that begins with a real: ' || x)::bigint
    ELSE COALESCE(substring(x FROM '^[ \t\n\r\f\v]*([+-]?[0-9]+)')::bigint, 0) END
$$;

-- The number that a text is under numeric affinity; NULL where it is none.
CREATE OR REPLACE FUNCTION contend_sql.number(x text) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN x ~ '^[ \t\n\r\f\v]*[+-]?[0-9]{1,18}[ \t\n\r\f\v]*$' THEN btrim(x, E' \t\n\r\f\v')::numeric
    WHEN x ~ '^[ \t\n\r\f\v]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*$'
      THEN contend_sql.exact(btrim(x, E' \t\n\r\f\v')::float8) END
$$;
