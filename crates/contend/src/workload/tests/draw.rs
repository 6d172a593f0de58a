//! Drawn clients and the plans they make.

use super::{built_in, load, small};
use crate::load::{Arrivals, Load};
use crate::workload::model::Workload;
use crate::workload::{DrawRequest, Drawn};
use contend_wire::database::Database;
use contend_wire::literal::Value;
use contend_wire::plan::{Client, Connections, Head, Loop, NowSource, Plan, Retry, Source, Step, Window};
use std::collections::BTreeMap;

fn draw(workload: &Workload, load: &Load, axes: &[(&str, &str)]) -> anyhow::Result<Drawn> {
    let axes: BTreeMap<String, String> = axes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let profile = workload.profiles.keys().next().map(String::as_str);
    workload.draw_clients(&DrawRequest { seed: load.seed, scale: load.scale, profile, load, axes: &axes })
}

fn clients(drawn: &Drawn) -> Vec<&Client> {
    drawn.workers.iter().flat_map(|worker| &worker.clients).collect()
}

pub fn plan(workload: &Workload, drawn: &Drawn, worker: usize) -> Plan {
    let head = Head {
        worker: worker as u32,
        window: Window { run_in_ns: 0, length_ns: 0, drain_ns: 0 },
        now: NowSource::Clock,
        driver: "rusqlite".into(),
        model: "thread".into(),
        connections: Connections::Client,
        options: vec![],
        databases: (0..workload.databases).map(|d| Database::File(format!("app-{d}.db"))).collect(),
        session: vec![],
        readbacks: vec![],
        statements: workload.plan_statements(),
        requests: vec![],
        texts: drawn.texts.clone(),
        transactions: workload.plan_transactions(Some("BEGIN IMMEDIATE")),
        login: None,
        retry: Retry::never(),
    };
    Plan { head, clients: drawn.workers[worker].clients.clone() }
}

#[test]
fn plans_are_accepted_by_their_reader() {
    for workload in [small(), built_in("bank"), built_in("wordpress")] {
        let drawn = draw(&workload, &load(None), &[]).unwrap();
        for worker in 0..drawn.workers.len() {
            let plan = plan(&workload, &drawn, worker);
            assert_eq!(Plan::decode(&plan.encode()).unwrap(), plan, "{}", workload.name);
        }
    }
}

#[test]
fn equal_seeds_draw_equal_clients() {
    let workload = built_in("wordpress");
    let drawn = draw(&workload, &load(None), &[]).unwrap();
    assert_eq!(drawn, draw(&workload, &load(None), &[]).unwrap());
    assert_ne!(drawn, draw(&workload, &Load { seed: 2, ..load(None) }, &[]).unwrap());
    let ids: Vec<u32> = clients(&drawn).iter().map(|client| client.id).collect();
    assert_eq!(ids, (0..16).collect::<Vec<_>>());
    assert_eq!(drawn.planned, None);
}

#[test]
fn more_clients_leave_the_others_alone() {
    let workload = built_in("wordpress");
    let few = draw(&workload, &load(None), &[("processes", "3")]).unwrap();
    let many = draw(&workload, &load(None), &[("processes", "5")]).unwrap();
    assert_eq!((few.workers.len(), many.workers.len()), (3, 5));
    assert_eq!(clients(&few), clients(&many)[..3]);
    let threads = draw(&workload, &load(None), &[("processes", "1"), ("clients", "3")]).unwrap();
    assert_eq!(clients(&few), clients(&threads));
}

#[test]
fn mixes_keep_their_weights() {
    let workload = built_in("wordpress");
    let drawn = draw(&workload, &Load { cycle: 4_000, ..load(None) }, &[("processes", "4")]).unwrap();
    let mut counts = vec![0u32; workload.transactions.len()];
    for op in clients(&drawn).iter().flat_map(|client| &client.operations) {
        counts[usize::from(op.transaction)] += 1;
    }
    for (transaction, weight) in &workload.profiles["public"] {
        let share = f64::from(counts[*transaction]) / 16_000.0;
        assert!((share - weight / 100.0).abs() < 0.01, "{}: {share}", workload.transactions[*transaction].name);
    }
}

#[test]
fn closed_loops_cycle_or_end() {
    let cyclic = draw(&small(), &load(None), &[]).unwrap();
    assert!(clients(&cyclic).iter().all(|c| c.cyclic && c.limit == 0 && c.operations.len() == 200));
    let finite = draw(&small(), &load(Some(7)), &[]).unwrap();
    assert!(clients(&finite).iter().all(|c| !c.cyclic && c.limit == 7 && c.operations.len() == 7));
    let pauses: Vec<u64> = clients(&cyclic).iter().flat_map(|c| &c.operations).map(|op| op.offset_ns).collect();
    let mean = pauses.iter().sum::<u64>() as f64 / pauses.len() as f64;
    assert!((mean / 1e6 - 1.0).abs() < 0.15, "a mean pause of {mean} ns instead of 1 ms");
}

#[test]
fn open_loops_arrive_at_their_rate() {
    for (arrivals, tolerance) in [(Arrivals::Constant, 1.0), (Arrivals::Poisson, 150.0)] {
        let load = Load { rate_per_s: Some(2_000.0), arrivals, ..load(None) };
        let drawn = draw(&small(), &load, &[]).unwrap();
        let clients = clients(&drawn);
        assert!(clients.iter().all(|c| c.load == Loop::Open && !c.cyclic));
        let mut due: Vec<u64> = clients.iter().flat_map(|c| &c.operations).map(|op| op.offset_ns).collect();
        due.sort_unstable();
        assert!((due.len() as f64 - 2_400.0).abs() <= tolerance, "{} arrivals in 1.2 s", due.len());
        assert!(*due.last().unwrap() < 1_200_000_000);
        let in_window = due.iter().filter(|due| **due >= 200_000_000).count() as u64;
        assert_eq!(drawn.planned.clone().unwrap().iter().sum::<u64>(), in_window);
        if arrivals == Arrivals::Constant {
            assert!(due.windows(2).all(|pair| (499_000..=501_000).contains(&(pair[1] - pair[0]))));
        }
    }
    let rate = draw(&small(), &load(None), &[("rate_per_s", "100")]).unwrap();
    assert_eq!(clients(&rate)[0].load, Loop::Open);
}

#[test]
fn arguments_are_compiled_as_they_are_written() {
    let workload = small();
    let add = &workload.transactions[workload.transaction("add").unwrap()];
    assert_eq!((add.uniques, add.slots), (3, 2));
    let Step::Sql(insert) = &add.steps[0] else { panic!("the first step is SQL") };
    assert_eq!(
        insert.args,
        [
            Source::Unique { first: 0, stride: 1 },
            Source::Argument { first: 1, stride: 0 },
            Source::Argument { first: 2, stride: 1 },
            Source::Argument { first: 0, stride: 0 },
        ]
    );
    let Step::Sql(count) = &add.steps[2] else { panic!("the third step is SQL") };
    let mut expected: Vec<Source> = (0..5).map(|row| Source::KeptRow { slot: 1, row }).collect();
    expected.push(Source::Kept { slot: 0, plus: 1 });
    assert_eq!(count.args, expected);
    assert!(workload.statements[count.statement as usize].contains("IN (?, ?, ?, ?, ?)"));

    let drawn = draw(&workload, &load(None), &[]).unwrap();
    assert_eq!(drawn.texts.len(), 5);
    let client = clients(&drawn)[0];
    let op = client.operations.iter().find(|op| op.transaction == 0).expect("an `add` among 200 operations");
    let arguments = client.arguments_of(op);
    assert!(matches!(arguments[0], Value::TextRef(0..5)), "{arguments:?}");
    assert_eq!(arguments.len(), 5, "a text, a price and three shares");
}

#[test]
fn begins_are_the_contenders_unless_the_workload_says_it() {
    let workload = built_in("bank");
    let begin =
        |name: &str, default| workload.plan_transactions(default)[workload.transaction(name).unwrap()].begin.clone();
    assert_eq!(begin("transfer", Some("BEGIN")), Some("BEGIN".to_string()));
    assert_eq!(begin("transfer", None), None);
    assert_eq!(begin("balance", Some("BEGIN")), None);
    let small = small();
    assert_eq!(small.plan_transactions(Some("BEGIN"))[0].begin.as_deref(), Some("BEGIN IMMEDIATE"));
}

#[test]
fn requests_that_cannot_be_met_are_refused_with_the_reason() {
    let wordpress = built_in("wordpress");
    let axes = BTreeMap::new();
    let request =
        |profile, load: &Load| wordpress.draw_clients(&DrawRequest { seed: 1, scale: 1.0, profile, load, axes: &axes });
    let message = |result: anyhow::Result<Drawn>| format!("{:#}", result.unwrap_err());
    assert!(message(request(Some("none"), &load(None))).contains("public, write-burst"));
    assert!(message(request(None, &load(None))).contains("several profiles"));
    let endless = Load { window_ns: 0, ..load(None) };
    assert!(message(request(Some("public"), &endless)).contains("neither a window nor"));
    assert!(message(draw(&wordpress, &load(None), &[("clients", "many")])).contains("`many`"));
    assert!(message(draw(&wordpress, &load(None), &[("posts", "5")])).contains("was not applied"));
    assert!(message(draw(&wordpress, &load(None), &[("clients", "0")])).contains("no clients"));
}

#[test]
fn roles_have_their_own_counts_mixes_and_databases() {
    let text = super::SMALL.replacen("about = \"small\"", "about = \"small\"\ndatabases = 3", 1).replacen(
        "[role.worker]",
        "[role.adder]\nclients = 3\ntransactions = [\"add\"]\nstart = \"5ms\"\n[role.last]\nmix = { look = 1 }\ndatabase = 2\n[role.worker]",
        1,
    );
    let workload = crate::workload::parse(&crate::source::Source::new("roles.toml", text)).unwrap();
    let drawn = draw(&workload, &Load { clients: Some(2), processes: Some(2), ..load(None) }, &[]).unwrap();
    let expected =
        [("adder", 0, 3), ("adder", 3, 3), ("last", 6, 2), ("last", 8, 2), ("worker", 10, 2), ("worker", 12, 2)];
    assert_eq!(shape(&drawn), expected.map(|role| vec![role]));
    let databases = |w: usize| drawn.workers[w].clients.iter().map(|c| c.database).collect::<Vec<_>>();
    assert_eq!((databases(0), databases(1), databases(2)), (vec![0, 1, 2], vec![0, 1, 2], vec![2, 2]));
    let adder = &drawn.workers[0].clients[0];
    assert!(adder.start_ns == 5_000_000 && adder.operations.iter().all(|op| op.transaction == 0));
    assert!(drawn.workers[2].clients[0].operations.iter().all(|op| op.transaction == 1));
    let fixed = draw(&workload, &load(None), &[("clients", "4")]).unwrap();
    assert_eq!(fixed.workers[1].clients.len(), 4, "only the role without a count follows the axis");
}

#[test]
fn roles_have_their_shares_of_a_rate() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let workload =
            with_roles(1, "[role.often]\nclients = 3\nshare = 0.9\n[role.seldom]\nclients = 1\nshare = 0.1\n");
        let load = Load { rate_per_s: Some(2_000.0), arrivals, ..load(None) };
        let drawn = draw(&workload, &load, &[]).unwrap();
        let count = |worker: usize| drawn.workers[worker].clients.iter().map(|c| c.operations.len()).sum::<usize>();
        let (often, seldom) = (count(0), count(1));
        assert!((2_050..=2_270).contains(&often) && (190..=290).contains(&seldom), "{often} {seldom}");
    }
    let roles = "[role.a]\nclients = 3\nmix = { look = 1 }\nshare = 0.8\n[role.b]\nclients = 1\nshare = 0.2\n";
    let axes = BTreeMap::new();
    let request = DrawRequest { seed: 1, scale: 1.0, profile: None, load: &load(None), axes: &axes };
    let shares = with_roles(1, roles).shares_of_arrivals(&request).unwrap();
    let [add, look] = ["add", "look"].map(|name| shares[with_roles(1, roles).transaction(name).unwrap()]);
    assert!((add - 0.2 / 4.0).abs() < 1e-9 && (look - 0.95).abs() < 1e-9, "{shares:?}");
    let without = with_roles(1, "[role.often]\nclients = 0\nshare = 9\n[role.seldom]\nclients = 2\nshare = 1\n");
    let load = Load { rate_per_s: Some(2_000.0), arrivals: Arrivals::Constant, ..load(None) };
    let due: usize = clients(&draw(&without, &load, &[]).unwrap()).iter().map(|client| client.operations.len()).sum();
    assert!((2_399..=2_401).contains(&due), "a role without clients has no share: {due}");
    let wrong = |roles: &str| {
        let from = super::SMALL.find("[role.worker]").unwrap();
        let to = super::SMALL.find("[[invariant]]").unwrap();
        let text = [&super::SMALL[..from], roles, &super::SMALL[to..]].concat();
        crate::workload::parse(&crate::source::Source::new("roles.toml", text)).unwrap_err().to_string()
    };
    assert!(wrong("[role.a]\nshare = 1\n[role.b]\n").contains("every role needs a share"));
    assert!(wrong("[role.a]\nshare = 0\n").contains("must be greater than 0"));
}

/// Role, first client and number of clients of every role in every process.
fn shape(drawn: &Drawn) -> Vec<Vec<(&str, u32, u32)>> {
    drawn
        .workers
        .iter()
        .map(|w| w.roles.iter().map(|r| (r.name.as_str(), r.first_client, r.clients)).collect())
        .collect()
}

/// The small workload with these databases and roles.
fn with_roles(databases: u32, roles: &str) -> Workload {
    let text = super::SMALL.replacen("about = \"small\"", &format!("about = \"small\"\ndatabases = {databases}"), 1);
    let (from, to) = (text.find("[role.worker]").unwrap(), text.find("[[invariant]]").unwrap());
    let text = [&text[..from], roles, &text[to..]].concat();
    crate::workload::parse(&crate::source::Source::new("roles.toml", text)).unwrap_or_else(|e| panic!("{e}"))
}

const IN_ONE_PROCESS: &str = "[role.reader]\nin = \"writer\"\nper_database = 3\nmix = { look = 1 }\npause = \"1ms\"\n\
     [role.observer]\nin = \"writer\"\nclients = 1\ndatabase = 1\nmix = { look = 1 }\n\
     [role.writer]\nper_database = 1\nmix = { add = 1 }\n";

#[test]
fn a_role_may_live_in_the_processes_of_another() {
    let workload = with_roles(2, IN_ONE_PROCESS);
    let drawn = draw(&workload, &load(None), &[]).unwrap();
    assert_eq!(shape(&drawn), [[("writer", 0, 2), ("observer", 2, 1), ("reader", 3, 6)]]);
    let found = clients(&drawn);
    let ids: Vec<u32> = found.iter().map(|c| c.id).collect();
    assert_eq!(ids, [0, 3, 4, 5, 1, 2, 6, 7, 8], "they start database by database");
    let databases: Vec<u32> = found.iter().map(|c| c.database).collect();
    assert_eq!(databases, [0, 0, 0, 0, 1, 1, 1, 1, 1]);
    let adds = workload.transaction("add").unwrap() as u16;
    assert!(found.iter().all(|c| c.operations.iter().all(|op| (op.transaction == adds) == (c.id < 2))));
    let readers = || found.iter().filter(|c| c.id >= 3);
    assert!(readers().all(|c| c.operations.iter().all(|op| op.offset_ns == 1_000_000)));
    let plan = plan(&workload, &drawn, 0);
    assert_eq!(Plan::decode(&plan.encode()).unwrap(), plan);
}

#[test]
fn databases_are_spread_over_processes_with_all_their_clients() {
    let workload = with_roles(5, IN_ONE_PROCESS);
    let drawn = draw(&workload, &load(None), &[("processes", "2")]).unwrap();
    let of = |w: usize| drawn.workers[w].clients.iter().map(|c| c.database).collect::<Vec<_>>();
    assert_eq!(of(0), [0, 0, 0, 0, 1, 2, 2, 2, 2, 4, 4, 4, 4]);
    assert_eq!(of(1), [1, 1, 1, 1, 1, 3, 3, 3, 3]);
    let one = draw(&workload, &load(None), &[]).unwrap();
    // A client in the same position of a role does the same, however the role is spread.
    let work = |drawn: &Drawn, database: u32| {
        let mut all: Vec<_> =
            clients(drawn).iter().filter(|c| c.database == database).map(|c| c.arguments.clone()).collect();
        all.sort_by_key(|arguments| format!("{arguments:?}"));
        all
    };
    assert_eq!(work(&drawn, 3), work(&one, 3));
    let message = format!("{:#}", draw(&workload, &load(None), &[("processes", "6")]).unwrap_err());
    assert!(message.contains("5 databases cannot be spread over 6 processes"), "{message}");
    let none = format!("{:#}", draw(&workload, &load(None), &[("clients", "4")]).unwrap_err());
    assert!(none.contains("changes nothing"), "{none}");
}

#[test]
fn one_client_does_what_all_roles_do() {
    let limited = super::SMALL.replace("processes = 2\n", "processes = 2\ntransactions = [\"look\"]\n");
    let workload = crate::workload::parse(&crate::source::Source::new("small.toml", limited)).unwrap().for_one_client();
    let drawn = draw(&workload, &load(Some(50)), &[]).unwrap();
    let done: std::collections::BTreeSet<u16> =
        drawn.workers[0].clients[0].operations.iter().map(|op| op.transaction).collect();
    assert_eq!(done.len(), workload.transactions.len());
}

#[test]
fn plans_with_many_or_long_arguments_are_shorter() {
    let with = |batch: &str, note: &str| {
        let text = super::SMALL.replace("{ fixed = 3 }", batch).replace("words = 4, pool = 5", note);
        crate::workload::parse(&crate::source::Source::new("small.toml", text)).unwrap()
    };
    let endless = Load { cycle: 16_384, clients: Some(16), ..load(None) };
    let drawn = draw(&with("{ fixed = 20000 }", "words = 4, pool = 5"), &endless, &[]).unwrap();
    let arguments: usize = clients(&drawn).iter().map(|client| client.arguments.len()).sum();
    assert!((1_000_000..100_000_000).contains(&arguments), "{arguments}");
    let long = with("{ fixed = 3 }", "blob = 60000000");
    let axes = BTreeMap::new();
    let request = |load| DrawRequest { seed: 1, scale: 1.0, profile: None, load, axes: &axes };
    assert!(long.check_draw(&request(&endless)).is_ok());
    let error = long.check_draw(&request(&Load { operations: Some(1000), ..endless })).unwrap_err().to_string();
    assert!(error.contains("fewer or shorter arguments"), "{error}");
}

/// Seldom and long operations of many clients are few bytes.
#[test]
fn the_bytes_of_arrivals_follow_the_shares_of_roles() {
    let with = |long: f64| {
        let of_long = format!("[role.long]\nclients = 50\nmix = {{ add = 1 }}\nshare = {long}\n");
        let of_short = format!("[role.short]\nclients = 1\nmix = {{ look = 1 }}\nshare = {}\n", 1.0 - long);
        let (text, _) = super::SMALL.split_once("[role.worker]").unwrap();
        let text = [&text.replace("words = 4, pool = 5", "blob = 60000000"), of_long.as_str(), &of_short].concat();
        crate::workload::parse(&crate::source::Source::new("small.toml", text)).unwrap()
    };
    let at_a_rate = Load { window_ns: 1_000_000_000, rate_per_s: Some(1000.0), ..load(None) };
    let axes = BTreeMap::new();
    let check =
        |long, load| with(long).check_draw(&DrawRequest { seed: 1, scale: 1.0, profile: None, load, axes: &axes });
    assert!(check(0.01, &at_a_rate).is_ok(), "12 of 1,200 operations are long: 0.7 GB");
    let error = check(0.99, &at_a_rate).unwrap_err().to_string();
    assert!(error.contains("fewer or shorter arguments"), "{error}");
    let counted = Load { operations: Some(20), ..at_a_rate };
    assert!(check(0.01, &counted).is_err(), "each client draws 20: 60 GB");
}
