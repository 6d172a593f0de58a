//! Output without a terminal: a line per second, as text or JSON, and a summary at the end.

use crate::finding::Finding;
use crate::fold;
use crate::hold::GAP_NS_MIN;
use crate::short;
use crate::view::{DatabaseView, Held, Row};
use crate::watch::Watch;
use crate::words::{Words, bytes, percent, time};
use contend::report::text;
use serde::Serialize;
use std::cmp::Reverse;

/// What a rollback journal means that a writer left behind.
pub const HOT_JOURNAL: &str = "hot journal: the next to read the database rolls it back";

/// Columns within which the line of a second stays: room for a writer and a process that waits, by name.
const COLUMNS: usize = 110;
/// Most writers, and most waiting processes, that such a line names, and the longest name.
const NAMED_MAX: usize = 4;
const NAME_CHARS: usize = 20;
/// Shortest hold at the end that the summary mentions.
const HELD_NS_MIN: u64 = 1_000_000_000;

/// How much of the log such a line has.
#[derive(Clone, Copy)]
enum OfLog {
    All,
    Size,
    None,
}

/// The last second of a database, as one line of text. Where it would be too long, it names fewer processes and counts the
/// others, and says less of the log.
pub fn line(at: &str, database: &DatabaseView, sees_refusals: bool) -> String {
    let name = database.path.rsplit('/').next().unwrap_or(&database.path);
    let rows = || database.processes.iter();
    let mut writers: Vec<&Row> = rows().filter(|row| row.write_permille > 0 || row.writes_per_s > 0).collect();
    writers.sort_by_key(|row| Reverse(row.write_permille));
    let noticed = |row: &Row| row.waits_ns.filter(|ns| *ns >= GAP_NS_MIN);
    let mut waiting: Vec<(u64, &Row)> = rows().filter_map(|row| Some((noticed(row)?, row))).collect();
    waiting.sort_by_key(|(ns, _)| Reverse(*ns));
    let named = writers.iter().chain(waiting.iter().map(|(_, row)| row));
    let names = short::names(named.map(|row| row.program.as_str()), NAME_CHARS);
    let who = |row: &Row| format!("{} ({})", names[row.program.as_str()], row.pid);
    let wrote: Vec<String> = { writers.iter() }
        .map(|row| format!("{} {} {}/s", who(row), percent(row.write_permille), row.writes_per_s))
        .collect();
    let waits: Vec<String> = waiting.iter().map(|(ns, row)| format!("{} for {}", who(row), time(*ns))).collect();
    let refused: u64 = rows().filter_map(|row| row.refusals_per_s).sum();
    let text = |(named, of_log): (usize, OfLog)| {
        let mut out = format!("{at} {name}: ");
        out +=
            &if wrote.is_empty() { "no writer".to_string() } else { format!("wrote: {}", some(&wrote, named.max(1))) };
        if let Some((longest_ns, _)) = waiting.first() {
            out += "; waits: ";
            out +=
                &if named > 0 { some(&waits, named) } else { format!("{}, up to {}", waits.len(), time(*longest_ns)) };
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
        out + &log(database, of_log)
    };
    let named = (1..=NAMED_MAX).rev().flat_map(|named| [(named, OfLog::All), (named, OfLog::Size)]);
    let mut lines = named.chain([(1, OfLog::None), (0, OfLog::Size), (0, OfLog::None)]).map(text);
    lines.find(|line| line.chars().count() <= COLUMNS).unwrap_or_else(|| text((0, OfLog::None)))
}

fn log(database: &DatabaseView, of_log: OfLog) -> String {
    let size = bytes(database.log_bytes);
    match of_log {
        _ if database.journal != "wal" => String::new(),
        OfLog::All => format!("; log {size}, {} frames to checkpoint", database.backlog_frames),
        OfLog::Size => format!("; log {size}"),
        OfLog::None => String::new(),
    }
}

/// The first `count` texts, and the number of the others: `python3, node and 3 more`.
fn some(texts: &[String], count: usize) -> String {
    let (named, others) = texts.split_at(count.min(texts.len()));
    named.join(", ") + &if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) }
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
    parts(words, width).concat()
}

/// The lines of its title, of its evidence and of what to change.
pub fn parts(words: &Words, width: usize) -> [String; 3] {
    [
        wrapped(&words.title, "! ", "  ", width),
        wrapped(&words.evidence, "  ", "  ", width),
        wrapped(&format!("Change: {}", words.change), "  ", "    ", width),
    ]
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
        out += &table(database, watch.depth.sees_refusals(), width);
    }
    out += &format!("\n{}\nDepth: {}.", since(&watch.began, timeline.now_ns - timeline.from_ns), watch.depth.word());
    let missing = watch.missing();
    if !missing.is_empty() {
        out += &format!(" Not seen: {}.", missing.join("; "));
    }
    let command = watch.no_deeper.as_ref().and_then(|limit| limit.command.as_ref());
    // On a line of its own, for copying.
    wrapped_tail(out, width) + &command.map_or(String::new(), |command| format!("For more: {command}\n"))
}

/// What a watch covers.
pub fn since(began: &str, watched_ns: u64) -> String {
    format!("Watched for {} from {began}.", time(watched_ns))
}

/// Processes of a database, ordered by the time for which they held the write lock. `sees_all`: whether short locks are seen.
fn table(database: &DatabaseView, sees_all: bool, width: usize) -> String {
    let (path, facts) = (&database.path, format!("({}, {})", database.journal, bytes(database.database_bytes)));
    let is_long = path.chars().count() + 1 + facts.chars().count() > width;
    let mut out = format!("\n{path}{}{facts}\n", if is_long { "\n  " } else { " " });
    if database.hot_journal {
        out += &format!("{HOT_JOURNAL}\n");
    }
    if database.processes.is_empty() {
        return out
            + if sees_all {
                "No process took a lock.\n"
            } else {
                "No lock was seen: only those of 20 ms or longer are.\n"
            };
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
    out + &padded(&rows, width) + &held_at_end(database, width)
}

/// The locks that processes hold at the end, longest first: the figures are about writes and waits, and of a reader they are 0.
fn held_at_end(database: &DatabaseView, width: usize) -> String {
    let held = |row| Some((row, Row::holds_more(row).filter(|(_, ns)| *ns >= HELD_NS_MIN)?));
    let mut held: Vec<(&Row, &(Held, u64))> = database.processes.iter().filter_map(held).collect();
    held.sort_by_key(|(_, (_, ns))| Reverse(*ns));
    let further = held.len().saturating_sub(NAMED_MAX);
    held.truncate(NAMED_MAX);
    let each = held.iter().map(|(row, (lock, ns))| {
        format!("{} ({}) holds `{lock}` at the end, for {}.", row.program, row.pid, time(*ns))
    });
    let processes = if further == 1 { "process holds a lock" } else { "processes hold locks" };
    let rest = (further > 0).then(|| format!("{further} further {processes} at the end, for a shorter time."));
    each.chain(rest).map(|said| wrapped(&said, "", "  ", width)).collect()
}

/// Rows as text of at most `width` columns: the first column is left-aligned, and wrapped if there is no room; the others are
/// right-aligned.
pub fn padded<const COLUMNS: usize>(rows: &[[String; COLUMNS]], width: usize) -> String {
    /// Narrowest first column.
    const FIRST: usize = 12;
    let chars = |text: &str| text.chars().count();
    let mut widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| chars(&row[column])).max().unwrap_or(0));
    let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
    widths[0] = widths[0].min(width.saturating_sub(others).max(FIRST));
    let mut out = String::new();
    for (first, figures) in rows.iter().filter_map(|row| row.split_first()) {
        let is_whole = chars(first) <= widths[0];
        let style = text::Style { width: widths[0], ..text::Style::FILE };
        let first = if is_whole { first.clone() } else { text::wrapped(first, ["", " "], style) };
        let mut first = first.lines();
        let begins = first.next().unwrap_or_default();
        out += &format!("{begins:0$}", widths[0]);
        figures.iter().zip(&widths[1..]).for_each(|(cell, width)| out += &format!("  {cell:>width$}"));
        out.push('\n');
        first.for_each(|line| out += &format!("{line}\n"));
    }
    out
}

/// Wraps the last paragraph.
pub fn wrapped_tail(text: String, width: usize) -> String {
    let Some((before, last)) = text.rsplit_once('\n') else { return text };
    format!("{before}\n{}", wrapped(last, "", "  ", width))
}

/// Breaks a text into lines of at most `width` characters; `first` precedes the first line and `rest` the others.
pub fn wrapped(text: &str, first: &str, rest: &str, width: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Totals;

    /// Processes of a database in WAL mode: each writes, and the first `waiting` wait, too.
    fn database(programs: &[&str], waiting: usize) -> DatabaseView {
        let totals = Totals { writes: 123_456, write_ns: 59_940_000_000, write_ns_max: 234_000_000, waits: None };
        let row = |(at, program): (usize, &&str)| Row {
            pid: 4711 + at as u32,
            program: program.to_string(),
            command: String::new(),
            holds: None,
            waits_ns: (at < waiting).then_some(1_200_000_000 + at as u64 * 100_000_000),
            writes_per_s: 40,
            refusals_per_s: Some(35),
            write_permille: 100 + at as u64 * 20,
            sums: totals.clone(),
            statement: None,
            threads: vec![],
        };
        DatabaseView::example("/srv/app.db", programs.iter().enumerate().map(row).collect(), vec![])
    }

    #[test]
    fn the_line_of_a_second_names_those_for_whom_there_is_room_and_counts_the_others() {
        let of = |programs: &[&str], waiting| line("  12 s", &database(programs, waiting), true);
        assert_eq!(
            of(&["python3 import.py"], 0),
            "  12 s app.db: wrote: python3 import.py (4711) 10 % 40/s; refused 35/s; log 4.10 MB, 1000 frames to checkpoint"
        );
        assert_eq!(
            of(&["app"; 8], 0),
            "  12 s app.db: wrote: app (4718) 24 % 40/s, app (4717) 22 % 40/s and 6 more; refused 280/s; log 4.10 MB"
        );
        assert_eq!(
            of(&["app"; 8], 3),
            "  12 s app.db: wrote: app (4718) 24 % 40/s and 7 more; waits: app (4713) for 1.40 s and 2 more; \
             refused 280/s"
        );
        let mut soon = database(&["app"; 2], 2);
        soon.processes[1].waits_ns = Some(25_000);
        let said = line("  12 s", &soon, true);
        assert!(said.contains("; waits: app (4711) for 1.20 s; refused"), "a wait of microseconds is no news: {said}");
        let long = of(&["python3 import_all_customers.py", "python3 import_all_orders.py"], 2);
        assert_eq!(
            long,
            "  12 s app.db: wrote: import_all_orders.py (4712) 12 % 40/s and 1 more; waits: 2, up to 1.30 s; refused 70/s"
        );
    }

    #[test]
    fn a_summary_fits_into_the_terminal_and_keeps_its_figures_in_their_columns() {
        let text =
            table(&database(&["python3 import_customers.py", "a-program-whose-name-is-one-long-word"], 0), true, 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines[1].trim_end(),
            "python3               123456  59.9 s   234 ms       -        -        -        -"
        );
        assert_eq!(lines[2..4], [" import_customers.py", " (4711)"]);
        let mut held = database(&["app", "reader", "idle", "soon"], 0);
        let holds = [(Held::Read, 93_000), (Held::Open, 93_000), (Held::Read, 900)];
        for (row, (lock, ms)) in held.processes[1..].iter_mut().zip(holds) {
            row.holds = Some((lock, ms * 1_000_000));
        }
        let said = table(&held, true, 80);
        assert_eq!(
            said.lines().skip(7).collect::<Vec<_>>(),
            ["reader (4712) holds `read` at the end, for 93.0 s."],
            "{said}"
        );
        let mut many = database(&["r"; 6], 0);
        many.processes.iter_mut().for_each(|row| row.holds = Some((Held::Read, 5_000_000_000)));
        assert!(table(&many, true, 80).ends_with("2 further processes hold locks at the end, for a shorter time.\n"));
        let wide = table(&database(&["python3 import_customers.py"], 0), true, 100);
        assert!(wide.contains("python3 import_customers.py (4711)  123456  59.9 s"), "{wide}");
    }
}
