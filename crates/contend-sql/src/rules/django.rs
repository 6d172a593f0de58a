//! Functions that Django registers with SQLite, where the function pack has the same: dates and times in the zone of the
//! connection. What Python reads in its own way (other zones, other forms) is an error of the function.

use crate::emit::Tr;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Ty, Val};

/// Name, number of arguments, type of the result.
const FUNCTIONS: &[(&str, usize, Ty)] = &[
    ("django_date_extract", 2, Ty::Int),
    ("django_date_trunc", 4, Ty::Text),
    ("django_datetime_cast_date", 3, Ty::Text),
    ("django_datetime_cast_time", 3, Ty::Text),
    ("django_datetime_extract", 4, Ty::Int),
    ("django_datetime_trunc", 4, Ty::Text),
    ("django_time_diff", 2, Ty::Int),
    ("django_time_extract", 2, Ty::Int),
    ("django_time_trunc", 4, Ty::Text),
    ("django_timestamp_diff", 2, Ty::Int),
];

/// Whether the function pack has a function that an application registers under this name, in any case of letters.
pub fn is_in_pack(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Writes the call, if it is one of these.
pub(crate) fn django_function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    let Some((name, _, result)) = FUNCTIONS.iter().find(|(known, count, _)| *known == name && *count == args.len())
    else {
        return Ok(None);
    };
    if !tr.postgres || !tr.input.options.pack {
        return no(Id::Functions, token, format!("`{name}` needs the function pack of PostgreSQL"));
    }
    tr.fire(Id::Functions);
    let is_text = *result == Ty::Text;
    tr.put(if is_text { "(contend_sql." } else { "contend_sql." });
    tr.put(name);
    tr.put("(");
    tr.list(args, |tr, arg| {
        let start = tr.at();
        let value = tr.value(arg, Ty::Text)?;
        match value.ty {
            Ty::Text => {}
            Ty::Null => tr.wrap(start, "(", ")::text"),
            other => return no(Id::Functions, token, format!("`{name}` of {}", other.word())),
        }
        Ok(())
    })?;
    tr.put(if is_text { ") COLLATE \"C\")" } else { ")" });
    Ok(Some(Val { nullable: true, bytewise: is_text, ..Val::of(*result) }))
}
