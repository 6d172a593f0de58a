//! The workers that have to pass: each driver of the manifests (`workers/*/worker.toml`) in each of its models. A worker that is a
//! program takes part where it is built.

use crate::support::root;
use crate::support::workers::program as program_of;
use contend::engine::{self, Driver, Fails, Model, Settings, Variant, workers};
use contend_wire::plan::Connections;
use std::sync::LazyLock;

/// Names and values.
type Pairs = &'static [(&'static str, &'static str)];

/// A driver in a model.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Folder of `conformance/` with its cases.
    pub engine: &'static str,
    pub driver: &'static str,
    pub model: &'static str,
    pub connections: Connections,
    /// None: the tool itself.
    pub program: Option<&'static str>,
    /// Behind the model's name, where the same model is tested twice.
    pub variant: &'static str,
    /// Options of every plan.
    pub options: Pairs,
    /// Connections opened for each database, if clients share them.
    pub opens: usize,
    /// What it cannot do, of the words that cases need.
    pub lacks: &'static [&'static str],
    /// What the cases say in words that its dialect does not have, and what they say to it instead.
    pub words: Pairs,
    /// Cases it fails. One that passes after all fails the test, and so does one that fails otherwise.
    pub known: &'static [Fails],
}

/// Everything that is to pass on SQLite, and the workers of the cases that one driver alone has.
pub static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| entries(false));

/// Those of engines that are servers.
pub static SERVER_ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| entries(true));

fn entries(on_servers: bool) -> Vec<Entry> {
    let engines = engine::ENGINES.iter().filter(|engine| engine.executes && engine.server.is_some() == on_servers);
    // The cases of a server are in its SQL. `tests/shim` compares a driver that sends SQLite's.
    let has_cases = |driver: &&Driver| !driver.executes_nothing && !driver.sends_as_written;
    let of = |name| workers::all().filter(move |driver| driver.engines.contains(&name)).filter(has_cases);
    engines.flat_map(|engine| of(engine.name).flat_map(|driver| of_driver(driver, engine.name))).collect()
}

fn of_driver(driver: &'static Driver, engine: &'static str) -> Vec<Entry> {
    let mut found: Vec<Entry> = driver.models.iter().map(|model| in_model(driver, engine, model)).collect();
    let own = root().join("conformance").join(driver.name);
    if own.is_dir() {
        found.push(Entry { engine: driver.name, variant: "-own", words: &[], known: &[], ..found[0] });
    }
    found.extend(driver.conformance.variants.iter().map(|Variant { name, model, options }| {
        let model = driver.model(model).expect("a model of the driver");
        let opens = model.opens(&settings(options)) as usize;
        Entry { variant: name, options, opens, ..in_model(driver, engine, model) }
    }));
    found
}

fn in_model(driver: &'static Driver, engine: &'static str, model: &'static Model) -> Entry {
    let pool: Pairs = if model.has_pool() { &[("pool_size", "4")] } else { &[] };
    let options = [driver.conformance.options, pool].concat().leak();
    Entry {
        engine,
        driver: driver.name,
        model: model.name,
        connections: model.connections,
        program: driver.program.as_ref().map(|program| program.name),
        variant: "",
        options,
        opens: model.opens(&settings(options)) as usize,
        lacks: [driver.conformance.lacks, model.lacks].concat().leak(),
        words: driver.conformance.words,
        known: driver.conformance.fails,
    }
}

fn settings(options: Pairs) -> Settings {
    options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

impl Entry {
    pub fn name(&self) -> String {
        format!("{}/{}{}", self.driver, self.model, self.variant)
    }

    /// The driver of the witness, which is the Rust worker.
    pub fn witness(&self) -> &'static str {
        match self.engine {
            "postgres" => "postgres",
            "mariadb" => "mysql",
            _ => "rusqlite",
        }
    }

    /// The text of a case in the words of its dialect.
    pub fn in_its_words(&self, text: &str) -> String {
        self.words.iter().fold(text.to_string(), |text, (ours, its)| text.replace(ours, its))
    }

    /// Whether it carries out scripts.
    pub fn has_scripts(&self) -> bool {
        !self.lacks.contains(&"scripts")
    }

    /// How to start it; none where it is not built.
    pub fn command(&self, tool: &str) -> Option<Vec<String>> {
        let Some(program) = self.program else { return Some(vec![tool.to_string(), "worker".to_string()]) };
        program_of(program).map(|path| vec![path.display().to_string()])
    }
}
