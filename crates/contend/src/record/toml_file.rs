//! The TOML files of a record: written with a seal, and read back.

use crate::record::model::RECORD_VERSION;
use crate::record::seal::{self, Seal, Unsealed};
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The text of a file, without its seal.
pub(super) fn to_text<T: Serialize>(value: &T) -> Result<String> {
    toml::to_string(value).context("a record must be expressible as TOML")
}

pub(super) fn write_toml<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = to_text(value)?;
    let mut file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(seal::sealed(seal::TOML, &text).as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct TomlFile<T> {
    pub value: T,
    /// Its text without the seal.
    pub text: String,
    /// The format that it names, if it has no seal.
    unsealed: Option<u32>,
}

impl<T> TomlFile<T> {
    /// The file by its path in the record, if it has no seal.
    pub fn unsealed(&self, file: &str) -> Option<Unsealed> {
        self.unsealed.map(|format| Unsealed { file: file.to_string(), format })
    }
}

/// The first key of every file of a record.
#[derive(serde::Deserialize)]
struct Version {
    format: u32,
}

/// Reads a file of any known format; `upgrade` changes one of an older format into the newest.
pub(super) fn read_toml<T: DeserializeOwned>(
    path: &Path,
    upgrade: impl Fn(&mut toml::Table) -> Result<()>,
) -> Result<TomlFile<T>> {
    let text = regular_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    // Without the line itself: one that is cut may have a thousand characters.
    let damaged = |e: toml::de::Error| {
        let line = e.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        anyhow!("{}:{line}: the file is damaged or not part of a record: {}", path.display(), e.message())
    };
    let Version { format } = toml::from_str(&text).map_err(damaged)?;
    if format > RECORD_VERSION {
        bail!(
            "{} is of record format {format}, newer than the {RECORD_VERSION} this contend reads; use a newer contend",
            path.display(),
        );
    }
    let (seal, own) = seal::of(seal::TOML, &text);
    if seal == Seal::Broken {
        bail!(
            "{} {}. It does not say what was measured: restore the file, or run again",
            path.display(),
            seal::WAS_CHANGED
        );
    }
    let read = || -> Result<T> {
        let mut table: toml::Table = own.parse()?;
        upgrade(&mut table)?;
        Ok(table.try_into()?)
    };
    let value = read().with_context(|| format!("{} is damaged", path.display()))?;
    Ok(TomlFile { value, text: own.to_string(), unsealed: (seal == Seal::Absent).then_some(format) })
}

/// The text of a regular file; a pipe or device would be read forever.
pub(super) fn regular_text(path: &Path) -> std::io::Result<String> {
    match fs::metadata(path)?.is_file() {
        true => fs::read_to_string(path),
        false => Err(std::io::Error::other("it is not a regular file")),
    }
}
