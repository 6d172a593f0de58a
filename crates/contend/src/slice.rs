//! What a slice may add to the core, and the list of slices in this program.
//!
//! A slice is a crate in `slices/` that depends on the core and is named once, in `src/main.rs` of the binary. The core
//! names no slice, and no slice depends on another. `slices/README.md` is a guide to writing one.
//!
//! ```
//! use clap::{Command, FromArgMatches, Parser};
//! use contend::cli::{OK, print};
//! use contend::slice::{Slice, Verb};
//!
//! /// Print a greeting
//! #[derive(Parser)]
//! struct GreetArgs {
//!     /// Whom to greet
//!     name: String,
//! }
//!
//! pub const SLICE: Slice = Slice {
//!     name: "greeting",
//!     verbs: &[Verb {
//!         name: "greet",
//!         after: "doctor",
//!         run: |matches| {
//!             print(&format!("Hello, {}\n", GreetArgs::from_arg_matches(matches)?.name))?;
//!             Ok(OK)
//!         },
//!         ..Verb::of::<GreetArgs>()
//!     }],
//!     ..Slice::NONE
//! };
//!
//! let matches = (SLICE.verbs[0].command)().get_matches_from(["greet", "Eve"]);
//! assert_eq!((SLICE.verbs[0].run)(&matches).unwrap(), OK);
//! ```

use crate::analysis::kind::{ANALYSES, Analysis};
use crate::analysis::metric::table::{OF_KINDS, Row};
use crate::engine::{self, Engine};
use crate::record::kind::{READERS, Reader};
use crate::report::content::{self, Sections};
use crate::report::kind::{REPORT_PARTS, ReportParts};
use crate::study::kind::{self, KINDS};
use crate::study::{self, Embedded};
use crate::trial::kind::{SEQUELS, Sequel};
use crate::trial::order::Order;
use crate::trial::proofs::{PROOFS, Proofs};
use crate::trial::watch::janitor;
use anyhow::Result;
use clap::{ArgMatches, Command, CommandFactory};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Everything that one product adds. Start from [`Slice::NONE`] and fill in the fields that the product needs.
#[derive(Clone, Copy)]
pub struct Slice {
    /// Name of the product and of its crate: `timings`.
    pub name: &'static str,
    /// Verbs of the command line.
    pub verbs: &'static [Verb],
    /// Other forms of the core's verbs, such as `compare --csv`.
    pub forms: &'static [Form],
    /// Roles in which contend starts itself as a child process.
    pub processes: &'static [Process],
    /// Checks of `contend doctor`.
    pub findings: &'static [fn() -> Finding],
    /// Kinds of study whose trials do more than measure a window.
    pub kinds: &'static [Kind],
    /// Addresses of services that other verbs may load.
    pub addresses: &'static [Addresses],
    /// Kinds of study that a verb of the slice carries out, instead of `run`.
    pub searches: &'static [kind::Kind],
    /// Studies embedded in the program.
    pub studies: &'static [Embedded],
    /// Proofs of the tiers that contenders promise.
    pub proofs: &'static [Proofs],
    /// Services: measured like engines, but their data is invisible to contend.
    pub services: &'static [Engine],
    /// Sections that reports of a service have.
    pub service_sections: &'static [Sections],
    /// The slice's own kinds of records.
    pub records: &'static [OwnRecord],
    /// Unmount what a process of the slice mounted and could not unmount before it died.
    pub unmount: &'static [fn(&Path)],
}

impl Slice {
    /// A slice that adds nothing.
    pub const NONE: Slice = Slice {
        name: "",
        verbs: &[],
        forms: &[],
        processes: &[],
        findings: &[],
        kinds: &[],
        addresses: &[],
        searches: &[],
        studies: &[],
        proofs: &[],
        services: &[],
        service_sections: &[],
        records: &[],
        unmount: &[],
    };
}

/// A kind of study: one value for each room that takes part.
pub struct Kind {
    /// Name, and keys in study files.
    pub study: kind::Kind,
    /// What its trials do after their windows.
    pub sequel: Sequel,
    /// Checks the kind's tables in records.
    pub reader: Reader,
    /// Metrics of its trials, listed after those of the core.
    pub metrics: fn() -> Vec<Row>,
    /// Its findings.
    pub analysis: Analysis,
    /// Sections and sentences of its report.
    pub report: ReportParts,
}

/// A verb of the command line: `contend NAME ...`.
#[derive(Clone, Copy)]
pub struct Verb {
    /// The word on the command line.
    pub name: &'static str,
    /// The verb that precedes this one in `contend --help`.
    pub after: &'static str,
    /// Arguments and help. Name and position in the help are the fields above.
    pub command: fn() -> Command,
    /// Carries it out and returns the exit status: `cli::OK`, `INVALID`, `USAGE` or `STOPPED`.
    pub run: fn(&ArgMatches) -> Result<u8>,
    /// A line for the examples of `contend --help`, or empty.
    pub example: &'static str,
    /// A hint printed before the error for an unknown option, or empty.
    pub unknown_option: &'static str,
    /// Lines that `contend` without arguments prints: a question, and the command that answers it.
    pub questions: &'static [(&'static str, &'static str)],
}

impl Verb {
    /// A verb with the arguments and the help of a type that derives `clap::Parser`.
    pub const fn of<Arguments: CommandFactory>() -> Verb {
        Verb {
            name: "",
            after: "",
            command: Arguments::command,
            run: |_| unreachable!("a verb says what it does"),
            example: "",
            unknown_option: "",
            questions: &[],
        }
    }
}

/// Another form of a verb of the core, chosen by an option.
#[derive(Clone, Copy)]
pub struct Form {
    /// The verb: `compare`.
    pub verb: &'static str,
    /// Id in clap of the option that selects this form: `csv`.
    pub chosen_by: &'static str,
    /// Adds the options of this form to the verb.
    pub options: fn(Command) -> Command,
    /// Carries out this form instead of the verb's own; returns the exit status.
    pub run: fn(&ArgMatches) -> Result<u8>,
}

/// A role in which contend starts itself as a child process. Its arguments are not parsed by clap.
#[derive(Clone, Copy)]
pub struct Process {
    /// First argument of such a process.
    pub verb: &'static str,
    /// Takes the arguments after the verb.
    pub serve: fn(&[String]) -> ExitCode,
}

/// A kind of record that no run made.
#[derive(Clone, Copy)]
pub struct OwnRecord {
    /// The file that identifies such a record.
    pub file: &'static str,
    /// Writes the report of `contend report DIR` and returns the exit status. With `json`, prints the numbers instead
    /// of the text.
    pub report: fn(dir: &Path, json: bool) -> Result<u8>,
}

/// Services that a slice can load, for the verbs of others.
pub struct Addresses {
    /// Whether it is such an address.
    pub takes: fn(&str) -> bool,
    /// A study of one condition, without a rate, with these services as contenders. The directory is the verb's.
    pub order: fn(&OfServices<'_>) -> Result<Order>,
}

/// What a verb asks of services.
pub struct OfServices<'a> {
    pub addresses: &'a [String],
    pub rounds: u32,
    /// Number of connections; `None` if the user gave none.
    pub clients: Option<u32>,
    /// Number where neither the user nor the scenario says one.
    pub clients_default: u32,
    pub window_ns: u64,
    pub seed: Option<u64>,
    /// Certificates that https:// trusts, in place of the system's.
    pub ca: Option<&'a Path>,
    /// First process of each service on this machine; empty: none is measured.
    pub pids: &'a [u32],
    /// Scenario that is carried out against each; without one, every request asks for the path of the address.
    pub scenario: Option<&'a str>,
    /// Variables of the scenario, as `NAME=VALUE`.
    pub set: &'a [String],
}

/// The order for services; `None` if the first address is not one.
///
/// # Errors
/// An address that cannot be used.
pub fn of_services(asked: &OfServices<'_>) -> Result<Option<Order>> {
    let all = || all().iter().flat_map(|slice| slice.addresses);
    let taken = asked.addresses.first().and_then(|first| all().find(|of| (of.takes)(first)));
    taken.map(|of| (of.order)(asked)).transpose()
}

/// One result of `contend doctor`.
#[derive(Serialize)]
pub struct Finding {
    pub what: &'static str,
    pub state: State,
    pub detail: String,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ok,
    /// Something works with limits, or an extra is missing.
    Note,
    /// contend cannot do its main job.
    Bad,
}

static SLICES: OnceLock<&'static [Slice]> = OnceLock::new();

/// Registers the slices of this program in the rooms that use them. Called once, before anything else.
pub fn register(slices: &'static [Slice]) {
    SLICES.set(slices).ok();
    let kinds = || slices.iter().flat_map(|slice| slice.kinds);
    KINDS.register(kinds().map(|kind| &kind.study).chain(slices.iter().flat_map(|slice| slice.searches)));
    SEQUELS.register(kinds().map(|kind| &kind.sequel));
    READERS.register(kinds().map(|kind| &kind.reader));
    OF_KINDS.register(kinds().map(|kind| &kind.metrics));
    ANALYSES.register(kinds().map(|kind| &kind.analysis));
    REPORT_PARTS.register(kinds().map(|kind| &kind.report));
    study::OF_SLICES.register(slices.iter().flat_map(|slice| slice.studies));
    PROOFS.register(slices.iter().flat_map(|slice| slice.proofs));
    engine::SERVICES.register(slices.iter().flat_map(|slice| slice.services));
    content::OF_SERVICES.register(slices.iter().flat_map(|slice| slice.service_sections));
    janitor::UNMOUNT.register(slices.iter().flat_map(|slice| slice.unmount));
}

/// The slices of this program.
pub fn all() -> &'static [Slice] {
    SLICES.get().copied().unwrap_or_default()
}
