//! `contend capture to-workload`: a workload and a study out of a capture.

use crate::generator::{column_of, columns_of, line, of_argument, of_column, text};
use crate::manifest::{Content, Database, Table, Values};
use crate::program::{Began, Group, Step, Transaction};
use crate::sql::{Begin, Does, Token, literal, tokens};
use crate::study::study;
use crate::summary::Known;
use crate::trace::{Call, Value};
use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;

/// Kinds of transactions that are taken over, the most frequent.
const KINDS: usize = 24;

/// Two files and what was left out of them, in sentences.
pub struct Written {
    pub workload: String,
    pub study: String,
    pub left_out: Vec<String>,
}

/// A transaction of the workload.
struct Kind<'g> {
    name: String,
    group: &'g Group,
}

struct Writer<'k> {
    known: &'k Known<'k>,
    database: &'k Database,
    content: &'k Content,
    copy: Option<Connection>,
    left_out: Vec<String>,
    out: String,
}

/// Makes a workload and a study of a capture.
///
/// # Errors
/// There is nothing to make them of.
pub fn write(dir: &Path, known: &Known) -> Result<Written> {
    let calls_on = |database: &&Database| {
        let on = |call: &&Call| known.trace.connections.get(&call.connection).is_some_and(|c| c.path == database.path);
        known.trace.calls.iter().filter(on).count()
    };
    let database = known.manifest.databases.iter().max_by_key(calls_on).context("the capture has no database")?;
    // A database that the program made is taken as it was at the end.
    let content = database.content.as_ref().or(database.end.as_ref());
    let content = content.with_context(|| format!("the content of {} is not known", database.path.display()))?;
    let copy = content.copy.as_ref().map(|copy| Connection::open(dir.join(copy))).transpose()?;
    let mut writer = Writer { known, database, content, copy, left_out: vec![], out: String::new() };
    for other in known.manifest.databases.iter().filter(|other| other.path != database.path) {
        let sentence = format!("{}: a workload has one database; this one is left out.", other.path.display());
        writer.left_out.push(sentence);
    }
    let kinds = writer.kinds();
    ensure!(!kinds.is_empty(), "no transaction of the capture can be taken over: {}", writer.left_out.join(" "));
    let about = format!("What {} did to {}", known.manifest.command.join(" "), database.path.display());
    writer.out = format!(
        "# Made by contend capture to-workload. docs/workload-file.md explains every key.\n\nabout = {}\n\n[scale]\n",
        text(&about)
    );
    for table in writer.tables() {
        let _ = writeln!(writer.out, "rows_{} = {}", plain(&table.name), table.rows);
    }
    writer.write_tables()?;
    for kind in &kinds {
        writer.transaction(kind);
    }
    writer.roles(&kinds);
    let study = study(known, database, captured_begin(known));
    Ok(Written { workload: writer.out, study, left_out: writer.left_out })
}

/// A name of letters, digits and `_`.
fn plain(name: &str) -> String {
    let word: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("t_{word}") }
}

impl<'k> Writer<'k> {
    /// Tables that a workload can have.
    fn tables(&self) -> Vec<&'k Table> {
        let is_virtual = |table: &&Table| table.ddl.to_ascii_uppercase().starts_with("CREATE VIRTUAL");
        let shadow = |table: &&Table| {
            let all = self.content.tables.iter().filter(is_virtual);
            all.into_iter().any(|owner| table.name.starts_with(&format!("{}_", owner.name)))
        };
        self.content.tables.iter().filter(|table| !is_virtual(table) && !shadow(table)).collect()
    }

    /// Groups that can be taken over, with names.
    fn kinds(&mut self) -> Vec<Kind<'k>> {
        let known = self.known;
        let (mut kinds, mut names): (Vec<Kind>, BTreeMap<String, u32>) = (vec![], BTreeMap::new());
        let tables: Vec<String> = self.tables().iter().map(|table| table.name.to_ascii_lowercase()).collect();
        for group in &known.groups {
            let shapes = || group.steps.iter().map(|step| &known.shapes.all[step.shape]);
            let on_this = group.transactions.iter().any(|&i| {
                let connection = known.trace.connections.get(&known.transactions[i].connection);
                connection.is_some_and(|connection| connection.path == self.database.path)
            });
            if !on_this || group.steps.is_empty() {
                continue;
            }
            let what = shapes().map(|shape| shape.text.clone()).collect::<Vec<_>>().join("; ");
            let short: String = what.chars().take(60).collect();
            let what = if short == what { what } else { format!("{short}...") };
            let why = if shapes().any(|shape| shape.text.contains(';')) {
                "it is a script of several statements"
            } else if shapes().any(|shape| !matches!(shape.does, Does::Read | Does::Write | Does::Savepoint)) {
                "it changes settings or tables"
            } else if shapes()
                .any(|shape| shape.tables.is_empty() || !shape.tables.iter().all(|table| tables.contains(table)))
            {
                "it names what is no table of the database"
            } else if kinds.len() == KINDS {
                "it is rarer than the others"
            } else {
                ""
            };
            if !why.is_empty() {
                self.left_out.push(format!("left out, because {why} (seen: {}): {what}", group.transactions.len()));
                continue;
            }
            let main = shapes().find(|shape| shape.does == Does::Write).or(shapes().next());
            let verb =
                main.map_or(String::new(), |shape| shape.text.split(' ').next().unwrap_or_default().to_lowercase());
            let name = plain(&format!("{verb}_{}", main.and_then(|shape| shape.tables.first()).map_or("", |t| t)));
            let number = names.entry(name.clone()).or_default();
            *number += 1;
            let name = if *number > 1 { format!("{name}_{number}") } else { name };
            kinds.push(Kind { name, group });
        }
        kinds
    }

    fn write_tables(&mut self) -> Result<()> {
        for table in self.tables() {
            let _ = write!(self.out, "\n[table.{}]\n", key(&table.name));
            line(&mut self.out, "ddl", &text(&table.ddl));
            let names = |sql: &&String| {
                let words = tokens(sql);
                let upper = sql.to_ascii_uppercase();
                let on = words.iter().position(|t| matches!(t, Token::Word(w) if w.eq_ignore_ascii_case("on")));
                let table_of = on.and_then(|at| match words.get(at + 1) {
                    Some(Token::Word(word)) => Some(word.trim_matches(['"', '`', '[', ']'])),
                    _ => None,
                });
                (upper.starts_with("CREATE INDEX") || upper.starts_with("CREATE UNIQUE INDEX"))
                    && table_of.is_some_and(|name| name.eq_ignore_ascii_case(&table.name))
            };
            let indexes: Vec<String> = self.content.others.iter().filter(names).map(|sql| text(sql)).collect();
            if !indexes.is_empty() {
                line(&mut self.out, "indexes", &format!("[{}]", indexes.join(", ")));
            }
            line(&mut self.out, "rows", &text(&format!("rows_{}", plain(&table.name))));
            let _ = write!(self.out, "\n[table.{}.columns]\n", key(&table.name));
            for column in &table.columns {
                let choices = self.choices(&table.name, &column.name)?;
                line(&mut self.out, &key(&column.name), &of_column(self.content, table, column, choices));
            }
        }
        for sql in &self.content.others {
            let word = tokens(sql).get(1).map_or(String::new(), |token| match token {
                Token::Word(word) => word.to_ascii_lowercase(),
                _ => String::new(),
            });
            if matches!(word.as_str(), "trigger" | "view") {
                let begin: String = sql.chars().take(80).collect();
                self.left_out.push(format!("Triggers and views are not taken over: {begin}"));
            }
        }
        Ok(())
    }

    /// The values of a column, if they are known and few.
    fn choices(&self, table: &str, column: &str) -> Result<Option<String>> {
        let Some(copy) = &self.copy else { return Ok(None) };
        let quote = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let (table, column) = (quote(table), quote(column));
        let sql = format!(
            "SELECT {column}, count(*) FROM {table} WHERE typeof({column}) IN ('integer', 'text') GROUP BY 1 ORDER BY 2 DESC LIMIT 21"
        );
        let mut statement = copy.prepare(&sql)?;
        let rows =
            statement.query_map([], |row| Ok((row.get::<_, rusqlite::types::Value>(0)?, row.get::<_, i64>(1)?)))?;
        let (mut values, mut weights) = (vec![], vec![]);
        for row in rows {
            let (value, count) = row?;
            values.push(match value {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(value) if value.len() <= 200 => text(&value),
                _ => return Ok(None),
            });
            weights.push(count.to_string());
        }
        let few = !values.is_empty() && values.len() <= 20;
        Ok(few.then(|| format!("{{ choice = [{}], weights = [{}] }}", values.join(", "), weights.join(", "))))
    }

    /// A transaction with its steps; arguments with the same values in every execution are one.
    fn transaction(&mut self, kind: &Kind) {
        let group = kind.group;
        let _ = write!(self.out, "\n[transaction.{}]\n", kind.name);
        line(&mut self.out, "kind", if group.writes { "\"write\"" } else { "\"read\"" });
        match (group.began, group.writes) {
            (Began::Alone, _) => line(&mut self.out, "begin", "\"none\""),
            (_, true) => {}
            (_, false) => line(&mut self.out, "begin", "\"deferred\""),
        }
        let all: Vec<&Transaction> = group.transactions.iter().map(|&i| &self.known.transactions[i]).collect();
        let mut shared = Shared::default();
        let mut steps = String::new();
        let pause_ns = all.iter().map(|transaction| transaction.open_ns).sum::<u64>() / all.len().max(1) as u64;
        for (i, step) in group.steps.iter().enumerate() {
            // What the program does meanwhile, while its transaction is open.
            if i > 0 && i + 1 == group.steps.len() && pause_ns >= 200_000 {
                let _ = write!(steps, "\n[[transaction.{}.step]]\nhold = \"{}us\"\n", kind.name, pause_ns / 1_000);
            }
            self.step(kind, (i, step), &all, (&mut shared, &mut steps));
        }
        if !shared.generators.is_empty() {
            let _ = write!(self.out, "\n[transaction.{}.args]\n", kind.name);
            for (name, generator) in &shared.generators {
                line(&mut self.out, name, generator);
            }
        }
        self.out += &steps;
    }

    fn step(
        &mut self,
        kind: &Kind,
        (place, step): (usize, &Step),
        all: &[&Transaction],
        (shared, steps): (&mut Shared, &mut String),
    ) {
        let known = self.known;
        let sql = std::rc::Rc::clone(&known.shapes.texts[step.shape]);
        let repeats = kind.group.repeats(step);
        let calls: Vec<&Call> = all
            .iter()
            .flat_map(|transaction| &transaction.calls)
            .map(|&i| &known.trace.calls[i])
            .filter(|call| known.shapes.number(call) == step.shape)
            .collect();
        let shape = &known.shapes.all[step.shape];
        let (columns, inserts) = (
            columns_of(&sql),
            shape.text.to_lowercase().starts_with("insert") || shape.text.to_lowercase().starts_with("replace"),
        );
        let is_hashed = known.manifest.values == Values::Hash;
        let values: Vec<Vec<Value>> = calls.iter().filter_map(|call| values_of(call, is_hashed, &sql)).collect();
        let (mut parts, mut own, mut number): (Vec<String>, BTreeMap<String, String>, usize) =
            (vec![], BTreeMap::new(), 0);
        for (i, token) in tokens(&sql).iter().enumerate() {
            let part = match token {
                Token::Word(part) | Token::Sign(part) => (*part).to_string(),
                Token::Parameter(_) | Token::Literal(_) => {
                    let here: Vec<&Value> = values.iter().filter_map(|values| values.get(number)).collect();
                    number += 1;
                    if let Token::Literal(part) = token
                        && (here.windows(2).all(|two| two[0] == two[1]) && (!is_hashed || matches!(*part, "0" | "1")))
                    {
                        parts.push((*part).to_string());
                        continue;
                    }
                    let column = columns.get(&i).map(String::as_str);
                    let generator = of_argument(self.content, &shape.tables, column, &here, inserts);
                    let is_text = column
                        .and_then(|name| column_of(self.content, &shape.tables, name))
                        .is_some_and(|(_, column)| column.kind == "text");
                    let name = if repeats > 1 {
                        let name = format!("a{place}_{number}");
                        own.insert(name.clone(), generator.clone());
                        name
                    } else {
                        shared.name(&here, &generator, format!("a{place}_{number}"))
                    };
                    // A number that is used once becomes a text that is used once.
                    if generator == "{ unique = true }" && is_text {
                        format!("('u' || CAST(:{name} AS TEXT))")
                    } else {
                        format!(":{name}")
                    }
                }
            };
            parts.push(part);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let _ = write!(steps, "\n[[transaction.{}.step]]\nsql = {}\n", kind.name, text(&crate::sql::joined(&parts)));
        if repeats > 1 {
            line(steps, "repeat", &repeats.to_string());
        }
        if !own.is_empty() {
            let own: Vec<String> = own.iter().map(|(name, generator)| format!("{name} = {generator}")).collect();
            line(steps, "args", &format!("{{ {} }}", own.join(", ")));
        }
    }

    /// A role for each program, with its clients and what they do.
    fn roles(&mut self, kinds: &[Kind]) {
        let known = self.known;
        let mut shares: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
        for kind in kinds {
            for &i in &kind.group.transactions {
                let role = plain(known.trace.process(known.transactions[i].who.process));
                *shares.entry(role).or_default().entry(&kind.name).or_default() += 1;
            }
        }
        for (role, mix) in &shares {
            let _ = write!(self.out, "\n[role.{role}]\n");
            let (processes, clients) = clients(known, role);
            line(&mut self.out, "processes", &processes.to_string());
            line(&mut self.out, "clients", &clients.to_string());
            let all: usize = mix.values().sum();
            let busy: u64 = known
                .transactions
                .iter()
                .filter(|t| plain(known.trace.process(t.who.process)) == *role)
                .map(|t| t.to_ns - t.from_ns)
                .sum();
            let lived = (known.trace.to_ns - known.trace.from_ns) * processes * clients;
            let pause_us = lived.saturating_sub(busy) / all.max(1) as u64 / 1_000;
            let _ = writeln!(
                self.out,
                "# As captured, each client paused about {pause_us} us before a transaction. Without a pause, the study shows what is possible:\n# pause = {{ exponential = \"{}us\" }}",
                pause_us.max(1)
            );
            let mix: Vec<String> = mix.iter().map(|(name, count)| format!("{name} = {count}")).collect();
            line(&mut self.out, "mix", &format!("{{ {} }}", mix.join(", ")));
        }
    }
}

/// A key of TOML.
fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_bare { name.into() } else { text(name) }
}

/// Arguments of a transaction, by the values that they had.
#[derive(Default)]
struct Shared {
    generators: BTreeMap<String, String>,
    by_values: HashMap<String, String>,
}

impl Shared {
    /// The argument for values; the same one for the same values in every execution.
    fn name(&mut self, values: &[&Value], generator: &str, new: String) -> String {
        let all: BTreeSet<String> = values.iter().map(|value| format!("{value:?}")).collect();
        let varies = all.len() > 2 && values.len() >= 3;
        let known = format!("{values:?}");
        if varies && let Some(name) = self.by_values.get(&known) {
            return name.clone();
        }
        self.generators.insert(new.clone(), generator.to_string());
        self.by_values.insert(known, new.clone());
        new
    }
}

/// Values of a call in the order of their places in the text, literals included. `None` if the text has other places.
fn values_of(call: &Call, is_hashed: bool, like: &str) -> Option<Vec<Value>> {
    let (mut found, mut next) = (vec![], 1u16);
    let mut names: Vec<&str> = vec![];
    for token in tokens(&call.sql) {
        match token {
            Token::Literal(text) => found.push(literal(text, is_hashed)),
            Token::Parameter(text) => {
                let number = text.strip_prefix('?').and_then(|digits| digits.parse().ok());
                let place = if let Some(number) = number {
                    number
                } else if text == "?" {
                    next
                } else if let Some(at) = names.iter().position(|name| *name == text) {
                    at as u16 + 1
                } else {
                    names.push(text);
                    names.len() as u16
                };
                next = next.max(place) + u16::from(number.is_none() && text == "?") * u16::from(place >= next);
                let value = call.values.iter().find(|(at, _)| *at == place).map(|(_, value)| value.clone());
                found.push(value.unwrap_or(Value::Null));
            }
            _ => {}
        }
    }
    let places =
        |sql: &str| tokens(sql).iter().filter(|t| matches!(t, Token::Literal(_) | Token::Parameter(_))).count();
    (found.len() == places(like)).then_some(found)
}

/// Processes and clients in each that a program had at the same time.
fn clients(known: &Known, role: &str) -> (u64, u64) {
    let mut threads: HashMap<(u64, u32), (u64, u64)> = HashMap::new();
    for call in known.trace.calls.iter().filter(|call| plain(known.trace.process(call.who.process)) == role) {
        let life = threads.entry((call.who.process, call.who.tid)).or_insert((call.at_ns, 0));
        life.1 = call.end_ns().max(life.1);
    }
    let most = |lives: Vec<(u64, u64)>| {
        let at = |moment: u64| lives.iter().filter(|(from, to)| *from <= moment && moment <= *to).count() as u64;
        lives.iter().map(|(from, _)| at(*from)).max().unwrap_or(1)
    };
    let mut processes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for ((process, _), life) in &threads {
        let whole = processes.entry(*process).or_insert(*life);
        *whole = (whole.0.min(life.0), whole.1.max(life.1));
    }
    let (processes, all) = (most(processes.into_values().collect()), most(threads.into_values().collect()));
    let processes = processes.clamp(1, 16);
    (processes, all.div_ceil(processes).clamp(1, 16))
}

/// How transactions that write begin, most of them.
fn captured_begin(known: &Known) -> &'static str {
    let mut counts: BTreeMap<Begin, usize> = BTreeMap::new();
    for group in known.groups.iter().filter(|group| group.writes) {
        if let Began::By(begin) = group.began {
            *counts.entry(begin).or_default() += group.transactions.len();
        }
    }
    match counts.into_iter().max_by_key(|(_, count)| *count).map(|(begin, _)| begin) {
        Some(Begin::Immediate) => "immediate",
        Some(Begin::Exclusive) => "exclusive",
        _ => "deferred",
    }
}
