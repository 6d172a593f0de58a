//! `contend capture` on real programs: every statement is there, or reported as missing; what is private stays private;
//! and a program that is killed loses nothing that it committed.

#[path = "../support/mod.rs"]
mod support;

mod checked;
mod config;
mod crash;
mod flask;
mod found;
mod fresh;
mod gaps;
mod given;
mod holds;
mod keys;
mod kinds;
mod mariadb;
mod matrix;
mod of_server;
mod on_server;
mod queue;
mod replay;
mod results;
mod round_trip;
mod secrets;
mod server;
mod session;
mod study;
mod threads;
mod told;
mod watched;

use contend::record::seal::{JSON, sealed};
use serde_json::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Bench, Said, root};

fn script(name: &str) -> String {
    root().join("tests/capture").join(name).display().to_string()
}

/// Makes a database with this content.
fn make(bench: &Bench, name: &str, sql: &str) {
    rusqlite::Connection::open(bench.path(name)).and_then(|db| db.execute_batch(sql)).expect("made");
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

/// The content of a file of a capture. A packed segment is unpacked as far as needed to find texts in it, and numbers in
/// the form of [`packed_number`].
fn content(file: &Path) -> Vec<u8> {
    const HEAD: usize = 8 + 64;
    let bytes = std::fs::read(file).expect("readable");
    if !bytes.starts_with(b"cntndpk2") {
        return bytes;
    }
    let mut plain = vec![];
    flate2::read::DeflateDecoder::new(&bytes[HEAD..]).read_to_end(&mut plain).expect("packed");
    plain
}

/// A number as it is in a packed segment the first time: its difference to 0, seven bits in a byte.
fn packed_number(number: u64) -> Vec<u8> {
    let (mut rest, mut bytes) = ((number << 1) ^ (number.cast_signed() >> 63).cast_unsigned(), vec![]);
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
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

/// Replays a capture with a pause: as fast as possible, as captured, and four times as fast.
fn keeps_pauses(pause: Duration, replay: impl Fn(&str) -> Said) {
    let took = |speed| {
        let outcome: Value = serde_json::from_str(&replay(speed).exits(0).out).expect("JSON");
        Duration::from_nanos(outcome["replayed_ns"].as_u64().expect("a time"))
    };
    let [asap, captured, fast] = ["asap", "captured", "4"].map(took);
    assert!(captured >= pause && fast >= pause / 4, "{captured:?} {fast:?}");
    assert!(asap < captured && fast < captured, "{asap:?} {fast:?} {captured:?}");
}

/// Whether a program is there; says what is not verified otherwise.
fn has(program: &str, test: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = found.is_ok();
    assert!(has || std::env::var_os("CONTEND_TESTS_MUST_HAVE_WORKERS").is_none(), "{program} is missing");
    if !has {
        println!("NOT VERIFIED: {test}: there is no {program}");
    }
    has
}

/// A program in C; `None` without a compiler.
fn built(bench: &Bench, source: &str) -> Option<String> {
    if !has("cc", "a program in C") {
        return None;
    }
    let program = bench.path("program").display().to_string();
    let built = Command::new("cc").args(["-O1", "-o", &program, &script(source), "-lsqlite3"]).output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

fn database(bench: &Bench) -> PathBuf {
    bench.path("app.db")
}

/// Changes `capture.json`, and seals it again: what a reader refuses does not depend on the seal.
fn edit(bench: &Bench, change: impl FnOnce(&mut Value)) {
    let path = bench.path("taken/capture.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("JSON");
    manifest.as_object_mut().expect("an object").remove("seal");
    change(&mut manifest);
    std::fs::write(&path, sealed(JSON, &format!("{manifest:#}"))).expect("written");
}

/// A copy in `taken` to be changed. Hashes of copies are removed: older versions had none.
fn copy(bench: &Bench, name: &str) -> rusqlite::Connection {
    edit(bench, |manifest| {
        for database in manifest["databases"].as_array_mut().expect("a list") {
            let contents = ["content", "end"].map(|key| database[key].take());
            for (key, mut content) in ["content", "end"].into_iter().zip(contents) {
                content.as_object_mut().and_then(|content| content.remove("copy_hash"));
                database[key] = content;
            }
        }
    });
    rusqlite::Connection::open(bench.path("taken").join(name)).expect("a copy")
}
