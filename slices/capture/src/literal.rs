//! Values and generators as text of a workload file.

use crate::trace::Value;

/// Most values that are listed one by one.
pub const CHOICES: usize = 20;

/// Longest line, if it can be broken.
const COLUMNS: usize = 120;

/// A TOML text whose long lines are broken between the values of lists. It has the same values.
pub fn wrapped(toml: &str) -> String {
    let line = |line: &str| if line.chars().count() > COLUMNS { broken(line) } else { line.to_string() };
    toml.lines().map(|of| line(of) + "\n").collect()
}

/// A line in pieces, the first one from the margin on.
fn broken(line: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for piece in pieces(line) {
        let length = piece.trim_end().chars().count();
        if column > 0 && column + length > COLUMNS {
            out.truncate(out.trim_end().len());
            out += "\n  ";
            column = 2;
        }
        out += piece;
        column += piece.chars().count();
    }
    out
}

/// A line, divided after each comma of a list. An inline table is one line, but for the lists in it.
fn pieces(line: &str) -> Vec<&str> {
    let (mut begin, mut depth, mut is_text, mut is_escaped) = (0, 0, false, false);
    let mut found = vec![];
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' => depth += 1,
            b']' => depth -= 1,
            // A table within the list is divided, too: its own commas may not be.
            b'{' if depth > 0 => return vec![line],
            b' ' if depth > 0 && line[..at].ends_with(',') => {
                found.push(&line[begin..=at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&line[begin..]);
    found
}

/// A TOML string.
pub fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A known value as TOML.
pub fn written(value: &Value) -> Option<String> {
    match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) if number.is_finite() => Some(format!("{number:?}")),
        Value::Text(bytes) => std::str::from_utf8(bytes).ok().filter(|text| text.len() <= 200).map(text),
        _ => None,
    }
}

/// A generator for values of known type, number and length.
pub fn free(kind: &str, distinct: u64, length: u64, null: &str) -> String {
    match kind {
        "integer" => format!("{{ range = [1, {}]{null} }}", distinct.max(1)),
        "real" => format!("{{ range = [0.0, {}.0]{null} }}", distinct.max(1)),
        "blob" => format!("{{ blob = {}{null} }}", length.clamp(1, 1 << 20)),
        _ if distinct <= CHOICES as u64 && distinct > 0 => {
            let values: Vec<String> = (1..=distinct).map(|i| text(&format!("value-{i}"))).collect();
            format!("{{ choice = [{}]{null} }}", values.join(", "))
        }
        _ if length <= 16 => format!("{{ format = \"{{hex:{}}}\"{null} }}", length.max(1)),
        _ => format!("{{ words = {{ median = {} }}{null} }}", (length / 6).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_in_short_lines_and_have_the_same_values() {
        let words: Vec<String> = (0..800).map(|i| text(&format!("a, \"word\" [{i}] \\"))).collect();
        let weights: Vec<String> = (0..800).map(|i| i.to_string()).collect();
        let long = format!(
            "[t.args]\na = {{ choice = [{}], weights = [{}], null = 0.5 }}\nb = {{ c = {{ cycle = [{}] }} }}\nsql = {}\n",
            words.join(", "),
            weights.join(", "),
            weights.join(", "),
            text(&"SELECT 'a, b', [c], ".repeat(20))
        );
        let short = wrapped(&long);
        assert_eq!(short.replace("\n  ", " "), long, "only line breaks between values");
        let too_long = |line: &&str| line.chars().count() > COLUMNS && !line.starts_with("sql = ");
        assert_eq!(short.lines().find(too_long), None);
        assert!(
            short.lines().count() < 800 && short.contains("\n  "),
            "several values a line: {}",
            short.lines().count()
        );
        let least = "a = [1, 2]\n";
        assert_eq!(wrapped(least), least);
    }
}
