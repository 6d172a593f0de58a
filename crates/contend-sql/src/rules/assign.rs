//! A value stored in a column: converted as SQLite's affinity would, or refused.

use crate::catalogue::Column;
use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::reals::is_decimal;
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, arithmetic, tagged};
use crate::types::{Affinity, Number, Ty, Val, number_in_text};

/// Writes an expression as the value of a column.
pub(crate) fn assign<'a>(tr: &mut Tr<'a>, column: &Column, expr: &'a Expr<'a>) -> R<Val> {
    if column.ty == Ty::Any {
        return no(Id::UntypedColumns, &column.name, "the column has no type, so its values have none");
    }
    if column.ty == Ty::Tagged {
        if !tagged::in_columns(tr) {
            return no(Id::UntypedColumns, &column.name, "the column has no type, so its values have none");
        }
        let start = tr.at();
        let value = tr.value(expr, Ty::Any)?;
        return tagged::tagged(tr, start, value);
    }
    if !column.affinity.numeric() && column.affinity != Affinity::Text {
        return assign_unconverted(tr, column, expr);
    }
    if let Some(number) = literal_number(expr) {
        return assign_number(tr, column, number);
    }
    if let Expr::Literal(Literal::String(text)) = bare(expr) {
        return assign_text(tr, column, &plain(text));
    }
    let start = tr.at();
    let value = match bare(expr) {
        Expr::Variable(name) => tr.bare_placeholder(name, column.ty, column.affinity)?,
        _ => {
            let mut texts = vec![];
            numbers_in_texts(column, expr, &mut texts);
            let around = std::mem::replace(&mut tr.place.stored, texts);
            let value = tr.value(expr, column.ty);
            tr.place.stored = around;
            value?
        }
    };
    assignable(tr, column, start, value)
}

/// A column without an affinity, such as one that CREATE TABLE AS makes of an expression, stores a value as it is.
fn assign_unconverted<'a>(tr: &mut Tr<'a>, column: &Column, expr: &'a Expr<'a>) -> R<Val> {
    let value = tr.value(expr, column.ty)?;
    match (column.ty, value.ty) {
        (_, Ty::Null) | (Ty::Int, Ty::Bool) => Ok(value),
        (_, Ty::Param) if !tr.postgres => Ok(value),
        (want, is) if want == is => Ok(value),
        (want, is) => no(Id::Assignment, &column.name, format!("{} stored in a column of {}", is.word(), want.word())),
    }
}

fn assign_number(tr: &mut Tr, column: &Column, number: Number) -> R<Val> {
    let refused = || no(Id::Assignment, &column.name, format!("a number stored as {}", column.ty.word()));
    match (column.ty, number) {
        (Ty::Int, Number::Real(n)) if n == n.trunc() && n.abs() < 9e15 => Ok(tr.number(Number::Int(n as i64))),
        (Ty::Int, Number::Real(_)) => {
            no(Id::Assignment, &column.name, "SQLite keeps a real in an integer column, the server rounds it")
        }
        // SQLite makes an integer of it.
        (Ty::Number, Number::Real(n)) if n == n.trunc() && n.abs() < INTEGERS_END => {
            Ok(tr.number(Number::Int(n as i64)))
        }
        (Ty::Number, Number::Real(n)) if tr.postgres && digits(n) > DIGITS_KEPT => {
            let start = tr.at();
            let value = tr.number(number);
            as_decimal(tr, start);
            Ok(value)
        }
        (Ty::Number, Number::Real(n)) if !tr.postgres && !is_decimal(n) => {
            no(Id::NumericColumns, "", "MariaDB would round this real in a column of NUMERIC affinity")
        }
        (Ty::Int | Ty::Real | Ty::Number, number) => Ok(tr.number(number)),
        (Ty::Text, Number::Real(n)) if column.affinity == Affinity::Text => {
            tr.fire(Id::Assignment);
            arithmetic::literal_text(tr, n)?;
            Ok(Val::of(Ty::Text).never_null())
        }
        (Ty::Text, Number::Int(n)) if column.affinity == Affinity::Text => {
            tr.fire(Id::Assignment);
            push_text(&mut tr.out.sql, &n.to_string());
            Ok(Val::of(Ty::Text).never_null())
        }
        _ => refused(),
    }
}

/// Every integer of SQLite is smaller.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

/// Digits of a real that PostgreSQL's own conversion to a decimal number keeps.
const DIGITS_KEPT: usize = 15;

/// Number of digits in the shortest text that is read as this real.
fn digits(number: f64) -> usize {
    format!("{number:e}").bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count()
}

/// Literal texts among the values that an expression may have, with the numbers as which the column stores them: affinity
/// applies to whatever coalesce() or CASE gives.
pub(crate) fn numbers_in_texts<'a>(column: &Column, expr: &'a Expr<'a>, found: &mut Vec<(&'a Expr<'a>, Number)>) {
    let expr = bare(expr);
    match expr {
        Expr::Literal(Literal::String(text)) => {
            found.extend(stored_number(column, &plain(text)).map(|number| (expr, number)));
        }
        Expr::FunctionCall { name, distinctness: None, args: Some(args), filter_over: None, .. }
            if ["coalesce", "ifnull"].iter().any(|known| name.0.eq_ignore_ascii_case(known)) =>
        {
            args.iter().for_each(|arg| numbers_in_texts(column, arg, found));
        }
        Expr::Case { when_then_pairs, else_expr, .. } => {
            let results = when_then_pairs.iter().map(|(_, then)| then).chain(*else_expr);
            results.for_each(|result| numbers_in_texts(column, result, found));
        }
        _ => {}
    }
}

/// The number that a column stores for a text; `None` if it stores the text, or a number that it does not hold.
fn stored_number(column: &Column, text: &str) -> Option<Number> {
    let number = number_in_text(text).filter(|_| column.affinity.numeric());
    match (column.ty, number?) {
        (Ty::Int, Number::Real(n)) => (n == n.trunc() && n.abs() < 9e15).then_some(Number::Int(n as i64)),
        (Ty::Int | Ty::Real | Ty::Number, number) => Some(number),
        _ => None,
    }
}

fn assign_text(tr: &mut Tr, column: &Column, text: &str) -> R<Val> {
    match (column.ty, number_in_text(text)) {
        (Ty::Text, Some(_)) if column.affinity.numeric() => no(
            Id::Assignment,
            &column.name,
            "SQLite stores this text as a number, as the column's type is numeric to it",
        ),
        (Ty::Text, _) => {
            push_text(&mut tr.out.sql, text);
            Ok(Val::of(Ty::Text).never_null())
        }
        (Ty::Int | Ty::Real | Ty::Number, Some(number)) => {
            tr.fire(Id::Assignment);
            assign_number(tr, column, number)
        }
        _ => no(Id::Assignment, &column.name, format!("a text stored as {}", column.ty.word())),
    }
}

/// Whether a value may be stored unchanged; `start` is where it was written.
fn assignable(tr: &mut Tr, column: &Column, start: usize, mut value: Val) -> R<Val> {
    match (column.ty, value.ty) {
        (_, Ty::Null) => {}
        (Ty::Text, Ty::Text) if column.affinity.numeric() => stays_text(tr, &column.name, value)?,
        (a, b) if a == b && a != Ty::Any => {}
        (_, Ty::Param) if !tr.postgres => {}
        (Ty::Int | Ty::Number, Ty::Bool) | (Ty::Real | Ty::Number, Ty::Int) => {}
        (Ty::Number, Ty::Real) => {
            tr.fire(Id::Reals);
            if tr.postgres {
                as_decimal(tr, start);
            }
        }
        (Ty::Number, Ty::Tagged) => {
            tr.fire(Id::Assignment);
            tr.wrap(start, "contend_sql.tagged_decimal(", ")");
            value = Val { nullable: true, ..Val::of(Ty::Number) };
        }
        (Ty::Int, Ty::Text) if value.digits => {
            tr.fire(Id::Assignment);
            if tr.postgres {
                tr.wrap(start, "(", ")::bigint");
            } else {
                tr.wrap(start, "CAST(", " AS SIGNED)");
            }
            value = Val { nullable: value.nullable, ..Val::of(Ty::Int) };
        }
        (Ty::Text, Ty::Real) if column.affinity == Affinity::Text && tr.input.options.pack => {
            tr.fire(Id::RealAsText);
            arithmetic::real_text(tr, start);
            value.ty = Ty::Text;
        }
        (Ty::Text, Ty::Int) if column.affinity == Affinity::Text => {
            tr.fire(Id::Assignment);
            if tr.postgres {
                tr.wrap(start, "(", ")::text");
            } else {
                tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1);
            }
            value.ty = Ty::Text;
        }
        (want, is) => {
            return no(Id::Assignment, &column.name, format!("{} stored in a column of {}", is.word(), want.word()));
        }
    }
    Ok(value)
}

/// Makes a real the decimal number that NUMERIC affinity stores, on PostgreSQL, whose own conversion keeps 15 digits.
pub(crate) fn as_decimal(tr: &mut Tr, start: usize) {
    let (before, after) = if tr.input.options.pack { ("contend_sql.stored(", ")") } else { ("(", ")::text::numeric") };
    tr.wrap(start, before, after);
}

/// Whether a text may be stored in a column of NUMERIC affinity, where SQLite would store a numeric text as a number.
pub(crate) fn stays_text(tr: &mut Tr, column: &str, value: Val) -> R<()> {
    if !value.wordy {
        return no(
            Id::Assignment,
            column,
            "SQLite stores a text that is a number as one here, as the column's type is numeric to it",
        );
    }
    if !tr.out.slots.is_empty() {
        tr.fire(Id::TextsInNumericColumns);
    }
    Ok(())
}
