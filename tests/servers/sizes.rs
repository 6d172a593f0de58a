//! Sizes of databases, as `contend measure` shows them: a file next to the same tables on servers.

use crate::support::place::{Own, Place};
use crate::support::wait_for;

const ROWS: u64 = 4000;

#[test]
fn a_file_and_two_servers_stand_side_by_side() {
    let place = Place::new();
    let file = place.bench.path("app.db");
    let connection = rusqlite::Connection::open(&file).expect("a file");
    let make = "CREATE TABLE post (id INTEGER PRIMARY KEY, body VARCHAR(200)); CREATE INDEX by_body ON post (body);";
    let fill = format!(
        "INSERT INTO post WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) \
         SELECT i, concat('a text of some length and the number ', i) FROM n;"
    );
    connection.execute_batch(&format!("{make}{fill}")).expect("rows");
    drop(connection);
    let (postgres, mariadb) = (Own::postgres(&place), Own::mariadb(&place));
    postgres.asked(&format!("{make}{fill} VACUUM ANALYZE post;"));
    // MariaDB counts the levels of recursion.
    let rows = format!(
        "INSERT INTO post SELECT seq, concat('a text of some length and the number ', seq) FROM seq_1_to_{ROWS};"
    );
    mariadb.asked(&format!(
        "CREATE DATABASE app; USE app; {make}ALTER TABLE post ADD SYSTEM VERSIONING; {rows} ANALYZE TABLE post;"
    ));
    let on_mariadb = mariadb.dsn("geheim").replace("/mysql", "/app");

    let args = ["measure", &file.display().to_string(), &postgres.dsn("geheim"), &on_mariadb];
    let said = place.bench.contend(&args).exits(0).out;
    for part in
        ["(PostgreSQL ", "(MariaDB ", "Side by side", "app.db (SQLite", "shared_buffers", "innodb_buffer_pool_size"]
    {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
    assert!(!said.contains("geheim"), "{said}");
    let json = place.bench.contend(&[&args[..], &["--json"]].concat()).exits(0).out;
    let all: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for (measured, exactly) in all.as_array().expect("a list").iter().zip([true, false, false]) {
        let tables = measured["tables"].as_array().expect("tables");
        let post = tables.iter().find(|table| table["name"] == "post").expect("the table");
        let number = |key: &str| post[key].as_u64().expect("a number");
        assert!(number("rows").abs_diff(ROWS) <= if exactly { 0 } else { ROWS / 5 }, "{post}");
        // About 50 bytes a row, in the table and again in the index.
        assert!((ROWS * 40..ROWS * 400).contains(&number("rows_bytes")), "{post}");
        assert!((ROWS * 40..ROWS * 400).contains(&number("index_bytes")), "{post}");
    }
    let refused = place.bench.contend(&["measure", &postgres.dsn("falsch")]).exits(2).err;
    assert!(refused.contains("password authentication failed") && !refused.contains("falsch"), "{refused}");
}

/// The lines of a text about a database, with single spaces.
fn lines(said: &str) -> String {
    said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn a_locked_table_does_not_hide_the_others() {
    let place = Place::new();
    let postgres = Own::postgres(&place);
    postgres.asked(
        "CREATE TABLE free (id int PRIMARY KEY); CREATE TABLE held (id int PRIMARY KEY); CREATE TABLE built (id int); \
         CREATE INDEX of_built ON built (id)",
    );
    let locks = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IN \
                 ('held'::regclass, 'of_built'::regclass)";
    let measured = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'contend measure'";
    // The locks are held until contend has come and gone.
    let hold = format!(
        "BEGIN; LOCK held; REINDEX INDEX of_built; DO $$ BEGIN FOR i IN 1..600 LOOP PERFORM pg_sleep(0.05); \
         PERFORM pg_stat_clear_snapshot(); EXIT WHEN ({measured}); END LOOP; FOR i IN 1..600 LOOP PERFORM pg_sleep(0.05); \
         PERFORM pg_stat_clear_snapshot(); EXIT WHEN NOT ({measured}); END LOOP; END $$; COMMIT;"
    );
    std::thread::scope(|scope| {
        scope.spawn(|| postgres.asked(&hold));
        wait_for("the locks", || postgres.asked(locks) == "2");
        let said = lines(&place.bench.contend(&["measure", &postgres.dsn("geheim")]).exits(0).out);
        for line in ["held unknown unknown unknown -", "built unknown unknown unknown -", "free 0 0 B 8.00 KiB -"] {
            assert!(said.contains(&format!("{line}\n")), "{line} is missing:\n{said}");
        }
    });
}

#[test]
fn what_a_user_of_mariadb_may_not_see_is_said_and_a_broken_table_is_unknown() {
    const FEW: &str = "it has no privilege on the whole database";
    let place = Place::new();
    let mariadb = Own::mariadb(&place);
    mariadb.asked(
        "CREATE DATABASE app; USE app; CREATE TABLE a (id int) ENGINE=MyISAM; CREATE TABLE b (id int) ENGINE=MyISAM; \
         CREATE TABLE merged (id int) ENGINE=MERGE UNION=(a, b); DROP TABLE b; CREATE TABLE c (id int); \
         CREATE USER few@'127.0.0.1' IDENTIFIED BY 'geheim'",
    );
    let grants = "GRANT SELECT ON app.a TO few@'127.0.0.1'; \
         CREATE USER whole@'127.0.0.1' IDENTIFIED BY 'geheim'; GRANT SELECT ON `ap%`.* TO whole@'127.0.0.1'; \
         CREATE ROLE reader; GRANT SELECT ON app.* TO reader; CREATE USER byrole@'127.0.0.1' IDENTIFIED BY 'geheim'; \
         GRANT reader TO byrole@'127.0.0.1'; SET DEFAULT ROLE reader FOR byrole@'127.0.0.1'";
    let port = mariadb.port.to_string();
    let args = ["--no-defaults", "-h127.0.0.1", "-uroot", "-P", &port, "-e", grants];
    assert!(std::process::Command::new("mariadb").args(args).status().expect("its client").success());
    let measured = |user: &str| {
        let address = mariadb.dsn("geheim").replace("/mysql", "/app").replace("me:", &format!("{user}:"));
        lines(&place.bench.contend(&["measure", &address]).exits(0).out)
    };
    for user in ["me", "whole", "byrole"] {
        let said = measured(user);
        assert!(said.contains("\nmerged unknown unknown unknown -\n") && said.contains("\nc 0 "), "{said}");
        assert!(said.contains("that this user may see") && !said.replace('\n', " ").contains(FEW), "{user}: {said}");
    }
    let said = measured("few");
    assert!(said.contains("\na 0 ") && !said.contains("\nc 0 "), "{said}");
    assert!(said.replace('\n', " ").contains(FEW), "{said}");
}
