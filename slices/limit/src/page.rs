//! The report of a search, from its record alone: a page, and the same as text and Markdown.

use crate::beyond;
use crate::bound::{FAILED, metric_name, recorded};
use crate::budget;
use crate::capacity::{Estimate, compare, estimates, plain_arms};
use crate::draw;
use crate::json::json;
use crate::limiter::ROUNDS_MIN;
use crate::of::{MOST, Of};
use crate::processes;
use crate::saved::{Capacity, FILE, Probe, Saved};
use crate::search::ProbeResult;
use crate::stops;
use crate::unsteady;
use anyhow::{Context, Result};
use contend::analysis::metric::listed;
use contend::record::model::Disk;
use contend::record::seal;
use contend::report::content::charts::capitalised;
use contend::report::content::circumstances;
use contend::report::document::{Block, Cell, Document, Id, Said, Section, Table, Tone};
use contend::report::html::html;
use contend::report::markdown::markdown;
use contend::report::text::{self, Style};
use contend::study::model::Tier;
use contend_stats::interval::{Interval, MIN_ROUNDS};
use contend_stats::precision::{Bytes, Ns, Rate, Ratio, alike, counted};
use contend_stats::verdict::Verdict;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the report into the record; returns the path of its page.
///
/// # Errors
/// A file cannot be written.
pub fn write(dir: &Path, saved: &Saved) -> Result<PathBuf> {
    let document = document(saved);
    let files = [
        ("report.html", html(&document)),
        ("report.md", markdown(&document)),
        ("report.txt", text::text(&document, Style::FILE)),
        ("report.json", json(saved)),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(dir.join("report.html"))
}

/// The text for a terminal: everything but the single probes.
pub fn terminal(saved: &Saved, style: Style) -> String {
    let mut document = document(saved);
    document.sections.retain(|section| section.id != Id::Other("probes") && !section.is_drawn_only());
    text::text(&document, style)
}

pub fn document(saved: &Saved) -> Document {
    let mut warnings: Vec<String> = wrong(saved).into_iter().collect();
    warnings.extend(saved.disk.as_ref().and_then(Disk::no_sync).map(|why| circumstances::no_sync(&why)));
    warnings.extend(saved.not_sealed.then(|| seal::said_not_sealed(FILE, 0)));
    if !saved.complete {
        warnings.push("The search was stopped: rounds are missing.".to_string());
    }
    warnings.extend(unsteady::warnings(saved));
    let invalid = saved.probes.iter().filter(|probe| probe.seen == Some(ProbeResult::NoValue)).count();
    let mut facts = vec![
        format!("bounds: {}", saved.bounds.join(", ")),
        counted(saved.rounds as usize, "round"),
        counted(saved.probes.len(), "probe"),
    ];
    if invalid > 0 {
        facts.push(format!("{invalid} without a value"));
    }
    facts.extend(disturbed(saved));
    if let Some(budget) = &saved.budget {
        facts.push(format!("{} of {}", budget::words(budget.spent_ns), budget::words(budget.total_ns)));
    }
    let mut sections = vec![answers(saved), capacities(saved)];
    if saved.arms.iter().any(|arm| arm.relaxed.is_some()) {
        sections.extend(stops::section(saved));
    }
    let most: Vec<f64> = recorded(&saved.bounds).iter().map(|bound| bound.most).collect();
    sections.extend(draw::sections(saved, &most));
    sections.push(probes(saved));
    sections.extend(machine(saved));
    sections.push(not_shown(saved));
    Document {
        title: format!("contend limit: {}", subject(saved)),
        question: saved.of().question(&subject(saved)),
        facts,
        warnings,
        origin: format!("Made by contend {} from limit.toml; the trials are in probes/.", saved.contend),
        sections,
        ..Document::default()
    }
}

/// What is searched: the study, or the services by their addresses.
fn subject(saved: &Saved) -> String {
    let mut services: Vec<&str> =
        plain_arms(saved).filter(|_| saved.service).map(|(_, arm)| arm.label.as_str()).collect();
    services.dedup();
    if services.is_empty() { saved.study.clone() } else { services.join(" and ") }
}

/// Probes whose work was wrong, with the first one's reason.
fn wrong(saved: &Saved) -> Option<String> {
    let mut wrong = saved.probes.iter().filter(|probe| probe.wrong);
    let (first, more) = (wrong.next()?, wrong.count());
    let (count, arm) = (counted(more + 1, "probe"), saved.arms[first.arm].name());
    Some(format!("Not valid: {count} did wrong work. The first is probe {}, {arm}: {}.", first.trial, first.why))
}

fn disturbed(saved: &Saved) -> Option<String> {
    let disturbed = saved.probes.iter().filter(|probe| probe.disturbed).count();
    let again = saved.probes.iter().filter(|probe| probe.again).count();
    let ran = if again > 0 { format!(", {again} of them ran again") } else { String::new() };
    (disturbed > 0).then(|| format!("{disturbed} disturbed from outside{ran}"))
}

fn answers(saved: &Saved) -> Section {
    let said = estimates(saved).into_iter().filter(|found| saved.arms[found.arm].relaxed.is_none());
    let not_valid = if wrong(saved).is_some() { "Not valid: " } else { "" };
    let text = |found: &Estimate| format!("{not_valid}{}", sentence(saved, found));
    let said = said.map(|found| Said { condition: None, text: text(&found), tone: Tone::Plain });
    let ask = match saved.of() {
        Of::Rate => "What is the highest rate that meets the bounds?".to_string(),
        of => of.question("each contender").replace(" its bounds", " the bounds"),
    };
    let mut blocks = vec![Block::Answer { ask, said: said.collect() }];
    blocks.extend(not_held(saved).into_iter().map(Block::Note));
    Section { id: Id::Answer, title: "Answer".to_string(), blocks }
}

/// What the time budget did not hold.
fn not_held(saved: &Saved) -> Vec<String> {
    let Some(budget) = &saved.budget else { return vec![] };
    let mut said: Vec<String> = Some(&budget.lowered).filter(|words| !words.is_empty()).cloned().into_iter().collect();
    if !saved.complete {
        return said;
    }
    let time = budget::words(budget.total_ns);
    let searched = |arm: usize| saved.capacities.iter().filter(|capacity| capacity.arm == arm).count();
    // The answer gives the reason for a contender without a value.
    let has_value = |c: &Capacity| c.value().or(c.met).or(c.missed).is_some();
    let is_known = |arm: usize| saved.capacities.iter().any(|c| c.arm == arm && has_value(c));
    let short: Vec<String> = plain_arms(saved)
        .filter(|(arm, _)| searched(*arm) < saved.rounds as usize && is_known(*arm))
        .map(|(arm, of)| format!("{} {}", of.name(), searched(arm)))
        .collect();
    if !short.is_empty() {
        said.push(format!("The time of {time} holds fewer than {} rounds: {}.", saved.rounds, short.join(", ")));
    }
    let left_out: Vec<String> = budget.left_out.iter().map(|arm| saved.arms[*arm].name()).collect();
    if !left_out.is_empty() {
        said.push(format!(
            "Not tried in {ROUNDS_MIN} rounds for lack of time: {}. A longer --budget has room for it.",
            left_out.join("; ")
        ));
    }
    said
}

/// `296/s to 322/s`; `at least 900` if greater numbers were not tried.
fn ends(of: &Of, found: &Estimate, interval: Interval) -> String {
    if found.is_open {
        return format!("at least {}", of.show(interval.low));
    }
    from_to(of, [interval.low, interval.high])
}

fn from_to(of: &Of, ends: [f64; 2]) -> String {
    alike(ends.map(|end| of.show(end))).join(" to ")
}

fn sentence(saved: &Saved, found: &Estimate) -> String {
    format!("{}{}", carries(saved, found), processes::sentence(saved, found.arm))
}

fn carries(saved: &Saved, found: &Estimate) -> String {
    let name = saved.arms[found.arm].name();
    let of = saved.of();
    let Some(value) = found.value else {
        let why = found.why.as_deref().unwrap_or("no round was finished");
        let processors = stops::processors_so_far(saved, found);
        let differ = beyond::mostly(saved, found.arm);
        if let Some(bracket) = bracket(&of, found, differ.is_some()) {
            let misses = differ.or_else(|| beyond::mostly_failed(saved, found.arm));
            let misses = misses.map_or(String::new(), |words| format!(" {words}."));
            return format!("The search for {name} was not finished: {why}. {bracket}.{misses}{processors}");
        }
        let some = some_rounds(saved, &of, found);
        return format!(
            "No {} was found for {name}: {why}.{some}{}{processors}",
            of.kind(),
            closed_loop(saved, found.arm)
        );
    };
    let most = if !of.is_rate() && value >= MOST { "at least " } else { "" };
    let interval = match found.interval {
        // "At least" is said already.
        Some(interval) if found.is_open && interval.low >= MOST => String::new(),
        Some(interval) => format!(" ({})", ends(&of, found, interval)),
        None if found.rounds < found.searched => {
            format!(
                " (the middle of {}, of which {} found none)",
                counted(found.searched, "round"),
                found.searched - found.rounds
            )
        }
        None => format!(" ({}: too few for an interval)", without_interval(saved, found)),
    };
    let stopped = format!("{}{}", beyond::sentence(saved, &of, (found.arm, value)), stops::sentence(saved, found.arm));
    // A service may be elsewhere.
    let place = if saved.service { "" } else { " on this machine" };
    format!("{name} carries {most}{}{interval}{}{place}.{stopped}", of.words(value), within(saved))
}

/// What fewer than half of the rounds found: ` Only 1 of 3 rounds found one: 34.7/s.`
fn some_rounds(saved: &Saved, of: &Of, found: &Estimate) -> String {
    let values: Vec<f64> = saved.values(found.arm).into_iter().map(|(_, value)| value).collect();
    let (low, high) = values.iter().fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let what = if low < high { from_to(of, [low, high]) } else { of.words(low) };
    match values.len() {
        0 => String::new(),
        count => format!(" Only {count} of {} found one: {what}.", counted(found.searched, "round")),
    }
}

/// What a search that was stopped knows before its first rate: ` In a closed loop it carried 1,380/s.`
fn closed_loop(saved: &Saved, arm: usize) -> String {
    let of_arm = |probe: &&Probe| probe.arm == arm && probe.at().is_none() && probe.committed_per_s > 0.0;
    let last = saved.probes.iter().rev().find(of_arm).filter(|_| !saved.complete);
    last.map_or(String::new(), |probe| format!(" In a closed loop it carried {}.", Rate(probe.committed_per_s)))
}

/// What a search that was not finished knows: `It is between 34.7/s, which meets the bounds, and ...`
fn bracket(of: &Of, found: &Estimate, is_other: bool) -> Option<String> {
    let misses = |words: &'static str| if is_other { "where answers differ" } else { words };
    Some(match (found.met, found.missed) {
        (Some(met), Some(missed)) => {
            format!(
                "It is between {}, which meets the bounds, and {}, {}",
                of.words(met),
                of.words(missed),
                misses("which misses one")
            )
        }
        (Some(met), None) => format!("It is {} or more, which meets the bounds", of.words(met)),
        (None, Some(missed)) => format!("It is less than {}, {}", of.words(missed), misses("which misses a bound")),
        (None, None) => return None,
    })
}

/// The same in the column of intervals.
fn bracket_cell(of: &Of, found: &Estimate) -> String {
    match (found.met, found.missed) {
        (Some(low), Some(high)) => format!("not finished: {}", from_to(of, [low, high])),
        (Some(met), None) => format!("not finished: from {}", of.show(met)),
        (None, Some(missed)) => format!("not finished: below {}", of.show(missed)),
        (None, None) => String::new(),
    }
}

/// `median of 2 rounds, 133/s to 185/s`
fn without_interval(saved: &Saved, found: &Estimate) -> String {
    let values: Vec<f64> = saved.values(found.arm).into_iter().map(|(_, value)| value).collect();
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    let range = if values.len() > 1 { format!(", {}", from_to(&saved.of(), [low, high])) } else { String::new() };
    format!("median of {}{range}", counted(found.rounds, "round"))
}

/// The bounds as a part of a sentence; the usual one of failures is in the facts of the page alone.
fn within(saved: &Saved) -> String {
    let all = recorded(&saved.bounds);
    let said = all.iter().filter(|bound| bound.text != FAILED);
    let words: Vec<String> = said
        .map(|bound| format!("{} up to {}", bound.metric.label(), bound.metric.show_with_unit(bound.most)))
        .collect();
    if words.is_empty() { String::new() } else { format!(" with {}", words.join(" and ")) }
}

/// The machine that the sentence is about.
fn machine(saved: &Saved) -> Option<Section> {
    let machine = saved.machine.as_ref()?;
    let mut table = Table::new(&["of the machine", ""]);
    let mut row = |name: &str, value: String| table.row(vec![Cell::new(name), Cell::new(value)]);
    row("processor", machine.cpu.clone());
    row("processors", format!("{} that contend could use", saved.processors));
    row("memory", Bytes(machine.memory_bytes).to_string());
    let kind = if machine.virtual_machine { ", in a virtual machine" } else { "" };
    row("system", format!("{}, Linux {}{kind}", machine.os, machine.kernel));
    if let Some(disk) = &saved.disk {
        let (middle, slow) = (Ns(disk.fsync_ns_p50), Ns(disk.fsync_ns_p95));
        row("disk", format!("{}; an fsync takes {middle} in median, {slow} at p95", disk.file_system));
    }
    Some(Section { id: Id::Other("machine"), title: "Machine".to_string(), blocks: vec![Block::Table(table)] })
}

fn capacities(saved: &Saved) -> Section {
    let of = saved.of();
    let greatest = format!("{}|", of.greatest());
    let subject = if saved.service { "service" } else { "contender" };
    let mut table = Table::new(&[subject, &greatest, "interval", "against|", "verdict", "rounds|"]);
    let mut tiers: Vec<&str> = vec![];
    plain_arms(saved).for_each(|(_, arm)| {
        if !tiers.contains(&arm.tier.as_str()) {
            tiers.push(&arm.tier);
        }
    });
    let all = estimates(saved);
    for tier in tiers {
        let promise = Tier::GROUPS.into_iter().find(|known| known.word() == tier).map_or("", Tier::promise);
        table.group(tier, promise);
        for (at, _) in plain_arms(saved).filter(|(_, arm)| arm.tier == tier) {
            table.row(row(saved, &all[at]));
        }
    }
    let title = match of {
        Of::Rate => "Highest rates".to_string(),
        of => capitalised(&of.greatest()),
    };
    Section { id: Id::Other("capacity"), title, blocks: vec![Block::Table(table)] }
}

fn row(saved: &Saved, found: &Estimate) -> Vec<Cell> {
    let arm = &saved.arms[found.arm];
    let of = saved.of();
    let (greatest, interval) = match (found.value, found.interval) {
        (Some(value), interval) => {
            (of.show(value), interval.map_or(String::new(), |interval| ends(&of, found, interval)))
        }
        (None, _) => ("none".to_string(), bracket_cell(&of, found)),
    };
    let (ratio, verdict) = match arm.against {
        None => (Cell::new("-"), Cell::new("baseline")),
        Some(base) => {
            let comparison = compare(saved, base, found.arm);
            let tone = match comparison.verdict {
                Verdict::Faster | Verdict::SlightlyFaster => Tone::Better,
                Verdict::Slower | Verdict::SlightlySlower => Tone::Worse,
                _ => Tone::Plain,
            };
            let ratio = comparison.ratio.map_or("-".to_string(), |ratio| Ratio(ratio).to_string());
            (Cell::new(ratio), Cell::new(comparison.verdict.to_string()).tone(tone))
        }
    };
    let rounds = match found.rounds == found.searched {
        true => found.rounds.to_string(),
        false => format!("{} of {}", found.rounds, found.searched),
    };
    vec![
        Cell::new(arm.name()).series(found.arm),
        Cell::new(greatest),
        Cell::new(interval),
        ratio,
        verdict,
        Cell::new(rounds),
    ]
}

fn probes(saved: &Saved) -> Section {
    let names: Vec<String> = saved.bounds.iter().map(|text| metric_name(text)).collect();
    let titles: Vec<String> = names.iter().map(|name| format!("{}|", label(name))).collect();
    let mut titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let (of, tried) = (saved.of(), format!("{}|", saved.of));
    titles.splice(0..0, ["trial|", "round|", "contender", &tried, "committed|"]);
    titles.push("result");
    let mut table = Table::new(&titles);
    for probe in &saved.probes {
        table.row(probe_row(saved, &of, probe, &names));
    }
    let note = "A trial that is named here is in probes/trials, and went through every check of a run.";
    let blocks = vec![Block::Table(table), Block::Note(note.to_string())];
    Section { id: Id::Other("probes"), title: "Probes".to_string(), blocks }
}

fn probe_row(saved: &Saved, of: &Of, probe: &Probe, names: &[String]) -> Vec<Cell> {
    let result = match probe.seen {
        None => Cell::muted("begins the search"),
        Some(ProbeResult::Meets) => Cell::new("meets").tone(Tone::Better),
        Some(ProbeResult::Misses) => Cell::new("misses").tone(Tone::Worse).small(probe.reason()),
        Some(ProbeResult::NoValue) => Cell::muted("no value").small(probe.reason()),
    };
    let mut row = vec![
        Cell::new(probe.trial.to_string()),
        Cell::new(probe.round.to_string()),
        Cell::new(saved.arms[probe.arm].name()).series(probe.arm),
        Cell::new(probe.at().map_or("closed loop".to_string(), |at| of.show(at))),
        Cell::new(Rate(probe.committed_per_s).to_string()),
    ];
    for (at, name) in names.iter().enumerate() {
        let value = probe.values.get(at).copied().filter(|value| value.is_finite());
        let shown = value.zip(listed(name)).map_or("-".to_string(), |(value, metric)| metric.show_with_unit(value));
        row.push(Cell::new(shown));
    }
    row.push(result);
    row
}

fn label(name: &str) -> String {
    listed(name).map_or_else(|| name.to_string(), |metric| metric.label())
}

fn not_shown(saved: &Saved) -> Section {
    let load = match saved.of() {
        Of::Rate => "Arrivals are drawn at random and evenly; bursts that are larger lower the rate. They are dealt to the clients \
                     beforehand; a pool that all operations share carries more."
            .to_string(),
        of => format!(
            "In a closed loop, slow answers slow down the clients. More than {} are not tried.{}",
            of.words(MOST),
            if of.name() == "clients" { " Clients are those of each process." } else { "" }
        ),
    };
    let mut items = vec![
        load,
        match saved.service {
            false => "A window of seconds sees no checkpoint, vacuum or growth that takes minutes. Data is fresh in each probe.",
            true if saved.probes.iter().any(|probe| !probe.processes.is_empty()) => "A service keeps its state from probe to probe.",
            true => "A service keeps its state from probe to probe. contend sees its processors and what it writes only with --pid.",
        }
        .to_string(),
    ];
    if saved.of().is_rate() {
        items.push(
        "A short window sees less of a queue than hours do: in simulations the rate found is some percent high. The interval \
         covers how rounds differ, and not that."
            .to_string(),
        );
    }
    if (saved.rounds as usize) < MIN_ROUNDS {
        items.push(format!("With fewer than {MIN_ROUNDS} rounds there are no intervals and no words."));
    }
    Section {
        id: Id::Other("not-shown"),
        title: "What this does not show".to_string(),
        blocks: vec![Block::List(items)],
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
