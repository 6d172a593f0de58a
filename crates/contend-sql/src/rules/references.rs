//! Foreign keys, where `PRAGMA foreign_keys` is on.

use crate::catalogue::{Catalogue, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    ColumnConstraint, ColumnDefinition, DeferSubclause, ForeignKeyClause, InitDeferredPred, NamedTableConstraint,
    RefAct, RefArg, TableConstraint,
};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Collation, Ty};

/// Writes every foreign key of a table as a constraint of its own.
pub(crate) fn foreign_keys<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    columns: &'a [ColumnDefinition<'a>],
    constraints: &'a [NamedTableConstraint<'a>],
) -> R<()> {
    for (position, definition) in columns.iter().enumerate() {
        for constraint in definition.constraints {
            if let ColumnConstraint::ForeignKey { clause, defer_clause } = &constraint.constraint {
                foreign_key(tr, table, &[position], clause, defer_clause.as_ref())?;
            }
        }
    }
    for constraint in constraints {
        if let TableConstraint::ForeignKey { columns, clause, defer_clause } = &constraint.constraint {
            let names = columns.iter().map(|c| table.position(&plain(c.col_name.0)));
            let Some(positions) = names.collect::<Option<Vec<usize>>>() else {
                return no(Id::UnknownColumn, "FOREIGN", "a foreign key names a column that is not there");
            };
            foreign_key(tr, table, &positions, clause, defer_clause.as_ref())?;
        }
    }
    Ok(())
}

fn foreign_key<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    from: &[usize],
    clause: &'a ForeignKeyClause<'a>,
    defer: Option<&DeferSubclause>,
) -> R<()> {
    tr.fire(Id::ForeignKeys);
    let refused = |why: &str| no(Id::ForeignKeys, clause.tbl_name.0, why);
    let catalogue = tr.input.catalogue;
    let (parent, to) = parent(tr, catalogue, table, from, clause)?;
    tr.put(", FOREIGN KEY (");
    tr.list(from, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") REFERENCES ");
    tr.name(&parent.name)?;
    tr.put(" (");
    tr.list(&to, |tr, p| tr.name(&parent.columns[*p].name))?;
    tr.put(")");
    for arg in clause.args {
        let (word, action) = match arg {
            RefArg::OnDelete(action) => (" ON DELETE ", action),
            RefArg::OnUpdate(action) => (" ON UPDATE ", action),
            RefArg::OnInsert(_) | RefArg::Match(_) => continue,
        };
        tr.put(word);
        tr.put(match action {
            RefAct::SetNull => "SET NULL",
            RefAct::SetDefault if tr.postgres => "SET DEFAULT",
            RefAct::SetDefault => return refused("MariaDB has no SET DEFAULT"),
            RefAct::Cascade => "CASCADE",
            RefAct::Restrict => "RESTRICT",
            RefAct::NoAction => "NO ACTION",
        });
    }
    if let Some(DeferSubclause { deferrable: true, init_deferred: Some(InitDeferredPred::InitiallyDeferred) }) = defer {
        if !tr.postgres {
            return refused("MariaDB checks every foreign key at once");
        }
        tr.put(" DEFERRABLE INITIALLY DEFERRED");
    }
    Ok(())
}

/// The table that a foreign key refers to, and the columns of its key.
fn parent<'t>(
    tr: &Tr,
    catalogue: &'t Catalogue,
    table: &'t Table,
    from: &[usize],
    clause: &ForeignKeyClause<'_>,
) -> R<(&'t Table, Vec<usize>)> {
    let token = clause.tbl_name.0;
    let refused = |why: &str| no(Id::ForeignKeys, token, why);
    let name = plain(token);
    let parent = match catalogue.table(&name) {
        _ if name.eq_ignore_ascii_case(&table.name) => table,
        Some(parent) => parent,
        None => return refused("a foreign key to a table that is not in the catalogue"),
    };
    let to = match clause.columns {
        None => Some(parent.key.clone()),
        Some(names) => names.iter().map(|c| parent.position(&plain(c.col_name.0))).collect(),
    };
    let Some(to) = to.filter(|to| to.len() == from.len()) else {
        return refused("a foreign key to columns that are not there");
    };
    let mut key = to.clone();
    key.sort_unstable();
    let is_key = |set: &[usize]| {
        let mut set = set.to_vec();
        set.sort_unstable();
        set == key
    };
    if !parent.unique.iter().any(|set| is_key(set)) {
        return refused("a foreign key to columns that are no unique key");
    }
    for (from, to) in from.iter().zip(&to) {
        let (from, to) = (&table.columns[*from], &parent.columns[*to]);
        let fits = from.ty == to.ty && from.collation == Collation::Binary && to.collation == Collation::Binary;
        if !fits || !tr.postgres && matches!(from.ty, Ty::Text | Ty::Blob) {
            return refused("a foreign key between columns of these types");
        }
    }
    Ok((parent, to))
}
