//! Plans of a trial: drawn once per round and condition and shared by all contenders. Only the head depends on a
//! contender's settings.

use crate::check::answers::TrialAnswers;
use crate::engine::{self, Engine, Setup};
use crate::load::Load;
use crate::record::model::Slot;
use crate::study::model::{Condition, Contender, Study};
use crate::study::seed_of_round;
use crate::trial::over_http::{self, Asking};
use crate::trial::server::attached;
use crate::units::hex;
use crate::workload::sql::asked;
use crate::workload::{DrawRequest, DrawnWorker, Workload, rows_to_load};
use anyhow::{Context, Error, Result, anyhow};
use contend_wire::database::Database;
use contend_wire::digest::Digest;
use contend_wire::plan::http::Request;
use contend_wire::plan::{Client, Connections, Head, Loop, NowSource, Plan, Readback, Transaction, Window};
use contend_wire::statement::Statement;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The operations drawn for one round under one condition.
pub struct DrawnRound {
    pub seed: u64,
    pub load: Load,
    pub workers: Vec<DrawnWorker>,
    pub planned: BTreeMap<String, u64>,
    /// SHA-256 of the operations of all workers.
    pub sha256: String,
    texts: Vec<String>,
    /// The encoded clients of each worker.
    bodies: Vec<Arc<[u8]>>,
    /// Rows that reads returned to the contenders so far, by trial.
    pub answers: Arc<Mutex<Vec<TrialAnswers>>>,
}

/// The part of a plan that is in the contender's dialect.
pub struct Sql<'w> {
    pub statements: Vec<Statement>,
    pub requests: &'w [Request],
    pub login: Option<u16>,
    pub transactions: Vec<Transaction>,
    pub now: NowSource,
}

impl<'w> Sql<'w> {
    /// The SQL of a workload in the contender's dialect. Servers begin every transaction in one way, whichever of
    /// SQLite's the workload names.
    pub fn of(workload: &'w Workload, engine: &Engine, setup: &Setup) -> Self {
        let mut transactions = workload.plan_transactions(setup.begin_write.as_deref());
        let one_way = match &workload.translated {
            _ if engine.server.is_some() => Some(setup.begin_write.clone()),
            // A driver with its own dialect translates this itself.
            Some(_) => Some(Some("BEGIN".to_string())),
            None => None,
        };
        if let Some(begin) = one_way {
            let begun = transactions.iter_mut().filter(|transaction| transaction.begin.is_some());
            begun.for_each(|transaction| transaction.begin.clone_from(&begin));
        }
        Self {
            statements: workload.plan_statements(),
            requests: &workload.requests,
            login: workload.login,
            transactions,
            now: NowSource::Clock,
        }
    }
}

/// How a contender's settings are applied and read back: on a private server, or on one that contend did not start.
pub fn setup_of(engine: &'static Engine, contender: &Contender, on_attached: bool) -> Setup {
    let executes_nothing = engine::driver(contender).is_some_and(|driver| driver.executes_nothing);
    let mut setup = match on_attached && !executes_nothing {
        true => match attached::setup_of(engine, &contender.settings) {
            setup if setup.only_read => setup,
            setup => engine::with_drivers_own(contender, setup),
        },
        false => engine::setup_of(engine, contender),
    };
    engine::app::add_settings(engine, contender, &mut setup);
    setup
}

/// Keeps the round drawn last: contenders of a round follow one another.
#[derive(Default)]
pub struct Plans {
    last: Option<((u32, usize), Arc<DrawnRound>)>,
}

impl Plans {
    /// The drawn round of a slot.
    pub fn of(&mut self, study: &Study, workload: &Workload, slot: Slot) -> Result<Arc<DrawnRound>> {
        let key = (slot.round, slot.condition);
        if let Some((found, round)) = &self.last
            && *found == key
        {
            return Ok(Arc::clone(round));
        }
        let round = Arc::new(draw(study, workload, slot)?);
        self.last = Some((key, Arc::clone(&round)));
        Ok(round)
    }

    /// Forgets the answers of the round drawn last, before it runs again: only the second trials count.
    pub fn forget_answers(&self) {
        if let Some((_, round)) = &self.last {
            round.answers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

/// Whether everything that a study needs under a condition can be drawn and loaded, without drawing it.
pub fn check(study: &Study, condition: usize, workload: &Workload) -> Result<()> {
    let (condition, load) = under(study, condition);
    workload.check_draw(&request(condition, &load, load.seed))?;
    rows_to_load(workload, load.scale).map(drop)
}

/// Whether every contender can open the databases of a condition as often as its clients need.
///
/// # Errors
/// A contender that cannot, and what to do.
pub fn check_connections(study: &Study, condition: usize, workload: &Workload) -> Result<()> {
    let (condition, load) = under(study, condition);
    let processes = workload.databases_by_process(&request(condition, &load, load.seed))?;
    for contender in &study.contenders {
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let setup = engine::setup_of(engine, contender);
        one_connection_each(contender, &setup, &processes)
            .map_err(|e| anyhow!("{e}; --only runs the other contenders without it"))?;
    }
    Ok(())
}

/// Whether the contender opens no database twice, where data is in memory; `processes` has the databases of each
/// process's clients.
fn one_connection_each(contender: &Contender, setup: &Setup, processes: &[Vec<u32>]) -> Result<(), String> {
    if engine::is_over_http(contender) {
        return match processes.iter().flatten().collect::<BTreeSet<_>>().len() {
            0 | 1 => Ok(()),
            // An app has a site for each database.
            _ if engine::is_app(contender) => Ok(()),
            databases => Err(format!(
                "{}: a worker serves one database over HTTP, the workload uses {databases}",
                contender.name
            )),
        };
    }
    let shared = engine::model(contender).is_some_and(|model| model.connections == Connections::Database);
    let of_process = |clients: &Vec<u32>| match shared {
        true => clients.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
        false => clients.clone(),
    };
    let mut seen = BTreeSet::new();
    match processes.iter().flat_map(of_process).find(|database| !seen.insert(*database)) {
        Some(database) if setup.one_connection => Err(format!(
            "{} would open database {database} more than once, and data in memory is there for one connection only: use \
             one process, and a model whose clients share the connection or one client per database",
            contender.name
        )),
        _ => Ok(()),
    }
}

fn under(study: &Study, condition: usize) -> (&Condition, Load) {
    let condition = &study.conditions[condition];
    (condition, study.load.under(&condition.axes))
}

fn request<'a>(condition: &'a Condition, load: &'a Load, seed: u64) -> DrawRequest<'a> {
    DrawRequest { seed, scale: load.scale, profile: condition.profile.as_deref(), load, axes: &condition.axes }
}

fn draw(study: &Study, workload: &Workload, slot: Slot) -> Result<DrawnRound> {
    let (condition, load) = under(study, slot.condition);
    let seed = seed_of_round(load.seed, slot.round);
    let drawn = workload.draw_clients(&request(condition, &load, seed))?;
    let mut hash = Sha256::new();
    let bodies: Vec<Arc<[u8]>> = drawn
        .workers
        .iter()
        .map(|worker| {
            let mut text = String::new();
            worker.clients.iter().for_each(|client| client.encode_into(&mut text));
            hash.update(text.as_bytes());
            hash.update(b"end\n");
            Arc::from(text.into_bytes())
        })
        .collect();
    Ok(DrawnRound {
        seed,
        load,
        workers: drawn.workers,
        planned: named(workload, drawn.planned),
        sha256: hex(&hash.finalize()),
        texts: drawn.texts,
        bodies,
        answers: Arc::default(),
    })
}

fn databases_used(worker: &DrawnWorker) -> usize {
    worker.clients.iter().map(|client| client.database).collect::<BTreeSet<_>>().len()
}

/// Planned operations by name of the transaction; empty for a closed loop.
fn named(workload: &Workload, planned: Option<Vec<u64>>) -> BTreeMap<String, u64> {
    let names = workload.transactions.iter().map(|t| t.name.clone());
    planned.map_or(BTreeMap::new(), |counts| names.zip(counts).collect())
}

impl DrawnRound {
    /// The plan of the first client alone, in a closed loop without pauses, for this number of operations.
    pub fn single_client(&self, operations: u32) -> DrawnRound {
        let mut client = self.workers[0].clients[0].clone();
        (client.load, client.cyclic, client.limit, client.start_ns) = (Loop::Closed, true, operations, 0);
        client.operations.iter_mut().for_each(|op| op.offset_ns = 0);
        let mut body = String::new();
        client.encode_into(&mut body);
        DrawnRound {
            seed: self.seed,
            load: Load {
                window_ns: 0,
                run_in_ns: 0,
                operations: Some(operations),
                rate_per_s: None,
                ..self.load.clone()
            },
            workers: vec![DrawnWorker { clients: vec![client], ..self.workers[0].clone() }],
            planned: BTreeMap::new(),
            sha256: String::new(),
            texts: self.texts.clone(),
            bodies: vec![Arc::from(body.into_bytes())],
            answers: Arc::default(),
        }
    }

    /// The same operations in a shorter window, without a run-in.
    pub fn for_window(&self, window_ns: u64) -> DrawnRound {
        DrawnRound {
            seed: self.seed,
            load: Load { window_ns, run_in_ns: 0, operations: None, ..self.load.clone() },
            workers: self.workers.clone(),
            planned: self.planned.clone(),
            sha256: self.sha256.clone(),
            texts: self.texts.clone(),
            bodies: self.bodies.clone(),
            answers: Arc::default(),
        }
    }

    /// The plan of the first process alone.
    pub fn of_one_worker(mut self) -> DrawnRound {
        self.workers.truncate(1);
        self.bodies.truncate(1);
        self
    }

    /// Number of connections that the workers open for a contender.
    pub fn connections(&self, contender: &Contender) -> usize {
        let Some(model) = engine::model(contender) else { return 0 };
        if engine::is_over_http(contender) {
            // The serving worker opens them; with one connection per client it opens one to try it out.
            return model.opens(&contender.settings) as usize;
        }
        let sharing: usize = match model.connections {
            Connections::Client => self.clients().count(),
            Connections::Database => self.workers.iter().map(databases_used).sum(),
        };
        sharing * model.opens(&contender.settings) as usize
    }

    /// Whether the contender opens no database twice, where data is in memory.
    ///
    /// # Errors
    /// The database that it would open twice.
    pub fn one_connection_each(&self, contender: &Contender, setup: &Setup) -> Result<(), String> {
        let databases = |worker: &DrawnWorker| worker.clients.iter().map(|client| client.database).collect();
        one_connection_each(contender, setup, &self.workers.iter().map(databases).collect::<Vec<_>>())
    }

    /// The texts that arguments refer to by number.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.workers.iter().flat_map(|worker| &worker.clients)
    }

    /// The plan of every worker, in pieces: its head, then its clients. For a service the addresses are those of the
    /// service.
    pub fn encode(
        &self,
        contender: &Contender,
        setup: &Setup,
        sql: &Sql<'_>,
        databases: &[Database],
    ) -> Result<Vec<Vec<Arc<[u8]>>>> {
        let service = setup.service.as_ref().map(|url| vec![Database::Service(url.clone()); databases.len()]);
        self.with_bodies(self.head(contender, setup, sql, service.as_deref().unwrap_or(databases))?)
    }

    /// Checks the plans; workers rely on it.
    fn with_bodies(&self, mut head: Head) -> Result<Vec<Vec<Arc<[u8]>>>> {
        head.check().map_err(unsound)?;
        let mut plans = vec![];
        for (number, (worker, body)) in self.workers.iter().zip(&self.bodies).enumerate() {
            worker.clients.iter().try_for_each(|client| head.check_client(client)).map_err(unsound)?;
            head.worker = number as u32;
            let opening = head.encode(worker.clients.len());
            let mut digest = Digest::default();
            digest.update(opening.as_bytes());
            digest.update(body);
            let end = Arc::from(digest.end_line().into_bytes());
            plans.push(vec![Arc::from(opening.into_bytes()), Arc::clone(body), end]);
        }
        Ok(plans)
    }

    /// The plan of the serving worker: everything except clients.
    pub fn encode_server(
        &self,
        contender: &Contender,
        setup: &Setup,
        sql: &Sql<'_>,
        databases: &[Database],
    ) -> Result<String> {
        let head = self.head(contender, setup, sql, databases)?;
        head.check().map_err(unsound)?;
        Ok(Plan { head, clients: vec![] }.encode())
    }

    /// The plans of its HTTP clients: other heads, the same operations.
    pub fn encode_http(
        &self,
        contender: &Contender,
        setup: &Setup,
        sql: &Sql<'_>,
        asking: &Asking<'_>,
    ) -> Result<Vec<Vec<Arc<[u8]>>>> {
        let with_rows = engine::driver(contender).is_some_and(|driver| !driver.executes_nothing);
        let head = self.head(contender, setup, sql, &[])?;
        let head = match &asking.hosts {
            None => over_http::derived(head, asking, with_rows),
            Some(hosts) => over_http::asked(head, asking, hosts)?,
        };
        self.with_bodies(head)
    }

    fn head(&self, contender: &Contender, setup: &Setup, sql: &Sql<'_>, databases: &[Database]) -> Result<Head> {
        let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
        let readbacks = setup.readbacks.iter().filter(|r| !r.sql.is_empty());
        Ok(Head {
            worker: 0,
            window: Window {
                run_in_ns: self.load.run_in_ns,
                length_ns: self.load.window_ns,
                drain_ns: self.load.drain_ns,
            },
            now: sql.now,
            driver: contender.driver.clone(),
            model: contender.model.clone(),
            connections: engine::model(contender).context("a contender's model must be known")?.connections,
            options: setup.options.clone(),
            databases: databases.to_vec(),
            session: setup.session.iter().map(|sql| asked(sql)).collect(),
            readbacks: readbacks.map(|r| Readback { name: r.name.clone(), sql: r.sql.clone() }).collect(),
            statements: sql.statements.clone(),
            requests: sql.requests.to_vec(),
            texts: self.texts.clone(),
            transactions: sql.transactions.clone(),
            login: sql.login,
            retry: engine.retry(&contender.settings),
        })
    }
}

/// An error for a plan that no worker could carry out: a bug of the tool.
fn unsound(message: String) -> Error {
    anyhow!("the plan is not sound: {message}")
}
