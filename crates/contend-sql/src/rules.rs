//! The rules: their names, what they do, how sure they are on each server.

use crate::translation::{Certainty, Target};

pub(crate) mod aggregates;
pub(crate) mod arithmetic;
pub(crate) mod assign;
pub(crate) mod casts;
pub(crate) mod changes;
pub(crate) mod choices;
pub(crate) mod classes;
pub(crate) mod collations;
pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod dates;
pub(crate) mod ddl;
pub(crate) mod expr;
pub(crate) mod from;
pub(crate) mod functions;
pub(crate) mod glob;
pub(crate) mod grammar;
pub(crate) mod indexes;
pub(crate) mod insert;
pub(crate) mod json;
pub(crate) mod like;
pub(crate) mod literals;
pub(crate) mod membership;
pub(crate) mod moments;
pub(crate) mod order;
pub(crate) mod printf;
pub(crate) mod query;
pub(crate) mod references;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod select;
pub(crate) mod session;
pub(crate) mod statement;
pub(crate) mod texts;
pub(crate) mod triggers;
pub(crate) mod update;
pub(crate) mod upsert;
pub(crate) mod values;
pub(crate) mod views;
pub(crate) mod windows;
pub(crate) mod words;

/// A rule of translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name that translations and refusals carry.
    pub id: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
    pub postgres: Outcome,
    pub mariadb: Outcome,
}

/// What a rule does for one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It translates, and is as sure as this. What it does not understand it refuses.
    Fires(Certainty),
    /// It only refuses.
    Refuses,
    /// The server does as SQLite does.
    NotNeeded,
}

const EXACT: Outcome = Outcome::Fires(Certainty::Exact);

const fn rule(id: &'static str, what: &'static str, postgres: Outcome, mariadb: Outcome) -> Rule {
    Rule { id, what, postgres, mariadb }
}

impl Rule {
    pub fn outcome(&self, target: Target) -> Outcome {
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

/// A rule's place in [`RULES`].
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
    InsertSelect,
    Upsert,
    UpsertCount,
    OrConflict,
    OrIgnore,
    Replace,
    SetOrder,
    ChangedRows,
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
    rule("syntax", "What SQLite's parser refuses, or a form of it that no rule knows.", Outcome::Refuses, Outcome::Refuses),
    rule("depth", "Nesting deeper than 100 levels, more than 1,000 operators in a row, SQL longer than SQLite's own limit.", Outcome::Refuses, Outcome::Refuses),
    rule("literals", "Numbers in decimal, hexadecimal and with `_`; texts by SQLite's quoting.", EXACT, EXACT),
    rule("names", "Identifiers by any of SQLite's quotes, written as declared, between double quotes.", EXACT, EXACT),
    rule("parameters", "`?`, `?NNN`, `:a`, `@a`, `$a` as numbered placeholders with a type (PostgreSQL) or `?`, repeated where used again (MariaDB).", EXACT, EXACT),
    rule("parameter-types", "A parameter takes the type of what it is compared with.", Outcome::Fires(Certainty::Equivalent("the bound value has that type; PostgreSQL refuses others")), Outcome::Fires(Certainty::Equivalent("the bound value has that type"))),
    rule("double-quoted-text", "`\"text\"` that names no column is a text.", EXACT, EXACT),
    rule("blobs", "`x'..'` as `bytea` or `x'..'`.", EXACT, EXACT),
    rule("schemas", "`main.` is left out, and `temp.` before a temporary table; other schemas are refused.", EXACT, EXACT),
    rule("schema-table", "sqlite_master and pragma_table_info() as the catalogue has them: types, names, positions.", Outcome::Fires(Certainty::Equivalent("the catalogue learned every CREATE and DROP")), Outcome::Fires(Certainty::Equivalent("the catalogue learned every CREATE and DROP"))),
    rule("unknown-table", "A table that no CREATE told of.", Outcome::Refuses, Outcome::Refuses),
    rule("unknown-column", "A column that its table has not.", Outcome::Refuses, Outcome::Refuses),
    rule("ambiguous-name", "A name that several tables have.", Outcome::Refuses, Outcome::Refuses),
    rule("opaque-table", "A table whose columns are not known.", Outcome::Refuses, Outcome::Refuses),
    rule("booleans", "Truth values are 0 and 1 where a value is wanted, numbers are compared with 0 where a condition is.", EXACT, EXACT),
    rule("literal-affinity", "A literal compared with a column becomes what the column's affinity makes of it.", EXACT, EXACT),
    rule("mixed-comparison", "Comparisons of a number with a text, or of other storage classes.", Outcome::Refuses, Outcome::Refuses),
    rule("class-comparison", "A number is less than a text, a text less than a blob.", EXACT, EXACT),
    rule("mixed-types", "One result column whose type depends on the row.", Outcome::Refuses, Outcome::Refuses),
    rule("text-comparison", "Texts are compared byte by byte: `COLLATE \"C\"`, `utf8mb4_nopad_bin`.", EXACT, EXACT),
    rule("integer-with-real", "An integer is compared with a real.", Outcome::Fires(Certainty::Equivalent("integers below 2^53")), Outcome::Fires(Certainty::Equivalent("integers below 2^53"))),
    rule("is", "IS and IS NOT with values.", EXACT, EXACT),
    rule("row-values", "Comparisons of rows, spelled out.", EXACT, EXACT),
    rule("empty-in", "`IN ()` is false, `NOT IN ()` true.", EXACT, EXACT),
    rule("in-table", "`IN table`.", EXACT, EXACT),
    rule("like", "LIKE ignores the case of ASCII letters only, and has no escape of its own.", EXACT, EXACT),
    rule("glob", "GLOB as a regular expression.", EXACT, EXACT),
    rule("regexp", "REGEXP is the application's.", Outcome::Refuses, Outcome::Refuses),
    rule("collations", "NOCASE and RTRIM by folding both sides, of what a column or a COLLATE anywhere within says; refused where the spelling shown would depend on the row.", EXACT, EXACT),
    rule("overflow", "Integer arithmetic.", Outcome::Fires(Certainty::Equivalent("no result beyond 64 bits, where SQLite goes on with reals and the server fails; nor a sum on its way, where SQLite fails")), Outcome::Fires(Certainty::Equivalent("no result beyond 64 bits, where SQLite goes on with reals and the server fails; nor a sum on its way, where SQLite fails"))),
    rule("division", "`/` and `%`: integers stay integers, by zero is NULL.", EXACT, EXACT),
    rule("modulus", "`%` on reals cuts both sides to integers.", EXACT, EXACT),
    rule("reals", "Sums and roundings of reals.", Outcome::Fires(Certainty::Equivalent("equal to the last digits: the order of additions is the server's")), Outcome::Fires(Certainty::Equivalent("equal to the last digits: the order of additions is the server's"))),
    rule("bits", "`&`, bitwise or, `<<`, `>>`, `~` on 64-bit signed integers.", EXACT, EXACT),
    rule("concatenation", "`||` of texts and integers.", EXACT, EXACT),
    rule("text-as-number", "A text literal in arithmetic is the number in it.", EXACT, EXACT),
    rule("text-arithmetic", "A text in `+`, `-`, `*`, `/`, `%` is the integer it begins with, by the function pack; refused without it.", Outcome::Fires(Certainty::Equivalent("that number is an integer of 64 bits; others are errors")), Outcome::Fires(Certainty::Equivalent("that number is an integer below 10^18; others are errors"))),
    rule("text-with-number", "A text is compared with a numeric column: as a number if it is one, else it is larger; by the function pack, refused without it.", EXACT, Outcome::Fires(Certainty::Equivalent("integers below 2^53"))),
    rule("real-as-text", "The text of a real, by the function pack; refused without it.", EXACT, EXACT),
    rule("text-integer", "CAST of a text to an integer: the one it begins with, held to 64 bits.", EXACT, EXACT),
    rule("cast", "CAST between integers, reals and texts.", EXACT, EXACT),
    rule("functions", "Scalar functions that have a translation.", EXACT, EXACT),
    rule("random", "random() is a 64-bit integer.", EXACT, Outcome::Fires(Certainty::Equivalent("53 random bits"))),
    rule("aggregates", "count, sum, total, avg, min, max.", EXACT, EXACT),
    rule("group-concat", "group_concat() and string_agg().", Outcome::Fires(Certainty::Equivalent("the order is the server's")), Outcome::Fires(Certainty::Equivalent("the order is the server's"))),
    rule("filter", "FILTER after an aggregate.", EXACT, Outcome::Refuses),
    rule("windows", "Window functions and OVER.", EXACT, EXACT),
    rule("dates", "Dates are text in UTC, as SQLite's; modifiers are literals.", Outcome::Fires(Certainty::Equivalent("years 1 to 9999, before and after modifiers; texts that only SQLite reads, such as the 31st of a shorter month or the hour 24, are errors: without the function pack also an offset from UTC and a Julian day")), Outcome::Fires(Certainty::Equivalent("years 1 to 9999, before and after modifiers; texts that only SQLite reads, such as the 31st of a shorter month or the hour 24, are errors: without the function pack also an offset from UTC and a Julian day"))),
    rule("current-time", "The time now, as UTC text.", EXACT, EXACT),
    rule("json", "json_array(), json_object(), json_group_array(), json_quote() of values of known type.", EXACT, EXACT),
    rule("json-paths", "json_extract(), -> and other functions that read JSON.", Outcome::Refuses, Outcome::Refuses),
    rule("table-functions", "Table-valued functions.", Outcome::Refuses, Outcome::Refuses),
    rule("alias-in-expression", "A name that is no column but an alias of the select list stands for its expression.", EXACT, EXACT),
    rule("bare-columns", "Columns outside an aggregate that are not grouped by.", Outcome::Refuses, Outcome::Refuses),
    rule("picked-row", "A column beside the only min() or max() comes from the row that has it.", Outcome::Fires(Certainty::Equivalent("one row has it")), Outcome::Refuses),
    rule("group-by", "GROUP BY columns, expressions, aliases and numbers.", EXACT, EXACT),
    rule("order-by", "ORDER BY columns, expressions, aliases and numbers.", EXACT, EXACT),
    rule("null-order", "NULLs are the smallest values.", EXACT, EXACT),
    rule("limit", "LIMIT and OFFSET, `LIMIT skipped, count`, no limit below zero.", EXACT, EXACT),
    rule("limit-parameter", "A parameter after LIMIT.", EXACT, Outcome::Fires(Certainty::Equivalent("it is not negative"))),
    rule("limit-in-subquery", "LIMIT inside IN (...).", EXACT, EXACT),
    rule("subquery-alias", "A query in FROM without a name gets one.", EXACT, EXACT),
    rule("values", "VALUES as a query.", EXACT, EXACT),
    rule("first-row", "A subquery that is a value gives its first row.", EXACT, EXACT),
    rule("compound", "UNION, EXCEPT and INTERSECT from left to right.", EXACT, EXACT),
    rule("comma-join", "Beside JOIN a comma joins as strongly.", EXACT, EXACT),
    rule("using", "USING and NATURAL as conditions.", EXACT, EXACT),
    rule("star", "`*` over a USING join is written out in SQLite's order.", EXACT, EXACT),
    rule("full-join", "FULL JOIN.", EXACT, Outcome::Refuses),
    rule("indexed-by", "INDEXED BY is left out: plans are the server's.", EXACT, EXACT),
    rule("with", "WITH.", EXACT, EXACT),
    rule("recursive", "Recursive WITH, with the word RECURSIVE or without.", EXACT, EXACT),
    rule("rowid", "INTEGER PRIMARY KEY as an identity column that also fills NULL; rowid means it.", Outcome::Fires(Certainty::Equivalent("numbers may skip values: the server's counter does not step back, and begins at 1 whatever rows of smaller keys there are")), Outcome::Fires(Certainty::Equivalent("numbers may skip values: the server's counter does not step back, and begins at 1 whatever rows of smaller keys there are"))),
    rule("rowid-changed", "UPDATE of an INTEGER PRIMARY KEY.", Outcome::Fires(Certainty::Equivalent("the server's counter is not moved")), Outcome::Fires(Certainty::Equivalent("the server's counter is not moved"))),
    rule("autoincrement", "AUTOINCREMENT is what the server's counter does.", EXACT, EXACT),
    rule("sequence-bump", "After rows with keys of their own a second statement moves the counter past them.", EXACT, EXACT),
    rule("assignment", "A value stored becomes what the column's affinity makes of it; what would not fit is refused.", EXACT, EXACT),
    rule("numeric-columns", "Columns of NUMERIC affinity hold integers and reals side by side: a number without a fraction is an integer.", Outcome::Fires(Certainty::Equivalent("reals of at most 15 digits")), Outcome::Fires(Certainty::Equivalent("reals of at most 15 digits, below 10^30, none further than 30 places behind the point"))),
    rule("texts-in-numeric-columns", "Columns of types like DATE, TIME, JSON and UUID, of NUMERIC affinity to SQLite, are taken to hold texts; a text that may be a number is refused there.", Outcome::Fires(Certainty::Equivalent("texts bound for them or compared with them are no numbers")), Outcome::Fires(Certainty::Equivalent("texts bound for them or compared with them are no numbers"))),
    rule("untyped-columns", "Columns without a type, or with one that says nothing.", Outcome::Refuses, Outcome::Refuses),
    rule("declared-types", "typeof() of a column is its declared type.", Outcome::Fires(Certainty::Equivalent("the column holds values of its type")), Outcome::Fires(Certainty::Equivalent("the column holds values of its type"))),
    rule("insert-select", "INSERT from a query.", EXACT, EXACT),
    rule("upsert", "ON CONFLICT.", EXACT, Outcome::Fires(Certainty::Equivalent("no other unique key conflicts"))),
    rule("upsert-count", "Affected rows of an upsert.", EXACT, Outcome::Fires(Certainty::Lossy("an updated row counts twice, an unchanged one once"))),
    rule("or-conflict", "OR ABORT; OR FAIL where one row is stored; OR ROLLBACK and UPDATE OR are refused.", EXACT, EXACT),
    rule("or-ignore", "INSERT OR IGNORE.", Outcome::Fires(Certainty::Equivalent("a row that breaks NOT NULL or CHECK is an error, not skipped")), Outcome::Fires(Certainty::Equivalent("a row that breaks NOT NULL or CHECK may be an error, not skipped"))),
    rule("replace", "INSERT OR REPLACE and REPLACE.", Outcome::Fires(Certainty::Equivalent("an update in place where one key can conflict")), EXACT),
    rule("set-order", "All of SET sees the row as it was.", EXACT, Outcome::Fires(Certainty::Equivalent("sql_mode has SIMULTANEOUS_ASSIGNMENT"))),
    rule("changed-rows", "UPDATE counts the rows found.", EXACT, Outcome::Fires(Certainty::Equivalent("the client asks for CLIENT_FOUND_ROWS"))),
    rule("update-from", "UPDATE FROM.", Outcome::Fires(Certainty::Equivalent("one row of FROM for each updated row")), Outcome::Fires(Certainty::Equivalent("one row of FROM for each updated row"))),
    rule("limited-change", "UPDATE and DELETE with ORDER BY and LIMIT, which SQLite has as a build option.", EXACT, EXACT),
    rule("returning", "RETURNING.", EXACT, Outcome::Fires(Certainty::Equivalent("not after UPDATE"))),
    rule("implicit-commit", "MariaDB commits at every CREATE, ALTER and DROP: a statement before them fails inside a transaction.", Outcome::NotNeeded, Outcome::Fires(Certainty::Equivalent("outside a transaction; inside one the server raises an error"))),
    rule("create-table", "Types by affinity: bigint, double, text compared by bytes, bytea or blob.", Outcome::Fires(Certainty::Equivalent("values have their column's type; others are errors")), Outcome::Fires(Certainty::Equivalent("values have their column's type; others are errors"))),
    rule("create-table-as", "CREATE TABLE AS SELECT.", EXACT, EXACT),
    rule("table-options", "WITHOUT ROWID and STRICT are left out.", EXACT, EXACT),
    rule("key-length", "A text in a key is a VARCHAR.", Outcome::NotNeeded, Outcome::Fires(Certainty::Equivalent("its values have at most that many characters; longer ones are errors"))),
    rule("default-expression", "DEFAULT (expression).", EXACT, EXACT),
    rule("conflict-clause", "ON CONFLICT REPLACE or IGNORE in one unique constraint: every INSERT is written so.", EXACT, Outcome::Fires(Certainty::Equivalent("no other unique key conflicts"))),
    rule("foreign-keys", "REFERENCES is left out, as SQLite does not enforce it by default; behind PRAGMA foreign_keys = ON it is written.", Outcome::Fires(Certainty::Equivalent("the setting does not change later")), Outcome::Fires(Certainty::Equivalent("the setting does not change later; each row is checked at once, so that some statements fail"))),
    rule("check", "CHECK.", EXACT, EXACT),
    rule("generated", "Generated columns are stored.", EXACT, EXACT),
    rule("create-index", "CREATE INDEX, NULLs in ORDER BY's order.", EXACT, EXACT),
    rule("partial-index", "Indexes over part of the rows or expressions; MariaDB covers all rows or does without.", EXACT, Outcome::Fires(Certainty::Equivalent("an index changes no answer"))),
    rule("alter-table", "ADD, RENAME and DROP COLUMN, RENAME TO.", EXACT, EXACT),
    rule("views", "CREATE VIEW.", EXACT, EXACT),
    rule("triggers", "AFTER triggers that change other tables.", Outcome::Fires(Certainty::Equivalent("they do not read the table that fires them, and it is not written by REPLACE")), Outcome::Fires(Certainty::Equivalent("they do not read the table that fires them, and it is not written by REPLACE"))),
    rule("virtual-tables", "FTS, R*Tree and other virtual tables.", Outcome::Refuses, Outcome::Refuses),
    rule("attach", "ATTACH.", Outcome::Refuses, Outcome::Refuses),
    rule("explain", "EXPLAIN.", Outcome::Refuses, Outcome::Refuses),
    rule("transactions", "BEGIN of any kind, COMMIT, END, ROLLBACK.", Outcome::Fires(Certainty::Equivalent("the isolation level of the session; IMMEDIATE and EXCLUSIVE take no lock")), Outcome::Fires(Certainty::Equivalent("the isolation level of the session; IMMEDIATE and EXCLUSIVE take no lock"))),
    rule("savepoints", "SAVEPOINT, RELEASE, ROLLBACK TO.", Outcome::Fires(Certainty::Equivalent("inside a transaction")), Outcome::Fires(Certainty::Equivalent("inside a transaction"))),
    rule("implicit-savepoints", "A failed statement leaves its transaction alive, as an option.", Outcome::Fires(Certainty::Equivalent("inside a transaction, at the price of two statements")), Outcome::NotNeeded),
    rule("pragma", "Settings of SQLite's storage are left out; others are refused.", EXACT, EXACT),
    rule("maintenance", "VACUUM, ANALYZE, REINDEX.", Outcome::Fires(Certainty::Equivalent("they change no answer")), Outcome::Fires(Certainty::Equivalent("they change no answer"))),
    rule("several-statements", "Several statements in one text.", EXACT, EXACT),
];

const _: () = assert!(RULES.len() == Id::SeveralStatements as usize + 1 && RULES.len() <= 128);

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(outcome: Outcome) -> String {
        match outcome {
            Outcome::Fires(Certainty::Exact) => "exact".to_string(),
            Outcome::Fires(Certainty::Equivalent(condition)) => format!("equivalent: {condition}"),
            Outcome::Fires(Certainty::Lossy(respect)) => format!("lossy: {respect}"),
            Outcome::Refuses => "refused".to_string(),
            Outcome::NotNeeded => "not needed".to_string(),
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
