//! Sections, texts and tables.

use super::markup::{colour, escaped, for_condition, prose};
use super::{lanes, lines, tracks};
use crate::report::document::{Block, Cell, Head, Id, Row, Said, Section, Table, Tone};

/// Position of a section on the page.
#[derive(Debug, Clone, Copy)]
pub struct SectionPlace<'p> {
    /// Prefix of its anchor.
    pub prefix: &'p str,
    /// Level of its heading.
    pub level: usize,
    /// Whether there are comparisons to link to.
    pub compared: bool,
}

/// A section of a page that has no parts.
pub const PAGE: SectionPlace<'_> = SectionPlace { prefix: "", level: 2, compared: false };

pub fn section(section: &Section, place: SectionPlace<'_>) -> String {
    let SectionPlace { prefix, level, .. } = place;
    let title = format!("<h{level}>{}</h{level}>", escaped(&section.title));
    let content = blocks(&section.blocks, section.id, SectionPlace { level: level + 1, ..place });
    format!("<section id=\"{prefix}{0}\" class=\"of-{0}\">\n{title}\n{content}</section>\n", section.id.anchor())
}

/// The blocks of a section; adjacent charts share a grid.
pub fn blocks(blocks: &[Block], id: Id, place: SectionPlace<'_>) -> String {
    let mut out = String::new();
    let mut rest = blocks;
    while let Some(first) = rest.first() {
        let charts = rest.iter().take_while(|b| is_chart(b)).count();
        if charts > 0 {
            let small = if matches!(first, Block::Lines(l) if l.small) { " small" } else { "" };
            out += &format!("<div class=\"charts{small}\">\n");
            rest[..charts].iter().for_each(|b| out += &chart(b));
            out += "</div>\n";
        } else {
            out += &block(first, rest.get(1), id, place);
        }
        rest = &rest[charts.max(1)..];
    }
    out
}

fn is_chart(block: &Block) -> bool {
    matches!(block, Block::Bars(_) | Block::Lines(_) | Block::Stack(_))
}

fn chart(block: &Block) -> String {
    match block {
        Block::Bars(bars) => tracks::bars(bars),
        Block::Stack(stack) => tracks::stack(stack),
        Block::Lines(chart) => lines::lines(chart),
        _ => String::new(),
    }
}

fn block(block: &Block, next: Option<&Block>, id: Id, place: SectionPlace<'_>) -> String {
    let level = place.level;
    match block {
        Block::Answer { ask, said } => answer(ask, said, place),
        Block::Heading(text) => {
            // A heading belongs to the condition of the block below it.
            let condition = if let Some(Block::Table(table)) = next { table.condition } else { None };
            format!("<h{level}{}>{}</h{level}>\n", for_condition(condition), escaped(text))
        }
        Block::Text(text) => format!("<p>{}</p>\n", prose(text)),
        Block::Notes(all) => notes(all),
        Block::Note(text) => format!("<p class=\"note\">{}</p>\n", prose(text)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Folded(title, items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect();
            format!("<details class=\"fold\">\n<summary>{}</summary>\n<ul>\n{items}</ul>\n</details>\n", escaped(title))
        }
        Block::Table(table) => table_of(table, id),
        Block::Lanes(lanes) => lanes::lanes(lanes),
        Block::Bars(_) | Block::Lines(_) | Block::Stack(_) => String::new(),
    }
}

/// Notes on a whole run.
pub fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("<p class=\"warning\"><b>Note</b> {}</p>\n", prose(note))).collect()
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Muted => "muted",
    }
}

/// A question with its answers, and a link to the comparisons behind them.
fn answer(ask: &str, all: &[Said], place: SectionPlace<'_>) -> String {
    let ask = if ask.is_empty() { String::new() } else { format!("<p class=\"ask\">{}</p>\n", prose(ask)) };
    let said = |Said { condition, text, tone: of }: &Said| {
        let condition =
            condition.as_ref().map_or(String::new(), |c| format!("<span class=\"condition\">{}</span> ", escaped(c)));
        format!("<p class=\"said {}\">{condition}{}</p>\n", tone(*of), prose(text))
    };
    let said: String = all.iter().map(said).collect();
    let evidence = match place.compared {
        true => {
            format!(
                "<a class=\"evidence\" href=\"#{}{}\">the figures behind this</a>\n",
                place.prefix,
                Id::Comparisons.anchor()
            )
        }
        false => String::new(),
    };
    format!("<div class=\"answer\">\n{ask}{said}{evidence}</div>\n")
}

fn table_of(table: &Table, id: Id) -> String {
    let head: String = table.head.iter().map(head).collect();
    let rows: String = table.rows.iter().map(|r| row(r, &table.head)).collect();
    // On a phone the rows of the first screen's table become cards.
    let cards = if id == Id::Answer { " cards" } else { "" };
    format!(
        "<div class=\"scroll{cards}\"{} tabindex=\"0\" role=\"region\" aria-label=\"Table\">\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\
         </tbody>\n</table>\n</div>\n",
        for_condition(table.condition)
    )
}

fn head(head: &Head) -> String {
    let right = if head.right { " class=\"right\"" } else { "" };
    format!("<th scope=\"col\"{right}>{}</th>", escaped(&head.title))
}

fn row(row: &Row, head: &[Head]) -> String {
    match row {
        Row::Group(name, meaning) => format!(
            "<tr class=\"group\"><th colspan=\"{}\" scope=\"colgroup\"><b>{}</b> <span>{}</span></th></tr>\n",
            head.len(),
            escaped(name),
            escaped(meaning)
        ),
        Row::Cells(cells) => {
            let cells: String =
                cells.iter().zip(head).enumerate().map(|(i, (cell, head))| cell_of(i, cell, head)).collect();
            format!("<tr>{cells}</tr>\n")
        }
    }
}

fn cell_of(index: usize, cell: &Cell, head: &Head) -> String {
    let right = if head.right { " right" } else { "" };
    let swatch = cell.series.map_or(String::new(), |s| format!("<i class=\"swatch {}\"></i>", colour(s)));
    let small = if cell.small.is_empty() { String::new() } else { format!(" <small>{}</small>", prose(&cell.small)) };
    let content = format!("{swatch}<span>{}</span>{small}", escaped(&cell.text));
    let class = format!("{}{right}", tone(cell.tone));
    match (index, cell.series) {
        (0, _) | (_, Some(_)) => format!("<th scope=\"row\" class=\"{class}\">{content}</th>"),
        _ => format!("<td class=\"{class}\" data-label=\"{}\">{content}</td>", escaped(&head.title)),
    }
}
