//! Intercepts statements: preparation, execution, end.

use crate::ask;
use crate::call::{Name, OK, connection_of, hook};
use crate::format::{PENDING, kind, prepared, record, state};
use crate::hash;
use crate::real::{self, Real};
use crate::segment::{commit, get, head, is_on, lose, new_id, put, room, settings, ticks, untracked};
use crate::sys::{self, P};
use crate::table::{self, Statement};
use crate::text::{self, Sink};
use crate::thread::{Thread, enter, is_inner, leave, thread};
use crate::token;
use core::ffi::c_int;

const ROW: c_int = 100;
const DONE: c_int = 101;

/// A statement's text as passed to SQLite.
#[derive(Clone, Copy)]
pub enum Sql {
    Utf8(Name, c_int),
    Utf16(Name, c_int),
}

/// Writes the text of a statement once per thread; returns its hash.
///
/// # Safety
/// `t` belongs to this thread, and the text is valid.
pub unsafe fn write_text(t: *mut Thread, sql: Sql, tail: Name) -> u64 {
    let (Sql::Utf8(start, _) | Sql::Utf16(start, _)) = sql;
    // The rest of a script is not looked at: each of its statements would do that.
    let bytes = if tail >= start { tail as usize - start as usize } else { length_of(sql) };
    let raw: &[u8] = core::slice::from_raw_parts(start.cast(), bytes);
    let hash = hash::bytes(settings().key, raw);
    let seen = &mut (*t).seen[(hash & 63) as usize];
    if *seen == (hash >> 32) as u32 {
        return hash;
    }
    let is_written = match sql {
        Sql::Utf8(..) => put_text(t, hash, raw),
        Sql::Utf16(..) => put_wide(t, hash, raw),
    };
    if is_written {
        *seen = (hash >> 32) as u32;
    }
    hash
}

/// Writes the record of a text; false if there is no space.
unsafe fn put_text(t: *mut Thread, hash: u64, raw: &[u8]) -> bool {
    const SHORT: usize = 4096;
    // The bound is many times the length: a long text is written twice, first only to count.
    let most = if raw.len() <= SHORT { text::room(raw.len()) } else { write_trimmed(raw, &mut []) };
    let place = room(t, (record::HEAD + most).next_multiple_of(8));
    if place.is_null() {
        return false;
    }
    let length = write_trimmed(raw, core::slice::from_raw_parts_mut(place.add(record::HEAD), most));
    let whole = (record::HEAD + length).next_multiple_of(8);
    head(place, whole, (kind::TEXT, 0, 0), hash, length as u64);
    commit(t, whole);
    true
}

/// As [`put_text`], for a text in UTF-16, which is converted in memory of its own.
#[cold]
unsafe fn put_wide(t: *mut Thread, hash: u64, raw: &[u8]) -> bool {
    let size = raw.len() * 2 + 1;
    let Some(memory) = sys::memory(size) else {
        lose(t);
        return false;
    };
    let mut utf8 = Sink::new(core::slice::from_raw_parts_mut(memory, size));
    crate::bind::utf8(raw, false, |byte| utf8.byte(byte));
    let is_written = put_text(t, hash, core::slice::from_raw_parts(memory, utf8.length));
    sys::syscall(sys::NR_MUNMAP, memory, size);
    is_written
}

/// The length of a text in bytes. SQLite stops at the first NUL.
unsafe fn length_of(sql: Sql) -> usize {
    match sql {
        Sql::Utf8(start, length) if length < 0 => sys::strlen(start),
        Sql::Utf8(start, length) => {
            let text: &[u8] = core::slice::from_raw_parts(start.cast(), length as usize);
            text.iter().position(|byte| *byte == 0).unwrap_or(text.len())
        }
        Sql::Utf16(start, length) => {
            let units = crate::bind::bytes_of_utf16(start, length) / 2;
            let is_end = |unit: &usize| start.cast::<u16>().add(*unit).read_unaligned() == 0;
            (0..units).find(is_end).unwrap_or(units) * 2
        }
    }
}

fn write_trimmed(raw: &[u8], out: &mut [u8]) -> usize {
    let end = raw.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';').map_or(0, |last| last + 1);
    let mut sink = Sink::new(out);
    text::write(&raw[..end], settings().key, !settings().full, &mut sink);
    sink.length
}

/// Shared by the six functions that prepare.
#[inline(always)]
unsafe fn prepare(db: P, sql: Sql, out: *mut P, caller: usize, call: impl FnOnce(&Real, *mut Name) -> c_int) -> c_int {
    let t = thread();
    let mut tail: Name = core::ptr::null();
    if is_inner(t, caller) {
        return call(&*(*t).inside, &raw mut tail);
    }
    let connection = connection_of(t, db, caller);
    if connection.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { 21 } else { call(&*real, &raw mut tail) };
    }
    let (real, id) = (&*(*connection).real, (*connection).id);
    let (waited, t0) = ((*t).waited, ticks());
    let before = enter(t, real);
    let rc = call(real, &raw mut tail);
    leave(t, before);
    let duration = ticks() - t0;
    let statement = if out.is_null() { core::ptr::null_mut() } else { *out };
    let (Sql::Utf8(start, _) | Sql::Utf16(start, _)) = sql;
    if start.is_null() || (rc == OK && statement.is_null()) {
        return rc;
    }
    let errno = sys::Errno::keep();
    let hash = write_text(t, sql, tail);
    let is_readonly = rc == OK && (real.stmt_readonly)(statement) != 0;
    let number = if rc == OK { new_id() } else { 0 };
    if rc == OK {
        let (is_attach, db) = (starts_with(sql, b"attach"), db);
        let is_added = table::add_statement(statement, |entry| {
            (entry.id, entry.real, entry.db, entry.is_readonly) = (number, real, db, is_readonly);
            entry.is_attach = is_attach;
        });
        if !is_added {
            untracked(t);
        }
    }
    let place = room(t, record::PREPARE_BYTES);
    if !place.is_null() {
        head(place, record::PREPARE_BYTES, (kind::PREPARE, 0, 0), number, t0);
        put(place, record::DURATION, duration);
        put(place, record::PREPARE_WAITED, (*t).waited - waited);
        put(place, record::PREPARE_CONNECTION, id);
        put(place, record::PREPARE_SQL, hash);
        put(place, record::PREPARE_RC, if rc == OK { OK } else { (real.extended_errcode)(db) });
        put(place, record::PREPARE_FLAGS, if is_readonly { prepared::READONLY } else { 0 });
        commit(t, record::PREPARE_BYTES);
    }
    drop(errno);
    rc
}

/// Whether a statement begins with this word.
pub unsafe fn starts_with(sql: Sql, word: &[u8]) -> bool {
    const LOOKED_AT: usize = 512;
    let Sql::Utf8(start, length) = sql else { return false };
    let most = usize::try_from(length).map_or(LOOKED_AT, |length| length.min(LOOKED_AT));
    let length = (0..most).find(|&at| *start.add(at) == 0).unwrap_or(most);
    let (first, letters) = token::first_word(core::slice::from_raw_parts(start.cast(), length));
    &first[..letters] == word
}

macro_rules! preparing {
    ($($name:ident $real:ident $form:ident;)*) => {$(
        hook!(r9; $name(db: P, sql: Name, bytes: c_int, out: *mut P, tail: *mut Name) -> c_int, caller {
            prepare(db, Sql::$form(sql, bytes), out, caller, |real, own| {
                let rc = (real.$real)(db, sql, bytes, out, own);
                if !tail.is_null() { *tail = *own }
                rc
            })
        });
    )*};
}

preparing! {
    sqlite3_prepare prepare Utf8;
    sqlite3_prepare_v2 prepare_v2 Utf8;
    sqlite3_prepare16 prepare16 Utf16;
    sqlite3_prepare16_v2 prepare16_v2 Utf16;
}

macro_rules! preparing_with_flags {
    ($($name:ident $real:ident $form:ident;)*) => {$(
        hook!(stack; $name(db: P, sql: Name, bytes: c_int, flags: u32, out: *mut P, tail: *mut Name) -> c_int, caller {
            prepare(db, Sql::$form(sql, bytes), out, caller, |real, own| {
                let rc = (real.$real)(db, sql, bytes, flags, out, own);
                if !tail.is_null() { *tail = *own }
                rc
            })
        });
    )*};
}

preparing_with_flags! {
    sqlite3_prepare_v3 prepare_v3 Utf8;
    sqlite3_prepare16_v3 prepare16_v3 Utf16;
}

/// The last rowid. It is a user's value, and only a replay needs it: with hashes it is left out.
#[inline(always)]
unsafe fn rowid(real: &Real, db: P) -> i64 {
    if settings().full { (real.last_insert_rowid)(db) } else { 0 }
}

/// Begins the record of an execution, or of its continuation by another thread.
#[inline(always)]
unsafe fn begin(t: *mut Thread, s: *mut Statement, t0: u64) {
    let place = room(t, record::STEP_BYTES);
    if !place.is_null() {
        let before = if ((*(*s).real).get_autocommit)((*s).db) != 0 { state::AUTOCOMMIT_BEFORE } else { 0 };
        // Without room for its beginning there is nothing that it could continue.
        let part = u16::from((*s).is_running && !(*s).record.is_null());
        head(place, record::STEP_BYTES, (kind::STEP, before, part), (*s).id, t0);
        put(place, record::DURATION, 0u64);
        put(place, record::INSIDE, 0u64);
        put(place, record::WAITED, 0u64);
        put(place, record::ROWS, 0u64);
        put(place, record::CHANGES, 0u64);
        put(place, record::ROWID, 0u64);
        // With the unused bytes after it.
        put(place, record::RC, u64::from(PENDING.cast_unsigned()));
        commit(t, record::STEP_BYTES);
    }
    (*s).record = place;
    (*s).serial = (*t).serial;
    (*s).is_running = true;
}

hook!(rsi; sqlite3_step(stmt: P) -> c_int, caller {
    let t = thread();
    if is_inner(t, caller) {
        return ((*(*t).inside).step)(stmt);
    }
    let s = table::statement(t, stmt);
    if s.is_null() {
        return unknown(t, stmt, caller);
    }
    let real = &*(*s).real;
    let is_first = !(*s).is_running;
    if is_first && (*s).is_attach {
        attach(real, stmt);
    }
    let t0 = ticks();
    if is_first || (*s).serial != (*t).serial || (*s).record.is_null() {
        begin(t, s, t0);
    }
    let waited = (*t).waited;
    let before = enter(t, real);
    let rc = (real.step)(stmt);
    leave(t, before);
    let t1 = ticks();
    let place = record_of(t, s, t0);
    if !place.is_null() {
        put(place, record::INSIDE, get::<u64>(place, record::INSIDE) + (t1 - t0));
        put(place, record::WAITED, get::<u64>(place, record::WAITED) + (*t).waited - waited);
        put(place, record::DURATION, t1 - get::<u64>(place, record::T));
        if rc == ROW {
            put(place, record::ROWS, get::<u64>(place, record::ROWS) + 1);
            put(place, record::RC, ROW);
        }
    }
    if rc != ROW {
        ended(t, s, rc);
    }
    rc
});

/// The record of a running statement. If a callback of the program has filled the segment during the step that began at `t0`, a
/// new record continues it from there.
#[inline(always)]
unsafe fn record_of(t: *mut Thread, s: *mut Statement, t0: u64) -> *mut u8 {
    if (*s).serial != (*t).serial && !(*s).record.is_null() {
        continued(t, s, t0);
    }
    (*s).record
}

#[cold]
#[inline(never)]
unsafe fn continued(t: *mut Thread, s: *mut Statement, t0: u64) {
    begin(t, s, t0);
}

/// A step of a statement that is not in the table.
#[inline(always)]
unsafe fn unknown(t: *mut Thread, stmt: P, caller: usize) -> c_int {
    let real = real::of_caller(caller);
    if real.is_null() {
        return 21;
    }
    if !is_on() {
        return ((*real).step)(stmt);
    }
    let before = enter(t, real);
    let rc = ((*real).step)(stmt);
    leave(t, before);
    // An execution counts once, not with each of its rows.
    if rc != ROW && !stmt.is_null() {
        untracked(t);
    }
    rc
}

/// Completes the record of an execution with its result.
#[inline(always)]
unsafe fn ended(t: *mut Thread, s: *mut Statement, rc: c_int) {
    let (real, db, place) = (&*(*s).real, (*s).db, (*s).record);
    (*s).is_running = false;
    if place.is_null() || (*s).serial != (*t).serial {
        return;
    }
    if !(*s).is_readonly && rc == DONE {
        put(place, record::CHANGES, i64::from((real.changes)(db)));
        put(place, record::ROWID, rowid(real, db));
    }
    let after = if (real.get_autocommit)(db) != 0 { state::AUTOCOMMIT_AFTER } else { 0 };
    put(place, record::A, get::<u8>(place, record::A) | after);
    let rc = if rc == DONE { DONE } else { whole(real, db, rc) };
    put(place, record::RC, rc);
}

/// The result code, extended by the connection's error state.
unsafe fn whole(real: &Real, db: P, rc: c_int) -> c_int {
    let extended = (real.extended_errcode)(db);
    if extended & 0xff == rc & 0xff { extended } else { rc }
}

unsafe fn attach(real: &Real, stmt: P) {
    let sql = (real.expanded_sql)(stmt);
    if !sql.is_null() {
        ask::attached(sys::bytes(sql));
        (real.free)(sql.cast());
    }
}

/// A statement that ends before its last row.
struct Cut {
    id: u64,
    real: *const Real,
    db: P,
    is_readonly: bool,
}

/// A statement was reset or finalized before its last row, which ends a reader's lock, and commits what returned rows.
/// `begun`: ticks, and ticks asleep, before that.
unsafe fn cut_short(t: *mut Thread, of: &Cut, rc: c_int, begun: (u64, u64)) {
    let (place, end) = (room(t, record::RESET_BYTES), ticks());
    let Cut { id, real, db, is_readonly } = *of;
    let real = &*real;
    if !place.is_null() {
        let after = if (real.get_autocommit)(db) != 0 { state::AUTOCOMMIT_AFTER } else { 0 };
        let (changes, rowid) = if is_readonly { (0, 0) } else { (i64::from((real.changes)(db)), rowid(real, db)) };
        head(place, record::RESET_BYTES, (kind::RESET, after, 0), id, end);
        put(place, record::NUMBER, i64::from(rc));
        put(place, record::RESET_INSIDE, end - begun.0);
        put(place, record::RESET_WAITED, (*t).waited - begun.1);
        put(place, record::RESET_CHANGES, changes);
        put(place, record::RESET_ROWID, rowid);
        commit(t, record::RESET_BYTES);
    }
}

hook!(rsi; sqlite3_reset(stmt: P) -> c_int, caller {
    let t = thread();
    if is_inner(t, caller) {
        return ((*(*t).inside).reset)(stmt);
    }
    let s = table::statement(t, stmt);
    if s.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { 21 } else { ((*real).reset)(stmt) };
    }
    let begun = if (*s).is_running { (ticks(), (*t).waited) } else { (0, 0) };
    let before = enter(t, (*s).real);
    let rc = ((*(*s).real).reset)(stmt);
    leave(t, before);
    if !(*s).is_running {
        return rc;
    }
    (*s).is_running = false;
    cut_short(t, &Cut { id: (*s).id, real: (*s).real, db: (*s).db, is_readonly: (*s).is_readonly }, rc, begun);
    rc
});

hook!(rsi; sqlite3_finalize(stmt: P) -> c_int, caller {
    let t = thread();
    if is_inner(t, caller) {
        return ((*(*t).inside).finalize)(stmt);
    }
    let s = table::statement(t, stmt);
    if s.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { OK } else { ((*real).finalize)(stmt) };
    }
    let (real, running) = ((*s).real, (*s).is_running);
    let of = Cut { id: (*s).id, real, db: (*s).db, is_readonly: (*s).is_readonly };
    // Another thread may get the same address as soon as SQLite frees it.
    table::remove_statement(s);
    let before = enter(t, real);
    // Reset first: finalizing the last statement of a connection closed with sqlite3_close_v2 frees the connection, which has
    // the number of changes.
    let ended = running.then(|| {
        let begun = (ticks(), (*t).waited);
        let rc = ((*real).reset)(stmt);
        cut_short(t, &of, rc, begun);
        rc
    });
    let rc = ((*real).finalize)(stmt);
    leave(t, before);
    ended.unwrap_or(rc)
});

/// Begins the record of an `sqlite3_exec`; `part` is 1 if it replaces one in a segment that is full.
unsafe fn begin_exec(t: *mut Thread, real: &Real, (db, id): (P, u64), (t0, hash, part): (u64, u64, u16)) -> *mut u8 {
    let place = room(t, record::EXEC_BYTES);
    if !place.is_null() {
        let before = if (real.get_autocommit)(db) != 0 { state::AUTOCOMMIT_BEFORE } else { 0 };
        head(place, record::EXEC_BYTES, (kind::EXEC, before, part), id, t0);
        core::ptr::write_bytes(place.add(record::HEAD), 0, record::EXEC_BYTES - record::HEAD);
        put(place, record::RC, PENDING);
        put(place, record::EXEC_SQL, hash);
        commit(t, record::EXEC_BYTES);
    }
    place
}

/// What happened in the program while it was called during an `sqlite3_exec`, and the number of rows that it got.
#[derive(Clone, Copy, Default)]
pub struct Outside {
    pub rows: u64,
    pub ticks: u64,
    /// Ticks asleep in calls of SQLite that it made.
    pub waited: u64,
    /// Rows that it changed there.
    pub changes: c_int,
}

/// Rows that an `sqlite3_exec` changed, of which `total` is the number with triggers and foreign keys. SQLite has the exact number
/// of the last statement only: of a script it is `total`.
unsafe fn changes_of(real: &Real, db: P, sql: Name, total: c_int) -> c_int {
    let last = (real.changes)(db);
    let is_script = || {
        let all = || token::tokens(sys::bytes(sql), 0);
        let end = all().position(|token| token == b";");
        end.is_some_and(|end| all().skip(end).any(|token| token != b";"))
    };
    if !real.has_total_changes() || (total != 0 && total != last && !is_script()) { last } else { total }
}

/// Shared by `sqlite3_exec` and `sqlite3_get_table`.
///
/// # Safety
/// As for the replaced function.
pub unsafe fn exec(db: P, sql: Name, caller: usize, call: impl FnOnce(&Real, &mut Outside) -> c_int) -> c_int {
    let t = thread();
    let mut outside = Outside::default();
    let inner = is_inner(t, caller);
    let connection = if inner { core::ptr::null_mut() } else { connection_of(t, db, caller) };
    if connection.is_null() || sql.is_null() {
        let real = if inner { (*t).inside } else { real::of_caller(caller) };
        return if real.is_null() { 21 } else { call(&*real, &mut outside) };
    }
    let (real, id) = (&*(*connection).real, (*connection).id);
    if starts_with(Sql::Utf8(sql, -1), b"attach") {
        ask::attached(sys::bytes(sql));
    }
    let errno = sys::Errno::keep();
    let hash = write_text(t, Sql::Utf8(sql, -1), core::ptr::null());
    let t0 = ticks();
    let place = begin_exec(t, real, (db, id), (t0, hash, 0));
    drop(errno);
    let (serial, waited, total) = ((*t).serial, (*t).waited, (real.total_changes)(db));
    let before = enter(t, real);
    let rc = call(real, &mut outside);
    leave(t, before);
    let duration = ticks() - t0;
    let place =
        if place.is_null() || (*t).serial == serial { place } else { begin_exec(t, real, (db, id), (t0, hash, 1)) };
    if !place.is_null() {
        put(place, record::DURATION, duration);
        put(place, record::INSIDE, duration.saturating_sub(outside.ticks));
        put(place, record::WAITED, ((*t).waited - waited).saturating_sub(outside.waited));
        put(place, record::ROWS, outside.rows);
        let total = (real.total_changes)(db).wrapping_sub(total).wrapping_sub(outside.changes);
        put(place, record::CHANGES, i64::from(changes_of(real, db, sql, total)));
        put(place, record::ROWID, rowid(real, db));
        let after = if (real.get_autocommit)(db) != 0 { state::AUTOCOMMIT_AFTER } else { 0 };
        put(place, record::A, get::<u8>(place, record::A) | after);
        put(place, record::RC, if rc == OK { DONE } else { whole(real, db, rc) });
    }
    rc
}
