//! Upgrades records of older formats when they are read. What they lack comes from data of that time ([`frozen`]), not
//! from today's tables of engines.
//!
//! - Format 1: a worker had one role, in fields instead of a list.
//! - Format 2: contenders had no `resolved` facts, trials no `tier_reported`, and a mark was its text; the unit of a
//!   study's own metric was the end of its name, and what a run could not show a sentence among the limits.

use super::frozen;
use crate::contender::{Contender, Resolved};
use crate::outcome::mark::Mark;
use crate::record::model::RECORD_VERSION;
use crate::study::model::{Absence, LeftOut};
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
    let metrics = table.get_mut("study").and_then(|study| study.get_mut("metrics")).and_then(Value::as_array_mut);
    for metric in metrics.into_iter().flatten().filter_map(Value::as_table_mut) {
        unit(metric);
    }
    if let Some(study) = table.get_mut("study").and_then(Value::as_table_mut) {
        left_out(study)?;
    }
    newest(table);
    Ok(())
}

/// Turns sentences among the limits of a study into values of `left_out`.
fn left_out(study: &mut Table) -> Result<()> {
    let Some(limits) = study.get_mut("limits").and_then(Value::as_array_mut) else { return Ok(()) };
    let read: Vec<Option<LeftOut>> = limits.iter().map(|limit| read_left_out(limit.as_str()?)).collect();
    let mut read_again = read.iter();
    limits.retain(|_| read_again.next().is_some_and(Option::is_none));
    let left_out: Vec<LeftOut> = read.into_iter().flatten().collect();
    if !left_out.is_empty() {
        study.insert("left_out".to_string(), Value::try_from(left_out)?);
    }
    Ok(())
}

fn read_left_out(sentence: &str) -> Option<LeftOut> {
    if let Some((ask, why)) = sentence.strip_prefix('“').and_then(|rest| rest.split_once(NO_ANSWER)) {
        let (label, why) = why.strip_prefix('`')?.rsplit_once('`')?;
        let why = if why.contains(MORE_THAN_ONCE) { Absence::Several } else { Absence::NotPart };
        return Some(LeftOut::Answer { ask: ask.to_string(), label: label.to_string(), why });
    }
    let effect = sentence.strip_prefix(EFFECT)?.strip_suffix(NOT_SHOWN)?;
    let (factor, values) = effect.split_once(FROM)?;
    let (from, to) = values.split_once(TO)?;
    Some(LeftOut::Effect { factor: factor.to_string(), from: from.to_string(), to: to.to_string() })
}

/// Parts of the sentences that records of format 2 have.
const NO_ANSWER: &str = "” has no answer here: ";
const MORE_THAN_ONCE: &str = " is part of this run more than once";
const EFFECT: &str = "The effect of ";
const FROM: &str = " from ";
const TO: &str = " to ";
const NOT_SHOWN: &str = " is not shown: no two contenders of this run differ in just that.";

/// Units that ended the names of metrics.
const UNITS: [&str; 7] = ["ns", "us", "ms", "s", "percent", "bytes", "mib"];

/// Gives a study's own metric the unit and divisor at the end of its name: `own_us_per_operation`.
fn unit(metric: &mut Table) {
    let Some(name) = metric.get("name").and_then(Value::as_str).map(str::to_string) else { return };
    let (name, per) = name.rsplit_once("_per_").unwrap_or((&name, ""));
    if let Some(unit) = name.rsplit('_').next().filter(|end| UNITS.contains(end)) {
        metric.insert("unit".to_string(), Value::from(unit));
    }
    if !per.is_empty() {
        metric.insert("per".to_string(), Value::from(per.replace('_', " ")));
    }
}

fn resolve(value: &mut Value) -> Result<()> {
    let contender = value.as_table_mut().context("is no table")?;
    contender.insert("resolved".to_string(), Value::try_from(Resolved::default())?);
    let mut contender = value.clone().try_into::<Contender>()?;
    contender.resolved = frozen::resolved(&contender);
    *value = Value::try_from(contender)?;
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
    marks(table)?;
    newest(table);
    Ok(())
}

/// Turns the role of each worker into a list of one.
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

/// Adds the tier of the settings that connections reported; the contender's name begins with the engine.
fn tier_reported(table: &mut Table) -> Result<()> {
    let engine = table.get("contender").and_then(Value::as_str).and_then(|name| name.split('/').next());
    let settings = table.get("settings").and_then(Value::as_table).filter(|settings| !settings.is_empty());
    let (Some(engine), Some(settings)) = (engine, settings) else { return Ok(()) };
    let reported = settings.clone().try_into()?;
    if let Some(tier) = frozen::tier_reported(engine, &reported) {
        table.insert("tier_reported".to_string(), Value::try_from(tier)?);
    }
    Ok(())
}

/// Turns the texts of marks into values.
fn marks(table: &mut Table) -> Result<()> {
    let texts = table.get("marks").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let marks = texts.map(|text| Value::try_from(mark(text, table))).collect::<Result<_, _>>()?;
    table.insert("marks".to_string(), Value::Array(marks));
    Ok(())
}

/// The mark of a text, with the numbers of its trial where the text rounds them.
fn mark(text: &str, trial: &Table) -> Mark {
    let number = |key| trial.get(key).and_then(Value::as_integer).unwrap_or(0) as u64;
    let (kind, rest) = text.split_once(": ").unwrap_or((text, ""));
    let found = match kind {
        "noisy disk" => Some(Mark::NoisyDisk { sync_ns: number("fsync_ns_p50_before") }),
        "noisy" => Some(Mark::NoisyCpu { permille: number("foreign_cpu_permille") as u32 }),
        "not warm" => Some(Mark::NotWarm {
            compiled_ns: compiled_ns(trial),
            window_ns: number("window_end_ns").saturating_sub(number("window_start_ns")),
        }),
        "starved" => starved(rest),
        "no steady state" => no_steady_state(rest),
        "not verified" => Some(Mark::NotVerified { why: rest.to_string() }),
        _ => None,
    };
    found.unwrap_or_else(|| Mark::Other { text: text.to_string() })
}

fn compiled_ns(trial: &Table) -> u64 {
    let workers = trial.get("workers").and_then(Value::as_array).into_iter().flatten();
    let reported =
        workers.filter_map(|worker| worker.get("told")?.get("jit_in_window_ns")?.as_str()?.parse::<u64>().ok());
    reported.sum()
}

/// `1 of 3 clients began nothing in the window`.
fn starved(text: &str) -> Option<Mark> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(Mark::Starved { clients: words[0].parse().ok()?, of: words.get(2)?.parse().ok()? })
}

/// `the throughput falls by 20 % from the first third of the window to the last`.
fn no_steady_state(text: &str) -> Option<Mark> {
    let words: Vec<&str> = text.split(' ').collect();
    let sign = if *words.get(2)? == "falls" { -1.0 } else { 1.0 };
    let percent: f64 = words.get(4)?.parse().ok()?;
    Some(Mark::NoSteadyState { change_ppm: percent.is_finite().then_some((sign * percent * 1e4) as i64) })
}

fn newest(table: &mut Table) {
    table.insert("format".to_string(), Value::from(i64::from(RECORD_VERSION)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(text: &str) -> Table {
        let mut table: Table = text.parse().unwrap();
        trial(&mut table).unwrap();
        table
    }

    #[test]
    fn the_role_of_a_worker_becomes_a_list_of_one() {
        let old = "format = 1\n[[workers]]\nnumber = 0\nrole = \"site\"\nfirst_client = 3\nclients = 2\n";
        let new =
            "format = 2\n[[workers]]\nnumber = 0\n[[workers.roles]]\nrole = \"site\"\nfirst_client = 3\nclients = 2\n";
        assert_eq!(upgraded(old), upgraded(new));
        let mut newest = upgraded(new);
        let before = newest.clone();
        trial(&mut newest).unwrap();
        assert_eq!(newest, before, "the newest stays as it is");
    }

    #[test]
    fn marks_become_values_that_say_the_same() {
        for text in [
            "noisy disk: a sync took 9.00 ms right before",
            "noisy: others used 43.7 % of the CPU",
            "not warm: compiled for 156 ms in a window of 400 ms",
            "starved: 1 of 3 clients began nothing in the window",
            "no steady state: the throughput climbs by 2800 % from the first third of the window to the last",
            "no steady state: the throughput falls by 20 % from the first third of the window to the last",
            "not verified: no FUSE: is not there",
            "lazy",
        ] {
            let table = upgraded(&format!(
                "format = 2\nmarks = [\"{text}\"]\nfsync_ns_p50_before = 9_000_000\nforeign_cpu_permille = 437\n\
                 window_start_ns = 100\nwindow_end_ns = 400_000_100\n[[workers]]\ntold.jit_in_window_ns = \"156000000\"\n"
            ));
            let marks: Vec<Mark> = table["marks"].clone().try_into().unwrap();
            assert_eq!(
                (marks[0].to_string(), marks[0].is_disturbance()),
                (text.to_string(), text.starts_with("noisy"))
            );
        }
        let infinite = "no steady state: the throughput climbs by inf % from the first third of the window to the last";
        let none = Mark::NoSteadyState { change_ppm: None };
        assert_eq!(mark(infinite, &Table::new()), none);
    }
}
