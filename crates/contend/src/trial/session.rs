//! A whole run: everything measured once beforehand, then the schedule slot by slot, resumable anywhere.

use crate::engine;
use crate::record::model::{Disk, Finished, RECORD_VERSION, Run, Slot, TransactionInfo, Trial, WorkloadInfo};
use crate::record::store::{Record, RecordWriter};
use crate::source::Source;
use crate::study::model::{Condition, Contender, Study};
use crate::study::{load_under, schedule};
use crate::trial::admin::{Admin, Cancelled};
use crate::trial::crew::{Deadlines, Failure};
use crate::trial::data::{self, Base, Wanted};
use crate::trial::disk;
use crate::trial::janitor::Janitor;
use crate::trial::machine;
use crate::trial::plans::Plans;
use crate::trial::process::{Launch, monotonic_ns};
use crate::trial::run::{Bench, Done, null_contender};
use crate::workload::{self, Workload};
use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Operations of the measurement of the worker's own cost.
const GENERATOR_OPERATIONS: u32 = 20_000;

/// Log of the worker that loads and checks data.
const ADMIN_LOG: &str = "admin.log";

/// What happens in a run, for whoever shows it.
#[derive(Debug)]
pub enum Note<'n> {
    /// Something that takes a moment begins.
    Phase(&'n str),
    /// What was found beforehand.
    Prepared { disk: &'n Disk, generator_ns: u64 },
    /// A trial begins; `total` trials in all, `left` with this one.
    Begins { study: &'n Study, slot: Slot, total: usize, left: usize },
    /// Operations so far in it.
    Operations(u64),
    /// A trial is in the record.
    Done { study: &'n Study, slot: Slot, done: &'n Done },
}

/// What is to be run.
pub struct Order {
    pub study: Study,
    pub workload: Source,
    /// The record's directory.
    pub out: PathBuf,
    pub command: Vec<String>,
    /// Instead of the tool's own worker.
    pub launch: Option<Launch>,
    pub deadlines: Deadlines,
    /// Whether the data may lie on a file system in memory.
    pub allow_tmpfs: bool,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// Stopped by the user; what is finished is in the record.
    Stopped,
}

/// Whoever stops a run gets what is there, wherever it was.
fn stopped_is_no_error(ending: Result<Ending>) -> Result<Ending> {
    match ending {
        Err(e) if e.is::<Cancelled>() => Ok(Ending::Stopped),
        other => other,
    }
}

/// Runs a study from its beginning.
pub fn run(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    stopped_is_no_error(begin(order, cancelled, tell))
}

fn begin(order: &Order, cancelled: &dyn Fn() -> bool, tell: &dyn Fn(Note<'_>)) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let workload = workload::parse(&order.workload)?;
    let site = Site::open(&order.out, order.launch.as_ref(), order.allow_tmpfs)?;
    let mut admin = site.admin(cancelled)?;
    tell(Note::Phase("measuring what a sync costs on this disk"));
    let disk = disk::measure(&site.scratch)?;
    let mut bases = Bases::default();
    let workloads = under_conditions(&workload, &order.study)?;
    for (condition, workload) in order.study.conditions.iter().zip(&workloads) {
        let load = load_under(&order.study.load, condition);
        tell(Note::Phase("loading data"));
        bases.of(&site, workload, &order.study.contenders[0], load.scale, load.seed, &mut admin)?;
    }
    let run = Run {
        format: RECORD_VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        command: order.command.clone(),
        machine: machine::describe(),
        disk,
        workload: workload_info(&workload, &order.workload, &order.study),
        generator_ns_per_operation: 0,
        schedule: schedule(&order.study, order.study.load.seed),
        study: order.study.clone(),
        spent_ns: 0,
        finished: None,
    };
    let writer = RecordWriter::create(&order.out, &run)?;
    let session = Session { site: &site, workloads: &workloads, writer, cancelled, tell, deadlines: order.deadlines };
    session.go(run, vec![], bases, &mut admin, begun_ns)
}

/// Continues a run that was interrupted.
pub fn resume(
    dir: &Path,
    launch: Option<&Launch>,
    deadlines: Deadlines,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    stopped_is_no_error(go_on(dir, launch, deadlines, cancelled, tell))
}

fn go_on(
    dir: &Path,
    launch: Option<&Launch>,
    deadlines: Deadlines,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<Ending> {
    let begun_ns = monotonic_ns();
    let record = Record::open(dir)?;
    if record.run.finished.is_some() {
        bail!("{} is complete; there is nothing to resume", dir.display());
    }
    if let Some((name, why)) = record.damaged.first() {
        bail!("trial {name} of {} is damaged ({why}); remove its directory, then resume", dir.display());
    }
    let study = &record.run.study;
    let known = |s: &Slot| s.condition < study.conditions.len() && s.contender < study.contenders.len();
    if record.run.schedule.is_empty() || !record.run.schedule.iter().all(known) {
        bail!("the schedule in {} does not fit its study; the record is damaged", dir.display());
    }
    let here = machine::describe();
    if (&here.cpu, &here.kernel) != (&record.run.machine.cpu, &record.run.machine.kernel) {
        bail!("this machine is not the one {} was begun on; one record holds one machine", dir.display());
    }
    let source = Source::new(record.run.workload.file.clone(), record.run.workload.text.clone());
    let workload = workload::parse(&source)?;
    let site = Site::open(dir, launch, true)?;
    let mut admin = site.admin(cancelled)?;
    let writer = RecordWriter::resume(dir)?;
    let workloads = under_conditions(&workload, &record.run.study)?;
    let session = Session { site: &site, workloads: &workloads, writer, cancelled, tell, deadlines };
    session.go(record.run, record.trials, Bases::default(), &mut admin, begun_ns)
}

/// Where a run lives.
struct Site {
    out: PathBuf,
    cache: PathBuf,
    /// Holds the data of the trial at hand; removed at the end.
    scratch: PathBuf,
    launch: Launch,
    /// Holds data while it is loaded; removed at the end.
    loading: PathBuf,
    own: Launch,
    janitor: Janitor,
}

impl Site {
    fn open(out: &Path, launch: Option<&Launch>, allow_tmpfs: bool) -> Result<Self> {
        let out = std::path::absolute(out)?;
        let scratch = out.join("data");
        std::fs::create_dir_all(&scratch).with_context(|| {
            format!("cannot create {}; choose a directory you may write to with --out", scratch.display())
        })?;
        let file_system = disk::file_system(&scratch);
        if file_system == "tmpfs" && !allow_tmpfs {
            let _ = std::fs::remove_dir_all(&scratch);
            let _ = std::fs::remove_dir(&out);
            bail!(
                "{} is in memory (tmpfs), where a sync costs nothing; choose a directory on a disk with --out, \
                 or say --allow-tmpfs",
                out.display()
            );
        }
        let own = Launch::own()?;
        let cache = out.parent().unwrap_or(&out).join(".cache");
        let loading = cache.join(format!(".loading-{}", std::process::id()));
        let janitor = Janitor::start()?;
        janitor.dir_exists(&scratch);
        janitor.dir_exists(&loading);
        Ok(Self { cache, scratch, loading, launch: launch.unwrap_or(&own).clone(), own, janitor, out })
    }

    fn admin<'a>(&'a self, cancelled: &'a dyn Fn() -> bool) -> Result<Admin<'a>> {
        Admin::start(&self.own, &self.out.join(ADMIN_LOG), &self.janitor, cancelled)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for dir in [&self.scratch, &self.loading] {
            let _ = std::fs::remove_dir_all(dir);
            self.janitor.dir_gone(dir);
        }
        if !RecordWriter::is_record(&self.out) {
            // Ended before the first trial: only the log of the loading is there.
            let _ = std::fs::remove_file(self.out.join(ADMIN_LOG));
            let _ = std::fs::remove_dir(&self.out);
        }
    }
}

/// Loaded data by scale.
#[derive(Default)]
struct Bases {
    loaded: BTreeMap<String, Base>,
}

impl Bases {
    fn of(
        &mut self,
        site: &Site,
        workload: &Workload,
        contender: &Contender,
        scale: f64,
        seed: u64,
        admin: &mut Admin<'_>,
    ) -> Result<Base> {
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let before = (engine.before_load)(&contender.settings);
        let key = format!("{} {}", workload.data_sha256(scale, seed), before.join(";"));
        if let Some(base) = self.loaded.get(&key) {
            return Ok(base.clone());
        }
        let loader =
            ["driver", "engine"].map(|f| contend_wire::handshake::fact(&admin.hello, f).unwrap_or("?")).join(" ");
        let wanted = Wanted { workload, scale, seed, before, loader };
        let base = data::base(&site.cache, &site.loading, &wanted, admin).context("cannot load the workload's data")?;
        self.loaded.insert(key, base.clone());
        Ok(base)
    }
}

struct Session<'s> {
    site: &'s Site,
    /// One per condition.
    workloads: &'s [Workload],
    writer: RecordWriter,
    deadlines: Deadlines,
    cancelled: &'s dyn Fn() -> bool,
    tell: &'s dyn Fn(Note<'_>),
}

impl Session<'_> {
    /// Measures the generator, then runs what the schedule still lacks.
    fn go(
        &self,
        mut run: Run,
        before: Vec<Trial>,
        mut bases: Bases,
        admin: &mut Admin<'_>,
        begun_ns: u64,
    ) -> Result<Ending> {
        let done: std::collections::BTreeSet<u32> = before.iter().map(|t| t.slot.trial).collect();
        let mut measured_ns: u64 = before.iter().map(|t| t.window_end_ns.saturating_sub(t.window_start_ns)).sum();
        let left: Vec<Slot> = run.schedule.iter().filter(|s| !done.contains(&s.trial)).copied().collect();
        let plans = RefCell::new(Plans::default());
        let study = run.study.clone();
        let result = (|| -> Result<()> {
            (self.tell)(Note::Phase("measuring the worker's own cost"));
            if run.generator_ns_per_operation == 0 {
                let base = self.base(&mut bases, &study, &run.schedule[0], admin)?;
                run.generator_ns_per_operation = self.generator(&run, &base, &mut plans.borrow_mut(), admin)?;
                self.writer.write_run(&run)?;
            }
            (self.tell)(Note::Prepared { disk: &run.disk, generator_ns: run.generator_ns_per_operation });
            for (i, slot) in left.iter().enumerate() {
                let base = self.base(&mut bases, &study, slot, admin)?;
                (self.tell)(Note::Begins {
                    study: &study,
                    slot: *slot,
                    total: run.schedule.len(),
                    left: left.len() - i,
                });
                let trial_done = self.bench(&run, slot).trial(*slot, &mut plans.borrow_mut(), &base, admin)?;
                measured_ns += trial_done.window_ns;
                (self.tell)(Note::Done { study: &study, slot: *slot, done: &trial_done });
            }
            Ok(())
        })();
        run.spent_ns += monotonic_ns() - begun_ns;
        match result {
            Ok(()) => {
                run.finished = Some(Finished { elapsed_ns: run.spent_ns, measured_ns });
                self.writer.write_run(&run)?;
                Ok(Ending::Complete)
            }
            Err(e) => {
                // The first error is the one to report; this only keeps the time spent.
                let _ = self.writer.write_run(&run);
                if (self.cancelled)() { Ok(Ending::Stopped) } else { Err(e) }
            }
        }
    }

    fn base(&self, bases: &mut Bases, study: &Study, slot: &Slot, admin: &mut Admin<'_>) -> Result<Base> {
        let load = load_under(&study.load, &study.conditions[slot.condition]);
        bases.of(
            self.site,
            &self.workloads[slot.condition],
            &study.contenders[slot.contender],
            load.scale,
            load.seed,
            admin,
        )
    }

    fn bench<'b>(&'b self, run: &'b Run, slot: &Slot) -> Bench<'b> {
        Bench {
            study: &run.study,
            workload: &self.workloads[slot.condition],
            writer: &self.writer,
            data_dir: self.site.scratch.join("trial"),
            launch: &self.site.launch,
            deadlines: self.deadlines,
            janitor: &self.site.janitor,
            disk: &run.disk,
            cores: run.machine.cores,
            generator_ns_per_operation: run.generator_ns_per_operation,
            transactions: &run.workload.transactions,
            cancelled: self.cancelled,
            progress: self.tell,
        }
    }

    /// Nanoseconds the worker itself needs per operation: one client of the first plan, on the null driver.
    fn generator(&self, run: &Run, base: &Base, plans: &mut Plans, admin: &mut Admin<'_>) -> Result<u64> {
        let slot = run.schedule[0];
        let bench = self.bench(run, &slot);
        let null = null_contender(&run.study.contenders[slot.contender])?;
        let drawn = plans.of(&run.study, &self.workloads[slot.condition], slot)?;
        match bench.null_cost(&null, &drawn, base, &self.site.own, GENERATOR_OPERATIONS, admin) {
            Ok(ns) => Ok(ns),
            Err(Failure::Cancelled) => Err(Cancelled.into()),
            Err(Failure::Fatal(e)) => Err(e.context("cannot measure the worker's own cost")),
            Err(Failure::Invalid(r)) => bail!("cannot measure the worker's own cost: {}: {}", r.kind, r.detail),
        }
    }
}

/// The workload under each condition, which may set numbers of its `[scale]`.
fn under_conditions(workload: &Workload, study: &Study) -> Result<Vec<Workload>> {
    let of = |condition: &Condition| {
        let named = condition.axes.iter().filter(|(name, _)| workload.scale.contains_key(*name));
        workload.with_axes(&named.map(|(k, v)| (k.clone(), v.clone())).collect())
    };
    study.conditions.iter().map(|condition| of(condition).map_err(Into::into)).collect()
}

fn workload_info(workload: &Workload, source: &Source, study: &Study) -> WorkloadInfo {
    WorkloadInfo {
        name: workload.name.clone(),
        about: workload.about.clone(),
        file: source.name.clone(),
        text: source.text.clone(),
        sha256: workload.sha256.clone(),
        rows: workload.rows(study.load.scale),
        transactions: workload
            .transactions
            .iter()
            .map(|t| TransactionInfo { name: t.name.clone(), write: t.writes })
            .collect(),
        data_sha256: workload.data_sha256(study.load.scale, study.load.seed),
    }
}
