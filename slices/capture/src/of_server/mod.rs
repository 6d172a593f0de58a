//! `contend replay --to` for the capture of a server: on a database of a server of the same kind, which has the content of
//! the beginning.
//!
//! ```text
//! trace ─► places (which database) ─► order (units) ─► skipped (what is left out) ─► link (postgres, mariadb)
//! ```
//!
//! Each captured connection is a connection of the replay.

mod link;
mod mariadb;
mod places;
mod postgres;
mod skipped;

use crate::manifest::{Manifest, Server};
use crate::order::{Pace, Unit, units};
use crate::outcome::{Difference, Divergences, Replayed, Servers};
use crate::program::Shapes;
use crate::trace::{Call, How, ROW, Trace};
use anyhow::{Context, Result, bail};
use contend::engine::dsn::Dsn;
use contend::stats::precision::counted;
use contend::trial::server::attached::Attached;
use contend_wire::database::Database;
use link::{Answer, Link};
use mariadb::MariaDb;
use places::{Places, places};
use postgres::Postgres;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Databases of MariaDB whose names statements may have.
const OF_SYSTEM: [&str; 2] = ["information_schema", "performance_schema"];

/// Fails in PostgreSQL, so that a transaction is where it was after a statement that is left out.
const FAILS: &str = "contend_leaves_out_a_statement_that_failed";

/// What the proxy writes for the rollback of a connection that is reset.
const RESETS: &str = "ROLLBACK of a reset connection";

/// Codes of errors of PostgreSQL and MariaDB: there is no such table.
const LACKS_TABLE: [&str; 2] = ["42P01", "1146"];

struct Target {
    database: Database,
    /// Without the password.
    shown: Dsn,
    is_mariadb: bool,
}

struct Carrying<'c> {
    trace: &'c Trace,
    shapes: &'c Shapes,
    target: &'c Target,
    places: &'c Places,
    /// Databases that statements must not name, in lower case.
    others: BTreeSet<String>,
    links: BTreeMap<u64, Box<dyn Link>>,
    outcome: Replayed,
    diverged: Divergences,
    skipped: BTreeMap<&'static str, usize>,
    prepared: skipped::Prepared,
    /// Statements that succeeded in the capture, and lack their table here.
    lacking: usize,
}

/// Replays a server's capture on the database `to`. `None`: it was stopped.
///
/// # Errors
/// The address is of another kind of server, or the server cannot be reached or closes a connection.
pub fn replay(
    taken: &Path,
    (manifest, server): (&Manifest, &Server),
    to: &str,
    speed: Option<f64>,
    stop: &AtomicBool,
) -> Result<Option<Replayed>> {
    let (attached, _janitor) = Attached::alone(to).context("--to")?;
    let target = Target::at(&attached, server)?;
    let trace = Trace::read(taken, manifest)?;
    let shapes = Shapes::of(&trace);
    let places = places(&trace, target.is_mariadb);
    let shown = target.shown.to_string();
    let (version, mut others) = target.asked().with_context(|| shown.clone())?;
    others.extend(places.others.keys().chain([&places.chosen]).map(|name| name.to_lowercase()));
    let named = target.shown.address.database.to_lowercase();
    others.retain(|name| *name != named && !OF_SYSTEM.contains(&name.as_str()));
    contend::tell!(
        "{shown} is written to now. Results are those of the capture only if it has the content that {} had when the \
         capture began.",
        server.address
    );
    let outcome = Replayed {
        captured_ns: trace.to_ns - trace.from_ns,
        missing: trace.missing(manifest),
        servers: Some(Servers { captured: versions(&trace), replayed: version, address: shown.clone() }),
        ..Replayed::default()
    };
    let mut carrying = Carrying {
        trace: &trace,
        shapes: &shapes,
        target: &target,
        places: &places,
        others,
        links: BTreeMap::new(),
        outcome,
        diverged: Divergences::default(),
        skipped: BTreeMap::new(),
        prepared: skipped::Prepared::new(target.is_mariadb),
        lacking: 0,
    };
    let units = units(&trace, &shapes, &mut carrying.outcome.left_out);
    let begin = Instant::now();
    let done = carrying.units(&units, &Pace { speed, begin, stop });
    if !matches!(done, Ok(true)) {
        contend::tell!("what was carried out so far stays in {shown}");
    }
    if !done.context(shown)? {
        return Ok(None);
    }
    carrying.outcome.replayed_ns = u64::try_from(begin.elapsed().as_nanos())?;
    Ok(Some(carrying.finish()))
}

/// The versions of the captured servers.
fn versions(trace: &Trace) -> String {
    let all: BTreeSet<&str> = trace.connections.values().map(|one| one.version.as_str()).collect();
    all.into_iter().filter(|version| !version.is_empty()).collect::<Vec<_>>().join(", ")
}

/// What came of a statement.
struct Repeated {
    /// From the captured result.
    differs: bool,
    has_failed: bool,
}

impl Target {
    fn at(attached: &Attached, server: &Server) -> Result<Target> {
        let shown = attached.shown();
        if shown.scheme != server.engine {
            bail!("--to {shown}: this capture is of {}, and is replayed on a server of the same kind", server.address);
        }
        if shown.address.database.is_empty() {
            bail!(
                "--to {shown}: name a database that has the content of the beginning: {}://USER@HOST/DATABASE",
                shown.scheme
            );
        }
        let database = Database::Server(attached.address.address.clone());
        Ok(Target { database, shown, is_mariadb: server.engine == "mysql" })
    }

    fn open(&self, flags: u32) -> Result<Box<dyn Link>> {
        Ok(match self.is_mariadb {
            true => Box::new(MariaDb::open(&self.database, flags)?),
            false => Box::new(Postgres::open(&self.database)?),
        })
    }

    /// The server's version, and of MariaDB the names of its databases in lower case.
    fn asked(&self) -> Result<(String, BTreeSet<String>)> {
        if !self.is_mariadb {
            return Ok((self.open(0)?.version()?, BTreeSet::new()));
        }
        let mut link = MariaDb::open(&self.database, 0)?;
        Ok((link.version()?, link.databases()?.iter().map(|name| name.to_lowercase()).collect()))
    }
}

impl Carrying<'_> {
    /// Returns whether all were carried out, and not stopped.
    fn units(&mut self, units: &[Unit], pace: &Pace<'_>) -> Result<bool> {
        let trace = self.trace;
        let of = |unit: &Unit| trace.calls[unit.calls[0]].connection;
        let last: BTreeMap<u64, usize> = units.iter().map(of).zip(0..).collect();
        for (i, unit) in units.iter().enumerate() {
            if !pace.wait(unit, trace) {
                return Ok(false);
            }
            self.unit(unit)?;
            // Its temporary tables and locks end with it.
            if last.get(&of(unit)) == Some(&i) {
                self.links.remove(&of(unit));
            }
        }
        Ok(true)
    }

    fn unit(&mut self, unit: &Unit) -> Result<()> {
        let trace = self.trace;
        self.outcome.transactions += u64::from(unit.is_transaction);
        let connection = trace.calls[unit.calls[0]].connection;
        let is_done: Vec<bool> = unit.calls.iter().map(|&i| self.is_done(i)).collect();
        let mut is_doubtful = false;
        for (at, &i) in unit.calls.iter().enumerate() {
            let call = &trace.calls[i];
            if !is_done[at] {
                is_doubtful = true;
                if call.has_failed() && !call.after && !self.target.is_mariadb {
                    self.link(connection)?.text(FAILS)?;
                }
                continue;
            }
            let next = unit.calls.get(at + 1).filter(|_| is_done[at + 1]).map(|&next| &trace.calls[next]);
            let is_sent_on = next.is_some_and(|next| next.how == How::Statement);
            let Repeated { differs, has_failed } = self.call(call, call.how == How::Statement && is_sent_on)?;
            is_doubtful |= differs;
            // The server ignores the rest of statements that were sent together, or has ended the transaction.
            if differs && has_failed && self.link(connection)?.is_inside() == Some(false) {
                break;
            }
        }
        // It ended with its connection, or otherwise than here.
        let has_ended = unit.calls.last().is_some_and(|&last| trace.calls[last].after);
        if let Some(link) = self.links.get_mut(&connection).filter(|_| unit.is_transaction)
            && link.is_inside().unwrap_or(is_doubtful || !has_ended)
        {
            link.text("ROLLBACK")?;
        }
        Ok(())
    }

    /// Whether a call is carried out; counts it if it is left out.
    fn is_done(&mut self, i: usize) -> bool {
        let call = &self.trace.calls[i];
        if !self.places.is_here[i] || call.is_busy() {
            return false;
        }
        let why = skipped::why(call, self.target.is_mariadb, &self.others);
        let why = self.prepared.why(call.connection, (&call.sql, call.has_failed()), why);
        why.into_iter().for_each(|why| *self.skipped.entry(why).or_default() += 1);
        why.is_none()
    }

    fn link(&mut self, id: u64) -> Result<&mut Box<dyn Link>> {
        if !self.links.contains_key(&id) {
            let flags = self.trace.connections.get(&id).map_or(0, |connection| connection.flags);
            self.links.insert(id, self.target.open(flags)?);
        }
        Ok(self.links.get_mut(&id).expect("just opened"))
    }

    fn call(&mut self, call: &Call, has_more: bool) -> Result<Repeated> {
        self.outcome.statements += 1;
        let link = self.link(call.connection)?;
        let answer = if *call.sql == *RESETS { link.text("ROLLBACK")? } else { link.call(call, has_more)? };
        let lacks_table = answer.code.as_deref().is_some_and(|code| LACKS_TABLE.contains(&code));
        self.lacking += usize::from(lacks_table && !call.has_failed());
        let difference = difference(call, &answer);
        let differs = difference.is_some();
        if let Some(difference) = difference {
            self.diverged.add((self.shapes.number(call), &self.shapes.get(call).text), difference);
        }
        Ok(Repeated { differs, has_failed: answer.code.is_some() })
    }

    fn finish(self) -> Replayed {
        let Carrying { mut outcome, target, diverged, skipped, places, lacking, .. } = self;
        outcome.diverged = diverged.into_all();
        if lacking > 0 {
            let copy = if target.is_mariadb { "mariadb-dump" } else { "pg_dump" };
            outcome.left_out.insert(format!(
                "{} failed because {} lacks tables: it must have the content that the captured database had when the \
                 capture began. Copy that with {copy} before a capture, and load it into another database.",
                counted(lacking, "statement"),
                target.shown
            ));
        }
        let left_out = |count, what: &str| {
            let were = if count == 1 { "was" } else { "were" };
            format!("{} {what} {were} left out", counted(count, "statement"))
        };
        outcome.left_out.extend(skipped.iter().map(|(why, count)| format!("{}.", left_out(*count, why))));
        outcome.left_out.extend(places.others.iter().map(|(name, count)| {
            let sentence = left_out(*count, &format!("on the database {name}"));
            format!("{sentence}: a replay has one database, that with the most statements ({}).", places.chosen)
        }));
        if outcome.statements == 0 {
            outcome.not_compared =
                Some("Nothing was compared: no statement of the capture could be carried out.".into());
        }
        outcome
    }
}

/// What differs between the captured result and this one.
fn difference(call: &Call, answer: &Answer) -> Option<Difference> {
    let captured = call.has_failed().then(|| call.code_of_server());
    match (&captured, &answer.code) {
        (None, None) => {}
        (Some(was), Some(is)) if was == is || was.is_empty() => return None,
        (was, is) => {
            let shown = |code: &Option<String>| match code {
                Some(code) if code.is_empty() => "an error".to_string(),
                Some(code) => format!("error {code}"),
                None => "success".to_string(),
            };
            return Some(("result", shown(was), shown(is)));
        }
    }
    let (was, is) = (call.rows, answer.rows);
    // The client may have read fewer rows than there are.
    if if call.rc == ROW { is < was } else { is != was } {
        return Some(("rows", was.to_string(), is.to_string()));
    }
    let was = call.changes.max(0).cast_unsigned();
    let is = answer.changes.filter(|is| *is != was)?;
    Some(("changes", was.to_string(), is.to_string()))
}
