//! Database files that a program deletes or replaces while it runs. A capture takes all files of one name for one database.

use crate::sql::{Token, tokens};
use crate::trace::{Connection, Trace};
use contend::stats::precision::counted;
use std::collections::BTreeMap;
use std::path::Path;

/// A sentence for each name that more than one file had.
pub fn missing(trace: &Trace) -> Vec<String> {
    let mut of_name: BTreeMap<&Path, Vec<(u64, &Connection)>> = BTreeMap::new();
    for (number, connection) in &trace.connections {
        if connection.rc == 0 && connection.path.is_absolute() {
            of_name.entry(&connection.path).or_default().push((*number, connection));
        }
    }
    let said = |(path, connections): (&Path, Vec<(u64, &Connection)>)| {
        let times = times(trace, connections);
        let path = path.display();
        (times > 0).then(|| {
            format!(
                "{path} was deleted or replaced {} while the program ran: the capture takes these files for one, and a replay \
                 and a study begin with the first.",
                counted(times, "time")
            )
        })
    };
    of_name.into_iter().filter_map(said).collect()
}

/// How often a connection found another file than those before it.
fn times(trace: &Trace, mut connections: Vec<(u64, &Connection)>) -> usize {
    connections.sort_by_key(|(_, connection)| connection.opened_ns);
    let (mut known, mut made_ns, mut times) = (None, u64::MAX, 0);
    for (number, connection) in connections {
        let is_other = match connection.file {
            Some(file) => known.is_some_and(|known| known != file),
            None => known.is_some() || made_ns < connection.opened_ns,
        };
        if is_other {
            (made_ns, times) = (u64::MAX, times + 1);
        }
        known = if is_other { connection.file } else { connection.file.or(known) };
        made_ns = made_ns.min(first_table_ns(trace, number));
    }
    times
}

/// When a connection committed its first CREATE TABLE. A name with a schema may be in another file.
fn first_table_ns(trace: &Trace, number: u64) -> u64 {
    let mut calls = trace.calls.iter().filter(|call| call.connection == number && !call.has_failed());
    let creates = |sql: &str| {
        let tokens = tokens(sql);
        let has_schema = tokens.iter().take_while(|token| **token != Token::Sign("(")).any(|t| *t == Token::Sign("."));
        tokens.windows(2).any(|two| two[0].is_word("create") && two[1].is_word("table")) && !has_schema
    };
    let Some(made) = calls.find(|call| !call.is_readonly && creates(&call.sql)) else { return u64::MAX };
    let ends = std::iter::once(made).chain(calls).find(|call| call.after);
    let commits = ends.filter(|call| !tokens(&call.sql).first().is_some_and(|word| word.is_word("rollback")));
    commits.map_or(u64::MAX, |call| call.end_ns())
}
