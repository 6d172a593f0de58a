//! Conflicts of an INSERT with existing rows, and SET.

use std::borrow::Cow;

use crate::catalogue::{Column, Table};
use crate::emit::{Extra, Tr, plain};
use crate::parse::tree::{Expr, Literal, OneSelect, ResolveType, ResultColumn, Select, Set, Upsert, UpsertDo};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::compare::FOLD_POSTGRES;
use crate::rules::literals::{bare, has_aggregates};
use crate::rules::{Id, assign, changes, keys};
use crate::scope::Scope;
use crate::types::{Collation, Strength, Ty, Val};

/// An INSERT with its rows written, and the handling of conflicts.
pub(crate) struct Written<'w, 'a> {
    pub alias: Option<Cow<'a, str>>,
    /// Positions of the columns that get values.
    pub positions: &'w [usize],
    pub or: Option<ResolveType>,
    /// The only key whose conflicts are handled.
    pub only: Option<&'a [usize]>,
    /// Whether MariaDB's IGNORE is sufficient.
    pub ignore: bool,
    /// `None` for DEFAULT VALUES.
    pub select: Option<&'a Select<'a>>,
    /// RETURNING follows.
    pub returning: bool,
    /// Whether the rows that are there already are counted apart, for MariaDB.
    pub counts: bool,
    pub explicit_rowid: bool,
    /// Start of the rows in the output.
    pub rows: usize,
}

/// ON CONFLICT.
pub(crate) fn upsert<'a>(tr: &mut Tr<'a>, table: &'a Table, upsert: &'a Upsert<'a>, written: Written<'_, 'a>) -> R<()> {
    tr.fire(Id::Upsert);
    if upsert.next.is_some() {
        return no(Id::Upsert, "CONFLICT", "more than one ON CONFLICT");
    }
    let Written { alias, positions, select, returning, counts, .. } = written;
    let target = conflict_target(tr, table, upsert)?;
    match &upsert.do_clause {
        UpsertDo::Nothing if tr.postgres => {
            tr.put(" ON CONFLICT ");
            put_target(tr, table, target.as_deref())?;
            tr.put("DO NOTHING");
            Ok(())
        }
        UpsertDo::Nothing => {
            if target.is_some() {
                only_conflict(tr, table, positions, target.as_deref())?;
            }
            no_change(tr, table, returning, counts)
        }
        UpsertDo::Set { sets, where_clause } => {
            let outer = std::mem::take(&mut tr.known.scopes);
            tr.known.scopes.push(Scope { sources: vec![source(table, alias)], several: true, ..Scope::default() });
            tr.place.upsert = Some(table);
            let update = tr.at();
            if tr.postgres {
                let target = target.map_or_else(|| only_key(tr, table, positions).map(<[usize]>::to_vec), Ok)?;
                do_update(tr, table, Some(&target), sets, where_clause.as_ref())?;
            } else {
                only_conflict(tr, table, positions, target.as_deref())?;
                if where_clause.is_some() {
                    return no(Id::Upsert, "WHERE", "MariaDB has no WHERE in an upsert, and would count the row");
                }
                tr.fire(Id::UpsertCount);
                tr.put(" ON DUPLICATE KEY UPDATE ");
                assignments(tr, table, sets, None)?;
                if counts {
                    count_updated(tr, table, sets)?;
                }
            }
            tr.place.upsert = None;
            tr.known.scopes = outer;
            if !changes::one_row(select) && changes::may_read(tr, update, table) {
                return no(
                    Id::Upsert,
                    "CONFLICT",
                    "SQLite's query sees the rows before this one, the server's does not",
                );
            }
            Ok(())
        }
    }
}

/// Whether a key is the rowid, which the server numbers.
fn is_numbered(table: &Table, positions: &[usize], set: &[usize]) -> bool {
    table.rowid.is_some_and(|r| set == [r] && !positions.contains(&r))
}

/// The only key with which new rows can conflict.
fn only_key<'a>(tr: &Tr<'a>, table: &'a Table, positions: &[usize]) -> R<&'a [usize]> {
    let catalogue = tr.input.catalogue;
    let mut sets = catalogue.unique_sets(table).filter(|set| !is_numbered(table, positions, set));
    match (sets.next(), sets.next()) {
        _ if catalogue.has_odd_unique_index(table) => {
            no(Id::Upsert, "CONFLICT", "a unique index over part of the rows or an expression could conflict too")
        }
        (Some(only), None) => Ok(only),
        (None, _) => no(Id::Upsert, "CONFLICT", "DO UPDATE where no key can conflict"),
        _ => no(Id::Upsert, "CONFLICT", "DO UPDATE without a target, where more than one unique key can conflict"),
    }
}

fn do_update<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    target: Option<&[usize]>,
    sets: &'a [Set<'a>],
    condition: Option<&'a Expr<'a>>,
) -> R<()> {
    tr.put(" ON CONFLICT ");
    put_target(tr, table, target)?;
    tr.put("DO UPDATE SET ");
    assignments(tr, table, sets, None)?;
    if let Some(condition) = condition {
        tr.put(" WHERE ");
        tr.condition(condition)?;
    }
    Ok(())
}

/// Positions of the columns of ON CONFLICT (...).
pub(crate) fn conflict_target(tr: &mut Tr, table: &Table, upsert: &Upsert) -> R<Option<Vec<usize>>> {
    let Some(index) = &upsert.index else { return Ok(None) };
    if index.where_clause.is_some() {
        return no(Id::Upsert, "WHERE", "the target is a partial index");
    }
    match table.positions(index.targets) {
        Some(mut positions) => {
            positions.sort_unstable();
            let same = |set: &[usize]| {
                let mut set = set.to_vec();
                set.sort_unstable();
                set == positions
            };
            if !tr.input.catalogue.unique_sets(table).any(same) {
                return no(Id::Upsert, "CONFLICT", "no unique key has exactly these columns");
            }
            Ok(Some(positions))
        }
        None => no(Id::Upsert, "CONFLICT", "the target is an expression"),
    }
}

/// The collation of a column in a unique key: that of its index, which may be another one than the column's.
fn collation_in(tr: &Tr, table: &Table, key: &[usize], position: usize) -> R<Collation> {
    let own = |p: &usize| table.columns[*p].collation;
    let is_same = |set: &[usize]| set.len() == key.len() && set.iter().all(|p| key.contains(p));
    let mut indexes = tr.input.catalogue.indexes.iter().filter(|i| i.unique && !i.partial && i.table == table.name);
    let index = indexes.find(|index| index.columns.as_deref().is_some_and(is_same));
    match index.filter(|_| !table.unique.iter().any(|set| is_same(set))) {
        Some(index) if index.ignores_case != key.iter().any(|p| own(p) == Collation::NoCase) => match key {
            [_] => Ok(if index.ignores_case { Collation::NoCase } else { Collation::Binary }),
            _ => no(Id::Collation, "CONFLICT", "an index of several columns has other collations than they have"),
        },
        _ => Ok(own(&position)),
    }
}

/// Whether a unique key compares texts by another collation than BINARY.
fn is_collated(tr: &Tr, table: &Table, key: &[usize]) -> R<bool> {
    for position in key {
        if collation_in(tr, table, key, *position)? != Collation::Binary {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(crate) fn put_target(tr: &mut Tr, table: &Table, target: Option<&[usize]>) -> R<()> {
    let Some(target) = target else { return Ok(()) };
    tr.put("(");
    tr.list(target, |tr, p| {
        let start = tr.at();
        tr.name(&table.columns[*p].name)?;
        match collation_in(tr, table, target, *p)? {
            Collation::Binary => {}
            // The term of its unique index.
            Collation::NoCase if tr.postgres => tr.wrap(start, FOLD_POSTGRES.0, FOLD_POSTGRES.1),
            _ => return no(Id::Collation, "CONFLICT", "the key ignores case or spaces"),
        }
        Ok(())
    })?;
    tr.put(") ");
    Ok(())
}

/// MariaDB's upsert applies to every unique key: the named one must be the only one that can conflict.
pub(crate) fn only_conflict(tr: &mut Tr, table: &Table, positions: &[usize], target: Option<&[usize]>) -> R<()> {
    if tr.input.catalogue.has_odd_unique_index(table) {
        return no(Id::Upsert, "CONFLICT", "a unique index over part of the rows or an expression could conflict too");
    }
    for set in tr.input.catalogue.unique_sets(table) {
        let mut sorted = set.to_vec();
        sorted.sort_unstable();
        if !is_numbered(table, positions, set) && target.is_some_and(|t| t != sorted) {
            return no(Id::Upsert, "CONFLICT", "another unique key could conflict, and MariaDB would update then too");
        }
    }
    Ok(())
}

/// Counts the rows that are updated, in a column that SET leaves.
fn count_updated(tr: &mut Tr, table: &Table, sets: &[Set]) -> R<()> {
    let mut set = vec![];
    for names in sets {
        set.extend(changes::insert_columns(table, Some(&names.col_names))?);
    }
    let left = table.columns.iter().enumerate().find(|(at, column)| !column.generated && !set.contains(at));
    let Some((_, column)) = left else { return Ok(()) };
    tr.put(", ");
    keys::counter(tr, table, &column.name)
}

fn no_change(tr: &mut Tr, table: &Table, returning: bool, counts: bool) -> R<()> {
    if returning {
        return no(Id::Upsert, "RETURNING", "MariaDB would return the rows that are there already");
    }
    let column = table.key.first().or(Some(&0)).and_then(|p| table.columns.get(*p));
    let Some(column) = column else { return no(Id::Upsert, "CONFLICT", "the table has no columns") };
    tr.fire(Id::UpsertCount);
    tr.put(" ON DUPLICATE KEY UPDATE ");
    if counts {
        return keys::counter(tr, table, &column.name);
    }
    tr.name(&column.name)?;
    tr.put(" = ");
    tr.name(&table.name)?;
    tr.put(".");
    tr.name(&column.name)
}

/// INSERT OR IGNORE.
pub(crate) fn ignore(tr: &mut Tr, table: &Table, returning: bool, counts: bool) -> R<()> {
    tr.fire(Id::OrIgnore);
    if tr.postgres {
        tr.put(" ON CONFLICT DO NOTHING");
        return Ok(());
    }
    no_change(tr, table, returning, counts)
}

/// INSERT OR REPLACE. MariaDB supports it; for PostgreSQL, if only one key can conflict, every column is updated.
/// `rows` is where the rows were written.
pub(crate) fn replace<'a>(tr: &mut Tr<'a>, table: &'a Table, written: &Written<'_, 'a>) -> R<()> {
    let Written { positions, only, explicit_rowid, .. } = *written;
    tr.fire(Id::Replace);
    if !tr.postgres {
        tr.fire(Id::UpsertCount);
        return Ok(());
    }
    if tr.input.catalogue.has_odd_unique_index(table) {
        return no(Id::Replace, "REPLACE", "a unique index over part of the rows or an expression could conflict too");
    }
    let numbered = |set: &[usize]| table.rowid.is_some_and(|r| set == [r]) && !explicit_rowid;
    let mut sets = tr.input.catalogue.unique_sets(table).filter(|set| !numbered(set));
    let Some(target) = only.or(sets.next()) else { return Ok(()) };
    if only.is_none() && sets.any(|other| other != target) {
        return delete_conflicting(tr, table, written);
    }
    if is_collated(tr, table, target)? {
        return no(Id::Collation, "REPLACE", "the key ignores case");
    }
    tr.put(" ON CONFLICT ");
    put_target(tr, table, Some(target))?;
    tr.put("DO UPDATE SET ");
    let left = (0..table.columns.len()).filter(|p| !target.contains(p) && !table.columns[*p].generated);
    let given = |p: usize| (table.columns[p].name.as_str(), positions.contains(&p) || table.rowid == Some(p));
    let mut sets: Vec<(&str, bool)> = left.map(given).collect();
    if sets.is_empty() {
        sets.push((&table.columns[target[0]].name, true));
    }
    // To SQLite the row is a new one.
    sets.extend(table.hidden.iter().map(|hidden| (hidden.name.as_str(), false)));
    tr.list(sets, |tr, (name, is_given)| {
        tr.name(name)?;
        tr.put(if is_given { " = excluded." } else { " = DEFAULT" });
        if is_given { tr.name(name) } else { Ok(()) }
    })
}

/// REPLACE if several keys can conflict: the statement deletes every conflicting row, then inserts. Both steps see
/// the rows as they were before, so a value may be computed from the replaced row.
fn delete_conflicting<'a>(tr: &mut Tr<'a>, table: &'a Table, written: &Written<'_, 'a>) -> R<()> {
    let Written { positions, select, rows, .. } = *written;
    if tr.input.catalogue.triggers_of(table).next().is_some() {
        return no(Id::Triggers, "REPLACE", "the table has triggers, which the server fires for replaced rows too");
    }
    let row = match select.map(|s| (&s.body.select, &s.body.compounds)) {
        Some((OneSelect::Values(rows), None)) if rows.len() == 1 => &rows[0],
        _ => return no(Id::Replace, "REPLACE", "several rows, where more than one unique key can conflict"),
    };
    let defaults = |(expr, p): (&Expr, &usize)| {
        let column = &table.columns[*p];
        matches!(bare(expr), Expr::Literal(Literal::Null)) && !column.nullable && column.has_default
    };
    if row.iter().zip(positions).any(defaults) || !tr.out.sql.starts_with("INSERT ") {
        return no(Id::Replace, "REPLACE", "WITH or a default, where more than one unique key can conflict");
    }
    let insert = std::mem::take(&mut tr.out.sql);
    tr.put("WITH \"contend_gone\" AS (DELETE FROM ");
    tr.name(&table.name)?;
    let mut word = " WHERE ";
    let sets: Vec<Vec<usize>> = tr.input.catalogue.unique_sets(table).map(<[usize]>::to_vec).collect();
    for set in sets {
        let given = |p: &usize| positions.iter().position(|q| q == p).map(|at| &row[at]);
        if is_collated(tr, table, &set)? {
            return no(Id::Collation, "REPLACE", "the key ignores case");
        }
        // A key that contains NULL conflicts with no row.
        let absent = |p: &usize| match given(p) {
            None => (table.columns[*p].nullable || table.rowid == Some(*p)) && !table.columns[*p].has_default,
            Some(expr) => matches!(bare(expr), Expr::Literal(Literal::Null)),
        };
        if set.iter().any(absent) {
            continue;
        }
        if set.iter().any(|p| given(p).is_none()) {
            return no(Id::Replace, "REPLACE", "a key's column has a default, which could conflict");
        }
        tr.put(word);
        let key = set.iter().filter_map(|p| Some((&table.columns[*p], given(p)?)));
        key_is(tr, key)?;
        word = " OR ";
    }
    if word == " WHERE " {
        tr.out.sql = insert;
        return Ok(());
    }
    let values = insert[rows..].strip_prefix("VALUES (").and_then(|rest| rest.strip_suffix(')'));
    let Some(values) = values else { return no(Id::Replace, "REPLACE", "rows of another form than VALUES") };
    tr.put(" RETURNING 1) ");
    tr.put(&insert[..rows]);
    tr.put("SELECT ");
    tr.put(values);
    // So that the rows are deleted before the new one is inserted.
    tr.put(" WHERE (SELECT count(*) FROM \"contend_gone\") >= 0");
    Ok(())
}

/// Writes the condition that the columns of a key have these values.
fn key_is<'a, 'c>(tr: &mut Tr<'a>, key: impl Iterator<Item = (&'c Column, &'a Expr<'a>)>) -> R<()> {
    for (i, (column, expr)) in key.enumerate() {
        tr.put(if i == 0 { "(" } else { " AND " });
        tr.name(&column.name)?;
        tr.put(" = ");
        let start = tr.at();
        let mut value = assign::assign(tr, column, expr)?;
        tr.enclose(start, &mut value, Strength::Operator);
        if tr.out.sql[start..].contains("gen_random_uuid(") {
            return no(Id::Replace, "REPLACE", "a random key, where more than one unique key can conflict");
        }
    }
    tr.put(")");
    Ok(())
}

/// `excluded.x`: the row that could not be inserted.
pub(crate) fn excluded<'a>(tr: &mut Tr<'a>, table: &'a Table, name: &str) -> R<Val> {
    let Some(position) = table.position(name) else {
        return no(Id::UnknownColumn, name, format!("the table has no column `{name}`"));
    };
    let column = &table.columns[position];
    if tr.postgres {
        tr.put("excluded.");
        tr.name(&column.name)?;
    } else {
        // A long value would share its memory with the column, which may get another one in the same statement.
        let long = matches!(column.ty, Ty::Text | Ty::Blob | Ty::Tagged);
        tr.put(if long { "CONCAT(VALUES(" } else { "VALUES(" });
        tr.name(&column.name)?;
        tr.put(if long { "), '')" } else { ")" });
    }
    // For SQLite it is not a column, so its collation does not apply.
    Ok(Val { collation: Collation::Binary, column: false, ..crate::catalogue::as_value(column) })
}

/// SET of UPDATE and upsert. `qualifier` is written before each column.
pub(crate) fn assignments<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    sets: &'a [Set<'a>],
    qualifier: Option<&str>,
) -> R<()> {
    let mut first = true;
    for (index, set) in sets.iter().enumerate() {
        let names: Vec<usize> = changes::insert_columns(table, Some(&set.col_names))?;
        let values: Vec<&'a Expr<'a>> = match (&set.expr, names.len()) {
            (expr, 1) => vec![expr],
            (Expr::Parenthesized(row), n) if row.len() == n => row.iter().collect(),
            (Expr::Subquery(select), _) if tr.postgres => {
                if !std::mem::take(&mut first) {
                    tr.put(", ");
                }
                set_row(tr, table, &names, select)?;
                continue;
            }
            (Expr::Subquery(select), _) => {
                set_each(tr, table, &names, select, std::mem::take(&mut first))?;
                continue;
            }
            _ => return no(Id::RowValues, "SET", "a row of columns set from a row of another length"),
        };
        for (position, expr) in names.into_iter().zip(values) {
            // Of several assignments to a column, the last one counts.
            let again = |set: &Set| set.col_names.iter().any(|n| table.position(&plain(n.0)) == Some(position));
            if sets[index + 1..].iter().any(again) {
                continue;
            }
            if !std::mem::take(&mut first) {
                tr.put(", ");
            }
            let column = &table.columns[position];
            if let Some(qualifier) = qualifier {
                tr.name(qualifier)?;
                tr.put(".");
            }
            tr.name(&column.name)?;
            tr.put(" = ");
            assign::assign(tr, column, expr)?;
        }
    }
    if !tr.postgres && !first {
        tr.fire(Id::SetOrder);
    }
    Ok(())
}

/// `(a, b) = (SELECT x, y ...)`
fn set_row<'a>(tr: &mut Tr<'a>, table: &'a Table, names: &[usize], select: &'a Select<'a>) -> R<()> {
    tr.fire(Id::RowValues);
    tr.put("(");
    tr.list(names, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") = (");
    let columns = tr.subquery(select)?;
    tr.put(")");
    if columns.len() != names.len() {
        return no(Id::RowValues, "SET", "the query has a different number of columns");
    }
    stored_row(tr, table, names, &columns)
}

/// The same on MariaDB: the query for each column, with one result of it.
fn set_each<'a>(tr: &mut Tr<'a>, table: &'a Table, names: &[usize], select: &'a Select<'a>, mut first: bool) -> R<()> {
    tr.fire(Id::RowValues);
    let plainly = match &select.body.select {
        OneSelect::Select { distinctness: None, columns, group_by: None, having: None, .. } => {
            columns.len() == names.len()
                && columns.iter().all(|column| matches!(column, ResultColumn::Expr(..)))
                && columns.windows(2).all(|pair| has_aggregates(&pair[0]) == has_aggregates(&pair[1]))
        }
        _ => false,
    };
    // Of several rows, each query could take another.
    if !plainly || select.limit.is_some() || select.with.is_some() || select.body.compounds.is_some() {
        return no(Id::RowValues, "SET", "a row of columns set from a query with LIMIT, groups, aggregates or `*`");
    }
    for (only, position) in names.iter().enumerate() {
        if !std::mem::take(&mut first) {
            tr.put(", ");
        }
        tr.name(&table.columns[*position].name)?;
        tr.put(" = (");
        let start = tr.at();
        tr.place.extra = Extra { only: Some(only), ..Extra::default() };
        let columns = tr.subquery(select)?;
        tr.put(")");
        if ["RAND(", "UUID(", "RANDOM_BYTES("].iter().any(|random| tr.out.sql[start..].contains(random)) {
            return no(Id::RowValues, "SET", "a row of columns set from a query of random values");
        }
        stored_row(tr, table, &[*position], &columns)?;
    }
    Ok(())
}

/// Refuses values of a query that their columns do not hold.
fn stored_row(tr: &mut Tr, table: &Table, names: &[usize], columns: &[Column]) -> R<()> {
    for (value, position) in columns.iter().zip(names) {
        let column = &table.columns[*position];
        if column.affinity.numeric() && (column.ty, value.ty) == (Ty::Text, Ty::Text) {
            assign::stays_text(tr, &column.name, crate::catalogue::as_value(value))?;
        }
        if value.ty != column.ty {
            return no(
                Id::Assignment,
                &column.name,
                format!("{} stored in a column of {}", value.ty.word(), column.ty.word()),
            );
        }
    }
    Ok(())
}
