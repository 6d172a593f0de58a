//! The command line of `contend worker`: serves the tool, or carries out one plan by hand.

use crate::clock::monotonic_ns;
use crate::kit::Kit;
use crate::run::{Notice, RunResult};
use crate::serve::{encode_samples, serve};
use crate::serving;
use anyhow::{Context, Result, bail};
use contend_wire::handshake::{Facts, fact};
use contend_wire::plan::Plan;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::channel;

const USAGE: &str = "usage: contend worker [serve | --plan FILE [--samples FILE]]";

/// Runs a worker with the arguments after its verb. Without arguments it expects the tool on standard input.
pub fn main_of(kit: Kit, args: &[String]) -> ExitCode {
    match run(kit, args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("contend worker: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(kit: Kit, args: &[String]) -> Result<()> {
    if args.iter().any(|arg| matches!(arg.as_str(), "--help" | "-h")) {
        print!("{}", help(&(kit.hello)()?));
        return Ok(());
    }
    let serves = args == ["serve"];
    if args.is_empty() || serves {
        // A worker that outlives its tool would keep loading the machine. If the tool is already gone, the end of the
        // input shows it.
        set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be tied to the tool's life")?;
        return if serves { serving::serve(kit) } else { serve(kit) };
    }
    let by_hand = parse(args)?;
    let text = fs::read_to_string(&by_hand.plan).with_context(|| by_hand.plan.display().to_string())?;
    let plan = Plan::decode(&text).with_context(|| by_hand.plan.display().to_string())?;
    let names: Vec<String> = plan.head.transactions.iter().map(|t| t.name.clone()).collect();
    let result = carry_out(kit, plan)?;
    print!("{}", summary(&result, &names));
    if let Some(path) = by_hand.samples {
        let bytes = encode_samples(result.samples.iter().flatten());
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn help(hello: &Facts) -> String {
    let said = |key| fact(hello, key).unwrap_or_default().replace(',', ", ");
    let versions = [said("driver_versions"), said("driver")].into_iter().find(|text| !text.is_empty());
    format!(
        "Carries out a plan through a driver. contend starts workers itself and talks to them over standard input\n\
         and output, which is the mode without arguments.\n\n\
         {USAGE}\n\n\
         \x20 --plan FILE     carry out this plan by hand, at once; `contend plan show` prints plans\n\
         \x20 --samples FILE  write a sample for every attempt into this file, 64 bytes each\n\n\
         Drivers: {} ({})\nModels: {}\n\n\
         docs/formats.md has plans, samples and the conversation.\n",
        said("drivers"),
        versions.unwrap_or_default(),
        said("models"),
    )
}

struct ByHand {
    plan: PathBuf,
    samples: Option<PathBuf>,
}

fn parse(args: &[String]) -> Result<ByHand> {
    let (mut plan, mut samples) = (None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let slot = match arg.as_str() {
            "--plan" => &mut plan,
            "--samples" => &mut samples,
            other => bail!("`{other}` is not an argument of the worker; {USAGE}"),
        };
        let Some(path) = args.next() else { bail!("{arg} needs a file; {USAGE}") };
        *slot = Some(PathBuf::from(path));
    }
    let Some(plan) = plan else { bail!("--samples needs --plan; {USAGE}") };
    Ok(ByHand { plan, samples })
}

fn carry_out(kit: Kit, plan: Plan) -> Result<RunResult> {
    let (sender, events) = channel();
    let ready = (kit.prepare)(plan, &sender)?;
    for session in &ready.sessions {
        let settings: Vec<String> = session.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!("session {}", settings.join(" "));
    }
    ready.run(monotonic_ns(), &events, |notice| {
        if let Notice::Progress { elapsed_ns, operations, failed } = notice {
            eprintln!("{:.1} s: {operations} operations, {failed} failed", elapsed_ns as f64 / 1e9);
        }
        Ok(())
    })
}

/// Counts of attempts by transaction and code.
fn summary(result: &RunResult, names: &[String]) -> String {
    let mut counts = BTreeMap::new();
    for sample in result.samples.iter().flatten() {
        *counts.entry((sample.transaction, sample.code_space, sample.code)).or_insert(0u64) += 1;
    }
    let mut text = format!(
        "{} operations, {} attempts, {} failed, {} clients exhausted\n",
        result.operations,
        result.attempts(),
        result.failed,
        result.exhausted
    );
    for ((transaction, space, code), count) in counts {
        let name = names.get(usize::from(transaction)).map_or("?", String::as_str);
        text.push_str(&format!("{name} {} {code}: {count}\n", space.word()));
    }
    text
}
