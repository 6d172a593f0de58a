//! SipHash-1-3 with a 128-bit key: equal values have equal hashes, and without the key a hash reveals nothing about
//! its value.

use crate::format::value;

/// An incremental hash.
pub struct Sip {
    v: [u64; 4],
    tail: u64,
    length: u64,
}

impl Sip {
    #[inline]
    pub fn new(key: [u64; 2]) -> Sip {
        let v = [
            key[0] ^ 0x736f_6d65_7073_6575,
            key[1] ^ 0x646f_7261_6e64_6f6d,
            key[0] ^ 0x6c79_6765_6e65_7261,
            key[1] ^ 0x7465_6462_7974_6573,
        ];
        Sip { v, tail: 0, length: 0 }
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.v = [a, b, c, d];
    }

    #[inline]
    pub fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
        self.length = self.length.wrapping_add(8);
    }

    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.tail |= u64::from(byte) << (8 * (self.length & 7));
        self.length = self.length.wrapping_add(1);
        if self.length & 7 == 0 {
            let word = self.tail;
            self.tail = 0;
            self.length = self.length.wrapping_sub(8);
            self.word(word);
        }
    }

    #[inline]
    pub fn end(mut self) -> u64 {
        let word = self.tail | (self.length << 56);
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
        self.v[2] ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.v[0] ^ self.v[1] ^ self.v[2] ^ self.v[3]
    }
}

pub fn bytes(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut sip = Sip::new(key);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        sip.word(u64::from_le_bytes(*word));
        rest = after;
    }
    sip.tail = match rest.len() {
        0 => 0,
        // The end of the last word, whose beginning is hashed already.
        length if bytes.len() >= 8 => {
            let last = bytes.last_chunk::<8>().map_or(0, |word| u64::from_le_bytes(*word));
            last >> (64 - 8 * length)
        }
        _ => rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u64::from(byte)),
    };
    sip.length = bytes.len() as u64;
    sip.end()
}

/// The hash of a number, from its type and bits.
#[inline]
pub fn number(key: [u64; 2], kind: u8, bits: u64) -> u64 {
    let mut sip = Sip::new(key);
    sip.word(bits);
    sip.byte(kind);
    sip.end()
}

/// Largest real up to which each integer is a real.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The integer that a real is equal to; `None` if it has a fraction or is larger than [`EXACT_MAX`].
#[inline]
pub fn whole(real: f64) -> Option<i64> {
    let number = real as i64;
    (number as f64 == real && real.abs() <= EXACT_MAX).then_some(number)
}

/// Type and hash of a number in a capture with hashes. A real without a fraction has those of the integer, to which it is equal
/// for SQLite: drivers of languages with one kind of number, such as better-sqlite3, bind all of them as reals.
#[inline]
pub fn of_number(key: [u64; 2], kind: u8, bits: u64) -> (u8, u64) {
    match whole(f64::from_bits(bits)).filter(|_| kind == value::REAL) {
        Some(integer) => (value::INTEGER, number(key, value::INTEGER, integer.cast_unsigned())),
        None => (kind, number(key, kind, bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_whole_agree_and_the_key_matters() {
        for length in 0..40u8 {
            let text: Vec<u8> = (0..length).collect();
            let mut pieces = Sip::new([1, 2]);
            text.iter().for_each(|&byte| pieces.byte(byte));
            assert_eq!(pieces.end(), bytes([1, 2], &text), "{length} bytes");
            assert_ne!(bytes([1, 3], &text), bytes([1, 2], &text));
        }
        assert_ne!(number([1, 2], 1, 7), number([1, 2], 2, 7), "1 and 1.0 are different values");
    }

    #[test]
    fn a_real_without_a_fraction_has_the_hash_of_the_integer() {
        let of = |real: f64| of_number([1, 2], value::REAL, real.to_bits());
        let integer = |number: i64| of_number([1, 2], value::INTEGER, number.cast_unsigned());
        assert_eq!((of(3.0), of(-0.0), of(-7.0)), (integer(3), integer(0), integer(-7)));
        for real in [2.5, 1e300, f64::INFINITY, f64::NAN, 9_223_372_036_854_775_808.0] {
            assert_eq!(of(real), (value::REAL, number([1, 2], value::REAL, real.to_bits())), "{real}");
        }
    }
}
