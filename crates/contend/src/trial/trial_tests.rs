//! Which trials may have failed because of a full disk, from simulated samples.

use super::*;
use crate::analysis::tally::{Counting, Tally, Tallying};
use crate::check::guards::{Excuses, add_nothing_done, head_room, littles_law};
use crate::outcome::Outcome;
use crate::report::testing::Story;
use contend_wire::sample::{CodeSpace, NOT_MEASURED, STEP_BEGIN, STEP_NONE, Sample};

const SQLITE_FULL: u32 = 13;
/// Time of a simulated operation.
const OPERATION_NS: u64 = 1_000_000;

/// What a client of a trial did: operations with this code, each begun so long after it was due.
fn tally(code: u32, late_ns: u64) -> Tally {
    let dir = tempfile::tempdir().unwrap();
    let record = Story { rounds: 1, clients: 1, ..Story::default() }.write(dir.path());
    let trial = &record.trials[0];
    let mut tallying = Tallying::new(trial, Counting::Corrected);
    let every_ns = OPERATION_NS + late_ns;
    for operation in 0..100 {
        let due_ns = trial.window_start_ns + u64::from(operation) * every_ns;
        let (started_ns, finished_ns) = (due_ns + late_ns, due_ns + every_ns);
        tallying.push(Sample {
            client: 0,
            operation,
            transaction: 0,
            attempt: 0,
            failed_step: if code == 0 { STEP_NONE } else { STEP_BEGIN },
            code_space: if code == 0 { CodeSpace::Ok } else { CodeSpace::Sqlite },
            flags: 0,
            code,
            rows: 0,
            due_ns,
            started_ns,
            finished_ns,
            lock_wait_ns: NOT_MEASURED,
            acquire_wait_ns: NOT_MEASURED,
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
        add_nothing_done(&mut invalid, tally, false);
    }
    Ok(Done { throughput_per_s: tally.throughput_per_s(), failed: 0, window_ns: tally.elapsed_ns(), invalid })
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
        let done = Done { throughput_per_s: 0.0, failed: 0, window_ns: 0, invalid: vec![kind.because("")] };
        assert_eq!(perhaps_of_disk(&Ok(done)).is_none(), of_pace.contains(&kind), "{kind}");
        assert!(perhaps_of_disk(&Err(Failure::Invalid(kind.because("")))).is_some(), "{kind}: there is no result");
    }
    assert!(perhaps_of_disk(&Err(Failure::Cancelled)).is_none());
}
