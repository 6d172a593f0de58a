//! The schema from CREATE statements: tables, columns with their types, keys, indexes, views.

use crate::names::unquote;
use crate::parse::tree::{
    ColumnConstraint, ColumnDefinition, Expr, ForeignKeyClause, Literal, NamedTableConstraint, RefAct, RefArg,
    ResolveType, SortedColumn, TabFlags, TableConstraint, TriggerEvent, TriggerTime, Type, TypeSize,
};
use crate::refuse::{No, R};
use crate::rules::Id;
use crate::types::{Affinity, Collation, Declared, Ty, Val, declared};

/// Name of the hidden column with the rowid on the server.
pub const HIDDEN_ROWID: &str = "_contend_rowid";

/// The schema for translations. Names are found regardless of ASCII case.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub(crate) tables: Vec<Table>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) triggers: Vec<Trigger>,
    /// Whether `PRAGMA foreign_keys` is on.
    pub(crate) foreign_keys: bool,
    /// Whether `PRAGMA case_sensitive_like` is on.
    pub(crate) case_sensitive_like: bool,
    /// Types of columns (table, column) whose values do not have the declared type.
    pub(crate) held: Vec<(String, String, Ty)>,
    /// Whether tables without INTEGER PRIMARY KEY have a hidden column with the rowid on the server.
    pub(crate) keeps_rowids: bool,
    /// How many columns CREATE TABLE and ADD COLUMN have made.
    pub(crate) columns_made: u32,
    /// Numbers of columns, and the characters that a text has room for in a key that is added later.
    pub(crate) foreseen: Vec<(u32, usize)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// Sets of columns that are unique: the primary key first, then constraints. Indexes are separate.
    pub unique: Vec<Vec<usize>>,
    /// Position of the column that is an alias of the rowid.
    pub rowid: Option<usize>,
    /// The server's hidden column with the rowid, if no column of the table has it.
    pub hidden: Option<Column>,
    pub kind: Kind,
    /// Positions of the primary key's columns.
    pub key: Vec<usize>,
    /// ON CONFLICT clauses of its constraints.
    pub conflicts: Conflicts,
    /// Tables that its columns reference.
    pub references: Vec<String>,
    /// Positions of columns that a foreign key changes with the parent's: ON UPDATE CASCADE or SET DEFAULT.
    pub following: Vec<usize>,
    pub temporary: bool,
    /// Whether it has CHECK constraints.
    pub checked: bool,
    /// Whether SQLite lists it or its keys differently from other tables: AUTOINCREMENT, WITHOUT ROWID.
    pub listed_apart: bool,
    pub without_rowid: bool,
    /// A view's query in a server's SQL, which shows what it reads.
    pub query: Option<String>,
    /// Whether that query has `*`.
    pub starred: bool,
}

/// ON CONFLICT clauses in the constraints of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// A conflict is an error.
    #[default]
    Abort,
    /// A conflict on this unique key replaces the existing row, or keeps it.
    Key { replace: bool, columns: Vec<usize> },
    /// Other clauses, or several of them.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    View,
    /// Its name is known but not its columns: statements that use it are refused.
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
    /// Whether PostgreSQL compares it by bytes.
    pub bytewise: bool,
    /// Whether its texts are never numbers under NUMERIC affinity.
    pub wordy: bool,
    pub has_default: bool,
    /// The size of a declared type, such as 70 of `VARCHAR(70)`.
    pub size: Option<usize>,
    /// The column's number, from 1, under all its names; 0 for a column of a query.
    pub number: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub name: String,
    pub table: String,
    pub unique: bool,
    pub partial: bool,
    /// Whether a text in it ignores case.
    pub ignores_case: bool,
    /// Positions of the columns; `None` if the index is over expressions.
    pub columns: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Trigger {
    pub name: String,
    pub table: String,
    pub event: Event,
    pub time: TriggerTime,
    /// Whether it may skip rows, by RAISE(IGNORE).
    pub skips: bool,
    /// What its commands change.
    pub writes: Vec<Write>,
    /// Its condition and commands in a server's SQL, which show what it reads; `None` if they cannot be translated.
    pub body: Option<String>,
}

/// A change that a trigger makes.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub table: String,
    pub event: Event,
    /// Whether it says what a conflict does, by OR.
    pub resolves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Insert,
    Update,
    Delete,
}

pub(crate) fn event_of(event: &TriggerEvent) -> Event {
    match event {
        TriggerEvent::Insert => Event::Insert,
        TriggerEvent::Delete => Event::Delete,
        TriggerEvent::Update | TriggerEvent::UpdateOf(_) => Event::Update,
    }
}

impl Catalogue {
    /// The triggers of a table or view.
    pub(crate) fn triggers_of(&self, table: &Table) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().filter(|trigger| trigger.table.eq_ignore_ascii_case(&table.name))
    }

    /// Whether statements keep expressions that the server evaluates later: views, CHECK, triggers, indexes, generated
    /// columns.
    pub(crate) fn keeps_expressions(&self) -> bool {
        let of_table = |t: &Table| t.kind == Kind::View || t.checked || t.columns.iter().any(|c| c.generated);
        let of_index = |i: &Index| i.partial || i.columns.is_none();
        !self.triggers.is_empty() || self.tables.iter().any(of_table) || self.indexes.iter().any(of_index)
    }

    /// Whether triggers or enforced foreign keys change rows that no statement names.
    pub fn changes_further_rows(&self) -> bool {
        let has_keys = self.foreign_keys && self.tables.iter().any(|t| !t.references.is_empty());
        has_keys || !self.triggers.is_empty()
    }

    /// Whether an enforced foreign key references a table.
    pub(crate) fn is_referred_to(&self, table: &Table) -> bool {
        self.foreign_keys
            && self.tables.iter().any(|t| t.references.iter().any(|r| r.eq_ignore_ascii_case(&table.name)))
    }

    /// Tables whose INTEGER PRIMARY KEY enforced foreign keys change with a key of this one, directly or through others.
    pub(crate) fn with_following_rowids(&self, changed: &Table) -> Vec<&Table> {
        let (mut reached, mut next): (Vec<&Table>, Vec<&str>) = (vec![], vec![&changed.name]);
        while let Some(name) = next.pop().filter(|_| self.foreign_keys) {
            let refers = |table: &&Table| table.references.iter().any(|parent| parent.eq_ignore_ascii_case(name));
            for table in self.tables.iter().filter(|table| !table.following.is_empty()).filter(refers) {
                if !reached.iter().any(|known| known.name == table.name) {
                    reached.push(table);
                    next.push(&table.name);
                }
            }
        }
        reached.retain(|table| table.has_following_rowid());
        reached
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name.eq_ignore_ascii_case(name))
    }

    /// Numbers new columns.
    pub(crate) fn number(&self, columns: &mut [Column]) {
        for (column, number) in columns.iter_mut().zip(self.columns_made + 1..) {
            column.number = number;
        }
    }

    /// All unique sets of columns of `table`, from constraints and from unique indexes over all rows.
    pub(crate) fn unique_sets<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a [usize]> {
        let of_indexes = self.indexes.iter().filter(|i| i.unique && !i.partial && i.table == table.name);
        table.unique.iter().map(Vec::as_slice).chain(of_indexes.filter_map(|i| i.columns.as_deref()))
    }

    /// Whether `table` has a unique index that is partial or over expressions, so that its rows are unknown.
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
            hidden: None,
            kind,
            key: vec![],
            conflicts: Conflicts::Abort,
            references: vec![],
            following: vec![],
            temporary: false,
            checked: false,
            listed_apart: false,
            without_rowid: false,
            query: None,
            starred: false,
        }
    }

    /// Gives a table without a column for the rowid a hidden one on the server.
    pub(crate) fn keep_rowid(&mut self) {
        if self.kind == Kind::Table && self.rowid.is_none() && !self.without_rowid {
            let integer = Val { affinity: Affinity::Integer, nullable: false, ..Val::of(Ty::Int) };
            self.hidden = Some(output(HIDDEN_ROWID.to_string(), integer));
        }
    }

    /// The server's name of the column with the rowid.
    pub(crate) fn rowid_name(&self) -> Option<&str> {
        let column = self.rowid.map(|rowid| &self.columns[rowid]).or(self.hidden.as_ref());
        column.map(|column| column.name.as_str())
    }

    /// Adds the ON CONFLICT clause of a unique key (`key`) or of another constraint.
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

/// The name of the column, if an indexed expression is a plain column, with or without COLLATE.
pub(crate) fn column_name<'a>(expr: &Expr<'a>) -> Option<&'a str> {
    match expr {
        Expr::Id(id) => Some(id.0),
        Expr::Name(name) => Some(name.0),
        // As in SQLite, a string literal names a column here.
        Expr::Literal(Literal::String(text)) => Some(text),
        Expr::Collate(inner, _) => column_name(inner),
        _ => None,
    }
}

pub(crate) fn read_column(definition: &ColumnDefinition) -> R<Column> {
    let name = unquote(definition.col_name.0).into_owned();
    let known = match &definition.col_type {
        Some(declared_type) if !declared_type.name.is_empty() => declared(declared_type.name),
        _ => Some(Declared { ty: Ty::Tagged, affinity: Affinity::Blob }),
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
        // SQLite would have stored a numeric text as a number.
        wordy: known.ty == Ty::Text && known.affinity.numeric(),
        has_default: false,
        size: definition.col_type.as_ref().and_then(declared_size),
        number: 0,
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

fn declared_size(declared: &Type) -> Option<usize> {
    match declared.size.as_ref()? {
        TypeSize::MaxSize(size) => match &**size {
            Expr::Literal(Literal::Numeric(digits)) => digits.parse().ok(),
            _ => None,
        },
        TypeSize::TypeSize(..) => None,
    }
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
    table.without_rowid = !by_rowid;
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
    /// `may_be_rowid`: as the only column of a key, it is the rowid.
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
            ColumnConstraint::ForeignKey { clause, .. } => self.take_reference(clause, &[position]),
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
            TableConstraint::ForeignKey { columns: of, clause, .. } => {
                let from = of.iter().filter_map(|column| self.position(&unquote(column.col_name.0)));
                let from: Vec<usize> = from.collect();
                self.take_reference(clause, &from);
            }
        }
        Ok(())
    }

    fn take_reference(&mut self, clause: &ForeignKeyClause, from: &[usize]) {
        self.references.push(unquote(clause.tbl_name.0).into_owned());
        if clause.args.iter().any(|arg| matches!(arg, RefArg::OnUpdate(RefAct::Cascade | RefAct::SetDefault))) {
            self.following.extend(from);
        }
    }

    /// Whether a foreign key changes its INTEGER PRIMARY KEY.
    pub(crate) fn has_following_rowid(&self) -> bool {
        self.rowid.is_some_and(|rowid| self.following.contains(&rowid))
    }
}

fn key_positions(table: &Table, columns: &[SortedColumn]) -> R<Vec<usize>> {
    table
        .positions(columns)
        .ok_or_else(|| No::boxed(Id::UnknownColumn, &table.name, "a key names a column that is not there".into()))
}

/// Whether the declared type is exactly INTEGER, which makes a primary key the rowid.
fn is_integer(definition: &ColumnDefinition) -> bool {
    definition.col_type.as_ref().is_some_and(|t| unquote(t.name).eq_ignore_ascii_case("INTEGER") && t.size.is_none())
}

/// A column of a query's result.
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
        size: None,
        number: 0,
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
