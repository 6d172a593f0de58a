//! Gaps of a trace, as sentences.

use crate::sql::as_written;
use crate::trace::Trace;
use contend::stats::precision::counted;
use contend_interpose::format::note;
use std::collections::BTreeMap;
use std::path::Path;

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
        _ => "functions, collations or virtual tables of the program's own",
    }
}

/// The gaps of a trace, most serious first.
pub fn gaps(trace: &Trace) -> Vec<String> {
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
        let database =
            if path.as_os_str().is_empty() { "a database in memory".into() } else { path.display().to_string() };
        let connections = if count == 1 { "a connection".into() } else { format!("each of {count} connections") };
        found.push(format!("{program}: {connections} to {database} {what}."));
    }
    found
}
