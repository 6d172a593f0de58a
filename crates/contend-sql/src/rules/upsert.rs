//! What an INSERT does when a row is there already, and SET.

use crate::catalogue::{Column, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Select, Set, Upsert, UpsertDo};
use crate::parse::tree::{Literal, OneSelect};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::rules::insert::source;
use crate::scope::Scope;
use crate::types::{Collation, Strength, Ty, Val};
use std::borrow::Cow;

impl<'a> Tr<'a> {
    /// ON CONFLICT.
    pub(crate) fn upsert(
        &mut self,
        table: &'a Table,
        alias: Option<Cow<'a, str>>,
        positions: &[usize],
        upsert: &'a Upsert<'a>,
        one_row: bool,
        returning: bool,
    ) -> R<()> {
        self.fire(Id::Upsert);
        if upsert.next.is_some() {
            return no(Id::Upsert, "CONFLICT", "more than one ON CONFLICT");
        }
        let target = self.conflict_target(table, upsert)?;
        match &upsert.do_clause {
            UpsertDo::Nothing if self.postgres => {
                self.put(" ON CONFLICT ");
                self.put_target(table, target.as_deref())?;
                self.put("DO NOTHING");
                Ok(())
            }
            UpsertDo::Nothing => {
                if target.is_some() {
                    self.only_conflict(table, positions, target.as_deref())?;
                }
                self.no_change(table, returning)
            }
            UpsertDo::Set { sets, where_clause } => {
                let outer = std::mem::take(&mut self.scopes);
                self.scopes.push(Scope { sources: vec![source(table, alias)], several: true, ..Scope::default() });
                self.upsert = Some(table);
                let update = self.at();
                if self.postgres {
                    self.do_update(table, target.as_deref(), sets, where_clause.as_ref())?;
                } else {
                    self.only_conflict(table, positions, target.as_deref())?;
                    if where_clause.is_some() {
                        return no(Id::Upsert, "WHERE", "MariaDB has no WHERE in an upsert, and would count the row");
                    }
                    self.fire(Id::UpsertCount);
                    self.put(" ON DUPLICATE KEY UPDATE ");
                    self.sets(table, sets, false)?;
                }
                self.upsert = None;
                self.scopes = outer;
                if !one_row && self.may_read(update, table)? {
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

    fn do_update(
        &mut self,
        table: &'a Table,
        target: Option<&[usize]>,
        sets: &'a [Set<'a>],
        condition: Option<&'a Expr<'a>>,
    ) -> R<()> {
        if target.is_none() {
            return no(Id::Upsert, "CONFLICT", "DO UPDATE without a target");
        }
        self.put(" ON CONFLICT ");
        self.put_target(table, target)?;
        self.put("DO UPDATE SET ");
        self.sets(table, sets, false)?;
        if let Some(condition) = condition {
            self.put(" WHERE ");
            self.condition(condition)?;
        }
        Ok(())
    }

    /// Positions of the columns of ON CONFLICT (...).
    pub(crate) fn conflict_target(&mut self, table: &Table, upsert: &Upsert) -> R<Option<Vec<usize>>> {
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
                if !self.catalogue.unique_sets(table).any(same) {
                    return no(Id::Upsert, "CONFLICT", "no unique key has exactly these columns");
                }
                if positions.iter().any(|p| table.columns[*p].collation != Collation::Binary) {
                    return no(Id::Collation, "CONFLICT", "the key ignores case");
                }
                Ok(Some(positions))
            }
            None => no(Id::Upsert, "CONFLICT", "the target is an expression"),
        }
    }

    pub(crate) fn put_target(&mut self, table: &Table, target: Option<&[usize]>) -> R<()> {
        let Some(target) = target else { return Ok(()) };
        self.put("(");
        self.list(target, |tr, p| tr.name(&table.columns[*p].name))?;
        self.put(") ");
        Ok(())
    }

    /// MariaDB's upsert answers to any unique key: the one named must be the only one that can conflict.
    pub(crate) fn only_conflict(&mut self, table: &Table, positions: &[usize], target: Option<&[usize]>) -> R<()> {
        if self.catalogue.has_odd_unique_index(table) {
            return no(
                Id::Upsert,
                "CONFLICT",
                "a unique index over part of the rows or an expression could conflict too",
            );
        }
        for set in self.catalogue.unique_sets(table) {
            let mut sorted = set.to_vec();
            sorted.sort_unstable();
            let numbered = table.rowid.is_some_and(|r| set == [r] && !positions.contains(&r));
            if !numbered && target.is_some_and(|t| t != sorted) {
                return no(
                    Id::Upsert,
                    "CONFLICT",
                    "another unique key could conflict, and MariaDB would update then too",
                );
            }
        }
        Ok(())
    }

    pub(crate) fn no_change(&mut self, table: &Table, returning: bool) -> R<()> {
        if returning {
            return no(Id::Upsert, "RETURNING", "MariaDB would return the rows that are there already");
        }
        let column = table.key.first().or(Some(&0)).and_then(|p| table.columns.get(*p));
        let Some(column) = column else { return no(Id::Upsert, "CONFLICT", "the table has no columns") };
        self.fire(Id::UpsertCount);
        self.put(" ON DUPLICATE KEY UPDATE ");
        self.name(&column.name)?;
        self.put(" = ");
        self.name(&table.name)?;
        self.put(".");
        self.name(&column.name)
    }

    /// INSERT OR IGNORE.
    pub(crate) fn ignore(&mut self, table: &Table, returning: bool) -> R<()> {
        self.fire(Id::OrIgnore);
        if self.postgres {
            self.put(" ON CONFLICT DO NOTHING");
            return Ok(());
        }
        self.no_change(table, returning)
    }

    /// INSERT OR REPLACE. MariaDB has it; PostgreSQL updates every column where only one key can conflict. `rows` is where
    /// the rows were written.
    pub(crate) fn replace(
        &mut self,
        table: &'a Table,
        positions: &[usize],
        explicit_rowid: bool,
        (select, rows): (Option<&'a Select<'a>>, usize),
        only: Option<&[usize]>,
    ) -> R<()> {
        self.fire(Id::Replace);
        if !self.postgres {
            self.fire(Id::UpsertCount);
            return Ok(());
        }
        if self.catalogue.has_odd_unique_index(table) {
            return no(
                Id::Replace,
                "REPLACE",
                "a unique index over part of the rows or an expression could conflict too",
            );
        }
        let numbered = |set: &[usize]| table.rowid.is_some_and(|r| set == [r]) && !explicit_rowid;
        let mut sets = self.catalogue.unique_sets(table).filter(|set| !numbered(set));
        let Some(target) = only.or(sets.next()) else { return Ok(()) };
        if only.is_none() && sets.any(|other| other != target) {
            return self.delete_conflicting(table, positions, select, rows);
        }
        if target.iter().any(|p| table.columns[*p].collation != Collation::Binary) {
            return no(Id::Collation, "REPLACE", "the key ignores case");
        }
        self.put(" ON CONFLICT ");
        self.put_target(table, Some(target))?;
        self.put("DO UPDATE SET ");
        let columns = (0..table.columns.len()).filter(|p| !target.contains(p) && !table.columns[*p].generated);
        let columns: Vec<usize> = columns.collect();
        if columns.is_empty() {
            let column = &table.columns[target[0]].name;
            self.name(column)?;
            self.put(" = excluded.");
            return self.name(column);
        }
        self.list(columns, |tr, p| {
            tr.name(&table.columns[p].name)?;
            if positions.contains(&p) || table.rowid == Some(p) {
                tr.put(" = excluded.");
                tr.name(&table.columns[p].name)
            } else {
                tr.put(" = DEFAULT");
                Ok(())
            }
        })
    }

    /// REPLACE where several keys can conflict: the statement deletes every row that one of them finds, then inserts.
    /// Both see the rows as they were before, so that a value may be made of the row that is replaced.
    fn delete_conflicting(
        &mut self,
        table: &'a Table,
        positions: &[usize],
        select: Option<&'a Select<'a>>,
        rows: usize,
    ) -> R<()> {
        let row = match select.map(|s| (&s.body.select, &s.body.compounds)) {
            Some((OneSelect::Values(rows), None)) if rows.len() == 1 => &rows[0],
            _ => return no(Id::Replace, "REPLACE", "several rows, where more than one unique key can conflict"),
        };
        let defaults = |(expr, p): (&Expr, &usize)| {
            let column = &table.columns[*p];
            matches!(bare(expr), Expr::Literal(Literal::Null)) && !column.nullable && column.has_default
        };
        if row.iter().zip(positions).any(defaults) || !self.sql.starts_with("INSERT ") {
            return no(Id::Replace, "REPLACE", "WITH or a default, where more than one unique key can conflict");
        }
        let insert = std::mem::take(&mut self.sql);
        self.put("WITH \"contend_gone\" AS (DELETE FROM ");
        self.name(&table.name)?;
        let mut word = " WHERE ";
        let sets: Vec<Vec<usize>> = self.catalogue.unique_sets(table).map(<[usize]>::to_vec).collect();
        for set in sets {
            let given = |p: &usize| positions.iter().position(|q| q == p).map(|at| &row[at]);
            if set.iter().any(|p| table.columns[*p].collation != Collation::Binary) {
                return no(Id::Collation, "REPLACE", "the key ignores case");
            }
            // A key with a NULL in it conflicts with none.
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
            self.put(word);
            let key = set.iter().filter_map(|p| Some((&table.columns[*p], given(p)?)));
            self.key_is(key)?;
            word = " OR ";
        }
        if word == " WHERE " {
            self.sql = insert;
            return Ok(());
        }
        let values = insert[rows..].strip_prefix("VALUES (").and_then(|rest| rest.strip_suffix(')'));
        let Some(values) = values else { return no(Id::Replace, "REPLACE", "rows of another form than VALUES") };
        self.put(" RETURNING 1) ");
        self.put(&insert[..rows]);
        self.put("SELECT ");
        self.put(values);
        // So that the rows are gone before the new one comes.
        self.put(" WHERE (SELECT count(*) FROM \"contend_gone\") >= 0");
        Ok(())
    }

    /// Whether the columns of a key have these values.
    fn key_is<'c>(&mut self, key: impl Iterator<Item = (&'c Column, &'a Expr<'a>)>) -> R<()> {
        for (i, (column, expr)) in key.enumerate() {
            self.put(if i == 0 { "(" } else { " AND " });
            self.name(&column.name)?;
            self.put(" = ");
            let start = self.at();
            let mut value = self.assign(column, expr)?;
            self.enclose(start, &mut value, Strength::Operator);
            if self.sql[start..].contains("gen_random_uuid(") {
                return no(Id::Replace, "REPLACE", "a random key, where more than one unique key can conflict");
            }
        }
        self.put(")");
        Ok(())
    }

    /// `excluded.x`: the row that could not be inserted.
    pub(crate) fn excluded(&mut self, table: &'a Table, name: &str) -> R<Val> {
        let Some(position) = table.position(name) else {
            return no(Id::UnknownColumn, name, format!("the table has no column `{name}`"));
        };
        let column = &table.columns[position];
        if self.postgres {
            self.put("excluded.");
            self.name(&column.name)?;
        } else {
            self.put("VALUES(");
            self.name(&column.name)?;
            self.put(")");
        }
        // To SQLite it is no column, so that its collation counts for nothing.
        Ok(Val { collation: Collation::Binary, column: false, ..crate::rules::select::as_value(column) })
    }

    /// SET of UPDATE and upsert.
    pub(crate) fn sets(&mut self, table: &'a Table, sets: &'a [Set<'a>], qualified: bool) -> R<()> {
        let mut first = true;
        for (index, set) in sets.iter().enumerate() {
            let names: Vec<usize> = self.insert_columns(table, Some(&set.col_names))?;
            let values: Vec<&'a Expr<'a>> = match (&set.expr, names.len()) {
                (expr, 1) => vec![expr],
                (Expr::Parenthesized(row), n) if row.len() == n => row.iter().collect(),
                (Expr::Subquery(select), _) if self.postgres => {
                    if !std::mem::take(&mut first) {
                        self.put(", ");
                    }
                    self.set_row(table, &names, select)?;
                    continue;
                }
                _ => return no(Id::RowValues, "SET", "a row of columns set from a query"),
            };
            for (position, expr) in names.into_iter().zip(values) {
                // Of several assignments to a column the last counts.
                let again = |set: &Set| set.col_names.iter().any(|n| table.position(&plain(n.0)) == Some(position));
                if sets[index + 1..].iter().any(again) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    self.put(", ");
                }
                let column = &table.columns[position];
                if qualified {
                    self.name(&table.name)?;
                    self.put(".");
                }
                self.name(&column.name)?;
                self.put(" = ");
                self.assign(column, expr)?;
            }
        }
        if !self.postgres && !first {
            self.fire(Id::SetOrder);
        }
        Ok(())
    }

    /// `(a, b) = (SELECT x, y ...)`
    pub(crate) fn set_row(&mut self, table: &'a Table, names: &[usize], select: &'a Select<'a>) -> R<()> {
        self.fire(Id::RowValues);
        self.put("(");
        self.list(names, |tr, p| tr.name(&table.columns[*p].name))?;
        self.put(") = (");
        let columns = self.subquery(select)?;
        self.put(")");
        if columns.len() != names.len() {
            return no(Id::RowValues, "SET", "the query has another number of columns");
        }
        for (value, position) in columns.iter().zip(names) {
            let column = &table.columns[*position];
            if column.affinity.numeric() && (column.ty, value.ty) == (Ty::Text, Ty::Text) {
                self.stays_text(&column.name, crate::rules::select::as_value(value))?;
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
}
