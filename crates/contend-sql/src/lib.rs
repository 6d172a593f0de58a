//! SQLite's SQL translated into PostgreSQL's and MariaDB's: the same rows as the result, or a refusal that says why.
//!
//! ```
//! use contend_sql::{Catalogue, Options, Target, translate};
//!
//! let mut catalogue = Catalogue::default();
//! catalogue.learn("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")?;
//! let sql = "UPDATE account SET balance = balance - :amount WHERE id = :id";
//! let translation = translate(sql, &catalogue, &Options::to(Target::Postgres))?;
//! assert_eq!(
//!     translation.statements[0].sql,
//!     r#"UPDATE "account" SET "balance" = "balance" - $1::bigint WHERE "id" = $2::bigint"#
//! );
//! assert_eq!(translation.statements[0].params, [1, 2]);
//! # Ok::<(), contend_sql::Refusal>(())
//! ```

use std::fmt;

pub mod cache;
mod catalogue;
mod emit;
mod names;
mod pack;
mod parse;
mod read;
mod refuse;
#[cfg(test)]
mod robustness_tests;
mod rules;
mod scope;
mod types;
#[cfg(test)]
mod workloads_tests;

pub use catalogue::Catalogue;
pub use pack::function_pack;
pub use rules::session::session;
pub use rules::{Outcome, Rule, rules};

use emit::Tr;
use parse::tree::{Cmd, Stmt};
use refuse::R;
use rules::Id;

/// The server whose SQL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PostgreSQL 15 or newer.
    Postgres,
    /// MariaDB 10.6 or newer.
    MariaDb,
}

/// How to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub target: Target,
    /// Use the functions that [`function_pack`] installs. Without them (portable mode) more is refused.
    pub pack: bool,
    /// Put a savepoint around every query and change, as a failed statement ends a transaction on PostgreSQL but not on
    /// SQLite: two more statements each, which PostgreSQL takes only inside a transaction. MariaDB needs none.
    pub savepoints: bool,
}

impl Options {
    /// Portable mode without savepoints.
    pub fn to(target: Target) -> Options {
        Options { target, pack: false, savepoints: false }
    }
}

/// What a text became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// To be run in this order. Empty where the server needs nothing, such as for `PRAGMA journal_mode`.
    pub statements: Vec<Statement>,
    /// The rules that fired, each once.
    pub rules: Vec<Fired>,
    /// What to run when a statement fails, with [`Options::savepoints`]: it undoes the failed statement alone.
    pub on_error: Option<&'static str>,
}

/// A statement for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    /// The number (from 1) of the source's parameter for each placeholder, in order.
    pub params: Vec<u16>,
    /// The type each placeholder is taken to have, in order. A driver that binds another type gets an error from
    /// PostgreSQL and perhaps other rows from MariaDB.
    pub types: Vec<ParamType>,
    /// Its rows and its count are the answer. Others only keep the server in step.
    pub main: bool,
}

/// What a placeholder's value is taken to be, besides NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    Integer,
    Real,
    /// An integer or a real: the place makes of it what it needs.
    Number,
    Text,
    Blob,
    /// Nothing tells.
    Unknown,
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub rule: &'static str,
    pub certainty: Certainty,
}

/// How sure a rule is that the answer is SQLite's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    Exact,
    /// The same answer under this condition.
    Equivalent(&'static str),
    /// Not the same answer, in this respect.
    Lossy(&'static str),
}

/// Why a text has no translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub rule: &'static str,
    /// Byte offset of what is refused: the expression or word that is meant, or else its statement.
    pub offset: usize,
    pub line: u32,
    pub column: u32,
    pub reason: String,
}

impl Refusal {
    /// Whether the catalogue lacks a table: more CREATE statements may help.
    pub fn wants_a_table(&self) -> bool {
        self.rule == rules()[Id::UnknownTable as usize].id
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {} ({})", self.line, self.column, self.reason, self.rule)
    }
}

impl std::error::Error for Refusal {}

/// Translates one statement, or several in one text.
///
/// # Errors
/// Whatever is not understood to be right: with the rule, the place and the reason.
pub fn translate(sql: &str, catalogue: &Catalogue, options: &Options) -> Result<Translation, Refusal> {
    let mut work = Work::new(catalogue, options);
    read::each(sql, |text, names, command| work.take(text, names, command))?;
    work.translation.rules = fired_rules(work.fired, options.target);
    Ok(work.translation)
}

/// All that [`translate`] would refuse, were each statement alone: the first refusal of every statement, in their order.
pub fn refusals(sql: &str, catalogue: &Catalogue, options: &Options) -> Vec<Refusal> {
    let mut work = Work::new(catalogue, options);
    let mut parameters_refused = false;
    read::all(sql, |text, names, command| match work.take(text, names, command) {
        // That is about the whole text.
        Err(no) if no.rule == Id::SeveralStatements && std::mem::replace(&mut parameters_refused, true) => Ok(()),
        told => told,
    })
}

/// A text that is being translated.
struct Work<'o> {
    catalogue: &'o Catalogue,
    options: &'o Options,
    translation: Translation,
    fired: u128,
    /// Statements so far.
    seen: usize,
    /// What earlier statements of the same text made, once there are any.
    wider: Option<Catalogue>,
}

impl<'o> Work<'o> {
    fn new(catalogue: &'o Catalogue, options: &'o Options) -> Work<'o> {
        let translation = Translation { statements: Vec::with_capacity(1), rules: Vec::new(), on_error: None };
        Work { catalogue, options, translation, fired: 0, seen: 0, wider: None }
    }

    /// Translates the next statement.
    fn take(&mut self, text: &str, names: &[(&str, u16)], command: &Cmd) -> R<()> {
        let translated = self.translated(text, names, command);
        if let Cmd::Stmt(statement) = command
            && defines(statement)
        {
            let mut next = self.wider.as_ref().unwrap_or(self.catalogue).clone();
            // A table that is known already stays as it is.
            if next.take_in(text, statement).is_ok() {
                self.wider = Some(next);
            }
        }
        translated
    }

    fn translated(&mut self, text: &str, names: &[(&str, u16)], command: &Cmd) -> R<()> {
        let options = self.options;
        let catalogue = self.wider.as_ref().unwrap_or(self.catalogue);
        let own = match command {
            Cmd::Stmt(statement) => rules::statement::created(text, statement)?,
            _ => None,
        };
        let mut tr = Tr::new(catalogue, options, text, names);
        tr.statement(command, own.as_ref())?;
        if tr.infinite && options.target == Target::MariaDb {
            return refuse::no(
                Id::Literals,
                "",
                "a number beyond all doubles is infinite to SQLite; MariaDB has no such real",
            );
        }
        if options.target == Target::MariaDb && !tr.slots.is_empty() && emit::placeholders(&tr.sql) != tr.slots.len() {
            return refuse::no(
                Id::Parameters,
                "",
                "MariaDB would need a parameter several times inside one expression",
            );
        }
        let translation = &mut self.translation;
        self.seen += 1;
        if self.seen > 1 {
            tr.fire(Id::SeveralStatements);
            if !tr.slots.is_empty() || translation.statements.iter().any(|s| !s.params.is_empty()) {
                return refuse::no(Id::SeveralStatements, "", "parameters in a text of several statements");
            }
        }
        self.fired |= tr.fired;
        let guarded = options.savepoints && options.target == Target::Postgres && changes(command);
        if guarded {
            self.fired |= 1 << Id::ImplicitSavepoints as u8;
            translation.on_error = Some("ROLLBACK TO SAVEPOINT contend_sql");
            translation.statements.push(upkeep("SAVEPOINT contend_sql".to_string()));
        }
        if options.target == Target::MariaDb && commits(command) && !tr.sql.is_empty() {
            self.fired |= 1 << Id::ImplicitCommit as u8;
            translation.statements.push(upkeep(NOT_IN_TRANSACTION.to_string()));
        }
        translation.statements.extend(tr.before.into_iter().map(|(sql, slots)| statement(sql, &slots, false)));
        if !tr.sql.is_empty() {
            translation.statements.push(statement(tr.sql, &tr.slots, true));
        }
        translation.statements.extend(tr.after.into_iter().map(upkeep));
        if guarded {
            translation.statements.push(upkeep("RELEASE SAVEPOINT contend_sql".to_string()));
        }
        Ok(())
    }
}

/// MariaDB commits the transaction at such a statement, SQLite does not: this fails inside one ("Subquery returns more
/// than 1 row"), so that it is no silent difference.
const NOT_IN_TRANSACTION: &str =
    "SET @contend_sql = CASE WHEN @@in_transaction = 1 THEN (SELECT 1 UNION ALL SELECT 2) ELSE 0 END";

/// Whether MariaDB commits at a statement. It does not at those for temporary tables.
fn commits(command: &Cmd) -> bool {
    match command {
        Cmd::Stmt(Stmt::CreateTable { temporary, .. }) => !temporary,
        Cmd::Stmt(
            Stmt::CreateIndex { .. }
            | Stmt::CreateView { .. }
            | Stmt::CreateTrigger { .. }
            | Stmt::AlterTable(..)
            | Stmt::DropTable { .. }
            | Stmt::DropIndex { .. }
            | Stmt::DropTrigger { .. }
            | Stmt::DropView { .. }
            | Stmt::Analyze(_),
        ) => true,
        _ => false,
    }
}

fn statement(sql: String, slots: &[(u16, types::Ty)], main: bool) -> Statement {
    let params = slots.iter().map(|(number, _)| *number).collect();
    let types = slots.iter().map(|(_, ty)| ty.for_parameter()).collect();
    Statement { sql, params, types, main }
}

fn upkeep(sql: String) -> Statement {
    statement(sql, &[], false)
}

/// Whether a statement changes the schema.
fn defines(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::CreateTable { .. }
            | Stmt::CreateIndex { .. }
            | Stmt::CreateView { .. }
            | Stmt::CreateTrigger { .. }
            | Stmt::AlterTable(..)
            | Stmt::DropTable { .. }
            | Stmt::DropIndex { .. }
            | Stmt::DropView { .. }
            | Stmt::Pragma(..)
    )
}

/// Whether a statement can fail in a way that SQLite's transaction survives.
fn changes(command: &Cmd) -> bool {
    matches!(command, Cmd::Stmt(Stmt::Insert { .. } | Stmt::Update { .. } | Stmt::Delete { .. } | Stmt::Select(_)))
}

fn fired_rules(bits: u128, target: Target) -> Vec<Fired> {
    let mut fired = Vec::with_capacity(bits.count_ones() as usize);
    let mut left = bits;
    while left != 0 {
        let rule = &rules()[left.trailing_zeros() as usize];
        left &= left - 1;
        if let Outcome::Fires(certainty) = rule.outcome(target) {
            fired.push(Fired { rule: rule.id, certainty });
        }
    }
    fired
}
