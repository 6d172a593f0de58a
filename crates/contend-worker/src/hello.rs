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

const RUSQLITE: &str = "rusqlite 0.40.2";

/// All drivers with their versions: which of them a plan wants is not known yet.
fn driver_versions() -> String {
    [&[RUSQLITE, mysql::VERSION, http::VERSION], &postgres::VERSIONS[..]].concat().join(",")
}

/// Versions and capabilities.
///
/// # Errors
/// SQLite cannot be asked for its compile options.
pub fn facts() -> rusqlite::Result<Facts> {
    let facts = [
        ("protocol", PROTOCOL_VERSION.to_string()),
        ("language", LANGUAGE.to_string()),
        ("driver", RUSQLITE.to_string()),
        ("engine", format!("SQLite {}", rusqlite::version())),
        ("lock_wait", "measured".to_string()),
        ("drivers", DRIVERS.join(",")),
        ("driver_versions", driver_versions()),
        ("models", format!("{},{}", models::names(), http::MODEL)),
        ("compile_options", compile_options()?),
    ];
    Ok(facts.map(|(key, value)| (key.to_string(), value)).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_said_are_those_that_were_built() {
        let lock = include_str!("../../../Cargo.lock");
        for said in driver_versions().split(',') {
            // The driver may be told before its library.
            let mut words = said.rsplit(' ');
            let (version, name) = (words.next().expect("a version"), words.next().expect("a name"));
            let built = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&built), "{said} is not what Cargo.lock says");
        }
    }
}
