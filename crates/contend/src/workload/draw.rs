//! Draws the operations of every client of a trial. They do not depend on the contender, so they are encoded once for
//! all contenders of a round. The transactions, which depend on it, come from [`Workload::plan_transactions`].

use super::generate::{Binder, BoundFields, RowPosition};
use super::model::{ArgumentGroup, ClientCount, Mix, Pause, Role, RoleMix, Workload};
use super::pace::Pace;
use super::random::{Stream, Weighted};
use super::resolve::listed_names;
use crate::load::{Arrivals, Load};
use anyhow::{Context as _, Result, bail, ensure};
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Loop};
use std::collections::BTreeMap;

/// Inputs of the draw.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest<'a> {
    pub seed: u64,
    /// Scale of the loaded data, to which arguments refer.
    pub scale: f64,
    pub profile: Option<&'a str>,
    pub load: &'a Load,
    /// `clients`, `processes` and `rate_per_s` override the load. Names of `[scale]` must have been
    /// applied with [`super::with_axes`] before.
    pub axes: &'a BTreeMap<String, String>,
}

/// The operations of a trial's clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The text table of every worker's plan.
    pub texts: Vec<String>,
    /// One per process.
    pub workers: Vec<DrawnWorker>,
    /// Open loop: operations due in the window, by transaction. `None` in a closed loop, where an operation is planned
    /// when the previous one has ended.
    pub planned: Option<Vec<u64>>,
}

/// One process. Clients are numbered from 0 over all workers of the trial.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnWorker {
    /// Its roles, in the order of their clients.
    pub roles: Vec<DrawnRole>,
    pub clients: Vec<Client>,
}

/// The clients `first_client .. first_client + clients` of one role in one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnRole {
    pub name: String,
    pub first_client: u32,
    pub clients: u32,
}

impl Workload {
    /// Draws the clients of a trial.
    ///
    /// # Errors
    /// As for [`Workload::check_draw`], and a reference to a table without rows.
    pub fn draw_clients(&self, request: &DrawRequest<'_>) -> Result<Drawn> {
        let (teams, pace) = self.asked(request)?;
        let (makers, texts) = self.makers(request)?;
        let mut window = vec![0; self.transactions.len()];
        let mut workers = vec![];
        let mut next_client = 0;
        for process in self.processes(&teams) {
            let mut worker = DrawnWorker { roles: vec![], clients: vec![] };
            for (team, places) in process {
                let (name, first_client, clients) = (team.role.name.clone(), next_client, places.len() as u32);
                next_client += clients;
                worker.roles.push(DrawnRole { name, first_client, clients });
                worker.clients.extend((first_client..).zip(places).map(|(id, place)| {
                    let client = pace.client(id, place.database, team.role);
                    let labels = ["client", &team.role.name, &place.in_role.to_string()];
                    let drawer = Drawer { team, makers: &makers, stream: Stream::new(request.seed, &labels) };
                    drawer.draw(client, &pace, &mut window)
                }));
            }
            // Clients that share a thread start in this order. It is by database, as a program starts its tasks: by
            // role, all writers would be served before the first reader.
            worker.clients.sort_by_key(|client| client.database);
            workers.push(worker);
        }
        Ok(Drawn { texts, workers, planned: (pace.model() == Loop::Open).then_some(window) })
    }

    /// Whether everything can be drawn, without drawing it: for callers that are about to load data.
    ///
    /// # Errors
    /// An unknown or missing profile; an axis that is not a number or changes nothing; a load without end; too many
    /// clients, processes or operations.
    pub fn check_draw(&self, request: &DrawRequest<'_>) -> Result<()> {
        self.asked(request).map(drop)
    }

    /// The database of each client, by process.
    ///
    /// # Errors
    /// As for [`Workload::check_draw`].
    pub fn databases_by_process(&self, request: &DrawRequest<'_>) -> Result<Vec<Vec<u32>>> {
        let (teams, _) = self.asked(request)?;
        let of = |process: Vec<(&Team<'_>, Vec<ClientPlace>)>| {
            process.iter().flat_map(|(_, places)| places).map(|place| place.database).collect()
        };
        Ok(self.processes(&teams).into_iter().map(of).collect())
    }

    /// The clients of each process, role by role. A role without clients has no processes either.
    fn processes<'c, 'w>(&self, teams: &'c [Team<'w>]) -> Vec<Vec<(&'c Team<'w>, Vec<ClientPlace>)>> {
        let mut all = vec![];
        for host in teams.iter().filter(|team| team.role.home.is_none()) {
            let guests = || teams.iter().filter(|team| team.role.home == Some(host.number));
            all.extend((0..host.processes).map(|process| {
                let together = std::iter::once(host).chain(guests());
                let places = together.map(|team| (team, team.places(process, self.databases)));
                places.filter(|(_, places)| !places.is_empty()).collect()
            }));
        }
        all.retain(|process: &Vec<_>| !process.is_empty());
        all
    }

    /// Clients of all roles together.
    ///
    /// # Errors
    /// As for [`Workload::check_draw`].
    pub fn clients(&self, request: &DrawRequest<'_>) -> Result<u32> {
        let clients: u64 = self.teams(request)?.iter().map(|team| team.total(self.databases)).sum();
        u32::try_from(clients).map_err(|_| anyhow::anyhow!("{clients} clients; the maximum is {CLIENTS_MAX}"))
    }

    /// The roles that take part, and their pace.
    fn asked(&self, request: &DrawRequest<'_>) -> Result<(Vec<Team<'_>>, Pace)> {
        self.check_axes(request.axes)?;
        let mut teams = self.teams(request)?;
        let clients: u64 = teams.iter().map(|team| team.total(self.databases)).sum();
        ensure!(clients > 0, "the load has no clients");
        ensure!(clients <= u64::from(CLIENTS_MAX), "{clients} clients; the maximum is {CLIENTS_MAX}");
        let hosts = teams.iter().filter(|team| team.role.home.is_none());
        let processes: u64 = hosts.map(|team| u64::from(team.processes)).sum();
        ensure!(processes <= PROCESSES_MAX, "{processes} processes; the maximum is {PROCESSES_MAX}");
        let rate = axis::<f64>(request.axes, "rate_per_s")?.or(request.load.rate_per_s);
        let takes_part = |team: &&Team<'_>| team.total(self.databases) > 0;
        let shares: f64 = teams.iter().filter(takes_part).filter_map(|team| team.role.share).sum();
        for team in &mut teams {
            let own = team.total(self.databases) as f64 / clients as f64;
            team.gap = team.role.share.map_or(1.0, |share| own * shares / share);
        }
        // Only arrivals at a rate are in the proportion of the shares: in a closed loop, or with a number of operations, all
        // clients draw as many.
        let by_share = rate.is_some() && request.load.operations.is_none();
        let drawn = |team: &Team<'_>| team.total(self.databases) as f64 / if by_share { team.gap } else { 1.0 };
        let bytes = teams.iter().filter(takes_part).map(|team| drawn(team) * self.operation_bytes(team)).sum::<f64>()
            / clients as f64;
        let pace = Pace::new(request.load, rate, clients as u32, bytes)?;
        Ok((teams, pace))
    }

    /// Part of each transaction in the arrivals at a rate; together they are 1.
    ///
    /// # Errors
    /// As for [`Workload::check_draw`].
    pub fn shares_of_arrivals(&self, request: &DrawRequest<'_>) -> Result<Vec<f64>> {
        let (teams, _) = self.asked(request)?;
        let arrivals = |team: &Team<'_>| team.total(self.databases) as f64 / team.gap;
        // A role without clients has none.
        let with_clients = || teams.iter().filter(|team| team.total(self.databases) > 0);
        let all: f64 = with_clients().map(arrivals).sum();
        let mut found = vec![0.0; self.transactions.len()];
        for team in with_clients() {
            for (transaction, share) in team.mix.transactions.iter().zip(team.mix.weights.shares()) {
                found[usize::from(*transaction)] += share * arrivals(team) / all;
            }
        }
        Ok(found)
    }

    /// Bytes of a drawn operation of a role, on average.
    fn operation_bytes(&self, team: &Team<'_>) -> f64 {
        let of = |at: &u16| self.transactions[usize::from(*at)].arguments.iter().map(ArgumentGroup::bytes).sum::<f64>();
        let shares = team.mix.transactions.iter().zip(team.mix.weights.shares());
        OPERATION_BYTES + shares.map(|(transaction, share)| share * of(transaction)).sum::<f64>()
    }

    /// Checks that the workload was read with the numbers of these axes.
    fn check_axes(&self, axes: &BTreeMap<String, String>) -> Result<()> {
        for (name, named) in &self.scale {
            let same = axes.get(name).is_none_or(|axis| axis.parse() == Ok(named.count));
            ensure!(same, "axis `{name}` was not applied to the workload before drawing");
        }
        Ok(())
    }

    /// Of the numbers of clients and processes, those that every role sets itself. The counts of an only role are defaults; with
    /// several roles they are part of the question.
    pub fn own_counts(&self) -> Vec<&'static str> {
        let only = self.roles.len() == 1;
        let follows = |role: &Role| match role.clients {
            ClientCount::Asked => true,
            ClientCount::PerProcess(_) => only,
            ClientCount::PerDatabase(_) => false,
        };
        let processes = only || self.roles.iter().any(|role| role.home.is_none() && role.processes.is_none());
        let own = [("processes", processes), ("clients", self.roles.iter().any(follows))];
        own.into_iter().filter(|(_, changes)| !changes).map(|(name, _)| name).collect()
    }

    fn teams(&self, request: &DrawRequest<'_>) -> Result<Vec<Team<'_>>> {
        let processes = axis::<u32>(request.axes, "processes")?;
        let clients = axis::<u32>(request.axes, "clients")?;
        let (load, own) = (request.load.under(request.axes), self.own_counts());
        for (name, axis) in [("processes", processes), ("clients", clients)] {
            let changes = !own.contains(&name);
            ensure!(axis.is_none() || changes, "axis `{name}` changes nothing: every role has its own number");
        }
        let teams = self.roles.iter().enumerate().map(|(number, role)| {
            let (processes, clients) = self.counts(role, &load);
            let mix = TeamMix::new(self.mix(role, request.profile)?);
            Ok(Team { number, role, processes, clients, mix, gap: 1.0 })
        });
        let teams = teams.collect::<Result<Vec<_>>>()?;
        for team in teams.iter().filter(|team| matches!(team.clients, Share::PerDatabase(_))) {
            let (processes, databases) = (team.processes, self.databases);
            ensure!(
                processes <= databases,
                "{databases} databases cannot be spread over {processes} processes of role `{}`",
                team.role.name
            );
        }
        Ok(teams)
    }

    /// Processes and clients of a role. The numbers of an only role are defaults.
    pub(super) fn counts(&self, role: &Role, load: &Load) -> (u32, Share) {
        let is_only = self.roles.len() == 1;
        let count = |own: Option<u32>, asked: Option<u32>| match own {
            Some(own) if !is_only => own,
            own => asked.or(own).unwrap_or(1),
        };
        let host = role.home.map_or(role, |home| &self.roles[home]);
        let clients = match role.clients {
            ClientCount::Asked => Share::PerProcess(count(None, load.clients)),
            ClientCount::PerProcess(n) => Share::PerProcess(count(Some(n), load.clients)),
            ClientCount::PerDatabase(n) => Share::PerDatabase(n),
        };
        (count(host.processes, load.processes), clients)
    }

    /// The transactions of a role and their weights.
    pub(super) fn mix(&self, role: &Role, asked: Option<&str>) -> Result<Mix> {
        let profile = |name: &str| {
            let known = listed_names(self.profiles.keys());
            let mix = self.profiles.get(name).cloned();
            mix.with_context(|| format!("workload `{}` has no profile `{name}`{known}", self.name))
        };
        let mut mix = match &role.mix {
            RoleMix::Own(mix) => mix.clone(),
            RoleMix::Profile(name) => profile(name)?,
            RoleMix::Asked => match (asked, self.profiles.len()) {
                (Some(name), _) => profile(name)?,
                (None, 0) => (0..self.transactions.len()).map(|t| (t, 1.0)).collect(),
                (None, 1) => self.profiles.values().next().cloned().unwrap_or_default(),
                (None, _) => bail!(
                    "workload `{}` has several profiles: choose one{}",
                    self.name,
                    listed_names(self.profiles.keys())
                ),
            },
        };
        if let Some(only) = &role.only {
            mix.retain(|(transaction, _)| only.contains(transaction));
        }
        ensure!(
            mix.iter().any(|(_, weight)| *weight > 0.0),
            "role `{}` has nothing to do: none of its transactions is in the profile",
            role.name
        );
        Ok(mix)
    }

    /// What makes the arguments of every transaction, and the texts they choose from.
    fn makers(&self, request: &DrawRequest<'_>) -> Result<(Vec<Vec<Maker<'_>>>, Vec<String>)> {
        let rows = self.tables.iter().map(|table| table.rows.at(&self.scale, request.scale)).collect();
        let binder = Binder { tables: &self.tables, rows };
        let mut texts = vec![];
        let mut makers = vec![];
        for transaction in &self.transactions {
            let mut groups = vec![];
            for (g, group) in transaction.arguments.iter().enumerate() {
                let context = || format!("transaction `{}`", transaction.name);
                let mut bound = binder.fields(&group.fields, 1).with_context(context)?;
                for (i, field) in group.fields.0.iter().enumerate().filter(|(_, field)| field.pool > 0) {
                    let labels = ["pool", &transaction.name, &g.to_string(), &field.name];
                    let mut stream = Stream::new(request.seed, &labels);
                    let first = texts.len() as u32;
                    for _ in 0..field.pool {
                        texts.push(match bound.single(i, &mut stream) {
                            Value::Text(text) => text,
                            other => bail!("{}: `{}` is not a text: {other:?}", context(), field.name),
                        });
                    }
                    bound.choose_from(i, first, field.pool);
                }
                groups.push(Maker { bound, repeat: group.repeat, carried: &group.carried });
            }
            makers.push(groups);
        }
        Ok((makers, texts))
    }
}

/// The value of a load axis, if it is set.
fn axis<T: std::str::FromStr>(axes: &BTreeMap<String, String>, name: &str) -> Result<Option<T>> {
    let parse = |text: &String| text.parse().map_err(|_| anyhow::anyhow!("axis `{name}` cannot be `{text}`"));
    axes.get(name).map(parse).transpose()
}

/// A role with its counts and its mix.
struct Team<'a> {
    /// Its index among the roles.
    number: usize,
    role: &'a Role,
    processes: u32,
    clients: Share,
    mix: TeamMix,
    /// Time between two operations of one of its clients in an open loop, as a multiple of that if all had the same.
    gap: f64,
}

/// How a role's clients are spread.
#[derive(Debug, Clone, Copy)]
pub(super) enum Share {
    PerProcess(u32),
    PerDatabase(u32),
}

/// Position of a client in its role, from which its random numbers follow, and its database.
struct ClientPlace {
    in_role: u32,
    database: u32,
}

impl Team<'_> {
    /// Clients in all processes.
    fn total(&self, databases: u32) -> u64 {
        match self.clients {
            Share::PerProcess(n) => u64::from(self.processes) * u64::from(n),
            Share::PerDatabase(n) => u64::from(databases) * u64::from(n),
        }
    }

    /// The clients of one process.
    fn places(&self, process: u32, databases: u32) -> Vec<ClientPlace> {
        match self.clients {
            Share::PerProcess(n) => (process * n..process * n + n)
                .map(|in_role| {
                    let database = self.role.database.unwrap_or(in_role % databases);
                    ClientPlace { in_role, database }
                })
                .collect(),
            Share::PerDatabase(n) => (process..databases)
                .step_by(self.processes as usize)
                .flat_map(|database| {
                    (database * n..database * n + n).map(move |in_role| ClientPlace { in_role, database })
                })
                .collect(),
        }
    }
}

struct TeamMix {
    transactions: Vec<u16>,
    weights: Weighted,
}

impl TeamMix {
    fn new(mix: Mix) -> Self {
        let (transactions, weights): (Vec<u16>, Vec<f64>) = mix.into_iter().map(|(t, w)| (t as u16, w)).unzip();
        Self { transactions, weights: Weighted::new(weights) }
    }
}

/// Makes the arguments of one group.
struct Maker<'a> {
    bound: BoundFields,
    repeat: u32,
    carried: &'a [usize],
}

/// Bytes of an operation without its arguments.
const OPERATION_BYTES: f64 = 64.0;

/// Most clients or processes of one trial.
const CLIENTS_MAX: u32 = 100_000;
const PROCESSES_MAX: u64 = 1_000;

/// Draws the operations of one client.
struct Drawer<'a> {
    team: &'a Team<'a>,
    makers: &'a [Vec<Maker<'a>>],
    stream: Stream,
}

impl Drawer<'_> {
    fn draw(mut self, mut client: Client, pace: &Pace, planned: &mut [u64]) -> Client {
        match pace {
            Pace::Closed { limit, cycle } => {
                for _ in 0..limit.unwrap_or(*cycle) {
                    let pause_ns = self.pause();
                    self.operation(&mut client, pause_ns);
                }
            }
            Pace::Open { gap_ns, clients, arrivals, limit, window_ns: (begin, end) } => {
                let gap_ns = gap_ns * self.team.gap;
                // At a constant rate clients take turns; random arrivals need no arrangement.
                let mut due = match arrivals {
                    Arrivals::Constant => gap_ns * f64::from(client.id) / f64::from(*clients),
                    Arrivals::Poisson => self.stream.exponential(gap_ns),
                };
                while (due as u64) < *end && limit.is_none_or(|limit| client.operations.len() < limit as usize) {
                    let transaction = self.operation(&mut client, due as u64);
                    planned[usize::from(transaction)] += u64::from(due as u64 >= *begin);
                    due += match arrivals {
                        Arrivals::Constant => gap_ns,
                        Arrivals::Poisson => self.stream.exponential(gap_ns),
                    };
                }
            }
        }
        client
    }

    fn pause(&mut self) -> u64 {
        match self.team.role.pause {
            Pause::Fixed(ns) => ns,
            Pause::Uniform(low, high) => low + self.stream.below(high - low + 1),
            Pause::Exponential(mean) => self.stream.exponential(mean as f64) as u64,
        }
    }

    /// Appends an operation and returns its transaction.
    fn operation(&mut self, client: &mut Client, offset_ns: u64) -> u16 {
        let mix = &self.team.mix;
        let transaction = mix.transactions[mix.weights.draw(&mut self.stream)];
        let mut arguments = vec![];
        for maker in &self.makers[usize::from(transaction)] {
            let mut row = vec![Value::Null; maker.bound.len()];
            for i in 0..u64::from(maker.repeat) {
                let place = RowPosition { row: i, rows: u64::from(maker.repeat) };
                maker.bound.fill(place, std::slice::from_mut(&mut self.stream), &mut row);
                arguments.extend(maker.carried.iter().map(|field| row[*field].clone()));
            }
        }
        client.push(offset_ns, transaction, arguments);
        transaction
    }
}
