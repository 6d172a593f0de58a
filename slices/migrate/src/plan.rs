//! The steps of a migration, from the schema and contents of the source. Pure.

use crate::look::{self, Kind, Object, Schema};
use crate::profile::{self, Profile, Sort};
use contend_sql::{
    Catalogue, HIDDEN_ROWID, HeldColumn, Options, ParamType, Refusal, Target, ValueCounts, define_table, table_columns,
    translate,
};
use contend_wire::kept::{literal, mentions, quoted};

/// The user's options.
#[derive(Debug, Clone)]
pub struct Asked {
    pub target: Target,
    /// Objects to leave out; a table with its indexes and triggers.
    pub without: Vec<String>,
    pub foreign_keys: bool,
    /// Whether tables without INTEGER PRIMARY KEY get a hidden column with their rowids.
    pub rowids: bool,
}

/// Object that a step creates, in the order of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Makes {
    /// A table and its rows.
    Table,
    /// A unique key, created after the rows are loaded.
    UniqueKey,
    /// The next value of a counter.
    Counter,
    Index,
    ForeignKey,
    View,
    Trigger,
}

impl Makes {
    /// The word in the ledger.
    pub fn word(self) -> &'static str {
        match self {
            Makes::Table => "table",
            Makes::UniqueKey => "unique key",
            Makes::Counter => "counter",
            Makes::Index => "index",
            Makes::ForeignKey => "foreign key",
            Makes::View => "view",
            Makes::Trigger => "trigger",
        }
    }
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub makes: Makes,
    pub name: String,
    pub table: String,
    /// SQLite's statement, if the step creates an object of the schema.
    pub original: String,
    /// Statements for the server.
    pub sql: Vec<String>,
}

/// A table whose rows are carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub rows: u64,
    /// Those of SQLite's table, and the hidden one with its rowids.
    pub columns: Vec<HeldColumn>,
}

impl Table {
    /// `columns`: those of SQLite's table.
    pub fn new(name: &str, rows: u64, mut columns: Vec<HeldColumn>, catalogue: &Catalogue) -> Table {
        let is_named = look::rowid_name(columns.iter().map(|column| column.name.as_str())).is_some();
        // Rowids that no statement can name are the server's own.
        if is_named && catalogue.has_hidden_rowid(name) {
            columns.push(HeldColumn {
                name: HIDDEN_ROWID.to_string(),
                holds: ParamType::Integer,
                is_rowid: true,
                is_generated: false,
                is_in_key: false,
                key_characters: None,
            });
        }
        Table { name: name.to_string(), rows, columns }
    }

    /// Names of the columns that rows are written to; the server computes the others.
    pub fn stored(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| !column.is_generated).map(|column| column.name.as_str())
    }

    /// Names of all columns.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Whether each of these columns has tagged values, as `contend shim` stores them.
    pub fn tagged<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<bool> {
        let is_tagged = |name| self.columns.iter().any(|column| column.name == name && column.is_tagged());
        names.map(is_tagged).collect()
    }

    /// The column with the rowid.
    pub fn rowid(&self) -> Option<&str> {
        self.columns.iter().find(|column| column.is_rowid).map(|column| column.name.as_str())
    }
}

/// A part of the schema that is not carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its name: `CHECK of column size of table item`.
    pub what: String,
    pub why: String,
    /// The object of the schema, if it is a whole one.
    pub object: Option<Object>,
    pub is_foreign_key: bool,
}

/// A column whose values do not have its declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub table: String,
    pub column: String,
    pub holds: ParamType,
}

/// All steps of a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub tables: Vec<Table>,
    pub steps: Vec<Step>,
    pub left: Vec<Left>,
    /// Tables that cannot be translated, and objects that the server refuses; if there are any, nothing is written.
    pub refused: Vec<Left>,
    pub held: Vec<Held>,
    /// Whether tables without INTEGER PRIMARY KEY have a hidden column with their rowids.
    pub rowids: bool,
}

/// How the schema is translated. PostgreSQL's own expressions in a schema may call functions, MariaDB's may not.
fn options(target: Target) -> Options {
    Options { pack: target == Target::Postgres, sqlite: 0, ..Options::to(target) }
}

impl Plan {
    /// Whether a statement calls functions of the pack.
    pub fn needs_pack(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.sql).any(|sql| sql.contains("contend_sql."))
    }
}

/// Makes the plan. `profiles` has one entry per table of the schema, in their order.
pub fn of(schema: &Schema, profiles: &[Profile], asked: &Asked) -> Plan {
    let mut plan = Plan { rowids: asked.rowids, ..Plan::default() };
    let objects = by_dependency(wanted(schema, asked, &mut plan.left));
    let (declared, _) = learned(&objects, &[], false);
    plan.held = held(schema, profiles, &declared);
    let (catalogue, refusals) = learned(&objects, &plan.held, asked.rowids);
    let translator = Translator { catalogue, refusals, options: options(asked.target), asked };
    for (table, profile) in schema.tables.iter().zip(profiles) {
        let Some(object) = objects.iter().find(|o| o.kind == Kind::Table && o.name == table.name) else { continue };
        translator.table(object, table, profile, &mut plan);
    }
    // What uses a view comes after it: whether the view is left out is then known.
    for kind in [Kind::Index, Kind::View, Kind::Trigger] {
        objects.iter().filter(|object| object.kind == kind).for_each(|object| translator.object(object, &mut plan));
    }
    plan.steps.sort_by_key(|step| step.makes);
    plan
}

/// The objects that may be carried over.
fn wanted<'s>(schema: &'s Schema, asked: &Asked, left: &mut Vec<Left>) -> Vec<&'s Object> {
    let is_one_of = |names: &[String], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut wanted = vec![];
    for object in schema.objects.iter().filter(|object| !is_one_of(&schema.shadow_tables, &object.table)) {
        let why = match () {
            () if is_one_of(&schema.virtual_tables, &object.table) => "a virtual table, which servers do not have",
            () if asked.without.iter().any(|name| object.is_of(name)) => "left out with --without",
            () => {
                wanted.push(object);
                continue;
            }
        };
        left.push(Left {
            what: called(object),
            why: why.to_string(),
            object: Some(object.clone()),
            is_foreign_key: false,
        });
    }
    wanted
}

/// The same objects, each view after the views that it mentions; SQLite lists a view that was made again last.
fn by_dependency(objects: Vec<&Object>) -> Vec<&Object> {
    let (mut waiting, mut ordered): (Vec<&Object>, Vec<&Object>) =
        objects.into_iter().partition(|object| object.kind == Kind::View);
    while !waiting.is_empty() {
        let is_ready = |view: &&Object| !waiting.iter().any(|other| other != view && mentions(&view.sql, &other.name));
        // A word that is not the view's name can close a circle.
        let next = waiting.iter().position(is_ready).unwrap_or(0);
        ordered.push(waiting.remove(next));
    }
    ordered
}

/// Why an object cannot be created: it uses a view that is left out.
fn uses_left_view(object: &Object, left: &[Left]) -> Option<String> {
    let mut views = left.iter().filter_map(|left| left.object.as_ref()).filter(|object| object.kind == Kind::View);
    let uses = |view: &&Object| object.table.eq_ignore_ascii_case(&view.name) || mentions(&object.sql, &view.name);
    views.find(uses).filter(|_| object.kind != Kind::Index).map(|view| format!("it uses {}", view.name))
}

fn called(object: &Object) -> String {
    format!("{} {}", object.kind.word(), object.name)
}

/// A catalogue of the objects, and the objects that it cannot represent.
fn learned<'o>(objects: &[&'o Object], held: &[Held], rowids: bool) -> (Catalogue, Vec<(&'o Object, Refusal)>) {
    let (mut catalogue, mut refusals) = (Catalogue::default(), vec![]);
    if rowids {
        catalogue.keep_rowids();
    }
    held.iter().for_each(|held| catalogue.set_held(&held.table, &held.column, held.holds));
    for kind in Kind::ALL {
        for object in objects.iter().filter(|object| object.kind == kind) {
            if let Err(refusal) = catalogue.learn(&object.sql) {
                refusals.push((*object, refusal));
            }
        }
    }
    (catalogue, refusals)
}

/// Columns whose values determine the server's type: the declared type fits none of them, or is missing.
fn held(schema: &Schema, profiles: &[Profile], declared: &Catalogue) -> Vec<Held> {
    let mut found = vec![];
    for (table, profile) in schema.tables.iter().zip(profiles) {
        for column in table_columns(declared, &table.name).unwrap_or_default() {
            let at = table.columns.iter().position(|name| *name == column.name);
            let Some(seen) = at.map(|at| &profile.columns[at]) else { continue };
            if let Some(holds) = by_values(column.holds, seen) {
                found.push(Held { table: table.name.clone(), column: column.name, holds });
            }
        }
    }
    found
}

/// The type of a column's values; `None` if the declared type fits some of them.
fn by_values(declared: ParamType, column: &profile::Column) -> Option<ParamType> {
    let count = |sorts: &[Sort]| sorts.iter().map(|sort| column.of(*sort).count).sum::<u64>();
    let integers = count(&[Sort::Integer]);
    let reals = count(&[Sort::Whole, Sort::NegativeZero, Sort::Real, Sort::Far, Sort::Infinite]);
    let texts = count(&[Sort::Text, Sort::TextWithNul, Sort::BrokenText]);
    let blobs = count(&[Sort::Blob]);
    declared.for_values(ValueCounts { integers, reals, texts, blobs })
}

/// The largest key that a table has or had in its column with the rowid.
fn largest_key(rowid: &str, source: &look::Table, profile: &Profile) -> Option<i64> {
    let at = source.columns.iter().position(|name| name == rowid);
    let largest = at.map_or(profile.largest_rowid, |at| profile.columns[at].largest);
    source.last_key.into_iter().chain((profile.rows > 0).then_some(largest)).max()
}

/// Translates objects into steps.
struct Translator<'p> {
    catalogue: Catalogue,
    refusals: Vec<(&'p Object, Refusal)>,
    options: Options,
    asked: &'p Asked,
}

impl Translator<'_> {
    fn refusal(&self, object: &Object) -> Option<String> {
        self.refusals.iter().find(|(refused, _)| *refused == object).map(|(_, refusal)| refusal.to_string())
    }

    /// Whether MariaDB's client takes a name for a parameter: to it, a backslash hides the quote after it.
    fn is_misread(&self, object: &Object, columns: &[HeldColumn]) -> bool {
        let has = |what: &[char]| object.name.contains(what) || columns.iter().any(|column| column.name.contains(what));
        self.asked.target == Target::MariaDb && has(&['\\']) && has(&[':', '?'])
    }

    /// Why a table's columns cannot be carried over.
    fn obstacle(&self, object: &Object, columns: &[HeldColumn]) -> Option<String> {
        let is_taken = |column: &HeldColumn| column.name.eq_ignore_ascii_case(HIDDEN_ROWID);
        if self.catalogue.has_hidden_rowid(&object.name) && columns.iter().any(is_taken) {
            return Some(format!("its rowids would be in a column {HIDDEN_ROWID}, which it has; see --no-rowids"));
        }
        let why = "contend cannot read it back: one of its names has a backslash, and one a colon or question mark";
        self.is_misread(object, columns).then(|| why.to_string())
    }

    fn table(&self, object: &Object, source: &look::Table, profile: &Profile, plan: &mut Plan) {
        let defined = match self.refusal(object) {
            Some(why) => Err(why),
            None => define_table(&object.sql, &self.catalogue, &self.options).map_err(|refusal| refusal.to_string()),
        };
        let columns = table_columns(&self.catalogue, &object.name).ok_or("its columns are not understood".to_string());
        let columns = columns.and_then(|columns| self.obstacle(object, &columns).map_or(Ok(columns), Err));
        let (defined, columns) = match defined.and_then(|defined| Ok((defined, columns?))) {
            Ok(both) => both,
            Err(why) => {
                return plan.refused.push(Left {
                    what: called(object),
                    why,
                    object: Some(object.clone()),
                    is_foreign_key: false,
                });
            }
        };
        let step = |makes, name: &str, sql| {
            let original = if makes == Makes::Table { object.sql.clone() } else { String::new() };
            Step { makes, name: name.to_string(), table: object.name.clone(), original, sql }
        };
        plan.steps.push(step(Makes::Table, &object.name, vec![defined.create]));
        if !defined.after.is_empty() {
            plan.steps.push(step(Makes::UniqueKey, &object.name, defined.after));
        }
        let table = Table::new(&object.name, profile.rows, columns, &self.catalogue);
        if let Some(rowid) = table.rowid() {
            let sql = largest_key(rowid, source, profile).and_then(|largest| self.counter(&table.name, rowid, largest));
            plan.steps.push(step(Makes::Counter, &object.name, sql.into_iter().collect()));
        }
        plan.tables.push(table);
        let left_out =
            |what: String, why: &str, is_foreign_key| Left { what, why: why.to_string(), object: None, is_foreign_key };
        let of_table = |part: &str| format!("{part} of table {}", object.name);
        let translated =
            defined.left_out.iter().map(|left| left_out(of_table(&left.part), &left.reason, left.is_foreign_key));
        plan.left.extend(translated);
        for (number, sql) in defined.foreign_keys.into_iter().filter_map(|key| key.sql).enumerate() {
            match self.asked.foreign_keys {
                true => plan.steps.push(step(Makes::ForeignKey, &format!("{}.{}", object.name, number + 1), vec![sql])),
                false => plan.left.push(left_out(of_table("a foreign key"), "left out with --no-foreign-keys", true)),
            }
        }
    }

    /// The statement after which the next row gets a key above the largest one.
    fn counter(&self, table: &str, rowid: &str, largest: i64) -> Option<String> {
        match self.asked.target {
            Target::Postgres => (largest > 0).then(|| {
                let (table, rowid) = (literal(&quoted(table)), literal(rowid));
                format!("SELECT setval(pg_get_serial_sequence({table}, {rowid}), {largest})")
            }),
            Target::MariaDb => {
                let next = largest.checked_add(1).filter(|next| *next > 1)?;
                Some(format!("ALTER TABLE {} AUTO_INCREMENT = {next}", quoted(table)))
            }
        }
    }

    /// Translates an index, view or trigger.
    fn object(&self, object: &Object, plan: &mut Plan) {
        let makes = match object.kind {
            Kind::Index => Makes::Index,
            Kind::View => Makes::View,
            Kind::Table | Kind::Trigger => Makes::Trigger,
        };
        let translated = match self.refusal(object).or_else(|| uses_left_view(object, &plan.left)) {
            Some(why) => Err(why),
            None => translate(&object.sql, &self.catalogue, &self.options).map_err(|refusal| refusal.to_string()),
        };
        let sql = translated.and_then(|translation| match translation.statements.iter().any(|sql| sql.main) {
            true => Ok(translation.statements.into_iter().map(|statement| statement.sql).collect()),
            false => Err("MariaDB has no index over expressions; no answer depends on it".to_string()),
        });
        match sql {
            Ok(sql) => plan.steps.push(Step {
                makes,
                name: object.name.clone(),
                table: object.table.clone(),
                original: object.sql.clone(),
                sql,
            }),
            Err(why) => {
                plan.left.push(Left { what: called(object), why, object: Some(object.clone()), is_foreign_key: false })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::sync::atomic::AtomicBool;

    fn planned(target: Target, sql: &str) -> Plan {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(sql).expect("made");
        let schema = crate::look::schema(&connection).expect("read");
        let profiles: Vec<Profile> = schema
            .tables
            .iter()
            .map(|table| profile::of_table(&connection, table, &AtomicBool::new(false)).expect("read"))
            .collect();
        of(&schema, &profiles, &Asked { target, without: vec!["skipped".into()], foreign_keys: true, rowids: true })
    }

    #[test]
    fn columns_hold_what_their_values_are() {
        let plan = planned(
            Target::Postgres,
            "CREATE TABLE t (a, b STRING, c DATETIME, d INTEGER, e); \
             INSERT INTO t VALUES (1.5, 'x', 5, 'y', NULL), (2, NULL, 6, 'z', NULL)",
        );
        let held: Vec<(&str, &str)> = plan.held.iter().map(|h| (h.column.as_str(), h.holds.word())).collect();
        assert_eq!(held, [("a", "number"), ("b", "text"), ("c", "integer"), ("d", "text"), ("e", "text")]);
        let create = &plan.steps[0].sql[0];
        assert!(create.contains(r#""a" numeric, "b" text COLLATE "C", "c" bigint, "d" text"#), "{create}");
    }

    #[test]
    fn names_that_the_client_misreads_are_refused() {
        let sql =
            r#"CREATE TABLE "a\" ("b:c" INTEGER); CREATE TABLE "d\" (e INTEGER); CREATE TABLE f ("g:h" INTEGER, i)"#;
        let refused = |target| planned(target, sql).refused.iter().map(|left| left.what.clone()).collect::<Vec<_>>();
        assert_eq!(refused(Target::MariaDb), [r"table a\"]);
        assert_eq!(refused(Target::Postgres), [""; 0]);
    }

    #[test]
    fn steps_stand_in_the_order_in_which_they_can_be_carried_out() {
        let plan = planned(
            Target::MariaDb,
            "CREATE TABLE c (id INTEGER PRIMARY KEY AUTOINCREMENT, p INTEGER REFERENCES p); \
             CREATE VIEW v AS SELECT id FROM c; CREATE INDEX i ON c (p); CREATE INDEX e ON c (p + 1); \
             CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE skipped (a); CREATE VIRTUAL TABLE f USING fts5(x); \
             INSERT INTO p VALUES (7); INSERT INTO c VALUES (5, 7); DELETE FROM c",
        );
        let steps: Vec<(&str, &str)> = plan.steps.iter().map(|s| (s.makes.word(), s.name.as_str())).collect();
        let wanted = [
            ("table", "c"),
            ("table", "p"),
            ("counter", "c"),
            ("counter", "p"),
            ("index", "i"),
            ("foreign key", "c.1"),
            ("view", "v"),
        ];
        assert_eq!(steps, wanted);
        assert_eq!(plan.steps[2].sql, [r#"ALTER TABLE "c" AUTO_INCREMENT = 6"#], "5 was given, and is not given again");
        let left: Vec<&str> = plan.left.iter().map(|left| left.what.as_str()).collect();
        assert!(left.contains(&"table skipped") && left.contains(&"table f") && left.contains(&"index e"), "{left:?}");
        assert!(!left.contains(&"table f_data"), "{left:?}");
        assert_eq!(plan.refused, []);
    }

    #[test]
    fn a_view_comes_after_those_that_it_uses_and_is_left_out_with_them() {
        let plan = planned(
            Target::Postgres,
            "CREATE TABLE t (a INTEGER); CREATE VIEW v1 AS SELECT a FROM t; CREATE VIEW v2 AS SELECT a FROM v1; \
             DROP VIEW v1; CREATE VIEW v3 AS SELECT a FROM bad; CREATE VIEW v1 AS SELECT a FROM t; \
             CREATE TRIGGER r INSTEAD OF INSERT ON v3 BEGIN DELETE FROM t; END; \
             CREATE VIEW bad AS SELECT a, load_extension('x') FROM t",
        );
        let steps: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(steps, ["t", "t", "v1", "v2"], "the table and its counter");
        let left: Vec<(&str, &str)> = plan.left.iter().map(|left| (left.what.as_str(), left.why.as_str())).collect();
        assert_eq!(left[1..], [("view v3", "it uses bad"), ("trigger r", "it uses v3")]);
    }
}
