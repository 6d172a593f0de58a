//! Tokens of texts that the dialects of both servers share.

use contend_interpose::text::{Sink, room, stand_in};

/// Writes the stand-in for a literal.
pub fn stand_for(literal: &[u8], key: [u64; 2], out: &mut Vec<u8>) {
    let mut buffer = vec![0; room(literal.len())];
    let mut sink = Sink::new(&mut buffer);
    // A string of bits is one of hexadecimal digits too.
    let hex: Vec<u8>;
    let literal = match literal {
        [b'b' | b'B', digits @ ..] => {
            hex = [b"x", digits].concat();
            &hex
        }
        _ => literal,
    };
    stand_in(literal, key, &mut sink);
    let length = sink.length;
    out.extend_from_slice(&buffer[..length]);
}

/// A text in single quotes.
pub fn quoted(inner: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &byte in inner {
        out.extend_from_slice(if byte == b'\'' { b"''" } else { std::slice::from_ref(&byte) });
    }
    out.push(b'\'');
    out
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// End of a quoted text that begins here; a doubled quote is part of it.
pub fn end_of(rest: &[u8], quote: u8, has_backslashes: bool) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if has_backslashes => at += 2,
            byte if byte == quote && rest.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of the number that begins here.
pub fn number(rest: &[u8]) -> usize {
    let is_hex = rest.starts_with(b"0x") || rest.starts_with(b"0X");
    let mut at = 0;
    while at < rest.len() {
        let is_sign = at > 0 && !is_hex && matches!(rest[at], b'+' | b'-') && matches!(rest[at - 1], b'e' | b'E');
        let is_point = rest[at] == b'.' && rest.get(at + 1) != Some(&b'.') && (at == 0 || rest[at - 1] != b'.');
        if !(is_word(rest[at]) || is_point || is_sign) {
            break;
        }
        at += 1;
    }
    at
}
