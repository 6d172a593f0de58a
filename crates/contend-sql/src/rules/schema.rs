//! SQLite's schema tables, answered from the catalogue.

use std::borrow::Cow;

use crate::catalogue::output;
use crate::catalogue::{Column, Kind, Table};
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::QualifiedName;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::scope::{Columns, Source};
use crate::types::{Ty, Val};

pub(crate) fn is_schema_table(name: &QualifiedName) -> bool {
    let plain_name = plain(name.name.0);
    let named = |word: &str| plain_name.eq_ignore_ascii_case(word);
    let main = name.db_name.as_ref().is_none_or(|schema| plain(schema.0).eq_ignore_ascii_case("main"));
    main && (named("sqlite_master") || named("sqlite_schema"))
}

/// sqlite_master: type, name and tbl_name of each object. The server does not have `sql` and `rootpage`.
pub(crate) fn schema_table<'a>(tr: &mut Tr<'a>, token: &str, shown: Cow<'a, str>) -> R<Source<'a>> {
    let mut rows: Vec<[String; 3]> = vec![];
    let row = |kind: &str, name: &str, table: &str| [kind.to_string(), name.to_string(), table.to_string()];
    for table in tr.input.catalogue.tables.iter().filter(|t| !t.temporary) {
        match table.kind {
            Kind::Opaque => return no(Id::SchemaTable, token, format!("`{}` is not understood", table.name)),
            Kind::View => rows.push(row("view", &table.name, &table.name)),
            Kind::Table if table.listed_apart => {
                let why = format!("AUTOINCREMENT or WITHOUT ROWID of `{}` is listed in another way", table.name);
                return no(Id::SchemaTable, token, why);
            }
            Kind::Table => {
                rows.push(row("table", &table.name, &table.name));
                for n in 1..=automatic_indexes(table) {
                    rows.push(row("index", &format!("sqlite_autoindex_{}_{n}", table.name), &table.name));
                }
            }
        }
    }
    rows.extend(tr.input.catalogue.indexes.iter().map(|i| row("index", &i.name, &i.table)));
    rows.extend(tr.input.catalogue.triggers.iter().map(|trigger| row("trigger", &trigger.name, &trigger.table)));
    tr.fire(Id::SchemaTable);
    let names = ["type", "name", "tbl_name"];
    let quoted = |value: &String| {
        let mut text = String::new();
        push_text(&mut text, value);
        text
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(quoted).collect()).collect();
    let listed = listed(tr, shown, &names, &[Ty::Text; 3], &rows);
    Ok(Source { hides: &["rootpage", "sql"], ..listed })
}

/// pragma_table_info('t'): number, name and primary key position of each column.
pub(crate) fn table_info<'a>(tr: &mut Tr<'a>, token: &'a str, shown: Cow<'a, str>) -> R<Source<'a>> {
    let table = tr.known_table(&plain(token))?;
    if table.columns.iter().any(|c| c.generated) {
        return no(Id::SchemaTable, token, "generated columns, which SQLite lists or not");
    }
    tr.fire(Id::SchemaTable);
    let place = |p: usize| table.key.iter().position(|k| *k == p).map_or(0, |at| at + 1);
    let row = |(p, column): (usize, &Column)| {
        let mut name = String::new();
        push_text(&mut name, &column.name);
        vec![p.to_string(), name, place(p).to_string()]
    };
    let rows: Vec<Vec<String>> = table.columns.iter().enumerate().map(row).collect();
    let listed = listed(tr, shown, &["cid", "name", "pk"], &[Ty::Int, Ty::Text, Ty::Int], &rows);
    Ok(Source { hides: &["type", "notnull", "dflt_value", "arg", "schema"], ..listed })
}

/// A query of literals, as a table in FROM.
fn listed<'a>(tr: &Tr<'a>, shown: Cow<'a, str>, names: &[&str], types: &[Ty], rows: &[Vec<String>]) -> Source<'a> {
    let nothing = [vec!["NULL".to_string(); names.len()]];
    let shown_rows = if rows.is_empty() { &nothing[..] } else { rows };
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(names).zip(types).map(|((value, name), ty)| match (tr.postgres, ty) {
            (true, Ty::Text) => format!("{value}::text AS \"{name}\""),
            (true, _) => format!("{value}::bigint AS \"{name}\""),
            (false, _) => format!("{value} AS \"{name}\""),
        });
        format!("SELECT {}", cells.collect::<Vec<_>>().join(", "))
    };
    let mut text = shown_rows.iter().map(line).collect::<Vec<_>>().join(" UNION ALL ");
    if rows.is_empty() {
        text.push_str(" LIMIT 0");
    }
    let columns: Vec<Column> =
        names.iter().zip(types).map(|(name, ty)| output(name.to_string(), Val::of(*ty).never_null())).collect();
    Source { written: Some(text), ..Source::new(shown, Columns::Query(columns.into())) }
}

/// Number of indexes that SQLite creates for unique constraints: one for each set of columns.
fn automatic_indexes(table: &Table) -> usize {
    let sets: Vec<&Vec<usize>> = table.unique.iter().filter(|set| table.rowid.is_none_or(|r| set[..] != [r])).collect();
    let first = |(i, set): &(usize, &&Vec<usize>)| !sets[..*i].contains(set);
    sets.iter().enumerate().filter(first).count()
}
