//! The translator's cases, with about 2,000 statements, by a program of SQLite: the same rows through the shim, or an error.

use super::{Stage, fed, fixture, text};
use crate::support::root;
use std::collections::BTreeMap;
use std::process::Command;

/// Rows that differ although no row is wrong, each with the reason.
const OTHERWISE: &[(&str, &str)] =
    &[("53q", "avg() of integers beyond 2^53: SQLite 3.40 adds doubles, 3.53.2 is exact")];

/// A program's lines by case and number: what came of a statement.
fn lines(said: &str) -> BTreeMap<(String, u32), String> {
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (case, number, rest) = (words.next()?, words.next()?.parse().ok()?, words.next().unwrap_or(""));
        Some(((case.to_string(), number), rest.to_string()))
    };
    said.lines().filter_map(line).collect()
}

#[test]
fn the_translators_cases_give_the_same_rows_or_an_error() {
    carried_out(&Stage::start(), 1_500, 200);
}

#[test]
fn the_same_cases_on_mariadb() {
    carried_out(&Stage::mariadb(), 1_200, 400);
}

/// `same_min` and `refused_max`: statements that must be the same, and cases that may end with a refusal.
fn carried_out(stage: &Stage, same_min: usize, refused_max: usize) {
    let cases = root().join("crates/contend-sql/tests/cases");
    let mut files: Vec<String> = std::fs::read_dir(cases)
        .expect("the cases")
        .map(|entry| entry.expect("an entry").path().display().to_string())
        .filter(|path| path.ends_with(".sql"))
        .collect();
    files.sort();
    let [one, other] = ["one", "other"].map(|name| {
        let path = stage.path(name);
        std::fs::create_dir(&path).expect("created");
        path.display().to_string()
    });
    let words = |dir: &str| [vec!["python3".to_string(), fixture("cases.py"), dir.to_string()], files.clone()].concat();
    let sqlite = fed(
        {
            let mut command = Command::new("python3");
            command.args(&words(&one)[1..]);
            command
        },
        "",
    );
    let words = words(&other);
    let shim = fed(stage.shim(&[], &words.iter().map(String::as_str).collect::<Vec<_>>()), "");
    assert!(shim.status.success(), "{}", text(&shim.stderr));
    let (same, refused) = judge(&lines(&text(&sqlite.stdout)), &lines(&text(&shim.stdout)));
    assert!(same > same_min && refused < refused_max, "most statements are compared");
}

/// A case is compared up to the first statement that the shim refuses.
fn judge(sqlite: &BTreeMap<(String, u32), String>, shim: &BTreeMap<(String, u32), String>) -> (usize, usize) {
    let (mut same, mut refused, mut different, mut ended) = (0, 0, vec![], String::new());
    for ((case, number), one) in sqlite {
        if *case == ended {
            continue;
        }
        let other = shim.get(&(case.clone(), *number)).map_or("(nothing)", String::as_str);
        let (fails, is_refused) = (one.starts_with("error "), other.starts_with("error "));
        match (fails, is_refused) {
            (true, true) => same += 1,
            (false, true) => {
                refused += 1;
                ended.clone_from(case);
            }
            _ if one == other => same += 1,
            _ if OTHERWISE.iter().any(|(known, _)| known == case) => {}
            _ => {
                different.push(format!("case {case}, statement {number}\n  SQLite: {one}\n  shim:   {other}"));
                ended.clone_from(case);
            }
        }
    }
    println!("{same} statements did the same, {refused} cases ended with a refusal, {} differ", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
    (same, refused)
}
