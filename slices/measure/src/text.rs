//! Prints sizes on a terminal of 80 columns.

use crate::model::{Measured, Size, Table};
use contend_stats::precision::{Bytes, Ratio, count};
use std::fmt::Write;

/// Longest name of a table that fits next to the numbers.
const NAME_MAX: usize = 32;
const NOTE_COLUMN: usize = 30;
const WIDTH: usize = 80;

/// In place of a number that the server does not report.
const UNKNOWN: &str = "unknown";

/// The one unit of a column: that of its largest size.
#[derive(Clone, Copy)]
struct Column {
    unit: &'static str,
    bytes: f64,
}

impl Column {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

    fn of(sizes: impl Iterator<Item = Option<u64>>) -> Self {
        let largest = Bytes(sizes.flatten().max().unwrap_or(0)).to_string();
        let power = Self::UNITS.iter().position(|unit| largest.split(' ').next_back() == Some(unit)).unwrap_or(0);
        Self { unit: Self::UNITS[power], bytes: 1024_f64.powi(power as i32) }
    }

    fn shown(self, size: Option<u64>) -> String {
        let Some(size) = size else { return UNKNOWN.to_string() };
        let value = size as f64 / self.bytes;
        match Bytes(size).to_string() {
            text if text.ends_with(&format!(" {}", self.unit)) => text,
            _ if size == 0 => format!("0 {}", self.unit),
            _ if value < 0.005 => format!("<0.01 {}", self.unit),
            _ => format!("{value:.2} {}", self.unit),
        }
    }
}

/// All databases and processes. If several databases have tables, also a comparison.
pub fn text(all: &[Measured]) -> String {
    let mut parts: Vec<String> = all.iter().map(one).collect();
    let with_tables: Vec<&Measured> = all.iter().filter(|measured| !measured.tables.is_empty()).collect();
    if with_tables.len() > 1 {
        parts.push(side_by_side(&with_tables));
    }
    parts.join("\n")
}

fn one(measured: &Measured) -> String {
    let mut text = format!("{} ({})\n", measured.name, measured.what);
    let column = Column::of(measured.sizes.iter().map(|size| Some(size.bytes)));
    measured.sizes.iter().for_each(|size| text += &line(size, column));
    if measured.tables.is_empty() {
        return text;
    }
    let about = if measured.tables.iter().any(|table| table.estimated) { "about rows" } else { "rows" };
    let _ =
        writeln!(text, "\n  {:<NAME_MAX$} {about:>11} {:>10} {:>10} {:>10}", "table", "in rows", "in indexes", "a row");
    let of: [fn(&Table) -> Option<u64>; 2] = [|table| table.rows_bytes, |table| table.index_bytes];
    let columns = of.map(|of| Column::of(measured.tables.iter().map(of)));
    for table in &measured.tables {
        let [rows, indexes] = [0, 1].map(|at| columns[at].shown(of[at](table)));
        let a_row = table.rows.zip(table.bytes()).and_then(|(rows, bytes)| bytes.checked_div(rows));
        let a_row = a_row.map_or("-".to_string(), |bytes| format!("{} B", count(bytes)));
        let number = table.rows.map_or(UNKNOWN.to_string(), count);
        let name = shortened(&table.name);
        let _ = writeln!(text, "  {name:<NAME_MAX$} {number:>11} {rows:>10} {indexes:>10} {a_row:>10}");
    }
    text
}

/// The note continues on the next line if the line is full.
fn line(size: &Size, column: Column) -> String {
    let mut text = format!("  {:<16} {:>9}", size.name, column.shown(Some(size.bytes)));
    let mut column = text.len();
    for word in size.note.split_whitespace() {
        if column + 1 + word.len() > WIDTH {
            let _ = write!(text, "\n{:NOTE_COLUMN$}", "");
            column = NOTE_COLUMN;
        } else {
            let space = NOTE_COLUMN.saturating_sub(column).max(1);
            let _ = write!(text, "{:space$}", "");
            column += space;
        }
        text += word;
        column += word.len();
    }
    text + "\n"
}

/// The table of `other` with the name of this one of `first`. Names that differ in upper and lower case are the same only
/// if no other table of either database has such a name.
fn same<'t>(table: &Table, first: &[Table], other: &'t [Table]) -> Option<&'t Table> {
    let is_alike = |other: &&Table| other.name.eq_ignore_ascii_case(&table.name);
    let alike: Vec<&Table> = other.iter().filter(is_alike).collect();
    let exact = alike.iter().find(|other| other.name == table.name);
    let is_only = alike.len() == 1 && first.iter().filter(is_alike).count() == 1;
    exact.or(alike.first().filter(|_| is_only)).copied()
}

/// Each table in every database that has one of this name, with its size relative to the first.
fn side_by_side(all: &[&Measured]) -> String {
    let mut text = String::from("Side by side, rows and indexes together\n");
    all.iter().enumerate().for_each(|(number, measured)| {
        let _ = writeln!(text, "  [{}] {}", number + 1, measured.name);
    });
    let heads: String = (1..=all.len()).map(|number| format!(" {:>11} {:>7}", format!("[{number}]"), "")).collect();
    let _ = writeln!(text, "\n  {:<NAME_MAX$}{}", "table", heads.trim_end());
    let in_others = |table| all[1..].iter().map(|other| same(table, &all[0].tables, &other.tables)).collect::<Vec<_>>();
    let rows = all[0].tables.iter().map(|table| (table, in_others(table)));
    let rows: Vec<_> = rows.filter(|(_, others)| others.iter().any(Option::is_some)).collect();
    // The columns are compared with each other.
    let each = |(table, others): &(_, Vec<Option<_>>)| std::iter::once(Some(*table)).chain(others.clone());
    let column = Column::of(rows.iter().flat_map(each).map(|found: Option<&Table>| found.and_then(Table::bytes)));
    for row in &rows {
        let cells = each(row).enumerate().map(|(number, found)| cell(number, found, row.0, column));
        let cells: String = cells.collect();
        let _ = writeln!(text, "  {:<NAME_MAX$}{}", shortened(&row.0.name), cells.trim_end());
    }
    text
}

fn cell(number: usize, found: Option<&Table>, first: &Table, column: Column) -> String {
    let Some(found) = found else { return format!(" {:>11} {:>7}", "-", "") };
    let ratio = match (number, found.bytes(), first.bytes()) {
        (1.., Some(found), Some(first @ 1..)) => Ratio(found as f64 / first as f64).to_string(),
        _ => String::new(),
    };
    format!(" {:>11} {ratio:>7}", column.shown(found.bytes()))
}

fn shortened(name: &str) -> String {
    match name.chars().count() > NAME_MAX {
        // Names often share a prefix, such as a schema, so their end is kept.
        true => "...".chars().chain(name.chars().skip(name.chars().count() + 3 - NAME_MAX)).collect(),
        false => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(name: &str, rows_bytes: u64) -> Measured {
        let table = |name: &str, bytes: u64| Table {
            name: name.to_string(),
            rows: Some(100),
            rows_bytes: Some(bytes),
            index_bytes: Some(0),
            ..Table::default()
        };
        Measured {
            name: name.to_string(),
            what: "a product".to_string(),
            sizes: vec![Size::new("database", rows_bytes, "of words ".repeat(20))],
            tables: vec![table(&"long".repeat(20), rows_bytes), table("post", 10)],
        }
    }

    fn tables(given: &[(&str, u64)]) -> Measured {
        let table = |(name, bytes): &(&str, u64)| Table {
            name: (*name).to_string(),
            rows_bytes: Some(*bytes),
            index_bytes: Some(0),
            ..Table::default()
        };
        Measured { tables: given.iter().map(table).collect(), ..database("one", 1) }
    }

    #[test]
    fn tables_are_compared_with_those_of_the_same_name() {
        let compared = |first: &[(&str, u64)], other: &[(&str, u64)]| -> Vec<String> {
            let (first, other) = (tables(first), tables(other));
            let text = side_by_side(&[&first, &other]);
            text.lines().skip(5).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let two = [("Post", 200), ("post", 10)];
        assert_eq!(compared(&two, &two), ["Post 200 B 200 B 1.00 x", "post 10 B 10 B 1.00 x"]);
        assert_eq!(compared(&two, &[("post", 20)]), ["post 10 B 20 B 2.00 x"]);
        assert_eq!(compared(&[("POST", 10)], &two), [""; 0], "it is one of two");
        assert_eq!(compared(&[("POST", 10)], &two[1..]), ["POST 10 B 10 B 1.00 x"]);
        assert_eq!(compared(&[("post", 0)], &two[1..]), ["post 0 B 10 B"], "no ratio to nothing");
    }

    #[test]
    fn a_column_has_one_unit() {
        let column = Column::of([Some(4_370_000), None, Some(65_536), Some(4096), Some(0)].into_iter());
        let shown = [Some(4_370_000), None, Some(65_536), Some(4096), Some(0)].map(|size| column.shown(size));
        assert_eq!(shown, ["4.17 MiB", "unknown", "0.06 MiB", "<0.01 MiB", "0 MiB"]);
        let text = one(&tables(&[("post", 9_000_000), ("tag", 65_536), ("small", 10)]));
        let is_in_one = ["8.58 MiB", "0.06 MiB", "<0.01 MiB"].iter().all(|size| text.contains(size));
        assert!(is_in_one && !text.contains("KiB"), "{text}");
        let compared = side_by_side(&[&tables(&[("post", 9_000_000)]), &tables(&[("post", 65_536)])]);
        assert!(compared.contains("0.06 MiB"), "{compared}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal_and_tables_are_compared() {
        let text = text(&[database("one", 20_000_000), database("two", 10_000_000)]);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.contains("0.500 x") && text.contains("longlong") && text.contains("post"), "{text}");
    }
}
