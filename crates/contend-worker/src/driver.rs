//! The drivers of databases of this worker, by the names in plans. `http` is not among them: its clients are event loops
//! without connections to a database.

use crate::client::EngineRuns;
use anyhow::{Result, bail};

/// A driver of databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// SQLite in this process: the built-in one, or for `shim` a shared library.
    Sqlite,
    /// The crate postgres.
    Postgres,
    /// The crate tokio-postgres.
    TokioPostgres,
    /// The crate mysql.
    Mysql,
    /// The translator, which executes nothing.
    Translator,
    /// Executes nothing.
    Null,
}

impl Driver {
    /// The driver with this name.
    ///
    /// # Errors
    /// It opens no database.
    pub fn of(name: &str) -> Result<Self> {
        Ok(match name {
            "rusqlite" | "shim" => Self::Sqlite,
            "postgres" => Self::Postgres,
            "tokio-postgres" => Self::TokioPostgres,
            "mysql" => Self::Mysql,
            "contend-sql" => Self::Translator,
            "null" => Self::Null,
            other => bail!(
                "driver {other}: this worker has rusqlite, shim, postgres, tokio-postgres, mysql, contend-sql and null"
            ),
        })
    }

    /// Where its engine runs.
    pub fn engine_runs(self) -> EngineRuns {
        match self {
            Self::Sqlite | Self::Translator | Self::Null => EngineRuns::Here,
            Self::Postgres | Self::TokioPostgres | Self::Mysql => EngineRuns::Elsewhere,
        }
    }
}
