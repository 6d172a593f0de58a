//! What must hold before a number is shown: the closed list of reasons a trial does not count, and the
//! checks that find them.

pub mod ever;
pub mod guards;
pub mod marks;
pub mod samples;

use crate::record::model::Reason;

/// Why a trial does not count. Closed: a test requires a fault that triggers each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Fresh data could not be made.
    Prepare,
    /// A worker could not begin: it could not be started, or refused its plan.
    NotStarted,
    /// A worker did not say `ready` in time.
    NotReady,
    /// A worker ended before its work was done.
    WorkerDied,
    /// The database server ended before the trial was over.
    ServerDied,
    /// A worker gave no sign of life, or did not hand over its samples in time.
    Stalled,
    /// A worker said something that is not of the protocol.
    Protocol,
    /// A worker's clock does not agree with the tool's.
    Clock,
    /// A setting read back differs from what was asked for.
    Settings,
    /// Samples are damaged.
    Samples,
    /// Samples do not agree with the plan, or totals do not add up.
    Accounts,
    /// A client ran out of a finite plan.
    Exhausted,
    /// A client's time is not accounted for.
    LittlesLaw,
    /// The worker's own cost is too large a part of an operation.
    GeneratorLimited,
    /// The data is wrong afterwards.
    Invariant,
    /// Nothing was committed.
    NothingDone,
    /// More commits than the disk can make durable.
    NotCredible,
    /// What must be found after a crash was not, or what must not be was.
    Control,
}

impl Invalid {
    pub const ALL: [Invalid; 18] = [
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
        Invalid::NothingDone,
        Invalid::NotCredible,
        Invalid::Control,
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
            Invalid::NothingDone => "nothing-done",
            Invalid::NotCredible => "not-credible",
            Invalid::Control => "control",
        }
    }

    /// Whether it is about how fast the trial was, and about nothing else.
    pub fn is_of_speed(self) -> bool {
        matches!(self, Invalid::LittlesLaw | Invalid::GeneratorLimited | Invalid::NothingDone | Invalid::NotCredible)
    }

    /// The reason with what was found.
    pub fn because(self, detail: impl Into<String>) -> Reason {
        Reason { kind: self.word().to_string(), detail: detail.into() }
    }
}

/// Whether the crashes of a trial with these reasons show what its contender keeps: that does not depend on how fast it
/// was, but on its settings, its data and its accounts. A control that does not hold contradicts them, which must be told.
pub fn crashes_count(invalid: &[Reason]) -> bool {
    all(invalid, |kind| kind.is_of_speed() || kind == Invalid::Control)
}

/// Whether what a trial did is as told, if not how fast.
pub fn deeds_count(invalid: &[Reason]) -> bool {
    all(invalid, Invalid::is_of_speed)
}

fn all(invalid: &[Reason], wanted: impl Fn(Invalid) -> bool) -> bool {
    invalid.iter().all(|reason| Invalid::ALL.into_iter().any(|kind| kind.word() == reason.kind && wanted(kind)))
}
