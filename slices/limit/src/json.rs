//! What a search found as JSON: the rates, how they compare, and what stops each contender.

use crate::capacity::{compare, estimate, plain_arms};
use crate::limiter::{Limiter, Suspected, limiter, suspects};
use crate::processes::{Whole, whole};
use crate::saved::Saved;
use serde_json::{Value, json};

/// The document behind `--json`, with a line end.
pub fn json(saved: &Saved) -> String {
    let contenders: Vec<Value> = plain_arms(saved).map(|(arm, _)| contender(saved, arm)).collect();
    let document = json!({
        "format": 1,
        "study": saved.study,
        "of": saved.of,
        "bounds": saved.bounds,
        "complete": saved.complete,
        "valid": !saved.probes.iter().any(|probe| probe.wrong),
        "rounds": saved.rounds,
        "probes": saved.probes.len(),
        "contenders": contenders,
    });
    format!("{document:#}\n")
}

fn contender(saved: &Saved, arm: usize) -> Value {
    let of = &saved.arms[arm];
    let mut value = found(saved, arm);
    value["contender"] = json!(of.label);
    value["condition"] = json!(of.condition);
    value["tier"] = json!(of.tier);
    if let Some(base) = of.against {
        value["against"] = json!(saved.arms[base].name());
        value["comparison"] = json!(compare(saved, base, arm));
    }
    if let Some(Whole { process, processors, at }) = whole(saved, arm) {
        value["one_processor"] = json!({"process": process, "processors": processors, "at": at});
    }
    let all = suspects(saved, arm);
    let limit = limiter(&all);
    if matches!(limit, Limiter::One(_)) || all.iter().any(|of| of.arm.is_some()) {
        value["stopped_by"] = match &limit {
            Limiter::One(suspect) => json!(suspect.word()),
            Limiter::None(_) => Value::Null,
        };
        if let Limiter::None(why) = limit {
            value["no_single_limiter"] = json!(why);
        }
        value["suspects"] = all.iter().map(|of| suspected(saved, of)).collect();
    }
    value
}

/// `rate_per_s` are arrivals per second; in a search of something else it is `number`. `high` is null if greater numbers were
/// not tried.
fn found(saved: &Saved, arm: usize) -> Value {
    let found = estimate(saved, arm);
    json!({
        (if saved.of().is_rate() { "rate_per_s" } else { "number" }): found.value,
        "low": found.interval.map(|interval| interval.low),
        "high": found.interval.filter(|_| !found.is_open).map(|interval| interval.high),
        "rounds": found.rounds,
        "searched": found.searched,
        "why": found.why,
        "met": found.met,
        "missed": found.missed,
    })
}

fn suspected(saved: &Saved, of: &Suspected) -> Value {
    let relaxed = of.arm.map(|arm| {
        let mut value = found(saved, arm);
        value["how"] = json!(saved.arms[arm].relaxed.as_ref().map(|relaxed| &relaxed.how));
        value["comparison"] = json!(of.comparison);
        value["ratios"] = json!(of.shown);
        value
    });
    json!({"suspect": of.suspect.word(), "use": of.use_share, "moves": of.moves, "relaxed": relaxed})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::Relaxed;
    use crate::testing::{arm, saved};

    #[test]
    fn json_has_rates_ratios_and_what_was_relaxed() {
        let once = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0].map(Some);
        let twice = once.map(|value| value.map(|value| value * 2.0));
        let relaxed = Relaxed { of: 0, suspect: "syncs".to_string(), how: "synchronous=off".to_string(), fewer: false };
        let without = crate::saved::Arm { relaxed: Some(relaxed), ..arm("A", "unsafe") };
        let other = crate::saved::Arm { against: Some(0), ..arm("B", "durable") };
        let saved = saved(vec![arm("A", "durable"), other, without], &[&once, &twice, &twice]);
        let found: Value = serde_json::from_str(&json(&saved)).unwrap();
        let [a, b] = found["contenders"].as_array().unwrap().as_slice() else { panic!("{found}") };
        assert_eq!((&a["rate_per_s"], &a["low"], &a["high"]), (&json!(100.0), &json!(98.0), &json!(102.0 * 1.05)));
        assert_eq!((&a["stopped_by"], &a["suspects"][0]["relaxed"]["rate_per_s"]), (&json!("syncs"), &json!(200.0)));
        assert_eq!((&b["against"], &b["comparison"]["verdict"]), (&json!("A"), &json!({"word": "faster"})));
        assert!(b.get("stopped_by").is_none() && a.get("against").is_none(), "{found}");
    }
}
