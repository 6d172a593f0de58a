//! SQL of SQLite's own tests and of sqllogictest, by a program of SQLite: the same rows through the shim, or an error.

use super::{Stage, fed, fixture, is_there, number, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that are compared, and statements of each.
const FILES: u64 = 80;
const STATEMENTS: u64 = 120;

/// `CONTEND_CORPUS` names directories of `*.test` files, with colons between them; `CONTEND_CORPUS_FILES` of them are taken,
/// spread over all.
#[test]
#[ignore = "long: make verify"]
fn sql_of_test_suites_gives_the_same_rows_or_an_error() {
    let corpus = std::env::var("CONTEND_CORPUS").unwrap_or_default();
    let what = "directory of SQLite's *.test files in CONTEND_CORPUS";
    if !is_there(!corpus.is_empty(), what, "SQL of SQLite's own tests and of sqllogictest") {
        return;
    }
    let mut files: Vec<PathBuf> = corpus.split(':').flat_map(|dir| tests_in(Path::new(dir))).collect();
    files.sort();
    let each = files.len().div_ceil(usize::try_from(number("CONTEND_CORPUS_FILES", FILES)).expect("a number")).max(1);
    let files: Vec<String> = files.iter().step_by(each).map(|path| path.display().to_string()).collect();
    assert!(!files.is_empty(), "no *.test files in {corpus}");
    for stage in Stage::both() {
        carried_out(&stage, &files);
    }
}

fn tests_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "test")).collect()
}

fn carried_out(stage: &Stage, files: &[String]) {
    let count = number("CONTEND_CORPUS_STATEMENTS", STATEMENTS).to_string();
    let [sqlite, shim] = ["one", "other"].map(|name| {
        let dir = stage.path(name);
        std::fs::create_dir(&dir).expect("created");
        let dir = dir.display().to_string();
        let mut words = vec!["python3".to_string(), fixture("corpus.py"), dir, count.clone()];
        words.extend_from_slice(files);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut plain = Command::new(words[0]);
        plain.args(&words[1..]);
        let output = fed(if name == "one" { plain } else { stage.shim(&[], &words) }, "");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    });
    let judged = judge(&sqlite, &shim);
    let server = if stage.is_mariadb() { "MariaDB" } else { "PostgreSQL" };
    let Judged { same, failed, refused, cut, different } = &judged;
    println!(
        "{server}, {} files: {same} statements gave the same rows, {failed} failed on both, {refused} were refused, {cut} files \
         ended with a refusal, {} differ",
        files.len(),
        different.len()
    );
    let different: Vec<String> = different
        .iter()
        .map(|(file, what)| format!("{}, {what}", file.parse::<usize>().map_or("", |at| files[at].as_str())))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(*same > 10 * (files.len() - cut), "statements are compared");
}

#[derive(Default)]
struct Judged {
    same: usize,
    /// Statements that fail with SQLite, too.
    failed: usize,
    refused: usize,
    /// Files that ended because a change was refused.
    cut: usize,
    /// The file's place, and what differs.
    different: Vec<(String, String)>,
}

/// Compares line by line. A file ends with the first change that is refused, or the first difference.
fn judge(sqlite: &str, shim: &str) -> Judged {
    let (mut judged, mut ended) = (Judged::default(), "");
    let mut others = shim.lines();
    for line in sqlite.lines() {
        let other = others.next().unwrap_or("(nothing)");
        let (one, sql) = line.split_once('\t').unwrap_or((line, ""));
        let other = other.split_once('\t').map_or(other, |(said, _)| said);
        let mut words = one.splitn(4, ' ');
        let (file, _, kind) = (words.next().unwrap_or_default(), words.next(), words.next());
        if file == ended {
            continue;
        }
        let fails = |said: &str| said.splitn(4, ' ').nth(3).is_some_and(|rest| rest.starts_with("error "));
        match (fails(one), fails(other)) {
            (true, true) => judged.failed += 1,
            (false, true) => {
                judged.refused += 1;
                if kind == Some("changes") {
                    judged.cut += 1;
                    ended = file;
                }
            }
            _ if one == other => judged.same += 1,
            _ => {
                judged.different.push((file.to_string(), format!("{sql}\n  SQLite: {one}\n  shim:   {other}")));
                ended = file;
            }
        }
    }
    judged
}
