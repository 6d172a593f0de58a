//! Texts and attributes as HTML.

use crate::stats::harmless::is_harmful;

/// Number of colours for contenders; after them they repeat, dashed.
const COLOURS: usize = 8;

/// Below a chart: its values as a table, which the script writes when it is opened.
pub const DATA: &str = "<details class=\"data\"><summary>Data</summary></details>\n";

/// Escapes a text for HTML content and quoted attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' => out += "&#10;",
            c if c.is_control() || is_harmful(c) => out.push(' '),
            c => out.push(c),
        }
    }
    // A number and its sign stay on one line.
    out.replace(" %", "\u{a0}%")
}

/// A text with names in backticks shown as code. Backticks in labels and values stay.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut pieces = text.split('`');
    out += &with_options(pieces.next().unwrap_or_default());
    while let Some(inside) = pieces.next() {
        match pieces.next() {
            Some(after) => out += &format!("<code>{}</code>{}", escaped(inside), with_options(after)),
            None => out += &format!("`{}", escaped(inside)),
        }
    }
    out
}

/// A text whose options, such as `--window`, are not broken after their first hyphen.
fn with_options(text: &str) -> String {
    let word = |word: &str| match word.starts_with("--") {
        true => format!("<span class=\"option\">{word}</span>"),
        false => word.to_string(),
    };
    escaped(text).split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Attribute for elements of one condition.
pub fn for_condition(condition: Option<usize>) -> String {
    condition.map_or(String::new(), |c| format!(" data-condition=\"{c}\""))
}

/// Class of a contender's colour.
pub fn colour(series: usize) -> String {
    let again = if series >= COLOURS { " again" } else { "" };
    format!("s{}{again}", series % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_backticks_are_code_and_nothing_becomes_markup() {
        assert_eq!(prose("in `a<b` and `c`."), "in <code>a&lt;b</code> and <code>c</code>.");
        assert_eq!(prose("one ` alone & `x` "), "one <code> alone &amp; </code>x` ");
        assert_eq!(prose("none"), "none");
        assert_eq!(
            prose("a longer --<window>, 3 %"),
            "a longer <span class=\"option\">--&lt;window&gt;,</span> 3\u{a0}%"
        );
    }
}
