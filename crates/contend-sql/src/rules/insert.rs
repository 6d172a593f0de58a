//! INSERT, REPLACE and upserts.

use std::borrow::Cow;

use crate::catalogue::{Column, Conflicts, Table};
use crate::emit::{Tr, plain};
use crate::names::push_name;
use crate::parse::tree::{
    DistinctNames, Expr, Literal, OneSelect, QualifiedName, ResolveType, ResultColumn, Select, Upsert, UpsertDo, With,
};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::bare;
use crate::scope::{Columns, Scope, Source};
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
}

/// An INSERT with its rows written, and what is to become of those that conflict.
struct Written<'w, 'a> {
    alias: Option<Cow<'a, str>>,
    positions: &'w [usize],
    or: Option<ResolveType>,
    /// The only key whose conflicts are meant.
    only: Option<&'a [usize]>,
    /// MariaDB's IGNORE does it.
    ignore: bool,
    explicit_rowid: bool,
    /// Where the rows begin.
    rows: usize,
}

impl<'a> Tr<'a> {
    pub(crate) fn insert(&mut self, insert: Insert<'a>) -> R<()> {
        let table = self.target(insert.table)?;
        let ctes = self.ctes.len();
        if let Some(with) = insert.with
            && self.postgres
        {
            self.with(with)?;
        }
        let positions = self.insert_columns(table, insert.columns)?;
        let (or, only) = self.conflict_rule(table, &positions, &insert)?;
        let replace = or == Some(ResolveType::Replace);
        if replace {
            self.replaceable(table)?;
        }
        let ignore = !self.postgres && self.leaves_out(table, &positions, or, &insert);
        self.put(match (self.postgres, replace) {
            (false, true) => "REPLACE INTO ",
            _ if ignore => "INSERT IGNORE INTO ",
            _ => "INSERT INTO ",
        });
        self.name(&table.name)?;
        let alias = insert.table.alias.as_ref().map(|a| plain(a.0));
        if let Some(alias) = &alias {
            if !self.postgres {
                return no(Id::Upsert, alias, "an alias for the table of an INSERT");
            }
            self.put(" AS ");
            self.name(alias)?;
        }
        let mut explicit_rowid = false;
        let mut rows = self.at();
        match insert.select {
            None => self.either(" DEFAULT VALUES", " () VALUES ()"),
            Some(select) => {
                self.put(" (");
                self.list(&positions, |tr, p| tr.name(&table.columns[*p].name))?;
                self.put(") ");
                if let Some(with) = insert.with
                    && !self.postgres
                {
                    self.with(with)?;
                }
                rows = self.at();
                explicit_rowid = self.insert_rows(table, &positions, select, replace)?;
            }
        }
        let written = Written { alias: alias.clone(), positions: &positions, or, only, ignore, explicit_rowid, rows };
        self.on_conflict(table, &insert, written)?;
        if let Some(results) = insert.returning {
            self.returning(table, alias, results, false)?;
        }
        self.ctes.truncate(ctes);
        if explicit_rowid && self.postgres {
            self.fire(Id::SequenceBump);
            self.after.push(bump(table));
        }
        Ok(())
    }

    /// A row that is replaced goes, with all that a server makes of that.
    fn replaceable(&mut self, table: &Table) -> R<()> {
        if self.catalogue.is_referred_to(table) {
            return no(Id::ForeignKeys, "REPLACE", "what refers to the replaced row would go with it");
        }
        if self.catalogue.triggers.iter().any(|(_, of)| of.eq_ignore_ascii_case(&table.name)) {
            return no(Id::Triggers, "REPLACE", "the table has triggers, which the server fires for replaced rows too");
        }
        Ok(())
    }

    /// Whether MariaDB's IGNORE leaves out just those rows that the statement leaves out. It would leave out rows without a
    /// parent too, and rows that break CHECK, which OR IGNORE does as well but DO NOTHING does not.
    fn leaves_out(&self, table: &Table, positions: &[usize], or: Option<ResolveType>, insert: &Insert<'a>) -> bool {
        let nothing = match (or, insert.upsert) {
            (Some(ResolveType::Ignore), None) => true,
            (None | Some(ResolveType::Abort), Some(upsert)) => matches!(upsert.do_clause, UpsertDo::Nothing),
            _ => false,
        };
        let unbound = table.references.is_empty() || !self.catalogue.foreign_keys;
        let only_keys = unbound && (insert.upsert.is_none() || !table.checked);
        nothing && only_keys && ignorable(table, positions, insert.select)
    }

    /// What follows the rows, for those that conflict.
    fn on_conflict(&mut self, table: &'a Table, insert: &Insert<'a>, written: Written<'_, 'a>) -> R<()> {
        let Written { alias, positions, or, only, ignore, explicit_rowid, rows } = written;
        match (or, insert.upsert) {
            (_, upsert) if ignore => {
                self.fire(Id::OrIgnore);
                if let Some(target) = upsert.map(|u| self.conflict_target(table, u)).transpose()?.flatten() {
                    self.only_conflict(table, positions, Some(&target))?;
                }
                Ok(())
            }
            (None | Some(ResolveType::Abort), None) => Ok(()),
            (None | Some(ResolveType::Abort), Some(upsert)) => {
                let one = one_row(insert.select);
                self.upsert(table, alias, positions, upsert, one, insert.returning.is_some())
            }
            (Some(_), Some(_)) => no(Id::OrConflict, "OR", "OR and ON CONFLICT in one statement"),
            (Some(ResolveType::Ignore), None) if self.postgres && only.is_some() => {
                self.put(" ON CONFLICT ");
                self.put_target(table, only)?;
                self.put("DO NOTHING");
                Ok(())
            }
            (Some(ResolveType::Ignore), None) => self.ignore(table, insert.returning.is_some()),
            (Some(ResolveType::Replace), None) => {
                self.replace(table, positions, explicit_rowid, (insert.select, rows), only)
            }
            (Some(ResolveType::Fail), None) if one_row(insert.select) => {
                self.fire(Id::OrConflict);
                Ok(())
            }
            (Some(other), None) => {
                no(Id::OrConflict, "OR", format!("INSERT OR {other:?}: what happens to the transaction differs"))
            }
        }
    }

    /// What an INSERT does about conflicts: what it says, else what the table's constraint says, on that key only.
    fn conflict_rule(
        &mut self,
        table: &'a Table,
        positions: &[usize],
        insert: &Insert<'a>,
    ) -> R<(Option<ResolveType>, Option<&'a [usize]>)> {
        let (replace, columns) = match (&table.conflicts, insert.or, insert.upsert) {
            (Conflicts::Abort, ..) | (_, Some(_), None) => return Ok((insert.or, None)),
            (Conflicts::Key { replace, columns }, None, None) => (*replace, columns.as_slice()),
            _ => return no(Id::ConflictClause, &table.name, "its constraints say what a conflict does"),
        };
        self.fire(Id::ConflictClause);
        if columns.iter().any(|p| table.columns[*p].collation != Collation::Binary) {
            return no(Id::Collation, &table.name, "the key ignores case");
        }
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        if !self.postgres {
            self.only_conflict(table, positions, Some(&sorted))?;
        } else if self.catalogue.has_odd_unique_index(table) {
            return no(Id::ConflictClause, &table.name, "a unique index over part of the rows or an expression");
        }
        Ok((Some(if replace { ResolveType::Replace } else { ResolveType::Ignore }), Some(columns)))
    }

    /// The table that a statement changes.
    pub(crate) fn target(&mut self, name: &'a QualifiedName<'a>) -> R<&'a Table> {
        self.known_schema(name)?;
        let table = self.known_table(&plain(name.name.0))?;
        if table.kind == crate::catalogue::Kind::View {
            return no(Id::Views, name.name.0, "a view is changed");
        }
        Ok(table)
    }

    pub(crate) fn insert_columns(&mut self, table: &Table, names: Option<&DistinctNames>) -> R<Vec<usize>> {
        let Some(names) = names else {
            return Ok((0..table.columns.len()).filter(|p| !table.columns[*p].generated).collect());
        };
        names
            .iter()
            .map(|name| {
                let name = plain(name.0);
                match table.position(&name).or(table.rowid.filter(|_| name.eq_ignore_ascii_case("rowid"))) {
                    Some(position) => Ok(position),
                    None => no(Id::UnknownColumn, &name, format!("the table has no column `{name}`")),
                }
            })
            .collect()
    }

    pub(crate) fn returning(
        &mut self,
        table: &'a Table,
        alias: Option<Cow<'a, str>>,
        results: &'a [ResultColumn<'a>],
        several: bool,
    ) -> R<()> {
        self.fire(Id::Returning);
        let scope = Scope { sources: vec![source(table, alias)], results, several, ..Scope::default() };
        self.scopes.push(scope);
        let start = self.at();
        self.put(" RETURNING ");
        self.list(results, |tr, result| match result {
            ResultColumn::Star if !several => {
                tr.put("*");
                Ok(())
            }
            ResultColumn::Star => tr.list(0..table.columns.len(), |tr, column| {
                let scope = tr.scopes.len() - 1;
                tr.write_column(&crate::scope::Found { scope, source: 0, column }, true).map(drop)
            }),
            ResultColumn::Expr(expr, alias) => {
                tr.result(expr, Ty::Any)?;
                if let Some(alias) = alias {
                    tr.put(" AS ");
                    tr.name(&plain(crate::scope::as_name(alias)))?;
                }
                Ok(())
            }
            ResultColumn::TableStar(_) => no(Id::Returning, "RETURNING", "RETURNING t.*"),
        })?;
        self.scopes.pop();
        if self.may_read(start, table)? {
            return no(Id::Returning, "RETURNING", "SQLite's query sees the changed rows, the server's does not");
        }
        Ok(())
    }
}

/// Whether a statement inserts one row, so that it fails as a whole or not at all.
pub(crate) fn one_row(select: Option<&Select>) -> bool {
    match select {
        None => true,
        Some(select) => {
            matches!(&select.body.select, OneSelect::Values(rows) if rows.len() == 1) && select.body.compounds.is_none()
        }
    }
}

/// Whether INSERT IGNORE can only leave out rows whose key is there: it would also make other values fit that do not.
pub(crate) fn ignorable(table: &Table, positions: &[usize], select: Option<&Select>) -> bool {
    let Some(select) = select else { return false };
    let OneSelect::Values(rows) = &select.body.select else { return false };
    let fits = |expr: &Expr, position: usize| {
        let column = &table.columns[position];
        match (bare(expr), column.ty) {
            (Expr::Literal(Literal::Null), _) => column.nullable || table.rowid == Some(position),
            (Expr::Literal(Literal::String(text)), Ty::Text) => text.chars().count() <= 190,
            (_, Ty::Int | Ty::Real) => crate::rules::expr::literal_number(expr).is_some(),
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

/// A scope's source for the table a statement changes.
pub(crate) fn source<'a>(table: &'a Table, alias: Option<Cow<'a, str>>) -> Source<'a> {
    Source::new(alias.unwrap_or(Cow::Borrowed(&table.name)), Columns::Table(table))
}

/// The sequence of a table's INTEGER PRIMARY KEY, as PostgreSQL's functions take it.
pub(crate) fn sequence(table: &Table) -> String {
    let column: &Column = &table.columns[table.rowid.unwrap_or_default()];
    let mut name = String::new();
    push_name(&mut name, &table.name);
    let mut out = String::from("pg_get_serial_sequence(");
    crate::names::push_text(&mut out, &name);
    out.push_str(", ");
    crate::names::push_text(&mut out, &column.name);
    out.push(')');
    out
}

/// Moves a sequence past the keys that statements brought themselves.
pub(crate) fn bump(table: &Table) -> String {
    let mut column = String::new();
    push_name(&mut column, &table.columns[table.rowid.unwrap_or_default()].name);
    let mut name = String::new();
    push_name(&mut name, &table.name);
    let sequence = sequence(table);
    format!(
        "SELECT setval({sequence}, GREATEST(max({column}), COALESCE(pg_sequence_last_value({sequence}::regclass), 1))) FROM {name}"
    )
}
