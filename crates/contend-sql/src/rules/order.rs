//! ORDER BY and LIMIT.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Limit, ResultColumn, SortOrder, SortedColumn};
use crate::parse::{LimitForm, limit_form};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number, uncollated};
use crate::rules::{Id, collations, columns, tagged};
use crate::scope::{Found, columns_of};
use crate::types::{Collation, Number, Strength, Ty, Val};

pub(crate) fn order_term<'a>(
    tr: &mut Tr<'a>,
    term: &'a SortedColumn<'a>,
    columns: &'a [ResultColumn<'a>],
    distinct: bool,
) -> R<()> {
    let named = match named(tr, &term.expr, columns)? {
        Some(Listed::Column(found)) => return order_by_column(tr, term, &found),
        Some(Listed::Expr(i, expr)) => Some((i, expr)),
        None => None,
    };
    if let (Expr::Collate(_, collation), Some((_, expr))) = (bare(&term.expr), named) {
        return order_collated(tr, term, (expr, collation), distinct);
    }
    let short = tr.input.text.len() <= crate::rules::literals::COMPARED_MAX;
    let listed = |expr: &Expr| short && columns.iter().any(|c| matches!(c, ResultColumn::Expr(e, _) if e == expr));
    let star = columns.iter().any(|c| !matches!(c, ResultColumn::Expr(..)));
    let column = matches!(bare(&term.expr), Expr::Id(_) | Expr::Qualified(..));
    if distinct && named.is_none() && !listed(&term.expr) && !(star && column) {
        return no(Id::OrderBy, "ORDER", "ORDER BY something that SELECT DISTINCT does not list");
    }
    let from = tr.at();
    // An ordinal refers to a result column, unless its order needs an expression.
    if let Some((i, expr)) = named {
        let value = tr.probe_value(expr)?;
        let plain_order =
            value.ty != Ty::Text || value.collation == Collation::Binary && (value.bytewise || !tr.postgres);
        let plain_order = plain_order && value.ty != Ty::Tagged;
        if plain_order && columns[..i].iter().all(|c| matches!(c, ResultColumn::Expr(..))) {
            crate::emit::push_decimal(&mut tr.out.sql, i + 1);
            return direction(tr, from, value, term);
        }
    }
    let expr = named.map_or(&term.expr, |(_, expr)| expr);
    if matches!(bare(expr), Expr::Literal(_)) {
        // It does not order anything; PostgreSQL would report an error for it.
        tr.put("(SELECT NULL)");
        return Ok(());
    }
    if matches!(bare(expr), Expr::Variable(_)) {
        return no(Id::OrderBy, "ORDER", "ORDER BY a parameter");
    }
    let qualify = std::mem::replace(&mut tr.place.qualify, true);
    let value = tr.value(expr, Ty::Any)?;
    tr.place.qualify = qualify;
    if is_position(&tr.out.sql[from..]) {
        tr.out.sql.truncate(from);
        tr.put("(SELECT NULL)");
        return Ok(());
    }
    ordered(tr, from, value, term)
}

/// What a result column is.
enum Listed<'a> {
    /// With its place in the select list.
    Expr(usize, &'a Expr<'a>),
    /// A column of `*`.
    Column(Found),
}

/// The result column of this number. Each column of `*` counts.
fn listed<'a>(tr: &Tr<'a>, number: i64, columns: &'a [ResultColumn<'a>]) -> Option<Listed<'a>> {
    let mut left = usize::try_from(number.checked_sub(1)?).ok()?;
    let scope = tr.known.scopes.len() - 1;
    let all = |table: Option<&str>| columns_of(&tr.known.scopes[scope].sources, table);
    for (i, column) in columns.iter().enumerate() {
        let of_star = match column {
            ResultColumn::Expr(expr, _) if left == 0 => return Some(Listed::Expr(i, expr)),
            ResultColumn::Expr(..) => {
                left -= 1;
                continue;
            }
            ResultColumn::Star => all(None),
            ResultColumn::TableStar(table) => all(Some(&plain(table.0))),
        };
        if let Some(&(source, column)) = of_star.get(left) {
            return Some(Listed::Column(Found { scope, source, column }));
        }
        left -= of_star.len();
    }
    None
}

/// The expression of the result that a number in GROUP BY refers to.
pub(crate) fn result_of<'a>(tr: &Tr<'a>, term: &Expr<'a>, columns: &'a [ResultColumn<'a>]) -> Option<&'a Expr<'a>> {
    let Some(Number::Int(number)) = literal_number(term) else { return None };
    match listed(tr, number, columns)? {
        Listed::Expr(_, expr) => Some(expr),
        Listed::Column(_) => None,
    }
}

/// The result to which a term refers by its number or its name, also within COLLATE.
fn named<'a>(tr: &Tr<'a>, term: &Expr<'a>, columns: &'a [ResultColumn<'a>]) -> R<Option<Listed<'a>>> {
    let within = uncollated(term);
    match (literal_number(within), within) {
        (Some(Number::Int(number)), _) => match listed(tr, number, columns) {
            None => no(Id::OrderBy, "ORDER", "ORDER BY a number that is not a column of the result"),
            found => Ok(found),
        },
        (Some(_), _) => no(Id::OrderBy, "ORDER", "ORDER BY a real number"),
        (None, Expr::Id(id)) => Ok(tr.known.alias(&plain(id.0)).map(|(i, expr)| Listed::Expr(i, expr))),
        (None, _) => Ok(None),
    }
}

/// A column of `*` by its number.
fn order_by_column<'a>(tr: &mut Tr<'a>, term: &'a SortedColumn<'a>, found: &Found) -> R<()> {
    if matches!(bare(&term.expr), Expr::Collate(..)) {
        return no(Id::OrderBy, "COLLATE", "ORDER BY the number of a column of `*` with COLLATE; name the column");
    }
    let from = tr.at();
    let value = columns::write_column(tr, found, true)?;
    ordered(tr, from, value, term)
}

/// A result under another collation. Of several the outermost applies.
fn order_collated<'a>(
    tr: &mut Tr<'a>,
    term: &'a SortedColumn<'a>,
    (expr, collation): (&'a Expr<'a>, &str),
    distinct: bool,
) -> R<()> {
    if distinct {
        return no(Id::OrderBy, "COLLATE", "ORDER BY a result of SELECT DISTINCT with COLLATE");
    }
    let (from, qualify) = (tr.at(), std::mem::replace(&mut tr.place.qualify, true));
    let value = collations::with_collation(tr, expr, collation)?;
    tr.place.qualify = qualify;
    if is_position(&tr.out.sql[from..]) {
        return no(Id::OrderBy, "COLLATE", "ORDER BY a number with COLLATE");
    }
    ordered(tr, from, value, term)
}

/// Whether the servers would take this for the position of a column: TRUE and FALSE are written as numbers.
pub(crate) fn is_position(written: &str) -> bool {
    written.bytes().all(|b| b.is_ascii_digit() || b"+-(). ".contains(&b))
}

/// A term of ORDER BY of a SELECT DISTINCT that is written as groups, not made of the listed columns: its value in any
/// row of the group.
pub(crate) fn order_of_group<'a>(tr: &mut Tr<'a>, term: &'a SortedColumn<'a>) -> R<()> {
    tr.fire(Id::DistinctOrder);
    let from = tr.at();
    tr.put("min(");
    let qualify = std::mem::replace(&mut tr.place.qualify, true);
    let value = columns::as_grouped(tr, true, |tr| tr.value(&term.expr, Ty::Any))?;
    tr.place.qualify = qualify;
    tr.put(")");
    ordered(tr, from, Val { nullable: true, strength: Strength::Atom, ..value }, term)
}

/// Applies the order of its collation and the direction to what was written.
pub(crate) fn ordered<'a>(tr: &mut Tr<'a>, from: usize, mut value: Val, term: &'a SortedColumn<'a>) -> R<()> {
    match (value.ty, value.collation) {
        (Ty::Any, _) => return no(Id::MixedTypes, "ORDER", "ordering values of unknown type"),
        (Ty::Tagged, _) => tagged::order_key(tr, from, value)?,
        (Ty::Text, Collation::NoCase) => {
            collations::fold(tr, from);
        }
        (Ty::Text, Collation::Rtrim) => {
            tr.fire(Id::Collation);
            if tr.postgres {
                tr.wrap(from, "rtrim((", ") COLLATE \"C\", ' ')");
            } else {
                tr.wrap(from, "RTRIM(", ")");
            }
        }
        (Ty::Text, Collation::Binary) if tr.postgres && !value.bytewise => {
            tr.enclose(from, &mut value, Strength::Atom);
            tr.put(" COLLATE \"C\"");
        }
        _ => {}
    }
    direction(tr, from, value, term)
}

/// ASC or DESC, and the place of NULLs: they are smallest in SQLite and MariaDB, and largest in PostgreSQL.
pub(crate) fn direction(tr: &mut Tr, from: usize, value: Val, term: &SortedColumn) -> R<()> {
    use crate::parse::tree::NullsOrder;
    let descending = term.order == Some(SortOrder::Desc);
    let first = term.nulls.map_or(!descending, |n| n == NullsOrder::First);
    sorted(tr, value);
    if !tr.postgres && first == descending && value.nullable {
        tr.fire(Id::NullOrder);
        let text = tr.out.sql[from..].to_string();
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return no(
                Id::NullOrder,
                "NULLS",
                "MariaDB has no NULLS FIRST, and this expression cannot be written twice",
            );
        }
        let test = if first { " IS NULL DESC, " } else { " IS NULL, " };
        tr.wrap(from, &format!("({text}){test}"), "");
    }
    if descending {
        tr.put(" DESC");
    }
    if tr.postgres && value.nullable {
        tr.fire(Id::NullOrder);
        tr.put(if first { " NULLS FIRST" } else { " NULLS LAST" });
    }
    Ok(())
}

/// MariaDB sorts texts and blobs by their beginnings.
pub(crate) fn sorted(tr: &mut Tr, value: Val) {
    if !tr.postgres && !value.ty.numeric() {
        tr.fire(Id::OrderBy);
    }
}

/// How many rows LIMIT gives, and how many it skips.
pub(crate) fn both_of<'a>(tr: &Tr<'a>, limit: &'a Limit<'a>) -> R<(&'a Expr<'a>, Option<&'a Expr<'a>>)> {
    let Some(second) = &limit.offset else { return Ok((&limit.expr, None)) };
    match limit_form(tr.input.text) {
        LimitForm::Offset => Ok((&limit.expr, Some(second))),
        LimitForm::Comma => Ok((second, Some(&limit.expr))),
        LimitForm::Mixed => no(Id::Limit, "LIMIT", "both forms of LIMIT with two numbers in one statement"),
    }
}

pub(crate) fn limit<'a>(tr: &mut Tr<'a>, limit: &'a Limit<'a>) -> R<()> {
    tr.fire(Id::Limit);
    let (count, skip) = both_of(tr, limit)?;
    let constant = crate::rules::arithmetic::constant;
    match constant(count) {
        Some(n) if n >= 0 => {
            tr.put(" LIMIT ");
            tr.number(Number::Int(n));
        }
        // No limit, but MariaDB requires one before OFFSET.
        Some(_) if tr.postgres || skip.is_none() => {}
        Some(_) => tr.put(" LIMIT 18446744073709551615"),
        None => limit_expression(tr, " LIMIT ", count, "NULLIF(GREATEST(", ", -1), -1)")?,
    }
    match skip.map(|s| (s, constant(s))) {
        None => {}
        Some((_, Some(n))) => {
            tr.put(" OFFSET ");
            tr.number(Number::Int(n.max(0)));
        }
        Some((skip, None)) => limit_expression(tr, " OFFSET ", skip, "GREATEST(", ", 0)")?,
    }
    Ok(())
}

fn limit_expression<'a>(tr: &mut Tr<'a>, word: &str, expr: &'a Expr<'a>, before: &str, after: &str) -> R<()> {
    tr.put(word);
    let start = tr.at();
    if !tr.postgres && !matches!(bare(expr), Expr::Variable(_)) {
        return no(Id::Limit, "LIMIT", "MariaDB takes a number or a parameter here, no expression");
    }
    let value = tr.value(expr, Ty::Int)?;
    if !matches!(value.ty, Ty::Int | Ty::Param) {
        return no(Id::Limit, "LIMIT", format!("{} where a count is wanted", value.ty.word()));
    }
    if tr.postgres {
        tr.wrap(start, before, after);
    } else {
        tr.fire(Id::LimitParameter);
    }
    Ok(())
}
