//! `gate.toml`: two commands, and what each round of them took. docs/formats.md has the fields.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use contend::outcome::mark::Mark;
use contend::record::seal;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file by which a record is known.
pub const FILE: &str = "gate.toml";
/// Version of the format.
pub const VERSION: u32 = 1;

/// `gate.toml`: two commands, and what each round of them took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Version of the format.
    pub format: u32,
    /// Version of contend.
    pub contend: String,
    /// Start, UTC.
    pub started: String,
    /// Command line as typed.
    pub command: Vec<String>,
    /// The baseline, as `sh -c` gets it.
    pub a: String,
    /// The command that is judged.
    pub b: String,
    /// The command that runs before each of them, not measured; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The time that decides: `wall` or `cpu`.
    pub by: By,
    /// Fraction within which an estimate is called slight, and an interval no difference.
    pub margin: f64,
    /// Time after which no further round begins.
    pub budget_ns: u64,
    /// Most rounds.
    pub rounds_max: u32,
    /// Runs of each command before the first round.
    pub warm_up: u32,
    /// Seed of the order inside the rounds.
    pub seed: u64,
    /// Logical processors that contend could use.
    pub processors: u32,
    /// Names of processes that the commands may leave running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_leave: Vec<String>,
    /// Why there are no more rounds: `decided`, `budget`, `rounds`, `stopped` or `failed`.
    pub ended: Why,
    /// The error of the command that failed; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Time from the start of the first round to the end of the last one, with everything between the runs.
    #[serde(default)]
    pub rounds_ns: u64,
    /// Rounds in their order, also those that were run again.
    #[serde(default)]
    pub rounds: Vec<Round>,
}

/// One run of both commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The command that ran first: `a` or `b`.
    pub first: Side,
    /// Times of the baseline.
    pub a: Took,
    /// Times of the other command.
    pub b: Took,
    /// Names of the processes that the baseline left running when it ended. contend killed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_a: Vec<String>,
    /// Those of the other command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_b: Vec<String>,
    /// Disturbances from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Whether it was disturbed and run again, so that it does not count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

impl Round {
    /// Names of the processes that a command left running.
    pub fn left(&self, side: Side) -> &[String] {
        match side {
            Side::A => &self.left_a,
            Side::B => &self.left_b,
        }
    }
}

/// Times of one run of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Took {
    /// From before its start to its end.
    pub wall_ns: u64,
    /// CPU time of it and of all processes that it started and that ended by themselves.
    pub cpu_ns: u64,
}

/// The time that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// From the start to the end of a command
    Wall,
    /// Processor time of a command and of the processes it waits for
    Cpu,
}

impl By {
    pub fn of(self, took: Took) -> u64 {
        match self {
            By::Wall => took.wall_ns,
            By::Cpu => took.cpu_ns,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            By::Wall => "wall time",
            By::Cpu => "CPU time",
        }
    }
}

/// One of the two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    A,
    B,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// Why there are no more rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// More rounds would hardly change the word.
    Decided,
    /// No further round fits into the budget.
    Budget,
    /// There are as many as were allowed.
    Rounds,
    /// The user stopped it.
    Stopped,
    /// A command failed.
    Failed,
}

impl Gate {
    /// Reads `gate.toml` of a directory; returns it with whether it has a seal.
    ///
    /// # Errors
    /// It cannot be read, was changed, or is of a later version.
    pub fn read(dir: &Path) -> Result<(Self, bool)> {
        let path = dir.join(FILE);
        let (text, is_sealed) = seal::read(seal::TOML, &path, "run again")?;
        let gate: Self = toml::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let version = gate.format;
        ensure!(version == VERSION, "{} has version {version}; this contend reads version {VERSION}", path.display());
        Ok((gate, is_sealed))
    }

    /// Writes `gate.toml` as a whole.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        seal::write(seal::TOML, dir, FILE, &toml::to_string(self)?)
    }

    /// Rounds that count.
    pub fn counting(&self) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(|round| !round.again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_docs_are_of_this_format() {
        let text = include_str!("../../../tests/fixtures/records/examples/gate.toml");
        let saved: Gate = toml::from_str(text).expect("docs/formats.md shows its values");
        assert_eq!(saved.format, VERSION);
    }
}
