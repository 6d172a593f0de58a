//! Connects every client and logs it in before the start, a few at a time, as people would arrive.

use crate::attempt::Failed;
use crate::http::events::{Client, Events};
use crate::http::said::cropped;
use crate::kept::Kept;
use anyhow::{Result, anyhow, bail};
use contend_wire::plan::{Plan, Step};
use contend_wire::sample::{CodeSpace, code_to_sqlstate, worker_code};

/// Most logins at once.
const AT_ONCE: usize = 8;
/// Longest wait of the loop, because a client may finish without an event.
const LOOK_AGAIN_NS: u64 = 5_000_000;
/// Most bytes of an answer that are shown.
const SHOWN_BYTES: usize = 300;

/// Connects every client, and logs it in if the plan has a login.
///
/// # Errors
/// The client that failed, and why.
pub(super) fn log_in(events: &mut Events<'_>) -> Result<()> {
    let login = events.plan().head.login;
    let (mut begun, mut running) = (0, vec![]);
    loop {
        while running.len() < AT_ONCE && begun < events.clients.len() {
            events.start_once(begun, login);
            running.push(begun);
            begun += 1;
        }
        if running.is_empty() {
            return Ok(());
        }
        events.round(Some(LOOK_AGAIN_NS))?;
        let mut still = vec![];
        for i in running {
            match events.take_once(i) {
                None => still.push(i),
                Some(Ok(())) => {
                    let client = &mut events.clients[i];
                    std::mem::swap(&mut client.session, &mut client.kept);
                }
                Some(Err(failed)) => {
                    let what = if login.is_some() { "the login failed" } else { "cannot connect" };
                    bail!(in_words(events, i, what, login, failed));
                }
            }
        }
        running = still;
    }
}

/// Carries out a transaction once with the first client; returns the kept values.
pub(super) fn carry_out_once(mut events: Events<'_>, transaction: u16) -> Result<Kept> {
    events.start_once(0, Some(transaction));
    loop {
        events.round(Some(LOOK_AGAIN_NS))?;
        match events.take_once(0) {
            None => {}
            Some(Ok(())) => return Ok(std::mem::take(&mut events.clients[0].kept)),
            Some(Err(failed)) => {
                let name = &events.plan().head.transactions[usize::from(transaction)].name;
                let words = in_words(&events, 0, &format!("`{name}` failed"), Some(transaction), failed);
                return Err(anyhow!(words));
            }
        }
    }
}

/// The message for a client that failed before the start.
fn in_words(events: &Events<'_>, i: usize, what: &str, transaction: Option<u16>, failed: Failed) -> String {
    let client = &events.clients[i];
    let mut words = format!("client {}, {}: {what}", events.plan().clients[client.index].id, client.service().url);
    if let Some(request) = transaction.and_then(|t| request_line(events.plan(), t, failed.step)) {
        words += &format!(": {request}");
    }
    let insecure = client.insecure.as_ref().map(|why| format!("TLS: {why}"));
    words += &format!(": {}", insecure.unwrap_or_else(|| code_in_words(failed)));
    words + &said(client)
}

fn request_line(plan: &Plan, transaction: u16, step: u16) -> Option<String> {
    match plan.head.transactions.get(usize::from(transaction))?.steps.get(usize::from(step))? {
        Step::Http(http) => {
            let request = &plan.head.requests[http.request as usize];
            Some(format!("{} {}", request.method, request.target))
        }
        _ => None,
    }
}

fn code_in_words(failed: Failed) -> String {
    let (space, code) = (failed.failure.space, failed.failure.code);
    match (space, code) {
        (CodeSpace::Http, status) => format!("status {status}"),
        (CodeSpace::Os, errno) => std::io::Error::from_raw_os_error(errno as i32).to_string(),
        (CodeSpace::Worker, worker_code::ROWS) => "more or fewer elements than the plan allows".to_string(),
        (CodeSpace::Worker, worker_code::NOT_KEPT) => "the answer lacks a value that is to be kept".to_string(),
        (CodeSpace::Worker, worker_code::VALUE) => "a value that cannot be written where it belongs".to_string(),
        (CodeSpace::Worker, _) => "the answer is not HTTP, not JSON, cut short, or longer than 64 MiB".to_string(),
        (CodeSpace::Sqlstate, code) => format!("SQLSTATE {}", code_to_sqlstate(code)),
        (space, code) => format!("{} {code}", space.word()),
    }
}

/// The service's answer.
fn said(client: &Client<'_>) -> String {
    let body = client.reader().body();
    if body.is_empty() { String::new() } else { format!("; it answered: {}", cropped(body, SHOWN_BYTES)) }
}
