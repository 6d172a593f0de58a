//! Functions that change or search texts, or build them from other values.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::compare::FOLD_MARIADB;
use crate::rules::literals::bare;
use crate::rules::{Id, arithmetic, columns, texts};
use crate::types::{Ty, Val, plain_result};

/// lower() and upper(), which change ASCII letters only.
pub(crate) fn in_case<'a>(tr: &mut Tr<'a>, name: &str, token: &str, one: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    // A query that groups under NOCASE groups by this expression.
    let grouped = name == "lower" && columns::groups_folded(tr, one)?;
    if grouped && !tr.postgres && tr.place.having {
        return no(Id::Collation, token, "MariaDB finds no column there that is grouped by within an expression");
    }
    let value = columns::as_grouped(tr, grouped, |tr| arithmetic::text_operand(tr, one))?;
    if tr.postgres {
        tr.wrap(start, &format!("{name}(("), ") COLLATE \"C\")");
    } else if name == "lower" {
        tr.wrap(start, FOLD_MARIADB.0, FOLD_MARIADB.1);
    } else {
        tr.wrap(start, &FOLD_MARIADB.0.replace("LOWER", "UPPER"), FOLD_MARIADB.1);
    }
    Ok(Val { bytewise: true, ..plain_result(value, Ty::Text) })
}

/// trim() and its variants, for spaces.
pub(crate) fn trimmed<'a>(tr: &mut Tr<'a>, name: &str, one: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    let value = arithmetic::text_operand(tr, one)?;
    let (pg, my) = match name {
        "trim" => ("btrim(", "TRIM("),
        "ltrim" => ("ltrim(", "LTRIM("),
        _ => ("rtrim(", "RTRIM("),
    };
    if tr.postgres {
        tr.wrap(start, pg, ", ' ')");
    } else {
        tr.wrap(start, my, ")");
    }
    Ok(Val { bytewise: value.bytewise, ..plain_result(value, Ty::Text) })
}

/// trim() and its variants with a set of characters, on PostgreSQL.
pub(crate) fn trimmed_of<'a>(tr: &mut Tr<'a>, name: &str, one: &'a Expr<'a>, set: &'a Expr<'a>) -> R<Val> {
    tr.put(if name == "trim" { "btrim(" } else { name });
    if name != "trim" {
        tr.put("(");
    }
    let value = arithmetic::text_operand(tr, one)?;
    tr.put(", ");
    let set = arithmetic::text_operand(tr, set)?;
    tr.put(")");
    Ok(Val { nullable: value.nullable || set.nullable, ..plain_result(value, Ty::Text) })
}

/// The same on MariaDB, whose TRIM removes a text instead of a set of characters.
pub(crate) fn trimmed_by_pattern<'a>(tr: &mut Tr<'a>, name: &str, token: &str, one: &'a Expr<'a>, set: &str) -> R<Val> {
    let mut class = String::new();
    for c in set.chars() {
        if c.is_ascii_punctuation() {
            class.push('\\');
        }
        class.push(c);
    }
    if class.is_empty() {
        return no(Id::Functions, token, "an empty set of characters");
    }
    let pattern = match name {
        "trim" => format!("(?s-i)^[{class}]+|[{class}]+(?!.)$"),
        "ltrim" => format!("(?s-i)^[{class}]+"),
        _ => format!("(?s-i)[{class}]+(?!.)$"),
    };
    tr.put("REGEXP_REPLACE(");
    let value = arithmetic::text_operand(tr, one)?;
    tr.put(", ");
    push_text(&mut tr.out.sql, &pattern);
    tr.put(", '')");
    Ok(plain_result(value, Ty::Text))
}

pub(crate) fn instr<'a>(tr: &mut Tr<'a>, text: &'a Expr<'a>, part: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    let value = arithmetic::text_operand(tr, text)?;
    tr.put(", ");
    // The place of a blob in another is counted in bytes.
    let part = arithmetic::characters(tr, part)?;
    tr.wrap(start, if tr.postgres { "strpos(" } else { "INSTR(" }, ")");
    let nullable = value.nullable || part.nullable;
    Ok(Val { nullable, narrow: true, ..plain_result(value, Ty::Int) })
}

/// replace().
pub(crate) fn text_replaced<'a>(tr: &mut Tr<'a>, text: &'a Expr<'a>, from: &'a Expr<'a>, to: &'a Expr<'a>) -> R<Val> {
    let may_be_null = tr.probe(to)?.nullable;
    let is_text = matches!(bare(from), Expr::Literal(Literal::String(text)) if !plain(text).is_empty());
    if tr.input.options.is_older() && !is_text && !matches!(tr.probe_value(text)?.ty, Ty::Text | Ty::Null) {
        return no(
            Id::Functions,
            "replace",
            "replace() in a number: older versions of SQLite replace no empty text in it",
        );
    }
    // SQLite replaces an empty text by nothing, not even by NULL.
    let replacement = |tr: &mut Tr<'a>| -> R<Val> {
        let is_guarded = may_be_null && !is_text;
        if is_guarded {
            tr.put("CASE WHEN ");
            let start = tr.at();
            arithmetic::text_operand(tr, from)?;
            tr.wrap(start, "(", ") = '' THEN '' ELSE ");
        }
        let value = arithmetic::text_operand(tr, to)?;
        tr.put(if is_guarded { " END" } else { "" });
        Ok(value)
    };
    // MariaDB does not evaluate the replacement if nothing is found.
    let twice = !tr.postgres && may_be_null;
    if twice {
        tr.put("CASE WHEN ");
        let start = tr.at();
        replacement(tr)?;
        tr.wrap(start, "(", ") IS NOT NULL THEN ");
    }
    let start = tr.at();
    let value = texts::replaced_operand(tr, text)?;
    tr.put(", ");
    let pattern = arithmetic::text_operand(tr, from)?;
    tr.put(", ");
    let to = replacement(tr)?;
    tr.wrap(start, "replace(", ")");
    tr.put(if twice { " END" } else { "" });
    let nullable = value.nullable || pattern.nullable || to.nullable;
    Ok(Val { nullable, bytewise: value.bytewise, ..plain_result(value, Ty::Text) })
}

/// concat(), which ignores NULL.
pub(crate) fn texts_joined<'a>(tr: &mut Tr<'a>, args: &'a [Expr<'a>]) -> R<Val> {
    tr.put("CONCAT(");
    tr.list(args, |tr, arg| {
        let start = tr.at();
        arithmetic::text_operand(tr, arg)?;
        tr.wrap(start, "COALESCE(", ", '')");
        Ok(())
    })?;
    tr.put(")");
    Ok(Val::of(Ty::Text).never_null())
}

pub(crate) fn unicode<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    arithmetic::text_operand(tr, one)?;
    if tr.postgres {
        tr.wrap(start, "NULLIF(ascii(", "), 0)");
    } else {
        let after = ", 1) USING utf32)), ''), 16, 10) AS SIGNED)";
        tr.wrap(start, "CAST(CONV(NULLIF(HEX(CONVERT(LEFT(", after);
    }
    Ok(Val { narrow: true, ..Val::of(Ty::Int) })
}

/// unhex() of a literal.
pub(crate) fn unhex(tr: &mut Tr, token: &str, hex: &str) -> R<Val> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return no(Id::Functions, token, "unhex() of a text that is not hexadecimal");
    }
    tr.either("'\\x", "x'");
    tr.put(hex);
    tr.either("'::bytea", "'");
    Ok(Val::of(Ty::Blob).never_null())
}
