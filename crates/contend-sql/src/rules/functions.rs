//! Scalar functions. All others are refused.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::aggregates::Call;
use crate::rules::literals::literal_number;
use crate::rules::{
    Id, aggregates, arithmetic, choices, dates, django, json, maths, printf, session, tagged, texts, wordpress, words,
};
use crate::types::collation;
use crate::types::{Affinity, Collation, Number, Strength, Ty, Val, plain_result};

/// A real rounded to some digits, halves away from zero, based on the exact value of the double.
fn rounded(n: f64, digits: usize) -> f64 {
    if !n.is_finite() {
        return n;
    }
    let exact = format!("{:.80}", n.abs());
    let point = exact.find('.').unwrap_or(exact.len());
    let (kept, next) = (&exact[..point + 1 + digits], exact.as_bytes().get(point + 1 + digits));
    let mut kept: Vec<u8> = kept.bytes().collect();
    if next.is_some_and(|d| *d >= b'5') {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, b'1');
                break;
            }
            at -= 1;
            match kept[at] {
                b'.' => {}
                b'9' => kept[at] = b'0',
                _ => {
                    kept[at] += 1;
                    break;
                }
            }
        }
    }
    let value: f64 = String::from_utf8(kept).ok().and_then(|text| text.parse().ok()).unwrap_or(n.abs());
    value.copysign(n)
}

pub(crate) fn call<'a>(tr: &mut Tr<'a>, call: Call<'a>, want: Ty) -> R<Val> {
    let Call { token, args, .. } = call;
    let name = plain(token).to_ascii_lowercase();
    if let Some(value) = aggregates::aggregate(tr, &name, call)? {
        return Ok(value);
    }
    if call.distinct.is_some() || call.order.is_some() || call.tail.is_some() {
        return no(Id::Functions, token, format!("`{name}` with DISTINCT, ORDER BY, FILTER or OVER"));
    }
    if name.starts_with("json")
        && let Some(value) = json::json_function(tr, &name, token, args)?
    {
        return Ok(value);
    }
    if let Some(value) = dates::date_function(tr, &name, token, args)? {
        return Ok(value);
    }
    if let Some(value) = django::django_function(tr, &name, token, args)? {
        return Ok(value);
    }
    if let Some(value) = maths::function(tr, &name, token, args)? {
        return Ok(value);
    }
    tr.fire(Id::Functions);
    scalar(tr, &name, token, args, want)
}

/// Translates a scalar function by its name.
fn scalar<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
    match (name, args) {
        ("ifnull", [_, _]) | ("coalesce", [_, _, ..]) => coalesce(tr, args, want),
        ("iif" | "if", [_, _, ..]) => {
            // Conditions with their values; an odd last argument is the default.
            let (pairs, otherwise) = args.as_chunks();
            choices::case(tr, None, pairs.iter().map(|[condition, then]| (condition, then)), otherwise.first(), want)
        }
        ("nullif", [one, other]) => choices::nullif(tr, token, one, other, want),
        ("max" | "min", [_, _, ..]) => extreme(tr, name, args, want),
        ("likely" | "unlikely", [one]) | ("likelihood", [one, _]) => {
            let value = tr.expr(one, want)?;
            Ok(Val { affinity: Affinity::None, ..value })
        }
        ("abs", [one]) => abs(tr, one, want),
        ("sign", [one]) => sign(tr, one),
        ("round", [one]) | ("round", [one, _]) => round(tr, token, one, args.get(1)),
        ("random", []) => Ok(random(tr)),
        ("last_insert_rowid" | "changes" | "total_changes", []) => session::value(tr, name, token),
        ("lower" | "upper", [one]) => words::in_case(tr, name, token, one),
        ("length" | "char_length" | "octet_length", [one]) => texts::length(tr, name, one),
        ("trim" | "ltrim" | "rtrim", [one]) => words::trimmed(tr, name, one),
        ("trim" | "ltrim" | "rtrim", [one, set]) if tr.postgres => words::trimmed_of(tr, name, one, set),
        ("trim" | "ltrim" | "rtrim", [one, Expr::Literal(Literal::String(set))]) => {
            words::trimmed_by_pattern(tr, name, token, one, &plain(set))
        }
        ("substr" | "substring", [_, _] | [_, _, _]) => texts::substr(tr, token, args),
        ("instr", [text, part]) => words::instr(tr, text, part),
        ("replace", [text, from, to]) => words::text_replaced(tr, text, from, to),
        ("concat", [_, ..]) => words::texts_joined(tr, args),
        ("printf" | "format", [_, ..]) => printf::printf(tr, token, args),
        ("quote", [one]) => texts::quote(tr, one),
        ("char", [_, ..]) => texts::char(tr, token, args),
        ("unicode", [one]) => words::unicode(tr, one),
        ("hex", [one]) => texts::hex(tr, one),
        ("unhex", [Expr::Literal(Literal::String(text))]) => words::unhex(tr, token, &plain(text)),
        ("zeroblob" | "randomblob", [one]) => texts::made_blob(tr, name, token, one),
        ("typeof", [one]) => texts::type_of(tr, one),
        _ => match wordpress::wordpress_function(tr, name, token, args)? {
            Some(value) => Ok(value),
            None => no(
                Id::Functions,
                token,
                format!("the function `{name}` with {} arguments has no translation", args.len()),
            ),
        },
    }
}

fn abs<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>, want: Ty) -> R<Val> {
    // It treats a text as a real, whatever its content.
    if tr.probe(one)?.ty == Ty::Text {
        if !tr.input.options.pack {
            return no(Id::Functions, "abs", "abs() of a text, without the function pack");
        }
        tr.put("abs(contend_sql.text_real(");
        let value = tr.value(one, Ty::Text)?;
        tr.put("))");
        return Ok(Val { nullable: value.nullable, ..Val::of(Ty::Real) });
    }
    tr.put("abs(");
    let value = arithmetic::decimal_operand(tr, one, if want == Ty::Real { Ty::Real } else { Ty::Int })?;
    tr.put(")");
    Ok(Val { narrow: false, ..plain_result(value, value.ty) })
}

fn sign<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>) -> R<Val> {
    if arithmetic::is_word(one) {
        tr.fire(Id::TextAsNumber);
        tr.either("NULL::bigint", "CAST(NULL AS SIGNED)");
        return Ok(Val { nullable: true, ..Val::of(Ty::Int).with(Strength::Operator) });
    }
    let start = tr.at();
    let value = arithmetic::decimal_operand(tr, one, Ty::Int)?;
    tr.wrap(start, "sign(", if tr.postgres { ")::bigint" } else { ")" });
    let strength = if tr.postgres { Strength::Operator } else { Strength::Atom };
    Ok(plain_result(value, Ty::Int).with(strength))
}

fn random(tr: &mut Tr) -> Val {
    tr.fire(Id::Random);
    tr.either(
        "(('x' || encode(uuid_send(gen_random_uuid()), 'hex'))::bit(64)::bigint)",
        "CAST(FLOOR(RAND() * 18446744073709551615) - 9223372036854775808 AS SIGNED)",
    );
    Val::of(Ty::Int).never_null()
}

fn coalesce<'a>(tr: &mut Tr<'a>, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
    choices::alternatives(tr, |tr, so_far| coalesce_as(tr, args, want, so_far))
}

fn coalesce_as<'a>(tr: &mut Tr<'a>, args: &'a [Expr<'a>], want: Ty, mut result: Option<Val>) -> R<Val> {
    tr.put("COALESCE(");
    let mut nullable = true;
    let hint = choices::typed_by_others(tr, &args.iter().collect::<Vec<_>>(), want)?;
    let tagged = result;
    tr.list(args, |tr, arg| {
        let mut one = tagged;
        choices::branch(tr, arg, hint, &mut one)?;
        let one = one.expect("a branch was written");
        nullable &= one.nullable;
        result = Some(match result {
            None => one,
            Some(known) => crate::rules::choices::unify(known, one)?,
        });
        Ok(())
    })?;
    tr.put(")");
    let mut value = result.expect("there are arguments");
    value.nullable = nullable;
    Ok(value)
}

/// max() and min() with several arguments: NULL if one is NULL.
fn extreme<'a>(tr: &mut Tr<'a>, name: &str, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
    choices::alternatives(tr, |tr, so_far| match so_far {
        None => greatest(tr, name, args, want),
        Some(_) => tagged::greatest(tr, name, args),
    })
}

fn greatest<'a>(tr: &mut Tr<'a>, name: &str, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
    let start = tr.at();
    let mut result: Option<Val> = None;
    let mut nullable = false;
    let mut parts: Vec<(usize, usize, bool)> = vec![];
    let mut hint = want;
    for arg in args.iter().filter(|a| !matches!(a, Expr::Variable(_))).take(1) {
        hint = tr.probe(arg)?.ty;
    }
    tr.put(if name == "max" { "GREATEST(" } else { "LEAST(" });
    tr.list(args, |tr, arg| {
        let from = tr.at();
        let mut one = tr.value(arg, hint)?;
        if one.ty == Ty::Text && (tr.postgres && !one.bytewise) {
            tr.enclose(from, &mut one, Strength::Atom);
            tr.put(" COLLATE \"C\"");
        }
        if one.ty == Ty::Text && collation(one, one) != Collation::Binary {
            return no(Id::Collation, name, "max() or min() under a collation that ignores case");
        }
        parts.push((from, tr.at(), one.nullable));
        nullable |= one.nullable;
        result = Some(match result {
            None => one,
            Some(known) => crate::rules::choices::unify(known, one)?,
        });
        Ok(())
    })?;
    tr.put(")");
    let value = result.expect("there are arguments");
    if value.ty == Ty::Tagged {
        return no(Id::MixedTypes, "", format!("{name}() of values {}", value.ty.word()));
    }
    if matches!(value.ty, Ty::Param | Ty::Any | Ty::Bool) {
        return no(Id::Functions, name, format!("{name}() of values whose type is not known"));
    }
    if tr.postgres && nullable {
        // GREATEST and LEAST ignore NULL here.
        let tests: Vec<String> = parts
            .iter()
            .filter(|(.., nullable)| *nullable)
            .map(|(from, to, _)| format!("({}) IS NULL", &tr.out.sql[*from..*to]))
            .collect();
        let before = format!("CASE WHEN {} THEN NULL ELSE ", tests.join(" OR "));
        tr.wrap(start, &before, " END");
    }
    if !tr.postgres && nullable && value.ty == Ty::Int {
        // With NULL alone as an argument, the largest is a real.
        tr.wrap(start, "CAST(", " AS SIGNED)");
    }
    Ok(Val { affinity: Affinity::None, column: false, nullable, strength: Strength::Atom, ..value })
}

fn round<'a>(tr: &mut Tr<'a>, token: &str, one: &'a Expr<'a>, digits: Option<&'a Expr<'a>>) -> R<Val> {
    let (start, slots) = (tr.at(), tr.out.slots.len());
    let mut value = arithmetic::decimal_operand(tr, one, Ty::Real)?;
    if value.ty == Ty::Number {
        tr.wrap(start, "(", if tr.postgres { ")::float8" } else { " * 1e0)" });
        value.ty = Ty::Real;
        tr.enclose(start, &mut value, Strength::Atom);
    }
    if value.ty == Ty::Int && !tr.postgres && tr.out.slots.len() > slots {
        return no(Id::Functions, token, "MariaDB answers with the type of the parameter in it; write CAST(? AS REAL)");
    }
    let digits = match digits.map(literal_number) {
        None => 0,
        Some(Some(Number::Int(n))) if n <= 15 => n.max(0),
        Some(_) => return no(Id::Functions, token, "round() to a number of digits that is not 0 to 15"),
    };
    // SQLite rounds halves away from zero: to an integer by adding a half, to digits by the exact decimal value of
    // the double, which no server's round() uses.
    match (value.ty, tr.postgres) {
        (Ty::Int, true) => tr.wrap(start, "(", ")::float8"),
        (Ty::Int, false) => tr.wrap(start, "(", " * 1e0)"),
        (Ty::Real, _) if digits > 0 => match literal_number(one) {
            Some(Number::Real(n)) if !tr.input.options.is_older() => {
                tr.out.sql.truncate(start);
                return Ok(tr.number(Number::Real(rounded(n, digits as usize))));
            }
            _ if tr.input.options.pack => {
                let function = if tr.postgres { "contend_sql.round(" } else { "contend_sql.rounded(" };
                arithmetic::sure(tr, start, digits);
                tr.wrap(start, function, &format!(", {digits})"));
                return Ok(plain_result(value, Ty::Real));
            }
            _ => return no(Id::Functions, token, "round() of a real to digits, without the function pack"),
        },
        (_, postgres) => {
            let n = tr.out.sql.split_off(start);
            let half = if postgres { "0.5::float8" } else { "0.5e0" };
            tr.out.sql.push_str(&format!(
                "(CASE WHEN abs({n}) < 4503599627370496 THEN sign({n}) * floor(abs({n}) + {half}) + 0 ELSE {n} END)"
            ));
            return Ok(plain_result(value, Ty::Real));
        }
    }
    tr.fire(Id::Reals);
    let strength = if tr.postgres { Strength::Operator } else { Strength::Atom };
    Ok(plain_result(value, Ty::Real).with(strength))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn literals_are_rounded_by_their_exact_value() {
        assert_eq!(rounded(2.675, 2), 2.67);
        assert_eq!(rounded(0.125, 2), 0.13);
        assert_eq!(rounded(-9.995, 2), -9.99);
        assert_eq!(rounded(99.99, 1), 100.0);
    }
}
