//! For a kernel whose power is about to be cut: one client that commits forever and prints each acknowledgement, and
//! one that checks what is left. Neither has a plan: nothing may delay the line after an acknowledgement.

use anyhow::{Context, Result, bail};
use rusqlite::Connection;
use std::io::Write;

/// First argument of the worker for the committing client.
pub const COMMITS: &str = "commits";
/// First argument of the worker for the checking client.
pub const LOOKS: &str = "looks";

/// First word of a line about an acknowledged commit.
pub const ACKNOWLEDGED: &str = "acknowledged";
/// First word of a line about the rows that are left.
pub const FOUND: &str = "found";
/// First word of a line with the error that ended the client.
pub const FAILED: &str = "failed";

/// Letters of each row in addition to its number.
const TEXT_CHARS: usize = 300;

/// `commits DATABASE STATEMENT...`, or the same with `looks`; the statements are the session's settings.
///
/// # Errors
/// The engine's error, or the reader of the output is gone.
pub fn run(args: &[String]) -> Result<()> {
    let [verb, database, statements @ ..] = args else { bail!("`{COMMITS}` and `{LOOKS}` need a database") };
    let connection = Connection::open(database).with_context(|| format!("cannot open {database}"))?;
    for statement in statements {
        connection.execute_batch(statement).with_context(|| statement.clone())?;
    }
    match verb.as_str() {
        COMMITS => commit(&connection),
        _ => look(&connection),
    }
}

fn commit(connection: &Connection) -> Result<()> {
    connection.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")?;
    // Makes the table and the file's name durable.
    rustix::fs::sync();
    let text = "x".repeat(TEXT_CHARS);
    let mut insert = connection.prepare("INSERT INTO t VALUES (?, ?)")?;
    for n in 1i64.. {
        insert.execute((n, &text))?;
        say(&format!("{ACKNOWLEDGED} {n}"))?;
    }
    Ok(())
}

/// Prints the number of rows, the highest number, and the engine's integrity check.
fn look(connection: &Connection) -> Result<()> {
    let count = "SELECT count(*), coalesce(max(n), 0) FROM t";
    let (rows, highest): (i64, i64) = connection.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    say(&format!("{FOUND} {rows} {highest} {sound}"))
}

/// Prints a separate line, even if the kernel prints on the same console.
fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{line}\n")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_missing_or_wrong_are_told() {
        let run = |args: &[&str]| run(&args.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(run(&[LOOKS]).unwrap_err().to_string().contains("database"));
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("db").display().to_string();
        let error = format!("{:#}", run(&[LOOKS, &database, "PRAGMA nonsense = "]).unwrap_err());
        assert!(error.contains("PRAGMA nonsense"), "{error}");
        assert!(run(&[LOOKS, &database]).is_err(), "nothing was committed there");
        Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY)").unwrap();
        run(&[LOOKS, &database, "PRAGMA synchronous = full"]).unwrap();
    }
}
