//! Data: the same from the same seed, of the promised size and shape.

use super::{built_in, no_file, small, target};
use crate::source::Source;
use crate::units::hex;
use crate::workload::model::Workload;
use crate::workload::{Data, with_axes};
use contend_wire::literal::Value;
use contend_wire::script::{ScriptLine, ScriptReader};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::Path;

fn scripts(workload: &Workload, scale: f64, seed: u64, chunk_bytes: usize) -> Vec<String> {
    let mut scripts = vec![];
    let emit = &mut |script| {
        scripts.push(script);
        Ok(())
    };
    Data { workload, scale, seed }.scripts(chunk_bytes, &target(), &no_file, emit).unwrap();
    scripts
}

fn sha256(workload: &Workload, scale: f64, seed: u64) -> String {
    Data { workload, scale, seed }.sha256()
}

/// All rows, by the statement that inserts them.
fn rows(workload: &Workload, seed: u64) -> BTreeMap<String, Vec<Vec<Value>>> {
    let mut rows: BTreeMap<String, Vec<Vec<Value>>> = BTreeMap::new();
    for script in scripts(workload, 1.0, seed, 1 << 20) {
        let mut insert = String::new();
        for line in ScriptReader::new(&script).unwrap() {
            match line.unwrap().1 {
                ScriptLine::Load(load) => insert = load.sql,
                ScriptLine::Row(row) => rows.entry(insert.clone()).or_default().push(row),
                ScriptLine::Sql(_) => {}
            }
        }
    }
    rows
}

/// The values of one column.
fn column(workload: &Workload, table: &str, name: &str) -> Vec<Value> {
    let insert = format!("INSERT INTO {table} (");
    let index = workload.tables.iter().find(|t| t.name == table).unwrap().columns.position(name).unwrap();
    let rows = rows(workload, 1);
    let rows = rows.iter().find(|(sql, _)| sql.starts_with(&insert)).unwrap().1;
    rows.iter().map(|row| row[index].clone()).collect()
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer(i) => *i,
        other => panic!("{other:?} is not an integer"),
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("{other:?} is not a text"),
    }
}

#[test]
fn equal_seeds_make_equal_bytes() {
    let wordpress = built_in("wordpress");
    let one = scripts(&wordpress, 0.1, 1, 1 << 16);
    assert_eq!(one, scripts(&wordpress, 0.1, 1, 1 << 16));
    assert_ne!(one, scripts(&wordpress, 0.1, 2, 1 << 16));
    assert!(one.len() > 5, "{} scripts", one.len());
}

/// One column of every kind of generator.
const EVERY_KIND: &str = r#"about = "every kind"
[table.a]
ddl = "CREATE TABLE a (id, range, zipf, last, hot, val, choice, words, prose, time, format, blob, cycle, blocks, nil)"
rows = 200
[table.a.columns]
id = { serial = -5, step = 3 }
range = { range = [-0.5, 0.5] }
zipf = { range = [1, 50], zipf = 1.2 }
last = { range = [1, 50], zipf = 1.0, hot = "last" }
hot = { range = [1, 50], zipf = 0.5, hot = "first", null = 0.1 }
val = "a constant"
choice = { choice = ["x", 2, 0.25], weights = [1, 2, 3] }
words = { words = { median = 4, spread = 0.8, style = "slug" } }
prose = { words = { median = 60, style = "prose" } }
time = { time = ["2020-02-28", "2020-03-01"], ordered = true }
format = { format = "{{{id}}} {1..9} {hex:4} {words:2} {time}" }
blob = { blob = 3 }
cycle = { cycle = [1, { time = [0, 100], as = "unix" }] }
blocks = { blocks = [1, 2, 3], shares = [1, 2, 1] }
nil = { null = 1 }
[table.b]
ddl = "CREATE TABLE b (random, turn, part)"
rows = 50
[table.b.columns]
random = { ref = "a.id", zipf = 1.0 }
turn = { ref = "a.blocks", each = 2 }
part = { ref = "a.id", part = [0.25, 0.5] }
[transaction.t]
kind = "read"
args = { a = { ref = "a.id" }, b = { words = 3, pool = 2 } }
[[transaction.t.step]]
sql = "SELECT :a, :b"
"#;

/// If this fails, existing data is no longer what a record says it is: raise `GENERATOR_VERSION`.
#[test]
fn the_data_of_a_seed_is_the_same_in_every_release() {
    let workload = crate::workload::parse(&crate::source::Source::new("every.toml", EVERY_KIND)).unwrap();
    let mut hash = Sha256::new();
    for script in scripts(&workload, 1.0, 1, 1 << 20) {
        for row in script.lines().filter(|line| line.starts_with("row\t")) {
            hash.update(row);
        }
    }
    assert_eq!(crate::units::hex(&hash.finalize()), "d2297d78271221f077c8857a9cfcd7ff42aa5dd5ae22af81f729b91c5caaad8a");
}

#[test]
fn the_hash_of_the_data_follows_what_makes_the_data() {
    let workload = small();
    let hash = sha256(&workload, 1.0, 1);
    assert_eq!(hash, sha256(&small(), 1.0, 1));
    assert_ne!(hash, sha256(&workload, 2.0, 1));
    assert_ne!(hash, sha256(&workload, 1.0, 2));
    let changed = |from: &str, to: &str| {
        let text = super::SMALL.replacen(from, to, 1);
        sha256(&crate::workload::parse(&crate::source::Source::new("small.toml", text)).unwrap(), 1.0, 1)
    };
    assert_eq!(hash, changed("about", "# a comment\nabout"));
    assert_eq!(hash, changed("look = 3", "look = 4"));
    assert_ne!(hash, changed("words = 3", "words = 4"));
    assert_ne!(hash, changed("items = 10", "items = 11"));
}

#[test]
fn row_counts_follow_the_scale() {
    let wordpress = built_in("wordpress");
    let counts = |scale| wordpress.rows(scale);
    let one = counts(1.0);
    for (table, rows) in [
        ("wp_posts", 2_000),
        ("wp_postmeta", 8_000),
        ("wp_comments", 10_000),
        ("wp_commentmeta", 10_000),
        ("wp_terms", 200),
        ("wp_term_taxonomy", 200),
        ("wp_term_relationships", 6_000),
        ("wp_options", 300),
    ] {
        assert_eq!(one[table], rows, "{table}");
    }
    assert_eq!(counts(0.0001)["wp_postmeta"], 4, "a table is never scaled away");
    assert_eq!(counts(2.5)["wp_posts"], 5_000);
    let axes = BTreeMap::from([("posts".to_string(), "7".to_string()), ("clients".to_string(), "3".to_string())]);
    assert_eq!(with_axes(&wordpress, &axes).unwrap().rows(1.0)["wp_postmeta"], 28);
    assert!(with_axes(&wordpress, &BTreeMap::from([("pots".to_string(), "7".to_string())])).is_err());
}

#[test]
fn columns_have_the_shape_promised() {
    let wordpress = built_in("wordpress");
    let content = column(&wordpress, "wp_posts", "post_content");
    let mean = content.iter().map(|v| text(v).len()).sum::<usize>() / content.len();
    assert!((400..700).contains(&mean), "a mean post has {mean} bytes");

    let dates = column(&wordpress, "wp_posts", "post_date");
    assert!(dates.is_sorted_by(|a, b| text(a) <= text(b)), "posts are dated in their order");

    let approved = column(&wordpress, "wp_comments", "comment_approved");
    let share = approved.iter().filter(|v| text(v) == "1").count() as f64 / approved.len() as f64;
    assert!((share - 0.95).abs() < 0.01, "{share}");

    let mut per_post = BTreeMap::new();
    for post in column(&wordpress, "wp_comments", "comment_post_ID") {
        *per_post.entry(integer(&post)).or_insert(0u32) += 1;
    }
    let most = *per_post.values().max().unwrap();
    let harmonic: f64 = (1..=2000).map(|k| f64::from(k).powf(-0.8)).sum();
    assert!((f64::from(most) / 10_000.0 - 1.0 / harmonic).abs() < 0.006, "{most} comments on the first post");
    assert!(per_post.keys().all(|post| (1..=2000).contains(post)));

    let pairs: BTreeSet<(i64, i64)> = column(&wordpress, "wp_term_relationships", "object_id")
        .iter()
        .zip(column(&wordpress, "wp_term_relationships", "term_taxonomy_id"))
        .map(|(object, term)| (integer(object), integer(&term)))
        .collect();
    assert_eq!(pairs.len(), 6_000, "a post has no term twice");
    let categories = column(&wordpress, "wp_term_taxonomy", "taxonomy");
    assert!(categories.iter().enumerate().all(|(i, v)| (text(v) == "category") == (i < 20)));
}

#[test]
fn references_formats_and_nulls_agree_within_a_row() {
    let small = small();
    assert_eq!(column(&small, "item", "id").iter().map(integer).collect::<Vec<_>>()[..3], [100, 102, 104]);
    assert_eq!(text(&column(&small, "item", "name")[2]), "item-104");
    assert_eq!(column(&small, "item", "data")[0], Value::Blob(vec![0; 4]));
    let notes = column(&small, "item", "note");
    assert!(notes.contains(&Value::Null) && notes.iter().any(|v| *v != Value::Null));
}

#[test]
fn a_table_has_the_rows_of_its_file() {
    let rows_of = |text: &'static str| {
        let open = |path: &Path| {
            assert_eq!(path, Path::new("dir/a.tsv"), "next to the workload");
            Ok(Box::new(text.as_bytes()) as Box<dyn BufRead>)
        };
        let scripts = |workload: &Workload, scale| {
            let mut all = String::new();
            let emit = &mut |script: String| {
                all += &script;
                Ok(())
            };
            Data { workload, scale, seed: 1 }.scripts(1 << 20, &target(), &open, emit).map(|_| all)
        };
        let sha256 = hex(&Sha256::digest("name\tid\nty\\nz\ti7\ntx\ti9\n"));
        let text = format!(
            "about = \"rows\"\n[scale]\nn = 2\n[table.a]\nddl = \"CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT)\"\n\
             rows = \"n\"\ncontent = {{ file = \"a.tsv\", rows = 2, sha256 = \"{sha256}\" }}\n\
             columns = {{ id = {{ serial = 1 }}, name = \"made\" }}\n\
             [transaction.t]\nkind = \"read\"\n[[transaction.t.step]]\nsql = \"SELECT 1 FROM a\"\n"
        );
        let source = Source::new("dir/w.toml", text);
        let workload = crate::workload::parse(&source).unwrap();
        [1.0, 2.0].map(|scale| scripts(&workload, scale).map_err(|why| format!("{why:#}")))
    };
    let [same, doubled] = rows_of("name\tid\nty\\nz\ti7\ntx\ti9\n");
    assert!(same.unwrap().contains("row\ti7\tty\\nz\nrow\ti9\ttx\n"));
    assert!(doubled.unwrap().contains("row\ti4\ttmade\n"), "another number of rows is generated");
    let wrong = |text: &'static str, why: &str| {
        let [same, _] = rows_of(text);
        assert!(same.clone().is_err_and(|said| said.contains(why)), "{text:?}: {same:?}");
    };
    wrong("name\tid\nty\ti7\n", "ends after line 2; the workload expects 2 rows");
    wrong("name\tid\nty\ti7\ntx\ti9\n", "is not the file that the workload was written with");
    wrong("name\tid\nty\\nz\ti7\ntx\ti9\ntx\ti9\n", "is not the file that the workload was written with");
    wrong("name\nty\n", "line 1: expected the columns id, name");
    wrong("name\tid\nty\nx", "line 2: expected 2 values, found 1");
    wrong("name\tid\nty\tx7\n", "line 2: ");
}
