//! The live screen. Drawing is a function of its data, so that tests draw into a buffer.

use crate::connection;
use crate::lines::HOT_JOURNAL;
use crate::panel::{self, Size};
use crate::short;
use crate::view::{DatabaseView, Held, Row, ThreadRow};
use crate::watch::Depth;
use crate::words::{NOT_SEEN, Words, bytes, counted, percent, time};
use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};
use std::collections::BTreeMap;

/// Colours of processes in the strip and the table. Each process also has a letter, for screens without colour.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];
/// Columns of a screen from which the table has room for all its columns.
const WIDE: u16 = 100;
/// Width of a time.
const TIME_WIDTH: u16 = 8;
/// Rows of the table that findings leave to it: its head and five lines.
const TABLE_ROWS: usize = 6;

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
    /// Whether a narrow table has the longest hold and wait, in place of writes and statements.
    longest: bool,
    /// Position of the finding that is shown in full; counted on at the last one.
    finding: usize,
    /// Whether findings have the place of the table.
    only_findings: bool,
    /// Shows only processes whose name or command contains this text.
    filter: String,
    typing: bool,
}

impl Choice {
    /// Whether the filter shows a process.
    fn is_shown(&self, row: &Row) -> bool {
        row.program.contains(&self.filter) || row.command.contains(&self.filter)
    }

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
            KeyCode::Char('l') => self.longest = !self.longest,
            KeyCode::Char('f') => self.only_findings = !self.only_findings,
            KeyCode::Down => self.finding += 1,
            KeyCode::Up => self.finding = self.finding.saturating_sub(1),
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
    /// The command that sees more.
    pub command: Option<&'s str>,
    pub colour: bool,
}

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, shown: &Shown<'_>, choice: &Choice) {
    let database = shown.databases.get(choice.database);
    let none = match (shown.depth.sees_refusals(), shown.command) {
        (true, _) => NO_FINDING.to_string(),
        (false, None) => format!("{NO_FINDING_SAMPLED} Without --depth more is seen."),
        (false, Some(command)) => format!("{NO_FINDING_SAMPLED} For more: {command}"),
    };
    let found = Found { words: shown.findings, missing: shown.missing, none };
    let lines = database.map_or(0, |database| lines_of(database, choice));
    let [head, table_area] = around(frame, choice, [5, lines], &found);
    let [head, database_area] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(head);
    frame.render_widget(Paragraph::new(heading(shown, choice)), head);
    let Some(database) = database else { return };
    frame.render_widget(Paragraph::new(about(database, shown, database_area.width)), database_area);
    if choice.help {
        frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: false }), table_area);
    } else {
        processes(frame, table_area, database, shown, choice);
    }
}

/// Findings to draw, and the text without any.
struct Found<'f> {
    words: &'f [Words],
    missing: &'f [String],
    none: String,
}

/// Draws findings and foot, and returns the areas of head and table, which have this many lines. Findings leave
/// [`TABLE_ROWS`] of the table, and take the rows that it does not need.
fn around(frame: &mut Frame<'_>, choice: &Choice, [head, table]: [usize; 2], found: &Found<'_>) -> [Rect; 2] {
    let area = frame.area();
    let kept = match (choice.help, choice.only_findings) {
        (true, _) => table,
        (false, true) => 0,
        (false, false) => table.min(TABLE_ROWS),
    };
    let rows = usize::from(area.height).saturating_sub(head + kept + 1);
    let first = choice.finding.checked_rem(found.words.len()).unwrap_or(0);
    let (before, from_first) = found.words.split_at(first);
    let words: Vec<&Words> = from_first.iter().chain(before).collect();
    let lines = panel::lines(&words, found.missing, &found.none, Size { columns: usize::from(area.width), rows });
    let rows = [head, lines.len(), 1].map(|rows| Constraint::Length(rows as u16));
    let [head, table, findings, foot] = Layout::vertical([rows[0], Constraint::Min(0), rows[1], rows[2]]).areas(area);
    frame.render_widget(Paragraph::new(lines), findings);
    frame.render_widget(Paragraph::new(footer(choice)), foot);
    [head, table]
}

/// Lines of the table of a database, with its head, or of the help.
fn lines_of(database: &DatabaseView, choice: &Choice) -> usize {
    if choice.help {
        return HELP.lines().count();
    }
    let rows = database.processes.iter().filter(|row| choice.is_shown(row));
    1 + rows.map(|row| 1 + if choice.no_threads { 0 } else { row.threads.len() }).sum::<usize>()
}

const NO_FINDING: &str = "No finding so far.";
const NO_FINDING_SAMPLED: &str = "No finding so far: only holds of 20 ms or longer are seen.";

const HELP: &str = "Holds: the strongest lock a process has now, and for how long. write: the one
writer; exclusive: alone in the file; read: a snapshot is open; open: connected.
Waits: how long it has been refused the lock.
Refused: lock calls per second that got no lock. A busy timeout tries again and
again: one wait is many refused calls, and they are not errors of the program.
l: longest hold of the write lock, and longest wait (100 columns have them).
Below a process: its threads (or connections) that have a lock, wait or work.
The strip: who held the write lock, the newest at the right. A dot: no process.
~ in a name: a part is left out.
Up, Down: the finding that is shown in full; f: findings without the table.
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
    // Only readers of a log have a snapshot.
    let none = if database.journal == "wal" { "oldest reader: none" } else { "" };
    let reader = database.oldest_reader.as_ref().map_or(none.to_string(), |reader| {
        let behind = counted(reader.behind_frames.into(), "frame");
        format!("oldest reader: {}, for {}, {behind} behind", reader.pid, time(reader.held_ns))
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
    let mut rows: Vec<&Row> = database.processes.iter().filter(|row| choice.is_shown(row)).collect();
    match choice.sort {
        Sort::Held => {
            rows.sort_by_key(|row| std::cmp::Reverse((row.write_permille, row.holds_more().map(|(_, ns)| *ns))))
        }
        Sort::Waited => rows.sort_by_key(|row| std::cmp::Reverse(row.sums.waits.map(|waits| waits.wait_ns))),
        Sort::Refused => rows.sort_by_key(|row| std::cmp::Reverse(row.sums.waits.map(|waits| waits.refusals))),
        Sort::Process => rows.sort_by_key(|row| row.pid),
    }
    let columns = Column::shown(area.width, choice);
    let widest = widest(&rows, !choice.no_threads);
    let others = columns.iter().map(|column| column.head_and_width()).filter_map(|(_, width)| Some(width? + 1));
    let (first_width, names) = names(&rows, area.width.saturating_sub(others.sum::<u16>() + widest + 1));
    let mut lines = vec![];
    for row in rows {
        let name = &names[row.program.as_str()];
        let first = Cell::from(format!("{} {} {name}", letter(database, row.pid), row.pid));
        let cells = [first.style(style(database, row.pid, shown.colour)), Cell::from(held(row.holds.as_ref()))];
        let others = columns.iter().map(|column| Cell::from(column.of_process(row)));
        lines.push(TableRow::new(cells.into_iter().chain(others)));
        let threads = row.threads.iter().filter(|_| !choice.no_threads);
        lines.extend(threads.map(|thread| {
            let cells = [format!("  {}", name_of(thread)), held(thread.holds.as_ref())];
            TableRow::new(cells.into_iter().chain(columns.iter().map(|column| column.of_thread(thread))))
        }));
    }
    let (mut heads, mut widths) = (vec!["process", "holds"], [first_width, widest].map(Constraint::Length).to_vec());
    for (head, width) in columns.iter().map(|column| column.head_and_width()) {
        heads.push(head);
        widths.push(width.map_or(Constraint::Min(8), Constraint::Length));
    }
    let head = TableRow::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(lines, widths).header(head), area);
}

/// Columns of the table after the process and its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Waits,
    Writes,
    Refused,
    Held,
    Longest,
    LongestWait,
    Statement,
}

impl Column {
    /// Those on a screen of this width.
    fn shown(width: u16, choice: &Choice) -> Vec<Column> {
        use Column::{Held, Longest, LongestWait, Refused, Statement, Waits, Writes};
        match (width >= WIDE, choice.longest) {
            (true, _) => vec![Waits, Writes, Refused, Held, Longest, LongestWait, Statement],
            (false, false) => vec![Waits, Writes, Refused, Held, Statement],
            (false, true) => vec![Waits, Refused, Held, Longest, LongestWait],
        }
    }

    /// Its head, and its width unless it has the rest of the screen.
    fn head_and_width(self) -> (&'static str, Option<u16>) {
        match self {
            Column::Waits => ("waits", Some(TIME_WIDTH)),
            Column::Writes => ("writes/s", Some(8)),
            Column::Refused => ("refused", Some(7)),
            Column::Held => ("held", Some(5)),
            Column::Longest => ("longest", Some(TIME_WIDTH)),
            Column::LongestWait => ("wait", Some(TIME_WIDTH)),
            Column::Statement => ("statement", None),
        }
    }

    fn of_process(self, row: &Row) -> String {
        match self {
            Column::Waits => row.waits_ns.map_or("-".to_string(), time),
            Column::Writes => row.writes_per_s.to_string(),
            Column::Refused => row.refusals_per_s.map_or(NOT_SEEN.to_string(), |count| count.to_string()),
            Column::Held => percent(row.write_permille),
            Column::Longest => time(row.sums.write_ns_max),
            Column::LongestWait => {
                let [_, longest_wait, ..] = row.sums.of_waits();
                longest_wait
            }
            Column::Statement => row.statement.clone().unwrap_or_default(),
        }
    }

    /// Of a thread, what it does now.
    fn of_thread(self, thread: &ThreadRow) -> String {
        match self {
            Column::Waits => thread.waits_ns.map_or("-".to_string(), time),
            Column::Statement => thread.statement.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }
}

fn name_of(thread: &ThreadRow) -> String {
    thread.name.clone().unwrap_or_else(|| connection::name(thread.tid))
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

fn held(holds: Option<&(Held, u64)>) -> String {
    holds.map_or("-".to_string(), |(lock, ns)| format!("{lock} {}", time(*ns)))
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
    let fits = shown.tree.iter().filter(|line| line.contains(&choice.filter));
    let mut tree: Vec<Line<'_>> = fits.map(|line| Line::raw(line.clone())).collect();
    if choice.help {
        tree = HELP_SERVER.lines().map(Line::raw).collect();
    } else if tree.is_empty() {
        tree.push(Line::raw("No client waits for another."));
    }
    let found = Found { words: &shown.findings, missing: &shown.missing, none: NO_FINDING.to_string() };
    let [head, tree_area] = around(frame, choice, [3, tree.len()], &found);
    let heading = bold(format!("contend watch   {} s", shown.seconds), choice);
    let head_lines = vec![heading, Line::raw(shown.facts.clone())];
    frame.render_widget(Paragraph::new(head_lines).wrap(Wrap { trim: false }), head);
    frame.render_widget(Paragraph::new(tree), tree_area);
}

const HELP_SERVER: &str = "Each client that others wait for, and below it those that wait.
Up, Down: the finding that is shown in full; f: findings without the tree.
p pause   / filter   q quit";

fn footer(choice: &Choice) -> String {
    if choice.typing {
        return format!("filter: {}_   Enter keeps it, Esc clears it", choice.filter);
    }
    if !choice.filter.is_empty() {
        return format!("filter: {}   / changes it, Esc clears it", choice.filter);
    }
    format!("q quit  p pause  s sort (by {})  t threads  f findings  / filter  ? help", choice.sort.word())
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
