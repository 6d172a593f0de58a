//! `contend limit`: its arguments, and the run of its probes.

use crate::bound::{Bound, bounds};
use crate::page;
use crate::relax::{self, Processors};
use crate::saved::{Arm, PROBES, Saved, VERSION};
use crate::work::{Place, Work};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser};
use contend::cli::order::{OrderArgs, choices, numbered_out, order, source};
use contend::cli::{INVALID, OK, STOPPED, colour, print, stop_on_signals};
use contend::slice::Verb;
use contend::source::Source;
use contend::study::model::{Study, Variant, Whole};
use contend::trial::chosen::{processors, run_chosen};
use contend::trial::note::Note;
use contend::trial::order::Order;
use contend::trial::run::Ending;
use contend::trial::watch::machine;
use contend::ui::Progress;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Find the highest rate of arrivals that meets a bound, for each contender of a study
#[derive(Parser)]
#[command(after_help = "Examples:
  contend limit limits --quick              SQLite and PostgreSQL, in under five minutes
  contend limit wordpress --quick --only WAL/FULL --limiter
  contend limit my-study.toml --bound 'response_ns_p99<=20ms' --bound 'failed<=0.1%'
  contend report results/DIR                write the report again

Each probe is a trial in an open loop at one rate, on fresh data and with every check. A rate meets the bounds if \
the backlog does not grow, what is due is committed, and every bound holds. One bisection is the value of one round. \
docs/limits.md explains the search and the report.

Exit status: 0 every contender has a highest rate, 1 one has none, 2 usage or environment, 130 stopped.")]
struct LimitArgs {
    #[command(flatten)]
    order: OrderArgs,
    /// What a rate must meet: METRIC<=VALUE, such as response_ns_p99<=50ms (the default) or failed<=0.1%; may be repeated
    #[arg(long, value_name = "BOUND")]
    bound: Vec<String>,
    /// Find what stops each contender, by relaxing one suspect after the other (default without --quick)
    #[arg(long)]
    limiter: bool,
    /// Only the rates (default with --quick)
    #[arg(long, conflicts_with = "limiter")]
    rates_only: bool,
}

pub const VERB: Verb = Verb {
    name: "limit",
    after: "run",
    run: |matches: &ArgMatches| limit(&LimitArgs::from_arg_matches(matches)?),
    example: "  contend limit limits --quick          the highest rate that meets a bound",
    questions: &[("Up to what load, and what stops it?", "contend limit limits")],
    ..Verb::of::<LimitArgs>()
};

/// Waiting after a window for what is still under way: nothing that takes longer meets a bound.
const DRAIN_NS: u64 = 1_000_000_000;

fn limit(args: &LimitArgs) -> Result<u8> {
    let bounds = bounds(&args.bound, args.order.quick).map_err(|why| anyhow!(why))?;
    let chosen = choices(&args.order, Variant::Corrected)?;
    let order = order(&args.order, &source(&args.order)?, &chosen)?;
    let out = match &args.order.out {
        Some(out) => out.clone(),
        None => numbered_out(&format!("limit-{}", order.whole.name)),
    };
    let with_limiter = !args.rates_only && (!args.order.quick || args.limiter);
    let mut searches = vec![];
    for mut order in parts(order, &out) {
        let (places, mut saved) = prepared(&mut order, &bounds, with_limiter)?;
        saved.bounds = bounds.iter().map(|bound| bound.text.clone()).collect();
        searches.push((order, places, saved));
    }
    make(&out)?;
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    let mut worst = OK;
    for (order, places, saved) in searches {
        let status = search(args, &order, &bounds, (places, saved), &cancelled)?;
        if status == STOPPED {
            return Ok(STOPPED);
        }
        worst = worst.max(status);
    }
    Ok(worst)
}

/// Each part of a study by itself, in a directory of its name.
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

/// One search from its first probe to its report; the exit status.
fn search(
    args: &LimitArgs,
    order: &Order,
    bounds: &[Bound],
    (places, saved): (Vec<Place>, Saved),
    cancelled: &dyn Fn() -> bool,
) -> Result<u8> {
    let progress = Progress::new(args.order.quiet);
    let say = |line: &str| progress.show(&Note::Phase(line));
    let out = &order.out;
    let mut work = Work::new(out.clone(), bounds, places, saved, &say);
    let ending = run_chosen(order, PROBES, &mut |record| work.choose(record), cancelled, &|note| progress.show(&note));
    progress.finish();
    let rest = || format!("what is finished is in {}; `contend report` shows it", out.display());
    let ending = ending
        .with_context(|| if work.saved.capacities.is_empty() { "the search ended".to_string() } else { rest() })?;
    if work.saved.probes.is_empty() {
        contend::tell!("Stopped before the first probe; nothing was found.");
        return Ok(STOPPED);
    }
    let page = page::write(out, &work.saved)?;
    print(&format!("{}\nReport: {}\n", page::terminal(&work.saved, colour()), page.display()))?;
    if ending == Ending::Stopped {
        contend::tell!("Stopped. What is finished is in {}; a search is not resumed.", out.display());
        return Ok(STOPPED);
    }
    Ok(status(&work.saved))
}

/// `contend report DIR` of a search.
pub fn report(dir: &Path, json: bool) -> Result<u8> {
    ensure!(!json, "--json: a search is TOML; read {}", dir.join(crate::saved::FILE).display());
    let saved = Saved::read(dir)?;
    let page = page::write(dir, &saved)?;
    print(&format!("{}\nReport: {}\n", page::terminal(&saved, colour()), page.display()))?;
    Ok(status(&saved))
}

fn status(saved: &Saved) -> u8 {
    let has_value = |(arm, _): (usize, _)| crate::capacity::estimate(saved, arm).per_s.is_some();
    if crate::capacity::plain_arms(saved).all(has_value) { OK } else { INVALID }
}

fn make(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}; choose another --out", out.display()))?;
    let mut entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?;
    match entries.next() {
        Some(_) => bail!("{} is not empty; choose another --out", out.display()),
        None => Ok(()),
    }
}

/// The study as what is searched: each contender under each condition.
fn prepared(order: &mut Order, bounds: &[Bound], with_limiter: bool) -> Result<(Vec<Place>, Saved)> {
    let drain_ns = crate::bound::time_ns(bounds).map_or(DRAIN_NS, |ns| DRAIN_NS.max(ns as u64 * 4));
    let [study] = order.whole.studies.as_mut_slice() else {
        bail!("study {} has several parts; choose one with --set part=NAME", order.whole.name);
    };
    if study.load.rate_per_s.is_some() || study.conditions.iter().any(|c| c.axes.contains_key("rate_per_s")) {
        bail!("study {} has a rate of its own; contend limit chooses the rates", study.name);
    }
    (study.load.operations, study.load.drain_ns) = (None, drain_ns);
    if study.load.window_ns == 0 {
        bail!("study {} counts operations and has no window; say --window TIME", study.name);
    }
    let (mut places, mut arms) = arms(study);
    let (name, window_ns, seed) = (study.name.clone(), study.load.window_ns, study.load.seed);
    let (rounds, margin) = (study.rounds, study.margin);
    let (allowed, all) = processors()?;
    let processors = Processors { all, allowed };
    if with_limiter {
        relax::add(order, &mut places, &mut arms, processors)?;
    }
    let saved = Saved {
        format: VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        command: order.command.clone(),
        study: name,
        bounds: vec![],
        window_ns,
        seed,
        rounds,
        margin,
        processors: processors.allowed as u32,
        complete: false,
        arms,
        capacities: vec![],
        probes: vec![],
    };
    Ok((places, saved))
}

fn arms(study: &Study) -> (Vec<Place>, Vec<Arm>) {
    let (mut places, mut arms): (Vec<Place>, Vec<Arm>) = (vec![], vec![]);
    let several = study.conditions.len() > 1;
    for condition in &study.conditions {
        let first = arms.len();
        for (at, contender) in study.contenders.iter().enumerate() {
            places.push(Place { contender: at, condition: condition.clone(), processors: None });
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

/// Of each tier the study's baseline, else its first contender, is what the others are compared with.
fn set_baselines(study: &Study, arms: &mut [Arm], first: usize) {
    let is_baseline = |arm: &Arm| study.baselines.contains(&study.contenders[arm.contender].name);
    for at in first..arms.len() {
        let of_tier = || (first..arms.len()).filter(|other| arms[*other].tier == arms[at].tier);
        let base = of_tier().find(|other| is_baseline(&arms[*other])).or_else(|| of_tier().next());
        arms[at].against = base.filter(|base| *base != at);
    }
}
