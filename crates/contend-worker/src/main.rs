//! The worker as a separate program, for tests, for other hosts, and for another SQLite library; the tool runs the same code
//! as `contend worker`, so the verb may be there.

fn main() -> std::process::ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "worker") {
        args.remove(0);
    }
    contend_worker::main(&args)
}
