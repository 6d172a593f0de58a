//! The options of the driver `http`.

use crate::options::choice;
use anyhow::{Result, bail};

/// Parsed options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `threads`: event loops, over which the clients are spread.
    pub threads: usize,
    /// `timeout_ms`: of each request, connecting included.
    pub timeout_ns: u64,
    /// `connection` = `keep-alive` (default) or `close`.
    pub keep_alive: bool,
    /// `cookies` = `on` (default) or `off`.
    pub cookies: bool,
    /// `host`: the Host headers of the plan's databases, instead of the address; the last one holds for all further
    /// databases.
    pub hosts: Vec<String>,
    /// `ca`: file of the certificates that are trusted, in place of the system's.
    pub ca: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 1, timeout_ns: 30_000_000_000, keep_alive: true, cookies: true, hosts: vec![], ca: None }
    }
}

impl Options {
    /// Reads the options of a plan.
    ///
    /// # Errors
    /// An unknown option or value.
    pub fn parse(pairs: &[(String, String)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in pairs {
            let choice = |yes, no| choice(name, value, yes, no);
            match name.as_str() {
                "threads" => match value.parse() {
                    Ok(threads @ 1..=64) => options.threads = threads,
                    _ => bail!("option threads: `{value}` is not a number from 1 to 64"),
                },
                "timeout_ms" => match value.parse::<u64>() {
                    Ok(ms @ 1..=86_400_000) => options.timeout_ns = ms * 1_000_000,
                    _ => bail!("option timeout_ms: `{value}` is not a number from 1 to 86400000"),
                },
                "connection" => options.keep_alive = choice("keep-alive", "close")?,
                "ca" => options.ca = Some(value.clone()),
                "cookies" => options.cookies = choice("on", "off")?,
                "host" => {
                    let fits = |b: u8| b.is_ascii_graphic() && !b"/?#@\\".contains(&b);
                    let is_host = |host: &str| !host.is_empty() && host.bytes().all(fits);
                    if !value.split(',').all(is_host) {
                        bail!("option host: `{value}` is not a host, with its port where that matters");
                    }
                    options.hosts = value.split(',').map(str::to_string).collect();
                }
                _ => bail!("option {name}: the driver http has no such option"),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<Options> {
        Options::parse(&[(name.to_string(), value.to_string())])
    }

    #[test]
    fn options_are_read_or_named() {
        assert_eq!(parse("threads", "2").unwrap().threads, 2);
        assert_eq!(parse("timeout_ms", "250").unwrap().timeout_ns, 250_000_000);
        assert!(!parse("connection", "close").unwrap().keep_alive);
        assert!(!parse("cookies", "off").unwrap().cookies);
        assert_eq!(parse("host", "a.test:80,b.test").unwrap().hosts, ["a.test:80", "b.test"]);
        for (name, value) in [
            ("threads", "0"),
            ("timeout_ms", "0"),
            ("host", "a b"),
            ("host", "a,,b"),
            ("host", "a\r\nb"),
            ("busy", "1"),
        ] {
            assert!(parse(name, value).unwrap_err().to_string().contains(name), "{name}");
        }
    }
}
