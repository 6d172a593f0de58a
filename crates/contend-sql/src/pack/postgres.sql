CREATE SCHEMA IF NOT EXISTS contend_sql;

-- OFFSET 0 keeps the planner from putting a subquery's expressions in each place where they are used, and computing them there.

-- The decimal value of a double, exactly: numeric's own cast keeps 15 digits.
CREATE OR REPLACE FUNCTION contend_sql.exact(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN x = 0 THEN 0::numeric
    WHEN e >= 1075 THEN sign(x)::numeric * m * 2::numeric ^ (e - 1075)
    ELSE trim_scale(sign(x)::numeric * (m * 5::numeric ^ (1075 - e)) * ('1e-' || (1075 - e))::numeric)
  END
  FROM (SELECT GREATEST((bits >> 52) & 2047, 1) AS e,
          ((bits & 4503599627370495) + CASE WHEN (bits >> 52) & 2047 = 0 THEN 0 ELSE 4503599627370496 END)::numeric AS m
        FROM (SELECT ('x' || encode(float8send(x), 'hex'))::bit(64)::bigint AS bits OFFSET 0) AS b OFFSET 0) AS parts
$$;

-- round(x, digits): halves away from zero, as the exact value decides.
CREATE OR REPLACE FUNCTION contend_sql.round(x float8, digits int) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) >= 4503599627370496 THEN x ELSE pg_catalog.round(contend_sql.exact(x), digits)::float8 END
$$;

-- A number that all versions of SQLite write alike: to older ones a number that is very near to a half is a half, and
-- digits after the 15th are not exact.
CREATE OR REPLACE FUNCTION contend_sql.sure(x float8, digits int) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) >= 10::float8 ^ (15 - digits) OR gap <> 0 AND gap <= v * 1e-15
    THEN ('versions of SQLite write it differently: ' || x)::int ELSE x END
  FROM (SELECT v, abs(v - floor(v) - 0.5) AS gap
        FROM (SELECT contend_sql.exact(CASE WHEN abs(x) < 10::float8 ^ (15 - digits) THEN abs(x) ELSE 0 END) * 10::numeric ^ digits AS v OFFSET 0) AS scaled OFFSET 0) AS parts
$$;

-- A place in a text, which older versions of SQLite cut to 32 bits.
CREATE OR REPLACE FUNCTION contend_sql.small(x bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x BETWEEN -2147483648 AND 2147483647 THEN x
    ELSE ('older versions of SQLite cut this to 32 bits: ' || x)::bigint END
$$;

-- A moment, of whose seconds older versions of SQLite round more than three digits otherwise.
CREATE OR REPLACE FUNCTION contend_sql.old_moment(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x ~ ':.*[.][0-9]{3}0*[1-9]'
    THEN ('older versions of SQLite round this otherwise: ' || x)::int::text ELSE x END
$$;

-- A number of a NUMERIC column, exactly as SQLite's: what has a fraction is a double.
CREATE OR REPLACE FUNCTION contend_sql.exact_number(x numeric) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x = trunc(x) AND abs(x) < 9223372036854775808 THEN x ELSE contend_sql.exact(x::float8) END
$$;

-- The text of a real, never without a point: 17 significant digits, or those before nines or zeros if they are the same
-- real. SQLite rounds to 18 digits first, counted from the power of two below; a real of 17 digits for which it does not
-- do so exactly is an error.
CREATE OR REPLACE FUNCTION contend_sql.real_text(x float8) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN x = 'Infinity'::float8 THEN 'Inf'
    WHEN x = '-Infinity'::float8 THEN '-Inf'
    WHEN x = 0 THEN '0.0'
    WHEN NOT is_same AND NOT (abs(x) >= 1e-10 AND abs(x) < 1e17) THEN ('a real of which SQLite writes another last digit: ' || x)::int::text
    WHEN exponent BETWEEN -4 AND 16 THEN
      sign || plain || CASE WHEN strpos(plain, '.') > 0 THEN '' ELSE '.0' END
    ELSE
      sign || digit || '.' || CASE WHEN rest = '' THEN '0' ELSE rest END || 'e'
        || CASE WHEN exponent < 0 THEN '-' ELSE '+' END || lpad(abs(exponent)::text, GREATEST(2, length(abs(exponent)::text)), '0')
  END
  FROM (SELECT is_same,
          CASE WHEN x < 0 THEN '-' ELSE '' END AS sign,
          split_part(s, 'e', 2)::int AS exponent,
          left(s, 1) AS digit,
          rtrim(substr(split_part(s, 'e', 1), 3), '0') AS rest,
          trim_scale(s::numeric)::text AS plain
        FROM (SELECT w, split_part(t, 'e', 2)::int AS e, left(t, 1) || substr(t, 3, 17) AS z
              FROM (SELECT pg_catalog.round(contend_sql.exact(y), 17 - floor(
                        ((('x' || encode(float8send(y), 'hex'))::bit(64)::bigint >> 52) - 1023) * 78913 / 262144.0)::int) AS w
                    FROM (SELECT CASE WHEN abs(x) < 'Infinity'::float8 THEN abs(x) ELSE 0 END AS y OFFSET 0) AS absolute OFFSET 0) AS taken,
                   LATERAL (SELECT btrim(to_char(w, '9.999999999999999999999EEEE')) AS t OFFSET 0) AS written OFFSET 0) AS read,
             LATERAL (SELECT CASE WHEN substr(z, 15, 2) = '99' THEN pg_catalog.round(w, 14 - e)
               WHEN substr(z, 14, 3) = '000' OR e >= 17 THEN pg_catalog.trunc(w, 12 - e) END AS few OFFSET 0) AS fewer,
             LATERAL (SELECT COALESCE(few::float8 = abs(x), FALSE) AS is_same OFFSET 0) AS compared,
             LATERAL (SELECT btrim(to_char(CASE WHEN is_same THEN few ELSE pg_catalog.round(w, 16 - e) END,
               '9.9999999999999999EEEE')) AS s OFFSET 0) AS chosen OFFSET 0) AS parts
$$;

-- The same of versions before 3.53: 15 digits. They compute in 64 bits, so that a rest very near to a half is an error.
CREATE OR REPLACE FUNCTION contend_sql.old_real_text(x float8) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE
    WHEN abs(x) = 'Infinity'::float8 OR x = 0 THEN contend_sql.real_text(x)
    WHEN abs(scaled - trunc(scaled) - 0.5) < CASE WHEN abs(x) >= 1e-10 AND abs(x) < 1e17 THEN 0.001 ELSE 0.1 END
      THEN ('a real of which older versions of SQLite write another last digit: ' || x)::int::text
    WHEN exponent BETWEEN -4 AND 14 THEN
      sign || plain || CASE WHEN strpos(plain, '.') > 0 THEN '' ELSE '.0' END
    ELSE
      sign || left(s, 1) || '.' || COALESCE(NULLIF(rtrim(substr(split_part(s, 'e', 1), 3), '0'), ''), '0') || 'e'
        || CASE WHEN exponent < 0 THEN '-' ELSE '+' END || lpad(abs(exponent)::text, GREATEST(2, length(abs(exponent)::text)), '0')
  END
  FROM (SELECT s, CASE WHEN x < 0 THEN '-' ELSE '' END AS sign, split_part(s, 'e', 2)::int AS exponent,
          trim_scale(s::numeric)::text AS plain, v * ('1e' || (14 - split_part(t, 'e', 2)::int))::numeric AS scaled
        FROM (SELECT contend_sql.exact(CASE WHEN abs(x) < 'Infinity'::float8 THEN abs(x) ELSE 0 END) AS v OFFSET 0) AS read,
             LATERAL (SELECT btrim(to_char(v, '9.99999999999999EEEE')) AS rounded,
               btrim(to_char(v, '9.999999999999999999999999EEEE')) AS t OFFSET 0) AS written,
             -- Nines that are rounded up become 10.
             LATERAL (SELECT CASE WHEN rounded LIKE '10.%' THEN '1.00000000000000e' || split_part(rounded, 'e', 2)::int + 1
               ELSE rounded END AS s OFFSET 0) AS carried OFFSET 0) AS parts
$$;

-- The same, if all versions write it alike.
CREATE OR REPLACE FUNCTION contend_sql.sure_text(x float8) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN new = contend_sql.old_real_text(x) THEN new ELSE ('versions of SQLite write it differently: ' || x)::int::text END
  FROM (SELECT contend_sql.real_text(x) AS new OFFSET 0) AS read
$$;

-- printf('%.nf', x). SQLite writes 16 significant digits, and then zeros: more are an error.
CREATE OR REPLACE FUNCTION contend_sql.fixed(x float8, digits int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN abs(x) = 'Infinity'::float8 THEN contend_sql.real_text(x)
    WHEN abs(x) >= 10::float8 ^ (16 - digits) AND v <> pg_catalog.round(v, pg_catalog.trunc(16 - log(abs(v)))::int - 1)
      THEN ('a number of more than 16 digits, of which SQLite writes 16: ' || x)::int::text
    ELSE CASE WHEN x < 0 AND pg_catalog.round(v, digits) = 0 THEN '-' ELSE '' END || pg_catalog.round(v, digits) END
  FROM (SELECT contend_sql.exact(CASE WHEN abs(x) < 'Infinity'::float8 THEN x ELSE 0 END) AS v OFFSET 0) AS read
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
CREATE OR REPLACE FUNCTION contend_sql.any_moment(x text, rolls boolean) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
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
          CASE WHEN x ~ '^[ \t\n\r\f\v]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*$' THEN x::float8 END AS days OFFSET 0) AS read,
    LATERAL (SELECT left(COALESCE(p[8], '0'), 15) AS fraction,
          CASE p[9] WHEN '+' THEN 1 WHEN '-' THEN -1 ELSE 0 END * (COALESCE(p[10], '0')::int * 60 + COALESCE(p[11], '0')::int) AS ahead,
          CASE WHEN days BETWEEN 1721425.5 AND 5373484.5 THEN floor(days * 86400000 + 0.5)::numeric - 210866760000000 END AS ms OFFSET 0) AS parts
$$;

-- The same. Most texts have the common form, which takes a hundredth of the time; not STRICT, so that the server can inline it.
CREATE OR REPLACE FUNCTION contend_sql.moment(x text, rolls boolean) RETURNS timestamp LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN x ~ '^[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)([ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])?$'
    THEN make_timestamp(left(x, 4)::int, substr(x, 6, 2)::int, substr(x, 9, 2)::int,
      ('0' || substr(x, 12, 2))::int, ('0' || substr(x, 15, 2))::int, ('0' || substr(x, 18, 2))::int)
    ELSE contend_sql.any_moment(x, rolls) END
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

-- Mathematical functions of doubles, NULL where C's have no number. Results near the largest and the smallest double are
-- errors, as PostgreSQL's are; beyond them they are infinity or 0.
CREATE OR REPLACE FUNCTION contend_sql.sqrt(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x >= 0 THEN pg_catalog.sqrt(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.exp(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x > 709.782712893384::float8 THEN 'Infinity'::float8 WHEN x < -745.1332191019412::float8 THEN 0::float8 ELSE pg_catalog.exp(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.ln(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x > 0 THEN pg_catalog.ln(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.log10(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x > 0 THEN pg_catalog.log(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.log(base float8, x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN base > 1 AND x > 0 THEN NULLIF(pg_catalog.ln(x) / pg_catalog.ln(base), 'NaN'::float8) END
$$;

-- An infinity has no sine.
CREATE OR REPLACE FUNCTION contend_sql.sin(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) < 'Infinity'::float8 THEN pg_catalog.sin(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.cos(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) < 'Infinity'::float8 THEN pg_catalog.cos(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tan(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) < 'Infinity'::float8 THEN pg_catalog.tan(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.asin(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) <= 1 THEN pg_catalog.asin(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.acos(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) <= 1 THEN pg_catalog.acos(x) END
$$;

-- The remainder of two doubles is a double.
CREATE OR REPLACE FUNCTION contend_sql.fmod(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) = 'Infinity'::float8 OR y = 0 THEN NULL WHEN abs(y) > abs(x) THEN x
    ELSE (contend_sql.exact(x) % contend_sql.exact(y))::float8 END
$$;

-- The logarithm of the result says whether a double holds it; near the limits PostgreSQL's error remains.
CREATE OR REPLACE FUNCTION contend_sql.power(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) = 'Infinity'::float8 OR abs(y) = 'Infinity'::float8 THEN pg_catalog.power(x, y)
    WHEN x < 0 AND y <> floor(y) THEN NULL
    WHEN x = 0 AND y < 0 THEN CASE WHEN x::text = '-0' THEN pg_catalog.power(x, y) ELSE 'Infinity'::float8 END
    WHEN x = 0 OR abs(x) = 1 THEN pg_catalog.power(x, y)
    WHEN x > 0 AND y > 0 AND pg_catalog.ln(x) > 709.79::float8 / y THEN 'Infinity'::float8
    WHEN x > 0 AND y < 0 AND pg_catalog.ln(x) < 709.79::float8 / y THEN 'Infinity'::float8
    WHEN y > 0 AND pg_catalog.ln(abs(x)) < -745.2::float8 / y THEN 0::float8
    WHEN y < 0 AND pg_catalog.ln(abs(x)) > -745.2::float8 / y THEN 0::float8
    ELSE pg_catalog.power(x, y) END
$$;

-- json_valid(x) as RFC 8259 has it, not deeper than SQLite reads. A table named json would be a type of this name, too.
CREATE OR REPLACE FUNCTION contend_sql.json_valid(x text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  PERFORM x::pg_catalog.json;
  RETURN length(x) - length(translate(x, '[{', '')) <= 2000 OR 2000 >= (
    SELECT COALESCE(max(depth), 0) FROM (
      SELECT sum(CASE WHEN c IN ('[', '{') THEN 1 ELSE -1 END) OVER (ORDER BY place) AS depth
      FROM unnest(string_to_array(regexp_replace(regexp_replace(x, '"(?:[^"\\]|\\.)*"', '', 'g'), '[^][{}]', '', 'g'), NULL))
        WITH ORDINALITY AS t(c, place)) AS depths);
EXCEPTION WHEN invalid_text_representation THEN
  RETURN false;
END $$;

-- Values whose type depends on the row: texts that begin with `i` (integer), `r` (real), `t` (text) or `x` (blob, in
-- hexadecimal). NULL is NULL.

-- The number that a text of a number is: an integer of 64 bits, else a real.
CREATE OR REPLACE FUNCTION contend_sql.number_tagged(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN x ~ '^[+-]?[0-9]+$' AND x::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
    THEN 'i' || x::numeric::bigint ELSE 'r' || x::float8 END
$$;

-- The text of a value, as CAST AS TEXT gives it.
CREATE OR REPLACE FUNCTION contend_sql.tagged_text(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 'r' THEN contend_sql.sure_text(substr(v, 2)::float8)
    WHEN 'x' THEN convert_from(decode(substr(v, 2), 'hex'), 'UTF8') ELSE substr(v, 2) END
$$;

-- The same, where a blob would be no text.
CREATE OR REPLACE FUNCTION contend_sql.tagged_characters(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF left(v, 1) = 'x' THEN
    RAISE EXCEPTION 'a blob where other rows have texts';
  END IF;
  RETURN contend_sql.tagged_text(v);
END
$$;

-- A value under numeric affinity, and under text affinity.
CREATE OR REPLACE FUNCTION contend_sql.tagged_number(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN v ~ '^t[ \t\n\r\f\v]*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\f\v]*$'
    THEN contend_sql.number_tagged(btrim(substr(v, 2), E' \t\n\r\f\x0B')) ELSE v END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tagged_as_text(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(v, 1) IN ('i', 'r') THEN 't' || contend_sql.tagged_text(v) ELSE v END
$$;

-- CAST(v AS INTEGER), CAST(v AS REAL), typeof(v), length(v).
CREATE OR REPLACE FUNCTION contend_sql.tagged_integer(v text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 'i' THEN substr(v, 2)::bigint
    WHEN 'r' THEN CASE WHEN substr(v, 2)::float8 >= 9223372036854775808::float8 THEN 9223372036854775807
      WHEN substr(v, 2)::float8 < -9223372036854775808::float8 THEN -9223372036854775807 - 1
      ELSE trunc(substr(v, 2)::float8)::bigint END
    ELSE contend_sql.text_integer(contend_sql.tagged_text(v)) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tagged_real(v text) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(v, 1) IN ('i', 'r') THEN substr(v, 2)::float8 ELSE contend_sql.text_real(contend_sql.tagged_text(v)) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tagged_type(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 'i' THEN 'integer' WHEN 'r' THEN 'real' WHEN 't' THEN 'text' ELSE 'blob' END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tagged_length(v text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 'x' THEN (length(v) - 1) / 2 ELSE length(contend_sql.tagged_text(v)) END
$$;

-- A text by which values are compared byte by byte: numbers before texts before blobs, 1 equal to 1.0. A number is its
-- double's bits, then what an integer has beyond it.
CREATE OR REPLACE FUNCTION contend_sql.tagged_key(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 't' THEN '2' || substr(v, 2) WHEN 'x' THEN '3' || upper(substr(v, 2)) ELSE (
    SELECT '1' || lpad(to_hex(CASE WHEN bits < 0 THEN ~bits ELSE bits # (-9223372036854775807 - 1) END), 16, '0')
      || (2000 + CASE WHEN left(v, 1) = 'i' AND abs(n) > 9e15 THEN substr(v, 2)::numeric - contend_sql.exact(n) ELSE 0 END)::int
    FROM (SELECT n, ('x' || encode(float8send(n), 'hex'))::bit(64)::bigint AS bits
          FROM (SELECT substr(v, 2)::float8 + 0 AS n OFFSET 0) AS real OFFSET 0) AS parts) END
$$;

-- max(a, b) and min(a, b).
CREATE OR REPLACE FUNCTION contend_sql.tagged_max(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN contend_sql.tagged_key(b) COLLATE "C" > contend_sql.tagged_key(a) COLLATE "C" THEN b ELSE a END
$$;

CREATE OR REPLACE FUNCTION contend_sql.tagged_min(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN contend_sql.tagged_key(b) COLLATE "C" <= contend_sql.tagged_key(a) COLLATE "C" THEN b ELSE a END
$$;

-- The number that a value is in arithmetic: a text's is the one it begins with.
CREATE OR REPLACE FUNCTION contend_sql.tagged_operand(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(v, 1) IN ('i', 'r') THEN v ELSE contend_sql.number_tagged(COALESCE(substring(contend_sql.tagged_text(v)
    FROM '^[ \t\n\r\f\v]*([+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)'), '0')) END
$$;

-- The double that a value is under numeric affinity; NULL where it is none.
CREATE OR REPLACE FUNCTION contend_sql.tagged_double(v text) RETURNS float8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(n, 1) IN ('i', 'r') THEN substr(n, 2)::float8 END FROM (SELECT contend_sql.tagged_number(v) AS n OFFSET 0) AS read
$$;

-- floor(v), ceil(v) and trunc(v).
CREATE OR REPLACE FUNCTION contend_sql.tagged_whole(op text, v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(n, 1) WHEN 'i' THEN n
    WHEN 'r' THEN 'r' || CASE op WHEN 'floor' THEN floor(substr(n, 2)::float8) WHEN 'ceil' THEN ceil(substr(n, 2)::float8) ELSE trunc(substr(n, 2)::float8) END END
  FROM (SELECT contend_sql.tagged_number(v) AS n OFFSET 0) AS read
$$;

-- CAST(v AS NUMERIC): a number stays as it is, of a text it is an integer if it is small and has no fraction.
CREATE OR REPLACE FUNCTION contend_sql.tagged_numeric(v text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(v, 1) IN ('i', 'r') THEN v
    WHEN left(n, 1) = 'r' AND substr(n, 2)::float8 = trunc(substr(n, 2)::float8) AND substr(n, 2)::float8 >= -2251799813685248 AND substr(n, 2)::float8 < 2251799813685248
    THEN 'i' || substr(n, 2)::float8::bigint ELSE n END
  FROM (SELECT contend_sql.tagged_operand(v) AS n OFFSET 0) AS read
$$;

-- The decimal number that a column of NUMERIC affinity stores for a real: one without a fraction exactly, as an integer.
CREATE OR REPLACE FUNCTION contend_sql.stored(x float8) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(x) < 9223372036854775808 AND x = trunc(x) THEN x::bigint::numeric ELSE x::text::numeric END
$$;

-- A number that is stored in a column of NUMERIC affinity; an error where it is none.
CREATE OR REPLACE FUNCTION contend_sql.tagged_decimal(v text) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE left(v, 1) WHEN 'i' THEN substr(v, 2)::numeric WHEN 'r' THEN contend_sql.stored(substr(v, 2)::float8)
    ELSE ('no number for a numeric column: ' || v)::numeric END
$$;

-- a + b and the like: a result of integers beyond 64 bits is a real.
CREATE OR REPLACE FUNCTION contend_sql.tagged_arithmetic(op text, a text, b text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  x text := contend_sql.tagged_operand(a);
  y text := contend_sql.tagged_operand(b);
  p float8 := substr(x, 2);
  q float8 := substr(y, 2);
  m numeric;
  n numeric;
BEGIN
  IF op = '%' THEN
    -- It reads the digits at the beginning of a text that is a real.
    m := contend_sql.tagged_integer(a);
    n := contend_sql.tagged_integer(b);
    RETURN CASE WHEN n = 0 THEN NULL WHEN left(x, 1) = 'i' AND left(y, 1) = 'i' THEN 'i' || mod(m, n) ELSE 'r' || mod(m, n)::float8 END;
  ELSIF op = '/' AND q = 0 THEN
    RETURN NULL;
  ELSIF left(x, 1) = 'i' AND left(y, 1) = 'i' THEN
    m := substr(x, 2);
    n := substr(y, 2);
    n := CASE op WHEN '+' THEN m + n WHEN '-' THEN m - n WHEN '*' THEN m * n ELSE div(m, n) END;
    IF n BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
      RETURN 'i' || n;
    END IF;
  END IF;
  RETURN 'r' || CASE op WHEN '+' THEN p + q WHEN '-' THEN p - q WHEN '*' THEN p * q ELSE p / q END;
END $$;

-- JSON. What is not RFC 8259 is an error. A path is a call for each of its steps.
CREATE OR REPLACE FUNCTION contend_sql.json_root(x text) RETURNS pg_catalog.json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT x::pg_catalog.json
$$;

-- Of several members of one name the first.
CREATE OR REPLACE FUNCTION contend_sql.json_member(x pg_catalog.json, label text) RETURNS pg_catalog.json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(x) = 'object' THEN (SELECT value FROM json_each(x) WHERE key = label LIMIT 1) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.json_element(x pg_catalog.json, place int) RETURNS pg_catalog.json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(x) = 'array' THEN x -> place END
$$;

-- The part that a path finds, which is no literal.
CREATE OR REPLACE FUNCTION contend_sql.json_at(x pg_catalog.json, path text) RETURNS pg_catalog.json LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  rest text := substr(path, 2);
  step text[];
BEGIN
  IF left(path, 1) <> '$' THEN
    RAISE EXCEPTION 'a JSON path that only SQLite reads';
  END IF;
  WHILE rest <> '' LOOP
    step := regexp_match(rest,
      '^(?:[.]"([^"\\\u0001-\u001f\u007f-\u009f]*)"|[.]([^".[\\\u0001-\u001f\u007f-\u009f]+)(?=$|[.[])|\[(#-)?([0-9]{1,9})\])(.*)$');
    IF step IS NULL OR step[3] IS NOT NULL AND step[4]::int = 0 THEN
      RAISE EXCEPTION 'a JSON path that only SQLite reads';
    ELSIF step[4] IS NOT NULL THEN
      x := contend_sql.json_element(x, CASE WHEN step[3] IS NULL THEN step[4]::int ELSE -step[4]::int END);
    ELSE
      x := contend_sql.json_member(x, COALESCE(step[1], step[2]));
    END IF;
    rest := step[5];
  END LOOP;
  RETURN x;
END $$;

-- The text without white space.
CREATE OR REPLACE FUNCTION contend_sql.json_text(x pg_catalog.json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT regexp_replace(x::text, '("(?:[^"\\]|\\.)*")|[ \t\n\r]+', '\1', 'g')
$$;

CREATE OR REPLACE FUNCTION contend_sql.json_kind(x pg_catalog.json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE json_typeof(x) WHEN 'string' THEN 'text' WHEN 'boolean' THEN btrim(x::text, E' \t\n\r')
    WHEN 'number' THEN CASE WHEN x::text ~ '[.eE]' THEN 'real' ELSE 'integer' END ELSE json_typeof(x) END
$$;

CREATE OR REPLACE FUNCTION contend_sql.json_length(x pg_catalog.json) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN json_typeof(x) = 'array' THEN json_array_length(x)::bigint ELSE 0 END
$$;

-- The value that JSON is to SQLite.
CREATE OR REPLACE FUNCTION contend_sql.json_tagged(x pg_catalog.json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE json_typeof(x) WHEN 'string' THEN 't' || (x #>> '{}') WHEN 'null' THEN NULL
    WHEN 'boolean' THEN CASE WHEN x::text ~ 'true' THEN 'i1' ELSE 'i0' END
    WHEN 'number' THEN contend_sql.number_tagged(btrim(x::text, E' \t\n\r')) ELSE 't' || contend_sql.json_text(x) END
$$;

-- The value that JSON is to SQLite, as JSON again.
CREATE OR REPLACE FUNCTION contend_sql.json_quoted(x pg_catalog.json) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT COALESCE(CASE WHEN json_typeof(x) = 'string' THEN to_json(x #>> '{}')::text
    WHEN json_typeof(x) IN ('object', 'array') THEN contend_sql.json_text(x)
    ELSE contend_sql.tagged_text(contend_sql.json_tagged(x)) END, 'null')
$$;

CREATE OR REPLACE FUNCTION contend_sql.json_items(x pg_catalog.json) RETURNS TABLE ("key" text, "value" text, "type" text, atom text)
  LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT place, contend_sql.json_tagged(item), contend_sql.json_kind(item),
    CASE WHEN json_typeof(item) NOT IN ('object', 'array') THEN contend_sql.json_tagged(item) END
  FROM (SELECT 't' || o.key AS place, o.value AS item FROM json_each(CASE WHEN json_typeof(x) = 'object' THEN x ELSE '{}' END) AS o
        UNION ALL SELECT 'i' || (a.n - 1), a.item
          FROM json_array_elements(CASE WHEN json_typeof(x) = 'array' THEN x ELSE '[]' END) WITH ORDINALITY AS a (item, n)
        UNION ALL SELECT NULL, x WHERE json_typeof(x) NOT IN ('object', 'array')) AS items
$$;
