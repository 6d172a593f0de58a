//! Carries out a workload on SQLite in memory.

use anyhow::{Context, Result, anyhow, ensure};
use contend::load::{Arrivals, Load};
use contend::source::Source;
use contend::stats::precision::counted;
use contend::workload::model::Begin;
use contend::workload::{self, Data, DrawRequest, TransactionSpec, Workload};
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Operation, Source as Of, SqlStep, Step};
use contend_wire::script::{ScriptLine, ScriptReader, Target};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rows and bytes that are loaded at most: more take too long.
const ROWS_MAX: u64 = 300_000;
const BYTES_MAX: u64 = 64 << 20;
/// Operations and arguments that are drawn at most, and the time for the operations.
pub const OPERATIONS: u32 = 3_000;
const ARGUMENTS: usize = 300_000;
const TIME: Duration = Duration::from_secs(1);
/// Time after which a statement is interrupted.
const DEADLINE: Duration = Duration::from_secs(5);
/// Share of failed operations that is listed.
pub const FAILURES: f64 = 0.05;

/// How a workload is tried out.
pub struct Trial<'t> {
    /// The capture's directory.
    pub dir: &'t Path,
    /// Files with rows, and the paths at which they are now.
    pub files: BTreeMap<PathBuf, PathBuf>,
    pub foreign_keys: bool,
    /// Size of the rows, about.
    pub bytes: u64,
    /// Number of captured transactions.
    pub transactions: usize,
    /// The command that captures the program with its values.
    pub again: String,
}

/// Why the rows of a workload cannot be loaded, in the trial or in a run.
#[derive(Debug)]
pub struct NotLoaded(String);

impl std::error::Error for NotLoaded {}

impl std::fmt::Display for NotLoaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl NotLoaded {
    fn new(why: &anyhow::Error, has_rows: bool, again: &str) -> NotLoaded {
        let code = why.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        NotLoaded(match (code, has_rows) {
            (Some(ErrorCode::ConstraintViolation), false) => format!(
                "its rows are made up, and do not fit the schema: {why}. A capture with values has the program's rows: {again}"
            ),
            (Some(ErrorCode::ConstraintViolation), true) => format!("its rows do not fit the schema: {why}"),
            _ => format!("its tables cannot be made: {why:#}"),
        })
    }
}

/// What the operations of a transaction did.
#[derive(Default)]
pub struct Tally {
    operations: u64,
    failed: u64,
    /// Why the first one failed.
    why: Option<String>,
    /// Rows and executions of each statement.
    pub statements: Vec<(u64, u64)>,
}

impl Tally {
    pub fn failed_share(&self) -> f64 {
        self.failed as f64 / self.operations.max(1) as f64
    }

    /// How many operations failed, if that is more than one of 20.
    pub fn failures(&self) -> Option<String> {
        let why = self.why.as_ref().filter(|_| self.failed_share() > FAILURES)?;
        let all = counted(self.operations as usize, "operation");
        let fail = if self.operations == 1 { "fails" } else { "fail" };
        Some(format!("{} of {all} {fail} in the workload: {why}", self.failed))
    }
}

/// What the operations of all transactions did.
pub type Tallies = BTreeMap<String, Tally>;

/// # Errors
/// The tables are too large, or the workload cannot be carried out.
pub fn carry_out(text: &str, trial: &Trial, operations: u32) -> Result<Tallies> {
    let source = Source::new(trial.dir.join("workload.toml").display().to_string(), text.to_string());
    let workload = workload::parse(&source)?;
    let rows = workload.rows(1.0).values().sum::<u64>();
    ensure!(rows <= ROWS_MAX && trial.bytes <= BYTES_MAX, "its tables are too large for that");
    let limit = Instant::now() + DEADLINE;
    let db = loaded(&workload, trial, limit).map_err(|why| match Instant::now() > limit {
        true => why.context("its tables take too long to load"),
        false => NotLoaded::new(&why, !trial.files.is_empty(), &trial.again).into(),
    })?;
    let arguments = |spec: &TransactionSpec| {
        spec.arguments.iter().map(|group| group.repeat as usize * group.carried.len()).sum::<usize>()
    };
    let most = workload.transactions.iter().map(arguments).max().unwrap_or(0).max(1);
    let operations = operations.min(u32::try_from(ARGUMENTS / most)?);
    let axes = BTreeMap::new();
    let load = load(operations.max(1));
    let request = DrawRequest { seed: 1, scale: 1.0, profile: None, load: &load, axes: &axes };
    let each = operations.div_ceil(workload.clients(&request)?.max(1)).max(1);
    let load = Load { operations: Some(each), ..load.clone() };
    let drawn = workload.draw_clients(&DrawRequest { load: &load, ..request })?;
    let begun = Instant::now();
    let mut all = Tallies::new();
    let mut clients: Vec<(&Client, u64)> =
        drawn.workers.iter().flat_map(|worker| &worker.clients).map(|client| (client, 0)).collect();
    for at in 0..each as usize {
        for (client, uniques) in &mut clients {
            let Some(operation) = client.operations.get(at) else { continue };
            if begun.elapsed() > TIME || Instant::now() > limit {
                return Ok(all);
            }
            let spec = &workload.transactions[usize::from(operation.transaction)];
            let attempt = Attempt {
                db: &db,
                workload: &workload,
                texts: &drawn.texts,
                client,
                operation,
                first_unique: *uniques,
            };
            attempt.carry_out(spec, all.entry(spec.name.clone()).or_default())?;
            *uniques += u64::from(spec.uniques);
        }
    }
    Ok(all)
}

/// A closed loop of this many operations for each client.
fn load(cycle: u32) -> Load {
    Load {
        processes: None,
        clients: None,
        operations: None,
        window_ns: 0,
        run_in_ns: 0,
        drain_ns: 0,
        rate_per_s: None,
        arrivals: Arrivals::Poisson,
        cycle,
        scale: 1.0,
        seed: 1,
    }
}

/// The database of the workload. It has no way to another file: a capture can be another person's.
fn loaded(workload: &Workload, trial: &Trial, limit: Instant) -> Result<Connection> {
    let db = Connection::open_in_memory()?;
    let open = |path: &Path| -> std::io::Result<Box<dyn BufRead>> {
        let at = trial.files.get(path).map_or(path, PathBuf::as_path);
        Ok(Box::new(BufReader::new(File::open(at)?)))
    };
    let database = Database::File(":memory:".into());
    let target = Target { driver: "sqlite".into(), database, options: vec![], session: vec![] };
    let data = Data { workload, scale: 1.0, seed: 1 };
    db.authorizer(Some(|of: AuthContext<'_>| match of.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }))?;
    db.progress_handler(10_000, Some(move || Instant::now() > limit))?;
    // As contend's own loader.
    db.pragma_update(None, "foreign_keys", false)?;
    db.execute_batch("BEGIN")?;
    data.scripts(1 << 20, &target, &open, &mut |script| {
        let mut insert = None;
        for line in ScriptReader::new(&script)? {
            match line?.1 {
                ScriptLine::Sql(statement) => db.execute_batch(&statement.sql)?,
                ScriptLine::Load(load) => insert = Some(db.prepare(&load.sql)?),
                ScriptLine::Row(values) => {
                    let insert = insert.as_mut().context("rows come after their statement")?;
                    insert.execute(params_from_iter(values.iter().map(Bound)))?;
                }
            }
        }
        Ok(())
    })?;
    db.execute_batch("COMMIT")?;
    db.pragma_update(None, "foreign_keys", trial.foreign_keys)?;
    Ok(db)
}

/// An operation that is carried out.
struct Attempt<'a> {
    db: &'a Connection,
    workload: &'a Workload,
    texts: &'a [String],
    client: &'a Client,
    operation: &'a Operation,
    first_unique: u64,
}

impl Attempt<'_> {
    fn carry_out(&self, spec: &TransactionSpec, tally: &mut Tally) -> Result<()> {
        let steps = spec.steps.iter().filter_map(|step| if let Step::Sql(step) = step { Some(step) } else { None });
        let steps: Vec<&SqlStep> = steps.collect();
        tally.statements.resize(steps.len(), (0, 0));
        tally.operations += 1;
        let is_open = spec.begin != Begin::None;
        if is_open {
            self.db.execute_batch("BEGIN")?;
        }
        let mut kept = vec![None; usize::from(spec.slots)];
        let done = steps.iter().zip(&mut tally.statements).try_for_each(|(step, (rows, executions))| {
            (0..step.repeat as u16).try_for_each(|repetition| {
                *rows += self.step(step, repetition, &mut kept)?;
                *executions += 1;
                Ok(())
            })
        });
        let commit = if is_open { "COMMIT" } else { "" };
        let done = done.and_then(|()| Ok(self.db.execute_batch(commit)?));
        if let Err::<(), anyhow::Error>(why) = done {
            if is_interrupted(&why) {
                tally.operations -= 1;
            } else {
                tally.failed += 1;
                // Without the code, which says the same.
                tally.why.get_or_insert_with(|| why.to_string());
            }
            if !self.db.is_autocommit() {
                self.db.execute_batch("ROLLBACK")?;
            }
        }
        Ok(())
    }

    /// Rows that a statement returns, or changes if it has no columns.
    fn step(&self, step: &SqlStep, repetition: u16, kept: &mut [Option<Value>]) -> Result<u64> {
        let mut statement = self.db.prepare_cached(&self.workload.statements[step.statement as usize])?;
        let values = step.args.iter().map(|of| self.value(of, repetition, kept)).collect::<Result<Vec<_>>>()?;
        let values = params_from_iter(values.iter().map(Bound));
        if statement.column_count() == 0 {
            return Ok(statement.execute(values)? as u64);
        }
        step.keep.iter().for_each(|keep| kept[usize::from(keep.slot)] = None);
        let (mut rows, mut count) = (statement.query(values)?, 0);
        while let Some(row) = rows.next()? {
            for keep in step.keep.iter().filter(|_| count == 0) {
                kept[usize::from(keep.slot)] = Some(value_of(row.get_ref(usize::from(keep.column))?));
            }
            count += 1;
        }
        Ok(count)
    }

    fn value(&self, of: &Of, repetition: u16, kept: &[Option<Value>]) -> Result<Value> {
        Ok(match of {
            Of::Literal(value) => value.clone(),
            Of::Argument { first, stride } => {
                let at = self.operation.first_argument as usize + usize::from(first + stride * repetition);
                match &self.client.arguments[at] {
                    Value::TextRef(text) => Value::Text(self.texts[*text as usize].clone()),
                    value => value.clone(),
                }
            }
            Of::Kept { slot, plus: 0 } => {
                kept[usize::from(*slot)].clone().context("the statement that has its key found no row")?
            }
            Of::Unique { first, stride } => {
                let number = self.first_unique + u64::from(first + stride * repetition);
                Value::Integer((u64::from(self.client.id) << 40 | number).cast_signed())
            }
            other => return Err(anyhow!("a capture's workload has no argument of the kind {other:?}")),
        })
    }
}

/// Whether the deadline ended a statement, and not a failure.
fn is_interrupted(why: &anyhow::Error) -> bool {
    let code = why.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    code == Some(ErrorCode::OperationInterrupted)
}

fn value_of(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// A value as SQLite takes it.
struct Bound<'v>(&'v Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Owned(rusqlite::types::Value::Null),
            Value::Integer(number) => ToSqlOutput::from(*number),
            Value::Real(number) => ToSqlOutput::from(*number),
            Value::Text(text) => ToSqlOutput::from(text.as_str()),
            Value::Blob(bytes) => ToSqlOutput::from(bytes.as_slice()),
            Value::TextRef(_) => return Err(rusqlite::Error::InvalidQuery),
        })
    }
}
