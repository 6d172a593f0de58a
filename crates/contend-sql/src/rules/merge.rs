//! Several ON CONFLICT clauses of one row, as PostgreSQL's MERGE.

use crate::catalogue::Table;
use crate::emit::Tr;
use crate::parse::tree::{Expr, Literal, OneSelect, Upsert, UpsertDo};
use crate::refuse::{R, no};
use crate::rules::changes::source;
use crate::rules::literals::bare;
use crate::rules::upsert::{Written, assignments, conflict_target};
use crate::rules::{Id, changes};
use crate::scope::Scope;
use crate::types::Collation;

/// Writes MERGE in place of the INSERT that was written: a row of the table matches by the first clause whose key is
/// there.
pub(crate) fn merge<'a>(tr: &mut Tr<'a>, table: &'a Table, first: &'a Upsert<'a>, written: &Written<'_, 'a>) -> R<()> {
    let refused = |why: &str| no(Id::Upsert, "CONFLICT", why);
    let null = |expr: &Expr| matches!(bare(expr), Expr::Literal(Literal::Null));
    let row = match written.select.map(|select| &select.body.select) {
        Some(OneSelect::Values(rows)) if changes::one_row(written.select) && !rows[0].iter().any(null) => &rows[0],
        _ => return refused("more than one ON CONFLICT for several rows, or for one with a NULL"),
    };
    if written.returning || written.alias.is_some() || !tr.known.scopes.is_empty() || row.is_empty() {
        return refused("more than one ON CONFLICT with RETURNING or an alias, or in a trigger");
    }
    let insert = std::mem::take(&mut tr.out.sql);
    let values = &insert[written.rows..];
    if !insert.starts_with("INSERT INTO ") {
        return refused("more than one ON CONFLICT behind WITH");
    }
    let mut targets = vec![];
    let mut clause = Some(first);
    while let Some(upsert) = clause {
        match conflict_target(tr, table, upsert)? {
            Some(target) if target.iter().any(|p| table.columns[*p].collation != Collation::Binary) => {
                return no(Id::Collation, "CONFLICT", "the key ignores case");
            }
            Some(target) => targets.push((target, &upsert.do_clause)),
            None => return refused("more than one ON CONFLICT, one of them without a target"),
        }
        clause = upsert.next;
    }
    tr.put("MERGE INTO ");
    tr.name(&table.name)?;
    tr.put(" USING (");
    tr.put(values);
    tr.put(") AS excluded (");
    tr.list(written.positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") ON ");
    let by_key = matched(tr, table, &targets)?;
    for (key, (_, action)) in by_key.iter().zip(&targets) {
        on_match(tr, table, written, key, action)?;
    }
    tr.put(" WHEN NOT MATCHED THEN INSERT (");
    tr.list(written.positions, |tr, p| tr.name(&table.columns[*p].name))?;
    tr.put(") VALUES (");
    tr.list(written.positions, |tr, p| {
        tr.put("excluded.");
        tr.name(&table.columns[*p].name)
    })?;
    tr.put(")");
    Ok(())
}

/// Writes which row of the table matches; returns the condition of each key.
fn matched<'a>(tr: &mut Tr<'a>, table: &'a Table, targets: &[(Vec<usize>, &'a UpsertDo<'a>)]) -> R<Vec<String>> {
    let start = tr.at();
    let same = |tr: &mut Tr<'a>, of: &str, target: &[usize]| -> R<String> {
        for (i, position) in target.iter().enumerate() {
            tr.put(if i == 0 { "" } else { " AND " });
            tr.name(of)?;
            tr.put(".");
            tr.name(&table.columns[*position].name)?;
            tr.put(" = excluded.");
            tr.name(&table.columns[*position].name)?;
        }
        Ok(tr.out.sql.split_off(start))
    };
    let (mut own, mut earlier, mut all): (Vec<String>, Vec<String>, Vec<String>) = (vec![], vec![], vec![]);
    for (target, _) in targets {
        let key = same(tr, &table.name, target)?;
        let other = same(tr, "contend_other", target)?;
        tr.name(&table.name)?;
        let name = tr.out.sql.split_off(start);
        all.push(match earlier.is_empty() {
            true => key.clone(),
            false => format!(
                "{key} AND NOT EXISTS (SELECT 1 FROM {name} AS \"contend_other\" WHERE {})",
                earlier.join(" OR ")
            ),
        });
        own.push(key);
        earlier.push(other);
    }
    tr.put(&all.join(" OR "));
    Ok(own)
}

/// Writes what is done with a row that matches by this key.
fn on_match<'a>(
    tr: &mut Tr<'a>,
    table: &'a Table,
    written: &Written<'_, 'a>,
    key: &str,
    action: &'a UpsertDo<'a>,
) -> R<()> {
    let nothing = format!(" WHEN MATCHED AND {key} THEN DO NOTHING");
    let UpsertDo::Set { sets, where_clause } = action else {
        tr.put(&nothing);
        return Ok(());
    };
    let start = tr.at();
    tr.known.scopes.push(Scope { sources: vec![source(table, None)], several: true, ..Scope::default() });
    tr.place.upsert = Some(table);
    tr.put(&format!(" WHEN MATCHED AND {key}"));
    if let Some(condition) = where_clause {
        tr.put(" AND (");
        tr.condition(condition)?;
        tr.put(")");
    }
    tr.put(" THEN UPDATE SET ");
    assignments(tr, table, sets, None)?;
    tr.place.upsert = None;
    tr.known.scopes.pop();
    if where_clause.is_some() {
        tr.put(&nothing);
    }
    for (position, column) in table.columns.iter().enumerate() {
        let end = tr.at();
        tr.put("excluded.");
        tr.name(&column.name)?;
        let new = tr.out.sql.split_off(end);
        if !written.positions.contains(&position) && tr.out.sql[start..].contains(&new) {
            return no(Id::Upsert, "excluded", "a column that the INSERT leaves out, next to several ON CONFLICT");
        }
    }
    Ok(())
}
