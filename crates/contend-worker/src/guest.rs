//! Inside of a kernel whose power is about to be cut: one client that commits for ever and says so, and one that looks what
//! is left. Both are driven by hand, without a plan: nothing may stand between an acknowledgement and the line that tells it.

use anyhow::{Context, Result, bail};
use rusqlite::Connection;
use std::io::Write;

/// The first argument of the worker that makes it one or the other.
pub const COMMITS: &str = "commits";
/// See [`COMMITS`].
pub const LOOKS: &str = "looks";

/// What a line about an acknowledged commit, or about what is left, begins with.
pub const ACKNOWLEDGED: &str = "acknowledged";
/// See [`ACKNOWLEDGED`].
pub const FOUND: &str = "found";
/// See [`ACKNOWLEDGED`].
pub const FAILED: &str = "failed";

/// Letters of each row in addition to its number.
const TEXT_CHARS: usize = 300;

/// `commits DATABASE STATEMENT...`, or the same with `looks`; the statements are the session's settings.
///
/// # Errors
/// What the engine says, or who was to listen is gone.
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
    // The table is there whatever happens: its name in the directory, too.
    rustix::fs::sync();
    let text = "x".repeat(TEXT_CHARS);
    let mut insert = connection.prepare("INSERT INTO t VALUES (?, ?)")?;
    for n in 1i64.. {
        insert.execute((n, &text))?;
        say(&format!("{ACKNOWLEDGED} {n}"))?;
    }
    Ok(())
}

/// How many rows there are, the highest number, and what the engine says of the whole.
fn look(connection: &Connection) -> Result<()> {
    let count = "SELECT count(*), coalesce(max(n), 0) FROM t";
    let (rows, highest): (i64, i64) = connection.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    say(&format!("{FOUND} {rows} {highest} {sound}"))
}

/// A separate line, whatever the kernel says on the same console.
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
