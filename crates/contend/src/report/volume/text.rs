//! Parts for a terminal.

use super::{Chapter, Volume};
use crate::report::document::{Block, Id, Section};
use crate::report::text::{Style, head_of, render_block, render_section, wrapped};

/// The whole report.
pub fn volume(volume: &Volume, style: Style) -> String {
    let mut out = answers(volume, style);
    if let Some(beside) = &volume.beside {
        out += &render_section(beside, style);
    }
    volume.chapters.iter().for_each(|part| out += &chapter(part, style));
    out
}

/// Title, question, warnings and the answers of all parts.
pub fn answers(volume: &Volume, style: Style) -> String {
    let mut out = head_of(&volume.question, &volume.facts, &volume.warnings, style);
    for part in &volume.chapters {
        out += &render_block(&Block::Heading(part.title()), style);
        out += &wrapped(&part.about, ["", ""], style);
        part.answers().for_each(|block| out += &render_block(block, style));
    }
    out
}

fn chapter(part: &Chapter, style: Style) -> String {
    let rule = "#".repeat(style.width);
    let title = Section { id: Id::Other("part"), title: format!("Part {}", part.title()), blocks: vec![] };
    let mut out = format!("\n\n{rule}\n{}", render_section(&title, style));
    let document = &part.document;
    out += &head_of(&part.about, &document.facts, &document.warnings, style);
    document.sections.iter().for_each(|section| out += &render_section(section, style));
    out + "\n" + &wrapped(&format!("Files in {}/: {}.", part.name, part.files.join(", ")), ["", "  "], style)
}
