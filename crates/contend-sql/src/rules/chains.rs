//! Triggers whose changes fire other triggers: which tables they change and read.

use crate::catalogue::{Catalogue, Event, Kind, Table, Trigger, Write};
use crate::emit::plain;
use crate::names::push_name;
use crate::parse::tree::{QualifiedName, ResolveType, TriggerCmd, TriggerTime};
use crate::refuse::{R, no};
use crate::rules::Id;

/// The changes of a trigger's commands.
pub(crate) fn writes(commands: &[TriggerCmd]) -> Vec<Write> {
    let write = |name: &QualifiedName, event, or: Option<ResolveType>| Write {
        table: plain(name.name.0).into_owned(),
        event,
        resolves: or.is_some(),
    };
    let mut found = vec![];
    for command in commands {
        match command {
            TriggerCmd::Insert { or_conflict, tbl_name, upsert, .. } => {
                found.push(write(tbl_name, Event::Insert, *or_conflict));
                found.extend(upsert.map(|_| write(tbl_name, Event::Update, None)));
            }
            TriggerCmd::Update { or_conflict, tbl_name, .. } => {
                found.push(write(tbl_name, Event::Update, *or_conflict));
            }
            TriggerCmd::Delete { tbl_name, .. } => found.push(write(tbl_name, Event::Delete, None)),
            TriggerCmd::Select(_) => {}
        }
    }
    found
}

/// The triggers that these changes fire, and those that the triggers' changes fire.
fn fired<'c>(triggers: &[&'c Trigger], writes: &[Write]) -> Vec<&'c Trigger> {
    let mut found: Vec<&Trigger> = vec![];
    let mut open: Vec<&Write> = writes.iter().collect();
    while let Some(write) = open.pop() {
        let by = |t: &&Trigger| t.event == write.event && t.table.eq_ignore_ascii_case(&write.table);
        for trigger in triggers.iter().copied().filter(by) {
            if !found.iter().any(|known| std::ptr::eq(*known, trigger)) {
                found.push(trigger);
                open.extend(&trigger.writes);
            }
        }
    }
    found
}

/// Refuses a trigger with which a change of a table would lead back to that table. SQLite fires triggers after each
/// row and none within itself, PostgreSQL after all rows of the statement.
pub(crate) fn no_circle(catalogue: &Catalogue, token: &str, new: &Trigger) -> R<()> {
    let all: Vec<&Trigger> = catalogue.triggers.iter().chain([new]).collect();
    for trigger in &all {
        for later in fired(&all, &trigger.writes) {
            if later.writes.iter().any(|write| write.table.eq_ignore_ascii_case(&trigger.table)) {
                return no(Id::Triggers, token, "triggers whose changes lead back to the table that fired the first");
            }
            // One that cannot be translated is not on the server.
            if later.body.as_ref().is_some_and(|body| reads(catalogue, body, &trigger.table)) {
                let why = "triggers of which a later one reads the table that fired the first, in which the server has other rows";
                return no(Id::Triggers, token, why);
            }
        }
        let resolving = trigger.writes.iter().filter(|write| write.resolves);
        if resolving.flat_map(|write| fired(&all, std::slice::from_ref(write))).any(|later| !later.writes.is_empty()) {
            return no(Id::OrConflict, token, "its OR also decides about conflicts in the triggers that it fires");
        }
    }
    Ok(())
}

/// Refuses OR in a statement whose table has triggers that change something: in SQLite it replaces their own OR.
pub(crate) fn no_or(catalogue: &Catalogue, table: &Table, event: Event, or: Option<ResolveType>) -> R<()> {
    let changes = |trigger: &Trigger| trigger.event == event && !trigger.writes.is_empty();
    // ABORT is what a statement without OR does, and differs only from an OR of the triggers.
    let resolves = |trigger: &Trigger| trigger.writes.iter().any(|write| write.resolves);
    if or == Some(ResolveType::Abort) && !catalogue.triggers.iter().any(resolves) {
        return Ok(());
    }
    if or.is_some() && catalogue.triggers_of(table).any(changes) {
        return no(Id::OrConflict, "OR", "the statement's OR also decides about conflicts in the table's triggers");
    }
    Ok(())
}

/// Refuses a change of several rows on PostgreSQL, which fires BEFORE triggers before all rows are stored and AFTER
/// triggers after that, where one would see the rows or their triggers' changes in another state. SQLite goes row by row.
pub(crate) fn row_by_row(catalogue: &Catalogue, token: &str, table: &Table, event: Event) -> R<()> {
    let sees = |trigger: &Trigger| match (&trigger.body, trigger.time) {
        (Some(body), TriggerTime::Before) => reads_changed(catalogue, body, table),
        (Some(body), _) => reads(catalogue, body, &table.name),
        (None, _) => false,
    };
    if catalogue.triggers_of(table).any(|trigger| trigger.event == event && sees(trigger)) {
        let why = "several rows, after each of which a trigger sees the table; the server fires it after all of them";
        return no(Id::Triggers, token, why);
    }
    Ok(())
}

/// The same of rows that a foreign key changes with those of this table.
pub(crate) fn keys_row_by_row(catalogue: &Catalogue, token: &str, table: &Table) -> R<()> {
    if !catalogue.is_referred_to(table) || catalogue.triggers.is_empty() {
        return Ok(());
    }
    let mut found = vec![table];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let refers = |t: &&Table| t.references.iter().any(|name| name.eq_ignore_ascii_case(&parent.name));
        for child in catalogue.tables.iter().filter(refers) {
            row_by_row(catalogue, token, child, Event::Update)?;
            row_by_row(catalogue, token, child, Event::Delete)?;
            if !found.iter().any(|known| std::ptr::eq(*known, child)) {
                found.push(child);
            }
        }
    }
    Ok(())
}

/// The other triggers of a new one's table, time and event whose order with it matters, and that the server has.
pub(crate) fn ordered_with<'c>(catalogue: &'c Catalogue, new: &'c Trigger) -> Vec<&'c Trigger> {
    let all: Vec<&Trigger> = catalogue.triggers.iter().chain([new]).collect();
    let alike = |t: &&Trigger| {
        let other = !t.name.eq_ignore_ascii_case(&new.name) && t.table.eq_ignore_ascii_case(&new.table);
        other && (t.time, t.event) == (new.time, new.event) && t.body.is_some()
    };
    let older = older(catalogue, new);
    older.iter().filter(|t| alike(t)).filter(|t| touch(catalogue, &all, t, new)).collect()
}

/// The triggers that are older than one, which the catalogue may have already.
pub(crate) fn older<'c>(catalogue: &'c Catalogue, new: &Trigger) -> &'c [Trigger] {
    let is_new = |t: &Trigger| t.name.eq_ignore_ascii_case(&new.name);
    let end = catalogue.triggers.iter().position(is_new).unwrap_or(catalogue.triggers.len());
    &catalogue.triggers[..end]
}

/// Whether one trigger changes a table that the other one changes or reads, or what they fire does.
fn touch(catalogue: &Catalogue, all: &[&Trigger], one: &Trigger, other: &Trigger) -> bool {
    let names = |a: &Trigger, b: &Trigger| {
        let (fired_a, fired_b) = (fired(all, &a.writes), fired(all, &b.writes));
        let mut changed = std::iter::once(a).chain(fired_a).flat_map(|t| &t.writes);
        let bodies: Vec<&str> = std::iter::once(b).chain(fired_b).filter_map(|t| t.body.as_deref()).collect();
        changed.any(|write| bodies.iter().any(|b| mentions(b, &write.table) || reads(catalogue, b, &write.table)))
    };
    names(one, other) || names(other, one)
}

/// Whether a text in a server's SQL has a query that reads a table that changes with this one: itself, or one that its
/// triggers change.
pub(crate) fn reads_changed(catalogue: &Catalogue, written: &str, table: &Table) -> bool {
    let own: Vec<&Trigger> = catalogue.triggers_of(table).collect();
    let all: Vec<&Trigger> = if own.is_empty() { vec![] } else { catalogue.triggers.iter().collect() };
    let later = own.iter().flat_map(|trigger| fired(&all, &trigger.writes)).collect::<Vec<_>>();
    let mut changed = own.iter().chain(&later).flat_map(|trigger| &trigger.writes).map(|write| write.table.as_str());
    reads(catalogue, written, &table.name) || changed.any(|name| reads(catalogue, written, name))
}

/// Whether a text in a server's SQL has a query that reads this table, or may read it through a view.
pub(crate) fn reads(catalogue: &Catalogue, written: &str, table: &str) -> bool {
    let is_view = |t: &&Table| t.kind == Kind::View;
    written.contains("SELECT ")
        && (reads_from(written, table)
            || catalogue.tables.iter().filter(is_view).any(|view| reads_from(written, &view.name)))
}

/// Whether a text in a server's SQL has this name of a column or table.
pub(crate) fn mentions(written: &str, column: &str) -> bool {
    let mut name = String::new();
    push_name(&mut name, column);
    written.contains(&name)
}

/// Whether a text in a server's SQL has a query that reads this table or view itself.
pub(crate) fn reads_from(written: &str, table: &str) -> bool {
    let mut name = String::new();
    push_name(&mut name, table);
    let is_source = |(at, _): (usize, &str)| {
        let column = written[at + name.len()..].starts_with('.');
        !column && ["FROM ", "JOIN ", ", ", "("].iter().any(|before| written[..at].ends_with(before))
    };
    written.match_indices(&name).any(is_source)
}
