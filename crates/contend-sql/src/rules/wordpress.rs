//! Parts of a date, as the SQLite plugin of WordPress defines MySQL's functions, by the function pack. Dates that PHP reads
//! in another form than `2026-01-02 03:04:05` are an error of the function, and so is NULL, which PHP reads as one.

use crate::emit::Tr;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::literals::literal_number;
use crate::types::{Strength, Ty, Val};

const PARTS: [&str; 10] =
    ["year", "month", "day", "dayofmonth", "hour", "minute", "second", "week", "weekday", "dayofweek"];

/// Writes the call, if it is one of these.
pub(crate) fn wordpress_function<'a>(
    tr: &mut Tr<'a>,
    name: &str,
    token: &'a str,
    args: &'a [Expr<'a>],
) -> R<Option<Val>> {
    let moment = match (name, args) {
        // The mode of a week has no effect.
        ("week", [moment, mode]) if literal_number(mode).is_some() => moment,
        ("week", _) => return Ok(None),
        (name, [moment]) if PARTS.contains(&name) => moment,
        _ => return Ok(None),
    };
    if !tr.input.options.pack {
        return no(Id::ApplicationFunctions, token, format!("`{name}` needs the function pack"));
    }
    tr.fire(Id::ApplicationFunctions);
    tr.put("contend_sql.wordpress_part('");
    tr.put(name);
    tr.put("', ");
    let value = tr.value(moment, Ty::Text)?;
    if value.ty != Ty::Text {
        return no(Id::ApplicationFunctions, token, format!("`{name}` of {}", value.ty.word()));
    }
    tr.put(")");
    Ok(Some(Val::of(Ty::Int).never_null().with(Strength::Atom)))
}
