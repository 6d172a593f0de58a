//! A Python that has Django, made once.

use super::root;
use std::path::PathBuf;
use std::process::Command;

pub fn python() -> PathBuf {
    let made = Command::new(root().join("scripts/python-for-tests.sh")).output().expect("sh");
    assert!(made.status.success(), "no packages: {}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("a path").trim_end().into()
}
