//! What contend exchanges with the shell that starts it: exit status, signals, arguments, output.

use crate::report::text::{Style, wrapped};
use crate::stats::harmless::harmless;
use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A valid result.
pub const OK: u8 = 0;
/// A trial is invalid, or a record is damaged.
pub const INVALID: u8 = 1;
/// Usage or environment.
pub const USAGE: u8 = 2;
/// Stopped by the user.
pub const STOPPED: u8 = 130;

/// Becomes true at the first signal. The second ends the tool at once; the janitor then cleans up.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(STOPPED), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    // Programs inherit a signal that is ignored, as SIGQUIT is in the background of a script, but not a handler. A server
    // that is still starting must not miss it when the tool dies.
    signal_hook::flag::register_conditional_default(SIGQUIT, Arc::new(AtomicBool::new(true)))?;
    Ok(stop)
}

/// Makes a file beyond the limit (`ulimit -f`) an error of that write, with the name of the file. Programs do not inherit
/// the handler.
pub fn survive_file_limits() {
    // Without a handler the signal ends the tool, as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The command line for the record; invalid UTF-8 is replaced.
pub fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned())
}

/// A word as a shell takes it: in quotes if it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// How standard output is written: on a terminal as wide as that, and coloured unless the user does not want it
/// (<https://no-color.org>); into a pipe as into a file, or as wide as COLUMNS says.
pub fn style() -> Style {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    match (columns(std::io::stdout()), asked()) {
        (Some(columns), _) => Style::terminal(columns, wanted),
        (None, Some(columns)) => Style::terminal(columns, false),
        (None, None) => Style::FILE,
    }
}

/// Writes to standard output. A closed pipe is no error: the verb goes on to its exit status.
pub fn print(text: &str) -> Result<()> {
    match print_on(text) {
        Err(error) if is_broken_pipe(&error) => Ok(()),
        written => written,
    }
}

/// As [`print`], of a verb that prints until it is stopped: a closed pipe is an error, which ends it.
pub fn print_on(text: &str) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
}

/// As [`print`], for a text that is not coloured and may have parts of others: nothing in it steers a terminal.
pub fn print_plain(text: &str) -> Result<()> {
    print(&harmless(text))
}

/// Width of a terminal; `None` for a pipe or file, or if the terminal does not report its width.
fn columns(of: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(of).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Prints a paragraph that begins with `contend: ` to standard error, as wide as its terminal. In a pipe it is one line, which
/// can be searched.
pub fn say(text: &str) {
    let text = format!("contend: {text}");
    crate::ui::tell(&match columns(std::io::stderr()) {
        Some(columns) => wrapped(&text, ["", "  "], Style::terminal(columns, false)),
        None => text + "\n",
    });
}

/// A paragraph as wide as the terminal, with what stands before its first line and before the others. In a pipe it is one
/// line, which can be searched.
pub fn paragraph(text: &str, before: [&str; 2]) -> String {
    match std::io::stdout().is_terminal() {
        true => wrapped(text, before, style()),
        false => format!("{}{text}\n", before[0]),
    }
}

/// The reader of our output may stop reading: `contend watch ... | head` is not an error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_reach_the_shell_as_they_are() {
        for (word, shown) in [
            ("--to=postgres://me@db:5432/app", "--to=postgres://me@db:5432/app"),
            ("Größe.db", "Größe.db"),
            ("", "''"),
            ("my app.py", "'my app.py'"),
            ("a?b&c~", "'a?b&c~'"),
            ("''", r"''\'''\'''"),
            ("PRAGMA x = 'it''s'", r"'PRAGMA x = '\''it'\'''\''s'\'''"),
        ] {
            assert_eq!(quoted(word), shown);
            let said = std::process::Command::new("sh").args(["-c", &format!("printf %s {shown}")]).output();
            assert_eq!(said.expect("a shell").stdout, word.as_bytes());
        }
    }
}
