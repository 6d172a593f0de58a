//! What a time budget holds: how many rounds, of which contenders, and which relaxed suspects. Pure.
//!
//! A budget is spent in this order: one round of every contender, then rounds of the first contenders of the study: as
//! many of them as it holds together with an arm for each, or two of them with an arm for one. Relaxed arms run in the first three
//! rounds, those of the first after it: its probes are the evidence for them.

use crate::limiter::ROUNDS_MIN;
use contend::units::duration_text;

/// Time of `contend limit --quick`.
pub const QUICK_NS: u64 = 300_000_000_000;
/// Share of the time after the first round that arms with a relaxed suspect may take.
pub const ARMS: f64 = 0.6;
/// Longest window in which a quantile is bounded, as a share of the budget; slower contenders need a lower quantile.
pub const WINDOW: f64 = 1.0 / 60.0;
/// Probes of a search that begins near an earlier value: four or five, and more where the machine's speed changes.
pub const LATER_PROBES: f64 = 6.0;
/// Probes of an arm, at one rate.
pub const ONLY_PROBES: f64 = 2.5;
/// Trials of a contender's closed loop and first search.
const FIRST_TRIALS: u64 = 8;
/// Share of a closed loop's rate at which a bound is usually met.
pub const REACHES: f64 = 0.7;

/// A budget in words, in whole minutes and seconds: `2min 14s`.
pub fn words(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    let (minutes, seconds) = (ns.div_ceil(S) / 60, ns.div_ceil(S) % 60);
    match (minutes, seconds) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, 0) => duration_text(minutes * 60 * S),
        (minutes, seconds) => format!("{minutes}min {seconds}s"),
    }
}

/// What a search cannot do without.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    pub contenders: u64,
    /// Arms with a relaxed suspect.
    pub relaxed: u64,
    pub rounds: u32,
    /// Run-in and window of a trial.
    pub trial_ns: u64,
}

/// Why a budget that searches share is too short: it does not hold the closed loops, which come first, and one probe. Names the
/// budget that holds a first search of each contender.
pub fn too_short(total_ns: u64, searches: &[Needs]) -> Option<String> {
    let several = searches.len() as u64;
    let of_all = |trials: &dyn Fn(&Needs) -> u64| {
        let most_ns = searches.iter().map(|needs| trials(needs).saturating_mul(needs.trial_ns)).max();
        most_ns.unwrap_or(0).saturating_mul(several)
    };
    let needed_ns = of_all(&|needs| needs.contenders + 1);
    (total_ns < needed_ns).then(|| {
        format!(
            "{} is too short: a closed loop of each contender and one probe take at least {}; write {} or more, which holds a \
             first search of each contender",
            duration_text(total_ns),
            duration_text(needed_ns),
            words(of_all(&|needs| needs.contenders * FIRST_TRIALS))
        )
    })
}

/// How long searches without a budget take, as a sentence: `the searches take 12min or more; ...`. `may_have_one`: whether their
/// command could have a budget.
pub fn without(searches: &[Needs], may_have_one: bool) -> String {
    let of = |needs: &Needs| {
        let probes = needs.contenders as f64 * LATER_PROBES + needs.relaxed as f64 * ONLY_PROBES;
        (probes * f64::from(needs.rounds) * needs.trial_ns as f64) as u64
    };
    let ns = searches.iter().map(of).fold(0, u64::saturating_add);
    let what = if searches.len() == 1 { "the search takes" } else { "the searches take" };
    let shorter = match (may_have_one, ns > QUICK_NS) {
        (false, _) => String::new(),
        (true, false) => "; --budget TIME ends it earlier".to_string(),
        (true, true) => format!("; --budget TIME ends it earlier, and --quick takes {}", words(QUICK_NS)),
    };
    format!("{what} {} or more{shorter}", words(ns))
}

/// An arm with a relaxed suspect that could name the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    pub arm: usize,
    /// Arm of the contender as it is.
    pub of: usize,
    /// Estimated time of a search.
    pub search_ns: u64,
}

/// What is left to do after the first round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Rounds in all.
    pub rounds: u32,
    /// Contenders of all rounds; the others have the first one only.
    pub plain: Vec<usize>,
    /// Arms of the first three rounds.
    pub arms: Vec<usize>,
}

/// Plans the time `left_ns`, for at most `most` rounds. `plain` are the contenders as they are, in the order of the study, with
/// the time of a search. Candidates are in the order in which they are worth the time.
pub fn plan(left_ns: u64, most: u32, plain: &[(usize, u64)], candidates: &[Candidate]) -> Plan {
    let first = |leading: usize| plain[..leading].iter().map(|(arm, _)| *arm).collect::<Vec<usize>>();
    let per_round = |leading: usize| plain[..leading].iter().map(|(_, ns)| *ns).sum::<u64>().max(1);
    let rounds = |leading: usize, left_ns: u64| 1 + (left_ns / per_round(leading)).min(u64::from(most) - 1) as u32;
    let named = ROUNDS_MIN as u64;
    let with_arms = |leading: usize| {
        let room_ns = left_ns.checked_sub((named - 1) * per_round(leading))?.min((left_ns as f64 * ARMS) as u64);
        let plain = first(leading);
        let wanted: Vec<Candidate> = candidates.iter().filter(|c| plain.contains(&c.of)).copied().collect();
        let arms = fitting(room_ns / named, &wanted);
        let has_arm = |of: &usize| arms.iter().any(|arm| arm.of == *of);
        let is_whole = wanted.iter().all(|wanted| has_arm(&wanted.of));
        let arms_ns = named * arms.iter().map(|arm| arm.search_ns).sum::<u64>();
        let rounds = rounds(leading, left_ns - arms_ns);
        let plan = Plan { rounds, plain, arms: arms.iter().map(|arm| arm.arm).collect() };
        (!plan.arms.is_empty()).then_some((plan, is_whole))
    };
    if u64::from(most) >= named {
        // Several contenders with an arm for each, then several with an arm for some, then one.
        let all: Vec<(Plan, bool)> = (1..=plain.len()).rev().filter_map(with_arms).collect();
        let several = |plan: &Plan| plan.plain.len() > 1;
        let whole = all.iter().find(|(plan, is_whole)| several(plan) && *is_whole);
        let some = || all.iter().find(|(plan, _)| several(plan));
        if let Some((plan, _)) = whole.or_else(some).or_else(|| all.last()) {
            return plan.clone();
        }
    }
    // Without any arm: the most contenders that have as many rounds as a limit would need.
    let enough = |leading: &usize| u64::from(rounds(*leading, left_ns)) >= named.min(u64::from(most));
    let leading = (1..=plain.len()).rev().find(enough).unwrap_or(plain.len());
    Plan { rounds: rounds(leading, left_ns), plain: first(leading), arms: vec![] }
}

/// The first candidates of each contender, then the second ones, as long as they fit.
fn fitting(room_ns: u64, wanted: &[Candidate]) -> Vec<Candidate> {
    let rank = |at: usize| wanted[..at].iter().filter(|other| other.of == wanted[at].of).count();
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| rank(*at));
    let mut spent_ns = 0;
    let mut fits = |at: &usize| {
        let fits = spent_ns + wanted[*at].search_ns <= room_ns;
        spent_ns += if fits { wanted[*at].search_ns } else { 0 };
        fits
    };
    order.into_iter().filter(|at| fits(at)).map(|at| wanted[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [(usize, u64); 4] = [(0, 12), (1, 12), (2, 12), (3, 12)];

    fn candidate(arm: usize, of: usize) -> Candidate {
        Candidate { arm, of, search_ns: 13 }
    }

    fn needs(contenders: u64, trial_ns: u64) -> Needs {
        Needs { contenders, relaxed: 0, rounds: 3, trial_ns }
    }

    #[test]
    fn without_a_budget_the_time_is_that_of_all_probes() {
        let one = Needs { relaxed: 4, rounds: 6, ..needs(2, 2_000_000_000) };
        assert_eq!(without(&[one], true), "the search takes 4min 24s or more; --budget TIME ends it earlier");
        assert_eq!(without(&[one, one], false), "the searches take 8min 48s or more");
        let both = without(&[one, one], true);
        assert!(
            both.starts_with("the searches take 8min 48s or more") && both.ends_with("and --quick takes 5min"),
            "{both}"
        );
    }

    #[test]
    fn a_budget_that_holds_no_probe_is_refused_with_one_that_is_enough() {
        const MS: u64 = 1_000_000;
        let one = [needs(1, 400 * MS)];
        let why = too_short(1, &one).expect("too short");
        for part in ["1ns is too short", "at least 800ms", "write 4s or more"] {
            assert!(why.contains(part), "{why}");
        }
        assert!(too_short(799 * MS, &one).is_some());
        assert_eq!((too_short(800 * MS, &one), too_short(u64::MAX, &one)), (None, None));
        let parts = [needs(3, 100 * MS), needs(2, 1500 * MS)];
        let why = too_short(5 * 1000 * MS, &parts).expect("each part has half of it");
        assert!(why.contains("at least 9s") && why.contains("write 48s or more"), "{why}");
        assert_eq!(too_short(9 * 1000 * MS, &parts), None);
    }

    #[test]
    fn a_budget_holds_rounds_first_and_then_what_may_be_the_limit() {
        let all = [candidate(4, 0), candidate(5, 0), candidate(6, 1), candidate(7, 2), candidate(8, 3)];
        let planned = |left: u64| {
            let Plan { rounds, plain, arms } = plan(left, 6, &PLAIN, &all);
            (rounds, plain.len(), arms)
        };
        assert_eq!(planned(1000), (6, 4, vec![4, 6, 7, 8, 5]));
        assert_eq!(planned(200), (3, 3, vec![4, 6, 7]), "three contenders, and why they stop");
        assert_eq!(planned(100), (3, 2, vec![4]), "two, and why the first one stops");
        assert_eq!(planned(65), (3, 1, vec![4]));
        assert_eq!(planned(30), (3, 1, vec![]), "no arm in three rounds");
        assert_eq!(planned(10), (1, 4, vec![]), "the first round only");
    }

    #[test]
    fn without_candidates_every_contender_gets_its_rounds() {
        assert_eq!(plan(240, 6, &PLAIN, &[]), Plan { rounds: 6, plain: vec![0, 1, 2, 3], arms: vec![] });
        assert_eq!(plan(100, 6, &PLAIN, &[]), Plan { rounds: 3, plain: vec![0, 1, 2, 3], arms: vec![] });
        assert_eq!(plan(100, 2, &PLAIN[..2], &[candidate(4, 0)]).arms, [0; 0], "two rounds name nothing");
    }

    #[test]
    fn no_plan_is_longer_than_its_time() {
        let all: Vec<Candidate> = (0..9).map(|arm| candidate(4 + arm, arm % 4)).collect();
        for left in 0..1200 {
            let Plan { rounds, plain, arms } = plan(left, 6, &PLAIN, &all);
            let ns = u64::from(rounds - 1) * 12 * plain.len() as u64 + 3 * 13 * arms.len() as u64;
            assert!(ns <= left && (arms.is_empty() || rounds >= 3), "{left}: {rounds} {plain:?} {arms:?}");
        }
    }
}
