//! Compares connections after the measurement with those before: a setting may have changed, and a connection may have
//! been replaced. Reading back inside an attempt would be measured with it.

use anyhow::Error;
use contend_wire::handshake::{Facts, fact};
use std::sync::{Mutex, PoisonError};

/// Results of reading back so far.
#[derive(Debug, Default)]
pub struct Later(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    connections: u64,
    /// The first difference.
    differs: Option<String>,
}

impl Later {
    /// Notes what a connection read back, or why it could not; `first` is what was read back before the run.
    pub fn hold(&self, first: &Facts, found: Result<&Facts, &Error>) {
        let wrong = match found {
            Ok(found) => difference(first, found),
            Err(e) => Some(format!("a connection cannot be read back after the run: {e:#}")),
        };
        let mut so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.connections += u64::from(found.is_ok());
        so_far.differs = so_far.differs.take().or(wrong);
    }

    /// Facts for `done`; empty if no connection was read back.
    pub fn facts(&self) -> Facts {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count =
            (found.connections > 0).then(|| ("connections_read_back".to_string(), found.connections.to_string()));
        let differs = found.differs.iter().map(|words| ("settings_differ".to_string(), words.clone()));
        count.into_iter().chain(differs).collect()
    }
}

/// The first setting that differs, in words. Facts that only one of the two has are not settings of a connection.
fn difference(first: &Facts, found: &Facts) -> Option<String> {
    found.iter().find_map(|(name, value)| {
        let of_first = fact(first, name).filter(|of_first| of_first != value)?;
        Some(format!("a connection reads back {name} = {value} after the start, the first one {of_first} before"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn settings(pairs: &[(&str, &str)]) -> Facts {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn what_was_wrong_first_is_told() {
        let later = Later::default();
        let first =
            settings(&[("client", "0"), ("journal_mode", "wal"), ("foreign_keys", "1"), ("tokio_threads", "2")]);
        assert_eq!(later.facts(), vec![]);
        later.hold(&first, Ok(&settings(&[("journal_mode", "wal"), ("foreign_keys", "1"), ("new", "1")])));
        assert_eq!(later.facts(), settings(&[("connections_read_back", "1")]));
        later.hold(&first, Ok(&settings(&[("journal_mode", "wal"), ("foreign_keys", "0")])));
        later.hold(&first, Ok(&settings(&[("journal_mode", "delete"), ("foreign_keys", "1")])));
        later.hold(&first, Err(&anyhow!("it is gone")));
        let words = "a connection reads back foreign_keys = 0 after the start, the first one 1 before";
        assert_eq!(later.facts(), settings(&[("connections_read_back", "3"), ("settings_differ", words)]));
    }

    #[test]
    fn what_cannot_be_read_back_is_told_too() {
        let later = Later::default();
        later.hold(&vec![], Err(&anyhow!("disk I/O error").context("`PRAGMA journal_mode`")));
        let words = "a connection cannot be read back after the run: `PRAGMA journal_mode`: disk I/O error";
        assert_eq!(later.facts(), settings(&[("settings_differ", words)]));
    }
}
