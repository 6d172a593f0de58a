//! `contend new --from`: schemas as programs have them become a workload and a study that run.

use crate::support::Bench;
use rusqlite::Connection;

/// Members of groups: pairs that are unique together, references, checks, names that need quotes.
const GROUPS: &str = "
    CREATE TABLE person (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, login VARCHAR(150) NOT NULL UNIQUE,
      is_staff BOOL NOT NULL, joined DATETIME NOT NULL);
    CREATE TABLE \"group\" (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE member (id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES person (id),
      group_id INTEGER NOT NULL REFERENCES \"group\" (id));
    CREATE UNIQUE INDEX member_pair ON member (person_id, group_id);
    CREATE INDEX member_group ON member (group_id);
    CREATE TABLE log (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person (id), flag INTEGER NOT NULL
      CHECK (flag IN (1, 2, 3)), \"object id\" TEXT, message TEXT NOT NULL);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
      INSERT INTO person SELECT i, 'secret-login-' || i, i % 10 = 0, '2026-01-01 00:00:' || i FROM n;
    INSERT INTO \"group\" SELECT id, 'group ' || id FROM person WHERE id <= 7;
    INSERT INTO member (person_id, group_id) SELECT p.id, g.id FROM person p, \"group\" g WHERE (p.id + g.id) % 3 = 0;
    INSERT INTO log (person_id, flag, message) SELECT nullif(id % 5, 0), id % 3 + 1, 'secret words ' || id FROM person;";

/// A shop: keys of several columns, a table without rowid, one that is empty, real numbers, blobs, a view and a trigger.
const SHOP: &str = "
    CREATE TABLE article (id INTEGER PRIMARY KEY, ean TEXT UNIQUE, price REAL NOT NULL, photo BLOB);
    CREATE TABLE purchase (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('new', 'paid')));
    CREATE TABLE line (purchase INTEGER NOT NULL REFERENCES purchase (id), number INTEGER NOT NULL,
      article INTEGER NOT NULL REFERENCES article (id), count INTEGER NOT NULL, PRIMARY KEY (purchase, number)) WITHOUT ROWID;
    CREATE TABLE draft (id INTEGER PRIMARY KEY, body TEXT, score NUMERIC);
    CREATE VIEW paid AS SELECT * FROM purchase WHERE state = 'paid';
    CREATE TRIGGER counted AFTER INSERT ON purchase BEGIN UPDATE article SET price = price WHERE id = 1; END;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO article SELECT i, 'ean' || i, i * 1.5, randomblob(30) FROM n;
    INSERT INTO purchase SELECT id, 1700000000 + id, iif(id % 3, 'paid', 'new') FROM article;
    INSERT INTO line SELECT p.id, a.id, a.id, 1 FROM purchase p, article a WHERE a.id <= 3;";

#[test]
fn schemas_become_studies_that_run() {
    let bench = Bench::new();
    for (name, schema) in [("groups", GROUPS), ("shop", SHOP)] {
        let path = bench.path(&format!("{name}.db"));
        Connection::open(&path).and_then(|db| db.execute_batch(schema)).expect("made");
        let before = std::fs::read(&path).expect("readable");
        let said = bench.contend(&["new", "--from", &format!("{name}.db")]).exits(0);
        assert!(said.out.contains(&format!("contend run {name} --quick")), "{said:?}");
        assert!(std::fs::read(&path).expect("readable") == before, "the database is only read");
        let options = ["--quick", "--window", "200ms", "--only", "SQLite", "--set", "processes=1", "--allow-tmpfs"];
        let ran = bench.contend(&[&["run", name], &options[..]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{name}: {ran:?}");
        let is_measured = ran.out.lines().any(|line| line.starts_with("SQLite ") && line.contains("/s "));
        assert!(is_measured, "{name}: {ran:?}");
        assert!(!ran.err.contains(" failed"), "{name}: every generated row and statement fits the schema: {ran:?}");
    }
    let shop = bench.contend(&["new", "--from", "shop.db", "--out", "again"]).exits(0);
    assert!(shop.err.contains("CREATE VIEW paid") && shop.err.contains("CREATE TRIGGER"), "said: {shop:?}");
    let there = bench.contend(&["new", "--from", "shop.db"]).exits(2);
    assert!(there.err.contains("is there already"), "{there:?}");
    let none = bench.contend(&["new", "--from", "no.db"]).exits(2);
    assert!(none.err.contains("there is no file no.db"), "{none:?}");
}

#[test]
fn values_are_those_of_columns_with_few_and_none_on_request() {
    let bench = Bench::new();
    Connection::open(bench.path("groups.db")).and_then(|db| db.execute_batch(GROUPS)).expect("made");
    let said = bench.contend(&["new", "--from", "groups.db", "--out", "with"]).exits(0);
    assert!(said.err.contains("have these values in workload.toml"), "{said:?}");
    bench.contend(&["new", "--from", "groups.db", "--out", "without", "--without-values"]).exits(0);
    let text = |dir: &str| std::fs::read_to_string(bench.path(dir).join("workload.toml")).expect("written");
    let (with, without) = (text("with"), text("without"));
    assert!(with.contains("flag = { choice = [2, ") && with.contains("], weights = [34, 33, 33] }"), "{with}");
    assert!(!with.contains("secret"), "columns with many values: {with}");
    assert!(!without.contains("weights"), "{without}");
    assert!(with.contains("rows_person = 100") && with.contains("CHECK (flag IN (1, 2, 3))"), "{with}");
}

#[test]
fn a_column_whose_values_a_server_cannot_hold_leaves_the_servers_out() {
    let bench = Bench::new();
    let made = "CREATE TABLE item (id INTEGER PRIMARY KEY, price INT);
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO item SELECT i, i + 0.5 FROM n";
    Connection::open(bench.path("shop.db")).and_then(|db| db.execute_batch(made)).expect("made");
    let said = bench.contend(&["new", "--from", "shop.db"]).exits(0);
    let why = "is not in the study: item.price gets reals, which a server's column of its declared type cannot hold";
    assert!(
        said.err.contains(&format!("PostgreSQL {why}")) && said.err.contains(&format!("MariaDB {why}")),
        "{said:?}"
    );
    let study = std::fs::read_to_string(bench.path("shop/study.toml")).expect("written");
    assert!(!study.contains("postgres") && !study.contains("mariadb"), "{study}");
    std::fs::write(bench.path("no.db"), "no database at all").expect("written");
    let said = bench.contend(&["new", "--from", "no.db"]).exits(2);
    assert!(said.err.contains("cannot read no.db"), "{said:?}");
}
