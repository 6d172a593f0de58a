//! A list that is filled once, when the program starts, with what its slices bring.

use std::sync::OnceLock;

/// Entries of one type; empty until they are registered.
pub struct Registry<T: 'static>(OnceLock<Vec<&'static T>>);

impl<T> Registry<T> {
    pub const fn empty() -> Self {
        Self(OnceLock::new())
    }

    /// Fills the list; only the first call counts.
    pub fn register(&self, entries: impl Iterator<Item = &'static T>) {
        self.0.get_or_init(|| entries.collect());
    }

    pub fn all(&self) -> &[&'static T] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}
