//! Functions that change texts, search in them, or make them of something else.

use crate::emit::Tr;
use crate::names::push_text;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::FOLD_MARIADB;
use crate::types::{Ty, Val};

impl<'a> Tr<'a> {
    /// lower() and upper(), which know no letters beyond ASCII.
    pub(crate) fn in_case(&mut self, name: &str, token: &str, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        // A query that groups under NOCASE groups by just this.
        let grouped = name == "lower" && self.groups_folded(one)?;
        if grouped && !self.postgres && self.having {
            return no(Id::Collation, token, "MariaDB finds no column there that is grouped by within an expression");
        }
        let value = self.as_grouped(grouped, |tr| tr.text_operand(one))?;
        if self.postgres {
            self.wrap(start, &format!("{name}(("), ") COLLATE \"C\")");
        } else if name == "lower" {
            self.wrap(start, FOLD_MARIADB.0, FOLD_MARIADB.1);
        } else {
            self.wrap(start, &FOLD_MARIADB.0.replace("LOWER", "UPPER"), FOLD_MARIADB.1);
        }
        Ok(Val { bytewise: true, ..self.plain_result(value, Ty::Text) })
    }

    /// Without spaces at one end or both.
    pub(crate) fn trimmed(&mut self, name: &str, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.text_operand(one)?;
        let (pg, my) = match name {
            "trim" => ("btrim(", "TRIM("),
            "ltrim" => ("ltrim(", "LTRIM("),
            _ => ("rtrim(", "RTRIM("),
        };
        if self.postgres {
            self.wrap(start, pg, ", ' ')");
        } else {
            self.wrap(start, my, ")");
        }
        Ok(Val { bytewise: value.bytewise, ..self.plain_result(value, Ty::Text) })
    }

    /// Without any of these characters, on PostgreSQL.
    pub(crate) fn trimmed_of(&mut self, name: &str, one: &'a Expr<'a>, set: &'a Expr<'a>) -> R<Val> {
        self.put(if name == "trim" { "btrim(" } else { name });
        if name != "trim" {
            self.put("(");
        }
        let value = self.text_operand(one)?;
        self.put(", ");
        let set = self.text_operand(set)?;
        self.put(")");
        Ok(Val { nullable: value.nullable || set.nullable, ..self.plain_result(value, Ty::Text) })
    }

    /// The same on MariaDB, whose TRIM takes a text away and no set of characters.
    pub(crate) fn trimmed_by_pattern(&mut self, name: &str, token: &str, one: &'a Expr<'a>, set: &str) -> R<Val> {
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
        self.put("REGEXP_REPLACE(");
        let value = self.text_operand(one)?;
        self.put(", ");
        push_text(&mut self.sql, &pattern);
        self.put(", '')");
        Ok(self.plain_result(value, Ty::Text))
    }

    pub(crate) fn instr(&mut self, text: &'a Expr<'a>, part: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.text_operand(text)?;
        self.put(", ");
        let part = self.text_operand(part)?;
        self.wrap(start, if self.postgres { "strpos(" } else { "INSTR(" }, ")");
        let nullable = value.nullable || part.nullable;
        Ok(Val { nullable, narrow: true, ..self.plain_result(value, Ty::Int) })
    }

    /// replace().
    pub(crate) fn text_replaced(&mut self, text: &'a Expr<'a>, from: &'a Expr<'a>, to: &'a Expr<'a>) -> R<Val> {
        // MariaDB does not look at what is put in where nothing is found.
        let twice = !self.postgres && self.probe(to)?.nullable;
        if twice {
            self.put("CASE WHEN ");
            let start = self.at();
            self.text_operand(to)?;
            self.wrap(start, "(", ") IS NOT NULL THEN ");
        }
        let start = self.at();
        let value = self.replaced_operand(text)?;
        self.put(", ");
        let from = self.text_operand(from)?;
        self.put(", ");
        let to = self.text_operand(to)?;
        self.wrap(start, "replace(", ")");
        self.put(if twice { " END" } else { "" });
        let nullable = value.nullable || from.nullable || to.nullable;
        Ok(Val { nullable, bytewise: value.bytewise, ..self.plain_result(value, Ty::Text) })
    }

    /// concat(), to which NULL is nothing.
    pub(crate) fn texts_joined(&mut self, args: &'a [Expr<'a>]) -> R<Val> {
        self.put("CONCAT(");
        self.list(args, |tr, arg| {
            let start = tr.at();
            tr.text_operand(arg)?;
            tr.wrap(start, "COALESCE(", ", '')");
            Ok(())
        })?;
        self.put(")");
        Ok(Val::of(Ty::Text).never_null())
    }

    pub(crate) fn unicode(&mut self, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        self.text_operand(one)?;
        if self.postgres {
            self.wrap(start, "NULLIF(ascii(", "), 0)");
        } else {
            let after = ", 1) USING utf32)), ''), 16, 10) AS SIGNED)";
            self.wrap(start, "CAST(CONV(NULLIF(HEX(CONVERT(LEFT(", after);
        }
        Ok(Val { narrow: true, ..Val::of(Ty::Int) })
    }

    /// unhex() of a literal.
    pub(crate) fn unhex(&mut self, token: &str, hex: &str) -> R<Val> {
        if !hex.len().is_multiple_of(2) || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return no(Id::Functions, token, "unhex() of a text that is not hexadecimal");
        }
        self.either("'\\x", "x'");
        self.put(hex);
        self.either("'::bytea", "'");
        Ok(Val::of(Ty::Blob).never_null())
    }
}
