//! A schema with CHECK constraints, captured with hashes: its workload has the words that the schema allows, as often as the program.
//! Long lists of values can be read.

use crate::support::{Bench, wrong_in};
use crate::{capture, make};

/// Constraints of columns and of the table, with texts, numbers, ranges and lengths.
const SCHEMA: &str = "CREATE TABLE client (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE CHECK (length(code) = 9));
    CREATE TABLE bill (id INTEGER PRIMARY KEY, client INTEGER NOT NULL REFERENCES client (id),
      state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paid', 'void')),
      kind TEXT CHECK (kind = 'in' OR kind = 'out' OR kind IS NULL),
      prio INTEGER NOT NULL CHECK (prio IN (1, 5, 10)), flag INT CHECK (flag IN (0, 1)),
      qty INTEGER NOT NULL, price REAL NOT NULL CHECK (price > 0), country TEXT CHECK (length(country) <= 2),
      note TEXT,
      CONSTRAINT bounds CHECK (qty BETWEEN 10 AND 20 AND (note IS NULL OR length(note) BETWEEN 30 AND 40)));
    CREATE TABLE may (client INTEGER NOT NULL REFERENCES client (id), what TEXT NOT NULL CHECK (what IN ('read', 'write', 'own')),
      PRIMARY KEY (client, what));
    CREATE TABLE setting (name TEXT PRIMARY KEY CHECK (name IN ('tax', 'currency')), value TEXT);
    INSERT INTO setting VALUES ('currency', 'CHF'), ('tax', '8.1');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
      INSERT INTO client SELECT i + 1, printf('c-%07d', i) FROM n WHERE i < 20;
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
      INSERT INTO bill SELECT i + 1, i % 20 + 1, iif(i < 160, 'paid', iif(i < 190, 'open', 'void')), iif(i % 4, 'out', 'in'),
        iif(i % 5, 10, 1), i % 2, i % 11 + 10, i + 0.5, char(65 + i % 26, 65 + i / 26), printf('%035d', i) FROM n;
    INSERT INTO may SELECT id, 'read' FROM client UNION ALL SELECT id, 'own' FROM client;";

const PROGRAM: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
for i in range(200):
    db.execute('BEGIN IMMEDIATE')
    db.execute('INSERT INTO bill (client, state, kind, prio, flag, qty, price, country, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
               (i % 20 + 1, 'void' if i % 10 == 0 else 'open', None if i % 2 else 'in', (5, 10, 10, 10)[i % 4], i % 2, i % 11 + 10,
                i + 0.25, '%02d' % (i % 100), 'n%039d' % i))
    db.execute(\"UPDATE bill SET state = 'paid', flag = 1 WHERE client = ? AND state = 'open'\", (i % 20 + 1,))
    db.execute('UPDATE bill SET qty = ?, price = ? WHERE id = ?', (i % 11 + 10, i + 1.5, i + 1))
    db.execute('COMMIT')
    db.execute('SELECT count(*) FROM bill WHERE state = ? AND prio = ?', ('void', 10)).fetchall()
    db.execute('SELECT value FROM setting WHERE name = ?', (('tax', 'currency')[i % 2],)).fetchall()
";

/// Texts that are unequally frequent, as many as a workload lists.
const LONG: &str = "
import sqlite3
db = sqlite3.connect('app.db', isolation_level=None)
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)')
for i in range(1200):
    word = 'word, \"%d\" [x]' % (i if i % 4 else 0)
    db.execute('INSERT INTO t (word) VALUES (?)', (word,))
    db.execute('SELECT count(*) FROM t WHERE word = ?', (word,)).fetchall()
";

#[test]
fn long_lists_of_a_workload_are_in_short_lines() {
    let bench = Bench::new();
    capture(&bench, &["--values=full"], &["python3", "-c", LONG]).exits(0);
    let text = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("a workload");
    // An inline table cannot be broken but in its lists.
    let is_long = |line: &&str| line.chars().count() > 120 && !line.starts_with("content = ");
    assert_eq!(text.lines().find(is_long), None);
    let drawn: toml::Table = text.parse().expect("TOML");
    let words = drawn["transaction"]["select_t"]["args"]["a0_1"]["choice"].as_array().expect("a list");
    assert!(words.len() == 901 && words[0].as_str() == Some("word, \"0\" [x]"), "{text}");
    let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=full"];
    bench.contend(&[&quick[..], &["--only", "as captured", "--allow-tmpfs", "--out", "record"]].concat()).ran();
    assert_eq!(wrong_in(&bench.path("record")), []);
}

#[test]
fn values_are_the_words_of_the_schema_as_often_as_in_the_program() {
    let bench = Bench::new();
    make(&bench, "app.db", SCHEMA);
    let said = capture(&bench, &[], &["python3", "-c", PROGRAM]).exits(0).err;
    assert!(said.contains("contend run taken --quick"), "{said}");
    let text = std::fs::read_to_string(bench.path("taken/workload.toml")).expect("a workload");
    for line in [
        r#"state = { choice = ["paid", "open", "void"], weights = [160, 30, 10] }"#,
        r#"kind = { choice = ["out", "in"], weights = [150, 50] }"#,
        r#"prio = { choice = [10, 1], weights = [160, 40] }"#,
        r#"{ choice = ["open", "void"], weights = [180, 20] }"#,
        r#"{ choice = [10, 5], weights = [150, 50] }"#,
        r#"{ choice = ["in"], weights = [100], null = 0.500 }"#,
        r#"{ choice = ["void"], weights = [200] }"#,
        r#"name = { cycle = ["tax", "currency"] }"#,
        r#"what = { cycle = ["read", "write"] }"#,
        "qty = { choice = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], weights",
        r#"code = { format = "va{serial:1000001}" }"#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let said = bench.contend(&["capture", "to-workload", "taken"]).exits(0).err;
    assert!(!said.contains("fail") && !said.contains("made-up names"), "{said}");
    let quick = ["run", "taken", "--quick", "--rounds", "1", "--window", "200ms", "--set", "load=full"];
    let only = ["--only", "as captured", "--only", "PostgreSQL", "--allow-tmpfs", "--out", "record"];
    bench.contend(&[&quick[..], &only].concat()).ran();
    assert_eq!(wrong_in(&bench.path("record")), []);
}
