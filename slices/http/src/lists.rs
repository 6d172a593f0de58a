//! Reads the lists from which later arguments are drawn, before anything is measured.

use anyhow::{Context, Error, Result, anyhow, ensure};
use contend::engine;
use contend::study::model::Contender;
use contend::trial::site::Site;
use contend::trial::workers::admin::{Admin, EngineSaid};
use contend::trial::workers::process::InsteadOf;
use contend::workload::Workload;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Connections, Head, Loop, NowSource, Plan, Retry, Window};
use contend_wire::script::Target;
use std::path::Path;

/// The lists of a scenario, which must be equal on all services.
///
/// # Errors
/// A service cannot be reached, the login fails, an answer lacks an item, or the lists differ between services.
pub fn lists(
    out: &Path,
    workload: &Workload,
    services: &[Contender],
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<(String, Vec<Value>)>> {
    if workload.asks.is_empty() {
        return Ok(vec![]);
    }
    let site = Site::open(out, &InsteadOf::default(), true)?;
    let mut admin = site.admin(cancelled)?;
    let mut lists = vec![];
    for i in 0..workload.asks.len() {
        let (first, others) = services.split_first().context("there is a service")?;
        let (name, values) = list(workload, i, first, &mut admin)?;
        for other in others {
            let (_, theirs) = list(workload, i, other, &mut admin)?;
            ensure!(
                values == theirs,
                "setup.{name}: {} and {} have different lists; give both services the same data",
                first.label,
                other.label
            );
        }
        lists.push((name, values));
    }
    Ok(lists)
}

fn list(workload: &Workload, i: usize, contender: &Contender, admin: &mut Admin<'_>) -> Result<(String, Vec<Value>)> {
    let ask = &workload.asks[i];
    let engine = engine::find(&contender.engine).context("a contender's engine must be known")?;
    let setup = (engine.setup)(&contender.settings);
    let url = setup.service.context("only a service can be asked")?;
    let requests = [workload.requests.as_slice(), std::slice::from_ref(&ask.request)].concat();
    let mut transactions = vec![ask.transaction(workload.requests.len() as u32)];
    workload.secrets.fill(&mut transactions[0].steps);
    let login = workload.login.map(|index| {
        transactions.push(workload.plan_transactions(None).swap_remove(usize::from(index)));
        1
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
    Ok((ask.name.clone(), answer.into_iter().filter_map(|row| row.into_iter().next()).collect()))
}

/// The message of the service's client, without the place in a script that the user did not write.
fn in_its_words(error: Error) -> Error {
    match error.downcast_ref::<EngineSaid>() {
        Some(said) => anyhow!(said.message.clone()),
        None => error,
    }
}
