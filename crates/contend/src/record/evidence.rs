//! How a tier is known: from power cuts on this machine or elsewhere, or from documentation alone. A proof concerns one version
//! of an engine with the settings that decide what survives, and nothing else.

use crate::record::seal::{self, Seal};
use crate::study::model::Tier;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Power cuts that a proof needs, and that must show a documented loss: no loss in 40 cuts bounds the share of losses at 7.5 %.
pub const CUTS_MIN: u64 = 40;

/// First lines of the file.
const HEAD: &str =
    "# What cutting the power has shown of each setting. Written by contend; docs/study-durability.md explains it.\n\n";

/// Subject of a proof.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Name of the engine.
    pub engine: String,
    /// Version that the engine reports.
    pub version: String,
    /// Driver, if the database is part of the client's process; else absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// SHA-256 of the worker's program with this driver, as in `programs` of `run.toml`; absent without a driver, and in the
    /// proofs that are part of contend, which hold for contend's own workers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worker: String,
    /// Settings that decide what survives, defaults included.
    pub settings: BTreeMap<String, String>,
}

/// Result of the power cuts of a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofResult {
    /// Tier that the images show.
    pub reached: Tier,
    /// Power cuts on a file system that keeps names in order.
    pub power: u64,
    /// Power cuts on a file system that does not.
    pub posix: u64,
    /// Power cuts of these that left less than the tier allows.
    #[serde(default)]
    pub posix_bad: u64,
    /// Crashes of the process.
    pub process: u64,
    /// Whether SQLite's VFS recorded one process because no file system could be mounted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_process: bool,
    /// Version of the models.
    pub models: u32,
    /// Day, UTC.
    pub date: String,
    /// Version of contend.
    pub contend: String,
    /// Processor, cores and kernel; absent in the proofs that are part of contend.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    #[serde(flatten)]
    pub found: ProofResult,
    /// Directory of the record that shows it, next to that of the file; absent in the proofs that are part of contend.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub record: String,
    pub subject: Subject,
}

/// A file of proofs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proofs {
    #[serde(default)]
    pub proof: Vec<Proof>,
}

/// How the tier of a contender is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTier {
    /// Position of the contender in the study.
    pub contender: usize,
    /// Where it was proved: `here`, `elsewhere`, `reported` by a file whose record does not show it, or `documented` if nowhere.
    #[serde(rename = "where")]
    pub place: ProofOrigin,
    /// Result of the proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<ProofResult>,
    /// Version of the engine in the proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Directory of the record that shows it, or that was expected to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// Where a tier was proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofOrigin {
    Here,
    Elsewhere,
    /// In a file of proofs, and not in its record.
    Reported,
    /// Proved nowhere.
    Documented,
}

impl Proofs {
    /// Reads a file; no proofs if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or was changed.
    pub fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => {
                let remove = "remove it, and tiers are documented until the power is cut again";
                let (seal, own) = seal::of(seal::TOML, &text);
                if seal == Seal::Broken {
                    bail!("{} {}; {remove}", path.display(), seal::WAS_CHANGED);
                }
                Self::parse(own).with_context(|| format!("{} is damaged; {remove}", path.display()))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(e).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text is not a file of proofs.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// The proofs cannot be written as TOML.
    pub fn text(&self) -> Result<String> {
        Ok(format!("{HEAD}{}", toml::to_string(self)?))
    }

    /// Replaces the file as a whole, with its seal.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let wrong = || format!("cannot write {}, which keeps the evidence of power cuts", path.display());
        let aside = path.with_extension(format!("{}.partial", std::process::id()));
        fs::create_dir_all(path.parent().unwrap_or(path)).with_context(wrong)?;
        fs::write(&aside, seal::sealed(seal::TOML, &self.text()?)).with_context(wrong)?;
        fs::rename(&aside, path).with_context(wrong)
    }

    /// Adds a proof. Of two with the same subject and machine the one with the lower tier stays: a loss was seen once. Of equal
    /// tiers one with failures of unordered names stays, then one that tried them often enough, then the one with more power cuts, then
    /// the later.
    pub fn add(&mut self, new: Proof) {
        let same = |old: &Proof| old.subject == new.subject && old.found.machine == new.found.machine;
        let rank = |found: &ProofResult| {
            let tries_names = found.posix >= CUTS_MIN;
            let by_cuts = (found.posix_bad == 0, !tries_names, std::cmp::Reverse(found.power));
            (std::cmp::Reverse(found.models), found.reached, by_cuts)
        };
        match self.proof.iter_mut().find(|old| same(old)) {
            // Lower tiers are less.
            Some(old) if rank(&new.found) <= rank(&old.found) => *old = new,
            Some(_) => {}
            None => self.proof.push(new),
        }
        self.proof.sort_by(|a, b| (&a.subject, &a.found.machine).cmp(&(&b.subject, &b.found.machine)));
    }

    /// How the tier of a subject is known on this machine.
    pub fn of(&self, contender: usize, subject: Option<&Subject>, machine: &str, models: u32) -> KnownTier {
        let is_proof = |proof: &&Proof| {
            Some(&proof.subject) == subject && proof.found.models == models && proof.found.power >= CUTS_MIN
        };
        let (mut here, mut elsewhere) = (None, None);
        for proof in self.proof.iter().filter(is_proof) {
            let known: &mut Option<&Proof> = if proof.found.machine == machine { &mut here } else { &mut elsewhere };
            // A loss was seen once. Lower tiers are less.
            if known.is_none_or(|kept| proof.found.reached < kept.found.reached) {
                *known = Some(proof);
            }
        }
        let place = match (here, elsewhere) {
            (Some(_), _) => ProofOrigin::Here,
            (None, Some(_)) => ProofOrigin::Elsewhere,
            (None, None) => ProofOrigin::Documented,
        };
        let proof = here.or(elsewhere);
        let version = proof.map(|proof| proof.subject.version.clone());
        let record = proof.map(|proof| proof.record.clone()).filter(|record| !record.is_empty());
        KnownTier { contender, place, found: proof.map(|proof| proof.found.clone()), version, record }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(version: &str, synchronous: &str) -> Subject {
        let settings = [("synchronous".to_string(), synchronous.to_string())].into_iter().collect();
        let engine = "e".to_string();
        Subject { engine, version: version.to_string(), driver: String::new(), worker: String::new(), settings }
    }

    fn proof(machine: &str, reached: Tier, power: u64) -> Proof {
        let found = ProofResult {
            reached,
            power,
            posix: power,
            posix_bad: 0,
            process: 10,
            one_process: false,
            models: 1,
            date: "2026-11-21".to_string(),
            contend: "0.1.0".to_string(),
            machine: machine.to_string(),
        };
        Proof { found, record: "r".to_string(), subject: subject("1.2", "full") }
    }

    #[test]
    fn only_the_same_version_settings_and_models_are_proved() {
        let mut proofs = Proofs::default();
        proofs.add(proof("here", Tier::Durable, 500));
        let of = |subject: &Subject, machine: &str, models| proofs.of(0, Some(subject), machine, models).place;
        assert_eq!(of(&subject("1.2", "full"), "here", 1), ProofOrigin::Here);
        assert_eq!(of(&subject("1.2", "full"), "another", 1), ProofOrigin::Elsewhere);
        assert_eq!(of(&subject("1.3", "full"), "here", 1), ProofOrigin::Documented, "another version");
        assert_eq!(of(&subject("1.2", "off"), "here", 1), ProofOrigin::Documented, "other settings");
        assert_eq!(of(&subject("1.2", "full"), "here", 2), ProofOrigin::Documented, "other models");
        let other = Subject { driver: "d".to_string(), ..subject("1.2", "full") };
        assert_eq!(of(&other, "here", 1), ProofOrigin::Documented, "another driver");
        let other = Subject { worker: "f00".to_string(), ..subject("1.2", "full") };
        assert_eq!(of(&other, "here", 1), ProofOrigin::Documented, "another build");
        assert_eq!(proofs.of(0, None, "here", 1).place, ProofOrigin::Documented, "the version is unknown");
    }

    #[test]
    fn few_cuts_prove_nothing() {
        let mut proofs = Proofs::default();
        proofs.add(proof("here", Tier::Durable, CUTS_MIN - 1));
        assert_eq!(proofs.of(0, Some(&subject("1.2", "full")), "here", 1).place, ProofOrigin::Documented);
    }

    #[test]
    fn the_worse_stays_and_then_the_larger() {
        let mut proofs = Proofs::default();
        for (reached, power, kept) in [
            (Tier::Durable, 500, (Tier::Durable, 500)),
            (Tier::Durable, 100, (Tier::Durable, 500)),
            (Tier::Durable, 900, (Tier::Durable, 900)),
            (Tier::Bounded, 100, (Tier::Bounded, 100)),
            (Tier::Durable, 5000, (Tier::Bounded, 100)),
        ] {
            proofs.add(proof("here", reached, power));
            assert_eq!(proofs.proof.len(), 1);
            assert_eq!((proofs.proof[0].found.reached, proofs.proof[0].found.power), kept);
        }
        let mut unordered = proof("here", Tier::Bounded, 50);
        unordered.found.posix_bad = 2;
        for proof in [unordered, proof("here", Tier::Bounded, 900)] {
            proofs.add(proof);
            assert_eq!((proofs.proof[0].found.posix_bad, proofs.proof[0].found.power), (2, 50));
        }
        proofs.add(proof("elsewhere", Tier::Durable, 1));
        assert_eq!(proofs.proof.len(), 2);
    }

    #[test]
    fn the_file_is_read_as_it_was_written_and_damage_is_named() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("sub/proofs.toml");
        assert_eq!(Proofs::read(&path).unwrap(), Proofs::default());
        let mut proofs = Proofs::default();
        proofs.add(proof("here", Tier::Durable, 500));
        proofs.write(&path).unwrap();
        assert_eq!(Proofs::read(&path).unwrap(), proofs);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
        let written = fs::read_to_string(&path).unwrap();
        fs::write(&path, written.replace("power = 500", "power = 999999")).unwrap();
        let error = format!("{:#}", Proofs::read(&path).unwrap_err());
        assert!(
            error.contains("proofs.toml was changed after contend wrote it") && error.contains("remove it"),
            "{error}"
        );
        fs::write(&path, "nonsense").unwrap();
        let error = format!("{:#}", Proofs::read(&path).unwrap_err());
        assert!(error.contains("proofs.toml is damaged; remove it"), "{error}");
    }
}
