//! Draws what every client of a trial does. Nothing here depends on a contender, so what is drawn for
//! one seed can be encoded once and given to every contender of a round; the transactions, which do
//! depend on it, come from [`Workload::plan_transactions`].

use super::generate::{Binder, BoundFields, Place};
use super::model::{Mix, Pause, Role, RoleMix, Workload};
use super::random::{Stream, Weighted};
use super::resolve::listed_names;
use crate::study::model::{Arrivals, Load};
use anyhow::{Context as _, Result, bail, ensure};
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Loop};
use std::collections::BTreeMap;

/// What the drawn clients depend on.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest<'a> {
    pub seed: u64,
    /// The scale of the loaded data, which arguments refer to.
    pub scale: f64,
    pub profile: Option<&'a str>,
    pub load: &'a Load,
    /// `clients`, `processes` and `rate_per_s` override the load. Names of `[scale]` must have been
    /// applied with [`Workload::with_axes`] before.
    pub axes: &'a BTreeMap<String, String>,
}

/// What the clients of a trial do.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The text table of every worker's plan.
    pub texts: Vec<String>,
    /// One per process.
    pub workers: Vec<DrawnWorker>,
    /// Open loop: operations due in the window, by transaction; none in a closed loop, where a client
    /// only plans its next operation when the last one is over.
    pub planned: Option<Vec<u64>>,
}

/// One process of a role. Clients are numbered from 0 through all workers of the trial.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnWorker {
    pub role: String,
    pub first_client: u32,
    pub clients: Vec<Client>,
}

impl Workload {
    /// Draws the clients of a trial.
    ///
    /// # Errors
    /// An unknown or missing profile, an axis that is no number or changes nothing, a load without end,
    /// a reference to a table without rows.
    pub fn draw_clients(&self, request: &DrawRequest<'_>) -> Result<Drawn> {
        self.check_axes(request.axes)?;
        let crews = self.crews(request)?;
        let clients: u64 = crews.iter().map(|crew| u64::from(crew.processes) * u64::from(crew.clients)).sum();
        ensure!(clients <= u64::from(CLIENTS_MAX), "{clients} clients; the most is {CLIENTS_MAX}");
        let processes: usize = crews.iter().map(|crew| crew.processes as usize).sum();
        ensure!(processes <= PROCESSES_MAX, "{processes} processes; the most is {PROCESSES_MAX}");
        let clients = clients as u32;
        let pace = Pace::new(request, clients)?;
        let (makers, texts) = self.makers(request)?;
        let mut window = vec![0; self.transactions.len()];
        let mut workers = vec![];
        let mut next_client = 0;
        for crew in &crews {
            for process in 0..crew.processes {
                let first_client = next_client;
                let of_process = (0..crew.clients).map(|c| {
                    let client = Client {
                        id: first_client + c,
                        database: 0,
                        load: pace.model(),
                        cyclic: pace.cyclic(),
                        limit: pace.limit(),
                        start_ns: if pace.model() == Loop::Closed { crew.role.start_ns } else { 0 },
                        operations: vec![],
                        arguments: vec![],
                    };
                    let in_role = process * crew.clients + c;
                    let database = crew.role.database.unwrap_or(in_role % self.databases);
                    let labels = ["client", &crew.role.name, &in_role.to_string()];
                    let drawer = Drawer { crew, makers: &makers, stream: Stream::new(request.seed, &labels) };
                    drawer.draw(Client { database, ..client }, &pace, &mut window)
                });
                let clients: Vec<Client> = of_process.collect();
                next_client += crew.clients;
                workers.push(DrawnWorker { role: crew.role.name.clone(), first_client, clients });
            }
        }
        Ok(Drawn { texts, workers, planned: (pace.model() == Loop::Open).then_some(window) })
    }

    /// The named number of every axis must be the one this workload was read with.
    fn check_axes(&self, axes: &BTreeMap<String, String>) -> Result<()> {
        for (name, named) in &self.scale {
            let same = axes.get(name).is_none_or(|axis| axis.parse() == Ok(named.count));
            ensure!(same, "axis `{name}` was not applied to the workload before drawing");
        }
        Ok(())
    }

    fn crews(&self, request: &DrawRequest<'_>) -> Result<Vec<Crew<'_>>> {
        let processes = axis::<u32>(request.axes, "processes")?;
        let clients = axis::<u32>(request.axes, "clients")?;
        // The counts of the only role are a default; among several roles they are part of what is asked.
        let only = self.roles.len() == 1;
        for (name, axis, given) in [
            ("processes", processes, self.roles.iter().all(|role| role.processes.is_some())),
            ("clients", clients, self.roles.iter().all(|role| role.clients.is_some())),
        ] {
            ensure!(axis.is_none() || only || !given, "axis `{name}` changes nothing: every role has its own number");
        }
        let count = |own: Option<u32>, axis: Option<u32>, load: Option<u32>| match own {
            Some(own) if !only => own,
            own => axis.or(load).or(own).unwrap_or(1),
        };
        let crew = |role| {
            Ok(Crew {
                role,
                processes: count(role.processes, processes, request.load.processes),
                clients: count(role.clients, clients, request.load.clients),
                mix: CrewMix::new(self.mix(role, request.profile)?),
            })
        };
        let crews = self.roles.iter().map(crew).collect::<Result<Vec<_>>>()?;
        ensure!(crews.iter().any(|crew| crew.processes * crew.clients > 0), "the load has no clients");
        Ok(crews)
    }

    /// The transactions of a role and their weights.
    fn mix(&self, role: &Role, asked: Option<&str>) -> Result<Mix> {
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
                    "workload `{}` has several profiles: say which{}",
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

/// The number of a load axis, if it is given.
fn axis<T: std::str::FromStr>(axes: &BTreeMap<String, String>, name: &str) -> Result<Option<T>> {
    let parse = |text: &String| text.parse().map_err(|_| anyhow::anyhow!("axis `{name}` cannot be `{text}`"));
    axes.get(name).map(parse).transpose()
}

/// A role with its counts and what it does.
struct Crew<'a> {
    role: &'a Role,
    processes: u32,
    clients: u32,
    mix: CrewMix,
}

struct CrewMix {
    transactions: Vec<u16>,
    weights: Weighted,
}

impl CrewMix {
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

/// Operations drawn for one trial at most: about 1 GiB of plans.
const OPERATIONS_MAX: u32 = 4_000_000;

/// Clients and processes of one trial at most.
const CLIENTS_MAX: u32 = 100_000;
const PROCESSES_MAX: usize = 1_000;

fn too_many(operations: u64) -> String {
    format!(
        "{operations} operations would have to be drawn, the most is {OPERATIONS_MAX}: fewer clients or operations, a \
         lower rate, or a shorter window"
    )
}

/// How many operations a client gets and when they are due.
enum Pace {
    /// `limit` operations, or `cycle` again and again.
    Closed { limit: Option<u32>, cycle: u32 },
    /// Between two operations of one client `gap_ns` pass on average.
    Open { gap_ns: f64, clients: u32, arrivals: Arrivals, limit: Option<u32>, window_ns: (u64, u64) },
}

impl Pace {
    fn new(request: &DrawRequest<'_>, clients: u32) -> Result<Self> {
        let load = request.load;
        let endless = load.window_ns == 0 && load.operations.is_none();
        ensure!(!endless, "the load has neither a window nor a number of operations");
        let Some(rate) = axis::<f64>(request.axes, "rate_per_s")?.or(load.rate_per_s) else {
            ensure!(load.cycle > 0 || load.operations.is_some(), "the cycle of a closed loop has no operations");
            let share = OPERATIONS_MAX / clients.max(1);
            let each = load.operations.unwrap_or(0);
            ensure!(each <= share, too_many(u64::from(clients) * u64::from(each)));
            // Very many clients have a shorter cycle, so that their plans fit into memory.
            return Ok(Pace::Closed { limit: load.operations, cycle: load.cycle.min(share) });
        };
        ensure!(rate.is_finite() && rate > 0.0, "the rate must be greater than 0, found {rate}");
        let end_ns = if load.window_ns == 0 { u64::MAX } else { load.run_in_ns.saturating_add(load.window_ns) };
        let drawn = match load.operations {
            Some(each) => f64::from(clients) * f64::from(each),
            None => rate * end_ns as f64 / 1e9,
        };
        ensure!(drawn <= f64::from(OPERATIONS_MAX), too_many(drawn as u64));
        Ok(Pace::Open {
            gap_ns: f64::from(clients) * 1e9 / rate,
            clients,
            arrivals: load.arrivals,
            limit: load.operations,
            window_ns: (load.run_in_ns, end_ns),
        })
    }

    fn model(&self) -> Loop {
        match self {
            Pace::Closed { .. } => Loop::Closed,
            Pace::Open { .. } => Loop::Open,
        }
    }

    fn cyclic(&self) -> bool {
        matches!(self, Pace::Closed { limit: None, .. })
    }

    fn limit(&self) -> u32 {
        match self {
            Pace::Closed { limit, .. } | Pace::Open { limit, .. } => limit.unwrap_or(0),
        }
    }
}

/// Draws the operations of one client.
struct Drawer<'a> {
    crew: &'a Crew<'a>,
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
                // Clients at a constant rate take turns; random ones need no arrangement.
                let mut due = match arrivals {
                    Arrivals::Constant => gap_ns * f64::from(client.id) / f64::from(*clients),
                    Arrivals::Poisson => self.stream.exponential(*gap_ns),
                };
                while (due as u64) < *end && limit.is_none_or(|limit| client.operations.len() < limit as usize) {
                    let transaction = self.operation(&mut client, due as u64);
                    planned[usize::from(transaction)] += u64::from(due as u64 >= *begin);
                    due += match arrivals {
                        Arrivals::Constant => *gap_ns,
                        Arrivals::Poisson => self.stream.exponential(*gap_ns),
                    };
                }
            }
        }
        client
    }

    fn pause(&mut self) -> u64 {
        match self.crew.role.pause {
            Pause::Fixed(ns) => ns,
            Pause::Uniform(low, high) => low + self.stream.below(high - low + 1),
            Pause::Exponential(mean) => self.stream.exponential(mean as f64) as u64,
        }
    }

    /// Appends an operation and returns its transaction.
    fn operation(&mut self, client: &mut Client, offset_ns: u64) -> u16 {
        let mix = &self.crew.mix;
        let transaction = mix.transactions[mix.weights.draw(&mut self.stream)];
        let mut arguments = vec![];
        for maker in &self.makers[usize::from(transaction)] {
            let mut row = vec![Value::Null; maker.bound.len()];
            for i in 0..u64::from(maker.repeat) {
                let place = Place { row: i, rows: u64::from(maker.repeat) };
                maker.bound.fill(place, std::slice::from_mut(&mut self.stream), &mut row);
                arguments.extend(maker.carried.iter().map(|field| row[*field].clone()));
            }
        }
        client.push(offset_ns, transaction, arguments);
        transaction
    }
}
