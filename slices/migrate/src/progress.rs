//! Shows progress on standard error: a bar for each table on a terminal, a line for the beginning of each phase elsewhere, and
//! how long each phase took.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Instant;

/// Shows progress.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    /// The current phase, and when it began.
    phase: RefCell<Option<(String, Instant)>>,
}

impl Progress {
    pub fn new() -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{wide_msg} [{bar:24}] {human_pos}/{human_len} rows  {eta} left");
        bar.set_style(style.expect("a template of known fields").progress_chars("=> "));
        Progress { bar, is_terminal, phase: RefCell::default() }
    }

    /// Begins a task of a phase.
    pub fn begin(&self, what: &str, rows: Option<u64>) {
        self.bar.reset();
        self.bar.set_length(rows.unwrap_or(0));
        self.bar.set_message(what.to_string());
    }

    /// Begins a phase, which consists of several tasks.
    pub fn phase(&self, what: &str) {
        self.end_phase();
        if !self.is_terminal {
            contend::tell!("contend: {what}");
        }
        *self.phase.borrow_mut() = Some((what.to_string(), Instant::now()));
    }

    fn end_phase(&self) {
        if let Some((what, begun)) = self.phase.take() {
            self.bar.suspend(|| contend::tell!("contend: {what} took {:.2} s", begun.elapsed().as_secs_f64()));
        }
    }

    pub fn at(&self, rows: u64) {
        self.bar.set_position(rows);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end_phase();
        self.bar.finish_and_clear();
    }
}
