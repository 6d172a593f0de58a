//! CREATE VIEW and CREATE TABLE AS, which take their columns from a query; columns that stand for an index.

use crate::catalogue::Table;
use crate::emit::{Tr, plain};
use crate::parse::tree::{IndexedColumn, QualifiedName, Select};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::ddl::CreateIndex;
use crate::rules::insert::source;
use crate::scope::Scope;
use crate::types::{Collation, Ty};

impl<'a> Tr<'a> {
    pub(crate) fn create_view(
        &mut self,
        temporary: bool,
        if_not_exists: bool,
        name: &'a QualifiedName<'a>,
        columns: Option<&'a [IndexedColumn<'a>]>,
        select: &'a Select<'a>,
    ) -> R<()> {
        self.fire(Id::Views);
        let plain_name = plain(name.name.0);
        if if_not_exists && self.catalogue.table(&plain_name).is_some() {
            return Ok(());
        }
        if temporary && !self.postgres {
            return no(Id::Views, name.name.0, "MariaDB has no temporary views");
        }
        if let Some(schema) = &name.db_name {
            self.main_only(schema.0)?;
        }
        let outputs = self.probe_query(select)?;
        self.put(if temporary { "CREATE TEMPORARY VIEW " } else { "CREATE VIEW " });
        self.name(&plain_name)?;
        self.put(" (");
        match columns {
            Some(columns) if columns.len() == outputs.len() => {
                self.list(columns, |tr, c| tr.name(&plain(c.col_name.0)))?;
            }
            Some(_) => return no(Id::Views, name.name.0, "the view has another number of columns than its query"),
            None => self.list(outputs.iter(), |tr, c| tr.named_output(name, &c.name))?,
        }
        self.put(") AS ");
        self.query(select, true)?;
        if !self.slots.is_empty() {
            return no(Id::Views, name.name.0, "a view with parameters");
        }
        Ok(())
    }

    fn named_output(&mut self, of: &QualifiedName, name: &str) -> R<()> {
        if name.is_empty() {
            return no(Id::Views, of.name.0, "a column that is an expression and has no name");
        }
        self.name(name)
    }

    pub(crate) fn create_table_as(
        &mut self,
        temporary: bool,
        if_not_exists: bool,
        name: &'a QualifiedName<'a>,
        select: &'a Select<'a>,
    ) -> R<()> {
        self.fire(Id::CreateTableAs);
        if let Some(schema) = &name.db_name {
            self.main_only(schema.0)?;
        }
        let outputs = self.probe_query(select)?;
        for column in outputs.iter() {
            let collated = column.ty != Ty::Text || !self.postgres || column.bytewise;
            if column.name.is_empty() || !collated || matches!(column.ty, Ty::Any | Ty::Null | Ty::Param) {
                return no(Id::CreateTableAs, name.name.0, "a column without a name, a type or a collation of its own");
            }
        }
        self.put(if temporary { "CREATE TEMPORARY TABLE " } else { "CREATE TABLE " });
        if if_not_exists {
            self.put("IF NOT EXISTS ");
        }
        self.name(&plain(name.name.0))?;
        self.either("", " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin");
        self.put(" AS ");
        self.query(select, true)?;
        Ok(())
    }

    /// MariaDB's counterpart of a unique index over an expression or part of the rows: a unique column that nobody sees.
    pub(crate) fn unique_by_column(&mut self, table: &'a Table, index: &CreateIndex<'a>) -> R<()> {
        let [term] = index.columns else {
            return no(Id::PartialIndex, index.name.name.0, "MariaDB needs such a unique index to be of one column");
        };
        self.scopes.push(Scope { sources: vec![source(table, None)], ..Scope::default() });
        let value = self.value(&term.expr, Ty::Any)?;
        let mut sql = std::mem::take(&mut self.sql);
        if let Some(condition) = index.condition {
            self.condition(condition)?;
            sql = format!("CASE WHEN {} THEN {sql} END", std::mem::take(&mut self.sql));
        }
        self.scopes.pop();
        let declared = match value.ty {
            Ty::Int => "BIGINT",
            Ty::Real => "DOUBLE",
            Ty::Text if value.collation == Collation::Binary => "VARCHAR(255)",
            _ => return no(Id::PartialIndex, index.name.name.0, "a unique index over values of this type"),
        };
        self.fire(Id::KeyLength);
        let name = plain(index.name.name.0);
        self.put("ALTER TABLE ");
        self.name(&table.name)?;
        self.put(" ADD COLUMN ");
        self.name(&name)?;
        self.put(&format!(" {declared} GENERATED ALWAYS AS ({sql}) STORED INVISIBLE, ADD UNIQUE INDEX "));
        self.name(&name)?;
        self.put(" (");
        self.name(&name)?;
        self.put(")");
        Ok(())
    }
}
