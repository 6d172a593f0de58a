//! How tiers are known, in words: proved on this machine, proved elsewhere, or only documented.

use crate::analysis::Findings;
use crate::analysis::circumstances::{Evidence, Place};
use crate::analysis::plain::Tier;
use crate::report::content::words::{self, count};
use crate::report::document::{Cell as TableCell, Tone};
use crate::stats::precision::Percent;
use std::cmp::Ordering;

/// The largest share of failures, with 95 % confidence, if none of this many crashes failed: the rule of three. It is rounded up to
/// what is printed, tenths of a percent.
pub fn share_max(crashes: u64) -> Percent {
    Percent((3000u64.div_ceil(crashes.max(1)) as f64 / 1000.0).min(1.0))
}

/// How one tier is known.
struct Said {
    /// Word for tables.
    word: &'static str,
    /// The proof it rests on, in small print.
    rests_on: String,
    tone: Tone,
}

fn said(tier: Tier, evidence: Option<&Evidence<'_>>) -> Said {
    let documented = Said { word: "only documented", rests_on: String::new(), tone: Tone::Plain };
    let Some(found) = evidence else { return documented };
    let recorded = if found.one_process { " of one process" } else { "" };
    let cuts = format!("{} simulated power cuts{recorded}", count(found.cuts));
    let mut source = format!("{}, {}", found.version, found.date);
    let (proved, place) = match found.place {
        Place::Here("") => ("proved here", "here"),
        Place::Here(record) => {
            source += &format!(", record {record}");
            ("proved here", "here")
        }
        Place::Elsewhere => ("proved elsewhere", "elsewhere"),
        Place::Reported(record) => return Said { rests_on: reported(found, &cuts, record), ..REPORTED },
    };
    let below = share_max(found.cuts);
    // Weaker tiers are smaller.
    match found.reached.cmp(&tier) {
        Ordering::Equal => {
            let none = format!("0 of {cuts} left less, so below {below}");
            let cuts = if tier == Tier::Unsafe { cuts } else { none + &without_ordered_names(found) };
            Said { word: proved, rests_on: format!("{cuts}; {source}"), tone: Tone::Plain }
        }
        Ordering::Greater => {
            Said { rests_on: format!("not seen {place} in {cuts}, so below {below}; {source}"), ..documented }
        }
        Ordering::Less => Said {
            word: "contradicted",
            rests_on: format!("only {} {place} in {cuts}; {source}", found.reached),
            tone: Tone::Worse,
        },
    }
}

const REPORTED: Said = Said { word: "reported by a file", rests_on: String::new(), tone: Tone::Plain };

/// A proof that its record does not show.
fn reported(found: &Evidence<'_>, cuts: &str, record: &str) -> String {
    let why = match record {
        "" => "names no record".to_string(),
        record => format!("names the record {record}, which is not there or does not show it"),
    };
    format!("{} in {cuts}, says .evidence/proofs.toml, which {why}", found.reached)
}

fn without_ordered_names(found: &Evidence<'_>) -> String {
    match found.posix {
        [_, 0] => String::new(),
        [cuts, bad] => format!("; on file systems without ordered names {} of {} left less", count(bad), count(cuts)),
    }
}

/// How a contender's tier is known, for tables.
pub fn cell(findings: &Findings<'_>, contender: usize) -> TableCell {
    let tier = findings.study.contenders[contender].tier;
    if tier == Tier::Unknown {
        return TableCell::muted(words::NOTHING);
    }
    let said = said(tier, findings.circumstances.evidence(contender));
    TableCell::new(said.word).small(said.rests_on).tone(said.tone)
}

/// How a contender's tier is known, for CSV: a word and the number of power cuts.
pub fn plain(findings: &Findings<'_>, contender: usize) -> (&'static str, Option<u64>) {
    let tier = findings.study.contenders[contender].tier;
    if tier == Tier::Unknown {
        return (tier.word(), None);
    }
    match findings.circumstances.evidence(contender).filter(|found| found.reached == tier) {
        Some(found) => match found.place {
            Place::Here(_) => ("proved-here", Some(found.cuts)),
            Place::Elsewhere => ("proved-elsewhere", Some(found.cuts)),
            Place::Reported(_) => ("reported", Some(found.cuts)),
        },
        None => ("documented", None),
    }
}

/// One sentence about all contenders that promise something, below the first table.
pub fn sentence(findings: &Findings<'_>) -> Option<String> {
    let contenders = &findings.study.contenders;
    let mut groups: Vec<(&'static str, Vec<&str>)> = vec![];
    for (at, contender) in contenders.iter().enumerate().filter(|(_, contender)| contender.tier != Tier::Unknown) {
        let word = said(contender.tier, findings.circumstances.evidence(at)).word;
        let label = words::label(findings, at);
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((word, vec![label])),
        }
    }
    if groups.is_empty() {
        return None;
    }
    let all = groups.len() == 1;
    let parts: Vec<String> = groups
        .iter()
        .map(|(word, labels)| if all { (*word).to_string() } else { format!("{word}: {}", words::labels(labels)) })
        .collect();
    let how = "by simulated power cuts, which do not test the disk; see the settings below";
    Some(format!("How the tiers are known ({how}): {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(place: Place<'static>, reached: Tier) -> Evidence<'static> {
        let (version, date) = ("Engine 1.2", "2026-11-21");
        Evidence { place, reached, cuts: 2222, posix: [2222, 0], one_process: false, version, date }
    }

    #[test]
    fn a_tier_is_proved_only_by_images_that_reached_that_tier() {
        let words = |tier, evidence: Option<&Evidence<'_>>| {
            let said = said(tier, evidence);
            format!("{}: {}", said.word, said.rests_on)
        };
        assert_eq!(words(Tier::Durable, None), "only documented: ");
        let here = found(Place::Here("r"), Tier::Durable);
        assert_eq!(
            words(Tier::Durable, Some(&here)),
            "proved here: 0 of 2,222 simulated power cuts left less, so below 0.2 %; Engine 1.2, 2026-11-21, record r"
        );
        let alone = Evidence { one_process: true, ..found(Place::Here("r"), Tier::Durable) };
        assert!(words(Tier::Durable, Some(&alone)).contains("0 of 2,222 simulated power cuts of one process left"));
        let unordered = Evidence { cuts: 44, posix: [44, 19], ..found(Place::Here("r"), Tier::Durable) };
        assert!(words(Tier::Durable, Some(&unordered)).contains(
            "0 of 44 simulated power cuts left less, so below 6.9 %; on file systems without ordered names 19 of 44 left less; "
        ));
        assert_eq!(
            words(Tier::Unsafe, Some(&here)),
            "only documented: not seen here in 2,222 simulated power cuts, so below 0.2 %; Engine 1.2, 2026-11-21, record r"
        );
        let elsewhere = found(Place::Elsewhere, Tier::Bounded);
        assert!(words(Tier::Bounded, Some(&elsewhere)).starts_with("proved elsewhere: 0 of 2,222"));
        assert!(words(Tier::Durable, Some(&elsewhere)).starts_with("contradicted: only bounded elsewhere"));
        let forged = Evidence { cuts: 999_999, ..found(Place::Reported("r"), Tier::Durable) };
        for tier in [Tier::Durable, Tier::Bounded, Tier::Unsafe] {
            assert_eq!(
                words(tier, Some(&forged)),
                "reported by a file: durable in 999,999 simulated power cuts, says .evidence/proofs.toml, which names the record r, \
                 which is not there or does not show it"
            );
        }
        let lost = found(Place::Here("r"), Tier::Unsafe);
        assert!(words(Tier::Unsafe, Some(&lost)).starts_with("proved here: 2,222 simulated power cuts; "));
    }
}
