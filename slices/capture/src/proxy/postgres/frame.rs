//! Messages of PostgreSQL's protocol 3: a type, a length of four bytes that includes itself, and a body.

/// Longest body that is read; longer ones are only counted.
const BODY_MAX: usize = 16 << 20;
const HEAD: usize = 5;

/// A message. Its body is empty if it is too long or of a type that is not read.
pub struct Message<'b> {
    pub kind: u8,
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
    length: usize,
    left: usize,
    is_read: fn(u8) -> bool,
}

impl Frames {
    /// `is_read`: whether bodies of messages of this type are needed.
    pub fn new(is_read: fn(u8) -> bool) -> Frames {
        Frames { head: Vec::with_capacity(HEAD), body: vec![], length: 0, left: 0, is_read }
    }

    /// Passes each message that these bytes complete to `each`. `false`: the bytes are not messages.
    #[must_use]
    pub fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(&Message)) -> bool {
        while !bytes.is_empty() {
            if self.head.is_empty()
                && let Some((head, rest)) = bytes.split_first_chunk::<HEAD>()
                && let Some(length) = length_of(head)
                && rest.len() >= length
            {
                let (body, rest) = rest.split_at(length);
                each(&Message { kind: head[0], body, length });
                bytes = rest;
                continue;
            }
            if self.head.len() < HEAD {
                let (more, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
                self.head.extend_from_slice(more);
                bytes = rest;
                let Some(head) = self.head.first_chunk::<HEAD>() else { return true };
                let Some(length) = length_of(head) else { return false };
                (self.length, self.left) = (length, length);
                self.body.clear();
            }
            let (more, rest) = bytes.split_at(bytes.len().min(self.left));
            if (self.is_read)(self.head[0]) && self.length <= BODY_MAX {
                self.body.extend_from_slice(more);
            }
            (bytes, self.left) = (rest, self.left - more.len());
            if self.left == 0 {
                each(&Message { kind: self.head[0], body: &self.body, length: self.length });
                self.head.clear();
                self.body.clear();
                self.body.shrink_to(1 << 16);
            }
        }
        true
    }
}

fn length_of(head: &[u8; HEAD]) -> Option<usize> {
    let [_, length @ ..] = *head;
    usize::try_from(u32::from_be_bytes(length)).ok()?.checked_sub(4).filter(|length| i32::try_from(*length).is_ok())
}

/// Reads the fields of a body.
pub struct Fields<'b>(pub &'b [u8]);

impl<'b> Fields<'b> {
    pub fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (found, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(found)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.bytes(2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
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

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let all = [message(b'Q', b"SELECT 1\0"), message(b'S', b""), message(b'd', &[7; 300])].concat();
        for size in 1..all.len() + 1 {
            let mut frames = Frames::new(|kind| kind != b'd');
            let mut found = vec![];
            for part in all.chunks(size) {
                assert!(frames.read(part, |m| found.push((m.kind, m.length, m.kind == b'd' || m.is_whole()))));
            }
            assert_eq!(found, [(b'Q', 9, true), (b'S', 0, true), (b'd', 300, true)], "{size}");
        }
    }

    #[test]
    fn a_wrong_length_is_seen() {
        let mut frames = Frames::new(|_| true);
        assert!(!frames.read(&[b'Q', 0, 0, 0, 3, 1, 2], |_| ()), "shorter than itself");
        assert!(
            !Frames::new(|_| true).read(&[22, 3, 1, 255, 255, 255], |_| ())
                || length_of(&[22, 3, 1, 255, 255]).is_some()
        );
        let mut fields = Fields(b"ab\0\0\x01x");
        assert_eq!((fields.text(), fields.u16(), fields.u32()), (Some(&b"ab"[..]), Some(1), None));
        assert_eq!((fields.u8(), fields.u8(), fields.text()), (Some(b'x'), None, None));
    }
}
