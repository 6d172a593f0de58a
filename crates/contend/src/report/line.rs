//! A run as one line of JSON, for scripts: operations that were due in the window, and those that were never begun.

use crate::check::deeds_count;
use crate::outcome::code_name;
use crate::record::model::Trial;
use crate::record::store::Record;
use crate::record::tally::per_second;
use anyhow::Result;
use contend_wire::sample::Sample;
use serde_json::json;
use std::collections::BTreeMap;

/// What trials have shown together.
#[derive(Default)]
struct Sum {
    ok: u64,
    failed: u64,
    unsent: u64,
    errors: BTreeMap<String, u64>,
    /// Of valid trials: response times of what succeeded.
    ok_ns: Vec<u64>,
    /// Commits that finished inside the window, as throughput counts them.
    inside: u64,
    inside_ns: u64,
    /// Windows of all of them.
    wall_ns: u64,
}

/// The line, without its end. Rates and times are of valid trials; what succeeded and what failed also of those that are
/// invalid for their speed alone.
///
/// # Errors
/// The samples of a trial cannot be read.
pub fn line(record: &Record, label: &str) -> Result<String> {
    let mut sum = Sum::default();
    for trial in record.trials.iter().filter(|trial| deeds_count(&trial.invalid)) {
        sum.add(record, trial)?;
    }
    Ok(sum.line(label))
}

impl Sum {
    fn add(&mut self, record: &Record, trial: &Trial) -> Result<()> {
        let (window, valid) = (trial.window_start_ns..trial.window_end_ns, trial.invalid.is_empty());
        let mut last: BTreeMap<(u32, u32), Sample> = BTreeMap::new();
        record.samples(trial.slot.trial, |sample| {
            self.inside += u64::from(valid && sample.is_ok() && window.contains(&sample.finished_ns));
            if window.contains(&sample.due_ns) {
                last.insert((sample.client, sample.operation), sample);
            }
        })?;
        for sample in last.values() {
            if sample.is_ok() {
                self.ok += 1;
                self.ok_ns.extend(valid.then(|| sample.finished_ns - sample.due_ns));
            } else {
                self.failed += 1;
                *self.errors.entry(code_name(sample.code_space, sample.code)).or_default() += 1;
            }
        }
        self.unsent += trial.planned.values().sum::<u64>().saturating_sub(last.len() as u64);
        let window_ns = trial.window_end_ns.saturating_sub(trial.window_start_ns);
        self.wall_ns += window_ns;
        self.inside_ns += if valid { window_ns } else { 0 };
        Ok(())
    }

    fn line(mut self, label: &str) -> String {
        if self.unsent > 0 {
            self.errors.insert("unsent".to_string(), self.unsent);
        }
        self.ok_ns.sort_unstable();
        let quantile = |q: f64| {
            let rank = (q * self.ok_ns.len() as f64).ceil() as usize;
            self.ok_ns.get(rank.max(1) - 1).copied()
        };
        // Where nothing succeeded nothing took any time, which is not 0; where no trial is valid there is no rate.
        let ms = |ns: Option<u64>| ns.map(|ns| (ns as f64 / 1e3).round() / 1e3);
        let wall_s = self.wall_ns as f64 / 1e9;
        let per_s = (self.inside_ns > 0).then(|| (per_second(self.inside, self.inside_ns) * 10.0).round() / 10.0);
        json!({
            "label": label,
            "total": self.ok + self.failed + self.unsent,
            "ok": self.ok,
            "failed": self.failed + self.unsent,
            "wall_s": (wall_s * 1e3).round() / 1e3,
            "req_per_s": per_s,
            "p50_ms": ms(quantile(0.5)),
            "p95_ms": ms(quantile(0.95)),
            "p99_ms": ms(quantile(0.99)),
            "max_ms": ms(quantile(1.0)),
            "err_sample": most_frequent(&self.errors),
        })
        .to_string()
    }
}

/// The three most frequent messages with their counts.
fn most_frequent(errors: &BTreeMap<String, u64>) -> String {
    let mut errors: Vec<(&String, &u64)> = errors.iter().collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    errors.iter().take(3).map(|(message, count)| format!("{message} x {count}")).collect::<Vec<_>>().join(", ")
}
