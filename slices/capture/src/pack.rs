//! Packs segments when a capture ends: each word of a record as its difference to the same word of the previous record
//! of its kind and statement, in one stream for each position, compressed with deflate.

use anyhow::{Context, Result, bail, ensure};
use contend_interpose::format::{MAGIC, header, kind, record};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};

/// First eight bytes of a packed segment, and of one that an older version packed.
const PACKED: [u8; 8] = *b"cntndpk2";
const PACKED_FIRST: [u8; 8] = *b"cntndpak";
/// Words of the longest record without its text.
const WORDS: usize = record::EXEC_BYTES / 8;
/// Streams: what follows what, lengths, `a`, texts; then one for each word from `T` on.
const ORDER: usize = 0;
const LENGTH: usize = 1;
const STATE: usize = 2;
const TEXT: usize = 3;
const FIRST_WORD: usize = 4;
const T: usize = record::T / 8;
const DURATION: usize = record::DURATION / 8;
const INSIDE: usize = record::INSIDE / 8;
const STREAMS: usize = FIRST_WORD + WORDS - T;
/// Longest record that is unpacked.
const RECORD_MAX: u64 = 1 << 31;

/// Kind, statement or connection, and place of a value.
type Key = (u8, u64, u16);

/// The records so far: packing and unpacking predict the next record from them.
#[derive(Default)]
struct Model {
    last: HashMap<Key, (u64, u8, [u64; WORDS])>,
    next: HashMap<Key, Key>,
    before: Key,
    id: u64,
    t: u64,
    /// Whether an older version packed the segment: all words are differences there.
    is_first: bool,
    has_hashes: bool,
}

/// Words of a record that are numbers; the rest is text.
fn numbers(kind: u8, words: usize) -> usize {
    let fixed = match kind {
        kind::TEXT | kind::LIBRARY => record::HEAD,
        kind::OPEN => record::OPEN_BYTES,
        kind::PREPARE => record::PREPARE_BYTES,
        kind::STEP => record::STEP_BYTES,
        kind::EXEC => record::EXEC_BYTES,
        kind::RESET => record::RESET_BYTES,
        _ => record::NUMBER_BYTES,
    };
    words.min(fixed / 8)
}

/// Whether `T` is a time: it then follows the end of the last call, whatever the kind.
fn is_timed(kind: u8) -> bool {
    !matches!(kind, kind::TEXT | kind::PROCESS | kind::LIBRARY | kind::BIND | kind::CLEAR)
}

impl Model {
    /// `head`: the segment's header.
    fn new(head: &[u8], is_first: bool) -> Model {
        let has_hashes = word(head, header::FULL) as u32 == 0;
        Model { is_first, has_hashes, ..Model::default() }
    }

    /// Whether a word can be a hash. A difference between two of these is longer than a hash.
    fn is_hash(&self, key: Key, place: usize) -> bool {
        place == T && key.0 == kind::BIND && self.has_hashes && !self.is_first
    }

    /// The predicted value of a word, given the words before it.
    fn predicted(&self, key: Key, place: usize, words: &[u64; WORDS]) -> u64 {
        match place {
            T if is_timed(key.0) => self.t,
            // Most executions are one step.
            INSIDE if key.0 == kind::STEP => words[DURATION],
            _ => self.last.get(&key).map_or(0, |(_, _, last)| last[place]),
        }
    }

    fn learn(&mut self, key: Key, length: u64, state: u8, words: [u64; WORDS]) {
        self.next.insert(self.before, key);
        (self.before, self.id) = (key, key.1);
        if is_timed(key.0) {
            let lasts = !self.is_first && matches!(key.0, kind::PREPARE | kind::STEP | kind::EXEC);
            self.t = words[T].wrapping_add(if lasts { words[DURATION] } else { 0 });
        }
        self.last.insert(key, (length, state, words));
    }
}

fn put(stream: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        stream.push(number as u8 | 0x80);
        number >>= 7;
    }
    stream.push(number as u8);
}

/// A difference as a number that is small if the difference is near 0.
fn put_difference(stream: &mut Vec<u8>, value: u64, predicted: u64) {
    let difference = value.wrapping_sub(predicted).cast_signed();
    put(stream, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

/// Why a segment that was not copied may be damaged.
pub const TWO_WRITERS: &str = "perhaps two processes wrote it, because one made the system call fork or clone itself, which \
    the library does not see; call fork() of the C library instead, or use SQLite on one side only";

/// Packs a segment; returns its bytes and its number of records. Bytes after its last complete record are dropped.
///
/// # Errors
/// The segment is damaged.
pub fn pack(segment: &[u8]) -> Result<(Vec<u8>, u64)> {
    pack_as(segment, false)
}

fn pack_as(segment: &[u8], is_first: bool) -> Result<(Vec<u8>, u64)> {
    ensure!(word(segment, 0) == MAGIC && segment.len() >= header::BYTES, "not a segment");
    let end = usize::try_from(word(segment, header::COMMITTED))?;
    ensure!(end <= segment.len(), "a segment is cut");
    let (mut model, mut streams) = (Model::new(segment, is_first), vec![vec![]; STREAMS]);
    let (mut at, mut records) = (header::BYTES, 0);
    while at + record::HEAD <= end {
        let length = word(segment, at) as u32 as usize;
        let is_whole = length >= record::HEAD && length.is_multiple_of(8) && at + length <= end;
        ensure!(is_whole, "a segment is damaged at byte {at}: {TWO_WRITERS}");
        put_record(&mut model, &mut streams, &segment[at..at + length]);
        (at, records) = (at + length, records + 1);
    }
    let mut out = if is_first { PACKED_FIRST } else { PACKED }.to_vec();
    out.extend_from_slice(&segment[..header::BYTES]);
    let mut encoder = DeflateEncoder::new(out, Compression::new(7));
    for stream in &streams {
        encoder.write_all(&(stream.len() as u64).to_le_bytes())?;
        encoder.write_all(stream)?;
    }
    Ok((encoder.finish()?, records))
}

fn put_record(model: &mut Model, streams: &mut [Vec<u8>], bytes: &[u8]) {
    let head = word(bytes, 0);
    let key: Key = ((head >> 32) as u8, word(bytes, record::ID), (head >> 48) as u16);
    if model.next.get(&model.before) == Some(&key) {
        put(&mut streams[ORDER], 0);
    } else {
        put(&mut streams[ORDER], u64::from(key.0) + 1);
        put(&mut streams[ORDER], u64::from(key.2));
        put_difference(&mut streams[ORDER], key.1, model.id);
    }
    let (length, state) = (bytes.len() as u64 / 8, (head >> 40) as u8);
    let (last_length, last_state) = model.last.get(&key).map_or((0, 0), |(length, state, _)| (*length, *state));
    put_difference(&mut streams[LENGTH], length, last_length);
    put(&mut streams[STATE], u64::from(state ^ last_state));
    let (mut words, fixed) = ([0; WORDS], numbers(key.0, bytes.len() / 8));
    for place in T..fixed {
        words[place] = word(bytes, place * 8);
        let (stream, predicted) = (FIRST_WORD + place - T, model.predicted(key, place, &words));
        if model.is_hash(key, place) {
            let is_new = words[place] != predicted;
            streams[stream].push(u8::from(is_new));
            streams[TEXT].extend(words[place].to_le_bytes().iter().filter(|_| is_new));
        } else {
            put_difference(&mut streams[stream], words[place], predicted);
        }
    }
    streams[TEXT].extend_from_slice(&bytes[fixed * 8..]);
    model.learn(key, length, state, words);
}

/// Streams of a packed segment while they are read.
struct Streams {
    bytes: Vec<u8>,
    /// Places of the next byte and of the end of each.
    at: [(usize, usize); STREAMS],
}

impl Streams {
    fn of(bytes: Vec<u8>) -> Result<Streams> {
        let (mut at, mut from) = ([(0, 0); STREAMS], 0usize);
        for stream in &mut at {
            let length = bytes.get(from..from + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
            let length = usize::try_from(length.context("too short")?)?;
            let end = (from + 8).checked_add(length).filter(|end| *end <= bytes.len()).context("too short")?;
            *stream = (from + 8, end);
            from = end;
        }
        Ok(Streams { bytes, at })
    }

    fn is_empty(&self, stream: usize) -> bool {
        self.at[stream].0 == self.at[stream].1
    }

    fn take(&mut self, stream: usize, length: usize) -> Result<&[u8]> {
        let (from, end) = self.at[stream];
        ensure!(length <= end - from, "too short");
        self.at[stream].0 += length;
        Ok(&self.bytes[from..from + length])
    }

    fn number(&mut self, stream: usize) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(stream, 1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        bail!("a number without an end")
    }

    fn value(&mut self, stream: usize, predicted: u64) -> Result<u64> {
        let number = self.number(stream)?;
        Ok(((number >> 1) ^ (number & 1).wrapping_neg()).wrapping_add(predicted))
    }
}

/// The segment as it was before it was packed; `None` if the bytes are not a packed segment.
///
/// # Errors
/// The bytes are damaged.
pub fn unpack(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let first = bytes.strip_prefix(&PACKED_FIRST);
    let Some(rest) = first.or_else(|| bytes.strip_prefix(&PACKED)) else { return Ok(None) };
    let (head, rest) = rest.split_at_checked(header::BYTES).context("too short")?;
    let mut plain = vec![];
    DeflateDecoder::new(rest).read_to_end(&mut plain)?;
    let (mut model, mut streams) = (Model::new(head, first.is_some()), Streams::of(plain)?);
    let mut out = head.to_vec();
    while !streams.is_empty(ORDER) {
        take_record(&mut model, &mut streams, &mut out)?;
    }
    let end = out.len() as u64;
    out[header::COMMITTED..header::COMMITTED + 8].copy_from_slice(&end.to_ne_bytes());
    Ok(Some(out))
}

fn take_record(model: &mut Model, streams: &mut Streams, out: &mut Vec<u8>) -> Result<()> {
    let key: Key = match streams.number(ORDER)? {
        0 => *model.next.get(&model.before).context("an order that is not there")?,
        kind => {
            let place = u16::try_from(streams.number(ORDER)?)?;
            (u8::try_from(kind - 1)?, streams.value(ORDER, model.id)?, place)
        }
    };
    let (last_length, last_state) = model.last.get(&key).map_or((0, 0), |(length, state, _)| (*length, *state));
    let length = streams.value(LENGTH, last_length)?;
    ensure!((record::HEAD as u64 / 8..RECORD_MAX / 8).contains(&length), "a length that cannot be");
    let state = u8::try_from(streams.number(STATE)?)? ^ last_state;
    let (mut words, fixed) = ([0; WORDS], numbers(key.0, usize::try_from(length)?));
    for place in T..fixed {
        let (stream, predicted) = (FIRST_WORD + place - T, model.predicted(key, place, &words));
        words[place] = match model.is_hash(key, place) {
            true if streams.number(stream)? == 0 => predicted,
            true => word(streams.take(TEXT, 8)?, 0),
            false => streams.value(stream, predicted)?,
        };
    }
    let head = (length * 8) | u64::from(key.0) << 32 | u64::from(state) << 40 | u64::from(key.2) << 48;
    out.extend_from_slice(&head.to_ne_bytes());
    out.extend_from_slice(&key.1.to_ne_bytes());
    words[T..fixed].iter().for_each(|word| out.extend_from_slice(&word.to_ne_bytes()));
    out.extend_from_slice(streams.take(TEXT, (usize::try_from(length)? - fixed) * 8)?);
    model.learn(key, length, state, words);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(out: &mut Vec<u8>, (kind, a, b): (u8, u8, u16), id: u64, words: &[u64]) {
        let length = (16 + words.len() * 8) as u64;
        let head = length | u64::from(kind) << 32 | u64::from(a) << 40 | u64::from(b) << 48;
        [head, id].iter().chain(words).for_each(|word| out.extend_from_slice(&word.to_ne_bytes()));
    }

    /// A segment of INSERTs with two values, and one record of each kind in between.
    fn segment(inserts: u64) -> Vec<u8> {
        let mut out = vec![0; header::BYTES];
        out[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        let (mut t, mut random) = (1 << 40, 7u64);
        for i in 0..inserts {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (t, random) = (t + 1_500 + (random >> 55), random ^ i);
            record(&mut out, (kind::BIND, 1, 1), 5, &[i]);
            record(&mut out, (kind::BIND, 3, 2), 5, &[0, 11, random, random]);
            let took = 900 + (random >> 56);
            record(&mut out, (kind::STEP, 3, 0), 5, &[t, took, took, 0, 0, 1, i, 101]);
            if i % 1000 == 0 {
                for kind in 0..=u8::MAX {
                    record(&mut out, (kind, kind, 9), random, &[u64::MAX - random; 14][..1 + usize::from(kind % 14)]);
                }
            }
        }
        let end = out.len() as u64;
        out[header::COMMITTED..header::COMMITTED + 8].copy_from_slice(&end.to_ne_bytes());
        out
    }

    #[test]
    fn a_segment_comes_back_byte_for_byte() {
        for inserts in [0, 1, 2_500] {
            let segment = segment(inserts);
            for is_first in [false, true] {
                let (packed, _) = pack_as(&segment, is_first).expect("packed");
                assert_eq!(unpack(&packed).expect("unpacked"), Some(segment.clone()), "{inserts} {is_first}");
                for cut in 1..packed.len().min(300) {
                    let _ = unpack(&packed[..cut]);
                }
            }
            assert_eq!(unpack(&segment).expect("read"), None, "a segment that is not packed");
        }
        let mut long = segment(3);
        long.extend([1; 4096]);
        assert_eq!(unpack(&pack(&long).expect("packed").0).expect("unpacked"), Some(segment(3)), "space is dropped");
    }

    #[test]
    fn a_statement_with_a_new_hash_takes_less_than_ten_bytes() {
        const STATEMENTS: u64 = 5_000;
        let mut out = vec![0; header::BYTES];
        out[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        let (mut t, mut random) = (1 << 40, 7u64);
        for _ in 0..STATEMENTS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let took = 900 + (random >> 58);
            record(&mut out, (kind::BIND, 1, 1), 5, &[random]);
            record(&mut out, (kind::STEP, 3, 0), 5, &[t, took, took, 0, 0, 1, 0, 101]);
            t += took + 150;
        }
        let end = out.len() as u64;
        out[header::COMMITTED..header::COMMITTED + 8].copy_from_slice(&end.to_ne_bytes());
        let size = |is_first| pack_as(&out, is_first).expect("packed").0.len() as u64;
        assert!(
            size(false) < 10 * STATEMENTS && size(false) < size(true) - STATEMENTS,
            "{} {}",
            size(false),
            size(true)
        );
    }
}
