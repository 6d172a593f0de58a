//! Supervision of workers on a virtual clock: handshake, run-in, window, drain, deadlines, progress.

use super::crew::{Crew, Failure, Observer, Window, not_started};
use super::processes::{Deadlines, Workers as _};
use super::refusal::Whose;
use super::testing::{BEGINNING, Behaviour, Clock, MS, S, Simulated};
use anyhow::Result;
use contend_wire::handshake::WorkerLine;

/// What the tool observed, with times after the start.
#[derive(Default, Debug, PartialEq, Eq)]
struct Seen {
    begins: Vec<u64>,
    ends: Vec<u64>,
    samples: usize,
    operations: u64,
}

struct Watching<'w> {
    clock: Clock,
    start_ns: u64,
    seen: &'w mut Seen,
}

impl Observer for Watching<'_> {
    fn window_begins(&mut self) {
        self.seen.begins.push(self.clock.now_ns() - self.start_ns);
    }

    fn window_ends(&mut self) {
        self.seen.ends.push(self.clock.now_ns() - self.start_ns);
    }

    fn samples(&mut self, _: &[u8]) -> Result<()> {
        self.seen.samples += 1;
        Ok(())
    }

    fn operations(&mut self, so_far: u64) {
        assert!(so_far >= self.seen.operations, "operations only grow");
        self.seen.operations = so_far;
    }
}

/// A trial by time has a run-in of one second, a window of ten and a drain of two; one by number has no end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Time,
    Number,
}

/// How a trial ended: kind and words of the reason, or neither; and the time after the beginning.
struct Ended {
    result: Result<(), (String, String)>,
    at_ns: u64,
    seen: Seen,
    started_ns: u64,
    /// How long the tool stood still, as noted for the first worker.
    still_ns: u64,
}

fn trial(simulated: Simulated, count: usize, by: By, stop_at: Option<u64>) -> Ended {
    let clock = simulated.clock.clone();
    let cancelled = || stop_at.is_some_and(|at| clock.now_ns() >= BEGINNING + at);
    let whose = Whose::Driver("simulated".to_string());
    let mut crew = Crew::new(whose, Box::new(simulated), Deadlines::default(), &cancelled);
    let (mut seen, mut started_ns) = (Seen::default(), 0);
    let mut all = || -> Result<(), Failure> {
        crew.prepare(&vec![vec![]; count])?;
        crew.compare_clocks()?;
        started_ns = crew.start();
        let begins_ns = started_ns + if by == By::Time { S } else { 0 };
        let ends_ns = (by == By::Time).then_some(begins_ns + 10 * S);
        let window = Window { begins_ns, ends_ns, drain_ns: 2 * S };
        crew.collect(&window, &mut Watching { clock: clock.clone(), start_ns: started_ns, seen: &mut seen })?;
        crew.dismiss();
        Ok(())
    };
    let result = all().map_err(|failure| match failure {
        Failure::Invalid(reason) => (reason.kind.to_string(), reason.detail),
        Failure::Cancelled => ("cancelled".to_string(), String::new()),
        Failure::Fatal(e) => ("fatal".to_string(), format!("{e:#}")),
    });
    let still_ns = crew.members.first().map_or(0, |member| member.heard.still_ns);
    Ended { result, at_ns: clock.now_ns() - BEGINNING, seen, started_ns, still_ns }
}

fn one(edit: impl Fn(&mut Behaviour)) -> Vec<Behaviour> {
    let mut behaviour = Behaviour::default();
    edit(&mut behaviour);
    vec![behaviour]
}

/// Two workers, of which the second is different.
fn two(edit: impl Fn(&mut Behaviour)) -> Vec<Behaviour> {
    vec![Behaviour::default(), one(edit).remove(0)]
}

/// Name, workers, what ends the trial, the kind of the reason and a part of its words; both are empty for a valid
/// trial.
type Scenario = (&'static str, Vec<Behaviour>, By, &'static str, &'static str);

#[rustfmt::skip]
fn scenarios() -> Vec<Scenario> {
    use By::{Number, Time};
    let progress = || WorkerLine::Progress(vec![("operations".to_string(), "7".to_string())]);
    let old = || Some(vec![("protocol".to_string(), "0".to_string())]);
    vec![
        ("sound", one(|_| ()), Time, "", ""),
        ("two sound", two(|_| ()), Time, "", ""),
        ("no program", one(|w| w.hello = None), Time, "not-started", "no such program"),
        ("late hello in time", one(|w| w.hello_after = 59 * S), Time, "", ""),
        ("late hello", one(|w| w.hello_after = 61 * S), Time, "not-ready", "did not send `ready` in time"),
        ("late ready of one", two(|w| w.ready_after = 60 * S), Time, "not-ready", "did not send `ready` in time"),
        ("another protocol", two(|w| w.hello = old()), Time, "protocol", "worker 1 speaks protocol 0"),
        ("clock ahead", two(|w| w.clock_off = 3_600 * S as i64), Time, "clock", "worker 1 reads a clock 3600"),
        ("clock behind", one(|w| w.clock_off = -2 * MS as i64), Time, "clock", "worker 0 reads a clock -2000000 ns"),
        ("clock read slowly", one(|w| w.clock_after = [60 * MS, 60 * MS]), Time, "clock", "took 120000000 ns"),
        ("clock as slow as allowed", one(|w| w.clock_after = [50 * MS, 50 * MS]), Time, "", ""),
        ("clock slow four times", one(|w| { w.clock_after = [S, S]; w.slow_clocks = 4 }), Time, "", ""),
        ("clock slow five times", one(|w| { w.clock_after = [S, S]; w.slow_clocks = 5 }), Time, "clock", "took 2000000000 ns"),
        ("no clock", one(|w| w.clock_after = [16 * S, 0]), Time, "stalled", "did not report its clock in time"),
        ("silent", one(|w| w.silent_from = 3 * S), Time, "stalled", "worker 0 gave no sign of life for 15s"),
        ("one silent", two(|w| w.silent_from = 3 * S), Time, "stalled", "worker 1 gave no sign of life for 15s"),
        ("signs of life just in time", one(|w| { w.progress_every = 14 * S; w.works_for = 14 * S }), Time, "", ""),
        ("death in the run-in", two(|w| w.dies_at = S / 2), Time, "worker-died", "worker 1 closed its output (signal: 9"),
        ("death in the window", two(|w| w.dies_at = 5 * S), Time, "worker-died", "worker 1 closed its output (signal: 9"),
        ("death before its samples", one(|w| w.dies_at = 11 * S), Time, "worker-died", "closed its output"),
        ("gives up", one(|w| w.says = Some((2 * S, WorkerLine::Failed("disk full".to_string())))), Time, "worker-died", "gave up: disk full"),
        ("out of turn", one(|w| w.says = Some((2 * S, WorkerLine::Ready))), Time, "protocol", "sent `ready` out of turn"),
        ("says something after the end", two(|w| { w.works_for = 5 * S; w.says = Some((8 * S, progress())) }), Time, "protocol", "worker 1 sent something after `end`"),
        ("drains as long as it may", one(|w| w.works_for = 13 * S), Time, "", ""),
        ("samples late", one(|w| w.samples_after = 59 * S), Time, "stalled", "no sign of life"),
        ("drains too long", one(|w| w.works_for = 90 * S), Time, "stalled", "did not send its samples in time"),
        ("one lags", two(|w| w.works_for = 12 * S), Time, "", ""),
        ("half a sample", one(|w| w.sample_bytes = 65), Time, "samples", "sent 65 bytes of samples"),
        ("by number", one(|w| w.works_for = 3 * S), Number, "", ""),
        ("by number for hours", one(|w| { w.works_for = 20_000 * S; w.progress_every = 10 * S }), Number, "", ""),
        ("no operation for an hour", one(|w| { w.works_for = 9_000 * S; w.operation_takes = 10_000 * S; w.progress_every = 10 * S }), Number, "stalled", "finished no operation in 3600s"),
    ]
}

#[test]
fn every_scenario_ends_as_it_must() {
    for (name, behaviours, by, kind, words) in scenarios() {
        let count = behaviours.len();
        let ended = trial(Simulated::new(behaviours), count, by, None);
        match &ended.result {
            Ok(()) => {
                assert_eq!(kind, "", "{name}: is sound");
                assert_eq!(ended.seen.samples, count, "{name}: samples");
                assert_eq!((ended.seen.begins.len(), ended.seen.ends.len()), (1, 1), "{name}: marks");
            }
            Err((found, detail)) => {
                assert!(found == kind && detail.contains(words), "{name}: {found}: {detail}");
            }
        }
    }
}

#[test]
fn marks_are_at_their_exact_moments() {
    let ended = trial(Simulated::new(two(|w| w.works_for = 12 * S)), 2, By::Time, None);
    let operations = ended.seen.operations;
    assert_eq!(ended.seen, Seen { begins: vec![S], ends: vec![11 * S], samples: 2, operations });
    // The last signs of life come 100 ms before the end of the work.
    assert_eq!(operations, 10_900 + 11_900);
    assert_eq!(ended.started_ns - BEGINNING, (20 + 10 + 2 * 2 + 5 + 2) * MS, "handshake, clocks, time for the line");
    assert_eq!(BEGINNING + ended.at_ns - ended.started_ns, 12 * S + 6 * MS, "over with the last `end`");
}

#[test]
fn a_window_by_number_ends_with_the_last_worker() {
    let ended = trial(Simulated::new(two(|w| w.works_for = 30 * S)), 2, By::Number, None);
    assert_eq!((ended.seen.begins, ended.seen.ends), (vec![0], vec![30 * S + 6 * MS]));
}

#[test]
fn work_that_ends_early_ends_the_window() {
    let ended = trial(Simulated::new(one(|w| w.works_for = S / 2)), 1, By::Time, None);
    assert_eq!((ended.seen.begins, ended.seen.ends), (vec![S / 2 + 6 * MS], vec![S / 2 + 6 * MS]));
}

#[test]
fn silence_is_noticed_when_its_time_is_over() {
    let ended = trial(Simulated::new(one(|w| w.silent_from = 3 * S)), 1, By::Time, None);
    let after_start = BEGINNING + ended.at_ns - ended.started_ns;
    assert_eq!(after_start, 2_900 * MS + 15 * S, "15 s after the last sign of life");
}

#[test]
fn a_late_drain_is_noticed_a_minute_after_its_end() {
    let ended = trial(Simulated::new(one(|w| w.works_for = 90 * S)), 1, By::Time, None);
    assert_eq!(BEGINNING + ended.at_ns - ended.started_ns, (1 + 10 + 2 + 60) * S);
}

#[test]
fn a_machine_that_stood_still_is_no_silence_unless_it_was_long() {
    let short = trial(Simulated::new(two(|_| ())).leaping(4 * S, 14 * S), 2, By::Time, None);
    assert!(short.result.is_ok(), "{:?}", short.result);
    assert_eq!(short.seen.ends.len(), 1);
    let long = trial(Simulated::new(two(|_| ())).leaping(4 * S, 16 * S), 2, By::Time, None);
    let (kind, words) = long.result.expect_err("too long");
    assert!(kind == "stalled" && words.contains("no sign of life"), "{kind}: {words}");
}

#[test]
fn the_time_for_which_the_tool_stood_still_after_the_window_is_noted() {
    let still_ns = |at, by| {
        let worker = one(|w| w.works_for = 12 * S);
        trial(Simulated::new(worker).leaping(at, by), 1, By::Time, None).still_ns
    };
    assert_eq!(still_ns(4 * S, 2 * S), 0, "in the window");
    let after = still_ns(11 * S + S / 2, S);
    assert!((700 * MS..S).contains(&after), "{after}");
    assert_eq!(still_ns(11 * S + S / 2, 90 * MS), 0, "as long as any program may wait");
}

#[test]
fn a_stop_takes_effect_at_once_wherever_it_comes() {
    // In the handshake, the run-in, the window, the drain.
    for at in [5 * MS, S / 2, 5 * S, 11 * S + S / 2] {
        let ended = trial(Simulated::new(two(|w| w.works_for = 12 * S)), 2, By::Time, Some(at));
        let (kind, _) = ended.result.expect_err("stopped");
        assert_eq!(kind, "cancelled");
        assert!(ended.at_ns <= at + 100 * MS, "stopped at {at}, noticed at {}", ended.at_ns);
    }
}

#[test]
fn the_simulated_clock_only_goes_forward() {
    let mut simulated = Simulated::new(one(|_| ()));
    let _ = simulated.next(BEGINNING + S, &|| false);
    assert_eq!(simulated.now_ns(), BEGINNING + S);
    let _ = simulated.next(BEGINNING, &|| false);
    assert_eq!(simulated.now_ns(), BEGINNING + S);
}

#[test]
fn a_full_disk_is_not_the_fault_of_the_program() {
    let whose = Whose::Driver("d".to_string());
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    assert!(matches!(
        not_started(&whose, anyhow::Error::new(full).context("cannot create worker.log")),
        Failure::Fatal(_)
    ));
    let absent = std::io::Error::from(std::io::ErrorKind::NotFound);
    assert!(matches!(not_started(&whose, absent.into()), Failure::Invalid(_)));
}
