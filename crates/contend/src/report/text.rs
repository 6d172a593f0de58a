//! The document for a terminal: aligned tables of at most 100 columns, charts in ASCII.

use crate::report::document::{Bar, BarRow, Bars, Block, Cell, Document, Row, Said, Section, Stack, Table, Tone};
use crate::report::plot;
use crate::stats::plain::is_harmful;

/// Widest line.
pub const WIDTH: usize = 100;
/// Length of the longest bar.
const BAR: usize = 40;
const GAP: usize = 2;
/// Longest text with its remark in a cell; beyond it the remark becomes a numbered note below the table.
const LONGEST_REMARK: usize = 28;
/// Longer words are cut if there is no room.
const LONGEST_WORD: usize = 20;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    No,
    Ansi,
}

/// The whole document.
pub fn text(document: &Document, colour: Colour) -> String {
    let mut out = head(document, colour);
    document
        .sections
        .iter()
        .filter(|section| !section.is_drawn_only())
        .for_each(|section| out += &render_section(section, colour));
    out
}

/// Title, question, warnings.
pub fn head(document: &Document, colour: Colour) -> String {
    head_of(&document.question, &document.facts, &document.warnings, colour)
}

/// A title, facts and warnings.
pub fn head_of(title: &str, facts: &[String], warnings: &[String], colour: Colour) -> String {
    let mut out = format!("{}\n", paint(&ascii(title), BOLD, colour));
    out += &wrapped(&facts.join(" | "), "", "");
    for warning in warnings {
        out += &paint(&wrapped(warning, "! ", "  "), YELLOW, colour);
    }
    out
}

/// One section with its title.
pub fn render_section(section: &Section, colour: Colour) -> String {
    let title = ascii(&section.title);
    let rule = "=".repeat(width(&title));
    let mut out = format!("\n{}\n{rule}\n", paint(&title, BOLD, colour));
    section.blocks.iter().for_each(|block| out += &render_block(block, colour));
    out
}

/// One block, with an empty line before it.
pub fn render_block(block: &Block, colour: Colour) -> String {
    let body = match block {
        Block::Answer { ask, said } => answer(ask, said, colour),
        Block::Heading(text) => format!("{}\n", paint(&format!("{}:", ascii(text)), BOLD, colour)),
        Block::Text(text) => wrapped(text, "", ""),
        Block::Note(text) => wrapped(text, "  ", "  "),
        Block::List(items) => items.iter().map(|item| wrapped(item, "- ", "  ")).collect(),
        Block::Folded(title, items) => wrapped(&format!("{title}: {}.", items.join(", ")), "", ""),
        Block::Table(table) => render_table(table, colour),
        Block::Bars(bars) => render_bars(bars, colour),
        Block::Stack(stack) => render_stack(stack),
        Block::Lines(lines) if lines.in_text => {
            format!("{}\n{}", paint(&ascii(&lines.title), BOLD, colour), ascii_lines(&plot::plot(lines)))
        }
        // The table of the same numbers says more than a curve of characters.
        Block::Lines(_) | Block::Lanes(_) => return String::new(),
    };
    format!("\n{body}")
}

fn answer(ask: &str, said: &[Said], colour: Colour) -> String {
    let mut out = if ask.is_empty() { String::new() } else { wrapped(ask, "", "") };
    for Said { condition, text, tone } in said {
        let condition = condition.as_ref().map_or(String::new(), |c| format!("{c}: "));
        out += &paint(&wrapped(&format!("{condition}{text}"), "> ", "  "), tone_code(*tone), colour);
    }
    out
}

/// Bars, a scale of zero to the largest, `|---|` the interval.
fn render_bars(bars: &Bars, colour: Colour) -> String {
    let mut out = format!("{}\n", paint(&ascii(&bars.title), BOLD, colour));
    let label = bars.bars().map(|bar| width(&ascii(&bar.label))).max().unwrap_or(0).min(WIDTH - BAR - 24);
    for row in &bars.rows {
        match row {
            BarRow::Group(name, meaning) if meaning.is_empty() => out += &wrapped(name, "  ", "    "),
            BarRow::Group(name, meaning) => out += &wrapped(&format!("{name}: {meaning}"), "  ", "    "),
            BarRow::Bar(bar) => {
                let drawn = drawn(bar, bars.max());
                out += format!(
                    "    {}  {drawn}  {}",
                    padded(&clipped(&ascii(&bar.label), label), label, false),
                    ascii(&bar.shown)
                )
                .trim_end();
                out.push('\n');
            }
        }
    }
    out
}

fn drawn(bar: &Bar, max: f64) -> String {
    let at = |value: f64| if max > 0.0 { ((value / max * BAR as f64).round() as usize).min(BAR) } else { 0 };
    let mut line = vec![b' '; BAR + 1];
    if let Some(value) = bar.value {
        line[..at(value)].fill(if bar.faint { b'.' } else { b'#' });
    }
    if let (Some(low), Some(high)) = (bar.low, bar.high) {
        let (low, high) = (at(low), at(high));
        line[low..=high].fill(b'-');
        line[low] = b'|';
        line[high] = b'|';
    }
    String::from_utf8(line).expect("ASCII")
}

/// One letter per fiftieth of the whole.
fn render_stack(stack: &Stack) -> String {
    const CELLS: usize = 50;
    const LETTERS: [char; 6] = ['.', 'R', 'C', 'T', '?', 'N'];
    let key: Vec<String> = stack.legend.iter().zip(LETTERS).map(|(word, letter)| format!("{letter} {word}")).collect();
    let mut out = format!("{}  ({})\n", ascii(&stack.title), key.join(", "));
    let label = stack.rows.iter().map(|row| width(&ascii(&row.label))).max().unwrap_or(0).min(WIDTH - CELLS - 24);
    for row in &stack.rows {
        let mut line: String = String::new();
        // A part above 0 gets at least one letter.
        for (part, letter) in row.parts.iter().zip(LETTERS).skip(1).filter(|(part, _)| **part > 0.0) {
            line.extend(std::iter::repeat_n(letter, ((part * CELLS as f64).round() as usize).max(1)));
        }
        let rest = CELLS.saturating_sub(line.chars().count());
        let line: String = std::iter::repeat_n('.', rest).chain(line.chars()).take(CELLS).collect();
        out += &format!("    {}  {line}  {}\n", padded(&clipped(&ascii(&row.label), label), label, false), row.shown);
    }
    out
}

/// Remarks of a table that are too long for their cells, in the order of their numbers.
fn with_notes(table: &Table) -> (Table, Vec<String>) {
    let (mut table, mut notes) = (table.clone(), Vec::<String>::new());
    // In a table of one or two columns a remark has room.
    if table.head.len() < 3 {
        return (table, notes);
    }
    let heads = &table.head;
    for row in &mut table.rows {
        let Row::Cells(cells) = row else { continue };
        for (cell, head) in cells.iter_mut().zip(heads).skip(1) {
            if head.right || cell.small.is_empty() || width(&cell.text) + width(&cell.small) <= LONGEST_REMARK {
                continue;
            }
            let small = std::mem::take(&mut cell.small);
            let number = notes.iter().position(|note| *note == small).unwrap_or_else(|| {
                notes.push(small);
                notes.len() - 1
            });
            cell.text += &format!(" [{}]", number + 1);
        }
    }
    (table, notes)
}

/// A table within the width: wide columns of words are wrapped.
fn render_table(table: &Table, colour: Colour) -> String {
    let (table, notes) = with_notes(table);
    let table = &table;
    let titles: Vec<Cell> = table.head.iter().map(|head| Cell::new(&head.title)).collect();
    let body = || table.rows.iter().filter_map(|row| if let Row::Cells(cells) = row { Some(cells) } else { None });
    let widths = fitted(&std::iter::once(&titles).chain(body()).collect::<Vec<_>>(), table);
    let mut out = line_of(&titles, &widths, table, Colour::No);
    let total: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    out += &format!("{}\n", "-".repeat(total));
    for row in &table.rows {
        match row {
            Row::Group(name, meaning) if meaning.is_empty() => out += &wrapped(name, "", "  "),
            Row::Group(name, meaning) => out += &wrapped(&format!("{name}: {meaning}"), "", "  "),
            Row::Cells(cells) => out += &line_of(cells, &widths, table, colour),
        }
    }
    let numbered = |(index, note): (usize, &String)| wrapped(note, &format!("[{}] ", index + 1), "    ");
    out + &notes.iter().enumerate().map(numbered).collect::<String>()
}

/// The lines of a cell. In columns of numbers, text in brackets gets its own lines, so that numbers line up.
fn cell_lines(cell: &Cell, limit: usize, right: bool) -> Vec<String> {
    let text = ascii(&cell.text);
    if cell.small.is_empty() {
        return wrap(&text, limit);
    }
    let small = format!("({})", ascii(&cell.small));
    if !right {
        return wrap(&format!("{text} {small}"), limit);
    }
    [wrap(&text, limit), wrap(&small, limit)].concat()
}

/// Widths of columns that fit. Columns of words are wrapped first, then words among numbers, then intervals; numbers
/// never.
fn fitted(rows: &[&Vec<Cell>], table: &Table) -> Vec<usize> {
    let columns = table.head.len();
    let widest = |rows: &[&Vec<Cell>], column: usize, of: &dyn Fn(&Cell) -> usize| {
        rows.iter().filter_map(|row| row.get(column)).map(of).max().unwrap_or(0)
    };
    // The titles are the first row.
    let in_body = |column: usize, of: &dyn Fn(&Cell) -> usize| widest(&rows[1..], column, of);
    let word = |text: &str| ascii(text).split(' ').map(width).max().unwrap_or(0);
    let full = |c: usize| {
        let right = table.head[c].right;
        widest(rows, c, &|cell| cell_lines(cell, usize::MAX, right).iter().map(|line| width(line)).max().unwrap_or(0))
    };
    let least = |c: usize| {
        let words = widest(rows, c, &|cell| word(&cell.text).max(word(&cell.small) + 2));
        let is_number = |cell: &Cell| cell.text.starts_with(|c: char| c.is_ascii_digit());
        let numbers = in_body(c, &|cell| if is_number(cell) { width(&cell.text) } else { 0 });
        if table.head[c].right { words.max(numbers) } else { words.clamp(1, LONGEST_WORD) }
    };
    let least: Vec<usize> = (0..columns).map(least).collect();
    let short_remark = |cell: &Cell| Some(width(&cell.small) + 2).filter(|w| *w <= LONGEST_REMARK).unwrap_or(0);
    let keeping = |of: &dyn Fn(&Cell) -> usize| -> Vec<usize> {
        (0..columns).map(|c| if table.head[c].right { least[c].max(in_body(c, of)) } else { least[c] }).collect()
    };
    let mut widths: Vec<usize> = (0..columns).map(full).collect();
    shrink(&mut widths, &keeping(&|cell| width(&cell.text).max(short_remark(cell))));
    shrink(&mut widths, &keeping(&short_remark));
    shrink(&mut widths, &least);
    widths
}

/// Narrows the widest column that is above its minimum until the line fits or all are at their minimum.
fn shrink(widths: &mut [usize], least: &[usize]) {
    let room = WIDTH.saturating_sub(GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let may_give = (0..widths.len()).filter(|&c| widths[c] > least[c]);
        let Some(widest) = may_give.max_by_key(|&c| widths[c]) else { break };
        widths[widest] -= 1;
    }
}

fn line_of(cells: &[Cell], widths: &[usize], table: &Table, colour: Colour) -> String {
    let lines = |(column, cell): (usize, &Cell)| cell_lines(cell, widths[column], table.head[column].right);
    let wrapped: Vec<Vec<String>> = cells.iter().enumerate().map(lines).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in 0..height {
        let mut text = String::new();
        for (column, lines) in wrapped.iter().enumerate() {
            let part = lines.get(line).map_or("", String::as_str);
            let part = padded(part, widths[column], table.head[column].right);
            text += &paint(&part, tone_code(cells[column].tone), colour);
            text += &" ".repeat(GAP);
        }
        out += text.trim_end();
        out.push('\n');
    }
    out
}

/// Breaks at spaces; a word longer than the line is cut.
fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() && width(last) + 1 + width(word) > limit {
            lines.push(String::new());
        }
        let mut word: Vec<char> = word.chars().collect();
        while width(lines.last().expect("never empty")) == 0 && word.len() > limit {
            let rest = word.split_off(limit);
            lines.last_mut().expect("never empty").extend(word);
            lines.push(String::new());
            word = rest;
        }
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() {
            last.push(' ');
        }
        last.extend(word);
    }
    lines
}

pub fn wrapped(text: &str, first: &str, further: &str) -> String {
    let lines = wrap(&ascii(text), WIDTH - further.len().max(first.len()));
    let line = |(index, line): (usize, String)| format!("{}{line}\n", if index == 0 { first } else { further });
    lines.into_iter().enumerate().map(line).collect()
}

fn padded(text: &str, to: usize, right: bool) -> String {
    let fill = " ".repeat(to.saturating_sub(width(text)));
    if right { fill + text } else { text.to_string() + &fill }
}

fn clipped(text: &str, to: usize) -> String {
    if width(text) <= to { text.to_string() } else { text.chars().take(to.saturating_sub(1)).chain(['~']).collect() }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Replaces our own non-ASCII signs, and removes characters that control a terminal or the direction of text.
fn ascii(text: &str) -> String {
    let plain = |c: char| match c {
        'µ' => 'u',
        '†' => '+',
        c if c.is_control() || is_harmful(c) => ' ',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// As [`ascii`], line by line.
fn ascii_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", ascii(line).trim_end())).collect()
}

const BOLD: &str = "1";
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const DIM: &str = "2";

fn tone_code(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Better => GREEN,
        Tone::Worse => RED,
        Tone::Muted => DIM,
    }
}

fn paint(text: &str, code: &str, colour: Colour) -> String {
    if colour == Colour::No || code.is_empty() || text.trim().is_empty() {
        return text.to_string();
    }
    let body = text.trim_end_matches('\n');
    format!("\u{1b}[{code}m{body}\u{1b}[0m{}", &text[body.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_not_broken_for_the_sake_of_words() {
        let mut table = Table::new(&["contender", "A|", "B|", "size of the whole database|", "B / A|", "verdict"]);
        let number = |text: &str| Cell::new(text).small("12,100 to 14,700");
        let words = ["WAL/FULL with a very long name", "not comparable"].map(|text| Cell::new(text).small("see below"));
        let [first, last] = words;
        let ratio = Cell::new("1.04 x").small("1.02 to 1.06");
        table.row([first, number("13,400/s"), number("14,000/s"), number("13,000 B"), ratio, last]);
        let drawn = render_block(&Block::Table(table), Colour::No);
        assert!(drawn.lines().all(|line| line.chars().count() <= WIDTH), "{drawn}");
        assert_eq!(drawn.matches("(12,100 to 14,700)").count(), 3, "{drawn}");
        assert!(drawn.contains("(1.02 to 1.06)"), "{drawn}");
    }
}
