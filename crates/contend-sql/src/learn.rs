//! Updates the catalogue from CREATE, ALTER and DROP.

use crate::catalogue::{Catalogue, Column, Index, Kind, Table, Trigger, event_of, read_column, read_table};
use crate::emit::{Input, Wanted};
use crate::names::unquote;
use crate::parse::tree::{
    AlterTableBody, Cmd, ColumnConstraint, CreateTableBody, NamedColumnConstraint, PragmaBody, QualifiedName, Select,
    SortedColumn, Stmt, TriggerTime,
};
use crate::read;
use crate::refuse::{R, Refusal, no};
use crate::rules::session::switched;
use crate::rules::{Id, chains, grammar, indexes, statement, views};
use crate::translation::{Options, ParamType, Target};
use crate::types::{Affinity, Collation, Ty};

impl Catalogue {
    /// Applies CREATE TABLE, CREATE INDEX, CREATE VIEW, ALTER TABLE and DROP; other statements have no effect.
    ///
    /// # Errors
    /// The text is not valid in SQLite, or its effect on the schema is not supported.
    pub fn learn(&mut self, sqlite_ddl: &str) -> Result<(), Refusal> {
        read::each(sqlite_ddl, |text, _, command| self.hear(text, command))
    }

    /// Sets the type of a column's values, overriding the declared type, for a table learned after this call.
    pub fn set_held(&mut self, table: &str, column: &str, holds: ParamType) {
        let ty = match holds {
            ParamType::Integer => Ty::Int,
            ParamType::Real => Ty::Real,
            ParamType::Number => Ty::Number,
            ParamType::Text => Ty::Text,
            ParamType::Blob => Ty::Blob,
            ParamType::Null | ParamType::Unknown => Ty::Any,
        };
        self.held.push((table.to_string(), column.to_string(), ty));
    }

    /// The columns of a CREATE TABLE AS whose values have other types on the server than SQLite's own statement about the new
    /// table says: names of table and column, and type, for [`Catalogue::set_held`].
    ///
    /// # Errors
    /// The text is not valid in SQLite, or the types are not known.
    pub fn held_by(&self, sql: &str, options: &Options) -> Result<Vec<(String, String, ParamType)>, Refusal> {
        let mut held = vec![];
        read::each(sql, |text, _, command| {
            if let Cmd::Stmt(Stmt::CreateTable { tbl_name, body: CreateTableBody::AsSelect(select), .. }) = command {
                let name = (unquote(tbl_name.name.0).into_owned(), Kind::Table);
                let made = self.of_query(name, text, select, options);
                if made.kind == Kind::Opaque {
                    return no(Id::CreateTableAs, tbl_name.name.0, "the types of its columns are not known");
                }
                let differs = |column: &&Column| Some(column.ty) != column.affinity.declares();
                let others = made.columns.iter().filter(differs);
                held.extend(others.map(|c| (made.name.clone(), c.name.clone(), c.ty.for_parameter())));
            }
            Ok(())
        })?;
        Ok(held)
    }

    /// Tables without INTEGER PRIMARY KEY that are learned or created after this call have a hidden column with the rowid on
    /// the server.
    pub fn keep_rowids(&mut self) {
        self.keeps_rowids = true;
    }

    /// Whether the rowid of a table has a column on the server.
    pub fn has_rowid(&self, table: &str) -> bool {
        self.table(table).is_some_and(|table| table.rowid_name().is_some())
    }

    /// Whether an enforced foreign key refers to a table.
    pub fn is_referenced(&self, table: &str) -> bool {
        self.table(table).is_some_and(|table| self.is_referred_to(table))
    }

    /// Whether a table of the catalogue has such a column.
    pub fn has_hidden_rowid(&self, table: &str) -> bool {
        self.table(table).is_some_and(|table| table.hidden.is_some())
    }

    /// As [`Catalogue::learn`], but continues after statements that are not supported; returns their refusals in
    /// order.
    pub fn learn_what_can_be(&mut self, sqlite_ddl: &str) -> Vec<Refusal> {
        read::all(sqlite_ddl, |text, _, command| self.hear(text, command))
    }

    fn hear(&mut self, text: &str, command: &Cmd) -> R<()> {
        match command {
            Cmd::Stmt(statement) => self.take_in(text, statement),
            _ => Ok(()),
        }
    }

    /// A view or table with the columns of a query; opaque if the query cannot be translated.
    fn of_query(&self, (name, kind): (String, Kind), text: &str, select: &Select, options: &Options) -> Table {
        let mut tr = grammar::translator(Input::new(self, options, text, &[]));
        let Ok(mut columns) = tr.query(select, Wanted::Columns) else { return Table::opaque(name) };
        if kind == Kind::Table {
            // The new table has the types of the columns, but neither their collations nor their constraints. A column of an
            // expression has no type to SQLite, so nothing is converted for it.
            columns.iter_mut().for_each(|column| {
                (column.collation, column.nullable, column.has_default) = (Collation::Binary, true, false);
                column.affinity = if column.affinity == Affinity::None { Affinity::Blob } else { column.affinity };
            });
        }
        let query = (kind == Kind::View).then(|| std::mem::take(&mut tr.out.sql));
        Table { columns, query, starred: tr.seen.stars > 0, ..Table::new(name, kind) }
    }

    pub(crate) fn take_in(&mut self, text: &str, statement: &Stmt) -> R<()> {
        match statement {
            Stmt::CreateTable { tbl_name, body, if_not_exists, temporary } => {
                let name = unquote(tbl_name.name.0).into_owned();
                if self.table(&name).is_some() && !temporary {
                    return if *if_not_exists { Ok(()) } else { no(Id::Syntax, &name, "the table is there already") };
                }
                let mut table = self.made(name, text, body)?;
                if self.keeps_rowids && !temporary {
                    table.keep_rowid();
                }
                self.number(&mut table.columns);
                self.columns_made += table.columns.len() as u32;
                // A temporary table hides one of the same name.
                let at = if *temporary { 0 } else { self.tables.len() };
                self.tables.insert(at, Table { temporary: *temporary, ..table });
                Ok(())
            }
            Stmt::CreateIndex { unique, idx_name, tbl_name, columns, where_clause, .. } => {
                let name = unquote(idx_name.name.0).into_owned();
                let table = unquote(tbl_name.0).into_owned();
                let partial = where_clause.is_some();
                let index = Index { name, table, unique: *unique, partial, ignores_case: false, columns: None };
                self.take_index(index, columns)
            }
            Stmt::CreateView { view_name, select, columns, .. } => {
                let name = unquote(view_name.name.0).into_owned();
                if self.table(&name).is_none() {
                    let mut table = self.of_query((name, Kind::View), text, select, &Options::to(Target::Postgres));
                    match views::column_names(view_name, *columns, &table.columns) {
                        Ok(names) => table.columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name),
                        Err(_) => table = Table::opaque(table.name),
                    }
                    self.tables.push(table);
                }
                Ok(())
            }
            Stmt::CreateVirtualTable { tbl_name, .. } => {
                self.tables.push(Table::opaque(unquote(tbl_name.name.0).into_owned()));
                Ok(())
            }
            Stmt::DropTable { tbl_name, .. } | Stmt::DropView { view_name: tbl_name, .. } => {
                self.forget(&unquote(tbl_name.name.0));
                Ok(())
            }
            Stmt::CreateTrigger { .. } | Stmt::DropTrigger { .. } => {
                self.take_trigger(text, statement);
                Ok(())
            }
            Stmt::DropIndex { idx_name, .. } => {
                let name = unquote(idx_name.name.0);
                self.indexes.retain(|i| !i.name.eq_ignore_ascii_case(&name));
                Ok(())
            }
            Stmt::AlterTable(table, body) => self.alter(&unquote(table.name.0), body),
            Stmt::Pragma(name, body) => self.take_setting(name, body.as_ref()),
            _ => Ok(()),
        }
    }

    /// Removes a table or view, with its indexes and triggers unless a temporary one hid another.
    fn forget(&mut self, name: &str) {
        if let Some(at) = self.tables.iter().position(|t| t.name.eq_ignore_ascii_case(name)) {
            self.tables.remove(at);
        }
        if self.table(name).is_none() {
            self.indexes.retain(|i| !i.table.eq_ignore_ascii_case(name));
            self.triggers.retain(|trigger| !trigger.table.eq_ignore_ascii_case(name));
            self.forget_views(name);
        }
    }

    /// Turns views over a table that is gone into tables of unknown columns: SQLite reads their queries again.
    fn forget_views(&mut self, table: &str) {
        let mut gone = vec![table.to_string()];
        while let Some(name) = gone.pop() {
            let over = |t: &&mut Table| t.query.as_ref().is_some_and(|query| chains::reads_from(query, &name));
            for view in self.tables.iter_mut().filter(over) {
                gone.push(view.name.clone());
                *view = Table::opaque(view.name.clone());
            }
        }
    }

    fn take_trigger(&mut self, text: &str, created: &Stmt) {
        match created {
            Stmt::CreateTrigger { trigger_name, tbl_name, time, event, commands, .. } => {
                let name = unquote(trigger_name.name.0).into_owned();
                let table = unquote(tbl_name.name.0);
                let table = self.table(&table).map_or(table.into_owned(), |t| t.name.clone());
                let (time, event) = (time.unwrap_or(TriggerTime::Before), event_of(event));
                let skips = text.to_ascii_uppercase().contains("IGNORE");
                if !self.triggers.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
                    let options = Options { pack: true, tagged: true, ..Options::to(Target::Postgres) };
                    let mut tr = grammar::translator(Input::new(self, &options, text, &[]));
                    let translated = statement::define(&mut tr, created, None);
                    let body = translated.ok().map(|()| tr.out.before.concat());
                    let writes = chains::writes(commands);
                    self.triggers.push(Trigger { name, table, event, time, skips, writes, body });
                }
            }
            Stmt::DropTrigger { trigger_name, .. } => {
                let name = unquote(trigger_name.name.0);
                self.triggers.retain(|trigger| !trigger.name.eq_ignore_ascii_case(&name));
            }
            _ => {}
        }
    }

    fn take_setting(&mut self, name: &QualifiedName, body: Option<&PragmaBody>) -> R<()> {
        if let Some(on) = switched("foreign_keys", name, body) {
            self.set_foreign_keys(name.name.0, on)?;
        }
        if let Some(on) = switched("case_sensitive_like", name, body) {
            self.case_sensitive_like = on;
        }
        Ok(())
    }

    fn made(&self, name: String, text: &str, body: &CreateTableBody) -> R<Table> {
        match body {
            CreateTableBody::ColumnsAndConstraints { columns, constraints, flags } => {
                let mut table = read_table(name, columns, constraints.unwrap_or_default(), *flags)?;
                self.hold(&mut table);
                Ok(table)
            }
            CreateTableBody::AsSelect(select) => {
                Ok(self.of_query((name, Kind::Table), text, select, &Options::to(Target::Postgres)))
            }
        }
    }

    /// Sets the types of columns whose values are known.
    fn hold(&self, table: &mut Table) {
        for (_, name, ty) in self.held.iter().filter(|(of, ..)| of.eq_ignore_ascii_case(&table.name)) {
            let Some(at) = table.position(name) else { continue };
            let column = &mut table.columns[at];
            let is_text = *ty == Ty::Text;
            (column.ty, column.bytewise, column.wordy) = (*ty, is_text, is_text && column.affinity.numeric());
        }
    }

    fn take_index(&mut self, index: Index, columns: &[SortedColumn]) -> R<()> {
        if self.indexes.iter().any(|i| i.name.eq_ignore_ascii_case(&index.name)) {
            return Ok(());
        }
        let Some(known) = self.table(&index.table) else {
            return no(Id::UnknownTable, &index.table, "the index is on a table that is not in the catalogue");
        };
        let key = indexes::key_of(known, columns).ok().flatten();
        let ignores_case = key.is_some_and(|key| indexes::ignores_case(&key));
        let index = Index { table: known.name.clone(), columns: known.positions(columns), ignores_case, ..index };
        self.indexes.push(index);
        Ok(())
    }

    fn set_foreign_keys(&mut self, token: &str, on: bool) -> R<()> {
        if on != self.foreign_keys && self.tables.iter().any(|t| !t.references.is_empty()) {
            return no(Id::ForeignKeys, token, "foreign keys are turned on or off after a table with some was made");
        }
        self.foreign_keys = on;
        Ok(())
    }

    fn alter(&mut self, name: &str, body: &AlterTableBody) -> R<()> {
        let Some(at) = self.tables.iter().position(|t| t.name.eq_ignore_ascii_case(name)) else {
            return no(Id::UnknownTable, name, "the table is not in the catalogue");
        };
        let table = &mut self.tables[at];
        match body {
            AlterTableBody::RenameTo(new) => {
                let old = std::mem::replace(&mut table.name, unquote(new.0).into_owned());
                let new = table.name.clone();
                self.indexes.iter_mut().filter(|i| i.table == old).for_each(|i| i.table.clone_from(&new));
                self.triggers.iter_mut().filter(|t| t.table == old).for_each(|t| t.table.clone_from(&new));
            }
            AlterTableBody::AddColumn(column) => {
                self.columns_made += 1;
                table.columns.push(Column { number: self.columns_made, ..read_column(column)? });
                let check = |c: &NamedColumnConstraint| matches!(c.constraint, ColumnConstraint::Check(_));
                table.checked |= column.constraints.iter().any(check);
            }
            AlterTableBody::RenameColumn { old, new } => {
                let Some(column) = table.position(&unquote(old.0)) else {
                    return no(Id::UnknownColumn, old.0, "there is no such column");
                };
                table.columns[column].name = unquote(new.0).into_owned();
            }
            AlterTableBody::DropColumn(column) => {
                let Some(column) = table.position(&unquote(column.0)) else {
                    return no(Id::UnknownColumn, column.0, "there is no such column");
                };
                table.columns.remove(column);
                let moved = |p: &mut usize| *p -= usize::from(*p > column);
                table.unique.iter_mut().flatten().for_each(moved);
                table.key.iter_mut().for_each(moved);
                table.rowid.iter_mut().for_each(moved);
                let name = table.name.clone();
                let columns = self.indexes.iter_mut().filter(|i| i.table == name).filter_map(|i| i.columns.as_mut());
                columns.flatten().for_each(moved);
            }
            AlterTableBody::DropColumnNotNull(_)
            | AlterTableBody::SetColumnNotNull(..)
            | AlterTableBody::AddConstraint(_)
            | AlterTableBody::DropConstraint(_) => {
                return no(Id::AlterTable, name, "this form of ALTER TABLE is not understood");
            }
        }
        Ok(())
    }
}
