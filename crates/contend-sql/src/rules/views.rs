//! CREATE VIEW and CREATE TABLE AS, whose columns come from a query; and columns that replace an index.

use crate::catalogue::{Column, Kind, Table};
use crate::emit::{Tr, Wanted, plain};
use crate::parse::tree::{IndexedColumn, QualifiedName, Select};
use crate::refuse::{R, no};
use crate::rules::ddl::{self, Created};
use crate::rules::{Id, from};
use crate::types::Ty;

/// How many further columns of one name SQLite numbers.
const NUMBERED_NAMES: u32 = 4;

pub(crate) fn create_view<'a>(
    tr: &mut Tr<'a>,
    created: Created<'a>,
    columns: Option<&'a [IndexedColumn<'a>]>,
    select: &'a Select<'a>,
) -> R<()> {
    let Created { temporary, if_not_exists, name } = created;
    tr.fire(Id::Views);
    let plain_name = plain(name.name.0);
    if if_not_exists && tr.input.catalogue.table(&plain_name).is_some() {
        return Ok(());
    }
    if temporary && !tr.postgres {
        return no(Id::Views, name.name.0, "MariaDB has no temporary views");
    }
    if let Some(schema) = &name.db_name {
        from::main_only(tr, schema.0)?;
    }
    let outputs = tr.probe_query(select)?;
    if outputs.iter().any(|column| matches!(column.ty, Ty::Any | Ty::Tagged)) {
        return no(Id::Views, name.name.0, "a column whose type depends on the row");
    }
    tr.put(if temporary { "CREATE TEMPORARY VIEW " } else { "CREATE VIEW " });
    tr.name(&plain_name)?;
    if columns.is_some_and(|columns| columns.len() != outputs.len()) {
        return no(Id::Views, name.name.0, "the number of columns differs between the view and its query");
    }
    let names = column_names(name, columns, &outputs)?;
    tr.put(" (");
    tr.list(names, |tr, column| named_output(tr, name, &column))?;
    tr.put(") AS ");
    tr.query(select, Wanted::Columns)?;
    if !tr.out.slots.is_empty() {
        return no(Id::Views, name.name.0, "a view with parameters");
    }
    Ok(())
}

/// The names of a view's columns. As in SQLite, a second column `a` is `a:1`.
pub(crate) fn column_names(of: &QualifiedName, given: Option<&[IndexedColumn]>, outputs: &[Column]) -> R<Vec<String>> {
    let mut names: Vec<String> = vec![];
    for (at, output) in outputs.iter().enumerate() {
        let given = given.and_then(|given| given.get(at)).map(|column| plain(column.col_name.0).into_owned());
        let name = given.unwrap_or_else(|| output.name.clone());
        let is_free = |name: &String| name.is_empty() || !names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix(':').unwrap_or(&name);
        let numbered = (1..=NUMBERED_NAMES).map(|number| format!("{stem}:{number}"));
        let Some(name) = [name.clone()].into_iter().chain(numbered).find(is_free) else {
            return no(Id::Views, of.name.0, format!("SQLite gives the columns after the fifth `{name}` random names"));
        };
        names.push(name);
    }
    Ok(names)
}

fn named_output(tr: &mut Tr, of: &QualifiedName, name: &str) -> R<()> {
    if name.is_empty() {
        return no(Id::Views, of.name.0, "a column that is an expression and has no name");
    }
    tr.name(name)
}

pub(crate) fn create_table_as<'a>(tr: &mut Tr<'a>, created: Created<'a>, select: &'a Select<'a>) -> R<()> {
    let Created { temporary, if_not_exists, name } = created;
    tr.fire(Id::CreateTableAs);
    if let Some(schema) = &name.db_name {
        from::main_only(tr, schema.0)?;
    }
    let outputs = tr.probe_query(select)?;
    for column in outputs.iter() {
        let collated = column.ty != Ty::Text || !tr.postgres || column.bytewise;
        if column.name.is_empty() || !collated || matches!(column.ty, Ty::Any | Ty::Null | Ty::Param | Ty::Tagged) {
            return no(Id::CreateTableAs, name.name.0, "a column without a name, a type or a collation of its own");
        }
    }
    tr.put(if temporary { "CREATE TEMPORARY TABLE " } else { "CREATE TABLE " });
    if if_not_exists {
        tr.put("IF NOT EXISTS ");
    }
    tr.name(&plain(name.name.0))?;
    tr.either("", " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin");
    // MariaDB takes constraints and defaults over from the columns of a query, but not from those of a union.
    tr.either(" AS ", " AS SELECT * FROM (");
    tr.query(select, Wanted::Columns)?;
    if !tr.postgres {
        // Without LIMIT it would leave out the order.
        tr.put(if select.order_by.is_some() && select.limit.is_none() { " LIMIT 9223372036854775807" } else { "" });
        tr.put(") AS contend_rows UNION ALL SELECT ");
        tr.list(outputs.iter(), |tr, _| {
            tr.put("NULL");
            Ok(())
        })?;
        tr.put(" FROM DUAL WHERE FALSE");
    }
    if tr.input.catalogue.keeps_rowids && !temporary {
        let mut table = Table::new(plain(name.name.0).into_owned(), Kind::Table);
        table.keep_rowid();
        let created = std::mem::take(&mut tr.out.sql);
        tr.put("ALTER TABLE ");
        tr.name(&table.name)?;
        tr.put(" ADD COLUMN ");
        ddl::hidden_rowid(tr, &table)?;
        let numbered = std::mem::replace(&mut tr.out.sql, created);
        tr.out.after.push(numbered);
    }
    Ok(())
}
