//! Text that somebody else wrote, for people to read: nothing in it may steer a terminal or turn the direction of text.
//! Every output goes through here: terminal, Markdown and pages.

use std::borrow::Cow;

/// Whether a character steers a terminal or turns the direction of text. Line ends and tabs are not among these.
pub fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
}

/// Whether a character has no shape of its own, so that texts with and without it look the same: control and format
/// characters, fillers, and white space other than a blank.
pub fn is_invisible(c: char) -> bool {
    let white = c.is_whitespace() && c != ' ';
    let format = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{70f}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    let filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    white || format || filler || c.is_control()
}

/// The text with a question mark for each such character.
pub fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains(is_harmful) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(text.replace(is_harmful, "?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_without_a_shape_are_invisible() {
        for c in
            "\u{200b}\u{0}\u{1b}\n\t\u{7f}\u{85}\u{a0}\u{ad}\u{202e}\u{2066}\u{2060}\u{feff}\u{3164}\u{fe0f}\u{e0041}"
                .chars()
        {
            assert!(is_invisible(c), "{c:?}");
        }
        assert!(!"WAL/FULL, cache_size=-65536 µs † é 漢 한 🙂 a\u{301}".contains(is_invisible));
    }

    #[test]
    fn nothing_steers_a_terminal_or_turns_text() {
        assert_eq!(harmless("\u{1b}[31mred\u{7}\r\u{9b}2J \u{202e}evil\u{2066}x\u{200f}"), "?[31mred???2J ?evil?x?");
        let kept = "Zeile\n\tµs † é 漢 🙂 a\u{301}";
        assert!(matches!(harmless(kept), Cow::Borrowed(text) if text == kept));
    }
}
