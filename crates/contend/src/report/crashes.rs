//! `crashes.csv`: one row per model and trial whose crashes count, for users who want to count again.

use crate::analysis::Findings;
use crate::outcome::reason::crashes_count;
use anyhow::{Context, Result};

/// The file; nothing for a study without crashes.
pub fn csv(findings: &Findings<'_>) -> Result<Option<String>> {
    let study = &findings.run.study;
    if study.powercut.is_none() {
        return Ok(None);
    }
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
    for trial in findings.trials.iter().filter(|trial| crashes_count(&trial.invalid)) {
        let Some(contender) = study.contenders.get(trial.slot.contender) else { continue };
        for c in trial.powercut.iter().flat_map(|found| &found.crashes) {
            let numbers =
                [c.count, c.lossy, c.corrupt, c.unopenable, c.lost_commits_max, c.lost_work_ns_max, c.lost_commits];
            let words = [contender.name.as_str(), &contender.label, contender.tier.word(), &c.model, &c.namespace];
            let cells = [trial.slot.trial.to_string()].into_iter().chain(words.map(str::to_string));
            writer.write_record(cells.chain(numbers.map(|n| n.to_string())))?;
        }
    }
    let bytes = writer.into_inner().map_err(|e| e.into_error())?;
    Ok(Some(String::from_utf8(bytes).context("CSV is text")?))
}
