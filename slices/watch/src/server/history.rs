//! Combines looks: who blocked whom and for how long, open transactions, growth of old versions. Pure, and of bounded
//! size: a client without remarkable events is removed when it disconnects.

use super::look::{Client, Counters, Look, State};
use super::waits::WaitLog;
use crate::words::time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most clients that are stored.
const KEPT_MAX: usize = 2_000;
/// Longest time between two looks, in intervals, that needs no word.
const GAPS_MAX: u32 = 4;
/// A client that blocked others or was idle in a transaction for this long is kept.
const WORTH_NS: u64 = 100_000_000;

/// History of one client.
#[derive(Debug, Clone, Default)]
pub struct ClientHistory {
    /// The client as last seen, with its last statement if that is known.
    pub client: Client,
    pub last_seen_ns: u64,
    /// Waits for it while it was idle in its transaction, and otherwise.
    pub while_idle: Blocked,
    pub while_not_idle: Blocked,
    /// Longest pause in a transaction, and the statement before it.
    pub pause: (u64, Option<String>),
    /// The oldest transaction that its snapshot keeps, and since when it was seen to be that one.
    keeps: Option<(u64, u64)>,
    /// When its snapshot was the oldest of the server and furthest behind.
    pub snapshot: Option<Snapshot>,
}

/// Waits for a client in one of its states, and the client at the time of the longest.
#[derive(Debug, Clone, Default)]
pub struct Blocked {
    pub clients: BTreeSet<u64>,
    pub longest_ns: u64,
    /// Statement of the waiter.
    pub waiting: Option<String>,
    /// Statement that the client executed then; the last one if it was idle.
    pub statement: Option<String>,
    pub transaction_ns: u64,
    /// Its longest time in that state while a client waited for it, and its statement then.
    pub longest_state: (u64, Option<String>),
}

/// The oldest snapshot of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub at_ns: u64,
    pub open_ns: u64,
    /// Transactions since.
    pub behind: u64,
    pub statement: Option<String>,
}

/// Number of a client, and when it connected.
type Key = (u64, u64);

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct History {
    pub from_ns: u64,
    pub now_ns: u64,
    /// Number of looks, and the longest time between two.
    pub looks: u64,
    pub longest_gap_ns: u64,
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
    pub of_clients: BTreeMap<Key, ClientHistory>,
    /// Dead rows of each table when it was first seen.
    pub first_dead: BTreeMap<String, u64>,
    pub waits: WaitLog,
}

impl History {
    /// An empty history that begins at this time.
    pub fn new(from_ns: u64) -> History {
        History { from_ns, now_ns: from_ns, ..History::default() }
    }

    /// Adds a look. Looks arrive in order.
    pub fn apply(&mut self, look: Look) {
        let now_ns = self.now_ns.max(look.at_ns);
        self.longest_gap_ns = self.longest_gap_ns.max(now_ns - self.now_ns);
        (self.now_ns, self.looks) = (now_ns, self.looks + 1);
        let mut is_counted = false;
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
            for (table, dead, _) in &counters.tables {
                if self.first_dead.len() < KEPT_MAX {
                    self.first_dead.entry(table.clone()).or_insert(*dead);
                }
            }
            self.first.get_or_insert_with(|| counters.clone());
            self.counters = counters;
            is_counted = true;
        }
        self.vacuums += u64::from(look.clients.iter().any(|client| client.who.contains("autovacuum")));
        self.clients = look.clients;
        for client in &self.clients {
            self.of_clients.entry(key(client)).or_default().see(client, self.now_ns);
        }
        // A server may omit the last statement during a pause; it was seen before.
        for client in &mut self.clients {
            if let Some(past) = self.of_clients.get(&key(client)) {
                client.statement.clone_from(&past.client.statement);
            }
        }
        let circle = circle(&self.clients);
        if !circle.is_empty() {
            self.circle = circle;
        }
        self.waits.apply(&self.clients);
        self.blame();
        if is_counted {
            self.look_for_oldest();
        }
        self.forget();
    }

    /// What is too short to be seen, if a look is meant to come this often. The queries of a look take long where many clients
    /// wait or the processors are busy.
    pub fn unseen(&self, every: Duration) -> String {
        let mean_ns = (self.now_ns - self.from_ns).checked_div(self.looks).unwrap_or(0);
        let longest = Duration::from_nanos(self.longest_gap_ns);
        if longest <= every * GAPS_MAX {
            return format!("waits and pauses shorter than {} ms", every.as_millis());
        }
        format!(
            "waits and pauses shorter than the time between two looks (on average {}, at most {}): the queries took long, and \
             longer waits can be reported too short by as much",
            time(mean_ns),
            time(self.longest_gap_ns)
        )
    }

    /// Attributes each wait to the client at the root of its chain.
    fn blame(&mut self) {
        let by_id: BTreeMap<u64, &Client> = self.clients.iter().map(|client| (client.id, client)).collect();
        for waiter in &self.clients {
            let Some(wait) = &waiter.wait else { continue };
            for root in roots(waiter, &by_id) {
                let Some(root) = by_id.get(&root) else { continue };
                let Some(past) = self.of_clients.get_mut(&key(root)) else { continue };
                let is_idle = root.state == State::IdleInTransaction;
                let blocked = if is_idle { &mut past.while_idle } else { &mut past.while_not_idle };
                if blocked.clients.len() < KEPT_MAX {
                    blocked.clients.insert(waiter.id);
                }
                if root.state_ns > blocked.longest_state.0 {
                    blocked.longest_state = (root.state_ns, root.statement.clone());
                }
                if wait.ns > blocked.longest_ns {
                    blocked.longest_ns = wait.ns;
                    blocked.waiting.clone_from(&waiter.statement);
                    blocked.statement.clone_from(&root.statement);
                    blocked.transaction_ns = root.transaction_ns.unwrap_or(0);
                }
            }
        }
    }

    /// Notes the client that keeps the oldest rows. A running transaction makes the snapshots of all others old, so it
    /// alone is the cause, and a prepared one as well; among snapshots of the same age the one open for longest.
    fn look_for_oldest(&mut self) {
        let in_transaction =
            self.clients.iter().filter_map(|client| Some((client, client.behind?, client.transaction_ns?)));
        let oldest = in_transaction.max_by_key(|(client, behind, ns)| (*behind, client.oldest.1, *ns));
        let Some((client, behind, _)) = oldest else { return };
        let keepers = self.counters.keepers.iter().filter(|keeper| keeper.is_transaction);
        if keepers.map(|keeper| keeper.behind).max().is_some_and(|of_keeper| of_keeper >= behind) {
            return;
        }
        let at_ns = self.now_ns;
        let Some(past) = self.of_clients.get_mut(&key(client)) else { return };
        let open_ns = past.keeps.map_or(0, |(_, since_ns)| at_ns.saturating_sub(since_ns));
        let is_longest = past.snapshot.as_ref().is_none_or(|known| (behind, open_ns) >= (known.behind, known.open_ns));
        if is_longest {
            past.snapshot = Some(Snapshot { at_ns, open_ns, behind, statement: client.statement.clone() });
        }
    }

    fn forget(&mut self) {
        let now_ns = self.now_ns;
        self.of_clients.retain(|_, past| past.last_seen_ns == now_ns || past.worth_ns() >= WORTH_NS);
        while self.of_clients.len() > 2 * KEPT_MAX {
            let least = self.of_clients.iter().min_by_key(|(_, past)| past.worth_ns());
            let Some(key) = least.map(|(key, _)| *key) else { return };
            self.of_clients.remove(&key);
        }
    }
}

fn key(client: &Client) -> Key {
    (client.id, client.began)
}

impl ClientHistory {
    fn see(&mut self, client: &Client, now_ns: u64) {
        // During a pause MariaDB shows no statement; its number says whether it is still the one that was seen.
        let is_same = client.statement.is_none() && client.query == self.client.query;
        let statement = if is_same { self.client.statement.take() } else { client.statement.clone() };
        if client.state == State::IdleInTransaction && client.state_ns > self.pause.0 {
            self.pause = (client.state_ns, statement.clone());
        }
        self.keeps = client.behind.and(client.transaction_ns).map(|transaction_ns| match self.keeps {
            Some((known, since_ns)) if known == client.oldest.0 => {
                (known, since_ns.max(now_ns.saturating_sub(transaction_ns)))
            }
            // Since when is unknown: no later than its statement or pause began.
            None => (client.oldest.0, now_ns.saturating_sub(client.state_ns.min(transaction_ns))),
            Some(_) => (client.oldest.0, now_ns),
        });
        self.client = Client { statement, ..client.clone() };
        self.last_seen_ns = now_ns;
    }

    /// What makes it remarkable: the longest of its times.
    fn worth_ns(&self) -> u64 {
        let of_snapshot = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.open_ns);
        [self.while_idle.longest_ns, self.while_not_idle.longest_ns, self.pause.0, of_snapshot]
            .into_iter()
            .fold(0, u64::max)
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
        let wait = waits.map(|(ns, by)| Wait { ns, what: "row".into(), blocked_by: by.to_vec(), ..Wait::default() });
        let state = if wait.is_some() { State::Active } else { State::IdleInTransaction };
        Client { id, state, wait, statement: Some(format!("UPDATE t{id}")), ..Client::default() }
    }

    #[test]
    fn a_chain_of_waits_is_that_of_its_root() {
        let mut history = History::new(0);
        let clients = vec![client(1, None), client(2, Some((900, &[1]))), client(3, Some((500, &[2])))];
        history.apply(Look { at_ns: 1, clients, counters: None });
        let past = &history.of_clients[&(1, 0)];
        assert_eq!((past.while_idle.longest_ns, past.while_idle.clients.len()), (900, 2));
        assert_eq!(past.while_not_idle.longest_ns, 0);
        assert_eq!(history.of_clients[&(2, 0)].while_not_idle.longest_ns, 0, "it waits itself");
    }

    #[test]
    fn looks_that_came_late_are_said() {
        let every = Duration::from_millis(50);
        let unseen = |at_ms: &[u64]| {
            let mut history = History::new(0);
            at_ms.iter().for_each(|ms| history.apply(Look { at_ns: ms * 1_000_000, ..Look::default() }));
            history.unseen(every)
        };
        assert_eq!(unseen(&[50, 110, 300]), "waits and pauses shorter than 50 ms");
        let late = unseen(&[50, 110, 4_410]);
        assert!(late.contains("(on average 1.47 s, at most 4.30 s)"), "{late}");
    }

    /// What it does later is not what the others waited for.
    #[test]
    fn the_statement_of_a_blocker_is_that_of_the_longest_wait() {
        let mut history = History::new(0);
        let blocker = |sql: &str, state, state_ns| {
            let (statement, transaction_ns) = (Some(sql.to_string()), Some(state_ns));
            Client { id: 1, state, state_ns, transaction_ns, statement, ..Client::default() }
        };
        let mut at_ns = 0;
        let mut look = |clients: Vec<Client>| {
            at_ns += 1;
            history.apply(Look { at_ns, clients, counters: None });
        };
        look(vec![blocker("UPDATE big", State::Active, 700), client(2, Some((600, &[1])))]);
        look(vec![blocker("COMMIT", State::Active, 5), client(2, None)]);
        look(vec![blocker("SELECT x", State::IdleInTransaction, 20), client(2, Some((10, &[1])))]);
        let past = &history.of_clients[&(1, 0)];
        let of = |blocked: &Blocked| {
            (blocked.statement.clone().unwrap_or_default(), blocked.longest_ns, blocked.transaction_ns)
        };
        assert_eq!(of(&past.while_not_idle), ("UPDATE big".to_string(), 600, 700));
        assert_eq!(of(&past.while_idle), ("SELECT x".to_string(), 10, 20));
    }

    #[test]
    fn a_client_with_the_number_of_an_earlier_one_inherits_nothing() {
        let mut history = History::new(0);
        let blocker = |began| Client { began, ..client(1, None) };
        history.apply(Look { at_ns: 1, clients: vec![blocker(5), client(2, Some((900, &[1])))], counters: None });
        history.apply(Look { at_ns: 2, clients: vec![blocker(6)], counters: None });
        assert_eq!(history.of_clients[&(1, 6)].while_idle.longest_ns, 0);
    }

    #[test]
    fn a_statement_that_is_not_shown_is_the_last_one_only_if_its_number_is_the_same() {
        let mut history = History::new(0);
        let mut shown = |statement: Option<&str>, query| {
            let statement = statement.map(str::to_string);
            let client = Client { id: 1, state: State::IdleInTransaction, statement, query, ..Client::default() };
            history.apply(Look { at_ns: query, clients: vec![client], counters: None });
            history.clients[0].statement.clone()
        };
        assert_eq!(shown(Some("UPDATE a"), 7).as_deref(), Some("UPDATE a"));
        assert_eq!(shown(None, 7).as_deref(), Some("UPDATE a"));
        assert_eq!(shown(None, 8), None, "one that was not seen");
    }

    #[test]
    fn only_the_oldest_transaction_makes_snapshots_old() {
        let counters = |keepers| Some(Counters { keepers, ..Counters::default() });
        let snapshot = |id, oldest: (u64, bool), behind, age_ns| {
            let (behind, transaction_ns) = (Some(behind), Some(age_ns));
            Client { behind, oldest, transaction_ns, state_ns: age_ns, ..client(id, None) }
        };
        let blamed = |clients: Vec<Client>, keepers| {
            let mut history = History::new(0);
            history.apply(Look { at_ns: 100, clients, counters: counters(keepers) });
            history
                .of_clients
                .iter()
                .filter(|(_, past)| past.snapshot.is_some())
                .map(|((id, _), _)| *id)
                .collect::<Vec<_>>()
        };
        let all =
            || vec![snapshot(1, (40, false), 9, 99), snapshot(2, (40, true), 9, 50), snapshot(3, (44, false), 5, 80)];
        assert_eq!(blamed(all(), vec![]), [2], "it has written; the first has only seen that");
        assert_eq!(blamed(vec![snapshot(1, (40, false), 9, 50), snapshot(2, (40, false), 9, 60)], vec![]), [2]);
        let keeper =
            |is_transaction| vec![super::super::look::Keeper { name: String::new(), behind: 9, is_transaction }];
        assert_eq!(blamed(all(), keeper(true)), [0; 0], "the prepared one is as old");
        assert_eq!(blamed(all(), keeper(false)), [2]);
    }

    /// READ COMMITTED: each statement has another snapshot.
    #[test]
    fn a_snapshot_is_as_old_as_the_time_for_which_it_was_the_same() {
        let mut history = History::new(0);
        let mut open_ns = |at_ns, oldest| {
            let (behind, transaction_ns) = (Some(2_000), Some(at_ns));
            let client = Client { behind, oldest: (oldest, false), transaction_ns, state_ns: 1, ..client(1, None) };
            history.apply(Look { at_ns, clients: vec![client], counters: Some(Counters::default()) });
            history.of_clients[&(1, 0)].snapshot.as_ref().map(|snapshot| snapshot.open_ns)
        };
        assert_eq!(
            [open_ns(10, 7), open_ns(20, 7), open_ns(30, 8), open_ns(90, 9)],
            [Some(1), Some(11), Some(11), Some(11)]
        );
    }

    #[test]
    fn a_circle_of_waits_has_no_root_and_ends() {
        let mut history = History::new(0);
        let clients = vec![client(1, Some((5, &[2]))), client(2, Some((5, &[1])))];
        history.apply(Look { at_ns: 1, clients, counters: None });
        assert!(history.of_clients.values().all(|past| past.while_not_idle.longest_ns == 0));
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
            wait: Some(Wait { ns: 1, what: "row".into(), blocked_by: blocked_by.to_vec(), ..Wait::default() }),
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
