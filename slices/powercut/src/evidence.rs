//! Proofs from runs, and how the tiers of any run are known. The file of proofs is in the directory of the results.

use crate::keys::CRASHES;
use crate::keys::Wanted;
use crate::results::{Crashes, Powercut};
use anyhow::Result;
use contend::engine::{self, Engine};
use contend::record::evidence::{CUTS_MIN, KnownTier, Proof, ProofOrigin, ProofResult, Proofs, Subject};
use contend::record::model::{Machine, Program, Run, Trial};
use contend::record::parts::StudyRecord;
use contend::record::store::Record;
use contend::study::model::{Contender, Tier};
use contend_powercut::replay::MODELS_VERSION;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Built-in proofs, made on another machine.
const SHIPPED: &str = include_str!("../../../evidence/durability.toml");

/// File systems that persist names in order, as the images of a tier assume.
const ORDERED: [&str; 2] = ["ext4", "xfs"];

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
    let (built_in, kept, machine) = (Proofs::parse(SHIPPED)?, Proofs::read(&path(out))?, name(&run.machine));
    let of = |(at, contender): (usize, &Contender)| {
        let subject = subject(run, contender, trials.iter().filter(|trial| trial.slot.contender == at));
        let kept = kept.of(at, subject.as_ref(), &machine, MODELS_VERSION);
        let known = match shown(kept, subject.as_ref(), out) {
            known if matches!(known.place, ProofOrigin::Here | ProofOrigin::Elsewhere) => known,
            known => {
                // Built-in proofs are of contend's own workers, whatever their build.
                let subject = subject.filter(|_| contender.worker.is_none());
                let subject = subject.map(|subject| Subject { worker: String::new(), ..subject });
                let built_in = built_in.of(at, subject.as_ref(), &machine, MODELS_VERSION);
                if built_in.place == ProofOrigin::Documented { known } else { built_in }
            }
        };
        on_file_system(known, contender.tier, &run.disk.file_system)
    };
    Ok(run.study.contenders.iter().enumerate().map(of).collect())
}

/// A kept proof, which is only reported if the record that it names does not show it.
fn shown(known: KnownTier, subject: Option<&Subject>, out: &Path) -> KnownTier {
    let shows = |name: &String| {
        let mut parts = Path::new(name).components();
        let is_name = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
        let record = StudyRecord::open(&out.parent().unwrap_or(out).join(name)).ok().filter(|_| is_name);
        let is_same = |proof: &Proof| Some(&proof.subject) == subject && Some(&proof.found) == known.found.as_ref();
        let shows = |part: &Record| proved(&part.run, &part.trials).iter().any(is_same);
        record.is_some_and(|record| record.parts.iter().any(|(_, part)| shows(part)))
    };
    match known.place {
        ProofOrigin::Documented => known,
        _ if known.record.as_ref().is_some_and(shows) => known,
        _ => KnownTier { place: ProofOrigin::Reported, ..known },
    }
}

/// A tier that was proved only for ordered names is not proved on other file systems. A contradiction stays.
fn on_file_system(known: KnownTier, tier: Tier, file_system: &str) -> KnownTier {
    // What was not tried without the order of names is not known there.
    let is_ordered = |found: &ProofResult| found.posix_bad > 0 || found.posix < CUTS_MIN;
    let fails = |found: &ProofResult| is_ordered(found) && found.reached >= tier;
    match known.found.as_ref().is_some_and(fails) && !ORDERED.contains(&file_system) {
        true => KnownTier { place: ProofOrigin::Documented, found: None, version: None, record: None, ..known },
        false => known,
    }
}

/// Adds the proofs of a run to the file, if there are any.
///
/// # Errors
/// The file is damaged or cannot be written.
pub fn keep(run: &Run, trials: &[Trial], out: &Path) -> Result<()> {
    let record = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // On a server, the build that a contender names could report commits as it likes, and the proof would hold for all workers.
    let named: Vec<String> = run.study.contenders.iter().filter_map(|contender| contender.worker.clone()).collect();
    let mut found = proved(run, trials);
    found.retain(|proof| !proof.subject.worker.is_empty() || proof.subject.driver.is_empty() && named.is_empty());
    if found.is_empty() {
        return Ok(());
    }
    let path = path(out);
    let mut proofs = Proofs::read(&path)?;
    found.into_iter().for_each(|proof| proofs.add(Proof { record: record.clone(), ..proof }));
    proofs.write(&path)
}

/// Proofs of a run: for contenders with all kinds of power cuts in valid trials.
pub fn proved(run: &Run, trials: &[Trial]) -> Vec<Proof> {
    let of = |(at, contender): (usize, &Contender)| {
        let mine = trials.iter().filter(|trial| trial.slot.contender == at && trial.has_sequel(&run.study));
        let mine: Vec<&Trial> = mine.collect();
        let subject = subject(run, contender, mine.iter().copied())?;
        let found = all_cut(&mine, contender.tier)?;
        let sum = |of: fn(&Powercut) -> Crashes| found.iter().map(|found| of(found).count).sum::<u64>();
        let reached = found.iter().filter_map(|found| found.reached()).min()?;
        let found = ProofResult {
            reached,
            power: sum(Powercut::power),
            posix: sum(Powercut::posix),
            posix_bad: found.iter().map(|found| below(reached, &found.posix())).sum(),
            process: sum(Powercut::process),
            one_process: found.iter().any(|found| found.by_vfs.is_some()),
            models: MODELS_VERSION,
            date: run.started.chars().take(DAY_CHARS).collect(),
            contend: run.contend.clone(),
            machine: name(&run.machine),
        };
        (found.power >= CUTS_MIN).then_some(Proof { found, record: String::new(), subject })
    };
    // Cuts at chosen moments prove nothing about other moments.
    let at_all_moments = Wanted::of(&run.study).is_some_and(|wanted| wanted.aim.is_none());
    run.study.contenders.iter().enumerate().filter(|_| at_all_moments).filter_map(of).collect()
}

/// Crashes that left less than a tier allows.
fn below(tier: Tier, crashes: &Crashes) -> u64 {
    match tier {
        Tier::Durable => crashes.bad(),
        Tier::Bounded => crashes.corrupt + crashes.unopenable,
        Tier::Unsafe | Tier::Unknown => 0,
    }
}

/// The crashes of these trials, if every trial counts, has a tier, and was cut under every current model. Where nothing
/// was lost, a planted fault must have been found: otherwise the images could not show a loss.
fn all_cut(trials: &[&Trial], promised: Tier) -> Option<Vec<Powercut>> {
    let with_all_models = |found: &Powercut| {
        let has = |model: &&str| found.crashes.iter().any(|crashes| crashes.model == *model);
        found.models_version == MODELS_VERSION && found.reached().is_some() && CRASHES.iter().all(has)
    };
    // Faults are planted only for settings that promise to lose nothing; no other is proved durable.
    let shows_loss = |found: &Powercut| {
        let caught = || found.lies.iter().any(|lie| lie.must && lie.caught);
        promised != Tier::Durable || found.reached() != Some(Tier::Durable) || caught()
    };
    let counts = |found: &Powercut| with_all_models(found) && shows_loss(found);
    let cut = |trial: &&Trial| Powercut::of(trial).filter(counts).filter(|_| trial.invalid.is_empty());
    trials.iter().map(cut).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

/// The subject of a proof of this contender; `None` if its trials report no version, or several.
fn subject<'t>(run: &Run, contender: &Contender, trials: impl Iterator<Item = &'t Trial>) -> Option<Subject> {
    let engine = engine::find(&contender.engine)?;
    // Settings that were not applied belong to another engine.
    if engine::driver(contender).is_none_or(|driver| driver.executes_nothing) || engine::as_it_comes(contender) {
        return None;
    }
    let embedded = engine.server.is_none();
    let mut versions: Vec<String> = trials.map(|trial| version(trial, embedded)).collect::<Option<_>>()?;
    versions.dedup();
    let [version] = versions.as_slice() else { return None };
    let is_its = |program: &&Program| program.driver == contender.driver && program.worker == contender.worker;
    let worker = run.programs.iter().find(is_its).map(|program| program.sha256.clone());
    Some(Subject {
        engine: engine.name.to_string(),
        version: version.clone(),
        driver: if embedded { contender.driver.clone() } else { String::new() },
        worker: worker.filter(|_| embedded).unwrap_or_default(),
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
        proofs.add(Proof { found, record: String::new(), subject: Subject { worker: String::new(), ..proof.subject } });
    }
    proofs.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NAME;
    use crate::results::Lie;
    use contend::record::store::Record;
    use contend::study::model::{Extent, Variant};
    use contend::study::{self, Choices};

    #[test]
    fn a_setting_that_promises_to_lose_nothing_is_proved_only_if_a_loss_would_be_seen() {
        contend::slice::register(&[crate::SLICE]);
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/records/format-3");
        let mut trial = Record::open(&dir).expect("a fixture").trials.remove(0);
        trial.invalid.clear();
        let mut proves = |lies: &[(bool, bool)], promised| {
            let crashes = |model: &&str| Crashes {
                model: (*model).to_string(),
                namespace: "journal".to_string(),
                count: 100,
                ..Crashes::default()
            };
            let lie =
                |(must, caught): &(bool, bool)| Lie { name: String::new(), images: 1, caught: *caught, must: *must };
            let found = Powercut {
                models_version: MODELS_VERSION,
                crashes: CRASHES.iter().map(crashes).collect(),
                lies: lies.iter().map(lie).collect(),
                ..Powercut::default()
            };
            trial.kinds.put(NAME, &found).expect("results");
            all_cut(&[&trial], promised).is_some()
        };
        assert!(proves(&[(false, false), (true, true)], Tier::Durable));
        for lies in [&[][..], &[(true, false), (false, true)]] {
            assert!(!proves(lies, Tier::Durable), "{lies:?}");
            assert!(proves(lies, Tier::Unsafe), "no faults are planted for it");
        }
    }

    #[test]
    fn a_tier_that_needs_ordered_names_is_proved_only_where_names_are_ordered() {
        let place = |tier, posix_bad, file_system| {
            let mut found = Proofs::parse(SHIPPED).expect("a file of proofs").proof.remove(0).found;
            (found.reached, found.posix_bad) = (Tier::Bounded, posix_bad);
            let known = KnownTier {
                contender: 0,
                place: ProofOrigin::Elsewhere,
                found: Some(found),
                version: Some("1".into()),
                record: None,
            };
            let known = on_file_system(known, tier, file_system);
            assert_eq!(known.found.is_some(), known.place != ProofOrigin::Documented);
            known.place
        };
        for file_system in ["ext4", "xfs"] {
            assert_eq!(place(Tier::Bounded, 19, file_system), ProofOrigin::Elsewhere);
        }
        assert_eq!(place(Tier::Bounded, 19, "btrfs"), ProofOrigin::Documented);
        assert_eq!(place(Tier::Bounded, 0, "btrfs"), ProofOrigin::Elsewhere);
        assert_eq!(place(Tier::Durable, 19, "btrfs"), ProofOrigin::Elsewhere, "a contradiction stays");
        let crashes = Crashes { lossy: 9, corrupt: 1, unopenable: 19, ..Crashes::default() };
        let tiers = [Tier::Durable, Tier::Bounded, Tier::Unsafe];
        assert_eq!(tiers.map(|tier| below(tier, &crashes)), [29, 20, 0], "a loss is no failure of a bounded setting");
    }

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
