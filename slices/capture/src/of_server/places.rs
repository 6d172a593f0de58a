//! The database of each call: that of its connection, or the last one that the connection chose.

use crate::statement::{Token, tokens, without_quotes, word};
use crate::trace::Trace;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;

/// Where the calls of a capture are carried out.
pub struct Places {
    /// The database with the most calls; empty if clients named none.
    pub chosen: Rc<str>,
    /// The other databases, with their calls.
    pub others: BTreeMap<Rc<str>, usize>,
    /// For each call, whether it belongs to the replay: it is on the chosen database or on none, and chooses none.
    pub is_here: Vec<bool>,
}

/// The name of a database in the place of a connection: server, `/`, database.
fn name_of(path: &Path) -> Rc<str> {
    path.to_string_lossy().rsplit('/').next().unwrap_or_default().into()
}

/// The database that a `USE` chooses.
fn used(sql: &str) -> Option<Rc<str>> {
    if !sql.get(..3)?.eq_ignore_ascii_case("use") {
        return None;
    }
    let all = tokens(sql);
    match all[..] {
        [_, Token::Word(name)] if word(&all, 0) == "use" => Some(without_quotes(name).into()),
        _ => None,
    }
}

pub fn places(trace: &Trace, is_mariadb: bool) -> Places {
    let mut now: HashMap<u64, Rc<str>> =
        trace.connections.iter().map(|(id, connection)| (*id, name_of(&connection.path))).collect();
    let mut all: Vec<Option<Rc<str>>> = vec![];
    for call in &trace.calls {
        let place = now.entry(call.connection).or_default();
        match used(&call.sql).filter(|_| is_mariadb) {
            Some(name) => {
                *place = if call.has_failed() { Rc::clone(place) } else { name };
                all.push(None);
            }
            None => all.push(Some(Rc::clone(place))),
        }
    }
    let mut others: BTreeMap<Rc<str>, usize> = BTreeMap::new();
    for name in all.iter().flatten().filter(|name| !name.is_empty()) {
        *others.entry(Rc::clone(name)).or_default() += 1;
    }
    let chosen = others.iter().max_by_key(|(_, calls)| **calls).map(|(name, _)| Rc::clone(name)).unwrap_or_default();
    others.remove(&chosen);
    let is_here = |name: &Option<Rc<str>>| name.as_ref().is_some_and(|name| name.is_empty() || *name == chosen);
    Places { is_here: all.iter().map(is_here).collect(), chosen, others }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_by_its_connection_or_by_use() {
        assert_eq!(&*name_of(Path::new("mysql:///run/mysqld/mysqld.sock/shop")), "shop");
        assert_eq!(&*name_of(Path::new("mysql://127.0.0.1:3306/")), "");
        assert_eq!(used("USE `Shop`").as_deref(), Some("Shop"));
        assert_eq!(used("use shop").as_deref(), Some("shop"));
        assert_eq!((used("user"), used("USE a; SELECT 1"), used("é")), (None, None, None));
    }
}
