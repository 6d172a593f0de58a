//! The worker with the driver `sqlx`: handshake, pacing and supervision are those of the Rust worker.

use contend_worker_sqlx::KIT;

fn main() -> std::process::ExitCode {
    contend_worker::main_of(KIT, &std::env::args().skip(1).collect::<Vec<_>>())
}
