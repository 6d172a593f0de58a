//! Deterministic fuzzing, for as many seconds as `CONTEND_FUZZ_SECONDS` says, from the seed in `CONTEND_FUZZ_SEED` (1 by
//! default). Texts of the cases are mutated, for half the time: no panic, and an answer in bounded time. Random
//! statements of known types are compared on both servers: no wrong row. What is found is printed as it can be run: a
//! number of a schema, which is compared alone with `CONTEND_FUZZ_SCHEMA`. `make fuzz` runs all for an hour.

mod support;

use contend_sql::{Catalogue, Options, Target, function_pack, session, translate};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};
use support::engines::Engine;
use support::generate::{Generated, Generator};
use support::judge::Verdict;
use support::kinds::Kinds;
use support::mariadb::MariaDb;
use support::pair::Pair;
use support::postgresql::Postgres;
use support::random::Random;
use support::tables::schema;
use support::values::Values;
use support::{cases, servers};

/// CPU time, because a busy machine delays processes; far above what a translation takes.
const TRANSLATION_TIME_MAX: Duration = Duration::from_secs(2);
/// Statements on one pair of databases.
const STATEMENTS_PER_SCHEMA: u64 = 150;
const SHOWN: usize = 40;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// The tokens of a text, roughly: words, numbers, strings, single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut quote = None;
    for c in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let joins = quote.is_some() || tokens.last().and_then(|t| t.chars().last()).is_some_and(word) && word(c);
        match tokens.last_mut() {
            Some(token) if joins => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        match quote {
            Some(open) if open == c => quote = None,
            None if ['\'', '"', '`'].contains(&c) => quote = Some(c),
            _ => {}
        }
    }
    tokens
}

const WORDS: [&str; 40] = [
    "SELECT",
    "FROM",
    "WHERE",
    "NULL",
    "(",
    ")",
    ",",
    ";",
    "'",
    "\"",
    "?",
    "?1",
    ":a",
    "0x",
    "1e999",
    "IN",
    "NOT",
    "AND",
    "CASE",
    "END",
    "CAST",
    "AS",
    "JOIN",
    "USING",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "OVER",
    "WITH",
    "VALUES",
    "INSERT",
    "RETURNING",
    "COLLATE",
    "ESCAPE",
    "-",
    "||",
    "*",
    "9223372036854775808",
    "/*",
    "é",
];

fn mutate_tokens(random: &mut Random, tokens: &mut Vec<String>, others: &[String]) {
    let at = random.below(tokens.len().max(1));
    match random.below(6) {
        0 if !tokens.is_empty() => drop(tokens.remove(at)),
        1 if !tokens.is_empty() => tokens[at] = random.pick(&WORDS).to_string(),
        2 => tokens.insert(at.min(tokens.len()), format!(" {} ", random.pick(&WORDS))),
        3 if !tokens.is_empty() => {
            let to = random.below(tokens.len());
            tokens.swap(at, to);
        }
        4 => {
            let other = self::tokens(random.pick::<String>(others));
            let from = random.below(other.len().max(1));
            tokens.truncate(at);
            tokens.extend(other.into_iter().skip(from));
        }
        _ => {
            let copied: Vec<String> = tokens[at.min(tokens.len())..].iter().take(8).cloned().collect();
            let times = 1 + random.below(40);
            (0..times).for_each(|_| tokens.extend(copied.clone()));
        }
    }
}

fn mutate_bytes(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(4) {
            0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.insert(at.min(bytes.len()), *random.pick(b"'\"`()[];?:@$\\\0\x7f\xc3\xf0")),
            _ => bytes.truncate(at),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Time that this thread had a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Translates a text in all four ways; what went wrong.
fn translates(text: &str, catalogue: &Catalogue) -> Option<String> {
    for (target, pack) in
        [(Target::Postgres, false), (Target::Postgres, true), (Target::MariaDb, false), (Target::MariaDb, true)]
    {
        let begun = processor_time();
        let options = Options { pack, session: true, tagged: true, ..Options::to(target) };
        let work = || {
            let _ = translate(text, catalogue, &options);
            let _ = catalogue.clone().learn(text);
        };
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            return Some(format!("panic: {text:?}"));
        }
        let took = processor_time() - begun;
        if took > TRANSLATION_TIME_MAX {
            return Some(format!("{took:?}: {text:?}"));
        }
    }
    None
}

/// The catalogue for the cases' statements: their own tables, and the generator's.
fn corpus() -> Vec<(String, Catalogue)> {
    let mut corpus = vec![];
    for case in cases::all() {
        let mut catalogue = Catalogue::default();
        for step in &case.steps {
            corpus.push((step.sql.clone(), catalogue.clone()));
            let _ = catalogue.learn(&step.sql);
        }
    }
    corpus
}

/// Texts that made an earlier translator panic.
const PANICKED: [&str; 5] = [
    "CREATE TABLE u (id INTEGER PRIMARY KEY, n 'x' \u{e9} DEFAULT 5)",
    "SELECT substr(a, -9223372036854775808) FROM t",
    "SELECT a, count(*) FROM t GROUP BY -9223372036854775808",
    "SELECT round(a), round(1e999,1) FROM t",
    "SELECT printf('%.2f', 1e999), round(1e999, 2), CAST(1e999 AS INTEGER), substr('x', 1e999), 1e999 || ''",
];

#[test]
fn texts_that_made_it_panic_are_answered() {
    let mut catalogue = Catalogue::default();
    catalogue.learn("CREATE TABLE t (a INTEGER)").expect("a table");
    let found: Vec<String> = PANICKED.iter().filter_map(|text| translates(text, &catalogue)).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn no_text_makes_the_translator_panic() {
    let seconds = setting("CONTEND_FUZZ_SECONDS", 10) / 2;
    let mut random = Random(setting("CONTEND_FUZZ_SEED", 1));
    let corpus = corpus();
    let texts: Vec<String> = corpus.iter().map(|(text, _)| text.clone()).collect();
    let (begun, mut tried, mut found) = (Instant::now(), 0u64, BTreeSet::new());
    while begun.elapsed() < Duration::from_secs(seconds) && found.len() < SHOWN {
        let (text, catalogue) = random.pick(&corpus);
        let mutated = if random.chance(50) {
            mutate_bytes(&mut random, text)
        } else {
            let mut tokens = tokens(text);
            (0..=random.below(3)).for_each(|_| mutate_tokens(&mut random, &mut tokens, &texts));
            tokens.concat()
        };
        if let Some(text) = translates(&mutated, catalogue) {
            // Printed at once: a long run may be ended before its time.
            println!("{text}");
            found.insert(text);
        }
        tried += 1;
    }
    println!("{tried} texts");
    assert!(tried > 0 && found.is_empty(), "\n{}", found.into_iter().collect::<Vec<_>>().join("\n"));
}

/// What happened to random statements on one server.
#[derive(Default)]
struct Found {
    schemas: u64,
    pass: u64,
    /// How often for which reason, and the first of them.
    refused: BTreeMap<String, (u64, String)>,
    errors: BTreeMap<String, String>,
    wrong: BTreeMap<String, String>,
}

impl Found {
    fn count(&mut self, verdict: Verdict, what: &str) {
        // The same fault occurs in many statements: one of each length and kind is enough.
        let key = |text: &str| text.rsplit(": ").next().unwrap_or_default().chars().take(40).collect::<String>();
        match verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Refused(text) => {
                let reason = text.split(" (").next().unwrap_or_default();
                // Columns and bound values are different each time.
                let reason = reason.split(" at line").next().unwrap_or_default().trim_end_matches(char::is_numeric);
                self.refused.entry(reason.to_string()).or_insert_with(|| (0, text.clone())).0 += 1;
            }
            Verdict::Declared(text) | Verdict::Error(text) => {
                let reason = text.rsplit(" [").nth(1).unwrap_or(&text);
                self.errors.entry(key(reason)).or_insert_with(|| format!("{what} {text}"));
            }
            Verdict::Wrong(text) => {
                let message = format!("{what} {text}");
                // Printed at once: a long run may be ended before its time.
                println!("WRONG {message}");
                self.wrong.entry(key(&text)).or_insert(message);
            }
        }
    }

    /// Runs a statement that changes rows, and compares the tables; returns whether the two sides differ.
    fn changed(&mut self, pair: &mut Pair, change: &Generated, what: &str) -> bool {
        let verdict = match pair.run(change) {
            Verdict::Pass => pair.contents(),
            other => other,
        };
        let differs = !matches!(verdict, Verdict::Pass | Verdict::Refused(_));
        self.count(verdict, &format!("{what} {} {:?}", change.sql, change.params));
        differs
    }

    fn report(&self, server: &str) {
        let refused: u64 = self.refused.values().map(|(count, _)| count).sum();
        let (schemas, pass, errors) = (self.schemas, self.pass, self.errors.len());
        println!("{server}: {schemas} schemas, {pass} pass, {refused} refused, {errors} kinds of errors");
        let mut reasons: Vec<_> = self.refused.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(count.0));
        reasons.iter().take(SHOWN).for_each(|(_, (count, first))| println!("  refused {count}: {first}"));
        self.errors.values().take(SHOWN).for_each(|text| println!("  error {text}"));
        self.wrong.values().take(SHOWN).for_each(|text| println!("  WRONG {text}"));
    }
}

/// Schemas that are compared when no duration is given: the same ones on every machine.
const SCHEMAS: u64 = 100;

fn compare_random(target: Target, seed: u64, until: Option<Instant>, server: &mut dyn Engine) -> Found {
    // A schema found earlier, by its printed number: alone.
    let only = setting("CONTEND_FUZZ_SCHEMA", 0);
    let (first, count) = if only > 0 { (only - 1, 1) } else { (seed * 1_000_000, SCHEMAS) };
    let (mut found, mut number) = (Found::default(), first);
    let goes_on = |number: u64| match until {
        Some(until) if only == 0 => Instant::now() < until,
        _ => number < first + count,
    };
    server.must(function_pack(target));
    while goes_on(number) && found.wrong.len() < SHOWN {
        number += 1;
        found.schemas += 1;
        let mut generator = Generator::new(number, false);
        // With its own random numbers, so that a schema's other statements do not change.
        let mut values = Values::new(number);
        let mut filled = [schema(number).to_vec(), generator.rows(), values.filled()].concat();
        let pack = generator.random.chance(50);
        let options = Options { pack, session: number % 2 == 0, tagged: true, ..Options::to(target) };
        let mut kinds = Kinds::new(number);
        if pack {
            filled.extend(kinds.filled());
        }
        let what = format!("[seed {number}, pack {pack}]");
        let mut pair = Pair::new(&format!("fuzz_{number}"), &filled, options, server);
        for _ in 0..STATEMENTS_PER_SCHEMA {
            if values.random.chance(30) {
                let select = values.select();
                found.count(pair.run(&select), &what);
            }
            if pack && kinds.random.chance(30) {
                let select = kinds.select();
                found.count(pair.run(&select), &what);
            }
            if pack && kinds.random.chance(6) && found.changed(&mut pair, &kinds.change(), &what) {
                break;
            }
            if values.random.chance(10) && found.changed(&mut pair, &values.change(), &what) {
                break;
            }
            if generator.random.chance(85) {
                let select = generator.select();
                found.count(pair.run(&select), &format!("{what} {:?}", select.params));
                continue;
            }
            if found.changed(&mut pair, &generator.change(), &what) {
                break;
            }
        }
        server.must(&format!("DROP SCHEMA fuzz_{number}{}", if target == Target::Postgres { " CASCADE" } else { "" }));
    }
    found
}

#[test]
#[ignore = "minutes long: part of `make verify`, and of `make fuzz` for an hour"]
fn random_statements_give_the_same_rows() {
    let (seconds, seed) = (setting("CONTEND_FUZZ_SECONDS", 0), setting("CONTEND_FUZZ_SEED", 1));
    let (postgres, mariadb) = servers::both();
    let until = (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds));
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut engine = Postgres::connect(postgres.home(), session(Target::Postgres));
            compare_random(Target::Postgres, seed, until, &mut engine)
        });
        let mut engine = MariaDb::connect(&mariadb.socket, session(Target::MariaDb));
        let second = compare_random(Target::MariaDb, seed, until, &mut engine);
        (first.join().unwrap_or_else(|e| std::panic::resume_unwind(e)), second)
    });
    first.report("PostgreSQL");
    second.report("MariaDB");
    assert!(first.pass > 0 && second.pass > 0, "nothing was compared");
    assert!(first.wrong.is_empty() && second.wrong.is_empty(), "wrong rows, above");
}
