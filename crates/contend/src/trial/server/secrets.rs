//! What each server gets for itself: a port, a password, a file with the password.

use crate::units::hex;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A free port of the loopback interface. Another program may take it before the server does.
pub fn free_port() -> Result<u16> {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    let taken: Vec<u16> = procfs::net::tcp()
        .into_iter()
        .chain(procfs::net::tcp6())
        .flatten()
        .map(|connection| connection.local_address.port())
        .collect();
    let start = u16::from_le_bytes(random_bytes()?) % COUNT;
    let mut ports = (0..COUNT).map(|i| FIRST + (start + i) % COUNT);
    ports.find(|port| !taken.contains(port)).context("every port from 20000 to 31999 is in use")
}

/// Random bytes of the kernel.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes)).context("cannot read /dev/urandom")?;
    Ok(bytes)
}

/// 128 random bits as text.
pub fn random_text() -> Result<String> {
    Ok(hex(&random_bytes::<16>()?))
}

/// Writes a file that only its owner may read.
pub fn write_secret(path: &Path, secret: &str) -> Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut f| writeln!(f, "{secret}")).with_context(|| format!("cannot write {}", path.display()))
}
