//! Parts for a terminal.

use super::{Chapter, Volume};
use crate::report::document::{Block, Id, Section};
use crate::report::text::{Colour, head_of, render_block, render_section, wrapped};

/// The whole report.
pub fn volume(volume: &Volume, colour: Colour) -> String {
    let mut out = answers(volume, colour);
    if let Some(beside) = &volume.beside {
        out += &render_section(beside, colour);
    }
    volume.chapters.iter().for_each(|part| out += &chapter(part, colour));
    out
}

/// Title, question, warnings and the answers of all parts.
pub fn answers(volume: &Volume, colour: Colour) -> String {
    let mut out = head_of(&volume.question, &volume.facts, &volume.warnings, colour);
    for part in &volume.chapters {
        out += &render_block(&Block::Heading(part.title()), colour);
        out += &wrapped(&part.about, "", "");
        part.answers().for_each(|block| out += &render_block(block, colour));
    }
    out
}

fn chapter(part: &Chapter, colour: Colour) -> String {
    let rule = "#".repeat(crate::report::text::WIDTH);
    let title = Section { id: Id::Other("part"), title: format!("Part {}", part.title()), blocks: vec![] };
    let mut out = format!("\n\n{rule}\n{}", render_section(&title, colour));
    let document = &part.document;
    out += &head_of(&part.about, &document.facts, &document.warnings, colour);
    document.sections.iter().for_each(|section| out += &render_section(section, colour));
    out + "\n" + &wrapped(&format!("Files in {}/: {}.", part.name, part.files.join(", ")), "", "  ")
}
