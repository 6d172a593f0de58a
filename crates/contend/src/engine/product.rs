//! A database product: everything that the tool knows about it, except its drivers.

use super::common::{AS_IT_COMES, BACKOFF_MS, COMMON_SETTINGS, OPENED};
use super::server::{self, Server};
use super::setting::{Expected, Setting, Settings, Setup, Values};
use crate::contender::Tier;
use crate::outcome::codes_worth_retrying;
use contend_wire::plan::Retry;
use contend_wire::sample::CodeSpace;
use std::collections::BTreeMap;

/// A database product.
#[derive(Debug)]
pub struct Engine {
    pub name: &'static str,
    pub about: &'static str,
    pub settings: &'static [Setting],
    /// What survives a crash.
    pub durability: Durability,
    /// Settings that follow from these, whatever the configuration.
    pub implied: fn(&Settings) -> &'static [(&'static str, &'static str)],
    /// How the settings are applied and read back.
    pub setup: fn(&Settings) -> Setup,
    /// Further facts to read from a connection on which nothing was set: name and SQL.
    pub further: &'static [(&'static str, &'static str)],
    /// Statements on the connection that loads data: settings that are fixed once the data is there.
    pub before_load: fn(&Settings) -> Vec<String>,
    /// Whether one sync of the disk can make several transactions durable at once.
    pub group_commit: bool,
    /// Whether statements reach the data; invariants are checked only then. Engines that execute nothing skip even the
    /// lookup of arguments, so the null driver's overhead does not apply to them.
    pub executes: bool,
    /// The engine's integrity check of these tables (names quoted for its SQL); every row of its answer must end with
    /// `ok`.
    pub integrity: fn(&[String]) -> String,
    /// Query for what the schema consists of: kind, name, table and definition of each object, without those that
    /// the engine makes by itself; empty if there is none.
    pub schema: &'static str,
    /// First word of the definition of each table there that a crash leaves as it was; empty if the settings alone decide it.
    pub crash_safe: &'static str,
    /// Statements that compact the data of these tables.
    pub compact: fn(&[String]) -> Vec<String>,
    /// Query of a compacted database for each table's name and the bytes of its rows and indexes; empty if there is
    /// none.
    pub table_bytes: &'static str,
    /// Statements on the connection that loads data. They may be unsafe, because an interrupted load is never used.
    pub load_session: &'static [&'static str],
    /// Kind of a file or directory, by its path in a trial's data.
    pub part: fn(&str) -> Part,
    /// Space of its error codes.
    pub code_space: CodeSpace,
    /// The driver of contend's own worker that loads and inspects data.
    pub loader: &'static str,
    /// Names under which several engines have a setting of one meaning, and this engine's own.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Where an embedded engine's files count commits; `None` if they do not.
    pub file_commits: Option<&'static FileCommits>,
    /// How its server is run; `None` for an embedded engine.
    pub server: Option<&'static Server>,
}

/// Where the files of a database count committed transactions. Each function gets the first 100 bytes of its file, and
/// returns `None` if they hold no count.
#[derive(Debug)]
pub struct FileCommits {
    /// Count in the database file.
    pub in_file: fn(&[u8]) -> Option<u32>,
    /// Suffix of the file that its connections share, where there is one.
    pub shared_ending: &'static str,
    /// Count in the shared file.
    pub in_shared: fn(&[u8]) -> Option<u32>,
    /// Whether each transaction looks at the count itself with a call of the kernel, by the settings that connections report.
    pub looked_at_by_each: fn(&Settings) -> bool,
    /// For how many syncs, one after the other, each commit waits at least, by a contender's settings.
    pub syncs_of_each: fn(&Settings) -> u64,
    /// Suffix of the file that each commit creates, changes or removes next to the database, by a contender's settings.
    pub touched_by_each: fn(&Settings) -> Option<&'static str>,
}

/// What survives a crash of the process, of the server or of the machine, according to the settings.
#[derive(Debug)]
pub struct Durability {
    /// The tier of settings; missing ones have the engine's default.
    pub tier: fn(&Settings) -> Tier,
    /// Settings that decide what survives and how it gets to the disk: a proof holds only for the same values.
    pub keeps: &'static [&'static str],
    /// Embedded engines: suffix of the file that is synced before data is overwritten.
    pub log_ending: fn(&Settings) -> &'static str,
    /// Embedded engines: whether a commit is the removal of that file, which needs a sync of its directory.
    pub commits_by_name: fn(&Settings) -> bool,
    /// Whether a commit survives the death of the database's processes alone.
    pub survives_kill: fn(&Settings) -> bool,
    /// Whether it ever waits for the disk; if not, power cuts must lose commits.
    pub syncs: fn(&Settings) -> bool,
    /// The settings that `tier = "..."` stands for.
    pub tier_settings: fn(Tier) -> &'static [(&'static str, &'static str)],
}

impl Durability {
    /// Nothing is stored, or what keeps the data cannot be seen.
    pub const UNKNOWN: Self = Self {
        tier: |_| Tier::Unknown,
        keeps: &[],
        log_ending: |_| "",
        commits_by_name: |_| false,
        survives_kill: |_| false,
        syncs: |_| false,
        tier_settings: |_| &[],
    };
}

/// Kind of a file of an engine's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Tables and indexes.
    Data,
    /// Write-ahead log or journal.
    Log,
    /// Neither, such as shared memory as a file, or a directory without contend's data.
    Other,
    /// A directory to look into.
    Inside,
}

impl Engine {
    /// An engine without data of its own, for the fields that such an engine leaves open. A SQLite file stands for its
    /// data.
    pub const WITHOUT_DATA: Self = Self {
        name: "",
        about: "",
        settings: &[],
        durability: Durability::UNKNOWN,
        implied: |_| &[],
        setup: |_| Setup::default(),
        further: &[],
        before_load: |_| vec![],
        group_commit: true,
        executes: false,
        integrity: |_| "SELECT 'ok'".to_string(),
        schema: "",
        crash_safe: "",
        compact: |_| vec![],
        table_bytes: "",
        load_session: &[],
        part: |_| Part::Other,
        code_space: CodeSpace::Worker,
        loader: "rusqlite",
        aliases: &[],
        file_commits: None,
        server: None,
    };

    /// The retry policy of the settings.
    pub fn retry(&self, settings: &Settings) -> Retry {
        let tries = self.own_value(settings, "retry_tries").parse().unwrap_or(1);
        let codes = || codes_worth_retrying(self.code_space);
        match self.own_value(settings, "retry") {
            "spin" => Retry { tries, codes: codes(), ..Retry::never() },
            "backoff" => Retry {
                tries,
                backoff_ns: BACKOFF_MS.map(|ms| ms * 1_000_000).to_vec(),
                // 0.5 to 1.5 times the wait, in an order that repeats late.
                jitter_permille: (0..97_u32).map(|i| 500 + ((i * 61 % 97) * 1000 / 97) as u16).collect(),
                codes: codes(),
            },
            _ => Retry::never(),
        }
    }

    /// The tier of settings. If nothing is set on connections, the driver decides and the tier is unknown.
    pub fn tier_of(&self, settings: &Settings) -> Tier {
        if self.is_as_it_comes(settings) { Tier::Unknown } else { (self.durability.tier)(settings) }
    }

    pub(super) fn is_as_it_comes(&self, settings: &Settings) -> bool {
        self.own_value(settings, OPENED) == AS_IT_COMES
    }

    /// How settings are applied and read back, or only read back.
    pub fn setup_with(&self, settings: &Settings) -> Setup {
        let setup = (self.setup)(settings);
        if self.is_as_it_comes(settings) { self.as_it_comes(setup) } else { setup }
    }

    /// The setup without anything set: the same is read back, with further facts.
    fn as_it_comes(&self, setup: Setup) -> Setup {
        let further = self.further.iter().map(|(name, sql)| Expected::asked(name, *sql, ""));
        let again = |read: &Expected| self.further.iter().any(|(name, _)| *name == read.name);
        let asked = setup.readbacks.into_iter().filter(|read| !read.sql.is_empty() && !again(read));
        Setup {
            readbacks: asked.chain(further).collect(),
            // Servers need this to understand the translated workload.
            session: self.server.map(|server| server::session(server.dialect)).unwrap_or_default(),
            begin_write: setup.begin_write,
            only_read: true,
            ..Setup::default()
        }
    }

    /// The setting with this name: the engine's, or a common one.
    pub fn setting_of_its_own(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().chain(COMMON_SETTINGS).find(|setting| setting.name == name)
    }

    /// This engine's name for a setting with a shared name.
    pub fn own_name<'n>(&self, name: &'n str) -> &'n str {
        self.aliases.iter().find(|(common, _)| *common == name).map_or(name, |(_, own)| own)
    }

    /// The settings for facts that connections reported; facts that are not settings are left out.
    pub fn settings_reported(&self, reported: &BTreeMap<String, String>) -> Settings {
        let as_set = |name: &str, word: &str| {
            let settings = Settings::from([(name.to_string(), word.to_string())]);
            (self.setup)(&settings).readbacks.into_iter().find(|read| read.name == name).map(|read| read.value)
        };
        let of = |setting: &Setting| {
            let value = reported.get(setting.name)?;
            let word = match setting.values {
                Values::Words(words) => words.iter().find(|word| as_set(setting.name, word).as_ref() == Some(value))?,
                Values::Integer(..) | Values::Text | Values::Address(_) => value.as_str(),
            };
            Some((setting.name.to_string(), word.to_string()))
        };
        self.settings.iter().filter_map(of).collect()
    }

    /// The value of an engine's or common setting, or its default.
    pub fn own_value<'s>(&self, settings: &'s Settings, name: &str) -> &'s str {
        let default = || self.setting_of_its_own(name).expect("a setting of this engine").default;
        settings.get(name).map_or_else(default, String::as_str)
    }
}
