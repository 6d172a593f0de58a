//! A study as meant: every default filled in, every axis multiplied out. The study file as written is
//! `study/file.rs`; this is what runs, what the record keeps and what a report reads back.

pub use super::own::{Absence, LeftOut, OwnMetric};
pub use crate::contender::{Contender, Overhead, Resolved, Tier};
use crate::load::Load;

use super::kind::{self, Tables};
use crate::stats::interval::Looks;
use crate::stats::verdict::MARGIN;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which question is asked: the original's, flaws included, or the fair one.
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

/// All that a run carries out: a study, or its parts one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub name: String,
    pub question: String,
    /// As chosen for the run; a part may always count otherwise.
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
    /// Which of its parts this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What the part asks, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The part that this one is shown side by side with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    pub question: String,
    pub workload: String,
    /// What clients of apps send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What its trials do: `load`, or a kind that a slice brings.
    pub kind: String,
    pub variant: Variant,
    pub extent: Extent,
    /// Name of the metric named in advance as the headline.
    pub headline: String,
    /// Differences up to this fraction do not matter (0.05 = 5 %).
    pub margin: f64,
    /// Whether the data of the first round is compacted in the end, for its size.
    #[serde(default = "yes")]
    pub compact: bool,
    pub rounds: u32,
    /// Set if the rounds go on until the ratios of the headline are known; `rounds` are then those that ran, or may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
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
    /// What it asks and this run cannot show.
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

    /// When it is decided how many rounds there are: what its intervals must allow for.
    pub fn looks(&self) -> Looks {
        self.until.map_or(Looks::Once, |_| Looks::AfterEach)
    }

    /// Keys of its kind, as a slice registered them; `None` for `load`.
    pub fn of_kind(&self) -> Option<&toml::Table> {
        self.kinds.get(&self.kind)
    }

    /// Contenders under some conditions, without anything that a study file says beside: no comparison, no answer.
    pub fn alone(
        name: &str,
        question: &str,
        load: Load,
        contenders: Vec<Contender>,
        conditions: Vec<Condition>,
    ) -> Self {
        Self {
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
    /// Rounds at most.
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

/// Files a report has anyway.
/// `charts.csv` would have the script of the built-in charts.
const TAKEN: [&str; 4] = ["trials.csv", "transactions.csv", "latencies.csv", "charts.csv"];

/// A further CSV of the report, in columns of the study's choice.
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
    /// What is wrong with it.
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
    /// The name of the contender: by its label, which stands for itself where it is not named.
    Contender { contender: BTreeMap<String, String> },
    /// A formula, in which the study's own metrics are names too.
    Value {
        value: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimals: Option<u8>,
    },
}

/// Before the name of another metric in a sentence: the value that this contender, or the one it is compared with, has of it.
pub const VALUE_OF: [&str; 2] = ["this.", "against."];

/// A question of the study with one sentence per possible verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// `{condition}` is filled in.
    pub ask: String,
    pub metric: String,
    /// Label of a condition; none: every condition, one sentence each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Label of the contender in question.
    pub this: String,
    /// Label of the one it is compared with.
    pub against: String,
    /// Sentence per verdict word; `{this}`, `{against}`, `{ratio}`, `{low}`, `{high}`, `{this_value}`,
    /// `{against_value}`, `{condition}`, `{tier}` and `{rounds}` are filled in. Empty if `facts` is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
    /// For counts that may be 0, of which there is no ratio and so no verdict: a sentence for each of
    /// `neither`, `only-this`, `only-against` and `both`, by which of the two values, pooled over the
    /// valid rounds, are above 0. Empty if `words` is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// A factor whose effect is reported as ratio and interval, without a word; it may cross tiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub about: String,
    /// The question among the answers that it belongs to; none: it stands with the details only.
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

/// A figure of contenders that differ in two things, as a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    pub about: String,
    /// The question it answers on the first screen; none: it is a table only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// `driver`, `model` or a setting: a row for each value.
    pub rows: String,
    /// The same, a column for each value.
    pub columns: String,
    /// Only contenders with these have a place.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    pub metric: String,
    /// Label of a contender of which each shows how large a part of its own figure that one's is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
}

/// What becomes of a figure along an axis of numbers, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    pub ask: String,
    /// `clients`, or another axis of numbers.
    pub axis: String,
    #[serde(deserialize_with = "super::spelling::metric")]
    pub metric: String,
    pub tells: Tells,
    /// By a contender's label: a sentence that is added where its figure stops improving, or is above 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub because: BTreeMap<String, String>,
}

/// What is looked for along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tells {
    /// From where on the figure improves no more, and who is first at each value.
    Plateau,
    /// From where on the figure is above 0.
    Threshold,
}

/// A table of what each contender's connections reported, on the first screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readback {
    pub about: String,
    /// The question it answers; none: it is a table only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Settings read back, or facts that the worker told of itself.
    pub names: Vec<String>,
}

/// A figure of the original, shown beside ours.
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
