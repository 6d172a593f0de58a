//! Random sequences of calls of SQLite's C interface, carried out on SQLite and through the shim, side by side: the same
//! codes, messages, rows and counts. Where the shim refuses a statement the sequence ends; what MariaDB always refuses is left
//! out there.

use std::fmt::Write;

/// A generator whose numbers are the same everywhere (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Statements, and what their parameters are: `k` a key, `w` a word, `i` an integer, `r` a real, `t` a text, `a` anything.
/// Keys and words are never NULL and break no CHECK: the numbers that a server gives are other ones, and what OR IGNORE does
/// about other constraints differs.
const STATEMENTS: &[(&str, &str)] = &[
    ("INSERT INTO t (id, name, n, r) VALUES (?, ?, ?, ?)", "ktir"),
    ("INSERT OR IGNORE INTO t (id, name, n, r) VALUES (?, ?, ?, ?)", "kwkr"),
    ("INSERT OR REPLACE INTO t (id, name, n, r) VALUES (?, ?, ?, ?)", "ktir"),
    ("INSERT INTO t (id, name) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = coalesce(n, 0) + 1", "kt"),
    ("INSERT INTO t (id, name, n) VALUES (?, ?, ?) RETURNING id, name", "kti"),
    ("INSERT OR IGNORE INTO t (id, name) VALUES (?, ?)", "kt"),
    ("INSERT INTO t (id, name) VALUES (?, NULL)", "k"),
    ("INSERT INTO t DEFAULT VALUES", ""),
    ("UPDATE t SET n = ? WHERE id = ?", "ik"),
    ("UPDATE t SET n = ?, r = ? WHERE id = ? RETURNING *", "irk"),
    ("UPDATE t SET name = NULL WHERE id = ?", "k"),
    ("UPDATE OR IGNORE t SET name = ? WHERE id = ?", "wk"),
    ("UPDATE OR REPLACE t SET name = ? WHERE id = ?", "wk"),
    ("UPDATE t SET name = ? WHERE id < ?", "tk"),
    ("UPDATE t SET n = n + 1", ""),
    ("DELETE FROM t WHERE id = ?", "k"),
    ("DELETE FROM t WHERE n > ?", "i"),
    ("DELETE FROM t WHERE id = ? RETURNING name, n", "k"),
    ("DELETE FROM t", ""),
    ("SELECT id, name, n, r FROM t ORDER BY id", ""),
    ("SELECT * FROM t WHERE id = ?", "k"),
    ("SELECT name FROM t WHERE name >= ? ORDER BY name", "t"),
    ("SELECT count(*) AS c, sum(n) AS s, max(name) FROM t", ""),
    ("SELECT t.id, u.v FROM t JOIN u ON u.t = t.id ORDER BY t.id, u.id", ""),
    ("SELECT id, CASE WHEN n IS NULL THEN 'none' ELSE 'some' END FROM t ORDER BY 1", ""),
    ("INSERT INTO u (id, t, v) VALUES (?, ?, ?)", "kit"),
    ("UPDATE u SET v = (SELECT name FROM t WHERE t.id = u.t) WHERE id > ?", "k"),
    ("DELETE FROM u", ""),
    ("INSERT INTO v (id, a) VALUES (?, ?)", "ka"),
    ("REPLACE INTO v (id, a) VALUES (?, ?)", "ka"),
    ("UPDATE v SET a = ? WHERE id >= ?", "ak"),
    ("SELECT id, a, typeof(a), a || '!' FROM v ORDER BY a, id", ""),
    ("SELECT id, a = ?, a < ?, a IS ? FROM v ORDER BY id", "aaa"),
    ("SELECT max(a), min(a), count(a) FROM v", ""),
    ("SELECT id, coalesce(r, ?), max(n, ?) FROM t ORDER BY id", "ir"),
    ("SELECT n, count(*) AS c, sum(r) FROM t GROUP BY n HAVING c > ? ORDER BY n", "i"),
    ("SELECT name FROM t WHERE n IN (?, ?) UNION SELECT v FROM u WHERE t IS ? ORDER BY 1", "iii"),
    ("SELECT id FROM t ORDER BY id LIMIT ? OFFSET ?", "ii"),
    ("SELECT last_insert_rowid()", ""),
    ("SELECT changes(), total_changes()", ""),
    ("SELECT 1 + ?, upper('a') || ?", "aa"),
    ("SELECT nothing FROM t", ""),
    ("SELECT * FROM missing", ""),
    ("SELEC 1", ""),
    ("CREATE TABLE IF NOT EXISTS w (id INTEGER PRIMARY KEY, x TEXT)", ""),
    ("CREATE TABLE w (id INTEGER PRIMARY KEY, x TEXT, y INTEGER DEFAULT 7)", ""),
    ("INSERT INTO w (id, x) VALUES (?, ?)", "kt"),
    ("SELECT * FROM w ORDER BY id", ""),
    ("ALTER TABLE w ADD COLUMN z TEXT", ""),
    ("DROP TABLE IF EXISTS w", ""),
    ("DROP TABLE w", ""),
    ("CREATE INDEX IF NOT EXISTS i ON t (n)", ""),
    ("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name", ""),
    ("PRAGMA table_info(t)", ""),
    ("PRAGMA user_version", ""),
    ("PRAGMA foreign_keys", ""),
    ("CREATE TEMP TABLE IF NOT EXISTS tt (a, b)", ""),
    ("INSERT INTO temp.tt VALUES (?, ?)", "aa"),
    ("SELECT * FROM tt ORDER BY a, b", ""),
];

/// Whether MariaDB has no translation of a statement.
fn is_refused_on_mariadb(sql: &str) -> bool {
    sql.starts_with("UPDATE OR REPLACE")
        || sql.starts_with("UPDATE") && sql.contains("RETURNING")
        || sql.contains("ON CONFLICT")
}

/// Whether MariaDB commits at a statement, so that it is refused in a transaction.
fn is_definition(sql: &str) -> bool {
    ["CREATE TABLE", "CREATE INDEX", "ALTER", "DROP"].iter().any(|start| sql.starts_with(start))
}

const PLAIN: &[&str] = &[
    "BEGIN",
    "BEGIN IMMEDIATE",
    "BEGIN EXCLUSIVE",
    "END",
    "RELEASE nothing",
    "SAVEPOINT a; DELETE FROM u; ROLLBACK TO a; RELEASE a",
    "BEGIN; INSERT INTO u (id, t) VALUES (3, 3); INSERT INTO u (id, t) VALUES (3, 4); COMMIT",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "SAVEPOINT b",
    "RELEASE a",
    "ROLLBACK TO a",
    "RELEASE b",
    "ROLLBACK TO B",
    "INSERT INTO t (id, name) VALUES (1, 'x'); INSERT INTO t (id, name) VALUES (1, 'y')",
    "UPDATE t SET n = 3 WHERE id = 2; SELECT count(*) FROM t",
    "PRAGMA user_version = 5",
    "SELECT 'a', NULL, 1.5",
];

fn value(random: &mut Random, kind: char) -> String {
    let is_fixed = ['k', 'w'].contains(&kind);
    let kind = match random.below(60) {
        0 if !is_fixed => 'a',
        1..=5 if !is_fixed => 'n',
        _ => kind,
    };
    let kind = if kind == 'a' { ['i', 'r', 't', 'b', 'n'][random.below(5) as usize] } else { kind };
    match kind {
        'k' => format!("i {}", random.below(6)),
        'i' => format!("i {}", random.below(8)),
        'r' => format!("r {}.5", random.below(4)),
        'b' => "b xyz".to_string(),
        't' | 'w' => format!("t {}", random.of(&["x", "y", "zé", "it's", "", "3"])),
        _ => "n".to_string(),
    }
}

fn reads(sql: &str) -> bool {
    sql.starts_with("SELECT") || sql.contains("RETURNING")
}

/// Steps: what reads rows is read without a change in between, as SQLite leaves open what it would see of that.
fn steps(random: &mut Random, slot: u64, sql: &str) -> String {
    let count = if reads(sql) { 1 + random.below(10) as usize } else { 1 };
    let mut out = format!("S {slot}\n").repeat(if sql.contains("RETURNING") { 2 } else { count });
    if reads(sql) {
        let _ = writeln!(out, "R {slot}");
    }
    out
}

/// A sequence of calls on a database file.
pub fn sequence(seed: u64, path: &str, on_mariadb: bool) -> String {
    let mut random = Random::new(seed);
    let is_usable = |(sql, _): &&(&str, &str)| !(on_mariadb && is_refused_on_mariadb(sql));
    let usable: Vec<_> = STATEMENTS.iter().filter(is_usable).collect();
    // Nothing else holds a lock, but on a slow machine the server's own work may hold one for longer than a short timeout.
    let mut out = format!("O 6 {path}\nW 30000\n");
    out.push_str(
        "E CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INTEGER, r REAL, CHECK (n < 6))\n",
    );
    out.push_str("E CREATE TABLE u (id INTEGER PRIMARY KEY, t INTEGER, v TEXT)\n");
    out.push_str("E CREATE TABLE v (id INTEGER PRIMARY KEY, a)\n");
    // What each slot's parameters are.
    let (mut last, mut is_read) = ([""; 4], [false; 4]);
    for _ in 0..60 {
        let slot = random.below(4);
        // Writing into a String cannot fail.
        let _ = match random.below(16) {
            0..=2 => {
                let (sql, kinds) = *usable[random.below(usable.len() as u64) as usize];
                let is_outside = on_mariadb && is_definition(sql);
                if is_outside {
                    out.push_str("E COMMIT\n");
                }
                last[slot as usize] = kinds;
                let _ = writeln!(out, "P {slot} {sql}");
                for (number, kind) in kinds.chars().enumerate() {
                    let _ = writeln!(out, "B {slot} {} {}", number + 1, value(&mut random, kind));
                }
                let _ = writeln!(out, "{}C", steps(&mut random, slot, sql));
                is_read[slot as usize] = reads(sql);
                // It would be stepped again in a transaction.
                if is_outside { writeln!(out, "F {slot}") } else { Ok(()) }
            }
            3..=6 => write!(out, "{}", steps(&mut random, slot, if is_read[slot as usize] { "SELECT" } else { "" })),
            7 => {
                let _ = writeln!(out, "R {slot}");
                let number = random.below(3) as usize;
                let kind = last[slot as usize].chars().nth(number).unwrap_or('a');
                writeln!(out, "B {slot} {} {}", number + 1, value(&mut random, kind))
            }
            8 => writeln!(out, "F {slot}"),
            9 => writeln!(out, "N {slot}"),
            10 => writeln!(out, "T SELECT id, name FROM t ORDER BY id"),
            11 => writeln!(out, "B {slot} 9 n"),
            12 => {
                let _ = writeln!(out, "R {slot}\nL {slot}");
                let never_null = last[slot as usize].chars().enumerate().filter(|(_, kind)| ['k', 'w'].contains(kind));
                for (number, kind) in never_null {
                    let _ = writeln!(out, "B {slot} {} {}", number + 1, value(&mut random, kind));
                }
                Ok(())
            }
            13 => writeln!(out, "Y {slot}"),
            _ => writeln!(out, "E {}\nC", random.of(PLAIN)),
        };
    }
    out.push_str("F 0\nF 1\nF 2\nF 3\nE ROLLBACK\nE SELECT * FROM t ORDER BY id\nE SELECT * FROM u ORDER BY id\n");
    out.push_str("E SELECT * FROM v ORDER BY id\nX\n");
    out
}

/// How the two fare: calls that gave the same, and the first that did not.
pub struct Compared {
    pub same: usize,
    /// The refusal with which it ended.
    pub refused: Option<String>,
    pub different: Option<String>,
}

/// Compares what came of a sequence.
pub fn compare(calls: &str, sqlite: &str, shim: &str) -> Compared {
    let (one, other): (Vec<&str>, Vec<&str>) = (sqlite.lines().collect(), shim.lines().collect());
    let mut compared = Compared { same: 0, refused: None, different: None };
    for (number, call) in calls.lines().enumerate() {
        let (one, other) = (one.get(number).unwrap_or(&"(nothing)"), other.get(number).unwrap_or(&"(nothing)"));
        if other.contains("contend shim:") {
            compared.refused = Some(other.to_string());
            return compared;
        }
        // Which expression a CHECK has, the server does not keep.
        let is_check = |line: &str| line.contains("error 19 275 ");
        // SQLite's message for the reset of a statement that could not be prepared again is that of an earlier call.
        let is_late = |line: &str| line.starts_with("F: 1 error ") || line.starts_with("R: 1 error ");
        // Whether such a statement has begun decides which misuse a value for it is.
        let is_misuse = |line: &str| ["B: 21", "B: 25"].contains(&line);
        let is_same = one == other
            || is_misuse(one) && is_misuse(other)
            || is_check(one) && is_check(other)
            || is_late(one) && is_late(other);
        if !is_same {
            compared.different = Some(format!("call {}, {call}\n  SQLite: {one}\n  shim:   {other}", number + 1));
            return compared;
        }
        compared.same += 1;
    }
    compared
}
