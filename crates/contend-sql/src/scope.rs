//! Which column a name means: the tables of the queries around it, innermost first.

use std::rc::Rc;

use crate::catalogue::{Column, Kind, Table};
use crate::emit::Tr;
use crate::names::unquote;
use crate::parse::tree::{Expr, ResultColumn};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Strength, Ty, Val};

/// One query's FROM.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub sources: Vec<Source<'a>>,
    /// The select list, for names that are an alias in it.
    pub results: &'a [ResultColumn<'a>],
    /// Bare names are written with their table's name, as more than one table is there.
    pub several: bool,
    /// Expressions of GROUP BY.
    pub terms: Vec<&'a Expr<'a>>,
    /// Columns (source, column) that are grouped by.
    pub grouped: Vec<(usize, usize)>,
    /// Columns (source, column) that are grouped by under NOCASE, so that only their folded value is one for the group.
    pub folded: Vec<(usize, usize)>,
    /// A place where columns outside an aggregate must be grouped ones is being written.
    pub checked: bool,
    /// The only min() or max() of the query: what it is of, and whether it is max().
    pub pick: Option<(&'a Expr<'a>, bool)>,
    /// The first column found there that is not, as it stands in the statement.
    pub ungrouped: Option<&'a str>,
}

/// A table or query in FROM.
pub(crate) struct Source<'a> {
    /// The name that columns are qualified with, without quotes.
    pub name: std::borrow::Cow<'a, str>,
    pub columns: Columns<'a>,
    /// On the side of an outer join that may be missing.
    pub nullable: bool,
    /// Columns that USING or NATURAL joined with an earlier source: the bare name means the earlier one.
    pub joined: Vec<usize>,
    /// In a right or full join the shared columns are a mix of both sides; then bare names are refused.
    pub mixed: bool,
    /// In a right join the bare name of a shared column means this side's, which is always there.
    pub right: bool,
    /// A query in FROM, already written, with its placeholders.
    pub written: Option<(String, Vec<(u16, Ty)>)>,
}

impl<'a> Source<'a> {
    /// Alone, or the first of its query.
    pub(crate) fn new(name: std::borrow::Cow<'a, str>, columns: Columns<'a>) -> Self {
        Self { name, columns, nullable: false, joined: vec![], mixed: false, right: false, written: None }
    }
}

pub(crate) enum Columns<'a> {
    Table(&'a Table),
    Query(Rc<[Column]>),
}

impl Columns<'_> {
    pub(crate) fn all(&self) -> &[Column] {
        match self {
            Columns::Table(table) => &table.columns,
            Columns::Query(columns) => columns,
        }
    }

    fn rowid(&self) -> Option<usize> {
        match self {
            Columns::Table(table) => table.rowid,
            Columns::Query(_) => None,
        }
    }
}

/// A WITH query that was written.
pub(crate) struct Cte {
    /// A query named it since it was written.
    pub used: bool,
    pub name: String,
    pub columns: Rc<[Column]>,
}

/// What a query's grouping allows in the place that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Grouping {
    /// WHERE and the like.
    #[default]
    Forbidden,
    /// Aggregates may stand here.
    Allowed,
    /// Inside an aggregate's arguments.
    Inside,
}

/// Where a name was found.
pub(crate) struct Found {
    pub scope: usize,
    pub source: usize,
    pub column: usize,
}

const ROWID_NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];

impl<'a> Tr<'a> {
    /// Finds a column by its name and, perhaps, its table's. `None` if no source has it.
    pub(crate) fn find(&self, table: Option<&str>, name: &str) -> R<Option<Found>> {
        for (s, scope) in self.scopes.iter().enumerate().rev() {
            let mut found: Option<Found> = None;
            for (i, source) in scope.sources.iter().enumerate() {
                if table.is_some_and(|t| !source.name.eq_ignore_ascii_case(t)) {
                    continue;
                }
                let columns = source.columns.all();
                let mut matching = columns.iter().enumerate().filter(|(_, c)| c.name.eq_ignore_ascii_case(name));
                let Some((column, _)) = matching.next() else { continue };
                if matching.next().is_some() {
                    return no(Id::Ambiguous, name, "a query in FROM has this column name twice");
                }
                if table.is_none() && source.joined.contains(&column) {
                    if source.right {
                        found = Some(Found { scope: s, source: i, column });
                        continue;
                    }
                    if source.mixed {
                        return no(
                            Id::FullJoin,
                            name,
                            "in this join the shared column is a mix of both tables; name its table",
                        );
                    }
                    continue;
                }
                if found.is_some() {
                    return no(Id::Ambiguous, name, "the column name is in more than one table");
                }
                found = Some(Found { scope: s, source: i, column });
            }
            if found.is_some() {
                return Ok(found);
            }
            if ROWID_NAMES.iter().any(|r| r.eq_ignore_ascii_case(name)) {
                return self.find_rowid(s, table, name);
            }
        }
        Ok(None)
    }

    fn find_rowid(&self, scope: usize, table: Option<&str>, name: &str) -> R<Option<Found>> {
        let mut sources = self.scopes[scope]
            .sources
            .iter()
            .enumerate()
            .filter(|(_, s)| table.is_none_or(|t| s.name.eq_ignore_ascii_case(t)));
        match (sources.next(), sources.next()) {
            (Some((source, one)), None) => match one.columns.rowid() {
                Some(column) => Ok(Some(Found { scope, source, column })),
                None => no(Id::Rowid, name, "the table has no INTEGER PRIMARY KEY, so the server has no rowid to give"),
            },
            (None, _) => Ok(None),
            _ => no(Id::Ambiguous, name, "more than one table has a rowid"),
        }
    }

    pub(crate) fn column_of(&self, found: &Found) -> &Column {
        &self.scopes[found.scope].sources[found.source].columns.all()[found.column]
    }

    /// Writes a column that was found.
    pub(crate) fn write_column(&mut self, found: &Found, qualified: bool) -> R<Val> {
        let scope = &self.scopes[found.scope];
        let source = &scope.sources[found.source];
        let column = &source.columns.all()[found.column];
        let value = Val {
            ty: column.ty,
            affinity: column.affinity,
            collation: column.collation,
            collation_explicit: false,
            column: true,
            bytewise: column.bytewise,
            narrow: false,
            digits: false,
            wordy: column.wordy,
            nullable: column.nullable || source.nullable,
            strength: Strength::Atom,
        };
        if let Some((of, max)) = self.picked(found) {
            return self.pick_column(found, of, max, value);
        }
        let scope = &self.scopes[found.scope];
        let source = &scope.sources[found.source];
        let column = &source.columns.all()[found.column];
        let outer = found.scope + 1 != self.scopes.len();
        let qualify = qualified || scope.several || self.qualify || outer;
        let of_query = !matches!(source.columns, Columns::Table(table) if table.kind == Kind::Table);
        // Borrowed parts are copied by the writer before the state changes.
        let (table, name) = (&*source.name, &*column.name);
        if qualify {
            crate::names::push_name(&mut self.sql, table);
            self.sql.push('.');
        }
        crate::names::push_name(&mut self.sql, name);
        self.outer_reads += u32::from(outer);
        self.query_reads += u32::from(of_query);
        self.note_column(found);
        Ok(value)
    }

    /// Whether a column is to be taken from the row of the query's min() or max().
    fn picked(&self, found: &Found) -> Option<(&'a Expr<'a>, bool)> {
        let scope = &self.scopes[found.scope];
        let pick = scope.pick.filter(|_| scope.checked && found.scope + 1 == self.scopes.len() && self.postgres)?;
        // Of the spellings that are one group SQLite shows any, if several rows have the largest value.
        (!self.follows(found) && !scope.folded.contains(&(found.source, found.column))).then_some(pick)
    }

    /// Whether an expression is a column that the innermost query groups by under NOCASE.
    pub(crate) fn groups_folded(&self, expr: &Expr) -> R<bool> {
        let found = match crate::rules::expr::bare(expr) {
            Expr::Id(id) => self.find(None, &unquote(id.0))?,
            Expr::Qualified(table, column) => self.find(Some(&unquote(table.0)), &unquote(column.0))?,
            _ => None,
        };
        let here = self.scopes.len().wrapping_sub(1);
        Ok(found.is_some_and(|f| f.scope == here && self.scopes[here].folded.contains(&(f.source, f.column))))
    }

    /// Runs `write`; if `grouped`, as for something that is grouped by.
    pub(crate) fn as_grouped<T>(&mut self, grouped: bool, write: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let here = self.scopes.len().wrapping_sub(1);
        let checked = grouped && std::mem::take(&mut self.scopes[here].checked);
        let written = write(self);
        if checked {
            self.scopes[here].checked = true;
        }
        written
    }

    /// Whether a column is grouped by, or follows from a primary key that is.
    fn follows(&self, found: &Found) -> bool {
        let scope = &self.scopes[found.scope];
        let grouped = |column: usize| scope.grouped.contains(&(found.source, column));
        match scope.sources[found.source].columns {
            _ if grouped(found.column) => true,
            Columns::Table(table) => {
                // A key may hold NULL twice.
                let decides = |c: &usize| grouped(*c) && !table.columns[*c].nullable;
                !table.key.is_empty() && table.key.iter().all(decides)
            }
            Columns::Query(_) => false,
        }
    }

    /// Writes a column's value in the row that has the largest or smallest of another.
    fn pick_column(&mut self, found: &Found, of: &'a Expr<'a>, max: bool, value: Val) -> R<Val> {
        self.fire(Id::PickedRow);
        let here = self.scopes.len() - 1;
        self.scopes[here].checked = false;
        self.put("(array_agg(");
        self.write_column(found, true)?;
        self.put(" ORDER BY ");
        let order = self.value(of, Ty::Any)?;
        if order.ty == Ty::Text && (!order.bytewise || order.collation != crate::types::Collation::Binary) {
            return no(Id::BareColumns, "max", "the row of a text under another collation");
        }
        self.put(if max { " DESC NULLS LAST))[1]" } else { " NULLS LAST))[1]" });
        self.scopes[here].checked = true;
        Ok(Val { nullable: true, ..value })
    }

    /// Keeps in mind that a column stands outside the aggregates of a grouped query.
    fn note_column(&mut self, found: &Found) {
        let scope = &self.scopes[found.scope];
        if !scope.checked || scope.ungrouped.is_some() || self.follows(found) {
            return;
        }
        let token = self.token;
        self.scopes[found.scope].ungrouped = Some(token);
    }

    /// The result column that a bare name is an alias of, in the innermost query.
    pub(crate) fn alias(&self, name: &str) -> Option<(usize, &'a Expr<'a>)> {
        let results = self.scopes.last()?.results;
        results.iter().enumerate().find_map(|(i, result)| match result {
            ResultColumn::Expr(expr, Some(alias)) if unquote(as_name(alias)).eq_ignore_ascii_case(name) => {
                Some((i, expr))
            }
            _ => None,
        })
    }
}

pub(crate) fn as_name<'a>(alias: &crate::parse::tree::As<'a>) -> &'a str {
    use crate::parse::tree::As;
    match alias {
        As::As(name) | As::Elided(name) => name.0,
    }
}
