//! The seal of a file: its first line, with the digest of the lines below it, by which a changed file is noticed. It has no
//! secret: a seal that somebody computed again is not noticed.

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// Beginning and end of the first line, around the digest.
pub type Form = [&'static str; 2];

/// A comment.
pub const TOML: Form = ["# SHA-256 of the lines below, which contend wrote: ", "\n"];

/// The first key of the outermost object, which begins with a line of its own.
pub const JSON: Form = ["{ \"seal\": \"SHA-256 of the lines below, which contend wrote: ", "\",\n"];

/// First line of an object in several lines without a seal.
const OBJECT: &str = "{\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// The text is as contend wrote it.
    Whole,
    /// The text was changed.
    Broken,
    /// There is none: nothing shows whether the text was changed.
    Absent,
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text with its seal.
pub fn sealed([begins, ends]: Form, text: &str) -> String {
    let text = if begins == JSON[0] { text.strip_prefix(OBJECT).unwrap_or(text) } else { text };
    format!("{begins}{}{ends}{text}", digest(text))
}

/// Looks for the seal of a text; returns it with the lines below, which are the whole text if there is none.
pub fn of([begins, ends]: Form, text: &str) -> (Seal, &str) {
    let Some(rest) = text.strip_prefix(begins) else { return (Seal::Absent, text) };
    match rest.split_once(ends) {
        Some((written, text)) if written == digest(text) => (Seal::Whole, text),
        Some((_, text)) => (Seal::Broken, text),
        None => (Seal::Broken, ""),
    }
}

/// The text of a file with its seal, and whether it has one. `instead` is what the user can do without the file.
///
/// # Errors
/// It cannot be read, or was changed.
pub fn read(form: Form, path: &Path, instead: &str) -> Result<(String, bool)> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (seal, _) = of(form, &text);
    ensure!(seal != Seal::Broken, "{} {WAS_CHANGED}. Restore the file, or {instead}", path.display());
    Ok((text, seal == Seal::Whole))
}

/// Writes a file of a directory as a whole, with its seal.
///
/// # Errors
/// It cannot be written.
pub fn write(form: Form, dir: &Path, file: &str, text: &str) -> Result<()> {
    let (path, aside) = (dir.join(file), dir.join(format!(".{file}.partial")));
    fs::write(&aside, sealed(form, text))
        .and_then(|()| fs::rename(&aside, &path))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// What a changed file means, after the name of the file.
pub const WAS_CHANGED: &str =
    "was changed after contend wrote it: the SHA-256 in its first line is not that of the lines below";

/// Why a run is not resumed, after the name of a file without a seal that would be written again.
pub const WOULD_BE_SEALED: &str = "has no seal in its first line, so it may have been changed, and resuming would seal it as \
     it is. Restore the file, or run again";

/// The sentence on a file without a seal; `others` is the number of further ones.
pub fn said_not_sealed(file: &str, others: usize) -> String {
    let (files, have, they, them) = match others {
        0 => (file.to_string(), "has", "it was", "it"),
        1 => (format!("{file} and 1 other file"), "have", "they were", "them"),
        n => (format!("{file} and {n} other files"), "have", "they were", "them"),
    };
    format!(
        "Not sealed: {files} {have} no SHA-256 in the first line. Nothing shows whether {they} changed after contend wrote {them}."
    )
}

/// A file without a seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// Its path in the record.
    pub file: String,
    /// Format that it names.
    pub format: u32,
}

impl Unsealed {
    /// The first format that had seals; earlier files never had one.
    const SINCE: u32 = 3;

    /// Whether contend wrote no seals when the file's format was the newest.
    pub fn is_old(&self) -> bool {
        self.format < Self::SINCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_whole(form: Form, text: &str) -> bool {
        of(form, text).0 == Seal::Whole
    }

    #[test]
    fn a_changed_file_is_known_by_its_first_line() {
        let written = sealed(TOML, "format = 3\ntier = \"bounded\"\n");
        assert_eq!(of(TOML, &written), (Seal::Whole, "format = 3\ntier = \"bounded\"\n"));
        assert!(!is_whole(TOML, &written.replace("bounded", "durable")));
        assert!(!is_whole(TOML, &written[..written.len() - 1]), "cut off");
        assert!(!is_whole(TOML, &written.replacen(": ", ": 0", 1)));
        assert_eq!(of(TOML, "format = 3\n"), (Seal::Absent, "format = 3\n"));
    }

    #[test]
    fn json_with_a_seal_is_json() {
        let value = serde_json::json!({"format": 1, "of": {"a": [1, 2]}});
        let text = format!("{value:#}\n");
        let written = sealed(JSON, &text);
        let mut read: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert!(read.as_object_mut().unwrap().remove("seal").unwrap().as_str().unwrap().contains("SHA-256"));
        assert_eq!((read, is_whole(JSON, &written)), (value, true));
        assert_eq!(of(JSON, &written.replace("\"a\"", "\"b\"")).0, Seal::Broken);
        assert_eq!(of(JSON, &text), (Seal::Absent, text.as_str()));
    }
}
