//! Predictions as values: `--json` prints them, and the text is made from them.

use crate::sweeps::{Excluded, Kind, Subject};
use contend_laws::choose::{LEFT_OUT, Missed, Tried, Word, capped};
use contend_laws::mechanism::{Check, checks, without_syncs};
use contend_laws::predict::{Outlook, Reached, limit, outlook};
use serde::Serialize;

/// The user's questions in addition to the record.
pub struct Ask<'a> {
    /// Numbers to predict; empty: the default ones.
    pub at: &'a [f64],
    pub bound_s: Option<f64>,
}

/// A contender's sweep and its predictions. Throughput is per second, times are in seconds.
#[derive(Debug, Serialize)]
pub struct Prediction {
    pub study: String,
    pub contender: String,
    /// Part of the condition that all points share; may be empty.
    pub common: String,
    pub kind: Kind,
    pub points: Vec<Measured>,
    /// Numbers that were measured and have no value.
    pub excluded: Vec<Excluded>,
    pub laws: Vec<LawRow>,
    /// Name of the law that predicted the left-out points best.
    pub chosen: Option<&'static str>,
    pub word: Word,
    /// Whether no limit was reached, so that nothing beyond the largest number is predicted.
    pub linear: bool,
    pub cap_per_s: Option<f64>,
    pub predictions: Vec<Predicted>,
    pub peak: Option<Peak>,
    pub bound: Option<Bound>,
    pub checks: Vec<Check>,
    /// Throughput that the law predicts without syncs, at the largest number of clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_syncs_per_s: Option<f64>,
    pub interventions: Vec<Intervention>,
}

/// Measurement at one point.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub at: f64,
    pub value: f64,
    pub rounds: usize,
}

/// A law and its prediction errors.
#[derive(Debug, Serialize)]
pub struct LawRow {
    pub law: &'static str,
    /// Points that the law needs; with fewer it is not fitted.
    pub needs: usize,
    pub parameters: Vec<Parameter>,
    /// Relative error at the largest number, which was left out of the fit.
    pub error_largest: Option<f64>,
    /// The larger of the relative errors at the two largest numbers, which were left out.
    pub error_two_largest: Option<f64>,
}

/// A parameter of a law; times are in seconds.
#[derive(Debug, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub value: f64,
}

/// A prediction for a number that was not measured.
#[derive(Debug, Serialize)]
pub struct Predicted {
    pub at: f64,
    /// Absent if there is no prediction.
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub word: Word,
    pub why: String,
}

/// The point from which throughput falls.
#[derive(Debug, Serialize)]
pub struct Peak {
    pub clients: f64,
    pub throughput_per_s: f64,
}

/// The rate at which the mean response time reaches a bound.
#[derive(Debug, Serialize)]
pub struct Bound {
    pub bound_s: f64,
    /// Absent if there is no prediction.
    pub rate_per_s: Option<f64>,
    pub word: Word,
    /// Why there is no prediction, after "a mean response time of so much"; empty if there is one.
    pub why: String,
    /// Mean response time that was measured at this rate, with `--carry-out`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_s: Option<f64>,
}

/// Prediction for an intervention that the record also contains, or that was carried out.
#[derive(Debug, Serialize)]
pub struct Intervention {
    pub contender: String,
    pub clients: f64,
    pub predicted_per_s: f64,
    pub measured_per_s: f64,
    /// The contender as it is, measured in the same rounds, if it was carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_syncs_per_s: Option<f64>,
}

impl Prediction {
    /// Whether there is any prediction.
    pub fn says_something(&self) -> bool {
        let reaches_bound = self.bound.as_ref().is_some_and(|bound| bound.rate_per_s.is_some());
        reaches_bound || self.predictions.iter().any(|predicted| predicted.value.is_some())
    }
}

/// Default numbers, as multiples of the largest. Response times diverge at the capacity, so the multiples of a rate
/// are small.
fn usual(kind: Kind) -> [f64; 2] {
    match kind {
        Kind::Clients | Kind::Processors => [2.0, 4.0],
        Kind::Rate => [1.25, 1.5],
    }
}

pub fn of_sweep(subject: &Subject, ask: &Ask<'_>) -> Prediction {
    let largest = subject.points.last().map_or(0.0, |point| point.x);
    let usual: Vec<f64> = usual(subject.kind).map(|times| times * largest).to_vec();
    let at = if ask.at.is_empty() { &usual } else { ask.at };
    let outlook = outlook(subject.sweep, &subject.points, at, subject.seed);
    let law = outlook.chosen.map(|at| &outlook.tried[at]);
    // Where no limit was reached, other laws with other times fit as well.
    let trusted = law.filter(|_| outlook.word != Word::NoPrediction && !outlook.linear);
    let bound = ask.bound_s.filter(|_| subject.kind == Kind::Rate);
    Prediction {
        study: subject.study.clone(),
        contender: subject.contender.clone(),
        common: subject.common.clone(),
        kind: subject.kind,
        points: points(subject),
        excluded: subject.excluded.clone(),
        laws: outlook.tried.iter().map(row).collect(),
        chosen: law.map(|tried| tried.law.name()),
        word: outlook.word,
        linear: outlook.linear,
        cap_per_s: subject.sweep.cap_per_s(&subject.points),
        predictions: at.iter().map(|at| predicted(subject, &outlook, *at)).collect(),
        peak: outlook.peak.map(|peak| Peak { clients: peak.x, throughput_per_s: peak.value }),
        bound: bound.map(|bound_s| self::bound(subject, &outlook, bound_s)),
        checks: trusted
            .and_then(|tried| Some(checks(tried.law, tried.of.as_ref()?, &subject.measured)))
            .unwrap_or_default(),
        without_syncs_per_s: trusted.filter(|_| subject.kind == Kind::Clients).and_then(|tried| {
            let of = without_syncs(tried.law, tried.of.as_ref()?, &subject.measured)?;
            Some(capped(tried.law.value(&of, largest), tried.cap_per_s))
        }),
        interventions: trusted.map(|tried| interventions(tried, subject)).unwrap_or_default(),
    }
}

fn bound(subject: &Subject, outlook: &Outlook, bound_s: f64) -> Bound {
    let none = |why: String| Bound { bound_s, rate_per_s: None, word: Word::NoPrediction, why, measured_s: None };
    match limit(outlook, &subject.points, bound_s) {
        Reached::At(limit) => match not_from(subject, limit.x) {
            Some(why) => none(format!("is not predicted: {why}")),
            None => Bound { rate_per_s: Some(limit.x), word: limit.word, ..none(String::new()) },
        },
        Reached::AtLowest => none("is exceeded at the lowest rate that was measured".to_string()),
        Reached::Not => none("is not reached within what can be predicted".to_string()),
        Reached::NoLimit => none("is not predicted: no limit was reached".to_string()),
        Reached::Unknown => none("is not predicted: no law is close enough to the measurements".to_string()),
    }
}

/// Why nothing is predicted at this number: it has no value itself, or the first number behind all measured ones has none.
fn not_from(subject: &Subject, at: f64) -> Option<String> {
    let last = subject.points.iter().map(|point| point.x).fold(0.0, f64::max);
    let first = subject.excluded.iter().find(|first| at == first.at || first.at > last && at >= first.at)?;
    let number = first.at;
    Some(match subject.kind {
        Kind::Rate => format!("{} at {number}/s", first.why),
        Kind::Clients => format!("{} at {number} clients", first.why),
        Kind::Processors => format!("{} at {number} processors", first.why),
    })
}

fn points(subject: &Subject) -> Vec<Measured> {
    let point = |point: &contend_laws::choose::Point| {
        Some(Measured { at: point.x, value: point.median()?, rounds: point.rounds.len() })
    };
    subject.points.iter().filter_map(point).collect()
}

fn row(tried: &Tried) -> LawRow {
    let worst = |left_out: usize| {
        let missed: &Vec<Missed> = tried.left_out.get(left_out - 1)?;
        missed.iter().map(|missed| missed.error()).max_by(|a, b| a.abs().total_cmp(&b.abs()))
    };
    let parameters = tried.law.parameters().iter().zip(tried.of.iter().flatten());
    LawRow {
        law: tried.law.name(),
        needs: tried.needs(),
        parameters: parameters.map(|(&name, &value)| Parameter { name, value }).collect(),
        error_largest: worst(1),
        error_two_largest: worst(LEFT_OUT),
    }
}

fn predicted(subject: &Subject, outlook: &Outlook, at: f64) -> Predicted {
    if let Some(why) = not_from(subject, at) {
        return Predicted { at, value: None, low: None, high: None, word: Word::NoPrediction, why };
    }
    let none = |why: &str| {
        let why = why.to_string();
        Predicted { at, value: None, low: None, high: None, word: Word::NoPrediction, why }
    };
    let Some(said) = outlook.predictions.iter().find(|said| said.x == at) else {
        return none(match (outlook.word, outlook.linear) {
            (Word::NoPrediction, _) => "no law predicts what it has not seen",
            (_, true) => "no limit was reached, so nothing shows what is beyond",
            (_, false) => "too far beyond the largest number that was measured",
        });
    };
    if !said.value.is_finite() {
        return none("it is at or beyond the capacity: the queue grows without end");
    }
    if said.word == Word::NoPrediction {
        return none("the rounds differ too much: chance alone moves it by more than 15 %");
    }
    let (low, high) = said.interval.unzip();
    let why = if said.interval.is_none() { "fewer than six rounds have no interval" } else { "" };
    Predicted { at, value: Some(said.value), low, high, word: said.word, why: why.to_string() }
}

fn interventions(tried: &Tried, subject: &Subject) -> Vec<Intervention> {
    let Some(of) = tried.of.as_ref().and_then(|of| without_syncs(tried.law, of, &subject.measured)) else {
        return vec![];
    };
    let intervention = |relaxed: &crate::sweeps::Relaxed| Intervention {
        contender: relaxed.label.clone(),
        clients: relaxed.clients,
        predicted_per_s: capped(tried.law.value(&of, relaxed.clients), tried.cap_per_s),
        measured_per_s: relaxed.throughput_per_s,
        with_syncs_per_s: None,
    };
    subject.relaxed.iter().map(intervention).collect()
}
