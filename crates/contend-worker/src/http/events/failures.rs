//! Failures of an exchange that are not the service's.

use crate::failure::Failure;
use contend_wire::sample::{CodeSpace, worker_code};
use rustix::io::Errno;

pub const NONSENSE: Failure = Failure::worker(worker_code::ANSWER);
pub const TIMED_OUT: Failure = os(Errno::TIMEDOUT);
pub const GIVEN_UP: Failure = os(Errno::CANCELED);
/// The connection ended before a byte of the answer had come.
pub const LOST: Failure = os(Errno::CONNRESET);

pub const fn os(errno: Errno) -> Failure {
    Failure { space: CodeSpace::Os, code: errno.raw_os_error() as u32 }
}

pub fn os_error(e: &std::io::Error) -> Failure {
    Failure { space: CodeSpace::Os, code: e.raw_os_error().unwrap_or(Errno::IO.raw_os_error()) as u32 }
}
