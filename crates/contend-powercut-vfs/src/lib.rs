//! A SQLite VFS that writes the log of `contend-powercut`, for machines where no file system can be mounted. It calls
//! the default VFS and records every change of a database's files.
//!
//! The replayer makes the same images from this log as from that of a mount. One process per log: all connections of
//! that process are recorded, other processes are not. Syncs are recorded and not carried out, because only the
//! recorded disk fails, not the machine.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::sync::Arc;

use contend_powercut::log::Recorded;
use contend_powercut::record::Ledger;
use contend_powercut::{Error, Result};
use rusqlite::ffi;

mod file;

/// A registered VFS, and its log.
pub struct Vfs {
    vfs: *mut ffi::sqlite3_vfs,
    ledger: Arc<Ledger>,
}

/// State of the VFS's functions, behind `pAppData`.
struct Shim {
    real: *mut ffi::sqlite3_vfs,
    ledger: Arc<Ledger>,
}

/// Registers a VFS with this name (`Connection::open_with_flags_and_vfs`). It records the files in `directory` that
/// it opens. The directory's content at this call is the base: copy it before.
pub fn register(name: &str, directory: &Path, log: &Path, bound_bytes: u64) -> Result<Vfs> {
    register_one(name, directory, log, bound_bytes, false)
}

/// As [`register`], for all connections that name no VFS: for programs that do not choose how their databases are
/// opened.
pub fn register_as_default(name: &str, directory: &Path, log: &Path, bound_bytes: u64) -> Result<Vfs> {
    register_one(name, directory, log, bound_bytes, true)
}

fn register_one(name: &str, directory: &Path, log: &Path, bound_bytes: u64, as_default: bool) -> Result<Vfs> {
    let name = CString::new(name).map_err(|_| Error::new("the name of a VFS cannot contain a zero byte"))?;
    // SAFETY: a null name asks for the default VFS; SQLite initialises itself.
    let (real, same) = unsafe {
        ffi::sqlite3_initialize();
        (ffi::sqlite3_vfs_find(std::ptr::null()), ffi::sqlite3_vfs_find(name.as_ptr()))
    };
    if real.is_null() || !same.is_null() {
        return Err(Error::new(format!("SQLite has no default VFS, or already has a VFS named {name:?}")));
    }
    let ledger = Arc::new(Ledger::create(directory, log, bound_bytes)?);
    let shim = Box::new(Shim { real, ledger: ledger.clone() });
    // SAFETY: SQLite never frees or changes its default VFS. The copy is ours. Its functions do not use the VFS that
    // they are called with, except those for opening and removing files, which are replaced.
    let mut vfs = Box::new(unsafe { *real });
    vfs.pNext = std::ptr::null_mut();
    vfs.szOsFile += file::SIZE as c_int;
    vfs.zName = name.into_raw();
    vfs.pAppData = Box::into_raw(shim).cast();
    vfs.xOpen = Some(open);
    vfs.xDelete = Some(delete);
    // Never freed: connections can outlive the registration.
    let vfs = Box::into_raw(vfs);
    // SAFETY: `vfs` stays valid for ever, and is complete.
    match unsafe { ffi::sqlite3_vfs_register(vfs, c_int::from(as_default)) } {
        ffi::SQLITE_OK => Ok(Vfs { vfs, ledger }),
        code => Err(Error::new(format!("SQLite refuses the VFS: code {code}"))),
    }
}

impl Vfs {
    /// Ends the registration: no new connections, and the log gets its last mark. Close all connections before:
    /// changes after the mark do not belong to the log.
    pub fn end(self) -> Recorded {
        // SAFETY: it was registered, and only this value unregisters it.
        unsafe { ffi::sqlite3_vfs_unregister(self.vfs) };
        self.ledger.end()
    }
}

/// # Safety
/// `vfs` is one of ours.
unsafe fn shim<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Shim {
    // SAFETY: by `register`, and never freed.
    unsafe { &*(*vfs).pAppData.cast::<Shim>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this with one of our VFS, and with `szOsFile` bytes for the file.
    unsafe {
        let shim = shim(vfs);
        let real = file::prepare(file);
        let Some(open) = (*shim.real).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(shim.real, name, real, flags, out_flags);
        if code == ffi::SQLITE_OK {
            file::opened(file, name, flags, &shim.ledger);
        }
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite calls this with one of our VFS and the file's full path.
    unsafe {
        let shim = shim(vfs);
        let path = file::path(name);
        let Some(delete) = (*shim.real).xDelete else { return ffi::SQLITE_IOERR_DELETE };
        let code = shim.ledger.removing(&path, || {
            let code = delete(shim.real, name, 0);
            (code, code == ffi::SQLITE_OK)
        });
        if code == ffi::SQLITE_OK && sync_directory != 0 {
            shim.ledger.synced_directory_of(&path);
        }
        code
    }
}
