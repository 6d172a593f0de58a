//! Finds the SQLite that a caller would have called without this library. A program may contain several, and each
//! caller must reach its own.

use contend_interpose::P;
use contend_interpose::loader::{self, Scope};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

pub type Text = *const c_char;
pub type Callback = Option<unsafe extern "C" fn(P, c_int, *mut *mut c_char, *mut *mut c_char) -> c_int>;
pub type Authorizer = Option<unsafe extern "C" fn(P, c_int, Text, Text, Text, Text) -> c_int>;
pub type Progress = Option<unsafe extern "C" fn(P) -> c_int>;
pub type Function = Option<unsafe extern "C" fn(P, c_int, *mut P)>;

macro_rules! functions {
    ($($name:ident: ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of one SQLite. A program cannot call a function that the SQLite it is linked with lacks.
        pub struct Real {
            /// Address range of its object.
            low: usize,
            high: usize,
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Real {
            unsafe fn find(scope: &Scope) -> Option<Real> {
                let (low, high) = loader::object(loader::find(scope, c"sqlite3_step") as usize)?;
                $(
                    let name = concat!("sqlite3_", stringify!($name), "\0");
                    let symbol = loader::find(scope, CStr::from_bytes_with_nul_unchecked(name.as_bytes()));
                    let symbol = if symbol.is_null() { missing as *mut c_void } else { symbol };
                    let $name = std::mem::transmute::<P, unsafe extern "C" fn($($argument),*) $(-> $result)?>(symbol);
                )*
                Some(Real { low, high, $($name),* })
            }
        }
    };
}

functions! {
    open: (Text, *mut P) -> c_int;
    open16: (*const c_void, *mut P) -> c_int;
    open_v2: (Text, *mut P, c_int, Text) -> c_int;
    close: (P) -> c_int;
    close_v2: (P) -> c_int;
    prepare: (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare_v2: (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare_v3: (P, Text, c_int, u32, *mut P, *mut Text) -> c_int;
    prepare16: (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare16_v2: (P, Text, c_int, *mut P, *mut Text) -> c_int;
    prepare16_v3: (P, Text, c_int, u32, *mut P, *mut Text) -> c_int;
    step: (P) -> c_int;
    reset: (P) -> c_int;
    finalize: (P) -> c_int;
    exec: (P, Text, Callback, P, *mut *mut c_char) -> c_int;
    get_table: (P, Text, *mut *mut *mut c_char, *mut c_int, *mut c_int, *mut *mut c_char) -> c_int;
    stmt_busy: (P) -> c_int;
    stmt_readonly: (P) -> c_int;
    sql: (P) -> Text;
    expanded_sql: (P) -> *mut c_char;
    clear_bindings: (P) -> c_int;
    bind_parameter_count: (P) -> c_int;
    bind_null: (P, c_int) -> c_int;
    bind_int: (P, c_int, c_int) -> c_int;
    bind_int64: (P, c_int, i64) -> c_int;
    bind_double: (P, c_int, f64) -> c_int;
    bind_text: (P, c_int, Text, c_int, P) -> c_int;
    bind_text16: (P, c_int, Text, c_int, P) -> c_int;
    bind_text64: (P, c_int, Text, u64, P, u8) -> c_int;
    bind_blob: (P, c_int, Text, c_int, P) -> c_int;
    bind_blob64: (P, c_int, Text, u64, P) -> c_int;
    bind_zeroblob: (P, c_int, c_int) -> c_int;
    bind_zeroblob64: (P, c_int, u64) -> c_int;
    bind_value: (P, c_int, P) -> c_int;
    bind_pointer: (P, c_int, P, Text, P) -> c_int;
    column_count: (P) -> c_int;
    column_name: (P, c_int) -> Text;
    data_count: (P) -> c_int;
    column_blob: (P, c_int) -> *const c_void;
    column_bytes: (P, c_int) -> c_int;
    column_bytes16: (P, c_int) -> c_int;
    column_double: (P, c_int) -> f64;
    column_int: (P, c_int) -> c_int;
    column_int64: (P, c_int) -> i64;
    column_text: (P, c_int) -> *const c_void;
    column_text16: (P, c_int) -> *const c_void;
    column_type: (P, c_int) -> c_int;
    column_value: (P, c_int) -> P;
    value_type: (P) -> c_int;
    value_int64: (P) -> i64;
    value_double: (P) -> f64;
    value_blob: (P) -> Text;
    value_text: (P) -> Text;
    value_bytes: (P) -> c_int;
    result_error: (P, Text, c_int);
    result_error_code: (P, c_int);
    result_int64: (P, i64);
    user_data: (P) -> P;
    extended_errcode: (P) -> c_int;
    errmsg: (P) -> Text;
    changes: (P) -> c_int;
    changes64: (P) -> i64;
    total_changes: (P) -> c_int;
    total_changes64: (P) -> i64;
    last_insert_rowid: (P) -> i64;
    set_last_insert_rowid: (P, i64);
    get_autocommit: (P) -> c_int;
    db_config: (P, c_int, P, P, P) -> c_int;
    busy_timeout: (P, c_int) -> c_int;
    interrupt: (P);
    progress_handler: (P, c_int, Progress, P);
    set_authorizer: (P, Authorizer, P) -> c_int;
    create_function: (P, Text, c_int, c_int, P, Function, Function, P) -> c_int;
    create_function16: (P, *const c_void, c_int, c_int, P, Function, Function, P) -> c_int;
    create_function_v2: (P, Text, c_int, c_int, P, Function, Function, P, P) -> c_int;
    create_window_function: (P, Text, c_int, c_int, P, Function, P, P, Function, P) -> c_int;
    create_collation: (P, Text, c_int, P, P) -> c_int;
    create_collation16: (P, *const c_void, c_int, P, P) -> c_int;
    create_collation_v2: (P, Text, c_int, P, P, P) -> c_int;
    backup_init: (P, Text, P, Text) -> P;
    blob_open: (P, Text, Text, Text, i64, c_int, *mut P) -> c_int;
    serialize: (P, Text, *mut i64, u32) -> *mut c_void;
    deserialize: (P, Text, P, i64, i64, u32) -> c_int;
    enable_load_extension: (P, c_int) -> c_int;
    load_extension: (P, Text, Text, *mut *mut c_char) -> c_int;
    libversion_number: () -> c_int;
    malloc64: (u64) -> P;
    free: (P);
}

/// Replaces a function that an old SQLite lacks: returns SQLITE_MISUSE.
unsafe extern "C" fn missing() -> c_int {
    super::MISUSE
}

impl Real {
    /// Whether the caller is SQLite itself, as for the statements of VACUUM.
    pub fn holds(&self, address: usize) -> bool {
        (self.low..self.high).contains(&address)
    }
}

/// Address ranges of objects that have called, with the SQLite of each.
static CALLERS: Mutex<Vec<(usize, usize, &'static Real)>> = Mutex::new(vec![]);

thread_local! {
    /// The last object that called.
    static LAST: Cell<(usize, usize, Option<&'static Real>)> = const { Cell::new((0, 0, None)) };
}

/// The SQLite that a call from this address is meant for.
pub fn of_caller(address: usize) -> Option<&'static Real> {
    let (low, high, real) = LAST.get();
    if (low..high).contains(&address) {
        return real;
    }
    let mut callers = CALLERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = callers.iter().find(|(low, high, _)| (*low..*high).contains(&address));
    let own = callers.iter().find(|(_, _, real)| real.holds(address));
    let caller = match known.or(own) {
        Some(caller) if known.is_some() => *caller,
        // SQLite calls itself.
        Some((_, _, real)) => return Some(real),
        None => {
            let (low, high) = loader::object(address)?;
            // SAFETY: the loader is queried about code that is running.
            let real = unsafe { find(address, &callers) }?;
            callers.push((low, high, real));
            (low, high, real)
        }
    };
    LAST.set((caller.0, caller.1, Some(caller.2)));
    Some(caller.2)
}

/// First in the scope of the whole program, then in that of the calling object; else the only known one.
unsafe fn find(address: usize, callers: &[(usize, usize, &'static Real)]) -> Option<&'static Real> {
    let of_scope = |scope: &Scope| {
        let step = loader::find(scope, c"sqlite3_step") as usize;
        if step == 0 || loader::is_ours(step) {
            return None;
        }
        let known = callers.iter().find(|(_, _, real)| real.step as usize == step);
        known.map(|(_, _, real)| *real).or_else(|| Real::find(scope).map(|real| &*Box::leak(Box::new(real))))
    };
    let own = || loader::scope_of(address).and_then(|scope| of_scope(&scope));
    of_scope(&Scope::Next).or_else(own).or_else(|| callers.last().map(|(_, _, real)| *real))
}

/// The SQLite found last, for calls that cannot pass the caller's address. Programs with two are rare.
pub fn last() -> Option<&'static Real> {
    let callers = CALLERS.lock().unwrap_or_else(PoisonError::into_inner);
    callers.last().map(|(_, _, real)| *real)
}
