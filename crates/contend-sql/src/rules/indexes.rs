//! CREATE INDEX, lengths of texts in keys, and columns that replace an index.

use crate::catalogue::{Catalogue, Table, column_name};
use crate::emit::{Tr, plain, push_decimal};
use crate::names::push_name;
use crate::parse::tree::{Expr, QualifiedName, SortOrder, SortedColumn};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::compare::{FOLD_MARIADB, FOLD_POSTGRES};
use crate::rules::{Id, from};
use crate::scope::Scope;
use crate::types::{Collation, Ty};

/// InnoDB's longest key in bytes; a character of utf8mb4 takes four, a nullable number nine.
const KEY_BYTES_MAX: usize = 3072;
/// Characters of a text in a MariaDB key, unless its type has a length.
const KEY_CHARACTERS: usize = 255;

pub(crate) struct CreateIndex<'a> {
    pub unique: bool,
    pub if_not_exists: bool,
    pub name: &'a QualifiedName<'a>,
    pub table: &'a str,
    pub columns: &'a [SortedColumn<'a>],
    pub condition: Option<&'a Expr<'a>>,
}

/// Characters of a text that fit into every key that it is part of; `None` if it is in no key.
pub(crate) fn key_characters(
    catalogue: &Catalogue,
    table: &Table,
    position: usize,
    declared: Option<usize>,
) -> Option<usize> {
    let indexes = catalogue.indexes.iter().filter(|i| i.table.eq_ignore_ascii_case(&table.name));
    let keys = table.unique.iter().chain(indexes.filter_map(|i| i.columns.as_ref()));
    // The catalogue may have an older table of this name, with an index on a column that this one lacks.
    let has_all = |key: &Vec<usize>| key.iter().all(|p| *p < table.columns.len());
    let rooms = keys.filter(|key| key.contains(&position) && has_all(key)).map(|key| room(table, key));
    let number = table.columns[position].number;
    let later = catalogue.foreseen.iter().filter(|(of, _)| *of == number && number > 0);
    let wanted = declared.unwrap_or(0).max(KEY_CHARACTERS);
    rooms.chain(later.map(|(_, room)| *room)).min().map(|room| room.min(wanted))
}

/// Characters that each text of a key has room for.
pub(crate) fn room(table: &Table, key: &[usize]) -> usize {
    let texts = key.iter().filter(|p| matches!(table.columns[**p].ty, Ty::Text | Ty::Blob)).count();
    (KEY_BYTES_MAX - 9 * (key.len() - texts).min(100)) / 4 / texts.max(1)
}

pub(crate) fn create_index<'a>(tr: &mut Tr<'a>, index: CreateIndex<'a>) -> R<()> {
    if let Some(schema) = &index.name.db_name {
        from::main_only(tr, schema.0)?;
    }
    tr.fire(Id::CreateIndex);
    let table = tr.known_table(&plain(index.table))?;
    let name = plain(index.name.name.0);
    let name = tr.index_name(&name);
    let plain_columns = table.positions(index.columns);
    if !tr.postgres && (plain_columns.is_none() || index.condition.is_some()) {
        tr.fire(Id::PartialIndex);
        if index.unique {
            return unique_by_column(tr, table, &index);
        }
        if plain_columns.is_none() {
            // An index changes no result, so it is left out.
            tr.out.sql.clear();
            return Ok(());
        }
    }
    if index.unique
        && !tr.postgres
        && let Some(key) = key_of(table, index.columns)?.filter(|key| ignores_case(key))
    {
        let sql = unique_ignoring_case(tr, table, &key, Some(&name))?;
        tr.put(&sql);
        return Ok(());
    }
    tr.put(if index.unique { "CREATE UNIQUE INDEX " } else { "CREATE INDEX " });
    if index.if_not_exists {
        tr.put("IF NOT EXISTS ");
    }
    tr.name(&name)?;
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
    let collation = position.map(|position| collation_of(table, position, term)).transpose()?;
    let mut nullable = true;
    match position {
        Some(position) => {
            let column = &table.columns[position];
            nullable = column.nullable;
            if matches!(column.ty, Ty::Any | Ty::Tagged) {
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
                // The whole VARCHAR of this length, or the beginning of a longer text.
                if let Some(characters) = key_characters(tr.input.catalogue, table, position, None) {
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
    // The order of NULLs that ORDER BY uses, so that the index can serve it.
    if tr.postgres && nullable {
        tr.put(if descending { " NULLS LAST" } else { " NULLS FIRST" });
    }
    Ok(())
}

/// Positions and collations of a key's columns; `None` if one is an expression.
pub(crate) fn key_of(table: &Table, terms: &[SortedColumn]) -> R<Option<Vec<(usize, Collation)>>> {
    let mut key = vec![];
    for term in terms {
        let Some(position) = column_name(&term.expr).and_then(|name| table.position(&plain(name))) else {
            return Ok(None);
        };
        key.push((position, collation_of(table, position, term)?));
    }
    Ok(Some(key))
}

/// The collation of a key's column: its COLLATE, else the column's.
fn collation_of(table: &Table, position: usize, term: &SortedColumn) -> R<Collation> {
    match &term.expr {
        Expr::Collate(_, name) => crate::catalogue::collation(name),
        _ => Ok(table.columns[position].collation),
    }
}

/// Whether a key contains a text that ignores case.
pub(crate) fn ignores_case(key: &[(usize, Collation)]) -> bool {
    key.iter().any(|(_, collation)| *collation == Collation::NoCase)
}

/// Whether a column is in a unique key in which it ignores case.
pub(crate) fn is_folded(catalogue: &Catalogue, table: &Table, position: usize) -> bool {
    let by_constraint = table.columns[position].collation == Collation::NoCase
        && table.unique.iter().any(|key| key.contains(&position));
    let has = |columns: &Vec<usize>| columns.contains(&position);
    let mut indexes = catalogue.indexes.iter().filter(|i| i.unique && i.ignores_case && i.table == table.name);
    by_constraint || indexes.any(|index| index.columns.as_ref().is_some_and(has))
}

/// The statement for a unique key with texts that ignore case: an index over the lower-case texts, on MariaDB over
/// invisible columns that contain them.
pub(crate) fn unique_ignoring_case(
    tr: &mut Tr,
    table: &Table,
    key: &[(usize, Collation)],
    name: Option<&str>,
) -> R<String> {
    tr.fire(Id::Collation);
    let quoted = |name: &str| {
        let mut quoted = String::new();
        push_name(&mut quoted, name);
        quoted
    };
    let (mut terms, mut added, mut is_folded, mut index) = (vec![], String::new(), false, name.map(quoted));
    for (position, collation) in key {
        let column = &table.columns[*position];
        let of = quoted(&column.name);
        match collation {
            Collation::Binary => terms.push(of),
            Collation::Rtrim => return no(Id::Collation, &column.name, "a unique key under RTRIM"),
            Collation::NoCase if tr.postgres => terms.push(format!("{}{of}{}", FOLD_POSTGRES.0, FOLD_POSTGRES.1)),
            Collation::NoCase => {
                tr.fire(Id::KeyLength);
                let folded = format!("{}_folded", column.name);
                if table.position(&folded).is_some() {
                    let why = format!("MariaDB's key needs a column of the name `{folded}`, which the table has");
                    return no(Id::Collation, &column.name, why);
                }
                let folded = quoted(&folded);
                let room = key_characters(tr.input.catalogue, table, *position, column.size).unwrap_or(KEY_CHARACTERS);
                added.push_str(&format!(
                    "ADD COLUMN IF NOT EXISTS {folded} VARCHAR({room}) GENERATED ALWAYS AS ({}{of}{}) STORED INVISIBLE, ",
                    FOLD_MARIADB.0, FOLD_MARIADB.1
                ));
                terms.push(folded);
                is_folded = true;
            }
        }
    }
    if is_folded && index.is_none() {
        let names: Vec<&str> = key.iter().map(|(position, _)| table.columns[*position].name.as_str()).collect();
        index = Some(quoted(&tr.index_name(&format!("{}_folded", names.join("_")))));
    }
    let (table, terms) = (quoted(&table.name), terms.join(", "));
    Ok(match (tr.postgres, index) {
        (true, Some(index)) => format!("CREATE UNIQUE INDEX {index} ON {table} ({terms})"),
        (true, None) => format!("CREATE UNIQUE INDEX ON {table} ({terms})"),
        (false, index) => {
            format!("ALTER TABLE {table} {added}ADD UNIQUE INDEX {} ({terms})", index.unwrap_or_default())
        }
    })
}

/// MariaDB's counterpart of a unique index that is partial or over an expression: an invisible unique column.
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
    let name = tr.index_name(&name);
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
