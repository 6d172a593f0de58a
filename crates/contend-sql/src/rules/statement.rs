//! One statement of any kind, to the function that knows its kind.

use crate::catalogue::Catalogue;
use crate::emit::Tr;
use crate::parse::tree::{Cmd, CreateTableBody, InsertBody, Select, Stmt, Upsert};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::ddl::CreateIndex;
use crate::rules::insert::Insert;
use crate::rules::triggers::CreateTrigger;
use crate::rules::update::Update;

/// The table that a CREATE TABLE makes, by itself.
pub(crate) fn created(text: &str, statement: &Stmt) -> R<Option<Catalogue>> {
    match statement {
        Stmt::CreateTable { body: CreateTableBody::ColumnsAndConstraints { .. }, .. } => {
            let mut own = Catalogue::default();
            own.take_in(text, statement)?;
            Ok(Some(own))
        }
        _ => Ok(None),
    }
}

/// A statement without a place here: refused, not left out.
fn not_understood() -> R<()> {
    no(Id::Syntax, "", "a statement of a kind that is not understood")
}

impl<'a> Tr<'a> {
    pub(crate) fn statement(&mut self, command: &'a Cmd<'a>, own: Option<&'a Catalogue>) -> R<()> {
        let Cmd::Stmt(statement) = command else {
            return no(Id::Explain, "EXPLAIN", "plans of another engine mean nothing here");
        };
        match statement {
            Stmt::Select(select) => self.query(select, false).map(drop),
            Stmt::Insert { .. } | Stmt::Update { .. } | Stmt::Delete { .. } => self.change(statement),
            Stmt::Begin(..) | Stmt::Commit(_) | Stmt::Rollback { .. } | Stmt::Savepoint(_) | Stmt::Release(_) => {
                self.of_transactions(statement)
            }
            Stmt::Pragma(name, body) => self.pragma(name, body.as_ref()),
            Stmt::Vacuum(_, into) => self.vacuum(into.is_some()),
            Stmt::Analyze(name) => self.analyze(name.as_ref()),
            Stmt::Reindex { .. } => {
                self.fire(Id::Maintenance);
                Ok(())
            }
            Stmt::Attach { .. } | Stmt::Detach(_) => no(Id::Attach, "", "a server has one database in a session"),
            _ => self.define(statement, own),
        }
    }

    /// INSERT, UPDATE and DELETE.
    fn change(&mut self, statement: &'a Stmt<'a>) -> R<()> {
        match statement {
            Stmt::Insert { with, or_conflict, tbl_name, columns, body, returning } => {
                let (select, upsert): (Option<&'a Select<'a>>, Option<&'a Upsert<'a>>) = match body {
                    InsertBody::Select(select, upsert) => (Some(select), *upsert),
                    InsertBody::DefaultValues => (None, None),
                };
                self.insert(Insert {
                    with: with.as_ref(),
                    or: *or_conflict,
                    table: tbl_name,
                    columns: columns.as_ref(),
                    select,
                    upsert,
                    returning: *returning,
                })
            }
            Stmt::Update {
                with,
                or_conflict,
                tbl_name,
                indexed,
                sets,
                from,
                where_clause,
                returning,
                order_by,
                limit,
            } => self.update(Update {
                with: with.as_ref(),
                or: *or_conflict,
                table: tbl_name,
                indexed: indexed.as_ref(),
                sets,
                from: from.as_ref(),
                condition: where_clause.as_ref(),
                returning: *returning,
                order: *order_by,
                limit: *limit,
            }),
            Stmt::Delete { with, tbl_name, indexed, where_clause, returning, order_by, limit } => self.delete(
                with.as_ref(),
                tbl_name,
                indexed.as_ref(),
                where_clause.as_ref(),
                *returning,
                *order_by,
                *limit,
            ),
            _ => not_understood(),
        }
    }

    fn of_transactions(&mut self, statement: &'a Stmt<'a>) -> R<()> {
        match statement {
            Stmt::Begin(..) => self.begin(),
            Stmt::Rollback { savepoint_name: Some(name), .. } => {
                return self.savepoint("ROLLBACK TO SAVEPOINT ", name);
            }
            Stmt::Savepoint(name) => return self.savepoint("SAVEPOINT ", name),
            Stmt::Release(name) => return self.savepoint("RELEASE SAVEPOINT ", name),
            ended => {
                self.fire(Id::Transactions);
                self.put(if matches!(ended, Stmt::Commit(_)) { "COMMIT" } else { "ROLLBACK" });
            }
        }
        Ok(())
    }

    /// CREATE, ALTER and DROP.
    fn define(&mut self, statement: &'a Stmt<'a>, own: Option<&'a Catalogue>) -> R<()> {
        match statement {
            Stmt::CreateTable { temporary, if_not_exists, tbl_name, body: CreateTableBody::AsSelect(select) } => {
                self.create_table_as(*temporary, *if_not_exists, tbl_name, select)
            }
            Stmt::CreateTable { temporary, if_not_exists, tbl_name, body } => {
                match own.and_then(|o| o.tables.first()) {
                    Some(table) => self.create_table(*temporary, *if_not_exists, tbl_name, body, table),
                    None => no(Id::Syntax, tbl_name.name.0, "a table of a form that is not understood"),
                }
            }
            Stmt::CreateIndex { unique, if_not_exists, idx_name, tbl_name, columns, where_clause } => self
                .create_index(CreateIndex {
                    unique: *unique,
                    if_not_exists: *if_not_exists,
                    name: idx_name,
                    table: tbl_name.0,
                    columns,
                    condition: where_clause.as_ref(),
                }),
            Stmt::CreateView { temporary, if_not_exists, view_name, columns, select } => {
                self.create_view(*temporary, *if_not_exists, view_name, *columns, select)
            }
            Stmt::CreateTrigger { temporary: true, trigger_name, .. } => {
                no(Id::Triggers, trigger_name.name.0, "a temporary trigger")
            }
            Stmt::CreateTrigger { trigger_name, time, event, tbl_name, when_clause, commands, .. } => self
                .create_trigger(CreateTrigger {
                    name: trigger_name,
                    time: *time,
                    event,
                    table: tbl_name,
                    when: when_clause.as_ref(),
                    commands,
                }),
            Stmt::CreateVirtualTable { tbl_name, .. } => {
                no(Id::VirtualTables, tbl_name.name.0, "the server has no such virtual table")
            }
            Stmt::AlterTable(table, body) => self.alter_table(table, body),
            Stmt::DropTable { if_exists, tbl_name } => self.drop("TABLE", tbl_name, *if_exists),
            Stmt::DropIndex { if_exists, idx_name } => self.drop("INDEX", idx_name, *if_exists),
            Stmt::DropView { if_exists, view_name } => self.drop("VIEW", view_name, *if_exists),
            Stmt::DropTrigger { trigger_name, if_exists } => self.drop_trigger(trigger_name, *if_exists),
            _ => not_understood(),
        }
    }
}
