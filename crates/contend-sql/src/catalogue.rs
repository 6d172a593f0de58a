//! What the CREATE statements say: tables, columns with their types, keys, indexes, views.

use crate::names::unquote;
use crate::parse::tree::{
    ColumnConstraint, ColumnDefinition, Expr, NamedTableConstraint, ResolveType, SortedColumn, TabFlags,
    TableConstraint,
};
use crate::refuse::{No, R};
use crate::rules::Id;
use crate::types::{Affinity, Collation, Declared, Ty, Val, declared};

/// The schema that statements are translated against. Names are found without regard to ASCII case.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub(crate) tables: Vec<Table>,
    pub(crate) indexes: Vec<Index>,
    /// Triggers with their tables.
    pub(crate) triggers: Vec<(String, String)>,
    /// `PRAGMA foreign_keys` is on.
    pub(crate) foreign_keys: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// Sets of columns that are unique: the primary key first, then constraints. Indexes are apart.
    pub unique: Vec<Vec<usize>>,
    /// Position of the column that is the rowid under another name.
    pub rowid: Option<usize>,
    pub kind: Kind,
    /// Positions of the primary key's columns.
    pub key: Vec<usize>,
    /// What its constraints say about conflicts.
    pub conflicts: Conflicts,
    /// Tables that its columns refer to.
    pub references: Vec<String>,
    pub temporary: bool,
    /// It has CHECK.
    pub checked: bool,
    /// SQLite lists it, or its keys, in another way than other tables: AUTOINCREMENT, WITHOUT ROWID.
    pub listed_apart: bool,
}

/// ON CONFLICT in the constraints of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// A conflict is an error.
    #[default]
    Abort,
    /// A conflict on this unique key replaces the row that is there, or keeps it.
    Key { replace: bool, columns: Vec<usize> },
    /// In another way, or in several.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    View,
    /// Known to exist, not understood: statements that use it are refused.
    Opaque,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub ty: Ty,
    pub affinity: Affinity,
    pub collation: Collation,
    pub nullable: bool,
    pub generated: bool,
    /// PostgreSQL compares it by bytes.
    pub bytewise: bool,
    /// Its texts are no numbers under NUMERIC affinity.
    pub wordy: bool,
    pub has_default: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub name: String,
    pub table: String,
    pub unique: bool,
    pub partial: bool,
    /// Positions of the columns, if it is over plain columns.
    pub columns: Option<Vec<usize>>,
}

impl Catalogue {
    /// Whether a foreign key that is enforced refers to a table.
    pub(crate) fn is_referred_to(&self, table: &Table) -> bool {
        self.foreign_keys
            && self.tables.iter().any(|t| t.references.iter().any(|r| r.eq_ignore_ascii_case(&table.name)))
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name.eq_ignore_ascii_case(name))
    }
    /// Every set of columns of `table` that is unique, from constraints and from whole unique indexes.
    pub(crate) fn unique_sets<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a [usize]> {
        let of_indexes = self.indexes.iter().filter(|i| i.unique && !i.partial && i.table == table.name);
        table.unique.iter().map(Vec::as_slice).chain(of_indexes.filter_map(|i| i.columns.as_deref()))
    }

    /// Whether a unique index of `table` is partial or over expressions, so that its rows are not known.
    pub(crate) fn has_odd_unique_index(&self, table: &Table) -> bool {
        self.indexes.iter().any(|i| i.unique && i.table == table.name && (i.partial || i.columns.is_none()))
    }
}

impl Table {
    pub(crate) fn opaque(name: String) -> Table {
        Table::new(name, Kind::Opaque)
    }

    pub(crate) fn new(name: String, kind: Kind) -> Table {
        Table {
            name,
            columns: vec![],
            unique: vec![],
            rowid: None,
            kind,
            key: vec![],
            conflicts: Conflicts::Abort,
            references: vec![],
            temporary: false,
            checked: false,
            listed_apart: false,
        }
    }

    /// Takes in the ON CONFLICT of a constraint: of a unique key, or of another kind.
    fn note_conflict(&mut self, clause: Option<ResolveType>, key: Option<&[usize]>) {
        let replace = match clause {
            None | Some(ResolveType::Abort) => return,
            Some(other) => other == ResolveType::Replace,
        };
        let understood = matches!(clause, Some(ResolveType::Replace | ResolveType::Ignore));
        self.conflicts = match (key, &self.conflicts) {
            (Some(key), Conflicts::Abort) if understood => Conflicts::Key { replace, columns: key.to_vec() },
            _ => Conflicts::Other,
        };
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// Positions of an index's columns; `None` if one is an expression.
    pub(crate) fn positions(&self, columns: &[SortedColumn]) -> Option<Vec<usize>> {
        columns.iter().map(|c| column_name(&c.expr).and_then(|name| self.position(&unquote(name)))).collect()
    }
}

/// The name, if an indexed expression is a plain column, with or without COLLATE.
pub(crate) fn column_name<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    match expr {
        Expr::Id(id) => Some(id.0),
        Expr::Name(name) => Some(name.0),
        // A string literal names a column here, as SQLite has it.
        Expr::Literal(crate::parse::tree::Literal::String(text)) => Some(text),
        Expr::Collate(inner, _) => column_name(inner),
        _ => None,
    }
}

pub(crate) fn read_column(definition: &ColumnDefinition) -> R<Column> {
    let name = unquote(definition.col_name.0).into_owned();
    let known = match &definition.col_type {
        Some(declared_type) if !declared_type.name.is_empty() => declared(declared_type.name),
        _ => Some(Declared { ty: Ty::Any, affinity: Affinity::Blob }),
    };
    let known = known.unwrap_or(Declared { ty: Ty::Any, affinity: Affinity::Numeric });
    let mut column = Column {
        name,
        ty: known.ty,
        affinity: known.affinity,
        collation: Collation::Binary,
        nullable: true,
        generated: false,
        bytewise: known.ty == Ty::Text,
        // SQLite would have stored a text that is a number as one.
        wordy: known.ty == Ty::Text && known.affinity.numeric(),
        has_default: false,
    };
    for constraint in definition.constraints {
        match &constraint.constraint {
            ColumnConstraint::NotNull { nullable: false, .. } => column.nullable = false,
            ColumnConstraint::Collate { collation_name } => column.collation = collation(collation_name.0)?,
            ColumnConstraint::Generated { .. } => column.generated = true,
            ColumnConstraint::Default(_) => column.has_default = true,
            _ => {}
        }
    }
    Ok(column)
}

pub(crate) fn collation(name: &str) -> R<Collation> {
    let plain = unquote(name);
    [("BINARY", Collation::Binary), ("NOCASE", Collation::NoCase), ("RTRIM", Collation::Rtrim)]
        .iter()
        .find(|(known, _)| plain.eq_ignore_ascii_case(known))
        .map(|(_, collation)| *collation)
        .ok_or_else(|| {
            No::boxed(Id::Collation, name, "the application defines this collation, the server cannot".into())
        })
}

pub(crate) fn read_table(
    name: String,
    columns: &[ColumnDefinition],
    constraints: &[NamedTableConstraint],
    flags: TabFlags,
) -> R<Table> {
    let columns_read = columns.iter().map(read_column).collect::<R<Vec<_>>>()?;
    let mut table = Table { columns: columns_read, ..Table::new(name, Kind::Table) };
    let by_rowid = !flags.contains(TabFlags::WithoutRowid);
    table.listed_apart = !by_rowid;
    for (position, definition) in columns.iter().enumerate() {
        for constraint in definition.constraints {
            table.take_constraint(position, by_rowid && is_integer(definition), &constraint.constraint);
        }
    }
    for constraint in constraints {
        let may_be_rowid = |position: usize| by_rowid && is_integer(&columns[position]);
        table.take_table_constraint(&constraint.constraint, may_be_rowid)?;
    }
    if !table.key.is_empty() {
        table.unique.insert(0, table.key.clone());
        if flags.intersects(TabFlags::WithoutRowid | TabFlags::Strict) || table.rowid.is_some() {
            for position in table.key.clone() {
                table.columns[position].nullable = false;
            }
        }
    }
    Ok(table)
}

impl Table {
    /// `may_be_rowid`: as the only column of a key it is the table's number of the row.
    fn take_constraint(&mut self, position: usize, may_be_rowid: bool, constraint: &ColumnConstraint) {
        match constraint {
            ColumnConstraint::PrimaryKey { order, auto_increment, conflict_clause } => {
                self.key = vec![position];
                self.listed_apart |= auto_increment;
                self.note_conflict(*conflict_clause, Some(&[position]));
                let descending = *order == Some(crate::parse::tree::SortOrder::Desc);
                if may_be_rowid && !descending {
                    self.rowid = Some(position);
                }
            }
            ColumnConstraint::Unique(clause) => {
                self.unique.push(vec![position]);
                self.note_conflict(*clause, Some(&[position]));
            }
            ColumnConstraint::NotNull { conflict_clause, .. } => self.note_conflict(*conflict_clause, None),
            ColumnConstraint::ForeignKey { clause, .. } => {
                self.references.push(unquote(clause.tbl_name.0).into_owned());
            }
            ColumnConstraint::Check(_) => self.checked = true,
            _ => {}
        }
    }

    fn take_table_constraint(&mut self, constraint: &TableConstraint, may_be_rowid: impl Fn(usize) -> bool) -> R<()> {
        match constraint {
            TableConstraint::PrimaryKey { columns: of, conflict_clause, auto_increment } => {
                self.key = key_positions(self, of)?;
                self.listed_apart |= auto_increment;
                let key = self.key.clone();
                self.note_conflict(*conflict_clause, Some(&key));
                if let [only] = self.key[..]
                    && may_be_rowid(only)
                {
                    self.rowid = Some(only);
                }
            }
            TableConstraint::Unique { columns: of, conflict_clause } => {
                let set = key_positions(self, of)?;
                self.note_conflict(*conflict_clause, Some(&set));
                self.unique.push(set);
            }
            TableConstraint::Check(_, clause) => {
                self.checked = true;
                self.note_conflict(*clause, None);
            }
            TableConstraint::ForeignKey { clause, .. } => {
                self.references.push(unquote(clause.tbl_name.0).into_owned());
            }
        }
        Ok(())
    }
}

fn key_positions(table: &Table, columns: &[SortedColumn]) -> R<Vec<usize>> {
    table
        .positions(columns)
        .ok_or_else(|| No::boxed(Id::UnknownColumn, &table.name, "a key names a column that is not there".into()))
}

/// Only the exact word INTEGER makes a primary key the rowid.
fn is_integer(definition: &ColumnDefinition) -> bool {
    definition.col_type.as_ref().is_some_and(|t| unquote(t.name).eq_ignore_ascii_case("INTEGER") && t.size.is_none())
}

/// A column that a query's caller learns about.
pub(crate) fn output(name: String, value: Val) -> Column {
    Column {
        name,
        ty: value.ty,
        affinity: value.affinity,
        collation: if value.column || value.collation_explicit { value.collation } else { Collation::Binary },
        nullable: value.nullable,
        generated: false,
        bytewise: value.bytewise,
        wordy: value.wordy,
        has_default: false,
    }
}

pub(crate) fn as_value(column: &Column) -> Val {
    Val {
        affinity: column.affinity,
        collation: column.collation,
        column: true,
        bytewise: column.bytewise,
        wordy: column.wordy,
        nullable: column.nullable,
        ..Val::of(column.ty)
    }
}
