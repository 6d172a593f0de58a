//! Keys of encrypted databases are in no file of a capture, whatever its values and however the program gives them.

use super::{capture, content};
use crate::support::Bench;
use std::path::Path;

/// Gives keys in statements and in names of databases, also of one that cannot be opened.
const KEYS: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
for sql in ('\\ufeffPRAGMA key = SECRET1', 'EXPLAIN PRAGMA key = \"SECRET2\"', 'EXPLAIN QUERY PLAN PRAGMA rekey(SECRET3)',
            \"PRAGMA activate_extensions = 'see-SECRET4'\", 'PRAGMA [textrekey] = SECRET5',
            'ATTACH \"file:other.db?hexkey=SECRET6\" AS other', \"SAVEPOINT 'SECRET7'\"):
    try:
        db.execute(sql)
    except sqlite3.Error:
        pass
try:
    sqlite3.connect('file:/no-such-directory/a.db?key=SECRET8', uri=True)
    raise SystemExit('opened')
except sqlite3.Error:
    pass
";

fn has_a_secret(dir: &Path) -> bool {
    let paths = std::fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path());
    paths.into_iter().any(|path| match path.is_dir() {
        true => has_a_secret(&path),
        false => content(&path).windows(6).any(|part| part == b"SECRET"),
    })
}

#[test]
fn keys_are_in_no_file_of_a_capture() {
    for values in ["--values=hash", "--values=full"] {
        let bench = Bench::new();
        std::fs::write(bench.path("keys.py"), KEYS).expect("written");
        capture(&bench, &[values], &["python3", "keys.py"]).exits(0);
        let is_full = values == "--values=full";
        // The name of a savepoint is a value.
        let kept = |dir: &str| has_a_secret(&bench.path(dir));
        assert_eq!(kept("taken"), is_full, "{values}");
        if is_full {
            let texts = bench.contend(&["capture", "show", "taken", "--json"]).exits(0).out;
            assert!(!texts.replace("SECRET7", "").contains("SECRET"), "{texts}");
            bench.contend(&["capture", "anonymise", "taken", "--out", "hashed"]).exits(0);
            assert!(!kept("hashed"));
        }
    }
}
