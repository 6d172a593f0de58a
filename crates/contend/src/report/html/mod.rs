//! The document as one HTML file that opens offline: style, script and drawings are inside, and a policy forbids the
//! browser to fetch anything.

mod blocks;
mod lanes;
mod lines;
mod markup;
mod tracks;
mod volume;

pub use volume::volume;

use crate::report::document::{Document, Id};
use markup::escaped;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The page.
pub fn html(document: &Document) -> String {
    let mut body = "<a class=\"skip\" href=\"#answer\">To the answer</a>\n".to_string();
    body += &header(&document.question, &document.facts, &document.warnings);
    body += &navigation(document);
    body += "<main>\n";
    let place = blocks::SectionPlace { compared: document.has(Id::Comparisons), ..blocks::PAGE };
    document.sections.iter().for_each(|section| body += &blocks::section(section, place));
    body += &format!("</main>\n<footer>{}</footer>\n", escaped(&document.origin));
    page(&document.title, &body)
}

/// The page around its content.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(title)
    )
}

fn header(question: &str, facts: &[String], warnings: &[String]) -> String {
    let facts: String = facts.iter().map(|fact| format!("<li>{}</li>", escaped(fact))).collect();
    let warnings = blocks::notes(warnings);
    format!(
        "<header>\n<p class=\"mark\">contend</p>\n<h1>{}</h1>\n<ul class=\"facts\">{facts}</ul>\n{warnings}</header>\n",
        escaped(question)
    )
}

fn navigation(document: &Document) -> String {
    let link =
        |s: &crate::report::document::Section| format!("<a href=\"#{}\">{}</a>\n", s.id.anchor(), escaped(&s.title));
    let links: String = document.sections.iter().map(link).collect();
    format!("<nav aria-label=\"Sections\">\n<div class=\"links\">\n{links}</div>\n{}</nav>\n", chooser(document))
}

/// Control for choosing the condition; without the script all are shown.
fn chooser(document: &Document) -> String {
    if document.conditions.is_empty() {
        return String::new();
    }
    let option = |(index, label): (usize, &String)| format!("<option value=\"{index}\">{}</option>", escaped(label));
    let options: String = document.conditions.iter().enumerate().map(option).collect();
    format!(
        "<label class=\"chooser\" hidden>Show <select><option value=\"\">all conditions</option>{options}</select></label>\n"
    )
}
