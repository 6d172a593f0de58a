//! Statements as the scanner sees them.

use super::*;
use proptest::prelude::*;

fn names(sql: &str) -> Vec<(&str, bool)> {
    scan(sql)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Named { name, in_list } => Some((name, in_list)),
            _ => None,
        })
        .collect()
}

fn joined(pieces: &[Piece<'_>]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) | Piece::Foreign(text) => (*text).to_string(),
            Piece::Named { name, .. } => format!(":{name}"),
        })
        .collect()
}

#[test]
fn placeholders_are_found_and_nothing_else() {
    assert_eq!(names("SELECT :a, ':b', \":c\", `:d`, [:e] -- :f\n, /* :g */ :h"), [("a", false), ("h", false)]);
    assert_eq!(names("SELECT 'it''s :a', :b"), [("b", false)]);
    assert_eq!(names("SELECT 'open :a"), []);
    assert_eq!(names("SELECT /* open :a"), []);
    assert_eq!(names("SELECT a$b:c"), [("c", false)]);
}

#[test]
fn lists_are_placeholders_alone_in_the_parentheses_of_in() {
    assert_eq!(names("WHERE a IN (:a) AND b in ( /* x */ :b ) AND c = (:c)"), [("a", true), ("b", true), ("c", false)]);
    assert_eq!(names("WHERE a IN (:a, :b)"), [("a", false), ("b", false)]);
    assert_eq!(names("WHERE a IN (:a + 1)"), [("a", false)]);
    assert_eq!(names("WHERE min(:a)"), [("a", false)]);
}

#[test]
fn foreign_placeholders_are_told_apart() {
    for sql in ["SELECT ?", "SELECT ?1", "SELECT @a", "SELECT $a", "SELECT :"] {
        assert!(scan(sql).iter().any(|p| matches!(p, Piece::Foreign(_))), "{sql}");
    }
}

#[test]
fn second_statements_are_seen() {
    assert!(has_second_statement("SELECT 1; SELECT 2"));
    assert!(!has_second_statement("SELECT ';'; -- done\n"));
    assert!(!has_second_statement("SELECT 1"));
}

#[test]
fn what_changes_a_session_or_a_transaction_is_seen() {
    for (sql, said) in [
        ("PRAGMA synchronous=off", "PRAGMA"),
        (" -- off\n/* x */ pragma main.synchronous(0)", "pragma"),
        ("\u{feff}PRAGMA synchronous", "PRAGMA"),
        ("EXPLAIN QUERY PLAN PRAGMA synchronous = 0", "EXPLAIN QUERY PLAN PRAGMA"),
        ("# off\nSET SESSION x = 1", "SET"),
        ("SET STATEMENT x = 1 FOR SELECT 1", "SET"),
        ("SELECT 1 /*!50000 , 2 */", "/*!"),
        ("SELECT set_config('synchronous_commit', 'off', false)", "set_config"),
        ("alter system set fsync = off", "alter system"),
        ("START TRANSACTION", "START TRANSACTION"),
        ("Begin IMMEDIATE", "Begin"),
        ("COMMIT", "COMMIT"),
        ("END", "END"),
        ("ROLLBACK", "ROLLBACK"),
        ("ROLLBACK WORK", "ROLLBACK"),
        ("attach 'x' AS y", "attach"),
        ("DETACH y", "DETACH"),
    ] {
        assert_eq!(behind(sql).as_deref(), Some(said), "{sql}");
    }
    for sql in [
        "SELECT 'PRAGMA x'",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "UPDATE t SET a = 1",
        "(SELECT 1)",
        "INSERT INTO t VALUES (1) -- COMMIT",
        "SAVEPOINT a",
        "RELEASE a",
        "ROLLBACK TO a",
        "ROLLBACK TRANSACTION TO SAVEPOINT a",
        "ALTER TABLE t ADD COLUMN system",
        "WITH begin AS (SELECT 1) SELECT * FROM begin",
        "",
    ] {
        assert_eq!(behind(sql), None, "{sql}");
    }
}

/// Dialect, placeholders, whether it returns and changes rows, rows of values of an upsert, text.
#[test]
fn a_statement_is_described_for_workers() {
    let rows = [
        ("any", 3, true, false, 0, "SELECT a FROM t WHERE b = ? AND c IN (?, ?)"),
        ("any", 1, true, false, 0, "SELECT '?', \"?\", `?` FROM t WHERE a = ?"),
        ("any", 1, true, false, 0, "SELECT 'it''s ?', ?"),
        ("any", 1, true, false, 0, "SELECT 1 -- ? \n, ? /* ? */ FROM t"),
        ("sqlite", 1, true, false, 0, "SELECT [a?b], ? FROM t"),
        ("sqlite", 1, true, false, 0, "SELECT [a'b], ? FROM t"),
        ("server", 2, true, false, 0, "SELECT a[$1] FROM t WHERE b = $2"),
        ("server", 2, false, true, 0, "UPDATE t SET a = $2 WHERE b = $1 AND c = $1"),
        ("sqlite", 2, false, true, 1, "REPLACE INTO t VALUES (?1, ?2, ?1)"),
        ("any", 1, true, false, 0, "SELECT 'C:\\', ?"),
        ("any", 1, false, true, 0, "INSERT INTO t VALUES ('C:\\', ?)"),
        ("any", 1, false, true, 0, "INSERT INTO t VALUES (?, 'RETURNING')"),
        ("any", 0, true, true, 0, "INSERT INTO t VALUES (1) RETURNING id"),
        ("any", 0, true, false, 0, "WITH n AS (SELECT 1) SELECT * FROM n"),
        ("any", 1, true, false, 0, "WITH n AS (SELECT replace(a, 'b', ?) FROM t) SELECT * FROM n"),
        ("any", 0, false, true, 0, "WITH n(i) AS (SELECT 1) INSERT INTO t SELECT i FROM n"),
        ("any", 1, true, true, 0, "WITH n(i) AS (SELECT 1) UPDATE t SET a = ? RETURNING a"),
        ("any", 0, false, true, 0, "delete from t"),
        ("sqlite", 0, true, false, 0, "  PRAGMA journal_mode"),
        ("any", 0, true, false, 0, "VALUES (1), (2)"),
        ("any", 0, false, false, 0, "CREATE TABLE t (returning_ INTEGER)"),
        ("any", 0, false, false, 0, "BEGIN IMMEDIATE"),
        ("server", 2, false, true, 1, "INSERT INTO t (a, b) VALUES (?, f(?)) ON DUPLICATE KEY UPDATE b = VALUES(b)"),
        ("server", 0, false, true, 3, "INSERT INTO t VALUES (1, (2)), (3, 4),(5, 6) ON DUPLICATE KEY UPDATE a = (7)"),
        ("server", 1, false, true, 1, "REPLACE INTO t (a) VALUES (?)"),
        ("any", 2, false, true, 0, "INSERT INTO t (a) VALUES (?), (?)"),
        ("server", 0, false, true, 0, "INSERT INTO t SELECT (a) FROM u ON DUPLICATE KEY UPDATE a = 1"),
        ("any", 1, true, false, 0, "SELECT é, ? FROM t"),
    ];
    for (dialect, arguments, returns, changes, upserts, sql) in rows {
        for (name, brackets) in [("sqlite", Brackets::Quote), ("server", Brackets::Plain)] {
            if dialect == "any" || dialect == name {
                let found = statement(sql, brackets);
                let effect = Effect { rows: returns, changes, upserts: found.effect.upserts };
                assert_eq!((found.arguments(), found.effect), (arguments, effect), "{name}: {sql}");
                assert_eq!(found.effect.upserts.unwrap_or(0), upserts, "{name}: {sql}");
            }
        }
    }
}

#[test]
fn placeholders_and_the_row_of_a_load_have_places() {
    let numbered = statement("SELECT é, $2 + $1", Brackets::Plain).placeholders;
    assert_eq!(numbered, [Placeholder { at: 11, number: Some(2) }, Placeholder { at: 16, number: Some(1) }]);
    for (sql, cut) in [
        ("INSERT INTO t (a, b) VALUES (f(?), ?)", Some(("INSERT INTO t (a, b) VALUES ", "(f(?), ?)"))),
        ("INSERT INTO t VALUES (?)", Some(("INSERT INTO t VALUES ", "(?)"))),
        ("COPY t (a, b) FROM STDIN", None),
    ] {
        let load = load(sql, Brackets::Plain);
        assert_eq!(load.cut().map(|(opening, group, _)| (opening, group)), cut, "{sql}");
        let places = load.cut().map_or(vec![], |(_, _, places)| places);
        assert!(cut.is_none_or(|(_, group)| places.iter().all(|p| group[p.at as usize..].starts_with('?'))));
    }
}

#[test]
fn names_are_found_and_quoted() {
    assert!(mentions("CREATE TABLE \"Posts\" (a)", "posts") && mentions("create table posts(a)", "posts"));
    assert!(!mentions("CREATE TABLE wp_posts (a)", "posts"));
    assert_eq!((quoted("a_1"), quoted("GP Post")), ("a_1".to_string(), "\"GP Post\"".to_string()));
}

proptest! {
    #[test]
    fn any_text_is_scanned_into_itself(sql in any::<String>()) {
        prop_assert_eq!(joined(&scan(&sql)), sql);
    }

    #[test]
    fn sql_like_text_is_scanned_into_itself(sql in "[-:?@$'\"`\\[\\]()/*a-cIN1é \n;]{0,60}") {
        prop_assert_eq!(joined(&scan(&sql)), sql.clone());
        has_second_statement(&sql);
        behind(&sql);
    }
}

#[test]
fn values_are_left_out_and_names_kept() {
    for (sql, shape) in [
        ("SELECT a1 FROM t WHERE b = 'it''s' AND c = 12.5 -- secret", "SELECT a1 FROM t WHERE b = ? AND c = ?"),
        ("INSERT INTO t VALUES (x'00ff', -3, 1e9, .5, ?2)", "INSERT INTO t VALUES (?, -?, ?, ?, ?2)"),
        ("UPDATE \"t\" SET a = \"two words\" WHERE id IN (1,2)", "UPDATE \"t\" SET a = ? WHERE id IN (?,?)"),
        ("SELECT 'cut off", "SELECT ?"),
        ("/* secret */ COMMIT", "  COMMIT"),
    ] {
        assert_eq!(without_values(sql), shape);
    }
}
