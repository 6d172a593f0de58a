//! The course of a metric along an axis of numbers, in words. With too few rounds for a verdict the words say so.

use crate::analysis::Findings;
use crate::analysis::along::{AlongAnswer, AlongAxis, Change, ContenderAlong, First, Firsts, Point, Turn};
use crate::analysis::metric::plain;
use crate::report::content::{axes::trimmed, charts, words};
use crate::report::document::{Block, Said, Tone};
use crate::stats::interval::MIN_ROUNDS;
use crate::stats::precision::alike;
use crate::stats::verdict::{Comparison, Verdict};

/// One answer for each `[[along]]` for which the run has at least two values.
pub fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let answer = |of: &AlongAnswer<'_>| {
        let said = of.found.iter().flat_map(|along_axis| said(findings, of, along_axis)).collect();
        Block::Answer { ask: of.along.ask.clone(), said }
    };
    findings.alongs.iter().map(answer).collect()
}

fn said(findings: &Findings<'_>, of: &AlongAnswer<'_>, along_axis: &AlongAxis) -> Vec<Said> {
    let firsts = along_axis.firsts.iter().map(|of_tier| firsts(findings, of, of_tier));
    let contenders = along_axis.contenders.iter().map(|of_contender| contender(findings, of, of_contender));
    let mut texts: Vec<String> = firsts.chain(contenders).collect();
    if let Some(last) = texts.last_mut() {
        *last += &few_rounds(findings);
    }
    let condition = (!along_axis.common.is_empty()).then(|| along_axis.common.clone());
    texts.into_iter().map(|text| Said { condition: condition.clone(), text, tone: Tone::Plain }).collect()
}

fn few_rounds(findings: &Findings<'_>) -> String {
    let rounds = findings.study.rounds as usize;
    match rounds < MIN_ROUNDS && !findings.as_published() {
        true => format!(" ({rounds} of the {MIN_ROUNDS} rounds that a verdict needs.)"),
        false => String::new(),
    }
}

fn axis(of: &AlongAnswer<'_>) -> String {
    match of.along.axis.as_str() {
        "rate_per_s" => "operations/s asked for".to_string(),
        axis => axis.replace('_', " "),
    }
}

fn contender(findings: &Findings<'_>, of: &AlongAnswer<'_>, along: &ContenderAlong) -> String {
    let label = words::label(findings, along.contender);
    let at_least = |point: &Point| if point.at_least { "at least " } else { "" };
    let values = along.points.iter().map(|point| format!("{}{}", at_least(point), of.metric.show(point.value)));
    let values = listed(values);
    let at = listed(along.points.iter().map(|point| trimmed(point.x)));
    let because = of.along.because.get(label).filter(|_| along.turn.is_found());
    let because = because.map_or(String::new(), |because| format!(" {because}"));
    format!("{label}: {values} with {at} {}; {}.{because}", axis(of), turn(along))
}

fn turn(along: &ContenderAlong) -> String {
    let x = |at: usize| trimmed(along.points[at].x);
    let last = along.points.len() - 1;
    match &along.turn {
        Turn::BestWithLast(compared) => {
            format!("best with {}, the most that was tried: {} that with {}", x(last), by(compared), x(last - 1))
        }
        Turn::From { knee, change, compared, open } => {
            let (here, there, by) = (x(*knee), x(last), by(compared));
            let open = open.map_or(String::new(), |at| format!("; whether {} is better cannot be told", x(at)));
            let change = match change {
                Change::Worse if !open.is_empty() => format!("with {there} {by} that with {here}"),
                Change::Worse => format!("best with {here}, and worse with more: with {there} {by} that"),
                Change::NotComparable(reason) => format!("{here} and {there} cannot be compared ({reason})"),
                Change::Unknown => {
                    format!("whether it improves beyond {here} cannot be told: with {there} {by} that")
                }
                Change::Flat | Change::Better if !open.is_empty() => format!("with {there} {by} that with {here}"),
                Change::Flat | Change::Better => {
                    format!("from {here} on it improves no more: with {there} {by} that")
                }
            };
            change + &open
        }
        Turn::NeverAboveZero => format!("none up to {}", x(last)),
        Turn::AboveZeroFrom(0) => format!("already with {}, the least that was tried", x(0)),
        Turn::AboveZeroFrom(at) => {
            let returns = along.points[*at..].iter().any(|point| point.value <= 0.0);
            let (first, on) = if returns { ("the first with", "") } else { ("some from", " on") };
            format!("none up to {}, and {first} {}{on}", x(at - 1), x(*at))
        }
    }
}

/// The best contender of a tier at each value.
fn firsts(findings: &Findings<'_>, of: &AlongAnswer<'_>, Firsts { tier, at }: &Firsts) -> String {
    let name = |point: &Point| words::label(findings, point.contender).to_string();
    let value = |point: &Point| {
        let least = if point.at_least { "at least " } else { "" };
        format!("{least}{}", of.metric.show(point.value))
    };
    let first = |First { best, next, compared }: &First| {
        if let Verdict::NotComparable(why) = &compared.verdict {
            return format!("with {} {} and {} cannot be compared ({why})", trimmed(best.x), name(best), name(next));
        }
        let rather = match &compared.verdict {
            verdict if verdict.is_difference() || *verdict == Verdict::NoWords => {
                format!("{} that of {}", by(compared), name(next))
            }
            _ => format!("not distinguished from {} with {}", name(next), value(next)),
        };
        format!("with {} {} ({}, {rather})", trimmed(best.x), name(best), value(best))
    };
    let label = charts::capitalised(&of.metric.label());
    let firsts: Vec<String> = at.iter().map(first).collect();
    format!("{label} by {}, best of {}: {}.", axis(of), tier.word(), firsts.join("; "))
}

/// `1.36 times`, with its interval if there is one.
fn by(compared: &Comparison) -> String {
    let Some(ratio) = compared.ratio else { return "an unknown part".to_string() };
    match compared.low.zip(compared.high) {
        Some((low, high)) => {
            let [ratio, low, high] = alike([ratio, low, high].map(plain));
            format!("{ratio} times ({low} to {high})")
        }
        None => format!("{} times", plain(ratio)),
    }
}

/// `a, b and c`.
fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => items.concat(),
    }
}
