//! A list that slices fill once, when the program starts.

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

    /// An empty list that reads as `otherwise` until entries are registered.
    pub const fn with(otherwise: &'static [&'static T]) -> Self {
        Self { registered: OnceLock::new(), otherwise }
    }

    /// Fills the list. Later calls have no effect.
    pub fn register(&self, entries: impl Iterator<Item = &'static T>) {
        self.registered.get_or_init(|| entries.collect());
    }

    pub fn all(&self) -> &[&'static T] {
        self.registered.get().map_or(self.otherwise, Vec::as_slice)
    }
}
