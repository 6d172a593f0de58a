//! Controls: crashes whose result is known in advance. If one is not found, no other result counts.

use crate::results::{Control, Crashes, KernelCuts, Powercut};
use contend::contender::Tier;
use contend::record::evidence::CUTS_MIN;

/// What the settings of a contender promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    pub tier: Tier,
    /// Whether nothing is lost if only the database's processes die; `None` if unknown.
    pub survives_kill: Option<bool>,
    /// Whether any sync is made; `None` if unknown.
    pub syncs: Option<bool>,
}

/// All controls that can be evaluated with these results.
pub fn controls(promise: Promise, found: &Powercut) -> Vec<Control> {
    let (process, power, posix) = (found.process(), found.power(), found.posix());
    let mut controls = vec![];
    let mut add = |name: &str, count: u64, of: u64, holds: bool| {
        let found = format!("{count} of {of} crashes left something else");
        controls.push(Control { name: name.to_string(), found, holds });
    };
    if promise.survives_kill == Some(true) && process.count > 0 {
        add("a crash of the process takes nothing", process.bad(), process.count, process.bad() == 0);
    }
    if promise.survives_kill == Some(false) && process.count >= CUTS_MIN {
        add("documented not to survive the process: that is found", process.bad(), process.count, process.bad() > 0);
    }
    if promise.tier == Tier::Durable && power.count > 0 {
        add("documented as durable: a power cut takes nothing", power.bad(), power.count, power.bad() == 0);
    }
    let (lossy, bad, of) = (power.lossy + posix.lossy, power.bad() + posix.bad(), power.count + posix.count);
    if promise.syncs == Some(false) && of >= CUTS_MIN {
        add("it never syncs: that is found", bad, of, bad > 0);
    }
    if promise.tier == Tier::Bounded {
        let bad = power.corrupt + power.unopenable;
        if power.count > 0 {
            add("documented as consistent: no power cut corrupts", bad, power.count, bad == 0);
        }
        if of >= CUTS_MIN {
            add("documented as lossy: the loss is found", lossy, of, lossy > 0);
        }
    }
    controls.extend(found.kernel.as_ref().map(|kernel| of_kernel(promise, &power, kernel)));
    controls.extend(found.lies.iter().filter(|lie| lie.must).map(|lie| Control {
        name: format!("a disk that lies is found out: {}", lie.name),
        found: format!("{} after {} images", if lie.caught { "caught" } else { "not caught" }, lie.images),
        holds: lie.caught,
    }));
    controls
}

/// The control of a real kernel. It may keep more than the models, but not less. Where the models lose several commits
/// the number depends on the load, so only damage contradicts them.
fn of_kernel(promise: Promise, power: &Crashes, kernel: &KernelCuts) -> Control {
    let most = kernel.lost.iter().copied().max().unwrap_or(0);
    let may_lose = match (promise.tier, power.count, power.lossy) {
        (Tier::Durable, _, _) | (_, CUTS_MIN.., 0) => Some(0),
        (_, CUTS_MIN.., _) if power.lost_commits_max == 1 => Some(1),
        _ => None,
    };
    let name = match may_lose {
        Some(_) => "a real kernel loses no more than the models do",
        None => "a real kernel damages nothing (the number of lost commits is not compared)",
    };
    let lost = kernel.lost.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let wrong = kernel.wrong.first().map_or(String::new(), |wrong| format!("; {wrong}"));
    Control {
        name: name.to_string(),
        found: format!("commits lost, cut by cut: {lost}{wrong}"),
        holds: may_lose.is_none_or(|may| most <= may) && kernel.wrong.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Lie;

    fn found(kill_lossy: u64, lossy: u64, corrupt: u64) -> Powercut {
        let crashes = |model: &str, lossy, corrupt| Crashes {
            model: model.to_string(),
            namespace: if model == "kill" { String::new() } else { "journal".to_string() },
            count: 500,
            lossy,
            corrupt,
            ..Crashes::default()
        };
        Powercut {
            crashes: vec![crashes("kill", kill_lossy, 0), crashes("drop", lossy, corrupt)],
            ..Powercut::default()
        }
    }

    #[test]
    fn each_control_fails_on_what_contradicts_it() {
        let table = [
            (Tier::Durable, true, found(0, 0, 0), None),
            (Tier::Durable, true, found(1, 0, 0), Some("a crash of the process")),
            (Tier::Durable, true, found(0, 1, 0), Some("documented as durable")),
            (Tier::Durable, true, found(0, 0, 1), Some("documented as durable")),
            (Tier::Bounded, true, found(0, 9, 0), None),
            (Tier::Bounded, false, found(9, 9, 0), None),
            (Tier::Bounded, true, found(0, 0, 0), Some("documented as lossy")),
            (Tier::Bounded, true, found(0, 9, 1), Some("documented as consistent")),
            (Tier::Unsafe, true, found(0, 9, 9), None),
            (Tier::Unsafe, true, found(0, 0, 0), Some("it never syncs")),
            (Tier::Unsafe, false, found(9, 0, 0), None),
            (Tier::Unsafe, false, found(0, 0, 9), Some("documented not to survive the process")),
        ];
        for (tier, survives_kill, found, expected) in table {
            // An unsafe setting that survives the process never syncs.
            let syncs = Some(tier != Tier::Unsafe || !survives_kill);
            let controls = controls(Promise { tier, survives_kill: Some(survives_kill), syncs }, &found);
            let failed: Vec<&Control> = controls.iter().filter(|c| !c.holds).collect();
            match expected {
                None => assert!(failed.is_empty(), "{failed:?}"),
                Some(words) => assert!(failed.len() == 1 && failed[0].name.starts_with(words), "{failed:?}"),
            }
        }
    }

    #[test]
    fn a_kernel_that_loses_more_than_the_models_contradicts_them() {
        let cuts = |lost: &[u64], wrong: &[&str]| KernelCuts {
            lost: lost.to_vec(),
            wrong: wrong.iter().map(ToString::to_string).collect(),
            ..KernelCuts::default()
        };
        let one = Crashes { lost_commits_max: 1, ..found(0, 9, 0).power() };
        let many = Crashes { lost_commits_max: 40, ..one.clone() };
        for (tier, power, kernel, holds) in [
            (Tier::Durable, found(0, 0, 0).power(), cuts(&[0, 0], &[]), true),
            (Tier::Durable, found(0, 0, 0).power(), cuts(&[0, 1], &[]), false),
            (Tier::Durable, found(0, 0, 0).power(), cuts(&[0], &["does not open"]), false),
            (Tier::Durable, Crashes::default(), cuts(&[1], &[]), false),
            (Tier::Bounded, found(0, 0, 0).power(), cuts(&[1], &[]), false),
            (Tier::Bounded, one.clone(), cuts(&[0, 1], &[]), true),
            (Tier::Bounded, one, cuts(&[2], &[]), false),
            (Tier::Bounded, many.clone(), cuts(&[90, 0], &[]), true),
            (Tier::Bounded, many, cuts(&[90], &["row 3 missing"]), false),
            (Tier::Bounded, Crashes::default(), cuts(&[90], &[]), true),
        ] {
            let promise = Promise { tier, survives_kill: Some(true), syncs: Some(true) };
            let control = of_kernel(promise, &power, &kernel);
            assert_eq!(control.holds, holds, "{tier:?} {power:?} {kernel:?}");
            let compares = kernel.lost[0] < 90;
            assert_eq!(control.name.contains("loses no more"), compares, "a name says what is compared: {control:?}");
        }
    }

    #[test]
    fn of_what_nobody_knows_nothing_is_asked() {
        let unknown = Promise { tier: Tier::Unknown, survives_kill: None, syncs: None };
        for found in [found(0, 0, 0), found(9, 9, 9)] {
            assert!(controls(unknown, &found).is_empty());
        }
    }

    #[test]
    fn a_lie_that_nothing_survives_must_be_caught() {
        let lie = |name: &str, caught, must| Lie { name: name.to_string(), images: 200, caught, must };
        let lies = vec![lie("no sync", false, true), lie("no sync of directories", false, false)];
        let found = Powercut { lies, ..found(0, 0, 0) };
        let promise = Promise { tier: Tier::Durable, survives_kill: Some(true), syncs: Some(true) };
        let controls = controls(promise, &found);
        let failed: Vec<&str> = controls.iter().filter(|c| !c.holds).map(|c| c.name.as_str()).collect();
        assert_eq!(failed, ["a disk that lies is found out: no sync"]);
    }
}
