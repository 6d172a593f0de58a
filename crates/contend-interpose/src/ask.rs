//! Asks contend to store the content of a database before it is opened for the first time, because only contend's own
//! process may open the file, and to examine a file with SQLite linked into it. The program waits for the answer.

use crate::format::{CONTENT, CONTENT_ASKED};
use crate::segment::settings;
use crate::sys::{self, Line};
use core::ffi::{c_int, c_long};

/// Device and inode of a file, if it is not empty.
unsafe fn identity(path: &[u8]) -> Option<(u64, u64)> {
    let stat = sys::stat(Line::<1100>::of(path).as_ptr())?;
    let size = stat[6];
    (size > 0).then_some((stat[0], stat[1]))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The path in `file:...?...#...`, or the name itself.
fn path_of(name: &[u8]) -> Line<1100> {
    let mut path = Line::new();
    let Some(mut rest) = name.strip_prefix(b"file:") else {
        path.text(name);
        return path;
    };
    if let Some(after) = rest.strip_prefix(b"//") {
        rest = &after[after.iter().position(|&byte| byte == b'/').unwrap_or(after.len())..];
    }
    let mut i = 0;
    while i < rest.len() && rest[i] != b'?' && rest[i] != b'#' {
        let escaped = rest.get(i + 1..i + 3).filter(|_| rest[i] == b'%');
        match escaped.and_then(|two| Some(digit(two[0])? << 4 | digit(two[1])?)) {
            Some(byte) => {
                path.text(&[byte]);
                i += 3;
            }
            None => {
                path.text(&rest[i..=i]);
                i += 1;
            }
        }
    }
    path
}

/// Requests the content of a database by the name passed to SQLite. Returns device and inode, or zeros if the file is
/// empty or missing.
///
/// # Safety
/// On a slow path only.
pub unsafe fn keep_content(name: &[u8]) -> (u64, u64) {
    let _errno = sys::Errno::keep();
    if name.is_empty() || name.starts_with(b":memory:") {
        return (0, 0);
    }
    let path = path_of(name);
    let Some(file) = identity(path.as_bytes()) else { return (0, 0) };
    wait_for((CONTENT_ASKED, CONTENT), path.as_bytes(), file);
    file
}

/// A file in contend's directory about the file with this device and inode.
pub fn named<const N: usize>(begin: &str, (device, inode): (u64, u64)) -> Line<N> {
    let mut line = Line::new();
    line.text(settings().directory.as_bytes()).text(b"/").text(begin.as_bytes());
    line.number(device).text(b"-").number(inode);
    line
}

/// Requests something about a file, and waits until contend has it. `begins`: of the names of request and answer.
///
/// # Safety
/// On a slow path only.
pub unsafe fn wait_for(begins: (&str, &str), path: &[u8], file: (u64, u64)) {
    let (question, done) = (named::<1200>(begins.0, file), named::<1200>(begins.1, file));
    let is_there = |line: &Line<1200>| sys::syscall(sys::NR_ACCESS, line.as_ptr(), 0 as c_int) == 0;
    if is_there(&done) {
        return;
    }
    let made = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, question.as_ptr(), sys::O_RDWR_NEW, 0o600 as c_long);
    if made >= 0 {
        let mut directory = [0u8; 1024];
        let mut text = Line::<2200>::new();
        if !path.starts_with(b"/") {
            let here = c"/proc/self/cwd".as_ptr();
            let length = sys::syscall(sys::NR_READLINKAT, sys::AT_FDCWD, here, directory.as_mut_ptr(), directory.len());
            text.text(&directory[..length.max(0) as usize]).text(b"/");
        }
        text.text(path).text(b"\n");
        let length = text.as_bytes().len();
        let written = sys::syscall(sys::NR_WRITE, made, text.as_ptr(), length);
        sys::syscall(sys::NR_CLOSE, made);
        if written != length as c_long {
            // No disk space: contend would wait for ever for a request that is never complete.
            sys::syscall(sys::NR_UNLINK, question.as_ptr());
        }
    }
    while !is_there(&done) && is_there(&question) {
        // Signal 0 only checks whether contend is alive.
        let gone = sys::syscall(sys::NR_KILL, settings().contend, 0 as c_long) < 0;
        if gone && *sys::__errno_location() == sys::ESRCH {
            break;
        }
        let time = [0i64, 500_000];
        let none: *const u8 = core::ptr::null();
        sys::syscall(sys::NR_NANOSLEEP, time.as_ptr(), none);
    }
}

/// Requests the content of the database that a statement attaches.
///
/// # Safety
/// As for [`keep_content`].
pub unsafe fn attached(sql: &[u8]) {
    let Some(from) = sql.iter().position(|&byte| byte == b'\'' || byte == b'"') else { return };
    let quote = sql[from];
    let rest = &sql[from + 1..];
    if let Some(length) = rest.iter().position(|&byte| byte == quote) {
        keep_content(&rest[..length]);
    }
}
