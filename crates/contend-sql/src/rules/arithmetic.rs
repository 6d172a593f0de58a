//! Arithmetic, bits and concatenation.

use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Operator};
use crate::reals::{has_17_digits, sure_text};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, tagged};
use crate::types::{Affinity, EXACT, Number, Sides, Strength, Ty, Val, integer_prefix, number_in_text};

/// Most operators in a chain: SQLite's limit on the depth of an expression.
const CHAIN_MAX: usize = 1_000;

/// Around a real that is written or rounded to digits: an error where an older SQLite may do it differently.
pub(crate) fn sure(tr: &mut Tr, start: usize, digits: i64) {
    if tr.input.options.pack && tr.input.options.is_older() {
        tr.wrap(start, "contend_sql.sure(", &format!(", {digits})"));
    }
}

/// Writes the text of a real around it, in the digits of the program's version of SQLite.
pub(crate) fn real_text(tr: &mut Tr, start: usize) {
    let is_old = tr.postgres && !has_17_digits(tr.input.options.sqlite);
    tr.wrap(start, if is_old { "contend_sql.old_real_text(" } else { "contend_sql.real_text(" }, ")");
}

/// Writes the text of a real that is known.
pub(crate) fn literal_text(tr: &mut Tr, n: f64) -> R<()> {
    let Some(text) = sure_text(n, tr.input.options.sqlite) else {
        return no(Id::RealAsText, &n.to_string(), "its text, whose last digit SQLite computes in too few bits");
    };
    push_text(&mut tr.out.sql, &text);
    Ok(())
}

/// Writes a numeric operand. A text literal is replaced by the number that SQLite reads from it.
pub(crate) fn numeric_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    number_operand(tr, expr, want, false)
}

/// As [`numeric_operand`], of a function for which it does not matter whether a number is an integer.
pub(crate) fn decimal_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    let is_literal = matches!(bare(expr), Expr::Literal(_));
    if is_literal || tr.probe_value(expr)?.ty != Ty::Number {
        return numeric_operand(tr, expr, want);
    }
    let start = tr.at();
    let mut value = tr.value(expr, want)?;
    tr.enclose(start, &mut value, Strength::Atom);
    Ok(value)
}

/// Whether it is a literal text that is no number: some functions do not read it as the integer 0.
pub(crate) fn is_word(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Literal(Literal::String(text)) if number_in_text(&plain(text)).is_none())
}

/// As [`numeric_operand`], of a sum, to which a text that is no number is a real.
pub(crate) fn summand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    let is_word = is_word(expr);
    let start = tr.at();
    let value = numeric_operand(tr, expr, Ty::Int)?;
    if !is_word {
        return Ok(value);
    }
    tr.out.sql.truncate(start);
    Ok(tr.number(Number::Real(0.0)))
}

/// Writes an operand of `+` and similar operators, for which SQLite reads the number at the beginning of any text.
pub(crate) fn arithmetic_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    number_operand(tr, expr, want, true)
}

/// Writes the number that SQLite reads from a text literal.
fn literal_operand(tr: &mut Tr, text: &str) -> R<Val> {
    tr.fire(Id::TextAsNumber);
    match number_in_text(text) {
        Some(number) => Ok(tr.number(number)),
        None if text.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => {
            no(Id::TextAsNumber, "", "arithmetic on a text that begins like a number")
        }
        None => Ok(tr.number(Number::Int(0))),
    }
}

fn number_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty, texts: bool) -> R<Val> {
    if let Expr::Literal(Literal::String(text)) = bare(expr) {
        return literal_operand(tr, &plain(text));
    }
    let (start, slots) = (tr.at(), tr.out.slots.len());
    let mut value = tr.value(expr, want)?;
    match value.ty {
        // To MariaDB, a bound NULL in arithmetic is a real.
        Ty::Int if !tr.postgres && tr.out.slots.len() > slots => {
            tr.wrap(start, "CAST(", " AS SIGNED)");
            value.strength = Strength::Atom;
        }
        Ty::Int | Ty::Real => {}
        Ty::Null => {
            // PostgreSQL has no type for an operator whose operands are all NULL, and MariaDB has reals.
            tr.enclose(start, &mut value, Strength::Atom);
            match tr.postgres {
                true => tr.put("::bigint"),
                false => tr.wrap(start, "CAST(", " AS SIGNED)"),
            }
        }
        Ty::Text if texts && value.digits => {
            tr.fire(Id::TextAsNumber);
            if tr.postgres {
                tr.wrap(start, "(", ")::bigint");
                value.strength = Strength::Operator;
            } else {
                tr.wrap(start, "CAST(", " AS SIGNED)");
                value.strength = Strength::Atom;
            }
            value = Val { nullable: value.nullable, strength: value.strength, ..Val::of(Ty::Int) };
        }
        Ty::Text if texts && tr.input.options.pack => {
            tr.fire(Id::TextArithmetic);
            tr.wrap(start, "contend_sql.text_number(", ")");
            value = Val { nullable: value.nullable, ..Val::of(Ty::Int) };
        }
        Ty::Param => {
            return no(Id::Parameters, "", "nothing here gives the parameter a type; write CAST(? AS INTEGER)");
        }
        Ty::Tagged if texts => {}
        Ty::Number if texts && tr.postgres && tr.input.options.pack => {}
        Ty::Number => {
            return no(
                Id::NumericColumns,
                "",
                "arithmetic on a column that may hold integers or reals: what / and overflow do depends on the row",
            );
        }
        other => {
            return no(
                Id::TextAsNumber,
                "",
                format!("arithmetic on {}: its text would be read as a number", other.word()),
            );
        }
    }
    tr.enclose(start, &mut value, Strength::Atom);
    Ok(value)
}

/// `+`, `-`, `*`, `/`, `%`. The left operand is written iteratively, so that a long chain is not deep.
pub(crate) fn arithmetic<'a>(
    tr: &mut Tr<'a>,
    left: &'a Expr<'a>,
    op: Operator,
    right: &'a Expr<'a>,
    want: Ty,
) -> R<Val> {
    let start = tr.at();
    let hint = if matches!(want, Ty::Real) { Ty::Real } else { Ty::Int };
    let mut steps = vec![(op, right)];
    let mut first = left;
    while let Expr::Binary(l, o, r) = first
        && is_arithmetic(*o)
        && !tr.groups_by(first)
    {
        steps.push((*o, *r));
        first = l;
    }
    if steps.len() > CHAIN_MAX {
        return no(
            Id::Depth,
            "",
            format!("more than {CHAIN_MAX} operators in a row, which SQLite does not accept either"),
        );
    }
    let first_hint = match (bare(first), steps.last()) {
        (Expr::Variable(_), Some(&(_, second))) => match probe_numeric(tr, second)? {
            // A parameter has the type of its value there.
            Ty::Tagged | Ty::Number => Ty::Any,
            ty if ty.numeric() => ty,
            _ => hint,
        },
        _ => hint,
    };
    let mut value = factor(tr, (steps.last().map_or(op, |step| step.0), first), first_hint)?;
    while let Some(step) = steps.pop() {
        tr.enclose(start, &mut value, Strength::Atom);
        value = arithmetic_step(tr, start, value, step, hint)?;
    }
    Ok(value)
}

/// Writes an operand of an operator. `%` reads the digits at the beginning of a text that is a real, and is a real.
fn factor<'a>(tr: &mut Tr<'a>, (op, expr): (Operator, &'a Expr<'a>), want: Ty) -> R<Val> {
    let Expr::Literal(Literal::String(text)) = bare(expr) else { return arithmetic_operand(tr, expr, want) };
    let text = plain(text);
    match (op, number_in_text(&text)) {
        (Operator::Modulus, Some(Number::Real(_))) => {
            let digits = integer_prefix(&text) as f64;
            if digits.abs() >= EXACT {
                return no(Id::TextAsNumber, "", "% of a text with more than 15 digits");
            }
            tr.fire(Id::TextAsNumber);
            Ok(tr.number(Number::Real(digits)))
        }
        _ => arithmetic_operand(tr, expr, want),
    }
}

/// Writes an operator and its right operand, after the left one, which begins at `start`.
fn arithmetic_step<'a>(
    tr: &mut Tr<'a>,
    start: usize,
    mut l: Val,
    (op, right): (Operator, &'a Expr<'a>),
    hint: Ty,
) -> R<Val> {
    let right_hint = match l.ty {
        Ty::Null => hint,
        Ty::Tagged | Ty::Number => Ty::Any,
        known => known,
    };
    let left_end = tr.at();
    let symbol = match op {
        Operator::Add => " + ",
        Operator::Subtract => " - ",
        Operator::Multiply => " * ",
        Operator::Divide => " / ",
        _ => " % ",
    };
    tr.put(symbol);
    let right_start = tr.at();
    let r = factor(tr, (op, right), right_hint)?;
    let several = |value: Val| matches!(value.ty, Ty::Tagged | Ty::Number);
    if several(l) || several(r) {
        return tagged::arithmetic(tr, op, Sides { start, left_end, right_start, l, r });
    }
    let real = l.ty == Ty::Real || r.ty == Ty::Real;
    if op == Operator::Modulus && real {
        return Ok(real_modulus(tr, Sides { start, left_end, right_start, l, r }));
    }
    match op {
        Operator::Divide | Operator::Modulus => {
            tr.fire(Id::Division);
            if !matches!(literal_number(right), Some(n) if n != Number::Int(0) && n != Number::Real(0.0)) {
                tr.wrap(right_start, "NULLIF(", ", 0)");
            }
            if op == Operator::Divide && !real && !tr.postgres {
                tr.out.sql.replace_range(left_end..left_end + 3, " DIV ");
            }
        }
        _ => {}
    }
    if real {
        tr.fire(Id::Reals);
    } else if op != Operator::Modulus {
        tr.fire(Id::Overflow);
    }
    if tr.postgres && !real && l.narrow && (r.narrow || r.ty == Ty::Null) {
        tr.out.sql.insert_str(left_end, "::bigint");
        l.narrow = false;
    }
    let ty = if real { Ty::Real } else { Ty::Int };
    let nullable = l.nullable || r.nullable || matches!(op, Operator::Divide | Operator::Modulus);
    Ok(Val { nullable, ..Val::of(ty).with(Strength::Operator) })
}

/// `%` of reals: both operands are truncated to integers, and the result is a real.
fn real_modulus(tr: &mut Tr, sides: Sides) -> Val {
    let Sides { start, left_end, right_start, l, r } = sides;
    tr.fire(Id::Modulus);
    let cut = |sql: &str, ty: Ty, postgres: bool| match (ty, postgres) {
        (Ty::Real, true) => format!("trunc({sql})::bigint"),
        (Ty::Real, false) => format!("CAST(TRUNCATE({sql}, 0) AS SIGNED)"),
        _ => sql.to_string(),
    };
    let right = cut(&tr.out.sql[right_start..], r.ty, tr.postgres);
    let left = cut(&tr.out.sql[start..left_end], l.ty, tr.postgres);
    tr.out.sql.truncate(start);
    let sql = match tr.postgres {
        true => format!("({left} % NULLIF({right}, 0))::float8"),
        false => format!("CAST(({left} % NULLIF({right}, 0)) AS DOUBLE)"),
    };
    tr.put(&sql);
    Val::of(Ty::Real).with(Strength::Operator)
}

fn probe_numeric<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Ty> {
    let mark = tr.mark();
    let value = arithmetic_operand(tr, expr, Ty::Int);
    tr.back_to(mark);
    Ok(value?.ty)
}

pub(crate) fn bits<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    tr.fire(Id::Bits);
    let start = tr.at();
    let mut l = numeric_operand(tr, left, Ty::Int)?;
    if tr.postgres && l.narrow {
        tr.put("::bigint");
        l.narrow = false;
    }
    let shift = matches!(op, Operator::LeftShift | Operator::RightShift);
    if shift {
        let Some(count) = constant(right) else {
            return no(Id::Bits, "", "a shift by anything but a literal number");
        };
        if l.ty != Ty::Int {
            return no(Id::Bits, "", "only integers have bits");
        }
        // A negative shift goes in the other direction; a shift by 64 or more leaves the sign, or 0.
        let right_shift = (op == Operator::RightShift) == (count >= 0);
        let count = count.unsigned_abs().min(64);
        if !right_shift && count == 64 {
            tr.wrap(start, "(", " * 0)");
            return Ok(Val { nullable: l.nullable, ..Val::of(Ty::Int) });
        }
        let count = count.min(63) as i64;
        if right_shift && !tr.postgres {
            // MariaDB's bit operators are unsigned, so the smallest integer needs a special case.
            if count > 0 {
                let behind = format!(" ^ 9223372036854775808) >> {count} AS SIGNED) - {})", 1u64 << (63 - count));
                tr.wrap(start, "(CAST((", &behind);
            }
            return Ok(Val { nullable: l.nullable, ..Val::of(Ty::Int) });
        }
        tr.put(if right_shift { " >> " } else { " << " });
        tr.number(Number::Int(count));
    } else {
        tr.put(if op == Operator::BitwiseAnd { " & " } else { " | " });
        let r = numeric_operand(tr, right, Ty::Int)?;
        if r.ty == Ty::Real {
            return no(Id::Bits, "", "only integers have bits");
        }
        l.nullable |= r.nullable;
    }
    if l.ty == Ty::Real {
        return no(Id::Bits, "", "only integers have bits");
    }
    if !tr.postgres {
        tr.wrap(start, "CAST(", " AS SIGNED)");
    }
    Ok(Val { nullable: l.nullable, ..Val::of(Ty::Int).with(Strength::Operator) })
}

/// `||`; chains are written without nesting.
pub(crate) fn concat<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, right: &'a Expr<'a>) -> R<Val> {
    tr.fire(Id::Concat);
    let mut parts = vec![right];
    let mut first = left;
    while let Expr::Binary(l, Operator::Concat, r) = first {
        parts.push(r);
        first = l;
    }
    parts.push(first);
    if !tr.postgres {
        tr.put("CONCAT(");
    }
    let mut result = Val::of(Ty::Text).never_null();
    for (i, part) in parts.into_iter().rev().enumerate() {
        if i > 0 {
            tr.either(" || ", ", ");
        }
        let value = text_operand(tr, part)?;
        result.nullable |= value.nullable;
        result.bytewise |= value.bytewise;
        result.wordy |= i == 0 && is_date(part);
    }
    if !tr.postgres {
        tr.put(")");
    } else {
        result.strength = Strength::Operator;
    }
    Ok(result)
}

/// Writes a value converted to text, as SQLite does it.
pub(crate) fn text_operand<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    text_by(tr, expr, "contend_sql.tagged_text(")
}

/// The same, but a blob among values of several types is an error: what is made of it would be no text.
pub(crate) fn characters<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    text_by(tr, expr, "contend_sql.tagged_characters(")
}

fn text_by<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, of_tagged: &str) -> R<Val> {
    let start = tr.at();
    let mut value = tr.value(expr, Ty::Text)?;
    match value.ty {
        Ty::Text => {}
        Ty::Param => {
            return no(Id::Parameters, "", "nothing here gives the parameter a type; write CAST(? AS TEXT)");
        }
        Ty::Null => {
            if tr.postgres {
                tr.put("::text");
            }
        }
        Ty::Int => {
            tr.enclose(start, &mut value, Strength::Atom);
            if tr.postgres {
                tr.put("::text");
            } else {
                // With a length: MariaDB 10.11 takes the length of a quotient from the dividend and truncates the
                // result.
                tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1);
            }
        }
        Ty::Real if literal_number(expr).is_some() => {
            tr.out.sql.truncate(start);
            if let Some(Number::Real(n)) = literal_number(expr) {
                literal_text(tr, n)?;
            }
            value.strength = Strength::Atom;
        }
        Ty::Real if tr.input.options.pack => {
            tr.fire(Id::RealAsText);
            real_text(tr, start);
        }
        Ty::Tagged => tr.wrap(start, of_tagged, ")"),
        Ty::Number if tr.input.options.pack => {
            tagged::tagged(tr, start, value)?;
            tr.wrap(start, "contend_sql.tagged_text(", ")");
            value.strength = Strength::Atom;
        }
        other => return no(Id::RealAsText, "", format!("the text of {}", other.word())),
    }
    tr.enclose(start, &mut value, Strength::Atom);
    value.wordy &= value.ty == Ty::Text;
    value.ty = Ty::Text;
    value.affinity = Affinity::None;
    value.narrow = false;
    Ok(value)
}

pub(crate) fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Modulus)
}

/// Whether texts that begin with this one are dates or times, so that none is a number.
fn is_date(expr: &Expr) -> bool {
    let Expr::FunctionCall { name, .. } = bare(expr) else { return false };
    ["date", "time", "datetime"].iter().any(|known| plain(name.0).eq_ignore_ascii_case(known))
}

/// The value of an integer expression of literals, `+`, `-` and `*`.
pub(crate) fn constant(expr: &Expr) -> Option<i64> {
    constant_below(expr, 0)
}

fn constant_below(expr: &Expr, depth: u8) -> Option<i64> {
    match bare(expr) {
        Expr::Binary(..) if depth > 16 => None,
        Expr::Binary(l, op, r) => {
            let (l, r) = (constant_below(l, depth + 1)?, constant_below(r, depth + 1)?);
            match op {
                Operator::Add => l.checked_add(r),
                Operator::Subtract => l.checked_sub(r),
                Operator::Multiply => l.checked_mul(r),
                _ => None,
            }
        }
        expr => match literal_number(expr) {
            Some(Number::Int(n)) => Some(n),
            _ => None,
        },
    }
}
