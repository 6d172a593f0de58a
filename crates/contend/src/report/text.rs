//! The document for a terminal or a text file: aligned tables within a width, charts in ASCII.

use crate::report::document::{Bar, BarRow, Bars, Block, Cell, Document, Row, Said, Section, Stack, Table, Tone};
use crate::report::plot;
use crate::stats::harmless::is_harmful;

/// Widest line of a file, in characters.
pub const WIDTH: usize = 100;
/// A narrower terminal breaks lines itself.
const NARROWEST: usize = 60;
/// Room for what stands around a bar and its label.
const AROUND_BAR: usize = 24;
/// The part of it that is blank.
const BLANKS: usize = 9;
const GAP: usize = 2;
/// Longest text with its remark in a cell; beyond it the remark becomes a numbered note below the table.
const LONGEST_REMARK: usize = 28;
/// Longer words are cut if there is no room.
const LONGEST_WORD: usize = 20;

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour with ANSI's codes.
    pub is_coloured: bool,
    /// Widest line, in characters.
    pub width: usize,
}

impl Style {
    /// Of files and pipes.
    pub const FILE: Style = Style { is_coloured: false, width: WIDTH };

    /// Of a terminal with this number of columns.
    pub fn terminal(columns: usize, is_coloured: bool) -> Style {
        Style { is_coloured, width: columns.clamp(NARROWEST, WIDTH) }
    }

    /// Length of the longest bar.
    fn bar(self) -> usize {
        self.width * 2 / 5
    }
}

/// The whole document.
pub fn text(document: &Document, style: Style) -> String {
    let mut out = head(document, style);
    document
        .sections
        .iter()
        .filter(|section| !section.is_drawn_only())
        .for_each(|section| out += &render_section(section, style));
    out
}

/// Title, question, warnings.
pub fn head(document: &Document, style: Style) -> String {
    head_of(&document.question, &document.facts, &document.warnings, style)
}

/// A title, facts and warnings.
pub fn head_of(title: &str, facts: &[String], warnings: &[String], style: Style) -> String {
    let mut out = paint(&wrapped(title, ["", ""], style), BOLD, style);
    out += &wrapped(&facts.join(" | "), ["", ""], style);
    out + &notes(warnings, style)
}

fn notes(notes: &[String], style: Style) -> String {
    notes.iter().map(|note| paint(&wrapped(note, ["! ", "  "], style), YELLOW, style)).collect()
}

/// One section with its title.
pub fn render_section(section: &Section, style: Style) -> String {
    let rule = "=".repeat(width(&section.title).min(style.width));
    let mut out = format!("\n{}{rule}\n", paint(&wrapped(&section.title, ["", ""], style), BOLD, style));
    section.blocks.iter().for_each(|block| out += &render_block(block, style));
    out
}

/// One block, with an empty line before it.
pub fn render_block(block: &Block, style: Style) -> String {
    let body = match block {
        Block::Answer { ask, said } => answer(ask, said, style),
        Block::Heading(text) => {
            // A sentence has its end.
            let end = if text.ends_with(['.', '?', '!', ':']) { "" } else { ":" };
            paint(&wrapped(&format!("{text}{end}"), ["", "  "], style), BOLD, style)
        }
        Block::Text(text) => wrapped(text, ["", ""], style),
        Block::Notes(all) => notes(all, style),
        Block::Note(text) => wrapped(text, ["  ", "  "], style),
        Block::List(items) => items.iter().map(|item| wrapped(item, ["- ", "  "], style)).collect(),
        Block::Folded(title, items) => wrapped(&format!("{title}: {}.", items.join(", ")), ["", ""], style),
        Block::Table(table) => render_table(table, style),
        Block::Bars(bars) => render_bars(bars, style),
        Block::Stack(stack) => render_stack(stack, style),
        Block::Lines(lines) if lines.in_text => {
            let title = paint(&wrapped(&lines.title, ["", "  "], style), BOLD, style);
            title + &ascii_lines(&plot::plot(lines, style.width * 3 / 5))
        }
        // The table of the same numbers says more than a curve of characters.
        Block::Lines(_) | Block::Lanes(_) => return String::new(),
    };
    format!("\n{body}")
}

fn answer(ask: &str, said: &[Said], style: Style) -> String {
    let mut out = if ask.is_empty() { String::new() } else { wrapped(ask, ["", ""], style) };
    for Said { condition, text, tone } in said {
        let condition = condition.as_ref().map_or(String::new(), |c| format!("{c}: "));
        out += &paint(&wrapped(&format!("{condition}{text}"), ["> ", "  "], style), tone_code(*tone), style);
    }
    out
}

/// Columns for the labels of bars: what a bar, its blanks and the longest text behind it leave of a line.
fn label_room(left: usize, shown: usize) -> usize {
    left.saturating_sub(AROUND_BAR.max(BLANKS + shown)).max(1)
}

/// Bars, a scale of zero to the largest, `|---|` the interval.
fn render_bars(bars: &Bars, style: Style) -> String {
    let mut out = paint(&wrapped(&bars.title, ["", "  "], style), BOLD, style);
    let label = bars.bars().map(|bar| width(&ascii(&bar.label))).max().unwrap_or(0);
    let shown = bars.bars().map(|bar| width(&ascii(&bar.shown))).max().unwrap_or(0);
    let label = label.min(label_room(style.width - style.bar(), shown));
    for row in &bars.rows {
        match row {
            BarRow::Group(name, meaning) if meaning.is_empty() => out += &wrapped(name, ["  ", "    "], style),
            BarRow::Group(name, meaning) => out += &wrapped(&format!("{name}: {meaning}"), ["  ", "    "], style),
            BarRow::Bar(bar) => {
                let drawn = drawn(bar, bars.max(), style.bar());
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

/// A bar of which the largest value has this length.
fn drawn(bar: &Bar, max: f64, length: usize) -> String {
    let at = |value: f64| if max > 0.0 { ((value / max * length as f64).round() as usize).min(length) } else { 0 };
    let mut line = vec![b' '; length + 1];
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

/// One letter for each of equal shares of the whole: a fiftieth, in a file.
fn render_stack(stack: &Stack, style: Style) -> String {
    let cells = style.width / 2;
    const LETTERS: [char; 6] = ['.', 'R', 'C', 'T', '?', 'N'];
    let key: Vec<String> = stack.legend.iter().zip(LETTERS).map(|(word, letter)| format!("{letter} {word}")).collect();
    let mut out = wrapped(&format!("{}  ({})", stack.title, key.join(", ")), ["", "  "], style);
    let label = stack.rows.iter().map(|row| width(&ascii(&row.label))).max().unwrap_or(0);
    let shown = stack.rows.iter().map(|row| width(&row.shown)).max().unwrap_or(0);
    let label = label.min(label_room(style.width - cells, shown));
    for row in &stack.rows {
        // A part above 0 gets at least one letter, which the longest one gives.
        let length = |part: &f64| if *part > 0.0 { ((part * cells as f64).round() as usize).max(1) } else { 0 };
        let mut lengths: Vec<usize> = row.parts.iter().map(length).collect();
        if let Some(longest) = (0..lengths.len()).max_by_key(|part| lengths[*part]) {
            let others: usize = lengths.iter().sum::<usize>() - lengths[longest];
            lengths[longest] = cells.saturating_sub(others);
        }
        let parts = lengths.into_iter().zip(LETTERS);
        let line: String = parts.flat_map(|(length, letter)| std::iter::repeat_n(letter, length)).collect();
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
fn render_table(table: &Table, style: Style) -> String {
    let (table, notes) = with_notes(table);
    let table = &table;
    let titles: Vec<Cell> = table.head.iter().map(|head| Cell::new(&head.title)).collect();
    let body = || table.rows.iter().filter_map(|row| if let Row::Cells(cells) = row { Some(cells) } else { None });
    let Some(columns) = fitted(&std::iter::once(&titles).chain(body()).collect::<Vec<_>>(), table, style.width) else {
        return stacked(table, style) + &numbered(&notes, style);
    };
    let mut out = line_of(&titles, &columns, table, Style { is_coloured: false, ..style });
    out += &format!("{}\n", "-".repeat(columns.total()));
    for row in &table.rows {
        match row {
            Row::Group(name, meaning) => out += &group(name, meaning, style),
            Row::Cells(cells) => out += &line_of(cells, &columns, table, style),
        }
    }
    out + &numbered(&notes, style)
}

fn group(name: &str, meaning: &str, style: Style) -> String {
    let colon = if meaning.is_empty() { "" } else { ": " };
    wrapped(&format!("{name}{colon}{meaning}"), ["", "  "], style)
}

fn numbered(notes: &[String], style: Style) -> String {
    let note = |(index, note): (usize, &String)| wrapped(note, [&format!("[{}] ", index + 1), "    "], style);
    notes.iter().enumerate().map(note).collect()
}

/// A table with more columns than there is room for: its rows below each other.
fn stacked(table: &Table, style: Style) -> String {
    let mut out = String::new();
    for row in &table.rows {
        match row {
            Row::Group(name, meaning) => out += &group(name, meaning, style),
            Row::Cells(cells) => {
                for (at, (cell, head)) in cells.iter().zip(&table.head).enumerate() {
                    let text = cell_lines(cell, usize::MAX, head.right).join(" ");
                    let line = if at == 0 { text } else { format!("{}: {text}", head.title) };
                    let line = wrapped(&line, if at == 0 { ["- ", "  "] } else { ["  ", "    "] }, style);
                    out += &paint(&line, tone_code(cell.tone), style);
                }
            }
        }
    }
    out
}

/// Widths of columns, and the spaces between two.
struct Columns {
    widths: Vec<usize>,
    gap: usize,
}

impl Columns {
    fn total(&self) -> usize {
        self.widths.iter().sum::<usize>() + self.gap * self.widths.len().saturating_sub(1)
    }

    /// Narrows the widest column that is above its minimum until the line fits or all are at their minimum.
    fn shrink(&mut self, least: &[usize], room: usize) {
        while self.total() > room {
            let may_give = (0..self.widths.len()).filter(|&c| self.widths[c] > least[c]);
            let Some(widest) = may_give.max_by_key(|&c| self.widths[c]) else { break };
            self.widths[widest] -= 1;
        }
    }
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

/// Widths of columns that fit, or `None`. Columns of words are wrapped first, then words among numbers, then intervals;
/// numbers never.
fn fitted(rows: &[&Vec<Cell>], table: &Table, room: usize) -> Option<Columns> {
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
    let widths: Vec<usize> = (0..columns).map(full).collect();
    let gap = if least.iter().sum::<usize>() + GAP * columns.saturating_sub(1) > room { GAP / 2 } else { GAP };
    let mut columns = Columns { widths, gap };
    columns.shrink(&keeping(&|cell| width(&cell.text).max(short_remark(cell))), room);
    columns.shrink(&keeping(&short_remark), room);
    columns.shrink(&least, room);
    (columns.total() <= room).then_some(columns)
}

fn line_of(cells: &[Cell], columns: &Columns, table: &Table, style: Style) -> String {
    let widths = &columns.widths;
    let lines = |(column, cell): (usize, &Cell)| cell_lines(cell, widths[column], table.head[column].right);
    let wrapped: Vec<Vec<String>> = cells.iter().enumerate().map(lines).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in 0..height {
        let mut text = String::new();
        for (column, lines) in wrapped.iter().enumerate() {
            let part = lines.get(line).map_or("", String::as_str);
            let part = padded(part, widths[column], table.head[column].right);
            text += &paint(&part, tone_code(cells[column].tone), style);
            text += &" ".repeat(columns.gap);
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

/// A paragraph, with what stands before its first line and before the others.
pub fn wrapped(text: &str, [first, further]: [&str; 2], style: Style) -> String {
    let lines = wrap(&ascii(text), style.width.saturating_sub(width(further).max(width(first))));
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

fn paint(text: &str, code: &str, style: Style) -> String {
    if !style.is_coloured || code.is_empty() || text.trim().is_empty() {
        return text.to_string();
    }
    let body = text.trim_end_matches('\n');
    format!("\u{1b}[{code}m{body}\u{1b}[0m{}", &text[body.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_is_a_sentence_has_no_colon() {
        let heading = |text: &str| render_block(&Block::Heading(text.to_string()), Style::FILE);
        assert_eq!(heading("It is refused at once."), "\nIt is refused at once.\n");
        assert_eq!(heading("Who waited for whom"), "\nWho waited for whom:\n");
    }

    fn table() -> Table {
        let mut table = Table::new(&["contender", "A|", "B|", "size of the whole database|", "B / A|", "verdict"]);
        let number = |text: &str| Cell::new(text).small("12,100 to 14,700");
        let words = ["WAL/FULL with a very long name", "not comparable"].map(|text| Cell::new(text).small("see below"));
        let [first, last] = words;
        let ratio = Cell::new("1.04 x").small("1.02 to 1.06");
        table.row([first, number("13,400/s"), number("14,000/s"), number("13,000 B"), ratio, last]);
        table
    }

    fn lines_are_within(drawn: &str, width: usize) {
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
    }

    #[test]
    fn an_interval_is_not_broken_for_the_sake_of_words() {
        let drawn = render_block(&Block::Table(table()), Style::FILE);
        lines_are_within(&drawn, WIDTH);
        assert_eq!(drawn.matches("(12,100 to 14,700)").count(), 3, "{drawn}");
        assert!(drawn.contains("(1.02 to 1.06)"), "{drawn}");
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal_or_its_rows_stand_below_each_other() {
        for columns in [80, 70] {
            let drawn = render_block(&Block::Table(table()), Style::terminal(columns, false));
            lines_are_within(&drawn, columns);
            assert!(drawn.contains("13,400/s  ") || drawn.contains("13,400/s 14,000/s"), "{drawn}");
        }
        let mut wide = table();
        wide.head.extend(Table::new(&["unexpectedly|", "many|", "columns|"]).head);
        let Some(Row::Cells(cells)) = wide.rows.first_mut() else { panic!("a row") };
        cells.extend(["1,234,567/s", "1,234,567/s", "1,234,567/s"].map(Cell::new));
        let drawn = render_block(&Block::Table(wide), Style::terminal(20, false));
        lines_are_within(&drawn, NARROWEST);
        for line in
            ["- WAL/FULL with a very long name (see below)", "  B / A: 1.04 x (1.02 to 1.06)", "  many: 1,234,567/s"]
        {
            assert!(drawn.contains(&format!("{line}\n")), "{line}: {drawn}");
        }
    }

    #[test]
    fn what_stands_before_a_paragraph_may_be_wider_than_the_terminal() {
        let before = "\u{e9}".repeat(NARROWEST + 1);
        assert_eq!(wrapped("a", [&before, ""], Style::terminal(20, false)), format!("{before}a\n"));
    }

    #[test]
    fn a_wide_terminal_gets_lines_that_can_be_read() {
        assert_eq!(Style::terminal(300, true), Style { is_coloured: true, width: WIDTH });
    }
}
