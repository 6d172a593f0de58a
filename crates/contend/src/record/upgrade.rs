//! Records of older formats, upgraded as they are read. The only reader of today's tables of engines after a run began.
//!
//! - Format 1: a worker had one role, in fields instead of a list.
//! - Format 2: contenders had no `resolved` facts, trials no `tier_reported`, and a mark was its text.

use crate::contender::{Contender, Resolved};
use crate::engine;
use crate::record::model::RECORD_VERSION;
use anyhow::{Context, Result};
use toml::{Table, Value};

/// Format of a file, if it is older than [`RECORD_VERSION`].
fn older(table: &Table) -> Option<i64> {
    table.get("format").and_then(Value::as_integer).filter(|format| *format < i64::from(RECORD_VERSION))
}

/// Upgrades a `run.toml`.
///
/// # Errors
/// A contender is not as its format says.
pub fn run(table: &mut Table) -> Result<()> {
    if older(table).is_none() {
        return Ok(());
    }
    let contenders = table.get_mut("study").and_then(|study| study.get_mut("contenders")).and_then(Value::as_array_mut);
    for value in contenders.into_iter().flatten() {
        resolve(value).context("a contender of the study")?;
    }
    newest(table);
    Ok(())
}

fn resolve(value: &mut Value) -> Result<()> {
    let contender = value.as_table_mut().context("is no table")?;
    contender.insert("resolved".to_string(), Value::try_from(Resolved::default())?);
    let resolved = engine::resolved(value.clone().try_into::<Contender>()?);
    *value = Value::try_from(resolved)?;
    Ok(())
}

/// Upgrades a `trial.toml`.
///
/// # Errors
/// Something in it is not as its format says.
pub fn trial(table: &mut Table) -> Result<()> {
    let Some(format) = older(table) else { return Ok(()) };
    if format < 2 {
        roles(table);
    }
    tier_reported(table)?;
    newest(table);
    Ok(())
}

/// The role of each worker becomes a list of one.
fn roles(table: &mut Table) {
    for worker in table.get_mut("workers").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(worker) = worker.as_table_mut() else { continue };
        let only: Table = ["role", "first_client", "clients"]
            .into_iter()
            .filter_map(|key| Some((key.to_string(), worker.remove(key)?)))
            .collect();
        worker.insert("roles".to_string(), Value::Array(vec![Value::Table(only)]));
    }
}

/// The tier of the settings that connections reported; the engine is what the contender's name begins with.
fn tier_reported(table: &mut Table) -> Result<()> {
    let engine = table.get("contender").and_then(Value::as_str).and_then(|name| name.split('/').next());
    let settings = table.get("settings").and_then(Value::as_table).filter(|settings| !settings.is_empty());
    let (Some(engine), Some(settings)) = (engine, settings) else { return Ok(()) };
    let reported = settings.clone().try_into()?;
    if let Some(tier) = engine::tier_reported(engine, &reported) {
        table.insert("tier_reported".to_string(), Value::try_from(tier)?);
    }
    Ok(())
}

fn newest(table: &mut Table) {
    table.insert("format".to_string(), Value::from(i64::from(RECORD_VERSION)));
}
