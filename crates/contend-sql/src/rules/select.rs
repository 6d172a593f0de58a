//! SELECT: the parts of a query in the order they are written.

use std::rc::Rc;

use crate::catalogue::Column;
use crate::emit::{Tr, plain};
use crate::parse::tree::{Distinctness, Expr, FromClause, Literal, OneSelect, ResultColumn, Select, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::expr::{bare, literal_number};
use crate::scope::{Grouping, Scope, Source, as_name};
use crate::types::{Collation, Number, Ty, Val};

/// A column that a query's caller learns about.
pub(crate) fn output(name: String, value: Val) -> Column {
    Column {
        name,
        ty: value.ty,
        affinity: value.affinity,
        collation: if value.column || value.collation_explicit { value.collation } else { Collation::Binary },
        nullable: value.nullable,
        generated: false,
        bytewise: value.bytewise,
        wordy: value.wordy,
        has_default: false,
    }
}

impl<'a> Tr<'a> {
    /// Writes a query inside another statement; what its columns are.
    pub(crate) fn subquery(&mut self, select: &'a Select<'a>) -> R<Rc<[Column]>> {
        let grouping = std::mem::take(&mut self.grouping);
        let (aggregates, qualify) = (self.aggregates_seen, std::mem::take(&mut self.qualify));
        let columns = self.query(select, true);
        self.grouping = grouping;
        self.aggregates_seen = aggregates;
        self.qualify = qualify;
        let columns = columns?;
        if columns.iter().any(|column| column.ty == Ty::Param) {
            return no(
                Id::Parameters,
                "",
                "a parameter leaves a subquery and nothing gives it a type; write CAST(? AS INTEGER), CAST(? AS TEXT) or the like",
            );
        }
        Ok(columns.into())
    }

    /// What a query's columns would be, without writing it.
    pub(crate) fn probe_query(&mut self, select: &'a Select<'a>) -> R<Rc<[Column]>> {
        let mark = self.mark();
        let columns = self.subquery(select);
        self.back_to(mark);
        columns
    }

    /// Writes a query. Its columns are collected if `collect`.
    pub(crate) fn query(&mut self, select: &'a Select<'a>, collect: bool) -> R<Vec<Column>> {
        self.deeper(|tr| {
            let ctes = tr.ctes.len();
            if let Some(with) = &select.with {
                tr.with(with)?;
            }
            let columns = match &select.body.compounds {
                None => tr.core(&select.body.select, select.order_by.unwrap_or_default(), collect)?,
                Some(rest) => {
                    let start = tr.at();
                    let columns = tr.compound(&select.body.select, rest)?;
                    tr.compound_order(start, select, &columns)?;
                    columns
                }
            };
            if let Some(limit) = select.limit {
                tr.limit(limit)?;
            }
            tr.ctes.truncate(ctes);
            Ok(columns)
        })
    }

    /// Writes the first part of a compound query.
    pub(crate) fn first_core(&mut self, select: &'a Select<'a>) -> R<Vec<Column>> {
        self.core(&select.body.select, &[], true)
    }

    pub(crate) fn core(
        &mut self,
        core: &'a OneSelect<'a>,
        order: &'a [SortedColumn<'a>],
        collect: bool,
    ) -> R<Vec<Column>> {
        match core {
            OneSelect::Select { .. } => {
                let depth = self.scopes.len();
                self.scopes.push(Scope::default());
                let columns = self.select(core, order, collect);
                self.scopes.truncate(depth);
                columns
            }
            OneSelect::Values(rows) if order.is_empty() => self.values(rows),
            OneSelect::Values(_) => no(Id::Values, "VALUES", "VALUES with ORDER BY"),
        }
    }

    pub(crate) fn select(
        &mut self,
        core: &'a OneSelect<'a>,
        order: &'a [SortedColumn<'a>],
        collect: bool,
    ) -> R<Vec<Column>> {
        let OneSelect::Select { distinctness, columns, from, where_clause, group_by, having, window_clause } = core
        else {
            return no(Id::Syntax, "", "not a SELECT");
        };
        let distinct = *distinctness == Some(Distinctness::Distinct);
        if let Some(from) = from {
            self.bind(from)?;
        }
        let scope = self.scopes.last_mut().expect("pushed by core");
        scope.several = scope.sources.len() > 1;
        scope.results = columns;
        let terms = group_by.unwrap_or_default();
        self.group_terms(terms, columns)?;
        self.scopes.last_mut().expect("pushed by core").pick = only_extreme(columns, *having);
        let aggregates = std::mem::take(&mut self.aggregates_seen);
        let windows = std::mem::take(&mut self.windows);
        let by_group = distinct && terms.is_empty() && having.is_none() && self.orders_by_listed(order, columns)?;
        let windows_before = self.fired & (1 << Id::Windows as u8);
        self.put(if distinct && !by_group { "SELECT DISTINCT " } else { "SELECT " });
        let mut outputs = Vec::new();
        self.grouped(|tr| tr.results(columns, distinct, collect, &mut outputs))?;
        self.tables_and_condition(from.as_ref(), *where_clause)?;
        if by_group {
            let no_windows = self.fired & (1 << Id::Windows as u8) == windows_before;
            self.group_by_all(columns.len(), no_windows)?;
        }
        if !terms.is_empty() {
            self.put(" GROUP BY ");
            self.list(terms, |tr, term| tr.group_term(term, columns))?;
        }
        if let Some(condition) = having {
            self.put(" HAVING ");
            let outer = std::mem::replace(&mut self.having, true);
            self.grouped(|tr| tr.condition(condition).map(drop))?;
            self.having = outer;
        }
        if let Some(definitions) = window_clause {
            self.grouped(|tr| tr.window_clause(definitions))?;
        }
        if !order.is_empty() {
            self.put(" ORDER BY ");
            self.grouped(|tr| tr.list(order, |tr, term| tr.order_term(term, columns, distinct && !by_group)))?;
        }
        if by_group && self.aggregates_seen > 0 {
            return no(Id::OrderBy, "ORDER", "an aggregate in the order of SELECT DISTINCT");
        }
        self.no_bare_column(!terms.is_empty() || having.is_some())?;
        self.aggregates_seen = aggregates;
        self.windows = windows;
        Ok(outputs)
    }

    fn tables_and_condition(&mut self, from: Option<&'a FromClause<'a>>, condition: Option<&'a Expr<'a>>) -> R<()> {
        if let Some(from) = from {
            self.put(" FROM ");
            self.from(from)?;
        }
        if let Some(condition) = condition {
            self.put(" WHERE ");
            self.condition(condition)?;
        }
        Ok(())
    }

    /// DISTINCT written as a group for each row, so that the order may be of something that is not listed.
    fn group_by_all(&mut self, columns: usize, no_windows: bool) -> R<()> {
        if self.aggregates_seen > 0 || !no_windows {
            return no(Id::OrderBy, "ORDER", "ORDER BY something that SELECT DISTINCT does not list");
        }
        self.put(" GROUP BY ");
        self.list(1..=columns, |tr, n| {
            crate::emit::push_decimal(&mut tr.sql, n);
            Ok(())
        })
    }

    /// Refuses a column of which SQLite shows the value of any row of a group.
    fn no_bare_column(&mut self, groups: bool) -> R<()> {
        match self.scopes.last_mut().and_then(|scope| scope.ungrouped.take()) {
            Some(name) if groups || self.aggregates_seen > 0 => no(
                Id::BareColumns,
                name,
                "it is neither grouped by nor inside an aggregate, so any row's value would do",
            ),
            _ => Ok(()),
        }
    }

    /// Writes a part in which aggregates may stand and other columns must be grouped ones.
    pub(crate) fn grouped(&mut self, write: impl FnOnce(&mut Self) -> R<()>) -> R<()> {
        let outer = std::mem::replace(&mut self.grouping, Grouping::Allowed);
        self.scopes.last_mut().expect("a scope").checked = true;
        write(self)?;
        self.scopes.last_mut().expect("a scope").checked = false;
        self.grouping = outer;
        Ok(())
    }

    /// Whether some of ORDER BY is not in the list of a SELECT DISTINCT, but made of columns that are: then the rows are
    /// grouped by the list instead, and an order by such expressions can be written.
    fn orders_by_listed(&self, order: &'a [SortedColumn<'a>], columns: &'a [ResultColumn<'a>]) -> R<bool> {
        if self.text.len() > crate::rules::expr::COMPARED_MAX {
            return Ok(false);
        }
        let listed =
            |expr: &Expr| columns.iter().any(|c| matches!(c, ResultColumn::Expr(e, _) if bare(e) == bare(expr)));
        let plain_list = columns.iter().all(|c| matches!(c, ResultColumn::Expr(Expr::Id(_) | Expr::Qualified(..), _)));
        let by_itself = |term: &SortedColumn| {
            let alias = matches!(bare(&term.expr), Expr::Id(id) if self.alias(&plain(id.0)).is_some());
            listed(&term.expr) || alias || literal_number(&term.expr).is_some()
        };
        let made_of_listed = |term: &SortedColumn| made_of(&term.expr, &listed, 0);
        Ok(plain_list && !order.iter().all(by_itself) && order.iter().all(|t| by_itself(t) || made_of_listed(t)))
    }

    /// Keeps in mind what a query groups by.
    pub(crate) fn group_terms(&mut self, terms: &'a [Expr<'a>], columns: &'a [ResultColumn<'a>]) -> R<()> {
        for term in terms {
            let term = result_of(term, columns).unwrap_or(term);
            let found = match bare(term) {
                Expr::Id(id) => self.find(None, &plain(id.0))?,
                Expr::Qualified(table, column) => self.find(Some(&plain(table.0)), &plain(column.0))?,
                _ => None,
            };
            let alias = match bare(term) {
                Expr::Id(id) if found.is_none() => self.alias(&plain(id.0)).map(|(_, expr)| expr),
                _ => None,
            };
            let here = self.scopes.len() - 1;
            let column = match alias.map(bare) {
                Some(Expr::Id(id)) => self.find(None, &plain(id.0))?,
                Some(Expr::Qualified(table, column)) => self.find(Some(&plain(table.0)), &plain(column.0))?,
                _ => found,
            };
            let own = column.filter(|c| c.scope == here);
            let folded = own.as_ref().is_some_and(|c| self.column_of(c).collation == Collation::NoCase);
            let scope = &mut self.scopes[here];
            if folded {
                scope.folded.extend(own.map(|c| (c.source, c.column)));
                continue;
            }
            scope.terms.push(alias.unwrap_or(term));
            scope.grouped.extend(own.map(|c| (c.source, c.column)));
        }
        Ok(())
    }

    pub(crate) fn group_term(&mut self, term: &'a Expr<'a>, columns: &'a [ResultColumn<'a>]) -> R<()> {
        let term = result_of(term, columns).unwrap_or(term);
        if literal_number(term).is_some() || matches!(bare(term), Expr::Variable(_) | Expr::Literal(_)) {
            return no(Id::GroupBy, "GROUP", "grouping by a constant");
        }
        let qualify = std::mem::replace(&mut self.qualify, true);
        let start = self.at();
        let value = self.value(term, Ty::Any)?;
        self.qualify = qualify;
        // An alias of one, TRUE and FALSE are written as one: to the servers it would be a column's place.
        if self.sql[start..].bytes().all(|b| b.is_ascii_digit() || b"+-(). ".contains(&b)) {
            return no(Id::GroupBy, "GROUP", "grouping by a constant");
        }
        if self.groups_folded(term)? {
            self.fold(start);
            return Ok(());
        }
        if value.collation != Collation::Binary {
            return no(
                Id::Collation,
                "GROUP",
                "grouping under a collation that ignores case: which spelling is shown depends on the row",
            );
        }
        if value.ty == Ty::Any {
            return no(Id::MixedTypes, "GROUP", "grouping by values of unknown type");
        }
        Ok(())
    }

    pub(crate) fn results(
        &mut self,
        columns: &'a [ResultColumn<'a>],
        distinct: bool,
        collect: bool,
        outputs: &mut Vec<Column>,
    ) -> R<()> {
        self.list(columns, |tr, column| match column {
            ResultColumn::Expr(expr, alias) => {
                let start = tr.at();
                let value = tr.result(expr, Ty::Any)?;
                if tr.folded_result.is_some_and(|folded| std::ptr::eq(folded, expr)) {
                    tr.fold(start);
                }
                if distinct {
                    tr.distinct_values("DISTINCT", value)?;
                }
                if let Some(alias) = alias {
                    tr.put(" AS ");
                    tr.name(&plain(as_name(alias)))?;
                } else if let Some(column) = tr.picks(expr) {
                    tr.put(" AS ");
                    tr.name(&column)?;
                }
                if collect {
                    outputs.push(output(result_name(expr, alias.as_ref()), value));
                }
                Ok(())
            }
            ResultColumn::Star => tr.star(None, distinct, collect, outputs),
            ResultColumn::TableStar(table) => tr.star(Some(&plain(table.0)), distinct, collect, outputs),
        })
    }

    /// The name of a column of the select list, if its value comes from the row of the only min() or max(), so that the
    /// server would call it otherwise.
    fn picks(&self, expr: &Expr) -> Option<String> {
        self.scopes.last()?.pick.filter(|_| self.postgres)?;
        let found = match expr {
            Expr::Id(id) => self.find(None, &plain(id.0)),
            Expr::Qualified(table, column) => self.find(Some(&plain(table.0)), &plain(column.0)),
            _ => return None,
        };
        Some(self.column_of(&found.ok()??).name.clone())
    }

    /// `*` and `t.*`. Written out where the servers would order the columns of a USING join in another way.
    pub(crate) fn star(
        &mut self,
        table: Option<&str>,
        distinct: bool,
        collect: bool,
        outputs: &mut Vec<Column>,
    ) -> R<()> {
        let here = self.scopes.len() - 1;
        let sources = &self.scopes[here].sources;
        let wanted = columns_of(sources, table);
        if wanted.is_empty() {
            return no(Id::UnknownTable, table.unwrap_or("*"), "there is no such table here to take all columns of");
        }
        let joined = sources.iter().any(|s| !s.joined.is_empty());
        // The columns that are not grouped by come from one row, each by an expression of its own.
        let picked = self.postgres && self.scopes[here].pick.is_some();
        if table.is_none() && sources.iter().any(|s| s.mixed || s.right) {
            return no(Id::FullJoin, "*", "in this join the shared column is a mix of both tables; name the columns");
        }
        if joined && table.is_none() {
            self.fire(Id::Star);
        }
        let start = self.at();
        let mut first = true;
        self.token = "*";
        for (source, column) in wanted {
            if !std::mem::take(&mut first) {
                self.put(", ");
            }
            let found = crate::scope::Found { scope: here, source, column };
            let value = self.write_column(&found, true)?;
            if picked {
                self.put(" AS ");
                let name = self.column_of(&found).name.clone();
                self.name(&name)?;
            }
            if distinct {
                self.distinct_values("DISTINCT", value)?;
            }
            if collect {
                let name = self.column_of(&found).name.clone();
                outputs.push(output(name, value));
            }
        }
        if !joined && !picked {
            self.sql.truncate(start);
            if let Some(table) = table {
                let source = self.scopes[here].sources.iter().find(|s| s.name.eq_ignore_ascii_case(table));
                let name = source.expect("found above").name.clone();
                self.name(&name)?;
                self.put(".");
            }
            self.put("*");
        }
        Ok(())
    }
}

/// The columns that `*` means, or `table.*`: number of the source, and of the column in it.
fn columns_of(sources: &[Source], table: Option<&str>) -> Vec<(usize, usize)> {
    let mut wanted = vec![];
    for (i, source) in sources.iter().enumerate() {
        if table.is_none_or(|t| source.name.eq_ignore_ascii_case(t)) {
            let visible = |c: &usize| table.is_some() || !source.joined.contains(c);
            wanted.extend((0..source.columns.all().len()).filter(visible).map(|c| (i, c)));
        }
    }
    wanted
}

/// Whether an expression is a function or operator of listed columns and literals.
fn made_of(expr: &Expr, listed: &impl Fn(&Expr) -> bool, depth: u8) -> bool {
    let inner = |e: &Expr| made_of(e, listed, depth + 1);
    depth < 16
        && match expr {
            Expr::Id(_) | Expr::Qualified(..) => listed(expr),
            Expr::Literal(_) => true,
            Expr::Parenthesized(parts) => parts.len() == 1 && inner(&parts[0]),
            Expr::Unary(_, e) | Expr::Collate(e, _) => inner(e),
            Expr::Binary(l, _, r) => inner(l) && inner(r),
            Expr::FunctionCall { distinctness: None, args: Some(args), order_by: None, filter_over: None, .. } => {
                args.iter().all(inner)
            }
            _ => false,
        }
}

/// The argument of the only min() or max() in a select list, and whether it is max().
pub(crate) fn only_extreme<'a>(columns: &'a [ResultColumn<'a>], having: Option<&Expr>) -> Option<(&'a Expr<'a>, bool)> {
    let mut found = None;
    for column in columns {
        let ResultColumn::Expr(
            Expr::FunctionCall { name, distinctness: None, args: Some([of]), filter_over: None, .. },
            _,
        ) = column
        else {
            continue;
        };
        let max = name.0.eq_ignore_ascii_case("max");
        if (max || name.0.eq_ignore_ascii_case("min")) && found.replace((of, max)).is_some() {
            return None;
        }
    }
    found.filter(|_| having.is_none())
}

/// The result column that a number in GROUP BY stands for.
pub(crate) fn result_of<'a>(term: &Expr<'a>, columns: &'a [ResultColumn<'a>]) -> Option<&'a Expr<'a>> {
    match literal_number(term) {
        Some(Number::Int(n)) => match columns.get(usize::try_from(n.checked_sub(1)?).ok()?)? {
            ResultColumn::Expr(expr, _) => Some(expr),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn as_value(column: &Column) -> Val {
    Val {
        affinity: column.affinity,
        collation: column.collation,
        column: true,
        bytewise: column.bytewise,
        wordy: column.wordy,
        nullable: column.nullable,
        ..Val::of(column.ty)
    }
}

/// The name of a result's column. An expression without alias has none that may be relied on.
pub(crate) fn result_name(expr: &Expr, alias: Option<&crate::parse::tree::As>) -> String {
    match (alias, expr) {
        (Some(alias), _) => plain(as_name(alias)).into_owned(),
        (None, Expr::Id(id)) => plain(id.0).into_owned(),
        (None, Expr::Qualified(_, column)) | (None, Expr::DoublyQualified(_, _, column)) => {
            plain(column.0).into_owned()
        }
        (None, Expr::Literal(Literal::Null)) => String::new(),
        _ => String::new(),
    }
}
