//! A real WordPress behind PHP: the app and its statements alone do the same operations, comments that were
//! acknowledged are there, and the settings that were asked for are in force.

use crate::support::{Bench, wrong_with};
use contend::record::model::Trial;
use contend::record::store::Record;

/// One visitor, on the engine that needs no server, with few posts.
const SHORT: [&str; 18] = [
    "run",
    "wordpress-http",
    "--quick",
    "--set",
    "part=request",
    "--only",
    "WAL/FULL*",
    "--rounds",
    "1",
    "--window",
    "3s",
    "--scale",
    "0.05",
    "--set",
    "php_workers=3",
    "--out",
    "record",
    "--quiet",
];

#[test]
fn a_whole_wordpress_does_what_its_statements_do_without_it() {
    let bench = Bench::new();
    let said = bench.command(&SHORT).output().expect("the tool starts");
    let words = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    let record = Record::open(&bench.path("record/request")).unwrap_or_else(|e| panic!("{e:#}: {words}"));
    let (site, alone): (Vec<&Trial>, Vec<&Trial>) = record.trials.iter().partition(|trial| trial.server.is_some());
    assert_eq!((site.len(), alone.len()), (1, 1), "{words}");
    let (site, alone) = (site[0], alone[0]);
    for trial in [site, alone] {
        // Other programs on the processors decide how late a client begins, which is not tested here.
        let wrong = wrong_with(trial);
        assert!(wrong.is_empty() && trial.samples > Some(0), "{}: {wrong:?}: {words}", trial.contender);
        assert!(
            trial.invariants.len() >= 3 && trial.invariants.iter().all(|invariant| invariant.holds),
            "{:?}",
            trial.invariants
        );
    }
    assert_eq!((site.plan_sha256.as_str(), site.seed), (alone.plan_sha256.as_str(), alone.seed));
    let server = site.server.as_ref().expect("the app");
    let serving = server.serving.expect("what it used");
    assert!(serving.cpu_ns > 0 && serving.rss_bytes > 1 << 20 && server.daemon.is_none());
    assert!(server.done.contains_key("requests"), "{:?}", server.done);
    for (setting, value) in
        [("journal_mode", "wal"), ("synchronous", "2"), ("busy_timeout", "10000"), ("php_workers", "3")]
    {
        assert_eq!(site.settings.get(setting).map(String::as_str), Some(value), "{setting}");
    }
    bench.assert_nothing_left();
}
