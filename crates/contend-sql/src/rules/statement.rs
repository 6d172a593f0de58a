//! Dispatches a statement by its kind.

use crate::catalogue::Catalogue;
use crate::emit::Tr;
use crate::parse::tree::{Cmd, CreateTableBody, InsertBody, Select, Stmt, Upsert};
use crate::refuse::{R, no};
use crate::rules::ddl::Created;
use crate::rules::indexes::CreateIndex;
use crate::rules::insert::Insert;
use crate::rules::triggers::CreateTrigger;
use crate::rules::update::{Delete, Update};
use crate::rules::{Id, ddl, indexes, insert, session, tagged, triggers, update, views};

/// The table that a CREATE TABLE creates, alone in a catalogue.
pub(crate) fn created(text: &str, statement: &Stmt, catalogue: &Catalogue) -> R<Option<Catalogue>> {
    match statement {
        Stmt::CreateTable { body: CreateTableBody::ColumnsAndConstraints { .. }, .. } => {
            let Catalogue { held, columns_made, keeps_rowids, .. } = catalogue;
            let (columns_made, keeps_rowids) = (*columns_made, *keeps_rowids);
            let mut own = Catalogue { held: held.clone(), columns_made, keeps_rowids, ..Catalogue::default() };
            own.take_in(text, statement)?;
            Ok(Some(own))
        }
        _ => Ok(None),
    }
}

/// Refuses a statement of an unknown kind.
fn not_understood() -> R<()> {
    no(Id::Syntax, "", "a statement of a kind that is not understood")
}

pub(crate) fn statement<'a>(tr: &mut Tr<'a>, command: &'a Cmd<'a>, own: Option<&'a Catalogue>) -> R<()> {
    let Cmd::Stmt(statement) = command else {
        return no(Id::Explain, "EXPLAIN", "plans of another engine mean nothing here");
    };
    match statement {
        Stmt::Select(select) => tagged::select(tr, select),
        Stmt::Insert { .. } | Stmt::Update { .. } | Stmt::Delete { .. } => change(tr, statement),
        Stmt::Begin(..) | Stmt::Commit(_) | Stmt::Rollback { .. } | Stmt::Savepoint(_) | Stmt::Release(_) => {
            of_transactions(tr, statement)
        }
        Stmt::Pragma(name, body) => session::pragma(tr, name, body.as_ref()),
        Stmt::Vacuum(_, into) => session::vacuum(tr, into.is_some()),
        Stmt::Analyze(name) => session::analyze(tr, name.as_ref()),
        Stmt::Reindex { .. } => {
            tr.fire(Id::Maintenance);
            Ok(())
        }
        Stmt::Attach { .. } | Stmt::Detach(_) => no(Id::Attach, "", "a server has one database in a session"),
        _ => {
            define(tr, statement, own)?;
            triggers::in_turn(tr, statement)
        }
    }
}

/// INSERT, UPDATE and DELETE.
fn change<'a>(tr: &mut Tr<'a>, statement: &'a Stmt<'a>) -> R<()> {
    match statement {
        Stmt::Insert { with, or_conflict, tbl_name, columns, body, returning } => {
            let (select, upsert): (Option<&'a Select<'a>>, Option<&'a Upsert<'a>>) = match body {
                InsertBody::Select(select, upsert) => (Some(select), *upsert),
                InsertBody::DefaultValues => (None, None),
            };
            insert::insert(
                tr,
                Insert {
                    with: with.as_ref(),
                    or: *or_conflict,
                    table: tbl_name,
                    columns: columns.as_ref(),
                    select,
                    upsert,
                    returning: *returning,
                    alone: true,
                },
            )
        }
        Stmt::Update { with, or_conflict, tbl_name, indexed, sets, from, where_clause, returning, order_by, limit } => {
            update::update(
                tr,
                Update {
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
                },
            )
        }
        Stmt::Delete { with, tbl_name, indexed, where_clause, returning, order_by, limit } => update::delete(
            tr,
            Delete {
                with: with.as_ref(),
                table: tbl_name,
                indexed: indexed.as_ref(),
                condition: where_clause.as_ref(),
                returning: *returning,
                order: *order_by,
                limit: *limit,
            },
        ),
        _ => not_understood(),
    }
}

fn of_transactions<'a>(tr: &mut Tr<'a>, statement: &'a Stmt<'a>) -> R<()> {
    match statement {
        Stmt::Begin(..) => session::begin(tr),
        Stmt::Rollback { savepoint_name: Some(name), .. } => {
            return session::savepoint(tr, "ROLLBACK TO SAVEPOINT ", name);
        }
        Stmt::Savepoint(name) => return session::savepoint(tr, "SAVEPOINT ", name),
        Stmt::Release(name) => return session::savepoint(tr, "RELEASE SAVEPOINT ", name),
        ended => {
            tr.fire(Id::Transactions);
            tr.put(if matches!(ended, Stmt::Commit(_)) { "COMMIT" } else { "ROLLBACK" });
        }
    }
    Ok(())
}

/// CREATE, ALTER and DROP.
pub(crate) fn define<'a>(tr: &mut Tr<'a>, statement: &'a Stmt<'a>, own: Option<&'a Catalogue>) -> R<()> {
    match statement {
        Stmt::CreateTable { temporary, if_not_exists, tbl_name, body: CreateTableBody::AsSelect(select) } => {
            let created = Created { temporary: *temporary, if_not_exists: *if_not_exists, name: tbl_name };
            views::create_table_as(tr, created, select)
        }
        Stmt::CreateTable { temporary, if_not_exists, tbl_name, body } => match own.and_then(|o| o.tables.first()) {
            Some(table) => {
                let created = Created { temporary: *temporary, if_not_exists: *if_not_exists, name: tbl_name };
                ddl::create_table(tr, created, body, table)
            }
            None => no(Id::Syntax, tbl_name.name.0, "a table of a form that is not understood"),
        },
        Stmt::CreateIndex { unique, if_not_exists, idx_name, tbl_name, columns, where_clause } => {
            indexes::create_index(
                tr,
                CreateIndex {
                    unique: *unique,
                    if_not_exists: *if_not_exists,
                    name: idx_name,
                    table: tbl_name.0,
                    columns,
                    condition: where_clause.as_ref(),
                },
            )
        }
        Stmt::CreateView { temporary, if_not_exists, view_name, columns, select } => {
            let created = Created { temporary: *temporary, if_not_exists: *if_not_exists, name: view_name };
            views::create_view(tr, created, *columns, select)
        }
        Stmt::CreateTrigger { temporary: true, trigger_name, .. } => {
            no(Id::Triggers, trigger_name.name.0, "a temporary trigger")
        }
        Stmt::CreateTrigger { trigger_name, time, event, tbl_name, when_clause, commands, .. } => {
            triggers::create_trigger(
                tr,
                CreateTrigger {
                    name: trigger_name,
                    time: *time,
                    event,
                    table: tbl_name,
                    when: when_clause.as_ref(),
                    commands,
                },
            )
        }
        Stmt::CreateVirtualTable { tbl_name, .. } => {
            no(Id::VirtualTables, tbl_name.name.0, "the server has no such virtual table")
        }
        Stmt::AlterTable(table, body) => ddl::alter_table(tr, table, body),
        Stmt::DropTable { if_exists, tbl_name } => ddl::drop_object(tr, "TABLE", tbl_name, *if_exists),
        Stmt::DropIndex { if_exists, idx_name } => ddl::drop_object(tr, "INDEX", idx_name, *if_exists),
        Stmt::DropView { if_exists, view_name } => ddl::drop_object(tr, "VIEW", view_name, *if_exists),
        Stmt::DropTrigger { trigger_name, if_exists } => triggers::drop_trigger(tr, trigger_name, *if_exists),
        _ => not_understood(),
    }
}
