//! The study of the discussion app: the app and its transactions alone do the same work and leave sound data, what
//! both took is in the record, and a site that is running already is asked like one of the original.

use crate::support::{Bench, Said, root, wait_for, wrong_with};
use contend::record::model::Trial;
use contend::record::store::Record;
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// One client of each, on the engine without a server.
const SHORT: [&str; 16] = [
    "run",
    "gameplan",
    "--quick",
    "--set",
    "part=share",
    "--set",
    "profile=read,write",
    "--only",
    "SQLite*",
    "--rounds",
    "1",
    "--window",
    "700ms",
    "--out",
    "record",
    "--quiet",
];

#[test]
fn the_app_does_what_its_transactions_do_without_it() {
    let bench = Bench::new();
    let with_sizes = SHORT.map(|word| if word == "part=share" { "part=share,disk" } else { word });
    let said = bench.command(&with_sizes).output().expect("the tool starts");
    let record = Record::open(&bench.path("record/share")).expect("a record");
    let disk = Record::open(&bench.path("record/disk")).expect("a record");
    let has_sizes = |trial: &Trial| trial.tables.values().any(|bytes| bytes.rows > 0 && bytes.indexes > 0);
    assert!(!disk.trials.is_empty() && disk.trials.iter().all(has_sizes), "{:?}", disk.trials);
    let (app, alone): (Vec<&Trial>, Vec<&Trial>) = record.trials.iter().partition(|trial| trial.server.is_some());
    assert_eq!((app.len(), alone.len()), (2, 2), "{}", String::from_utf8_lossy(&said.stderr));
    for trial in &record.trials {
        // Other programs on the processors decide how late a client begins, which is not tested here.
        let wrong = wrong_with(trial);
        assert!(wrong.is_empty() && trial.samples > Some(0), "{}: {wrong:?}", trial.contender);
        assert!(trial.invariants.len() > 7 && trial.invariants.iter().all(|invariant| invariant.holds));
        assert!(trial.tables.is_empty(), "no size is requested in this part: {:?}", trial.tables);
    }
    for trial in app {
        let twin = alone.iter().find(|other| other.condition == trial.condition).expect("the same without the app");
        assert_eq!((trial.plan_sha256.as_str(), trial.seed), (twin.plan_sha256.as_str(), twin.seed));
        let server = trial.server.as_ref().expect("the app");
        let serving = server.serving.expect("what it used");
        assert!(serving.cpu_ns > 0 && serving.rss_bytes > 1 << 20 && server.daemon.is_none());
        assert!(
            ["requests", "retries", "gave_up"].iter().all(|fact| server.done.contains_key(*fact)),
            "{:?}",
            server.done
        );
        for (setting, value) in [("journal_mode", "wal"), ("synchronous", "2"), ("gunicorn_workers", "1")] {
            assert_eq!(trial.settings.get(setting).map(String::as_str), Some(value), "{setting}");
        }
    }
    bench.assert_nothing_left();
}

#[test]
fn a_study_of_an_app_says_what_its_clients_send() {
    let bench = Bench::new();
    let text = "question = 'q'\nworkload = 'gameplan'\nkind = 'load'\nheadline = 'throughput_ops_per_s'\n\
        load = { window = '1s' }\n[[contender]]\nengine = 'sqlite'\ndriver = 'gameplan'\n";
    let refused = |text: &str| {
        fs::write(bench.path("s.toml"), text).expect("written");
        let said = bench.command(&["run", "s.toml", "--out", "record"]).output().expect("the tool starts");
        assert!(!said.status.success());
        String::from_utf8_lossy(&said.stderr).into_owned()
    };
    let said = refused(text);
    assert!(said.contains("contender[1].driver") && said.contains("`scenario` must name"), "{said}");
    let other = format!("scenario = 'gameplan'\n{}", text.replace("workload = 'gameplan'", "workload = 'seeding'"));
    let said = refused(&other);
    assert!(said.contains("scenario gameplan:") && said.contains("there is no [transaction.number]"), "{said}");
    let known = format!("scenario = 'gameplan'\n{text}settings = {{ transport = 'in-process' }}\n");
    let said = refused(&known);
    assert!(said.contains("`gameplan` is an app: its transport is http"), "{said}");
}

/// The data must be sound, and every engine do the same on it, whatever the scale: quick runs and tests use a part of
/// it.
#[test]
fn the_data_has_its_shape_at_every_scale() {
    let bench = Bench::new();
    for scale in ["0.001", "0.1"] {
        let args = ["verify", "gameplan", "--profile", "mixed", "--operations", "40", "--scale", scale];
        let said = bench.contend(&args).exits(0);
        assert!(said.out.contains("The same everywhere") && said.out.contains("comment committed"), "{}", said.out);
        // Administrator, Guest, and those of the spaces, of whom there are as many at every scale.
        assert!(said.out.contains("gp_user: 22 rows"), "{}", said.out);
    }
}

/// The app by itself, as a maintainer starts it, until it is dropped.
struct Site {
    app: Child,
    port: u16,
}

impl Site {
    fn python(bench: &Bench, args: &[&str]) -> Command {
        let environment = root().join("target/apps/gameplan");
        let python = environment.join("bin/python");
        assert!(python.exists(), "{} is not there: run `make apps`", python.display());
        let mut command = Command::new(python);
        command.args(args).current_dir(bench.dir.path()).stdin(Stdio::null());
        command.env("PYTHONPATH", environment.join("app")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// Two sites with a few discussions, and one without any.
    fn start(bench: &Bench) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let site = |name: &str| format!("[sites.\"{name}.test\"]\ndatabase = \"{name}.db\"\n");
        let sites = ["full", "other", "empty"].map(site).join("");
        fs::write(bench.path("sites.toml"), format!("workers = 2\nlisten = \"{free}\"\n{sites}")).expect("written");
        for name in ["full.test", "other.test", "empty.test"] {
            let size =
                ["--discussions", "12", "--comments", "40", "--spaces", "3", "--teams", "2", "--password", "geheim"];
            let seeded = Self::python(bench, &[&["-m", "gameplan", "seed", "sites.toml", name], &size[..]].concat());
            let seeded = Said::from({ seeded }.output().expect("Python")).exits(0);
            assert!(seeded.out.contains("gp_comment 40"), "{}", seeded.out);
        }
        let none =
            "import sqlite3; db = sqlite3.connect('empty.db'); db.execute('DELETE FROM gp_discussion'); db.commit()";
        assert!(Self::python(bench, &["-c", none]).status().expect("Python").success());
        let mut serve = Self::python(bench, &["-m", "gameplan", "serve", "sites.toml"]);
        let app = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the app");
        wait_for("the app to listen", || TcpStream::connect(free).is_ok());
        Self { app, port: free.port() }
    }

    /// `contend http` with one line of JSON, and that line.
    fn asked(&self, bench: &Bench, site: &str, args: &[&str]) -> (Said, Option<Value>) {
        let _ = fs::remove_dir_all(bench.path("record"));
        let port = self.port.to_string();
        let all = ["http", "gameplan", "--port", &port, "--site", site, "--out", "record", "--json-line"];
        let said = bench.contend(&[&all, args].concat());
        let line = serde_json::from_str(&said.out).ok();
        (said, line)
    }

    fn comments(bench: &Bench, database: &str) -> String {
        let sql = format!(
            "import sqlite3; print(*sqlite3.connect('{database}').execute('SELECT count(*), (SELECT count(*) FROM gp_version) \
             FROM gp_comment').fetchone())"
        );
        Said::from(Self::python(bench, &["-c", &sql]).output().expect("Python")).exits(0).out.trim().to_string()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.app);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.app.wait();
    }
}

/// The number of requests in a line of JSON, which has the original's fields, contend's own, and no failure.
#[track_caller]
fn total(line: Option<&Value>) -> u64 {
    let line = line.expect("a line of JSON");
    let fields: Vec<&str> = line.as_object().expect("an object").keys().map(String::as_str).collect();
    let all = "label total ok failed wall_s req_per_s p50_ms p95_ms p99_ms max_ms err_sample";
    let own = ["answers_changed", "disturbed", "not_comparable"];
    let known = all.split(' ').chain(own).all(|field| fields.contains(&field));
    assert!(known && fields.len() == 11 + own.len(), "{fields:?}");
    assert!(line["not_comparable"].is_null() && line["answers_changed"].is_null(), "{line}");
    assert_eq!((line["total"].clone(), line["failed"].clone()), (line["ok"].clone(), 0.into()), "{line}");
    // A busy machine can make the trial invalid: then there are no times.
    let times = line["p50_ms"].as_f64() > Some(0.0) && line["max_ms"].as_f64() >= line["p99_ms"].as_f64();
    assert!(times || line["req_per_s"].is_null(), "{line}");
    line["total"].as_u64().expect("a number")
}

#[test]
fn a_site_that_is_running_is_asked_as_the_original_was() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let password = ["--set", "password=geheim"];
    // 8 clients and 400 requests by default; nothing is written.
    let (said, line) = site.asked(&bench, "full.test", &password);
    assert_eq!(total(line.as_ref()), 400, "{said:?}");
    assert_eq!(Record::open(&bench.path("record")).expect("a record").trials[0].clients, 8);
    assert_eq!(Site::comments(&bench, "full.db"), "40 0");
    // Comments: those before it are written, too, but not counted. Each on a TCP connection of its own.
    let args = [
        "--mode",
        "write",
        "--user",
        "Administrator",
        "--requests",
        "20",
        "--conc",
        "4",
        "--warm",
        "8",
        "--close",
        "--label",
        "here",
    ];
    let (said, line) = site.asked(&bench, "full.test", &[&password[..], &args].concat());
    assert_eq!(total(line.as_ref()), 20, "{said:?}");
    assert_eq!(line.map(|line| line["label"].clone()), Some("here".into()));
    assert_eq!(Site::comments(&bench, "full.db"), "68 28");
    assert_eq!(Site::comments(&bench, "other.db"), "40 0", "the Host header chooses the site");
    // What cannot be asked.
    let (said, line) = site.asked(&bench, "full.test", &["--set", "password=falsch"]);
    assert!(line.is_none() && said.code == Some(2), "{said:?}");
    assert!(said.err.contains("login") && said.err.contains("401") && !said.err.contains("falsch"), "{}", said.err);
    let (said, line) = site.asked(&bench, "full.test", &["--set", "password=geheim", "--user", "nobody"]);
    assert!(line.is_none() && said.code == Some(2) && said.err.contains("401"), "{said:?}");
    let (said, line) = site.asked(&bench, "empty.test", &password);
    assert!(line.is_none() && said.code == Some(2), "{said:?}");
    assert!(said.err.contains("setup.discussions") && said.err.contains("empty list"), "{}", said.err);
    let (said, line) = site.asked(&bench, "none.test", &password);
    assert!(line.is_none() && said.code == Some(2) && said.err.contains("404"), "{said:?}");
    drop(site);
    assert!(!bench.path("record.warm").exists());
    bench.assert_nothing_left();
}
