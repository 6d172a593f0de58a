//! Output without a terminal: a line per second, as text or JSON, and a summary at the end.

use crate::finding::Finding;
use crate::fold;
use crate::view::{DatabaseView, Row};
use crate::watch::Watch;
use crate::words::{Words, bytes, percent, time};
use serde::Serialize;

/// What a rollback journal means that a writer left behind.
pub const HOT_JOURNAL: &str = "hot journal: the next to read the database rolls it back";

/// The last second of a database, as one line of text.
pub fn line(at: &str, database: &DatabaseView, sees_refusals: bool) -> String {
    let name = database.path.rsplit('/').next().unwrap_or(&database.path);
    let who = |row: &Row| format!("{} ({})", row.program, row.pid);
    let writers = database.processes.iter().filter(|row| row.write_permille > 0 || row.writes_per_s > 0);
    let writers: Vec<String> =
        writers.map(|row| format!("{} {} {}/s", who(row), percent(row.write_permille), row.writes_per_s)).collect();
    let waiting: Vec<String> =
        database.processes.iter().filter_map(|row| Some(format!("{} for {}", who(row), time(row.waits_ns?)))).collect();
    let refused: u64 = database.processes.iter().filter_map(|row| row.refusals_per_s).sum();
    let mut out = format!("{at} {name}: ");
    out += &if writers.is_empty() { "no writer".to_string() } else { format!("wrote: {}", writers.join(", ")) };
    if !waiting.is_empty() {
        out += &format!("; waits: {}", waiting.join(", "));
    }
    if refused > 0 {
        out += &format!("; refused {refused}/s");
    }
    if !sees_refusals {
        out += "; refusals and waits: not seen";
    }
    if database.hot_journal {
        out += &format!("; {HOT_JOURNAL}");
    }
    if database.journal == "wal" {
        out += &format!("; log {}, {} frames to checkpoint", bytes(database.log_bytes), database.backlog_frames);
    }
    out
}

#[derive(Serialize)]
struct JsonLine<'a> {
    /// When the watch began, in UTC.
    began: &'a str,
    /// Seconds since the beginning of the watch.
    at_s: f64,
    depth: &'static str,
    lost_events: u64,
    databases: &'a [DatabaseView],
    findings: &'a [Finding],
}

/// The last second as a line of JSON, with all findings so far.
pub fn json_line(watch: &Watch, databases: &[DatabaseView], findings: &[Finding]) -> String {
    let timeline = &watch.timeline;
    let at_s = timeline.now_ns.saturating_sub(timeline.from_ns) as f64 / 1e9;
    let (began, depth) = (watch.began.as_str(), watch.depth.word());
    let line = JsonLine { began, at_s, depth, lost_events: watch.lost(), databases, findings };
    serde_json::to_string(&line).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// A finding as indented lines of at most `width` characters.
pub fn finding(words: &Words, width: usize) -> String {
    let mut out = wrapped(&words.title, "! ", "  ", width);
    out += &wrapped(&words.evidence, "  ", "  ", width);
    out + &wrapped(&format!("Change: {}", words.change), "  ", "    ", width)
}

/// The summary: findings, then processes, then what was not seen.
pub fn summary(watch: &Watch, databases: &[DatabaseView], width: usize) -> String {
    let (findings, timeline) = (watch.findings(), &watch.timeline);
    let mut out = String::new();
    if findings.is_empty() {
        out += &wrapped(watch.depth.no_finding(), "", "  ", width);
    }
    for found in &findings {
        out += &finding(&watch.words(found), width);
        out.push('\n');
    }
    for database in databases {
        out += &table(database);
    }
    out += &format!("\n{}\nDepth: {}.", since(&watch.began, timeline.now_ns - timeline.from_ns), watch.depth.word());
    let missing = watch.missing();
    if !missing.is_empty() {
        out += &format!(" Not seen: {}.", missing.join("; "));
    }
    wrapped_tail(out, width)
}

/// What a watch covers.
pub fn since(began: &str, watched_ns: u64) -> String {
    format!("Watched for {} from {began}.", time(watched_ns))
}

/// Processes of a database, ordered by the time for which they held the write lock.
fn table(database: &DatabaseView) -> String {
    let mut out = format!("\n{} ({}, {})\n", database.path, database.journal, bytes(database.database_bytes));
    if database.hot_journal {
        out += &format!("{HOT_JOURNAL}\n");
    }
    if database.processes.is_empty() {
        return out + "No process took a lock.\n";
    }
    let head = ["process", "writes", "held", "longest", "waited", "longest", "refused", "gave up"];
    let mut rows = vec![head.map(str::to_string)];
    let all = database.processes.iter();
    let all = all.map(|row| fold::Process { pid: row.pid, program: &row.program, totals: row.sums.clone() });
    rows.extend(fold::lines(&all.collect::<Vec<_>>()).into_iter().map(|fold::Line { who, totals, .. }| {
        let [waited, longest_wait, refused, gave_up] = totals.of_waits();
        let [held, longest] = [totals.write_ns, totals.write_ns_max].map(time);
        [who, totals.writes.to_string(), held, longest, waited, longest_wait, refused, gave_up]
    }));
    out + &padded(&rows)
}

/// Rows as text: the first column left-aligned, the others right-aligned.
pub fn padded<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let chars = |text: &String| text.chars().count();
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| chars(&row[column])).max().unwrap_or(0));
    let mut out = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - chars(cell));
            out += &if column == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        out.push('\n');
    }
    out
}

/// Wraps the last paragraph.
pub fn wrapped_tail(text: String, width: usize) -> String {
    let Some((before, last)) = text.rsplit_once('\n') else { return text };
    format!("{before}\n{}", wrapped(last, "", "  ", width))
}

/// Breaks a text into lines of at most `width` characters; `first` precedes the first line and `rest` the others.
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
