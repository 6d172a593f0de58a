//! `contend capture --listen ADDRESS --to SERVER`: arguments, the checks before, and the manifest.

use crate::gaps::gaps;
use crate::manifest::{Clock, Database, FORMAT, Manifest, Server, Values, make_private};
use crate::proxy::{Keys, Relay, Said, Target, Writers, mysql_offers_tls, now_ns, postgres_offers_tls};
use crate::segment::{SEGMENTS, pack_all};
use crate::session::say_what_there_is;
use crate::trace::Trace;
use anyhow::{Context, Result, anyhow, ensure};
use contend::cli::OK;
use contend::cli::say;
use contend::engine::dsn::Typed;
use contend_wire::database::{Endpoint, Password};
use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

/// Serves clients until Ctrl-C.
///
/// # Errors
/// An address is wrong, the server cannot be reached, or the capture cannot be written.
pub fn listen((listen, to): (&str, &str), out: &Path, values: Values, stop: &AtomicBool) -> Result<u8> {
    let listener = listener(listen)?;
    let target = target(to)?;
    let keys = Keys::draw(values)?;
    make_private(out)?;
    make_private(&out.join(SEGMENTS))?;
    let began_ns = now_ns();
    let mut manifest = Manifest {
        format: FORMAT,
        command: ["--listen", listen, "--to", &target.name].map(str::to_string).into(),
        began_unix_s: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        values,
        clock: Clock { is_ticks: false, from: (began_ns, began_ns), to: (began_ns, began_ns) },
        status: None,
        databases: vec![],
        missing: vec![],
        segments: None,
        server: Some(Server { engine: target.scheme.into(), address: target.name.clone() }),
        not_sealed: false,
    };
    manifest.write(out)?;
    let (address, name) = (listener.local_addr()?, target.name.clone());
    say(&format!(
        "Listening on {address} for clients of {name}. Give the program host={} and port={} instead. Ctrl-C ends the \
         capture.",
        address.ip(),
        address.port()
    ));
    if values == Values::Full {
        say(&format!(
            "A replay needs a database with the content of now: copy it with {} before the program writes.",
            if target.scheme == "mysql" { "mariadb-dump" } else { "pg_dump" }
        ));
    }
    let mut known = BTreeSet::new();
    let mut heard = |said: Said| {
        // Each client that is refused in the same way would repeat it.
        if !known.insert(said.text.clone()) {
            return;
        }
        say(&said.text);
        if said.is_gap {
            manifest.missing.push(said.text);
        }
    };
    let open = Relay::new(listener, target, Writers::new(&out.join(SEGMENTS), keys)).run(stop, &mut heard)?;
    if open > 0 {
        say(&format!("{open} connections were still open and have been ended."));
    }
    let ended_ns = now_ns();
    manifest.clock.to = (ended_ns, ended_ns);
    finish(out, &mut manifest)?;
    Ok(OK)
}

fn finish(out: &Path, manifest: &mut Manifest) -> Result<()> {
    manifest.segments = Some(pack_all(&out.join(SEGMENTS))?);
    manifest.write(out)?;
    let trace = Trace::read(out, manifest)?;
    for connection in trace.connections.values() {
        if !manifest.databases.iter().any(|known| known.path == connection.path) {
            manifest.databases.push(Database {
                path: connection.path.clone(),
                content: None,
                end: None,
                was_there: false,
            });
        }
    }
    manifest.missing.extend(gaps(&trace, &manifest.databases));
    manifest.status = Some(i32::from(OK));
    manifest.write(out)?;
    say_what_there_is(manifest, &trace, out);
    if let Err(why) = manifest.needs_sqlite("A study") {
        say(&format!("{why:#}"));
    }
    Ok(())
}

/// The socket for clients, on this machine only.
fn listener(text: &str) -> Result<TcpListener> {
    let found = text.to_socket_addrs().with_context(|| format!("--listen {text}: an address is 127.0.0.1:6432"))?;
    let addresses: Vec<_> = found.collect();
    ensure!(
        addresses.iter().all(|address| address.ip().is_loopback()),
        "--listen {text}: only an address of this machine itself (127.0.0.1, [::1]): the proxy has no encryption"
    );
    TcpListener::bind(&addresses[..]).with_context(|| format!("cannot listen on {text}"))
}

/// The server. It must be reachable, and not lose the encryption that its clients would have without the proxy.
fn target(text: &str) -> Result<Target> {
    let without_user = text.split_once("://").filter(|(_, rest)| !rest.contains('@'));
    let whole = match without_user {
        // Clients bring their own users.
        Some((scheme, rest)) => format!("{scheme}://any@{rest}"),
        None => text.to_string(),
    };
    let Typed { dsn, password } = Typed::parse(&whole).map_err(|why| anyhow!("--to: {why}"))?;
    ensure!(
        password.is_none() && dsn.address.password == Password::None,
        "--to: leave out the password: the clients log in with their own, and a command line is no place for one"
    );
    let scheme = if dsn.scheme == "mysql" { "mysql" } else { "postgres" };
    let name = match &dsn.address.endpoint {
        Endpoint::Socket(path) => format!("{scheme}://{path}"),
        Endpoint::Tcp(host, port) if host.contains(':') => format!("{scheme}://[{host}]:{port}"),
        Endpoint::Tcp(host, port) => format!("{scheme}://{host}:{port}"),
    };
    let offers_tls = offers_tls(scheme, &dsn.address.endpoint).with_context(|| format!("cannot reach {name}"))?;
    ensure!(
        !offers_tls,
        "{name} is on another machine and offers TLS, but the proxy's way to it would not be encrypted. Use a tunnel, \
         such as `ssh -L 5433:localhost:PORT HOST`, and --to {scheme}://127.0.0.1:5433"
    );
    Ok(Target { scheme, endpoint: dsn.address.endpoint, name })
}

/// Whether a server on another machine encrypts connections.
fn offers_tls(scheme: &str, endpoint: &Endpoint) -> Result<bool> {
    const TIMEOUT: Duration = Duration::from_secs(10);
    let (host, port) = match endpoint {
        Endpoint::Socket(path) => return Ok(UnixStream::connect(path).map(|_| false)?),
        Endpoint::Tcp(host, port) => (host, *port),
    };
    let server = TcpStream::connect((host.as_str(), port))?;
    if server.peer_addr()?.ip().is_loopback() {
        return Ok(false);
    }
    server.set_read_timeout(Some(TIMEOUT))?;
    Ok(if scheme == "mysql" { mysql_offers_tls(&server) } else { postgres_offers_tls(&server) }?)
}
