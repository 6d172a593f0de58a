//! Carries out a plan: all tables, then their rows, then keys, indexes, views and triggers. The ledger changes in the
//! same transaction as the rows, so an interrupted migration continues at the exact row.

use crate::ledger::{self, Entry, State, account};
use crate::look::{self, each_row, listed};
use crate::plan::{Makes, Plan, Step, Table};
use crate::progress::Progress;
use crate::prove::Sides;
use crate::rows::{Form, put};
use crate::server::{Load, Product, Server};
use crate::stopped::go_on;
use anyhow::{Context, Result, bail};
use contend::trial::stop::Cancelled;
use contend_sql::{ParamType, Target, function_pack};
use contend_wire::kept::{install, lock, quoted};
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Largest size of a transaction's rows, not counting its last row.
const CHUNK_BYTES: usize = 8 << 20;

/// State of a migration in progress.
pub struct Work<'w> {
    pub source: &'w mut Connection,
    pub tables: &'w [look::Table],
    pub server: &'w mut Server,
    pub progress: &'w Progress,
    pub stop: &'w AtomicBool,
    /// Most rows of one transaction.
    pub commit_rows: u64,
}

/// Rows of one transaction, as text.
struct Chunk {
    rows: u64,
    text: Vec<u8>,
}

impl Work<'_> {
    /// Creates the schema, if it is missing, the ledger and all tables; if a table cannot be created, removes what it
    /// created.
    ///
    /// # Errors
    /// The server rejects a table.
    pub fn begin(&mut self, plan: &Plan, entries: &[Entry], schema: Option<&str>) -> Result<()> {
        let product = self.server.product.as_mut();
        let new_schema = prepare(product, plan, schema)?;
        let [create, fill] = ledger::begin(product.target(), entries);
        product.make(&[create], &fill, false)?;
        let mut made = vec![];
        let all = make_tables(product, plan, entries, false, |name| made.push(quoted(name)));
        if all.is_err() {
            // A table of another program is left alone, even if it has a planned name.
            for table in made.into_iter().chain([ledger::TABLE.to_string()]) {
                product.run(&format!("DROP TABLE IF EXISTS {table}"))?;
            }
            if let Some(schema) = new_schema {
                product.run(&format!("DROP {schema}"))?;
            }
        }
        all.context("nothing was written")
    }

    /// Carries out all steps that are not done yet.
    ///
    /// # Errors
    /// The server rejects a statement, the source cannot be read, or a signal arrived.
    pub fn carry_on(&mut self, plan: &Plan, entries: &[Entry]) -> Result<()> {
        make_tables(self.server.product.as_mut(), plan, entries, true, |_| ())?;
        let is_done = |entry: &Entry| entry.state == State::Done;
        self.progress.phase("loading the rows");
        for (table, (step, entry)) in plan.tables.iter().zip(plan.steps.iter().zip(&entries[1..])) {
            if !is_done(entry) {
                self.load(table, entry).with_context(|| format!("table {}", step.name))?;
            }
        }
        self.progress.phase("making indexes, keys and the rest");
        let rest =
            plan.steps.iter().zip(&entries[1..]).filter(|(step, entry)| step.makes != Makes::Table && !is_done(entry));
        // An interrupted run may have created the first of them.
        for (number, (step, entry)) in rest.enumerate() {
            go_on(self.stop)?;
            self.progress.begin(&format!("{} {}", step.makes.word(), step.name), None);
            let done = account(entry.position, 0, State::Done);
            let made = self.server.product.make(&step.sql, &done, number == 0);
            made.with_context(|| said_of(step))?;
        }
        if self.server.product.target() == Target::Postgres {
            // Until ANALYZE, the server plans queries for tables of a default size.
            for table in &plan.tables {
                self.server.product.run(&format!("ANALYZE {}", quoted(&table.name)))?;
            }
        }
        Ok(())
    }

    /// Loads the missing rows of a table.
    fn load(&mut self, table: &Table, entry: &Entry) -> Result<()> {
        let already = u64::try_from(entry.number).unwrap_or(0);
        let Some(of) = self.tables.iter().find(|of| of.name == table.name) else { bail!("it is not in the source") };
        if already > 0 {
            self.is_unchanged(table, already)?;
        }
        self.progress.begin(&format!("table {}", table.name), Some(table.rows));
        let (quoted, columns) = (quoted(&table.name), listed(table.stored()));
        let holds: Vec<ParamType> = table.columns.iter().filter(|c| !c.is_generated).map(|c| c.holds).collect();
        let reading = Reading {
            sql: format!("{} LIMIT -1 OFFSET {already}", of.all_rows(&of.listed(table.stored()))),
            form: self.server.product.form(),
            holds,
            commit_rows: self.commit_rows,
        };
        let (source, product, stop) = (&mut *self.source, self.server.product.as_mut(), self.stop);
        let progress = self.progress;
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Chunk>(1);
            let reader = scope.spawn(move || reading.read(source, &send));
            let mut there = already;
            for chunk in receive {
                if stop.load(Ordering::Relaxed) {
                    return Err(Cancelled.into());
                }
                let account = account(entry.position, there + chunk.rows, State::Made);
                let load =
                    Load { table: &quoted, columns: &columns, rows: chunk.rows, text: &chunk.text, account: &account };
                let loaded = product.load(&load);
                loaded.with_context(|| format!("rows {} to {}", there + 1, there + chunk.rows))?;
                there += chunk.rows;
                progress.at(there);
            }
            reader.join().expect("it does not panic")?;
            product.run(&account(entry.position, there, State::Done))
        })
    }

    /// Checks that the rows on the server are the first ones of the source: the next ones are found by their number.
    fn is_unchanged(&mut self, table: &Table, rows: u64) -> Result<()> {
        let Work { source, tables, server, progress, stop, .. } = self;
        let proof = Sides { sqlite: source, tables, server, progress, stop }.prove_first(table, rows)?;
        match proof.differs {
            Some(place) => bail!("the {rows} rows on the server are not the first ones of the source; {place}"),
            None => Ok(()),
        }
    }
}

/// How the source is read.
struct Reading {
    sql: String,
    form: Form,
    holds: Vec<ParamType>,
    commit_rows: u64,
}

impl Reading {
    fn read(&self, source: &Connection, send: &SyncSender<Chunk>) -> Result<()> {
        let empty = || Chunk { rows: 0, text: Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8) };
        let mut chunk = empty();
        each_row(source, &self.sql, |_, _, values| {
            put(&mut chunk.text, self.form, values, &self.holds);
            chunk.rows += 1;
            if chunk.text.len() >= CHUNK_BYTES || chunk.rows >= self.commit_rows {
                // Without a receiver the load has failed, and reports why.
                send.send(std::mem::replace(&mut chunk, empty())).ok().context("the rows are not taken any more")?;
            }
            Ok(())
        })?;
        if chunk.rows > 0 {
            send.send(chunk).ok().context("the rows are not taken any more")?;
        }
        Ok(())
    }
}

/// Creates the schema, if it is missing, and returns it; installs the functions, if they are needed.
///
/// # Errors
/// The server rejects that.
pub fn prepare(product: &mut dyn Product, plan: &Plan, schema: Option<&str>) -> Result<Option<String>> {
    let new_schema = match schema {
        Some(name) if !product.has_schema(name)? => Some(format!("SCHEMA {}", quoted(name))),
        _ => None,
    };
    if let Some(schema) = &new_schema {
        product.run(&format!("CREATE {schema}"))?;
    }
    if plan.needs_pack() {
        install_functions(product)?;
    }
    Ok(new_schema)
}

/// Installs the functions, while no other process does.
fn install_functions(product: &mut dyn Product) -> Result<()> {
    let [lock, unlock] = lock();
    product.run(&lock)?;
    let installed = product.run(&install(function_pack(Target::Postgres)));
    let unlocked = product.run(&unlock);
    installed.and(unlocked)
}

/// Creates the missing tables. `again`: an interrupted run may have created one without recording it.
fn make_tables(
    product: &mut dyn Product,
    plan: &Plan,
    entries: &[Entry],
    again: bool,
    mut made: impl FnMut(&str),
) -> Result<()> {
    let steps = plan.steps.iter().zip(&entries[1..]);
    for (step, entry) in steps.filter(|(step, entry)| step.makes == Makes::Table && entry.state == State::ToDo) {
        let done = product.make(&step.sql, &account(entry.position, 0, State::Made), again);
        done.with_context(|| said_of(step))?;
        made(&step.name);
    }
    Ok(())
}

fn said_of(step: &Step) -> String {
    format!("the server refuses the {} {}", step.makes.word(), step.name)
}
