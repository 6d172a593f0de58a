//! Asks every service before anything is measured: whether it is there, and for the lists from which later arguments are drawn.

use anyhow::{Context, Error, Result, anyhow, ensure};
use contend::engine;
use contend::study::model::Contender;
use contend::trial::site::Site;
use contend::trial::workers::admin::{Admin, EngineSaid};
use contend::trial::workers::process::InsteadOf;
use contend::trial::workers::refusal::FIX_SERVICE;
use contend::workload::Workload;
use contend::workload::scenario::Ask;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Connections, Head, Loop, NowSource, Plan, Retry, Transaction, Window};
use contend_wire::script::Target;
use std::path::Path;

/// The lists of a scenario, which must be equal on all services. Without one, each service is connected to, with a login if the
/// scenario has one.
///
/// # Errors
/// A service cannot be reached, the login fails, an answer lacks an item, or the lists differ between services.
pub fn lists(
    out: &Path,
    workload: &Workload,
    services: &[Contender],
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<(String, Vec<Value>)>> {
    let site = Site::open(out, &InsteadOf::default(), true)?;
    let mut admin = site.admin(cancelled)?;
    if workload.asks.is_empty() {
        for service in services {
            list(workload, None, service, &mut admin).map_err(|why| anyhow!("{why:#}. {FIX_SERVICE}"))?;
        }
    }
    let mut lists = vec![];
    for ask in &workload.asks {
        let (first, others) = services.split_first().context("there is a service")?;
        let (name, values) = (&ask.name, list(workload, Some(ask), first, &mut admin)?);
        for other in others {
            ensure!(
                values == list(workload, Some(ask), other, &mut admin)?,
                "setup.{name}: {} and {} have different lists; give both services the same data",
                first.label,
                other.label
            );
        }
        lists.push((name.clone(), values));
    }
    Ok(lists)
}

/// The list that a service answers with; without a request for one, the service is only connected to and logged in at.
fn list(workload: &Workload, ask: Option<&Ask>, contender: &Contender, admin: &mut Admin<'_>) -> Result<Vec<Value>> {
    let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
    let setup = (engine.setup)(&contender.settings);
    let url = setup.service.context("only a service can be asked")?;
    let requests = workload.requests.iter().chain(ask.map(|ask| &ask.request)).cloned().collect();
    let asks = ask.map(|ask| ask.transaction(workload.requests.len() as u32));
    let mut transactions: Vec<Transaction> = asks.into_iter().collect();
    transactions.iter_mut().for_each(|transaction| workload.secrets.fill(&mut transaction.steps));
    let login = workload.login.map(|index| {
        transactions.push(workload.plan_transactions(None).swap_remove(usize::from(index)));
        transactions.len() as u16 - 1
    });
    let client = Client {
        id: 0,
        database: 0,
        load: Loop::Closed,
        cyclic: false,
        limit: 0,
        start_ns: 0,
        operations: vec![],
        arguments: vec![],
    };
    let head = Head {
        worker: 0,
        window: Window { run_in_ns: 0, length_ns: 0, drain_ns: 0 },
        now: NowSource::Clock,
        driver: contender.driver.clone(),
        model: contender.model.clone(),
        connections: Connections::Client,
        options: setup.options,
        databases: vec![Database::Service(url.clone())],
        session: vec![],
        readbacks: vec![],
        statements: vec![],
        requests,
        texts: vec![],
        transactions,
        login,
        retry: Retry::never(),
    };
    let plan = Plan { head, clients: vec![client] };
    let target =
        Target { driver: contender.driver.clone(), database: Database::Service(url), options: vec![], session: vec![] };
    let answer = admin.sql(&target, [plan.encode()]).map_err(in_its_words)?.swap_remove(0);
    Ok(answer.into_iter().filter_map(|row| row.into_iter().next()).collect())
}

/// The message of the service's client, without the place in a script that the user did not write.
fn in_its_words(error: Error) -> Error {
    match error.downcast_ref::<EngineSaid>() {
        Some(said) => anyhow!(said.message.clone()),
        None => error,
    }
}
