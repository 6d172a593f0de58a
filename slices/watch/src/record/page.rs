//! The report of a record, from the record alone: a page, and the same as text.

use super::directory::give_all;
use super::draw::{self, Maxima, Row, Syncs, each_row, name};
use super::lanes::{self, Lists, Use};
use super::saved::{
    FILE, Saved, SavedDatabase, SavedProcess, SavedServer, SavedShape, SavedStatement, SavedWait, VERSION,
};
use crate::fold;
use crate::lock::Lock;
use crate::view::Totals;
use crate::watch::Depth;
use crate::words::{NO_FINDING, NO_FINDING_SAMPLED, one_line, time};
use anyhow::{Context, Result, ensure};
use contend::record::seal;
use contend::report::document::{Block, Cell, Document, Id, Section, Table};
use contend::report::html::html;
use contend::report::text::{self, Style};
use contend::trial::watch::machine::rfc3339;
use std::fs;
use std::path::{Path, PathBuf};

/// Most statements and shapes in a table.
const ROWS_MAX: usize = 20;

/// Writes `report.html` and `report.txt` into the record; returns the path of the page.
///
/// # Errors
/// The directory is not a record of a watch, or a file cannot be written.
pub fn report(dir: &Path) -> Result<PathBuf> {
    let document = document(dir)?;
    let page = dir.join("report.html");
    let write =
        |path: &Path, text: String| fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
    write(&page, html(&document))?;
    write(&dir.join("report.txt"), text::text(&document, Style::FILE))?;
    give_all(dir);
    Ok(page)
}

/// The report as text.
///
/// # Errors
/// The directory is not a record of a watch.
pub fn text(dir: &Path, style: Style) -> Result<String> {
    Ok(text::text(&document(dir)?, style))
}

/// Reads `watch.json`.
///
/// # Errors
/// It cannot be read, was changed, or has a later version.
pub fn read(dir: &Path) -> Result<Saved> {
    let path = dir.join(FILE);
    let (text, is_sealed) = seal::read(seal::JSON, &path, "watch again")?;
    let read: Saved = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let saved = Saved { not_sealed: !is_sealed, ..read };
    let version = saved.version;
    ensure!(version == VERSION, "{} has version {version}; this contend reads version {VERSION}", path.display());
    Ok(saved)
}

fn document(dir: &Path) -> Result<Document> {
    let saved = read(dir)?;
    let mut sections = vec![findings(&saved)];
    for (index, (database, drawn)) in saved.databases.iter().zip(drawn(dir, &saved)?).enumerate() {
        sections.extend(of_database(&saved, index, database, &drawn));
    }
    if let Some(server) = &saved.server {
        sections.extend(of_server(dir, &saved, server)?);
    }
    sections.push(not_seen(&saved));
    let what = match (&saved.server, &saved.databases[..]) {
        (Some(server), _) => server.address.clone(),
        (None, [one]) => one.path.clone(),
        (None, several) => format!("{} databases", several.len()),
    };
    let mut warnings = saved.left_out.clone();
    warnings.extend(saved.not_sealed.then(|| seal::said_not_sealed(FILE, 0)));
    if !saved.complete {
        warnings.push("The watch was killed: findings and tables may lack its last ten seconds.".to_string());
    }
    if saved.lost_events > 0 {
        warnings.push(format!("{} events were lost because the kernel's buffer was full.", saved.lost_events));
    }
    let began = rfc3339(i64::try_from(saved.began_unix_s).unwrap_or_default());
    let watched = format!("watched for {} from {began}", time(saved.watched_ns));
    let mut facts = vec![watched, format!("depth: {}", saved.depth)];
    facts.extend(saved.server.iter().map(|server| server.product.clone()));
    let asked = if saved.server.is_some() { "Who blocked whom on" } else { "Who held the lock of" };
    Ok(Document {
        title: format!("contend watch: {what}"),
        question: format!("{asked} {what}?"),
        facts,
        warnings,
        origin: "Made by contend watch from the record in this directory.".to_string(),
        sections,
        ..Document::default()
    })
}

fn section(id: Id, title: &str, blocks: Vec<Block>) -> Section {
    Section { id, title: title.to_string(), blocks }
}

fn findings(saved: &Saved) -> Section {
    let mut blocks = vec![];
    if saved.findings.is_empty() {
        let no_finding = if sees_refusals(saved) { NO_FINDING } else { NO_FINDING_SAMPLED };
        blocks.push(Block::Text(no_finding.to_string()));
    }
    for finding in &saved.findings {
        blocks.push(Block::Heading(finding.title.clone()));
        blocks.push(Block::Text(finding.evidence.clone()));
        blocks.push(Block::Text(format!("Change: {}", finding.change)));
    }
    section(Id::Answer, "Findings", blocks)
}

/// What is drawn of the lists, for one database.
struct Drawn {
    lists: Lists,
    syncs: Syncs,
    log: Maxima,
}

/// Reads the lists, once for all databases.
fn drawn(dir: &Path, saved: &Saved) -> Result<Vec<Drawn>> {
    let of =
        |database| Drawn { lists: Lists::new(saved, database), syncs: Syncs::new(saved), log: Maxima::new(saved, 3) };
    let mut drawn: Vec<Drawn> = saved.databases.iter().map(of).collect();
    let place = |row: &Row<'_>, column: usize| row.text(column).parse::<usize>().unwrap_or(usize::MAX);
    each_row(&dir.join("log.csv"), |row| {
        let uncopied = (row.number(4) - row.number(5)).max(0.0);
        let its = drawn.get_mut(place(row, 1));
        its.into_iter().for_each(|its| its.log.add(row.number(0), &[row.number(2), row.number(3), uncopied]));
    })?;
    each_row(&dir.join("shares.csv"), |row| {
        let pid = row.number(2) as u32;
        if let Some(its) = drawn.get_mut(place(row, 1)).filter(|its| its.lists.has(pid)) {
            its.lists.add_share(pid, [0, 4, 6].map(|column| row.number(column)));
            its.syncs.add(pid, row);
        }
    })?;
    let writers = [Lock::Reserved, Lock::WalWrite].map(|lock| lock.to_string());
    let is_write = |row: &Row<'_>| writers.iter().any(|lock| lock == row.text(5));
    for add in [Lists::add, Lists::add_around] {
        each_row(&dir.join("holds.csv"), |row| {
            let its = drawn.get_mut(place(row, 2)).filter(|_| is_write(row));
            its.into_iter().for_each(|its| add(&mut its.lists, Use::hold(row)));
        })?;
        each_row(&dir.join("waits.csv"), |row| {
            let its = drawn.get_mut(place(row, 2));
            its.into_iter().for_each(|its| add(&mut its.lists, Use::wait(row)));
        })?;
    }
    Ok(drawn)
}

/// Only the first database has anchors, because they are fixed words.
fn of_database(saved: &Saved, index: usize, database: &SavedDatabase, drawn: &Drawn) -> Vec<Section> {
    let ids = if index == 0 { ["lock", "log", "processes", "statements"] } else { ["", "", "", ""] };
    let of = if saved.databases.len() > 1 { format!(" of {}", database.path) } else { String::new() };
    let mut lock = lanes::blocks(database, &drawn.lists);
    lock.push(Block::Lines(draw::syncs(saved, database, &drawn.syncs)));
    let is_wal = database.journal == "wal";
    let title = if is_wal { "Write-ahead log" } else { "Size" };
    vec![
        section(Id::Other(ids[0]), &format!("The lock{of}"), lock),
        section(Id::Other(ids[1]), &format!("{title}{of}"), draw::log(saved, &drawn.log, is_wal)),
        section(Id::Other(ids[2]), &format!("Processes{of}"), processes(database, sees_refusals(saved))),
        section(Id::Other(ids[3]), &format!("Statements under the lock{of}"), statements(database)),
    ]
}

/// Whether the watch could see refusals and waits: of files not by samples, of a server always.
fn sees_refusals(saved: &Saved) -> bool {
    saved.server.is_some() || saved.depth != Depth::Sampled.word()
}

fn processes(database: &SavedDatabase, sees_refusals: bool) -> Vec<Block> {
    let mut table = Table::new(&[
        "process",
        "writes|",
        "lock held|",
        "longest|",
        "waited|",
        "longest wait|",
        "refused|",
        "gave up|",
    ]);
    // Older records have zeros for what could not be seen.
    let totals = |process: &SavedProcess| Totals {
        writes: process.writes,
        write_ns: process.write_ns,
        write_ns_max: process.write_ns_max,
        waits: process.waits.filter(|_| sees_refusals),
    };
    let all = database.processes.iter();
    let all = all.map(|process| fold::Process { pid: process.pid, program: &process.program, totals: totals(process) });
    for fold::Line { who, place, totals } in fold::lines(&all.collect::<Vec<_>>()) {
        let [waited, longest_wait, refused, gave_up] = totals.of_waits().map(Cell::new);
        table.row([
            Cell { series: place, ..Cell::new(who) },
            Cell::new(totals.writes.to_string()),
            Cell::new(time(totals.write_ns)),
            Cell::new(time(totals.write_ns_max)),
            waited,
            longest_wait,
            refused,
            gave_up,
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(who_waited_for_whom(database));
    blocks
}

fn who_waited_for_whom(database: &SavedDatabase) -> Vec<Block> {
    let mut waits = Table::new(&["waited", "for", "times|", "in all|", "longest|", "gave up|"]);
    let mut pairs: Vec<(u32, &SavedWait)> = vec![];
    for process in &database.processes {
        pairs.extend(process.waited_for.iter().map(|wait| (process.pid, wait)));
    }
    pairs.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.total_ns));
    for (pid, SavedWait { holder, count, total_ns, max_ns, gave_up }) in pairs.into_iter().take(ROWS_MAX) {
        let who = [name(database, pid), name(database, *holder)];
        let figures = [count.to_string(), time(*total_ns), time(*max_ns), gave_up.to_string()];
        waits.row(who.into_iter().chain(figures).map(Cell::new));
    }
    if waits.rows.is_empty() {
        return vec![];
    }
    vec![
        Block::Heading("Who waited for whom".to_string()),
        Block::Table(waits),
        Block::Note(
            "For: the process that had the lock when the wait began. Gave up: waits that ended without the lock; one that was \
             refused once lasted 0 ns."
                .to_string(),
        ),
    ]
}

fn statements(database: &SavedDatabase) -> Vec<Block> {
    if database.statements.is_empty() {
        return vec![Block::Text("No statement was seen under the write lock.".to_string())];
    }
    let mut table = Table::new(&["statement", "process", "times|", "lock held|", "longest|"]);
    for SavedStatement { pid, sql, count, total_ns, max_ns } in database.statements.iter().take(ROWS_MAX) {
        let cells = [one_line(sql, 120), name(database, *pid), count.to_string(), time(*total_ns), time(*max_ns)];
        table.row(cells.map(Cell::new));
    }
    let mut shapes = Table::new(&["transaction", "process", "times|", "lock held|", "longest|", "outside of SQLite|"]);
    for shape in database.shapes.iter().take(ROWS_MAX) {
        let SavedShape { pid, statements, count, held_ns, held_ns_max, outside_ns, gap_ns_max } = shape;
        shapes.row([
            Cell::new(one_line(statements, 160)),
            Cell::new(name(database, *pid)),
            Cell::new(count.to_string()),
            Cell::new(time(*held_ns)),
            Cell::new(time(*held_ns_max)),
            Cell::new(time(*outside_ns)).small(format!("longest {}", time(*gap_ns_max))),
        ]);
    }
    vec![
        Block::Text("Time in which a statement ran while its process had the write lock.".to_string()),
        Block::Table(table),
        Block::Heading("Transactions by their statements".to_string()),
        Block::Table(shapes),
        Block::Note("Outside of SQLite: the program did something else while it held the lock.".to_string()),
    ]
}

fn of_server(dir: &Path, saved: &Saved, server: &SavedServer) -> Result<Vec<Section>> {
    const COLUMNS: usize = 7;
    let mut looks = Maxima::new(saved, COLUMNS);
    each_row(&dir.join("looks.csv"), |row| {
        let values: Vec<f64> = (0..COLUMNS).map(|column| row.number(column)).collect();
        looks.add(row.number(0), &values);
    })?;
    let mut who = vec![];
    if server.tree.is_empty() {
        who.push(Block::Text("At the end no client waited for another.".to_string()));
    } else {
        who.push(Block::Text("At the end; each client is followed by those that wait for it.".to_string()));
        who.push(Block::List(server.tree.iter().map(|line| indented(line)).collect()));
    }
    let mut waits = Table::new(&["waiting statement", "times|", "in all|", "longest|"]);
    for SavedStatement { sql, count, total_ns, max_ns, .. } in server.waits.iter().take(ROWS_MAX) {
        waits.row([one_line(sql, 160), count.to_string(), time(*total_ns), time(*max_ns)].map(Cell::new));
    }
    if !waits.rows.is_empty() {
        who.push(Block::Heading("Waits by statement".to_string()));
        who.push(Block::Table(waits));
    }
    Ok(vec![
        section(Id::Other("blocked"), "Who waited for whom", who),
        section(Id::Other("clients"), &format!("Clients of {}", server.product), draw::clients(saved, &looks)),
    ])
}

/// Replaces leading spaces, which HTML would collapse.
fn indented(line: &str) -> String {
    let text = line.trim_start();
    "\u{2003}".repeat((line.len() - text.len()) / 2) + text
}

fn not_seen(saved: &Saved) -> Section {
    let mut items = saved.missing.clone();
    if items.is_empty() {
        items.push("No gaps are known.".to_string());
    }
    section(Id::Other("missing"), "What was not seen", vec![Block::List(items)])
}
