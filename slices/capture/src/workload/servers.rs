//! The servers that can carry out a workload: a study asks no others.

use crate::manifest::{Manifest, Values};
use crate::workload::unheld;
use anyhow::Result;
use contend::engine::ENGINES;
use contend::source::Source;
use contend::workload::{self, Dialect};

/// A server's name in study files, and for people.
pub struct Server {
    pub engine: &'static str,
    pub title: &'static str,
}

/// The servers for the workload of a capture. If one is left out of a capture that has hashes, a sentence says how to get their values.
///
/// # Errors
/// The text is no workload.
pub fn of_capture(
    manifest: &Manifest,
    workload: &str,
    unheld: Option<&String>,
    left_out: &mut Vec<String>,
) -> Result<Vec<Server>> {
    let found = of("capture", workload, unheld, left_out)?;
    if manifest.values == Values::Hash && unheld.is_none() && !left_out.is_empty() {
        left_out.push(format!(
            "The capture has hashes, and a translation may need a value of the text, such as a label of json_object(). \
             With values: {}",
            manifest.with_values()
        ));
    }
    Ok(found)
}

/// The servers on which a workload can run; `left_out` gets a sentence for each of the others. `unheld`: why they cannot hold what
/// its statements store.
///
/// # Errors
/// The text is no workload.
pub fn of(name: &str, workload: &str, unheld: Option<&String>, left_out: &mut Vec<String>) -> Result<Vec<Server>> {
    let own = workload::parse(&Source::new(format!("{name}.toml"), workload.to_string()))?;
    let of_rows = unheld::of_rows(&own);
    let mut found = vec![];
    for engine in ENGINES {
        let Some(server) = engine.server else { continue };
        if let Some(why) = unheld.or(of_rows.as_ref()) {
            left_out.push(format!("{} is not in the study: {why}.", server.title));
            continue;
        }
        match workload::spoken(&own, Dialect::of_server(server.dialect), server.load) {
            Ok(_) => found.push(Server { engine: engine.name, title: server.title }),
            Err(why) => {
                let why = format!("{why:#}").split_whitespace().collect::<Vec<_>>().join(" ");
                left_out.push(format!("{} is not in the study: {why}", server.title));
            }
        }
    }
    Ok(found)
}
