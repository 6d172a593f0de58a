//! Reads PostgreSQL's clients and their locks. Requires version 14, which reports when a wait began.

use super::look::{Cells, Client, Counters, Keeper, State, Wait, add_prepared, wait_for_prepared};
use super::mask::{Dialect, masked};
use anyhow::{Result, bail};
use contend_worker::script::Connection;
use std::collections::BTreeSet;

/// Settings of the session: read-only, with short timeouts and a recognisable name.
pub const SESSION: [&str; 4] = [
    "SET default_transaction_read_only = on",
    "SET statement_timeout = '2s'",
    "SET lock_timeout = '100ms'",
    "SET application_name = 'contend watch'",
];

/// Oldest supported version, in the server's numbering.
const VERSION_MIN: u64 = 140_000;

/// Processes of the server; [`that_matter`] chooses the clients. Not parallel workers, whose locks are those of their
/// leader, nor the launcher of autovacuum, which is not a vacuum. `oldest` is the oldest transaction that a client's
/// snapshot keeps: its own, or one that ran when the snapshot was taken; a VACUUM keeps none. Blockers are computed
/// only for waiting clients, because that function takes locks inside the server.
const CLIENTS: &str = "\
SELECT a.pid::bigint, coalesce(a.usename, '')::text, coalesce(a.client_addr::text, ''), coalesce(a.application_name, ''), \
  coalesce(a.datname, '')::text, coalesce(a.state, ''), a.backend_type, coalesce(a.query, ''), \
  (extract(epoch FROM clock_timestamp() - CASE WHEN a.state = 'active' THEN a.query_start ELSE a.state_change END) * 1e9)::bigint, \
  (extract(epoch FROM clock_timestamp() - a.xact_start) * 1e9)::bigint, \
  CASE WHEN a.pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum) THEN greatest(age(a.backend_xmin), age(a.backend_xid))::bigint END, \
  (a.backend_xid IS NOT NULL AND age(a.backend_xid) >= coalesce(age(a.backend_xmin), 0))::int::bigint, \
  coalesce(a.backend_xmin, '0')::text::bigint, coalesce(a.backend_xid, '0')::text::bigint, \
  (extract(epoch FROM a.backend_start) * 1e6)::bigint, \
  coalesce(a.wait_event_type, '') , \
  CASE WHEN a.wait_event_type = 'Lock' THEN array_to_string(pg_blocking_pids(a.pid), ',') ELSE '' END, \
  CASE WHEN a.wait_event_type = 'Lock' THEN (SELECT (extract(epoch FROM clock_timestamp() - min(l.waitstart)) * 1e9)::bigint \
    FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted) END, \
  CASE WHEN a.wait_event_type = 'Lock' THEN (SELECT min(coalesce('table ' || c.relname, l.locktype)) FROM pg_locks l \
    LEFT JOIN pg_class c ON c.oid = l.relation AND l.locktype = 'relation' \
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    WHERE l.pid = a.pid AND NOT l.granted) ELSE '' END \
FROM pg_stat_activity a \
WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('parallel worker', 'autovacuum launcher')";
/// Kinds of processes that are always clients. Others (workers of replication and of extensions, and the process that
/// replays the log of a primary server) are clients while they have a transaction, wait for a lock, or others wait for
/// theirs.
const SHOWN: [&str; 3] = ["client backend", "autovacuum worker", "walsender"];

/// Prepared transactions that have locks which others wait for, and the age of the oldest.
const PREPARED_BLOCKERS: &str = "\
SELECT string_agg(DISTINCT x.gid, ', '), (extract(epoch FROM clock_timestamp() - min(x.prepared)) * 1e9)::bigint \
FROM pg_locks w JOIN pg_locks h ON h.granted AND h.pid IS NULL AND h.locktype = w.locktype \
  AND (h.database, h.relation, h.page, h.tuple, h.transactionid) IS NOT DISTINCT FROM \
      (w.database, w.relation, w.page, w.tuple, w.transactionid) \
JOIN pg_locks o ON o.pid IS NULL AND o.virtualtransaction = h.virtualtransaction AND o.locktype = 'transactionid' \
JOIN pg_prepared_xacts x ON x.transaction = o.transactionid WHERE NOT w.granted";

const DEADLOCKS: &str = "SELECT coalesce(sum(deadlocks), 0)::bigint FROM pg_stat_database";
const DEAD_ROWS: &str = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables";
/// Tables with the most dead rows.
const TABLES: &str = "SELECT (schemaname || '.' || relname)::text, n_dead_tup::bigint, n_live_tup::bigint \
    FROM pg_stat_user_tables ORDER BY n_dead_tup DESC LIMIT 100";
const KEEPERS: &str = "\
SELECT 'replication slot ' || slot_name, greatest(age(xmin), age(catalog_xmin))::bigint, 0::bigint FROM pg_replication_slots \
WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL \
UNION ALL SELECT 'prepared transaction ' || gid, age(transaction)::bigint, 1::bigint FROM pg_prepared_xacts";

/// The server's version, for people.
///
/// # Errors
/// The server is too old.
pub fn version(connection: &mut Connection) -> Result<String> {
    let rows =
        connection.rows("SELECT current_setting('server_version_num')::bigint, current_setting('server_version')")?;
    let mut row = Cells::of(rows.into_iter().next().unwrap_or_default());
    let (number, name) = (row.number().unwrap_or(0), row.text());
    if number < VERSION_MIN {
        bail!("PostgreSQL {name} does not report when a wait began; `contend watch` requires version 14 or later");
    }
    Ok(format!("PostgreSQL {}", name.split_whitespace().next().unwrap_or_default()))
}

/// This database, and the number of others with tables of users.
const OTHER_DATABASES: &str = "SELECT current_database()::text, count(*)::bigint FROM pg_database \
    WHERE datallowconn AND NOT datistemplate AND datname NOT IN (current_database(), 'postgres')";

/// What this user may not see, as sentences.
///
/// # Errors
/// The server reports an error.
pub fn missing(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection.rows("SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::int::bigint")?;
    let may = rows.into_iter().next().map(Cells::of).and_then(|mut row| row.number()) == Some(1);
    let hidden = "clients of other users: `GRANT pg_monitor TO` this user shows them".to_string();
    let mut databases = connection.rows(OTHER_DATABASES)?.into_iter().map(Cells::of);
    let others = databases.next().map(|mut row| (row.text(), row.number())).filter(|(_, count)| *count > Some(0));
    let others =
        others.map(|(own, _)| format!("dead rows of tables in databases other than {own}; name one in the address"));
    Ok((!may).then_some(hidden).into_iter().chain(others).collect())
}

/// The clients of the server.
///
/// # Errors
/// The server reports an error or is gone.
pub fn clients(connection: &mut Connection) -> Result<Vec<Client>> {
    let mut clients = that_matter(connection.rows(CLIENTS)?.into_iter().map(|row| client(Cells::of(row))).collect());
    if wait_for_prepared(&clients) {
        let row = connection.rows(PREPARED_BLOCKERS)?.into_iter().next().unwrap_or_default();
        let mut row = Cells::of(row);
        let (names, ns) = (row.text(), row.number().unwrap_or(0));
        add_prepared(&mut clients, format!("prepared transaction {names}").trim_end().to_string(), ns);
    }
    Ok(clients)
}

/// The clients among the processes of the server, each with its kind.
fn that_matter(processes: Vec<(String, Client)>) -> Vec<Client> {
    let waits = processes.iter().filter_map(|(_, process)| process.wait.as_ref());
    let blockers: BTreeSet<u64> = waits.flat_map(|wait| wait.blocked_by.iter().copied()).collect();
    let matters = |(kind, process): &(String, Client)| {
        SHOWN.contains(&kind.as_str())
            || process.transaction_ns.is_some()
            || process.wait.is_some()
            || blockers.contains(&process.id)
    };
    processes.into_iter().filter(matters).map(|(_, process)| process).collect()
}

/// A process and its kind.
fn client(mut row: Cells) -> (String, Client) {
    let id = row.number().unwrap_or(0);
    let (user, address, program, database) = (row.text(), row.text(), row.text(), row.text());
    let (state, kind, statement) = (row.text(), row.text(), row.text());
    let (state_ns, transaction_ns, behind) = (row.number(), row.number(), row.number());
    let is_own = row.number() == Some(1);
    let [xmin, xid, began] = [row.number(), row.number(), row.number()].map(Option::unwrap_or_default);
    let (wait_type, blocked_by, waited_ns, what) = (row.text(), row.text(), row.number(), row.text());
    let wait = (wait_type == "Lock").then(|| Wait {
        // The lock may have been granted while the server read its own tables.
        ns: waited_ns.unwrap_or(0),
        what,
        blocked_by: blocked_by.split(',').filter_map(|pid| pid.parse().ok()).collect(),
        candidates: vec![],
    });
    let state = match state.as_str() {
        "active" | "fastpath function call" => State::Active,
        text if text.starts_with("idle in transaction") => State::IdleInTransaction,
        // Processes of the server have no state.
        "" if kind != "client backend" => State::Active,
        _ => State::Idle,
    };
    let statement = masked(&statement, Dialect::Postgres);
    let process = Client {
        id,
        who: who(&user, &address, if kind == "client backend" { &program } else { &kind }),
        database,
        state,
        statement: (!statement.is_empty() && statement != "<insufficient privilege>").then_some(statement),
        // A worker may report no state; its transaction is then all that it does.
        state_ns: state_ns.or(transaction_ns).unwrap_or(0),
        transaction_ns: transaction_ns.filter(|_| state != State::Idle),
        wait,
        behind,
        began,
        query: 0,
        oldest: (if is_own { xid } else { xmin }, is_own),
    };
    (kind, process)
}

/// `user@address (program)`, as far as each part is known.
fn who(user: &str, address: &str, program: &str) -> String {
    let address = address.split('/').next().unwrap_or_default();
    let mut who = user.to_string();
    if !address.is_empty() {
        who += &format!("@{address}");
    }
    match (who.is_empty(), program.is_empty()) {
        (true, _) => program.to_string(),
        (_, true) => who,
        _ => format!("{who} ({program})"),
    }
}

/// Reads the counters, once per second.
///
/// # Errors
/// The server reports an error or is gone.
pub fn counters(connection: &mut Connection) -> Result<Counters> {
    let mut number = |sql: &str| -> Result<u64> {
        let row = connection.rows(sql)?.into_iter().next().unwrap_or_default();
        Ok(Cells::of(row).number().unwrap_or(0))
    };
    let (deadlocks, old_versions) = (number(DEADLOCKS)?, number(DEAD_ROWS)?);
    let tables = connection.rows(TABLES)?.into_iter().map(|row| {
        let mut row = Cells::of(row);
        (row.text(), row.number().unwrap_or(0), row.number().unwrap_or(0))
    });
    let tables = tables.collect();
    let keepers = connection.rows(KEEPERS)?.into_iter().map(|row| {
        let mut row = Cells::of(row);
        let (name, behind) = (row.text(), row.number().unwrap_or(0));
        Keeper { name, behind, is_transaction: row.number() == Some(1) }
    });
    Ok(Counters { deadlocks, old_versions, tables, keepers: keepers.collect(), last_deadlock: vec![] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_the_server_is_a_client_while_it_has_a_transaction_or_a_lock_that_matters() {
        let process = |kind: &str, id, transaction_ns, blocked_by: &[u64]| {
            let waits = || Wait { blocked_by: blocked_by.to_vec(), ..Wait::default() };
            let wait = (!blocked_by.is_empty()).then(waits);
            (kind.to_string(), Client { id, transaction_ns, wait, ..Client::default() })
        };
        let clients = that_matter(vec![
            process("client backend", 1, None, &[3]),
            process("checkpointer", 2, None, &[]),
            process("startup", 3, None, &[]),
            process("logical replication apply worker", 4, Some(7), &[]),
            process("logical replication apply worker", 5, None, &[]),
            process("pg_cron", 6, None, &[1]),
            process("client backend", 7, None, &[]),
        ]);
        assert_eq!(clients.iter().map(|client| client.id).collect::<Vec<_>>(), [1, 3, 4, 6, 7]);
    }
}
