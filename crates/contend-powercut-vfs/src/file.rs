//! A file of the VFS: the state needed to record changes, followed in memory by the default VFS's file.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use contend_powercut::log::Ino;
use contend_powercut::record::Ledger;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};

/// SQLite allocates this much memory before the default VFS's file. A multiple of every field's alignment.
pub const SIZE: usize = size_of::<File>().next_multiple_of(16);

#[repr(C)]
struct File {
    /// The part that SQLite reads. Its methods are null while the file is not open.
    seen: sqlite3_file,
    /// Null for files that are not recorded.
    recorded: *mut Recorded,
}

struct Recorded {
    ino: Ino,
    path: PathBuf,
    ledger: Arc<Ledger>,
    /// The default VFS syncs the directory with the first sync of a new journal; this VFS records the same.
    directory_sync: bool,
}

/// # Safety
/// `file` has the size that `register` gave to SQLite.
pub unsafe fn prepare(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the memory is allocated and not in use yet.
    unsafe {
        file.cast::<File>()
            .write(File { seen: sqlite3_file { pMethods: std::ptr::null() }, recorded: std::ptr::null_mut() });
        let real = real(file);
        (*real).pMethods = std::ptr::null();
        real
    }
}

/// # Safety
/// `prepare` was called, and the default VFS has opened its part.
pub unsafe fn opened(file: *mut sqlite3_file, name: *const c_char, flags: c_int, ledger: &Arc<Ledger>) {
    // SAFETY: as above; a name, if there is one, is a C string.
    unsafe {
        (*file).pMethods = &raw const METHODS;
        // Temporary files have no name or vanish when they are closed: a power cut cannot concern them.
        if name.is_null() || flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 {
            return;
        }
        let path = path(name);
        let journals = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
        let directory_sync = flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & journals != 0;
        if let Some(ino) = ledger.opened(&path) {
            let recorded = Box::new(Recorded { ino, path, ledger: ledger.clone(), directory_sync });
            (*file.cast::<File>()).recorded = Box::into_raw(recorded);
        }
    }
}

/// # Safety
/// `name` is a C string.
pub unsafe fn path(name: *const c_char) -> PathBuf {
    // SAFETY: by the caller.
    PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// # Safety
/// As for `prepare`.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: `register` asked for SIZE more bytes than the default VFS needs.
    unsafe { file.byte_add(SIZE) }
}

/// # Safety
/// `file` is open.
unsafe fn recorded<'a>(file: *mut sqlite3_file) -> Option<&'a mut Recorded> {
    // SAFETY: made by `opened`, freed by `close`; SQLite uses a file from one thread at a time.
    unsafe { (*file.cast::<File>()).recorded.as_mut() }
}

/// Calls a method of the default VFS's file.
macro_rules! call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let real = real($file);
        match (*(*real).pMethods).$method {
            Some(method) => method(real $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// Methods that only call the default VFS.
macro_rules! pass {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*);)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: SQLite calls this with an open file of ours and arguments for the default VFS.
            unsafe { call!(file, $method $(, $argument)*) }
        }
    )*};
}

pass! {
    read = xRead(buffer: *mut c_void, bytes: c_int, offset: sqlite3_int64);
    file_size = xFileSize(size: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(answer: *mut c_int);
    sector_size = xSectorSize();
    shm_map = xShmMap(page: c_int, size: c_int, extend: c_int, at: *mut *mut c_void);
    shm_lock = xShmLock(offset: c_int, n: c_int, flags: c_int);
    shm_unmap = xShmUnmap(delete: c_int);
}

/// Version 2 has no memory-mapped reads: a mapping could also be written to without a call.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once.
    unsafe {
        let recorded = std::mem::replace(&mut (*file.cast::<File>()).recorded, std::ptr::null_mut());
        if !recorded.is_null() {
            drop(Box::from_raw(recorded));
        }
        call!(file, xClose)
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, data: *const c_void, bytes: c_int, offset: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this with an open file of ours and `bytes` bytes of data.
    unsafe {
        let code = call!(file, xWrite, data, bytes, offset);
        if code == ffi::SQLITE_OK
            && let Some(recorded) = recorded(file)
        {
            let data = std::slice::from_raw_parts(data.cast::<u8>(), bytes as usize);
            recorded.ledger.written(recorded.ino, offset as u64, data);
        }
        code
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite calls this with an open file of ours.
    unsafe {
        let code = call!(file, xTruncate, size);
        if code == ffi::SQLITE_OK
            && let Some(recorded) = recorded(file)
        {
            // The default VFS rounds the size up when a chunk size is set.
            recorded.ledger.cut(recorded.ino, size_of_file(file).unwrap_or(size as u64));
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite calls this with an open file of ours.
    unsafe {
        let Some(recorded) = recorded(file) else { return call!(file, xSync, flags) };
        recorded.ledger.synced(recorded.ino, flags & ffi::SQLITE_SYNC_DATAONLY != 0);
        if std::mem::take(&mut recorded.directory_sync) {
            recorded.ledger.synced_directory_of(&recorded.path);
        }
        ffi::SQLITE_OK
    }
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, verb: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite calls this with an open file of ours and what the verb needs.
    unsafe {
        let before = size_of_file(file);
        let code = call!(file, xFileControl, verb, argument);
        // The only verb that changes the file: it grows the file to an expected size.
        if verb == ffi::SQLITE_FCNTL_SIZE_HINT
            && let (Some(recorded), Some(before), Some(after)) = (recorded(file), before, size_of_file(file))
            && after > before
        {
            recorded.ledger.grown(recorded.ino, after);
        }
        code
    }
}

/// # Safety
/// `file` is open.
unsafe fn size_of_file(file: *mut sqlite3_file) -> Option<u64> {
    let mut size: sqlite3_int64 = 0;
    // SAFETY: by the caller; the size is written to a local variable.
    let code = unsafe { call!(file, xFileSize, &raw mut size) };
    (code == ffi::SQLITE_OK).then_some(size as u64)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this with an open file of ours. Batched writes would bypass `write`.
    unsafe { call!(file, xDeviceCharacteristics) & !ffi::SQLITE_IOCAP_BATCH_ATOMIC }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite calls this with an open file of ours.
    unsafe {
        let real = real(file);
        if let Some(barrier) = (*(*real).pMethods).xShmBarrier {
            barrier(real);
        }
    }
}
