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

-- The moment a text means to SQLite, NULL if none: a date, a time (of 2000-01-01), both, with an offset from UTC, or a
-- Julian day. A day beyond the month's end is one of the next month if `rolls`. What a timestamp cannot be as it is to
-- SQLite is an error: years before 1, the hour 24, 'now', such a day otherwise, an offset without a date.
CREATE OR REPLACE FUNCTION contend_sql.moment(x text, rolls boolean) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN p IS NOT NULL AND (p[1] = '-' OR p[2] = '0000' OR p[5] = '24' OR p[2] IS NULL AND ahead <> 0
        OR NOT rolls AND p[4]::int > extract(day FROM make_date(p[2]::int, p[3]::int, 1) + interval '1 month - 1 day'))
      OR x ~* '^(now|subsec|subsecond)$' OR days >= 0 AND days < 1721425.5
    THEN make_date(('a moment that only SQLite reads: ' || x)::int, 1, 1)::timestamp
    WHEN p IS NOT NULL THEN make_date(COALESCE(p[2], '2000')::int, COALESCE(p[3], '1')::int, 1)::timestamp
      + make_interval(days => COALESCE(p[4], '1')::int - 1, hours => COALESCE(p[5], '0')::int,
        mins => COALESCE(p[6], '0')::int - ahead,
        secs => floor((COALESCE(p[7], '0')::float8 + LEAST(fraction::float8 / 10::float8 ^ length(fraction), 0.999)) * 1000 + 0.5) / 1000)
    WHEN days < 5373484.5 THEN timestamp '1970-01-01' + make_interval(days => floor(ms / 86400000)::int,
      secs => (ms - 86400000 * floor(ms / 86400000))::float8 / 1000)
  END
  FROM (SELECT regexp_match(x, '^(?=-?[0-9])(?:(-?)([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[ \t\n\r\f\vT]*)?'
          '(?:([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]+))?)?'
          '[ \t\n\r\f\v]*(?:[Zz][ \t\n\r\f\v]*|([+-])(0[0-9]|1[0-4]):([0-5][0-9])[ \t\n\r\f\v]*)?)?$') AS p,
          CASE WHEN x ~ '^[ \t\n\r\f\v]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*$' THEN x::float8 END AS days) AS read,
    LATERAL (SELECT left(COALESCE(p[8], '0'), 15) AS fraction,
          CASE p[9] WHEN '+' THEN 1 WHEN '-' THEN -1 ELSE 0 END * (COALESCE(p[10], '0')::int * 60 + COALESCE(p[11], '0')::int) AS ahead,
          CASE WHEN days BETWEEN 1721425.5 AND 5373484.5 THEN floor(days * 86400000 + 0.5)::numeric - 210866760000000 END AS ms) AS parts
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
    WHEN x ~ '^[ \t\n\r\f\v]*[+-]?[0-9]{1,18}[ \t\n\r\f\v]*$' THEN btrim(x, E' \t\n\r\f\x0B')::numeric
    WHEN x ~ '^[ \t\n\r\f\v]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*$'
      THEN contend_sql.exact(btrim(x, E' \t\n\r\f\x0B')::float8) END
$$;
