//! The drivers of one worker, which differ in name, program and what there is to know of them.

use super::{Driver, Model, Program};

/// What the drivers of one language have in common: a program for each, built by one command.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub(super) language: &'static str,
    pub(super) models: &'static [Model],
    pub(super) build: &'static str,
    pub(super) needs: &'static str,
    pub(super) programs: &'static [&'static str],
    pub(super) facts: Facts,
}

/// What there is to know of a driver, by name.
pub type Facts = &'static [(&'static str, &'static str)];

impl Worker {
    /// One of its drivers, and the program that has it.
    pub const fn driver(self, name: &'static str, program: &'static str, about: &'static str) -> Driver {
        let Self { language, models, build, needs, programs, facts } = self;
        let program = Some(Program { name: program, build, needs, programs });
        Driver { name, language, models, about, program, facts, executes_nothing: false }
    }

    /// The one that does nothing.
    pub const fn idle(self, name: &'static str, program: &'static str, about: &'static str) -> Driver {
        Driver { facts: &[], executes_nothing: true, ..self.driver(name, program, about) }
    }

    /// The same worker with other facts about the drivers that follow.
    pub const fn with(self, facts: Facts) -> Self {
        Self { facts, ..self }
    }
}
