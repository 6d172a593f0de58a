//! HikariCP takes what a new connection is told as one string, and sqlite-jdbc carries out the first statement of a string
//! only: what is read back must say so, of every connection.

use crate::support::{self, workers::needed};
use crate::worker::Worker;
use contend_wire::handshake::fact;

const CONNECTIONS: usize = 3;

/// Settings as read back from every connection of a pool.
fn sessions(init: &str) -> Option<Vec<(String, String)>> {
    let program = needed("contend-worker-java-sqlite")?;
    let bench = support::Bench::new();
    let mut worker = Worker::start(&[program.display().to_string()], &bench.path("worker.log")).expect("a worker");
    let plan = format!(
        "contend-plan 2\nworker\t0\ndriver\tjava-sqlite\tpool\nconnections\tdatabase\nwindow\t0\t0\t0\nnow\tclock\n\
         option\tpool_size\t{CONNECTIONS}\noption\tpool_init\t{init}\noption\tbusy_timeout_ms\t1234\ndatabase\t{}\n\
         session\tPRAGMA cache_size = -777\nreadback\tcache_size\tPRAGMA cache_size\nreadback\tbusy_timeout\tPRAGMA busy_timeout\n\
         statement\t0\tSELECT 1\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\nretry\t1\t-\t-\t-\n\
         clients\t1\nclient\t0\t0\tclosed\tfinite\t1\t0\t1\nop\t0\t0\nend\n",
        bench.path("a.db").display()
    );
    let sessions = worker.plan(&plan).expect("an answer").expect("a plan that is accepted");
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
