//! Finds mistakes of a workload file that may follow from another mistake, so that they are not reported with it.

use crate::source::mistakes::{Kind, Path, Removed};

pub(super) const KIND: Kind = Kind { follows, lacking };

/// Sections whose tables are resolved as a whole: an argument may be unused because its statement was removed.
const WHOLE: [&str; 2] = ["table", "transaction"];

/// Sections whose messages list all transactions.
const LISTING: [&str; 3] = ["mix", "transactions", "invariant"];

/// Sections that need transactions.
const OF_TRANSACTIONS: [&str; 6] = ["profile", "role", "mode", "login", "invariant", "transaction"];

/// A workload without transactions gets one that reads nothing.
fn lacking(path: &Path) -> Option<(&Path, &'static str)> {
    match path {
        [key] if key == "about" => Some((path, "'x'")),
        [key] if key == "transaction" => Some((path, "{ x = { kind = 'read', step = [{ sql = 'SELECT 1' }] } }")),
        _ => None,
    }
}

/// Whether the mistake at `path` with this message may follow from what was removed: it is in the same table or
/// transaction, or the message names it.
fn follows(removed: &[Removed], path: &Path, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let named = |name: &String| {
        path.iter().skip(1).any(|key| key == name) || text.split(|c| !is_word(c)).any(|word| word == name)
    };
    removed.iter().map(Removed::path).any(|gone| {
        let without =
            gone == ["transaction"] && path.first().is_some_and(|key| OF_TRANSACTIONS.contains(&key.as_str()));
        let same = gone.len() > 1 && path.len() > 1 && gone[..2] == path[..2] && WHOLE.contains(&path[0].as_str());
        let is_name = |step: &&String| step.parse::<usize>().is_err();
        // A key deep in a table counts as named only with the table's name.
        let deep = gone.last().filter(|_| gone.len() > 3);
        let names = || gone.get(1).into_iter().chain(deep).filter(is_name);
        let shortens =
            gone.len() == 2 && gone[0] == "transaction" && path.iter().any(|key| LISTING.contains(&key.as_str()));
        without || same || shortens || names().count() > 0 && names().all(named)
    })
}
