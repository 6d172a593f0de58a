//! CAST.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, Type};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::rules::moments::BLANK;
use crate::types::{Affinity, Number, Strength, Ty, Val, declared};

impl<'a> Tr<'a> {
    pub(crate) fn cast(&mut self, expr: &'a Expr<'a>, type_name: Option<&Type<'a>>) -> R<Val> {
        let target = cast_target(type_name).unwrap_or(Ty::Number);
        self.fire(Id::Cast);
        let name = type_name.map_or("", |t| t.name);
        let (start, slots) = (self.at(), self.slots.len());
        let mut value = self.cast_operand(expr, target)?;
        let was = value.ty;
        match (target, was) {
            (_, Ty::Null) => self.cast_null(start, target, &mut value),
            (Ty::Int, Ty::Int) | (Ty::Real, Ty::Real) | (Ty::Text, Ty::Text) | (Ty::Blob, Ty::Blob) => {}
            (Ty::Number, Ty::Int | Ty::Number | Ty::Real) => {}
            (Ty::Text, Ty::Blob) => {
                if self.postgres {
                    self.wrap(start, "convert_from(", ", 'UTF8')");
                } else {
                    self.wrap(start, "contend_sql.blob_text(", ")");
                }
                value.strength = Strength::Atom;
            }
            (_, Ty::Param) if !self.postgres => {
                let word = match target {
                    Ty::Int => ") AS SIGNED)",
                    Ty::Real => ") AS DOUBLE)",
                    _ => return no(Id::Cast, name, "a parameter cast to this type"),
                };
                self.wrap(start, "CAST((", word);
            }
            (Ty::Int, Ty::Real) => self.real_to_integer(start),
            (Ty::Int | Ty::Real, Ty::Text) if self.options.pack => {
                let function = if target == Ty::Int { "contend_sql.text_integer(" } else { "contend_sql.text_real(" };
                self.wrap(start, function, ")");
                value.strength = Strength::Atom;
            }
            (Ty::Int, Ty::Text) => {
                self.text_to_integer(start);
                value.strength = Strength::Atom;
            }
            (Ty::Real, Ty::Int) => {
                let has_parameter = self.slots.len() > slots;
                self.integer_to_real(start, name, has_parameter, &mut value)?;
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

    /// Writes what is cast; a literal as what the cast makes of it.
    fn cast_operand(&mut self, expr: &'a Expr<'a>, target: Ty) -> R<Val> {
        match (target, bare(expr)) {
            (Ty::Number, Expr::Literal(Literal::String(text))) => {
                let number = crate::types::number_prefix(&plain(text));
                Ok(self.number(whole(number)))
            }
            (Ty::Int, Expr::Literal(Literal::String(text))) => {
                Ok(self.number(Number::Int(crate::types::integer_prefix(&plain(text)))))
            }
            (Ty::Real, Expr::Literal(Literal::String(text))) => {
                Ok(self.number(match crate::types::number_prefix(&plain(text)) {
                    Number::Int(n) => Number::Real(n as f64),
                    real => real,
                }))
            }
            (Ty::Real, Expr::Variable(parameter)) => {
                let start = self.at();
                let value = self.bare_placeholder(parameter, Ty::Real)?;
                if !self.postgres {
                    // A CAST would answer with the type that is bound.
                    self.wrap(start, "(", " * 1e0)");
                }
                Ok(value)
            }
            (Ty::Text, Expr::Literal(Literal::Blob(hex))) if !is_utf8(hex) => {
                no(Id::Cast, hex, "bytes that are no UTF-8 as a text")
            }
            (Ty::Text, _) if (self.postgres || self.options.pack) && self.probe(expr)?.ty == Ty::Blob => {
                self.value(expr, Ty::Blob)
            }
            (Ty::Text, _) => self.text_operand(expr),
            (Ty::Number, _) => self.value(expr, Ty::Any),
            _ => self.value(expr, target),
        }
    }

    /// PostgreSQL takes a NULL without a type for a text.
    fn cast_null(&mut self, start: usize, target: Ty, value: &mut Val) {
        let word = match target {
            Ty::Int => "::bigint",
            Ty::Real => "::float8",
            Ty::Number => "::numeric",
            _ => return,
        };
        if self.postgres {
            self.enclose(start, value, Strength::Atom);
            self.put(word);
            value.strength = Strength::Atom;
        }
    }

    /// SQLite cuts towards zero and keeps to 64 bits.
    fn real_to_integer(&mut self, start: usize) {
        if !self.postgres {
            return self.wrap(start, "CAST(TRUNCATE(", ", 0) AS SIGNED)");
        }
        let n = self.sql.split_off(start);
        self.sql.push_str(&format!(
            "CASE WHEN ({n}) >= 9223372036854775808::float8 THEN 9223372036854775807 \
             WHEN ({n}) < -9223372036854775808::float8 THEN -9223372036854775807 - 1 \
             ELSE trunc({n})::bigint END"
        ));
    }

    /// The integer a text begins with, held to 64 bits, 0 without one.
    fn text_to_integer(&mut self, start: usize) {
        self.fire(Id::TextInteger);
        let x = self.sql.split_off(start);
        if self.postgres {
            self.sql.push_str(&format!(
                "CASE WHEN ({x}) IS NOT NULL THEN \
                 LEAST(GREATEST(COALESCE(substring({x} FROM '^{BLANK}*([+-]?[0-9]+)')::numeric, 0), \
                 -9223372036854775808), 9223372036854775807)::bigint END"
            ));
        } else {
            // CAST itself knows no other blank than the space.
            self.sql.push_str(&format!(
                "CASE WHEN ({x}) REGEXP '^{BLANK}*[+-]?[0-9]' \
                 THEN CAST(LEAST(GREATEST(CAST(REGEXP_SUBSTR(REGEXP_SUBSTR({x}, \
                 '^{BLANK}*[+-]?0*[0-9]{{1,40}}'), '[+-]?[0-9]+') AS DECIMAL(60)), -9223372036854775808), \
                 9223372036854775807) AS SIGNED) WHEN ({x}) IS NOT NULL THEN 0 END"
            ));
        }
    }

    fn integer_to_real(&mut self, start: usize, name: &str, has_parameter: bool, value: &mut Val) -> R<()> {
        self.enclose(start, value, Strength::Atom);
        if self.postgres {
            self.put("::float8");
            value.strength = Strength::Operator;
            return Ok(());
        }
        if has_parameter {
            return no(Id::Cast, name, "MariaDB answers with the type of the parameter in it; write CAST(? AS REAL)");
        }
        self.wrap(start, "(", " * 1e0)");
        Ok(())
    }
}

/// Whether a blob literal holds UTF-8.
fn is_utf8(literal: &str) -> bool {
    let digits = literal.trim_start_matches(['x', 'X']).trim_matches('\'').as_bytes();
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    bytes.is_some_and(|bytes| std::str::from_utf8(&bytes).is_ok())
}

/// A real without a fraction is an integer, under numeric affinity.
pub(crate) fn whole(number: Number) -> Number {
    match number {
        Number::Real(n) if n == n.trunc() && n.abs() < 9e15 => Number::Int(n as i64),
        number => number,
    }
}

pub(crate) fn cast_target(type_name: Option<&Type>) -> Option<Ty> {
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
