//! Scalar functions. A function that is not here is refused.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Distinctness, Expr, FunctionCallOrder, FunctionTail, Literal};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::collation;
use crate::rules::expr::literal_number;
use crate::types::{Affinity, Collation, Number, Strength, Ty, Val};

/// A real rounded to digits after the point, halves away from zero, as the exact value of the double decides.
pub(crate) fn rounded(n: f64, digits: usize) -> f64 {
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

impl<'a> Tr<'a> {
    pub(crate) fn call(
        &mut self,
        token: &'a str,
        distinct: Option<Distinctness>,
        args: &'a [Expr<'a>],
        order: Option<&'a FunctionCallOrder<'a>>,
        tail: Option<&'a FunctionTail<'a>>,
        want: Ty,
    ) -> R<Val> {
        let name = plain(token).to_ascii_lowercase();
        if let Some(value) = self.aggregate(&name, token, distinct, args, order, tail)? {
            return Ok(value);
        }
        if distinct.is_some() || order.is_some() || tail.is_some() {
            return no(Id::Functions, token, format!("`{name}` with DISTINCT, ORDER BY, FILTER or OVER"));
        }
        if name.starts_with("json")
            && let Some(value) = self.json_function(&name, token, args)?
        {
            return Ok(value);
        }
        if let Some(value) = self.date_function(&name, token, args)? {
            return Ok(value);
        }
        self.fire(Id::Functions);
        self.scalar(&name, token, args, want)
    }

    /// A function of single values, to what knows it.
    fn scalar(&mut self, name: &str, token: &'a str, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
        match (name, args) {
            ("ifnull", [_, _]) | ("coalesce", [_, _, ..]) => self.coalesce(args, want),
            ("iif" | "if", [_, _, ..]) => {
                // Conditions, each with its value; an odd one in the end is the value where none holds.
                let (pairs, otherwise) = args.as_chunks();
                self.case(None, pairs.iter().map(|[condition, then]| (condition, then)), otherwise.first(), want)
            }
            ("nullif", [one, other]) => self.nullif(token, one, other, want),
            ("max" | "min", [_, _, ..]) => self.greatest(name, args, want),
            ("likely" | "unlikely", [one]) | ("likelihood", [one, _]) => {
                let value = self.expr(one, want)?;
                Ok(Val { affinity: Affinity::None, ..value })
            }
            ("abs", [one]) => self.abs(one, want),
            ("sign", [one]) => self.sign(one),
            ("round", [one]) | ("round", [one, _]) => self.round(token, one, args.get(1)),
            ("random", []) => Ok(self.random()),
            ("lower" | "upper", [one]) => self.in_case(name, token, one),
            ("length" | "char_length" | "octet_length", [one]) => self.length(name, one),
            ("trim" | "ltrim" | "rtrim", [one]) => self.trimmed(name, one),
            ("trim" | "ltrim" | "rtrim", [one, set]) if self.postgres => self.trimmed_of(name, one, set),
            ("trim" | "ltrim" | "rtrim", [one, Expr::Literal(Literal::String(set))]) => {
                self.trimmed_by_pattern(name, token, one, &plain(set))
            }
            ("substr" | "substring", [_, _] | [_, _, _]) => self.substr(token, args),
            ("instr", [text, part]) => self.instr(text, part),
            ("replace", [text, from, to]) => self.text_replaced(text, from, to),
            ("concat", [_, ..]) => self.texts_joined(args),
            ("printf" | "format", [_, ..]) => self.printf(token, args),
            ("quote", [one]) => self.quote(one),
            ("char", [_, ..]) => self.char(token, args),
            ("unicode", [one]) => self.unicode(one),
            ("hex", [one]) => self.hex(one),
            ("unhex", [Expr::Literal(Literal::String(text))]) => self.unhex(token, &plain(text)),
            ("zeroblob" | "randomblob", [one]) => self.made_blob(name, token, one),
            ("typeof", [one]) => self.type_of(one),
            _ => no(
                Id::Functions,
                token,
                format!("the function `{name}` with {} arguments has no translation", args.len()),
            ),
        }
    }

    fn abs(&mut self, one: &'a Expr<'a>, want: Ty) -> R<Val> {
        // A text is a real to it, whatever is in it.
        if self.probe(one)?.ty == Ty::Text {
            return no(Id::Functions, "abs", "abs() of a text");
        }
        self.put("abs(");
        let value = self.numeric_operand(one, if want == Ty::Real { Ty::Real } else { Ty::Int })?;
        self.put(")");
        Ok(Val { narrow: false, ..self.plain_result(value, value.ty) })
    }

    fn sign(&mut self, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.numeric_operand(one, Ty::Int)?;
        self.wrap(start, "sign(", if self.postgres { ")::bigint" } else { ")" });
        let strength = if self.postgres { Strength::Operator } else { Strength::Atom };
        Ok(self.plain_result(value, Ty::Int).with(strength))
    }

    fn random(&mut self) -> Val {
        self.fire(Id::Random);
        self.either(
            "(('x' || encode(uuid_send(gen_random_uuid()), 'hex'))::bit(64)::bigint)",
            "CAST(FLOOR(RAND() * 18446744073709551615) - 9223372036854775808 AS SIGNED)",
        );
        Val::of(Ty::Int).never_null()
    }

    /// A call's result: an atom without affinity that is NULL when its argument is.
    pub(crate) fn plain_result(&self, argument: Val, ty: Ty) -> Val {
        Val { nullable: argument.nullable, bytewise: argument.bytewise, ..Val::of(ty) }
    }

    pub(crate) fn coalesce(&mut self, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
        self.put("COALESCE(");
        let mut result: Option<Val> = None;
        let mut nullable = true;
        let hint = self.typed_by_others(&args.iter().collect::<Vec<_>>(), want)?;
        self.list(args, |tr, arg| {
            let mut one = None;
            tr.branch(arg, hint, &mut one)?;
            let one = one.expect("a branch was written");
            nullable &= one.nullable;
            result = Some(match result {
                None => one,
                Some(known) => crate::rules::choices::unify(known, one)?,
            });
            Ok(())
        })?;
        self.put(")");
        let mut value = result.expect("there are arguments");
        value.nullable = nullable;
        Ok(value)
    }

    /// max() and min() of several values: NULL if one is.
    pub(crate) fn greatest(&mut self, name: &str, args: &'a [Expr<'a>], want: Ty) -> R<Val> {
        let start = self.at();
        let mut result: Option<Val> = None;
        let mut nullable = false;
        let mut parts: Vec<(usize, usize, bool)> = vec![];
        let mut hint = want;
        for arg in args.iter().filter(|a| !matches!(a, Expr::Variable(_))).take(1) {
            hint = self.probe(arg)?.ty;
        }
        self.put(if name == "max" { "GREATEST(" } else { "LEAST(" });
        self.list(args, |tr, arg| {
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
        self.put(")");
        let value = result.expect("there are arguments");
        if matches!(value.ty, Ty::Param | Ty::Any | Ty::Bool) {
            return no(Id::Functions, name, format!("{name}() of values whose type is not known"));
        }
        if self.postgres && nullable {
            // GREATEST and LEAST leave NULLs out here.
            let tests: Vec<String> = parts
                .iter()
                .filter(|(.., nullable)| *nullable)
                .map(|(from, to, _)| format!("({}) IS NULL", &self.sql[*from..*to]))
                .collect();
            let before = format!("CASE WHEN {} THEN NULL ELSE ", tests.join(" OR "));
            self.wrap(start, &before, " END");
        }
        Ok(Val { affinity: Affinity::None, column: false, nullable, strength: Strength::Atom, ..value })
    }

    pub(crate) fn round(&mut self, token: &str, one: &'a Expr<'a>, digits: Option<&'a Expr<'a>>) -> R<Val> {
        let (start, slots) = (self.at(), self.slots.len());
        let value = self.numeric_operand(one, Ty::Real)?;
        if value.ty == Ty::Int && !self.postgres && self.slots.len() > slots {
            return no(
                Id::Functions,
                token,
                "MariaDB answers with the type of the parameter in it; write CAST(? AS REAL)",
            );
        }
        let digits = match digits.map(literal_number) {
            None => 0,
            Some(Some(Number::Int(n))) if n <= 15 => n.max(0),
            Some(_) => return no(Id::Functions, token, "round() to a number of digits that is not 0 to 15"),
        };
        // SQLite rounds halves away from zero: to an integer by adding a half, to digits by the double's exact decimal
        // value, which no server's round() looks at.
        match (value.ty, self.postgres) {
            (Ty::Int, true) => self.wrap(start, "(", ")::float8"),
            (Ty::Int, false) => self.wrap(start, "(", " * 1e0)"),
            (Ty::Real, _) if digits > 0 => match literal_number(one) {
                Some(Number::Real(n)) => {
                    self.sql.truncate(start);
                    return Ok(self.number(Number::Real(rounded(n, digits as usize))));
                }
                _ if self.options.pack => {
                    let function = if self.postgres { "contend_sql.round(" } else { "contend_sql.rounded(" };
                    self.wrap(start, function, &format!(", {digits})"));
                    return Ok(self.plain_result(value, Ty::Real));
                }
                _ => return no(Id::Functions, token, "round() of a real to digits, without the function pack"),
            },
            (_, postgres) => {
                let n = self.sql.split_off(start);
                let half = if postgres { "0.5::float8" } else { "0.5e0" };
                self.sql.push_str(&format!(
                    "(CASE WHEN abs({n}) < 4503599627370496 THEN sign({n}) * floor(abs({n}) + {half}) ELSE {n} END)"
                ));
                return Ok(self.plain_result(value, Ty::Real));
            }
        }
        self.fire(Id::Reals);
        let strength = if self.postgres { Strength::Operator } else { Strength::Atom };
        Ok(self.plain_result(value, Ty::Real).with(strength))
    }
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
