//! A server's interface for migrations: a connection with SQLite's settings, bulk loads, rows in SQLite's
//! representation.

mod mariadb;
mod postgres;
mod product;

pub use product::{Load, Product, text};

use anyhow::{Context, Result, bail, ensure};
use contend::trial::server::attached::Attached;
use contend::trial::watch::janitor::Janitor;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use product::rows;

/// A connection to the server of an address in the form of `--dsn`.
pub struct Server {
    pub product: Box<dyn Product>,
    /// Without password.
    pub address: String,
    pub version: String,
    /// Keeps the password file as long as the server is used.
    _secret: (Attached, Janitor),
}

impl Server {
    /// Connects. `schema`: instead of the user's first one; whether it must be there.
    ///
    /// # Errors
    /// What is wrong with the address, without it; the server cannot be reached, or refuses.
    pub fn connect(text: &str, schema: Option<&str>, must_exist: bool) -> Result<Server> {
        let (attached, janitor) = Attached::alone(text)?;
        let shown = attached.shown();
        let address = shown.to_string();
        if shown.address.database.is_empty() {
            bail!("{address}: name the database to migrate to: {}://USER@HOST/DATABASE", shown.scheme);
        }
        let database = Database::Server(attached.address.address.clone());
        let opened: Result<Box<dyn Product>> = match shown.scheme.as_str() {
            "postgres" => postgres::Postgres::open(&database).map(|product| Box::new(product) as Box<dyn Product>),
            _ => mariadb::MariaDb::open(&database).map(|product| Box::new(product) as Box<dyn Product>),
        };
        let mut product = opened.with_context(|| address.clone())?;
        let version = product.version()?;
        product.lock()?;
        if let Some(schema) = schema {
            product.enter(schema).context(address.clone())?;
            ensure!(!must_exist || product.has_schema(schema)?, "{address}: there is no schema {schema}");
        }
        Ok(Server { product, address, version, _secret: (attached, janitor) })
    }

    /// All rows of a small query.
    ///
    /// # Errors
    /// The server rejects the query.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Value>>> {
        rows(self.product.as_mut(), sql)
    }
}
