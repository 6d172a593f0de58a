//! What a case expects of the samples of its run, line by line.
//!
//! ```text
//! CLIENT OPERATION ATTEMPT OUTCOME ROWS [interrupted] [waited] [lock-timeout] [>=MS] [<MS]
//! CLIENT ...                      any number of further samples of this client, all ok
//! each OUTCOME                    so did every attempt of every client end
//! within A:B C:D                  client C's operation D began after A:B had, and ended before it
//! exhausted N                     what `done` has to report; 0 if it has none
//! differs NAME                    `done` must report this setting as different on a later connection; else none
//! ```
//!
//! OUTCOME is `ok`, or `STEP:SPACE:CODE` with `begin`, `commit` or a number as STEP; alternatives are
//! separated by `|`. ROWS may be `*`.

use super::rules::{Checked, Problem, hold, of_client};
use super::worker::Ran;
use contend_wire::handshake::fact;
use contend_wire::sample::{NOT_MEASURED, STEP_BEGIN, STEP_COMMIT, Sample, flag};
use std::collections::BTreeMap;

/// How long after the outer operation the inner one must have begun, or the machine was too busy.
const CLEAR_NS: u64 = 30_000_000;

/// Holds the samples against the lines.
pub fn check(lines: &[&str], ran: &Ran) -> Checked {
    let mut expected: BTreeMap<u32, Vec<Vec<&str>>> = BTreeMap::new();
    let (mut exhausted, mut each, mut differs) = ("0", None, None);
    for words in lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        match words[..] {
            ["within", outer, inner] => within(outer, inner, &ran.samples)?,
            ["exhausted", count] => exhausted = count,
            ["each", one] => each = Some(one),
            ["differs", name] => differs = Some(name),
            [client, ..] => expected.entry(client.parse().expect("a client")).or_default().push(words),
            [] => {}
        }
    }
    let said = fact(&ran.done, "exhausted");
    hold!(said == Some(exhausted), "`done` says exhausted={said:?}, expected {exhausted}");
    let told = fact(&ran.done, "settings_differ");
    let right = differs.map_or(told.is_none(), |name| told.is_some_and(|told| told.contains(name)));
    hold!(right, "`done` says settings_differ={told:?}, expected {differs:?}");
    for (client, lines) in &expected {
        one_client(*client, lines, &of_client(&ran.samples, *client))?;
    }
    if let Some(one) = each {
        hold!(!ran.samples.is_empty(), "no attempt at all was made");
        let other = ran.samples.iter().find(|s| one.split('|').all(|one| one != outcome(s)));
        hold!(other.is_none(), "every attempt was to end with {one}: {other:?}");
        return Ok(());
    }
    let other = ran.samples.iter().find(|s| !expected.contains_key(&s.client));
    hold!(other.is_none(), "nothing is expected of this client: {other:?}");
    Ok(())
}

/// The premise of a case about locks. The worker is not at fault if the machine stood still.
fn within(outer: &str, inner: &str, samples: &[Sample]) -> Checked {
    let find = |name: &str| {
        let (client, operation) = name.split_once(':').expect("CLIENT:OPERATION");
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let (client, operation) = (number(client), number(operation));
        let of = |s: &&Sample| s.client == client && s.operation == operation;
        let first = samples.iter().find(of)?;
        Some((first.started_ns, samples.iter().rfind(of)?.finished_ns))
    };
    let (Some(outside), Some(inside)) = (find(outer), find(inner)) else {
        return Err(Problem::Wrong(format!("no samples of {outer} or {inner}: {samples:?}")));
    };
    match outside.0 + CLEAR_NS <= inside.0 && inside.1 <= outside.1 {
        true => Ok(()),
        false => Err(Problem::Wrong(format!("{inner} {inside:?} was not within {outer} {outside:?}"))),
    }
}

fn one_client(client: u32, lines: &[Vec<&str>], samples: &[Sample]) -> Checked {
    let mut rest = samples.iter();
    for words in lines {
        if words[1] == "..." {
            let failed = rest.find(|s| !s.is_ok());
            hold!(failed.is_none(), "only successes were expected: {failed:?}");
            return Ok(());
        }
        let line = words.join(" ");
        let Some(s) = rest.next() else {
            return Err(Problem::Wrong(format!("client {client}: `{line}` is missing; found {}", told(samples))));
        };
        one_sample(words, s, &line)?;
    }
    let extra: Vec<Sample> = rest.copied().collect();
    hold!(extra.is_empty(), "client {client}: nothing more was expected, found {}", told(&extra));
    Ok(())
}

fn one_sample(words: &[&str], s: &Sample, line: &str) -> Checked {
    let found = told(std::slice::from_ref(s));
    let numbers = words[1] == s.operation.to_string() && words[2] == s.attempt.to_string();
    let rows = words[4] == "*" || words[4] == s.rows.to_string();
    let outcome = words[3].split('|').any(|one| one == outcome(s));
    hold!(numbers && rows && outcome, "expected `{line}`, found `{}`", found.trim());
    let mut flags = 0;
    let took_ns = s.finished_ns - s.started_ns;
    for word in &words[5..] {
        match *word {
            "interrupted" => flags |= flag::INTERRUPTED,
            "lock-timeout" if s.lock_wait_ns == NOT_MEASURED => flags |= s.flags & flag::LOCK_TIMEOUT_SPENT,
            "lock-timeout" => flags |= flag::LOCK_TIMEOUT_SPENT,
            "waited" => hold!(s.lock_wait_ns > 0, "`{line}`: it must have waited for a lock"),
            other => {
                let (at_least, ms) = (other.starts_with(">="), other.trim_start_matches(['>', '=', '<']));
                let bound_ns = 1_000_000 * ms.parse::<u64>().unwrap_or_else(|_| panic!("`{other}` in `{line}`"));
                hold!(!at_least || took_ns >= bound_ns, "`{line}`: took {took_ns} ns");
                if !at_least && took_ns >= bound_ns {
                    return Err(Problem::Wrong(format!("`{line}`: took {took_ns} ns")));
                }
            }
        }
    }
    hold!(s.flags == flags, "`{line}`: flags {} instead of {flags}", s.flags);
    Ok(())
}

fn outcome(s: &Sample) -> String {
    let step = match s.failed_step {
        STEP_BEGIN => "begin".to_string(),
        STEP_COMMIT => "commit".to_string(),
        step => step.to_string(),
    };
    if s.is_ok() { "ok".to_string() } else { format!("{step}:{}:{}", s.code_space.word(), s.code) }
}

/// Samples in the form of the lines.
fn told(samples: &[Sample]) -> String {
    let one = |s: &Sample| format!("\n{} {} {} {} {}", s.client, s.operation, s.attempt, outcome(s), s.rows);
    samples.iter().take(20).map(one).collect()
}
