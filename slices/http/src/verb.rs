//! `contend http`: a scenario carried out against any service, with the record and the report of every other run.

use crate::args::HttpArgs;
use crate::given::{self, Given};
use crate::url::check_url;
use crate::{line, lists, study};
use anyhow::{Context, Result, anyhow, bail, ensure};
use contend::analysis::requests;
use contend::cli::order::{numbered_out, warm_up_of};
use contend::cli::run::{conclude, ended};
use contend::cli::{INVALID, OK, STOPPED, print, read_text, stop_on_signals};
use contend::record::store::{Record, RecordWriter};
use contend::study::model::{Study, Whole};
use contend::trial::note::Note;
use contend::trial::order::Order;
use contend::trial::run::{Ending, run as run_session};
use contend::trial::secret;
use contend::trial::workers::process::InsteadOf;
use contend::trial::workers::processes::Deadlines;
use contend::ui::Progress;
use contend::workload::{self, scenario};
use contend_stats::precision::Ns;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub fn http(args: &HttpArgs) -> Result<u8> {
    if let Some((url, path)) = args.scenario.contains("://").then(|| scenario::address(&args.scenario)) {
        ensure!(args.port.is_none(), "--port: the address already has a port");
        return carry_out(&HttpArgs { url, ..args.clone() }, Some(&path));
    }
    match args.port {
        Some(port) => carry_out(&HttpArgs { url: format!("http://127.0.0.1:{port}"), ..args.clone() }, None),
        None => carry_out(args, None),
    }
}

/// `path` is what every request asks for, where there is no scenario.
fn carry_out(args: &HttpArgs, path: Option<&str>) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    check_url(&args.url).map_err(|e| anyhow!("--url: {e}"))?;
    let written = match path {
        Some(path) => scenario::of_path(path),
        None => scenario::LIBRARY.open(&args.scenario, |path| read_text(path))?,
    };
    let Given { secrets, variables, profile } = given::given(args, &written)?;
    let source = scenario::filled_in(&scenario::without_defaults(&written, secrets.keys())?, &variables)?;
    let before = secret::told(workload::parse(&source)?, &secrets)?;
    ensure!(
        !before.requests.is_empty(),
        "{}: this file sends no requests, so it is not a scenario; use it with contend run",
        source.name
    );
    let study = study::study(args, &before, profile, study::contender(args, &before)?)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => numbered_out(&format!("http-{}", before.name)),
    };
    ensure!(!RecordWriter::is_record(&out), "{} is already a record; choose another --out", out.display());
    let warm = study::warm(args, &before)?;
    let warm_up = (warm > 0).then(|| study::of_warm_up(&study, &before, warm)).transpose()?;
    let aside = warm_up.map(|study| Ok::<_, anyhow::Error>((warm_up_of(&out)?, study))).transpose()?;
    if let Some((aside, _)) = aside.as_ref().filter(|(aside, _)| aside.exists()) {
        bail!(in_the_way(aside));
    }
    let lists = lists::lists(&out, &before, &study.contenders[0], &cancelled);
    let lists = lists.map_err(|e| anyhow!("{}: {}", source.name, before.secrets.hidden(&format!("{e:#}"))))?;
    let mut order = Order {
        whole: whole(study),
        workloads: vec![scenario::with_lists(&source, &lists)?],
        scenarios: vec![None],
        out: out.clone(),
        command: before.secrets.hidden_in_command(contend::cli::arguments()),
        instead: InsteadOf::default(),
        secrets,
        deadlines: Deadlines::default(),
        allow_tmpfs: true,
        attached: None,
    };
    let progress = Progress::new(args.quiet || args.json_line);
    progress.show(&Note::Phase("measuring the client's own cost"));
    if let Some((aside, study)) = aside {
        progress.show(&Note::Phase(&format!("warming up with {warm} operations")));
        if !warmed(&mut order, aside, study, &cancelled, &|note| progress.show(&note))? {
            progress.finish();
            contend::tell!("Stopped during the warm-up; nothing was kept.");
            return Ok(STOPPED);
        }
    }
    let ending = run_session(&order, &cancelled, &|note| show(&progress, &note));
    progress.finish();
    ended(&out, ending, true, &how_to_resume(&out, &order.secrets), || match args.json_line {
        true => json_lines(&out, args.label.as_deref().unwrap_or(&before.name)),
        false => conclude(&out, false, args.quiet),
    })
}

/// A study without parts as all that is run.
fn whole(study: Study) -> Whole {
    Whole {
        name: study.name.clone(),
        question: study.question.clone(),
        variant: study.variant,
        extent: study.extent,
        studies: vec![study],
    }
}

/// What is said of a disk and of data, where there is none, would only raise questions.
fn show(progress: &Progress, note: &Note<'_>) {
    match note {
        Note::Phase(_) => {}
        Note::Prepared { generator_ns, .. } => {
            progress.show(&Note::Phase(&format!(
                "the client's own cost is {} for a request, without sending it",
                Ns(*generator_ns)
            )));
        }
        other => progress.show(other),
    }
}

/// A secret is in no record: to continue, the user has to give it again, in the environment.
fn how_to_resume(dir: &Path, secrets: &BTreeMap<String, String>) -> String {
    let variables: Vec<String> = secrets.keys().map(|name| secret::variable(name)).collect();
    let again = match variables.as_slice() {
        [] => String::new(),
        names => format!(", with {} in the environment", names.join(" and ")),
    };
    format!("continue with: contend run --resume {}{again}", dir.display())
}

fn in_the_way(aside: &Path) -> String {
    format!(
        "{} exists, and the warm-up needs this path; remove it if it is not needed, or choose another --out",
        aside.display()
    )
}

/// Carries out a study whose record is thrown away; false if it was stopped.
fn warmed(
    order: &mut Order,
    aside: PathBuf,
    study: Study,
    cancelled: &dyn Fn() -> bool,
    tell: &dyn Fn(Note<'_>),
) -> Result<bool> {
    if let Some(parent) = aside.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    // What this makes it may remove; what was there, or another run makes meanwhile, it may not.
    std::fs::create_dir(&aside).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => anyhow!(in_the_way(&aside)),
        _ => anyhow!(e).context(format!("cannot create {}", aside.display())),
    })?;
    let out = std::mem::replace(&mut order.out, aside);
    let measured = std::mem::replace(&mut order.whole.studies[0], study);
    // Only how far it is: its measurements are not a result.
    let ending = run_session(order, cancelled, &|note| {
        if matches!(note, Note::Operations(_)) {
            tell(note);
        }
    });
    std::fs::remove_dir_all(&order.out).with_context(|| format!("cannot remove {}", order.out.display()))?;
    (order.out, order.whole.studies[0]) = (out, measured);
    Ok(!matches!(ending?, Ending::Stopped))
}

/// The run as one line for each condition. Why a trial does not count was said when it was over.
fn json_lines(dir: &Path, label: &str) -> Result<u8> {
    let record = Record::open(dir)?;
    print(&line::lines(&record.run.study.conditions, &requests::sums(&record)?, label))?;
    Ok(if record.trials.iter().all(|t| t.invalid.is_empty()) { OK } else { INVALID })
}
