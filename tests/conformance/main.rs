//! Every worker carries out the same plans and must come to the same samples and the same data. The cases are
//! in `conformance/`, the workers in `conformance/workers.rs`.

mod beside;
mod case;
mod closing;
mod expect;
mod hikari;
mod memory;
mod rules;
mod servers;
mod serving;
mod short;
#[path = "../support/mod.rs"]
mod support;
mod worker;
mod workers;

use beside::side_by_side;
use case::{Case, Kind, Section, cases, fill};
use contend::engine::Fails as Known;
use contend_wire::handshake::{Facts, fact};
use contend_wire::plan::{Connections, Plan};
use contend_wire::script::Reply;
use rules::{Checked, Problem, hold};
use sha2::{Digest, Sha256};
use short::{brackets, complete, question};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use support::workers::needed;
use support::{root, tool};
use worker::{Ran, Worker};
use workers::{ENTRIES, Entry, SERVER_ENTRIES};

/// Workers that run side by side; most cases wait rather than work.
const SIDE_BY_SIDE: usize = 4;
/// The same on a server, where the cases on SQLite may go on meanwhile.
const ON_A_SERVER: usize = 3;

/// `SQLITE_CANTOPEN`.
const CANTOPEN: u32 = 14;

impl From<String> for Problem {
    fn from(words: String) -> Self {
        Problem::Wrong(words)
    }
}

/// Carries out one case with one worker.
struct Conversation<'a> {
    worker: &'a mut Worker,
    /// Also reports the data, for comparison.
    witness: &'a mut Worker,
    entry: &'a Entry,
    values: Vec<(&'static str, String)>,
    /// The last answer to a script or a plan that no section has looked at yet.
    reply: Option<Result<String, String>>,
    sessions: Option<Result<Vec<Facts>, String>>,
    plan: Option<Plan>,
}

impl Conversation<'_> {
    fn carry_out(&mut self, case: &Case) -> Checked {
        for (i, section) in case.sections.iter().enumerate() {
            let next = case.sections.get(i + 1).map(|s| s.kind);
            let done = self.section(section, next);
            let at = format!("{}.case:{}: ", case.name, section.line);
            done.map_err(|problem| match problem {
                Problem::Wrong(words) => Problem::Wrong(at + &words),
            })?;
        }
        Ok(())
    }

    fn section(&mut self, section: &Section, next: Option<Kind>) -> Checked {
        let text = self.text(section, &self.values);
        match section.kind {
            Kind::Script => {
                self.reply = Some(self.script(section)?);
                if !matches!(next, Some(Kind::Reply | Kind::Failed)) {
                    let reply = self.reply.take();
                    let failed = |r: &String| r.starts_with("error\t") || r.contains("\nerror\t");
                    let fine = |r: &Result<String, String>| r.as_ref().is_ok_and(|r| !failed(r));
                    hold!(reply.as_ref().is_some_and(fine), "the script must succeed: {reply:?}");
                }
                Ok(())
            }
            Kind::Reply => reply(&text, self.reply.take()),
            Kind::Plan => self.plan(&text, next),
            Kind::Session => session(section, self.sessions.take()),
            Kind::Samples => self.samples(section),
            Kind::State => self.state(section),
            Kind::Failed => {
                let reason = match (self.reply.take(), self.sessions.take()) {
                    (Some(Err(reason)), _) | (_, Some(Err(reason))) => reason,
                    (reply, sessions) => {
                        let words = text.trim_end();
                        return Err(format!("must be refused as `{words}`: {reply:?} {sessions:?}").into());
                    }
                };
                let missing = text.lines().find(|words| !reason.contains(words));
                hold!(missing.is_none(), "`{reason}` does not say `{}`", missing.unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Has a script carried out by the worker or, if it has no scripts, by the witness.
    fn script(&mut self, section: &Section) -> Result<Result<String, String>, Problem> {
        if self.entry.has_scripts() {
            return Ok(self.worker.script(&self.text(section, &self.values))?);
        }
        let mut values = self.values.clone();
        let driver = values.iter_mut().filter(|(name, _)| *name == "driver");
        driver.for_each(|(_, value)| *value = self.entry.witness().to_string());
        Ok(self.witness.script(&complete(&fill(&section.text, &values), brackets(self.entry.engine)))?)
    }

    /// What a section says, as the tool would write it.
    fn text(&self, section: &Section, values: &[(&'static str, String)]) -> String {
        let text = self.entry.in_its_words(&fill(&section.text, values));
        match section.kind {
            Kind::Plan | Kind::Script => complete(&text, brackets(self.entry.engine)),
            _ => text,
        }
    }

    fn plan(&mut self, text: &str, next: Option<Kind>) -> Checked {
        let answer = self.worker.plan(text)?;
        if next != Some(Kind::Failed) {
            let plan = Plan::decode(text).map_err(|e| format!("the case is wrong: {e}"))?;
            let sessions = match &answer {
                Ok(sessions) => sessions,
                Err(reason) => return Err(format!("the plan is refused: {reason}").into()),
            };
            check_sessions(&plan, sessions, self.entry)?;
            self.plan = Some(plan);
        }
        self.sessions = Some(answer);
        Ok(())
    }

    fn samples(&mut self, section: &Section) -> Checked {
        let plan = self.plan.take().expect("a plan before the samples");
        let stop = section.argument.strip_prefix("stop ").map(|ms| ms.parse().expect("milliseconds"));
        let ran: Ran = self.worker.run(stop.map(Duration::from_millis))?;
        let measured = fact(&self.worker.hello, "lock_wait") == Some("measured");
        rules::check(&plan, &ran, measured, stop.is_some())?;
        expect::check(&section.lines().collect::<Vec<_>>(), &ran)
    }

    /// The rows of queries, as a hash over their text in a reply: the worker and the witness must agree.
    fn state(&mut self, section: &Section) -> Checked {
        let database = fill(&section.argument, &self.values);
        let mut wrong = String::new();
        for line in section.lines() {
            let (expected, sql) = line.split_once('\t').expect("HASH and query, separated by a tab");
            let witness = rows(self.witness, self.entry.witness(), &database, sql)?;
            if self.entry.has_scripts() {
                let own = rows(self.worker, self.entry.driver, &database, sql)?;
                hold!(own == witness, "{sql}: the worker reads\n{own}\nthe witness\n{witness}");
            }
            let found = hash(&witness);
            if found != expected {
                let shown: String = witness.chars().take(2_000).collect();
                wrong.push_str(&format!("\n{sql}: expected {expected}, found {found}:\n{shown}"));
            }
        }
        hold!(wrong.is_empty(), "{wrong}");
        Ok(())
    }
}

/// The rows of a query, as they stand in a reply.
fn rows(worker: &mut Worker, driver: &str, database: &str, sql: &str) -> Result<String, Problem> {
    let reply = worker.script(&question(driver, database, sql))?.map_err(|e| format!("{sql}: {e}"))?;
    let reply = Reply::decode(&reply).map_err(|e| format!("{sql}: {e}"))?;
    hold!(reply.error.is_none(), "{sql}: {:?}", reply.error);
    // Written again, as a real can be written in several ways.
    let reply = reply.encode();
    let lines: Vec<&str> = reply.lines().filter(|line| line.starts_with("row\t")).collect();
    Ok(lines.join("\n"))
}

/// The number of rows and the first half of their SHA-256.
fn hash(rows: &str) -> String {
    let digest = Sha256::digest(rows.as_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{}:{hex}", rows.lines().count())
}

/// One line per connection that is open.
fn check_sessions(plan: &Plan, sessions: &[Facts], entry: &Entry) -> Checked {
    let databases: BTreeSet<u32> = plan.clients.iter().map(|c| c.database).collect();
    match plan.head.connections {
        Connections::Client => {
            let told: Vec<_> = sessions.iter().map(|s| fact(s, "client").unwrap_or("none").to_string()).collect();
            let ids: Vec<_> = plan.clients.iter().map(|c| c.id.to_string()).collect();
            hold!(told == ids, "sessions of the clients {told:?}, the plan has {ids:?}");
        }
        Connections::Database => {
            let expected = databases.len() * entry.opens;
            hold!(sessions.len() == expected, "{} sessions for {expected} connections", sessions.len());
        }
    }
    let missing = sessions.iter().find(|s| plan.head.readbacks.iter().any(|r| fact(s, &r.name).is_none()));
    hold!(missing.is_none(), "a setting was not read back: {missing:?}");
    let timeout = entry.engine != "sqlite" || sessions.iter().all(|s| fact(s, "busy_timeout").is_some());
    hold!(timeout, "`busy_timeout` must be told: {sessions:?}");
    Ok(())
}

/// What every connection must have reported.
fn session(section: &Section, sessions: Option<Result<Vec<Facts>, String>>) -> Checked {
    let sessions = sessions.expect("a plan before its sessions")?;
    for line in section.lines() {
        let (name, value) = line.split_once('=').expect("NAME=VALUE");
        let other = sessions.iter().find(|s| fact(s, name) != Some(value));
        hold!(other.is_none(), "{line} was expected of every connection, found {other:?}");
    }
    Ok(())
}

/// Replies are equal if they say the same; of an error's message the expected words must be in it, however
/// they are written.
fn reply(expected: &str, found: Option<Result<String, String>>) -> Checked {
    let found = found.expect("a script before its reply")?;
    let decode = |text: &str| Reply::decode(text).map_err(|e| format!("{e}: {text}"));
    let (mut wanted, mut said) = (decode(expected)?, decode(&found)?);
    if let (Some(wanted), Some(said)) = (&mut wanted.error, &mut said.error) {
        let words = wanted.message.to_lowercase();
        hold!(said.message.to_lowercase().contains(&words), "`{}` does not say `{}`", said.message, wanted.message);
        wanted.message.clone_from(&said.message);
        // A library may know more exactly why a file cannot be opened.
        if (wanted.code, said.code & 0xff) == (CANTOPEN, CANTOPEN) {
            wanted.code = said.code;
        }
    }
    hold!(wanted.encode() == said.encode(), "expected\n{expected}found\n{found}");
    Ok(())
}

/// Cases with one worker; what went wrong.
fn put_to_the_test(
    entry: &Entry,
    command: &[String],
    cases: &[Case],
    scratch: &Path,
    new_database: &mut dyn FnMut(&Path) -> String,
) -> Vec<String> {
    let (mut problems, mut tried) = (vec![], BTreeSet::new());
    let witness = Worker::start(&[tool().to_string(), "worker".into()], &scratch.join("witness.log")).expect("ours");
    if let Err(words) = Worker::start(command, &scratch.join("start.log")) {
        return vec![format!("{}: {words}", entry.name())];
    }
    let mut setting = Setting { entry, command, worker: None, witness, scratch };
    for case in cases {
        if case.needs.iter().any(|need| entry.lacks.contains(&need.as_str())) {
            continue;
        }
        let found = one_case(&mut setting, case, new_database);
        let known = entry.known.iter().find(|known| known.case == case.name);
        problems.extend(problem(found, known, &case.name).map(|words| format!("{}: {words}", entry.name())));
        tried.insert(case.name.as_str());
    }
    for known in entry.known.iter().filter(|known| !tried.contains(known.case)) {
        let words = "is listed as a known failure and is not put to the test";
        problems.push(format!("{}: {} {words}", entry.name(), known.case));
    }
    problems
}

/// What is wrong with the outcome of a case: an unknown failure, or a known failure that did not occur.
fn problem(found: Result<(), String>, known: Option<&Known>, case: &str) -> Option<String> {
    match (found, known) {
        (Ok(()), None) => None,
        (Ok(()), Some(_)) => Some(format!("{case} is listed as a known failure and passes")),
        (Err(words), None) => Some(words),
        (Err(words), Some(known)) => {
            let missing = known.says.iter().find(|part| !words.contains(*part))?;
            Some(format!("{case} is known to fail as {}, but this does not say `{missing}`: {words}", known.reason))
        }
    }
}

/// What all cases of one worker share.
struct Setting<'s> {
    entry: &'s Entry,
    command: &'s [String],
    /// None after it failed, until the next case.
    worker: Option<Worker>,
    witness: Worker,
    scratch: &'s Path,
}

/// One case, tried once: its bounds hold on a machine four times slower.
fn one_case(
    setting: &mut Setting<'_>,
    case: &Case,
    new_database: &mut dyn FnMut(&Path) -> String,
) -> Result<(), String> {
    let Setting { entry, command, worker, witness, scratch } = setting;
    let dir = scratch.join(&case.name);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    if worker.is_none() {
        *worker = Some(Worker::start(command, &dir.join("worker.log"))?);
    }
    let mut conversation = Conversation {
        worker: worker.as_mut().expect("started"),
        witness,
        entry,
        values: values(entry, &dir, new_database(&dir)),
        reply: None,
        sessions: None,
        plan: None,
    };
    let found = conversation.carry_out(case);
    let _ = std::fs::remove_dir_all(&dir);
    found.map_err(|Problem::Wrong(words)| {
        // Unfinished work must not disturb the next case.
        *worker = None;
        words
    })
}

fn values(entry: &Entry, dir: &Path, database: String) -> Vec<(&'static str, String)> {
    let sharing = if entry.connections == Connections::Client { "client" } else { "database" };
    let options: String = entry.options.iter().map(|(name, value)| format!("option\t{name}\t{value}\n")).collect();
    vec![
        ("dir", dir.display().to_string()),
        ("database", database),
        ("driver", entry.driver.to_string()),
        ("model", entry.model.to_string()),
        ("connections", sharing.to_string()),
        ("options", options),
    ]
}

/// The database of a case on SQLite.
fn in_file(dir: &Path) -> String {
    dir.join("a.db").display().to_string()
}

/// The workers of a server's engine on one private server; every case has its own database.
fn on_a_server(engine: &str) {
    let bench = support::Bench::new();
    let only = std::env::var("CONTEND_CONFORMANCE").unwrap_or_default();
    let cases = servers::cases_of(&root().join("conformance/servers"), engine);
    let chosen: Vec<&Entry> =
        SERVER_ENTRIES.iter().filter(|e| e.engine == engine && e.name().contains(&only)).collect();
    let mut problems = vec![];
    servers::with_server(engine, &bench, ON_A_SERVER, |new_database| {
        // Databases are made here, by a user with the right to, for all callers.
        let (asked, asking) = channel::<Sender<String>>();
        problems = std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                side_by_side(ON_A_SERVER, &chosen, &bench, asked, |asked, entry, command, scratch| {
                    let mut database = |_: &Path| {
                        let (answer, answered) = channel();
                        asked.send(answer).expect("somebody makes databases");
                        answered.recv().expect("a database")
                    };
                    put_to_the_test(entry, command, &cases, scratch, &mut database)
                })
            });
            for answer in asking {
                let _ = answer.send(new_database(bench.dir.path()));
            }
            work.join().expect("no panic")
        });
    });
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    bench.assert_nothing_left();
}

#[test]
fn every_worker_of_postgres_comes_to_the_same_samples_and_data() {
    on_a_server("postgres");
}

#[test]
fn every_worker_of_mariadb_comes_to_the_same_samples_and_data() {
    on_a_server("mariadb");
}

#[test]
fn every_worker_comes_to_the_same_samples_and_data() {
    let bench = support::Bench::new();
    let only = std::env::var("CONTEND_CONFORMANCE").unwrap_or_default();
    let chosen: Vec<&Entry> = ENTRIES.iter().filter(|e| e.name().contains(&only)).collect();
    let problems = side_by_side(SIDE_BY_SIDE, &chosen, &bench, (), |(), entry, command, scratch| {
        let all = cases(&root().join("conformance").join(entry.engine));
        put_to_the_test(entry, command, &all, scratch, &mut in_file)
    });
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// Some cases cannot be written in its dialect: a driver with another dialect on SQLite is also compared with the
/// others by the results of a workload.
#[test]
fn a_driver_with_a_dialect_of_its_own_comes_to_the_same_data() {
    if needed("contend-worker-php-mysql-on-sqlite").is_none() {
        return;
    }
    let bench = support::Bench::new();
    let words = ["verify", "wordpress", "--operations", "200", "--contender", "sqlite/mysql-on-sqlite", "--out"];
    let done = std::process::Command::new(tool()).args(words).arg(bench.path("verify")).output().expect("it starts");
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("The same everywhere"), "{said}");
    bench.assert_nothing_left();
}

/// The Rust worker's problems with one case, spoilt by a fault of `workers/fake` or not.
fn problems_of(case: &str, fault: &str, known: &'static [Known]) -> Vec<String> {
    let bench = support::Bench::new();
    let folder = root().join("conformance/sqlite");
    let entry = Entry { known, ..ENTRIES[0] };
    let fake = root().join("workers/fake/fake.py").display().to_string();
    let real = format!("{} worker", tool());
    let command = ["python3", &fake, "--real", &real, "--fault", fault, "--sql", "DELETE FROM t"];
    let case = Case::parse(&folder.join(format!("{case}.case")));
    put_to_the_test(&entry, &command.map(str::to_string), &[case], bench.dir.path(), &mut in_file)
}

#[test]
fn a_worker_that_lies_does_not_pass() {
    assert_eq!(problems_of("retry", "none", &[]), Vec::<String>::new());
    // Each fault is found for what it is, not for a side effect or because it could not be planted. The reason for
    // which a lost sample is missed (`|`) depends on the sample.
    let faults = [
        ("settings", "setting", "synchronous=3 was expected of every connection"),
        ("settings", "missing-session", "sessions of the clients [\"5\", \"3\"]"),
        ("retry", "refuse", "told to refuse the plan"),
        ("retry", "clock", "answered `clock`"),
        ("retry", "die-after-done", "retry.case:33: closed its output"),
        ("retry", "cut-samples", "which are not whole samples"),
        ("retry", "broken-samples", "code space 99 is unknown"),
        ("retry", "backwards", "before it started"),
        ("retry", "lost-samples", "was next|due at|not tried again"),
        ("retry", "extra-samples", "was next"),
        ("retry", "wrong-transaction", "the plan has transaction"),
        ("retry", "unknown-client", "samples of a client that is not in the plan"),
        ("open-loop", "clock-in-task", "}: due at"),
        ("retry", "exhausted", "`done` says exhausted"),
        ("retry", "corrupt-data", "found 0:"),
        ("retry", "nothing", "}: tried again"),
        ("values", "rounds-integers", "i9007199254740992"),
        ("codes", "swallows", "expected `0 0 0 1:sqlite:1555 1`, found `0 0 0 ok 1`"),
    ];
    let mut wrong = String::new();
    for (case, fault, words) in faults {
        let problems = problems_of(case, fault, &[]);
        if problems.len() != 1 || !words.split('|').any(|words| problems[0].contains(words)) {
            wrong.push_str(&format!("\n{case}, {fault}: expected `{words}`, found {problems:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_known_failure_that_is_another_or_none_is_told() {
    const fn known(case: &'static str, says: &'static [&'static str]) -> Known {
        Known { case, says, reason: "it tells another total" }
    }
    const KNOWN: &[Known] = &[known("retry", &["`done` says exhausted="])];
    const OTHER: &[Known] = &[known("retry", &["`done` says exhausted=", "an eclipse"])];
    const GONE: &[Known] = &[known("no-case", &["`done` says exhausted="])];
    assert_eq!(problems_of("retry", "exhausted", KNOWN), Vec::<String>::new());
    for (fault, known, told) in [
        ("none", KNOWN, "known failure and passes"),
        ("refuse", KNOWN, "does not say ``done` says exhausted=`"),
        ("exhausted", OTHER, "does not say `an eclipse`"),
        ("none", GONE, "no-case is listed as a known failure and is not put to the test"),
    ] {
        let problems = problems_of("retry", fault, known);
        assert!(problems.len() == 1 && problems[0].contains(told), "{told}: {problems:?}");
    }
}
