//! The worker's `hello`: versions and capabilities.

use crate::kit::LANGUAGE;
use crate::{http, models, mysql, null, postgres, shim, translate};
use contend_wire::handshake::{Facts, PROTOCOL_VERSION};
use rusqlite::{Connection, StatementStatus};

fn compile_options() -> rusqlite::Result<String> {
    let connection = Connection::open_in_memory()?;
    let mut statement = connection.prepare("PRAGMA compile_options")?;
    let options = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(options.join(","))
}

const RUSQLITE: &str = "rusqlite 0.40.2";

/// All drivers with their versions: the plan's driver is not yet known.
fn driver_versions() -> String {
    let others = [mysql::VERSION, http::VERSION, translate::VERSION, shim::VERSION, null::VERSION];
    [&[RUSQLITE], &postgres::VERSIONS[..], &others].concat().join(",")
}

/// More statements than a connection is likely to cache.
const MANY: usize = 64;

/// Size of rusqlite's cache of statements, which it does not report: a statement from the cache has been executed
/// before.
fn statements_kept(connection: &Connection) -> rusqlite::Result<usize> {
    let prepare = |i: usize| connection.prepare_cached(&format!("SELECT {i}"));
    for i in 0..MANY {
        prepare(i)?.query_row([], |_| Ok(()))?;
    }
    let mut kept = 0;
    while kept < MANY && prepare(MANY - 1 - kept)?.get_status(StatementStatus::Run) > 0 {
        kept += 1;
    }
    Ok(kept)
}

/// Default settings of connections of these libraries, by driver.
fn defaults() -> rusqlite::Result<[(&'static str, String); 3]> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch("CREATE TABLE probe (value); INSERT INTO probe VALUES (1)")?;
    let autocommit = if connection.is_autocommit() { "on" } else { "off" };
    Ok([
        ("rusqlite.autocommit", autocommit.to_string()),
        ("rusqlite.statement_cache", statements_kept(&connection)?.to_string()),
        ("mysql.statement_cache", ::mysql::Opts::default().get_stmt_cache_size().to_string()),
    ])
}

/// Versions and capabilities of a worker with these drivers.
///
/// # Errors
/// SQLite cannot be asked for its compile options.
pub fn facts(drivers: &[&str]) -> rusqlite::Result<Facts> {
    let facts = [
        ("protocol", PROTOCOL_VERSION.to_string()),
        ("language", LANGUAGE.to_string()),
        ("driver", RUSQLITE.to_string()),
        ("engine", format!("SQLite {}", rusqlite::version())),
        ("lock_wait", "measured".to_string()),
        ("drivers", drivers.join(",")),
        ("driver_versions", driver_versions()),
        ("models", format!("{},{}", models::names(), http::MODEL)),
        ("compile_options", compile_options()?),
    ];
    Ok(facts.into_iter().chain(defaults()?).map(|(key, value)| (key.to_string(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::own::DRIVERS;
    use std::collections::BTreeSet;

    #[test]
    fn every_driver_has_a_version_and_an_arm() {
        let versions = driver_versions();
        let named: Vec<&str> = versions.split(',').filter_map(|said| said.split(' ').next()).collect();
        let sorted = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        assert_eq!((named.len(), sorted(&named)), (DRIVERS.len(), sorted(DRIVERS)), "{versions}");
        for name in DRIVERS {
            // Where a driver is opened, the compiler finds an arm that is missing.
            assert_eq!(Driver::of(name).is_ok(), *name != http::DRIVER, "{name}");
        }
        assert!(Driver::of("sqlx").is_err_and(|e| e.to_string().contains("driver sqlx")));
    }

    #[test]
    fn the_versions_said_are_those_that_were_built() {
        let lock = include_str!("../../../Cargo.lock");
        for said in driver_versions().split(',') {
            // The driver's name may come before its library's.
            let mut words = said.rsplit(' ');
            let (version, name) = (words.next().expect("a version"), words.next().expect("a name"));
            let built = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&built), "{said} is not what Cargo.lock says");
        }
    }
}
