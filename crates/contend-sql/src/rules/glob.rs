//! GLOB patterns as regular expressions that both servers read alike.

/// The regular expression of a GLOB pattern, anchored; `None` for a class that is never closed.
pub(crate) fn regex(pattern: &str) -> Option<String> {
    let mut out = String::from("^");
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                let mut first = true;
                loop {
                    match rest.next()? {
                        ']' if !first => break,
                        '-' if first || rest.peek() == Some(&']') => out.push_str("\\-"),
                        '-' => out.push('-'),
                        c => push_literal(&mut out, c),
                    }
                    first = false;
                }
                out.push(']');
            }
            c => push_literal(&mut out, c),
        }
    }
    // MariaDB's `$` also matches before a final line feed.
    out.push_str(if pattern.ends_with('*') { "$" } else { "(?!.)$" });
    Some(out)
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::regex;

    #[test]
    fn patterns_become_regular_expressions() {
        assert_eq!(regex("a*b?").as_deref(), Some("^a.*b.(?!.)$"));
        assert_eq!(regex("[^a-c]x.y*").as_deref(), Some("^[^a-c]x\\.y.*$"));
        assert_eq!(regex("[]]").as_deref(), Some("^[\\]](?!.)$"));
        assert_eq!(regex("[a"), None);
    }
}
