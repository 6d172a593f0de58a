//! Functions that create JSON, and json_valid().

use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal, OneSelect, Operator, ResultColumn};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::{Id, arithmetic, choices, json_paths};
use crate::types::{Ty, Val};

/// The argument, if an expression is json_valid() of one.
fn validated<'a>(expr: &'a Expr<'a>) -> Option<(&'a str, &'a Expr<'a>)> {
    match bare(expr) {
        Expr::FunctionCall { name, args: Some([one]), distinctness: None, order_by: None, filter_over: None }
            if plain(name.0).eq_ignore_ascii_case("json_valid") =>
        {
            Some((name.0, one))
        }
        _ => None,
    }
}

/// Writes json_valid() that stands in an OR with a test of its argument for NULL. Returns whether it is one.
pub(crate) fn valid_unless_null<'a>(tr: &mut Tr<'a>, term: &'a Expr<'a>, others: &[&'a Expr<'a>]) -> R<bool> {
    let Some((token, one)) = validated(term) else { return Ok(false) };
    let tests_it = |other: &&Expr<'a>| match bare(other) {
        Expr::IsNull(tested) => bare(tested) == bare(one),
        Expr::Binary(tested, Operator::Is, null) => {
            matches!(bare(null), Expr::Literal(Literal::Null)) && bare(tested) == bare(one)
        }
        _ => false,
    };
    if !others.iter().any(tests_it) {
        return Ok(false);
    }
    valid(tr, token, one).map(|_| true)
}

/// Writes json_valid(). Its value is nullable where it is not known: SQLite 3.40 returns 0 for NULL, later ones NULL.
fn valid<'a>(tr: &mut Tr<'a>, token: &str, one: &'a Expr<'a>) -> R<Val> {
    let is_inline = tr.place.check && !tr.postgres;
    if !tr.input.options.pack && !is_inline {
        return no(Id::JsonPaths, token, "json_valid() needs the function pack");
    }
    let start = tr.at();
    let value = tr.value(one, Ty::Text)?;
    if value.ty != Ty::Text {
        return no(Id::JsonPaths, token, "json_valid() of a value that is not a text");
    }
    if is_inline {
        // No function of a database can be there. What the pack's refuses violates it: JSON that is more than 31 deep.
        let x = tr.out.sql.split_off(start);
        let slash = "CHAR(92, 92 USING utf8mb4)";
        tr.put(&format!(
            "(JSON_VALID({x}) AND (LOCATE(CHAR(92 USING utf8mb4), {x}) = 0 OR REPLACE({x}, {slash}, '') \
             NOT REGEXP CONCAT({slash}, '([^\"/bfnrtu]|u(?![0-9A-Fa-f]{{4}}))')))"
        ));
    } else {
        tr.wrap(start, "contend_sql.json_valid(", ")");
    }
    tr.fire(Id::Json);
    Ok(Val { nullable: value.nullable, ..Val::of(Ty::Bool) })
}

/// A JSON function, if the name is one's that makes JSON.
pub(crate) fn json_function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    match (name, args) {
        ("json_array", _) => {
            open_concat(tr);
            tr.put("'['");
            for (i, arg) in args.iter().enumerate() {
                tr.put(if i > 0 { ", ','" } else { "" });
                tr.put(", ");
                json_value(tr, token, arg)?;
            }
            tr.put(", ']')");
        }
        ("json_object", _) if args.len().is_multiple_of(2) => {
            open_concat(tr);
            tr.put("'{'");
            for (i, pair) in args.chunks(2).enumerate() {
                tr.put(if i > 0 { ", ','" } else { "" });
                tr.put(", ");
                if tr.probe(&pair[0])?.ty != Ty::Text {
                    return no(Id::Json, token, "a label that is not a text");
                }
                json_value(tr, token, &pair[0])?;
                tr.put(", ':', ");
                json_value(tr, token, &pair[1])?;
            }
            tr.put(", '}')");
        }
        ("json_quote", [one]) => {
            json_value(tr, token, one)?;
        }
        ("json_valid", [one]) => {
            let value = valid(tr, token, one)?;
            if value.nullable {
                return no(Id::JsonPaths, token, "json_valid() of NULL, which versions of SQLite answer differently");
            }
            return Ok(Some(value));
        }
        _ => match json_paths::reader(tr, name, token, args)? {
            None => {
                return no(Id::JsonPaths, token, format!("{name}() with {} arguments has no translation", args.len()));
            }
            read => return Ok(read),
        },
    }
    tr.fire(Id::Json);
    Ok(Some(Val::of(Ty::Text).never_null()))
}

fn open_concat(tr: &mut Tr) {
    tr.put("CONCAT(");
}

/// The functions whose result is JSON, which is not quoted inside of other JSON.
const MAKERS: [&str; 6] = ["json", "json_array", "json_object", "json_quote", "json_group_array", "json_group_object"];

/// Whether the result of an expression is JSON, which is not quoted inside of other JSON.
fn makes_json(expr: &Expr) -> bool {
    match expr {
        Expr::FunctionCall { name, .. } => MAKERS.contains(&&*plain(name.0).to_ascii_lowercase()),
        Expr::Binary(_, Operator::ArrowRight, _) => true,
        _ => false,
    }
}

/// Whether it may be one of its parts that makes JSON: CASE and such functions pass it on.
fn passes_json(expr: &Expr, depth: usize) -> bool {
    const PASS: [&str; 5] = ["coalesce", "ifnull", "iif", "if", "nullif"];
    let of = |expr: &Expr| depth < 16 && (makes_json(bare(expr)) || passes_json(expr, depth + 1));
    match bare(expr) {
        Expr::Case { when_then_pairs, else_expr, .. } => {
            when_then_pairs.iter().any(|(_, then)| of(then)) || else_expr.is_some_and(of)
        }
        Expr::FunctionCall { name, args: Some(args), .. } if PASS.contains(&&*plain(name.0).to_ascii_lowercase()) => {
            args.iter().any(of)
        }
        Expr::Subquery(select) => match &select.body.select {
            OneSelect::Select { columns, .. } => {
                columns.iter().any(|column| matches!(column, ResultColumn::Expr(expr, _) if of(expr)))
            }
            OneSelect::Values(_) => true,
        },
        Expr::Collate(inner, _) => of(inner),
        _ => false,
    }
}

/// Writes a value as JSON text. The result of a JSON function is JSON already.
pub(crate) fn json_value<'a>(tr: &mut Tr<'a>, token: &str, expr: &'a Expr<'a>) -> R<()> {
    if json_paths::extracted(tr, expr)? {
        return Ok(());
    }
    let made = makes_json(bare(expr));
    if !made && passes_json(expr, 0) {
        if let Expr::Case { base, when_then_pairs, else_expr } = bare(expr) {
            let pairs = when_then_pairs.iter().map(|(when, then)| (when, then));
            let start = tr.at();
            choices::branches_of(tr, *base, (pairs, *else_expr), |tr, then| json_value(tr, token, then))?;
            if else_expr.is_none() {
                tr.wrap(start, "COALESCE(", ", 'null')");
            }
            return Ok(());
        }
        return no(Id::Json, token, "JSON that an expression between two functions passes on");
    }
    let start = tr.at();
    let value = tr.value(expr, Ty::Text)?;
    match (value.ty, tr.postgres) {
        (Ty::Text, _) if made => {}
        (Ty::Int, true) => tr.wrap(start, "(", ")::text"),
        (Ty::Int, false) => tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1),
        (Ty::Text, true) => tr.wrap(start, "to_json((", ")::text)::text"),
        (Ty::Text, false) => tr.wrap(start, "(JSON_QUOTE(", ") COLLATE utf8mb4_nopad_bin)"),
        (Ty::Null, true) => tr.put("::text"),
        (Ty::Null, false) => {}
        (Ty::Real, _) if tr.input.options.pack => arithmetic::real_text(tr, start),
        (other, _) => return no(Id::Json, token, format!("{} as JSON", other.word())),
    }
    if value.nullable {
        tr.wrap(start, "COALESCE(", ", 'null')");
    }
    Ok(())
}
