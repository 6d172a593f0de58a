//! Products that the tool gains from other crates: what a slice may add to the core, and the list of those that it has.
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
use crate::report::kind::{TELLINGS, Telling};
use crate::study::kind::{self, KINDS};
use crate::study::{self, Embedded};
use crate::trial::kind::{STEPS, Step};
use crate::trial::proofs::{PROOFS, Proofs};
use crate::trial::watch::janitor;
use anyhow::Result;
use clap::{ArgMatches, Command, CommandFactory};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// All that one product adds. Begin with [`Slice::NONE`] and fill in what the product has.
#[derive(Clone, Copy)]
pub struct Slice {
    /// Name of the product, as of its crate: `timings`.
    pub name: &'static str,
    /// Verbs of the command line.
    pub verbs: &'static [Verb],
    /// Other forms of the core's verbs, such as `compare --csv`.
    pub forms: &'static [Form],
    /// Roles in which contend starts itself as another process.
    pub processes: &'static [Process],
    /// What `contend doctor` looks at.
    pub findings: &'static [fn() -> Finding],
    /// Kinds of study, whose trials do more than measure.
    pub kinds: &'static [Kind],
    /// Studies that are part of the program.
    pub studies: &'static [Embedded],
    /// Proofs of what contenders promise.
    pub proofs: &'static [Proofs],
    /// Services: measured like engines, but with data that contend does not see.
    pub services: &'static [Engine],
    /// The report of a service.
    pub service_sections: &'static [Sections],
    /// Records of the slice's own.
    pub records: &'static [OwnRecord],
    /// Unmounts what a process of the slice mounted, when it died before it could.
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
    /// Its name and its keys in study files.
    pub study: kind::Kind,
    /// What its trials do beyond their windows.
    pub step: Step,
    /// Checks its tables in records.
    pub reader: Reader,
    /// Metrics of its trials, behind those of the core in the table.
    pub metrics: fn() -> Vec<Row>,
    /// Its findings.
    pub analysis: Analysis,
    /// What its report says.
    pub telling: Telling,
}

/// A verb of the command line: `contend NAME ...`.
#[derive(Clone, Copy)]
pub struct Verb {
    /// The word that is typed.
    pub name: &'static str,
    /// The verb that stands before this one in `contend --help`.
    pub after: &'static str,
    /// Arguments and help. Its name and its place in the help are those above.
    pub command: fn() -> Command,
    /// Carries it out and returns the exit status: `cli::OK`, `INVALID`, `USAGE` or `STOPPED`.
    pub run: fn(&ArgMatches) -> Result<u8>,
    /// Line for the examples of `contend --help`; empty if there is none.
    pub example: &'static str,
    /// What is printed before the error for an option that the verb does not have; empty if there is nothing.
    pub unknown_option: &'static str,
    /// Lines of `contend` alone: a question, and the one command that answers it.
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
    /// The option (its id in clap) that chooses this form when it is given: `csv`.
    pub chosen_by: &'static str,
    /// Adds the options of this form to the verb.
    pub options: fn(Command) -> Command,
    /// Carries out this form in place of the verb's own; the exit status.
    pub run: fn(&ArgMatches) -> Result<u8>,
}

/// A role in which contend starts itself as another process. Its arguments are not clap's.
#[derive(Clone, Copy)]
pub struct Process {
    /// First argument of such a process.
    pub verb: &'static str,
    /// Takes the arguments after the verb.
    pub serve: fn(&[String]) -> ExitCode,
}

/// A kind of record that is none of a run.
#[derive(Clone, Copy)]
pub struct OwnRecord {
    /// The file by which it is known.
    pub file: &'static str,
    /// Writes its report: `contend report DIR`. The exit status. `json`: the numbers are printed instead of the text.
    pub report: fn(dir: &Path, json: bool) -> Result<u8>,
}

/// One thing that `contend doctor` has looked at.
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
    /// Something works less well, or an extra is missing.
    Note,
    /// contend cannot do its main job.
    Bad,
}

static SLICES: OnceLock<&'static [Slice]> = OnceLock::new();

/// Makes the slices known that this program has, once, before anything else is done: each part in the room that uses it.
pub fn register(slices: &'static [Slice]) {
    SLICES.set(slices).ok();
    let kinds = || slices.iter().flat_map(|slice| slice.kinds);
    KINDS.register(kinds().map(|kind| &kind.study));
    STEPS.register(kinds().map(|kind| &kind.step));
    READERS.register(kinds().map(|kind| &kind.reader));
    OF_KINDS.register(kinds().map(|kind| &kind.metrics));
    ANALYSES.register(kinds().map(|kind| &kind.analysis));
    TELLINGS.register(kinds().map(|kind| &kind.telling));
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
