//! Reads MariaDB's clients and their locks.

use super::look::{Cells, Client, Counters, State, Wait, add_prepared, wait_for_prepared};
use super::mask::{Dialect, masked};
use anyhow::{Result, bail};
use contend_worker::script::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// Settings of the session: read-only, with short timeouts.
pub const SESSION: [&str; 3] =
    ["SET SESSION TRANSACTION READ ONLY", "SET max_statement_time = 2", "SET lock_wait_timeout = 1"];

const CLIENTS: &str = "\
SELECT p.ID, p.USER, p.HOST, COALESCE(p.DB, ''), p.COMMAND, COALESCE(p.STATE, ''), CAST(p.TIME_MS * 1000000 AS SIGNED), \
  COALESCE(p.INFO, ''), t.trx_state, TIMESTAMPDIFF(MICROSECOND, t.trx_started, NOW(6)) * 1000, \
  TIMESTAMPDIFF(MICROSECOND, t.trx_wait_started, NOW(6)) * 1000, t.trx_isolation_level, p.QUERY_ID \
FROM information_schema.PROCESSLIST p \
LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID \
WHERE p.ID <> CONNECTION_ID() AND p.COMMAND NOT IN ('Daemon', 'Binlog Dump')";

/// Waits for InnoDB's row locks: waiter, holder, and table.
const ROW_LOCKS: &str = "\
SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, CONCAT(LOWER(l.lock_type), ' of ', REPLACE(l.lock_table, '`', '')) \
FROM information_schema.INNODB_LOCK_WAITS w \
JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id \
JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id \
JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id";

/// Granted metadata locks of tables.
const METADATA_LOCKS: &str = "\
SELECT THREAD_ID, LOCK_MODE, TABLE_SCHEMA, TABLE_NAME FROM information_schema.METADATA_LOCK_INFO \
WHERE LOCK_TYPE = 'Table metadata lock'";

const HAS_METADATA_LOCKS: &str = "\
SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'METADATA_LOCK_INFO' AND PLUGIN_STATUS = 'ACTIVE'";
const MAY_SEE_ALL: &str = "\
SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'PROCESS' \
AND GRANTEE = CONCAT('''', SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";
const COUNTERS: &str = "\
SELECT VARIABLE_NAME, CAST(VARIABLE_VALUE AS SIGNED) FROM information_schema.GLOBAL_STATUS \
WHERE VARIABLE_NAME IN ('INNODB_DEADLOCKS', 'INNODB_HISTORY_LIST_LENGTH')";
const ENGINE_STATUS: &str = "SHOW ENGINE INNODB STATUS";

/// What this user may read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rights {
    metadata_locks: bool,
}

/// The server's version, for people.
///
/// # Errors
/// The server is another product.
pub fn version(connection: &mut Connection) -> Result<String> {
    let rows = connection.rows("SELECT VERSION()")?;
    let version = Cells::of(rows.into_iter().next().unwrap_or_default()).text();
    if !version.contains("MariaDB") {
        bail!(
            "this server is MySQL {version}, whose tables of locks differ; `contend watch` reads those of MariaDB and PostgreSQL"
        );
    }
    Ok(format!("MariaDB {}", version.split('-').next().unwrap_or_default()))
}

/// What this user may read, and what is therefore not visible, as sentences.
///
/// # Errors
/// The server reports an error; the privilege PROCESS is required for other users' transactions.
pub fn rights(connection: &mut Connection) -> Result<(Rights, Vec<String>)> {
    let mut count = |sql: &str| -> Result<bool> {
        let row = connection.rows(sql)?.into_iter().next().unwrap_or_default();
        Ok(Cells::of(row).number() > Some(0))
    };
    if !count(MAY_SEE_ALL)? {
        bail!(
            "this user lacks the privilege PROCESS, without which MariaDB shows no locks; grant it with `GRANT \
             PROCESS ON *.* TO` the user"
        );
    }
    let metadata_locks = count(HAS_METADATA_LOCKS)?;
    let mut missing = vec!["the last statement of a client that executes none, unless it was seen before".to_string()];
    if metadata_locks {
        missing.push("the holder of a metadata lock if the waiting statement names several locked tables".to_string());
    } else {
        let plugin = "holders of metadata locks of tables: `INSTALL SONAME 'metadata_lock_info'` shows them";
        missing.push(plugin.to_string());
    }
    Ok((Rights { metadata_locks }, missing))
}

/// The clients of the server.
///
/// # Errors
/// The server reports an error or is gone.
pub fn clients(connection: &mut Connection, rights: Rights) -> Result<Vec<Client>> {
    let mut clients: Vec<Client> = connection.rows(CLIENTS)?.into_iter().map(|row| client(Cells::of(row))).collect();
    let waits = |what: &str| clients.iter().any(|client| waits_for(client, what));
    let mut blockers: BTreeMap<u64, (Vec<u64>, String)> = BTreeMap::new();
    if waits(ROW_LOCK) {
        for row in connection.rows(ROW_LOCKS)? {
            let mut row = Cells::of(row);
            let (Some(waiter), Some(blocker), what) = (row.number(), row.number(), row.text()) else { continue };
            let entry = blockers.entry(waiter).or_insert((vec![], what));
            if !entry.0.contains(&blocker) {
                entry.0.push(blocker);
            }
        }
    }
    if rights.metadata_locks && waits(METADATA_LOCK) {
        let locks = connection.rows(METADATA_LOCKS)?.into_iter().map(|row| Held::of(Cells::of(row)));
        blockers.extend(holders(&clients, &locks.collect::<Vec<_>>()));
    }
    for client in &mut clients {
        if let (Some(wait), Some((blocked_by, what))) = (&mut client.wait, blockers.remove(&client.id)) {
            (wait.blocked_by, wait.what) = (blocked_by, what);
        }
    }
    // A prepared transaction stays when its connection has ended.
    if wait_for_prepared(&clients) {
        add_prepared(&mut clients, "prepared transaction".to_string(), 0);
    }
    Ok(clients)
}

fn waits_for(client: &Client, what: &str) -> bool {
    client.wait.as_ref().is_some_and(|wait| wait.what == what)
}

/// A granted metadata lock of a table.
struct Held {
    client: u64,
    mode: String,
    schema: String,
    table: String,
}

impl Held {
    fn of(mut row: Cells) -> Held {
        let client = row.number().unwrap_or(0);
        Held { client, mode: row.text(), schema: row.text(), table: row.text() }
    }

    /// Whether the lock may keep out a statement that does not change definitions: it is exclusive to some extent, or its
    /// holder waits to make it so.
    fn keeps_out_readers_or_writers(&self, clients: &[Client]) -> bool {
        let is_exclusive =
            ["EXCLUSIVE", "NO_READ_WRITE", "NO_WRITE", "READ_ONLY"].iter().any(|end| self.mode.ends_with(end));
        let waits = |client: &Client| client.id == self.client && waits_for(client, METADATA_LOCK);
        is_exclusive && !self.mode.ends_with("INTENTION_EXCLUSIVE") || clients.iter().any(waits)
    }
}

/// Holders of the metadata lock that each client waits for, and its table. The server does not report which table that is:
/// it is known if the waiting statement names one locked table only.
fn holders(clients: &[Client], locks: &[Held]) -> BTreeMap<u64, (Vec<u64>, String)> {
    let mut found = BTreeMap::new();
    for client in clients.iter().filter(|client| waits_for(client, METADATA_LOCK)) {
        let sql = client.statement.as_deref().unwrap_or_default();
        let words = words(sql);
        let is_change = words.first().is_some_and(|first| CHANGES.iter().any(|verb| verb.eq_ignore_ascii_case(first)));
        let is_in_way = |lock: &&Held| {
            lock.client != client.id
                && names(&words, &client.database, &lock.schema, &lock.table)
                && (is_change || lock.keeps_out_readers_or_writers(clients))
        };
        let its: Vec<&Held> = locks.iter().filter(is_in_way).collect();
        let tables: BTreeSet<(&str, &str)> = its.iter().map(|lock| (&*lock.schema, &*lock.table)).collect();
        if let (1, Some((schema, table))) = (tables.len(), tables.first()) {
            let clients: BTreeSet<u64> = its.iter().map(|lock| lock.client).collect();
            found.insert(client.id, (clients.into_iter().collect(), format!("definition of {schema}.{table}")));
        }
    }
    found
}

/// First words of statements that wait for every other lock of their table.
const CHANGES: [&str; 5] = ["ALTER", "DROP", "OPTIMIZE", "RENAME", "TRUNCATE"];

/// The names, keywords and points of a statement without values.
fn words(sql: &str) -> Vec<&str> {
    let (mut words, mut rest) = (vec![], sql);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let quoted = rest.strip_prefix('`').and_then(|rest| Some((rest, rest.find('`')?)));
        let (word, length) = match quoted {
            Some((inner, end)) => (&inner[..end], end + 2),
            None => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
                (&rest[..end], end)
            }
        };
        if first == '.' || first == '`' || is_word(first) {
            words.push(word);
        }
        rest = &rest[length..];
    }
    words
}

/// Whether a statement names this table, with its schema or in a session that uses it.
fn names(words: &[&str], database: &str, schema: &str, table: &str) -> bool {
    let is_named = |(at, _): (usize, &&str)| match at.checked_sub(2).map(|before| (words[before], words[at - 1])) {
        Some((qualifier, ".")) => qualifier.eq_ignore_ascii_case(schema),
        _ => database.eq_ignore_ascii_case(schema),
    };
    words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(table)).any(is_named)
}

/// Kinds of waits, as the server names them.
const ROW_LOCK: &str = "row";
const METADATA_LOCK: &str = "table definition";

fn client(mut row: Cells) -> Client {
    let id = row.number().unwrap_or(0);
    let (user, host, database, command, doing) = (row.text(), row.text(), row.text(), row.text(), row.text());
    let (state_ns, statement, transaction) = (row.number().unwrap_or(0), row.text(), row.text());
    let (transaction_ns, waited_ns, isolation) = (row.number(), row.number(), row.text());
    let query = row.number().unwrap_or(0);
    let has_transaction = !transaction.is_empty();
    let state = match (command.as_str(), has_transaction) {
        ("Sleep", true) => State::IdleInTransaction,
        ("Sleep", false) => State::Idle,
        _ => State::Active,
    };
    let what = match doing.as_str() {
        _ if transaction == "LOCK WAIT" => Some(ROW_LOCK),
        "Waiting for table metadata lock" => Some(METADATA_LOCK),
        text if text.starts_with("Waiting for") && text.ends_with("lock") => Some("server-wide"),
        _ => None,
    };
    // A wait's start has whole seconds only, so the age of the statement bounds the wait.
    let wait = what.filter(|_| state == State::Active).map(|what| Wait {
        ns: waited_ns.unwrap_or(state_ns).min(state_ns),
        what: what.to_string(),
        blocked_by: vec![],
    });
    let statement = masked(&statement, Dialect::MariaDb);
    let host = host.split(':').next().unwrap_or_default().to_string();
    // REPEATABLE READ and SERIALIZABLE keep a snapshot between statements. Its age in transactions is unknown.
    let keeps_snapshot = has_transaction && isolation != "READ COMMITTED" && isolation != "READ UNCOMMITTED";
    Client {
        id,
        who: if host.is_empty() { user } else { format!("{user}@{host}") },
        database,
        state,
        statement: (!statement.is_empty()).then_some(statement),
        state_ns,
        transaction_ns,
        wait,
        behind: keeps_snapshot.then_some(0),
        began: 0,
        query,
        oldest: (0, false),
    }
}

/// Reads the counters, once per second. The last deadlock is read only if there are more than `deadlocks_before`.
///
/// # Errors
/// The server reports an error or is gone.
pub fn counters(connection: &mut Connection, deadlocks_before: Option<u64>) -> Result<Counters> {
    let mut counters = Counters::default();
    for row in connection.rows(COUNTERS)? {
        let mut row = Cells::of(row);
        match (row.text().to_ascii_uppercase().as_str(), row.number().unwrap_or(0)) {
            ("INNODB_DEADLOCKS", count) => counters.deadlocks = count,
            (_, length) => counters.old_versions = length,
        }
    }
    if deadlocks_before.is_some_and(|before| counters.deadlocks > before) {
        let row = connection.rows(ENGINE_STATUS)?.into_iter().next().unwrap_or_default();
        let mut row = Cells::of(row);
        let (_, _, status) = (row.text(), row.text(), row.text());
        counters.last_deadlock = statements_of_deadlock(&status);
    }
    Ok(counters)
}

/// Statements of the last deadlock in `SHOW ENGINE INNODB STATUS`, each after a line `MariaDB thread id ...`.
fn statements_of_deadlock(status: &str) -> Vec<String> {
    let section = status.split("LATEST DETECTED DEADLOCK").nth(1).unwrap_or_default();
    let section = section.split("\nTRANSACTIONS\n").next().unwrap_or_default();
    let mut statements: Vec<String> = vec![];
    let mut lines = section.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("MariaDB thread id") || line.starts_with("MySQL thread id") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("***")).collect();
            let statement = masked(&text.join(" "), Dialect::MariaDb);
            if !statement.is_empty() {
                statements.push(statement);
            }
        }
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(id: u64, statement: &str) -> Client {
        let wait = Some(Wait { ns: 1, what: METADATA_LOCK.to_string(), blocked_by: vec![] });
        Client { id, database: "shop".into(), statement: Some(statement.into()), wait, ..Client::default() }
    }

    fn held(client: u64, mode: &str, schema: &str, table: &str) -> Held {
        Held { client, mode: format!("MDL_{mode}"), schema: schema.to_string(), table: table.to_string() }
    }

    /// The clients that block one which waits with this statement.
    fn blockers(statement: &str, locks: &[Held]) -> Vec<u64> {
        holders(&[waits(1, statement)], locks).remove(&1).map_or(vec![], |(clients, _)| clients)
    }

    #[test]
    fn the_holder_of_a_metadata_lock_has_locked_the_table_that_the_statement_names() {
        let locks = || {
            vec![
                held(2, "SHARED_READ", "shop", "order"),
                held(3, "SHARED_WRITE", "shop", "e"),
                held(4, "SHARED_READ", "tenant2", "orders"),
                held(5, "SHARED_READ", "tenant1", "orders"),
            ]
        };
        assert_eq!(blockers("ALTER TABLE tenant1.orders ADD COLUMN ?", &locks()), [5]);
        assert_eq!(blockers("ALTER TABLE `tenant1`.`orders` ADD x INT", &locks()), [5]);
        assert_eq!(blockers("ALTER TABLE orders ADD x INT", &locks()), [0; 0], "of the schema shop, which holds none");
        assert_eq!(blockers("DROP TABLE `order`", &locks()), [2]);
        assert_eq!(
            blockers("ALTER TABLE tenant1.orders ADD COLUMN e INT", &locks()),
            [0; 0],
            "it names two locked tables"
        );
        assert_eq!(blockers("SELECT * FROM tenant1.orders", &locks()), [0; 0], "readers do not keep out readers");
    }

    #[test]
    fn a_reader_waits_for_the_change_that_waits_itself() {
        let clients = [waits(1, "SELECT * FROM t"), waits(2, "ALTER TABLE t ADD x INT")];
        let locks = [held(2, "SHARED_UPGRADABLE", "shop", "t"), held(3, "SHARED_READ", "shop", "t")];
        let found = holders(&clients, &locks);
        assert_eq!((&found[&1].0, &found[&2].0), (&vec![2], &vec![3]));
        assert_eq!(blockers("UPDATE t SET a = ?", &[held(7, "EXCLUSIVE", "shop", "t")]), [7]);
        assert_eq!(blockers("UPDATE t SET a = ?", &[held(7, "INTENTION_EXCLUSIVE", "shop", "t")]), [0; 0]);
    }

    #[test]
    fn the_statements_of_a_deadlock_are_found_without_their_values() {
        let status = "=====\nLATEST DETECTED DEADLOCK\n----\n*** (1) TRANSACTION:\nTRANSACTION 5, ACTIVE 1 sec\n\
            MariaDB thread id 7, OS thread handle 1, query id 9 localhost me Updating\nUPDATE a SET v = 'secret' WHERE id = 1\n\
            *** WAITING FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS\n*** (2) TRANSACTION:\n\
            MariaDB thread id 8, OS thread handle 1, query id 9 localhost me Updating\nUPDATE a\nSET v = 2\n\
            *** CONFLICTING WITH:\n\n------------\nTRANSACTIONS\n------------\nMariaDB thread id 9\nSELECT other\n";
        assert_eq!(statements_of_deadlock(status), ["UPDATE a SET v = ? WHERE id = ?", "UPDATE a SET v = ?"]);
    }
}
