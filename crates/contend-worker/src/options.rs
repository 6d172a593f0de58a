//! The options of a plan or script that concern driver and model.

use anyhow::{Result, bail};

/// Parsed options; missing ones have the default that the field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// `busy_timeout_ms`; `None` for what driver and session statements set.
    pub busy_timeout_ms: Option<u32>,
    /// `statements` = `prepared` (default) or `each`: prepared again for every execution.
    pub prepare_each: bool,
    /// `lock_wait` = `measured` (default) or `off`: SQLite's own busy handler, nothing measured.
    pub lock_wait_measured: bool,
    /// `busy_handler` = `sqlite` (its own pauses, as without this option) or `1ms`: a try for the lock each millisecond.
    pub tries_each_ms: Option<bool>,
    /// `foreign_keys` = `on` or `off`; `None` for what driver and session statements set.
    pub foreign_keys: Option<bool>,
    /// `storage` = `file` (default) or `memory`: the data is copied into memory, and back after the run.
    pub in_memory: bool,
    /// `tokio_threads`: threads of the runtime that run tasks. Optional, like the next two, because models that do not
    /// use it reject it.
    pub tokio_threads: Option<u32>,
    /// `blocking_threads`: threads of the runtime that may block, at most.
    pub blocking_threads: Option<u32>,
    /// `pool_readers`: connections that read, in addition to the one that writes.
    pub pool_readers: Option<u32>,
    /// Options of the translating driver.
    #[cfg(feature = "rusqlite")]
    pub translation: crate::translate::wanted::Wanted,
}

/// `tokio_threads` when it is not given.
pub const TOKIO_THREADS: u32 = 4;
/// `blocking_threads` when it is not given: Tokio's own default.
pub const BLOCKING_THREADS: u32 = 512;
/// `pool_readers` when it is not given.
pub const POOL_READERS: u32 = 4;

/// Most of any of these; Tokio takes no more threads than this.
const COUNT_MAX: u32 = 32_767;

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout_ms: None,
            prepare_each: false,
            lock_wait_measured: true,
            tries_each_ms: None,
            foreign_keys: None,
            in_memory: false,
            tokio_threads: None,
            blocking_threads: None,
            pool_readers: None,
            #[cfg(feature = "rusqlite")]
            translation: crate::translate::wanted::Wanted::default(),
        }
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
                "busy_timeout_ms" => match value.parse::<u32>() {
                    Ok(ms) if i32::try_from(ms).is_ok() => options.busy_timeout_ms = Some(ms),
                    _ => bail!("option busy_timeout_ms: `{value}` is not a number of milliseconds"),
                },
                "statements" => options.prepare_each = choice("each", "prepared")?,
                "lock_wait" => options.lock_wait_measured = choice("measured", "off")?,
                "busy_handler" => options.tries_each_ms = Some(choice("1ms", "sqlite")?),
                "foreign_keys" => options.foreign_keys = Some(choice("on", "off")?),
                "storage" => options.in_memory = choice("memory", "file")?,
                "tokio_threads" => options.tokio_threads = Some(count(name, value)?),
                "blocking_threads" => options.blocking_threads = Some(count(name, value)?),
                "pool_readers" => options.pool_readers = Some(count(name, value)?),
                #[cfg(feature = "rusqlite")]
                _ if options.translation.take(name, value)? => {}
                _ => bail!("option {name}: this worker has no such option"),
            }
        }
        Ok(options)
    }
}

/// Whether an option has the first of its two words.
pub(crate) fn choice(name: &str, value: &str, yes: &str, no: &str) -> Result<bool> {
    match value {
        value if value == yes => Ok(true),
        value if value == no => Ok(false),
        other => bail!("option {name}: `{other}` is not {yes} or {no}"),
    }
}

fn count(name: &str, value: &str) -> Result<u32> {
    match value.parse() {
        Ok(n @ 1..=COUNT_MAX) => Ok(n),
        _ => bail!("option {name}: `{value}` is not a number from 1 to {COUNT_MAX}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<Options> {
        Options::parse(&[(name.to_string(), value.to_string())])
    }

    #[test]
    fn known_options_are_read() {
        assert_eq!(parse("busy_timeout_ms", "250").unwrap().busy_timeout_ms, Some(250));
        assert!(parse("statements", "each").unwrap().prepare_each);
        assert!(!parse("lock_wait", "off").unwrap().lock_wait_measured);
        assert_eq!(parse("foreign_keys", "on").unwrap().foreign_keys, Some(true));
        assert_eq!(parse("busy_handler", "1ms").unwrap().tries_each_ms, Some(true));
        assert!(parse("storage", "memory").unwrap().in_memory);
        assert_eq!(parse("tokio_threads", "2").unwrap().tokio_threads, Some(2));
    }

    #[test]
    fn unknown_options_and_values_are_named() {
        assert!(parse("buzy_timeout_ms", "1").unwrap_err().to_string().contains("buzy_timeout_ms"));
        assert!(parse("statements", "cached").unwrap_err().to_string().contains("cached"));
        assert!(parse("busy_timeout_ms", "-1").is_err());
        assert!(parse("pool_readers", "0").unwrap_err().to_string().contains("pool_readers"));
        assert!(parse("busy_timeout_ms", "4294967295").is_err());
    }
}
