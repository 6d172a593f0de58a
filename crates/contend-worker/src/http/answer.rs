//! Reads an answer as its bytes arrive: the head with httparse, the body by its length, in chunks, or until the
//! connection ends. A body is always read, but kept only if the plan uses it.

use crate::failure::Failure;
use crate::http::cookies::Jar;
use crate::http::responses::{Content, is_compression};
use crate::http::said::SHOWN_BYTES;
use contend_wire::sample::{CodeSpace, sqlstate_to_code};
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// Largest head.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Most headers.
const HEADERS_MAX: usize = 128;
/// Largest body that is kept whole. Of others only the bytes are counted.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Longest line that says how long a chunk is.
const CHUNK_LINE_MAX: usize = 1 << 10;
/// Bytes in front of some texts in UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// Initial size of the buffer.
const ROOM: usize = 8 << 10;

/// The answer breaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonsense;

/// Facts of a complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Whether the service ends the connection.
    pub closes: bool,
    /// The header `contend-code`.
    pub code: Option<Failure>,
    /// Whether the body is compressed.
    pub encoded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    /// Bytes of the body that are still to come.
    Length(u64),
    ChunkLine,
    Chunk(u64),
    ChunkEnd,
    Trailer,
    UntilEnd,
    Complete,
}

/// Reads one answer after the other.
#[derive(Debug)]
pub struct Reader {
    buffer: Vec<u8>,
    /// Bytes that have arrived, from the start of the buffer.
    filled: usize,
    /// The part of them that was parsed.
    at: usize,
    part: Part,
    answer: Response,
    /// Total of the body so far.
    body_bytes: u64,
    /// First byte of the body after white space.
    first: Option<u8>,
    body: Vec<u8>,
    /// Most bytes of the body that are kept.
    kept_max: usize,
}

/// Facts of the request for reading its answer.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Whether the method is HEAD.
    pub is_head: bool,
    /// Statuses for which the body is kept.
    pub wanted: &'a [(u16, u16)],
    /// Statuses that are not a failure. Of other answers the beginning of the body is kept, for messages.
    pub expected: &'a [(u16, u16)],
}

/// Whether a status is in one of the ranges.
pub fn is_in(status: u16, ranges: &[(u16, u16)]) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&status))
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            buffer: vec![0; ROOM],
            filled: 0,
            at: 0,
            part: Part::Head,
            answer: Response { status: 0, closes: false, code: None, encoded: false },
            body_bytes: 0,
            first: None,
            body: vec![],
            kept_max: 0,
        }
    }
}

impl Reader {
    /// Forgets everything, for the answer to a new request.
    #[inline]
    pub fn reset(&mut self) {
        (self.filled, self.at, self.part, self.body_bytes, self.first) = (0, 0, Part::Head, 0, None);
        self.body.clear();
    }

    /// Buffer for the next bytes; never empty.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        if self.at > 0 && self.at == self.filled {
            (self.at, self.filled) = (0, 0);
        }
        if self.filled == self.buffer.len() {
            self.buffer.copy_within(self.at..self.filled, 0);
            (self.at, self.filled) = (0, self.filled - self.at);
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        &mut self.buffer[self.filled..]
    }

    /// Whether nothing of an answer has arrived.
    pub fn is_untouched(&self) -> bool {
        self.filled == 0 && self.part == Part::Head
    }

    /// The answer, which is complete.
    #[inline]
    pub fn answer(&self) -> Response {
        self.answer
    }

    /// Its body, if it was wanted.
    #[inline]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Length and content of its body, whether it was wanted or not.
    #[inline]
    pub fn content(&self) -> (u64, Content) {
        (self.body_bytes, Content::of(self.body_bytes, self.first, self.answer.encoded))
    }

    /// Whether bytes arrived after the answer.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.at < self.filled
    }

    /// Takes `count` more bytes from [`Reader::room`]; returns whether the answer is complete.
    ///
    /// # Errors
    /// The answer breaks the protocol.
    #[inline]
    pub fn take(&mut self, count: usize, asked: Asked<'_>, jar: Option<&mut Jar>) -> Result<bool, Nonsense> {
        self.filled += count;
        if self.part == Part::Head && !self.head(asked, jar)? {
            return Ok(false);
        }
        self.rest()
    }

    /// Handles the end of the connection; returns whether the answer is complete.
    pub fn end(&mut self) -> bool {
        let complete = self.part == Part::UntilEnd;
        self.part = if complete { Part::Complete } else { self.part };
        complete
    }

    /// Reads the head, skipping informational ones; returns whether it is complete.
    fn head(&mut self, asked: Asked<'_>, mut jar: Option<&mut Jar>) -> Result<bool, Nonsense> {
        loop {
            // Uninitialised, because filling them would take longer than parsing a usual head.
            let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
            let mut response = httparse::Response::new(&mut []);
            let arrived = &self.buffer[self.at..self.filled];
            let parsed =
                ParserConfig::default().parse_response_with_uninit_headers(&mut response, arrived, &mut headers);
            let length = match parsed {
                Ok(Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
                Ok(Status::Partial) if self.filled - self.at <= HEAD_BYTES_MAX => return Ok(false),
                _ => return Err(Nonsense),
            };
            let status = response.code.ok_or(Nonsense)?;
            if status == 101 || status < 100 {
                return Err(Nonsense);
            }
            if status >= 200 {
                let old = response.version == Some(0);
                self.answer = Response { status, closes: old, code: None, encoded: false };
                self.kept_max = match status {
                    _ if is_in(status, asked.wanted) => usize::MAX,
                    _ if is_in(status, asked.expected) => 0,
                    // One more byte, to see whether the body was longer.
                    _ => SHOWN_BYTES + 1,
                };
                let framing = framing(response.headers, &mut self.answer, jar.as_deref_mut())?;
                self.at += length;
                self.part = match framing {
                    _ if asked.is_head || status == 204 || status == 304 => Part::Complete,
                    Framing::Chunks => Part::ChunkLine,
                    Framing::Length(0) => Part::Complete,
                    Framing::Length(bytes) if self.is_too_long(bytes) => return Err(Nonsense),
                    Framing::Length(bytes) => Part::Length(bytes),
                    Framing::None => {
                        self.answer.closes = true;
                        Part::UntilEnd
                    }
                };
                return Ok(true);
            }
            self.at += length;
        }
    }

    fn rest(&mut self) -> Result<bool, Nonsense> {
        loop {
            match self.part {
                Part::Complete => return Ok(true),
                Part::Head => return Ok(false),
                Part::Length(left) => {
                    let left = self.body_part(left)?;
                    self.part = if left == 0 { Part::Complete } else { Part::Length(left) };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                Part::UntilEnd => {
                    self.body_part(u64::MAX)?;
                    return Ok(false);
                }
                Part::ChunkLine => {
                    let Some(line) = self.line()? else { return Ok(false) };
                    self.part = match chunk_length(&self.buffer[line.0..line.1])? {
                        0 => Part::Trailer,
                        length => Part::Chunk(length),
                    };
                }
                Part::Chunk(left) => {
                    let left = self.body_part(left)?;
                    self.part = if left == 0 { Part::ChunkEnd } else { Part::Chunk(left) };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                Part::ChunkEnd => {
                    let Some((from, to)) = self.line()? else { return Ok(false) };
                    if from != to {
                        return Err(Nonsense);
                    }
                    self.part = Part::ChunkLine;
                }
                Part::Trailer => {
                    let Some((from, to)) = self.line()? else { return Ok(false) };
                    if from == to {
                        self.part = Part::Complete;
                    }
                }
            }
        }
    }

    fn is_too_long(&self, bytes: u64) -> bool {
        self.kept_max == usize::MAX && bytes > BODY_BYTES_MAX
    }

    /// Takes the available part of `left` bytes of the body; returns how many are missing.
    fn body_part(&mut self, left: u64) -> Result<u64, Nonsense> {
        let there = (self.filled - self.at) as u64;
        let taken = there.min(left) as usize;
        self.body_bytes += taken as u64;
        if self.is_too_long(self.body_bytes) {
            return Err(Nonsense);
        }
        if self.first.is_none() {
            let piece = &self.buffer[self.at..self.at + taken];
            self.first = piece.iter().copied().find(|b| !b.is_ascii_whitespace() && !BYTE_ORDER_MARK.contains(b));
        }
        let kept = taken.min(self.kept_max.saturating_sub(self.body.len()));
        self.body.extend_from_slice(&self.buffer[self.at..self.at + kept]);
        self.at += taken;
        Ok(left - taken as u64)
    }

    /// The next line without its end, once it is complete.
    fn line(&mut self) -> Result<Option<(usize, usize)>, Nonsense> {
        let rest = &self.buffer[self.at..self.filled];
        let Some(end) = rest.iter().take(CHUNK_LINE_MAX).position(|b| *b == b'\n') else {
            return if rest.len() >= CHUNK_LINE_MAX { Err(Nonsense) } else { Ok(None) };
        };
        let from = self.at;
        self.at += end + 1;
        if end == 0 || self.buffer[from + end - 1] != b'\r' {
            return Err(Nonsense);
        }
        Ok(Some((from, from + end - 1)))
    }
}

fn chunk_length(line: &[u8]) -> Result<u64, Nonsense> {
    let digits = line.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    let digits = std::str::from_utf8(digits).map_err(|_| Nonsense)?;
    if digits.starts_with('+') {
        return Err(Nonsense);
    }
    u64::from_str_radix(digits, 16).map_err(|_| Nonsense)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    None,
    Length(u64),
    Chunks,
}

/// How the body ends; other relevant headers go into the answer and the jar.
fn framing(headers: &[Header<'_>], answer: &mut Response, mut jar: Option<&mut Jar>) -> Result<Framing, Nonsense> {
    let mut framing = Framing::None;
    for header in headers {
        // Compared by length first: most headers are none of these.
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            14 if is("content-length") => {
                let text = std::str::from_utf8(header.value).map_err(|_| Nonsense)?;
                let length = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
                let length = Framing::Length(length.ok_or(Nonsense)?);
                if framing == Framing::None {
                    framing = length;
                } else if framing != length && framing != Framing::Chunks {
                    return Err(Nonsense);
                }
            }
            16 if is("content-encoding") => answer.encoded |= is_compression(header.value),
            17 if is("transfer-encoding") => {
                if !header.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Nonsense);
                }
                framing = Framing::Chunks;
            }
            10 if is("connection") => {
                let mut words = header.value.split(|b| *b == b',').map(<[u8]>::trim_ascii);
                if words.clone().any(|word| word.eq_ignore_ascii_case(b"close")) {
                    answer.closes = true;
                } else if words.any(|word| word.eq_ignore_ascii_case(b"keep-alive")) {
                    answer.closes = false;
                }
            }
            10 if is("set-cookie") => {
                if let Some(jar) = jar.as_deref_mut() {
                    jar.set(header.value);
                }
            }
            12 if is("contend-code") => answer.code = contend_code(header.value),
            _ => {}
        }
    }
    Ok(framing)
}

/// `SPACE:CODE`, a SQLSTATE by its five characters.
fn contend_code(value: &[u8]) -> Option<Failure> {
    let (space, code) = std::str::from_utf8(value).ok()?.trim().split_once(':')?;
    let space = CodeSpace::from_word(space).filter(|space| *space != CodeSpace::Ok)?;
    let code = match space {
        CodeSpace::Sqlstate => sqlstate_to_code(code)?,
        _ => code.parse().ok()?,
    };
    Some(Failure { space, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer and its body, checked for every way of cutting up the bytes; `None` if it is not complete.
    fn read(text: &[u8], is_head: bool) -> Result<Option<(Response, Vec<u8>, bool)>, Nonsense> {
        let read_in = |piece: usize| {
            let mut reader = Reader::default();
            let mut complete = false;
            for bytes in text.chunks(piece) {
                reader.room()[..bytes.len()].copy_from_slice(bytes);
                let before = complete;
                complete = reader.take(bytes.len(), Asked { is_head, wanted: &[(200, 299)], expected: &[] }, None)?;
                assert!(!before || complete);
                if complete && piece < 8000 {
                    break;
                }
            }
            let complete = complete || reader.end();
            Ok(complete.then(|| (reader.answer(), reader.body().to_vec(), reader.has_more())))
        };
        let whole = read_in(8192);
        for piece in 1..20 {
            match (read_in(piece), &whole) {
                (Ok(Some((answer, body, _))), Ok(Some((expected, expected_body, _)))) => {
                    assert_eq!((&answer, &body), (expected, expected_body), "in pieces of {piece}");
                }
                (other, whole) => assert_eq!(&other, whole, "in pieces of {piece}"),
            }
        }
        whole
    }

    fn body(text: &str) -> Vec<u8> {
        read(text.as_bytes(), false).unwrap().unwrap().1
    }

    #[test]
    fn bodies_end_where_they_say() {
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), b"hello");
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n"),
            b"hello"
        );
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nuntil the end"), b"until the end");
        assert_eq!(
            body(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
            ),
            b"a"
        );
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n"), b"");
        assert_eq!(body("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"), b"");
        let head = read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true).unwrap().unwrap();
        assert_eq!((head.0.status, head.0.closes, head.1.len()), (200, false, 0));
    }

    #[test]
    fn connections_end_when_the_service_says() {
        let closes = |text: &str| read(text.as_bytes(), false).unwrap().unwrap().0.closes;
        assert!(!closes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(closes("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"));
        assert!(closes("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(!closes("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
        assert!(closes("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn more_than_the_answer_has_shows() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello";
        assert!(read(text, false).unwrap().unwrap().2);
    }

    #[test]
    fn nonsense_is_found_and_bounded() {
        for text in [
            "SSH-2.0-OpenSSH\r\n",
            "\u{15}\u{3}\u{1}",
            "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\na",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        ] {
            assert_eq!(read(text.as_bytes(), false), Err(Nonsense), "{text:?}");
        }
        for cut in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe",
            "HTTP/1.1 20",
            "HTTP/1.1 404 No\r\nContent-Length: 99999999999\r\n\r\nonly counted",
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\nonly counted",
        ] {
            assert_eq!(read(cut.as_bytes(), false), Ok(None), "{cut:?}");
        }
        let (mut reader, asked) = (Reader::default(), Asked { is_head: false, wanted: &[], expected: &[] });
        let mut more = |text: &[u8]| {
            let room = reader.room();
            let n = text.len().min(room.len());
            room[..n].copy_from_slice(&text[..n]);
            reader.take(n, asked, None)
        };
        assert_eq!(more(b"HTTP/1.1 200 OK\r\nX: "), Ok(false));
        assert!((0..4 * HEAD_BYTES_MAX / 1000).any(|_| more(&[b'y'; 1000]) == Err(Nonsense)));
    }

    #[test]
    fn codes_of_a_database_behind_the_service_are_read() {
        let code = |value: &str| {
            let text = format!("HTTP/1.1 500 No\r\ncontend-code: {value}\r\nContent-Length: 0\r\n\r\n");
            read(text.as_bytes(), false).unwrap().unwrap().0.code
        };
        assert_eq!(code("sqlite:517"), Some(Failure { space: CodeSpace::Sqlite, code: 517 }));
        assert_eq!(code("sqlstate:40001"), Some(Failure { space: CodeSpace::Sqlstate, code: 6_718_465 }));
        assert_eq!(code("ok:0"), None);
        assert_eq!(code("words"), None);
    }
}
