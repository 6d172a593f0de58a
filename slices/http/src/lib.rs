//! HTTP load: a scenario carried out against any service, with the record and the report of every other run.
//!
//! `verb` is the command line with `given` (variables and secrets) and `study` (the study made from the options).
//! `engine` is a service as the core measures it, and `lists` the queries before a run. `section` is the report,
//! `line` the JSON output. The core has the parts that studies of apps need too: request steps of workload files and
//! plans, scenarios, secrets, and serving workers.

mod args;
mod engine;
mod given;
mod line;
mod lists;
mod section;
mod study;
mod url;
mod verb;

use args::HttpArgs;
use clap::FromArgMatches;
use contend::slice::{Addresses, Slice, Verb};

/// Adds `contend http`.
pub const SLICE: Slice = Slice {
    name: "http",
    verbs: &[Verb {
        name: "http",
        after: "run",
        run: |matches| verb::http(&HttpArgs::from_arg_matches(matches)?),
        example: "  contend http http://127.0.0.1:8080/   load an HTTP service",
        questions: &[("How many requests can I serve?", "contend http http://127.0.0.1:8080/")],
        unknown_option: "A scenario's variables are set with --set NAME=VALUE,...\n\n",
        ..Verb::of::<HttpArgs>()
    }],
    addresses: &[Addresses { takes: verb::is_address, order: verb::of_services }],
    services: &[engine::ENGINE],
    service_sections: &[section::sections],
    ..Slice::NONE
};
