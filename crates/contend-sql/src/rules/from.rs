//! FROM and WITH: the tables of a query, and how they are joined.

use std::borrow::Cow;
use std::rc::Rc;

use crate::catalogue::Column;
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    Expr, FromClause, Indexed, JoinConstraint, JoinOperator, JoinType, JoinedSelectTable, Literal, QualifiedName,
    Select, SelectTable, With,
};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::scope::{Columns, Cte, Found, Source, as_name};
use crate::types::{Collation, Ty};

impl<'a> Tr<'a> {
    /// Makes the tables of a FROM known, so that the select list, which is written before it, can name their columns.
    /// Queries in it are written now and kept.
    pub(crate) fn bind(&mut self, from: &'a FromClause<'a>) -> R<()> {
        if let Some(first) = from.select {
            self.bind_table(first)?;
        }
        for join in from.joins.iter().flatten() {
            let before = self.scopes.last().expect("a scope").sources.len();
            self.bind_table(&join.table)?;
            self.bind_join(join, before)?;
        }
        Ok(())
    }

    fn bind_join(&mut self, join: &'a JoinedSelectTable<'a>, before: usize) -> R<()> {
        let kind = join_type(join.operator);
        let here = self.scopes.len() - 1;
        let sources = &mut self.scopes[here].sources;
        let (earlier, later) = sources.split_at_mut(before);
        if kind.contains(JoinType::LEFT) {
            later.iter_mut().for_each(|s| s.nullable = true);
        }
        if kind.contains(JoinType::RIGHT) {
            earlier.iter_mut().for_each(|s| s.nullable = true);
        }
        let mixed = kind.contains(JoinType::RIGHT) && kind.contains(JoinType::LEFT);
        let right = kind.contains(JoinType::RIGHT) && !mixed;
        let shared: Vec<String> = match &join.constraint {
            Some(JoinConstraint::Using(names)) => names.iter().map(|n| plain(n.0).into_owned()).collect(),
            _ if kind.contains(JoinType::NATURAL) => {
                let known = |name: &str| earlier.iter().any(|s| has(s, name).is_some());
                let columns = later.iter().flat_map(|s| s.columns.all());
                columns.map(|c| c.name.clone()).filter(|name| known(name)).collect()
            }
            _ => return Ok(()),
        };
        self.fire(Id::Using);
        let [joined] = &mut self.scopes[here].sources[before..] else {
            return no(Id::Using, "JOIN", "USING or NATURAL with tables in parentheses");
        };
        for name in shared {
            let Some(column) = has(joined, &name) else {
                return no(Id::UnknownColumn, &name, "the joined table has no such column");
            };
            joined.joined.push(column);
        }
        joined.mixed = mixed && !joined.joined.is_empty();
        joined.right = right && !joined.joined.is_empty();
        Ok(())
    }

    fn bind_table(&mut self, table: &'a SelectTable<'a>) -> R<()> {
        match table {
            SelectTable::Table(name, alias, indexed) => {
                if let Some(Indexed::IndexedBy(_) | Indexed::NotIndexed) = indexed {
                    self.fire(Id::IndexedBy);
                }
                if self.is_schema_table(name) {
                    let shown = alias.as_ref().map_or(plain(name.name.0), |alias| plain(as_name(alias)));
                    let source = self.schema_table(name.name.0, shown)?;
                    return self.add_source(source);
                }
                let columns = self.table_columns(name)?;
                let shown = match (alias, &columns) {
                    (Some(alias), _) => plain(as_name(alias)),
                    (None, Columns::Table(table)) => table.name.as_str().into(),
                    (None, Columns::Query(_)) => plain(name.name.0),
                };
                self.add_source(Source::new(shown, columns))
            }
            SelectTable::TableCall(name, Some([Expr::Literal(Literal::String(table))]), alias)
                if plain(name.name.0).eq_ignore_ascii_case("pragma_table_info") =>
            {
                let shown = alias.as_ref().map_or(plain(name.name.0), |alias| plain(as_name(alias)));
                let source = self.table_info(table, shown)?;
                self.add_source(source)
            }
            SelectTable::TableCall(name, ..) => {
                no(Id::TableFunctions, name.name.0, "a table-valued function has no translation")
            }
            SelectTable::Select(select, alias) => {
                let alias = alias.as_ref().map(|alias| plain(as_name(alias)));
                self.bind_query(select, alias)
            }
            SelectTable::Sub(from, None) => self.bind(from),
            SelectTable::Sub(_, Some(alias)) => no(Id::Syntax, as_name(alias), "a name for tables in parentheses"),
        }
    }

    fn bind_query(&mut self, select: &'a Select<'a>, alias: Option<Cow<'a, str>>) -> R<()> {
        let outer = std::mem::take(&mut self.sql);
        let slots = self.slots.len();
        // A query in FROM does not see its neighbours.
        let scopes = self.scopes.split_off(self.scopes.len() - 1);
        let columns = self.subquery(select);
        self.scopes.extend(scopes);
        let columns = columns?;
        let text = std::mem::replace(&mut self.sql, outer);
        let placeholders = if self.postgres { vec![] } else { self.slots.split_off(slots) };
        let name = match alias {
            Some(alias) => alias,
            None => {
                self.fire(Id::SubqueryAlias);
                let number = self.scopes.last().expect("a scope").sources.len() + 1;
                format!("subquery{number}").into()
            }
        };
        let written = Some((text, placeholders));
        self.add_source(Source { written, ..Source::new(name, Columns::Query(columns)) })
    }

    fn add_source(&mut self, source: Source<'a>) -> R<()> {
        let sources = &mut self.scopes.last_mut().expect("a scope").sources;
        if sources.iter().any(|s| s.name.eq_ignore_ascii_case(&source.name)) {
            return no(Id::Ambiguous, &source.name, "two tables of one query have the same name");
        }
        sources.push(source);
        Ok(())
    }

    fn table_columns(&mut self, name: &'a QualifiedName<'a>) -> R<Columns<'a>> {
        let plain_name = plain(name.name.0);
        if name.db_name.is_some() {
            self.known_schema(name)?;
        } else if let Some(cte) = self.ctes.iter_mut().rev().find(|c| c.name.eq_ignore_ascii_case(&plain_name)) {
            cte.used = true;
            return Ok(Columns::Query(cte.columns.clone()));
        }
        self.known_table(&plain_name).map(Columns::Table)
    }

    /// A table's schema: `main`, unless a temporary table hides it there, or `temp` before a temporary one.
    pub(crate) fn known_schema(&mut self, name: &QualifiedName) -> R<()> {
        let Some(schema) = &name.db_name else { return Ok(()) };
        let table = plain(name.name.0);
        let temporary = self.catalogue.table(&table).is_some_and(|t| t.temporary);
        if plain(schema.0).eq_ignore_ascii_case("temp") && temporary {
            self.fire(Id::Schemas);
            return Ok(());
        }
        self.main_only(schema.0)?;
        if temporary {
            return no(Id::Schemas, schema.0, "a temporary table hides the one of `main`");
        }
        Ok(())
    }

    pub(crate) fn main_only(&mut self, schema: &str) -> R<()> {
        if plain(schema).eq_ignore_ascii_case("main") {
            self.fire(Id::Schemas);
            return Ok(());
        }
        no(Id::Schemas, schema, "only the schema `main` exists on the server")
    }

    /// Writes FROM, after `bind`.
    pub(crate) fn from(&mut self, from: &'a FromClause<'a>) -> R<()> {
        let mut next = 0;
        let joins = from.joins.as_deref().unwrap_or_default();
        let by_commas = joins.iter().all(|join| join.operator == JoinOperator::Comma && join.constraint.is_none());
        if !by_commas {
            return self.tables_part(from, &mut next);
        }
        // As it is: PostgreSQL takes the order of JOIN for the order of the plan where there are more than eight.
        let tables = from.select.into_iter().chain(joins.iter().map(|join| &join.table));
        self.list(tables, |tr, table| tr.write_table(table, &mut next))
    }

    /// Writes FROM where other tables are before it in the scope.
    pub(crate) fn tables_after(&mut self, from: &'a FromClause<'a>, tables: usize) -> R<()> {
        let mut next = tables;
        self.tables_part(from, &mut next)
    }

    fn tables_part(&mut self, from: &'a FromClause<'a>, next: &mut usize) -> R<()> {
        if let Some(first) = from.select {
            self.write_table(first, next)?;
        }
        for join in from.joins.iter().flatten() {
            let before = *next;
            let kind = join_type(join.operator);
            match (kind.contains(JoinType::LEFT), kind.contains(JoinType::RIGHT)) {
                (true, true) => {
                    self.fire(Id::FullJoin);
                    if !self.postgres {
                        return no(Id::FullJoin, "FULL", "MariaDB has no full join");
                    }
                    self.put(" FULL JOIN ");
                }
                (true, false) => self.put(" LEFT JOIN "),
                (false, true) => self.put(" RIGHT JOIN "),
                (false, false) => self.put(" JOIN "),
            }
            if join.operator == JoinOperator::Comma {
                self.fire(Id::CommaJoin);
            }
            self.write_table(&join.table, next)?;
            self.put(" ON ");
            match &join.constraint {
                Some(JoinConstraint::On(condition)) => drop(self.condition(condition)?),
                _ => self.shared_columns(before)?,
            }
        }
        Ok(())
    }

    /// The condition of USING and NATURAL: each shared column equals that of the first table that has it.
    fn shared_columns(&mut self, joined: usize) -> R<()> {
        let here = self.scopes.len() - 1;
        let sources = &self.scopes[here].sources;
        let columns = sources[joined].joined.clone();
        if columns.is_empty() {
            self.put("TRUE");
            return Ok(());
        }
        for (i, column) in columns.into_iter().enumerate() {
            if i > 0 {
                self.put(" AND ");
            }
            let sources = &self.scopes[here].sources;
            let name = &sources[joined].columns.all()[column].name;
            let earlier = sources[..joined].iter().enumerate().find_map(|(s, source)| Some((s, has(source, name)?)));
            let Some((source, earlier)) = earlier else {
                return no(Id::UnknownColumn, name, "no earlier table has this column of USING");
            };
            let start = self.at();
            let l = self.write_column(&Found { scope: here, source, column: earlier }, true)?;
            let left_end = self.at();
            self.put(" = ");
            let right = self.at();
            let r = self.write_column(&Found { scope: here, source: joined, column }, true)?;
            self.agree(start, left_end, right, l, r, false)?;
        }
        Ok(())
    }

    fn write_table(&mut self, table: &'a SelectTable<'a>, next: &mut usize) -> R<()> {
        let here = self.scopes.len() - 1;
        if let SelectTable::Sub(from, _) = table {
            self.put("(");
            self.tables_part(from, next)?;
            self.put(")");
            return Ok(());
        }
        let source = &mut self.scopes[here].sources[*next];
        *next += 1;
        let (name, written) = (source.name.clone(), source.written.take());
        match (written, table) {
            (Some((text, placeholders)), _) => {
                self.put("(");
                self.put(&text);
                self.slots.extend(placeholders);
                self.put(") AS ");
                self.name(&name)
            }
            (None, SelectTable::Table(table, alias, _)) => {
                let known = match &self.scopes[here].sources[*next - 1].columns {
                    Columns::Table(table) => table.name.as_str().into(),
                    Columns::Query(_) => plain(table.name.0),
                };
                self.name(&known)?;
                if alias.is_some() {
                    self.put(" AS ");
                    self.name(&name)?;
                }
                Ok(())
            }
            _ => no(Id::Syntax, "FROM", "a table of a form that is not understood"),
        }
    }

    /// WITH. A query that names itself is recursive, with the word or without.
    pub(crate) fn with(&mut self, with: &'a With<'a>) -> R<()> {
        self.fire(Id::With);
        let start = self.at();
        self.put("WITH ");
        let mut recursive = false;
        self.list(with.ctes, |tr, cte| {
            let name = plain(cte.tbl_name.0).into_owned();
            tr.name(&name)?;
            if let Some(columns) = cte.columns {
                tr.put(" (");
                tr.list(columns, |tr, c| tr.name(&plain(c.col_name.0)))?;
                tr.put(")");
            }
            tr.put(" AS (");
            let own = tr.ctes.len();
            let columns = tr.cte_body(cte, &name)?;
            recursive |= tr.ctes.get(own).is_some_and(|c| c.used);
            tr.ctes.truncate(own);
            tr.put(")");
            tr.ctes.push(Cte { name, columns, used: false });
            Ok(())
        })?;
        self.put(" ");
        if recursive {
            self.fire(Id::Recursive);
            self.sql.insert_str(start + "WITH ".len(), "RECURSIVE ");
        }
        Ok(())
    }

    fn cte_body(&mut self, cte: &'a crate::parse::tree::CommonTableExpr<'a>, name: &str) -> R<Rc<[Column]>> {
        let renamed = |columns: Rc<[Column]>| -> R<Rc<[Column]>> {
            let Some(names) = cte.columns else { return Ok(columns) };
            if names.len() != columns.len() {
                return no(Id::With, name, "the query has another number of columns than the list of names");
            }
            let with_name = |(c, n): (&Column, &crate::parse::tree::IndexedColumn)| Column {
                name: plain(n.col_name.0).into_owned(),
                ..c.clone()
            };
            Ok(columns.iter().zip(names).map(with_name).collect())
        };
        if cte.select.body.compounds.is_none() {
            return renamed(self.subquery(cte.select)?);
        }
        // Perhaps recursive: the columns of the first part are what the others see.
        let mark = self.mark();
        let first = self.first_part(cte.select)?;
        self.back_to(mark);
        let columns = renamed(first)?;
        self.ctes.push(Cte { name: name.to_string(), columns: columns.clone(), used: false });
        let own = self.ctes.len() - 1;
        let all = renamed(self.subquery(cte.select)?)?;
        if self.ctes[own].used {
            if cte.select.order_by.is_some() || cte.select.limit.is_some() {
                return no(Id::Recursive, name, "ORDER BY or LIMIT inside a recursive query");
            }
            for column in columns.iter() {
                if column.ty == Ty::Text && !self.postgres || column.collation != Collation::Binary {
                    return no(Id::Recursive, name, "MariaDB gives a recursive text the length of the first row's");
                }
            }
        }
        Ok(all)
    }

    fn first_part(&mut self, select: &'a Select<'a>) -> R<Rc<[Column]>> {
        let ctes = self.ctes.len();
        if let Some(with) = &select.with {
            self.with(with)?;
        }
        let columns = self.first_core(select);
        self.ctes.truncate(ctes);
        Ok(columns?.into())
    }
}

fn join_type(operator: JoinOperator) -> JoinType {
    match operator {
        JoinOperator::TypedJoin(Some(kind)) => kind,
        _ => JoinType::INNER,
    }
}

fn has(source: &Source, name: &str) -> Option<usize> {
    source.columns.all().iter().position(|c| c.name.eq_ignore_ascii_case(name))
}
