//! SQLite that cannot be captured: linked into a program or library without symbols that others can stand in for, or
//! translated into another language. Found by looking at the files that the processes execute.

use memchr::memmem;
use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How a file brings SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    Nothing,
    /// Symbols that calls go through.
    Exported,
    Static,
    /// The Go package modernc.org/sqlite.
    TranslatedToGo,
    /// The Go package ncruces/go-sqlite3, which runs it as WebAssembly.
    WebAssembly,
}

/// Looks into a file.
pub fn look(path: &Path) -> Brings {
    let Ok(bytes) = fs::read(path) else { return Brings::Nothing };
    let Ok(file) = object::File::parse(&*bytes) else { return Brings::Nothing };
    let is_step = |symbol: object::Symbol<'_, '_>| symbol.is_definition() && symbol.name() == Ok("sqlite3_step");
    if file.dynamic_symbols().any(is_step) {
        return Brings::Exported;
    }
    let has = |text: &[u8]| memmem::find(&bytes, text).is_some();
    if has(b"modernc.org/sqlite/lib.") {
        return Brings::TranslatedToGo;
    }
    if has(b"github.com/ncruces/go-sqlite3.") {
        return Brings::WebAssembly;
    }
    // What every database file begins with, and the name of its schema.
    if file.symbols().any(is_step) || (has(b"SQLite format 3\0") && has(b"sqlite_master")) {
        return Brings::Static;
    }
    Brings::Nothing
}

/// What to do about a file that brings SQLite in this way.
fn advice(path: &Path, brings: Brings) -> String {
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
        _ if is(".node") => {
            "use the npm package sqlite3, built with `npm install sqlite3 --build-from-source --sqlite=/usr`"
        }
        _ if is("sqlitejdbc") => "use a driver that calls the system's libsqlite3",
        _ if is("apsw") => "build it against the system's library: `pip install --no-binary apsw apsw`",
        _ if is("go") => "build with `go build -tags libsqlite3`",
        _ => {
            "use a driver or a build that is linked with the system's libsqlite3 (Go: `-tags libsqlite3`; Rust: rusqlite without `bundled`)"
        }
    };
    format!("{what}: what it does is not captured. To capture it, {change}.")
}

/// Looks at the processes of a capture again and again.
#[derive(Default)]
pub struct Lookout {
    files: BTreeMap<(u64, u64), Brings>,
    said: BTreeSet<String>,
    /// Databases that a process had open.
    pub open: BTreeSet<PathBuf>,
}

impl Lookout {
    /// What is new since the last look, in sentences.
    pub fn look(&mut self, root: u32) -> Vec<String> {
        let mut new = vec![];
        for pid in descendants(root) {
            for (path, brings) in self.mapped(pid) {
                if !matches!(brings, Brings::Nothing | Brings::Exported) {
                    let sentence = advice(&path, brings);
                    if self.said.insert(sentence.clone()) {
                        new.push(sentence);
                    }
                }
            }
            self.open.extend(databases(pid));
        }
        new
    }

    /// Looks at a program before it is started.
    pub fn look_at_file(&mut self, path: &Path) -> Option<String> {
        let brings = look(path);
        let is_missing = !matches!(brings, Brings::Nothing | Brings::Exported);
        is_missing.then(|| advice(path, brings)).filter(|sentence| self.said.insert(sentence.clone()))
    }

    /// Files that a process executes and that are new, with what they bring.
    fn mapped(&mut self, pid: u32) -> Vec<(PathBuf, Brings)> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let mut found = vec![];
        for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x'))) {
            let Some(at) = line.find('/') else { continue };
            let path = Path::new(line[at..].trim_end_matches(" (deleted)"));
            let fields: Vec<&str> = line.split_whitespace().take(5).collect();
            let inode = fields.get(4).and_then(|inode| inode.parse().ok()).unwrap_or(0);
            let device = fields.get(3).map_or(0, |device| device.bytes().fold(0, |sum, b| sum * 31 + u64::from(b)));
            let brings = *self.files.entry((device, inode)).or_insert_with(|| look(path));
            found.push((path.to_path_buf(), brings));
        }
        found
    }
}

/// A process and all that come from it and have not ended.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut parents: Vec<(u32, u32)> = vec![];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
        let parent = after_name.and_then(|mut fields| (fields.next()? != "Z").then(|| fields.next()?.parse().ok())?);
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let (mut found, mut next) = (vec![], vec![root]);
    while let Some(pid) = next.pop() {
        next.extend(parents.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| *child));
        found.push(pid);
    }
    found
}

/// SQLite databases that a process has open. Only files that it has open are looked at, and by the owner of this capture.
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
    let read = fs::File::open(path).and_then(|file| file.read_exact_at(&mut begin, 0));
    read.is_ok() && &begin == b"SQLite format 3\0"
}
