//! Runs the searches of all arms in rounds: chooses the next trial, and evaluates the last one.

mod afford;

use crate::beyond;
use crate::bound::Bound;
use crate::failures::{FAILURES_MIN, advised, missed};
use crate::floor::Floor;
use crate::judge::Verdict;
use crate::limiter::{Suspected, suspected};
use crate::of::{MOST, Of};
use crate::probe::{Looked, REFERENCE_PER_S, Reference, Sought, look, reference_ns};
use crate::processes::OfTrial;
use crate::relax::ArmSetup;
use crate::saved::{Capacity, Probe, Saved};
use crate::search::{Lost, Next, ProbeResult, Search, Why};
use anyhow::Result;
use contend::record::store::Record;
use contend::study::{SplitMix64, slots};
use contend::trial::chosen::Choice;
use contend::units::duration_text;
use contend_stats::again::Again;
use contend_stats::interval::median;
use contend_stats::precision::Ns;
use contend_stats::quantile::Quantile;
use std::path::PathBuf;

/// Longest window. Windows grow until they hold enough operations.
const WINDOW_NS_MAX: u64 = 30_000_000_000;
/// Lowest rate that is probed, whatever the bounds.
const LOWEST_PER_S: f64 = 0.1;
/// Surplus of operations over those that a quantile needs, because arrivals are random.
const SPARE: f64 = 1.15;

/// Which suspects are relaxed. A budget decides in which rounds; without one it is every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relaxing {
    Nothing,
    /// Those that are used enough to be named.
    Busy,
    /// All that can be named.
    All,
}

/// How a search goes on.
#[derive(Clone, Copy)]
pub struct Ways<'w> {
    pub relaxing: Relaxing,
    /// Whether a lower quantile may be bounded where a budget does not hold the windows.
    pub lowers: bool,
    /// Time since the start of the search, ns.
    pub clock: &'w dyn Fn() -> u64,
    pub tell: &'w dyn Fn(&str),
    pub processes: &'w OfTrial<'w>,
}

/// All searches.
pub struct Work<'w> {
    dir: PathBuf,
    bounds: Vec<Bound>,
    places: Vec<ArmSetup>,
    window_ns: u64,
    /// Round and arm of each search, in order. With a budget it grows after the first round.
    order: Vec<(u32, usize)>,
    at: usize,
    /// The search of one arm in one round; `None` during the initial closed loop.
    search: Option<Search>,
    /// Share of operations because of which the last probe of this search missed a bound, if they failed or no rate makes them fast
    /// enough: a short window then shows whether the next one misses it, and a contender that meets the bounds at no rate does not
    /// use up the time of the others.
    failing: Option<f64>,
    /// What each arm's operations took at least in its closed loop, if that is more than a bound allows; and in the last probe.
    floors: Vec<Option<Floor>>,
    floor: Option<Floor>,
    is_begun: bool,
    /// Whether every contender's closed loop has run, or need not run first.
    is_settled: bool,
    /// Arm and choice of the trial that runs.
    asked: Option<(usize, Choice)>,
    /// Rate that each arm reached in a closed loop, and its closed loops without a value in this round.
    closed_loop_per_s: Vec<Option<f64>>,
    closed: Vec<Lost>,
    of: Of,
    references: Vec<Reference>,
    /// Share of arrivals counted by the quantile that needs the most, by arm.
    counted: Vec<f64>,
    /// Window of an arm in a search for a number, where no rate says how long it must be.
    windows_ns: Vec<u64>,
    /// Whether an arm is left out because its suspect cannot be named; `None` until there is evidence.
    left_out: Vec<Option<bool>>,
    /// Time that the last probe of an arm took beyond its window, and when the running one began.
    extra_ns: Vec<u64>,
    asked_at_ns: u64,
    random: SplitMix64,
    again: Again,
    pub saved: Saved,
    ways: Ways<'w>,
}

impl<'w> Work<'w> {
    pub fn new(dir: PathBuf, bounds: Vec<Bound>, (places, saved): (Vec<ArmSetup>, Saved), ways: Ways<'w>) -> Self {
        let seed = saved.seed;
        // A budget's further rounds are planned after the first one.
        let has_slot =
            |round: u32, arm: usize| saved.budget.is_none() || round == 1 && saved.arms[arm].relaxed.is_none();
        let order = slots(saved.rounds, 1, places.len(), seed).into_iter().map(|slot| (slot.round, slot.contender));
        let arms = places.len();
        Self {
            dir,
            bounds,
            window_ns: saved.window_ns,
            order: order.filter(|(round, arm)| has_slot(*round, *arm)).collect(),
            at: 0,
            search: None,
            failing: None,
            floors: vec![None; arms],
            floor: None,
            is_begun: false,
            is_settled: saved.budget.is_none(),
            asked: None,
            closed_loop_per_s: vec![None; arms],
            closed: vec![Lost::default(); arms],
            of: saved.of(),
            references: vec![Reference::default(); arms],
            counted: vec![1.0; arms],
            windows_ns: vec![saved.window_ns; arms],
            left_out: vec![None; arms],
            extra_ns: vec![0; arms],
            asked_at_ns: 0,
            places,
            random: SplitMix64(!seed.rotate_left(17)),
            again: Again::default(),
            saved,
            ways,
        }
    }

    /// The next trial, after the only one of this record.
    ///
    /// # Errors
    /// The trial cannot be read, or `limit.toml` cannot be written.
    pub fn choose(&mut self, record: &Record) -> Result<Option<Choice>> {
        if self.saved.machine.is_none() {
            self.saved.machine = Some(record.run.machine.clone());
            self.saved.disk = (!self.saved.service).then(|| record.run.disk.clone());
        }
        let arm = self.asked.as_ref().map(|(arm, _)| *arm).filter(|_| !record.trials.is_empty());
        let looked = arm.map(|arm| {
            let reference = &mut self.references[self.saved.contender(arm)];
            look(record, arm, Sought { bounds: &self.bounds, of: &self.of, reference, processes: self.ways.processes })
        });
        let looked = looked.transpose()?;
        let next = self.step(looked);
        self.saved.write(&self.dir).map(|()| next)
    }

    /// The search was stopped: keeps what the one under way knows.
    pub fn stop(&mut self) {
        self.does_not_run_again();
        if self.at < self.order.len() {
            self.give_up("it was stopped".to_string());
        }
    }

    /// The next trial, after this one.
    pub fn step(&mut self, looked: Option<Looked>) -> Option<Choice> {
        let now_ns = (self.ways.clock)();
        if let (Some(looked), Some((arm, choice))) = (looked, self.asked.take()) {
            self.extra_ns[arm] = (now_ns - self.asked_at_ns).saturating_sub(looked.probe.window_ns);
            self.asked = Some((arm, choice));
            let is_again = self.take(arm, looked);
            if let Some((_, choice)) = self.asked.clone().filter(|(_, choice)| is_again && self.fits(arm, choice)) {
                self.asked_at_ns = now_ns;
                return Some(choice);
            }
            self.does_not_run_again();
        }
        let next = self.next();
        self.asked_at_ns = now_ns;
        self.saved.complete = next.is_none();
        if next.is_none() {
            self.settle_left_out();
        }
        if let Some(budget) = &mut self.saved.budget {
            budget.spent_ns = now_ns;
        }
        next
    }

    /// Takes the result of a trial. True if its arm is to be tried again at the same rate, outside the search.
    fn take(&mut self, arm: usize, looked: Looked) -> bool {
        let Looked { mut probe, verdict, lacking, floor } = looked;
        (probe.round, _) = self.order[self.at];
        // Based on its mark alone, before its measurements are looked at. Wrong work counts as it is: a probe in its place
        // would hide it.
        if self.again.is_due(probe.disturbed && !probe.wrong, self.saved.probes.len()) {
            (probe.seen, probe.again) = (Some(ProbeResult::NoValue), true);
            probe.why = "disturbed from outside".to_string();
            let tried = probe.at();
            self.keep(arm, probe);
            self.ask(arm, tried);
            return true;
        }
        let Some(tried) = probe.at() else {
            self.closed[arm].add(probe.disturbed);
            if verdict.is_some() && probe.committed_per_s > 0.0 {
                self.closed_loop_per_s[arm] = Some(probe.committed_per_s);
                self.floors[arm] = floor;
            }
            self.keep(arm, probe);
            return false;
        };
        if self.search.is_none() && verdict.is_some() {
            (probe.seen, probe.why) = (Some(ProbeResult::NoValue), "only its answers are compared".to_string());
            self.keep(arm, probe);
            return false;
        }
        let was_short =
            self.failing.is_some() && self.of.is_rate() && probe.window_ns < self.window_ns_for_all(arm, tried);
        self.floor = floor;
        self.failing = self.failing(&probe, verdict);
        if was_short && self.failing.is_none() {
            (probe.seen, probe.why) = (Some(ProbeResult::NoValue), "a short window does not tell".to_string());
            self.keep(arm, probe);
            // Its operations waited for one another in the closed loop only: the search begins below that.
            if self.floors[arm].take().is_some() {
                self.search = None;
                return false;
            }
            self.ask(arm, Some(tried));
            return true;
        }
        if let Some(lacking) = lacking.filter(|(n, _)| *n > 0)
            && probe.window_ns < self.longest_ns()
            && self.needs_longer(arm, &probe, lacking)
        {
            self.keep(arm, probe);
            let lowest = self.lowest(arm);
            let ends = |search: &mut Search| search.not_below(lowest, tried);
            let is_below = self.of.is_rate() && self.search.as_mut().is_some_and(ends);
            return (!is_below).then(|| self.ask(arm, Some(tried))).is_some();
        }
        let unmeasured = matches!(verdict, Some(Verdict::NotMeasured(_))).then(|| probe.why.clone());
        if let Some(why) = unmeasured.or_else(|| beyond::ends(&self.saved, &probe)) {
            self.keep(arm, probe);
            self.end(Err(why));
            return false;
        }
        if let Some(search) = &mut self.search {
            search.saw(verdict.map_or(ProbeResult::NoValue, Verdict::seen), probe.disturbed);
            search.doubt_if(probe.differs);
        }
        self.keep(arm, probe);
        false
    }

    /// The share of operations that failed, if a probe missed the bound on it by more than chance; or of those that take too long at
    /// any rate.
    fn failing(&self, probe: &Probe, verdict: Option<Verdict>) -> Option<f64> {
        let Some(Verdict::Misses(at)) = verdict else { return None };
        if let Some(floor) = self.floor.as_ref().filter(|floor| floor.bound == at) {
            return Some(floor.share);
        }
        missed(probe, (at, &self.bounds[at]))
    }

    /// Whether a longer window would have more observations than these; if so, it is used from now on.
    fn needs_longer(&mut self, arm: usize, probe: &Probe, (n, needed): (u64, u64)) -> bool {
        if !self.of.is_rate() {
            let enough_ns = probe.window_ns as f64 * needed as f64 * SPARE / n as f64;
            self.windows_ns[arm] = tenths(enough_ns).clamp(self.window_ns, self.longest_ns());
            return self.windows_ns[arm] > probe.window_ns;
        }
        let arrivals = probe.rate_per_s.unwrap_or(0.0) * probe.window_ns as f64 / 1e9;
        let counted = (n as f64 / arrivals).min(1.0);
        let is_less = counted < self.counted[arm];
        self.counted[arm] = self.counted[arm].min(counted);
        is_less
    }

    fn keep(&mut self, arm: usize, probe: Probe) {
        let at = probe.at().map_or(String::new(), |at| format!(" at {}", self.of.words(at)));
        let rounds = self.saved.budget.as_ref().map_or(0, |budget| budget.rounds);
        let rounds = if rounds > 0 { rounds } else { self.saved.rounds };
        (self.ways.tell)(&format!("round {}/{rounds}  {}{at}: {}", probe.round, self.name(arm), probe.seen_in_words()));
        self.saved.probes.push(probe);
    }

    fn name(&self, arm: usize) -> String {
        self.saved.arms[arm].name()
    }

    fn next(&mut self) -> Option<Choice> {
        loop {
            if let Some(arm) = self.without_closed_loop() {
                return Some(self.ask(arm, None));
            }
            let Some((round, arm)) = self.order.get(self.at).copied() else {
                if self.plan_rest() {
                    continue;
                }
                return None;
            };
            if self.is_left_out(arm) {
                self.at += 1;
                continue;
            }
            if let Some(words) = self.is_over(round, arm) {
                self.give_up(words);
                continue;
            }
            if let Some(why) = self.hopeless(arm).filter(|_| !self.is_begun) {
                self.end(Err(why.to_string()));
                continue;
            }
            if !self.is_begun && self.has_one_rate(arm) {
                let Some(rate) = self.decisive(round, arm) else {
                    self.leave();
                    continue;
                };
                (self.is_begun, self.search) = (true, Some(Search::only(rate)));
            } else if !self.is_begun {
                self.begin(arm);
            }
            let (lowest, quickest) = (self.lowest(arm), self.quickest(arm));
            match (&mut self.search, self.closed_loop_per_s[arm]) {
                (Some(search), _) => match search.next() {
                    Next::Probe(rate) => return self.ask_in_time(arm, rate).or_else(|| self.next()),
                    Next::Only { rate, meets } => self.decide(rate, meets),
                    Next::Found(rate) => self.end(Ok(rate)),
                    Next::Nothing(why) => self.end(Err(self.words(arm, why))),
                },
                (search @ None, _) if !self.of.is_rate() => *search = Some(Search::whole(None, MOST)),
                (None, Some(_)) if self.saved.service && self.references[self.saved.contender(arm)].is_due() => {
                    return self.ask_in_time(arm, REFERENCE_PER_S).or_else(|| self.next());
                }
                (search @ None, Some(reached)) => {
                    self.failing = self.floors[arm].as_ref().map(|floor| floor.share);
                    *search = Some(match self.failing {
                        Some(_) => Search::from_lowest(lowest),
                        None if reached < lowest => Search::up_to(quickest, lowest),
                        None => Search::below(reached, lowest),
                    });
                }
                (None, None) if !self.closed[arm].is_final() => return Some(self.ask(arm, None)),
                (None, None) => self.end(Err(format!("closed loop: {}", self.words(arm, Why::NoValue)))),
            }
        }
    }

    /// Whether an arm's suspect could not be named whatever the arm shows.
    fn is_left_out(&mut self, arm: usize) -> bool {
        if let (None, _) | (_, Some(false)) = (&self.saved.arms[arm].relaxed, self.left_out[arm]) {
            return false;
        }
        let suspected = suspected(&self.saved, arm);
        let is_out = |of: &Suspected| match self.ways.relaxing {
            Relaxing::Busy => !of.can_be_named(),
            Relaxing::All => of.is_use_unknown(),
            Relaxing::Nothing => false,
        };
        let is_out = self.left_out[arm].or(suspected.as_ref().map(is_out));
        self.left_out[arm] = is_out;
        is_out.unwrap_or(false)
    }

    /// From the second round on, a search begins where earlier rounds ended; one of an arm without a suspect's limit
    /// begins where those of the contender ended.
    fn begin(&mut self, arm: usize) {
        self.is_begun = true;
        let of = self.saved.arms[arm].relaxed.as_ref().map(|relaxed| relaxed.of);
        let values = std::iter::once(arm).chain(of).map(|arm| self.saved.values(arm)).find(|values| !values.is_empty());
        let before: Vec<f64> = values.into_iter().flatten().map(|(_, rate)| rate).collect();
        let shift = (self.random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        self.search = median(&before).map(|guess| match self.of {
            Of::Rate => Search::near(guess, shift, self.lowest(arm)),
            Of::Axis(_) => Search::whole(Some(guess), MOST),
        });
    }

    /// Why there is no rate, and what the last probe missed.
    fn words(&self, arm: usize, why: Why) -> String {
        let last = self.saved.probes.iter().rev().find(|probe| probe.arm == arm && why != Why::NotSettled);
        let last = last.map_or(String::new(), |of| format!("; the last probe: {}", advised(of, self.saved.service)));
        let nothing_meets = why == Why::NothingMeets && self.failing.is_some();
        let words = match &self.floor {
            Some(floor) if nothing_meets => format!(
                "{} is too low: at the lowest {} that a window can judge, the fastest `{}` took {}, and {}; allow more",
                self.bounds[floor.bound].text,
                if self.of.is_rate() { "rate" } else { "number" },
                floor.name,
                Ns(floor.least_ns as u64),
                floor.share_in_words()
            ),
            None if nothing_meets => "operations fail at the lowest value that a window can judge, too".to_string(),
            _ => why.words().to_string(),
        };
        format!("{words}{last}")
    }

    /// Two results agree on the only rate of a search.
    fn decide(&mut self, rate: f64, meets: bool) {
        let (round, arm) = self.order[self.at];
        let (met, missed) = if meets { (Some(rate), None) } else { (None, Some(rate)) };
        self.saved.capacities.push(Capacity { arm, round, met, missed, ..Capacity::default() });
        self.leave();
    }

    fn end(&mut self, found: Result<f64, String>) {
        let (round, arm) = self.order[self.at];
        let (value, why) = found.map_or_else(|why| (None, why), |value| (Some(value), String::new()));
        let is_rate = self.of.is_rate();
        let rate_per_s = value.filter(|_| is_rate);
        let number = value.filter(|_| !is_rate).map(|number| number as u32);
        self.saved.capacities.push(Capacity { arm, round, rate_per_s, number, why, ..Capacity::default() });
        self.leave();
    }

    fn leave(&mut self) {
        (self.search, self.is_begun, self.failing, self.floor) = (None, false, None, None);
        if let Some((_, arm)) = self.order.get(self.at) {
            self.closed[*arm] = Lost::default();
        }
        self.at += 1;
    }

    /// The trial at a rate or number; without one, in a closed loop. Probes of a round do the same work on fresh data. A service
    /// keeps what it was sent, and a second request with the same values may be refused: each of its probes draws its own.
    fn ask(&mut self, arm: usize, tried: Option<f64>) -> Choice {
        let (round, _) = self.order[self.at];
        let round = if self.saved.service { self.saved.probes.len() as u32 + 1 } else { round };
        let choice = Choice { round, ..self.choice(arm, tried) };
        self.asked = Some((arm, choice.clone()));
        choice
    }

    fn choice(&self, arm: usize, tried: Option<f64>) -> Choice {
        let ArmSetup { contender, condition } = &self.places[arm];
        let window_ns = match (&self.of, tried) {
            (Of::Rate, Some(_)) if self.search.is_none() => reference_ns(self.window_ns),
            (Of::Rate, Some(rate)) => self.window_ns_at(arm, rate),
            (Of::Rate, None) => self.window_ns,
            (Of::Axis(_), _) => self.windows_ns[arm],
        };
        let mut condition = condition.clone();
        let window = duration_text(window_ns);
        condition.axes.insert("duration".to_string(), window.clone());
        condition.axes.remove(self.of.key());
        let (words, value) = match (&self.of, tried) {
            (_, None) => ("closed loop".to_string(), None),
            (Of::Rate, Some(rate)) => (format!("{rate:.1}/s for {window}"), Some(format!("{rate:.3}"))),
            (of, Some(number)) => (format!("{} for {window}", of.words(number)), Some(format!("{number:.0}"))),
        };
        condition.label = format!("{}, {words}", condition.label);
        condition.axes.extend(value.map(|value| (self.of.key().to_string(), value)));
        Choice { round: 0, contender: *contender, condition }
    }

    /// Number of operations that the bounds need, with a surplus.
    fn needed(&self) -> f64 {
        let needed = |bound: &Bound| bound.metric.quantile().map_or(0, |(_, quantile, _)| Quantile::needed(quantile));
        self.bounds.iter().map(needed).max().unwrap_or(0) as f64 * SPARE
    }

    fn longest_ns(&self) -> u64 {
        WINDOW_NS_MAX.max(self.window_ns)
    }

    /// The lowest rate at which the longest window holds enough operations.
    fn lowest(&self, arm: usize) -> f64 {
        (self.needed() / (self.counted[arm] * self.longest_ns() as f64 / 1e9)).max(LOWEST_PER_S)
    }

    /// The lowest rate at which the shortest window holds them.
    fn quickest(&self, arm: usize) -> f64 {
        self.lowest(arm) * self.longest_ns() as f64 / self.window_ns as f64
    }

    fn window_ns_at(&self, arm: usize, rate: f64) -> u64 {
        let all_ns = self.window_ns_for_all(arm, rate);
        self.failing.map_or(all_ns, |share| {
            tenths(2.0 * FAILURES_MIN / (share * rate) * 1e9).clamp(self.window_ns, all_ns.max(self.window_ns))
        })
    }

    /// The window in which every bound can be judged.
    fn window_ns_for_all(&self, arm: usize, rate: f64) -> u64 {
        let enough_ns = self.needed() / (self.counted[arm] * rate) * 1e9;
        tenths(enough_ns).clamp(self.window_ns, self.longest_ns())
    }
}

/// A time rounded up to tenths of a second, so that windows have short names.
fn tenths(ns: f64) -> u64 {
    ((ns / 1e8).ceil() * 1e8) as u64
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
