//! Images of power cuts: one is rebuilt while others are judged.

use crate::crash::{Crash, instant, prepare};
use crate::cuts::{self, Moments, Stretch};
use crate::judge::{self, Judge};
use crate::keys::Wanted;
use crate::keys::{MINIMISE_TRIES, SERVER_LIE_POINTS};
use crate::place::WorkDir;
use crate::results::{Failing, Lie, Powercut};
use crate::survival::Survival;
use crate::{lies, load};
use anyhow::{Result, anyhow};
use contend::study::model::Tier;
use contend::trial::stage::Stage;
use contend::trial::stop::Cancelled;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::crew::Failure;
use contend::trial::workers::process::Launch;
use contend_powercut::log::Log;
use contend_powercut::minimise::minimise;
use contend_powercut::replay::{Cut, Model, Namespace, Replayer};
use contend_wire::database::Database;
use contend_wire::script::LineResult;
use std::path::{Path, PathBuf};

/// Judges that work at the same time.
const JUDGES: usize = 2;

/// Most lost pieces that are listed.
const PIECES_MAX: usize = 20;

/// Shared by all images of a trial.
pub struct Images<'i> {
    pub crash: Crash<'i>,
    pub stage: &'i Stage<'i>,
    pub place: &'i WorkDir<'i>,
    pub log: &'i Log,
    pub judge: &'i Judge<'i>,
}

/// Called with each verdict; returning false stops the search.
type Each<'e> = dyn FnMut(&Cut, &Survival) -> Result<bool> + 'e;

impl Images<'_> {
    /// Judges the images of all cuts that the study requires.
    pub fn judge_all(
        &self,
        base: &Path,
        found: &mut Powercut,
        logs: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        let embedded = self.stage.engine.server.is_none();
        let points = if embedded { self.crash.wanted.points } else { self.crash.wanted.server_points };
        let stretch = self.stretch()?;
        found.syncs = cuts::syncs(self.log, stretch);
        let moments = Moments::of(self.log, stretch, self.crash.wanted.aim.as_deref());
        if moments.count() == 0 {
            let ending = self.crash.wanted.aim.as_deref().unwrap_or_default();
            return Err(prepare(anyhow!("no first page of a file that ends in {ending} was on its way at any moment")));
        }
        let cuts = cuts::draw(self.crash.wanted, points, &moments, self.stage.round.seed);
        load::enough(&self.judge.ledger, self.log, &cuts)?;
        let mut replayer = Replayer::new(base, self.log).map_err(broken)?;
        let mut images = 0;
        let mut note = |cut: &Cut, verdict: &Survival| {
            images += 1;
            let namespace = if cut.model == Model::Kill { "" } else { cut.namespace.name() };
            judge::count(&mut found.crashes, cut.model.name(), namespace, verdict);
            self.keep(&mut found.failing, cut, verdict);
            Ok(true)
        };
        let done = self.go_through(&mut replayer, &cuts, logs, admin, &mut note);
        found.images += images;
        done?;
        if embedded {
            self.minimise(base, &mut found.failing, admin)?;
        }
        Ok(())
    }

    /// Searches for planted faults of the disk. Only for settings that lose nothing on a disk without faults.
    pub fn judge_lies(
        &self,
        base: &Path,
        found: &mut Powercut,
        logs: &Path,
        admin: &mut Admin<'_>,
    ) -> Result<(), Failure> {
        if self.stage.contender.tier != Tier::Durable {
            return Ok(());
        }
        let all = lies::planted_for(self.stage.engine, &self.stage.contender.settings);
        let stretch = self.stretch()?;
        // Only the journal model: under `posix`, a disk without faults may lose something too, which would hide the
        // planted fault.
        let kinds = Wanted {
            crashes: vec!["drop".to_string(), "reorder".to_string()],
            namespaces: vec![Namespace::Journal.name().to_string()],
            ..self.crash.wanted.clone()
        };
        let points = if self.stage.engine.server.is_some() { SERVER_LIE_POINTS } else { self.crash.wanted.lie_points };
        for planted in all {
            let mut replayer =
                Replayer::with_lies(base, self.log, std::slice::from_ref(&planted.lie)).map_err(broken)?;
            let points = points.min(self.crash.wanted.lie_points);
            let moments = planted.moments(self.log, stretch);
            let cuts = cuts::draw(&kinds, points, &moments, self.stage.round.seed ^ 0x5eed);
            let (mut images, mut caught) = (0, false);
            let mut note = |_: &Cut, verdict: &Survival| {
                images += 1;
                caught |= *verdict != Survival::Clean;
                Ok(!caught)
            };
            let done = self.go_through(&mut replayer, &cuts, logs, admin, &mut note);
            found.images += images;
            done?;
            let must = planted.must(found.syncs);
            found.lies.push(Lie { name: planted.name.to_string(), images, caught, must });
        }
        Ok(())
    }

    /// Range from the first operation to the end of the log.
    fn stretch(&self) -> Result<Stretch, Failure> {
        let first = self.judge.ledger.span_ns().map_or(0, |(first_ns, _)| self.log.position_at(first_ns));
        if self.log.is_empty() {
            return Err(prepare(anyhow!("nothing was recorded")));
        }
        // If recording stopped early, the end of the log is not the end of the load.
        let whole = self.log.complete && !self.log.full;
        let last = if whole { self.log.len() } else { self.log.len() - 1 };
        Ok(Stretch { first: first.min(last), last })
    }

    /// Keeps what is needed to rebuild the image, for the first few of each verdict and model.
    fn keep(&self, failing: &mut Vec<Failing>, cut: &Cut, verdict: &Survival) {
        let Some((word, detail)) = judge::in_words(verdict) else { return };
        let (model, namespace) = (cut.model.name(), cut.namespace.name());
        let same = failing.iter().filter(|f| f.verdict == word && f.model == model && f.namespace == namespace);
        if same.count() < self.crash.wanted.keep as usize {
            failing.push(Failing {
                number: failing.len() as u32 + 1,
                model: model.to_string(),
                namespace: namespace.to_string(),
                position: cut.position as u64,
                seed: cut.seed as i64,
                verdict: word.to_string(),
                detail,
                minimal: vec![],
            });
        }
    }

    fn go_through(
        &self,
        replayer: &mut Replayer,
        cuts: &[Cut],
        logs: &Path,
        admin: &mut Admin<'_>,
        each: &mut Each<'_>,
    ) -> Result<(), Failure> {
        let done = match self.stage.engine.server {
            None => self.embedded(replayer, cuts, logs, each),
            Some(_) => self.on_servers(replayer, cuts, admin, each),
        };
        // An error that is not the database's, twice: no verdict.
        done.map_err(prepare)
    }

    /// Judges images of an embedded engine. Each judge has its own worker and directory; they take turns.
    fn embedded(&self, replayer: &mut Replayer, cuts: &[Cut], logs: &Path, each: &mut Each<'_>) -> Result<()> {
        let mut judges = vec![];
        for number in 0..JUDGES {
            let dir = self.place.empty(&format!("image-{number}"))?;
            let log = logs.join(format!("judge-{number}.log"));
            let admin = Admin::start(&Launch::own()?, &log, self.crash.janitor, self.crash.cancelled)?;
            let database = database_in(&dir);
            let script = self.judge.script(&database);
            judges.push(Seat { admin, dir, database, script, busy: None, sent: Ok(()) });
        }
        for (turn, cut) in cuts.iter().enumerate() {
            let seat = &mut judges[turn % JUDGES];
            if !self.free(seat, replayer, each)? {
                return Ok(());
            }
            rebuild(replayer, cut, &seat.dir)?;
            seat.busy = Some(*cut);
            seat.sent = seat.admin.send(seat.script.clone());
        }
        for turn in cuts.len()..cuts.len() + JUDGES {
            if !self.free(&mut judges[turn % JUDGES], replayer, each)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for the verdict of a seat's current image.
    fn free(&self, seat: &mut Seat<'_>, replayer: &mut Replayer, each: &mut Each<'_>) -> Result<bool> {
        let Some(cut) = seat.busy.take() else { return Ok(true) };
        let answers = std::mem::replace(&mut seat.sent, Ok(())).and_then(|()| seat.admin.reply());
        let first = self.verdict_of(&cut, answers, seat);
        let verdict = judge::or_again(first, || {
            rebuild(replayer, &cut, &seat.dir)?;
            let answers = seat.admin.run(seat.script.clone());
            self.verdict_of(&cut, answers, seat)
        })?;
        each(&cut, &verdict)
    }

    fn verdict_of(&self, cut: &Cut, answers: Result<Vec<LineResult>>, seat: &mut Seat<'_>) -> Result<Survival> {
        let crash = instant(self.log, cut.position);
        let verdict = self.judge.verdict(crash, answers, &seat.database, &mut seat.admin)?;
        judge::with_room(verdict, &seat.dir)
    }

    /// Judges images of a server: starts it on each image with its own configuration, and stops it.
    fn on_servers(
        &self,
        replayer: &mut Replayer,
        cuts: &[Cut],
        admin: &mut Admin<'_>,
        each: &mut Each<'_>,
    ) -> Result<()> {
        for cut in cuts {
            let first = self.on_server(replayer, cut, admin);
            let verdict = judge::or_again(first, || self.on_server(replayer, cut, admin))?;
            if !each(cut, &verdict)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn on_server(&self, replayer: &mut Replayer, cut: &Cut, admin: &mut Admin<'_>) -> Result<Survival> {
        let dir = self.place.empty("image")?;
        rebuild(replayer, cut, &dir)?;
        let verdict =
            self.crash.reopened(self.stage, &dir, &self.place.path("image.log"), admin, |database, admin| {
                let answers = admin.run(self.judge.script(database));
                self.judge.verdict(instant(self.log, cut.position), answers, database, admin)
            })?;
        judge::with_room(verdict, &dir)
    }

    /// Minimises the first image that is worse than lossy.
    fn minimise(&self, base: &Path, failing: &mut [Failing], admin: &mut Admin<'_>) -> Result<(), Failure> {
        let Some(failing) = failing.iter_mut().find(|f| f.verdict != "lossy" && f.model != "kill") else {
            return Ok(());
        };
        let Some(cut) = cut_of(failing) else { return Ok(()) };
        let dir = self.place.empty("minimal")?;
        let (database, crash) = (database_in(&dir), instant(self.log, cut.position));
        let mut replayer = Replayer::new(base, self.log).map_err(broken)?;
        let word = failing.verdict.clone();
        let mut stopped = false;
        let minimal = minimise(&mut replayer, &cut, &dir, MINIMISE_TRIES as usize, |_| {
            let answers = admin.run(self.judge.script(&database));
            match self.judge.verdict(crash, answers, &database, admin) {
                Ok(verdict) => Ok(judge::in_words(&verdict).is_some_and(|(found, _)| found == word)),
                Err(e) => {
                    stopped |= e.is::<Cancelled>();
                    Err(contend_powercut::Error::new(format!("{e:#}")))
                }
            }
        });
        if stopped {
            return Err(Failure::Cancelled);
        }
        failing.minimal = match minimal {
            Ok(minimal) => {
                let piece = |l: &contend_powercut::replay::Loss| format!("{}: {} (entry {})", l.path, l.what, l.entry);
                let more = minimal.lost.len().saturating_sub(PIECES_MAX);
                let more = (more > 0).then(|| format!("and {more} more"));
                minimal.lost.iter().take(PIECES_MAX).map(piece).chain(more).collect()
            }
            Err(e) => vec![format!("could not be made smaller: {e}")],
        };
        Ok(())
    }
}

/// A judge: a worker, its directory, and its questions.
struct Seat<'a> {
    admin: Admin<'a>,
    dir: PathBuf,
    database: Database,
    script: String,
    /// The cut that it judges at the moment.
    busy: Option<Cut>,
    sent: Result<()>,
}

fn rebuild(replayer: &mut Replayer, cut: &Cut, dir: &Path) -> Result<()> {
    replayer.image(cut).and_then(|image| image.rewrite(dir)).map_err(|e| anyhow!("{e}"))
}

/// The database of an embedded engine in an image.
fn database_in(dir: &Path) -> Database {
    Database::File(dir.join("app-0.db").display().to_string())
}

/// The cut that rebuilds a recorded failing image.
pub fn cut_of(failing: &Failing) -> Option<Cut> {
    Some(Cut {
        position: failing.position as usize,
        model: failing.model.parse().ok()?,
        namespace: failing.namespace.parse::<Namespace>().ok()?,
        seed: failing.seed as u64,
    })
}

fn broken(error: contend_powercut::Error) -> Failure {
    prepare(anyhow!("{error}"))
}
