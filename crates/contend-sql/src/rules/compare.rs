//! Comparisons: `=`, `<`, IS, IN, BETWEEN, LIKE, GLOB, with SQLite's affinity and collation.

use crate::emit::{INTEGER_TEXT, Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Operator};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number, uncollated};
use crate::rules::{Id, classes, tagged};
use crate::types::{Affinity, Collation, EXACT, Number, Sides, Strength, Ty, Val, collation, number_in_text};

/// Lower case for ASCII letters only, as for SQLite's LIKE and NOCASE. PostgreSQL's lower() does this under "C".
/// MariaDB's LOWER() changes other letters too; in the character set tis620 (Thai, one byte per character) it changes
/// only ASCII, so the bytes are converted to that set and back.
pub(crate) const FOLD_POSTGRES: (&str, &str) = ("lower((", ") COLLATE \"C\")");
pub(crate) const FOLD_MARIADB: (&str, &str) = (
    "(CONVERT(CAST(LOWER(CONVERT(CAST(",
    " AS BINARY) USING tis620)) AS BINARY) USING utf8mb4) COLLATE utf8mb4_nopad_bin)",
);

/// Whether an expression takes its type from the other operand of a comparison.
pub(crate) fn adapts(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Variable(_) | Expr::Literal(Literal::String(_))) || literal_number(expr).is_some()
}

pub(crate) fn compare<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    if let (Expr::Parenthesized(l), Expr::Parenthesized(r)) = (left, right)
        && l.len() > 1
    {
        return compare_rows(tr, l, op, r);
    }
    if matches!(op, Operator::Is | Operator::IsNot)
        && let Some(value) = is_special(tr, left, op, right)?
    {
        return Ok(value);
    }
    compare_two(tr, left, op, right)
}

/// A comparison of two values, in which TRUE and FALSE are numbers.
fn compare_two<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    let mark = tr.mark();
    match compare_values(tr, left, op, right) {
        Err(refused) if refused.rule == Id::MixedComparison => {
            tr.back_to(mark);
            // The first refusal is more informative than one about equal classes.
            classes::compare_classes(tr, left, op, right).map_err(|later| match later.rule == refused.rule {
                true => refused,
                false => later,
            })
        }
        done => done,
    }
}

fn compare_values<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    let mut l = match adapts(left) && !adapts(right) {
        true => {
            let partner = tr.probe(right)?;
            operand(tr, left, partner)?
        }
        false => value_or_bool(tr, left)?,
    };
    tr.enclose(start, &mut l, Strength::Operator);
    let left_end = tr.at();
    let negated = op == Operator::IsNot && !tr.postgres;
    tr.put(match op {
        Operator::Equals => " = ",
        Operator::NotEquals => " <> ",
        Operator::Less => " < ",
        Operator::LessEquals => " <= ",
        Operator::Greater => " > ",
        Operator::GreaterEquals => " >= ",
        Operator::Is if tr.postgres => " IS NOT DISTINCT FROM ",
        Operator::IsNot if tr.postgres => " IS DISTINCT FROM ",
        _ => " <=> ",
    });
    let right_start = tr.at();
    let mut r = operand(tr, right, l)?;
    tr.enclose(right_start, &mut r, Strength::Operator);
    let order = matches!(op, Operator::Less | Operator::LessEquals | Operator::Greater | Operator::GreaterEquals);
    agree(tr, Sides { start, left_end, right_start, l, r }, order)?;
    let is = matches!(op, Operator::Is | Operator::IsNot);
    if is {
        tr.fire(Id::Is);
    }
    let mut result = Val::of(Ty::Bool).with(Strength::Comparison);
    result.nullable = !is && (l.nullable || r.nullable);
    if negated {
        tr.wrap(start, "NOT (", ")");
        result.strength = Strength::Not;
    }
    Ok(result)
}

fn value_or_bool<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    tr.expr(expr, Ty::Any)
}

/// IS NULL, IS TRUE, IS FALSE and their negations.
fn is_special<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Option<Val>> {
    let negated = op == Operator::IsNot;
    // SQLite leaves a COLLATE after TRUE and FALSE out.
    match uncollated(right) {
        Expr::Literal(Literal::Null) => {
            null_test(tr, left, if negated { " IS NOT NULL" } else { " IS NULL" }).map(Some)
        }
        Expr::Id(id) if is_truth(tr, right)? => {
            let test = match (id.0.to_ascii_lowercase().as_str(), negated) {
                ("true", false) => " IS TRUE",
                ("true", true) => " IS NOT TRUE",
                (_, false) => " IS FALSE",
                (_, true) => " IS NOT FALSE",
            };
            tr.fire(Id::Booleans);
            let start = tr.at();
            let mut value = tr.condition(left)?;
            tr.enclose(start, &mut value, Strength::Atom);
            tr.put(test);
            Ok(Some(Val::of(Ty::Bool).never_null().with(Strength::Comparison)))
        }
        _ => Ok(None),
    }
}

/// Whether an expression is TRUE or FALSE, and no column.
fn is_truth(tr: &Tr, expr: &Expr) -> R<bool> {
    let Expr::Id(id) = uncollated(expr) else { return Ok(false) };
    let is_word = ["true", "false"].iter().any(|word| id.0.eq_ignore_ascii_case(word));
    Ok(is_word && tr.find(None, id.0)?.is_none() && tr.known.alias(id.0).is_none())
}

/// Writes one operand of a comparison, given the other one: a literal or parameter is converted by the affinity that
/// SQLite would apply.
pub(crate) fn operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, partner: Val) -> R<Val> {
    let literal = bare(expr);
    match literal {
        Expr::Variable(name) => {
            let ty = match partner.ty {
                Ty::Bool => Ty::Int,
                Ty::Param | Ty::Null | Ty::Any | Ty::Tagged => Ty::Any,
                known => known,
            };
            if ty != Ty::Any {
                tr.fire(Id::ParameterTypes);
            }
            return tr.bare_placeholder(name, ty, partner.affinity);
        }
        Expr::Literal(Literal::String(text)) if partner.affinity.numeric() && partner.ty != Ty::Text => {
            tr.fire(Id::LiteralAffinity);
            return match number_in_text(&plain(text)) {
                Some(number) => Ok(tr.number(number)),
                None => no(Id::MixedComparison, text, "a number is compared with a text that is not a number"),
            };
        }
        Expr::Literal(Literal::String(text))
            if partner.affinity.numeric() && number_in_text(&plain(text)).is_some() =>
        {
            return no(
                Id::MixedComparison,
                text,
                "under numeric affinity this text is a number, and the column is taken to hold other texts",
            );
        }
        _ => {}
    }
    if partner.ty == Ty::Text
        && let Some(number) = literal_number(expr)
    {
        tr.fire(Id::LiteralAffinity);
        return match (number, partner.affinity) {
            (Number::Int(n), Affinity::Text) => {
                push_text(&mut tr.out.sql, &n.to_string());
                Ok(Val::of(Ty::Text).never_null())
            }
            _ => no(Id::MixedComparison, "", "a text is compared with a number"),
        };
    }
    tr.expr(expr, Ty::Any)
}

/// Makes both operands comparable, or refuses.
pub(crate) fn agree(tr: &mut Tr, mut sides: Sides, order: bool) -> R<()> {
    let Sides { right_start, l, r, .. } = sides;
    match (l.ty, r.ty) {
        (Ty::Null, _) | (_, Ty::Null) => {}
        (Ty::Bool, Ty::Bool) => {}
        (Ty::Tagged, _) | (_, Ty::Tagged) => tagged::agree(tr, &sides)?,
        (Ty::Bool, t) if t.numeric() => {
            tr.fire(Id::Booleans);
            if tr.postgres {
                around_left(tr, &mut sides, "(", ")::int");
            }
        }
        (t, Ty::Bool) if t.numeric() => {
            tr.fire(Id::Booleans);
            if tr.postgres {
                tr.wrap(right_start, "(", ")::int");
            }
        }
        (Ty::Int | Ty::Number, Ty::Real) | (Ty::Real, Ty::Int | Ty::Number) if tr.postgres && tr.input.options.pack => {
            exactly(tr, &mut sides);
        }
        (Ty::Int, Ty::Real) | (Ty::Real, Ty::Int) => {
            tr.fire(Id::IntegerWithReal);
            // MariaDB searches an integer key with the rounded value of a real.
            match l.ty {
                _ if tr.postgres => {}
                Ty::Int => around_left(tr, &mut sides, "(", " * 1e0)"),
                _ => tr.wrap(right_start, "(", " * 1e0)"),
            }
        }
        (a, b) if a.numeric() && b.numeric() => {}
        (Ty::Text, Ty::Text) => texts_agree(tr, &mut sides, order)?,
        (Ty::Blob, Ty::Blob) => {}
        (Ty::Text, Ty::Int) if (l.affinity, r.affinity) == (Affinity::Text, Affinity::None) => {
            if collation(l, r) == Collation::Rtrim {
                return no(Id::Collation, "", "a number is compared with a text under RTRIM");
            }
            if tr.postgres {
                tr.wrap(right_start, "(", ")::text");
                tr.put(if order && !l.bytewise { " COLLATE \"C\"" } else { "" });
            } else {
                tr.wrap(right_start, INTEGER_TEXT.0, INTEGER_TEXT.1);
            }
        }
        (Ty::Param, _) | (_, Ty::Param) => {
            return no(
                Id::Parameters,
                "",
                "a parameter is compared and nothing gives it a type; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        (a, b) => {
            return no(Id::MixedComparison, "", format!("{} is compared with {}", a.word(), b.word()));
        }
    }
    Ok(())
}

/// Compares an integer or a number of a NUMERIC column with a real as SQLite does. The server would make a double of it,
/// which is the same for integers below 2^53, and where the real is a literal below.
fn exactly(tr: &mut Tr, sides: &mut Sides) {
    let Sides { start, left_end, right_start, l, r } = *sides;
    let texts = [&tr.out.sql[start..left_end], &tr.out.sql[right_start..]];
    let is_small = |text: &str| text.trim_end_matches("::float8").parse().is_ok_and(|n: f64| n.abs() < EXACT);
    if l.narrow || r.narrow || texts.into_iter().any(is_small) {
        return;
    }
    let before = |ty: Ty| match ty {
        Ty::Real => "contend_sql.exact(",
        Ty::Number => "contend_sql.exact_number(",
        _ => "(",
    };
    tr.wrap(right_start, before(r.ty), ")");
    around_left(tr, sides, before(l.ty), ")");
}

/// Compares two texts under the collation that applies.
fn texts_agree(tr: &mut Tr, sides: &mut Sides, order: bool) -> R<()> {
    let Sides { l, r, .. } = *sides;
    tr.fire(Id::TextComparison);
    if order && let Err(refused) = texts_in_order(tr, l, r) {
        // The function pack distinguishes texts that are numbers from others.
        return if tr.input.options.pack { tagged::agree(tr, sides) } else { Err(refused) };
    }
    let (before, after) = match collation(l, r) {
        Collation::Binary => {
            if order && tr.postgres && !l.bytewise && !r.bytewise {
                tr.put(" COLLATE \"C\"");
            }
            return Ok(());
        }
        Collation::NoCase if tr.postgres => FOLD_POSTGRES,
        Collation::NoCase => FOLD_MARIADB,
        Collation::Rtrim if tr.postgres => ("rtrim((", ") COLLATE \"C\", ' ')"),
        Collation::Rtrim => ("RTRIM(", ")"),
    };
    tr.fire(Id::Collation);
    around_left(tr, sides, before, after);
    tr.wrap(sides.right_start, before, after);
    Ok(())
}

fn around_left(tr: &mut Tr, sides: &mut Sides, before: &str, after: &str) {
    tr.out.sql.insert_str(sides.left_end, after);
    tr.out.sql.insert_str(sides.start, before);
    sides.left_end += before.len() + after.len();
    sides.right_start += before.len() + after.len();
}

/// Refuses two texts whose order is not that of their bytes: under NUMERIC affinity, numeric text compares as a number,
/// i.e. below all text.
fn texts_in_order(tr: &mut Tr, l: Val, r: Val) -> R<()> {
    let number = |text: Val, partner: Val| {
        text.ty == Ty::Text && partner.ty == Ty::Text && partner.affinity.numeric() && !text.affinity.numeric()
    };
    if !number(l, r) && !number(r, l) {
        return Ok(());
    }
    if number(l, r) && !l.wordy || number(r, l) && !r.wordy {
        return no(
            Id::MixedComparison,
            "",
            "under numeric affinity a text that is a number is less than the column's texts",
        );
    }
    if !tr.out.slots.is_empty() {
        tr.fire(Id::TextsInNumericColumns);
    }
    Ok(())
}

fn compare_rows<'a>(tr: &mut Tr<'a>, left: &'a [Expr<'a>], op: Operator, right: &'a [Expr<'a>]) -> R<Val> {
    tr.fire(Id::RowValues);
    if left.len() != right.len() {
        return no(Id::RowValues, "", "rows of different length are compared");
    }
    // A row comparison is written out: (a, b) < (c, d) is a <= c AND (a < c OR b < d). It avoids `=` next to OR:
    // MariaDB 10.11 then loses rows if an EXISTS of the same column follows.
    let (strict, loose) = match op {
        Operator::Equals | Operator::NotEquals | Operator::Is | Operator::IsNot => (op, op),
        Operator::Less | Operator::LessEquals => (Operator::Less, Operator::LessEquals),
        Operator::Greater | Operator::GreaterEquals => (Operator::Greater, Operator::GreaterEquals),
        _ => return no(Id::RowValues, "", "this operator on rows"),
    };
    let start = tr.at();
    let pairs = || left.iter().zip(right);
    if strict == loose {
        let any = matches!(op, Operator::NotEquals | Operator::IsNot);
        for (i, (l, r)) in pairs().enumerate() {
            if i > 0 {
                tr.put(if any { " OR " } else { " AND " });
            }
            let from = tr.at();
            let mut value = match is_truth(tr, r)? {
                // In a row, they are numbers.
                true => compare_two(tr, l, op, r)?,
                false => compare(tr, l, op, r)?,
            };
            tr.enclose(from, &mut value, Strength::Comparison);
        }
        tr.wrap(start, "(", ")");
        return Ok(Val::of(Ty::Bool));
    }
    for (i, (l, r)) in pairs().enumerate() {
        tr.put("(");
        if i + 1 == left.len() {
            compare(tr, l, op, r)?;
            break;
        }
        compare(tr, l, loose, r)?;
        tr.put(" AND (");
        compare(tr, l, strict, r)?;
        tr.put(" OR ");
    }
    for i in 0..left.len() {
        tr.put(if i + 1 == left.len() { ")" } else { "))" });
    }
    Ok(Val::of(Ty::Bool))
}

pub(crate) fn between<'a>(
    tr: &mut Tr<'a>,
    lhs: &'a Expr<'a>,
    not: bool,
    low: &'a Expr<'a>,
    high: &'a Expr<'a>,
) -> R<Val> {
    let (start, mark) = (tr.at(), tr.mark());
    // Each bound converts a literal or parameter by its own affinity.
    let mut alike = true;
    let l = match adapts(lhs) {
        true => {
            let [of_low, of_high] = [tr.probe(low)?, tr.probe(high)?];
            alike = (of_low.ty, of_low.affinity) == (of_high.ty, of_high.affinity);
            operand(tr, lhs, if adapts(low) { of_high } else { of_low })?
        }
        false => tr.value(lhs, Ty::Any)?,
    };
    let probed_low = probe_operand(tr, low, l)?;
    let probed_high = probe_operand(tr, high, l)?;
    let ordered = [probed_low, probed_high].into_iter().all(|bound| texts_in_order(tr, l, bound).is_ok());
    let plain = |v: Val| collation(l, v) == Collation::Binary && v.ty == l.ty;
    let simple = !matches!(l.ty, Ty::Bool | Ty::Tagged | Ty::Param | Ty::Any)
        && ![l, probed_low, probed_high].iter().any(|v| v.ty == Ty::Null);
    if !(alike && simple && ordered && plain(probed_low) && plain(probed_high)) {
        // The bounds differ: written as two comparisons.
        tr.back_to(mark);
        tr.put("(");
        compare(tr, lhs, Operator::GreaterEquals, low)?;
        tr.put(" AND ");
        compare(tr, lhs, Operator::LessEquals, high)?;
        tr.put(")");
        if not {
            tr.wrap(start, "NOT ", "");
        }
        return Ok(Val::of(Ty::Bool).with(if not { Strength::Not } else { Strength::Atom }));
    }
    let mut value = l;
    tr.enclose(start, &mut value, Strength::Atom);
    if l.ty == Ty::Text && tr.postgres && !l.bytewise {
        tr.put(" COLLATE \"C\"");
    }
    tr.put(if not { " NOT BETWEEN " } else { " BETWEEN " });
    for (i, bound) in [low, high].into_iter().enumerate() {
        if i > 0 {
            tr.put(" AND ");
        }
        let from = tr.at();
        let mut value = operand(tr, bound, l)?;
        value = tr.as_integer(from, value);
        tr.enclose(from, &mut value, Strength::Atom);
    }
    Ok(Val::of(Ty::Bool).with(Strength::Comparison))
}

pub(crate) fn probe_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, partner: Val) -> R<Val> {
    let mark = tr.mark();
    let value = operand(tr, expr, partner);
    tr.back_to(mark);
    value
}

pub(crate) fn null_test<'a>(tr: &mut Tr<'a>, inner: &'a Expr<'a>, test: &str) -> R<Val> {
    let start = tr.at();
    let mut value = tr.expr(inner, Ty::Any)?;
    if value.ty == Ty::Param && tr.postgres {
        // The type does not matter for the test, but the server requires one.
        tr.put("::text");
        value.strength = Strength::Operator;
    }
    tr.enclose(start, &mut value, Strength::Operator);
    tr.put(test);
    Ok(Val::of(Ty::Bool).never_null().with(Strength::Comparison))
}

/// Whether a server compares the two types as SQLite does.
pub(crate) fn alike(one: Ty, other: Ty) -> bool {
    if one == Ty::Tagged || other == Ty::Tagged {
        return false;
    }
    one == other && one != Ty::Any || one.numeric() && other.numeric() || one == Ty::Null || other == Ty::Null
}
