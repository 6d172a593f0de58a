//! The worker as a separate program, for tests and for other hosts; the tool runs the same code as
//! `contend worker`.

fn main() -> std::process::ExitCode {
    contend_worker::main(&std::env::args().skip(1).collect::<Vec<_>>())
}
