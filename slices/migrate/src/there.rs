//! From SQLite to a server.

use crate::kept;
use crate::ledger::{self, Entry, State};
use crate::look::{self, Schema};
use crate::misfits::{self, Misfit, Room};
use crate::plan::{self, Asked, Makes, Plan};
use crate::profile::{self, Profile};
use crate::progress::Progress;
use crate::prove::{Proof, Sides};
use crate::remake;
use crate::server::Server;
use crate::show::{self, Way};
use crate::stopped::{Unbegun, go_on};
use crate::write::Work;
use crate::{rehearse, violations};
use anyhow::{Result, bail, ensure};
use contend::cli::{INVALID, OK};
use contend::source::did_you_mean;
use contend::trial::stop::Cancelled;
use contend_worker::argument::Argument;
use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What a proof that fails means for a migration that was not finished before.
const UNPROVED: &str = "the migration is not finished: if the server's rows were changed, change them back, and prove them \
                        with --resume; if the source was changed, drop the tables on the server, and begin again";

/// The user's options.
pub struct There<'t> {
    pub file: &'t Path,
    pub to: &'t str,
    pub schema: Option<&'t str>,
    pub dry_run: bool,
    pub resume: bool,
    pub without: Vec<String>,
    pub foreign_keys: bool,
    pub rowids: bool,
    pub commit_rows: u64,
}

/// Carries out the migration; returns the exit status.
///
/// # Errors
/// The problem with the source or the server, and what to do.
pub fn migrate(asked: &There<'_>, stop: &AtomicBool) -> Result<u8> {
    let had_log = look::has_log(asked.file);
    let done = migrated(asked, stop);
    if !had_log {
        look::remove_log(asked.file);
    }
    done
}

/// Checks that the source has what is to be left out.
fn are_there(asked: &There<'_>, schema: &Schema) -> Result<()> {
    let missing = asked.without.iter().find(|name| !schema.objects.iter().any(|object| object.is_of(name)));
    let Some(name) = missing else { return Ok(()) };
    let meant = did_you_mean(name, schema.objects.iter().map(|object| object.name.as_str()));
    bail!("--without {name}: {} has no such table, index, view or trigger{meant}", asked.file.display())
}

fn migrated(asked: &There<'_>, stop: &AtomicBool) -> Result<u8> {
    let mut source = look::open(asked.file)?;
    let schema = look::schema(&source)?;
    are_there(asked, &schema)?;
    let mut server = Server::connect(asked.to, asked.schema, asked.resume)?;
    let entries = ledger::read(&mut server)?;
    kept::is_nowhere_else(&mut server, asked.file)?;
    let in_the_way = if asked.resume { None } else { is_free(&mut server, &schema, &entries, &asked.without).err() };
    let in_the_way = match in_the_way {
        Some(error) if !asked.dry_run => return Err(error),
        other => other,
    };
    ensure!(
        !asked.resume || !entries.is_empty(),
        "{} has no migration to continue; leave out --resume",
        server.address
    );
    let unbegun = |error: anyhow::Error| if error.is::<Cancelled>() && !asked.resume { Unbegun.into() } else { error };
    let profiles = profiled(&source, &schema, &asked.without, stop).map_err(unbegun)?;
    let target = server.product.target();
    // A migration that was begun without rowids goes on without.
    let rowids = asked.rowids && (!asked.resume || ledger::kept(&entries).rowids);
    let (without, foreign_keys) = (asked.without.clone(), asked.foreign_keys);
    let mut plan = plan::of(&schema, &profiles, &Asked { target, without, foreign_keys, rowids });
    let room = Room { target, value_bytes: server.product.value_bytes()? };
    let misfits = unfit((&source, stop), &schema, &profiles, &plan, room).map_err(unbegun)?;
    if !asked.resume && in_the_way.is_none() && plan.refused.is_empty() {
        plan.refused = rehearse::refused(server.product.as_mut(), &plan, asked.schema)?;
    }
    let to = format!("{}, {}", server.version, server.address);
    let way = Way { from: asked.file.display().to_string(), to };
    // Without a table that is refused, its indexes cannot be made again either, for a reason that is listed already.
    let lost = if plan.refused.is_empty() { no_way_back(&schema, &plan)? } else { vec![] };
    show::plan(&way, &plan, &misfits, lost)?;
    if asked.dry_run {
        show::statements(&plan)?;
        in_the_way.map_or(Ok(()), Err)?;
        show::conclusion(&show::obstacles(&plan, &misfits), plan.left.len(), &["--to"])?;
    }
    if !plan.refused.is_empty() || !misfits.is_empty() {
        return Ok(INVALID);
    }
    if asked.dry_run {
        return Ok(OK);
    }
    if asked.resume {
        is_the_same(&entries, &schema, &plan)?;
    }
    let proofs = written(asked, &mut source, &mut server, (&schema, &plan), stop)?;
    let is_same = show::proof(&way, &proofs)?;
    if !is_same {
        let is_finished = entries.first().is_some_and(|first| first.state == State::Done);
        if !is_finished {
            contend::tell!("contend: {UNPROVED}");
        }
        return Ok(INVALID);
    }
    let last = kept::statements(&mut server, asked.file, &schema, &plan).map_err(unfinished)?;
    server.product.make(&last, &ledger::finished(), false).map_err(unfinished)?;
    show::shim(asked.file, asked.to, &kept::obstacles(&plan, target))?;
    Ok(OK)
}

/// Objects of the schema that SQLite does not make again without the application, and why.
fn no_way_back(schema: &Schema, plan: &Plan) -> Result<Vec<String>> {
    let sqlite = Connection::open_in_memory()?;
    let kept = ledger::kept(&ledger::entries(schema, plan));
    let tables = remake::tables(&sqlite, &kept).into_iter().map(|e| format!("{e:#}"));
    Ok(tables.chain(remake::rest(&sqlite, &kept)?.failed).collect())
}

/// Names the table that cannot be read, and what to do.
fn unreadable(error: anyhow::Error, table: &look::Table) -> anyhow::Error {
    match error.downcast_ref::<rusqlite::Error>().map(look::is_unknown) {
        Some(true) => error.context(format!(
            "table {name} needs the application's functions or collations; leave it out with --without {name}",
            name = table.name
        )),
        Some(false) => error.context(format!("table {}", table.name)),
        None => error,
    }
}

/// Reads the profiles of all tables; those of `without` stay empty.
fn profiled(source: &Connection, schema: &Schema, without: &[String], stop: &AtomicBool) -> Result<Vec<Profile>> {
    let progress = Progress::new();
    progress.phase("reading the source");
    let of_table = |table: &look::Table| {
        if without.iter().any(|name| name.eq_ignore_ascii_case(&table.name)) {
            return Ok(Profile::default());
        }
        progress.begin(&format!("reading table {}", table.name), None);
        go_on(stop)?;
        profile::of_table(source, table, stop).map_err(|error| unreadable(error, table))
    };
    schema.tables.iter().map(of_table).collect()
}

/// Writes what is missing, and compares.
fn written(
    asked: &There<'_>,
    source: &mut Connection,
    server: &mut Server,
    (schema, plan): (&Schema, &Plan),
    stop: &AtomicBool,
) -> Result<Vec<Proof>> {
    let progress = Progress::new();
    let (tables, commit_rows) = (&schema.tables, asked.commit_rows);
    let mut work = Work { source: &mut *source, tables, server: &mut *server, progress: &progress, stop, commit_rows };
    progress.phase("making the tables");
    if !asked.resume {
        work.begin(plan, &ledger::entries(schema, plan), asked.schema)?;
    }
    let entries = ledger::read(work.server)?;
    work.carry_on(plan, &entries).map_err(unfinished)?;
    progress.phase("reading both sides again");
    server.product.snapshot()?;
    let proofs = Sides { sqlite: source, tables, server, progress: &progress, stop }.prove(&plan.tables)?;
    server.product.run("COMMIT")?;
    Ok(proofs)
}

fn unfinished(error: anyhow::Error) -> anyhow::Error {
    match error.is::<Cancelled>() {
        true => error,
        false => error.context(
            "the migration is not finished; --resume continues it, unless the source has changed since: then begin again",
        ),
    }
}

/// Checks that the server has none of the tables.
fn is_free(server: &mut Server, schema: &Schema, entries: &[Entry], without: &[String]) -> Result<()> {
    let address = server.address.clone();
    if let Some(first) = entries.first() {
        let state = if first.state == State::Done { "a finished migration" } else { "an unfinished migration" };
        bail!(
            "{address} has {state} of contend: --resume continues and proves it; to begin again, drop its tables, {} and {}*",
            ledger::TABLE,
            contend_wire::kept::PREFIX
        );
    }
    let there = server.product.taken()?;
    let is_wanted = |name: &&String| {
        let object = schema.objects.iter().find(|object| object.name.eq_ignore_ascii_case(name));
        **name == ledger::TABLE
            || name.starts_with(contend_wire::kept::PREFIX)
            || object.is_some_and(|object| !without.iter().any(|name| object.is_of(name)))
    };
    let taken: Vec<&str> = there.iter().filter(is_wanted).map(String::as_str).collect();
    ensure!(taken.is_empty(), "{address} already has {}; name an empty database, or drop them", taken.join(", "));
    Ok(())
}

/// Checks that a resumed migration has the same schema and options as at its beginning.
fn is_the_same(entries: &[Entry], schema: &Schema, plan: &Plan) -> Result<()> {
    let same = entries.first().is_some_and(|first| first.sql == ledger::fingerprint(schema, plan));
    ensure!(
        same,
        "the schema of the source, what its columns hold, or the options are not those that the migration was begun with; \
         begin again: drop its tables, {} and {}* on the server",
        ledger::TABLE,
        contend_wire::kept::PREFIX
    );
    Ok(())
}

/// All values that do not fit.
fn unfit(
    (source, stop): (&Connection, &AtomicBool),
    schema: &Schema,
    profiles: &[Profile],
    plan: &Plan,
    room: Room,
) -> Result<Vec<Misfit>> {
    let mut found = vec![];
    for table in &plan.tables {
        go_on(stop)?;
        let mut of = schema.tables.iter().zip(profiles);
        let Some((of, profile)) = of.find(|(of, _)| of.name == table.name) else { continue };
        found.extend(misfits::of_table(table, of, profile, room));
        let above = |columns: &[&str], size: &dyn Fn(&[Argument<'_>]) -> usize, most| {
            profile::above((source, stop), of, columns, size, most)
        };
        found.extend(misfits::too_long(table, of, profile, room, above)?);
        let step = |makes| plan.steps.iter().find(|step| step.makes == makes && step.table == table.name);
        if let Some(create) = step(Makes::Table) {
            found.extend(violations::of_constraints((source, stop), of, table, &create.original)?);
        }
        if step(Makes::ForeignKey).is_some() {
            found.extend(violations::of_foreign_keys(source, of)?);
        }
    }
    go_on(stop)?;
    Ok(found)
}
