//! TLS, where the address of a service begins with `https://`: certificates are checked against those of the system, or of a
//! file. Encryption is part of the exchange, and the handshake part of connecting.

use super::options::Options;
use anyhow::{Context, Result, anyhow, ensure};
use rustls::client::ClientConnection;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// TLS settings for one service.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// The client's end of a TLS connection.
#[derive(Debug)]
pub struct Session(Box<ClientConnection>);

/// State of a handshake, or of a request that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// The socket takes no more.
    WantsOut,
    /// The service must send something first.
    WantsIn,
}

/// Settings that all connections share.
///
/// # Errors
/// The certificates cannot be read, or there are none.
pub fn config(options: &Options) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    match &options.ca {
        Some(path) => {
            let read = CertificateDer::pem_file_iter(path).map_err(|e| anyhow!("{path}: {e}"));
            for certificate in read.context("cannot read the certificates")? {
                let certificate = certificate.map_err(|e| anyhow!("{path}: {e}"))?;
                roots.add(certificate).with_context(|| format!("{path}: a certificate cannot be used"))?;
            }
            ensure!(!roots.is_empty(), "{path} has no certificate (PEM)");
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            ensure!(!roots.is_empty(), "this system has no certificates to trust; name a file with --ca FILE");
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl Tls {
    /// Settings for the service on this host; its certificate must contain the name.
    ///
    /// # Errors
    /// The name cannot be in a certificate.
    pub fn new(config: Arc<ClientConfig>, place: &str) -> Result<Self> {
        let host = match place.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => place,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let name = ServerName::try_from(host.clone())
            .with_context(|| format!("{host}: a certificate cannot have this name"))?;
        Ok(Self { config, name })
    }

    pub fn session(&self) -> io::Result<Session> {
        let made = ClientConnection::new(Arc::clone(&self.config), self.name.clone()).map_err(io::Error::other)?;
        let mut session = Session(Box::new(made));
        // The buffer takes a whole request, however long.
        session.0.set_buffer_limit(None);
        Ok(session)
    }
}

/// Why a handshake failed.
pub fn in_words(e: &io::Error) -> String {
    match e.to_string() {
        // The error of webpki has no other form here.
        why if why.contains("CaUsedAsEndEntity") => {
            "the service's certificate is that of an authority (CA:TRUE); make it \
            with -addext basicConstraints=critical,CA:FALSE, or sign a certificate for the service with it"
                .to_string()
        }
        why => why,
    }
}

impl Session {
    /// Continues the handshake as far as possible without waiting.
    pub fn handshake(&mut self, stream: &TcpStream) -> io::Result<Progress> {
        loop {
            if !self.flush(stream)? {
                return Ok(Progress::WantsOut);
            }
            if !self.0.is_handshaking() {
                return Ok(Progress::Done);
            }
            match self.take(stream) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Progress::WantsIn),
                Err(e) => return Err(e),
            }
        }
    }

    /// Encrypts a request, which then has to be flushed.
    pub fn put(&mut self, request: &[u8]) -> io::Result<()> {
        self.0.writer().write_all(request)
    }

    /// Sends encrypted bytes; returns whether all were sent.
    pub fn flush(&mut self, mut stream: &TcpStream) -> io::Result<bool> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut stream) {
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// The next part of an answer, as from a socket. An end without `close_notify` is an error of the kind `UnexpectedEof`: anyone
    /// on the way can end a connection.
    pub fn read(&mut self, stream: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.reader().read(room) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            self.take(stream)?;
        }
    }

    /// Reads bytes that the service has sent; returns 0 at the end of the connection.
    fn take(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        let n = self.0.read_tls(&mut stream)?;
        let _ = self.0.process_new_packets().map_err(|e| {
            // Sends the alert with the cause to the service.
            let _ = self.0.write_tls(&mut stream);
            io::Error::new(ErrorKind::InvalidData, e)
        })?;
        Ok(n)
    }
}
