//! INSERT, REPLACE and upserts.

use std::borrow::Cow;

use crate::catalogue::{Conflicts, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{DistinctNames, QualifiedName, ResolveType, ResultColumn, Select, Upsert, UpsertDo, With};
use crate::refuse::{R, no};
use crate::rules::upsert::Written;
use crate::rules::{Id, changes, from, rows, upsert};
use crate::types::Collation;

pub(crate) struct Insert<'a> {
    pub with: Option<&'a With<'a>>,
    pub or: Option<ResolveType>,
    pub table: &'a QualifiedName<'a>,
    pub columns: Option<&'a DistinctNames<'a>>,
    /// `None` for DEFAULT VALUES.
    pub select: Option<&'a Select<'a>>,
    pub upsert: Option<&'a Upsert<'a>>,
    pub returning: Option<&'a [ResultColumn<'a>]>,
}

pub(crate) fn insert<'a>(tr: &mut Tr<'a>, insert: Insert<'a>) -> R<()> {
    let table = changes::target(tr, insert.table)?;
    let ctes = tr.known.ctes.len();
    if let Some(with) = insert.with
        && tr.postgres
    {
        from::with_clause(tr, with)?;
    }
    let positions = changes::insert_columns(table, insert.columns)?;
    let (or, only) = conflict_rule(tr, table, &positions, &insert)?;
    let replace = or == Some(ResolveType::Replace);
    if replace {
        replaceable(tr, table)?;
    }
    let ignore = !tr.postgres && leaves_out(tr, table, &positions, or, &insert);
    tr.put(match (tr.postgres, replace) {
        (false, true) => "REPLACE INTO ",
        _ if ignore => "INSERT IGNORE INTO ",
        _ => "INSERT INTO ",
    });
    tr.name(&table.name)?;
    let alias = put_alias(tr, insert.table)?;
    let mut explicit_rowid = false;
    let mut rows = tr.at();
    match insert.select {
        None => tr.either(" DEFAULT VALUES", " () VALUES ()"),
        Some(select) => {
            tr.put(" (");
            tr.list(&positions, |tr, p| tr.name(&table.columns[*p].name))?;
            tr.put(") ");
            if let Some(with) = insert.with
                && !tr.postgres
            {
                from::with_clause(tr, with)?;
            }
            rows = tr.at();
            explicit_rowid = rows::insert_rows(tr, table, &positions, select, replace)?;
        }
    }
    let written = Written {
        alias: alias.clone(),
        positions: &positions,
        or,
        only,
        ignore,
        select: insert.select,
        returning: insert.returning.is_some(),
        explicit_rowid,
        rows,
    };
    on_conflict(tr, table, insert.upsert, written)?;
    if let Some(results) = insert.returning {
        changes::returning(tr, table, alias, results, false)?;
    }
    tr.known.ctes.truncate(ctes);
    if explicit_rowid && tr.postgres {
        tr.fire(Id::SequenceBump);
        tr.out.after.push(changes::bump(table));
    }
    Ok(())
}

/// Writes the alias of the table.
fn put_alias<'a>(tr: &mut Tr<'a>, table: &'a QualifiedName<'a>) -> R<Option<Cow<'a, str>>> {
    let alias = table.alias.as_ref().map(|a| plain(a.0));
    if let Some(alias) = &alias {
        if !tr.postgres {
            return no(Id::Upsert, alias, "an alias for the table of an INSERT");
        }
        tr.put(" AS ");
        tr.name(alias)?;
    }
    Ok(alias)
}

/// A row that is replaced goes, with all that a server makes of that.
fn replaceable(tr: &mut Tr, table: &Table) -> R<()> {
    if tr.input.catalogue.is_referred_to(table) {
        return no(Id::ForeignKeys, "REPLACE", "what refers to the replaced row would go with it");
    }
    if tr.input.catalogue.triggers.iter().any(|(_, of)| of.eq_ignore_ascii_case(&table.name)) {
        return no(Id::Triggers, "REPLACE", "the table has triggers, which the server fires for replaced rows too");
    }
    Ok(())
}

/// Whether MariaDB's IGNORE leaves out just those rows that the statement leaves out. It would leave out rows without a
/// parent too, and rows that break CHECK, which OR IGNORE does as well but DO NOTHING does not.
fn leaves_out<'a>(
    tr: &Tr<'a>,
    table: &Table,
    positions: &[usize],
    or: Option<ResolveType>,
    insert: &Insert<'a>,
) -> bool {
    let nothing = match (or, insert.upsert) {
        (Some(ResolveType::Ignore), None) => true,
        (None | Some(ResolveType::Abort), Some(upsert)) => matches!(upsert.do_clause, UpsertDo::Nothing),
        _ => false,
    };
    let unbound = table.references.is_empty() || !tr.input.catalogue.foreign_keys;
    let only_keys = unbound && (insert.upsert.is_none() || !table.checked);
    nothing && only_keys && changes::ignorable(table, positions, insert.select)
}

/// What follows the rows, for those that conflict.
fn on_conflict<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    clause: Option<&'a Upsert<'a>>,
    written: Written<'_, 'a>,
) -> R<()> {
    match (written.or, clause) {
        (_, clause) if written.ignore => {
            tr.fire(Id::OrIgnore);
            if let Some(target) = clause.map(|u| upsert::conflict_target(tr, table, u)).transpose()?.flatten() {
                upsert::only_conflict(tr, table, written.positions, Some(&target))?;
            }
            Ok(())
        }
        (None | Some(ResolveType::Abort), None) => Ok(()),
        (None | Some(ResolveType::Abort), Some(clause)) => upsert::upsert(tr, table, clause, written),
        (Some(_), Some(_)) => no(Id::OrConflict, "OR", "OR and ON CONFLICT in one statement"),
        (Some(ResolveType::Ignore), None) if tr.postgres && written.only.is_some() => {
            tr.put(" ON CONFLICT ");
            upsert::put_target(tr, table, written.only)?;
            tr.put("DO NOTHING");
            Ok(())
        }
        (Some(ResolveType::Ignore), None) => upsert::ignore(tr, table, written.returning),
        (Some(ResolveType::Replace), None) => upsert::replace(tr, table, &written),
        (Some(ResolveType::Fail), None) if changes::one_row(written.select) => {
            tr.fire(Id::OrConflict);
            Ok(())
        }
        (Some(other), None) => {
            no(Id::OrConflict, "OR", format!("INSERT OR {other:?}: what happens to the transaction differs"))
        }
    }
}

/// What an INSERT does about conflicts: what it says, else what the table's constraint says, on that key only.
fn conflict_rule<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    positions: &[usize],
    insert: &Insert<'a>,
) -> R<(Option<ResolveType>, Option<&'a [usize]>)> {
    let (replace, columns) = match (&table.conflicts, insert.or, insert.upsert) {
        (Conflicts::Abort, ..) | (_, Some(_), None) => return Ok((insert.or, None)),
        (Conflicts::Key { replace, columns }, None, None) => (*replace, columns.as_slice()),
        _ => return no(Id::ConflictClause, &table.name, "its constraints say what a conflict does"),
    };
    tr.fire(Id::ConflictClause);
    if columns.iter().any(|p| table.columns[*p].collation != Collation::Binary) {
        return no(Id::Collation, &table.name, "the key ignores case");
    }
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    if !tr.postgres {
        upsert::only_conflict(tr, table, positions, Some(&sorted))?;
    } else if tr.input.catalogue.has_odd_unique_index(table) {
        return no(Id::ConflictClause, &table.name, "a unique index over part of the rows or an expression");
    }
    Ok((Some(if replace { ResolveType::Replace } else { ResolveType::Ignore }), Some(columns)))
}
