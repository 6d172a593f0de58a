//! HTTP from outside, writes and secrets: outcomes of writes, addresses with passwords, secrets typed and in the
//! environment, and stopping while requests wait.

use crate::service::{Reply, Service, ok};
use crate::support::place::files;
use crate::support::{Bench, Said, wait_for};
use contend::outcome::{Outcome, classify};
use contend::record::store::Record;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const PASSWORD: &str = "geheim/und lang";
const VARIABLE: &str = "CONTEND_SECRET_PASSWORD";

fn status(line: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n").as_bytes())
}

/// A scenario of one payment.
fn payment(bench: &Bench, kind: &str, step: &str) {
    let text = format!(
        "about = 'A payment'\n[transaction.pay]\nkind = '{kind}'\n[[transaction.pay.step]]\nrequest = 'POST /pay'\n{step}\n"
    );
    fs::write(bench.path("pay.toml"), text).expect("written");
}

/// `contend http` with ten requests.
fn ask(bench: &Bench, scenario: &str, url: &str, args: &[&str]) -> Said {
    let _ = fs::remove_dir_all(bench.path("record"));
    let all = ["http", scenario, "--url", url, "--out", "record", "--json-line", "--clients", "2", "--requests", "10"];
    bench.contend(&[&all[..], args].concat())
}

fn outcomes(bench: &Bench) -> BTreeMap<Outcome, u64> {
    let record = Record::open(&bench.path("record")).expect("a record");
    let mut found = BTreeMap::new();
    record.samples(1, |sample| *found.entry(classify(&sample)).or_default() += 1).expect("samples");
    found
}

#[test]
fn what_nobody_expected_of_a_write_is_unknown_unless_the_scenario_says_otherwise() {
    let bench = Bench::new();
    for (answer, kind, step, expected) in [
        ("402 No money", "write", "", Outcome::Unknown),
        ("402 No money", "write", "refused = 402", Outcome::Rejected),
        ("409 Taken", "write", "refused = '402,409'", Outcome::Conflict),
        ("402 No money", "write", "status = '200,402'", Outcome::Committed),
        ("302 Elsewhere", "write", "", Outcome::Unknown),
        ("402 No money", "read", "", Outcome::Rejected),
    ] {
        payment(&bench, kind, step);
        let service = Service::start(move |_| status(answer));
        let said = ask(&bench, "pay.toml", &service.url, &[]);
        assert_eq!(outcomes(&bench), [(expected, 10)].into(), "{answer} {kind} {step}: {said:?}");
        let line: Value = serde_json::from_str(&said.out).expect("a line of JSON");
        // No answer that counts took no time, which is not 0 ms; a busy machine can make the trial invalid.
        assert!(line["p50_ms"].is_null() || expected == Outcome::Committed, "{line}");
        assert!(line["p50_ms"].as_f64() > Some(0.0) || said.code != Some(0), "{line}");
    }
    payment(&bench, "write", "status = '200-299'\nrefused = '204'");
    let said = ask(&bench, "pay.toml", "http://127.0.0.1:1", &[]).exits(2);
    assert!(said.err.contains("pay.toml:7") && said.err.contains("204"), "{}", said.err);
    payment(&bench, "write", "count = '/rows/*'");
    let said = ask(&bench, "pay.toml", "http://127.0.0.1:1", &[]).exits(2);
    assert!(said.err.contains("pay.toml:6") && said.err.contains("without `*`"), "{}", said.err);
    bench.assert_nothing_left();
}

/// Fails if the password is in the output, or in a file below the test's directory other than `source`.
fn assert_hidden(bench: &Bench, said: &Said) {
    assert!(!said.err.contains("geheim") && !said.out.contains("geheim"), "{said:?}");
    for path in files(bench.dir.path()) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        assert!(!text.contains("geheim"), "{} has the password", path.display());
    }
}

#[test]
fn an_address_with_a_password_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    payment(&bench, "write", "");
    for url in ["http://eve:geheim@127.0.0.1:1", "https://eve:ge/geheim@127.0.0.1:1", "eve:geheim@127.0.0.1"] {
        let said = ask(&bench, "pay.toml", url, &[]).exits(2);
        assert!(said.err.contains("no user or password"), "{}", said.err);
        assert!(!bench.path("record").exists());
        assert_hidden(&bench, &said);
    }
}

#[test]
fn a_secret_with_a_comma_is_not_shown() {
    let bench = Bench::new();
    let text = "about = 'x'\n[variable]\nuser = 'eve'\n[secret]\npassword = ''\n[transaction.pay]\nkind = 'read'\n\
                [[transaction.pay.step]]\nrequest = 'GET /{secret.password}/${user}'\n";
    fs::write(bench.path("secret.toml"), text).expect("written");
    for typed in ["password=a,geheim=c", "password=a,geheim", "user=x,password=a,geheim=,b=c"] {
        let said = ask(&bench, "secret.toml", "http://127.0.0.1:1", &["--set", typed]).exits(2);
        assert_hidden(&bench, &said);
    }
    let said = ask(&bench, "secret.toml", "http://127.0.0.1:1", &["--set", "password=a,geheim=c"]);
    assert!(said.err.contains(VARIABLE), "{}", said.err);
    let service = Service::start(|_| ok(""));
    let said = ask(&bench, "secret.toml", &service.url, &["--set", "password=a,user=b"]);
    assert!(service.asked()[0].starts_with("GET /a/b "), "{said:?}");
    bench.assert_nothing_left();
}

#[test]
fn a_secret_of_the_environment_takes_the_place_of_the_files() {
    let bench = Bench::new();
    let text = "about = 'x'\n[secret]\npassword = 'of the file'\n[transaction.get]\nkind = 'read'\n\
                [[transaction.get.step]]\nrequest = 'POST /'\nbody = '{secret.password}'\n";
    fs::write(bench.path("secret.toml"), text).expect("written");
    let service = Service::start(|asked| if asked.ends_with(PASSWORD) { ok("") } else { status("403 No") });
    let study = format!(
        "question = 'q'\nworkload = 'secret.toml'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\ndescribes = true\nrounds = 1\n\
         [[contender]]\nengine = 'http'\nsettings = {{ url = '{}' }}\n[load]\nclients = 2\noperations = 10\n",
        service.url
    );
    fs::write(bench.path("study.toml"), &study).expect("written");
    let args = ["run", "study.toml", "--out", "record", "--quiet"];
    let said = Said::from(bench.command(&args).env(VARIABLE, PASSWORD).output().expect("the tool starts"));
    assert_eq!(outcomes(&bench), [(Outcome::Committed, 20)].into(), "{said:?}");
    assert_hidden(&bench, &said);
    let secret = study.replace("http://", "http://eve:geheim@");
    fs::write(bench.path("study.toml"), secret).expect("written");
    let said = bench.contend(&["run", "study.toml", "--out", "second", "--quiet"]).exits(2);
    assert!(said.err.contains("no user or password") && !said.err.contains("geheim"), "{}", said.err);
    assert!(!bench.path("second").exists());
}

#[test]
fn a_comparison_that_takes_too_long_or_is_interrupted_leaves_nothing() {
    let bench = Bench::new();
    let args = ["verify", "bank", "--operations", "4000000000", "--contender", "sqlite:transport=http"];
    let said = bench.contend(&[&args[..], &["--timeout", "1"]].concat()).exits(2);
    assert!(said.err.contains("not finished after 1 s") && said.err.contains("--timeout"), "{}", said.err);
    let left = || {
        fs::read_dir(bench.path("results")).map_or(0, |dir| dir.flatten().filter(|e| e.file_name() != ".cache").count())
    };
    assert_eq!(left(), 0, "the directory it works in goes with it");
    for after in ["admin.log", "plan"] {
        let mut child = bench.start(&args);
        let mine = bench.path("results").join(format!(".verify-{}", child.id()));
        wait_for("it to be at work", || files(&mine).iter().any(|path| path.ends_with(after)));
        kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
        assert_eq!(child.wait().expect("it ends").code(), Some(130));
        bench.assert_nothing_left();
        assert_eq!(left(), 0);
    }
}
