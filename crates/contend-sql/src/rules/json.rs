//! JSON that is made, not read: what a path finds in a text has a type that depends on the row.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::INTEGER_TEXT;
use crate::types::{Ty, Val};

impl<'a> Tr<'a> {
    pub(crate) fn json_arrow(&mut self, _left: &'a Expr<'a>, op: Operator, _right: &'a Expr<'a>) -> R<Val> {
        let token = if op == Operator::ArrowRight { "->" } else { "->>" };
        no(Id::JsonPaths, token, "the type of what a path finds depends on the row")
    }

    /// A JSON function, if the name is one's that makes JSON.
    pub(crate) fn json_function(&mut self, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
        match (name, args) {
            ("json_array", _) => {
                self.open_concat();
                self.put("'['");
                for (i, arg) in args.iter().enumerate() {
                    self.put(if i > 0 { ", ','" } else { "" });
                    self.put(", ");
                    self.json_value(token, arg)?;
                }
                self.put(", ']')");
            }
            ("json_object", _) if args.len().is_multiple_of(2) => {
                self.open_concat();
                self.put("'{'");
                for (i, pair) in args.chunks(2).enumerate() {
                    self.put(if i > 0 { ", ','" } else { "" });
                    self.put(", ");
                    if self.probe(&pair[0])?.ty != Ty::Text {
                        return no(Id::Json, token, "a label that is no text");
                    }
                    self.json_value(token, &pair[0])?;
                    self.put(", ':', ");
                    self.json_value(token, &pair[1])?;
                }
                self.put(", '}')");
            }
            ("json_quote", [one]) => {
                self.json_value(token, one)?;
            }
            _ if name.starts_with("json") => {
                return no(Id::JsonPaths, token, format!("{name}() reads JSON, whose types depend on the row"));
            }
            _ => return Ok(None),
        }
        self.fire(Id::Json);
        Ok(Some(Val::of(Ty::Text).never_null()))
    }

    fn open_concat(&mut self) {
        self.put("CONCAT(");
    }

    /// Writes a value as JSON text. What a JSON function made is JSON already.
    pub(crate) fn json_value(&mut self, token: &str, expr: &'a Expr<'a>) -> R<()> {
        let made = match expr {
            Expr::FunctionCall { name, .. } => plain(name.0).to_ascii_lowercase().starts_with("json"),
            _ => false,
        };
        let start = self.at();
        let value = self.value(expr, Ty::Text)?;
        match (value.ty, self.postgres) {
            _ if made => {}
            (Ty::Int, true) => self.wrap(start, "(", ")::text"),
            (Ty::Int, false) => self.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1),
            (Ty::Text, true) => self.wrap(start, "to_json((", ")::text)::text"),
            (Ty::Text, false) => self.wrap(start, "(JSON_QUOTE(", ") COLLATE utf8mb4_nopad_bin)"),
            (Ty::Null, true) => self.put("::text"),
            (Ty::Null, false) => {}
            (Ty::Real, _) if self.options.pack => self.wrap(start, "contend_sql.real_text(", ")"),
            (other, _) => return no(Id::Json, token, format!("{} as JSON", other.word())),
        }
        if value.nullable && !made {
            self.wrap(start, "COALESCE(", ", 'null')");
        }
        Ok(())
    }
}
