//! A service over HTTP: whatever is behind it is somebody else's. It has no data of contend's, so what stands in the
//! place of data is an empty SQLite file, which is copied, checked and measured like any other and says nothing.

use contend::contender::Tier;
use contend::engine::{Driver, Engine, Model, NULL, Part, Setting, Settings, Setup, Values};
use contend_wire::plan::Connections;
use contend_wire::sample::CodeSpace;

pub const ENGINE: Engine = Engine {
    name: "http",
    about: "a service over HTTP, run by somebody else",
    libraries: &[DRIVER, NULL],
    settings: SETTINGS,
    // What a service promises after a power cut is not known here.
    tier: |_| Tier::Unknown,
    keeps: &[],
    log_ending: |_| "",
    commits_by_name: |_| false,
    survives_kill: |_| false,
    syncs: |_| false,
    tier_settings: |_| &[],
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
    server: None,
};

const DRIVER: Driver = Driver {
    name: "http",
    language: "Rust",
    models: &[Model {
        name: "events",
        about: "event loops; a keep-alive connection per client",
        connections: Connections::Client,
        opens: |_| 1,
    }],
    about: "the client of contend's own worker",
    program: None,
    facts: &[],
    executes_nothing: false,
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "url",
        values: Values::Address(check_url),
        default: "",
        about: "where the service is: http://HOST:PORT",
    },
    Setting { name: "host", values: Values::Text, default: "", about: "the Host header, in place of the address" },
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

/// What is wrong with the address of a service, said without the address where it may have a password in it.
///
/// # Errors
/// The reason, and what to do.
pub fn check_url(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, path) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    // A password may have a slash in it.
    if rest.contains('@') {
        return Err("an address has no user or password, as it is part of every record; log in with a request of the \
                    scenario, and see \"Passwords\" in docs/http.md"
            .to_string());
    }
    if scheme == "https" {
        return Err(format!("{url}: only plain http:// is spoken, no https; name the port that answers http://"));
    }
    if scheme != "http" {
        return Err(format!("{url}: only plain http:// is spoken; an address is http://HOST:PORT"));
    }
    if let Some((_, port)) = place.rsplit_once(':').filter(|(_, port)| !port.contains(']'))
        && !port.parse::<u16>().is_ok_and(|port| port > 0)
    {
        return Err(format!("{url}: a port is a number from 1 to 65535, not `{port}`"));
    }
    let trailing = rest.len() - place.len() <= 1 && !rest.ends_with(['?', '#']);
    let nameless = place.is_empty() || place.starts_with(':');
    if nameless || !path.is_empty() || !trailing || place.contains(char::is_whitespace) {
        return Err(format!("{url}: an address is http://HOST:PORT; paths belong to the scenario's requests"));
    }
    Ok(())
}

fn setup(settings: &Settings) -> Setup {
    let value = |name: &str| ENGINE.value(settings, name).to_string();
    let mut options: Vec<(String, String)> =
        ["threads", "timeout_ms", "connection", "cookies"].map(|name| (name.to_string(), value(name))).to_vec();
    options.extend(settings.get("host").map(|host| ("host".to_string(), host.clone())));
    Setup { options, service: Some(value("url")), ..Setup::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port_and_nothing_secret() {
        for url in ["http://127.0.0.1:80", "http://[::1]:80/", "http://[::1]", "http://localhost"] {
            assert_eq!(check_url(url), Ok(()));
        }
        for (url, said) in [
            ("http://eve:geheim@a:80", "no user or password"),
            ("https://eve:ge/heim@a:80", "no user or password"),
            ("eve:geheim@a", "no user or password"),
            ("https://a", "no https"),
            ("a:80", "http://HOST:PORT"),
            ("http://", "http://HOST:PORT"),
            ("http://a/b", "paths belong"),
            ("http://a?", "paths belong"),
            ("http://a b", "http://HOST:PORT"),
            ("http://:80", "http://HOST:PORT"),
            ("http://a:99999", "from 1 to 65535"),
            ("http://a:0", "from 1 to 65535"),
            ("http://a:", "from 1 to 65535"),
            ("http://[::1]:x", "from 1 to 65535"),
        ] {
            let error = check_url(url).unwrap_err();
            assert!(error.contains(said) && !error.contains("heim"), "{url}: {error}");
        }
    }
}
