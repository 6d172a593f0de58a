//! Packets of MariaDB's protocol: a length of three bytes, a number, and a body. A body of 16 MiB - 1 is continued.

/// Length of a packet that another one continues.
pub const MORE: usize = 0xff_ff_ff;
pub const HEAD: usize = 4;

/// A body of one packet, or of several that belong together. `body` is a part of it if it is long.
pub struct Message<'b> {
    /// 0 begins an exchange.
    pub number: u8,
    pub body: &'b [u8],
    pub length: usize,
}

impl Message<'_> {
    pub fn is_whole(&self) -> bool {
        self.body.len() == self.length
    }
}

/// Finds the messages in one direction of a connection.
pub struct Frames {
    head: Vec<u8>,
    body: Vec<u8>,
    number: u8,
    length: usize,
    left: usize,
    is_continued: bool,
    /// Most bytes of a body that are kept.
    kept: usize,
}

impl Frames {
    pub fn new(kept: usize) -> Frames {
        let (number, length, left, is_continued) = (0, 0, 0, false);
        Frames { head: Vec::with_capacity(HEAD), body: vec![], number, length, left, is_continued, kept }
    }

    /// Passes each message that these bytes complete to `each`.
    pub fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Message)) {
        while !bytes.is_empty() {
            if self.head.is_empty()
                && !self.is_continued
                && let Some((head, rest)) = bytes.split_first_chunk::<HEAD>()
                && let length = length_of(head)
                && length < MORE
                && rest.len() >= length
            {
                let (body, rest) = rest.split_at(length);
                each(&Message { number: head[3], body, length });
                bytes = rest;
                continue;
            }
            if self.head.len() < HEAD {
                let (more, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
                self.head.extend_from_slice(more);
                bytes = rest;
                let Some(head) = self.head.first_chunk::<HEAD>() else { return };
                self.left = length_of(head);
                if !self.is_continued {
                    (self.number, self.length) = (head[3], 0);
                    self.body.clear();
                }
                self.length += self.left;
                self.is_continued = self.left == MORE;
            }
            let (more, rest) = bytes.split_at(bytes.len().min(self.left));
            let room = self.kept - self.body.len();
            self.body.extend_from_slice(&more[..more.len().min(room)]);
            (bytes, self.left) = (rest, self.left - more.len());
            if self.left == 0 {
                self.head.clear();
                if !self.is_continued {
                    each(&Message { number: self.number, body: &self.body, length: self.length });
                    self.body.clear();
                    self.body.shrink_to(1 << 16);
                }
            }
        }
    }
}

pub fn length_of(head: &[u8; HEAD]) -> usize {
    usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16
}

/// Reads the fields of a body.
pub struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    pub fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (found, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(found)
    }

    /// A number with this many bytes, at most eight.
    pub fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.bytes(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
    }

    /// A number whose first byte says how long it is.
    pub fn long(&mut self) -> Option<u64> {
        match self.u8()? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            byte @ ..=0xfa => Some(u64::from(byte)),
            _ => None,
        }
    }

    /// Bytes after their length.
    pub fn counted(&mut self) -> Option<&'b [u8]> {
        let length = self.long()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// A text that ends with NUL.
    pub fn text(&mut self) -> Option<&'b [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.bytes(end)?;
        self.bytes(1).map(|_| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("short").to_le_bytes();
        [&length[..3], &[number], body].concat()
    }

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let all = [packet(0, b"\x03SELECT 1"), packet(2, b""), packet(3, &[7; 300])].concat();
        for size in 1..all.len() + 1 {
            let (mut frames, mut found) = (Frames::new(200), vec![]);
            for part in all.chunks(size) {
                frames.read(part, |m| found.push((m.number, m.length, m.body.first().copied())));
            }
            assert_eq!(found, [(0, 9, Some(3)), (2, 0, None), (3, 300, Some(7))], "{size}");
        }
    }

    #[test]
    fn a_long_message_is_one() {
        for last in [0, 5] {
            let all = [packet(0, &vec![3; MORE]), packet(1, &vec![3; last]), packet(0, b"\x0e")].concat();
            let (mut frames, mut found) = (Frames::new(100), vec![]);
            for part in all.chunks(65_536) {
                frames.read(part, |m| found.push((m.number, m.body.len(), m.length, m.is_whole())));
            }
            assert_eq!(found, [(0, 100, MORE + last, false), (0, 1, 1, true)]);
        }
    }

    #[test]
    fn fields_end_where_the_bytes_end() {
        let mut fields = Fields(b"ab\0\xfc\x01\x02\x02xy\xfb");
        assert_eq!((fields.text(), fields.long(), fields.counted()), (Some(&b"ab"[..]), Some(513), Some(&b"xy"[..])));
        assert_eq!((fields.long(), fields.u8(), fields.u16(), fields.text()), (None, None, None, None));
    }
}
