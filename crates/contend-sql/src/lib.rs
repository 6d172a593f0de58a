//! Translates SQLite's SQL to PostgreSQL's and MariaDB's: the result has the same rows, or the translation is refused
//! with a reason.
//!
//! ```
//! use contend_sql::{Catalogue, Options, Target, translate};
//!
//! let mut catalogue = Catalogue::default();
//! catalogue.learn("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")?;
//! let sql = "UPDATE account SET balance = balance - :amount WHERE id = :id";
//! let translation = translate(sql, &catalogue, &Options::to(Target::Postgres))?;
//! assert_eq!(
//!     translation.statements[0].sql,
//!     r#"UPDATE "account" SET "balance" = "balance" - $1::bigint WHERE "id" = $2::bigint"#
//! );
//! assert_eq!(translation.statements[0].params, [1, 2]);
//! # Ok::<(), contend_sql::Refusal>(())
//! ```

pub mod cache;
mod catalogue;
mod definition;
mod emit;
mod learn;
mod names;
mod pack;
mod parse;
mod read;
mod reals;
mod refuse;
#[cfg(test)]
mod robustness_tests;
mod rules;
mod scope;
mod script;
mod tagged;
mod translate;
mod translation;
mod types;
#[cfg(test)]
mod workloads_tests;

pub use catalogue::{Catalogue, HIDDEN_ROWID};
pub use definition::{ForeignKeyDefinition, HeldColumn, LeftOut, TableDefinition, define_table, table_columns};
pub use pack::function_pack;
pub use reals::{is_decimal, is_exact, real_text};
pub use refuse::Refusal;
pub use rules::django::{is_in_pack, needs_django};
pub use rules::session::session;
pub use rules::{Handling, Rule, rules};
pub use tagged::{Untagged, untagged};
pub use translate::{translate, translate_script};
pub use translation::{
    Certainty, Fired, Keys, Options, ParamType, SQLITE, SessionValue, Statement, Target, Translation, ValueCounts,
};
pub use types::{Number, number_in_text};
