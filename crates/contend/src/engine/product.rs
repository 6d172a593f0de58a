//! A database product: everything the rest of the tool knows about it, but for its drivers.

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
    /// What of its data survives a crash.
    pub durability: Durability,
    /// Settings that hold whenever these do, whatever the configuration says.
    pub implied: fn(&Settings) -> &'static [(&'static str, &'static str)],
    /// How the settings are applied and read back.
    pub setup: fn(&Settings) -> Setup,
    /// What else is worth asking of a connection on which nothing was set: its name and the SQL that asks.
    pub further: &'static [(&'static str, &'static str)],
    /// Statements on the connection that loads data: settings that are fixed once the data is there.
    pub before_load: fn(&Settings) -> Vec<String>,
    /// Whether one sync of the disk can make several transactions durable at once.
    pub group_commit: bool,
    /// Whether statements reach the data; invariants are asked only then. Engines that execute nothing skip even the lookup of
    /// arguments, so the null driver's cost is not theirs.
    pub executes: bool,
    /// The engine's own check of these tables, given as they stand in its SQL: every row of its answer must end with `ok`.
    pub integrity: fn(&[String]) -> String,
    /// Statements after which the data of these tables takes no more room than it needs.
    pub compact: fn(&[String]) -> Vec<String>,
    /// Asks a compacted database for each table's name and the bytes of its rows and indexes; empty: nothing to ask.
    pub table_bytes: &'static str,
    /// Statements on the connection that loads data. A load that did not finish is never used, so they may be unsafe.
    pub load_session: &'static [&'static str],
    /// What a file or directory of a trial's data is, by its path below it.
    pub part: fn(&str) -> Part,
    /// Whose codes its errors are.
    pub code_space: CodeSpace,
    /// The driver of contend's own worker that loads and inspects data.
    pub loader: &'static str,
    /// Names under which several engines have a setting of one meaning, and this engine's own.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Where its files count commits, if it runs in the process of its client; none: nowhere.
    pub file_commits: Option<&'static FileCommits>,
    /// How it is run; none: in the process of its client.
    pub server: Option<&'static Server>,
}

/// Where the files of a database count the transactions that were committed to it. Each function is given the first 100 bytes of its
/// file, and returns none if they hold no such number.
#[derive(Debug)]
pub struct FileCommits {
    /// In the file of the database.
    pub in_file: fn(&[u8]) -> Option<u32>,
    /// How the name of the file ends that its connections share, where there is one.
    pub shared_ending: &'static str,
    /// In that file.
    pub in_shared: fn(&[u8]) -> Option<u32>,
}

/// What survives a crash of the process, of the server or of the machine, as the settings say.
#[derive(Debug)]
pub struct Durability {
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

impl Engine {
    /// What the settings say about trying again.
    pub fn retry(&self, settings: &Settings) -> Retry {
        let tries = self.own_value(settings, "retry_tries").parse().unwrap_or(1);
        let codes = || codes_worth_retrying(self.code_space);
        match self.own_value(settings, "retry") {
            "spin" => Retry { tries, codes: codes(), ..Retry::never() },
            "backoff" => Retry {
                tries,
                backoff_ns: BACKOFF_MS.map(|ms| ms * 1_000_000).to_vec(),
                // Half to one and a half times the wait, in an order that does not repeat soon.
                jitter_permille: (0..97_u32).map(|i| 500 + ((i * 61 % 97) * 1000 / 97) as u16).collect(),
                codes: codes(),
            },
            _ => Retry::never(),
        }
    }

    /// The tier that settings reach. Where nothing is set, the driver decides what a connection has: it is reported, and there is no
    /// tier.
    pub fn tier_of(&self, settings: &Settings) -> Tier {
        if self.is_as_it_comes(settings) { Tier::Unknown } else { (self.durability.tier)(settings) }
    }

    pub(super) fn is_as_it_comes(&self, settings: &Settings) -> bool {
        self.own_value(settings, OPENED) == AS_IT_COMES
    }

    /// How settings are applied and read back, or left alone.
    pub fn setup_with(&self, settings: &Settings) -> Setup {
        let setup = (self.setup)(settings);
        if self.is_as_it_comes(settings) { self.as_it_comes(setup) } else { setup }
    }

    /// What is left of a setup when nothing is set: the same is asked, and a few things more.
    fn as_it_comes(&self, setup: Setup) -> Setup {
        let further = self.further.iter().map(|(name, sql)| Expected::asked(name, *sql, ""));
        let again = |read: &Expected| self.further.iter().any(|(name, _)| *name == read.name);
        let asked = setup.readbacks.into_iter().filter(|read| !read.sql.is_empty() && !again(read));
        Setup {
            readbacks: asked.chain(further).collect(),
            // Without it a server would not understand the workload.
            session: self.server.map(|server| server::session(server.dialect)).unwrap_or_default(),
            begin_write: setup.begin_write,
            only_told: true,
            ..Setup::default()
        }
    }

    /// The setting with this name: the engine's, or a common one.
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

    /// The value of a setting of the engine's or a common one, its default if it is not named.
    pub fn own_value<'s>(&self, settings: &'s Settings, name: &str) -> &'s str {
        let default = || self.setting_of_its_own(name).expect("a setting of this engine").default;
        settings.get(name).map_or_else(default, String::as_str)
    }
}
