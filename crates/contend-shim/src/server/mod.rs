//! A connection to the server. The messages of a batch are sent together and answered in one round trip.

mod mariadb;
mod message;
mod postgres;

pub use message::{Cancel, Kind, LOCKED, Message, Reply, Said, Server, Trouble};

use std::time::Duration;

const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How a server is reached.
pub enum Address {
    Postgres(Box<tokio_postgres::Config>),
    MariaDb(mysql::Opts),
}

/// Connects. `prepares`: whether texts that are used often are prepared, where that saves time.
///
/// # Errors
/// The server cannot be reached, or reports an error.
pub fn connect(address: &Address, prepares: bool) -> Result<Box<dyn Server>, Trouble> {
    Ok(match address {
        Address::Postgres(config) => Box::new(postgres::Postgres::connect(config, prepares, CONNECT_TIME)?),
        Address::MariaDb(opts) => Box::new(mariadb::MariaDb::connect(opts, CONNECT_TIME)?),
    })
}
