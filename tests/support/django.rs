//! A Python that has Django, made once.

use super::root;
use std::path::PathBuf;
use std::process::Command;

const PACKAGES: [&str; 2] = ["django==5.2.19", "psycopg[binary]==3.3.9"];

pub fn python() -> PathBuf {
    let venv = root().join("target/tests-django");
    let python = venv.join("bin/python");
    let ready = Command::new(&python).args(["-c", "import django, psycopg"]).output().is_ok_and(|o| o.status.success());
    if !ready {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).status().expect("python3");
        assert!(made.success());
        let mut pip = Command::new(&python);
        assert!(
            pip.args(["-m", "pip", "install", "-q"]).args(PACKAGES).status().expect("pip").success(),
            "no packages"
        );
    }
    python
}
