//! Every mistake in a workload file, with the line it is on. Messages are snapshots, as users see them:
//! `INSTA_UPDATE=always cargo test` writes them again.

use super::SMALL;
use crate::source::Source;
use crate::workload::{LIBRARY, parse};

/// Each mistake with its message.
#[derive(Default)]
struct Messages(String);

impl Messages {
    /// Replaces `from` in the small workload and expects an error on the line of `at`.
    fn refused(&mut self, from: &str, to: &str, at: &str) {
        assert!(SMALL.contains(from), "`{from}` is not in the small workload");
        let text = SMALL.replacen(from, to, 1);
        let line = text.lines().position(|l| l.contains(at)).unwrap_or_else(|| panic!("`{at}` is not in the text")) + 1;
        let error = parse(&Source::new("small.toml", &text)).err().unwrap_or_else(|| panic!("`{to}` is accepted"));
        assert_eq!(error.line, line, "`{to}`: {error}");
        assert_eq!(error.further, [], "`{to}`: one mistake is one error");
        self.0 += &format!("{}\n    {error}\n", to.replace('\n', "\\n"));
    }

    /// As [`Messages::refused`], when the line at fault is the one replaced.
    fn wrong(&mut self, from: &str, to: &str) {
        self.refused(from, to, to.lines().next().unwrap());
    }
}

/// One mistake in each section, of which none hides another.
#[test]
fn all_mistakes_of_a_file_are_reported_at_once() {
    let mistakes = [
        ("batch = { fixed = 3 }", "batch = { fixd = 3 }"),
        ("name = { format = \"item-{id}\" }", "name = { fromat = \"item-{id}\" }"),
        ("kind = \"read\"", "kind = \"maybe\""),
        ("begin = \"immediate\"", "begn = \"immediate\""),
        ("SELECT id FROM item ORDER BY id DESC LIMIT 5", "SELECT id FROM item; SELECT 1"),
        ("mix = { look = 3, add = 1 }", "mix = { look = 3, remove = 1 }"),
        ("exponential = \"1ms\"", "exponential = \"1\""),
        ("rows.item + 3*committed.add", "rows.itm + 3*committed.add"),
    ];
    let text = mistakes.iter().fold(SMALL.to_string(), |text, (good, bad)| {
        assert!(text.contains(good), "the small workload has no {good}");
        text.replacen(good, bad, 1)
    });
    insta::assert_snapshot!("several", parse(&Source::new("small.toml", &text)).unwrap_err());
}

#[test]
fn keys_and_types() {
    let mut m = Messages::default();
    m.wrong("rows = \"items\"", "colour = 1");
    m.wrong("kind = \"read\"", "kind = 5");
    m.wrong("kind = \"read\"", "kind = \"maybe\"");
    m.wrong("rows = \"items\"", "rows = true");
    m.wrong("items = 10", "items = -10");
    for axis in ["clients", "profile", "rate", "rate_per_s", "scale"] {
        m.refused("items = 10", &format!("items = 10\n{axis} = 10"), &format!("{axis} = 10"));
    }
    insta::assert_snapshot!("keys_and_types", m.0);
}

#[test]
fn tables() {
    let mut m = Messages::default();
    m.wrong("rows = \"items\"", "rows = -5");
    m.wrong("rows = \"items\"", "rows = \"4*itms\"");
    m.wrong("rows = \"items\"", "rows = \"items*batch\"");
    m.wrong("rows = \"items\"", "rows = \"4.5*items\"");
    m.refused("rows = \"items\"", "rows = 0", "[table.item.columns]");
    let columns = SMALL.find("[table.item.columns]").unwrap()..SMALL.find("[transaction.look]").unwrap();
    m.refused(&SMALL[columns], "", "rows = \"items\"");
    m.wrong("price = { range = [0.5, 9.5] }", "prize = { range = [0.5, 9.5] }");
    m.wrong("ddl = \"CREATE TABLE item (", "ddl = \"CREATE TABLE itm (");
    m.wrong("indexes = [\"CREATE INDEX", "indexes = [\"SELECT 1; CREATE INDEX");
    let second = "[table.other]\nddl = \"CREATE TABLE other (a)\"\nrows = 1\ncolumns = { a = { ref = \"item.id\" } }\n[transaction.look]";
    let text = SMALL.replacen("[transaction.look]", second, 1).replacen(
        "note = { words = 3, null = 0.5 }",
        "note = { ref = \"other.a\" }",
        1,
    );
    let error = parse(&Source::new("small.toml", text)).unwrap_err();
    assert!(error.message.contains("refers back") && error.line > 0, "{error}");
    insta::assert_snapshot!("tables", m.0);
}

#[test]
fn generators() {
    let mut m = Messages::default();
    for to in [
        "price = { rnge = [0.5, 9.5] }",
        "price = { range = [0.5, 9.5], words = 1 }",
        "price = { range = [0.5, 9.5], each = 1 }",
        "price = { range = [9.5, 0.5] }",
        "price = { range = [0.5, 9.5], zipf = 1.0 }",
        "price = { range = [1, 9], zipf = -1.0 }",
        "price = { ref = \"itm.id\" }",
        "price = { ref = \"item.ix\" }",
        "price = { ref = \"item\" }",
        "price = { ref = \"item.note\" }",
        "price = { ref = \"item.price\" }",
        "price = { ref = \"item.id\", each = 0 }",
        "price = { ref = \"item.id\", part = [0.5, 0.5] }",
        "price = { format = \"{nme}\" }",
        "price = { format = \"{id\" }",
        "price = { format = \"{name}-{price}\" }",
        "price = { choice = [1, 2], weights = [0, 0] }",
        "price = { choice = [1, 2], weights = [1] }",
        "price = { choice = [] }",
        "price = { blocks = [1, 2], shares = [1, -1] }",
        "price = { blocks = [1, 2], shares = [1e308, 1e308] }",
        "price = { cycle = [] }",
        "price = { time = [\"yesterday\", \"2024-01-01\"] }",
        "price = { time = [\"2025-01-01\", \"2024-01-01\"] }",
        "price = { words = { median = 5, min = 9, max = 1 } }",
        "price = { words = 5, pool = 3 }",
        "price = { words = 100000000000 }",
        "price = { format = \"{hex:4000000000}\" }",
        "price = { blob = 4294967295 }",
        "price = { range = [-1e308, 1e308] }",
        "price = { time = [0, 300000000000] }",
        "price = { value = 1, null = 2.0 }",
        "price = { unique = true }",
        "price = [1]",
    ] {
        m.wrong("price = { range = [0.5, 9.5] }", to);
    }
    for to in [
        "price = { serial = 1 }",
        "price = { cycle = [1] }",
        "price = { unique = true, plus = 1 }",
        "price = { kept = \"id\" }",
        "price = { format = \"{note}\" }",
        "price = { words = 3, null = 0.3, pool = 64 }",
        "price = { blob = 3, pool = 4 }",
        "price = { format = \"x-{share}\", pool = 4 }\nshare = 1",
    ] {
        m.wrong("price = { range = [1.0, 2.0] }", to);
    }
    insta::assert_snapshot!("generators", m.0);
}

#[test]
fn transactions() {
    let mut m = Messages::default();
    let sql = "sql = \"SELECT id FROM item WHERE name = :name\"";
    m.wrong(sql, "sql = \"SELECT id FROM item WHERE name = :nam\"");
    m.wrong(sql, "sql = \"SELECT id FROM item WHERE name = ?\"");
    m.wrong(sql, "sql = \"SELECT :name; SELECT 2\"");
    m.wrong(sql, "sql = \"\"");
    for own in ["PRAGMA synchronous = off", "BEGIN", "COMMIT", "ROLLBACK", "SET a = 1", "ATTACH 'x' AS y"] {
        m.wrong(sql, &format!("sql = \"{own}\""));
        let both = format!("on.mariadb = \"{own}\"\n{sql}");
        m.wrong(sql, &both);
    }
    m.refused(sql, "sql = \"SELECT 1\"", "args = { name");
    m.refused(sql, "pause = \"10ms\"", "[[transaction.look.step]]");
    m.refused(sql, "pause = \"10ms\"\nsql = \"SELECT :name\"", "[[transaction.look.step]]");
    m.refused("args = { name =", "args = { now =", "args = { now");
    m.refused("args = { name =", "args = { 'a b' =", "args = { 'a b'");
    m.wrong("pause = \"1ms\"", "pause = \"1 year\"");
    m.wrong("pause = \"1ms\"", "pause = \"items*1ms\"");
    m.wrong("pause = \"1ms\"", "connect = true");
    m.wrong("repeat = \"batch\"", "repeat = 0");
    m.refused("repeat = \"batch\"", "repeat = 70000", "[transaction.add]");
    m.wrong("rows = [1, 5]", "rows = [5, 1]");
    m.wrong("keep = { id = 0 }", "keep = { id = { column = 0, max = 1 } }");
    m.wrong("keep = { id = 0 }", "keep = { price = 0 }");
    m.wrong("keep = { ids = { column = 0, max = 5 } }", "keep = { ids = { column = 0, max = 5 }, x = 1 }");
    m.wrong("args = { next = { kept = \"id\", plus = 1 } }", "args = { next = { kept = \"ids\" } }");
    let lists = "sql = \"SELECT count(*) FROM item WHERE id = :ids AND id < :next\"";
    m.wrong("sql = \"SELECT count(*) FROM item WHERE id IN (:ids) AND id < :next\"", lists);
    insta::assert_snapshot!("transactions", m.0);
}

#[test]
fn profiles_roles_and_invariants() {
    let mut m = Messages::default();
    m.wrong("mix = { look = 3, add = 1 }", "mix = { look = 3, ad = 1 }");
    m.wrong("mix = { look = 3, add = 1 }", "mix = { look = 0 }");
    for weights in ["look = -1", "look = 3, add = nan", "look = 3, add = inf", "look = 1e308, add = 1e308"] {
        m.wrong("mix = { look = 3, add = 1 }", &format!("mix = {{ {weights} }}"));
    }
    m.wrong("clients = 2", "clients = -2");
    m.wrong("clients = 2", "clients = \"items\"");
    m.wrong("clients = 2", "profile = \"none\"");
    m.wrong("clients = 2", "transactions = [\"lok\"]");
    m.wrong("clients = 2", "database = 1");
    m.wrong("clients = 2", "per_database = \"items\"");
    m.refused("clients = 2", "clients = 2\nper_database = 1", "per_database");
    m.refused("clients = 2", "per_database = 1\ndatabase = 0", "database = 0");
    m.wrong("processes = 2", "processes = 0");
    m.wrong("processes = 2", "in = \"nobody\"");
    m.wrong("processes = 2", "in = \"worker\"");
    let guest = |text: &str| format!("[role.guest]\n{text}\n[role.worker]");
    m.refused("[role.worker]", &guest("in = \"worker\"\nprocesses = 2"), "processes = 2");
    let chain = guest("in = \"other\"\n[role.other]\nin = \"worker\"");
    m.refused("[role.worker]", &chain, "in = \"other\"");
    m.wrong("pause = { exponential = \"1ms\" }", "pause = { fixed = \"1ms\" }");
    m.wrong("equals = \"rows", "equals = \"rows.item + committed.ad\"\n#");
    m.wrong("equals = \"rows", "equals = \"rows.itm\"\n#");
    m.wrong("equals = \"rows", "at_least = \"'text'\"\n#");
    m.refused("equals = \"rows", "#", "[[invariant]]");
    let text = format!("{SMALL}\n[[invariant]]\nname = \"items\"\nsql = \"SELECT 1\"\nequals = 1\n");
    let error = parse(&Source::new("small.toml", &text)).unwrap_err();
    assert!(error.message.contains("another invariant") && error.line == text.lines().count() - 2, "{error}");
    insta::assert_snapshot!("profiles_roles_and_invariants", m.0);
}

#[test]
fn names_and_files() {
    assert!(LIBRARY.open("bank", |_| unreachable!("it is built in")).unwrap().name.contains("bank"));
    assert_eq!(LIBRARY.open("my.toml", |_| Ok(SMALL.to_string())).unwrap(), Source::new("my.toml", SMALL));
    let unknown = LIBRARY.open("bnk", |_| unreachable!("no path")).unwrap_err().to_string();
    assert!(unknown.contains("bank, chain, gameplan, library"), "{unknown}");
    let missing = LIBRARY.open("my.toml", |_| Err(std::io::ErrorKind::NotFound.into())).unwrap_err().to_string();
    assert!(missing.contains("cannot read workload my.toml"), "{missing}");
}
