//! Comparisons: `=`, `<`, IS, IN, BETWEEN, LIKE, GLOB, with SQLite's affinity and collation.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::{bare, literal_number};
use crate::types::{Affinity, Collation, Number, Strength, Ty, Val, number_in_text};

/// Lower case for ASCII letters only, as SQLite's LIKE and NOCASE have it. PostgreSQL's lower() does so under "C".
/// MariaDB's LOWER() knows more letters; in the character set tis620 (Thai, one byte a character) it changes ASCII's
/// alone, so the bytes are read as that and back.
pub(crate) const FOLD_POSTGRES: (&str, &str) = ("lower((", ") COLLATE \"C\")");
pub(crate) const FOLD_MARIADB: (&str, &str) = (
    "(CONVERT(CAST(LOWER(CONVERT(CAST(",
    " AS BINARY) USING tis620)) AS BINARY) USING utf8mb4) COLLATE utf8mb4_nopad_bin)",
);

/// An integer as a text on MariaDB. It says its collation, as views, CHECK and generated columns are kept as text that
/// leaves it out: read again it would be `utf8mb4_bin`, to which spaces at the end are nothing.
pub(crate) const INTEGER_TEXT: (&str, &str) = ("CAST(", " AS CHAR(20)) COLLATE utf8mb4_nopad_bin");

/// Whether an expression takes its type from its partner in a comparison.
pub(crate) fn adapts(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Variable(_) | Expr::Literal(Literal::String(_))) || literal_number(expr).is_some()
}

/// Where the two sides of a comparison stand: the left one in `start..left_end`, the right one from `right_start` on.
struct Sides {
    start: usize,
    left_end: usize,
    right_start: usize,
}

impl<'a> Tr<'a> {
    pub(crate) fn compare(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
        if let (Expr::Parenthesized(l), Expr::Parenthesized(r)) = (left, right)
            && l.len() > 1
        {
            return self.compare_rows(l, op, r);
        }
        if matches!(op, Operator::Is | Operator::IsNot)
            && let Some(value) = self.is_special(left, op, right)?
        {
            return Ok(value);
        }
        let mark = self.mark();
        match self.compare_values(left, op, right) {
            Err(refused) if refused.rule == Id::MixedComparison => {
                self.back_to(mark);
                // The first refusal says more than that the classes are the same.
                self.compare_classes(left, op, right).map_err(|later| match later.rule == refused.rule {
                    true => refused,
                    false => later,
                })
            }
            done => done,
        }
    }

    pub(crate) fn compare_values(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let mut l = match adapts(left) && !adapts(right) {
            true => {
                let partner = self.probe(right)?;
                self.operand(left, partner)?
            }
            false => self.value_or_bool(left)?,
        };
        self.enclose(start, &mut l, Strength::Operator);
        let left_end = self.at();
        let negated = op == Operator::IsNot && !self.postgres;
        self.put(match op {
            Operator::Equals => " = ",
            Operator::NotEquals => " <> ",
            Operator::Less => " < ",
            Operator::LessEquals => " <= ",
            Operator::Greater => " > ",
            Operator::GreaterEquals => " >= ",
            Operator::Is if self.postgres => " IS NOT DISTINCT FROM ",
            Operator::IsNot if self.postgres => " IS DISTINCT FROM ",
            _ => " <=> ",
        });
        let right_start = self.at();
        let mut r = self.operand(right, l)?;
        self.enclose(right_start, &mut r, Strength::Operator);
        let order = matches!(op, Operator::Less | Operator::LessEquals | Operator::Greater | Operator::GreaterEquals);
        self.agree(start, left_end, right_start, l, r, order)?;
        let is = matches!(op, Operator::Is | Operator::IsNot);
        if is {
            self.fire(Id::Is);
        }
        let mut result = Val::of(Ty::Bool).with(Strength::Comparison);
        result.nullable = !is && (l.nullable || r.nullable);
        if negated {
            self.wrap(start, "NOT (", ")");
            result.strength = Strength::Not;
        }
        Ok(result)
    }

    pub(crate) fn value_or_bool(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        self.expr(expr, Ty::Any)
    }

    /// IS NULL, IS TRUE, IS FALSE and their negations.
    pub(crate) fn is_special(&mut self, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Option<Val>> {
        let negated = op == Operator::IsNot;
        match bare(right) {
            Expr::Literal(Literal::Null) => {
                self.null_test(left, if negated { " IS NOT NULL" } else { " IS NULL" }).map(Some)
            }
            Expr::Id(id) if self.find(None, id.0)?.is_none() => {
                let test = match (id.0.to_ascii_lowercase().as_str(), negated) {
                    ("true", false) => " IS TRUE",
                    ("true", true) => " IS NOT TRUE",
                    ("false", false) => " IS FALSE",
                    ("false", true) => " IS NOT FALSE",
                    _ => return Ok(None),
                };
                self.fire(Id::Booleans);
                let start = self.at();
                let mut value = self.condition(left)?;
                self.enclose(start, &mut value, Strength::Atom);
                self.put(test);
                Ok(Some(Val::of(Ty::Bool).never_null().with(Strength::Comparison)))
            }
            _ => Ok(None),
        }
    }

    /// Writes one side of a comparison, given what the other is: a literal or a parameter is made to fit, by the
    /// affinity SQLite would apply to it.
    pub(crate) fn operand(&mut self, expr: &'a Expr<'a>, partner: Val) -> R<Val> {
        let literal = bare(expr);
        match literal {
            Expr::Variable(name) => {
                let ty = match partner.ty {
                    Ty::Bool => Ty::Int,
                    Ty::Param | Ty::Null | Ty::Any => Ty::Any,
                    known => known,
                };
                if ty != Ty::Any {
                    self.fire(Id::ParameterTypes);
                }
                return self.bare_placeholder(name, ty);
            }
            Expr::Literal(Literal::String(text)) if partner.affinity.numeric() && partner.ty != Ty::Text => {
                self.fire(Id::LiteralAffinity);
                return match number_in_text(&plain(text)) {
                    Some(number) => Ok(self.number(number)),
                    None => no(Id::MixedComparison, text, "a number is compared with a text that is none"),
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
            self.fire(Id::LiteralAffinity);
            return match (number, partner.affinity) {
                (Number::Int(n), Affinity::Text) => {
                    push_text(&mut self.sql, &n.to_string());
                    Ok(Val::of(Ty::Text).never_null())
                }
                _ => no(Id::MixedComparison, "", "a text is compared with a number"),
            };
        }
        self.expr(expr, Ty::Any)
    }

    /// Makes both sides of a comparison fit, or refuses: `left` lies in `start..left_end`, `right` from `right_start` on.
    pub(crate) fn agree(
        &mut self,
        start: usize,
        left_end: usize,
        right_start: usize,
        l: Val,
        r: Val,
        order: bool,
    ) -> R<()> {
        let mut sides = Sides { start, left_end, right_start };
        match (l.ty, r.ty) {
            (Ty::Null, _) | (_, Ty::Null) => {}
            (Ty::Bool, Ty::Bool) => {}
            (Ty::Bool, t) if t.numeric() || t == Ty::Param => {
                self.fire(Id::Booleans);
                if self.postgres {
                    self.around_left(&mut sides, "(", ")::int");
                }
            }
            (t, Ty::Bool) if t.numeric() => {
                self.fire(Id::Booleans);
                if self.postgres {
                    self.wrap(right_start, "(", ")::int");
                }
            }
            (Ty::Int, Ty::Real) | (Ty::Real, Ty::Int) => {
                self.fire(Id::IntegerWithReal);
                // MariaDB searches an integer key for a real by what the real is rounded to.
                match l.ty {
                    _ if self.postgres => {}
                    Ty::Int => self.around_left(&mut sides, "(", " * 1e0)"),
                    _ => self.wrap(right_start, "(", " * 1e0)"),
                }
            }
            (a, b) if a.numeric() && b.numeric() => {}
            (Ty::Text, Ty::Text) => self.texts_agree(&mut sides, l, r, order)?,
            (Ty::Blob, Ty::Blob) => {}
            (Ty::Text, Ty::Int) if l.affinity == Affinity::Text && !r.affinity.numeric() => {
                if collation(l, r) == Collation::Rtrim {
                    return no(Id::Collation, "", "a number is compared with a text under RTRIM");
                }
                if self.postgres {
                    self.wrap(right_start, "(", ")::text");
                } else {
                    self.wrap(right_start, INTEGER_TEXT.0, INTEGER_TEXT.1);
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

    /// Under the collation that counts.
    fn texts_agree(&mut self, sides: &mut Sides, l: Val, r: Val, order: bool) -> R<()> {
        self.fire(Id::TextComparison);
        if order {
            self.texts_in_order(l, r)?;
        }
        let (before, after) = match collation(l, r) {
            Collation::Binary => {
                if order && self.postgres && !l.bytewise && !r.bytewise {
                    self.put(" COLLATE \"C\"");
                }
                return Ok(());
            }
            Collation::NoCase if self.postgres => FOLD_POSTGRES,
            Collation::NoCase => FOLD_MARIADB,
            Collation::Rtrim if self.postgres => ("rtrim((", ") COLLATE \"C\", ' ')"),
            Collation::Rtrim => ("RTRIM(", ")"),
        };
        self.fire(Id::Collation);
        self.around_left(sides, before, after);
        self.wrap(sides.right_start, before, after);
        Ok(())
    }

    fn around_left(&mut self, sides: &mut Sides, before: &str, after: &str) {
        self.sql.insert_str(sides.left_end, after);
        self.sql.insert_str(sides.start, before);
        sides.left_end += before.len() + after.len();
        sides.right_start += before.len() + after.len();
    }

    /// Whether the order of two texts is that of their bytes: beside NUMERIC affinity a text that is a number is one, and
    /// less than every text.
    pub(crate) fn texts_in_order(&mut self, l: Val, r: Val) -> R<()> {
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
        if !self.slots.is_empty() {
            self.fire(Id::TextsInNumericColumns);
        }
        Ok(())
    }

    pub(crate) fn compare_rows(&mut self, left: &'a [Expr<'a>], op: Operator, right: &'a [Expr<'a>]) -> R<Val> {
        self.fire(Id::RowValues);
        if left.len() != right.len() {
            return no(Id::RowValues, "", "rows of different length are compared");
        }
        // A row comparison is spelled out: (a, b) < (c, d) is a <= c AND (a < c OR b < d). Without a `=` beside OR, for
        // which MariaDB 10.11 loses rows where an EXISTS of the same column stands beside it.
        let (strict, loose) = match op {
            Operator::Equals | Operator::NotEquals | Operator::Is | Operator::IsNot => (op, op),
            Operator::Less | Operator::LessEquals => (Operator::Less, Operator::LessEquals),
            Operator::Greater | Operator::GreaterEquals => (Operator::Greater, Operator::GreaterEquals),
            _ => return no(Id::RowValues, "", "this operator on rows"),
        };
        let start = self.at();
        let pairs = || left.iter().zip(right);
        if strict == loose {
            let any = matches!(op, Operator::NotEquals | Operator::IsNot);
            for (i, (l, r)) in pairs().enumerate() {
                if i > 0 {
                    self.put(if any { " OR " } else { " AND " });
                }
                let from = self.at();
                let mut value = self.compare(l, op, r)?;
                self.enclose(from, &mut value, Strength::Comparison);
            }
            self.wrap(start, "(", ")");
            return Ok(Val::of(Ty::Bool));
        }
        for (i, (l, r)) in pairs().enumerate() {
            self.put("(");
            if i + 1 == left.len() {
                self.compare(l, op, r)?;
                break;
            }
            self.compare(l, loose, r)?;
            self.put(" AND (");
            self.compare(l, strict, r)?;
            self.put(" OR ");
        }
        for i in 0..left.len() {
            self.put(if i + 1 == left.len() { ")" } else { "))" });
        }
        Ok(Val::of(Ty::Bool))
    }

    pub(crate) fn between(&mut self, lhs: &'a Expr<'a>, not: bool, low: &'a Expr<'a>, high: &'a Expr<'a>) -> R<Val> {
        let (start, slots) = (self.at(), if self.postgres { usize::MAX } else { self.slots.len() });
        let l = match adapts(lhs) {
            true => {
                let partner = if adapts(low) { self.probe(high)? } else { self.probe(low)? };
                self.operand(lhs, partner)?
            }
            false => self.value(lhs, Ty::Any)?,
        };
        let probed_low = self.probe_operand(low, l)?;
        let probed_high = self.probe_operand(high, l)?;
        let ordered = [probed_low, probed_high].into_iter().all(|bound| self.texts_in_order(l, bound).is_ok());
        let numbers = |v: Val| v.ty.numeric() && l.ty.numeric() && self.postgres;
        let plain = |v: Val| collation(l, v) == Collation::Binary && (v.ty == l.ty || numbers(v));
        let simple = l.ty != Ty::Bool && ![l, probed_low, probed_high].iter().any(|v| v.ty == Ty::Null);
        if !(simple && ordered && plain(probed_low) && plain(probed_high)) {
            // Not the same for both bounds: written as two comparisons.
            self.sql.truncate(start);
            self.slots.truncate(slots);
            self.put("(");
            self.compare(lhs, Operator::GreaterEquals, low)?;
            self.put(" AND ");
            self.compare(lhs, Operator::LessEquals, high)?;
            self.put(")");
            if not {
                self.wrap(start, "NOT ", "");
            }
            return Ok(Val::of(Ty::Bool).with(if not { Strength::Not } else { Strength::Atom }));
        }
        let mut value = l;
        self.enclose(start, &mut value, Strength::Atom);
        if l.ty == Ty::Text && self.postgres && !l.bytewise {
            self.put(" COLLATE \"C\"");
        }
        self.put(if not { " NOT BETWEEN " } else { " BETWEEN " });
        for (i, bound) in [low, high].into_iter().enumerate() {
            if i > 0 {
                self.put(" AND ");
            }
            let from = self.at();
            let mut value = self.operand(bound, l)?;
            value = self.as_integer(from, value);
            self.enclose(from, &mut value, Strength::Atom);
        }
        Ok(Val::of(Ty::Bool).with(Strength::Comparison))
    }

    pub(crate) fn probe_operand(&mut self, expr: &'a Expr<'a>, partner: Val) -> R<Val> {
        let mark = self.mark();
        let value = self.operand(expr, partner);
        self.back_to(mark);
        value
    }
}

/// Whether a server compares the two types as SQLite does.
pub(crate) fn alike(one: Ty, other: Ty) -> bool {
    let unknown = |t| matches!(t, Ty::Null | Ty::Param);
    one == other && one != Ty::Any || one.numeric() && other.numeric() || unknown(one) || unknown(other)
}

/// The collation of a comparison: an explicit one, left before right, then a column's, left before right.
pub(crate) fn collation(l: Val, r: Val) -> Collation {
    if l.collation_explicit {
        l.collation
    } else if r.collation_explicit {
        r.collation
    } else if l.column {
        l.collation
    } else if r.column {
        r.collation
    } else {
        Collation::Binary
    }
}
