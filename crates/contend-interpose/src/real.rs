//! Finds the SQLite that a caller would have called without this library: a program may contain several, and each
//! caller must reach its own.

use crate::loader::{self, Scope};
use crate::sys::{self, P};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

macro_rules! functions {
    ($($name:ident: $symbol:literal, ($($argument:ty),*) -> $result:ty;)*) => {
        /// Functions of one SQLite. A program cannot call a function that the SQLite it is linked with lacks.
        pub struct Real {
            /// Address range of its object. Of a SQLite that is linked into an object: of its own code, with its tag.
            low: usize,
            high: usize,
            /// Lowest and highest address of its object.
            object: (usize, usize),
            pub number: u64,
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Real {
            unsafe fn find(scope: &Scope, number: u64) -> Option<Real> {
                let (low, high) = loader::object(loader::find(scope, c"sqlite3_step") as usize)?;
                $(
                    let symbol = loader::find(scope, core::ffi::CStr::from_bytes_with_nul_unchecked(concat!($symbol, "\0").as_bytes()));
                    let symbol = if symbol.is_null() { stand_in::<$result> as P } else { symbol };
                    let $name = core::mem::transmute::<P, unsafe extern "C" fn($($argument),*) -> $result>(symbol);
                )*
                Some(Real { low, high, object: (low, high), number, $($name),* })
            }

            /// A SQLite that is linked into an object; `find` has its functions, or NULL.
            unsafe fn linked_in((low, high): (usize, usize), (tag, number): (usize, u64), find: impl Fn(&[u8]) -> P) -> Real {
                $(
                    let symbol = find($symbol.as_bytes());
                    let symbol = if symbol.is_null() { stand_in::<$result> as P } else { symbol };
                    let $name = core::mem::transmute::<P, unsafe extern "C" fn($($argument),*) -> $result>(symbol);
                )*
                let object = loader::object(low).unwrap_or((low, high));
                Real { low: low | tag, high: high | tag, object, number, $($name),* }
            }
        }

        /// All functions that a capture calls.
        pub const NAMES: &[&str] = &[$($symbol),*];
    };
}

/// Bits above those of an address: they mark a call of the SQLite in this place that is linked into an object, where
/// the caller's object can have another one.
const TAG_SHIFT: u32 = 48;

pub const fn tag(place: usize) -> usize {
    (place + 1) << TAG_SHIFT
}

/// An address without its tag.
const fn untagged(address: usize) -> usize {
    address & ((1 << TAG_SHIFT) - 1)
}

type Text = *const c_char;
type End = *const c_void;

functions! {
    open: "sqlite3_open", (Text, *mut P) -> c_int;
    open_v2: "sqlite3_open_v2", (Text, *mut P, c_int, Text) -> c_int;
    open16: "sqlite3_open16", (*const c_void, *mut P) -> c_int;
    close: "sqlite3_close", (P) -> c_int;
    close_v2: "sqlite3_close_v2", (P) -> c_int;
    prepare: "sqlite3_prepare", (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare_v2: "sqlite3_prepare_v2", (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare_v3: "sqlite3_prepare_v3", (P, Text, c_int, u32, *mut P, *mut Text) -> c_int;
    prepare16: "sqlite3_prepare16", (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare16_v2: "sqlite3_prepare16_v2", (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare16_v3: "sqlite3_prepare16_v3", (P, Text, c_int, u32, *mut P, *mut Text) -> c_int;
    step: "sqlite3_step", (P) -> c_int;
    reset: "sqlite3_reset", (P) -> c_int;
    finalize: "sqlite3_finalize", (P) -> c_int;
    clear_bindings: "sqlite3_clear_bindings", (P) -> c_int;
    exec: "sqlite3_exec", (P, Text, P, P, *mut P) -> c_int;
    get_table: "sqlite3_get_table", (P, Text, *mut P, *mut c_int, *mut c_int, *mut P) -> c_int;
    bind_null: "sqlite3_bind_null", (P, c_int) -> c_int;
    bind_int: "sqlite3_bind_int", (P, c_int, c_int) -> c_int;
    bind_int64: "sqlite3_bind_int64", (P, c_int, i64) -> c_int;
    bind_double: "sqlite3_bind_double", (P, c_int, f64) -> c_int;
    bind_text: "sqlite3_bind_text", (P, c_int, Text, c_int, End) -> c_int;
    bind_text16: "sqlite3_bind_text16", (P, c_int, Text, c_int, End) -> c_int;
    bind_text64: "sqlite3_bind_text64", (P, c_int, Text, u64, End, u8) -> c_int;
    bind_blob: "sqlite3_bind_blob", (P, c_int, Text, c_int, End) -> c_int;
    bind_blob64: "sqlite3_bind_blob64", (P, c_int, Text, u64, End) -> c_int;
    bind_zeroblob: "sqlite3_bind_zeroblob", (P, c_int, c_int) -> c_int;
    bind_zeroblob64: "sqlite3_bind_zeroblob64", (P, c_int, u64) -> c_int;
    bind_value: "sqlite3_bind_value", (P, c_int, P) -> c_int;
    bind_pointer: "sqlite3_bind_pointer", (P, c_int, P, Text, End) -> c_int;
    value_type: "sqlite3_value_type", (P) -> c_int;
    value_int64: "sqlite3_value_int64", (P) -> i64;
    value_double: "sqlite3_value_double", (P) -> f64;
    value_blob: "sqlite3_value_blob", (P) -> Text;
    value_bytes: "sqlite3_value_bytes", (P) -> c_int;
    busy_timeout: "sqlite3_busy_timeout", (P, c_int) -> c_int;
    busy_handler: "sqlite3_busy_handler", (P, P, P) -> c_int;
    db_config: "sqlite3_db_config", (P, c_int, usize, usize, usize) -> c_int;
    transfer_bindings: "sqlite3_transfer_bindings", (P, P) -> c_int;
    blob_open: "sqlite3_blob_open", (P, Text, Text, Text, i64, c_int, *mut P) -> c_int;
    backup_init: "sqlite3_backup_init", (P, Text, P, Text) -> P;
    set_authorizer: "sqlite3_set_authorizer", (P, P, P) -> c_int;
    set_last_insert_rowid: "sqlite3_set_last_insert_rowid", (P, i64) -> ();
    limit: "sqlite3_limit", (P, c_int, c_int) -> c_int;
    deserialize: "sqlite3_deserialize", (P, Text, P, i64, i64, u32) -> c_int;
    load_extension: "sqlite3_load_extension", (P, Text, Text, *mut P) -> c_int;
    create_function: "sqlite3_create_function", (P, Text, c_int, c_int, P, P, P, P) -> c_int;
    create_function16: "sqlite3_create_function16", (P, P, c_int, c_int, P, P, P, P) -> c_int;
    create_function_v2: "sqlite3_create_function_v2", (P, Text, c_int, c_int, P, P, P, P, P) -> c_int;
    create_window_function: "sqlite3_create_window_function", (P, Text, c_int, c_int, P, P, P, P, P, P) -> c_int;
    create_collation: "sqlite3_create_collation", (P, Text, c_int, P, P) -> c_int;
    create_collation16: "sqlite3_create_collation16", (P, P, c_int, P, P) -> c_int;
    create_collation_v2: "sqlite3_create_collation_v2", (P, Text, c_int, P, P, P) -> c_int;
    create_module: "sqlite3_create_module", (P, Text, P, P) -> c_int;
    create_module_v2: "sqlite3_create_module_v2", (P, Text, P, P, P) -> c_int;
    changes: "sqlite3_changes", (P) -> c_int;
    total_changes: "sqlite3_total_changes", (P) -> c_int;
    last_insert_rowid: "sqlite3_last_insert_rowid", (P) -> i64;
    get_autocommit: "sqlite3_get_autocommit", (P) -> c_int;
    stmt_readonly: "sqlite3_stmt_readonly", (P) -> c_int;
    db_filename: "sqlite3_db_filename", (P, Text) -> Text;
    db_handle: "sqlite3_db_handle", (P) -> P;
    extended_errcode: "sqlite3_extended_errcode", (P) -> c_int;
    expanded_sql: "sqlite3_expanded_sql", (P) -> *mut c_char;
    free: "sqlite3_free", (P) -> ();
    libversion: "sqlite3_libversion", () -> Text;
}

/// A program that does not call this function can lack it: a linker removes what nothing calls.
pub const TOTAL_CHANGES: &str = "sqlite3_total_changes";

/// What stands for the result of a function that an old SQLite lacks.
trait StandIn {
    const VALUE: Self;
}

impl StandIn for c_int {
    /// SQLITE_MISUSE.
    const VALUE: c_int = 21;
}

impl StandIn for i64 {
    const VALUE: i64 = 0;
}

impl StandIn for f64 {
    const VALUE: f64 = 0.0;
}

impl StandIn for () {
    const VALUE: () = ();
}

impl<T> StandIn for *const T {
    const VALUE: *const T = core::ptr::null();
}

impl<T> StandIn for *mut T {
    const VALUE: *mut T = core::ptr::null_mut();
}

unsafe extern "C" fn stand_in<R: StandIn>() -> R {
    R::VALUE
}

impl Real {
    /// Whether it has [`TOTAL_CHANGES`].
    pub fn has_total_changes(&self) -> bool {
        self.total_changes as usize != stand_in::<c_int> as *const () as usize
    }

    /// Whether an address belongs to its object.
    #[inline(always)]
    pub fn holds(&self, address: usize) -> bool {
        address >= self.low && address < self.high
    }
}

const REALS: usize = 8;
const RANGES: usize = 64;

static mut FOUND: [Option<Real>; REALS] = [const { None }; REALS];
static FOUND_COUNT: AtomicUsize = AtomicUsize::new(0);
/// How often a SQLite was found: its number is in the records, and is not given again.
static NUMBERS: AtomicU64 = AtomicU64::new(0);
/// Objects that have called, with the SQLite of each.
static mut CALLERS: [(usize, usize, usize); RANGES] = [(0, 0, 0); RANGES];
static CALLERS_COUNT: AtomicUsize = AtomicUsize::new(0);
static LOCKED: AtomicBool = AtomicBool::new(false);
/// The last SQLite that was found through a handle, for callers whose scope has none.
static BY_HANDLE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// In a forked child the thread that held the lock does not exist.
pub fn unlock() {
    LOCKED.store(false, Ordering::Release);
}

struct Guard;

impl Guard {
    fn lock() -> Guard {
        while LOCKED.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            core::hint::spin_loop();
        }
        Guard
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        unlock();
    }
}

/// Entries below the count change only when the object of a SQLite has been unloaded: then no code refers to them.
unsafe fn number(i: usize) -> *const Real {
    if i >= FOUND_COUNT.load(Ordering::Acquire) {
        return core::ptr::null();
    }
    (*(&raw const FOUND).cast::<Option<Real>>().add(i)).as_ref().map_or(core::ptr::null(), |real| real)
}

/// Whether a SQLite was linked into an object that has been unloaded; in this range is other code now. Another object can have
/// its address, but hardly the same size too. A shared library stays loaded once it is found ([`loader::scope_of`]).
unsafe fn is_gone(real: &Real, range: (usize, usize)) -> bool {
    let (low, high) = (untagged(real.low), untagged(real.high));
    real.low != low && ((low < range.1 && range.0 < high) || loader::object(low) != Some(real.object))
}

/// A place for another SQLite, with code in this range. The lock is held.
unsafe fn free_place(range: (usize, usize)) -> Option<usize> {
    let count = FOUND_COUNT.load(Ordering::Acquire);
    let gone = (0..count).find(|&i| is_gone(&*number(i), range));
    gone.or_else(|| (count < REALS).then_some(count))
}

/// Puts a SQLite into a free place. The lock is held.
unsafe fn put(place: usize, real: Real) {
    *(&raw mut FOUND).cast::<Option<Real>>().add(place) = Some(real);
    FOUND_COUNT.fetch_max(place + 1, Ordering::Release);
}

fn next_number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed) + 1
}

/// The SQLite of a scope, added if it is new. The loader is asked without the lock: a thread that has the loader's own lock, in a
/// library's constructor, may wait for ours.
unsafe fn of_scope(scope: &Scope) -> Option<usize> {
    let step = loader::find(scope, c"sqlite3_step") as usize;
    if step == 0 || loader::is_ours(step) {
        return None;
    }
    let known = || (0..FOUND_COUNT.load(Ordering::Acquire)).find(|&i| (*number(i)).step as usize == step);
    if let Some(known) = known() {
        return Some(known);
    }
    let real = Real::find(scope, next_number())?;
    let _guard = Guard::lock();
    // Another thread may have added it meanwhile.
    if let Some(known) = known() {
        return Some(known);
    }
    let place = free_place((0, 0))?;
    put(place, real);
    Some(place)
}

/// Adds a SQLite that is linked into an object; `find` also gets its tag. `None` if there is no space.
///
/// # Safety
/// `find` has functions of SQLite.
pub unsafe fn add(range: (usize, usize), find: impl Fn(&[u8], usize) -> P) -> Option<usize> {
    let _guard = Guard::lock();
    let place = free_place(range)?;
    let tag = tag(place);
    put(place, Real::linked_in(range, (tag, next_number()), |name| find(name, tag)));
    Some(place)
}

/// Takes one back, whose functions were not replaced.
///
/// # Safety
/// Nothing has called it.
pub unsafe fn withdraw(place: usize) {
    let _guard = Guard::lock();
    if FOUND_COUNT.load(Ordering::Acquire) == place + 1 {
        FOUND_COUNT.store(place, Ordering::Release);
    } else if let Some(real) = &mut *(&raw mut FOUND).cast::<Option<Real>>().add(place) {
        // In no object, so the place is free.
        (real.low, real.high) = (tag(place), tag(place));
    }
}

/// Whether an address is that of the code of a SQLite that is linked into an object.
pub fn is_linked_in(address: usize) -> bool {
    let count = FOUND_COUNT.load(Ordering::Acquire);
    // SAFETY: entries below the count exist.
    (0..count).any(|i| unsafe { (*number(i)).holds(address | tag(i)) })
}

/// The SQLite that a call from this address is meant for.
///
/// # Safety
/// The address is that of the program's code, with the tag of its SQLite if it came through a jump.
#[inline]
pub unsafe fn of_caller(address: usize) -> *const Real {
    if address >> TAG_SHIFT != 0 {
        return number((address >> TAG_SHIFT) - 1);
    }
    for i in 0..CALLERS_COUNT.load(Ordering::Acquire) {
        let (low, high, real) = *(&raw const CALLERS).cast::<(usize, usize, usize)>().add(i);
        if address >= low && address < high {
            return number(real);
        }
    }
    find(address)
}

#[cold]
#[inline(never)]
unsafe fn find(address: usize) -> *const Real {
    let _errno = sys::Errno::keep();
    // First the scope of the whole program, then that of the calling object.
    let found = of_scope(&Scope::Next).or_else(|| of_scope(&loader::scope_of(address)?));
    let by_handle = || Some(BY_HANDLE.load(Ordering::Acquire)).filter(|&i| i != usize::MAX);
    let only = || (FOUND_COUNT.load(Ordering::Acquire) == 1).then_some(0);
    let Some(real) = found.or_else(by_handle).or_else(only) else { return core::ptr::null() };
    let object = loader::object(address);
    let _guard = Guard::lock();
    let count = CALLERS_COUNT.load(Ordering::Acquire);
    if let Some((low, high)) = object.filter(|_| count < RANGES) {
        *(&raw mut CALLERS).cast::<(usize, usize, usize)>().add(count) = (low, high, real);
        CALLERS_COUNT.store(count + 1, Ordering::Release);
    }
    number(real)
}

/// A program looked up a function itself: its SQLite is the object that contains the function.
///
/// # Safety
/// The address is that of a function.
pub unsafe fn looked_up(address: usize) {
    let _errno = sys::Errno::keep();
    if let Some(real) = loader::scope_of(address).and_then(|scope| of_scope(&scope)) {
        BY_HANDLE.store(real, Ordering::Release);
    }
}
