//! Notes which compiler built the worker; `hello` reports it as the language's version.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok().and_then(|out| String::from_utf8(out.stdout).ok());
    println!("cargo::rustc-env=CONTEND_RUSTC_VERSION={}", version.as_deref().unwrap_or("rustc unknown").trim());
    println!("cargo::rerun-if-changed=build.rs");
}
