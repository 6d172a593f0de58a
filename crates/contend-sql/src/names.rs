//! Quoting of identifiers and texts: reads SQLite's four kinds of quotes, writes those of the servers.

use std::borrow::Cow;

/// Bytes of a long name that stay in front of its digest.
const SHORT_BYTES: usize = 30;

/// The name or text of a token: without its quotes, doubled quotes made single. A token that does not end with the
/// quote that it begins with is returned unchanged, as may happen in a type.
pub(crate) fn unquote(token: &str) -> Cow<'_, str> {
    let Some(close) = closing(token) else { return Cow::Borrowed(token) };
    let inner = &token[1..token.len() - 1];
    // A bracket cannot be doubled.
    if close != ']' && inner.contains(close) {
        let doubled: String = [close, close].iter().collect();
        return Cow::Owned(inner.replace(&doubled, &close.to_string()));
    }
    Cow::Borrowed(inner)
}

/// The closing quote of a token, if it is quoted.
fn closing(token: &str) -> Option<char> {
    let close = match token.chars().next()? {
        '[' => ']',
        quote @ ('"' | '\'' | '`') => quote,
        _ => return None,
    };
    (token.len() > 1 && token.ends_with(close)).then_some(close)
}

/// Appends a name in double quotes, which both servers accept (MariaDB under `ANSI_QUOTES`).
pub(crate) fn push_name(out: &mut String, name: &str) {
    out.push('"');
    if name.contains('"') {
        out.push_str(&name.replace('"', "\"\""));
    } else {
        out.push_str(name);
    }
    out.push('"');
}

/// A name of at most 63 bytes for one that is too long for a server: its beginning, and a digest of all of it, so that
/// two long names do not become one. Case does not matter, as in SQLite. The digest is FNV-1a's of 128 bits.
pub(crate) fn shortened(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let add =
        |digest: u128, byte: u8| (digest ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
    let digest = name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, add);
    let end = (0..=SHORT_BYTES).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    format!("{}_{digest:032x}", &name[..end])
}

/// Appends a text literal.
pub(crate) fn push_text(out: &mut String, text: &str) {
    out.push('\'');
    if text.contains('\'') {
        out.push_str(&text.replace('\'', "''"));
    } else {
        out.push_str(text);
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_quote_is_read() {
        assert_eq!(unquote("plain"), "plain");
        assert_eq!(unquote("\"a\"\"b\""), "a\"b");
        assert_eq!(unquote("[a b]"), "a b");
        assert_eq!(unquote("`a``b`"), "a`b");
        assert_eq!(unquote("'it''s'"), "it's");
        assert_eq!(unquote("''"), "");
        for words in ["'x' \u{e9}", "[a] \u{e9}", "'", "["] {
            assert_eq!(unquote(words), words);
        }
    }

    #[test]
    fn long_names_stay_different() {
        let long = |end: &str| format!("{}{end}", "abcdefg_é".repeat(8));
        assert!(shortened(&long("1")).starts_with("abcdefg_éabcdefg_éabcdefg_é_"));
        assert!(shortened(&long("1")).len() <= 63);
        assert_ne!(shortened(&long("1")), shortened(&long("2")));
        assert_eq!(shortened("").len(), 33);
    }

    #[test]
    fn quotes_are_doubled_when_written() {
        let mut out = String::new();
        push_name(&mut out, "a\"b");
        push_text(&mut out, "it's");
        assert_eq!(out, "\"a\"\"b\"'it''s'");
    }
}
