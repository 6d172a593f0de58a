//! A text translated statement by statement, with what the server needs before and after each.

use crate::catalogue::Catalogue;
use crate::emit::{Input, placeholders};
use crate::parse::tree::{Cmd, Stmt};
use crate::read;
use crate::refuse::{R, Refusal, no};
use crate::rules::{Id, Outcome, grammar, rules, statement};
use crate::translation::{Fired, Options, Statement, Target, Translation};
use crate::types::Ty;

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
        done => done,
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
            Cmd::Stmt(statement) => statement::created(text, statement)?,
            _ => None,
        };
        let mut tr = grammar::translator(Input::new(catalogue, options, text, names));
        statement::statement(&mut tr, command, own.as_ref())?;
        if tr.out.infinite && options.target == Target::MariaDb {
            return no(Id::Literals, "", "a number beyond all doubles is infinite to SQLite; MariaDB has no such real");
        }
        if options.target == Target::MariaDb
            && !tr.out.slots.is_empty()
            && placeholders(&tr.out.sql) != tr.out.slots.len()
        {
            return no(Id::Parameters, "", "MariaDB would need a parameter several times inside one expression");
        }
        let translation = &mut self.translation;
        self.seen += 1;
        if self.seen > 1 {
            tr.fire(Id::SeveralStatements);
            if !tr.out.slots.is_empty() || translation.statements.iter().any(|s| !s.params.is_empty()) {
                return no(Id::SeveralStatements, "", "parameters in a text of several statements");
            }
        }
        self.fired |= tr.out.fired;
        let guarded = options.savepoints && options.target == Target::Postgres && changes(command);
        if guarded {
            self.fired |= 1 << Id::ImplicitSavepoints as u8;
            translation.on_error = Some("ROLLBACK TO SAVEPOINT contend_sql");
            translation.statements.push(upkeep("SAVEPOINT contend_sql".to_string()));
        }
        if options.target == Target::MariaDb && commits(command) && !tr.out.sql.is_empty() {
            self.fired |= 1 << Id::ImplicitCommit as u8;
            translation.statements.push(upkeep(NOT_IN_TRANSACTION.to_string()));
        }
        translation.statements.extend(tr.out.before.into_iter().map(|(sql, slots)| statement(sql, &slots, false)));
        if !tr.out.sql.is_empty() {
            translation.statements.push(statement(tr.out.sql, &tr.out.slots, true));
        }
        translation.statements.extend(tr.out.after.into_iter().map(upkeep));
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

fn statement(sql: String, slots: &[(u16, Ty)], main: bool) -> Statement {
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
