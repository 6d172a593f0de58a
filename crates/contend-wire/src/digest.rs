//! The last line of a plan or script: `end`, a tab and the digest of everything before it.
//!
//! Only the tool writes this line, after it has checked what it sends. A program that finds another digest
//! refuses the text: it was cut off or changed. The digest is the CRC-32 of zlib and PNG (polynomial
//! `EDB88320`) as eight hexadecimal digits, because every language has it in its standard library.

use crate::FormatError;

/// A digest in the making.
#[derive(Debug, Clone, Copy)]
pub struct Digest(u32);

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

impl Default for Digest {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Digest {
    /// Takes in more of the text.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = TABLE[((self.0 ^ u32::from(*byte)) & 0xFF) as usize] ^ (self.0 >> 8);
        }
    }

    /// The digest of a whole text, such as `cbf43926`.
    pub fn of(text: &str) -> String {
        let mut digest = Self::default();
        digest.update(text.as_bytes());
        digest.hex()
    }

    /// The last line, with its line end.
    pub fn end_line(self) -> String {
        format!("end\t{}\n", self.hex())
    }

    fn hex(self) -> String {
        format!("{:08x}", !self.0)
    }
}

/// A text whose last line is a bare `end`, with the digest in that line.
pub fn sealed(text: &str) -> String {
    let body = text.strip_suffix("end\n").unwrap_or(text);
    format!("{body}end\t{}\n", Digest::of(body))
}

/// The text before its last line.
///
/// # Errors
/// The last line is not `end` with the digest of this text.
pub fn open<'a>(format: &'static str, text: &'a str) -> Result<&'a str, FormatError> {
    let fail = |message: String| Err(FormatError::new(format, 0, message));
    let last = text.strip_suffix('\n').and_then(|text| text.rsplit_once("\nend\t"));
    let Some((body, said)) = last.filter(|(_, said)| !said.contains('\n')) else {
        return fail("cut off: its last line is not `end` with a digest".to_string());
    };
    let body = &text[..=body.len()];
    match Digest::of(body) {
        digest if digest == said => Ok(body),
        digest => fail(format!(
            "changed after contend had checked it: its last line has the digest `{}`, the text before it {digest}",
            crate::crop(said)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_crc_32_of_zlib() {
        assert_eq!(Digest::of("123456789"), "cbf43926");
    }

    #[test]
    fn a_cut_or_changed_text_is_refused() {
        let text = sealed("a\nb\nend\n");
        assert_eq!(open("plan", &text), Ok("a\nb\n"));
        let refused = |text: &str, words: &str| {
            let error = open("plan", text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&text[..text.len() - 1], "cut off");
        refused("a\nb\nend\n", "cut off");
        refused("", "cut off");
        refused(&text.replace('b', "c"), "changed after");
        refused(&format!("{text}x\n"), "cut off");
    }
}
