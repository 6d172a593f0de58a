//! How long a trial goes on after its window: until operations that hold a transaction open have ended, and those that wait for
//! them.

use super::draw::Share;
use super::model::{Pause, Role, Workload};
use crate::load::Load;
use contend_wire::plan::Step;

/// What the clients of a role hold, in the mean: clients per second of its cycle, and the first two moments of the time for which an
/// operation holds a transaction open.
struct Holds {
    per_s: f64,
    mean_s: f64,
    square_s: f64,
}

/// Estimated time after a window, ns: what is left of the operation that holds the lock, and the operations that wait for it in turn.
/// Statements are taken to last no time. 0 for trials that do not end with a window, and for open loops.
pub fn tail_ns(workload: &Workload, load: &Load, profile: Option<&str>) -> u64 {
    if load.window_ns == 0 || load.rate_per_s.is_some() {
        return 0;
    }
    let holds: Vec<Holds> = workload.roles.iter().filter_map(|role| of_role(workload, role, load, profile)).collect();
    let sum = |of: fn(&Holds) -> f64| holds.iter().map(of).sum::<f64>();
    // Clients in such an operation at any moment, and the time left of each of them.
    let clients = sum(|holds| holds.per_s * holds.mean_s);
    let left_s = sum(|holds| holds.per_s * holds.square_s / 2.0) / clients.max(f64::MIN_POSITIVE);
    let mean_s = clients / sum(|holds| holds.per_s).max(f64::MIN_POSITIVE);
    let tail_s = clients.min(1.0) * left_s + (clients - 1.0).max(0.0) * mean_s;
    ((tail_s * 1e9) as u64).min(load.drain_ns)
}

fn of_role(workload: &Workload, role: &Role, load: &Load, profile: Option<&str>) -> Option<Holds> {
    let clients = match workload.counts(role, load) {
        (processes, Share::PerProcess(clients)) => f64::from(processes) * f64::from(clients),
        (_, Share::PerDatabase(clients)) => f64::from(workload.databases) * f64::from(clients),
    };
    let pause_ns = match role.pause {
        Pause::Fixed(ns) | Pause::Exponential(ns) => ns as f64,
        Pause::Uniform(low, high) => (low as f64 + high as f64) / 2.0,
    };
    let mix = workload.mix(role, profile).ok()?;
    let all: f64 = mix.iter().map(|(_, weight)| weight).sum();
    let moment = |power: i32| {
        let of = |(at, weight): &(usize, f64)| weight / all * held_s(workload, *at).powi(power);
        mix.iter().map(of).sum::<f64>()
    };
    let (mean_s, square_s) = (moment(1), moment(2));
    let per_s = clients / (pause_ns / 1e9 + mean_s).max(f64::MIN_POSITIVE);
    (mean_s > 0.0).then_some(Holds { per_s, mean_s, square_s })
}

/// Time for which a transaction is held open, s.
fn held_s(workload: &Workload, transaction: usize) -> f64 {
    let steps = workload.transactions[transaction].steps.iter();
    let held_ns = steps.map(|step| if let Step::Hold { ns } = step { *ns as f64 } else { 0.0 });
    held_ns.sum::<f64>() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Arrivals;
    use crate::source::Source;
    use crate::workload::{parse, with_axes};
    use std::collections::BTreeMap;

    /// A tenth of the operations hold the lock for two seconds.
    const HOLDS: &str = r#"
about = "holds"
[scale]
holds = { fixed = 1 }
pause = { fixed = 1000 }
[table.t]
ddl = "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)"
rows = 10
[table.t.columns]
id = { serial = 1 }
v = { range = [0, 9] }
[transaction.pay]
kind = "write"
[[transaction.pay.step]]
sql = "UPDATE t SET v = 1 WHERE id = 1"
[[transaction.pay.step]]
hold = "holds*2s"
[transaction.look]
kind = "read"
[[transaction.look.step]]
sql = "SELECT v FROM t WHERE id = 1"
[role.shop]
processes = 2
clients = 4
pause = { exponential = "pause*1ms" }
mix = { pay = 1, look = 9 }
"#;

    fn tail_s(axes: &[(&str, &str)]) -> f64 {
        tail_of(axes, None)
    }

    fn tail_of(axes: &[(&str, &str)], clients: Option<u32>) -> f64 {
        let axes: BTreeMap<String, String> =
            axes.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
        let workload = parse(&Source::new("holds.toml", HOLDS)).expect("a workload");
        let load = Load {
            processes: None,
            clients,
            operations: None,
            window_ns: 800_000_000,
            run_in_ns: 0,
            drain_ns: 6_000_000_000,
            rate_per_s: None,
            arrivals: Arrivals::default(),
            cycle: 1,
            scale: 1.0,
            seed: 1,
        };
        tail_ns(&with_axes(&workload, &axes).expect("axes"), &load, None) as f64 / 1e9
    }

    #[test]
    fn what_holds_the_lock_at_the_end_of_a_window_comes_to_its_end() {
        // 8 clients in a cycle of 1.2 s hold 0.2 s of it: 1.33 at any moment, of which each has 1 s left.
        let busy = 8.0 * 0.2 / 1.2;
        assert!((tail_s(&[]) - (1.0 + (busy - 1.0) * 0.2)).abs() < 1e-6, "{}", tail_s(&[]));
        // Seldom: the time left, times how often that is.
        let seldom = 8.0 * 0.2 / 100.2;
        assert!((tail_s(&[("pause", "100000")]) - seldom).abs() < 1e-6);
        // Without pauses the others wait for it in turn.
        assert!((tail_s(&[("pause", "0")]) - (1.0 + 7.0 * 0.2)).abs() < 1e-6);
        assert!(tail_s(&[("holds", "0")]) == 0.0);
        // The number of an only role is a default.
        assert!((tail_of(&[("pause", "0")], Some(8)) - (1.0 + 15.0 * 0.2)).abs() < 1e-6);
    }
}
