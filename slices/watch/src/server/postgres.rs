//! Reads PostgreSQL's clients and their locks. Requires version 14, which reports when a wait began.

use super::look::{Cells, Client, Counters, Keeper, State, Wait};
use super::mask::{Dialect, masked};
use anyhow::{Result, bail};
use contend_worker::script::Connection;

/// Settings of the session: read-only, with short timeouts and a recognisable name.
pub const SESSION: [&str; 4] = [
    "SET default_transaction_read_only = on",
    "SET statement_timeout = '2s'",
    "SET lock_timeout = '100ms'",
    "SET application_name = 'contend watch'",
];

/// Oldest supported version, in the server's numbering.
const VERSION_MIN: u64 = 140_000;

/// Clients. Blockers are computed only for waiting clients, because that function takes locks inside the server.
const CLIENTS: &str = "\
SELECT a.pid::bigint, coalesce(a.usename, '')::text, coalesce(a.client_addr::text, ''), coalesce(a.application_name, ''), \
  coalesce(a.datname, '')::text, coalesce(a.state, ''), a.backend_type, coalesce(a.query, ''), \
  (extract(epoch FROM clock_timestamp() - CASE WHEN a.state = 'active' THEN a.query_start ELSE a.state_change END) * 1e9)::bigint, \
  (extract(epoch FROM clock_timestamp() - a.xact_start) * 1e9)::bigint, \
  age(a.backend_xmin)::bigint, \
  coalesce(a.wait_event_type, '') , \
  CASE WHEN a.wait_event_type = 'Lock' THEN array_to_string(pg_blocking_pids(a.pid), ',') ELSE '' END, \
  CASE WHEN a.wait_event_type = 'Lock' THEN (SELECT (extract(epoch FROM clock_timestamp() - min(l.waitstart)) * 1e9)::bigint \
    FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted) END, \
  CASE WHEN a.wait_event_type = 'Lock' THEN (SELECT min(coalesce('table ' || c.relname, l.locktype)) FROM pg_locks l \
    LEFT JOIN pg_class c ON c.oid = l.relation AND l.locktype = 'relation' \
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    WHERE l.pid = a.pid AND NOT l.granted) ELSE '' END \
FROM pg_stat_activity a \
WHERE a.pid <> pg_backend_pid() AND a.backend_type IN ('client backend', 'autovacuum worker', 'walsender')";

const DEADLOCKS: &str = "SELECT coalesce(sum(deadlocks), 0)::bigint FROM pg_stat_database";
const DEAD_ROWS: &str = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables";
const WORST_TABLE: &str = "SELECT (schemaname || '.' || relname)::text, n_dead_tup::bigint, n_live_tup::bigint \
    FROM pg_stat_user_tables ORDER BY n_dead_tup DESC LIMIT 1";
const KEEPERS: &str = "\
SELECT 'replication slot ' || slot_name, greatest(age(xmin), age(catalog_xmin))::bigint FROM pg_replication_slots \
WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL \
UNION ALL SELECT 'prepared transaction ' || gid, age(transaction)::bigint FROM pg_prepared_xacts";

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
        bail!("PostgreSQL {name} does not say since when a client waits; `contend watch` needs version 14 or later");
    }
    Ok(format!("PostgreSQL {}", name.split_whitespace().next().unwrap_or_default()))
}

/// What this user may not see, as sentences.
///
/// # Errors
/// The server reports an error.
pub fn missing(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection.rows("SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::int::bigint")?;
    let may = rows.into_iter().next().map(Cells::of).and_then(|mut row| row.number()) == Some(1);
    let hidden = "clients of other users: `GRANT pg_monitor TO` this user shows them";
    Ok(if may { vec![] } else { vec![hidden.to_string()] })
}

/// The clients of the server.
///
/// # Errors
/// The server reports an error or is gone.
pub fn clients(connection: &mut Connection) -> Result<Vec<Client>> {
    Ok(connection.rows(CLIENTS)?.into_iter().map(|row| client(Cells::of(row))).collect())
}

fn client(mut row: Cells) -> Client {
    let id = row.number().unwrap_or(0);
    let (user, address, program, database) = (row.text(), row.text(), row.text(), row.text());
    let (state, kind, statement) = (row.text(), row.text(), row.text());
    let (state_ns, transaction_ns, behind) = (row.number().unwrap_or(0), row.number(), row.number());
    let (wait_type, blocked_by, waited_ns, what) = (row.text(), row.text(), row.number(), row.text());
    let wait = (wait_type == "Lock").then(|| Wait {
        // The lock may have been granted while the server read its own tables.
        ns: waited_ns.unwrap_or(0),
        what,
        blocked_by: blocked_by.split(',').filter_map(|pid| pid.parse().ok()).collect(),
    });
    let state = match state.as_str() {
        "active" | "fastpath function call" => State::Active,
        text if text.starts_with("idle in transaction") => State::IdleInTransaction,
        // Processes of the server have no state.
        "" if kind != "client backend" => State::Active,
        _ => State::Idle,
    };
    let statement = masked(&statement, Dialect::Postgres);
    Client {
        id,
        who: who(&user, &address, if kind == "client backend" { &program } else { &kind }),
        database,
        state,
        statement: (!statement.is_empty() && statement != "<insufficient privilege>").then_some(statement),
        state_ns,
        transaction_ns: transaction_ns.filter(|_| state != State::Idle),
        wait,
        behind,
    }
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
    let table = connection.rows(WORST_TABLE)?.into_iter().next().map(|row| {
        let mut row = Cells::of(row);
        (row.text(), row.number().unwrap_or(0), row.number().unwrap_or(0))
    });
    let keepers = connection.rows(KEEPERS)?.into_iter().map(|row| {
        let mut row = Cells::of(row);
        Keeper { name: row.text(), behind: row.number().unwrap_or(0) }
    });
    Ok(Counters { deadlocks, old_versions, table, keepers: keepers.collect(), last_deadlock: vec![] })
}
