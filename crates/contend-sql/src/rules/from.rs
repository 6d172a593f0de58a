//! FROM and WITH: the tables of a query, and their joins.

use std::borrow::Cow;
use std::rc::Rc;

use crate::catalogue::Column;
use crate::emit::{Tr, Wanted, plain};
use crate::parse::tree::{
    Expr, FromClause, Indexed, JoinConstraint, JoinOperator, JoinType, JoinedSelectTable, Literal, QualifiedName,
    Select, SelectTable, With,
};
use crate::refuse::{R, no};
use crate::rules::{Id, joins, json_paths, recursion, schema};
use crate::scope::{Columns, Cte, Source, as_name};
use crate::types::Collation;

/// Registers the tables of a FROM, so that the select list, which is written first, can use their columns. Queries in
/// FROM are written now and stored.
pub(crate) fn bind<'a>(tr: &mut Tr<'a>, from: &'a FromClause<'a>) -> R<()> {
    if let Some(first) = from.select {
        bind_table(tr, first)?;
    }
    for join in from.joins.iter().flatten() {
        let before = tr.known.scopes.last().expect("a scope").sources.len();
        bind_table(tr, &join.table)?;
        bind_join(tr, join, before)?;
    }
    Ok(())
}

fn bind_join<'a>(tr: &mut Tr<'a>, join: &'a JoinedSelectTable<'a>, before: usize) -> R<()> {
    let kind = join_type(join.operator);
    let here = tr.known.scopes.len() - 1;
    let sources = &mut tr.known.scopes[here].sources;
    let (earlier, later) = sources.split_at_mut(before);
    if kind.contains(JoinType::LEFT) {
        later.iter_mut().for_each(|s| s.nullable = true);
    }
    if kind.contains(JoinType::RIGHT) {
        earlier.iter_mut().for_each(|s| s.nullable = true);
    }
    let mixed = kind.contains(JoinType::RIGHT) && kind.contains(JoinType::LEFT);
    let right = kind.contains(JoinType::RIGHT) && !mixed;
    if mixed && !(tr.postgres && joins::by_equality(join)) {
        tr.known.scopes[here].sources.iter_mut().for_each(|s| s.spelled = true);
    }
    let (earlier, later) = tr.known.scopes[here].sources.split_at(before);
    let shared: Vec<String> = match &join.constraint {
        Some(JoinConstraint::Using(names)) => names.iter().map(|n| plain(n.0).into_owned()).collect(),
        _ if kind.contains(JoinType::NATURAL) => {
            let known = |name: &str| earlier.iter().any(|s| joins::has(s, name).is_some());
            let columns = later.iter().flat_map(|s| s.columns.all());
            columns.map(|c| c.name.clone()).filter(|name| known(name)).collect()
        }
        _ => return Ok(()),
    };
    let combined = |name: &&String| earlier.iter().any(|s| (s.mixed || s.right) && joins::has(s, name).is_some());
    if let Some(name) = shared.iter().find(combined) {
        return no(Id::Using, name, "a column that an earlier RIGHT or FULL JOIN combines from both of its sides");
    }
    tr.fire(Id::Using);
    let [joined] = &mut tr.known.scopes[here].sources[before..] else {
        return no(Id::Using, "JOIN", "USING or NATURAL with tables in parentheses");
    };
    for name in shared {
        let Some(column) = joins::has(joined, &name) else {
            return no(Id::UnknownColumn, &name, "the joined table has no such column");
        };
        joined.joined.push(column);
    }
    joined.mixed = mixed && !joined.joined.is_empty();
    joined.right = right && !joined.joined.is_empty();
    Ok(())
}

fn bind_table<'a>(tr: &mut Tr<'a>, table: &'a SelectTable<'a>) -> R<()> {
    match table {
        SelectTable::Table(name, alias, indexed) => {
            if let Some(Indexed::IndexedBy(_) | Indexed::NotIndexed) = indexed {
                tr.fire(Id::IndexedBy);
            }
            if schema::is_schema_table(name) {
                let shown = alias.as_ref().map_or(plain(name.name.0), |alias| plain(as_name(alias)));
                let source = schema::schema_table(tr, name.name.0, shown)?;
                return add_source(tr, source);
            }
            let columns = table_columns(tr, name)?;
            let shown = match (alias, &columns) {
                (Some(alias), _) => plain(as_name(alias)),
                (None, Columns::Table(table)) => table.name.as_str().into(),
                (None, Columns::Query(_)) => plain(name.name.0),
            };
            add_source(tr, Source::new(shown, columns))
        }
        SelectTable::TableCall(name, Some([Expr::Literal(Literal::String(table))]), alias)
            if plain(name.name.0).eq_ignore_ascii_case("pragma_table_info") =>
        {
            let shown = alias.as_ref().map_or(plain(name.name.0), |alias| plain(as_name(alias)));
            let source = schema::table_info(tr, table, shown)?;
            add_source(tr, source)
        }
        SelectTable::TableCall(name, _, alias) if is_each(name) => {
            let shown = alias.as_ref().map_or(plain(name.name.0), |alias| plain(as_name(alias)));
            let columns = Columns::Query(json_paths::each_columns().into());
            add_source(tr, Source { hides: json_paths::EACH_HIDDEN, ..Source::new(shown, columns) })
        }
        SelectTable::TableCall(name, ..) => {
            no(Id::TableFunctions, name.name.0, "a table-valued function has no translation")
        }
        SelectTable::Select(select, alias) => {
            let alias = alias.as_ref().map(|alias| plain(as_name(alias)));
            bind_query(tr, select, alias)
        }
        SelectTable::Sub(from, None) => bind(tr, from),
        SelectTable::Sub(_, Some(alias)) => no(Id::Syntax, as_name(alias), "a name for tables in parentheses"),
    }
}

fn is_each(name: &QualifiedName) -> bool {
    plain(name.name.0).eq_ignore_ascii_case("json_each")
}

fn bind_query<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>, alias: Option<Cow<'a, str>>) -> R<()> {
    let outer = std::mem::take(&mut tr.out.sql);
    // A query in FROM does not see the other tables.
    let scopes = tr.known.scopes.split_off(tr.known.scopes.len() - 1);
    let columns = apart(tr, (Id::SubqueryAlias, "FROM"), |tr| tr.subquery(select));
    tr.known.scopes.extend(scopes);
    let columns = columns?;
    let written = std::mem::replace(&mut tr.out.sql, outer);
    let name = match alias {
        Some(alias) => alias,
        None => {
            tr.fire(Id::SubqueryAlias);
            let number = tr.known.scopes.last().expect("a scope").sources.len() + 1;
            format!("subquery{number}").into()
        }
    };
    add_source(tr, Source { written: Some(written), ..Source::new(name, Columns::Query(columns)) })
}

/// Writes a query in FROM or WITH, which on MariaDB sees no column of the queries around it; only the row of a trigger.
fn apart<'a, T>(tr: &mut Tr<'a>, (rule, token): (Id, &'static str), write: impl FnOnce(&mut Tr<'a>) -> R<T>) -> R<T> {
    let reads = |tr: &Tr| -> u32 { tr.known.scopes.iter().filter(|s| !s.of_trigger).map(|s| s.reads).sum() };
    let before = reads(tr);
    let written = write(tr)?;
    if !tr.postgres && reads(tr) != before {
        let why = "MariaDB's queries in FROM and WITH see no columns of the queries around them";
        return no(rule, token, why);
    }
    Ok(written)
}

fn add_source<'a>(tr: &mut Tr<'a>, source: Source<'a>) -> R<()> {
    let sources = &mut tr.known.scopes.last_mut().expect("a scope").sources;
    if sources.iter().any(|s| s.name.eq_ignore_ascii_case(&source.name)) {
        return no(Id::Ambiguous, &source.name, "two tables of one query have the same name");
    }
    sources.push(source);
    Ok(())
}

fn table_columns<'a>(tr: &mut Tr<'a>, name: &'a QualifiedName<'a>) -> R<Columns<'a>> {
    let plain_name = plain(name.name.0);
    if name.db_name.is_some() {
        known_schema(tr, name)?;
    } else if let Some(cte) = tr.known.ctes.iter_mut().rev().find(|c| c.name.eq_ignore_ascii_case(&plain_name)) {
        cte.used = true;
        return Ok(Columns::Query(cte.columns.clone()));
    } else if tr.known.later.iter().any(|later| later.eq_ignore_ascii_case(&plain_name)) {
        return no(Id::With, name.name.0, "a query of WITH that comes later; write it before");
    }
    tr.known_table(&plain_name).map(Columns::Table)
}

/// The schema of a table: `main`, unless a temporary table hides it, or `temp` for a temporary table.
pub(crate) fn known_schema(tr: &mut Tr, name: &QualifiedName) -> R<()> {
    let Some(schema) = &name.db_name else { return Ok(()) };
    let table = plain(name.name.0);
    let temporary = tr.input.catalogue.table(&table).is_some_and(|t| t.temporary);
    if plain(schema.0).eq_ignore_ascii_case("temp") && temporary {
        tr.fire(Id::Schemas);
        return Ok(());
    }
    main_only(tr, schema.0)?;
    if temporary {
        return no(Id::Schemas, schema.0, "a temporary table hides the one of `main`");
    }
    Ok(())
}

pub(crate) fn main_only(tr: &mut Tr, schema: &str) -> R<()> {
    if plain(schema).eq_ignore_ascii_case("main") {
        tr.fire(Id::Schemas);
        return Ok(());
    }
    no(Id::Schemas, schema, "only the schema `main` exists on the server")
}

/// Writes FROM, after `bind`.
pub(crate) fn from<'a>(tr: &mut Tr<'a>, from: &'a FromClause<'a>) -> R<()> {
    let mut next = 0;
    let joins = from.joins.as_deref().unwrap_or_default();
    let by_commas = joins.iter().all(|join| join.operator == JoinOperator::Comma && join.constraint.is_none());
    if !by_commas {
        return tables_part(tr, from, &mut next);
    }
    // In the given order: with more than eight tables PostgreSQL uses the order of JOIN for its plan.
    let tables = from.select.into_iter().chain(joins.iter().map(|join| &join.table));
    tr.list(tables, |tr, table| write_table(tr, table, &mut next))
}

/// Writes FROM if other tables precede it in the scope.
pub(crate) fn tables_after<'a>(tr: &mut Tr<'a>, from: &'a FromClause<'a>, tables: usize) -> R<()> {
    let mut next = tables;
    tables_part(tr, from, &mut next)
}

fn tables_part<'a>(tr: &mut Tr<'a>, from: &'a FromClause<'a>, next: &mut usize) -> R<()> {
    if let (0, Some(left), Some([join])) = (*next, from.select, from.joins.as_deref())
        && !(tr.postgres && joins::by_equality(join))
        && join_type(join.operator).contains(JoinType::LEFT | JoinType::RIGHT)
    {
        *next = 2;
        return joins::full_join(tr, left, join);
    }
    if let Some(first) = from.select {
        write_table(tr, first, next)?;
    }
    for join in from.joins.iter().flatten() {
        let before = *next;
        let kind = join_type(join.operator);
        match (kind.contains(JoinType::LEFT), kind.contains(JoinType::RIGHT)) {
            (true, true) => {
                tr.fire(Id::FullJoin);
                if !tr.postgres || !joins::by_equality(join) {
                    return no(Id::FullJoin, "FULL", "a full join of more than two tables, which the server has not");
                }
                tr.put(" FULL JOIN ");
            }
            (true, false) => tr.put(" LEFT JOIN "),
            (false, true) => tr.put(" RIGHT JOIN "),
            (false, false) => tr.put(" JOIN "),
        }
        if join.operator == JoinOperator::Comma {
            tr.fire(Id::CommaJoin);
        }
        write_table(tr, &join.table, next)?;
        tr.put(" ON ");
        match &join.constraint {
            Some(JoinConstraint::On(condition)) => drop(tr.condition(condition)?),
            _ => joins::shared_columns(tr, before)?,
        }
    }
    Ok(())
}

fn write_table<'a>(tr: &mut Tr<'a>, table: &'a SelectTable<'a>, next: &mut usize) -> R<()> {
    let here = tr.known.scopes.len() - 1;
    if let SelectTable::Sub(from, _) = table {
        tr.put("(");
        tables_part(tr, from, next)?;
        tr.put(")");
        return Ok(());
    }
    let source = &mut tr.known.scopes[here].sources[*next];
    *next += 1;
    let (name, written) = (source.name.clone(), source.written.take());
    match (written, table) {
        (Some(text), _) => {
            tr.put("(");
            tr.put(&text);
            tr.put(") AS ");
            tr.name(&name)
        }
        (None, SelectTable::TableCall(table, Some(args), _)) if is_each(table) => {
            json_paths::each(tr, table.name.0, args)?;
            tr.put(" AS ");
            tr.name(&name)
        }
        (None, SelectTable::Table(table, alias, _)) => {
            let columns = &tr.known.scopes[here].sources[*next - 1].columns;
            let is_query = matches!(columns, Columns::Query(_));
            let known = match columns {
                Columns::Table(table) => table.name.as_str().into(),
                // In the spelling of its definition.
                Columns::Query(_) => {
                    let used = plain(table.name.0);
                    let cte = tr.known.ctes.iter().rev().find(|cte| cte.name.eq_ignore_ascii_case(&used));
                    cte.map_or(used.clone(), |cte| cte.name.clone().into())
                }
            };
            tr.name(&known)?;
            if alias.is_some() || is_query && *known != *name {
                tr.put(" AS ");
                tr.name(&name)?;
            }
            Ok(())
        }
        _ => no(Id::Syntax, "FROM", "a table of a form that is not understood"),
    }
}

/// WITH. A query that refers to itself is recursive, with or without RECURSIVE.
pub(crate) fn with_clause<'a>(tr: &mut Tr<'a>, with: &'a With<'a>) -> R<()> {
    tr.fire(Id::With);
    let start = tr.at();
    tr.put("WITH ");
    let mut recursive = false;
    let outer = tr.known.later.len();
    let mut ctes: Vec<_> = with.ctes.iter().collect();
    if tr.known.from_last {
        ctes.reverse();
    }
    tr.known.later.extend(ctes.iter().skip(1).rev().map(|cte| plain(cte.tbl_name.0).into_owned()));
    tr.list(ctes, |tr, cte| {
        let name = plain(cte.tbl_name.0).into_owned();
        tr.name(&name)?;
        if let Some(columns) = cte.columns {
            tr.put(" (");
            tr.list(columns, |tr, c| tr.name(&plain(c.col_name.0)))?;
            tr.put(")");
        }
        tr.put(" AS (");
        let own = tr.known.ctes.len();
        let columns = apart(tr, (Id::With, "WITH"), |tr| cte_body(tr, cte, &name))?;
        recursive |= tr.known.ctes.get(own).is_some_and(|c| c.used);
        tr.known.ctes.truncate(own);
        tr.put(")");
        tr.known.ctes.push(Cte { name, columns, used: false });
        let left = tr.known.later.len().saturating_sub(1).max(outer);
        tr.known.later.truncate(left);
        Ok(())
    })?;
    tr.put(" ");
    if recursive {
        tr.fire(Id::Recursive);
        tr.out.sql.insert_str(start + "WITH ".len(), "RECURSIVE ");
    }
    Ok(())
}

fn cte_body<'a>(tr: &mut Tr<'a>, cte: &'a crate::parse::tree::CommonTableExpr<'a>, name: &str) -> R<Rc<[Column]>> {
    let renamed = |columns: Rc<[Column]>| -> R<Rc<[Column]>> {
        let Some(names) = cte.columns else { return Ok(columns) };
        if names.len() != columns.len() {
            return no(Id::With, name, "the number of columns differs between the query and the list of names");
        }
        let with_name = |(c, n): (&Column, &crate::parse::tree::IndexedColumn)| Column {
            name: plain(n.col_name.0).into_owned(),
            ..c.clone()
        };
        Ok(columns.iter().zip(names).map(with_name).collect())
    };
    if cte.select.body.compounds.is_none() {
        return renamed(tr.subquery(cte.select)?);
    }
    // Possibly recursive: the other parts see the columns of the first part.
    let mark = tr.mark();
    let mut first = tr.query(cte.select, Wanted::FirstPart)?;
    tr.back_to(mark);
    // The other parts may add NULLs, and texts that are numbers.
    first.iter_mut().for_each(|column| (column.nullable, column.wordy) = (true, false));
    let columns = renamed(first.into())?;
    tr.known.ctes.push(Cte { name: name.to_string(), columns: columns.clone(), used: false });
    let own = tr.known.ctes.len() - 1;
    let mark = tr.mark();
    let start = tr.at();
    let mut all = renamed(tr.subquery(cte.select)?)?;
    if tr.known.ctes[own].used {
        let limited = cte.select.limit.is_some();
        if cte.select.order_by.is_some() || limited && !recursion::in_one_order(cte.select, name) {
            return no(Id::Recursive, name, "ORDER BY or LIMIT inside a recursive query");
        }
        if columns.iter().any(|column| column.collation != Collation::Binary) {
            return no(Id::Recursive, name, "a recursive text of a collation that ignores case");
        }
        if columns.iter().zip(all.iter()).any(|(column, all)| column.ty != all.ty) {
            return no(Id::Recursive, name, "a column that has another type in the recursive part");
        }
        match (tr.postgres, limited) {
            (true, true) => recursion::limit_around(tr, start, cte, name)?,
            (true, false) => {}
            (false, _) => {
                tr.back_to(mark);
                all = renamed(recursion::counted(tr, cte, &columns)?)?;
            }
        }
    }
    Ok(all)
}

fn join_type(operator: JoinOperator) -> JoinType {
    match operator {
        JoinOperator::TypedJoin(Some(kind)) => kind,
        _ => JoinType::INNER,
    }
}
