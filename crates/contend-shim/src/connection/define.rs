//! Changes of the schema: in the front and on the server, with the foreign keys that follow from them. Where the server
//! commits them, [`super::change`] carries them out.

use super::State;
use super::change::Change;
use crate::c::front::{Failed, Front};
use crate::c::{DONE, ERROR, LOCKED};
use crate::does::first_word;
use crate::schema::Object;
use crate::server::{Kind, Message, Trouble};
use crate::{fault, journal, keys, schema};
use contend_sql::{Catalogue, Target};
use contend_wire::kept::{ROWIDS, quoted};
use std::sync::Arc;

/// Whether rows or an index of an object are stored.
fn has_rows(object: &&Object) -> bool {
    ["table", "index"].contains(&object[0].as_str())
}

fn translated(sql: &str, catalogue: &Catalogue, target: Target) -> Result<Vec<String>, Failed> {
    let translation = contend_sql::translate(sql, catalogue, &crate::plan::options(target))
        .map_err(|refusal| journal::refused(sql, &refusal.to_string()))?;
    // The translator's check that no transaction is committed; there is none.
    let is_check = |sql: &String| sql.starts_with("SET @contend_sql = ");
    Ok(translation.statements.into_iter().map(|statement| statement.sql).filter(|sql| !is_check(sql)).collect())
}

impl State {
    /// What the translator has to know of these objects.
    pub fn catalogue_of(&self, objects: &[schema::Object], foreign_keys: bool) -> Catalogue {
        let keeps_rowids = self.settings.contains_key(ROWIDS.0);
        schema::catalogue(objects, &self.held, (foreign_keys, keeps_rowids))
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Whether a table has triggers.
    pub fn has_triggers_of(&self, table: &str) -> bool {
        self.objects.iter().any(|[kind, _, of, _]| kind == "trigger" && of.eq_ignore_ascii_case(table))
    }

    /// Whether the database has a table of this name, which is not a view.
    pub fn is_stored(&self, name: &str) -> bool {
        self.objects.iter().any(|[kind, known, ..]| kind == "table" && known.eq_ignore_ascii_case(name))
    }

    /// Carries out CREATE, ALTER or DROP: in the front by `step`, then on the server. `is_read`: whether another statement of
    /// the connection has rows left. Returns whether it is done: if another connection changed the schema meanwhile, the
    /// front is as it was.
    ///
    /// # Errors
    /// There is no translation, or the server refuses. The front is as it was.
    pub fn define(
        &mut self,
        front: &Front,
        sql: &str,
        is_read: bool,
        step: impl FnOnce() -> i32,
    ) -> Result<bool, Failed> {
        front.execute("SAVEPOINT \"contend definition\"")?;
        let done = self.defined(front, sql, is_read, step);
        if done != Ok(true) {
            // They fail if the whole transaction is rolled back: the connection is lost.
            let _ = front.execute("ROLLBACK TO \"contend definition\"");
            let _ = front.execute("RELEASE \"contend definition\"");
            return done;
        }
        front.execute("RELEASE \"contend definition\"").map(|()| true)
    }

    fn defined(&mut self, front: &Front, sql: &str, is_read: bool, step: impl FnOnce() -> i32) -> Result<bool, Failed> {
        let views = schema::view_columns(front, &self.objects);
        if step() != DONE {
            return Err(front.failed());
        }
        let after = schema::of_front(front)?;
        if let Some(reason) = schema::objection(front, &after, &views) {
            return Err(journal::refused(sql, &reason));
        }
        if after == self.objects {
            return Ok(true);
        }
        // SQLite drops no table and no index while a statement reads.
        if is_read
            && first_word(sql) == "DROP"
            && after.iter().filter(has_rows).count() < self.objects.iter().filter(has_rows).count()
        {
            return Err(Failed::new(LOCKED, "database table is locked"));
        }
        let version = self.version.unwrap_or(0);
        let statements = self.with_triggers(sql, &after)?;
        let held = schema::held_by(&self.catalogue_of(&self.objects, false), sql, self.target())?;
        self.leave_for_definition(front, sql)?;
        let mut rows = schema::difference(&self.objects, &after);
        rows.extend(self.without_held(front, sql)?);
        rows.extend(schema::difference(&[], &held));
        let in_transaction = self.link.is_in_transaction();
        let changed = if self.library.dialect.commits_definitions() {
            let wanted = self.wanted_keys(sql, &after)?;
            let is_checked = first_word(sql) == "DROP" && front.has_keys_on();
            self.change((&statements, &rows), wanted.as_deref(), is_checked)
        } else {
            let messages = [self.with_keys(front, sql, &after, statements)?, rows].concat();
            self.link.perform_definition(version, messages)
        };
        match changed {
            Err(trouble) if trouble.kind() == Some(Kind::Outdated) => return Ok(false),
            changed => changed.map_err(|trouble| self.fails(front, &trouble))?,
        }
        self.has_defined |= in_transaction;
        self.version = Some(version + 1);
        self.held.extend(held);
        self.held.retain(|held| after.iter().any(|object| object[0] == "table" && object[1] == held[2]));
        self.know(after);
        Ok(true)
    }

    /// A change of the schema for the server. Triggers that SQLite rewrites, because a name in them changes, are created
    /// again: their functions have the old name. So are those that SQLite reads again with a new table of a name in them; and
    /// views, which only MariaDB keeps when their tables are dropped.
    fn with_triggers(&self, sql: &str, after: &[Object]) -> Result<Vec<String>, Failed> {
        let before = |object: &Object| self.objects.iter().find(|old| old[..2] == object[..2]);
        let is_rewritten = |object: &&Object| before(object).is_some_and(|old| old[3] != object[3]);
        let triggers = || after.iter().filter(|[kind, ..]| kind == "trigger");
        let rewritten: Vec<&Object> = triggers().filter(is_rewritten).collect();
        let now = self.catalogue_of(&self.objects, false);
        let mut messages = vec![];
        for [_, name, ..] in &rewritten {
            messages.extend(translated(&format!("DROP TRIGGER {}", quoted(name)), &now, self.target())?);
        }
        messages.extend(translated(sql, &now, self.target())?);
        let then = || self.catalogue_of(after, false);
        if !rewritten.is_empty() {
            let then = then();
            for [.., sql] in rewritten {
                messages.extend(translated(sql, &then, self.target())?);
            }
        }
        if first_word(sql) == "CREATE"
            && let Some([_, made, ..]) =
                after.iter().find(|object| ["table", "view"].contains(&object[0].as_str()) && before(object).is_none())
        {
            let made = made.to_ascii_lowercase();
            let is_over = |object: &&Object| {
                ["trigger", "view"].contains(&object[0].as_str())
                    && before(object).is_some()
                    && object[3].to_ascii_lowercase().contains(&made)
            };
            for object in after.iter().filter(is_over) {
                messages.extend(self.made_again(object, &then())?);
            }
        }
        Ok(messages)
    }

    /// Statements that replace a trigger or view by its translation with this schema. PostgreSQL replaces the trigger's
    /// function; its views never lose their tables.
    fn made_again(&self, [kind, _, _, sql]: &Object, then: &Catalogue) -> Result<Vec<String>, Failed> {
        let statements = translated(sql, then, self.target())?;
        Ok(match self.target() {
            Target::MariaDb => {
                let replaced = |sql: String| sql.replacen("CREATE ", "CREATE OR REPLACE ", 1);
                statements.into_iter().map(replaced).collect()
            }
            Target::Postgres if kind == "trigger" => {
                statements.into_iter().filter(|sql| sql.starts_with("CREATE OR REPLACE FUNCTION ")).collect()
            }
            Target::Postgres => vec![],
        })
    }

    /// Ends the server's transaction before a change of the schema would, if that is what the program's user wants or nothing
    /// is lost.
    ///
    /// # Errors
    /// The transaction has used rows; MariaDB would commit it.
    pub fn leave_for_definition(&mut self, front: &Front, sql: &str) -> Result<(), Failed> {
        if !self.library.dialect.commits_definitions() || !self.link.is_in_transaction() {
            return Ok(());
        }
        if self.link.has_sent() && !self.library.commits_definitions {
            let reason = "MariaDB commits before CREATE, ALTER and DROP, and this transaction has read or changed rows; \
                          --ddl commit allows it";
            return Err(journal::refused(sql, reason));
        }
        let places = self.savepoints.len();
        self.link.commit_early(places).map_err(|trouble| self.fails(front, &trouble))
    }

    /// The error of a ROLLBACK that cannot undo everything.
    pub fn kept_by_server(&self) -> Option<Failed> {
        self.link.is_kept().then(|| {
            let words = "contend shim: MariaDB cannot undo CREATE, ALTER and DROP: they are kept, and what the transaction did \
                         before them";
            Failed::new(ERROR, words)
        })
    }

    /// The schema on a server that commits its changes.
    pub fn changing(&mut self) -> Change<'_> {
        Change { link: &mut self.link, dialect: self.library.dialect, name: &self.name }
    }

    /// Carries out a change there. `keys`: the foreign keys of the new schema, if they are enforced; `is_checked`: whether the
    /// statements may leave no row without its parent.
    fn change(
        &mut self,
        parts: (&[String], &[String]),
        keys: Option<&[keys::Key]>,
        is_checked: bool,
    ) -> Result<(), Trouble> {
        let version = self.version.unwrap_or(0);
        let done = self.changing().carry_out(version, parts, keys, is_checked);
        if done.is_err() {
            self.doubt();
        }
        done
    }

    /// All foreign keys of the schema.
    pub fn keys(&mut self) -> Arc<Vec<keys::Key>> {
        let (objects, held, target) = (&self.objects, &self.held, self.target());
        let read = || Arc::new(keys::of(objects, held, target));
        Arc::clone(self.keys.get_or_insert_with(read))
    }

    /// Statements that delete the rows about dropped columns.
    fn without_held(&self, front: &Front, sql: &str) -> Result<Vec<String>, Failed> {
        let mut messages = vec![];
        for held in &self.held {
            if front.has_column(&held[2], &held[1])? {
                continue;
            }
            if first_word(sql) == "ALTER" {
                let words = format!(
                    "contend shim: the type of {}.{} follows its values and cannot be changed",
                    held[2], held[1]
                );
                return Err(Failed::new(ERROR, words));
            }
            messages.push(schema::forget(held));
        }
        Ok(messages)
    }

    /// The foreign keys of a new schema, if the server enforces them.
    ///
    /// # Errors
    /// One has no translation.
    fn wanted_keys(&self, sql: &str, after: &[Object]) -> Result<Option<Vec<keys::Key>>, Failed> {
        if !self.enforces_keys() {
            return Ok(None);
        }
        let wanted = keys::of(after, &self.held, self.target());
        match keys::without_translation(&wanted, after, self.target()) {
            Some(reason) => Err(journal::refused(sql, &reason)),
            None => Ok(Some(wanted)),
        }
    }

    /// Statements of a change of the schema, with those that adapt the server's constraints to it.
    fn with_keys(
        &mut self,
        front: &Front,
        sql: &str,
        after: &[Object],
        statements: Vec<String>,
    ) -> Result<Vec<String>, Failed> {
        let Some(wanted) = self.wanted_keys(sql, after)? else { return Ok(statements) };
        let mut messages = vec![];
        if self.link.is_in_transaction() && !self.keys().is_empty() {
            messages.push(keys::check_now());
        }
        // With keys on, SQLite deletes the rows first; without, other tables go on to refer to the name.
        if first_word(sql) == "DROP" && !front.has_keys_on() {
            messages.push(keys::drop_others(&wanted));
        }
        messages.extend(statements);
        if !wanted.is_empty() {
            messages.push(keys::add_missing(&wanted));
        }
        Ok(messages)
    }

    /// Reads the schema again, which another connection has changed.
    ///
    /// # Errors
    /// The transaction has an older snapshot, without the change; or as for [`State::read`].
    pub fn follow_schema(&mut self, front: &Front) -> Result<(), Failed> {
        let before = self.version;
        self.read(front)?;
        let is_old = self.link.has_sent() && self.version == before;
        if is_old { Err(Failed::new(fault::BUSY_SNAPSHOT, "database is locked")) } else { Ok(()) }
    }

    /// Has the server enforce the foreign keys of all tables, from now on. The version of the schema changes, so that
    /// all connections read it again.
    ///
    /// # Errors
    /// One has no translation, or rows violate one.
    pub fn enforce_keys(&mut self, front: &Front) -> Result<(), Failed> {
        self.refresh(front)?;
        if !self.enforces_keys() {
            self.leave_for_definition(front, "PRAGMA foreign_keys = ON")?;
        }
        while !self.enforces_keys() {
            match self.enforced() {
                Err(trouble) if trouble.kind() == Some(Kind::Outdated) => self.follow_schema(front)?,
                done => drop(done.map_err(|trouble| self.fails(front, &trouble))?),
            }
            self.has_defined |= self.link.is_in_transaction();
            self.read(front)?;
        }
        Ok(())
    }

    fn enforced(&mut self) -> Result<(), Trouble> {
        let keys = self.keys();
        if let Some(reason) = keys::without_translation(&keys, &self.objects, self.target()) {
            return Err(Trouble::Value(format!("PRAGMA foreign_keys: {reason}")));
        }
        let set = self.library.dialect.set("foreign_keys", "on");
        if self.library.dialect.commits_definitions() {
            return self.change((&[], &[set]), Some(&keys), false);
        }
        let mut messages = vec![set];
        messages.extend((!keys.is_empty()).then(|| keys::add_missing(&keys)));
        self.link.perform_definition(self.version.unwrap_or(0), messages)
    }

    /// `PRAGMA foreign_key_check`, where the server enforces all keys: what is deferred is checked now.
    ///
    /// # Errors
    /// A row violates a key, or the server does not enforce all.
    pub fn check_keys(&mut self, front: &Front) -> Result<(), Failed> {
        let keys = self.keys();
        if keys.is_empty() {
            return Ok(());
        }
        if !self.enforces_keys() || keys::wait(&keys) {
            let words = "contend shim: PRAGMA foreign_key_check: the server does not enforce all keys";
            return Err(Failed::new(ERROR, words));
        }
        if self.checks_by_session() {
            let asked = keys::violations(&keys).into_iter().map(Message::query).collect();
            let is_violated = self.perform(front, asked)?.iter().any(|answer| !answer.rows.is_empty());
            let words = "FOREIGN KEY constraint failed";
            return if is_violated { Err(Failed::new(fault::CONSTRAINT_FOREIGNKEY, words)) } else { Ok(()) };
        }
        if self.link.is_in_transaction() {
            self.perform(front, vec![Message::Plain(keys::check_now())])?;
        }
        Ok(())
    }

    /// Lets SQLite execute a row-changing statement in the front, and undoes it.
    ///
    /// # Errors
    /// It cannot be undone alone: the transaction is rolled back.
    pub fn try_in_front(&mut self, front: &Front, step: impl FnOnce() -> i32) -> Result<(), Failed> {
        let rowid = front.last_insert_rowid();
        front.execute("SAVEPOINT \"contend trial\"")?;
        step();
        let undone =
            front.execute("ROLLBACK TO \"contend trial\"").and_then(|()| front.execute("RELEASE \"contend trial\""));
        front.set_last_insert_rowid(rowid);
        if let Err(failed) = undone {
            let _ = self.link.end("ROLLBACK");
            self.left(front);
            return Err(failed);
        }
        Ok(())
    }
}
