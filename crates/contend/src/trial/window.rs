//! The window of a trial: starts the workers, watches the window, collects the samples.

use crate::check::commits::Counted;
use crate::engine;
use crate::engine::server::OwnCounts;
use crate::outcome::mark::Mark;
use crate::record::model::Reason;
use crate::record::store::TrialWriter;
use crate::trial::bench::Bench;
use crate::trial::data::disk;
use crate::trial::data::fresh::Fresh;
use crate::trial::note::Note;
use crate::trial::server::settings;
use crate::trial::stage::Stage;
use crate::trial::watch::affinity::Affinity;
use crate::trial::watch::commits::Commits;
use crate::trial::watch::machine::WallClock;
use crate::trial::watch::sampler::{Observed, Sampler, Watched};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::{Crew, Failure, Member, Observer, Window};
use crate::trial::workers::serving::{Served, Serving};
use anyhow::Result;
use contend_wire::plan::Step;
use std::sync::Arc;

/// Results of a window.
pub struct Ran {
    pub members: Vec<Member>,
    pub observed: Observed,
    /// Report of the serving worker, for a contender over HTTP.
    pub served: Option<Served>,
    /// The database server's counts of itself.
    pub own_counts: OwnCounts,
    /// Commits that the databases counted.
    pub commits: Counted,
    /// Reason if a setting of the server changed meanwhile.
    pub changed: Option<Reason>,
    /// Mark if the wall clock was set meanwhile.
    pub clock_set: Option<Mark>,
    pub start_ns: u64,
    pub window_start_ns: u64,
    /// `None` if the number of operations ends the window.
    pub window_end_ns: Option<u64>,
}

/// Observes the machine and writes the samples during a window.
struct Watching<'w> {
    window: &'w Window,
    /// `None` after the end of the window.
    sampler: Option<Sampler>,
    observed: Observed,
    writer: &'w mut TrialWriter,
    progress: &'w dyn Fn(Note<'_>),
    /// The databases' own counters.
    commits: Option<&'w mut Commits>,
}

impl Observer for Watching<'_> {
    fn window_begins(&mut self) {
        if let Some(commits) = &self.commits {
            commits.window_begins();
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.window_begins(self.window.ends_ns);
        }
    }

    fn window_ends(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            self.observed = sampler.window_ends(self.window.begins_ns);
            if let Some(commits) = &mut self.commits {
                commits.window_ends();
            }
        }
    }

    fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.samples(bytes)
    }

    fn operations(&mut self, so_far: u64) {
        (self.progress)(Note::Operations(so_far));
    }
}

/// Whether each process of a worker has its databases open from before the start until after the end.
fn keeps_open(bench: &Bench<'_>, stage: &Stage<'_>) -> bool {
    let mut steps = bench.workload.transactions.iter().flat_map(|transaction| &transaction.steps);
    engine::commits_as_planned(stage.contender) && !steps.any(|step| matches!(step, Step::Connect))
}

/// Watches the data, the workers, and the other programs that contend started for the trial.
fn sampler(bench: &Bench<'_>, stage: &Stage<'_>, workers: Vec<u32>, others: Vec<u32>) -> Result<Sampler> {
    let affinity = Arc::new(Affinity::of([&workers[..], &others].concat())?);
    let servers = others.into_iter().chain(stage.setup.service_pid).collect();
    let (dir, part) = (bench.data_dir.clone(), stage.engine.part);
    let keeps_open = keeps_open(bench, stage);
    Ok(Sampler::start(Watched { workers, servers, dir, part, keeps_open, affinity }))
}

/// Starts the workers, watches the window, collects the samples.
pub fn window(
    bench: &Bench<'_>,
    stage: &Stage<'_>,
    fresh: &Fresh<'_>,
    writer: &mut TrialWriter,
    admin: &mut Admin<'_>,
) -> Result<Ran, Failure> {
    let load = &stage.round.load;
    let serving = bench.serving(stage, &fresh.databases, writer.partial_dir())?;
    let orders = bench.orders(stage, &fresh.databases, serving.as_ref())?;
    let with = bench.supervision();
    let mut crew = Crew::of_processes(orders.whose, &orders.launch, writer.partial_dir(), &with);
    crew.prepare(&orders.plans)?;
    crew.compare_clocks()?;
    let server = fresh.server.as_ref();
    let before = server.map_or(Ok(OwnCounts::default()), |server| server.own_counts(stage.engine, admin))?;
    let set_before = settings::read(stage, fresh, admin);
    let started = server.map(|server| server.pid()).into_iter().chain(serving.as_ref().map(Serving::pid));
    let sampler = sampler(bench, stage, crew.pids(), started.collect())?;
    let is_local = disk::is_local(&bench.disk.file_system);
    let commits = if keeps_open(bench, stage) { Commits::begin(stage, is_local, fresh) } else { None };
    // A serving worker may open its connections with the first request.
    let mut commits = commits.filter(|commits| serving.is_none() || commits.are_readable());
    let (wall, start_ns) = (WallClock::read(), crew.start());
    if let Some(commits) = &mut commits {
        commits.work_begins()?;
    }
    let begins_ns = start_ns + load.run_in_ns;
    let ends_ns = (load.window_ns > 0).then(|| begins_ns + load.window_ns);
    let window = Window { begins_ns, ends_ns, drain_ns: load.drain_ns };
    let mut watching = Watching {
        window: &window,
        sampler: Some(sampler),
        observed: Observed::default(),
        writer,
        progress: bench.progress,
        commits: commits.as_mut(),
    };
    crew.collect(&window, &mut watching)?;
    let observed = watching.observed;
    crew.dismiss();
    let changed = settings::changed(&set_before, &settings::read(stage, fresh, admin));
    let served = serving.map(|serving| serving.end(load.drain_ns)).transpose()?;
    // Before the server's own counts: its connection is a session, too.
    let commits = commits.map(Commits::end).unwrap_or_default();
    let after = server.map_or(Ok(OwnCounts::default()), |server| server.own_counts_in_the_end(stage.engine, admin))?;
    let members = std::mem::take(&mut crew.members);
    Ok(Ran {
        members,
        observed,
        served,
        own_counts: after.since(before),
        commits,
        changed,
        clock_set: wall.was_set(),
        start_ns,
        window_start_ns: begins_ns,
        window_end_ns: ends_ns,
    })
}
