//! The result as lines of JSON for scripts: requests due in the window, and how many succeeded.

use contend::analysis::messages::Message;
use contend::analysis::plain::Condition;
use contend::analysis::requests::Sum;
use serde_json::{Value, json};

/// Most messages in a line.
const MESSAGES: usize = 3;

/// One line per condition and service. Rates and times are of valid trials; successes and failures also include
/// trials that are invalid only because of their speed.
pub fn lines(conditions: &[Condition], sums: &[Sum], labels: &[&str]) -> String {
    let mut text = String::new();
    let services = conditions.iter().flat_map(|condition| labels.iter().map(move |label| (condition, label)));
    for ((condition, label), sum) in services.zip(sums) {
        let mut line = line(sum, label);
        if conditions.len() > 1 {
            line["condition"] = Value::from(condition.label.clone());
        }
        text += &format!("{line}\n");
    }
    text
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
