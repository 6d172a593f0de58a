//! A resolved workload: all references are checked, and all numbers are known except those that depend on the scale.

use super::generator::Fields;
use super::invariant::Invariant;
use super::rows::RowsFile;
use super::sql::{Brackets, quoted, statement};
use crate::growing::LastWrite;
use contend_sql::Target;
use contend_wire::literal::Value;
use contend_wire::plan;
use contend_wire::statement::Statement;
use std::collections::BTreeMap;

/// Tables and their data, transactions, mixes, roles, invariants.
#[derive(Debug, Clone)]
pub struct Workload {
    pub name: String,
    pub about: String,
    /// Databases of equal content that the clients are spread over.
    pub databases: u32,
    /// Named numbers of the file, with axes applied.
    pub scale: BTreeMap<String, Named>,
    /// Axes that each set several numbers of [`Workload::scale`] together.
    pub presets: Vec<String>,
    /// Tables that others refer to come before those.
    pub tables: Vec<Table>,
    /// Statements run once after loading and indexing, such as those that fill in counters.
    pub after_load: Vec<AfterLoad>,
    pub transactions: Vec<TransactionSpec>,
    /// SQL texts that the steps of [`Workload::transactions`] refer to, with plain `?` placeholders.
    pub statements: Vec<String>,
    /// Requests that steps refer to; a workload has these or statements.
    pub requests: Vec<plan::http::Request>,
    /// Values for requests that are kept out of records.
    pub secrets: super::secret::Secrets,
    /// The transaction that every client carries out once before it begins.
    pub login: Option<u16>,
    /// Requests before the run that fill lists.
    pub asks: Vec<super::scenario::Ask>,
    /// The profile that `contend http` carries out; `None` for the only one.
    pub mode: Option<String>,
    /// Operations that it measures without an explicit number or time, and those before that.
    pub operations: Option<u32>,
    pub warm: Option<u32>,
    pub profiles: BTreeMap<String, Mix>,
    /// Never empty: a file without roles has one, called `client`.
    pub roles: Vec<Role>,
    pub invariants: Vec<Invariant>,
    /// Invariants with `last`.
    pub last_writes: Vec<LastWrite>,
    /// Statements for which the file has SQL of its own for a server.
    pub own_sql: Vec<OwnSql>,
    /// The SQL for a server; `None` for the workload as written, for SQLite.
    pub translated: Option<Translated>,
    /// SHA-256 of the file's text.
    pub sha256: String,
    /// The parts of the file that define the data, without comments and layout.
    pub(super) data_definition: String,
    pub(super) source: crate::source::Source,
}

/// The SQL of a workload for a server.
#[derive(Debug, Clone)]
pub struct Translated {
    pub target: Target,
    pub schema: Vec<String>,
    pub indexes: Vec<String>,
    /// Per table, in the workload's order.
    pub tables: Vec<TranslatedTable>,
    /// Rules that changed what a statement says, each with its condition or what is lost.
    pub conditions: Vec<String>,
    /// Statements after loading that make the tables a SQLite database; empty where clients send the server's SQL.
    pub adoption: Vec<String>,
}

/// The file's own SQL for a server, in place of a translation of one of the workload's statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSql {
    pub target: Target,
    /// Index among the workload's statements.
    pub statement: u32,
    pub sql: String,
    /// For each placeholder, in order, the number (from 1) of the statement's own.
    pub params: Vec<u16>,
}

/// A table of the server.
#[derive(Debug, Clone)]
pub struct TranslatedTable {
    /// Its name, quoted.
    pub name: String,
    /// Loads rows; empty for a table that is created empty.
    pub load: String,
    /// Statements after its rows, such as one that moves a sequence behind them.
    pub after: Vec<String>,
}

/// A statement run once after loading.
#[derive(Debug, Clone)]
pub struct AfterLoad {
    pub sql: String,
    /// SQL for servers in place of a translation; an empty text: no statement.
    pub on: Vec<(Target, String)>,
}

/// Transactions by index, each with its weight.
pub type Mix = Vec<(usize, f64)>;

/// A number of `[scale]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    pub count: u64,
    /// Whether the scale does not change it.
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
    /// The rows that are loaded in place of generated ones, if there are as many.
    pub content: Option<RowsFile>,
}

/// A transaction with the arguments of its operations.
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

impl TransactionSpec {
    /// Index of a drawn argument among those of an operation; `None` if a step draws it several times.
    pub fn argument(&self, name: &str) -> Option<u16> {
        let mut before = 0;
        for group in &self.arguments {
            let is_it = |field: &usize| group.fields.0[*field].name == name;
            if let Some(at) = group.carried.iter().position(is_it).filter(|_| group.repeat == 1) {
                return u16::try_from(before + at).ok();
            }
            before += group.repeat as usize * group.carried.len();
        }
        None
    }
}

/// Arguments that are drawn together, as often as their step is repeated.
#[derive(Debug, Clone)]
pub struct ArgumentGroup {
    pub repeat: u32,
    pub fields: Fields,
    /// The fields a plan carries; the others only serve to build these.
    pub carried: Vec<usize>,
}

impl ArgumentGroup {
    /// Bytes of its arguments in an operation, about.
    pub fn bytes(&self) -> f64 {
        let of_field = |field: &usize| {
            let field = &self.fields.0[*field];
            let text = if field.pool > 0 { 0.0 } else { field.generator.bytes(&self.fields) };
            size_of::<Value>() as f64 + text
        };
        f64::from(self.repeat) * self.carried.iter().map(of_field).sum::<f64>()
    }
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// As the contender begins transactions that write.
    Contender,
    /// It does not begin: every statement commits by itself.
    None,
    Deferred,
    Immediate,
    Exclusive,
}

impl Begin {
    /// The SQL that begins the transaction; `None` if nothing does.
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

/// A group of clients that do the same, in their own processes or in those of another role.
#[derive(Debug, Clone)]
pub struct Role {
    pub name: String,
    /// Index of the role in whose processes its clients run; `None` for their own processes.
    pub home: Option<usize>,
    /// `None` for the number in the study's load, or 1.
    pub processes: Option<u32>,
    pub clients: ClientCount,
    pub mix: RoleMix,
    /// Only these transactions of the mix.
    pub only: Option<Vec<usize>>,
    pub pause: Pause,
    /// Its part of the rate of an open loop, compared with those of the other roles; `None` if clients have equal parts.
    pub share: Option<f64>,
    /// The clients start this long after the trial.
    pub start_ns: u64,
    /// Database of its clients; `None` to spread them in turn.
    pub database: Option<u32>,
}

/// How many clients a role has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCount {
    /// Number in each process from the study's load, or 1.
    Asked,
    /// Number in each process.
    PerProcess(u32),
    /// Number for each database, and bound to it. The databases are spread over the processes.
    PerDatabase(u32),
}

/// What the clients of a role do.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleMix {
    /// The study's profile, or the only one; in a file without profiles all transactions, equally often.
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
    /// The number at a scale; at least 1 unless it is 0, so that a small scale empties no table.
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

impl Table {
    /// The names of its columns, in their order.
    pub fn column_names(&self) -> Vec<String> {
        const NOT_COLUMNS: [&str; 5] = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"];
        let name = |piece: &String| {
            piece.split_whitespace().next().map(|word| word.trim_matches(['"', '`', '[', ']']).to_string())
        };
        let names = self.definitions().iter().filter_map(name).collect::<Vec<_>>();
        names.into_iter().filter(|name| !NOT_COLUMNS.contains(&name.to_ascii_uppercase().as_str())).collect()
    }

    /// The definitions of its columns, then its constraints, without parentheses.
    pub fn definitions(&self) -> Vec<String> {
        let body = self.ddl.split_once('(').map_or("", |(_, body)| body);
        let (mut depth, mut pieces) = (0, vec![String::new()]);
        for c in body.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => pieces.push(String::new()),
                _ if depth < 0 => break,
                c => pieces.last_mut().expect("never empty").push(c),
            }
        }
        pieces
    }
}

impl Workload {
    /// The workload for a single client. If roles have their own transactions, the client does all of them equally
    /// often.
    pub fn for_one_client(mut self) -> Self {
        if self.roles.iter().any(|role| role.mix != RoleMix::Asked || role.only.is_some()) {
            let alike = (0..self.transactions.len()).map(|transaction| (transaction, 1.0)).collect();
            self.roles = vec![Role {
                name: "client".to_string(),
                home: None,
                processes: None,
                clients: ClientCount::Asked,
                mix: RoleMix::Own(alike),
                only: None,
                pause: Pause::Fixed(0),
                share: None,
                start_ns: 0,
                database: None,
            }];
        }
        self
    }

    /// Numbers of `[scale]` at this scale, and `databases`.
    pub fn numbers(&self, scale: f64) -> BTreeMap<String, u64> {
        let mut numbers = BTreeMap::from([("databases".to_string(), u64::from(self.databases))]);
        numbers.extend(self.scale.iter().map(|(name, named)| (name.clone(), named.at(scale))));
        numbers
    }

    /// Rows of every table at this scale.
    pub fn rows(&self, scale: f64) -> BTreeMap<String, u64> {
        self.tables.iter().map(|table| (table.name.clone(), table.rows.at(&self.scale, scale))).collect()
    }

    /// The statements that create the tables.
    pub fn schema_sql(&self) -> Vec<String> {
        if let Some(translated) = &self.translated {
            return translated.schema.clone();
        }
        self.tables.iter().map(|table| table.ddl.clone()).collect()
    }

    /// The statements that create the indexes, after loading.
    pub fn index_sql(&self) -> Vec<String> {
        if let Some(translated) = &self.translated {
            return translated.indexes.clone();
        }
        self.tables.iter().flat_map(|table| table.indexes.iter().cloned()).collect()
    }

    /// The names of the tables, quoted where they must be.
    pub fn table_names(&self) -> Vec<String> {
        match &self.translated {
            Some(translated) => translated.tables.iter().map(|table| table.name.clone()).collect(),
            None => self.tables.iter().map(|table| quoted(&table.name)).collect(),
        }
    }

    /// The index of a transaction.
    pub fn transaction(&self, name: &str) -> Option<usize> {
        self.transactions.iter().position(|transaction| transaction.name == name)
    }

    /// What brackets are in the statements. A translated one uses a server's syntax, even if it is carried out on SQLite.
    pub fn brackets(&self) -> Brackets {
        let is_servers = self.translated.as_ref().is_some_and(|translated| translated.adoption.is_empty());
        if is_servers { Brackets::Plain } else { Brackets::Quote }
    }

    /// The statements of a plan, with everything that workers need to know about them.
    pub fn plan_statements(&self) -> Vec<Statement> {
        let brackets = self.brackets();
        self.statements.iter().map(|sql| statement(sql, brackets)).collect()
    }

    /// The transactions of a plan, for a contender that begins its writes with `default_begin`.
    pub fn plan_transactions(&self, default_begin: Option<&str>) -> Vec<plan::Transaction> {
        self.transactions
            .iter()
            .map(|t| {
                let mut steps = t.steps.clone();
                self.secrets.fill(&mut steps);
                plan::Transaction {
                    name: t.name.clone(),
                    writes: t.writes,
                    begin: t.begin.sql(default_begin),
                    uniques: t.uniques,
                    slots: t.slots,
                    steps,
                }
            })
            .collect()
    }
}
