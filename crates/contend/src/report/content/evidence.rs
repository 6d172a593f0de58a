//! How tiers are known, in words: proved on this machine, proved elsewhere, or only documented.

use crate::analysis::Findings;
use crate::analysis::plain::Tier;
use crate::analysis::plain::{Known, Place};
use crate::report::content::words::{self, count};
use crate::report::document::{Cell as TableCell, Tone};

/// What is known of a contender's tier; a record that does not say has nothing but documentation.
fn of<'s>(findings: &'s Findings<'_>, contender: usize) -> Option<&'s Known> {
    findings.run.tiers.iter().find(|known| known.contender == contender)
}

/// How one tier is known.
struct Said {
    /// Stands alone in a table.
    word: &'static str,
    /// Small print: what it rests on.
    rests_on: String,
    tone: Tone,
}

fn said(tier: Tier, known: Option<&Known>) -> Said {
    let documented = Said { word: "only documented", rests_on: String::new(), tone: Tone::Plain };
    let Some((known, found)) = known.and_then(|known| Some((known, known.found.as_ref()?))) else { return documented };
    let version = known.version.as_deref().unwrap_or_default();
    let recorded = if found.one_process { " of one process" } else { "" };
    let cuts = format!("{} power cuts{recorded}, {version}, {}", count(found.power), found.date);
    let (proved, place) = match known.place {
        Place::Here => ("proved here", "here"),
        Place::Elsewhere => ("proved elsewhere", "elsewhere"),
        Place::Documented => return documented,
    };
    // Tiers are ordered with what keeps less first.
    match found.reached.cmp(&tier) {
        std::cmp::Ordering::Equal => Said { word: proved, rests_on: cuts, tone: Tone::Plain },
        std::cmp::Ordering::Greater => Said { rests_on: format!("not seen {place} in {cuts}"), ..documented },
        std::cmp::Ordering::Less => Said {
            word: "contradicted",
            rests_on: format!("only {} {place} in {cuts}", found.reached),
            tone: Tone::Worse,
        },
    }
}

/// For tables.
pub fn cell(findings: &Findings<'_>, contender: usize) -> TableCell {
    let tier = findings.run.study.contenders[contender].tier;
    if tier == Tier::Unknown {
        return TableCell::muted(words::NOTHING);
    }
    let said = said(tier, of(findings, contender));
    TableCell::new(said.word).small(said.rests_on).tone(said.tone)
}

/// For numbers as CSV: the word of where it was proved, and how many power cuts that rests on.
pub fn plain(findings: &Findings<'_>, contender: usize) -> (&'static str, Option<u64>) {
    let tier = findings.run.study.contenders[contender].tier;
    if tier == Tier::Unknown {
        return (tier.word(), None);
    }
    let known = of(findings, contender).and_then(|known| Some((known.place, known.found.as_ref()?)));
    match known.filter(|(_, found)| found.reached == tier) {
        Some((place, found)) => (place.word(), Some(found.power)),
        None => (Place::Documented.word(), None),
    }
}

/// One sentence about all contenders that promise something, below the first table.
pub fn sentence(findings: &Findings<'_>) -> Option<String> {
    let contenders = &findings.run.study.contenders;
    let mut groups: Vec<(&'static str, Vec<&str>)> = vec![];
    for (at, contender) in contenders.iter().enumerate().filter(|(_, contender)| contender.tier != Tier::Unknown) {
        let word = said(contender.tier, of(findings, at)).word;
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
    Some(format!("How the tiers are known (by cutting the power, see the settings below): {}.", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::plain::Found;

    fn known(place: Place, reached: Tier) -> Known {
        let found = Found {
            reached,
            power: 2222,
            posix: 1,
            process: 1,
            one_process: false,
            models: 1,
            date: "2026-11-21".to_string(),
            contend: "0.1.0".to_string(),
            machine: String::new(),
        };
        Known { contender: 0, place, found: Some(found), version: Some("Engine 1.2".to_string()) }
    }

    #[test]
    fn a_tier_is_proved_only_by_images_that_reached_that_tier() {
        let words = |tier, known: Option<&Known>| {
            let said = said(tier, known);
            format!("{}: {}", said.word, said.rests_on)
        };
        assert_eq!(words(Tier::Durable, None), "only documented: ");
        let here = known(Place::Here, Tier::Durable);
        assert_eq!(words(Tier::Durable, Some(&here)), "proved here: 2,222 power cuts, Engine 1.2, 2026-11-21");
        let mut alone = here.clone();
        alone.found.as_mut().expect("it was found").one_process = true;
        assert!(words(Tier::Durable, Some(&alone)).starts_with("proved here: 2,222 power cuts of one process"));
        assert!(words(Tier::Unsafe, Some(&here)).starts_with("only documented: not seen here in 2,222"));
        let elsewhere = known(Place::Elsewhere, Tier::Bounded);
        assert!(words(Tier::Bounded, Some(&elsewhere)).starts_with("proved elsewhere: 2,222"));
        assert!(words(Tier::Durable, Some(&elsewhere)).starts_with("contradicted: only bounded elsewhere"));
    }
}
