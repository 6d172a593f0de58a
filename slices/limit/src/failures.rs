//! What failed in a probe, in words: codes with counts, and the beginning of a service's answers.

use crate::bound::Bound;
use crate::saved::Probe;
use anyhow::Result;
use contend::analysis::messages::Message;
use contend::analysis::requests::sums_of;
use contend::analysis::tally::Counts;
use contend::analysis::trial::failed;
use contend::outcome::Outcome;
use contend::record::store::Record;
use contend_stats::harmless::harmless;
use contend_stats::precision::counted;
use contend_wire::sample::{CodeSpace, worker_code};

/// Failed operations that are no chance.
pub const FAILURES_MIN: f64 = 3.0;
/// What to do if operations find no row.
pub const NO_ROWS: &str = "the database refused nothing; load more rows for these consumers (`rows` of the table in the workload, or \
                           --scale), or give the transactions that make such rows a share at least as large";
/// Most kinds of failures that are named.
const KINDS: usize = 3;
/// Most characters of an answer.
const CHARS_MAX: usize = 80;

/// The share of operations that failed, if a probe missed this bound on it by more than chance.
pub fn missed(probe: &Probe, (at, bound): (usize, &Bound)) -> Option<f64> {
    let share = probe.values.get(at).copied().filter(|_| bound.is_of_failures())?;
    let committed = probe.committed_per_s * probe.window_ns as f64 / 1e9;
    (share * committed >= FAILURES_MIN * (1.0 - share)).then_some(share)
}

/// Whether most failed operations ended at a statement that found no row for those after it.
pub fn found_none(counts: &Counts) -> bool {
    let found_none = counts.codes.get(&(CodeSpace::Worker, worker_code::NOT_KEPT)).copied().unwrap_or(0);
    2 * found_none > failed(counts)
}

/// The failures of the only trial of a record, the most frequent first: `HTTP 503 Service Unavailable (412 times): busy`. Empty
/// without one. Operations that never began are the backlog.
///
/// # Errors
/// Its samples cannot be read.
pub fn of_trial(record: &Record) -> Result<String> {
    let sums = sums_of(record, &|_| true)?;
    let all = sums.iter().flat_map(|sum| sum.most_frequent(KINDS + 1));
    Ok(words(all.filter(|message| message.code != Outcome::Unsent.word()).take(KINDS)))
}

fn words(messages: impl Iterator<Item = Message>) -> String {
    let of = |message: Message| {
        let Message { text, code, count } = message;
        format!("{code} ({}): {}", counted(count as usize, "time"), beginning(&text))
    };
    messages.map(of).collect::<Vec<_>>().join("; ")
}

/// The beginning of a text that a service wrote, as one harmless line.
fn beginning(text: &str) -> String {
    let line = harmless(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Why a probe missed a bound or has no value, and what to do if operations failed.
pub fn advised(probe: &Probe, is_service: bool) -> String {
    let advice = if probe.failures.is_empty() { String::new() } else { format!("; {}", advice(probe, is_service)) };
    format!("{}{advice}", probe.reason())
}

/// What to do about failures at every rate; `probe`: one of those with failures.
pub fn advice(probe: &Probe, is_service: bool) -> &'static str {
    match is_service {
        _ if probe.found_none => NO_ROWS,
        true => {
            "send one such request by hand and read the service's log; if the answer is right, list its status in a scenario \
             (\"Wrong answers\" in docs/limits.md)"
        }
        false => "contend explain CODE shows the causes of such an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_failures_must_be_a_row_that_was_not_found() {
        let counts = |found_none: u64, failed| {
            let mut counts = Counts::default();
            counts.codes.insert((CodeSpace::Worker, worker_code::NOT_KEPT), found_none);
            counts.add_unsent(failed);
            counts
        };
        assert!(found_none(&counts(95, 100)));
        assert!(!found_none(&counts(50, 100)) && !found_none(&Counts::default()));
    }

    #[test]
    fn failures_have_codes_counts_and_the_beginning_of_a_harmless_text() {
        let message = |text: &str, code: &str, count| Message { text: text.to_string(), code: code.to_string(), count };
        let all = [message("no \u{1b}[31m\nroom", "HTTP 503", 412), message("no answer in time", "ETIMEDOUT (110)", 1)];
        assert_eq!(
            words(all.into_iter()),
            "HTTP 503 (412 times): no ?[31m room; ETIMEDOUT (110) (1 time): no answer in time"
        );
        let long = beginning(&"é".repeat(200));
        assert_eq!(long, format!("{}...", "é".repeat(CHARS_MAX)));
        assert_eq!(beginning(&"é".repeat(CHARS_MAX)), "é".repeat(CHARS_MAX));
    }
}
