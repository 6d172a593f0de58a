//! Compares the times that a worker reports with the tool's own clock: when `start` was sent, when each sign of life arrived, and
//! when the worker was done.

use crate::outcome::reason::Invalid;
use crate::record::model::Reason;
use crate::stats::precision::counted;
use contend_wire::handshake::{Facts, fact};
use contend_wire::sample::Sample;
use std::collections::HashMap;

/// How late an honest worker may report that it is done, in addition to [`LATE_PERMILLE`] of the time. On the way from a client to
/// the tool several threads have to be scheduled, on a machine with many more threads than processors.
pub const LATE_NS_MAX: u64 = 500_000_000;

/// The same, in thousandths of the time from the start to the last operation.
const LATE_PERMILLE: u64 = 50;

/// Longest standstill of the tool that excuses a late worker: a worker could stop the tool, too.
const STILL_NS_MAX: u64 = 2_000_000_000;

/// Longest pause of a garbage collector that excuses a worker. It is bounded because only the worker reports it.
const PAUSE_NS_MAX: u64 = 2_000_000_000;

/// Facts of `done` with the longest pause of a garbage collector, in which a worker sends nothing, and with all of them together.
const LONGEST_PAUSE: &str = "gc_pause_ns_max";
const ALL_PAUSES: &str = "gc_pause_ns";

/// Accepted pause of a garbage collector: 0 in a language without a collector; at most the sum of all its pauses, and two
/// seconds.
pub fn believed_pause_ns(has_collector: bool, done: &Facts) -> u64 {
    let reported = |name: &str| fact(done, name).and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    if has_collector { reported(LONGEST_PAUSE).min(reported(ALL_PAUSES)).min(PAUSE_NS_MAX) } else { 0 }
}

/// Longest silence in run-in and window; a sign of life is due every 200 ms. A believed pause of a garbage collector is allowed on
/// top.
pub const SILENCE_NS_MAX: u64 = 1_500_000_000;

/// A sign of life of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// When it arrived, on the tool's clock.
    pub at_ns: u64,
    /// Operations that it reports as ended.
    pub operations: u64,
}

/// Stops of a process by a signal, as the kernel reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    pub times: u32,
    pub ns: u64,
}

/// What the tool heard of one worker, on its own clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    pub signs: Vec<Sign>,
    /// Longest silence between the start and the end of the window. Time in which the tool stood still itself does not count.
    pub silence_ns: u64,
    /// When its `done` arrived.
    pub done_ns: u64,
    /// Time since the end of the window for which the tool itself stood still, and so probably the whole machine.
    pub still_ns: u64,
    /// Stops between `start` and `done`. A busy machine causes none.
    pub stopped: Stopped,
}

impl Heard {
    /// When it first reported its final number of operations. It does so before it closes its connections, which can take long.
    fn over_ns(&self, operations: u64) -> u64 {
        let first = self.signs.iter().find(|sign| sign.operations >= operations);
        first.map_or(self.done_ns, |sign| sign.at_ns.min(self.done_ns))
    }
}

/// When the operations of one worker ended, as its samples say.
#[derive(Debug, Clone, Default)]
pub struct Ended {
    /// The ends of its operations.
    finished_ns: Vec<u64>,
}

impl Ended {
    /// How many had ended at that time; the ends must be sorted.
    fn by(&self, at_ns: u64) -> u64 {
        self.finished_ns.partition_point(|ns| *ns <= at_ns) as u64
    }
}

/// The ends of the operations of all workers, from a trial's samples one by one.
#[derive(Debug, Default)]
pub struct Ends {
    worker_of: HashMap<u32, usize>,
    /// Current operation of each client, with the end of its last attempt.
    at_hand: HashMap<u32, (u32, u64)>,
    ended: Vec<Ended>,
}

impl Ends {
    /// For the clients of each worker.
    pub fn of(clients: &[Vec<u32>]) -> Self {
        let of =
            |(number, clients): (usize, &Vec<u32>)| clients.iter().map(move |id| (*id, number)).collect::<Vec<_>>();
        let worker_of = clients.iter().enumerate().flat_map(of).collect();
        Self { worker_of, at_hand: HashMap::new(), ended: vec![Ended::default(); clients.len()] }
    }

    pub fn push(&mut self, sample: &Sample) {
        // A client that no plan has is found by the accounts.
        let Some(worker) = self.worker_of.get(&sample.client) else { return };
        let ended = &mut self.ended[*worker];
        let before = self.at_hand.insert(sample.client, (sample.operation, sample.finished_ns));
        ended.finished_ns.extend(before.filter(|(operation, _)| *operation != sample.operation).map(|(_, ns)| ns));
    }

    /// Of each worker.
    pub fn finish(mut self) -> Vec<Ended> {
        for (client, (_, finished_ns)) in self.at_hand {
            self.ended[self.worker_of[&client]].finished_ns.push(finished_ns);
        }
        self.ended
    }
}

/// When a worker's time began and ended.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub start_ns: u64,
    /// End of the window; none if the number of operations decides.
    pub window_end_ns: Option<u64>,
    /// Number of its clients: each may have ended an operation that it has not counted yet.
    pub clients: u64,
    /// The longest pause that the worker is believed.
    pub pause_ns: u64,
    /// How long it may take to close its connections.
    pub close_ns: u64,
}

/// Contradictions to the tool's clock. An operation ends before it is reported, and is reported no later than a busy machine
/// explains.
pub fn contradictions(number: usize, heard: &Heard, mut ended: Ended, span: Span) -> Vec<Reason> {
    ended.finished_ns.sort_unstable();
    let total = ended.finished_ns.len() as u64;
    let last_ns = ended.finished_ns.last().copied().unwrap_or(span.start_ns);
    let over_ns = heard.over_ns(total);
    let until_ns = last_ns.max(span.window_end_ns.unwrap_or(0)).saturating_sub(span.start_ns);
    let excused_ns = span.pause_ns.saturating_add(heard.still_ns.min(STILL_NS_MAX));
    let late_ns = (LATE_NS_MAX + until_ns / 1000 * LATE_PERMILLE).saturating_add(excused_ns);
    let mut found = vec![];
    let mut clock = |words: String| found.push(Invalid::Clock.because(format!("worker {number} {words}")));
    // A worker with nothing to do may be done before the start.
    if total > 0 && heard.done_ns > 0 && last_ns > heard.done_ns {
        let ahead = ms(last_ns - heard.done_ns);
        clock(format!("reports an operation that ended {ahead} ms after the worker was done, by the tool's clock"));
    }
    let behind = |at_ns: u64| at_ns.saturating_sub(span.start_ns.saturating_add(until_ns));
    // A worker may invent an early report, but then its `done` is late.
    let slow_ns = behind(heard.done_ns).saturating_sub(span.close_ns);
    let behind_ns = behind(over_ns).max(slow_ns);
    if heard.done_ns > 0 && behind_ns > late_ns {
        let (behind, most) = (ms(behind_ns), ms(late_ns));
        clock(format!(
            "worked {behind} ms longer than its samples say, by the tool's clock (at most {most} ms): its times are not those of \
             the machine"
        ));
    }
    // A worker may learn late what its clients have done, but not early.
    let early = heard.signs.iter().filter(|sign| sign.operations > ended.by(sign.at_ns) + span.clients).count();
    if early > 0 {
        let of = heard.signs.len();
        clock(format!(
            "reported more operations at {early} of {of} signs of life than its samples have by then, on the tool's clock"
        ));
    }
    if heard.stopped.times > 0 {
        let (stops, stopped) = (counted(heard.stopped.times as usize, "stop"), ms(heard.stopped.ns));
        found.push(Invalid::Stalled.because(format!(
            "worker {number} was stopped by a signal such as SIGSTOP ({stops}, {stopped} ms in all)"
        )));
    }
    let silence_ns = SILENCE_NS_MAX.saturating_add(span.pause_ns);
    if heard.silence_ns > silence_ns {
        let (silence, most) = (ms(heard.silence_ns), ms(silence_ns));
        found.push(Invalid::Stalled.because(format!(
            "worker {number} gave no sign of life for {silence} ms of run-in and window (at most {most} ms): it did not run"
        )));
    }
    found
}

fn ms(ns: u64) -> u64 {
    ns / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;
    const START: u64 = 100 * S;

    /// A worker that ends an operation every millisecond for so long; `shown` is what its samples make of the time since the
    /// start, `told` what its signs of life make of the number of operations.
    fn worker(length_ns: u64, shown: impl Fn(u64) -> u64, told: impl Fn(u64) -> u64) -> (Heard, Ended) {
        let mut ended = Ended::default();
        for at in (1..=length_ns / MS).map(|n| n * MS) {
            ended.finished_ns.push(START + shown(at));
        }
        let signs = (1..length_ns / (200 * MS)).map(|n| n * 200 * MS);
        let signs = signs.map(|at| Sign { at_ns: START + at + 2 * MS, operations: told(at / MS) }).collect();
        let done_ns = START + length_ns + 3 * MS;
        (Heard { signs, silence_ns: 210 * MS, done_ns, ..Heard::default() }, ended)
    }

    fn span(window_ns: u64) -> Span {
        let window_end_ns = Some(START + window_ns);
        Span { start_ns: START, window_end_ns, clients: 2, pause_ns: 0, close_ns: 2 * S }
    }

    fn found(heard: &Heard, ended: Ended, span: Span) -> Vec<String> {
        contradictions(0, heard, ended, span).into_iter().map(|reason| reason.to_string()).collect()
    }

    #[test]
    fn what_agrees_with_the_tools_clock_passes() {
        let (heard, ended) = worker(2 * S, |t| t, |n| n);
        assert_eq!(found(&heard, ended, span(2 * S)), [""; 0]);
    }

    #[test]
    fn a_worker_with_nothing_to_do_may_be_done_before_the_start() {
        let heard = Heard { done_ns: START - 5 * MS, ..Heard::default() };
        assert_eq!(found(&heard, Ended::default(), span(2 * S)), [""; 0]);
    }

    #[test]
    fn a_worker_that_takes_longer_than_it_says_is_found_from_half_as_long_again() {
        for (f, seconds) in [(1.5, 2_u32), (1.5, 10), (1.3, 10), (20.0, 1)] {
            // A worker that invents what it has done is known only by how late it is done.
            let invents_enough = (f - 1.0) * f64::from(seconds) > 3.2;
            let real_ns = (f * f64::from(seconds) * S as f64) as u64;
            let shown = move |t: u64| (t as f64 / f) as u64;
            // It reports what it has really done, or as much as its samples will say, or nothing at all until the end.
            let honest = |n: u64| n;
            let fitted = |n: u64| (n as f64 * f) as u64;
            let told = [&honest as &dyn Fn(u64) -> u64, &|_| 0].into_iter();
            for told in told.chain(invents_enough.then_some(&fitted as &dyn Fn(u64) -> u64)) {
                let (heard, ended) = worker(real_ns, shown, told);
                let words = found(&heard, ended, span(u64::from(seconds) * S));
                assert!(words.iter().any(|words| words.contains("longer than its samples say")), "{f}: {words:?}");
            }
        }
    }

    #[test]
    fn a_worker_that_stretches_its_time_is_found() {
        let (heard, ended) = worker(S, |t| 2 * t, |n| n);
        let words = found(&heard, ended, span(2 * S));
        assert!(words[0].contains("after the worker was done"), "{words:?}");
    }

    #[test]
    fn operations_that_were_reported_before_they_ended_are_found() {
        let (heard, ended) = worker(4 * S, |t| t, |n| 2 * n);
        let words = found(&heard, ended, span(4 * S));
        assert!(words[0].contains("more operations at 19 of 19 signs of life"), "{words:?}");
    }

    #[test]
    fn a_worker_may_learn_late_what_its_clients_have_done() {
        let (mut heard, ended) = worker(4 * S, |t| t, |_| 7);
        heard.signs.push(Sign { at_ns: START + 4 * S + MS, operations: 4_000 });
        assert_eq!(found(&heard, ended, span(4 * S)), [""; 0]);
    }

    #[test]
    fn a_slow_machine_is_no_lie() {
        let (mut heard, ended) = worker(2 * S, |t| t, |n| n);
        heard.done_ns += LATE_NS_MAX;
        heard.signs.iter_mut().for_each(|sign| sign.at_ns += 400 * MS);
        heard.silence_ns = SILENCE_NS_MAX;
        assert_eq!(found(&heard, ended.clone(), span(2 * S)), [""; 0]);
        // A close that takes its time, after everything was reported.
        heard.signs.push(Sign { at_ns: START + 2 * S + 100 * MS, operations: 2000 });
        heard.done_ns += 2 * S;
        assert_eq!(found(&heard, ended, span(2 * S)), [""; 0]);
    }

    #[test]
    fn a_machine_that_stood_still_is_no_lie() {
        let (mut heard, ended) = worker(2 * S, |t| t, |n| n);
        heard.done_ns += 900 * MS;
        heard.signs.iter_mut().for_each(|sign| sign.at_ns += 900 * MS);
        assert_eq!(found(&heard, ended.clone(), span(2 * S)).len(), 1, "the worker alone was late");
        heard.still_ns = 400 * MS;
        assert_eq!(found(&heard, ended.clone(), span(2 * S)), [""; 0]);
        // A worker could stop the tool for as long as it likes.
        heard.done_ns += 10 * S;
        heard.still_ns = 10 * S;
        assert_eq!(found(&heard, ended, span(2 * S)).len(), 1);
    }

    #[test]
    fn a_silence_is_found_unless_the_worker_could_not_speak() {
        let (mut heard, ended) = worker(2 * S, |t| t, |n| n);
        heard.silence_ns = 5 * S;
        let words = found(&heard, ended.clone(), span(2 * S));
        assert!(words[0].starts_with("stalled: worker 0 gave no sign of life for 5000 ms"), "{words:?}");
        assert_eq!(
            found(&heard, ended.clone(), Span { pause_ns: 4 * S, ..span(2 * S) }),
            [""; 0],
            "a collector's pause"
        );
    }

    #[test]
    fn a_stop_is_found_however_short_it_is() {
        let (mut heard, ended) = worker(2 * S, |t| t, |n| n);
        heard.stopped = Stopped { times: 14, ns: 700 * MS };
        let words = found(&heard, ended, span(2 * S));
        assert_eq!(words, ["stalled: worker 0 was stopped by a signal such as SIGSTOP (14 stops, 700 ms in all)"]);
    }

    #[test]
    fn a_pause_is_believed_up_to_a_bound_and_only_of_a_language_with_a_collector() {
        let reports = |longest: u64, all: u64| -> Facts {
            [(LONGEST_PAUSE, longest), (ALL_PAUSES, all)].map(|(name, ns)| (name.to_string(), ns.to_string())).into()
        };
        assert_eq!(believed_pause_ns(true, &reports(30 * MS, 50 * MS)), 30 * MS);
        assert_eq!(believed_pause_ns(true, &reports(30 * MS, 20 * MS)), 20 * MS, "more than all pauses together");
        assert_eq!(believed_pause_ns(true, &reports(u64::MAX, u64::MAX)), PAUSE_NS_MAX);
        assert_eq!(believed_pause_ns(true, &vec![]), 0);
        assert_eq!(believed_pause_ns(false, &reports(30 * MS, 50 * MS)), 0, "no collector");
    }

    #[test]
    fn a_silence_is_found_however_long_a_pause_the_worker_reports() {
        let (mut heard, ended) = worker(2 * S, |t| t, |n| n);
        (heard.silence_ns, heard.done_ns) = (9 * S, heard.done_ns + 9 * S);
        let longest = u64::MAX.to_string();
        let done = [LONGEST_PAUSE, ALL_PAUSES].map(|name| (name.to_string(), longest.clone())).into();
        let words = found(&heard, ended.clone(), Span { pause_ns: believed_pause_ns(true, &done), ..span(2 * S) });
        assert!(words.iter().any(|words| words.starts_with("stalled: ")), "{words:?}");
        assert!(words.iter().any(|words| words.starts_with("clock: ")), "{words:?}");
        // No sum overflows.
        assert_eq!(found(&heard, ended, Span { pause_ns: u64::MAX, ..span(2 * S) }), [""; 0]);
    }
}
