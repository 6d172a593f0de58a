//! What an attempt of a transaction adds to the count of its database, by its statements and its result.

use crate::engine::Counts;
use crate::outcome::{Outcome, classify, may_have_acted};
use contend_wire::plan::{SqlStep, Step, Transaction};
use contend_wire::sample::{CodeSpace, STEP_BEGIN, STEP_COMMIT, STEP_NONE, Sample};
use contend_wire::statement::Statement;

#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    pub least: u64,
    pub most: u64,
}

/// What one attempt of a transaction adds to the count: commits or statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Makes {
    Commits(MakesCommits),
    /// Statements counted for each step, and for the commit.
    Statements(Vec<u64>, u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakesCommits {
    /// Fewest commits if it was acknowledged.
    least: u64,
    /// Most commits, whatever its result.
    most: u64,
    /// Whether it has a BEGIN: an attempt that certainly failed has then committed nothing.
    is_whole: bool,
    /// Step from which on an attempt may be counted even if it failed.
    counts_from: Option<u16>,
    /// Step after which an attempt is counted for sure even if it failed.
    surely_after: Option<u16>,
}

impl Makes {
    /// Bounds of an attempt of which nothing is known.
    pub fn at_most(&self) -> Bounds {
        let most = match self {
            Self::Commits(makes) => makes.most,
            Self::Statements(steps, commit) => steps.iter().sum::<u64>() + commit,
        };
        Bounds { least: 0, most }
    }

    /// Bounds of what an attempt added to the count.
    pub fn by(&self, sample: &Sample) -> Bounds {
        match self {
            Self::Commits(makes) if makes.adds_nothing(sample) => Bounds::default(),
            Self::Commits(makes) => Bounds { least: makes.at_least(sample), most: makes.most },
            Self::Statements(steps, commit) => by_statements(steps, *commit, sample),
        }
    }
}

impl MakesCommits {
    /// A number that a transaction took is counted when its ROLLBACK has ended, too.
    fn at_least(&self, sample: &Sample) -> u64 {
        let took = self.surely_after.is_some_and(|step| (step + 1..STEP_BEGIN).contains(&sample.failed_step));
        match sample.is_ok() {
            true => self.least,
            false => u64::from(took && !may_have_acted(sample)),
        }
    }

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

pub fn makes(transaction: &Transaction, statements: &[Statement], of: Counts) -> Makes {
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
            let writes = |step: &Step| matches!(step, Step::Sql(step) if surely_takes(step, statements));
            let surely_after = transaction.steps.iter().position(writes).map(|step| step as u16);
            let surely_after = surely_after.filter(|_| known.is_whole);
            let least = known.least.max(u64::from(surely_after.is_some()));
            Makes::Commits(MakesCommits { counts_from, surely_after, least, most: known.most.max(most), ..known })
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
        let surely = surely_writes(step, statements);
        let writes = statement.effect.changes || transaction.writes;
        steps.push((u64::from(step.repeat), surely, writes));
    }
    let each = |of: fn(&(u64, bool, bool)) -> bool| steps.iter().filter(|step| of(step)).map(|(n, ..)| *n).sum::<u64>();
    let (least, most) = (each(|(_, surely, _)| *surely), each(|(.., writes)| *writes));
    let is_whole = transaction.begin.is_some();
    let (least, most) = match savepoint_is_one(transaction, statements) {
        is_one if is_whole || is_one == Some(true) => (least.min(1), most.min(1)),
        Some(_) => (0, most),
        None => (least, most),
    };
    MakesCommits { least, most, is_whole, counts_from: None, surely_after: None }
}

/// Whether a transaction without BEGIN is one for SQLite because its first statement is a SAVEPOINT that its last one releases;
/// `None` without a savepoint.
fn savepoint_is_one(transaction: &Transaction, statements: &[Statement]) -> Option<bool> {
    let words = |step: &Step| match step {
        Step::Sql(step) => statements.get(step.statement as usize).map(|statement| {
            let sql = statement.sql.to_ascii_lowercase();
            let words = sql.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty());
            (words.map(str::to_string).collect(), step.repeat)
        }),
        _ => None,
    };
    let all: Vec<(Vec<String>, u32)> = transaction.steps.iter().filter_map(words).collect();
    let begins = |(words, _): &(Vec<String>, u32)| words[..].first().is_some_and(|word| word == "savepoint");
    all.iter().any(begins).then_some(())?;
    let [first, inner @ .., last] = &all[..] else { return Some(false) };
    let is_of_name = |(words, _): &(Vec<String>, u32)| words.last() == first.0.last();
    let releases = |of: &(Vec<String>, u32)| of.0[..].first().is_some_and(|word| word == "release") && is_of_name(of);
    // A second savepoint of the name is the one that is released.
    let is_clear = first.1 == 1 && !inner.iter().any(|of| releases(of) || begins(of) && is_of_name(of));
    Some(begins(first) && releases(last) && is_clear)
}

fn surely_writes(step: &SqlStep, statements: &[Statement]) -> bool {
    let always = || statements.get(step.statement as usize).is_some_and(always_writes);
    step.rows_min > 0 && step.repeat > 0 && always()
}

/// Whether a step takes a transaction's number on PostgreSQL for sure, which writes a row again that an UPDATE leaves as it was.
fn surely_takes(step: &SqlStep, statements: &[Statement]) -> bool {
    let updates = |statement: &Statement| {
        let first = statement.sql.split_whitespace().next().unwrap_or_default();
        statement.effect.changes && first.eq_ignore_ascii_case("update")
    };
    let of_rows = step.rows_min > 0 && step.repeat > 0;
    surely_writes(step, statements) || of_rows && statements.get(step.statement as usize).is_some_and(updates)
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
pub mod tests {
    use super::*;
    use contend_wire::sample::flag::MAY_HAVE_ACTED;
    use contend_wire::statement::Effect;

    pub fn statements() -> Vec<Statement> {
        let changes = Effect { changes: true, ..Effect::default() };
        let rows = Effect { rows: true, ..Effect::default() };
        let of = |sql: &str, effect| Statement { sql: sql.to_string(), effect, placeholders: vec![] };
        vec![
            of("SELECT 1", rows),
            of("INSERT INTO t VALUES (1)", changes),
            of("UPDATE t SET a = 1", changes),
            of("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", changes),
            of("SAVEPOINT s1", Effect::default()),
            of("RELEASE SAVEPOINT s1;", Effect::default()),
        ]
    }

    pub fn transaction(begin: bool, writes: bool, steps: &[(u32, u32, u32)]) -> Transaction {
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

    pub fn sample(transaction: u16, ok: bool, times: (u64, u64)) -> Sample {
        Sample {
            client: 1,
            transaction,
            failed_step: if ok { STEP_NONE } else { STEP_BEGIN },
            code_space: if ok { CodeSpace::Ok } else { CodeSpace::Sqlite },
            code: if ok { 0 } else { 5 },
            due_ns: times.0,
            started_ns: times.0,
            finished_ns: times.1,
            ..Sample::default()
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
        let (begin, insert, end) = ((4, 0, 1), (1, 1, 3), (5, 0, 1));
        assert_eq!(
            of(transaction(false, true, &[begin, insert, end])),
            (1, 1),
            "a savepoint begins a transaction, too"
        );
        assert_eq!(of(transaction(false, true, &[begin, insert, end, insert])), (0, 8), "and more after it");
        assert_eq!(of(transaction(false, true, &[begin, begin, insert, end])), (0, 6), "the inner one is released");
        assert_eq!(of(transaction(true, true, &[begin, insert, end])), (1, 1), "in a transaction");
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
    fn a_count_of_writers_has_those_that_failed_after_a_change() {
        let steps = [(2, 1, 1), (1, 1, 1), (2, 1, 1)];
        let least = |begin, failed: Sample| {
            makes(&transaction(begin, true, &steps), &statements(), Counts::Writers).by(&failed).least
        };
        let failed = |failed_step| Sample { failed_step, ..sample(0, false, (1, 2)) };
        let at = |failed_step| least(true, failed(failed_step));
        assert_eq!([STEP_BEGIN, 0, 1, 2, STEP_COMMIT].map(at), [0, 0, 1, 1, 1], "it updates in its first step");
        assert_eq!(least(true, Sample { flags: MAY_HAVE_ACTED, ..failed(2) }), 0, "the server may end it later");
        assert_eq!(least(false, failed(2)), 0, "each step is for itself");
        let only = |ok| {
            makes(&transaction(true, true, &[(2, 1, 1)]), &statements(), Counts::Writers).by(&sample(0, ok, (1, 2)))
        };
        assert_eq!([only(true).least, only(false).least], [1, 0], "an update that changes nothing takes a number, too");
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
}
