//! A workload file as written. Keys and plain types are checked here; values with several forms (`5` or `"4*posts"`, a
//! bare value or a generator) stay TOML for `resolve`.

use super::random::Hot;
use super::words::Style;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    pub about: String,
    pub databases: Option<Value>,
    /// Texts for `${name}`, filled in before the file is parsed.
    #[serde(default)]
    #[allow(dead_code, reason = "filled in by `scenario` before; here only a key that is known")]
    pub variable: BTreeMap<String, String>,
    /// Values that are kept out of records, by name; an empty one must be given by the user.
    #[serde(default)]
    pub secret: BTreeMap<String, String>,
    /// The profile that `contend http` carries out.
    pub mode: Option<String>,
    /// Operations that `contend http` measures without an explicit number or time, and those before that.
    pub operations: Option<u32>,
    pub warm: Option<u32>,
    /// The transaction every client carries out once before it begins.
    pub login: Option<String>,
    /// Requests before the run that fill `list`.
    #[serde(default)]
    pub setup: BTreeMap<String, SetupFile>,
    /// Values from the service's answers.
    #[serde(default)]
    pub list: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    pub scale: BTreeMap<String, Value>,
    /// Numbers of `scale` that are set together, by axis and value.
    #[serde(default)]
    pub preset: BTreeMap<String, BTreeMap<String, BTreeMap<String, u64>>>,
    #[serde(default)]
    pub table: BTreeMap<String, TableFile>,
    #[serde(default)]
    pub after_load: Vec<AfterLoadFile>,
    pub transaction: BTreeMap<String, TransactionFile>,
    #[serde(default)]
    pub profile: BTreeMap<String, ProfileFile>,
    #[serde(default)]
    pub role: BTreeMap<String, RoleFile>,
    #[serde(default)]
    pub invariant: Vec<InvariantFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    pub ddl: String,
    #[serde(default)]
    pub indexes: Vec<String>,
    pub rows: Option<Value>,
    #[serde(default)]
    pub columns: BTreeMap<String, Value>,
    pub content: Option<ContentFile>,
}

/// A file with the rows of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentFile {
    pub file: String,
    pub rows: u64,
    pub sha256: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionFile {
    pub kind: KindFile,
    pub begin: Option<BeginFile>,
    #[serde(default)]
    pub args: BTreeMap<String, Value>,
    pub step: Vec<StepFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindFile {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeginFile {
    None,
    Deferred,
    Immediate,
    Exclusive,
}

/// A statement run once after loading: by itself, or with other SQL for servers.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a statement, or { sql = ..., on.SERVER = ... }")]
pub enum AfterLoadFile {
    Sql(String),
    Own(AfterLoadOwn),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterLoadOwn {
    pub sql: String,
    /// By the server's name; an empty text: nothing.
    pub on: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    pub sql: Option<String>,
    /// SQL for a server in place of a translation of `sql`, by the server's name.
    #[serde(default)]
    pub on: BTreeMap<String, String>,
    /// `METHOD TARGET`, with `{name}` for values.
    pub request: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    pub status: Option<Value>,
    /// Answers that mean that nothing was done.
    pub refused: Option<Value>,
    /// JSON pointer to the value that counts as rows.
    pub count: Option<String>,
    pub rows: Option<Value>,
    #[serde(default)]
    pub keep: BTreeMap<String, Value>,
    pub repeat: Option<Value>,
    pub every: Option<String>,
    #[serde(default)]
    pub args: BTreeMap<String, Value>,
    pub hold: Option<String>,
    pub pause: Option<String>,
    pub connect: Option<bool>,
}

/// The long form of an entry of `keep`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepFile {
    pub column: u16,
    pub max: Option<u16>,
}

/// The long form of an entry of `keep` in an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepAtFile {
    pub at: String,
    pub max: Option<u16>,
}

/// A list that a service returns.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetupFile {
    pub request: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON pointer to the values, with `*` for each element.
    pub at: String,
    pub max: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileFile {
    pub mix: BTreeMap<String, f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleFile {
    #[serde(rename = "in")]
    pub home: Option<String>,
    pub processes: Option<Value>,
    pub clients: Option<Value>,
    pub per_database: Option<Value>,
    pub profile: Option<String>,
    pub mix: Option<BTreeMap<String, f64>>,
    pub transactions: Option<Vec<String>>,
    pub pause: Option<Value>,
    pub share: Option<f64>,
    pub start: Option<String>,
    pub database: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InvariantFile {
    pub name: String,
    pub sql: String,
    pub equals: Option<Value>,
    pub at_least: Option<Value>,
    pub at_most: Option<Value>,
    pub last: Option<LastFile>,
}

/// An invariant about last writes: a row must hold what the last operation of this transaction on it wrote. `key` and
/// `values` name arguments of the transaction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastFile {
    pub transaction: String,
    pub key: String,
    pub values: Vec<String>,
}

/// A generator: one of its kinds, and options of that kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorFile {
    pub serial: Option<i64>,
    pub step: Option<i64>,
    pub range: Option<[Value; 2]>,
    pub zipf: Option<f64>,
    pub hot: Option<Hot>,
    pub value: Option<Value>,
    pub choice: Option<Vec<Value>>,
    pub list: Option<String>,
    pub weights: Option<Vec<f64>>,
    pub words: Option<Value>,
    pub time: Option<[Value; 2]>,
    #[serde(rename = "as")]
    pub form: Option<TimeForm>,
    pub ordered: Option<bool>,
    pub format: Option<String>,
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    pub each: Option<u64>,
    pub part: Option<[f64; 2]>,
    pub blob: Option<u32>,
    pub fill: Option<u8>,
    pub cycle: Option<Vec<Value>>,
    pub blocks: Option<Vec<Value>>,
    pub shares: Option<Vec<f64>>,
    pub null: Option<f64>,
    pub pool: Option<u32>,
}

/// How a point in time is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeForm {
    /// `YYYY-MM-DD HH:MM:SS`, UTC.
    #[default]
    Text,
    /// Seconds since 1970.
    Unix,
}

/// The long form of `words`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordsFile {
    pub median: f64,
    pub spread: Option<f64>,
    pub min: Option<u64>,
    pub max: Option<u64>,
    #[serde(default)]
    pub style: Style,
}

/// The kinds of generator with their options, in addition to `null`.
pub const GENERATOR_KINDS: &[(&str, &[&str])] = &[
    ("serial", &["step"]),
    ("range", &["zipf", "hot"]),
    ("value", &[]),
    ("choice", &["weights"]),
    ("list", &[]),
    ("words", &["pool"]),
    ("time", &["as", "ordered"]),
    ("format", &["pool"]),
    ("ref", &["zipf", "hot", "each", "part"]),
    ("blob", &["fill"]),
    ("cycle", &[]),
    ("blocks", &["shares"]),
];
