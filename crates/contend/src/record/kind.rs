//! Tables of kinds of study in a record, checked by the slice of the kind.

use crate::registry::Registry;
use crate::study::kind::Tables;
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use toml::Table;

/// Reads the tables of one kind of study.
pub struct Reader {
    /// Name of the kind.
    pub kind: &'static str,
    /// Checks the kind's keys in `run.toml`.
    pub keys: fn(&Table) -> Result<()>,
    /// Checks the kind's results in a `trial.toml`.
    pub results: fn(&Table) -> Result<()>,
}

impl Reader {
    /// A reader that checks tables by these types.
    pub const fn of<Keys: DeserializeOwned, Results: DeserializeOwned>(kind: &'static str) -> Self {
        Self { kind, keys: readable::<Keys>, results: readable::<Results> }
    }
}

fn readable<T: DeserializeOwned>(table: &Table) -> Result<()> {
    table.clone().try_into::<T>()?;
    Ok(())
}

pub static READERS: Registry<Reader> = Registry::empty();

/// Checks the tables of all kinds that this contend has; unknown ones stay as they are.
pub(super) fn check(tables: &Tables, of: impl Fn(&Reader) -> fn(&Table) -> Result<()>) -> Result<()> {
    for (name, table) in tables.iter() {
        if let Some(reader) = READERS.all().iter().find(|reader| reader.kind == name) {
            of(reader)(table).with_context(|| format!("[{name}]"))?;
        }
    }
    Ok(())
}
