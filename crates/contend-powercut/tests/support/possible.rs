//! Tests that need something that may not be there, such as a recorder: they say that they prove nothing, or fail if they must not.

use std::io::Write as _;

/// Set to 1 where every test that records must record.
pub const MUST: &str = "CONTEND_TESTS_MUST_RECORD";

/// Whether the test that asks can record. It says so if not.
///
/// # Panics
/// It cannot, and [`MUST`] says that it must.
#[track_caller]
pub fn can_record() -> bool {
    let Some(why) = contend_powercut::record::unavailable() else { return true };
    lacking(MUST, &format!("recording is not possible here: {why}"));
    false
}

/// Says that a test proves nothing here for want of something.
///
/// # Panics
/// This variable says that nothing may be wanting.
#[track_caller]
pub fn lacking(must: &str, why: &str) {
    assert!(std::env::var_os(must).is_none_or(|value| value != "1"), "{must}=1, and {why}");
    not_verified(why);
}

/// Says that a test proves nothing here. Not with `eprintln!`, whose output is hidden for tests that pass.
pub fn not_verified(why: &str) {
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "NOT VERIFIED: {}: {why}", thread.name().unwrap_or("a test"));
}
