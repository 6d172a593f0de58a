//! Plain SQL that every engine understands: the translation must neither refuse nor change it.

mod support;

use contend_sql::{Options, Target, session};
use std::thread;
use support::engines::Engine;
use support::generate::Generator;
use support::judge::Verdict;
use support::mariadb::MariaDb;
use support::pair::Pair;
use support::postgresql::Postgres;
use support::servers;
use support::tables::schema;

const SCHEMAS: u64 = 4;
const STATEMENTS_PER_SCHEMA: usize = 150;

fn faults(target: Target, server: &mut dyn Engine) -> Vec<String> {
    let mut faults = vec![];
    for seed in 0..SCHEMAS {
        let mut generator = Generator::new(seed, true);
        // The plain schema: under NOCASE much is refused.
        let filled = [schema(0).to_vec(), generator.rows()].concat();
        let mut pair = Pair::new(&format!("plain_{seed}"), &filled, Options::to(target), server);
        for _ in 0..STATEMENTS_PER_SCHEMA {
            let select = generator.select();
            match pair.run(&select) {
                Verdict::Pass => {}
                other => faults.push(format!("{target:?} {other:?} {:?}", select.params)),
            }
        }
    }
    faults
}

#[test]
fn plain_statements_pass_unharmed() {
    let (postgres, mariadb) = servers::both();
    let faults: Vec<String> = thread::scope(|scope| {
        let first = scope
            .spawn(|| faults(Target::Postgres, &mut Postgres::connect(postgres.home(), session(Target::Postgres))));
        let second = faults(Target::MariaDb, &mut MariaDb::connect(&mariadb.socket, session(Target::MariaDb)));
        let mut all = first.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
        all.extend(second);
        all
    });
    assert!(
        faults.is_empty(),
        "{} of {}\n{}",
        faults.len(),
        2 * SCHEMAS as usize * STATEMENTS_PER_SCHEMA,
        faults.join("\n")
    );
}
