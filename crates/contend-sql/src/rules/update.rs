//! UPDATE and DELETE.

use std::borrow::Cow;

use crate::catalogue::{Conflicts, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    Expr, FromClause, Indexed, Limit, Operator, QualifiedName, ResolveType, ResultColumn, Set, SortedColumn, With,
};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::rules::insert::source;
use crate::scope::Scope;

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

/// Whether every query in an expression is computed before the first row is changed: it always is, but behind CASE,
/// coalesce() and the like only when a row asks for it.
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

/// Whether a condition finds one row at most: a unique column equals something that is no column.
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
                let position = table.position(&plain(name));
                position.is_some_and(|p| table.unique.iter().any(|set| set[..] == [p]))
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
        let is_it = |set: &Set| set.col_names.iter().any(|name| table.position(&plain(name.0)) == Some(position));
        self.sets.iter().any(is_it)
    }
}

impl<'a> Tr<'a> {
    pub(crate) fn update(&mut self, update: Update<'a>) -> R<()> {
        let table = self.updated(&update)?;
        let from = update.from.filter(|f| f.select.is_some());
        let alias = update.table.alias.as_ref().map(|a| plain(a.0).into_owned());
        self.put("UPDATE ");
        self.name(&table.name)?;
        if let Some(alias) = &alias {
            self.put(" AS ");
            self.name(alias)?;
        }
        self.scopes.push(Scope { sources: vec![source(table, alias.map(Cow::Owned))], ..Scope::default() });
        if let Some(from) = from {
            self.fire(Id::UpdateFrom);
            self.bind(from)?;
            self.scopes.last_mut().expect("pushed above").several = true;
            if !self.postgres {
                self.put(" JOIN (");
                self.tables_after(from, 1)?;
                self.put(")");
            }
        }
        self.put(" SET ");
        if table.rowid.is_some_and(|rowid| update.sets_column(table, rowid)) {
            self.fire(Id::RowidChanged);
        }
        let sets = self.sql.len();
        let below = self.outer_reads;
        self.outer_reads = 0;
        self.sets(table, update.sets, from.is_some() && !self.postgres)?;
        let correlated = std::mem::replace(&mut self.outer_reads, below) > 0;
        let once = !correlated && update.sets.iter().all(|set| evaluated_first(&set.expr, 0));
        let one = from.is_none() && one_row(table, update.condition);
        if !once && !one && self.may_read(sets, table)? {
            return no(Id::Assignment, "SELECT", "SQLite's query sees the rows changed before, the server's does not");
        }
        if let Some(from) = from
            && self.postgres
        {
            self.put(" FROM ");
            self.tables_after(from, 1)?;
        }
        let limited = update.order.is_some() || update.limit.is_some();
        if limited && (from.is_some() || update.table.alias.is_some()) {
            return no(Id::LimitedChange, "LIMIT", "LIMIT with FROM or an alias");
        }
        self.limited(table, update.condition, update.order, update.limit)?;
        self.scopes.pop();
        if let Some(results) = update.returning {
            if !self.postgres {
                return no(Id::Returning, "RETURNING", "MariaDB has no RETURNING after UPDATE");
            }
            let alias = update.table.alias.as_ref().map(|a| plain(a.0));
            self.returning(table, alias, results, from.is_some())?;
        }
        self.fire(Id::ChangedRows);
        Ok(())
    }

    /// What comes before UPDATE; the table, whose constraints leave nothing to decide.
    fn updated(&mut self, update: &Update<'a>) -> R<&'a Table> {
        if !matches!(update.or, None | Some(ResolveType::Abort)) {
            return no(Id::OrConflict, "OR", "UPDATE OR ...");
        }
        self.rare_clauses("UPDATE", update.with)?;
        if let Some(with) = update.with {
            self.with(with)?;
        }
        if update.indexed.is_some() {
            self.fire(Id::IndexedBy);
        }
        let table = self.target(update.table)?;
        match &table.conflicts {
            Conflicts::Abort => Ok(table),
            Conflicts::Key { columns, .. } if !columns.iter().any(|p| update.sets_column(table, *p)) => Ok(table),
            _ => no(Id::ConflictClause, &table.name, "its constraints say what a conflict does"),
        }
    }

    /// Whether what was written from `start` on has a query that reads this table, or what might: a view or WITH.
    pub(crate) fn may_read(&mut self, start: usize, table: &Table) -> R<bool> {
        if self.reads_from(start, table)? {
            return Ok(true);
        }
        let catalogue = self.catalogue;
        for view in catalogue.tables.iter().filter(|t| t.kind == crate::catalogue::Kind::View) {
            if self.reads_from(start, view)? {
                return Ok(true);
            }
        }
        Ok(!self.ctes.is_empty() && self.sql[start..].contains("SELECT "))
    }

    /// Whether what was written from `start` on has a query that reads this table.
    fn reads_from(&mut self, start: usize, table: &Table) -> R<bool> {
        let end = self.sql.len();
        self.name(&table.name)?;
        let name = self.sql.split_off(end);
        let written = &self.sql[start..];
        let is_source = |(at, _): (usize, &str)| {
            let column = written[at + name.len()..].starts_with('.');
            !column && ["FROM ", "JOIN ", ", ", "("].iter().any(|before| written[..at].ends_with(before))
        };
        Ok(written.contains("SELECT ") && written.match_indices(&name).any(is_source))
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn delete(
        &mut self,
        with: Option<&'a With<'a>>,
        name: &'a QualifiedName<'a>,
        indexed: Option<&'a Indexed<'a>>,
        condition: Option<&'a Expr<'a>>,
        returning: Option<&'a [ResultColumn<'a>]>,
        order: Option<&'a [SortedColumn<'a>]>,
        limit: Option<&'a Limit<'a>>,
    ) -> R<()> {
        self.rare_clauses("DELETE", with)?;
        if let Some(with) = with {
            self.with(with)?;
        }
        if indexed.is_some() {
            self.fire(Id::IndexedBy);
        }
        let table = self.target(name)?;
        self.put("DELETE FROM ");
        self.name(&table.name)?;
        let alias = name.alias.as_ref().map(|a| plain(a.0));
        if let Some(alias) = &alias {
            if !self.postgres {
                return no(Id::Names, alias, "an alias for the table of a DELETE");
            }
            self.put(" AS ");
            self.name(alias)?;
        }
        self.scopes.push(Scope { sources: vec![source(table, alias)], ..Scope::default() });
        if (order.is_some() || limit.is_some()) && name.alias.is_some() {
            return no(Id::LimitedChange, "LIMIT", "LIMIT with an alias");
        }
        self.limited(table, condition, order, limit)?;
        self.scopes.pop();
        if let Some(results) = returning {
            let alias = name.alias.as_ref().map(|a| plain(a.0));
            self.returning(table, alias, results, false)?;
        }
        Ok(())
    }

    fn filter(&mut self, condition: Option<&'a Expr<'a>>) -> R<()> {
        if let Some(condition) = condition {
            self.put(" WHERE ");
            self.condition(condition)?;
        }
        Ok(())
    }

    /// WHERE, ORDER BY and LIMIT of a change: MariaDB has them, PostgreSQL takes the rows' places from a query.
    fn limited(
        &mut self,
        table: &'a Table,
        condition: Option<&'a Expr<'a>>,
        order: Option<&'a [SortedColumn<'a>]>,
        limit: Option<&'a Limit<'a>>,
    ) -> R<()> {
        let Some(limit) = limit else {
            if order.is_some() {
                return no(Id::LimitedChange, "ORDER", "ORDER BY without LIMIT");
            }
            return self.filter(condition);
        };
        self.fire(Id::LimitedChange);
        let by_key = match (self.postgres, limit.offset.is_some(), &table.key[..]) {
            (false, true, [key]) if !table.columns[*key].nullable => Some(&table.columns[*key].name),
            (false, true, _) => {
                return no(
                    Id::LimitedChange,
                    "LIMIT",
                    "MariaDB has no OFFSET here, and the table no key of one column",
                );
            }
            _ => None,
        };
        if self.postgres {
            self.put(" WHERE ctid IN (SELECT ctid FROM ");
            self.name(&table.name)?;
        } else if let Some(key) = by_key {
            self.put(" WHERE ");
            self.name(key)?;
            self.put(" IN (SELECT * FROM (SELECT ");
            self.name(key)?;
            self.put(" FROM ");
            self.name(&table.name)?;
        }
        self.filter(condition)?;
        if let Some(order) = order {
            self.put(" ORDER BY ");
            self.list(order, |tr, term| {
                let from = tr.at();
                let value = tr.value(&term.expr, crate::types::Ty::Any)?;
                tr.ordered(from, value, term)
            })?;
        }
        self.limit(limit)?;
        if self.postgres {
            self.put(")");
        } else if by_key.is_some() {
            self.put(") AS \"limited\")");
        }
        Ok(())
    }

    fn rare_clauses(&mut self, word: &str, with: Option<&With>) -> R<()> {
        if with.is_some() && !self.postgres {
            return no(Id::With, "WITH", format!("MariaDB has no WITH before {word}"));
        }
        Ok(())
    }
}
