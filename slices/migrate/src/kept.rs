//! What `contend shim` needs to go on with a migrated database, and what it leaves for the way back: the relations of
//! [`contend_wire::kept`].

use crate::ledger::{Entry, Kept, State, TABLE};
use crate::look::{PRAGMAS, Schema};
use crate::plan::{Held, Makes, Plan};
use crate::server::{Server, text};
use anyhow::{Context, Result, bail, ensure};
use contend_sql::{ParamType, Target};
use contend_wire::kept::{self, HELD, PREFIX, ROWIDS};
use contend_wire::kept_mariadb;
use contend_wire::literal::Value;
use std::path::Path;

/// The path of a file as the shim has it: absolute, without symbolic links.
fn path(file: &Path) -> Result<String> {
    let path = file.canonicalize().with_context(|| format!("{}: its path is unknown", file.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// What would make answers differ. Foreign keys are no obstacle if none is carried over: the server enforces all or none.
pub fn obstacles(plan: &Plan, target: Target) -> Vec<String> {
    let (left, has_keys) = (plan.left.iter(), has_keys(plan));
    let left = left.filter(|left| has_keys || !left.is_foreign_key);
    let left = left.map(|left| format!("{} is not carried over", left.what));
    let named = plan.steps.iter().filter(|step| matches!(step.makes, Makes::Table | Makes::View));
    let types = named.filter(|step| target == Target::Postgres && kept::is_type(&step.name));
    left.chain(types.map(|step| format!("{} is the name of a type of PostgreSQL", step.name))).collect()
}

/// Whether the server enforces foreign keys.
fn has_keys(plan: &Plan) -> bool {
    plan.steps.iter().any(|step| step.makes == Makes::ForeignKey)
}

/// Statements that make the relations in the current schema, unless they are there already or something is in the way.
///
/// # Errors
/// The server cannot be asked.
pub fn statements(server: &mut Server, file: &Path, schema: &Schema, plan: &Plan) -> Result<Vec<String>> {
    let target = server.product.target();
    if !obstacles(plan, target).is_empty() {
        return Ok(vec![]);
    }
    let here = here(server)?.context("the user has no schema")?;
    let object = |kind: &str, name: &str, table: &str, sql: &str| [kind, name, table, sql].map(str::to_string);
    let objects = schema.objects.iter().map(|o| object(o.kind.word(), &o.name, &o.table, &o.sql));
    let held = plan.held.iter().map(|held| object(HELD, &held.column, &held.table, held.holds.word()));
    let objects: Vec<[String; 4]> = objects.chain(held).collect();
    let mut settings: Vec<(String, String)> =
        schema.pragmas.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    if has_keys(plan) {
        settings.push(("foreign_keys".to_string(), "on".to_string()));
    }
    if plan.rowids {
        settings.push((ROWIDS.0.to_string(), ROWIDS.1.to_string()));
    }
    let path = path(file)?;
    Ok(match target {
        Target::Postgres => vec![kept::make(&here, &path, &objects, &settings)],
        Target::MariaDb => kept_mariadb::make(&here, &path, &objects, &settings).into(),
    })
}

/// The current schema, on MariaDB the database.
fn here(server: &mut Server) -> Result<Option<String>> {
    first_text(
        server,
        match server.product.target() {
            Target::Postgres => "SELECT current_schema()::text",
            Target::MariaDb => "SELECT DATABASE()",
        },
    )
}

fn first_text(server: &mut Server, sql: &str) -> Result<Option<String>> {
    Ok(server.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next()).and_then(text))
}

/// No other schema of the server is this file's.
///
/// # Errors
/// Another schema has this path as its comment; the shim could not choose.
pub fn is_nowhere_else(server: &mut Server, file: &Path) -> Result<()> {
    let here = here(server)?;
    let (find, drop): (_, fn(&str) -> String) = match server.product.target() {
        Target::Postgres => (kept::find(&path(file)?), |name| format!("DROP SCHEMA {} CASCADE", kept::quoted(name))),
        Target::MariaDb => (kept_mariadb::find(&path(file)?), |name| format!("DROP DATABASE `{name}`")),
    };
    let there = first_text(server, &find)?.filter(|there| Some(there) != here.as_ref());
    if let Some(there) = there {
        bail!(
            "{} has the database of {} in {there} already; {} removes it",
            server.address,
            file.display(),
            drop(&there)
        );
    }
    Ok(())
}

/// Goes to the only schema with a database, if the current one has none.
///
/// # Errors
/// There are several.
pub fn enter_only(server: &mut Server) -> Result<()> {
    if server.product.target() != Target::Postgres {
        return Ok(());
    }
    let there = server.product.tables()?;
    if there.iter().any(|name| name == TABLE || *name == relation("schema")) {
        return Ok(());
    }
    let sql = format!(
        "SELECT n.nspname::text FROM pg_catalog.pg_class s JOIN pg_catalog.pg_namespace n ON n.oid = s.relnamespace \
         WHERE s.relname IN ('{TABLE}', '{}') AND s.relkind = 'r' GROUP BY 1 ORDER BY 1",
        relation("schema")
    );
    let names = server.rows(&sql)?.into_iter().filter_map(|row| row.into_iter().next().and_then(text));
    let names: Vec<String> = names.collect();
    ensure!(
        names.len() < 2,
        "{} has databases in several schemas; name one with --schema: {}",
        server.address,
        names.join(", ")
    );
    names.first().map_or(Ok(()), |name| server.product.enter(name))
}

fn relation(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// What the shim keeps of the database, which may have changed since it came from SQLite. `None` where it keeps none.
///
/// # Errors
/// The server cannot be asked.
pub fn read(server: &mut Server, of_ledger: &Kept) -> Result<Option<Kept>> {
    if !server.product.tables()?.contains(&relation("schema")) {
        return Ok(None);
    }
    let sql = format!("SELECT type, name, tbl_name, \"sql\" FROM {} ORDER BY position", relation("schema"));
    let mut now = Kept { last_keys: of_ledger.last_keys.clone(), ..Kept::default() };
    for (row, position) in server.rows(&sql)?.into_iter().zip(1..) {
        let texts: Option<Vec<String>> = row.into_iter().map(text).collect();
        let Some([kind, name, table, sql]) = texts.and_then(|texts| <[String; 4]>::try_from(texts).ok()) else {
            bail!("{} has a row that contend did not write", relation("schema"))
        };
        if kind == HELD {
            now.held.push(Held { table, column: name, holds: ParamType::of_word(&sql) });
            continue;
        }
        now.objects.push(Entry { position, kind, name, table, sql, number: 0, state: State::Done });
    }
    for row in server.rows(&format!("SELECT name, value FROM {}", relation("settings")))? {
        let [Value::Text(name), Value::Text(value)] = &row[..] else { continue };
        now.rowids |= name == ROWIDS.0;
        if PRAGMAS.contains(&name.as_str()) {
            now.pragmas.push((name.clone(), value.parse().unwrap_or(0)));
        }
    }
    Ok(Some(now))
}
