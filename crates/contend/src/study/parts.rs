//! Parts: the questions of one study that are measured differently.
//!
//! A `[part.NAME]` table overlays the rest of the file before anything is interpreted, and the merged table is read
//! like a study file. So a part may have every key of a study, including future ones, and every value keeps its place
//! in the text for errors.

use super::file::{File, RunKind};
use super::keys;
use super::kind;
use super::model::{Extent, Variant};
use crate::source::{FileError, Source};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tables that are merged key by key, like those of kinds; all other keys of a part replace the whole value.
const MERGED: [&str; 3] = ["load", "quick", "as_published"];

fn is_merged(key: &str) -> bool {
    MERGED.contains(&key) || kind::find(key).is_some()
}

/// Keys of the question and its contenders. If a part has them, overlays of the top level do not replace them; they do
/// replace how long to measure (`rounds`, `load`).
const OF_THE_PART: [&str; 5] = ["headline", "baseline", "settings", "axes", "contender"];

/// Names of directories of a record, which no part may take.
const RESERVED: [&str; 2] = ["data", "trials"];

/// Keys that only parts have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    about: String,
    runs: Option<Vec<RunKind>>,
    variant: Option<Variant>,
    beside: Option<String>,
}

#[derive(Debug)]
pub(super) struct Head {
    pub name: String,
    pub about: String,
    runs: Option<Vec<RunKind>>,
    /// Variant of the part, whatever that of the run.
    variant: Option<Variant>,
    /// The part that it is shown side by side with.
    pub beside: Option<String>,
}

/// A study file, or one of its parts as its own file.
#[derive(Debug)]
pub(super) struct Part {
    /// `None` in a study without parts.
    pub head: Option<Head>,
    pub file: File,
}

/// A file as written: the question of the whole, and its parts in the order of the file.
#[derive(Debug)]
pub(super) struct Written {
    pub question: String,
    pub parts: Vec<Part>,
}

impl Part {
    pub fn name(&self) -> Option<&str> {
        self.head.as_ref().map(|head| head.name.as_str())
    }

    /// Variant of the part in such a run; `None` if the part is not in it.
    pub fn variant_in(&self, variant: Variant, extent: Extent) -> Option<Variant> {
        let Some(head) = &self.head else { return Some(variant) };
        let kind = RunKind::of(variant, extent);
        if head.runs.as_ref().is_some_and(|runs| !runs.contains(&kind)) {
            return None;
        }
        let variant = head.variant.unwrap_or(variant);
        let original = variant == Variant::Corrected || head.variant.is_some() || self.file.as_published.is_some();
        original.then_some(variant)
    }

    /// The kinds of runs that it takes part in.
    pub fn runs(&self) -> Vec<RunKind> {
        const ALL: [(Variant, Extent); 3] = [
            (Variant::Corrected, Extent::Quick),
            (Variant::Corrected, Extent::Full),
            (Variant::AsPublished, Extent::Full),
        ];
        let takes_part = |(variant, extent): &&(Variant, Extent)| self.variant_in(*variant, *extent).is_some();
        ALL.iter().filter(takes_part).map(|(variant, extent)| RunKind::of(*variant, *extent)).collect()
    }

    /// Whether a quick run of it differs from the others.
    pub fn has_quick(&self, variant: Variant) -> bool {
        let published = self.file.as_published.as_ref().filter(|_| variant == Variant::AsPublished);
        let overlay = match published {
            None => self.file.quick.is_some(),
            Some(published) => published.quick.is_some(),
        };
        let runs = self.head.iter().filter_map(|head| head.runs.as_ref());
        let contenders = self.file.contender.iter().flatten().filter_map(|contender| contender.runs.as_ref());
        overlay || runs.chain(contenders).any(|runs| !runs.is_empty())
    }

    /// All variants and extents in which it may run; all are checked, whichever runs.
    pub fn editions(&self) -> Vec<(Variant, Extent)> {
        let mut editions = vec![];
        for variant in [Variant::Corrected, Variant::AsPublished] {
            if self.head.is_none() && variant == Variant::AsPublished && self.file.as_published.is_none() {
                continue;
            }
            for extent in [Extent::Full, Extent::Quick] {
                let edition = self.variant_in(variant, extent).map(|counts| (counts, extent));
                editions.extend(edition.filter(|edition| !editions.contains(edition)));
            }
        }
        editions
    }
}

/// Reads a study file into its parts; a file without parts is one part.
///
/// # Errors
/// Syntax, unknown or missing keys, names that cannot be directories, impossible runs.
pub(super) fn read(source: &Source) -> Result<Written, FileError> {
    let mut top = source.table()?;
    let Some(written) = take(&mut top, "part") else {
        let file = keys::read_file(source, Spanned::new(0..source.text.len(), top))?;
        return Ok(Written { question: file.question.clone(), parts: vec![Part { head: None, file }] });
    };
    let DeValue::Table(tables) = written.into_inner() else {
        return Err(source.error(&["part"], "must be tables: [part.NAME]"));
    };
    let mut tables: Vec<_> = tables.into_iter().collect();
    // The table is sorted by name; the order of the file is that of the places.
    tables.sort_by_key(|(name, _)| name.span().start);
    if tables.is_empty() {
        return Err(source.error(&["part"], "must hold at least one [part.NAME]"));
    }
    let question = question(source, &top)?;
    let parts = tables.into_iter().map(|(name, table)| read_part(source, &top, &name.into_inner(), table));
    let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
    check_beside(source, &parts)?;
    Ok(Written { question, parts })
}

fn check_beside(source: &Source, parts: &[Part]) -> Result<(), FileError> {
    for head in parts.iter().filter_map(|part| part.head.as_ref()) {
        let Some(beside) = &head.beside else { continue };
        let others = parts.iter().filter_map(Part::name).filter(|name| *name != head.name);
        if !others.clone().any(|name| name == beside) {
            let others: Vec<&str> = others.collect();
            let message = format!("there is no other part `{beside}`; the others are {}", others.join(", "));
            return Err(source.error(&["part", &head.name, "beside"], message));
        }
    }
    Ok(())
}

fn question(source: &Source, top: &DeTable) -> Result<String, FileError> {
    let found = top.get("question").and_then(|value| value.get_ref().as_str());
    let found = found.filter(|text| !text.trim().is_empty());
    found.map(str::to_string).ok_or_else(|| source.error(&["question"], "the study as a whole needs a question"))
}

fn read_part(source: &Source, top: &DeTable, name: &str, table: Spanned<DeValue>) -> Result<Part, FileError> {
    let place = ["part", name];
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
    if !name.bytes().all(plain) || !name.starts_with(|c: char| c.is_ascii_lowercase()) || RESERVED.contains(&name) {
        let message = format!(
            "a part is a directory of the record: lower-case letters, digits, - and _, a letter first, and not {}",
            RESERVED.join(" or ")
        );
        return Err(source.error(&place, message));
    }
    let span = table.span();
    let DeValue::Table(mut own) = table.into_inner() else {
        return Err(source.error(&place, "must be a table"));
    };
    let mut keys = DeTable::new();
    for key in ["about", "runs", "variant", "beside"] {
        if let Some((at, value)) = own.remove_entry(key) {
            keys.insert(at, value);
        }
    }
    // A key that the part lacks has no place in the text; one of the top level keeps its own.
    let located = |error: FileError| {
        let is_lacking = error.line == 0 && !error.key.is_empty();
        let key = if is_lacking { format!("{}.{}", place.join("."), error.key) } else { error.key };
        FileError { key, ..error }
    };
    let keys: Keys = source.read(Spanned::new(span.clone(), keys)).map_err(located)?;
    let mut merged = top.clone();
    if keys.variant == Some(Variant::AsPublished) {
        // The top level's quick form is for corrected parts, so an as-published part does not inherit it.
        let _ = take(&mut merged, "quick");
    }
    own_question(&mut own, &keys.about, &span);
    lay_over(&mut merged, own);
    let file = keys::read_file(source, Spanned::new(span, merged)).map_err(located)?;
    let part = Part {
        head: Some(Head {
            name: name.to_string(),
            about: keys.about,
            runs: keys.runs,
            variant: keys.variant,
            beside: keys.beside,
        }),
        file,
    };
    check(source, &part)?;
    Ok(part)
}

/// Sets the question of a part's own report.
fn own_question<'t>(own: &mut DeTable<'t>, about: &str, span: &Range<usize>) {
    if own.get("question").is_none() {
        let key = Spanned::new(span.clone(), "question".into());
        own.insert(key, Spanned::new(span.clone(), DeValue::String(about.to_string().into())));
    }
}

fn check(source: &Source, part: &Part) -> Result<(), FileError> {
    let Some(head) = &part.head else { return Ok(()) };
    let wrong = |key: &str, message: &str| Err(source.error(&["part", &head.name, key], message));
    if head.about.trim().is_empty() {
        return wrong("about", "must not be empty");
    }
    let Some(runs) = &head.runs else { return Ok(()) };
    if runs.is_empty() {
        return wrong("runs", "must name at least one of quick, full, as-published");
    }
    if runs.contains(&RunKind::AsPublished) && head.variant.is_none() && part.file.as_published.is_none() {
        return wrong("runs", "names as-published, but neither the part nor the study has an [as_published]");
    }
    Ok(())
}

fn take<'t>(table: &mut DeTable<'t>, key: &str) -> Option<Spanned<DeValue<'t>>> {
    table.remove(key)
}

/// Merges a part's table over the file's.
fn lay_over<'t>(below: &mut DeTable<'t>, part: DeTable<'t>) {
    for overlay in ["quick", "as_published"] {
        if let Some(overlay) = below.get_mut(overlay) {
            forget(overlay, &part);
        }
    }
    merge(below, part);
}

/// Removes from an overlay of the top level the keys that the part has itself.
fn forget(overlay: &mut Spanned<DeValue<'_>>, part: &DeTable<'_>) {
    let DeValue::Table(overlay) = overlay.get_mut() else { return };
    for key in OF_THE_PART.iter().filter(|key| part.get(**key).is_some()) {
        let _ = take(overlay, key);
    }
    if let Some(quick) = overlay.get_mut("quick") {
        forget(quick, part);
    }
}

fn merge<'t>(below: &mut DeTable<'t>, above: DeTable<'t>) {
    for (key, value) in above {
        let name = key.get_ref().to_string();
        match (below.get_mut(name.as_str()).map(Spanned::get_mut), value) {
            (Some(DeValue::Table(below)), value) if is_merged(&name) && value.get_ref().is_table() => {
                let DeValue::Table(above) = value.into_inner() else { continue };
                forget_other_end(below, &above);
                merge(below, above);
            }
            (_, value) => {
                let _ = take(below, &name);
                below.insert(key, value);
            }
        }
    }
}

/// `window` and `operations` exclude each other: the upper layer decides. A run-in belongs to a window.
fn forget_other_end(below: &mut DeTable<'_>, above: &DeTable<'_>) {
    const ENDS: [&str; 2] = ["window", "operations"];
    if above.get("operations").is_some() {
        let _ = take(below, "run_in");
    }
    if ENDS.iter().any(|end| above.get(*end).is_some()) {
        for end in ENDS {
            let _ = take(below, end);
        }
    }
}

/// The path in the whole file of a key of a part's merged file: in the part, or at the top level if inherited.
pub(super) fn locate(source: &Source, part: Option<&str>, path: &[String]) -> Vec<String> {
    let Some(part) = part else { return path.to_vec() };
    let own: Vec<String> = ["part", part].into_iter().map(str::to_string).chain(path.iter().cloned()).collect();
    // What decides is the key that was replaced as a whole, inside the tables that are merged.
    let merged = path.iter().take_while(|step| is_merged(step)).count();
    let deciding = (merged + 1).min(path.len());
    let said = |path: &[String]| source.contains(&path.iter().map(String::as_str).collect::<Vec<_>>());
    if !said(&own[..2 + deciding]) && said(&path[..deciding]) { path.to_vec() } else { own }
}
