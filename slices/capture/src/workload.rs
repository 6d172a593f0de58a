//! `contend capture to-workload`: makes a workload and a study from a capture.

use crate::arguments::{Arguments, add, kept_mark, returning_mark, unique_key};
use crate::attach::{names_one_of, schemas};
use crate::carried::{self, Read, is_equal};
use crate::content::open_copy;
use crate::finding::time;
use crate::generator::{Drawn, UNIQUE, column_of, columns_of, line, of_argument, plain};
use crate::lists::{Use, filled_up, use_of};
use crate::literal::text;
use crate::manifest::{Content, Database, Manifest, Table, Values};
use crate::naming::{Names, values_like};
use crate::ordered::{Ordered, ends};
use crate::program::{Began, End, Executed, Group, Step, Transaction, sequence};
use crate::roles::{self, Role};
use crate::rows::{self, Rows};
use crate::servers;
use crate::share::Share;
use crate::sql::{Begin, Does, Shape, Token, tokens};
use crate::study::{Captured, enforces_foreign_keys, study};
use crate::summary::Known;
use crate::tables::Tables;
use crate::trace::{Call, Trace, Value};
use crate::tried::{self, Found, Trial};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;
use tempfile::NamedTempFile;

/// Most kinds of transactions in the workload: the most frequent ones.
const KINDS: usize = 24;

/// Shorter times in the program are left out of a transaction.
const HOLD_NS_MIN: u64 = 200_000;

/// The two files, and what they leave out, as sentences.
pub struct Written {
    pub workload: String,
    pub study: String,
    pub left_out: Vec<String>,
    pub share: Share,
    /// Files with rows, and their names.
    pub rows: Vec<(NamedTempFile, String)>,
}

/// A transaction of the workload.
struct Kind {
    name: String,
    group: Group,
}

struct Writer<'k> {
    known: &'k Known<'k>,
    content: &'k Content,
    names: Names,
    left_out: Vec<String>,
    share: Share,
    out: String,
    /// Captured rows of the statements of each transaction.
    found: tried::All,
    /// Statements that draw a key although an earlier one may have returned it: transaction, place in it.
    drawn: BTreeSet<(String, usize)>,
}

/// Makes a workload and a study from what a capture has of the database with the most calls.
///
/// # Errors
/// The capture has no database or no transaction that can be used.
pub fn write(dir: &Path, manifest: &Manifest, trace: Trace) -> Result<Written> {
    ensure!(
        manifest.status.is_some(),
        "the capture is incomplete, so the contents of the databases are unknown: capture again, and end the program \
         with one Ctrl-C or SIGTERM"
    );
    let calls_on = |database: &&Database| trace.calls.iter().filter(|call| trace.is_on(call, &database.path)).count();
    let database = manifest.databases.iter().max_by_key(calls_on);
    let database = database.context("no call on a database file was captured")?;
    let known = &Known::new(manifest, trace.only(&database.path));
    // For a database that the program created, its content at the end is used.
    let content = database.content.as_ref().or(database.end.as_ref());
    let content = content.with_context(|| format!("the content of {} is unknown", database.path.display()))?;
    let copy = content.copy.as_ref().map(|copy| open_copy(&dir.join(copy))).transpose()?;
    let Rows { content, entries, files, why_none } = rows::rows(dir, content, copy.as_ref())?;
    let content = &content;
    let names = Names::of(known, content);
    let (share, out) = (Share::default(), String::new());
    let left_out = known.trace.missing(known.manifest);
    let mut writer =
        Writer { known, content, names, left_out, share, out, found: BTreeMap::new(), drawn: BTreeSet::new() };
    for other in known.manifest.databases.iter().filter(|other| other.path != database.path) {
        let sentence = format!("{}: a workload has one database; this one is left out.", other.path.display());
        writer.left_out.push(sentence);
    }
    let kinds = writer.kinds();
    ensure!(
        !kinds.is_empty(),
        "no transaction of the capture can be taken over: {}",
        writer.left_out[..writer.left_out.len().min(5)].join(" ")
    );
    let about = format!("What {} did to {}", known.manifest.program(), database.path.display());
    writer.out = format!(
        "# Made by contend capture to-workload. docs/workload-file.md explains every key.\n\nabout = {}\n\n[scale]\n",
        text(&about)
    );
    let mut tables = Tables::of(content, copy.as_ref());
    tables.rows = entries;
    writer.left_out.extend(why_none.map(|why| format!("The study's rows are made by generators, because {why}.")));
    tables.write_scale(&mut writer.out);
    let roles = roles::roles(known, kinds.iter().map(|kind| (kind.name.as_str(), &kind.group)));
    roles::write_scale(&mut writer.out, &roles);
    tables.write(&mut writer.out, &writer.names, &mut writer.left_out)?;
    // The files with rows do not have their names yet.
    let at = files.iter().map(|(file, name)| (dir.join(name), file.path().to_path_buf())).collect();
    let trial = Trial { dir, files: at, foreign_keys: enforces_foreign_keys(known, database), bytes: bytes(content) };
    let differ = writer.transactions(&kinds, &roles, &trial);
    let Writer { out: workload, mut left_out, share, .. } = writer;
    let servers = servers::of("capture", &workload, &mut left_out)?;
    let has_rows = !tables.rows.is_empty();
    let study = study(
        &Captured { known, database, share: &share, has_rows, differ: &differ, servers: &servers },
        captured_begin(known),
        &roles,
    );
    Ok(Written { workload, study, left_out, share, rows: files })
}

/// Size of all rows, about.
fn bytes(content: &Content) -> u64 {
    let of =
        |table: &Table| table.rows.saturating_mul(table.columns.iter().map(|column| column.length_mean).sum::<u64>());
    content.tables.iter().map(of).fold(0, u64::saturating_add)
}

impl<'k> Writer<'k> {
    /// Names of the tables that a workload can express, in lower case.
    fn tables(&self) -> Vec<String> {
        let all = Tables::of(self.content, None).all();
        all.iter().map(|table| table.name.to_ascii_lowercase()).collect()
    }

    /// Groups that a workload can express, with names.
    fn kinds(&mut self) -> Vec<Kind> {
        let known = self.known;
        let (mut kinds, mut names): (Vec<Kind>, BTreeMap<String, u32>) = (vec![], BTreeMap::new());
        let mut questions = BTreeSet::new();
        let tables = self.tables();
        let attached = schemas(&known.trace);
        for group in &known.groups {
            let asks = |step: &&Step| known.shapes.all[step.shape].only_asks();
            let shapes = || group.steps.iter().filter(|step| !asks(step)).map(|step| &known.shapes.all[step.shape]);
            if group.steps.is_empty() {
                continue;
            }
            self.share.add(group, false);
            let what = shapes().map(|shape| shape.text.clone()).collect::<Vec<_>>().join("; ");
            let short: String = what.chars().take(60).collect();
            let what = if short == what { what } else { format!("{short}...") };
            let why = if shapes().next().is_none() {
                "it only reads settings"
            } else if shapes().any(|shape| shape.text.contains(';')) {
                "it is a script of several statements"
            } else if shapes().any(|shape| names_one_of(&shape.text, &attached)) {
                "it uses an attached database, and a workload has one database"
            } else if shapes().any(|shape| !matches!(shape.does, Does::Read | Does::Write | Does::Savepoint)) {
                "it changes settings or tables"
            } else if shapes()
                .any(|shape| shape.tables.is_empty() || !shape.tables.iter().all(|table| tables.contains(table)))
            {
                "it uses something that is not a table of the database"
            } else if known.always_fails(group) {
                "each of its executions failed"
            } else if known.is_of_a_start(group) {
                "each process did it at most once, as programs do when they start"
            } else if kinds.len() >= KINDS {
                "it is rarer than the others"
            } else {
                ""
            };
            if !why.is_empty() {
                self.left_out.push(format!("left out, because {why} (seen: {}): {what}", group.transactions.len()));
                continue;
            }
            self.share.add(group, true);
            for step in group.steps.iter().filter(asks) {
                questions.insert(known.shapes.all[step.shape].text.as_str());
            }
            let main = shapes().find(|shape| shape.does == Does::Write).or(shapes().next());
            let verb =
                main.map_or(String::new(), |shape| shape.text.split(' ').next().unwrap_or_default().to_lowercase());
            let name = plain(&format!("{verb}_{}", main.and_then(|shape| shape.tables.first()).map_or("", |t| t)));
            let number = names.entry(name.clone()).or_default();
            *number += 1;
            let name = if *number > 1 { format!("{name}_{number}") } else { name };
            self.add(&mut kinds, name, group);
        }
        let left_out = |text| format!("left out of transactions, because it only reads settings: {text}");
        self.left_out.extend(questions.into_iter().map(left_out));
        kinds
    }

    /// Adds a group under this name, and what has rare long pauses under another one.
    fn add(&mut self, kinds: &mut Vec<Kind>, name: String, group: &Group) {
        let known = self.known;
        let Some((short, long)) = group.split(&known.transactions, &known.trace, &known.shapes) else {
            return kinds.push(Kind { name, group: group.clone() });
        };
        let slow = format!("{name}_slow");
        self.left_out.push(format!(
            "{slow}: {} of {} executions of {name} with a long pause in the program, {} in mean; the others have {}",
            long.transactions.len(),
            group.transactions.len(),
            time(long.pauses_ns().iter().sum()),
            time(short.pauses_ns().iter().sum())
        ));
        kinds.push(Kind { name, group: short });
        kinds.push(Kind { name: slow, group: long });
    }

    /// The generator of an argument, and whether its column has texts.
    fn generator(&self, at: &Place) -> (Drawn, bool) {
        let Place { shape, column, values, .. } = at;
        let is_limit = column.is_some_and(|column| column.eq_ignore_ascii_case("limit"));
        if is_limit && self.known.manifest.values == Values::Hash {
            return (rows_of_limit(shape, at.calls, &at.tokens[..at.at]).to_string().into(), false);
        }
        let of = use_of(at.tokens, at.at);
        let known = column.and_then(|name| column_of(self.content, &shape.tables, name));
        let named = known.and_then(|column| self.names.of_argument(self.content, column, values, of));
        let other = || of_argument(self.content, &shape.tables, *column, values, of).into();
        (named.unwrap_or_else(other), known.is_some_and(|(_, column)| column.kind == "text"))
    }

    /// Writes the transactions and roles: with keys carried from statement to statement, except where the program's rows are found
    /// better without. Returns the transactions that find other rows.
    fn transactions(&mut self, kinds: &[Kind], roles: &[Role], trial: &Trial) -> Vec<String> {
        let (head, left_out) = (self.out.clone(), self.left_out.len());
        let draft = |writer: &mut Self, drawn: BTreeSet<(String, usize)>| {
            writer.out.clone_from(&head);
            writer.left_out.truncate(left_out);
            (writer.found, writer.drawn) = (tried::All::new(), drawn);
            kinds.iter().for_each(|kind| writer.transaction(kind));
            roles::write(&mut writer.out, roles);
        };
        draft(self, BTreeSet::new());
        let all = tried::carried(&self.found);
        if !all.is_empty() {
            let carried = std::mem::take(&mut self.out);
            draft(self, all.clone());
            let better = tried::better((&self.out, &carried), &self.found, trial);
            draft(self, all.into_iter().filter(|place| better.contains(place)).collect());
        }
        let mut workload = std::mem::take(&mut self.out);
        let others = tried::fit(&mut workload, &self.found, trial).unwrap_or_else(|why| {
            let line = format!("Whether statements find the captured rows was not tried out: {why:#}");
            self.left_out.push(line);
            vec![]
        });
        self.out = workload;
        let name = |line: &String| line.split_once(':').map(|(name, _)| name.to_string());
        let mut differ: Vec<String> = others.iter().filter_map(name).collect();
        differ.dedup();
        self.left_out.extend(others);
        differ
    }

    /// A transaction with its steps. Arguments that have equal values in every execution become one.
    fn transaction(&mut self, kind: &Kind) {
        let group = &kind.group;
        let _ = write!(self.out, "\n[transaction.{}]\n", kind.name);
        line(&mut self.out, "kind", if group.writes { "\"write\"" } else { "\"read\"" });
        match (group.began, group.writes) {
            (Began::Alone, _) => line(&mut self.out, "begin", "\"none\""),
            (_, true) => {}
            (_, false) => line(&mut self.out, "begin", "\"deferred\""),
        }
        let rolled_back =
            group.transactions.iter().filter(|&&i| self.known.transactions[i].end == End::RolledBack).count();
        if rolled_back > 0 {
            self.left_out.push(format!(
                "{}: the program rolled back {rolled_back} of {}; in the workload all commit",
                kind.name,
                group.transactions.len()
            ));
        }
        let mut all: Vec<&Transaction> = group.transactions.iter().map(|&i| &self.known.transactions[i]).collect();
        // Transactions that a lock cut short lack arguments.
        if all.iter().any(|transaction| transaction.has_succeeded()) {
            all.retain(|transaction| transaction.has_succeeded());
        }
        let executed = |transaction: &&Transaction| sequence(transaction, &self.known.trace, &self.known.shapes).0;
        let executed: Vec<Vec<Executed>> = all.iter().map(executed).collect();
        let mut shared = Arguments::default();
        let mut steps = String::new();
        let pauses_ns = group.pauses_ns();
        // The program's pauses while its transaction is open.
        let hold = |steps: &mut String, pause_ns: u64| {
            if pause_ns >= HOLD_NS_MIN {
                let _ = write!(steps, "\n[[transaction.{}.step]]\nhold = \"{}us\"\n", kind.name, pause_ns / 1_000);
            }
        };
        for (i, step) in group.steps.iter().enumerate() {
            hold(&mut steps, pauses_ns[i]);
            if self.known.shapes.all[step.shape].only_asks() {
                continue;
            }
            self.step(kind, (i, step), &executed, (&mut shared, &mut steps));
        }
        hold(&mut steps, pauses_ns[group.steps.len()]);
        if !shared.generators.is_empty() {
            let _ = write!(self.out, "\n[transaction.{}.args]\n", kind.name);
            for (name, generator) in &shared.generators {
                line(&mut self.out, name, generator);
            }
        }
        self.out += &shared.finished(steps);
    }

    fn step(
        &mut self,
        kind: &Kind,
        (place, step): (usize, &Step),
        executed: &[Vec<Executed>],
        (shared, steps): (&mut Arguments<'k>, &mut String),
    ) {
        let known = self.known;
        let repeats = kind.group.repeats(step);
        let here = executed.iter().filter_map(|steps| steps.get(place)).filter(|here| here.shape == step.shape);
        let calls: Vec<&Call> = here.flat_map(|here| &here.calls).map(|&i| &known.trace.calls[i]).collect();
        let sql = usual_text(&calls).unwrap_or_else(|| Rc::clone(&known.shapes.texts[step.shape]));
        let shape = &known.shapes.all[step.shape];
        let (columns, all) = (columns_of(&sql), tokens(&sql));
        let is_hashed = known.manifest.values == Values::Hash;
        let values: Vec<Vec<Value>> = calls.iter().filter_map(|call| values_like(call, is_hashed, &all)).collect();
        let (mut parts, mut own, mut number): (Vec<String>, BTreeMap<String, String>, usize) =
            (vec![], BTreeMap::new(), 0);
        let filled_up = filled_up(&all, &values);
        let mut found = Found::of(shape, &calls);
        for (i, token) in all.iter().enumerate() {
            let is_value = |at: usize| all.get(at).is_some_and(Token::is_value);
            if filled_up.contains(&number) && (is_value(i) || (*token == Token::Sign(",") && is_value(i + 1))) {
                number += usize::from(is_value(i));
                continue;
            }
            let part = match token {
                Token::Word(part) | Token::Sign(part) => (*part).to_string(),
                Token::Parameter(_) | Token::Literal(_) => {
                    let here: Vec<&Value> = values.iter().filter_map(|values| values.get(number)).collect();
                    number += 1;
                    let column = columns.get(&i).map(String::as_str);
                    let name = format!("a{place}_{number}");
                    let at = Place { kind, shape, tokens: &all, at: i, column, calls: &calls, values: &here, name };
                    match repeats > 1 {
                        true => self.repeated(&at, &mut own),
                        false => self.value(&at, shared, &mut found),
                    }
                }
            };
            parts.push(part);
        }
        let read = Read::of(self.content, shape, &all, &calls).filter(|_| repeats == 1);
        let end = if read.is_some() { returning_mark(place) } else { String::new() };
        write_step(steps, &kind.name, (&parts, &end), (repeats, &own));
        if let Some(read) = read {
            shared.reads.push((place, read));
            steps.push_str(&kept_mark(place));
        }
        self.found.entry(kind.name.clone()).or_default().push(found);
    }

    /// The literal itself, if a value is one that is always the same.
    fn constant(&self, at: &Place) -> Option<String> {
        let Token::Literal(part) = at.tokens[at.at] else { return None };
        let is_shown = self.known.manifest.values != Values::Hash || matches!(part, "0" | "1");
        (is_shown && at.values.windows(2).all(|two| two[0] == two[1])).then(|| part.to_string())
    }

    /// A value of a statement that is carried out once, in SQL.
    fn value(&self, at: &Place, shared: &mut Arguments<'k>, found: &mut Found) -> String {
        if let Some(part) = self.constant(at) {
            return part;
        }
        if let Some(kept) = self.carried(at, shared) {
            found.is_carried = true;
            return format!(":{kept}");
        }
        let (generator, is_text) = self.generator(at);
        let name = shared.name(at.values, generator, is_text, at.name.clone());
        let ends = ends(at.tokens, at.at, at.values);
        found.ordered.extend(ends.map(|ends| Ordered { name: name.clone(), ends }));
        format!(":{name}")
    }

    /// The name of a key that an earlier statement of the transaction returned, if the value is that.
    fn carried(&self, at: &Place, shared: &mut Arguments<'k>) -> Option<String> {
        let of = use_of(at.tokens, at.at);
        let is_used = match of {
            Use::Searched => is_equal(at.tokens, at.at),
            Use::Stored => true,
            Use::Upserted => false,
        };
        let number = self.found.get(&at.kind.name).map_or(0, Vec::len);
        if !is_used || self.drawn.contains(&(at.kind.name.clone(), number)) || shared.known(at.values).is_some() {
            return None;
        }
        let column = column_of(self.content, &at.shape.tables, at.column?)?;
        let (content, values) = (self.content, format!("{:?}", at.values));
        let keep = |(step, read): &mut (usize, Read<'k>)| {
            Some(carried::name(*step, read.keep(content, column, (of, &values))?))
        };
        shared.reads.iter_mut().rev().find_map(keep)
    }

    /// A value of a statement that is carried out several times, with arguments of its own.
    fn repeated(&self, at: &Place, own: &mut BTreeMap<String, String>) -> String {
        if let Some(part) = self.constant(at) {
            return part;
        }
        let (generator, is_text) = self.generator(at);
        let is_unique = generator.text == UNIQUE;
        add(own, &at.name, generator);
        if is_unique { unique_key(&at.name, is_text) } else { format!(":{}", at.name) }
    }
}

/// The place of a value in a step.
struct Place<'a> {
    kind: &'a Kind,
    shape: &'a Shape,
    tokens: &'a [Token<'a>],
    at: usize,
    column: Option<&'a str>,
    calls: &'a [&'a Call],
    /// Its values in all executions.
    values: &'a [&'a Value],
    /// The name of an argument for it.
    name: String,
}

/// Writes a step, with its own arguments if it is repeated.
fn write_step(
    out: &mut String,
    name: &str,
    (parts, end): (&[String], &str),
    (repeats, own): (u64, &BTreeMap<String, String>),
) {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let _ = write!(out, "\n[[transaction.{name}.step]]\nsql = {}\n", text(&(crate::sql::joined(&parts) + end)));
    if repeats > 1 {
        line(out, "repeat", &repeats.to_string());
    }
    if !own.is_empty() {
        let own: Vec<String> = own.iter().map(|(name, generator)| format!("{name} = {generator}")).collect();
        line(out, "args", &format!("{{ {} }}", own.join(", ")));
    }
}

/// The text of a statement, with lists of medium length where they have several lengths.
fn usual_text(calls: &[&Call]) -> Option<Rc<str>> {
    let mut texts: Vec<&Rc<str>> = calls.iter().map(|call| &call.sql).collect();
    texts.sort_by_cached_key(|text| tokens(text).iter().filter(|token| token.is_value()).count());
    texts.get(texts.len() / 2).map(|text| Rc::clone(text))
}

/// Value for a hashed LIMIT: the most rows that one execution returned or changed; 20 in a subquery, whose rows are unknown.
fn rows_of_limit(shape: &Shape, calls: &[&Call], before: &[Token]) -> u64 {
    const UNSEEN: u64 = 20;
    let count = |sign| before.iter().filter(|token| **token == Token::Sign(sign)).count();
    if count("(") != count(")") {
        return UNSEEN;
    }
    let rows = |call: &&Call| if shape.does == Does::Write { call.changes.max(0).cast_unsigned() } else { call.rows };
    calls.iter().map(rows).max().unwrap_or(UNSEEN).max(1)
}

/// The most frequent BEGIN of writing transactions; `None` if all are single statements.
fn captured_begin(known: &Known) -> Option<&'static str> {
    let mut counts: BTreeMap<Begin, usize> = BTreeMap::new();
    for group in known.groups.iter().filter(|group| group.writes) {
        if let Began::By(begin) = group.began {
            *counts.entry(begin).or_default() += group.transactions.len();
        }
    }
    let (begin, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(match begin {
        Begin::Immediate => "immediate",
        Begin::Exclusive => "exclusive",
        Begin::Deferred => "deferred",
    })
}
