//! A record as it is stored in a segment.

use contend_interpose::format::{kind, record};

/// What follows a server's PREPARE: the code of a failure in eight bytes, then the declared types, whose number is `b`.
const PREPARE_CODE: usize = record::PREPARE_BYTES;
const PREPARE_TYPES: usize = PREPARE_CODE + 8;

/// Process and thread of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    pub process: u64,
    pub pid: u32,
    pub tid: u32,
}

/// A record as stored in a segment.
pub struct Raw {
    pub who: Who,
    pub bytes: Vec<u8>,
}

impl Raw {
    /// A record without further fields.
    #[cfg(test)]
    pub fn made(who: Who, (kind, b): (u8, u16), id: u64, t: u64) -> Raw {
        let mut bytes = vec![0; record::HEAD];
        bytes[record::KIND] = kind;
        bytes[record::B..][..2].copy_from_slice(&b.to_ne_bytes());
        bytes[record::ID..][..8].copy_from_slice(&id.to_ne_bytes());
        bytes[record::T..][..8].copy_from_slice(&t.to_ne_bytes());
        Raw { who, bytes }
    }

    pub fn kind(&self) -> u8 {
        self.bytes[record::KIND]
    }

    pub fn a(&self) -> u8 {
        self.bytes[record::A]
    }

    pub fn b(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[record::B], self.bytes[record::B + 1]])
    }

    /// A number at an offset; 0 if the record is too short.
    pub fn u64(&self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    pub fn u32(&self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    pub fn i32(&self, at: usize) -> i32 {
        self.u32(at).cast_signed()
    }

    pub fn id(&self) -> u64 {
        self.u64(record::ID)
    }

    pub fn t(&self) -> u64 {
        self.u64(record::T)
    }

    pub fn bytes(&self, at: usize, length: u64) -> &[u8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        &rest[..rest.len().min(usize::try_from(length).unwrap_or(usize::MAX))]
    }

    /// The code with which a server refused to prepare a statement, in a PREPARE.
    pub fn prepare_code(&self) -> u64 {
        self.u64(PREPARE_CODE)
    }

    /// Numbers of the types that a client declared for the parameters of a PREPARE; 0 leaves one to the server.
    pub fn declared_types(&self) -> Vec<u32> {
        (0..usize::from(self.b())).map(|i| self.u32(PREPARE_TYPES + i * size_of::<u32>())).collect()
    }

    /// Whether `t` is a time.
    pub fn is_timed(&self) -> bool {
        !matches!(self.kind(), kind::TEXT | kind::PROCESS | kind::LIBRARY | kind::BIND | kind::CLEAR)
    }
}
