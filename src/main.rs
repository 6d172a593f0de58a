//! The `contend` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    contend::cli::main()
}
