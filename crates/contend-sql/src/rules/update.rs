//! UPDATE and DELETE.

use std::borrow::Cow;

use crate::catalogue::{Catalogue, Conflicts, Event, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    Expr, FromClause, Indexed, Limit, Operator, QualifiedName, ResolveType, ResultColumn, Set, SortedColumn, With,
};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::literals::bare;
use crate::rules::{Id, assign, chains, changes, from, order, upsert};
use crate::scope::Scope;
use crate::types::{Collation, Strength};

pub(crate) struct Update<'a> {
    pub with: Option<&'a With<'a>>,
    pub or: Option<ResolveType>,
    pub table: &'a QualifiedName<'a>,
    pub indexed: Option<&'a Indexed<'a>>,
    pub sets: &'a [Set<'a>],
    pub from: Option<&'a FromClause<'a>>,
    pub condition: Option<&'a Expr<'a>>,
    pub returning: Option<&'a [ResultColumn<'a>]>,
    pub order: Option<&'a [SortedColumn<'a>]>,
    pub limit: Option<&'a Limit<'a>>,
}

pub(crate) struct Delete<'a> {
    pub with: Option<&'a With<'a>>,
    pub table: &'a QualifiedName<'a>,
    pub indexed: Option<&'a Indexed<'a>>,
    pub condition: Option<&'a Expr<'a>>,
    pub returning: Option<&'a [ResultColumn<'a>]>,
    pub order: Option<&'a [SortedColumn<'a>]>,
    pub limit: Option<&'a Limit<'a>>,
}

/// Whether every query in an expression is evaluated before the first row is changed. It always is, except inside
/// CASE, coalesce() and the like, where it is evaluated only when a row needs it.
fn evaluated_first(expr: &Expr, depth: u8) -> bool {
    let inner = |e: &Expr| evaluated_first(e, depth + 1);
    depth < 32
        && match expr {
            Expr::Subquery(_)
            | Expr::Literal(_)
            | Expr::Id(_)
            | Expr::Name(_)
            | Expr::Qualified(..)
            | Expr::DoublyQualified(..)
            | Expr::Variable(_) => true,
            Expr::Parenthesized(parts) => parts.iter().all(inner),
            Expr::Unary(_, e) | Expr::Collate(e, _) | Expr::Cast { expr: e, .. } => inner(e),
            Expr::Binary(l, op, r) => !matches!(op, Operator::And | Operator::Or) && inner(l) && inner(r),
            _ => false,
        }
}

/// Whether a condition finds at most one row: a unique column equals a value that is not a column.
fn one_row(table: &Table, condition: Option<&Expr>) -> bool {
    let Some(mut rest) = condition.map(bare) else { return false };
    loop {
        let (first, more) = match rest {
            Expr::Binary(l, Operator::And, r) => (bare(r), Some(bare(l))),
            last => (last, None),
        };
        if let Expr::Binary(l, Operator::Equals, r) = first {
            let constant = |e: &Expr| matches!(bare(e), Expr::Literal(_) | Expr::Variable(_));
            let unique = |e: &Expr| {
                let name = match bare(e) {
                    Expr::Id(id) => id.0,
                    Expr::Qualified(_, column) => column.0,
                    _ => return false,
                };
                let is_rowid = table.hidden.is_some() && name.eq_ignore_ascii_case("rowid");
                match changes::set_position(table, &plain(name)) {
                    Some(position) => table.unique.iter().any(|set| set[..] == [position]),
                    None => is_rowid,
                }
            };
            if unique(l) && constant(r) || unique(r) && constant(l) {
                return true;
            }
        }
        match more {
            Some(more) => rest = more,
            None => return false,
        }
    }
}

impl Update<'_> {
    fn sets_column(&self, table: &Table, position: usize) -> bool {
        changes::sets_column(self.sets, table, position)
    }

    /// Whether it gives rows different values in a column that is unique.
    fn moves_keys(&self, catalogue: &Catalogue, table: &Table) -> bool {
        let constant = |set: &&Set| matches!(bare(&set.expr), Expr::Literal(_) | Expr::Variable(_));
        let moved = self.sets.iter().filter(|set| !constant(set)).flat_map(|set| set.col_names.iter());
        let moved: Vec<usize> = moved.filter_map(|name| changes::set_position(table, &plain(name.0))).collect();
        catalogue.unique_sets(table).any(|set| set.iter().any(|position| moved.contains(position)))
    }
}

pub(crate) fn update<'a>(tr: &mut Tr<'a>, update: Update<'a>) -> R<()> {
    let table = updated(tr, &update)?;
    let from = update.from.filter(|f| f.select.is_some());
    let alias = update.table.alias.as_ref().map(|a| plain(a.0).into_owned());
    tr.put("UPDATE ");
    tr.name(&table.name)?;
    if let Some(alias) = &alias {
        tr.put(" AS ");
        tr.name(alias)?;
    }
    tr.known.scopes.push(Scope { sources: vec![source(table, alias.map(Cow::Owned))], ..Scope::default() });
    if let Some(from) = from {
        tr.fire(Id::UpdateFrom);
        from::bind(tr, from)?;
        tr.known.scopes.last_mut().expect("pushed above").several = true;
        if !tr.postgres {
            tr.put(" JOIN (");
            from::tables_after(tr, from, 1)?;
            tr.put(")");
        }
    }
    tr.put(" SET ");
    let sets = tr.out.sql.len();
    let below = tr.seen.outer_reads;
    tr.seen.outer_reads = 0;
    let own = update.table.alias.as_ref().map_or(table.name.as_str().into(), |a| plain(a.0));
    let qualifier = (from.is_some() && !tr.postgres).then_some(&*own);
    upsert::assignments(tr, table, update.sets, qualifier)?;
    let correlated = std::mem::replace(&mut tr.seen.outer_reads, below) > 0;
    let once = !correlated && update.sets.iter().all(|set| evaluated_first(&set.expr, 0));
    let one = from.is_none() && one_row(table, update.condition);
    if !once && !one && changes::may_read(tr, sets, table) {
        return no(Id::Assignment, "SELECT", "SQLite's query sees the rows changed before, the server's does not");
    }
    if let Some(from) = from
        && tr.postgres
    {
        tr.put(" FROM ");
        from::tables_after(tr, from, 1)?;
    }
    let limited = update.order.is_some() || update.limit.is_some();
    if limited && (from.is_some() || update.table.alias.is_some()) {
        return no(Id::LimitedChange, "LIMIT", "LIMIT with FROM or an alias");
    }
    let filter = tr.at();
    chosen_rows(tr, table, update.condition, update.order, update.limit)?;
    resolve_conflicts(tr, table, &update, filter)?;
    tr.known.scopes.pop();
    if let Some(results) = update.returning {
        if !tr.postgres {
            return no(Id::Returning, "RETURNING", "MariaDB has no RETURNING after UPDATE");
        }
        let alias = update.table.alias.as_ref().map(|a| plain(a.0));
        changes::returning(tr, table, alias, results, from.is_some())?;
    }
    tr.fire(Id::ChangedRows);
    note_keys(tr, table, &update, one);
    Ok(())
}

fn note_keys(tr: &mut Tr, table: &Table, update: &Update, one: bool) {
    if table.rowid.is_some_and(|rowid| update.sets_column(table, rowid)) {
        tr.fire(Id::RowidChanged);
        if tr.postgres {
            changes::bump_after(tr, table);
        }
    }
    if changes::sets_key(tr.input.catalogue, table, update.sets) {
        changes::bump_following(tr, table);
    }
    if !one && update.moves_keys(tr.input.catalogue, table) {
        tr.fire(Id::UniqueChanged);
    }
}

fn resolve_conflicts<'a>(tr: &mut Tr<'a>, table: &'a Table, update: &Update<'a>, filter: usize) -> R<()> {
    match update.or {
        Some(ResolveType::Ignore) => ignore_conflicts(tr, table, update, filter),
        Some(ResolveType::Replace) => replace_conflicting(tr, table, update, filter),
        _ => Ok(()),
    }
}

/// OR IGNORE: adds to the condition, which begins at `filter`, that no other row has a changed unique key.
fn ignore_conflicts<'a>(tr: &mut Tr<'a>, table: &'a Table, update: &Update<'a>, filter: usize) -> R<()> {
    let refused = |why: &str| no(Id::OrIgnore, "IGNORE", why);
    if tr.input.catalogue.has_odd_unique_index(table) {
        return refused("a unique index over part of the rows or an expression could conflict");
    }
    tr.fire(Id::OrIgnore);
    let sets: Vec<Vec<usize>> = tr.input.catalogue.unique_sets(table).map(<[usize]>::to_vec).collect();
    let changed: Vec<Vec<usize>> =
        sets.into_iter().filter(|set| set.iter().any(|p| update.sets_column(table, *p))).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let alone = update.from.is_none_or(|f| f.select.is_none()) && update.order.is_none() && update.limit.is_none();
    if !alone || !one_row(table, update.condition) {
        return refused("a unique column of several rows is changed, each after the one before");
    }
    // The condition stands alone behind WHERE, as one row is found by it.
    tr.out.sql.insert(filter + " WHERE ".len(), '(');
    tr.put(")");
    let own = tr.known.scopes.last().map(|scope| scope.sources[0].name.clone()).unwrap_or_default();
    for set in changed {
        tr.put(" AND NOT EXISTS (SELECT 1 FROM ");
        tr.name(&table.name)?;
        tr.put(" AS \"contend_other\" WHERE ");
        other_row(tr, table, &own)?;
        for position in set {
            tr.put(" AND ");
            key_column(tr, table, update, (position, &own))?;
        }
        tr.put(")");
    }
    Ok(())
}

/// OR REPLACE on PostgreSQL: a query in front deletes the rows that have a changed unique key, and the condition, which
/// begins at `filter`, waits for it.
fn replace_conflicting<'a>(tr: &mut Tr<'a>, table: &'a Table, update: &Update<'a>, filter: usize) -> R<()> {
    let refused = |why: &str| no(Id::OrConflict, "REPLACE", why);
    let catalogue = tr.input.catalogue;
    if catalogue.has_odd_unique_index(table) || catalogue.is_referred_to(table) {
        return refused("a unique index over part of the rows or an expression, or a foreign key that refers to them");
    }
    if catalogue.triggers_of(table).next().is_some() {
        return refused("the table has triggers, which the server fires for replaced rows too");
    }
    let fills = |p: usize| !table.columns[p].nullable && table.columns[p].has_default && update.sets_column(table, p);
    if (0..table.columns.len()).any(fills) {
        return refused("a NOT NULL column with a default, which would take the place of NULL");
    }
    tr.fire(Id::OrConflict);
    let sets = catalogue.unique_sets(table).filter(|set| set.iter().any(|p| update.sets_column(table, *p)));
    let changed: Vec<Vec<usize>> = sets.map(<[usize]>::to_vec).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let alone = update.from.is_none_or(|f| f.select.is_none()) && update.order.is_none() && update.limit.is_none();
    if !alone || update.with.is_some() || !one_row(table, update.condition) {
        return refused("a unique column of several rows is changed, each after the one before");
    }
    tr.out.sql.insert(filter + " WHERE ".len(), '(');
    tr.put(") AND (SELECT count(*) FROM \"contend_gone\") >= 0");
    let changing = std::mem::take(&mut tr.out.sql);
    let own = tr.known.scopes.last().map(|scope| scope.sources[0].name.clone()).unwrap_or_default();
    tr.put("WITH \"contend_gone\" AS (DELETE FROM ");
    tr.name(&table.name)?;
    tr.put(" AS \"contend_other\" USING ");
    tr.name(&table.name)?;
    tr.put(" AS ");
    tr.name(&own)?;
    tr.put(" WHERE (");
    let qualify = std::mem::replace(&mut tr.place.qualify, true);
    if let Some(condition) = update.condition {
        tr.condition(condition)?;
    }
    tr.place.qualify = qualify;
    tr.put(") AND ");
    other_row(tr, table, &own)?;
    for (number, set) in changed.iter().enumerate() {
        tr.put(if number == 0 { " AND (" } else { " OR " });
        for (i, position) in set.iter().enumerate() {
            tr.put(if i == 0 { "(" } else { " AND " });
            key_column(tr, table, update, (*position, &own))?;
        }
        tr.put(")");
    }
    tr.put(") RETURNING 1) ");
    tr.put(&changing);
    Ok(())
}

/// Writes that the other row is not the changed one.
fn other_row(tr: &mut Tr, table: &Table, own: &str) -> R<()> {
    let part = |tr: &mut Tr, name: &str| -> R<()> {
        tr.put("\"contend_other\".");
        tr.name(name)?;
        tr.put(" <> ");
        tr.name(own)?;
        tr.put(".");
        tr.name(name)
    };
    match &table.key[..] {
        _ if tr.postgres => {
            tr.put("\"contend_other\".ctid <> ");
            tr.name(own)?;
            tr.put(".ctid");
            Ok(())
        }
        [key] if !table.columns[*key].nullable => part(tr, &table.columns[*key].name),
        _ => no(Id::OrIgnore, "IGNORE", "the table has no key of one column"),
    }
}

/// Writes that the other row has the value of a unique column that the changed one gets.
fn key_column<'a>(tr: &mut Tr<'a>, table: &'a Table, update: &Update<'a>, (position, own): (usize, &str)) -> R<()> {
    let column = &table.columns[position];
    if column.collation != Collation::Binary {
        return no(Id::Collation, "IGNORE", "the key ignores case");
    }
    tr.put("\"contend_other\".");
    tr.name(&column.name)?;
    tr.put(" = ");
    let is_it = |set: &&Set| changes::sets_column(std::slice::from_ref(*set), table, position);
    let Some(set) = update.sets.iter().rev().find(is_it) else {
        tr.name(own)?;
        tr.put(".");
        return tr.name(&column.name);
    };
    if set.col_names.len() > 1 {
        return no(Id::OrIgnore, "IGNORE", "a row of columns is set");
    }
    let qualify = std::mem::replace(&mut tr.place.qualify, true);
    let start = tr.at();
    let mut value = assign::assign(tr, column, &set.expr)?;
    tr.place.qualify = qualify;
    tr.enclose(start, &mut value, Strength::Operator);
    if tr.out.sql[start..].contains("SELECT ") || tr.out.sql[start..].contains("gen_random_uuid(") {
        return no(Id::OrIgnore, "IGNORE", "a unique column is set from a query or at random");
    }
    Ok(())
}

/// Writes the part before UPDATE; returns the table, whose constraints must not resolve conflicts.
fn updated<'a>(tr: &mut Tr<'a>, update: &Update<'a>) -> R<&'a Table> {
    match update.or {
        None | Some(ResolveType::Abort | ResolveType::Ignore) => {}
        Some(ResolveType::Replace) if tr.postgres && update.returning.is_none() => {}
        _ => return no(Id::OrConflict, "OR", "UPDATE OR FAIL or ROLLBACK, or REPLACE on MariaDB or with RETURNING"),
    }
    rare_clauses(tr, "UPDATE", update.with)?;
    if let Some(with) = update.with {
        from::with_clause(tr, with)?;
    }
    if update.indexed.is_some() {
        tr.fire(Id::IndexedBy);
    }
    let table = changes::target(tr, update.table)?;
    chains::no_or(tr.input.catalogue, table, Event::Update, update.or)?;
    if tr.postgres {
        let (catalogue, token) = (tr.input.catalogue, update.table.name.0);
        if update.from.is_some_and(|from| from.select.is_some()) || !one_row(table, update.condition) {
            chains::row_by_row(catalogue, token, table, Event::Update)?;
        }
        if changes::sets_key(catalogue, table, update.sets) {
            chains::keys_row_by_row(catalogue, token, table)?;
        }
    }
    match &table.conflicts {
        Conflicts::Abort => Ok(table),
        Conflicts::Key { columns, .. } if !columns.iter().any(|p| update.sets_column(table, *p)) => Ok(table),
        _ => no(Id::ConflictClause, &table.name, "its constraints say what a conflict does"),
    }
}

pub(crate) fn delete<'a>(tr: &mut Tr<'a>, delete: Delete<'a>) -> R<()> {
    let Delete { with, table: name, indexed, condition, returning, order, limit } = delete;
    rare_clauses(tr, "DELETE", with)?;
    if let Some(with) = with {
        from::with_clause(tr, with)?;
    }
    if indexed.is_some() {
        tr.fire(Id::IndexedBy);
    }
    let table = changes::target(tr, name)?;
    if tr.postgres {
        if !one_row(table, condition) {
            chains::row_by_row(tr.input.catalogue, name.name.0, table, Event::Delete)?;
        }
        chains::keys_row_by_row(tr.input.catalogue, name.name.0, table)?;
    }
    tr.put("DELETE FROM ");
    tr.name(&table.name)?;
    let alias = name.alias.as_ref().map(|a| plain(a.0));
    if let Some(alias) = &alias {
        if !tr.postgres {
            return no(Id::Names, alias, "an alias for the table of a DELETE");
        }
        tr.put(" AS ");
        tr.name(alias)?;
    }
    tr.known.scopes.push(Scope { sources: vec![source(table, alias)], ..Scope::default() });
    if (order.is_some() || limit.is_some()) && name.alias.is_some() {
        return no(Id::LimitedChange, "LIMIT", "LIMIT with an alias");
    }
    chosen_rows(tr, table, condition, order, limit)?;
    tr.known.scopes.pop();
    if let Some(results) = returning {
        let alias = name.alias.as_ref().map(|a| plain(a.0));
        changes::returning(tr, table, alias, results, false)?;
    }
    Ok(())
}

fn filter<'a>(tr: &mut Tr<'a>, condition: Option<&'a Expr<'a>>) -> R<()> {
    if let Some(condition) = condition {
        tr.put(" WHERE ");
        tr.condition(condition)?;
    }
    Ok(())
}

/// WHERE, ORDER BY and LIMIT of a change: MariaDB supports them; for PostgreSQL a query selects the rows.
fn chosen_rows<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    condition: Option<&'a Expr<'a>>,
    order: Option<&'a [SortedColumn<'a>]>,
    limit: Option<&'a Limit<'a>>,
) -> R<()> {
    let Some(limit) = limit else {
        if order.is_some() {
            return no(Id::LimitedChange, "ORDER", "ORDER BY without LIMIT");
        }
        return filter(tr, condition);
    };
    tr.fire(Id::LimitedChange);
    let by_key = match (tr.postgres, limit.offset.is_some(), &table.key[..]) {
        (false, true, [key]) if !table.columns[*key].nullable => Some(&table.columns[*key].name),
        (false, true, _) => {
            return no(Id::LimitedChange, "LIMIT", "MariaDB has no OFFSET here, and the table no key of one column");
        }
        _ => None,
    };
    if tr.postgres {
        tr.put(" WHERE ctid IN (SELECT ctid FROM ");
        tr.name(&table.name)?;
    } else if let Some(key) = by_key {
        tr.put(" WHERE ");
        tr.name(key)?;
        tr.put(" IN (SELECT * FROM (SELECT ");
        tr.name(key)?;
        tr.put(" FROM ");
        tr.name(&table.name)?;
    }
    filter(tr, condition)?;
    if let Some(order) = order {
        tr.put(" ORDER BY ");
        tr.list(order, |tr, term| {
            let from = tr.at();
            let value = tr.value(&term.expr, crate::types::Ty::Any)?;
            order::ordered(tr, from, value, term)
        })?;
    }
    order::limit(tr, limit)?;
    if tr.postgres {
        tr.put(")");
    } else if by_key.is_some() {
        tr.put(") AS \"limited\")");
    }
    Ok(())
}

fn rare_clauses(tr: &mut Tr, word: &str, with: Option<&With>) -> R<()> {
    if with.is_some() && !tr.postgres {
        return no(Id::With, "WITH", format!("MariaDB has no WITH before {word}"));
    }
    Ok(())
}
