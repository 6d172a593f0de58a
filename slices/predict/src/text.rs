//! Prints predictions on a terminal of 80 columns.

use crate::prediction::{LawRow, Parameter, Predicted, Prediction};
use crate::sweeps::Kind;
use contend_laws::choose::Word;
use contend_laws::mechanism::Check;
use contend_stats::precision::{Change, Ns, Percent, Rate, alike, counted, plain};
use std::fmt::Write;

const WIDTH: usize = 80;

/// All predictions, one after the other.
pub fn text(all: &[Prediction]) -> String {
    all.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(prediction: &Prediction) -> String {
    let (what, axis) = match prediction.kind {
        Kind::Clients => ("throughput", "clients"),
        Kind::Processors => ("throughput", "processors"),
        Kind::Rate => ("mean response time", "rate"),
    };
    let common = if prediction.common.is_empty() { String::new() } else { format!(", {}", prediction.common) };
    let rounds = prediction.points.iter().map(|point| point.rounds).min().unwrap_or(0);
    let numbers: Vec<String> = prediction.points.iter().map(|point| number(point.at)).collect();
    let mut text = wrapped(&format!("{}: {what} over {axis} ({}{common})", prediction.contender, prediction.study), "");
    text += &wrapped(&format!("Measured at {}; {}.", numbers.join(", "), counted(rounds, "round")), "");
    for excluded in &prediction.excluded {
        text += &wrapped(&format!("{}: {}.", number(excluded.at), excluded.why), "");
    }
    text += &laws(prediction);
    text += "\n";
    prediction
        .predictions
        .iter()
        .for_each(|predicted| text += &wrapped(&predicted_line(prediction.kind, predicted), "  "));
    text += &remarks(prediction).iter().map(|remark| wrapped(&format!("- {remark}"), "  ")).collect::<String>();
    text
}

fn laws(prediction: &Prediction) -> String {
    let mut text = String::from("\n               predicted unseen\n");
    let _ = writeln!(text, "  law           largest      two  parameters");
    for row in &prediction.laws {
        let mark = if prediction.chosen == Some(row.law) { '>' } else { ' ' };
        let [one, two] = [row.error_largest, row.error_two_largest].map(error);
        let line = format!("{mark} {:<12} {one:>8} {two:>8}  {}", row.law, parameters(row, prediction.points.len()));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn error(error: Option<f64>) -> String {
    error.map_or("-".to_string(), |error| Change(1.0 + error).to_string())
}

fn parameters(row: &LawRow, points: usize) -> String {
    if points < row.needs {
        return format!("needs {} points", row.needs);
    }
    let shown = row.parameters.iter().map(|Parameter { name, value }| match name.strip_suffix("_s") {
        Some(name) => format!("{name} {}", time(*value)),
        None => format!("{name} {}", plain(*value)),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn time(seconds: f64) -> String {
    Ns((seconds * 1e9).round() as u64).to_string()
}

fn number(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x:.0}") } else { format!("{x:.1}") }
}

fn value(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Clients | Kind::Processors => Rate(value).to_string(),
        Kind::Rate => time(value),
    }
}

fn predicted_line(kind: Kind, predicted: &Predicted) -> String {
    let at = match kind {
        Kind::Clients => format!("{} clients", number(predicted.at)),
        Kind::Processors => format!("{} processors", number(predicted.at)),
        Kind::Rate => Rate(predicted.at).to_string(),
    };
    let Some(said) = predicted.value else { return format!("At {at} no prediction: {}.", predicted.why) };
    let interval = match (predicted.low, predicted.high) {
        (Some(low), Some(high)) => format!(" ({})", alike([low, high].map(|end| value(kind, end))).join(" to ")),
        _ => String::new(),
    };
    let why = if predicted.why.is_empty() { String::new() } else { format!("; {}", predicted.why) };
    // More processors than the machine has cannot be checked on it.
    let mark = if kind == Kind::Processors { "extrapolated, " } else { "" };
    format!("At {at} {}{interval}: {mark}{}{why}.", value(kind, said), predicted.word.text())
}

fn remarks(prediction: &Prediction) -> Vec<String> {
    let mut all = vec![];
    match prediction.chosen {
        None => all.push("No law has enough points: sweep over more numbers.".to_string()),
        Some(law) if prediction.word == Word::NoPrediction => {
            all.push(format!("The best law, {law}, is off by more than 15 % at the numbers left out."));
        }
        Some(_) => {}
    }
    if prediction.linear {
        all.push(format!("No limit was reached: {}.", no_limit(prediction.kind)));
    }
    all.extend(prediction.checks.iter().map(check));
    if prediction.word != Word::NoPrediction && !prediction.linear && prediction.checks.is_empty() {
        all.push("Nothing was measured to compare the law's times with.".to_string());
    }
    if prediction.checks.iter().any(|check| !check.agrees) {
        all.push("The law fits, the mechanism is not shown.".to_string());
    }
    if let Some(cap_per_s) = prediction.cap_per_s {
        let cpu = "by their number and the CPU time of an operation at the largest number of clients";
        all.push(format!("The processors carry at most {}, {cpu}.", Rate(cap_per_s)));
    }
    if let Some(peak) = &prediction.peak {
        let (at, most) = (plain(peak.clients), Rate(peak.throughput_per_s));
        let axis = if prediction.kind == Kind::Processors { "processors" } else { "clients" };
        all.push(format!("Throughput is highest, {most}, at about {at} {axis}, and falls beyond."));
    }
    if let Some(bound) = &prediction.bound {
        let reached = match bound.rate_per_s {
            Some(rate) => {
                let then = match bound.measured_s {
                    Some(measured_s) => format!("{} was measured there", time(measured_s)),
                    None => format!("--carry-out measures there, or --rate {rate:.0}"),
                };
                format!("is reached at about {} ({}); {then}", Rate(rate), bound.word.text())
            }
            None => bound.why.clone(),
        };
        all.push(format!("A mean response time of {} {reached}.", time(bound.bound_s)));
    }
    for of in &prediction.interventions {
        let (said, found) = (Rate(of.predicted_per_s), Rate(of.measured_per_s));
        let off = Percent((of.predicted_per_s / of.measured_per_s - 1.0).abs());
        let with = of.with_syncs_per_s.map(|per_s| format!(" In the same rounds it had {} with syncs.", Rate(per_s)));
        all.push(format!(
            "Without syncs the law predicts {said} at {} clients; {} was measured with {found}: {off} apart.{}",
            number(of.clients),
            of.contender,
            with.unwrap_or_default()
        ));
    }
    if let Some(per_s) = prediction.without_syncs_per_s.filter(|_| prediction.interventions.is_empty()) {
        all.push(format!("Without syncs the law predicts {}; --carry-out measures it.", Rate(per_s)));
    }
    all
}

/// What shows that no limit was reached, and what to do.
fn no_limit(kind: Kind) -> &'static str {
    match kind {
        Kind::Clients => "throughput still grew nearly in proportion; measure more clients",
        Kind::Processors => "throughput still grew nearly in proportion",
        Kind::Rate => "the response time hardly grows, or the rounds do not bound the capacity; measure higher rates",
    }
}

fn check(check: &Check) -> String {
    let name = check.parameter.trim_end_matches("_s");
    let verdict = if check.agrees { "they agree" } else { "more than a factor of two apart" };
    format!("{name} {}; {} {}: {verdict}.", time(check.fitted_s), check.against, time(check.measured_s))
}

/// Breaks a text into lines of at most [`WIDTH`] characters, each with this indentation.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            *line = format!("{indent}{word}");
        } else if line.chars().count() + 1 + word.chars().count() <= WIDTH {
            *line += &format!(" {word}");
        } else {
            let hang = if text.starts_with("- ") { "  " } else { "" };
            lines.push(format!("{indent}{hang}{word}"));
        }
    }
    lines.join("\n") + "\n"
}
