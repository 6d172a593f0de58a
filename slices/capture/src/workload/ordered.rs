//! Hashed values that a statement compares by order: `expires > ?`. Hashes have no order, so how many rows are above the value is
//! not known. The workload gets the one of three places for the value, among the rows, below all or above all, with which its
//! statement finds the captured number of rows.

use crate::sql::Token;
use crate::trace::Value;

/// An argument that is compared by order.
pub struct Ordered {
    /// Its name in the transaction.
    pub name: String,
    /// Values below and above those of all rows, as TOML.
    pub ends: [&'static str; 2],
}

/// The ends for the value at a token; `None` if it is not compared by order, or known.
pub fn ends(tokens: &[Token], at: usize, values: &[&Value]) -> Option<[&'static str; 2]> {
    let is = |back: usize, signs: &[&str]| {
        let token = at.checked_sub(back).map(|at| &tokens[at]);
        matches!(token, Some(Token::Sign(sign)) if signs.contains(sign))
    };
    let is_compared = is(1, &["<", ">"]) || (is(1, &["="]) && is(2, &["<", ">"]));
    match values.iter().find(|value| !matches!(value, Value::Null)) {
        Some(Value::Hash(1, ..)) if is_compared => Some(["-9000000000000000", "9000000000000000"]),
        Some(Value::Hash(2, ..)) if is_compared => Some(["-9.0e15", "9.0e15"]),
        Some(Value::Hash(3, ..)) if is_compared => Some(["\"\"", "\"~\""]),
        _ => None,
    }
}

/// The workload with another generator for an argument of a transaction.
pub fn with_argument(workload: &str, (transaction, name): (&str, &str), generator: &str) -> String {
    let (header, own) = (format!("[transaction.{transaction}.args]"), format!("{name} = "));
    // The number in a text that is replaced.
    let number = format!("{name}_n = ");
    let mut is_inside = false;
    let line = |line: &str| {
        is_inside = if line.starts_with('[') { line == header } else { is_inside };
        match is_inside {
            true if line.starts_with(&own) => format!("{own}{generator}\n"),
            true if line.starts_with(&number) => String::new(),
            _ => format!("{line}\n"),
        }
    };
    workload.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens;

    #[test]
    fn only_hashed_values_that_are_compared_by_order_have_ends() {
        let hash = Value::Hash(2, 8, 5);
        let all = tokens("SELECT * FROM t WHERE a = ? AND b > ? AND c <= ? LIMIT ?");
        let places = (0..all.len()).filter(|&at| matches!(all[at], Token::Parameter(_)));
        let found: Vec<bool> = places.map(|at| ends(&all, at, &[&Value::Null, &hash]).is_some()).collect();
        assert_eq!(found, [false, true, true, false]);
        assert_eq!(ends(&tokens("a < ?"), 2, &[&Value::Integer(7)]), None, "it is known");
    }

    #[test]
    fn an_argument_is_replaced_in_its_transaction_only() {
        let text = "[transaction.a.args]\nx = 1\ny = 2\n\n[transaction.b.args]\nx = 1\nx_n = 7\n";
        let found = with_argument(text, ("b", "x"), "-1");
        assert_eq!(found, "[transaction.a.args]\nx = 1\ny = 2\n\n[transaction.b.args]\nx = -1\n");
    }
}
