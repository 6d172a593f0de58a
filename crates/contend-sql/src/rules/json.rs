//! JSON that is made, not read: what a path finds in a text has a type that depends on the row.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Operator};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::INTEGER_TEXT;
use crate::types::{Ty, Val};

pub(crate) fn json_arrow<T>(op: Operator) -> R<T> {
    let token = if op == Operator::ArrowRight { "->" } else { "->>" };
    no(Id::JsonPaths, token, "the type of what a path finds depends on the row")
}

/// A JSON function, if the name is one's that makes JSON.
pub(crate) fn json_function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    match (name, args) {
        ("json_array", _) => {
            open_concat(tr);
            tr.put("'['");
            for (i, arg) in args.iter().enumerate() {
                tr.put(if i > 0 { ", ','" } else { "" });
                tr.put(", ");
                json_value(tr, token, arg)?;
            }
            tr.put(", ']')");
        }
        ("json_object", _) if args.len().is_multiple_of(2) => {
            open_concat(tr);
            tr.put("'{'");
            for (i, pair) in args.chunks(2).enumerate() {
                tr.put(if i > 0 { ", ','" } else { "" });
                tr.put(", ");
                if tr.probe(&pair[0])?.ty != Ty::Text {
                    return no(Id::Json, token, "a label that is no text");
                }
                json_value(tr, token, &pair[0])?;
                tr.put(", ':', ");
                json_value(tr, token, &pair[1])?;
            }
            tr.put(", '}')");
        }
        ("json_quote", [one]) => {
            json_value(tr, token, one)?;
        }
        _ if name.starts_with("json") => {
            return no(Id::JsonPaths, token, format!("{name}() reads JSON, whose types depend on the row"));
        }
        _ => return Ok(None),
    }
    tr.fire(Id::Json);
    Ok(Some(Val::of(Ty::Text).never_null()))
}

fn open_concat(tr: &mut Tr) {
    tr.put("CONCAT(");
}

/// Writes a value as JSON text. What a JSON function made is JSON already.
pub(crate) fn json_value<'a>(tr: &mut Tr<'a>, token: &str, expr: &'a Expr<'a>) -> R<()> {
    let made = match expr {
        Expr::FunctionCall { name, .. } => plain(name.0).to_ascii_lowercase().starts_with("json"),
        _ => false,
    };
    let start = tr.at();
    let value = tr.value(expr, Ty::Text)?;
    match (value.ty, tr.postgres) {
        _ if made => {}
        (Ty::Int, true) => tr.wrap(start, "(", ")::text"),
        (Ty::Int, false) => tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1),
        (Ty::Text, true) => tr.wrap(start, "to_json((", ")::text)::text"),
        (Ty::Text, false) => tr.wrap(start, "(JSON_QUOTE(", ") COLLATE utf8mb4_nopad_bin)"),
        (Ty::Null, true) => tr.put("::text"),
        (Ty::Null, false) => {}
        (Ty::Real, _) if tr.input.options.pack => tr.wrap(start, "contend_sql.real_text(", ")"),
        (other, _) => return no(Id::Json, token, format!("{} as JSON", other.word())),
    }
    if value.nullable && !made {
        tr.wrap(start, "COALESCE(", ", 'null')");
    }
    Ok(())
}
