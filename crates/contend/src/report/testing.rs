//! A synthetic record on disk, drawn from a seed, with everything that can happen in a run.

use crate::engine;
use crate::load::{Arrivals, Load};
use crate::outcome::reason::Invalid;
use crate::record::model::*;
use crate::record::store::{Record, RecordWriter};
use crate::stats::unit::Unit;
use crate::study::kind::{LOAD, Tables};
use crate::study::model::*;
use contend_wire::sample::{CodeSpace, NOT_MEASURED, STEP_BEGIN, STEP_NONE, Sample, flag};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use std::collections::BTreeMap;
use std::path::Path;

/// Description of the run.
#[derive(Debug, Clone)]
pub struct Story {
    pub variant: Variant,
    pub rounds: u32,
    pub clients: u32,
    pub window_ns: u64,
    /// Invalid trials.
    pub invalid: Vec<u32>,
    pub all_invalid: bool,
    /// Number of trials after which the run was interrupted.
    pub interrupted_after: Option<usize>,
    /// Appended to a label, to test escaping.
    pub odd_label: &'static str,
    pub seed: u64,
    pub measures_lock_wait: bool,
    /// Share of the writes of a deferred transaction that are refused.
    pub deferred_conflicts: f64,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            variant: Variant::Corrected,
            rounds: 6,
            clients: 4,
            window_ns: 300_000_000,
            invalid: vec![7, 23],
            all_invalid: false,
            interrupted_after: None,
            odd_label: "",
            seed: 1,
            measures_lock_wait: true,
            deferred_conflicts: 0.05,
        }
    }
}

/// Label, settings, tier; medians of a read and a write.
const CONTENDERS: [(&str, &str, &str, &str, Tier, f64, f64); 5] = [
    ("WAL/FULL", "WAL", "FULL", "immediate", Tier::Durable, 0.9e6, 6.0e6),
    ("DELETE/EXTRA", "DELETE", "EXTRA", "immediate", Tier::Durable, 2.1e6, 14.0e6),
    ("DELETE/FULL", "DELETE", "FULL", "immediate", Tier::Bounded, 1.9e6, 11.0e6),
    ("WAL/NORMAL", "WAL", "NORMAL", "immediate", Tier::Bounded, 0.8e6, 1.6e6),
    ("WAL/NORMAL deferred", "WAL", "NORMAL", "deferred", Tier::Bounded, 0.8e6, 1.55e6),
];
const TRANSACTIONS: [(&str, bool); 4] =
    [("page_view", false), ("archive", false), ("comment", true), ("transient", true)];

impl Story {
    /// Writes the record and reads it back.
    pub fn write(&self, dir: &Path) -> Record {
        let mut run = self.run();
        let writer = RecordWriter::create(dir, &run).unwrap();
        let there = self.interrupted_after.unwrap_or(run.schedule.len());
        for slot in run.schedule.clone().into_iter().take(there) {
            self.trial(&writer, &run.study, slot);
        }
        if self.interrupted_after.is_none() {
            run.finished = Some(Finished { elapsed_ns: 92_000_000_000, measured_ns: 60 * self.window_ns });
            writer.write_run(&run).unwrap();
        }
        Record::open(dir).unwrap()
    }

    fn trial(&self, writer: &RecordWriter, study: &Study, slot: Slot) {
        let trial = self.trial_facts(study, slot);
        let mut open = writer.trial(slot.trial).unwrap();
        for sample in self.samples(slot, &trial) {
            open.samples(&sample.encode()).unwrap();
        }
        open.commit(&trial, &self.series()).unwrap();
    }

    /// A series with a growing log and a process that is always busy.
    fn series(&self) -> String {
        let head = "offset_ns,cpu_ns_client,rss_bytes_client,size_bytes_db,size_bytes_wal,machine_busy_ns\n";
        let row = |i: u64| {
            let at_ns = self.window_ns * i / 15;
            format!("{at_ns},{},{},{},{},{at_ns}\n", at_ns * 4 / 5, 24 << 20, (18 << 20) + (i << 16), i << 18)
        };
        head.to_string() + &(0..15).map(row).collect::<String>()
    }

    fn samples(&self, slot: Slot, trial: &Trial) -> Vec<Sample> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed * 1000 + u64::from(slot.trial));
        let mut shared = ChaCha8Rng::seed_from_u64(self.seed * 77 + u64::from(slot.round));
        let noise = LogNormal::new(0.0, 0.04).unwrap();
        let factor = noise.sample(&mut shared) * noise.sample(&mut rng);
        let (_, _, _, begin, _, read_ns, write_ns) = CONTENDERS[slot.contender];
        let writes = if slot.condition == 0 { 0.1 } else { 0.3 };
        let mut all = vec![];
        for client in 0..self.clients {
            let mut due_ns = trial.window_start_ns - 20_000_000;
            let mut operation = 0;
            while due_ns < trial.window_end_ns {
                let write = rng.random::<f64>() < writes;
                let transaction = if write { 2 } else { 0 } + u16::from(rng.random::<f64>() < 0.3);
                let median = if write { write_ns } else { read_ns } * factor;
                let work = |rng: &mut ChaCha8Rng| LogNormal::new(f64::ln(median), 0.6).unwrap().sample(rng) as u64;
                let fate = if write {
                    Fate::draw(begin, slot.contender, self.deferred_conflicts, &mut rng)
                } else {
                    Fate::Commits
                };
                let drawn = Drawn { client, operation, transaction, due_ns };
                let attempts = fate.attempts(drawn, self.measures_lock_wait, || work(&mut rng));
                due_ns = attempts.last().unwrap().finished_ns;
                operation += 1;
                all.extend(attempts);
            }
        }
        all
    }

    fn trial_facts(&self, study: &Study, slot: Slot) -> Trial {
        let contender = &study.contenders[slot.contender];
        let start = 5_000_000_000 + u64::from(slot.trial) * 2_000_000_000;
        let mut invalid = vec![];
        if self.all_invalid || self.invalid.contains(&slot.trial) {
            invalid
                .push(Invalid::Invariant.because("comments: expected 410, found 409 (SELECT count(*) FROM comments)"));
        }
        let durable = contender.settings["synchronous"] != "NORMAL";
        Trial {
            format: RECORD_VERSION,
            slot,
            contender: contender.name.clone(),
            condition: study.conditions[slot.condition].label.clone(),
            tier: contender.tier,
            invalid,
            marks: if slot.trial == 11 { vec![Mark::NoisyCpu { permille: 120 }] } else { vec![] },
            seed: self.seed * 100 + u64::from(slot.round),
            base: "../.cache/0/base.db".to_string(),
            plan_sha256: "ab".repeat(32),
            load_model: "closed".to_string(),
            window_start_ns: start,
            window_end_ns: start + self.window_ns,
            server: None,
            workers: vec![WorkerInfo {
                number: 0,
                roles: vec![RoleClients { role: "site".to_string(), first_client: 0, clients: self.clients }],
                hello: BTreeMap::from([("engine".to_string(), "SQLite 3.53.2".to_string())]),
                clock_error_ns: 1000,
                cpu_ns: self.window_ns * if durable { 3 } else { 4 } / 5,
                rss_bytes: 24 << 20,
                written_bytes: Some(if durable { 9 << 20 } else { 4 << 20 }),
                voluntary_switches: 900,
                involuntary_switches: 40,
                done: BTreeMap::new(),
            }],
            settings: contender.settings.clone(),
            tier_reported: engine::tier_reported(&contender.engine, &contender.settings),
            planned: BTreeMap::new(),
            foreign_cpu_permille: 12 + slot.trial % 9,
            server_unwatched: false,
            fsync_ns_p50_before: 1_400_000,
            tables: BTreeMap::new(),
            invariants: vec![],
            footprint: Footprint {
                size_bytes_db: 18 << 20,
                size_bytes_wal: if contender.settings["journal_mode"] == "WAL" { 4 << 20 } else { 200 << 10 },
                size_bytes_compact: Some(17 << 20),
            },
            clients: self.clients,
            samples: None,
            samples_sha256: None,
            series_sha256: None,
            bound_sha256: None,
            scale: BTreeMap::from([("databases".to_string(), 1), ("posts".to_string(), 2000)]),
            kinds: Tables::default(),
        }
    }

    pub fn run(&self) -> Run {
        let study = self.study();
        let cells = (0..study.conditions.len()).flat_map(|c| (0..study.contenders.len()).map(move |k| (c, k)));
        let rounds = (1..=self.rounds).flat_map(|round| cells.clone().map(move |cell| (round, cell)));
        let slot = |(trial, (round, (condition, contender)))| Slot { trial, round, condition, contender };
        Run {
            format: RECORD_VERSION,
            contend: "0.1.0".to_string(),
            started: "2026-11-21T10:00:00Z".to_string(),
            id: Some("6b1d".to_string()),
            command: ["contend", "run", "site"].map(str::to_string).to_vec(),
            instead: Instead::default(),
            machine: Machine {
                cpu: "Example CPU 3000".to_string(),
                cores: 4,
                memory_bytes: 8 << 30,
                kernel: "6.1.0".to_string(),
                os: "Debian 12".to_string(),
                virtual_machine: true,
            },
            disk: Disk {
                file_system: "ext4".to_string(),
                fdatasync_ns_p50: 1_100_000,
                fsync_ns_p50: 1_300_000,
                fsync_ns_p95: 2_600_000,
                overwrite_ns_p50: 700_000,
                sync_ns_min: 50_000,
                probes: 200,
                mount: None,
            },
            workload: workload(),
            scenario: None,
            overhead_ns_per_operation: 900,
            overhead_ns_by_condition: vec![],
            tiers: vec![],
            overheads: vec![],
            overheads_missing: vec![],
            programs: vec![],
            schedule: (1..).zip(rounds).map(slot).collect(),
            again: vec![],
            spent_ns: 0,
            finished: None,
            study,
        }
    }

    fn study(&self) -> Study {
        let condition = |label: &str| Condition {
            label: label.to_string(),
            profile: Some(label.to_string()),
            axes: BTreeMap::from([("clients".to_string(), self.clients.to_string())]),
        };
        Study {
            name: "site".to_string(),
            built_in: true,
            part: None,
            about: String::new(),
            beside: None,
            question: "Does a write-ahead log help a busy site on SQLite?".to_string(),
            workload: "site".to_string(),
            scenario: None,
            kind: LOAD.to_string(),
            variant: self.variant,
            extent: Extent::Quick,
            headline: "throughput_ops_per_s".to_string(),
            margin: 0.05,
            compact: true,
            rounds: self.rounds,
            until: None,
            again: None,
            load: self.load(),
            contenders: CONTENDERS.iter().enumerate().map(|(index, row)| self.contender(index, row)).collect(),
            conditions: vec![condition("public"), condition("write-burst")],
            baselines: vec![
                contender_name("DELETE", "EXTRA", "immediate"),
                contender_name("DELETE", "FULL", "immediate"),
            ],
            metrics: vec![OwnMetric {
                name: "locked_per_1000".to_string(),
                about: "operations refused with SQLITE_BUSY_SNAPSHOT, of 1,000".to_string(),
                value: "1000 * code.sqlite.517 / (planned.comment + planned.transient)".to_string(),
                unit: Unit::Plain,
                per: String::new(),
                higher_is_better: false,
            }],
            exports: vec![],
            answers: answers(),
            effects: effects(),
            grids: vec![],
            alongs: vec![],
            readbacks: vec![],
            published: [("public", "WAL/NORMAL", 6780.6), ("write-burst", "DELETE/FULL", 1102.4)]
                .map(published)
                .to_vec(),
            kinds: Tables::default(),
            kept: vec![],
            changes: vec!["journal mode and synchronous no longer change together".to_string()],
            left_out: vec![],
            limits: vec!["Nothing is said of a database that does not fit into memory.".to_string()],
        }
    }

    fn load(&self) -> Load {
        Load {
            processes: None,
            clients: None,
            operations: None,
            window_ns: self.window_ns,
            run_in_ns: 20_000_000,
            drain_ns: 2_000_000_000,
            rate_per_s: None,
            arrivals: Arrivals::Poisson,
            cycle: 16_384,
            scale: 1.0,
            seed: self.seed,
        }
    }

    fn contender(&self, index: usize, row: &(&str, &str, &str, &str, Tier, f64, f64)) -> Contender {
        let (label, journal, synchronous, begin, tier, ..) = *row;
        let odd = if index == 0 { self.odd_label } else { "" };
        let settings = [("journal_mode", journal), ("synchronous", synchronous), ("begin", begin)];
        engine::resolved(Contender {
            name: contender_name(journal, synchronous, begin),
            label: format!("{label}{odd}"),
            engine: "sqlite".to_string(),
            driver: "rusqlite".to_string(),
            model: "thread".to_string(),
            worker: None,
            settings: settings.into_iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            tier,
            resolved: Resolved::default(),
        })
    }
}

/// Resolves the facts again after a test has changed drivers or settings.
pub fn resolve_again(study: &mut Study) {
    for contender in &mut study.contenders {
        *contender = engine::resolved(contender.clone());
    }
}

fn contender_name(journal: &str, synchronous: &str, begin: &str) -> String {
    format!("sqlite/rusqlite/thread:begin={begin},journal_mode={journal},synchronous={synchronous}")
}

fn workload() -> WorkloadInfo {
    WorkloadInfo {
        name: "site".to_string(),
        about: "pages and comments of a site".to_string(),
        file: "w.toml".to_string(),
        text: String::new(),
        sha256: "cd".repeat(32),
        rows: BTreeMap::from([("posts".to_string(), 2000), ("comments".to_string(), 10_000)]),
        transactions: TRANSACTIONS.map(|(name, write)| TransactionInfo { name: name.to_string(), write }).to_vec(),
        data_sha256: "ef".repeat(32),
        data: vec![],
    }
}

fn answers() -> Vec<Answer> {
    let words = [
        ("faster", "Yes. With the log the site does {ratio} times the work, {this_value} instead of {against_value}."),
        ("cannot tell", "These {rounds} rounds cannot tell."),
    ];
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let answer = |ask: &str, metric: &str, this: &str, against: &str| Answer {
        ask: ask.to_string(),
        metric: metric.to_string(),
        condition: None,
        against_condition: None,
        cannot_tell_if: None,
        this: this.to_string(),
        against: against.to_string(),
        words: owned(&words),
        facts: BTreeMap::new(),
    };
    let mut locked = answer("Who gets 'database is locked'?", "locked_per_1000", "WAL/NORMAL deferred", "WAL/NORMAL");
    locked.words.clear();
    locked.condition = Some("write-burst".to_string());
    locked.facts = owned(&[("only-this", "Only {this}: {this_value} of 1,000 writes.")]);
    let throughput = "throughput_ops_per_s";
    vec![
        answer("Is the log faster, if the last commits may be lost?", throughput, "WAL/NORMAL", "DELETE/FULL"),
        answer("And across tiers?", throughput, "WAL/NORMAL", "DELETE/EXTRA"),
        locked,
    ]
}

fn effects() -> Vec<Effect> {
    let effect = |about: &str, factor: &str, from: &str, to: &str, at: (&str, &str)| Effect {
        ask: Some("What does each setting do?".to_string()),
        about: about.to_string(),
        factor: factor.to_string(),
        from: from.to_string(),
        to: to.to_string(),
        at: BTreeMap::from([(at.0.to_string(), at.1.to_string())]),
        metric: "throughput_ops_per_s".to_string(),
    };
    vec![
        effect("The journal's effect", "journal_mode", "DELETE", "WAL", ("synchronous", "FULL")),
        effect("The sync's effect", "synchronous", "FULL", "NORMAL", ("journal_mode", "WAL")),
    ]
}

fn published((condition, contender, value): (&str, &str, f64)) -> Published {
    Published {
        condition: condition.to_string(),
        contender: contender.to_string(),
        metric: "throughput_ops_per_s".to_string(),
        value,
    }
}

/// Course of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Commits,
    /// Rejected at once, not retried.
    Refused,
    /// Rejected at once, then committed.
    SecondTry,
    TimesOut,
}

#[derive(Debug, Clone, Copy)]
struct Drawn {
    client: u32,
    operation: u32,
    transaction: u16,
    due_ns: u64,
}

impl Fate {
    fn draw(begin: &str, contender: usize, refused: f64, rng: &mut impl Rng) -> Self {
        let chance = rng.random::<f64>();
        match (begin, contender) {
            ("deferred", _) if chance < refused => Fate::Refused,
            ("deferred", _) if chance < refused + 0.03 => Fate::SecondTry,
            (_, 2) if chance < 0.004 => Fate::TimesOut,
            _ => Fate::Commits,
        }
    }

    fn attempts(self, drawn: Drawn, lock_wait: bool, mut work: impl FnMut() -> u64) -> Vec<Sample> {
        let start = drawn.due_ns + 2_000;
        let first = |code, flags, took| attempt(drawn, (start, took), (code, flags), lock_wait);
        match self {
            Fate::Commits => vec![first(0, 0, work())],
            Fate::Refused => vec![first(517, 0, 40_000)],
            Fate::TimesOut => vec![first(5, flag::LOCK_TIMEOUT_SPENT, 100_000_000)],
            Fate::SecondTry => {
                let refused = first(517, 0, 40_000);
                let again = refused.finished_ns + 1_000_000;
                vec![refused, Sample { attempt: 1, ..attempt(drawn, (again, work()), (0, 0), lock_wait) }]
            }
        }
    }
}

/// The first attempt of an operation, with its start and how long it took.
fn attempt(drawn: Drawn, (start, took): (u64, u64), (code, flags): (u32, u8), lock_wait: bool) -> Sample {
    Sample {
        client: drawn.client,
        operation: drawn.operation,
        transaction: drawn.transaction,
        failed_step: if code == 0 { STEP_NONE } else { STEP_BEGIN },
        code_space: if code == 0 { CodeSpace::Ok } else { CodeSpace::Sqlite },
        flags,
        code,
        rows: 3,
        due_ns: drawn.due_ns,
        started_ns: start,
        finished_ns: start + took,
        lock_wait_ns: if lock_wait { took / 5 } else { NOT_MEASURED },
        ..Sample::default()
    }
}
