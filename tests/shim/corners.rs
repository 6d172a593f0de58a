//! Rare uses of SQLite, whose answers must be those of SQLite or errors.

use super::{Stage, fed, text};

/// Python: `run` prints the rows of a statement, or the error.
const RUN: &str = "import sqlite3, sys\n\
                   c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                   def run(sql, *values):\n\
                   \x20   try: print(c.execute(sql, values).fetchall())\n\
                   \x20   except sqlite3.Error as e: print(e)\n";

/// What a Python program prints through the shim.
fn shim(stage: &Stage, script: &str) -> String {
    let path = stage.path("a.db").display().to_string();
    let output = fed(stage.shim(&[], &["python3", "-c", &format!("{RUN}{script}"), &path]), "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// PostgreSQL has no such texts. The statement fails, and the transaction goes on.
#[test]
fn a_text_with_nul_ends_no_transaction() {
    let stage = Stage::start();
    let said = shim(
        &stage,
        "run('CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)')\n\
         run('BEGIN')\n\
         run('INSERT INTO t (x) VALUES (?)', 'before')\n\
         for i in range(5): run('INSERT INTO t (x) VALUES (?)', 'a\\0b')\n\
         run('SELECT x FROM t WHERE x = ?', 'a\\0')\n\
         run('INSERT INTO t (x) VALUES (?)', 'after')\n\
         run('COMMIT')\n\
         run('SELECT x FROM t ORDER BY id')\n",
    );
    assert_eq!(said.matches("the server has no texts with NUL").count(), 6, "{said}");
    assert!(said.ends_with("[]\n[]\n[('before',), ('after',)]\n"), "{said}");
}
