//! HikariCP takes the statements for a new connection as one string, of which sqlite-jdbc carries out only the first.
//! The settings read back from every connection must show that, and the trial must not count.

use crate::short::complete;
use crate::support::{self, workers::needed};
use crate::worker::Worker;
use contend::outcome::reason::Invalid;
use contend::record::store::Record;
use contend::workload::sql::Brackets;
use contend_wire::handshake::fact;

const CONNECTIONS: usize = 3;

/// Settings as read back from every connection of a pool.
fn sessions(init: &str) -> Option<Vec<(String, String)>> {
    let program = needed("contend-worker-java-sqlite")?;
    let bench = support::Bench::new();
    let mut worker = Worker::start(&[program.display().to_string()], &bench.path("worker.log")).expect("a worker");
    let plan = format!(
        "contend-plan 3\nworker\t0\ndriver\tjava-sqlite\tpool\nconnections\tdatabase\nwindow\t0\t0\t0\nnow\tclock\n\
         option\tpool_size\t{CONNECTIONS}\noption\tpool_init\t{init}\noption\tbusy_timeout_ms\t1234\ndatabase\t{}\n\
         session\tPRAGMA cache_size = -777\nreadback\tcache_size\tPRAGMA cache_size\nreadback\tbusy_timeout\tPRAGMA busy_timeout\n\
         statement\t0\tSELECT 1\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\nretry\t1\t-\t-\t-\n\
         clients\t1\nclient\t0\t0\tclosed\tfinite\t1\t0\t1\nop\t0\t0\nend\n",
        bench.path("a.db").display()
    );
    let sessions = worker.plan(&complete(&plan, Brackets::Quote)).expect("an answer").expect("a plan that is accepted");
    let told = |s, name| fact(s, name).expect("it is read back").to_string();
    Some(sessions.iter().map(|s| (told(s, "busy_timeout"), told(s, "cache_size"))).collect())
}

#[test]
fn an_init_string_is_carried_out_to_its_first_statement_and_read_back_so() {
    let (Some(one_by_one), Some(string)) = (sessions("statements"), sessions("string")) else { return };
    let pair = |timeout: &str, cache: &str| (timeout.to_string(), cache.to_string());
    assert_eq!(one_by_one, vec![pair("1234", "-777"); CONNECTIONS]);
    assert_eq!(string, vec![pair("1234", "-2000"); CONNECTIONS]);
}

#[test]
fn a_trial_whose_init_string_lost_something_does_not_count_and_says_what() {
    if needed("contend-worker-java-sqlite").is_none() {
        return;
    }
    // WAL is in the file, and the timeout is first in the string; other lost settings are found if they are not the
    // default.
    for (asked, lost) in [
        ("synchronous=normal,pool_init=string", Some("synchronous = 1 and reads back `2`")),
        ("synchronous=full,cache_size=-4000,pool_init=string", Some("cache_size = -4000 and reads back `-2000`")),
        ("synchronous=full,pool_init=string", None),
        ("synchronous=normal,cache_size=-4000,pool_init=statements", None),
    ] {
        let bench = support::Bench::new();
        let contender = format!("sqlite/java-sqlite/pool:journal_mode=wal,busy_timeout=5000,{asked}");
        let said = bench.tiny(&["--contender", &contender, "--only", "*java-sqlite*", "--rounds", "1"]);
        said.ran();
        let trials = Record::open(&bench.path("record")).expect("a record").trials;
        assert_eq!((trials.len(), trials[0].settings["journal_mode"].as_str()), (1, "wal"), "{asked}");
        let wrong: Vec<_> = support::wrong_with(&trials[0]);
        match lost {
            None => assert!(wrong.is_empty(), "{asked}: {wrong:?}"),
            Some(lost) => {
                assert!(
                    !wrong.is_empty() && wrong.iter().all(|reason| reason.kind == Invalid::Settings),
                    "{asked}: {wrong:?}"
                );
                assert!(wrong.iter().all(|reason| reason.detail.ends_with(lost)), "{asked}: {wrong:?}");
                assert_eq!(said.code, Some(1), "{asked}");
            }
        }
        bench.assert_nothing_left();
    }
}
