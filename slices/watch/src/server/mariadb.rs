//! Reads MariaDB's clients and their locks.

use super::look::{Cells, Client, Counters, State, Wait};
use super::mask::{Dialect, masked};
use anyhow::{Result, bail};
use contend_worker::script::Connection;
use std::collections::BTreeMap;

/// Settings of the session: read-only, with short timeouts.
pub const SESSION: [&str; 3] =
    ["SET SESSION TRANSACTION READ ONLY", "SET max_statement_time = 2", "SET lock_wait_timeout = 1"];

const CLIENTS: &str = "\
SELECT p.ID, p.USER, p.HOST, COALESCE(p.DB, ''), p.COMMAND, COALESCE(p.STATE, ''), CAST(p.TIME_MS * 1000000 AS SIGNED), \
  COALESCE(p.INFO, ''), t.trx_state, TIMESTAMPDIFF(MICROSECOND, t.trx_started, NOW(6)) * 1000, \
  TIMESTAMPDIFF(MICROSECOND, t.trx_wait_started, NOW(6)) * 1000, t.trx_isolation_level \
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

/// Holders of metadata locks on tables that a waiting statement names.
const METADATA_LOCKS: &str = "\
SELECT p.ID, m.THREAD_ID, CONCAT('definition of ', m.TABLE_SCHEMA, '.', m.TABLE_NAME) \
FROM information_schema.PROCESSLIST p JOIN information_schema.METADATA_LOCK_INFO m \
ON m.THREAD_ID <> p.ID AND m.LOCK_TYPE = 'Table metadata lock' AND INSTR(p.INFO, m.TABLE_NAME) > 0 \
WHERE p.STATE = 'Waiting for table metadata lock'";

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
    if !metadata_locks {
        let plugin = "who has a lock on a table's definition: `INSTALL SONAME 'metadata_lock_info'` shows it";
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
    let waits = |what: &str| clients.iter().any(|client| client.wait.as_ref().is_some_and(|wait| wait.what == what));
    let mut rows = vec![];
    if waits(ROW_LOCK) {
        rows.extend(connection.rows(ROW_LOCKS)?);
    }
    if rights.metadata_locks && waits(METADATA_LOCK) {
        rows.extend(connection.rows(METADATA_LOCKS)?);
    }
    let mut blockers: BTreeMap<u64, (Vec<u64>, String)> = BTreeMap::new();
    for row in rows {
        let mut row = Cells::of(row);
        let (Some(waiter), Some(blocker), what) = (row.number(), row.number(), row.text()) else { continue };
        let entry = blockers.entry(waiter).or_insert((vec![], what));
        if !entry.0.contains(&blocker) {
            entry.0.push(blocker);
        }
    }
    for client in &mut clients {
        if let (Some(wait), Some((blocked_by, what))) = (&mut client.wait, blockers.remove(&client.id)) {
            (wait.blocked_by, wait.what) = (blocked_by, what);
        }
    }
    Ok(clients)
}

/// Kinds of waits, as the server names them.
const ROW_LOCK: &str = "row";
const METADATA_LOCK: &str = "table definition";

fn client(mut row: Cells) -> Client {
    let id = row.number().unwrap_or(0);
    let (user, host, database, command, doing) = (row.text(), row.text(), row.text(), row.text(), row.text());
    let (state_ns, statement, transaction) = (row.number().unwrap_or(0), row.text(), row.text());
    let (transaction_ns, waited_ns, isolation) = (row.number(), row.number(), row.text());
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
