//! Every mistake in a workload file, with the line it is on.

use super::SMALL;
use crate::source::Source;
use crate::workload::{open, parse};

/// Replaces `from` in the small workload and expects an error on the line of `at` that says `message`.
fn refused(from: &str, to: &str, at: &str, message: &str) {
    assert!(SMALL.contains(from), "`{from}` is not in the small workload");
    let text = SMALL.replacen(from, to, 1);
    let line = text.lines().position(|l| l.contains(at)).unwrap_or_else(|| panic!("`{at}` is not in the text")) + 1;
    let error = parse(&Source::new("small.toml", &text)).err().unwrap_or_else(|| panic!("`{to}` is accepted"));
    assert!(error.message.contains(message), "`{to}`: {error}");
    assert_eq!(error.line, line, "`{to}`: {error}");
}

/// As [`refused`], when the line at fault is the one replaced.
fn wrong(from: &str, to: &str, message: &str) {
    refused(from, to, to.lines().next().unwrap(), message);
}

#[test]
fn keys_and_types() {
    wrong("rows = \"items\"", "colour = 1", "unknown field `colour`");
    wrong("kind = \"read\"", "kind = 5", "wanted string");
    wrong("kind = \"read\"", "kind = \"maybe\"", "maybe");
    wrong("rows = \"items\"", "rows = true", "expected a number");
    wrong("items = 10", "items = -10", "not negative");
    for axis in ["clients", "profile", "rate", "rate_per_s", "scale"] {
        wrong("items = 10", &format!("{axis} = 10"), "axis of every study");
    }
}

#[test]
fn tables() {
    wrong("rows = \"items\"", "rows = -5", "negative");
    wrong("rows = \"items\"", "rows = \"4*itms\"", "`itms` is not in [scale]");
    wrong("rows = \"items\"", "rows = \"items*batch\"", "`items` follows the scale");
    wrong("rows = \"items\"", "rows = \"4.5*items\"", "neither a whole number nor in [scale]");
    refused("rows = \"items\"", "rows = 0", "[table.item.columns]", "columns without `rows`");
    let columns = SMALL.find("[table.item.columns]").unwrap()..SMALL.find("[transaction.look]").unwrap();
    refused(&SMALL[columns], "", "rows = \"items\"", "rows without [columns]");
    wrong("price = { range = [0.5, 9.5] }", "prize = { range = [0.5, 9.5] }", "no column `prize`");
    wrong("ddl = \"CREATE TABLE item (", "ddl = \"CREATE TABLE itm (", "does not create `item`");
    wrong("indexes = [\"CREATE INDEX", "indexes = [\"SELECT 1; CREATE INDEX", "one statement at a time");
    let second = "[table.other]\nddl = \"CREATE TABLE other (a)\"\nrows = 1\ncolumns = { a = { ref = \"item.id\" } }\n[transaction.look]";
    let text = SMALL.replacen("[transaction.look]", second, 1).replacen(
        "note = { words = 3, null = 0.5 }",
        "note = { ref = \"other.a\" }",
        1,
    );
    let error = parse(&Source::new("small.toml", text)).unwrap_err();
    assert!(error.message.contains("refers back") && error.line > 0, "{error}");
}

#[test]
fn generators() {
    for (to, message) in [
        ("price = { rnge = [0.5, 9.5] }", "a generator needs one of"),
        ("price = { range = [0.5, 9.5], words = 1 }", "cannot both"),
        ("price = { range = [0.5, 9.5], each = 1 }", "no option `each`"),
        ("price = { range = [9.5, 0.5] }", "greater than"),
        ("price = { range = [0.5, 9.5], zipf = 1.0 }", "for integers"),
        ("price = { range = [1, 9], zipf = -1.0 }", "exponent"),
        ("price = { ref = \"itm.id\" }", "no table `itm`"),
        ("price = { ref = \"item.ix\" }", "no column `ix`"),
        ("price = { ref = \"item\" }", "table.column"),
        ("price = { ref = \"item.note\" }", "does not follow from the row's number"),
        ("price = { ref = \"item.price\" }", "refers to itself"),
        ("price = { ref = \"item.id\", each = 0 }", "at least 1"),
        ("price = { ref = \"item.id\", part = [0.5, 0.5] }", "fractions"),
        ("price = { format = \"{nme}\" }", "`{nme}` is not a column"),
        ("price = { format = \"{id\" }", "not closed"),
        ("price = { format = \"{name}-{price}\" }", "refers to itself"),
        ("price = { choice = [1, 2], weights = [0, 0] }", "sum to zero"),
        ("price = { choice = [1, 2], weights = [1] }", "2 values but 1 weights"),
        ("price = { choice = [] }", "at least one"),
        ("price = { blocks = [1, 2], shares = [1, -1] }", "negative"),
        ("price = { cycle = [] }", "at least one"),
        ("price = { time = [\"yesterday\", \"2024-01-01\"] }", "is not a time"),
        ("price = { time = [\"2025-01-01\", \"2024-01-01\"] }", "earliest"),
        ("price = { words = { median = 5, min = 9, max = 1 } }", "min <= max"),
        ("price = { words = 5, pool = 3 }", "for arguments"),
        ("price = { value = 1, null = 2.0 }", "probability"),
        ("price = { unique = true }", "for arguments"),
        ("price = [1]", "expected an integer"),
    ] {
        wrong("price = { range = [0.5, 9.5] }", to, message);
    }
    for (to, message) in [
        ("price = { serial = 1 }", "no row"),
        ("price = { cycle = [1] }", "no row"),
        ("price = { unique = true, plus = 1 }", "without options"),
        ("price = { kept = \"id\" }", "kept nothing yet"),
        ("price = { format = \"{note}\" }", "pooled text"),
    ] {
        wrong("price = { range = [1.0, 2.0] }", to, message);
    }
}

#[test]
fn transactions() {
    let sql = "sql = \"SELECT id FROM item WHERE name = :name\"";
    wrong(sql, "sql = \"SELECT id FROM item WHERE name = :nam\"", "called `nam`");
    wrong(sql, "sql = \"SELECT id FROM item WHERE name = ?\"", "placeholders have names");
    wrong(sql, "sql = \"SELECT :name; SELECT 2\"", "one statement");
    wrong(sql, "sql = \"\"", "empty");
    for own in ["PRAGMA synchronous = off", "BEGIN", "COMMIT", "ROLLBACK", "SET a = 1", "ATTACH 'x' AS y"] {
        wrong(sql, &format!("sql = \"{own}\""), "settings belong to the contender");
        let both = format!("on.mariadb = \"{own}\"\n{sql}");
        wrong(sql, &both, "settings belong to the contender");
    }
    refused(sql, "sql = \"SELECT 1\"", "args = { name", "no statement uses `:name`");
    refused(sql, "pause = \"10ms\"", "[[transaction.look.step]]", "rows, keep, repeat, every and args");
    refused(sql, "pause = \"10ms\"\nsql = \"SELECT :name\"", "[[transaction.look.step]]", "exactly one of");
    refused("args = { name =", "args = { now =", "args = { now", "current time");
    refused("args = { name =", "args = { 'a b' =", "args = { 'a b'", "cannot be written");
    wrong("pause = \"1ms\"", "pause = \"1 year\"", "not a duration");
    wrong("pause = \"1ms\"", "pause = \"items*1ms\"", "follows the scale");
    wrong("pause = \"1ms\"", "connect = true", "only the first step");
    wrong("repeat = \"batch\"", "repeat = 0", "at least once");
    refused("repeat = \"batch\"", "repeat = 70000", "[transaction.add]", "65535 is the most");
    wrong("rows = [1, 5]", "rows = [5, 1]", "fewest");
    wrong("keep = { id = 0 }", "keep = { id = { column = 0, max = 1 } }", "from 2 to");
    wrong("keep = { id = 0 }", "keep = { price = 0 }", "already the name");
    wrong("keep = { ids = { column = 0, max = 5 } }", "keep = { ids = { column = 0, max = 5 }, x = 1 }", "uses `:x`");
    wrong(
        "args = { next = { kept = \"id\", plus = 1 } }",
        "args = { next = { kept = \"ids\" } }",
        "single value as `ids`",
    );
    let lists = "sql = \"SELECT count(*) FROM item WHERE id = :ids AND id < :next\"";
    wrong("sql = \"SELECT count(*) FROM item WHERE id IN (:ids) AND id < :next\"", lists, "IN (:ids)");
}

#[test]
fn profiles_roles_and_invariants() {
    wrong("mix = { look = 3, add = 1 }", "mix = { look = 3, ad = 1 }", "no transaction `ad` (there are add, look)");
    wrong("mix = { look = 3, add = 1 }", "mix = { look = 0 }", "sum to zero");
    wrong("mix = { look = 3, add = 1 }", "mix = { look = -1 }", "negative");
    wrong("clients = 2", "clients = -2", "negative");
    wrong("clients = 2", "clients = \"items\"", "follows the scale");
    wrong("clients = 2", "profile = \"none\"", "no profile `none`");
    wrong("clients = 2", "transactions = [\"lok\"]", "no transaction `lok`");
    wrong("clients = 2", "database = 1", "numbered 0 to 0");
    wrong("clients = 2", "per_database = \"items\"", "follows the scale");
    refused("clients = 2", "clients = 2\nper_database = 1", "per_database", "not both");
    refused("clients = 2", "per_database = 1\ndatabase = 0", "database = 0", "clients of its own");
    wrong("processes = 2", "in = \"nobody\"", "no role `nobody` (there are worker)");
    wrong("processes = 2", "in = \"worker\"", "its own processes");
    let guest = |text: &str| format!("[role.guest]\n{text}\n[role.worker]");
    refused("[role.worker]", &guest("in = \"worker\"\nprocesses = 2"), "processes = 2", "those of role `worker`");
    let chain = guest("in = \"other\"\n[role.other]\nin = \"worker\"");
    refused("[role.worker]", &chain, "in = \"other\"", "lives in those of another");
    wrong("pause = { exponential = \"1ms\" }", "pause = { fixed = \"1ms\" }", "a pause is");
    wrong("equals = \"rows", "equals = \"rows.item + committed.ad\"\n#", "no transaction `ad`");
    wrong("equals = \"rows", "equals = \"rows.itm\"\n#", "no table `itm`");
    wrong("equals = \"rows", "at_least = \"'text'\"\n#", "only be compared");
    refused("equals = \"rows", "#", "[[invariant]]", "exactly one of");
    let text = format!("{SMALL}\n[[invariant]]\nname = \"items\"\nsql = \"SELECT 1\"\nequals = 1\n");
    let error = parse(&Source::new("small.toml", &text)).unwrap_err();
    assert!(error.message.contains("another invariant") && error.line == text.lines().count() - 2, "{error}");
}

#[test]
fn names_and_files() {
    assert!(open("bank", |_| unreachable!("it is built in")).unwrap().name.contains("bank"));
    assert_eq!(open("my.toml", |_| Ok(SMALL.to_string())).unwrap(), Source::new("my.toml", SMALL));
    let unknown = open("bnk", |_| unreachable!("no path")).unwrap_err().to_string();
    assert!(unknown.contains("bank, chain, gameplan, library"), "{unknown}");
    let missing = open("my.toml", |_| Err(std::io::ErrorKind::NotFound.into())).unwrap_err().to_string();
    assert!(missing.contains("cannot read workload my.toml"), "{missing}");
}
