//! The keys of inserted rows, which a session needs for last_insert_rowid().

use crate::catalogue::{Kind, Table};
use crate::emit::Tr;
use crate::parse::tree::{OneSelect, Select};
use crate::refuse::{R, no};
use crate::rules::{Id, changes};
use crate::translation::Keys;

/// Statement before an INSERT of MariaDB that counts its conflicts in a variable, as [`counter`] writes it.
const COUNTERS: &str = "SET @contend_sql_kept = 0, @contend_sql_seen = 0";

/// An INSERT that is complete except for the keys.
pub(crate) struct Inserted<'s, 'a> {
    /// `None` for DEFAULT VALUES.
    pub select: Option<&'s Select<'a>>,
    /// Whether a row may be updated or skipped because of a conflict.
    pub updates: bool,
    pub ignores: bool,
    /// Whether RETURNING was written.
    pub returning: bool,
    /// Whether rows have explicit keys.
    pub explicit: bool,
}

/// Writes an assignment of a column to itself that counts the rows that were there already: MariaDB's RETURNING has these
/// too, and its count does not tell them apart.
pub(crate) fn counter(tr: &mut Tr, table: &Table, column: &str) -> R<()> {
    tr.out.before.push(COUNTERS.to_string());
    tr.name(column)?;
    tr.put(" = CASE WHEN (@contend_sql_kept := @contend_sql_kept + 1) IS NULL THEN NULL ELSE ");
    tr.name(&table.name)?;
    tr.put(".");
    tr.name(column)?;
    tr.put(" END");
    Ok(())
}

/// Makes the statement return the keys of its rows, if a session needs them.
pub(crate) fn returned(tr: &mut Tr, table: &Table, inserted: &Inserted) -> R<()> {
    if !tr.input.options.session {
        return Ok(());
    }
    let catalogue = tr.input.catalogue;
    let triggers = catalogue.triggers_of(table).next().is_some();
    let referring = catalogue.foreign_keys && !table.references.is_empty();
    tr.out.may_fail_late = triggers || referring || !changes::one_row(inserted.select);
    tr.out.keys = keys(tr, table, inserted)?;
    Ok(())
}

fn keys(tr: &mut Tr, table: &Table, inserted: &Inserted) -> R<Keys> {
    let Inserted { select, updates, ignores, returning, explicit } = *inserted;
    let is_counted = tr.out.before.iter().any(|sql| sql == COUNTERS);
    if table.without_rowid || table.kind == Kind::View {
        return unless_counted(is_counted && ignores, Keys::Same);
    }
    if tr.out.sql.starts_with("MERGE ") {
        return Ok(Keys::Unknown("MERGE returns no keys"));
    }
    let Some(rowid) = table.rowid_name() else {
        let reason = "the table has no INTEGER PRIMARY KEY, so the server gives its rows no number";
        return unless_counted(is_counted && ignores, Keys::Unknown(reason));
    };
    if explicit && !is_values(select) {
        let reason = "which row of a query came last is not known";
        return unless_counted(is_counted && ignores, Keys::Unknown(reason));
    }
    // With IGNORE only new rows are returned.
    let marks = updates || ignores && !tr.out.sql.starts_with("INSERT IGNORE ");
    if !tr.postgres && marks && !is_counted {
        return Ok(Keys::Unknown("MariaDB returns rows that were there already as if they were new"));
    }
    let (before, after) = match (marks, tr.postgres) {
        (true, true) if updates => ("CASE WHEN xmax = 0 THEN ", " END"),
        (true, false) => (
            "CASE WHEN @contend_sql_seen = @contend_sql_kept THEN ",
            " WHEN (@contend_sql_seen := @contend_sql_kept) IS NULL THEN NULL END",
        ),
        _ => ("", ""),
    };
    tr.put(if returning { ", " } else { " RETURNING " });
    tr.put(before);
    tr.name(rowid)?;
    tr.put(after);
    Ok(match returning {
        true => Keys::LastColumn,
        false if is_counted && ignores => Keys::NewRows,
        false => Keys::Rows,
    })
}

/// Refuses a statement that counts rows, but cannot return the count.
fn unless_counted(is_counted: bool, keys: Keys) -> R<Keys> {
    if is_counted {
        return no(Id::OrIgnore, "INSERT", "MariaDB counts rows that were there already as if they were new");
    }
    Ok(keys)
}

/// Whether rows are literal, so that their order is known.
fn is_values(select: Option<&Select>) -> bool {
    let values =
        |select: &Select| matches!(select.body.select, OneSelect::Values(_)) && select.body.compounds.is_none();
    select.is_none_or(values)
}
