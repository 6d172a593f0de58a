//! A change of the schema where CREATE, ALTER and DROP commit, as on MariaDB.
//!
//! Meanwhile the relation with the version has another name. So other processes cannot use the schema, and wait for the
//! lock of the one that changes it. What is left to do is stored before it is begun: if that process ends, the next one
//! completes the change.

use crate::dialect::Dialect;
use crate::keys;
use crate::link::Link;
use crate::server::{Message, Reply, Trouble};
use crate::value::Value;
use contend_wire::kept::{PREFIX, literal, sentinel};

/// Between statements that are stored, and between the changes and the rows that follow.
const UNIT: char = '\u{1f}';
const PART: char = '\u{1e}';
/// Errors of a statement that was carried out before: tables, columns, indexes, constraints and triggers that are there, or
/// are not there any more.
const DONE_BEFORE: [&str; 11] =
    ["1050", "1051", "1054", "1060", "1061", "1091", "1146", "1359", "1360", "1826", "1005"];

/// The name of the version's relation while the schema is changed.
fn changing(version: u64) -> String {
    format!("{PREFIX}changing{version}")
}

fn rename(from: &str, to: &str) -> String {
    format!("RENAME TABLE {from} TO {to}")
}

/// A database whose schema is changed.
pub struct Change<'c> {
    pub link: &'c mut Link,
    pub dialect: &'static dyn Dialect,
    /// The name of the database.
    pub name: &'c str,
}

impl Change<'_> {
    /// Carries out a change: statements, then the rows about them. `keys`: the foreign keys of the new schema, if they are
    /// enforced; `is_checked`: whether the statements may leave no row without its parent.
    pub fn carry_out(
        &mut self,
        version: u64,
        (statements, rows): (&[String], &[String]),
        keys: Option<&[keys::Key]>,
        is_checked: bool,
    ) -> Result<(), Trouble> {
        self.under_lock(|change| {
            change.outside(vec![rename(&sentinel(version), &changing(version))])?;
            let stored = format!("{}{PART}{}", statements.join(&UNIT.to_string()), rows.join(&UNIT.to_string()));
            change.outside(vec![
                change.dialect.set("pending", &stored),
                format!("SET SESSION foreign_key_checks = {}", u8::from(is_checked)),
            ])?;
            let mut done = 0;
            let mut carried_out = Ok(());
            while carried_out.is_ok() && done < statements.len() {
                carried_out = change.outside(vec![statements[done].clone()]).map(drop);
                done += usize::from(carried_out.is_ok());
            }
            if let Err(trouble) = carried_out.and_then(|()| change.adapt_keys(keys)) {
                if let Trouble::Lost(words) = trouble {
                    return Err(Trouble::Lost(format!("{words}; the change may be completed later")));
                }
                if done == 0 || change.is_created_undone(&statements[0]) {
                    change.finish(version, &[])?;
                }
                return Err(trouble);
            }
            change.finish(version, rows)?;
            change.link.keep();
            Ok(())
        })
    }

    /// Drops a table that was created, whose further statements failed.
    fn is_created_undone(&mut self, first: &str) -> bool {
        let Some(rest) = first.strip_prefix("CREATE TABLE ") else { return false };
        let name = rest.trim_start_matches("IF NOT EXISTS ").split(" (").next().unwrap_or_default();
        self.outside(vec![format!("DROP TABLE {name}")]).is_ok()
    }

    /// Gives the server's tables the constraints of these keys. Rows that are there are not checked, as by SQLite.
    fn adapt_keys(&mut self, keys: Option<&[keys::Key]>) -> Result<(), Trouble> {
        let Some(keys) = keys else { return Ok(()) };
        let there = self.outside(vec![keys::ask_mariadb(self.name)])?.pop().unwrap_or_default().rows;
        let mut statements = vec!["SET SESSION foreign_key_checks = 0".to_string()];
        statements.extend(keys::adapt(keys, there));
        self.outside(statements).map(drop)
    }

    /// Stores the rows, and gives the schema its next version.
    fn finish(&mut self, version: u64, rows: &[String]) -> Result<(), Trouble> {
        let mut statements = vec!["BEGIN".to_string()];
        statements.extend(rows.iter().cloned());
        statements.push(format!("DELETE FROM {PREFIX}settings WHERE name = 'pending'"));
        statements.extend(["COMMIT".to_string(), rename(&changing(version), &sentinel(version + 1))]);
        let finished = self.outside(statements).map(drop);
        if finished.is_err() {
            // The next change would commit what was stored of it. Without a connection nothing was.
            let _ = self.outside(vec!["ROLLBACK".to_string()]);
        }
        finished
    }

    /// Completes the change of a process that ended, or waits for one that has not. Returns whether there was one to complete;
    /// `None` if the schema is gone.
    ///
    /// # Errors
    /// It still works after the busy timeout, or the server refuses a step of the change.
    pub fn complete(&mut self) -> Result<Option<bool>, Trouble> {
        let mut is_completed = None;
        self.under_lock(|change| {
            let sql = format!(
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} \
                 AND TABLE_NAME REGEXP '^{PREFIX}(changing|v)[0-9]+$'",
                literal(change.name)
            );
            let found = first(change.outside(vec![sql])?);
            is_completed = found.is_some().then_some(false);
            let Some(version) = found.and_then(|name| name.strip_prefix(&format!("{PREFIX}changing"))?.parse().ok())
            else {
                return Ok(());
            };
            let sql = format!("SELECT value FROM {PREFIX}settings WHERE name = 'pending'");
            let stored = first(change.outside(vec![sql])?).unwrap_or_default();
            let (statements, rows) = stored.split_once(PART).unwrap_or_default();
            let split = |text: &str| -> Vec<String> {
                text.split(UNIT).filter(|sql| !sql.is_empty()).map(str::to_string).collect()
            };
            for (number, statement) in split(statements).into_iter().enumerate() {
                match change.outside(vec![statement]) {
                    Err(Trouble::Server(said)) if DONE_BEFORE.contains(&said.code.as_str()) => {}
                    // Nothing of it was carried out: it failed for the other process too.
                    Err(Trouble::Server(_)) if number == 0 => return change.finish(version, &[]),
                    done => drop(done?),
                }
            }
            is_completed = Some(true);
            change.finish(version, &split(rows))
        })?;
        Ok(is_completed)
    }

    /// Gives the server's tables the constraints of these keys.
    pub fn complete_keys(&mut self, keys: &[keys::Key]) -> Result<(), Trouble> {
        self.under_lock(|change| change.adapt_keys(Some(keys)))
    }

    fn under_lock(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Trouble>) -> Result<(), Trouble> {
        let [lock, unlock] = self.dialect.lock(&format!("changes of {}", self.name), self.link.definition_waits_ms());
        self.outside(vec![lock])?;
        let done = work(self);
        // Without a connection there is no lock.
        let _ = self.outside(vec![unlock]);
        self.link.forget_session();
        done
    }

    /// Executes statements outside of the transaction, none of which is on the server yet.
    fn outside(&mut self, statements: Vec<String>) -> Result<Vec<Reply>, Trouble> {
        self.link.outside(statements.into_iter().map(Message::Plain).collect())
    }
}

fn first(answers: Vec<Reply>) -> Option<String> {
    answers.into_iter().next()?.rows.into_iter().next()?.into_iter().next().map(Value::into_words)
}
