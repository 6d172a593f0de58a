//! The schema at each point of a text: after the statements before that point.

use std::rc::Rc;

use crate::catalogue::{Catalogue, Trigger};
use crate::names::unquote;
use crate::parse::tree::{AlterTableBody, Cmd, Stmt};
use crate::read;
use crate::refuse::{R, no};
use crate::rules::session::switched;
use crate::rules::{Id, chains, indexes};

/// The schema at a point of a text.
pub(crate) struct Point<'c> {
    given: &'c Catalogue,
    /// The schema after definitions of the text; `None` before the first.
    now: Option<Rc<Catalogue>>,
    /// The schema when the open transaction and its savepoints began, with the savepoints' names.
    open: Vec<(Option<String>, Option<Rc<Catalogue>>)>,
}

impl<'c> Point<'c> {
    pub(crate) fn new(given: &'c Catalogue) -> Point<'c> {
        Point { given, now: None, open: vec![] }
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        self.now.as_deref().unwrap_or(self.given)
    }

    /// Moves behind a statement.
    ///
    /// # Errors
    /// Its effect on the schema is not supported; the schema stays as it was.
    pub(crate) fn pass(&mut self, text: &str, statement: &Stmt) -> R<()> {
        match statement {
            Stmt::Begin(..) if self.open.is_empty() => self.open.push((None, self.now.clone())),
            Stmt::Savepoint(name) => self.open.push((Some(folded(name.0)), self.now.clone())),
            Stmt::Commit(_) => self.open.clear(),
            Stmt::Release(name) => {
                let at = self.savepoint(name.0);
                self.open.truncate(at.unwrap_or(self.open.len()));
            }
            Stmt::Rollback { savepoint_name: Some(name), .. } => {
                if let Some(at) = self.savepoint(name.0) {
                    self.open.truncate(at + 1);
                    self.restore(self.open[at].1.clone());
                }
            }
            Stmt::Rollback { .. } => {
                if let Some((_, then)) = std::mem::take(&mut self.open).into_iter().next() {
                    self.restore(then);
                }
            }
            // In a transaction SQLite ignores it.
            Stmt::Pragma(name, body)
                if !self.open.is_empty() && switched("foreign_keys", name, body.as_ref()).is_some() => {}
            _ if defines(statement) => {
                let now = self.now.get_or_insert_with(|| Rc::new(self.given.clone()));
                return Rc::make_mut(now).take_in(text, statement);
            }
            _ => {}
        }
        Ok(())
    }

    /// Goes back to a schema. No rollback undoes a setting.
    fn restore(&mut self, then: Option<Rc<Catalogue>>) {
        let like = self.catalogue().case_sensitive_like;
        self.now = then;
        if self.catalogue().case_sensitive_like != like {
            let now = self.now.get_or_insert_with(|| Rc::new(self.given.clone()));
            Rc::make_mut(now).case_sensitive_like = like;
        }
    }

    /// Place of the newest savepoint of this name.
    fn savepoint(&self, name: &str) -> Option<usize> {
        let name = Some(folded(name));
        self.open.iter().rposition(|(known, _)| *known == name)
    }
}

fn folded(name: &str) -> String {
    unquote(name).to_ascii_lowercase()
}

/// Whether a statement changes the schema.
fn defines(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::CreateTable { .. }
            | Stmt::CreateIndex { .. }
            | Stmt::CreateView { .. }
            | Stmt::CreateVirtualTable { .. }
            | Stmt::CreateTrigger { .. }
            | Stmt::AlterTable(..)
            | Stmt::DropTable { .. }
            | Stmt::DropIndex { .. }
            | Stmt::DropView { .. }
            | Stmt::DropTrigger { .. }
            | Stmt::Pragma(..)
    )
}

/// The catalogue at the beginning of a text, with the lengths that texts may have in the keys that the text adds later:
/// MariaDB's columns need them from the beginning.
pub(crate) fn foreseen(sql: &str, given: &Catalogue) -> Catalogue {
    let (mut point, mut characters) = (Point::new(given), vec![]);
    read::all(sql, |text, _, command| {
        let Cmd::Stmt(statement) = command else { return Ok(()) };
        // What is not supported is refused when the statement is translated.
        let _ = point.pass(text, statement);
        if let Stmt::CreateIndex { tbl_name, columns, .. } = statement
            && let Some(table) = point.catalogue().table(&unquote(tbl_name.0))
            && let Some(key) = table.positions(columns)
        {
            let room = indexes::room(table, &key);
            characters.extend(key.iter().map(|position| (table.columns[*position].number, room)));
        }
        Ok(())
    });
    let mut catalogue = given.clone();
    catalogue.foreseen = characters;
    catalogue
}

/// Refuses a change of names that SQLite makes in triggers, too, or a table to which a trigger would now refer: on the
/// server a trigger stays as it was translated.
pub(crate) fn no_trigger_over(catalogue: &Catalogue, statement: &Stmt) -> R<()> {
    let uses = |trigger: &&Trigger, table: &str| {
        !trigger.table.eq_ignore_ascii_case(table)
            && (trigger.writes.iter().any(|write| write.table.eq_ignore_ascii_case(table))
                || trigger.body.as_ref().is_some_and(|body| chains::reads(catalogue, body, table)))
    };
    let (token, user) = match statement {
        Stmt::CreateTable { tbl_name, temporary: false, .. } | Stmt::CreateView { view_name: tbl_name, .. } => {
            let name = unquote(tbl_name.name.0);
            let is_new = catalogue.table(&name).is_none();
            (tbl_name.name.0, catalogue.triggers.iter().find(|trigger| is_new && uses(trigger, &name)))
        }
        Stmt::AlterTable(table, body) => {
            let name = unquote(table.name.0);
            let by = |trigger: &&Trigger| match body {
                AlterTableBody::RenameTo(new) => uses(trigger, &name) || uses(trigger, &unquote(new.0)),
                AlterTableBody::RenameColumn { old, .. } => {
                    let names = |body: &String| chains::mentions(body, &unquote(old.0));
                    (uses(trigger, &name) || trigger.table.eq_ignore_ascii_case(&name))
                        && trigger.body.as_ref().is_none_or(names)
                }
                _ => false,
            };
            (table.name.0, catalogue.triggers.iter().find(by))
        }
        _ => return Ok(()),
    };
    match user {
        None => Ok(()),
        Some(trigger) => {
            let why = format!("the trigger `{}` uses this name, and stays as it is on the server", trigger.name);
            no(Id::Triggers, token, why)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, Options, Target, translate, translate_script};

    fn options(target: Target) -> Options {
        Options { pack: true, ..Options::to(target) }
    }

    /// The statements of a script, or the rules by which it is refused.
    fn script(sql: &str, target: Target) -> Result<Vec<String>, Vec<&'static str>> {
        let done = translate_script(sql, &Catalogue::default(), &options(target));
        done.map(|t| t.statements.into_iter().filter(|s| s.main).map(|s| s.sql).collect())
            .map_err(|refused| refused.iter().map(|r| r.rule).collect())
    }

    /// A statement of a database with this schema.
    fn alone(schema: &str, sql: &str, target: Target) -> String {
        let mut catalogue = Catalogue::default();
        catalogue.learn(schema).expect("the schema");
        translate(sql, &catalogue, &options(target)).expect("translated").statements[0].sql.clone()
    }

    const BOTH: [Target; 2] = [Target::Postgres, Target::MariaDb];

    #[test]
    fn a_statement_has_the_schema_of_its_place() {
        let (text, integer) = ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a INTEGER)");
        let select = "SELECT a < '5' FROM t";
        for target in BOTH {
            let of = [text, integer].map(|schema| alone(schema, select, target));
            assert_ne!(of[0], of[1]);
            let found = script(&format!("{text}; {select}; DROP TABLE t; {integer}; {select}"), target);
            let found = found.expect("translated");
            assert_eq!([&found[1], &found[4]], [&of[0], &of[1]]);
            let renamed = format!("{text}; ALTER TABLE t RENAME TO u; {integer}; {select}; SELECT a < '5' FROM u");
            let found = script(&renamed, target).expect("translated");
            assert_eq!(found[3], of[1]);
            assert_eq!(found[4].replace("\"u\"", "\"t\""), of[0]);
            let columns = format!("{integer}; ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN a TEXT");
            assert_eq!(script(&format!("{columns}; {select}"), target).expect("translated")[3], of[0]);
        }
    }

    #[test]
    fn a_rollback_takes_the_schema_back() {
        let select = "SELECT a < '5' FROM t";
        let old = alone("CREATE TABLE t (a TEXT)", select, Target::Postgres);
        for (begin, end) in [
            ("BEGIN", "ROLLBACK"),
            ("BEGIN; SAVEPOINT a; SAVEPOINT b; RELEASE b", "ROLLBACK TO A; COMMIT"),
            ("SAVEPOINT a", "ROLLBACK TO a; RELEASE a"),
        ] {
            let change = "DROP TABLE t; CREATE TABLE t (a INTEGER)";
            let sql = |end: &str| format!("CREATE TABLE t (a TEXT); {begin}; {change}; {end}; {select}");
            let last = |end: &str| script(&sql(end), Target::Postgres).expect("translated").pop();
            assert_eq!(last(end).as_ref(), Some(&old), "{begin}");
            assert_ne!(last("COMMIT").as_ref(), Some(&old), "{begin}");
        }
    }

    #[test]
    fn a_text_of_a_key_that_comes_later_has_its_length() {
        let made = |sql: &str| script(sql, Target::MariaDb).expect("translated")[0].clone();
        let long = "VARCHAR(384)";
        for sql in [
            "CREATE TABLE t (a VARCHAR(900), b TEXT); CREATE INDEX i ON t (a, b)",
            "CREATE TABLE t (a VARCHAR(900)); ALTER TABLE t ADD b TEXT; ALTER TABLE t RENAME TO u; \
             ALTER TABLE u RENAME COLUMN a TO c; CREATE INDEX i ON u (c, b)",
        ] {
            assert!(made(sql).contains(long), "{}", made(sql));
        }
        let other = made("CREATE TABLE t (a TEXT); DROP TABLE t; CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a)");
        assert!(other.contains("\"a\" LONGTEXT"), "{other}");
        let added = "CREATE TABLE t (id INTEGER); ALTER TABLE t ADD a TEXT; CREATE INDEX i ON t (a)";
        let added = script(added, Target::MariaDb).expect("translated");
        assert!(added[1].contains("VARCHAR(255)"), "{added:?}");
    }

    #[test]
    fn what_keeps_an_earlier_schema_is_refused() {
        let view = "CREATE TABLE t (a TEXT); CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a FROM v; \
                    DROP TABLE t; CREATE TABLE t (a INTEGER); ";
        let tables = "CREATE TABLE t (a INTEGER); CREATE TABLE u (b INTEGER); CREATE TRIGGER r AFTER INSERT ON u BEGIN \
                      INSERT INTO t (a) VALUES (new.b); END; ";
        for target in BOTH {
            for query in ["SELECT a < 5 FROM v", "SELECT a < 5 FROM w"] {
                assert!(script(&format!("{view}{query}"), target).is_err(), "{query}");
            }
            assert!(script(&format!("{view}SELECT a < 5 FROM t"), target).is_ok());
            for change in [
                "DROP TABLE t; CREATE TABLE t (a TEXT)",
                "ALTER TABLE t RENAME TO w",
                "ALTER TABLE u RENAME COLUMN b TO c",
                "DROP TABLE t; CREATE TABLE w (a INTEGER); ALTER TABLE w RENAME TO t",
            ] {
                assert_eq!(script(&format!("{tables}{change}"), target), Err(vec!["triggers"]), "{change}");
            }
            for change in ["DROP TABLE t", "ALTER TABLE u RENAME TO w", "DROP TRIGGER r; ALTER TABLE t RENAME TO w"] {
                assert!(script(&format!("{tables}{change}"), target).is_ok(), "{change}");
            }
        }
    }

    #[test]
    fn a_table_that_is_there_is_not_made_again() {
        for target in BOTH {
            let again = script("CREATE TABLE t (a TEXT); CREATE TABLE t (a INTEGER)", target);
            assert_eq!(again, Err(vec!["syntax"]));
        }
    }
}
