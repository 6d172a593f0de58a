//! The table on the server that records the progress of a migration, and SQLite's statements for the way back.

use crate::look::{Kind, PRAGMAS, Schema};
use crate::plan::{Held, Makes, Plan};
use crate::server::{Server, text};
use anyhow::{Context, Result, bail, ensure};
use contend_sql::{ParamType, Target};
use contend_wire::kept::{ROWIDS, literal};
use contend_wire::literal::Value;
use sha2::{Digest, Sha256};

/// Its name.
pub const TABLE: &str = "contend_migration";
/// Version of its rows.
const VERSION: i64 = 1;

/// Kinds of entries that are not steps.
const SOURCE: &str = "source";
const PRAGMA: &str = "pragma";
const HELD: &str = "held";
const LAST_KEY: &str = "last key";

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    ToDo = 0,
    /// The table exists, and its rows are being loaded.
    Made = 1,
    /// Of the first entry: every row is proved.
    Done = 2,
    /// The step is not carried over.
    Left = 3,
}

impl State {
    const ALL: [State; 4] = [State::ToDo, State::Made, State::Done, State::Left];
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub position: i64,
    /// The word of [`Makes`] or [`Kind`], or of another kind of entry.
    pub kind: String,
    pub name: String,
    pub table: String,
    /// SQLite's statement, or a value as text.
    pub sql: String,
    /// Number of rows loaded, value of a PRAGMA, or a key.
    pub number: i64,
    pub state: State,
}

/// Entries about the source, for the way back.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Statements of the schema, tables first.
    pub objects: Vec<Entry>,
    pub pragmas: Vec<(String, i64)>,
    pub held: Vec<Held>,
    /// Tables with AUTOINCREMENT, and the largest key that SQLite gave.
    pub last_keys: Vec<(String, i64)>,
    /// Whether tables without INTEGER PRIMARY KEY have a hidden column with their rowids.
    pub rowids: bool,
}

/// Digest of what must not change before a migration is resumed: the schema and the plan.
pub fn fingerprint(schema: &Schema, plan: &Plan) -> String {
    let mut hash = Sha256::new();
    for object in &schema.objects {
        hash.update(format!("{:?}", (object.kind, &object.name, &object.sql)));
    }
    for step in &plan.steps {
        // The value of a counter changes with the rows.
        let sql = if step.makes == Makes::Counter { &[][..] } else { &step.sql };
        hash.update(format!("{:?}", (step.makes, &step.name, sql)));
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Entries of a new migration. Steps have their positions in the plan, from 1.
pub fn entries(schema: &Schema, plan: &Plan) -> Vec<Entry> {
    let mut all = vec![];
    let mut add = |kind: &str, name: &str, table: &str, sql: &str, (number, state): (i64, State)| {
        let position = all.len() as i64;
        let [kind, name, table, sql] = [kind, name, table, sql].map(str::to_string);
        all.push(Entry { position, kind, name, table, sql, number, state });
    };
    add(SOURCE, "", "", &fingerprint(schema, plan), (VERSION, State::ToDo));
    for step in &plan.steps {
        add(step.makes.word(), &step.name, &step.table, &step.original, (0, State::ToDo));
    }
    for object in plan.left.iter().filter_map(|left| left.object.as_ref()) {
        add(object.kind.word(), &object.name, &object.table, &object.sql, (0, State::Left));
    }
    for (name, value) in &schema.pragmas {
        add(PRAGMA, name, "", "", (*value, State::Done));
    }
    for held in &plan.held {
        add(HELD, &held.column, &held.table, held.holds.word(), (0, State::Done));
    }
    if plan.rowids {
        add(ROWIDS.0, "", "", ROWIDS.1, (0, State::Done));
    }
    for table in &schema.tables {
        if let Some(last) = table.last_key {
            add(LAST_KEY, "", &table.name, "", (last, State::Done));
        }
    }
    all
}

/// Statements that create and fill the ledger.
pub fn begin(target: Target, entries: &[Entry]) -> [String; 2] {
    let (text, end) = match target {
        Target::Postgres => ("text", ""),
        Target::MariaDb => ("LONGTEXT", " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"),
    };
    let create = format!(
        "CREATE TABLE {TABLE} (\"position\" bigint PRIMARY KEY, \"kind\" {text} NOT NULL, \"name\" {text} NOT NULL, \
         \"of_table\" {text} NOT NULL, \"sql\" {text} NOT NULL, \"number\" bigint NOT NULL, \"state\" bigint NOT NULL){end}"
    );
    let row = |e: &Entry| {
        let texts = [&e.kind, &e.name, &e.table, &e.sql].map(|text| literal(text)).join(", ");
        format!("({}, {texts}, {}, {})", e.position, e.number, e.state as i64)
    };
    let rows: Vec<String> = entries.iter().map(row).collect();
    [create, format!("INSERT INTO {TABLE} VALUES {}", rows.join(", "))]
}

/// The statement that records the progress of a step.
pub fn account(position: i64, number: u64, state: State) -> String {
    let state = state as i64;
    format!("UPDATE {TABLE} SET \"number\" = {number}, \"state\" = {state} WHERE \"position\" = {position}")
}

/// The statement that records that a migration is finished: every row is proved.
pub fn finished() -> String {
    account(0, VERSION.cast_unsigned(), State::Done)
}

/// All entries; empty if there is no ledger.
///
/// # Errors
/// The server cannot be queried, or the ledger has another version.
pub fn read(server: &mut Server) -> Result<Vec<Entry>> {
    if !server.product.tables()?.iter().any(|name| name == TABLE) {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT \"position\", \"number\", \"state\", \"kind\", \"name\", \"of_table\", \"sql\" FROM {TABLE} ORDER BY \"position\""
    );
    let damaged = || format!("{TABLE} on the server has a row that contend did not write");
    let read = server.rows(&sql)?.into_iter().map(|row| entry(row).with_context(damaged));
    let entries: Vec<Entry> = read.collect::<Result<_>>()?;
    ensure!(
        !entries.is_empty(),
        "{TABLE} on the server is empty: a migration was interrupted before it had written anything; DROP TABLE \
         {TABLE}, then begin \
         again without --resume"
    );
    if entries.first().is_some_and(|first| first.kind != SOURCE || first.number != VERSION) {
        bail!("{TABLE} on the server is of another version of contend; use that one");
    }
    Ok(entries)
}

fn entry(row: Vec<Value>) -> Option<Entry> {
    let mut row = row.into_iter();
    let mut numbers = [0; 3];
    for number in &mut numbers {
        *number = match row.next()? {
            Value::Integer(found) => found,
            _ => return None,
        };
    }
    let [position, number, state] = numbers;
    let state = State::ALL.into_iter().find(|known| *known as i64 == state)?;
    let [kind, name, table, sql] = [text(row.next()?)?, text(row.next()?)?, text(row.next()?)?, text(row.next()?)?];
    Some(Entry { position, kind, name, table, sql, number, state })
}

/// The entries about the source.
pub fn kept(entries: &[Entry]) -> Kept {
    let mut kept = Kept::default();
    for entry in entries {
        match entry.kind.as_str() {
            PRAGMA if PRAGMAS.contains(&entry.name.as_str()) => kept.pragmas.push((entry.name.clone(), entry.number)),
            kind if kind == ROWIDS.0 => kept.rowids = true,
            LAST_KEY => kept.last_keys.push((entry.table.clone(), entry.number)),
            HELD => {
                let holds = ParamType::of_word(&entry.sql);
                kept.held.push(Held { table: entry.table.clone(), column: entry.name.clone(), holds });
            }
            kind if Kind::ALL.iter().any(|known| known.word() == kind) => kept.objects.push(entry.clone()),
            _ => {}
        }
    }
    kept
}
