//! `contend limit`: arguments, and the run of its probes.

use crate::asked::{Services, asked};
use crate::bound::{Bound, bounds};
use crate::budget::{self, Needs, QUICK_NS};
use crate::capacity::plain_arms;
use crate::floor;
use crate::keys;
use crate::of::{Of, RATE};
use crate::page;
use crate::processes::Processes;
use crate::relax::{self, ArmSetup, Processors};
use crate::saved::{Arm, Budget, PROBES, Saved, VERSION};
use crate::work::{Relaxing, Ways, Work};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::order::{OrderArgs, numbered_out};
use contend::cli::{INVALID, OK, STOPPED, print, stop_on_signals, style};
use contend::record::model::Trial;
use contend::slice::Verb;
use contend::source::Source;
use contend::study::model::{Study, Whole};
use contend::trial::chosen::run_chosen;
use contend::trial::clock::monotonic_ns;
use contend::trial::note::Note;
use contend::trial::order::Order;
use contend::trial::processors::processors;
use contend::trial::run::Ending;
use contend::trial::watch::machine;
use contend::ui::Progress;
use contend::units::duration_ns;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Find the highest rate of arrivals, or the most clients, with which each contender of a study meets a bound
#[derive(Parser)]
#[command(after_help = "Examples:
  contend limit limits --quick              SQLite and servers, in five minutes
  contend limit wordpress --quick --only WAL/FULL --limiter
  contend limit my.toml --bound 'response_ns_p99<=20ms' --bound 'failed<=0.1%'
  contend limit async --of databases --quick   how many databases
  contend limit my-workload.toml            a workload: SQLite and PostgreSQL
  contend limit capture-1 --quick           what contend capture recorded
  contend limit http://127.0.0.1:8001/ http://127.0.0.1:8002/       services
  contend report results/DIR                write the report again

Each probe is a trial in an open loop at one rate (with --of: in a closed loop), on fresh data and with every check. A rate meets the bounds if \
the backlog does not grow, what is due is committed, and every bound holds. One bisection is the value of one round. \
docs/limits.md explains the search and the report.

Exit status: 0 every contender has a highest rate, 1 one has none or a probe did wrong work, 2 usage or environment, 130 stopped.")]
struct LimitArgs {
    #[command(flatten)]
    order: OrderArgs,
    /// More services, if the first argument is the address of one: http://HOST:PORT/PATH
    #[arg(value_hint = ValueHint::Url)]
    more: Vec<String>,
    /// Services: carry out this scenario instead of requests for the path of the address
    #[arg(long, value_name = "SCENARIO", value_hint = ValueHint::AnyPath)]
    scenario: Option<String>,
    /// Services: file of certificates (PEM) that https:// trusts, in place of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ca: Option<PathBuf>,
    /// Services: first process of each on this machine, whose processor time and writes are then evidence
    #[arg(long, value_name = "PID,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pid: Vec<u32>,
    /// What a rate must meet: METRIC<=VALUE, such as response_ns_p99<=50ms (the default) or failed<=0.1%; may be repeated
    #[arg(long, value_name = "BOUND")]
    bound: Vec<String>,
    /// What to search: rate, clients, processes, scale, or an axis of the study that is a number of the workload's [scale], such as databases
    #[arg(long, value_name = "AXIS", default_value = RATE)]
    of: String,
    /// Time for all searches. Contenders come first, then suspects; the report lists what was skipped [default: 5min with --quick, else none]
    #[arg(long, value_name = "TIME", conflicts_with = "limiter")]
    budget: Option<String>,
    /// Relax every suspect in every round: the default without --quick, which relaxes the busy ones in the first three rounds
    #[arg(long)]
    limiter: bool,
    /// Only the rates, and not what stops each contender
    #[arg(long, conflicts_with = "limiter")]
    rates_only: bool,
}

pub const VERB: Verb = Verb {
    name: "limit",
    after: "run",
    run: |matches: &ArgMatches| limit(&LimitArgs::from_arg_matches(matches)?),
    example: "  contend limit limits --quick          the highest rate that meets a bound",
    ..Verb::of::<LimitArgs>()
};

/// Time to wait after a window for operations in progress: one that takes longer meets no bound.
const DRAIN_NS: u64 = 1_000_000_000;

fn limit(args: &LimitArgs) -> Result<u8> {
    // What was typed is wrong whatever the study is.
    bounds(&args.bound).map_err(|why| anyhow!("--bound {why}"))?;
    let of = Of::named(&args.of);
    ensure!(of.is_rate() || !args.limiter, "--limiter relaxes what stops a rate; leave out --of {}", args.of);
    let budget_ns = budget_ns(args)?;
    let services =
        Services { more: &args.more, ca: args.ca.as_deref(), pids: &args.pid, scenario: args.scenario.as_deref() };
    let order = asked(&args.order, &services, &of)?;
    let out = match &args.order.out {
        Some(out) => out.clone(),
        None => numbered_out(&format!("limit-{}", order.whole.name)),
    };
    let relaxing = match (of.is_rate() && !args.rates_only, args.order.quick && !args.limiter) {
        (false, _) => Relaxing::Nothing,
        (true, true) => Relaxing::Busy,
        (true, false) => Relaxing::All,
    };
    let mut searches = vec![];
    for mut order in parts(order, &out) {
        let study = &mut order.whole.studies[0];
        let texts = keys::bounds(study, &args.bound);
        let bounds = bounds(&texts).map_err(|why| anyhow!("study {}: bound {why}", study.name))?;
        let (places, mut saved) = prepared(&mut order, &bounds, &of, relaxing)?;
        floor::check(&order, &places[..plain_arms(&saved).count()], &bounds, &of)?;
        saved.bounds = bounds.iter().map(|bound| bound.text.clone()).collect();
        searches.push((order, bounds, places, saved));
    }
    let needs: Vec<Needs> = searches.iter().map(|(order, _, _, saved)| needs(order, saved)).collect();
    match budget_ns {
        Some(total_ns) if args.budget.is_some() => {
            budget::too_short(total_ns, &needs).map_or(Ok(()), |why| Err(anyhow!("--budget: {why}")))?;
        }
        None if !args.order.quiet => contend::tell!("{}", budget::without(&needs, !args.limiter)),
        _ => {}
    }
    make(&out)?;
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    let (mut worst, begun_ns, several) = (OK, monotonic_ns(), searches.len() as u64);
    for (at, (order, bounds, places, mut saved)) in searches.into_iter().enumerate() {
        // What an earlier part has left over is shared by the later ones.
        let left_ns = budget_ns.map(|total_ns| total_ns.saturating_sub(monotonic_ns() - begun_ns));
        let total_ns = left_ns.map(|left_ns| left_ns / (several - at as u64));
        saved.budget = total_ns.map(|total_ns| Budget { total_ns, ..Budget::default() });
        let how = How { relaxing, lowers: args.bound.is_empty(), quiet: args.order.quiet, pids: &args.pid };
        let status = search(&order, bounds, (places, saved), how, &cancelled)?;
        if status == STOPPED {
            return Ok(STOPPED);
        }
        worst = worst.max(status);
    }
    Ok(worst)
}

fn budget_ns(args: &LimitArgs) -> Result<Option<u64>> {
    let typed = args.budget.as_deref().map(|text| duration_ns(text).map_err(|why| anyhow!("--budget: {why}")));
    let usual = (args.order.quick && !args.limiter).then_some(QUICK_NS);
    let budget_ns = typed.transpose()?.or(usual);
    ensure!(budget_ns != Some(0), "--budget: it must be longer than 0");
    Ok(budget_ns)
}

fn needs(order: &Order, saved: &Saved) -> Needs {
    let run_in_ns = order.whole.studies.iter().map(|study| study.load.run_in_ns).max().unwrap_or(0);
    let contenders = plain_arms(saved).count() as u64;
    let relaxed = saved.arms.len() as u64 - contenders;
    Needs { contenders, relaxed, rounds: saved.rounds, trial_ns: saved.window_ns.saturating_add(run_in_ns) }
}

/// Each part of a study as its own search, in a directory with its name.
fn parts(order: Order, out: &Path) -> Vec<Order> {
    let Order { whole, workloads, scenarios, command, instead, secrets, deadlines, allow_tmpfs, attached, .. } = order;
    let several = whole.studies.len() > 1;
    let all = whole.studies.iter().zip(workloads).zip(scenarios);
    let part = |((study, workload), scenario): ((&Study, Source), Option<Source>)| Order {
        out: match &study.part {
            Some(part) if several => out.join(part),
            _ => out.to_path_buf(),
        },
        whole: Whole { studies: vec![study.clone()], ..whole.clone() },
        workloads: vec![workload],
        scenarios: vec![scenario],
        command: command.clone(),
        instead: instead.clone(),
        secrets: secrets.clone(),
        deadlines,
        allow_tmpfs,
        attached: attached.clone(),
    };
    all.map(part).collect()
}

/// How searches go on.
#[derive(Clone, Copy)]
struct How<'h> {
    relaxing: Relaxing,
    lowers: bool,
    quiet: bool,
    /// First process of each service.
    pids: &'h [u32],
}

/// Runs one search from its first probe to its report; returns the exit status.
fn search(
    order: &Order,
    bounds: Vec<Bound>,
    prepared: (Vec<ArmSetup>, Saved),
    how: How<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<u8> {
    let progress = Progress::new(how.quiet);
    let say = |line: &str| progress.show(&Note::Phase(line));
    let out = &order.out;
    let begun_ns = monotonic_ns();
    let How { relaxing, lowers, .. } = how;
    let clock = || monotonic_ns() - begun_ns;
    let processes = RefCell::new(Processes::below(how.pids));
    let of_trial = |trial: &Trial| processes.borrow_mut().take(trial);
    let ways = Ways { relaxing, lowers, clock: &clock, tell: &say, processes: &of_trial };
    let mut work = Work::new(out.clone(), bounds, prepared, ways);
    let show = |note: Note<'_>| {
        processes.borrow_mut().look();
        progress.show(&note);
    };
    let ending = run_chosen(order, PROBES, &mut |record| work.choose(record), cancelled, &show);
    progress.finish();
    let rest = || format!("what is finished is in {}; `contend report` shows it", out.display());
    let ending = ending
        .with_context(|| if work.saved.capacities.is_empty() { "the search ended".to_string() } else { rest() })?;
    if ending == Ending::Stopped {
        work.stop();
        work.saved.write(out)?;
    }
    let page = page::write(out, &work.saved)?;
    print(&format!("{}\nReport: {}\n", page::terminal(&work.saved, style()), page.display()))?;
    if ending == Ending::Stopped {
        let dir = out.display();
        contend::tell!(
            "Stopped. What was found is in {dir}; a search cannot be resumed, so begin it again with another --out."
        );
        return Ok(STOPPED);
    }
    Ok(status(&work.saved))
}

/// `contend report DIR` of a search.
pub fn report(dir: &Path, json: bool) -> Result<u8> {
    let saved = Saved::read(dir)?;
    let page = page::write(dir, &saved)?;
    print(&match json {
        true => crate::json::json(&saved),
        false => format!("{}\nReport: {}\n", page::terminal(&saved, style()), page.display()),
    })?;
    Ok(status(&saved))
}

/// The exit status of a search: every contender has a capacity, and no probe's work was wrong.
pub(crate) fn status(saved: &Saved) -> u8 {
    let has_value = |(arm, _): (usize, _)| crate::capacity::estimate(saved, arm).value.is_some();
    let is_wrong = saved.probes.iter().any(|probe| probe.wrong);
    if crate::capacity::plain_arms(saved).all(has_value) && !is_wrong { OK } else { INVALID }
}

fn make(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}; choose another --out", out.display()))?;
    let mut entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?;
    match entries.next() {
        Some(_) => bail!("{} is not empty; choose another --out", out.display()),
        None => Ok(()),
    }
}

/// Prepares a study: each contender under each condition becomes an arm.
fn prepared(order: &mut Order, bounds: &[Bound], of: &Of, relaxing: Relaxing) -> Result<(Vec<ArmSetup>, Saved)> {
    let drain_ns = crate::bound::time_ns(bounds).map_or(DRAIN_NS, |ns| DRAIN_NS.max(ns as u64 * 4));
    let [study] = order.whole.studies.as_mut_slice() else {
        bail!("study {} has several parts; choose one with --set part=NAME", order.whole.name);
    };
    let has_rate =
        study.load.rate_per_s.is_some() || study.conditions.iter().any(|c| c.axes.contains_key("rate_per_s"));
    if of.is_rate() && has_rate {
        bail!("study {} sets a rate; contend limit chooses the rates", study.name);
    }
    (study.load.operations, study.load.drain_ns) = (None, drain_ns);
    if study.load.window_ns == 0 {
        bail!("study {} counts operations and has no window; add --window TIME", study.name);
    }
    let (mut places, mut arms) = arms(study);
    let (name, window_ns, seed) = (study.name.clone(), study.load.window_ns, study.load.seed);
    let (rounds, margin, is_service) = (study.rounds, study.margin, study.is_of_service());
    let (allowed, all) = processors()?;
    let processors = Processors { all, allowed };
    if relaxing != Relaxing::Nothing {
        relax::add(order, &mut places, &mut arms, processors)?;
    }
    let saved = Saved {
        format: VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        command: order.command.clone(),
        study: name,
        of: of.name().to_string(),
        bounds: vec![],
        window_ns,
        seed,
        rounds,
        margin,
        processors: processors.allowed as u32,
        machine: None,
        disk: None,
        budget: None,
        service: is_service,
        attached: order.attached.is_some(),
        not_sealed: false,
        complete: false,
        arms,
        capacities: vec![],
        probes: vec![],
    };
    Ok((places, saved))
}

fn arms(study: &Study) -> (Vec<ArmSetup>, Vec<Arm>) {
    let (mut places, mut arms): (Vec<ArmSetup>, Vec<Arm>) = (vec![], vec![]);
    let several = study.conditions.len() > 1;
    for condition in &study.conditions {
        let first = arms.len();
        for (at, contender) in study.contenders.iter().enumerate() {
            places.push(ArmSetup { contender: at, condition: condition.clone() });
            arms.push(Arm {
                label: contender.label.clone(),
                contender: at,
                tier: contender.tier.to_string(),
                condition: if several { condition.label.clone() } else { String::new() },
                against: None,
                relaxed: None,
            });
        }
        set_baselines(study, &mut arms, first);
    }
    (places, arms)
}

/// Sets the base of each tier: the study's baseline, or its first contender.
fn set_baselines(study: &Study, arms: &mut [Arm], first: usize) {
    let is_baseline = |arm: &Arm| study.baselines.contains(&study.contenders[arm.contender].name);
    for at in first..arms.len() {
        let of_tier = || (first..arms.len()).filter(|other| arms[*other].tier == arms[at].tier);
        let base = of_tier().find(|other| is_baseline(&arms[*other])).or_else(|| of_tier().next());
        arms[at].against = base.filter(|base| *base != at);
    }
}
