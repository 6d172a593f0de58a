//! Expressions: literals, names, boolean and value contexts, arithmetic, CASE, CAST, subqueries.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Distinctness, Expr, LikeOperator, Literal, OneSelect, Operator, Select, UnaryOperator};
use crate::refuse::{R, no};
use crate::rules::aggregates::Call;
use crate::rules::literals::{bare, has_aggregate, is_false};
use crate::rules::{
    Id, aggregates, arithmetic, casts, choices, collations, columns, compare, functions, joins, json, json_paths, like,
    membership, tagged, upsert,
};
use crate::types::{Affinity, Number, Sides, Strength, Ty, Val, number_in_text, number_literal};

/// Most expressions written for a statement, in addition to four for each of its bytes. An expression that is probed
/// before it is written counts twice, which limits the nesting of such expressions.
const STEPS_MAX: usize = 50_000;
/// Longest translation: about the largest packet that MariaDB accepts by default.
const WRITTEN_MAX: usize = 16_000_000;
/// Writes an expression. `want` is the type for a parameter; it does not change anything else.
pub(crate) fn expr<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    tr.seen.steps += 1;
    if tr.seen.steps > STEPS_MAX + 4 * tr.input.text.len() {
        return no(Id::Depth, "", "an expression of too many nested parts that are written more than once");
    }
    let written = tr.deeper(|tr| {
        if !tr.groups_by(expr) {
            return expr_here(tr, expr, want);
        }
        // It may contain any columns.
        let (here, start) = (tr.known.scopes.len() - 1, tr.at());
        tr.known.scopes[here].checked = false;
        let value = expr_here(tr, expr, want);
        tr.known.scopes[here].checked = true;
        // It has one value in the group. In HAVING, MariaDB finds no column within it, and PostgreSQL groups by the number of
        // a truth value.
        let value = value?;
        let wrapped = match value.ty {
            _ if !tr.place.having || is_name(bare(expr)) => return Ok(value),
            Ty::Bool if tr.postgres => "bool_and(",
            _ if tr.postgres => return Ok(value),
            _ => "min(",
        };
        tr.wrap(start, wrapped, ")");
        Ok(Val { strength: Strength::Atom, ..value })
    });
    // Some functions use an operand twice, so that nesting them grows exponentially.
    if tr.out.sql.len() > WRITTEN_MAX {
        return no(Id::Depth, "", format!("its translation has more than {WRITTEN_MAX} bytes"));
    }
    written.map_err(|no| no.within(expr))
}

fn is_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Id(_) | Expr::Name(_) | Expr::Qualified(..) | Expr::DoublyQualified(..))
}

fn expr_here<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    let value = written(tr, expr, want)?;
    collations::collated(tr, expr, value)
}

fn written<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>, want: Ty) -> R<Val> {
    match expr {
        Expr::Literal(literal) => match tr.place.stored.iter().find(|(text, _)| std::ptr::eq(*text, expr)) {
            Some((_, number)) => Ok(tr.number(*number)),
            None => constant(tr, literal),
        },
        Expr::Id(_) | Expr::Name(_) | Expr::Qualified(..) | Expr::DoublyQualified(..) => named(tr, expr),
        Expr::Variable(name) => tr.placeholder(name, want),
        Expr::Parenthesized(inner) => match &inner[..] {
            [only] => {
                let start = tr.at();
                let mut value = tr.expr(only, want)?;
                tr.enclose(start, &mut value, Strength::Atom);
                Ok(value)
            }
            _ => no(Id::RowValues, "", "a row value stands where one value is wanted"),
        },
        Expr::Binary(left, op, right) => binary(tr, left, *op, right, want),
        Expr::Unary(op, inner) => unary(tr, *op, inner, want),
        Expr::Between { lhs, not, start, end } => compare::between(tr, lhs, *not, start, end),
        Expr::Case { base, when_then_pairs, else_expr } => {
            choices::case(tr, *base, when_then_pairs.iter().map(|(when, then)| (when, then)), *else_expr, want)
        }
        Expr::Cast { expr, type_name } => casts::cast(tr, expr, type_name.as_ref()),
        Expr::Collate(inner, name) => collations::with_collation(tr, inner, name),
        Expr::Exists(select) => exists(tr, select),
        Expr::Subquery(select) => scalar_subquery(tr, select),
        Expr::FunctionCall { name, distinctness, args, order_by, filter_over } => {
            let call = Call {
                token: name.0,
                distinct: *distinctness,
                args: args.unwrap_or_default(),
                order: order_by.as_ref(),
                tail: filter_over.as_ref(),
            };
            functions::call(tr, call, want)
        }
        Expr::FunctionCallStar { name, filter_over } => aggregates::call_star(tr, name.0, filter_over.as_ref()),
        Expr::InList { lhs, not, rhs } => membership::in_list(tr, lhs, *not, rhs.unwrap_or_default()),
        Expr::InSelect { lhs, not, rhs } => membership::in_select(tr, lhs, *not, rhs),
        Expr::InTable { lhs, not, rhs, args } => membership::in_table(tr, lhs, *not, rhs, args.is_some()),
        Expr::IsNull(inner) => compare::null_test(tr, inner, " IS NULL"),
        Expr::NotNull(inner) => compare::null_test(tr, inner, " IS NOT NULL"),
        Expr::Like { lhs, not, op: LikeOperator::Like, rhs, escape } => like::like(tr, lhs, *not, rhs, *escape),
        Expr::Like { lhs, not, op: LikeOperator::Glob, rhs, .. } => like::glob(tr, lhs, *not, rhs),
        Expr::Like { op: LikeOperator::Regexp, .. } => {
            no(Id::Regexp, "REGEXP", "the application defines what REGEXP does")
        }
        Expr::Like { op: LikeOperator::Match, .. } => {
            no(Id::VirtualTables, "MATCH", "full-text search is another engine's")
        }
        Expr::Raise(..) => no(Id::Triggers, "RAISE", "RAISE is for triggers"),
    }
}

/// A column name, optionally qualified with its table and schema.
fn named<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<Val> {
    match expr {
        Expr::Id(id) => identifier(tr, id.0),
        Expr::Name(name) => identifier(tr, name.0),
        Expr::Qualified(table, column) => qualified(tr, table.0, column.0),
        Expr::DoublyQualified(schema, ..) if !plain(schema.0).eq_ignore_ascii_case("main") => {
            no(Id::Schemas, schema.0, "only the schema `main` exists on the server")
        }
        Expr::DoublyQualified(_, table, column) => qualified(tr, table.0, column.0),
        _ => no(Id::Syntax, "", "a name of a form that is not understood"),
    }
}

/// Whether a query skips rows, and a part of it is SELECT DISTINCT.
fn skips_of_distinct(select: &Select) -> bool {
    let is_distinct =
        |part: &OneSelect| matches!(part, OneSelect::Select { distinctness: Some(Distinctness::Distinct), .. });
    let others = select.body.compounds.as_deref().unwrap_or_default().iter().map(|part| &part.select);
    select.limit.is_some_and(|limit| limit.offset.is_some())
        && std::iter::once(&select.body.select).chain(others).any(is_distinct)
}

fn exists<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>) -> R<Val> {
    if skips_of_distinct(select) {
        return no(Id::Limit, "OFFSET", "SQLite leaves DISTINCT out of EXISTS, so it skips other rows");
    }
    tr.put("EXISTS (");
    tr.subquery(select)?;
    tr.put(")");
    Ok(Val::of(Ty::Bool).never_null())
}

/// A query used as a value: its first row.
fn scalar_subquery<'a>(tr: &mut Tr<'a>, select: &'a Select<'a>) -> R<Val> {
    if tr.input.options.is_older() && skips_of_distinct(select) {
        return no(
            Id::Limit,
            "OFFSET",
            "older versions of SQLite return a row of SELECT DISTINCT that is to be skipped",
        );
    }
    tr.put("(");
    let columns = tr.subquery(select)?;
    if select.limit.is_none() && !one_row(select) {
        tr.fire(Id::FirstRow);
        tr.put(" LIMIT 1");
    }
    tr.put(")");
    match &columns[..] {
        [only] => Ok(Val { affinity: only.affinity, bytewise: only.bytewise, wordy: only.wordy, ..Val::of(only.ty) }),
        _ => no(Id::RowValues, "", "a subquery with several columns stands where one value is wanted"),
    }
}

fn constant<'a>(tr: &mut Tr<'a>, literal: &Literal<'a>) -> R<Val> {
    match literal {
        Literal::Numeric(text) => match number_literal(text) {
            Some(number) => Ok(tr.number(number)),
            None => no(Id::Literals, text, "a number of a form that is not understood"),
        },
        Literal::String(text) => {
            let text = plain(text);
            push_text(&mut tr.out.sql, &text);
            Ok(Val { wordy: number_in_text(&text).is_none(), ..Val::of(Ty::Text).never_null() })
        }
        Literal::Blob(hex) => {
            tr.fire(Id::Blobs);
            let digits = hex.trim_start_matches(['x', 'X']).trim_matches('\'');
            if tr.postgres {
                tr.put("'\\x");
                tr.put(digits);
                tr.put("'::bytea");
            } else {
                tr.put("x'");
                tr.put(digits);
                tr.put("'");
            }
            Ok(Val::of(Ty::Blob).never_null())
        }
        Literal::Null => {
            tr.put("NULL");
            Ok(Val::of(Ty::Null))
        }
        Literal::Keyword(word) => no(Id::Syntax, word, "a keyword stands where a value is wanted"),
        Literal::CurrentDate => Ok(current(tr, "YYYY-MM-DD", "%Y-%m-%d")),
        Literal::CurrentTime => Ok(current(tr, "HH24:MI:SS", "%H:%i:%s")),
        Literal::CurrentTimestamp => Ok(current(tr, "YYYY-MM-DD HH24:MI:SS", "%Y-%m-%d %H:%i:%s")),
    }
}

/// The current time as UTC text. On both servers it is constant during a statement.
fn current(tr: &mut Tr, postgres: &str, mariadb: &str) -> Val {
    tr.fire(Id::CurrentTime);
    if tr.postgres {
        tr.put("to_char(statement_timestamp() AT TIME ZONE 'UTC', '");
        tr.put(postgres);
    } else {
        tr.put("DATE_FORMAT(UTC_TIMESTAMP(), '");
        tr.put(mariadb);
    }
    tr.put("')");
    Val { wordy: true, ..Val::of(Ty::Text).never_null() }
}

/// A bare name: a column, else an alias of the select list, else TRUE and FALSE, else a text in double quotes.
fn identifier<'a>(tr: &mut Tr<'a>, token: &'a str) -> R<Val> {
    let name = plain(token);
    let quoted = token.starts_with('"');
    if let Some(both) = tr.known.mixed(&name) {
        tr.place.token = token;
        return joins::mixed_column(tr, both);
    }
    // The name of a result comes before a column of an outer query.
    let found = tr.find(None, &name)?;
    let found = found.filter(|found| found.scope + 1 == tr.known.scopes.len() || tr.known.alias(&name).is_none());
    if let Some(found) = found {
        let upsert = tr.place.upsert.is_some();
        tr.place.token = token;
        return columns::write_column(tr, &found, upsert);
    }
    if let Some((_, expr)) = tr.known.alias(&name) {
        tr.fire(Id::AliasInExpression);
        let results = std::mem::take(&mut tr.known.scopes.last_mut().expect("a scope with results").results);
        let start = tr.at();
        let value = tr.expr(expr, Ty::Any);
        tr.known.scopes.last_mut().expect("the same scope").results = results;
        let mut value = value?;
        tr.enclose(start, &mut value, Strength::Atom);
        return Ok(value);
    }
    if !token.starts_with(['"', '[', '`']) {
        for (word, number) in [("true", 1), ("false", 0)] {
            if name.eq_ignore_ascii_case(word) {
                tr.fire(Id::Booleans);
                return Ok(tr.number(Number::Int(number)));
            }
        }
    }
    if quoted && tr.known.is_outer_alias(&name) {
        return no(Id::AliasInExpression, token, "the name of a result of an outer query");
    }
    if quoted {
        tr.fire(Id::DoubleQuotedText);
        push_text(&mut tr.out.sql, &name);
        return Ok(Val::of(Ty::Text).never_null());
    }
    no(Id::UnknownColumn, token, format!("no table here has a column `{name}`"))
}

fn qualified<'a>(tr: &mut Tr<'a>, table: &'a str, column: &'a str) -> R<Val> {
    let (table_name, column_name) = (plain(table), plain(column));
    if let Some(target) = tr.place.upsert
        && table_name.eq_ignore_ascii_case("excluded")
    {
        return upsert::excluded(tr, target, &column_name);
    }
    match tr.find(Some(&table_name), &column_name)? {
        Some(found) => {
            tr.place.token = column;
            columns::write_column(tr, &found, true)
        }
        None => no(Id::UnknownColumn, column, format!("no table here has a column `{table_name}.{column_name}`")),
    }
}

fn binary<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>, want: Ty) -> R<Val> {
    match op {
        Operator::And | Operator::Or => logical(tr, left, op, right),
        Operator::Concat => arithmetic::concat(tr, left, right),
        Operator::ArrowRight | Operator::ArrowRightShift => json_paths::arrow(tr, left, op, right),
        op if crate::rules::arithmetic::is_arithmetic(op) => arithmetic::arithmetic(tr, left, op, right, want),
        Operator::BitwiseAnd | Operator::BitwiseOr | Operator::LeftShift | Operator::RightShift => {
            arithmetic::bits(tr, left, op, right)
        }
        _ => compare::compare(tr, left, op, right),
    }
}

/// AND and OR. Chains are written without nesting, so that a long one is not deep.
fn logical<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    let mut terms = vec![right];
    let mut first = left;
    while let Expr::Binary(l, o, r) = first
        && *o == op
    {
        terms.push(r);
        first = l;
    }
    let (word, strength) = match op {
        Operator::And => (" AND ", Strength::And),
        _ => (" OR ", Strength::Or),
    };
    let mut nullable = false;
    terms.push(first);
    if op == Operator::And && terms.iter().any(|term| is_false(term)) && terms.iter().any(|term| has_aggregate(term)) {
        return no(Id::Aggregates, "AND", "an aggregate next to what is never true: versions of SQLite leave it out");
    }
    let others = if op == Operator::Or { terms.clone() } else { vec![] };
    let mut write = |tr: &mut Tr<'a>, term: &'a Expr<'a>| -> R<()> {
        let start = tr.at();
        if json::valid_unless_null(tr, term, &others)? {
            nullable = true;
            return Ok(());
        }
        let mut value = tr.condition(term)?;
        nullable |= value.nullable;
        tr.enclose(start, &mut value, strength);
        Ok(())
    };
    for (number, term) in terms.into_iter().rev().enumerate() {
        tr.put(if number > 0 { word } else { "" });
        write(tr, term)?;
    }
    Ok(Val { nullable, ..Val::of(Ty::Bool).with(strength) })
}

fn unary<'a>(tr: &mut Tr<'a>, op: UnaryOperator, inner: &'a Expr<'a>, want: Ty) -> R<Val> {
    let start = tr.at();
    match op {
        UnaryOperator::Not => {
            tr.put("NOT ");
            let inner_start = tr.at();
            let mut value = tr.condition(inner)?;
            // Parentheses, for MariaDB under HIGH_NOT_PRECEDENCE and for readers.
            tr.enclose(inner_start, &mut value, Strength::Atom);
            Ok(Val { nullable: value.nullable, ..Val::of(Ty::Bool).with(Strength::Not) })
        }
        UnaryOperator::Negative => {
            if let Expr::Literal(Literal::Numeric("9223372036854775808")) = bare(inner) {
                return Ok(tr.number(Number::Int(i64::MIN)));
            }
            let value = arithmetic::arithmetic_operand(tr, inner, if want.numeric() { want } else { Ty::Int })?;
            if matches!(value.ty, Ty::Tagged | Ty::Number) {
                let (l, end) = (Val::of(Ty::Int), start + 1);
                tr.out.sql.insert(start, '0');
                return tagged::arithmetic(
                    tr,
                    Operator::Subtract,
                    Sides { start, left_end: end, right_start: end, l, r: value },
                );
            }
            tr.wrap(start, "-(", ")");
            Ok(Val { narrow: value.narrow, nullable: value.nullable, ..Val::of(value.ty).with(Strength::Operator) })
        }
        UnaryOperator::Positive => {
            // Unary plus: the operand is no longer a column, so it has no affinity.
            let value = tr.expr(inner, want)?;
            Ok(Val { affinity: Affinity::None, ..value })
        }
        UnaryOperator::BitwiseNot => {
            let value = arithmetic::numeric_operand(tr, inner, Ty::Int)?;
            if value.ty != Ty::Int {
                return no(Id::Bits, "~", "only integers have bits");
            }
            tr.fire(Id::Bits);
            if tr.postgres {
                tr.wrap(start, "~(", if value.narrow { ")::bigint" } else { ")" });
            } else {
                tr.wrap(start, "CAST(~(", ") AS SIGNED)");
            }
            Ok(Val { nullable: value.nullable, ..Val::of(Ty::Int).with(Strength::Operator) })
        }
    }
}

/// Whether a query has at most one row, because it is an aggregate over all rows.
fn one_row(select: &crate::parse::tree::Select) -> bool {
    use crate::parse::tree::{OneSelect, ResultColumn};
    let aggregate = |column: &ResultColumn| match column {
        ResultColumn::Expr(Expr::FunctionCallStar { filter_over, .. }, _) => filter_over.is_none(),
        ResultColumn::Expr(Expr::FunctionCall { name, args: Some([_]), filter_over: None, .. }, _) => {
            ["count", "sum", "total", "avg", "min", "max"].iter().any(|n| name.0.eq_ignore_ascii_case(n))
        }
        _ => false,
    };
    match &select.body.select {
        OneSelect::Select { columns, group_by: None, .. } => {
            select.body.compounds.is_none() && columns.iter().any(aggregate)
        }
        _ => false,
    }
}
