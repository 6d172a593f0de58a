//! Metrics, answers, effects and published numbers of a file, checked against everything that the study can run. What
//! the chosen variant does not cover is left out without an error.

use super::edition::{Problem, value_text};
use super::file::{self, File};
use super::metric::check_metric;
use super::model::{Absence, Answer, Contender, Effect, LeftOut, OwnMetric, Published, Study};
use super::pairs::pairs;
use super::sentence;
use crate::analysis::formula::Formula;
use crate::analysis::metric::name::Name;
use crate::engine::{self, Settings};
use std::collections::BTreeSet;

/// Contenders and conditions of one variant and extent.
pub(super) struct Covered {
    pub contenders: Vec<Contender>,
    pub conditions: BTreeSet<String>,
}

impl Covered {
    fn contender(&self, label: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.label == label)
    }
}

/// Contenders and conditions of all variants and extents.
pub(super) struct Reach {
    pub editions: Vec<Covered>,
    /// Axes over which conditions vary in numbers, by the name that conditions keep.
    pub numbers: BTreeSet<String>,
}

impl Reach {
    pub fn check_contender(&self, label: &str) -> Result<(), String> {
        if self.editions.iter().any(|edition| edition.contender(label).is_some()) {
            return Ok(());
        }
        let labels: BTreeSet<&str> = self
            .editions
            .iter()
            .flat_map(|edition| &edition.contenders)
            .map(|contender| contender.label.as_str())
            .collect();
        Err(format!("there is no contender `{label}`; contenders are {}", list(labels)))
    }

    fn check_condition(&self, label: &str) -> Result<(), String> {
        if self.editions.iter().any(|edition| edition.conditions.contains(label)) {
            return Ok(());
        }
        let labels: BTreeSet<&str> =
            self.editions.iter().flat_map(|edition| &edition.conditions).map(String::as_str).collect();
        Err(format!("there is no condition `{label}`; conditions are {}", list(labels)))
    }
}

fn list(labels: BTreeSet<&str>) -> String {
    labels.into_iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ")
}

/// Checks that the contenders exist to which the study's own metrics refer.
pub(super) fn check_elsewhere(metrics: &[OwnMetric], reach: &Reach) -> Result<(), Problem> {
    for (index, metric) in metrics.iter().enumerate() {
        let Ok(formula) = Formula::parse(&metric.value) else { continue };
        for name in formula.names() {
            if let Ok(Name::Elsewhere(_, label)) = Name::read(name) {
                let index = index.to_string();
                reach
                    .check_contender(label)
                    .map_err(|message| Problem::at(&["metric", &index], &["value"], message))?;
            }
        }
    }
    Ok(())
}

pub(super) fn read_answers(file: &File, metrics: &[OwnMetric], reach: &Reach) -> Result<Vec<Answer>, Problem> {
    let mut answers = Vec::new();
    for (index, written) in file.answer.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["answer", &index], path, message);
        check_metric(&written.metric, metrics).map_err(|message| wrong(&["metric"], message))?;
        if let Some(metric) = &written.cannot_tell_if {
            check_metric(metric, metrics).map_err(|message| wrong(&["cannot_tell_if"], message))?;
        }
        for (key, condition) in [("condition", &written.condition), ("against_condition", &written.against_condition)] {
            let check = |condition| reach.check_condition(condition).map_err(|message| wrong(&[key], message));
            condition.as_deref().map(check).transpose()?;
        }
        let (words, facts) = sentence::read(written, metrics).map_err(|(path, message)| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            wrong(&path, message)
        })?;
        if written.against_condition.is_some() && (written.condition.is_none() || !words.is_empty()) {
            let message =
                "goes with `condition` and [answer.facts]: verdicts are given under one condition".to_string();
            return Err(wrong(&["against_condition"], message));
        }
        if written.cannot_tell_if.is_some() && facts.is_empty() {
            return Err(wrong(&["cannot_tell_if"], "goes with [answer.facts]".to_string()));
        }
        for (this, against) in asked_pairs(written).map_err(|(key, message)| wrong(&[key], message))? {
            reach.check_contender(this).map_err(|message| wrong(&["this"], message))?;
            reach.check_contender(against).map_err(|message| wrong(&["against"], message))?;
            if this == against && written.against_condition == written.condition {
                return Err(wrong(&["against"], "is the same contender as `this`".to_string()));
            }
            if !words.is_empty() {
                check_tiers(this, against, reach).map_err(|message| wrong(&["against"], message))?;
            }
            answers.push(Answer {
                ask: written.ask.clone(),
                metric: written.metric.clone(),
                condition: written.condition.clone(),
                against_condition: written.against_condition.clone(),
                cannot_tell_if: written.cannot_tell_if.clone(),
                this: this.clone(),
                against: against.clone(),
                words: words.clone(),
                facts: facts.clone(),
            });
        }
    }
    Ok(answers)
}

/// Pairs of contenders (`this`, `against`) of a question: one `against` for all, or one for each.
fn asked_pairs(answer: &file::AnswerFile) -> Result<Vec<(&String, &String)>, (&'static str, String)> {
    let (these, against) = (answer.this.all(), answer.against.all());
    if these.is_empty() {
        return Err(("this", "needs at least one contender".to_string()));
    }
    match against {
        [one] => Ok(these.iter().map(|this| (this, one)).collect()),
        each if each.len() == these.len() => Ok(these.iter().zip(each).collect()),
        each => Err(("against", format!("has {} labels; needs one, or {} as `this` has", each.len(), these.len()))),
    }
}

/// Checks that both contenders of a verdict have one tier.
fn check_tiers(this: &str, against: &str, reach: &Reach) -> Result<(), String> {
    for edition in &reach.editions {
        let (Some(this), Some(against)) = (edition.contender(this), edition.contender(against)) else { continue };
        if this.tier != against.tier {
            return Err(format!(
                "`{}` is {} and `{}` is {}: contenders of different tiers get no verdict; use [[effect]]",
                this.label, this.tier, against.label, against.tier
            ));
        }
    }
    Ok(())
}

pub(super) fn read_effects(file: &File, metrics: &[OwnMetric], reach: &Reach) -> Result<Vec<Effect>, Problem> {
    let mut effects = Vec::new();
    for (index, written) in file.effect.iter().enumerate() {
        let index = index.to_string();
        let wrong = |path: &[&str], message: String| Problem::at(&["effect", &index], path, message);
        check_metric(&written.metric, metrics).map_err(|message| wrong(&["metric"], message))?;
        let value = |key: &str, value: &toml::Value| value_text(value).and_then(|value| canonical(reach, key, &value));
        let mut at = Settings::new();
        for (key, wanted) in &written.at {
            at.insert(key.clone(), value(key, wanted).map_err(|message| wrong(&["at", key], message))?);
        }
        if !is_setting(reach, &written.factor) {
            let message = format!("no contender of this study has a setting `{}`", written.factor);
            return Err(wrong(&["factor"], message));
        }
        let effect = Effect {
            about: written.about.clone(),
            ask: written.ask.clone(),
            factor: written.factor.clone(),
            from: value(&written.factor, &written.from).map_err(|message| wrong(&["from"], message))?,
            to: value(&written.factor, &written.to).map_err(|message| wrong(&["to"], message))?,
            at,
            metric: written.metric.clone(),
        };
        if reach.editions.iter().all(|edition| pairs(&edition.contenders, &effect).is_empty()) {
            let message =
                format!("no two contenders differ only in {} from {} to {}", effect.factor, effect.from, effect.to);
            return Err(wrong(&["factor"], message));
        }
        effects.push(effect);
    }
    Ok(effects)
}

fn is_setting(reach: &Reach, key: &str) -> bool {
    let mut contenders = reach.editions.iter().flat_map(|edition| &edition.contenders);
    contenders.any(|contender| engine::find(&contender.engine).is_some_and(|engine| engine.setting(key).is_some()))
}

fn canonical(reach: &Reach, key: &str, value: &str) -> Result<String, String> {
    let engines =
        reach.editions.iter().flat_map(|edition| &edition.contenders).filter_map(|it| engine::find(&it.engine));
    // A value may be one of another engine's.
    let mut read = engines.filter_map(|engine| engine.setting(key)).map(|setting| setting.canonical(value)).peekable();
    let first =
        read.peek().cloned().unwrap_or_else(|| Err(format!("no contender of this study has a setting `{key}`")));
    read.find(Result::is_ok).unwrap_or(first)
}

pub(super) fn check_kept(file: &File, reach: &Reach) -> Result<(), Problem> {
    for (index, kept) in file.kept.iter().enumerate() {
        let wrong = |message| Problem::new(&["kept", &index.to_string(), "contender"], message);
        reach.check_contender(&kept.contender).map_err(wrong)?;
    }
    Ok(())
}

pub(super) fn read_published(file: &File, metrics: &[OwnMetric], reach: &Reach) -> Result<Vec<Published>, Problem> {
    let mut published = Vec::new();
    for (index, written) in file.published.iter().enumerate() {
        let index = index.to_string();
        let wrong = |key: &str, message: String| Problem::new(&["published", &index, key], message);
        reach.check_condition(&written.condition).map_err(|message| wrong("condition", message))?;
        reach.check_contender(&written.contender).map_err(|message| wrong("contender", message))?;
        check_metric(&written.metric, metrics).map_err(|message| wrong("metric", message))?;
        published.push(written.clone());
    }
    Ok(published)
}

/// Questions of the variant that this run cannot answer, because a choice removed a contender or a condition.
pub(super) fn taken_away(study: &Study, whole: &Covered) -> Vec<LeftOut> {
    let has = |label: &str| study.contenders.iter().any(|contender| contender.label == label);
    let runs = |label: &str| study.conditions.iter().any(|condition| condition.label == label);
    let varied = |label: &str| {
        let prefix = format!("{label}, ");
        study.contenders.iter().any(|contender| contender.label.starts_with(&prefix))
    };
    let missing = |answer: &Answer| -> Option<String> {
        let label = [&answer.this, &answer.against].into_iter().find(|label| !has(label));
        let condition = answer.conditions().find(|label| !runs(label));
        label.or(condition).cloned()
    };
    let covered = |answer: &&Answer| {
        let labels = [&answer.this, &answer.against];
        labels.into_iter().all(|label| whole.contender(label).is_some())
            && answer.conditions().all(|label| whole.conditions.contains(label))
    };
    let without = |answer: &Answer| {
        let ask = answer.ask.replace("{condition}", "any condition");
        let label = missing(answer)?;
        let why = if varied(&label) { Absence::Several } else { Absence::NotPart };
        Some(LeftOut::Answer { ask, label, why })
    };
    let mut left_out: Vec<LeftOut> = study.answers.iter().filter(covered).filter_map(without).collect();
    for effect in &study.effects {
        if pairs(&study.contenders, effect).is_empty() && !pairs(&whole.contenders, effect).is_empty() {
            left_out.push(LeftOut::Effect {
                factor: effect.factor.clone(),
                from: effect.from.clone(),
                to: effect.to.clone(),
            });
        }
    }
    left_out.dedup();
    left_out
}

/// Leaves out of a study what its contenders and conditions do not cover.
pub(super) fn leave_out_uncovered(study: &mut Study) {
    let labels: BTreeSet<&str> = study.contenders.iter().map(|contender| contender.label.as_str()).collect();
    let conditions: BTreeSet<&str> = study.conditions.iter().map(|condition| condition.label.as_str()).collect();
    study.answers.retain(|answer| {
        labels.contains(answer.this.as_str())
            && labels.contains(answer.against.as_str())
            && answer.conditions().all(|condition| conditions.contains(condition.as_str()))
    });
    study
        .published
        .retain(|row| labels.contains(row.contender.as_str()) && conditions.contains(row.condition.as_str()));
    let contenders = &study.contenders;
    study.effects.retain(|effect| !pairs(contenders, effect).is_empty());
}
