//! Waits for locks over time: by statement, and those for locks whose holder is not known. Pure, and of bounded size.

use super::look::Client;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most statements and clients whose waits are counted.
const KEPT_MAX: usize = 2_000;
/// Looks in which the holder of a lock must have been missing. Between its two queries of one look a server may have
/// granted the lock.
const LOOKS_MIN: u32 = 2;

/// Waits of one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

/// Waits for locks of one kind whose holder was not known at any time of the wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknown {
    pub clients: BTreeSet<u64>,
    pub longest_ns: u64,
    /// Statement of the longest wait, and who may have held the lock then.
    pub waiting: Option<String>,
    pub candidates: Vec<Candidate>,
}

/// A client that may hold a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    pub client: u64,
    pub who: String,
    pub statement: Option<String>,
}

/// A wait in progress.
#[derive(Debug, Clone)]
struct Open {
    statement: Option<String>,
    what: String,
    ns: u64,
    looks: u32,
    is_known: bool,
    candidates: Vec<Candidate>,
}

/// All waits.
#[derive(Debug, Clone, Default)]
pub struct WaitLog {
    by_statement: BTreeMap<String, Waits>,
    unknown: BTreeMap<String, Unknown>,
    /// By client.
    open: BTreeMap<u64, Open>,
}

impl WaitLog {
    /// Adds the clients of a look.
    pub fn apply(&mut self, clients: &[Client]) {
        let mut before = std::mem::take(&mut self.open);
        for client in clients {
            let Some(wait) = &client.wait else { continue };
            let mut now = Open {
                statement: client.statement.clone(),
                what: wait.what.clone(),
                ns: wait.ns,
                looks: 1,
                is_known: !wait.blocked_by.is_empty(),
                candidates: candidates(&wait.candidates, clients),
            };
            let goes_on = |open: &Open| open.statement == now.statement && open.ns <= now.ns;
            if before.get(&client.id).is_some_and(goes_on)
                && let Some(open) = before.remove(&client.id)
            {
                now.looks += open.looks;
                now.is_known |= open.is_known;
                if now.candidates.is_empty() {
                    now.candidates = open.candidates;
                }
            }
            self.open.insert(client.id, now);
        }
        before.into_iter().for_each(|(client, open)| self.end(client, open));
    }

    /// Waits by statement, largest total first.
    pub fn by_statement(&self) -> Vec<(String, Waits)> {
        let mut all: Vec<(String, Waits)> = self.ended().by_statement.into_iter().collect();
        all.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.total_ns));
        all
    }

    /// Waits for locks whose holder is not known, by the kind of lock.
    pub fn unknown(&self) -> BTreeMap<String, Unknown> {
        self.ended().unknown
    }

    /// As if the waits in progress had ended.
    fn ended(&self) -> WaitLog {
        let mut all = self.clone();
        std::mem::take(&mut all.open).into_iter().for_each(|(client, open)| all.end(client, open));
        all
    }

    fn end(&mut self, client: u64, open: Open) {
        let statement = open.statement.clone().unwrap_or("a statement that is not shown".to_string());
        if self.by_statement.len() < KEPT_MAX || self.by_statement.contains_key(&statement) {
            let waits = self.by_statement.entry(statement).or_default();
            waits.count += 1;
            waits.total_ns += open.ns;
            waits.max_ns = waits.max_ns.max(open.ns);
        }
        let has_room = self.unknown.len() < KEPT_MAX || self.unknown.contains_key(&open.what);
        if open.is_known || open.looks < LOOKS_MIN || !has_room {
            return;
        }
        let unknown = self.unknown.entry(open.what).or_default();
        if unknown.clients.len() < KEPT_MAX {
            unknown.clients.insert(client);
        }
        if open.ns > unknown.longest_ns {
            unknown.longest_ns = open.ns;
            (unknown.waiting, unknown.candidates) = (open.statement, open.candidates);
        }
    }
}

fn candidates(ids: &[u64], clients: &[Client]) -> Vec<Candidate> {
    let of =
        |client: &Client| Candidate { client: client.id, who: client.who.clone(), statement: client.statement.clone() };
    clients.iter().filter(|client| ids.contains(&client.id)).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::look::Wait;
    use super::*;

    fn waits(id: u64, ns: u64, blocked_by: &[u64]) -> Client {
        let wait = Some(Wait { ns, what: "row".into(), blocked_by: blocked_by.to_vec(), candidates: vec![] });
        Client { id, wait, statement: Some(format!("UPDATE t{id}")), ..Client::default() }
    }

    fn log(looks: &[Client]) -> WaitLog {
        let mut log = WaitLog::default();
        looks.iter().for_each(|client| log.apply(std::slice::from_ref(client)));
        log
    }

    #[test]
    fn a_wait_is_counted_once_however_often_it_is_seen() {
        let log = log(&[waits(2, 10, &[]), waits(2, 20, &[]), waits(2, 5, &[])]);
        assert_eq!(log.by_statement(), [("UPDATE t2".to_string(), Waits { count: 2, total_ns: 25, max_ns: 20 })]);
    }

    /// A server grants a lock between its answers about waits and about holders.
    #[test]
    fn a_holder_is_not_known_only_if_it_was_missing_in_all_of_several_looks() {
        let longest = |looks: &[Client]| log(looks).unknown().get("row").map(|unknown| unknown.longest_ns);
        assert_eq!(longest(&[waits(2, 10, &[]), waits(2, 20, &[])]), Some(20));
        assert_eq!(longest(&[waits(2, 10, &[]), waits(2, 20, &[]), waits(3, 5, &[])]), Some(20), "it has ended");
        assert_eq!(longest(&[waits(2, 10, &[7]), waits(2, 20, &[]), waits(2, 30, &[])]), None);
        assert_eq!(longest(&[waits(2, 20, &[])]), None);
        assert_eq!(longest(&[waits(2, 20, &[]), waits(2, 10, &[])]), None, "two waits");
    }
}
