//! Conditions of CHECK.

use crate::emit::Tr;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;

/// Writes the conditions of a column. MariaDB takes one, at the end.
pub(crate) fn of_column<'a>(tr: &mut Tr<'a>, column: &str, conditions: &[&'a Expr<'a>]) -> R<()> {
    let (start, is_joined) = (tr.at(), conditions.len() > 1 && !tr.postgres);
    for condition in conditions {
        let write = |tr: &mut Tr<'a>| {
            tr.fire(Id::Check);
            tr.put(match (is_joined, tr.at() == start) {
                (false, _) => " CHECK (",
                (true, true) => "(",
                (true, false) => " AND (",
            });
            self::condition(tr, condition)?;
            tr.put(")");
            Ok(())
        };
        tr.optional(|| format!("CHECK of column {column}"), write)?;
    }
    if is_joined && tr.at() > start {
        tr.wrap(start, " CHECK (", ")");
    }
    Ok(())
}

/// Writes the condition of a CHECK.
pub(crate) fn condition<'a>(tr: &mut Tr<'a>, condition: &'a Expr<'a>) -> R<()> {
    let start = tr.at();
    tr.place.check = true;
    let written = tr.condition(condition);
    // A CHECK that is refused may be left out.
    tr.place.check = false;
    written?;
    is_lasting(tr, start, Id::Check)
}

/// Refuses what MariaDB does not store in a table: a time as a text, which depends on the session's language.
pub(crate) fn is_lasting(tr: &Tr, start: usize, rule: Id) -> R<()> {
    match !tr.postgres && tr.out.sql[start..].contains("DATE_FORMAT(") {
        true => no(rule, "", "MariaDB has no times as texts in a CHECK or a generated column"),
        false => Ok(()),
    }
}
