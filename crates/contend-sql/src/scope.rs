//! Resolves names to columns: the tables of the enclosing queries, innermost first.

use std::rc::Rc;

use crate::catalogue::{Column, Table};
use crate::names::unquote;
use crate::parse::tree::{Expr, ResultColumn};
use crate::refuse::{R, no};
use crate::rules::Id;

/// One query's FROM.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub sources: Vec<Source<'a>>,
    /// The select list, for names that are aliases in it.
    pub results: &'a [ResultColumn<'a>],
    /// Whether bare names are qualified, because there is more than one table.
    pub several: bool,
    /// Expressions of GROUP BY.
    pub terms: Vec<&'a Expr<'a>>,
    /// Columns (source, column) that are grouped by.
    pub grouped: Vec<(usize, usize)>,
    /// Columns (source, column) grouped by under NOCASE: only their lower-case value is unique in the group.
    pub folded: Vec<(usize, usize)>,
    /// Whether the current part requires columns outside of aggregates to be grouped.
    pub checked: bool,
    /// The only min() or max() of the query: its argument, and whether it is max().
    pub pick: Option<(&'a Expr<'a>, bool)>,
    /// The first such column that is not grouped, as in the statement.
    pub ungrouped: Option<&'a str>,
    /// Whether its sources are the rows `new` and `old` of a trigger.
    pub of_trigger: bool,
    /// Number of its columns written, also in inner queries.
    pub reads: u32,
    /// Whether a result of SELECT DISTINCT may vary on MariaDB.
    pub varies: bool,
}

/// A table or query in FROM.
pub(crate) struct Source<'a> {
    /// The name that columns are qualified with, without quotes.
    pub name: std::borrow::Cow<'a, str>,
    pub columns: Columns<'a>,
    /// Whether it is on the optional side of an outer join.
    pub nullable: bool,
    /// Columns that USING or NATURAL joined with an earlier source: the bare name means the earlier one.
    pub joined: Vec<usize>,
    /// Whether it is in a full join, where shared columns combine both sides; bare names are then refused.
    pub mixed: bool,
    /// Whether it is in a right join, where the bare name of a shared column means this side's.
    pub right: bool,
    /// Columns that it has only in SQLite. They and `*` are refused.
    pub hides: &'static [&'static str],
    /// Whether `*` is written out, because the source has a column more on the server.
    pub spelled: bool,
    /// A query in FROM, already written.
    pub written: Option<String>,
}

impl<'a> Source<'a> {
    /// A source that is alone, or the first of its query.
    pub(crate) fn new(name: std::borrow::Cow<'a, str>, columns: Columns<'a>) -> Self {
        Self {
            name,
            columns,
            nullable: false,
            joined: vec![],
            mixed: false,
            right: false,
            hides: &[],
            spelled: false,
            written: None,
        }
    }
}

/// The columns of `*` or `table.*`: number of the source, and of the column in it.
pub(crate) fn columns_of(sources: &[Source], table: Option<&str>) -> Vec<(usize, usize)> {
    let mut wanted = vec![];
    for (i, source) in sources.iter().enumerate() {
        if table.is_none_or(|t| source.name.eq_ignore_ascii_case(t)) {
            let visible = |c: &usize| table.is_some() || !source.joined.contains(c);
            wanted.extend((0..source.columns.all().len()).filter(visible).map(|c| (i, c)));
        }
    }
    wanted
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

    /// The column at a place that was found.
    pub(crate) fn at(&self, place: usize) -> &Column {
        match self {
            Columns::Table(Table { hidden: Some(column), .. }) if place == HIDDEN => column,
            _ => &self.all()[place],
        }
    }

    /// Whether the column at a place has the rowid.
    pub(crate) fn is_rowid(&self, place: usize) -> bool {
        self.rowid() == Some(place)
    }

    fn rowid(&self) -> Option<usize> {
        match self {
            Columns::Table(table) => table.rowid.or(table.hidden.as_ref().map(|_| HIDDEN)),
            Columns::Query(_) => None,
        }
    }

    /// Whether the server would show a hidden column as one of `*`.
    pub(crate) fn hides_one(&self) -> bool {
        matches!(self, Columns::Table(Table { hidden: Some(_), .. }))
    }
}

/// A WITH query that was written.
pub(crate) struct Cte {
    /// Whether a query has used it since.
    pub used: bool,
    pub name: String,
    pub columns: Rc<[Column]>,
}

/// What grouping allows in the current part.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Grouping {
    /// WHERE and the like.
    #[default]
    Forbidden,
    /// Aggregates are allowed.
    Allowed,
    /// Inside an aggregate's arguments.
    Inside,
}

/// Place of a table's hidden column.
pub(crate) const HIDDEN: usize = usize::MAX;

/// The place where a name was found.
pub(crate) struct Found {
    pub scope: usize,
    pub source: usize,
    pub column: usize,
}

/// Whether a name that no column has means the rowid.
pub(crate) fn is_rowid(name: &str) -> bool {
    ["rowid", "_rowid_", "oid"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The enclosing queries, and the names that they define.
#[derive(Default)]
pub(crate) struct Known<'a> {
    /// Innermost last.
    pub scopes: Vec<Scope<'a>>,
    pub ctes: Vec<Cte>,
    /// Names of queries of WITH that come later, the next one last. SQLite sees them already.
    pub later: Vec<String>,
    /// Whether queries of WITH are written from the last one on.
    pub from_last: bool,
    /// Named windows of the current query.
    pub windows: Vec<&'a crate::parse::tree::Over<'a>>,
}

impl<'a> Known<'a> {
    /// Finds a column by its name and optionally its table's name. `None` if no source has it.
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
            let hidden = |source: &Source| {
                table.is_none_or(|t| source.name.eq_ignore_ascii_case(t))
                    && source.hides.iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
            };
            if scope.sources.iter().any(hidden) {
                return no(Id::UnknownColumn, name, "the server has no such column of this table");
            }
            if is_rowid(name)
                && let Some(found) = self.find_rowid(s, table, name)?
            {
                return Ok(Some(found));
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

    /// The two columns of this name that the full join of the innermost query makes one.
    pub(crate) fn mixed(&self, name: &str) -> Option<(Found, Found)> {
        let scope = self.scopes.len().checked_sub(1)?;
        let [left, right] = &self.scopes[scope].sources[..] else { return None };
        let place = |source: &Source| source.columns.all().iter().position(|c| c.name.eq_ignore_ascii_case(name));
        let (l, r) = (place(left)?, place(right)?);
        let found = |source, column| Found { scope, source, column };
        (right.mixed && right.joined.contains(&r)).then(|| (found(0, l), found(1, r)))
    }

    pub(crate) fn column_of(&self, found: &Found) -> &Column {
        self.scopes[found.scope].sources[found.source].columns.at(found.column)
    }

    /// The result column with this alias in the innermost query.
    pub(crate) fn alias(&self, name: &str) -> Option<(usize, &'a Expr<'a>)> {
        result_named(self.scopes.last()?.results, name)
    }

    /// Whether a result column of an outer query has this alias.
    pub(crate) fn is_outer_alias(&self, name: &str) -> bool {
        let outer = self.scopes.split_last().map_or(&[][..], |(_, outer)| outer);
        outer.iter().any(|scope| result_named(scope.results, name).is_some())
    }
}

fn result_named<'a>(results: &'a [ResultColumn<'a>], name: &str) -> Option<(usize, &'a Expr<'a>)> {
    results.iter().enumerate().find_map(|(i, result)| match result {
        ResultColumn::Expr(expr, Some(alias)) if unquote(as_name(alias)).eq_ignore_ascii_case(name) => Some((i, expr)),
        _ => None,
    })
}

pub(crate) fn as_name<'a>(alias: &crate::parse::tree::As<'a>) -> &'a str {
    use crate::parse::tree::As;
    match alias {
        As::As(name) | As::Elided(name) => name.0,
    }
}
