//! The live screen. Drawing is a function of its data, so that tests draw into a buffer.

use crate::connection;
use crate::lines::HOT_JOURNAL;
use crate::view::{DatabaseView, Row, ThreadRow};
use crate::watch::Depth;
use crate::words::{NOT_SEEN, Words, bytes, percent, time};
use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Wrap};

/// Colours of processes in the strip and the table. Each process also has a letter, for screens without colour.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];
/// Columns of a screen from which the table has the longest hold and wait.
const WIDE: u16 = 100;
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
        frame.render_widget(Paragraph::new(about(database, shown)), database_area);
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
Refused: calls per second that got no lock.
Longest: its longest hold of the write lock, and its longest wait (wide screens).
Below a process: its threads (or connections) that have the lock, wait or work now.
The strip: who held the write lock, the newest at the right. A dot: no process.
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

fn about(database: &DatabaseView, shown: &Shown<'_>) -> Vec<Line<'static>> {
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
    vec![Line::raw(database.path.clone()), Line::raw(facts), Line::raw(reader), Line::from(cells.collect::<Vec<_>>())]
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
    let mut lines = vec![];
    for row in rows {
        let first = Cell::from(format!("{} {} {}", letter(database, row.pid), row.pid, row.program));
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
    let mut columns = vec![
        ("process", Constraint::Length(18)),
        ("holds", Constraint::Length(widest)),
        ("waits", Constraint::Length(8)),
        ("writes/s", Constraint::Length(8)),
        ("refused", Constraint::Length(7)),
        ("held", Constraint::Length(5)),
    ];
    if is_wide {
        columns.extend([("longest", Constraint::Length(8)), ("wait", Constraint::Length(8))]);
    }
    columns.push(("statement", Constraint::Min(8)));
    let (head, widths): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let head = TableRow::new(head).style(Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Table::new(lines, widths).header(head), area);
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
mod tests {
    use super::*;
    use crate::view::{Totals, Waits};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn row(pid: u32, program: &str, held: u64) -> Row {
        let sums = Totals {
            writes: 9,
            write_ns: held,
            write_ns_max: held,
            waits: Some(Waits { wait_ns: 0, wait_ns_max: 0, refusals: 0, gave_up: 0 }),
        };
        Row {
            pid,
            program: program.to_string(),
            command: String::new(),
            holds: Some(("write".to_string(), held)),
            waits_ns: None,
            writes_per_s: 40,
            refusals_per_s: Some(3),
            write_permille: held / 1_000_000,
            sums,
            statement: Some("UPDATE account SET balance = 1".to_string()),
            threads: vec![],
        }
    }

    fn drawn(choice: &Choice) -> String {
        drawn_on(80, choice)
    }

    fn drawn_on(columns: u16, choice: &Choice) -> String {
        let threads = vec![ThreadRow {
            tid: 4719,
            name: Some("worker-3".to_string()),
            holds: Some(("write".to_string(), 41_000_000)),
            waits_ns: None,
            statement: Some("DELETE FROM cart".to_string()),
        }];
        let database = DatabaseView {
            path: "/srv/app.db".to_string(),
            journal: "wal",
            hot_journal: false,
            database_bytes: 1_200_000,
            log_bytes: 4_100_000,
            backlog_frames: 1_000,
            oldest_reader: None,
            processes: vec![row(4711, "python3", 870_000_000), Row { threads, ..row(4712, "node", 20_000_000) }],
            strip: vec![Some(4711), None, Some(4712)],
        };
        let words = Words { title: "python3 (4711) waits.".into(), evidence: String::new(), change: "Commit.".into() };
        let databases = [database];
        let (findings, depth) = (&[words][..], Depth::Exact);
        let shown = Shown { databases: &databases, findings, seconds: 12, depth, missing: &[], colour: false };
        let mut terminal = Terminal::new(TestBackend::new(columns, 24)).expect("a buffer");
        terminal.draw(|frame| draw(frame, &shown, choice)).expect("drawn");
        terminal.backend().to_string()
    }

    #[test]
    fn a_screen_of_80_by_24_shows_holder_statement_and_finding() {
        let text = drawn(&Choice::default());
        for part in ["A 4711 python3", "write 870 ms", "87 %", "UPDATE acc", "A.B", "! python3 (4711) waits.", "q quit"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn threads_are_below_their_process_and_a_wide_screen_has_the_longest_times() {
        let text = drawn(&Choice::default());
        let line = text.lines().find(|line| line.contains("  worker-3")).expect("a line of the thread");
        assert!(line.contains("write 41.0 ms") && line.contains("DELETE FR"), "{text}");
        assert!(!text.contains("longest"), "{text}");
        assert!(drawn_on(120, &Choice::default()).contains("longest  wait     statement"), "{text}");
        let mut choice = Choice::default();
        choice.key(KeyCode::Char('t'), 1);
        assert!(!drawn(&choice).contains("worker-3"));
    }

    #[test]
    fn cells_are_as_wide_as_a_time_with_its_unit() {
        let mut wide = row(4711, "python3", 1);
        wide.holds = Some(("checkpoint".to_string(), 12_500_000));
        assert_eq!(widest(&[&wide], true), "checkpoint 12.5 ms".len() as u16);
        assert_eq!(widest(&[], true), 16);
    }

    #[test]
    fn what_cannot_be_seen_has_no_figures() {
        let mut sums = row(1, "x", 1).sums;
        assert_eq!(sums.of_waits(), ["0 ns", "0 ns", "0", "0"]);
        sums.waits = None;
        assert_eq!(sums.of_waits(), ["-"; 4]);
    }

    #[test]
    fn a_screen_of_a_server_shows_who_waits_for_whom() {
        let shown = ShownServer {
            facts: "MariaDB 10.11: 3 clients".into(),
            tree: vec!["41 app idle in transaction".into(), "  42 app waits 2.00 s".into()],
            findings: vec![Words { title: "41 blocks.".into(), evidence: String::new(), change: "Commit.".into() }],
            missing: vec![],
            seconds: 3,
        };
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a buffer");
        terminal.draw(|frame| draw_server(frame, &shown, &Choice::default())).expect("drawn");
        let text = terminal.backend().to_string();
        for part in ["3 clients", "41 app idle", "  42 app waits", "! 41 blocks."] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn keys_filter_sort_pause_and_quit() {
        let mut choice = Choice::default();
        for key in "/node".chars() {
            choice.key(KeyCode::Char(key), 1);
        }
        let text = drawn(&choice);
        assert!(text.contains("4712 node") && !text.contains("4711 python3  "), "{text}");
        choice.key(KeyCode::Esc, 1);
        assert!(!choice.quit, "Esc ended the filter");
        for key in [KeyCode::Char('/'), KeyCode::Char('x'), KeyCode::Enter] {
            choice.key(key, 1);
        }
        assert!(drawn(&choice).contains("filter: x   / changes it, Esc clears it"));
        choice.key(KeyCode::Esc, 1);
        assert!(!choice.quit && choice.filter.is_empty(), "a filter that was kept, too");
        choice.key(KeyCode::Char('p'), 1);
        choice.key(KeyCode::Char('s'), 1);
        assert!(drawn(&choice).contains("PAUSED") && drawn(&choice).contains("by time waited"));
        choice.key(KeyCode::Char('q'), 1);
        assert!(choice.quit);
    }
}
