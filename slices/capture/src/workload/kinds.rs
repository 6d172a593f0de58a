//! The kinds of transactions that a workload takes over from a capture.

use crate::attach::{names_one_of, schemas};
use crate::finding::time;
use crate::manifest::Content;
use crate::program::{Group, Step};
use crate::sql::{Does, Shape};
use crate::summary::Known;
use crate::workload::generator::plain;
use crate::workload::share::Share;
use crate::workload::tables::Tables;
use std::collections::BTreeSet;

/// Most kinds of transactions in the workload: the most frequent ones.
const KINDS: usize = 24;

/// A transaction of the workload.
pub struct Kind {
    pub name: String,
    pub group: Group,
}

/// Whether a statement uses only tables among these, or is of a savepoint.
fn is_of(shape: &Shape, tables: &[String]) -> bool {
    let uses_these = !shape.tables.is_empty() && shape.tables.iter().all(|table| tables.contains(table));
    uses_these || shape.does == Does::Savepoint
}

/// Names of the tables that a workload can express, in lower case.
fn tables(content: &Content) -> Vec<String> {
    let all = Tables::of(content, None).all();
    all.iter().map(|table| table.name.to_ascii_lowercase()).collect()
}

/// Groups that a workload can express, with names.
pub fn kinds(known: &Known, content: &Content, share: &mut Share, left_out: &mut Vec<String>) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = vec![];
    let mut questions = BTreeSet::new();
    let tables = tables(content);
    let attached = schemas(&known.trace);
    for group in &known.groups {
        let asks = |step: &&Step| known.shapes.all[step.shape].only_asks();
        let shapes = || group.steps.iter().filter(|step| !asks(step)).map(|step| &known.shapes.all[step.shape]);
        if group.steps.is_empty() {
            continue;
        }
        share.add(group, false);
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
        } else if shapes().any(|shape| !is_of(shape, &tables)) {
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
            left_out.push(format!("left out, because {why} (seen: {}): {what}", group.transactions.len()));
            continue;
        }
        share.add(group, true);
        for step in group.steps.iter().filter(asks) {
            questions.insert(known.shapes.all[step.shape].text.as_str());
        }
        let main = shapes().find(|shape| shape.does == Does::Write).or(shapes().next());
        let verb = main.map_or(String::new(), |shape| shape.text.split(' ').next().unwrap_or_default().to_lowercase());
        let name = plain(&format!("{verb}_{}", main.and_then(|shape| shape.tables.first()).map_or("", |t| t)));
        let name = free(&kinds, name);
        left_out.extend(add(known, &mut kinds, name, group));
    }
    let question = |text| format!("left out of transactions, because it only reads settings: {text}");
    left_out.extend(questions.into_iter().map(question));
    kinds
}

/// A name that no kind has yet: with the next number, if needed.
fn free(kinds: &[Kind], name: String) -> String {
    let is_free = |name: &String| kinds.iter().all(|kind| kind.name != *name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// Adds a group under this name, and what has rare long pauses under another one; then returns a sentence about both.
fn add(known: &Known, kinds: &mut Vec<Kind>, name: String, group: &Group) -> Option<String> {
    let Some((short, long)) = group.split(&known.transactions, &known.trace, &known.shapes) else {
        kinds.push(Kind { name, group: group.clone() });
        return None;
    };
    let slow = free(kinds, format!("{name}_slow"));
    let sentence = format!(
        "{slow}: {} of {} executions of {name} with a long pause in the program, {} in mean; the others have {}",
        long.transactions.len(),
        group.transactions.len(),
        time(long.pauses_ns().iter().sum()),
        time(short.pauses_ns().iter().sum())
    );
    kinds.push(Kind { name, group: short });
    kinds.push(Kind { name: slow, group: long });
    Some(sentence)
}
