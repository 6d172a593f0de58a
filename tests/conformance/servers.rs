//! Cases on database servers: a private server for all of them, a database for each, and what differs between the
//! dialects of SQL.

use super::case::{Case, files};
use super::support::{Bench, tool};
use contend::engine::server::Server;
use contend::engine::{self, Settings};
use contend::trial::server::private::{Programs, Running, Start, initialise};
use contend::trial::watch::janitor::Janitor;
use contend::trial::workers::admin::Admin;
use contend::trial::workers::admin::script_target;
use contend::trial::workers::process::Launch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Connections of all clients of one worker's case, and those of the previous worker that are being closed.
const CONNECTIONS: u32 = 40;

fn server_of(engine: &str) -> &'static Server {
    engine::find(engine).and_then(|engine| engine.server).expect("an engine with a server")
}

/// The cases as they are for one engine. A line that begins with `ENGINE:` is only for that one; the rest is for all.
pub fn cases_of(dir: &Path, engine: &str) -> Vec<Case> {
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Case::of(path, name, &in_dialect(&text, engine))
    };
    files(dir).iter().map(read).collect()
}

fn in_dialect(text: &str, engine: &str) -> String {
    let server = server_of(engine);
    let own = format!("{engine}:");
    let mut lines = String::new();
    for line in text.lines() {
        let of_other = engine::ENGINES.iter().any(|e| e.name != engine && line.starts_with(&format!("{}:", e.name)));
        let line = line.strip_prefix(&own).unwrap_or(line);
        match line.split_once('\t') {
            _ if of_other => continue,
            Some(("load", insert)) => lines.push_str(&format!("load\t{}\n", (server.load)(insert))),
            Some(("statement", rest)) if engine == "postgres" => {
                lines.push_str(&format!("statement\t{}\n", numbered(rest)));
            }
            _ => lines.push_str(&format!("{line}\n")),
        }
    }
    lines
}

/// Placeholders `?` as `$1`, `$2`: the cases have no other question marks in their statements.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_string();
    for (i, part) in parts.enumerate() {
        numbered.push_str(&format!("${}{part}", i + 1));
    }
    numbered
}

/// Calls `work` with a private server for `workers` at a time; its argument makes a new database for a case.
pub fn with_server(engine: &str, bench: &Bench, workers: usize, work: impl FnOnce(&mut dyn FnMut(&Path) -> String)) {
    let (server, engine) = (server_of(engine), engine::find(engine).expect("an engine"));
    let programs = match Programs::find(server) {
        Ok(programs) => programs,
        Err(e) => return eprintln!("not tested: {e:#}"),
    };
    fs::set_permissions(bench.dir.path(), fs::Permissions::from_mode(0o755)).expect("opened");
    let (janitor, never) = (Janitor::of(tool().into()).expect("a process"), || false);
    let launch = Launch { program: tool().into(), args: vec!["worker".to_string()] };
    let mut admin = Admin::start(&launch, &bench.path("admin.log"), &janitor, &never).expect("a worker");
    let data = bench.path("server");
    let log = initialise(server, &programs, &data, &janitor, &never).expect("a data directory");
    let start = Start {
        engine,
        server,
        programs: &programs,
        settings: &Settings::new(),
        data: data.clone(),
        log,
        connections: CONNECTIONS * u32::try_from(workers).expect("a few"),
        tcp: false,
    };
    let running = Running::start(&start, &janitor, &mut admin).expect("a server");
    let target = script_target(engine, &running.inside(server.first_database));
    let mut made = 0;
    work(&mut |_| {
        made += 1;
        let name = format!("case_{made}");
        admin.sql(&target, [(server.create_database)(&name)]).expect("a database");
        running.inside(&name).fields()
    });
    drop(running);
    let _ = fs::remove_dir_all(&data);
}
