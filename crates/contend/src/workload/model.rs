//! A workload as meant: every reference resolved, every number known but those that depend on the scale.

use super::generator::Fields;
use super::invariant::Invariant;
use contend_wire::plan;
use std::collections::BTreeMap;

/// What is done: tables and their data, transactions, mixes, roles, invariants.
#[derive(Debug, Clone)]
pub struct Workload {
    pub name: String,
    pub about: String,
    /// Databases of equal content that the clients are spread over.
    pub databases: u32,
    /// Named numbers of the file, with axes applied.
    pub scale: BTreeMap<String, Named>,
    /// Tables that others refer to come before those.
    pub tables: Vec<Table>,
    /// Statements run once after loading and indexing, such as those that fill in counters.
    pub after_load: Vec<String>,
    pub transactions: Vec<TransactionSpec>,
    /// SQL texts that the steps of [`Workload::transactions`] refer to, with plain `?` placeholders.
    pub statements: Vec<String>,
    pub profiles: BTreeMap<String, Mix>,
    /// Never empty: a file without roles has one, called `client`.
    pub roles: Vec<Role>,
    pub invariants: Vec<Invariant>,
    /// Of the file's text.
    pub sha256: String,
    /// The parts of the file that say what the data is, in a form without comments and layout.
    pub(super) data_definition: String,
    pub(super) source: crate::source::Source,
}

/// Transactions by index, each with its weight.
pub type Mix = Vec<(usize, f64)>;

/// A number of `[scale]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    pub count: u64,
    /// Whether the scale leaves it alone.
    pub fixed: bool,
}

/// A number of rows: a plain one, or a multiple of a named one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    pub factor: u64,
    pub name: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    pub ddl: String,
    pub indexes: Vec<String>,
    pub rows: Count,
    pub columns: Fields,
}

/// A transaction with what is drawn for each of its operations.
#[derive(Debug, Clone)]
pub struct TransactionSpec {
    pub name: String,
    pub writes: bool,
    pub begin: Begin,
    /// The transaction's own arguments, then those of each step that has any.
    pub arguments: Vec<ArgumentGroup>,
    pub steps: Vec<plan::Step>,
    pub uniques: u16,
    pub slots: u16,
}

/// Arguments that are drawn together, as often as their step is repeated.
#[derive(Debug, Clone)]
pub struct ArgumentGroup {
    pub repeat: u32,
    pub fields: Fields,
    /// The fields a plan carries; the others only serve to build these.
    pub carried: Vec<usize>,
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// As the contender begins transactions that write.
    Contender,
    /// Not at all: every statement commits by itself.
    None,
    Deferred,
    Immediate,
    Exclusive,
}

impl Begin {
    /// The SQL that begins the transaction; none: nothing does.
    pub fn sql(self, contender: Option<&str>) -> Option<String> {
        match self {
            Begin::Contender => contender.map(str::to_string),
            Begin::None => None,
            Begin::Deferred => Some("BEGIN DEFERRED".to_string()),
            Begin::Immediate => Some("BEGIN IMMEDIATE".to_string()),
            Begin::Exclusive => Some("BEGIN EXCLUSIVE".to_string()),
        }
    }
}

/// A group of processes that do the same.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: String,
    /// None: as the study's load says, or 1.
    pub processes: Option<u32>,
    /// Clients in each process; none: as the study's load says, or 1.
    pub clients: Option<u32>,
    pub mix: RoleMix,
    /// Only these transactions of the mix.
    pub only: Option<Vec<usize>>,
    pub pause: Pause,
    /// The clients start this long after the trial.
    pub start_ns: u64,
    /// Database of its clients; none: one after the other.
    pub database: Option<u32>,
}

/// What the clients of a role do.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleMix {
    /// The profile asked for, or the only one; all transactions alike in a file without profiles.
    Asked,
    /// Always this profile.
    Profile(String),
    Own(Mix),
}

/// Time between two operations of a closed-loop client, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    Fixed(u64),
    Uniform(u64, u64),
    Exponential(u64),
}

impl Count {
    /// The number at a scale. What is not 0 stays at least 1, so that a small scale empties no table.
    pub fn at(&self, scale: &BTreeMap<String, Named>, factor: f64) -> u64 {
        let base = match &self.name {
            None => 1,
            Some(name) => scale[name].at(factor),
        };
        self.factor.saturating_mul(base)
    }
}

impl Named {
    fn at(self, factor: f64) -> u64 {
        if self.fixed || self.count == 0 { self.count } else { ((self.count as f64 * factor).round() as u64).max(1) }
    }
}

impl Workload {
    /// Rows of every table at this scale.
    pub fn rows(&self, scale: f64) -> BTreeMap<String, u64> {
        self.tables.iter().map(|table| (table.name.clone(), table.rows.at(&self.scale, scale))).collect()
    }

    /// The statements that create the tables.
    pub fn schema_sql(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.ddl.clone()).collect()
    }

    /// The statements that create the indexes, after loading.
    pub fn index_sql(&self) -> Vec<String> {
        self.tables.iter().flat_map(|table| table.indexes.iter().cloned()).collect()
    }

    /// The index of a transaction.
    pub fn transaction(&self, name: &str) -> Option<usize> {
        self.transactions.iter().position(|transaction| transaction.name == name)
    }

    /// The transactions of a plan, for a contender that begins its writes with `default_begin`.
    pub fn plan_transactions(&self, default_begin: Option<&str>) -> Vec<plan::Transaction> {
        self.transactions
            .iter()
            .map(|t| plan::Transaction {
                name: t.name.clone(),
                begin: t.begin.sql(default_begin),
                uniques: t.uniques,
                slots: t.slots,
                steps: t.steps.clone(),
            })
            .collect()
    }
}
