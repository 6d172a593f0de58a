//! A service over HTTP that contend does not run. An empty SQLite file stands for its data; it is copied, checked and
//! measured like any other data, without meaning.

use crate::url::check_url;
use contend::engine::{CheckAddress, Engine, Setting, Settings, Setup, Values};
use contend_wire::sample::CodeSpace;

pub const ENGINE: Engine = Engine {
    name: "http",
    about: "an HTTP service that contend does not run",
    settings: SETTINGS,
    setup,
    executes: true,
    code_space: CodeSpace::Http,
    ..Engine::WITHOUT_DATA
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "url",
        values: Values::Address(CheckAddress(check_url)),
        default: "",
        about: "where the service is: http://HOST:PORT or https://HOST:PORT",
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
    Setting {
        name: "ca",
        values: Values::Text,
        default: "",
        about: "file of the certificates that https:// trusts, in place of the system's",
    },
    Setting {
        name: "pid",
        values: Values::Integer(0, 4_194_304),
        default: "0",
        about: "first process of the service on this machine, whose use is measured; 0: none",
    },
    Setting { name: "cookies", values: Values::Words(&["on", "off"]), default: "on", about: "a jar for each client" },
];

fn setup(settings: &Settings) -> Setup {
    let value = |name: &str| ENGINE.own_value(settings, name).to_string();
    let mut options: Vec<(String, String)> =
        ["threads", "timeout_ms", "connection", "cookies"].map(|name| (name.to_string(), value(name))).to_vec();
    for name in ["host", "ca"] {
        options.extend(settings.get(name).map(|value| (name.to_string(), value.clone())));
    }
    let service_pid = value("pid").parse().ok().filter(|pid| *pid != 0);
    Setup { options, service: Some(value("url")), service_pid, ..Setup::default() }
}
