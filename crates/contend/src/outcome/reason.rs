//! Reasons why a trial does not count: a closed set of kinds, each with a detail.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of reasons; records and tables contain their words. Adding a kind means adding the check that finds it and a
/// planted fault: a test requires a fault for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Invalid {
    /// Fresh data could not be made.
    Prepare,
    /// A worker could not be started, or rejected its plan.
    NotStarted,
    /// A worker did not report `ready` in time.
    NotReady,
    /// A worker ended before its work was done.
    WorkerDied,
    /// The database server ended before the trial was over.
    ServerDied,
    /// A worker gave no sign of life, was stopped by a signal, or did not return its samples in time.
    Stalled,
    /// A worker sent a line that is not part of the protocol.
    Protocol,
    /// A worker's clock differs from the tool's.
    Clock,
    /// A setting read back differs from the one requested.
    Settings,
    /// Samples are damaged.
    Samples,
    /// Samples do not agree with the plan, or totals do not add up.
    Accounts,
    /// A client reached the end of a finite plan.
    Exhausted,
    /// Part of a client's time is not accounted for.
    LittlesLaw,
    /// The overhead of the worker is too large a part of an operation.
    GeneratorLimited,
    /// The data is wrong after the trial.
    Invariant,
    /// The database counted other commits than the samples have.
    Commits,
    /// Reads of the trial returned other rows than the same reads of another contender of the round, or than had been
    /// committed when they ran; or the kernel counted too few calls for them.
    Answers,
    /// No operation was committed.
    NothingDone,
    /// More commits than the disk can make durable, or than the worker's threads waited for.
    NotCredible,
    /// A crash contradicted what is known of the contender.
    Control,
    /// A process that the trial started still ran after it.
    LeftRunning,
    /// Threads ran on other processors than contend had given them, or what programs inherit from contend was changed.
    Processors,
}

impl Invalid {
    pub const ALL: [Invalid; 22] = [
        Invalid::Prepare,
        Invalid::NotStarted,
        Invalid::NotReady,
        Invalid::WorkerDied,
        Invalid::ServerDied,
        Invalid::Stalled,
        Invalid::Protocol,
        Invalid::Clock,
        Invalid::Settings,
        Invalid::Samples,
        Invalid::Accounts,
        Invalid::Exhausted,
        Invalid::LittlesLaw,
        Invalid::GeneratorLimited,
        Invalid::Invariant,
        Invalid::Commits,
        Invalid::Answers,
        Invalid::NothingDone,
        Invalid::NotCredible,
        Invalid::Control,
        Invalid::LeftRunning,
        Invalid::Processors,
    ];

    /// The word in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Invalid::Prepare => "prepare",
            Invalid::NotStarted => "not-started",
            Invalid::NotReady => "not-ready",
            Invalid::WorkerDied => "worker-died",
            Invalid::ServerDied => "server-died",
            Invalid::Stalled => "stalled",
            Invalid::Protocol => "protocol",
            Invalid::Clock => "clock",
            Invalid::Settings => "settings",
            Invalid::Samples => "samples",
            Invalid::Accounts => "accounts",
            Invalid::Exhausted => "exhausted",
            Invalid::LittlesLaw => "littles-law",
            Invalid::GeneratorLimited => "generator-limited",
            Invalid::Invariant => "invariant",
            Invalid::Commits => "commits",
            Invalid::Answers => "answers",
            Invalid::NothingDone => "nothing-done",
            Invalid::NotCredible => "not-credible",
            Invalid::Control => "control",
            Invalid::LeftRunning => "left-running",
            Invalid::Processors => "processors",
        }
    }

    /// What follows from the reason. One place without a wildcard, so that the compiler asks for a new kind.
    fn meaning(self) -> Meaning {
        use Invalid::*;
        match self {
            NotStarted => Meaning { bias: Some(Bias::Up), ..Meaning::NONE },
            Prepare | NotReady | WorkerDied | ServerDied | Stalled | Protocol | Exhausted => Meaning::NONE,
            Clock => Meaning { machine: true, ..Meaning::NONE },
            Settings | Samples | Accounts | Invariant | Commits | Answers | Control | LeftRunning | Processors => {
                Meaning { work: true, ..Meaning::NONE }
            }
            LittlesLaw => Meaning { speed: true, pace: true, machine: true, ..Meaning::NONE },
            GeneratorLimited => {
                Meaning { speed: true, pace: true, machine: true, bias: Some(Bias::Slower), ..Meaning::NONE }
            }
            NothingDone => Meaning { speed: true, bias: Some(Bias::Better), ..Meaning::NONE },
            NotCredible => Meaning { speed: true, machine: true, ..Meaning::NONE },
        }
    }

    /// Whether the reason concerns only the speed of the trial.
    pub fn is_of_speed(self) -> bool {
        self.meaning().speed
    }

    /// Whether what was done or reported is wrong. No disturbance of the machine explains that.
    pub fn is_of_work(self) -> bool {
        self.meaning().work
    }

    /// Whether a share of time is too large. A slow machine causes that with any disk, and so do operations that fail at once.
    pub fn is_of_pace(self) -> bool {
        self.meaning().pace
    }

    /// Whether the machine, a clock or the generator may be the cause, which a faster contender can exhaust.
    pub fn is_of_machine(self) -> bool {
        self.meaning().machine
    }

    /// How the other rounds are a biased choice, because the very speed that is compared is the cause.
    pub fn biases_the_rest(self) -> Option<Bias> {
        self.meaning().bias
    }

    /// The reason with what was found.
    pub fn because(self, detail: impl Into<String>) -> Reason {
        Reason { kind: self, detail: detail.into(), against: None }
    }
}

/// What the rounds without a reason are, compared with those that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bias {
    /// It was there.
    Up,
    Better,
    Slower,
}

/// The answers of the methods of [`Invalid`].
struct Meaning {
    speed: bool,
    work: bool,
    pace: bool,
    machine: bool,
    bias: Option<Bias>,
}

impl Meaning {
    const NONE: Meaning = Meaning { speed: false, work: false, pace: false, machine: false, bias: None };
}

impl From<Invalid> for &'static str {
    fn from(kind: Invalid) -> Self {
        kind.word()
    }
}

impl TryFrom<String> for Invalid {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.map(Self::word).to_vec();
            format!(
                "there is no reason `{word}`; this contend knows {}. A newer contend may have written it: use that one",
                words.join(", ")
            )
        })
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One reason why a trial does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Kind of the reason, such as `littles-law`.
    pub kind: Invalid,
    /// What was found, in words.
    pub detail: String,
    /// Number of the trial that says the opposite, where it is not known which of the two is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<u32>,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

/// Whether the crashes of a trial with these reasons count. What survives does not depend on speed, but on settings, data and
/// accounts. A control that failed contradicts the crashes, so it must be shown.
pub fn crashes_count(invalid: &[Reason]) -> bool {
    invalid.iter().all(|reason| reason.kind.is_of_speed() || reason.kind == Invalid::Control)
}

/// Whether the operations of a trial count, even if its speed does not.
pub fn deeds_count(invalid: &[Reason]) -> bool {
    invalid.iter().all(|reason| reason.kind.is_of_speed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_kept_as_its_word_and_an_unknown_one_is_named() {
        for kind in Invalid::ALL {
            let text = toml::to_string(&kind.because("found")).unwrap();
            assert_eq!(text, format!("kind = \"{kind}\"\ndetail = \"found\"\n"));
            assert_eq!(toml::from_str::<Reason>(&text).unwrap().kind, kind);
        }
        let error = toml::from_str::<Reason>("kind = \"tired\"\ndetail = \"\"").unwrap_err().to_string();
        assert!(
            error.contains("no reason `tired`") && error.contains("A newer contend may have written it"),
            "{error}"
        );
    }
}
