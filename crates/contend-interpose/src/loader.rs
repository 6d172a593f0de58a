//! Queries to the dynamic loader.

use crate::sys::{self, DlInfo, LinkMap, P, Phdr, PhdrInfo};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};

/// Where to look for a symbol.
pub enum Scope {
    /// In the objects after this library, in the program's search order.
    Next,
    /// In an object and its dependencies.
    Of(P),
}

pub static mut REAL_DLOPEN: P = null_mut();
pub static mut REAL_DLSYM: P = null_mut();
pub static mut REAL_USLEEP: P = null_mut();
pub static mut REAL_NANOSLEEP: P = null_mut();
pub static mut REAL_CLOCK_NANOSLEEP: P = null_mut();

const NEXT: P = usize::MAX as P;
const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

/// Finds the functions that are replaced. Another library may call them before this one is initialised.
pub extern "C" fn resolve() {
    // SAFETY: only calls the loader.
    unsafe {
        let _errno = sys::Errno::keep();
        let find = |name: &CStr| {
            let old = sys::dlvsym(NEXT, name.as_ptr(), c"GLIBC_2.2.5".as_ptr());
            if old.is_null() { sys::dlvsym(NEXT, name.as_ptr(), c"GLIBC_2.34".as_ptr()) } else { old }
        };
        REAL_DLOPEN = find(c"dlopen");
        REAL_DLSYM = find(c"dlsym");
        REAL_USLEEP = find(c"usleep");
        REAL_NANOSLEEP = find(c"nanosleep");
        REAL_CLOCK_NANOSLEEP = sys::dlvsym(NEXT, c"clock_nanosleep".as_ptr(), c"GLIBC_2.17".as_ptr());
    }
}

/// # Safety
/// As for the C library's.
pub unsafe fn dlsym(handle: P, name: *const c_char) -> P {
    if REAL_DLSYM.is_null() {
        resolve();
    }
    core::mem::transmute::<P, unsafe extern "C" fn(P, *const c_char) -> P>(REAL_DLSYM)(handle, name)
}

unsafe fn dlopen(name: *const c_char, flags: c_int) -> P {
    if REAL_DLOPEN.is_null() {
        resolve();
    }
    core::mem::transmute::<P, unsafe extern "C" fn(*const c_char, c_int) -> P>(REAL_DLOPEN)(name, flags)
}

/// # Safety
/// The scope's handle is open.
pub unsafe fn find(scope: &Scope, name: &CStr) -> P {
    match scope {
        Scope::Next => dlsym(NEXT, name.as_ptr()),
        Scope::Of(handle) => dlsym(*handle, name.as_ptr()),
    }
}

/// The scope of the object at an address. The object stays loaded.
///
/// # Safety
/// The address is that of code.
pub unsafe fn scope_of(address: usize) -> Option<Scope> {
    let mut info = DlInfo { name: null(), base: null_mut(), symbol: null(), address: null_mut() };
    let mut map: *const LinkMap = null();
    if sys::dladdr1(address as *const c_void, &raw mut info, &raw mut map, 2) == 0 || map.is_null() {
        return None;
    }
    // The program itself has an empty name, and no symbols before this library.
    if *(*map).name == 0 {
        return None;
    }
    let handle = dlopen((*map).name, RTLD_LAZY | RTLD_NOLOAD);
    (!handle.is_null()).then_some(Scope::Of(handle))
}

/// Lowest and highest address of the object that contains an address.
pub fn object(address: usize) -> Option<(usize, usize)> {
    search(address).map(|(low, high, _)| (low, high))
}

/// End of the code that contains an address.
pub fn code_end(address: usize) -> Option<usize> {
    search(address).map(|(.., end)| end).filter(|end| *end != 0)
}

/// Lowest and highest address of the object that contains an address, and the end of the segment if it has code, or 0.
fn search(address: usize) -> Option<(usize, usize, usize)> {
    struct Search {
        address: usize,
        found: Option<(usize, usize, usize)>,
    }
    extern "C" fn each(info: *const PhdrInfo, _: usize, data: P) -> c_int {
        const PT_LOAD: u32 = 1;
        const PF_X: u32 = 1;
        // SAFETY: the loader passes valid headers of the object.
        unsafe {
            let search = &mut *data.cast::<Search>();
            let (mut low, mut high, mut code_end) = (usize::MAX, 0, 0);
            for i in 0..usize::from((*info).count) {
                let header: &Phdr = &*(*info).headers.add(i);
                if header.kind == PT_LOAD {
                    let from = (*info).base + header.address as usize;
                    let to = from + header.in_memory as usize;
                    (low, high) = (low.min(from), high.max(to));
                    if header.flags & PF_X != 0 && (from..to).contains(&search.address) {
                        code_end = to;
                    }
                }
            }
            if (low..high).contains(&search.address) {
                search.found = Some((low, high, code_end));
            }
            c_int::from(search.found.is_some())
        }
    }
    let mut search = Search { address, found: None };
    // SAFETY: `each` gets a pointer to `search`.
    unsafe { sys::dl_iterate_phdr(each, (&raw mut search).cast()) };
    search.found
}

/// Whether an address belongs to this library.
pub fn is_ours(address: usize) -> bool {
    object(is_ours as *const () as usize).is_some_and(|(low, high)| (low..high).contains(&address))
}
