//! SQLite and a server side by side, with the same tables: statements run on both and are compared.

use super::cases::Step;
use super::engines::{Engine, Failed, Outcome};
use super::generate::Generated;
use super::judge::{Verdict, compare, run_translated, same_contents};
use super::sqlite::Sqlite;
use contend_sql::{Catalogue, Options};

const CONTENTS: [&str; 4] = [
    "SELECT id, a, b, r, x, y, f FROM t",
    "SELECT id, t, n, s, w FROM u",
    "SELECT id, k, w, m, c, big, d FROM v",
    "SELECT k, n, d FROM kv",
];

pub struct Pair<'e> {
    pub options: Options,
    catalogue: Catalogue,
    sqlite: Sqlite,
    server: &'e mut dyn Engine,
}

impl<'e> Pair<'e> {
    /// These tables and rows on both sides, in a new schema of the server.
    pub fn new(name: &str, filled: &[String], options: Options, server: &'e mut dyn Engine) -> Pair<'e> {
        server.fresh(name);
        let mut pair = Pair { options, catalogue: Catalogue::default(), sqlite: Sqlite::new(), server };
        for sql in filled {
            let verdict = pair.run(&Generated { sql: sql.clone(), params: vec![], ordered: false });
            assert_eq!(verdict, Verdict::Pass, "{sql}");
        }
        pair
    }

    fn translated(&mut self, of: &Generated) -> Result<Result<Outcome, Failed>, Verdict> {
        let fired = &mut vec![];
        run_translated((&of.sql, &of.params), &mut self.catalogue, &self.options, self.server, fired)
    }

    /// Runs a statement on both sides, and on neither if it is refused.
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
            let verdict = same_contents(read, &wanted.rows, &self.catalogue, &self.options, self.server);
            if verdict != Verdict::Pass {
                return verdict;
            }
        }
        Verdict::Pass
    }
}
