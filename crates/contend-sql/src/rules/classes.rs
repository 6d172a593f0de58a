//! Comparisons of values of different storage classes: NULL, numbers, texts, blobs, in this order.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::literals::bare;
use crate::types::{Affinity, Ty, Val, number_in_text};

/// A comparison in which no affinity applies: the storage classes decide it, unless one side is NULL.
pub(crate) fn compare_classes<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    let (start, aggregates) = (tr.at(), tr.seen.aggregates);
    let l = tr.value(left, Ty::Any)?;
    let left_text = tr.out.sql.split_off(start);
    let r = tr.value(right, Ty::Any)?;
    let right_text = tr.out.sql.split_off(start);
    let (Some(one), Some(other)) = (class(l.ty), class(r.ty)) else {
        return no(Id::MixedComparison, "", format!("{} is compared with {}", l.ty.word(), r.ty.word()));
    };
    let converted = convertible(l, left, r) || convertible(r, right, l);
    if converted && tr.input.options.pack && text_with_number(tr, (left, l, &left_text), op, (right, r, &right_text))? {
        return Ok(Val { nullable: l.nullable || r.nullable, ..Val::of(Ty::Bool) });
    }
    if one == other || converted {
        return no(Id::MixedComparison, "", format!("{} is compared with {}", l.ty.word(), r.ty.word()));
    }
    tr.fire(Id::ClassComparison);
    let answer = match op {
        Operator::Equals | Operator::Is => false,
        Operator::NotEquals | Operator::IsNot => true,
        Operator::Less | Operator::LessEquals => one < other,
        _ => one > other,
    };
    let word = if answer { "TRUE" } else { "FALSE" };
    let is = matches!(op, Operator::Is | Operator::IsNot);
    // Without its aggregates, the query would have a row for each row of its tables.
    let is_aggregate = tr.seen.aggregates > aggregates;
    let tests: Vec<String> = [(l, &left_text), (r, &right_text)]
        .iter()
        .filter(|(value, _)| value.nullable || is_aggregate)
        .map(|(_, text)| format!("({text}) IS {}NULL", if is { "" } else { "NOT " }))
        .collect();
    match (is, tests.len()) {
        (false, 0) => tr.put(word),
        (false, _) => tr.put(&format!("CASE WHEN {} THEN {word} END", tests.join(" AND "))),
        // IS with two values that may both be NULL.
        (true, 2) => {
            let both = if op == Operator::Is { "" } else { "NOT " };
            tr.put(&format!("({both}({}))", tests.join(" AND ")));
        }
        (true, _) => tr.put(word),
    }
    Ok(Val { nullable: !is && (l.nullable || r.nullable), ..Val::of(Ty::Bool) })
}

/// A text compared with a value of numeric affinity: as a number if it is one; otherwise it is larger. Returns
/// whether it was written.
fn text_with_number<'a>(
    tr: &mut Tr<'a>,
    (left, l, left_text): (&'a Expr<'a>, Val, &str),
    op: Operator,
    (right, r, right_text): (&'a Expr<'a>, Val, &str),
) -> R<bool> {
    let symbol = match op {
        Operator::Equals => "=",
        Operator::NotEquals => "<>",
        Operator::Less => "<",
        Operator::LessEquals => "<=",
        Operator::Greater => ">",
        Operator::GreaterEquals => ">=",
        _ => return Ok(false),
    };
    let plain_text = |expr: &Expr, v: Val| v.ty == Ty::Text && !matches!(bare(expr), Expr::Literal(_));
    let text_left = plain_text(left, l) && r.affinity.numeric() && matches!(r.ty, Ty::Int | Ty::Real);
    let text_right = plain_text(right, r) && l.affinity.numeric() && matches!(l.ty, Ty::Int | Ty::Real);
    if !text_left && !text_right {
        return Ok(false);
    }
    tr.fire(Id::TextWithNumber);
    // A text is larger than every number.
    let larger = match op {
        Operator::NotEquals => true,
        Operator::Greater | Operator::GreaterEquals => text_left,
        Operator::Less | Operator::LessEquals => text_right,
        _ => false,
    };
    let text = if text_left { left_text } else { right_text };
    let real = if text_left { r.ty } else { l.ty } == Ty::Real;
    let number = match (tr.postgres, real) {
        (true, true) => format!("contend_sql.number({text})::float8"),
        _ => format!("contend_sql.number({text})"),
    };
    let (one, other) = if text_left { (number.as_str(), right_text) } else { (left_text, number.as_str()) };
    let word = if larger { "TRUE" } else { "FALSE" };
    tr.put(&format!(
        "CASE WHEN ({left_text}) IS NOT NULL AND ({right_text}) IS NOT NULL \
         THEN COALESCE(({one}) {symbol} ({other}), {word}) END"
    ));
    Ok(true)
}

/// Rank of a type's storage class, if it is known.
pub(crate) fn class(ty: Ty) -> Option<u8> {
    match ty {
        Ty::Int | Ty::Real | Ty::Number | Ty::Bool => Some(1),
        Ty::Text => Some(2),
        Ty::Blob => Some(3),
        Ty::Null | Ty::Param | Ty::Any | Ty::Tagged => None,
    }
}

/// Whether the affinity of `other` may convert a value to `other`'s class.
fn convertible(value: Val, expr: &Expr, other: Val) -> bool {
    match (value.ty, other.affinity) {
        (ty, Affinity::Unsure) => class(ty) != class(other.ty),
        (Ty::Text, affinity) if affinity.numeric() && !value.affinity.numeric() => match bare(expr) {
            Expr::Literal(Literal::String(text)) => number_in_text(&plain(text)).is_some(),
            _ => true,
        },
        (ty, Affinity::Text) => ty.numeric() && matches!(value.affinity, Affinity::None | Affinity::Unsure),
        _ => false,
    }
}
