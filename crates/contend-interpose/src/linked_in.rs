//! SQLite that is linked into the program or a library, so that its calls pass no symbol: the first instructions of its
//! functions are replaced by a jump to ours. contend examines the file and plans that ([`crate::plan`]).
//!
//! ```text
//! sqlite3_step: jmp thunk        thunk: called by SQLite itself: jmp moved; else: tag of this SQLite, jmp hook
//!          ┌──► rest             moved: first instructions, jmp rest   (our own calls begin here)
//!          └──────────────────────────────────────────────┘
//! ```
//!
//! SQLite's own calls change no register, because its compiler may know which registers the function leaves alone.

use crate::ask;
use crate::format::{PLAN, PLAN_ASKED, PLAN_FAILED};
use crate::hooks;
use crate::plan::{Function, Head, JUMP, MAGIC};
use crate::real;
use crate::segment::is_on;
use crate::sys::{self, Line, P, PhdrInfo};
use core::ffi::{c_int, c_long};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const OBJECTS: usize = 1024;
const READ: c_long = 1;
const READ_WRITE: c_long = 3;
const READ_EXECUTE: c_long = 5;
const PAGE: usize = 4096;
/// Space for the thunk and the moved instructions of a function.
const SLOT: usize = 128;

/// Number of objects that the loader had added at the last look.
static ADDED: AtomicU64 = AtomicU64::new(0);
static LOCKED: AtomicBool = AtomicBool::new(false);
/// Number of objects that the loader had removed.
static mut REMOVED: u64 = 0;
/// Bases and name hashes of the objects that were looked at.
static mut SEEN: [(usize, usize); OBJECTS] = [(0, 0); OBJECTS];
static mut SEEN_COUNT: usize = 0;
/// Whether one of them has a SQLite.
static mut FOUND: bool = false;

/// Looks at the objects that are loaded with the program.
///
/// # Safety
/// Once, before the program's own code.
pub unsafe fn begin() {
    // In a forked child the thread that held the lock does not exist.
    sys::pthread_atfork(null_mut(), null_mut(), unlock);
    look();
}

extern "C" fn unlock() {
    LOCKED.store(false, Ordering::Release);
}

struct Objects {
    count: usize,
    found: [(usize, Line<1100>); 8],
    /// Whether there are more.
    is_full: bool,
}

/// Numbers of objects that the loader has added and removed since the program began.
fn changes() -> (u64, u64) {
    extern "C" fn first(info: *const PhdrInfo, _: usize, data: P) -> c_int {
        // SAFETY: the loader passes a valid object.
        unsafe { *data.cast::<(u64, u64)>() = ((*info).adds, (*info).removals) };
        1
    }
    let mut changes = (0u64, 0u64);
    // SAFETY: `first` gets a pointer to two numbers.
    unsafe { sys::dl_iterate_phdr(first, (&raw mut changes).cast()) };
    changes
}

/// Looks at the objects that were loaded since the last look.
///
/// # Safety
/// On a slow path only.
pub unsafe extern "C" fn look() {
    if !is_on() {
        return;
    }
    let (adds, removals) = changes();
    if ADDED.load(Ordering::Acquire) == adds {
        return;
    }
    let _errno = sys::Errno::keep();
    while LOCKED.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        let (time, none): ([i64; 2], *const u8) = ([0, 50_000], null());
        sys::syscall(sys::NR_NANOSLEEP, time.as_ptr(), none);
    }
    // An object that was removed can be loaded at the same place again, without our jumps.
    if (FOUND && removals != REMOVED) || SEEN_COUNT == OBJECTS {
        SEEN_COUNT = 0;
    }
    REMOVED = removals;
    loop {
        let mut objects = Objects { count: 0, found: [const { (0, Line::new()) }; 8], is_full: false };
        sys::dl_iterate_phdr(each, (&raw mut objects).cast());
        for (base, path) in &objects.found[..objects.count] {
            look_at(*base, path);
        }
        if !objects.is_full {
            break;
        }
    }
    ADDED.store(adds, Ordering::Release);
    unlock();
}

/// Collects objects that were not seen before. Nothing is read here, because the loader is locked meanwhile.
extern "C" fn each(info: *const PhdrInfo, _: usize, data: P) -> c_int {
    // SAFETY: the loader passes a valid object, and `look` holds the lock.
    unsafe {
        let objects = &mut *data.cast::<Objects>();
        let name = sys::bytes((*info).name);
        let hash = name.iter().fold(5381usize, |hash, &byte| hash.wrapping_mul(33) ^ usize::from(byte));
        let key = ((*info).base, hash);
        let seen = core::slice::from_raw_parts((&raw const SEEN).cast::<(usize, usize)>(), SEEN_COUNT);
        if seen.contains(&key) || SEEN_COUNT == OBJECTS {
            return 0;
        }
        if objects.count == objects.found.len() {
            objects.is_full = true;
            return 1;
        }
        *(&raw mut SEEN).cast::<(usize, usize)>().add(SEEN_COUNT) = key;
        SEEN_COUNT += 1;
        let path = match name {
            // The program. The kernel's own object has a name without a directory.
            [] => program(),
            name if name.contains(&b'/') => Line::of(name),
            _ => return 0,
        };
        objects.found[objects.count] = ((*info).base, path);
        objects.count += 1;
        0
    }
}

unsafe fn program() -> Line<1100> {
    let mut path = [0u8; 1024];
    let exe = c"/proc/self/exe".as_ptr();
    let length = sys::syscall(sys::NR_READLINKAT, sys::AT_FDCWD, exe, path.as_mut_ptr(), path.len());
    Line::of(&path[..length.max(0) as usize])
}

/// A file in memory.
struct File {
    place: *mut u8,
    length: usize,
}

impl File {
    unsafe fn read(path: &Line<1100>) -> Option<File> {
        const PRIVATE: c_long = 2;
        let length = sys::stat(path.as_ptr())?[6] as usize;
        if length == 0 {
            return None;
        }
        let (none, zero): (*const u8, c_long) = (null(), 0);
        let file = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, path.as_ptr(), sys::O_RDONLY_CLOEXEC, zero);
        if file < 0 {
            return None;
        }
        let place = sys::syscall(sys::NR_MMAP, none, length, READ, PRIVATE, file, zero);
        sys::syscall(sys::NR_CLOSE, file);
        (place > 0).then_some(File { place: place as *mut u8, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped until this value is dropped.
        unsafe { core::slice::from_raw_parts(self.place, self.length) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it any more.
        unsafe { sys::syscall(sys::NR_MUNMAP, self.place, self.length) };
    }
}

/// Whether the symbols of a file, other than the dynamic ones, name a function of SQLite.
fn has_symbols(file: &[u8]) -> bool {
    const SYMBOLS: u64 = 2;
    let number = |at: usize, bytes: usize| {
        let raw = file.get(at..at.checked_add(bytes)?)?;
        Some(raw.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte)))
    };
    let sections = || {
        let (first, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
        let section = |i: u64| (first + i * size) as usize;
        let symbols = (0..count).map(section).find(|&at| number(at + 4, 4) == Some(SYMBOLS))?;
        let names = section(number(symbols + 0x28, 4)?);
        let (from, length) = (number(names + 0x18, 8)? as usize, number(names + 0x20, 8)? as usize);
        file.get(from..from.checked_add(length)?)
    };
    let name = c"sqlite3_step".to_bytes_with_nul();
    let find = |names: &[u8]| {
        // SAFETY: both are valid.
        !unsafe { sys::memmem(names.as_ptr().cast(), names.len(), name.as_ptr().cast(), name.len()) }.is_null()
    };
    file.starts_with(b"\x7fELF\x02\x01") && sections().is_some_and(find)
}

/// Replaces the functions of the SQLite that an object contains, if contend finds that possible.
unsafe fn look_at(base: usize, path: &Line<1100>) {
    let Some(object) = File::read(path).filter(|file| has_symbols(file.bytes())) else { return };
    FOUND = true;
    let Some(stat) = sys::stat(path.as_ptr()) else { return };
    let file = (stat[0], stat[1]);
    ask::wait_for((PLAN_ASKED, PLAN), path.as_bytes(), file);
    let Some(plan) = File::read(&ask::named(PLAN, file)) else { return };
    if carry_out(base, object.bytes(), plan.bytes()).is_none() {
        let failed = ask::named::<1100>(PLAN_FAILED, file);
        let made = sys::syscall(sys::NR_OPENAT, sys::AT_FDCWD, failed.as_ptr(), sys::O_RDWR_NEW, 0o600 as c_long);
        sys::syscall(sys::NR_CLOSE, made);
    }
}

/// All functions are replaced, or, with `None`, none.
unsafe fn carry_out(base: usize, file: &[u8], plan: &[u8]) -> Option<()> {
    if plan.len() < size_of::<Head>() {
        return None;
    }
    let head = &*plan.as_ptr().cast::<Head>();
    let count = head.count as usize;
    if head.magic != MAGIC || plan.len() != size_of::<Head>() + count * size_of::<Function>() {
        return None;
    }
    let functions = core::slice::from_raw_parts(plan.as_ptr().add(size_of::<Head>()).cast::<Function>(), count);
    let place = |function: &Function| base + function.address as usize + usize::from(function.at);
    let is_as_in_the_file = |function: &Function| {
        let length = usize::from(function.length);
        core::slice::from_raw_parts(place(function) as *const u8, length) == &function.original[..length]
    };
    if !functions.iter().all(is_as_in_the_file) {
        // Already done, or the file in memory is another one.
        let mut replaced = functions.iter().filter(|function| function.length > 0);
        return replaced.all(|function| *(place(function) as *const u8) == 0xe9).then_some(());
    }
    let range = (base + head.low as usize, base + head.high as usize);
    let (first, last) = (range.0 & !(PAGE - 1), range.1.next_multiple_of(PAGE));
    let code = core::slice::from_raw_parts(first as *const u8, last - first);
    let from = (head.offset as usize).checked_sub(range.0 - first)?;
    let in_file = &file[from.min(file.len())..(from + code.len()).min(file.len())];
    // Another tool's breakpoint does not work in a copy.
    if in_file.len() < range.1 - first || code[..in_file.len()] != *in_file {
        return None;
    }
    let size = (count * SLOT).next_multiple_of(PAGE);
    let area = near(range, size)?;
    let slot = |i: usize| area + i * SLOT;
    // What moved instructions refer to can be farther away than the code.
    let is_far = |to: usize| to.abs_diff(area).max(to.abs_diff(area + size)) > i32::MAX as usize;
    let mut fixes = functions.iter().flat_map(|function| &function.fixes[..usize::from(function.fix_count)]);
    if fixes.any(|fix| is_far(base + fix.target as usize)) {
        sys::syscall(sys::NR_MUNMAP, area, size);
        return None;
    }
    let added = real::add(range, |name, tag| {
        let Some(i) = functions.iter().position(|function| function.name() == name) else {
            return null_mut();
        };
        if functions[i].length == 0 {
            (base + functions[i].address as usize) as P
        } else {
            moved(slot(i), (base, range), &functions[i], tag) as P
        }
    });
    let jumps = functions.iter().enumerate().filter(|(_, function)| function.length > 0);
    let jumps = jumps.map(|(i, function)| (place(function), slot(i)));
    let is_done = added.is_some()
        && sys::syscall(sys::NR_MPROTECT, area, size, READ_EXECUTE) == 0
        && exchange((first, code), jumps).is_some();
    if !is_done {
        added.into_iter().for_each(|place| real::withdraw(place));
        sys::syscall(sys::NR_MUNMAP, area, size);
    }
    is_done.then_some(())
}

/// Puts a copy of the code with these jumps, from where and to where, in its place, at once. The copy belongs to no
/// file: probes of the kernel, which replace instructions as they are in the file, are not put into it.
unsafe fn exchange((first, code): (usize, &[u8]), jumps: impl Iterator<Item = (usize, usize)>) -> Option<()> {
    const MAY_MOVE_FIXED: c_long = 3;
    let copy = sys::memory(code.len())?;
    core::ptr::copy_nonoverlapping(code.as_ptr(), copy, code.len());
    for (place, to) in jumps {
        copy.add(place - first).cast::<[u8; JUMP]>().write(jump(place, to));
    }
    let is_done = sys::syscall(sys::NR_MPROTECT, copy, code.len(), READ_EXECUTE) == 0
        && sys::syscall(sys::NR_MREMAP, copy, code.len(), code.len(), MAY_MOVE_FIXED, first) == first as c_long;
    if !is_done {
        sys::syscall(sys::NR_MUNMAP, copy, code.len());
    }
    is_done.then_some(())
}

/// Writes the thunk of a function and its moved instructions; returns the address of these.
unsafe fn moved(slot: usize, (base, range): (usize, (usize, usize)), function: &Function, tag: usize) -> usize {
    const THUNK: usize = 64;
    let Some(hook) = hooks::tagged_by_name(function.name()) else { return 0 };
    let put = |at: usize, bytes: &[u8]| {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), (slot + at) as *mut u8, bytes.len());
    };
    let distance = |end: usize, to: usize| (to.wrapping_sub(slot + end) as i32).to_ne_bytes();
    // push rax; lea rax, [low]; cmp [rsp + 8], rax; jb outer
    put(0, &[0x50, 0x48, 0x8d, 0x05]);
    put(4, &distance(8, range.0));
    put(8, &[0x48, 0x39, 0x44, 0x24, 0x08, 0x72, 0x14]);
    // lea rax, [high]; cmp [rsp + 8], rax; jae outer; pop rax; jmp moved
    put(15, &[0x48, 0x8d, 0x05]);
    put(18, &distance(22, range.1));
    put(22, &[0x48, 0x39, 0x44, 0x24, 0x08, 0x73, 0x06, 0x58]);
    put(30, &jump(slot + 30, slot + THUNK));
    // outer: pop rax; mov rax, tag; mov r11, hook; jmp r11
    put(35, &[0x58, 0x48, 0xb8]);
    put(38, &tag.to_ne_bytes());
    put(46, &[0x49, 0xbb]);
    put(48, &(hook as usize).to_ne_bytes());
    put(56, &[0x41, 0xff, 0xe3]);
    let (place, length) = (slot + THUNK, usize::from(function.moved_length));
    put(THUNK, &function.moved[..length]);
    for fix in &function.fixes[..usize::from(function.fix_count)] {
        let distance = (base + fix.target as usize).wrapping_sub(place + fix.end as usize);
        put(THUNK + fix.at as usize, &(distance as i32).to_ne_bytes());
    }
    put(THUNK + length, &jump(place + length, base + function.rest() as usize));
    place
}

/// A jump from one place to another.
fn jump(place: usize, to: usize) -> [u8; JUMP] {
    let [a, b, c, d] = (to.wrapping_sub(place + JUMP) as i32).to_ne_bytes();
    [0xe9, a, b, c, d]
}

/// New memory that jumps of 32 bits reach from all of a range.
unsafe fn near((low, high): (usize, usize), size: usize) -> Option<usize> {
    const STEP: usize = 1 << 20;
    const REACH: usize = 0x7000_0000;
    const PRIVATE_ANONYMOUS_NOREPLACE: c_long = 0x10_0022;
    let (none, zero): (c_long, c_long) = (-1, 0);
    let low = low & !(PAGE - 1);
    // Below first: the heap of a program grows above it.
    let below = (1..).map(|i| low.wrapping_sub(i * STEP)).take_while(|&at| at < low && at + REACH > high);
    let just_below = (1..256).map(|i| low.wrapping_sub(i * 16 * PAGE)).take_while(|&at| at < low);
    let above = (1..).map(|i| high.next_multiple_of(PAGE) + i * STEP).take_while(|&at| at < low + REACH);
    for at in just_below.chain(below).chain(above) {
        let made = sys::syscall(sys::NR_MMAP, at, size, READ_WRITE, PRIVATE_ANONYMOUS_NOREPLACE, none, zero);
        if made == at as c_long {
            return Some(at);
        }
        if made > 0 {
            // A kernel that does not know the last flag puts it elsewhere.
            sys::syscall(sys::NR_MUNMAP, made, size);
        }
    }
    None
}
