//! Declarations for the C library and the kernel. Only slow paths use them: first use, a full segment, opening.

use core::ffi::{c_char, c_int, c_long, c_void};

pub type P = *mut c_void;

#[cfg_attr(interpose, link(name = "c"))]
unsafe extern "C" {
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn __errno_location() -> *mut c_int;
    pub fn getenv(name: *const c_char) -> *const c_char;
    pub fn getauxval(kind: u64) -> u64;
    pub fn pthread_atfork(prepare: P, parent: P, child: extern "C" fn()) -> c_int;
    pub fn pthread_key_create(key: *mut u32, end: extern "C" fn(P)) -> c_int;
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn dlvsym(handle: P, name: *const c_char, version: *const c_char) -> P;
    pub fn dladdr1(address: *const c_void, info: *mut DlInfo, map: *mut *const LinkMap, flags: c_int) -> c_int;
    pub fn dl_iterate_phdr(each: extern "C" fn(*const PhdrInfo, usize, P) -> c_int, data: P) -> c_int;
    pub fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    pub fn strlen(text: *const c_char) -> usize;
    pub fn memmem(text: *const c_void, length: usize, part: *const c_void, part_length: usize) -> *const c_void;
    #[cfg(interpose)]
    pub fn abort() -> !;
}

#[repr(C)]
pub struct DlInfo {
    pub name: *const c_char,
    pub base: P,
    pub symbol: *const c_char,
    pub address: P,
}

#[repr(C)]
pub struct LinkMap {
    pub base: usize,
    pub name: *const c_char,
}

#[repr(C)]
pub struct PhdrInfo {
    pub base: usize,
    pub name: *const c_char,
    pub headers: *const Phdr,
    pub count: u16,
    /// Numbers of objects that were added and removed so far.
    pub adds: u64,
    pub removals: u64,
}

#[repr(C)]
pub struct Phdr {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub physical: u64,
    pub in_file: u64,
    pub in_memory: u64,
    pub align: u64,
}

pub const NR_WRITE: c_long = 1;
pub const NR_CLOSE: c_long = 3;
pub const NR_MMAP: c_long = 9;
pub const NR_MPROTECT: c_long = 10;
pub const NR_MUNMAP: c_long = 11;
pub const NR_ACCESS: c_long = 21;
pub const NR_MREMAP: c_long = 25;
pub const NR_NANOSLEEP: c_long = 35;
pub const NR_GETPID: c_long = 39;
pub const NR_KILL: c_long = 62;
pub const NR_TRUNCATE: c_long = 76;
pub const NR_UNLINK: c_long = 87;
pub const NR_RENAME: c_long = 82;
pub const NR_GETPPID: c_long = 110;
pub const NR_GETTID: c_long = 186;
pub const NR_READ: c_long = 0;
pub const NR_OPENAT: c_long = 257;
pub const NR_MKNOD: c_long = 133;
pub const NR_NEWFSTATAT: c_long = 262;
pub const NR_READLINKAT: c_long = 267;
pub const NR_PWRITEV: c_long = 296;
pub const NR_PRLIMIT64: c_long = 302;

pub const AT_FDCWD: c_long = -100;
pub const O_RDWR_NEW: c_long = 0o2 | 0o100 | 0o200 | 0o400000 | 0o2000000;
pub const O_RDWR_NOFOLLOW: c_long = 0o2 | 0o400000 | 0o2000000;
pub const O_RDONLY_CLOEXEC: c_long = 0o2000000;
pub const ENOENT: c_int = 2;
pub const ESRCH: c_int = 3;

/// Restores `errno` when dropped.
pub struct Errno(c_int);

impl Errno {
    pub fn keep() -> Errno {
        // SAFETY: the C library gives each thread its own.
        Errno(unsafe { *__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *__errno_location() = self.0 }
    }
}

/// A NUL-terminated text of bounded length, without allocation.
pub struct Line<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Line<N> {
    pub const fn new() -> Line<N> {
        Line { bytes: [0; N], length: 0 }
    }

    pub fn of(text: &[u8]) -> Line<N> {
        let mut line = Line::new();
        line.text(text);
        line
    }

    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        for &byte in text {
            if self.length + 1 < N {
                self.bytes[self.length] = byte;
                self.length += 1;
            }
        }
        self
    }

    pub fn number(&mut self, number: u64) -> &mut Self {
        let (mut digits, mut at, mut rest) = ([0u8; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.text(&digits[at..])
    }

    pub fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The largest file that this process may write (`ulimit -f`), in bytes.
pub fn file_limit() -> usize {
    const RLIMIT_FSIZE: c_long = 1;
    let mut limits = [u64::MAX; 2];
    let none: *const u64 = core::ptr::null();
    // SAFETY: the kernel writes the current and the greatest limit.
    unsafe { syscall(NR_PRLIMIT64, 0 as c_long, RLIMIT_FSIZE, none, limits.as_mut_ptr()) };
    usize::try_from(limits[0]).unwrap_or(usize::MAX)
}

/// New memory for a slow path; `None` if there is none.
///
/// # Safety
/// The caller gives it back with `NR_MUNMAP`.
pub unsafe fn memory(size: usize) -> Option<*mut u8> {
    const READ_WRITE: c_long = 3;
    const PRIVATE_ANONYMOUS: c_long = 0x22;
    let (none, zero): (c_long, c_long) = (-1, 0);
    let place = syscall(NR_MMAP, zero, size, READ_WRITE, PRIVATE_ANONYMOUS, none, zero);
    (place > 0).then_some(place as *mut u8)
}

/// The kernel's facts about a file: device, inode, and six more to the size in bytes. `None` if there is no such file.
///
/// # Safety
/// On a slow path only.
pub unsafe fn stat(path: *const c_char) -> Option<[u64; 18]> {
    let mut stat = [0u64; 18];
    let none: c_long = 0;
    (syscall(NR_NEWFSTATAT, AT_FDCWD, path, stat.as_mut_ptr(), none) >= 0).then_some(stat)
}

/// The bytes before NUL.
///
/// # Safety
/// `text` is NULL, or valid and terminated by NUL.
pub unsafe fn bytes<'t>(text: *const c_char) -> &'t [u8] {
    if text.is_null() { &[] } else { core::slice::from_raw_parts(text.cast(), strlen(text)) }
}
