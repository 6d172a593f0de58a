//! `contend capture to-workload`: makes a workload and a study from a capture.
//!
//! ```text
//! content ─► tables, rows ──────────────────────────────► [table], rows-*.tsv
//! transactions ─► kinds ─► steps: arguments, carried keys ─► [transaction] ─► tried on SQLite ─► fitted, differences
//!              └► roles (clients, pauses) ───────────────► [role], [preset.load]
//! settings ─► contenders, answers, servers ─────────────► study
//! ```
//!
//! `generator`, `naming`, `skew` and `lists` say how a value is drawn.

mod about;
mod answers;
mod arguments;
mod carried;
mod contenders;
mod crash;
pub mod generator;
mod kinds;
mod lists;
mod longest;
pub mod naming;
mod ordered;
mod roles;
pub mod rows;
mod savepoints;
pub mod servers;
mod share;
mod skew;
mod study;
pub mod tables;
mod timeouts;
mod trial;
mod tried;
mod unheld;
mod unmet;

use self::answers::LockErrors;
use self::arguments::{Arguments, add, kept_mark, returning_mark, unique_key};
use self::carried::{Read, is_equal};
use self::contenders::Settings;
use self::generator::{Drawn, UNIQUE, column_of, columns_of, line, of_argument};
use self::kinds::Kind;
use self::lists::{Use, filled_up, uses, usual_text};
use self::longest::Longest;
use self::naming::{Names, values_like};
use self::ordered::{Ordered, ends};
use self::roles::{HOLDS, Role};
use self::rows::Rows;
use self::savepoints::Savepoints;
use self::share::Share;
use self::study::Captured;
use self::tables::Tables;
use self::timeouts::Timeouts;
use self::trial::{NotLoaded, Trial};
use self::tried::{Difference, Found};
use self::unheld::{Types, without_fractions};
use self::unmet::Unmet;
use crate::alike::folded;
use crate::literal::{text, wrapped};
use crate::loops::unrolled;
use crate::manifest::{Content, Manifest, Values};
use crate::program::{Began, End, Executed, Step};
use crate::sql::{Does, Shape, Token, tokens};
use crate::summary::Known;
use crate::trace::{Call, Trace, Value};
use anyhow::{Result, ensure};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;
use tempfile::NamedTempFile;

/// The files, and what they leave out, as sentences.
pub struct Written {
    pub workload: String,
    pub study: String,
    /// The study with power cuts.
    pub crash: String,
    pub left_out: Vec<String>,
    /// The servers that are not in the study, and why.
    pub absent: Vec<String>,
    /// What all clients have that few had in the program, as sentences: transactions of one thread, the busy timeout.
    pub of_all_clients: Vec<String>,
    pub share: Share,
    /// Which of several databases it is about, as a sentence.
    pub chosen: Option<String>,
    /// Files with rows, and their names.
    pub rows: Vec<(NamedTempFile, String)>,
}

impl Written {
    /// Sentences about the study that its user has to know.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.chosen.iter().chain(&self.absent).chain(&self.of_all_clients)
    }
}

struct Writer<'k> {
    known: &'k Known<'k>,
    content: &'k Content,
    names: Names,
    settings: &'k Settings,
    types: Types,
    /// Why a server cannot hold the values of a statement; the first reason.
    unheld: OnceCell<String>,
}

/// A transaction as the workload has it.
#[derive(Default)]
struct Draft {
    text: String,
    /// Captured rows of its statements.
    found: Vec<Found>,
    left_out: Vec<String>,
    /// Whether statements use a key that an earlier one returned, and whether that one can find no row.
    is_carried: bool,
    may_find_none: bool,
}

/// Makes a workload and a study from what a capture has of one database: this one, or that with the most lock errors.
///
/// # Errors
/// The capture has no such database, or no transaction that can be used.
pub fn write(dir: &Path, manifest: &Manifest, trace: Trace, wanted: Option<&Path>) -> Result<Written> {
    ensure!(
        manifest.status.is_some(),
        "the capture is incomplete, so the contents of the databases are unknown: capture again, and end the program \
         with one Ctrl-C or SIGTERM"
    );
    let database = about::database(manifest, &trace, wanted)?;
    let chosen = about::sentence(manifest, &trace, database);
    let others = about::others(manifest, database);
    let mut share = Share::without(&trace, &others);
    let known = &Known::new(manifest, trace.only(&database.path));
    let (content, copy) = about::content(dir, database)?;
    let Rows { ref content, entries, files, why_none } = rows::rows(dir, content, copy.as_ref())?;
    let names = Names::of(known, content);
    let mut left_out = known.trace.missing(manifest);
    left_out.extend(about::without(&others));
    let settings = Settings::of(known, database);
    let kinds = kinds::kinds(known, (content, settings.busy_timeout), &mut share, &mut left_out);
    let settings = settings.begun_as(kinds.iter().map(|kind| &kind.group));
    ensure!(
        !kinds.is_empty(),
        "no transaction of the capture can be taken over: {}",
        left_out[..left_out.len().min(5)].join(" ")
    );
    let mut head = head(&format!("What {} did to {}", manifest.program(), database.path.display()));
    let mut tables = Tables::of(content, copy.as_ref());
    tables.rows = entries;
    left_out.extend(why_none.map(|why| format!("The study's rows are made by generators, because {why}.")));
    tables.write_scale(&mut head);
    let named = || kinds.iter().map(|kind| (kind.name.as_str(), &kind.group));
    let roles = roles::roles(known, named());
    let timeouts = Timeouts::of(known, settings.busy_timeout);
    let of_one_thread = roles::of_one_thread(known, named(), &roles);
    let of_all_clients: Vec<String> = of_one_thread.into_iter().chain(timeouts.sentence()).collect();
    roles::write_scale(&mut head, &roles);
    let mut of_tables = vec![];
    tables.write(&mut head, &names, &mut of_tables)?;
    left_out.extend(folded(&of_tables));
    // The files with rows do not have their names yet.
    let at = files.iter().map(|(file, name)| (dir.join(name), file.path().to_path_buf())).collect();
    let transactions = kinds.iter().map(|kind| kind.group.transactions.len()).sum();
    let (foreign_keys, again) = (settings.enforces_foreign_keys(), manifest.with_values());
    let trial = Trial { dir, files: at, foreign_keys, bytes: content.bytes(), transactions, again };
    let (types, unheld) = (Types::of(tables.all().into_iter().map(|table| &table.ddl)), OnceCell::new());
    let writer = Writer { known, content, names, settings: &settings, types, unheld };
    let (drafts, carries) = writer.drafts(&kinds, &trial, |drafts| whole(&head, drafts, &roles));
    let mut workload = whole(&head, &drafts, &roles);
    left_out.extend(drafts.iter().flat_map(|draft| draft.left_out.iter().cloned()));
    let differ = fit(&mut workload, &found(&kinds, &drafts), &trial, &mut left_out)?;
    let mut absent = vec![];
    let servers = servers::of_capture(manifest, &workload, writer.unheld.get(), &mut absent)?;
    let longest = Longest::of(known, &kinds);
    let unmet = Unmet::of(known, kinds.iter().zip(drafts.iter().map(|draft| draft.may_find_none)));
    let errors = &LockErrors::of(known, &kinds, longest.as_ref(), (&timeouts, unmet));
    let (now, longest, differ, servers) = (&settings, longest.as_ref(), &differ[..], &servers[..]);
    let limits = [absent.as_slice(), of_all_clients.as_slice()].concat();
    let (kinds, limits, has_rows) = (&kinds[..], &limits[..], !tables.rows.is_empty());
    let of = Captured { known, kinds, now, longest, errors, share: &share, has_rows, carries, differ, servers, limits };
    let study = study::study(&of, &roles);
    let crash = crash::study(now, &manifest.program());
    let workload = wrapped(&workload);
    Ok(Written { workload, study, crash, left_out, absent, of_all_clients, share, chosen, rows: files })
}

/// The beginning of a workload.
fn head(about: &str) -> String {
    let about = text(about);
    format!(
        "# Made by contend capture to-workload. docs/workload-file.md explains every key.\n\nabout = {about}\n\n[scale]\n"
    )
}

/// The workload of these transactions.
fn whole(head: &str, drafts: &[Draft], roles: &[Role]) -> String {
    let mut out = head.to_string();
    drafts.iter().for_each(|draft| out += &draft.text);
    roles::write(&mut out, roles);
    out
}

/// The statements of each transaction.
fn found<'a>(kinds: &'a [Kind], drafts: &'a [Draft]) -> tried::All<'a> {
    kinds.iter().zip(drafts).map(|(kind, draft)| (kind.name.as_str(), &draft.found[..])).collect()
}

/// Takes the arguments that fit best into the workload, and returns what then differs from the capture.
///
/// # Errors
/// The rows cannot be loaded, so no run could.
fn fit(
    workload: &mut String,
    found: &tried::All,
    trial: &Trial,
    left_out: &mut Vec<String>,
) -> Result<Vec<Difference>> {
    match tried::fit(workload, found, trial) {
        Err(why) if why.is::<NotLoaded>() => Err(why),
        Err(why) => {
            left_out.push(format!("Whether statements find the captured rows was not tried out: {why:#}"));
            Ok(vec![])
        }
        Ok(differ) => {
            left_out.extend(differ.iter().map(|difference| difference.sentence.clone()));
            Ok(differ)
        }
    }
}

impl<'k> Writer<'k> {
    /// The generator of an argument, and whether its column has texts.
    fn generator(&self, at: &Place) -> (Drawn, bool) {
        let Place { shape, column, of, .. } = at;
        let whole = without_fractions(at.values);
        let values = &whole.as_ref().map_or_else(|| at.values.to_vec(), |whole| whole.iter().collect());
        let is_limit = column.is_some_and(|column| column.eq_ignore_ascii_case("limit"));
        if is_limit && self.known.manifest.values == Values::Hash {
            return (rows_of_limit(shape, at.calls, &at.tokens[..at.at]).to_string().into(), false);
        }
        let known = column.and_then(|name| column_of(self.content, &shape.tables, name));
        if let Some((table, column)) = known.filter(|_| *of != Use::Searched) {
            let why = self.types.of_stored((&table.name, &column.name), values);
            why.into_iter().for_each(|why| drop(self.unheld.set(why)));
        }
        let named = known.and_then(|column| self.names.of_argument(self.content, column, values, *of));
        let other = || of_argument(self.content, &shape.tables, *column, values, *of).into();
        (named.unwrap_or_else(other), known.is_some_and(|(_, column)| column.kind == "text"))
    }

    /// The transactions, and whether keys are carried from statement to statement: they are, except in transactions that find the
    /// program's rows better without.
    fn drafts(&self, kinds: &[Kind], trial: &Trial, whole: impl Fn(&[Draft]) -> String) -> (Vec<Draft>, bool) {
        let drafts = |keeps| kinds.iter().map(|kind| self.transaction(kind, keeps)).collect::<Vec<Draft>>();
        let mut carried = drafts(true);
        if carried.iter().any(|draft| draft.is_carried) {
            let drawn = drafts(false);
            let better = tried::better((&whole(&drawn), &whole(&carried)), &found(kinds, &drawn), trial);
            for ((kind, draft), other) in kinds.iter().zip(&mut carried).zip(drawn) {
                if draft.is_carried && better.contains(&kind.name) {
                    *draft = other;
                }
            }
        }
        let carries = carried.iter().any(|draft| draft.is_carried);
        (carried, carries)
    }

    /// A transaction with its steps. Arguments that have equal values in every execution become one.
    fn transaction(&self, kind: &Kind, keeps: bool) -> Draft {
        let group = &kind.group;
        let (flat, executed) = unrolled(group, &self.known.transactions, (&self.known.trace, &self.known.shapes));
        let mut draft = Draft { text: format!("\n[transaction.{}]\n", kind.name), ..Draft::default() };
        line(&mut draft.text, "kind", if group.writes { "\"write\"" } else { "\"read\"" });
        let holds_ns = flat.holds_ns();
        // A statement that is read slowly holds its lock until its last row.
        let is_alone = group.began == Began::Alone && holds_ns.iter().all(|ns| *ns == 0);
        match (is_alone, group.writes) {
            (true, _) => line(&mut draft.text, "begin", "\"none\""),
            (_, true) => {
                let own = self.settings.other_begin(group);
                own.into_iter().for_each(|begin| line(&mut draft.text, "begin", &text(begin)));
            }
            (_, false) => line(&mut draft.text, "begin", "\"deferred\""),
        }
        let rolled_back =
            group.transactions.iter().filter(|&&i| self.known.transactions[i].end == End::RolledBack).count();
        if rolled_back > 0 {
            draft.left_out.push(format!(
                "{}: the program rolled back {rolled_back} of {}; in the workload all commit",
                kind.name,
                group.transactions.len()
            ));
        }
        let mut shared = Arguments::keeping(keeps);
        let mut steps = String::new();
        let mut savepoints = Savepoints::default();
        let hold = |steps: &mut String, ns: u64| {
            if ns > 0 {
                let _ = write!(steps, "\n[[transaction.{}.step]]\nhold = \"{HOLDS}*{}us\"\n", kind.name, ns / 1_000);
            }
        };
        for (i, step) in flat.steps.iter().enumerate() {
            hold(&mut steps, holds_ns[i]);
            if self.known.shapes.all[step.shape].only_asks() {
                continue;
            }
            if self.known.shapes.all[step.shape].does == Does::Savepoint {
                draft.found.extend(self.savepoint(kind, (i, step), &executed, (&mut savepoints, &mut steps)));
                continue;
            }
            let found = self.step(&kind.name, (i, step), &executed, (&mut shared, &mut steps));
            draft.left_out.extend(found.failures().map(|sentence| format!("{}: {sentence}", kind.name)));
            draft.found.push(found);
        }
        hold(&mut steps, holds_ns[flat.steps.len()]);
        if !shared.generators.is_empty() {
            let _ = write!(draft.text, "\n[transaction.{}.args]\n", kind.name);
            for (name, generator) in &shared.generators {
                line(&mut draft.text, name, generator);
            }
        }
        draft.text += &shared.finished(steps);
        draft.is_carried = shared.is_carried();
        draft.may_find_none = shared.reads.iter().any(|(_, read)| read.may_find_none());
        draft
    }

    /// The statements of a step with savepoints, as in one transaction of the program.
    fn savepoint(
        &self,
        kind: &Kind,
        (place, step): (usize, &Step),
        executed: &[Vec<Executed>],
        (savepoints, steps): (&mut Savepoints, &mut String),
    ) -> Vec<Found> {
        let here = executed.first().and_then(|steps| steps.get(place)).filter(|here| here.shape == step.shape);
        let calls = here.iter().flat_map(|here| &here.calls).map(|&i| &self.known.trace.calls[i]);
        let all: Vec<String> = calls.filter_map(|call| savepoints.statement(&call.sql)).collect();
        let write = |sql| {
            write_step(steps, &kind.name, (&[sql], ""), (1, &BTreeMap::new()));
            Found::of(&self.known.shapes, step.shape, &[])
        };
        all.into_iter().map(write).collect()
    }

    fn step(
        &self,
        name: &str,
        (place, step): (usize, &Step),
        executed: &[Vec<Executed>],
        (shared, steps): (&mut Arguments<'k>, &mut String),
    ) -> Found {
        let known = self.known;
        let repeats = step.in_a_row();
        let here = executed.iter().filter_map(|steps| steps.get(place)).filter(|here| here.shape == step.shape);
        let calls: Vec<&Call> = here.flat_map(|here| &here.calls).map(|&i| &known.trace.calls[i]).collect();
        let sql = usual_text(&calls).unwrap_or_else(|| Rc::clone(&known.shapes.texts[step.shape]));
        let shape = &known.shapes.all[step.shape];
        let (columns, all) = (columns_of(&sql), tokens(&sql));
        let uses = uses(&all);
        let is_hashed = known.manifest.values == Values::Hash;
        let values: Vec<Vec<Value>> = calls.iter().filter_map(|call| values_like(call, is_hashed, &all)).collect();
        let (mut parts, mut own, mut number): (Vec<String>, BTreeMap<String, String>, usize) =
            (vec![], BTreeMap::new(), 0);
        let filled_up = filled_up(&all, &values);
        let mut found = Found::of(&known.shapes, step.shape, &calls);
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
                    let (tokens, calls, values, of) = (&all[..], &calls[..], &here[..], uses[i]);
                    let at = Place { shape, tokens, at: i, of, column, calls, values, name };
                    match repeats > 1 {
                        true => self.repeated(&at, &mut own),
                        false => self.value(&at, shared, &mut found),
                    }
                }
            };
            parts.push(part);
        }
        let read = Read::of(self.content, shape, &all, &calls).filter(|_| shared.keeps && repeats == 1);
        let end = if read.is_some() { returning_mark(place) } else { String::new() };
        write_step(steps, name, (&parts, &end), (repeats, &own));
        if let Some(read) = read {
            shared.reads.push((place, read));
            steps.push_str(&kept_mark(place));
        }
        found
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
        let of = at.of;
        let is_used = match of {
            Use::Searched => is_equal(at.tokens, at.at),
            Use::Stored => true,
            Use::Upserted => false,
        };
        if !is_used || shared.known(at.values).is_some() {
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
    shape: &'a Shape,
    tokens: &'a [Token<'a>],
    at: usize,
    of: Use,
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

/// Value for a hashed LIMIT: the most rows that one execution returned or changed; 20 in a subquery, whose rows are unknown.
fn rows_of_limit(shape: &Shape, calls: &[&Call], before: &[Token]) -> u64 {
    const UNSEEN: u64 = 20;
    let count = |sign| before.iter().filter(|token| **token == Token::Sign(sign)).count();
    if count("(") != count(")") {
        return UNSEEN;
    }
    calls.iter().map(|call| shape.does.rows_of(call)).max().unwrap_or(UNSEEN).max(1)
}
