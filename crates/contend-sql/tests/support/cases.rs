//! Reads the case files. A case begins with a line
//!
//! ```text
//! --! case 35b adversarial: title
//! ```
//!
//! and goes on to the next one. Between the number (line of the checklist and a letter) and the colon may stand
//! `adversarial` (a sloppy translation gives other rows without an error), `savepoints` (translated with implicit
//! savepoints), `rowids` (tables without a key keep their rowid in a hidden column, as `contend shim` and `contend migrate`
//! have them), `unmatched` (no server has a counterpart: refusing is the right answer; `unmatched=PostgreSQL` for one of
//! them), `fails` (that SQLite fails is the point) and `breaks=RULE` (it leaves what the rule states as its condition, so
//! that a difference is no surprise). A statement ends with a `;` at the end of a line; in front of it may stand lines of their own:
//! `--! params 1, 'x', NULL` (literals of SQLite), `--! ordered` (the order is total), `--! names` (the names of the
//! columns count) and `--! reference SQL` (what SQLite runs in its place, where the bundled one lacks the syntax).

use std::fs;
use std::path::Path;

#[derive(Debug, Clone, Default)]
pub struct Step {
    pub sql: String,
    pub params: String,
    pub ordered: bool,
    pub names: bool,
    pub reference: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub id: String,
    /// Line of the checklist.
    pub line: u32,
    pub title: String,
    pub adversarial: bool,
    pub savepoints: bool,
    pub rowids: bool,
    /// SQLite fails for another reason than a constraint, and a server must too.
    pub fails: bool,
    /// Servers without a counterpart.
    pub unmatched: Vec<String>,
    /// The rule whose stated condition does not hold here.
    pub breaks: Option<String>,
    pub steps: Vec<Step>,
}

fn header(text: &str, place: &str) -> Case {
    let (head, title) = text.split_once(':').unwrap_or_else(|| panic!("{place}: a case needs `: title`"));
    let mut words = head.split_whitespace();
    let id = words.next().unwrap_or_else(|| panic!("{place}: a case needs a number")).to_string();
    let digits: String = id.chars().take_while(char::is_ascii_digit).collect();
    let line = digits.parse().unwrap_or_else(|_| panic!("{place}: `{id}` does not begin with a line of the checklist"));
    let mut case = Case {
        id,
        line,
        title: title.trim().to_string(),
        adversarial: false,
        savepoints: false,
        rowids: false,
        fails: false,
        unmatched: vec![],
        breaks: None,
        steps: vec![],
    };
    for word in words {
        match word {
            "adversarial" => case.adversarial = true,
            "savepoints" => case.savepoints = true,
            "rowids" => case.rowids = true,
            "fails" => case.fails = true,
            "unmatched" => case.unmatched = ["PostgreSQL", "MariaDB"].map(str::to_string).to_vec(),
            other if other.starts_with("unmatched=") => case.unmatched.push(other["unmatched=".len()..].to_string()),
            other if other.starts_with("breaks=") => case.breaks = Some(other["breaks=".len()..].to_string()),
            other => panic!("{place}: `{other}` says nothing about a case"),
        }
    }
    case
}

fn parse(text: &str, file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = vec![];
    let mut step = Step::default();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", number + 1);
        match line.strip_prefix("--! ").map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
            Some(("case", rest)) => {
                assert!(step.sql.trim().is_empty(), "{place}: the statement before this case does not end");
                cases.push(header(rest, &place));
            }
            Some(("params", rest)) => step.params = rest.to_string(),
            Some(("ordered", "")) => step.ordered = true,
            Some(("names", "")) => step.names = true,
            Some(("reference", rest)) => step.reference = Some(rest.to_string()),
            Some((other, _)) => panic!("{place}: `--! {other}` is not understood"),
            None => {
                if step.sql.is_empty() && line.trim().is_empty() {
                    continue;
                }
                step.sql.push_str(line);
                if line.trim_end().ends_with(';') {
                    let case = cases.last_mut().unwrap_or_else(|| panic!("{place}: a statement before any case"));
                    case.steps.push(std::mem::take(&mut step));
                } else {
                    step.sql.push('\n');
                }
            }
        }
    }
    assert!(step.sql.trim().is_empty(), "{file}: the last statement does not end");
    cases
}

/// All cases, in the order of the checklist.
pub fn all() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = vec![];
    for entry in fs::read_dir(&directory).expect("the cases' directory").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "sql") {
            cases.extend(parse(&fs::read_to_string(&path).expect("readable"), &path.to_string_lossy()));
        }
    }
    cases.sort_by(|a, b| (a.line, &a.id).cmp(&(b.line, &b.id)));
    if let Some(twice) = cases.windows(2).find(|pair| pair[0].id == pair[1].id) {
        panic!("two cases are called {}", twice[0].id);
    }
    cases
}
