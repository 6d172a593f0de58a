//! SQLite and a server with the same tables: runs statements on both and compares the results.

use super::caller::Caller;
use super::cases::Step;
use super::engines::{Engine, Failed, Returned};
use super::generate::Generated;
use super::judge::{Verdict, compare, run_translated, same_contents};
use super::sqlite::Sqlite;
use contend_sql::Options;

const CONTENTS: [&str; 5] = [
    "SELECT id, a, b, r, x, y, f FROM t",
    "SELECT id, t, n, s, w FROM u",
    "SELECT id, k, w, m, c, big, d FROM v",
    "SELECT k, n, d FROM kv",
    "SELECT id, j, a, i, s, r FROM m",
];

pub struct Pair<'e> {
    pub options: Options,
    caller: Caller,
    sqlite: Sqlite,
    server: &'e mut dyn Engine,
}

impl<'e> Pair<'e> {
    /// Creates these tables and rows on both sides, in a new schema of the server.
    pub fn new(name: &str, filled: &[String], options: Options, server: &'e mut dyn Engine) -> Pair<'e> {
        server.fresh(name);
        let mut pair = Pair { options, caller: Caller::default(), sqlite: Sqlite::new(), server };
        for sql in filled {
            let verdict = pair.run(&Generated { sql: sql.clone(), params: vec![], ordered: false });
            assert_eq!(verdict, Verdict::Pass, "{sql}");
        }
        pair
    }

    fn translated(&mut self, of: &Generated) -> Result<Result<Returned, Failed>, Verdict> {
        let fired = &mut vec![];
        run_translated((&of.sql, &of.params), &mut self.caller, &self.options, self.server, fired)
    }

    /// Runs a statement on both sides, or on neither if it is refused.
    pub fn run(&mut self, of: &Generated) -> Verdict {
        let found = match self.translated(of) {
            Ok(found) => found,
            Err(refused) => return refused,
        };
        let wanted = self.sqlite.run(&of.sql, &of.params);
        let step = Step { sql: of.sql.clone(), ordered: of.ordered, ..Step::default() };
        compare(&step, &wanted, found)
    }

    /// Whether both sides hold the same rows.
    pub fn contents(&mut self) -> Verdict {
        for read in CONTENTS {
            // Not every pair has all of the tables.
            let Ok(wanted) = self.sqlite.run(read, &[]) else { continue };
            let verdict = same_contents(read, &wanted.rows, &self.caller, &self.options, self.server);
            if verdict != Verdict::Pass {
                return verdict;
            }
        }
        Verdict::Pass
    }
}
