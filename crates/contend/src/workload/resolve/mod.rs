//! From a workload file as written to a resolved workload. All mistakes are found here, with file, line and key, so
//! that later code can rely on every reference.

mod at;
mod generator;
mod order;
mod preset;
pub mod request;
mod role;
mod statement;
mod transaction;

use super::file::{
    AfterLoadFile, AfterLoadOwn, ContentFile, InvariantFile, LastFile, ProfileFile, RoleFile, SetupFile, StepFile,
    TableFile, WorkloadFile,
};
use super::generator::Fields;
use super::invariant::{Expect, Invariant, Linear, Quantity, Relation, Term, Vocabulary, parse_linear};
use super::model::{AfterLoad, Named, Role, Table, TransactionSpec, Workload};
use super::rows::RowsFile;
use super::scenario::Ask;
use super::secret::Secrets;
use super::sql::mentions;
use super::translate::server;
use crate::growing::LastWrite;
use crate::load;
use crate::source::{FileError, Source, did_you_mean};
use crate::units::hex;
pub use at::listed as listed_names;
use at::{At, listed};
use contend_wire::plan::http::check_pointer;
use generator::{Scope, fields, tables_needed};
use order::ordered;
use role::RoleScope;
use sha2::{Digest as _, Sha256};
use statement::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Value;
use transaction::{Shared, check_single, transaction};

/// Reads a workload, with `axes` in place of the numbers of `[scale]` that they name.
///
/// # Errors
/// What is wrong, with its file, line and key.
pub fn workload(source: &Source, axes: &BTreeMap<String, String>) -> Result<Workload, FileError> {
    let file: WorkloadFile = source.parse()?;
    let at = At::new(source);
    let axes = preset::expanded(&file.preset, &file.scale, axes, &at.key("preset"))?;
    let scale = scale(&file.scale, &axes, &at.key("scale"))?;
    let asked: Vec<String> = file.setup.keys().cloned().collect();
    let lists = Lists { lists: &file.list, asked: &asked };
    let tables = tables(&file.table, &scale, lists, &at.key("table"))?;
    let after_load = after_load(&file.after_load, &at.key("after_load"))?;
    let databases = databases(&file, &scale, &at)?;
    check(&file, &at)?;
    let table_names: Vec<String> = file.table.keys().cloned().collect();
    let scope = lists.scope(&tables, &table_names, None);
    let transaction_at = at.key("transaction");
    let session = session(&file, &at)?;
    let mut shared = Shared::new(&scale, scope, session.clone());
    let transactions =
        file.transaction.iter().map(|(name, t)| transaction(name, t, &transaction_at.key(name), &mut shared));
    let transactions = transactions.collect::<Result<Vec<_>, _>>()?;
    let (statements, own_sql, requests) = (shared.statements, shared.own_sql, shared.requests);
    if !statements.is_empty() && !requests.is_empty() {
        return transaction_at.fail("a workload has steps with sql or steps with requests, not both");
    }
    let asks = asks(&file, &session, &at)?;
    let login = file.login.as_ref().and_then(|name| file.transaction.keys().position(|known| known == name));
    let known = RoleScope::of(&file, &scale, databases);
    let profile_at = at.key("profile");
    let mix = |(name, profile): (&String, &ProfileFile)| {
        Ok((name.clone(), known.mix(&profile.mix, &profile_at.key(name).key("mix"))?))
    };
    let profiles = file.profile.iter().map(mix).collect::<Result<BTreeMap<_, _>, FileError>>()?;
    let roles = roles(&file, &known, &at.key("role"))?;
    let (invariants, last_writes) = invariants(&file, &scale, &transactions, &at.key("invariant"))?;
    Ok(Workload {
        name: name_of(&source.name),
        about: file.about,
        databases,
        presets: file.preset.keys().cloned().collect(),
        scale,
        tables,
        after_load,
        transactions,
        statements,
        own_sql,
        requests,
        secrets: Secrets::new(file.secret),
        login: login.map(|index| index as u16),
        asks,
        mode: file.mode,
        operations: file.operations,
        warm: file.warm,
        profiles,
        roles,
        invariants,
        last_writes,
        sha256: hex(&Sha256::digest(&source.text)),
        data_definition: data_definition(source),
        translated: None,
        source: source.clone(),
    })
}

/// Checks keys that depend on no other key.
fn check(file: &WorkloadFile, at: &At<'_>) -> Result<(), FileError> {
    if file.transaction.is_empty() {
        return at.fail("a workload needs at least one [transaction.NAME]");
    }
    if file.operations == Some(0) {
        return at.key("operations").fail("must be at least 1");
    }
    if let Some(mode) = file.mode.as_ref().filter(|mode| !file.profile.contains_key(*mode)) {
        return at.key("mode").fail(format!("there is no [profile.{mode}]{}", listed(file.profile.keys())));
    }
    if file.login.is_some() && file.profile.is_empty() {
        return at.key("login").fail("with a login, at least one [profile.NAME] must say what clients do after it");
    }
    Ok(())
}

/// Most databases of one trial: as many as clients.
const DATABASES_MAX: u32 = 100_000;

fn databases(file: &WorkloadFile, scale: &BTreeMap<String, Named>, at: &At<'_>) -> Result<u32, FileError> {
    let at = at.key("databases");
    match file.databases.as_ref().map_or(Ok(1), |value| at.fixed::<u32>(value, scale))? {
        0 => at.fail("at least one database is needed"),
        many if many > DATABASES_MAX => at.fail(format!("{many} databases; the maximum is {DATABASES_MAX}")),
        some => Ok(some),
    }
}

/// The roles of the file; one default role if it has none.
fn roles(file: &WorkloadFile, known: &RoleScope<'_>, at: &At<'_>) -> Result<Vec<Role>, FileError> {
    if file.role.is_empty() {
        return Ok(vec![known.role("client", &RoleFile::default(), at)?]);
    }
    file.role.iter().map(|(name, role)| known.role(name, role, &at.key(name))).collect()
}

/// Lists of a service, filled or not.
#[derive(Clone, Copy)]
struct Lists<'a> {
    lists: &'a BTreeMap<String, Vec<Value>>,
    asked: &'a [String],
}

impl<'a> Lists<'a> {
    fn scope(self, tables: &'a [Table], table_names: &'a [String], own_table: Option<&'a str>) -> Scope<'a> {
        Scope { tables, table_names, own_table, lists: self.lists, asked: self.asked }
    }
}

/// Names for requests: values that the login keeps, and secrets.
fn session(file: &WorkloadFile, at: &At<'_>) -> Result<request::Session, FileError> {
    let secrets = file.secret.keys().cloned().collect();
    let Some(name) = &file.login else { return Ok(request::Session { secrets, ..request::Session::default() }) };
    let Some(login) = file.transaction.get(name) else {
        return at.key("login").fail(format!("there is no transaction `{name}`{}", listed(file.transaction.keys())));
    };
    // In the order in which the steps declare them.
    let kept = login.step.iter().flat_map(|step| step.keep.keys().cloned());
    Ok(request::Session { kept: kept.zip(0..).collect(), secrets })
}

/// The requests that fill lists.
fn asks(file: &WorkloadFile, session: &request::Session, at: &At<'_>) -> Result<Vec<Ask>, FileError> {
    let ask = |(name, written): (&String, &SetupFile)| {
        let at = at.key("setup").key(name);
        let step = StepFile {
            request: Some(written.request.clone()),
            headers: written.headers.clone(),
            ..StepFile::default()
        };
        let (request, sources) = request::request(&step, &mut Names::default(), session, &at)?;
        check_pointer(&written.at).map_err(|message| at.key("at").error(message))?;
        let max = written.max.unwrap_or(1000);
        if max == 0 {
            return at.key("max").fail("a list has at least one value");
        }
        Ok(Ask { name: name.clone(), request, sources, at: written.at.clone(), max })
    };
    file.setup.iter().map(ask).collect()
}

fn after_load(written: &[AfterLoadFile], at: &At<'_>) -> Result<Vec<AfterLoad>, FileError> {
    let one = |(i, after): (usize, &AfterLoadFile)| {
        let at = at.key(i);
        let AfterLoadOwn { sql, on } = match after {
            AfterLoadFile::Own(own) => own,
            AfterLoadFile::Sql(sql) => {
                check_single(sql, &at)?;
                return Ok(AfterLoad { sql: sql.clone(), on: vec![] });
            }
        };
        check_single(sql, &at.key("sql"))?;
        let own = on.iter().map(|(name, sql)| {
            let at = at.key("on").key(name);
            let known = |known| at.error(format!("there is no server `{name}` (known: {known})"));
            if !sql.is_empty() {
                check_single(sql, &at)?;
            }
            Ok((server(name).map_err(known)?, sql.clone()))
        });
        Ok(AfterLoad { sql: sql.clone(), on: own.collect::<Result<_, FileError>>()? })
    };
    written.iter().enumerate().map(one).collect()
}

/// `built-in workload NAME` or the stem of a path.
fn name_of(source: &str) -> String {
    let base = source.rsplit(['/', '\\', ' ']).next().unwrap_or(source);
    base.strip_suffix(".toml").unwrap_or(base).to_string()
}

/// The parts of the file that define the data; comments, layout and other parts do not change it.
fn data_definition(source: &Source) -> String {
    let whole: toml::Table = toml::from_str(&source.text).unwrap_or_default();
    let data: toml::Table =
        whole.into_iter().filter(|(key, _)| matches!(key.as_str(), "table" | "after_load" | "list")).collect();
    data.to_string()
}

fn scale(
    written: &BTreeMap<String, Value>,
    axes: &BTreeMap<String, String>,
    at: &At<'_>,
) -> Result<BTreeMap<String, Named>, FileError> {
    let reserved = load::reserved();
    if let Some(axis) = axes.keys().find(|axis| !written.contains_key(*axis) && !reserved.contains(&axis.as_str())) {
        let load = reserved.join(", ");
        return at
            .fail(format!("axis `{axis}` is neither one of {load} nor a number of [scale]{}", listed(written.keys())));
    }
    let mut scale = BTreeMap::new();
    for (name, value) in written {
        let at = at.key(name);
        if reserved.contains(&name.as_str()) {
            return at.fail(format!("`{name}` is the name of an axis of every study; choose another"));
        }
        let fixed = value.as_table().filter(|table| table.len() == 1).and_then(|table| table.get("fixed"));
        let count = fixed.unwrap_or(value).as_integer().and_then(|n| u64::try_from(n).ok());
        let Some(mut count) = count else {
            return at.fail("expected a whole number that is not negative, or { fixed = n }");
        };
        if let Some(axis) = axes.get(name) {
            count = axis
                .parse()
                .map_err(|_| at.error(format!("axis `{name}` cannot be `{axis}`: it is a whole number")))?;
        }
        scale.insert(name.clone(), Named { count, fixed: fixed.is_some() });
    }
    Ok(scale)
}

/// The tables, each after those it refers to.
fn tables(
    written: &BTreeMap<String, TableFile>,
    scale: &BTreeMap<String, Named>,
    lists: Lists<'_>,
    at: &At<'_>,
) -> Result<Vec<Table>, FileError> {
    let names: Vec<String> = written.keys().cloned().collect();
    let needs = |i: usize| -> Vec<usize> {
        let needed: BTreeSet<String> = written[&names[i]].columns.values().flat_map(tables_needed).collect();
        let others = needed.iter().filter(|name| **name != names[i]);
        others.filter_map(|name| names.iter().position(|known| known == name)).collect()
    };
    let order = ordered(names.len(), needs).map_err(|i| {
        at.key(&names[i]).error("its columns refer to a table that, directly or through others, refers back")
    })?;
    let mut tables = vec![];
    for i in order {
        let scope = lists.scope(&tables, &names, Some(&names[i]));
        let table = table(&names[i], &written[&names[i]], scale, &at.key(&names[i]), &scope)?;
        tables.push(table);
    }
    Ok(tables)
}

fn table(
    name: &str,
    file: &TableFile,
    scale: &BTreeMap<String, Named>,
    at: &At<'_>,
    scope: &Scope<'_>,
) -> Result<Table, FileError> {
    check_single(&file.ddl, &at.key("ddl"))?;
    // In quotes a quote is doubled.
    if !mentions(&file.ddl, name) && !file.ddl.contains(&name.replace('"', "\"\"")) {
        return at.key("ddl").fail(format!("it does not create `{name}`; the key of the section is the table's name"));
    }
    for (i, index) in file.indexes.iter().enumerate() {
        check_single(index, &at.key("indexes").key(i))?;
    }
    let rows = match &file.rows {
        Some(value) => at.key("rows").count(value, scale)?,
        None => at.count(&Value::Integer(0), scale)?,
    };
    let empty = rows.factor == 0;
    if empty != file.columns.is_empty() {
        let message = if empty { "columns without `rows`" } else { "`rows` without [columns] to make them" };
        return at.key(if empty { "columns" } else { "rows" }).fail(message);
    }
    let columns_at = at.key("columns");
    if let Some(column) = file.columns.keys().find(|column| !mentions(&file.ddl, column)) {
        return columns_at.key(column).fail(format!("the ddl of `{name}` has no column `{column}`"));
    }
    let columns: Fields = fields(&file.columns, &columns_at, scope)?;
    let content = file.content.as_ref().map(|content| rows_file(content, &at.key("content"))).transpose()?;
    Ok(Table { name: name.to_string(), ddl: file.ddl.clone(), indexes: file.indexes.clone(), rows, columns, content })
}

/// The file of a table's rows, which is next to the workload. A workload from another person must not name others.
fn rows_file(written: &ContentFile, at: &At<'_>) -> Result<RowsFile, FileError> {
    let path = Path::new(&written.file);
    if path.file_name() != Some(path.as_os_str()) {
        return at.key("file").fail("must be the name of a file in the directory of the workload");
    }
    let path = at.dir().join(path);
    Ok(RowsFile { path, rows: written.rows, sha256: written.sha256.clone() })
}

fn invariants(
    file: &WorkloadFile,
    scale: &BTreeMap<String, Named>,
    transactions: &[TransactionSpec],
    at: &At<'_>,
) -> Result<(Vec<Invariant>, Vec<LastWrite>), FileError> {
    let mut names = BTreeSet::new();
    let (mut invariants, mut last_writes) = (vec![], vec![]);
    for (i, invariant) in file.invariant.iter().enumerate() {
        let at = at.key(i);
        if !names.insert(&invariant.name) {
            return at.key("name").fail(format!("another invariant is called `{}` too", invariant.name));
        }
        check_single(&invariant.sql, &at.key("sql"))?;
        let (name, sql) = (invariant.name.clone(), invariant.sql.clone());
        match &invariant.last {
            Some(_) if [&invariant.equals, &invariant.at_least, &invariant.at_most].iter().any(|of| of.is_some()) => {
                return at.key("last").fail("an invariant has exactly one of equals, at_least, at_most and last");
            }
            Some(last) => {
                let (transaction, key, values) = written_last(last, transactions, &at.key("last"))?;
                last_writes.push(LastWrite { name, sql, transaction, key, values });
            }
            None => invariants.push(Invariant { name, sql, expect: expect(invariant, file, scale, &at)? }),
        }
    }
    Ok((invariants, last_writes))
}

/// A transaction, and the indexes of its arguments that are the key and the values.
fn written_last(
    last: &LastFile,
    transactions: &[TransactionSpec],
    at: &At<'_>,
) -> Result<(u16, u16, Vec<u16>), FileError> {
    let Some(index) = transactions.iter().position(|known| known.name == last.transaction) else {
        let known: Vec<&str> = transactions.iter().map(|known| known.name.as_str()).collect();
        let advice = did_you_mean(&last.transaction, known.iter().copied());
        return at.key("transaction").fail(format!("there is no transaction `{}`{advice}", last.transaction));
    };
    if last.values.is_empty() {
        return at.key("values").fail("names the arguments that are in the columns after the key");
    }
    let argument = |name: &String, at: At<'_>| {
        let missing = || at.error(format!("`{}` has no drawn argument `{name}`", last.transaction));
        transactions[index].argument(name).ok_or_else(missing)
    };
    let key = argument(&last.key, at.key("key"))?;
    let values = last.values.iter().enumerate().map(|(i, name)| argument(name, at.key("values").key(i)));
    Ok((index as u16, key, values.collect::<Result<_, _>>()?))
}

fn expect(
    invariant: &InvariantFile,
    file: &WorkloadFile,
    scale: &BTreeMap<String, Named>,
    at: &At<'_>,
) -> Result<Expect, FileError> {
    let (key, relation, value) = match (&invariant.equals, &invariant.at_least, &invariant.at_most) {
        (Some(value), None, None) => ("equals", Relation::Equals, value),
        (None, Some(value), None) => ("at_least", Relation::AtLeast, value),
        (None, None, Some(value)) => ("at_most", Relation::AtMost, value),
        _ => return at.fail("an invariant has exactly one of equals, at_least, at_most, last"),
    };
    let at = at.key(key);
    let text = match value {
        Value::Integer(n) => {
            return Ok(Expect::Number(relation, Linear(vec![Term { factor: *n, of: Quantity::One }])));
        }
        Value::String(text) => text.trim(),
        other => return at.fail(format!("expected an integer or a text, found {}", other.type_str())),
    };
    let literal = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match (literal, relation) {
        (Some(literal), Relation::Equals) => Ok(Expect::Text(literal.replace("''", "'"))),
        (Some(_), _) => at.fail("a text can only be compared with `equals`"),
        (None, _) => {
            let fixed = |name: &str| scale.get(name).filter(|named| named.fixed);
            let names = Vocabulary {
                is_table: &|name| file.table.contains_key(name),
                transaction: &|name| file.transaction.keys().position(|known| known == name),
                number: &|name| fixed(name).and_then(|named| i64::try_from(named.count).ok()),
            };
            let linear = parse_linear(text, &names);
            linear.map(|linear| Expect::Number(relation, linear)).map_err(|message| at.error(message))
        }
    }
}
