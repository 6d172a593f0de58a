//! The document as Markdown, with bars as a block of plain text.

use crate::report::document::{Block, Cell, Document, Row, Said, Section, Table};
use crate::report::text::{self, Style};
use crate::stats::harmless::is_harmful;

pub fn markdown(document: &Document) -> String {
    let mut out = head("#", &document.question, &document.facts, &document.warnings);
    let shown = document.sections.iter().filter(|section| !section.is_drawn_only());
    shown.for_each(|section| out += &render_section(section, "##"));
    out
}

/// Title, facts and warnings; `level` is the mark of its heading.
pub fn head(level: &str, question: &str, facts: &[String], warnings: &[String]) -> String {
    format!("{level} {}\n\n{}\n", escaped(question), escaped(&facts.join(" · "))) + &notes(warnings)
}

/// A quotation for each note.
pub fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n> **Note.** {}\n", escaped(note))).collect()
}

/// A section whose heading has this mark.
pub fn render_section(section: &Section, level: &str) -> String {
    let mut out = format!("\n{level} {}\n", escaped(&section.title));
    section.blocks.iter().for_each(|block| out += &render_block(block, &format!("{level}#")));
    out
}

/// A block; `level` is the mark of headings.
pub fn render_block(block: &Block, level: &str) -> String {
    match block {
        Block::Answer { ask, said } => answer(ask, said),
        Block::Heading(text) => format!("\n{level} {}\n", escaped(text)),
        Block::Text(text) => format!("\n{}\n", escaped(text)),
        Block::Notes(all) => notes(all),
        Block::Note(text) => format!("\n*{}*\n", escaped(text)),
        Block::List(items) => {
            std::iter::once("\n".to_string()).chain(items.iter().map(|i| format!("- {}\n", escaped(i)))).collect()
        }
        Block::Folded(title, items) => format!("\n{}\n", escaped(&format!("{title}: {}.", items.join(", ")))),
        Block::Table(table) => render_table(table),
        Block::Bars(_) | Block::Stack(_) => format!("\n{}", indented(&text::render_block(block, Style::FILE))),
        Block::Lines(lines) if lines.in_text => format!("\n{}", indented(&text::render_block(block, Style::FILE))),
        Block::Lines(_) | Block::Lanes(_) => String::new(),
    }
}

fn answer(ask: &str, said: &[Said]) -> String {
    let mut out = if ask.is_empty() { String::new() } else { format!("\n**{}**\n", escaped(ask)) };
    for Said { condition, text, .. } in said {
        let condition = condition.as_ref().map_or(String::new(), |c| format!("*{}:* ", escaped(c)));
        out += &format!("\n{condition}{}\n", escaped(text));
    }
    out
}

/// An indented block of code, which no content can end.
fn indented(text: &str) -> String {
    text.lines().filter(|line| !line.is_empty()).map(|line| format!("    {line}\n")).collect()
}

fn render_table(table: &Table) -> String {
    let titles: Vec<String> = table.head.iter().map(|head| escaped(&head.title)).collect();
    let rule: Vec<&str> = table.head.iter().map(|head| if head.right { "---:" } else { "---" }).collect();
    let mut out = format!("\n| {} |\n| {} |\n", titles.join(" | "), rule.join(" | "));
    for row in &table.rows {
        let cells: Vec<String> = match row {
            Row::Cells(cells) => cells.iter().map(cell).collect(),
            Row::Group(name, meaning) => {
                let meaning = if meaning.is_empty() { String::new() } else { format!(": {}", escaped(meaning)) };
                let first = format!("**{}**{meaning}", escaped(name));
                std::iter::once(first).chain(table.head.iter().skip(1).map(|_| String::new())).collect()
            }
        };
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    if cell.small.is_empty() { text } else { format!("{text} ({})", escaped(&cell.small)) }
}

/// Escapes a text for Markdown, on one line.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => out.extend(['\\', c]),
            c if c.is_control() || is_harmful(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
