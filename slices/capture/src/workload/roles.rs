//! Roles of a captured program: processes, clients, and pauses.

use crate::finding::time;
use crate::literal::text;
use crate::program::Group;
use crate::summary::Known;
use crate::workload::generator::{line, plain};
use contend::stats::precision::counted;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Processes, and clients of a process, at most.
const CLIENTS_MAX: u64 = 16;
/// Length of a slot. Slots in which no process has a transaction do not count as load.
const SLOT_NS: u64 = 100_000_000;
/// Mean pause from which on a role may be a job with a timer.
const LONG_PAUSE_US: u64 = 1_000_000;
/// Values of the study's axis: label, and how many times as fast as captured; 0 is without pauses.
pub const PACES: [(&str, u64); 5] = [("captured", 1), ("x2", 2), ("x4", 4), ("x8", 8), ("full", 0)];

/// The value of that axis with which transactions are not held open by the program, and the workload's number for it.
pub const SHORT: &str = "short";
pub const HOLDS: &str = "holds";

/// A program, with its clients and what they do.
pub struct Role {
    name: String,
    processes: u64,
    clients: u64,
    /// Mean pause of a client before a transaction, in the times in which any process had one.
    pause_us: u64,
    /// Mean time of a transaction, waits included, and the part of it in which the program works under the write lock.
    busy_us: u64,
    lock_us: u64,
    /// Mean time for which the program holds a transaction open.
    hold_us: u64,
    mix: BTreeMap<String, usize>,
}

/// The roles of a capture; `kinds` has the transactions of the workload.
pub fn roles<'g>(known: &Known, kinds: impl Iterator<Item = (&'g str, &'g Group)>) -> Vec<Role> {
    let mut shares: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut holds_ns: BTreeMap<String, u64> = BTreeMap::new();
    for (name, group) in kinds {
        holds_ns.insert(name.to_string(), group.holds_ns().iter().sum());
        for &i in &group.transactions {
            let role = plain(known.trace.process(known.transactions[i].who.process));
            *shares.entry(role).or_default().entry(name.to_string()).or_default() += 1;
        }
    }
    let role = |(name, mix): (String, BTreeMap<String, usize>)| {
        let (processes, clients) = clients(known, &name);
        let (pause_us, busy_us, lock_us) = times_us(known, &name, processes * clients);
        let hold_ns =
            mix.iter().map(|(kind, count)| holds_ns[kind].saturating_mul(*count as u64)).fold(0, u64::saturating_add);
        // A rare one counts, too: the workload has its step.
        let hold_us = hold_ns.div_ceil(1_000 * mix.values().sum::<usize>() as u64);
        Role { name, processes, clients, pause_us, busy_us, lock_us, hold_us, mix }
    };
    shares.into_iter().map(role).collect()
}

/// Mean times of a role: a pause, a transaction, and the part of it in which the program works under the write lock.
fn times_us(known: &Known, role: &str, clients: u64) -> (u64, u64, u64) {
    let is_mine = |process| plain(known.trace.process(process)) == role;
    let mine = || known.transactions.iter().filter(|transaction| is_mine(transaction.who.process));
    let there = mine().map(|transaction| (transaction.from_ns, transaction.to_ns));
    let there = there.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))).unwrap_or_default();
    // Ordered by start, so each adds the times after those before it. A job that another program waits for has its pauses.
    let (mut active, mut next) = (0, 0);
    for transaction in known.transactions.iter().filter(|of| of.to_ns >= there.0 && of.from_ns <= there.1) {
        let (from, after) = (transaction.from_ns / SLOT_NS, transaction.to_ns / SLOT_NS + 1);
        active += after.saturating_sub(from.max(next));
        next = next.max(after);
    }
    let busy_ns: u64 = mine().map(|transaction| transaction.to_ns - transaction.from_ns).sum();
    let there_ns = active.saturating_mul(SLOT_NS).saturating_mul(clients);
    let count = mine().count() as u64;
    // Between n transactions of a client there are n - 1 pauses.
    let pauses = if count >= 2 * clients { count - clients } else { count };
    let mean_us = |ns: u64, of: u64| ns / of.max(1) / 1_000;
    let lock_ns: u64 = mine().map(|transaction| transaction.held_ns).sum();
    (mean_us(there_ns.saturating_sub(busy_ns), pauses), mean_us(busy_ns, count), mean_us(lock_ns, count))
}

/// What shorter pauses can do to the load.
pub struct MoreLoad {
    /// How many times as many transactions begin at most, if each takes as long as in the capture.
    pub by_pauses: f64,
    /// How many times as many find time under the write lock.
    pub by_lock: f64,
}

impl MoreLoad {
    /// `times`: how many times shorter pauses are; 0 for none.
    pub fn of(roles: &[Role], times: u64) -> MoreLoad {
        let each = |role: &Role, times: u64| {
            let pause_us = role.pause_us.checked_div(times).unwrap_or(0);
            role.all_clients() as f64 / (role.busy_us + pause_us).max(1) as f64
        };
        let rate = |times| roles.iter().map(|role| each(role, times)).sum::<f64>();
        let held: f64 = roles.iter().map(|role| each(role, 1) * role.lock_us as f64).sum();
        MoreLoad { by_pauses: rate(times) / rate(1).max(f64::MIN_POSITIVE), by_lock: 1.0 / held.max(1e-9) }
    }

    /// How many times the captured load there can be.
    pub fn most(&self) -> f64 {
        self.by_pauses.min(self.by_lock).max(1.0)
    }
}

/// Processes and clients in each that a program had at the same time.
fn clients(known: &Known, role: &str) -> (u64, u64) {
    let mut threads: HashMap<(u64, u32), (u64, u64)> = HashMap::new();
    for call in known.trace.calls.iter().filter(|call| plain(known.trace.process(call.who.process)) == role) {
        let life = threads.entry((call.who.process, call.who.tid)).or_insert((call.at_ns, 0));
        life.1 = call.end_ns().max(life.1);
    }
    let most = |lives: Vec<(u64, u64)>| {
        let mut changes: Vec<(u64, i64)> = lives.iter().flat_map(|(from, to)| [(*from, 1), (to + 1, -1)]).collect();
        changes.sort_unstable();
        let at_once = changes.iter().scan(0, |now, (_, change)| {
            *now += change;
            Some(*now)
        });
        at_once.max().map_or(1, i64::cast_unsigned)
    };
    let mut processes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for ((process, _), life) in &threads {
        let whole = processes.entry(*process).or_insert(*life);
        *whole = (whole.0.min(life.0), whole.1.max(life.1));
    }
    let (processes, all) = (most(processes.into_values().collect()), most(threads.into_values().collect()));
    let processes = processes.clamp(1, CLIENTS_MAX);
    (processes, all.div_ceil(processes).clamp(1, CLIENTS_MAX))
}

impl Role {
    /// Whether several clients of one process could share a connection.
    pub fn shares_a_process(&self) -> bool {
        self.processes == 1 && self.clients > 1
    }

    /// Its name and mean pause, if that is long: it may be a job with a timer.
    pub fn long_pause(&self) -> Option<String> {
        let of = || format!("{} ({})", self.name, time(self.pause_us * 1_000));
        (self.pause_us >= LONG_PAUSE_US).then(of)
    }

    /// How many clients it has in all.
    pub fn all_clients(&self) -> u64 {
        self.processes * self.clients
    }

    fn pause(&self) -> String {
        format!("pause_{}_us", self.name)
    }
}

/// A sentence about the transactions that one thread of the program made, and that all clients of its role make in the study.
pub fn of_one_thread<'g>(
    known: &Known,
    kinds: impl Iterator<Item = (&'g str, &'g Group)>,
    roles: &[Role],
) -> Option<String> {
    let of_one = kinds.filter(|(_, group)| known.is_of_one_thread(group));
    let all = of_one.filter_map(|(name, group)| {
        let role = roles.iter().find(|role| role.mix.contains_key(name) && role.all_clients() > 1)?;
        let times = counted(group.transactions.len(), "time");
        Some(format!("{name} ({times}; the {} clients of {})", role.all_clients(), role.name))
    });
    let all = all.collect::<Vec<String>>().join(", ");
    let sentence = format!(
        "One thread of the program made each of these transactions, one at a time. In the study all clients of its role make them, so \
         several can run at once, and load=x2 to load=full bring more of them, too: {all}. For a thread of their own, move them to a \
         [role] with one client in workload.toml."
    );
    (!all.is_empty()).then_some(sentence)
}

/// Whether the program holds transactions open.
pub fn hold(roles: &[Role]) -> bool {
    roles.iter().any(|role| role.hold_us > 0)
}

/// The pauses of all roles as numbers of the workload, at the captured pace.
pub fn write_scale(out: &mut String, roles: &[Role]) {
    if hold(roles) {
        line(out, HOLDS, "{ fixed = 1 }");
    }
    for role in roles {
        line(out, &role.pause(), &format!("{{ fixed = {} }}", role.pause_us));
    }
}

/// Presets of pauses, and the roles.
pub fn write(out: &mut String, roles: &[Role]) {
    *out += "\n# Pauses of the clients: as captured, 2, 4 and 8 times the load, and none at all.\n";
    let preset = |out: &mut String, label: &str, pause_us: &dyn Fn(&Role) -> u64| {
        let _ = writeln!(out, "[preset.load.{label}]");
        roles.iter().for_each(|role| line(out, &role.pause(), &pause_us(role).to_string()));
    };
    for (label, times) in PACES {
        preset(out, label, &|role| role.pause_us.checked_div(times).unwrap_or(0));
    }
    if hold(roles) {
        *out += "# The program's own work comes before its transactions.\n";
        preset(out, SHORT, &|role| role.pause_us.saturating_add(role.hold_us));
        line(out, HOLDS, "0");
    }
    for role in roles {
        let _ = write!(out, "\n[role.{}]\n", role.name);
        line(out, "processes", &role.processes.to_string());
        line(out, "clients", &role.clients.to_string());
        line(out, "pause", &format!("{{ exponential = {} }}", text(&format!("{}*1us", role.pause()))));
        line(out, "share", &role.mix.values().sum::<usize>().to_string());
        let mix: Vec<String> = role.mix.iter().map(|(name, count)| format!("{name} = {count}")).collect();
        line(out, "mix", &format!("{{ {} }}", mix.join(", ")));
    }
}
