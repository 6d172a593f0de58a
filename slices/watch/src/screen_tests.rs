//! The screen, drawn into a buffer.

use super::*;
use crate::view::{Held, Totals, Waits};
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
        holds: Some((Held::Write, held)),
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
    drawn_of(columns, choice, ["python3", "node"], "/srv/app.db")
}

fn drawn_of(columns: u16, choice: &Choice, [first, second]: [&str; 2], path: &str) -> String {
    let threads = vec![ThreadRow {
        tid: 4719,
        name: Some("worker-3".to_string()),
        holds: Some((Held::Write, 41_000_000)),
        waits_ns: None,
        statement: Some("DELETE FROM cart".to_string()),
    }];
    let processes = vec![row(4711, first, 870_000_000), Row { threads, ..row(4712, second, 20_000_000) }];
    let database = DatabaseView::example(path, processes, vec![Some(4711), None, Some(4712)]);
    on_screen(columns, choice, database, &[finding(4711, 1)], false).to_string()
}

/// A finding with this number of sentences as its evidence.
fn finding(pid: u32, sentences: usize) -> Words {
    let sentence =
        |n| format!("It held the lock for {n} s after \"INSERT INTO account (owner, balance) VALUES (?, ?)\".");
    let evidence: Vec<String> = (1..=sentences).map(sentence).collect();
    Words { title: format!("python3 ({pid}) waits."), evidence: evidence.join(" "), change: format!("Commit {pid}.") }
}

fn on_screen(columns: u16, choice: &Choice, database: DatabaseView, findings: &[Words], colour: bool) -> TestBackend {
    let (databases, missing) = ([database], ["statements of sqlite3".to_string()]);
    let depth = Depth::WithStatements;
    let shown = Shown { databases: &databases, findings, seconds: 12, depth, missing: &missing, command: None, colour };
    let mut terminal = Terminal::new(TestBackend::new(columns, 24)).expect("a buffer");
    terminal.draw(|frame| draw(frame, &shown, choice)).expect("drawn");
    terminal.backend().clone()
}

/// A database with this number of processes, in which the first and the third held the lock.
fn with_processes(count: u32) -> DatabaseView {
    let strip = [4711, 4713].map(Some).into_iter().chain([None]).collect();
    DatabaseView::example("/srv/app.db", (0..count).map(|n| row(4711 + n, "python3", 1_000_000)).collect(), strip)
}

/// Lines of a screen of 80 by 24 with ten processes and these findings.
fn lines_with(findings: &[Words], keys: &[KeyCode]) -> Vec<String> {
    let mut choice = Choice::default();
    keys.iter().for_each(|key| choice.key(*key, 1));
    let text = on_screen(80, &choice, with_processes(10), findings, false).to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end().to_string()).collect()
}

#[test]
fn a_finding_is_shown_with_its_evidence_and_what_to_change() {
    let lines = lines_with(&[finding(4711, 1)], &[]);
    let at = lines.iter().position(|line| line == "! python3 (4711) waits.").expect("its title");
    assert_eq!(
        lines[at + 1..23],
        [
            "  It held the lock for 1 s after \"INSERT INTO account (owner, balance) VALUES",
            "  (?, ?)\".",
            "  Change: Commit 4711.",
            "Not seen: statements of sqlite3.",
        ]
    );
    assert!(lines[15].contains("4720 python3"), "the table has the other rows: {lines:#?}");
}

#[test]
fn evidence_that_is_too_long_is_cut_and_f_shows_all_of_it() {
    let long = [finding(4711, 10)];
    let lines = lines_with(&long, &[]);
    assert_eq!(lines[21..23], ["  ... (f: all of the evidence)", "  Change: Commit 4711."], "{lines:#?}");
    // The head of the table and five processes stay.
    assert!(lines[10].contains("4715 python3") && lines[11] == "! python3 (4711) waits.", "{lines:#?}");
    let text = lines_with(&long, &[KeyCode::Char('f')]).join("\n");
    assert!(text.contains("for 10 s") && !text.contains("all of the evidence"), "{text}");
    assert!(text.contains("Change: Commit 4711."), "{text}");
}

#[test]
fn of_several_findings_the_others_have_a_title_and_down_shows_the_next_in_full() {
    let three = [4711, 4712, 4713].map(|pid| finding(pid, 4));
    let is_in_full = |lines: &[String], pid: u32| lines.iter().any(|line| line.ends_with(&format!("Commit {pid}.")));
    for (keys, first) in [
        (&[][..], 4711),
        (&[KeyCode::Down], 4712),
        (&[KeyCode::Down, KeyCode::Down, KeyCode::Up], 4712),
        (&[KeyCode::Down; 4], 4712),
        (&[KeyCode::Up], 4711),
    ] {
        let lines = lines_with(&three, keys);
        for pid in [4711, 4712, 4713] {
            assert!(lines.contains(&format!("! python3 ({pid}) waits.")), "{lines:#?}");
            assert_eq!(is_in_full(&lines, pid), pid == first, "{pid} after {keys:?}: {lines:#?}");
        }
        let how = "3 findings. Down: the next one in full; f: without the table.".to_string();
        assert!(lines.contains(&how), "{lines:#?}");
    }
}

/// Without colour, letters stand for them.
#[test]
fn holders_in_the_strip_have_the_colours_of_their_processes() {
    for colour in [true, false] {
        let screen = on_screen(80, &Choice::default(), with_processes(3), &[], colour);
        let of = |column, line| {
            let cell = screen.buffer().cell((column, line)).expect("a cell");
            (cell.symbol().to_string(), cell.fg)
        };
        let expected = if colour { [COLOURS[0], COLOURS[2]] } else { [Color::Reset; 2] };
        let [first, third] = [("A".to_string(), expected[0]), ("C".to_string(), expected[1])];
        assert_eq!([of(0, 4), of(1, 4), of(2, 4)], [first.clone(), third.clone(), (".".to_string(), Color::Reset)]);
        assert_eq!([of(0, 6), of(0, 8)], [first, third], "the rows of both");
    }
}

#[test]
fn a_narrow_screen_has_the_longest_times_in_place_of_writes_and_statements() {
    let mut choice = Choice::default();
    choice.key(KeyCode::Char('l'), 1);
    let text = drawn(&choice);
    assert!(text.contains("refused held  longest  wait") && !text.contains("writes/s"), "{text}");
    let line = text.lines().find(|line| line.contains("4711 python3")).expect("its line");
    assert!(line.contains("3       87 %  870 ms   0 ns") && !line.contains("UPDATE"), "{text}");
    let line = text.lines().find(|line| line.contains("  worker-3")).expect("a line of the thread");
    assert!(line.contains("write 41.0 ms") && !line.contains("DELETE"), "{text}");
}

#[test]
fn findings_that_are_all_in_full_are_not_offered_one_by_one() {
    let shown = |sentences| lines_with(&[finding(1, sentences), finding(2, sentences)], &[]).join("\n");
    assert!(shown(1).contains("Change") && !shown(1).contains("Down:"), "{}", shown(1));
    assert!(shown(20).contains("2 findings. Down: the next one in full"), "{}", shown(20));
}

#[test]
fn a_screen_of_80_by_24_shows_holder_statement_and_finding() {
    let text = drawn(&Choice::default());
    for part in ["A 4711 python3", "write 870 ms", "87 %", "UPDATE acc", "A.B", "! python3 (4711) waits.", "q quit"] {
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
fn programs_with_long_names_can_be_told_apart_and_a_long_path_shows_its_end() {
    let programs = ["python3 import_customers.py", "python3 import_orders.py"];
    let path = format!("/srv/{}/app.db", "deep/".repeat(20));
    let text = drawn_of(80, &Choice::default(), programs, &path);
    for part in ["A 4711 imp~tomers.py", "B 4712 imp~orders.py", "deep//app.db", "UPDATE acc"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let text = drawn_of(140, &Choice::default(), programs, &path);
    assert!(text.contains("A 4711 python3 import_customers.py write") && text.contains("UPDATE account SET"), "{text}");
}

#[test]
fn the_help_fits_into_80_by_24() {
    let mut choice = Choice::default();
    choice.key(KeyCode::Char('?'), 1);
    let text = drawn(&choice);
    assert!(HELP.lines().all(|line| text.contains(line)), "{text}");
}

#[test]
fn cells_are_as_wide_as_a_time_with_its_unit() {
    let mut wide = row(4711, "python3", 1);
    wide.holds = Some((Held::Checkpoint, 12_500_000));
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
