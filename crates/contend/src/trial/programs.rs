//! The programs that carried out the plans of a run: two records may differ only in them.

use crate::engine;
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

/// Directories of libraries, which are pinned and whose version the worker reports.
const LIBRARIES: [&str; 3] = ["venv", "node_modules", "vendor"];

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
        let digest = launch.ok().and_then(|launch| digest(&program(&launch)?, driver.language).ok());
        let program = |sha256| Program { driver: driver.name.to_string(), worker: contender.worker.clone(), sha256 };
        programs.extend(digest.map(program));
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
        Some(itself::executable(&launch.program))
    }
}

fn digest(program: &Path, language: &str) -> io::Result<String> {
    let mut hash = Sha256::new();
    take_in(program, &mut hash)?;
    if fs::metadata(program)?.len() <= SCRIPT_BYTES_MAX {
        let beside = program.parent().unwrap_or(Path::new(".")).join(language.to_lowercase());
        sources(&beside, &mut hash)?;
    }
    Ok(hex(&hash.finalize()))
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
fn sources(dir: &Path, hash: &mut Sha256) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && !LIBRARIES.contains(&name.as_str()) {
            sources(&path, hash)?;
        } else if path.is_file() {
            hash.update(name);
            take_in(&path, hash)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_workers_source_shows() {
        let dir = tempfile::tempdir().expect("a directory");
        let (program, home) = (dir.path().join("worker"), dir.path().join("python"));
        fs::create_dir_all(home.join("src")).expect("a home");
        fs::create_dir_all(home.join("venv")).expect("libraries");
        fs::write(&program, "#!/bin/sh").expect("a program");
        let digest = || digest(&program, "Python").expect("it is there");
        let first = digest();
        fs::write(home.join("venv/library"), "1").expect("a library");
        assert_eq!(digest(), first);
        fs::write(home.join("src/main"), "1").expect("a source");
        assert_ne!(digest(), first);
    }

    #[test]
    fn the_program_of_a_command_is_found() {
        let this = std::env::current_exe().expect("this program");
        let typed = Launch::shell(&format!("env A=1 '{}' worker", this.display()));
        assert_eq!(program(&typed), Some(this.clone()));
        assert_eq!(program(&Launch { program: this.clone(), args: vec!["worker".to_string()] }), Some(this));
    }
}
