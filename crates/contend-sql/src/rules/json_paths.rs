//! Functions that read JSON, by the function pack. Each step of a literal path is a call.

use crate::catalogue::{Column, output};
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal, Operator};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, arithmetic, tagged};
use crate::types::{Affinity, Number, Ty, Val};

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    /// Counted from the end if negative.
    Element(i64),
}

/// A path: its steps, `None` if they are of another form, or an expression whose value is read on the server.
enum Path<'a> {
    Steps(Option<Vec<Step>>),
    Value(&'a Expr<'a>),
}

/// The steps of a path that begins with `$`; `None` if it has another form.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = vec![];
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix(".\"") {
            let (name, after) = quoted.split_once('"')?;
            steps.push(member(name)?);
            rest = after;
        } else if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            steps.push(member(&named[..end]).filter(|_| end > 0)?);
            rest = &named[end..];
        } else {
            let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
            let (digits, sign) = match inner.strip_prefix("#-") {
                Some(digits) => (digits, -1),
                None => (inner, 1),
            };
            let number =
                Some(digits).filter(|d| !d.is_empty() && d.len() < 10 && d.bytes().all(|b| b.is_ascii_digit()));
            let number: i64 = number?.parse().ok()?;
            // Nothing is behind the last element.
            steps.push(if sign < 0 && number == 0 { return None } else { Step::Element(sign * number) });
            rest = after;
        }
    }
    Some(steps)
}

/// A label without the characters that are escaped in JSON, for which versions of SQLite differ.
fn member(name: &str) -> Option<Step> {
    let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    name.chars().all(is_plain).then(|| Step::Member(name.to_string()))
}

/// The steps of the right side of `->`: a path, a label or a place.
fn short_steps(path: &Expr) -> Option<Vec<Step>> {
    if let Some(number) = literal_number(path) {
        return match number {
            Number::Int(n) if n.unsigned_abs() < 1_000_000_000 => Some(vec![Step::Element(n)]),
            _ => None,
        };
    }
    let Expr::Literal(Literal::String(text)) = bare(path) else { return None };
    let text = plain(text);
    match &*text {
        path if path.starts_with('$') => steps(path),
        place if place.starts_with('[') => None,
        label => member(label).map(|step| vec![step]),
    }
}

fn path<'a>(path: &'a Expr<'a>) -> Path<'a> {
    match bare(path) {
        Expr::Literal(Literal::String(text)) => Path::Steps(steps(&plain(text))),
        Expr::Literal(_) => Path::Steps(None),
        _ => Path::Value(path),
    }
}

/// Writes the part of a JSON text that a path finds, as the pack's functions take it.
fn part<'a>(tr: &mut Tr<'a>, token: &str, text: &'a Expr<'a>, path: Path<'a>) -> R<()> {
    if !tr.input.options.pack {
        return no(Id::JsonPaths, token, "JSON is read by the function pack only");
    }
    let (steps, value) = match path {
        Path::Steps(Some(steps)) => (steps, None),
        Path::Steps(None) if token.starts_with("->") => {
            return no(
                Id::JsonPaths,
                token,
                "right of it only a literal label or place is translated; use json_extract()",
            );
        }
        Path::Steps(None) => return no(Id::JsonPaths, token, "a path that is not one of labels and places"),
        Path::Value(value) => (vec![], Some(value)),
    };
    let from_end = steps.iter().any(|step| matches!(step, Step::Element(..0)));
    if from_end && token.starts_with("->") && tr.input.options.is_older() {
        return no(Id::JsonPaths, token, "a place from the end, which older versions of SQLite do not count");
    }
    tr.fire(Id::JsonPaths);
    let start = tr.at();
    if tr.probe_value(text)?.ty == Ty::Blob {
        return no(Id::JsonPaths, token, "a blob as JSON");
    }
    arithmetic::text_operand(tr, text)?;
    tr.wrap(start, "contend_sql.json_root(", ")");
    for step in steps {
        match step {
            Step::Member(name) => {
                tr.wrap(start, "contend_sql.json_member(", ", ");
                push_text(&mut tr.out.sql, &name);
            }
            Step::Element(n) => {
                tr.wrap(start, "contend_sql.json_element(", ", ");
                tr.put(&n.to_string());
            }
        }
        tr.put(")");
    }
    value.map_or(Ok(()), |value| at(tr, token, start, value))
}

/// Finds a part by a path that is no literal, in the JSON written since `start`.
fn at<'a>(tr: &mut Tr<'a>, token: &str, start: usize, path: &'a Expr<'a>) -> R<()> {
    tr.wrap(start, "contend_sql.json_at(", ", ");
    let value = tr.value(path, Ty::Text)?;
    if !matches!(value.ty, Ty::Text | Ty::Null) {
        return no(Id::JsonPaths, token, format!("a path that is {}", value.ty.word()));
    }
    tr.put(")");
    Ok(())
}

/// `->` and `->>`.
pub(crate) fn arrow<'a>(tr: &mut Tr<'a>, left: &'a Expr<'a>, op: Operator, right: &'a Expr<'a>) -> R<Val> {
    let as_json = op == Operator::ArrowRight;
    let start = tr.at();
    part(tr, if as_json { "->" } else { "->>" }, left, Path::Steps(short_steps(right)))?;
    Ok(read(tr, start, as_json))
}

/// Makes the part written since `start` JSON text, or the value that it is.
fn read(tr: &mut Tr, start: usize, as_json: bool) -> Val {
    if as_json {
        tr.wrap(start, "contend_sql.json_text(", ")");
        return Val::of(Ty::Text);
    }
    tr.wrap(start, "contend_sql.json_tagged(", ")");
    tagged::result(tr)
}

/// A function that reads JSON; `None` for other names.
pub(crate) fn reader<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    let start = tr.at();
    let (text, path) = match args {
        [text] => (text, Path::Steps(Some(vec![]))),
        [text, of] => (text, path(of)),
        _ => return Ok(None),
    };
    let (function, ty) = match (name, args.len()) {
        ("json_extract", 2) => {
            part(tr, token, text, path)?;
            return Ok(Some(read(tr, start, false)));
        }
        ("json", 1) => ("contend_sql.json_text(", Ty::Text),
        ("json_type", _) => ("contend_sql.json_kind(", Ty::Text),
        ("json_array_length", _) => ("contend_sql.json_length(", Ty::Int),
        _ => return Ok(None),
    };
    part(tr, token, text, path)?;
    tr.wrap(start, function, ")");
    Ok(Some(Val::of(ty)))
}

/// Writes json_extract() of one path inside of JSON: an object or an array stays one. Returns whether it is that.
pub(crate) fn extracted<'a>(tr: &mut Tr<'a>, expr: &'a Expr<'a>) -> R<bool> {
    match bare(expr) {
        Expr::FunctionCall { name, args: Some([text, of]), distinctness: None, order_by: None, filter_over: None }
            if plain(name.0).eq_ignore_ascii_case("json_extract") =>
        {
            let start = tr.at();
            part(tr, name.0, text, path(of))?;
            tr.wrap(start, "contend_sql.json_quoted(", ")");
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Columns of json_each() that the function pack does not have.
pub(crate) const EACH_HIDDEN: &[&str] = &["id", "parent", "fullkey", "path", "json", "root"];

/// The columns of json_each() that have a counterpart.
pub(crate) fn each_columns() -> Vec<Column> {
    let column = |name: &str, ty| output(name.to_string(), Val { affinity: Affinity::Blob, ..Val::of(ty) });
    vec![column("key", Ty::Tagged), column("value", Ty::Tagged), column("type", Ty::Text), column("atom", Ty::Tagged)]
}

/// Writes json_each() as a table in FROM, without its name.
pub(crate) fn each<'a>(tr: &mut Tr<'a>, token: &str, args: &'a [Expr<'a>]) -> R<()> {
    let (text, path) = match args {
        [text] => (text, Path::Steps(Some(vec![]))),
        [text, of] => (text, path(of)),
        _ => return no(Id::TableFunctions, token, "json_each() takes a text and a path"),
    };
    let start = tr.at();
    part(tr, token, text, path)?;
    tr.wrap(start, "contend_sql.json_items(", ")");
    if !tr.postgres {
        let columns = [("key", "k"), ("value", "v"), ("type", "t"), ("atom", "a")];
        let column = |(name, path): (&str, &str)| {
            format!("\"{name}\" LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.{path}'")
        };
        let list = columns.map(column).join(", ");
        tr.wrap(start, "JSON_TABLE(", &format!(", '$[*]' COLUMNS ({list}))"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_sqlite_reads_them() {
        let member = |name: &str| Step::Member(name.to_string());
        assert_eq!(steps("$"), Some(vec![]));
        assert_eq!(
            steps("$.a.b-c[0][#-2]"),
            Some(vec![member("a"), member("b-c"), Step::Element(0), Step::Element(-2)])
        );
        assert_eq!(steps("$.\"a.b [x\".*"), Some(vec![member("a.b [x"), member("*")]));
        for other in
            ["", "a", "$a", "$.", "$..a", "$[", "$[x]", "$[-1]", "$[#]", "$[#-0]", "$.\"a", "$.\"a\\n\"", "$[1"]
        {
            assert_eq!(steps(other), None, "{other}");
        }
    }
}
