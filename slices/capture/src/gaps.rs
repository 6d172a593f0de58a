//! Gaps of a trace, as sentences.

use crate::made_again;
use crate::manifest::Database;
use crate::sql::{Token, as_written, tokens, without_quotes};
use crate::stand_ins;
use crate::statement::pragma;
use crate::trace::{Connection, Trace};
use contend::stats::precision::counted;
use contend_interpose::format::note;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Most names in a sentence.
const NAMED: usize = 8;

/// The gap that a connection's note stands for; `None` if nothing is missing.
fn gap(code: u16) -> Option<&'static str> {
    Some(match code {
        note::BLOB => "used blobs through sqlite3_blob_open; what it read and wrote there is not captured",
        note::BACKUP => "was the target of a backup; the content that it received is not captured",
        note::DESERIALIZE => "received a database through sqlite3_deserialize; the content is not captured",
        note::EXTENSION => "loaded an extension; calls that the extension itself makes are not captured",
        note::COPY => "used COPY or LOAD DATA LOCAL; the rows are not captured",
        note::CALL => "called functions by number; their values are not captured",
        note::REPLICATION => "used replication, which is not captured",
        note::LOST => "sent a message that contend does not understand; nothing after it is captured",
        note::SURROGATE => {
            "bound texts in UTF-16 with half of a surrogate pair; no text in UTF-8 is equal to them, so a replay can store other bytes"
        }
        note::ROWID => {
            "called sqlite3_set_last_insert_rowid; a replay does not, so last_insert_rowid() returns other values there"
        }
        note::CONFIG => "called sqlite3_db_config with an option that contend does not carry out in a replay",
        note::ENCODING => "sent texts in an encoding other than UTF-8 and Latin; they are not captured",
        _ => return None,
    })
}

/// The meaning of a note.
pub fn note_text(code: u16) -> &'static str {
    match code {
        note::BUSY_HANDLER => "a busy handler of the program's own",
        note::BLOB => "incremental access to blobs (not captured)",
        note::BACKUP => "written by a backup (not captured)",
        note::DESERIALIZE => "filled by sqlite3_deserialize (not captured)",
        note::EXTENSION => "an extension was loaded (calls that it makes itself are not captured)",
        note::COPY => "COPY or LOAD DATA LOCAL (the rows are not captured)",
        note::CALL => "functions called by number (their values are not captured)",
        note::REPLICATION => "replication (not captured)",
        note::LOST => "a message that contend does not understand (nothing after it is captured)",
        note::CONFIG => "an option of sqlite3_db_config (not captured)",
        note::ENCODING => "texts in an encoding other than UTF-8 and Latin (not captured)",
        note::SURROGATE => "texts in UTF-16 with half of a surrogate pair (not captured exactly)",
        note::AUTHORIZER => "an authorizer of the program's own (a replay has none)",
        note::ROWID => "sqlite3_set_last_insert_rowid (not captured)",
        note::LIMIT => "limits of the program's own (a replay has SQLite's)",
        _ => "functions, collations or virtual tables of the program's own",
    }
}

/// The gaps of a trace, most serious first.
pub fn gaps(trace: &Trace, databases: &[Database]) -> Vec<String> {
    let mut found = vec![];
    if trace.lost.records > 0 {
        found.push(format!(
            "At least {} records could not be written: the disk is full (use --out on another disk), a process has \
             no file descriptors left (`ulimit -n`) or its files a limit (`ulimit -f`), or it called chroot.",
            trace.lost.records
        ));
    }
    if trace.lost.untracked > 0 {
        found.push(format!(
            "At least {} calls of SQLite's functions are not captured: a process had more statements or connections open than contend can keep apart \
             (about 60,000 and 4,000). Does the program finalize its statements?",
            trace.lost.untracked
        ));
    }
    if let Some(first) = trace.not_utf8.first() {
        let (texts, first) = (counted(trace.not_utf8.len(), "text"), as_written(first));
        found.push(format!(
            "{texts} of statements not in UTF-8: each other byte is U+FFFD in the capture, so a replay and a study execute a changed text. \
             Bind such values to parameters, where every byte is kept, or write them in UTF-8. The first one: {first}"
        ));
    }
    let mut counts: BTreeMap<(&str, &Path, u16), u64> = BTreeMap::new();
    for connection in trace.connections.values() {
        for &code in &connection.notes {
            let place = (trace.process(connection.process), connection.path.as_path(), code);
            *counts.entry(place).or_default() += 1;
        }
    }
    for ((program, path, code), count) in counts {
        let Some(what) = gap(code) else { continue };
        let database = shown_path(path);
        let connections = if count == 1 { "a connection".into() } else { format!("each of {count} connections") };
        found.push(format!("{program}: {connections} to {database} {what}."));
    }
    found.extend(stand_ins::missing(trace));
    found.extend(own_functions(trace, databases));
    found.extend(uncommitted(trace));
    found.extend(made_again::missing(trace));
    found.extend(only_of_the_program(trace, true));
    found
}

/// Functions, collations and modules of the program's own that a statement or the schema names. Libraries define many that no
/// statement uses.
fn own_functions(trace: &Trace, databases: &[Database]) -> Vec<String> {
    let of_program = |connection: &Connection| (trace.process(connection.process).to_string(), connection.path.clone());
    let mut defined: BTreeMap<(String, PathBuf), BTreeSet<&str>> = BTreeMap::new();
    for connection in trace.connections.values().filter(|connection| !connection.functions.is_empty()) {
        let names = connection.functions.iter().map(String::as_str);
        defined.entry(of_program(connection)).or_default().extend(names);
    }
    if defined.is_empty() {
        return vec![];
    }
    let texts: HashMap<*const u8, &str> = trace.calls.iter().map(|call| (call.sql.as_ptr(), &*call.sql)).collect();
    let contents = databases.iter().flat_map(|database| database.content.iter().chain(&database.end));
    let schema = contents.flat_map(|content| content.tables.iter().map(|table| &table.ddl).chain(&content.others));
    let mut words: BTreeSet<String> = BTreeSet::new();
    for text in texts.into_values().chain(schema.map(String::as_str)) {
        words.extend(tokens(text).iter().filter_map(|token| match token {
            Token::Word(word) => Some(without_quotes(word).to_lowercase()),
            _ => None,
        }));
    }
    let sentence = |((program, path), names): ((String, PathBuf), BTreeSet<&str>)| {
        let used: Vec<&str> = names.into_iter().filter(|name| name.is_empty() || words.contains(*name)).collect();
        let shown: Vec<&str> =
            used.iter().map(|name| if name.is_empty() { "a name in UTF-16" } else { name }).take(NAMED).collect();
        let more =
            if used.len() > shown.len() { format!(" and {} more", used.len() - shown.len()) } else { String::new() };
        (!used.is_empty()).then(|| {
            format!(
                "{program}: statements on {} use functions, collations or virtual tables of the program's own ({}{more}). A replay does \
                 not have them: such statements fail there, or have other results.",
                shown_path(&path),
                shown.join(", ")
            )
        })
    };
    defined.into_iter().filter_map(sentence).collect()
}

/// Settings with which statements see rows that are not committed yet, in a shared cache.
fn uncommitted(trace: &Trace) -> Option<String> {
    let is_on = |text: &String| {
        let set = pragma(&tokens(text)).filter(|(name, _)| name == "read_uncommitted");
        set.is_some_and(|(_, value)| !["", "0", "off", "no", "false"].contains(&value.as_str()))
    };
    let connection = trace.connections.values().find(|connection| connection.pragmas.iter().any(is_on))?;
    Some(format!(
        "{}: {} was used with PRAGMA read_uncommitted. With a shared cache (`cache=shared`) statements see rows there that are not \
         committed; a replay executes transactions one after the other, so they find other rows.",
        trace.process(connection.process),
        shown_path(&connection.path)
    ))
}

/// What a replay does not have, as sentences. Many drivers set these for all connections: `has_refused` is for those that have
/// refused a statement.
pub fn only_of_the_program(trace: &Trace, has_refused: bool) -> Vec<String> {
    let has = |code: u16| trace.connections.values().any(|connection| connection.notes.contains(&code));
    let refused =
        |error: i32| !has_refused || trace.calls.iter().any(|call| call.has_failed() && call.rc & 0xff == error);
    let all = [
        (
            note::AUTHORIZER,
            23,
            "an authorizer, which can refuse statements and replace values by NULL; a replay has none",
        ),
        (note::LIMIT, 18, "limits with sqlite3_limit; a replay has SQLite's own"),
    ];
    let seen = all.into_iter().filter(|(code, error, _)| has(*code) && refused(*error));
    seen.map(|(.., what)| format!("The program set {what}.")).collect()
}

fn shown_path(path: &Path) -> String {
    if path.as_os_str().is_empty() { "a database in memory".into() } else { path.display().to_string() }
}
