//! The options of a plan or script that concern driver and model.

use anyhow::{Result, bail};

/// Options as understood; what is not given has the default the field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// `busy_timeout_ms`; none: what driver and session statements set.
    pub busy_timeout_ms: Option<u32>,
    /// `statements` = `prepared` (default) or `each`: prepared anew for every execution.
    pub prepare_each: bool,
    /// `lock_wait` = `measured` (default) or `off`: SQLite's own busy handler, nothing measured.
    pub lock_wait_measured: bool,
    /// `foreign_keys` = `on` or `off`; none: left to driver and session statements.
    pub foreign_keys: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self { busy_timeout_ms: None, prepare_each: false, lock_wait_measured: true, foreign_keys: None }
    }
}

impl Options {
    /// Reads the options of a plan.
    ///
    /// # Errors
    /// An option or a value this worker does not know.
    pub fn parse(pairs: &[(String, String)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in pairs {
            match (name.as_str(), value.as_str()) {
                ("busy_timeout_ms", text) => match text.parse::<u32>() {
                    Ok(ms) if i32::try_from(ms).is_ok() => options.busy_timeout_ms = Some(ms),
                    _ => bail!("option busy_timeout_ms: `{text}` is not a number of milliseconds"),
                },
                ("statements", "prepared") => options.prepare_each = false,
                ("statements", "each") => options.prepare_each = true,
                ("lock_wait", "measured") => options.lock_wait_measured = true,
                ("lock_wait", "off") => options.lock_wait_measured = false,
                ("foreign_keys", "on") => options.foreign_keys = Some(true),
                ("foreign_keys", "off") => options.foreign_keys = Some(false),
                ("statements" | "lock_wait" | "foreign_keys", other) => {
                    bail!("option {name}: `{other}` is not a value this worker knows")
                }
                _ => bail!("option {name}: this worker does not know it"),
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
    fn known_options_are_read() {
        assert_eq!(parse("busy_timeout_ms", "250").unwrap().busy_timeout_ms, Some(250));
        assert!(parse("statements", "each").unwrap().prepare_each);
        assert!(!parse("lock_wait", "off").unwrap().lock_wait_measured);
        assert_eq!(parse("foreign_keys", "on").unwrap().foreign_keys, Some(true));
    }

    #[test]
    fn unknown_options_and_values_are_named() {
        assert!(parse("buzy_timeout_ms", "1").unwrap_err().to_string().contains("buzy_timeout_ms"));
        assert!(parse("statements", "cached").unwrap_err().to_string().contains("cached"));
        assert!(parse("busy_timeout_ms", "-1").is_err());
        assert!(parse("busy_timeout_ms", "4294967295").is_err());
    }
}
