//! INSERT, REPLACE and upserts.

use std::borrow::Cow;

use crate::catalogue::{Column, Conflicts, Event, Kind, Table, Trigger};
use crate::emit::{Tr, Wanted, plain};
use crate::parse::tree::{
    DistinctNames, OneSelect, QualifiedName, ResolveType, ResultColumn, Select, Set, TriggerTime, Upsert, UpsertDo,
    With,
};
use crate::refuse::{R, no};
use crate::rules::keys::Inserted;
use crate::rules::upsert::Written;
use crate::rules::{Id, assign, chains, changes, from, keys, merge, rows, upsert};
use crate::types::{Collation, Ty};

pub(crate) struct Insert<'a> {
    pub with: Option<&'a With<'a>>,
    pub or: Option<ResolveType>,
    pub table: &'a QualifiedName<'a>,
    pub columns: Option<&'a DistinctNames<'a>>,
    /// `None` for DEFAULT VALUES.
    pub select: Option<&'a Select<'a>>,
    pub upsert: Option<&'a Upsert<'a>>,
    pub returning: Option<&'a [ResultColumn<'a>]>,
    /// Whether it is a statement of its own, not part of a trigger.
    pub alone: bool,
}

pub(crate) fn insert<'a>(tr: &mut Tr<'a>, insert: Insert<'a>) -> R<()> {
    let table = inserted_into(tr, &insert)?;
    chains::no_or(tr.input.catalogue, table, Event::Insert, insert.or)?;
    let ctes = tr.known.ctes.len();
    if let Some(with) = insert.with
        && tr.postgres
    {
        from::with_clause(tr, with)?;
    }
    let positions = changes::insert_columns(table, insert.columns)?;
    let (or, only) = conflict_rule(tr, table, &positions, &insert)?;
    let ignore = !tr.postgres && leaves_out(tr, table, &positions, or, &insert);
    put_verb(tr, table, or, ignore)?;
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
            let (slots, stored) = (tr.out.slots.len(), rows::insert_rows(tr, table, &positions, select, or)?);
            explicit_rowid = stored.explicit_rowid;
            store_decimals(tr, table, &positions, select, rows)?;
            // In a query MariaDB gives a parameter the length of its first value, and cuts it.
            let by_query = tr.postgres || insert.with.is_none() && tr.out.slots.len() == slots;
            if insert.or == Some(ResolveType::Ignore) && !ignore && by_query {
                skip_nulls(tr, table, &positions, &stored.nulls, rows)?;
            }
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
        counts: insert.alone && tr.input.options.session && !tr.postgres,
        explicit_rowid,
        rows,
    };
    on_conflict(tr, table, insert.upsert, written)?;
    if let Some(results) = insert.returning {
        changes::returning(tr, table, alias, results, false)?;
    }
    if insert.alone {
        keys::returned(tr, table, &inserted(&insert, or, explicit_rowid))?;
    }
    tr.known.ctes.truncate(ctes);
    advance_counter(tr, table, explicit_rowid, insert.upsert);
    Ok(())
}

fn advance_counter(tr: &mut Tr, table: &Table, explicit_rowid: bool, clause: Option<&Upsert>) {
    let changed = changes_rowid(table, clause);
    if changed {
        tr.fire(Id::RowidChanged);
    }
    if tr.postgres && (explicit_rowid || changed) {
        changes::bump_after(tr, table);
    }
    if sets_of(clause).any(|sets| changes::sets_key(tr.input.catalogue, table, sets)) {
        changes::bump_following(tr, table);
    }
}

/// Whether a query has one row or none, such as `SELECT ?, ? WHERE NOT EXISTS (...)`.
fn at_most_one(select: &Select) -> bool {
    let no_source = match &select.body.select {
        OneSelect::Values(rows) => rows.len() == 1,
        OneSelect::Select { from, .. } => from.as_ref().is_none_or(|from| from.select.is_none()),
    };
    no_source && select.body.compounds.is_none()
}

/// Whether ON CONFLICT sets the INTEGER PRIMARY KEY of a row that is there.
fn changes_rowid(table: &Table, clause: Option<&Upsert>) -> bool {
    table.rowid.is_some_and(|rowid| sets_of(clause).any(|sets| changes::sets_column(sets, table, rowid)))
}

/// What each ON CONFLICT ... DO UPDATE sets.
fn sets_of<'c, 'a>(clause: Option<&'c Upsert<'a>>) -> impl Iterator<Item = &'c [Set<'a>]> {
    let of = |upsert: &'c Upsert<'a>| match &upsert.do_clause {
        UpsertDo::Set { sets, .. } => Some(&**sets),
        UpsertDo::Nothing => None,
    };
    std::iter::successors(clause, |upsert| upsert.next).filter_map(of)
}

fn put_verb(tr: &mut Tr, table: &Table, or: Option<ResolveType>, ignore: bool) -> R<()> {
    let replace = or == Some(ResolveType::Replace) && replaceable(tr, table)?;
    tr.put(match (tr.postgres, replace) {
        (false, true) => "REPLACE INTO ",
        _ if ignore => "INSERT IGNORE INTO ",
        _ => "INSERT INTO ",
    });
    tr.name(&table.name)
}

/// The table, or a view with a trigger that inserts instead.
fn inserted_into<'a>(tr: &mut Tr<'a>, insert: &Insert<'a>) -> R<&'a Table> {
    let catalogue = tr.input.catalogue;
    let named = catalogue.table(&plain(insert.table.name.0)).filter(|t| t.kind == Kind::View);
    let instead = |t: &Trigger| t.time == TriggerTime::InsteadOf && t.event == Event::Insert;
    let Some(view) = named.filter(|view| catalogue.triggers_of(view).any(instead)) else {
        let table = changes::target(tr, insert.table)?;
        if tr.postgres && !insert.select.is_none_or(at_most_one) {
            chains::row_by_row(catalogue, insert.table.name.0, table, Event::Insert)?;
            if insert.upsert.is_some() {
                chains::row_by_row(catalogue, insert.table.name.0, table, Event::Update)?;
            }
        }
        return Ok(table);
    };
    let plainly = insert.or.is_none() && insert.upsert.is_none() && insert.returning.is_none() && insert.alone;
    if !plainly || insert.select.is_none() {
        return no(Id::Views, insert.table.name.0, "an INSERT into a view with more than its rows");
    }
    from::known_schema(tr, insert.table)?;
    tr.fire(Id::Triggers);
    Ok(view)
}

fn inserted<'i, 'a>(insert: &'i Insert<'a>, or: Option<ResolveType>, explicit: bool) -> Inserted<'i, 'a> {
    let updates = insert.upsert.is_some_and(|u| !matches!(u.do_clause, UpsertDo::Nothing));
    let ignores = or == Some(ResolveType::Ignore) || insert.upsert.is_some() && !updates;
    Inserted { select: insert.select, updates, ignores, returning: insert.returning.is_some(), explicit }
}

/// OR IGNORE skips rows with a NULL in a NOT NULL column, which the servers' clauses for conflicts do not: leaves them out
/// of the rows, which begin at `start`. `nulls` are such columns that may get NULL.
fn skip_nulls(tr: &mut Tr, table: &Table, positions: &[usize], nulls: &[usize], start: usize) -> R<()> {
    let lacking = |(position, column): (usize, &Column)| {
        let filled = column.nullable || column.has_default || column.generated || table.rowid == Some(position);
        !filled && !positions.contains(&position)
    };
    let all = table.columns.iter().enumerate().any(lacking);
    // A trigger could raise an error for such a row first.
    if nulls.is_empty() && !all || tr.input.catalogue.triggers_of(table).next().is_some() {
        return Ok(());
    }
    if all && !tr.postgres {
        return no(
            Id::OrIgnore,
            "IGNORE",
            "MariaDB wants a value for a column without a default even if no row is left",
        );
    }
    let given = tr.out.sql.split_off(start);
    tr.put("WITH \"contend_rows\" (");
    tr.list(positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") AS (");
    tr.put(&given);
    tr.put(") SELECT * FROM \"contend_rows\" WHERE ");
    if all {
        tr.put("FALSE");
        return Ok(());
    }
    for (i, position) in nulls.iter().enumerate() {
        tr.put(if i > 0 { " AND " } else { "" });
        tr.name(&table.columns[*position].name)?;
        tr.put(" IS NOT NULL");
    }
    Ok(())
}

/// Makes reals of a query exact decimal numbers for columns of NUMERIC affinity: PostgreSQL's own conversion keeps 15
/// digits. The rows begin at `start`.
fn store_decimals<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    positions: &[usize],
    select: &'a Select<'a>,
    start: usize,
) -> R<()> {
    let is_decimal = |p: &usize| table.columns[*p].ty == Ty::Number;
    let is_list = tr.out.sql[start..].starts_with("VALUES ") && select.body.compounds.is_none();
    if !tr.postgres || !positions.iter().any(is_decimal) || is_list {
        return Ok(());
    }
    let mark = tr.mark();
    let columns = tr.query(select, Wanted::Columns);
    tr.back_to(mark);
    let columns = columns?;
    if !columns.iter().zip(positions).any(|(value, p)| is_decimal(p) && value.ty == Ty::Real) {
        return Ok(());
    }
    let given = tr.out.sql.split_off(start);
    tr.put("SELECT ");
    tr.list(columns.iter().zip(positions), |tr, (value, position)| {
        let start = tr.at();
        match value.ty {
            // In the inner query, NULL alone is a text.
            Ty::Null if table.rowid != Some(*position) => tr.put("NULL"),
            ty => {
                tr.name(&table.columns[*position].name)?;
                if is_decimal(position) && ty == Ty::Real {
                    assign::as_decimal(tr, start);
                }
            }
        }
        Ok(())
    })?;
    tr.put(" FROM (");
    tr.put(&given);
    tr.put(") AS \"rows\" (");
    tr.list(positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(")");
    Ok(())
}

/// Writes the table's alias.
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

/// Whether a row may be replaced, given the server's side effects.
fn replaceable(tr: &mut Tr, table: &Table) -> R<bool> {
    if tr.input.catalogue.is_referred_to(table) {
        return no(Id::ForeignKeys, "REPLACE", "what refers to the replaced row would go with it");
    }
    // PostgreSQL updates the row in place, so it fires no trigger of DELETE, as SQLite.
    let fires = |trigger: &Trigger| !(tr.postgres && trigger.event == Event::Delete);
    if tr.input.catalogue.triggers_of(table).any(fires) {
        return no(Id::Triggers, "REPLACE", "the table has triggers, which the server fires for replaced rows too");
    }
    Ok(true)
}

/// Whether MariaDB's IGNORE skips exactly the rows that the statement skips. It also skips rows without a parent and
/// rows that violate CHECK; OR IGNORE skips the latter too, DO NOTHING does not.
fn leaves_out<'a>(
    tr: &Tr<'a>,
    table: &Table,
    positions: &[usize],
    or: Option<ResolveType>,
    insert: &Insert<'a>,
) -> bool {
    // IGNORE would also skip the rows for which a trigger raises an error.
    if tr.input.catalogue.triggers_of(table).next().is_some() {
        return false;
    }
    let nothing = match (or, insert.upsert) {
        (Some(ResolveType::Ignore), None) => true,
        (None | Some(ResolveType::Abort), Some(upsert)) => matches!(upsert.do_clause, UpsertDo::Nothing),
        _ => false,
    };
    let unbound = table.references.is_empty() || !tr.input.catalogue.foreign_keys;
    let only_keys = unbound && (insert.upsert.is_none() || !table.checked);
    nothing && only_keys && changes::ignorable(table, positions, insert.select)
}

/// Writes the clause for conflicting rows after the rows.
fn on_conflict<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    clause: Option<&'a Upsert<'a>>,
    written: Written<'_, 'a>,
) -> R<()> {
    let skips =
        written.or == Some(ResolveType::Ignore) || clause.is_some_and(|u| matches!(u.do_clause, UpsertDo::Nothing));
    let on_update = |trigger: &Trigger| trigger.event == Event::Update;
    if !tr.postgres && !written.ignore && skips && tr.input.catalogue.triggers_of(table).any(on_update) {
        return no(Id::Triggers, "INSERT", "MariaDB would fire the triggers of UPDATE for rows that are skipped");
    }
    match (written.or, clause) {
        (_, clause) if written.ignore => {
            tr.fire(Id::OrIgnore);
            if let Some(target) = clause.map(|u| upsert::conflict_target(tr, table, u)).transpose()?.flatten() {
                upsert::only_conflict(tr, table, written.positions, Some(&target))?;
            }
            Ok(())
        }
        (None | Some(ResolveType::Abort), None) => Ok(()),
        (None | Some(ResolveType::Abort), Some(clause)) if clause.next.is_some() && tr.postgres => {
            tr.fire(Id::Upsert);
            merge::merge(tr, table, clause, &written)
        }
        (None | Some(ResolveType::Abort), Some(clause)) => upsert::upsert(tr, table, clause, written),
        (Some(_), Some(_)) => no(Id::OrConflict, "OR", "OR and ON CONFLICT in one statement"),
        (Some(ResolveType::Ignore), None) if tr.postgres && written.only.is_some() => {
            tr.put(" ON CONFLICT ");
            upsert::put_target(tr, table, written.only)?;
            tr.put("DO NOTHING");
            Ok(())
        }
        (Some(ResolveType::Ignore), None) => upsert::ignore(tr, table, written.returning, written.counts),
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

/// What an INSERT does about conflicts: its own clause, else that of the table's constraint, for that key only.
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
