//! The study of a capture: what would have helped?

use crate::literal::text;
use crate::sql::Does;
use crate::summary::Known;
use crate::workload::answers::{LockErrors, effects, write_more_load, write_server};
use crate::workload::contenders::{self, CAPTURED, Contender, Settings, contenders, longer_timeout, safer, tier};
use crate::workload::kinds::{Kind, mean_values};
use crate::workload::longest::Longest;
use crate::workload::roles::{self, MoreLoad, PACES, Role, SHORT};
use crate::workload::servers::Server;
use crate::workload::share::Share;
use crate::workload::tried::{Difference, Differs};
use contend::study::CYCLE;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The capture that a study is made from.
pub struct Captured<'c> {
    pub known: &'c Known<'c>,
    pub kinds: &'c [Kind],
    /// The captured settings.
    pub now: &'c Settings,
    pub longest: Option<&'c Longest>,
    pub errors: &'c LockErrors,
    pub share: &'c Share,
    /// Whether the workload has the program's own rows.
    pub has_rows: bool,
    /// Whether keys are carried from statement to statement.
    pub carries: bool,
    /// What a trial of the workload showed that the capture does not have.
    pub differ: &'c [Difference],
    pub servers: &'c [Server],
    /// Further limits, as sentences: which servers are not in the study, and why.
    pub limits: &'c [String],
}

/// The study file.
pub fn study(of: &Captured, roles: &[Role]) -> String {
    let Captured { now, errors, servers, .. } = of;
    let longer_ms = longer_timeout(now, errors.gave_up, of.longest.map_or(0, |longest| longest.longest_ns));
    let all = contenders(now, longer_ms, roles.len() == 1 && roles[0].shares_a_process());
    let best = all.iter().rfind(|contender| contender.model.is_none()).expect("the captured one");
    let holds = roles::hold(roles);
    let mut out = head(of, longer_ms.unwrap_or(now.busy_timeout), roles);
    for contender in &all {
        contenders::write(&mut out, contender, &contender.label);
    }
    if let Some(settings) = safer(now) {
        let label = format!("synchronous={}", settings.synchronous.to_ascii_uppercase());
        contenders::write(&mut out, &Contender { label: String::new(), settings, model: None }, &label);
        out += if is_slow(of.longest) { FULL_ONLY } else { "" };
    }
    // Verdicts require equal promises.
    for (at, Server { engine, title }) in servers.iter().enumerate() {
        // Quick runs have the first one.
        let (tier, runs) = (tier(&best.settings), if at == 0 { "" } else { FULL_ONLY });
        let _ = write!(out, "\n[[contender]]\nengine = \"{engine}\"\nlabel = \"{title}\"\ntier = \"{tier}\"\n{runs}");
    }
    of.longest.iter().for_each(|longest| longest.write(&mut out));
    errors.unmet.iter().for_each(|unmet| unmet.write(&mut out));
    for contender in all.iter().skip(1) {
        errors.write_answer(&mut out, &contender.label, contender.waits(now));
    }
    if holds {
        errors.write_short(&mut out);
    }
    for (load, times) in PACES.into_iter().skip(1) {
        if all.len() > 1 {
            write_more_load(&mut out, &best.label, (load, times), &MoreLoad::of(roles, times), errors.unmet.as_ref());
        }
    }
    for server in *servers {
        write_server(&mut out, server.title, &best.label);
    }
    effects(&mut out, now);
    out
}

/// A line of the study's limits, where a transaction uses what it has read.
fn not_carried(carries: bool) -> String {
    let what = if carries {
        "The key of the only row that a SELECT returns, or that an INSERT makes, is carried into the statements after it. Other values are \
         not: those"
    } else {
        "What a statement returns is not carried into the statements after it: those"
    };
    let empty = if carries {
        "  \"A transaction whose SELECT finds no row for such a key, as in an empty queue, counts as rejected. With load=full, where \
         consumers do not wait for producers, that can be most of them.\",\n"
    } else {
        ""
    };
    format!(
        "  \"{what} statements draw their own, and clients meet on the same row less often than in the program.\",\n{empty}"
    )
}

/// Whether a transaction of the program reads rows before it changes some.
fn uses_what_it_read(known: &Known) -> bool {
    let does = |shape: usize| known.shapes.all[shape].does;
    known.groups.iter().any(|group| {
        let read = group.steps.iter().position(|step| does(step.shape) == Does::Read);
        read.is_some_and(|at| group.steps[at..].iter().any(|step| does(step.shape) == Does::Write))
    })
}

/// What the first line of a report says of a study from a capture with missing records. The limits have the numbers.
const DAMAGED: &str = " (Made from a damaged capture: see what this does not show.)";

/// The gaps of the capture as lines of the study's limits: a run lacks them too.
fn gaps(known: &Known) -> String {
    let missing = known.trace.missing(known.manifest).into_iter();
    missing.map(|gap| format!("  {},\n", text(&format!("The capture has a gap: {gap}")))).collect()
}

/// Sentences as lines of the study's limits.
fn sentences(all: &[String]) -> String {
    all.iter().map(|sentence| format!("  {},\n", text(sentence))).collect()
}

/// A line of the study's limits, where rows are generated.
const GENERATED: &str = "  \"Rows are generated: which columns depend on each other, and the order in which rows were written, are not known. A query \
                         that searches or sorts by such columns can take another time.\",\n";

/// Lines of the study's limits, where a trial of the workload showed other rows than the capture, or failures.
fn differences(differ: &[Difference]) -> String {
    let line = |what: Differs, is: &str| {
        let of = differ
            .iter()
            .filter(|difference| difference.what == what)
            .map(|difference| difference.transaction.as_str());
        let names: BTreeSet<&str> = of.collect();
        let names: Vec<&str> = names.into_iter().collect();
        let line = format!("{is}: {}. `contend capture to-workload` lists them.", names.join(", "));
        if names.is_empty() { String::new() } else { format!("  {},\n", text(&line)) }
    };
    let rows = "Statements of these transactions find another number of rows in the workload than in the capture, and can take another time";
    let fails = "Operations of these transactions fail in the workload, for another reason than a lock";
    line(Differs::Rows, rows) + &line(Differs::Fails, fails)
}

/// A line of the study's limits, where programs pause for long: more load is more of their work, too.
fn jobs(roles: &[Role]) -> String {
    let all: Vec<String> = roles.iter().filter_map(Role::long_pause).collect();
    let line = format!(
        "Each program pauses less with load=x2 to load=full, also these: {} in the mean. If they have a timer, more load from others \
         does not change it: judge by load=captured.",
        all.join(", ")
    );
    if all.is_empty() { String::new() } else { format!("  {},\n", text(&line)) }
}

/// A line of the study's limits, with the load of short transactions.
const SHORTER: &str = "  \"load=short is the captured load, with the program's own work before its transactions and not inside of them. Whether it can be \
                       done there, only the program's author knows.\",\n";

/// A line of the study's limits, with a server.
const ISOLATION: &str = "  \"Servers have their default isolation, READ COMMITTED or REPEATABLE READ, and SQLite's is SERIALIZABLE: a transaction that \
                         reads before it writes can lose an update there. With \\\"--contender postgres:isolation=serializable\\\" such transactions fail instead.\",\n";

/// The key of a contender: quick runs leave it out.
const FULL_ONLY: &str = "runs = [\"full\"]\n";

/// Whether the lock is held for so long that each trial takes seconds: then quick runs leave out what is not about locks.
fn is_slow(longest: Option<&Longest>) -> bool {
    const HOLD_NS: u64 = 1_000_000_000;
    longest.is_some_and(|longest| longest.mean_ns >= HOLD_NS)
}

/// Rounds of a quick run.
const QUICK_ROUNDS: u64 = 6;

/// Time after a window: the transaction that holds the lock longest ends in it, and so does a wait of the longest busy timeout.
fn drain_s(longest: Option<&Longest>, busy_timeout_ms: i64) -> u64 {
    const LEAST_S: u64 = 6;
    const MOST_S: u64 = 61;
    let hold_s = longest.map_or(0, |longest| longest.mean_ns.div_ceil(1_000_000_000));
    let wait_s = busy_timeout_ms.max(0).cast_unsigned().div_ceil(1_000);
    (hold_s.max(wait_s) + 1).clamp(LEAST_S, MOST_S)
}

/// Times of a trial of a quick run, in which the transaction that holds the lock longest begins.
fn quick_load(longest: Option<&Longest>) -> String {
    const WINDOW_MS: (u64, u64) = (800, 3_000);
    let window_ms = longest.map_or(0, |longest| longest.quick_window_ms(QUICK_ROUNDS)).clamp(WINDOW_MS.0, WINDOW_MS.1);
    format!("window = \"{window_ms}ms\", run_in = \"200ms\"")
}

/// Operations that are drawn for each client, which then repeats them: fewer if they have many values, because a trial begins when
/// all are drawn.
fn cycle(values: u64, clients: u64) -> u32 {
    const VALUES: u64 = 1 << 19;
    const LEAST: u64 = 256;
    let most = (VALUES / values.saturating_mul(clients).max(1)).max(LEAST);
    u32::try_from(most).unwrap_or(CYCLE).min(CYCLE)
}

/// `longest_timeout_ms`: of all contenders.
fn head(of: &Captured, longest_timeout_ms: i64, roles: &[Role]) -> String {
    let Captured { known, share, .. } = of;
    let tier = tier(of.now);
    let drain_s = drain_s(of.longest, longest_timeout_ms);
    let cycle = cycle(mean_values(known, of.kinds), roles.iter().map(Role::all_clients).sum());
    let cycle = if cycle < CYCLE { format!("cycle = {cycle}\n") } else { String::new() };
    let command = known.manifest.program();
    let is_damaged = known.trace.damage.is_some();
    let holds = roles::hold(roles);
    let short = if holds { format!(", {}", text(SHORT)) } else { String::new() };
    let full = if is_slow(of.longest) { "" } else { ", \"full\"" };
    let (paces, quick) =
        (PACES.map(|(label, _)| text(label)).join(", ") + &short, format!("\"captured\"{full}{short}"));
    format!(
        "# Made by contend capture to-workload. docs/study-file.md explains every key.\n\n\
         question = {}\nworkload = \"workload.toml\"\nkind = \"load\"\nheadline = \"throughput_ops_per_s\"\n\
         baseline = [\"{CAPTURED}\"]\nlimits = [\n  \"The study has {}; `contend capture to-workload` lists the rest, such as triggers.\",\n  \"Values are drawn by generators that were fitted to the capture.\",\n  \
         \"An operation that met a lock is not tried again.\",\n  \"load=captured is the captured mean pause of a client between operations, not a rate: a client that waits sends fewer operations. load=x2 to load=full are shorter pauses.\",\n{}{}{}{}{}{}{}{}  \"The captured settings are {tier}: {}.\",\n]\n\n\
         [axes]\nload = [{paces}]\n\n[load]\nwindow = \"5s\"\ndrain = \"{drain_s}s\"\n{cycle}\n\
         [quick]\nrounds = {QUICK_ROUNDS}\naxes = {{ load = [{quick}] }}\nload = {{ {} }}\n\n\
         [[metric]]\nname = \"lock_errors_per_1000\"\nabout = \"operations that failed because the database was locked, per 1,000\"\n\
         value = \"1000 * (conflict + timeout) / planned\"\nper = \"1000\"\nhigher_is_better = false\n\n\
         [[metric]]\nname = \"write_ms\"\nabout = \"mean time of an operation that writes, waits for locks included\"\n\
         value = \"service_ns_mean.write / 1e6\"\nunit = \"ms\"\nhigher_is_better = false\n\n\
         [[metric]]\nname = \"operations\"\nabout = \"operations that were to begin\"\nvalue = \"planned\"\nhigher_is_better = true\n\n\
         [[metric]]\nname = \"failed_operations\"\nabout = \"operations that failed because the database was locked\"\n\
         value = \"conflict + timeout\"\nhigher_is_better = false\n",
        text(&format!("What would have helped {command}?{}", if is_damaged { DAMAGED } else { "" })),
        share.words(),
        jobs(roles),
        if holds { SHORTER } else { "" },
        if uses_what_it_read(known) { not_carried(of.carries) } else { String::new() },
        if of.has_rows { "" } else { GENERATED },
        differences(of.differ),
        if of.servers.is_empty() { "" } else { ISOLATION },
        sentences(of.limits),
        gaps(known),
        match tier {
            "durable" => "every acknowledged commit survives a power cut",
            "bounded" => "a power cut can take the last commits",
            _ => "a power cut can damage the database",
        },
        quick_load(of.longest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_operations_are_drawn_if_they_have_many_values() {
        assert_eq!([cycle(1, 1), cycle(4, 8)], [CYCLE; 2]);
        assert_eq!([cycle(190, 1), cycle(190, 10), cycle(1_500, 16)], [2_759, 275, 256]);
    }

    #[test]
    fn what_waits_or_holds_the_lock_at_the_end_of_a_window_ends_in_its_drain() {
        let holds = |mean_ns| Longest { name: "pay".into(), mean_ns, longest_ns: mean_ns, every_ns: 1_000_000_000 };
        assert_eq!(drain_s(None, 0), 6);
        assert_eq!(drain_s(None, 15_000), 16);
        assert_eq!(drain_s(Some(&holds(6_500_000_000)), 5_000), 8);
        assert_eq!(drain_s(Some(&holds(6_500_000_000)), i64::MAX), 61);
    }
}
