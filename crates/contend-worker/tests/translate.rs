//! The driver that translates: what it refuses, and that it did what its options say.

mod common;

use common::*;
use contend_wire::literal::Value;
use contend_wire::plan::{Plan, Source, Step};
use contend_worker::own::run_plan;

fn translating(db: &Db, options: &[(&str, &str)], statements: &[&str]) -> Plan {
    let mut p = plan(&db.path);
    p.head.driver = "contend-sql".into();
    use_model(&mut p, "thread");
    options.iter().for_each(|(name, value)| option(&mut p, name, value));
    let steps = statements.iter().map(|text| {
        let args = text.matches('?').map(|_| Source::Literal(Value::Integer(1))).collect();
        let mut step = sql(&mut p, text, args);
        step.repeat = 50;
        Step::Sql(step)
    });
    let steps: Vec<Step> = steps.collect();
    let t = transaction(&mut p, None, steps);
    client(&mut p, (0..20).map(|_| (0, t, vec![])).collect());
    client(&mut p, (0..20).map(|_| (0, t, vec![])).collect());
    p
}

const SCHEMA: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL)";
const STATEMENTS: [&str; 2] = ["SELECT a FROM t WHERE id = ?", "INSERT INTO t (a) VALUES (?)"];

#[test]
fn every_cache_gives_the_same_and_nothing_is_executed() {
    let db = db(SCHEMA);
    for to in ["postgres", "mariadb"] {
        for cache in ["thread", "thread-hash", "mutex", "rwlock", "atomic"] {
            for (what, texts) in [("cold", "1"), ("hot", "20"), ("look-up", "20")] {
                let options = [
                    ("translate_to", to),
                    ("cache", cache),
                    ("translate", what),
                    ("texts", texts),
                    ("cache_slots", "512"),
                ];
                let result = run(&translating(&db, &options, &STATEMENTS));
                let samples = result.samples;
                assert!(samples.iter().all(|client| client.len() == 20 && client.iter().all(|s| s.is_ok())));
            }
        }
    }
    assert_eq!(db.count("SELECT count(*) FROM t"), 0);
}

#[test]
fn without_a_cache_everything_is_cold() {
    let db = db(SCHEMA);
    let said = |options: &[(&str, &str)], statements: &[&str]| match run_plan(translating(&db, options, statements)) {
        Ok(_) => String::new(),
        Err(e) => format!("{e:#}"),
    };
    assert_eq!(said(&[("cache", "none"), ("translate", "cold")], &STATEMENTS), "");
    assert!(said(&[("cache", "none"), ("translate", "hot")], &STATEMENTS).contains("must be cold"));
    assert!(said(&[("cache", "big")], &STATEMENTS).contains("option cache: `big`"));
    let refused = said(&[], &["SELECT a FROM nowhere"]);
    assert!(refused.contains("SELECT a FROM nowhere") && refused.contains("client 0"), "{refused}");
}

#[test]
fn a_cache_without_room_is_found_out() {
    let db = db(SCHEMA);
    let options = [("cache", "thread"), ("translate", "hot"), ("texts", "50"), ("cache_slots", "4")];
    let result = run_plan(translating(&db, &options, &STATEMENTS));
    let error = format!("{:#}", result.expect_err("100 texts do not fit into 4 slots"));
    assert!(error.contains("has no room"), "{error}");
}
