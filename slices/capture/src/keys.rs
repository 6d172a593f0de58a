//! Values and how unequal they are.

use crate::manifest::{Manifest, Values};
use crate::sql::{Does, Token, literal, tokens};
use crate::summary::{Key, Known};
use crate::trace::Value;
use crate::workload::naming::places_of;
use contend_interpose::format::value;
use std::collections::{BTreeMap, HashMap};

/// A value in a text.
#[derive(Debug, PartialEq)]
enum Given {
    Bound(u16),
    Literal(Value),
}

/// The values in a text, each with its number in the shape, where a list such as `IN (?, ?)` counts once: it has another length
/// in other texts of the shape.
fn given(sql: &str, manifest: &Manifest) -> Vec<(u16, Given)> {
    let (is_hashed, all) = (manifest.values == Values::Hash, tokens(sql));
    // To SQLite `$2` is a name.
    let of_server = |text: &str| text.strip_prefix('$')?.parse().ok().filter(|_| manifest.server.is_some());
    let mut places = places_of(&all).into_iter();
    let (mut found, mut number, mut is_list) = (vec![], 0_u16, false);
    for (at, token) in all.iter().enumerate() {
        let opens = *token == Token::Sign("(") && at > 0 && all[at - 1].is_word("in");
        let goes_on = is_list && (token.is_value() || *token == Token::Sign(","));
        let is_next = !is_list || (at > 1 && all[at - 1] == Token::Sign("(") && all[at - 2].is_word("in"));
        let Some(next) = number.checked_add(u16::from(token.is_value() && is_next)) else { break };
        number = next;
        match token {
            Token::Parameter(text) => {
                let place = places.next().map(|place| of_server(text).unwrap_or(place));
                found.extend(place.map(|place| (number, Given::Bound(place))));
            }
            Token::Literal(text) => found.push((number, Given::Literal(literal(text, is_hashed)))),
            _ => {}
        }
        is_list = opens || goes_on;
    }
    found
}

/// Whether a value can be a key.
fn is_key(given: &Value) -> bool {
    !matches!(given, Value::Null | Value::Opaque | Value::Zeros(_) | Value::Real(_) | Value::Hash(value::REAL, ..))
}

/// Positions in statements whose values repeat.
pub fn keys(known: &Known) -> Vec<Key> {
    let mut of_texts: HashMap<*const u8, Vec<(u16, Given)>> = HashMap::new();
    let mut counts: BTreeMap<(usize, u16), HashMap<String, u64>> = BTreeMap::new();
    let is_of = |does| matches!(does, Does::Read | Does::Write);
    for call in known.trace.calls.iter().filter(|call| is_of(known.shapes.get(call).does)) {
        let all = of_texts.entry(call.sql.as_ptr()).or_insert_with(|| given(&call.sql, known.manifest));
        for (number, given) in all {
            let given = match given {
                Given::Bound(place) => call.values.iter().find(|(other, _)| other == place).map(|(_, value)| value),
                Given::Literal(value) => Some(&*value),
            };
            if let Some(given) = given.filter(|given| is_key(given)) {
                let of = counts.entry((known.shapes.number(call), *number)).or_default();
                *of.entry(format!("{given:?}")).or_default() += 1;
            }
        }
    }
    let keys = counts.into_iter().map(|((shape, place), values)| {
        let count: u64 = values.values().sum();
        let most = values.values().max().copied().unwrap_or(0);
        let shape = &known.shapes.all[shape];
        Key {
            table: shape.tables.first().cloned().unwrap_or_default(),
            statement: shape.text.clone(),
            place,
            count,
            distinct: values.len() as u64,
            most: most as f64 / count.max(1) as f64,
        }
    });
    let mut keys: Vec<Key> = keys.filter(|key| key.count >= 10 && key.distinct > 1).collect();
    keys.sort_by_key(|key| std::cmp::Reverse(key.count));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Clock, FORMAT, Server};

    fn manifest(server: Option<Server>) -> Manifest {
        Manifest {
            format: FORMAT,
            command: vec![],
            began_unix_s: 0,
            values: Values::Full,
            clock: Clock { is_ticks: false, from: (0, 0), to: (0, 0) },
            status: None,
            databases: vec![],
            missing: vec![],
            segments: None,
            server,
            not_sealed: false,
        }
    }

    #[test]
    fn numbers_of_a_server_are_in_the_text() {
        let server = Server { engine: "postgres".into(), address: "postgres://localhost".into() };
        for (server, places) in [(Some(server), [2, 1]), (None, [1, 2])] {
            let found = given("UPDATE t SET a = $2 WHERE b = $1", &manifest(server));
            assert_eq!(found, [(1, Given::Bound(places[0])), (2, Given::Bound(places[1]))]);
        }
    }

    #[test]
    fn a_list_has_one_number_whatever_its_length() {
        let manifest = manifest(None);
        let numbers = |sql| given(sql, &manifest).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("SELECT * FROM t WHERE a = 5 AND b IN (?, ?) AND c = ?"), [1, 2, 2, 3]);
        assert_eq!(numbers("SELECT * FROM t WHERE a = ? AND b IN (?, 7, ?) AND c = 'x'"), [1, 2, 2, 2, 3]);
        assert_eq!(numbers("INSERT INTO t VALUES (?, ?) ON CONFLICT DO UPDATE SET a = ?"), [1, 2, 3]);
        assert_eq!(numbers("SELECT * FROM t WHERE a IN (SELECT b FROM s WHERE c = ? AND d = ?)"), [1, 2]);
    }
}
