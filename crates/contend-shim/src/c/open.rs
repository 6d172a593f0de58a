//! Opens, configures and closes connections.

use super::front::{Counts, Failed, Front};
use super::hook::{hook, text, text16};
use super::interrupt::Handler;
use super::real::{Progress, Real, Text, of_caller};
use super::{CANTOPEN, MISUSE, OK, authorizer, refused};
use crate::config::{Settings, of_uri, settings};
use crate::connection::Connection;
use crate::{journal, path, registry};
use contend_interpose::P;
use std::ffi::{c_int, c_void};
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Once};

const READ_ONLY: c_int = 1;
const READ_WRITE_CREATE: c_int = 6;
const CREATE: c_int = 4;
const URI: c_int = 0x40;
const MEMORY: c_int = 0x80;
/// Flags that also apply to a database in memory: no mutex, full mutex, extended result codes.
const KEPT: c_int = 0x8000 | 0x1_0000 | 0x0200_0000;

extern "C" fn forked() {
    journal::FORKS.fetch_add(1, Relaxed);
}

/// Whether SQLite reads names as URIs without SQLITE_OPEN_URI: it was compiled so (Debian's is), or the program configured it.
/// The name is that of a database in memory, or of a file that is not there.
unsafe fn reads_uris(real: &Real) -> bool {
    let mut db: P = std::ptr::null_mut();
    let rc = (real.open_v2)(c"file:/contend/shim?mode=memory".as_ptr(), &raw mut db, READ_ONLY, null());
    (real.close)(db);
    rc == OK
}

unsafe fn opened(name: &str, out: *mut P, flags: c_int, real: &'static Real, call: impl FnOnce() -> c_int) -> c_int {
    let place = path::place(name, flags & URI != 0 || name.starts_with("file:") && reads_uris(real));
    let Some(place) = place.filter(|_| flags & MEMORY == 0 && !out.is_null()) else {
        let rc = call();
        if rc == OK && !out.is_null() {
            authorizer::guard(real, *out);
        }
        return rc;
    };
    static FORKING: Once = Once::new();
    FORKING.call_once(|| {
        contend_interpose::pthread_atfork(std::ptr::null_mut(), std::ptr::null_mut(), forked);
    });
    super::front::enter(real);
    crate::value::answers_as(u32::try_from((real.libversion_number)()).unwrap_or(0));
    let (rc, own) =
        refused::noted(|| (real.open_v2)(c":memory:".as_ptr(), out, flags & KEPT | READ_WRITE_CREATE, null()));
    if rc != OK {
        return rc;
    }
    let front = Front { real, db: *out as usize };
    // Without settings the rows would go into the file: the command has ended, or this process has another user, or lost
    // the variable.
    let why = "unable to open database file: the settings of contend shim cannot be read";
    let unreadable = || Failed::new(CANTOPEN, why);
    let settings = place.settings.as_deref().map_or_else(settings, of_uri);
    match settings.ok_or_else(unreadable).and_then(|settings| connect(front, settings, &place, flags)) {
        Ok(connection) => {
            *connection.own() = own;
            authorizer::ask(&connection);
            registry::enter_connection(front.db, connection);
            OK
        }
        Err(failed) => {
            front.define(&Arc::new(Counts::default()));
            let code = front.say(&failed);
            authorizer::deny(front);
            code
        }
    }
}

fn connect(
    front: Front,
    settings: &'static Settings,
    place: &path::DatabaseFile,
    flags: c_int,
) -> Result<Arc<Connection>, Failed> {
    if place.path.parent().is_some_and(|parent| !parent.is_dir()) {
        return Err(Failed::new(CANTOPEN, journal::NOT_THERE));
    }
    let creates = flags & CREATE != 0 && place.may_create && !place.is_readonly;
    let connection = Connection::open(front, settings, &place.path, creates)
        .inspect_err(|failed| journal::not_opened(&place.path, failed))?;
    connection.is_readonly.store(flags & READ_ONLY != 0 || place.is_readonly, Relaxed);
    Ok(Arc::new(connection))
}

hook!(rdx; sqlite3_open(name: Text, out: *mut P) -> c_int, caller {
    let Some(real) = of_caller(caller) else { return MISUSE };
    opened(&text(name), out, READ_WRITE_CREATE, real, || (real.open)(name, out))
});

hook!(r8; sqlite3_open_v2(name: Text, out: *mut P, flags: c_int, vfs: Text) -> c_int, caller {
    let Some(real) = of_caller(caller) else { return MISUSE };
    if real.holds(caller) {
        return (real.open_v2)(name, out, flags, vfs);
    }
    opened(&text(name), out, flags, real, || (real.open_v2)(name, out, flags, vfs))
});

hook!(rdx; sqlite3_open16(name: *const c_void, out: *mut P) -> c_int, caller {
    let Some(real) = of_caller(caller) else { return MISUSE };
    opened(&text16(name), out, READ_WRITE_CREATE, real, || (real.open16)(name, out))
});

unsafe fn closed(db: P, caller: usize, call: impl FnOnce(&Real) -> c_int) -> c_int {
    let Some(connection) = registry::connection(db as usize) else {
        return of_caller(caller).map_or(MISUSE, call);
    };
    let rc = call(connection.front.real);
    if rc == OK {
        registry::remove_connection(db as usize, &connection);
    }
    rc
}

hook!(rsi; sqlite3_close(db: P) -> c_int, caller {
    if db.is_null() { OK } else { closed(db, caller, |real| (real.close)(db)) }
});

hook!(rsi; sqlite3_close_v2(db: P) -> c_int, caller {
    if db.is_null() { OK } else { closed(db, caller, |real| (real.close_v2)(db)) }
});

hook!(rdx; sqlite3_busy_timeout(db: P, ms: c_int) -> c_int, caller {
    let Some(connection) = registry::connection(db as usize) else {
        return of_caller(caller).map_or(MISUSE, |real| (real.busy_timeout)(db, ms));
    };
    connection.state().link.set_timeout(ms);
    (connection.front.real.busy_timeout)(db, ms)
});

hook!(rsi; sqlite3_interrupt(db: P), caller {
    match registry::connection(db as usize) {
        None => {
            if let Some(real) = of_caller(caller) {
                (real.interrupt)(db);
            }
        }
        Some(connection) => {
            if connection.interrupts.interrupt(&connection.front) {
                connection.cancel();
            }
        }
    }
});

hook!(r8; sqlite3_progress_handler(db: P, instructions: c_int, call: Progress, argument: P), caller {
    match registry::connection(db as usize) {
        None => {
            if let Some(real) = of_caller(caller) {
                (real.progress_handler)(db, instructions, call, argument);
            }
        }
        Some(connection) => {
            let handler = Handler { instructions, call, argument: argument as usize };
            connection.interrupts.set_handler(&connection.front, handler);
        }
    }
});

macro_rules! counts {
    ($($name:ident, $call:ident, $type:ty, $field:ident;)*) => {
        $(hook!(rsi; $name(db: P) -> $type, caller {
            match registry::connection(db as usize).filter(|connection| !connection.front.real.holds(caller)) {
                None => of_caller(caller).map_or(0, |real| (real.$call)(db)),
                Some(connection) => connection.counts.$field.load(Relaxed) as $type,
            }
        });)*
    };
}

counts! {
    sqlite3_changes, changes, c_int, last;
    sqlite3_changes64, changes64, i64, last;
    sqlite3_total_changes, total_changes, c_int, total;
    sqlite3_total_changes64, total_changes64, i64, total;
}

/// `dlopen` without RTLD_DEEPBIND, with which an object would find its own SQLite before this library (PHP uses it).
///
/// # Safety
/// As for the C library's.
#[cfg_attr(not(test), unsafe(export_name = "dlopen"))]
#[unsafe(naked)]
pub unsafe extern "C" fn stand_in_dlopen() {
    std::arch::naked_asm!("jmp {dlopen}", dlopen = sym contend_interpose::stand_in::stand_in_dlopen)
}

/// Initialises the library when it is loaded.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[cfg(not(test))]
extern "C" fn begin() {
    contend_interpose::stand_in::bind_to_program();
    crate::config::directory();
}

/// Writes what is not in the journal yet when the program ends.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

#[cfg(not(test))]
extern "C" fn end() {
    journal::write_last_times();
}
