//! Text that somebody else wrote, for people to read: nothing in it may steer a terminal or turn the direction of text.
//! Every output goes through here: terminal, Markdown and pages.

use std::borrow::Cow;

/// Whether a character steers a terminal or turns the direction of text. Line ends and tabs are not among these.
pub fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\n' && c != '\t'
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
    fn nothing_steers_a_terminal_or_turns_text() {
        assert_eq!(harmless("\u{1b}[31mred\u{7}\r\u{9b}2J \u{202e}evil\u{2066}x\u{200f}"), "?[31mred???2J ?evil?x?");
        let kept = "Zeile\n\tµs † é 漢 🙂 a\u{301}";
        assert!(matches!(harmless(kept), Cow::Borrowed(text) if text == kept));
    }
}
