//! Decides which suspect is the limit: from its load at the found rate, and the change of the rate when it is
//! relaxed. Pure.

use crate::capacity::{Shown, compare_with, shown};
use crate::relax::{Suspect, fewer_processors};
use crate::saved::{Busy, Saved};
use crate::search::{ProbeResult, decisive};
use contend_stats::interval::{MIN_ROUNDS, median};
use contend_stats::precision::Percent;
use contend_stats::verdict::Comparison;

/// Load from which a suspect may be the limit: a queue with random arrivals is not always full, even at its highest rate.
const BUSY: f64 = 0.6;
/// Share of their time that clients wait for locks from which the busy handler may be the limit: a high percentile is of few
/// operations.
const WAITING: f64 = 0.01;
/// Fewest rounds for a limit to be named.
pub const ROUNDS_MIN: usize = 3;

/// Evidence about one suspect.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspected {
    pub suspect: Suspect,
    /// Load at the found rate, as a share of the capacity; `None` if it was not measured.
    pub use_share: Option<f64>,
    /// Index of the arm in which it is relaxed.
    pub arm: Option<usize>,
    /// Rate of that arm relative to the unrelaxed contender.
    pub comparison: Option<Comparison>,
    /// Result of that arm in each round.
    pub shown: Vec<Shown>,
    /// Whether relaxing it changed the rate in the expected direction by more than the margin.
    pub moves: bool,
    /// Whether every round has a result, and none of them that change. Neither this nor `moves`: it is undecided.
    pub is_cleared: bool,
    /// Why its arm shows nothing, whatever its rate is: its load already says that it must miss the bounds.
    pub unshown: Option<String>,
}

impl Suspected {
    /// Rounds in which its arm has a result.
    pub fn rounds(&self) -> usize {
        self.shown.iter().filter(|shown| **shown != Shown::Nothing).count()
    }

    /// Whether enough rounds of its arm neither prove nor exclude that it moves the rate.
    pub fn is_undecided(&self) -> bool {
        self.shown.len() >= ROUNDS_MIN && !self.moves && !self.is_cleared
    }

    /// Whether its load supports it. For syncs only the relaxed arm is evidence.
    pub fn is_busy(&self) -> bool {
        match self.suspect {
            Suspect::Syncs => true,
            Suspect::BusyHandler => self.use_share.is_some_and(|share| share >= WAITING),
            _ => self.use_share.is_some_and(|share| share >= BUSY),
        }
    }

    /// Its use as a part of what it must at least be, for the order in which suspects get a part of a budget.
    pub fn weight(&self) -> f64 {
        let least = if self.suspect == Suspect::BusyHandler { WAITING } else { BUSY };
        self.use_share.unwrap_or(0.0) / least
    }

    /// Whether it can be named if its arm moves the rate.
    pub fn can_be_named(&self) -> bool {
        self.is_busy() && self.unshown.is_none()
    }

    /// Whether nothing measures its use, so that it cannot be named.
    pub fn is_use_unknown(&self) -> bool {
        self.use_share.is_none() && !self.is_busy()
    }
}

/// The suspect of a relaxed arm; `None` without evidence about its contender.
pub fn suspected(saved: &Saved, arm: usize) -> Option<Suspected> {
    let of = saved.arms[arm].relaxed.as_ref()?.of;
    used(saved, of)?;
    suspects(saved, of).into_iter().find(|suspected| suspected.arm == Some(arm))
}

/// The limit of a contender.
#[derive(Debug, Clone, PartialEq)]
pub enum Limiter {
    One(Suspect),
    /// Why none is named.
    None(String),
}

/// All suspects of an unrelaxed arm.
pub fn suspects(saved: &Saved, arm: usize) -> Vec<Suspected> {
    let used = used(saved, arm);
    let of = |suspect: Suspect| {
        let is = |(_, other): &(usize, &crate::saved::Arm)| {
            other.relaxed.as_ref().is_some_and(|r| r.of == arm && Suspect::of_word(&r.suspect) == Some(suspect))
        };
        let relaxed = saved.arms.iter().enumerate().find(is).map(|(at, _)| at);
        let comparison = relaxed.map(|relaxed| compare_with(saved, (arm, relaxed), None));
        // With fewer processors the rate must fall.
        let lower = relaxed.is_some_and(|at| takes_away(saved, at));
        let shown = relaxed.map_or(vec![], |relaxed| shown(saved, arm, relaxed));
        let by = comparison.as_ref().map(|comparison| (comparison, saved.margin));
        let moves = by.is_some_and(|by| moves(&shown, by, lower));
        let is_cleared = !moves && by.is_some_and(|by| stays(&shown, by, lower));
        let use_share = used.as_ref().and_then(|used| share(used, suspect, saved));
        let mut of =
            Suspected { suspect, use_share, unshown: None, arm: relaxed, comparison, shown, moves, is_cleared };
        // Whatever its load says, an arm that keeps its rate clears its suspect.
        if suspect == Suspect::Processors && lower && !of.is_cleared {
            of.unshown = use_share.and_then(|share| unshown(saved, share));
        }
        of
    };
    Suspect::ALL.into_iter().map(of).collect()
}

/// Whether an arm has less of its suspect instead of more.
pub fn takes_away(saved: &Saved, arm: usize) -> bool {
    saved.arms[arm].relaxed.as_ref().is_some_and(|relaxed| relaxed.fewer)
}

/// Why an arm with fewer processors shows nothing: at the rate that would clear them, those that are left cannot do the work. It
/// would show that the processors are needed, not that they are the limit.
fn unshown(saved: &Saved, share: f64) -> Option<String> {
    let all = saved.processors as usize;
    let left = fewer_processors(all)? as f64;
    let factor = if saved.budget.is_some() { decisive(saved.margin) } else { 1.0 + saved.margin };
    let must_miss = share * all as f64 / left >= factor;
    must_miss.then(|| {
        format!("the processors are {} busy; that they are the limit is not shown on {all} processors", Percent(share))
    })
}

/// Whether the rate moves by more than the margin: with six measured ratios by their interval, else in each round.
fn moves(shown: &[Shown], (comparison, margin): (&Comparison, f64), lower: bool) -> bool {
    let beyond = |shown: &Shown| beyond(*shown, margin, lower);
    if let Some(measured) = all_measured(shown) {
        let low = if lower { comparison.high.map(|high| 1.0 / high) } else { comparison.low };
        return low.is_some_and(|low| low > 1.0) && median(&measured).is_some_and(|ratio| beyond(&Shown::Is(ratio)));
    }
    shown.len() >= ROUNDS_MIN && shown.iter().all(beyond)
}

/// Whether the rate is shown not to move by more than the margin: with six measured ratios by their interval, else in each round.
fn stays(shown: &[Shown], (comparison, margin): (&Comparison, f64), lower: bool) -> bool {
    if all_measured(shown).is_some() {
        let high = if lower { comparison.low.map(|low| 1.0 / low) } else { comparison.high };
        return high.is_some_and(|high| high <= 1.0 + margin);
    }
    let within = |shown: &Shown| *shown != Shown::Nothing && !beyond(*shown, margin, lower);
    shown.len() >= ROUNDS_MIN && shown.iter().all(within)
}

/// Whether a round shows a change by more than the margin.
fn beyond(shown: Shown, margin: f64, lower: bool) -> bool {
    let factor = 1.0 + margin;
    // The only rate at which an arm is probed is exactly this far away.
    let reaches = |ratio: f64| ratio > factor * (1.0 - 1e-9);
    match (shown, lower) {
        (Shown::Is(ratio), false) => ratio > factor,
        (Shown::Is(ratio), true) => 1.0 / ratio > factor,
        (Shown::AtLeast(ratio), false) => reaches(ratio),
        (Shown::Below(ratio), true) => reaches(1.0 / ratio),
        (Shown::AtLeast(_), true) | (Shown::Below(_), false) | (Shown::Nothing, _) => false,
    }
}

/// The ratios of all rounds, if there are enough for an interval.
fn all_measured(shown: &[Shown]) -> Option<Vec<f64>> {
    let measured: Option<Vec<f64>> = shown.iter().map(Shown::measured).collect();
    measured.filter(|measured| measured.len() >= MIN_ROUNDS)
}

/// Medians of loads at rates near the found one.
pub fn used(saved: &Saved, arm: usize) -> Option<Busy> {
    let found = median(&saved.values(arm).into_iter().map(|(_, value)| value).collect::<Vec<_>>())?;
    let near = saved.near(arm, ProbeResult::Meets, found);
    let used: Vec<&Busy> = near.filter_map(|probe| probe.used.as_ref()).collect();
    let middle =
        |of: &dyn Fn(&Busy) -> Option<f64>| median(&used.iter().map(|used| of(used)).collect::<Option<Vec<f64>>>()?);
    Some(Busy {
        writing: middle(&|used| used.writing),
        waiting: middle(&|used| used.waiting),
        clients: middle(&|used| Some(used.clients))?,
        client_cpu: middle(&|used| Some(used.client_cpu))?,
        server_cpu: middle(&|used| used.server_cpu),
        other_cpu: middle(&|used| Some(used.other_cpu))?,
        generator: middle(&|used| Some(used.generator))?,
        sync_ns: middle(&|used| Some(used.sync_ns as f64))? as u64,
        syncs_per_s: middle(&|used| used.syncs_per_s),
        writes_per_s: middle(&|used| Some(used.writes_per_s))?,
        syncing: middle(&|used| used.syncing),
        server_waits_per_s: middle(&|used| used.server_waits_per_s),
        server_waiting: middle(&|used| used.server_waiting),
        checkpoints: middle(&|used| used.checkpoints.map(f64::from)).map(|checkpoints| checkpoints as u32),
        written_bytes_per_s: middle(&|used| used.written_bytes_per_s),
    })
}

fn share(used: &Busy, suspect: Suspect, saved: &Saved) -> Option<f64> {
    match suspect {
        Suspect::Syncs => used.syncing,
        Suspect::Writers => used.server_waiting.or(used.writing),
        // While writers have the lock for most of the time, the lock is the limit, not the pauses.
        Suspect::BusyHandler => used.waiting.map(|share| if used.writing >= Some(BUSY) { 0.0 } else { share }),
        Suspect::Clients => Some(used.clients),
        Suspect::Generator => Some(used.generator),
        // Other processes may use processors that contend may not. A server that is not contend's uses an unknown part.
        Suspect::Processors => {
            let server_cpu = used.server_cpu.or((!saved.is_server_foreign()).then_some(0.0))?;
            Some((used.client_cpu + server_cpu) / f64::from(saved.processors.max(1)))
        }
    }
}

/// The limit: the one suspect that is busy and moves the rate when relaxed, if no other does.
/// The worker's own loop is measured without a database. It is named if nothing else moves the rate.
pub fn limiter(suspects: &[Suspected]) -> Limiter {
    let generator = suspects.iter().any(|of| of.suspect == Suspect::Generator && of.is_busy());
    let unshown = suspects.iter().filter(|of| of.is_busy()).find_map(|of| of.unshown.clone());
    let relaxed = || suspects.iter().filter(|of| of.arm.is_some() && of.unshown.is_none());
    let compared = relaxed().filter(|of| of.rounds() >= ROUNDS_MIN);
    if compared.count() == 0 && !generator {
        return Limiter::None(unshown.unwrap_or_else(|| not_compared(suspects)));
    }
    let undecided = undecided(suspects, |_| true);
    let mut moving: Vec<&Suspected> = relaxed().filter(|of| of.moves && of.is_busy()).collect();
    // Half the writes means half the syncs: if fewer syncs alone help, fewer writes are no further evidence. It also means less
    // work for the processors.
    let has = |moving: &[&Suspected], suspect: Suspect| moving.iter().any(|of| of.suspect == suspect);
    let is_shared = suspects.iter().any(may_be_the_processors);
    if has(&moving, Suspect::Syncs) || is_shared {
        moving.retain(|of| of.suspect != Suspect::Writers);
    }
    match moving.as_slice() {
        [one] => match stronger_undecided(suspects, one).as_str() {
            "" => Limiter::One(one.suspect),
            undecided => Limiter::None(format!("the rate depends on {}{undecided}", one.suspect.word())),
        },
        [] if is_shared && relaxed().any(|of| of.suspect == Suspect::Writers && of.moves) => {
            let are =
                if suspects.iter().any(is_unmeasured) { "may be busy: they are not measured" } else { "are busy" };
            Limiter::None(format!("half the writes also take less of the processors, which {are}"))
        }
        [] if relaxed().any(|of| of.moves) => {
            Limiter::None("what moves the rate when it is relaxed is not busy".to_string())
        }
        [] if unshown.is_none() && generator && undecided.is_empty() => Limiter::One(Suspect::Generator),
        [] => {
            let is_only = |shown: &Shown| shown.at_least().or(shown.below()).is_some();
            let only = relaxed().flat_map(|of| &of.shown).any(is_only);
            let by = if only { "as much as was tried" } else { "more than the margin" };
            Limiter::None(
                unshown.unwrap_or_else(|| format!("nothing that was relaxed moves the rate by {by}{undecided}")),
            )
        }
        several => {
            let words: Vec<&str> = several.iter().map(|of| of.suspect.word()).collect();
            Limiter::None(format!("the rate depends on each of {}", words.join(", ")))
        }
    }
}

/// Why none is named without a relaxed suspect in enough rounds.
fn not_compared(suspects: &[Suspected]) -> String {
    let is_busy = suspects.iter().any(|of| of.arm.is_some() && of.unshown.is_none() && of.is_busy());
    // The processors of a service are not contend's, so they cannot be relaxed.
    let is_untried = |of: &&Suspected| of.suspect == Suspect::Processors && of.arm.is_none() && of.is_busy();
    match suspects.iter().find(is_untried).and_then(|of| of.use_share) {
        _ if is_busy => format!("naming one takes {ROUNDS_MIN} rounds in which a suspect is relaxed"),
        Some(share) => format!("the processors are {} busy, and cannot be relaxed here", Percent(share)),
        None if suspects.iter().any(is_unmeasured) => {
            "nothing that can be relaxed is known to be busy, nor the processors".to_string()
        }
        None => "nothing that can be relaxed is busy".to_string(),
    }
}

/// Undecided suspects that may move the rate as much as this one.
fn stronger_undecided(suspects: &[Suspected], one: &Suspected) -> String {
    undecided(suspects, |of| !is_weaker(of, one))
}

/// Whether the rate moves less in every round of a suspect than in the median round of another one.
fn is_weaker(of: &Suspected, than: &Suspected) -> bool {
    let most = |shown: &Shown| shown.measured().or(shown.below());
    let least = |shown: &Shown| shown.measured().or(shown.at_least());
    let all = of.shown.iter().map(most).collect::<Option<Vec<f64>>>();
    let others = than.shown.iter().map(least).collect::<Option<Vec<f64>>>();
    let (strongest, middle) =
        (all.and_then(|all| all.into_iter().reduce(f64::max)), others.and_then(|all| median(&all)));
    // Fewer processors make the rate lower.
    let is_lower = [of, than].iter().any(|of| of.suspect == Suspect::Processors);
    !is_lower && strongest.zip(middle).is_some_and(|(strongest, middle)| strongest < middle)
}

/// Busy suspects whose rounds do not agree and for which this holds, as the end of a sentence; empty without one.
fn undecided(suspects: &[Suspected], holds: impl Fn(&Suspected) -> bool) -> String {
    let is_undecided = |of: &&Suspected| of.is_undecided() && of.can_be_named() && holds(of);
    let words: Vec<&str> = suspects.iter().filter(is_undecided).map(|of| of.suspect.word()).collect();
    if words.is_empty() { String::new() } else { format!("; undecided, as its rounds differ: {}", words.join(", ")) }
}

/// Whether a suspect is the processors, busy or of unknown use, and not cleared by an arm of enough rounds.
fn may_be_the_processors(of: &Suspected) -> bool {
    of.suspect == Suspect::Processors && (of.is_busy() || is_unmeasured(of)) && !of.is_cleared
}

/// Whether a suspect is the processors, and a server uses an unknown part of them.
fn is_unmeasured(of: &Suspected) -> bool {
    of.suspect == Suspect::Processors && of.use_share.is_none()
}

#[cfg(test)]
#[path = "limiter_tests.rs"]
mod tests;
