//! Reports to `contend doctor` how deep this machine and user can watch, and the command that allows more.

use crate::watch::{Depth, Limit, deepest};
use contend::slice::{Finding, State};

/// The line of `contend doctor`.
pub fn look() -> Finding {
    let (depth, limit) = deepest();
    let depths: Vec<&str> = Depth::WORDS.iter().filter(|(_, known)| *known <= depth).map(|(word, _)| *word).collect();
    let has = format!("contend watch: {} for SQLite, servers sampled", depths.join(", "));
    match limit {
        None => Finding { what: "watch", state: State::Ok, detail: has },
        Some(Limit { why, command }) => {
            let command = command.map_or(String::new(), |command| format!("; for more:\n{command}"));
            Finding { what: "watch", state: State::Note, detail: format!("{has}, because {why}{command}") }
        }
    }
}
