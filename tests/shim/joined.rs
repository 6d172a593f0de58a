//! Joins by columns that both tables have, and table-valued functions: of a table of which only such columns are read SQLite's
//! authorizer reports nothing, of the first use of such a function it reports a change of the schema.

use super::corners::RUN;
use super::programs::both;
use super::{Stage, fed, text};

#[test]
fn tables_of_which_only_the_joined_column_is_read_are_those_of_the_server() {
    let script = "
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.create_function('mine', 1, lambda x: x)
def run(sql):
    print(sql, c.execute(sql).fetchall(), c.execute('SELECT changes()').fetchone())
for table in 'tu':
    run(f'CREATE TABLE {table} (a TEXT, {table}b INT)')
    run(f\"INSERT INTO {table} VALUES ('y', 9), ('z', 3)\")
run('CREATE TEMP TABLE s (a TEXT, n INT)')
run(\"INSERT INTO s VALUES ('y', 1), ('q', 2)\")
run('CREATE VIEW v AS SELECT 1 AS one FROM t JOIN u USING (a)')
run('CREATE VIEW w AS SELECT one FROM v WHERE EXISTS (SELECT 1 FROM t NATURAL JOIN u)')
run('CREATE TABLE log (n INT)')
run('CREATE TRIGGER tr AFTER INSERT ON u BEGIN INSERT INTO log SELECT count(*) FROM t; END')
run(\"INSERT INTO u VALUES ('x', 1)\")
run('SELECT * FROM log')
run('DROP TRIGGER tr')
run('SELECT count(*) FROM t JOIN u USING (a)')
run('/* ; */ ; SELECT EXISTS (SELECT 1 FROM t NATURAL JOIN u)')
run('SELECT count(*) FROM t LEFT JOIN u USING (a)')
run('WITH q AS (SELECT 1 FROM t NATURAL JOIN u) SELECT count(*) FROM q')
run('SELECT mine(x.tb) FROM t x JOIN u y USING (a) ORDER BY 1')
run('SELECT mine(1), one FROM v')
run('SELECT mine(one) FROM w')
run('SELECT n FROM s JOIN t USING (a)')
run('CREATE TEMP VIEW tv AS SELECT count(*) AS n FROM t NATURAL JOIN u')
run('SELECT n FROM tv')
run('BEGIN')
run('DELETE FROM t WHERE mine(tb) = 9 AND NOT EXISTS (SELECT 1 FROM u x JOIN u z USING (a))')
run('COMMIT')
run('SELECT * FROM t ORDER BY a')
";
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", script], "");
        assert_eq!(shim, sqlite);
        assert!(sqlite.ends_with("[('y', 9), ('z', 3)] (0,)\n"), "{sqlite}");
    }
}

/// The front would change its own table as if the server's were empty.
#[test]
fn temporary_tables_are_not_changed_by_joins_of_rows_of_the_server() {
    let script = "
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.executescript('''CREATE TABLE t (a TEXT, b INT); CREATE TABLE u (a TEXT, c INT);
INSERT INTO t VALUES ('y', 9); INSERT INTO u VALUES ('y', 9); CREATE TEMP TABLE s (a TEXT, n INT)''')
c.execute(\"INSERT INTO s VALUES ('y', 1)\")
for sql in [\"INSERT INTO s SELECT 'new', count(*) FROM t JOIN u USING (a)\", 'UPDATE s SET n = (SELECT count(*) FROM t NATURAL JOIN u)',
            'DELETE FROM s WHERE NOT EXISTS (SELECT 1 FROM t JOIN u USING (a))', 'CREATE TEMP TABLE z AS SELECT count(*) FROM t JOIN u USING (a)']:
    try:
        c.execute(sql)
        print('no error')
    except sqlite3.Error as e:
        print(e)
print(c.execute('SELECT * FROM s').fetchall())
";
    for stage in Stage::both() {
        let (_, shim) = both(&stage, &["python3", "-c", script], "");
        assert!(!shim.contains("no error") && shim.ends_with("[('y', 1)]\n"), "{shim}");
    }
}

/// SQLite declares a table-valued function when a connection uses it first: each statement is also the first.
#[test]
fn a_table_valued_function_is_used_next_to_rows_the_first_time_and_later() {
    let uses = [
        "INSERT INTO t (n, x) SELECT CAST(key AS INTEGER), CAST(atom AS TEXT) FROM json_each(?)",
        "SELECT n, x FROM t WHERE x IN (SELECT atom FROM json_each(?)) ORDER BY n",
        "UPDATE t SET n = n + 10 WHERE x IN (SELECT atom FROM json_each(?))",
        "DELETE FROM t WHERE n >= 20 AND x IN (SELECT atom FROM json_each(?))",
        "SELECT count(*) FROM json_each(?)",
        "INSERT INTO s SELECT key FROM json_each(?)",
    ];
    let script = format!(
        "{RUN}run('CREATE TABLE t (n INTEGER, x TEXT)')\n\
         run('INSERT INTO t (n, x) SELECT 1, name FROM sqlite_master')\n\
         for sql in {uses:?}:\n\
         \x20   c.close()\n\
         \x20   c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
         \x20   run('CREATE TEMP TABLE s (n INTEGER)')\n\
         \x20   for json in '[\"a\", \"b\"]', '[\"b\", \"c\"]': run(sql, json)\n\
         \x20   run('SELECT n, x FROM t ORDER BY n, x'), run('SELECT n FROM s')\n"
    );
    for stage in Stage::both() {
        let (sqlite, shim) = both(&stage, &["python3", "-c", &script], "");
        assert_eq!(shim, sqlite);
        assert!(sqlite.contains("[(1, 't')") && sqlite.ends_with("[(0,), (1,), (0,), (1,)]\n"), "{sqlite}");
        let path = stage.path("shim.db").display().to_string();
        let output = fed(
            stage.shim(&[], &["python3", "-c", &script.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"), &path]),
            "",
        );
        let said = text(&output.stderr);
        assert!(said.contains("refused statements: 0, noted: 0."), "{said}");
    }
}
