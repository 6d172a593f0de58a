//! Translates CAST.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, Type};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::moments::BLANK;
use crate::rules::{Id, arithmetic, tagged};
use crate::types::{Affinity, Number, Strength, Ty, Val, declared};

pub(crate) fn cast<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, type_name: Option<&Type<'a>>) -> R<Val> {
    let target = cast_target(type_name).unwrap_or(Ty::Number);
    tr.fire(Id::Cast);
    let name = type_name.map_or("", |t| t.name);
    let (start, slots) = (tr.at(), tr.out.slots.len());
    let mut value = cast_operand(tr, expr, target)?;
    // Of a text it depends on the row whether it is an integer, and of a decimal number.
    if tr.input.options.pack && matches!((target, value.ty), (Ty::Number, Ty::Text) | (Ty::Int, Ty::Number)) {
        value = tagged::tagged(tr, start, value)?;
    }
    let was = value.ty;
    if let Some((before, after)) = around(tr, target, was) {
        tr.wrap(start, before, after);
        value.strength = Strength::Atom;
    }
    match (target, was) {
        _ if around(tr, target, was).is_some() => {}
        (_, Ty::Null) => cast_null(tr, start, target, &mut value),
        (Ty::Int, Ty::Int) | (Ty::Real, Ty::Real) | (Ty::Text, Ty::Text) | (Ty::Blob, Ty::Blob) => {}
        (Ty::Number, Ty::Int | Ty::Number | Ty::Real) => {}
        (_, Ty::Param) if !tr.postgres => {
            let word = match target {
                Ty::Int => ") AS SIGNED)",
                Ty::Real => ") AS DOUBLE)",
                _ => return no(Id::Cast, name, "a parameter cast to this type"),
            };
            tr.wrap(start, "CAST((", word);
        }
        (Ty::Int, Ty::Real) => real_to_integer(tr, start),
        (Ty::Int, Ty::Text) => {
            text_to_integer(tr, start);
            value.strength = Strength::Atom;
        }
        (Ty::Real, Ty::Int) => {
            let has_parameter = tr.out.slots.len() > slots;
            integer_to_real(tr, start, name, has_parameter, &mut value)?;
        }
        _ => return no(Id::Cast, name, format!("a cast of {} to {}", was.word(), target.word())),
    }
    value.ty = if target == Ty::Number { was } else { target };
    value.affinity = match target {
        Ty::Int => Affinity::Integer,
        Ty::Real => Affinity::Real,
        Ty::Text => Affinity::Text,
        Ty::Blob => Affinity::Blob,
        _ => Affinity::Numeric,
    };
    value.narrow &= target == was;
    Ok(value)
}

/// The text around a value that casts it, where no more is needed.
fn around(tr: &Tr, target: Ty, was: Ty) -> Option<(&'static str, &'static str)> {
    Some(match (target, was, tr.postgres) {
        (Ty::Text, Ty::Blob, true) => ("convert_from(", ", 'UTF8')"),
        (Ty::Text, Ty::Blob, false) => ("contend_sql.blob_text(", ")"),
        (Ty::Int, Ty::Tagged, _) => ("contend_sql.tagged_integer(", ")"),
        (Ty::Real, Ty::Tagged, _) => ("contend_sql.tagged_real(", ")"),
        (Ty::Number, Ty::Tagged, _) => ("contend_sql.tagged_numeric(", ")"),
        (Ty::Real, Ty::Number, true) => ("((", ")::float8)"),
        (Ty::Real, Ty::Number, false) => ("((", ") * 1e0)"),
        (Ty::Int, Ty::Text, _) if tr.input.options.pack => ("contend_sql.text_integer(", ")"),
        (Ty::Real, Ty::Text, _) if tr.input.options.pack => ("contend_sql.text_real(", ")"),
        _ => return None,
    })
}

/// Writes the operand of a cast; a literal is replaced by its cast value.
fn cast_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, target: Ty) -> R<Val> {
    match (target, bare(expr)) {
        (Ty::Number, Expr::Literal(Literal::String(text))) => {
            let number = crate::types::number_prefix(&plain(text));
            Ok(tr.number(whole(number)))
        }
        (Ty::Int, Expr::Literal(Literal::String(text))) => {
            Ok(tr.number(Number::Int(crate::types::integer_prefix(&plain(text)))))
        }
        (Ty::Real, Expr::Literal(Literal::String(text))) => {
            Ok(tr.number(match crate::types::number_prefix(&plain(text)) {
                Number::Int(n) => Number::Real(n as f64),
                real => real,
            }))
        }
        (Ty::Real, Expr::Variable(parameter)) => {
            let start = tr.at();
            let value = tr.bare_placeholder(parameter, Ty::Real, Affinity::None)?;
            if !tr.postgres {
                // A CAST would have the type of the bound value.
                tr.wrap(start, "(", " * 1e0)");
            }
            Ok(value)
        }
        (Ty::Text, Expr::Literal(Literal::Blob(hex))) if !is_utf8(hex) => {
            no(Id::Cast, hex, "bytes that are not UTF-8 as a text")
        }
        (Ty::Text, _) if (tr.postgres || tr.input.options.pack) && tr.probe(expr)?.ty == Ty::Blob => {
            tr.value(expr, Ty::Blob)
        }
        (Ty::Text, _) => arithmetic::text_operand(tr, expr),
        (Ty::Number, _) => tr.value(expr, Ty::Any),
        _ => tr.value(expr, target),
    }
}

/// PostgreSQL treats an untyped NULL as text, and MariaDB as a real in arithmetic.
fn cast_null(tr: &mut Tr, start: usize, target: Ty, value: &mut Val) {
    let word = match target {
        Ty::Int => "::bigint",
        Ty::Real => "::float8",
        Ty::Number => "::numeric",
        _ => return,
    };
    tr.enclose(start, value, Strength::Atom);
    if tr.postgres {
        tr.put(word);
        value.strength = Strength::Atom;
    } else if target == Ty::Int {
        tr.wrap(start, "CAST(", " AS SIGNED)");
    }
}

/// SQLite truncates towards zero and clamps to 64 bits.
fn real_to_integer(tr: &mut Tr, start: usize) {
    if !tr.postgres {
        return tr.wrap(start, "CAST(TRUNCATE(", ", 0) AS SIGNED)");
    }
    let n = tr.out.sql.split_off(start);
    tr.out.sql.push_str(&format!(
        "CASE WHEN ({n}) >= 9223372036854775808::float8 THEN 9223372036854775807 \
         WHEN ({n}) < -9223372036854775808::float8 THEN -9223372036854775807 - 1 \
         ELSE trunc({n})::bigint END"
    ));
}

/// The integer at the beginning of a text, clamped to 64 bits; 0 without one.
fn text_to_integer(tr: &mut Tr, start: usize) {
    tr.fire(Id::TextInteger);
    let x = tr.out.sql.split_off(start);
    if tr.postgres {
        tr.out.sql.push_str(&format!(
            "CASE WHEN ({x}) IS NOT NULL THEN \
             LEAST(GREATEST(COALESCE(substring({x} FROM '^{BLANK}*([+-]?[0-9]+)')::numeric, 0), \
             -9223372036854775808), 9223372036854775807)::bigint END"
        ));
    } else {
        // CAST skips no white space other than spaces.
        tr.out.sql.push_str(&format!(
            "CASE WHEN ({x}) REGEXP '^{BLANK}*[+-]?[0-9]' \
             THEN CAST(LEAST(GREATEST(CAST(REGEXP_SUBSTR(REGEXP_SUBSTR({x}, \
             '^{BLANK}*[+-]?0*[0-9]{{1,40}}'), '[+-]?[0-9]+') AS DECIMAL(60)), -9223372036854775808), \
             9223372036854775807) AS SIGNED) WHEN ({x}) IS NOT NULL THEN 0 END"
        ));
    }
}

fn integer_to_real(tr: &mut Tr, start: usize, name: &str, has_parameter: bool, value: &mut Val) -> R<()> {
    tr.enclose(start, value, Strength::Atom);
    if tr.postgres {
        tr.put("::float8");
        value.strength = Strength::Operator;
        return Ok(());
    }
    if has_parameter {
        return no(Id::Cast, name, "MariaDB answers with the type of the parameter in it; write CAST(? AS REAL)");
    }
    tr.wrap(start, "(", " * 1e0)");
    Ok(())
}

/// Whether a blob literal holds UTF-8.
fn is_utf8(literal: &str) -> bool {
    let digits = literal.trim_start_matches(['x', 'X']).trim_matches('\'').as_bytes();
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
}

/// A real without a fraction that CAST AS NUMERIC reads in a text is an integer, if it is from -2^51 to below 2^51.
fn whole(number: Number) -> Number {
    const END: f64 = 2_251_799_813_685_248.0;
    match number {
        Number::Real(n) if n == n.trunc() && (-END..END).contains(&n) => Number::Int(n as i64),
        number => number,
    }
}

fn cast_target(type_name: Option<&Type>) -> Option<Ty> {
    match type_name.map(|t| t.name) {
        None | Some("") => Some(Ty::Blob),
        Some(name) => declared(name).map(|d| match d.affinity {
            Affinity::Integer => Ty::Int,
            Affinity::Real => Ty::Real,
            Affinity::Text => Ty::Text,
            Affinity::Blob => Ty::Blob,
            _ => Ty::Number,
        }),
    }
}
