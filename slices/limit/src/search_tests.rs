//! Searches on a simulated service: one request at a time, constant service time, random arrivals.

use super::*;
use crate::judge::{Backlog, Measured, Thirds, judge};
use contend::study::SplitMix64;
use contend_stats::interval::{median, median_interval, sorted};

const SERVICE_S: f64 = 0.001;
const BOUND_S: f64 = 0.02;
const WINDOW_S: f64 = 5.0;
const RUN_IN_S: f64 = 0.2;

/// A service with pauses: their length and interval, and how rarely the machine pauses in a window.
#[derive(Clone, Copy)]
struct Service {
    stall_s: f64,
    every_s: f64,
    disturbed: u64,
}

const STEADY: Service = Service { stall_s: 0.0, every_s: f64::INFINITY, disturbed: u64::MAX };
const KINDS: [(&str, Service); 3] = [
    ("steady", STEADY),
    ("stalls", Service { stall_s: 0.01, every_s: 0.5, ..STEADY }),
    ("disturbed", Service { disturbed: 12, ..STEADY }),
];

fn draw(random: &mut SplitMix64) -> f64 {
    (random.draw() >> 11) as f64 / (1u64 << 53) as f64
}

impl Service {
    /// Response times at a rate, in the order of arrival. `arrivals` are those of the round, which its probes share.
    fn responses(self, rate: f64, window_s: f64, (mut arrivals, random): (SplitMix64, &mut SplitMix64)) -> Vec<f64> {
        let (mut now, mut free, mut stall) = (0.0, 0.0f64, self.every_s * draw(random));
        let disturbed_at = if random.below(self.disturbed) == 0 { window_s * draw(random) } else { f64::INFINITY };
        let (mut disturbed_at, mut responses) = (disturbed_at, vec![]);
        while now < window_s {
            now -= (1.0 - draw(&mut arrivals)).ln() / rate;
            while stall < free.max(now) {
                free = free.max(stall) + self.stall_s;
                stall += self.every_s;
            }
            if disturbed_at < now {
                free = free.max(disturbed_at) + 0.2;
                disturbed_at = f64::INFINITY;
            }
            free = free.max(now) + SERVICE_S;
            if now > RUN_IN_S {
                responses.push(free - now);
            }
        }
        responses
    }

    fn probe(self, rate: f64, round: u64, random: &mut SplitMix64) -> ProbeResult {
        let responses = self.responses(rate, WINDOW_S.max(3_450.0 / rate), (SplitMix64(round), random));
        let ns = |s: f64| (s * 1e9) as u64;
        let third = responses.len() / 3;
        let middle = |part: &[f64]| ns(median(part).unwrap());
        let thirds = Thirds { first_ns: middle(&responses[..third]), last_ns: middle(&responses[2 * third..]) };
        let value = Some(quantile(&responses));
        let p99 = Measured { value, at_least: false, n: responses.len() as u64, needed: 3_000, most: BOUND_S };
        let backlog = Backlog { thirds: Some(thirds), unsent: 0, room: 1.0, rate_per_s: rate };
        judge(&[p99], backlog, Some(BOUND_S * 1e9)).seen()
    }

    /// The values of six rounds.
    fn rounds(self, random: &mut SplitMix64) -> Vec<f64> {
        let mut rounds: Vec<f64> = vec![];
        for _ in 0..6 {
            let search = match median(&rounds) {
                None => Search::below(1.0 / SERVICE_S, 1.0),
                Some(guess) => Search::near(guess, draw(random), 1.0),
            };
            let round = random.draw();
            rounds.push(self.found(search, round, random));
        }
        rounds
    }

    /// The end of a search on a service that carries `times` as much.
    fn carried_out(self, mut search: Search, times: f64, (round, random): (u64, &mut SplitMix64)) -> Next {
        loop {
            match search.next() {
                Next::Probe(rate) => search.saw(self.probe(rate / times, round, random), false),
                ended => return ended,
            }
        }
    }

    fn found(self, search: Search, round: u64, random: &mut SplitMix64) -> f64 {
        match self.carried_out(search, 1.0, (round, random)) {
            Next::Found(rate) => rate,
            ended => panic!("{ended:?}"),
        }
    }

    /// Of 40 runs, those in which an arm that carries `times` as much meets a rate `factor` above the contender's own in each
    /// of three rounds.
    fn moved_of_40(self, times: f64, factor: f64) -> usize {
        let mut random = SplitMix64(11);
        let truth = self.truth(&mut random);
        let mut is_moved = || {
            (0..3).all(|_| {
                let round = random.draw();
                let own = self.found(Search::near(truth, draw(&mut random), 1.0), round, &mut random);
                let ended = self.carried_out(Search::only(own * factor), times, (round, &mut random));
                matches!(ended, Next::Only { meets: true, .. })
            })
        };
        (0..40).filter(|_| is_moved()).count()
    }

    /// The rate at which the quantile of a very long window equals the bound.
    fn truth(self, random: &mut SplitMix64) -> f64 {
        let undisturbed = Service { disturbed: u64::MAX, ..self };
        let (mut low, mut high) = (100.0, 1.0 / SERVICE_S);
        while high / low > 1.003 {
            let middle: f64 = (low + high) / 2.0;
            let arrivals = SplitMix64(random.draw());
            let over = quantile(&undisturbed.responses(middle, 300.0, (arrivals, random))) > BOUND_S;
            (low, high) = if over { (low, middle) } else { (middle, high) };
        }
        (low + high) / 2.0
    }
}

fn quantile(responses: &[f64]) -> f64 {
    sorted(responses)[responses.len() * 99 / 100]
}

#[test]
fn capacities_of_simulated_services_are_found_within_5_percent() {
    for (name, service) in KINDS {
        let mut random = SplitMix64(7);
        let truth = service.truth(&mut random);
        let runs: Vec<Vec<f64>> = (0..40).map(|_| service.rounds(&mut random)).collect();
        let found: Vec<f64> = runs.iter().map(|rounds| median(rounds).unwrap() / truth).collect();
        let holds = |rounds: &&Vec<f64>| {
            let interval = median_interval(rounds).expect("six rounds");
            (interval.low..=interval.high * STEP).contains(&truth)
        };
        let covered = runs.iter().filter(holds).count();
        let near = found.iter().filter(|ratio| (0.95..1.05).contains(*ratio)).count();
        println!(
            "{name}: truth {truth:.1}, median {:.3}, {near} near, {covered} covered of 40: {found:.3?}",
            median(&found).unwrap()
        );
        assert!(covered >= 36, "{name}: {covered} of 40 intervals hold {truth}");
        assert!(near >= 39, "{name}: {near} of 40 within 5 % of {truth}: {found:?}");
    }
}

#[test]
fn one_rate_in_each_of_three_rounds_tells_what_helps_from_what_does_not() {
    for (name, service) in KINDS {
        let (as_much, quarter_more) = (service.moved_of_40(1.0, DECISIVE), service.moved_of_40(1.25, DECISIVE));
        println!("{name}: as much {as_much}, a quarter more {quarter_more} of 40");
        assert!(as_much == 0 && quarter_more >= 37, "{name}: {as_much}, {quarter_more} of 40");
    }
}

/// The probed rates if all rates up to `capacity` meet the bounds.
fn tried(mut search: Search, capacity: f64) -> (Vec<f64>, Next) {
    let mut tried = vec![];
    loop {
        match search.next() {
            Next::Probe(rate) => {
                tried.push(rate);
                search.saw(if rate <= capacity { ProbeResult::Meets } else { ProbeResult::Misses }, false);
            }
            end => return (tried, end),
        }
    }
}

/// Whether a rate is the lower end of a bracket that has the capacity inside.
fn is_below(rate: f64, capacity: f64) -> bool {
    (1.0 / STEP - 1e-9..=1.0).contains(&(rate / capacity))
}

#[test]
fn wrong_ends_are_moved() {
    for (search, capacity) in [
        (Search::below(1000.0, 5.0), 900.0),
        (Search::below(1000.0, 5.0), 20.0),
        (Search::below(1000.0, 5.0), 5000.0),
        (Search::near(900.0, 0.3, 5.0), 300.0),
        (Search::near(900.0, 0.7, 5.0), 2500.0),
    ] {
        let (tried, end) = tried(search, capacity);
        let Next::Found(rate) = end else { panic!("{end:?} after {tried:?}") };
        assert!(is_below(rate, capacity), "{rate} for {capacity}");
        assert!(tried.len() <= 16, "{tried:?}");
    }
    let (near, _) = tried(Search::near(900.0, 0.5, 5.0), 905.0);
    assert!(near.len() <= 5, "{near:?}");
    for share in [0.55, 0.6, 0.7, 0.8, 0.9] {
        let (first, _) = tried(Search::below(1000.0, 5.0), 1000.0 * share);
        assert!(first.len() <= 8, "a budget holds few: {first:?}");
    }
}

#[test]
fn one_miss_by_chance_does_not_end_a_search() {
    let (mut search, mut probes) = (Search::below(1000.0, 5.0), 0);
    let rate = loop {
        match search.next() {
            Next::Probe(rate) => {
                probes += 1;
                let by_chance = probes == 1;
                search.saw(if rate <= 900.0 && !by_chance { ProbeResult::Meets } else { ProbeResult::Misses }, false);
            }
            Next::Found(rate) => break rate,
            ended => panic!("{ended:?}"),
        }
    };
    assert!(is_below(rate, 900.0), "{rate}");
}

#[test]
fn of_one_rate_two_equal_results_decide() {
    let probed = |seen: &[ProbeResult]| {
        let mut search = Search::only(100.0);
        for seen in seen {
            assert_eq!(search.next(), Next::Probe(100.0));
            search.saw(*seen, false);
        }
        search.next()
    };
    use ProbeResult::{Meets, Misses, NoValue};
    assert_eq!(probed(&[Meets, Meets]), Next::Only { rate: 100.0, meets: true });
    assert_eq!(probed(&[Misses, NoValue, Misses]), Next::Only { rate: 100.0, meets: false });
    assert_eq!(probed(&[Meets, Misses, Meets]), Next::Only { rate: 100.0, meets: true });
    assert_eq!(probed(&[Misses, Meets, Misses]), Next::Only { rate: 100.0, meets: false });
    assert_eq!(probed(&[NoValue; 3]), Next::Nothing(Why::NoValue));
}

#[test]
fn a_rate_is_not_found_below_answers_that_changed_at_all_rates() {
    let end = |changed_from: usize| {
        let mut search = Search::below(1000.0, 5.0);
        for n in 0.. {
            match search.next() {
                Next::Probe(_) if n >= changed_from => {
                    search.saw(ProbeResult::Misses, false);
                    search.doubt_if(true);
                }
                Next::Probe(rate) => {
                    search.saw(if rate <= 900.0 { ProbeResult::Meets } else { ProbeResult::Misses }, false)
                }
                end => return (n, end),
            }
        }
        unreachable!("a search ends")
    };
    let (probes, found) = end(usize::MAX);
    assert!(matches!(found, Next::Found(rate) if rate <= 900.0), "{found:?}");
    for changed_from in 0..probes {
        assert!(!matches!(end(changed_from).1, Next::Found(_)), "from probe {changed_from} of {probes}");
    }
}

#[test]
fn what_does_not_count_is_tried_again_and_then_said() {
    let mut search = Search::below(1000.0, 5.0);
    let Next::Probe(rate) = search.next() else { panic!("a first probe") };
    for _ in 1..3 {
        search.saw(ProbeResult::NoValue, false);
        assert_eq!(search.next(), Next::Probe(rate));
    }
    search.saw(ProbeResult::NoValue, false);
    assert_eq!(search.next(), Next::Nothing(Why::NoValue));
    let mut disturbed = Search::below(1000.0, 5.0);
    assert_eq!(disturbed.next(), Next::Probe(rate));
    for _ in 1..9 {
        disturbed.saw(ProbeResult::NoValue, true);
        assert_eq!(disturbed.next(), Next::Probe(rate), "other programs are the reason");
    }
    disturbed.saw(ProbeResult::NoValue, true);
    assert_eq!(disturbed.next(), Next::Nothing(Why::NoValue));
    let (tried, end) = tried(Search::below(1000.0, 5.0), 0.0);
    assert_eq!(end, Next::Nothing(Why::NothingMeets), "{tried:?}");
    assert_eq!(tried.last(), Some(&5.0), "the lowest rate is tried, and none below: {tried:?}");
    assert!(tried.len() < 12, "{tried:?}");
}

#[test]
fn a_closed_loop_below_the_lowest_rate_is_searched_from_there() {
    let (tried, end) = tried(Search::below(3.0, 20.0), 25.0);
    let Next::Found(rate) = end else { panic!("{end:?} after {tried:?}") };
    assert!(is_below(rate, 25.0), "{rate}");
}

#[test]
fn whole_numbers_are_found_exactly_where_they_are_small() {
    for capacity in [1.0, 2.0, 3.0, 7.0, 16.0, 19.0] {
        for guess in [None, Some(1.0), Some(capacity), Some(capacity + 0.5), Some(capacity * 3.0)] {
            let (tried, end) = tried(Search::whole(guess, 1024.0), capacity);
            assert_eq!(end, Next::Found(capacity), "from {guess:?}: {tried:?}");
            assert!(tried.iter().all(|tried| tried.fract() == 0.0 && *tried >= 1.0), "{tried:?}");
        }
    }
    let (tried, end) = tried(Search::whole(None, 1024.0), 700.0);
    let Next::Found(found) = end else { panic!("{end:?} after {tried:?}") };
    assert!((700.0 / STEP..=700.0).contains(&found) && tried.len() <= 18, "{found} after {tried:?}");
}

#[test]
fn whole_numbers_have_a_first_and_a_last_one() {
    for guess in [None, Some(2.0)] {
        assert_eq!(tried(Search::whole(guess, 1024.0), 0.0).1, Next::Nothing(Why::NothingMeets));
    }
    for guess in [None, Some(900.0), Some(1024.0)] {
        let (tried, end) = tried(Search::whole(guess, 1024.0), 5000.0);
        assert_eq!(end, Next::Found(1024.0), "{tried:?}");
        assert!(tried.iter().all(|tried| *tried <= 1024.0) && tried.len() <= 14, "{tried:?}");
    }
}

#[test]
fn a_single_miss_at_the_lowest_value_does_not_end_a_search() {
    for search in [Search::below(40.0, 20.0), Search::whole(None, 1024.0), Search::whole(Some(2.0), 1024.0)] {
        let (mut search, mut misses) = (search, 0);
        let end = loop {
            let Next::Probe(at) = search.next() else { break search.next() };
            let is_pause = at <= 20.0 && misses < 1;
            misses += u32::from(is_pause && (search.lowest == at));
            let misses = is_pause && search.lowest == at || at > 25.0;
            search.saw(if misses { ProbeResult::Misses } else { ProbeResult::Meets }, false);
        };
        assert!(matches!(end, Next::Found(value) if (20.0..=25.0).contains(&value)), "{end:?}");
    }
    let mut once = Search::below(40.0, 20.0);
    let tried = std::iter::from_fn(|| match once.next() {
        Next::Probe(at) => {
            once.saw(ProbeResult::Misses, false);
            Some(at)
        }
        _ => None,
    });
    assert_eq!(tried.filter(|at| *at == 20.0).count(), 2, "twice, and then it ends");
}
