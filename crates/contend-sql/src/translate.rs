//! Translates a text statement by statement, with the statements that the server needs before and after each.

use crate::catalogue::Catalogue;
use crate::emit::{Input, Output, PLACEHOLDERS_MAX, Tr, in_order};
use crate::parse::tree::{Cmd, Stmt};
use crate::read;
use crate::refuse::{R, Refusal, no};
use crate::rules::{Handling, Id, grammar, rules, statement};
use crate::script::{self, Point};
use crate::translation::{Fired, Options, SessionValue, Statement, Target, Translation};

/// Translates a text of one or several statements.
///
/// # Errors
/// A construct that is not known to be equivalent: rule, place and reason.
pub fn translate(sql: &str, catalogue: &Catalogue, options: &Options) -> Result<Translation, Refusal> {
    let mut work = Work::new(catalogue, options);
    read::each(sql, |text, names, command| work.take(text, names, command))?;
    Ok(work.done())
}

/// Translates a script: each statement with the schema that the statements before it leave, which may create, change and
/// drop tables of `catalogue`.
///
/// # Errors
/// The first refusal of each statement, in order.
pub fn translate_script(sql: &str, catalogue: &Catalogue, options: &Options) -> Result<Translation, Vec<Refusal>> {
    let catalogue = script::foreseen(sql, catalogue);
    let mut work = Work::new(&catalogue, options);
    let mut parameters_refused = false;
    let refused = read::all(sql, |text, names, command| {
        let translated = match command {
            Cmd::Stmt(statement) => script::no_trigger_over(work.at.catalogue(), statement),
            _ => Ok(()),
        };
        let translated = translated.and_then(|()| work.translated(text, names, command));
        let passed = match command {
            Cmd::Stmt(statement) => work.at.pass(text, statement),
            _ => Ok(()),
        };
        match translated.and(passed) {
            // This refusal concerns the whole text.
            Err(no) if no.rule == Id::SeveralStatements && std::mem::replace(&mut parameters_refused, true) => Ok(()),
            done => done,
        }
    });
    if refused.is_empty() { Ok(work.done()) } else { Err(refused) }
}

/// A text that is being translated.
struct Work<'o> {
    options: &'o Options,
    translation: Translation,
    fired: u128,
    /// Number of statements so far.
    seen: usize,
    at: Point<'o>,
}

impl<'o> Work<'o> {
    fn new(catalogue: &'o Catalogue, options: &'o Options) -> Work<'o> {
        let translation = Translation { statements: Vec::with_capacity(1), rules: Vec::new(), on_error: None };
        Work { options, translation, fired: 0, seen: 0, at: Point::new(catalogue) }
    }

    fn done(mut self) -> Translation {
        self.translation.rules = fired_rules(self.fired, self.options.target);
        self.translation
    }

    /// Translates the next statement.
    fn take(&mut self, text: &str, names: &[(&str, u16)], command: &Cmd) -> R<()> {
        let translated = self.translated(text, names, command);
        if let Cmd::Stmt(statement) = command {
            // A table that the catalogue has already is not changed.
            let _ = self.at.pass(text, statement);
        }
        translated
    }

    fn translated(&mut self, text: &str, names: &[(&str, u16)], command: &Cmd) -> R<()> {
        let options = self.options;
        let catalogue = self.at.catalogue();
        let own = match command {
            Cmd::Stmt(statement) => statement::created(text, statement, catalogue)?,
            _ => None,
        };
        let mut tr = grammar::translator(Input::new(catalogue, options, text, names));
        if let Err(refused) = statement::statement(&mut tr, command, own.as_ref()) {
            if refused.rule != Id::With {
                return Err(refused);
            }
            // Queries of WITH are often written from the last one on.
            tr = grammar::translator(Input::new(catalogue, options, text, names));
            tr.known.from_last = true;
            statement::statement(&mut tr, command, own.as_ref()).map_err(|_| refused)?;
        }
        no_infinity(&tr)?;
        if tr.out.fired & (1 << Id::SessionValues as u8) != 0 && !(changes(command)) {
            return no(Id::SessionValues, "", "a value of the session in a statement that is kept");
        }
        if options.target == Target::MariaDb && !tr.out.slots.is_empty() {
            in_order(&mut tr.out);
        }
        if tr.out.slots.len() > PLACEHOLDERS_MAX {
            return no(Id::Parameters, "", "more placeholders than the server can number");
        }
        let translation = &mut self.translation;
        self.seen += 1;
        if self.seen > 1 {
            tr.fire(Id::SeveralStatements);
            let given = |number: u16| SessionValue::of(number).is_none();
            let earlier = translation.statements.iter().flat_map(|s| &s.params).any(|number| given(*number));
            if earlier || tr.out.slots.iter().any(|slot| given(slot.number)) {
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
        let defines_more = matches!(command, Cmd::Stmt(Stmt::Pragma(..))) && tr.out.sql.starts_with("CREATE ");
        let commits = defines_more || commits(command) && !tr.out.sql.is_empty();
        if options.target == Target::MariaDb && commits {
            self.fired |= 1 << Id::ImplicitCommit as u8;
            translation.statements.push(upkeep(NOT_IN_TRANSACTION.to_string()));
        }
        let Output { before, after, .. } = &mut tr.out;
        let (before, after) = (std::mem::take(before), std::mem::take(after));
        translation.statements.extend(before.into_iter().map(upkeep));
        if !tr.out.sql.is_empty() {
            translation.statements.push(main_statement(tr.out, command));
        }
        translation.statements.extend(after.into_iter().map(upkeep));
        if guarded {
            translation.statements.push(upkeep("RELEASE SAVEPOINT contend_sql".to_string()));
        }
        Ok(())
    }
}

/// Refuses an infinite number that the server has not, or computes with otherwise.
fn no_infinity(tr: &Tr) -> R<()> {
    if tr.out.infinite && !tr.postgres {
        return no(Id::Literals, "", "a number beyond all doubles is infinite to SQLite; MariaDB has no such real");
    }
    if tr.out.infinite && tr.has_fired(Id::Reals) {
        return no(Id::Literals, "", "infinity minus infinity is NULL to SQLite, and a number on PostgreSQL");
    }
    Ok(())
}

/// MariaDB commits the transaction at such a statement, SQLite does not. This statement fails in a transaction
/// ("Subquery returns more than 1 row"), so that the difference is not silent.
const NOT_IN_TRANSACTION: &str =
    "SET @contend_sql = CASE WHEN @@in_transaction = 1 THEN (SELECT 1 UNION ALL SELECT 2) ELSE 0 END";

/// Whether MariaDB commits at a statement. It does not for temporary tables.
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

fn main_statement(out: Output, command: &Cmd) -> Statement {
    let counts = matches!(command, Cmd::Stmt(Stmt::Insert { .. } | Stmt::Update { .. } | Stmt::Delete { .. }));
    let Output { sql, slots, keys, may_fail_late, tagged, .. } = out;
    let params = slots.iter().map(|slot| slot.number).collect();
    let types = slots.iter().map(|slot| slot.ty.for_parameter()).collect();
    let converted = slots.iter().map(|slot| slot.converted).collect();
    Statement { sql, params, types, converted, tagged, main: true, counts, keys, may_fail_late }
}

fn upkeep(sql: String) -> Statement {
    Statement { main: false, ..Statement::of_server(sql, vec![]) }
}

/// Whether a statement can fail without ending SQLite's transaction.
fn changes(command: &Cmd) -> bool {
    matches!(command, Cmd::Stmt(Stmt::Insert { .. } | Stmt::Update { .. } | Stmt::Delete { .. } | Stmt::Select(_)))
}

fn fired_rules(bits: u128, target: Target) -> Vec<Fired> {
    let mut fired = Vec::with_capacity(bits.count_ones() as usize);
    let mut left = bits;
    while left != 0 {
        let rule = &rules()[left.trailing_zeros() as usize];
        left &= left - 1;
        if let Handling::Fires(certainty) = rule.handling(target) {
            fired.push(Fired { rule: rule.id, certainty });
        }
    }
    fired
}
