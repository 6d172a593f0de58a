//! Values that a program binds: SQLite checks and stores them, and a copy is kept for the server.

use super::front::value;
use super::hook::{hook, units};
use super::prepare::outer;
use super::real::{Real, Text, of_caller};
use super::{MISUSE, OK};
use crate::value::Value;
use contend_interpose::P;
use std::ffi::{c_int, c_void};

/// Binds with `call`, and keeps the value that `copy` makes.
unsafe fn bound(
    handle: P,
    number: c_int,
    caller: usize,
    copy: impl FnOnce(&Real) -> Value,
    call: impl FnOnce(&Real, c_int) -> c_int,
) -> c_int {
    let statement = match outer(handle, caller) {
        Some(statement) if !statement.is_native() => statement,
        _ => return of_caller(caller).map_or(MISUSE, |real| call(real, number)),
    };
    let real = statement.connection.front.real;
    if statement.has_begun() {
        // There is no such parameter: SQLite frees the argument.
        call(real, 0);
        return statement.connection.raise(&super::front::Failed::new(MISUSE, "bad parameter or other API misuse"));
    }
    // Before the call, which may free the argument.
    let value = copy(real);
    let rc = call(real, number);
    if rc == OK
        && let Ok(number) = usize::try_from(number)
    {
        statement.bind(number, value);
    }
    rc
}

unsafe fn bytes(start: *const c_void, length: usize) -> Vec<u8> {
    if start.is_null() { vec![] } else { std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec() }
}

/// A text with a length, or up to NUL.
unsafe fn utf8(start: Text, length: i64) -> Value {
    if start.is_null() {
        return Value::Null;
    }
    let length = usize::try_from(length).unwrap_or_else(|_| std::ffi::CStr::from_ptr(start).count_bytes());
    Value::Text(bytes(start.cast(), length))
}

unsafe fn utf16(start: Text, length: i64, is_big: bool) -> Value {
    if start.is_null() {
        return Value::Null;
    }
    let mut units = units(start.cast(), usize::try_from(length).ok().map(|bytes| bytes / 2));
    if is_big {
        units.iter_mut().for_each(|unit| *unit = unit.swap_bytes());
    }
    // SQLite takes a mark of the byte order as such.
    if let Some(mark @ (0xFEFF | 0xFFFE)) = units.first().copied() {
        units.remove(0);
        if mark == 0xFFFE {
            units.iter_mut().for_each(|unit| *unit = unit.swap_bytes());
        }
    }
    Value::Text(String::from_utf16_lossy(&units).into_bytes())
}

unsafe fn blob(start: *const c_void, length: i64) -> Value {
    if start.is_null() { Value::Null } else { Value::Blob(bytes(start, usize::try_from(length).unwrap_or(0))) }
}

hook!(rdx; sqlite3_bind_null(handle: P, number: c_int) -> c_int, caller {
    bound(handle, number, caller, |_| Value::Null, |real, number| (real.bind_null)(handle, number))
});

hook!(rcx; sqlite3_bind_int(handle: P, number: c_int, n: c_int) -> c_int, caller {
    bound(handle, number, caller, |_| Value::Integer(n.into()), |real, number| (real.bind_int)(handle, number, n))
});

hook!(rcx; sqlite3_bind_int64(handle: P, number: c_int, n: i64) -> c_int, caller {
    bound(handle, number, caller, |_| Value::Integer(n), |real, number| (real.bind_int64)(handle, number, n))
});

// A double is passed in another kind of register.
hook!(rdx; sqlite3_bind_double(handle: P, number: c_int, r: f64) -> c_int, caller {
    let copy = |_: &Real| if r.is_nan() { Value::Null } else { Value::Real(r) };
    bound(handle, number, caller, copy, |real, number| (real.bind_double)(handle, number, r))
});

hook!(r9; sqlite3_bind_text(handle: P, number: c_int, start: Text, length: c_int, end: P) -> c_int, caller {
    let call = |real: &Real, number| (real.bind_text)(handle, number, start, length, end);
    bound(handle, number, caller, |_| utf8(start, length.into()), call)
});

hook!(r9; sqlite3_bind_text16(handle: P, number: c_int, start: Text, length: c_int, end: P) -> c_int, caller {
    let call = |real: &Real, number| (real.bind_text16)(handle, number, start, length, end);
    bound(handle, number, caller, |_| utf16(start, length.into(), false), call)
});

hook!(stack; sqlite3_bind_text64(handle: P, number: c_int, start: Text, length: u64, end: P, encoding: u8) -> c_int, caller {
    const BIG_ENDIAN: u8 = 3;
    const UTF8_WITH_NUL: u8 = 16;
    let call = |real: &Real, number| (real.bind_text64)(handle, number, start, length, end, encoding);
    let copy = |_: &Real| match encoding {
        1 | UTF8_WITH_NUL => utf8(start, length as i64),
        _ => utf16(start, length as i64, encoding == BIG_ENDIAN),
    };
    bound(handle, number, caller, copy, call)
});

hook!(r9; sqlite3_bind_blob(handle: P, number: c_int, start: Text, length: c_int, end: P) -> c_int, caller {
    let call = |real: &Real, number| (real.bind_blob)(handle, number, start, length, end);
    bound(handle, number, caller, |_| blob(start.cast(), length.into()), call)
});

hook!(r9; sqlite3_bind_blob64(handle: P, number: c_int, start: Text, length: u64, end: P) -> c_int, caller {
    let call = |real: &Real, number| (real.bind_blob64)(handle, number, start, length, end);
    bound(handle, number, caller, |_| blob(start.cast(), length as i64), call)
});

hook!(rcx; sqlite3_bind_zeroblob(handle: P, number: c_int, length: c_int) -> c_int, caller {
    let copy = |_: &Real| Value::Blob(vec![0; usize::try_from(length).unwrap_or(0)]);
    bound(handle, number, caller, copy, |real, number| (real.bind_zeroblob)(handle, number, length))
});

hook!(rcx; sqlite3_bind_zeroblob64(handle: P, number: c_int, length: u64) -> c_int, caller {
    const LONGEST: u64 = 1_000_000_000;
    let copy = |_: &Real| Value::Blob(vec![0; length.min(LONGEST) as usize]);
    bound(handle, number, caller, copy, |real, number| (real.bind_zeroblob64)(handle, number, length))
});

hook!(rcx; sqlite3_bind_value(handle: P, number: c_int, given: P) -> c_int, caller {
    bound(handle, number, caller, |real| value(real, given), |real, number| (real.bind_value)(handle, number, given))
});

hook!(r9; sqlite3_bind_pointer(handle: P, number: c_int, pointer: P, kind: Text, end: P) -> c_int, caller {
    // In SQL a pointer is NULL.
    let call = |real: &Real, number| (real.bind_pointer)(handle, number, pointer, kind, end);
    bound(handle, number, caller, |_| Value::Null, call)
});

hook!(rsi; sqlite3_clear_bindings(handle: P) -> c_int, caller {
    match outer(handle, caller) {
        Some(statement) => {
            statement.clear_bindings();
            (statement.connection.front.real.clear_bindings)(handle)
        }
        None => of_caller(caller).map_or(MISUSE, |real| (real.clear_bindings)(handle)),
    }
});
