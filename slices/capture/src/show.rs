//! `contend capture show`: the summary as a document, for the terminal and as a page.

use crate::finding::time;
use crate::loops::Turns;
use crate::manifest::Values;
use crate::summary::{Key, Kind, Sort, Summary};
use contend::report::document::{Block, Cell, Document, Head, Id, Section, Table};
use contend_stats::precision::count as digits;

/// Most rows of a table; the JSON has all.
const MOST: usize = 12;
/// Longest statement in a table or list, in characters.
const SQL: usize = 300;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.into() } else { text.chars().take(most - 3).chain("...".chars()).collect() }
}

fn table(head: &[(&str, bool)], rows: Vec<Vec<String>>) -> Block {
    let head = head.iter().map(|(title, right)| Head { title: (*title).into(), right: *right }).collect();
    let mut table = Table { head, ..Table::default() };
    for row in rows {
        table.row(row.into_iter().map(Cell::new));
    }
    Block::Table(table)
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {one}s", digits(count)) }
}

/// What a table leaves out, with its verb: `1 rarer kind is`.
fn more(left: usize, one: &str) -> String {
    format!("{} {}", plural(left as u64, one), if left == 1 { "is" } else { "are" })
}

/// The document.
pub fn document(summary: &Summary, sort: Sort) -> Document {
    let values = match summary.values {
        Values::Hash => "values as keyed hashes",
        Values::Full => "ALL VALUES and copies of the data",
    };
    let values = if summary.server.is_some() && summary.values == Values::Full { "ALL VALUES" } else { values };
    let programs = match summary.server {
        Some(_) => plural(summary.processes as u64, "program"),
        None => plural(summary.processes as u64, "process").replace("processs", "processes"),
    };
    let facts = vec![
        time(summary.duration_ns),
        programs,
        plural(summary.calls as u64, "call"),
        plural(summary.lock_errors as u64, "lock error"),
        values.to_string(),
    ];
    let not_in_study = (!summary.not_in_study.is_empty()).then(|| Section {
        id: Id::Other("not-in-study"),
        title: "Servers that its study does not have".into(),
        blocks: vec![Block::List(summary.not_in_study.clone())],
    });
    Document {
        title: "Capture".into(),
        question: match &summary.server {
            Some(address) => format!("What the clients of {address} do"),
            None => format!("What `{}` does to its databases", summary.command.join(" ")),
        },
        facts,
        warnings: summary.missing.clone(),
        origin: "contend capture".into(),
        sections: [
            findings(summary),
            databases(summary),
            transactions(summary),
            statements(summary, sort),
            connections(summary),
            keys(summary),
            roles(summary),
        ]
        .into_iter()
        .chain(not_in_study)
        .collect(),
        ..Document::default()
    }
}

fn findings(summary: &Summary) -> Section {
    let mut blocks = vec![];
    for finding in &summary.findings {
        blocks.push(Block::Heading(finding.title.trim_end_matches('.').to_string()));
        let at = finding.transaction.map_or(String::new(), |number| format!("Seen in transaction {number}. "));
        blocks.push(Block::Text(format!("{} {at}{}", finding.evidence, finding.change)));
    }
    if blocks.is_empty() {
        blocks.push(Block::Text(match summary.server {
            Some(_) => "Locks of a server are not visible in its messages: none are looked for.".into(),
            None if summary.lock_errors > 0 => {
                format!(
                    "{} failed at a lock, for none of the causes that are looked for.",
                    plural(summary.lock_errors as u64, "call")
                )
            }
            None => "None: no call failed at a lock, and no program kept others waiting while no statement ran.".into(),
        }));
    }
    Section { id: Id::Other("findings"), title: "Findings".into(), blocks }
}

fn databases(summary: &Summary) -> Section {
    let rows = summary.databases.iter().flat_map(|database| {
        let made = if database.made_by_the_program { " (made by the program)" } else { "" };
        let mode =
            if database.journal_mode.is_empty() { String::new() } else { format!(", {}", database.journal_mode) };
        let name = format!("{}{made}{mode}", database.path);
        let rows = |rows: &Option<u64>| rows.map_or("unknown".into(), digits);
        let after = |table: &String, after: &Option<u64>| {
            if database.dropped.contains(table) { "dropped".into() } else { rows(after) }
        };
        let tables =
            database.tables.iter().map(|(table, before, end)| (table.clone(), rows(before), after(table, end)));
        std::iter::once(vec![name, String::new(), String::new()])
            .chain(tables.map(|(table, before, after)| vec![format!("  {table}"), before, after]))
            .collect::<Vec<_>>()
    });
    let head = [("database, table", false), ("rows before", true), ("after", true)];
    Section { id: Id::Other("databases"), title: "Databases".into(), blocks: vec![table(&head, rows.collect())] }
}

/// The most frequent kinds of transactions, and all in which findings were seen, with their places from 0.
fn listed(summary: &Summary) -> Vec<(usize, &Kind)> {
    let is_named = |at: usize| summary.findings.iter().any(|finding| finding.transaction == Some(at + 1));
    summary.transactions.iter().enumerate().filter(|(at, _)| *at < MOST || is_named(*at)).collect()
}

fn transactions(summary: &Summary) -> Section {
    let row = |(i, kind): &(usize, &Kind)| {
        vec![
            format!("{}", i + 1),
            digits(kind.count),
            percent(kind.share),
            kind.begin.to_string(),
            if kind.writes { "write" } else { "read" }.to_string(),
            time(kind.p50_ns),
            time(kind.p99_ns),
            digits(kind.retries),
            digits(kind.failed),
        ]
    };
    let head = [
        ("#", true),
        ("count", true),
        ("share", true),
        ("begin", false),
        ("does", false),
        ("p50", true),
        ("p99", true),
        ("retries", true),
        ("failed", true),
    ];
    let shown = listed(summary);
    let mut blocks = vec![
        table(&head, shown.iter().map(row).collect()),
        Block::Heading("Where the time of a transaction goes (means)".into()),
        where_time_goes(summary, &shown),
    ];
    for (i, kind) in &shown {
        blocks.push(Block::Heading(format!("Transaction {}", i + 1)));
        blocks.push(steps(summary, kind));
    }
    blocks.push(Block::Note(AS_WRITTEN.to_string()));
    let left = summary.transactions.len() - shown.len();
    if left > 0 {
        blocks.push(Block::Note(format!("{} in --json.", more(left, "rarer kind"))));
    }
    Section { id: Id::Other("transactions"), title: "Transactions".into(), blocks }
}

fn where_time_goes(summary: &Summary, shown: &[(usize, &Kind)]) -> Block {
    let is_server = summary.server.is_some();
    let mut head = vec![
        ("#", true),
        (if is_server { "in the server" } else { "in SQLite" }, true),
        ("in program", true),
        (if is_server { "after a write" } else { "with write lock" }, true),
        ("rolled back", true),
    ];
    // The messages of a server do not show its waits.
    if !is_server {
        head.insert(2, ("of it waiting", true));
    }
    let row = |(i, kind): &(usize, &Kind)| {
        let mut row = vec![
            format!("{}", i + 1),
            time(kind.in_sqlite_ns),
            time(kind.in_program_ns),
            time(kind.in_program_with_lock_ns),
            digits(kind.rolled_back),
        ];
        if !is_server {
            row.insert(2, time(kind.waited_ns));
        }
        row
    };
    table(&head, shown.iter().map(row).collect())
}

/// Most lines with statements of a transaction.
const STEPS: usize = 20;
/// Most statements that repeat as one.
const PERIOD: usize = 8;

/// How to find a statement in the source.
const AS_WRITTEN: &str = "Statements are as the program wrote them, on one line. `...` stands for values that were in the text: search the \
                          source for what is before it.";

/// A statement as the program wrote it, by its text.
fn written<'s>(summary: &'s Summary, text: &'s str) -> &'s str {
    summary.statements.iter().find(|statement| statement.text == text).map_or(text, |statement| &statement.written)
}

/// How many statements at the beginning of these repeat, and how many times: those that make the longest part.
fn repeated(statements: &[(String, u64)]) -> (usize, usize) {
    let times =
        |period: usize| statements.chunks_exact(period).take_while(|chunk| *chunk == &statements[..period]).count();
    let most = (1..=PERIOD.min(statements.len())).map(|period| (period, times(period)));
    let covered = |(period, times): &(usize, usize)| if *times > 1 { period * times } else { 1 };
    // Of equal ones the shortest.
    most.rev().max_by_key(covered).filter(|(_, times)| *times > 1).unwrap_or((1, 1))
}

/// The statements of a transaction.
fn steps(summary: &Summary, kind: &Kind) -> Block {
    if kind.statements.is_empty() {
        let refused = " The work of a refused BEGIN is unknown: the program may have tried it again.";
        let about = if kind.failed > 0 { refused } else { "" };
        return Block::Note(format!("No statement but those that begin and end it.{about}"));
    }
    let (mut lines, mut at): (Vec<String>, usize) = (vec![], 0);
    while at < kind.statements.len() && lines.len() < STEPS {
        let of = kind.loops.iter().find(|of| of.first == at);
        let (period, times) = of.map_or_else(|| repeated(&kind.statements[at..]), |of| (of.statements, 1));
        let all: Vec<String> = (at..at + period).map(|at| statement(summary, kind, (at, period, times))).collect();
        let rounds = match of {
            Some(Turns { mean, least, most, .. }) => format!("{least} to {most} times in turn ({mean} in the mean): "),
            None => of_times(times as u64),
        };
        lines.push(rounds + &all.join("; then "));
        at += period * times;
    }
    let left = kind.statements.len() - at;
    let tally = tally(&kind.statements, |text| cut(written(summary, text), SQL));
    if left > 0 && kind.loops.is_empty() && tally.len() < lines.len() {
        return Block::List(tally);
    }
    lines.extend((left > 0).then(|| format!("and {left} more")));
    Block::List(lines)
}

/// Each text of the statements of a transaction with its number: for those whose order has no short description.
fn tally(statements: &[(String, u64)], shown: impl Fn(&str) -> String) -> Vec<String> {
    let mut texts: Vec<(&str, u64)> = vec![];
    for (text, times) in statements {
        match texts.iter_mut().find(|(known, _)| known == text) {
            Some((_, all)) => *all += times,
            None => texts.push((text, *times)),
        }
    }
    let all: u64 = texts.iter().map(|(_, times)| times).sum();
    let head =
        format!("{} in {} executions, in no order that repeats:", plural(texts.len() as u64, "statement"), digits(all));
    std::iter::once(head).chain(texts.iter().map(|(text, times)| of_times(*times) + &shown(text))).collect()
}

fn of_times(times: u64) -> String {
    if times > 1 { format!("{} times: ", digits(times)) } else { String::new() }
}

/// A statement of a transaction, and how many times it is executed in a row: at this place, and at the places where it repeats.
fn statement(summary: &Summary, kind: &Kind, (at, period, times): (usize, usize, usize)) -> String {
    let (text, mean) = &kind.statements[at];
    let all = || kind.executions[at..].iter().step_by(period).take(times);
    let ends = all().map(|one| one[0]).min().zip(all().map(|one| one[1]).max()).filter(|(least, most)| least < most);
    let in_turn = kind.loops.iter().find(|of| (of.first..of.first + of.statements).contains(&at));
    let in_a_row = match (in_turn, ends) {
        (Some(of), _) => of_times((*mean as f64 / of.mean).round() as u64),
        (None, Some((least, most))) => format!("{least} to {most} times ({mean} in the mean): "),
        (None, None) => of_times(*mean),
    };
    in_a_row + &cut(written(summary, text), SQL)
}

fn statements(summary: &Summary, sort: Sort) -> Section {
    let row = |statement: &crate::summary::Statement| {
        vec![
            time(statement.total_ns),
            digits(statement.count),
            digits(statement.rows),
            digits(statement.changes),
            digits(statement.busy),
            digits(statement.failed),
            cut(&statement.written, 44),
        ]
    };
    let head = [
        ("time", true),
        ("calls", true),
        ("rows", true),
        ("changes", true),
        ("busy", true),
        ("failed", true),
        ("statement", false),
    ];
    let rows = summary.statements.iter().take(MOST * 2).map(row).collect();
    let mut blocks = vec![table(&head, rows)];
    let errors = summary.errors.iter().take(MOST).map(|(code, count)| format!("{code} {}", plural(*count, "time")));
    let errors = errors.collect::<Vec<_>>().join(", ");
    if !errors.is_empty() {
        let by = match &summary.server {
            Some(address) if address.starts_with("mysql:") => "number",
            Some(_) => "code (SQLSTATE)",
            None => "code",
        };
        blocks.push(Block::Text(format!("Errors by {by}: {errors}.")));
    }
    Section { id: Id::Other("statements"), title: format!("Statements by {}", sort.word()), blocks }
}

fn connections(summary: &Summary) -> Section {
    let items = summary.connections.iter().map(|setting| {
        let timeout = match setting.busy_timeout_ms {
            Some(ms) => format!("busy timeout {ms} ms"),
            None => "no busy timeout set".into(),
        };
        if let Some(error) = &setting.error {
            let connections = plural(setting.connections, "connection");
            return format!("{connections} of {} on {} could not be opened: {error}", setting.role, setting.database);
        }
        let product = match summary.server {
            Some(_) => setting.sqlite.clone(),
            None => format!("SQLite {}, {timeout}", setting.sqlite),
        };
        let connections = plural(setting.connections, "connection");
        let mut text = format!("{connections} of {} on {}: {product}", setting.role, setting.database);
        for more in setting.pragmas.iter().map(String::as_str).chain(setting.notes.iter().copied()) {
            text += &format!("; {}", cut(more, 100));
        }
        text
    });
    let mut blocks = vec![Block::List(items.take(MOST * 2).collect())];
    let left = summary.connections.len().saturating_sub(MOST * 2);
    if left > 0 {
        blocks.push(Block::Note(format!("{} in --json.", more(left, "rarer setting"))));
    }
    Section { id: Id::Other("connections"), title: "Connections and their settings".into(), blocks }
}

fn keys(summary: &Summary) -> Section {
    let row = |key: &Key| {
        vec![
            key.table.clone(),
            key.place.to_string(),
            digits(key.count),
            digits(key.distinct),
            percent(key.most),
            cut(written(summary, &key.statement), 34),
        ]
    };
    let head = [
        ("table", false),
        ("value", true),
        ("values", true),
        ("distinct", true),
        ("most frequent", true),
        ("statement", false),
    ];
    let blocks = vec![table(&head, summary.keys.iter().take(MOST).map(row).collect())];
    Section { id: Id::Other("keys"), title: "Values and how unequal they are".into(), blocks }
}

fn roles(summary: &Summary) -> Section {
    let row = |role: &crate::summary::Role| {
        vec![
            role.name.clone(),
            digits(role.processes),
            digits(role.threads),
            digits(role.transactions),
            digits(role.writes),
            format!("{:.1}", role.per_s),
        ]
    };
    let head = [
        ("program", false),
        ("processes", true),
        ("threads", true),
        ("transactions", true),
        ("writing", true),
        ("a second", true),
    ];
    let bursts = &summary.bursts;
    let text = format!(
        "Attempts at the same work count once in the table. With every attempt: {:.1} transactions a second, at most {} in one \
         second; the longest pause was {}.",
        bursts.transactions_per_s,
        digits(bursts.most_per_s),
        time(bursts.pause_ns)
    );
    let mut blocks = vec![table(&head, summary.roles.iter().map(row).collect()), Block::Text(text)];
    let of_one = summary.transactions.iter().enumerate().filter(|(_, kind)| kind.is_of_one_thread);
    let of_one: Vec<String> =
        of_one.map(|(at, kind)| format!("transaction {} ({})", at + 1, plural(kind.count, "time"))).collect();
    if !of_one.is_empty() {
        let of_one = of_one.join(", ");
        blocks.push(Block::Text(format!("Made by one thread only, though the program has others: {of_one}.")));
    }
    Section { id: Id::Other("roles"), title: "Roles and bursts".into(), blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[(&str, u64)]) -> Vec<(String, u64)> {
        texts.iter().map(|(text, times)| ((*text).to_string(), *times)).collect()
    }

    #[test]
    fn statements_that_repeat_in_turn_are_one_line() {
        let (event, seats) = (("INSERT INTO events", 1), ("INSERT INTO seats", 2000));
        assert_eq!(repeated(&all(&[event, seats].repeat(10))), (2, 10));
        assert_eq!(repeated(&all(&[[event, seats].repeat(3), vec![event]].concat())), (2, 3), "the longest part");
        assert_eq!(repeated(&all(&[event, event, seats])), (1, 2));
        assert_eq!(repeated(&all(&[event, seats, ("INSERT INTO events", 3), seats])), (1, 1), "other numbers");
        assert_eq!(repeated(&all(&[event])), (1, 1));
    }

    #[test]
    fn statements_in_no_order_are_counted() {
        let lines = tally(&all(&[("SELECT a", 1), ("UPDATE b", 3), ("UPDATE c", 1), ("UPDATE b", 2)]), str::to_string);
        let head = "3 statements in 7 executions, in no order that repeats:";
        assert_eq!(lines, [head, "SELECT a", "5 times: UPDATE b", "UPDATE c"]);
    }
}
