//! Made-up searches for tests.

use crate::saved::{Arm, Capacity, Probe, Saved, VERSION};
use crate::search::ProbeResult;

pub fn arm(label: &str, tier: &str) -> Arm {
    Arm {
        label: label.to_string(),
        contender: 0,
        tier: tier.to_string(),
        condition: String::new(),
        against: None,
        relaxed: None,
    }
}

/// A search with these values in each round.
pub fn saved(arms: Vec<Arm>, values: &[&[Option<f64>]]) -> Saved {
    let of_arm = |(arm, values): (usize, &&[Option<f64>])| {
        let capacity = move |(at, rate_per_s): (usize, &Option<f64>)| Capacity {
            arm,
            round: at as u32 + 1,
            rate_per_s: *rate_per_s,
            why: if rate_per_s.is_some() { String::new() } else { "none found".to_string() },
            ..Capacity::default()
        };
        values.iter().enumerate().map(capacity).collect::<Vec<_>>()
    };
    Saved {
        format: VERSION,
        contend: "0.1.0".to_string(),
        started: "2026-01-02T03:04:05Z".to_string(),
        command: vec!["contend".to_string()],
        study: "test".to_string(),
        of: crate::of::RATE.to_string(),
        bounds: crate::bound::USUAL.map(str::to_string).to_vec(),
        window_ns: 1_000_000_000,
        seed: 1,
        rounds: values.first().map_or(0, |values| values.len() as u32),
        margin: 0.05,
        processors: 2,
        machine: None,
        disk: None,
        budget: None,
        service: false,
        attached: false,
        not_sealed: false,
        complete: true,
        arms,
        capacities: values.iter().enumerate().flat_map(of_arm).collect(),
        probes: vec![],
    }
}

/// A probe that meets the bounds.
pub fn met(arm: usize, rate_per_s: f64) -> Probe {
    Probe {
        trial: 1,
        arm,
        round: 1,
        rate_per_s: Some(rate_per_s),
        number: None,
        window_ns: 1_000_000_000,
        seen: Some(ProbeResult::Meets),
        why: String::new(),
        failures: String::new(),
        found_none: false,
        differs: false,
        disturbed: false,
        again: false,
        wrong: false,
        marks: vec![],
        committed_per_s: rate_per_s,
        values: vec![],
        thirds: None,
        log: None,
        speeds: None,
        used: None,
        processes: Default::default(),
    }
}
