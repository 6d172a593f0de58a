//! CREATE TRIGGER: PostgreSQL's is a function and a trigger that calls it, MariaDB's has a body of its own.

use crate::catalogue::Table;
use crate::emit::{Tr, plain};
use crate::names::push_name;
use crate::parse::tree::{Expr, QualifiedName, TriggerCmd, TriggerEvent, TriggerTime};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::insert::{Insert, source};
use crate::rules::update::Update;
use crate::scope::Scope;

pub(crate) struct CreateTrigger<'a> {
    pub name: &'a QualifiedName<'a>,
    pub time: Option<TriggerTime>,
    pub event: &'a TriggerEvent<'a>,
    pub table: &'a QualifiedName<'a>,
    pub when: Option<&'a Expr<'a>>,
    pub commands: &'a [TriggerCmd<'a>],
}

impl<'a> Tr<'a> {
    pub(crate) fn create_trigger(&mut self, trigger: CreateTrigger<'a>) -> R<()> {
        self.fire(Id::Triggers);
        let token = trigger.name.name.0;
        let name = plain(token);
        if trigger.time != Some(TriggerTime::After) {
            return no(Id::Triggers, token, "a trigger that is not AFTER, which sees other values on the server");
        }
        let table = self.target(trigger.table)?;
        if !self.postgres && self.catalogue.foreign_keys && !table.references.is_empty() {
            return no(Id::Triggers, token, "MariaDB fires none for what a foreign key does");
        }
        let (event, new, old) = match trigger.event {
            TriggerEvent::Insert => ("INSERT", true, false),
            TriggerEvent::Delete => ("DELETE", false, true),
            TriggerEvent::Update => ("UPDATE", true, true),
            TriggerEvent::UpdateOf(_) if self.postgres => ("UPDATE OF ", true, true),
            TriggerEvent::UpdateOf(_) => return no(Id::Triggers, token, "MariaDB has no UPDATE OF"),
        };
        let rows = [("new", new), ("old", old)].into_iter().filter(|(_, there)| *there);
        let sources = rows.map(|(name, _)| source(table, Some(name.into()))).collect();
        self.scopes.push(Scope { sources, several: true, ..Scope::default() });
        let (when, body) = self.trigger_parts(&trigger, table)?;
        self.scopes.pop();
        self.put("CREATE TRIGGER ");
        self.name(&name)?;
        self.put(" AFTER ");
        self.put(event);
        if let TriggerEvent::UpdateOf(columns) = trigger.event {
            self.list(columns.iter(), |tr, column| match table.position(&plain(column.0)) {
                Some(position) => tr.name(&table.columns[position].name),
                None => no(Id::UnknownColumn, column.0, "there is no such column"),
            })?;
        }
        self.put(" ON ");
        self.name(&table.name)?;
        self.put(" FOR EACH ROW ");
        if self.postgres {
            return self.trigger_function(token, &name, &when, &body);
        }
        if when.is_empty() {
            self.put(&format!("BEGIN {body}END"));
        } else {
            self.put(&format!("BEGIN IF {when} THEN {body}END IF; END"));
        }
        Ok(())
    }

    /// The condition of a trigger, and its commands.
    fn trigger_parts(&mut self, trigger: &CreateTrigger<'a>, table: &Table) -> R<(String, String)> {
        let token = trigger.name.name.0;
        let mut when = String::new();
        if let Some(condition) = trigger.when {
            self.condition(condition)?;
            when = std::mem::take(&mut self.sql);
        }
        for command in trigger.commands {
            self.trigger_command(token, table, command)?;
            self.put("; ");
        }
        let body = std::mem::take(&mut self.sql);
        if !self.slots.is_empty() {
            return no(Id::Triggers, token, "a trigger with parameters");
        }
        Ok((when, body))
    }

    /// PostgreSQL has the commands in a function, which is made first.
    fn trigger_function(&mut self, token: &str, name: &str, when: &str, body: &str) -> R<()> {
        let mut function = String::new();
        push_name(&mut function, &format!("{name}_trigger"));
        if body.contains("$trigger$") || function.len() > 62 {
            return no(Id::Triggers, token, "a trigger whose text or name cannot be put into a function");
        }
        let made = format!(
            "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $trigger$ \
             BEGIN {body}RETURN NULL; END $trigger$"
        );
        self.before.push((made, vec![]));
        if !when.is_empty() {
            self.put(&format!("WHEN ({when}) "));
        }
        self.put(&format!("EXECUTE FUNCTION {function}()"));
        Ok(())
    }

    fn trigger_command(&mut self, token: &str, own: &Table, command: &'a TriggerCmd<'a>) -> R<()> {
        let changed = match command {
            TriggerCmd::Insert { tbl_name, .. }
            | TriggerCmd::Update { tbl_name, .. }
            | TriggerCmd::Delete { tbl_name, .. } => tbl_name,
            TriggerCmd::Select(_) => return no(Id::Triggers, token, "SELECT in a trigger"),
        };
        if plain(changed.name.0).eq_ignore_ascii_case(&own.name) {
            return no(Id::Triggers, token, "a trigger that changes its own table");
        }
        let after = self.after.len();
        match command {
            TriggerCmd::Insert { or_conflict, tbl_name, col_names, select, upsert } => self.insert(Insert {
                with: None,
                or: *or_conflict,
                table: tbl_name,
                columns: col_names.as_ref(),
                select: Some(select),
                upsert: *upsert,
                returning: None,
            })?,
            TriggerCmd::Update { or_conflict, tbl_name, sets, from, where_clause } => self.update(Update {
                with: None,
                or: *or_conflict,
                table: tbl_name,
                indexed: None,
                sets,
                from: from.as_ref(),
                condition: where_clause.as_ref(),
                returning: None,
                order: None,
                limit: None,
            })?,
            TriggerCmd::Delete { tbl_name, where_clause } => {
                self.delete(None, tbl_name, None, where_clause.as_ref(), None, None, None)?;
            }
            TriggerCmd::Select(_) => {}
        }
        // What moves a counter runs inside the function.
        for sql in self.after.split_off(after) {
            self.put("; PERFORM");
            self.put(sql.trim_start_matches("SELECT"));
        }
        Ok(())
    }

    pub(crate) fn drop_trigger(&mut self, name: &'a QualifiedName<'a>, if_exists: bool) -> R<()> {
        self.fire(Id::Triggers);
        let plain_name = plain(name.name.0);
        let known = self.catalogue.triggers.iter().find(|(known, _)| known.eq_ignore_ascii_case(&plain_name));
        let Some((known, table)) = known else {
            return no(Id::Triggers, name.name.0, "the catalogue has no such trigger");
        };
        self.put(if if_exists { "DROP TRIGGER IF EXISTS " } else { "DROP TRIGGER " });
        self.name(known)?;
        if self.postgres {
            self.put(" ON ");
            self.name(table)?;
        }
        Ok(())
    }
}
