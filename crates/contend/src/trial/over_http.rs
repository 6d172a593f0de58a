//! The plan of HTTP clients, derived from that of the database: the same operations with the same arguments, each a
//! request for the transaction of that name.

use crate::engine::{REQUEST_TIMEOUT, Setup, app};
use crate::study::model::Contender;
use crate::trial::server::secrets::random_text;
use crate::workload::Asked;
use anyhow::{Context as _, Result};
use contend_wire::database::Database;
use contend_wire::plan::http::{Count, HttpStep, Request};
use contend_wire::plan::{Connections, Head, Source, Step, Transaction};

/// The driver and model that send requests.
const DRIVER: &str = "http";
const MODEL: &str = "events";
/// Event loops of a client process.
pub const THREADS: u32 = 1;
/// In a window a request has no timeout of its own: the end of the drain ends it.
const TIMEOUT_MS_IN_WINDOW: u32 = 600_000;
/// Timeout outside a window, where nothing else ends a request without an answer.
const TIMEOUT_MS: u32 = 30_000;

/// Option of a serving worker's plan: the secret that every request must carry.
const SECRET: &str = "secret";
/// Header that carries the secret.
const SECRET_HEADER: &str = "contend-secret";

/// The setup of a serving worker with a random secret that its clients must send, because every user of the machine can
/// connect to its port.
///
/// # Errors
/// The system has no random numbers.
pub fn guarded(setup: &Setup) -> Result<(Setup, String)> {
    let (mut setup, secret) = (setup.clone(), random_text()?);
    setup.options.push((SECRET.to_string(), secret.clone()));
    Ok((setup, secret))
}

/// Where clients send their requests.
pub struct Asking<'s> {
    pub url: &'s str,
    /// Secret that the server requires in each request.
    pub secret: Option<&'s str>,
    /// What clients of an app send.
    pub asked: Option<&'s Asked>,
    /// Host header for each database of an app.
    pub hosts: Option<Vec<String>>,
    /// Longest wait for an answer, if it is set.
    pub timeout_ms: Option<u32>,
}

/// The head of a plan for clients of an app, which send the requests of a scenario.
///
/// # Errors
/// There is no scenario.
pub fn asked(head: Head, asking: &Asking<'_>, hosts: &[String]) -> Result<Head> {
    let asked = asking.asked.context("an app needs a scenario that says what its clients send")?;
    let mut options = options(&head, asking.timeout_ms);
    options.push((app::HOST.to_string(), hosts.join(",")));
    Ok(Head {
        options,
        databases: vec![Database::Service(asking.url.to_string()); hosts.len()],
        requests: asked.requests.iter().map(|request| with_secret(request.clone(), asking.secret)).collect(),
        transactions: asked.transactions.clone(),
        login: asked.login,
        ..plain(head)
    })
}

/// Removes the SQL from a head: plans of this driver have none.
fn plain(head: Head) -> Head {
    Head {
        driver: DRIVER.to_string(),
        model: MODEL.to_string(),
        connections: Connections::Client,
        session: vec![],
        readbacks: vec![],
        statements: vec![],
        ..head
    }
}

/// The longest wait for an answer in the contender's settings.
pub fn timeout_ms(contender: &Contender) -> Option<u32> {
    contender.settings.get(REQUEST_TIMEOUT)?.parse().ok().filter(|ms| *ms > 0)
}

fn options(head: &Head, timeout_ms: Option<u32>) -> Vec<(String, String)> {
    let default_ms = if head.window.length_ns > 0 { TIMEOUT_MS_IN_WINDOW } else { TIMEOUT_MS };
    [("threads", THREADS), ("timeout_ms", timeout_ms.unwrap_or(default_ms))]
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .to_vec()
}

/// The head of a plan for clients that request the transactions of `head` at a URL. Rows are counted only if the driver
/// behind it returns any.
pub fn derived(head: Head, asking: &Asking<'_>, with_rows: bool) -> Head {
    let requests = head.transactions.iter().map(|transaction| request(transaction, asking.secret)).collect();
    let transactions = head.transactions.iter().zip(0..).map(|(t, number)| over_http(t, number, with_rows)).collect();
    let options = options(&head, asking.timeout_ms);
    Head { options, databases: vec![Database::Service(asking.url.to_string())], requests, transactions, ..plain(head) }
}

fn request(transaction: &Transaction, secret: Option<&str>) -> Request {
    let arguments = (0..transaction.arguments_needed()).map(|i| format!("p{i}={{v}}"));
    let uniques = (0..transaction.uniques).map(|i| format!("u{i}={{v}}"));
    let query: Vec<String> = arguments.chain(uniques).collect();
    let name = percent_encoded(&transaction.name);
    let target = if query.is_empty() { format!("/{name}") } else { format!("/{name}?{}", query.join("&")) };
    with_secret(Request { method: "GET".to_string(), target, body: None, headers: vec![] }, secret)
}

fn with_secret(mut request: Request, secret: Option<&str>) -> Request {
    request.headers.extend(secret.map(|secret| (SECRET_HEADER.to_string(), secret.to_string())));
    request
}

fn over_http(transaction: &Transaction, request: u32, with_rows: bool) -> Transaction {
    let arguments = (0..transaction.arguments_needed()).map(|i| Source::Argument { first: i as u16, stride: 0 });
    let uniques = (0..transaction.uniques).map(|i| Source::Unique { first: i, stride: 0 });
    let step = HttpStep {
        request,
        status: vec![(200, 200)],
        refused: vec![],
        count: rows(transaction).filter(|_| with_rows),
        keep: vec![],
        args: arguments.chain(uniques).collect(),
    };
    Transaction { begin: None, slots: 0, steps: vec![Step::Http(step)], ..transaction.clone() }
}

/// The rows that a read transaction must return. Rows that a write transaction changes are not in the answer; the
/// serving worker compares them with the plan.
fn rows(transaction: &Transaction) -> Option<Count> {
    if transaction.writes {
        return None;
    }
    let (mut rows_min, mut rows_max) = (0u32, 0u32);
    for step in &transaction.steps {
        let Step::Sql(sql) = step else { continue };
        rows_min = rows_min.saturating_add(sql.rows_min.saturating_mul(sql.repeat));
        // A saturated product means no bound.
        rows_max = rows_max.saturating_add(sql.rows_max.saturating_mul(sql.repeat));
    }
    Some(Count { pointer: "/rows".to_string(), rows_min, rows_max })
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::digest::sealed;
    use contend_wire::plan::{ANY_ROWS, Plan};

    const PLAN: &str = "contend-plan 3\nworker\t0\ndriver\tmodernc\tpool\nconnections\tdatabase\n\
        window\t1\t2\t3\nnow\tclock\noption\tpool_size\t4\ndatabase\tfile\ta.db\nsession\trows\tPRAGMA x\n\
        statement\t0\trows\t32,35\tSELECT a FROM t WHERE b IN (?, ?)\nstatement\t1\tchanges\t22,25,28\tINSERT INTO t VALUES (?, ?, ?)\n\
        transaction\t0\tread one\tread\t-\t0\t0\t2\nstep\tsql\t0\t1..2\t2\t-\tp0+2\tp1+2\n\
        step\tsql\t0\t0..*\t1\t-\ti1\tp0+0\n\
        transaction\t1\tadd\twrite\tBEGIN\t2\t0\t1\nstep\tsql\t1\t1..1\t2\t-\tu0+1\tp0+0\tc1000\n\
        retry\t3\t-\t-\tsqlite:5\nclients\t0\nend\n";

    #[test]
    fn every_transaction_becomes_one_request() {
        let head = Plan::decode(&sealed(PLAN)).unwrap().head;
        let asking =
            Asking { url: "http://127.0.0.1:1", secret: Some("s"), asked: None, hosts: None, timeout_ms: None };
        let derived = derived(head, &asking, true);
        let targets: Vec<&str> = derived.requests.iter().map(|request| request.target.as_str()).collect();
        assert_eq!(targets, ["/read%20one?p0={v}&p1={v}&p2={v}&p3={v}", "/add?p0={v}&u0={v}&u1={v}"]);
        let Step::Http(read) = &derived.transactions[0].steps[0] else { panic!("a request") };
        let count = Count { pointer: "/rows".to_string(), rows_min: 2, rows_max: ANY_ROWS };
        assert_eq!((&read.count, read.args.len()), (&Some(count), 4));
        let Step::Http(add) = &derived.transactions[1].steps[0] else { panic!("a request") };
        assert_eq!((&add.count, add.args.len(), &derived.transactions[1].begin), (&None, 3, &None));
        let plan = Plan { head: derived, clients: vec![] };
        assert_eq!(Plan::decode(&plan.encode()).unwrap(), plan, "it is a plan that workers accept");
        assert_eq!(plan.head.retry.tries, 3);
    }
}
