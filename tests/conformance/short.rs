//! Plans and scripts as cases have them are short: the tool's part of a line (a statement's effect and placeholders, a
//! database's fields, the digest at the end) is filled in here as the tool would.

use contend::workload::sql::{Brackets, load, statement};
use contend_wire::database::Database;
use contend_wire::digest::sealed;
use contend_wire::literal::unescape;
use contend_wire::script::{ScriptWriter, Target};

/// What quotes names in the dialect of an engine.
pub fn brackets(engine: &str) -> Brackets {
    if engine == "sqlite" { Brackets::Quote } else { Brackets::Plain }
}

/// A database as a case names it: the path of a file, or the fields of a line.
pub fn database(text: &str) -> Database {
    match text.contains('\t') {
        true => Database::decode(text.split('\t')).expect("the fields of a database"),
        false => Database::File(text.to_string()),
    }
}

/// A plan or script as the tool would send it. A line that has its fields already stays as it is, and so does a last line that
/// is not a bare `end`.
pub fn complete(text: &str, brackets: Brackets) -> String {
    let lines: String = text.lines().map(|line| completed(line, brackets) + "\n").collect();
    if lines.ends_with("\nend\n") { sealed(&lines) } else { lines }
}

fn completed(line: &str, brackets: Brackets) -> String {
    let fields: Vec<&str> = line.split('\t').collect();
    let sql = |text: &str| unescape(text).unwrap_or_else(|_| text.to_string());
    match fields[..] {
        ["database", path] => format!("database\t{}", database(path).fields()),
        ["statement", number, text] => format!("statement\t{number}\t{}", statement(&sql(text), brackets).fields()),
        ["session" | "sql", text] => {
            format!("{}\t{}", fields[0], statement(&sql(text), brackets).command_fields())
        }
        ["load", text] => format!("load\t{}", load(&sql(text), brackets).fields()),
        _ => line.to_string(),
    }
}

/// A script that asks a database one thing.
pub fn question(driver: &str, on: &str, sql: &str) -> String {
    let target = Target { driver: driver.into(), database: database(on), options: vec![], session: vec![] };
    let mut script = ScriptWriter::new(&target);
    script.sql(&statement(sql, Brackets::Quote));
    script.finish()
}
