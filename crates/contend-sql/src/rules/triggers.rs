//! CREATE TRIGGER: PostgreSQL's is a function and a trigger that calls it, MariaDB's has a body of its own.

use crate::catalogue::Table;
use crate::emit::{Tr, plain};
use crate::names::push_name;
use crate::parse::tree::{Expr, QualifiedName, TriggerCmd, TriggerEvent, TriggerTime};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::insert::Insert;
use crate::rules::update::{Delete, Update};
use crate::rules::{Id, changes, insert, update};
use crate::scope::Scope;

pub(crate) struct CreateTrigger<'a> {
    pub name: &'a QualifiedName<'a>,
    pub time: Option<TriggerTime>,
    pub event: &'a TriggerEvent<'a>,
    pub table: &'a QualifiedName<'a>,
    pub when: Option<&'a Expr<'a>>,
    pub commands: &'a [TriggerCmd<'a>],
}

pub(crate) fn create_trigger<'a>(tr: &mut Tr<'a>, trigger: CreateTrigger<'a>) -> R<()> {
    tr.fire(Id::Triggers);
    let token = trigger.name.name.0;
    let name = plain(token);
    if trigger.time != Some(TriggerTime::After) {
        return no(Id::Triggers, token, "a trigger that is not AFTER, which sees other values on the server");
    }
    let table = changes::target(tr, trigger.table)?;
    if !tr.postgres && tr.input.catalogue.foreign_keys && !table.references.is_empty() {
        return no(Id::Triggers, token, "MariaDB fires none for what a foreign key does");
    }
    let (event, new, old) = match trigger.event {
        TriggerEvent::Insert => ("INSERT", true, false),
        TriggerEvent::Delete => ("DELETE", false, true),
        TriggerEvent::Update => ("UPDATE", true, true),
        TriggerEvent::UpdateOf(_) if tr.postgres => ("UPDATE OF ", true, true),
        TriggerEvent::UpdateOf(_) => return no(Id::Triggers, token, "MariaDB has no UPDATE OF"),
    };
    let rows = [("new", new), ("old", old)].into_iter().filter(|(_, there)| *there);
    let sources = rows.map(|(name, _)| source(table, Some(name.into()))).collect();
    tr.known.scopes.push(Scope { sources, several: true, ..Scope::default() });
    let (when, body) = trigger_parts(tr, &trigger, table)?;
    tr.known.scopes.pop();
    tr.put("CREATE TRIGGER ");
    tr.name(&name)?;
    tr.put(" AFTER ");
    tr.put(event);
    if let TriggerEvent::UpdateOf(columns) = trigger.event {
        tr.list(columns.iter(), |tr, column| match table.position(&plain(column.0)) {
            Some(position) => tr.name(&table.columns[position].name),
            None => no(Id::UnknownColumn, column.0, "there is no such column"),
        })?;
    }
    tr.put(" ON ");
    tr.name(&table.name)?;
    tr.put(" FOR EACH ROW ");
    if tr.postgres {
        return trigger_function(tr, token, &name, &when, &body);
    }
    if when.is_empty() {
        tr.put(&format!("BEGIN {body}END"));
    } else {
        tr.put(&format!("BEGIN IF {when} THEN {body}END IF; END"));
    }
    Ok(())
}

/// The condition of a trigger, and its commands.
fn trigger_parts<'a>(tr: &mut Tr<'a>, trigger: &CreateTrigger<'a>, table: &Table) -> R<(String, String)> {
    let token = trigger.name.name.0;
    let mut when = String::new();
    if let Some(condition) = trigger.when {
        tr.condition(condition)?;
        when = std::mem::take(&mut tr.out.sql);
    }
    for command in trigger.commands {
        trigger_command(tr, token, table, command)?;
        tr.put("; ");
    }
    let body = std::mem::take(&mut tr.out.sql);
    if !tr.out.slots.is_empty() {
        return no(Id::Triggers, token, "a trigger with parameters");
    }
    Ok((when, body))
}

/// PostgreSQL has the commands in a function, which is made first.
fn trigger_function(tr: &mut Tr, token: &str, name: &str, when: &str, body: &str) -> R<()> {
    let mut function = String::new();
    push_name(&mut function, &format!("{name}_trigger"));
    if body.contains("$trigger$") || function.len() > 62 {
        return no(Id::Triggers, token, "a trigger whose text or name cannot be put into a function");
    }
    let made = format!(
        "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $trigger$ \
         BEGIN {body}RETURN NULL; END $trigger$"
    );
    tr.out.before.push((made, vec![]));
    if !when.is_empty() {
        tr.put(&format!("WHEN ({when}) "));
    }
    tr.put(&format!("EXECUTE FUNCTION {function}()"));
    Ok(())
}

fn trigger_command<'a>(tr: &mut Tr<'a>, token: &str, own: &Table, command: &'a TriggerCmd<'a>) -> R<()> {
    let changed = match command {
        TriggerCmd::Insert { tbl_name, .. }
        | TriggerCmd::Update { tbl_name, .. }
        | TriggerCmd::Delete { tbl_name, .. } => tbl_name,
        TriggerCmd::Select(_) => return no(Id::Triggers, token, "SELECT in a trigger"),
    };
    if plain(changed.name.0).eq_ignore_ascii_case(&own.name) {
        return no(Id::Triggers, token, "a trigger that changes its own table");
    }
    let after = tr.out.after.len();
    match command {
        TriggerCmd::Insert { or_conflict, tbl_name, col_names, select, upsert } => insert::insert(
            tr,
            Insert {
                with: None,
                or: *or_conflict,
                table: tbl_name,
                columns: col_names.as_ref(),
                select: Some(select),
                upsert: *upsert,
                returning: None,
            },
        )?,
        TriggerCmd::Update { or_conflict, tbl_name, sets, from, where_clause } => update::update(
            tr,
            Update {
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
            },
        )?,
        TriggerCmd::Delete { tbl_name, where_clause } => {
            let condition = where_clause.as_ref();
            let delete = Delete {
                with: None,
                table: tbl_name,
                indexed: None,
                condition,
                returning: None,
                order: None,
                limit: None,
            };
            update::delete(tr, delete)?;
        }
        TriggerCmd::Select(_) => {}
    }
    // What moves a counter runs inside the function.
    for sql in tr.out.after.split_off(after) {
        tr.put("; PERFORM");
        tr.put(sql.trim_start_matches("SELECT"));
    }
    Ok(())
}

pub(crate) fn drop_trigger<'a>(tr: &mut Tr<'a>, name: &'a QualifiedName<'a>, if_exists: bool) -> R<()> {
    tr.fire(Id::Triggers);
    let plain_name = plain(name.name.0);
    let known = tr.input.catalogue.triggers.iter().find(|(known, _)| known.eq_ignore_ascii_case(&plain_name));
    let Some((known, table)) = known else {
        return no(Id::Triggers, name.name.0, "the catalogue has no such trigger");
    };
    tr.put(if if_exists { "DROP TRIGGER IF EXISTS " } else { "DROP TRIGGER " });
    tr.name(known)?;
    if tr.postgres {
        tr.put(" ON ");
        tr.name(table)?;
    }
    Ok(())
}
