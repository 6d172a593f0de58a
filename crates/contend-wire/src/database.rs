//! Where a database is: the fields of a `database` line in plans and scripts.
//!
//! | fields | what it is |
//! |---|---|
//! | `file`, path | a file, of an engine in the process of its client |
//! | `tcp`, host, port, user, database, password | a database of a server |
//! | `socket`, path, user, database, password | the same, through a Unix socket |
//! | `service`, URL | a service that speaks HTTP |
//!
//! A plan is printed, kept and sent, so it never carries a password, only where one is: `file:PATH` (its first
//! line), `env:NAME` (a variable of the worker), or `-` for none.

use crate::literal::{escape, unescape};
use std::fmt;

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// Path of a file.
    File(String),
    /// On a server.
    Server(Address),
    /// Address of a service that speaks HTTP, such as `http://127.0.0.1:8080`.
    Service(String),
}

/// A database on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// How the server is reached.
    pub endpoint: Endpoint,
    /// User to log in as.
    pub user: String,
    /// Name of the database; empty: the server's default.
    pub database: String,
    /// Where the password is.
    pub password: Password,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Path of its Unix socket.
    Socket(String),
    /// Host and port.
    Tcp(String, u16),
}

/// Where a password is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Password {
    /// None is needed.
    None,
    /// In the first line of this file.
    File(String),
    /// In this environment variable.
    Env(String),
}

impl Database {
    /// Its path.
    ///
    /// # Errors
    /// It is not a file.
    pub fn file(&self) -> Result<&str, String> {
        match self {
            Database::File(path) => Ok(path),
            other => Err(format!("database {other}: this driver opens files")),
        }
    }

    /// Its server.
    ///
    /// # Errors
    /// It is not on one.
    pub fn server(&self) -> Result<&Address, String> {
        match self {
            Database::Server(server) => Ok(server),
            other => Err(format!("database {other}: this driver connects to a server")),
        }
    }

    /// Its URL.
    ///
    /// # Errors
    /// It is not a service.
    pub fn service(&self) -> Result<&str, String> {
        match self {
            Database::Service(url) => Ok(url),
            other => Err(format!("database {other}: this driver asks a service over HTTP")),
        }
    }

    /// The fields of its line.
    pub fn fields(&self) -> String {
        let server = match self {
            Database::File(path) => return format!("file\t{}", escape(path)),
            Database::Service(url) => return format!("service\t{}", escape(url)),
            Database::Server(server) => server,
        };
        let endpoint = match &server.endpoint {
            Endpoint::Socket(path) => format!("socket\t{}", escape(path)),
            Endpoint::Tcp(host, port) => format!("tcp\t{}\t{port}", escape(host)),
        };
        let password = match &server.password {
            Password::None => "-".to_string(),
            Password::File(path) => format!("file:{}", escape(path)),
            Password::Env(name) => format!("env:{}", escape(name)),
        };
        format!("{endpoint}\t{}\t{}\t{password}", escape(&server.user), escape(&server.database))
    }

    /// Reads what [`Database::fields`] has written.
    ///
    /// # Errors
    /// What is not of the form.
    pub fn decode<'f>(fields: impl Iterator<Item = &'f str>) -> Result<Self, String> {
        let fields = fields.map(unescape).collect::<Result<Vec<_>, _>>()?;
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let server = |endpoint: Endpoint, user: &str, database: &str, password: &str| {
            let password = match password.split_once(':') {
                None if password == "-" => Password::None,
                Some(("file", path)) => Password::File(path.to_string()),
                Some(("env", name)) => Password::Env(name.to_string()),
                _ => return Err("a password is `-`, `file:PATH` or `env:NAME`".to_string()),
            };
            Ok(Database::Server(Address { endpoint, user: user.to_string(), database: database.to_string(), password }))
        };
        match fields[..] {
            ["file", path] => Ok(Database::File(path.to_string())),
            ["service", url] => Ok(Database::Service(url.to_string())),
            ["socket", path, user, database, password] => {
                server(Endpoint::Socket(path.to_string()), user, database, password)
            }
            ["tcp", host, port, user, database, password] => match port.parse() {
                Ok(port) if port > 0 => server(Endpoint::Tcp(host.to_string(), port), user, database, password),
                _ => Err("the port of the server is not a number from 1 to 65535".to_string()),
            },
            _ => Err("a `database` line says `file`, `tcp`, `socket` or `service`, and the fields of that".to_string()),
        }
    }
}

impl Address {
    /// Another database of the same server.
    pub fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_string(), ..self.clone() }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Database::File(path) => f.write_str(path),
            Database::Service(url) => f.write_str(url),
            Database::Server(server) => write!(f, "{server}"),
        }
    }
}

impl fmt::Display for Address {
    /// `USER@HOST:PORT/DATABASE` or `USER@SOCKET/DATABASE`, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { endpoint, user, database, .. } = self;
        match endpoint {
            Endpoint::Socket(path) => write!(f, "{user}@{path}/{database}"),
            Endpoint::Tcp(host, port) => write!(f, "{user}@{host}:{port}/{database}"),
        }
    }
}
