//! The keys of inserted rows, which a session needs for last_insert_rowid().

use crate::catalogue::{Kind, Table};
use crate::emit::Tr;
use crate::parse::tree::{OneSelect, Select};
use crate::refuse::R;
use crate::rules::changes;
use crate::translation::Keys;

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
    if table.without_rowid || table.kind == Kind::View {
        return Ok(Keys::Same);
    }
    if tr.out.sql.starts_with("MERGE ") {
        return Ok(Keys::Unknown("MERGE returns no keys"));
    }
    let Some(rowid) = table.rowid else {
        return Ok(Keys::Unknown("the table has no INTEGER PRIMARY KEY, so the server gives its rows no number"));
    };
    if explicit && !is_values(select) {
        return Ok(Keys::Unknown("which row of a query came last is not known"));
    }
    if !tr.postgres && (updates || ignores) {
        return Ok(Keys::Unknown("MariaDB returns rows that were there already as if they were new"));
    }
    tr.put(if returning { ", " } else { " RETURNING " });
    tr.put(if updates { "CASE WHEN xmax = 0 THEN " } else { "" });
    tr.name(&table.columns[rowid].name)?;
    tr.put(if updates { " END" } else { "" });
    Ok(if returning { Keys::LastColumn } else { Keys::Rows })
}

/// Whether rows are literal, so that their order is known.
fn is_values(select: Option<&Select>) -> bool {
    let values =
        |select: &Select| matches!(select.body.select, OneSelect::Values(_)) && select.body.compounds.is_none();
    select.is_none_or(values)
}
