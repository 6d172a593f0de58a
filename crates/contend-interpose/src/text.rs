//! Texts of statements as they are stored: without comments, and with stand-ins for literals if values are hashed. A
//! stand-in is a literal of the same type made from the value's keyed hash, so the statement can still be parsed.

use crate::format::{config, value};
use crate::hash::{self, Sip};
use crate::position::Position;
use crate::token::{blank, first_word, negative, token, tokens};

/// An output buffer. It counts bytes beyond its end.
pub struct Sink<'b> {
    buffer: &'b mut [u8],
    pub length: usize,
}

impl<'b> Sink<'b> {
    pub fn new(buffer: &'b mut [u8]) -> Sink<'b> {
        Sink { buffer, length: 0 }
    }

    /// Adds a byte.
    pub fn byte(&mut self, byte: u8) {
        if let Some(place) = self.buffer.get_mut(self.length) {
            *place = byte;
        }
        self.length += 1;
    }

    fn all(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.byte(byte));
    }
}

/// Upper bound of a statement's length with stand-ins, given its length.
pub fn room(length: usize) -> usize {
    length * 12 + 64
}

/// PRAGMAs of SQLite itself that take a value. The value of any other one can be a key: extensions and encryption define them.
const PRAGMAS: [&[u8]; 61] = [
    b"analysis_limit",
    b"application_id",
    b"auto_vacuum",
    b"automatic_index",
    b"busy_timeout",
    b"cache_size",
    b"cache_spill",
    b"case_sensitive_like",
    b"cell_size_check",
    b"checkpoint_fullfsync",
    b"count_changes",
    b"data_store_directory",
    b"default_cache_size",
    b"defer_foreign_keys",
    b"empty_result_callbacks",
    b"encoding",
    b"foreign_key_check",
    b"foreign_key_list",
    b"foreign_keys",
    b"full_column_names",
    b"fullfsync",
    b"hard_heap_limit",
    b"ignore_check_constraints",
    b"incremental_vacuum",
    b"index_info",
    b"index_list",
    b"index_xinfo",
    b"integrity_check",
    b"journal_mode",
    b"journal_size_limit",
    b"legacy_alter_table",
    b"legacy_file_format",
    b"lock_proxy_file",
    b"locking_mode",
    b"max_page_count",
    b"mmap_size",
    b"optimize",
    b"page_size",
    b"parser_trace",
    b"query_only",
    b"quick_check",
    b"read_uncommitted",
    b"recursive_triggers",
    b"reverse_unordered_selects",
    b"schema_version",
    b"secure_delete",
    b"short_column_names",
    b"soft_heap_limit",
    b"synchronous",
    b"table_info",
    b"table_list",
    b"table_xinfo",
    b"temp_store",
    b"temp_store_directory",
    b"threads",
    b"trusted_schema",
    b"user_version",
    b"vdbe_trace",
    b"wal_autocheckpoint",
    b"wal_checkpoint",
    b"writable_schema",
];

/// Whether a PRAGMA with this name, which may be in quotes, keeps its value.
fn is_setting(name: &[u8]) -> bool {
    let name = if name.len() > 2 && is_quote(name[0]) { &name[1..name.len() - 1] } else { name };
    let is = |known: &[u8]| known.eq_ignore_ascii_case(name);
    PRAGMAS.iter().any(|known| is(known)) || config::ALL.iter().any(|(_, known)| is(known.as_bytes()))
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`' | b'[')
}

/// Whether a text of an ATTACH or VACUUM INTO has parameters, as in `file:a.db?key=...`, other than those of SQLite itself.
fn has_parameters(token: &[u8]) -> bool {
    const OWN: [&[u8]; 7] = [b"mode=", b"cache=", b"vfs=", b"psow=", b"nolock=", b"immutable=", b"modeof="];
    let Some(at) = token.iter().position(|byte| *byte == b'?').filter(|_| is_quote(token[0])) else { return false };
    token[at + 1..].split(|byte| *byte == b'&').any(|given| !OWN.iter().any(|own| given.starts_with(own)))
}

/// The name of a database without the parameters of a URI, which can be a key.
pub fn without_parameters(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| matches!(byte, b'?' | b'#')).filter(|_| name.starts_with(b"file:"));
    &name[..end.unwrap_or(name.len())]
}

/// Place in a statement that may name the key of an encrypted database. SQLite takes a key as any word or quoted text there.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Begin,
    Pragma,
    /// After a name in a PRAGMA; whether it is a setting of SQLite itself.
    Named(bool),
    /// In the value of such a setting.
    Setting,
    Attach,
    /// In the file of an ATTACH, after parameters.
    Parameters,
    /// Up to the end of the statement.
    Secret,
    Elsewhere,
}

impl Place {
    /// The place after a token.
    fn after(self, token: &[u8]) -> Place {
        let is = |word: &[u8]| token.eq_ignore_ascii_case(word);
        match self {
            _ if token == b";" => Place::Begin,
            // `EXPLAIN QUERY PLAN` executes a PRAGMA when it is prepared.
            Place::Begin if is(b"explain") || is(b"query") || is(b"plan") => Place::Begin,
            Place::Begin if is(b"pragma") => Place::Pragma,
            Place::Begin if is(b"attach") || is(b"vacuum") => Place::Attach,
            Place::Begin if token != b"." => Place::Elsewhere,
            Place::Named(true) if token != b"." => Place::Setting,
            Place::Pragma => Place::Named(is_setting(token)),
            Place::Named(_) if token == b"." => Place::Pragma,
            Place::Named(_) => Place::Secret,
            Place::Attach if is(b"key") => Place::Secret,
            Place::Attach if has_parameters(token) => Place::Parameters,
            Place::Parameters if is(b"as") => Place::Attach,
            other => other,
        }
    }

    fn hides(self, token: &[u8]) -> bool {
        let is_sign = matches!(token, b"=" | b"(" | b")" | b";" | b".");
        match self {
            Place::Secret | Place::Named(false) => !is_sign,
            Place::Parameters => !is_sign && !token.eq_ignore_ascii_case(b"as"),
            Place::Attach => has_parameters(token),
            _ => false,
        }
    }
}

/// Whether literals of a statement are settings and names, which are not replaced.
fn stays(sql: &[u8]) -> bool {
    // Later statements of a script may contain any values.
    let rest = sql.iter().position(|byte| *byte == b';').map_or(&[][..], |at| &sql[at..]);
    if rest.iter().any(|byte| *byte != b';' && !byte.is_ascii_whitespace()) {
        return false;
    }
    let (word, length) = first_word(sql);
    word[..length] == *b"pragma"
}

/// Writes a statement. Keys of encrypted databases become stand-ins, and if values are `hashed` all literals other than 0 and 1 and
/// numbers of columns.
pub fn write(sql: &[u8], key: [u64; 2], hashed: bool, out: &mut Sink) {
    let hashed = hashed && !stays(sql);
    let (mut i, mut gap, mut place, mut position) = (0, false, Place::Begin, Position::default());
    let mut before: &[u8] = b"";
    while i < sql.len() {
        let after = blank(sql, i);
        if after > i {
            (i, gap) = (after, true);
            continue;
        }
        if gap && out.length > 0 {
            out.byte(b' ');
        }
        gap = false;
        let (end, is_text) = negative(sql, i, before).map_or_else(|| token(sql, i), |end| (end, true));
        let token = &sql[i..end];
        let is_value = is_text && !position.is_column(token, tokens(sql, end));
        match hashed && is_value && place != Place::Setting || place.hides(token) {
            true => stand_in(token, key, out),
            false => out.all(token),
        }
        (i, place, position, before) = (end, place.after(token), position.after(token), token);
    }
}

/// Writes the stand-in for a literal.
pub fn stand_in(literal: &[u8], key: [u64; 2], out: &mut Sink) {
    if literal == b"0" || literal == b"1" {
        return out.all(literal);
    }
    // The sign of a number is part of its hash.
    let (is_negative, digits) = match literal {
        [b'-', rest @ ..] => (true, rest.trim_ascii_start()),
        _ => (false, literal),
    };
    let hash = match literal[0] {
        b'\'' => of_text(literal, key),
        _ => decimal(is_negative, digits)
            .map_or_else(|| hash::bytes(key, literal), |bits| hash::number(key, value::INTEGER, bits)),
    };
    let write_digits = |out: &mut Sink, count: u32| {
        (0..count).for_each(|i| out.byte(b"0123456789abcdef"[(hash >> (60 - 4 * i) & 15) as usize]));
    };
    let is_real =
        literal[0] != b'\'' && !digits.starts_with(b"0x") && literal.iter().any(|b| matches!(b, b'.' | b'e' | b'E'));
    match literal[0] {
        b'\'' => {
            out.all(b"'#");
            write_digits(out, 16);
            out.byte(b'\'');
        }
        b'x' | b'X' => {
            out.all(b"x'");
            write_digits(out, 16);
            out.byte(b'\'');
        }
        _ => {
            // 18 digits fit into an integer.
            out.all(if is_real { b"0.1" } else { b"1" });
            let mut rest = hash;
            for _ in 0..17 {
                out.byte(b'0' + (rest % 10) as u8);
                rest /= 10;
            }
        }
    }
}

/// The hash of the text that a literal stands for: that of the same text when it is bound.
fn of_text(literal: &[u8], key: [u64; 2]) -> u64 {
    let inner = &literal[1..];
    let inner = inner.strip_suffix(b"'").unwrap_or(inner);
    let (mut sip, mut i) = (Sip::new(key), 0);
    while i < inner.len() {
        sip.byte(inner[i]);
        i += if inner[i..].starts_with(b"''") { 2 } else { 1 };
    }
    sip.end()
}

/// The bits of a decimal integer; `None` for any other number.
fn decimal(is_negative: bool, literal: &[u8]) -> Option<u64> {
    let is_whole = literal.len() <= 18 && literal.iter().all(u8::is_ascii_digit);
    let number = || literal.iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
    is_whole.then(|| if is_negative { number().wrapping_neg() } else { number() })
}

/// The number that stands for an integer with this hash: 1 and 17 digits.
pub fn stand_in_number(hash: u64) -> u64 {
    (0..17).fold((1, hash), |(number, rest), _| (number * 10 + rest % 10, rest / 10)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::is_of_the_language;

    fn written(sql: &str, key: Option<[u64; 2]>) -> String {
        let mut buffer = vec![0; room(sql.len())];
        let mut sink = Sink::new(&mut buffer);
        write(sql.as_bytes(), key.unwrap_or([1, 2]), key.is_some(), &mut sink);
        let length = sink.length;
        String::from_utf8(buffer[..length].to_vec()).expect("text")
    }

    #[test]
    fn words_of_dates_and_punctuation_are_no_values() {
        for word in ["'now'", "'Start of day'", "'%Y-%m-%dT%H:%M'", "''", "'\\'", "'%'"] {
            assert!(is_of_the_language(word.as_bytes()), "{word}");
            assert_eq!(written(word, Some([1, 2])), word);
        }
        for value in ["'nowhere'", "'%eve%'", "'eve'", "'a'", "'", "'1'", "x''"] {
            assert!(!is_of_the_language(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn comments_go_and_the_rest_stays() {
        assert_eq!(written("SELECT  a, -- Eve's\n 'it''s' /* x */ FROM t", None), "SELECT a, 'it''s' FROM t");
        assert_eq!(written(" /* nothing */ ", None), "");
        assert_eq!(written("SELECT '", None), "SELECT '", "unfinished");
        assert_eq!(written("SELECT /*", None), "SELECT");
    }

    #[test]
    fn no_literal_survives_and_equal_ones_stay_equal() {
        let sql = "INSERT INTO t2 (a, [b 9], \"c 'd'\") VALUES ('Eve''s', 4711, 0x1F, 1.5e-3, .25, x'beef', ?1, :n, 0, 1), ('Eve''s')";
        let private = written(sql, Some([1, 2]));
        for value in ["Eve", "4711", "1F", "5e", ".25", "beef"] {
            assert!(!private.contains(value), "{value}: {private}");
        }
        assert!(private.starts_with("INSERT INTO t2 (a, [b 9], \"c 'd'\") VALUES ('#"), "{private}");
        assert!(private.contains(", ?1, :n, 0, 1), ("), "{private}");
        let text = &private[private.find("'#").expect("a stand-in")..][..19];
        assert_eq!(private.matches(text).count(), 2, "{private}");
        assert!(private.len() <= room(sql.len()));
        assert_ne!(private, written(sql, Some([3, 4])));
    }

    #[test]
    fn a_literal_has_the_hash_of_the_bound_value() {
        let text = format!("{:016x}", hash::bytes([1, 2], b"Eve's"));
        assert_eq!(written("'Eve''s'", Some([1, 2])), format!("'#{text}'"));
        let number = stand_in_number(hash::number([1, 2], value::INTEGER, 4711));
        assert_eq!(written("4711", Some([1, 2])), number.to_string());
        let number = stand_in_number(hash::number([1, 2], value::INTEGER, (-4711i64).cast_unsigned()));
        for (sql, expected) in [
            ("VALUES (-4711)", format!("VALUES ({number})")),
            ("a = a + - 4711", format!("a = a + {number}")),
            ("LIMIT -4711", format!("LIMIT {number}")),
        ] {
            assert_eq!(written(sql, Some([1, 2])), expected);
        }
        assert!(
            written("SELECT a -4711, b-4711, (c) -4711, 1 -4711", Some([1, 2])).matches('-').count() == 4,
            "operators"
        );
        assert_eq!(written("SELECT -4711, a -4711", None), "SELECT -4711, a -4711");
    }

    #[test]
    fn numbers_of_columns_stay_and_values_after_them_do_not() {
        let sql = "SELECT a, count(*) FROM t GROUP BY 2 ORDER BY 3 COLLATE \"a b\" DESC, 2 NULLS LAST";
        assert_eq!(written(sql, Some([1, 2])), sql);
        for sql in [
            "INSERT INTO t SELECT a FROM u ORDER BY a RETURNING id, 2024",
            "SELECT a FROM t ORDER BY 2024 IS NULL",
            "SELECT a FROM t ORDER BY 2024 /* , */ IN (a), 2",
            "SELECT a FROM t GROUP BY 2024 -- ,\n BETWEEN a AND b",
            "SELECT a FROM t ORDER BY 2024 COLLATE 'a b' = a",
            "SELECT a FROM t ORDER BY 2024 'limit",
            "SELECT a FROM t ORDER BY 2024 COLLATE /*",
        ] {
            let private = written(sql, Some([1, 2]));
            assert!(!private.contains("2024"), "{private}");
        }
    }

    #[test]
    fn the_time_for_a_statement_grows_with_its_length_and_not_with_its_square() {
        for part in ["2 COLLATE a COLLATE b, ", "2 /* , */ 'a', ", "2, ", "2 COLLATE , "] {
            let begun = std::time::Instant::now();
            written(&format!("SELECT a FROM t ORDER BY {}", part.repeat(100_000)), Some([1, 2]));
            assert!(begun.elapsed().as_secs() < 10, "{part}: {:?}", begun.elapsed());
        }
    }

    #[test]
    fn settings_stay_but_no_key_of_a_cipher() {
        assert_eq!(written("PRAGMA busy_timeout = 5000", Some([1, 2])), "PRAGMA busy_timeout = 5000");
        assert!(!written("PRAGMA key = 'secret'", Some([1, 2])).contains("secret"));
        let script =
            written("PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 99; INSERT INTO t VALUES (5000)", Some([1, 2]));
        assert!(script.starts_with("PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 99; INSERT"), "{script}");
        assert!(!script.ends_with("(5000)"), "{script}");
        assert!(!written("ATTACH 'a.db' AS a KEY 'secret'", None).contains("secret"), "with all values, too");
        assert_eq!(written("PRAGMA cache_size = 99", None), "PRAGMA cache_size = 99");
        for keyed in [
            "pragma rekey='secret'",
            "PRAGMA key = \"secret\"",
            "PRAGMA main.key(secret)",
            "PRAGMA textkey = secret99",
            "PRAGMA key = \"x'5ec2e7'\"",
            "PRAGMA cipher_salt = \"x'5ec2e7'\"",
            "SELECT 1; PRAGMA hexkey = \"5ec2e7\"; SELECT 2",
            "ATTACH 'a.db' AS a KEY \"secret\"",
            "attach database ?1 as a key secret",
            "\u{feff}PRAGMA key=secret",
            "PRAGMA \u{feff}key=\u{feff}secret",
            ";\u{feff}\u{feff} -- a\n\u{feff}PRAGMA key='secret'",
            "EXPLAIN PRAGMA key=secret",
            "explain query plan pragma main.\"key\"(secret)",
            "PRAGMA activate_extensions='see-secret'",
            "PRAGMA [hexrekey] = \"5ec2e7\"",
            "PRAGMA textrekey \"secret\"",
            "PRAGMA main.user_version.key = secret",
            "PRAGMA cipher_license = 'secret'",
            "PRAGMA \"my vfs\" = secret",
            "EXPLAIN ATTACH 'a.db' AS a KEY secret",
            "ATTACH 'file:a.db?key=secret' AS a",
            "ATTACH \"file:a.db?mode=ro&hexkey=5ec2e7\" AS a",
            "ATTACH 'file:a.db?%6bey=secret' AS a",
            "VACUUM main INTO 'file:b.db?textkey=secret'",
            "ATTACH 'file:a.db?' || 'key=secret' || secret AS a KEY secret",
        ] {
            for key in [Some([1, 2]), None] {
                let private = written(keyed, key);
                assert!(!private.contains("secret") && !private.contains("5ec2e7"), "{private}");
            }
        }
        assert_eq!(written("EXPLAIN PRAGMA cache_size = 99", None), "EXPLAIN PRAGMA cache_size = 99");
        assert_eq!(written("\u{feff}SELECT \u{feff}1", None), "SELECT 1");
        for attach in ["ATTACH 'file:a.db?mode=ro&cache=shared' AS a", "ATTACH ?1 AS a", "ATTACH [a.db] AS a"] {
            assert_eq!(written(attach, None), attach);
        }
        assert!(written("ATTACH 'file:a.db?key=x' AS a", None).ends_with(" AS a"), "the name of the schema stays");
        assert!(!written("SAVEPOINT 'Eve'", Some([1, 2])).contains("Eve"));
        assert_eq!(without_parameters(b"file:/a.db?key=secret"), b"file:/a.db");
        assert_eq!(without_parameters(b"what?.db"), b"what?.db");
        assert_eq!(written("PRAGMA foreign_keys = ON", Some([1, 2])), "PRAGMA foreign_keys = ON");
        assert_eq!(written("CREATE TABLE t (a PRIMARY KEY, b)", Some([1, 2])), "CREATE TABLE t (a PRIMARY KEY, b)");
        for script in
            ["BEGIN; INSERT INTO t VALUES ('Eve'); COMMIT;", "PRAGMA foreign_keys=1;\nINSERT INTO t VALUES ('Eve')"]
        {
            assert!(!written(script, Some([1, 2])).contains("Eve"), "{script}");
        }
        assert_eq!(written("PRAGMA busy_timeout = 5000; ", Some([1, 2])).trim_end(), "PRAGMA busy_timeout = 5000;");
    }
}
