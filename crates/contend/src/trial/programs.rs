//! The programs that carried out the plans of a run: two records may differ only in them.

use crate::engine::{self, Driver};
use crate::record::model::Program;
use crate::study::model::Study;
use crate::trial::itself;
use crate::trial::workers::process::{InsteadOf, Launch};
use crate::units::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A smaller program is a script that starts an interpreter on the sources next to it.
const SCRIPT_BYTES_MAX: u64 = 1 << 16;

/// Directories of libraries, which are pinned and whose version the worker reports, and of compiled sources: other installations
/// have other files there.
const LIBRARIES: [&str; 4] = ["venv", "node_modules", "vendor", "__pycache__"];

/// The worker of each driver of a study, and each build that a contender names. Programs that do not exist are left
/// out: their trials report it.
pub fn of(study: &Study, instead: &InsteadOf) -> Vec<Program> {
    let mut known = BTreeSet::new();
    let mut programs = vec![];
    for contender in &study.contenders {
        let Some(driver) = engine::driver(contender) else { continue };
        if !known.insert((driver.name, &contender.worker)) {
            continue;
        }
        let launch = instead.worker.clone().map_or_else(|| Launch::of_contender(contender), Ok);
        let Some(digests) = launch.ok().and_then(|launch| digests(&program(&launch)?, driver).ok()) else { continue };
        let Digests { own: sha256, libraries: libraries_sha256 } = digests;
        let (driver, worker) = (driver.name.to_string(), contender.worker.clone());
        programs.push(Program { driver, worker, sha256, libraries_sha256 });
    }
    programs
}

/// The file that is run; for a typed command the first word that names a file.
fn program(launch: &Launch) -> Option<PathBuf> {
    let typed = launch.typed();
    let words = || typed.split_whitespace().map(|word| PathBuf::from(word.trim_matches(['\'', '"'])));
    if launch.args.iter().any(|arg| arg.contains(' ')) {
        words().find(|path| path.is_file())
    } else {
        Some(itself::file(&launch.program).to_path_buf())
    }
}

/// Digests of a program with its own sources, and of the libraries that are next to them.
struct Digests {
    own: String,
    libraries: Option<String>,
}

fn digests(program: &Path, driver: &Driver) -> io::Result<Digests> {
    let mut hashes = Hashes { own: Sha256::new(), libraries: None };
    take_in(program, &mut hashes.own)?;
    if fs::metadata(program)?.len() <= SCRIPT_BYTES_MAX {
        let home = program.parent().unwrap_or(Path::new("."));
        if engine::app::is_app(driver.name) {
            let app = home.join("../apps").join(driver.name);
            files(&app.join("app"), false, &mut hashes)?;
            files(&app, true, &mut hashes)?;
        } else {
            files(&home.join(driver.language.to_lowercase()), false, &mut hashes)?;
            files(&home.join(driver.name), false, &mut hashes)?;
        }
    }
    let libraries = hashes.libraries.map(|hash| hex(&hash.finalize()));
    Ok(Digests { own: hex(&hashes.own.finalize()), libraries })
}

struct Hashes {
    own: Sha256,
    libraries: Option<Sha256>,
}

fn take_in(path: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?);
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        hash.update(bytes);
        let read = bytes.len();
        reader.consume(read);
    }
}

/// All files of a directory, in the order of their names.
fn files(dir: &Path, are_libraries: bool, hashes: &mut Hashes) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            files(&path, are_libraries || LIBRARIES.contains(&name.as_str()), hashes)?;
        } else if path.is_file() {
            let hash = if are_libraries { hashes.libraries.get_or_insert_default() } else { &mut hashes.own };
            hash.update(name);
            take_in(&path, hash)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(engine: &str, name: &str) -> &'static Driver {
        engine::find(engine).expect("an engine").drivers().find(|driver| driver.name == name).expect("a driver")
    }

    /// Whether another content of a file changes the digest of a program, and that of its libraries.
    fn shows(driver: &Driver, file: &str) -> [bool; 2] {
        let dir = tempfile::tempdir().expect("a directory");
        let (program, file) = (dir.path().join("workers/worker"), dir.path().join(file));
        fs::create_dir_all(program.parent().expect("a parent")).expect("a directory");
        fs::write(&program, "#!/bin/sh").expect("a program");
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        let digests = |content| {
            fs::write(&file, content).expect("a file");
            digests(&program, driver).expect("it is there")
        };
        let (one, other) = (digests("1"), digests("2"));
        [one.own != other.own, one.libraries != other.libraries]
    }

    #[test]
    fn a_change_of_a_workers_source_shows() {
        let python = driver("sqlite", "apsw");
        assert_eq!(shows(python, "workers/python/src/main"), [true, false]);
        assert_eq!(shows(python, "workers/other/main"), [false, false]);
        assert_eq!(shows(driver("postgres", "shim"), "workers/shim/libcontend_shim.so"), [true, false]);
        assert_eq!(shows(driver("sqlite", "gameplan"), "apps/gameplan/app/gameplan/plan.py"), [true, true]);
    }

    #[test]
    fn a_change_of_a_workers_libraries_shows() {
        let python = driver("sqlite", "apsw");
        assert_eq!(shows(python, "workers/python/venv/lib/library"), [false, true]);
        assert_eq!(shows(python, "workers/python/src/__pycache__/main.pyc"), [false, true]);
        assert_eq!(shows(driver("sqlite", "wordpress"), "apps/wordpress/wordpress/index.php"), [false, true]);
    }

    #[test]
    fn the_program_of_a_command_is_found() {
        let this = std::env::current_exe().expect("this program");
        let found = |launch: &Launch| program(launch).map(|path| path.canonicalize().expect("a file"));
        let typed = Launch::shell(&format!("env A=1 '{}' worker", this.display()));
        assert_eq!(found(&typed), Some(this.clone()));
        assert_eq!(found(&Launch { program: this.clone(), args: vec!["worker".to_string()] }), Some(this));
    }
}
