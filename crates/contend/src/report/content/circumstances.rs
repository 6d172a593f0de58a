//! Circumstances of the run: machine, disk, schedule, and what went wrong.

use crate::analysis::Findings;
use crate::analysis::circumstances::{Circumstances, Loaded};
use crate::analysis::plain::Load;
use crate::analysis::reported;
use crate::outcome::mark::Mark;
use crate::report::content::notice;
use crate::report::content::words::{self, NOTHING};
use crate::report::document::{Block, Cell as TableCell, Id, Section, Table, Tone};
use crate::stats::precision::{Bytes, Ns, Percent, Rate};
use std::collections::BTreeMap;

/// Warnings at the top of a report.
pub fn warnings(findings: &Findings<'_>) -> Vec<String> {
    let mut warnings = reported::said_not_sealed(findings);
    warnings.extend(findings.no_sync().map(no_sync));
    let scheduled = findings.circumstances.schedule.len();
    let missing = reported::missing(findings);
    if findings.circumstances.finished.is_none() {
        warnings.push(format!(
            "This run was interrupted: {} of {} trials are there. What follows is of those alone.",
            words::count(findings.trial_count() as u64),
            words::count(scheduled as u64)
        ));
    } else if missing > 0 {
        let is = if missing == 1 { "is" } else { "are" };
        warnings.push(format!("{} of the schedule {is} missing from the record.", words::counted(missing, "trial")));
    }
    let invalid = findings.rows.iter().filter(|row| !row.is_valid()).count();
    if invalid > 0 {
        warnings.push(format!(
            "{} of {} {} not count; the reasons are under \"Trials that do not count\".",
            words::counted(invalid, "trial"),
            words::count(findings.rows.len() as u64),
            if invalid == 1 { "does" } else { "do" }
        ));
    }
    let unreadable = findings.damaged.len() + findings.strangers.len();
    if unreadable > 0 {
        warnings.push(format!(
            "{} cannot be read and {} left out.",
            words::counted(unreadable, "trial"),
            was(unreadable)
        ));
    }
    warnings.extend(mostly_disturbed(findings));
    warnings.extend(notice::starved(findings));
    warnings
}

/// A warning if most valid trials were disturbed.
pub fn mostly_disturbed(findings: &Findings<'_>) -> Option<String> {
    disturbance(findings).filter(|(is_most, _)| *is_most).map(|(_, said)| said)
}

/// Notes after the answers.
pub fn notes(findings: &Findings<'_>) -> Vec<String> {
    let disturbed = disturbance(findings).filter(|(is_most, _)| !is_most).map(|(_, said)| said);
    let mut notes: Vec<String> = ran_again(findings).into_iter().chain(disturbed).collect();
    notes.extend(notice::sentences(findings));
    notes.extend(marked_otherwise(findings));
    notes
}

/// The warning that a sync did not keep the data.
pub fn no_sync(why: &str) -> String {
    format!(
        "The data was on a file system {why}: a power cut can lose data that was synced. `durable` is not shown here, and the \
         rates are not those of a disk that keeps what it acknowledges."
    )
}

/// Type, source, device and options of the file system of the data.
fn file_system(run: &Circumstances<'_>) -> String {
    let Some(mount) = &run.mount else { return run.file_system.to_string() };
    let source = if mount.source.is_empty() { String::new() } else { format!(" on {}", mount.source) };
    let model = mount.model.map_or(String::new(), |model| format!(" ({model})"));
    let with = if mount.options.is_empty() { "" } else { ", mounted with " };
    format!("{}{source}{model}{with}{}", run.file_system, mount.options.join(","))
}

/// Valid trials with a mark other than a disturbance.
fn marked_otherwise(findings: &Findings<'_>) -> Option<String> {
    let found = reported::marked(findings);
    let (marked, all) = (found.otherwise, found.counting);
    let (have, count) = if marked == 1 { ("has", "counts") } else { ("have", "count") };
    let note = if found.disturbed > 0 { "another note" } else { "a note" };
    (marked > 0).then(|| {
        format!("{marked} of {all} trials {have} {note} and {count} nevertheless (under \"Trials with a note\").")
    })
}

/// Rounds that were disturbed and ran again.
fn ran_again(findings: &Findings<'_>) -> Option<String> {
    let (again, all) = reported::rounds_again(findings);
    let under = if findings.study.conditions.len() > 1 { " (each under one condition)" } else { "" };
    let (verb, their) = if again == 1 { ("was", "its") } else { ("were", "their") };
    (again > 0).then(|| {
        format!(
            "{again} of {all} rounds{under} {verb} disturbed and ran again; only {their} second trials count (the others are \
             under \"Trials that ran again\"). Marks decided that, and not what was measured."
        )
    })
}

/// Valid trials that were disturbed, and by how much; whether that is most of them.
fn disturbance(findings: &Findings<'_>) -> Option<(bool, String)> {
    let found = reported::marked(findings);
    let (marked, all, worst) = (found.disturbed, found.counting, found.foreign_permille);
    if marked == 0 {
        return None;
    }
    let cpu = match worst {
        0..=50 => String::new(),
        _ => format!(" Other programs used up to {} of the CPU.", Percent(worst as f64 / 1000.0)),
    };
    let is_most = marked * 2 > all;
    let advice = match is_most {
        true => " That is most of them: repeat the run on a quieter machine before you rely on it.",
        false => "",
    };
    let (verb, counts) = if marked == 1 { ("was", "counts") } else { ("were", "count") };
    let said = format!(
        "{marked} of {all} trials {verb} disturbed (marked below with the reason) and {counts} nevertheless.{cpu}{advice}"
    );
    Some((is_most, said))
}

fn was(n: usize) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// Invalid trials with their reasons.
pub fn invalid(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["trial|", "round|", words::subject(findings), "condition", "reason"]);
    for row in findings.rows.iter().filter(|row| !row.is_valid()) {
        for reason in &row.reasons {
            table.row([
                TableCell::new(row.number.to_string()),
                TableCell::new(row.round.to_string()),
                TableCell::new(words::label(findings, row.contender)).series(row.contender),
                TableCell::new(words::condition(findings, row.condition)),
                TableCell::new(reason.kind.word()).tone(Tone::Worse).small(&reason.detail),
            ]);
        }
    }
    for (name, why) in findings.damaged {
        table.row(unreadable(name, why));
    }
    for number in &findings.strangers {
        table.row(unreadable(
            &number.to_string(),
            "it belongs to a contender or condition that the study does not have",
        ));
    }
    if table.rows.is_empty() {
        return None;
    }
    let text = match findings.of_service() {
        true => {
            "A trial whose accounts do not agree, or that was not limited by the service, has no rate and no times."
        }
        false => "A trial without a checked, correct answer has no number. It is listed here and not ranked.",
    };
    let blocks = vec![Block::Text(text.to_string()), Block::Table(table)];
    Some(Section { id: Id::Other("invalid"), title: "Trials that do not count".to_string(), blocks })
}

fn unreadable(name: &str, why: &str) -> Vec<TableCell> {
    let nothing = || TableCell::muted(NOTHING);
    let reason = TableCell::new("damaged").tone(Tone::Worse).small(why);
    vec![TableCell::new(name), nothing(), nothing(), nothing(), reason]
}

/// Facts of the machine.
pub fn system(run: &Circumstances<'_>) -> [(&'static str, String); 3] {
    let kind = if run.virtual_machine { " (a virtual machine)" } else { "" };
    [
        ("processor", format!("{}, {}{kind}", run.cpu, words::counted(run.cores, "core"))),
        ("memory", Bytes(run.memory_bytes).to_string()),
        ("system", format!("{}, kernel {}", run.os, run.kernel)),
    ]
}

/// The machine and its disk.
pub fn machine(findings: &Findings<'_>) -> Section {
    let run = &findings.circumstances;
    let syncs = &run.syncs;
    let mut table = Table::new(&["what", "found"]);
    let mut fact = |what: &str, found: String| table.row([TableCell::new(what), TableCell::new(found)]);
    system(run).into_iter().for_each(|(what, found)| fact(what, found));
    fact("file system of the data", file_system(run));
    let most = |ns: u64| if ns == 0 { String::new() } else { format!(", at most {}", Rate(1e9 / ns as f64)) };
    fact(
        "fsync after an append",
        format!("{} (p95 {}){}", Ns(syncs.fsync_ns_p50), Ns(syncs.fsync_ns_p95), most(syncs.fsync_ns_p50)),
    );
    fact("fdatasync after an append", format!("{}{}", Ns(syncs.fdatasync_ns_p50), most(syncs.fdatasync_ns_p50)));
    fact("fdatasync after an overwrite", format!("{}{}", Ns(syncs.overwrite_ns_p50), most(syncs.overwrite_ns_p50)));
    fact("the worker's own cost", format!("{} per operation", Ns(run.overhead_ns)));
    for said in reported::hello(findings) {
        let by = said.by.join(", ");
        table.row([TableCell::new(format!("worker: {}", said.name)), TableCell::new(said.value).small(by)]);
    }
    let note = format!(
        "Sync times are medians of {} probes made before the run. A durable commit needs a sync, so a commit rate far \
         above what the disk can do would not be believed.",
        syncs.probes
    );
    let blocks = vec![Block::Table(table), Block::Note(note)];
    Section { id: Id::Other("machine"), title: "Machine and disk".to_string(), blocks }
}

fn loaded(data: &Loaded<'_>) -> String {
    let conditions = data.conditions.join("; ");
    let conditions = if conditions.is_empty() { conditions } else { format!(" for {conditions}") };
    format!("Rows loaded{conditions}: {}. Data SHA-256 {}.", rows(data.rows), data.sha256)
}

/// Order of the trials, and how to run the study again.
pub fn schedule(findings: &Findings<'_>) -> Section {
    let run = &findings.circumstances;
    let mut facts = vec![
        format!("Workload {}: {}", run.workload, run.about),
        load_sentence(findings),
        format!(
            "{} of every contender under every condition, in an order drawn by chance; every other round runs in \
             reverse. Fresh data for every trial. Seed {}.",
            words::counted(findings.study.rounds as usize, "round"),
            findings.study.load.seed
        ),
        format!("Workload file SHA-256 {}.", run.sha256),
        format!("contend {}, command: {}", run.contend, run.command.join(" ")),
    ];
    facts.splice(1..1, run.data.iter().map(loaded));
    if let Some(finished) = &run.finished {
        facts.push(format!(
            "The run took {}, of which {} were measured.",
            Ns(finished.elapsed_ns),
            Ns(finished.measured_ns)
        ));
    }
    let mut blocks = vec![Block::List(facts)];
    blocks.extend(listed(findings));
    blocks.push(Block::Heading("Order of the trials".to_string()));
    blocks.push(Block::Table(order(findings)));
    Section { id: Id::Other("schedule"), title: "Load and schedule".to_string(), blocks }
}

/// Trials with a mark, and those that ran again, with headings.
pub fn listed(findings: &Findings<'_>) -> Vec<Block> {
    let tables = [("Trials with a note", marked(findings)), ("Trials that ran again", trials_again(findings))];
    let block =
        |(heading, table): (&str, Option<Table>)| Some([Block::Heading(heading.to_string()), Block::Table(table?)]);
    tables.into_iter().filter_map(block).flatten().collect()
}

fn rows(rows: &BTreeMap<String, u64>) -> String {
    if rows.is_empty() {
        return "none".to_string();
    }
    rows.iter().map(|(table, n)| format!("{table} {}", words::count(*n))).collect::<Vec<_>>().join(", ")
}

fn load_sentence(findings: &Findings<'_>) -> String {
    let study = &findings.study;
    let clients = reported::clients(findings, None);
    let clients = clients.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
    let loads: Vec<Load> = (0..study.conditions.len()).map(|condition| findings.load(condition)).collect();
    let kind = match distinct(loads.iter().filter_map(|load| load.rate_per_s).map(|rate| Rate(rate).to_string())) {
        none if none.is_empty() => "Closed loop: a client begins its next operation when the last is over".to_string(),
        rates => format!("Open loop, {rates} arriving"),
    };
    let length = distinct(loads.iter().map(|load| match load.operations {
        Some(n) => format!("{} operations of each client", words::count(u64::from(n))),
        None => format!("a window of {}", Ns(load.window_ns)),
    }));
    let clients = if clients.is_empty() { String::new() } else { format!("; clients: {clients}") };
    format!("{kind}{clients}; {length} after {} that are not measured.", Ns(study.load.run_in_ns))
}

/// Each text once, in order.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = vec![];
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.join(" or ")
}

/// One line per round: the trials in their order.
pub fn order(findings: &Findings<'_>) -> Table {
    let study = findings.study;
    let mut rounds: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let several = study.conditions.len() > 1;
    for slot in findings.circumstances.schedule {
        let contender = study.contenders.get(slot.contender).map_or("?", |c| &c.label);
        let condition = study.conditions.get(slot.condition).map_or("?", |c| &c.label);
        let name = if several { format!("{contender} ({condition})") } else { contender.to_string() };
        rounds.entry(slot.round).or_default().push(name);
    }
    let mut table = Table::new(&["round|", "order"]);
    for (round, order) in rounds {
        table.row([TableCell::new(round.to_string()), TableCell::new(order.join(", "))]);
    }
    table
}

/// Trials that were disturbed, or in a round with one that was, and do not count.
fn trials_again(findings: &Findings<'_>) -> Option<Table> {
    let mut table = Table::new(&["trial|", "round|", words::subject(findings), "condition", "notes"]);
    for trial in reported::ran_again(findings) {
        table.row([
            TableCell::new(trial.slot.trial.to_string()),
            TableCell::new(trial.slot.round.to_string()),
            TableCell::new(words::label(findings, trial.slot.contender)).series(trial.slot.contender),
            TableCell::new(words::condition(findings, trial.slot.condition)),
            TableCell::new(marks_in_words(trial.marks)),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn marks_in_words(marks: &[Mark]) -> String {
    marks.iter().map(Mark::to_string).collect::<Vec<_>>().join(", ")
}

fn marked(findings: &Findings<'_>) -> Option<Table> {
    let of_service = findings.of_service();
    let head = ["trial|", words::subject(findings), "condition", "notes", "others' CPU|", "fsync before|"];
    let mut table = Table::new(&head[..if of_service { 5 } else { 6 }]);
    for row in &findings.rows {
        if row.marks().is_empty() {
            continue;
        }
        let mut cells = vec![
            TableCell::new(row.number.to_string()),
            TableCell::new(words::label(findings, row.contender)).series(row.contender),
            TableCell::new(words::condition(findings, row.condition)),
            TableCell::new(marks_in_words(row.marks())),
            TableCell::new(Percent(f64::from(row.foreign_cpu_permille()) / 1000.0).to_string())
                .small(if row.is_server_unwatched() { "with the server's" } else { "" }),
            TableCell::new(Ns(row.fsync_ns_before()).to_string()),
        ];
        // The disk is not measured for a service.
        cells.truncate(table.head.len());
        table.row(cells);
    }
    (!table.rows.is_empty()).then_some(table)
}
