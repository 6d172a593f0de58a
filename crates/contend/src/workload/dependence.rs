//! Which mistakes of a workload file may follow from another one, so that they are not reported with it.

use crate::source::mistakes::{Path, Removed};

/// Sections whose tables are understood as a whole: an argument may be unused because its statement is gone.
const WHOLE: [&str; 2] = ["table", "transaction"];

/// Where messages list all transactions.
const LISTING: [&str; 3] = ["mix", "transactions", "invariant"];

/// Whether what is wrong at `path`, with this text, may be so only because of what was removed: in the same table or
/// transaction, or where what was removed is named.
pub(super) fn follows(removed: &[Removed], path: &Path, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let named = |name: &String| {
        path.iter().skip(1).any(|key| key == name) || text.split(|c| !is_word(c)).any(|word| word == name)
    };
    removed.iter().map(Removed::path).any(|gone| {
        let same = gone.len() > 1 && path.len() > 1 && gone[..2] == path[..2] && WHOLE.contains(&path[0].as_str());
        let is_name = |step: &&String| step.parse::<usize>().is_err();
        // Something deep in a table is missed only where both names are.
        let deep = gone.last().filter(|_| gone.len() > 3);
        let names = || gone.get(1).into_iter().chain(deep).filter(is_name);
        let shortens =
            gone.len() == 2 && gone[0] == "transaction" && path.iter().any(|key| LISTING.contains(&key.as_str()));
        same || shortens || names().count() > 0 && names().all(named)
    })
}
