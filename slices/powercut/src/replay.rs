//! Rebuilds an image of a record, for users who want to inspect it.

use crate::images::cut_of;
use crate::results::{BASE_DIR, Failing, LOG_FILE, Powercut};
use anyhow::{Context, Result, anyhow, bail};
use contend::engine;
use contend::engine::server::Layout;
use contend::record::store::Record;
use contend_powercut::log::Log;
use contend_powercut::replay::Replayer;
use std::fmt::Write as _;
use std::path::Path;

/// Rebuilds image `number` of a trial in `to`; returns instructions for opening it.
///
/// # Errors
/// There is no such image, its recording is gone, or `to` is not empty.
pub fn rebuild(record: &Record, trial: u32, number: u32, to: &Path) -> Result<String> {
    let dir = record.trial_dir(trial);
    let found = record.trials.iter().find(|t| t.slot.trial == trial);
    let found = found.with_context(|| format!("{} has no trial {trial}", record.dir.display()))?;
    let powercut = Powercut::of(found).with_context(|| format!("no power was cut in trial {trial}"))?;
    let known = powercut.failing.iter().map(|f| f.number.to_string()).collect::<Vec<_>>().join(", ");
    let failing = powercut.failing.iter().find(|f| f.number == number);
    let failing = failing.with_context(|| format!("trial {trial} keeps no image {number}; it keeps {known}"))?;
    if std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty; choose another directory with --to", to.display());
    }
    let cut = cut_of(failing).context("the record names a model that this contend does not know")?;
    let log = Log::read(&dir.join(LOG_FILE)).map_err(|e| anyhow!("{e}"))?;
    let mut replayer = Replayer::new(&dir.join(BASE_DIR), &log).map_err(|e| anyhow!("{e}"))?;
    let image = replayer.image(&cut).map_err(|e| anyhow!("{e}"))?;
    let lost = replayer.lost(&cut).map_err(|e| anyhow!("{e}"))?.len();
    image.write(to).map_err(|e| anyhow!("{e}"))?;
    let contender = &record.run.study.contenders[found.slot.contender];
    Ok(in_words(failing, contender, lost, to))
}

fn in_words(failing: &Failing, contender: &contend::study::model::Contender, lost: usize, to: &Path) -> String {
    let to = to.display();
    let mut out = format!(
        "{to} is the disk of {} after a cut at entry {} of the log (model {}, names {}): {lost} pieces are lost.\n\
         Found then: {}: {}\n",
        contender.label, failing.position, failing.model, failing.namespace, failing.verdict, failing.detail
    );
    if !failing.minimal.is_empty() {
        out.push_str("The fewest lost pieces with which it still fails:\n");
        for piece in &failing.minimal {
            let _ = writeln!(out, "  {piece}");
        }
    }
    out.push_str("Opening it repairs what can be repaired, so keep a copy. To open it:\n");
    let engine = engine::find(&contender.engine);
    match engine.and_then(|engine| engine.server) {
        None => {
            let _ =
                writeln!(out, "  sqlite3 {to}/app-0.db 'PRAGMA integrity_check; SELECT count(*) FROM contend_mark'");
        }
        Some(server) => {
            let layout = Layout {
                data: Path::new(&to.to_string()).join("server"),
                socket_dir: "/tmp".into(),
                socket: (server.socket)(None),
                port: None,
                connections: 4,
                only: None,
            };
            let (name, text) = (server.configuration)(&contender.settings, &layout);
            let _ = writeln!(out, "  {}", (server.start)(&layout).join(" "));
            let _ = writeln!(out, "as a user other than root who owns {to}/server, with its file {name}:\n{text}");
        }
    }
    out
}
