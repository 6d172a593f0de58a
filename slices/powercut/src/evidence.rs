//! Proofs from runs, and how the tiers of any run are known. The file of proofs is in the directory of the results.

use crate::keys::CRASHES;
use crate::keys::Wanted;
use crate::results::{Crashes, Powercut};
use anyhow::Result;
use contend::engine::{self, Engine};
use contend::record::evidence::{CUTS_MIN, KnownTier, Proof, ProofResult, Proofs, Subject};
use contend::record::model::{Machine, Run, Trial};
use contend::study::model::Contender;
use contend_powercut::replay::MODELS_VERSION;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Built-in proofs, made on another machine.
const SHIPPED: &str = include_str!("../../../evidence/durability.toml");

/// Length of the day at the start of a timestamp.
const DAY_CHARS: usize = 10;

/// Path of this machine's proofs: next to the records, like loaded data.
fn path(out: &Path) -> PathBuf {
    out.parent().unwrap_or(out).join(".evidence").join("proofs.toml")
}

/// Checks that the file of proofs can be read, before a study spends time.
///
/// # Errors
/// The file is damaged.
pub fn readable(out: &Path) -> Result<()> {
    Proofs::read(&path(out)).map(drop)
}

/// How the tier of each contender is known so far.
///
/// # Errors
/// The file of proofs is damaged.
pub fn known(run: &Run, trials: &[Trial], out: &Path) -> Result<Vec<KnownTier>> {
    let (mut proofs, machine) = (Proofs::parse(SHIPPED)?, name(&run.machine));
    proofs.proof.extend(Proofs::read(&path(out))?.proof);
    let of = |(at, contender): (usize, &Contender)| {
        let subject = subject(contender, trials.iter().filter(|trial| trial.slot.contender == at));
        proofs.of(at, subject.as_ref(), &machine, MODELS_VERSION)
    };
    Ok(run.study.contenders.iter().enumerate().map(of).collect())
}

/// Adds the proofs of a run to the file, if there are any.
///
/// # Errors
/// The file is damaged or cannot be written.
pub fn keep(run: &Run, trials: &[Trial], out: &Path) -> Result<()> {
    let found = proved(run, trials);
    if found.is_empty() {
        return Ok(());
    }
    let path = path(out);
    let mut proofs = Proofs::read(&path)?;
    found.into_iter().for_each(|proof| proofs.add(proof));
    proofs.write(&path)
}

/// Proofs of a run: for contenders with all kinds of power cuts in valid trials.
pub fn proved(run: &Run, trials: &[Trial]) -> Vec<Proof> {
    let of = |(at, contender): (usize, &Contender)| {
        let mine = trials.iter().filter(|trial| trial.slot.contender == at && trial.has_sequel(&run.study));
        let mine: Vec<&Trial> = mine.collect();
        let subject = subject(contender, mine.iter().copied())?;
        let found = all_cut(&mine)?;
        let sum = |of: fn(&Powercut) -> Crashes| found.iter().map(|found| of(found).count).sum::<u64>();
        let found = ProofResult {
            reached: found.iter().filter_map(|found| found.reached()).min()?,
            power: sum(Powercut::power),
            posix: sum(Powercut::posix),
            process: sum(Powercut::process),
            one_process: found.iter().any(|found| found.by_vfs.is_some()),
            models: MODELS_VERSION,
            date: run.started.chars().take(DAY_CHARS).collect(),
            contend: run.contend.clone(),
            machine: name(&run.machine),
        };
        (found.power >= CUTS_MIN).then_some(Proof { found, subject })
    };
    // Cuts at chosen moments prove nothing about other moments.
    let at_all_moments = Wanted::of(&run.study).is_some_and(|wanted| wanted.aim.is_none());
    run.study.contenders.iter().enumerate().filter(|_| at_all_moments).filter_map(of).collect()
}

/// The crashes of these trials, if every trial counts, has a tier, and was cut under every current model.
fn all_cut(trials: &[&Trial]) -> Option<Vec<Powercut>> {
    let with_all_models = |found: &Powercut| {
        let has = |model: &&str| found.crashes.iter().any(|crashes| crashes.model == *model);
        found.models_version == MODELS_VERSION && found.reached().is_some() && CRASHES.iter().all(has)
    };
    let cut = |trial: &&Trial| Powercut::of(trial).filter(with_all_models).filter(|_| trial.invalid.is_empty());
    trials.iter().map(cut).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// The subject of a proof of this contender; `None` if its trials report no version, or several.
fn subject<'t>(contender: &Contender, trials: impl Iterator<Item = &'t Trial>) -> Option<Subject> {
    let engine = engine::find(&contender.engine)?;
    // Settings that were not applied belong to another engine.
    if engine::driver(contender).is_none_or(|driver| driver.executes_nothing) || engine::as_it_comes(contender) {
        return None;
    }
    let embedded = engine.server.is_none();
    let mut versions: Vec<String> = trials.map(|trial| version(trial, embedded)).collect::<Option<_>>()?;
    versions.dedup();
    let [version] = versions.as_slice() else { return None };
    Some(Subject {
        engine: engine.name.to_string(),
        version: version.clone(),
        driver: if embedded { contender.driver.clone() } else { String::new() },
        settings: deciding(engine, contender),
    })
}

/// The values of all settings that decide what survives.
fn deciding(engine: &Engine, contender: &Contender) -> BTreeMap<String, String> {
    let value = |name: &&str| ((*name).to_string(), engine.value(&contender.settings, name).to_string());
    engine.durability.keeps.iter().map(value).collect()
}

/// Version that the engine reported in a trial; `None` for a server that contend did not start, because not all its
/// settings are known.
fn version(trial: &Trial, embedded: bool) -> Option<String> {
    match (&trial.server, embedded) {
        (None, true) => trial.workers.first()?.hello.get("engine").cloned(),
        (Some(serving), true) => serving.hello.get("engine").cloned(),
        (Some(server), false) => server.cpu_ns.map(|_| server.version.clone()),
        (None, false) => None,
    }
}

/// Identifies a machine, for comparison with later runs.
fn name(machine: &Machine) -> String {
    format!("{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel)
}

/// The file of built-in proofs, made from records.
///
/// # Errors
/// It cannot be written as TOML.
pub fn shipped<'r>(records: impl IntoIterator<Item = (&'r Run, &'r [Trial])>) -> Result<String> {
    let mut proofs = Proofs::default();
    for proof in records.into_iter().flat_map(|(run, trials)| proved(run, trials)) {
        let found = ProofResult { machine: String::new(), ..proof.found };
        proofs.add(Proof { found, ..proof });
    }
    proofs.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend::study::model::{Extent, Variant};
    use contend::study::{self, Choices};

    #[test]
    fn what_contend_brings_along_is_of_the_models_of_today() {
        let proofs = Proofs::parse(SHIPPED).expect("a file of proofs").proof;
        assert!(!proofs.is_empty());
        let outdated: Vec<_> = proofs.iter().filter(|proof| proof.found.models != MODELS_VERSION).collect();
        assert!(outdated.is_empty(), "run the study again (docs/study-durability.md): {outdated:?}");
    }

    #[test]
    fn what_contend_brings_along_has_every_setting_of_the_quick_study_and_no_other_of_it() {
        contend::slice::register(&[crate::SLICE]);
        let proofs = Proofs::parse(SHIPPED).expect("a file of proofs").proof;
        let source = study::LIBRARY.find("durability").expect("embedded");
        let of = |extent| study::resolve(&source, &Choices::new(Variant::Corrected, extent)).expect("a study");
        let settings = |extent| {
            let of_one = |c: &Contender| {
                let engine = engine::find(&c.engine).expect("an engine");
                (engine.name.to_string(), deciding(engine, c))
            };
            of(extent).contenders.iter().map(of_one).collect::<Vec<_>>()
        };
        let proved: Vec<_> = proofs.iter().map(|p| (p.subject.engine.clone(), p.subject.settings.clone())).collect();
        let run_again = "run the study again (docs/study-durability.md)";
        for one in settings(Extent::Quick) {
            assert!(proved.contains(&one), "{run_again}: nothing is proved of {one:?}");
        }
        for one in &proved {
            assert!(settings(Extent::Full).contains(one), "{run_again}: the study has no such settings: {one:?}");
        }
    }
}
