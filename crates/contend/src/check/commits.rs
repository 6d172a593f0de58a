//! Compares the commits that a database counted with those in the samples: each acknowledged transaction was committed once, and
//! nothing else was committed.

use crate::engine::Counts;
use crate::outcome::reason::Invalid;
use crate::outcome::{Outcome, classify, may_have_acted};
use crate::record::model::Reason;
use contend_wire::plan::{Step, Transaction};
use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_COMMIT, STEP_NONE, Sample};
use contend_wire::statement::Statement;

/// A reading of the databases' own counters of commits, all databases together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Count since the start of the clients; [`Counted::of`] is what is counted.
    pub commits: u64,
    /// Time before the reading and after it, on the tool's clock.
    pub between_ns: (u64, u64),
}

/// All readings of a trial's counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// Readings during the run, in order of time, where a reading is cheap.
    pub meanwhile: Vec<Reading>,
    /// Reading at the end of the window, when clients may still be working.
    pub at_window_end: Option<Reading>,
    /// Reading after all clients had ended.
    pub at_end: Option<Reading>,
    /// Commits that a server may have made for itself in that time.
    pub own: u64,
    pub of: Counts,
    /// Commits that left no trace of the journal that they need.
    pub untraced: u64,
    /// Whether a transaction is one request to a service, whose failure does not say which statement was the last.
    pub is_served: bool,
    /// Why the counters could not be read, or not until the end.
    pub lost: Option<String>,
}

/// What one attempt of a transaction adds to the count: commits or statements.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Makes {
    Commits(MakesCommits),
    /// Statements counted for each step, and for the commit.
    Statements(Vec<u64>, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MakesCommits {
    /// Fewest commits if it was acknowledged.
    least: u64,
    /// Most commits, whatever its result.
    most: u64,
    /// Whether it has a BEGIN: an attempt that certainly failed has then committed nothing.
    is_whole: bool,
    /// Step from which on an attempt is counted even if it failed.
    counts_from: Option<u16>,
}

/// Takes a trial's samples one by one.
pub struct CommitCheck {
    makes: Vec<Makes>,
    of: Counts,
    own: u64,
    is_served: bool,
    /// Readings while clients were working, in order of time, each with the bounds of what was added since the one before.
    readings: Vec<(Reading, Bounds)>,
    at_end: Option<Reading>,
    end: Bounds,
    lost: Option<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    least: u64,
    most: u64,
}

impl CommitCheck {
    pub fn new(transactions: &[Transaction], statements: &[Statement], counted: Counted) -> Self {
        let Counted { meanwhile, at_window_end, at_end, own, of, is_served, lost, .. } = counted;
        let makes = transactions.iter().map(|transaction| makes(transaction, statements, of)).collect();
        let readings = meanwhile.into_iter().chain(at_window_end).map(|reading| (reading, Bounds::default())).collect();
        Self { makes, of, own, is_served, readings, at_end, end: Bounds::default(), lost }
    }

    pub fn push(&mut self, sample: &Sample) {
        // A transaction that no plan has is found by the accounts.
        let Some(makes) = self.makes.get(usize::from(sample.transaction)) else { return };
        let is_unknown = self.is_served && self.of != Counts::Transactions && !sample.is_ok();
        let Bounds { least, most } = if is_unknown { makes.at_most() } else { makes.by(sample) };
        self.end.least += least;
        self.end.most += most;
        let ended = self.readings.partition_point(|(reading, _)| reading.between_ns.0 < sample.finished_ns);
        let begun = self.readings.partition_point(|(reading, _)| reading.between_ns.1 < sample.started_ns);
        let mut since = |at: usize, by: Bounds| {
            if let Some((_, bounds)) = self.readings.get_mut(at) {
                bounds.least += by.least;
                bounds.most += by.most;
            }
        };
        since(ended, Bounds { least, most: 0 });
        since(begun, Bounds { least: 0, most });
    }

    /// The first contradiction between readings and samples; without one, why they could not be compared.
    pub fn finish(mut self) -> Option<Reason> {
        let lost = self.lost.take().map(|why| {
            Invalid::Commits
                .because(format!("the commits that the database counted could not be compared with the samples: {why}"))
        });
        self.contradiction().or(lost)
    }

    fn contradiction(self) -> Option<Reason> {
        let mut so_far = Bounds::default();
        let meanwhile = self.readings.iter().map(|(reading, since)| {
            so_far = Bounds { least: so_far.least + since.least, most: so_far.most + since.most };
            (*reading, so_far, "by then, in the middle of the work")
        });
        let at_end = self.at_end.map(|reading| (reading, self.end, "in all"));
        meanwhile.chain(at_end).find_map(|(reading, Bounds { least, most }, when)| {
            let found = reading.commits;
            (found < least || found > most + self.own).then(|| {
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                let what = match self.of {
                    Counts::Transactions | Counts::Writers => "commits",
                    Counts::Statements => "COMMITs and statements that change data",
                };
                Invalid::Commits.because(format!(
                    "the database counted {found} {what} {when}, the samples say {range}: acknowledged operations were not committed in time, commits were \
                     split or merged, or another program wrote"
                ))
            })
        })
    }
}

impl Makes {
    /// Bounds of an attempt of which nothing is known.
    fn at_most(&self) -> Bounds {
        let most = match self {
            Self::Commits(makes) => makes.most,
            Self::Statements(steps, commit) => steps.iter().sum::<u64>() + commit,
        };
        Bounds { least: 0, most }
    }

    /// Bounds of what an attempt added to the count.
    fn by(&self, sample: &Sample) -> Bounds {
        match self {
            Self::Commits(makes) if makes.adds_nothing(sample) => Bounds::default(),
            Self::Commits(makes) => Bounds { least: if sample.is_ok() { makes.least } else { 0 }, most: makes.most },
            Self::Statements(steps, commit) => by_statements(steps, *commit, sample),
        }
    }
}

impl MakesCommits {
    fn adds_nothing(&self, sample: &Sample) -> bool {
        let has_written = self.counts_from.is_some_and(|from| (from..STEP_BEGIN).contains(&sample.failed_step));
        self.is_whole && !sample.is_ok() && !may_have_acted(sample) && !has_written
    }
}

/// A rejected statement is counted, too. Whether a statement that failed otherwise reached the server is unknown.
fn by_statements(steps: &[u64], commit: u64, sample: &Sample) -> Bounds {
    let all: u64 = steps.iter().sum();
    match sample.failed_step {
        STEP_NONE => Bounds { least: all + commit, most: all + commit },
        STEP_BEGIN => Bounds::default(),
        STEP_COMMIT => Bounds { least: all, most: all + commit },
        step => {
            let Some((before, from)) = steps.split_at_checked(usize::from(step)) else {
                return Bounds { least: 0, most: all };
            };
            let (done, last) = (before.iter().sum::<u64>(), from.first().copied().unwrap_or_default());
            let arrived = last == 1 && classify(sample) == Outcome::Rejected && server_refused(sample);
            Bounds { least: done + u64::from(arrived), most: done + last }
        }
    }
}

/// Whether the code is one with which the server answered the statement. A worker's own code, such as that of a value that no
/// row was kept for, and one of the connection can be from before it was sent.
fn server_refused(sample: &Sample) -> bool {
    const TOO_MANY_CONNECTIONS: u32 = 1040;
    const OF_THE_CLIENT: std::ops::Range<u32> = 2_000..3_000;
    let is_servers = !OF_THE_CLIENT.contains(&sample.code) && sample.code != TOO_MANY_CONNECTIONS;
    sample.code_space == CodeSpace::Mysql && is_servers
}

/// Whether a statement takes a transaction's number on PostgreSQL: one that changes data, locks rows, or draws from a sequence.
fn takes_number(statement: &Statement) -> bool {
    const TAKE: [&str; 6] = ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE", "NEXTVAL", "SETVAL"];
    let sql = || statement.sql.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
    statement.effect.changes || TAKE.iter().any(|words| sql().contains(words))
}

fn makes(transaction: &Transaction, statements: &[Statement], of: Counts) -> Makes {
    let counted = |step: &Step| match step {
        Step::Sql(step) if statements.get(step.statement as usize).is_some_and(|s| s.effect.changes) => step.repeat,
        _ => 0,
    };
    let steps: Vec<u64> = transaction.steps.iter().map(|step| u64::from(counted(step))).collect();
    match of {
        Counts::Transactions => Makes::Commits(commits(transaction, statements)),
        Counts::Writers => {
            let takes = |step: &Step| match step {
                Step::Sql(step) if statements.get(step.statement as usize).is_some_and(takes_number) => step.repeat,
                _ => 0,
            };
            let numbers: Vec<u64> = transaction.steps.iter().map(|step| u64::from(takes(step))).collect();
            let counts_from = numbers.iter().position(|&count| count > 0).map(|step| step as u16);
            let known = commits(transaction, statements);
            // A part of a transaction after a savepoint has a number of its own.
            let begins = |step: &Step| match step {
                Step::Sql(step) if statements.get(step.statement as usize).is_some_and(is_savepoint) => step.repeat,
                _ => 0,
            };
            let parts = 1 + transaction.steps.iter().map(|step| u64::from(begins(step))).sum::<u64>();
            let most = match numbers.iter().sum::<u64>() {
                0 => 0,
                _ if known.is_whole => parts,
                all => all,
            };
            Makes::Commits(MakesCommits { counts_from, most: known.most.max(most), ..known })
        }
        Counts::Statements => Makes::Statements(steps, u64::from(transaction.begin.is_some())),
    }
}

/// Whether a statement makes a savepoint, or returns to one.
fn is_savepoint(statement: &Statement) -> bool {
    let word = statement.sql.split_whitespace().next().unwrap_or_default();
    ["savepoint", "rollback"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether each transaction changes a row if it is acknowledged, perhaps to the values that are already there.
pub fn change(transactions: &[Transaction], statements: &[Statement]) -> Vec<bool> {
    let changes = |step: &Step| match step {
        Step::Sql(step) if step.rows_min > 0 && step.repeat > 0 => {
            statements.get(step.statement as usize).is_some_and(|statement| statement.effect.changes)
        }
        _ => false,
    };
    transactions.iter().map(|transaction| transaction.steps.iter().any(changes)).collect()
}

/// Whether each transaction makes a commit for sure if it is acknowledged.
pub fn surely(transactions: &[Transaction], statements: &[Statement]) -> Vec<bool> {
    transactions.iter().map(|transaction| commits(transaction, statements).least > 0).collect()
}

fn commits(transaction: &Transaction, statements: &[Statement]) -> MakesCommits {
    let mut steps = vec![];
    for step in &transaction.steps {
        let Step::Sql(step) = step else { continue };
        let Some(statement) = statements.get(step.statement as usize) else { continue };
        let surely = step.rows_min > 0 && step.repeat > 0 && always_writes(statement);
        let writes = statement.effect.changes || transaction.writes;
        steps.push((u64::from(step.repeat), surely, writes));
    }
    let each = |of: fn(&(u64, bool, bool)) -> bool| steps.iter().filter(|step| of(step)).map(|(n, ..)| *n).sum::<u64>();
    let (least, most) = (each(|(_, surely, _)| *surely), each(|(.., writes)| *writes));
    match transaction.begin {
        Some(_) => MakesCommits { least: least.min(1), most: most.min(1), is_whole: true, counts_from: None },
        None => MakesCommits { least, most, is_whole: false, counts_from: None },
    }
}

/// Whether a statement that changes a row certainly changes the data. An UPDATE may set the values that are already there, which
/// some engines do not write.
fn always_writes(statement: &Statement) -> bool {
    let sql = statement.sql.trim_start();
    let first = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    let replaces = || sql.to_ascii_uppercase().contains("CONFLICT") || sql.to_ascii_uppercase().contains(" OR REPLACE");
    let plain = statement.effect.changes && !statement.effect.rows && statement.effect.upserts.is_none();
    plain && (first == "DELETE" || first == "INSERT" && !replaces())
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::plan::SqlStep;
    use contend_wire::sample::NOT_MEASURED;
    use contend_wire::statement::Effect;

    fn statements() -> Vec<Statement> {
        let changes = Effect { changes: true, ..Effect::default() };
        let rows = Effect { rows: true, ..Effect::default() };
        let of = |sql: &str, effect| Statement { sql: sql.to_string(), effect, placeholders: vec![] };
        vec![
            of("SELECT 1", rows),
            of("INSERT INTO t VALUES (1)", changes),
            of("UPDATE t SET a = 1", changes),
            of("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", changes),
            of("SAVEPOINT s1", Effect::default()),
        ]
    }

    fn transaction(begin: bool, writes: bool, steps: &[(u32, u32, u32)]) -> Transaction {
        let step = |&(statement, rows_min, repeat): &(u32, u32, u32)| {
            Step::Sql(SqlStep { statement, rows_min, rows_max: 1, repeat, keep: vec![], args: vec![] })
        };
        Transaction {
            name: "t".to_string(),
            writes,
            begin: begin.then(|| "BEGIN".to_string()),
            uniques: 0,
            slots: 0,
            steps: steps.iter().map(step).collect(),
        }
    }

    fn sample(transaction: u16, ok: bool, times: (u64, u64)) -> Sample {
        Sample {
            client: 1,
            operation: 0,
            transaction,
            attempt: 0,
            failed_step: if ok { STEP_NONE } else { STEP_BEGIN },
            code_space: if ok { CodeSpace::Ok } else { CodeSpace::Sqlite },
            flags: 0,
            code: if ok { 0 } else { 5 },
            rows: 0,
            due_ns: times.0,
            started_ns: times.0,
            finished_ns: times.1,
            lock_wait_ns: NOT_MEASURED,
            acquire_wait_ns: NOT_MEASURED,
        }
    }

    #[test]
    fn each_part_after_a_savepoint_may_take_a_number_of_a_writer() {
        let most = |transaction: Transaction| match makes(&transaction, &statements(), Counts::Writers) {
            Makes::Commits(makes) => (makes.least, makes.most),
            Makes::Statements(..) => panic!("commits are counted"),
        };
        assert_eq!(most(transaction(true, true, &[(1, 1, 1)])), (1, 1));
        assert_eq!(most(transaction(true, true, &[(4, 0, 2), (1, 1, 1)])), (1, 3));
        assert_eq!(most(transaction(true, false, &[(4, 0, 1), (0, 1, 1)])), (0, 0), "it only reads");
    }

    #[test]
    fn what_a_transaction_commits_follows_from_its_statements() {
        let of = |transaction: Transaction| {
            let MakesCommits { least, most, .. } = commits(&transaction, &statements());
            (least, most)
        };
        assert_eq!(of(transaction(false, false, &[(0, 1, 3)])), (0, 0), "reads");
        assert_eq!(of(transaction(true, true, &[(0, 1, 1), (1, 1, 5)])), (1, 1), "inserts in a transaction");
        assert_eq!(of(transaction(false, true, &[(1, 1, 5)])), (5, 5), "each for itself");
        assert_eq!(of(transaction(true, true, &[(2, 1, 1)])), (0, 1), "an update may change nothing");
        assert_eq!(of(transaction(true, true, &[(1, 0, 1)])), (0, 1), "or no row");
        assert_eq!(of(transaction(true, true, &[(3, 1, 1)])), (0, 1), "or an upsert what is there");
    }

    #[test]
    fn a_count_of_statements_has_commits_and_what_may_change_data() {
        let of = |begin: bool, steps: &[(u32, u32, u32)], sample: Sample| {
            let Bounds { least, most } =
                makes(&transaction(begin, true, steps), &statements(), Counts::Statements).by(&sample);
            (least, most)
        };
        let done = || sample(0, true, (1, 2));
        assert_eq!(of(false, &[(0, 1, 3)], done()), (0, 0), "reads");
        assert_eq!(of(true, &[(0, 1, 3)], done()), (1, 1), "reads in a transaction");
        let steps = [(0, 1, 1), (1, 1, 5), (2, 0, 1)];
        assert_eq!(of(true, &steps, done()), (7, 7), "each statement");
        // SQLITE_CONSTRAINT is a rejection, SQLITE_BUSY is none.
        let failed = |failed_step, code| Sample { failed_step, code, ..sample(0, false, (1, 2)) };
        assert_eq!(of(true, &steps, failed(STEP_BEGIN, 5)), (0, 0), "before any");
        assert_eq!(of(true, &steps, failed(1, 5)), (0, 5), "in the middle of the repeated one");
        let by = |code_space, code| Sample { code_space, ..failed(2, code) };
        assert_eq!(of(true, &steps, by(CodeSpace::Mysql, 1062)), (6, 6), "a refused one has arrived");
        assert_eq!(of(true, &steps, failed(2, 19)), (5, 6), "one that the worker refused may not have been sent");
        assert_eq!(of(true, &steps, failed(2, 5)), (5, 6), "another one may not have");
        assert_eq!(of(true, &steps, failed(STEP_COMMIT, 5)), (6, 7), "in the commit");
        assert_eq!(of(true, &steps, failed(9, 5)), (0, 6), "a step that no plan has");
    }

    #[test]
    fn a_count_of_writers_has_those_that_were_rolled_back() {
        let makes = makes(&transaction(true, true, &[(0, 1, 1), (2, 1, 1), (1, 1, 1)]), &statements(), Counts::Writers);
        let most = |failed_step| makes.by(&Sample { failed_step, ..sample(0, false, (1, 2)) }).most;
        assert_eq!([STEP_BEGIN, 0, 1, 2, STEP_COMMIT].map(most), [0, 0, 1, 1, 1], "it writes in its second step");
    }

    #[test]
    fn a_count_of_writers_has_those_that_only_lock() {
        let lock = Statement { sql: "SELECT a\nFROM t for  update".to_string(), ..statements()[0].clone() };
        let makes = makes(
            &transaction(true, false, &[(0, 1, 1), (1, 1, 1)]),
            &[statements()[0].clone(), lock],
            Counts::Writers,
        );
        let most = |failed_step| makes.by(&Sample { failed_step, ..sample(0, false, (1, 2)) }).most;
        assert_eq!([0, 1, STEP_COMMIT].map(most), [0, 1, 1], "a lock takes a number, in a read, too");
    }

    #[test]
    fn how_far_a_failed_request_came_is_unknown() {
        let one = |is_served, commits| {
            let reading = Some(Reading { commits, between_ns: (90, 91) });
            let counted = Counted { at_end: reading, of: Counts::Statements, is_served, ..Counted::default() };
            let steps = [(1, 1, 1), (2, 1, 1)];
            let mut check = CommitCheck::new(&[transaction(true, true, &steps)], &statements(), counted);
            check.push(&sample(0, false, (1, 2)));
            check.finish().is_none()
        };
        assert!(!one(false, 2), "two statements, where the first one failed");
        assert!(one(true, 2) && one(true, 0) && !one(true, 4));
    }

    /// Two acknowledged inserts and one attempt that failed, of which one insert was in flight when the window ended.
    fn found(at_window_end: u64, at_end: u64, own: u64) -> usize {
        let reading = |commits, at| Some(Reading { commits, between_ns: (at, at + 1) });
        let (at_window_end, at_end) = (reading(at_window_end, 20), reading(at_end, 99));
        let counted = Counted { at_window_end, at_end, own, of: Counts::Transactions, ..Counted::default() };
        let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
        for one in [sample(0, true, (1, 10)), sample(0, true, (15, 30)), sample(0, false, (40, 50))] {
            check.push(&one);
        }
        usize::from(check.finish().is_some())
    }

    /// Four inserts of 10 ns each that commit at their end, of which the samples move a part of the time to the next one; read so often.
    fn shifted(by_ns: u64, every_ns: usize) -> bool {
        let committed = |at: u64| at / 10;
        let reading = |at: u64| Reading { commits: committed(at), between_ns: (at, at) };
        let meanwhile = (0..40).step_by(every_ns).map(reading).collect();
        let counted = Counted { meanwhile, of: Counts::Transactions, ..Counted::default() };
        let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
        for at in 0..4 {
            let (before, after) = if at % 2 == 0 { (0, by_ns) } else { (by_ns, 0) };
            check.push(&sample(0, true, (10 * at - before, 10 * at + 10 - after)));
        }
        check.finish().is_some()
    }

    #[test]
    fn time_that_was_moved_to_another_operation_is_found_by_readings_in_between() {
        assert!(!shifted(0, 1));
        assert!(shifted(1, 1) && shifted(5, 3));
        assert!(!shifted(5, 10), "read only where nothing is moved");
    }

    #[test]
    fn a_count_that_was_lost_is_a_reason() {
        let lost = |readings: &[u64]| {
            let meanwhile = readings.iter().map(|&commits| Reading { commits, between_ns: (20, 21) }).collect();
            let counted = Counted { meanwhile, lost: Some("it is gone".to_string()), ..Counted::default() };
            let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
            check.push(&sample(0, true, (1, 10)));
            check.finish().map(|reason| reason.to_string()).unwrap_or_default()
        };
        assert!(lost(&[]).ends_with("could not be compared with the samples: it is gone"));
        assert!(lost(&[1]).ends_with("could not be compared with the samples: it is gone"), "not until the end");
        assert!(lost(&[0]).contains("the database counted 0 commits"), "a contradiction says more");
    }

    /// Five transactions before the window and five in it, of which the samples have four before it as work in the window.
    #[test]
    fn work_before_the_window_that_is_reported_as_work_in_it_is_found_at_its_beginning() {
        let found = |own, at: u64| {
            let meanwhile = vec![Reading { commits: at / 10, between_ns: (at, at) }];
            let reading = Some(Reading { commits: 10, between_ns: (100, 100) });
            let counted = Counted { meanwhile, at_end: reading, own, ..Counted::default() };
            let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
            let moved = |t: u64| if t <= 10 { t * 5 } else { 50 + (t - 10) * 50 / 90 };
            (0..10).for_each(|n| check.push(&sample(0, true, (moved(10 * n), moved(10 * n + 10)))));
            check.finish().is_some()
        };
        assert!(found(0, 50), "five, where one has ended and one has begun");
        assert!(!found(3, 50), "what a server may do for itself");
        assert!(!found(0, 100), "the sum is right");
    }

    #[test]
    fn what_was_acknowledged_was_committed_and_nothing_else() {
        assert_eq!(found(1, 2, 0), 0);
        assert_eq!(found(2, 2, 0), 0, "the one in flight may have been done");
        assert_eq!(found(2, 3, 0), 1, "the one that surely failed was not");
        assert_eq!(found(0, 2, 0), 1, "one was not there when it was said to have ended");
        assert_eq!(found(3, 3, 0), 1, "more than had begun");
        assert_eq!(found(1, 1, 0), 1, "one was dropped");
        assert_eq!(found(2, 4, 0), 1, "one was divided");
        assert_eq!(found(2, 3, 1), 0, "or the server's own");
    }
}
