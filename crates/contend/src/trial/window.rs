//! The window of a trial: workers started, the time measured, samples collected.

use crate::check::commits::Counted;
use crate::engine;
use crate::record::model::Reason;
use crate::record::store::TrialWriter;
use crate::trial::bench::Bench;
use crate::trial::data::fresh::Fresh;
use crate::trial::note::Note;
use crate::trial::server::settings;
use crate::trial::stage::Stage;
use crate::trial::watch::commits::Commits;
use crate::trial::watch::sampler::{Observed, Sampler, Watched};
use crate::trial::workers::admin::Admin;
use crate::trial::workers::crew::{Crew, Failure, Member, Observer, Window};
use crate::trial::workers::serving::{Served, Serving};
use anyhow::Result;
use contend_wire::plan::Step;

/// What the window left.
pub struct Ran {
    pub members: Vec<Member>,
    pub observed: Observed,
    /// Of a contender that is asked over HTTP.
    pub served: Option<Served>,
    /// Syncs of the database server, if it tells.
    pub syncs: Option<u64>,
    /// What the databases counted themselves.
    pub commits: Counted,
    /// A setting of the server that changed meanwhile.
    pub changed: Option<Reason>,
    pub start_ns: u64,
    pub window_start_ns: u64,
    /// None when the number of operations decides.
    pub window_end_ns: Option<u64>,
}

/// The machine and the samples while the window is measured.
struct Watching<'w> {
    begins_ns: u64,
    /// Until the end of the window.
    sampler: Option<Sampler>,
    observed: Observed,
    writer: &'w mut TrialWriter,
    progress: &'w dyn Fn(Note<'_>),
    /// Reads the databases' own counters.
    count: &'w mut dyn FnMut(),
}

impl Observer for Watching<'_> {
    fn window_begins(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.window_begins();
        }
    }

    fn window_ends(&mut self) {
        if let Some(sampler) = self.sampler.take() {
            self.observed = sampler.window_ends(self.begins_ns);
            (self.count)();
        }
    }

    fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.samples(bytes)
    }

    fn operations(&mut self, so_far: u64) {
        (self.progress)(Note::Operations(so_far));
    }
}

/// Workers started, the window measured, samples collected.
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
    let syncs =
        |admin: &mut Admin<'_>| fresh.server.as_ref().map_or(Ok(None), |server| server.syncs(stage.engine, admin));
    let before = syncs(admin)?;
    let set_before = settings::read(stage, fresh, admin);
    let workers = crew.pids();
    let server = fresh.server.as_ref().map(|server| server.pid());
    let servers = server.into_iter().chain(serving.as_ref().map(Serving::pid)).collect();
    let dir = bench.data_dir.clone();
    let sampler = Sampler::start(Watched { workers, servers, dir, part: stage.engine.part });
    let steps = bench.workload.transactions.iter().flat_map(|transaction| &transaction.steps);
    let connects = steps.into_iter().any(|step| matches!(step, Step::Connect));
    let mut commits =
        Commits::begin(stage.engine, fresh, admin).filter(|_| engine::writes_as_told(stage.contender) && !connects);
    let start_ns = crew.start();
    let begins_ns = start_ns + load.run_in_ns;
    let ends_ns = (load.window_ns > 0).then(|| begins_ns + load.window_ns);
    let window = Window { begins_ns, ends_ns, drain_ns: load.drain_ns };
    let mut count = || {
        if let Some(commits) = &mut commits {
            commits.window_ends(fresh, admin);
        }
    };
    let mut watching = Watching {
        begins_ns,
        sampler: Some(sampler),
        observed: Observed::default(),
        writer,
        progress: bench.progress,
        count: &mut count,
    };
    crew.collect(&window, &mut watching)?;
    let observed = watching.observed;
    crew.dismiss();
    let changed = settings::changed(&set_before, &settings::read(stage, fresh, admin));
    let syncs = syncs(admin)?.zip(before).map(|(after, before)| after.saturating_sub(before));
    let served = serving.map(|serving| serving.end(load.drain_ns)).transpose()?;
    let commits = commits.map(|commits| commits.end(fresh, admin)).unwrap_or_default();
    let members = std::mem::take(&mut crew.members);
    Ok(Ran {
        members,
        observed,
        served,
        syncs,
        commits,
        changed,
        start_ns,
        window_start_ns: begins_ns,
        window_end_ns: ends_ns,
    })
}
