//! Why a line of a script failed: what each driver's error means for it.

use crate::connection::OpenError;
use crate::failure::Failure;
use crate::{mysql as mariadb, postgres as pg, sqlite};
use contend_wire::FormatError;
use contend_wire::sample::worker_code;

/// Why a line of a script failed.
pub struct LineError {
    pub failure: Failure,
    pub message: String,
}

impl From<OpenError> for LineError {
    fn from(error: OpenError) -> Self {
        Self { failure: error.failure, message: format!("{}: {}", error.what, error.message) }
    }
}

impl From<rusqlite::Error> for LineError {
    fn from(error: rusqlite::Error) -> Self {
        let failure = sqlite::code_of(&error);
        let message = match error {
            // The message without the statement, which the caller has.
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            other => other.to_string(),
        };
        Self { failure, message }
    }
}

impl From<postgres::Error> for LineError {
    fn from(error: postgres::Error) -> Self {
        Self { failure: pg::code_of(&error), message: pg::in_words(&error) }
    }
}

impl From<std::io::Error> for LineError {
    fn from(error: std::io::Error) -> Self {
        // A writer of COPY wraps the server's errors in I/O errors.
        match error.get_ref().and_then(|inner| inner.downcast_ref::<postgres::Error>()) {
            Some(inner) => Self { failure: pg::code_of(inner), message: pg::in_words(inner) },
            None => Self { failure: Failure::worker(worker_code::DRIVER), message: error.to_string() },
        }
    }
}

impl From<mysql::Error> for LineError {
    fn from(error: mysql::Error) -> Self {
        Self { failure: mariadb::code_of(&error), message: mariadb::in_words(&error) }
    }
}

/// Why rows could not be loaded.
pub enum LoadError {
    /// The script is not of the form.
    Script(FormatError),
    /// The database refuses.
    Line(LineError),
}

impl From<FormatError> for LoadError {
    fn from(error: FormatError) -> Self {
        Self::Script(error)
    }
}

impl<E: Into<LineError>> From<E> for LoadError {
    fn from(error: E) -> Self {
        Self::Line(error.into())
    }
}

pub fn value_error(message: impl Into<String>) -> LineError {
    LineError { failure: Failure::worker(worker_code::VALUE), message: message.into() }
}
