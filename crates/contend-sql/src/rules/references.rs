//! Foreign keys, if `PRAGMA foreign_keys` is on.

use crate::catalogue::{Catalogue, Table};
use crate::emit::{Tr, plain};
use crate::parse::tree::{
    ColumnConstraint, ColumnDefinition, DeferSubclause, ForeignKeyClause, InitDeferredPred, NamedTableConstraint,
    RefAct, RefArg, TableConstraint,
};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::types::{Collation, Ty};

/// A foreign key of a table.
#[derive(Clone)]
pub(crate) struct ForeignKey<'a> {
    from: Vec<usize>,
    clause: &'a ForeignKeyClause<'a>,
    defer: Option<&'a DeferSubclause>,
}

impl ForeignKey<'_> {
    /// Names of its columns.
    pub(crate) fn columns<'t>(&self, table: &'t Table) -> Vec<&'t str> {
        self.from.iter().map(|at| table.columns[*at].name.as_str()).collect()
    }

    /// The table that it refers to.
    pub(crate) fn parent(&self) -> String {
        plain(self.clause.tbl_name.0).into_owned()
    }

    /// The columns that it refers to; empty if they are not there.
    pub(crate) fn to(&self, catalogue: &Catalogue, table: &Table) -> Vec<String> {
        let parent = parent_table(catalogue, table, &self.parent());
        let to = parent.and_then(|parent| Some((parent, parent_columns(parent, self.clause)?)));
        to.map_or(vec![], |(parent, to)| to.iter().map(|at| parent.columns[*at].name.clone()).collect())
    }

    /// Whether that table, or a unique key of the columns, is not there.
    pub(crate) fn waits(&self, catalogue: &Catalogue, table: &Table) -> bool {
        let Some(parent) = parent_table(catalogue, table, &self.parent()) else { return true };
        let Some(to) = parent_columns(parent, self.clause) else { return true };
        to.len() != self.from.len() || !is_unique_key(catalogue, parent, &to)
    }

    /// Whether it changes rows when the parent's change.
    pub(crate) fn acts(&self) -> bool {
        self.clause.args.iter().any(|arg| match arg {
            RefArg::OnDelete(action) | RefArg::OnUpdate(action) => {
                matches!(action, RefAct::SetNull | RefAct::SetDefault | RefAct::Cascade)
            }
            RefArg::OnInsert(_) | RefArg::Match(_) => false,
        })
    }
}

/// All foreign keys of a table.
pub(crate) fn of_table<'a>(
    table: &Table,
    columns: &'a [ColumnDefinition<'a>],
    constraints: &'a [NamedTableConstraint<'a>],
) -> R<Vec<ForeignKey<'a>>> {
    let mut found: Vec<ForeignKey> = vec![];
    for (position, definition) in columns.iter().enumerate() {
        for constraint in definition.constraints {
            match &constraint.constraint {
                ColumnConstraint::ForeignKey { clause, defer_clause } => {
                    found.push(ForeignKey { from: vec![position], clause, defer: defer_clause.as_ref() });
                }
                // The parser returns it separately from the REFERENCES before it.
                ColumnConstraint::Defer(defer) => {
                    if let Some(key) = found.last_mut().filter(|key| key.from == [position]) {
                        key.defer = Some(defer);
                    }
                }
                _ => {}
            }
        }
    }
    for constraint in constraints {
        if let TableConstraint::ForeignKey { columns, clause, defer_clause } = &constraint.constraint {
            let names = columns.iter().map(|c| table.position(&plain(c.col_name.0)));
            let Some(from) = names.collect::<Option<Vec<usize>>>() else {
                return no(Id::UnknownColumn, "FOREIGN", "a foreign key names a column that is not there");
            };
            found.push(ForeignKey { from, clause, defer: defer_clause.as_ref() });
        }
    }
    Ok(found)
}

/// Writes each foreign key of a table as a table constraint.
pub(crate) fn foreign_keys<'a>(
    tr: &mut Tr<'a>,
    table: &Table,
    columns: &'a [ColumnDefinition<'a>],
    constraints: &'a [NamedTableConstraint<'a>],
) -> R<()> {
    for key in of_table(table, columns, constraints)? {
        tr.put(", ");
        foreign_key(tr, table, &key)?;
    }
    Ok(())
}

/// Writes `FOREIGN KEY (...) REFERENCES ...`.
pub(crate) fn foreign_key(tr: &mut Tr, table: &Table, key: &ForeignKey) -> R<()> {
    let ForeignKey { from, clause, defer } = key;
    tr.fire(Id::ForeignKeys);
    let refused = |why: &str| no(Id::ForeignKeys, clause.tbl_name.0, why);
    let catalogue = tr.input.catalogue;
    let (parent, to) = parent(tr, catalogue, table, from, clause)?;
    let is_rowid = table.rowid.is_some_and(|rowid| from.contains(&rowid));
    tr.put("FOREIGN KEY (");
    tr.list(from, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") REFERENCES ");
    tr.name(&parent.name)?;
    tr.put(" (");
    tr.list(&to, |tr, p| tr.name(&parent.columns[*p].name))?;
    tr.put(")");
    let is_any = |is: &dyn Fn(usize) -> bool| from.iter().any(|position| is(*position));
    let is_generated = is_any(&|position| table.columns[position].generated);
    let is_never_null = is_any(&|position| !table.columns[position].nullable || table.key.contains(&position));
    for arg in clause.args {
        let (word, action) = match arg {
            RefArg::OnDelete(action) => (" ON DELETE ", action),
            RefArg::OnUpdate(action) => (" ON UPDATE ", action),
            RefArg::OnInsert(_) | RefArg::Match(_) => continue,
        };
        tr.put(word);
        let changes = match action {
            RefAct::SetNull | RefAct::SetDefault => true,
            RefAct::Cascade => matches!(arg, RefArg::OnUpdate(_)),
            RefAct::Restrict | RefAct::NoAction => false,
        };
        if changes && is_generated {
            return refused("an action that would change a generated column");
        }
        tr.put(match action {
            RefAct::SetNull if !tr.postgres && is_never_null => {
                return refused("MariaDB has no SET NULL for a column that is NOT NULL");
            }
            RefAct::SetNull => "SET NULL",
            RefAct::SetDefault if tr.postgres => "SET DEFAULT",
            RefAct::SetDefault => return refused("MariaDB has no SET DEFAULT"),
            RefAct::Cascade if !tr.postgres && is_rowid && matches!(arg, RefArg::OnUpdate(_)) => {
                return refused("MariaDB's counter of an INTEGER PRIMARY KEY does not follow ON UPDATE CASCADE");
            }
            RefAct::Cascade => "CASCADE",
            RefAct::Restrict => "RESTRICT",
            RefAct::NoAction => "NO ACTION",
        });
    }
    if let Some(DeferSubclause { deferrable: true, init_deferred: Some(InitDeferredPred::InitiallyDeferred) }) = defer {
        if !tr.postgres && !tr.input.options.early_keys {
            return refused("MariaDB checks every foreign key at once");
        }
        tr.either(" DEFERRABLE INITIALLY DEFERRED", "");
    }
    Ok(())
}

/// The referenced table, and the columns of its key.
fn parent<'t>(
    tr: &Tr,
    catalogue: &'t Catalogue,
    table: &'t Table,
    from: &[usize],
    clause: &ForeignKeyClause<'_>,
) -> R<(&'t Table, Vec<usize>)> {
    let token = clause.tbl_name.0;
    let refused = |why: &str| no(Id::ForeignKeys, token, why);
    let Some(parent) = parent_table(catalogue, table, &plain(token)) else {
        return refused("a foreign key to a table that is not in the catalogue");
    };
    let Some(to) = parent_columns(parent, clause).filter(|to| to.len() == from.len()) else {
        return refused("a foreign key to columns that are not there");
    };
    if !is_unique_key(catalogue, parent, &to) {
        return refused("a foreign key to columns that are not a unique key");
    }
    for (from, to) in from.iter().zip(&to) {
        let (from, to) = (&table.columns[*from], &parent.columns[*to]);
        let fits = from.ty == to.ty
            && from.ty != Ty::Tagged
            && from.collation == Collation::Binary
            && to.collation == Collation::Binary;
        if !fits || !tr.postgres && matches!(from.ty, Ty::Text | Ty::Blob) {
            return refused("a foreign key between columns of these types");
        }
    }
    Ok((parent, to))
}

fn parent_table<'t>(catalogue: &'t Catalogue, table: &'t Table, name: &str) -> Option<&'t Table> {
    if name.eq_ignore_ascii_case(&table.name) { Some(table) } else { catalogue.table(name) }
}

fn parent_columns(parent: &Table, clause: &ForeignKeyClause<'_>) -> Option<Vec<usize>> {
    match clause.columns {
        None => Some(parent.key.clone()),
        Some(names) => names.iter().map(|c| parent.position(&plain(c.col_name.0))).collect(),
    }
}

/// Whether columns are all of a unique key, in any order. Another table's keys may be indexes, which come after it.
fn is_unique_key(catalogue: &Catalogue, parent: &Table, columns: &[usize]) -> bool {
    let sorted = |set: &[usize]| {
        let mut set = set.to_vec();
        set.sort_unstable();
        set
    };
    let key = sorted(columns);
    catalogue.unique_sets(parent).any(|set| sorted(set) == key)
}
