//! Tests that no text makes the translator panic, overflow its stack or run for long.

use std::time::{Duration, Instant};

use crate::{Catalogue, Options, Target, translate, translate_script};

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL, d BLOB);
    CREATE TABLE u (id INTEGER PRIMARY KEY, t_id INTEGER NOT NULL, e TEXT COLLATE NOCASE UNIQUE, f DATETIME)";

fn both(sql: &str) -> [Result<crate::Translation, crate::Refusal>; 2] {
    let mut catalogue = Catalogue::default();
    catalogue.learn(SCHEMA).expect("the schema");
    [Target::Postgres, Target::MariaDb].map(|target| translate(sql, &catalogue, &Options::to(target)))
}

#[test]
fn a_table_made_again_with_fewer_columns_does_not_meet_the_older_index() {
    let mut catalogue = Catalogue::default();
    catalogue.learn("CREATE TABLE k (a INTEGER, b TEXT, c TEXT); CREATE INDEX both ON k (b, c)").expect("the schema");
    for text in ["CREATE TABLE k (a INTEGER, b TEXT)", "CREATE TABLE IF NOT EXISTS k (a INTEGER, b BLOB)"] {
        for target in [Target::Postgres, Target::MariaDb] {
            let made = translate(text, &catalogue, &Options::to(target)).expect("it is the server's to refuse");
            let main = made.statements.iter().find(|statement| statement.main).expect("one that makes it");
            assert!(main.sql.starts_with("CREATE TABLE"), "{made:?}");
        }
    }
}

/// A table with such a name would be invisible: the server searches its own catalogue first.
#[test]
fn names_that_postgresql_keeps_for_itself_are_refused() {
    for text in [
        "CREATE TABLE pg_authid (oid INTEGER, rolname TEXT)",
        "CREATE TABLE \"pg_largeobject\" (a BLOB)",
        "CREATE INDEX pg_by_a ON t (a)",
        "CREATE TABLE own (xmin INTEGER)",
    ] {
        let [postgres, mariadb] = both(text);
        assert!(postgres.is_err_and(|refusal| refusal.to_string().contains("PostgreSQL")), "{text}");
        assert!(mariadb.is_ok(), "{text}");
    }
}

#[test]
fn deep_and_long_texts_end_in_time() {
    let nested = |open: &str, middle: &str, close: &str, n: usize| {
        format!("SELECT {}{middle}{} FROM t", open.repeat(n), close.repeat(n))
    };
    let texts = [
        nested("(", "a", ")", 100_000),
        nested("(", "a", ")", 450),
        nested("-", "1", "", 5_000),
        nested("- ", "1", "", 100_000),
        nested("NOT ", "a", "", 100_000),
        nested("1 = (", "a", ")", 400),
        nested("coalesce(NULL, ", "a", ")", 90),
        nested("a BETWEEN 1 AND (", "a", ")", 90),
        nested("a IN (SELECT id FROM t WHERE ", "a", ")", 90),
        nested("CASE WHEN a THEN ", "1", " END", 400),
        nested("(SELECT ", "a", ")", 300),
        nested("a + ", "1", "", 50_000),
        nested("a % r * ", "1", "", 450),
        nested("", "a", " >> 1", 95),
        nested("", "c", " % 7", 900),
        nested("printf('%5s', ", "b", ")", 90),
        nested("- - + ", "a", "", 95),
        nested("a AND ", "1", "", 50_000),
        nested("b || ", "'x'", "", 50_000),
        nested("abs(", "a", ")", 400),
        format!("SELECT a{} GROUP BY -{}a", ", -a".repeat(100), "- -".repeat(30_000)),
        format!("INSERT INTO t (a) VALUES {}(1)", "(?), ".repeat(30_000)),
        format!("SELECT {} FROM t", vec!["a"; 2000].join(", ")),
        format!("WITH {} x AS (SELECT 1) SELECT * FROM x", "y AS (SELECT 1), ".repeat(200)),
        format!("SELECT date(b{}) FROM t", ", '+1 month'".repeat(100)),
        format!("SELECT datetime(b{}) FROM t", ", 'weekday 1'".repeat(100)),
        "SELECT ".repeat(10_000),
        "x".repeat(2_000_000),
        format!("SELECT '{}", "x".repeat(100)),
    ];
    for text in texts {
        let start = Instant::now();
        let results = both(&text);
        // A generous limit: the machine may be busy, and the build is not optimised.
        assert!(start.elapsed() < Duration::from_secs(20), "{} took {:?}", &text[..60], start.elapsed());
        for refusal in results.into_iter().filter_map(Result::err) {
            assert!(refusal.offset <= text.len() && refusal.line > 0 && refusal.column > 0);
        }
    }
}

/// Rust's default stack size of a thread.
const STACK: usize = 2 * 1024 * 1024;

#[test]
fn a_thread_s_stack_is_enough_for_chains_and_for_the_deepest_nesting() {
    let deepest = |open: &str, middle: &str, close: &str, n: usize| {
        format!("SELECT {}{middle}{} FROM t", open.repeat(n), close.repeat(n))
    };
    let work = move || {
        for (text, translates) in [
            (deepest("", "a", " + a", 1_000), true),
            (deepest("", "a", " + a * 2 - id", 333), true),
            (deepest("", "a", " + a", 1_001), false),
            (deepest("a + (", "a", ")", 48), true),
            (deepest("a + (", "a", ")", 400), false),
            (deepest("(SELECT ", "a", ")", 400), false),
            (deepest("a IN (SELECT id FROM t WHERE ", "a", ")", 100), false),
            (deepest("CASE WHEN a THEN ", "1", " END", 400), false),
            (deepest("coalesce(a, ", "a", ")", 400), false),
            (deepest("- ", "a", "", 1_900), false),
        ] {
            for result in both(&text) {
                assert_eq!(result.is_ok(), translates, "{}...: {:?}", &text[..40], result.err());
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread").join().expect("no overflow");
}

/// Random combinations of SQL fragments, from a small deterministic generator, so that a failure can be repeated.
#[test]
fn random_texts_do_not_panic() {
    let pieces: Vec<&str> = "SELECT|FROM|WHERE|t|u|a|b|c|d|e|f|id|*|,|(|)|=|<|>|'x'|'12'|1|2.5|x'ab'|NULL|?|?3|:n|@v|AND|OR|NOT|IN|LIKE|GLOB|BETWEEN|IS|\
        ||||+|-|/|%|&|<<|~|CASE|WHEN|THEN|ELSE|END|CAST|AS|INTEGER|TEXT|REAL|COLLATE|NOCASE|GROUP BY|ORDER BY|LIMIT|OFFSET|DISTINCT|\
        count|max|min|sum|avg|group_concat|substr|date|datetime|strftime|'now'|'%Y'|'+1 day'|printf|'%d'|coalesce|round|JOIN|LEFT|ON|USING|\
        NATURAL|FULL|UNION|ALL|EXCEPT|INTERSECT|WITH|RECURSIVE|INSERT INTO|VALUES|UPDATE|SET|DELETE|RETURNING|ON CONFLICT|DO NOTHING|\
        DO UPDATE SET|excluded|.|;|OVER|PARTITION BY|ROWS|EXISTS|REPLACE INTO|CREATE TABLE|CREATE INDEX|PRIMARY KEY|DEFAULT|CHECK|\
        UNIQUE|rowid|\"q\"|[r]|`s`|--|/*|*/|é|\u{1F600}|PRAGMA|BEGIN|COMMIT|SAVEPOINT|json_object|->|->>|typeof|hex|quote|iif"
        .split('|')
        .filter(|p| !p.trim().is_empty())
        .map(str::trim)
        .collect();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let starts =
        ["SELECT a FROM t WHERE ", "SELECT ", "INSERT INTO t (a, b) ", "UPDATE t SET a = ", "DELETE FROM u WHERE ", ""];
    let mut translated = 0;
    for _ in 0..20_000 {
        let mut text = starts[next(starts.len())].to_string();
        for _ in 0..1 + next(12) {
            text.push_str(pieces[next(pieces.len())]);
            text.push_str(if next(8) == 0 { "" } else { " " });
        }
        for result in both(&text) {
            match result {
                Ok(_) => translated += 1,
                Err(refusal) => assert!(refusal.offset <= text.len(), "{text}"),
            }
        }
    }
    assert!(translated > 100, "only {translated} of the texts meant anything");
}

/// A unique key that ignores case would be over this column instead.
#[test]
fn no_key_that_ignores_case_uses_a_column_of_the_table() {
    for sql in [
        "CREATE TABLE k (x TEXT COLLATE NOCASE UNIQUE, X_Folded TEXT)",
        "CREATE TABLE k (x TEXT, x_folded TEXT); CREATE UNIQUE INDEX i ON k (x COLLATE NOCASE)",
    ] {
        let translated = |target| translate(sql, &Catalogue::default(), &Options::to(target));
        assert!(translated(Target::Postgres).is_ok());
        assert_eq!(translated(Target::MariaDb).expect_err("refused").rule, "collations");
    }
    let renamed = |key: &str| {
        let sql = format!("CREATE TABLE k (x TEXT, y INTEGER); {key}; ALTER TABLE k RENAME COLUMN x TO z");
        translate_script(&sql, &Catalogue::default(), &Options::to(Target::MariaDb)).is_ok()
    };
    assert!(!renamed("CREATE UNIQUE INDEX i ON k (y, x COLLATE NOCASE)"));
    assert!(renamed("CREATE UNIQUE INDEX i ON k (y, x)") && renamed("CREATE INDEX i ON k (x COLLATE NOCASE)"));
}

/// Behind a RIGHT or FULL JOIN the column is that of the side that has a row.
#[test]
fn using_behind_a_right_join_is_not_the_column_of_the_first_table() {
    for (joins, is_known) in [
        ("t RIGHT JOIN k USING (a) JOIN l USING (a)", false),
        ("t NATURAL RIGHT JOIN k RIGHT JOIN l USING (a)", false),
        ("t JOIN k USING (a) RIGHT JOIN l USING (a)", true),
        ("t RIGHT JOIN k USING (a) JOIN l ON l.a = k.a", true),
    ] {
        let tables = "CREATE TABLE t (a INTEGER); CREATE TABLE k (a INTEGER); CREATE TABLE l (a INTEGER); ";
        let sql = format!("{tables}SELECT k.a FROM {joins}");
        for target in [Target::Postgres, Target::MariaDb] {
            let translated = translate(&sql, &Catalogue::default(), &Options::to(target));
            assert_eq!(
                translated.as_ref().err().map(|refused| refused.rule),
                (!is_known).then_some("using"),
                "{joins}"
            );
        }
    }
}
