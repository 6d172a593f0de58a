//! Client libraries and the models in which a worker can use them; the manifests of workers and apps list them.

use super::pool;
use super::setting::{Setting, Settings};
use contend_sql::Target;
use contend_wire::plan::Connections;

/// A client library and the models in which a worker can use it.
#[derive(Debug, Clone, Copy)]
pub struct Driver {
    pub name: &'static str,
    pub language: &'static str,
    /// Engines that it speaks to.
    pub engines: &'static [&'static str],
    /// The first is the default.
    pub models: &'static [Model],
    pub about: &'static str,
    /// The worker with this driver; `None` for the tool's own.
    pub program: Option<Program>,
    /// Further facts for choosing a driver.
    pub facts: Facts,
    /// Settings that only this worker has.
    pub settings: &'static [Setting],
    /// Whether it is a null driver, which has no settings either.
    pub executes_nothing: bool,
    /// Whether its language has a garbage collector, whose pauses its worker reports.
    pub collector: bool,
    /// Its dialect if that differs from the engine's; the driver then creates and loads its tables itself.
    pub dialect: Option<Target>,
    /// Whether it sends a workload's SQL to a server as it is written, in SQLite's dialect. Its tables are loaded as for the
    /// engine's other drivers, and then made a SQLite database.
    pub sends_as_written: bool,
    /// How the conformance suite tests it.
    pub conformance: Conformance,
}

/// Facts of a driver: name and value.
pub type Facts = &'static [(&'static str, &'static str)];

/// How a worker's threads call a driver, and who shares connections.
#[derive(Debug, Clone)]
pub struct Model {
    pub name: &'static str,
    pub about: &'static str,
    pub connections: Connections,
    /// Connections opened for each client, or for each database of a worker, as `connections` says.
    pub opens: Opens,
    /// Whether the clients of one process share a thread although each has its connection.
    pub clients_share: bool,
    /// Requirements of conformance cases that this model lacks.
    pub lacks: &'static [&'static str],
}

/// A number of connections.
#[derive(Debug, Clone, Default)]
pub struct Opens {
    pub fixed: u32,
    /// A setting whose value is added, and its default.
    pub setting: Option<(&'static str, u32)>,
    /// The setting and value with which one connection is opened at first, whatever the other settings.
    pub one_with: Option<(&'static str, &'static str)>,
}

/// A worker that is a program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    /// The command that builds it, in the project's directory; empty if unknown.
    pub build: &'static str,
    /// What the build and the worker need, and the command that installs it.
    pub needs: &'static str,
    /// Names of the programs among these needs.
    pub programs: &'static [&'static str],
    /// The command that starts it from its manifest's directory without a build; empty if there is none.
    pub run: &'static [&'static str],
}

/// Facts of a driver for the conformance suite.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conformance {
    /// Requirements of cases that it lacks.
    pub lacks: &'static [&'static str],
    /// Options of every plan.
    pub options: Facts,
    /// Words in cases that its dialect lacks, with their replacements.
    pub words: Facts,
    /// Models that are tested a second time.
    pub variants: &'static [Variant],
    /// Cases it fails.
    pub fails: &'static [Fails],
}

/// A model with options.
#[derive(Debug)]
pub struct Variant {
    /// Behind the model's name.
    pub name: &'static str,
    pub model: &'static str,
    pub options: Facts,
}

/// A case that a driver fails.
#[derive(Debug, Clone, Copy)]
pub struct Fails {
    pub case: &'static str,
    /// Texts that the failure's message must hold.
    pub says: &'static [&'static str],
    /// Why the driver fails the case and may still be compared.
    pub reason: &'static str,
}

impl Opens {
    /// One connection.
    pub const ONE: Self = Self { fixed: 1, setting: None, one_with: None };
}

impl Model {
    /// Connections with these settings.
    pub fn opens(&self, settings: &Settings) -> u32 {
        let Opens { fixed, setting, one_with } = self.opens;
        if one_with.is_some_and(|(name, value)| settings.get(name).is_some_and(|named| named == value)) {
            return 1;
        }
        let value = |(name, default)| settings.get(name).and_then(|named| named.parse().ok()).unwrap_or(default);
        fixed + setting.map_or(0, value)
    }

    /// Whether a setting of pools decides how many connections it opens.
    pub fn has_pool(&self) -> bool {
        self.opens.setting.is_some_and(|(name, _)| name == pool::SIZE)
    }

    /// Whether clients of one process may wait for each other before they call the driver, because they share a
    /// runtime, a connection or a thread.
    pub fn clients_share(&self) -> bool {
        self.clients_share || self.connections == Connections::Database
    }
}

impl Driver {
    /// The model with this name.
    pub fn model(&self, name: &str) -> Option<&'static Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Names of all its models, for messages.
    pub fn model_names(&self) -> Vec<&'static str> {
        self.models.iter().map(|model| model.name).collect()
    }
}
