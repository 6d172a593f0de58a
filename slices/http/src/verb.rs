//! `contend http`: carries out a scenario against any service, with a record and a report as for every other run.

use crate::args::{HttpArgs, URL};
use crate::given::{self, Given};
use crate::url::{check_url, secret_in_query};
use crate::{line, lists, study};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use contend::analysis::{Findings, requests};
use contend::cli::order::{numbered_out, warm_up_of};
use contend::cli::run::{conclude, ended};
use contend::cli::{INVALID, OK, STOPPED, print, read_text, stop_on_signals};
use contend::record::store::{Record, RecordWriter};
use contend::slice::OfServices;
use contend::source::Source;
use contend::study::model::{Study, Whole};
use contend::trial::note::Note;
use contend::trial::order::Order;
use contend::trial::run::{Ending, run as run_session};
use contend::trial::secret;
use contend::trial::workers::process::InsteadOf;
use contend::trial::workers::processes::Deadlines;
use contend::ui::Progress;
use contend::units::duration_text;
use contend::workload::model::ClientCount;
use contend::workload::{self, scenario};
use contend_stats::precision::Ns;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub fn http(args: &HttpArgs) -> Result<u8> {
    if args.scenario.iter().any(|text| is_address(text)) {
        let (args, path) = of_addresses(args)?;
        return carry_out(&args, Some(&path));
    }
    if let Some(host) = args.scenario.iter().find(|text| is_host(text)) {
        bail!("{host}: write the address with its scheme, such as http://{host}");
    }
    ensure!(args.scenario.len() == 1, "there can be only one scenario; name several services with --url");
    match args.port.as_slice() {
        [] => carry_out(args, None),
        ports => {
            let url = ports.iter().map(|port| format!("http://127.0.0.1:{port}")).collect();
            carry_out(&HttpArgs { url, ..args.clone() }, None)
        }
    }
}

/// Whether a text is an address without a scheme: `localhost:8080`, or with a path after it.
fn is_host(text: &str) -> bool {
    let Some((host, port)) = text.split('/').next().unwrap_or_default().split_once(':') else { return false };
    !host.is_empty() && port.parse::<u16>().is_ok()
}

pub fn is_address(text: &str) -> bool {
    text.contains("://")
}

/// Arguments in which the addresses of the services are apart from the path of their requests.
fn of_addresses(args: &HttpArgs) -> Result<(HttpArgs, String)> {
    ensure!(args.port.is_empty(), "--port: the address already has a port");
    ensure!(args.url == [URL], "--url: the addresses already name the services");
    let (url, paths): (Vec<String>, Vec<String>) = args.scenario.iter().map(|text| scenario::address(text)).unzip();
    ensure!(
        paths.iter().all(|path| *path == paths[0]),
        "the addresses ask for different paths ({}); services are compared by the same requests",
        paths.join(", ")
    );
    if let Some(name) = secret_in_query(&paths[0]) {
        contend::tell!(
            "The record keeps the address with the value of `{name}`; if it is secret, write a scenario with a [secret], and \
             see \"Passwords\" in docs/http.md."
        );
    }
    Ok((HttpArgs { url, ..args.clone() }, paths[0].clone()))
}

/// The order of another verb for services at addresses. Each is connected to, with the scenario's login.
///
/// # Errors
/// An address or a scenario that cannot be used, or a service that is not there.
pub fn of_services(asked: &OfServices<'_>) -> Result<Order> {
    let order = order_of_services(asked)?;
    let parsed = secret::filled_in(workload::parse(&order.workloads[0])?, &order.secrets)?;
    let place = std::env::temp_dir().join(format!("contend-asks-{}", std::process::id()));
    let found = lists::lists(&place, &parsed, &order.whole.studies[0].contenders, &|| false);
    found.map_err(|e| anyhow!(parsed.secrets.hidden(&format!("{e:#}"))))?;
    Ok(order)
}

fn order_of_services(asked: &OfServices<'_>) -> Result<Order> {
    let line = ["http".to_string()].into_iter().chain(asked.addresses.iter().cloned());
    let (args, path) = of_addresses(&HttpArgs::try_parse_from(line)?)?;
    args.url.iter().try_for_each(|url| check_url(url)).map_err(|e| anyhow!(e))?;
    let label = if let [one] = &args.url[..] { vec![study::place(one).to_string()] } else { vec![] };
    let args = HttpArgs {
        label,
        clients: asked.clients.into_iter().collect(),
        duration: Some(duration_text(asked.window_ns)),
        rounds: Some(asked.rounds),
        seed: asked.seed.unwrap_or(args.seed),
        ca: asked.ca.map(Path::to_path_buf),
        pid: asked.pids.to_vec(),
        set: asked.set.to_vec(),
        ..args
    };
    let written = match asked.scenario {
        None => scenario::of_path(&path),
        Some(name) => {
            ensure!(path == "/", "the scenario {name} has the paths of its requests; leave out {path} of the address");
            scenario::LIBRARY.open(name, |path| read_text(path))?
        }
    };
    let Given { secrets, variables, profile } = given::given(&args, &written)?;
    let source = scenario::filled_in(&scenario::without_defaults(&written, secrets.keys())?, &variables)?;
    let parsed = secret::filled_in(workload::parse(&source)?, &secrets)?;
    ensure!(!parsed.requests.is_empty(), "{}: this file sends no requests, so it is not a scenario", source.name);
    // The scenario's own number is kept, as with contend http.
    let says_none = parsed.roles.iter().any(|role| role.clients == ClientCount::Asked);
    let default = (asked.clients.is_none() && says_none).then_some(asked.clients_default);
    let args = HttpArgs { clients: asked.clients.or(default).into_iter().collect(), ..args };
    ensure!(parsed.asks.is_empty(), "{}: its [setup] asks the service for lists; use contend http", source.name);
    let study = study::study(&args, &parsed, profile, study::contenders(&args, &parsed)?)?;
    let command = parsed.secrets.hidden_in_command(contend::cli::arguments());
    Ok(Order { secrets, ..order(study, source, PathBuf::new(), command) })
}

fn order(study: Study, workload: Source, out: PathBuf, command: Vec<String>) -> Order {
    Order {
        whole: whole(study),
        workloads: vec![workload],
        scenarios: vec![None],
        out,
        command,
        instead: InsteadOf::default(),
        secrets: BTreeMap::new(),
        deadlines: Deadlines::default(),
        allow_tmpfs: true,
        attached: None,
    }
}

/// Carries out a scenario. Without one, every request asks for `path`.
fn carry_out(args: &HttpArgs, path: Option<&str>) -> Result<u8> {
    let stop = stop_on_signals()?;
    let cancelled = || stop.load(Ordering::Relaxed);
    args.url.iter().try_for_each(|url| check_url(url)).map_err(|e| anyhow!("--url: {e}"))?;
    let written = match path {
        Some(path) => scenario::of_path(path),
        None => scenario::LIBRARY.open(&args.scenario[0], |path| read_text(path))?,
    };
    let Given { secrets, variables, profile } = given::given(args, &written)?;
    let source = scenario::filled_in(&scenario::without_defaults(&written, secrets.keys())?, &variables)?;
    let before = secret::filled_in(workload::parse(&source)?, &secrets)?;
    ensure!(
        !before.requests.is_empty(),
        "{}: this file sends no requests, so it is not a scenario; use it with contend run",
        source.name
    );
    let study = study::study(args, &before, profile, study::contenders(args, &before)?)?;
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
    let lists = lists::lists(&out, &before, &study.contenders, &cancelled);
    let lists = lists.map_err(|e| match (path, before.secrets.hidden(&format!("{e:#}"))) {
        (None, why) => anyhow!("{}: {why}", source.name),
        // The user wrote no file.
        (Some(_), why) => anyhow!(why),
    })?;
    let command = before.secrets.hidden_in_command(contend::cli::arguments());
    let with_lists = scenario::with_lists(&source, &lists)?;
    let mut order = Order { secrets, ..order(study, with_lists, out.clone(), command) };
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
        true => json_lines(&out),
        false => conclude(&out, false, args.quiet),
    })
}

/// A study without parts, as a run.
fn whole(study: Study) -> Whole {
    Whole {
        name: study.name.clone(),
        question: study.question.clone(),
        variant: study.variant,
        extent: study.extent,
        studies: vec![study],
    }
}

/// Shows progress without remarks about disk and data, which a service does not have.
fn show(progress: &Progress, note: &Note<'_>) {
    match note {
        Note::Phase(_) => {}
        Note::Prepared { overhead_ns, .. } => {
            progress.show(&Note::Phase(&format!(
                "the client's own cost is {} for a request, without sending it",
                Ns(*overhead_ns)
            )));
        }
        other => progress.show(other),
    }
}

/// A secret is in no record: to resume, the user sets it again in the environment.
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

/// Carries out a study whose record is removed; false if it was stopped.
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
    // This directory may be removed at the end; one that existed before, or belongs to another run, may not.
    std::fs::create_dir(&aside).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => anyhow!(in_the_way(&aside)),
        _ => anyhow!(e).context(format!("cannot create {}", aside.display())),
    })?;
    let out = std::mem::replace(&mut order.out, aside);
    let measured = std::mem::replace(&mut order.whole.studies[0], study);
    // Only progress is shown: the measurements of a warm-up are not a result.
    let ending = run_session(order, cancelled, &|note| {
        if matches!(note, Note::Operations(_)) {
            tell(note);
        }
    });
    std::fs::remove_dir_all(&order.out).with_context(|| format!("cannot remove {}", order.out.display()))?;
    (order.out, order.whole.studies[0]) = (out, measured);
    Ok(!matches!(ending?, Ending::Stopped))
}

/// Prints one line per condition and service. Reasons of invalid trials were printed when the trial ended.
fn json_lines(dir: &Path) -> Result<u8> {
    let record = Record::open(dir)?;
    print(&line::lines(&Findings::new(&record), &requests::sums(&record)?))?;
    Ok(if record.trials.iter().all(|t| t.invalid.is_empty()) { OK } else { INVALID })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_keeps_its_number_of_clients_unless_another_is_typed() {
        let path = std::env::temp_dir().join(format!("contend-scenario-{}.toml", std::process::id()));
        let of = |role: &str, clients: Option<u32>| {
            let text = "[transaction.get]\nkind = \"read\"\n[[transaction.get.step]]\nrequest = \"GET /\"\n";
            std::fs::write(&path, format!("about = \"GET /\"\n{role}{text}")).expect("a file");
            let asked = OfServices {
                addresses: &["http://127.0.0.1:8001/".to_string()],
                rounds: 1,
                clients,
                clients_default: 64,
                window_ns: 1_000_000_000,
                seed: None,
                ca: None,
                pids: &[],
                scenario: path.to_str(),
                set: &[],
            };
            order_of_services(&asked).expect("an order").whole.studies[0].load.clients
        };
        let role = "[role.reader]\nclients = 4\nmix = { get = 1 }\n";
        let found = [of(role, None), of(role, Some(7)), of("", None), of("", Some(7))];
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(found, [None, Some(7), Some(64), Some(7)]);
    }
}
