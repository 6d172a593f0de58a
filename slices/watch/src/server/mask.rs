//! Removes the values from statements of servers. The dialects quote differently: a scanner for the wrong one would
//! take the end of a value for SQL, and show it.

/// Dialect of string literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    MariaDb,
}

/// The statement with `?` for each string and number, without comments. It ends at a truncated value, and at one
/// whose end depends on a setting of the session (`NO_BACKSLASH_ESCAPES`, `standard_conforming_strings`).
pub fn masked(sql: &str, dialect: Dialect) -> String {
    let bytes = sql.as_bytes();
    let (mut out, mut at) = (String::with_capacity(sql.len()), 0);
    while at < bytes.len() {
        let rest = &sql[at..];
        let first = bytes[at];
        if has_two_ends(rest, dialect) && !is_escape_string(&out) {
            out.push('?');
            break;
        }
        let end = at
            + match (first, dialect) {
                (b'-', _) if rest.starts_with("--") => line(rest),
                (b'#', Dialect::MariaDb) => line(rest),
                (b'/', _) if rest.starts_with("/*") => comment(rest, dialect),
                (b'\'', Dialect::MariaDb) | (b'"', Dialect::MariaDb) => quoted(rest, first, true),
                (b'\'', Dialect::Postgres) => quoted(rest, first, is_escape_string(&out)),
                (b'"', Dialect::Postgres) | (b'`', Dialect::MariaDb) => quoted(rest, first, false),
                (b'$', Dialect::Postgres) => dollar(rest).unwrap_or(1),
                (c, _) if is_word(c) => rest.bytes().take_while(|c| is_word(*c) || *c == b'$').count(),
                _ => rest.chars().next().map_or(1, char::len_utf8),
            };
        let lexeme = &sql[at..end.min(sql.len())];
        let is_comment = lexeme.len() > 1 && ["--", "/*"].iter().any(|begin| lexeme.starts_with(begin))
            || dialect == Dialect::MariaDb && first == b'#';
        let is_string = first == b'\''
            || first == b'"' && dialect == Dialect::MariaDb
            || first == b'$' && lexeme.len() > 1 && dialect == Dialect::Postgres;
        if is_comment {
            out.push(' ');
        } else if is_string {
            // The prefix of `E'...'`, `x'...'` or `_utf8'...'` may stay: it is not a value.
            out.push('?');
        } else if first.is_ascii_digit() && !out.ends_with('$') {
            number(&mut out);
        } else {
            out.push_str(lexeme);
        }
        at = end;
    }
    out.trim().to_string()
}

/// A number. Its sign stays; the parts around a point are one value.
fn number(out: &mut String) {
    if out.ends_with("?.") {
        out.pop();
    } else {
        if out.ends_with('.') && !out[..out.len() - 1].ends_with(|c: char| c.is_alphanumeric() || c == '"' || c == '`')
        {
            out.pop();
        }
        out.push('?');
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}

/// Whether the text before a quote makes it a string with backslashes: `E'...'`.
fn is_escape_string(before: &str) -> bool {
    let word = before.len() - before.bytes().rev().take_while(|c| is_word(*c)).count();
    before[word..].eq_ignore_ascii_case("e")
}

fn line(rest: &str) -> usize {
    rest.find('\n').map_or(rest.len(), |at| at + 1)
}

/// Length of a comment. PostgreSQL's comments nest.
fn comment(rest: &str, dialect: Dialect) -> usize {
    let (bytes, mut depth, mut at) = (rest.as_bytes(), 0, 0);
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" if depth == 0 || dialect == Dialect::Postgres => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Whether the end of a string depends on the meaning of backslashes.
fn has_two_ends(rest: &str, dialect: Dialect) -> bool {
    let quote = rest.as_bytes()[0];
    let is_string = quote == b'\'' || quote == b'"' && dialect == Dialect::MariaDb;
    is_string && quoted(rest, quote, true) != quoted(rest, quote, false)
}

/// Length of a quoted string; doubled quotes, and with `has_backslash` escaped characters, belong to it.
fn quoted(rest: &str, quote: u8, has_backslash: bool) -> usize {
    let (bytes, mut at) = (rest.as_bytes(), 1);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if has_backslash => at += 2,
            c if c == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `$$...$$` or `$tag$...$tag$`; `None` for a parameter such as `$1`.
fn dollar(rest: &str) -> Option<usize> {
    let tag = 1 + rest[1..].bytes().take_while(|c| is_word(*c)).count();
    let is_tag = rest.as_bytes().get(tag) == Some(&b'$') && !rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if !is_tag {
        return None;
    }
    let delimiter = &rest[..=tag];
    Some(rest[tag + 1..].find(delimiter).map_or(rest.len(), |at| tag + 1 + at + delimiter.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out_in_each_dialect() {
        for (dialect, sql, shape) in [
            (
                Dialect::Postgres,
                "SELECT a1 FROM t WHERE b = 'it''s' AND c = -12.5 -- secret",
                "SELECT a1 FROM t WHERE b = ? AND c = -?",
            ),
            (Dialect::Postgres, r"SELECT 'C:\dir', 'secret', E'a\'secret', 1", "SELECT ?, ?, E?, ?"),
            (Dialect::Postgres, r"SELECT 'C:\', 'secret', 1", "SELECT ?"),
            (Dialect::Postgres, "SELECT $$secret's$$, $t$ $$ secret $t$, $1, \"Na me\"", "SELECT ?, ?, $1, \"Na me\""),
            (Dialect::Postgres, "/* a /* secret */ b */ COMMIT", "COMMIT"),
            (Dialect::Postgres, "SELECT * FROM t2 WHERE x = 'cut o", "SELECT * FROM t2 WHERE x = ?"),
            (Dialect::MariaDb, r#"SELECT 'it''s secret', "secret", `na me` # secret"#, "SELECT ?, ?, `na me`"),
            (Dialect::MariaDb, r#"SELECT 'it\'s secret', "secret""#, "SELECT ?"),
            (
                Dialect::MariaDb,
                "UPDATE t SET a=1e9,b=.5,c=0xff WHERE id IN (1,2)",
                "UPDATE t SET a=?,b=?,c=? WHERE id IN (?,?)",
            ),
            (Dialect::MariaDb, "SELECT 'é\\", "SELECT ?"),
            (Dialect::Postgres, "SELECT é, t.c1 FROM s.t", "SELECT é, t.c1 FROM s.t"),
        ] {
            assert_eq!(masked(sql, dialect), shape, "{sql}");
        }
    }

    #[test]
    fn any_bytes_are_scanned_to_their_end() {
        for sql in ["'", "$", "$$", "$a", "/*", "/", "--", "\\", "E'\\", "é'é", "1.", ".", "#", "\"é"] {
            masked(sql, Dialect::Postgres);
            masked(sql, Dialect::MariaDb);
        }
    }
}
