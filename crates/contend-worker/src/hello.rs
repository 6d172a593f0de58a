//! What the worker says about itself.

use crate::kit::LANGUAGE;
use crate::own::DRIVERS;
use crate::{http, models, mysql, postgres};
use contend_wire::handshake::{Facts, PROTOCOL_VERSION};
use rusqlite::Connection;

fn compile_options() -> rusqlite::Result<String> {
    let connection = Connection::open_in_memory()?;
    let mut statement = connection.prepare("PRAGMA compile_options")?;
    let options = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(options.join(","))
}

/// Versions and capabilities.
///
/// # Errors
/// SQLite cannot be asked for its compile options.
pub fn facts() -> rusqlite::Result<Facts> {
    let facts = [
        ("protocol", PROTOCOL_VERSION.to_string()),
        ("language", LANGUAGE.to_string()),
        ("driver", "rusqlite 0.40.2".to_string()),
        ("engine", format!("SQLite {}", rusqlite::version())),
        ("lock_wait", "measured".to_string()),
        ("drivers", DRIVERS.join(",")),
        ("driver_versions", [mysql::VERSION, postgres::VERSION, http::VERSION].join(",")),
        ("models", format!("{},{}", models::names(), http::MODEL)),
        ("compile_options", compile_options()?),
    ];
    Ok(facts.map(|(key, value)| (key.to_string(), value)).to_vec())
}
