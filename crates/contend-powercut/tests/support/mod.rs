//! Shared by the tests: places for recordings, directory trees as values, random numbers.
#![allow(dead_code)]

pub mod possible;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contend_powercut::log::Log;
use contend_powercut::record::{self, Options};
use contend_powercut::replay::{Cut, Image, Model, Namespace};

/// Paths of a recording: the directory, a copy of its first state, a mount point, a log.
pub struct Place {
    pub dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["backing", "base", "mnt", "image"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        Place { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Copies the base and mounts. `None` without /dev/fuse; the test then reports that it verified nothing.
    pub fn mount(&self) -> Option<Recording> {
        if !possible::can_record() {
            return None;
        }
        copy(&self.path("backing"), &self.path("base"));
        let mut child = recorder_command(&std::env::current_exe().expect("a program"), self).spawn().expect("a child");
        assert_eq!(answer(&mut child), "mounted");
        Some(Recording { child, mountpoint: self.path("mnt") })
    }

    pub fn options(&self) -> Options {
        Options {
            backing: self.path("backing"),
            mountpoint: self.path("mnt"),
            log: self.path("log"),
            bound_bytes: 1 << 30,
            threads: 3,
        }
    }

    pub fn log(&self) -> Log {
        Log::read(&self.path("log")).expect("a whole log")
    }
}

/// A recorder in its own process. In the process of a program that maps files of the mount it would wait for itself
/// for ever.
pub struct Recording {
    pub child: Child,
    mountpoint: PathBuf,
}

impl Recording {
    pub fn unmount(mut self) {
        record::release(&self.mountpoint).expect("unmounted");
        assert!(self.child.wait().expect("ended").success(), "the recorder ends in order");
    }
}

/// The process of the recorder, not a test.
#[test]
#[ignore = "runs only as the child of another test"]
fn recorder() {
    let Some(place) = std::env::var_os("POWERCUT_CHILD") else { return };
    let place = Path::new(&place);
    match record::mount(&Options {
        backing: place.join("backing"),
        mountpoint: place.join("mnt"),
        log: place.join("log"),
        bound_bytes: 1 << 30,
        threads: 3,
    }) {
        Ok(mount) => {
            println!("\nmounted");
            mount.wait().expect("recorded");
        }
        Err(e) => println!("\nrefused: {e}"),
    }
}

pub fn recorder_arguments(command: &mut Command, place: &Place) {
    command.args(["--exact", "support::recorder", "--ignored", "--nocapture"]);
    command.env("POWERCUT_CHILD", place.dir.path()).stdout(Stdio::piped()).stderr(Stdio::null());
}

pub fn recorder_command(program: &Path, place: &Place) -> Command {
    let mut command = Command::new(program);
    recorder_arguments(&mut command, place);
    command
}

/// A line from the child. The pipe stays open: the child writes again when it ends.
pub fn answer(child: &mut Child) -> String {
    let mut output = BufReader::new(child.stdout.as_mut().expect("a pipe"));
    let mut line = String::new();
    while output.read_line(&mut line).expect("text") > 0 {
        if line.starts_with("mounted") || line.starts_with("refused") {
            return line.trim_end().to_string();
        }
        line.clear();
    }
    panic!("the child ended without an answer");
}

impl Drop for Place {
    fn drop(&mut self) {
        record::unmount(&self.path("mnt")).expect("unmounted");
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&target).expect("a directory");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}

/// A tree as a value: path to kind, permissions and content.
pub type Tree = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

pub fn tree(dir: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![PathBuf::new()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(dir.join(&path)).expect("a directory").flatten() {
            let path = path.join(entry.file_name());
            let data = entry.metadata().expect("metadata");
            let item = if data.is_dir() {
                open.push(path.clone());
                ('d', data.permissions().mode() & 0o7777, vec![])
            } else if data.is_symlink() {
                ('l', 0, fs::read_link(entry.path()).expect("a link").into_os_string().into_encoded_bytes())
            } else {
                ('f', data.permissions().mode() & 0o7777, fs::read(entry.path()).expect("a file"))
            };
            found.insert(path, item);
        }
    }
    found
}

pub fn written(image: &Image, dir: &Path) -> Tree {
    image.rewrite(dir).expect("an image on disk");
    tree(dir)
}

pub fn cut(position: usize, model: Model, namespace: Namespace, seed: u64) -> Cut {
    Cut { position, model, namespace, seed }
}

/// Random numbers, the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
