//! A contender with one setting changed, such as `synchronous=off`: an experiment, never a comparison.

use super::model::{Contender, Resolved};
use super::spec;
use crate::engine::{self, Settings};
use anyhow::{Result, anyhow};

/// Settings under which commits wait for no sync; each engine has one of them.
const WITHOUT_SYNCS: [(&str, &str); 3] =
    [("synchronous", "off"), ("synchronous_commit", "off"), ("innodb_flush_log_at_trx_commit", "0")];

/// The contender without syncs, and the setting in words; `None` if it waits for none already, or has no such setting.
///
/// # Errors
/// The contender's name cannot be read.
pub fn without_syncs(base: &Contender) -> Result<Option<(String, Contender)>> {
    for (key, value) in WITHOUT_SYNCS {
        if let Some(found) = with_setting(base, key, value)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The contender with another value of a setting, and the setting in words; `None` if it has this value already, or no such
/// setting.
///
/// # Errors
/// The contender's name cannot be read.
pub fn with_setting(base: &Contender, key: &str, value: &str) -> Result<Option<(String, Contender)>> {
    let mut draft = spec::parse(&base.name).map_err(|why| anyhow!("{}: {why}", base.name))?;
    let before = base.resolved.settings.get(key).map(String::as_str);
    if !draft.knows(key) || before == Some(value) || draft.set(key, value).is_err() {
        return Ok(None);
    }
    let Ok(complete) = draft.complete(&Settings::new()) else { return Ok(None) };
    let how = format!("{key}={value}");
    let contender = engine::resolved(Contender {
        name: complete.to_string(),
        label: format!("{}, {how}", base.label),
        engine: complete.engine,
        driver: complete.driver,
        model: complete.model,
        worker: complete.worker,
        settings: complete.settings,
        tier: complete.tier,
        resolved: Resolved::default(),
    });
    Ok(Some((how, contender)))
}
