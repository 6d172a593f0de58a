//! Runs a case on SQLite and its translation on a server, and compares them.

use super::caller::{Caller, type_of};
use super::cases::{Case, Step};
use super::engines::{Class, Engine, Failed, Returned, first_word};
use super::sqlite::Sqlite;
use super::value::{Row, Value, difference};
use contend_sql::{Certainty, Fired, Options, Target, translate};

/// SQLite's result: the reference.
pub struct Truth {
    pub case: Case,
    steps: Vec<Result<Returned, Failed>>,
    params: Vec<Vec<Value>>,
    /// A query for each table, and its final rows.
    contents: Vec<(String, Vec<Row>)>,
}

/// The verdict on a translation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Rule and reason.
    Refused(String),
    /// The server rejects a statement that SQLite accepts, or the reverse.
    Error(String),
    /// Other rows, counts or contents, and no error.
    Wrong(String),
    /// An error or other rows, but the translation named the rule whose stated condition the case leaves.
    Declared(String),
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Runs a case on SQLite.
pub fn truth(case: &Case) -> Truth {
    let mut sqlite = Sqlite::new();
    let mut truth = Truth { case: case.clone(), steps: vec![], params: vec![], contents: vec![] };
    for step in &case.steps {
        let params = Sqlite::new().literals(&step.params);
        truth.steps.push(sqlite.run(step.reference.as_deref().unwrap_or(&step.sql), &params));
        truth.params.push(params);
    }
    for (table, columns) in sqlite.tables() {
        let columns: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let read = format!("SELECT {} FROM {}", columns.join(", "), quoted(&table));
        if let Ok(returned) = sqlite.run(&read, &[]) {
            truth.contents.push((read, returned.rows));
        }
    }
    truth
}

impl Truth {
    /// Steps that SQLite itself rejects for another reason than a constraint: there is nothing to compare.
    pub fn broken(&self) -> Vec<String> {
        let broken = self.steps.iter().zip(&self.case.steps).filter_map(|(returned, step)| match returned {
            Err(e) if e.class == Class::Other && !self.case.fails => Some(format!("{}: {}", step.sql, e.message)),
            _ => None,
        });
        broken.collect()
    }

    /// Whether there is anything to compare: rows, a count or contents.
    pub fn says_something(&self) -> bool {
        let rows = self.steps.iter().any(|step| step.as_ref().is_ok_and(|returned| !returned.names.is_empty()));
        rows || self.contents.iter().any(|(_, rows)| !rows.is_empty()) || self.steps.iter().any(Result::is_err)
    }
}

fn is_ddl(sql: &str) -> bool {
    // Statements that a catalogue learns from.
    ["CREATE", "ALTER", "DROP", "PRAGMA"].contains(&first_word(sql).as_str())
}

/// A statement translated and run: rows and count of the translation's main statement.
pub fn run_translated(
    (sql, params): (&str, &[Value]),
    caller: &mut Caller,
    options: &Options,
    server: &mut dyn Engine,
    fired: &mut Vec<Fired>,
) -> Result<Result<Returned, Failed>, Verdict> {
    let refused = |r: contend_sql::Refusal| Verdict::Refused(format!("{}: {} ({sql})", r.rule, r.reason));
    let options = &Options { bound: params.iter().map(type_of).collect(), ..options.clone() };
    let translation = translate(sql, &caller.catalogue, options).map_err(refused)?;
    fired.extend(translation.rules);
    let mut answer = Returned::default();
    for statement in &translation.statements {
        let values = caller.session.bind(statement, params).map_err(Verdict::Refused)?;
        match server.run(&statement.sql, &values) {
            Ok(returned) if statement.main => answer = caller.session.keep(statement, returned),
            Ok(_) => {}
            Err(mut failed) => {
                caller.session.keep_failed(statement);
                translation.on_error.iter().for_each(|undo| server.must(undo));
                failed.message = format!("{} [{}]", failed.message, statement.sql);
                return Ok(Err(failed));
            }
        }
    }
    // Without session values a translation has no information about keys.
    answer.rowid = caller.session.rowid.ok().filter(|_| options.session);
    if is_ddl(sql) {
        caller.catalogue.learn(sql).map_err(refused)?;
    }
    Ok(Ok(answer))
}

pub fn compare(step: &Step, wanted: &Result<Returned, Failed>, found: Result<Returned, Failed>) -> Verdict {
    let sql = &step.sql;
    match (wanted, found) {
        (Ok(wanted), Ok(found)) => {
            if step.names && wanted.names != found.names {
                return Verdict::Wrong(format!("{sql}: columns {:?}, found {:?}", wanted.names, found.names));
            }
            if !wanted.names.is_empty()
                && let Some(text) = difference(&wanted.rows, &found.rows, step.ordered)
            {
                return Verdict::Wrong(format!("{sql}: {text}"));
            }
            if let (Some(wanted), Some(found)) = (wanted.rowid, found.rowid)
                && wanted != found
            {
                return Verdict::Wrong(format!("{sql}: last_insert_rowid() is {wanted}, found {found}"));
            }
            match wanted.changed {
                Some(_) if wanted.changed != found.changed => {
                    Verdict::Wrong(format!("{sql}: {:?} row(s) changed, found {:?}", wanted.changed, found.changed))
                }
                _ => Verdict::Pass,
            }
        }
        (Err(wanted), Err(found)) if wanted.class == found.class => Verdict::Pass,
        (Err(wanted), Err(found)) => Verdict::Error(format!("{sql}: {}, found {}", wanted.message, found.message)),
        (Ok(_), Err(found)) => Verdict::Error(format!("{sql}: {}", found.message)),
        (Err(wanted), Ok(_)) => {
            Verdict::Wrong(format!("{sql}: SQLite fails ({}), the server does not", wanted.message))
        }
    }
}

/// Runs a case's translation on a server, in its own schema.
pub fn judge(truth: &Truth, target: Target, pack: bool, server: &mut dyn Engine) -> Verdict {
    let mut fired = vec![];
    let verdict =
        run_case(truth, Options { pack, session: true, tagged: true, ..Options::to(target) }, server, &mut fired);
    let conditional = |f: &&Fired| truth.case.breaks.as_deref() == Some(f.rule) && f.certainty != Certainty::Exact;
    match (verdict, fired.iter().find(conditional)) {
        (Verdict::Wrong(text) | Verdict::Error(text), Some(rule)) => {
            Verdict::Declared(format!("{} is {:?}: {text}", rule.rule, rule.certainty))
        }
        (verdict, _) => verdict,
    }
}

fn run_case(truth: &Truth, mut options: Options, server: &mut dyn Engine, fired: &mut Vec<Fired>) -> Verdict {
    server.fresh(&format!("case_{}_{}", truth.case.id, if options.pack { "pack" } else { "portable" }));
    let mut caller = Caller::default();
    if truth.case.rowids {
        caller.catalogue.keep_rowids();
    }
    let mut within_transaction = false;
    for ((step, wanted), params) in truth.case.steps.iter().zip(&truth.steps).zip(&truth.params) {
        // Outside of a transaction, a failed statement ends none.
        options.savepoints = truth.case.savepoints && within_transaction;
        match first_word(&step.sql).as_str() {
            "BEGIN" => (options.savepoints, within_transaction) = (false, true),
            "COMMIT" | "END" | "ROLLBACK" => (options.savepoints, within_transaction) = (false, false),
            _ => {}
        }
        let verdict = match run_translated((&step.sql, params), &mut caller, &options, server, fired) {
            Ok(found) => compare(step, wanted, found),
            Err(refused) => refused,
        };
        if verdict != Verdict::Pass {
            return verdict;
        }
    }
    let mut contents =
        truth.contents.iter().map(|(read, wanted)| same_contents(read, wanted, &caller, &options, server));
    contents.find(|verdict| *verdict != Verdict::Pass).unwrap_or(Verdict::Pass)
}

/// Whether a table has the rows it must have, read by a translated statement.
pub fn same_contents(
    read: &str,
    wanted: &[Row],
    caller: &Caller,
    options: &Options,
    server: &mut dyn Engine,
) -> Verdict {
    match run_translated((read, &[]), &mut caller.clone(), options, server, &mut vec![]) {
        Ok(Ok(found)) => match difference(wanted, &found.rows, false) {
            Some(text) => Verdict::Wrong(format!("contents, {read}: {text}")),
            None => Verdict::Pass,
        },
        Ok(Err(failed)) => Verdict::Error(format!("contents, {read}: {}", failed.message)),
        Err(refused) => refused,
    }
}
