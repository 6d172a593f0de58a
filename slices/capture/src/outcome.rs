//! The result of a replay.

use crate::manifest::Manifest;
use crate::sql::Does;
use crate::trace::{Call, How};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The note for statements with random numbers or the present time.
pub const OF_THE_MOMENT: &str =
    "Statements use random numbers or the present time, which are not those of the capture.";

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    pub transactions: u64,
    pub statements: u64,
    pub captured_ns: u64,
    pub replayed_ns: u64,
    /// Statements whose result differs from the captured one.
    pub diverged: Vec<Divergence>,
    /// Statements and transactions that are left out, as sentences.
    pub left_out: BTreeSet<String>,
    /// Gaps of the capture, as sentences.
    pub missing: Vec<String>,
    /// Statements without a translation to the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// What is left on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    pub databases: Vec<Compared>,
    /// Of a server's capture: both servers. Statements are compared then, and no tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Servers>,
    /// Versions of SQLite that the program used, if they are not the replay's and a result or table differs, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_version: Option<String>,
    /// Why no table was compared, as a sentence.
    pub not_compared: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Divergence {
    pub statement: String,
    pub what: &'static str,
    pub count: u64,
    pub captured: String,
    pub replayed: String,
}

/// The captured server, and that of the replay.
#[derive(Debug, Serialize)]
pub struct Servers {
    /// Product and version, such as `PostgreSQL 15.13`.
    pub captured: String,
    pub replayed: String,
    /// The database of the replay, without the password.
    pub address: String,
}

/// The final state of a database.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// With replacement characters in JSON if it is not UTF-8.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub tables: u64,
    /// Tables that differ: rows only in the capture, and rows only in the replay.
    pub differ: Vec<(String, u64, u64)>,
    /// Of those whose rows have the same primary keys: the columns that differ, by table.
    pub columns: BTreeMap<String, Vec<String>>,
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl Replayed {
    pub fn is_same(&self) -> bool {
        let is_as_captured = self.servers.is_none() || self.diverged.is_empty();
        let has_its_tables = self.databases.iter().all(|database| database.differ.is_empty());
        self.not_compared.is_none() && is_as_captured && has_its_tables
    }
}

/// A statement without a translation.
#[derive(Debug, Clone, Serialize)]
pub struct Refused {
    pub statement: String,
    /// Place, reason and rule, as a sentence without values.
    pub why: String,
    pub calls: u64,
    pub calls_percent: f64,
    pub time_percent: f64,
}

/// What is left on a server.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// Without the password.
    pub address: String,
    /// Statements that remove it.
    pub remove: String,
}

/// A difference in the number of rows.
pub const ROWS: &str = "rows";

/// What differs in one result: its name, the captured and the replayed one.
pub type Difference = (&'static str, String, String);

/// Differences by statement and kind.
#[derive(Debug, Default)]
pub struct Divergences(BTreeMap<(usize, &'static str), Divergence>);

impl Divergences {
    /// Counts a difference of the statement with this number and text.
    pub fn add(&mut self, (number, text): (usize, &str), (what, captured, replayed): Difference) {
        let new = Divergence { statement: text.to_string(), what, count: 0, captured, replayed };
        self.0.entry((number, what)).or_insert(new).count += 1;
    }

    pub fn into_all(self) -> Vec<Divergence> {
        self.0.into_values().collect()
    }
}

/// Result of a statement in the replay; rows of a script are unknown.
#[derive(Default)]
pub struct Done {
    pub rows: Option<u64>,
    pub changes: i64,
    /// `None` if it is not known.
    pub rowid: Option<i64>,
}

/// The first difference between captured and replayed result.
pub fn differs(call: &Call, done: &Done, does: Does) -> Option<Difference> {
    if call.how != How::Statement {
        return None;
    }
    let rows = done.rows.filter(|rows| *rows != call.rows && does != Does::Pragma);
    if let Some(rows) = rows {
        return Some((ROWS, call.rows.to_string(), rows.to_string()));
    }
    if call.changes < 0 {
        return None;
    }
    if does == Does::Write && done.changes != call.changes {
        return Some(("changes", call.changes.to_string(), done.changes.to_string()));
    }
    let inserts = call.sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"));
    let rowid = done.rowid.filter(|rowid| inserts && done.changes > 0 && rowid.cast_unsigned() != call.rowid);
    rowid.map(|rowid| ("rowid", call.rowid.cast_signed().to_string(), rowid.to_string()))
}

/// Why no table was compared; `None` if some were.
pub fn not_compared(manifest: &Manifest, compared: &[Compared]) -> Option<String> {
    if compared.iter().any(|database| database.tables > 0 || !database.differ.is_empty()) {
        return None;
    }
    let why = if !compared.is_empty() {
        "the databases have no tables, neither at the end of the capture nor after the replay"
    } else if manifest.status.is_none() {
        "contend was killed during the capture, before it could copy the databases"
    } else if manifest.databases.is_empty() {
        "the program opened no database file"
    } else {
        "the capture has no copy of the final content of any database"
    };
    Some(format!("Nothing was compared: {why}."))
}
