//! Aggregate and window functions.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Distinctness, Expr, FunctionCallOrder, FunctionTail, Literal};
use crate::refuse::{R, no};
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES};
use crate::rules::literals::bare;
use crate::rules::{Id, arithmetic, json, order, tagged, windows};
use crate::scope::Grouping;
use crate::types::collation;
use crate::types::{Affinity, Collation, Strength, Ty, Val};

/// A function call with its tail (FILTER, OVER).
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The function's name, as it stands in the statement.
    pub token: &'a str,
    pub distinct: Option<Distinctness>,
    pub args: &'a [Expr<'a>],
    pub order: Option<&'a FunctionCallOrder<'a>>,
    pub tail: Option<&'a FunctionTail<'a>>,
}

impl Call<'_> {
    fn distinct(&self) -> bool {
        self.distinct == Some(Distinctness::Distinct)
    }
}

/// count(*)
pub(crate) fn call_star<'a>(tr: &mut Tr<'a>, token: &'a str, tail: Option<&'a FunctionTail<'a>>) -> R<Val> {
    if !plain(token).eq_ignore_ascii_case("count") {
        return no(Id::Functions, token, "only count() takes *");
    }
    enter_aggregate(tr, token, tail)?;
    tr.fire(Id::Aggregates);
    if tr.postgres || tail.is_none_or(|t| t.filter_clause.is_none()) {
        tr.put("count(*)");
    } else {
        tr.put("count(");
        let end = filtered(tr, tail)?;
        tr.put("1");
        tr.put(end);
        tr.put(")");
    }
    filter_and_over(tr, tail)?;
    Ok(Val::of(Ty::Int).never_null())
}

fn enter_aggregate(tr: &mut Tr, token: &str, tail: Option<&FunctionTail>) -> R<()> {
    let window = tail.is_some_and(|t| t.over_clause.is_some());
    match tr.place.grouping {
        Grouping::Allowed => {}
        Grouping::Forbidden => return no(Id::Aggregates, token, "an aggregate where SQLite has none"),
        Grouping::Inside => return no(Id::Aggregates, token, "an aggregate inside an aggregate"),
    }
    if !window {
        tr.seen.aggregates += 1;
    }
    Ok(())
}

/// Translates an aggregate call; `None` if the name is not an aggregate's.
pub(crate) fn aggregate<'a>(tr: &mut Tr<'a>, name: &str, call: Call<'a>) -> R<Option<Val>> {
    let Call { token, args, tail, .. } = call;
    if let Some(over) = tail.and_then(|t| t.over_clause)
        && let Some(value) = windows::window_function(tr, name, token, args, over)?
    {
        return Ok(Some(value));
    }
    let known = match (name, args.len()) {
        ("count", 0) => return call_star(tr, token, tail).map(Some),
        ("count" | "sum" | "total" | "avg" | "min" | "max", 1) => true,
        ("group_concat" | "string_agg", 1 | 2) | ("json_group_array", 1) => true,
        _ => false,
    };
    if !known {
        return Ok(None);
    }
    enter_aggregate(tr, token, tail)?;
    tr.fire(Id::Aggregates);
    if call.order.is_some() && !matches!(name, "group_concat" | "string_agg" | "json_group_array") {
        return no(Id::Aggregates, token, "ORDER BY inside an aggregate");
    }
    let outer = std::mem::replace(&mut tr.place.grouping, Grouping::Inside);
    let mut value = no(Id::Aggregates, token, "an aggregate that was not written");
    let windowed = tail.is_some_and(|t| t.over_clause.is_some());
    let mut write = |tr: &mut Tr<'a>| {
        value = aggregate_here(tr, name, call);
        Ok(())
    };
    // Arguments of a window function belong to the grouped query.
    let reads = reads(tr);
    if windowed {
        write(tr)?
    } else {
        ungrouped(tr, write)?
    }
    tr.place.grouping = outer;
    let (own, others) = self::reads(tr);
    if !windowed && own == reads.0 && others > reads.1 && value.is_ok() {
        return no(Id::Aggregates, token, "an aggregate of columns of an outer query only, to which it then belongs");
    }
    value.map(Some)
}

/// Number of columns written of the innermost query, and of outer ones.
fn reads(tr: &Tr) -> (u32, u32) {
    let Some((own, others)) = tr.known.scopes.split_last() else { return (0, 0) };
    (own.reads, others.iter().map(|scope| scope.reads).sum())
}

fn aggregate_here<'a>(tr: &mut Tr<'a>, name: &str, call: Call<'a>) -> R<Val> {
    let Call { token, args, order, tail, .. } = call;
    let distinct = call.distinct();
    let start = tr.at();
    match name {
        "count" => count(tr, token, distinct, &args[0], tail),
        "sum" | "total" | "avg" if sums_tagged(tr, &args[0], call)? => {
            let value = tr.value(&args[0], Ty::Any)?;
            if value.ty != Ty::Tagged {
                tagged::tagged(tr, start, value)?;
            }
            tagged::sum(tr, name, token, start)
        }
        "sum" | "total" | "avg" => {
            tr.put("sum");
            tr.put(if distinct { "(DISTINCT " } else { "(" });
            let end = filtered(tr, tail)?;
            let value = arithmetic::summand(tr, &args[0])?;
            tr.put(end);
            tr.put(")");
            filter_and_over(tr, tail)?;
            sum(tr, name, start, value, call)
        }
        "min" | "max" => extreme(tr, name, token, &args[0], tail),
        "json_group_array" if distinct && order.is_some() => {
            no(Id::Json, token, "json_group_array() of DISTINCT values in an order")
        }
        "json_group_array" if !tr.postgres && tail.is_some_and(|t| t.over_clause.is_some()) => {
            no(Id::Windows, token, "MariaDB has no json_group_array() over a window")
        }
        "json_group_array" => {
            tr.put(if tr.postgres { "string_agg(" } else { "GROUP_CONCAT(" });
            if distinct {
                tr.put("DISTINCT ");
                let value = tr.probe(&args[0])?;
                distinct_values(token, value)?;
            }
            let end = filtered(tr, tail)?;
            json::json_value(tr, token, &args[0])?;
            tr.put(end);
            tr.put(if tr.postgres { ", ','" } else { "" });
            concat_order(tr, order)?;
            tr.put(if tr.postgres { ")" } else { " SEPARATOR ',')" });
            filter_and_over(tr, tail)?;
            tr.fire(Id::Json);
            tr.wrap(start, "CONCAT('[', COALESCE(", ", ''), ']')");
            Ok(Val::of(Ty::Text).never_null())
        }
        _ => group_concat(tr, call),
    }
}

/// Whether the values of a sum have several types: tagged ones, decimal numbers, and texts, which are read as numbers.
fn sums_tagged<'a>(tr: &mut Tr<'a>, one: &'a Expr<'a>, call: Call<'a>) -> R<bool> {
    if !tr.input.options.pack || call.distinct() || call.tail.is_some() {
        return Ok(false);
    }
    let is_literal = matches!(bare(one), Expr::Literal(_));
    Ok(!is_literal && matches!(tr.probe_value(one)?.ty, Ty::Tagged | Ty::Text | Ty::Number))
}

fn count<'a>(
    tr: &mut Tr<'a>,
    token: &'a str,
    distinct: bool,
    one: &'a Expr<'a>,
    tail: Option<&'a FunctionTail<'a>>,
) -> R<Val> {
    tr.put(if distinct { "count(DISTINCT " } else { "count(" });
    let end = filtered(tr, tail)?;
    let from = tr.at();
    let value = tr.value(one, Ty::Text)?;
    if distinct && value.ty == Ty::Text && value.collation == Collation::NoCase {
        tr.fire(Id::Collation);
        let (before, after) = if tr.postgres { FOLD_POSTGRES } else { FOLD_MARIADB };
        tr.wrap(from, before, after);
    } else if distinct {
        distinct_values(token, value)?;
    }
    tr.put(end);
    tr.put(")");
    filter_and_over(tr, tail)?;
    Ok(Val::of(Ty::Int).never_null())
}

/// min() and max() as aggregates.
fn extreme<'a>(
    tr: &mut Tr<'a>,
    name: &str,
    token: &'a str,
    one: &'a Expr<'a>,
    tail: Option<&'a FunctionTail<'a>>,
) -> R<Val> {
    let start = tr.at();
    tr.put(name);
    tr.put("(");
    let end = filtered(tr, tail)?;
    let from = tr.at();
    let mut value = tr.value(one, Ty::Text)?;
    if value.ty == Ty::Tagged {
        if tail.is_some() || value.collation != Collation::Binary {
            return no(Id::Aggregates, token, format!("{name}() of values {}", value.ty.word()));
        }
        let x = tr.out.sql.split_off(from);
        tr.out.sql.truncate(start);
        tr.put(&x);
        return Ok(tagged::extreme(tr, name, start));
    }
    if matches!(value.ty, Ty::Param | Ty::Any | Ty::Blob) {
        return no(Id::Aggregates, token, format!("{name}() of {}", value.ty.word()));
    }
    if value.ty == Ty::Text && collation(value, value) != Collation::Binary {
        return no(Id::Collation, token, "max() or min() under a collation that ignores case");
    }
    if value.ty == Ty::Text && tr.postgres && !value.bytewise {
        tr.enclose(from, &mut value, Strength::Atom);
        tr.put("::text COLLATE \"C\"");
    }
    tr.put(end);
    tr.put(")");
    filter_and_over(tr, tail)?;
    Ok(Val { nullable: true, affinity: Affinity::None, column: false, strength: Strength::Atom, ..value })
}

fn sum<'a>(tr: &mut Tr<'a>, name: &str, start: usize, value: Val, call: Call<'a>) -> R<Val> {
    let integer = value.ty == Ty::Int;
    tr.fire(if integer { Id::Overflow } else { Id::Reals });
    match (name, tr.postgres) {
        ("sum", true) if integer => {
            tr.put("::bigint");
            Ok(Val::of(Ty::Int).with(Strength::Operator))
        }
        ("sum", false) if integer => {
            // A CAST would clamp a sum to 64 bits; DIV reports an error, as SQLite does.
            tr.wrap(start, "(", " DIV 1)");
            Ok(Val::of(Ty::Int))
        }
        ("sum", _) => Ok(Val::of(value.ty)),
        ("total", true) => {
            tr.wrap(start, "COALESCE((", ")::float8, 0)");
            Ok(Val::of(Ty::Real).never_null())
        }
        ("total", false) => {
            tr.wrap(start, "COALESCE(CAST(", " AS DOUBLE), 0e0)");
            Ok(Val::of(Ty::Real).never_null())
        }
        (_, postgres) => {
            // The quotient of two doubles, as SQLite computes it.
            if postgres {
                tr.wrap(start, "((", ")::float8 / count(");
            } else {
                tr.wrap(start, "(CAST(", " AS DOUBLE) / count(");
            }
            if call.distinct() {
                tr.put("DISTINCT ");
            }
            let end = filtered(tr, call.tail)?;
            arithmetic::numeric_operand(tr, &call.args[0], Ty::Int)?;
            tr.put(end);
            tr.put(")");
            filter_and_over(tr, call.tail)?;
            tr.put(")");
            Ok(Val::of(Ty::Real))
        }
    }
}

fn group_concat<'a>(tr: &mut Tr<'a>, call: Call<'a>) -> R<Val> {
    let Call { token, args, order, tail, .. } = call;
    let distinct = call.distinct();
    tr.fire(Id::GroupConcat);
    if !tr.postgres && tail.is_some_and(|t| t.over_clause.is_some()) {
        return no(Id::Windows, token, "MariaDB has no group_concat() over a window");
    }
    if tail.and_then(|t| t.over_clause).is_some_and(windows::moves) {
        return no(Id::Windows, token, "group_concat() of rows that leave the window: SQLite then drops empty texts");
    }
    if distinct {
        let value = tr.probe(&args[0])?;
        distinct_values(token, value)?;
        if args.len() > 1 {
            return no(Id::GroupConcat, token, "DISTINCT with a separator, which SQLite does not take");
        }
    }
    tr.put(if tr.postgres { "string_agg(" } else { "GROUP_CONCAT(" });
    tr.put(if distinct { "DISTINCT " } else { "" });
    let end = filtered(tr, tail)?;
    let value = arithmetic::text_operand(tr, &args[0])?;
    tr.put(end);
    if tr.postgres {
        tr.put(", ");
    } else {
        concat_order(tr, order)?;
        tr.put(" SEPARATOR ");
    }
    match args.get(1) {
        None => tr.put("','"),
        Some(Expr::Literal(Literal::Null)) => tr.put("''"),
        Some(separator @ Expr::Literal(_)) => {
            arithmetic::text_operand(tr, separator)?;
        }
        Some(separator) if tr.postgres => {
            arithmetic::text_operand(tr, separator)?;
        }
        Some(_) => return no(Id::GroupConcat, token, "a separator that is not a literal"),
    }
    if tr.postgres {
        concat_order(tr, order)?;
    }
    tr.put(")");
    filter_and_over(tr, tail)?;
    Ok(Val { bytewise: value.bytewise, ..Val::of(Ty::Text) })
}

/// ORDER BY inside an aggregate.
fn concat_order<'a>(tr: &mut Tr<'a>, order: Option<&'a FunctionCallOrder<'a>>) -> R<()> {
    let Some(FunctionCallOrder::SortList(terms)) = order else { return Ok(()) };
    tr.put(" ORDER BY ");
    tr.list(*terms, |tr, term| {
        let from = tr.at();
        let value = tr.value(&term.expr, Ty::Any)?;
        order::ordered(tr, from, value, term)
    })
}

/// DISTINCT inside an aggregate, or over rows, under the value's collation.
pub(crate) fn distinct_values(token: &str, value: Val) -> R<()> {
    match value.ty {
        Ty::Text if value.collation != Collation::Binary => {
            no(Id::Collation, token, "DISTINCT under a collation that ignores case")
        }
        Ty::Any | Ty::Tagged => no(Id::Aggregates, token, format!("DISTINCT over values {}", value.ty.word())),
        _ => Ok(()),
    }
}

/// Writes a part in which columns need not be grouped.
fn ungrouped<'a>(tr: &mut Tr<'a>, write: impl FnOnce(&mut Tr<'a>) -> R<()>) -> R<()> {
    let checked = tr.known.scopes.last_mut().is_some_and(|s| std::mem::take(&mut s.checked));
    let written = write(tr);
    if let Some(scope) = tr.known.scopes.last_mut() {
        scope.checked = checked;
    }
    written
}

/// Begins an aggregate's argument. On MariaDB, FILTER becomes a CASE around it, because aggregates ignore NULL.
fn filtered<'a>(tr: &mut Tr<'a>, tail: Option<&'a FunctionTail<'a>>) -> R<&'static str> {
    match tail.and_then(|t| t.filter_clause) {
        Some(filter) if !tr.postgres => {
            tr.put("CASE WHEN ");
            ungrouped(tr, |tr| tr.condition(filter).map(drop))?;
            tr.put(" THEN ");
            Ok(" END")
        }
        _ => Ok(""),
    }
}

/// FILTER and OVER.
fn filter_and_over<'a>(tr: &mut Tr<'a>, tail: Option<&'a FunctionTail<'a>>) -> R<()> {
    let Some(tail) = tail else { return Ok(()) };
    if let Some(filter) = tail.filter_clause {
        tr.fire(Id::Filter);
        if tr.postgres {
            tr.put(" FILTER (WHERE ");
            ungrouped(tr, |tr| tr.condition(filter).map(drop))?;
            tr.put(")");
        }
    }
    if let Some(over) = tail.over_clause {
        // PARTITION BY and ORDER BY of a window are outside of the aggregate.
        let outer = std::mem::replace(&mut tr.place.grouping, Grouping::Allowed);
        windows::over_aggregate(tr, over)?;
        tr.place.grouping = outer;
    }
    Ok(())
}
