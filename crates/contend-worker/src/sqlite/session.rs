//! Carries out steps on an open connection: with statements prepared once by the thread that owns the connection, or,
//! if clients share it, with rusqlite's cache of statements.

use crate::answer::JsonRows;
use crate::argument::Argument;
use crate::arguments::Arguments;
use crate::busy;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::options::Options;
use crate::session::{Session, Waits};
use crate::setup::Setup;
use crate::sqlite::{SetupError, failure, waits};
use contend_wire::plan::{Head, SqlStep};
use contend_wire::sample::worker_code;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Statement};

const COMMIT: &str = "COMMIT";

/// A prepared statement; `None` if it was not used yet.
type Slot<'c> = Option<Statement<'c>>;

/// Statements of the plan, by their numbers.
struct Prepared<'c> {
    steps: Vec<Slot<'c>>,
    begins: Vec<Slot<'c>>,
    commit: Slot<'c>,
}

impl<'c> Prepared<'c> {
    fn none(head: &Head) -> Self {
        let empty = |count| std::iter::repeat_with(|| None).take(count).collect();
        Self { steps: empty(head.statements.len()), begins: empty(head.transactions.len()), commit: None }
    }
}

/// The statement in a slot, prepared now if it is used for the first time.
#[inline(always)]
fn in_slot<'s, 'c>(
    slot: &'s mut Slot<'c>,
    connection: &'c Connection,
    sql: &str,
) -> Result<&'s mut Statement<'c>, Failure> {
    if slot.is_none() {
        *slot = Some(connection.prepare(sql).map_err(failure)?);
    }
    slot.as_mut().ok_or(Failure::worker(worker_code::DRIVER))
}

/// A client's own open connection.
pub struct SqliteSession<'c> {
    connection: &'c Connection,
    head: &'c Head,
    options: &'c Options,
    /// `None` if statements are prepared again for every execution.
    prepared: Option<Prepared<'c>>,
}

impl<'c> SqliteSession<'c> {
    /// Prepares all statements of the plan.
    ///
    /// # Errors
    /// The statement that cannot be prepared.
    pub fn new(connection: &'c Connection, setup: &Setup<'c>) -> Result<Self, SetupError> {
        let head = setup.head;
        let prepare = |sql: &str| connection.prepare(sql).map_err(SetupError::on(sql));
        let prepared = Prepared {
            steps: head
                .statements
                .iter()
                .map(|statement| prepare(&statement.sql).map(Some))
                .collect::<Result<_, _>>()?,
            begins: head
                .transactions
                .iter()
                .map(|t| t.begin.as_deref().map(prepare).transpose())
                .collect::<Result<_, _>>()?,
            commit: Some(prepare(COMMIT)?),
        };
        // Prepared in either case, so that a mistake shows before the window.
        let prepared = (!setup.options.prepare_each).then_some(prepared);
        Ok(Self { connection, head, options: setup.options, prepared })
    }

    /// A session on a connection that was opened within an attempt: statements are prepared at first use.
    pub fn in_the_run(connection: &'c Connection, setup: &Setup<'c>) -> Self {
        let prepared = (!setup.options.prepare_each).then(|| Prepared::none(setup.head));
        Self { connection, head: setup.head, options: setup.options, prepared }
    }

    fn once(&self, sql: &str) -> Result<(), Failure> {
        self.connection.prepare(sql).and_then(|mut statement| statement.raw_execute()).map(drop).map_err(failure)
    }
}

#[inline]
fn as_sql(argument: Argument<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match argument {
        Argument::Null => ValueRef::Null,
        Argument::Integer(i) => ValueRef::Integer(i),
        Argument::Real(r) => ValueRef::Real(r),
        Argument::Text(text) => ValueRef::Text(text),
        Argument::Blob(bytes) => ValueRef::Blob(bytes),
    })
}

#[inline(always)]
fn bind(
    statement: &mut Statement<'_>,
    step: &SqlStep,
    repetition: u32,
    arguments: &Arguments<'_>,
    kept: &Kept,
) -> Result<(), Failure> {
    for (i, source) in step.args.iter().enumerate() {
        let argument = arguments.resolve(source, repetition, kept)?;
        statement.raw_bind_parameter(i + 1, as_sql(argument)).map_err(failure)?;
    }
    Ok(())
}

/// Executes a bound statement and reads every column of every row, as an application would.
#[inline(always)]
fn execute(
    connection: &Connection,
    statement: &mut Statement<'_>,
    step: &SqlStep,
    kept: &mut Kept,
) -> Result<u32, Failure> {
    let columns = statement.column_count();
    if columns == 0 {
        return change(connection, statement);
    }
    for keep in &step.keep {
        kept.clear_slot(keep.slot);
    }
    let mut found = 0u32;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(failure)? {
        if let Some(answer) = &mut kept.answer {
            answer_row(answer, row, columns).map_err(failure)?;
        }
        for column in 0..columns {
            let value = row.get_ref(column).map_err(failure)?;
            std::hint::black_box(&value);
            for keep in &step.keep {
                if usize::from(keep.column) == column && found < u32::from(keep.rows) {
                    kept.keep(keep.slot, as_argument(value));
                }
            }
        }
        found = found.saturating_add(1);
    }
    Ok(found)
}

fn answer_row(answer: &mut JsonRows, row: &Row<'_>, columns: usize) -> rusqlite::Result<()> {
    answer.begin_row();
    for column in 0..columns {
        answer.value(row.as_ref().column_name(column)?, as_argument(row.get_ref(column)?));
    }
    answer.end_row();
    Ok(())
}

/// Rows changed by a statement. SQLite's count belongs to the last statement that could change rows; the total shows
/// whether that was this one.
#[inline]
fn change(connection: &Connection, statement: &mut Statement<'_>) -> Result<u32, Failure> {
    let before = connection.total_changes();
    let changes = statement.raw_execute().map_err(failure)?;
    if connection.total_changes() == before {
        return Ok(0);
    }
    Ok(u32::try_from(changes).unwrap_or(u32::MAX))
}

#[inline]
fn as_argument(value: ValueRef<'_>) -> Argument<'_> {
    match value {
        ValueRef::Null => Argument::Null,
        ValueRef::Integer(i) => Argument::Integer(i),
        ValueRef::Real(r) => Argument::Real(r),
        ValueRef::Text(text) => Argument::Text(text),
        ValueRef::Blob(bytes) => Argument::Blob(bytes),
    }
}

impl Session for SqliteSession<'_> {
    #[inline]
    fn reset_waits(&mut self) {
        busy::reset();
    }

    #[inline]
    fn waits(&self) -> Waits {
        waits(self.options)
    }

    #[inline]
    fn begin(&mut self, transaction: u16) -> Result<(), Failure> {
        let index = usize::from(transaction);
        let Some(sql) = self.head.transactions[index].begin.as_deref() else { return Ok(()) };
        match &mut self.prepared {
            Some(prepared) => {
                let begin = in_slot(&mut prepared.begins[index], self.connection, sql)?;
                begin.raw_execute().map(drop).map_err(failure)
            }
            None => self.once(sql),
        }
    }

    #[inline]
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let index = step.statement as usize;
        match &mut self.prepared {
            Some(p) => {
                let statement = in_slot(&mut p.steps[index], self.connection, &self.head.statements[index].sql)?;
                bind(statement, step, repetition, arguments, kept)?;
                execute(self.connection, statement, step, kept)
            }
            None => {
                let mut statement = self.connection.prepare(&self.head.statements[index].sql).map_err(failure)?;
                bind(&mut statement, step, repetition, arguments, kept)?;
                execute(self.connection, &mut statement, step, kept)
            }
        }
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Failure> {
        match &mut self.prepared {
            Some(prepared) => {
                let commit = in_slot(&mut prepared.commit, self.connection, COMMIT)?;
                commit.raw_execute().map(drop).map_err(failure)
            }
            None => self.once(COMMIT),
        }
    }

    #[cold]
    fn rollback(&mut self) {
        // After some errors SQLite has already rolled back. If the rollback fails too, the next begin fails and shows
        // it.
        if !self.connection.is_autocommit() {
            let _ = self.once("ROLLBACK");
        }
    }
}

/// A shared connection while one client has it. Its statements cannot stay borrowed between clients, so they are kept
/// in the connection's cache and looked up by text each time.
pub struct CachedSession<'c> {
    connection: &'c Connection,
    head: &'c Head,
    options: &'c Options,
}

impl<'c> CachedSession<'c> {
    /// The session of the client that has the connection.
    pub fn new(connection: &'c Connection, head: &'c Head, options: &'c Options) -> Self {
        Self { connection, head, options }
    }

    /// Makes room for the plan's statements and prepares them all, so that a mistake shows before the window.
    ///
    /// # Errors
    /// The statement that cannot be prepared.
    pub fn fill(&self) -> Result<(), SetupError> {
        self.make_room();
        for sql in self.all() {
            self.connection.prepare_cached(sql).map_err(SetupError::on(sql))?;
        }
        if self.options.prepare_each {
            self.connection.flush_prepared_statement_cache();
        }
        Ok(())
    }

    /// Makes room for the plan's statements, each of which is prepared when it is first used.
    pub fn make_room(&self) {
        self.connection.set_prepared_statement_cache_capacity(self.all().count());
    }

    fn all(&self) -> impl Iterator<Item = &'c str> {
        let begins = self.head.transactions.iter().filter_map(|t| t.begin.as_deref());
        self.head.statements.iter().map(|statement| statement.sql.as_str()).chain(begins).chain([COMMIT])
    }

    fn once(&self, sql: &str) -> Result<(), Failure> {
        if self.options.prepare_each {
            return self.connection.prepare(sql).and_then(|mut s| s.raw_execute()).map(drop).map_err(failure);
        }
        self.connection.prepare_cached(sql).and_then(|mut s| s.raw_execute()).map(drop).map_err(failure)
    }
}

impl Session for CachedSession<'_> {
    fn reset_waits(&mut self) {
        busy::reset();
    }

    fn waits(&self) -> Waits {
        waits(self.options)
    }

    fn begin(&mut self, transaction: u16) -> Result<(), Failure> {
        self.head.transactions[usize::from(transaction)].begin.as_deref().map_or(Ok(()), |sql| self.once(sql))
    }

    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        arguments: &Arguments<'_>,
        kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let sql = &self.head.statements[step.statement as usize].sql;
        if self.options.prepare_each {
            let mut statement = self.connection.prepare(sql).map_err(failure)?;
            bind(&mut statement, step, repetition, arguments, kept)?;
            return execute(self.connection, &mut statement, step, kept);
        }
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        bind(&mut statement, step, repetition, arguments, kept)?;
        execute(self.connection, &mut statement, step, kept)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.once(COMMIT)
    }

    #[cold]
    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}
