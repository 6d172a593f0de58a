//! State shared by the event loops of a plan, and its services.

use super::options::Options;
use super::responses::Responses;
use super::said::Said;
use super::template::Template;
use super::tls::{self, Tls};
use crate::control::Control;
use crate::run::Member;
use anyhow::{Context, Result, anyhow, bail, ensure};
use contend_wire::database::Database;
use contend_wire::plan::{Plan, Step};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// State shared by all event loops of a plan.
#[derive(Clone)]
pub struct Shared {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its options.
    pub options: Options,
    /// The window.
    pub control: Arc<Control>,
    /// The clients, in the plan's order.
    pub members: Arc<Vec<Member>>,
    /// The services, in the plan's order.
    pub services: Arc<Vec<Service>>,
    /// Answers of all loops to failed requests.
    pub said: Arc<Mutex<Said>>,
    /// Successful answers of all loops.
    pub responses: Arc<Mutex<Responses>>,
}

impl Shared {
    /// The state for a checked plan.
    ///
    /// # Errors
    /// A service whose address is unknown, or a request that cannot be made.
    pub fn new(plan: Plan, options: Options) -> Result<Self> {
        let services = services(&plan, &options)?;
        Ok(Self {
            control: Arc::new(Control::new(plan.head.window.drain_ns)),
            members: Arc::new(Member::all(&plan)),
            plan: Arc::new(plan),
            options,
            services: Arc::new(services),
            said: Arc::default(),
            responses: Arc::default(),
        })
    }

    /// The method of the request at this transaction and step.
    pub fn method(&self, (transaction, step): (u16, u16)) -> String {
        let head = &self.plan.head;
        match &head.transactions[usize::from(transaction)].steps[usize::from(step)] {
            Step::Http(http) => head.requests[http.request as usize].method.clone(),
            _ => String::new(),
        }
    }
}

/// A service, and the plan's requests for it.
#[derive(Debug)]
pub struct Service {
    /// Address in the plan.
    pub url: String,
    /// Resolved address.
    pub address: SocketAddr,
    /// One per request of the plan.
    pub templates: Vec<Template>,
    /// Of an address that begins with `https://`.
    pub tls: Option<Tls>,
}

fn services(plan: &Plan, options: &Options) -> Result<Vec<Service>> {
    let secure = plan.head.databases.iter().any(|database| database.service().is_ok_and(is_secure));
    let config = secure.then(|| tls::config(options)).transpose()?;
    let service = |(at, database): (usize, &Database)| -> Result<Service> {
        let url = database.service().map_err(|e| anyhow!(e))?;
        let place = place(url)?;
        let config = config.as_ref().filter(|_| is_secure(url));
        let tls = config.map(|config| Tls::new(Arc::clone(config), place)).transpose()?;
        let host = options.hosts.get(at).or(options.hosts.last()).map_or(place, String::as_str);
        let templates = plan.head.requests.iter().map(|request| Template::new(request, host, options.keep_alive));
        let templates = templates.collect::<Result<_, _>>().map_err(|e| anyhow!(e))?;
        Ok(Service { url: url.to_string(), address: resolve(url, place)?, templates, tls })
    };
    plan.head.databases.iter().enumerate().map(service).collect()
}

fn is_secure(url: &str) -> bool {
    url.starts_with("https://")
}

/// Host and port of an address.
fn place(url: &str) -> Result<&str> {
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        bail!("{url}: an address begins with http:// or https://")
    };
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
    let with_port =
        if has_port { place.to_string() } else { format!("{place}:{}", if is_secure(url) { 443 } else { 80 }) };
    let found: Vec<SocketAddr> =
        with_port.to_socket_addrs().with_context(|| format!("{url}: cannot find the host"))?.collect();
    match found.as_slice() {
        [] => bail!("{url}: the host has no address"),
        [one] => Ok(*one),
        // A name such as localhost has several addresses, and the service may listen on only one of them.
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
        assert_eq!(place("https://a:8443").unwrap(), "a:8443");
        assert_eq!(resolve("", "127.0.0.1").unwrap().port(), 80);
        assert_eq!(resolve("https://127.0.0.1", "127.0.0.1").unwrap().port(), 443);
        for (bad, said) in [
            ("a:80", "begins with http://"),
            ("http://a/b", "paths belong"),
            ("http://", "ends with host and port"),
            ("http://u:p@a", "no user"),
        ] {
            assert!(place(bad).unwrap_err().to_string().contains(said), "{bad}");
        }
    }
}
