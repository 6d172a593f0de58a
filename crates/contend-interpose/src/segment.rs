//! Segments: memory-mapped files to which threads write records. Committed records survive any end of the process,
//! because the pages belong to the kernel.

use crate::format::{MAGIC, SEGMENT_MAX, SPARE, SPARES, VARIABLE, VERSION, WANTED, header, kind, record};
use crate::hash;
use crate::sys::{self, Errno, Line, P};
use crate::thread::{Thread, forget_segment, thread};
use core::ffi::{c_int, c_long};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Number of forks from the original process to this one; 0 while nothing is captured.
pub static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Number of the last segment. A forked process counts on: its statements may still have numbers of its parent's segments.
static SERIAL: AtomicU32 = AtomicU32::new(0);
/// Whether the process has a record with its name.
static NAMED: AtomicBool = AtomicBool::new(false);
static IDS: AtomicU64 = AtomicU64::new(0);
/// When a segment could not be created, in nanoseconds; 0 if the last one could. The program continues without being
/// captured until the next attempt.
static FAILED: AtomicU64 = AtomicU64::new(0);
const RETRY_NS: u64 = 1_000_000_000;
/// Whether an empty file shows that records are missing.
static MARKED: AtomicBool = AtomicBool::new(false);
static LOST: AtomicU32 = AtomicU32::new(0);
static UNTRACKED: AtomicU32 = AtomicU32::new(0);

/// Settings from contend's environment variable, and facts about the process.
pub struct Settings {
    pub full: bool,
    pub tsc: bool,
    pub key: [u64; 2],
    pub contend: u64,
    pub directory: Line<1024>,
    process: u64,
    ends: u32,
    /// Device and inode of the root directory in which `directory` is a path.
    root: Option<[u64; 2]>,
}

static mut SETTINGS: Settings = Settings {
    full: false,
    tsc: false,
    key: [0; 2],
    contend: 0,
    directory: Line::new(),
    process: 0,
    ends: 0,
    root: None,
};

/// Written once before the program's own code runs, and in the child of a fork while it has a single thread.
#[inline(always)]
pub fn settings() -> &'static Settings {
    // SAFETY: as above.
    unsafe { &*(&raw const SETTINGS) }
}

#[inline(always)]
pub fn is_on() -> bool {
    GENERATION.load(Ordering::Relaxed) != 0
}

/// Reads the environment. Does nothing without contend's variable, or in a program with more rights than its user.
///
/// # Safety
/// Called once, when the library is loaded.
pub unsafe fn begin() {
    const AT_SECURE: u64 = 23;
    let name = Line::<32>::of(VARIABLE.as_bytes());
    let text = sys::bytes(sys::getenv(name.as_ptr()));
    if text.is_empty() || sys::getauxval(AT_SECURE) != 0 {
        return;
    }
    let mut fields = text.splitn(5, |&byte| byte == b':');
    let (Some(values), Some(clock), Some(pid), Some(key), Some(directory)) =
        (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return;
    };
    let settings = &mut *(&raw mut SETTINGS);
    settings.full = values == b"full";
    settings.tsc = clock == b"ticks";
    settings.contend = pid.iter().fold(0, |number, &digit| number * 10 + u64::from(digit.wrapping_sub(b'0')));
    for (i, &digit) in key.iter().take(32).enumerate() {
        let value = if digit >= b'a' { digit - b'a' + 10 } else { digit.wrapping_sub(b'0') };
        settings.key[i / 16] = settings.key[i / 16] << 4 | u64::from(value & 15);
    }
    settings.directory.text(directory);
    settings.root = root();
    name_process();
    sys::pthread_key_create(&raw mut settings.ends, thread_ends);
    sys::pthread_atfork(null_mut(), null_mut(), forked);
    GENERATION.store(1, Ordering::Release);
}

extern "C" fn forked() {
    // SAFETY: the child has one thread.
    unsafe {
        let t = thread();
        // The parent process continues to use its own segment.
        if !(*t).base.is_null() {
            sys::syscall(sys::NR_MUNMAP, (*t).base, (*t).end);
        }
        forget_segment(t);
        name_process();
    }
    NAMED.store(false, Ordering::Relaxed);
    FAILED.store(0, Ordering::Relaxed);
    MARKED.store(false, Ordering::Relaxed);
    LOST.store(0, Ordering::Relaxed);
    UNTRACKED.store(0, Ordering::Relaxed);
    crate::real::unlock();
    // After the end of the capture, a child captures nothing either.
    if is_on() {
        GENERATION.fetch_add(1, Ordering::Release);
    }
}

/// Draws the number that distinguishes this process's ids from those of others.
unsafe fn name_process() {
    let settings = &mut *(&raw mut SETTINGS);
    let pid = sys::syscall(sys::NR_GETPID) as u64;
    settings.process = hash::bytes(settings.key, &[pid.to_ne_bytes(), ticks().to_ne_bytes()].concat_16());
    IDS.store(settings.process << 32, Ordering::Relaxed);
}

trait Concat {
    fn concat_16(&self) -> [u8; 16];
}

impl Concat for [[u8; 8]; 2] {
    fn concat_16(&self) -> [u8; 16] {
        core::array::from_fn(|i| self[i / 8][i % 8])
    }
}

pub fn new_id() -> u64 {
    IDS.fetch_add(1, Ordering::Relaxed) + 1
}

/// The capture's clock.
#[inline(always)]
pub fn ticks() -> u64 {
    if settings().tsc { crate::ticks() } else { nanoseconds() }
}

fn nanoseconds() -> u64 {
    let mut time = [0i64; 2];
    // SAFETY: answered without a system call, and without changing `errno`.
    unsafe { sys::clock_gettime(1, &raw mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// Space for a record of `bytes` bytes, a multiple of 8; NULL if there is none.
///
/// # Safety
/// `t` belongs to this thread.
#[inline(always)]
pub unsafe fn room(t: *mut Thread, bytes: usize) -> *mut u8 {
    if (*t).generation == GENERATION.load(Ordering::Relaxed) && (*t).at + bytes <= (*t).end {
        return (*t).base.add((*t).at);
    }
    grow(t, bytes)
}

/// Writes the common head of a record.
///
/// # Safety
/// `place` has space for it.
#[inline(always)]
pub unsafe fn head(place: *mut u8, bytes: usize, tag: (u8, u8, u16), id: u64, t: u64) {
    let (kind, a, b) = tag;
    let word = bytes as u64 | u64::from(kind) << 32 | u64::from(a) << 40 | u64::from(b) << 48;
    place.cast::<u64>().write(word);
    put(place, record::ID, id);
    put(place, record::T, t);
}

/// # Safety
/// `place` has space for it.
#[inline(always)]
pub unsafe fn put<T>(place: *mut u8, at: usize, value: T) {
    place.add(at).cast::<T>().write_unaligned(value);
}

/// # Safety
/// `place` contains it.
#[inline(always)]
pub unsafe fn get<T: Copy>(place: *const u8, at: usize) -> T {
    place.add(at).cast::<T>().read_unaligned()
}

/// Commits a complete record.
///
/// # Safety
/// [`room`] returned its place.
#[inline(always)]
pub unsafe fn commit(t: *mut Thread, bytes: usize) {
    (*t).at += bytes;
    (*(*t).base.add(header::COMMITTED).cast::<AtomicU64>()).store((*t).at as u64, Ordering::Release);
}

/// Writes a record with one number.
///
/// # Safety
/// `t` belongs to this thread.
pub unsafe fn note(t: *mut Thread, tag: (u8, u8, u16), id: u64, at: u64, number: i64) {
    let place = room(t, record::NUMBER_BYTES);
    if !place.is_null() {
        head(place, record::NUMBER_BYTES, tag, id, at);
        put(place, record::NUMBER, number);
        commit(t, record::NUMBER_BYTES);
    }
}

/// Writes a record that ends with a text; `fill` writes the part between head and text.
///
/// # Safety
/// `t` belongs to this thread.
pub unsafe fn with_text(
    t: *mut Thread,
    tag: (u8, u8, u16),
    ids: (u64, u64),
    before: usize,
    parts: &[&[u8]],
) -> *mut u8 {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let bytes = (before + length).next_multiple_of(8);
    let place = room(t, bytes);
    if place.is_null() {
        return place;
    }
    head(place, bytes, tag, ids.0, ids.1);
    core::ptr::write_bytes(place.add(record::HEAD), 0, bytes - record::HEAD);
    let mut at = before;
    for part in parts {
        core::ptr::copy_nonoverlapping(part.as_ptr(), place.add(at), part.len());
        at += part.len();
    }
    place
}

/// Starts a new segment. Its disk space is allocated at once: a full disk must not kill the program.
#[cold]
#[inline(never)]
unsafe fn grow(t: *mut Thread, bytes: usize) -> *mut u8 {
    const SMALLEST: u32 = 1 << 16;
    const LARGEST: u32 = SEGMENT_MAX as u32;
    let generation = GENERATION.load(Ordering::Acquire);
    if generation == 0 {
        return null_mut();
    }
    let _errno = Errno::keep();
    if (*t).generation != generation {
        (*t).generation = generation;
        (*t).tid = sys::syscall(sys::NR_GETTID) as u32;
    }
    let (now, failed) = (nanoseconds(), FAILED.load(Ordering::Relaxed));
    if failed != 0 && now - failed < RETRY_NS {
        return lose(t);
    }
    // A file beyond the process's limit would end it with SIGXFSZ.
    let largest = (sys::file_limit() & !4095).max(SMALLEST as usize);
    let usual = ((*t).next_bytes.max(SMALLEST) as usize).min(largest);
    let size = usual.max((bytes + 4096).next_multiple_of(4096));
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
    let base = map(&file((*t).tid, serial), size);
    if base.is_null() {
        if has_ended() {
            // Contend says that this process still runs; what it does from now on is not lost.
            GENERATION.store(0, Ordering::Release);
            return null_mut();
        }
        // Others may be possible if only this record is too long.
        if size == usual {
            FAILED.store(now, Ordering::Relaxed);
            (*t).next_bytes = 0;
        }
        return lose(t);
    }
    FAILED.store(0, Ordering::Relaxed);
    finish(t);
    ((*t).base, (*t).at, (*t).end, (*t).serial) = (base, header::BYTES, size, serial);
    (*t).next_bytes = (size as u32).saturating_mul(2).clamp(SMALLEST, LARGEST);
    write_header(t);
    sys::pthread_setspecific(settings().ends, t.cast());
    if !NAMED.swap(true, Ordering::Relaxed) {
        write_process(t);
    }
    if (*t).at + bytes <= (*t).end { (*t).base.add((*t).at) } else { null_mut() }
}

/// Whether contend has removed the directory's name: the capture has ended, and this process goes on without it. After a
/// `chroot` the name is not found either, but the capture goes on, and what is lost counts.
unsafe fn has_ended() -> bool {
    let path = Line::<1100>::of(settings().directory.as_bytes());
    let is_gone =
        sys::syscall(sys::NR_ACCESS, path.as_ptr(), 0 as c_int) < 0 && *sys::__errno_location() == sys::ENOENT;
    is_gone && root() == settings().root
}

/// Device and inode of this process's root directory.
unsafe fn root() -> Option<[u64; 2]> {
    let stat = sys::stat(c"/".as_ptr())?;
    Some([stat[0], stat[1]])
}

/// Counts a call on a statement or connection without an entry in the tables.
///
/// # Safety
/// `t` belongs to this thread.
#[cold]
#[inline(never)]
pub unsafe fn untracked(t: *mut Thread) {
    // The count is in a segment.
    room(t, record::HEAD);
    let count = UNTRACKED.fetch_add(1, Ordering::Relaxed) + 1;
    if !(*t).base.is_null() {
        put((*t).base, header::UNTRACKED, u64::from(count));
    }
}

/// Counts a lost record in the thread's current segment. For the first one that has no place for a count, it makes an
/// empty file; that needs no free file descriptor.
///
/// # Safety
/// `t` belongs to this thread.
#[cold]
#[inline(never)]
pub unsafe fn lose(t: *mut Thread) -> *mut u8 {
    const REGULAR_PRIVATE: c_long = 0o100_600;
    if (*t).base.is_null() && !MARKED.swap(true, Ordering::Relaxed) {
        let path = file((*t).tid, SERIAL.fetch_add(1, Ordering::Relaxed) + 1);
        if sys::syscall(sys::NR_MKNOD, path.as_ptr(), REGULAR_PRIVATE, 0 as c_long) == 0 {
            return null_mut();
        }
    }
    let lost = LOST.fetch_add(1, Ordering::Relaxed) + 1;
    if !(*t).base.is_null() {
        put((*t).base, header::LOST, u64::from(lost));
    }
    null_mut()
}

unsafe fn write_header(t: *mut Thread) {
    let (base, settings) = ((*t).base, settings());
    put(base, header::VERSION, VERSION);
    put(base, header::PID, sys::syscall(sys::NR_GETPID) as u32);
    put(base, header::TID, (*t).tid);
    put(base, header::FULL, u32::from(settings.full));
    put(base, header::PROCESS, settings.process);
    put(base, header::LOST, u64::from(LOST.load(Ordering::Relaxed)));
    put(base, header::UNTRACKED, u64::from(UNTRACKED.load(Ordering::Relaxed)));
    put(base, header::COMMITTED, (*t).at as u64);
    put(base, 0, MAGIC);
}

/// Name of a segment's file: the process's own id (process numbers are reused), the thread, the segment.
fn file(tid: u32, serial: u32) -> Line<1200> {
    let mut path = Line::new();
    path.text(settings().directory.as_bytes()).text(b"/").number(settings().process).text(b"-");
    path.number(u64::from(tid)).text(b"-").number(u64::from(serial)).text(b".seg");
    path
}

/// Creates a segment's file and maps it; NULL if it cannot be created or filled. No file is left then.
unsafe fn map(path: &Line<1200>, size: usize) -> *mut u8 {
    const READ_WRITE: c_long = 3;
    const SHARED: c_long = 1;
    let is_spare = size == SEGMENT_MAX && take_spare(path);
    let flags = if is_spare { sys::O_RDWR_NOFOLLOW } else { sys::O_RDWR_NEW };
    let file = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, path.as_ptr(), flags, 0o600 as c_long);
    let none: *const u8 = null();
    let mut base = -1;
    if file >= 0 {
        if is_spare || fill(file, size) {
            base = sys::syscall(sys::NR_MMAP, none, size, READ_WRITE, SHARED, file, 0 as c_long);
        }
        sys::syscall(sys::NR_CLOSE, file);
    }
    if (-4095..0).contains(&base) {
        sys::syscall(sys::NR_UNLINK, path.as_ptr());
        return null_mut();
    }
    base as *mut u8
}

/// Takes a spare segment. Asks for spares if there is none.
unsafe fn take_spare(path: &Line<1200>) -> bool {
    for number in 0..SPARES {
        let mut spare = Line::<1200>::new();
        spare.text(settings().directory.as_bytes()).text(b"/").text(SPARE.as_bytes()).number(u64::from(number));
        if sys::syscall(sys::NR_RENAME, spare.as_ptr(), path.as_ptr()) == 0 {
            return true;
        }
    }
    let mut wanted = Line::<1200>::new();
    wanted.text(settings().directory.as_bytes()).text(b"/").text(WANTED.as_bytes());
    let made = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, wanted.as_ptr(), sys::O_RDWR_NEW, 0o600 as c_long);
    if made >= 0 {
        sys::syscall(sys::NR_CLOSE, made);
    }
    false
}

/// Writes zeros. The kernel then has the pages in large pieces, which are mapped at an eighth of the cost of pages that
/// are allocated one by one.
unsafe fn fill(file: c_long, size: usize) -> bool {
    const PIECE: usize = 1 << 16;
    const PIECES: usize = 32;
    static mut ZEROS: [u8; PIECE] = [0; PIECE];
    if size > sys::file_limit() {
        return false;
    }
    let mut at = 0;
    while at < size {
        let pieces: [(*const u8, usize); PIECES] = core::array::from_fn(|i| {
            let length = (size - at).saturating_sub(i * PIECE).min(PIECE);
            ((&raw const ZEROS).cast(), length)
        });
        let count = (size - at).div_ceil(PIECE).min(PIECES);
        let written = sys::syscall(sys::NR_PWRITEV, file, pieces.as_ptr(), count, at, 0 as c_long);
        if written <= 0 {
            return false;
        }
        at += written as usize;
    }
    true
}

/// Truncates the segment to its used length.
unsafe fn finish(t: *mut Thread) {
    if !(*t).base.is_null() {
        let path = file((*t).tid, (*t).serial);
        sys::syscall(sys::NR_TRUNCATE, path.as_ptr(), (*t).at);
        sys::syscall(sys::NR_MUNMAP, (*t).base, (*t).end);
        ((*t).base, (*t).at, (*t).end, (*t).serial) = (null_mut(), 0, 0, 0);
    }
}

extern "C" fn thread_ends(t: P) {
    let _errno = Errno::keep();
    let t: *mut Thread = t.cast();
    // SAFETY: the C library passes the pointer that this thread registered.
    unsafe {
        if (*t).generation == GENERATION.load(Ordering::Relaxed) {
            finish(t);
        }
    }
}

/// Writes the program's file name, and the first argument that names a file, both without directories.
unsafe fn write_process(t: *mut Thread) {
    let mut arguments = [0u8; 4096];
    let mut path = [0u8; 1024];
    let exe = c"/proc/self/exe".as_ptr();
    let length = sys::syscall(sys::NR_READLINKAT, sys::AT_FDCWD, exe, path.as_mut_ptr(), path.len());
    let program = base_name(&path[..length.max(0) as usize]);
    let name = c"/proc/self/cmdline".as_ptr();
    let file = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, name, sys::O_RDONLY_CLOEXEC, 0 as c_long);
    let read = sys::syscall(sys::NR_READ, file, arguments.as_mut_ptr(), arguments.len() - 1);
    sys::syscall(sys::NR_CLOSE, file);
    let arguments = &arguments[..read.max(0) as usize];
    let is_file = |argument: &&[u8]| {
        let line = Line::<1024>::of(argument);
        !argument.is_empty() && argument[0] != b'-' && sys::syscall(sys::NR_ACCESS, line.as_ptr(), 0 as c_int) == 0
    };
    let first = arguments.split(|&byte| byte == 0).skip(1).find(is_file).map_or(&[][..], base_name);
    let parent = sys::syscall(sys::NR_GETPPID);
    let length = (program.len() + 1 + first.len()) as u64;
    let tag = (kind::PROCESS, 0, 0);
    let place = with_text(t, tag, (settings().process, length), record::NUMBER_BYTES, &[program, b"\0", first]);
    if !place.is_null() {
        put(place, record::NUMBER, parent);
        commit(t, (record::NUMBER_BYTES + length as usize).next_multiple_of(8));
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}
