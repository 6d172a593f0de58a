//! The beginning of a statement's text.

/// The first word in upper case.
pub fn first_word(sql: &str) -> String {
    from_first_word(sql).chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
}

/// The text without what is before its first word.
pub fn from_first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '\u{feff}');
    loop {
        let next = if let Some(line) = rest.strip_prefix("--") {
            line.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(block) = rest.strip_prefix("/*") {
            block.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return rest;
        };
        rest = next.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    }
}
