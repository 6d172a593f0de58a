//! Embedded definitions, opened by name as files are opened by path.

use super::{Source, did_you_mean};
use anyhow::{Context as _, Result, bail};

/// Name and text of a definition.
pub type Embedded = (&'static str, &'static str);

/// All definitions of a kind.
pub struct Library {
    /// In messages: `workload`.
    pub kind: &'static str,
    /// Definitions, in the order in which they are listed.
    pub all: fn() -> Vec<Embedded>,
}

impl Library {
    pub fn names(&self) -> Vec<&'static str> {
        (self.all)().iter().map(|(name, _)| *name).collect()
    }

    pub fn sources(&self) -> impl Iterator<Item = Source> {
        (self.all)().into_iter().map(|(name, text)| Source::new(format!("{}{name}", self.prefix()), text))
    }

    /// The prefix of source names: `built-in workload `.
    pub fn prefix(&self) -> String {
        format!("built-in {} ", self.kind)
    }

    pub fn find(&self, name: &str) -> Option<Source> {
        let at = self.names().iter().position(|known| *known == name)?;
        self.sources().nth(at)
    }

    /// A definition by its name, or from a file that is read with `read`.
    ///
    /// # Errors
    /// The file cannot be read, or the name is not known.
    pub fn open(&self, name: &str, read: impl Fn(&str) -> std::io::Result<String>) -> Result<Source> {
        if let Some(source) = self.find(name) {
            return Ok(source);
        }
        let (kind, names) = (self.kind, self.names());
        if !name.ends_with(".toml") && !name.contains('/') {
            let (known, advice) = (names.join(", "), did_you_mean(name, names));
            bail!("there is no {kind} `{name}`{advice}: name one of {known}, or a file that ends in .toml");
        }
        let text = read(name).with_context(|| {
            let known = names.join(", ");
            format!("cannot read {kind} {name}; name a file that is there, or one of {known}")
        })?;
        Ok(Source::new(name, text))
    }
}
