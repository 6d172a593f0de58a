//! Definitions of tables for a server that is then loaded with rows: CREATE TABLE, and separately the statements that
//! can run after loading or be left out.

use crate::catalogue::{Catalogue, Column, Kind, Table};
use crate::emit::{Input, Tr};
use crate::parse::tree::{Cmd, CreateTableBody, Stmt};
use crate::read;
use crate::refuse::{No, R, Refusal, no};
use crate::rules::indexes::key_characters;
use crate::rules::references::{self, ForeignKey};
use crate::rules::{Id, grammar, rules, statement};
use crate::translation::{Options, ParamType};
use crate::types::Ty;

/// The statements that create a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDefinition {
    /// CREATE TABLE.
    pub create: String,
    /// Statements that are faster after loading: unique keys that ignore case.
    pub after: Vec<String>,
    /// Foreign keys: for after all rows of all tables.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// Parts without a translation.
    pub left_out: Vec<LeftOut>,
}

/// A foreign key of a table, as SQLite declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDefinition {
    pub columns: Vec<String>,
    /// The table that it refers to, as SQLite's statement names it.
    pub parent: String,
    /// The columns there; empty if they are missing.
    pub to: Vec<String>,
    /// `FOREIGN KEY (...) REFERENCES ...`; `None` if there is no translation, which then is in `left_out`.
    pub constraint: Option<String>,
    /// The statement that adds it under a name.
    pub sql: Option<String>,
    /// The table that it refers to, or a unique key of its columns, is not there (yet): SQLite allows that, too.
    pub waits: bool,
    /// Changes of rows of the parent change rows here: CASCADE, SET NULL, SET DEFAULT.
    pub acts: bool,
}

/// A part of a table that has no translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name: `CHECK of column size`.
    pub part: String,
    pub rule: &'static str,
    pub reason: String,
    pub is_foreign_key: bool,
}

/// A column of a table in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldColumn {
    pub name: String,
    /// Type of its values; unknown if the declared type does not determine it.
    pub holds: ParamType,
    /// Whether it is an alias of the rowid.
    pub is_rowid: bool,
    pub is_generated: bool,
    /// Whether it is part of a key or an index.
    pub is_in_key: bool,
    /// Most characters of a text, or bytes of a blob, that fit into MariaDB's type for it; `None` if it is in no key.
    pub key_characters: Option<usize>,
}

impl HeldColumn {
    /// Whether it has no type and holds tagged values, where callers read these.
    pub fn is_tagged(&self) -> bool {
        self.holds == ParamType::Unknown
    }
}

/// Translates a CREATE TABLE. A CHECK, DEFAULT, key or foreign key that cannot be translated is left out and listed.
///
/// The catalogue must contain the whole schema, with foreign keys off.
///
/// # Errors
/// The statement is not a CREATE TABLE with columns, or a column cannot be translated.
pub fn define_table(create: &str, catalogue: &Catalogue, options: &Options) -> Result<TableDefinition, Refusal> {
    let mut defined = TableDefinition::default();
    read::each(create, |text, names, command| {
        let Cmd::Stmt(created) = command else { return no(Id::Syntax, "", "not a CREATE TABLE") };
        let Stmt::CreateTable { body: CreateTableBody::ColumnsAndConstraints { columns, constraints, .. }, .. } =
            created
        else {
            return no(Id::Syntax, "", "not a CREATE TABLE with columns");
        };
        let own = statement::created(text, created, catalogue)?;
        let Some(table) = own.as_ref().and_then(|own| own.tables.first()) else {
            return no(Id::Syntax, "", "not a CREATE TABLE with columns");
        };
        let mut tr = grammar::translator(Input::new(catalogue, options, text, names));
        tr.out.left_out = Some(vec![]);
        statement::statement(&mut tr, command, own.as_ref())?;
        defined.create = std::mem::take(&mut tr.out.sql);
        defined.after = std::mem::take(&mut tr.out.after);
        let keys = references::of_table(table, columns, constraints.unwrap_or_default())?;
        for (number, key) in keys.iter().enumerate() {
            defined.foreign_keys.push(foreign_key(&mut tr, table, number + 1, key)?);
        }
        let left_out = tr.out.left_out.take().unwrap_or_default();
        defined.left_out = left_out.into_iter().map(|(part, no)| LeftOut::of(part, *no)).collect();
        Ok(())
    })?;
    Ok(defined)
}

/// A foreign key with the statement that adds it.
fn foreign_key(tr: &mut Tr, table: &Table, number: usize, key: &ForeignKey) -> R<ForeignKeyDefinition> {
    let part = || format!("FOREIGN KEY ({})", key.columns(table).join(", "));
    let written = |tr: &mut Tr| Some(std::mem::take(&mut tr.out.sql)).filter(|sql| !sql.is_empty());
    tr.optional(part, |tr| references::foreign_key(tr, table, key))?;
    let constraint = written(tr);
    if let Some(constraint) = &constraint {
        tr.optional(part, |tr| {
            tr.put("ALTER TABLE ");
            tr.name(&table.name)?;
            tr.put(" ADD CONSTRAINT ");
            tr.name(&format!("{}_fk_{number}", table.name))?;
            tr.put(" ");
            tr.put(constraint);
            Ok(())
        })?;
    }
    Ok(ForeignKeyDefinition {
        columns: key.columns(table).into_iter().map(str::to_string).collect(),
        parent: key.parent(),
        to: key.to(tr.input.catalogue, table),
        constraint,
        sql: written(tr),
        waits: key.waits(tr.input.catalogue, table),
        acts: key.acts(),
    })
}

impl LeftOut {
    fn of(part: String, no: No) -> LeftOut {
        let is_foreign_key = no.rule == Id::ForeignKeys;
        LeftOut { part, rule: rules()[no.rule as usize].id, reason: no.reason, is_foreign_key }
    }
}

/// The columns of a table; `None` if it is missing or its columns are unknown.
pub fn table_columns(catalogue: &Catalogue, table: &str) -> Option<Vec<HeldColumn>> {
    let table = catalogue.table(table).filter(|table| table.kind == Kind::Table)?;
    let keys = || {
        let indexes = catalogue.indexes.iter().filter(|index| index.table == table.name);
        table.unique.iter().chain(indexes.filter_map(|index| index.columns.as_ref()))
    };
    let held = |(at, column): (usize, &Column)| HeldColumn {
        name: column.name.clone(),
        holds: column.ty.for_parameter(),
        is_rowid: table.rowid == Some(at),
        is_generated: column.generated,
        is_in_key: keys().any(|key| key.contains(&at)),
        key_characters: matches!(column.ty, Ty::Text | Ty::Blob)
            .then(|| key_characters(catalogue, table, at, column.size))
            .flatten(),
    };
    Some(table.columns.iter().enumerate().map(held).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::Target;

    fn defined(schema: &[&str], target: Target) -> TableDefinition {
        let mut catalogue = Catalogue::default();
        schema.iter().for_each(|sql| catalogue.learn(sql).expect("learned"));
        define_table(schema[schema.len() - 1], &catalogue, &Options::to(target)).expect("translated")
    }

    #[test]
    fn what_has_no_translation_is_left_out_and_listed() {
        let sql = "CREATE TABLE t (a TEXT DEFAULT (app_name()), b TEXT COLLATE NOCASE, c INTEGER CHECK (c REGEXP 'x'), \
                   UNIQUE (b COLLATE RTRIM, c), CHECK (c > 0))";
        let found = defined(&[sql], Target::Postgres);
        assert_eq!(
            found.create,
            r#"CREATE TABLE "t" ("a" text COLLATE "C", "b" text COLLATE "C", "c" bigint, CHECK ("c" > 0))"#
        );
        let parts: Vec<&str> = found.left_out.iter().map(|left| left.part.as_str()).collect();
        assert_eq!(parts, ["DEFAULT of column a", "CHECK of column c", "UNIQUE (b, c)"]);
    }

    #[test]
    fn what_mariadb_does_not_store_is_left_out_there() {
        let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT CHECK (date(d) > '1'), g INTEGER AS (length(d)) NOT NULL, \
                   h INTEGER AS (g + 1), p INTEGER NOT NULL REFERENCES t ON DELETE SET NULL, CHECK (id > 0))";
        let parts = |target| defined(&[sql], target).left_out.into_iter().map(|left| left.part).collect::<Vec<_>>();
        let left = ["CHECK of column d", "NOT NULL of column g", "CHECK of the table", "FOREIGN KEY (p)"];
        assert_eq!(parts(Target::MariaDb), left);
        assert_eq!(parts(Target::Postgres), [""; 0]);
        let create = defined(&[sql], Target::Postgres).create;
        assert!(create.contains(r#""h" bigint GENERATED ALWAYS AS ((CAST("#), "{create}");
    }

    #[test]
    fn keys_that_ignore_case_wait_for_the_rows() {
        let sql = "CREATE TABLE t (a TEXT COLLATE NOCASE PRIMARY KEY, b TEXT, UNIQUE (b COLLATE NOCASE, a))";
        let found = defined(&[sql], Target::Postgres);
        assert_eq!(found.create, r#"CREATE TABLE "t" ("a" text COLLATE "C", "b" text COLLATE "C")"#);
        let folded = |name: &str| format!(r#"lower(("{name}") COLLATE "C")"#);
        let both = format!(r#"CREATE UNIQUE INDEX ON "t" ({}, {})"#, folded("b"), folded("a"));
        assert_eq!(found.after, [format!(r#"CREATE UNIQUE INDEX ON "t" ({})"#, folded("a")), both]);
        assert_eq!(found.left_out, []);
        let found = defined(&[sql], Target::MariaDb);
        assert!(found.after[1].ends_with(r#"ADD UNIQUE INDEX "b_a_folded" ("b_folded", "a_folded")"#), "{found:?}");
    }

    #[test]
    fn foreign_keys_stand_apart() {
        let schema = [
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE c (p INTEGER REFERENCES p, q INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)",
        ];
        let found = defined(&schema, Target::MariaDb);
        assert!(!found.create.contains("REFERENCES"), "{}", found.create);
        let first = r#"ALTER TABLE "c" ADD CONSTRAINT "c_fk_1" FOREIGN KEY ("p") REFERENCES "p" ("id")"#;
        let [p, q] = &found.foreign_keys[..] else { panic!("{found:?}") };
        assert_eq!((p.sql.as_deref(), p.columns[0].as_str(), p.parent.as_str()), (Some(first), "p", "p"));
        assert!(q.sql.is_none() && !q.waits && !q.acts);
        assert_eq!(found.left_out[0].part, "FOREIGN KEY (q)");
        assert!(defined(&schema, Target::Postgres).foreign_keys.iter().all(|key| key.sql.is_some()));
        let waiting = defined(&["CREATE TABLE c (p INTEGER REFERENCES later ON DELETE CASCADE)"], Target::Postgres);
        assert!(waiting.foreign_keys[0].waits && waiting.foreign_keys[0].acts && waiting.left_out.len() == 1);
    }

    #[test]
    fn a_column_holds_what_the_data_says() {
        let sql = "CREATE TABLE t (a, b DATETIME, c STRING)";
        let mut catalogue = Catalogue::default();
        catalogue.set_held("T", "a", ParamType::Real);
        catalogue.set_held("t", "B", ParamType::Integer);
        catalogue.set_held("t", "c", ParamType::Text);
        catalogue.learn(sql).expect("learned");
        let found = define_table(sql, &catalogue, &Options::to(Target::MariaDb)).expect("translated");
        assert!(found.create.starts_with(r#"CREATE TABLE "t" ("a" DOUBLE, "b" BIGINT, "c" LONGTEXT)"#), "{found:?}");
    }
}
