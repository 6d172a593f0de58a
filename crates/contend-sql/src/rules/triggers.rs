//! CREATE TRIGGER: on PostgreSQL a function and a trigger that calls it, on MariaDB a trigger with a body.

use crate::catalogue::{Catalogue, Kind, Table, Trigger, event_of};
use crate::emit::{Tr, plain};
use crate::names::push_name;
use crate::parse::tree::{Expr, QualifiedName, Stmt, TriggerCmd, TriggerEvent, TriggerTime};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::insert::Insert;
use crate::rules::update::{Delete, Update};
use crate::rules::{Id, chains, changes, insert, raise, update};
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
    let time = trigger.time.unwrap_or(TriggerTime::Before);
    let table = fired_by(tr, &trigger, time)?;
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
    tr.known.scopes.push(Scope { sources, several: true, of_trigger: true, ..Scope::default() });
    let (when, body) = trigger_parts(tr, &trigger, table, time)?;
    tr.known.scopes.pop();
    let made = made(&trigger, table, time, format!("{when}{body}"));
    chains::no_circle(tr.input.catalogue, token, &made)?;
    tr.put("CREATE TRIGGER ");
    tr.name(&name)?;
    tr.put(match time {
        TriggerTime::Before => " BEFORE ",
        TriggerTime::After => " AFTER ",
        TriggerTime::InsteadOf => " INSTEAD OF ",
    });
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
    if !tr.postgres {
        tr.put(&place(tr.input.catalogue, &made));
    }
    let body = if when.is_empty() { body } else { format!("IF {when} THEN {body}END IF; ") };
    if tr.postgres {
        let row = match time {
            TriggerTime::Before if new => "NEW",
            TriggerTime::Before => "OLD",
            // Rows of a view that were changed instead are not counted.
            TriggerTime::After | TriggerTime::InsteadOf => "NULL",
        };
        return trigger_function(tr, token, &name, &format!("{body}RETURN {row};"));
    }
    tr.put(&format!("BEGIN {body}END"));
    Ok(())
}

/// Refuses a new trigger on PostgreSQL, whose definition was written, if its place among the others matters: SQLite fires a
/// newer trigger first, PostgreSQL goes by names.
pub(crate) fn in_turn(tr: &Tr, statement: &Stmt) -> R<()> {
    let Stmt::CreateTrigger { trigger_name, time, event, tbl_name, commands, when_clause, .. } = statement else {
        return Ok(());
    };
    if !tr.postgres {
        return Ok(());
    }
    let (catalogue, token) = (tr.input.catalogue, trigger_name.name.0);
    let table = tr.known_table(&plain(tbl_name.name.0))?;
    let trigger =
        CreateTrigger { name: trigger_name, time: *time, event, table: tbl_name, when: when_clause.as_ref(), commands };
    let new = made(&trigger, table, time.unwrap_or(TriggerTime::Before), tr.out.before.concat());
    let fires = |t: &Trigger| t.writes.iter().any(|w| w.event == new.event && w.table.eq_ignore_ascii_case(&new.table));
    let sees_itself = new.body.as_ref().is_some_and(|body| chains::reads(catalogue, body, &new.table));
    if sees_itself && catalogue.triggers.iter().any(fires) {
        return no(Id::Triggers, token, "it reads its table, of which another trigger may change several rows at once");
    }
    if chains::ordered_with(catalogue, &new).iter().any(|other| other.name < new.name) {
        return no(Id::Triggers, token, "an older trigger touches the same tables, and the server would fire it first");
    }
    Ok(())
}

/// The place of a new trigger on MariaDB, which would fire older ones first.
fn place(catalogue: &Catalogue, new: &Trigger) -> String {
    // In the server's order.
    let mut placed: Vec<&Trigger> = vec![];
    let before = |placed: &[&Trigger], trigger: &Trigger| {
        let others = chains::ordered_with(catalogue, trigger);
        placed.iter().position(|known| others.iter().any(|other| std::ptr::eq(*known, *other)))
    };
    for known in chains::older(catalogue, new).iter().filter(|known| known.body.is_some()) {
        placed.insert(before(&placed, known).unwrap_or(placed.len()), known);
    }
    let mut place = String::new();
    if let Some(at) = before(&placed, new) {
        place.push_str("PRECEDES ");
        push_name(&mut place, &placed[at].name);
        place.push(' ');
    }
    place
}

/// The trigger as the catalogue will have it.
fn made(trigger: &CreateTrigger, table: &Table, time: TriggerTime, body: String) -> Trigger {
    Trigger {
        name: plain(trigger.name.name.0).into_owned(),
        table: table.name.clone(),
        event: event_of(trigger.event),
        time,
        skips: trigger.commands.iter().any(raises_ignore),
        writes: chains::writes(trigger.commands),
        body: Some(body),
    }
}

/// The table or view of a trigger that the server can fire at the same time and with the same values.
fn fired_by<'a>(tr: &mut Tr<'a>, trigger: &CreateTrigger<'a>, time: TriggerTime) -> R<&'a Table> {
    let token = trigger.name.name.0;
    if time == TriggerTime::InsteadOf {
        let view = tr.known_table(&plain(trigger.table.name.0))?;
        return match (trigger.event, view.kind) {
            (TriggerEvent::Insert, Kind::View) if tr.postgres => Ok(view),
            _ => no(Id::Triggers, token, "INSTEAD OF anything but INSERT, or on a server that has none"),
        };
    }
    let table = changes::target(tr, trigger.table)?;
    if time == TriggerTime::Before {
        if trigger.commands.iter().any(|command| !matches!(command, TriggerCmd::Select(_))) {
            return no(Id::Triggers, token, "a change BEFORE another one, which sees other values on the server");
        }
        if table.columns.iter().any(|column| column.generated) {
            return no(Id::Triggers, token, "generated columns have no values yet on the server");
        }
        // In which order the server fires them decides between an error and a skipped row.
        let skips = trigger.commands.iter().any(raises_ignore);
        let same = |t: &Trigger| t.time == TriggerTime::Before && t.event == event_of(trigger.event);
        let other = |t: &Trigger| same(t) && (skips || t.skips) && !t.name.eq_ignore_ascii_case(&plain(token));
        if tr.input.catalogue.triggers_of(table).any(other) {
            return no(Id::Triggers, token, "several triggers, one of which skips rows");
        }
    }
    Ok(table)
}

/// The condition of a trigger, and its commands.
fn trigger_parts<'a>(
    tr: &mut Tr<'a>,
    trigger: &CreateTrigger<'a>,
    table: &Table,
    time: TriggerTime,
) -> R<(String, String)> {
    let token = trigger.name.name.0;
    let mut when = String::new();
    if let Some(condition) = trigger.when {
        tr.condition(condition)?;
        when = std::mem::take(&mut tr.out.sql);
    }
    let mut reads = when.clone();
    for command in trigger.commands {
        match command {
            TriggerCmd::Select(select) => {
                raise::select(tr, token, time, select)?;
                reads.push_str(&tr.out.sql);
            }
            change => {
                trigger_command(tr, token, table, change)?;
                tr.put("; ");
            }
        }
    }
    let body = std::mem::take(&mut tr.out.sql);
    if !tr.out.slots.is_empty() {
        return no(Id::Triggers, token, "a trigger with parameters");
    }
    if time == TriggerTime::Before
        && let (Some(rowid), TriggerEvent::Insert) = (table.rowid_name(), trigger.event)
    {
        let mut key = String::new();
        push_name(&mut key, "new");
        key.push('.');
        push_name(&mut key, rowid);
        if format!("{when}{body}").contains(&key) {
            return no(Id::Triggers, token, "the key of a row that is not stored yet");
        }
    }
    if chains::reads(tr.input.catalogue, &reads, &table.name) {
        return no(Id::Triggers, token, "it reads the table that fires it, in which the server has other rows");
    }
    Ok((when, body))
}

fn raises_ignore(command: &TriggerCmd) -> bool {
    // Names and texts that contain the word do no harm: they only make the rule stricter.
    format!("{command:?}").contains("Raise(Ignore")
}

/// On PostgreSQL the commands are in a function, which is created first.
fn trigger_function(tr: &mut Tr, token: &str, name: &str, body: &str) -> R<()> {
    let mut function = String::new();
    push_name(&mut function, &format!("{name}_trigger"));
    if body.contains("$trigger$") || function.len() > 62 {
        return no(Id::Triggers, token, "a trigger whose text or name cannot be put into a function");
    }
    let made = format!(
        "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $trigger$ \
         BEGIN {body} END $trigger$"
    );
    tr.out.before.push(made);
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
                alone: false,
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
    // Statements that advance a counter run inside the function.
    for sql in tr.out.after.split_off(after) {
        tr.put("; PERFORM");
        tr.put(sql.trim_start_matches("SELECT"));
    }
    Ok(())
}

pub(crate) fn drop_trigger<'a>(tr: &mut Tr<'a>, name: &'a QualifiedName<'a>, if_exists: bool) -> R<()> {
    tr.fire(Id::Triggers);
    let plain_name = plain(name.name.0);
    let known = tr.input.catalogue.triggers.iter().find(|known| known.name.eq_ignore_ascii_case(&plain_name));
    let Some(known) = known else {
        return no(Id::Triggers, name.name.0, "the catalogue has no such trigger");
    };
    tr.put(if if_exists { "DROP TRIGGER IF EXISTS " } else { "DROP TRIGGER " });
    tr.name(&known.name)?;
    if tr.postgres {
        tr.put(" ON ");
        tr.name(&known.table)?;
    }
    Ok(())
}
