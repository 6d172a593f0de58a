//! SELECT: the parts of a query in the order in which they are written.

use crate::catalogue::{Column, output};
use crate::emit::{Extra, Tr, plain};
use crate::parse::tree::{Distinctness, Expr, FromClause, OneSelect, ResultColumn, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number, parts, uncollated};
use crate::rules::{Id, collations, columns, distinct, from, order, tagged, windows};
use crate::scope::{Found, Grouping, HIDDEN, as_name, columns_of, is_rowid};
use crate::types::{Collation, Ty, Val};

pub(crate) fn select<'a>(
    tr: &mut Tr<'a>,
    core: &'a OneSelect<'a>,
    order: &'a [SortedColumn<'a>],
    collect: bool,
) -> R<Vec<Column>> {
    let OneSelect::Select { distinctness, columns, from, where_clause, group_by, having, window_clause } = core else {
        return no(Id::Syntax, "", "not a SELECT");
    };
    let distinct = *distinctness == Some(Distinctness::Distinct);
    let tags = std::mem::take(&mut tr.place.tagged_results);
    let extra = std::mem::take(&mut tr.place.extra);
    if let Some(from) = from {
        from::bind(tr, from)?;
    }
    let scope = tr.known.scopes.last_mut().expect("pushed by core");
    scope.several = scope.sources.len() > 1;
    scope.results = columns;
    let terms = group_by.unwrap_or_default();
    group_terms(tr, terms, columns)?;
    tr.known.scopes.last_mut().expect("pushed by core").pick = only_extreme(columns, order, *having);
    let aggregates = std::mem::take(&mut tr.seen.aggregates);
    let windows = std::mem::take(&mut tr.known.windows);
    let by_group = distinct && terms.is_empty() && having.is_none() && distinct::orders_by_others(tr, order, columns);
    let windows_before = tr.out.fired & (1 << Id::Windows as u8);
    tr.put(if distinct && !by_group { "SELECT DISTINCT " } else { "SELECT " });
    let mut outputs = Vec::new();
    grouped(tr, |tr| without_names(tr, |tr| results(tr, (columns, &tags, &extra), distinct, collect, &mut outputs)))?;
    tr.put(&extra.result);
    tables_and_condition(tr, from.as_ref(), *where_clause, &extra.condition)?;
    if by_group {
        let no_windows = tr.out.fired & (1 << Id::Windows as u8) == windows_before;
        distinct::group_by_all(tr, columns.len(), no_windows)?;
    }
    if !terms.is_empty() {
        tr.put(" GROUP BY ");
        tr.list(terms, |tr, term| group_term(tr, term, columns))?;
    }
    if let Some(condition) = having {
        tr.put(" HAVING ");
        let outer = std::mem::replace(&mut tr.place.having, true);
        grouped(tr, |tr| tr.condition(condition).map(drop))?;
        tr.place.having = outer;
    }
    if let Some(definitions) = window_clause {
        grouped(tr, |tr| windows::window_clause(tr, definitions))?;
    }
    if !order.is_empty() {
        tr.put(" ORDER BY ");
        grouped(tr, |tr| {
            tr.list(order, |tr, term| match by_group && !distinct::is_listed(tr, term, columns, true) {
                true => order::order_of_group(tr, term),
                false => order::order_term(tr, term, columns, distinct && !by_group),
            })
        })?;
    }
    if by_group && tr.seen.aggregates > 0 {
        return no(Id::OrderBy, "ORDER", "an aggregate in the order of SELECT DISTINCT");
    }
    if having.is_some() && terms.is_empty() && tr.seen.aggregates == 0 {
        return no(Id::GroupBy, "HAVING", "HAVING without a group or an aggregate, which SQLite does not accept");
    }
    no_bare_column(tr, !terms.is_empty() || having.is_some())?;
    (tr.seen.aggregates, tr.known.windows) = (aggregates, windows);
    tr.seen.varies = !distinct || by_group || tr.known.scopes.last().is_some_and(|scope| scope.varies);
    Ok(outputs)
}

fn tables_and_condition<'a>(
    tr: &mut Tr<'a>,
    from: Option<&'a FromClause<'a>>,
    condition: Option<&'a Expr<'a>>,
    more: &str,
) -> R<()> {
    if let Some(from) = from {
        tr.put(" FROM ");
        from::from(tr, from)?;
    }
    if !more.is_empty() {
        tr.put(" WHERE ");
        tr.put(more);
    }
    if let Some(condition) = condition {
        tr.put(if more.is_empty() { " WHERE " } else { " AND (" });
        tr.condition(condition)?;
        tr.put(if more.is_empty() { "" } else { ")" });
    }
    Ok(())
}

/// Gives a result the type that holds values of any length.
pub(crate) fn make_room(tr: &mut Tr, start: usize, value: Val, extra: &Extra) {
    if !extra.roomy {
        return;
    }
    match value.ty {
        Ty::Text | Ty::Tagged => tr.wrap(start, "contend_sql.long_text(", ")"),
        // A CAST would have the digits of its literal.
        Ty::Int => tr.wrap(start, "IF(TRUE, ", ", 9223372036854775807)"),
        _ => {}
    }
}

/// Refuses a column for which SQLite takes the value of any row of a group.
fn no_bare_column(tr: &mut Tr, groups: bool) -> R<()> {
    match tr.known.scopes.last_mut().and_then(|scope| scope.ungrouped.take()) {
        Some(name) if groups || tr.seen.aggregates > 0 => {
            no(Id::BareColumns, name, "it is neither grouped by nor inside an aggregate, so any row's value would do")
        }
        _ => Ok(()),
    }
}

/// Writes a part in which aggregates are allowed and other columns must be grouped.
fn grouped<'a>(tr: &mut Tr<'a>, write: impl FnOnce(&mut Tr<'a>) -> R<()>) -> R<()> {
    let outer = std::mem::replace(&mut tr.place.grouping, Grouping::Allowed);
    tr.known.scopes.last_mut().expect("a scope").checked = true;
    write(tr)?;
    tr.known.scopes.last_mut().expect("a scope").checked = false;
    tr.place.grouping = outer;
    Ok(())
}

/// Names of results mean nothing in the list itself.
fn without_names<'a>(tr: &mut Tr<'a>, write: impl FnOnce(&mut Tr<'a>) -> R<()>) -> R<()> {
    let names = std::mem::take(&mut tr.known.scopes.last_mut().expect("a scope").results);
    write(tr)?;
    tr.known.scopes.last_mut().expect("a scope").results = names;
    Ok(())
}

/// Records the expressions that a query groups by.
fn group_terms<'a>(tr: &mut Tr<'a>, terms: &'a [Expr<'a>], columns: &'a [ResultColumn<'a>]) -> R<()> {
    for term in terms {
        let term = order::result_of(tr, term, columns).unwrap_or(term);
        let found = match bare(term) {
            Expr::Id(id) => tr.find(None, &plain(id.0))?,
            Expr::Qualified(table, column) => tr.find(Some(&plain(table.0)), &plain(column.0))?,
            _ => None,
        };
        let alias = match bare(term) {
            Expr::Id(id) if found.is_none() => tr.known.alias(&plain(id.0)).map(|(_, expr)| expr),
            _ => None,
        };
        let here = tr.known.scopes.len() - 1;
        let column = match alias.map(bare) {
            Some(Expr::Id(id)) => tr.find(None, &plain(id.0))?,
            Some(Expr::Qualified(table, column)) => tr.find(Some(&plain(table.0)), &plain(column.0))?,
            _ => found,
        };
        let own = column.filter(|c| c.scope == here);
        let folded = own.as_ref().is_some_and(|c| tr.column_of(c).collation == Collation::NoCase);
        let scope = &mut tr.known.scopes[here];
        if folded {
            scope.folded.extend(own.map(|c| (c.source, c.column)));
            continue;
        }
        scope.terms.push(alias.unwrap_or(term));
        scope.grouped.extend(own.map(|c| (c.source, c.column)));
    }
    Ok(())
}

/// A constant for GROUP BY that the servers do not interpret as a column's position.
const CONSTANT: &str = "(SELECT NULL)";

fn group_term<'a>(tr: &mut Tr<'a>, term: &'a Expr<'a>, columns: &'a [ResultColumn<'a>]) -> R<()> {
    let listed = order::result_of(tr, term, columns);
    let term = listed.unwrap_or(term);
    let is_collated = matches!(bare(term), Expr::Collate(..));
    let is_number = literal_number(if is_collated { uncollated(term) } else { term }).is_some();
    if is_number && (listed.is_none() || is_collated) || matches!(bare(term), Expr::Variable(_)) {
        return no(
            Id::GroupBy,
            "GROUP",
            "grouping by a number that no expression of the result has, or by a parameter",
        );
    }
    let named = match bare(term) {
        Expr::Id(id) if tr.find(None, &plain(id.0))?.is_none() => tr.known.alias(&plain(id.0)).map(|(_, expr)| expr),
        _ => None,
    };
    let literal = named.is_some_and(|expr| matches!(bare(expr), Expr::Literal(_)));
    if literal || literal_number(term).is_some() || matches!(bare(term), Expr::Literal(_)) {
        tr.put(CONSTANT);
        return Ok(());
    }
    let qualify = std::mem::replace(&mut tr.place.qualify, true);
    let start = tr.at();
    let value = tr.value(term, Ty::Any)?;
    tr.place.qualify = qualify;
    // An alias of a number, and TRUE and FALSE written as numbers, would be column positions for the servers.
    if order::is_position(&tr.out.sql[start..]) {
        tr.out.sql.truncate(start);
        tr.put(CONSTANT);
        return Ok(());
    }
    if columns::groups_folded(tr, term)? {
        collations::fold(tr, start);
        return Ok(());
    }
    if value.collation != Collation::Binary {
        return no(
            Id::Collation,
            "GROUP",
            "grouping under a collation that ignores case: which spelling is shown depends on the row",
        );
    }
    if matches!(value.ty, Ty::Any | Ty::Tagged) {
        return no(Id::MixedTypes, "GROUP", format!("grouping by values {}", value.ty.word()));
    }
    // MariaDB would put rows together whose texts begin alike.
    if windows::is_long(tr, term, value)? {
        match windows::column_of(tr, term)? {
            Some(_) => {
                let again = format!(", SHA2({}, 256)", &tr.out.sql[start..]);
                tr.put(&again);
            }
            None => order::sorted(tr, value),
        }
    }
    Ok(())
}

fn results<'a>(
    tr: &mut Tr<'a>,
    (columns, tags, extra): (&'a [ResultColumn<'a>], &[bool], &Extra),
    distinct: bool,
    collect: bool,
    outputs: &mut Vec<Column>,
) -> R<()> {
    let star_of = |what: &str| no(Id::MixedTypes, what, "all columns, of which one is of several types");
    let written = columns.iter().enumerate().filter(|(place, _)| extra.only.is_none_or(|only| only == *place));
    tr.list(written, |tr, (place, column)| match column {
        ResultColumn::Expr(expr, alias) => {
            let start = tr.at();
            let mut value = tr.result(expr, Ty::Any)?;
            if tags.get(place) == Some(&true) {
                value = tagged::tagged(tr, start, value)?;
            }
            make_room(tr, start, value, extra);
            if tr.place.folded_result.is_some_and(|folded| std::ptr::eq(folded, expr)) {
                collations::fold(tr, start);
            }
            if let Some((keyed, before, after)) = &tr.place.keyed_result
                && std::ptr::eq(*keyed, expr)
            {
                let (before, after) = (before.clone(), after.clone());
                tr.wrap(start, &before, &after);
            }
            if distinct {
                distinct::result(tr, value, Some(expr))?;
            }
            if let Some(alias) = alias {
                tr.put(" AS ");
                tr.name(&plain(as_name(alias)))?;
            } else if let Some(column) = picks(tr, expr).or_else(|| hidden(tr, expr)) {
                tr.put(" AS ");
                tr.name(&column)?;
            }
            if collect {
                outputs.push(output(result_name(tr, expr, alias.as_ref()), value));
            }
            Ok(())
        }
        ResultColumn::Star | ResultColumn::TableStar(_) if !tags.is_empty() => star_of("*"),
        ResultColumn::Star => star(tr, None, distinct, collect, outputs),
        ResultColumn::TableStar(table) => star(tr, Some(&plain(table.0)), distinct, collect, outputs),
    })
}

/// The name that SQLite gives to a result that is a hidden rowid.
fn hidden(tr: &Tr, expr: &Expr) -> Option<String> {
    let (table, name) = match expr {
        Expr::Id(id) => (None, plain(id.0)),
        Expr::Qualified(table, column) => (Some(plain(table.0)), plain(column.0)),
        _ => return None,
    };
    let found = is_rowid(&name).then(|| tr.find(table.as_deref(), &name).ok()?)??;
    (found.column == HIDDEN).then(|| name.into_owned())
}

/// The name of a result column whose value comes from the row of the only min() or max(), for which the server would
/// choose another name.
fn picks(tr: &Tr, expr: &Expr) -> Option<String> {
    tr.known.scopes.last()?.pick?;
    Some(tr.column_of(&named(tr, expr)?).name.clone())
}

/// The column that an expression is.
fn named(tr: &Tr, expr: &Expr) -> Option<Found> {
    let (table, name) = match expr {
        Expr::Id(id) => (None, plain(id.0)),
        Expr::Qualified(table, column) | Expr::DoublyQualified(_, table, column) => {
            (Some(plain(table.0)), plain(column.0))
        }
        _ => return None,
    };
    tr.find(table.as_deref(), &name).ok()?
}

/// `*` and `t.*`, written out if the servers would order the columns of a USING join differently.
fn star(tr: &mut Tr, table: Option<&str>, distinct: bool, collect: bool, outputs: &mut Vec<Column>) -> R<()> {
    tr.seen.stars += 1;
    let here = tr.known.scopes.len() - 1;
    let sources = &tr.known.scopes[here].sources;
    let wanted = columns_of(sources, table);
    if wanted.is_empty() {
        return no(Id::UnknownTable, table.unwrap_or("*"), "there is no such table here to take all columns of");
    }
    if wanted.iter().any(|(source, _)| !sources[*source].hides.is_empty()) {
        return no(
            Id::TableFunctions,
            table.unwrap_or("*"),
            "all columns of a table or function of SQLite's, of which the server has some",
        );
    }
    let joined = sources.iter().any(|s| !s.joined.is_empty());
    // The columns that are not grouped come from one row, each by its own expression.
    let picked = tr.known.scopes[here].pick.is_some();
    if table.is_none() && sources.iter().any(|s| s.mixed || s.right) {
        return no(Id::FullJoin, "*", "in this join the shared column is a mix of both tables; name the columns");
    }
    // MariaDB takes `*` only at the beginning.
    let is_later = !tr.postgres && table.is_none() && tr.out.sql.ends_with(", ");
    let spelled = is_later || sources.iter().any(|s| s.spelled || s.columns.hides_one());
    if joined && table.is_none() {
        tr.fire(Id::Star);
    }
    let start = tr.at();
    let mut first = true;
    tr.place.token = "*";
    for (source, column) in wanted {
        if !std::mem::take(&mut first) {
            tr.put(", ");
        }
        let found = crate::scope::Found { scope: here, source, column };
        let value = columns::write_column(tr, &found, true)?;
        if picked {
            tr.put(" AS ");
            let name = tr.column_of(&found).name.clone();
            tr.name(&name)?;
        }
        if distinct {
            distinct::result(tr, value, None)?;
        }
        if collect {
            let name = tr.column_of(&found).name.clone();
            outputs.push(output(name, value));
        }
    }
    if !joined && !picked && !spelled {
        tr.out.sql.truncate(start);
        if let Some(table) = table {
            let source = tr.known.scopes[here].sources.iter().find(|s| s.name.eq_ignore_ascii_case(table));
            let name = source.expect("found above").name.clone();
            tr.name(&name)?;
            tr.put(".");
        }
        tr.put("*");
    }
    Ok(())
}

/// The argument of the only min() or max() in a select list, and whether it is max(). With a different one anywhere, SQLite
/// takes the row of the last.
fn only_extreme<'a>(
    columns: &'a [ResultColumn<'a>],
    order: &'a [SortedColumn<'a>],
    having: Option<&Expr>,
) -> Option<(&'a Expr<'a>, bool)> {
    let results = columns.iter().filter_map(|column| match column {
        ResultColumn::Expr(expr, _) => Some(expr),
        _ => None,
    });
    let mut all = vec![];
    results.chain(order.iter().map(|term| &term.expr)).for_each(|expr| extremes(expr, &mut all));
    if all.windows(2).any(|pair| pair[0] != pair[1]) {
        return None;
    }
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
        if max || name.0.eq_ignore_ascii_case("min") {
            found = Some((of, max));
        }
    }
    found.filter(|_| having.is_none())
}

/// Adds each min() and max() of one argument in an expression.
fn extremes<'a, 'b>(expr: &'b Expr<'a>, found: &mut Vec<&'b Expr<'a>>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if let Expr::FunctionCall { name, args: Some([_]), .. } = expr
            && ["min", "max"].iter().any(|known| name.0.eq_ignore_ascii_case(known))
        {
            found.push(expr);
        }
        rest.extend(parts(expr));
    }
}

/// The name of a result column: a column's as its table spells it. That of an expression without alias is not defined.
fn result_name(tr: &Tr, expr: &Expr, alias: Option<&crate::parse::tree::As>) -> String {
    if alias.is_none()
        && let Some(found) = named(tr, expr).filter(|found| found.column != HIDDEN)
    {
        return tr.column_of(&found).name.clone();
    }
    match (alias, expr) {
        (Some(alias), _) => plain(as_name(alias)).into_owned(),
        (None, Expr::Id(id)) => plain(id.0).into_owned(),
        (None, Expr::Qualified(_, column)) | (None, Expr::DoublyQualified(_, _, column)) => {
            plain(column.0).into_owned()
        }
        _ => String::new(),
    }
}
