//! Holds the commits that a database has counted itself against those that the samples say: what was acknowledged must have
//! been committed, each transaction once, and nothing else may have been.

use crate::engine::Counts;
use crate::outcome::reason::Invalid;
use crate::outcome::{Outcome, classify, may_have_acted};
use crate::record::model::Reason;
use contend_wire::plan::{Step, Transaction};
use contend_wire::sample::{STEP_BEGIN, STEP_COMMIT, STEP_NONE, Sample};
use contend_wire::statement::Statement;

/// A reading of the databases' own counters of commits, all databases together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Since the start of the clients: what [`Counted::of`] says.
    pub commits: u64,
    /// The tool's clock before the reading, and after it.
    pub between_ns: (u64, u64),
}

/// What the counters of a trial said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// At the end of the window, while clients may still have been at work; none if the number of operations decides.
    pub at_window_end: Option<Reading>,
    /// When all had ended.
    pub at_end: Option<Reading>,
    /// What a server may have added for itself in that time.
    pub own: u64,
    pub of: Counts,
}

/// How many commits one attempt makes, or statements that are counted like them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Makes {
    Commits(MakesCommits),
    /// What is counted of each step, and of the commit.
    Statements(Vec<u64>, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MakesCommits {
    /// If it was acknowledged.
    least: u64,
    /// At most, whatever became of it.
    most: u64,
    /// Whether it begins a transaction: one that surely failed has then committed nothing.
    is_whole: bool,
    /// The step from which it is counted although it failed.
    counts_from: Option<u16>,
}

/// Takes a trial's samples one by one.
pub struct CommitCheck {
    makes: Vec<Makes>,
    counted: Counted,
    window: Bounds,
    end: Bounds,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    least: u64,
    most: u64,
}

impl CommitCheck {
    pub fn new(transactions: &[Transaction], statements: &[Statement], counted: Counted) -> Self {
        let makes = transactions.iter().map(|transaction| makes(transaction, statements, counted.of)).collect();
        Self { makes, counted, window: Bounds::default(), end: Bounds::default() }
    }

    pub fn push(&mut self, sample: &Sample) {
        // A transaction that no plan has is found by the accounts.
        let Some(makes) = self.makes.get(usize::from(sample.transaction)) else { return };
        let Bounds { least, most } = makes.by(sample);
        self.end.least += least;
        self.end.most += most;
        if let Some(Reading { between_ns: (before, after), .. }) = self.counted.at_window_end {
            self.window.least += if sample.finished_ns <= before { least } else { 0 };
            self.window.most += if sample.started_ns <= after { most } else { 0 };
        }
    }

    /// What the counters contradict.
    pub fn finish(self) -> Vec<Reason> {
        let Self { counted, window, end, .. } = self;
        let at_window_end = counted.at_window_end.map(|reading| (reading, window, "by the end of the window"));
        let at_end = counted.at_end.map(|reading| (reading, end, "in all"));
        let all = at_window_end.into_iter().chain(at_end);
        all.filter_map(|(reading, Bounds { least, most }, when)| {
            let found = reading.commits;
            (found < least || found > most + counted.own).then(|| {
                let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
                let what = match counted.of {
                    Counts::Transactions | Counts::Writers => "commits",
                    Counts::Statements => "COMMITs and statements that change data",
                };
                Invalid::Commits.because(format!(
                    "the database counted {found} {what} {when}, the samples say {range}: operations were acknowledged that \
                     it did not commit, commits of one operation were divided or joined, or somebody else wrote"
                ))
            })
        })
        .take(1)
        .collect()
    }
}

impl Makes {
    /// What an attempt has added to the count.
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

/// A statement that is refused is counted all the same; whether one that failed otherwise has arrived is not known.
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
            let arrived = last == 1 && classify(sample) == Outcome::Rejected;
            Bounds { least: done + u64::from(arrived), most: done + last }
        }
    }
}

fn makes(transaction: &Transaction, statements: &[Statement], of: Counts) -> Makes {
    let counted = |step: &Step| match step {
        Step::Sql(step) if statements.get(step.statement as usize).is_some_and(|s| s.effect.changes) => step.repeat,
        _ => 0,
    };
    let steps: Vec<u64> = transaction.steps.iter().map(|step| u64::from(counted(step))).collect();
    let first_write = || steps.iter().position(|&count| count > 0).map(|step| step as u16);
    match of {
        Counts::Transactions => Makes::Commits(commits(transaction, statements)),
        Counts::Writers => {
            Makes::Commits(MakesCommits { counts_from: first_write(), ..commits(transaction, statements) })
        }
        Counts::Statements => Makes::Statements(steps, u64::from(transaction.begin.is_some())),
    }
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

/// Whether a statement that changes a row changes the data for sure. An UPDATE may set what is there already, which some engines
/// do not write.
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
    use contend_wire::sample::{CodeSpace, NOT_MEASURED};
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
        assert_eq!(of(true, &steps, failed(2, 19)), (6, 6), "a refused one has arrived");
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

    /// Two acknowledged inserts and one attempt that failed, of which one insert was in flight when the window ended.
    fn found(at_window_end: u64, at_end: u64, own: u64) -> usize {
        let reading = |commits, at| Some(Reading { commits, between_ns: (at, at + 1) });
        let counted = Counted {
            at_window_end: reading(at_window_end, 20),
            at_end: reading(at_end, 99),
            own,
            of: Counts::Transactions,
        };
        let mut check = CommitCheck::new(&[transaction(true, true, &[(1, 1, 1)])], &statements(), counted);
        for one in [sample(0, true, (1, 10)), sample(0, true, (15, 30)), sample(0, false, (40, 50))] {
            check.push(&one);
        }
        check.finish().len()
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
