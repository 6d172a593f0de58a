//! Writes segments. A client's slot has one; the next client of the same program takes it over.

use super::given::Given;
use crate::manifest::{Values, random_key};
use anyhow::{Context, Result};
use contend_interpose::format::{MAGIC, VERSION, header, kind, record, value};
use contend_interpose::hash;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes that are written before the next regular write.
const BUFFER_MAX: usize = 64 << 10;

/// Most segments without a client that stay open: at most a quarter of the files that may be open.
pub fn free_max() -> usize {
    const FREE_MAX: u64 = 256;
    getrlimit(Resource::Nofile).current.map_or(FREE_MAX, |files| FREE_MAX.min(files / 4)) as usize
}

/// The capture's clock.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The form in which values are stored. The key is in memory only.
#[derive(Clone, Copy)]
pub struct Keys {
    pub is_full: bool,
    key: [u64; 2],
}

impl Keys {
    /// # Errors
    /// The system has no random numbers.
    pub fn draw(values: Values) -> Result<Keys> {
        let key = u128::from_ne_bytes(random_key()?);
        Ok(Keys { is_full: values == Values::Full, key: [key as u64, (key >> 64) as u64] })
    }
}

/// All segments of a capture.
pub struct Writers {
    dir: PathBuf,
    keys: Keys,
    ids: AtomicU64,
    serials: AtomicU64,
    /// Segments that no client uses now, by program.
    free: Mutex<HashMap<u64, Vec<Writer>>>,
}

impl Writers {
    pub fn new(dir: &Path, keys: Keys) -> Writers {
        let (ids, serials) = (AtomicU64::new(0), AtomicU64::new(0));
        Writers { dir: dir.to_path_buf(), keys, ids, serials, free: Mutex::new(HashMap::new()) }
    }

    pub fn new_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A segment for a client of this program.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn take(&self, program: &str) -> Result<Writer> {
        let process = hash::bytes([0, 0], program.as_bytes());
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = free.get_mut(&process).and_then(Vec::pop) {
            return Ok(writer);
        }
        drop(free);
        let number = self.serials.fetch_add(1, Ordering::Relaxed) + 1;
        Writer::create(&self.dir, self.keys, (process, program), number)
    }

    /// Takes a segment back.
    pub fn give_back(&self, mut writer: Writer) {
        writer.flush();
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.values().map(Vec::len).sum::<usize>() >= free_max()
            && let Some(program) = free.keys().next().copied()
        {
            free.remove(&program);
        }
        free.entry(writer.process).or_default().push(writer);
    }
}

/// A segment.
pub struct Writer {
    file: File,
    keys: Keys,
    process: u64,
    buffer: Vec<u8>,
    /// Records in the buffer, and records that could not be written.
    waiting: u64,
    lost: u64,
    end: u64,
    /// Hashes of the texts that this segment has.
    seen: HashSet<u64>,
}

/// What the server answered to the preparation of a statement.
pub struct Parsed<'p> {
    /// 0 if it accepted the statement.
    pub rc: i32,
    /// The code of the failure.
    pub code: [u8; 5],
    /// Numbers of the types that the client declared for parameters.
    pub types: &'p [u32],
}

impl Parsed<'_> {
    pub fn refused(rc: i32, code: [u8; 5]) -> Self {
        Parsed { rc, code, types: &[] }
    }
}

/// An execution of a statement or of a text.
pub struct Executed {
    /// Bits of `format::state`, and whether it continues an earlier one.
    pub state: u8,
    pub is_rest: bool,
    pub at_ns: u64,
    pub duration_ns: u64,
    pub rows: u64,
    pub changes: u64,
    pub rc: i32,
    /// Five characters if it failed.
    pub sqlstate: [u8; 5],
}

impl Writer {
    fn create(dir: &Path, keys: Keys, (process, program): (u64, &str), number: u64) -> Result<Writer> {
        let path = dir.join(format!("{process}-{number}-1.seg"));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = made.with_context(|| format!("cannot create {}", path.display()))?;
        let (end, buffer, seen) = (header::BYTES as u64, vec![], HashSet::new());
        let mut writer = Writer { file, keys, process, buffer, waiting: 0, lost: 0, end, seen };
        let mut head = [0u8; header::BYTES];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC.to_ne_bytes());
        put(header::VERSION, &VERSION.to_ne_bytes());
        put(header::TID, &u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes());
        put(header::FULL, &u32::from(keys.is_full).to_ne_bytes());
        put(header::COMMITTED, &end.to_ne_bytes());
        put(header::PROCESS, &process.to_ne_bytes());
        writer.file.write_all(&head).with_context(|| format!("cannot write {}", path.display()))?;
        let text = format!("{program}\0");
        let parts = [&0u64.to_ne_bytes()[..], text.as_bytes()];
        writer.record((kind::PROCESS, 0, 0), process, text.len() as u64, &parts);
        Ok(writer)
    }

    fn record(&mut self, (kind, a, b): (u8, u8, u16), id: u64, t: u64, parts: &[&[u8]]) {
        let length = (record::HEAD + parts.iter().map(|part| part.len()).sum::<usize>()).next_multiple_of(8);
        let end = self.buffer.len() + length;
        let written = u32::try_from(length).expect("messages that are read are shorter");
        self.buffer.extend_from_slice(&written.to_ne_bytes());
        self.buffer.extend_from_slice(&[kind, a]);
        self.buffer.extend_from_slice(&b.to_ne_bytes());
        self.buffer.extend_from_slice(&id.to_ne_bytes());
        self.buffer.extend_from_slice(&t.to_ne_bytes());
        parts.iter().for_each(|part| self.buffer.extend_from_slice(part));
        self.buffer.resize(end, 0);
        self.waiting += 1;
        if self.buffer.len() >= BUFFER_MAX {
            self.flush();
        }
    }

    /// Writes the buffered records. Records that do not fit on a full disk are counted.
    pub fn flush(&mut self) {
        if self.buffer.is_empty() {
            return;
        }
        let end = self.end + self.buffer.len() as u64;
        let written = self.file.write_all_at(&self.buffer, self.end);
        match written.and_then(|()| self.file.write_all_at(&end.to_ne_bytes(), header::COMMITTED as u64)) {
            Ok(()) => self.end = end,
            Err(_) => {
                self.lost += self.waiting;
                // Texts among the lost records must be written again.
                self.seen.clear();
                let _ = self.file.write_all_at(&self.lost.to_ne_bytes(), header::LOST as u64);
            }
        }
        self.waiting = 0;
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_MAX);
    }

    /// A connection that was opened at this time; `place` is server and database, `flags` those of MariaDB's protocol.
    pub fn open(&mut self, id: u64, at_ns: u64, (place, version): (&str, &str), (rc, flags): (i32, u32)) {
        const LIBRARY: u64 = 1;
        let text = version.as_bytes();
        // A refused login does not say the version.
        if !text.is_empty() {
            self.record((kind::LIBRARY, 0, 0), LIBRARY, text.len() as u64, &[text]);
        }
        let (none, there) = (0u64.to_ne_bytes(), 1u64.to_ne_bytes());
        let (rc, flags) = (rc.to_ne_bytes(), flags.to_ne_bytes());
        let parts = [&none[..], &rc, &flags, &none, &there, &LIBRARY.to_ne_bytes(), place.as_bytes(), b"\0"];
        self.record((kind::OPEN, 0, 0), id, at_ns, &parts);
    }

    pub fn close(&mut self, id: u64, at_ns: u64) {
        self.record((kind::CLOSE, 0, 0), id, at_ns, &[&0u64.to_ne_bytes()]);
    }

    pub fn note(&mut self, id: u64, at_ns: u64, note: u16) {
        self.record((kind::NOTE, 0, note), id, at_ns, &[&0u64.to_ne_bytes()]);
    }

    /// The text of a statement, which is written once; returns its number. `written` gets the key of the hashes, and
    /// whether values are kept. `mode`: how the server reads it, as the same text is another statement in another mode.
    pub fn text(&mut self, (mode, sql): (u8, &[u8]), written: impl FnOnce(&[u8], [u64; 2], bool) -> Vec<u8>) -> u64 {
        let Keys { is_full, key } = self.keys;
        let number = hash::number(key, mode, hash::bytes(key, sql));
        if self.seen.insert(number) {
            let written = written(sql, key, is_full);
            self.record((kind::TEXT, 0, 0), number, written.len() as u64, &[&written]);
        }
        number
    }

    /// A prepared statement, or with `id` 0 one that was refused.
    pub fn prepare(
        &mut self,
        id: u64,
        (connection, sql): (u64, u64),
        (at_ns, duration_ns): (u64, u64),
        parsed: &Parsed,
    ) {
        let (connection, sql) = (connection.to_ne_bytes(), sql.to_ne_bytes());
        let (rc, flags, code) = (parsed.rc.to_ne_bytes(), 0u32.to_ne_bytes(), parsed.code);
        let types: Vec<u8> = parsed.types.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let numbers = [&duration_ns.to_ne_bytes()[..], &0u64.to_ne_bytes(), &connection, &sql, &rc, &flags];
        let parts = [&numbers[..], &[&code, &[0; 3], &types]].concat();
        // A message has the number of types in two bytes.
        let count = u16::try_from(parsed.types.len()).unwrap_or(0);
        self.record((kind::PREPARE, 0, count), id, at_ns, &parts);
    }

    pub fn bind(&mut self, statement: u64, place: u16, given: &Given) {
        let Keys { is_full, key } = self.keys;
        match given {
            Given::Number(kind, bits) => {
                let is_shown = is_full || *kind == value::NULL;
                let shown = if is_shown { *bits } else { hash::number(key, *kind, *bits) };
                self.record((kind::BIND, *kind, place), statement, shown, &[]);
            }
            Given::Bytes(kind, bytes) => {
                let shown = if is_full { 0 } else { hash::bytes(key, bytes) };
                let length = (bytes.len() as u64).to_ne_bytes();
                let kept: &[u8] = if is_full { bytes } else { &[] };
                self.record((kind::BIND, *kind, place), statement, shown, &[&length, kept]);
            }
            Given::Opaque => self.record((kind::BIND, value::OPAQUE, place), statement, 0, &[]),
        }
    }

    /// Ends the values of a statement's last execution.
    pub fn clear(&mut self, statement: u64) {
        self.record((kind::CLEAR, 0, 0), statement, 0, &[]);
    }

    pub fn step(&mut self, statement: u64, executed: &Executed) {
        let result = result(executed);
        self.record((kind::STEP, executed.state, u16::from(executed.is_rest)), statement, executed.at_ns, &[&result]);
    }

    /// A text that was executed as a whole.
    pub fn exec(&mut self, connection: u64, sql: u64, executed: &Executed) {
        let parts = [&result(executed)[..], &sql.to_ne_bytes()];
        self.record((kind::EXEC, executed.state, 0), connection, executed.at_ns, &parts);
    }
}

/// The part of a record that STEP and EXEC share.
fn result(executed: &Executed) -> [u8; record::STEP_BYTES - record::HEAD] {
    let mut out = [0; record::STEP_BYTES - record::HEAD];
    let mut put = |at: usize, bytes: &[u8]| out[at - record::HEAD..][..bytes.len()].copy_from_slice(bytes);
    put(record::DURATION, &executed.duration_ns.to_ne_bytes());
    put(record::INSIDE, &executed.duration_ns.to_ne_bytes());
    put(record::ROWS, &executed.rows.to_ne_bytes());
    put(record::CHANGES, &executed.changes.to_ne_bytes());
    put(record::ROWID, &executed.sqlstate);
    put(record::RC, &executed.rc.to_ne_bytes());
    out
}
