//! Progress of a run: on a terminal a bar with the time left and, below it, what was found so far; plain lines otherwise.
//! Everything here goes to standard error; results go to standard output.

mod so_far;

use self::so_far::SoFar;
use crate::stats::harmless::harmless;
use crate::stats::precision::{Ns, Rate};
use crate::study::model::{Slot, Study};
use crate::trial::note::{Done, Note};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

/// Prints the progress of a run.
pub struct Progress {
    bar: ProgressBar,
    terminal: bool,
    quiet: bool,
    line: RefCell<String>,
    so_far: RefCell<SoFar>,
}

/// What stands before the second line of the bar.
const INDENT: &str = "  ";

fn styled(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template of known fields").progress_chars("=> ")
}

impl Progress {
    /// With `quiet`, prints only what goes wrong.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if terminal {
            bar.set_style(styled("{spinner} {wide_msg}"));
            bar.enable_steady_tick(Duration::from_millis(120));
        } else {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { bar, terminal, quiet, line: RefCell::default(), so_far: RefCell::default() }
    }

    /// Prints one event.
    pub fn show(&self, note: &Note<'_>) {
        match note {
            Note::Phase(what) => self.phase(what),
            Note::Part { study, number, total } => {
                self.so_far.take();
                let part = study.part.as_deref().unwrap_or_default();
                self.say(&format!("part {part} ({number} of {total}): {}", study.about));
            }
            Note::Prepared { disk, overhead_ns } => self.say(&format!(
                "{} disk: fsync {}, fdatasync {} when appending, {} when overwriting; the worker itself costs {} per operation",
                disk.file_system,
                Ns(disk.fsync_ns_p50),
                Ns(disk.fdatasync_ns_p50),
                Ns(disk.overwrite_ns_p50),
                Ns(*overhead_ns)
            )),
            Note::Begins { study, slot, total, left } => {
                if self.bar.length().is_none() {
                    self.bar.set_style(styled("{spinner} {wide_msg} [{bar:24}] {pos}/{len}  {eta} left\n{prefix}"));
                }
                self.bar.set_length(*total as u64);
                self.bar.set_position((*total - *left) as u64);
                let place = place(study, *slot);
                self.line.replace(format!("round {}/{}  {place}", slot.round, study.rounds));
                self.message(&self.line.borrow());
            }
            Note::Again { study, first } => {
                let under = match study.conditions.len() {
                    1 => String::new(),
                    _ => format!(", {},", study.conditions[first.condition].label),
                };
                self.say(&format!("round {}/{}{under} was disturbed and runs again", first.round, study.rounds));
            }
            Note::Operations(n) => self.message(&format!("{}  {n} operations", self.line.borrow())),
            Note::Done { study, slot, done } => self.done(study, *slot, done),
        }
    }

    fn done(&self, study: &Study, slot: Slot, done: &Done) {
        self.bar.inc(1);
        let what = place(study, slot);
        for reason in &done.invalid {
            self.always(&format!("trial {} ({what}) is INVALID: {}: {}", slot.trial, reason.kind, reason.detail));
        }
        if !done.invalid.is_empty() {
            return;
        }
        if self.terminal {
            self.so_far.borrow_mut().add(slot, done.throughput_per_s);
            let width = usize::from(console::Term::stderr().size().1).saturating_sub(INDENT.len() + 1);
            let line = self.so_far.borrow().line(study, slot.condition, width);
            self.bar.set_prefix(format!("{INDENT}{}", harmless(&line)));
        } else {
            let (round, rate, lost) = (slot.round, Rate(done.throughput_per_s), not_committed(done));
            self.say(&format!("round {round}/{}  {what}: {rate}{lost}", study.rounds));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn phase(&self, what: &str) {
        if self.terminal {
            self.message(what);
        } else {
            self.say(what);
        }
    }

    /// Sets the first line of the bar.
    fn message(&self, text: &str) {
        self.bar.set_message(harmless(text).into_owned());
    }

    /// Prints a line, above the bar if there is one.
    pub fn say(&self, line: &str) {
        if !self.quiet {
            self.always(line);
        }
    }

    fn always(&self, line: &str) {
        if self.terminal {
            self.bar.println(harmless(line));
        } else {
            crate::tell!("{line}");
        }
    }
}

/// `, 7 failed, 49 rejected`; empty if all operations were committed.
fn not_committed(done: &Done) -> String {
    let all = [(done.failed, "failed"), (done.rejected, "rejected")].into_iter().filter(|(count, _)| *count > 0);
    all.map(|(count, word)| format!(", {count} {word}")).collect()
}

/// Writes a message to standard error. Errors of writing are ignored.
pub fn tell(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(harmless(text).as_bytes());
}

/// Prints a line to standard error, without control characters.
#[macro_export]
macro_rules! tell {
    ($($text:tt)*) => { $crate::ui::tell(&(format!($($text)*) + "\n")) };
}

fn place(study: &Study, slot: Slot) -> String {
    let contender = &study.contenders[slot.contender].label;
    match study.conditions.len() {
        1 => contender.clone(),
        _ => format!("{contender}, {}", study.conditions[slot.condition].label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_operations_are_not_called_failed() {
        let of = |failed, rejected| {
            not_committed(&Done { throughput_per_s: 1.0, failed, rejected, window_ns: 1, invalid: vec![] })
        };
        assert_eq!(
            [of(7, 49), of(0, 49), of(7, 0), of(0, 0)],
            [", 7 failed, 49 rejected", ", 49 rejected", ", 7 failed", ""]
        );
    }
}
