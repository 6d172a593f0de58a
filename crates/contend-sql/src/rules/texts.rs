//! Functions of texts and blobs.

use std::iter;

use crate::emit::INTEGER_TEXT;
use crate::emit::Tr;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, arithmetic};
use crate::types::{Number, Strength, Ty, Val, plain_result};

/// SQLite's longest text in bytes (the default of SQLITE_MAX_LENGTH): the length of substr() without a third
/// argument. PostgreSQL's text functions accept only 32-bit numbers.
const LENGTH_MAX: i64 = 1_000_000_000;

pub(crate) fn length<'a>(tr: &mut Tr<'a>, name: &str, one: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    let value = tr.value(one, Ty::Text)?;
    let (pg, my) = match (name, value.ty) {
        ("length", Ty::Blob) | ("octet_length", Ty::Blob | Ty::Text) => ("octet_length(", "OCTET_LENGTH("),
        ("length", Ty::Text | Ty::Param) if !tr.postgres && !matches!(bare(one), Expr::Literal(_)) => {
            // SQLite counts the characters before the first NUL. PostgreSQL has no text with NUL.
            tr.wrap(start, "SUBSTRING_INDEX(", ", CHAR(0 USING utf8mb4), 1)");
            ("", "CHAR_LENGTH(")
        }
        ("length", Ty::Text | Ty::Null | Ty::Param) => ("char_length(", "CHAR_LENGTH("),
        ("length", Ty::Int) => {
            if tr.postgres {
                tr.wrap(start, "(", ")::text");
            }
            ("char_length(", "CHAR_LENGTH(")
        }
        ("length", Ty::Real) if tr.input.options.pack => {
            arithmetic::real_text(tr, start);
            ("char_length(", "CHAR_LENGTH(")
        }
        ("length", Ty::Tagged) => ("contend_sql.tagged_length(", "contend_sql.tagged_length("),
        _ => return no(Id::Functions, name, format!("{name}() of {}", value.ty.word())),
    };
    let before = if tr.postgres { pg } else { my };
    tr.wrap(start, before, ")");
    Ok(Val { narrow: true, ..plain_result(value, Ty::Int) })
}

/// Positions count from 1, negative ones from the end; a negative length takes the characters before the position.
pub(crate) fn substr<'a>(tr: &mut Tr<'a>, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
    let from = literal_number(&args[1]);
    let length = args.get(2).map(literal_number);
    let simple = match (from, length) {
        (Some(Number::Int(n)), None) if n >= 1 => Some((n, None)),
        (Some(Number::Int(n)), Some(Some(Number::Int(m)))) if n >= 1 && m >= 0 => Some((n, Some(m))),
        _ => None,
    };
    let is_large = |number: Option<Number>| matches!(number, Some(Number::Int(n)) if i32::try_from(n).is_err());
    if tr.input.options.is_older() && (is_large(from) || length.is_some_and(is_large)) {
        return no(
            Id::Functions,
            token,
            "substr() with a number of more than 32 bits, which older versions of SQLite cut",
        );
    }
    let reads = tr.seen.query_reads;
    if let Some((place, count)) = simple {
        let start = tr.at();
        let blob = tr.probe(&args[0])?.ty == Ty::Blob;
        let mut value = if blob { tr.value(&args[0], Ty::Blob)? } else { arithmetic::characters(tr, &args[0])? };
        if blob {
            // A part of an empty blob is NULL.
            tr.wrap(start, "NULLIF(", if tr.postgres { ", ''::bytea)" } else { ", '')" });
            value.nullable = true;
        }
        for n in iter::once(place).chain(count) {
            tr.put(", ");
            tr.number(Number::Int(n.min(LENGTH_MAX + 1)));
        }
        tr.wrap(start, if tr.postgres { "substr(" } else { "SUBSTRING(" }, ")");
        keep_part(tr, start, &args[0], value, reads);
        return Ok(plain_result(value, value.ty));
    }
    match (from, length) {
        (Some(Number::Int(n)), None) if (-LENGTH_MAX..0).contains(&n) => {
            let start = tr.at();
            let value = arithmetic::characters(tr, &args[0])?;
            // The last -n characters, or all if there are fewer, as RIGHT does it.
            tr.put(", ");
            tr.number(Number::Int(-n));
            tr.wrap(start, "right(", ")");
            keep_part(tr, start, &args[0], value, reads);
            Ok(plain_result(value, Ty::Text))
        }
        _ => substr_any(tr, token, args),
    }
}

/// With arguments known only at run time: position and length are computed as SQLite's substr does.
fn substr_any<'a>(tr: &mut Tr<'a>, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
    let (at, reads) = (tr.at(), tr.seen.query_reads);
    let text = arithmetic::characters(tr, &args[0])?;
    let x = tr.out.sql.split_off(at);
    let mut parts = vec![];
    let mut nullable = text.nullable;
    for arg in &args[1..] {
        let value = arithmetic::numeric_operand(tr, arg, Ty::Int)?;
        if value.ty != Ty::Int {
            return no(Id::Functions, token, "substr() with a position that is not an integer");
        }
        nullable |= value.nullable;
        if tr.input.options.pack && tr.input.options.is_older() {
            tr.wrap(at, "contend_sql.small(", ")");
        }
        parts.push(tr.out.sql.split_off(at));
    }
    let sql = part_of(tr, &x, &parts);
    let sql = if nullable {
        let tests: Vec<String> = parts.iter().map(|part| format!("({part}) IS NOT NULL")).collect();
        format!("(CASE WHEN {} THEN {sql} END)", tests.join(" AND "))
    } else {
        sql
    };
    tr.put(&sql);
    keep_part(tr, at, &args[0], text, reads);
    Ok(Val { nullable, ..plain_result(text, Ty::Text) })
}

/// substr() of a text from a position, with a length if there are two parts, none of them NULL. Both may be any
/// integer (32-bit on PostgreSQL), so nothing is added that could overflow: what is added to a length is never
/// positive, and what is added to a position is negative or at most [`LENGTH_MAX`].
fn part_of(tr: &Tr, x: &str, parts: &[String]) -> String {
    let (len, cast) = if tr.postgres { ("char_length", "::int") } else { ("CHAR_LENGTH", "") };
    let y = &parts[0];
    let sub = |from: &str, count: &str| {
        let from = format!("LEAST({from}, {})", LENGTH_MAX + 1);
        match tr.postgres {
            true => format!("substr({x}, ({from}){cast}, ({count}){cast})"),
            false => format!("SUBSTRING({x}, {from}, {count})"),
        }
    };
    // First position, 1-based; may be below 1, because a negative y counts from the end. Characters before 1 do not
    // exist, but count for the length.
    let first = format!("(CASE WHEN {y} < 0 THEN {len}({x}) + {y} + 1 ELSE {y} END)");
    let begin = format!("GREATEST({first}, 1)");
    let Some(z) = parts.get(1) else {
        return sub(&begin, &format!("GREATEST(LEAST({first}, 1) + {}, 0)", LENGTH_MAX - 1));
    };
    let forward = sub(&begin, &format!("LEAST(GREATEST({z} + (LEAST({first}, 1) - 1), 0), {LENGTH_MAX})"));
    let before = format!("GREATEST({begin} + {z}, 1)");
    let backward = sub(&before, &format!("LEAST({begin} - {before}, {LENGTH_MAX})"));
    format!("(CASE WHEN {z} >= 0 THEN {forward} ELSE {backward} END)")
}

/// MariaDB's SUBSTRING() and RIGHT() point into the memory of their argument. If a query in FROM is merged, all
/// readers of its column share that memory, so that in `x <= CONCAT(x, 'a')` the right side overwrites the left.
/// COALESCE() copies. A table's column has its own memory, which is never overwritten.
fn keep_part<'a>(tr: &mut Tr<'a>, start: usize, of: &Expr, value: Val, reads_before: u32) {
    let own = value.column && tr.seen.query_reads == reads_before || matches!(bare(of), Expr::Literal(_));
    if !tr.postgres && !own {
        tr.wrap(start, "COALESCE(", ")");
    }
}

pub(crate) fn hex<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    let value = tr.value(one, Ty::Text)?;
    match (value.ty, tr.postgres) {
        (Ty::Text | Ty::Param, true) => tr.wrap(start, "upper(encode(convert_to(", ", 'UTF8'), 'hex'))"),
        (Ty::Blob, true) => tr.wrap(start, "upper(encode(", ", 'hex'))"),
        (Ty::Text | Ty::Blob | Ty::Param, false) => tr.wrap(start, "HEX(", ")"),
        (Ty::Int, true) => tr.wrap(start, "upper(encode(convert_to((", ")::text, 'UTF8'), 'hex'))"),
        (Ty::Int, false) => tr.wrap(start, "HEX(CAST(", " AS CHAR))"),
        (Ty::Real, postgres) if tr.input.options.pack => {
            arithmetic::real_text(tr, start);
            let (before, after) =
                if postgres { ("upper(encode(convert_to(", ", 'UTF8'), 'hex'))") } else { ("HEX(", ")") };
            tr.wrap(start, before, after);
        }
        (Ty::Null, _) => tr.wrap(start, "CASE WHEN (", ") IS NULL THEN '' END"),
        (other, _) => return no(Id::Functions, "hex", format!("hex() of {}", other.word())),
    }
    if value.nullable {
        // hex(NULL) is an empty text.
        tr.wrap(start, "COALESCE(", ", '')");
    }
    Ok(Val::of(Ty::Text).never_null())
}

pub(crate) fn char<'a>(tr: &mut Tr<'a>, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
    let mut text = String::new();
    for arg in args {
        match literal_number(arg) {
            Some(Number::Int(n)) if n > 0 || n == 0 && !tr.postgres => {
                text.extend(u32::try_from(n).ok().and_then(char::from_u32));
            }
            _ => return no(Id::Functions, token, "char() of anything but literal code points"),
        }
    }
    if text.chars().count() != args.len() {
        return no(Id::Functions, token, "char() of a number that is not a code point");
    }
    if text.contains('\0') {
        // MariaDB's client does not read NUL in a statement.
        let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
        tr.put(&format!("CHAR({} USING utf8mb4) COLLATE utf8mb4_nopad_bin", bytes.join(", ")));
        return Ok(Val::of(Ty::Text).never_null().with(Strength::Operator));
    }
    crate::names::push_text(&mut tr.out.sql, &text);
    Ok(Val::of(Ty::Text).never_null())
}

/// zeroblob() and randomblob() of a literal length.
pub(crate) fn made_blob<'a>(tr: &mut Tr<'a>, name: &str, token: &str, length: &'a Expr<'a>) -> R<Val> {
    let largest = if name == "zeroblob" { 1_000_000 } else { 1024 };
    let Some(n) = crate::rules::arithmetic::constant(length).filter(|n| (1..=largest).contains(n)) else {
        if name == "zeroblob" && literal_number(length) == Some(Number::Int(0)) {
            tr.either("''::bytea", "x''");
            return Ok(Val::of(Ty::Blob).never_null());
        }
        return no(Id::Functions, token, "a length that is not a literal number from 1 to 1024");
    };
    let sql = match (name, tr.postgres) {
        ("zeroblob", true) => format!("decode(repeat('00', {n}), 'hex')"),
        ("zeroblob", false) => format!("CAST(REPEAT(CHAR(0), {n}) AS BINARY)"),
        (_, true) => {
            // Twelve of a UUID's sixteen bytes are entirely random.
            let one = "substr(uuid_send(gen_random_uuid()), 1, 6) || substr(uuid_send(gen_random_uuid()), 11, 6)";
            format!("substr({}, 1, {n})", vec![one; (n as usize).div_ceil(12)].join(" || "))
        }
        (_, false) => format!("RANDOM_BYTES({n})"),
    };
    tr.put(&sql);
    Ok(Val::of(Ty::Blob).never_null())
}

/// The first argument of replace().
pub(crate) fn replaced_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    let (start, reads) = (tr.at(), tr.seen.query_reads);
    let value = arithmetic::text_operand(tr, expr)?;
    copy_read(tr, start, reads);
    Ok(value)
}

/// MariaDB's REPLACE() replaces in place, and all readers of a column of a query in FROM then see the result: `x =
/// REPLACE(x, 'a', 'b')` is true. A CAST to a multi-byte character set always copies.
fn copy_read<'a>(tr: &mut Tr<'a>, start: usize, reads_before: u32) {
    if !tr.postgres && tr.seen.query_reads > reads_before {
        tr.wrap(start, "CAST(", " AS CHAR) COLLATE utf8mb4_nopad_bin");
    }
}

pub(crate) fn quote<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>) -> R<Val> {
    let (start, reads) = (tr.at(), tr.seen.query_reads);
    let value = tr.value(one, Ty::Text)?;
    if value.ty == Ty::Text {
        copy_read(tr, start, reads);
    }
    match (value.ty, tr.postgres) {
        (Ty::Text, true) => tr.wrap(start, "'''' || replace(", ", '''', '''''') || ''''"),
        (Ty::Text, false) => tr.wrap(start, "CONCAT('''', REPLACE(", ", '''', ''''''), '''')"),
        (Ty::Int, true) => tr.wrap(start, "(", ")::text"),
        (Ty::Int, false) => tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1),
        (Ty::Blob, true) => tr.wrap(start, "'X''' || upper(encode(", ", 'hex')) || ''''"),
        (Ty::Blob, false) => tr.wrap(start, "CONCAT('X''', HEX(", "), '''')"),
        (Ty::Null, true) => tr.put("::text"),
        (Ty::Null, false) => {}
        (other, _) => return no(Id::Functions, "quote", format!("quote() of {}", other.word())),
    }
    tr.wrap(start, "COALESCE(", ", 'NULL')");
    Ok(Val::of(Ty::Text).never_null())
}

pub(crate) fn type_of<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>) -> R<Val> {
    let (start, aggregates) = (tr.at(), tr.seen.aggregates);
    let value = tr.value(one, Ty::Any)?;
    if value.ty == Ty::Number {
        tr.fire(Id::NumericColumns);
        let x = tr.out.sql.split_off(start);
        let whole = if tr.postgres { format!("trunc({x})") } else { format!("TRUNCATE({x}, 0)") };
        tr.put(&format!(
            "CASE WHEN ({x}) IS NULL THEN 'null' WHEN ({x}) = {whole} AND ({x}) BETWEEN -9223372036854775808 \
             AND 9223372036854775807 THEN 'integer' ELSE 'real' END"
        ));
        return Ok(Val::of(Ty::Text).never_null());
    }
    if value.ty == Ty::Tagged {
        tr.wrap(start, "COALESCE(contend_sql.tagged_type(", "), 'null')");
        return Ok(Val::of(Ty::Text).never_null());
    }
    let word = match value.ty {
        Ty::Int => "integer",
        Ty::Real => "real",
        Ty::Text => "text",
        Ty::Blob => "blob",
        Ty::Null => "null",
        other => return no(Id::Functions, "typeof", format!("typeof() of {}", other.word())),
    };
    tr.fire(Id::DeclaredTypes);
    // Without its aggregates, the query would have a row for each row of its tables.
    if value.nullable && value.ty != Ty::Null || tr.seen.aggregates > aggregates {
        tr.wrap(start, "CASE WHEN (", &format!(") IS NULL THEN 'null' ELSE '{word}' END"));
    } else {
        tr.out.sql.truncate(start);
        tr.out.sql.push_str(&format!("'{word}'"));
    }
    Ok(Val::of(Ty::Text).never_null())
}
