//! A study file as written; `resolve.rs` resolves it.
//!
//! `[quick]` and `[as_published]` overlay the rest of the file: their tables and lists replace those of the file as a
//! whole. `[load]` is replaced key by key, and `limits` are added.

use super::model::{Along, ExportRows, Extent, Kept, OwnMetric, Published, Readback, Variant};
use super::spelling;
use crate::load::Arrivals;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// Values as written: text, numbers or booleans.
pub type Table = BTreeMap<String, Value>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub question: String,
    pub workload: String,
    pub scenario: Option<String>,
    pub kind: String,
    #[serde(deserialize_with = "spelling::metric")]
    pub headline: String,
    pub margin: Option<f64>,
    /// Whether the study only describes: it may then have fewer rounds than an interval needs.
    pub describes: Option<bool>,
    /// Whether the data is compacted after the trial to measure its size.
    pub compact: Option<bool>,
    pub rounds: Option<u32>,
    pub baseline: Option<Vec<String>>,
    pub settings: Option<Table>,
    #[serde(default, deserialize_with = "spelling::lists")]
    pub axes: Option<BTreeMap<String, Vec<Value>>>,
    pub contender: Option<Vec<Contender>>,
    pub load: Option<Load>,
    /// Tables of kinds, which `keys::read_file` reads.
    #[serde(skip)]
    pub of_kinds: BTreeMap<String, toml::Table>,
    #[serde(default)]
    pub kept: Vec<Kept>,
    pub quick: Option<Overlay>,
    pub as_published: Option<Overlay>,
    #[serde(default)]
    pub metric: Vec<OwnMetric>,
    #[serde(default)]
    pub export: Vec<Export>,
    #[serde(default)]
    pub answer: Vec<AnswerFile>,
    #[serde(default)]
    pub effect: Vec<Effect>,
    #[serde(default)]
    pub grid: Vec<Grid>,
    #[serde(default)]
    pub along: Vec<Along>,
    #[serde(default)]
    pub readback: Vec<Readback>,
    #[serde(default)]
    pub published: Vec<Published>,
    #[serde(default)]
    pub changes: Vec<String>,
    #[serde(default)]
    pub limits: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    #[serde(default, deserialize_with = "spelling::metric_if_any")]
    pub headline: Option<String>,
    pub rounds: Option<u32>,
    pub baseline: Option<Vec<String>>,
    pub settings: Option<Table>,
    #[serde(default, deserialize_with = "spelling::lists")]
    pub axes: Option<BTreeMap<String, Vec<Value>>>,
    pub contender: Option<Vec<Contender>>,
    pub load: Option<Load>,
    #[serde(skip)]
    pub of_kinds: BTreeMap<String, toml::Table>,
    /// Further limits of such a run.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Only in `[as_published]`.
    pub quick: Option<Box<Overlay>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    pub engine: String,
    pub driver: Option<String>,
    pub model: Option<String>,
    /// A build of the worker, or its directory.
    pub worker: Option<String>,
    pub label: Option<String>,
    pub tier: Option<String>,
    /// Runs in which it takes part; all if missing.
    pub runs: Option<Vec<RunKind>>,
    #[serde(default)]
    pub settings: Table,
}

/// The kinds of runs that a part, or a contender, may take part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    Quick,
    Full,
    AsPublished,
}

impl RunKind {
    pub fn of(variant: Variant, extent: Extent) -> Self {
        match (variant, extent) {
            (Variant::AsPublished, _) => Self::AsPublished,
            (Variant::Corrected, Extent::Quick) => Self::Quick,
            (Variant::Corrected, Extent::Full) => Self::Full,
        }
    }

    /// Its word in study files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
            Self::AsPublished => "as-published",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub processes: Option<u32>,
    pub clients: Option<u32>,
    pub operations: Option<u32>,
    pub window: Option<String>,
    pub run_in: Option<String>,
    pub drain: Option<String>,
    #[serde(default, deserialize_with = "spelling::rate")]
    pub rate: Option<f64>,
    pub arrivals: Option<Arrivals>,
    pub cycle: Option<u32>,
    pub scale: Option<f64>,
    pub seed: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    pub file: String,
    #[serde(default)]
    pub rows: ExportRows,
    pub columns: Vec<Column>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    pub contender: Option<BTreeMap<String, String>>,
    /// A formula.
    pub value: Option<String>,
    pub decimals: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerFile {
    pub ask: String,
    #[serde(deserialize_with = "spelling::metric")]
    pub metric: String,
    pub condition: Option<String>,
    pub against_condition: Option<String>,
    pub cannot_tell_if: Option<String>,
    pub this: Labels,
    pub against: Labels,
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// Labels of contenders that share a question.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a label, or a list of labels")]
pub enum Labels {
    One(String),
    Several(Vec<String>),
}

impl Labels {
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(label) => std::slice::from_ref(label),
            Self::Several(labels) => labels,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    pub about: String,
    pub ask: Option<String>,
    pub factor: String,
    pub from: Value,
    pub to: Value,
    #[serde(default)]
    pub at: Table,
    #[serde(deserialize_with = "spelling::metric")]
    pub metric: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    pub about: String,
    pub ask: Option<String>,
    pub rows: String,
    pub columns: String,
    #[serde(default)]
    pub at: Table,
    #[serde(deserialize_with = "spelling::metric")]
    pub metric: String,
    pub part_of: Option<String>,
}

/// The part of a file that overlays may replace, with its path.
pub struct Layer<'f> {
    pub path: &'static [&'static str],
    pub headline: Option<&'f String>,
    pub rounds: Option<u32>,
    pub baseline: Option<&'f Vec<String>>,
    pub settings: Option<&'f Table>,
    pub axes: Option<&'f BTreeMap<String, Vec<Value>>>,
    pub contender: Option<&'f Vec<Contender>>,
    pub load: Option<&'f Load>,
    pub of_kinds: &'f BTreeMap<String, toml::Table>,
    pub limits: &'f [String],
}

impl Overlay {
    fn layer(&self, path: &'static [&'static str]) -> Layer<'_> {
        Layer {
            path,
            headline: self.headline.as_ref(),
            rounds: self.rounds,
            baseline: self.baseline.as_ref(),
            settings: self.settings.as_ref(),
            axes: self.axes.as_ref(),
            contender: self.contender.as_ref(),
            load: self.load.as_ref(),
            of_kinds: &self.of_kinds,
            limits: &self.limits,
        }
    }
}

impl File {
    /// The layers of a variant and extent, the topmost first. A variant without its own quick form is the same in both
    /// extents. The as-published variant without an overlay is the file itself.
    pub fn layers(&self, variant: Variant, extent: Extent) -> Vec<Layer<'_>> {
        let published = self.as_published.as_ref().filter(|_| variant == Variant::AsPublished);
        let quick = match published {
            None => self.quick.as_ref().map(|quick| quick.layer(&["quick"])),
            Some(published) => published.quick.as_ref().map(|quick| quick.layer(&["as_published", "quick"])),
        };
        let mut layers: Vec<Layer> = quick.filter(|_| extent == Extent::Quick).into_iter().collect();
        layers.extend(published.map(|published| published.layer(&["as_published"])));
        layers.push(Layer {
            path: &[],
            headline: Some(&self.headline),
            rounds: self.rounds,
            baseline: self.baseline.as_ref(),
            settings: self.settings.as_ref(),
            axes: self.axes.as_ref(),
            contender: self.contender.as_ref(),
            load: self.load.as_ref(),
            of_kinds: &self.of_kinds,
            limits: &self.limits,
        });
        layers
    }

    /// Limits of such a run: those of the file, and those that overlays add.
    pub fn limits_of(&self, variant: Variant, extent: Extent) -> Vec<String> {
        self.layers(variant, extent).iter().rev().flat_map(|layer| layer.limits).cloned().collect()
    }
}
