//! The driver `contend-sql`: executing a statement means only translating its text for a server, with or without a
//! cache. The schema is that of the given SQLite database.
//!
//! Cold texts are new: each ends with a comment with a unique number. After the run, cached values are compared with
//! new translations, and hits and misses with the expected numbers.

pub mod wanted;

use crate::arguments::Arguments;
use crate::client::ClientLoop;
use crate::control::Control;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::models::alone::{Leave, Loop};
use crate::options::Options;
use crate::session::{Session, Waits};
use crate::setup::Setup;
use anyhow::{Context, Result, anyhow, bail};
use contend_sql::cache::shared::{AtomicCache, MutexCache, RwLockCache};
use contend_sql::cache::{Counts, ThreadCache};
use contend_sql::{Catalogue, Refusal, Target, Translation, translate};
use contend_wire::handshake::Facts;
use contend_wire::plan::{SqlStep, Step};
use contend_wire::sample::worker_code;
use contend_wire::statement::Statement;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use wanted::{DESIGNS, Design, Wanted, What};

/// Name and version, for `hello`. The crates of the workspace share their version.
pub const VERSION: &str = concat!("contend-sql ", env!("CARGO_PKG_VERSION"));

/// Runs a client that translates.
///
/// # Errors
/// A database without a readable schema, a statement without a translation; or, after the run, a cache with wrong
/// contents or counts.
pub fn drive<'p>(
    client: &mut ClientLoop<'p>,
    setup: &Setup<'p>,
    ready: impl FnOnce(Facts) -> Option<u64>,
) -> Result<()> {
    let mut session = TranslateSession::open(setup).with_context(|| format!("client {}", setup.client))?;
    let facts = facts(setup.client, setup.options);
    let control: &Control = setup.control;
    if let Some(start_ns) = ready(facts) {
        client.start(start_ns);
        let mut kept = client.kept();
        let mut client = Loop { client, head: setup.head, control };
        let mut leave = client.run(&mut session, &mut kept, None);
        while let Leave::Reconnect(turn) = leave {
            leave = client.run(&mut session, &mut kept, Some(turn));
        }
        client.client.set_loop_over();
        session.check().with_context(|| format!("client {}", setup.client))?;
    }
    Ok(())
}

/// The options as they took effect.
fn facts(client: u32, options: &Options) -> Facts {
    let wanted = options.translation;
    let to = if wanted.to == Target::Postgres { "postgres" } else { "mariadb" };
    let what = match wanted.what {
        What::Cold => "cold",
        What::Hot => "hot",
        What::LookUp => "look-up",
    };
    let design = DESIGNS.iter().find(|(_, design)| *design == wanted.design).map_or("", |(word, _)| word);
    let facts = [
        ("client", client.to_string()),
        ("translate_to", to.to_string()),
        ("translate", what.to_string()),
        ("cache", design.to_string()),
        ("cache_slots", wanted.slots.to_string()),
        ("texts", wanted.texts.to_string()),
    ];
    facts.map(|(name, value)| (name.to_string(), value)).to_vec()
}

/// Value of a cache for a text.
enum Kind {
    Translation(Cache<Translation>),
    Number(Cache<u32>),
}

/// A cache of one design; with the last two, clients count hits and misses themselves.
enum Cache<V> {
    None,
    Thread(Box<ThreadCache<V>>),
    ThreadHash(Box<ThreadCache<V>>),
    Mutex(Arc<MutexCache<V>>),
    RwLock(Arc<RwLockCache<V>>, Counts),
    Atomic(Arc<AtomicCache<V>>, Counts),
}

impl<V> Cache<V> {
    /// Passes the value of this text to `look`; makes it first if it is missing.
    #[inline(always)]
    fn with<R>(
        &mut self,
        text: &str,
        make: impl FnOnce() -> Result<V, Refusal>,
        look: impl FnOnce(&V) -> R,
    ) -> Result<R, Refusal> {
        Ok(match self {
            Cache::None => look(&make()?),
            Cache::Thread(cache) => look(cache.get(text, make)?),
            Cache::ThreadHash(cache) => look(cache.get_by_hash(text, make)?),
            Cache::Mutex(cache) => look(&*cache.get(text, make)?),
            Cache::RwLock(cache, counts) => look(&*cache.get(text, counts, make)?),
            Cache::Atomic(cache, counts) => cache.with(text, counts, make, look)?,
        })
    }

    fn counts(&self) -> Option<Counts> {
        match self {
            Cache::None => None,
            Cache::Thread(cache) | Cache::ThreadHash(cache) => Some(cache.counts()),
            Cache::Mutex(cache) => Some(cache.counts()),
            Cache::RwLock(_, counts) | Cache::Atomic(_, counts) => Some(*counts),
        }
    }
}

/// The caches that clients of one run share.
struct Shared {
    run: usize,
    translations: Designs<Translation>,
    numbers: Designs<u32>,
}

/// One cache of each shared design.
struct Designs<V> {
    mutex: Arc<MutexCache<V>>,
    rwlock: Arc<RwLockCache<V>>,
    atomic: Arc<AtomicCache<V>>,
}

impl<V> Designs<V> {
    fn new(slots: usize) -> Self {
        Self {
            mutex: Arc::new(MutexCache::new(slots)),
            rwlock: Arc::new(RwLockCache::new(slots)),
            atomic: Arc::new(AtomicCache::new(slots)),
        }
    }
}

static SHARED: Mutex<Vec<Weak<Shared>>> = Mutex::new(vec![]);

/// The shared caches of this run.
fn shared(setup: &Setup<'_>) -> Arc<Shared> {
    let (run, slots) = (Arc::as_ptr(setup.control) as usize, setup.options.translation.slots as usize);
    let mut all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|shared| shared.strong_count() > 0);
    if let Some(shared) = all.iter().filter_map(Weak::upgrade).find(|shared| shared.run == run) {
        return shared;
    }
    let shared = Arc::new(Shared { run, translations: Designs::new(slots), numbers: Designs::new(slots) });
    all.push(Arc::downgrade(&shared));
    shared
}

fn cache<V>(wanted: &Wanted, shared: &Designs<V>) -> Cache<V> {
    match wanted.design {
        Design::None => Cache::None,
        Design::Thread => Cache::Thread(Box::new(ThreadCache::new(wanted.slots as usize))),
        Design::ThreadHash => Cache::ThreadHash(Box::new(ThreadCache::new(wanted.slots as usize))),
        Design::Mutex => Cache::Mutex(Arc::clone(&shared.mutex)),
        Design::RwLock => Cache::RwLock(Arc::clone(&shared.rwlock), Counts::default()),
        Design::Atomic => Cache::Atomic(Arc::clone(&shared.atomic), Counts::default()),
    }
}

/// A client of the translator.
pub struct TranslateSession {
    wanted: Wanted,
    catalogue: Catalogue,
    options: contend_sql::Options,
    /// Texts by number of the statement; for cold runs one text each, to which numbers are added.
    texts: Vec<Vec<String>>,
    kind: Kind,
    /// Keeps the shared caches alive as long as a client has them.
    _shared: Arc<Shared>,
    /// The cold text, written again for each execution.
    text: String,
    /// Unique number, counted up from a start of each client.
    number: u64,
    asked: u64,
}

impl TranslateSession {
    fn open(setup: &Setup<'_>) -> Result<Self> {
        let wanted = setup.options.translation;
        if wanted.design == Design::None && wanted.what != What::Cold {
            bail!("option cache: without one nothing can be found in it; `translate` must be cold");
        }
        let options = contend_sql::Options::to(wanted.to);
        let catalogue = learned(setup.path())?;
        let mut used = vec![false; setup.head.statements.len()];
        for step in setup.head.transactions.iter().flat_map(|transaction| &transaction.steps) {
            if let Step::Sql(step) = step {
                used[step.statement as usize] = true;
            }
        }
        let copies = if wanted.what == What::Cold { 1 } else { wanted.texts };
        let mut texts = vec![];
        for (sql, _) in setup.head.statements.iter().zip(&used).filter(|(_, used)| **used) {
            let Statement { sql, .. } = sql;
            translate(sql, &catalogue, &options).map_err(|refusal| anyhow!("`{sql}`: {refusal:?}"))?;
        }
        for Statement { sql, .. } in &setup.head.statements {
            let text = |copy| if copies == 1 { sql.clone() } else { format!("{sql} /* {copy} */") };
            texts.push((0..copies).map(text).collect());
        }
        let shared = shared(setup);
        let kind = match wanted.what {
            What::LookUp => Kind::Number(cache(&wanted, &shared.numbers)),
            _ => Kind::Translation(cache(&wanted, &shared.translations)),
        };
        let number = u64::from(setup.client) << 40;
        Ok(Self { wanted, catalogue, options, texts, kind, _shared: shared, text: String::new(), number, asked: 0 })
    }

    /// Checks the contents of the cache, and its hits and misses.
    fn check(&mut self) -> Result<()> {
        let counts = match &self.kind {
            Kind::Translation(cache) => cache.counts(),
            Kind::Number(cache) => cache.counts(),
        };
        match (self.wanted.what, counts) {
            (What::Cold, Some(counts)) if counts.hits > 0 => {
                bail!("{} of the texts that should be new were found in the cache", counts.hits)
            }
            (What::Hot | What::LookUp, Some(counts)) if self.asked >= 1000 && counts.misses * 10 > counts.hits => {
                bail!("the cache has no room for the texts: {} hits, {} misses", counts.hits, counts.misses)
            }
            _ => {}
        }
        if let (What::Hot, Kind::Translation(cache)) = (self.wanted.what, &mut self.kind) {
            for text in self.texts.iter().flatten() {
                let Ok(fresh) = translate(text, &self.catalogue, &self.options) else { continue };
                let same = cache.with(text, || Ok(fresh.clone()), |found| *found == fresh);
                if same != Ok(true) {
                    bail!("the cache has another translation of `{text}`");
                }
            }
        }
        Ok(())
    }
}

/// The schema of a database.
fn learned(database: &str) -> Result<Catalogue> {
    let connection = rusqlite::Connection::open(database).with_context(|| format!("cannot open {database}"))?;
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?;
    let ddl = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let mut catalogue = Catalogue::default();
    for sql in ddl {
        catalogue.learn(&sql).map_err(|refusal| anyhow!("`{sql}`: {refusal:?}"))?;
    }
    Ok(catalogue)
}

/// The failure of a statement that was translated when the session opened and now is not.
fn refused(_: Refusal) -> Failure {
    Failure::worker(worker_code::DRIVER)
}

impl Session for TranslateSession {
    fn reset_waits(&mut self) {}

    fn waits(&self) -> Waits {
        Waits::UNKNOWN
    }

    fn begin(&mut self, _transaction: u16) -> Result<(), Failure> {
        Ok(())
    }

    #[inline(always)]
    fn execute(
        &mut self,
        step: &SqlStep,
        repetition: u32,
        _arguments: &Arguments<'_>,
        _kept: &mut Kept,
    ) -> Result<u32, Failure> {
        let Self { wanted, catalogue, options, texts, kind, text, number, asked, .. } = self;
        let statement = step.statement;
        let known = &texts[statement as usize];
        let text: &str = if wanted.what == What::Cold {
            *number += 1;
            text.clear();
            text.push_str(&known[0]);
            // Writing into a String cannot fail.
            let _ = write!(text, " /* {number} */");
            text
        } else {
            *asked += 1;
            &known[repetition as usize % known.len()]
        };
        match kind {
            Kind::Translation(cache) => cache.with(
                text,
                || translate(text, catalogue, options),
                |found| {
                    black_box(found.statements.len());
                },
            ),
            Kind::Number(cache) => cache.with(
                text,
                || Ok(statement),
                |found| {
                    black_box(*found);
                },
            ),
        }
        .map_err(refused)?;
        Ok(step.rows_min)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rollback(&mut self) {}
}
