//! A watch without a terminal: a line a second, as text or as JSON, and a summary at its end.

use crate::finding::Finding;
use crate::view::{DatabaseView, Row};
use crate::watch::Watch;
use crate::words::{self, Words, bytes, percent, time};
use serde::Serialize;

/// A second of a database, as one line of text.
pub fn line(at: &str, database: &DatabaseView) -> String {
    let name = database.path.rsplit('/').next().unwrap_or(&database.path);
    let who = |row: &Row| format!("{} ({})", row.program, row.pid);
    let writers = database.processes.iter().filter(|row| row.write_permille > 0 || row.writes_per_s > 0);
    let writers: Vec<String> =
        writers.map(|row| format!("{} {} {}/s", who(row), percent(row.write_permille), row.writes_per_s)).collect();
    let waiting: Vec<String> =
        database.processes.iter().filter_map(|row| Some(format!("{} for {}", who(row), time(row.waits_ns?)))).collect();
    let refused: u64 = database.processes.iter().map(|row| row.refusals_per_s).sum();
    let mut out = format!("{at} {name}: ");
    out += &if writers.is_empty() { "no writer".to_string() } else { format!("wrote: {}", writers.join(", ")) };
    if !waiting.is_empty() {
        out += &format!("; waits: {}", waiting.join(", "));
    }
    if refused > 0 {
        out += &format!("; refused {refused}/s");
    }
    if database.journal == "wal" {
        out += &format!("; log {}, {} frames to checkpoint", bytes(database.log_bytes), database.backlog_frames);
    }
    out
}

#[derive(Serialize)]
struct JsonLine<'a> {
    /// Seconds since the watch began.
    at_s: f64,
    depth: &'static str,
    lost_events: u64,
    databases: &'a [DatabaseView],
    findings: &'a [Finding],
}

/// The same as a line of JSON, with all findings so far.
pub fn json_line(watch: &Watch, databases: &[DatabaseView], findings: &[Finding]) -> String {
    let timeline = &watch.timeline;
    let at_s = timeline.now_ns.saturating_sub(timeline.from_ns) as f64 / 1e9;
    let line = JsonLine { at_s, depth: watch.depth.word(), lost_events: watch.lost(), databases, findings };
    serde_json::to_string(&line).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// A finding as lines of text, indented, at most `width` wide.
pub fn finding(words: &Words, width: usize) -> String {
    let mut out = wrapped(&words.title, "! ", "  ", width);
    out += &wrapped(&words.evidence, "  ", "  ", width);
    out + &wrapped(&format!("Change: {}", words.change), "  ", "    ", width)
}

/// The end of a watch: findings first, then processes, then what was not seen.
pub fn summary(watch: &Watch, databases: &[DatabaseView], width: usize) -> String {
    let findings = watch.findings();
    let mut out = String::new();
    if findings.is_empty() {
        out += "No finding: nothing that was seen is wrong.\n";
    }
    for found in &findings {
        out += &finding(&words::words(found, &|pid| watch.name(pid)), width);
        out.push('\n');
    }
    for database in databases {
        out += &table(database);
    }
    out += &format!("\nDepth: {}.", watch.depth.word());
    let missing = watch.missing();
    if !missing.is_empty() {
        out += &format!(" Not seen: {}.", missing.join("; "));
    }
    wrapped_tail(out, width)
}

/// Processes of a database, the one that held the write lock longest first.
fn table(database: &DatabaseView) -> String {
    let mut out = format!("\n{} ({}, {})\n", database.path, database.journal, bytes(database.database_bytes));
    if database.processes.is_empty() {
        return out + "No process took a lock.\n";
    }
    let head = ["process", "writes", "held", "longest", "waited", "longest", "refused", "gave up"];
    let rows: Vec<[String; 8]> = database
        .processes
        .iter()
        .map(|row| {
            let sums = &row.sums;
            [
                format!("{} ({})", row.program, row.pid),
                sums.writes.to_string(),
                time(sums.write_ns),
                time(sums.write_ns_max),
                time(sums.wait_ns),
                time(sums.wait_ns_max),
                sums.refusals.to_string(),
                sums.gave_up.to_string(),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).chain([head[column].len()]).max().unwrap_or(0))
        .collect();
    let mut push = |cells: Vec<&str>| {
        for (column, cell) in cells.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            out += &if column == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        out.push('\n');
    };
    push(head.to_vec());
    rows.iter().for_each(|row| push(row.iter().map(String::as_str).collect()));
    out
}

/// Wraps the last paragraph.
fn wrapped_tail(text: String, width: usize) -> String {
    let Some((before, last)) = text.rsplit_once('\n') else { return text };
    format!("{before}\n{}", wrapped(last, "", "  ", width))
}

/// Text in lines of at most `width`, the first after `first`, the others after `rest`.
fn wrapped(text: &str, first: &str, rest: &str, width: usize) -> String {
    let (mut out, mut line) = (String::new(), first.to_string());
    let mut is_new = true;
    for word in text.split_whitespace() {
        if !is_new && line.chars().count() + 1 + word.chars().count() > width {
            out += line.trim_end();
            out.push('\n');
            line = rest.to_string();
            is_new = true;
        }
        if !is_new {
            line.push(' ');
        }
        line += word;
        is_new = false;
    }
    out + line.trim_end() + "\n"
}
