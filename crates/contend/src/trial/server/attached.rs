//! A server that contend did not start, given with `--dsn`. contend creates its own databases there, and leaves only
//! lines in the server's log.

use crate::engine::dsn::{Dsn, Typed};
use crate::engine::server::Server;
use crate::engine::{self, Engine, Settings, Setup, Values};
use crate::study::model::{Contender, Tier};
use crate::trial::server::secrets::{random_text, write_secret};
use crate::trial::watch::janitor::Janitor;
use crate::trial::workers::admin::script_target;
use crate::trial::workers::admin::{Admin, EngineSaid};
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::database::{Database, Password};
use contend_wire::literal::Value;
use std::sync::Arc;
use tempfile::TempDir;

/// A running server to work on.
#[derive(Clone)]
pub struct Attached {
    /// Address without the password.
    pub address: Dsn,
    /// Directory with the password, if one was typed; removed with the last copy.
    secret: Option<Arc<TempDir>>,
}

impl Attached {
    /// Parses the address that a user typed. A password goes into a file that only this user may read.
    ///
    /// # Errors
    /// It is not an address, or the password cannot be stored.
    pub fn typed(text: &str) -> Result<Self> {
        let Typed { dsn: mut address, password } = Typed::parse(text).map_err(|e| anyhow!("--dsn: {e}"))?;
        let mut secret = None;
        if let Some(password) = password {
            let dir =
                tempfile::Builder::new().prefix("contend-").tempdir().context("cannot write the password file")?;
            let file = dir.path().join("password");
            write_secret(&file, &password)?;
            address.address.password = Password::File(file.display().to_string());
            secret = Some(Arc::new(dir));
        }
        Ok(Self { address, secret })
    }

    /// As [`Attached::typed`], with a janitor that removes the password should this process be killed.
    ///
    /// # Errors
    /// As [`Attached::typed`]; or the janitor cannot be started.
    pub fn alone(text: &str) -> Result<(Self, Janitor)> {
        Typed::parse(text).map_err(|why| anyhow!("{why}"))?;
        let janitor = Janitor::start()?;
        let attached = Self::typed(text)?;
        attached.tell(&janitor);
        Ok((attached, janitor))
    }

    /// The address for people: without the password, and without the place where it is.
    pub fn shown(&self) -> Dsn {
        let mut shown = self.address.clone();
        shown.address.password = Password::None;
        shown
    }

    /// Registers its files with the janitor, which removes them if the tool is killed.
    pub fn tell(&self, janitor: &Janitor) {
        if let Some(dir) = &self.secret {
            janitor.dir_exists(dir.path());
        }
    }

    /// Whether it is a server of this engine.
    pub fn fits(&self, engine: &Engine) -> bool {
        engine.server.is_some_and(|server| server.scheme == self.address.scheme)
    }
}

/// The settings of a contender on a server that others configured. Session settings are set; requested settings, and
/// those that decide the tier, are compared with what is read back.
pub fn setup_of(engine: &Engine, settings: &Settings) -> Setup {
    let mut setup = engine.setup_with(settings);
    if setup.only_read {
        return setup;
    }
    let decides: Vec<&str> =
        Tier::ALL.iter().flat_map(|tier| (engine.durability.tier_settings)(*tier)).map(|(name, _)| *name).collect();
    // MariaDB's statement for `isolation` is in upper case.
    let session = setup.session.join("\n").to_ascii_lowercase();
    setup.readbacks.retain(|expected| {
        let name = expected.name.as_str();
        let is_set = settings.contains_key(name) || name != "transport" && session.contains(name);
        is_set || decides.contains(&name) || changes_tier(engine, settings, name)
    });
    setup
}

/// Whether another value of a setting gives another tier.
fn changes_tier(engine: &Engine, settings: &Settings, name: &str) -> bool {
    let tier = engine.durability.tier;
    let other = |value: &str| {
        let mut changed = settings.clone();
        changed.insert(name.to_string(), value.to_string());
        tier(&changed) != tier(settings)
    };
    engine.settings.iter().filter(|setting| setting.name == name).any(|setting| match setting.values {
        Values::Words(words) => words.iter().any(|word| other(word)),
        _ => false,
    })
}

/// Databases on an attached server that are dropped when the trial is over.
pub struct Databases {
    engine: &'static Engine,
    server: &'static Server,
    address: Dsn,
    names: Vec<String>,
}

impl Databases {
    /// Creates this number of databases and fills each; `fill` gets its address. After a failure they are dropped.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub fn create(
        engine: &'static Engine,
        address: &Dsn,
        count: u32,
        admin: &mut Admin<'_>,
        mut fill: impl FnMut(&Database, &mut Admin<'_>) -> Result<()>,
    ) -> Result<Self> {
        let Some(server) = engine.server else { bail!("{} has no server to attach to", engine.name) };
        let run = &random_text()?[..12];
        let mut own = Databases { engine, server, address: address.clone(), names: vec![] };
        let made = (0..count).try_for_each(|i| {
            let name = format!("contend_{run}_{i}");
            let target = script_target(engine, &first(server, address));
            let created = admin.sql(&target, [(server.create_database)(&name)]);
            // Without an answer the database may exist.
            if !created.as_ref().is_err_and(|e| e.is::<EngineSaid>()) {
                own.names.push(name.clone());
            }
            created?;
            let inside = Database::Server(address.address.with_database(&name));
            admin.sql(&script_target(engine, &inside), server.new_database)?;
            fill(&inside, admin)
        });
        match made {
            Ok(()) => Ok(own),
            Err(e) => Err(match own.drop_all(admin) {
                Ok(()) => e,
                Err(left) => left.context(format!("{e:#}")),
            }),
        }
    }

    /// Their addresses.
    pub fn addresses(&self) -> Vec<Database> {
        let addresses = self.names.iter().map(|name| self.address.address.with_database(name));
        addresses.map(Database::Server).collect()
    }

    /// Drops them, even if the run is stopped: the server is not contend's.
    ///
    /// # Errors
    /// [`Left`]: the server refuses.
    pub fn drop_all(&mut self, admin: &mut Admin<'_>) -> Result<()> {
        let target = script_target(self.engine, &first(self.server, &self.address));
        let drop_database = self.server.drop_database;
        let mut refusal = None;
        admin.persisting(|admin| {
            self.names.retain(|name| {
                let dropped = admin.sql(&target, [drop_database(name)]);
                let left = dropped.is_err();
                refusal = refusal.take().or(dropped.err());
                left
            });
        });
        refusal.map_or(Ok(()), |e| Err(e.context(Left(self.names.clone()))))
    }
}

/// Names of databases that could not be dropped.
#[derive(Debug, Clone)]
pub struct Left(pub Vec<String>);

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot drop {} on the server named with --dsn; drop it by hand", self.0.join(", "))
    }
}

/// The database to connect to for creating others: the one that the user gave, else the one that always exists.
fn first(server: &Server, dsn: &Dsn) -> Database {
    Database::Server(match dsn.address.database.is_empty() {
        true => dsn.address.with_database(server.first_database),
        false => dsn.address.clone(),
    })
}

/// The version that an attached server reports.
///
/// # Errors
/// It cannot be reached or refuses.
pub fn version(engine: &Engine, address: &Dsn, admin: &mut Admin<'_>) -> Result<String> {
    let Some(server) = engine.server else { bail!("{} has no server to attach to", engine.name) };
    let rows = admin.sql(&script_target(engine, &first(server, address)), [server.version])?;
    match rows.first().and_then(|rows| rows.first()).and_then(|row| row.first()) {
        Some(Value::Text(version)) => Ok(version.clone()),
        other => bail!("{} reports {other:?} as its version", server.title),
    }
}

/// Connects to the attached server, if there is one, so that its errors show at once and not in every trial.
///
/// # Errors
/// As [`version`].
pub fn try_out<'c>(
    address: Option<&Dsn>,
    contenders: impl Iterator<Item = &'c Contender>,
    admin: &mut Admin<'_>,
) -> Result<()> {
    let Some(address) = address else { return Ok(()) };
    let mut engines = contenders.filter_map(|contender| engine::find(&contender.engine));
    let Some(engine) = engines.find(|e| e.server.is_some_and(|s| s.scheme == address.scheme)) else { return Ok(()) };
    version(engine, address, admin).map(drop).context("cannot use the server named with --dsn")
}

/// The command line as typed, without the passwords in addresses of servers. The values of these options, such as `--dsn`,
/// are addresses: a value that cannot be read is not shown, as all of it may be a password.
pub fn without_passwords(args: impl Iterator<Item = String>, options: &[&str]) -> Vec<String> {
    let shown = |text: &str, is_address: bool| match Typed::parse(text) {
        Ok(typed) if typed.password.is_some() => typed.dsn.to_string(),
        Err(_) if is_address || text.contains("://") && text.contains('@') => "(not shown)".to_string(),
        _ => text.to_string(),
    };
    let (mut all, mut is_next) = (vec![], false);
    for arg in args {
        let shown = match arg.split_once('=').filter(|(name, _)| !is_next && options.contains(name)) {
            Some((name, text)) => format!("{name}={}", shown(text, true)),
            None => shown(&arg, is_next),
        };
        is_next = !is_next && options.contains(&arg.as_str());
        all.push(shown);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_stays_in_the_command_line() {
        let kept = |typed: &str| without_passwords(typed.split(' ').map(str::to_string), &["--dsn", "--to"]).join(" ");
        for (typed, shown) in [
            ("run --dsn postgres://me:secret@h/d", "run --dsn postgres://me@h:5432/d"),
            ("run --dsn=mysql://me:secret@h", "run --dsn=mysql://me@h:3306/"),
            ("run --dsn x:secret --dsn=secret", "run --dsn (not shown) --dsn=(not shown)"),
            ("a.db --to=postgres://me:secret@/d?socket=/s", "a.db --to=postgres://me@/d?socket=/s"),
            ("watch postgres://me:secret@h/d?socket=/s", "watch (not shown)"),
            ("postgres://me:secret@h/d --schema s", "postgres://me@h:5432/d --schema s"),
            ("run --dsn postgres://me@h/d?password_env=P a=b", "run --dsn postgres://me@h/d?password_env=P a=b"),
        ] {
            assert_eq!(kept(typed), shown);
        }
    }

    #[test]
    fn on_an_attached_server_only_what_was_asked_for_is_demanded() {
        let engine = crate::engine::find("postgres").expect("an engine");
        let settings = Settings::from([("work_mem".to_string(), "8192".to_string())]);
        let names: Vec<String> = setup_of(engine, &settings).readbacks.into_iter().map(|r| r.name).collect();
        for name in ["work_mem", "fsync", "synchronous_commit", "full_page_writes", "lock_timeout"] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|n| n == "shared_buffers" || n == "transport"), "{names:?}");
        let engine = crate::engine::find("mariadb").expect("an engine");
        let names: Vec<String> = setup_of(engine, &Settings::new()).readbacks.into_iter().map(|r| r.name).collect();
        for name in ["isolation", "innodb_flush_method", "innodb_flush_log_at_trx_commit"] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
    }
}
