//! SQLite's mathematical functions. What is no number, and what is outside of a function's domain, makes the result NULL.

use crate::emit::{Tr, plain};
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::literals::bare;
use crate::rules::{Id, tagged};
use crate::types::{Number, Strength, Ty, Val, number_in_text};

/// A function of doubles: name, number of arguments, what is written before the arguments on PostgreSQL and on MariaDB,
/// whether every library returns the same double. The functions of the pack return NULL outside of the domain, and
/// infinity or 0 where PostgreSQL reports an error.
const OF_DOUBLES: &[(&str, usize, &str, &str, bool)] = &[
    ("acos", 1, "contend_sql.acos(", "ACOS(", false),
    ("asin", 1, "contend_sql.asin(", "ASIN(", false),
    ("atan", 1, "atan(", "ATAN(", false),
    ("atan2", 2, "atan2(", "ATAN2(", false),
    ("cos", 1, "contend_sql.cos(", "COS(", false),
    ("degrees", 1, "(57.29577951308232::float8 * ", "(57.29577951308232e0 * ", true),
    ("exp", 1, "contend_sql.exp(", "EXP(", false),
    ("ln", 1, "contend_sql.ln(", "LN(", false),
    ("log", 1, "contend_sql.log10(", "LOG10(", false),
    ("log", 2, "contend_sql.log(", "contend_sql.log(", false),
    ("log10", 1, "contend_sql.log10(", "LOG10(", false),
    ("mod", 2, "contend_sql.fmod(", "MOD(", true),
    ("pow", 2, "contend_sql.power(", "contend_sql.power(", false),
    ("power", 2, "contend_sql.power(", "contend_sql.power(", false),
    ("radians", 1, "(0.017453292519943295::float8 * ", "(0.017453292519943295e0 * ", true),
    ("sin", 1, "contend_sql.sin(", "SIN(", false),
    ("sqrt", 1, "contend_sql.sqrt(", "SQRT(", true),
    ("tan", 1, "contend_sql.tan(", "TAN(", false),
];

/// Writes a mathematical function; `None` for other names.
pub(crate) fn function<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, args: &'a [Expr<'a>]) -> R<Option<Val>> {
    match (name, args) {
        ("pi", []) => {
            tr.fire(Id::Functions);
            return Ok(Some(tr.number(Number::Real(std::f64::consts::PI))));
        }
        ("ceil" | "ceiling" | "floor" | "trunc", [one]) => return whole(tr, name, token, one).map(Some),
        _ => {}
    }
    let known = OF_DOUBLES.iter().find(|(known, count, ..)| *known == name && *count == args.len());
    let Some((_, _, postgres, mariadb, is_exact)) = known else { return Ok(None) };
    if (if tr.postgres { postgres } else { mariadb }).starts_with("contend_sql.") && !tr.input.options.pack {
        return no(Id::Mathematics, token, format!("{name}() needs the function pack"));
    }
    if let ("log", [_, of]) = (name, args)
        && matches!(tr.probe_value(of)?.ty, Ty::Text | Ty::Tagged)
    {
        return no(
            Id::Mathematics,
            token,
            "a text as second argument, of which SQLite takes the number it begins with",
        );
    }
    tr.fire(if *is_exact { Id::Functions } else { Id::Mathematics });
    tr.either(postgres, mariadb);
    tr.list(args, |tr, arg| double(tr, token, arg).map(drop))?;
    tr.put(")");
    Ok(Some(Val::of(Ty::Real)))
}

/// Writes an argument as a double; NULL if it is no number.
pub(crate) fn double<'a>(tr: &mut Tr<'a>, token: &str, arg: &'a Expr<'a>) -> R<Val> {
    let start = tr.at();
    if let Expr::Literal(Literal::String(text)) = bare(arg) {
        tr.fire(Id::TextAsNumber);
        match number_in_text(&plain(text)) {
            Some(Number::Int(n)) => drop(tr.number(Number::Real(n as f64))),
            Some(number) => drop(tr.number(number)),
            None => tr.either("NULL::float8", "NULL"),
        }
        return Ok(Val::of(Ty::Real));
    }
    let mut value = tr.value(arg, hint(tr, arg))?;
    tr.enclose(start, &mut value, Strength::Atom);
    match value.ty {
        Ty::Real => {}
        Ty::Int | Ty::Number | Ty::Null if tr.postgres => tr.wrap(start, "(", ")::float8"),
        Ty::Int | Ty::Number => tr.wrap(start, "(", " * 1e0)"),
        Ty::Null => {}
        Ty::Text if tr.input.options.pack => {
            tr.fire(Id::TextAsNumber);
            tr.wrap(start, "contend_sql.number(", if tr.postgres { ")::float8" } else { ")" });
        }
        Ty::Tagged => tr.wrap(start, "contend_sql.tagged_double(", ")"),
        Ty::Param => {
            return no(Id::Parameters, token, "nothing here gives the parameter a type; write CAST(? AS REAL)");
        }
        other => return no(Id::Mathematics, token, format!("a mathematical function of {}", other.word())),
    }
    Ok(Val { nullable: value.nullable || matches!(value.ty, Ty::Text | Ty::Tagged), ..Val::of(Ty::Real) })
}

/// A bound value keeps its type.
fn hint<'a>(tr: &Tr<'a>, arg: &Expr<'a>) -> Ty {
    match bare(arg) {
        Expr::Variable(name) if tr.bound(name).is_some() => Ty::Any,
        _ => Ty::Real,
    }
}

/// ceil(), floor() and trunc(): an integer stays one, a real stays a real.
fn whole<'a>(tr: &mut Tr<'a>, name: &str, token: &'a str, arg: &'a Expr<'a>) -> R<Val> {
    tr.fire(Id::Functions);
    let start = tr.at();
    let value = tr.value(arg, hint(tr, arg))?;
    let (postgres, mariadb) = match name {
        "floor" => (("floor(", ")"), ("(FLOOR(", ") * 1e0)")),
        "trunc" => (("trunc(", ")"), ("(TRUNCATE(", ", 0) * 1e0)")),
        _ => (("ceil(", ")"), ("(CEILING(", ") * 1e0)")),
    };
    match value.ty {
        Ty::Int => {
            tr.wrap(start, "(", ")");
            return Ok(Val { narrow: value.narrow, nullable: value.nullable, ..Val::of(Ty::Int) });
        }
        Ty::Real => {
            // MariaDB gives its own result a column of 17 digits where it stores it; a product has any double.
            let (before, after) = if tr.postgres { postgres } else { mariadb };
            tr.wrap(start, before, after);
            return Ok(Val { nullable: value.nullable, ..Val::of(Ty::Real) });
        }
        Ty::Null => return Ok(value),
        Ty::Number | Ty::Text | Ty::Tagged if tr.input.options.pack => {}
        Ty::Param => {
            return no(Id::Parameters, token, "nothing here gives the parameter a type; write CAST(? AS REAL)");
        }
        other => return no(Id::Mathematics, token, format!("{name}() of {}", other.word())),
    }
    let number = tagged::tagged(tr, start, value)?;
    tr.wrap(start, &format!("contend_sql.tagged_whole('{}', ", postgres.0.trim_end_matches('(')), ")");
    Ok(Val { nullable: true, strength: Strength::Atom, ..Val::of(number.ty) })
}
