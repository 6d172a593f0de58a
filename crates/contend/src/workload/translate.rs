//! A workload in the dialect of a server. Only its SQL changes: the operations drawn for a seed are the same for every
//! database.

use super::data::insert_sql;
use super::model::{AfterLoad, Begin, OwnSql, Table, Translated, TranslatedTable, Workload};
use super::sql::quoted;
use anyhow::{Context as _, Result, anyhow};
use contend_sql::{Catalogue, Certainty, Options, Statement, Target, Translation};
use contend_wire::kept;
use contend_wire::plan::{ANY_ROWS, SqlStep, Step};
use std::collections::BTreeSet;

/// The server with this name in a workload file; the error lists the known names.
pub fn server(name: &str) -> Result<Target, &'static str> {
    match name {
        "postgres" => Ok(Target::Postgres),
        "mariadb" => Ok(Target::MariaDb),
        _ => Err("postgres, mariadb"),
    }
}

/// A server's placeholder of this number, from 1.
pub fn placeholder(target: Target, number: usize) -> String {
    match target {
        Target::Postgres => format!("${number}"),
        Target::MariaDb => "?".to_string(),
    }
}

/// Rewrites a statement.
pub type Rewrite = fn(&str) -> String;

/// The SQL dialect in which a contender gets a workload's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    pub target: Target,
    /// Whether a driver translates the dialect itself and the data is in SQLite, which is checked with SQLite's SQL.
    pub is_inside: bool,
    /// Whether every statement of a transaction has its own savepoint.
    pub has_savepoints: bool,
    /// Whether clients send SQLite's SQL nevertheless, and the tables are made a SQLite database for that.
    pub is_as_written: bool,
}

impl Dialect {
    /// The dialect of a server.
    pub fn of_server(target: Target) -> Self {
        Self { target, is_inside: false, has_savepoints: false, is_as_written: false }
    }
}

/// A workload in SQLite's dialect, and in those of the servers and drivers it runs on.
#[derive(Debug)]
pub struct Dialects {
    own: Workload,
    translated: Vec<(Dialect, Workload)>,
}

impl Dialects {
    /// Translates a workload for these servers; each rewrite turns an INSERT into the fastest load statement.
    ///
    /// # Errors
    /// A statement without a translation: its place, the rule and the reason.
    pub fn new(own: Workload, targets: &[(Dialect, Rewrite)]) -> Result<Self> {
        let translated = targets.iter().map(|(dialect, load)| Ok((*dialect, spoken(&own, *dialect, *load)?)));
        let translated = translated.collect::<Result<_>>()?;
        Ok(Self { own, translated })
    }

    /// The workload in a dialect; `None` for SQLite's, in which it was written.
    pub fn of(&self, dialect: Option<Dialect>) -> &Workload {
        let found = self.translated.iter().find(|(known, _)| Some(*known) == dialect);
        found.map_or(&self.own, |(_, workload)| workload)
    }
}

/// A workload in a dialect.
///
/// # Errors
/// As [`Dialects::new`].
pub fn spoken(own: &Workload, dialect: Dialect, load: Rewrite) -> Result<Workload> {
    let target = dialect.target;
    let mut catalogue = Catalogue::default();
    for sql in own.schema_sql().iter().chain(&own.index_sql()) {
        catalogue.learn(sql).map_err(|refusal| refused(&own.name, target, sql, &refusal))?;
    }
    let mut translator =
        Translator { workload: own, catalogue, options: Options::to(target), conditions: BTreeSet::new() };
    let mut other = own.clone();
    let schema = translator.texts(&own.schema_sql())?;
    let indexes = translator.texts(&own.index_sql())?;
    other.after_load = translator.after_load(&own.after_load)?;
    // Always translated, so that untranslatable invariants are found.
    let invariants = own.invariants.iter().map(|invariant| translator.single(&invariant.sql));
    let invariants = invariants.collect::<Result<Vec<_>>>()?;
    let last = own.last_writes.iter().map(|last| translator.single(&last.sql)).collect::<Result<Vec<_>>>()?;
    if !dialect.is_inside {
        other.invariants.iter_mut().zip(invariants).for_each(|(invariant, sql)| invariant.sql = sql);
        other.last_writes.iter_mut().zip(last).for_each(|(invariant, sql)| invariant.sql = sql);
    }
    let tables = own.tables.iter().map(|table| translator.table(table, load));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let mut adoption = vec![];
    if dialect.is_as_written {
        adoption = kept::adopt(&objects(own)).to_vec();
    } else {
        translator.steps(dialect, &mut other)?;
    }
    let conditions = translator.conditions.into_iter().collect();
    other.translated = Some(Translated { target, schema, indexes, tables, conditions, adoption });
    Ok(other)
}
/// Tables and indexes as `sqlite_schema` lists them: type, name, table and SQL.
fn objects(own: &Workload) -> Vec<[String; 4]> {
    let mut objects = vec![];
    for table in &own.tables {
        objects.push(["table".to_string(), table.name.clone(), table.name.clone(), table.ddl.clone()]);
        for (number, sql) in table.indexes.iter().enumerate() {
            // Only the table of an index matters, and that each has a name.
            objects.push(["index".to_string(), format!("{} {number}", table.name), table.name.clone(), sql.clone()]);
        }
    }
    objects
}

struct Translator<'w> {
    workload: &'w Workload,
    catalogue: Catalogue,
    options: Options,
    conditions: BTreeSet<String>,
}

impl Translator<'_> {
    fn one(&mut self, sql: &str) -> Result<Translation> {
        let translation = contend_sql::translate(sql, &self.catalogue, &self.options)
            .map_err(|refusal| refused(&self.workload.name, self.options.target, sql, &refusal))?;
        for fired in &translation.rules {
            match fired.certainty {
                Certainty::Exact => {}
                Certainty::Equivalent(when) => drop(self.conditions.insert(format!("{}: {when}", fired.rule))),
                Certainty::Lossy(what) => drop(self.conditions.insert(format!("{}: lossy: {what}", fired.rule))),
            }
        }
        Ok(translation)
    }

    /// Translates the statements and steps of all transactions.
    fn steps(&mut self, dialect: Dialect, other: &mut Workload) -> Result<()> {
        other.statements.clear();
        let alone = self.statements()?;
        // The server takes a savepoint only inside a transaction.
        self.options.savepoints = dialect.has_savepoints;
        let inside = self.statements()?;
        for transaction in &mut other.transactions {
            let translations = if transaction.begin == Begin::None { &alone } else { &inside };
            let steps = std::mem::take(&mut transaction.steps);
            for step in steps {
                push_step(step, translations, &mut other.statements, &mut transaction.steps);
            }
        }
        Ok(())
    }

    fn statements(&mut self) -> Result<Vec<Translation>> {
        self.workload.statements.iter().enumerate().map(|(i, sql)| self.statement(i, sql)).collect()
    }

    /// A statement of the workload: the file's own SQL for this server, else the translation.
    fn statement(&mut self, index: usize, sql: &str) -> Result<Translation> {
        let target = self.options.target;
        let of_this = |own: &&OwnSql| own.target == target && own.statement as usize == index;
        let Some(own) = self.workload.own_sql.iter().find(of_this) else { return self.one(sql) };
        let said = own.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        self.conditions.insert(format!("override: the workload's own SQL, not a translation: {said}"));
        let statement = Statement::of_server(own.sql.clone(), own.params.clone());
        Ok(Translation { statements: vec![statement], rules: vec![], on_error: None })
    }

    fn texts(&mut self, sqls: &[String]) -> Result<Vec<String>> {
        let mut found = vec![];
        for sql in sqls {
            found.extend(self.one(sql)?.statements.into_iter().map(|statement| statement.sql));
        }
        Ok(found)
    }

    /// Statements after loading: the file's own SQL for this server, else the translation.
    fn after_load(&mut self, all: &[AfterLoad]) -> Result<Vec<AfterLoad>> {
        let mut found = vec![];
        for after in all {
            let own = after.on.iter().find(|(target, _)| *target == self.options.target);
            let sqls = match own {
                None => self.texts(std::slice::from_ref(&after.sql))?,
                Some((_, sql)) if sql.is_empty() => vec![],
                Some((_, sql)) => {
                    let said = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    self.conditions.insert(format!("override: after loading, the workload's own SQL: {said}"));
                    vec![sql.clone()]
                }
            };
            found.extend(sqls.into_iter().map(|sql| AfterLoad { sql, on: vec![] }));
        }
        Ok(found)
    }

    fn single(&mut self, sql: &str) -> Result<String> {
        let main = self.one(sql)?.statements.into_iter().find(|statement| statement.main);
        main.map(|statement| statement.sql).with_context(|| format!("the translation of `{sql}` is empty"))
    }

    fn table(&mut self, table: &Table, load: Rewrite) -> Result<TranslatedTable> {
        // A statement that holds only the table's name.
        const DELETE: &str = "DELETE FROM ";
        let delete = self.single(&format!("{DELETE}{}", quoted(&table.name)))?;
        let name = delete.strip_prefix(DELETE).unwrap_or(&delete).to_string();
        if table.columns.0.is_empty() {
            return Ok(TranslatedTable { name, load: String::new(), after: vec![] });
        }
        let mut statements = self.one(&insert_sql(table))?.statements.into_iter().map(|statement| statement.sql);
        let insert = statements.next().with_context(|| format!("no rows can be loaded into {name}"))?;
        Ok(TranslatedTable { name, load: load(&insert), after: statements.collect() })
    }
}

/// A step in the server's SQL: its arguments in the order of the new placeholders, between statements that only keep
/// the server's session in step.
fn push_step(step: Step, translations: &[Translation], statements: &mut Vec<String>, steps: &mut Vec<Step>) {
    let Step::Sql(step) = step else {
        steps.push(step);
        return;
    };
    let translation = &translations[step.statement as usize];
    let repetitions = match &translation.on_error {
        // Each repetition has its own savepoint.
        Some(_) if step.repeat > 1 => (0..step.repeat).map(|n| step.repetition(n as u16)).collect(),
        _ => vec![step],
    };
    for step in repetitions {
        for statement in &translation.statements {
            let number = index_of(statements, &statement.sql);
            steps.push(Step::Sql(match statement.main {
                true => {
                    let own = |param: &u16| step.args[usize::from(*param) - 1].clone();
                    SqlStep { statement: number, args: statement.params.iter().map(own).collect(), ..step.clone() }
                }
                false => SqlStep {
                    statement: number,
                    rows_min: 0,
                    rows_max: ANY_ROWS,
                    repeat: 1,
                    keep: vec![],
                    args: vec![],
                },
            }));
        }
    }
}

fn index_of(statements: &mut Vec<String>, sql: &str) -> u32 {
    let found = statements.iter().position(|known| known == sql);
    found.unwrap_or_else(|| {
        statements.push(sql.to_string());
        statements.len() - 1
    }) as u32
}

fn refused(workload: &str, target: Target, sql: &str, refusal: &contend_sql::Refusal) -> anyhow::Error {
    let target = match target {
        Target::Postgres => "PostgreSQL",
        Target::MariaDb => "MariaDB",
    };
    anyhow!("workload {workload} cannot run on {target}: {refusal}\n  in: {}", sql.trim())
}
