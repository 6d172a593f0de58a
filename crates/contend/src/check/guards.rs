//! Checks on a trial's totals: settings, Little's law, head-room, invariants, credibility.

use crate::analysis::tally::{ClientTally, Tally};
use crate::check::samples::Totals;
use crate::engine::Expected;
use crate::outcome::Outcome;
use crate::outcome::reason::Invalid;
use crate::record::model::{InvariantResult, Reason};
use crate::stats::little::{self, ClientTime, Gap};
use crate::stats::precision::counted;
use contend_wire::handshake::{Facts, fact};
use contend_wire::sample::{Sample, flag};
use std::collections::BTreeMap;

/// Largest cost of the worker itself per operation, as a share of the mean operation.
pub const GENERATOR_SHARE_MAX: f64 = 0.10;

/// Longest time for which the process of HTTP clients may be busy, as a share of the window.
pub const CLIENT_BUSY_MAX: f64 = 0.90;

/// CPU time is read in ticks, at both ends of a window.
const CPU_RESOLUTION_NS: u64 = 20_000_000;

/// Highest credible number of durable commits per fastest sync seen on the disk. It is above 1 because the few probes before
/// and after the window may not have met the fastest sync.
pub const COMMITS_PER_SYNC_MAX: f64 = 2.0;

/// Largest offset between a worker's clock and the tool's. Both read the same monotonic clock of the same kernel; the rest is the
/// time that a line takes.
pub const CLOCK_ERROR_NS_MAX: u64 = 50_000_000;

/// Compares the settings that every connection reported with the requested ones; also returns all reported settings.
pub fn settings<'f>(
    expected: &[Expected],
    sessions: impl Iterator<Item = &'f Facts>,
) -> (BTreeMap<String, String>, Vec<Reason>) {
    let mut effective = BTreeMap::new();
    let mut reasons = vec![];
    for session in sessions {
        let client = fact(session, "client").unwrap_or("?");
        effective.extend(session.iter().filter(|(name, _)| name != "client").cloned());
        for e in expected {
            let found = fact(session, &e.name);
            if !found.is_some_and(|found| e.is(found)) && reasons.len() < 3 {
                let found = found.map_or("nothing".to_string(), |f| format!("`{f}`"));
                reasons.push(
                    Invalid::Settings
                        .because(format!("client {client} asked for {} = {} and reads back {found}", e.name, e.value)),
                );
            }
        }
    }
    (effective, reasons)
}

/// Differences that a worker found in connections that were opened after the start.
pub fn later_settings<'f>(mut done: impl Iterator<Item = &'f Facts>) -> Option<Reason> {
    done.find_map(|facts| fact(facts, "settings_differ")).map(|what| Invalid::Settings.because(what.to_string()))
}

/// Each worker must have read back its connections when the run was over.
pub fn read_back_again(done: &[Facts]) -> Option<Reason> {
    let number = done.iter().position(|facts| fact(facts, "connections_read_back").is_none_or(|count| count == "0"))?;
    let words =
        format!("worker {number} read back no connection after the run (`connections_read_back` in its `done`)");
    Some(Invalid::Settings.because(words))
}

/// The totals a worker reports must be those of its samples.
pub fn totals(reported: &[Facts], counted: Totals) -> Option<Reason> {
    let sum = |name: &str| -> u64 {
        reported.iter().filter_map(|facts| fact(facts, name)).filter_map(|text| text.parse::<u64>().ok()).sum()
    };
    let reported = Totals { operations: sum("operations"), attempts: sum("attempts"), failed: sum("failed") };
    (reported != counted).then(|| {
        Invalid::Accounts.because(format!(
            "the workers report {} operations, {} attempts, {} failed; their samples hold {}, {}, {}",
            reported.operations,
            reported.attempts,
            reported.failed,
            counted.operations,
            counted.attempts,
            counted.failed
        ))
    })
}

/// A client that reached the end of a finite plan before the end of its window did less than planned.
pub fn exhausted(reported: &[Facts]) -> Option<Reason> {
    let clients: u64 = reported.iter().filter_map(|f| fact(f, "exhausted")).filter_map(|n| n.parse::<u64>().ok()).sum();
    (clients > 0).then(|| {
        let clients = counted(clients as usize, "client");
        Invalid::Exhausted.because(format!("{clients} ran out of planned operations before the window was over"))
    })
}

/// Attempts that are cut short at the end of the drain. If a worker could cut one short earlier, it could avoid the checks of whole
/// attempts.
pub struct Interrupts {
    /// End of the drain; `None` if the window has no length.
    drained_ns: Option<u64>,
    early: bool,
}

impl Interrupts {
    pub fn new(drained_ns: Option<u64>) -> Self {
        Self { drained_ns, early: false }
    }

    /// Whether the attempt was cut short.
    pub fn push(&mut self, sample: &Sample) -> bool {
        let interrupted = sample.flags & flag::INTERRUPTED != 0;
        self.early |= interrupted && self.drained_ns.is_some_and(|ns| sample.finished_ns < ns);
        interrupted || self.drained_ns.is_some_and(|ns| sample.finished_ns >= ns)
    }

    pub fn finish(self) -> Option<Reason> {
        let words = "an operation is marked as interrupted, and it ended before the drain was over";
        self.early.then(|| Invalid::Accounts.because(words.to_string()))
    }
}

/// Time of a client that counts as accounted for although it does not work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Excuses {
    /// Whether the time from due to begun is part of the work. A client with its own thread begins when it is due, unless the
    /// worker or the machine delays it: a late start is a gap. Clients that share a runtime wait for it, and that wait is the cost
    /// of their model, so their attempts count from due. The same holds where other clients retry without a pause and so keep the
    /// processors busy. The check then finds only time that is counted twice: operations that overlap.
    pub late_is_work: bool,
    /// Whether clients had to wait for a processor; see [`crowded`].
    pub crowded: bool,
    /// Whether operations are due at planned times. Then a client mostly waits for the next one and wakes for each, so a worker
    /// whose timer is late by a few percent is no gap.
    pub open: bool,
    /// The worker's own time for an operation, as measured with a driver that does nothing: no gap, where operations are short.
    /// [`head_room`] says when it is too much of them.
    pub own_ns: u64,
    /// What each client may lose at its beginning.
    pub beginning_ns: u64,
}

/// That where requests are counted: the window can be as short as a thread takes to begin.
pub const BEGINNING_NS: u64 = 10_000_000;

/// Share of their capacity from which on all processors count as busy in a window.
const PROCESSORS_BUSY: f64 = 0.90;

/// What two looks at a processor's clocks may miss of its busy time: user, system and interrupts each count in whole ticks of
/// 10 ms (proc(5), `/proc/stat`).
const UNSEEN_NS: u64 = 20_000_000;

/// Whether clients had to wait for processors. A closed client needs one at a time, for itself or for the server's process
/// that works for it: with no more clients than processors there is one for each.
pub fn crowded(clients: usize, processors: u32, busy_ns: u64, window_ns: u64) -> bool {
    let capacity_ns = window_ns as f64 * f64::from(processors);
    let busy_ns = busy_ns.saturating_add(u64::from(processors) * UNSEEN_NS) as f64;
    clients > processors as usize && window_ns > 0 && busy_ns >= PROCESSORS_BUSY * capacity_ns
}

/// A reason if the programs of a trial used more CPU time than the processors that they were given have in `time_ns`.
/// `processes`: about how many programs there are; the kernel rounds the time of each to ticks.
pub fn beyond_processors(cpu_ns: u64, processors: usize, time_ns: u64, processes: usize) -> Option<Reason> {
    const ROUNDED_NS: u64 = 20_000_000;
    const MOST: f64 = 1.05;
    let could_ns = time_ns as f64 * processors as f64 * MOST + (ROUNDED_NS * processes as u64) as f64;
    (cpu_ns as f64 > could_ns).then(|| {
        let [used, time] = [cpu_ns, time_ns].map(|ns| ns as f64 / 1e9);
        Invalid::Processors.because(format!(
            "the programs of the trial used {used:.2} s of processor time in {time:.2} s, more than is possible on as many \
             processors as contend gave them ({processors})"
        ))
    })
}

/// Excuses late starts of a worker's clients as far as its threads waited for a processor, by the kernel's count: each client
/// in proportion to how late it was. Part of that wait may lie in attempts, so it excuses at most as much.
pub fn excuse(clients: &mut BTreeMap<u32, ClientTally>, of_worker: &[u32], queued_ns: u64) {
    let late_ns: u64 = of_worker.iter().filter_map(|id| clients.get(id)).map(|client| client.late_ns).sum();
    let share = if late_ns > queued_ns { queued_ns as f64 / late_ns as f64 } else { 1.0 };
    for id in of_worker {
        if let Some(client) = clients.get_mut(id) {
            client.queued_ns = (client.late_ns as f64 * share) as u64;
        }
    }
}

/// Little's law of the clients. The pauses are those of the plan: `check::samples` compares every due time with it.
///
/// Each client alone, and all together, account for their time within [`little::MAX_GAP_SHARE`]. The limit is loose
/// ([`little::MAX_GAP_SHARE_LOOSE`]) for each alone in a crowded window, where a client can lose the processor between two
/// operations, and for each and all in an open loop. In a crowded window the time from waking to its turn is no gap. The limit of
/// time that is counted twice is never loose.
pub fn littles_law(clients: &BTreeMap<u32, ClientTally>, excuses: Excuses) -> Option<Reason> {
    let late_ns = |client: &ClientTally| match excuses {
        Excuses { late_is_work: true, .. } => client.late_ns,
        Excuses { crowded: true, .. } => client.woken_ns.max(client.queued_ns),
        _ => client.waking_ns.max(client.queued_ns),
    };
    let times: Vec<ClientTime> = clients.values().map(|c| client_time(c, late_ns(c))).collect();
    let own_ns = |client: &ClientTally| excuses.own_ns.saturating_mul(client.committed);
    let with_own: Vec<ClientTime> = clients.values().map(|c| client_time(c, late_ns(c) + own_ns(c))).collect();
    let loose = excuses.crowded || excuses.open;
    let most = if loose { little::MAX_GAP_SHARE_LOOSE } else { little::MAX_GAP_SHARE };
    let lost = |gap: &Gap| gap.gap_share > most && gap.gap_ns > excuses.beginning_ns as i64;
    // Waiting for a processor can lose time, and never gains any.
    let twice = |gap: &Gap| gap.gap_share < -little::MAX_GAP_SHARE;
    if let Some((index, gap)) = little::worst(&with_own, lost).or_else(|| little::worst(&times, twice)) {
        let client = clients.keys().nth(index)?;
        let most = if lost(&gap) { most } else { little::MAX_GAP_SHARE };
        return Some(unaccounted(&format!("client {client}'s"), gap.gap_share, most));
    }
    let most = if excuses.open { little::MAX_GAP_SHARE_LOOSE } else { little::MAX_GAP_SHARE };
    let windows_ns: u64 = times.iter().map(|time| time.window_ns).sum();
    let excused_ns = clients.values().map(|client| own_ns(client) + excuses.beginning_ns).sum::<u64>();
    let excused = excused_ns as f64 / windows_ns.max(1) as f64;
    let together = little::share_together(&times).map(|share| share - excused).filter(|share| *share > most)?;
    Some(unaccounted("all clients'", together, most))
}

fn unaccounted(whose: &str, share: f64, most: f64) -> Reason {
    let (percent, most) = (share * 100.0, most * 100.0);
    Invalid::LittlesLaw.because(match share < 0.0 {
        true => format!("{:.1} % of {whose} time is counted twice (at most {most:.0} %): operations overlap", -percent),
        false => format!(
            "{percent:.1} % of {whose} time is neither work nor back-off nor pause (at most {most:.0} %): the worker began \
             its operations late"
        ),
    })
}

fn client_time(client: &ClientTally, late_ns: u64) -> ClientTime {
    ClientTime {
        window_ns: client.last_finished_ns.saturating_sub(client.first_free_ns.unwrap_or(client.last_finished_ns)),
        attempts_ns: client.busy_ns + late_ns,
        back_off_ns: client.backoff_ns,
        pauses_ns: client.pause_ns,
    }
}

/// The generator must not be the limit: compares its own cost with the mean time of an operation that was sent.
pub fn head_room(overhead_ns_per_operation: u64, tally: &Tally) -> Option<Reason> {
    let counts = tally.counts(|_| true);
    // An operation that was never sent took no time.
    let operations = counts.planned() - counts.outcome(Outcome::Unsent);
    let busy_ns = tally.latencies(|_| true).busy_ns;
    if operations == 0 || busy_ns == 0 {
        return None;
    }
    let mean_ns = busy_ns as f64 / operations as f64;
    let share = overhead_ns_per_operation as f64 / mean_ns;
    (share > GENERATOR_SHARE_MAX).then(|| {
        Invalid::GeneratorLimited.because(format!(
            "the worker's own {overhead_ns_per_operation} ns are {:.0} % of the mean operation of {mean_ns:.0} ns \
             (at most {:.0} %)",
            share * 100.0,
            GENERATOR_SHARE_MAX * 100.0
        ))
    })
}

/// Adds that nothing was committed. If operations failed, that is the reason: they fail so fast that the time between them and the
/// worker's own cost are large shares, so the reasons of those shares say nothing.
pub fn add_nothing_done(reasons: &mut Vec<Reason>, tally: &Tally, by: By) {
    let counts = tally.counts(|_| true);
    if counts.planned() > counts.outcome(Outcome::Unsent) {
        reasons.retain(|reason| !reason.kind.is_of_pace());
    }
    reasons.push(nothing_done(counts.planned(), by));
}

/// By what operations are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Database,
    Service,
    /// At a rate.
    ServiceInOpenLoop,
}

fn nothing_done(planned: u64, by: By) -> Reason {
    Invalid::NothingDone.because(match (by, planned) {
        (By::Database, 0) => "no operation was due in the window: lengthen it, or raise the rate",
        (By::Database, _) => "no operation was committed in the window",
        (By::ServiceInOpenLoop, 0) => "no request was due in the window: lengthen it, or raise the rate",
        (By::Service, 0) => {
            "no request was answered, and none began in the window: every client still waits for an answer"
        }
        (_, _) => "no request was answered in the window as the scenario expects",
    })
}

/// HTTP clients run in event loops. If the loops of a process hardly ever wait, this process limits the throughput, not the server.
/// `processes` has the CPU time of each process and the number of its loops.
pub fn busy_clients(processes: impl Iterator<Item = (u64, u32)>, window_ns: u64) -> Option<Reason> {
    let share = |(cpu_ns, loops): (u64, u32)| {
        cpu_ns.saturating_sub(CPU_RESOLUTION_NS) as f64 / (window_ns.max(1) as f64 * f64::from(loops))
    };
    let share = processes.map(share).max_by(f64::total_cmp)?;
    (share > CLIENT_BUSY_MAX).then(|| {
        Invalid::GeneratorLimited.because(format!(
            "the process of the clients was busy for {:.0} % of the window (at most {:.0} %): it could not ask faster",
            share * 100.0,
            CLIENT_BUSY_MAX * 100.0
        ))
    })
}

/// A durable commit needs a sync of the disk; an engine that commits one transaction at a time cannot
/// commit more often than the disk syncs. Syncs of different databases can overlap.
pub fn credible(write_commits_per_s: f64, sync_ns: u64, databases: usize) -> Option<Reason> {
    let syncs_per_s = databases as f64 * 1e9 / sync_ns.max(1) as f64;
    (write_commits_per_s > COMMITS_PER_SYNC_MAX * syncs_per_s).then(|| {
        Invalid::NotCredible.because(format!(
            "{write_commits_per_s:.0} durable commits per second, where this disk syncs {syncs_per_s:.0} times per \
             second: something does not sync"
        ))
    })
}

/// The reasons of invariants that do not hold.
pub fn broken_invariants(results: &[InvariantResult]) -> Vec<Reason> {
    results
        .iter()
        .filter(|r| !r.holds)
        .map(|r| {
            Invalid::Invariant.because(format!("{}: expected {}, found {} ({})", r.name, r.expected, r.found, r.sql))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE_IS_WORK: Excuses =
        Excuses { late_is_work: true, crowded: false, open: false, own_ns: 0, beginning_ns: 0 };
    const CROWDED: Excuses = Excuses { late_is_work: false, crowded: true, open: false, own_ns: 0, beginning_ns: 0 };

    fn client(busy_ns: u64, late_ns: u64) -> BTreeMap<u32, ClientTally> {
        let tally = ClientTally {
            busy_ns,
            late_ns,
            pause_ns: 100,
            first_free_ns: Some(0),
            last_finished_ns: 1000,
            ..ClientTally::default()
        };
        [(7, tally)].into()
    }

    #[test]
    fn clients_without_further_operations_are_counted() {
        let reported = |count: &str| exhausted(&[vec![("exhausted".to_string(), count.to_string())]]);
        assert!(reported("1").expect("a reason").detail.starts_with("1 client ran out of planned operations"));
        assert!(reported("2").expect("a reason").detail.starts_with("2 clients ran out"));
        assert_eq!(reported("0"), None);
    }

    #[test]
    fn a_late_start_is_a_gap_only_for_a_client_with_a_thread_of_its_own() {
        let stalled = client(500, 400);
        let reason = littles_law(&stalled, Excuses::default()).expect("a gap of 40 %");
        assert!(reason.kind == Invalid::LittlesLaw && reason.detail.contains("40.0 % of client 7"), "{reason:?}");
        assert_eq!(littles_law(&stalled, LATE_IS_WORK), None);
        assert_eq!(littles_law(&client(900, 0), Excuses::default()), None);
        let mut short = client(900, 0);
        short.values_mut().for_each(|client| (client.busy_ns, client.committed) = (client.busy_ns - 100, 10));
        let own = |own_ns| littles_law(&short, Excuses { own_ns, ..Excuses::default() });
        assert!(own(4).is_some() && own(10).is_none(), "the worker's own time, but no more");
        let begun = |beginning_ns| littles_law(&stalled, Excuses { beginning_ns, ..Excuses::default() });
        assert!(begun(399).is_some() && begun(400).is_none(), "a client's beginning, but no more");
    }

    #[test]
    fn more_processor_time_than_the_processors_have_is_found() {
        let second = 1_000_000_000;
        for (cpu_ns, processors, found) in [
            (second, 1, false),
            (2 * second, 2, false),
            // Rounded up by a tick and a half for each of ten processes.
            (second + 200_000_000, 1, false),
            (second + 300_000_000, 1, true),
            (2 * second, 1, true),
        ] {
            let reason = beyond_processors(cpu_ns, processors, second, 10);
            assert_eq!(reason.is_some(), found, "{cpu_ns} ns on {processors}: {reason:?}");
        }
    }

    #[test]
    fn an_attempt_is_interrupted_at_the_end_of_the_drain_and_not_before() {
        let sample = |finished_ns, flags| Sample { flags, finished_ns, ..Sample::default() };
        let found = |drained_ns, sample: &Sample| {
            let mut interrupts = Interrupts::new(drained_ns);
            (interrupts.push(sample), interrupts.finish().is_some())
        };
        assert_eq!(found(Some(100), &sample(100, flag::INTERRUPTED)), (true, false));
        assert_eq!(found(Some(100), &sample(99, flag::INTERRUPTED)), (true, true));
        assert_eq!(found(Some(100), &sample(100, 0)), (true, false), "the worker did not say it");
        assert_eq!(found(Some(100), &sample(99, 0)), (false, false));
        assert_eq!(found(None, &sample(99, flag::INTERRUPTED)), (true, false), "the deadline ended it");
    }

    #[test]
    fn clients_of_an_open_loop_may_wake_late_and_not_begin_late() {
        let open = Excuses { open: true, ..Excuses::default() };
        assert_eq!(littles_law(&client(720, 180), open), None);
        let late = littles_law(&client(690, 210), open).expect("a gap of 21 %");
        assert!(late.detail.contains("21.0 % of client 7's time") && late.detail.contains("at most 20 %"), "{late:?}");
        let twice = littles_law(&client(960, 0), open).expect("operations overlap");
        assert!(twice.detail.contains("counted twice (at most 5 %)"), "{twice:?}");
    }

    /// Clients with these gaps, in thousandths of their windows.
    fn gaps(permille: &[i64]) -> BTreeMap<u32, ClientTally> {
        let clients = (0..).zip(permille);
        clients.map(|(id, gap)| (id, client((900 - gap) as u64, 0)[&7])).collect()
    }

    #[test]
    fn in_a_crowd_one_client_may_wait_for_its_turn_and_all_of_them_may_not() {
        let taken_off_once = gaps(&[10, 0, 80, 20, 0, 30, 10]);
        let alone = littles_law(&taken_off_once, Excuses::default()).expect("a gap of 8 %");
        assert!(alone.detail.contains("8.0 % of client 2's time") && alone.detail.contains("at most 5 %"), "{alone:?}");
        assert_eq!(littles_law(&taken_off_once, CROWDED), None);
        let dawdling = littles_law(&gaps(&[60, 60, 50, 60, 60, 50, 60]), CROWDED).expect("5.7 % of all");
        assert!(dawdling.detail.contains("5.7 % of all clients' time"), "{dawdling:?}");
        let held_up = littles_law(&gaps(&[0, 0, 0, 201, 0, 0, 0]), CROWDED).expect("20.1 % of one");
        assert!(held_up.detail.contains("20.1 % of client 3's time"), "{held_up:?}");
    }

    #[test]
    fn in_a_crowd_a_client_that_wakes_waits_for_its_turn() {
        let mut woken = gaps(&[60, 60, 50, 60, 60, 50, 60]);
        woken.values_mut().for_each(|client| client.woken_ns = 50);
        assert_eq!(littles_law(&woken, CROWDED), None);
        assert!(littles_law(&woken, Excuses::default()).is_some(), "a processor was free for it");
        woken.values_mut().for_each(|client| client.waking_ns = 50);
        assert_eq!(littles_law(&woken, Excuses::default()), None, "no machine wakes it sooner");
    }

    #[test]
    fn a_client_may_be_as_late_as_its_worker_waited_for_a_processor() {
        let late = || BTreeMap::from([(1, client(840, 60)[&7]), (2, client(870, 30)[&7])]);
        let found = |queued_ns| {
            let mut clients = late();
            excuse(&mut clients, &[1, 2], queued_ns);
            littles_law(&clients, Excuses::default())
        };
        assert!(found(0).is_some_and(|reason| reason.detail.contains("6.0 % of client 1's time")));
        assert!(found(12).is_some(), "8 of these 12 excuse client 1");
        assert_eq!((found(18), found(10_000)), (None, None), "it is excused no more than it was late");
    }

    #[test]
    fn a_crowd_makes_nobody_work_twice_at_a_time() {
        let reason = littles_law(&gaps(&[0, -60, 0, 0, 0]), CROWDED).expect("an overlap of 6 %");
        assert!(reason.detail.contains("6.0 % of client 1's time is counted twice"), "{reason:?}");
        assert!(littles_law(&gaps(&[50, -40, 90, -40, 60]), CROWDED).is_some(), "they do not make up for each other");
    }

    #[test]
    fn a_crowd_is_more_clients_than_processors_that_are_all_busy() {
        const S: u64 = 1_000_000_000;
        assert!(crowded(7, 2, 2 * S, S) && crowded(3, 2, 1_760_000_000, S));
        assert!(!crowded(7, 2, 1_750_000_000, S), "a processor had time");
        assert!(!crowded(2, 2, 2 * S, S), "one for each");
        assert!(!crowded(7, 2, 0, 0), "no window");
    }

    #[test]
    fn clients_that_never_wait_limit_what_they_measure() {
        const S: u64 = 1_000_000_000;
        assert_eq!(busy_clients([(S, 1), (9 * S, 1)].into_iter(), 10 * S), None);
        let reason = busy_clients([(9 * S, 1), (9_520_000_000, 1), (12 * S, 2)].into_iter(), 10 * S).expect("95 %");
        assert!(reason.kind == Invalid::GeneratorLimited && reason.detail.contains("95 %"), "{reason:?}");
        assert_eq!(busy_clients([(10 * S, 2)].into_iter(), 10 * S), None, "two loops");
        assert_eq!(busy_clients([(20_000_000, 1)].into_iter(), 5_000_000), None, "two ticks are no time");
    }

    #[test]
    fn operations_that_overlap_are_found_in_every_model() {
        for excuses in [Excuses::default(), LATE_IS_WORK, CROWDED] {
            assert!(littles_law(&client(1000, 0), excuses).is_some());
        }
        assert!(littles_law(&client(900, 100), LATE_IS_WORK).is_some());
        let lost = littles_law(&client(500, 200), LATE_IS_WORK);
        assert!(lost.is_some(), "time between due and finished that is neither late nor busy");
    }

    #[test]
    fn a_window_without_requests_says_why() {
        let words = |by| nothing_done(0, by).detail;
        assert!(words(By::ServiceInOpenLoop).contains("no request was due"));
        assert!(words(By::Service).contains("every client still waits"));
    }
}
