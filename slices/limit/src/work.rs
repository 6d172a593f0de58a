//! The searches of all arms in their rounds: which trial is next, and what became of the last one.

use crate::bound::Bound;
use crate::judge::Verdict;
use crate::probe::{Looked, look};
use crate::saved::{Capacity, Probe, Saved, SeenWord};
use crate::search::{Next, Search, Seen, Why};
use anyhow::Result;
use contend::record::store::Record;
use contend::study::model::Condition;
use contend::study::{SplitMix64, slots};
use contend::trial::chosen::Choice;
use contend::units::duration_text;
use contend_stats::interval::median;
use contend_stats::precision::Rate;
use contend_stats::quantile::Quantile;
use std::path::PathBuf;

/// A window is made longer until it holds enough operations, up to this.
const WINDOW_NS_MAX: u64 = 30_000_000_000;
/// No lower rate is tried, whatever the bounds.
const LOWEST_PER_S: f64 = 0.1;
/// Operations beyond those that a quantile takes: arrivals are drawn at random.
const SPARE: f64 = 1.15;
/// A disturbed probe is run again while such probes are at most this share of all, and a few at the beginning.
const AGAIN_SHARE: f64 = 0.2;
const AGAIN_FIRST: usize = 3;
/// Closed loops that may be invalid before an arm is given up in a round.
const CLOSED_MAX: u32 = 3;
/// Rounds without a value, from the first on, after which an arm is left alone.
const NOTHING_MAX: usize = 2;

/// Where the probes of an arm run.
#[derive(Debug, Clone)]
pub struct Place {
    pub contender: usize,
    /// Without a rate.
    pub condition: Condition,
    /// Processors that its trials may use, if not all.
    pub processors: Option<usize>,
}

/// All searches.
pub struct Work<'w> {
    dir: PathBuf,
    bounds: &'w [Bound],
    places: Vec<Place>,
    window_ns: u64,
    /// Round and arm, in their order.
    order: Vec<(u32, usize)>,
    at: usize,
    under_way: Option<UnderWay>,
    ceilings: Vec<Option<f64>>,
    /// Share of the arrivals that the quantile with the most observations is of, by arm.
    counted: Vec<f64>,
    random: SplitMix64,
    again: usize,
    pub saved: Saved,
    tell: &'w dyn Fn(&str),
}

/// The search of one arm in one round.
struct UnderWay {
    /// None: a closed loop comes first.
    search: Option<Search>,
    asked: Choice,
    /// Closed loops so far.
    closed: u32,
    /// Whether the last rate was disturbed before.
    was_disturbed: bool,
}

/// What a finished trial leads to.
enum After {
    Again,
    Told,
}

impl<'w> Work<'w> {
    pub fn new(dir: PathBuf, bounds: &'w [Bound], places: Vec<Place>, saved: Saved, tell: &'w dyn Fn(&str)) -> Self {
        let seed = saved.seed;
        let order = slots(saved.rounds, 1, places.len(), seed);
        Self {
            dir,
            bounds,
            window_ns: saved.window_ns,
            order: order.iter().map(|slot| (slot.round, slot.contender)).collect(),
            at: 0,
            under_way: None,
            ceilings: vec![None; places.len()],
            counted: vec![1.0; places.len()],
            places,
            random: SplitMix64(!seed.rotate_left(17)),
            again: 0,
            saved,
            tell,
        }
    }

    /// The next trial, after the only one of this record.
    ///
    /// # Errors
    /// The trial cannot be read, or `limit.toml` not be written.
    pub fn choose(&mut self, record: &Record) -> Result<Option<Choice>> {
        if let Some((_, arm)) = self.order.get(self.at).copied().filter(|_| !record.trials.is_empty()) {
            let looked = look(record, arm, self.bounds)?;
            if let After::Again = self.take(arm, looked) {
                self.saved.write(&self.dir)?;
                return Ok(self.under_way.as_ref().map(|under_way| under_way.asked.clone()));
            }
        }
        let next = self.next();
        self.saved.complete = next.is_none();
        self.saved.write(&self.dir)?;
        Ok(next)
    }

    fn take(&mut self, arm: usize, looked: Looked) -> After {
        let Looked { mut probe, verdict, lacking } = looked;
        let longest_ns = self.longest_ns();
        let Some(under_way) = &mut self.under_way else { return After::Told };
        // By its mark alone, before anything that it measured is looked at.
        let may = self.again < AGAIN_FIRST.max((self.saved.probes.len() as f64 * AGAIN_SHARE) as usize);
        if probe.disturbed && !under_way.was_disturbed && may {
            under_way.was_disturbed = true;
            self.again += 1;
            (probe.seen, probe.why) = (Some(SeenWord::NoValue), "disturbed from outside: run again".to_string());
            self.keep(arm, probe);
            return After::Again;
        }
        under_way.was_disturbed = false;
        let Some(search) = &mut under_way.search else {
            under_way.closed += 1;
            if verdict.is_some() && probe.committed_per_s > 0.0 {
                self.ceilings[arm] = Some(probe.committed_per_s);
            }
            self.keep(arm, probe);
            return After::Told;
        };
        if let Some((n, _)) = lacking.filter(|(n, _)| *n > 0) {
            let arrivals = probe.rate_per_s.unwrap_or(0.0) * probe.window_ns as f64 / 1e9;
            let counted = (n as f64 / arrivals).min(1.0);
            let longer = counted < self.counted[arm] && probe.window_ns < longest_ns;
            if longer {
                self.counted[arm] = counted;
                let rate = probe.rate_per_s.unwrap_or(0.0);
                self.keep(arm, probe);
                self.ask(arm, Some(rate));
                return After::Again;
            }
        }
        search.saw(verdict.map_or(Seen::NoValue, Verdict::seen));
        self.keep(arm, probe);
        After::Told
    }

    fn keep(&mut self, arm: usize, probe: Probe) {
        let seen = match probe.seen {
            None => format!("closed loop: {}", Rate(probe.committed_per_s)),
            Some(SeenWord::Meets) => "meets the bounds".to_string(),
            Some(SeenWord::Misses) => format!("misses: {}", probe.why),
            Some(SeenWord::NoValue) => format!("does not count: {}", probe.why),
        };
        let at = probe.rate_per_s.map_or(String::new(), |rate| format!(" at {}", Rate(rate)));
        (self.tell)(&format!("round {}/{}  {}{at}: {seen}", probe.round, self.saved.rounds, self.name(arm)));
        self.saved.probes.push(probe);
    }

    fn name(&self, arm: usize) -> String {
        self.saved.arms[arm].name()
    }

    fn next(&mut self) -> Option<Choice> {
        loop {
            let (round, arm) = *self.order.get(self.at)?;
            if self.under_way.is_none() && self.is_hopeless(arm) {
                self.end(Err("as in the rounds before".to_string()));
                continue;
            }
            if self.under_way.is_none() {
                let choice = self.choice(arm, None);
                self.under_way =
                    Some(UnderWay { search: None, asked: Choice { round, ..choice }, closed: 0, was_disturbed: false });
                self.begin(arm);
            }
            let lowest = self.lowest(arm);
            let under_way = self.under_way.as_mut()?;
            match (&mut under_way.search, self.ceilings[arm]) {
                (Some(search), _) => match search.next() {
                    Next::Probe(rate) => return Some(self.ask(arm, Some(rate))),
                    Next::Found(rate) => self.end(Ok(rate)),
                    Next::Nothing(why) => self.end(Err(why.words().to_string())),
                },
                (search @ None, Some(ceiling)) => *search = Some(Search::below(ceiling, lowest)),
                (None, None) if under_way.closed < CLOSED_MAX => return Some(self.ask(arm, None)),
                (None, None) => self.end(Err(format!("closed loop: {}", Why::NoValue.words()))),
            }
        }
    }

    /// From the second round on a search begins where earlier rounds ended.
    fn begin(&mut self, arm: usize) {
        let before: Vec<f64> = self.saved.values(arm).into_iter().map(|(_, rate)| rate).collect();
        let shift = (self.random.draw() >> 11) as f64 / (1u64 << 53) as f64;
        let lowest = self.lowest(arm);
        if let (Some(under_way), Some(guess)) = (&mut self.under_way, median(&before)) {
            under_way.search = Some(Search::near(guess, shift, lowest));
        }
    }

    fn is_hopeless(&self, arm: usize) -> bool {
        let of_arm = || self.saved.capacities.iter().filter(|capacity| capacity.arm == arm);
        of_arm().count() >= NOTHING_MAX && of_arm().all(|capacity| capacity.rate_per_s.is_none())
    }

    fn end(&mut self, found: Result<f64, String>) {
        let (round, arm) = self.order[self.at];
        let (rate_per_s, why) = found.map_or_else(|why| (None, why), |rate| (Some(rate), String::new()));
        self.saved.capacities.push(Capacity { arm, round, rate_per_s, why });
        self.under_way = None;
        self.at += 1;
    }

    /// The trial at a rate; none: in a closed loop.
    fn ask(&mut self, arm: usize, rate: Option<f64>) -> Choice {
        let (round, _) = self.order[self.at];
        let choice = Choice { round, ..self.choice(arm, rate) };
        if let Some(under_way) = &mut self.under_way {
            under_way.asked = choice.clone();
        }
        choice
    }

    fn choice(&self, arm: usize, rate: Option<f64>) -> Choice {
        let Place { contender, condition, processors } = &self.places[arm];
        let window_ns = rate.map_or(self.window_ns, |rate| self.window_ns_at(arm, rate));
        let mut condition = condition.clone();
        condition.axes.insert("duration".to_string(), duration_text(window_ns));
        condition.axes.remove("rate_per_s");
        let window = duration_text(window_ns);
        condition.label = match rate {
            None => format!("{}, closed loop", condition.label),
            Some(rate) => format!("{}, {rate:.1}/s for {window}", condition.label),
        };
        condition.axes.extend(rate.map(|rate| ("rate_per_s".to_string(), format!("{rate:.3}"))));
        Choice { round: 0, contender: *contender, condition, processors: *processors }
    }

    /// Operations that the bounds take, with some to spare.
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

    fn window_ns_at(&self, arm: usize, rate: f64) -> u64 {
        let enough_ns = self.needed() / (self.counted[arm] * rate) * 1e9;
        // Whole tenths of a second, so that windows are told by few words.
        let enough_ns = (enough_ns / 1e8).ceil() * 1e8;
        (enough_ns as u64).clamp(self.window_ns, self.longest_ns())
    }
}
