//! Which trials may have failed because of a full disk, from simulated samples.

use super::*;
use crate::analysis::tally::{Counting, Tally, Tallying};
use crate::check::guards::{By, Excuses, add_nothing_done, head_room, littles_law};
use crate::outcome::Outcome;
use crate::report::testing::Story;
use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_NONE, Sample};

const SQLITE_FULL: u32 = 13;
/// Time of a simulated operation.
const OPERATION_NS: u64 = 1_000_000;

/// What a client of a trial did: operations with this code, each begun so long after it was due.
fn tally(code: u32, late_ns: u64) -> Tally {
    let dir = tempfile::tempdir().unwrap();
    let record = Story { rounds: 1, clients: 1, ..Story::default() }.write(dir.path());
    let trial = &record.trials[0];
    let every_ns = OPERATION_NS + late_ns;
    let times = (0..100).map(|operation| {
        let due_ns = trial.window_start_ns + operation * every_ns;
        [due_ns, due_ns + late_ns, due_ns + every_ns]
    });
    tally_of(trial, code, times)
}

/// Operations of a client of this trial, with this code; when each was due, began and ended.
fn tally_of(trial: &Trial, code: u32, times: impl IntoIterator<Item = [u64; 3]>) -> Tally {
    let mut tallying = Tallying::new(trial, Counting::Corrected);
    for (operation, [due_ns, started_ns, finished_ns]) in (0..).zip(times) {
        tallying.push(Sample {
            operation,
            failed_step: if code == 0 { STEP_NONE } else { STEP_BEGIN },
            code_space: if code == 0 { CodeSpace::Ok } else { CodeSpace::Sqlite },
            code,
            due_ns,
            started_ns,
            finished_ns,
            ..Sample::default()
        });
    }
    tallying.finish(&BTreeMap::new(), &[])
}

/// The trial with the reasons that its checks find.
fn checked(tally: &Tally, overhead_ns: u64) -> Result<Done, Failure> {
    let committed = tally.counts(|_| true).outcome(Outcome::Committed);
    let of_pace = [littles_law(&tally.clients, Excuses::default()), head_room(overhead_ns, tally)];
    let mut invalid = of_pace.into_iter().flatten().collect();
    if committed == 0 {
        add_nothing_done(&mut invalid, tally, By::Database);
    }
    Ok(Done {
        throughput_per_s: tally.throughput_per_s(),
        failed: 0,
        rejected: 0,
        window_ns: tally.elapsed_ns(),
        invalid,
    })
}

fn kinds(done: &Result<Done, Failure>) -> Vec<Invalid> {
    done.iter().flat_map(|done| &done.invalid).map(|reason| reason.kind).collect()
}

#[test]
fn only_a_slow_machine_is_not_taken_for_a_full_disk() {
    let (late_ns, overhead_ns) = (OPERATION_NS, OPERATION_NS / 2);
    for (what, done, found, of_disk) in [
        ("nothing is wrong", checked(&tally(0, 0), 0), &[][..], None),
        ("operations begin late", checked(&tally(0, late_ns), 0), &[Invalid::LittlesLaw], None),
        ("a slow worker", checked(&tally(0, 0), overhead_ns), &[Invalid::GeneratorLimited], None),
        (
            "late and slow",
            checked(&tally(0, late_ns), overhead_ns),
            &[Invalid::LittlesLaw, Invalid::GeneratorLimited],
            None,
        ),
        (
            "the disk rejects every commit",
            checked(&tally(SQLITE_FULL, 0), 0),
            &[Invalid::NothingDone],
            Some(Invalid::NothingDone),
        ),
        (
            "the same on a slow machine",
            checked(&tally(SQLITE_FULL, late_ns), overhead_ns),
            &[Invalid::NothingDone],
            Some(Invalid::NothingDone),
        ),
    ] {
        assert_eq!(kinds(&done), found, "{what}");
        assert_eq!(perhaps_of_disk(&done).map(|reason| reason.kind), of_disk, "{what}");
    }
}

#[test]
fn every_other_reason_may_be_of_a_full_disk() {
    let of_pace = [Invalid::LittlesLaw, Invalid::GeneratorLimited];
    for kind in Invalid::ALL {
        let done =
            Done { throughput_per_s: 0.0, failed: 0, rejected: 0, window_ns: 0, invalid: vec![kind.because("")] };
        assert_eq!(perhaps_of_disk(&Ok(done)).is_none(), of_pace.contains(&kind), "{kind}");
        assert!(perhaps_of_disk(&Err(Failure::Invalid(kind.because("")))).is_some(), "{kind}: there is no result");
    }
    assert!(perhaps_of_disk(&Err(Failure::Cancelled)).is_none());
}

/// A client whose only operation in the window of 1 s is due this long after its begin, and begins late; it takes 0.3 ms. The
/// operation before it was in the run-in.
fn one_operation(after_ns: u64, late_ns: u64) -> (Tally, u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut record = Story { rounds: 1, clients: 1, ..Story::default() }.write(dir.path());
    let trial = &mut record.trials[0];
    trial.window_end_ns = trial.window_start_ns + 1_000_000_000;
    let before_ns = trial.window_start_ns - 2 * OPERATION_NS;
    let due_ns = trial.window_start_ns + after_ns;
    let started_ns = due_ns + late_ns;
    let before = [before_ns, before_ns, before_ns + OPERATION_NS];
    (tally_of(trial, 0, [before, [due_ns, started_ns, started_ns + 300_000]]), trial.window_end_ns)
}

#[test]
fn a_pause_across_an_edge_of_the_window_counts_with_its_part_in_it() {
    let law = |tally: &Tally| littles_law(&tally.clients, Excuses::default()).map(|reason| reason.kind);
    let (begin, _) = one_operation(400_000_000, 230_000);
    assert_eq!(law(&begin), None, "it began 0.23 ms late after 400 ms of pause in the window");
    assert_eq!(begin.clients[&0].pause_ns, 400_000_000, "its part before the window does not count");
    let (mut end, end_ns) = one_operation(1_000_000, 230_000);
    assert_eq!(law(&end), Some(Invalid::LittlesLaw), "130 us beyond waking, of 1.53 ms");
    end.clients.entry(0).and_modify(|client| client.pause_until(end_ns));
    assert_eq!(law(&end), None, "it pauses until the end of the window");
    assert_eq!(end.clients[&0].pause_ns, 1_000_000_000 - 530_000);
    let (mut late, end_ns) = one_operation(400_000_000, 60_000_000);
    late.clients.entry(0).and_modify(|client| client.pause_until(end_ns));
    assert_eq!(law(&late), Some(Invalid::LittlesLaw), "60 ms of 1 s");
}
