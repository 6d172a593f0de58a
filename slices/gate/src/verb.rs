//! `contend gate`: its arguments.

use crate::judge::Judgement;
use crate::machine::{Disturbances, Machine};
use crate::one_record;
use crate::page::{self, Page};
use crate::records;
use crate::rounds::rounds;
use crate::saved::{By, FILE, Gate, VERSION, Why};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::order::numbered_out;
use contend::cli::{INVALID, OK, STOPPED, USAGE, arguments, print, stop_on_signals, style};
use contend::record::seal;
use contend::report::text;
use contend::slice::Verb;
use contend::trial::data::disk;
use contend::trial::note::Note;
use contend::trial::watch::janitor::Janitor;
use contend::trial::watch::{machine, orphans};
use contend::ui::Progress;
use contend::units::{duration_ns, percent};
use contend_stats::precision::{Ns, Ratio};
use contend_stats::verdict::{MARGIN, ROUNDS_MAX};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Exit status: the rounds do not show whether B is slower.
const CANNOT_TELL: u8 = 3;

/// Report whether one build is slower than another, for continuous integration
///
/// Runs both commands in turns until the answer is clear or the budget is used up. Or, with two records, says whether a
/// contender got slower against a baseline that is in both; with one, whether it is slower than the baseline.
#[derive(Parser)]
#[command(after_help = "Examples:
  contend gate --a 'old/app import data.csv' --b 'new/app import data.csv'
  contend gate --a ./old --b ./new --before 'rm -rf data' --by cpu
  contend gate results/main results/branch   two records with a common baseline
  contend http http://a:8001/ http://b:8001/ --rounds 12 --out results/services
  contend gate results/services --out gate   two services, in the same rounds
  contend report results/DIR                 the report of two commands again

gate.md (for a pull request) and junit.xml are written into the record. docs/gate.md explains the method and has an \
example for GitHub Actions.

Exit status: 0 B is faster, not different, or slower by less than the margin, 1 B is slower and the median ratio exceeds the \
margin, 3 cannot tell, or not comparable, 2 usage, or a command or a contender failed, 130 stopped.")]
pub struct GateArgs {
    /// Instead of commands: directories of two records, first the baseline and then the one to judge, or of one record with
    /// a baseline and what is judged, such as that of two services
    #[arg(value_hint = ValueHint::DirPath, num_args = 1..=2, conflicts_with_all = ["a", "b"])]
    records: Vec<PathBuf>,
    /// The command that is the baseline, for `sh -c`
    #[arg(long, value_name = "COMMAND", requires = "b", required_unless_present = "records")]
    a: Option<String>,
    /// The command that is judged, for `sh -c`
    #[arg(long, value_name = "COMMAND", requires = "a", required_unless_present = "records")]
    b: Option<String>,
    /// A command that runs before each of them and is not measured. It must leave nothing running: start services before
    /// the gate
    #[arg(long, value_name = "COMMAND", requires = "a")]
    before: Option<String>,
    /// The time that decides
    #[arg(long, value_enum, default_value_t = By::Wall, conflicts_with = "records")]
    by: By,
    /// Time after which no further round begins; the warm-up and the first round always run
    #[arg(long, value_name = "TIME", default_value = "5m", conflicts_with = "records")]
    budget: String,
    /// Most rounds; each runs both commands once
    #[arg(long, value_name = "N", default_value_t = ROUNDS_MAX, conflicts_with = "records")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    rounds: u32,
    /// Runs of each command before the first round, not counted
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "records")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    warm_up: u32,
    /// Differences up to this many per cent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * MARGIN, value_parser = percent)]
    margin: f64,
    /// Names of processes that the commands may leave running, such as ssh-agent or sccache, as `ps -o comm` shows them: they do none of the measured work
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "records")]
    may_leave: Vec<String>,
    /// Exit status 0 also for `cannot tell`: the rounds do not decide, or their ratio drifts. Not for `not comparable`
    #[arg(long)]
    pass_if_unsure: bool,
    /// Seed of the order inside the rounds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Directory of the record, or of the files about records [default: results/DATE-gate; none for records]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub const VERB: Verb = Verb {
    name: "gate",
    after: "compare",
    run: |matches: &ArgMatches| gate(&GateArgs::from_arg_matches(matches)?),
    example: "  contend gate --a ./old --b ./new      is the new build slower? for CI",
    questions: &[("Does this change make it slower?", "contend gate --a ./old --b ./new")],
    ..Verb::of::<GateArgs>()
};

fn gate(args: &GateArgs) -> Result<u8> {
    let of_records = match args.records.as_slice() {
        [one] => Some(one_record::judged(one, args.margin / 100.0)?),
        [a, b] => Some(records::judged(a, b, args.margin / 100.0)?),
        _ => None,
    };
    if let Some(page) = of_records {
        if let Some(out) = &args.out {
            make(out)?;
            page.write(out)?;
        }
        return conclude(&page, args.out.as_deref(), args.pass_if_unsure);
    }
    let (a, b) = (args.a.clone().unwrap_or_default(), args.b.clone().unwrap_or_default());
    ensure!(!a.trim().is_empty() && !b.trim().is_empty(), "--a and --b are commands, and one of them is empty");
    let gate = begun(args, (a, b))?;
    let out = args.out.clone().unwrap_or_else(|| numbered_out("gate"));
    make(&out)?;
    let gate = measured(gate, &out, args.quiet)?;
    let page = page::of_gate(&gate);
    page.write(&out)?;
    let status = conclude(&page, Some(&out), args.pass_if_unsure)?;
    Ok(if gate.ended == Why::Stopped { STOPPED } else { status })
}

fn begun(args: &GateArgs, (a, b): (String, String)) -> Result<Gate> {
    let budget_ns = duration_ns(&args.budget).map_err(|e| anyhow!("--budget: {e}"))?;
    ensure!(budget_ns > 0, "--budget must be above 0");
    Ok(Gate {
        format: VERSION,
        contend: env!("CARGO_PKG_VERSION").to_string(),
        started: machine::now_utc(),
        command: arguments().collect(),
        a,
        b,
        before: args.before.clone(),
        by: args.by,
        margin: args.margin / 100.0,
        budget_ns,
        rounds_max: args.rounds,
        warm_up: args.warm_up,
        seed: args.seed,
        processors: machine::cores(),
        may_leave: args.may_leave.clone(),
        ended: Why::Stopped,
        error: None,
        rounds_ns: 0,
        rounds: vec![],
    })
}

/// Carries out the rounds. Whatever happens, the record has every finished round.
fn measured(mut gate: Gate, out: &Path, quiet: bool) -> Result<Gate> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    let progress = Progress::new(quiet);
    orphans::adopt()?;
    let janitor = Janitor::start()?;
    let mut machine = Machine {
        a: gate.a.clone(),
        b: gate.b.clone(),
        before: gate.before.clone(),
        dir: out.to_path_buf(),
        budget_ns: gate.budget_ns,
        fsync_ns: disk::measure(out)?.fsync_ns_p50,
        by: gate.by,
        janitor: &janitor,
        cancelled: &cancelled,
        round: Disturbances::default(),
        may_leave: gate.may_leave.clone(),
        left: vec![],
        unreported: None,
    };
    let mut tell = |gate: &Gate| {
        progress.show(&Note::Phase(&course(gate)));
        gate.write(out)
    };
    let ended = rounds(&mut gate, &mut machine, &mut tell);
    progress.finish();
    gate.error = ended.as_ref().err().map(|error| format!("{error:#}"));
    gate.write(out)?;
    if let Err(error) = ended {
        page::write_error(out, gate.by, &format!("{error:#}"))?;
        return Err(error);
    }
    machine.forget_outputs();
    Ok(gate)
}

/// The last round, in a few words.
fn course(gate: &Gate) -> String {
    let Some(last) = gate.rounds.last() else { return String::new() };
    let [a, b] = [last.a, last.b].map(|took| gate.by.of(took));
    let again = if last.again { ", disturbed from outside: run again" } else { "" };
    let ratio = Ratio(b as f64 / a.max(1) as f64);
    format!("round {}  A {}, B {}: {ratio}{again}", gate.counting().count() + usize::from(last.again), Ns(a), Ns(b))
}

fn make(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}; choose another --out", out.display()))?;
    let mut entries = fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?;
    ensure!(entries.next().is_none(), "{} is not empty; choose another --out", out.display());
    Ok(())
}

fn conclude(page: &Page, dir: Option<&Path>, pass_if_unsure: bool) -> Result<u8> {
    let record = dir.map_or(String::new(), |dir| format!("\nRecord: {}\n", dir.display()));
    print(&format!("{}{record}", text::text(&page.document(), style())))?;
    Ok(match page.judgement() {
        Judgement::Passes => OK,
        Judgement::Slower => INVALID,
        Judgement::Failed => USAGE,
        Judgement::CannotTell if pass_if_unsure => OK,
        Judgement::CannotTell | Judgement::NotComparable => CANNOT_TELL,
    })
}

/// `contend report DIR` of a gate.
pub fn report(dir: &Path, json: bool) -> Result<u8> {
    ensure!(!json, "--json: a gate is TOML; read {}", dir.join(crate::saved::FILE).display());
    let (gate, is_sealed) = Gate::read(dir)?;
    if gate.ended == Why::Failed {
        let error = gate.error.unwrap_or_else(|| "a command failed".to_string());
        page::write_error(dir, gate.by, &error)?;
        bail!(error);
    }
    let mut page = page::of_gate(&gate);
    if !is_sealed {
        page.warnings.insert(0, seal::said_not_sealed(FILE, 0));
    }
    page.write(dir)?;
    conclude(&page, Some(dir), false)
}
