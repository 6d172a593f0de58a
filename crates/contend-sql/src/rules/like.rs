//! LIKE and GLOB.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, LikeOperator, Literal};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::FOLD_MARIADB;
use crate::rules::expr::bare;
use crate::types::{Strength, Ty, Val};

impl<'a> Tr<'a> {
    pub(crate) fn like(
        &mut self,
        lhs: &'a Expr<'a>,
        not: bool,
        op: LikeOperator,
        pattern: &'a Expr<'a>,
        escape: Option<&'a Expr<'a>>,
    ) -> R<Val> {
        match op {
            LikeOperator::Like => {}
            LikeOperator::Glob => return self.glob(lhs, not, pattern),
            LikeOperator::Regexp => return no(Id::Regexp, "REGEXP", "the application defines what REGEXP does"),
            LikeOperator::Match => return no(Id::VirtualTables, "MATCH", "full-text search is another engine's"),
        }
        self.fire(Id::Like);
        let start = self.at();
        let mut l = self.text_operand(lhs)?;
        self.enclose(start, &mut l, Strength::Atom);
        if self.postgres {
            self.put(if l.bytewise { "" } else { " COLLATE \"C\"" });
            self.put(if not { " NOT ILIKE " } else { " ILIKE " });
        } else {
            self.wrap(start, FOLD_MARIADB.0, FOLD_MARIADB.1);
            self.put(if not { " NOT LIKE " } else { " LIKE " });
        }
        let from = self.at();
        let folded = match bare(pattern) {
            Expr::Literal(Literal::String(text)) => {
                push_text(&mut self.sql, &plain(text).to_ascii_lowercase());
                Val::of(Ty::Text).never_null()
            }
            _ => {
                let mut value = self.text_operand(pattern)?;
                self.enclose(from, &mut value, Strength::Atom);
                if !self.postgres {
                    self.wrap(from, FOLD_MARIADB.0, FOLD_MARIADB.1);
                }
                value
            }
        };
        match escape.map(bare) {
            // MariaDB has an escape of its own unless another is named; this one is in no pattern.
            None => self.either(" ESCAPE ''", " ESCAPE '\u{1}'"),
            Some(Expr::Literal(Literal::String(text))) => {
                let text = plain(text);
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (Some(c), None) if c.is_ascii() && !c.is_ascii_alphabetic() && c != '%' && c != '_' => {
                        self.put(" ESCAPE ");
                        push_text(&mut self.sql, &text);
                    }
                    _ => return no(Id::Like, "ESCAPE", "the escape is one character of ASCII and no letter, % or _"),
                }
            }
            Some(_) => return no(Id::Like, "ESCAPE", "an escape that is not a text literal"),
        }
        Ok(Val { nullable: l.nullable || folded.nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
    }

    pub(crate) fn glob(&mut self, lhs: &'a Expr<'a>, not: bool, pattern: &'a Expr<'a>) -> R<Val> {
        self.fire(Id::Glob);
        let Expr::Literal(Literal::String(text)) = bare(pattern) else {
            return no(Id::Glob, "GLOB", "a GLOB pattern that is not a text literal");
        };
        let Some(regex) = crate::rules::glob::regex(&plain(text)) else {
            return no(Id::Glob, text, "a GLOB pattern whose class is never closed, or has a range up to `-`");
        };
        let start = self.at();
        let mut l = self.text_operand(lhs)?;
        self.enclose(start, &mut l, Strength::Atom);
        if self.postgres {
            self.put(if l.bytewise { "" } else { " COLLATE \"C\"" });
            self.put(if not { " !~ " } else { " ~ " });
            push_text(&mut self.sql, &format!("(?s){regex}"));
        } else {
            self.put(if not { " NOT REGEXP " } else { " REGEXP " });
            push_text(&mut self.sql, &format!("(?s-i){regex}"));
        }
        Ok(Val { nullable: l.nullable, ..Val::of(Ty::Bool).with(Strength::Comparison) })
    }
}
