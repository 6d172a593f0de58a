//! Parts as Markdown: a heading for each, the sections of its document one level below.

use super::{Chapter, Volume};
use crate::report::markdown::{escaped, head, notes, render_block, render_section};

pub fn volume(volume: &Volume) -> String {
    let mut out = head("#", &volume.question, &volume.facts, &volume.warnings);
    out += "\n## The answers\n";
    for part in &volume.chapters {
        out += &format!("\n### {}\n\n*{}*\n", escaped(&part.title()), escaped(&part.about));
        part.answers().for_each(|block| out += &render_block(block, "####"));
    }
    if let Some(beside) = &volume.beside {
        out += &render_section(beside, "##");
    }
    volume.chapters.iter().for_each(|part| out += &chapter(part));
    out
}

fn chapter(part: &Chapter) -> String {
    let document = &part.document;
    let mut out = format!("\n## Part {}\n\n*{}*\n", escaped(&part.title()), escaped(&part.about));
    out += &format!("\n{}\n", escaped(&document.facts.join(" · ")));
    out += &notes(&document.warnings);
    document.sections.iter().for_each(|section| out += &render_section(section, "###"));
    let link = |file: &String| format!("[{}]({}/{file})", escaped(file), part.name);
    out + &format!("\nFiles: {}\n", part.files.iter().map(link).collect::<Vec<_>>().join(", "))
}
