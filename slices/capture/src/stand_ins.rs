//! Names that a capture has in place of statements whose text it does not store.

use crate::trace::Trace;
use contend::stats::precision::counted;
use std::collections::BTreeMap;

/// Beginnings of the names, with the reason if no note of the connection says it.
const STAND_INS: [(&str, Option<&str>); 6] = [
    ("a_text_of_more_than", Some("longer than what is stored")),
    ("a_text_in_another_encoding", None),
    ("a_text_that_changes_sql_mode", Some("a change of sql_mode is followed by other statements")),
    ("a_text_whose_version_decides", Some("the server's version decides what is executed (`/*!50701 ... */`)")),
    ("a_statement_that_was_not_seen", Some("the preparation was not seen")),
    ("a_function_called_by_number", None),
];

pub fn is_stand_in(sql: &str) -> bool {
    STAND_INS.iter().any(|(name, _)| sql.starts_with(name))
}

/// Sentences about the statements that are missing.
pub fn missing(trace: &Trace) -> Vec<String> {
    let mut counts: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for call in &trace.calls {
        let known = STAND_INS.iter().find(|(name, _)| call.sql.starts_with(name));
        if let Some(why) = known.and_then(|(_, why)| *why) {
            counts.entry(&call.sql).or_insert((0, why)).0 += 1;
        }
    }
    let sentence = |(name, (count, why)): (&str, (usize, &str))| {
        let what = counted(count, "statement");
        format!("The text of {what} is not in the capture, which has {name} instead: {why}. A replay leaves this out.")
    };
    counts.into_iter().map(sentence).collect()
}
