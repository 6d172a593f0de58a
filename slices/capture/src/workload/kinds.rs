//! The kinds of transactions that a workload takes over from a capture.

use crate::alike::{Alike, folded};
use crate::attach::{names_one_of, schemas};
use crate::finding::time;
use crate::manifest::Content;
use crate::parts::by_pause;
use crate::program::{Group, Step};
use crate::sql::{Does, Shape, tokens};
use crate::summary::Known;
use crate::trace::Call;
use crate::workload::generator::plain;
use crate::workload::share::Share;
use crate::workload::tables::Tables;
use contend::stats::precision::count as whole;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most kinds of transactions in the workload: the most frequent ones.
const KINDS: usize = 24;
/// Most arguments of an operation of a workload.
const VALUES_MAX: u64 = u16::MAX as u64;

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
pub fn kinds(
    known: &Known,
    (content, busy_timeout_ms): (&Content, i64),
    share: &mut Share,
    left_out: &mut Vec<String>,
) -> Vec<Kind> {
    let busy_timeout_ns = busy_timeout_ms.max(0).cast_unsigned().saturating_mul(1_000_000);
    let mut kinds: Vec<Kind> = vec![];
    let (mut others, mut questions): (BTreeMap<String, Alike>, Vec<&str>) = (BTreeMap::new(), vec![]);
    let limits = Limits { known, tables: tables(content), attached: schemas(&known.trace), values: values(known) };
    for group in known.groups.iter().filter(|group| !group.steps.is_empty()) {
        share.add(group, false);
        let (asking, shapes): (Vec<&Shape>, Vec<&Shape>) =
            group.steps.iter().map(|step| &known.shapes.all[step.shape]).partition(|shape| shape.only_asks());
        let why = limits.why_not(group, &shapes);
        let why = why.or_else(|| (kinds.len() >= KINDS).then(|| "it is rarer than the others".to_string()));
        if let Some(why) = why {
            let what = shapes.iter().map(|shape| shape.text.as_str()).collect::<Vec<_>>().join("; ");
            others.entry(why).or_insert_with(Alike::new).add(&what, group.transactions.len());
            continue;
        }
        share.add(group, true);
        questions.extend(asking.iter().map(|shape| shape.text.as_str()));
        let main = shapes.iter().find(|shape| shape.does == Does::Write).or(shapes.first());
        let verb = main.map_or(String::new(), |shape| shape.text.split(' ').next().unwrap_or_default().to_lowercase());
        let name = plain(&format!("{verb}_{}", main.and_then(|shape| shape.tables.first()).map_or("", |t| t)));
        let longest = group.steps.iter().map(|step| group.repeats(step)).max().unwrap_or(1);
        let name = free(&kinds, if group.is_part { format!("{name}_x{longest}") } else { name });
        left_out.extend(add((known, busy_timeout_ns), &mut kinds, name, group));
    }
    for (why, alike) in others {
        for one in alike.all() {
            let short: String = one.text.chars().take(60).collect();
            let what = if short == one.text { one.text } else { format!("{short}...") };
            let names = if one.names > 1 { format!(", with {} names", one.names) } else { String::new() };
            left_out.push(format!("left out, because {why} (seen: {}{names}): {what}", one.count));
        }
    }
    questions.sort_unstable();
    let questions: Vec<String> = questions.into_iter().map(str::to_string).collect();
    let question = |text| format!("left out of transactions, because it only reads settings: {text}");
    left_out.extend(folded(&questions).into_iter().map(question));
    kinds
}

/// What decides whether a workload can express a group.
struct Limits<'k> {
    known: &'k Known<'k>,
    tables: Vec<String>,
    attached: BTreeSet<String>,
    /// The most values in a statement of each shape.
    values: BTreeMap<usize, u64>,
}

impl Limits<'_> {
    /// Why a group is left out, whose statements have these shapes.
    fn why_not(&self, group: &Group, shapes: &[&Shape]) -> Option<String> {
        let count = values_of(group, &self.values);
        let why = if shapes.is_empty() {
            "it only reads settings"
        } else if shapes.iter().any(|shape| shape.text.contains(';')) {
            "it is a script of several statements"
        } else if shapes.iter().any(|shape| names_one_of(&shape.text, &self.attached)) {
            "it uses an attached database, and a workload has one database"
        } else if shapes.iter().any(|shape| !matches!(shape.does, Does::Read | Does::Write | Does::Savepoint)) {
            "it changes settings or tables"
        } else if shapes.iter().any(|shape| !is_of(shape, &self.tables)) {
            "it uses something that is not a table of the database"
        } else if self.known.always_fails(group) {
            "each of its executions failed"
        } else if self.known.is_of_a_start(group) {
            "each process did it at most once, as programs do when they start"
        } else if count > VALUES_MAX {
            let (count, most) = (whole(count), whole(VALUES_MAX));
            return Some(format!("it has {count} values, and an operation of a workload has at most {most}"));
        } else {
            return None;
        };
        Some(why.into())
    }
}

/// Number of values of an operation, with the most values that a statement of each shape has.
fn values_of(group: &Group, most: &BTreeMap<usize, u64>) -> u64 {
    let values = |step: &Step| group.repeats(step) * most.get(&step.shape).copied().unwrap_or(0);
    group.steps.iter().map(values).sum()
}

/// The same of all operations in the mean, and at least 1.
pub fn mean_values(known: &Known, kinds: &[Kind]) -> u64 {
    let most = values(known);
    let count = |kind: &Kind| kind.group.transactions.len() as u64;
    let all: u64 = kinds.iter().map(|kind| count(kind) * values_of(&kind.group, &most)).sum();
    (all / kinds.iter().map(count).sum::<u64>().max(1)).max(1)
}

/// The most values that a statement of each shape has in a capture.
fn values(known: &Known) -> BTreeMap<usize, u64> {
    let mut most = BTreeMap::new();
    let texts: HashMap<&str, &Call> = known.trace.calls.iter().map(|call| (&*call.sql, call)).collect();
    for (text, call) in texts {
        let count = tokens(text).iter().filter(|token| token.is_value()).count() as u64;
        let of = most.entry(known.shapes.number(call)).or_insert(0);
        *of = count.max(*of);
    }
    most
}

/// A name that no kind has yet: with the next number, if needed.
fn free(kinds: &[Kind], name: String) -> String {
    let is_free = |name: &String| kinds.iter().all(|kind| kind.name != *name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// Adds a group under this name, and what has long pauses under another one; then returns a sentence about both.
fn add((known, busy_timeout_ns): (&Known, u64), kinds: &mut Vec<Kind>, name: String, group: &Group) -> Option<String> {
    let parts = by_pause(group, &known.transactions, (&known.trace, &known.shapes), busy_timeout_ns);
    let Some((short, long)) = parts else {
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
