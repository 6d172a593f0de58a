//! Sizes of databases, as `contend measure` shows them: a file next to the same tables on servers.

use crate::support::place::{Own, Place};

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
