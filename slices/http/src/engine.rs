//! A service over HTTP that is not contend's. In the place of its data stands an empty SQLite file, which is copied, checked and
//! measured like any other data, without a meaning.

use crate::url::check_url;
use contend::contender::Tier;
use contend::engine::{CheckAddress, Durability, Engine, Part, Setting, Settings, Setup, Values};
use contend_wire::sample::CodeSpace;

pub const ENGINE: Engine = Engine {
    name: "http",
    about: "an HTTP service that contend does not run",
    settings: SETTINGS,
    durability: Durability {
        // What a service promises after a power cut is not known here.
        tier: |_| Tier::Unknown,
        keeps: &[],
        log_ending: |_| "",
        commits_by_name: |_| false,
        survives_kill: |_| false,
        syncs: |_| false,
        tier_settings: |_| &[],
    },
    implied: |_| &[],
    setup,
    further: &[],
    before_load: |_| vec![],
    group_commit: true,
    executes: true,
    integrity: |_| "SELECT 'ok'".to_string(),
    compact: |_| vec![],
    table_bytes: "",
    load_session: &[],
    part: |_| Part::Other,
    code_space: CodeSpace::Http,
    loader: "rusqlite",
    aliases: &[],
    file_commits: None,
    server: None,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "url",
        values: Values::Address(CheckAddress(check_url)),
        default: "",
        about: "where the service is: http://HOST:PORT",
    },
    Setting { name: "host", values: Values::Text, default: "", about: "the Host header, instead of the address" },
    Setting {
        name: "threads",
        values: Values::Integer(1, 64),
        default: "1",
        about: "event loops of each worker process",
    },
    Setting {
        name: "timeout_ms",
        values: Values::Integer(1, 86_400_000),
        default: "30000",
        about: "of each request, connecting included",
    },
    Setting {
        name: "connection",
        values: Values::Words(&["keep-alive", "close"]),
        default: "keep-alive",
        about: "close: a new TCP connection for each request",
    },
    Setting { name: "cookies", values: Values::Words(&["on", "off"]), default: "on", about: "a jar for each client" },
];

fn setup(settings: &Settings) -> Setup {
    let value = |name: &str| ENGINE.own_value(settings, name).to_string();
    let mut options: Vec<(String, String)> =
        ["threads", "timeout_ms", "connection", "cookies"].map(|name| (name.to_string(), value(name))).to_vec();
    options.extend(settings.get("host").map(|host| ("host".to_string(), host.clone())));
    Setup { options, service: Some(value("url")), ..Setup::default() }
}
