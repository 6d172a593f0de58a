//! Tagged values: values whose type depends on the row, as texts with a tag of their type.

use crate::catalogue::Column;
use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, Wanted};
use crate::parse::tree::{Expr, Operator, Select};
use crate::refuse::{No, R, no};
use crate::rules::Id;
use crate::types::collation;
use crate::types::{Affinity, Collation, Sides, Strength, Ty, Val};

/// Whether columns can hold tagged values.
pub(crate) fn in_columns(tr: &Tr) -> bool {
    tr.input.options.pack && tr.input.options.tagged
}

/// Whether an expression is written again with tagged values: its parts, not parts of these, have several types.
pub(crate) fn may_mix(tr: &Tr, refused: &No) -> bool {
    tr.input.options.pack && refused.rule == Id::MixedTypes && refused.part.is_none()
}

/// The text around a value of a type that tags it.
fn tag(tr: &Tr, ty: Ty) -> R<(String, String)> {
    let around = match (ty, tr.postgres) {
        (Ty::Tagged, _) | (Ty::Null, false) => ("", ""),
        (Ty::Null, true) => ("(", ")::text"),
        (Ty::Int, true) => ("('i' || (", ")::text)"),
        (Ty::Real, true) => ("('r' || (", ")::text)"),
        (Ty::Number, true) => ("contend_sql.number_tagged(trim_scale(", ")::text)"),
        (Ty::Text, true) => ("('t' || (", "))"),
        (Ty::Blob, true) => ("('x' || encode((", "), 'hex'))"),
        (Ty::Int, false) => return Ok((format!("CONCAT('i', {}", INTEGER_TEXT.0), format!("{})", INTEGER_TEXT.1))),
        (Ty::Number, false) => ("contend_sql.decimal_tagged(", ")"),
        (Ty::Real, false) => ("CONCAT('r', CAST(", " AS CHAR) COLLATE utf8mb4_nopad_bin)"),
        (Ty::Text, false) => ("CONCAT('t', ", ")"),
        (Ty::Blob, false) => ("CONCAT('x', HEX(", "))"),
        (Ty::Param, _) => {
            return no(Id::Parameters, "", "nothing here gives the parameter a type; write CAST(? AS INTEGER)");
        }
        (other, _) => return no(Id::MixedTypes, "", format!("one of several types, {}", other.word())),
    };
    Ok((around.0.to_string(), around.1.to_string()))
}

/// Tags the value written since `start`.
pub(crate) fn tagged(tr: &mut Tr, start: usize, value: Val) -> R<Val> {
    let value = tr.as_integer(start, value);
    let (before, after) = tag(tr, value.ty)?;
    tr.wrap(start, &before, &after);
    tr.fire(Id::TaggedValues);
    let strength = if value.ty == Ty::Tagged { value.strength } else { Strength::Atom };
    Ok(Val { ty: Ty::Tagged, narrow: false, digits: false, wordy: false, bytewise: false, strength, ..value })
}

/// The result of a function that returns tagged values.
pub(crate) fn result(tr: &mut Tr) -> Val {
    tr.fire(Id::TaggedValues);
    Val::of(Ty::Tagged)
}

/// The text around one side of a comparison that makes it comparable as a text, after the affinity of the other side.
pub(crate) fn key(tr: &mut Tr, value: Val, partner: Val) -> R<(String, String)> {
    if value.affinity == Affinity::Unsure || partner.affinity == Affinity::Unsure {
        return no(Id::MixedComparison, "", "a column of several queries is compared with a value of any type");
    }
    if collation(value, partner) != Collation::Binary {
        return no(Id::Collation, "", "values of any type under a collation");
    }
    tr.fire(Id::TaggedValues);
    let (before, after) = tag(tr, value.ty)?;
    let text = matches!(value.ty, Ty::Text | Ty::Tagged);
    let converted = match partner.affinity {
        affinity if affinity.numeric() && !value.affinity.numeric() && text => "contend_sql.tagged_number(",
        Affinity::Text if value.affinity == Affinity::None && value.ty != Ty::Text => "contend_sql.tagged_as_text(",
        _ => "",
    };
    let end = if converted.is_empty() { ")" } else { "))" };
    let collated = if tr.postgres { " COLLATE \"C\"" } else { "" };
    Ok((format!("contend_sql.tagged_key({converted}{before}"), format!("{after}{end}{collated}")))
}

/// Makes both sides of a comparison comparable, of which at least one is tagged.
pub(crate) fn agree(tr: &mut Tr, sides: &Sides) -> R<()> {
    let Sides { start, left_end, right_start, l, r } = *sides;
    let (before, after) = key(tr, r, l)?;
    tr.wrap(right_start, &before, &after);
    let (before, after) = key(tr, l, r)?;
    tr.out.sql.insert_str(left_end, &after);
    tr.out.sql.insert_str(start, &before);
    Ok(())
}

/// Writes that two values are the same, under no affinity.
pub(crate) fn same<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>, other: &'a Expr<'a>) -> R<()> {
    for (number, expr) in [one, other].into_iter().enumerate() {
        tr.put(if number > 0 { " = " } else { "" });
        let start = tr.at();
        let value = tr.value(expr, Ty::Any)?;
        order_key(tr, start, value)?;
    }
    Ok(())
}

/// Writes IN with a list, after the left side, which begins at `start` and is tagged. No affinity of an item counts.
pub(crate) fn in_list<'a>(tr: &mut Tr<'a>, start: usize, l: Val, not: bool, items: &'a [Expr<'a>]) -> R<Val> {
    let any = Val { affinity: Affinity::None, ..Val::of(Ty::Tagged) };
    let (before, after) = key(tr, l, any)?;
    tr.wrap(start, &before, &after);
    tr.put(if not { " NOT IN (" } else { " IN (" });
    let mut nullable = l.nullable;
    tr.list(items, |tr, item| {
        let from = tr.at();
        let value = tr.value(item, Ty::Any)?;
        nullable |= value.nullable;
        // Only the left side's affinity applies.
        let (before, after) = key(tr, Val { affinity: Affinity::None, ..value }, Val { affinity: l.affinity, ..any })?;
        tr.wrap(from, &before, &after);
        Ok(())
    })?;
    tr.put(")");
    Ok(Val { nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
}

/// Makes the value written since `start` one that is sorted as SQLite sorts it.
pub(crate) fn order_key(tr: &mut Tr, start: usize, value: Val) -> R<()> {
    let value = Val { affinity: Affinity::None, ..value };
    let (before, after) = key(tr, value, value)?;
    tr.wrap(start, &before, &after);
    Ok(())
}

/// Writes `+`, `-`, `*`, `/` or `%` over both sides, of which at least one is tagged or a decimal number.
pub(crate) fn arithmetic(tr: &mut Tr, op: Operator, sides: Sides) -> R<Val> {
    let Sides { start, left_end, right_start, l, r } = sides;
    let symbol = match op {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        _ => "%",
    };
    let right = tr.out.sql.split_off(right_start);
    let left = tr.out.sql[start..left_end].to_string();
    tr.out.sql.truncate(start);
    let (before, after) = tag(tr, l.ty)?;
    let (open, close) = tag(tr, r.ty)?;
    tr.put(&format!("contend_sql.tagged_arithmetic('{symbol}', {before}{left}{after}, {open}{right}{close})"));
    Ok(result(tr))
}

/// Writes max() or min() of several arguments of any type.
pub(crate) fn greatest<'a>(tr: &mut Tr<'a>, name: &str, args: &'a [Expr<'a>]) -> R<Val> {
    let start = tr.at();
    for (number, arg) in args.iter().enumerate() {
        if number > 0 {
            tr.wrap(start, &format!("contend_sql.tagged_{name}("), ", ");
        }
        let from = tr.at();
        let value = tr.value(arg, Ty::Any)?;
        if value.ty == Ty::Text && collation(value, value) != Collation::Binary {
            return no(Id::Collation, name, "max() or min() under a collation that ignores case");
        }
        tagged(tr, from, value)?;
        if number > 0 {
            tr.put(")");
        }
    }
    Ok(result(tr))
}

/// Writes the aggregate max() or min() of tagged values, whose text was written since `start`.
pub(crate) fn extreme(tr: &mut Tr, name: &str, start: usize) -> Val {
    let x = tr.out.sql.split_off(start);
    let order = if name == "max" { " DESC" } else { "" };
    let sql = match tr.postgres {
        true => format!("(array_agg({x} ORDER BY contend_sql.tagged_key({x}) COLLATE \"C\"{order} NULLS LAST))[1]"),
        false => format!("GROUP_CONCAT({x} ORDER BY contend_sql.tagged_key({x}){order} LIMIT 1)"),
    };
    tr.put(&sql);
    result(tr)
}

/// Writes sum(), total() or avg() of tagged values, whose text was written since `start`.
pub(crate) fn sum(tr: &mut Tr, name: &str, token: &str, start: usize) -> R<Val> {
    let x = tr.out.sql.split_off(start);
    tr.fire(Id::Reals);
    let real = format!("contend_sql.tagged_real({x})");
    match name {
        "total" => tr.put(&format!("COALESCE(sum({real}), 0e0)")),
        "avg" => tr.put(&format!("(sum({real}) / count({x}))")),
        "sum" => {
            tr.fire(Id::Overflow);
            let whole = format!("contend_sql.tagged_integer(contend_sql.tagged_number({x}))");
            let is_whole = format!("left(contend_sql.tagged_number({x}), 1) = 'i'");
            let sql = match tr.postgres {
                true => format!(
                    "(CASE WHEN bool_and({is_whole}) THEN 'i' || sum({whole})::bigint ELSE 'r' || sum({real}) END)"
                ),
                false => format!(
                    "(CASE WHEN MIN({is_whole}) = 1 THEN CONCAT('i', {}SUM({whole}) DIV 1{}) \
                     ELSE CONCAT('r', CAST(SUM({real}) AS CHAR) COLLATE utf8mb4_nopad_bin) END)",
                    INTEGER_TEXT.0, INTEGER_TEXT.1
                ),
            };
            tr.put(&sql);
            return Ok(result(tr));
        }
        _ => return no(Id::Aggregates, token, format!("{name}() of {}", Ty::Tagged.word())),
    }
    tr.fire(Id::TaggedValues);
    Ok(Val { nullable: name != "total", ..Val::of(Ty::Real) })
}

/// Writes a SELECT whose rows are the result, and notes which columns are tagged.
pub(crate) fn select<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>) -> R<()> {
    let mark = tr.mark();
    tr.query(select, Wanted::Nothing)?;
    if !tr.has_fired(Id::TaggedValues) {
        return Ok(());
    }
    tr.back_to(mark);
    let columns = tr.query(select, Wanted::Columns)?;
    leave(tr, columns.iter().map(|column: &Column| column.ty))
}

/// Notes which columns of the result are tagged, given all their types.
pub(crate) fn leave(tr: &mut Tr, types: impl Iterator<Item = Ty>) -> R<()> {
    let tagged: Vec<u16> = types.zip(0..).filter(|(ty, _)| *ty == Ty::Tagged).map(|(_, place)| place).collect();
    if !tagged.is_empty() && !tr.input.options.tagged {
        return no(Id::TaggedValues, "", "a result whose type depends on the row, which this caller does not read");
    }
    tr.out.tagged = tagged;
    Ok(())
}
