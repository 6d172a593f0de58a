//! Requests of a client that the server has not answered yet.

use super::frame::Fields;
use crate::trace::DONE;
use contend_interpose::token::first_word;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// A prepared statement, with the types of its parameters as far as they are known.
pub struct Prepared {
    pub id: u64,
    pub is_commit: bool,
    pub types: Mutex<Vec<u32>>,
}

/// A prepared statement with values: the body of a Bind message behind the names.
pub struct Portal {
    pub statement: Arc<Prepared>,
    pub bind: Vec<u8>,
    pub is_begun: AtomicBool,
}

/// A message of the client that the server answers.
pub enum Asked {
    Query(Pending),
    Parse { at_ns: u64, name: Vec<u8>, statement: Arc<Prepared>, sql: u64 },
    Bind { at_ns: u64, portal: Option<Arc<Portal>> },
    Describe(Option<Arc<Prepared>>),
    Execute(Pending),
    Close,
    Sync,
}

/// An execution, while it is answered.
pub struct Pending {
    pub what: What,
    pub at_ns: u64,
    pub end_ns: u64,
    pub rows: u64,
    pub changes: u64,
    pub rc: i32,
    pub sqlstate: [u8; 5],
    /// It is a COMMIT, and the server has committed.
    pub is_commit: bool,
    pub has_committed: bool,
    pub is_copied_in: bool,
}

pub enum What {
    /// A text as a whole.
    Text(u64),
    Portal(Arc<Portal>),
    /// A statement that was prepared in another way, or whose values are too long.
    Unknown,
}

impl Pending {
    pub fn new(what: What, at_ns: u64, is_commit: bool) -> Pending {
        let (rc, sqlstate) = (DONE, [0; 5]);
        let (has_committed, is_copied_in) = (false, false);
        Pending { what, at_ns, end_ns: 0, rows: 0, changes: 0, rc, sqlstate, is_commit, has_committed, is_copied_in }
    }

    pub fn of(portal: Option<Arc<Portal>>, at_ns: u64) -> Pending {
        match portal {
            Some(portal) => {
                let is_commit = portal.statement.is_commit;
                Pending::new(What::Portal(portal), at_ns, is_commit)
            }
            None => Pending::new(What::Unknown, at_ns, false),
        }
    }

    pub fn fail(&mut self, sqlstate: [u8; 5], now_ns: u64) {
        (self.rc, self.sqlstate, self.end_ns) = (code(&sqlstate), sqlstate, now_ns);
    }
}

/// SQLSTATE of statements in a transaction in which one has failed, and of its COMMIT.
pub const IS_ABORTED: &[u8; 5] = b"25P02";

/// What the server answers when a statement has ended: its first word, and the number at its end.
pub struct Tag<'t> {
    pub word: &'t str,
    pub count: u64,
}

impl Tag<'_> {
    pub fn of(tag: &[u8]) -> Tag<'_> {
        let text = std::str::from_utf8(tag).unwrap_or_default();
        let word = text.split(' ').next().unwrap_or_default();
        Tag { word, count: text.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0) }
    }

    /// Rows that the statement changed.
    pub fn changes(&self) -> u64 {
        if matches!(self.word, "INSERT" | "UPDATE" | "DELETE" | "MERGE") { self.count } else { 0 }
    }
}

/// Whether a text begins with COMMIT.
pub fn is_commit(sql: &[u8]) -> bool {
    let (word, length) = first_word(sql);
    matches!(&word[..length], b"commit" | b"end")
}

/// SQLite's code for a failure, so that both kinds of captures read alike: locks, constraints, interruptions, others.
pub fn code(sqlstate: &[u8]) -> i32 {
    match sqlstate {
        b"40001" | b"40P01" | b"55P03" => 5,
        b"57014" => 9,
        [b'2', b'3', ..] => 19,
        _ => 1,
    }
}

/// The parameters in a Bind message behind its names: place from 1, bytes, and whether they are in binary form.
pub fn values(body: &[u8], mut each: impl FnMut(u16, Option<&[u8]>, bool)) -> Option<()> {
    let mut fields = Fields(body);
    let count = fields.u16()?;
    let formats = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
    for place in 1..=fields.u16()? {
        let length = fields.u32()?.cast_signed();
        let bytes = if length < 0 { None } else { Some(fields.bytes(usize::try_from(length).ok()?)?) };
        let format = if formats.len() == 1 { formats.first() } else { formats.get(usize::from(place) - 1) };
        each(place, bytes, format == Some(&1));
    }
    Some(())
}
