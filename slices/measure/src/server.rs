//! A server: the sizes that PostgreSQL or MariaDB reports of one database.

use crate::model::{Measured, Size, Table, sorted};
use anyhow::{Context, Result, bail};
use contend::trial::server::attached::Attached;
use contend::workload::sql::asked;
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::script::Target;
use contend_worker::script::Connection;

/// The queries for a product.
struct Product {
    scheme: &'static str,
    driver: &'static str,
    /// The connection only reads, waits for no lock, and has a recognisable name.
    session: &'static [&'static str],
    /// Returns one text.
    version: &'static str,
    /// Name, estimated rows (NULL if the server has never counted), bytes of rows, bytes of indexes, and unused bytes.
    /// Sizes are NULL if they are unknown.
    tables: &'static str,
    /// Name, query returning one number, and note of each size. The query may return further words for the note.
    sizes: &'static [(&'static str, &'static str, &'static str)],
}

const PRODUCTS: [Product; 2] = [
    Product {
        scheme: "postgres",
        driver: "postgres",
        session: &[
            "SET default_transaction_read_only = on",
            "SET lock_timeout = '1s'",
            "SET application_name = 'contend measure'",
        ],
        version: "SELECT 'PostgreSQL ' || current_setting('server_version')",
        tables: "SELECT CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname, \
             CASE WHEN c.reltuples > 0 THEN c.reltuples::bigint \
             WHEN f.is_free THEN CASE WHEN pg_relation_size(c.oid) = 0 THEN 0 END END, \
             CASE WHEN f.is_free THEN pg_table_size(c.oid) END, CASE WHEN f.is_free THEN pg_indexes_size(c.oid) END, \
             NULL::bigint \
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace, \
             LATERAL (SELECT NOT EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.mode = 'AccessExclusiveLock' \
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND (l.relation IN (c.oid, c.reltoastrelid) OR l.relation IN (SELECT indexrelid FROM pg_index \
             WHERE indrelid IN (c.oid, c.reltoastrelid)))) AS is_free) AS f \
             WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
        sizes: &[
            ("database", "SELECT pg_database_size(current_database())", "with the catalogue of every database"),
            (
                "dead rows",
                "SELECT coalesce(sum(pg_table_size(relid)::numeric * n_dead_tup / greatest(n_live_tup + n_dead_tup, 1)), 0)::bigint \
                 FROM pg_stat_user_tables",
                "estimated from their number; vacuum makes room of them",
            ),
            ("log", "SELECT sum(size)::bigint FROM pg_ls_waldir()", "of all databases of the server"),
            (
                "shared memory",
                "SELECT pg_size_bytes(current_setting('shared_buffers'))",
                "shared_buffers, for all databases",
            ),
        ],
    },
    Product {
        scheme: "mysql",
        driver: "mysql",
        session: &["SET SESSION TRANSACTION READ ONLY", "SET lock_wait_timeout = 1"],
        version: "SELECT concat('MariaDB ', version())",
        tables: "SELECT table_name, CAST(table_rows AS SIGNED), CAST(data_length AS SIGNED), \
             CAST(index_length AS SIGNED), CAST(data_free AS SIGNED) FROM information_schema.tables \
             WHERE table_schema = database() AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')",
        sizes: &[
            (
                "database",
                "SELECT CAST(sum(data_length + index_length) AS SIGNED), IF(current_role() IS NOT NULL \
                 OR EXISTS (SELECT 1 FROM ( \
                 SELECT grantee, privilege_type AS may FROM information_schema.user_privileges UNION ALL \
                 SELECT grantee, privilege_type FROM information_schema.schema_privileges \
                 WHERE database() LIKE table_schema) AS p \
                 WHERE p.may IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'INDEX', 'ALTER') \
                 AND p.grantee = concat('''', left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1), \
                 '''@''', substring_index(current_user(), '@', -1), '''')), \
                 '', '; it has no privilege on the whole database, so tables may be missing') \
                 FROM information_schema.tables WHERE table_schema = database()",
                "tables and indexes that this user may see, without undo and system tables",
            ),
            ("log", "SELECT CAST(@@innodb_log_file_size AS SIGNED)", "of all databases of the server"),
            (
                "shared memory",
                "SELECT CAST(@@innodb_buffer_pool_size AS SIGNED)",
                "innodb_buffer_pool_size, for all databases",
            ),
        ],
    },
];

/// Measures a database of a server.
///
/// # Errors
/// The text is not an address; the server cannot be reached, or refuses to report the sizes of tables.
pub fn measured(text: &str) -> Result<Measured> {
    let (attached, _janitor) = Attached::alone(text)?;
    let shown = attached.shown();
    let name = shown.to_string();
    let scheme = &attached.address.scheme;
    let Some(product) = PRODUCTS.iter().find(|product| product.scheme == scheme) else {
        bail!("{name}: servers of {scheme}:// cannot be measured; there are postgres:// and mysql://")
    };
    if shown.address.database.is_empty() {
        bail!("{name}: name the database, as in {name}/app");
    }
    measure(product, &attached, name.clone()).with_context(|| format!("cannot measure {name}"))
}

fn measure(product: &Product, attached: &Attached, name: String) -> Result<Measured> {
    let mut connection = Connection::open(&Target {
        driver: product.driver.to_string(),
        database: Database::Server(attached.address.address.clone()),
        options: vec![],
        session: product.session.iter().map(|sql| asked(sql)).collect(),
    })?;
    let what = match first(&mut connection, product.version)?.first() {
        Some(Value::Text(version)) => version.split(" (").next().unwrap_or_default().to_string(),
        other => bail!("the version is {other:?}"),
    };
    let mut sizes = vec![];
    for (name, sql, note) in product.sizes {
        // Sizes that this user may not see are left out; the tables are required.
        let row = first(&mut connection, sql).unwrap_or_default();
        if let Some(Value::Integer(bytes)) = row.first() {
            let further = if let Some(Value::Text(words)) = row.get(1) { words.as_str() } else { "" };
            sizes.push(Size::new(name, (*bytes).max(0).cast_unsigned(), format!("{note}{further}")));
        }
    }
    let tables = connection.rows(product.tables)?.iter().map(|row| table(row)).collect::<Result<_>>()?;
    Ok(Measured { name, what, sizes, tables: sorted(tables) })
}

fn first(connection: &mut Connection, sql: &str) -> Result<Vec<Value>> {
    connection.rows(sql)?.into_iter().next().context("the server returned no row")
}

fn table(row: &[Value]) -> Result<Table> {
    let [Value::Text(name), numbers @ ..] = row else { bail!("a table is reported as {row:?}") };
    let known = |value: &Value| if let Value::Integer(n) = value { Some((*n).max(0).cast_unsigned()) } else { None };
    let numbers: Vec<Option<u64>> = numbers.iter().map(known).collect();
    let [rows, rows_bytes, index_bytes, unused_bytes] = numbers[..] else { bail!("a table is reported as {row:?}") };
    Ok(Table { name: name.clone(), rows, estimated: true, rows_bytes, index_bytes, unused_bytes })
}
