//! `contend replay --to`: a capture of SQLite on PostgreSQL or MariaDB.
//!
//! ```text
//! trace ─► schema ─► plan (pieces, keys, values) ─► child (contend migrate) ─► carry (link) ─► child ─► compare
//! ```
//!
//! Nothing is written on the server before the plan has a translation for each statement.

mod carry;
mod child;
mod foreign_keys;
mod keys;
mod link;
mod mariadb;
mod pieces;
mod plan;
mod postgres;
mod savepoints;
mod schema;
mod values;

use crate::alike::folded;
use crate::content::quoted;
use crate::copies::{Counts, compare, copy_of};
use crate::gaps::only_of_the_program;
use crate::manifest::{Database, Manifest};
use crate::order::{Pace, Unit, units};
use crate::outcome::{Left, Replayed, not_compared};
use crate::program::Shapes;
use crate::sql::Does;
use crate::trace::{Call, Trace};
use anyhow::{Context, Result, bail};
use carry::Carrying;
use child::migrate;
use contend::stats::harmless::harmless;
use contend::stats::precision::counted;
use contend::trial::server::attached::Attached;
use contend::trial::watch::janitor::Janitor;
use contend_sql::Target;
use contend_wire::kept::{PREFIX, sentinel};
use foreign_keys::foreign_keys;
use keys::Counter;
use link::{Failed, Link};
use pieces::{Role, pieces};
use plan::{Plan, Translator, plan};
use schema::{Course, Schema, schema};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The user's options.
pub struct Asked<'a> {
    pub taken: &'a Path,
    pub manifest: &'a Manifest,
    /// A directory for the replay.
    pub dir: &'a Path,
    /// Address of the server.
    pub to: &'a str,
    /// Whether to go on without statements that have no translation.
    pub skips_refused: bool,
    pub speed: Option<f64>,
}

/// A server, and the process that removes its password file.
struct Server {
    attached: Attached,
    janitor: Janitor,
    target: Target,
}

/// The database that `contend migrate` brings to the server.
const SEED: &str = "begin.db";

/// Replays a capture on a server. `None`: it was stopped.
///
/// # Errors
/// The capture cannot be replayed on a server, or the server refuses.
pub fn replay(asked: &Asked<'_>, stop: &AtomicBool) -> Result<Option<Replayed>> {
    let done = replayed(asked, stop);
    remove_seed(asked.dir);
    done
}

/// Removes the copy of the program's data.
fn remove_seed(dir: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(dir.join(format!("{SEED}{end}")));
    }
}

fn replayed(asked: &Asked<'_>, stop: &AtomicBool) -> Result<Option<Replayed>> {
    let server = Server::at(asked.to)?;
    let mut outcome = Replayed::default();
    let whole = Trace::read(asked.taken, asked.manifest)?;
    (outcome.captured_ns, outcome.missing) = (whole.to_ns - whole.from_ns, whole.missing(asked.manifest));
    let database = chosen(asked.manifest, &whole, &mut outcome.left_out)?;
    let trace = whole.only(&database.path);
    let shapes = Shapes::of(&trace);
    let units = units(&trace, &shapes, &mut outcome.left_out);
    outcome.left_out.extend(only_of_the_program(&trace, false));
    let seed = asked.dir.join(SEED);
    steady(asked.taken, database, &seed, (&trace, &shapes, &units))?;
    let has_foreign_keys = foreign_keys(&trace, &mut outcome.left_out);
    let schema = schema(&seed, server.target, has_foreign_keys)?;
    outcome.left_out.extend(folded(&schema.left_out));
    let mut translator = Translator::new(&schema.catalogue, server.target, oldest(&trace));
    let mut plan = plan(&mut translator, (&trace, &shapes), &units);
    outcome.refused = std::mem::take(&mut plan.refused);
    if plan.refused_calls > 0 && !asked.skips_refused {
        outcome.left_out = plan.losing.into_iter().collect();
        outcome.not_compared = Some(server.refuses(plan.refused_calls));
        return Ok(Some(outcome));
    }
    outcome.left_out.extend(plan.left_out.iter().chain(&plan.losing).cloned());
    let left = server.left(&schema);
    let had_ledger = server.has_ledger()?;
    let work = Work { asked, server: &server, plan: &plan, fired: &schema.fired, seed: &seed, stop };
    let done = work.carry_out((&trace, &shapes, &units), has_foreign_keys, &mut outcome);
    if !matches!(done, Ok(true)) && !had_ledger && server.has_ledger().unwrap_or(true) {
        let remove = harmless(&left.remove);
        contend::tell!("what was made so far is left on {}; to remove it: {remove}", left.address);
    }
    if !done? {
        return Ok(None);
    }
    outcome.left = Some(left);
    let end = database.end.as_ref().and_then(|end| end.copy.as_ref()).context("a copy that was there")?;
    let both = [copy_of(asked.dir, 0), asked.taken.join(end)];
    outcome.databases.push(compare(&database.path, &both, Counts::Rows)?);
    outcome.not_compared = not_compared(asked.manifest, &outcome.databases);
    Ok(Some(outcome))
}

/// The database with the most calls. The others are left out.
fn chosen<'m>(manifest: &'m Manifest, trace: &Trace, left_out: &mut BTreeSet<String>) -> Result<&'m Database> {
    let calls_on = |database: &&Database| trace.calls.iter().filter(|call| trace.is_on(call, &database.path)).count();
    let Some(database) = manifest.databases.iter().max_by_key(calls_on) else {
        bail!("the program opened no database file")
    };
    for other in manifest.databases.iter().filter(|other| other.path != database.path) {
        let path = other.path.display();
        left_out
            .insert(format!("{path} is left out: a replay on a server has one database, that with the most calls."));
    }
    let is_of_file = |call: &&Call| manifest.databases.iter().any(|database| trace.is_on(call, &database.path));
    let others = trace.calls.iter().filter(|call| !is_of_file(call)).count();
    if others > 0 {
        left_out.insert(format!("{} on databases in memory are left out.", counted(others, "statement")));
    }
    Ok(database)
}

/// Makes the database for the replay, which must have one definition of each object during the whole capture.
fn steady(
    taken: &Path,
    database: &Database,
    seed: &Path,
    (trace, shapes, units): (&Trace, &Shapes, &[Unit]),
) -> Result<()> {
    let mut course = Course::begin(taken, database, seed)?;
    let is_rolled_back =
        |unit: &&Unit| unit.calls.last().is_some_and(|last| shapes.get(&trace.calls[*last]).does == Does::Rollback);
    for call in units.iter().filter(|unit| !is_rolled_back(unit)).flat_map(|unit| &unit.calls) {
        let call = &trace.calls[*call];
        let all = if call.has_failed() { vec![] } else { pieces(&call.sql) };
        all.iter().filter(|piece| piece.role == Role::Defines).try_for_each(|piece| course.take(piece.text))?;
    }
    course.is_steady(seed)
}

/// The oldest version of SQLite in the capture, as a number.
fn oldest(trace: &Trace) -> u32 {
    let number = |version: &str| {
        let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
        Some(parts.next()?? * 1_000_000 + parts.next()?? * 1_000 + parts.next()??)
    };
    trace.connections.values().filter_map(|one| number(&one.version)).min().unwrap_or(0)
}

impl Server {
    fn at(to: &str) -> Result<Server> {
        let (attached, janitor) = Attached::alone(to).context("--to")?;
        let shown = attached.shown();
        if shown.address.database.is_empty() {
            bail!("--to {shown}: name an empty database: {}://USER@HOST/DATABASE", shown.scheme);
        }
        let target = if shown.scheme == "postgres" { Target::Postgres } else { Target::MariaDb };
        Ok(Server { attached, janitor, target })
    }

    fn title(&self) -> &'static str {
        match self.target {
            Target::Postgres => "PostgreSQL",
            Target::MariaDb => "MariaDB",
        }
    }

    /// Why nothing was carried out.
    fn refuses(&self, calls: u64) -> String {
        format!(
            "{} without a translation to {}: nothing was written on the server. Change the program and capture it again, \
             or replay the rest with --skip-refused",
            counted(usize::try_from(calls).unwrap_or(usize::MAX), "call"),
            self.title()
        )
    }

    fn open(&self, needs_pack: bool) -> Result<Box<dyn Link>> {
        let database = contend_wire::database::Database::Server(self.attached.address.address.clone());
        let opened: Result<Box<dyn Link>> = match self.target {
            Target::Postgres => postgres::Postgres::open(&database, needs_pack).map(|link| Box::new(link) as _),
            Target::MariaDb => mariadb::MariaDb::open(&database).map(|link| Box::new(link) as _),
        };
        opened.with_context(|| self.attached.shown().to_string())
    }

    /// Whether a migration has begun on the server.
    fn has_ledger(&self) -> Result<bool> {
        match self.open(false)?.run("SELECT 1 FROM contend_migration") {
            Ok(()) => Ok(true),
            Err(Failed::Refused(..)) => Ok(false),
            Err(Failed::Lost(why)) => bail!("the connection to the server is lost: {why}"),
        }
    }

    /// What a replay leaves on the server, and the statements that remove it.
    fn left(&self, schema: &Schema) -> Left {
        let own = ["contend_migration".to_string()].into_iter();
        let kept = [format!("{PREFIX}schema"), format!("{PREFIX}settings"), sentinel(1)];
        let listed = |names: Vec<String>, quote: fn(&str) -> String| {
            names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")
        };
        let tables = schema.tables.iter().cloned().chain(own).chain(kept);
        let remove = match self.target {
            Target::Postgres => {
                let views = match schema.views.is_empty() {
                    true => String::new(),
                    false => format!("DROP VIEW IF EXISTS {} CASCADE; ", listed(schema.views.clone(), quoted)),
                };
                let tables = listed(tables.collect(), quoted);
                let functions = match schema.functions.is_empty() {
                    true => String::new(),
                    false => format!("; DROP FUNCTION IF EXISTS {} CASCADE", schema.functions.join(", ")),
                };
                format!("{views}DROP TABLE IF EXISTS {tables} CASCADE{functions}")
            }
            Target::MariaDb => {
                let quote: fn(&str) -> String = |name| contend::engine::server::quoted(name, '`');
                let views = match schema.views.is_empty() {
                    true => String::new(),
                    false => format!("DROP VIEW IF EXISTS {}; ", listed(schema.views.clone(), quote)),
                };
                let tables = listed(tables.collect(), quote);
                format!("SET foreign_key_checks = 0; {views}DROP TABLE IF EXISTS {tables}")
            }
        };
        Left { address: self.attached.shown().to_string(), remove }
    }
}

/// A replay whose plan is complete.
struct Work<'w> {
    asked: &'w Asked<'w>,
    server: &'w Server,
    plan: &'w Plan,
    fired: &'w [Counter],
    seed: &'w Path,
    stop: &'w AtomicBool,
}

impl Work<'_> {
    /// Brings the content to the server, carries out the units and brings the content back. Returns whether it was not
    /// stopped.
    fn carry_out(
        &self,
        (trace, shapes, units): (&Trace, &Shapes, &[Unit]),
        has_foreign_keys: bool,
        outcome: &mut Replayed,
    ) -> Result<bool> {
        // With the password in a private file, if one was typed.
        let address = self.server.attached.address.to_string();
        let seed = self.seed.to_string_lossy();
        // The translations of a replay name no column that SQLite does not have, and `*` would read it.
        let mut there = vec![&*seed, "--to", &address, "--no-rowids"];
        there.extend((!has_foreign_keys).then_some("--no-foreign-keys"));
        let cannot = "the content at the beginning cannot be brought to the server; a replay needs an empty database: name \
                      another one, or run the statement with which the replay before it ended";
        if !self.migrate(&there).context(cannot)? {
            return Ok(false);
        }
        remove_seed(self.asked.dir);
        let link = self.server.open(self.plan.needs_pack)?;
        let mut carrying = Carrying::new((trace, shapes), (self.plan, self.fired), link);
        let begin = Instant::now();
        if !carrying.units(units, &Pace { speed: self.asked.speed, begin, stop: self.stop })? {
            return Ok(false);
        }
        outcome.replayed_ns = u64::try_from(begin.elapsed().as_nanos())?;
        (outcome.transactions, outcome.statements) = (carrying.transactions, carrying.statements);
        outcome.diverged = carrying.diverged.into_all();
        outcome.left_out.extend(carrying.left_out);
        drop(carrying.link);
        let file = copy_of(self.asked.dir, 0);
        let back = [address.as_str(), "--to", &file.to_string_lossy()];
        self.migrate(&back).context("the content of the server cannot be brought back")
    }

    fn migrate(&self, args: &[&str]) -> Result<bool> {
        migrate(args, self.asked.dir, &self.server.janitor, self.stop)
    }
}
