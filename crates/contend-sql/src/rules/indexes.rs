//! CREATE INDEX, how much of a text fits into a key, and columns that stand for an index.

use crate::catalogue::{Table, column_name};
use crate::emit::{Tr, plain, push_decimal};
use crate::parse::tree::{Expr, QualifiedName, SortOrder, SortedColumn, Type, TypeSize};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::compare::FOLD_POSTGRES;
use crate::rules::literals::literal_number;
use crate::rules::{Id, from};
use crate::scope::Scope;
use crate::types::{Collation, Number, Ty};

/// InnoDB's longest key, in bytes; four for a character of utf8mb4, nine for a number that may be NULL.
const KEY_BYTES_MAX: usize = 3072;
/// Characters of a text in a key of MariaDB, unless its type says more.
pub(crate) const KEY_CHARACTERS: usize = 255;

pub(crate) struct CreateIndex<'a> {
    pub unique: bool,
    pub if_not_exists: bool,
    pub name: &'a QualifiedName<'a>,
    pub table: &'a str,
    pub columns: &'a [SortedColumn<'a>],
    pub condition: Option<&'a Expr<'a>>,
}

/// How many characters of a text fit into every key of its table that it is part of; `None` if it is in none.
pub(crate) fn key_characters(tr: &Tr, table: &Table, position: usize, declared: Option<&Type>) -> Option<usize> {
    let indexes = tr.input.catalogue.indexes.iter().filter(|i| i.table.eq_ignore_ascii_case(&table.name));
    let keys = table.unique.iter().chain(indexes.filter_map(|i| i.columns.as_ref()));
    // A table of this name may be there already, with an index on a column that this one has not.
    let has_all = |key: &Vec<usize>| key.iter().all(|p| *p < table.columns.len());
    let room = keys.filter(|key| key.contains(&position) && has_all(key)).map(|key| {
        let texts = key.iter().filter(|p| matches!(table.columns[**p].ty, Ty::Text | Ty::Blob)).count();
        (KEY_BYTES_MAX - 9 * (key.len() - texts).min(100)) / 4 / texts
    });
    let wanted = match declared.and_then(|t| t.size.as_ref()) {
        Some(TypeSize::MaxSize(size)) => match literal_number(size) {
            Some(Number::Int(n)) => usize::try_from(n).unwrap_or(0).max(KEY_CHARACTERS),
            _ => KEY_CHARACTERS,
        },
        _ => KEY_CHARACTERS,
    };
    room.min().map(|room| room.min(wanted))
}

pub(crate) fn create_index<'a>(tr: &mut Tr<'a>, index: CreateIndex<'a>) -> R<()> {
    if let Some(schema) = &index.name.db_name {
        from::main_only(tr, schema.0)?;
    }
    tr.fire(Id::CreateIndex);
    let table = tr.known_table(&plain(index.table))?;
    let plain_columns = table.positions(index.columns);
    if !tr.postgres && (plain_columns.is_none() || index.condition.is_some()) {
        tr.fire(Id::PartialIndex);
        if index.unique {
            return unique_by_column(tr, table, &index);
        }
        if plain_columns.is_none() {
            // An index changes no answer: it is left out.
            tr.out.sql.clear();
            return Ok(());
        }
    }
    tr.put(if index.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
    if index.if_not_exists {
        tr.put("IF NOT EXISTS ");
    }
    tr.name(&plain(index.name.name.0))?;
    tr.put(" ON ");
    tr.name(&table.name)?;
    tr.put(" (");
    tr.known.scopes.push(Scope { sources: vec![source(table, None)], ..Scope::default() });
    tr.list(index.columns, |tr, term| index_term(tr, table, index.unique, term))?;
    tr.put(")");
    if let Some(condition) = index.condition
        && tr.postgres
    {
        tr.put(" WHERE ");
        tr.condition(condition)?;
    }
    tr.known.scopes.pop();
    Ok(())
}

fn index_term<'a>(tr: &mut Tr<'a>, table: &Table, unique: bool, term: &'a SortedColumn<'a>) -> R<()> {
    let position = column_name(&term.expr).and_then(|name| table.position(&plain(name)));
    let collation = match &term.expr {
        Expr::Collate(_, name) => Some(crate::catalogue::collation(name)?),
        _ => position.map(|p| table.columns[p].collation),
    };
    let mut nullable = true;
    match position {
        Some(position) => {
            let column = &table.columns[position];
            nullable = column.nullable;
            if column.ty == Ty::Any {
                return no(Id::UntypedColumns, &column.name, "an index over a column without a type");
            }
            match collation.unwrap_or_default() {
                Collation::Binary => tr.name(&column.name)?,
                Collation::NoCase if tr.postgres => {
                    tr.fire(Id::Collation);
                    tr.put(FOLD_POSTGRES.0);
                    tr.name(&column.name)?;
                    tr.put(FOLD_POSTGRES.1);
                }
                _ if unique => return no(Id::Collation, "UNIQUE", "a unique key under this collation"),
                _ => tr.name(&column.name)?,
            }
            if matches!(column.ty, Ty::Text | Ty::Blob) && !tr.postgres && !unique {
                // All of a VARCHAR of this length, or the beginning of a longer text.
                if let Some(characters) = key_characters(tr, table, position, None) {
                    tr.put("(");
                    push_decimal(&mut tr.out.sql, characters);
                    tr.put(")");
                } else {
                    tr.put("(191)");
                }
            }
        }
        None => {
            tr.put("(");
            tr.value(&term.expr, Ty::Any)?;
            tr.put(")");
        }
    }
    let descending = term.order == Some(SortOrder::Desc);
    if descending {
        tr.put(" DESC");
    }
    // The order of NULLs that ORDER BY is given, so that the index serves it.
    if tr.postgres && nullable {
        tr.put(if descending { " NULLS LAST" } else { " NULLS FIRST" });
    }
    Ok(())
}

/// MariaDB's counterpart of a unique index over an expression or part of the rows: an invisible unique column.
fn unique_by_column<'a>(tr: &mut Tr<'a>, table: &'a Table, index: &CreateIndex<'a>) -> R<()> {
    let [term] = index.columns else {
        return no(Id::PartialIndex, index.name.name.0, "MariaDB needs such a unique index to be of one column");
    };
    tr.known.scopes.push(Scope { sources: vec![source(table, None)], ..Scope::default() });
    let value = tr.value(&term.expr, Ty::Any)?;
    let mut sql = std::mem::take(&mut tr.out.sql);
    if let Some(condition) = index.condition {
        tr.condition(condition)?;
        sql = format!("CASE WHEN {} THEN {sql} END", std::mem::take(&mut tr.out.sql));
    }
    tr.known.scopes.pop();
    let declared = match value.ty {
        Ty::Int => "BIGINT",
        Ty::Real => "DOUBLE",
        Ty::Text if value.collation == Collation::Binary => "VARCHAR(255)",
        _ => return no(Id::PartialIndex, index.name.name.0, "a unique index over values of this type"),
    };
    tr.fire(Id::KeyLength);
    let name = plain(index.name.name.0);
    tr.put("ALTER TABLE ");
    tr.name(&table.name)?;
    tr.put(" ADD COLUMN ");
    tr.name(&name)?;
    tr.put(&format!(" {declared} GENERATED ALWAYS AS ({sql}) STORED INVISIBLE, ADD UNIQUE INDEX "));
    tr.name(&name)?;
    tr.put(" (");
    tr.name(&name)?;
    tr.put(")");
    Ok(())
}
