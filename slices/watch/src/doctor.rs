//! What `contend doctor` says of watching: the depths that this machine and user have, and the command that would give more.

use crate::watch::{Depth, deepest};
use contend::slice::{Finding, State};

/// The line.
pub fn look() -> Finding {
    let (depth, why) = deepest();
    let depths: Vec<&str> = Depth::WORDS.iter().filter(|(_, known)| *known <= depth).map(|(word, _)| *word).collect();
    let has = format!("contend watch: {} for SQLite, servers sampled", depths.join(", "));
    match why {
        None => Finding { what: "watch", state: State::Ok, detail: has },
        Some(why) => Finding { what: "watch", state: State::Note, detail: format!("{has}; for more: {why}") },
    }
}
