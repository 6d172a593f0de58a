//! Reads MariaDB's clients and their locks.

use super::holders::{DEFINITION, HELD_NAMED, Held, Holders, NAMED, ROW, holders};
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

/// Granted locks other than those of rows and of Aria's and MyISAM's tables.
const HELD: &str =
    "SELECT THREAD_ID, LOCK_TYPE, LOCK_MODE, TABLE_SCHEMA, TABLE_NAME FROM information_schema.METADATA_LOCK_INFO";

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
        let plugin =
            "holders of locks of tables and of the whole server: `INSTALL SONAME 'metadata_lock_info'` shows them";
        missing.push(plugin.to_string());
    }
    Ok((Rights { metadata_locks }, missing))
}

/// The clients of the server.
///
/// # Errors
/// The server reports an error or is gone.
pub fn clients(connection: &mut Connection, rights: Rights) -> Result<Vec<Client>> {
    let read = connection.rows(CLIENTS)?.into_iter().map(|row| client(Cells::of(row)));
    let (mut clients, names): (Vec<Client>, Vec<Option<String>>) = read.unzip();
    let waits = |is_for: &dyn Fn(&str) -> bool| {
        clients.iter().any(|client| client.wait.as_ref().is_some_and(|wait| is_for(&wait.what)))
    };
    let mut found: BTreeMap<u64, Holders> = BTreeMap::new();
    if waits(&|what| what == ROW) {
        for row in connection.rows(ROW_LOCKS)? {
            let mut row = Cells::of(row);
            let (Some(waiter), Some(holder), what) = (row.number(), row.number(), row.text()) else { continue };
            let of_row = || Holders { are_certain: true, what: Some(what), ..Holders::default() };
            found.entry(waiter).or_insert_with(of_row).clients.insert(holder);
        }
    }
    if waits(&|what| what != ROW) {
        let held = held(connection, rights, &names)?;
        for (client, name) in clients.iter().zip(&names) {
            let of_client = || holders(client, name.as_deref(), &clients, &held);
            found.entry(client.id).or_insert_with(of_client);
        }
    }
    for client in &mut clients {
        if let (Some(wait), Some(holders)) = (&mut client.wait, found.remove(&client.id)) {
            let list = if holders.are_certain { &mut wait.blocked_by } else { &mut wait.candidates };
            list.extend(holders.clients);
            wait.what = holders.what.unwrap_or(std::mem::take(&mut wait.what));
        }
    }
    // A prepared transaction stays when its connection has ended.
    if wait_for_prepared(&clients) {
        add_prepared(&mut clients, "prepared transaction".to_string(), 0);
    }
    Ok(clients)
}

/// The granted locks; without the plugin those with the names for which clients wait.
fn held(connection: &mut Connection, rights: Rights, names: &[Option<String>]) -> Result<Vec<Held>> {
    if rights.metadata_locks {
        let rows = connection.rows(HELD)?.into_iter().map(Cells::of);
        let held = rows.map(|mut row| {
            let client = row.number().unwrap_or(0);
            Held { client, kind: row.text(), mode: row.text(), schema: row.text(), table: row.text() }
        });
        return Ok(held.collect());
    }
    /// Most names that are looked up.
    const NAMES_MAX: usize = 20;
    let names: BTreeSet<&String> = names.iter().flatten().collect();
    let mut held = vec![];
    for name in names.into_iter().take(NAMES_MAX) {
        assert!(!name.contains('\\'), "a backslash would hide the end of the text");
        let row = connection.rows(&format!("SELECT IS_USED_LOCK('{}')", name.replace('\'', "''")))?.into_iter().next();
        let client = row.and_then(|row| Cells::of(row).number());
        let of = |client| Held { client, kind: HELD_NAMED.to_string(), schema: name.clone(), ..Held::default() };
        held.extend(client.map(of));
    }
    Ok(held)
}

/// The name of the lock in a statement with one `GET_LOCK('name', ...)`, if the name has no escapes.
fn lock_name(sql: &str) -> Option<String> {
    const CALL: &str = "get_lock";
    let lower = sql.to_ascii_lowercase();
    let (before, _) = lower.split_once(CALL).filter(|(_, after)| !after.contains(CALL))?;
    let rest = sql[before.len() + CALL.len()..].trim_start().strip_prefix('(')?.trim_start();
    let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let (name, after) = rest[1..].split_once(quote)?;
    (!name.contains('\\') && after.trim_start().starts_with(',')).then(|| name.to_string())
}

/// A client, and the name of the lock for which it waits, if that is one with a name in the statement.
fn client(mut row: Cells) -> (Client, Option<String>) {
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
        _ if transaction == "LOCK WAIT" => Some(ROW),
        "Waiting for table metadata lock" => Some(DEFINITION),
        "User lock" => Some(NAMED),
        text => text.strip_prefix("Waiting for ").filter(|what| what.ends_with("lock")),
    };
    // A wait's start has whole seconds only, so the age of the statement bounds the wait.
    let wait = what.filter(|_| state == State::Active).map(|what| Wait {
        ns: waited_ns.unwrap_or(state_ns).min(state_ns),
        what: what.to_string(),
        ..Wait::default()
    });
    let name = wait.as_ref().filter(|wait| wait.what == NAMED).and_then(|_| lock_name(&statement));
    let statement = masked(&statement, Dialect::MariaDb);
    let host = host.split(':').next().unwrap_or_default().to_string();
    // REPEATABLE READ and SERIALIZABLE keep a snapshot between statements. Its age in transactions is unknown.
    let keeps_snapshot = has_transaction && isolation != "READ COMMITTED" && isolation != "READ UNCOMMITTED";
    let client = Client {
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
    };
    (client, name)
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
    fn the_name_of_a_lock_is_that_in_the_statement_unless_it_is_not_certain() {
        for (sql, expected) in [
            ("select get_lock('nightly job', 10)", Some("nightly job")),
            ("DO GET_LOCK ( \"it's\" , 1)", Some("it's")),
            ("SELECT GET_LOCK('a''b', 1)", None),
            ("SELECT GET_LOCK('a\\'b', 1)", None),
            ("SELECT GET_LOCK(CONCAT('a', 'b'), 1)", None),
            ("SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)", None),
            ("SELECT GET_LOCK(?, 1)", None),
        ] {
            assert_eq!(lock_name(sql).as_deref(), expected, "{sql}");
        }
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
