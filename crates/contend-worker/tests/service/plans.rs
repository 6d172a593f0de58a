//! Plans of requests, for the tests.

use contend_wire::database::Database;
use contend_wire::plan::http::{HttpStep, Request};
use contend_wire::plan::{Plan, Source, Step, Transaction};
use std::path::Path;

/// A plan on a service, with one request and a transaction that sends it.
pub fn get(url: &str, target: &str) -> Plan {
    let mut p = crate::common::plan(Path::new("none"));
    p.head.databases = vec![Database::Service(url.into())];
    (p.head.driver, p.head.model) = ("http".into(), "events".into());
    p.head.connections = contend_wire::plan::Connections::Client;
    add(&mut p, request("GET", target), vec![]);
    p
}

pub fn step(request: u32, args: Vec<Source>) -> HttpStep {
    HttpStep { request, status: vec![(200, 200)], refused: vec![], count: None, keep: vec![], args }
}

/// A request without headers and body.
pub fn request(method: &str, target: &str) -> Request {
    Request { method: method.into(), target: target.into(), body: None, headers: vec![] }
}

/// Adds a request and a transaction that sends it; the transaction's number.
pub fn add(p: &mut Plan, request: Request, args: Vec<Source>) -> u16 {
    p.head.requests.push(request);
    let number = p.head.requests.len() as u32 - 1;
    transaction(p, vec![Step::Http(step(number, args))])
}

pub fn transaction(p: &mut Plan, steps: Vec<Step>) -> u16 {
    let name = format!("t{}", p.head.transactions.len());
    p.head.transactions.push(Transaction { name, writes: false, begin: None, uniques: 1, slots: 2, steps });
    p.head.transactions.len() as u16 - 1
}

pub fn http(p: &mut Plan, transaction: u16) -> &mut HttpStep {
    match &mut p.head.transactions[usize::from(transaction)].steps[0] {
        Step::Http(step) => step,
        other => panic!("{other:?}"),
    }
}
