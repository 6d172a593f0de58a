//! The driver `http` with its model `events`: a client is a connection to a service, and many of them share a
//! thread with an event loop of its own ([`events`]), so that the generator takes as little as possible from a
//! service on the same machine. Requests ([`template`]) are made before they are due, answers ([`answer`]) are
//! looked into ([`json`]) only where the plan says so.

pub mod answer;
pub mod cookies;
mod count;
pub mod events;
pub mod json;
pub mod login;
pub mod options;
pub mod said;
pub mod template;

use crate::arguments::Kept;
use crate::control::Control;
use crate::run::{Crew, Event, Member, Ready};
use anyhow::{Context, Result, anyhow, bail, ensure};
use contend_wire::database::Database;
use contend_wire::handshake::Facts;
use contend_wire::plan::{Connections, Plan, Step};
use events::Events;
use options::Options;
use said::Said;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use template::Template;

/// Its name.
pub const DRIVER: &str = "http";
/// Its only model.
pub const MODEL: &str = "events";
/// Library and version, for `hello`.
pub const VERSION: &str = "http httparse 1.10.1";

/// A service, and the plan's requests for it.
#[derive(Debug)]
pub struct Service {
    /// As the plan has it.
    pub url: String,
    /// Where it is.
    pub address: SocketAddr,
    /// One per request of the plan.
    pub templates: Vec<Template>,
}

/// Opens all connections and logs every client in, on threads that then wait for the start.
///
/// # Errors
/// What about the plan cannot be done, or which client could not be made ready.
pub fn prepare(plan: Plan, events: &Sender<Event>) -> Result<Ready> {
    let options = Options::parse(&plan.head.options)?;
    check(&plan)?;
    let services = services(&plan, &options)?;
    let plan = Arc::new(plan);
    let shared = Shared {
        control: Arc::new(Control::new(plan.head.window.drain_ns)),
        members: Arc::new(Member::all(&plan)),
        plan,
        options,
        services: Arc::new(services),
        said: Arc::default(),
    };
    let threads = shared.options.threads.min(shared.plan.clients.len().max(1));
    let (mut handles, mut waiting): (Vec<JoinHandle<()>>, _) = (vec![], vec![]);
    for number in 0..threads {
        let (opened, settings) = channel();
        let (shared, events) = (shared.clone(), events.clone());
        let body = move || loop_thread(&shared, number, threads, &opened, &events);
        handles.push(thread::Builder::new().name(format!("events {number}")).spawn(body)?);
        waiting.push(settings);
    }
    let mut sessions: Vec<(usize, Facts)> = vec![];
    let mut failed = None;
    for settings in waiting {
        match settings.recv().unwrap_or_else(|_| Err(anyhow!("an event loop ended early"))) {
            Ok(facts) => sessions.extend(facts),
            Err(e) => failed = failed.or(Some(e)),
        }
    }
    if let Some(e) = failed {
        shared.control.abandon();
        Crew::Threads(handles).close()?;
        return Err(e);
    }
    sessions.sort_by_key(|(index, _)| *index);
    let members = shared.members.iter().map(|m| Member { id: m.id, link: Arc::clone(&m.link) }).collect();
    Ok(Ready {
        control: Arc::clone(&shared.control),
        window: shared.plan.head.window,
        members,
        crew: Crew::Threads(handles),
        sessions: sessions.into_iter().map(|(_, facts)| facts).collect(),
    })
}

/// Connects the only client of a plan, logs it in, and carries out the first transaction; what it kept.
///
/// # Errors
/// What about the plan cannot be done, or what failed.
pub fn once(plan: &Plan) -> Result<Kept> {
    let options = Options::parse(&plan.head.options)?;
    check(plan)?;
    ensure!(plan.clients.len() == 1 && !plan.head.transactions.is_empty(), "one client and a transaction are needed");
    let services = services(plan, &options)?;
    let (control, members) = (Arc::new(Control::new(0)), Member::all(plan));
    let events = Events::open(plan, &options, &control, &members, &services, &[0])?;
    events.carry_out_once(0)
}

#[derive(Clone)]
struct Shared {
    plan: Arc<Plan>,
    options: Options,
    control: Arc<Control>,
    members: Arc<Vec<Member>>,
    services: Arc<Vec<Service>>,
    /// What all loops heard of requests that failed.
    said: Arc<Mutex<Said>>,
}

/// The life of an event loop. It says on `opened` how opening went, and on `events` how its clients ended.
fn loop_thread(
    shared: &Shared,
    number: usize,
    threads: usize,
    opened: &Sender<Result<Vec<(usize, Facts)>>>,
    events: &Sender<Event>,
) {
    let clients: Vec<usize> = (number..shared.plan.clients.len()).step_by(threads).collect();
    let mut ended = vec![false; shared.plan.clients.len()];
    let body = std::panic::AssertUnwindSafe(|| -> Result<()> {
        crate::clock::wake_exactly();
        let made =
            Events::open(&shared.plan, &shared.options, &shared.control, &shared.members, &shared.services, &clients);
        let mut made = match made {
            Ok(made) => made,
            Err(e) => {
                // The receiver is there: it waits for exactly this.
                let _ = opened.send(Err(e));
                return Ok(());
            }
        };
        let _ = opened.send(Ok(made.facts()));
        let Some(start_ns) = shared.control.wait_for_start() else { return Ok(()) };
        made.run(start_ns, &mut |index, samples, exhausted| {
            ended[index] = true;
            // The receiver may be gone after a failed run.
            let _ = events.send(Event::Ended(index, Ok(samples), exhausted));
        })?;
        let mut said = shared.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.merge(std::mem::take(&mut made.said));
        shared.control.tell(said.facts());
        Ok(())
    });
    let why = match std::panic::catch_unwind(body) {
        Ok(Ok(())) => return,
        Ok(Err(e)) => format!("{e:#}"),
        Err(panic) => crate::run::in_words(panic.as_ref()),
    };
    for index in clients.into_iter().filter(|index| !ended[*index]) {
        shared.members[index].link.pulse.set_loop_over();
        let _ = events.send(Event::Ended(index, Err(why.clone()), false));
    }
}

/// What a plan of this driver may not have.
fn check(plan: &Plan) -> Result<()> {
    let head = &plan.head;
    ensure!(head.model == MODEL, "model {}: driver {DRIVER} has only {MODEL}", head.model);
    ensure!(head.connections == Connections::Client, "model {MODEL}: each client has a connection of its own");
    let sql =
        [("session", head.session.len()), ("readback", head.readbacks.len()), ("statement", head.statements.len())];
    if let Some((kind, _)) = sql.iter().find(|(_, count)| *count > 0) {
        bail!("driver {DRIVER}: a `{kind}` line is SQL, which it does not speak");
    }
    for transaction in &head.transactions {
        let name = &transaction.name;
        for step in &transaction.steps {
            match step {
                Step::Http(_) | Step::Pause { .. } => {}
                Step::Sql(_) => bail!("driver {DRIVER}: `{name}` has SQL, which it does not speak"),
                Step::Hold { .. } => bail!("driver {DRIVER}: `{name}` holds a connection, which has no meaning here"),
                Step::Connect => bail!("driver {DRIVER}: `{name}` has `connect`; use the option connection = close"),
            }
        }
        let sends = transaction.steps.iter().any(|step| matches!(step, Step::Http(_)));
        ensure!(sends, "driver {DRIVER}: `{name}` sends no request");
        ensure!(transaction.begin.is_none(), "driver {DRIVER}: `{name}` has a begin, which is SQL");
    }
    Ok(())
}

fn services(plan: &Plan, options: &Options) -> Result<Vec<Service>> {
    let service = |(at, database): (usize, &Database)| -> Result<Service> {
        let url = database.service().map_err(|e| anyhow!(e))?;
        let place = place(url)?;
        let host = options.hosts.get(at).or(options.hosts.last()).map_or(place, String::as_str);
        let templates = plan.head.requests.iter().map(|request| Template::new(request, host, options.keep_alive));
        let templates = templates.collect::<Result<_, _>>().map_err(|e| anyhow!(e))?;
        Ok(Service { url: url.to_string(), address: resolve(url, place)?, templates })
    };
    plan.head.databases.iter().enumerate().map(service).collect()
}

/// Host and port of an address.
fn place(url: &str) -> Result<&str> {
    if url.starts_with("https://") {
        bail!("{url}: https is not spoken; name the port where the service answers plain http://");
    }
    let Some(rest) = url.strip_prefix("http://") else { bail!("{url}: an address begins with http://") };
    let place = rest.strip_suffix('/').unwrap_or(rest);
    let ends = place.contains(['/', '?', '#']) || place.is_empty();
    ensure!(!ends, "{url}: an address ends with host and port; paths belong to the requests");
    ensure!(!place.contains('@'), "{url}: an address has no user; log in with a request");
    ensure!(!place.contains(char::is_whitespace), "{url}: a blank in the address");
    Ok(place)
}

fn resolve(url: &str, place: &str) -> Result<SocketAddr> {
    const LONGEST: Duration = Duration::from_secs(5);
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let with_port = if has_port { place.to_string() } else { format!("{place}:80") };
    let found: Vec<SocketAddr> =
        with_port.to_socket_addrs().with_context(|| format!("{url}: cannot find the host"))?.collect();
    match found.as_slice() {
        [] => bail!("{url}: the host has no address"),
        [one] => Ok(*one),
        // A name such as localhost has several, and the service may listen on one of them only.
        several => {
            let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, LONGEST).is_ok();
            Ok(*several.iter().find(answers).unwrap_or(&several[0]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port() {
        assert_eq!(place("http://127.0.0.1:80").unwrap(), "127.0.0.1:80");
        assert_eq!(place("http://[::1]:80/").unwrap(), "[::1]:80");
        assert_eq!(resolve("", "127.0.0.1").unwrap().port(), 80);
        for (bad, said) in [
            ("https://a", "https is not spoken"),
            ("a:80", "begins with http://"),
            ("http://a/b", "paths belong"),
            ("http://", "ends with host and port"),
            ("http://u:p@a", "no user"),
        ] {
            assert!(place(bad).unwrap_err().to_string().contains(said), "{bad}");
        }
    }
}
