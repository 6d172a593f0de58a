//! `crashes.csv`: one row per model and trial whose crashes count, so that users can compute the totals themselves.

use crate::findings::Survived;
use anyhow::{Context, Result};
use contend::analysis::Findings;

const FILE: &str = "crashes.csv";

/// Report files of this kind.
pub fn files(findings: &Findings<'_>) -> Result<Vec<(&'static str, String)>> {
    let Some(survived) = Survived::of(findings) else { return Ok(vec![]) };
    Ok(vec![(FILE, csv(findings, survived)?)])
}

fn csv(findings: &Findings<'_>, survived: &Survived) -> Result<String> {
    let mut writer = csv::Writer::from_writer(vec![]);
    writer.write_record([
        "trial",
        "contender",
        "label",
        "tier_promised",
        "model",
        "namespace",
        "crashes",
        "lossy",
        "corrupt",
        "unopenable",
        "lost_commits_max",
        "lost_work_ns_max",
        "lost_commits",
    ])?;
    let mut trials: Vec<_> = survived
        .shown
        .iter()
        .flat_map(|one| one.found.iter().map(|(trial, found)| (*trial, one.contender, found)))
        .collect();
    trials.sort_by_key(|(trial, ..)| *trial);
    for (trial, contender, found) in trials {
        let contender = &findings.study.contenders[contender];
        for c in &found.crashes {
            let numbers =
                [c.count, c.lossy, c.corrupt, c.unopenable, c.lost_commits_max, c.lost_work_ns_max, c.lost_commits];
            let words = [contender.name.as_str(), &contender.label, contender.tier.word(), &c.model, &c.namespace];
            let cells = [trial.to_string()].into_iter().chain(words.map(str::to_string));
            writer.write_record(cells.chain(numbers.map(|n| n.to_string())))?;
        }
    }
    let bytes = writer.into_inner().map_err(|e| e.into_error())?;
    String::from_utf8(bytes).context("CSV is text")
}
