//! SQLite's mathematical functions, which the SQLite of the workspace is built without.

use contend_sql::{Number, number_in_text};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

type OfOne = (&'static str, fn(f64) -> f64);
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// The number that an argument is under numeric affinity.
fn number(context: &Context<'_>, place: usize) -> Option<Number> {
    match context.get_raw(place) {
        ValueRef::Integer(n) => Some(Number::Int(n)),
        ValueRef::Real(n) => Some(Number::Real(n)),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(number_in_text),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn double(context: &Context<'_>, place: usize) -> Option<f64> {
    number(context, place).map(|number| match number {
        Number::Int(n) => n as f64,
        Number::Real(n) => n,
    })
}

fn define(db: &Connection, name: &str, count: i32, call: impl Fn(&Context<'_>) -> Option<Value> + Send + 'static) {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let defined = db.create_scalar_function(name, count, flags, move |context| -> Result<_> { Ok(call(context)) });
    defined.unwrap_or_else(|e| panic!("{name}: {e}"));
}

/// Reals that are no number are NULL.
fn real(n: f64) -> Option<Value> {
    (!n.is_nan()).then_some(Value::Real(n))
}

fn logarithm(base: f64, x: f64) -> Option<f64> {
    (base > 0.0 && base.ln() > 0.0 && x > 0.0).then(|| x.ln() / base.ln())
}

pub fn add(db: &Connection) {
    let of_one: [OfOne; 14] = [
        ("acos", f64::acos),
        ("asin", f64::asin),
        ("atan", f64::atan),
        ("cos", f64::cos),
        ("degrees", |x| x * (180.0 / std::f64::consts::PI)),
        ("exp", f64::exp),
        ("ln", |x| if x > 0.0 { x.ln() } else { f64::NAN }),
        ("log", |x| if x > 0.0 { x.log10() } else { f64::NAN }),
        ("log10", |x| if x > 0.0 { x.log10() } else { f64::NAN }),
        ("radians", |x| x * (std::f64::consts::PI / 180.0)),
        ("sin", f64::sin),
        ("sqrt", f64::sqrt),
        ("tan", f64::tan),
        ("pi", |_| std::f64::consts::PI),
    ];
    for (name, of) in of_one {
        match name {
            "pi" => define(db, name, 0, move |_| real(of(0.0))),
            _ => define(db, name, 1, move |context| real(of(double(context, 0)?))),
        }
    }
    let of_two: [OfTwo; 5] = [
        ("atan2", f64::atan2),
        ("log", |base, x| logarithm(base, x).unwrap_or(f64::NAN)),
        ("mod", |x, y| x % y),
        ("pow", f64::powf),
        ("power", f64::powf),
    ];
    for (name, of) in of_two {
        define(db, name, 2, move |context| real(of(double(context, 0)?, double(context, 1)?)));
    }
    let of_whole: [OfOne; 4] =
        [("ceil", f64::ceil), ("ceiling", f64::ceil), ("floor", f64::floor), ("trunc", f64::trunc)];
    for (name, of) in of_whole {
        define(db, name, 1, move |context| match number(context, 0)? {
            Number::Int(n) => Some(Value::Integer(n)),
            Number::Real(n) => real(of(n)),
        });
    }
}
