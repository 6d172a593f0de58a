//! Bound values. A record is written before the call, because SQLite may free the value, and committed if the call
//! succeeds.

use crate::call::{Name, OK, hook, mark};
use crate::format::{kind, note as noted, record, value};
use crate::hash::{self, Sip};
use crate::real::{self, Real};
use crate::segment::{commit, get, head, lose, note, put, room, settings, ticks};
use crate::sys::{self, P};
use crate::table;
use crate::thread::{Thread, enter, is_inner, leave, thread};
use core::ffi::{c_int, c_void};

/// Length of a UTF-16 text in bytes.
///
/// # Safety
/// The text is valid; without a length it ends with NUL.
pub unsafe fn bytes_of_utf16(text: Name, bytes: c_int) -> usize {
    if bytes >= 0 {
        return bytes as usize & !1;
    }
    let mut units = 0;
    while text.cast::<u16>().add(units).read_unaligned() != 0 {
        units += 1;
    }
    units * 2
}

/// Converts the text to UTF-8, as SQLite reads it: a byte order mark says the order. Returns whether UTF-8 can hold it; half of a
/// surrogate pair becomes three bytes that are not UTF-8.
pub fn utf8(wide: &[u8], is_big: bool, mut each: impl FnMut(u8)) -> bool {
    let (wide, is_big) = match wide {
        [0xfe, 0xff, rest @ ..] => (rest, true),
        [0xff, 0xfe, rest @ ..] => (rest, false),
        _ => (wide, is_big),
    };
    let mut is_exact = true;
    let unit =
        |two: &[u8]| if is_big { u16::from_be_bytes([two[0], two[1]]) } else { u16::from_le_bytes([two[0], two[1]]) };
    for unit in char::decode_utf16(wide.chunks_exact(2).map(unit)) {
        match unit {
            Ok(unit) => unit.encode_utf8(&mut [0; 4]).bytes().for_each(&mut each),
            Err(half) => {
                is_exact = false;
                let half = half.unpaired_surrogate();
                let [low, middle] = [half, half >> 6].map(|bits| 0x80 | (bits & 0x3f) as u8);
                [0xe0 | (half >> 12) as u8, middle, low].into_iter().for_each(&mut each);
            }
        }
    }
    is_exact
}

/// A value as the program passes it.
#[derive(Clone, Copy)]
enum Value {
    /// Type, and the number's bits.
    Number(u8, u64),
    Bytes(u8, *const u8, usize),
    /// In UTF-16, and whether the first byte of two is the high one.
    Wide(*const u8, usize, bool),
    Zeros(u64),
}

impl Value {
    /// Whether a record can hold it.
    unsafe fn is_exact(self) -> bool {
        match self {
            Value::Wide(start, bytes, is_big) => utf8(core::slice::from_raw_parts(start, bytes), is_big, |_| ()),
            _ => true,
        }
    }
}

/// Writes a value. Returns the length of the record, 0 if there is no space.
#[inline(always)]
unsafe fn write(t: *mut Thread, id: u64, index: c_int, given: Value) -> usize {
    let (full, key) = (settings().full, settings().key);
    match given {
        Value::Number(kind, bits) => {
            let place = room(t, record::HEAD);
            if place.is_null() {
                return 0;
            }
            let (kind, shown) =
                if full || kind == value::NULL { (kind, bits) } else { hash::of_number(key, kind, bits) };
            head(place, record::HEAD, (kind::BIND, kind, index as u16), id, shown);
            record::HEAD
        }
        _ => write_long(t, id, index, given),
    }
}

#[inline(never)]
unsafe fn write_long(t: *mut Thread, id: u64, index: c_int, given: Value) -> usize {
    let (full, key) = (settings().full, settings().key);
    let tag = |kind| (kind::BIND, kind, index as u16);
    let (kind, start, bytes) = match given {
        Value::Bytes(kind, start, bytes) => (kind, start, bytes),
        Value::Wide(start, bytes, _) => (value::TEXT, start, bytes),
        Value::Zeros(length) => {
            let place = room(t, record::NUMBER_BYTES);
            if place.is_null() {
                return 0;
            }
            head(place, record::NUMBER_BYTES, tag(value::ZEROS), id, 0);
            put(place, record::NUMBER, length);
            return record::NUMBER_BYTES;
        }
        Value::Number(..) => return 0,
    };
    let raw: &[u8] = if bytes == 0 { &[] } else { core::slice::from_raw_parts(start, bytes) };
    let (is_wide, is_big) = (matches!(given, Value::Wide(..)), matches!(given, Value::Wide(.., true)));
    let mut length = bytes;
    if is_wide {
        length = 0;
        utf8(raw, is_big, |_| length += 1);
    }
    let whole = (record::NUMBER_BYTES + if full { length } else { 0 }).next_multiple_of(8);
    let place = room(t, whole);
    if place.is_null() {
        return 0;
    }
    let mut shown = 0;
    match (full, is_wide) {
        (false, false) => shown = hash::bytes(key, raw),
        (false, true) => {
            let mut sip = Sip::new(key);
            utf8(raw, is_big, |byte| sip.byte(byte));
            shown = sip.end();
        }
        (true, false) => core::ptr::copy_nonoverlapping(raw.as_ptr(), place.add(record::NUMBER_BYTES), bytes),
        (true, true) => {
            let mut at = record::NUMBER_BYTES;
            utf8(raw, is_big, |byte| {
                put(place, at, byte);
                at += 1;
            });
        }
    }
    head(place, whole, tag(kind), id, shown);
    put(place, record::NUMBER, length as u64);
    whole
}

#[inline(always)]
unsafe fn bind(stmt: P, index: c_int, given: Value, caller: usize, call: impl FnOnce(&Real) -> c_int) -> c_int {
    let t = thread();
    if is_inner(t, caller) {
        return call(&*(*t).inside);
    }
    let s = table::statement(t, stmt);
    if s.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { 21 } else { call(&*real) };
    }
    let connection = if given.is_exact() { core::ptr::null_mut() } else { table::connection((*s).db) };
    if !connection.is_null() {
        mark(t, connection, (kind::NOTE, noted::SURROGATE), 0);
    }
    // A record has 16 bits for the index.
    let fits = u16::try_from(index).is_ok();
    let bytes = if fits { write(t, (*s).id, index, given) } else { 0 };
    let (at, serial) = ((*t).at, (*t).serial);
    let before = enter(t, (*s).real);
    let rc = call(&*(*s).real);
    leave(t, before);
    if rc == OK && bytes > 0 {
        let is_same = (*t).serial == serial;
        if is_same && (*t).at == at {
            commit(t, bytes);
        } else if !is_same || !is_bind((*t).base.add(at), (*s).id, index) {
            // A destructor of the program has written other records in its place.
            lose(t);
        }
    } else if rc == OK && !fits {
        lose(t);
    }
    rc
}

/// Whether a record is the one of this value. SQLite's functions for binding end in each other: then the last one, whose
/// caller is the program too, has written it.
unsafe fn is_bind(place: *const u8, id: u64, index: c_int) -> bool {
    get::<u8>(place, record::KIND) == kind::BIND
        && get::<u64>(place, record::ID) == id
        && get::<u16>(place, record::B) == index as u16
}

unsafe fn narrow(kind: u8, start: Name, bytes: usize) -> Value {
    if start.is_null() { Value::Number(value::NULL, 0) } else { Value::Bytes(kind, start.cast(), bytes) }
}

unsafe fn wide(start: Name, bytes: c_int, is_big: bool) -> Value {
    if start.is_null() {
        return Value::Number(value::NULL, 0);
    }
    Value::Wide(start.cast(), bytes_of_utf16(start, bytes), is_big)
}

unsafe fn text(start: Name, bytes: c_int) -> Value {
    let length = if bytes >= 0 || start.is_null() { bytes.max(0) as usize } else { sys::strlen(start) };
    narrow(value::TEXT, start, length)
}

type End = *const c_void;

hook!(rdx; sqlite3_bind_null(stmt: P, index: c_int) -> c_int, caller {
    bind(stmt, index, Value::Number(value::NULL, 0), caller, |real| (real.bind_null)(stmt, index))
});

hook!(rcx; sqlite3_bind_int(stmt: P, index: c_int, number: c_int) -> c_int, caller {
    let given = Value::Number(value::INTEGER, i64::from(number) as u64);
    bind(stmt, index, given, caller, |real| (real.bind_int)(stmt, index, number))
});

hook!(rcx; sqlite3_bind_int64(stmt: P, index: c_int, number: i64) -> c_int, caller {
    let given = Value::Number(value::INTEGER, number as u64);
    bind(stmt, index, given, caller, |real| (real.bind_int64)(stmt, index, number))
});

hook!(rdx; sqlite3_bind_double(stmt: P, index: c_int, number: f64) -> c_int, caller {
    let given = Value::Number(value::REAL, number.to_bits());
    bind(stmt, index, given, caller, |real| (real.bind_double)(stmt, index, number))
});

hook!(r9; sqlite3_bind_text(stmt: P, index: c_int, start: Name, bytes: c_int, end: End) -> c_int, caller {
    bind(stmt, index, text(start, bytes), caller, |real| (real.bind_text)(stmt, index, start, bytes, end))
});

hook!(r9; sqlite3_bind_text16(stmt: P, index: c_int, start: Name, bytes: c_int, end: End) -> c_int, caller {
    bind(stmt, index, wide(start, bytes, false), caller, |real| (real.bind_text16)(stmt, index, start, bytes, end))
});

hook!(stack; sqlite3_bind_text64(stmt: P, index: c_int, start: Name, bytes: u64, end: End, code: u8) -> c_int, caller {
    // The second one says that a NUL follows.
    const UTF8: [u8; 2] = [1, 16];
    const UTF16_BIG: u8 = 3;
    // SQLite returns TOOBIG and does not read the text.
    let given = match c_int::try_from(bytes) {
        Ok(bytes) if UTF8.contains(&code) => text(start, bytes),
        Ok(bytes) => wide(start, bytes, code == UTF16_BIG),
        Err(_) => Value::Number(value::NULL, 0),
    };
    bind(stmt, index, given, caller, |real| (real.bind_text64)(stmt, index, start, bytes, end, code))
});

hook!(r9; sqlite3_bind_blob(stmt: P, index: c_int, start: Name, bytes: c_int, end: End) -> c_int, caller {
    let given = narrow(value::BLOB, start, bytes.max(0) as usize);
    bind(stmt, index, given, caller, |real| (real.bind_blob)(stmt, index, start, bytes, end))
});

hook!(r9; sqlite3_bind_blob64(stmt: P, index: c_int, start: Name, bytes: u64, end: End) -> c_int, caller {
    let given = match c_int::try_from(bytes) {
        Ok(_) => narrow(value::BLOB, start, bytes as usize),
        Err(_) => Value::Number(value::NULL, 0),
    };
    bind(stmt, index, given, caller, |real| (real.bind_blob64)(stmt, index, start, bytes, end))
});

hook!(rcx; sqlite3_bind_zeroblob(stmt: P, index: c_int, bytes: c_int) -> c_int, caller {
    let given = Value::Zeros(bytes.max(0) as u64);
    bind(stmt, index, given, caller, |real| (real.bind_zeroblob)(stmt, index, bytes))
});

hook!(rcx; sqlite3_bind_zeroblob64(stmt: P, index: c_int, bytes: u64) -> c_int, caller {
    bind(stmt, index, Value::Zeros(bytes), caller, |real| (real.bind_zeroblob64)(stmt, index, bytes))
});

hook!(r9; sqlite3_bind_pointer(stmt: P, index: c_int, pointer: P, kind: Name, end: End) -> c_int, caller {
    let given = Value::Number(value::OPAQUE, 0);
    bind(stmt, index, given, caller, |real| (real.bind_pointer)(stmt, index, pointer, kind, end))
});

hook!(rcx; sqlite3_bind_value(stmt: P, index: c_int, from: P) -> c_int, caller {
    let t = thread();
    let s = table::statement(t, stmt);
    let given = if s.is_null() || is_inner(t, caller) {
        Value::Number(value::NULL, 0)
    } else {
        let real = &*(*s).real;
        match (real.value_type)(from) {
            1 => Value::Number(value::INTEGER, (real.value_int64)(from) as u64),
            2 => Value::Number(value::REAL, (real.value_double)(from).to_bits()),
            // The bytes of a text as they are; SQLite converts to UTF-8 only on request.
            kind @ (3 | 4) => {
                let start = (real.value_blob)(from);
                let kind = if kind == 3 { value::TEXT } else { value::BLOB };
                Value::Bytes(kind, start.cast(), (real.value_bytes)(from).max(0) as usize)
            }
            _ => Value::Number(value::NULL, 0),
        }
    };
    bind(stmt, index, given, caller, |real| (real.bind_value)(stmt, index, from))
});

hook!(rsi; sqlite3_clear_bindings(stmt: P) -> c_int, caller {
    let t = thread();
    if is_inner(t, caller) {
        return ((*(*t).inside).clear_bindings)(stmt);
    }
    let s = table::statement(t, stmt);
    if s.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { OK } else { ((*real).clear_bindings)(stmt) };
    }
    note(t, (kind::CLEAR, 0, 0), (*s).id, 0, 0);
    ((*(*s).real).clear_bindings)(stmt)
});

hook!(rdx; sqlite3_transfer_bindings(from: P, to: P) -> c_int, caller {
    let t = thread();
    if is_inner(t, caller) {
        return ((*(*t).inside).transfer_bindings)(from, to);
    }
    let giver = table::statement(t, from);
    let id = if giver.is_null() { 0 } else { (*giver).id };
    let s = table::statement(t, to);
    if s.is_null() {
        let real = real::of_caller(caller);
        return if real.is_null() { 21 } else { ((*real).transfer_bindings)(from, to) };
    }
    let rc = ((*(*s).real).transfer_bindings)(from, to);
    if rc == OK {
        note(t, (kind::TRANSFER, 0, 0), (*s).id, ticks(), id as i64);
    }
    rc
});

#[cfg(test)]
mod tests {
    use super::utf8;

    fn read(wide: &[u8], is_big: bool) -> (Vec<u8>, bool) {
        let mut bytes = vec![];
        let is_exact = utf8(wide, is_big, |byte| bytes.push(byte));
        (bytes, is_exact)
    }

    #[test]
    fn texts_in_utf16_are_read_in_their_order_and_what_utf8_cannot_hold_is_known() {
        assert_eq!(read(b"\0h\0i", true), (b"hi".to_vec(), true));
        assert_eq!(read(b"h\0i\0", false), (b"hi".to_vec(), true));
        assert_eq!(read(b"\xfe\xff\0h", false), (b"h".to_vec(), true), "a byte order mark is no part of the text");
        assert_eq!(read(b"\xff\xfeh\0", true), (b"h".to_vec(), true));
        assert_eq!(read(b"\x3d\xd8\x00\xde", false), ("\u{1f600}".into(), true));
        let (bytes, is_exact) = read(b"\x3d\xd8a\0", false);
        assert_eq!((bytes, is_exact), (b"\xed\xa0\xbda".to_vec(), false));
        assert!(std::str::from_utf8(&read(b"\x3d\xd8", false).0).is_err());
    }
}
