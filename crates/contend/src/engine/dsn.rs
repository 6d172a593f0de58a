//! The address of a server as a user types it with `--dsn`:
//!
//! ```text
//! postgres://USER@HOST:PORT/DATABASE?password_file=PATH
//! postgres://USER@/DATABASE?socket=PATH
//! mysql://USER@/DATABASE?socket=PATH&password_env=NAME
//! ```
//!
//! `socket` is the path of the Unix socket itself. Special characters are written as `%` and two hexadecimal digits. A
//! host that is a path, as PostgreSQL's own clients take it (`postgres://USER@%2Frun%2Fpostgresql/`), is the directory
//! of a socket. Plans and scripts have the same in fields ([`contend_wire::database`]).

use contend_wire::database::{Address, Endpoint, Password};
use std::fmt;

/// The server of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dsn {
    /// The part before `://`: `postgres` or `mysql`.
    pub scheme: String,
    /// Server, user and database.
    pub address: Address,
}

/// A typed address, with its password separated.
#[derive(Clone, PartialEq, Eq)]
pub struct Typed {
    /// The address, without the password.
    pub dsn: Dsn,
    /// The password, if one was typed.
    pub password: Option<String>,
}

impl fmt::Debug for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "(not shown)");
        f.debug_struct("Typed").field("dsn", &self.dsn).field("password", &password).finish()
    }
}

/// Schemes by the names people use, with the standard port.
const SCHEMES: &[(&str, &str, u16)] = &[
    ("postgres", "postgres", 5432),
    ("postgresql", "postgres", 5432),
    ("mysql", "mysql", 3306),
    ("mariadb", "mysql", 3306),
];

impl Typed {
    /// Reads an address as a user types it.
    ///
    /// # Errors
    /// The mistake, without the text itself, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or("the address of a server begins with SCHEME://")?;
        let (_, scheme, standard_port) =
            SCHEMES.iter().find(|(name, _, _)| *name == scheme).ok_or_else(|| no_scheme(scheme))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        let (mut socket, mut found) = (None, Password::None);
        let twice = |key: &str| Err(format!("after the `?` the address of a server names {key} more than once"));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                // The text here may be the rest of a password.
                "socket" if socket.is_some() => return twice("a socket"),
                "password_file" | "password_env" if found != Password::None => return twice("a place of the password"),
                "socket" => socket = Some(decode(value)?),
                "password_file" => found = Password::File(decode(value)?),
                "password_env" => found = Password::Env(decode(value)?),
                _ => {
                    return Err("after a `?` the address of a server has only socket=, password_file= and \
                                password_env=; a `?` in a password is written %3F"
                        .to_string());
                }
            }
        }
        let endpoint = match socket {
            Some(path) if path.is_empty() => return Err("socket= has no path".to_string()),
            Some(_) if !place.is_empty() => {
                return Err("the address of a server names both a host and socket=; leave one out".to_string());
            }
            Some(path) => Endpoint::Socket(path),
            None => match tcp(place, *standard_port)? {
                Endpoint::Tcp(host, port) if host.starts_with('/') => in_directory(scheme, &host, port)?,
                endpoint => endpoint,
            },
        };
        if user.is_empty() {
            return Err("the address of a server names the user: SCHEME://USER@HOST/DATABASE".to_string());
        }
        let address = Address { user: decode(user)?, endpoint, database: decode(database)?, password: found };
        Ok(Self { dsn: Dsn { scheme: (*scheme).to_string(), address }, password })
    }
}

/// The error for an unknown scheme, which is shown only if it looks like one.
fn no_scheme(found: &str) -> String {
    let known = "schemes are postgres, mysql and mariadb";
    match found.bytes().all(|b| b.is_ascii_alphabetic()) {
        true => format!("`{found}` is not a scheme; {known}"),
        false => format!("the text before :// is not a scheme; {known}"),
    }
}

/// `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
fn tcp(place: &str, standard_port: u16) -> Result<Endpoint, String> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) if !rest.is_empty() && !rest.starts_with(':') => {
            return Err("after the `]` of the server's host comes `:` and the port".to_string());
        }
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("the address of a server names a host or a socket".to_string());
    }
    let port = match port {
        None => standard_port,
        Some(port) => {
            let port = port.parse().ok().filter(|port| *port > 0);
            port.ok_or("the port of the server is not a number from 1 to 65535")?
        }
    };
    Ok(Endpoint::Tcp(decode(host)?, port))
}

/// A host that is a path: PostgreSQL names the socket in a directory by the port.
fn in_directory(scheme: &str, dir: &str, port: u16) -> Result<Endpoint, String> {
    match scheme {
        "postgres" => Ok(Endpoint::Socket(format!("{}/.s.PGSQL.{port}", dir.trim_end_matches('/')))),
        _ => Err("the host of the server is a path; a socket is named with ?socket=PATH".to_string()),
    }
}

fn decode(text: &str) -> Result<String, String> {
    let wrong = || "a `%` in the address of a server is followed by two hexadecimal digits".to_string();
    let mut bytes = vec![];
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| (b as char).to_digit(16)).ok_or_else(wrong);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).map_err(|_| "the address of a server is not UTF-8".to_string())
}

/// Percent-encodes a text, except unreserved characters of URLs and those in `also`.
fn encoded(text: &str, also: &[u8]) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also.contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { user, endpoint, database, password } = &self.address;
        write!(f, "{}://{}@", self.scheme, encoded(user, b""))?;
        match endpoint {
            Endpoint::Tcp(host, port) if host.contains(':') => write!(f, "[{}]:{port}", encoded(host, b":"))?,
            Endpoint::Tcp(host, port) => write!(f, "{}:{port}", encoded(host, b""))?,
            Endpoint::Socket(_) => {}
        }
        write!(f, "/{}", encoded(database, b""))?;
        let socket = match endpoint {
            Endpoint::Socket(path) => Some(("socket", path)),
            Endpoint::Tcp(..) => None,
        };
        let password = match password {
            Password::None => None,
            Password::File(path) => Some(("password_file", path)),
            Password::Env(name) => Some(("password_env", name)),
        };
        for (i, (key, value)) in socket.into_iter().chain(password).enumerate() {
            write!(f, "{}{key}={}", if i == 0 { '?' } else { '&' }, encoded(value, b"/"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        for text in [
            "postgres://contend@/app_0?socket=/tmp/c-1/.s.PGSQL.5432",
            "postgres://a%40b@127.0.0.1:5433/app%200?password_file=/tmp/x%26y",
            "mysql://root@[::1]:3307/?password_env=SECRET",
            "mysql://root@/app?socket=/run/s.sock&password_file=/p",
        ] {
            assert_eq!(Typed::parse(text).map(|typed| typed.dsn.to_string()).as_deref(), Ok(text));
        }
        let typed = Typed::parse("mariadb://me:p%3Aw@db.example/shop").unwrap();
        assert_eq!((typed.dsn.scheme.as_str(), typed.password.as_deref()), ("mysql", Some("p:w")));
        assert_eq!(typed.dsn.address.endpoint, Endpoint::Tcp("db.example".into(), 3306));
        assert!(!format!("{typed:?} {}", typed.dsn).contains("p:w"));
    }

    #[test]
    fn a_directory_in_place_of_a_host_is_where_the_socket_is() {
        for (text, read) in [
            ("postgres://me@%2Fpath%2Fto%2Fdir/", "postgres://me@/?socket=/path/to/dir/.s.PGSQL.5432"),
            ("postgresql://me@%2frun%2f:5433/d", "postgres://me@/d?socket=/run/.s.PGSQL.5433"),
            ("postgres://me@%2F/d?password_env=P", "postgres://me@/d?socket=/.s.PGSQL.5432&password_env=P"),
        ] {
            assert_eq!(Typed::parse(text).map(|typed| typed.dsn.to_string()).as_deref(), Ok(read), "{text}");
        }
        let message = Typed::parse("mysql://me:secret@%2Frun%2Fmysqld/").unwrap_err();
        assert!(message.contains("?socket=PATH") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, part) in [
            ("postgres//u:secret@h/d", "SCHEME://"),
            ("oracle://u:secret@h/d", "`oracle` is not a scheme"),
            ("postgres://u:secret@h:99999/d", "port"),
            ("postgres://u:secret@/d", "a host or a socket"),
            ("postgres://h/d", "names the user"),
            ("postgres://u:secret@h/d?sslmode=on", "has only socket="),
            ("postgres://u:x?secret@h/d", "%3F"),
            ("postgres://u:x?y&secret=1@h/d", "%3F"),
            ("u:secret://h/d", "before :// is not a scheme"),
            ("postgres://u:sec%zzret@h/d", "two hexadecimal digits"),
            ("postgres://u:secret@h/d?socket=/s", "both a host and socket="),
            ("postgres://u:secret@/d?socket=/s&socket=/t", "a socket more than once"),
            ("postgres://u:secret@/d?socket=", "no path"),
            ("mysql://u@h/d?password_file=/secret&password_env=P", "a place of the password more than once"),
            ("mysql://u:secret@[::1]3306/d", "after the `]`"),
            ("mysql://u:secret@h:0/d", "from 1 to 65535"),
        ] {
            let message = Typed::parse(text).unwrap_err();
            assert!(message.contains(part) && !message.contains("secret"), "{text}: {message}");
        }
    }
}
