//! Connections as they are after the measurement, held against what they were before: a setting may change in between, and a
//! connection may be another one. In an attempt reading back would be part of what is measured, and no program does it.

use anyhow::Error;
use contend_wire::handshake::{Facts, fact};
use std::sync::{Mutex, PoisonError};

/// What they read back, so far.
#[derive(Debug, Default)]
pub struct Later(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    connections: u64,
    /// What was wrong first.
    differs: Option<String>,
}

impl Later {
    /// Takes in what a connection read back, or why it could not be; `first` is what its predecessor did before the run.
    pub fn hold(&self, first: &Facts, found: Result<&Facts, &Error>) {
        let wrong = match found {
            Ok(found) => difference(first, found),
            Err(e) => Some(format!("a connection cannot be read back after the run: {e:#}")),
        };
        let mut so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.connections += u64::from(found.is_ok());
        so_far.differs = so_far.differs.take().or(wrong);
    }

    /// For `done`; nothing if there was no such connection.
    pub fn facts(&self) -> Facts {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count =
            (found.connections > 0).then(|| ("connections_read_back".to_string(), found.connections.to_string()));
        let differs = found.differs.iter().map(|words| ("settings_differ".to_string(), words.clone()));
        count.into_iter().chain(differs).collect()
    }
}

/// The first setting that is another one, in words. What only one of the two tells is no setting of a connection.
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
