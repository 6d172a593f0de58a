//! A study with parts on one page: the answers of all parts first, then an article for each, its details folded.

use super::blocks::{self, SectionPlace};
use super::markup::escaped;
use super::{chooser, header, page};
use crate::report::document::{Id, Section};
use crate::report::volume::{AS_PUBLISHED, Chapter, Volume};

/// The page.
pub fn volume(volume: &Volume) -> String {
    let mut body = "<a class=\"skip\" href=\"#answer\">To the answers</a>\n".to_string();
    body += &header(&volume.question, &volume.facts, &volume.warnings);
    body += &navigation(volume);
    body += "<main>\n";
    body += &answers(volume);
    if let Some(beside) = &volume.beside {
        body += &blocks::section(beside, blocks::PAGE);
    }
    volume.chapters.iter().for_each(|part| body += &article(part));
    body += "</main>\n<footer>Made by contend from the record in this directory; the same record gives the same page. \
             The numbers are in <code>report.json</code> and in the CSV files of each part.</footer>\n";
    page(&volume.title, &body)
}

fn navigation(volume: &Volume) -> String {
    let link = |to: &str, text: &str| format!("<a href=\"#{to}\">{}</a>\n", escaped(text));
    let mut links = link(Id::Answer.anchor(), "The answers");
    links += &volume.beside.as_ref().map_or(String::new(), |beside| link(beside.id.anchor(), &beside.title));
    volume.chapters.iter().for_each(|part| links += &link(&anchor(part), &part.name));
    format!("<nav aria-label=\"Parts\">\n<div class=\"links\">\n{links}</div>\n</nav>\n")
}

fn anchor(part: &Chapter) -> String {
    escaped(&format!("part-{}", part.name))
}

fn mark(part: &Chapter) -> String {
    if part.as_published { format!(" <span class=\"original\">{AS_PUBLISHED}</span>") } else { String::new() }
}

/// The first screen.
fn answers(volume: &Volume) -> String {
    let answer = |part: &Chapter| {
        let said: Vec<_> = part.answers().cloned().collect();
        let prefix = format!("{}-", anchor(part));
        let place = SectionPlace { prefix: &prefix, level: 4, compared: part.document.has(Id::Comparisons) };
        format!(
            "<div class=\"part{}\">\n<h3><a href=\"#{}\">{}</a>{}</h3>\n<p class=\"about\">{}</p>\n{}</div>\n",
            if part.as_published { " published" } else { "" },
            anchor(part),
            escaped(&part.name),
            mark(part),
            escaped(&part.about),
            blocks::blocks(&said, Id::Answer, place)
        )
    };
    let all: String = volume.chapters.iter().map(answer).collect();
    format!("<section id=\"answer\" class=\"of-answer\">\n<h2>The answers</h2>\n{all}</section>\n")
}

fn article(part: &Chapter) -> String {
    let anchor = anchor(part);
    let prefix = format!("{anchor}-");
    let place = SectionPlace { prefix: &prefix, level: 3, compared: part.document.has(Id::Comparisons) };
    let document = &part.document;
    let facts: String = document.facts.iter().map(|fact| format!("<li>{}</li>", escaped(fact))).collect();
    let warnings = blocks::notes(&document.warnings);
    let sections: String = part.first_sections().map(|section| blocks::section(section, place)).collect();
    let details: String = part.details().map(|section| blocks::section(section, place)).collect();
    let titles: Vec<String> = part.details().map(|section| escaped(&section.title)).collect();
    format!(
        "<article id=\"{anchor}\" class=\"{}\" data-scope>\n<h2>{}{}</h2>\n<p class=\"about\">{}</p>\n\
         <ul class=\"facts\">{facts}</ul>\n{warnings}{}{}{sections}\
         <details>\n<summary>Details <span>{}</span></summary>\n{details}</details>\n</article>\n",
        if part.as_published { "published" } else { "fair" },
        escaped(&part.name),
        mark(part),
        escaped(&part.about),
        inside(part, &prefix),
        chooser(document),
        titles.join(", ")
    )
}

/// Links to the sections of a part, and to its files.
fn inside(part: &Chapter, prefix: &str) -> String {
    let link =
        |section: &Section| format!("<a href=\"#{prefix}{}\">{}</a>\n", section.id.anchor(), escaped(&section.title));
    let sections: String = part.document.sections.iter().map(link).collect();
    let file = |file: &String| format!("<a href=\"{0}/{1}\">{1}</a>\n", escaped(&part.name), escaped(file));
    let files: String = part.files.iter().map(file).collect();
    format!("<p class=\"inside\">{sections}</p>\n<p class=\"inside\">Files: {files}</p>\n")
}
