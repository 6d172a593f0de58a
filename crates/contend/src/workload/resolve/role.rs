//! Profiles and roles: the mix of transactions of each group of clients.

use super::at::{At, listed};
use super::generator::check_weights;
use super::transaction::transaction_names;
use crate::source::FileError;
use crate::workload::file::{ProfileFile, RoleFile, TransactionFile, WorkloadFile};
use crate::workload::model::{ClientCount, Mix, Named, Pause, Role, RoleMix};
use std::collections::BTreeMap;
use toml::Value;

/// Names to which roles refer.
pub struct RoleScope<'a> {
    transactions: &'a BTreeMap<String, TransactionFile>,
    profiles: &'a BTreeMap<String, ProfileFile>,
    roles: &'a BTreeMap<String, RoleFile>,
    scale: &'a BTreeMap<String, Named>,
    databases: u32,
}

impl<'a> RoleScope<'a> {
    pub fn of(file: &'a WorkloadFile, scale: &'a BTreeMap<String, Named>, databases: u32) -> Self {
        Self { transactions: &file.transaction, profiles: &file.profile, roles: &file.role, scale, databases }
    }

    /// Resolves the weights of a profile or role.
    pub fn mix(&self, written: &BTreeMap<String, f64>, at: &At<'_>) -> Result<Mix, FileError> {
        let mix = written.iter().map(|(name, weight)| Ok((self.transaction(name, &at.key(name))?, *weight)));
        let mix: Mix = mix.collect::<Result<_, FileError>>()?;
        check_weights(mix.iter().map(|(_, weight)| *weight))
            .map_err(|message| at.error(format!("the weights {message}")))?;
        Ok(mix)
    }

    /// Transactions are numbered in the order of their names.
    fn transaction(&self, name: &str, at: &At<'_>) -> Result<usize, FileError> {
        let found = self.transactions.keys().position(|known| known == name);
        found.ok_or_else(|| {
            at.error(format!("there is no transaction `{name}`{}", transaction_names(self.transactions)))
        })
    }

    pub fn role(&self, name: &str, file: &RoleFile, at: &At<'_>) -> Result<Role, FileError> {
        let mix = match (&file.mix, &file.profile) {
            (Some(_), Some(_)) => return at.key("profile").fail("a role has a mix or a profile, not both"),
            (Some(mix), None) => RoleMix::Own(self.mix(mix, &at.key("mix"))?),
            (None, Some(profile)) if self.profiles.contains_key(profile) => RoleMix::Profile(profile.clone()),
            (None, Some(profile)) => {
                let known = listed(self.profiles.keys());
                return at.key("profile").fail(format!("there is no profile `{profile}`{known}"));
            }
            (None, None) => RoleMix::Asked,
        };
        let only = file.transactions.as_ref().map(|names| {
            let at = at.key("transactions");
            names.iter().enumerate().map(|(i, name)| self.transaction(name, &at.key(i))).collect::<Result<Vec<_>, _>>()
        });
        if let Some(database) = file.database.filter(|database| *database >= self.databases) {
            return at
                .key("database")
                .fail(format!("there is no database {database}: they are numbered 0 to {}", self.databases - 1));
        }
        let start_ns = match &file.start {
            None => 0,
            Some(start) => at.key("start").duration(start, self.scale)?,
        };
        Ok(Role {
            name: name.to_string(),
            home: self.home(name, file, at)?,
            processes: self.processes(file, at)?,
            clients: self.clients(file, at)?,
            mix,
            only: only.transpose()?,
            pause: self.pause(file.pause.as_ref(), &at.key("pause"))?,
            share: self.share(file, at)?,
            start_ns,
            database: file.database,
        })
    }

    fn count(&self, value: &Option<Value>, key: &str, at: &At<'_>) -> Result<Option<u32>, FileError> {
        value.as_ref().map(|value| at.key(key).fixed(value, self.scale)).transpose()
    }

    fn share(&self, file: &RoleFile, at: &At<'_>) -> Result<Option<f64>, FileError> {
        let at = at.key("share");
        match file.share {
            Some(share) if !share.is_finite() || share <= 0.0 => at.fail("must be greater than 0"),
            Some(_) if self.roles.values().any(|role| role.share.is_none()) => {
                at.fail("every role needs a share, or none has one: they are compared with each other")
            }
            share => Ok(share),
        }
    }

    fn processes(&self, file: &RoleFile, at: &At<'_>) -> Result<Option<u32>, FileError> {
        match self.count(&file.processes, "processes", at)? {
            Some(0) => at.key("processes").fail("must be at least 1; a role with `clients = 0` takes no part"),
            some => Ok(some),
        }
    }

    fn clients(&self, file: &RoleFile, at: &At<'_>) -> Result<ClientCount, FileError> {
        let per_database = self.count(&file.per_database, "per_database", at)?;
        match (self.count(&file.clients, "clients", at)?, per_database) {
            (Some(_), Some(_)) => at.key("per_database").fail("a role has `clients` or `per_database`, not both"),
            (None, Some(_)) if file.database.is_some() => {
                at.key("database").fail("with `per_database` each database has its own clients")
            }
            (None, Some(n)) => Ok(ClientCount::PerDatabase(n)),
            (Some(n), None) => Ok(ClientCount::PerProcess(n)),
            (None, None) => Ok(ClientCount::Asked),
        }
    }

    /// The role in whose processes this one's clients run. Roles are numbered in the order of their names.
    fn home(&self, name: &str, file: &RoleFile, at: &At<'_>) -> Result<Option<usize>, FileError> {
        let Some(home) = &file.home else { return Ok(None) };
        let at_home = at.key("in");
        match self.roles.get(home) {
            None => at_home.fail(format!("there is no role `{home}`{}", listed(self.roles.keys()))),
            Some(_) if home == name => at_home.fail("`in` must name another role"),
            Some(host) if host.home.is_some() => {
                at_home.fail(format!("role `{home}` has no processes: it runs in those of another role itself"))
            }
            Some(_) if file.processes.is_some() => {
                at.key("processes").fail(format!("the processes are those of role `{home}`"))
            }
            Some(_) => Ok(self.roles.keys().position(|known| known == home)),
        }
    }

    /// `"10ms"`, `{ uniform = ["5ms", "15ms"] }` or `{ exponential = "10ms" }`.
    fn pause(&self, value: Option<&Value>, at: &At<'_>) -> Result<Pause, FileError> {
        let Some(value) = value else { return Ok(Pause::Fixed(0)) };
        let one = value.as_table().filter(|table| table.len() == 1);
        match (value, one.and_then(|table| table.iter().next())) {
            (Value::String(text), _) => at.duration(text, self.scale).map(Pause::Fixed),
            (_, Some((key, Value::String(mean)))) if key == "exponential" => {
                at.duration(mean, self.scale).map(Pause::Exponential)
            }
            (_, Some((key, ends @ Value::Array(_)))) if key == "uniform" => {
                let [low, high]: [String; 2] = at.read(ends)?;
                match (at.duration(&low, self.scale)?, at.duration(&high, self.scale)?) {
                    (low, high) if low <= high => Ok(Pause::Uniform(low, high)),
                    _ => at.fail("`uniform` is [shortest, longest]"),
                }
            }
            _ => at.fail("a pause is \"10ms\", { uniform = [\"5ms\", \"15ms\"] } or { exponential = \"10ms\" }"),
        }
    }
}
