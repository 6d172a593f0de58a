//! The `contend` command: the core with its slices.

use std::process::ExitCode;

fn main() -> ExitCode {
    contend::cli::main(&[
        timings::SLICE,
        powercut::SLICE,
        http::SLICE,
        limit::SLICE,
        predict::SLICE,
        measure::SLICE,
        gate::SLICE,
        watch::SLICE,
        capture::SLICE,
        shim::SLICE,
        migrate::SLICE,
    ])
}
