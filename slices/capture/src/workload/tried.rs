//! Carries out a workload on SQLite in memory, to compare the rows that its statements find with those of the capture. Generators
//! that miss the program's values show here, and not as a wrong speed in a study.

use crate::sql::{Does, Shape};
use crate::trace::Call;
use crate::workload::ordered::{Ordered, with_argument};
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
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rows and bytes that are loaded at most: more take too long.
const ROWS_MAX: u64 = 300_000;
const BYTES_MAX: u64 = 64 << 20;
/// Operations and arguments that are drawn at most, and the time for the operations.
const OPERATIONS: u32 = 3_000;
const ARGUMENTS: usize = 300_000;
const TIME: Duration = Duration::from_secs(1);
/// Time after which a statement is interrupted.
const DEADLINE: Duration = Duration::from_secs(5);
/// Executions that a mean needs on both sides.
const EXECUTIONS_MIN: u64 = 10;
/// How far the means may be apart: a factor, and a difference in rows.
const FACTOR: f64 = 1.5;
const DIFFERENCE: f64 = 0.2;
/// Share of failed operations that is listed.
const FAILURES: f64 = 0.05;
/// How far apart the means of a statement are that was not carried out often enough: farther than any two that are known.
const UNSEEN: f64 = 1e3;

/// A statement of the workload in the capture: rows that it returned, or changed.
pub struct Found {
    /// Its text with `?` for values.
    pub text: String,
    pub does: Does,
    pub rows: u64,
    pub executions: u64,
    /// Whether the program left rows unread.
    pub is_cut: bool,
    pub ordered: Vec<Ordered>,
}

impl Found {
    pub fn of(shape: &Shape, calls: &[&Call]) -> Found {
        let done = || calls.iter().filter(|call| !call.has_failed() && !call.is_pending());
        Found {
            text: shape.text.clone(),
            does: shape.does,
            rows: done().map(|call| shape.does.rows_of(call)).sum(),
            executions: done().count() as u64,
            is_cut: calls.iter().any(|call| call.is_cut),
            ordered: vec![],
        }
    }
}

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
    fn new(why: &anyhow::Error, has_rows: bool) -> NotLoaded {
        let code = why.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        NotLoaded(match (code, has_rows) {
            (Some(ErrorCode::ConstraintViolation), false) => format!(
                "its rows are made up, and do not fit the schema: {why}; a capture with --values=full has the program's rows"
            ),
            (Some(ErrorCode::ConstraintViolation), true) => format!("its rows do not fit the schema: {why}"),
            _ => format!("its tables cannot be made: {why:#}"),
        })
    }
}

/// Statements of each transaction, in order.
pub type All<'a> = BTreeMap<&'a str, &'a [Found]>;

/// How a transaction of the workload differs from the captured one.
pub struct Difference {
    pub transaction: String,
    pub what: Differs,
    pub sentence: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Differs {
    /// Operations fail.
    Fails,
    /// A statement finds another number of rows.
    Rows,
}

/// Takes the arguments that fit best into the workload; returns what then differs from the capture.
///
/// # Errors
/// The workload is not tried out, and why.
pub fn fit(text: &mut String, found: &All, trial: &Trial) -> Result<Vec<Difference>> {
    let tried = |text: &str| tried(text, trial, OPERATIONS);
    let mut tallies = tried(text)?;
    let mut nearest: BTreeMap<(&str, usize), (f64, Option<usize>)> = BTreeMap::new();
    for (name, at, statement) in ordered(found) {
        let distance = distance(statement, &tallies, name, at).filter(|distance| *distance > 0.0);
        nearest.extend(distance.map(|distance| ((name, at), (distance, None))));
    }
    if nearest.is_empty() {
        return Ok(differences(found, &tallies));
    }
    for end in 0..2 {
        let all = nearest.keys().map(|place| (*place, end)).collect();
        let moved = tried(&with_ends(text, found, &all))?;
        for ((name, at), (before, chosen)) in &mut nearest {
            let now = distance(&found[name][*at], &moved, name, *at).filter(|now| now < before);
            (*before, *chosen) = now.map_or((*before, *chosen), |now| (now, Some(end)));
        }
    }
    let chosen = nearest.into_iter().filter_map(|(place, (_, end))| Some((place, end?))).collect();
    *text = with_ends(text, found, &chosen);
    tallies = tried(text)?;
    Ok(differences(found, &tallies))
}

/// Transactions whose statements find the captured numbers of rows better in the first workload than in the other one, or that fail
/// less there; none if they cannot be tried out.
pub fn better((one, other): (&str, &str), found: &All, trial: &Trial) -> BTreeSet<String> {
    // A queue that is empty after more operations than were captured is no reason.
    let operations = OPERATIONS.min(u32::try_from(trial.transactions).unwrap_or(OPERATIONS));
    let tried = |text| tried(text, trial, operations);
    let Ok([one, other]) = tried(one).and_then(|one| Ok([one, tried(other)?])) else {
        return BTreeSet::new();
    };
    let failed = |tallies: &Tallies, name: &str| tallies.get(name).map_or(0.0, Tally::failed_share);
    let apart = |tallies: &Tallies, name: &str, all: &[Found]| -> f64 {
        let of = |(at, statement)| distance(statement, tallies, name, at).unwrap_or(UNSEEN);
        all.iter().enumerate().map(of).sum()
    };
    let is_better = |name: &str, all: &[Found]| {
        let (by_one, by_other) = (failed(&one, name), failed(&other, name));
        by_other > by_one + FAILURES || apart(&one, name, all) < apart(&other, name, all)
    };
    found.iter().filter(|(name, all)| is_better(name, all)).map(|(name, _)| (*name).to_string()).collect()
}

/// Statements with arguments that are compared by order: transaction, place in it, statement.
fn ordered<'a>(found: &All<'a>) -> impl Iterator<Item = (&'a str, usize, &'a Found)> {
    found.iter().flat_map(|(name, all)| {
        let all = all.iter().enumerate().filter(|(_, statement)| !statement.ordered.is_empty());
        all.map(move |(at, statement)| (*name, at, statement))
    })
}

/// The workload with these ends in place of the arguments of statements.
fn with_ends(text: &str, found: &All, ends: &BTreeMap<(&str, usize), usize>) -> String {
    let mut out = text.to_string();
    for ((name, at), end) in ends {
        for argument in &found[name][*at].ordered {
            out = with_argument(&out, (name, &argument.name), argument.ends[*end]);
        }
    }
    out
}

/// Mean numbers of rows of a statement in the capture and in the workload; `None` with too few executions.
fn means(found: &Found, tallies: &Tallies, (name, at): (&str, usize)) -> Option<(f64, f64)> {
    let (rows, executions) = *tallies.get(name)?.statements.get(at)?;
    let enough = found.executions.min(executions) >= EXECUTIONS_MIN && matches!(found.does, Does::Read | Does::Write);
    enough.then(|| (found.rows as f64 / found.executions as f64, rows as f64 / executions as f64))
}

/// How far both means are apart, on a logarithmic scale; 0 if that is near enough.
fn distance(found: &Found, tallies: &Tallies, name: &str, at: usize) -> Option<f64> {
    let (captured, here) = means(found, tallies, (name, at))?;
    let (low, high) = (captured.min(here), captured.max(here));
    let is_near = high - low < DIFFERENCE || high < low * FACTOR || (found.is_cut && here > captured);
    Some(if is_near { 0.0 } else { ((high + DIFFERENCE) / (low + DIFFERENCE)).ln() })
}

fn differences(found: &All, tallies: &Tallies) -> Vec<Difference> {
    let mut out = vec![];
    for (name, statements) in found {
        let Some(tally) = tallies.get(*name) else { continue };
        let difference = |what, sentence: String| Difference {
            transaction: (*name).to_string(),
            what,
            sentence: format!("{name}: {sentence}"),
        };
        out.extend(tally.failures().map(|sentence| difference(Differs::Fails, sentence)));
        let differs = |(at, found): (usize, &Found)| {
            distance(found, tallies, name, at).filter(|distance| *distance > 0.0)?;
            let (captured, here) = means(found, tallies, (name, at))?;
            let does = if found.does == Does::Read { "returns" } else { "changes" };
            let (here, captured, text) = (shown(here), shown(captured), &found.text);
            let sentence = format!(
                "a statement {does} {here} rows in the workload, and {captured} in the capture (means): {text}"
            );
            Some(difference(Differs::Rows, sentence))
        };
        out.extend(statements.iter().enumerate().filter_map(differs));
    }
    out
}

fn shown(mean: f64) -> String {
    if mean >= 10.0 { format!("{mean:.0}") } else { format!("{mean:.2}") }
}

/// What the operations of a transaction did.
#[derive(Default)]
struct Tally {
    operations: u64,
    failed: u64,
    /// Why the first one failed.
    why: Option<String>,
    /// Rows and executions of each statement.
    statements: Vec<(u64, u64)>,
}

impl Tally {
    fn failed_share(&self) -> f64 {
        self.failed as f64 / self.operations.max(1) as f64
    }

    /// How many operations failed, if that is more than one of 20.
    fn failures(&self) -> Option<String> {
        let why = self.why.as_ref().filter(|_| self.failed_share() > FAILURES)?;
        let all = counted(self.operations as usize, "operation");
        let fail = if self.operations == 1 { "fails" } else { "fail" };
        Some(format!("{} of {all} {fail} in the workload: {why}", self.failed))
    }
}

/// What the operations of all transactions did.
type Tallies = BTreeMap<String, Tally>;

/// # Errors
/// The tables are too large, or the workload cannot be carried out.
fn tried(text: &str, trial: &Trial, operations: u32) -> Result<Tallies> {
    let source = Source::new(trial.dir.join("workload.toml").display().to_string(), text.to_string());
    let workload = workload::parse(&source)?;
    let rows = workload.rows(1.0).values().sum::<u64>();
    ensure!(rows <= ROWS_MAX && trial.bytes <= BYTES_MAX, "its tables are too large for that");
    let limit = Instant::now() + DEADLINE;
    let db = loaded(&workload, trial, limit).map_err(|why| match Instant::now() > limit {
        true => why.context("its tables take too long to load"),
        false => NotLoaded::new(&why, !trial.files.is_empty()).into(),
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
        let mut kept = vec![Value::Null; usize::from(spec.slots)];
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
    fn step(&self, step: &SqlStep, repetition: u16, kept: &mut [Value]) -> Result<u64> {
        let mut statement = self.db.prepare_cached(&self.workload.statements[step.statement as usize])?;
        let values = step.args.iter().map(|of| self.value(of, repetition, kept)).collect::<Result<Vec<_>>>()?;
        let values = params_from_iter(values.iter().map(Bound));
        if statement.column_count() == 0 {
            return Ok(statement.execute(values)? as u64);
        }
        let (mut rows, mut count) = (statement.query(values)?, 0);
        while let Some(row) = rows.next()? {
            for keep in step.keep.iter().filter(|_| count == 0) {
                kept[usize::from(keep.slot)] = value_of(row.get_ref(usize::from(keep.column))?);
            }
            count += 1;
        }
        Ok(count)
    }

    fn value(&self, of: &Of, repetition: u16, kept: &[Value]) -> Result<Value> {
        Ok(match of {
            Of::Literal(value) => value.clone(),
            Of::Argument { first, stride } => {
                let at = self.operation.first_argument as usize + usize::from(first + stride * repetition);
                match &self.client.arguments[at] {
                    Value::TextRef(text) => Value::Text(self.texts[*text as usize].clone()),
                    value => value.clone(),
                }
            }
            Of::Kept { slot, plus: 0 } => kept[usize::from(*slot)].clone(),
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
