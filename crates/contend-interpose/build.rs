//! Compiles this crate a second time, as the shared library that is loaded into programs. Only that build exports
//! functions with SQLite's names: in contend itself they would replace the SQLite that contend is linked with.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = Path::new(&var("OUT_DIR")).join("libcontend_interpose.so");
    let mut rustc = Command::new(var("RUSTC"));
    rustc.args([
        "--crate-name",
        "contend_interpose",
        "--crate-type",
        "cdylib",
        "--edition",
        "2024",
        "--cfg",
        "interpose",
        // Cargo already lints the same sources as a part of this crate.
        "--cap-lints",
        "allow",
    ]);
    rustc.args([
        "-C",
        "opt-level=3",
        "-C",
        "panic=abort",
        "-C",
        "strip=symbols",
        "-C",
        "lto=fat",
        "-C",
        "codegen-units=1",
    ]);
    rustc.args(["--target", &var("TARGET")]).arg("-o").arg(&library).arg("src/lib.rs");
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "the library that is loaded into programs cannot be built; rustc says above why");
}
