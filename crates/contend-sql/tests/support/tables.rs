//! The tables of random statements.

/// The tables of a schema. In every fourth one text column ignores case, in every eighth two do.
pub fn schema(number: u64) -> [String; 3] {
    let x = if number % 4 == 3 { " COLLATE NOCASE" } else { "" };
    let s = if number % 8 == 7 { " COLLATE NOCASE" } else { "" };
    [
        format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER NOT NULL, r REAL, x TEXT{x}, \
             y TEXT NOT NULL, f BOOLEAN)"
        ),
        format!("CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER, n INTEGER, s TEXT{s}, w REAL)"),
        "CREATE INDEX u_t ON u (t)".to_string(),
    ]
}

/// A table in FROM: its name there, and its columns by type.
#[derive(Clone, Copy)]
pub struct Source {
    pub alias: &'static str,
    pub integers: &'static [&'static str],
    pub reals: &'static [&'static str],
    pub texts: &'static [&'static str],
}

pub const T: Source = Source { alias: "t", integers: &["id", "a", "b", "f"], reals: &["r"], texts: &["x", "y"] };
pub const U: Source = Source { alias: "u", integers: &["id", "t", "n"], reals: &["w"], texts: &["s"] };

impl Source {
    /// Number of its columns.
    pub fn width(&self) -> usize {
        self.integers.len() + self.reals.len() + self.texts.len()
    }
}
