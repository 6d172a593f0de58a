//! `https://`: certificates are checked, connections are kept, and answers of any length arrive.

use crate::service::{Service, ok};
use crate::support::{Bench, root};
use contend::record::store::Record;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longer than any buffer on the way.
const BIG: usize = 300_000;

fn fixture(name: &str) -> String {
    root().join("tests/fixtures/tls").join(name).display().to_string()
}

/// A service that speaks TLS as long as the test runs, with a certificate for localhost and 127.0.0.1.
struct Secure {
    port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Secure {
    fn start() -> Self {
        Self::with("cert.pem", "key.pem")
    }

    fn with(certificate: &str, key: &str) -> Self {
        let chain = vec![CertificateDer::from_pem_file(fixture(certificate)).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(fixture(key)).expect("a key");
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let versions = builder.with_safe_default_protocol_versions().expect("versions");
        let config = Arc::new(versions.with_no_client_auth().with_single_cert(chain, key).expect("they fit"));
        let socket = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&connections), Arc::clone(&requests));
        std::thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                counts.0.fetch_add(1, Ordering::Relaxed);
                let (config, requests) = (Arc::clone(&config), Arc::clone(&counts.1));
                std::thread::spawn(move || serve(stream, config, &requests));
            }
        });
        Self { port, connections, requests }
    }

    fn url(&self, rest: &str) -> String {
        format!("https://localhost:{}{rest}", self.port)
    }
}

/// Answers every request with two bytes, or with many if its path says so; for two paths with a body without a length, after
/// which TLS ends properly or not.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, requests: &AtomicUsize) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, stream);
    let mut arrived = vec![];
    loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        arrived.extend_from_slice(&piece[..n]);
        if !arrived.ends_with(b"\r\n\r\n") {
            continue;
        }
        requests.fetch_add(1, Ordering::Relaxed);
        if let Some(cut) = [&b"GET /cut "[..], b"GET /end "].iter().position(|path| arrived.starts_with(path)) {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf").ok()?;
            if cut == 1 {
                stream.conn.send_close_notify();
            }
            stream.flush().ok()?;
            return None;
        }
        let body = if arrived.starts_with(b"GET /big ") { "x".repeat(BIG) } else { "{}".to_string() };
        arrived.clear();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok()?;
        stream.flush().ok()?;
    }
}

#[test]
fn requests_go_through_tls_over_connections_that_are_kept() {
    let (bench, service, ca) = (Bench::new(), Secure::start(), fixture("ca.pem"));
    for (path, out) in [("/x", "small"), ("/big", "big")] {
        let before = service.connections.load(Ordering::Relaxed);
        let url = service.url(path);
        let args = ["http", &url, "--ca", &ca, "--clients", "4", "--requests", "40", "--json-line", "--out", out];
        let said = bench.contend(&args);
        let line: Value = serde_json::from_str(said.out.trim()).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        assert_eq!((line["total"].as_u64(), line["ok"].as_u64()), (Some(40), Some(40)), "{said:?}");
        // One for each client and one before the run; looking for the address of a name may take one more for both.
        let opened = service.connections.load(Ordering::Relaxed) - before;
        assert!((5..=7).contains(&opened), "{opened} connections");
    }
    assert_eq!(service.requests.load(Ordering::Relaxed), 80);
    let record = Record::open(&bench.path("small")).expect("a record");
    assert_eq!(record.run.study.contenders[0].settings["ca"], ca);
    // What TLS costs is a comparison of two services.
    let plain = Service::start(|_| ok("{}"));
    let (plain, secure) = (format!("{}/x", plain.url), service.url("/x"));
    let load = ["--ca", &ca, "--requests", "8", "--rounds", "1", "--json-line", "--out", "both"];
    let said = bench.contend(&[&["http", &plain, &secure], &load[..]].concat());
    assert_eq!(said.out.matches("\"ok\":8").count(), 2, "{said:?}");
    bench.assert_nothing_left();
}

#[test]
fn an_answer_that_tls_does_not_end_is_cut_short() {
    let (bench, service, ca) = (Bench::new(), Secure::start(), fixture("ca.pem"));
    for (path, ok) in [("/end", 8), ("/cut", 0)] {
        let url = service.url(path);
        let args = ["http", &url, "--ca", &ca, "--requests", "8", "--json-line", "--out", &path[1..]];
        let said = bench.contend(&args);
        let line: Value = serde_json::from_str(said.out.trim()).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        assert_eq!((line["total"].as_u64(), line["ok"].as_u64()), (Some(8), Some(ok)), "{said:?}");
        let code = line["err_sample"][0]["code"].as_str().unwrap_or_default();
        assert!(ok == 8 || code.starts_with("ANSWER"), "{line}");
    }
    bench.assert_nothing_left();
}

#[test]
fn a_certificate_that_is_not_trusted_gets_no_request() {
    let (bench, service, ca) = (Bench::new(), Secure::start(), fixture("ca.pem"));
    let fails = |url: &str, ca: &str, status: i32| {
        let out = format!("record-{}", std::fs::read_dir(bench.dir.path()).expect("readable").count());
        let fixed = ["http", url, "--requests", "8", "--ca", ca, "--quiet", "--out", &out];
        bench.contend(&fixed).exits(status).err
    };
    let other = fixture("other.pem");
    let said = fails(&service.url("/x"), &other, 2);
    assert!(said.contains("TLS: invalid peer certificate: UnknownIssuer"), "{said}");
    let said = fails(&format!("https://127.0.0.2:{}/x", service.port), &ca, 2);
    assert!(said.contains("TLS: invalid peer certificate") && said.contains("127.0.0.2"), "{said}");
    // What `openssl req -x509` makes without further options.
    let authority = Secure::with("self-signed.pem", "self-signed-key.pem");
    let said = fails(&authority.url("/x"), &fixture("self-signed.pem"), 2);
    assert!(said.contains("TLS: the service's certificate is that of an authority"), "{said}");
    assert!(said.contains("-addext basicConstraints=critical,CA:FALSE") && !said.contains("CaUsed"), "{said}");
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = plain.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Until the client has ended the connection.
            let _ = stream.read_to_end(&mut vec![]);
        }
    });
    let said = fails(&format!("https://{place}/x"), &ca, 2);
    assert!(said.contains("TLS: received corrupt message"), "{said}");
    let said = fails(&format!("http://{place}/x"), &ca, 2);
    assert!(said.contains("--ca changes nothing"), "{said}");
    let said = fails(&service.url("/x"), "not-there.pem", 2);
    assert!(said.contains("--ca not-there.pem: cannot read it"), "{said}");
    let said = fails(&service.url("/x"), &fixture("key.pem"), 2);
    assert!(said.contains("has no certificate"), "{said}");
    assert_eq!(service.requests.load(Ordering::Relaxed), 0);
    bench.assert_nothing_left();
}

#[test]
fn the_highest_rate_of_a_service_over_tls_is_searched() {
    let (bench, service, ca) = (Bench::new(), Secure::start(), fixture("ca.pem"));
    let url = service.url("/x");
    let args = ["limit", &url, "--ca", &ca, "--rounds", "1", "--rates-only", "--clients", "4", "--window", "300ms"];
    let more = ["--bound", "response_ns_p50<=50ms", "--out", "found"];
    let said = bench.contend(&[&args[..], &more].concat());
    said.ran();
    let record = Record::open(&bench.path("found/probes")).expect("a record");
    assert_eq!(record.run.study.contenders[0].settings["ca"], ca);
    assert!(service.requests.load(Ordering::Relaxed) > 100 && said.out.contains("Up to what rate"), "{said:?}");
}
