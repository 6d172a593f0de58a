//! Shared by INSERT, UPDATE and DELETE: the changed table, RETURNING, and queries inside the statement.

use std::borrow::Cow;

use crate::catalogue::{Catalogue, Column, Kind, Table};
use crate::emit::{Tr, plain};
use crate::names::{push_name, push_text};
use crate::parse::tree::{DistinctNames, Expr, Literal, OneSelect, QualifiedName, ResultColumn, Select, Set};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, chains, columns, from, tagged};
use crate::scope::{Columns, Found, Scope, Source, as_name};
use crate::types::Ty;

/// The table that a statement changes.
pub(crate) fn target<'a>(tr: &mut Tr<'a>, name: &'a QualifiedName<'a>) -> R<&'a Table> {
    from::known_schema(tr, name)?;
    let table = tr.known_table(&plain(name.name.0))?;
    if table.kind == Kind::View {
        return no(Id::Views, name.name.0, "a view is changed");
    }
    Ok(table)
}

pub(crate) fn insert_columns(table: &Table, names: Option<&DistinctNames>) -> R<Vec<usize>> {
    let Some(names) = names else {
        return Ok((0..table.columns.len()).filter(|p| !table.columns[*p].generated).collect());
    };
    names
        .iter()
        .map(|name| {
            let name = plain(name.0);
            match set_position(table, &name) {
                Some(position) => Ok(position),
                None => no(Id::UnknownColumn, &name, format!("the table has no column `{name}`")),
            }
        })
        .collect()
}

/// The position of a column that is set, where `rowid` means the INTEGER PRIMARY KEY.
pub(crate) fn set_position(table: &Table, name: &str) -> Option<usize> {
    table.position(name).or(table.rowid.filter(|_| name.eq_ignore_ascii_case("rowid")))
}

/// Whether SET gives this column a value.
pub(crate) fn sets_column(sets: &[Set], table: &Table, position: usize) -> bool {
    let is_it = |set: &Set| set.col_names.iter().any(|name| set_position(table, &plain(name.0)) == Some(position));
    sets.iter().any(is_it)
}

/// Whether SET gives a column of a unique key a value.
pub(crate) fn sets_key(catalogue: &Catalogue, table: &Table, sets: &[Set]) -> bool {
    catalogue.unique_sets(table).flatten().any(|position| sets_column(sets, table, *position))
}

pub(crate) fn returning<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    alias: Option<Cow<'a, str>>,
    results: &'a [ResultColumn<'a>],
    several: bool,
) -> R<()> {
    tr.fire(Id::Returning);
    let scope = Scope { sources: vec![source(table, alias)], results, several, ..Scope::default() };
    tr.known.scopes.push(scope);
    let start = tr.at();
    // In SQLite the row is already stored.
    let around = std::mem::replace(&mut tr.place.session_changes, true);
    tr.put(" RETURNING ");
    let mut types = vec![];
    tr.list(results, |tr, result| match result {
        ResultColumn::Star if !several && table.hidden.is_none() => {
            types.extend(table.columns.iter().map(|column| column.ty));
            tr.put("*");
            Ok(())
        }
        ResultColumn::Star => tr.list(0..table.columns.len(), |tr, column| {
            let scope = tr.known.scopes.len() - 1;
            types.push(table.columns[column].ty);
            columns::write_column(tr, &Found { scope, source: 0, column }, true).map(drop)
        }),
        ResultColumn::Expr(expr, alias) => {
            types.push(tr.result(expr, Ty::Any)?.ty);
            if let Some(alias) = alias {
                tr.put(" AS ");
                tr.name(&plain(as_name(alias)))?;
            }
            Ok(())
        }
        ResultColumn::TableStar(_) => no(Id::Returning, "RETURNING", "RETURNING t.*"),
    })?;
    tagged::leave(tr, types.into_iter())?;
    tr.place.session_changes = around;
    tr.known.scopes.pop();
    if may_read(tr, start, table) {
        return no(Id::Returning, "RETURNING", "SQLite's query sees the changed rows, the server's does not");
    }
    Ok(())
}

/// Whether the output from `start` on has a query that reads this table or one that changes with it, or may read it
/// through a view or WITH.
pub(crate) fn may_read(tr: &Tr, start: usize, table: &Table) -> bool {
    let written = &tr.out.sql[start..];
    chains::reads_changed(tr.input.catalogue, written, table)
        || !tr.known.ctes.is_empty() && written.contains("SELECT ")
}

/// Whether a statement inserts one row, so that it succeeds or fails as a whole.
pub(crate) fn one_row(select: Option<&Select>) -> bool {
    match select {
        None => true,
        Some(select) => {
            matches!(&select.body.select, OneSelect::Values(rows) if rows.len() == 1) && select.body.compounds.is_none()
        }
    }
}

/// Whether INSERT IGNORE only skips rows with an existing key: it would also adjust other values that do not fit.
pub(crate) fn ignorable(table: &Table, positions: &[usize], select: Option<&Select>) -> bool {
    let Some(select) = select else { return false };
    let OneSelect::Values(rows) = &select.body.select else { return false };
    let fits = |expr: &Expr, position: usize| {
        let column = &table.columns[position];
        match (bare(expr), column.ty) {
            (Expr::Literal(Literal::Null), _) => column.nullable || table.rowid == Some(position),
            (Expr::Literal(Literal::String(text)), Ty::Text) => text.chars().count() <= 190,
            (_, Ty::Int | Ty::Real) => literal_number(expr).is_some(),
            _ => false,
        }
    };
    let given = |position: usize| {
        let column = &table.columns[position];
        positions.contains(&position) || column.nullable || column.has_default || table.rowid == Some(position)
    };
    (0..table.columns.len()).all(given)
        && select.body.compounds.is_none()
        && rows.iter().all(|row| row.len() == positions.len() && row.iter().zip(positions).all(|(e, p)| fits(e, *p)))
}

/// The source of a scope for the changed table.
pub(crate) fn source<'a>(table: &'a Table, alias: Option<Cow<'a, str>>) -> Source<'a> {
    Source::new(alias.unwrap_or(Cow::Borrowed(&table.name)), Columns::Table(table))
}

/// The sequence of a table's INTEGER PRIMARY KEY, as PostgreSQL's functions take it.
pub(crate) fn sequence(table: &Table) -> String {
    let column: &Column = &table.columns[table.rowid.unwrap_or_default()];
    let mut name = String::new();
    push_name(&mut name, &table.name);
    let mut out = String::from("pg_get_serial_sequence(");
    push_text(&mut out, &name);
    out.push_str(", ");
    push_text(&mut out, &column.name);
    out.push(')');
    out
}

/// Adds a statement that advances the sequence after rows with explicit keys. It leaves a sequence that is past them, and
/// may be in use by another connection at that moment.
pub(crate) fn bump_after(tr: &mut Tr, table: &Table) {
    tr.fire(Id::SequenceBump);
    let mut column = String::new();
    push_name(&mut column, &table.columns[table.rowid.unwrap_or_default()].name);
    let mut name = String::new();
    push_name(&mut name, &table.name);
    let sequence = sequence(table);
    tr.out.after.push(format!(
        "SELECT setval({sequence}, max({column})) FROM {name} \
         HAVING max({column}) > COALESCE(pg_sequence_last_value({sequence}::pg_catalog.regclass), 0)"
    ));
}

/// Advances PostgreSQL's sequences of the tables whose INTEGER PRIMARY KEY a foreign key changes with this table's keys.
pub(crate) fn bump_following(tr: &mut Tr, table: &Table) {
    if tr.postgres {
        tr.input.catalogue.with_following_rowids(table).into_iter().for_each(|table| bump_after(tr, table));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, Options, Target, translate};

    #[test]
    fn only_a_changed_key_moves_the_counters_of_tables_that_follow_it() {
        let mut catalogue = Catalogue::default();
        let schema = "PRAGMA foreign_keys = ON;
            CREATE TABLE p (id INTEGER PRIMARY KEY, code INTEGER UNIQUE, a TEXT);
            CREATE TABLE c (id INTEGER PRIMARY KEY REFERENCES p (code) ON UPDATE CASCADE)";
        catalogue.learn(schema).expect("the schema");
        let insert = "INSERT INTO p (code, a) VALUES (1, 'x')";
        for (change, moves) in [
            (format!("{insert} ON CONFLICT DO NOTHING"), false),
            (format!("{insert} ON CONFLICT (code) DO NOTHING"), false),
            (format!("{insert} ON CONFLICT (code) DO UPDATE SET a = 'y'"), false),
            (format!("{insert} ON CONFLICT (code) DO UPDATE SET a = 'y', code = 2"), true),
            ("UPDATE p SET a = 'y' WHERE id = 1".to_string(), false),
            ("UPDATE p SET code = 2 WHERE id = 1".to_string(), true),
        ] {
            let done = translate(&change, &catalogue, &Options::to(Target::Postgres)).expect("a translation");
            let of_c = done.statements.iter().filter(|statement| statement.sql.contains("FROM \"c\" HAVING max"));
            assert_eq!(of_c.count() == 1, moves, "{change}: {done:?}");
            assert!(moves || done.statements.len() == 1, "{change}: {done:?}");
        }
    }
}
