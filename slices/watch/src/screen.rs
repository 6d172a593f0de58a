//! The live screen. Drawing is a function of its data, so that tests draw into a buffer.

use crate::connection;
use crate::lines::HOT_JOURNAL;
use crate::short;
use crate::view::{DatabaseView, Row, ThreadRow};
use crate::watch::Depth;
use crate::words::{NOT_SEEN, Words, bytes, percent, time};
use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};
use std::collections::BTreeMap;

/// Colours of processes in the strip and the table. Each process also has a letter, for screens without colour.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];
/// Columns of a screen from which the table has the longest hold and wait.
const WIDE: u16 = 100;
/// Widths of the columns `waits`, `writes/s`, `refused` and `held`, and of a time.
const USUAL_WIDTHS: [u16; 4] = [TIME_WIDTH, 8, 7, 5];
const TIME_WIDTH: u16 = 8;
/// Rows for findings, of 24.
const FINDINGS_ROWS: u16 = 8;

/// Sort column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    #[default]
    Held,
    Waited,
    Refused,
    Process,
}

impl Sort {
    fn next(self) -> Sort {
        match self {
            Sort::Held => Sort::Waited,
            Sort::Waited => Sort::Refused,
            Sort::Refused => Sort::Process,
            Sort::Process => Sort::Held,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Sort::Held => "lock held",
            Sort::Waited => "time waited",
            Sort::Refused => "refusals",
            Sort::Process => "process",
        }
    }
}

/// State of the user's choices.
#[derive(Debug, Default)]
pub struct Choice {
    pub paused: bool,
    pub quit: bool,
    help: bool,
    sort: Sort,
    /// Index of the database on the screen.
    database: usize,
    /// Whether only processes are shown, without their threads.
    no_threads: bool,
    /// Shows only processes whose name or command contains this text.
    filter: String,
    typing: bool,
}

impl Choice {
    /// Handles a key.
    pub fn key(&mut self, key: KeyCode, databases: usize) {
        if self.typing {
            match key {
                KeyCode::Char(c) => self.filter.push(c),
                KeyCode::Backspace => _ = self.filter.pop(),
                KeyCode::Esc => {
                    self.filter.clear();
                    self.typing = false;
                }
                KeyCode::Enter => self.typing = false,
                _ => {}
            }
            return;
        }
        match key {
            KeyCode::Esc if !self.filter.is_empty() => self.filter.clear(),
            KeyCode::Char('q') | KeyCode::Esc => self.quit = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('t') => self.no_threads = !self.no_threads,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Tab | KeyCode::Char('n') => self.database = (self.database + 1) % databases.max(1),
            _ => {}
        }
    }
}

/// Data of the screen.
pub struct Shown<'s> {
    pub databases: &'s [DatabaseView],
    pub findings: &'s [Words],
    /// Seconds since the beginning of the watch.
    pub seconds: u64,
    pub depth: Depth,
    /// What is not visible, as sentences.
    pub missing: &'s [String],
    pub colour: bool,
}

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, shown: &Shown<'_>, choice: &Choice) {
    let area = frame.area();
    let findings_rows = FINDINGS_ROWS.min(area.height / 3);
    let rows = [
        Constraint::Length(1),
        Constraint::Length(4),
        Constraint::Min(3),
        Constraint::Length(findings_rows),
        Constraint::Length(1),
    ];
    let [head, database_area, table_area, findings_area, foot] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(heading(shown, choice)), head);
    if let Some(database) = shown.databases.get(choice.database) {
        frame.render_widget(Paragraph::new(about(database, shown, area.width)), database_area);
        if choice.help {
            frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: false }), table_area);
        } else {
            processes(frame, table_area, database, shown, choice);
        }
    }
    let none = if shown.depth.sees_refusals() { NO_FINDING } else { NO_FINDING_SAMPLED };
    let found = findings(shown.findings, shown.missing, (none, findings_rows));
    frame.render_widget(Paragraph::new(found).wrap(Wrap { trim: false }), findings_area);
    frame.render_widget(Paragraph::new(footer(choice)), foot);
}

const NO_FINDING: &str = "No finding so far.";
const NO_FINDING_SAMPLED: &str = "No finding so far: only holds of 20 ms or longer are seen. Run as root for more.";

const HELP: &str = "Holds: the strongest lock a process has now, and for how long. write: the one
writer; exclusive: alone in the file; read: a snapshot is open; open: connected.
Waits: how long it has been refused the lock.
Refused: lock calls per second that got no lock. A busy timeout tries again and
again: one wait is many refused calls, and they are not errors of the program.
Longest, wait: its longest hold of the write lock, its longest wait (if wide).
Below a process: its threads (or connections) that have the lock, wait or work.
The strip: who held the write lock, the newest at the right. A dot: no process.
~ in a name: a part is left out.
p pause  s sort  t threads  / filter  Tab next database  q quit";

fn heading(shown: &Shown<'_>, choice: &Choice) -> Line<'static> {
    let mut text = format!("contend watch   {} s   depth: {}", shown.seconds, shown.depth.word());
    if shown.databases.len() > 1 {
        text += &format!("   database {} of {} (Tab)", choice.database + 1, shown.databases.len());
    }
    bold(text, choice)
}

/// A heading; it shows whether the screen is paused.
fn bold(mut text: String, choice: &Choice) -> Line<'static> {
    if choice.paused {
        text += "   PAUSED";
    }
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

fn about(database: &DatabaseView, shown: &Shown<'_>, columns: u16) -> Vec<Line<'static>> {
    let mut facts = format!("{}, {}", database.journal, bytes(database.database_bytes));
    if database.hot_journal {
        facts += &format!(", {HOT_JOURNAL}");
    }
    if database.journal == "wal" {
        facts += &format!(", log {}, {} frames to checkpoint", bytes(database.log_bytes), database.backlog_frames);
    }
    let reader = database.oldest_reader.as_ref().map_or("oldest reader: none".to_string(), |reader| {
        format!("oldest reader: {}, for {}, {} frames behind", reader.pid, time(reader.held_ns), reader.behind_frames)
    });
    let cells = database.strip.iter().map(|holder| match holder {
        Some(pid) => Span::styled(letter(database, *pid), style(database, *pid, shown.colour)),
        None => Span::raw("."),
    });
    let path = short::end(&database.path, usize::from(columns));
    vec![Line::raw(path), Line::raw(facts), Line::raw(reader), Line::from(cells.collect::<Vec<_>>())]
}

/// Position of a process among those of its database, by number, so that its letter does not change with the order.
fn place(database: &DatabaseView, pid: u32) -> usize {
    database.processes.iter().filter(|row| row.pid < pid).count()
}

fn letter(database: &DatabaseView, pid: u32) -> String {
    char::from(b'A' + (place(database, pid) % 26) as u8).to_string()
}

fn style(database: &DatabaseView, pid: u32, colour: bool) -> Style {
    if colour { Style::new().fg(COLOURS[place(database, pid) % COLOURS.len()]) } else { Style::new() }
}

fn processes(frame: &mut Frame<'_>, area: Rect, database: &DatabaseView, shown: &Shown<'_>, choice: &Choice) {
    let fits = |row: &&Row| row.program.contains(&choice.filter) || row.command.contains(&choice.filter);
    let mut rows: Vec<&Row> = database.processes.iter().filter(fits).collect();
    match choice.sort {
        Sort::Held => rows.sort_by_key(|row| std::cmp::Reverse(row.write_permille)),
        Sort::Waited => rows.sort_by_key(|row| std::cmp::Reverse(row.sums.waits.map(|waits| waits.wait_ns))),
        Sort::Refused => rows.sort_by_key(|row| std::cmp::Reverse(row.sums.waits.map(|waits| waits.refusals))),
        Sort::Process => rows.sort_by_key(|row| row.pid),
    }
    let is_wide = area.width >= WIDE;
    let widest = widest(&rows, !choice.no_threads);
    let others = USUAL_WIDTHS.iter().map(|width| width + 1).sum::<u16>() + widest + 1;
    let others = others + if is_wide { 2 * (TIME_WIDTH + 1) } else { 0 };
    let (first_width, names) = names(&rows, area.width.saturating_sub(others));
    let mut lines = vec![];
    for row in rows {
        let name = &names[row.program.as_str()];
        let first = Cell::from(format!("{} {} {name}", letter(database, row.pid), row.pid));
        let mut cells = vec![
            first.style(style(database, row.pid, shown.colour)),
            Cell::from(held(row.holds.as_ref())),
            Cell::from(row.waits_ns.map_or("-".to_string(), time)),
            Cell::from(row.writes_per_s.to_string()),
            Cell::from(row.refusals_per_s.map_or(NOT_SEEN.to_string(), |count| count.to_string())),
            Cell::from(percent(row.write_permille)),
        ];
        if is_wide {
            let [_, longest_wait, ..] = row.sums.of_waits();
            cells.extend([time(row.sums.write_ns_max), longest_wait].map(Cell::from));
        }
        cells.push(Cell::from(row.statement.clone().unwrap_or_default()));
        lines.push(TableRow::new(cells));
        let threads = row.threads.iter().filter(|_| !choice.no_threads);
        lines.extend(threads.map(|thread| of_thread(thread, is_wide)));
    }
    let mut columns = vec![("process", Constraint::Length(first_width)), ("holds", Constraint::Length(widest))];
    columns.extend(["waits", "writes/s", "refused", "held"].into_iter().zip(USUAL_WIDTHS.map(Constraint::Length)));
    if is_wide {
        columns.extend(["longest", "wait"].map(|head| (head, Constraint::Length(TIME_WIDTH))));
    }
    columns.push(("statement", Constraint::Min(8)));
    let (head, widths): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let head = TableRow::new(head).style(Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(lines, widths).header(head), area);
}

/// Width of the column of processes, and the name of each program in it. `room`: what it and the statement have together.
fn names<'r>(rows: &[&'r Row], room: u16) -> (u16, BTreeMap<&'r str, String>) {
    const LEAST: usize = 18;
    let most = (usize::from(room) / 2).max(20);
    let number = rows.iter().map(|row| row.pid.to_string().len()).max().unwrap_or(0);
    // The letter, the number and the spaces after them.
    let before = 1 + 1 + number + 1;
    let longest = rows.iter().map(|row| row.program.chars().count()).max().unwrap_or(0);
    let width = (before + longest).clamp(LEAST, most);
    let names = short::names(rows.iter().map(|row| row.program.as_str()), width.saturating_sub(before));
    (width as u16, names)
}

/// Width of the column of locks: its longest cell, and no less than is usual, so that columns stay where they are.
fn widest(rows: &[&Row], threads: bool) -> u16 {
    const USUAL: usize = 16;
    let threads = rows.iter().filter(|_| threads).flat_map(|row| &row.threads).map(|thread| thread.holds.as_ref());
    let cells = rows.iter().map(|row| row.holds.as_ref()).chain(threads);
    cells.map(|holds| held(holds).chars().count()).max().unwrap_or(0).max(USUAL) as u16
}

fn held(holds: Option<&(String, u64)>) -> String {
    holds.map_or("-".to_string(), |(lock, ns)| format!("{lock} {}", time(*ns)))
}

/// The line of a thread below its process, with as many cells.
fn of_thread(thread: &ThreadRow, is_wide: bool) -> TableRow<'static> {
    let which = match &thread.name {
        Some(name) => name.clone(),
        None => connection::name(thread.tid),
    };
    let mut cells =
        vec![format!("  {which}"), held(thread.holds.as_ref()), thread.waits_ns.map_or("-".to_string(), time)];
    cells.resize(if is_wide { 8 } else { 6 }, String::new());
    cells.push(thread.statement.clone().unwrap_or_default());
    TableRow::new(cells)
}

fn findings(found: &[Words], missing: &[String], (none, rows): (&'static str, u16)) -> Vec<Line<'static>> {
    let mut lines = vec![];
    for words in found {
        let style = Style::new().add_modifier(Modifier::BOLD);
        lines.push(Line::styled(format!("! {}", words.title), style));
        lines.push(Line::raw(format!("  {}", words.change)));
    }
    if lines.is_empty() {
        lines.push(Line::raw(none));
    }
    if !missing.is_empty() && lines.len() < usize::from(rows) {
        lines.push(Line::raw(format!("Not seen: {}.", missing.join("; "))));
    }
    lines
}

/// Data of a server's screen: facts, one per line, and the tree of waits.
pub struct ShownServer {
    pub facts: String,
    pub tree: Vec<String>,
    pub findings: Vec<Words>,
    pub missing: Vec<String>,
    pub seconds: u64,
}

/// Draws the screen of a server. The filter applies to lines of the tree.
pub fn draw_server(frame: &mut Frame<'_>, shown: &ShownServer, choice: &Choice) {
    let area = frame.area();
    let findings_rows = FINDINGS_ROWS.min(area.height / 3);
    let rows = [Constraint::Length(3), Constraint::Min(3), Constraint::Length(findings_rows), Constraint::Length(1)];
    let [head, tree_area, findings_area, foot] = Layout::vertical(rows).areas(area);
    let heading = bold(format!("contend watch   {} s", shown.seconds), choice);
    let head_lines = vec![heading, Line::raw(shown.facts.clone())];
    frame.render_widget(Paragraph::new(head_lines).wrap(Wrap { trim: false }), head);
    let fits = shown.tree.iter().filter(|line| line.contains(&choice.filter));
    let mut tree: Vec<Line<'_>> = fits.map(|line| Line::raw(line.clone())).collect();
    if choice.help {
        tree = vec![Line::raw(HELP_SERVER)];
    } else if tree.is_empty() {
        tree.push(Line::raw("No client waits for another."));
    }
    frame.render_widget(Paragraph::new(tree), tree_area);
    let found = findings(&shown.findings, &shown.missing, (NO_FINDING, findings_rows));
    frame.render_widget(Paragraph::new(found).wrap(Wrap { trim: false }), findings_area);
    frame.render_widget(Paragraph::new(footer(choice)), foot);
}

const HELP_SERVER: &str =
    "Each client that others wait for, and below it those that wait.   p pause   / filter   q quit";

fn footer(choice: &Choice) -> String {
    if choice.typing {
        return format!("filter: {}_   Enter keeps it, Esc clears it", choice.filter);
    }
    if !choice.filter.is_empty() {
        return format!("filter: {}   / changes it, Esc clears it", choice.filter);
    }
    format!("q quit  p pause  s sort (by {})  t threads  / filter  ? help", choice.sort.word())
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
