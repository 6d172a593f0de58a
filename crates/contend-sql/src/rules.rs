//! The rules: names, descriptions, and certainty for each server.

use crate::translation::{Certainty, Target};

pub(crate) mod aggregates;
pub(crate) mod arithmetic;
pub(crate) mod assign;
pub(crate) mod casts;
pub(crate) mod chains;
pub(crate) mod changes;
pub(crate) mod checks;
pub(crate) mod choices;
pub(crate) mod classes;
pub(crate) mod collations;
pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod dates;
pub(crate) mod ddl;
pub(crate) mod distinct;
pub(crate) mod django;
pub(crate) mod expr;
pub(crate) mod from;
pub(crate) mod functions;
pub(crate) mod glob;
pub(crate) mod grammar;
pub(crate) mod indexes;
pub(crate) mod insert;
pub(crate) mod joins;
pub(crate) mod json;
pub(crate) mod json_paths;
pub(crate) mod keys;
pub(crate) mod like;
pub(crate) mod literals;
pub(crate) mod maths;
pub(crate) mod membership;
pub(crate) mod merge;
pub(crate) mod moments;
pub(crate) mod order;
pub(crate) mod printf;
pub(crate) mod query;
pub(crate) mod raise;
pub(crate) mod recursion;
pub(crate) mod references;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod select;
pub(crate) mod session;
pub(crate) mod statement;
pub(crate) mod tagged;
pub(crate) mod texts;
pub(crate) mod triggers;
pub(crate) mod update;
pub(crate) mod upsert;
pub(crate) mod values;
pub(crate) mod views;
pub(crate) mod windows;
pub(crate) mod wordpress;
pub(crate) mod words;

/// A rule of translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name that translations and refusals carry.
    pub id: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    pub postgres: Handling,
    pub mariadb: Handling,
}

/// What a rule does for one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// Translates with this certainty; refuses what it does not support.
    Fires(Certainty),
    /// Always refuses.
    Refuses,
    /// Not needed: the server behaves as SQLite does.
    NotNeeded,
}

const EXACT: Handling = Handling::Fires(Certainty::Exact);

const fn rule(id: &'static str, what: &'static str, postgres: Handling, mariadb: Handling) -> Rule {
    Rule { id, what, postgres, mariadb }
}

impl Rule {
    pub fn handling(&self, target: Target) -> Handling {
        match target {
            Target::Postgres => self.postgres,
            Target::MariaDb => self.mariadb,
        }
    }
}

/// Every rule, in the order of the documentation.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// Index of a rule in [`RULES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Id {
    Syntax,
    Depth,
    Literals,
    Names,
    Parameters,
    ParameterTypes,
    DoubleQuotedText,
    Blobs,
    Schemas,
    SchemaTable,
    UnknownTable,
    UnknownColumn,
    Ambiguous,
    Opaque,
    Booleans,
    LiteralAffinity,
    MixedComparison,
    ClassComparison,
    MixedTypes,
    TextComparison,
    IntegerWithReal,
    Is,
    RowValues,
    EmptyIn,
    InTable,
    Like,
    Glob,
    Regexp,
    Collation,
    Overflow,
    Division,
    Modulus,
    Reals,
    Bits,
    Concat,
    TextAsNumber,
    TextArithmetic,
    TextWithNumber,
    RealAsText,
    TextInteger,
    Cast,
    Functions,
    Mathematics,
    ApplicationFunctions,
    SessionValues,
    Random,
    Aggregates,
    GroupConcat,
    Filter,
    Windows,
    Dates,
    CurrentTime,
    Json,
    JsonPaths,
    TableFunctions,
    AliasInExpression,
    BareColumns,
    PickedRow,
    GroupBy,
    OrderBy,
    DistinctOrder,
    NullOrder,
    Limit,
    LimitParameter,
    LimitInSubquery,
    SubqueryAlias,
    Values,
    FirstRow,
    Compound,
    CommaJoin,
    Using,
    Star,
    FullJoin,
    IndexedBy,
    With,
    Recursive,
    Rowid,
    RowidChanged,
    AutoIncrement,
    SequenceBump,
    Assignment,
    NumericColumns,
    TextsInNumericColumns,
    UntypedColumns,
    DeclaredTypes,
    TaggedValues,
    InsertSelect,
    Upsert,
    UpsertCount,
    OrConflict,
    OrIgnore,
    Replace,
    SetOrder,
    ChangedRows,
    UniqueChanged,
    UpdateFrom,
    LimitedChange,
    Returning,
    ImplicitCommit,
    CreateTable,
    CreateTableAs,
    TableOptions,
    KeyLength,
    DefaultExpression,
    ConflictClause,
    ForeignKeys,
    Check,
    Generated,
    CreateIndex,
    PartialIndex,
    AlterTable,
    Views,
    Triggers,
    VirtualTables,
    Attach,
    Explain,
    Transactions,
    Savepoints,
    ImplicitSavepoints,
    Pragma,
    Maintenance,
    SeveralStatements,
}

#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("syntax", "What SQLite's parser refuses, or a form of it that no rule knows.", Handling::Refuses, Handling::Refuses),
    rule("depth", "Nesting deeper than 100 levels, more than 1,000 operators in a row, SQL longer than SQLite's own limit.", Handling::Refuses, Handling::Refuses),
    rule("literals", "Numbers in decimal, hexadecimal and with `_`; texts by SQLite's quoting.", EXACT, EXACT),
    rule("names", "Identifiers by any of SQLite's quotes, written as declared, between double quotes.", EXACT, EXACT),
    rule("parameters", "`?`, `?NNN`, `:a`, `@a`, `$a` as numbered placeholders with a type (PostgreSQL) or `?`, repeated where used again (MariaDB).", EXACT, EXACT),
    rule("parameter-types", "A parameter takes the type of what it is compared with; where nothing gives it one, that of the value that the caller says it binds.", Handling::Fires(Certainty::Equivalent("the bound value has that type; PostgreSQL refuses others")), Handling::Fires(Certainty::Equivalent("the bound value has that type"))),
    rule("double-quoted-text", "`\"text\"` that names no column is a text.", EXACT, EXACT),
    rule("blobs", "`x'..'` as `bytea` or `x'..'`.", EXACT, EXACT),
    rule("schemas", "`main.` is left out, and `temp.` before a temporary table; other schemas are refused.", EXACT, EXACT),
    rule("schema-table", "sqlite_master and pragma_table_info() as the catalogue has them: types, names, positions.", Handling::Fires(Certainty::Equivalent("the catalogue learned every CREATE and DROP")), Handling::Fires(Certainty::Equivalent("the catalogue learned every CREATE and DROP"))),
    rule("unknown-table", "A table that no CREATE defined.", Handling::Refuses, Handling::Refuses),
    rule("unknown-column", "A column that its table does not have.", Handling::Refuses, Handling::Refuses),
    rule("ambiguous-name", "A name that several tables have.", Handling::Refuses, Handling::Refuses),
    rule("opaque-table", "A table whose columns are not known.", Handling::Refuses, Handling::Refuses),
    rule("booleans", "Truth values are 0 and 1 where a value is wanted, numbers are compared with 0 where a condition is.", EXACT, EXACT),
    rule("literal-affinity", "A literal compared with a column becomes what the column's affinity makes of it.", EXACT, EXACT),
    rule("mixed-comparison", "Comparisons of a number with a text, or of other storage classes.", Handling::Refuses, Handling::Refuses),
    rule("class-comparison", "A number is less than a text, a text less than a blob.", EXACT, EXACT),
    rule("mixed-types", "One result column whose type depends on the row.", Handling::Refuses, Handling::Refuses),
    rule("text-comparison", "Texts are compared byte by byte: `COLLATE \"C\"`, `utf8mb4_nopad_bin`.", EXACT, EXACT),
    rule("integer-with-real", "An integer is compared with a real; on PostgreSQL by the function pack exactly.", Handling::Fires(Certainty::Equivalent("integers below 2^53")), Handling::Fires(Certainty::Equivalent("integers below 2^53"))),
    rule("is", "IS and IS NOT with values.", EXACT, EXACT),
    rule("row-values", "Comparisons of rows, spelled out.", EXACT, EXACT),
    rule("empty-in", "`IN ()` is false, `NOT IN ()` true.", EXACT, EXACT),
    rule("in-table", "`IN table`.", EXACT, EXACT),
    rule("like", "LIKE ignores the case of ASCII letters only, and has no escape of its own.", EXACT, EXACT),
    rule("glob", "GLOB as a regular expression.", EXACT, EXACT),
    rule("regexp", "REGEXP is the application's.", Handling::Refuses, Handling::Refuses),
    rule("collations", "NOCASE and RTRIM by folding both sides, of what a column or a COLLATE anywhere within says; refused where the spelling shown would depend on the row.", EXACT, EXACT),
    rule("overflow", "Integer arithmetic.", Handling::Fires(Certainty::Equivalent("no result exceeds 64 bits (SQLite would continue with reals, the server fails), and no intermediate sum does (SQLite fails)")), Handling::Fires(Certainty::Equivalent("no result exceeds 64 bits (SQLite would continue with reals, the server fails), and no intermediate sum does (SQLite fails)"))),
    rule("division", "`/` and `%`: integers stay integers, by zero is NULL.", EXACT, EXACT),
    rule("modulus", "`%` on reals cuts both sides to integers.", EXACT, EXACT),
    rule("reals", "Sums and roundings of reals.", Handling::Fires(Certainty::Equivalent("no infinite real among them; equal to the last digits: the order of additions is the server's")), Handling::Fires(Certainty::Equivalent("equal to the last digits: the order of additions is the server's"))),
    rule("bits", "`&`, bitwise or, `<<`, `>>`, `~` on 64-bit signed integers.", EXACT, EXACT),
    rule("concatenation", "`||` of texts and integers.", EXACT, EXACT),
    rule("text-as-number", "A text literal in arithmetic is the number in it.", EXACT, EXACT),
    rule("text-arithmetic", "A text in `+`, `-`, `*`, `/`, `%` is the integer it begins with, by the function pack; refused without it.", Handling::Fires(Certainty::Equivalent("that number is an integer of 64 bits; others are errors")), Handling::Fires(Certainty::Equivalent("that number is an integer below 10^18; others are errors"))),
    rule("text-with-number", "A text is compared with a numeric column: as a number if it is one, else it is larger; by the function pack, refused without it.", EXACT, Handling::Fires(Certainty::Equivalent("integers below 2^53"))),
    rule("real-as-text", "The text of a real, by the function pack; refused without it.", Handling::Fires(Certainty::Equivalent("below 1e-10 and from 1e17 on, a real of more than 13 digits is an error")), Handling::Fires(Certainty::Equivalent("most reals of more than 13 digits are errors"))),
    rule("text-integer", "CAST of a text to an integer: the one it begins with, held to 64 bits.", EXACT, EXACT),
    rule("cast", "CAST between integers, reals and texts.", EXACT, EXACT),
    rule("functions", "Scalar functions that have a translation.", EXACT, EXACT),
    rule("mathematics", "exp(), ln(), log(), log10(), pow(), sin() and the like, as SQLITE_ENABLE_MATH_FUNCTIONS has them: NULL for what is no number or outside of the domain. sqrt(), mod(), ceil(), floor(), trunc(), degrees(), radians() and pi() are exact, under `functions`; log2() and the hyperbolic functions are refused.", Handling::Fires(Certainty::Equivalent("equal to the last digits: the server's library computes them; a result at the limits of doubles is an error")), Handling::Fires(Certainty::Equivalent("equal to the last digits: the server's library computes them; a result beyond all doubles is an error"))),
    rule("application-functions", "Functions that Django defines on SQLite, by the function pack: dates and times in the zone of the connection (`django_date_trunc`), moments plus and minus durations, BITXOR, COT, LPAD, RPAD, MD5, SHA224 to SHA512, SHA1 on MariaDB, RAND (also without it), REPEAT, REVERSE; and of WordPress's plugin YEAR, MONTH, DAY, DAYOFMONTH, HOUR, MINUTE, SECOND, WEEK, WEEKDAY, DAYOFWEEK. Others are refused, also STDDEV_POP and VAR_POP, which Python computes with fractions.", Handling::Fires(Certainty::Equivalent("functions of these names are Django's, or those of WordPress's plugin 3.0.2 in UTC")), Handling::Fires(Certainty::Equivalent("functions of these names are Django's, or those of WordPress's plugin 3.0.2 in UTC"))),
    rule("session-values", "last_insert_rowid(), changes(), total_changes(), as placeholders for which the session binds its own values; refused where nothing answers for it.", EXACT, EXACT),
    rule("random", "random() is a 64-bit integer.", EXACT, Handling::Fires(Certainty::Equivalent("53 random bits"))),
    rule("aggregates", "count, sum, total, avg, min, max.", EXACT, EXACT),
    rule("group-concat", "group_concat() and string_agg().", Handling::Fires(Certainty::Equivalent("the order is the server's")), Handling::Fires(Certainty::Equivalent("the order is the server's"))),
    rule("filter", "FILTER after an aggregate.", EXACT, Handling::Refuses),
    rule("windows", "Window functions and OVER.", EXACT, EXACT),
    rule("dates", "Dates are text in UTC, as SQLite's; modifiers are literals.", Handling::Fires(Certainty::Equivalent("years 1 to 9999, before and after modifiers; texts that only SQLite reads, such as the 31st of a shorter month or the hour 24, are errors: without the function pack also an offset from UTC and a Julian day")), Handling::Fires(Certainty::Equivalent("years 1 to 9999, before and after modifiers; texts that only SQLite reads, such as the 31st of a shorter month or the hour 24, are errors: without the function pack also an offset from UTC and a Julian day"))),
    rule("current-time", "The time now, as UTC text.", EXACT, EXACT),
    rule("json", "json_array(), json_object(), json_group_array(), json_quote() of values of known type; with the function pack json_valid() of a text that is not NULL, and json_extract() inside of the others.", EXACT, Handling::Fires(Certainty::Equivalent("no text but one that json_extract() finds has a control character whose code has a letter, such as U+001F"))),
    rule("json-paths", "json_extract(), ->, ->>, json_type(), json_array_length(), json() and json_each(), by the function pack; refused without it. Right of -> and ->> only literals.", Handling::Fires(Certainty::Equivalent("JSON as RFC 8259 has it, at most 1,000 deep; what only SQLite reads is an error")), Handling::Fires(Certainty::Equivalent("JSON as RFC 8259 has it, at most 31 deep; what only SQLite reads is an error"))),
    rule("table-functions", "Table-valued functions other than json_each() and pragma_table_info().", Handling::Refuses, Handling::Refuses),
    rule("alias-in-expression", "A name that is no column but an alias of the select list stands for its expression.", EXACT, EXACT),
    rule("bare-columns", "Columns outside an aggregate that are not grouped by.", Handling::Refuses, Handling::Refuses),
    rule("picked-row", "A column next to the only min() or max() comes from the row that has it.", Handling::Fires(Certainty::Equivalent("one row has it")), Handling::Fires(Certainty::Equivalent("one row has it"))),
    rule("group-by", "GROUP BY columns, expressions, aliases and numbers.", EXACT, EXACT),
    rule("order-by", "ORDER BY columns, expressions, aliases and numbers; also the order of windows, and GROUP BY a text that is an expression.", EXACT, Handling::Fires(Certainty::Equivalent("texts and blobs that differ do so in their first 8,192 bytes, under LIMIT in their first 2,048 characters"))),
    rule("distinct-order", "SELECT DISTINCT with ORDER BY of something that the list does not determine.", Handling::Fires(Certainty::Equivalent("rows that are equal in the list have one value of it")), Handling::Fires(Certainty::Equivalent("rows that are equal in the list have one value of it"))),
    rule("null-order", "NULLs are the smallest values.", EXACT, EXACT),
    rule("limit", "LIMIT and OFFSET, `LIMIT skipped, count`, no limit below zero.", EXACT, EXACT),
    rule("limit-parameter", "A parameter after LIMIT.", EXACT, Handling::Fires(Certainty::Equivalent("it is not negative"))),
    rule("limit-in-subquery", "LIMIT inside IN (...).", EXACT, EXACT),
    rule("subquery-alias", "A query in FROM without a name gets one; MariaDB has none, in FROM or WITH, that uses columns of a query around it.", EXACT, EXACT),
    rule("values", "VALUES as a query.", EXACT, EXACT),
    rule("first-row", "A subquery that is a value gives its first row.", EXACT, EXACT),
    rule("compound", "UNION, EXCEPT and INTERSECT from left to right.", EXACT, EXACT),
    rule("comma-join", "Next to JOIN, a comma joins as strongly.", EXACT, EXACT),
    rule("using", "USING and NATURAL as conditions.", EXACT, EXACT),
    rule("star", "`*` over a USING join is written out in SQLite's order.", EXACT, EXACT),
    rule("full-join", "FULL JOIN; of two tables on MariaDB, and on PostgreSQL if its condition is not the equality of columns.", EXACT, EXACT),
    rule("indexed-by", "INDEXED BY is left out: plans are the server's.", EXACT, EXACT),
    rule("with", "WITH.", EXACT, EXACT),
    rule("recursive", "Recursive WITH, with the word RECURSIVE or without.", EXACT, EXACT),
    rule("rowid", "INTEGER PRIMARY KEY as an identity column that also fills NULL; rowid means it.", Handling::Fires(Certainty::Equivalent("numbers may skip values: the server's counter does not step back, and begins at 1 whatever rows of smaller keys there are")), Handling::Fires(Certainty::Equivalent("numbers may skip values: the server's counter does not step back, and begins at 1 whatever rows of smaller keys there are"))),
    rule("rowid-changed", "UPDATE or an upsert sets an INTEGER PRIMARY KEY; on PostgreSQL a second statement moves the counter past it.", EXACT, EXACT),
    rule("autoincrement", "AUTOINCREMENT is what the server's counter does.", EXACT, EXACT),
    rule("sequence-bump", "After rows with keys of their own a second statement moves the counter past them.", EXACT, EXACT),
    rule("assignment", "A value stored becomes what the column's affinity makes of it; what would not fit is refused.", EXACT, EXACT),
    rule("numeric-columns", "Columns of NUMERIC affinity hold integers and reals side by side: a number without a fraction is an integer.", Handling::Fires(Certainty::Equivalent("without the function pack, no real of 2^53 or more without a fraction is stored from an expression or a query")), Handling::Fires(Certainty::Equivalent("reals of at most 15 digits, below 10^30, none further than 30 places behind the point"))),
    rule("texts-in-numeric-columns", "Columns of types like DATE, TIME, JSON and UUID, of NUMERIC affinity to SQLite, are taken to hold texts; a text that may be a number is refused there.", Handling::Fires(Certainty::Equivalent("texts bound for them or compared with them are no numbers")), Handling::Fires(Certainty::Equivalent("texts bound for them or compared with them are no numbers"))),
    rule("untyped-columns", "Columns without a type hold tagged values; those of a type that says nothing are refused, as are keys and indexes of either.", EXACT, EXACT),
    rule("declared-types", "typeof() of a column is its declared type.", Handling::Fires(Certainty::Equivalent("the column holds values of its type")), Handling::Fires(Certainty::Equivalent("the column holds values of its type"))),
    rule("tagged-values", "A value whose type depends on the row is a text with a tag of its type, by the function pack, for callers that read it; refused for others.", Handling::Fires(Certainty::Equivalent("max() and min() of a group show either of two equal numbers of different types")), Handling::Fires(Certainty::Equivalent("integers below 2^53 where they meet reals; max() and min() of a group show either of two equal numbers of different types"))),
    rule("insert-select", "INSERT from a query.", EXACT, EXACT),
    rule("upsert", "ON CONFLICT; several of one row as MERGE on PostgreSQL.", EXACT, Handling::Fires(Certainty::Equivalent("no other unique key conflicts"))),
    rule("upsert-count", "Affected rows of an upsert.", EXACT, Handling::Fires(Certainty::Lossy("an updated row counts twice, an unchanged one once"))),
    rule("or-conflict", "OR ABORT; OR FAIL where one row is stored; UPDATE OR REPLACE of one row or of no unique column on PostgreSQL; OR ROLLBACK and UPDATE OR FAIL and ROLLBACK are refused.", EXACT, EXACT),
    rule("or-ignore", "INSERT OR IGNORE, and UPDATE OR IGNORE of one row or of no unique column.", Handling::Fires(Certainty::Equivalent("a row that breaks CHECK is an error, not skipped")), Handling::Fires(Certainty::Equivalent("a row that breaks CHECK, or NOT NULL by a parameter, may be an error, not skipped"))),
    rule("replace", "INSERT OR REPLACE and REPLACE.", Handling::Fires(Certainty::Equivalent("an update in place where one key can conflict")), EXACT),
    rule("set-order", "All of SET sees the row as it was.", EXACT, Handling::Fires(Certainty::Equivalent("sql_mode has SIMULTANEOUS_ASSIGNMENT"))),
    rule("changed-rows", "UPDATE counts the rows found.", EXACT, Handling::Fires(Certainty::Equivalent("the client asks for CLIENT_FOUND_ROWS"))),
    rule("unique-changed", "UPDATE of a unique column of several rows, to other values than a constant.", Handling::Fires(Certainty::Equivalent("no row gets a value that another one still has: the order of the rows is the server's")), Handling::Fires(Certainty::Equivalent("no row gets a value that another one still has: the order of the rows is the server's"))),
    rule("update-from", "UPDATE FROM.", Handling::Fires(Certainty::Equivalent("one row of FROM for each updated row")), Handling::Fires(Certainty::Equivalent("one row of FROM for each updated row"))),
    rule("limited-change", "UPDATE and DELETE with ORDER BY and LIMIT, which SQLite has as a build option.", EXACT, EXACT),
    rule("returning", "RETURNING.", EXACT, Handling::Fires(Certainty::Equivalent("not after UPDATE"))),
    rule("implicit-commit", "MariaDB commits at every CREATE, ALTER and DROP: a statement before them fails inside a transaction.", Handling::NotNeeded, Handling::Fires(Certainty::Equivalent("outside a transaction; inside one the server raises an error"))),
    rule("create-table", "Types by affinity: bigint, double, text compared by bytes, bytea or blob.", Handling::Fires(Certainty::Equivalent("values have their column's type; others are errors")), Handling::Fires(Certainty::Equivalent("values have their column's type; others are errors"))),
    rule("create-table-as", "CREATE TABLE AS SELECT.", EXACT, EXACT),
    rule("table-options", "WITHOUT ROWID and STRICT are left out.", EXACT, EXACT),
    rule("key-length", "A text in a key is a VARCHAR.", Handling::NotNeeded, Handling::Fires(Certainty::Equivalent("its values have at most that many characters; longer ones are errors"))),
    rule("default-expression", "DEFAULT (expression).", EXACT, EXACT),
    rule("conflict-clause", "ON CONFLICT REPLACE or IGNORE in one unique constraint: every INSERT is written so.", EXACT, Handling::Fires(Certainty::Equivalent("no other unique key conflicts"))),
    rule("foreign-keys", "REFERENCES is left out, as SQLite does not enforce it by default; behind PRAGMA foreign_keys = ON it is written.", Handling::Fires(Certainty::Equivalent("the setting does not change later")), Handling::Fires(Certainty::Equivalent("the setting does not change later; each row is checked at once, so that some statements fail"))),
    rule("check", "CHECK.", EXACT, EXACT),
    rule("generated", "Generated columns are stored.", EXACT, EXACT),
    rule("create-index", "CREATE INDEX, NULLs in ORDER BY's order.", EXACT, EXACT),
    rule("partial-index", "Indexes over part of the rows or expressions; MariaDB covers all rows or does without.", EXACT, Handling::Fires(Certainty::Equivalent("an index changes no answer"))),
    rule("alter-table", "ADD, RENAME and DROP COLUMN, RENAME TO.", EXACT, EXACT),
    rule("views", "CREATE VIEW.", EXACT, EXACT),
    rule("triggers", "AFTER triggers that change other tables; RAISE(ABORT) in them and in BEFORE triggers; on PostgreSQL also RAISE(IGNORE), and INSTEAD OF INSERT on views. Newer triggers of an event come first; PostgreSQL refuses one whose order with another matters, unless their names are in that order. PostgreSQL also refuses a change of several rows if one of its triggers reads the changed table.", EXACT, EXACT),
    rule("virtual-tables", "FTS, R*Tree and other virtual tables.", Handling::Refuses, Handling::Refuses),
    rule("attach", "ATTACH.", Handling::Refuses, Handling::Refuses),
    rule("explain", "EXPLAIN.", Handling::Refuses, Handling::Refuses),
    rule("transactions", "BEGIN of any kind, COMMIT, END, ROLLBACK.", Handling::Fires(Certainty::Equivalent("the isolation level of the session; IMMEDIATE and EXCLUSIVE take no lock")), Handling::Fires(Certainty::Equivalent("the isolation level of the session; IMMEDIATE and EXCLUSIVE take no lock"))),
    rule("savepoints", "SAVEPOINT, RELEASE, ROLLBACK TO.", Handling::Fires(Certainty::Equivalent("inside a transaction")), Handling::Fires(Certainty::Equivalent("inside a transaction"))),
    rule("implicit-savepoints", "A failed statement leaves its transaction alive, as an option.", Handling::Fires(Certainty::Equivalent("inside a transaction, at the price of two statements")), Handling::NotNeeded),
    rule("pragma", "Settings of SQLite's storage are left out; others are refused.", EXACT, EXACT),
    rule("maintenance", "VACUUM, ANALYZE, REINDEX.", Handling::Fires(Certainty::Equivalent("they change no answer")), Handling::Fires(Certainty::Equivalent("they change no answer"))),
    rule("several-statements", "Several statements in one text.", EXACT, EXACT),
];

const _: () = assert!(RULES.len() == Id::SeveralStatements as usize + 1 && RULES.len() <= 128);

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(handling: Handling) -> String {
        match handling {
            Handling::Fires(Certainty::Exact) => "exact".to_string(),
            Handling::Fires(Certainty::Equivalent(condition)) => format!("equivalent: {condition}"),
            Handling::Fires(Certainty::Lossy(respect)) => format!("lossy: {respect}"),
            Handling::Refuses => "refused".to_string(),
            Handling::NotNeeded => "not needed".to_string(),
        }
    }

    fn table() -> String {
        let mut text = String::from("| rule | what it does | PostgreSQL | MariaDB |\n|---|---|---|---|\n");
        for rule in rules() {
            let cells = [rule.what.to_string(), cell(rule.postgres), cell(rule.mariadb)].map(|c| c.replace('|', "\\|"));
            text.push_str(&format!("| `{}` | {} |\n", rule.id, cells.join(" | ")));
        }
        text
    }

    #[test]
    fn the_documentation_lists_the_rules() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql-translation.md");
        let text = std::fs::read_to_string(&path).expect("the documentation");
        let begin = text.find("| rule |").unwrap_or(text.len());
        if std::env::var_os("CONTEND_WRITE_DOCS").is_some() {
            std::fs::write(&path, format!("{}{}", &text[..begin], table())).expect("written");
        } else {
            assert_eq!(&text[begin..], table(), "run with CONTEND_WRITE_DOCS=1");
        }
    }

    #[test]
    fn names_are_unique_and_plain() {
        for (i, rule) in rules().iter().enumerate() {
            assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.id);
            assert!(rules()[..i].iter().all(|other| other.id != rule.id), "{}", rule.id);
        }
        assert_eq!(rules()[Id::Collation as usize].id, "collations");
        assert_eq!(rules()[Id::SeveralStatements as usize].id, "several-statements");
        assert_eq!(rules()[Id::JsonPaths as usize].id, "json-paths");
        assert_eq!(rules()[Id::TextInteger as usize].id, "text-integer");
        assert_eq!(rules()[Id::ImplicitCommit as usize].id, "implicit-commit");
    }
}
