//! What the time budget of a search holds: which quantile, which rounds, which arms.

use super::{Relaxing, Work, tenths};
use crate::bound::with_lower_quantiles;
use crate::budget::{self, Candidate};
use crate::capacity::plain_arms;
use crate::limiter::{ROUNDS_MIN, Suspected, suspected};
use crate::of::Of;
use crate::saved::Arm;
use crate::search::{Search, decisive};
use contend::study::slots;
use contend::trial::chosen::Choice;
use contend::units::duration_ns;
use contend_stats::interval::median;
use contend_stats::precision::{Ns, Rate};

/// Initial rounds without a value after which an arm is skipped.
const NOTHING_MAX: usize = 2;

impl Work<'_> {
    /// Why a search is not worth its time: the rounds so far found nothing. A relaxed arm is only compared with its contender.
    pub fn hopeless(&self, arm: usize) -> Option<&'static str> {
        let found_nothing = |arm: usize, rounds: usize| {
            let of_arm = || self.saved.capacities.iter().filter(|capacity| capacity.arm == arm);
            of_arm().count() >= rounds && of_arm().all(|capacity| capacity.value().is_none())
        };
        let of = self.saved.arms[arm].relaxed.as_ref().map(|relaxed| relaxed.of);
        match of.is_some_and(|of| found_nothing(of, 1)) {
            _ if self.has_one_rate(arm) => None,
            true => Some("its contender has no rate so far"),
            false => found_nothing(arm, NOTHING_MAX).then_some("as in the rounds before"),
        }
    }

    /// With a budget, every contender's closed loop comes first: the slowest one decides which quantile the time holds.
    pub fn without_closed_loop(&mut self) -> Option<usize> {
        if self.is_settled || !self.of.is_rate() {
            return None;
        }
        let lacks = |(_, arm): &&(u32, usize)| self.closed_loop_per_s[*arm].is_none() && !self.closed[*arm].is_final();
        let next = self.order.iter().find(lacks).map(|(_, arm)| *arm);
        self.is_settled = next.is_none();
        if next.is_none() {
            self.lower_quantile();
        }
        next
    }

    /// Bounds a lower quantile if the slowest contender's window would be too long for the budget.
    fn lower_quantile(&mut self) {
        let slowest = self.closed_loop_per_s.iter().flatten().copied().min_by(f64::total_cmp);
        let (Some(budget), Some(reached)) = (&self.saved.budget, slowest) else { return };
        let most_ns = budget.total_ns as f64 * budget::WINDOW;
        let window_ns = |needed: f64| needed / (reached * budget::REACHES) * 1e9;
        let before: Vec<String> = self.bounds.iter().map(|bound| bound.text.clone()).collect();
        let asked_ns = window_ns(self.needed());
        while self.ways.lowers && window_ns(self.needed()) > most_ns.max(self.window_ns as f64) {
            let Some(lower) = with_lower_quantiles(&self.bounds) else { break };
            self.bounds = lower;
        }
        let now: Vec<String> = self.bounds.iter().map(|bound| bound.text.clone()).collect();
        let changed: Vec<&str> = now.iter().filter(|text| !before.contains(text)).map(String::as_str).collect();
        if let (false, Some(budget)) = (changed.is_empty(), &mut self.saved.budget) {
            let (asked, most) = (Ns(tenths(asked_ns)), Ns(tenths(most_ns)));
            let (was, is) = (before.iter().find(|text| !now.contains(text)), changed[0]);
            budget.lowered = format!(
                "{is} is bounded instead of {}: near {}, which the slowest contender reaches in a closed loop, a window with \
                 enough operations takes {asked}, and the time allows {most}.",
                was.map_or("", String::as_str),
                Rate(reached)
            );
            // Closed loops were looked at before.
            self.saved.probes.iter_mut().for_each(|probe| probe.values.fill(f64::NAN));
        }
        self.saved.bounds = now;
    }

    /// Plans what a budget holds after the first round. False without a budget, and after that.
    pub fn plan_rest(&mut self) -> bool {
        let now_ns = (self.ways.clock)();
        let left_ns = match &self.saved.budget {
            Some(budget) if budget.rounds == 0 => budget.total_ns.saturating_sub(now_ns),
            _ => return false,
        };
        let plain: Vec<(usize, u64)> = plain_arms(&self.saved)
            .filter(|(arm, _)| !self.saved.values(*arm).is_empty())
            .map(|(arm, _)| (arm, self.search_ns(arm)))
            .collect();
        let candidates = self.candidates();
        let plan = budget::plan(left_ns, self.saved.rounds, &plain, &candidates);
        // Arms begin with the values of the first round, and as early as they can: the last rounds may not fit.
        let has_slot = |round: u32, arm: usize| {
            let is_named = round <= ROUNDS_MIN as u32 && plan.arms.contains(&arm);
            is_named || round > 1 && plan.plain.contains(&arm)
        };
        let rest = slots(plan.rounds, 1, self.places.len(), self.saved.seed).into_iter();
        let rest = rest.map(|slot| (slot.round, slot.contender)).filter(|(round, arm)| has_slot(*round, *arm));
        let rest: Vec<(u32, usize)> = rest.collect();
        // An arm is probed at a rate that follows from its contender's value in the same round, so it comes after it.
        let of = |arm: usize| self.saved.arms[arm].relaxed.as_ref().map(|relaxed| relaxed.of);
        let place =
            |(round, arm): &(u32, usize)| rest.iter().position(|slot| *slot == (*round, of(*arm).unwrap_or(*arm)));
        let mut sorted = rest.clone();
        sorted.sort_by_key(|slot| (slot.0, place(slot), of(slot.1).is_some()));
        self.order.extend(sorted);
        if let Some(budget) = &mut self.saved.budget {
            budget.rounds = plan.rounds;
            budget.left_out = candidates.iter().map(|c| c.arm).collect();
        }
        true
    }

    /// Leaves in the record which arms the budget did not hold in as many rounds as a name takes.
    pub fn settle_left_out(&mut self) {
        let rounds = |arm: usize| self.saved.capacities.iter().filter(|capacity| capacity.arm == arm).count();
        let is_short = |arm: &usize| rounds(*arm) < ROUNDS_MIN && self.saved.rounds as usize >= ROUNDS_MIN;
        let Some(budget) = &self.saved.budget else { return };
        let left_out = budget.left_out.iter().copied().filter(is_short).collect();
        if let Some(budget) = &mut self.saved.budget {
            budget.left_out = left_out;
        }
    }

    /// Arms whose suspects could be named, those that are used most first.
    fn candidates(&self) -> Vec<Candidate> {
        let saved = &self.saved;
        let wanted = |(arm, _): (usize, &Arm)| {
            let of = saved.arms[arm].relaxed.as_ref()?.of;
            let suspected = suspected(saved, arm);
            let can_be_named = suspected.as_ref().is_none_or(Suspected::can_be_named);
            let is_wanted = !saved.values(of).is_empty() && self.ways.relaxing != Relaxing::Nothing && can_be_named;
            let candidate = Candidate { arm, of, search_ns: self.search_ns(arm) };
            is_wanted.then(|| (suspected.map_or(0.0, |of| of.weight()), candidate))
        };
        let mut all: Vec<(f64, Candidate)> = saved.arms.iter().enumerate().filter_map(wanted).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Estimated time of a search that begins near an earlier value.
    fn search_ns(&self, arm: usize) -> u64 {
        let of = self.saved.contender(arm);
        let found = median(&self.saved.values(of).into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        let window_ns = match (&self.of, found) {
            (Of::Rate, Some(rate)) => self.window_ns_at(of, rate),
            _ => self.windows_ns[of],
        };
        let probes = if of == arm { budget::LATER_PROBES } else { budget::ONLY_PROBES };
        (probes * (window_ns + self.extra_ns[arm].max(self.extra_ns[of])) as f64) as u64
    }

    /// Whether an arm is probed at one rate only. A budget does not hold a search for its own highest rate in each round.
    pub fn has_one_rate(&self, arm: usize) -> bool {
        self.saved.budget.is_some() && self.of.is_rate() && self.saved.arms[arm].relaxed.is_some()
    }

    /// The only rate at which an arm is probed: it must meet the bounds there to show that its suspect is the limit; if it has
    /// less of the suspect, it must miss one. `None` if its contender has no value in this round.
    pub fn decisive(&self, round: u32, arm: usize) -> Option<f64> {
        let relaxed = self.saved.arms[arm].relaxed.as_ref()?;
        let values = self.saved.values(relaxed.of);
        let (_, value) = values.into_iter().find(|(of, _)| *of == round)?;
        let factor = decisive(self.saved.margin);
        Some(if relaxed.fewer { value / factor } else { value * factor })
    }

    /// Why the budget does not hold a search, or the rest of one.
    pub fn is_over(&self, round: u32, arm: usize) -> Option<String> {
        let budget = self.saved.budget.as_ref()?;
        let is_first = round == 1 && self.saved.arms[arm].relaxed.is_none();
        let more_ns = if is_first || self.is_begun { 0 } else { self.search_ns(arm) };
        let is_over = (self.ways.clock)() + more_ns > budget.total_ns;
        is_over.then(|| format!("the time of {} is used up", budget::words(budget.total_ns)))
    }

    /// The trial at a rate or number. If the budget is not expected to hold it, the search ends.
    pub fn ask_in_time(&mut self, arm: usize, tried: f64) -> Option<Choice> {
        let choice = self.ask(arm, Some(tried));
        if self.fits(arm, &choice) {
            return Some(choice);
        }
        let total_ns = self.saved.budget.as_ref().map_or(0, |budget| budget.total_ns);
        self.asked = None;
        self.give_up(format!("the next probe would exceed the time of {}", budget::words(total_ns)));
        None
    }

    /// Whether the budget holds a trial that takes as long beyond its window as the last one of this arm.
    pub fn fits(&self, arm: usize, choice: &Choice) -> bool {
        let Some(budget) = &self.saved.budget else { return true };
        let window_ns = choice.condition.axes.get("duration").and_then(|text| duration_ns(text).ok()).unwrap_or(0);
        let extra_ns = self.extra_ns[arm].max(self.extra_ns[self.saved.contender(arm)]);
        (self.ways.clock)() + window_ns + extra_ns <= budget.total_ns
    }

    /// No time is left for a further trial of the last probe, or the search was stopped before it.
    pub fn does_not_run_again(&mut self) {
        self.saved.probes.last_mut().into_iter().for_each(|probe| probe.again = false);
    }

    /// Leaves a search out. In the first round this is the contender's result, with the values between which the search was.
    pub fn give_up(&mut self, why: String) {
        let (round, arm) = self.order[self.at];
        if round > 1 || self.saved.arms[arm].relaxed.is_some() {
            return self.leave();
        }
        let (met, missed) = self.search.as_ref().map_or((None, None), Search::bracket);
        self.end(Err(why));
        if let Some(capacity) = self.saved.capacities.last_mut() {
            (capacity.met, capacity.missed) = (met, missed);
        }
    }
}
