//! Checks of `contend doctor`: whether power cuts can be made here.

use crate::kernel;
use contend::slice::{Finding, State};
use contend_powercut::record;

/// Whether the recorder can be mounted.
pub fn recorder_finding() -> Finding {
    match record::unavailable() {
        None => Finding { what: "power cuts", state: State::Ok, detail: "the recorder can be mounted".to_string() },
        Some(why) => {
            let detail = format!(
                "durability of servers cannot be verified: {why}. Databases in contend's own worker are recorded by SQLite's VFS"
            );
            Finding { what: "power cuts", state: State::Note, detail }
        }
    }
}

/// Whether the models can be compared with a real kernel.
pub fn kernel_finding() -> Finding {
    let (state, detail) = match kernel::available() {
        Ok(system) => (State::Ok, format!("{system}: its power can be cut too")),
        Err(why) => {
            (State::Note, format!("studies of crashes cannot compare their models with a real kernel, because {why}"))
        }
    };
    Finding { what: "kernel", state, detail }
}
