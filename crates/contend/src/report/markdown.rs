//! The document as Markdown: tables as such, bars as a block of plain text.

use crate::report::document::{Block, Cell, Document, Row, Said, Section, Table};
use crate::report::text::{self, Colour};

pub fn markdown(document: &Document) -> String {
    let mut out = format!("# {}\n\n{}\n", escaped(&document.question), escaped(&document.facts.join(" · ")));
    for warning in &document.warnings {
        out += &format!("\n> **Note.** {}\n", escaped(warning));
    }
    document.sections.iter().for_each(|section| out += &render_section(section));
    out
}

fn render_section(section: &Section) -> String {
    let mut out = format!("\n## {}\n", escaped(&section.title));
    for block in &section.blocks {
        out += &match block {
            Block::Answer { ask, said } => answer(ask, said),
            Block::Heading(text) => format!("\n### {}\n", escaped(text)),
            Block::Text(text) => format!("\n{}\n", escaped(text)),
            Block::Note(text) => format!("\n*{}*\n", escaped(text)),
            Block::List(items) => {
                std::iter::once("\n".to_string()).chain(items.iter().map(|i| format!("- {}\n", escaped(i)))).collect()
            }
            Block::Table(table) => render_table(table),
            Block::Bars(_) | Block::Stack(_) => format!("\n{}", indented(&text::render_block(block, Colour::No))),
            Block::Lines(_) => String::new(),
        };
    }
    out
}

fn answer(ask: &str, said: &[Said]) -> String {
    let mut out = if ask.is_empty() { String::new() } else { format!("\n**{}**\n", escaped(ask)) };
    for Said { condition, text, .. } in said {
        let condition = condition.as_ref().map_or(String::new(), |c| format!("*{}:* ", escaped(c)));
        out += &format!("\n{condition}{}\n", escaped(text));
    }
    out
}

/// A block of code that nothing in it can end.
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

/// Text that Markdown takes for nothing else, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
