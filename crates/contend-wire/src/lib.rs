//! The formats two programs of contend share: the plan a worker carries out, the script it loads and
//! inspects a database with, the lines both sides exchange, and the samples a worker leaves behind.
//!
//! Standard library only: any worker written in Rust can depend on this crate without inheriting
//! anything else, and the byte layouts are plain enough to be read in any other language.
//! `docs/formats.md` describes the same formats in words.

#![warn(missing_docs)]

pub mod database;
pub mod digest;
pub mod handshake;
pub mod kept;
pub mod kept_mariadb;
pub mod literal;
pub mod plan;
pub mod sample;
pub mod script;
pub mod statement;

use std::fmt;

/// A text in one of contend's formats that could not be read, with the line it happened on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// Which format: `plan`, `script`, `handshake`, `samples`.
    pub format: &'static str,
    /// Line, counted from 1; 0 when the text as a whole is at fault.
    pub line: usize,
    /// What is wrong and, where it helps, what to do.
    pub message: String,
}

impl FormatError {
    pub(crate) fn new(format: &'static str, line: usize, message: impl Into<String>) -> Self {
        Self { format, line, message: message.into() }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.format, self.message),
            line => write!(f, "{} line {line}: {}", self.format, self.message),
        }
    }
}

impl std::error::Error for FormatError {}

/// Checks a first line such as `contend-plan 1`; a newer version is refused by name.
pub(crate) fn check_version(format: &'static str, word: &str, known: u32, line: &str) -> Result<(), FormatError> {
    let err = |message: String| Err(FormatError::new(format, 1, message));
    let Some(version) = line.strip_prefix(word).and_then(|rest| rest.strip_prefix(' ')) else {
        return err(format!("expected `{word} {known}` as the first line, found `{}`", crop(line)));
    };
    match version.parse::<u32>() {
        Ok(v) if v == known => Ok(()),
        Ok(v) if v > known => err(format!(
            "`{word} {v}` is newer than the {known} this program reads: use tool and worker of the same contend release"
        )),
        _ => err(format!("`{word} {}` is not a version this program reads (it reads {known})", crop(version))),
    }
}

/// The start of a text, for error messages.
pub(crate) fn crop(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
