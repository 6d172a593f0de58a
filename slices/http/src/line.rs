//! The result as lines of JSON for scripts: requests due in the window, and how many succeeded.

use crate::section;
use contend::analysis::Findings;
use contend::analysis::messages::Message;
use contend::analysis::requests::Sum;
use contend::analysis::trial::TrialRow;
use contend::outcome::mark::is_disturbed;
use contend_stats::verdict::Verdict;
use serde_json::{Value, json};

/// Most messages in a line.
const MESSAGES: usize = 3;

/// One line per condition and service. Rates and times are of valid trials; successes and failures also include
/// trials that are invalid only because of their speed.
pub fn lines(findings: &Findings<'_>, sums: &[Sum]) -> String {
    let mut text = String::new();
    for (at, sum) in sums.iter().enumerate() {
        let (condition, contender) = section::place(findings, at);
        let mut line = line(sum, &findings.study.contenders[contender].label);
        if findings.study.conditions.len() > 1 {
            line["condition"] = Value::from(findings.study.conditions[condition].label.clone());
        }
        line["not_comparable"] = Value::from(not_comparable(findings, condition, contender));
        line["answers_changed"] = Value::from(section::how_changed(findings, at));
        line["disturbed"] = Value::from(disturbed(findings, condition, contender));
        text += &format!("{line}\n");
    }
    text
}

/// Why the figures of a service may not be compared with those of the first one; `None` if they may, and for the first one.
fn not_comparable(findings: &Findings<'_>, condition: usize, contender: usize) -> Option<String> {
    let of_headline = findings.comparisons.iter().filter(|of| of.metric.name == findings.study.headline);
    let mut verdicts = of_headline.filter(|of| (of.condition, of.candidate) == (condition, contender));
    verdicts.find_map(|of| match &of.comparison.verdict {
        Verdict::NotComparable(why) => Some(why.clone()),
        _ => None,
    })
}

/// Number of trials that count although they were disturbed.
fn disturbed(findings: &Findings<'_>, condition: usize, contender: usize) -> usize {
    let is_its = |row: &&TrialRow<'_>| row.is_valid() && (row.condition, row.contender) == (condition, contender);
    findings.rows.iter().filter(is_its).filter(|row| is_disturbed(row.marks())).count()
}

fn line(sum: &Sum, label: &str) -> Value {
    // Without successes there is no time (not 0), and without valid trials no rate.
    let ms = |q: f64| sum.time_ns(q).map(|ns| (ns as f64 / 1e3).round() / 1e3);
    let wall_s = sum.wall_ns as f64 / 1e9;
    let per_s = sum.per_s().map(|rate| (rate * 10.0).round() / 10.0);
    let message = |Message { text, code, count }| json!({ "message": text, "code": code, "count": count });
    json!({
        "label": label,
        "total": sum.total(),
        "ok": sum.ok,
        "failed": sum.all_failed(),
        "wall_s": (wall_s * 1e3).round() / 1e3,
        "req_per_s": per_s,
        "p50_ms": ms(0.5),
        "p95_ms": ms(0.95),
        "p99_ms": ms(0.99),
        "max_ms": ms(1.0),
        "err_sample": sum.most_frequent(MESSAGES).into_iter().map(message).collect::<Vec<_>>(),
    })
}
