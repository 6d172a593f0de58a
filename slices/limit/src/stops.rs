//! The part of the report about the limiter: a sentence, and its table.

use crate::capacity::{Estimate, Shown, estimate, plain_arms};
use crate::limiter::{Limiter, ROUNDS_MIN, Suspected, limiter, suspects, takes_away, used};
use crate::relax::Suspect;
use crate::saved::{Budget, Busy, Probe, Saved};
use contend::report::document::{Block, Cell, Id, Section, Table, Tone};
use contend::study::model::Tier;
use contend_stats::interval::median;
use contend_stats::precision::{Bytes, Ns, Percent, Rate, Ratio, alike, counted, plain};

/// What limits an arm, as a continuation of the sentence about its rate; empty if nothing was relaxed and no limit is named.
pub fn sentence(saved: &Saved, arm: usize) -> String {
    let all = suspects(saved, arm);
    match limiter(&all) {
        Limiter::None(_) if all.iter().all(|of| of.arm.is_none()) => String::new(),
        Limiter::None(why) => format!(" No single limiter found: {why}."),
        Limiter::One(suspect) => {
            let of = all.iter().find(|of| of.suspect == suspect);
            let relaxed = of.and_then(|of| relaxed(saved, of)).map_or(String::new(), |words| format!(": {words}"));
            let is_server = used(saved, arm).is_some_and(|used| used.server_waiting.is_some());
            let short = of.and_then(|of| short_evidence(of, is_server));
            let evidence = short.map_or(String::new(), |words| format!(" ({words})"));
            format!(" It is stopped by {}{evidence}{relaxed}{}.", name(suspect, is_server), untried(saved, arm, &all))
        }
    }
}

/// Suspects that an experiment did not clear and that were not shown to be idle, and what of a service is not measured, as the
/// end of the sentence.
fn untried(saved: &Saved, arm: usize, all: &[Suspected]) -> String {
    let tier = saved.arms[arm].tier.as_str();
    let waits_for_none = [Tier::Bounded, Tier::Unsafe].iter().any(|without| without.word() == tier);
    let used = used(saved, arm).unwrap_or_default();
    let is_idle = |of: &Suspected| match of.suspect {
        Suspect::Syncs => of.arm.is_none() && waits_for_none,
        _ => of.use_share.is_some() && !of.is_busy(),
    };
    let is_untried = |of: &&Suspected| {
        let is_tried = (of.moves || of.is_cleared) && of.unshown.is_none();
        // Nothing can relax the syncs of a service.
        let is_ours = of.suspect != Suspect::Generator && !(saved.service && of.suspect == Suspect::Syncs);
        is_ours && is_seen(saved, of, &used) && !is_tried && !is_idle(of)
    };
    let words: Vec<String> = all.iter().filter(is_untried).map(|of| untried_word(saved, of)).collect();
    let untried = match words.is_empty() {
        true => String::new(),
        false => format!("; not tried in {ROUNDS_MIN} rounds: {}", words.join(", ")),
    };
    let may_sync = saved.service && used.written_bytes_per_s != Some(0.0);
    untried + if may_sync { "; its syncs are not measured" } else { "" }
}

fn untried_word(saved: &Saved, of: &Suspected) -> String {
    let is_unmeasured = of.suspect == Suspect::Processors && of.use_share.is_none() && saved.is_server_foreign();
    let why = match of.is_undecided() && of.unshown.is_none() {
        _ if is_unmeasured => " (not measured)",
        true => " (undecided)",
        false => "",
    };
    format!("{}{why}", of.suspect.word())
}

/// The limiter as a part of the sentence. The writers of a server work at the same time.
fn name(suspect: Suspect, is_server: bool) -> &'static str {
    match suspect {
        Suspect::Syncs => "waiting for the disk at commits",
        Suspect::Writers if is_server => "writers that wait for each other's locks",
        Suspect::Writers => "its one writer",
        Suspect::BusyHandler => "the pauses of SQLite's busy handler",
        Suspect::Processors => "the processors",
        Suspect::Clients => "the number of clients",
        Suspect::Generator => "contend's own worker",
    }
}

fn short_evidence(of: &Suspected, is_server: bool) -> Option<String> {
    let share = Percent(of.use_share?);
    match of.suspect {
        Suspect::Writers if is_server => Some(format!("{} sessions wait for locks on average", plain(of.use_share?))),
        Suspect::Syncs => Some(format!("in syncs {share} of the time")),
        Suspect::Writers => Some(format!("in write transactions {share} of the time")),
        Suspect::BusyHandler => Some(format!("operations wait for locks {share} of their time")),
        Suspect::Processors | Suspect::Clients => Some(format!("{share} busy")),
        Suspect::Generator => Some(format!("its loop alone takes {share} of a processor in each process")),
    }
}

/// The rate with the suspect relaxed, as a phrase.
fn relaxed(saved: &Saved, of: &Suspected) -> Option<String> {
    let arm = of.arm?;
    let how = &saved.arms[arm].relaxed.as_ref()?.how;
    if let Some(ratio) = of.comparison.as_ref()?.ratio {
        return Some(format!("with {how} it carries {} times as much", plain(ratio)));
    }
    let rate = Rate(mostly(saved, of)?.rate);
    Some(match takes_away(saved, arm) {
        false => format!("with {how} it meets the bounds at {rate} too"),
        true => format!("with {how} it misses them at {rate}"),
    })
}

/// What most rounds show of an arm that was probed at one rate in each.
struct Mostly {
    words: &'static str,
    /// Middle of the rates that say so, and of their ratios to the contender's own.
    rate: f64,
    ratio: f64,
    rounds: String,
}

fn mostly(saved: &Saved, of: &Suspected) -> Option<Mostly> {
    let capacities = || saved.capacities.iter().filter(|capacity| Some(capacity.arm) == of.arm);
    let met: Vec<f64> = capacities().filter_map(|capacity| capacity.met).collect();
    let missed: Vec<f64> = capacities().filter_map(|capacity| capacity.missed).collect();
    let is_met = met.len() > missed.len();
    let ratio = |shown: &Shown| if is_met { shown.at_least() } else { shown.below() };
    let ratios: Vec<f64> = of.shown.iter().filter_map(ratio).collect();
    let (words, rates) = if is_met { ("at least", met) } else { ("below", missed) };
    let rounds = format!("in {} of {} rounds", rates.len(), of.shown.len());
    Some(Mostly { words, rate: median(&rates)?, ratio: median(&ratios)?, rounds })
}

/// Whether there is evidence of a suspect: the database of a service is not seen, and its writes only with `--pid`.
fn is_seen(saved: &Saved, of: &Suspected, used: &Busy) -> bool {
    match of.suspect {
        Suspect::Writers => !saved.service,
        // Only SQLite has one, and not every driver measures it.
        Suspect::BusyHandler => used.waiting.is_some(),
        Suspect::Syncs => !saved.service || used.written_bytes_per_s.is_some(),
        _ => true,
    }
}

/// A table for each contender with a rate; `None` if no contender has one.
pub fn section(saved: &Saved) -> Option<Section> {
    let mut blocks = vec![];
    for (arm, of) in plain_arms(saved) {
        // Without a rate nothing was measured near it.
        let Some(used) = used(saved, arm) else { continue };
        let mut table =
            Table::new(&["suspect", "evidence at the highest rate", "relaxed by", "highest rate then|", "ratio|", ""]);
        for suspected in suspects(saved, arm).iter().filter(|of| is_seen(saved, of, &used)) {
            table.row(row(saved, suspected, &used));
        }
        blocks.push(Block::Heading(of.name()));
        blocks.push(Block::Table(table));
    }
    if blocks.is_empty() {
        return None;
    }
    let rules = [
        "A suspect is named if relaxing it moves the rate by more than the margin (with fewer than six rounds: in each of at \
         least three), it is busy (syncs need no such evidence), and no other suspect meets both conditions.",
        "A busy suspect is undecided if its rounds neither agree that the rate moves nor that it does not, or one has no \
         value. Then none is named, unless it moves the rate less in each round than the named one in the median round.",
        "The busy handler is a suspect if operations wait for locks at least 1 % of their time, although writers have the lock \
         less than 60 % of it.",
        "Fewer processors show something only if those that are left could do the work at a rate beyond the margin.",
        "Half the writes are also half the syncs, and less work for the processors: writers are not named where fewer syncs help \
         or the processors may be the limit.",
        "Within a budget, an arm is probed at one rate only: a tenth above the contender's own (with fewer processors: a tenth \
         below). Only suspects that could be named are relaxed.",
        "The worker's own loop is named without an experiment, if nothing else moves the rate.",
        "Evidence is the median of the probes near the highest rate.",
    ];
    blocks.push(Block::List(rules.map(str::to_string).to_vec()));
    Some(Section { id: Id::Other("limiter"), title: "What stops it".to_string(), blocks })
}

fn row(saved: &Saved, of: &Suspected, used: &Busy) -> Vec<Cell> {
    let Suspected { suspect, arm, comparison, moves, .. } = of;
    let evidence = evidence(saved, of, used);
    let how = arm.and_then(|arm| saved.arms[arm].relaxed.as_ref()).map(|relaxed| relaxed.how.clone());
    let found = arm.map(|arm| estimate(saved, arm));
    let is_searched = found.as_ref().is_some_and(|found| found.searched > 0);
    let (per_s, why) = found.map_or((None, None), |found| (found.value, found.why.filter(|_| found.value.is_none())));
    let without =
        if *suspect == Suspect::Generator { "its cost is measured without a database" } else { "not relaxed here" };
    let mostly = mostly(saved, of);
    let then = match (per_s, &mostly) {
        (None, Some(m)) => Cell::new(format!("{} {}", m.words, Rate(m.rate))).small(m.rounds.as_str()),
        _ => Cell::new(per_s.map_or("-".to_string(), |per_s| Rate(per_s).to_string())).small(why.unwrap_or_default()),
    };
    let ratio = comparison.as_ref().and_then(|comparison| {
        let interval = comparison.low.zip(comparison.high);
        let interval = interval.map_or(String::new(), |(low, high)| alike([low, high].map(plain)).join(" to "));
        Some(Cell::new(Ratio(comparison.ratio?).to_string()).small(interval))
    });
    let bounded = mostly.as_ref().map(|m| Cell::new(format!("{} {}", m.words, Ratio(m.ratio))));
    let lower = arm.is_some_and(|arm| takes_away(saved, arm));
    let moved = match (arm, moves, of.is_busy(), lower) {
        (None, ..) => Cell::new(""),
        _ if !is_searched => Cell::new(""),
        (_, false, ..) if of.rounds() < ROUNDS_MIN => Cell::muted("too few rounds"),
        (_, false, ..) if of.is_undecided() => Cell::muted("undecided"),
        (_, false, ..) if mostly.is_some() => Cell::muted("does not move it that far"),
        (_, false, ..) => Cell::muted("does not move it"),
        (_, true, false, _) => Cell::muted("moves it, but is not busy"),
        _ if of.unshown.is_some() => Cell::muted("needed; not shown to be the limit"),
        (_, true, true, false) => Cell::new("moves it").tone(Tone::Better),
        (_, true, true, true) => Cell::new("moves it").tone(Tone::Worse),
    };
    vec![
        Cell::new(suspect.word()),
        Cell::new(evidence),
        how.map_or_else(
            || Cell::muted(without),
            |how| if is_searched { Cell::new(how) } else { Cell::muted(not_relaxed(saved, of)) },
        ),
        then,
        ratio.or(bounded).unwrap_or_else(|| Cell::new("-")),
        moved,
    ]
}

/// Why an arm was not searched.
fn not_relaxed(saved: &Saved, of: &Suspected) -> &'static str {
    let left_out = |budget: &Budget| of.arm.is_some_and(|arm| budget.left_out.contains(&arm));
    match (&saved.budget, of.is_busy(), of.use_share) {
        (Some(budget), ..) if left_out(budget) => "not relaxed: no time was left",
        (_, false, None) => "not relaxed: its use is not measured",
        (_, false, Some(_)) => "not relaxed: not busy",
        _ if of.unshown.is_some() => "not relaxed: it must miss the bounds",
        _ => "not relaxed",
    }
}

/// Processors that were used.
fn processors(saved: &Saved, used: &Busy) -> String {
    let server = used.server_cpu.map_or(String::new(), |cpu| format!(", server {}", plain(cpu)));
    let (client, other) = (plain(used.client_cpu), plain(used.other_cpu));
    // Other programs may use processors that contend may not.
    let is_unknown = used.server_cpu.is_none() && saved.is_server_foreign();
    let unknown = if is_unknown { "; the server's are not measured" } else { "" };
    format!("clients {client}{server} of {}, others {other}{unknown}", saved.processors)
}

/// The processors as a sentence about a search without a value, in which nothing was relaxed: at the greatest value that met the
/// bounds, or else in the last probe. Empty if those of the server are not known.
pub fn processors_so_far(saved: &Saved, found: &Estimate) -> String {
    let is_there = |probe: &&Probe| probe.arm == found.arm && (found.met.is_none() || probe.at() == found.met);
    let used = |probe: &Probe| Some((probe.at(), probe.used.clone().filter(|used| used.server_cpu.is_some())?));
    let Some((at, used)) = saved.probes.iter().rev().filter(is_there).find_map(used) else { return String::new() };
    let at = at.map_or("in a closed loop".to_string(), |at| format!("at {}", saved.of().words(at)));
    format!(" Processors {at}: {}.", processors(saved, &used))
}

fn evidence(saved: &Saved, of: &Suspected, used: &Busy) -> String {
    match of.suspect {
        Suspect::Syncs if saved.service => match used.written_bytes_per_s.unwrap_or(0.0) {
            0.0 => "the service writes nothing".to_string(),
            per_s => format!("the service writes {} a second; its syncs are not measured", Bytes(per_s as u64)),
        },
        Suspect::Syncs => {
            let mut parts = vec![format!("{} writes", Rate(used.writes_per_s))];
            parts.extend(used.syncs_per_s.map(|per_s| format!("{} syncs", Rate(per_s))));
            parts.extend(used.syncing.map(|share| format!("in syncs {} of the time", Percent(share))));
            parts.extend(Some(used.sync_ns).filter(|ns| *ns > 0).map(|ns| format!("an fsync took {} before", Ns(ns))));
            parts.extend(used.written_bytes_per_s.map(|per_s| format!("{} written a second", Bytes(per_s as u64))));
            let seen = used.checkpoints.filter(|seen| *seen > 0);
            parts.extend(seen.map(|seen| format!("the log was copied in {}", counted(seen as usize, "step"))));
            parts.join(", ")
        }
        Suspect::Writers => {
            let mut parts = match (used.writing, used.server_waiting) {
                (Some(share), None) => vec![format!("in write transactions {} of the time", Percent(share))],
                (_, Some(_)) => vec![],
                (None, None) => vec!["waits for locks are not measured".to_string()],
            };
            if let Some((per_s, waiting)) = used.server_waits_per_s.zip(used.server_waiting) {
                let (per_s, waiting) = (Rate(per_s), plain(waiting));
                parts
                    .push(format!("the server reports {per_s} waits for locks, {waiting} sessions waiting on average"));
            }
            parts.join(", ")
        }
        Suspect::BusyHandler => match of.use_share {
            Some(0.0) if used.waiting > Some(0.0) => "the one writer has the lock for most of the time".to_string(),
            share => format!("operations wait for locks {} of their time", Percent(share.unwrap_or(0.0))),
        },
        Suspect::Processors => processors(saved, used),
        Suspect::Clients => format!("busy {} of the time", Percent(used.clients)),
        Suspect::Generator => format!("takes {} of a processor in each process", Percent(used.generator)),
    }
}
