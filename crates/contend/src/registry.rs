//! A list that is filled once, when the program starts, with what its slices bring.

use std::sync::OnceLock;

/// Entries of one type; empty until they are registered.
pub struct Registry<T: 'static> {
    registered: OnceLock<Vec<&'static T>>,
    otherwise: &'static [&'static T],
}

impl<T> Registry<T> {
    pub const fn empty() -> Self {
        Self::with(&[])
    }

    /// A list that has these entries until others are registered.
    pub const fn with(otherwise: &'static [&'static T]) -> Self {
        Self { registered: OnceLock::new(), otherwise }
    }

    /// Fills the list; only the first call counts.
    pub fn register(&self, entries: impl Iterator<Item = &'static T>) {
        self.registered.get_or_init(|| entries.collect());
    }

    pub fn all(&self) -> &[&'static T] {
        self.registered.get().map_or(self.otherwise, Vec::as_slice)
    }
}
