//! What a report says of the limiter: a sentence, and the table behind it.

use crate::capacity::{estimate, plain_arms};
use crate::limiter::{Limiter, Suspected, limiter, suspects, takes_away, used};
use crate::relax::Suspect;
use crate::saved::{Busy, Saved};
use contend::report::document::{Block, Cell, Id, Section, Table, Tone};
use contend_stats::precision::{Ns, Percent, Rate, Ratio, plain};

/// What stops an arm, to follow its rate; empty where nothing was relaxed.
pub fn sentence(saved: &Saved, arm: usize) -> String {
    let all = suspects(saved, arm);
    if all.iter().all(|of| of.arm.is_none()) {
        return String::new();
    }
    match limiter(&all) {
        Limiter::None(why) => format!(" No single limiter found: {why}."),
        Limiter::One(suspect) => {
            let of = all.iter().find(|of| of.suspect == suspect);
            let relaxed = of.and_then(|of| relaxed(saved, of)).map_or(String::new(), |words| format!(": {words}"));
            let evidence = of.and_then(short_evidence).map_or(String::new(), |words| format!(" ({words})"));
            format!(" It is stopped by {}{evidence}{relaxed}.", name(suspect))
        }
    }
}

fn name(suspect: Suspect) -> &'static str {
    match suspect {
        Suspect::Syncs => "waiting for the disk at commits",
        Suspect::Writers => "its one writer",
        Suspect::Processors => "the processors",
        Suspect::Clients => "the number of clients",
        Suspect::Generator => "contend's own worker",
    }
}

fn short_evidence(of: &Suspected) -> Option<String> {
    let share = Percent(of.use_share?);
    match of.suspect {
        Suspect::Syncs => None,
        Suspect::Writers => Some(format!("in write transactions {share} of the time")),
        Suspect::Processors | Suspect::Clients | Suspect::Generator => Some(format!("{share} busy")),
    }
}

/// How often as much it carries when the suspect is relaxed.
fn relaxed(saved: &Saved, of: &Suspected) -> Option<String> {
    let arm = of.arm?;
    let how = &saved.arms[arm].relaxed.as_ref()?.how;
    let ratio = of.comparison.as_ref()?.ratio?;
    Some(format!("with {how} it carries {} times as much", plain(ratio)))
}

/// A table for each contender.
pub fn section(saved: &Saved) -> Section {
    let mut blocks = vec![];
    for (arm, of) in plain_arms(saved) {
        let mut table =
            Table::new(&["suspect", "evidence at the highest rate", "relaxed by", "highest rate then|", "ratio|", ""]);
        let used = used(saved, arm);
        for suspected in suspects(saved, arm) {
            table.row(row(saved, &suspected, used.as_ref()));
        }
        blocks.push(Block::Heading(of.name()));
        blocks.push(Block::Table(table));
    }
    let note = "A suspect is named if relaxing it moves the rate by more than the margin (with fewer than six rounds: in each \
                of at least three), its use speaks for it, and no other does the same. Half the writes are also half the \
                syncs. Evidence is the median of the probes near the highest rate.";
    blocks.push(Block::Note(note.to_string()));
    Section { id: Id::Other("limiter"), title: "What stops it".to_string(), blocks }
}

fn row(saved: &Saved, of: &Suspected, used: Option<&Busy>) -> Vec<Cell> {
    let Suspected { suspect, arm, comparison, moves, .. } = of;
    let evidence = used.map_or("not measured".to_string(), |used| evidence(saved, of, used));
    let how = arm.and_then(|arm| saved.arms[arm].relaxed.as_ref()).map(|relaxed| relaxed.how.clone());
    let per_s = arm.and_then(|arm| estimate(saved, arm).per_s);
    let without =
        if *suspect == Suspect::Generator { "its cost is measured without a database" } else { "not relaxed here" };
    let ratio = comparison.as_ref().and_then(|comparison| {
        let interval = comparison.low.zip(comparison.high);
        let interval = interval.map_or(String::new(), |(low, high)| format!("{} to {}", plain(low), plain(high)));
        Some(Cell::new(Ratio(comparison.ratio?).to_string()).small(interval))
    });
    let lower = arm.is_some_and(|arm| takes_away(saved, arm));
    let moved = match (arm, moves, of.is_busy(), lower) {
        (None, ..) => Cell::new(""),
        (_, false, ..) => Cell::muted("does not move it"),
        (_, true, false, _) => Cell::muted("moves it, but is not busy"),
        (_, true, true, false) => Cell::new("moves it").tone(Tone::Better),
        (_, true, true, true) => Cell::new("moves it").tone(Tone::Worse),
    };
    vec![
        Cell::new(suspect.word()),
        Cell::new(evidence),
        how.map_or_else(|| Cell::muted(without), Cell::new),
        Cell::new(per_s.map_or("-".to_string(), |per_s| Rate(per_s).to_string())),
        ratio.unwrap_or_else(|| Cell::new("-")),
        moved,
    ]
}

fn evidence(saved: &Saved, of: &Suspected, used: &Busy) -> String {
    match of.suspect {
        Suspect::Syncs => {
            let syncs = used.syncs_per_s.map_or(String::new(), |per_s| format!(", {} syncs", Rate(per_s)));
            format!("{} writes{syncs}; an fsync took {} before", Rate(used.writes_per_s), Ns(used.sync_ns))
        }
        Suspect::Writers => match used.writing {
            Some(share) => format!("in write transactions {} of the time", Percent(share)),
            None => "the driver does not measure waits for locks".to_string(),
        },
        Suspect::Processors => {
            let server = used.server_cpu.map_or(String::new(), |cpu| format!(", server {}", plain(cpu)));
            let (client, other) = (plain(used.client_cpu), plain(used.other_cpu));
            format!("clients {client}{server}, others {other} of {}", saved.processors)
        }
        Suspect::Clients => format!("busy {} of the time", Percent(used.clients)),
        Suspect::Generator => format!("takes {} of one processor", Percent(used.generator)),
    }
}
