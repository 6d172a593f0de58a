//! Tries the statements of a plan on the server without rows, and takes all of it back. So a server's own limits, which the
//! translation does not know, are listed before anything is written.

use crate::plan::{Left, Makes, Plan, Step};
use crate::server::Product;
use crate::write;
use anyhow::Result;
use contend_sql::Target;
use contend_wire::kept::{mentions, quoted};

/// Most steps that are tried: PostgreSQL locks all objects of a transaction, and has room for some thousand.
const STEPS_MAX: usize = 1_000;

/// The steps that the server refuses, and why.
///
/// # Errors
/// The server cannot be used.
pub fn refused(product: &mut dyn Product, plan: &Plan, schema: Option<&str>) -> Result<Vec<Left>> {
    if plan.steps.len() > STEPS_MAX {
        return Ok(vec![]);
    }
    match product.target() {
        Target::Postgres => in_transaction(product, plan, schema),
        Target::MariaDb => with_temporary_tables(product, plan),
    }
}

/// The steps that fail, without those that name a table that failed. `attempt` carries one out.
fn failing<'p>(
    steps: impl Iterator<Item = &'p Step>,
    mut attempt: impl FnMut(&Step) -> Result<Option<anyhow::Error>>,
) -> Result<Vec<Left>> {
    let (mut refused, mut tables): (_, Vec<&str>) = (vec![], vec![]);
    for step in steps.filter(|step| !step.sql.is_empty()) {
        let needs = |table: &&str| step.sql.iter().any(|sql| mentions(sql, table));
        if tables.contains(&step.table.as_str()) || tables.iter().any(needs) {
            continue;
        }
        if let Some(error) = attempt(step)? {
            let what = format!("{} {}", step.makes.word(), step.name);
            let why = format!("the server refuses it: {error:#}");
            refused.push(Left { what, why, object: None, is_foreign_key: false });
            tables.extend((step.makes == Makes::Table).then_some(step.table.as_str()));
        }
    }
    Ok(refused)
}

fn in_transaction(product: &mut dyn Product, plan: &Plan, schema: Option<&str>) -> Result<Vec<Left>> {
    product.run("BEGIN")?;
    write::prepare(product, plan, schema)?;
    let refused = failing(plan.steps.iter(), |step| {
        product.run("SAVEPOINT contend_step")?;
        let failed = step.sql.iter().try_for_each(|sql| product.run(sql)).err();
        product.run(if failed.is_some() { "ROLLBACK TO contend_step" } else { "RELEASE contend_step" })?;
        Ok(failed)
    })?;
    product.run("ROLLBACK")?;
    Ok(refused)
}

/// On MariaDB, where DDL commits. Temporary tables have no foreign keys and triggers, and no view reads them.
fn with_temporary_tables(product: &mut dyn Product, plan: &Plan) -> Result<Vec<Left>> {
    let is_tried = |step: &&Step| matches!(step.makes, Makes::Table | Makes::UniqueKey | Makes::Counter | Makes::Index);
    let temporary = |sql: &str| match sql.strip_prefix("CREATE TABLE ") {
        Some(rest) => format!("CREATE TEMPORARY TABLE {rest}"),
        None => sql.to_string(),
    };
    const FIRST: &str = "_contend_first";
    if product.run(&format!("CREATE TEMPORARY TABLE {FIRST} (a INT)")).is_err() {
        // The user may not make any.
        return Ok(vec![]);
    }
    let mut made = vec![FIRST.to_string()];
    let refused = failing(plan.steps.iter().filter(is_tried), |step| {
        let failed = step.sql.iter().try_for_each(|sql| product.run(&temporary(sql))).err();
        made.extend((step.makes == Makes::Table && failed.is_none()).then(|| quoted(&step.name)));
        Ok(failed)
    })?;
    for table in made {
        product.run(&format!("DROP TEMPORARY TABLE {table}"))?;
    }
    Ok(refused)
}
