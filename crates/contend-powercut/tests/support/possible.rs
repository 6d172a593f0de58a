//! For tests that need something that may be missing, such as a recorder: they report that they verified nothing, or
//! fail where [`MUST`] forbids that.

use std::io::Write as _;

/// Set to 1 where every test that records must do so.
pub const MUST: &str = "CONTEND_TESTS_MUST_RECORD";

/// Whether recording is possible. If not, reports that the test verified nothing.
///
/// # Panics
/// Recording is not possible although [`MUST`] is set.
#[track_caller]
pub fn can_record() -> bool {
    let Some(why) = contend_powercut::record::unavailable() else { return true };
    lacking(MUST, &format!("recording is not possible here: {why}"));
    false
}

/// Reports that a test verified nothing because something is missing.
///
/// # Panics
/// The variable `must` forbids that it is missing.
#[track_caller]
pub fn lacking(must: &str, why: &str) {
    assert!(std::env::var_os(must).is_none_or(|value| value != "1"), "{must}=1, and {why}");
    not_verified(why);
}

/// Reports that a test verified nothing. Not with `eprintln!`, whose output is hidden for passing tests.
pub fn not_verified(why: &str) {
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "NOT VERIFIED: {}: {why}", thread.name().unwrap_or("a test"));
}
