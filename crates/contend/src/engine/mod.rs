//! Database products contend can measure. Everything the rest of the tool knows about an engine is one
//! [`Engine`] value: its drivers, its table of settings, and how settings become a durability tier and
//! the statements of a connection. Adding an engine adds one file here and one entry to [`ENGINES`].

pub mod app;
mod common;
pub mod go;
pub mod java;
pub mod mariadb;
pub mod node;
pub mod php;
pub mod postgres;
pub mod python;
mod resolved;
pub mod server;
pub mod sqlite;
pub mod translator;
mod worker;

pub use common::{COMMON_SETTINGS, REQUEST_TIMEOUT, as_it_comes};
pub use resolved::{resolved, tier_reported};
pub use worker::{Facts, Worker};

use crate::contender::{Contender, Tier};
use crate::registry::Registry;
use contend_wire::plan::Connections;
use contend_wire::sample::CodeSpace;
use server::Server;
use std::collections::BTreeMap;

/// Settings by name, as text, in canonical form.
pub type Settings = BTreeMap<String, String>;

/// A database product.
#[derive(Debug)]
pub struct Engine {
    pub name: &'static str,
    pub about: &'static str,
    /// Libraries; apps are drivers, too. The first is the default.
    pub libraries: &'static [Driver],
    pub settings: &'static [Setting],
    /// The tier that settings reach; settings not given have the engine's default.
    pub tier: fn(&Settings) -> Tier,
    /// Settings that decide what survives, and how it gets to the disk: what is proved with some values of them says
    /// nothing of others.
    pub keeps: &'static [&'static str],
    /// How the name of the file ends that is synced before data is overwritten; in the process of its client.
    pub log_ending: fn(&Settings) -> &'static str,
    /// Whether a commit is the removal of that file, so that it needs a sync of its directory; in the process of its client.
    pub commits_by_name: fn(&Settings) -> bool,
    /// Whether a commit is still there when only the database's processes die.
    pub survives_kill: fn(&Settings) -> bool,
    /// Whether it ever waits for the disk: if not, a power cut must show.
    pub syncs: fn(&Settings) -> bool,
    /// The settings that `tier = "..."` stands for.
    pub tier_settings: fn(Tier) -> &'static [(&'static str, &'static str)],
    /// Settings that hold whenever these do, whatever the server is told.
    pub implied: fn(&Settings) -> &'static [(&'static str, &'static str)],
    /// How the settings are applied and read back.
    pub setup: fn(&Settings) -> Setup,
    /// What else is worth asking of a connection on which nothing was set: its name and the SQL that asks.
    pub further: &'static [(&'static str, &'static str)],
    /// Statements on the connection that loads data: settings that are fixed once the data is there.
    pub before_load: fn(&Settings) -> Vec<String>,
    /// Whether one sync of the disk can make several transactions durable at once.
    pub group_commit: bool,
    /// Whether statements reach the data; invariants are asked only then. Who executes nothing does less than the null
    /// driver, which at least looks arguments up: its cost says nothing of them.
    pub executes: bool,
    /// The engine's own check of these tables, given as they stand in its SQL: every row of its answer must end with `ok`.
    pub integrity: fn(&[String]) -> String,
    /// Statements after which the data of these tables takes no more room than it needs.
    pub compact: fn(&[String]) -> Vec<String>,
    /// Asks a compacted database for each table's name and the bytes of its rows and indexes; empty: nothing to ask.
    pub table_bytes: &'static str,
    /// Statements on the connection that loads data. Nothing is lost if a load is cut off: one that did not
    /// finish is never used.
    pub load_session: &'static [&'static str],
    /// What a file or directory of a trial's data is, by its path below it.
    pub part: fn(&str) -> Part,
    /// Whose codes its errors are.
    pub code_space: CodeSpace,
    /// The driver of contend's own worker that loads and inspects data.
    pub loader: &'static str,
    /// Names under which several engines have a setting of one meaning, and this engine's own.
    pub aliases: &'static [(&'static str, &'static str)],
    /// How it is run; none: in the process of its client.
    pub server: Option<&'static Server>,
}

/// What a file of an engine's data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Tables and indexes.
    Data,
    /// Write-ahead log or journal.
    Log,
    /// Neither, such as shared memory that has a name; or a directory with nothing of ours in it.
    Other,
    /// A directory to look into.
    Inside,
}

/// A client library and the models in which a worker can use it.
#[derive(Debug)]
pub struct Driver {
    pub name: &'static str,
    pub language: &'static str,
    /// The first is the default.
    pub models: &'static [Model],
    pub about: &'static str,
    /// The worker that has it; none: the tool's own.
    pub program: Option<Program>,
    /// What else there is to know when choosing one, by name.
    pub facts: Facts,
    /// It does nothing, so it has no settings either.
    pub executes_nothing: bool,
}

/// How a worker's threads call a driver, and who shares connections.
#[derive(Debug)]
pub struct Model {
    pub name: &'static str,
    pub about: &'static str,
    pub connections: Connections,
    /// Connections opened for each client, or for each database of a worker, as [`Model::connections`] says.
    pub opens: fn(&Settings) -> u32,
}

impl Model {
    /// Whether it opens as many connections as it is told.
    fn has_pool(&self) -> bool {
        const SIZE: u32 = 7;
        (self.opens)(&[("pool_size".to_string(), SIZE.to_string())].into()) == SIZE
    }
}

/// A worker that is a program of its own.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// The command that builds it, in the project's directory.
    pub build: &'static str,
    /// What that and the worker itself need, and the command that installs it.
    pub needs: &'static str,
    /// Names of the programs among that.
    pub programs: &'static [&'static str],
}

/// One OS thread for each client, with a connection of its own.
pub const THREAD: Model = Model {
    name: "thread",
    about: "one OS thread and connection per client",
    connections: Connections::Client,
    opens: |_| 1,
};

/// The driver that does nothing, which every engine has.
pub const NULL: Driver = Driver {
    name: "null",
    language: "Rust",
    models: &[THREAD],
    about: "does nothing: the worker's own cost",
    program: None,
    facts: &[],
    executes_nothing: true,
};

/// The setting that says how clients reach the database, which every engine has with values of its own.
pub const TRANSPORT: &str = "transport";

/// Its value for clients that ask a worker over HTTP, in which the driver is.
pub const HTTP: &str = "http";

/// One setting a contender may name.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    pub values: Values,
    /// What holds when it is not named.
    pub default: &'static str,
    pub about: &'static str,
}

/// What a setting may be.
#[derive(Debug)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number in this range.
    Integer(i64, i64),
    /// Any text that is not empty.
    Text,
    /// The address of a service.
    Address(fn(&str) -> Result<(), String>),
}

/// Settings as a plan carries them out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Options of the worker.
    pub options: Vec<(String, String)>,
    /// Run on every new connection.
    pub session: Vec<String>,
    /// Read back from every connection, each with the value that must be found.
    pub readbacks: Vec<Expected>,
    /// Run once on fresh data, before any worker connects.
    pub prepare: Vec<String>,
    /// SQL that begins a transaction that writes and does not say itself how.
    pub begin_write: Option<String>,
    /// The data is there for one connection only.
    pub one_connection: bool,
    /// What is read back is only told: nothing was set.
    pub only_told: bool,
    /// Where the clients go instead of the data: a service that somebody else runs.
    pub service: Option<String>,
}

/// A setting that is read back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    pub name: String,
    pub sql: String,
    pub value: String,
    /// What will do as well, such as the answer of a version that has no such setting and works that way always.
    pub or: Option<&'static str>,
}

impl Expected {
    /// Asked of every connection.
    fn asked(name: &str, sql: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.to_string(), sql: sql.into(), value: value.into(), or: None }
    }

    /// Reported by the worker, of itself.
    fn reported(name: &str, value: impl Into<String>) -> Self {
        Self::asked(name, "", value)
    }

    /// Whether this is what was to be found.
    pub fn is(&self, found: &str) -> bool {
        found == self.value || Some(found) == self.or
    }
}

/// All engines.
pub const ENGINES: &[&Engine] = &[&sqlite::ENGINE, &postgres::ENGINE, &mariadb::ENGINE, &translator::ENGINE];

/// What is measured like an engine, but keeps its data where contend cannot see it.
pub static SERVICES: Registry<Engine> = Registry::empty();

/// The engine of this name.
pub fn find(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().chain(SERVICES.all()).copied().find(|engine| engine.name == name)
}

/// Whether what has this name keeps its data where contend cannot see it.
pub fn is_service(name: &str) -> bool {
    SERVICES.all().iter().any(|engine| engine.name == name)
}

/// The driver of a contender.
pub fn driver(contender: &Contender) -> Option<&'static Driver> {
    find(&contender.engine)?.drivers().find(|driver| driver.name == contender.driver)
}

/// The model of a contender.
pub fn model(contender: &Contender) -> Option<&'static Model> {
    driver(contender)?.model(&contender.model)
}

/// The dialect of a driver that has another one than its engine; such a driver makes and loads its tables itself.
pub fn own_dialect(contender: &Contender) -> Option<contend_sql::Target> {
    php::OWN_DIALECT.iter().find(|(name, _)| *name == contender.driver).map(|(_, target)| *target)
}

/// Whether a contender's statements stand between savepoints wherever a transaction is open.
pub fn has_savepoints(contender: &Contender) -> bool {
    contender.engine == postgres::ENGINE.name && postgres::has_savepoints(&contender.settings)
}

/// Whether a contender's clients ask a worker over HTTP.
pub fn is_over_http(contender: &Contender) -> bool {
    let over = |engine: &Engine| engine.value(&contender.settings, TRANSPORT) == HTTP;
    find(&contender.engine).is_some_and(|engine| engine.setting(TRANSPORT).is_some() && over(engine))
}

/// Whether a contender is an app: its requests are those of a scenario, not of the workload's transactions.
pub fn is_app(contender: &Contender) -> bool {
    app::is_app(&contender.driver)
}

/// Whether a contender's statements reach its data.
pub fn executes(contender: &Contender) -> bool {
    let nothing = driver(contender).is_some_and(|driver| driver.executes_nothing);
    !nothing && find(&contender.engine).is_some_and(|engine| engine.executes)
}

/// Whether a contender can commit inside of a kernel whose power is cut: its database and its driver are in the tool's own
/// worker, and its settings promise that what is left is consistent.
pub fn can_boot(contender: &Contender) -> bool {
    let embedded = find(&contender.engine).is_some_and(|engine| engine.executes && engine.server.is_none());
    let own = driver(contender).is_some_and(|driver| driver.program.is_none() && !driver.executes_nothing);
    let promises = matches!(contender.tier, Tier::Durable | Tier::Bounded);
    embedded && own && promises && !is_over_http(contender) && !as_it_comes(contender)
}

/// The driver of the same worker that does nothing: what it takes is the worker's, and its language's, own cost. None for an
/// app, and for clients that ask over HTTP, who live in the tool's own worker.
pub fn floor_of(contender: &Contender) -> Option<&'static Driver> {
    let own = driver(contender).filter(|_| !is_app(contender) && !is_over_http(contender))?;
    let libraries = find(&contender.engine)?.libraries;
    libraries.iter().find(|driver| driver.executes_nothing && driver.language == own.language)
}

/// How a contender's settings are applied and read back.
pub fn setup_of(engine: &Engine, contender: &Contender) -> Setup {
    let setup = engine.setup_with(&contender.settings);
    if driver(contender).is_some_and(|driver| driver.executes_nothing) {
        let of_pool = |name: &String| go::OF_POOL.contains(&name.as_str());
        return Setup {
            options: setup.options.into_iter().filter(|(name, _)| of_pool(name)).collect(),
            readbacks: setup.readbacks.into_iter().filter(|read| of_pool(&read.name)).collect(),
            prepare: setup.prepare,
            begin_write: setup.begin_write,
            ..Setup::default()
        };
    }
    setup
}

impl Model {
    /// Whether clients of one process wait for each other even before they call the driver: for a runtime, a connection or a
    /// thread that they share.
    pub fn clients_share(&self) -> bool {
        self.connections == Connections::Database || self.name == node::EVENT_LOOP.name
    }
}

impl Driver {
    /// The model of this name.
    pub fn model(&self, name: &str) -> Option<&'static Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Names of all its models, for messages.
    pub fn model_names(&self) -> Vec<&'static str> {
        self.models.iter().map(|model| model.name).collect()
    }
}

impl Engine {
    /// Whether a contender with this driver and model, as far as they are said, can name this setting: those of pools are for
    /// models that have one, those of an app for it alone.
    pub fn may_name(&self, driver: Option<&str>, model: Option<&str>, setting: &str) -> bool {
        let of_pool = go::OF_POOL.contains(&setting);
        let has_pool = |driver: &Driver| {
            let mut models = driver.models.iter().filter(|known| model.is_none_or(|model| model == known.name));
            models.any(Model::has_pool)
        };
        let named = driver.and_then(|name| self.drivers().find(|driver| driver.name == name));
        app::may_name(driver, setting) && (!of_pool || named.is_none_or(has_pool))
    }

    /// Its drivers: libraries, then apps.
    pub fn drivers(&self) -> impl Iterator<Item = &'static Driver> + use<> {
        self.libraries.iter().chain(app::drivers(self.name))
    }

    /// Settings in the order in which they are listed: its own, those of apps on it, common ones.
    fn all_settings(&self) -> impl Iterator<Item = &'static Setting> {
        self.settings.iter().chain(app::settings(self.name)).chain(COMMON_SETTINGS)
    }

    /// The setting of this name: the engine's own, of an app on it, or a common one.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.all_settings().find(|setting| setting.name == name)
    }

    /// As [`Engine::setting`], but without those of apps.
    pub fn setting_of_its_own(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().chain(COMMON_SETTINGS).find(|setting| setting.name == name)
    }

    /// This engine's name for a setting that several engines have under one name.
    pub fn own_name<'n>(&self, name: &'n str) -> &'n str {
        self.aliases.iter().find(|(common, _)| *common == name).map_or(name, |(_, own)| own)
    }

    /// The settings that connections report as these facts; what no setting has said that way is left out.
    pub fn settings_told(&self, told: &BTreeMap<String, String>) -> Settings {
        let as_set = |name: &str, word: &str| {
            let settings = Settings::from([(name.to_string(), word.to_string())]);
            (self.setup)(&settings).readbacks.into_iter().find(|read| read.name == name).map(|read| read.value)
        };
        let of = |setting: &Setting| {
            let value = told.get(setting.name)?;
            let word = match setting.values {
                Values::Words(words) => words.iter().find(|word| as_set(setting.name, word).as_ref() == Some(value))?,
                Values::Integer(..) | Values::Text | Values::Address(_) => value.as_str(),
            };
            Some((setting.name.to_string(), word.to_string()))
        };
        self.settings.iter().filter_map(of).collect()
    }

    /// Names of all settings, for messages.
    pub fn setting_names(&self) -> Vec<&'static str> {
        self.all_settings().map(|setting| setting.name).collect()
    }

    /// The value of a setting, its default if it is not named.
    pub fn value<'s>(&self, settings: &'s Settings, name: &str) -> &'s str {
        settings
            .get(name)
            .map(String::as_str)
            .unwrap_or_else(|| self.setting(name).expect("a setting of this engine").default)
    }
}

impl Setting {
    /// The canonical form of a value.
    ///
    /// # Errors
    /// What the setting may be, in words.
    pub fn canonical(&self, value: &str) -> Result<String, String> {
        if matches!(self.values, Values::Text) {
            let text = value.trim();
            return if text.is_empty() { Err(format!("`{}` is empty", self.name)) } else { Ok(text.to_string()) };
        }
        if let Values::Address(check) = self.values {
            return check(value.trim()).map(|()| value.trim().to_string());
        }
        let value = value.trim().to_ascii_lowercase();
        match self.values {
            Values::Words(words) if words.contains(&value.as_str()) => Ok(value),
            Values::Words(words) => {
                Err(format!("`{}` cannot be `{value}`; it is one of {}", self.name, words.join(", ")))
            }
            Values::Text | Values::Address(_) => Ok(value),
            Values::Integer(low, high) => match value.parse::<i64>() {
                Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
                _ => Err(format!("`{}` cannot be `{value}`; it is a whole number from {low} to {high}", self.name)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
