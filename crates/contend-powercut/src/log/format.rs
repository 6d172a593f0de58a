//! The log as bytes: a first line, then entries of `length u32, check u32, payload`, all little-endian. A payload is
//! `at_ns u64, kind u8, fields`. A field of variable length (data, a link's target) comes last and extends to the
//! end.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use super::{Attributes, Damage, Entry, Ino, Kind, Known, Log, Op};

pub const MAGIC: &[u8] = b"contend-powercut log 1\n";
/// Length and check.
const HEAD: usize = 8;
/// The kernel sends at most 1 MiB at once, so a longer payload is garbage.
const PAYLOAD_MAX: usize = 64 << 20;

/// An item of the file: something that existed before the recording, a change, or a mark.
pub enum Record<'a> {
    Known(&'a Known),
    Op(&'a Op),
    /// `Op::Write` with data borrowed from the caller.
    Write {
        ino: Ino,
        offset: u64,
        data: &'a [u8],
        sync: bool,
    },
    Full,
    End,
}

/// Appends the record to `out`, whole.
pub fn encode(out: &mut Vec<u8>, at_ns: u64, record: &Record) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    out.extend_from_slice(&at_ns.to_le_bytes());
    match record {
        Record::Known(known) => {
            put_kind(out, 1, known.kind);
            put(out, &[known.parent, known.ino, known.size]);
            put_attributes(out, known.attributes);
            out.extend_from_slice(known.name.as_bytes());
        }
        Record::Op(op) => encode_op(out, op),
        Record::Write { ino, offset, data, sync } => put_write(out, *ino, *offset, data, *sync),
        Record::Full => out.push(2),
        Record::End => out.push(3),
    }
    let payload = &out[start + HEAD..];
    let (length, check) = (payload.len() as u32, check(payload));
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + HEAD].copy_from_slice(&check.to_le_bytes());
}

fn encode_op(out: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Create { parent, name, ino, kind, attributes, target } => {
            put_kind(out, 10, *kind);
            put(out, &[*parent, *ino]);
            put_attributes(out, *attributes);
            put_name(out, name);
            out.extend_from_slice(target.as_bytes());
        }
        Op::Link { ino, parent, name } => {
            out.push(11);
            put(out, &[*ino, *parent]);
            put_name(out, name);
        }
        Op::Remove { parent, name } => {
            out.push(12);
            put(out, &[*parent]);
            put_name(out, name);
        }
        Op::Rename { parent, name, to_parent, to_name, exchange } => {
            out.extend_from_slice(&[13, u8::from(*exchange)]);
            put(out, &[*parent, *to_parent]);
            put_name(out, name);
            put_name(out, to_name);
        }
        Op::Write { ino, offset, data, sync } => put_write(out, *ino, *offset, data, *sync),
        Op::Truncate { ino, size } => numbers(out, 15, &[*ino, *size]),
        Op::Allocate { ino, size } => numbers(out, 16, &[*ino, *size]),
        Op::Zero { ino, offset, length } => numbers(out, 17, &[*ino, *offset, *length]),
        Op::Attributes { ino, attributes } => {
            numbers(out, 18, &[*ino]);
            put_attributes(out, *attributes);
        }
        Op::Sync { ino, data_only } => {
            out.extend_from_slice(&[19, u8::from(*data_only)]);
            put(out, &[*ino]);
        }
        Op::SyncDirectory { ino } => numbers(out, 20, &[*ino]),
    }
}

fn put_write(out: &mut Vec<u8>, ino: Ino, offset: u64, data: &[u8], sync: bool) {
    out.extend_from_slice(&[14, u8::from(sync)]);
    put(out, &[ino, offset]);
    out.extend_from_slice(data);
}

fn numbers(out: &mut Vec<u8>, kind: u8, values: &[u64]) {
    out.push(kind);
    put(out, values);
}

fn put(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn put_kind(out: &mut Vec<u8>, record: u8, kind: Kind) {
    let kind = match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Other => 3,
    };
    out.extend_from_slice(&[record, kind]);
}

fn put_attributes(out: &mut Vec<u8>, a: Attributes) {
    [a.mode, a.uid, a.gid].iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn put_name(out: &mut Vec<u8>, name: &OsStr) {
    out.extend_from_slice(&(name.len() as u16).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

/// A checksum over words of eight bytes. It detects garbage and truncation, not manipulation.
fn check(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut sum = bytes.len() as u64 ^ FACTOR;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        sum = (sum ^ u64::from_le_bytes(word.try_into().expect("eight"))).wrapping_mul(FACTOR).rotate_left(29);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(FACTOR).rotate_left(29);
    }
    (sum ^ (sum >> 32)) as u32
}

/// The log up to its last whole entry, and the damage after that. An error if the first line is wrong.
pub fn decode(bytes: &[u8]) -> Result<(Log, Option<Damage>), String> {
    let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
        let what = if MAGIC.starts_with(bytes) { "its first line is cut short" } else { "its first line differs" };
        return Err(format!("{what}; expected {:?}", String::from_utf8_lossy(MAGIC).trim_end()));
    };
    let mut log = Log::default();
    let mut offset = MAGIC.len() as u64;
    while !rest.is_empty() {
        match whole(rest).and_then(|payload| take(&mut log, payload).map(|()| payload.len() + HEAD)) {
            Ok(length) => {
                rest = &rest[length..];
                offset += length as u64;
            }
            Err(what) => return Ok((log, Some(Damage { offset, what: what.to_string() }))),
        }
    }
    Ok((log, None))
}

fn whole(rest: &[u8]) -> Result<&[u8], &'static str> {
    const CUT: &str = "the log is cut short in the middle of an entry";
    let head = rest.get(..HEAD).ok_or(CUT)?;
    let length = u32::from_le_bytes(head[..4].try_into().expect("four")) as usize;
    let sum = u32::from_le_bytes(head[4..].try_into().expect("four"));
    if length > PAYLOAD_MAX {
        return Err("the log has garbage where an entry should begin");
    }
    let payload = rest.get(HEAD..HEAD + length).ok_or(CUT)?;
    if check(payload) != sum { Err("the log has a damaged entry (its checksum differs)") } else { Ok(payload) }
}

/// Reads the fields of one payload.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|b| b[0])
    }

    fn long(&mut self) -> Option<u64> {
        self.bytes(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight")))
    }

    fn word(&mut self) -> Option<u32> {
        self.bytes(4).map(|b| u32::from_le_bytes(b.try_into().expect("four")))
    }

    fn kind(&mut self) -> Option<Kind> {
        [Kind::File, Kind::Directory, Kind::Symlink, Kind::Other].get(usize::from(self.byte()?)).copied()
    }

    fn attributes(&mut self) -> Option<Attributes> {
        Some(Attributes { mode: self.word()?, uid: self.word()?, gid: self.word()? })
    }

    fn name(&mut self) -> Option<OsString> {
        let length = u16::from_le_bytes(self.bytes(2)?.try_into().expect("two"));
        self.bytes(usize::from(length)).map(|b| OsString::from_vec(b.to_vec()))
    }

    fn rest(&mut self) -> OsString {
        OsString::from_vec(std::mem::take(&mut self.0).to_vec())
    }
}

fn take(log: &mut Log, payload: &[u8]) -> Result<(), &'static str> {
    let mut fields = Fields(payload);
    let known = "the log has an entry of a kind or length that this version does not know";
    let at_ns = fields.long().ok_or(known)?;
    match fields.byte().ok_or(known)? {
        1 => log.known.push(read_known(&mut fields).ok_or(known)?),
        2 => log.full = true,
        3 => log.complete = true,
        kind => {
            let op = read_op(kind, &mut fields).ok_or(known)?;
            let last = log.entries.last().map_or(0, |entry| entry.at_ns);
            if at_ns < last {
                return Err("the log has entries whose times run backwards");
            }
            log.entries.push(Entry { at_ns, op });
        }
    }
    if fields.0.is_empty() { Ok(()) } else { Err(known) }
}

fn read_known(fields: &mut Fields) -> Option<Known> {
    let kind = fields.kind()?;
    let (parent, ino, size) = (fields.long()?, fields.long()?, fields.long()?);
    Some(Known { parent, ino, kind, size, attributes: fields.attributes()?, name: fields.rest() })
}

fn read_op(kind: u8, f: &mut Fields) -> Option<Op> {
    Some(match kind {
        10 => {
            let (kind, parent, ino) = (f.kind()?, f.long()?, f.long()?);
            Op::Create { kind, parent, ino, attributes: f.attributes()?, name: f.name()?, target: f.rest() }
        }
        11 => Op::Link { ino: f.long()?, parent: f.long()?, name: f.name()? },
        12 => Op::Remove { parent: f.long()?, name: f.name()? },
        13 => {
            let (exchange, parent, to_parent) = (f.byte()? != 0, f.long()?, f.long()?);
            Op::Rename { exchange, parent, to_parent, name: f.name()?, to_name: f.name()? }
        }
        14 => {
            let (sync, ino, offset) = (f.byte()? != 0, f.long()?, f.long()?);
            Op::Write { sync, ino, offset, data: Arc::from(std::mem::take(&mut f.0)) }
        }
        15 => Op::Truncate { ino: f.long()?, size: f.long()? },
        16 => Op::Allocate { ino: f.long()?, size: f.long()? },
        17 => Op::Zero { ino: f.long()?, offset: f.long()?, length: f.long()? },
        18 => Op::Attributes { ino: f.long()?, attributes: f.attributes()? },
        19 => Op::Sync { data_only: f.byte()? != 0, ino: f.long()? },
        20 => Op::SyncDirectory { ino: f.long()? },
        _ => return None,
    })
}
