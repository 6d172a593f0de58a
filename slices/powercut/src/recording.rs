//! Table cells about the recording, its cost, and the kills.

use crate::results::{PROCESS, Powercut};
use contend::report::content::words::{NOTHING, count};
use contend::report::document::{Cell as TableCell, Tone};
use contend_stats::precision::Ratio;

/// Cells about what was recorded and how many processes were killed.
pub fn recorded(found: &Powercut, kills: u32, rate: Option<f64>) -> Vec<TableCell> {
    let number = |n: u64| if n == 0 { TableCell::muted("0") } else { TableCell::new(count(n)) };
    let killed: u64 = found.crashes.iter().filter(|c| c.model == PROCESS).map(|c| c.count).sum();
    let tone = if killed < u64::from(kills) { Tone::Worse } else { Tone::Plain };
    let by_vfs = found.by_vfs.as_deref();
    let by_whom = by_vfs.map_or(String::new(), |why| format!("of one process, by a VFS of SQLite ({why})"));
    let log = match (found.entries, found.log_full) {
        (0, _) => TableCell::muted("nothing recorded").small(found.not_verified.as_deref().unwrap_or("")),
        (_, true) => TableCell::new("log full").tone(Tone::Worse).small("what came later is in no image"),
        (_, false) => TableCell::new("whole").small(found.not_verified.as_deref().unwrap_or(&by_whom)),
    };
    vec![
        number(found.acknowledged),
        overhead(found, rate),
        number(found.entries),
        number(found.syncs),
        log,
        TableCell::new(format!("{} of {}", count(killed), count(u64::from(kills))))
            .small(found.not_killed.as_deref().unwrap_or(""))
            .tone(tone),
    ]
}

/// Time of a commit during the recording, relative to the ordinary disk in the same trial.
fn overhead(found: &Powercut, rate: Option<f64>) -> TableCell {
    match rate.filter(|rate| *rate > 0.0 && found.acknowledged > 0) {
        Some(rate) => {
            let times = found.recorded_ns as f64 / 1e9 / found.acknowledged as f64 * rate;
            TableCell::new(Ratio(times).to_string())
        }
        None => TableCell::muted(NOTHING),
    }
}
