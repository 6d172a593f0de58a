//! The study of a capture with power cuts.

use super::capture;
use crate::support::Bench;
use crate::support::possible::can_record;

/// Commits often with SQLite's defaults, of which a power cut can take the last commit.
const PROGRAM: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE note (id INTEGER PRIMARY KEY, words TEXT)')
for i in range(100):
    db.execute('INSERT INTO note (words) VALUES (?)', (f'words {i}',))
";

#[test]
fn what_a_crash_would_take_from_a_captured_program_is_one_command() {
    if !can_record() {
        return;
    }
    let bench = Bench::new();
    let told = capture(&bench, &[], &["python3", "-c", PROGRAM]).exits(0).err;
    assert!(told.contains("What a crash would take: contend run taken/crash.toml"), "{told}");
    let ran = bench.contend(&["run", "taken/crash.toml", "--quick", "--allow-tmpfs", "--out", "record"]);
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ran.ran();
    assert!(said.contains("What would a power cut take from python3?"), "{said}");
    for (ask, lost) in [("as captured?", "acknowledged commits are gone"), ("And with WAL/FULL?", "nothing is lost")] {
        let answer = said.split_once(ask).expect("asked").1.split("? >").next().expect("a part");
        assert!(answer.contains(lost), "{ask} {answer}");
    }
    assert!(!said.contains("corrupt images"), "{said}");
}
