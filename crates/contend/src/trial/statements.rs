//! Tries all SQL of a workload on empty tables before anything is loaded, so that all its mistakes are reported together, each
//! with its line.

use crate::engine::{self, Engine};
use crate::source::{FileError, Source};
use crate::study::model::{Contender, Study};
use crate::trial::dialect::dialect;
use crate::trial::site::Site;
use crate::trial::workers::admin::{Admin, EngineSaid, script_target};
use crate::workload::sql::asked;
use crate::workload::{Dialects, Workload};
use anyhow::Result;
use contend_wire::database::Database;
use contend_wire::plan::Step;
use contend_wire::script::{ScriptWriter, Target};
use contend_wire::statement::{Effect, Statement};
use std::path::Path;

/// Place of a statement in the workload's file.
type Place = Vec<String>;

/// Tries the SQL of a study's workload, if a contender carries it out as it is written, in the library of the tool's own worker.
///
/// # Errors
/// All statements that the library does not accept.
pub fn try_out(
    site: &Site,
    (study, source): (&Study, &Source),
    dialects: &[Dialects],
    admin: &mut Admin<'_>,
) -> Result<()> {
    let Some(engine) = study.contenders.iter().find_map(own_library) else { return Ok(()) };
    let mut found = vec![];
    let mut before: Option<&Workload> = None;
    for workload in dialects.iter().map(|dialects| dialects.of(None)) {
        let is_same =
            |other: &Workload| other.statements == workload.statements && other.schema_sql() == workload.schema_sql();
        if workload.statements.is_empty() || before.is_some_and(is_same) {
            continue;
        }
        before = Some(workload);
        let file = site.scratch.join("statements.db");
        let target = script_target(engine, &Database::File(file.display().to_string()));
        let mistakes = Tables { source, workload, target, admin }.mistakes();
        remove(&file);
        found.extend(mistakes?);
    }
    FileError::together(found).map_or(Ok(()), |error| Err(error.into()))
}

/// The engine of a contender whose SQL the tool's own worker would carry out unchanged.
fn own_library(contender: &Contender) -> Option<&'static Engine> {
    let driver = engine::driver(contender)?;
    let is_own = driver.program.is_none() && !driver.executes_nothing && dialect(contender).is_none();
    engine::find(&contender.engine).filter(|engine| is_own && engine.server.is_none() && engine.executes)
}

/// A database is a file with companions.
fn remove(file: &Path) {
    for end in ["", "-journal", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", file.display()));
    }
}

/// The empty tables of a workload.
struct Tables<'t, 'a> {
    source: &'t Source,
    workload: &'t Workload,
    target: Target,
    admin: &'t mut Admin<'a>,
}

impl Tables<'_, '_> {
    /// Wrong tables, or else wrong statements: with a table missing, statements are wrong for that alone.
    fn mistakes(&mut self) -> Result<Vec<FileError>> {
        let at = |path: &[&str]| path.iter().map(ToString::to_string).collect::<Place>();
        let tables = &self.workload.tables;
        let ddl = tables.iter().map(|table| (at(&["table", &table.name, "ddl"]), asked(&table.ddl)));
        let indexes = tables.iter().flat_map(|table| table.indexes.iter().map(|sql| (&table.name, sql)));
        let indexes = indexes.map(|(name, sql)| (at(&["table", name, "indexes"]), asked(sql)));
        let wrong = self.each(&ddl.chain(indexes).collect::<Vec<_>>())?;
        if !wrong.is_empty() {
            return Ok(wrong);
        }
        let after = self.workload.after_load.iter().enumerate().map(|(i, after)| {
            let statement = asked(&after.sql);
            let creates = after.sql.trim_start().to_ascii_uppercase().starts_with("CREATE");
            (at(&["after_load", &i.to_string()]), if creates { statement } else { explained(&statement) })
        });
        let invariants = self.with_sql(&[vec!["invariant"]]).into_iter().flatten().zip(&self.workload.invariants);
        let invariants = invariants.map(|(place, invariant)| (place, explained(&asked(&invariant.sql))));
        let mut wrong = self.each(&after.collect::<Vec<_>>())?;
        wrong.extend(self.wrong(self.steps().into_iter().chain(invariants).collect())?);
        Ok(wrong)
    }

    /// The statements of transactions.
    fn steps(&self) -> Vec<(Place, Statement)> {
        let statements = self.workload.plan_statements();
        let transactions = &self.workload.transactions;
        let lists: Vec<Vec<&str>> = transactions.iter().map(|of| vec!["transaction", &of.name, "step"]).collect();
        let mut all = vec![];
        for (transaction, of_file) in transactions.iter().zip(self.with_sql(&lists)) {
            let carried = transaction.steps.iter().filter_map(|step| match step {
                Step::Sql(sql) => statements.get(sql.statement as usize),
                _ => None,
            });
            all.extend(of_file.into_iter().zip(carried.map(explained)));
        }
        all
    }

    /// The elements of each list that have a key `sql`, in their order.
    fn with_sql(&self, lists: &[Vec<&str>]) -> Vec<Vec<Place>> {
        let place = |list: &[&str], at: usize| {
            list.iter().map(ToString::to_string).chain([at.to_string(), "sql".to_string()]).collect()
        };
        let indexes = self.source.with_key(lists, "sql").into_iter();
        indexes.zip(lists).map(|(all, list)| all.into_iter().map(|at| place(list, at)).collect()).collect()
    }

    /// Those that the library does not compile. All are tried in one script, and one by one if that fails.
    fn wrong(&mut self, all: Vec<(Place, Statement)>) -> Result<Vec<FileError>> {
        if self.refused(all.iter().map(|(_, statement)| statement))?.is_none() {
            return Ok(vec![]);
        }
        self.each(&all)
    }

    /// The same, one by one: what creates something cannot be tried twice.
    fn each(&mut self, all: &[(Place, Statement)]) -> Result<Vec<FileError>> {
        let mut found = vec![];
        for (place, statement) in all {
            if let Some(message) = self.refused([statement])? {
                let path: Vec<&str> = place.iter().map(String::as_str).collect();
                found.push(self.source.error(&path, format!("the database does not accept this: {message}")));
            }
        }
        Ok(found)
    }

    /// What the library says against the first of these.
    fn refused<'s>(&mut self, statements: impl IntoIterator<Item = &'s Statement>) -> Result<Option<String>> {
        let mut script = ScriptWriter::new(&self.target);
        for statement in statements {
            script.sql(statement);
        }
        match self.admin.run(script.finish()) {
            Ok(_) => Ok(None),
            Err(error) => match error.downcast_ref::<EngineSaid>() {
                Some(said) => Ok(Some(said.message.clone())),
                None => Err(error),
            },
        }
    }
}

/// The statement that only compiles this one, with NULL for each argument.
fn explained(statement: &Statement) -> Statement {
    let mut sql = statement.sql.clone();
    for at in statement.placeholders.iter().rev().map(|placeholder| placeholder.at as usize) {
        let number = sql[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        sql.replace_range(at..at + 1 + number, " NULL ");
    }
    Statement { sql: format!("EXPLAIN {sql}"), effect: Effect::ROWS, placeholders: vec![] }
}
