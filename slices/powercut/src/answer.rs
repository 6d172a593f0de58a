//! Answers of crash studies: a sentence about each setting, and a table of promised and reached tiers with the commit
//! rate.

use crate::findings::{Shown, Survived};
use crate::keys::NAME;
use crate::results::{Crashes, Powercut};
use crate::{csv, section};
use contend::analysis::Findings;
use contend::contender::Tier;
use contend::report::content::evidence::share_max;
use contend::report::content::speed::rate;
use contend::report::content::words::{self, NOTHING, count};
use contend::report::document::{Bar, BarRow, Bars, Block, Cell as TableCell, Id, Said, Section, Table, Tone};
use contend::report::kind::ReportParts;
use contend_stats::precision::Ns;
use std::ops::Range;

/// Below the table.
const NOTE: &str = "Crashes that left something else than everything acknowledged, of all that were made; below it what \
    they left, or with 95 % confidence the most that their share can be (3/n). Moments are drawn evenly over the recorded \
    writes and syncs, so a share is not one of time. Process crash: simulated at many moments, and \
    really made with SIGKILL. Power cut: on a file system that persists names in order, as ext4 and XFS do; posix: on one \
    where each name needs a sync of its directory. Reached is what the first two show; promised is what the settings are \
    documented to keep. Commits per second are of the ordinary disk, from the same run: the median of the rounds, with the \
    slowest and the fastest.";

const COLUMNS: [&str; 9] = [
    "setting",
    "promised",
    "reached",
    "commits/s|",
    "process crash|",
    "power cut|",
    "most lost|",
    "most work lost|",
    "posix|",
];

/// Report parts of this kind.
pub const REPORT: ReportParts = ReportParts {
    kind: NAME,
    answers,
    table,
    note: NOTE,
    sections: |findings| vec![promise(findings), section::section(findings)],
    chart: PROMISE,
    files: csv::files,
};

/// Section of the commit rates.
const PROMISE: Id = Id::Other("promise");

fn shown<'f>(findings: &'f Findings<'_>, condition: usize) -> Vec<&'f Shown> {
    Survived::of(findings).map_or_else(Vec::new, |survived| survived.under(condition).collect())
}

fn conditions(findings: &Findings<'_>) -> Range<usize> {
    0..findings.study.conditions.len()
}

/// The questions of the study, answered in words.
fn answers(findings: &Findings<'_>) -> Vec<Block> {
    let study = &findings.study;
    let mut blocks = vec![];
    for kept in &study.kept {
        let mut said = vec![];
        for condition in conditions(findings) {
            let all = shown(findings, condition);
            let Some(one) = all.iter().find(|s| study.contenders[s.contender].label == kept.contender) else {
                continue;
            };
            let tone = if one.contradicted || one.found.is_empty() { Tone::Worse } else { Tone::Plain };
            let condition = (study.conditions.len() > 1).then(|| words::condition(findings, condition));
            said.push(Said { condition, text: sentence(one), tone });
        }
        if !said.is_empty() {
            blocks.push(Block::Answer { ask: kept.ask.clone(), said });
        }
    }
    let none = |condition| shown(findings, condition).iter().all(|one| one.found.is_empty());
    if blocks.is_empty() && conditions(findings).all(none) {
        let text = "No crash was made in this run, so there is no answer. The reasons are below.".to_string();
        let said = vec![Said { condition: None, text, tone: Tone::Worse }];
        blocks.push(Block::Answer { ask: String::new(), said });
    }
    blocks
}

/// What one contender keeps, as a sentence.
fn sentence(one: &Shown) -> String {
    if one.found.is_empty() {
        return "This run cannot tell: no trial of it counts (the reasons are under \"Trials that do not count\")."
            .to_string();
    }
    if one.contradicted {
        return "This run cannot tell: a control did not hold, so what it found does not count (see the controls below)."
            .to_string();
    }
    let process = one.sum(Powercut::process);
    let mut parts = vec![];
    if process.count > 0 {
        parts.push(format!("When its processes die: {}.", survived(&process)));
    }
    match one.not_verified() {
        Some(why) => parts.push(format!("When the power goes: not verified ({why}).")),
        None => parts.push(format!("When the power goes: {}.", survived(&one.sum(Powercut::power)))),
    }
    parts.extend(not_done(one));
    let posix = one.sum(Powercut::posix);
    if posix.bad() > 0 && one.sum(Powercut::power).bad() == 0 {
        parts.push(format!(
            "On a file system that persists names only when their directory is synced: {}.",
            survived(&posix)
        ));
    }
    parts.join(" ")
}

/// Required crashes that were not made or not finished.
fn not_done(one: &Shown) -> Option<String> {
    let mut said = vec![];
    if let Some(why) = one.found.iter().find_map(|(_, found)| found.not_killed.as_deref()) {
        said.push(format!("Not all real kills were made ({why})."));
    }
    if one.found.iter().any(|(_, found)| found.log_full) {
        said.push("The log of the recorder was full, so the power was cut in the first part of the load only.".into());
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// The result of all crashes of one kind, as a sentence.
fn survived(crashes: &Crashes) -> String {
    if crashes.count == 0 {
        return "not tried".to_string();
    }
    let mut said = vec![];
    if crashes.lossy > 0 {
        let commits = match crashes.lost_commits_max {
            1 => "one commit each time".to_string(),
            most => format!("up to {}", words::counted(most as usize, "commit")),
        };
        let work = Ns(crashes.lost_work_ns_max);
        let share = words::share(crashes.lossy, crashes.count);
        said.push(format!(
            "acknowledged commits are gone in {share} of {} ({commits}, at most {work} of work)",
            count(crashes.count)
        ));
    }
    for (n, what) in [(crashes.corrupt, "corrupt"), (crashes.unopenable, "impossible to open")] {
        if n > 0 {
            said.push(format!("{what} in {} of {}", words::share(n, crashes.count), count(crashes.count)));
        }
    }
    if said.is_empty() {
        return format!(
            "nothing is lost in {} crashes (so in less than {} of them)",
            count(crashes.count),
            share_max(crashes.count)
        );
    }
    if crashes.corrupt + crashes.unopenable == 0 {
        said.push("never corrupt".to_string());
    }
    said.join("; ")
}

/// Table of settings with the promised tier, the reached tier, and the commit rate.
fn table(findings: &Findings<'_>, condition: usize) -> Option<Block> {
    let all = shown(findings, condition);
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new(&COLUMNS);
    table.condition = Some(condition);
    for one in all {
        table.row(row(findings, condition, one));
    }
    Some(Block::Table(table))
}

fn row(findings: &Findings<'_>, condition: usize, one: &Shown) -> Vec<TableCell> {
    let contender = &findings.study.contenders[one.contender];
    let (process, power, posix) = (one.sum(Powercut::process), one.sum(Powercut::power), one.sum(Powercut::posix));
    if one.found.is_empty() {
        let mut cells =
            vec![TableCell::new(&contender.label).series(one.contender), TableCell::new(contender.tier.word())];
        cells.push(TableCell::new("does not count").tone(Tone::Worse));
        cells.resize(COLUMNS.len(), TableCell::muted(NOTHING));
        return cells;
    }
    let reached = match (one.contradicted, one.reached()) {
        (true, _) => TableCell::new("control failed").tone(Tone::Worse),
        (_, None) => TableCell::muted("not verified"),
        // Ordered by the promised tier, best first.
        (_, Some(tier)) => {
            let place = |tier| Tier::ALL.iter().position(|t| *t == tier);
            let promised = place(contender.tier);
            let tone = if promised.is_some() && place(tier) > promised { Tone::Worse } else { Tone::Plain };
            let better = place(tier) < promised;
            // A documented rare loss is not refuted by its absence.
            TableCell::new(tier.word()).tone(tone).small(if better { "in these images" } else { "" })
        }
    };
    let worst = Crashes::sum([&process, &power]);
    let lost =
        if worst.lossy > 0 { words::counted(worst.lost_commits_max as usize, "commit") } else { NOTHING.to_string() };
    let work = if worst.lossy > 0 { Ns(worst.lost_work_ns_max).to_string() } else { NOTHING.to_string() };
    vec![
        TableCell::new(&contender.label).series(one.contender),
        TableCell::new(contender.tier.word()),
        reached,
        rate(findings, condition, one.contender)
            .map_or(TableCell::new(NOTHING), |rate| TableCell::new(&rate.shown).small(rate.range())),
        cell(&process),
        cell(&power),
        TableCell::new(lost),
        TableCell::new(work),
        cell(&posix),
    ]
}

fn cell(crashes: &Crashes) -> TableCell {
    if crashes.count == 0 {
        return TableCell::muted("not verified");
    }
    let bad = crashes.bad();
    let mut kinds = vec![];
    let not_open = if crashes.unopenable == 1 { "does not open" } else { "do not open" };
    for (n, word) in [(crashes.lossy, "lossy"), (crashes.corrupt, "corrupt"), (crashes.unopenable, not_open)] {
        if n > 0 {
            kinds.push(format!("{} {word}", count(n)));
        }
    }
    let small = if bad == 0 { format!("< {}", share_max(crashes.count)) } else { kinds.join(", ") };
    let tone = if crashes.corrupt + crashes.unopenable > 0 { Tone::Worse } else { Tone::Plain };
    TableCell::new(format!("{} of {}", count(bad), count(crashes.count))).small(small).tone(tone)
}

/// Commit rate of each setting, grouped by the tier that it reached.
fn promise(findings: &Findings<'_>) -> Option<Section> {
    let mut blocks = vec![];
    for condition in conditions(findings) {
        let all = shown(findings, condition);
        let mut rows = vec![];
        let groups = Tier::ALL.into_iter().map(Some).chain([None]);
        for tier in groups {
            let bars: Vec<BarRow> = all
                .iter()
                .filter(|one| !one.contradicted && !one.found.is_empty() && one.reached() == tier)
                .filter_map(|one| Some((one, rate(findings, condition, one.contender)?)))
                .map(|(one, rate)| {
                    let label = words::label(findings, one.contender).to_string();
                    let tip = format!("{label}\n{}\n{}", rate.shown, rate.range());
                    let points = rate.rounds.iter().map(|(value, _)| *value).collect();
                    let (series, value, shown) = (one.contender, Some(rate.value), rate.shown);
                    BarRow::Bar(Bar { series, label, value, points, shown, tip, ..Bar::default() })
                })
                .collect();
            if bars.is_empty() {
                continue;
            }
            let (name, what) = match tier {
                Some(tier) => (format!("reached: {}", tier.word()), tier.promise().to_string()),
                None => ("not verified".to_string(), "no power was cut".to_string()),
            };
            rows.push(BarRow::Group(name, what));
            rows.extend(bars);
        }
        if !rows.is_empty() {
            blocks.push(Block::Bars(Bars {
                title: "Commits per second, by what is kept".to_string(),
                condition,
                rows,
            }));
        }
    }
    let text = "Commits per second on the ordinary disk, grouped by what was found to survive: bars end at the median of the \
                rounds, each dot is one round. All of them were measured before the first crash was made, in turns. The power \
                was cut on a recording file system, whose own speed is nowhere in this report.";
    (!blocks.is_empty()).then(|| Section {
        id: PROMISE,
        title: "Speed against promise".to_string(),
        blocks: [Block::Text(text.to_string())].into_iter().chain(blocks).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::recorded;
    use crate::results::PROCESS;

    fn crashes(model: &str, counts: [u64; 4]) -> Crashes {
        let namespace = if model == "kill" { "" } else { "journal" };
        Crashes {
            model: model.to_string(),
            namespace: namespace.to_string(),
            count: counts[0],
            lossy: counts[1],
            corrupt: counts[2],
            unopenable: counts[3],
            lost_commits_max: counts[1].min(7),
            lost_work_ns_max: 3_000_000,
            lost_commits: counts[1],
        }
    }

    fn said(found: &Powercut, contradicted: bool) -> String {
        sentence(&Shown { condition: 0, contender: 0, found: vec![(1, found.clone())], contradicted })
    }

    #[test]
    fn sentences_say_what_was_found_and_what_was_not_looked_for() {
        let clean = crashes("kill", [1000, 0, 0, 0]);
        let found = |power| Powercut { crashes: vec![clean.clone(), power], ..Powercut::default() };
        let durable = said(&found(crashes("drop", [3000, 0, 0, 0])), false);
        assert!(
            durable.contains("When the power goes: nothing is lost in 3,000 crashes (so in less than 0.1"),
            "{durable}"
        );
        let lossy = said(&found(crashes("drop", [3000, 1, 0, 0])), false);
        assert!(lossy.contains("one commit each time") && lossy.contains("never corrupt"), "{lossy}");
        let corrupt = said(&found(crashes("torn", [3000, 500, 20, 4])), false);
        assert!(corrupt.contains("up to 7 commits") && corrupt.contains("corrupt in 20"), "{corrupt}");
        assert!(corrupt.contains("impossible to open in 4") && !corrupt.contains("never"), "{corrupt}");
        let unverified = Powercut {
            not_verified: Some("no /dev/fuse".to_string()),
            crashes: vec![clean.clone()],
            ..Powercut::default()
        };
        assert!(said(&unverified, false).ends_with("When the power goes: not verified (no /dev/fuse)."));
        assert!(said(&unverified, true).starts_with("This run cannot tell"));
    }

    #[test]
    fn what_was_not_done_is_named() {
        let found = Powercut {
            not_killed: Some("prepare: it did not start".to_string()),
            log_full: true,
            entries: 9_000,
            acknowledged: 1_200,
            crashes: vec![crashes(PROCESS, [1, 0, 0, 0]), crashes("drop", [3000, 0, 0, 0])],
            ..Powercut::default()
        };
        let text = said(&found, false);
        assert!(text.contains("Not all real kills were made (prepare: it did not start)."), "{text}");
        assert!(text.contains("The log of the recorder was full"), "{text}");
        let found = Powercut { recorded_ns: 600_000_000, ..found };
        let cells = recorded(&found, 2, Some(1_000.0));
        let texts: Vec<&str> = cells.iter().map(|c| c.text.as_str()).collect();
        assert_eq!(texts, ["1,200", "0.500 x", "9,000", "0", "log full", "1 of 2"]);
        let whole = recorded(&Powercut { log_full: false, ..found.clone() }, 1, None);
        assert_eq!([1, 4, 5].map(|at| whole[at].text.as_str()), [NOTHING, "whole", "1 of 1"]);
        assert_eq!(recorded(&Powercut::default(), 0, None)[4].text, "nothing recorded");
    }
}
