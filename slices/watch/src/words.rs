//! Findings as sentences: what happens, how it was seen, and what to change.

use crate::connection::is_thread;
use crate::finding::{Finding, Further, Kind};
use crate::hold::{GAP_NS_MIN, Waiter};
use contend::report::content::charts::capitalised;
use contend::stats::harmless::harmless;

/// A watch that saw refusals and found nothing.
pub const NO_FINDING: &str = "No finding: nothing that was seen is wrong.";
/// A watch by samples that found nothing.
pub const NO_FINDING_SAMPLED: &str = "No finding at this depth: it sees only holds of 20 ms or longer. For refusals, waits \
    and statements, run as root (and without --depth).";
/// What is not known of a long hold at this depth.
const LONG_FOR_UNKNOWN_REASONS: &str = "It was seen at every look (20 ms apart) with no commit in between; transactions that \
     change nothing look the same. Whether others waited, whether statements were executed, and whether the lock is kept on \
     purpose (PRAGMA locking_mode = EXCLUSIVE) is visible only at a greater depth (contend doctor).";
/// A figure that cannot be seen at this depth.
pub const NOT_SEEN: &str = "-";

/// A finding as sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What happens, in one sentence.
    pub title: String,
    /// The evidence.
    pub evidence: String,
    /// The advice.
    pub change: String,
}

/// The sentences of a finding. `name` returns the name of a process, such as `python3 (4711)`, and `thread` that of one
/// of its threads, such as `thread 4714 (worker-3)`, or of a connection (see [`thread_or_connection`]).
pub fn words(finding: &Finding, name: &dyn Fn(u32) -> String, thread: &dyn Fn(u32) -> String) -> Words {
    let (who, kind) = (name(finding.pid), &finding.case.kind);
    let with_more = match (finding.further, who.strip_suffix(')')) {
        (Some(Further { processes, same_program: true, .. }), Some(one)) => format!("{one} and {processes} more)"),
        _ => who.clone(),
    };
    // The first thread of a process has its number, and a connection's own number means nothing to people.
    let is_other = |tid: &u32| *tid != finding.pid && is_thread(*tid);
    let seen = match (&finding.case.sql, finding.case.tid.filter(is_other)) {
        (Some(sql), Some(tid)) => format!(" Seen in {} ({}).", quoted(Some(sql)), thread(tid)),
        (Some(sql), None) => format!(" Seen in {}.", quoted(Some(sql))),
        (None, Some(tid)) => format!(" Seen in {}.", thread(tid)),
        (None, None) => String::new(),
    };
    let when =
        finding.seen_ns.map_or(String::new(), |ns| format!(" This was seen {} after the watch began.", time(ns)));
    Words {
        title: past_title(finding, &with_more).unwrap_or_else(|| title(finding, &with_more, name)),
        evidence: evidence(finding, &who, name) + &seen + &when + &finding.further.map_or(String::new(), same_of),
        change: change(kind).to_string(),
    }
}

/// The thread of a finding. Where statements are seen, its number is that of a connection, which has it from its first
/// thread: another one may use it now. `is_visible`: whether statements of the process are seen at this time.
pub fn thread_or_connection(finding: &Finding, is_visible: bool, thread: String) -> String {
    // An ended process has no visible statements any more.
    let is_connections = is_visible || finding.case.kind.needs_statements() || finding.case.sql.is_some();
    if is_connections { format!("the connection of {thread}") } else { thread }
}

/// Whether a try for the lock lasted much longer than any hold, and its holders were seen: connections had it one after the
/// other.
fn is_in_turn(kind: &Kind) -> bool {
    let Kind::TimeoutTooShort { holder: Some(_), held_ns_max, longest_ns, .. } = kind else { return false };
    *held_ns_max > 0 && held_ns_max.saturating_mul(2) < *longest_ns
}

/// The title of a finding that is past.
fn past_title(finding: &Finding, who: &str) -> Option<String> {
    finding.seen_ns?;
    match &finding.case.kind {
        Kind::IdleInTransaction { .. } => {
            Some(format!("{who} held the write lock in an open transaction without a statement."))
        }
        Kind::ReaderPinsLog { .. } => {
            Some(format!("{who} kept an old snapshot open: the log could not be reused and grew."))
        }
        Kind::LogNeverRestarts { checkpoints: 0, .. } => Some("The log grew: no checkpoint copied it.".to_string()),
        Kind::LogNeverRestarts { .. } => Some("The log grew: at every moment some reader used it.".to_string()),
        _ => None,
    }
}

fn title(finding: &Finding, who: &str, name: &dyn Fn(u32) -> String) -> String {
    match &finding.case.kind {
        Kind::ProgramHoldsLock { .. } => format!("{who} holds the write lock while it does something else."),
        Kind::IdleInTransaction { .. } => {
            format!("{who} holds the write lock in an open transaction without a statement.")
        }
        Kind::LongTransaction { .. } => format!("A transaction of {who} holds the write lock for long."),
        Kind::ReadThenWrite { .. } => {
            format!("{who} reads first and writes later in one transaction, and is refused at once.")
        }
        Kind::NoBusyTimeout { .. } => format!("{who} has no busy timeout: it fails as soon as the lock is taken."),
        Kind::RefusedAtOnce { .. } => format!("{who} is refused the lock and does not try again."),
        kind if is_in_turn(kind) => {
            format!("{who} gives up before it gets the lock, which others have in turn.")
        }
        Kind::TimeoutTooShort { .. } => {
            format!("{who} gives up before the lock is free: its busy timeout is too short.")
        }
        Kind::Starvation { holder, .. } => format!("{who} is starved of the write lock by {}.", name(*holder)),
        Kind::Disk { .. } => format!("The write lock of {who} is held while the disk syncs."),
        Kind::ReadersBlockWriter { writers, .. } => {
            let whose = match (&writers[..], writers.contains(&finding.pid)) {
                ([_], true) => "its own commits",
                (_, true) => "its own commits and those of others",
                (_, false) => "commits of others",
            };
            format!("{who} keeps {whose} waiting while it reads.")
        }
        Kind::ReaderPinsLog { reader, .. } => {
            format!("{} keeps an old snapshot open: the log cannot be reused and grows.", name(*reader))
        }
        Kind::LogNeverRestarts { checkpoints: 0, .. } => "The log grows: no checkpoint copies it.".to_string(),
        Kind::LogNeverRestarts { .. } => "The log grows: at every moment some reader uses it.".to_string(),
        Kind::CheckpointBlocksWriters { .. } => format!("Checkpoints of {who} keep all writers out."),
        Kind::CheckpointInCommit { .. } => format!("Commits of {who} wait for checkpoints that they make themselves."),
        Kind::SmallCommits { .. } => format!("{who} commits every change by itself."),
        Kind::OpenCloseChurn { .. } => "The database is opened and closed again and again.".to_string(),
    }
}

fn evidence(finding: &Finding, who: &str, name: &dyn Fn(u32) -> String) -> String {
    let (pid, kind) = (finding.pid, &finding.case.kind);
    match kind {
        Kind::ProgramHoldsLock { holds, outside_ns, held_ns, longest_gap_ns, before, after, .. } => {
            let (outside, held, gap) = (time(*outside_ns), time(*held_ns), time(*longest_gap_ns));
            let (before, after) = (quoted(before.as_deref()), next_call(after.as_deref()));
            let (holds, share) = (counted(*holds, "transaction"), percent(1000 * outside_ns / (*held_ns).max(1)));
            format!(
                "It held the lock for {held} in all, {outside} ({share}) of that outside of SQLite, in {holds} with a pause \
                 between statements. Longest: {gap} after {before} and before {after}.{}",
                kept_out(kind)
            )
        }
        Kind::IdleInTransaction { held_ns, began_before, idle_ns, last, gave_up, waiter } => {
            let (held, idle) = (seen(*held_ns, *began_before), time(*idle_ns));
            let waited = waiter.map_or(String::new(), |waiter| waited_for(waiter, *gave_up, name));
            format!("Held for {held}, no statement for {idle}. The last one was {}.{waited}", quoted(last.as_deref()))
        }
        Kind::LongTransaction { holds, longest_ns, began_before, longest_wait_ns } => {
            held_long(*holds, &seen(*longest_ns, *began_before), *longest_wait_ns)
        }
        Kind::ReadThenWrite { refused, outdated, holder, holder_sql, .. } => format!(
            "{} at once, each in a transaction that had read before. SQLite does not wait there, \
             whatever busy_timeout is: in WAL the snapshot would be outdated after the wait, and with a rollback journal \
             each would wait for the other.{}{}",
            counted(*refused, "refusal"),
            too_old(*outdated),
            had(at_one(*refused), (pid, *holder), holder_sql.as_deref(), name)
        ),
        Kind::NoBusyTimeout { refused, holder, holder_sql } => {
            let then = had(at_one(*refused), (pid, *holder), holder_sql.as_deref(), name);
            format!("{}, none tried again.{then}", counted(*refused, "refusal"))
        }
        Kind::RefusedAtOnce { refused, holder } => {
            let then = had(at_one(*refused), (pid, *holder), None, name);
            let refused = counted(*refused, "refusal");
            format!("{refused}, none tried again.{then} Which of two causes it is cannot be seen without statements.")
        }
        Kind::TimeoutTooShort { gave_up, longest_ns, holder, holder_sql, holder_times, held_ns_max } => {
            let (tried, count) = (time(*longest_ns), times(*gave_up));
            // The hold of a lock that is not the writer's, such as that of a last close, is not measured.
            let held = match held_ns_max {
                0 => String::new(),
                ns => format!(" Another connection held the lock for up to {}.", time(*ns)),
            };
            let then = had(&in_waits(*holder_times, *gave_up), (pid, *holder), holder_sql.as_deref(), name);
            format!("It tried for up to {tried} and stopped, {count}.{held}{then}")
        }
        Kind::Starvation { holder, holder_sql, held_permille, waited_ns, had_ns, gave_up } => {
            let (holder, share, count) = (name(*holder), percent(*held_permille), times(*gave_up));
            let (waited, had) = (time(*waited_ns), time(*had_ns));
            let most = holder_sql
                .as_deref()
                .map_or(String::new(), |sql| format!(" (of its statements, {} longest)", quoted(Some(sql))));
            format!(
                "{holder} held it for {share} of the time{most}; {who} waited {waited} and had it for {had}, and gave up \
                 {count}. SQLite has no queue: a process that tries again at once wins over one that pauses."
            )
        }
        _ => evidence_of_files(finding, who, name),
    }
}

/// Evidence of findings about syncs, the log and the files.
fn evidence_of_files(finding: &Finding, who: &str, name: &dyn Fn(u32) -> String) -> String {
    match &finding.case.kind {
        Kind::Disk { syncs, sync_permille, sync_ns_mean } => {
            let (share, syncs, each) = (percent(*sync_permille), counted(*syncs, "sync"), time(*sync_ns_mean));
            format!("{share} of the time of the lock is {syncs} of {each} each.")
        }
        Kind::ReadersBlockWriter { .. } => behind_reader(&finding.case.kind, name),
        Kind::ReaderPinsLog { behind_frames, held_ns, log_bytes, .. } => {
            let (by, held, size) = (has_read(finding), time(*held_ns), bytes(*log_bytes));
            format!("{by} for {held}, {behind_frames} frames behind the end of a log of {size}.")
        }
        Kind::LogNeverRestarts { log_bytes, frames, grown_frames, checkpoints, processes } => format!(
            "The log {} {} in {frames} frames, {grown_frames} more than a few seconds before. Checkpoints seen meanwhile: \
             {checkpoints}. {} {}, most of the time {who}.",
            if finding.seen_ns.is_some() { "had" } else { "has" },
            bytes(*log_bytes),
            processes_in_words(*processes),
            if *checkpoints > 0 { "read" } else { "wrote" },
        ),
        Kind::CheckpointBlocksWriters { times: count, longest_ns, longest_wait_ns } => format!(
            "{} it held the write lock while it copied the log, for up to {}. Another connection waited up to {}.",
            capitalised(&times(*count)),
            time(*longest_ns),
            time(*longest_wait_ns)
        ),
        Kind::CheckpointInCommit { times: count, longest_ns } => format!(
            "{} a statement copied the log into the database after its commit, for up to {}.",
            capitalised(&times(*count)),
            time(*longest_ns)
        ),
        Kind::SmallCommits { commits_per_s, sync_permille } => {
            let (commits, share) = (counted(*commits_per_s, "commit"), percent(*sync_permille));
            format!("{commits} a second, each with a sync; {share} of the time is syncs.")
        }
        Kind::OpenCloseChurn { per_s, at_least, processes, recoveries } => {
            let connections = format!("{}{}", if *at_least { "At least " } else { "" }, counted(*per_s, "connection"));
            let by = match processes {
                1 => who.to_string(),
                _ => format!("{}, most by {who}", processes_in_words(*processes)),
            };
            format!("{connections} a second by {by}.{}", rebuilt(*recoveries))
        }
        // The kinds handled in `evidence`, by name: a new kind must be in one of the two functions.
        Kind::ProgramHoldsLock { .. }
        | Kind::IdleInTransaction { .. }
        | Kind::LongTransaction { .. }
        | Kind::ReadThenWrite { .. }
        | Kind::NoBusyTimeout { .. }
        | Kind::RefusedAtOnce { .. }
        | Kind::TimeoutTooShort { .. }
        | Kind::Starvation { .. } => String::new(),
    }
}

/// How often and how long a lock was held, and who waited, as far as that is visible.
fn held_long(holds: u64, longest: &str, longest_wait_ns: Option<u64>) -> String {
    let waited = longest_wait_ns
        .map_or(LONG_FOR_UNKNOWN_REASONS.to_string(), |ns| format!("Another connection waited up to {}.", time(ns)));
    format!("It held the lock for 1 s or longer {}; the longest: {longest}. {waited}", times(holds))
}

/// The length of a hold, as far as it was seen.
fn seen(ns: u64, began_before: bool) -> String {
    let length = time(ns);
    if began_before { format!("at least {length} (its start was not seen)") } else { length }
}

/// The commits that waited for a reader.
fn behind_reader(kind: &Kind, name: &dyn Fn(u32) -> String) -> String {
    let Kind::ReadersBlockWriter { times: count, waited_ns, longest_ns, gave_up, writers, read_ns } = kind else {
        return String::new();
    };
    let writers = if let [one] = writers[..] { name(one) } else { processes_in_words(writers.len()) };
    let gave_up = if *gave_up > 0 { format!(", and gave up {}", times(*gave_up)) } else { String::new() };
    let (commits, waited) = (counted(*count, "commit"), time(*waited_ns));
    format!(
        "It held a read lock for up to {}. Behind it {commits} of {writers} waited, {waited} in all and up to {}{gave_up}. \
         Meanwhile the writer has its lock: all other writers and new readers wait, too.",
        time(*read_ns),
        time(*longest_ns)
    )
}

/// How a reader has kept its snapshot. Readers of one process may share the lock.
fn has_read(finding: &Finding) -> &'static str {
    match (finding.case.tid, finding.seen_ns) {
        (None, _) => "It held a lock on the same snapshot (for one reader, or several in turn)",
        (Some(_), None) => "It has read from the same snapshot",
        (Some(_), Some(_)) => "It read from the same snapshot",
    }
}

fn change(kind: &Kind) -> &'static str {
    match kind {
        Kind::ProgramHoldsLock { .. } => "Do this work before BEGIN or after COMMIT, or COMMIT after fewer rows.",
        Kind::IdleInTransaction { .. } => {
            "If the program does something else meanwhile, such as a slow call: do it before BEGIN or after COMMIT. If it has \
             forgotten the transaction: COMMIT or ROLLBACK on every path, also after an exception. Until then no other process \
             can write."
        }
        Kind::LongTransaction { longest_wait_ns: None, .. } => {
            "If the program works meanwhile, commit in smaller parts. If it does not, COMMIT or ROLLBACK on every path."
        }
        Kind::LongTransaction { .. } => {
            "Commit in smaller parts, make the statement faster (EXPLAIN QUERY PLAN), or give the others a longer busy_timeout."
        }
        Kind::ReadThenWrite { .. } => "Begin transactions that will write with BEGIN IMMEDIATE.",
        Kind::NoBusyTimeout { .. } => "Set PRAGMA busy_timeout = 5000 on every connection.",
        Kind::RefusedAtOnce { .. } => {
            "If busy_timeout is 0: set it. If a transaction reads before it writes: begin it with BEGIN IMMEDIATE."
        }
        kind if is_in_turn(kind) => {
            "Other connections had the lock in turn, and SQLite has no queue. Put several writes into one transaction, or send \
             all writes through one process."
        }
        Kind::TimeoutTooShort { .. } => "Make the longest transaction shorter, or busy_timeout longer than it.",
        Kind::Starvation { .. } => {
            "Pause between transactions of the first, put several of them into one, or send all writes through one process."
        }
        Kind::Disk { .. } => {
            "Put more work into each transaction, or use WAL with synchronous = NORMAL if the last commits may be lost in a \
             power cut."
        }
        Kind::ReadersBlockWriter { .. } => {
            "Use WAL (PRAGMA journal_mode = WAL), in which readers and a writer do not block each other, or make reads shorter."
        }
        Kind::ReaderPinsLog { .. } => {
            "Finish or reset its statements and end its transaction; read long results in pieces."
        }
        Kind::LogNeverRestarts { checkpoints: 0, .. } => {
            "Leave wal_autocheckpoint on, or run PRAGMA wal_checkpoint(PASSIVE) regularly from one process."
        }
        Kind::LogNeverRestarts { .. } => {
            "Make reads shorter, or leave a moment without readers: PRAGMA wal_checkpoint(RESTART) waits for one."
        }
        Kind::CheckpointBlocksWriters { .. } => {
            "Use PRAGMA wal_checkpoint(PASSIVE), which keeps no writer out; run FULL, RESTART and TRUNCATE when no process writes."
        }
        Kind::CheckpointInCommit { .. } => {
            "Write less in one transaction, lower wal_autocheckpoint so that each checkpoint is shorter, or set it to 0 and run \
             PRAGMA wal_checkpoint(PASSIVE) from a separate thread."
        }
        Kind::SmallCommits { .. } => "Put changes that belong together into one transaction.",
        Kind::OpenCloseChurn { .. } => {
            "Keep connections open: each reads the schema again, and in WAL mode the first to open and the last to close rebuild, \
             copy and delete the log."
        }
    }
}

/// What pauses under the lock kept out.
fn kept_out(kind: &Kind) -> String {
    let Kind::ProgramHoldsLock { longest_wait_ns, refused, refused_in_all, gave_up, .. } = *kind else {
        return String::new();
    };
    let mut out = String::new();
    if longest_wait_ns >= GAP_NS_MIN {
        out += &format!(" Another connection waited up to {}.", time(longest_wait_ns));
    }
    if refused > 0 {
        out += &format!(" While it paused, the lock was refused to other connections {}", times(refused));
        if refused_in_all > refused {
            out += &format!(", and {} in all its write locks", times(refused_in_all));
        }
        let ended = counted(gave_up, "wait");
        out += &if gave_up > 0 { format!(", and {ended} ended without the lock.") } else { ".".to_string() };
    }
    out
}

/// The longest wait for a transaction that was left open, and how many ended without the lock.
fn waited_for(waiter: Waiter, gave_up: u64, name: &dyn Fn(u32) -> String) -> String {
    let (who, waited) = (name(waiter.pid), time(waiter.ns));
    let longest = match waiter.gave_up {
        true if waiter.ns < GAP_NS_MIN => format!(" {who} was refused the lock."),
        true => format!(" {who} waited {waited} for the lock and gave up."),
        false if waiter.ns < GAP_NS_MIN => String::new(),
        false => format!(" {who} waited {waited} for the lock."),
    };
    let further = gave_up.saturating_sub(u64::from(waiter.gave_up));
    match further {
        0 => longest,
        _ => longest + &format!(" {} for it ended without the lock.", counted(further, "further wait")),
    }
}

fn processes_in_words(count: usize) -> String {
    if count == 1 { "1 process".to_string() } else { format!("{count} processes") }
}

/// A number with its noun: `1 commit`, `2 commits`.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// How often the index of the log was rebuilt.
fn rebuilt(recoveries: u64) -> String {
    if recoveries == 0 { String::new() } else { format!(" The index of the log was rebuilt {}.", times(recoveries)) }
}

/// How often a snapshot was too old to write.
fn too_old(outdated: u64) -> String {
    if outdated == 0 {
        return String::new();
    }
    format!(" {} of them found the lock free, but another connection had committed since the read.", outdated)
}

/// The further processes for which a finding stands.
fn same_of(further: Further) -> String {
    let parts = [further.times_in_all.map(times), further.ns_in_all.map(time)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let in_all = if parts.is_empty() {
        String::new()
    } else {
        format!(" All {} together: {}.", further.processes + 1, parts.join(" and "))
    };
    let which = if further.same_program { "of this program" } else { "that ended before their names could be read" };
    let processes = if further.processes == 1 { "process" } else { "processes" };
    format!(" The same was seen of {} further {processes} {which}.{in_all}", further.processes)
}

/// In how many of all waits.
fn in_waits(of_holder: u64, all: u64) -> String {
    match all {
        1 => "Meanwhile".to_string(),
        _ if all == of_holder => "Each time".to_string(),
        _ => format!("In {of_holder} of these {all} waits"),
    }
}

/// When one of `count` refusals was.
fn at_one(count: u64) -> &'static str {
    if count == 1 { "Meanwhile" } else { "At one of these refusals" }
}

/// The process that had the lock while process `pid` was refused or waited, and its statement.
fn had(when: &str, (pid, holder): (u32, Option<u32>), sql: Option<&str>, name: &dyn Fn(u32) -> String) -> String {
    let Some(holder) = holder else { return String::new() };
    let sql = sql.map_or(String::new(), |sql| format!(", in or after {}", quoted(Some(sql))));
    match holder == pid {
        true => format!(" {when} another connection of the same process held the lock{sql}."),
        false => format!(" {when} {} held the lock{sql}.", name(holder)),
    }
}

pub fn times(count: u64) -> String {
    if count == 1 { "once".to_string() } else { format!("{count} times") }
}

/// A time with three digits and its unit, such as `1.24 s`.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        1_000_000_000..120_000_000_000 => (ns as f64 / 1e9, "s"),
        _ => (ns as f64 / 60e9, "min"),
    };
    format!("{} {unit}", digits(value))
}

/// Bytes with three digits and their unit, such as `37.6 MB`.
pub fn bytes(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.iter().find(|(_, size)| bytes as f64 >= *size);
    unit.map_or(format!("{bytes} B"), |(unit, size)| format!("{} {unit}", digits(bytes as f64 / size)))
}

/// Thousandths as percent, such as `97 %`.
pub fn percent(permille: u64) -> String {
    if permille < 100 { format!("{}.{} %", permille / 10, permille % 10) } else { format!("{} %", (permille + 5) / 10) }
}

fn digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A statement on one line, cut; without control characters, which could steer a terminal.
pub fn one_line(sql: &str, chars: usize) -> String {
    let flat: String = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = harmless(&flat);
    if clean.chars().count() <= chars {
        clean.into_owned()
    } else {
        clean.chars().take(chars.saturating_sub(3)).collect::<String>() + "..."
    }
}

/// The call that ended a pause: perhaps none that is seen, such as the close of the connection.
fn next_call(sql: Option<&str>) -> String {
    sql.map_or("a call without a known statement".to_string(), |sql| quoted(Some(sql)))
}

fn quoted(sql: Option<&str>) -> String {
    const CHARS: usize = 100;
    sql.map_or("a statement whose text is unknown".to_string(), |sql| format!("\"{}\"", one_line(sql, CHARS)))
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
