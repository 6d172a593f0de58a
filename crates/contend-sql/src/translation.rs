//! Results and options of translations.

/// The target server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PostgreSQL 15 or newer.
    Postgres,
    /// MariaDB 10.6 or newer.
    MariaDb,
}

/// How to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub target: Target,
    /// Use the functions that [`function_pack`] installs. Without them (portable mode) more statements are refused.
    pub pack: bool,
    /// Put a savepoint around each query and change, because on PostgreSQL, unlike SQLite, a failed statement ends
    /// the transaction. This adds two statements each, which PostgreSQL accepts only inside a transaction. Not needed
    /// for MariaDB.
    pub savepoints: bool,
    /// The caller provides last_insert_rowid(), changes() and total_changes(), which are refused otherwise: it binds
    /// each [`SessionValue`], and updates them according to [`Statement::keys`].
    pub session: bool,
    /// The caller reads tagged values ([`Statement::tagged`]), which are used with the function pack. Otherwise results
    /// and columns whose type depends on the row are refused.
    pub tagged: bool,
    /// On MariaDB, a deferred foreign key becomes one that is checked at once: a transaction that violates it meanwhile gets an
    /// error. Otherwise it is refused.
    pub early_keys: bool,
    /// Types of the values bound for the source's parameters, in order, as far as they are known. A parameter without
    /// another source of its type has this one; the translation is valid for values of these types.
    pub bound: Vec<ParamType>,
    /// The version of SQLite whose answers are wanted, as `sqlite3_libversion_number` has it. Where versions before
    /// [`SQLITE`] may give other answers, an older one is refused or gets an error.
    pub sqlite: u32,
}

/// The version of SQLite with which translations are compared.
pub const SQLITE: u32 = 3_053_002;

impl Options {
    /// Portable mode without savepoints, session values and tagged values.
    pub fn to(target: Target) -> Options {
        Options {
            target,
            pack: false,
            savepoints: false,
            session: false,
            tagged: false,
            early_keys: false,
            bound: vec![],
            sqlite: SQLITE,
        }
    }

    /// Whether the wanted answers are those of an older SQLite.
    pub(crate) fn is_older(&self) -> bool {
        self.sqlite < SQLITE
    }
}

/// The translation of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Statements to run in this order. Empty if the server needs nothing, as for `PRAGMA journal_mode`.
    pub statements: Vec<Statement>,
    /// The rules that fired, each once.
    pub rules: Vec<Fired>,
    /// With [`Options::savepoints`]: the statement to run after a failure, which undoes only the failed statement.
    pub on_error: Option<&'static str>,
}

/// A statement for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    /// For each placeholder in order, the number of the source's parameter (from 1), or of a [`SessionValue`].
    pub params: Vec<u16>,
    /// The type assumed for each placeholder, in order. If a driver binds another type, PostgreSQL reports an error,
    /// and MariaDB may return other rows.
    pub types: Vec<ParamType>,
    /// For each placeholder in order, whether SQLite first converts the value to that type by a column's affinity:
    /// the text `17` bound for an integer column becomes 17 (see [`number_in_text`](crate::number_in_text)), and an
    /// integer bound for a text its digits. A value of another type that is not converted must be refused.
    pub converted: Vec<bool>,
    /// Columns of its rows, from 0, whose values are tagged: read each with [`untagged`](crate::untagged).
    pub tagged: Vec<u16>,
    /// Whether its rows and count are the result. Other statements only update the server's state.
    pub main: bool,
    /// Whether it is an INSERT, UPDATE or DELETE, whose number of changed rows is changes().
    pub counts: bool,
    /// With [`Options::session`]: its effect on last_insert_rowid().
    pub keys: Keys,
    /// Whether last_insert_rowid() is unknown after a failure, because rows may have been stored before the failing
    /// one.
    pub may_fail_late: bool,
}

impl Statement {
    /// SQL of the server itself, whose rows are the result, with parameters of any type.
    pub fn of_server(sql: String, params: Vec<u16>) -> Statement {
        let (types, converted) = (vec![ParamType::Unknown; params.len()], vec![false; params.len()]);
        let (counts, keys, may_fail_late) = (false, Keys::Same, false);
        Statement { sql, params, types, converted, tagged: vec![], main: true, counts, keys, may_fail_late }
    }
}

/// A value of the session, bound like a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum SessionValue {
    /// The key of the last row stored by an INSERT of the connection; 0 before the first.
    LastInsertRowid = 65_533,
    /// Rows that the last INSERT, UPDATE or DELETE changed.
    Changes = 65_534,
    /// Sum of the changed rows over all statements of the connection.
    TotalChanges = 65_535,
}

impl SessionValue {
    /// The session value with this number in [`Statement::params`]; SQLite has no parameters with these numbers.
    pub fn of(number: u16) -> Option<SessionValue> {
        [SessionValue::LastInsertRowid, SessionValue::Changes, SessionValue::TotalChanges]
            .into_iter()
            .find(|value| *value as u16 == number)
    }
}

/// Effect of a successful statement on last_insert_rowid().
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Keys {
    /// No effect.
    #[default]
    Same,
    /// Its rows are not results: each has the key of a stored row, or NULL if a row was updated instead. The last
    /// key, if there is one, becomes last_insert_rowid(); the number of rows is changes().
    Rows,
    /// As `Rows`, but a row with NULL was there already and is unchanged: changes() counts the others.
    NewRows,
    /// As `Rows`, for the last column of its rows; the other columns are those of RETURNING.
    LastColumn,
    /// It is unknown afterwards, for this reason: the caller must refuse to return it.
    Unknown(&'static str),
}

/// Type assumed for a placeholder's value, besides NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamType {
    Integer,
    /// Where SQLite converts by an affinity, an integer that a real equals ([`is_exact`](crate::is_exact)) becomes that real.
    /// SQLite compares others with reals exactly.
    Real,
    /// An integer or a real; the place converts it as needed.
    Number,
    Text,
    Blob,
    /// Of a bound value only: it is NULL.
    Null,
    /// Not determined by the statement.
    Unknown,
}

impl ParamType {
    const ALL: [ParamType; 7] = [
        ParamType::Integer,
        ParamType::Real,
        ParamType::Number,
        ParamType::Text,
        ParamType::Blob,
        ParamType::Null,
        ParamType::Unknown,
    ];

    /// The word of SQLite's types for it: `integer`.
    pub fn word(self) -> &'static str {
        match self {
            ParamType::Integer => "integer",
            ParamType::Real => "real",
            ParamType::Number => "number",
            ParamType::Text => "text",
            ParamType::Blob => "blob",
            ParamType::Null => "null",
            ParamType::Unknown => "unknown",
        }
    }

    /// The type with this word; unknown for any other.
    pub fn of_word(word: &str) -> ParamType {
        ParamType::ALL.into_iter().find(|ty| ty.word() == word).unwrap_or(ParamType::Unknown)
    }

    /// The type for a column with these values; `None` if the declared type, which this is, fits some of them.
    pub fn for_values(self, of: ValueCounts) -> Option<ParamType> {
        let ValueCounts { integers, reals, texts, blobs } = of;
        let fitting = match self {
            ParamType::Integer => integers,
            ParamType::Real => reals,
            ParamType::Number => integers + reals,
            ParamType::Text => texts,
            ParamType::Blob => blobs,
            ParamType::Null | ParamType::Unknown => 0,
        };
        let number = match (integers, reals) {
            (_, 0) => ParamType::Integer,
            (0, _) => ParamType::Real,
            _ => ParamType::Number,
        };
        let most = [(blobs, ParamType::Blob), (integers + reals, number), (texts, ParamType::Text)];
        match most.into_iter().max_by_key(|(count, _)| *count) {
            _ if fitting > 0 => None,
            Some((count, holds)) if count > 0 => Some(holds),
            _ => (self == ParamType::Unknown).then_some(ParamType::Text),
        }
    }

    /// Whether a column of this type holds all of these values as they are.
    pub fn holds_all(self, of: ValueCounts) -> bool {
        let ValueCounts { integers, reals, texts, blobs } = of;
        match self {
            ParamType::Integer => reals + texts + blobs == 0,
            ParamType::Real | ParamType::Number => texts + blobs == 0,
            ParamType::Text => integers + reals + blobs == 0,
            ParamType::Blob => integers + reals + texts == 0,
            ParamType::Null => integers + reals + texts + blobs == 0,
            ParamType::Unknown => [integers + reals, texts, blobs].into_iter().filter(|count| *count > 0).count() < 2,
        }
    }
}

/// Values of a column, by their type in SQLite.
#[derive(Debug, Clone, Copy)]
pub struct ValueCounts {
    pub integers: u64,
    pub reals: u64,
    pub texts: u64,
    pub blobs: u64,
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    pub rule: &'static str,
    pub certainty: Certainty,
}

/// Whether the result of a rule equals SQLite's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    Exact,
    /// The same result under this condition.
    Equivalent(&'static str),
    /// Not the same result, in this respect.
    Lossy(&'static str),
}
