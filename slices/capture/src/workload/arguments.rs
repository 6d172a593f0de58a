//! The arguments of a transaction of a workload: those with equal values in every execution are one, keys of new rows are new
//! wherever they are used, and keys that a statement returned are kept for later ones.

use crate::trace::Value;
use crate::workload::carried::Read;
use crate::workload::generator::{Drawn, NUMBER, UNIQUE};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The arguments of a transaction.
#[derive(Default)]
pub struct Arguments<'c> {
    /// By name.
    pub generators: BTreeMap<String, String>,
    by_values: HashMap<String, String>,
    /// Arguments that are compared with texts or stored as texts.
    texts: BTreeSet<String>,
    /// Steps that returned at most one row.
    pub reads: Vec<(usize, Read<'c>)>,
    /// Whether keys that they returned are kept for later steps.
    pub keeps: bool,
}

impl Arguments<'_> {
    pub fn keeping(keeps: bool) -> Self {
        Self { keeps, ..Self::default() }
    }

    /// The argument for these values; the same one if all executions have equal values.
    pub fn name(&mut self, values: &[&Value], drawn: Drawn, is_text: bool, new: String) -> String {
        let name = self.known(values);
        let is_first = name.is_none();
        let name = name.unwrap_or(new);
        // The key of a new row is new wherever it is used.
        if is_first || drawn.text == UNIQUE {
            self.generators.remove(&format!("{name}_n"));
            add(&mut self.generators, &name, drawn);
        }
        if is_text {
            self.texts.insert(name.clone());
        }
        self.by_values.insert(format!("{values:?}"), name.clone());
        name
    }

    /// The argument that had these values in all executions.
    pub fn known(&self, values: &[&Value]) -> Option<String> {
        let all: BTreeSet<String> = values.iter().map(|value| format!("{value:?}")).collect();
        let varies = all.len() > 2 && values.len() >= 3;
        self.by_values.get(&format!("{values:?}")).filter(|_| varies).cloned()
    }

    /// Whether a step uses a key that an earlier one returned.
    pub fn is_carried(&self) -> bool {
        self.reads.iter().any(|(_, read)| read.is_used())
    }

    /// The steps, with unique texts and kept values.
    pub fn finished(&self, mut steps: String) -> String {
        steps = self.with_unique_keys(&steps);
        for (place, read) in &self.reads {
            steps = steps.replace(&returning_mark(*place), &read.returning());
            steps = steps.replace(&kept_mark(*place), &read.entry(*place));
        }
        steps
    }

    /// Steps in which unique numbers are keys.
    fn with_unique_keys(&self, steps: &str) -> String {
        let mut parts = steps.split(':');
        let mut out = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            let name = &part[..end];
            match self.generators.get(name).filter(|generator| *generator == UNIQUE) {
                Some(_) => out += &unique_key(name, self.texts.contains(name)),
                None => out.extend([":", name]),
            }
            out += &part[end..];
        }
        out
    }
}

/// A line after a step, in place of which [`Read::entry`] comes.
pub fn kept_mark(place: usize) -> String {
    format!("#keep {place}\n")
}

/// The end of a statement in place of which [`Read::returning`] comes, with the space before it.
pub fn returning_mark(place: usize) -> String {
    format!(" #returning{place}#")
}

/// Adds the generators of an argument.
pub fn add(generators: &mut BTreeMap<String, String>, name: &str, drawn: Drawn) {
    let Drawn { text, number } = drawn;
    let of_number = format!("{name}_n");
    generators.insert(name.to_string(), text.replace(NUMBER, &format!("{{{of_number}}}")));
    if let Some(number) = number {
        generators.insert(of_number, number);
    }
}

/// A unique number as a key that no loaded row has, in SQL.
pub fn unique_key(name: &str, is_text: bool) -> String {
    // Numbers of the first client begin at 0.
    if is_text { format!("('u' || CAST(:{name} AS TEXT))") } else { format!("(:{name} + 4000000000000000)") }
}
