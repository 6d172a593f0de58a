//! A sample of sqllogictest on SQLite and, translated, on private servers: `cargo run --example logictest -- DIRECTORY
//! [QUERIES]`.
//!
//! For each `*.test` file below the directory, runs its statements and at most 50 (or the given number) of its queries,
//! spread over the file. Answers are compared with SQLite's here, values with their types, not with the file's; in
//! order where the file requires it. A file ends at a statement that changes tables or rows differently.

#[path = "../tests/support/mod.rs"]
mod support;

use contend_sql::{Options, Target, function_pack, session};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, thread};
use support::caller::Caller;
use support::cases::Step;
use support::engines::Engine;
use support::judge::{Verdict, compare, run_translated};
use support::mariadb::MariaDb;
use support::postgresql::Postgres;
use support::servers;
use support::sqlite::Sqlite;

/// Most wrong rows and errors printed per server.
const SHOWN: usize = 12;

struct Record {
    sql: String,
    query: bool,
    ordered: bool,
}

/// The records of a file to run on SQLite.
fn records(text: &str) -> Vec<Record> {
    let mut found = vec![];
    for block in text.replace("\r\n", "\n").split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.starts_with('#')).peekable();
        let mut meant = true;
        while let Some(line) = lines.next_if(|line| line.starts_with("skipif ") || line.starts_with("onlyif ")) {
            let sqlite = line.split_whitespace().nth(1) == Some("sqlite");
            meant &= sqlite != line.starts_with("skipif ");
        }
        let Some(head) = lines.next() else { continue };
        let words: Vec<&str> = head.split_whitespace().collect();
        let query = words.first() == Some(&"query");
        let works = words.first() == Some(&"statement") && words.get(1) == Some(&"ok");
        if words.first() == Some(&"halt") && meant {
            break;
        }
        if meant && (query || works) {
            let sql = lines.take_while(|line| *line != "----").collect::<Vec<_>>().join("\n");
            let ordered = words.get(2) == Some(&"nosort");
            if query {
                found.push(Record { sql, query, ordered });
            } else {
                // Some texts contain several statements, without semicolons inside texts.
                let each = sql.split(';').map(str::trim).filter(|sql| !sql.is_empty());
                found.extend(each.map(|sql| Record { sql: sql.to_string(), query, ordered }));
            }
        }
    }
    found
}

/// The records to run: all statements, and this many of the queries.
fn sample(records: Vec<Record>, queries: usize) -> Vec<Record> {
    let all = records.iter().filter(|record| record.query).count();
    let each = all.div_ceil(queries.max(1)).max(1);
    let mut number = 0;
    let chosen = |record: &Record| {
        number += usize::from(record.query);
        !record.query || number % each == 0
    };
    records.into_iter().filter(chosen).collect()
}

#[derive(Default)]
struct Tally {
    files: usize,
    same: usize,
    refused: BTreeMap<String, (usize, String)>,
    /// Another order of group_concat().
    declared: usize,
    errors: Vec<String>,
    wrong: Vec<String>,
    /// Files that ended early.
    cut: usize,
}

impl Tally {
    fn file(&mut self, path: &Path, records: &[Record], options: &Options, server: &mut dyn Engine) {
        self.files += 1;
        server.fresh(&format!("file_{}", self.files));
        let (mut sqlite, mut caller) = (Sqlite::new(), Caller::default());
        for record in records {
            let wanted = sqlite.run(&record.sql, &[]);
            if wanted.as_ref().is_err_and(|_| record.query) {
                continue;
            }
            let mut fired = vec![];
            let found = run_translated((&record.sql, &[]), &mut caller, options, server, &mut fired);
            let step = Step { sql: record.sql.clone(), ordered: record.ordered, ..Step::default() };
            let verdict = found.map_or_else(|refused| refused, |found| compare(&step, &wanted, found));
            let same = verdict == Verdict::Pass;
            self.count(
                path,
                match verdict {
                    // The order of values in group_concat() is the server's, as the rule states.
                    Verdict::Wrong(text) if fired.iter().any(|rule| rule.rule == "group-concat") => {
                        Verdict::Declared(text)
                    }
                    other => other,
                },
            );
            if !same && !record.query {
                self.cut += 1;
                return;
            }
        }
    }

    fn count(&mut self, path: &Path, verdict: Verdict) {
        let file = path.display();
        match verdict {
            Verdict::Pass => self.same += 1,
            Verdict::Refused(text) => {
                let rule = text.split(" (").next().unwrap_or_default().to_string();
                self.refused.entry(rule).or_insert((0, format!("{file}: {text}"))).0 += 1;
            }
            Verdict::Error(text) => self.errors.push(format!("{file}: {text}")),
            Verdict::Declared(_) => self.declared += 1,
            Verdict::Wrong(text) => self.wrong.push(format!("{file}: {text}")),
        }
    }

    fn show(&self, name: &str) {
        let refused: usize = self.refused.values().map(|(count, _)| count).sum();
        let all = self.same + refused + self.declared + self.errors.len() + self.wrong.len();
        println!(
            "{name}: {} files, {all} statements: {} the same ({:.2} %), {refused} refused, {} in another \
             order of group_concat(), {} errors, {} wrong; {} files ended early",
            self.files,
            self.same,
            100.0 * self.same as f64 / all.max(1) as f64,
            self.declared,
            self.errors.len(),
            self.wrong.len(),
            self.cut
        );
        for (rule, (count, example)) in &self.refused {
            println!("  refused {count} x {rule}: {}", example.replace('\n', " "));
        }
        for (word, texts) in [("ERROR", &self.errors), ("WRONG", &self.wrong)] {
            texts.iter().take(SHOWN).for_each(|text| println!("  {word} {}", text.replace('\n', " ")));
        }
    }
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "test") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("name the directory of sqllogictest's *.test files")?;
    let queries = env::args().nth(2).map_or(Ok(50), |text| text.parse())?;
    let mut found = vec![];
    files(Path::new(&directory), &mut found)?;
    let read = |path: &PathBuf| fs::read_to_string(path).map(|text| (path.clone(), sample(records(&text), queries)));
    let corpus = found.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let (postgres, mariadb) = servers::both();
    let run = |target: Target, server: &mut dyn Engine| {
        server.must(function_pack(target));
        let options = Options { pack: true, ..Options::to(target) };
        let mut tally = Tally::default();
        corpus.iter().for_each(|(path, records)| tally.file(path, records, &options, server));
        tally
    };
    let (first, second) = thread::scope(|scope| {
        let first =
            scope.spawn(|| run(Target::Postgres, &mut Postgres::connect(postgres.home(), session(Target::Postgres))));
        let second = run(Target::MariaDb, &mut MariaDb::connect(&mariadb.socket, session(Target::MariaDb)));
        (first.join(), second)
    });
    println!("at most {queries} queries of a file; SQLite {}", rusqlite::version());
    first.map_err(|_| "the thread of PostgreSQL")?.show("PostgreSQL, pack");
    second.show("MariaDB, pack");
    Ok(())
}
