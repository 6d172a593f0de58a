//! Finds SQLite whose calls cannot be interposed: linked into a program or library, or translated into another language.
//! Examines the files that the processes execute.

use memchr::memmem;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Form in which a file contains SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    Nothing,
    /// As dynamic symbols, which can be interposed.
    Exported,
    Static,
    /// The Go package mattn/go-sqlite3 with its own copy of SQLite.
    LinkedByGo,
    /// The Go package modernc.org/sqlite.
    TranslatedToGo,
    /// The Go package ncruces/go-sqlite3, which runs SQLite as WebAssembly.
    WebAssembly,
}

/// Examines a file.
pub fn look(bytes: &[u8]) -> Brings {
    let Ok(file) = object::File::parse(bytes) else { return Brings::Nothing };
    let is_step = |symbol: object::Symbol<'_, '_>| symbol.is_definition() && symbol.name() == Ok("sqlite3_step");
    if file.dynamic_symbols().any(is_step) {
        return Brings::Exported;
    }
    // The file calls another library's SQLite; the sqlite3 shell contains the texts below for other purposes.
    if file.dynamic_symbols().any(|symbol| symbol.is_undefined() && symbol.name() == Ok("sqlite3_step")) {
        return Brings::Nothing;
    }
    let has = |text: &[u8]| memmem::find(bytes, text).is_some();
    if has(b"modernc.org/sqlite/lib.") {
        return Brings::TranslatedToGo;
    }
    if has(b"github.com/ncruces/go-sqlite3.") {
        return Brings::WebAssembly;
    }
    // The first bytes of every database file, and the name of the schema table.
    if file.symbols().any(is_step) || (has(b"SQLite format 3\0") && has(b"sqlite_master")) {
        return if has(b"github.com/mattn/go-sqlite3.") { Brings::LinkedByGo } else { Brings::Static };
    }
    Brings::Nothing
}

/// A SQLite whose calls cannot be interposed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Foreign {
    /// A description: `/usr/bin/app has SQLite linked into it`.
    pub what: String,
    /// The change with which they can.
    pub change: String,
    pub linked: Linked,
}

/// Whether the functions of a SQLite that is linked into a file can be replaced ([`crate::plan`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Linked {
    /// In the file with this device and inode.
    Planned(u64, u64),
    /// With the reason, a clause that begins with a noun.
    OutOfReach(String),
    /// It is not a SQLite in machine code.
    Elsewhere,
}

/// What a process that has loaded a file can do about its SQLite.
#[derive(Debug)]
pub enum Examined {
    /// Nothing: it has none, or one whose calls are interposed.
    Nothing,
    /// Carry out this plan.
    Plan(Vec<u8>),
    OutOfReach(Foreign),
}

/// Examines a file that a process has loaded.
///
/// # Errors
/// The file cannot be read.
pub fn examine(path: &Path) -> std::io::Result<Examined> {
    let bytes = fs::read(path)?;
    Ok(match plan_of(&bytes) {
        Ok(None) => Examined::Nothing,
        Ok(Some(plan)) => Examined::Plan(plan),
        Err(why) => {
            let brings = if look(&bytes) == Brings::LinkedByGo { Brings::LinkedByGo } else { Brings::Static };
            Examined::OutOfReach(Foreign { linked: Linked::OutOfReach(why), ..foreign(path, brings) })
        }
    })
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::examine::plan as plan_of;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn plan_of(_: &[u8]) -> Result<Option<Vec<u8>>, String> {
    Ok(None)
}

/// A SQLite in a file that cannot be interposed; `None` if it can be, or there is none.
fn out_of_reach(path: &Path, mut file: &File) -> Option<Foreign> {
    let mut bytes = vec![];
    file.read_to_end(&mut bytes).ok()?;
    let brings = look(&bytes);
    let linked = match brings {
        Brings::Nothing | Brings::Exported => return None,
        Brings::TranslatedToGo | Brings::WebAssembly => Linked::Elsewhere,
        Brings::Static | Brings::LinkedByGo => match (plan_of(&bytes), file.metadata()) {
            (Ok(Some(_)), Ok(meta)) => Linked::Planned(meta.dev(), meta.ino()),
            (Err(why), _) => Linked::OutOfReach(why),
            _ => {
                Linked::OutOfReach("the names of its functions were removed (by `strip`, or a linker with `-s`)".into())
            }
        },
    };
    Some(Foreign { linked, ..foreign(path, brings) })
}

fn foreign(path: &Path, brings: Brings) -> Foreign {
    let name = path.display();
    let what = match brings {
        Brings::TranslatedToGo => format!("{name} has SQLite translated to Go (modernc.org/sqlite)"),
        Brings::WebAssembly => format!("{name} runs SQLite as WebAssembly (ncruces/go-sqlite3)"),
        _ => format!("{name} has SQLite linked into it"),
    };
    let is = |text: &str| path.to_string_lossy().contains(text);
    let change = match brings {
        Brings::TranslatedToGo | Brings::WebAssembly => {
            "use mattn/go-sqlite3 and build with `go build -tags libsqlite3`"
        }
        Brings::LinkedByGo => "build with `go build -tags libsqlite3`",
        _ if is(".node") => "use the npm package sqlite3",
        _ if is("sqlitejdbc") => "use a driver that calls the system's libsqlite3",
        _ if is("apsw") => "build it against the system's library: `pip install --no-binary apsw apsw`",
        _ => {
            "use a driver or a build that is linked with the system's libsqlite3 (Go: `-tags libsqlite3`; Rust: rusqlite without `bundled`)"
        }
    };
    Foreign { what, change: change.to_string(), linked: Linked::Elsewhere }
}

/// The path of a command that there is.
pub fn program(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = name.as_ref();
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Whether a program has more rights than its user: the loader then ignores `LD_PRELOAD`.
pub fn has_other_rights(file: &Path) -> bool {
    const SET_ID: u32 = 0o6000;
    fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & SET_ID != 0)
}

/// The value of `LD_PRELOAD` with this library first.
pub fn preload(library: &Path) -> OsString {
    let mut preload = library.as_os_str().to_os_string();
    if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()) {
        preload.push(":");
        preload.push(before);
    }
    preload
}

/// Examines the processes of a command repeatedly. Large files take long, so a thread reads them; they are opened at
/// once, because a process may end and remove what it has unpacked.
#[derive(Default)]
pub struct Lookout {
    seen: BTreeSet<(u64, u64)>,
    said: BTreeSet<Foreign>,
    reader: Option<Reader>,
    /// Databases that a process had open.
    pub open: BTreeSet<Open>,
}

/// A database that a process had open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Open {
    pub path: PathBuf,
    /// File of the process's program.
    pub program: PathBuf,
    /// Whether it has one of the libraries, and this user, whose files the library needs.
    pub is_captured: bool,
}

/// File name of the library that records calls.
pub const LIBRARY_FILE: &str = "libcontend_interpose.so";
/// File name of the library that answers calls from a server.
pub const SHIM_FILE: &str = "libcontend_shim.so";

struct Reader {
    files: Sender<(PathBuf, File)>,
    found: Receiver<Foreign>,
}

impl Reader {
    fn start() -> Reader {
        let (files, opened) = channel::<(PathBuf, File)>();
        let (send, found) = channel();
        thread::spawn(move || {
            for (path, file) in opened {
                if out_of_reach(&path, &file).is_some_and(|found| send.send(found).is_err()) {
                    return;
                }
            }
        });
        Reader { files, found }
    }
}

impl Lookout {
    /// SQLites found since the last call.
    pub fn look(&mut self, root: u32) -> Vec<Foreign> {
        for pid in descendants(root).into_iter().filter(|pid| *pid != std::process::id()) {
            let maps = mapped_files(pid);
            let new = self.mapped(&maps);
            if !new.is_empty() {
                let reader = self.reader.get_or_insert_with(Reader::start);
                // The thread ends with its channel only.
                new.into_iter().for_each(|file| drop(reader.files.send(file)));
            }
            let paths = databases(pid);
            if let (false, Ok(program)) = (paths.is_empty(), fs::read_link(format!("/proc/{pid}/exe"))) {
                // The process may have begun between the two readings: the loader had then not mapped the library.
                let has_library = |maps: &str| maps.contains(LIBRARY_FILE) || maps.contains(SHIM_FILE);
                let is_captured = (has_library(&maps) || has_library(&mapped_files(pid))) && !has_another_user(pid);
                let open = |path| Open { path, program: program.clone(), is_captured };
                self.open.extend(paths.into_iter().map(open));
            }
        }
        let found = self.reader.iter().flat_map(|reader| reader.found.try_iter());
        found.filter(|found| self.said.insert(found.clone())).collect()
    }

    /// SQLites in files that were still being read when the command ended.
    pub fn finish(&mut self) -> Vec<Foreign> {
        let Some(Reader { files, found }) = self.reader.take() else { return vec![] };
        drop(files);
        found.into_iter().filter(|found| self.said.insert(found.clone())).collect()
    }

    /// Examines a program before it is started.
    pub fn look_at_file(&mut self, path: &Path) -> Option<Foreign> {
        let path = path.canonicalize().ok()?;
        out_of_reach(&path, &File::open(&path).ok()?).filter(|found| self.is_new(found))
    }

    /// Whether this was not reported yet. It is from now on.
    pub fn is_new(&mut self, found: &Foreign) -> bool {
        self.said.insert(found.clone())
    }

    /// Files that a process executes, by its maps, and that were not seen before.
    fn mapped(&mut self, maps: &str) -> Vec<(PathBuf, File)> {
        let mut found = vec![];
        for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'))) {
            let Some(at) = line.find('/') else { continue };
            let path = Path::new(line[at..].trim_end_matches(" (deleted)"));
            let fields: Vec<&str> = line.split_whitespace().take(5).collect();
            let inode = fields.get(4).and_then(|inode| inode.parse().ok()).unwrap_or(0);
            let device = fields.get(3).map_or(0, |device| device.bytes().fold(0, |sum, b| sum * 31 + u64::from(b)));
            if self.seen.insert((device, inode))
                && let Ok(file) = File::open(path)
            {
                found.push((path.to_path_buf(), file));
            }
        }
        found
    }
}

/// The files and places that a process has in memory; empty if it has ended.
fn mapped_files(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default()
}

/// Whether a process has given up the rights of this one: it can then write nothing into the capture.
fn has_another_user(pid: u32) -> bool {
    let effective = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        ids.split_whitespace().nth(1).map(str::to_string)
    };
    let user = effective(&pid.to_string());
    user.is_some_and(|user| user != "0" && Some(&user) != effective("self").as_ref())
}

/// All processes: number, parent, whether it is a zombie.
fn processes() -> Vec<(u32, u32, bool)> {
    let mut found = vec![];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
        let parent = after_name.and_then(|mut fields| Some((fields.next()? == "Z", fields.next()?.parse().ok()?)));
        found.extend(parent.map(|(has_ended, parent)| (pid, parent, has_ended)));
    }
    found
}

/// Zombie children of a process.
pub fn ended(parent: u32) -> Vec<u32> {
    let mine = processes().into_iter().filter(|(_, of, has_ended)| *has_ended && *of == parent);
    mine.map(|(pid, ..)| pid).collect()
}

/// A process and its living descendants.
pub fn descendants(root: u32) -> Vec<u32> {
    let all = processes();
    let (mut found, mut next) = (vec![], vec![root]);
    while let Some(pid) = next.pop() {
        next.extend(all.iter().filter(|(_, parent, ended)| *parent == pid && !ended).map(|(child, ..)| *child));
        found.push(pid);
    }
    found
}

/// SQLite databases that a process has open. Files are read only if this user owns them.
fn databases(pid: u32) -> Vec<PathBuf> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let paths = links.filter_map(|link| fs::read_link(link.path()).ok()).filter(|path| path.is_absolute());
    paths.filter(|path| is_database(path)).collect()
}

fn is_database(path: &Path) -> bool {
    if path.starts_with("/dev") || path.starts_with("/proc") || !path.is_file() {
        return false;
    }
    let mut begin = [0; 16];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut begin, 0));
    read.is_ok() && &begin == b"SQLite format 3\0"
}
