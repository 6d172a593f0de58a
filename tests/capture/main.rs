//! `contend capture` on real programs: every statement is there, or said to be missing; what is private stays private;
//! and a program that is killed loses nothing that it committed.

#[path = "../support/mod.rs"]
mod support;

mod flask;
mod found;
mod fresh;
mod gaps;
mod matrix;
mod replay;
mod round_trip;
mod server;
mod session;

use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use support::{Bench, Said, root};

fn script(name: &str) -> String {
    root().join("tests/capture").join(name).display().to_string()
}

/// A command, captured into `taken`.
fn capture(bench: &Bench, options: &[&str], command: &[&str]) -> Said {
    let mut args = vec!["capture", "--out", "taken"];
    args.extend(options);
    args.push("--");
    args.extend(command);
    bench.contend(&args)
}

/// What `show` says of `taken`.
fn shown(bench: &Bench) -> Value {
    let said = bench.contend(&["capture", "show", "taken", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).expect("JSON")
}

/// How many times statements with this beginning were executed, and rows, changes and failures of them.
fn counts(summary: &Value, begin: &str) -> [u64; 4] {
    let all = summary["statements"].as_array().expect("a list");
    let mine = all.iter().filter(|statement| statement["text"].as_str().expect("a text").starts_with(begin));
    mine.fold([0; 4], |sums, statement| {
        let number = |key: &str| statement[key].as_u64().expect("a number");
        let more = [number("count"), number("rows"), number("changes"), number("failed")];
        std::array::from_fn(|i| sums[i] + more[i])
    })
}

/// Whether a program is there; says what is not verified otherwise.
fn has(program: &str, test: &str) -> bool {
    let found =
        std::process::Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = found.is_ok();
    assert!(has || std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_none(), "{program} is missing");
    if !has {
        println!("NOT VERIFIED: {test}: there is no {program}");
    }
    has
}

fn database(bench: &Bench) -> PathBuf {
    bench.path("app.db")
}
