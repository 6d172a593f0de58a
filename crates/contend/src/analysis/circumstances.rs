//! Circumstances of a run: program, machine, disk, workload, schedule, overheads and proofs.

use crate::record::evidence::{KnownTier, ProofOrigin};
use crate::record::model::{Disk, Mount, Overhead, Run};
use crate::study::model::{Slot, Tier};
use std::collections::BTreeMap;

pub struct Circumstances<'r> {
    /// Version of contend.
    pub contend: &'r str,
    /// Start of the run, UTC, RFC 3339.
    pub started: &'r str,
    pub command: &'r [String],
    /// Model of the processor.
    pub cpu: &'r str,
    pub cores: usize,
    pub memory_bytes: u64,
    pub os: &'r str,
    pub kernel: &'r str,
    pub virtual_machine: bool,
    pub file_system: &'r str,
    /// Absent in older records.
    pub mount: Option<MountFacts<'r>>,
    /// Why a sync does not keep data on that file system, as the end of `a file system ...`.
    pub no_sync: Option<String>,
    pub syncs: SyncTimes,
    /// Largest overhead of the Rust worker per operation.
    pub overhead_ns: u64,
    /// Overhead of each worker under each condition.
    pub overheads: Vec<WorkerOverhead<'r>>,
    /// Null drivers whose worker was not built.
    pub overheads_missing: &'r [String],
    /// Name of the workload.
    pub workload: &'r str,
    pub about: &'r str,
    /// SHA-256 of the workload's file.
    pub sha256: &'r str,
    /// Data of each group of conditions that differ in it.
    pub data: Vec<Loaded<'r>>,
    pub schedule: &'r [Slot],
    /// `None` if the run was interrupted.
    pub finished: Option<Finish>,
    /// Proofs by contender, for contenders with power cuts.
    evidence: BTreeMap<usize, Evidence<'r>>,
}

/// The mount that holds the data.
pub struct MountFacts<'r> {
    /// Empty if there is none.
    pub source: &'r str,
    /// Those that change what a sync does or costs.
    pub options: &'r [String],
    /// Models of the devices, if the kernel has them.
    pub model: Option<&'r str>,
}

/// Times of syncs on the disk of the data, measured before the run.
pub struct SyncTimes {
    /// fsync after an append.
    pub fsync_ns_p50: u64,
    pub fsync_ns_p95: u64,
    pub fdatasync_ns_p50: u64,
    /// fdatasync after an overwrite.
    pub overwrite_ns_p50: u64,
    pub probes: u32,
}

/// Overhead of a worker per operation.
pub struct WorkerOverhead<'r> {
    /// Null driver that it was measured with.
    pub driver: &'r str,
    pub condition: usize,
    pub times: OverheadTimes,
}

#[derive(Debug, Clone, Copy)]
pub struct OverheadTimes {
    /// Without the longest thousandth.
    pub mean_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

/// Rows loaded for some conditions.
pub struct Loaded<'r> {
    /// Labels of the conditions; empty: all.
    pub conditions: &'r [String],
    /// Rows by table.
    pub rows: &'r BTreeMap<String, u64>,
    /// SHA-256 of the definition of the data.
    pub sha256: &'r str,
}

/// Totals of a run.
pub struct Finish {
    pub elapsed_ns: u64,
    /// Sum of the windows.
    pub measured_ns: u64,
}

/// Where power cuts have shown something, with the directory of the record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place<'r> {
    Here(&'r str),
    Elsewhere,
    /// A file of proofs says so, and the record that it names does not show it or is not there.
    Reported(&'r str),
}

/// What power cuts have shown of a contender's settings.
pub struct Evidence<'r> {
    pub place: Place<'r>,
    pub reached: Tier,
    pub cuts: u64,
    /// Power cuts on a file system without ordered names, and those of them that left less than the tier allows.
    pub posix: [u64; 2],
    /// Whether only one process was recorded.
    pub one_process: bool,
    /// Version of the engine.
    pub version: &'r str,
    pub date: &'r str,
}

impl<'r> Circumstances<'r> {
    pub(super) fn of(run: &'r Run) -> Self {
        let (machine, workload) = (&run.machine, &run.workload);
        Self {
            contend: &run.contend,
            started: &run.started,
            command: &run.command,
            cpu: &machine.cpu,
            cores: machine.cores as usize,
            memory_bytes: machine.memory_bytes,
            os: &machine.os,
            kernel: &machine.kernel,
            virtual_machine: machine.virtual_machine,
            file_system: &run.disk.file_system,
            mount: run.disk.mount.as_ref().map(mount),
            no_sync: run.disk.no_sync(),
            syncs: syncs(&run.disk),
            overhead_ns: run.overhead_ns_per_operation,
            overheads: run.overheads.iter().map(overhead).collect(),
            overheads_missing: &run.overheads_missing,
            workload: &workload.name,
            about: &workload.about,
            sha256: &workload.sha256,
            data: data(run),
            schedule: &run.schedule,
            finished: run
                .finished
                .as_ref()
                .map(|totals| Finish { elapsed_ns: totals.elapsed_ns, measured_ns: totals.measured_ns }),
            evidence: run.tiers.iter().filter_map(|known| Some((known.contender, evidence(known)?))).collect(),
        }
    }

    /// `None` if the tier of the contender is only documented.
    pub fn evidence(&self, contender: usize) -> Option<&Evidence<'r>> {
        self.evidence.get(&contender)
    }
}

fn syncs(disk: &Disk) -> SyncTimes {
    SyncTimes {
        fsync_ns_p50: disk.fsync_ns_p50,
        fsync_ns_p95: disk.fsync_ns_p95,
        fdatasync_ns_p50: disk.fdatasync_ns_p50,
        overwrite_ns_p50: disk.overwrite_ns_p50,
        probes: disk.probes,
    }
}

fn mount(mount: &Mount) -> MountFacts<'_> {
    MountFacts { source: &mount.source, options: &mount.options, model: mount.model.as_deref() }
}

fn overhead(overhead: &Overhead) -> WorkerOverhead<'_> {
    WorkerOverhead { driver: &overhead.driver, condition: overhead.condition, times: times(overhead) }
}

pub(super) fn times(overhead: &Overhead) -> OverheadTimes {
    OverheadTimes { mean_ns: overhead.ns_per_operation, p999_ns: overhead.ns_p999, max_ns: overhead.ns_max }
}

fn data(run: &Run) -> Vec<Loaded<'_>> {
    let workload = &run.workload;
    if workload.data.is_empty() {
        return vec![Loaded { conditions: &[], rows: &workload.rows, sha256: &workload.data_sha256 }];
    }
    let of_group = workload.data.iter();
    of_group.map(|data| Loaded { conditions: &data.conditions, rows: &data.rows, sha256: &data.sha256 }).collect()
}

fn evidence(known: &KnownTier) -> Option<Evidence<'_>> {
    let found = known.found.as_ref()?;
    let record = known.record.as_deref().unwrap_or_default();
    let place = match known.place {
        ProofOrigin::Here => Place::Here(record),
        ProofOrigin::Elsewhere => Place::Elsewhere,
        ProofOrigin::Reported => Place::Reported(record),
        ProofOrigin::Documented => return None,
    };
    Some(Evidence {
        place,
        reached: found.reached,
        cuts: found.power,
        posix: [found.posix, found.posix_bad],
        one_process: found.one_process,
        version: known.version.as_deref().unwrap_or_default(),
        date: &found.date,
    })
}
