//! Combines looks: who blocked whom and for how long, open transactions, growth of old versions. Pure, and of bounded
//! size: a client without remarkable events is removed when it disconnects.

use super::look::{Client, Counters, Look, State};
use std::collections::{BTreeMap, BTreeSet};

/// Most statements whose waits are counted, and most clients that are stored.
const KEPT_MAX: usize = 2_000;
/// A client that blocked others or was idle in a transaction for this long is kept.
const WORTH_NS: u64 = 100_000_000;

/// History of one client.
#[derive(Debug, Clone, Default)]
pub struct ClientHistory {
    /// The client as last seen.
    pub client: Client,
    pub last_seen_ns: u64,
    /// Its current or last statement.
    pub statement: Option<String>,
    /// Longest wait for it, with the waiter and the waiter's statement.
    pub blocked_ns: u64,
    pub blocked: BTreeSet<u64>,
    pub waiting: Option<(String, Option<String>)>,
    /// Its own statement at that time; `None` if it was idle in its transaction.
    pub blocked_while_idle: bool,
    /// Longest pause in a transaction.
    pub idle_ns: u64,
    pub transaction_ns: u64,
    /// Its snapshot: transactions since it was taken, and its age.
    pub behind: u64,
    pub snapshot_ns: u64,
}

/// Waits of one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    pub count: u64,
    pub total_ns: u64,
    pub max_ns: u64,
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct History {
    pub from_ns: u64,
    pub now_ns: u64,
    /// Clients of the last look.
    pub clients: Vec<Client>,
    pub first: Option<Counters>,
    pub counters: Counters,
    /// Statements of the last deadlock: as the server reports them, or else of the last circle of waits.
    pub last_deadlock: Vec<String>,
    /// Statements of clients that waited for each other in a circle, when one was last seen.
    circle: Vec<String>,
    /// Number of old versions over time.
    pub old_versions: Vec<(u64, u64)>,
    /// Looks in which autovacuum was running.
    pub vacuums: u64,
    pub of_clients: BTreeMap<u64, ClientHistory>,
    waits: BTreeMap<String, Waits>,
    /// Waits in progress: statement and length so far, by client.
    open_waits: BTreeMap<u64, (String, u64)>,
}

impl History {
    /// An empty history that begins at this time.
    pub fn new(from_ns: u64) -> History {
        History { from_ns, now_ns: from_ns, ..History::default() }
    }

    /// Adds a look. Looks arrive in order.
    pub fn apply(&mut self, look: Look) {
        self.now_ns = self.now_ns.max(look.at_ns);
        if let Some(counters) = look.counters {
            self.old_versions.push((look.at_ns, counters.old_versions));
            if self.old_versions.len() > 2 * KEPT_MAX {
                // Keep every second point, to cover a longer time.
                let mut nth = 0;
                self.old_versions.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
            }
            if !counters.last_deadlock.is_empty() {
                self.last_deadlock.clone_from(&counters.last_deadlock);
            } else if self.first.is_some() && counters.deadlocks > self.counters.deadlocks {
                self.last_deadlock = std::mem::take(&mut self.circle);
            }
            self.first.get_or_insert_with(|| counters.clone());
            self.counters = counters;
        }
        self.vacuums += u64::from(look.clients.iter().any(|client| client.who.contains("autovacuum")));
        self.clients = look.clients;
        for client in &self.clients {
            self.of_clients.entry(client.id).or_default().see(client, self.now_ns);
        }
        // A server may omit the last statement during a pause; it was seen before.
        for client in &mut self.clients {
            if let Some(past) = self.of_clients.get(&client.id) {
                client.statement.clone_from(&past.statement);
            }
        }
        let circle = circle(&self.clients);
        if !circle.is_empty() {
            self.circle = circle;
        }
        self.count_waits();
        self.blame();
        self.forget();
    }

    /// Waits by statement, largest total first.
    pub fn waits(&self) -> Vec<(String, Waits)> {
        let mut all = self.waits.clone();
        for (statement, ns) in self.open_waits.values() {
            all.entry(statement.clone()).or_default().add(*ns);
        }
        let mut all: Vec<(String, Waits)> = all.into_iter().collect();
        all.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.total_ns));
        all
    }

    fn count_waits(&mut self) {
        let mut now: BTreeMap<u64, (String, u64)> = BTreeMap::new();
        for client in &self.clients {
            if let Some(wait) = &client.wait {
                let statement = client.statement.clone().unwrap_or("a statement that is not shown".to_string());
                now.insert(client.id, (statement, wait.ns));
            }
        }
        for (id, (statement, ns)) in std::mem::take(&mut self.open_waits) {
            let goes_on = now.get(&id).is_some_and(|(other, longer)| *other == statement && *longer >= ns);
            if !goes_on && (self.waits.len() < KEPT_MAX || self.waits.contains_key(&statement)) {
                self.waits.entry(statement).or_default().add(ns);
            }
        }
        self.open_waits = now;
    }

    /// Attributes each wait to the client at the root of its chain.
    fn blame(&mut self) {
        let by_id: BTreeMap<u64, &Client> = self.clients.iter().map(|client| (client.id, client)).collect();
        for waiter in &self.clients {
            let Some(wait) = &waiter.wait else { continue };
            for root in roots(waiter, &by_id) {
                let Some(past) = self.of_clients.get_mut(&root) else { continue };
                if past.blocked.len() < KEPT_MAX {
                    past.blocked.insert(waiter.id);
                }
                if wait.ns > past.blocked_ns {
                    past.blocked_ns = wait.ns;
                    past.waiting = Some((waiter.who.clone(), waiter.statement.clone()));
                    past.blocked_while_idle = past.client.state == State::IdleInTransaction;
                }
            }
        }
    }

    fn forget(&mut self) {
        let now_ns = self.now_ns;
        self.of_clients.retain(|_, past| {
            past.last_seen_ns == now_ns || past.blocked_ns.max(past.idle_ns).max(past.snapshot_ns) >= WORTH_NS
        });
        while self.of_clients.len() > 2 * KEPT_MAX {
            let least = self.of_clients.iter().min_by_key(|(_, past)| past.blocked_ns.max(past.idle_ns));
            let Some(id) = least.map(|(id, _)| *id) else { return };
            self.of_clients.remove(&id);
        }
    }
}

impl ClientHistory {
    fn see(&mut self, client: &Client, now_ns: u64) {
        if client.statement.is_some() {
            self.statement.clone_from(&client.statement);
        }
        if client.state == State::IdleInTransaction {
            self.idle_ns = self.idle_ns.max(client.state_ns);
        }
        self.transaction_ns = self.transaction_ns.max(client.transaction_ns.unwrap_or(0));
        if let (Some(behind), Some(ns)) = (client.behind, client.transaction_ns) {
            (self.behind, self.snapshot_ns) = (self.behind.max(behind), self.snapshot_ns.max(ns));
        }
        self.client = client.clone();
        self.last_seen_ns = now_ns;
    }
}

impl Waits {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }
}

/// The blockers at the ends of all chains from a waiter, which do not wait themselves.
fn roots(waiter: &Client, clients: &BTreeMap<u64, &Client>) -> BTreeSet<u64> {
    let blockers = |id: u64| clients.get(&id).and_then(|client| client.wait.as_ref()).map(|wait| &wait.blocked_by);
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::from([waiter.id]));
    let mut next: Vec<u64> = blockers(waiter.id).cloned().unwrap_or_default();
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        match blockers(id) {
            Some(further) => next.extend(further),
            None => _ = found.insert(id),
        }
    }
    found
}

/// Statements of clients that wait for themselves through others. PostgreSQL ends such a circle after a second.
fn circle(clients: &[Client]) -> Vec<String> {
    /// Most waiting clients that are looked at.
    const WAITING_MAX: usize = 200;
    let waiting = clients.iter().filter_map(|client| Some((client.id, &client.wait.as_ref()?.blocked_by)));
    let blockers: BTreeMap<u64, &Vec<u64>> = waiting.take(WAITING_MAX).collect();
    let is_in_circle = |client: &&Client| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![client.id]);
        while let Some(id) = next.pop() {
            let further = blockers.get(&id).into_iter().flat_map(|ids| ids.iter().copied());
            next.extend(further.filter(|id| seen.insert(*id)));
        }
        seen.contains(&client.id)
    };
    clients.iter().filter(is_in_circle).filter_map(|client| client.statement.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::look::Wait;
    use super::*;

    fn client(id: u64, waits: Option<(u64, &[u64])>) -> Client {
        let wait = waits.map(|(ns, by)| Wait { ns, what: "row".into(), blocked_by: by.to_vec() });
        let state = if wait.is_some() { State::Active } else { State::IdleInTransaction };
        Client { id, state, wait, statement: Some(format!("UPDATE t{id}")), ..Client::default() }
    }

    #[test]
    fn a_chain_of_waits_is_that_of_its_root() {
        let mut history = History::new(0);
        let clients = vec![client(1, None), client(2, Some((900, &[1]))), client(3, Some((500, &[2])))];
        history.apply(Look { at_ns: 1, clients, counters: None });
        let past = &history.of_clients[&1];
        assert_eq!((past.blocked_ns, past.blocked.len(), past.blocked_while_idle), (900, 2, true));
        assert_eq!(history.of_clients[&2].blocked_ns, 0, "it waits itself");
    }

    #[test]
    fn a_circle_of_waits_has_no_root_and_ends() {
        let mut history = History::new(0);
        let clients = vec![client(1, Some((5, &[2]))), client(2, Some((5, &[1])))];
        history.apply(Look { at_ns: 1, clients, counters: None });
        assert!(history.of_clients.values().all(|past| past.blocked_ns == 0));
    }

    #[test]
    fn a_wait_is_counted_once_however_often_it_is_seen() {
        let mut history = History::new(0);
        for (at_ns, ns) in [(1, 10), (2, 20), (3, 5)] {
            history.apply(Look { at_ns, clients: vec![client(2, Some((ns, &[])))], counters: None });
        }
        assert_eq!(history.waits(), [("UPDATE t2".to_string(), Waits { count: 2, total_ns: 25, max_ns: 20 })]);
    }

    #[test]
    fn a_client_that_is_gone_and_did_nothing_is_forgotten() {
        let mut history = History::new(0);
        history.apply(Look { at_ns: 1, clients: vec![client(1, None)], counters: None });
        history.apply(Look { at_ns: 2, clients: vec![], counters: None });
        assert!(history.of_clients.is_empty());
    }

    #[test]
    fn the_statements_of_a_deadlock_are_those_of_the_last_circle() {
        let client = |id: u64, blocked_by: &[u64]| Client {
            id,
            statement: Some(format!("UPDATE {id}")),
            wait: Some(Wait { ns: 1, what: "row".into(), blocked_by: blocked_by.to_vec() }),
            state: State::Active,
            ..Client::default()
        };
        let counted = |deadlocks| Some(Counters { deadlocks, ..Counters::default() });
        let mut history = History::new(0);
        history.apply(Look { at_ns: 1, clients: vec![], counters: counted(3) });
        // The third waits for the circle and is not in it.
        let clients = vec![client(1, &[2]), client(2, &[1]), client(3, &[1])];
        history.apply(Look { at_ns: 2, clients, counters: None });
        assert!(history.last_deadlock.is_empty(), "none has been counted");
        history.apply(Look { at_ns: 3, clients: vec![client(2, &[9])], counters: counted(4) });
        assert_eq!(history.last_deadlock, ["UPDATE 1", "UPDATE 2"]);
    }
}
