//! GLOB patterns as regular expressions that both servers interpret alike.

/// The anchored regular expression of a GLOB pattern; `None` for an unterminated class, or a range that ends with
/// `-`, which PostgreSQL cannot express.
pub(crate) fn regex(pattern: &str) -> Option<String> {
    let mut out = String::from("^");
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                let negated = rest.next_if_eq(&'^').is_some();
                let mut class = String::new();
                // A range needs a character before it that is neither a leading `]` nor the end of another range.
                let mut before: Option<char> = None;
                if rest.next_if_eq(&']').is_some() {
                    push_literal(&mut class, ']');
                }
                loop {
                    match (rest.next()?, before) {
                        (']', _) => break,
                        ('-', Some(from)) if rest.peek() != Some(&']') => {
                            let to = rest.next()?;
                            if to == '-' {
                                return None;
                            }
                            // A descending range matches only its first character, and is an error on the servers.
                            if from <= to {
                                class.push('-');
                                push_literal(&mut class, to);
                            }
                            before = None;
                        }
                        (c, _) => {
                            push_literal(&mut class, c);
                            before = Some(c);
                        }
                    }
                }
                out.push_str(if negated { "[^" } else { "[" });
                out.push_str(&class);
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
        assert_eq!(regex("[z-ab]").as_deref(), Some("^[zb](?!.)$"));
        assert_eq!(regex("[%--]"), None);
        assert_eq!(regex("[-a-]"), Some("^[\\-a\\-](?!.)$".to_string()));
    }
}
