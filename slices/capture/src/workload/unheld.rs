//! Columns with values that a server's column of the declared type cannot hold: SQLite's columns hold values of any type. The
//! servers have no place in a study then.

use crate::trace::Value;
use contend::workload::Workload;
use contend_interpose::format::value;
use contend_interpose::hash::whole;
use contend_sql::{Catalogue, HeldColumn, ParamType, ValueCounts, table_columns};

/// The types of columns on a server.
pub struct Types(Catalogue);

impl Types {
    pub fn of<'d>(ddl: impl Iterator<Item = &'d String>) -> Types {
        let mut catalogue = Catalogue::default();
        ddl.for_each(|ddl| drop(catalogue.learn_what_can_be(ddl)));
        Types(catalogue)
    }

    /// The type of a column; `None` if it is not known.
    fn holds(&self, table: &str, column: &str) -> Option<ParamType> {
        let all = table_columns(&self.0, table).unwrap_or_default();
        let is_it = |held: &&HeldColumn| held.name.eq_ignore_ascii_case(column);
        Some(all.iter().find(is_it)?.holds)
    }

    /// Why a column does not hold the values that a statement stores; `None` if it does. SQLite converts most values to the declared
    /// type, but no real with a fraction to an integer.
    pub fn of_stored(&self, (table, column): (&str, &str), values: &[&Value]) -> Option<String> {
        let is_real = |value: &&Value| match value {
            Value::Real(number) => number.fract() != 0.0,
            Value::Hash(kind, ..) => *kind == value::REAL,
            _ => false,
        };
        let stores = self.holds(table, column) == Some(ParamType::Integer) && values.iter().any(is_real);
        stores.then(|| sentence((table, column), "reals"))
    }
}

/// The first column of a workload whose generated values are of a type that it does not hold. Rows from a file fit.
pub fn of_rows(workload: &Workload) -> Option<String> {
    let types = Types::of(workload.tables.iter().map(|table| &table.ddl));
    let drawn = workload.tables.iter().filter(|table| table.content.is_none());
    let columns = drawn.flat_map(|table| table.columns.0.iter().map(move |field| (table, field)));
    columns.into_iter().find_map(|(table, field)| {
        let counts = field.generator.types();
        let holds = types.holds(&table.name, &field.name)?;
        (!holds.holds_all(counts)).then(|| sentence((&table.name, &field.name), &kinds(counts)))
    })
}

/// Reals as integers, if none of them has a fraction: some drivers bind all numbers as reals.
pub fn without_fractions(values: &[&Value]) -> Option<Vec<Value>> {
    let integer = |value: &&Value| match value {
        Value::Real(real) => whole(*real).map(Value::Integer),
        other => Some((*other).clone()),
    };
    let has_reals = values.iter().any(|value| matches!(value, Value::Real(_)));
    if has_reals { values.iter().map(integer).collect() } else { None }
}

fn kinds(counts: ValueCounts) -> String {
    let ValueCounts { integers, reals, texts, blobs } = counts;
    let all = [(integers, "integers"), (reals, "reals"), (texts, "texts"), (blobs, "blobs")];
    let seen: Vec<&str> = all.iter().filter(|(count, _)| *count > 0).map(|(_, kind)| *kind).collect();
    seen.join(" and ")
}

fn sentence((table, column): (&str, &str), kinds: &str) -> String {
    format!(
        "{table}.{column} gets {kinds}, which a server's column of its declared type cannot hold. Declare another type in the \
         program's schema"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend::source::Source;
    use contend::workload::parse;

    #[test]
    fn a_column_that_a_server_could_not_fill_is_named() {
        let of = |declared: &str, generator: &str| {
            let text = format!(
                "about = \"a\"\n[scale]\nrows_t = 10\n[table.t]\nddl = \"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})\"\n\
                 rows = \"rows_t\"\n[table.t.columns]\nid = {{ serial = 1 }}\nv = {generator}\n\
                 [transaction.read]\nkind = \"read\"\n[[transaction.read.step]]\nsql = \"SELECT * FROM t\"\n\
                 [profile.day]\nmix = {{ read = 1 }}\n"
            );
            of_rows(&parse(&Source::new("a.toml", text)).expect("a workload"))
        };
        let why = of("int", "{ range = [0.0, 50.0] }").expect("reals do not fit");
        assert!(why.starts_with("t.v gets reals, which a server's column"), "{why}");
        let why = of("int", "{ choice = [1, 2, \"x\"], null = 0.5 }").expect("one of few values does not fit");
        assert!(why.starts_with("t.v gets integers and texts"), "{why}");
        for (declared, generator) in [
            ("int", "{ range = [1, 5], null = 0.1 }"),
            ("REAL", "{ range = [0.0, 5.0] }"),
            ("REAL", "{ choice = [1, 2] }"),
            ("TEXT", "{ words = { median = 2 } }"),
            ("", "{ words = { median = 2 } }"),
        ] {
            assert_eq!(of(declared, generator), None, "{declared}");
        }
    }

    #[test]
    fn reals_are_integers_if_none_has_a_fraction() {
        let of = |values: &[Value]| without_fractions(&values.iter().collect::<Vec<_>>());
        let all = [Value::Real(2.0), Value::Null, Value::Integer(5)];
        assert_eq!(of(&all), Some(vec![Value::Integer(2), Value::Null, Value::Integer(5)]));
        assert_eq!(of(&[Value::Real(2.0), Value::Real(2.5)]), None);
        assert_eq!(of(&all[1..]), None, "there is nothing to change");
    }

    #[test]
    fn only_reals_with_a_fraction_stay_reals_in_a_column_of_integers() {
        let types = Types::of([&"CREATE TABLE t (v INT, w REAL)".to_string()].into_iter());
        let stored = |column: &str, value: Value| types.of_stored(("t", column), &[&value]).is_some();
        let text = || Value::Text(b"5".as_slice().into());
        assert!(stored("v", Value::Real(2.5)) && stored("v", Value::Hash(value::REAL, 8, 1)));
        assert!(!stored("v", Value::Real(2.0)) && !stored("v", text()) && !stored("w", Value::Real(2.5)));
    }
}
