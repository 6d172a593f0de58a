//! A resolved study: every default filled in, every axis applied. The file as written is `study/file.rs`; this is what
//! runs, what the record keeps and what a report reads.

pub use super::own::{Absence, LeftOut, OwnMetric};
pub use crate::contender::{Contender, NullDriver, Resolved, Tier};
use crate::load::Load;

use super::kind::{self, Tables};
use crate::stats::interval::Looks;
use crate::stats::verdict::MARGIN;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether the study measures as the original did, flaws included, or fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    Corrected,
    AsPublished,
}

impl Variant {
    pub fn word(self) -> &'static str {
        match self {
            Variant::Corrected => "corrected",
            Variant::AsPublished => "as-published",
        }
    }
}

/// How much of a study a run covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    Quick,
    Full,
}

impl Extent {
    pub fn word(self) -> &'static str {
        match self {
            Extent::Quick => "quick",
            Extent::Full => "full",
        }
    }
}

/// Everything that a run carries out: a study, or its parts in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub name: String,
    pub question: String,
    /// Variant of the run; a part may have another.
    pub variant: Variant,
    pub extent: Extent,
    /// In the order of the file, at least one; the study itself if it has no parts.
    pub studies: Vec<Study>,
}

impl Whole {
    /// Whether the study is made of parts, even if only one of them runs.
    pub fn has_parts(&self) -> bool {
        self.studies.iter().any(|study| study.part.is_some())
    }
}

/// A study, or a part of one, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    pub name: String,
    /// Whether it is one of contend's own: then the sentences in it are contend's, too. Older records do not say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built_in: bool,
    /// Which of its parts this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The question of the part, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The part that this one is shown side by side with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    pub question: String,
    pub workload: String,
    /// Name of the scenario for clients of apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// `load`, or a kind from a slice.
    pub kind: String,
    pub variant: Variant,
    pub extent: Extent,
    /// Name of the headline metric, chosen in advance.
    pub headline: String,
    /// Differences up to this fraction do not matter (0.05 = 5 %).
    pub margin: f64,
    /// Whether the data of the first round is compacted to measure its size.
    #[serde(default = "yes")]
    pub compact: bool,
    pub rounds: u32,
    /// Set if rounds continue until the headline's ratios are known well enough; `rounds` is then the number that ran,
    /// or the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Most rounds that run again because something outside disturbed them; absent: a fifth of those before, at least 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<u32>,
    pub load: Load,
    pub contenders: Vec<Contender>,
    pub conditions: Vec<Condition>,
    /// Names of contenders the others of the same tier are compared with; at most one per tier.
    pub baselines: Vec<String>,
    #[serde(default)]
    pub metrics: Vec<OwnMetric>,
    #[serde(default)]
    pub exports: Vec<Export>,
    #[serde(default)]
    pub answers: Vec<Answer>,
    #[serde(default)]
    pub effects: Vec<Effect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grids: Vec<Grid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alongs: Vec<Along>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readbacks: Vec<Readback>,
    #[serde(default)]
    pub published: Vec<Published>,
    /// Questions about single contenders, which the study's kind answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// What the original got wrong and what was changed, in words.
    #[serde(default)]
    pub changes: Vec<String>,
    /// What the study does not show, in words.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Questions that this run cannot answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Keys of its kind.
    #[serde(flatten)]
    pub kinds: Tables,
}

fn yes() -> bool {
    true
}

impl Study {
    /// Whether every contender is a service.
    pub fn is_of_service(&self) -> bool {
        !self.contenders.is_empty() && self.contenders.iter().all(|contender| contender.resolved.service)
    }

    /// When the number of rounds is decided, which its intervals must allow for.
    pub fn looks(&self) -> Looks {
        self.until.map_or(Looks::Once, |_| Looks::AfterEach)
    }

    /// Keys of its kind, as a slice registered them; `None` for `load`.
    pub fn of_kind(&self) -> Option<&toml::Table> {
        self.kinds.get(&self.kind)
    }

    /// A study of these contenders and conditions only, without comparisons or answers.
    pub fn alone(
        name: &str,
        question: &str,
        load: Load,
        contenders: Vec<Contender>,
        conditions: Vec<Condition>,
    ) -> Self {
        Self {
            built_in: false,
            name: name.to_string(),
            part: None,
            about: String::new(),
            beside: None,
            question: question.to_string(),
            workload: name.to_string(),
            scenario: None,
            kind: kind::LOAD.to_string(),
            variant: Variant::Corrected,
            extent: Extent::Full,
            headline: "throughput_ops_per_s".to_string(),
            margin: MARGIN,
            compact: false,
            rounds: 1,
            until: None,
            again: None,
            load,
            contenders,
            conditions,
            baselines: vec![],
            metrics: vec![],
            exports: vec![],
            answers: vec![],
            effects: vec![],
            grids: vec![],
            alongs: vec![],
            readbacks: vec![],
            published: vec![],
            kept: vec![],
            changes: vec![],
            limits: vec![],
            left_out: vec![],
            kinds: Tables::default(),
        }
    }
}

/// When a run has enough rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Half width of the interval of each ratio of the headline, relative: 0.05 is 5 %.
    pub within: f64,
    /// Most rounds.
    pub rounds_max: u32,
}

/// A question about one contender, which the study's kind answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub ask: String,
    /// Label of the contender.
    pub contender: String,
}

/// The circumstances that contenders are compared under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Short name, such as `write-burst` or `write-burst, 8 clients`.
    pub label: String,
    /// The profile of the workload, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Overrides by axis: `clients`, `duration`, `operations_each`, `processes`, `rate_per_s`, or a name of the workload's
    /// `[scale]`.
    #[serde(default)]
    pub axes: BTreeMap<String, String>,
}

/// Names of files that every report has; the script of `charts.csv` would be that of the built-in charts.
const TAKEN: [&str; 4] = ["trials.csv", "transactions.csv", "latencies.csv", "charts.csv"];

/// A further CSV of the report, with columns chosen by the study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Its name, without a directory.
    pub file: String,
    pub rows: ExportRows,
    pub columns: Vec<Column>,
}

impl Export {
    /// Whether a report may write an export under this name: a plain word that ends in `.csv`.
    ///
    /// # Errors
    /// The mistake in the name.
    pub fn check_file(name: &str) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let stem = name.strip_suffix(".csv").unwrap_or_default();
        if stem.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(format!("`{name}` must be letters, digits, `-` and `_`, and end in .csv"));
        }
        if TAKEN.contains(&name) {
            return Err(format!("every report already has a {name}"));
        }
        Ok(())
    }
}

/// What a row of an export is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportRows {
    /// One valid trial.
    #[default]
    Trial,
    /// A contender under a condition, its valid rounds pooled.
    Cell,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    #[serde(flatten)]
    pub holds: Holds,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Holds {
    /// Names of contenders by label; a label without a name is used itself.
    Contender { contender: BTreeMap<String, String> },
    /// A formula, in which the study's own metrics are names too.
    Value {
        value: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimals: Option<u8>,
    },
}

/// Prefixes of another metric in a sentence: its value for this contender, or for the one compared with.
pub const VALUE_OF: [&str; 2] = ["this.", "against."];

/// A question of the study, with one sentence per possible verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// `{condition}` is filled in.
    pub ask: String,
    pub metric: String,
    /// Label of a condition; `None` for one sentence under every condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Label of the condition of `against`, for `facts`; `None` if it is that of `this`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_condition: Option<String>,
    /// Name of a metric, for `facts`: if it is above 0 for one of the two, the sentence is that of `cannot-tell`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_tell_if: Option<String>,
    /// Label of the contender in question.
    pub this: String,
    /// Label of the contender it is compared with.
    pub against: String,
    /// Sentence per verdict word; `{this}`, `{against}`, `{ratio}`, `{low}`, `{high}`, `{this_value}`,
    /// `{against_value}`, `{condition}`, `{tier}` and `{rounds}` are filled in. Empty if `facts` is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
    /// Sentences for counts that may be 0 and so have no ratio or verdict: `neither`, `only-this`, `only-against` and
    /// `both` say which of the two values, pooled over the valid rounds, are above 0; `both-not-fewer`, if it is there, is
    /// used instead of `both` if that of `this` is not the smaller one; `cannot-tell` goes with `cannot_tell_if`. Empty if
    /// `words` is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Answer {
    /// The conditions that it names.
    pub fn conditions(&self) -> impl Iterator<Item = &String> {
        self.condition.iter().chain(&self.against_condition)
    }
}

/// A factor whose effect is reported as ratio and interval, without a verdict; it may cross tiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub about: String,
    /// The question to whose answer it belongs; `None` if it is shown with the details only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Name of a setting.
    pub factor: String,
    pub from: String,
    pub to: String,
    /// Only contenders with these settings are paired.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    pub metric: String,
}

/// A metric of contenders that differ in two choices, as a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    pub about: String,
    /// The question that it answers on the first screen; `None` for a table only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// `driver`, `model` or a setting: a row for each value.
    pub rows: String,
    /// The same, a column for each value.
    pub columns: String,
    /// Only contenders with these values are in the table.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    pub metric: String,
    /// Label of a reference contender: each value is shown with the reference's share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
}

/// The course of a metric along an axis of numbers, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    pub ask: String,
    /// `clients`, or another axis of numbers.
    pub axis: String,
    #[serde(deserialize_with = "super::spelling::metric")]
    pub metric: String,
    pub tells: Tells,
    /// Sentences by contender's label, added where its metric stops improving, or rises above 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub because: BTreeMap<String, String>,
}

/// What to find along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tells {
    /// Where the metric stops improving, and the best contender at each value.
    Plateau,
    /// Where the metric rises above 0.
    Threshold,
}

/// A table of settings that connections reported, on the first screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readback {
    pub about: String,
    /// The question it answers; none: it is a table only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Settings read back, or facts of the worker's `hello`.
    pub names: Vec<String>,
}

/// A published number, shown next to ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub condition: String,
    /// Label of the contender.
    pub contender: String,
    #[serde(deserialize_with = "super::spelling::metric")]
    pub metric: String,
    pub value: f64,
}

/// One place in the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Number of the trial, from 1; with four digits the name of its directory.
    pub trial: u32,
    /// Number of the round, from 1.
    pub round: u32,
    /// Position of the condition in the study, from 0.
    pub condition: usize,
    /// Position of the contender in the study, from 0.
    pub contender: usize,
}
